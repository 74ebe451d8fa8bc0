/** Tests that derivatives are those of JAX: of functions by golden/gradients, and what callers may ask for. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client, Literal } from '../../bindings/index.mjs';
import { argument, assertClose, flat } from '../support/from_jax.mjs';
import { ROOT } from '../support/program.mjs';

const FUNCTIONS = JSON.parse(gunzipSync(await readFile(join(ROOT, 'tests/golden/gradients/functions.json.gz'))));
/** What JAX knows before it makes the program, and the program does not say. */
const OPTIONS = { 'loop-of-unknown-count': { maxTrips: 6 } };

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
  registerRules();
});
after(() => client.dispose());

/** The functions and rules of golden/gradients/rules.py. */
function registerRules() {
  const alike = ({ operands: [first, ...more] }, f) =>
    new Literal(first.shape, first.data.map((x, i) => f(x, ...more.map(({ data }) => data[i]))));
  client.registerCustomCall('test.wave', (call) => alike(call, (x, y) => Math.sin(x) * y));
  client.registerGradient('test.wave', { vjp: (b, [, y], _, [g]) => [g.mul(y).mul(b.constant(3, 'f32[]')), g.mul(b.constant(5, 'f32[]'))] });
  client.registerCustomCall('test.cube', (call) => alike(call, (x) => x ** 3));
  client.registerGradient('test.cube', { jvp: (b, [x], _, [t]) => [b.constant(7, 'f32[]').mul(x).mul(t)] });
  client.registerCustomCall('test.halves', ({ operands: [x, i] }) =>
    [alike({ operands: [x] }, (v) => v * 2), alike({ operands: [i] }, (v) => v + 1), alike({ operands: [x] }, (v) => v - 1)]);
  client.registerGradient('test.halves', { vjp: (b, [x], _, [g, , h]) => [g.mul(x).sub(h), null] });
  client.registerCustomCall('test.turn', ({ operands: [z] }) =>
    new Literal(z.shape, z.data.map((_, i) => (i % 2 ? z.data[i - 1] : -z.data[i + 1]))));
  client.registerGradient('test.turn', { vjp: (b, [z], _, [g]) => [g.mul(z)] });
  client.registerGradient('again', { recompute: true });
  client.registerGradient('gentle', { vjp: (b, _operands, _results, [g]) => [g.mul(b.constant(11, 'f32[]'))] });
}

/** Runs a derivative of a function; returns its last results, as many as JAX has. */
async function derivative(mode, { program, arguments: given, wrt, name, ...values }, { module, ...more } = {}) {
  module ??= await client.parseStableHlo(program);
  const derived = client[mode](module, { wrt, ...(mode === 'vjp' ? { ...OPTIONS[name], ...more } : {}) });
  const { parameters } = derived;
  const seeds = mode === 'jvp' ? values.tangents : values.cotangents;
  const executable = await client.compile(derived);
  const args = [...given, ...seeds].map((value, i) => argument(parameters[i].shape, value));
  return (await executable.execute(args)).slice(-values[mode].length);
}

describe("derivatives equal JAX's", () => {
  for (const mode of ['jvp', 'vjp']) {
    for (const entry of FUNCTIONS.filter((f) => f[mode])) {
      test(`${mode} of ${entry.name}`, async () => {
        const results = await derivative(mode, entry);
        entry[mode].forEach((wanted, i) => assertClose(results[i], wanted, `${mode} ${i}`));
      });
    }
  }
});

/** At kinks and poles, and for approximations of low degree, second derivatives are not those of JAX's own rules. */
const SECOND_DIFFERS = /special (i1e?|.*-on-diagonals|complex-sinc|arctanh-beyond|(complex-)?powers(-by-integers)?|(erfc|log-ndtr|erf-inv) float32)( |$)/;

describe("second derivatives equal JAX's", () => {
  for (const { name, program, wrt, second, ...values } of FUNCTIONS.filter((f) => f.second && !SECOND_DIFFERS.test(f.name))) {
    test(name, async () => {
      const first = client.vjp(await client.parseStableHlo(program), { wrt }), product = client.jvp(first, { wrt });
      const executable = await client.compile(product);
      const args = [...values.arguments, ...values.cotangents, ...values.tangents];
      const results = (await executable.execute(args.map((value, i) => argument(product.parameters[i].shape, value)))).slice(-second.length);
      second.forEach((wanted, i) => assertClose(results[i], wanted, `result ${i}`));
    });
  }
});

test("sinc's slope near 0 is -pi^2 x / 3", async () => {
  const { program } = FUNCTIONS.find(({ name }) => name === 'special sinc float32');
  const executable = await client.compile(client.vjp(await client.parseStableHlo(program)));
  const xs = [1e-30, -1e-20, 1e-8, 1e-5, -1e-4];
  const [slopes] = await executable.execute([xs, xs.map(() => 1)]);
  slopes.data.forEach((slope, i) => assert.ok(Math.abs(slope / (-(Math.PI ** 2) * xs[i] / 3) - 1) < 1e-6, `${xs[i]}: ${slope}`));
});

/** HLO text in which broadcasts of constants are constants of all elements: constant({0, 0}). */
const spelledOut = (text) => text.split('\n}').map((computation) => {
  const values = new Map([...computation.matchAll(/^ *(%?\S+) = \w+\[\] constant\((\([^)]*\)|[^)]*)\)/gm)].map(([, name, value]) => [name, value]));
  return computation.replace(/= (\w+\[([\d,]+)\]\S*) broadcast\((?:\w+\[\] )?(\S+)\), dimensions=\{\}/g, (whole, shape, sizes, name) => {
    const dimensions = sizes.split(',').map(Number);
    if (!values.has(name) || dimensions.reduce((product, size) => product * size, 1) > 1000) return whole;
    const literal = dimensions.reduceRight((inner, size) => `{${Array(size).fill(inner).join(', ')}}`, values.get(name));
    return `= ${shape} constant(${literal})`;
  });
}).join('\n}');

test("derivatives equal JAX's if constants are written as arrays", async () => {
  let programs = 0;
  for (const entry of FUNCTIONS.filter(({ vjp }) => vjp)) {
    const module = await client.parseStableHlo(entry.program);
    const text = String(module), other = spelledOut(text);
    if (text === other) continue;
    programs++;
    const results = await derivative('vjp', entry, { module: client.parseHlo(other) });
    entry.vjp.forEach((wanted, i) => assertClose(results[i], wanted, `${entry.name}: vjp ${i}`));
  }
  assert.ok(programs > 100, `${programs} programs`);
});

describe("derivatives of batches of loops whose count has a bound equal JAX's", () => {
  /** Two elements of a batch: the values, and a multiple of them. */
  const pair = ({ shape, data }, factor) => ({ shape: [2, ...shape], data: [...data, ...data.map((x) => x * factor)] });
  for (const { name, program, wrt, vjp, cotangents, ...values } of FUNCTIONS.filter((f) => /^count-(batch|bound|outer)/.test(f.name))) {
    for (const depth of /-(bound|batch)/.test(name) ? [1, 2] : [1]) {
      test(`${name}, depth ${depth}`, async () => {
        const batched = (times, of, each) => (times ? batched(times - 1, each(of), each) : of);
        const pairs = (x, factor) => batched(depth, x, (y) => pair(y, factor));
        const module = batched(depth, await client.parseStableHlo(program), (m) => client.vmap(m, { size: 2 }));
        const derived = client.vjp(module, { wrt });
        const args = [...values.arguments.map((x) => pairs(x, 1)), ...cotangents.map((x) => pairs(x, 3))];
        const executable = await client.compile(derived);
        const results = await executable.execute(args.map((value, i) => argument(derived.parameters[i].shape, value)));
        vjp.forEach((wanted, i) => assertClose(results[i], pairs(wanted, 3), `result ${i}`));
      });
    }
  }
});

