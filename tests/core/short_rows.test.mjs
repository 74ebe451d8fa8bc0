/**
 * Tests loops with short rows of 2 to 7 elements: lanes go along a longer loop around them (short_rows.c). Expected
 * elements follow the specification, for many sizes, types and forms of broadcasting. Elements that a loop
 * overwrites are read before.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { execute } from '../support/execute.mjs';

const clients = [];
before(async () => {
  for (const threads of [0, 2]) clients.push(await Client.create({ threads }));
});
after(() => clients.forEach((client) => client.dispose()));

const TYPES = { f32: Float32Array, f64: Float64Array, s8: Int8Array, u16: Uint16Array, s32: Int32Array };
const run = async (client, text, args) => (await execute(client, text, args)).map((result) => result.flat(Infinity));
const filled = (Type, count, factor) => Type.from({ length: count }, (_, i) => (i * factor) % 11);

/** x[n,d] * c[d] + m[n]: a row that is the same for all, and a number for each row. */
const rows = (type, n, d) => `HloModule m
ENTRY e {
  x = ${type}[${n},${d}] parameter(0)
  c = ${type}[${d}] parameter(1)
  m = ${type}[${n}] parameter(2)
  cb = ${type}[${n},${d}] broadcast(c), dimensions={1}
  mb = ${type}[${n},${d}] broadcast(m), dimensions={0}
  xc = ${type}[${n},${d}] multiply(x, cb)
  ROOT r = ${type}[${n},${d}] add(xc, mb)
}`;

for (const [type, Type] of Object.entries(TYPES)) {
  test(`rows of ${type}`, async () => {
    for (const n of [9, 64, 1009, 4096, 20000]) {
      for (const d of [2, 3, 4, 5, 6, 7, 8]) {
        const [x, c, m] = [filled(Type, n * d, 7), filled(Type, d, 3), filled(Type, n, 5)];
        const want = Type.from({ length: n * d }, (_, i) => x[i] * c[i % d] + m[Math.floor(i / d)]);
        for (const client of clients) {
          const [got] = await run(client, rows(type, n, d), [x, c, m]);
          assert.deepEqual(got, [...want], `${type}[${n},${d}]`);
        }
      }
    }
  });
}

test('differences of all pairs of points, wider than long', async () => {
  for (const [n, k, d] of [[40, 50, 3], [50, 40, 2], [3, 300, 3], [300, 3, 3], [7, 16, 5]]) {
    const text = `HloModule m
ENTRY e {
  x = f32[${n},${d}] parameter(0)
  y = f32[${k},${d}] parameter(1)
  xb = f32[${n},${k},${d}] broadcast(x), dimensions={0,2}
  yb = f32[${n},${k},${d}] broadcast(y), dimensions={1,2}
  ROOT r = f32[${n},${k},${d}] subtract(xb, yb)
}`;
    const [x, y] = [filled(Float32Array, n * d, 7), filled(Float32Array, k * d, 5)];
    const at = (i) => x[Math.floor(i / (k * d)) * d + (i % d)] - y[i % (k * d)];
    const want = Float32Array.from({ length: n * k * d }, (_, i) => at(i));
    for (const client of clients) assert.deepEqual(await run(client, text, [x, y]), [[...want]], `${n} ${k} ${d}`);
  }
});

test('several results, and complex numbers', async () => {
  const [n, d] = [500, 3];
  const text = `HloModule m
ENTRY e {
  x = f32[${n},${d}] parameter(0)
  c = f32[${d}] parameter(1)
  cb = f32[${n},${d}] broadcast(c), dimensions={1}
  s = f32[${n},${d}] add(x, cb)
  t = f32[${n},${d}] subtract(x, cb)
  z = c64[${n},${d}] complex(s, t)
  w = c64[${n},${d}] multiply(z, z)
  ROOT r = (f32[${n},${d}], c64[${n},${d}], f32[${n},${d}]) tuple(s, w, t)
}`;
  const [x, c] = [filled(Float32Array, n * d, 7), filled(Float32Array, d, 3)];
  for (const client of clients) {
    const [s, w, t] = await run(client, text, [x, c]);
    for (let i = 0; i < n * d; i++) {
      const [a, b] = [x[i] + c[i % d], x[i] - c[i % d]];
      assert.deepEqual([s[i], t[i], w[2 * i], w[2 * i + 1]], [a, b, a * a - b * b, 2 * a * b]);
    }
  }
});

