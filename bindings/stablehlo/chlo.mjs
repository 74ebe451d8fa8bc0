/** CHLO: the operations of client libraries, as operations of HLO or decomposed into them as XLA does. */
import { Maths } from '../builder/functions/maths.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { complexFunctions, realFunctions } from './chlo_math.mjs';
import { malformed } from './ir.mjs';
import { arities, broadcastInDim, constantOfDense, ELEMENTWISE, operations, precisions } from './operations.mjs';
import { COMPLEX, REAL } from './types.mjs';

/** Functions of narrower types that are computed in f32. */
const WIDENED = new Set(['bessel_i1e', 'digamma', 'erf_inv', 'erfc', 'lgamma', 'polygamma', 'zeta']);

const isNarrow = (elementType) => ELEMENT_TYPES.get(elementType).bits < 32;

/** Functions that HLO has, too. Of complex numbers, the formulas of the first five are faster. */
const OF_HLO = ['acos', 'acosh', 'asin', 'asinh', 'atanh', 'cosh', 'sinh', 'erf'];

const ofHlo = (name) => (c) => (REAL[c.x.shape.elementType] && complexFunctions[name] ? ofComplex(c, name) : c.b[name](c.x));

/** Real or complex, and widened where XLA widens. */
function computed(name) {
  return (c) => {
    const { elementType } = c.x.shape;
    const { kind } = ELEMENT_TYPES.get(elementType);
    if (REAL[elementType]) return ofComplex(c, name);
    if (kind !== 'float' && name !== 'square') throw malformed(`is of floats, not of ${elementType}`);
    const wide = WIDENED.has(name) && isNarrow(elementType) ? 'f32' : elementType;
    const operands = wide === elementType
      ? c.in : c.in.map((x) => c.b.convertElementType(x, wide));
    const result = realFunctions[name](new Maths(c.b, wide), ...operands);
    return wide === elementType ? result : c.b.convertElementType(result, elementType);
  };
}

function ofComplex(c, name) {
  if (complexFunctions[name]) {
    const m = new Maths(c.b, REAL[c.x.shape.elementType]);
    const [re, im] = complexFunctions[name](m, c.b.real(c.x), c.b.imag(c.x));
    return c.b.complex(re, im);
  }
  throw malformed(`is not of complex numbers: ${c.x.shape}`);
}

const test = (value, absolute) => (c) => {
  const x = absolute ? c.b.abs(c.x) : c.x;
  return c.b.eq(x, c.b.constantR0(value, x.shape.elementType));
};

/** The neighbour of x towards y, by its bits. */
function nextAfter(c) {
  const { b } = c;
  const { elementType } = c.x.shape;
  const { bits } = ELEMENT_TYPES.get(elementType);
  const m = new Maths(b, `s${bits}`);
  const [x, y] = c.in.map((value) => b.bitcastConvertType(value, `s${bits}`));
  const exact = (value) => (bits === 64 ? value : Number(value));
  const sign = exact(BigInt.asIntN(bits, 1n << BigInt(bits - 1)));
  const rest = exact((1n << BigInt(bits - 1)) - 1n);
  const [xSize, ySize] = [x, y].map((value) => b.and(value, m.k(rest)));
  const [xSign, ySign] = [x, y].map((value) => b.and(value, m.k(sign)));
  const shrinks = b.or(m.gt(xSize, ySize), b.ne(xSign, ySign));
  const stepped = m.add(x, m.select(shrinks, -1, 1));
  const fromZero = m.select(m.eq(ySize, 0), y, b.or(ySign, m.k(1)));
  const moved = m.select(m.eq(xSize, 0), fromZero, stepped);
  const result = b.bitcastConvertType(m.select(b.eq(c.in[0], c.in[1]), y, moved), elementType);
  const isNaN = b.or(b.ne(c.in[0], c.in[0]), b.ne(c.in[1], c.in[1]));
  return new Maths(b, elementType).select(isNaN, NaN, result);
}

