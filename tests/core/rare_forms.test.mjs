/**
 * Tests forms of operations that few programs have: each program as it is compiled, with everything left out that can be, and
 * evaluated. The results are worked out by hand.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { afterPass } from '../support/passes.mjs';

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

const ADD = 'add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n';
/** A comparison of two keys; `key` is a line that makes k of p. */
const BEFORE = (left, right) => `before {\n p = f32[] parameter(0)\n q = f32[] parameter(1)\n z = f32[] constant(0)\n five = f32[] constant(5)
 ${left.replaceAll('%', 'p')}\n ${right.replaceAll('%', 'q')}\n ROOT r = pred[] compare(kp, kq), direction=LT\n}\n`;
const SORT = 'x = f32[4] parameter(0)\n ROOT r = f32[4] sort(x), dimensions={0}, is_stable=true, to_apply=before';
const PRECISE = (mantissa) => `k% = f32[] reduce-precision(%), exponent_bits=8, mantissa_bits=${mantissa}`;
const CHOSEN = 'c% = pred[] compare(%, z), direction=LT\n k% = f32[] select(c%, five, %)';
const F8 = `two {\n a = f8e5m2[] parameter(0)\n b = f8e5m2[] parameter(1)\n c = f8e5m2[] parameter(2)\n d = f8e5m2[] parameter(3)
 e = f8e5m2[] add(a, c)\n f = f8e5m2[] maximum(b, d)\n ROOT r = (f8e5m2[], f8e5m2[]) tuple(e, f)\n}\n`;
const COUNTED = (line) => `more {\n s = (s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(5)\n ROOT r = pred[] compare(i, n), direction=LT\n}
turn {\n s = (s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n k = s32[] get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)
 ${line}\n n = s32[] constant(4)\n c = s32[] minimum(v, n)\n m = s32[] add(k, c)\n ROOT t = (s32[], s32[]) tuple(j, m)\n}\n`;
const LOOP = 'x = s32[] parameter(0)\n z = s32[] constant(0)\n s = (s32[], s32[]) tuple(z, x)\n w = (s32[], s32[]) while(s), condition=more, body=turn\n ROOT r = s32[] get-tuple-element(w), index=1';

/** Three turns of v = v + k, k = k + 1, of small numbers. */
const SMALL = (type) => {
  const state = `(s32[], ${type}[], ${type}[5])`, element = (shape, i) => `${shape} get-tuple-element(s), index=${i}`;
  return [`more {\n s = ${state} parameter(0)\n i = ${element('s32[]', 0)}\n n = s32[] constant(300)\n ROOT r = pred[] compare(i, n), direction=LT\n}
turn {\n s = ${state} parameter(0)\n i = ${element('s32[]', 0)}\n k = ${element(`${type}[]`, 1)}\n v = ${element(`${type}[5]`, 2)}\n one = s32[] constant(1)\n j = s32[] add(i, one)
 n = s32[] constant(3)\n p = pred[] compare(i, n), direction=LT\n c = ${type}[] convert(p)\n b = ${type}[5] broadcast(k), dimensions={}\n q = pred[5] broadcast(p), dimensions={}
 w = ${type}[5] add(v, b)\n x = ${type}[5] select(q, w, v)\n m = ${type}[] add(k, c)\n ROOT t = ${state} tuple(j, m, x)\n}\n`,
  `v = ${type}[5] parameter(0)\n k = ${type}[] parameter(1)\n z = s32[] constant(0)\n s = ${state} tuple(z, k, v)\n w = ${state} while(s), condition=more, body=turn\n ROOT r = ${type}[5] get-tuple-element(w), index=2`,
  [[1, 2, 3, 4, 5], 2], [10, 11, 12, 13, 14]];
};

