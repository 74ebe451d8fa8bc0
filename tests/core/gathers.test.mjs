/**
 * Gathers of rows of a computed table: a rule of simplify-algebra computes the rows alone. Results must have the bits of the program as
 * written, and no table is written.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';

const client = await Client.create({ threads: 0 });
after(() => client.dispose());

const ROWS = 512, DEPTH = 32;

/** Lines that compute a table of [512,32], or of [32,512], from w; the dimension that is looked up. */
const TABLES = {
  'a scale for each row': ['s8[512,32]', 0, `c = f32[512,32] convert(w)
  b = f32[512,32] broadcast(s), dimensions={0}
  t = f32[512,32] multiply(c, b)`],
  'a scale for each column': ['s8[512,32]', 0, `c = f32[512,32] convert(w)
  n = f32[32] slice(s), slice={[3:35]}
  b = f32[512,32] broadcast(n), dimensions={1}
  t = f32[512,32] divide(c, b)`],
  'blocks, a reshape before and after': ['s8[512,32]', 0, `c = f32[512,32] convert(w)
  d = f32[512,4,8] reshape(c)
  b = f32[512,4,8] broadcast(s), dimensions={0}
  e = f32[512,4,8] subtract(d, b)
  t = f32[512,32] reshape(e)`],
  'two numbers in a byte': ['u8[512,16]', 0, `m = u8[] constant(15)
  ms = u8[512,16] broadcast(m), dimensions={}
  f = u8[] constant(4)
  fs = u8[512,16] broadcast(f), dimensions={}
  lo = u8[512,16] and(w, ms)
  hi = u8[512,16] shift-right-logical(w, fs)
  both = u8[512,32] concatenate(lo, hi), dimensions={1}
  t = f32[512,32] convert(both)`],
  'words as bytes': ['u32[512,8]', 0, `c = s8[512,8,4] bitcast-convert(w)
  d = s8[512,32] reshape(c)
  t = f32[512,32] convert(d)`],
  'a transpose': ['f32[32,512]', 0, `n = f32[32,512] negate(w)
  t = f32[512,32] transpose(n), dimensions={1,0}`],
  'columns': ['s8[32,512]', 1, `c = f32[32,512] convert(w)
  b = f32[32,512] broadcast(s), dimensions={1}
  t = f32[32,512] multiply(c, b)`],
  'the middle dimension': ['s8[4,512,8]', 1, `c = f32[4,512,8] convert(w)
  b = f32[4,512,8] broadcast(s), dimensions={1}
  t = f32[4,512,8] multiply(c, b)`],
  'a row for all': ['f32[32]', 0, `b = f32[512,32] broadcast(w), dimensions={1}
  c = f32[512,32] broadcast(s), dimensions={0}
  t = f32[512,32] add(b, c)`],
  'rows that are joined': ['f32[256,32]', 0, `n = f32[256,32] negate(w)
  t = f32[512,32] concatenate(w, n), dimensions={0}`],
  'a mask that chooses': ['f32[512,32]', 0, `z = f32[] constant(0)
  zs = f32[512,32] broadcast(z), dimensions={}
  p = pred[512,32] compare(w, zs), direction=GT
  k = f32[512,32] clamp(z, w, w)
  t = f32[512,32] select(p, k, zs)`],
};

const dimsOf = (shape) => /\[(.*?)\]/.exec(shape)[1].split(',').map(Number);

/** vector: whether an index is a vector of one number. */
function text([parameter, dimension, lines], indices, { vector = false, type = 's32', product = false } = {}) {
  const table = dimsOf(/\bt = [^ ]*/.exec(lines)[0]), others = table.filter((_, d) => d !== dimension);
  const before = indices.length, result = [...indices, ...others], sizes = table.map((n, d) => (d === dimension ? 1 : n));
  return `HloModule m
ENTRY e { w = ${parameter} parameter(0)
  s = f32[${ROWS}] parameter(1)
  i = ${type}[${vector ? [...indices, 1] : indices}] parameter(2)
  ${lines}
  g = f32[${result}] gather(t, i), offset_dims={${others.map((_, k) => before + k)}}, collapsed_slice_dims={${dimension}},
    start_index_map={${dimension}}, index_vector_dim=${before}, slice_sizes={${sizes}}
  ${product ? `x = f32[1,${DEPTH}] parameter(3)
  y = f32[1,${ROWS}] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT r = (f32[${result}], f32[1,${ROWS}]) tuple(g, y)` : `ROOT r = f32[${result}] copy(g)`} }`;
}

