/**
 * Rewrites for speed that shapes tell of, which lists of operations (native/passes.c) do not: what a pass
 * makes of a program, as HLO text, and that it still computes the same.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../bindings/index.mjs';
import { execute } from './execute.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The module's text after the last round of a pass; null if it changed nothing. */
function afterPass(text, pass) {
  const module = client.parseHlo(text);
  try {
    return client.passes(module).findLast((step) => step.pass === pass)?.text ?? null;
  } finally {
    module.dispose();
  }
}

/** Flat values as nested arrays. */
function reshaped(values, [size, ...inner]) {
  if (!inner.length) return values;
  const step = values.length / size;
  return Array.from({ length: size }, (_, i) => reshaped(values.slice(i * step, (i + 1) * step), inner));
}

/** The nearest bf16. */
function bf16(x) {
  const bits = new Uint32Array(Float32Array.of(x).buffer);
  bits[0] = (bits[0] + 0x7fff + ((bits[0] >> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0];
}

const isClose = (x, y) => Math.abs(x - y) <= 1e-5 * (1 + Math.abs(y));

const wave = (count, phase) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.7 + phase));


const ADD = 'add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n';

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
  'a product of which all is used': `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
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

/* ---- Fusions of the same operands ---- */

/** The operations of a computation by name, in order, without what is nothing: [opcode, shape]. */
const operationsOf = (text, name = 'ENTRY') => {
  const [, body] = text.match(new RegExp(`^${name}[^\\n]*\\{\\n((?:  .*\\n)*)\\}`, 'm'));
  return [...body.matchAll(/= (\(.*?\)|\S+) ([a-z-]+)\(/g)].map(([, shape, opcode]) => [opcode, shape]);
};
const fusions = (text, name) => operationsOf(text, name).filter(([opcode]) => opcode === 'fusion').length;

const SIBLINGS = {
  'results of the same operands': {
    entry: `a = f32[64,40] add(x, y)
      b = f32[64,40] multiply(x, y)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 1,
    wants: (x, y) => [x + y, x * y],
  },
  'one that reads the other': {
    entry: `a = f32[64,40] tanh(x)
      b = f32[64,40] multiply(a, y)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 1,
    wants: (x, y) => [Math.tanh(x), Math.tanh(x) * y],
  },
  'a result that only the other reads, in several ways': {
    entry: `a = f32[64,40] tanh(x)
      n = f32[64,40] negate(a)
      c = f32[64,40] exponential(n)
      d = f32[64,40] exponential(a)
      b = f32[64,40] multiply(c, y)
      e = f32[64,40] subtract(d, y)
      ROOT r = (f32[64,40], f32[64,40]) tuple(b, e)`,
    wants: (x, y) => [Math.exp(-Math.tanh(x)) * y, Math.exp(Math.tanh(x)) - y],
  },
  'a sort between them, which waits for one': {
    entry: `a = f32[64,40] add(x, y)
      s = f32[64,40] sort(a), dimensions={1}, to_apply=less
      b = f32[64,40] subtract(x, s)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 2,
  },
  'one that reads the other turned round': {
    entry: `a = f32[64,40] tanh(x)
      v = f32[64,40] reverse(a), dimensions={1}
      b = f32[64,40] multiply(v, a)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 2,
  },
  'other shapes': {
    entry: `a = f32[64,40] add(x, y)
      t = f32[40,64] transpose(x), dimensions={1,0}
      u = f32[40,64] transpose(y), dimensions={1,0}
      b = f32[40,64] multiply(t, u)
      ROOT r = (f32[64,40], f32[40,64]) tuple(a, b)`,
  },
};
const LESS = 'less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT\n}\n';
const pair = (entry) =>
  `HloModule m\n${LESS}ENTRY e {\n  x = f32[64,40] parameter(0)\n  y = f32[64,40] parameter(1)\n  ${entry}\n}`;

for (const [name, { entry, loops, wants }] of Object.entries(SIBLINGS)) {
  test(`fuse-siblings: ${name}`, async () => {
    const text = pair(entry);
    const module = client.parseHlo(text);
    const last = client.passes(module).at(-1).text;
    module.dispose();
    if (loops) assert.equal(fusions(last), loops, last);
    const [x, y] = [wave(64 * 40, 0), wave(64 * 40, 1)];
    const results = await execute(client, text, [x, y]);
    if (!wants) return;
    results.forEach((rows, r) => rows.flat().forEach((value, i) =>
      assert.ok(isClose(value, wants(x[i], y[i])[r]), `${value} of result ${r} at ${i}`)));
  });
}

test('fuse-siblings: what two results read as bits is not written over between them', async () => {
  for (const type of ['f16', 'bf16', 'f8e5m2', 'f32']) {
    const [x, y] = await execute(client, `HloModule m\nENTRY e {
      p = ${type}[4] parameter(0)
      a = ${type}[2] slice(p), slice={[2:4]}
      n = ${type}[2] multiply(a, a)
      b = ${type}[2] slice(p), slice={[0:2]}
      c = ${type}[4,1] reshape(p)
      h = ${type}[2] negate(n)
      k = ${type}[4] concatenate(h, b), dimensions={0}
      q = ${type}[4] sort(k), dimensions={0}, to_apply=less
      s = ${type}[4] add(q, p)
      t = ${type}[4] add(p, q)
      ROOT r = (${type}[4], ${type}[4]) tuple(t, s)\n}`.replace('ENTRY', `less {
      a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT\n}\nENTRY`), [[1, 2, 4, 3]]);
    if (!type.startsWith('f8')) assert.deepEqual(x, [-15, -7, 5, 5]);
    assert.deepEqual(y, x);
  }
});

test('fuse-siblings: a loop\'s state is still updated in place', () => {
  const text = `HloModule m
more {
  s = (s32[], f32[1000], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)
  ROOT r = pred[] compare(i, n), direction=LT
}
turn {
  s = (s32[], f32[1000], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1000] get-tuple-element(s), index=1
  v = f32[1000] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[1000] add(x, v)
  w = f32[1000] subtract(v, x)
  ROOT r = (s32[], f32[1000], f32[1000]) tuple(j, y, w)
}
ENTRY e {
  x = f32[1000] parameter(0)
  v = f32[1000] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[1000], f32[1000]) tuple(zero, x, v)
  ROOT w = (s32[], f32[1000], f32[1000]) while(t), condition=more, body=turn
}`;
  const module = client.parseHlo(text);
  return client.compile(module).then(async (executable) => {
    const turn = executable.thunks().split('body')[1];
    assert.equal(turn.match(/generated/g).length, 2, turn);
    assert.doesNotMatch(turn, /copy/);
    const [, x, v] = await executable.execute([wave(1000, 0), wave(1000, 1)]);
    let [a, b] = [wave(1000, 0), wave(1000, 1)];
    for (let i = 0; i < 20; i++) [a, b] = [a.map((p, k) => p + b[k]), b.map((q, k) => q - a[k])];
    x.toArray().forEach((value, i) => assert.ok(isClose(value, a[i]), `${value} at ${i}, not ${a[i]}`));
    v.toArray().forEach((value, i) => assert.ok(isClose(value, b[i])));
    executable.dispose();
    module.dispose();
  });
});

/* ---- Dynamic slices, read where they are ---- */

/** What is computed of x f32[20,30] from the starts i and j; and element (r, c) of the result, from x's `at`. */
const SLICED = {
  'before what is element-wise': ['5,7', `d = f32[5,7] dynamic-slice(x, i, j), dynamic_slice_sizes={5,7}
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
  'of what is reshaped': ['5,7', `f = f32[600] reshape(x)
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

test('fuse-loops: a dynamic slice of what the same turn updates is taken before', async () => {
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

/** What dot is defined as: in the order of the result's elements. */
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

/* ---- What loops carry ---- */

/** A loop over the elements of `state` from `init` on: [its shape, what it begins as, a turn's lines]. */
const loop = (elements, turn, read) => {
  const shape = `(${elements.map(([type]) => type)})`;
  const parts = elements.map(([type], i) => `  p${i} = ${type} get-tuple-element(s), index=${i}\n`).join('');
  const next = elements.map((_, i) => `n${i}`);
  return `HloModule m
more {
  s = ${shape} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(30)
  ROOT r = pred[] compare(i, n), direction=LT
}
turn {
  s = ${shape} parameter(0)
${parts}  one = s32[] constant(1)
  n0 = s32[] add(p0, one)
${turn}
  ROOT r = ${shape} tuple(${next})
}
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  t = ${shape} tuple(${elements.map(([, init]) => init)})
  w = ${shape} while(t), condition=more, body=turn
${read}
}`;
};
const stateOf = (text) => text.match(/(\S+|\(.*?\)) while\(/)?.[1].replace(/\{[\d,]*\}|\/\*.*?\*\//g, '');

test('loop-state: what only feeds itself goes, with what makes it', async () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x'], ['f32[4]', 'x'], ['f32[4]', 'x']],
    '  n1 = f32[4] cosine(p1)\n  n2 = f32[4] add(p2, p1)\n  n3 = f32[4] multiply(p3, p2)',
    '  ROOT r = f32[4] get-tuple-element(w), index=1');
  assert.equal(stateOf(afterPass(text, 'loop-state')), '(s32[], f32[4])');
  const [r] = await execute(client, text, [[0.1, 0.2, 0.3, 0.4]]);
  r.forEach((value) => assert.ok(isClose(value, 0.7390851), `${value}`));
});

test('loop-state: what another one needs stays, and so does what the condition reads', async () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x'], ['f32[4]', 'x']],
    '  n1 = f32[4] cosine(p1)\n  n2 = f32[4] add(p2, p1)', '  ROOT r = f32[4] get-tuple-element(w), index=2');
  assert.equal(afterPass(text, 'loop-state'), null);
  const wanted = [0.1, 0.2, 0.3, 0.4].map((x) => {
    let [a, sum] = [x, x];
    for (let i = 0; i < 30; i++) [a, sum] = [Math.cos(a), sum + a];
    return sum;
  });
  const [r] = await execute(client, text, [[0.1, 0.2, 0.3, 0.4]]);
  r.forEach((value, i) => assert.ok(isClose(value, wanted[i])));
});

test('loop-state: of two counters one goes', async () => {
  const text = loop([['s32[]', 'zero'], ['s32[]', 'zero'], ['s32[]', 'zero']],
    '  n1 = s32[] add(p1, one)\n  n2 = s32[] add(p2, p1)', '  ROOT r = s32[] get-tuple-element(w), index=2');
  assert.equal(stateOf(afterPass(text, 'loop-state')), '(s32[], s32[])');
  assert.deepEqual(await execute(client, text, [[0, 0, 0, 0]]), [435]);
});

test('loop-state: what a loop passes on is what it was before', async () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x'], ['f32[4]', 'x']], '  n1 = f32[4] copy(p1)\n  n2 = f32[4] cosine(p2)',
    `  a = f32[4] get-tuple-element(w), index=1
  i = s32[] get-tuple-element(w), index=0
  c = f32[] convert(i)
  b = f32[4] broadcast(c), dimensions={}
  ROOT r = f32[4] add(a, b)`);
  assert.equal(stateOf(afterPass(text, 'loop-state')), '(s32[])');
  assert.deepEqual(await execute(client, text, [[1, 2, 3, 4]]), [[31, 32, 33, 34]]);
});

test('loop-state: a loop of which all is a result stays as it is', () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x']], '  n1 = f32[4] cosine(p1)',
    '  ROOT r = (s32[], f32[4]) tuple(i, a)').replace('  ROOT r = (s32[], f32[4]) tuple',
    '  i = s32[] get-tuple-element(w), index=0\n  a = f32[4] get-tuple-element(w), index=1\n  ROOT r = (s32[], f32[4]) tuple');
  assert.equal(afterPass(text, 'loop-state'), null);
});

test('common-subexpressions: reductions by computations that say the same are one', async () => {
  const text = `HloModule m
