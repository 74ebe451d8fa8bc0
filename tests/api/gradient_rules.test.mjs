/** Tests derivatives that callers register; golden/gradients/rules.py compares rules with those of JAX. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

/** loss = sum(mine(x, n)), where mine has the results x * n and n. */
const LOSS = `HloModule loss
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[2] parameter(0)
  n = s32[] parameter(1)
  y = (f32[2], s32[]) custom-call(x, n), custom_call_target="mine", backend_config="factor=3"
  z = f32[2] get-tuple-element(y), index=0
  zero = f32[] constant(0)
  ROOT loss = f32[] reduce(z, zero), dimensions={0}, to_apply=add }`;

describe('registerGradient', () => {
  test('gives a rule the leaves of operands and results, and null where there is no derivative', async () => {
    client.registerCustomCall('mine', ({ operands: [x, n] }) => [x.toArray().map((v) => v * n.toArray()), n]);
    let seen;
    client.registerGradient('mine', {
      vjp: (b, operands, results, cotangents, call) => {
        seen = [operands, results, cotangents].map((list) => list.map((op) => op && String(op.shape)));
        seen.push(call);
        const factor = b.convertElementType(results[1], 'f32');
        return [b.mul(b.mul(cotangents[0], b.add(operands[0], results[0])), factor), null];
      },
    });
    const gradient = client.gradient(client.parseHlo(LOSS));
    assert.deepEqual(seen, [['f32[2]', 's32[]'], ['f32[2]', 's32[]'], ['f32[2]', null],
      { target: 'mine', backendConfig: 'factor=3' }]);
    const [slopes] = await (await client.compile(gradient)).execute([[1, 2], 5]);
    assert.deepEqual(slopes.toArray(), [(1 + 5) * 5, (2 + 10) * 5]);
  });

  test('rules that do not fit are refused with the target and the shapes', () => {
    const module = client.parseHlo(LOSS);
    const zero = (b) => b.constant([0, 0], 'f32[2]');
    for (const [vjp, message] of [
      [(b) => [zero(b)], /the vjp of "mine" must return a list of 2 derivatives \(f32\[2\], null\); got/],
      [(b) => [b.constant(0, 'f32[]'), null], /must return the shapes \(f32\[2\], null\); value 0 is f32\[\]/],
      [(b) => [zero(b), zero(b)], /must return null for value 1 of shape s32\[\]/],
      [() => [7, null], /must return XlaOps of its builder .*value 0 is 7/],
      [() => [client.builder('other').constant([0, 0], 'f32[2]'), null], /must return XlaOps of its builder/],
      [async () => [], /must return a list of 2 derivatives .*got/],
      [() => { throw new RangeError('of the caller'); }, /^RangeError: of the caller/],
    ]) {
      client.registerGradient('mine', { vjp });
      assert.throws(() => client.gradient(module), message);
    }
    client.registerGradient('mine', { vjp: () => [null, null] });
    assert.throws(() => client.jvp(module), /"mine" has a rule for gradients only, .* jvp/);
    assert.match(client.gradient(module).toString(), /constant\(0\)/);
  });

  test('a jvp that is not linear in the tangents has no transposition, and serves forward mode', () => {
    const module = client.parseHlo(LOSS);
    for (const square of [(t, b) => b.mul(t, t), (t, b) => b.exp(t), (t, b) => b.div(b.constant(1, 'f32[]'), t), (t, b) => b.abs(t)]) {
      client.registerGradient('mine', { jvp: (b, _operands, _results, [t]) => [square(t, b), null] });
      assert.throws(() => client.gradient(module), /custom-call "y" .*jvp rule that is not linear in the tangents at .*register one/);
      client.jvp(module).dispose();
    }
  });

  test('wrong arguments are named', () => {
    const rule = { vjp: () => null };
    for (const [call, message] of [
      [() => client.registerGradient('', rule), /target must be a name/],
      [() => client.registerGradient(7, rule), /target must be a name; got 7/],
      [() => client.registerGradient('mine', {}), /"mine" needs a vjp .* a jvp/],
      [() => client.registerGradient('mine'), /"mine" needs a vjp/],
      [() => client.registerGradient('mine', { vjp: () => [], recompute: true }), /"mine" needs .* recompute, alone/],
      [() => client.registerGradient('mine', { vjp: 1 }), /vjp must be a function/],
      [() => client.registerGradient('mine', { vjq: () => 1 }), /vjq is not known here; did you mean vjp/],
    ]) assert.throws(call, message);
  });

  test('memory returns to where it began, also when rules fail', () => {
    const module = client.parseHlo(LOSS);
    const attempt = (vjp) => {
      client.registerGradient('mine', { vjp });
      try { client.gradient(module).dispose(); } catch { /* as expected */ }
    };
    const rules = [(b, [x]) => [x, null], () => 3, (b) => [b.constant(0, 'f32[]'), null]];
    rules.forEach(attempt);
    const before = client.heapInUse;
    for (let i = 0; i < 20; i++) rules.forEach(attempt);
    assert.equal(client.heapInUse, before);
  });
});

