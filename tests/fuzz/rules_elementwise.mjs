/** Rules that add element-wise operations, conversions and maps to a program. */
import { Literal } from '../../bindings/values/literal.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import {
  BYTES, COMPLEX, DECIDED, domain, FLOATS, FLOATS_8, INTEGERS, isComplex, isFloat, isInexact,
  mantissaOf, MOVED_ONLY, POWERS, productOf, SIGNED, union,
} from './domain.mjs';
import { randomChange } from './scalars.mjs';

/** Drops the sign and payload of NaNs: arithmetic decides neither. */
export const computed = (d) => (d.special ? { ...d, special: 2 } : d);

const ALL_FLOATS = [...FLOATS, ...FLOATS_8];
const NARROW = [...INTEGERS.filter((type) => !BYTES.includes(type)), ...FLOATS_8];

/* ---- Unary ---- */

const rounding = (type, d) => computed(domain(type, 0, d.highest + 1, d.special));
const UNARY = {
  abs: { types: [...SIGNED, ...ALL_FLOATS], domain: (_, d) => d },
  neg: { types: [...INTEGERS, ...ALL_FLOATS, ...COMPLEX], domain: (_, d) => d },
  not: { types: ['pred', ...INTEGERS], domain: () => DECIDED },
  clz: { types: INTEGERS, domain: () => DECIDED },
  populationCount: { types: INTEGERS, domain: () => DECIDED },
  sign: {
    types: [...SIGNED, ...ALL_FLOATS],
    domain: (type, d) => computed(domain(type, 0, 1, d.special)),
  },
  floor: { types: ALL_FLOATS, domain: rounding },
  ceil: { types: ALL_FLOATS, domain: rounding },
  round: { types: ALL_FLOATS, domain: rounding },
  roundNearestEven: { types: ALL_FLOATS, domain: rounding },
  sqrt: {
    types: ['f32', 'f64', 'f16'],
    domain: (type, d) =>
      domain(type, Math.floor(d.lowest / 2) - mantissaOf(type), Math.ceil(d.highest / 2) + 1, 2),
  },
  isFinite: { types: FLOATS, domain: () => DECIDED },
  real: { types: COMPLEX, domain: (_, d) => d },
  imag: { types: COMPLEX, domain: (_, d) => d },
  conj: { types: COMPLEX, domain: (_, d) => d },
  copy: { types: ['pred', ...INTEGERS, ...ALL_FLOATS, ...COMPLEX], domain: (_, d) => d },
  optimizationBarrier: { types: ['pred', ...INTEGERS, ...FLOATS], domain: (_, d) => d },
};

/** An operation of a table: one that takes the type that the program should have, if there is one. */
function operationOf(random, table) {
  const names = Object.keys(table), own = names.filter((name) => table[name].types.includes(random.type));
  return random.pick(own.length ? own : names);
}

function unary(p, random) {
  const name = operationOf(random, UNARY);
  const row = UNARY[name];
  const x = p.decided(row.types);
  const result = x && row.domain(x.shape.elementType, x.domain);
  const unfolded = UNFOLDED[name];
  return result && p.add(name, [x], result, (b, [a]) => b[name](a), unfolded && ((b, [a]) =>
    unfolded(b, a, x.shape.elementType)));
}

/* ---- Operations whose bits differ in XLA:CPU between constant folding and execution ---- */

/** Expressions for XLA in place of operations that it folds wrongly; both give the same results. */
const UNFOLDED = {
  // Folded, all but zeros are NaN (seed 311753).
  round: roundedWide('round'),
  roundNearestEven: roundedWide('roundNearestEven'),
  // Folded, that of -0 is 0.
  sign: (b, a, type) => (SIGNED.includes(type) ? b.sign(a)
    : b.select(b.eq(a, b.constantLiteral(Literal.zeros(`${type}[]`))), a, b.sign(a))),
};

function roundedWide(name) {
  return (b, a, type) => (type !== 'f8e3m4' ? b[name](a)
    : b.convertElementType(b[name](b.convertElementType(a, 'f32')), type));
}

/** Converting a number that is not positive gives NaN; XLA's folding converts its magnitude (seed 311114). */
function convertedToPower(b, a) {
  const type = a.shape.elementType;
  const isPositive = type === 'pred' ? a : b.gt(a, b.constantLiteral(Literal.zeros(`${type}[]`)));
  const none = b.broadcast(b.constantR0(NaN, POWERS), a.shape.dimensions);
  return b.select(isPositive, b.convertElementType(a, POWERS), none);
}

/* ---- Functions that are not correctly rounded: no step computes with their results ---- */

/**
 * The max difference of both sides in units in the last place: 4, our bound, plus XLA:CPU's measured
 * error (tests/golden/reference.py). For narrow types, both round a wider result.
 */
const functionTolerance = (type, own) =>
  ['f16', 'bf16'].includes(type) ? 'ulp 2' : `ulp ${4 + own}`;