/** Computations, lines, arguments, results. */
const FORMS = {
  ...Object.fromEntries(['u8', 's8', 'u16', 's16', 'f16',
    'bf16'].map((type) => [`a loop that adds a number of ${type} to a small array`, SMALL(type)])),
  'a conversion of complex numbers to their own type': ['',
    'x = c64[2] parameter(0)\n y = c64[2] negate(x)\n c = c64[2] convert(y)\n i = f32[2] imag(c)\n ROOT r = f32[2] negate(i)',
    [[[1, 2], [3, 4]]], [2, 4]],
  'a sum and a maximum of 8-bit floats in one reduction': [F8, `x = f32[3,6] parameter(0)\n y = f8e5m2[3,6] convert(x)\n z = f8e5m2[] constant(0)
 v = (f8e5m2[3], f8e5m2[3]) reduce(y, y, z, z), dimensions={1}, to_apply=two\n a = f8e5m2[3] get-tuple-element(v), index=0\n b = f8e5m2[3] get-tuple-element(v), index=1
 c = f32[3] convert(a)\n d = f32[3] convert(b)\n ROOT r = f32[6] concatenate(c, d), dimensions={0}`,
  [[[1, 0, 1, 0, 2, 0], [1, 1, 1, 1, 1, 1], [2, 2, 2, 1, 1, 0]]], [4, 6, 8, 2, 1, 2]],
  'a call of a computation that states an order': ['c {\n x = f32[2] parameter(0)\n y = f32[2] negate(x)\n z = f32[2] add(x, x), control-predecessors={y}\n ROOT r = f32[2] multiply(y, z)\n}\n',
    'x = f32[2] parameter(0)\n ROOT r = f32[2] call(x), to_apply=c', [[1, 3]], [-2, -18]],
  'a bitcast to another layout and type': ['', `x = f32[2,2] parameter(0)\n y = f32[2,2]{0,1} transpose(x), dimensions={0,1}
 b = s32[2,2]{1,0} bitcast(y)\n o = s32[2,2] constant({{1065353216,1065353216},{1065353216,1065353216}})
 ROOT r = s32[2,2] subtract(b, o)`,
    [[[1, 2], [-1, 0.5]]], [[0, -2147483648], [8388608, -8388608]]],
  'windows of a reshaped transpose': [ADD, `x = f32[3,2,4] parameter(0)\n t = f32[2,3,4] transpose(x), dimensions={1,0,2}\n e = f32[2,3,4] negate(t)\n y = f32[6,4] reshape(e)
 z = f32[] constant(0)\n ROOT r = f32[6,2] reduce-window(y, z), window={size=1x3}, to_apply=add`,
  [[0, 1, 2].map((i) => [0, 1].map((j) => [1, 2, 3, 4].map((k) => 100 * i + 10 * j + k)))],
  [0, 1].flatMap((j) => [0, 1, 2].map((i) => [2, 3].map((k) => -3 * (100 * i + 10 * j + k))))],
  'windows of a reshaped transpose, over padding': [ADD, `x = f32[3,2,3] parameter(0)\n t = f32[2,3,3] transpose(x), dimensions={1,0,2}\n e = f32[2,3,3] negate(t)\n y = f32[6,3] reshape(e)
 z = f32[] constant(0)\n ROOT r = f32[6,3] reduce-window(y, z), window={size=1x3 pad=0_0x1_1}, to_apply=add`,
  [[0, 1, 2].map((i) => [0, 1].map((j) => [1, 2, 3].map((k) => 100 * i + 10 * j + k)))],
  [0, 1].flatMap((j) => [0, 1, 2].map((i) => [3, 6, 5].map((k, at) => -(at === 1 ? 3 : 2) * (100 * i + 10 * j) - k)))],
  'keys of two precisions': [BEFORE(PRECISE(7), PRECISE(9)), SORT, [[3, 1, 2, 0]], [0, 1, 2, 3]],
  'keys that a comparison chooses': [BEFORE(CHOSEN, CHOSEN), SORT, [[-1, 3, 9, 2]], [2, 3, -1, 9]],
  'a counter that is copied': [COUNTED('v = s32[] copy(i)'), LOOP, [7], 17],
  'a counter that is broadcast to a scalar': [COUNTED('v = s32[] broadcast(i), dimensions={}'), LOOP, [7], 17],
};