describe("with checkpoints, derivatives of loops equal JAX's", () => {
  const loops = FUNCTIONS.filter(({ vjp, program }) => vjp && program.includes('stablehlo.while'));
  for (const checkpoint of ['sqrt', 'all']) {
    for (const entry of loops) {
      test(`${checkpoint}: ${entry.name}`, async () => {
        const results = await derivative('vjp', entry, { checkpoint });
        entry.vjp.forEach((wanted, i) => assertClose(results[i], wanted, `vjp ${i}`));
      });
    }
  }

  /** 1,000 iterations of several operations on 256 numbers: each saves values that the derivative needs. */
  const deep = () => {
    const b = client.builder('deep');
    const x = b.parameter(0, 'f32[256]', 'x');
    const [, last] = b.while(
      (c, i) => c.lt(i, c.constant(1000, 's32[]')),
      (c, i, y) => [c.add(i, c.constant(1, 's32[]')), c.sin(c.mul(y, c.cos(c.mul(c.tanh(y), c.exp(y)))))],
      [b.constant(0, 's32[]'), x]);
    return b.build(b.reduceAll(last, 0, 'add'));
  };

  test('they save memory: that of 1,000 iterations falls to that of 32 states and 32 iterations', async () => {
    const module = deep(), bytes = {};
    for (const checkpoint of ['none', 'all', 'sqrt']) {
      const { memory } = await client.compile(client.gradient(module, { checkpoint }));
      bytes[checkpoint] = memory.temporaries;
    }
    assert.ok(bytes.none >= 4 * 1000 * 1024, `none: ${bytes.none}`);
    assert.ok(bytes.all < 1.2 * 1000 * 1024, `all: ${bytes.all}`);
    assert.ok(bytes.sqrt < 8 * 32 * 1024, `sqrt: ${bytes.sqrt}`);
  });

  test('loops of 1 to 17 iterations: the same gradient, whatever is saved', async () => {
    for (let count = 1; count <= 17; count++) {
      const b = client.builder('short');
      const x = b.parameter(0, 'f64[2]', 'x');
      const [, last] = b.while((c, i) => i.lt(count), (c, i, y) => [i.add(1), c.sin(y).mul(x)], [b.constant(0, 's32[]'), x]);
      const module = b.build(b.reduceAll(last, 0, 'add'));
      const wanted = flat((await run(client.gradient(module), [[0.9, 1.3]]))[0]);
      for (const checkpoint of ['sqrt', 'all']) {
        const got = flat((await run(client.gradient(module, { checkpoint }), [[0.9, 1.3]]))[0]);
        got.forEach((value, k) => assert.ok(Math.abs(value - wanted[k]) <= 1e-13 * Math.abs(wanted[k]), `${count}, ${checkpoint}: ${got}`));
      }
    }
  });

  test('an effect in a loop happens once in each iteration, whatever is saved', async () => {
    for (const checkpoint of ['none', 'sqrt', 'all']) {
      let calls = 0;
      client.registerCustomCall('seen', ({ operands: [x] }) => { calls++; return x; });
      client.registerGradient('seen', { vjp: (_b, _operands, results, [g]) => [g.mul(results[0])] });
      const b = client.builder('seen');
      const x = b.parameter(0, 'f32[]', 'x');
      const [, last] = b.while(
        (c, i) => c.lt(i, c.constant(9, 's32[]')),
        (c, i, y) => [c.add(i, c.constant(1, 's32[]')), c.customCall('seen', [c.mul(y, y)], 'f32[]')],
        [b.constant(0, 's32[]'), x]);
      const [slope] = await run(client.gradient(b.build(last), { checkpoint }), [0.999]);
      const wanted = Array.from({ length: 9 }, (_, i) => 2 * 0.999 ** (2 ** i) * 0.999 ** (2 ** (i + 1))).reduce((p, q) => p * q);
      assert.ok(Math.abs(slope - wanted) <= 1e-4 * wanted, `${checkpoint}: ${slope}, ${wanted}`);
      assert.equal(calls, 9, checkpoint);
    }
  });

  test('a loop that calls the host saves its states and their results only, also with sqrt', async () => {
    client.registerCustomCall('kept', ({ operands: [x] }) => x);
    client.registerGradient('kept', { vjp: (_b, _operands, _results, [g]) => [g] });
    const bytes = {};
    for (const checkpoint of ['none', 'sqrt']) {
      const b = client.builder('kept'), x = b.parameter(0, 'f32[256]', 'x');
      const [, last] = b.while((c, i) => i.lt(100), (c, i, y) => {
        y = c.customCall('kept', [y], 'f32[256]');
        for (let k = 0; k < 6; k++) y = y.sin().mul(y.cos());
        return [i.add(1), y];
      }, [b.constant(0, 's32[]'), x]);
      const { memory } = await client.compile(client.gradient(b.build(b.reduceAll(last, 0, 'add')), { checkpoint }));
      bytes[checkpoint] = memory.temporaries;
    }
    assert.ok(bytes.sqrt < 2.3 * 100 * 1024 && bytes.none > 5 * 100 * 1024, JSON.stringify(bytes));
  });

  test('other words are refused', () => {
    assert.throws(() => client.gradient(deep(), { checkpoint: 'half' }), /checkpoint must be 'none', 'sqrt' or 'all'/);
  });
});

/** (x, w) -> (sum(tanh(w x)), w x) */
const LOSS = `HloModule loss
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[2] parameter(0)
  params.w = f32[2] parameter(1)
  params.n = s32[] parameter(2)
  y = f32[2] multiply(params.w, x)
  t = f32[2] tanh(y)
  zero = f32[] constant(0)
  loss = f32[] reduce(t, zero), dimensions={0}, to_apply=add
  ROOT r = (f32[], f32[2]) tuple(loss, y) }`;

async function run(module, args) {
  const executable = await client.compile(module);
  return (await executable.execute(args)).map((literal) => literal.toArray());
}

const slope = (x) => 1 - Math.tanh(x) ** 2;
const close = (got, wanted) => flat(got).forEach((x, i) => assert.ok(Math.abs(x - flat(wanted)[i]) < 1e-5, `${got}`));

