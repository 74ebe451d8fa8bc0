/** Windows that lie partly in the padding: boxes of a loop, or a padded copy where these are too many. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const PROGRAMS = 150;

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
});
after(() => client.dispose());

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const strides = (dims) => dims.map((_, i) => product(dims.slice(i + 1)));

const OPERATIONS = {
  add: (a, b) => a + b,
  maximum: Math.max,
  minimum: Math.min,
  subtract: (a, b) => a - b, // has no neutral value
};

/** `windows` has an entry per dimension: { length, size, stride, low, high, dilation }. */
function program({ type, operation, init, windows, results }) {
  const shape = (dims) => `${type}[${dims}]`;
  const each = (text) => windows.map(text).join('x');
  return `HloModule windows
f {
  a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  ROOT r = ${type}[] ${operation}(a, b)
}
ENTRY e {
  x = ${shape(windows.map(({ length }) => length))} parameter(0)
  y = ${shape(windows.map(({ length }) => length))} negate(x)
  i = ${type}[] constant(${init})
  ROOT r = ${shape(results)} reduce-window(y, i), window={size=${each((w) => w.size)} stride=${each((w) => w.stride)} pad=${
  each((w) => `${w.low}_${w.high}`)} rhs_dilate=${each((w) => w.dilation)}}, to_apply=f
}`;
}

/** Reduces as the semantics define it: padding is left out. */
function reduced({ operation, init, windows, results }, data) {
  const from = strides(windows.map(({ length }) => length)), to = strides(results);
  const sizes = windows.map(({ size }) => size), taps = strides(sizes);
  return Array.from({ length: product(results) }, (_, o) => {
    let value = init;
    for (let tap = 0; tap < product(sizes); tap++) {
      const at = windows.map((w, d) => Math.floor(o / to[d]) % results[d] * w.stride - w.low
        + Math.floor(tap / taps[d]) % w.size * w.dilation);
      if (at.some((index, d) => index < 0 || index >= windows[d].length)) continue;
      value = OPERATIONS[operation](value, -data[at.reduce((sum, index, d) => sum + index * from[d], 0)]);
    }
    return value;
  });
}

function resultsOf(windows) {
  return windows.map((w) => Math.floor((w.length + w.low + w.high - (w.size - 1) * w.dilation - 1) / w.stride) + 1);
}

async function run(given) {
  const length = product(given.windows.map((w) => w.length));
  const data = Array.from({ length }, (_, i) => i * 37 % 11 - 5);
  const executable = await client.compile(client.parseHlo(program(given)));
  const [made] = await executable.execute([client.buffer({ f32: Float32Array, s32: Int32Array, f64: Float64Array }[given.type]
    .from(data), `${given.type}[${given.windows.map((w) => w.length)}]`)]);
  assert.deepEqual(Array.from(made.data, (x) => x + 0), reduced(given, data).map((x) => x + 0), program(given));
  return executable;
}

/** Numbers that are the same in every run. */
function* draws(seed) {
  for (let x = seed; ;) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    yield x / 2 ** 32;
  }
}

