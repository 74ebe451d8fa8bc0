/** Tests what callers may ask of derivatives: requests, selects, branches, loops, windows, collectives, rules of their own. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { flat } from '../support/from_jax.mjs';
import { LOSS, resultsOf } from '../support/loss.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const run = (module, args) => resultsOf(client, module, args);
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

  test('floats that only decide when a loop ends have no slopes', async () => {
    /* Newton's steps to sqrt(a). The norm of the last step is 0, where its slope is infinite. */
    const steps = (read) => `HloModule m
step { x = f64[] parameter(0)
  a = f64[] parameter(1)
  q = f64[] divide(a, x)
  s = f64[] add(x, q)
  half = f64[] constant(0.5)
  y = f64[] multiply(s, half)
  d = f64[] subtract(y, x)
  dd = f64[] multiply(d, d)
  n = f64[] sqrt(dd)
  ROOT r = (f64[], f64[]) tuple(y, n) }
condition { s = (s32[], f64[], f64[], f64[], f64[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = f64[] get-tuple-element(s), index=3
  before = f64[] get-tuple-element(s), index=4
  many = s32[] constant(40)
  few = pred[] compare(i, many), direction=LT
  small = f64[] constant(1e-30)
  moves = pred[] compare(n, small), direction=GT
  moved = pred[] compare(before, small), direction=GT
  both = pred[] and(moves, moved)
  ROOT go = pred[] and(few, both) }
body { s = (s32[], f64[], f64[], f64[], f64[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f64[] get-tuple-element(s), index=1
  a = f64[] get-tuple-element(s), index=2
  before = f64[] get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  stepped = (f64[], f64[]) call(x, a), to_apply=step
  y = f64[] get-tuple-element(stepped), index=0
  n = f64[] get-tuple-element(stepped), index=1
  ROOT r = (s32[], f64[], f64[], f64[], f64[]) tuple(next, y, a, n, before) }
ENTRY main { a = f64[] parameter(0)
  zero = s32[] constant(0)
  one = f64[] constant(1)
  init = (s32[], f64[], f64[], f64[], f64[]) tuple(zero, one, a, one, one)
  loop = (s32[], f64[], f64[], f64[], f64[]) while(init), condition=condition, body=body
  x = f64[] get-tuple-element(loop), index=1
  n = f64[] get-tuple-element(loop), index=3
  ${read} }`;
    const small = `limit = f64[] constant(1)
  ends = pred[] compare(n, limit), direction=LT
  other = f64[] constant(nan)
  ROOT r = f64[] select(ends, x, other)`;
    for (const read of ['ROOT r = f64[] copy(x)', small]) {
      for (const checkpoint of ['none', 'all', 'sqrt']) {
        const [dx] = await run(client.gradient(client.parseHlo(steps(read)), { checkpoint }), [2]);
        assert.ok(Math.abs(dx - 0.5 / Math.sqrt(2)) < 1e-12, `${read}, ${checkpoint}: ${dx}`);
      }
    }
  });

  test('a result of a branch that is only compared has no slope', async () => {
    const loss = client.parseHlo(`HloModule m
norm { x = f32[2] parameter(0)
  xx = f32[2] multiply(x, x)
  n = f32[2] sqrt(xx)
  ROOT r = (f32[2], f32[2]) tuple(xx, n) }
same { x = f32[2] parameter(0)
  ROOT r = (f32[2], f32[2]) tuple(x, x) }
ENTRY main { p = pred[] parameter(0)
  x = f32[2] parameter(1)
  both = (f32[2], f32[2]) conditional(p, x, x), true_computation=norm, false_computation=same
  y = f32[2] get-tuple-element(both), index=0
  n = f32[2] get-tuple-element(both), index=1
  least = pred[2] compare(n, y), direction=LE
  zeros = f32[2] convert(least)
  ROOT r = f32[2] add(y, zeros) }`);
    const product = client.vjp(loss, { wrt: [1] });
    close(await run(product, [true, [0, 3], [1, 1]]), [[0, 6]]);
    close(await run(product, [false, [0, 3], [1, 1]]), [[1, 1]]);
  });

  test('a loss that depends on what a loop held 12 iterations before', async () => {
    const elements = Array.from({ length: 14 }, (_, i) => i), state = `(s32[], ${elements.map(() => 'f32[]').join(', ')})`;
    const read = elements.map((i) => `x${i} = f32[] get-tuple-element(s), index=${i + 1}`).join('\n  ');
    const loss = client.parseHlo(`HloModule m
condition { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  many = s32[] constant(20)
  ROOT few = pred[] compare(i, many), direction=LT }
body { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ${read}
  y = f32[] sine(x0)
  ROOT r = ${state} tuple(next, y, ${elements.slice(0, -1).map((i) => `x${i}`).join(', ')}) }
ENTRY main { x = f32[] parameter(0)
  zero = s32[] constant(0)
  init = ${state} tuple(zero, ${elements.map(() => 'x').join(', ')})
  loop = ${state} while(init), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(loop), index=13 }`);
    let [x, wanted] = [0.7, 1];
    for (let i = 0; i < 8; i++) [x, wanted] = [Math.sin(x), wanted * Math.cos(x)];
    close(await run(client.gradient(loss), [0.7]), [wanted]);
  });

  /** x <- x * x, until it is 100 or `holds` is false, with a counter i. */
  const counted = ([type, first, step, bound, holds]) => `HloModule m
condition { s = (${type}[], f32[]) parameter(0)
  i = ${type}[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  most = f32[] constant(100)
  few = pred[] compare(x, most), direction=LT
  f = f32[] convert(i)
  b = ${/f/.test(holds) ? 'f32' : type}[] constant(${bound})
  p = pred[] compare${holds}
  ROOT both = pred[] and(few, p) }
body { s = (${type}[], f32[]) parameter(0)
  i = ${type}[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  step = ${type}[] constant(${step})
  next = ${type}[] add(i, step)
  y = f32[] multiply(x, x)
  ROOT r = (${type}[], f32[]) tuple(next, y) }
ENTRY main { x = f32[] parameter(0)
  first = ${type}[] constant(${first})
  init = (${type}[], f32[]) tuple(first, x)
  loop = (${type}[], f32[]) while(init), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(loop), index=1 }`;

  test('counters are not counted up to a far bound', async () => {
    const time = (form) => {
      const module = client.parseHlo(counted(form)), start = process.cpuUsage();
      client.gradient(module).dispose();
      return process.cpuUsage(start).user;
    };
    const far = [
      ['s32', 0, 1, 2147483647, '(i, b), direction=LT'], ['s32', 0, 1, 2147483646, '(i, b), direction=LE'],
      ['s32', -5, 3, 2147483647, '(b, i), direction=GT'], ['s32', 2147483647, -1, 0, '(i, b), direction=GT'],
      ['s64', 0, 1, '9223372036854775807', '(b, i), direction=GE'], ['s64', 0, 1, 3.4e38, '(f, b), direction=LT'],
    ];
    const one = ['s32', 0, 1, 2147483647, '(i, b), direction=NE']; // is counted
    [...far, one].forEach(time);
    const [all, counts] = [far.reduce((sum, form) => sum + time(form), 0), time(one)];
    assert.ok(all < counts, `${all} us for all, ${counts} us for one that is counted`);
    for (const near of [['s32', 0, 1, 2, '(i, b), direction=LT'], ['s32', 4, -2, 1, '(b, i), direction=LE'],
      ['s64', 0, 1, 1.5, '(f, b), direction=LT'], ['s32', 5, 1, 5, '(i, b), direction=LT']]) {
      const executable = await client.compile(client.gradient(client.parseHlo(counted(near)))), trips = near[1] === 5 ? 0 : 2;
      const [{ data: [slope] }] = await executable.execute([1.5]);
      assert.ok(Math.abs(slope - 2 ** trips * 1.5 ** (2 ** trips - 1)) < 1e-4, `${near}: ${slope}`);
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

describe('checkpoints', () => {
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

  test('steps of a polynomial are computed again', async () => {
    // Chebyshev's: t = 2 x t' - t''. Its gradient reads each t.
    const b = client.builder(), x = b.parameter(0, 'f32[50,50]'), twice = x.add(x);
    let [before, t] = [b.constant(1, 'f32[]').broadcast([50, 50]), x];
    for (let k = 0; k < 20; k++) [before, t] = [t, twice.mul(t).sub(before)];
    const loss = b.reduceAll(t.dot(b.parameter(1, 'f32[50,50]')), 0, 'add');
    const { memory } = await client.compile(client.gradient(b.build(loss)));
    assert.ok(memory.temporaries < 4 * 50 * 50 * 4, `${memory.temporaries}`);
  });

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
      ([name, shift, derivative]) =>
        [`a product with ${name}`, [`a = f32[3] ${shift}(x, one)\n f = f32[3] ${name}(a)\n y = f32[3] multiply(x, f)`, (x) => {
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
    const branch = (name, step) =>
      `${name} { t = ${S} parameter(0)\n p = pred[] get-tuple-element(t), index=0\n x = f32[] get-tuple-element(t), index=1\n i = s32[] get-tuple-element(t), index=2
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
