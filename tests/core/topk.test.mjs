/**
 * Tests topk of small k and of large k, which selects and then sorts: values and positions, in the total order of
 * floats, equal values by position; long lines, many lines, few different values, all element types of 16 bits
 * and more, both orders.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const clients = [];
before(async () => {
  for (const threads of [0, 2]) clients.push(await Client.create({ threads }));
});
after(() => clients.forEach((client) => client.dispose()));

const TYPES = {
  f32: Float32Array, f64: Float64Array, f16: Uint16Array, bf16: Uint16Array, s16: Int16Array, u16: Uint16Array,
  s32: Int32Array, u32: Uint32Array, s64: BigInt64Array, u64: BigUint64Array,
};
const UNSIGNED = { 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array };

/** Unsigned integers that are in the order of the elements. */
function keysOf(type, data) {
  const bits = BigInt(8 * data.BYTES_PER_ELEMENT), sign = 1n << (bits - 1n), all = (1n << bits) - 1n;
  const raw = BigUint64Array.from(new UNSIGNED[data.BYTES_PER_ELEMENT](data.buffer), BigInt);
  if (type[0] === 'u') return raw;
  return raw.map((x) => (type.includes('f') && x & sign ? x ^ all : x ^ sign));
}

/** Elements of any bits; every third one is one of a few, NaNs, infinities and zeros among them. */
function elements(type, count) {
  const Array = TYPES[type], raw = new UNSIGNED[Array.BYTES_PER_ELEMENT](count);
  const wide = Array.BYTES_PER_ELEMENT === 8, high = { f32: 16, f64: 48 }[type] ?? 0;
  let state = 12345;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const few = [0x7fc0, 0xffc1, 0x7f80, 0xff80, 0, 0x8000, 0x3f80][state % 7];
    const some = i % 3 ? state >>> (i % 5 ? 0 : 12) : few * 2 ** (wide ? 0 : high);
    raw[i] = wide ? BigInt(some) << BigInt(i % 3 ? 20 : high) : some;
  }
  return new Array(raw.buffer);
}

async function check(type, lines, size, k, largest) {
  const data = elements(type, lines * size), keys = keysOf(type, data), shape = `${lines},${k}`;
  const text = `HloModule m
ENTRY e {
  x = ${type}[${lines},${size}] parameter(0)
  ROOT r = (${type}[${shape}], s32[${shape}]) topk(x), k=${k}, largest=${largest}
}`;
  const want = [];
  for (let line = 0; line < lines; line++) {
    const own = keys.subarray(line * size, (line + 1) * size);
    const order = Array.from({ length: size }, (_, i) => i).sort((i, j) =>
      own[i] === own[j] ? i - j : own[i] < own[j] === largest ? 1 : -1);
    want.push(...order.slice(0, k));
  }
  for (const client of clients) {
    const exe = await client.compile(client.parseHlo(text));
    const [values, positions] = await exe.execute([data]);
    assert.deepEqual([...positions.data], want, `${type} ${lines}x${size} ${k} ${largest}`);
    const got = keysOf(type, new TYPES[type](values.data));
    want.forEach((at, i) => assert.equal(got[i], keys[Math.floor(i / k) * size + at]));
  }
}

for (const type of Object.keys(TYPES)) {
  test(`topk of ${type}`, async () => {
    for (const largest of [true, false]) {
      for (const [lines, size, k] of [[1, 70000, 1500], [70, 300, 64], [2, 20000, 20000], [1, 3000, 50], [3, 90, 89]]) {
        await check(type, lines, size, k, largest);
      }
    }
  });
}

test('topk of one value', async () => {
  const [client] = clients;
  const exe = await client.compile(client.parseHlo(`HloModule m
ENTRY e {
  x = f32[200000] parameter(0)
  ROOT r = (f32[150000], s32[150000]) topk(x), k=150000, largest=true
}`));
  const [, positions] = await exe.execute([new Float32Array(200000).fill(-1)]);
  assert.ok(positions.data.every((at, i) => at === i));
});
