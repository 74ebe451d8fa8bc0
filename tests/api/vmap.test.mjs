/** Tests that batches are those of jax.vmap: of functions by golden/batches, and what callers may ask for. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { argument, assertClose } from '../support/from_jax.mjs';
import { ROOT } from '../support/program.mjs';

const FUNCTIONS = JSON.parse(gunzipSync(await readFile(join(ROOT, 'tests/golden/batches/functions.json.gz'))));
const SIZE = 3;

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

/** The first element of a batch, or all of it. */
const chosen = ({ shape, data }, flag) => (flag === 0 ? { shape, data }
  : { shape: shape.slice(1), data: data.slice(0, data.length / shape[0]) });

async function run(module, values) {
  const { parameters } = module;
  const executable = await client.compile(module);
  const results = await executable.execute(values.map((value, i) => argument(parameters[i].shape, value)));
  executable.dispose();
  return results;
}

async function assertRuns(module, values, wanted, what) {
  const results = await run(module, values);
  assert.equal(results.length, wanted.length, `${what}: results`);
  wanted.forEach((value, i) => assertClose(results[i], value, `${what}, result ${i}`));
}

describe("batches equal JAX's", () => {
  for (const { name, program, arguments: batches, in: lists, maps } of FUNCTIONS) {
    test(name, async () => {
      const module = await client.parseStableHlo(program);
      for (const [i, flags] of lists.entries()) {
        const values = batches.map((value, k) => chosen(value, flags[k]));
        await assertRuns(client.vmap(module, { in: flags, size: SIZE }), values, maps[i], `in: [${flags}]`);
      }
    });
  }
});

describe('batches of batches, gradients and Jacobians', () => {
  for (const { name, program, twice } of FUNCTIONS.filter((f) => f.twice)) {
    test(`twice: ${name}`, async () => {
      const module = await client.parseStableHlo(program);
      const inner = client.vmap(module, { in: twice.in[0], size: SIZE });
      const both = client.vmap(client.parseHlo(inner.toString()), { in: twice.in[1], size: 2 });
      await assertRuns(both, twice.arguments, twice.results, 'twice');
    });
  }

  for (const { name, program, arguments: batches, gradient } of FUNCTIONS.filter((f) => f.gradient)) {
    test(`with gradients: ${name}`, async () => {
      const module = await client.parseStableHlo(program);
      const { wrt, in: flags } = gradient;
      const values = batches.map((value, k) => chosen(value, flags[k]));
      const ofSum = (f) => client.gradient(summed(f), { wrt });
      await assertRuns(client.vmap(ofSum(module), { in: flags, size: SIZE }), values, gradient.batch, 'batch of gradients');
      await assertRuns(ofSum(client.vmap(module, { in: flags, size: SIZE })), values, gradient.of_batch, 'gradient of a batch');
    });
  }

  for (const { name, program, arguments: batches, jacobian, hessian } of FUNCTIONS.filter((f) => f.jacobian || f.hessian)) {
    test(`derivatives: ${name}`, async () => {
      const module = await client.parseStableHlo(program);
      const values = batches.map((value) => chosen(value, null));
      for (const mode of jacobian ? ['reverse', 'forward'] : []) {
        const { wrt } = jacobian;
        await assertRuns(client.jacobian(module, { wrt, mode }), values, jacobian[mode], mode);
      }
      if (hessian) await assertRuns(client.hessian(module, { wrt: hessian.wrt }), values, hessian.values, 'hessian');
    });
  }
});

/** The sum of all floating-point results. */
function summed(module) {
  const b = client.builder('sum');
  const args = module.parameters.map(({ shape, name }, i) => b.parameter(i, shape.withoutLayout(), name));
  const result = b.call(module, args);
  const sums = (module.resultShape.isTuple ? [...result] : [result])
    .filter(({ shape }) => /^b?f/.test(shape.elementType)).map((y) => b.reduceAll(y, b.constantR0(0, y.shape.elementType), 'add'));
  return b.build(sums.reduce((x, y) => b.add(x, y)));
}

/* ---- Requests ---- */

const values = async (module, args) => {
  const executable = await client.compile(module);
  const results = await executable.execute(args);
  return results.map((literal) => literal.toArray());
};