describe('requests', () => {
  test('gradient by numbers, names and prefixes; values first if asked for', async () => {
    const loss = client.parseHlo(LOSS);
    const wanted = [0.5 * slope(0.5), 2 * slope(-2)];
    for (const wrt of [1, 'params.w', 'params', [1], ['params']]) {
      const module = client.gradient(loss, { wrt });
      close(await run(module, [[0.5, 2], [1, -1], 3]), [wanted]);
    }
    const all = client.gradient(loss, { value: true });
    const [value, y, dx, dw] = await run(all, [[0.5, 2], [1, -1], 3]);
    close([value, y, dx, dw],
      [Math.tanh(0.5) + Math.tanh(-2), [0.5, -2], [slope(0.5), -slope(-2)], wanted]);
  });

  test('a gradient is a program: it is printed, parsed, and differentiated again', async () => {
    const loss = client.parseHlo(LOSS);
    const first = client.gradient(loss, { wrt: 'params.w' });
    const again = client.parseHlo(first.toString());
    assert.equal(again.toString(), first.toString());
    const product = client.jvp(again, { wrt: 1 });
    const [, second] = await run(product, [[0.5, 2], [1, -1], 3, [1, 1]]);
    const curve = (x, w) => -2 * Math.tanh(w * x) * slope(w * x) * x * x;
    close(second, [curve(0.5, 1), curve(2, -1)]);
  });

  test('zeros for a parameter that the loss does not depend on; tuples keep their form', async () => {
    const module = client.parseHlo(`HloModule m
ENTRY main {
  p = (f32[2], (s32[], f32[])) parameter(0)
  q = f32[3] parameter(1)
  x = f32[2] get-tuple-element(p), index=0
  y = f32[1] slice(x), slice={[1:2]}
  ROOT r = f32[] reshape(y) }`);
    const gradient = client.gradient(module);
    assert.equal(String(gradient.resultShape), '((f32[2], (s32[], f32[])), f32[3])');
    const executable = await client.compile(gradient);
    const [tuple, zeros] = await executable.execute([[[5, 6], [7, 8]], [1, 2, 3]]);
    assert.deepEqual(tuple.elements[0].toArray(), [0, 1]);
    assert.deepEqual(zeros.toArray(), [0, 0, 0]);
  });

  test('a loop of unknown count needs a bound, and says NaN beyond it', async () => {
    const module = client.parseHlo(`HloModule m
condition { s = (s32[], s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT less = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  x = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[] multiply(x, x)
  ROOT t = (s32[], s32[], f32[]) tuple(next, n, y) }
ENTRY main {
  n = s32[] parameter(0)
  x = f32[] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], s32[], f32[]) tuple(zero, n, x)
  loop = (s32[], s32[], f32[]) while(init), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(loop), index=2 }`);
    const bounded = client.gradient(module, { maxTrips: 3 });
    const executable = await client.compile(bounded);
    for (const [n, wanted] of [[0, 1], [1, 3], [3, 8 * 1.5 ** 7], [4, NaN]]) {
      const [{ data: [got] }] = await executable.execute([n, 1.5]);
      assert.ok(Object.is(got, wanted) || Math.abs(got - wanted) < 1e-4 * wanted, `${n}: ${got}`);
    }
  });

  /** x <- (x + a / x) / 2 until a step is small, n steps at least: the square root of a. */
  const newton = (shape, more = '') => `HloModule m
condition { s = (s32[], ${shape}, ${shape}, s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=3
  few = pred[] compare(i, n), direction=LT
  a = ${shape} get-tuple-element(s), index=1
  x = ${shape} get-tuple-element(s), index=2
  xx = ${shape} multiply(x, x)
  d = ${shape} subtract(xx, a)
  e = ${shape} abs(d)
  z = f64[] constant(0)
  far = f64[] reduce(e, z), dimensions={${/\d/.test(shape.slice(3)) ? 0 : ''}}, to_apply=max
  tolerance = f64[] constant(1e-12)
  p = pred[] compare(far, tolerance), direction=GT
  ROOT both = pred[] or(p, few) }
max { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT r = f64[] maximum(a, b) }
body { s = (s32[], ${shape}, ${shape}, s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = ${shape} get-tuple-element(s), index=1
  x = ${shape} get-tuple-element(s), index=2
  ${more}
  q = ${shape} divide(a, ${more ? 'v' : 'x'})
  t = ${shape} add(q, x)
  h = f64[] constant(0.5)
  half = ${shape} broadcast(h), dimensions={}
  y = ${shape} multiply(t, half)
  ROOT r = (s32[], ${shape}, ${shape}, s32[]) tuple(next, a, y, n) }
ENTRY main {
  a = ${shape} parameter(0)
  n = s32[] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], ${shape}, ${shape}, s32[]) tuple(zero, a, a, n)
  loop = (s32[], ${shape}, ${shape}, s32[]) while(init), condition=condition, body=body
  ROOT r = ${shape} get-tuple-element(loop), index=2 }`;

  test('loops of at most 65,536 iterations need no bound', async () => {
    const executable = await client.compile(client.vjp(client.parseHlo(newton('f64[3]')), { wrt: [0] }));
    for (const [least, known] of [[0, true], [70, true], [3000, true], [65536, true], [65800, false]]) {
      const [slope] = await executable.execute([[2, 0.3, 50], least, [1, 1, 1]]);
      for (const [i, a] of [2, 0.3, 50].entries()) {
        const wanted = known ? 0.5 / Math.sqrt(a) : NaN;
        assert.ok(Object.is(slope.data[i], wanted) || Math.abs(slope.data[i] - wanted) < 1e-12, `${least}: ${slope.data[i]}`);
      }
    }
  });

  test('no bound is guessed for loops with much state, or with random numbers', () => {
    const far = /while .*is a loop whose number of iterations is not known before the run.*; give an upper bound \(maxTrips\)/;
    assert.throws(() => client.vjp(client.parseHlo(newton('f64[20000]')), { wrt: [0] }), far);
    client.vjp(client.parseHlo(newton('f64[20000]')), { wrt: [0], maxTrips: 8 }).dispose();
    const drawn = `k = u64[] convert(next)\n u = f64[] bitcast-convert(k)\n w = f64[3] broadcast(u), dimensions={}\n v = f64[3] add(x, w)`;
    assert.throws(() => client.vjp(client.parseHlo(newton('f64[3]', drawn)), { wrt: [0] }), far);
  });

  test('a parameter that is a tuple has a tangent that is one', async () => {
    const module = client.parseHlo(`HloModule m
ENTRY main { p = (f32[2], f32[2]) parameter(0)\n x = f32[2] get-tuple-element(p), index=0\n y = f32[2] get-tuple-element(p), index=1\n ROOT r = f32[2] multiply(x, y) }`);
    const executable = await client.compile(client.jvp(module));
    const results = await executable.execute([[[1, 2], [3, 4]], [[1, 1], [10, 10]]]);
    assert.deepEqual(results.map((x) => x.toArray()), [[3, 8], [13, 24]]);
  });

  test('slices at a list of indices', async () => {
    const read = client.vjp(client.parseHlo(`HloModule m
ENTRY main { x = f32[3,4] parameter(0)\n i = s32[2] parameter(1)\n a = f32[1,2] dynamic-slice(x, i), dynamic_slice_sizes={1,2}
 j = s32[2] constant({0, 2})\n b = f32[1,2] dynamic-slice(x, j), dynamic_slice_sizes={1,2}\n ROOT r = f32[1,2] multiply(a, b) }`), { wrt: [0] });
    const x = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
    const run2 = async (module, args) => (await (await client.compile(module)).execute(args)).map((y) => y.toArray());
    assert.deepEqual(await run2(read, [x, [1, 1], [[1, 10]]]), [[[0, 0, 6, 70], [0, 3, 40, 0], [0, 0, 0, 0]]]);
    const write = client.vjp(client.parseHlo(`HloModule m
ENTRY main { x = f32[2,3] parameter(0)\n u = f32[1,2] parameter(1)\n i = s32[2] parameter(2)\n ROOT r = f32[2,3] dynamic-update-slice(x, u, i) }`), { wrt: [0, 1] });
    assert.deepEqual(await run2(write, [[[1, 2, 3], [4, 5, 6]], [[7, 8]], [1, 1], [[1, 2, 3], [4, 5, 6]]]), [[[1, 2, 3], [4, 0, 0]], [[5, 6]]]);
  });

  test('arrays without elements that are sorted', async () => {
    const module = client.vjp(client.parseHlo(`HloModule m
before { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }
ENTRY main { x = f32[3,0] parameter(0)\n ROOT r = f32[3,0] sort(x), dimensions={0}, to_apply=before }`));
    const [slope] = await (await client.compile(module)).execute([[[], [], []], [[], [], []]]);
    assert.equal(String(slope.shape), 'f32[3,0]');
  });

  test('a scatter of products in an array without elements', async () => {
    const module = client.vjp(client.parseHlo(`HloModule m
mul { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] multiply(a, b) }
ENTRY main { x = f32[3,0] parameter(0)\n u = f32[2,0] parameter(1)\n i = s32[2,1] constant({{0},{1}})
 ROOT r = f32[3,0] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=mul }`));
    const results = await (await client.compile(module)).execute([[[], [], []], [[], []], [[], [], []]]);
    assert.deepEqual(results.map(({ shape }) => String(shape)), ['f32[3,0]', 'f32[2,0]']);
  });

  test('refusals name the operation, and come only if a result needs it', async () => {
    const text = (root) => `HloModule m
ENTRY main {
  x = f32[2] parameter(0)
  i = s32[] parameter(1)
  y = f32[2] custom-call(x), custom_call_target="mine"
  z = f32[2] sine(x)
  one = f32[1] slice(${root}), slice={[0:1]}
  loss = f32[] reshape(one)
  ROOT r = (f32[], f32[2]) tuple(loss, y) }`;
    const good = client.parseHlo(text('z'));
    const bad = client.parseHlo(text('y'));
    client.gradient(good).dispose();
    for (const [call, message] of [
      [() => client.gradient(bad), /gradient: custom-call "y" of shape f32\[2\] calls "mine"/],
      [() => client.gradient(good, { wrt: 1 }), /parameter 1 "i" of shape s32\[\]/],
      [() => client.gradient(good, { wrt: 2 }), /no parameter 2; the program has 2/],
      [() => client.gradient(good, { wrt: 'xx' }), /no parameter is named "xx".*x/],
      [() => client.gradient(good, { of: 1 }), /result 1 has shape f32\[2\].*vjp/],
      [() => client.gradient(good, { of: 2 }), /no result 2; the program has 2/],
      [() => client.gradient(good, { with: 1 }), /with/],
    ]) assert.throws(call, message);
  });
});

test('a rule for calls by name holds for the name with numbers after it', async () => {
  const own = await Client.create({ threads: 0 });
  own.registerGradient('soft', { vjp: (b, _operands, _results, [g]) => [g.mul(b.constant(11, 'f32[]'))] });
  const slopeOf = async (name) => {
    const module = own.gradient(own.parseHlo(`${name} { a = f32[] parameter(0)\n ROOT r = f32[] negate(a) }\nENTRY e { x = f32[] parameter(0)\n ROOT y = f32[] call(x), to_apply=${name} }`));
    return (await (await own.compile(module)).execute([2]))[0].toArray();
  };
  for (const name of ['soft', 'soft.0', 'soft.1', 'soft.9', 'soft_9', 'soft.10', 'soft.90', 'soft_5.19']) assert.equal(await slopeOf(name), 11, name);
  for (const name of ['soft9', 'softer', 'sof', 'soft.a', 'soft.9a', 'soft-9', 'a.soft']) assert.equal(await slopeOf(name), -1, name);
  own.dispose();
});

