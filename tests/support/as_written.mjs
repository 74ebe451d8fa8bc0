/** Compares compiled programs with the same programs run operation by operation in the evaluator. */
import assert from 'node:assert/strict';

import { Literal } from '../../bindings/index.mjs';

/* Arrays that literals take as they are; numbers of other types are converted one by one. */
const ARRAYS = {
  s8: Int8Array, s16: Int16Array, s32: Int32Array, s64: BigInt64Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array,
  u64: BigUint64Array, pred: Uint8Array, f32: Float32Array, f64: Float64Array, c64: Float32Array, c128: Float64Array,
};

/** A literal of `shape`, a Shape, whose element number i is `value(i)`; of unsigned types, its magnitude. */
export function filled(shape, value) {
  const { elementType: type, elementCount: count } = shape, isUnsigned = type.startsWith('u');
  const numbers = new Float64Array(type.startsWith('c') ? 2 * count : count); // always of one kind, which is faster
  for (let i = 0; i < numbers.length; i++) {
    const number = value(i);
    numbers[i] = type === 'pred' ? Number(number > 0) : isUnsigned ? Math.abs(number) : number;
  }
  const ArrayType = ARRAYS[type] ?? Float64Array;
  return Literal.from(/^[su]64$/.test(type) ? ArrayType.from(numbers, BigInt) : new ArrayType(numbers), shape);
}

/** Small whole numbers: their sums are exact in any order. */
export const whole = (i, k = 0) => ((i * 7919 + k * 31) % 5) - 2;

const bytesOf = ({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Whether two literals have the same bytes. */
export const sameBytes = (a, b) => bytesOf(a).equals(bytesOf(b));

/**
 * Fails unless a program's results are the same, bit for bit, with these options of compile() and with others.
 *
 * @param {import('../../bindings/index.mjs').Client} client
 * @param {string} text HLO
 * @param {(i: number, k: number, type: string) => number} [value] element i of parameter k
 * @param {object} [options] of the compilation that is compared
 * @param {object} [other] of the other one
 */
export async function agrees(client, text, value = whole, options = {}, other = { optimize: false }) {
  const module = client.parseHlo(text);
  const args = module.parameters.map(({ shape }, k) => filled(shape, (i) => value(i, k, shape.elementType)));
  const run = async (how) => {
    const executable = await client.compile(module, how);
    const results = await executable.execute(args);
    executable.dispose();
    return results.flatMap((literal) => literal.leaves());
  };
  const [got, wanted] = [await run(options), await run(other)];
  module.dispose();
  got.forEach((leaf, r) => {
    const [a, b] = [bytesOf(leaf), bytesOf(wanted[r])];
    if (!a.equals(b)) {
      const at = a.findIndex((byte, i) => byte !== b[i]), each = a.length / leaf.shape.elementCount;
      assert.fail(`result ${r}, ${leaf.shape}, differs from element ${Math.floor(at / each)} on`);
    }
  });
}
