/** Compares compiled programs with the same programs run operation by operation in the evaluator. */
import assert from 'node:assert/strict';

import { Literal } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

/** A literal of `shape`, a Shape, whose element number i is `value(i)`; of unsigned types, its magnitude. */
export function filled(shape, value) {
  const { Array: OwnArray, kind, bits, lanes } = ELEMENT_TYPES.get(shape.elementType);
  const numbers = new Float64Array(lanes * shape.elementCount); // one kind of array for all types, which is faster
  for (let i = 0; i < numbers.length; i++) {
    const number = value(i);
    numbers[i] = kind === 'pred' ? Number(number > 0) : kind === 'unsigned' ? Math.abs(number) : number;
  }
  if (kind.endsWith('signed') && bits === 64) return Literal.from(OwnArray.from(numbers, BigInt), shape);
  /* Literal.from() encodes numbers of narrow types; the others' array holds numbers as they are. */
  const isNarrow = (kind === 'float' && bits < 32) || (kind.endsWith('signed') && bits < 8);
  return Literal.from(isNarrow ? numbers : new OwnArray(numbers), shape);
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
  assert.ok(wanted.length > 0, 'the program has no result');
  assert.equal(got.length, wanted.length, 'of results');
  got.forEach((leaf, r) => {
    const [a, b] = [bytesOf(leaf), bytesOf(wanted[r])];
    if (!a.equals(b)) {
      const at = a.findIndex((byte, i) => byte !== b[i]), each = a.length / leaf.shape.elementCount;
      assert.fail(`result ${r}, ${leaf.shape}, differs from element ${Math.floor(at / each)} on`);
    }
  });
}
