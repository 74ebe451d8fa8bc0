/** Compares compiled programs with the same programs run operation by operation in the evaluator. */
import assert from 'node:assert/strict';

import { Literal } from '../../bindings/index.mjs';

const WIDE = { s64: BigInt64Array, u64: BigUint64Array };

/** A literal of `shape`, a Shape, whose element number i is `value(i)`; of unsigned types, its magnitude. */
export function filled(shape, value) {
  const { elementType: type, elementCount: count } = shape, isUnsigned = type.startsWith('u');
  const of = (i) => (type === 'pred' ? Number(value(i) > 0) : isUnsigned ? Math.abs(value(i)) : value(i));
  if (WIDE[type]) return Literal.from(WIDE[type].from({ length: count }, (_, i) => BigInt(of(i))), shape);
  if (type === 'pred') return Literal.from(Uint8Array.from({ length: count }, (_, i) => of(i)), shape);
  const parts = { c64: Float32Array, c128: Float64Array }[type];
  if (parts) return Literal.from(parts.from({ length: 2 * count }, (_, i) => of(i)), shape);
  return Literal.from(Float64Array.from({ length: count }, (_, i) => of(i)), shape);
}

/** Small whole numbers: their sums are exact in any order. */
export const whole = (i, k = 0) => ((i * 7919 + k * 31) % 5) - 2;

const bytesOf = ({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

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
