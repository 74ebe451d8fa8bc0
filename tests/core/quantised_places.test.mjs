/**
 * Products with matrices in few bytes whose depth lies between other dimensions, that several products read, or that are stored
 * as another type. No array of the matrix's size is written. Sums are exact in any order.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees, whole } from '../support/as_written.mjs';

const client = await Client.create({ threads: 0 });
after(() => client.dispose());

const value = (i, k, type) => (k === 2 && type === 'f32' ? 2 ** (i % 3) : whole(i, k));

async function check(source, most, of = value) {
  await agrees(client, source, of);
  const executable = await client.compile(client.parseHlo(source));
  const { temporaries } = executable.memory, steps = executable.thunks().length;
  executable.dispose();
  assert.ok(temporaries < most, `${temporaries} bytes\n${source}`);
  return steps;
}

/** Weights of [heads, depth, size], as in Gemma: the product has the heads before or after the vectors. */
function between(type, vectors, heads, depth, size, { scale = '0,2', first = false, turned = false } = {}) {
  const dims = turned ? [heads, size, depth] : [heads, depth, size], k = turned ? 2 : 1, of = scale.split(',').filter(Boolean);
  const result = first ? [heads, size, vectors] : [vectors, heads, size];
  return `HloModule m
ENTRY e { x = f32[${vectors},${depth}] parameter(0)
  w = ${type}[${dims}] parameter(1)
  s = f32[${of.map((d) => dims[d])}] parameter(2)
  c = f32[${dims}] convert(w)
  b = f32[${dims}] broadcast(s), dimensions={${scale}}
  m = f32[${dims}] multiply(c, b)
  ROOT r = f32[${result}] dot(${first ? `m, x), lhs_contracting_dims={${k}}, rhs_contracting_dims={1}`
    : `x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${k}}`} }`;
}

test('weights whose depth lies between other dimensions', async () => {
  for (const type of ['s8', 's4', 'bf16', 'f8e4m3fn']) {
    for (const scale of ['', '0', '0,2', '2', '1']) {
      await check(between(type, 1, 6, 160, 64, { scale }), 6 * 160 * 64);
      await check(between(type, 3, 6, 160, 64, { scale, first: true }), 6 * 160 * 64);
    }
  }
  for (const vectors of [1, 2, 20, 21, 40]) {
    for (const size of [1, 15, 16, 17, 33]) {
      for (const first of [false, true]) {
        await check(between('s8', vectors, 5, 96, size, { first }), Infinity);
        await check(between('s4', vectors, 5, 96, size, { first, turned: true, scale: '0,1' }), Infinity);
      }
    }
  }
  // A batch beside, and weights of two outer dimensions.
  for (const vectors of [1, 4, 21]) {
    await check(`HloModule m
ENTRY e { x = f32[3,${vectors},40] parameter(0)
  w = s8[3,4,40,48] parameter(1)
  m = f32[3,4,40,48] convert(w)
  ROOT r = f32[3,${vectors},4,48] dot(x, m), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2} }`, Infinity);
    await check(`HloModule m
ENTRY e { x = f32[${vectors},40] parameter(0)
  w = s8[3,40,5,48] parameter(1)
  m = f32[3,40,5,48] convert(w)
  ROOT r = f32[${vectors},3,5,48] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`, Infinity);
  }
});

const DEPTH = 64, COLUMNS = 256, MATRIX = DEPTH * COLUMNS;
const DEQUANTISED = `x = f32[1,${DEPTH}] parameter(0)
  w = s8[${DEPTH},${COLUMNS}] parameter(1)
  s = f32[${COLUMNS}] parameter(2)
  c = f32[${DEPTH},${COLUMNS}] convert(w)
  b = f32[${DEPTH},${COLUMNS}] broadcast(s), dimensions={1}
  m = f32[${DEPTH},${COLUMNS}] multiply(c, b)`;

test('a matrix that several products read', async () => {
  await check(`HloModule m
ENTRY e { ${DEQUANTISED}
  y = f32[1,${COLUMNS}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[1,${COLUMNS}] negate(y)
  z = f32[1,${DEPTH}] dot(h, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT r = (f32[1,${COLUMNS}], f32[1,${DEPTH}]) tuple(y, z) }`, MATRIX);
  const parts = [[0, 128], [128, 192], [192, 256]];
  await check(`HloModule m
ENTRY e { ${DEQUANTISED}
  ${parts.map(([a, b], i) => `m${i} = f32[${DEPTH},${b - a}] slice(m), slice={[0:${DEPTH}], [${a}:${b}]}
  y${i} = f32[1,${b - a}] dot(x, m${i}), lhs_contracting_dims={1}, rhs_contracting_dims={0}`).join('\n  ')}
  ROOT r = (${parts.map(([a, b]) => `f32[1,${b - a}]`)}) tuple(y0, y1, y2) }`, MATRIX);
  // One that is also a result is written once.
  await check(`HloModule m
ENTRY e { ${DEQUANTISED}
  y = f32[1,${COLUMNS}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[1,${COLUMNS}], f32[${DEPTH},${COLUMNS}]) tuple(y, m) }`, Infinity);
});

