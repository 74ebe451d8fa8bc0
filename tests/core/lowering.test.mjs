/**
 * Tests rewrites for speed that depend on shapes, which lists of operations (native/passes.c) cannot show: the
 * HLO text after a pass, and that the program still computes the same.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { agrees } from '../support/as_written.mjs';
import { execute } from '../support/execute.mjs';
import { ADD, afterPass, client, isClose, wave } from '../support/passes.mjs';

const NARROWED = {
  'the last row of a product': {
    entry: 'd = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    slice: ['f32[1,32]', '[63:64], [0:32]'],
    has: /f32\[1,32\] dot\(/,
  },
  'columns of a product': {
    entry: 'd = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    slice: ['f32[64,3]', '[0:64], [2:11:4]'],
    has: /f32\[64,9\] dot\(/,
  },
  'a row of two layers': {
    entry: `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[64,32] tanh(a)
      z = f32[] constant(0)
      m = f32[64] reduce(b, z), dimensions={1}, to_apply=add
      n = f32[64,32] broadcast(m), dimensions={0}
      c = f32[64,32] subtract(b, n)
      v = f32[32,40] reshape(w)
      d = f32[64,40] dot(c, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}`,
    slice: ['f32[1,40]', '[5:6], [0:40]'],
    has: /f32\[1,32\] dot\((?:.|\n)*f32\[1,40\] dot\(/,
  },
  'a query of attention, through reshapes and transposes': {
    entry: `h = f32[64,4,10] reshape(x)
      t = f32[4,64,10] transpose(h), dimensions={1,0,2}
      s = f32[4,64,64] dot(t, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
      o = f32[4,64,10] dot(s, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
      u = f32[64,4,10] transpose(o), dimensions={1,0,2}
      d = f32[64,40] reshape(u)`,
    slice: ['f32[2,40]', '[10:12], [0:40]'],
    has: /f32\[4,2,64\] dot\((?:.|\n)*f32\[4,2,10\] dot\(/,
  },
  'part of what two users want': {
    entry: `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      l = f32[10,32] slice(a), slice={[3:13], [0:32]}
      m = f32[10,32] slice(a), slice={[9:19], [0:32]}
      d = f32[10,32] multiply(l, m)`,
    slice: ['f32[10,32]', '[0:10], [0:32]'],
    has: /f32\[16,32\] dot\(/,
  },
};

const KEPT = {
  'a product that is used as a whole': `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      l = f32[32,32] slice(a), slice={[0:32], [0:32]}
      m = f32[32,32] slice(a), slice={[32:64], [0:32]}
      ROOT d = f32[32,32] add(l, m)`,
  'a reshape that a part does not fit': `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[32,64] reshape(a)
      ROOT d = f32[32,1] slice(b), slice={[0:32], [0:1]}`,
  'little work': `p = f32[4,4] slice(x), slice={[0:4], [0:4]}
      a = f32[4,4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT d = f32[1,4] slice(a), slice={[0:1], [0:4]}`,
};

const program = (entry) => `HloModule m
${ADD}ENTRY e {
  x = f32[64,40] parameter(0)
  w = f32[40,32] parameter(1)
  ${entry}
}`;
const arguments_ = () => [wave(64 * 40, 0), wave(40 * 32, 1)];

for (const [name, { entry, slice: [shape, bounds], has }] of Object.entries(NARROWED)) {
  test(`narrow: ${name}`, async () => {
    const text = program(`${entry}\n  ROOT r = ${shape} slice(d), slice={${bounds}}`);
    const narrowed = afterPass(text, 'narrow');
    assert.ok(narrowed, 'the pass changes the program');
    assert.match(narrowed.replace(/\{[\d,]*\}/g, ''), has);
    const [rows, columns] = [...bounds.matchAll(/\[(\d+):(\d+)(?::(\d+))?\]/g)]
      .map(([, ...numbers]) => numbers.map((n) => Number(n ?? 1)));
    const [whole] = await execute(client, program(entry.replace(/\bd = /, 'ROOT d = ')), arguments_());
    const wanted = whole.slice(rows[0], rows[1]).filter((_, i) => i % rows[2] === 0)
      .map((row) => row.slice(columns[0], columns[1]).filter((_, i) => i % columns[2] === 0));
    const [part] = await execute(client, text, arguments_());
    part.forEach((row, i) => row.forEach((value, k) =>
      assert.ok(isClose(value, wanted[i][k]), `${value} at ${i}, ${k}, not ${wanted[i][k]}`)));
    assert.deepEqual([part.length, part[0].length], [wanted.length, wanted[0].length]);
  });
}

for (const [name, entry] of Object.entries(KEPT)) {
  test(`narrow leaves as it is ${name}`, () => assert.equal(afterPass(program(entry), 'narrow'), null));
}

/* ---- Dynamic slices, read where they are ---- */

