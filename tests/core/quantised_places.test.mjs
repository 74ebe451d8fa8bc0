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
