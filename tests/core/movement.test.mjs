/**
 * Tests operations that only move elements, in sizes that take more than one tile, strip, unit and
 * chunk; small ones are in the golden corpus. The expected elements are computed here, by index.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';

const TYPES = ['u8', 'u16', 's32', 'u64', 'c128'];

const count = (dims) => dims.reduce((a, b) => a * b, 1);
const shapeOf = (type, dims) => Shape.parse(`${type}[${dims.join(',')}]`);

/** An array whose elements are their own positions; those of c128 by their real part. */
function numbered(type, dims, first = 0) {
  const shape = shapeOf(type, dims);
  const size = count(dims);
  const make = { u8: Uint8Array, u16: Uint16Array, s32: Int32Array, u64: BigUint64Array }[type];
  const array = type === 'c128' ? new Float64Array(2 * size) : new make(size);
  for (let i = 0; i < size; i++) {
    if (type === 'c128') array[2 * i] = first + i;
    else array[i] = type === 'u64' ? BigInt(first + i) : first + i;
  }
  return new Literal(shape, array);
}

const element = ({ data }, type, i) => (type === 'c128' ? data[2 * i] : Number(data[i]));

/** Calls `visit` with every index of an array, and its linear place. */
function eachIndex(dims, visit) {
  const index = dims.map(() => 0);
  for (let i = 0, size = count(dims); i < size; i++) {
    visit(index, i);
    for (let d = dims.length - 1; d >= 0 && ++index[d] === dims[d]; d--) index[d] = 0;
  }
}
const linear = (dims, index) => index.reduce((sum, i, d) => sum * dims[d] + i, 0);