test('numbers that are stored as another type', async () => {
  const words = { s8: 'u8', u8: 's8', f8e4m3fn: 'u8', f8e5m2: 's8', bf16: 'u16', f16: 's16', f32: 'u32' };
  for (const [type, stored] of Object.entries(words)) {
    for (const rest of ['m = f32[64,256] copy(c)', 'a = f32[64,256] broadcast(s), dimensions={1}\n m = f32[64,256] multiply(c, a)']) {
      await check(`HloModule m
ENTRY e { x = f32[1,64] parameter(0)
  w = ${stored}[64,256] parameter(1)
  s = f32[256] parameter(2)
  v = ${type}[64,256] bitcast-convert(w)
  c = f32[64,256] convert(v)
  ${rest}
  ROOT r = f32[1,256] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`, type === 'f32' ? Infinity : MATRIX, (i, k, t) => (k === 1 ? i % 7 : value(i, k, t)));
    }
  }
  // bf16 as f32's upper half.
  await check(`HloModule m
ENTRY e { x = f32[1,64] parameter(0)
  w = u16[64,256] parameter(1)
  c = u32[64,256] convert(w)
  n = u32[] constant(16)
  b = u32[64,256] broadcast(n), dimensions={}
  h = u32[64,256] shift-left(c, b)
  m = f32[64,256] bitcast-convert(h)
  ROOT r = f32[1,256] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`, MATRIX, (i, k) => (k ? 0x3f80 + 0x80 * (i % 3) : whole(i)));
  // A view of an array that a loop also reads as it is.
  await check(`HloModule m
ENTRY e { w = u32[64,256] parameter(0)
  v = f32[64,256] bitcast-convert(w)
  a = f32[64,256] abs(v)
  one = u32[] constant(1)
  ones = u32[64,256] broadcast(one), dimensions={}
  b = u32[64,256] add(w, ones)
  ROOT r = (f32[64,256], u32[64,256], f32[64,256]) tuple(a, b, v) }`, Infinity, (i) => 0x40000000 + i);
});

/** A product of integers, which are converted to s32 before if `wide`. */
const integers = ([a, b], [vectors, depth, columns], wide, turned = false, result = 's32') => `HloModule m
ENTRY e { x = ${a}[${vectors},${depth}] parameter(0)
  w = ${b}[${turned ? [columns, depth] : [depth, columns]}] parameter(1)
  p = ${wide ? 's32' : a}[${vectors},${depth}] convert(x)
  q = ${wide ? 's32' : b}[${turned ? [columns, depth] : [depth, columns]}] convert(w)
  ROOT r = ${result}[${vectors},${columns}] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;

test('products of integers of 4 and 8 bits', async () => {
  const range = { s8: [-128, 127], u8: [0, 255], s4: [-8, 7], u4: [0, 15], s2: [-2, 1], s32: [-(2 ** 30), 2 ** 30] };
  const all = (i, k, type) => range[type][0] + ((i * 7919 + k * 31) % (range[type][1] - range[type][0] + 1));
  const largest = (i, k, type) => range[type][i % 3 ? 1 : 0];
  for (const types of [['s8', 's4'], ['u8', 'u4'], ['s4', 's8'], ['s4', 'u4'], ['s8', 's8'], ['u8', 's8'], ['s32', 's8'], ['s32', 's4'], ['s8', 's2']]) {
    for (const [vectors, turned] of [[1, false], [1, true], [20, false], [21, true]]) {
      for (const wide of types[0] === 's32' ? [true] : [false, true]) {
        await agrees(client, integers(types, [vectors, 96, 80], wide, turned), all);
        await agrees(client, integers(types, [vectors, 96, 80], wide, turned), largest);
      }
      if (types[0] !== 's32') await agrees(client, integers(types, [vectors, 96, 80], false, turned, 'u32'), all); // negative sums wrap
    }
    const bytes = await client.compile(client.parseHlo(integers(types, [1, 512, 384], true)));
    assert.ok(bytes.memory.temporaries < 512 * 384 * 1.2, `${types}: ${bytes.memory.temporaries} bytes`);
  }
  // Sums of 2^24, which f32 has, and above: 128 * 8 * 16,384.
  for (const depth of [16383, 16384, 16385, 20000]) {
    await agrees(client, integers(['s8', 's4'], [1, depth, 3], true), (i, k, type) => range[type][0]);
    await agrees(client, integers(['s8', 's4'], [1, depth, 3], true), (i, k, type) => range[type][0] + (i === 7));
  }
  const steps = (shape) => client.passes(client.parseHlo(integers(['s8', 's4'], shape, true))).find(({ pass }) => pass === 'integer-products').text;
  for (const [shape, inFloats] of [[[20, 64, 96], true], [[21, 64, 96], false], [[1, 16384, 3], true], [[1, 16385, 3], false]]) {
    assert.equal(/f32\[.*dot/.test(steps(shape)), inFloats, String(shape));
  }
});

test('scales that are converted after they are repeated', async () => {
  await check(`HloModule m