describe('values that a select does not choose', () => {
  /** Of sum(x > 0 ? f(x) : x), and of two selects, the inner one with other values. */
  const programs = (formula) => [
    [`ENTRY main { x = f32[3] parameter(0)
      zero = f32[3] constant({0, 0, 0})
      one = f32[3] constant({1, 1, 1})
      p = pred[3] compare(x, zero), direction=GT
      ${formula}
      ROOT r = f32[3] select(p, y, x) }`, 0],
    [`ENTRY main { x = f32[3] parameter(0)
      zero = f32[3] constant({0, 0, 0})
      one = f32[3] constant({1, 1, 1})
      p = pred[3] compare(x, zero), direction=GT
      ${formula}
      q = pred[3] compare(x, one), direction=LT
      inner = f32[3] select(q, y, one)
      double = f32[3] add(inner, inner)
      ROOT r = f32[3] select(p, double, x) }`, 1],
  ];
  const FORMULAS = {
    log: ['y = f32[3] log(x)', (x) => 1 / x],
    quotient: ['y = f32[3] divide(one, x)', (x) => -1 / (x * x)],
    root: ['y = f32[3] rsqrt(x)', (x) => -0.5 * x ** -1.5],
    'product of quotients': [`i = f32[3] divide(one, x)
      j = f32[3] multiply(i, i)
      y = f32[3] multiply(i, j)`, (x) => -3 * x ** -4],
    'cube root': ['y = f32[3] cbrt(x)', (x) => x ** (-2 / 3) / 3],
    acosh: ['a = f32[3] add(x, one)\n y = f32[3] acosh(a)', (x) => ((x + 1) ** 2 - 1) ** -0.5],
    ...Object.fromEntries([['acos', (a) => -((1 - a * a) ** -0.5)], ['asin', (a) => (1 - a * a) ** -0.5], ['atanh', (a) => 1 / (1 - a * a)]].map(
      ([name, derivative]) => [name, [`a = f32[3] subtract(x, one)\n y = f32[3] ${name}(a)`, (x) => derivative(x - 1)]])),
    // Their values are NaN where x = -1.
    ...Object.fromEntries([['acos', 'subtract', (a) => -((1 - a * a) ** -0.5)], ['asin', 'subtract', (a) => (1 - a * a) ** -0.5],
      ['atanh', 'subtract', (a) => 1 / (1 - a * a)], ['acosh', 'add', (a) => (a * a - 1) ** -0.5], ['cbrt', 'add', (a) => a ** (-2 / 3) / 3]].map(
      ([name, shift, derivative]) => [`a product with ${name}`, [`a = f32[3] ${shift}(x, one)\n f = f32[3] ${name}(a)\n y = f32[3] multiply(x, f)`, (x) => {
        const a = shift === 'add' ? x + 1 : x - 1;
        return Math[name](a) + x * derivative(a);
      }]])),
    ...Object.fromEntries([['cosh', Math.sinh], ['sinh', Math.cosh]].map(([name, derivative]) =>
      [`${name} that overflows`, [`k = f32[3] constant({-100, -100, -100})\n a = f32[3] multiply(x, k)\n y = f32[3] ${name}(a)`,
        (x) => -100 * derivative(-100 * x)]])),
    'exponential that overflows': [`m = f32[3] negate(x)
      k = f32[3] constant({100, 100, 100})
      mk = f32[3] multiply(m, k)
      e = f32[3] exponential(mk)
      y = f32[3] multiply(e, x)`, (x) => Math.exp(-100 * x) * (1 - 100 * x)],
  };
  for (const [name, [formula, derivative]] of Object.entries(FORMULAS)) {
    test(`have no part in the gradient, even if their derivative is infinite: ${name}`, async () => {
      for (const [text, isNested] of programs(formula)) {
        const [got] = await run(client.vjp(client.parseHlo(`HloModule m\n${text}`)), [[0, 0.25, -1], [3, 5, 7]]);
        const wanted = [3, 5 * derivative(0.25) * (isNested ? 2 : 1), 7];
        got.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) <= 1e-5 * Math.abs(wanted[i]), `${got}; not ${wanted}`));
      }
    });
  }
});