describe('padded windows', () => {
  test('of many kinds', async () => {
    const random = draws(7);
    const below = (n) => Math.floor(random.next().value * n);
    let done = 0;
    while (done < PROGRAMS) {
      const windows = Array.from({ length: 1 + below(4) }, () => ({
        length: 1 + below(9), size: 1 + below(4), stride: 1 + below(3), low: below(4) - 1, high: below(4) - 1, dilation: 1 + below(2),
      }));
      const results = resultsOf(windows);
      if (results.some((n) => n <= 0)) continue;
      const executable = await run({
        type: ['f32', 's32', 'f64'][below(3)], operation: Object.keys(OPERATIONS)[below(4)], init: below(3), windows, results,
      });
      executable.dispose();
      done++;
    }
  });

  // Channels last, and first; more than one chunk; rows that no vector divides.
  for (const [name, lengths, spatial] of [
    ['channels last', [2, 33, 30, 12], [1, 2]],
    ['few channels', [2, 65, 40, 3], [1, 2]],
    ['channels first', [2, 7, 50, 45], [2, 3]],
  ]) {
    test(`no copy is made of the pooled array: ${name}`, async () => {
      const windows = lengths.map((length, d) => spatial.includes(d)
        ? { length, size: 3, stride: 2, low: 1, high: 1, dilation: 1 } : { length, size: 1, stride: 1, low: 0, high: 0, dilation: 1 });
      for (const operation of ['maximum', 'add']) {
        const executable = await run({ type: 'f32', operation, init: 0, windows, results: resultsOf(windows) });
        assert.doesNotMatch(executable.toString(), / pad\(/);
        assert.doesNotMatch(executable.thunks(), /^eval/m);
        assert.ok(executable.memory.temporaries <= product(lengths) * 4 + 256);
      }
    });
  }

  test('the first of the largest, with its place', async () => {
    const executable = await client.compile(client.parseHlo(`HloModule argmax
f {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GE
  v = f32[] select(g, a, b)
  k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k)
}
ENTRY e {
  x = f32[5,7] parameter(0)
  i = s32[5,7] iota(), iota_dimension=1
  n = f32[] constant(-inf)
  m = s32[] constant(-1)
  ROOT r = (f32[5,7], s32[5,7]) reduce-window(x, i, n, m), window={size=1x3 pad=0_0x1_1}, to_apply=f
}`));
    const x = Array.from({ length: 5 }, (_, r) => Array.from({ length: 7 }, (__, c) => (r * 7 + c) * 5 % 9));
    const [values, places] = await executable.execute([x]);
    const around = (r, c) => [c - 1, c, c + 1].filter((k) => k >= 0 && k < 7);
    const best = (r, c) => around(r, c).reduce((a, b) => (x[r][a] >= x[r][b] ? a : b));
    assert.deepEqual(places.toArray(), x.map((row, r) => row.map((_, c) => best(r, c))));
    assert.deepEqual(values.toArray(), x.map((row, r) => row.map((_, c) => x[r][best(r, c)])));
  });
});

test('windows over all that came before, with strides and holes', async () => {
  for (const stride of [1, 2, 3]) {
    for (const holes of [1, 2]) {
      for (const backwards of [false, true]) {
        const x = Array.from({ length: 9 }, (_, i) => i * i + 1);
        const wide = Array.from({ length: 8 * holes + 1 }, (_, i) => (i % holes ? 0 : x[i / holes]));
        const size = wide.length, results = Math.floor((size - 1) / stride) + 1;
        const executable = await client.compile(client.parseHlo(`HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[9] parameter(0)\n z = f32[] constant(0)
 ROOT r = f32[${results}] reduce-window(x, z), window={size=${size} stride=${stride} pad=${backwards ? `0_${size - 1}` : `${size - 1}_0`} lhs_dilate=${holes}}, to_apply=f }`));
        const [{ data }] = await executable.execute([x]);
        const wanted = Array.from({ length: results }, (_, i) =>
          (backwards ? wide.slice(i * stride) : wide.slice(0, i * stride + 1)).reduce((a, b) => a + b, 0));
        assert.deepEqual([...data], wanted, `stride ${stride}, holes ${holes}, backwards ${backwards}`);
        executable.dispose();
      }
    }
  }
});

test('windows over all that came before, in two dimensions, reversed, dilated', async () => {
  const [rows, columns] = [5, 6];
  const x = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => i * i + 3 * j + 1));
  for (const [what, window, wanted] of [
    ['two dimensions', 'size=5x6 pad=4_0x5_0', (i, j) => [x.slice(0, i + 1).map((row) => row.slice(0, j + 1))]],
    ['reversed', 'size=1x6 pad=0_0x5_0 rhs_reversal=0x1', (i, j) => x[i].slice(0, j + 1)],
    ['dilated', 'size=1x6 pad=0_0x10_0 rhs_dilate=1x2', (i, j) => x[i].slice(0, j + 1).filter((_, k) => (j - k) % 2 === 0)],
  ]) {
    const executable = await client.compile(client.parseHlo(`HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[${rows},${columns}] parameter(0)\n z = f32[] constant(0)
 ROOT r = f32[${rows},${columns}] reduce-window(x, z), window={${window}}, to_apply=f }`));
    const [y] = await executable.execute([x]);
    const sums = x.map((row, i) => row.map((_, j) => wanted(i, j).flat(2).reduce((a, b) => a + b, 0)));
    assert.deepEqual(y.toArray(), sums, what);
    executable.dispose();
  }
});
