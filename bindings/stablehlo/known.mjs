/**
 * Folds integers that are known while a program is lowered: constants, sizes, and results computed
 * from them. Programs with symbolic dimensions compute sizes by ordinary operations on small arrays of
 * integers. Only the operations that such programs use are folded.
 */
import { Literal } from '../values/literal.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { numbersOf } from './context.mjs';

const MOST = 4096; // elements that are kept

const floorDiv = (x, y) => x / y; // of bigints: towards zero, as HLO's division
const BINARY = {
  add: (x, y) => x + y,
  subtract: (x, y) => x - y,
  multiply: (x, y) => x * y,
  divide: (x, y) => (y ? floorDiv(x, y) : -1n),
  remainder: (x, y) => (y ? x % y : x),
  maximum: (x, y) => (x > y ? x : y),
  minimum: (x, y) => (x < y ? x : y),
  and: (x, y) => x & y,
  or: (x, y) => x | y,
  xor: (x, y) => x ^ y,
  shift_left: (x, y) => (y >= 0n && y < 64n ? x << y : 0n),
};
const UNARY = {
  abs: (x) => (x < 0n ? -x : x),
  negate: (x) => -x,
  sign: (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n),
};
const COMPARE = {
  EQ: (x, y) => x === y, NE: (x, y) => x !== y, LT: (x, y) => x < y, LE: (x, y) => x <= y,
  GT: (x, y) => x > y, GE: (x, y) => x >= y,
};

const isInteger = ({ shape }) => shape.isArray && /^(pred|[su]\d+)$/.test(shape.elementType) &&
  shape.elementCount <= MOST && !shape.isDynamic;

function wrap(value, elementType) {
  const { bits, kind } = ELEMENT_TYPES.get(elementType);
  if (kind === 'pred') return value ? 1n : 0n;
  return kind === 'signed' ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
}

const perElement = (f) => (c, ...lists) => {
  const length = Math.max(...lists.map((list) => list.length));
  return Array.from({ length }, (_, i) => f(...lists.map((list) => list[list.length === 1 ? 0 : i])));
};

/** Row-major elements of a result whose element at `index` is element `from(index)` of a list. */
function gathered(shape, from) {
  const { dimensions, elementCount } = shape;
  return Array.from({ length: elementCount }, (_, at) => {
    const index = [];
    for (let d = dimensions.length - 1, rest = at; d >= 0; d--) {
      index[d] = rest % dimensions[d];
      rest = Math.floor(rest / dimensions[d]);
    }
    return from(index);
  });
}

const offset = (dimensions, index) => index.reduce((at, i, d) => at * dimensions[d] + i, 0);

/** Concatenates along the first dimension, whose rows are contiguous. */
function concatenated(c, ...lists) {
  return c.int('dimension') === 0 ? lists.flat() : undefined;
}

function sliced(c, list) {
  const [starts, strides] = [c.ints('start_indices'), c.ints('strides')];
  return (result) => gathered(result.shape, (index) =>
    list[offset(c.x.shape.dimensions, index.map((i, d) => starts[d] + i * strides[d]))]);
}

function transposed(c, list) {
  const order = c.ints('permutation');
  return (result) => gathered(result.shape, (index) =>
    list[offset(c.x.shape.dimensions, order.map((_, d) => index[order.indexOf(d)]))]);
}

function broadcasted(c, list) {
  const dimensions = c.ints('broadcast_dimensions');
  const sizes = c.x.shape.dimensions;
  return (result) => gathered(result.shape, (index) =>
    list[offset(sizes, dimensions.map((d, i) => (sizes[i] === 1 ? 0 : index[d])))]);
}

/** reduce of a vector by an operation that the region consists of. */
function reduced(c, list, init) {
  const { operations } = c.region(0);
  const f = BINARY[operations[0]?.name.replace('stablehlo.', '')];
  if (operations.length !== 2 || !f || c.x.shape.rank !== 1 || c.in.length !== 2) return undefined;
  return [list.reduce(f, init[0])];
}

const ROWS = {
  ...Object.fromEntries(Object.entries(BINARY).map(([name, f]) => [name, perElement(f)])),
  ...Object.fromEntries(Object.entries(UNARY).map(([name, f]) => [name, perElement(f)])),
  compare: (c, x, y) => perElement((a, b) => (COMPARE[c.string('comparison_direction')](a, b) ? 1n : 0n))(c, x, y),
  select: perElement((pred, x, y) => (pred ? x : y)),
  clamp: perElement((low, x, high) => (x < low ? low : x > high ? high : x)),
  not: (c, x) => x.map((value) => (c.x.shape.elementType === 'pred' ? (value ? 0n : 1n) : ~value)),
  convert: (c, x) => (isInteger(c.x) ? x : undefined),
  reshape: (c, x) => x,
  dynamic_reshape: (c, x) => x,
  concatenate: concatenated,
  slice: sliced,
  transpose: transposed,
  broadcast_in_dim: broadcasted,
  dynamic_broadcast_in_dim: broadcasted,
  reduce: reduced,
};

