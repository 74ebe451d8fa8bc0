/** Tests slopes where a rule must not assume: an initial value, a sign, a type, an order; and what long windows cost. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';
import { flat } from '../support/from_jax.mjs';

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

async function run(module, args) {
  const executable = await client.compile(module);
  return (await executable.execute(args)).map((literal) => literal.toArray());
}

const binary = (name, type = 'f32') =>
  `${name} {\n  a = ${type}[] parameter(0)\n  b = ${type}[] parameter(1)\n  ROOT r = ${type}[] ${name}(a, b)\n}\n`;
const entry = (lines, computations = '') => client.parseHlo(`HloModule m\n${computations}ENTRY main {\n  ${lines.join('\n  ')}\n}`);

/** Results of the jvp and the vjp, with tangents and cotangents of ones: the value in each, then the slopes. */
async function slopes(module, args) {
  const ones = (shape) => Array.from({ length: shape.rank ? shape.dimensions[0] : 1 }, () => 1);
  const seed = (shape) => (shape.rank ? ones(shape) : 1);
  const wrt = args.map((_, i) => i);
  const [value, jvp] = await run(client.jvp(module, { wrt }), [...args, ...module.parameters.map(({ shape }) => seed(shape))]);
  const results = await run(client.vjp(module, { wrt, value: true }), [...args, seed(module.resultShape)]);
  assert.deepEqual(results[0], value);
  return { value, jvp, vjp: results.slice(1) };
}

/* Expected values: the windows written out in JAX, init op first op second ..., with maximum(init, largest of the window). */
describe('an initial value counts once for each result', () => {
  const products = {
    'padding before': ['size=3 pad=2_0', [1, 2, 3], 0.5, { value: [0.5, 1, 3], jvp: [1.5, 3.5, 11.5], vjp: [[4.5, 2, 1], 9] }],
    'a zero, and holes': ['size=3 stride=2 rhs_dilate=2 pad=1_1', [2, 0, 3, 5], 2, { value: [0], jvp: [10], vjp: [[0, 10, 0, 0], 0] }],
  };
  for (const [name, [window, x, init, wanted]] of Object.entries(products)) {
    test(`products, with ${name}`, async () => {
      const module = entry([`x = f32[${x.length}] parameter(0)`, 'i = f32[] parameter(1)',
        `ROOT w = f32[${wanted.value.length}] reduce-window(x, i), window={${window}}, to_apply=multiply`], binary('multiply'));
      assert.deepEqual(await slopes(module, [x, init]), wanted);
    });
  }

  test('maxima: it may win, and has half of the slope of a tie', async () => {
    const module = entry(['x = f32[4] parameter(0)', 'i = f32[] parameter(1)',
      'ROOT w = f32[3] reduce-window(x, i), window={size=2}, to_apply=maximum'], binary('maximum'));
    assert.deepEqual(await slopes(module, [[1, 2, 2, 3], 2]), { value: [2, 2, 3], jvp: [1, 1, 1], vjp: [[0, 1, 0, 1], 1] });
    assert.deepEqual(await slopes(module, [[1, 2, 2, 3], 9]), { value: [9, 9, 9], jvp: [1, 1, 1], vjp: [[0, 0, 0, 0], 3] });
  });

  test('reductions by maximum: jnp.max(x, initial=2) has the slopes 1/4, 1/4 and 0', async () => {
    const module = entry(['x = f32[3] parameter(0)', 'i = f32[] parameter(1)',
      'ROOT w = f32[] reduce(x, i), dimensions={0}, to_apply=maximum'], binary('maximum'));
    assert.deepEqual(await slopes(module, [[2, 2, 1], 2]), { value: 2, jvp: 1, vjp: [[0.25, 0.25, 0], 0.5] });
  });

  test('of no elements, the result is the initial value', async () => {
    for (const op of ['multiply', 'maximum', 'minimum']) {
      const module = entry(['x = f32[0] parameter(0)', 'i = f32[] parameter(1)',
        `ROOT w = f32[] reduce(x, i), dimensions={0}, to_apply=${op}`], binary(op));
      assert.deepEqual(await slopes(module, [[], 2]), { value: 2, jvp: 1, vjp: [[], 1] }, op);
    }
  });

  test('windows in padding have the initial value', async () => {
    for (const op of ['multiply', 'maximum', 'minimum']) {
      const module = entry(['x = f32[2] parameter(0)', 'i = f32[] parameter(1)',
        `ROOT w = f32[4] reduce-window(x, i), window={size=1 pad=1_1}, to_apply=${op}`], binary(op));
      const { value, vjp } = await slopes(module, [[1, 1], 1]);
      assert.deepEqual(value, [1, 1, 1, 1], op);
      assert.deepEqual(vjp, op === 'multiply' ? [[1, 1], 4] : [[0.5, 0.5], 3], op);
    }
  });
});

