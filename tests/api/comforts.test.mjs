/**
 * Tests the builder's short forms: numbers as operands, computations by name or as functions that may
 * use values from outside, operations as methods; and how objects print. Each short form must give the
 * result of the explicit form.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';

import { Client, Layout, Literal, Shape } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** Runs what `build(b, ...parameters)` returns, on arguments of these shapes. */
async function evaluate(inputs, build, replicas = 1) {
  const b = client.builder('test');
  const parameters = inputs.map(([shape], i) => b.parameter(i, shape));
  const module = b.build(build(b, ...parameters));
  // What is built must be HLO that is read again.
  const again = client.parseHlo(module.toString());
  const executable = await client.compile(again, { replicas });
  const outputs = await executable.execute(inputs.map(([, value]) => value));
  const result = outputs.map((output) => output.toArray());
  return module.resultShape.isTuple ? result : result[0];
}
const VECTOR = ['f32[3]', [1, 2, 3]];
const MATRIX = ['f32[2,3]', [[1, 2, 3], [4, 5, 6]]];

describe('numbers as operands', () => {
  const cases = {
    'on the right': [[VECTOR], (b, x) => b.add(x, 1), [2, 3, 4]],
    'on the left': [[VECTOR], (b, x) => b.sub(1, x), [0, -1, -2]],
    'of integers': [[['s32[2]', [7, -7]]], (b, x) => b.rem(x, 4), [3, -3]],
    'of 64 bits': [[['s64[1]', [1n]]], (b, x) => b.add(x, 2n ** 62n), [2n ** 62n + 1n]],
    'of predicates': [[['pred[2]', [true, false]]], (b, x) => b.xor(x, true), [false, true]],
    'of bf16': [[['bf16[2]', [1, 2]]], (b, x) => b.mul(x, 0.5), [0.5, 1]],
    'of complex numbers': [[['c64[1]', [[1, 2]]]], (b, x) => b.mul(x, 2), [[2, 4]]],
    compared: [[VECTOR], (b, x) => b.gt(x, 1.5), [false, true, true]],
    'compared with a direction': [[VECTOR], (b, x) => b.compare(x, 2, 'EQ'), [false, true, false]],
    clamp: [[VECTOR], (b, x) => b.clamp(1.5, x, 2.5), [1.5, 2, 2.5]],
    select: [[MATRIX], (b, x) => b.select(b.lt(x, 4), x, 0), [[1, 2, 3], [0, 0, 0]]],
    'select, the other': [[MATRIX], (b, x) => b.select(b.lt(x, 4), -1, x), [[-1, -1, -1], [4, 5, 6]]],
    pad: [[VECTOR], (b, x) => b.pad(x, 9, [[1, 0]]), [9, 1, 2, 3]],
    reduce: [[MATRIX], (b, x) => b.reduce(x, 10, 'add', [1]), [16, 25]],
    reduceAll: [[MATRIX], (b, x) => b.reduceAll(x, -Infinity, 'max'), 6],
    reduceWindow: [[VECTOR], (b, x) => b.reduceWindow(x, 0, 'add', [2], [1], 'VALID'), [3, 5]],
    dynamicSlice: [[MATRIX], (b, x) => b.dynamicSlice(x, [1, 1], [1, 2]), [[5, 6]]],
    dynamicUpdateSlice: [[VECTOR], (b, x) => b.dynamicUpdateSlice(x, b.constant([8, 9]), [1]),
      [1, 8, 9]],
    'two reductions at once': [[VECTOR, ['s32[3]', [3, 1, 2]]], (b, x, i) =>
      b.reduce([x, i], [0, 100], (_, s, m, a, c) => [s.add(a), m.min(c)], [0]), [6, 1]],
  };
  for (const [name, [inputs, build, want]] of Object.entries(cases)) {
    test(name, async () => assert.deepEqual(await evaluate(inputs, build), want));
  }
  test('of a type that has no such number', () => {
    const b = client.builder('b');
    const x = b.parameter(0, 's8[2]');
    assert.throws(() => b.add(x, 1.5), { code: 'INVALID_ARGUMENT', message: /add: rhs: .*1\.5/ });
    assert.throws(() => b.add(x, 1000), { code: 'INVALID_ARGUMENT', message: /cannot hold 1000/ });
    assert.throws(() => b.add(1, 2), { message: /add: lhs is the number 1, whose type nothing says/ });
    // The builder is as it was, and the last operation still its result.
    const last = b.neg(x);
    assert.throws(() => b.clamp(1, last, 1000), { code: 'INVALID_ARGUMENT' });
    assert.match(b.build().toString(), /ROOT \S+ = s8\[2\]\S* negate/);
  });
});

