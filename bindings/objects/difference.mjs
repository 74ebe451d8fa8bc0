/** Compares the results of two runs of a program that were computed differently. */
import { ELEMENT_TYPES } from '../values/types.mjs';

/** Tolerance relative to the element, and to the largest of its array, as sums cancel. */
const RELATIVE = 1e-4;
const OF_LARGEST = 1e-5;
/** Units in the last place by which results of narrow floats may differ, and the distance of 1 to the next number. */
const UNITS = 4;
const epsilonOf = ({ kind, bits, mantissaBits }) => (kind === 'float' && bits <= 16 ? 2 ** -mantissaBits : 0);

const numbers = (value) => (Array.isArray(value) ? value : [value]);

/**
 * Describes the first difference of two devices' results; undefined if there is none. Integers and predicates must be
 * equal; floats may differ as sums in another order do.
 */
export function difference(got, want) {
  if (got.length !== want.length) return `${got.length} results, not ${want.length}`;
  for (const [i, literal] of got.entries()) {
    const other = want[i];
    if (!literal.shape.compatible(other.shape)) return `result ${i}: ${literal.shape}, not ${other.shape}`;
    const problem = differentElement(literal.inLayout(null), other.inLayout(null));
    if (problem) return `result ${i}, ${problem}`;
  }
  return undefined;
}

function differentElement({ shape, data }, { data: expected }) {
  const type = ELEMENT_TYPES.get(shape.elementType), { kind, read } = type;
  const unit = UNITS * epsilonOf(type), relative = Math.max(RELATIVE, unit), ofLargest = Math.max(OF_LARGEST, unit);
  const isExact = kind !== 'float' && kind !== 'complex';
  let largest = 0;
  for (let k = 0; !isExact && k < shape.elementCount; k++) {
    for (const x of numbers(read(expected, k))) if (Number.isFinite(x)) largest = Math.max(largest, Math.abs(x));
  }
  const isNear = (x, y) => x === y || (x !== x && y !== y) ||
    (!isExact && Math.abs(x - y) <= relative * Math.abs(y) + ofLargest * largest);
  for (let k = 0; k < shape.elementCount; k++) {
    const [x, y] = [numbers(read(data, k)), numbers(read(expected, k))];
    if (!x.every((part, lane) => isNear(part, y[lane]))) return `element ${k}: ${x}, not ${y}`;
  }
  return undefined;
}