test('a computation that does not commute has its elements in order', async () => {
  /* f(a, b) = b where b is not 0: the last element that is not 0. */
  const last = `last {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  z = f32[] constant(0)\n  p = pred[] compare(b, z), direction=NE\n  ROOT r = f32[] select(p, b, a)\n}\n`;
  const reduced = entry(['x = f32[2,3] parameter(0)', 'i = f32[] constant(7)',
    'ROOT r = f32[] reduce(x, i), dimensions={1,0}, to_apply=last'], last);
  const [slope] = await run(client.gradient(reduced), [[[1, 2, 3], [4, 5, 0]]]);
  assert.deepEqual(slope, [[0, 0, 0], [0, 1, 0]]);
  const windows = entry(['x = f32[5] parameter(0)', 'i = f32[] constant(7)',
    'ROOT r = f32[3] reduce-window(x, i), window={size=3}, to_apply=last'], last);
  const [of] = await run(client.vjp(windows), [[1, 2, 0, 4, 0], [1, 10, 100]]);
  assert.deepEqual(of, [0, 1, 0, 110, 0]);
});

test('of equal elements of a window, the first one in row-major order has the slope', async () => {
  /* As JAX's vjp. Of its jvp, LLVM may order the loops over a window differently. */
  for (const [window, result, x, wanted] of [
    ['size=2x2 stride=2x1 pad=0_0x0_1', '1,3', [[1.5, -0.5, 0], [-0.5, 3, -1.5]], [[0, 1, 0], [0, 0, 110]]],
    ['size=3x2 stride=3x3 pad=0_0x1_2', '1,2', [[3, -0.5, 1.5], [-0.5, 0.5, -2], [1, -2, -2]], [[0, 0, 0], [1, 0, 10], [0, 0, 0]]],
  ]) {
    const module = entry([`x = f32[${x.length},3] parameter(0)`, 'i = f32[] constant(inf)',
      `ROOT w = f32[${result}] reduce-window(x, i), window={${window}}, to_apply=minimum`], binary('minimum'));
    const [back] = await run(client.vjp(module), [x, [[1, 10, 100].slice(0, Number(result[2]))]]);
    assert.deepEqual(back, wanted);
    const places = x.map((row, i) => row.map((_, k) => 3 * i + k)), chosen = wanted.flat().flatMap((c, i) => (c ? [i] : []));
    const [, forward] = await run(client.jvp(module), [x, places]);
    assert.deepEqual(new Set(forward.flat()), new Set(chosen));
  }
});