describe('computations by name and as functions', () => {
  const cases = {
    'a name': [[MATRIX], (b, x) => b.reduce(x, 1, 'mul', [0]), [4, 10, 18]],
    'a function': [[MATRIX], (b, x) => b.reduce(x, 0, (c, s, a) => c.add(s, c.mul(a, a)), [1]),
      [14, 77]],
    'sort by name': [[['f32[3]', [2, 3, 1]]], (b, x) => b.sort(x, 'gt'), [3, 2, 1]],
    'sort of several by name': [[['f32[3]', [2, 3, 1]], ['s32[3]', [0, 1, 2]]],
      (b, x, i) => b.sort([x, i], 'lt'), [[1, 2, 3], [2, 0, 1]]],
    'sort by a function': [[['f32[3]', [2, -3, 1]]],
      (b, x) => b.sort([x], (_, p, q) => p.abs().gt(q.abs())), [-3, 2, 1]],
    map: [[VECTOR], (b, x) => b.map(x, (_, a) => a.mul(a).add(1)), [2, 5, 10]],
    'select-and-scatter': [[['f32[4]', [1, 3, 2, 4]]],
      (b, x) => b.selectAndScatter(x, 'ge', [2], [2], 'VALID', b.constant([10, 20]), 0, 'add'),
      [0, 10, 0, 20]],
    scatter: [[VECTOR], (b, x) => b.scatter(x, b.constant([[0], [0]], 's32[2,1]'),
      b.constant([10, 20]), 'add', { updateWindowDims: [], insertedWindowDims: [0],
        scatterDimsToOperandDims: [0], indexVectorDim: 1 }), [31, 2, 3]],
    scan: [[VECTOR], (b, x) => b.scan(x, b.constantR0(0), (_, a, s) => [s.add(a), s.add(a)], 0),
      [[1, 3, 6], 6]],
    call: [[VECTOR], (b, x) => b.call((_, a) => a.neg(), [x]), [-1, -2, -3]],
  };
  for (const [name, [inputs, build, want]] of Object.entries(cases)) {
    test(name, async () => assert.deepEqual(await evaluate(inputs, build), want));
  }
  test('of replicas', async () => {
    const build = (b, x) => b.allReduce(x.mul(b.replicaId().convertElementType('f32')), 'add');
    assert.deepEqual(await evaluate([VECTOR], build, 4), [6, 12, 18]);
  });
  test('errors name the mistake', () => {
    const b = client.builder('b');
    const x = b.parameter(0, 'f32[2]');
    const refused = (body, message) => assert.throws(body, { name: 'XlaError', message });
    refused(() => b.reduce(x, 0, 'ad', [0]), /computation: "ad" is not known here; did you mean/);
    refused(() => b.reduce(x, 0, 'tanh', [0]), /2 parameters, of which "tanh" takes 1/);
    refused(() => b.reduce(x, 0, () => 5, [0]), /must return an XlaOp of its builder.*got 5/);
    refused(() => b.reduce(x, 0, (c, s) => c.add(s, x), [0]), /rhs is f32\[2\]\S* \S+ from outside/);
    refused(() => b.reduce(x, 0, (c, s) => c.broadcast(s, [2]), [0]), /reduce/);
    refused(() => b.map(x, (c, a) => c.select(b.constant([true, false]), a, a)), /scalars only/);
    const own = new Error("the caller's own");
    assert.throws(() => b.map(x, () => { throw own; }), (error) => error === own);
    let leaked;
    b.map(x, (c, a) => (leaked = a));
    refused(() => b.add(x, leaked), /is an XlaOp of builder/);
    assert.match(b.build(b.neg(x)).toString(), /negate/);
  });
});