describe('branches, loops and windows', () => {
  test('a branch that is not taken adds nothing, however large its slope is', async () => {
    const module = client.parseHlo(`HloModule branches
      ENTRY e { x = f32[4] parameter(0)
        y = f32[4] parameter(1)
        zeros = f32[4] constant({0, 0, 0, 0})
        ones = f32[4] constant({1, 1, 1, 1})
        positive = pred[4] compare(x, zeros), direction=GT
        root = f32[4] sqrt(x)
        over = f32[4] divide(y, root)
        ratio = f32[4] subtract(over, root)
        small = pred[4] compare(x, ones), direction=LT
        log = f32[4] log(x)
        inner = f32[4] select(small, ratio, log)
        outer = f32[4] select(positive, inner, y)
        zero = f32[] constant(0)
        ROOT sum = f32[] reduce(outer, zero), dimensions={0}, to_apply=add }
      add { a = f32[] parameter(0)
        b = f32[] parameter(1)
        ROOT s = f32[] add(a, b) }`);
    const gradient = await client.compile(client.gradient(module, { wrt: ['x', 'y'] }));
    const [byX, byY] = await gradient.execute([[0.25, 0, -1, 2], [3, 5, 7, 9]]);
    assert.deepEqual(byX.toArray(), [-3 / (2 * 0.125) - 1, 0, 0, 0.5]);
    assert.deepEqual(byY.toArray(), [2, 1, 1, 0]);
  });

  for (const [name, factor] of [
    ['remainder', 'f = f32[3] remainder(y, x)'],
    ['sum', 's = f32[] reduce(logs, zero), dimensions={0}, to_apply=add\n f = f32[3] broadcast(s), dimensions={}'],
    ['product of vectors', `d = f32[] dot(logs, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
      f = f32[3] broadcast(d), dimensions={}`],
  ]) {
    test(`a branch that is not taken adds no NaN: its factor is a ${name}`, async () => {
      const module = client.parseHlo(`HloModule factor
        add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }
        ENTRY e { v = f32[3] parameter(0)
          x = f32[3] parameter(1)
          y = f32[3] parameter(2)
          zero = f32[] constant(0)
          zeros = f32[3] broadcast(zero), dimensions={}
          never = pred[3] compare(v, zeros), direction=GT
          logs = f32[3] log(x)
          ${factor}
          product = f32[3] multiply(v, f)
          ROOT r = f32[3] select(never, product, y) }`);
      const vjp = await client.compile(client.vjp(module, { wrt: ['v'] }));
      const [slope] = await vjp.execute([[-1, -1, -1], [0, 0, 0], [1, 2, 3], [1, 1, 1]]);
      assert.deepEqual(slope.toArray(), [0, 0, 0]);
    });
  }

  for (const length of [1021, 1022, 1023, 1024, 2048, 20_000]) {
    test(`long chains below a select take no time and no stack: ${length} products`, async () => {
      const lines = Array.from({ length }, (_, i) => `v${i + 1} = f32[2] multiply(v${i}, e)`);
      const doubled = Array.from({ length: 64 }, (_, i) => `q${i + 1} = pred[2] or(q${i}, q${i})`);
      const module = client.parseHlo(`HloModule chain
        ENTRY e { v0 = f32[2] parameter(0)
          zeros = f32[2] constant({0, 0})
          e = f32[2] exponential(zeros)
          q0 = pred[2] compare(v0, zeros), direction=NE
          ${[...lines, ...doubled].join('\n')}
          ROOT r = f32[2] select(q64, v${length}, zeros) }`);
      const [slope] = await (await client.compile(client.vjp(module), { optimize: false })).execute([[2, 0], [3, 5]]);
      assert.deepEqual(slope.toArray(), [3, 0]);
    });
  }

  for (const count of [2, 3, 4, 5, 8]) {
    test(`a branch that is not taken adds no NaN: ${count + 1} operands`, async () => {
      const names = Array.from({ length: count }, (_, i) => `y${i}`);
      const module = client.parseHlo(`HloModule branches
        ENTRY e { x = f64[3] parameter(0)
          ${names.map((name, i) => `${name} = f64[3] parameter(${i + 1})`).join('\n')}
          zeros = f64[3] constant({0, 0, 0})
          positive = pred[3] compare(x, zeros), direction=GT
          root = f64[3] sqrt(x)
          p0 = f64[3] divide(y0, root)
          ${names.slice(1).map((name, i) => `p${i + 1} = f64[3] multiply(p${i}, ${name})`).join('\n')}
          ROOT r = f64[3] select(positive, p${count - 1}, x) }`);
      const wrt = ['x', ...names], values = [[4, 0, 0.25], ...names.map((_, i) => [2 ** i, 2 ** i, 2 ** i])];
      const slopes = await (await client.compile(client.vjp(module, { wrt }))).execute([...values, [1, 1, 1]]);
      const product = 2 ** (count * (count - 1) / 2);
      assert.deepEqual(slopes[0].toArray(), [-product / 16, 1, -product * 4]);
      names.forEach((_, i) => assert.deepEqual(slopes[i + 1].toArray(), [product / 2 ** i / 2, 0, product / 2 ** i * 2]));
    });
  }

  test('factors of many operations below a select', async () => {
    for (const length of [62, 63, 64, 65, 128]) {
      const lines = Array.from({ length }, (_, i) => `v${i + 1} = f32[2] add(v${i}, y)`);
      const module = client.parseHlo(`HloModule factor
        ENTRY e { x = f32[2] parameter(0)
          y = f32[2] parameter(1)
          v0 = f32[2] parameter(2)
          zeros = f32[2] constant({0, 0})
          p = pred[2] compare(x, zeros), direction=GT
          ${lines.join('\n')}
          product = f32[2] multiply(x, v${length})
          ROOT r = f32[2] select(p, product, y) }`);
      const slopes = await (await client.compile(client.vjp(module, { wrt: ['x', 'y'] }))).execute([[2, -1], [3, 5], [1, 1], [1, 1]]);
      assert.deepEqual(slopes.map((slope) => slope.toArray()), [[1 + 3 * length, 0], [2 * length, 1]]);
    }
  });

  test('a constant has many spellings, and formulas are recognized with each of them', async () => {
    // JAX's slopes at 0: log(1024) of xlogy, 0 of relu; a product with an infinite factor that is not selected has slope 0.
    const spellings = (number, other) => [
      `c = f32[2] constant({${number}, ${number}})`,
      `s = f32[] constant(${number})\n c = f32[2] broadcast(s), dimensions={}`,
      `s = f32[1] constant({${number}})\n v = f32[] reshape(s)\n c = f32[2] broadcast(v), dimensions={}`,
      `s = f64[] constant(${number})\n w = f64[2] broadcast(s), dimensions={}\n c = f32[2] convert(w)`,
      `s = f32[] constant(${number})\n w = f32[3,2] broadcast(s), dimensions={}\n v = f32[1,2] slice(w), slice={[1:2],[0:2]}\n c = f32[2] reshape(v)`,
      ...(other ? [`c = f32[2] constant({${number}, ${other}})`] : []),
    ];
    const slopes = async (constant, body) => {
      const module = client.parseHlo(`ENTRY e { x = f32[2] parameter(0)\n y = f32[2] parameter(1)\n ${constant}\n ${body} }`);
      const vjp = await client.compile(client.vjp(module, { wrt: ['x'] }));
      return (await vjp.execute([[0, 2], [1024, 1], [1, 1]]))[0].toArray();
    };
    for (const constant of spellings(0)) {
      const xlogy = await slopes(constant, `p = pred[2] compare(x, c), direction=EQ\n log = f32[2] log(y)
        product = f32[2] multiply(x, log)\n ROOT r = f32[2] select(p, c, product)`);
      assert.deepEqual(xlogy, [Math.fround(Math.log(1024)), 0], constant);
      assert.deepEqual(await slopes(constant, 'ROOT r = f32[2] maximum(x, c)'), [0, 1], constant);
    }
    for (const constant of spellings('inf', 1)) {
      const selected = await slopes(constant, `p = pred[2] compare(x, y), direction=GT\n product = f32[2] multiply(x, c)
        sum = f32[2] add(product, x)\n none = pred[2] not(p)\n q = pred[2] and(p, none)\n ROOT r = f32[2] select(q, sum, x)`);
      assert.deepEqual(selected, [1, 1], constant);
    }
  });

  test('a sum of exponentials is recognized only if its factors are reciprocal', async () => {
    for (const [inside, outside] of [[1, 1], [0.6931472, 1.442695], [1, 0.995], [0.6931472, 1.45]]) {
      const module = client.parseHlo(`ENTRY e { a = f32[] parameter(0)\n b = f32[] parameter(1)\n m = f32[] maximum(a, b)
        d = f32[] subtract(a, b)\n u = f32[] abs(d)\n n = f32[] negate(u)\n k = f32[] constant(${inside})\n c = f32[] constant(${outside})
        s = f32[] multiply(n, k)\n e = f32[] exponential(s)\n l = f32[] log-plus-one(e)\n w = f32[] multiply(l, c)\n ROOT r = f32[] add(m, w) }`);
      const [slope] = await (await client.compile(client.gradient(module, { wrt: ['a'] }))).execute([2, 1]);
      const expected = 1 - inside * outside / (1 + Math.exp(inside));
      assert.ok(Math.abs(slope.toArray() - expected) < 1e-6, `${inside}, ${outside}: ${slope.toArray()} instead of ${expected}`);
    }
  });

  test('x log(y) is recognized below a conjunction of at most 63 operations', async () => {
    // Where x is 0, its slope by x is log(y), as in JAX's xlogy. Of a longer conjunction, it is that of the constant: 0.
    for (const length of [1, 62, 63, 64, 128]) {
      const lines = Array.from({ length }, (_, i) => `q${i + 1} = pred[2] and(q${i}, p)`);
      const module = client.parseHlo(`HloModule xlogy
        ENTRY e { x = f32[2] parameter(0)
          y = f32[2] parameter(1)
          p = pred[2] parameter(2)
          zero = f32[] constant(0)
          zeros = f32[2] broadcast(zero), dimensions={}
          q0 = pred[2] compare(x, zeros), direction=EQ
          ${lines.join('\n')}
          log = f32[2] log(y)
          product = f32[2] multiply(x, log)
          ROOT r = f32[2] select(q${length}, zeros, product) }`);
      const vjp = await client.compile(client.vjp(module, { wrt: ['x'] }));
      const [slope] = await vjp.execute([[0, 2], [1024, 1], [true, true], [1, 1]]);
      assert.deepEqual(slope.toArray(), [length <= 63 ? Math.fround(Math.log(1024)) : 0, 0]);
    }
  });

  test('a derivative of cumulative products and maxima takes memory for some arrays, in either direction', async () => {
    const n = 2048;
    for (const [name, init] of [['multiply', 1], ['maximum', '-inf']]) {
      for (const pad of [`${n - 1}_0`, `0_${n - 1}`]) {
        const module = client.gradient(client.parseHlo(`f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] ${name}(a, b) }
add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[3,${n}] parameter(0)\n i = f32[] constant(${init})\n z = f32[] constant(0)
 w = f32[3,${n}] reduce-window(x, i), window={size=1x${n} pad=0_0x${pad}}, to_apply=f\n ROOT r = f32[] reduce(w, z), dimensions={0,1}, to_apply=add }`));
        const executable = await client.compile(module), { arenaBytes } = executable.memoryPlan();
        assert.ok(arenaBytes < 40 * 3 * n * 4, `${name}, ${pad}: ${arenaBytes} bytes`);
        executable.dispose();
        module.dispose();
      }
    }
  });

  test('a loop whose state has an empty tuple, then a tuple whose first element changes', async () => {
    const S = '((), (f32[], f32[], s32[]))', U = '(f32[], f32[], s32[])';
    const module = client.parseHlo(`HloModule m
more { t = ${S} parameter(0)\n u = ${U} get-tuple-element(t), index=1\n i = s32[] get-tuple-element(u), index=2\n n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT }
turn { t = ${S} parameter(0)\n e = () get-tuple-element(t), index=0\n u = ${U} get-tuple-element(t), index=1\n a = f32[] get-tuple-element(u), index=0
 x = f32[] get-tuple-element(u), index=1\n i = s32[] get-tuple-element(u), index=2\n two = f32[] constant(2)\n b = f32[] multiply(a, two)\n y = f32[] multiply(x, a)
 one = s32[] constant(1)\n j = s32[] add(i, one)\n v = ${U} tuple(b, y, j)\n ROOT r = ${S} tuple(e, v) }
ENTRY main { x = f32[] parameter(0)\n a = f32[] constant(3)\n z = s32[] constant(0)\n e = () tuple()\n u = ${U} tuple(a, x, z)\n t = ${S} tuple(e, u)
 w = ${S} while(t), condition=more, body=turn\n v = ${U} get-tuple-element(w), index=1\n ROOT y = f32[] get-tuple-element(v), index=1 }`);
    close(await run(client.gradient(module, { value: true, maxTrips: 4 }), [2]), [2 * 3 * 6 * 12, 3 * 6 * 12]);
  });

  test('a loop whose state has an empty tuple, then one whose first element says how often an inner loop runs', async () => {
    const U = '(s32[], f32[])', S = `((), ${U})`, I = '(s32[], s32[], f32[])';
    const module = client.parseHlo(`HloModule m
below { s = ${I} parameter(0)\n k = s32[] get-tuple-element(s), index=0\n n = s32[] get-tuple-element(s), index=1\n ROOT c = pred[] compare(k, n), direction=LT }
square { s = ${I} parameter(0)\n k = s32[] get-tuple-element(s), index=0\n n = s32[] get-tuple-element(s), index=1\n x = f32[] get-tuple-element(s), index=2
 y = f32[] multiply(x, x)\n one = s32[] constant(1)\n j = s32[] add(k, one)\n ROOT t = ${I} tuple(j, n, y) }
more { t = ${S} parameter(0)\n u = ${U} get-tuple-element(t), index=1\n i = s32[] get-tuple-element(u), index=0\n n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT }
turn { t = ${S} parameter(0)\n e = () get-tuple-element(t), index=0\n u = ${U} get-tuple-element(t), index=1\n i = s32[] get-tuple-element(u), index=0\n x = f32[] get-tuple-element(u), index=1
 both = ((), f32[]) tuple(e, x)\n held = ((), f32[]) opt-barrier(both)\n a = f32[] get-tuple-element(held), index=1
 zero = s32[] constant(0)\n s = ${I} tuple(zero, i, a)\n w = ${I} while(s), condition=below, body=square\n y = f32[] get-tuple-element(w), index=2
 one = s32[] constant(1)\n j = s32[] add(i, one)\n v = ${U} tuple(j, y)\n ROOT r = ${S} tuple(e, v) }
ENTRY main { x = f32[] parameter(0)\n z = s32[] constant(0)\n e = () tuple()\n u = ${U} tuple(z, x)\n t = ${S} tuple(e, u)
 w = ${S} while(t), condition=more, body=turn\n v = ${U} get-tuple-element(w), index=1\n ROOT y = f32[] get-tuple-element(v), index=1 }`);
    // No iteration of the inner loop, then one, then two: x^8.
    close(await run(client.gradient(module, { value: true, maxTrips: 4 }), [1.5]), [1.5 ** 8, 8 * 1.5 ** 7]);
  });

  test('a loop whose body is a conditional by the first element of the state', async () => {
    const S = '(pred[], f32[], s32[])';
    const branch = (name, step) => `${name} { t = ${S} parameter(0)\n p = pred[] get-tuple-element(t), index=0\n x = f32[] get-tuple-element(t), index=1\n i = s32[] get-tuple-element(t), index=2
 q = pred[] not(p)\n y = f32[] ${step}\n one = s32[] constant(1)\n j = s32[] add(i, one)\n ROOT r = ${S} tuple(q, y, j) }\n`;
    const text = `${branch('yes', 'multiply(x, x)')}${branch('no', 'sine(x)')}more { t = ${S} parameter(0)\n i = s32[] get-tuple-element(t), index=2\n n = s32[] constant(4)\n ROOT r = pred[] compare(i, n), direction=LT }
turn { t = ${S} parameter(0)\n p = pred[] get-tuple-element(t), index=0\n ROOT c = ${S} conditional(p, t, t), true_computation=yes, false_computation=no }
ENTRY e { x = f32[] parameter(0)\n p = pred[] constant(true)\n z = s32[] constant(0)\n t = ${S} tuple(p, x, z)\n w = ${S} while(t), condition=more, body=turn\n ROOT r = f32[] get-tuple-element(w), index=1 }`;
    const module = client.gradient(client.parseHlo(text), { value: true, maxTrips: 6 });
    for (const x of [0.3, 1.1]) { // sin(sin(x^2)^2)
      const s = Math.sin(x * x);
      close(await run(module, [x]), [Math.sin(s * s), Math.cos(s * s) * 2 * s * Math.cos(x * x) * 2 * x]);
    }
  });
});