describe('slopes of long windows take n or n log n', () => {
  const logaddexp = `logaddexp {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  m = f32[] maximum(a, b)
  d = f32[] subtract(a, b)
  s = f32[] abs(d)
  n = f32[] negate(s)
  e = f32[] exponential(n)
  l = f32[] log-plus-one(e)
  ROOT r = f32[] add(m, l)
}
`;
  const of = (op, n, window) => entry([`x = f32[${n}] parameter(0)`,
    `i = f32[] constant(${{ multiply: 1, maximum: '-inf', minimum: 'inf' }[op] ?? '-inf'})`,
    window ? `ROOT r = f32[${n}] reduce-window(x, i), window={${window(n)}}, to_apply=${op}` : `ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=${op}`],
  op === 'logaddexp' ? logaddexp : binary(op));
  /** Instructions of a module, and elements of all their results and of windows: a window's size for each result. */
  const cost = (module) => {
    const lines = module.toString().split('\n').filter((line) => / = \S+\[/.test(line));
    const elements = lines.map((line) => {
      const [, dims] = line.match(/ = \(?\w+\[([\d,]*)\]/), size = dims.split(',').reduce((product, d) => product * (Number(d) || 1), 1);
      return size * Number(line.match(/window=\{size=(\d+)/)?.[1] ?? 1);
    });
    return { instructions: lines.length, elements: elements.reduce((sum, count) => sum + count, 0) };
  };
  const WINDOWS = {
    'from the first element': (n) => `size=${n} pad=${n - 1}_0`,
    'to the last element': (n) => `size=${n} pad=0_${n - 1}`,
    'of half of the elements': (n) => `size=${n / 2 + 1} pad=${n / 4}_${n / 4}`,
    'of half of the elements, to one side': (n) => `size=${n / 2} pad=${n / 2 - 1}_0`,
  };
  for (const op of ['multiply', 'maximum', 'minimum', 'logaddexp']) {
    for (const [name, window] of [...Object.entries(WINDOWS), ...(op === 'maximum' || op === 'minimum' ? [] : [['reduction', null]])]) {
      for (const mode of ['jvp', 'vjp']) {
        test(`${mode} of ${op}: ${name}`, () => {
          const [small, large] = [4096, 8192].map((n) => cost(client[mode](of(op, n, window))));
          assert.ok(large.instructions - small.instructions < 150, `${small.instructions}, then ${large.instructions} instructions`);
          assert.ok(large.elements < 2.4 * small.elements, `${small.elements}, then ${large.elements} elements`);
          assert.ok(small.elements < 4096 * 12 * 64, `${small.elements} elements`);
        });
      }
    }
  }

  test('a window of 1,000 elements has the slopes of the products of its others', async () => {
    const n = 1500, w = 1000, x = Array.from({ length: n }, (_, i) => (i === 700 ? 0 : 1 + ((i * 37) % 11 - 5) / 4096));
    const module = entry([`x = f64[${n}] parameter(0)`, 'i = f64[] constant(0.5)',
      `ROOT r = f64[${n - w + 1}] reduce-window(x, i), window={size=${w}}, to_apply=multiply`], binary('multiply', 'f64'));
    const [slope] = await run(client.vjp(module), [x, Array(n - w + 1).fill(1)]);
    let wanted = 0;
    for (let start = 0; start <= n - w; start++) wanted += x.slice(start,
      start + w).reduce((product, v, k) => (start + k === 700 ? product : product * v), 0.5);
    assert.ok(Math.abs(slope[700] - wanted) < 1e-10 * wanted, `${slope[700]}, ${wanted}`);
    assert.ok(slope.every((v, i) => i === 700 || v === 0));
  });
});

test('the second derivative of a product of 600 elements is a product of the others', async () => {
  const n = 600, x = Array.from({ length: n }, (_, i) => (i === 3 || i === 500 ? 0 : 1 + (i % 7 - 3) / 1024));
  const module = entry([`x = f64[${n}] parameter(0)`, 'i = f64[] constant(2)',
    'ROOT r = f64[] reduce(x, i), dimensions={0}, to_apply=multiply'], binary('multiply', 'f64'));
  const product = client.jvp(client.gradient(module));
  const direction = x.map((_, i) => (i === 3 ? 1 : 0));
  const [, second] = await run(product, [x, direction]);
  const wanted = x.reduce((result, v, i) => (i === 3 || i === 500 ? result : result * v), 2);
  assert.ok(Math.abs(second[500] - wanted) < 1e-12 * wanted, `${second[500]}, ${wanted}`);
  assert.ok(second.every((v, i) => i === 500 || v === 0));
});

describe('products with a sign', () => {
  const of = (lines) => entry(['x = f32[3] parameter(0)', 'y = f32[3] parameter(1)', 's = f32[3] sign(x)', 'a = f32[3] abs(x)', ...lines]);
  /* JAX's, at x = 0, 2, -1 and y = 3, 1, 2. */
  for (const [name, lines, byX, byY] of [
    ['g has another operand', ['g = f32[3] add(a, y)', 'ROOT r = f32[3] multiply(s, g)'], [0, 1, 1], [0, 1, -1]],
    ['g is a product with another operand', ['g = f32[3] multiply(y, a)', 'ROOT r = f32[3] multiply(g, s)'], [0, 1, 2], [0, 2, -1]],
    ['g is the absolute value', ['ROOT r = f32[3] multiply(s, a)'], [0, 1, 1], [0, 0, 0]],
    ['symlog', ['g = f32[3] log-plus-one(a)', 'ROOT r = f32[3] multiply(s, g)'], [0, 1 / 3, 1 / 2], [0, 0, 0]],
    ['g is chosen by the size of x, and has another operand', ['one = f32[] constant(1)', 'ones = f32[3] broadcast(one), dimensions={}',
      'p = pred[3] compare(a, ones), direction=LE', 'g = f32[3] select(p, y, a)', 'ROOT r = f32[3] multiply(s, g)'], [0, 1, 0], [0, 0, -1]],
  ]) {
    test(`at 0, the sign is 0: ${name}`, async () => {
      const [dx, dy] = await run(client.vjp(of(lines)), [[0, 2, -1], [3, 1, 2], [1, 1, 1]]);
      assert.deepEqual([dx, dy], [byX.map(Math.fround), byY]);
    });
  }
});

describe('parts of a real array', () => {
  for (const [part, slope] of [['real', [2, -4]], ['imag', [0, 0]]]) {
    test(part, async () => {
      const module = entry(['x = f32[2] parameter(0)', 'y = f32[2] multiply(x, x)', `ROOT r = f32[2] ${part}(y)`]);
      const vjp = client.vjp(module), jvp = client.jvp(module);
      assert.equal(String(vjp.resultShape.isTuple ? vjp.resultShape.tupleShapes[0] : vjp.resultShape).replace(/\{.*/, ''), 'f32[2]');
      assert.deepEqual((await run(vjp, [[1, -2], [1, 1]]))[0], slope);
      assert.deepEqual((await run(jvp, [[1, -2], [1, 1]])).at(-1), slope);
    });
  }
});

describe('bits', () => {
  test('that are read as the same type have the slope 1, as another type 0', async () => {
    const same = entry(['x = f32[2] parameter(0)', 'y = f32[2] multiply(x, x)', 'ROOT r = f32[2] bitcast-convert(y)']);
    assert.deepEqual(await run(client.vjp(same), [[1, -2], [1, 1]]), [[2, -4]]);
    const other = entry(['x = f32[2,2] parameter(0)', 'ROOT r = f64[2] bitcast-convert(x)']);
    assert.deepEqual(await run(client.vjp(other), [[[1, 2], [3, 4]], [1, 1]]), [[[0, 0], [0, 0]]]);
    const twice = entry(['x = f32[2] parameter(0)', 'b = s32[2] bitcast-convert(x)', 'ROOT r = f32[2] bitcast-convert(b)']);
    assert.deepEqual(await run(client.vjp(twice), [[1, -2], [1, 1]]), [[0, 0]]);
  });

  test('nextafter is refused, if a result needs it', async () => {
    const module = await client.parseStableHlo(`func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.next_after %x, %y : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}`);
    assert.throws(() => client.vjp(module), /is the next number \(nextafter\), which has no derivative/);
    assert.throws(() => client.jvp(module, { wrt: 0 }), /nextafter/);
  });
});

test('a parameter that wrt names twice is refused', () => {
  const module = entry(['x = f32[] parameter(0)', 'ROOT r = f32[] multiply(x, x)']);
  for (const wrt of [[0, 0], ['x', 0], ['x', 'x']]) {
    assert.throws(() => client.gradient(module, { wrt }), /wrt has parameter 0 "x" twice; name each once/);
  }
});

test('select-and-scatter selects by a comparison, whose operands may be in either order', async () => {
  /* The largest of 1, 3, 2 and of 5, 4, 0 is at 1 and 3; the last of equal ones if it must be greater. */
  for (const [comparison, x, places] of [['a, b), direction=GE', [1, 3, 2, 5, 4, 0], [1, 3]], ['b, a), direction=LE', [1, 3, 2, 5, 4, 0], [1, 3]],
    ['b, a), direction=LT', [3, 3, 2, 5, 4, 5], [1, 5]], ['b, a), direction=GE', [1, 3, 2, 5, 4, 0], [0, 5]]]) {
    const module = entry(['x = f32[6] parameter(0)', 'y = f32[2] parameter(1)', 'i = f32[] parameter(2)',
      'ROOT r = f32[6] select-and-scatter(x, y, i), window={size=3 stride=3}, select=chosen, scatter=add'],
    `chosen {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(${comparison}\n}\n${binary('add')}`);
    const { value, vjp } = await slopes(module, [x, [10, 20], 1]);
    assert.deepEqual(value, [0, 1, 2, 3, 4, 5].map((i) => 1 + (places.indexOf(i) + 1) * 10), comparison);
    assert.deepEqual(vjp, [[0, 0, 0, 0, 0, 0], [1, 1], 6], comparison);
    const [, cotangent] = await run(client.vjp(module), [x, [10, 20], 1, [1, 2, 3, 4, 5, 6]]);
    assert.deepEqual(cotangent, places.map((i) => i + 1), comparison);
  }
});

describe('scatters', () => {
  const scatter = (type, more = '') => entry([`x = ${type}[3] parameter(0)`, `u = ${type}[4] parameter(1)`,
    'i = s32[4,1] constant({{0}, {2}, {0}, {7}})',
    `ROOT r = ${type}[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1${more}, to_apply=multiply`],
  binary('multiply', type));

  test('by multiply, at equal indices: the products of the others, also with zeros', async () => {
    assert.deepEqual(await slopes(scatter('f64'), [[2, 3, 5], [4, 6, 7, 9]]),
      { value: [56, 3, 30], jvp: [28 + 14 + 8, 1, 11], vjp: [[28, 1, 6], [14, 5, 8, 0]] });
    assert.deepEqual((await slopes(scatter('f64'), [[2, 3, 5], [0, 6, 7, 9]])).vjp, [[0, 1, 6], [14, 5, 0, 0]]);
    assert.deepEqual((await slopes(scatter('f64'), [[2, 3, 5], [0, 6, 0, 9]])).vjp, [[0, 1, 6], [0, 5, 0, 0]]);
  });

  test('by multiply, at equal indices: second derivatives', async () => {
    const first = client.vjp(scatter('f64')), second = client.jvp(first, { wrt: [0, 1] });
    /* r0 = x0 u0 u2 with u0 = u2 = 0: its only second derivative is that by u0 and u2, x0. */
    const results = await run(second, [[2, 3, 5], [0, 6, 0, 9], [1, 1, 1], [0, 0, 0], [1, 0, 0, 0]]);
    assert.deepEqual(results.slice(-2), [[0, 0, 0], [0, 0, 2, 0]]);
  });

  test('an update that lies outside has slope 0, also where its formula divides by the element', async () => {
    const module = entry(['x = f64[3] parameter(0)', 'u = f64[2] parameter(1)', 'i = s32[2,1] constant({{1}, {9}})',
      'ROOT r = f64[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=f'],
    'f {\n  a = f64[] parameter(0)\n  b = f64[] parameter(1)\n  ROOT r = f64[] divide(b, a)\n}\n');
    assert.deepEqual(await slopes(module, [[2, 4, 5], [8, 3]]), { value: [2, 2, 5], jvp: [1, 0.25 - 0.5, 1], vjp: [[1, -0.5, 1], [0.25, 0]] });
  });

  test('of arrays that depend on each other, at unique indices', async () => {
    const module = entry(['x = f64[3] parameter(0)', 'y = f64[3] parameter(1)', 'u = f64[2] parameter(2)', 'v = f64[2] parameter(3)',
      'i = s32[2,1] constant({{2}, {0}})',
      's = (f64[3], f64[3]) scatter(x, y, i, u, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=f',
      'p = f64[3] get-tuple-element(s), index=0', 'q = f64[3] get-tuple-element(s), index=1', 'ROOT r = f64[3] add(p, q)'],
    'f {\n  a = f64[] parameter(0)\n  b = f64[] parameter(1)\n  c = f64[] parameter(2)\n  d = f64[] parameter(3)\n  m = f64[] multiply(a, c)\n  n = f64[] multiply(b, m)\n  k = f64[] add(n, d)\n  ROOT t = (f64[], f64[]) tuple(m, k)\n}\n');
    /* r2 = x2 u0 + y2 x2 u0 + v0, r0 = x0 u1 + y0 x0 u1 + v1, r1 = x1 + y1 */
    const { value, vjp } = await slopes(module, [[2, 3, 5], [7, 11, 13], [17, 19], [23, 29]]);
    assert.deepEqual(value, [2 * 19 * 8 + 29, 14, 5 * 17 * 14 + 23]);
    assert.deepEqual(vjp, [[19 * 8, 1, 17 * 14], [38, 1, 85], [5 * 14, 2 * 8], [1, 1]]);
  });
});

test('slopes of singular vectors do not depend on the scale', async () => {
  const module = entry(['x = f32[3,2] parameter(0)',
    'r = (f32[3,2], f32[2], f32[3,2], f32[2,2], s32[]) custom-call(x), custom_call_target="lapack_sgesdd_ffi", backend_config={mode = 83 : ui8}',
    'u = f32[3,2] get-tuple-element(r), index=2', 'v = f32[2,2] get-tuple-element(r), index=3',
      'w = f32[3,2] dot(u, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    'ROOT y = f32[3,2] multiply(w, u)']);
  const matrix = [[1, 2], [3, -1], [0.5, 4]], seeds = [[1, 2], [-1, 3], [0.5, 1]];
  const at = async (scale) => flat((await run(client.vjp(module), [matrix.map((row) => row.map((v) => v * scale)), seeds]))[0]).map((v) => v * scale);
  const wanted = await at(1);
  assert.ok(wanted.every((v) => Number.isFinite(v)) && wanted.some((v) => Math.abs(v) > 0.01), `${wanted}`);
  for (const scale of [2 ** -66, 2 ** 83]) {
    const got = await at(scale);
    got.forEach((v, i) => assert.ok(Math.abs(v - wanted[i]) < 1e-5, `${scale}: ${got}; ${wanted}`));
  }
});

test('1,000 calls in each other', async () => {
  const n = 999, lines = ['func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = call @f0(%x) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}'];
  for (let i = 0; i < n; i++) {
    const inner = i + 1 < n ? `%1 = call @f${i + 1}(%0) : (tensor<f32>) -> tensor<f32>` : '%1 = stablehlo.sine %0 : tensor<f32>';
    lines.push(`func.func private @f${i}(%x: tensor<f32>) -> tensor<f32> {\n  %c = stablehlo.constant dense<1.0> : tensor<f32>\n  %0 = stablehlo.multiply %x, %c : tensor<f32>\n  ${inner}\n  return %1 : tensor<f32>\n}`);
  }
  const module = await client.parseStableHlo(lines.join('\n'));
  const [slope] = await run(client.gradient(module), [0.5]);
  assert.ok(Math.abs(slope - Math.cos(0.5)) < 1e-6);
});

/* By mpmath, -x / y^2. The square of y overflows in c64. */
test('complex quotients have slopes where the square of the divisor overflows', async () => {
  const module = entry(['x = c64[1] parameter(0)', 'y = c64[1] parameter(1)', 'ROOT r = c64[1] divide(x, y)']);
  const [, jvp] = await run(client.jvp(module, { wrt: 1 }), [[[2e30, 0]], [[0, 1e20]], [[1, 0]]]);
  assert.ok(Math.abs(jvp[0][0] / 2e-10 - 1) < 1e-6 && jvp[0][1] + 0 === 0, `${jvp}`);
});

/* By JAX 0.10.2 on the CPU. */
test('complex roots of -infinity are +i infinity on both edges', async () => {
  const module = entry(['x = c64[2] parameter(0)', 'ROOT r = c64[2] sqrt(x)']);
  assert.deepEqual(await run(module, [[[-Infinity, 0], [-Infinity, -0]]]), [[[0, Infinity], [0, Infinity]]]);
});

/* Expected: jax.vjp of jax.scipy.special.xlogy, JAX 0.10.2. */
test('x == 0 ? 0 : x log y of complex numbers has the slope log y at 0', async () => {
  const module = entry(['x = c64[2] parameter(0)', 'y = c64[2] parameter(1)', 'z = c64[2] constant({(0, 0), (0, 0)})',
    'n = pred[2] compare(x, z), direction=NE', 'l = c64[2] log(y)', 'p = c64[2] multiply(x, l)', 'ROOT s = c64[2] select(n, p, z)']);
  const numbers = (parts) => {
    const literal = Literal.zeros('c64[2]');
    literal.data.set(parts);
    return literal;
  };
  const executable = await client.compile(client.vjp(module, { wrt: [0, 1] }));
  const results = await executable.execute([numbers([0, 0, 1, 1]), numbers([0.5, 0.5, 2, 1]), numbers([1, 0, 0, 1])]);
  const wanted = [[-0.34657359, 0.78539816, -0.4636476, 0.80471896], [0, 0, -0.2, 0.6]];
  results.slice(-2).forEach(({ data }, k) => wanted[k].forEach((value, i) => assert.ok(Math.abs(data[i] - value) < 1e-6, `${k} ${i}: ${data[i]}`)));
});

test('a function of two sides has the slopes of the side that is taken', async () => {
  /* f(y) = 3 y^2 above c = -2, and g(y) = -3 y^2 - 24 y - 24 below: both have slope -12 at -2. JAX gives half of it, except for log_ndtr. */
  for (const [direction, second] of [['GT', -6], ['GE', 6], ['LT', 6], ['LE', -6]]) {
    const above = direction.startsWith('G');
    const module = entry(['x = f32[3] parameter(0)', 'two = f32[] constant(-2)', 'c = f32[3] broadcast(two), dimensions={}',
      'three = f32[] constant(3)', 't = f32[3] broadcast(three), dimensions={}', 'many = f32[] constant(24)',
      'w = f32[3] broadcast(many), dimensions={}', `p = pred[3] compare(x, c), direction=${direction}`, 'a = f32[3] maximum(x, c)',
      's = f32[3] multiply(a, a)', 'f = f32[3] multiply(s, t)', 'b = f32[3] minimum(x, c)', 'u = f32[3] multiply(b, b)',
      'v = f32[3] multiply(u, t)', 'l = f32[3] multiply(b, w)', 'm = f32[3] add(l, w)', 'n = f32[3] add(v, m)', 'g = f32[3] negate(n)',
      `ROOT r = f32[3] select(p, ${above ? 'f, g' : 'g, f'})`]);
    const wanted = { value: [12, 21, 3], jvp: [-12, -6, -6], vjp: [[-12, -6, -6]] };
    assert.deepEqual(await slopes(module, [[-2, -3, -1]]), wanted, direction);
    const vjp = client.vjp(module), [along] = await run(client.vjp(vjp, { wrt: [0] }), [[-2, -3, -1], [1, 1, 1], [1, 1, 1]]);
    assert.deepEqual(along, [second, -6, 6], direction);
  }
});