for (const threads of [0, 2]) {
  describe(`${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());

    /** `source(index)` is the expected element, in the numbers of `numbered`. */
    async function check(type, dims, operation, operands, source) {
      const names = operands.map((_, i) => `p${i}`);
      const lines = operands.map(({ shape }, i) => `  p${i} = ${shape} parameter(${i})\n`);
      const text = `HloModule m\nENTRY e {\n${lines.join('')}  ROOT r = ${shapeOf(type, dims)} ${
        operation.replace('$', names.join(', '))}\n}\n`;
      const module = client.parseHlo(text);
      const executable = await client.compile(module);
      assert.doesNotMatch(executable.thunks(), /^ *eval /m);
      const [result] = await executable.execute(operands);
      const bits = type === 'u8' ? 0xff : type === 'u16' ? 0xffff : 0xffffffff;
      eachIndex(dims, (index, i) => {
        const want = source(index);
        if (element(result, type, i) !== (type === 'c128' ? want : (want & bits) >>> 0)) {
          assert.fail(`${type} [${index}] is ${element(result, type, i)}, should be ${want}`);
        }
      });
      executable.dispose();
      module.dispose();
    }

    for (const [dims, order] of [
      [[129, 67], [1, 0]], [[64, 512], [1, 0]], [[33, 18, 35], [2, 1, 0]], [[33, 18, 35], [0, 2, 1]],
      [[33, 18, 35], [1, 2, 0]], [[5, 41, 3, 17], [0, 3, 1, 2]], [[7, 64, 3, 16], [0, 2, 3, 1]],
      [[1, 90, 1, 70], [3, 2, 1, 0]],
    ]) {
      test(`transpose [${dims}] by [${order}]`, async () => {
        for (const type of TYPES) {
          await check(type, order.map((d) => dims[d]), `transpose($), dimensions={${order}}`,
            [numbered(type, dims)], (index) => {
              const from = [];
              order.forEach((d, i) => (from[d] = index[i]));
              return linear(dims, from);
            });
        }
      });
    }

    test('concatenate', async () => {
      for (const type of TYPES) {
        for (const dimension of [0, 1, 2]) {
          const parts = [3, 0, 70, 1].map((size) =>
            [40, 30, 50].map((other, d) => (d === dimension ? size : other)));
          const starts = [0, 3, 3, 73];
          const dims = [40, 30, 50].map((other, d) => (d === dimension ? 74 : other));
          const operands = parts.map((part, i) => numbered(type, part, 1000 * i));
          await check(type, dims, `concatenate($), dimensions={${dimension}}`, operands, (index) => {
            const which = index[dimension] < 3 ? 0 : index[dimension] < 73 ? 2 : 3;
            const from = index.map((i, d) => (d === dimension ? i - starts[which] : i));
            return 1000 * which + linear(parts[which], from);
          });
        }
      }
    });

    test('pad', async () => {
      for (const type of TYPES) {
        for (const config of [[[2, 3, 0], [5, -4, 1]], [[-3, -200, 2], [0, 0, 0]], [[0, 0, 0], [-1, 7, 0]],
          [[-1, 4, 2], [-5, 3, 1]]]) {
          const dims = [300, 170];
          const size = dims.map((n, d) => n + config[d][0] + config[d][1] + (n - 1) * config[d][2]);
          const operation = `pad($), padding=${config.map((c) => c.join('_')).join('x')}`;
          const value = new Literal(shapeOf(type, []), numbered(type, [1], 77).data);
          await check(type, size, operation, [numbered(type, dims), value], (index) => {
            const from = index.map((i, d) => (i - config[d][0]) / (config[d][2] + 1));
            const inside = from.every((i, d) => Number.isInteger(i) && i >= 0 && i < dims[d]);
            return inside ? linear(dims, from) : 77;
          });
        }
      }
    });

    test('dynamic-slice, clamped', async () => {
      for (const type of TYPES) {
        for (const [starts, clamped] of [[[7, -3, 9], [7, 0, 9]], [[99, 11, 2 ** 31 - 1], [30, 11, 20]]]) {
          const [from, dims] = [[60, 40, 70], [30, 20, 50]];
          const indices = starts.map((i) => new Literal(shapeOf('s32', []), Int32Array.of(i)));
          await check(type, dims, `dynamic-slice($), dynamic_slice_sizes={${dims}}`,
            [numbered(type, from), ...indices],
            (index) => linear(from, index.map((i, d) => i + clamped[d])));
        }
      }
    });

    test('gather of scalars, rows and windows', async () => {
      const from = [50, 40];
      const places = Int32Array.from({ length: 9000 }, (_, i) => ((i * 7919) % 120) - 30);
      const clamp = (i, most) => Math.min(Math.max(i, 0), most);
      for (const type of TYPES) {
        await check(type, [9000], 'gather($), offset_dims={}, collapsed_slice_dims={0}, ' +
          'start_index_map={0}, index_vector_dim=1, slice_sizes={1}',
        [numbered(type, [60]), new Literal(shapeOf('s32', [9000, 1]), places)],
        ([i]) => clamp(places[i], 59));
        await check(type, [4500, 40], 'gather($), offset_dims={1}, collapsed_slice_dims={0}, ' +
          'start_index_map={0}, index_vector_dim=1, slice_sizes={1,40}',
        [numbered(type, from), new Literal(shapeOf('s32', [4500, 1]), places.slice(0, 4500))],
        ([i, j]) => linear(from, [clamp(places[i], 49), j]));
        await check(type, [3, 900, 5], 'gather($), offset_dims={0,2}, collapsed_slice_dims={}, ' +
          'start_index_map={1,0}, index_vector_dim=0, slice_sizes={3,5}',
        [numbered(type, from), new Literal(shapeOf('s32', [2, 900]), places.slice(0, 1800))],
        ([a, i, b]) => linear(from, [clamp(places[900 + i], 47) + a, clamp(places[i], 35) + b]));
      }
    });

    test('gather of pairs by indices of every type, out of range', async () => {
      const [rows, columns, n] = [70, 90, 123];
      const types = { s8: Int8Array, u8: Uint8Array, s16: Int16Array, u16: Uint16Array, s32: Int32Array, u32: Uint32Array,
        s64: BigInt64Array, u64: BigUint64Array };
      for (const [index, make] of Object.entries(types)) {
        const wide = index.endsWith('64');
        const near = [0, 1, -1, 69, 70, 89, 90, 127, 128].map((i) => (wide ? BigInt(i) : i));
        const far = wide ? [1n << 31n, 1n << 32n, (1n << 63n) - 1n, 1n << 63n, -(1n << 32n)] : [2 ** 31 - 1, 2 ** 31, 2 ** 15];
        const some = [...near, ...far], places = make.from({ length: 2 * n }, (_, i) => some[(i * 5 + (i % 7)) % some.length]);
        const clamp = (i, most) => Math.min(Math.max(Number(i), 0), most);
        for (const type of TYPES) {
          await check(type, [n], 'gather($), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, ' +
            'index_vector_dim=1, slice_sizes={1,1}',
          [numbered(type, [rows, columns]), new Literal(shapeOf(index, [n, 2]), places)],
          ([i]) => linear([rows, columns], [clamp(places[2 * i + 1], 69), clamp(places[2 * i], 89)]));
        }
      }
    });
  });
}