test('a loop that changes its rows in place', async () => {
  const [n, d, turns] = [1000, 3, 5];
  const text = `HloModule m
body {
  p = (s32[], f32[${n},${d}], f32[${d}]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[${n},${d}] get-tuple-element(p), index=1
  c = f32[${d}] get-tuple-element(p), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  cb = f32[${n},${d}] broadcast(c), dimensions={1}
  y = f32[${n},${d}] add(x, cb)
  ROOT r = (s32[], f32[${n},${d}], f32[${d}]) tuple(j, y, c)
}
condition {
  p = (s32[], f32[${n},${d}], f32[${d}]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  k = s32[] constant(${turns})
  ROOT r = pred[] compare(i, k), direction=LT
}
ENTRY e {
  x = f32[${n},${d}] parameter(0)
  c = f32[${d}] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[${n},${d}], f32[${d}]) tuple(zero, x, c)
  w = (s32[], f32[${n},${d}], f32[${d}]) while(t), condition=condition, body=body
  ROOT r = f32[${n},${d}] get-tuple-element(w), index=1
}`;
  const [x, c] = [filled(Float32Array, n * d, 7), filled(Float32Array, d, 3)];
  const want = x.map((value, i) => value + turns * c[i % d]);
  for (const client of clients) assert.deepEqual(await run(client, text, [x, c]), [[...want]]);
});

test('many products of small matrices, in any order of dimensions', async () => {
  const n = 100;
  for (const [type, Type] of [['f32', Float32Array], ['f64', Float64Array], ['s32', Int32Array]]) {
    for (const [i, k, j] of [[2, 2, 2], [3, 3, 3], [4, 4, 1], [1, 4, 8], [3, 1, 3], [2, 4, 4]]) {
      const [x, y] = [filled(Type, n * i * k, 7), filled(Type, n * k * j, 5)];
      const sum = (b, r, c) => Array.from({ length: k }, (_, t) => x[(b * i + r) * k + t] * y[(b * k + t) * j + c])
        .reduce((a, z) => a + z, 0);
      const want = Array.from({ length: n * i * j },
        (_, e) => sum(Math.floor(e / (i * j)), Math.floor(e / j) % i, e % j));
      const straight = `ENTRY e {
  x = ${type}[${n},${i},${k}] parameter(0)
  y = ${type}[${n},${k},${j}] parameter(1)
  ROOT r = ${type}[${n},${i},${j}] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
    rhs_contracting_dims={1}
}`;
      const turned = `ENTRY e {
  x = ${type}[${n},${i},${k}] parameter(0)
  y = ${type}[${n},${k},${j}] parameter(1)
  xt = ${type}[${k},${n},${i}] transpose(x), dimensions={2,0,1}
  yt = ${type}[${j},${k},${n}] transpose(y), dimensions={2,1,0}
  ROOT r = ${type}[${n},${i},${j}] dot(xt, yt), lhs_batch_dims={1}, rhs_batch_dims={2}, lhs_contracting_dims={0},
    rhs_contracting_dims={1}
}`;
      for (const client of clients) {
        for (const entry of [straight, turned]) {
          assert.deepEqual(await run(client, `HloModule m\n${entry}`, [x, y]), [want], `${type} ${i} ${k} ${j}`);
        }
      }
    }
  }
});

test('columns that are put beside short rows', async () => {
  for (const [n, a, b] of [[5000, 3, 1], [5000, 1, 2], [700, 40, 1], [1, 3, 1]]) {
    const text = `HloModule m
ENTRY e {
  x = f32[${n},${a}] parameter(0)
  y = f32[${n},${b}] parameter(1)
  ROOT r = f32[${n},${a + b}] concatenate(x, y), dimensions={1}
}`;
    const [x, y] = [filled(Float32Array, n * a, 7), filled(Float32Array, n * b, 5)];
    const at = (r, c) => (c < a ? x[r * a + c] : y[r * b + c - a]);
    const want = Array.from({ length: n * (a + b) }, (_, i) => at(Math.floor(i / (a + b)), i % (a + b)));
    for (const client of clients) assert.deepEqual(await run(client, text, [x, y]), [want], `${n} ${a} ${b}`);
  }
});