const FUNCTIONS = {
  exp: 2, expm1: 6, log: 2, log1p: 4, logistic: 4, tanh: 7, sin: 2, cos: 2, tan: 4, cbrt: 2,
  rsqrt: 3, erf: 6,
};

function transcendental(p, random) {
  const name = random.pick(Object.keys(FUNCTIONS));
  const x = p.decided(FLOATS);
  if (!x || x.domain.highest > 4 || x.domain.lowest < -60) return null;
  const type = x.shape.elementType;
  // exp(-x) overflows in XLA.
  if (name === 'logistic' && x.domain.highest > 3 && type === 'f16') return null;
  // XLA:CPU was measured to be 129 off between -0.4143 and -0.36.
  const own = name === 'log1p' && type === 'f64' ? 132 : FUNCTIONS[name];
  const tolerance = functionTolerance(type, own);
  return p.add(name, [x], { lowest: -1000, highest: 1000, special: 2, tolerance }, (b, [a]) =>
    b[name](a));
}

/* ---- Binary ---- */

const whole = () => DECIDED;
const integral = [...INTEGERS];
const numeric = [...INTEGERS, ...ALL_FLOATS];
const sum = (type, a, b) =>
  domain(
    type, Math.min(a.lowest, b.lowest), Math.max(a.highest, b.highest) + 1,
    a.special || b.special ? 2 : 0);
const either = (type, a, b) => isInexact(type) ? computed(union(type, [a, b])) : DECIDED;
const product = (type, a, b) =>
  isComplex(type) && (a.special || b.special) ? null : productOf(type, a, b);
const BINARY = {
  add: { types: ['pred', ...numeric, ...COMPLEX], domain: sum },
  sub: { types: [...numeric, ...COMPLEX], domain: sum },
  mul: { types: ['pred', ...numeric, ...COMPLEX], domain: product },
  div: {
    types: [...integral, 'f16', 'bf16', 'f32', 'f64'],
    domain: (type, a, b) =>
      domain(type, a.lowest - b.highest - mantissaOf(type) - 1, a.highest - b.lowest + 1, 2),
  },
  rem: {
    types: [...integral, 'f16', 'f32', 'f64'],
    domain: (type, a, b) => domain(type, Math.min(a.lowest, b.lowest), a.highest, 2),
  },
  max: { types: ['pred', ...numeric], domain: either },
  min: { types: ['pred', ...numeric], domain: either },
  and: { types: ['pred', ...integral], domain: whole },
  or: { types: ['pred', ...integral], domain: whole },
  xor: { types: ['pred', ...integral], domain: whole },
  shiftLeft: { types: integral, domain: whole },
  shiftRightArithmetic: { types: integral, domain: whole },
  shiftRightLogical: { types: integral, domain: whole },
  pow: { types: integral, domain: whole },
  complex: { types: ['f32', 'f64'], domain: (type, a, b) => union(type, [a, b]) },
};

/** Operands of a binary operation, which may differ by broadcasting; see XLA's page on it. */
function binaryOperands(p, random, x) {
  const { shape } = x;
  const way = random.fraction();
  if (way < 0.7) return [p.like(x), undefined];
  if (way < 0.8) return [p.fresh(shape.elementType, []), undefined];
  if (way < 0.9) {
    const dimensions = shape.dimensions.map((size) => (random.chance(0.4) ? 1 : size));
    return [p.fresh(shape.elementType, dimensions), undefined];
  }
  const kept = random.some(shape.dimensions.map((_, i) => i));
  return [p.fresh(shape.elementType, kept.map((i) => shape.dimensions[i])), kept];
}

function binary(p, random) {
  const name = operationOf(random, BINARY);
  const row = BINARY[name];
  const x = p.decided(row.types);
  if (!x) return null;
  const [y, dimensions] = binaryOperands(p, random, x);
  const type = x.shape.elementType;
  const [l, r] = dimensions || random.chance(0.5) ? [x, y] : [y, x];
  const result = isInexact(type) ? row.domain(type, l.domain, r.domain) : DECIDED;
  return result && p.add(name, [l, r], result, (b, ops) => b[name](...ops, dimensions));
}

function approximateBinary(p, random) {
  const name = random.pick(['pow', 'atan2']);
  const x = p.decided(['f16', 'bf16', 'f32', 'f64']);
  if (!x || x.domain.highest > 4 || x.domain.lowest < -60) return null;
  const type = x.shape.elementType;
  const y = p.fresh(type, x.shape.dimensions, 'quarters');
  return p.add(
    name, [x, y],
    { lowest: -1000, highest: 1000, special: 2, tolerance: functionTolerance(type, 4) },
    (b, [l, r]) => b[name](l, r));
}

/* ---- Comparing and choosing ---- */