/** The high half of the product of two integers. */
function mulhi(c, [x, y] = c.in) {
  const { b } = c;
  const { elementType } = x.shape;
  const { bits, kind } = ELEMENT_TYPES.get(elementType);
  if (kind !== 'signed' && kind !== 'unsigned') throw malformed(`is of integers, not ${elementType}`);
  if (bits < 64) {
    const wide = `${elementType[0]}${bits < 8 ? 8 : 2 * bits}`;
    const product = b.mul(b.convertElementType(x, wide), b.convertElementType(y, wide));
    const shift = b.constantR0(bits, wide);
    const high = kind === 'signed'
      ? b.shiftRightArithmetic(product, shift) : b.shiftRightLogical(product, shift);
    return b.convertElementType(high, elementType);
  }
  if (kind === 'unsigned') return mulhiU64(b, x, y);
  const [ux, uy] = [x, y].map((value) => b.bitcastConvertType(value, 'u64'));
  const m = new Maths(b, 's64');
  const u = new Maths(b, 'u64');
  let high = mulhiU64(b, ux, uy);
  high = b.sub(high, u.select(m.lt(x, 0), uy, 0));
  high = b.sub(high, u.select(m.lt(y, 0), ux, 0));
  return b.bitcastConvertType(high, 's64');
}

function mulhiU64(b, x, y) {
  const m = new Maths(b, 'u64');
  const high = (value) => b.shiftRightLogical(value, m.k(32));
  const low = (value) => b.and(value, m.k(0xffffffff));
  const middle = b.add(b.mul(low(x), high(y)), high(b.mul(low(x), low(y))));
  const other = b.add(b.mul(high(x), low(y)), low(middle));
  return b.add(b.add(b.mul(high(x), high(y)), high(middle)), high(other));
}

function topK(c) {
  const k = c.has('k') ? c.int('k') : c.sizes(1)[0];
  return c.b.topK(c.x, k, true);
}

function raggedDot(c) {
  const numbers = (name) => c.ints(name, []);
  return c.b.raggedDot(c.in[0], c.in[1], c.in[2], {
    dotDimensionNumbers: {
      lhsBatchDimensions: numbers('lhs_batching_dimensions'),
      rhsBatchDimensions: numbers('rhs_batching_dimensions'),
      lhsContractingDimensions: numbers('lhs_contracting_dimensions'),
      rhsContractingDimensions: numbers('rhs_contracting_dimensions'),
    },
    lhsRaggedDimensions: numbers('lhs_ragged_dimensions'),
    rhsGroupDimensions: numbers('rhs_group_dimensions'),
  }, precisions(c)?.map((word) => word.toUpperCase()));
}

function scan(c) {
  const segments = c.ints('operandSegmentSizes', []);
  const count = segments[0] ?? c.in.length / 2;
  const dimension = c.int('dimension');
  const region = c.region(0);
  const size = c.in[0]?.shape.dimensions[dimension] ?? c.int('scan_dim_size');
  return c.b.scan(c.in.slice(0, count), c.in.slice(count), c.computation(0), dimension, {
    scanDimensionSize: region && size, isReverse: c.bool('is_reverse'),
    isAssociative: c.has('is_associative') ? c.bool('is_associative') : undefined,
  });
}

/* ---- Broadcasting as in NumPy ---- */

/** Broadcasts both operands to their common sizes. */
function broadcastOperands(c, operands) {
  const rank = Math.max(...operands.map(({ shape }) => shape.rank));
  const places = operands.map(({ shape }, i) => {
    const given = c.has('broadcast_dimensions') && shape.rank < rank && i < 2;
    return given ? c.ints('broadcast_dimensions') : shape.dimensions.map((_, d) => rank - shape.rank + d);
  });
  const sizes = Array(rank).fill(1);
  operands.forEach(({ shape }, i) => shape.dimensions.forEach((size, d) => {
    const at = places[i][d];
    if (sizes[at] !== 1 && size !== 1 && sizes[at] !== size) {
      throw malformed(`operands ${operands.map((x) => x.shape).join(' and ')} do not broadcast`);
    }
    if (size !== 1) sizes[at] = size;
  }));
  return operands.map((x, i) => (x.shape.rank === rank && sizes.every((n, d) => n === x.shape.dimensions[d])
    ? x : broadcastInDim(c.b, x, sizes, places[i])));
}