/** Lines on x f32[20,30] and the starts i and j; and element (r, c) of the result, from x's `at`. */
const SLICED = {
  'before an element-wise operation': ['5,7', `d = f32[5,7] dynamic-slice(x, i, j), dynamic_slice_sizes={5,7}
    ROOT r = f32[5,7] negate(d)`, (at, i, j, r, c) => -at(i(15) + r, j(23) + c)],
  'after it, which is computed there only': ['5,7', `n = f32[20,30] negate(x)
    ROOT r = f32[5,7] dynamic-slice(n, i, j), dynamic_slice_sizes={5,7}`, (at, i, j, r, c) => -at(i(15) + r, j(23) + c)],
  'between': ['5,7', `n = f32[20,30] negate(x)
    d = f32[5,7] dynamic-slice(n, i, j), dynamic_slice_sizes={5,7}
    ROOT r = f32[5,7] add(d, d)`, (at, i, j, r, c) => -2 * at(i(15) + r, j(23) + c)],
  'of a slice, whose start is a constant too': ['3,7', `z = s32[] constant(-4)
    m = s32[] constant(99)
    d = f32[9,30] dynamic-slice(x, i, z), dynamic_slice_sizes={9,30}
    e = f32[3,7] dynamic-slice(d, i, m), dynamic_slice_sizes={3,7}
    ROOT r = f32[3,7] negate(e)`, (at, i, j, r, c) => -at(i(11) + i(6) + r, 23 + c)],
  'turned, reversed and reshaped': ['7,5', `d = f32[5,7] dynamic-slice(x, i, j), dynamic_slice_sizes={5,7}
    t = f32[7,5] transpose(d), dimensions={1,0}
    v = f32[7,5] reverse(t), dimensions={0}
    k = f32[35] reshape(v)
    w = f32[35] negate(k)
    ROOT r = f32[7,5] reshape(w)`, (at, i, j, r, c) => -at(i(15) + c, j(23) + 6 - r)],
  'of a reshape': ['5,7', `f = f32[600] reshape(x)
    d = f32[35] dynamic-slice(f, j), dynamic_slice_sizes={35}
    n = f32[35] negate(d)
    ROOT r = f32[5,7] reshape(n)`, (at, i, j, r, c) => -at(0, j(565) + 7 * r + c)],
  'one row for all, and an index for all': ['4,30', `k = f32[30] iota(), iota_dimension=0
    e = f32[1] dynamic-slice(k, j), dynamic_slice_sizes={1}
    o = f32[] reshape(e)
    ob = f32[4,30] broadcast(o), dimensions={}
    z = s32[] constant(0)
    d = f32[1,30] dynamic-slice(x, i, z), dynamic_slice_sizes={1,30}
    q = f32[30] reshape(d)
    b = f32[4,30] broadcast(q), dimensions={1}
    ROOT r = f32[4,30] add(b, ob)`, (at, i, j, r, c) => at(i(19), c) + j(29)],
  'reduced': ['5,1', `d = f32[5,7] dynamic-slice(x, i, j), dynamic_slice_sizes={5,7}
    z = f32[] constant(0)
    s = f32[5] reduce(d, z), dimensions={1}, to_apply=add
    ROOT r = f32[5,1] reshape(s)`, (at, i, j, r) => [0, 1, 2, 3, 4, 5, 6].reduce((sum, c) => sum + at(i(15) + r, j(23) + c), 0)],
};
for (const [name, [shape, entry, element]] of Object.entries(SLICED)) {
  test(`fuse-loops: a dynamic slice ${name}`, async () => {
    const x = wave(600, 0), [rows, columns] = shape.split(',').map(Number);
    for (const type of ['s32', 's8', 'u8', 's64', 'u64', 'u16']) {
      const mixed = type.startsWith('s') ? entry.replaceAll('s32[]', `${type}[]`) : entry.replace('-4', '0').replaceAll('s32[]', `${type}[]`);
      const text = `HloModule m\n${ADD}ENTRY e {\n  x = f32[20,30] parameter(0)\n  i = ${type}[] parameter(1)\n  j = ${type}[] parameter(2)\n    ${mixed}\n}`;
      const fused = afterPass(text, 'fuse-loops'), main = fused.slice(fused.indexOf('ENTRY'));
      assert.match(main, / fusion\(/);
      assert.doesNotMatch(main, / dynamic-slice\(/);
      for (const [i, j] of [[0, 0], [3, 20], [13, 99], ...type.startsWith('s') ? [[-1, 5], [2, -99]] : []]) {
        const clamp = (start) => (most) => Math.min(Math.max(start, 0), most);
        const wide = type.endsWith('64') ? BigInt : Number;
        const [got] = await execute(client, text, [x, wide(i), wide(j)]);
        got.forEach((row, r) => row.forEach((value, c) => {
          const wanted = element((a, b) => x[30 * a + b], clamp(i), clamp(j), r, c);
          assert.ok(isClose(value, wanted), `${value} at ${r}, ${c} of ${shape} from ${i}, ${j}, not ${wanted}`);
        }));
        assert.equal(got.length * got[0].length, rows * columns);
      }
    }
  });
}

test('fuse-loops: a dynamic slice of many chunks', async () => {
  const text = `HloModule m\nENTRY e {\n  x = f32[300,1000] parameter(0)\n  i = s32[] parameter(1)
  d = f32[201,701] dynamic-slice(x, i, i), dynamic_slice_sizes={201,701}\n  ROOT r = f32[201,701] negate(d)\n}`;
  const x = wave(300_000, 0), [got] = await execute(client, text, [x, 77]);
  assert.ok(got.every((row, r) => row.every((value, c) => value === -x[1000 * (77 + r) + 77 + c])));
});

test('fuse-loops: a dynamic slice of an array that the same iteration updates is taken before', async () => {
  const text = `HloModule m
more {
  s = (s32[], f32[40,500]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(39)
  ROOT r = pred[] compare(i, n), direction=LT
}
turn {
  s = (s32[], f32[40,500]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[40,500] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  z = s32[] constant(0)
  d = f32[1,500] dynamic-slice(x, i, z), dynamic_slice_sizes={1,500}
  e = f32[1,500] dynamic-slice(x, j, z), dynamic_slice_sizes={1,500}
  f = f32[1,500] add(d, e)
  y = f32[40,500] dynamic-update-slice(x, f, j, z)
  ROOT r = (s32[], f32[40,500]) tuple(j, y)
}
ENTRY e {
  x = f32[40,500] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[40,500]) tuple(zero, x)
  w = (s32[], f32[40,500]) while(t), condition=more, body=turn
  ROOT r = f32[40,500] get-tuple-element(w), index=1
}`;
  const module = client.parseHlo(text), executable = await client.compile(module);
  assert.doesNotMatch(executable.thunks().split('body')[1], /copy .*result0/);
  const x = wave(20_000, 0), wanted = Float32Array.from(x);
  for (let i = 500; i < x.length; i++) wanted[i] += wanted[i - 500];
  const [got] = await executable.execute([x]);
  assert.deepEqual(got.data, wanted);
  executable.dispose();
  module.dispose();
});

/* ---- Small products ---- */

const BIG = { s64: BigInt64Array, u64: BigUint64Array };
const whole = (type, count) => (BIG[type]
  ? BIG[type].from({ length: count }, (_, i) => BigInt((i * 7) % 5))
  : Array.from({ length: count }, (_, i) => ((i * 7) % 5)));
const nested = (flat, dims) => {
  const [first, ...rest] = dims;
  if (first === undefined) return flat[0];
  const part = flat.length / first;
  return Array.from({ length: first }, (_, i) => nested(flat.slice(i * part, (i + 1) * part), rest));
};
const size = (dims) => dims.reduce((a, b) => a * b, 1);

/** lhs, rhs, contracted, batch, result */
const PRODUCTS = [
  [[10], [10], [[0], [0]], [[], []], []],
  [[3, 5], [5], [[1], [0]], [[], []], [3]],
  [[3, 5], [3], [[0], [0]], [[], []], [5]],
  [[3, 4], [4, 5], [[1], [0]], [[], []], [3, 5]],
  [[3, 4], [5, 3], [[0], [1]], [[], []], [4, 5]],
  [[2, 3, 4], [4, 2, 2], [[2], [0]], [[0], [1]], [2, 3, 2]],
  [[2, 3, 4], [4, 3], [[1, 2], [1, 0]], [[], []], [2]],
  [[4], [6], [[], []], [[], []], [4, 6]],
  [[4, 1], [1, 6], [[1], [0]], [[], []], [4, 6]],
  [[500], [500], [[], []], [[0], [0]], [500]], // one product for each element, as in JAX's sparse arrays
  [[30], [40], [[], []], [[], []], [30, 40]],
  [[7, 1, 20], [30, 7, 1], [[1], [2]], [[0], [1]], [7, 20, 30]],
  [[40, 9], [40, 9], [[1], [1]], [[0], [0]], [40]], // inner products
  [[9, 40], [40, 9], [[0], [1]], [[1], [0]], [40]],
  [[5, 8, 6, 2], [8, 5, 2, 6], [[2, 3], [3, 2]], [[0, 1], [1, 0]], [5, 8]],
];
for (const type of ['f32', 'f64', 's32', 'u64']) {
  test(`small-dots: ${type}`, async () => {
    for (const [lhs, rhs, [lc, rc], [lb, rb], result] of PRODUCTS) {
      const attributes = `lhs_contracting_dims={${lc}}, rhs_contracting_dims={${rc}}` +
        (lb.length ? `, lhs_batch_dims={${lb}}, rhs_batch_dims={${rb}}` : '');
      const dot = `dot(x, y), ${attributes}`;
      const shape = `${type}[${result}]`;
      const header = `HloModule m\nENTRY e {\n  x = ${type}[${lhs}] parameter(0)\n  y = ${type}[${rhs}] parameter(1)\n`;
      const text = `${header}  ROOT d = ${shape} ${dot}\n}`;
      assert.doesNotMatch(afterPass(text, 'small-dots'), / dot\(/);
      const args = [nested(whole(type, size(lhs)), lhs), nested(whole(type, size(rhs)), rhs)];
      const [got] = await execute(client, text, args);
      const [wanted] = await execute(client, text.replace('ROOT d', 'd').replace(/\}$/,
        `  b = ${shape} opt-barrier(d)\n  ROOT s = ${shape} copy(b)\n}`), args);
      assert.deepEqual(got, wanted);
      assert.deepEqual([got].flat(Infinity).map(Number), product(args, lhs, rhs, lc, rc, lb, rb));
    }
  });
}

/** Computes dot by its definition, in the order of the result's elements. */
function product([x, y], lhs, rhs, lc, rc, lb, rb) {
  const at = (array, index) => Number(index.reduce((part, i) => part[i], array));
  const free = (dims, ...without) => dims.map((_, d) => d).filter((d) => !without.flat().includes(d));
  const [lf, rf] = [free(lhs, lc, lb), free(rhs, rc, rb)];
  const all = (sizes) => sizes.reduce((list, n) => list.flatMap((index) =>
    Array.from({ length: n }, (_, i) => [...index, i])), [[]]);
  return all([...lb.map((d) => lhs[d]), ...lf.map((d) => lhs[d]), ...rf.map((d) => rhs[d])]).map((index) =>
    all(lc.map((d) => lhs[d])).reduce((sum, k) => {
      const l = [], r = [];
      lb.forEach((d, i) => { l[d] = index[i]; });
      rb.forEach((d, i) => { r[d] = index[i]; });
      lf.forEach((d, i) => { l[d] = index[lb.length + i]; });
      rf.forEach((d, i) => { r[d] = index[lb.length + lf.length + i]; });
      lc.forEach((d, i) => { l[d] = k[i]; });
      rc.forEach((d, i) => { r[d] = k[i]; });
      return sum + at(x, l) * at(y, r);
    }, 0));
}

/** Computes a convolution of one feature by its definition; outside the lhs are zeros. */
function convolved(x, w, low) {
  return x.map((row, i) => row.map((_, j) => w.reduce((sum, line, k) => line.reduce((part, y, l) =>
    part + y * (x[i + k - low]?.[j + l - low] ?? 0), sum), 0)));
}
for (const type of ['f32', 'f64', 's32', 'u64']) {
  test(`small-convolutions: ${type}, windows that are operands or constant`, async () => {
    const x = nested(whole(type, 6 * 17), [6, 17]), w = [[1, 2, 0], [3, 1, 1], [0, 1, 2]];
    const shape = `${type}[1,1,6,17]`, window = `window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01`;
    for (const from of ['parameter(1)', `constant({{{${w.map((row) => `{${row}}`)}}}})`]) {
      const text = `HloModule m\nENTRY e {\n  x = ${shape} parameter(0)\n  w = ${type}[1,1,3,3] ${from}
  ROOT c = ${shape} convolution(x, w), ${window}\n}`;
      assert.doesNotMatch(afterPass(text, 'small-convolutions'), / convolution\(/);
      const args = type === 'u64' ? [[[x]], [[w.map((row) => row.map(BigInt))]]] : [[[x]], [[w]]];
      const [got] = await execute(client, text, from.startsWith('p') ? args : [args[0]]);
      assert.deepEqual(got[0][0].map((row) => row.map(Number)), convolved(x.map((row) => row.map(Number)), w, 1));
    }
  });
}

test('small-convolutions: infinities and NaN, which windows of zeros multiply', async () => {
  const text = `HloModule m\nENTRY e {\n  x = f32[1,1,16] parameter(0)\n  w = f32[1,1,3] constant({{{1,0,1}}})
  ROOT c = f32[1,1,16] convolution(x, w), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0\n}`;
  assert.doesNotMatch(afterPass(text, 'small-convolutions'), / convolution\(/);
  const x = Array.from({ length: 16 }, (_, i) => (i === 5 ? Infinity : 1));
  const [[[c]]] = await execute(client, text, [[[x]]]);
  assert.deepEqual(c, [1, 2, 2, 2, Infinity, NaN, Infinity, ...new Array(8).fill(2), 1]);
});

test('small-convolutions: sums of -0 are 0', async () => {
  const text = `HloModule m\nENTRY e {\n  x = f32[1,1,16] parameter(0)\n  w = f32[1,1,1] parameter(1)
  ROOT c = f32[1,1,16] convolution(x, w), window={size=1}, dim_labels=bf0_oi0->bf0\n}`;
  const [[[c]]] = await execute(client, text, [[[new Array(16).fill(-0)]], [[[1]]]]);
  assert.deepEqual(c, new Array(16).fill(0));
});

test('small-dots: a product of one, which may be -0', async () => {
  const text = `HloModule m\nENTRY e {\n  x = f32[3,1] parameter(0)\n  y = f32[1,2] parameter(1)
  ROOT d = f32[3,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}`;
  const [d] = await execute(client, text, [[[-0], [1], [-2]], [[3, 0]]]);
  assert.deepEqual(d, [[-0, -0], [3, 0], [-6, -0]]);
});

/* As XLA:CPU has it: 0. */
for (const [type, denormal] of [['f32', -1e-40], ['bf16', 1e-39]]) {
  test(`denormals of large matrices of ${type} are taken for 0`, async () => {
    const text = `HloModule m\nENTRY e {\n  x = ${type}[128,128] parameter(0)\n  y = ${type}[128,128] parameter(1)
  ROOT d = ${type}[128,128] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}`;
    const all = (value) => Array.from({ length: 128 }, () => new Array(128).fill(value));
    for (const args of [[all(denormal), all(1e10)], [all(1e10), all(denormal)]]) {
      assert.deepEqual((await execute(client, text, args))[0], all(0));
    }
  });
}

/* ---- Reductions written out, in regions ---- */

const REDUCED = [
  [[7], [0]], [[8], [0]], [[3], [0]], [[3, 5], [0]], [[3, 5], [1]], [[2, 9], [1]], [[9, 2], [0]],
  [[2, 9], [0]], [[2, 3, 4], [0, 2]], [[2, 3, 4], [1]], [[2, 2, 6], [0, 1]], [[3, 4], [0, 1]], [[5], []],
];
const TYPES = ['f32', 'f64', 's32', 's8', 'u16', 's64', 'f16', 'bf16', 'f8e4m3fn', 'c64', 'pred'];
for (const type of TYPES) {
  test(`a reduction of ${type} in a region`, async () => {
    for (const opcode of type === 'pred' ? ['and', 'or'] : type === 'c64' ? ['add'] : ['add', 'maximum', 'multiply']) {
      for (const [dims, over] of REDUCED) {
        const kept = dims.filter((_, d) => !over.includes(d));
        const computation = `f {\n a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${opcode}(a, b)\n}\n`;
        const header = `HloModule m\n${ADD}${computation}ENTRY e {\n  x = ${type}[${dims}] parameter(0)\n  i = ${type}[] parameter(1)\n`;
        const reduce = `${type}[${kept}] reduce(x, i), dimensions={${over}}, to_apply=f`;
        const alone = `${header}  ROOT r = ${reduce}\n}`;
        const more = `${header}  z = f32[] constant(0)\n  k = f32[5] iota(), iota_dimension=0
  s = f32[] reduce(k, z), dimensions={0}, to_apply=add\n  r = ${reduce}\n  ROOT t = (${type}[${kept}], f32[]) tuple(r, s)\n}`;
        const element = (n) => (type === 'c64' ? [n, 1 - n] : type === 'pred' ? n > 0 : type === 's64' ? BigInt(n) : n);
        const x = nested(Array.from({ length: size(dims) }, (_, n) => element((n * 5) % 3)), dims);
        const [wanted] = await execute(client, alone, [x, element(1)]);
        const [got] = await execute(client, more, [x, element(1)]);
        assert.deepEqual(got, wanted, `${opcode} of [${dims}] over {${over}}`);
      }
    }
  });
}

test('a reduction of two arrays in a region', async () => {
  const text = `HloModule m
${ADD}most {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  y = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(x, y), direction=GE
  v = f32[] select(more, x, y)
  k = s32[] select(more, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
ENTRY e {
  x = f32[3,7] parameter(0)
  i = s32[3,7] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(-1)
  m = (f32[3], s32[3]) reduce(x, i, low, none), dimensions={1}, to_apply=most
  v = f32[3] get-tuple-element(m), index=0
  k = s32[3] get-tuple-element(m), index=1
  z = f32[] constant(0)
  s = f32[] reduce(v, z), dimensions={0}, to_apply=add
  ROOT r = (f32[3], s32[3], f32[]) tuple(v, k, s)
}`;
  const x = [[3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7], [9, 3, 2, 3, 8, 4, 6]];
  assert.deepEqual(await execute(client, text, [x]), [[9, 9, 9], [5, 5, 0], 27]);
});

test('logistic: the quotient that XLA:CPU makes is found, unless its parts have other users', async () => {
  const program = (type, root) => `HloModule m
ENTRY e {
  x = ${type}[9] parameter(0)
  c = ${type}[] constant(1)
  one = ${type}[9] broadcast(c), dimensions={}
  n = ${type}[9] negate(x)
  p = ${type}[9] exponential(n)
  s = ${type}[9] add(p, one)
  l = ${type}[9] divide(one, s)
  ${root}
}
`;
  const x = wave(9, 0.2).map((value) => 9 * value);
  for (const [type, root, found] of [
    ['f32', 'ROOT r = f32[9] multiply(l, x)', true], ['f64', 'ROOT r = f64[9] negate(l)', true],
    ['f32', 'ROOT r = f32[9] multiply(l, p)', false], ['bf16', 'ROOT r = bf16[9] negate(l)', false],
  ]) {
    const text = afterPass(program(type, root), 'logistic');
    if (!found) {
      assert.equal(text, null, `${type} ${root}`);
      continue;
    }
    assert.match(text, / logistic\(/);
    const [got] = await execute(client, program(type, root), [Array.from(x)]);
    got.forEach((value, i) => {
      const y = 1 / (1 + Math.exp(-x[i]));
      assert.ok(isClose(value, type === 'f32' ? y * x[i] : -y), `${value} of ${x[i]}`);
    });
  }
});

/** A loop of h = h W, or h times W transposed; `next` is W in the next iteration. */
const products = ({ rows, size, turns, turned = false, next = 'w' }) => `HloModule products
condition { s = (s32[], f32[${rows},${size}], f32[${size},${size}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${turns})
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[${rows},${size}], f32[${size},${size}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[${rows},${size}] get-tuple-element(s), index=1
  w = f32[${size},${size}] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = f32[${size},${size}] sine(w)
  d = f32[${rows},${size}] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}}
  ROOT r = (s32[], f32[${rows},${size}], f32[${size},${size}]) tuple(j, d, ${next}) }
ENTRY e { h = f32[${rows},${size}] parameter(0)
  w = f32[${size},${size}] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[${rows},${size}], f32[${size},${size}]) tuple(zero, h, w)
  u = (s32[], f32[${rows},${size}], f32[${size},${size}]) while(t), condition=condition, body=body
  ROOT r = f32[${rows},${size}] get-tuple-element(u), index=1 }`;

for (const [rows, size, turned] of [[8, 72, false], [12, 72, true], [32, 320, false], [16, 320, true]]) {
  test(`hoist-loops: ${rows} rows by a matrix of ${size}, ${turned ? 'columns' : 'rows'} in a line, in panels`, async () => {
    const program = products({ rows, size, turned, turns: 5 });
    assert.match(afterPass(program, 'hoist-loops'), new RegExp(`f32\\[${rows},${size / 8},8\\]\\S* dot\\(`));
    const h = Array.from({ length: rows }, (_, i) => Array.from({ length: size }, (_, k) => Math.fround(Math.sin(i * 7 + k * 3))));
    const w = Array.from({ length: size }, (_, k) => Array.from({ length: size }, (_, j) => Math.fround(Math.cos(k * 5 + j * 11 + k * j) / 8)));
    let expected = h;
    for (let turn = 0; turn < 5; turn++) {
      expected = expected.map((row) => w.map((_, j) => row.reduce((sum, x, k) => sum + x * (turned ? w[j][k] : w[k][j]), 0)));
    }
    const most = Math.max(...expected.flat().map(Math.abs));
    const [result] = await execute(client, program, [h, w]);
    result.forEach((row, i) => row.forEach((x, j) =>
      assert.ok(Math.abs(x - expected[i][j]) < 1e-5 * most, `[${i},${j}]: ${x}, not ${expected[i][j]}`)));
  });
}

for (const [what, options] of Object.entries({
  'few rows': { rows: 4, size: 72, turns: 9 },
  'few turns': { rows: 8, size: 72, turns: 3 },
  'a small matrix': { rows: 8, size: 64, turns: 9 },
  'a matrix of 64 MB': { rows: 8, size: 4096, turns: 9 },
  'a matrix of another turn': { rows: 8, size: 72, turns: 9, next: 'v' },
})) {
  test(`hoist-loops: no panels for ${what}`, () => assert.equal(afterPass(products(options), 'hoist-loops'), null));
}

test('names of rewrites, parts and kernels that are left out: whole names only', async () => {
  const module = client.parseHlo('ENTRY e { x = f32[3] parameter(0)\n ROOT y = f32[3] negate(x) }');
  const names = client.optionalPasses;
  assert.ok(names.some((name) => name.startsWith('kernel-')));
  for (const name of names) {
    (await client.compile(module, { disable: [name] })).dispose();
    const others = [`${name}s`, name.slice(0, -1), `x${name.slice(1)}`, `${name.slice(0, -1)}_`, name.toUpperCase(), `kernel-${name}`];
    for (const other of others.filter((one) => !names.includes(one))) {
      await assert.rejects(client.compile(module, { disable: [other] }), (error) => error.code === 'INVALID_ARGUMENT', other);
    }
  }
  module.dispose();
});

test('cumulative sums along any dimension are one loop with the operations before them', async () => {
  for (const along of [0, 1, 2]) {
    for (const backwards of [false, true]) {
      const sizes = [6, 5, 7], size = sizes.map((n, d) => (d === along ? n : 1)).join('x');
      const pad = sizes.map((n, d) => (d !== along ? '0_0' : backwards ? `0_${n - 1}` : `${n - 1}_0`)).join('x');
      const text = `${ADD}ENTRY e { x = f32[6,5,7] parameter(0)\n z = f32[] constant(0)\n n = f32[6,5,7] negate(x)
 s = f32[6,5,7] reduce-window(n, z), window={size=${size} pad=${pad}}, to_apply=add }`.replace(' s = ', ' ROOT s = ');
      const module = client.parseHlo(text), executable = await client.compile(module);
      assert.equal(executable.thunks().match(/^ *\w+ \S+/gm).filter((line) => !/arena|region/.test(line)).length, 1,
        `along ${along}: ${executable.thunks()}`);
      await agrees(client, text);
      executable.dispose();
      module.dispose();
    }
  }
});

test('hoist-loops: a matrix that is joined from invariant ones is joined once', async () => {
  const text = products({ rows: 4, size: 64, turned: false, turns: 5 })
    .replace('v = f32[64,64] sine(w)', 'p = f32[32,64] slice(w), slice={[0:32], [0:64]}\n  q = f32[32,64] slice(w), slice={[32:64], [0:64]}\n  '
      + 'v = f32[64,64] concatenate(q, p), dimensions={0}').replace('dot(h, w)', 'dot(h, v)');
  const [body] = /^body[^\n]*\n(?: .*\n)*/m.exec(afterPass(text, 'hoist-loops') ?? text);
  assert.doesNotMatch(body, /concatenate/);
  await agrees(client, text);
});

test('products of the rows of a sequence with an invariant matrix move before the loop, whole', async () => {
  for (const rows of [[], [2]]) {
    const row = `f32[${[...rows, 4]}]`, sequence = `f32[${[9, ...rows, 4]}]`, result = `f32[${[...rows, 3]}]`, sizes = [1, ...rows, 4];
    const state = `(s32[], ${result}, ${sequence}, f32[4,3])`;
    const text = `more { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(9)\n ROOT r = pred[] compare(i, n), direction=LT }
turn { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0\n h = ${result} get-tuple-element(s), index=1\n x = ${sequence} get-tuple-element(s), index=2
 w = f32[4,3] get-tuple-element(s), index=3\n zero = s32[] constant(0)\n one = s32[] constant(1)\n j = s32[] add(i, one)
 p = f32[${sizes}] dynamic-slice(x, i, ${sizes.slice(1).map(() => 'zero')}), dynamic_slice_sizes={${sizes}}\n q = ${row} reshape(p)
 d = ${result} dot(q, w), lhs_contracting_dims={${rows.length}}, rhs_contracting_dims={0}\n two = f32[] constant(0.5)\n b = ${result} broadcast(two), dimensions={}
 m = ${result} multiply(h, b)\n a = ${result} add(m, d)\n ROOT t = ${state} tuple(j, a, x, w) }
ENTRY e { x = ${sequence} parameter(0)\n w = f32[4,3] parameter(1)\n h = ${result} parameter(2)\n z = s32[] constant(0)\n t = ${state} tuple(z, h, x, w)
 l = ${state} while(t), condition=more, body=turn\n ROOT r = ${result} get-tuple-element(l), index=1 }`;
    const after = afterPass(text, 'hoist-loops');
    assert.ok(after, `${sequence}: the pass changes the program`);
    const [body] = /^turn[^\n]*\n(?: .*\n)*/m.exec(after);
    assert.doesNotMatch(body, / dot\(/, sequence);
    await agrees(client, text);
  }
});

test('a kernel that is left out is that one', async () => {
  const PROGRAMS = {
    'kernel-move': 'ROOT r = f32[64,100] transpose(x), dimensions={1,0}',
    'kernel-sort': 'ROOT r = f32[100,64] sort(x), dimensions={0}, to_apply=less',
    'kernel-topk': 'ROOT r = (f32[100,2], s32[100,2]) topk(x), k=2, largest=true',
  };
  for (const [own, body] of Object.entries(PROGRAMS)) {
    const module = client.parseHlo(`less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\nENTRY e { x = f32[100,64] parameter(0)\n ${body} }`);
    for (const name of Object.keys(PROGRAMS)) {
      const executable = await client.compile(module, { disable: [name, 'regions'] });
      assert.equal(/^ *kernel /m.test(executable.thunks()), name !== own, `${own} without ${name}: ${executable.thunks()}`);
      executable.dispose();
    }
    module.dispose();
  }
});

/** All orders of the numbers below n. */
const orders = (n) => (n ? orders(n - 1).flatMap((order) => Array.from({ length: n }, (_, at) => order.toSpliced(at, 0, n - 1))) : [[]]);

test('transposes of the operands and of the result of convolutions, in any order', async () => {
  const sizes = { x: [2, 5, 6, 3], w: [3, 2, 3, 4], c: [2, 5, 7, 4] }; // b01f, 01io, b01f
  for (const [n, of] of orders(4).entries()) {
    const next = orders(4)[(n * 7 + 5) % 24], back = of.map((_, d) => of.indexOf(d)), nextBack = next.map((_, d) => next.indexOf(d));
    const [x, w] = [back.map((d) => sizes.x[d]), nextBack.map((d) => sizes.w[d])], result = next.map((d) => sizes.c[d]);
    const text = `ENTRY e { x = f32[${x}] parameter(0)\n w = f32[${w}] parameter(1)\n t = f32[${sizes.x}] transpose(x), dimensions={${of}}\n u = f32[${sizes.w}] transpose(w), dimensions={${next}}
 c = f32[${sizes.c}] convolution(t, u), window={size=3x2 stride=1x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n ROOT r = f32[${result}] transpose(c), dimensions={${next}} }`;
    const module = client.parseHlo(text);
    assert.doesNotMatch(client.passes(module).at(-1).text, / transpose\(/, `${of}, ${next}`);
    module.dispose();
    await agrees(client, text);
  }
});

test('a slice of nothing of a slice with strides stays within the operand', async () => {
  const text = `ENTRY e { p = f32[2,5] parameter(0)
 s = f32[1,1] slice(p), slice={[1:2:2], [4:5:9]}
 ROOT r = f32[0,0] slice(s), slice={[1:1:1], [1:1:9]} }`;
  const module = client.parseHlo(text);
  const executable = await client.compile(module), printed = executable.toString();
  assert.match(printed, /slice\(p\), slice=\{\[0:0\], \[0:0\]\}/);
  client.parseHlo(printed).dispose();
  client.jvp(module).dispose();
  const huge = client.parseHlo(text.replace('[4:5:9]', '[4:5:4611686018427387904]').replace('[1:1:9]',
    '[0:1:4611686018427387904]').replace('f32[0,0]', 'f32[0,1]'));
  assert.match((await client.compile(huge)).toString(), /\[4:5:1\]|\[4:5\]/);
});

test('a transpose that keeps rows is a part of loops; one that turns rows into columns is a kernel', async () => {
  const sizes = [30, 40, 64];
  const cases = ['f32', 'f64', 'bf16'].flatMap((type) => [[type, [1, 0, 2], false], [type, [2, 1, 0], true], [type, [0, 2, 1], true]]);
  for (const [type, order, isKernel] of cases) {
    const result = `${type}[${order.map((d) => sizes[d])}]`;
    const text = `ENTRY e { x = ${type}[${sizes}] parameter(0)\n n = ${type}[${sizes}] negate(x)\n t = ${result} transpose(n), dimensions={${order}}\n ROOT r = ${result} abs(t) }`;
    const module = client.parseHlo(text), executable = await client.compile(module);
    assert.equal(/kernel t/.test(executable.thunks()), isKernel, executable.thunks());
    assert.equal(executable.thunks().match(/generated/g).length, isKernel ? 2 : 1, executable.thunks());
    executable.dispose();
    module.dispose();
    await agrees(client, text);
  }
});

test('a scatter of more elements than an index counts is no loop', async () => {
  const n = 2 ** 31 + 8, module = client.parseHlo(`HloModule m\n${ADD}
ENTRY e { x = f32[8] parameter(0)\n u = f32[] parameter(1)\n z = s32[] constant(3)\n i = s32[${n},1] broadcast(z), dimensions={}\n v = f32[${n}] broadcast(u), dimensions={}
 ROOT r = f32[8] scatter(x, i, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }`);
  const executable = await client.compile(module);
  assert.match(executable.thunks(), /eval r \[scatter\]/);
  executable.dispose();
  module.dispose();
});