${ADD}${ADD.replace(/add \{/, 'also {')}ENTRY e {
  x = f32[8] parameter(0)
  z = f32[] constant(0)
  a = f32[] reduce(x, z), dimensions={0}, to_apply=add
  b = f32[] reduce(x, z), dimensions={0}, to_apply=also
  ROOT r = f32[] multiply(a, b)
}`;
  assert.equal(operationsOf(afterPass(text, 'dead-code')).filter(([op]) => op === 'reduce').length, 1);
  assert.deepEqual(await execute(client, text, [[1, 2, 3, 4, 5, 6, 7, 8]]), [36 * 36]);
});

const BRANCHES = `HloModule m
yes {
  s = (f32[8], f32[8], f32[8]) parameter(0)
  x = f32[8] get-tuple-element(s), index=0
  y = f32[8] get-tuple-element(s), index=2
  a = f32[8] add(x, y)
  b = f32[8] exponential(y)
  ROOT r = (f32[8], f32[8], f32[8]) tuple(b, a, x)
}
no {
  s = (f32[8], f32[8]) parameter(0)
  x = f32[8] get-tuple-element(s), index=0
  y = f32[8] get-tuple-element(s), index=1
  a = f32[8] sine(y)
  ROOT r = (f32[8], f32[8], f32[8]) tuple(a, x, x)
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[8] parameter(1)
  y = f32[8] parameter(2)
  l = f32[8] log(x)
  t = (f32[8], f32[8], f32[8]) tuple(x, l, y)
  f = (f32[8], f32[8]) tuple(x, y)
  c = (f32[8], f32[8], f32[8]) conditional(p, t, f), true_computation=yes, false_computation=no
  ROOT e = f32[8] get-tuple-element(c), index=1
}`;

test('branch-state: results that nobody reads go, with what makes them, and what they were given', async () => {
  const module = client.parseHlo(BRANCHES), after = client.passes(module).at(-1).text;
  module.dispose();
  assert.doesNotMatch(after, /exponential|sine|log\(/, after);
  assert.match(after, /= \(f32\[8\]\{0\}\) conditional\(/, after);
  const x = wave(8, 0), y = wave(8, 1);
  for (const p of [true, false]) {
    const [got] = await execute(client, BRANCHES, [p, x, y]);
    got.forEach((value, i) => assert.ok(isClose(value, p ? x[i] + y[i] : x[i])));
  }
});

test('branch-state: a branch in a branch, and one that two conditionals share, which stays', async () => {
  const nested = BRANCHES.replace('ENTRY e {', `outer {
    s = (pred[], (f32[8], f32[8], f32[8]), (f32[8], f32[8])) parameter(0)
    p = pred[] get-tuple-element(s), index=0
    t = (f32[8], f32[8], f32[8]) get-tuple-element(s), index=1
    f = (f32[8], f32[8]) get-tuple-element(s), index=2
    ROOT c = (f32[8], f32[8], f32[8]) conditional(p, t, f), true_computation=yes, false_computation=no
  }
  same {
    s = (f32[8], f32[8], f32[8]) parameter(0)
    ROOT r = (f32[8], f32[8], f32[8]) copy(s)
  }
  ENTRY e {`).replace('c = (f32[8], f32[8], f32[8]) conditional(p, t, f), true_computation=yes, false_computation=no\n  ROOT e', `
    q = pred[] parameter(3)
    o = (pred[], (f32[8], f32[8], f32[8]), (f32[8], f32[8])) tuple(p, t, f)
    c = (f32[8], f32[8], f32[8]) conditional(q, o, t), true_computation=outer, false_computation=same
    ROOT e`);
  const module = client.parseHlo(nested), after = client.passes(module).at(-1).text;
  module.dispose();
  assert.doesNotMatch(after, /exponential|sine/, after);
  const x = wave(8, 0).map((v) => Math.abs(v) + 1), y = wave(8, 1);
  for (const [p, q] of [[true, true], [false, true], [true, false]]) {
    const [got] = await execute(client, nested, [p, x, y, q]);
    got.forEach((value, i) => assert.ok(isClose(value, !q ? Math.log(x[i]) : p ? x[i] + y[i] : x[i])));
  }
  const shared = BRANCHES.replace('true_computation=yes, false_computation=no', 'true_computation=yes, false_computation=yes')
    .replace('conditional(p, t, f)', 'conditional(p, t, t)');
  const [got] = await execute(client, shared, [true, x, y]);
  got.forEach((value, i) => assert.ok(isClose(value, x[i] + y[i])));
});

test('common-subexpressions: what calls computations that say the same is the same', async () => {
  const less = (name) => `${name} {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT\n}\n`;
  const body = (name, by) => `${name} {\n s = (s32[], f32[50]) parameter(0)\n i = s32[] get-tuple-element(s), index=0
    x = f32[50] get-tuple-element(s), index=1\n k = s32[] constant(${by})\n j = s32[] add(i, k)\n y = f32[50] sine(x)
    ROOT r = (s32[], f32[50]) tuple(j, y)\n}\n`;
  const more = (name) => `${name} {\n s = (s32[], f32[50]) parameter(0)\n i = s32[] get-tuple-element(s), index=0
    n = s32[] constant(40)\n ROOT c = pred[] compare(i, n), direction=LT\n}\n`;
  const called = (name) => `${name} {\n x = f32[50] parameter(0)\n n = f32[50] cosine(x)\n ROOT r = f32[50] multiply(n, x)\n}\n`;
  const text = (by) => `HloModule m\n${less('l1')}${less('l2')}${body('b1', 1)}${body('b2', by)}${more('m1')}${more('m2')}${called('c1')}${called('c2')}ENTRY e {
    x = f32[50] parameter(0)
    p = f32[50] sort(x), dimensions={0}, to_apply=l1
    q = f32[50] sort(x), dimensions={0}, to_apply=l2
    z = s32[] constant(0)
    t = (s32[], f32[50]) tuple(z, x)
    v = (s32[], f32[50]) while(t), condition=m1, body=b1
    w = (s32[], f32[50]) while(t), condition=m2, body=b2
    f = f32[50] get-tuple-element(v), index=1
    g = f32[50] get-tuple-element(w), index=1
    h = f32[50] call(x), to_apply=c1
    k = f32[50] call(x), to_apply=c2
    d = f32[50] divide(f, g)
    ROOT r = (f32[50], f32[50], f32[50], f32[50], f32[50]) tuple(p, q, d, h, k)\n}`;
  const last = (program) => {
    const module = client.parseHlo(program), after = client.passes(module).at(-1).text;
    module.dispose();
    return after.slice(after.indexOf('ENTRY'));
  };
  assert.deepEqual([/ sort\(/g, / while\(/g].map((x) => last(text(1)).match(x).length), [1, 1], last(text(1)));
  assert.equal(last(text(1)).match(/ cosine|fusion\(x/g)?.length ?? 0, 1, last(text(1)));
  assert.equal(last(text(2)).match(/ while\(/g).length, 2);
  const x = wave(50, 0), [p, q, d, h, k] = await execute(client, text(1), [x]);
  assert.deepEqual(p, [...x].sort((a, b) => a - b));
  assert.deepEqual(q, p);
  assert.deepEqual(h, k);
  d.forEach((value, i) => assert.ok(x[i] === 0 || value === 1));
});

/** A loop of 40 turns, from `first` on by `step`, whose body makes y s32[] of its counter i, and adds it up. */
const counting = (first, step, made, end = first + 40 * step) => `HloModule m
more {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${end})
  ROOT c = pred[] compare(i, n), direction=LT
}
turn {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  u = s32[] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  n = s32[] constant(${Math.max(end, 1)})
  k = s32[] constant(${step})
  ${made}
  p = s32[] multiply(t, k)
  q = s32[] add(p, y)
  j = s32[] add(i, k)
  ROOT r = (s32[], s32[], s32[]) tuple(j, q, u)
}
ENTRY e {
  i = s32[] constant(${first})
  t = s32[] parameter(0)
  u = s32[] parameter(1)
  s = (s32[], s32[], s32[]) tuple(i, t, u)
  w = (s32[], s32[], s32[]) while(s), condition=more, body=turn
  ROOT r = s32[] get-tuple-element(w), index=1
}`;
const FROM_END = 'l = pred[] compare(i, zero), direction=LT\n m = s32[] add(i, n)\n y = s32[] select(l, m, i)';
const COUNTED = {
  'an index that may count from the end': [0, 1, FROM_END, /select|compare\(get/, (i) => i],
  'one that begins below 0, which stays': [-3, 1, FROM_END, null, (i, n) => (i < 0 ? i + n : i)],
  'a clamp': [2, 3, 'y = s32[] clamp(zero, i, n)', /clamp/, (i) => i],
  'a clamp at which the last turn arrives, which stays': [2, 3, 'm = s32[] constant(118)\n y = s32[] clamp(zero, i, m)', null, (i) => Math.min(i, 118)],
  'bounds, of an expression': [1, 2, `d = s32[] constant(4)
    a = s32[] multiply(i, d)\n b = s32[] subtract(a, d)\n c = s32[] maximum(b, zero)
    h = s32[] constant(316)\n y = s32[] minimum(c, h)`, /maximum|minimum/, (i) => 4 * i - 4],
  'a remainder, and what is made of it': [0, 1, `f = s32[] constant(7)
    a = s32[] remainder(i, n)\n b = s32[] remainder(i, f)
    l = pred[] compare(b, zero), direction=LT\n o = pred[] compare(u, zero), direction=NE
    g = pred[] and(l, o)\n m = s32[] add(b, f)\n e = s32[] select(g, m, b)\n y = s32[] add(a, e)`, /select| and\(/, (i) => i + (i % 7)],
};
for (const [name, [first, step, made, gone, y]] of Object.entries(COUNTED)) {
  test(`counters: ${name}`, async () => {
    const text = counting(first, step, made), end = first + 40 * step;
    const module = client.parseHlo(text), after = client.passes(module).at(-1).text;
    module.dispose();
    if (gone) assert.doesNotMatch(after, gone);
    else assert.match(after, /select|clamp|minimum/);
    let total = 5;
    for (let i = first; i < end; i += step) total = (Math.imul(total, step) + y(i, Math.max(end, 1))) | 0;
    assert.deepEqual(await execute(client, text, [5, 1]), [total]);
  });
}

test('counters: of a body that another loop has, too, nothing is known', async () => {
  const text = counting(0, 1, FROM_END).replace('ROOT r = s32[] get', `h = s32[] constant(-2)
  v = (s32[], s32[], s32[]) tuple(h, t, u)
  x = (s32[], s32[], s32[]) while(v), condition=more, body=turn
  a = s32[] get-tuple-element(x), index=1
  b = s32[] get-tuple-element(w), index=1
  ROOT r = s32[] subtract(a, b)\n  unused = s32[] get`);
  assert.deepEqual(await execute(client, text, [0, 1]), [38 + 39]);
});

test('logistic: what XLA:CPU makes of it is found, unless its parts are wanted, too', async () => {
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

/** Mean and mean square, as normalisations want them: over dimension `d`, of `type`. */
const moments = (type, dims, d, more = '') => {
  const left = dims.filter((_, i) => i !== d), a = `${type}[${dims}]`, r = `${type}[${left}]`;
  return `HloModule m
add { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] add(a, b) }
mul { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] multiply(a, b) }
ENTRY e { x = ${a} parameter(0)\n z = ${type}[] constant(2)\n o = ${type}[] constant(1)
  s = ${r} reduce(x, z), dimensions={${d}}, to_apply=add
  ${more || `n = ${a} negate(x)\n y = ${a} multiply(x, n)`}
  q = ${r} reduce(y, z), dimensions={${d}}, to_apply=add
  p = ${r} reduce(x, o), dimensions={${d}}, to_apply=mul
  ROOT t = (${r}, ${r}, ${r}) tuple(s, q, p) }`;
};
for (const type of ['f32', 'f64', 's32', 'bf16', 's64']) {
  for (const [dims, d] of [[[5, 67], 1], [[67, 5], 0], [[3, 40, 2], 1], [[200, 33], 0], [[7, 3], 1]]) {
    test(`sums of one array, ${type}[${dims}] over ${d}, are one reduction`, async () => {
      const text = moments(type, dims, d), wide = type === 's64';
      assert.match(afterPass(text, 'fuse-siblings'), /reduce\([^)]*\), dimensions=\{\d\}, to_apply=/);
      assert.match(afterPass(text, 'fuse-siblings'), /= \(\w+\[[\d,]+\]\S*, \w+\[[\d,]+\]\S*, \w+\[[\d,]+\]\S*\) reduce\(/);
      const count = dims.reduce((n, size) => n * size), inner = dims.slice(d + 1).reduce((n, size) => n * size, 1);
      const values = Array.from({ length: count }, (_, i) => (i % 7 === 3 ? -1 : 1));
      const data = wide ? BigInt64Array.from(values, BigInt) : values;
      const got = (await execute(client, text, [data.length ? reshaped(Array.from(data), dims) : data]))
        .map((result) => result.flat(3).map(Number));
      for (let r = 0; r < count / dims[d]; r++) {
        const all = Array.from({ length: dims[d] }, (_, k) =>
          values[Math.floor(r / inner) * inner * dims[d] + k * inner + (r % inner)]);
        const wanted = [2 + all.reduce((a, b) => a + b, 0), 2 - all.length, all.reduce((a, b) => a * b, 1)];
        assert.deepEqual(got.map((result) => result[r]), wanted.map((x) => (type === 'bf16' ? bf16(x) : x)));
      }
    });
  }
}

/** What is written and rows of it are reduced: [type, dimensions, reduced, what combines]. */
const WRITTEN = [
  ['f32', [40, 301], [1], ['add']], ['f32', [40, 304], [1], ['maximum']], ['f64', [20, 3, 301], [2], ['add', 'add']],
  ['bf16', [90, 7, 40], [1, 2], ['add', 'multiply']], ['s32', [31, 17, 40], [0, 2], ['add']],
  ['f16', [90, 203], [1], ['maximum']], ['s64', [40, 301], [1], ['minimum']],
];
for (const [type, dims, reduced, operations] of WRITTEN) {
  test(`fuse-siblings: ${type}[${dims}] is written and reduced (${operations}) in one loop`, async () => {
    const a = `${type}[${dims}]`, r = `${type}[${dims.filter((_, d) => !reduced.includes(d))}]`;
    const text = `HloModule m