/** Operations that also exist as broadcast_NAME. */
const BROADCASTING = {
  2: `${ELEMENTWISE[2]} compare next_after polygamma zeta`,
  3: 'select',
};

const rows = (names, row, dialect = 'chlo') => Object.fromEntries(names.map((name) => [`${dialect}.${name}`, row(name)]));

const plain = {
  ...rows(Object.keys(realFunctions), computed),
  ...rows(OF_HLO, ofHlo),
  'chlo.next_after': nextAfter,
};

const broadcasting = Object.fromEntries(Object.values(BROADCASTING).join(' ').split(' ').map((name) => {
  const row = operations[`stablehlo.${name}`] ?? plain[`chlo.${name}`];
  return [`chlo.broadcast_${name}`, (c) => {
    c.in = broadcastOperands(c, c.in);
    return row(c);
  }];
}));

function constantLike(c) {
  const value = c.attribute('value');
  const { elementType, dimensions } = c.x.shape;
  const data = value?.value ?? value;
  const scalar = ArrayBuffer.isView(data)
    ? c.b.constant(ELEMENT_TYPES.get(elementType).read(data, 0), `${elementType}[]`)
    : c.b.constantR0(typeof data === 'boolean' ? data : exact(data, elementType), elementType);
  return c.b.broadcastInDim(scalar, [...dimensions], []);
}

const exact = (value, elementType) => (/^[su]64$/.test(elementType) ? BigInt(value) : Number(value));

function conj(c) {
  return COMPLEX[REAL[c.x.shape.elementType]] ? c.b.conj(c.x) : c.x;
}

/** MHLO, StableHLO's origin: operations in XLA's own dumps that StableHLO lacks. */
const mhlo = {
  'mhlo.add_dependency': (c) => c.emit('add-dependency', c.in),
  'mhlo.bitcast': (c) => c.emit('bitcast', [c.x], {}, c.shape()),
  'mhlo.copy': (c) => c.emit('copy', [c.x]),
  'mhlo.topk': (c) => c.b.topK(c.x, c.int('k'), !c.has('largest') || c.bool('largest')),
  'mhlo.ragged_dot': raggedDot,
  'mhlo.scan': scan,
  'mhlo.stochastic_convert': (c) => c.b.stochasticConvertType(c.in[0], c.in[1], c.elementType()),
  ...rows(OF_HLO, (name) => (c) => c.b[name](c.x), 'mhlo'),
};

/** JAX exports functions of CHLO as composites. Real ones that HLO has become its operations, as their slopes are exact. */
function composite(c) {
  const name = OF_HLO.find((known) => c.string('name', '') === `chlo.${known}`);
  const isKnown = name && c.in.length === 1 && ELEMENT_TYPES.get(c.x.shape.elementType)?.kind === 'float';
  return isKnown ? c.b[name](c.x) : c.lowering.call(c.string('decomposition'), c.frame, c.in, c.operation);
}

export const chlo = {
  ...mhlo,
  ...plain,
  ...broadcasting,
  'chlo.tan': (c) => c.b.tan(c.x),
  'chlo.conj': conj,
  'chlo.is_inf': test(Infinity, true),
  'chlo.is_pos_inf': test(Infinity, false),
  'chlo.is_neg_inf': test(-Infinity, false),
  'chlo.mulhi': (c) => mulhi(c),
  'chlo.top_k': topK,
  'chlo.ragged_dot': raggedDot,
  'chlo.scan': scan,
  'chlo.constant': (c) => constantOfDense(c.b, c.attribute('value'), c.name),
  'chlo.constant_like': constantLike,
  'stablehlo.composite': composite,
};

export const chloArity = {
  ...arities('chlo.', {
    1: 'acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf ' +
      'lgamma sinh square tan constant_like top_k',
    2: 'next_after polygamma zeta mulhi',
    3: 'ragged_dot',
  }),
  ...arities('chlo.broadcast_', BROADCASTING),
};