/** Makes a constant of known values, in another computation. */
export function constantOfKnown(builder, { shape }, list) {
  const { Array: Natural, bits } = ELEMENT_TYPES.get(shape.elementType);
  const data = Natural.from(list, (value) => (bits === 64 ? value : Number(value)));
  return builder.constantLiteral(new Literal(shape, data));
}

/** Records the known values of an operation's results, or their formulas in terms of unknown values. */
export function foldKnown(c, results) {
  const [result] = results;
  if (results.length !== 1 || !result?.shape || !isInteger(result)) return;
  if (c.frame.known.has(result)) return;
  const list = fold(c, result);
  if (list) c.frame.known.set(result, list.map((value) => wrap(value, result.shape.elementType)));
  else setTerms(c, result);
}

/* ---- Differences of unknown values ---- */

const MOST_TERMS = 64; // elements of lists of indices

/** An unknown element: element `at` of the value `of`, plus a known number. */
class Term {
  constructor(of, at, plus) {
    this.of = of;
    this.at = at;
    this.plus = plus;
  }
}

const plus = (x, y) => (x instanceof Term ? new Term(x.of, x.at, x.plus + y) : x + y);

/** The elements of an operation's operand, each a number or a Term. */
function termsOf({ frame }, op) {
  const found = frame.known.get(op) ?? frame.terms.get(op);
  if (found || !op.shape.isArray || op.shape.isDynamic || op.shape.elementCount > MOST_TERMS) return found;
  return Array.from({ length: op.shape.elementCount }, (_, at) => new Term(op, at, 0n));
}

const isKnown = (list) => list.every((item) => !(item instanceof Term));

/** The operations that compose indices. One side of a sum or difference is known. */
const TERMS = {
  add: (c, x, y) => {
    if (!isKnown(x) && !isKnown(y)) return undefined;
    return isKnown(y) ? perElement(plus)(c, x, y) : perElement(plus)(c, y, x);
  },
  subtract: (c, x, y) => (isKnown(y) ? perElement((a, b) => plus(a, -b))(c, x, y) : undefined),
  ...Object.fromEntries(['reshape', 'dynamic_reshape', 'concatenate', 'slice', 'transpose', 'broadcast_in_dim',
    'dynamic_broadcast_in_dim', 'convert'].map((name) => [name, ROWS[name]])),
};

function setTerms(c, result) {
  const name = c.name.replace('stablehlo.', '');
  if (!Object.hasOwn(TERMS, name) || result.shape.elementCount > MOST_TERMS) return;
  const operands = name.startsWith('dynamic_') ? c.in.slice(0, 1) : c.in;
  const lists = operands.map((op) => isInteger(op) && termsOf(c, op));
  if (lists.includes(false) || lists.includes(undefined)) return;
  const made = TERMS[name](c, ...lists);
  const list = typeof made === 'function' ? made(result) : made;
  if (list) c.frame.terms.set(result, list);
}

/**
 * Returns the differences of two lists of integers. These may be unknown: the difference of a + 2 and a is 2.
 * @returns {(number | undefined)[] | undefined} undefined: they cannot be compared, or an element of them
 */
export function differences(c, left, right) {
  const [x, y] = [left, right].map((op) => isInteger(op) && termsOf(c, op));
  if (!x || !y || x.length !== y.length) return undefined;
  return x.map((a, i) => {
    const b = y[i];
    if (!(a instanceof Term) && !(b instanceof Term)) return Number(a) - Number(b);
    const isSame = a instanceof Term && b instanceof Term && a.of === b.of && a.at === b.at;
    return isSame ? Number(a.plus - b.plus) : undefined;
  });
}

function fold(c, result) {
  const name = c.name.replace('stablehlo.', '');
  if (name === 'constant') return numbersOf(c.attribute('value'))?.map(BigInt);
  if (name === 'get_dimension_size') {
    const dimension = c.int('dimension');
    return c.x.shape.dynamicDimensions[dimension] ? undefined : [BigInt(c.x.shape.dimensions[dimension])];
  }
  if (name === 'iota' || name === 'dynamic_iota') {
    const dimension = c.int('iota_dimension');
    return gathered(result.shape, (index) => BigInt(index[dimension]));
  }
  const lists = c.in.map((_, i) => c.known(i));
  const needed = name.startsWith('dynamic_') ? lists.slice(0, 1) : lists;
  if (!ROWS[name] || !needed.length || needed.some((list) => !list)) return undefined;
  const made = ROWS[name](c, ...needed);
  return typeof made === 'function' ? made(result) : made;
}