/** Indices on both sides of each end, and small numbers. */
const value = (i, k) => (k === 2 ? [0, 511, 512, -1, 77, 300, 5][i % 7] : ((i * 7919 + k * 31) % 13) - 6 + 0.25 * (k === 1));

test('a gather of a computed table', async () => {
  for (const table of Object.values(TABLES)) {
    for (const [indices, how] of [[[1], {}], [[7], { vector: true }], [[2, 3], {}], [[2, 3], { vector: true, type: 's64' }], [[], {}]]) {
      await agrees(client, text(table, indices, how), value);
    }
  }
  const has = (source) => client.passes(client.parseHlo(source)).some((step) => step.pass === 'simplify-algebra' && !step.text.includes('gather(t,'));
  for (const [name, table] of Object.entries(TABLES)) assert.equal(has(text(table, [3])), name !== 'rows that are joined', name);
  // Tables of 4,096 elements, and of fewer; half of a table's elements, and more.
  const small = (rows) => [`s8[${rows},32]`, 0, `c = f32[${rows},32] convert(w)\n t = f32[${rows},32] negate(c)`];
  for (const [rows, indices, moves] of [[127, 3, false], [128, 3, true], [128, 64, true], [128, 65, false]]) {
    const source = text(small(rows), [indices]);
    assert.equal(has(source), moves, `${rows} ${indices}`);
    await agrees(client, source, value);
  }
});

test('a table that is read as another type, along each of its dimensions', async () => {
  const views = [['u16[2048,2,2]', 'u8', '2048,2,2,2'], ['u8[2048,2,2,2]', 'u16', '2048,2,2'], ['u16[2048,2,2]', 's16', '2048,2,2']];
  for (const [from, type, dims] of views) {
    const lines = `c = ${type}[${dims}] bitcast-convert(w)\n t = f32[${dims}] convert(c)`;
    for (const dimension of dims.split(',').keys()) {
      for (const indices of [[], [1]]) {
        await agrees(client, text([from, dimension, lines], indices), (i, k) => (k === 2 ? 1 : k === 1 ? 1 : (i * 7919) % 65521));
      }
    }
  }
});

test('a table that is also multiplied by is not written', async () => {
  for (const name of ['a scale for each row', 'a scale for each column', 'blocks, a reshape before and after', 'words as bytes']) {
    const source = text(TABLES[name], [2], { product: true });
    await agrees(client, source, (i, k) => (k === 1 ? 2 ** (i % 3) : k === 2 ? i * 100 : value(Math.floor(i), k)));
    const executable = await client.compile(client.parseHlo(source));
    assert.ok(executable.memory.temporaries < ROWS * DEPTH * 2, `${name}: ${executable.memory.temporaries} bytes`);
    executable.dispose();
  }
});

test('single numbers of packed tables', async () => {
  for (const [type, table] of Object.entries({ s4: [1, 6, -3, 0, 5, 2, 7, -8], u4: [1, 6, 11, 0, 5, 10, 15, 4], s2: [1, -2, 0, -1, 1, 0, -2, 1] })) {
    for (const size of [2, 3, 4, 8]) {
      for (const count of [1, 2, 3, 5]) {
        const executable = await client.compile(client.parseHlo(`HloModule one
ENTRY e {
  t = ${type}[${size}] parameter(0)
  i = s32[${count}] parameter(1)
  ROOT r = ${type}[${count}] gather(t, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
}`));
        const places = Array.from({ length: count }, (_, k) => (k * 3 + 1) % size);
        const [result] = await executable.execute([table.slice(0, size), [...places.slice(1), 99]]);
        assert.deepEqual([...result.data], [...places.slice(1), size - 1].map((place) => table[place]), `${type}[${size}] at ${count}`);
        executable.dispose();
      }
    }
  }
});