${operations.map((operation, i) => `f${i} { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${operation}(a, b) }`).join('\n')}
ENTRY e { x = ${a} parameter(0)\n y = ${a} parameter(1)\n z = ${type}[] constant(1)
  w = ${a} multiply(x, y)\n n = ${a} negate(w)
${operations.map((_, i) => `  q${i} = ${r} reduce(${'wn'[i]}, z), dimensions={${reduced}}, to_apply=f${i}`).join('\n')}
  ROOT t = (${a}${`, ${r}`.repeat(operations.length)}) tuple(w${operations.map((_, i) => `, q${i}`).join('')}) }`;
    const last = afterPass(text, 'fuse-siblings');
    assert.equal(fusions(last), 1, last);
    assert.match(last, /ROOT \S+ = \([^)]*\) tuple\([^)]*\)\n\}/);
    const count = dims.reduce((n, size) => n * size);
    const values = [3, 5].map((by) => Array.from({ length: count }, (_, i) => (i * by % 11 === 0 ? -1 : 1)));
    const as = { s64: (v) => BigInt(v) }[type] ?? Number;
    const flat = (nested) => nested.flat(3).map(Number);
    const [w, ...sums] = (await execute(client, text, values.map((list) => reshaped(list.map(as), dims)))).map(flat);
    const wanted = values[0].map((v, i) => v * values[1][i]), totals = operations.map(() => []);
    assert.deepEqual(w, wanted);
    wanted.forEach((v, i) => {
      const at = dims.reduceRight(([rest, index, stride], size, d) => (reduced.includes(d)
        ? [Math.floor(rest / size), index, stride]
        : [Math.floor(rest / size), index + (rest % size) * stride, stride * size]), [i, 0, 1])[1];
      operations.forEach((operation, k) => {
        const f = { add: (p, q) => p + q, multiply: (p, q) => p * q, maximum: Math.max, minimum: Math.min }[operation];
        totals[k][at] = f(totals[k][at] ?? 1, k ? -v : v);
      });
    });
    assert.deepEqual(sums, totals.map((list) => (type === 'bf16' ? list.map(bf16) : list)));
  });
}

test('a sum of what another sum is part of stays apart', async () => {
  const text = moments('f32', [4, 8], 1, `b = f32[4,8] broadcast(s), dimensions={0}
  y = f32[4,8] subtract(x, b)`);
  const x = Array.from({ length: 4 }, (_, r) => Array.from({ length: 8 }, (__, c) => r + c));
  const [s, q] = await execute(client, text, [x]);
  x.forEach((row, r) => {
    const sum = 2 + row.reduce((a, b) => a + b);
    assert.deepEqual([s[r], q[r]], [sum, 2 + row.reduce((a, b) => a + b) - 8 * sum]);
  });
});

/** Turns of h = h W, or h times W turned; and what is W in the next turn. */
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