function compare(p, random) {
  const x = p.decided();
  if (!x) return null;
  const type = x.shape.elementType;
  const [y, dimensions] = binaryOperands(p, random, x);
  const known = x.domain.special < 2 && y.domain.special < 2;
  const directions = isComplex(type) ? ['eq', 'ne'] : ['eq', 'ne', 'ge', 'gt', 'le', 'lt'];
  const direction = random.pick(directions);
  const total = isFloat(type) && known && random.chance(0.4) ? 'TotalOrder' : '';
  return p.add('compare', [x, y], DECIDED, (b, [l, r]) => b[direction + total](l, r, dimensions));
}

function select(p, random) {
  const x = p.decided();
  if (!x) return null;
  const y = p.like(x);
  const result = union(x.shape.elementType, [x.domain, y.domain]);
  const pred = random.chance(0.2) ? p.fresh('pred', []) : p.like(x, 'pred');
  return p.add('select', [pred, x, y], result, (b, [c, l, r]) => b.select(c, l, r));
}

function clamp(p, random) {
  const x = p.decided(numeric);
  if (!x) return null;
  const bound = () => (random.chance(0.4) ? p.fresh(x.shape.elementType, []) : p.like(x));
  const [low, high] = [bound(), bound()];
  const result = union(x.shape.elementType, [low.domain, x.domain, high.domain]);
  return p.add('clamp', [low, x, high], computed(result), (b, [l, v, h]) => b.clamp(l, v, h));
}

/* ---- Types ---- */

function convert(p, random) {
  const x = p.decided();
  if (!x) return null;
  const from = x.shape.elementType;
  const any = ['pred', ...INTEGERS, ...ALL_FLOATS, POWERS, 'f32', 's32', ...COMPLEX];
  const to = random.pick(isComplex(from) ? COMPLEX : any);
  const { lowest, highest, special } = x.domain;
  const bits = (type) => ELEMENT_TYPES.get(type).bits;
  // XLA:CPU crashes when it compiles `and` or `or` of what was a wider signed integer.
  const fragile = SIGNED.includes(from) && INTEGERS.includes(to) && bits(to) < bits(from);
  const result = isInexact(from) ? domain(to, lowest, highest + 1, special && 2)
    : fragile ? MOVED_ONLY : domain(to, 0, bits(from) + 1, 0);
  return result && p.add('convert', [x], result, (b, [a]) => b.convertElementType(a, to),
    to === POWERS ? (b, [a]) => convertedToPower(b, a) : undefined);
}

const BITS = [...INTEGERS, ...ALL_FLOATS, POWERS];

/** The result may have any bits, so floats made from it are only moved, never computed with. */
function bitcast(p, random) {
  const x = p.any(({ shape, domain }) => !domain.tolerance && domain.special < 2 &&
    BITS.includes(shape.elementType));
  if (!x) return null;
  const { elementType: type, dimensions } = x.shape;
  const bits = (name) => ELEMENT_TYPES.get(name).bits;
  const same = BITS.filter((name) => bits(name) === bits(type));
  const to = random.pick(random.chance(0.5) ? same : BITS);
  if (bits(to) > bits(type) && dimensions.at(-1) !== bits(to) / bits(type)) return null;
  const result = isInexact(to)
    ? { lowest: -Infinity, highest: Infinity, special: 1 } : DECIDED;
  return p.add('bitcast-convert', [x], result, (b, [a]) => b.bitcastConvertType(a, to));
}

function reducePrecision(p, random) {
  const x = p.decided(FLOATS);
  if (!x) return null;
  const [exponent, mantissa] = [random.between(5, 11), random.between(1, 23)];
  const { lowest, highest, special } = x.domain;
  const result = domain(x.shape.elementType, lowest, highest + 1, special || highest > 14 ? 2 : 0);
  return result && p.add('reduce-precision', [x], result, (b, [a]) =>
    b.reducePrecision(a, exponent, mantissa));
}

/* ---- A user's computation ---- */

/** XLA:CPU computes some integers narrower than a byte in their own width, and some in eight bits. */
function map(p, random) {
  const x = p.decided(['pred', ...BYTES, 'f16', 'f32', 'f64', ...COMPLEX]);
  if (!x) return null;
  const type = x.shape.elementType;
  const y = p.like(x);
  const change = randomChange(random, type);
  const result = computed(union(type, [x.domain, y.domain]));
  return p.add('map', [x, y], result, (b, operands) => {
    const inner = b.createSubBuilder('mapped');
    const [l, r] = [0, 1].map((i) => inner.parameter(i, `${type}[]`));
    return b.map(operands, inner.build(change(inner, l, inner.copy(r))));
  });
}

function chain(p, random) {
  const x = p.decided();
  if (!x || NARROW.includes(x.shape.elementType)) return null;
  const type = x.shape.elementType;
  const y = p.like(x);
  const change = randomChange(random, type);
  return p.add('chain', [x, y], computed(union(type, [x.domain, y.domain])), (b, [l, r]) =>
    b.copy(change(b, l, r)));
}

export const elementwiseRules = {
  unary, transcendental, binary, approximateBinary, compare, select, clamp, convert, bitcast,
  reducePrecision, map, chain,
};
