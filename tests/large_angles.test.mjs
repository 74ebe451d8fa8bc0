/**
 * Sines, cosines and tangents of f64 beyond 2^20, of all exponents, of what is near to multiples of pi/2, of infinities
 * and NaN: against the engine's own, which are within an ulp. A lane's result does not depend on its neighbour.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client } from '../bindings/index.mjs';

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
