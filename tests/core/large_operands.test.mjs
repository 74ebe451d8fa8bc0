/**
 * Tests rare operands, which must be neither slow nor wrong. Sines, cosines and tangents of f64 beyond 2^20, of all
 * exponents, near multiples of pi/2, of infinities and NaN, are compared with the engine's, which are within an ulp.
 * Remainders of quotients of any size are exact.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

/** Doubles between two of one sign. */
function ulps(a, b) {
  if (Object.is(a, b)) return 0;
  const [x, y] = new BigInt64Array(new Float64Array([a, b]).buffer).map((bits) =>
    (bits < 0n ? -(bits & 0x7fffffffffffffffn) : bits));
  return Math.abs(Number(x - y));
}

/** Of these no other double is nearer to a multiple of pi/2, in their binades or in all. */
const NEAR = [6381956970095103 * 2 ** 797, 5319372648326541 * 2 ** 416, 8675309 * 2 ** 30, 2 ** 20, 2 ** 20 - 2 ** -33];

function values() {
  const x = [...NEAR, ...NEAR.map((v) => -v), Infinity, -Infinity, NaN, 0, -0, Number.MAX_VALUE, 1e22];
  let state = 99991;
  for (let exponent = 0; exponent < 1024; exponent++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const v = (1 + state / 2 ** 32 + 2 ** -50 * (state % 13)) * 2 ** exponent;
    x.push(exponent % 3 ? v : -v, Math.round(v) * (Math.PI / 2), 0.5);
  }
  return new Float64Array(x);
}

test('sin, cos and tan of large f64', async () => {
  const client = await Client.create({ threads: 0 });
  const x = values();
  for (const [name, f, most] of [['sine', Math.sin, 1], ['cosine', Math.cos, 1], ['tan', Math.tan, 2]]) {
    const exe = await client.compile(client.parseHlo(`HloModule m
ENTRY e {
  x = f64[${x.length}] parameter(0)
  ROOT r = f64[${x.length}] ${name}(x)
}`));
    const [{ data }] = await exe.execute([x]);
    x.forEach((v, i) => {
      if (Number.isNaN(f(v))) assert.ok(Number.isNaN(data[i]), `${name}(${v}) = ${data[i]}`);
      else assert.ok(ulps(data[i], f(v)) <= most, `${name}(${v}) = ${data[i]}, not ${f(v)}`);
    });
  }
  client.dispose();
});

test('remainders of quotients of any size', async () => {
  const client = await Client.create({ threads: 0 });
  for (const [type, Type, exponents] of [['f32', Float32Array, 120], ['f64', Float64Array, 1000]]) {
    const special = [0, -0, Infinity, -Infinity, NaN, 5, -5, exponents === 120 ? 2 ** -149 : 2 ** -1074];
    const [x, y] = [[], []];
    special.forEach((a) => special.forEach((b) => {
      x.push(a);
      y.push(b);
    }));
    let state = 7;
    const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
    for (let i = 0; i < 4000; i++) {
      x.push((1 + next()) * 2 ** Math.floor((next() * 2 - 1) * exponents) * (i % 2 ? 1 : -1));
      y.push((1 + next()) * 2 ** Math.floor((next() * 2 - 1) * exponents) * (i % 3 ? 1 : -1));
    }
    const [a, b] = [new Type(x), new Type(y)];
    const exe = await client.compile(client.parseHlo(`HloModule m
ENTRY e {
  x = ${type}[${a.length}] parameter(0)
  y = ${type}[${a.length}] parameter(1)
  ROOT r = ${type}[${a.length}] remainder(x, y)
}`));
    const [{ data }] = await exe.execute([a, b]);
    a.forEach((v, i) => assert.ok(Object.is(data[i], v % b[i]), `${type}: ${v} % ${b[i]} = ${data[i]}`));
  }
  client.dispose();
});