/** (x, (p, q)) -> (x + p, q) */
const PAIR = `HloModule pair
ENTRY main {
  params.x = f32[2] parameter(0)
  t = (f32[2], s32[]) parameter(1)
  p = f32[2] get-tuple-element(t), index=0
  q = s32[] get-tuple-element(t), index=1
  s = f32[2] add(params.x, p)
  ROOT r = (f32[2], s32[]) tuple(s, q) }`;

describe('requests', () => {
  test('the dimension of the batch in parameters and results', async () => {
    const pair = client.parseHlo(PAIR);
    const one = client.vmap(pair, { in: [-1, null], out: [1, 0], size: 3 });
    assert.deepEqual(await values(one, [[[1, 2, 3], [4, 5, 6]], [[10, 20], 7]]),
      [[[11, 12, 13], [24, 25, 26]], [7, 7, 7]]);
    const two = client.vmap(pair, { in: { params: 0, t: [1, null] }, out: [-2, null], size: 3 });
    assert.deepEqual(await values(two, [[[1, 4], [2, 5], [3, 6]], [[[10, 20, 30], [40, 50, 60]], 7]]),
      [[[11, 44], [22, 55], [33, 66]], 7]);
    const all = client.vmap(pair, { size: 2 });
    assert.equal(String(all.parameters[1].shape.withoutLayout()), '(f32[2,2], s32[2])');
    const none = client.vmap(pair, { in: null, out: null });
    assert.deepEqual(await values(none, [[1, 2], [[3, 4], 5]]), [[4, 6], 5]);
    const copies = client.vmap(pair, { in: null, size: 2 });
    assert.deepEqual(await values(copies, [[1, 2], [[3, 4], 5]]), [[[4, 6], [4, 6]], [5, 5]]);
  });

  test('an empty batch', async () => {
    const convolution = client.parseHlo(`HloModule m
ENTRY main {
  x = f32[1,1,4] parameter(0)
  w = f32[1,1,2] parameter(1)
  y = f32[1,1,3] convolution(x, w), window={size=2}, dim_labels=bf0_oi0->bf0
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  ROOT z = f32[1,1,2] dynamic-slice(y, zero, zero, i), dynamic_slice_sizes={1,1,2} }`);
    assert.deepEqual(await values(client.vmap(convolution, { size: 0 }), [[], [], []]), [[]]);
  });

  test('values that do not depend on the batch are computed once', () => {
    const module = client.parseHlo(`HloModule m
ENTRY main {
  x = f32[8] parameter(0)
  w = f32[8] parameter(1)
  e = f32[8] exponential(w)
  ROOT y = f32[8] multiply(x, e) }`);
    const text = client.vmap(module, { in: [0, null], size: 5 }).toString();
    assert.match(text, /f32\[8\]\{0\} exponential\(/);
    assert.match(text, /ROOT y = f32\[5,8\]\{1,0\} multiply\(/);
  });

  test('refusals say the parameter, its shape and the rule', () => {
    const pair = client.parseHlo(PAIR);
    const outfeed = client.parseHlo(`HloModule m
ENTRY main {
  x = f32[] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(x, t), outfeed_shape=f32[]
  ROOT r = f32[] copy(x) }`);
    const large = client.parseHlo('HloModule m\nENTRY main {\n  ROOT x = f32[1000,1000] parameter(0)\n}');
    const larger = client.parseHlo('HloModule m\nENTRY main {\n  x = f32[] parameter(0)\n  ROOT y = f32[1000,1000] broadcast(x), dimensions={}\n}');
    const feeding = client.parseHlo(`HloModule m
read { t = token[] after-all()
  ROOT i = (f32[], token[]) infeed(t) }
ENTRY main {
  x = f32[] parameter(0)
  c = (f32[], token[]) call(), to_apply=read
  y = f32[] get-tuple-element(c), index=0
  ROOT r = f32[] add(x, y) }`);
    const dynamic = client.parseHlo(`HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  n = s32[] parameter(1)
  ROOT r = f32[<=4] set-dimension-size(x, n), dimensions={0} }`);
    for (const [call, message] of [
      [() => client.vmap(pair), /vmap: size is missing: the number of elements in the batch/],
      [() => client.vmap(pair, { size: -1 }), /size must be an integer from 0/],
      [() => client.vmap(pair, { in: [2, 0], size: 2 }),
        /in: parameter 0 "params.x" of shape f32\[2\] has rank 2 with the batch, .* must be in \[-2, 1\] or null; got 2/],
      [() => client.vmap(pair, { in: [0], size: 2 }), /in has 1 entries for 2 parameters/],
      [() => client.vmap(pair, { in: [[0], 0], size: 2 }),
        /in: parameter 0 "params.x" of shape f32\[2\] takes a dimension number or null; got \[0\]/],
      [() => client.vmap(pair, { in: [0, [0, 0, 0]], size: 2 }),
        /parameter 1 "t" of shape \(f32\[2\], s32\[\]\) takes a dimension number or null, or a list of 2/],
      [() => client.vmap(pair, { in: [0, [0, 1.5]], size: 2 }), /parameter 1 "t"\[1\] of shape s32\[\] takes a dimension/],
      [() => client.vmap(pair, { in: { params: 0, y: 0 }, size: 2 }), /in: no parameter is named "y", or begins with it; did you mean t/],
      [() => client.vmap(pair, { in: 'x', size: 2 }), /in must be a dimension number, null, a list/],
      [() => client.vmap(pair, { out: [null, 0], size: 2 }), /out: result 0 of shape f32\[2\] depends on the batch/],
      [() => client.vmap(pair, { out: [0, 1], size: 2 }), /out: result 1 of shape s32\[\] has rank 1 .* \[-1, 0\] or null; got 1/],
      [() => client.vmap(pair, { out: [0, 0, 0], size: 2 }), /out: the result of shape .* a list of 2/],
      [() => client.vmap(pair, { axes: 0, size: 2 }), /axes is not known here/],
      [() => client.vmap(pair, { size: 2 ** 31 }), /size must be an integer from 0 to 2147483647/],
      [() => client.vmap(large, { size: 2 ** 31 - 1 }), /^XlaError: vmap: .*2\^46 bytes/],
      [() => client.vmap(larger, { size: 2 ** 31 - 1 }), /^XlaError: vmap: broadcast "y" .* is too large for this batch/],
      [() => client.vmap(outfeed, { size: 2 }), /vmap: outfeed "o" of shape token\[\] writes the data of one run/],
      [() => client.vmap(feeding, { size: 2 }), /vmap: infeed "i" of shape \(f32\[\], token\[\]\) reads the data of one run/],
      [() => client.vmap(dynamic, { size: 2 }), /vmap: set-dimension-size "r" of shape f32\[<=4\] has a size that/],
      [() => client.jacobian(client.parseHlo(PAIR.replaceAll('f32', 'c64'))), /parameter 0 "params.x" has shape c64\[2\]/],
      [() => client.hessian(pair), /result 0 has shape f32\[2\]/],
    ]) assert.throws(call, message);
  });

  test('each element of a batch has its own side effects, in turn, if a conditional or a loop has them', async () => {
    const calls = [];
    client.registerCustomCall('log', ({ operands: [x] }) => calls.push(x.data[0]) && [x.data[0] * 2]);
    const text = (kind) => `HloModule m
same { p = f32[1] parameter(0)
  ROOT r = f32[1] copy(p) }
log { p = f32[1] parameter(0)
  ROOT r = f32[1] custom-call(p), custom_call_target="log", custom_call_has_side_effect=true }
ENTRY main {
  x = f32[1] parameter(0)
  p = pred[] parameter(1)
  ROOT y = f32[1] ${kind} }`;
    const always = client.parseHlo(text('call(x), to_apply=log'));
    assert.deepEqual(await values(client.vmap(always, { size: 3 }), [[[1], [2], [3]], [true, true, false]]), [[[2], [4], [6]]]);
    assert.deepEqual(calls, [1, 2, 3]);
    const sometimes = client.parseHlo(text('conditional(p, x, x), true_computation=log, false_computation=same'));
    calls.length = 0;
    assert.deepEqual(await values(client.vmap(sometimes, { size: 3 }), [[[1], [2], [3]], [true, false, true]]), [[[2], [2], [6]]]);
    assert.deepEqual(calls, [1, 3]);
    calls.length = 0;
    const forAll = client.vmap(sometimes, { in: [0, null], size: 3 });
    assert.deepEqual(await values(forAll, [[[1], [2], [3]], true]), [[[2], [4], [6]]]);
    assert.deepEqual(await values(forAll, [[[4], [5], [6]], false]), [[[4], [5], [6]]]);
    assert.deepEqual(calls, [1, 2, 3]);
    calls.length = 0;
    const loop = client.parseHlo(`HloModule m
more { s = (f32[1]) parameter(0)
  x = f32[1] get-tuple-element(s), index=0
  y = f32[] reshape(x)
  limit = f32[] constant(8)
  ROOT r = pred[] compare(y, limit), direction=LT }
log { s = (f32[1]) parameter(0)
  x = f32[1] get-tuple-element(s), index=0
  y = f32[1] custom-call(x), custom_call_target="log", custom_call_has_side_effect=true
  ROOT r = (f32[1]) tuple(y) }
ENTRY main {
  x = f32[1] parameter(0)
  s = (f32[1]) tuple(x)
  ROOT y = (f32[1]) while(s), condition=more, body=log }`);
    assert.deepEqual(await values(client.vmap(loop, { size: 3 }), [[[1], [9], [3]]]), [[[8], [9], [12]]]);
    assert.deepEqual(calls, [1, 2, 4, 3, 6]);
  });

  test('a call of the host in a branch is made only for the elements that take the branch, and may fail', async () => {
    const guarded = client.parseHlo(`HloModule m
raise { p = f32[2] parameter(0)
  ROOT r = f32[2] custom-call(p), custom_call_target="xla_ffi_python_cpu_callback" }
same { p = f32[2] parameter(0)
  ROOT r = f32[2] copy(p) }
ENTRY main {
  x = f32[2] parameter(0)
  i = s32[] parameter(1)
  ROOT y = f32[2] conditional(i, x, x), branch_computations={same, raise} }`);
    const batch = client.vmap(guarded, { size: 2 });
    assert.deepEqual(await values(batch, [[[1, 2], [3, 4]], [0, 0]]), [[[1, 2], [3, 4]]]);
    await assert.rejects(values(batch, [[[1, 2], [3, 4]], [0, 1]]), /xla_ffi_python_cpu_callback/);
  });

  test('more cases of one computation than are written: calls, and a loop whose state rotates', async () => {
    const scalars = 7, weights = Array.from({ length: scalars }, (_, k) => 2 ** k);
    const lines = weights.map((weight, k) => `  p${k} = f32[] parameter(${k})
  w${k} = f32[] constant(${weight})
  y${k} = f32[] multiply(p${k}, w${k})
  sum${k} = f32[] add(${k ? `sum${k - 1}` : 'zero'}, y${k})`);
    const calls = Array.from({ length: 128 }, (_, bits) => `  call${bits} = f32[] call(${
      weights.map((weight) => (bits & weight ? 'x' : 'y'))}), to_apply=weighted
  t${bits} = f32[] add(${bits ? `t${bits - 1}` : 'zero'}, call${bits})`);
    const called = client.parseHlo(`HloModule m
weighted { zero = f32[] constant(0)
${lines.join('\n')}
  ROOT r = f32[] copy(sum${scalars - 1}) }
ENTRY main {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  zero = f32[] constant(0)
${calls.join('\n')}
  ROOT r = f32[] copy(t127) }`);
    const half = 127 * 64;
    assert.deepEqual(await values(client.vmap(called, { in: [0, null], size: 3 }), [[1, 2, 3], 10]),
      [[half * 11, half * 12, half * 13]]);
    const n = 90, state = `(${'f32[], '.repeat(n)}s32[])`;
    const looped = client.parseHlo(`HloModule m
condition { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=${n}
  last = s32[] constant(3)
  ROOT less = pred[] compare(i, last), direction=LT }
body { s = ${state} parameter(0)
${Array.from({ length: n }, (_, i) => `  g${i} = f32[] get-tuple-element(s), index=${i}`).join('\n')}
  i = s32[] get-tuple-element(s), index=${n}
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = ${state} tuple(${Array.from({ length: n }, (_, i) => `g${(i + n - 1) % n}`)}, j) }
ENTRY main {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  zero = s32[] constant(0)
  init = ${state} tuple(x, ${'y, '.repeat(n - 1)}zero)
  loop = ${state} while(init), condition=condition, body=body
  a = f32[] get-tuple-element(loop), index=3
  b = f32[] get-tuple-element(loop), index=4
  ROOT r = (f32[], f32[]) tuple(a, b) }`);
    assert.deepEqual(await values(client.vmap(looped, { in: [0, null], size: 3 }), [[1, 2, 3], 10]), [[1, 2, 3], [10, 10, 10]]);
  });

  test('calls that are used twice, forty levels deep, do not grow', () => {
    const levels = Array.from({ length: 40 }, (_, i) => `level${i + 1} {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] call(a, b), to_apply=level${i}
  ROOT d = f32[] call(b, c), to_apply=level${i}
}`);
    const module = client.parseHlo(`HloModule m
level0 { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] multiply(a, b) }
${levels.join('\n')}
ENTRY main {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] call(a, b), to_apply=level40 }`);
    assert.ok(client.vmap(module, { in: [0, null], size: 3 }).toString().length < 2e6);
  });
});

describe('in a builder', () => {
  const sum = (b, x) => b.reduceAll(x, b.constantR0(0, x.shape.elementType), 'add');

  test('values of one element, values from around, lists of results', async () => {
    const b = client.builder('rows');
    const x = b.parameter(0, 'f32[3,2]', 'x');
    const w = b.parameter(1, 'f32[2]', 'w');
    const shapes = [];
    const rows = b.vmap((f, row) => {
      shapes.push(String(row.shape));
      return [sum(f, f.mul(row, w)), f.neg(row)];
    }, { out: [0, 1] });
    const [products, turned] = rows(x);
    assert.deepEqual(shapes, ['f32[2]']);
    const module = b.build(b.tuple([products, turned]));
    assert.deepEqual(await values(module, [[[1, 2], [3, 4], [5, 6]], [1, 10]]),
      [[21, 43, 65], [[-1, -3, -5], [-2, -4, -6]]]);
  });

  test('nested, over other dimensions, with shared arguments', async () => {
    const b = client.builder('outer');
    const x = b.parameter(0, 'f32[3]', 'x');
    const y = b.parameter(1, 'f32[2]', 'y');
    const table = b.vmap((f, p) => f.vmap((g, q) => g.sub(p, q))(y))(x);
    const same = b.vmap((f, p, q) => f.vmap((g, r, s) => g.sub(r, s), { in: [null, 0] })(p, q), { in: [0, null], out: 1 })(x, y);
    const module = b.build(b.tuple([table, same]));
    const wanted = [[0, -1], [1, 0], [2, 1]];
    assert.deepEqual(await values(module, [[1, 2, 3], [1, 2]]), [wanted, [[0, 1, 2], [-1, 0, 1]]]);
  });

  test('gradients of each element, Jacobians and Hessians', async () => {
    const b = client.builder('derivatives');
    const x = b.parameter(0, 'f64[2]', 'x');
    const a = b.parameter(1, 'f64[2]', 'a');
    const cube = (f, v) => f.mul(v, f.mul(v, v));
    const slopes = b.vmap((f, v) => f.gradient(cube(f, v), v))(x);
    const products = (f, u, v) => [f.mul(u, v), sum(f, f.mul(u, cube(f, v)))];
    const [byFirst, ofSum] = b.jacobian(products)(x, a);
    const [[, bySecond]] = b.jacobian(products, { wrt: [0, 1], mode: 'forward' })(x, a);
    const curvature = b.hessian((f, u) => sum(f, cube(f, f.mul(u, a))))(x);
    const [[, mixed]] = b.hessian((f, u, v) => sum(f, f.mul(u, cube(f, v))), { wrt: [0, 1] })(x, a);
    const module = b.build(b.tuple([slopes, byFirst, ofSum, bySecond, curvature, mixed]));
    assert.deepEqual(await values(module, [[2, 3], [5, 7]]), [
      [12, 27], [[5, 0], [0, 7]], [125, 343], [[2, 0], [0, 3]],
      [[6 * 125 * 2, 0], [0, 6 * 343 * 3]], [[75, 0], [0, 147]],
    ]);
  });

  test('wrong arguments are named', () => {
    const b = client.builder('wrong');
    const x = b.parameter(0, 'f32[3,2]', 'x');
    const s = b.constant(1, 'f32[]');
    const add = (f, p, q) => f.add(p, q);
    for (const [call, message] of [
      [() => b.vmap(x), /vmap: fn must be a function/],
      [() => b.vmap(add)(x, 1), /vmap: argument 1 must be an XlaOp of this builder; got 1/],
      [() => b.vmap(add)(x, s), /in: argument 1 of shape f32\[\] has no dimension 0; it must be null/],
      [() => b.vmap(add, { in: [0, 1] })(x, x), /argument 1 of shape f32\[3,2\] has 2 elements in the batch, and in: argument 0 .* 3/],
      [() => b.vmap(add, { size: 4 })(x, x), /argument 0 of shape f32\[3,2\] has 3 elements in the batch, and size is 4/],
      [() => b.vmap(add, { in: [2, 0] })(x, x), /argument 0 of shape f32\[3,2\] has no dimension 2; it must be in \[-2, 1\] or null/],
      [() => b.vmap(add, { in: null })(s, s), /size is missing/],
      [() => b.vmap(add, { in: [0] })(x, x), /in has 1 entries for 2 parameters/],
      [() => b.vmap((f, p) => f.tanh(p), { out: null })(x), /out: result 0 of shape f32\[2\] depends on the batch/],
      [() => b.jacobian(add, { wrt: 2 })(x, x), /wrt: there is no parameter 2/],
      [() => b.hessian((f, p) => p)(x), /result 0 has shape f32\[3,2\]/],
    ]) assert.throws(call, message);
  });
});

/** Operands and results of each routine in src/hlo/ir/lapack_calls.def, for matrices of 3 rows. */
const M = 'f64[3,3]', V = 'f64[3]', INFO = 's32[]';
const ROUTINES = {
  potrf: [[M], [M, INFO]],
  trsm: [[M, M], [M]],
  getrf: [[M], [M, 's32[3]', INFO]],
  geqrf: [[M], [M, V]],
  orgqr: [[M, V], [M]],
  syevd: [[M], [M, V, INFO]],
  gesdd: [[M], [M, V, M, M, INFO]],
  ormqr: [[M, V, M], [M]],
  geqp3: [[M, 's32[3]'], [M, 's32[3]', V]],
  gtsv: [[V, V, V, M], [V, V, V, M, INFO]],
  sytrd: [[M], [M, V, 'f64[2]', 'f64[2]', INFO]],
  gehrd: [[M], [M, 'f64[2]', INFO]],
  gees: [[M], [M, M, V, V, INFO, INFO]],
  geev: [[M], [V, V, 'c128[3,3]', 'c128[3,3]', INFO]],
};

/** Computations, lines, dimensions of the batch, arguments and results. */
const RAGGED = `x = f32[3,2] parameter(0)\n y = f32[2,2,1] parameter(1)\n s = s32[2] parameter(2)
 ROOT r = f32[3,1] ragged-dot(x, y, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}`;
const ROWS = [[[1, 2], [3, 4], [5, 6]], [[6, 5], [4, 3], [2, 1]]], GROUPS = [[[1], [10]], [[100], [1000]]];
const SLICE = 'x = f32[4] parameter(0)\n i = s32[1] parameter(1)\n ROOT r = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}';
const LINES = [[1, 2, 3, 4], [5, 6, 7, 8]];
const FORMS = {
  'the size of a dimension': ['', `x = f32[4] parameter(0)\n n = s32[] get-dimension-size(x), dimensions={0}\n c = f32[] convert(n)
 d = f32[4] broadcast(c), dimensions={}\n ROOT r = f32[4] multiply(x, d)`, [0], [LINES], [[4, 8, 12, 16], [20, 24, 28, 32]]],
  map: ['sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n',
    'x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = f32[4] map(x, y), dimensions={0}, to_apply=sum',
    [0, null], [LINES, [10, 20, 30, 40]], [[11, 22, 33, 44], [15, 26, 37, 48]]],
  'a list of indices': ['', SLICE, [0, 0], [LINES, [[1], [2]]], [[2, 3], [7, 8]]],
  'a list of indices, the same for all': ['', SLICE, [0, null], [LINES, [1]], [[2, 3], [6, 7]]],
  'a fusion': ['f {\n a = f32[4] parameter(0)\n ROOT r = f32[4] multiply(a, a)\n}\n',
    'x = f32[4] parameter(0)\n ROOT r = f32[4] fusion(x), kind=kLoop, calls=f', [0], [LINES], [[1, 4, 9, 16], [25, 36, 49, 64]]],
  'a fusion in a branch': ['f {\n a = f32[4] parameter(0)\n ROOT r = f32[4] multiply(a, a)\n}\nyes {\n a = f32[4] parameter(0)\n ROOT r = f32[4] fusion(a), kind=kLoop, calls=f\n}\nno {\n ROOT a = f32[4] parameter(0)\n}\n',
    'x = f32[4] parameter(0)\n p = pred[] parameter(1)\n ROOT r = f32[4] conditional(p, x, x), true_computation=yes, false_computation=no',
    [0, 0], [LINES, [true, false]], [[1, 4, 9, 16], [5, 6, 7, 8]]],
  'a matrix copied out of columns': ['', `a = f32[2,2] parameter(0)\n b = f32[2,2] parameter(1)
 x = f32[2,2]{0,1} custom-call(a, b), custom_call_target="lapack_strsm_ffi", operand_layout_constraints={f32[2,2]{0,1}, f32[2,2]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}
 ROOT r = f32[2,2]{1,0} copy(x)`, [0, 0], [[[[2, 0], [0, 4]], [[1, 0], [0, 2]]], [[[2, 4], [4, 8]], [[3, 5], [4, 6]]]],
  [[[1, 2], [1, 2]], [[3, 5], [2, 3]]]],
  'groups of rows of the same sizes': ['', RAGGED, [0, null, null], [ROWS, GROUPS, [1, 2]], [[[21], [4300], [6500]], [[56], [3400], [1200]]]],
  'groups of rows of sizes of their own': ['', RAGGED, [0, null, 0], [ROWS, GROUPS, [[1, 2], [2, 1]]],
    [[[21], [4300], [6500]], [[56], [34], [1200]]]],
};
for (const [name, [computations, lines, dimensions, values, wanted]] of Object.entries(FORMS)) {
  test(`batches of ${name}`, async () => {
    const module = client.vmap(client.parseHlo(`HloModule m\n${computations}ENTRY e {\n ${lines}\n}`), { in: dimensions, size: 2 });
    const executable = await client.compile(module), [result] = await executable.execute(values);
    assert.deepEqual(result.toArray(), wanted);
    executable.dispose();
  });
}

test('dynamic sizes are refused in parameters, and where they meet the batch', () => {
  const program = (lines) => client.parseHlo(`HloModule m\nENTRY e {\n ${lines}\n}`);
  assert.throws(() => client.vmap(program('ROOT x = f32[<=4] parameter(0)'), { size: 2 }),
    /in: parameter 0 "x" of shape f32\[<=4\] has a dynamic dimension; vmap needs sizes that are known/);
  assert.throws(() => client.vmap(program(`x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n n = s32[] constant(2)
 d = f32[<=4] set-dimension-size(y, n), dimensions={0}\n ROOT r = f32[<=8] concatenate(d, x), dimensions={0}`), { in: [0, null], size: 2 }),
  /concatenate "r" of shape f32\[<=8\] has a dynamic dimension/);
});

test('routines of LAPACK take the batch as it is: none is called in a loop', () => {
  for (const [name, [operands, results]] of Object.entries(ROUTINES)) {
    const shape = results.length > 1 ? `(${results.join(', ')})` : results[0];
    const names = operands.map((_, i) => `p${i}`);
    const module = client.parseHlo(`HloModule m
ENTRY main {
  ${operands.map((of, i) => `p${i} = ${of} parameter(${i})`).join('\n  ')}
  ROOT r = ${shape} custom-call(${names.join(', ')}), custom_call_target="lapack_d${name}_ffi" }`);
    const text = client.vmap(module, { size: 5 }).toString();
    assert.doesNotMatch(text, / while\(/, name);
    assert.match(text, new RegExp(`lapack_d${name}_ffi`));
  }
});