for (const [name, [computations, lines, args, wanted]] of Object.entries(FORMS)) {
  test(name, async () => {
    const module = client.parseHlo(`HloModule m\n${computations}ENTRY e {\n ${lines}\n}`);
    const simple = client.optionalPasses.filter((each) => /simplify|unroll/.test(each));
    for (const options of [{}, { disable: client.optionalPasses }, { disable: simple }, { optimize: false }]) {
      const executable = await client.compile(module, options), [result] = await executable.execute(args);
      assert.deepEqual(result.toArray(), wanted, JSON.stringify(options));
      executable.dispose();
    }
  });
}

describe('two conversions are none where the type between holds all values', () => {
  for (const [outer, inner, isNone] of [
    ['f16', 'f32', true], ['bf16', 'f32', true], ['f32', 'f64', true], ['s8', 's32', true], ['u8', 'u16', true], ['pred', 's8', true],
    ['u8', 's16', true], ['pred', 'f32', true], ['s8', 'bf16', true], ['f8e4m3', 'f16', true], ['c64', 'c128', true],
    ['f32', 'f16', false], ['s32', 's8', false], ['s8', 'u16', false], ['s32', 'f32', false], ['f64', 'f32', false], ['f8e4m3', 'f8e4m3fn', false],
  ]) {
    test(`${outer} to ${inner} and back: ${isNone ? 'none' : 'both'}`, () => {
      const text = `HloModule m\nENTRY e {\n x = ${outer}[3] parameter(0)\n y = ${inner}[3] convert(x)\n z = ${outer}[3] convert(y)\n ROOT r = ${outer}[3,1] reshape(z)\n}`;
      const module = client.parseHlo(text);
      assert.equal(/convert/.test(client.passes(module).at(-1).text), !isNone);
    });
  }
});

/** XLA drops such pairs, so NaNs keep their bits: jax.jit(lambda x: x.astype(between).astype(x.dtype)) of all bits of a type. */
test('two conversions that change no value keep the bits of NaNs', async () => {
  const halves = 'f32 f64 c64 c128', bytes = `f16 bf16 ${halves}`;
  const BETWEEN = { f16: halves, bf16: halves, f8e5m2: bytes, f8e4m3: bytes, f8e3m4: bytes, f8e4m3fn: bytes };
  for (const [type, list] of Object.entries(BETWEEN)) {
    const bits = type.startsWith('f8') ? 8 : 16, shape = (of) => `${of}[${2 ** bits}]`;
    for (const between of list.split(' ')) {
      const executable = await client.compile(client.parseHlo(`HloModule m\nENTRY e {\n i = ${shape('u32')} iota(), iota_dimension=0
 w = ${shape(`u${bits}`)} convert(i)\n x = ${shape(type)} bitcast-convert(w)\n y = ${shape(between)} convert(x)\n z = ${shape(type)} convert(y)
 ROOT r = ${shape(`u${bits}`)} bitcast-convert(z)\n}`));
      const [{ data }] = await executable.execute([]);
      assert.equal(data.findIndex((value, i) => value !== i), -1, `${type}, ${between} between`);
      executable.dispose();
    }
  }
});

