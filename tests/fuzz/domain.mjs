/**
 * The generator's knowledge of a value. With it, the generator makes only results that the
 * specification decides to the last bit, or whose error it can bound.
 *
 * A domain of floats says: each finite element is a multiple of 2^lowest and below 2^highest in
 * magnitude; `special` is 0 if none is NaN or infinite, 1 if those that are come from the operands
 * (their bits are known), 2 if they were computed (a NaN's sign and payload are open). Where
 * highest - lowest fits the mantissa, nothing was or will be rounded, whatever the order.
 * `nonzero` is set where no element is zero: a sum of such products is not -0, which depends on
 * where the adding starts. `tolerance` is set where the bits are not decided: such values are
 * moved, never computed with.
 */
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

const typesOf = (kind, isWanted = (_type) => true) =>
  [...ELEMENT_TYPES.values()].filter((type) => type.kind === kind && isWanted(type)).map(({ name }) => name);

/** The type whose values are powers of two and NaN; it has no zero and no sign. */
export const POWERS = 'f8e8m0fnu';
export const SIGNED = typesOf('signed');
export const UNSIGNED = typesOf('unsigned');
export const INTEGERS = [...SIGNED, ...UNSIGNED];
/** Integers of whole bytes: XLA:CPU computes the others in eight bits, and cuts in places. */
export const BYTES = INTEGERS.filter((type) => ELEMENT_TYPES.get(type).bits >= 8);
export const FLOATS = typesOf('float', ({ bits }) => bits > 8);
/** Floats of a byte or less. */
export const FLOATS_8 = typesOf('float', ({ bits, name }) => bits <= 8 && name !== POWERS);
export const COMPLEX = typesOf('complex');

export const isInteger = (type) => ['signed', 'unsigned'].includes(ELEMENT_TYPES.get(type).kind);
export const isFloat = (type) => ELEMENT_TYPES.get(type).kind === 'float';
export const isComplex = (type) => ELEMENT_TYPES.get(type).kind === 'complex';
export const isInexact = (type) => isFloat(type) || isComplex(type);
export const isWideFloat = (type) => FLOATS.includes(type);
export const componentOf = (type) => ({ c64: 'f32', c128: 'f64' })[type] ?? type;

/** Bits of the mantissa, exponent past the largest value, exponent of the smallest normal value. */
const FORMATS = new Map(typesOf('float').map((name) => {
  const { bits, mantissaBits, isIeee, limits: [lowest, highest] } = ELEMENT_TYPES.get(name);
  const past = isIeee ? 2 ** (bits - mantissaBits - 2) : Math.floor(Math.log2(highest)) + 1;
  // Those below f32 are computed in wider types, where their own subnormal numbers are normal.
  const least = name === POWERS ? Math.log2(lowest) : name === 'f64' ? -1022 : -126;
  return [name, [mantissaBits + 1, past, least]];
}));

/** Types that may accompany an array in one reduction or scatter: XLA refuses floats of two precisions. */
export const companionTypes = (type) =>
  [type, 's32', 'u8', 's64', 'pred', isInexact(type) ? type : 'f32'];

/** Integers and predicates: their bits are always decided. */
export const DECIDED = Object.freeze({ lowest: 0, highest: 0, special: 0 });
/** The domain of values whose bits are decided, but with which no rule computes. */
export const MOVED_ONLY = Object.freeze({ ...DECIDED, tolerance: 'exact' });

const formatOf = (type) => FORMATS.get(componentOf(type));
export const mantissaOf = (type) => formatOf(type)[0];
export const epsilonOf = (type) => 2 ** (1 - mantissaOf(type));

/**
 * The domain of a result, or null where the result may be subnormal, which XLA:CPU flushes to zero
 * and WebAssembly cannot.
 */
export function domain(type, lowest, highest, special) {
  if (!isInexact(type)) return DECIDED;
  const [, most, least] = formatOf(type);
  if (lowest < least || Number.isNaN(lowest)) return null;
  return { lowest, highest: Math.min(highest, most), special: highest > most ? 2 : special };
}

/** Whether sums and products that stay in these bounds are exact, in any order. */
export function isExact(type, lowest, highest) {
  if (!isInexact(type)) return true;
  const [mantissa, most] = formatOf(type);
  return highest - lowest <= mantissa && highest < most;
}

/** The union of domains. */
export function union(type, domains) {
  const tolerances = [...new Set(domains.map((d) => d.tolerance).filter(Boolean))];
  if (tolerances.length > 1) return null;
  if (!isInexact(type)) return tolerances.length ? MOVED_ONLY : DECIDED;
  const result = {
    lowest: Math.min(...domains.map((d) => d.lowest)),
    highest: Math.max(...domains.map((d) => d.highest)),
    special: Math.max(...domains.map((d) => d.special)),
  };
  return tolerances.length ? { ...result, tolerance: tolerances[0] } : result;
}

/** Sums of `count` values of `term`. null: not exact, or not decided. */
export function sumOf(type, term, count) {
  if (!isInexact(type)) return DECIDED;
  const highest = term.highest + Math.ceil(Math.log2(Math.max(count, 1)));
  if (term.special || !isExact(type, term.lowest, highest)) return null;
  return domain(type, term.lowest, highest, 0);
}

/** Products of two values; complex ones are sums of two products. */
export function productOf(type, a, b) {
  if (!isInexact(type)) return DECIDED;
  const special = a.special || b.special ? 2 : 0;
  const highest = a.highest + b.highest + (isComplex(type) ? 1 : 0);
  return domain(type, a.lowest + b.lowest, highest, special);
}

/** The same numbers, but zeros may have either sign. */
export const withOpenZeros = (d) => ({ ...d, tolerance: 'abs 0 rel 0' });

const BLOCK = 64; // at most as many terms are added one by one: src/codegen/sum_blocks.c

/**
 * The domain of sums whose order of adding is open: in blocks of blocks, on both sides. The error of each is at most a unit
 * in the last place of the largest partial sum for each addition that a term goes through.
 */
export function roundedSum(type, term, count) {
  const largest = 2 ** term.highest * Math.max(count, 1);
  const additions = Math.min(count, BLOCK + Math.log2(Math.max(count, 1))) + 2;
  const tolerance = `abs ${2 * additions * epsilonOf(type) * largest} rel 0`;
  return { lowest: term.lowest, highest: term.highest + 20, special: 2, tolerance };
}