describe('in a builder', () => {
  test('the call is made once, and its results serve the derivative', async () => {
    let calls = 0;
    client.registerCustomCall('counted', ({ operands: [x] }) => { calls++; return [x, x.toArray().map((v) => v * 10)]; });
    client.registerGradient('counted', { vjp: (b, _operands, results, [, second]) => [b.mul(second, results[1])] });
    const b = client.builder('once');
    const w = b.parameter(0, 'f32[2]', 'w');
    const pair = b.customCall('counted', [b.mul(w, w)], '(f32[2], f32[2])');
    const loss = b.reduceAll(b.getTupleElement(pair, 1), 0, 'add');
    const module = b.build(b.tuple([loss, b.gradient(loss, w)]));
    const [value, slopes] = await (await client.compile(module)).execute([[1, 2]]);
    assert.equal(value.toArray(), 50);
    assert.deepEqual(slopes.toArray(), [10 * 2 * 1, 40 * 2 * 2]);
    assert.equal(calls, 1);
  });
});

describe('registerGradient with recompute', () => {
  /** Twelve layers of four products and sines each. */
  const deep = () => {
    const b = client.builder('deep'), w = b.parameter(1, 'f32[8,8]', 'w');
    const layer = b.function((_b, x, v) => {
      for (let i = 0; i < 4; i++) x = x.add(x.dot(v).sin());
      return x;
    }, 'layer');
    let x = b.parameter(0, 'f32[512,8]', 'x');
    for (let i = 0; i < 12; i++) x = layer(x, w);
    return b.build(b.reduceAll(x, 0, 'add'));
  };
  const args = [new Float32Array(512 * 8).map((_, i) => Math.cos(i)), new Float32Array(64).map((_, i) => Math.sin(i))];

  test('saves the operands of calls: temporaries fall to a third, and the gradient is the same', async () => {
    const module = deep();
    const saving = await client.compile(client.gradient(module));
    client.registerGradient('layer', { recompute: true });
    const again = await client.compile(client.gradient(module));
    const [wanted, got] = await Promise.all([saving, again].map((executable) => executable.execute(args)));
    got.forEach(({ data }, i) => {
      const largest = Math.max(...wanted[i].data.map(Math.abs));
      data.forEach((x, k) => assert.ok(Math.abs(x - wanted[i].data[k]) <= 1e-5 * largest, `${i}, ${k}: ${x}`));
    });
    assert.ok(again.memory.temporaries * 3 < saving.memory.temporaries,
      `${again.memory.temporaries} of ${saving.memory.temporaries}`);
  });

  test('a loop of calls saves its states once, and no weights, as with checkpoint all', async () => {
    const STATE = 128 * 32 * 4, COUNT = 60;
    const b = client.builder('loop'), w = b.parameter(1, 'f32[32,32]', 'w');
    const layer = (_b, x, v) => {
      for (let i = 0; i < 4; i++) x = x.dot(v).sin().mul(x);
      return x;
    };
    const [, , last] = b.while((_c, i) => i.lt(COUNT), (c, i, v, x) => [i.add(1), v, c.function(layer, 'step')(x, v)],
      [b.constant(0, 's32[]'), w, b.parameter(0, 'f32[128,32]', 'x')]);
    const module = b.build(b.reduceAll(last, 0, 'add'));
    const bytes = async (options) => (await client.compile(client.gradient(module, options))).memory.temporaries;
    const all = await bytes({ checkpoint: 'all' }), none = await bytes();
    client.registerGradient('step', { recompute: true });
    const again = await bytes();
    assert.ok(none > 10 * COUNT * STATE, `none: ${none}`);
    for (const got of [all, again]) assert.ok(got < 1.3 * COUNT * STATE, `${got}`);
  });

  test('host calls inside happen once', async () => {
    let calls = 0;
    client.registerCustomCall('counted', ({ operands: [x] }) => { calls++; return x; });
    client.registerGradient('counted', { vjp: (_b, _operands, results, [g]) => [g.mul(results[0])] });
    client.registerGradient('hosted', { recompute: true });
    const b = client.builder('host'), x = b.parameter(0, 'f32[]', 'x');
    const hosted = b.function((c, y) => c.customCall('counted', [y.mul(y)], 'f32[]').sin(), 'hosted');
    const [slope] = await (await client.compile(client.gradient(b.build(hosted(x))))).execute([0.5]);
    assert.ok(Math.abs(slope.data[0] - Math.cos(0.25) * 0.25 * 2 * 0.5) < 1e-6, `${slope.data}`);
    assert.equal(calls, 1);
  });
});

test('a function of the name stop_gradient has gradient zero, in a builder, in the file of another and in forward mode', async () => {
  const b = client.builder('stopped'), x = b.parameter(0, 'f32[]', 'x');
  const stop = b.function((_b, y) => y.mul(1), 'stop_gradient');
  const module = b.build(stop(x.mul(x)).mul(x));
  for (const [derived, more] of [
    [client.gradient(module), []], [client.jvp(client.parseHlo(module.toString())), [1]],
  ]) {
    const executable = await client.compile(derived);
    for (const [at, slope] of [[3, 9], [Infinity, Infinity]]) {
      const results = await executable.execute([at, ...more]);
      assert.equal(results.at(-1).data[0], slope);
    }
  }
});