ENTRY e { x = bf16[1,256] parameter(0)
  w = s8[256,128] parameter(1)
  s = f32[8,4] parameter(2)
  rows = f32[8,32,4] broadcast(s), dimensions={0,2}
  r = f32[256,4] reshape(rows)
  columns = f32[256,4,32] broadcast(r), dimensions={0,1}
  both = f32[256,128] reshape(columns)
  scales = bf16[256,128] convert(both)
  c = bf16[256,128] convert(w)
  m = bf16[256,128] multiply(c, scales)
  ROOT y = f32[1,128] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`, 256 * 128, (i, k) => (k === 2 ? 2 ** (i % 3) * 1.001 : whole(i, k)));
});

test('indices of a codebook that cannot pass its end are not compared with it', async () => {
  const take = (index, limit, direction) => `HloModule m
ENTRY e { w = u8[64,64] parameter(0)
  n = u8[] constant(15)
  ns = u8[64,64] broadcast(n), dimensions={}
  four = u8[] constant(4)
  fours = u8[64,64] broadcast(four), dimensions={}
  lo = u8[64,64] and(w, ns)
  hi = u8[64,64] shift-right-logical(w, fours)
  j = u8[64,128] concatenate(lo, ${index}), dimensions={1}
  i = s32[64,128] convert(j)
  e = s32[] constant(${limit})
  es = s32[64,128] broadcast(e), dimensions={}
  ROOT p = pred[64,128] compare(i, es), direction=${direction} }`;
  for (const index of ['hi', 'lo', 'w']) {
    for (const limit of [-1, 0, 1, 14, 15, 16, 254, 255, 256]) {
      for (const direction of ['LT', 'LE', 'GT', 'GE', 'EQ', 'NE']) {
        const source = take(index, limit, direction);
        await agrees(client, source, (i) => (i * 37) % 256);
        const executable = await client.compile(client.parseHlo(source)), highest = index === 'w' ? 255 : 15;
        const strict = limit <= 0 || limit > highest, orEqual = limit < 0 || limit >= highest;
        const isKnown = { LT: strict, GE: strict, LE: orEqual, GT: orEqual };
        assert.equal(!executable.toString().includes('compare('), isKnown[direction] ?? false, `${index} ${direction} ${limit}`);
        executable.dispose();
      }
    }
  }
});

/** Weights of f32 that are rounded before a product, as Flax does with `dtype`: to even, and to infinity. */
test('weights that are rounded', async () => {
  const most = { bf16: 3.4028234e38, f16: 65520 };
  const forms = ['bf16', 'f16'].flatMap((t) => [[t, 1, false], [t, 1, true], [t, 2, false], [t, 9, true], [t, 40, false], [t, 70, true]]);
  const odd = [false, true].flatMap((turned) => [[257, 193], [64, 77], [1031, 5], [5, 1031]].map((dims) => ['bf16', 1, turned, ...dims]));
  for (const [type, rows, turned, depth = 256, columns = 192] of [...forms, ...odd]) {
    const dims = turned ? [columns, depth] : [depth, columns];
    const source = `HloModule m
ENTRY e { x = ${type}[${rows},${depth}] parameter(0)
  w = f32[${dims}] parameter(1)
  c = ${type}[${dims}] convert(w)
  ROOT r = f32[${rows},${columns}] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;
    const near = type === 'bf16' ? 256 : 2048; // where neighbours are 2 apart
    const limit = rows === 70 || (type === 'f16' && rows === 1) ? Infinity : depth * columns * 2;
    const of = (special, last) => (i, k) => {
      if (k === 0) return whole(i) / 2;
      return (i === 5 || (last && i === depth * columns - 1)) && special ? special : near + (i * 7) % 9;
    };
    for (const special of [null, NaN, Infinity, -Infinity, most[type], -most[type], 2 ** -149, -(2 ** -134)]) {
      await check(source, depth < 32 ? Infinity : limit, of(special, columns % 2));
    }
  }
});

test('layers of a stack of weights are rounded where a product reads them', async () => {
  const source = `HloModule m
ENTRY e { x = bf16[1,96] parameter(0)
  w = f32[3,96,128] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  l = f32[1,96,128] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,96,128}
  m = f32[96,128] reshape(l)
  c = bf16[96,128] convert(m)
  ROOT r = f32[1,128] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`;
  for (const at of [-1, 1, 2, 5]) await check(source, 96 * 128 * 2, (i, k) => (k === 2 ? at : k ? 256 + (i * 7) % 9 : whole(i) / 2));
});