describe('what a loop computes in each turn moves before it', () => {
  const body = (lines, shape) => `HloModule m
more {\n s = (s32[], f32[16,16], ${shape}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(900)\n ROOT r = pred[] compare(i, n), direction=LT\n}
turn {\n s = (s32[], f32[16,16], ${shape}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n a = f32[16,16] get-tuple-element(s), index=1\n y = ${shape} get-tuple-element(s), index=2
 one = s32[] constant(1)\n j = s32[] add(i, one)\n ${lines}\n m = ${shape} add(v, y)\n ROOT t = (s32[], f32[16,16], ${shape}) tuple(j, a, m)\n}
ENTRY e {\n a = f32[16,16] parameter(0)\n y = ${shape} parameter(1)\n z = s32[] constant(0)\n s = (s32[], f32[16,16], ${shape}) tuple(z, a, y)
 w = (s32[], f32[16,16], ${shape}) while(s), condition=more, body=turn\n ROOT r = ${shape} get-tuple-element(w), index=2\n}`;
  for (const [opcode, lines, shape, stays = false] of [
    ['cholesky', 'v = f32[16,16] cholesky(a), lower=true', 'f32[16,16]'],
    ['convolution', `l = f32[1,1,16,16] reshape(a)\n k = f32[1,1,2,2] constant({{{{1,2},{3,4}}}})
 c = f32[1,1,15,15] convolution(l, k), window={size=2x2}, dim_labels=bf01_oi01->bf01\n v = f32[15,15] reshape(c)`, 'f32[15,15]'],
    ['exponential', 'b = f32[16,16,256] broadcast(a), dimensions={0,1}\n v = f32[16,16,256] exponential(b)', 'f32[16,16,256]'],
    // 256 kB, more than what operands of 2 kB may become
    ['dot', `l = f32[256,1] reshape(a)\n k = f32[1,256] reshape(a)\n v = f32[256,256] dot(l, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}`, 'f32[256,256]', true],
  ]) {
    test(`${opcode}${stays ? ': not if its result is large' : ''}`, () => {
      const text = afterPass(body(lines, shape), 'hoist-loops') ?? body(lines, shape), turn = /^turn.*?^\}/ms.exec(text)[0];
      assert.equal(turn.includes(` ${opcode}(`), stays, text);
      assert.ok(text.includes(` ${opcode}(`));
    });
  }
});

test('a call that spells a function, of a type that it does not have, is the host\'s', async () => {
  const executable = await client.compile(client.parseHlo('HloModule m\nENTRY e {\n x = s32[2] parameter(0)\n ROOT r = s32[2] custom-call(x), custom_call_target="mhlo.erf"\n}'));
  await assert.rejects(executable.execute([[1, 2]]), /nothing is registered for the target "mhlo.erf"/);
  client.registerCustomCall('mhlo.erf', ({ operands: [x] }) => x);
  const [same] = await executable.execute([[1, 2]]);
  assert.deepEqual(same.toArray(), [1, 2]);
});

describe('branches in branches that cannot be written out, with a part of the host or of other devices in them', () => {
  const LEAVES = {
    'all-reduce': 'y = f32[2] all-reduce(p), replica_groups={}, to_apply=add',
    infeed: 't = token[] after-all()\n v = (f32[2], token[]) infeed(t)\n y = f32[2] get-tuple-element(v), index=0',
    outfeed: 't = token[] after-all()\n o = token[] outfeed(p, t), outfeed_shape=f32[2]\n y = f32[2] negate(p)',
    send: `t = token[] after-all()\n s = (f32[2], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true
 d = token[] send-done(s), channel_id=1, is_host_transfer=true\n y = f32[2] negate(p)`,
    recv: `t = token[] after-all()\n s = (f32[2], u32[], token[]) recv(t), channel_id=1, is_host_transfer=true
 d = (f32[2], token[]) recv-done(s), channel_id=1, is_host_transfer=true\n y = f32[2] get-tuple-element(d), index=0`,
    'custom-call': 'y = f32[2] custom-call(p), custom_call_target="mine"',
  };
  for (const [name, lines] of Object.entries(LEAVES)) {
    test(name, async () => {
      const level = (k) => `l${k} {\n p = f32[2] parameter(0)\n s = f32[1] slice(p), slice={[0:1]}\n q = f32[] reshape(s)\n i = s32[] convert(q)
 c = f32[2] conditional(i, p, p), branch_computations={l${k - 1}, l${k - 1}}\n ROOT d = f32[2] conditional(i, c, c), branch_computations={l${k - 1}, l${k - 1}}\n}\n`;
      const levels = Array.from({ length: 25 }, (_, k) => level(k + 1)).join('');
      const module = client.parseHlo(`HloModule m\n${ADD}l0 {\n p = f32[2] parameter(0)\n ${lines}\n ROOT r = f32[2] add(y, p)\n}
${levels}ENTRY e {\n x = f32[2] parameter(0)\n ROOT r = f32[2] call(x), to_apply=l25\n}`);
      await assert.rejects(client.compile(module), (error) => error.code === 'RESOURCE_EXHAUSTED' &&
        /conditional: .* calls computations that call others, which written out are more than \d+ instructions/.test(error.message));
    });
  }
});