describe('functions that use values from outside', () => {
  const cases = {
    'a loop': [[VECTOR, ['f32[3]', [10, 20, 30]]], (b, x, y) => {
      const [, sum] = b.while(
        (c, i) => c.lt(i, 5),
        (c, i, s) => [c.add(i, 1), c.add(s, y)], // y is from outside
        [b.constantR0(0, 's32'), x],
      );
      return sum;
    }, [51, 102, 153]],
    'a loop with a limit from outside': [[['s32[]', 7]], (b, n) =>
      b.while((_, i) => i.lt(n), (_, i) => i.add(2), b.constantR0(0, 's32')), 8],
    'a loop of a tuple': [[VECTOR], (b, x) => {
      const last = b.while((_, i) => i.lt(3), (_, i, s) => [i.add(1), s.mul(x)],
        b.tuple([b.constantR0(0, 's32'), x]));
      return b.getTupleElement(last, 1);
    }, [1, 16, 81]],
    'loops in loops': [[['s32[]', 3], ['f32[]', 2]], (b, n, x) => b.while(
      (_, i) => i.lt(n),
      (_, i, s) => [i.add(1), _.while(
        (_c, j) => j.lt(i),
        (_c, j, t) => [j.add(1), t.add(x)],
        [_.constantR0(0, 's32'), s],
      ).getTupleElement(1)],
      [b.constantR0(0, 's32'), b.constantR0(0)],
    ), [3, 6]],
    'a conditional': [[['pred[]', true], VECTOR], (b, p, x) =>
      b.conditional(p, () => x.mul(2), (c) => c.neg(x)), [2, 4, 6]],
    'a conditional, not': [[['pred[]', false], VECTOR], (b, p, x) =>
      p.conditional(() => x.mul(2), (c) => c.neg(x)), [-1, -2, -3]],
    'a conditional with operands': [[['pred[]', true], VECTOR, ['f32[]', 5]], (b, p, x, y) =>
      b.conditional(p, x, (c, a) => c.add(a, y), x, (c, a) => c.sub(a, y)), [6, 7, 8]],
    'a choice of many': [[['s32[]', 2], VECTOR], (b, i, x) =>
      b.conditional(i, [() => x, (c) => c.neg(x), (c) => c.exp(c.mul(x, 0))]), [1, 1, 1]],
    'a choice of many with operands': [[['s32[]', 1], VECTOR], (b, i, x) =>
      b.conditional(i, [(_, a) => a, (_, a) => a.add(x)], [x, x]), [2, 4, 6]],
    'branches that use different things': [[['pred[]', false], VECTOR, ['f32[]', 5]], (b, p, x, y) =>
      b.conditional(p, (c) => c.reduce(x, 0, 'add', [0]), () => y), 5],
    'a branch that uses nothing': [[['pred[]', true]], (b, p) =>
      b.conditional(p, (c) => c.constant([1, 2]), (c) => c.constant([3, 4])), [1, 2]],
    map: [[VECTOR, ['f32[]', 5]], (b, x, y) => b.map(x, (c, a) => c.mul(a, y)), [5, 10, 15]],
    'map of scalars': [[['f32[]', 2], ['f32[]', 5]], (b, x, y) => b.map(x, (_, a) => a.mul(y)), 10],
    call: [[VECTOR, ['f32[3]', [3, 2, 1]]], (b, x, y) => b.call((_, a) => a.add(y), [x]), [4, 4, 4]],
    'a constant from outside in a reducer': [[VECTOR], (b, x) => {
      const two = b.constantR0(2);
      return b.reduce(x, 0, (_, s, a) => s.add(a.mul(two)), [0]);
    }, 12],
    'what a body returns may be from outside': [[VECTOR], (b, x) => {
      const [, y] = b.while((_, i) => i.lt(1), (_, i) => [i.add(1), x],
        [b.constantR0(0, 's32'), b.neg(x)]);
      return y;
    }, [1, 2, 3]],
    'a number for the next state': [[], (b) =>
      b.while((_, i) => i.lt(3), () => 3, b.constantR0(0, 's32')), 3],
    'a function beside a computation': [[VECTOR], (b, x) => {
      const s = b.createSubBuilder('less');
      const state = s.parameter(0, '(s32[], f32[3])');
      const less = s.build(s.lt(s.getTupleElement(state, 0), s.constantR0(2, 's32')));
      return b.while(less, (_, i, y) => [i.add(1), y.add(x)], [b.constantR0(0, 's32'), x]);
    }, [2, [3, 6, 9]]],
  };
  for (const [name, [inputs, build, want]] of Object.entries(cases)) {
    test(name, async () => assert.deepEqual(await evaluate(inputs, build), want));
  }
  test('a body whose result is not the state', () => {
    const b = client.builder('b');
    const x = b.parameter(0, 'f32[2]');
    assert.throws(() => b.while((c) => c.constant(true), (_, a) => [a, a], x),
      { code: 'INVALID_ARGUMENT', message: /while: body returns \(f32\[2\].*next state, \(f32\[2\]/ });
  });
});

test('operations are methods, of whatever their operands are', async () => {
  const chain = (b, x, y) => x.add(y).mul(2).tanh().reshape([3, 1]).transpose([1, 0])
    .convertElementType('f64');
  const want = [1, 2, 3].map((v) => Math.tanh((v + v) * 2));
  const [got] = await evaluate([VECTOR, VECTOR], chain);
  got.forEach((v, i) => assert.ok(Math.abs(v - want[i]) < 1e-6));
  const b = client.builder('b');
  const t = b.tuple([b.constant(1), b.constant([2, 3])]);
  assert.deepEqual([...t].map(({ shape }) => String(shape)), ['f32[]', 'f32[2]']);
  assert.throws(() => [...b.constant([1, 2])], { name: 'XlaError', message: /is no tuple/ });
});

test('the seed of a run says which numbers rng gives', async () => {
  const b = client.builder('rng');
  const executable = await client.compile(b.build(b.rngUniform(0, 1, 'f32[64]')), { replicas: 2 });
  const draw = async (options) =>
    (await executable.executeReplicas([[], []], options)).map(([y]) => y.toArray());
  const [first, other] = await draw();
  assert.deepEqual(await draw(), [first, other]);
  assert.deepEqual(await draw({ seed: 0 }), [first, other]);
  const seeded = await draw({ seed: 2 ** 53 - 1 });
  assert.deepEqual(await draw({ seed: 2 ** 53 - 1 }), seeded);
  const all = new Set([first, other, ...seeded, ...(await draw({ seed: 1 }))].flat());
  assert.ok(all.size > 6 * 64 - 3, `${all.size} numbers`);
  assert.ok([...all].every((x) => x >= 0 && x < 1));
  for (const seed of [-1, 0.5, 2 ** 53, '1']) {
    await assert.rejects(executable.execute([], { seed }), { message: /seed must be an integer/ });
  }
});

test('rng that is applied to each element gives each its own number', async () => {
  const draw = `draw { x = f64[] parameter(0)\n y = f64[] parameter(1)\n l = f64[] constant(0)\n h = f64[] constant(1)
    u = f64[] rng(l, h), distribution=rng_uniform\n ROOT r = f64[] add(u, y) }`;
  const zeros = 'z = f64[] constant(0)\n x = f64[100000] broadcast(z), dimensions={}';
  const after = 'h = f64[] constant(1)\n n = f64[1000] rng(z, h), distribution=rng_uniform'; // of the same state
  for (const result of [
    'm = f64[100000] map(x, x), dimensions={0}, to_apply=draw',
    'm = f64[99999] reduce-window(x, z), window={size=2}, to_apply=draw',
  ]) {
    const text = `HloModule m\n${draw}\nENTRY e {\n ${zeros}\n ${result}\n ${after}
      ROOT t = (${result.match(/f64\[\d+\]/)[0]}, f64[1000]) tuple(m, n)\n}`;
    const numbers = [];
    for (const threads of [0, 2]) {
      const one = await Client.create({ threads });
      const module = one.parseHlo(text), executable = await one.compile(module);
      const literals = (await executable.execute([])).flat();
      numbers.push(literals.flatMap((literal) => [...literal.data]));
      one.dispose();
    }
    assert.deepEqual(numbers[0], numbers[1]);
    assert.ok(new Set(numbers[0]).size > numbers[0].length - 10, `${new Set(numbers[0]).size} of ${numbers[0].length}`);
  }
});

test('a computation is known by itself, not by its address', () => {
  const b = client.builder('b');
  const x = b.parameter(0, 'f32[4]');
  const results = ['add', 'mul', 'max', 'min'].map((name) => {
    const s = b.createSubBuilder(name);
    const module = s.build(s[name](s.parameter(0, 'f32[]'), s.parameter(1, 'f32[]')));
    const result = b.reduce(x, 0, module, [0]);
    module.dispose(); // the next one may have its address
    return result;
  });
  const text = b.build(b.tuple(results)).toString();
  for (const opcode of ['add', 'multiply', 'maximum', 'minimum']) {
    assert.match(text, new RegExp(` ${opcode}\\(`));
  }
});

describe('what things look like', () => {
  test('operations', () => {
    const b = client.builder('b');
    const x = b.parameter(0, 'f32[2]', 'x');
    assert.equal(String(x), 'f32[2] x');
    assert.match(String(b.add(x, x)), /^f32\[2\] add\.\d+$/);
    assert.match(inspect(b.neg(x)), /^XlaOp \{ f32\[2\] negate\.\d+ \}$/);
    assert.equal(inspect(b), "XlaBuilder { b }");
  });
  test('builders without a name are numbered', () => {
    const [one, two] = [client.builder(), client.builder()];
    assert.notEqual(one.name, two.name);
    assert.throws(() => one.add(one.parameter(0, 'f32[]'), two.parameter(0, 'f32[]')),
      (error) => error.message.includes(one.name) && error.message.includes(two.name));
  });
  test('shapes, layouts, literals', () => {
    assert.equal(inspect(Shape.parse('f32[2,<=3]')), 'Shape { f32[2,<=3] }');
    assert.equal(inspect(new Layout({ minorToMajor: [0, 1] })), 'Layout { {0,1} }');
    assert.equal(inspect(Literal.from([[1, 2], [3, 4]])), 'Literal { f32[2,2] {\n  {1, 2},\n  {3, 4}\n} }');
    assert.match(inspect(Literal.zeros('f32[100000]')), /^Literal \{ f32\[100000\] \{0, 0, .* \}$/s);
    assert.ok(inspect(Literal.zeros('f32[100,100,100]')).length < 3000);
    assert.ok(inspect(Literal.zeros('f32[100,100,100]')).includes('...'));
    const gone = Literal.zeros('f32[2]');
    structuredClone(gone.data, { transfer: [gone.data.buffer] });
    assert.equal(inspect(gone), 'Literal { f32[2], transferred away }');
  });
  test('what lives in the core', async () => {
    const buffer = client.buffer([[1, 2]]);
    assert.deepEqual(buffer.toArray(), [[1, 2]]);
    assert.match(inspect(buffer), /^Buffer \{ f32\[1,2\] .*1, 2/s);
    buffer.dispose();
    assert.equal(inspect(buffer), 'Buffer { f32[1,2], disposed }');
    const b = client.builder('axpy');
    const module = b.build(b.neg(b.parameter(0, 'f32[2]', 'x')));
    assert.equal(inspect(module), 'HloModule { axpy(x: f32[2]) -> f32[2] }');
    const executable = await client.compile(module, { replicas: 2 });
    assert.equal(inspect(executable), 'Executable { (x: f32[2]) -> f32[2], 2 replicas }');
    executable.dispose();
    assert.match(inspect(executable), /disposed/);
    assert.match(inspect(client), /^Client \{ replicas: 1, threads: 0 \}$/);
  });
});