describe('results of LAPACK that the matrix does not determine', () => {
  const of = (call, shapes, index) => client.parseHlo(`HloModule m
ENTRY main {
  x = f64[4,3] parameter(0)
  r = (${shapes}) custom-call(x), custom_call_target=${call}
  ROOT y = ${shapes.split(', ')[index]} get-tuple-element(r), index=${index} }`);
  const svd = (index) => of('"lapack_dgesdd_ffi", backend_config={mode = 65 : ui8}', 'f64[4,3], f64[3], f64[4,4], f64[3,3], s32[]', index);

  test('are refused: singular vectors of full matrices, factors of tridiagonal matrices', () => {
    for (const index of [2, 3]) assert.throws(() => client.vjp(svd(index)), /singular vectors .*full_matrices=False/);
    client.vjp(svd(1)).dispose();
    const shapes = 'f64[3], f64[3], f64[3], f64[3,1], s32[]';
    const solve = (index) => client.parseHlo(`HloModule m
ENTRY main {
  d = f64[3] parameter(0)
  b = f64[3,1] parameter(1)
  r = (${shapes}) custom-call(d, d, d, b), custom_call_target="lapack_dgtsv_ffi"
  ROOT y = ${shapes.split(', ')[index]} get-tuple-element(r), index=${index} }`);
    assert.throws(() => client.vjp(solve(1), { wrt: 0 }), /has factors as results, of which only X has a derivative/);
    client.vjp(solve(3), { wrt: 0 }).dispose();
  });

  // The second form is jnp.triu's.
  for (const triangle of ['inside = pred[3,3] compare(row, column), direction=LE\n  ROOT y = f64[3,3] select(inside, packed, zeros)',
    `one = s32[] constant(-1)\n  ones = s32[3,3] broadcast(one), dimensions={}\n  above = s32[3,3] add(row, ones)
  below = pred[3,3] compare(above, column), direction=GE\n  ROOT y = f64[3,3] select(below, zeros, packed)`]) {
    test(`are not waited for: the gradient of R is finite where reflectors have none: ${/direction=../.exec(triangle)}`, async () => {
      const module = client.parseHlo(`HloModule m
ENTRY main {
  x = f64[3,3] parameter(0)
  r = (f64[3,3], f64[3]) custom-call(x), custom_call_target="lapack_dgeqrf_ffi"
  packed = f64[3,3] get-tuple-element(r), index=0
  row = s32[3,3] iota(), iota_dimension=0
  column = s32[3,3] iota(), iota_dimension=1
  zero = f64[] constant(0)
  zeros = f64[3,3] broadcast(zero), dimensions={}
  ${triangle} }`);
      const upper = [[2, 1, 3], [0, 1, 1], [0, 0, 3]], seeds = [[1, 2, 3], [9, 4, 5], [9, 9, 6]];
      const derived = client.vjp(module), cotangents = (await run(derived, [upper, seeds])).at(-1);
      assert.ok(flat(cotangents).every(Number.isFinite), `${cotangents}`);
      // One with R; the others are the reflectors'.
      if (triangle.includes('GE')) assert.equal(derived.toString().match(/ triangular-solve\(/g).length, 1, derived.toString());
    });
  }
});

describe('scatters of several arrays', () => {
  const text = (results) => `HloModule m
update { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  sum = f32[] add(a, c)
  max = f32[] maximum(b, d)
  mixed = f32[] add(max, a)
  ROOT t = (f32[], f32[]) tuple(${results}) }
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  u = f32[3] parameter(2)
  v = f32[3] parameter(3)
  i = s32[3,1] constant({{2}, {0}, {2}})
  r = (f32[4], f32[4]) scatter(x, y, i, u, v), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=update
  p = f32[4] get-tuple-element(r), index=0
  q = f32[4] get-tuple-element(r), index=1
  ROOT z = f32[4] multiply(p, q) }`;

  test('are differentiated array by array', async () => {
    const derived = client.vjp(client.parseHlo(text('sum, max')), { wrt: [0, 1, 2, 3] });
    const results = (await run(derived, [[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 3], [4, 9, 7.5], [1, 1, 1, 1]])).slice(-4);
    /* p = [3, 2, 7, 4], q = [9, 6, 7.5, 8] */
    assert.deepEqual(results, [[9, 6, 7.5, 8], [0, 2, 0, 4], [7.5, 9, 7.5], [0, 3, 7]]);
  });

  test('are refused if an array depends on another', () => {
    assert.throws(() => client.vjp(client.parseHlo(text('sum, mixed'))), /one of which depends on another/);
  });
});

describe('in a builder', () => {
  test('gradients are values to go on with: one step of gradient descent', async () => {
    const b = client.builder('step');
    const x = b.parameter(0, 'f32[2]', 'x');
    const w = b.parameter(1, 'f32[2]', 'w');
    const y = b.tanh(b.mul(w, x));
    const loss = b.reduceAll(y, b.constant(0, 'f32[]'), (f, p, q) => f.add(p, q));
    const [dw, dy] = b.gradient(loss, [w, y]);
    const dx = b.gradient(loss, x);
    const module = b.build(b.tuple([b.sub(w, b.mul(dw, b.constant(0.5, 'f32[]'))), dy, dx]));
    const [next, ones, slopes] = await run(module, [[0.5, 2], [1, -1]]);
    close(next, [1 - 0.25 * slope(0.5), -1 - slope(-2)]);
    assert.deepEqual(ones, [1, 1]);
    close(slopes, [slope(0.5), -slope(-2)]);
  });

  test('of a gradient', async () => {
    const b = client.builder('second');
    const x = b.parameter(0, 'f32[]', 'x');
    const cube = b.mul(x, b.mul(x, x));
    const second = b.gradient(b.gradient(cube, x), x);
    close(await run(b.build(second), [3]), [18]);
  });

  test('host calls, random numbers and collectives beside it are not done again', async () => {
    let calls = 0;
    client.registerCustomCall('numbers', () => [1 + calls++, 2]);
    const b = client.builder('effects');
    const w = b.parameter(0, 'f32[2]', 'w');
    const noise = b.customCall('numbers', [], 'f32[2]');
    const random = b.rngUniform(b.constant(0, 'f32[]'), b.constant(1, 'f32[]'), 'f32[2]');
    b.allReduce(w, (f, x, y) => f.add(x, y));
    const loss = b.reduceAll(w.mul(noise).mul(random), 0, 'add');
    const module = b.build(b.tuple([b.gradient(loss, w), noise, random]));
    assert.equal(module.toString().match(/ all-reduce\(/g).length, 1);
    const [slopes, given, drawn] = await run(module, [[3, 4]]);
    assert.equal(calls, 1);
    close(slopes, given.map((x, i) => x * drawn[i]));
    assert.notEqual(drawn[0], drawn[1]);
  });

  test('a computation that is called states an order of its own', async () => {
    const called = client.parseHlo(`HloModule m
ENTRY square { x = f32[] parameter(0)\n y = f32[] negate(x)\n z = f32[] multiply(x, x), control-predecessors={y}\n ROOT r = f32[] multiply(z, y) }`);
    const b = client.builder('loss'), w = b.parameter(0, 'f32[]');
    const loss = b.call(called, [w]), [slope] = b.gradient(loss, [w]);
    const executable = await client.compile(b.build(b.tuple([loss, slope])));
    close(await executable.execute([2]).then((list) => list.map((x) => x.toArray())), [-8, -12]);
  });

  test('a value that an effect hides is refused', () => {
    const b = client.builder('hidden');
    const w = b.parameter(0, 'f32[]', 'w');
    const made = b.customCall('numbers', [w], 'f32[]');
    assert.throws(() => b.gradient(made, w), /custom-call ".*" of shape f32\[\] calls "numbers"|depends on custom-call/);
  });

  test('wrong arguments are named', () => {
    const b = client.builder('wrong');
    const x = b.parameter(0, 'f32[2]', 'x');
    const other = client.builder('other').parameter(0, 'f32[]');
    for (const [call, message] of [
      [() => b.gradient(x, x), /loss has shape f32\[2\]; it must be one real number: b\.sum\(loss\)/],
      [() => b.gradient(other, x), /loss must be an XlaOp of this builder/],
      [() => b.gradient(x, [other]), /wrt must be an XlaOp of this builder/],
      [() => b.gradient(x, []), /empty list/],
      [() => b.gradient(b.reduceAll(x, b.constant(0, 'f32[]'), (f, p, q) => f.add(p, q)), b.constant(1, 's32[]')),
        /wrt: "constant.* is no array of floating-point/],
    ]) assert.throws(call, message);
  });
});

describe('collectives', () => {
  const ADDER = 'add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }';
  const program = (operation) => `HloModule m, replica_count=2
${ADDER}
ENTRY main {
  x = f32[2] parameter(0)
  ROOT y = ${operation} }`;
  /** J^T c = sum over devices: <c, J t> of all devices equals <J^T c, t> of all devices. */
  for (const [name, operation] of [
    ['all-reduce', 'f32[2] all-reduce(x), replica_groups={{0,1}}, to_apply=add'],
    ['all-gather', 'f32[4] all-gather(x), replica_groups={{0,1}}, dimensions={0}'],
    ['reduce-scatter', 'f32[1] reduce-scatter(x), replica_groups={{0,1}}, dimensions={0}, to_apply=add'],
    ['all-to-all', 'f32[2] all-to-all(x), replica_groups={{0,1}}, dimensions={0}'],
    ['collective-permute', 'f32[2] collective-permute(x), source_target_pairs={{0,1}}'],
    ['collective-broadcast', 'f32[2] collective-broadcast(x), replica_groups={{1,0}}'],
  ]) {
    test(`${name}: forward and reverse mode agree over the devices`, async () => {
      const module = client.parseHlo(program(operation));
      const tangents = [[1, 2], [3, 5]];
      const onAll = async (derived, more) => {
        const executable = await client.compile(derived);
        const results = await executable.executeReplicas(more.map((own) => [[0.5, 1.5], own]));
        return results.map((own) => own.at(-1).toArray());
      };
      const forward = await onAll(client.jvp(module), tangents);
      const cotangents = forward.map((own, device) => own.map((_, i) => 7 * device + i + 1));
      const backward = await onAll(client.vjp(module), cotangents);
      const product = (xs, ys) => flat(xs).reduce((sum, x, i) => sum + x * flat(ys)[i], 0);
      assert.equal(product(forward, cotangents), product(backward, tangents));
      assert.notEqual(product(forward, cotangents), 0);
    });
  }

  /** 2 a + b of the pair that a collective of x and y gives; tangents and cotangents by hand. */
  for (const [name, operation, forward, backward] of [
    ['all-reduce', 'all-reduce(x, y), replica_groups={{0,1}}, to_apply=add', [[17, 1212], [17, 1212]], [[18, 9], [18, 9]]],
    ['all-to-all', 'all-to-all(x, y), replica_groups={{0,1}}', [[6, 102], [9, 1020]], [[6, 12], [3, 6]]],
  ]) {
    test(`${name} of two arrays`, async () => {
      const module = client.parseHlo(`HloModule m, replica_count=2
${ADDER}
ENTRY main { x = f32[1] parameter(0)\n y = f32[1] parameter(1)\n t = (f32[1], f32[1]) ${operation}\n a = f32[1] get-tuple-element(t), index=0
 b = f32[1] get-tuple-element(t), index=1\n two = f32[1] constant({2})\n c = f32[1] multiply(a, two)\n ROOT r = f32[1] add(c, b) }`);
      const onBoth = async (derived, lists) => {
        const executable = await client.compile(derived), results = await executable.executeReplicas(lists.map((list) => list.map((x) => [x])));
        executable.dispose();
        return results.map((own) => own.map((literal) => literal.toArray()[0]));
      };
      assert.deepEqual(await onBoth(client.jvp(module), [[1, 2, 1, 10], [4, 5, 100, 1000]]), forward);
      assert.deepEqual(await onBoth(client.vjp(module), [[1, 2, 3], [4, 5, 6]]), backward);
    });
  }

  test('channels of a derivative are above those of the branches of a conditional', () => {
    const gather = (x, channel) => `f32[4] all-gather(${x}), channel_id=${channel}, use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0}`;
    const module = client.parseHlo(`HloModule m, replica_count=2
first { x = f32[2] parameter(0)\n ROOT g = ${gather('x', 9)} }
second { x = f32[2] parameter(0)\n ROOT g = f32[4] concatenate(x, x), dimensions={0} }
ENTRY main { x = f32[2] parameter(0)\n p = pred[] parameter(1)\n y = f32[4] conditional(p, x, x), true_computation=first, false_computation=second
 s = f32[2] slice(y), slice={[1:3]}\n ROOT z = ${gather('s', 2)} }`);
    const text = client.vjp(module, { wrt: [0] }).toString();
    const made = [...text.matchAll(/ reduce-scatter\(.*channel_id=(\d+)/g)].map(([, id]) => Number(id));
    assert.ok(made.length === 2 && made.every((id) => id > 9), text);
  });

  test('collectives of a derivative have channels of their own, wherever the function has some', () => {
    const module = client.parseHlo(`HloModule m, replica_count=2
inner { x = f32[2] parameter(0)\n ROOT g = f32[4] all-gather(x), channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0} }
ENTRY main { x = f32[2] parameter(0)\n y = f32[4] call(x), to_apply=inner\n s = f32[2] slice(y), slice={[1:3]}
 ROOT z = f32[4] all-gather(s), channel_id=2, use_global_device_ids=true, replica_groups={{0,1}}, dimensions={0} }`);
    const derived = client.vjp(module), channels = [...derived.toString().matchAll(/channel_id=(\d+)/g)].map(([, id]) => Number(id));
    assert.ok(channels.length >= 4, derived.toString());
    assert.equal(new Set(channels).size, channels.length, derived.toString());
  });
});

describe('complex functions, in all quadrants, against finite differences', () => {
  const points = [[0.3, 0.4], [1.5, 0.2], [-1.5, -0.3], [-0.4, 0.3], [0.2, -1.7], [-0.2, -1.7]];
  const STEP = 1e-6;
  const FUNCTIONS = [
    'acos', 'acosh', 'asin', 'asinh', 'atanh', 'cos', 'cosh', 'exp', 'expm1', 'log', 'log1p', 'logistic', 'neg', 'rsqrt',
    'sin', 'sinh', 'sqrt', 'tan', 'tanh',
  ];
  for (const name of FUNCTIONS) {
    test(name, async () => {
      const b = client.builder(name);
      const module = b.build(b[name](b.parameter(0, `c128[${points.length}]`, 'x')));
      const value = await client.compile(module), derivative = await client.compile(client.jvp(module));
      const at = async (shift) => (await value.execute([points.map(([re, im]) => [re + shift, im])]))[0].toArray();
      const [above, below] = [await at(STEP), await at(-STEP)];
      const [, tangents] = await derivative.execute([points, points.map(() => [1, 0])]);
      tangents.toArray().forEach((tangent, i) => tangent.forEach((part, k) => {
        const wanted = (above[i][k] - below[i][k]) / (2 * STEP);
        assert.ok(Math.abs(part - wanted) <= 1e-7, `at ${points[i]}: ${tangent}, part ${k} not ${wanted}`);
      }));
    });
  }
});

test('memory returns to where it began', () => {
  const loss = client.parseHlo(LOSS);
  client.gradient(loss, { wrt: 1 }).dispose();
  const before = client.heapInUse;
  for (let i = 0; i < 20; i++) {
    client.gradient(loss, { wrt: 1 }).dispose();
    assert.throws(() => client.gradient(loss, { of: 1 }));
  }
  assert.equal(client.heapInUse, before);
});

describe('rules that keep few values for the backward part', () => {
  const gradient = (module, wrt = [0]) => client.gradient(module, { wrt, value: true });
  const SUM = 'add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n';
  const MAX = 'max {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b)\n}\n';
  const SHIFTED = `HloModule m\n${SUM}${MAX}ENTRY e {\n x = f32[3,4] parameter(0)\n w = f32[3,4] parameter(1)\n v = f32[3] parameter(2)
 low = f32[] constant(-inf)\n zero = f32[] constant(0)\n top = f32[3] reduce(x, low), dimensions={1}, to_apply=max
 m = f32[3,4] broadcast(top), dimensions={0}\n d = f32[3,4] subtract(x, m)\n e = f32[3,4] exponential(d)
 s = f32[3] reduce(e, zero), dimensions={1}, to_apply=add\n l = f32[3] log(s)\n`;
  const END = '\n ROOT r = f32[] reduce(p, zero), dimensions={0,1}, to_apply=add\n}';
  const FORMS = {
    softmax: ` t = f32[3,4] broadcast(s), dimensions={0}\n y = f32[3,4] divide(e, t)\n p = f32[3,4] multiply(y, w)${END}`,
    'log of softmax': ` t = f32[3,4] broadcast(l), dimensions={0}\n y = f32[3,4] subtract(d, t)\n p = f32[3,4] multiply(y, w)${END}`,
    'log of a sum': ` y = f32[3] add(l, top)\n q = f32[3] multiply(y, v)\n p = f32[3,1] reshape(q)${END}`,
  };
  for (const [name, lines] of Object.entries(FORMS)) {
    test(`${name}: without the slopes of the maximum that is subtracted`, async () => {
      const derived = gradient(client.parseHlo(SHIFTED + lines));
      assert.doesNotMatch(derived.toString(), /compare\(/);
      const x = [[1, 2, 2, 0.5], [0, -1, 3, 3], [-2, 0, 1, 4]], w = [[1, -2, 3, 0.5], [2, 1, 0, -1], [0.25, 1, 1, 2]], v = [1, -2, 3];
      const wanted = x.map((row, i) => {
        const e = row.map(Math.exp), sum = e.reduce((a, b) => a + b), y = e.map((a) => a / sum);
        const mean = y.reduce((a, b, k) => a + b * w[i][k], 0), total = w[i].reduce((a, b) => a + b);
        return { softmax: y.map((a, k) => a * (w[i][k] - mean)), 'log of softmax': y.map((a, k) => w[i][k] - a * total),
          'log of a sum': y.map((a) => a * v[i]) }[name];
      });
      const [, slopes] = await (await client.compile(derived)).execute([x, w, v]);
      slopes.toArray().flat().forEach((got, i) => assert.ok(Math.abs(got - wanted.flat()[i]) < 1e-6, `${i}: ${got}, ${wanted.flat()[i]}`));
    });
  }

  test('a number that is used elsewhere, too, keeps its slope', async () => {
    const lines = ` u = f32[3] multiply(top, top)\n y = f32[3] add(l, u)\n q = f32[3] multiply(y, v)\n p = f32[3,1] reshape(q)${END}`;
    const derived = gradient(client.parseHlo(SHIFTED + lines));
    const [, slopes] = await (await client.compile(derived)).execute([[[0, 1, -1, -2], [0, 1, -1, -2], [0, 1, -1, -2]], new Array(3).fill([1, 1, 1, 1]), [1, 1, 1]]);
    const e = [-1, 0, -2, -3].map(Math.exp), sum = e.reduce((a, b) => a + b); // at the largest: - 1 + 2 m more
    slopes.toArray()[0].forEach((got, i) => assert.ok(Math.abs(got - (e[i] / sum + (i === 1 ? 1 : 0))) < 1e-6));
  });

  for (const name of ['erfc', 'erf_inv']) {
    test(`${name} as it is written out: from its operand or its result`, async () => {
      const t = 'tensor<64x64xf32>';
      const module = await client.parseStableHlo(`func.func @main(%x: ${t}) -> tensor<f32> {
        %y = chlo.${name} %x : ${t} -> ${t}\n %p = stablehlo.multiply %y, %y : ${t}\n %q = stablehlo.exponential %p : ${t}
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0, 1] : (${t}, tensor<f32>) -> tensor<f32>
        return %s : tensor<f32>\n}`);
      const { temporaries } = (await client.compile(gradient(module))).memory;
      assert.ok(temporaries <= 2 * 64 * 64 * 4 + 1024, `${temporaries} bytes`);
    });
  }

  test('a solution by LU factors: by the factors, without their slopes', async () => {
    const call = (of, target, operands, shapes, how) => ` ${of} custom-call(${operands}), custom_call_target="lapack_${target}_ffi", ` +
      `operand_layout_constraints={${shapes}}, api_version=API_VERSION_TYPED_FFI, backend_config={${how}}\n`;
    const A = 'f32[3,3]{0,1}', B = 'f32[3,2]{0,1}';
    const how = (diag, uplo) => `diag = ${diag} : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = ${uplo} : ui8`;
    const module = client.parseHlo(`HloModule m\n${SUM}ENTRY e {\n a = f32[3,3] parameter(0)\n b = f32[3,2] parameter(1)\n zero = f32[] constant(0)
${call(`f = (${A}, s32[3], s32[])`, 'sgetrf', 'a', A, '')} lu = ${A} get-tuple-element(f), index=0
${call(`y = ${B}`, 'strsm', 'lu, b', `${A}, ${B}`, how(85, 76))}${call(`x = ${B}`, 'strsm', 'lu, y', `${A}, ${B}`, how(78, 85))}
 p = f32[3,2] multiply(x, x)${END}`);
    const derived = gradient(module, [0, 1]);
    assert.equal(derived.toString().match(/ triangular-solve\(/g).length, 2);
    const a = [[4, 1, -1], [2, 5, 1], [0, 1, 3]], b = [[1, 2], [3, -1], [0.5, 4]], executable = await client.compile(derived);
    const [, byA, byB] = await executable.execute([a, b]);
    const loss = async (matrix, right) => (await executable.execute([matrix, right]))[0].data[0];
    const moved = (rows, i, j, h) => rows.map((row, r) => row.map((v, c) => v + (r === i && c === j ? h : 0)));
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) {
        const slope = (await loss(moved(a, i, j, 1 / 64), b) - await loss(moved(a, i, j, -1 / 64), b)) * 32;
        assert.ok(Math.abs(byA.data[3 * i + j] - slope) < 0.02, `${i} ${j}: ${byA.data[3 * i + j]}, ${slope}`);
      }
      const slope = (await loss(a, moved(b, i, 1, 1 / 64)) - await loss(a, moved(b, i, 1, -1 / 64))) * 32;
      assert.ok(Math.abs(byB.data[2 * i + 1] - slope) < 0.02, `${i}: ${byB.data[2 * i + 1]}, ${slope}`);
    }
  });
});
