/** Small computations of scalars, for the operations that call one. */
import { Literal } from '../../bindings/values/literal.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { isComplex, isFloat, isInteger, sumOf } from './domain.mjs';

/** A computation `(x, y) -> b[method](x, y)`. */
export function binaryComputation(b, type, method) {
  const inner = b.createSubBuilder(method);
  const x = inner.parameter(0, `${type}[]`, 'x');
  const y = inner.parameter(1, `${type}[]`, 'y');
  return inner.build(inner[method](x, y));
}

/**
 * Returns a method that reduces `count` elements of a domain and gives the same result in any order.
 * @returns {{method: string, domain: object} | null}
 */
export function reducer(random, type, domain, count) {
  const { kind } = ELEMENT_TYPES.get(type);
  if (kind === 'pred') return { method: random.pick(['and', 'or']), domain };
  if (isInteger(type)) {
    return { method: random.pick(['add', 'mul', 'max', 'min', 'and', 'or', 'xor']), domain };
  }
  const sum = sumOf(type, domain, count + 1);
  if (sum && (isComplex(type) || random.chance(0.6))) return { method: 'add', domain: sum };
  // XLA:CPU loses the NaNs of long ones: docs/differences.md.
  if (isComplex(type) || (domain.special && count > 1000)) return null;
  return { method: random.pick(['max', 'min']), domain };
}

/** Initial values are identities: XLA may add an initial value several times. */
export function identity(type, method) {
  const { limits, bits, kind } = ELEMENT_TYPES.get(type);
  const value = {
    add: 0, or: 0, xor: 0, mul: 1, max: limits?.[0], min: limits?.[1],
    and: kind === 'unsigned' ? limits[1] : -1,
  }[method];
  const whole = typeof value === 'number' && bits === 64 && kind !== 'float' && kind !== 'complex';
  const element = kind === 'pred' ? method === 'and' : whole ? BigInt(value) : value;
  return Literal.from(element, `${type}[]`);
}

/* ---- Laws: what a reduction may apply in any order ---- */

const LAWS = ['add', 'mul', 'max', 'min', 'and', 'or', 'xor'];

/**
 * A commutative and associative function of two scalars that has an identity: of integers, one of
 * the known ones, seen through a bijection f, as f'(f(x) + f(y)) where f' undoes f.
 * @returns {{ apply: (b, x, y) => object, identity: Literal, domain: object } | null}
 */
export function randomLaw(random, type, domain, count) {
  const { bits, kind } = ELEMENT_TYPES.get(type);
  if (!isInteger(type) || bits < 8 || random.chance(0.3)) {
    const how = reducer(random, type, domain, count);
    return how && {
      apply: (b, x, y) => b[how.method](x, y),
      identity: identity(type, how.method),
      domain: how.domain,
    };
  }
  const fit = (x) => (kind === 'signed' ? BigInt.asIntN(bits, x) : BigInt.asUintN(bits, x));
  const [mask, offset] = [random.bigBits(), random.bigBits()].map(fit);
  const method = random.pick(LAWS);
  const none = BigInt(identity(type, method).toArray());
  const literal = (x) => Literal.from(bits === 64 ? fit(x) : Number(fit(x)), `${type}[]`);
  const to = (b, x) => b.add(b.xor(x, b.constantLiteral(literal(mask))),
    b.constantLiteral(literal(offset)));
  const back = (b, x) => b.xor(b.sub(x, b.constantLiteral(literal(offset))),
    b.constantLiteral(literal(mask)));
  return {
    apply: (b, x, y) => back(b, b[method](to(b, x), to(b, y))),
    identity: literal((none - offset) ^ mask),
    domain,
  };
}

/** (x0, x1, …, y0, y1, …) -> the results of the laws for each pair. */
export function lawsComputation(b, types, laws) {
  return pairsComputation(b, types, (inner, xs, ys) =>
    laws.map((law, i) => law.apply(inner, xs[i], ys[i])));
}

/** The first function is the maximum. The other values come from the larger side; for equal ones they are combined. */
export function coupledComputation(b, types, laws) {
  return pairsComputation(b, types, (inner, xs, ys) => {
    const [larger, smaller] = [inner.gt(xs[0], ys[0]), inner.lt(xs[0], ys[0])];
    const rest = laws.slice(1).map((law, i) => {
      const [x, y] = [xs[i + 1], ys[i + 1]];
      return inner.select(larger, x, inner.select(smaller, y, law.apply(inner, x, y)));
    });
    return [inner.max(xs[0], ys[0]), ...rest];
  });
}

function pairsComputation(b, types, results) {
  const inner = b.createSubBuilder('laws');
  const all = [...types, ...types].map((type, i) => inner.parameter(i, `${type}[]`));
  const values = results(inner, all.slice(0, types.length), all.slice(types.length));
  return inner.build(values.length === 1 ? values[0] : inner.tuple(values));
}

/**
 * How a float, a predicate or an integer is changed by a few random operations that leave its
 * domain (of both `x` and `y`) as it is. Returns (b, x, y) => op.
 */
export function randomChange(random, type) {
  const { kind } = ELEMENT_TYPES.get(type);
  const float = [
    (b, x, y) => b.max(x, y), (b, x, y) => b.min(x, y), (b, x) => b.neg(x), (b, x) => b.abs(x),
    (b, x, y) => b.select(b.lt(x, y), y, x), (b, x, y) => b.select(b.ge(x, y), x, b.neg(y)),
  ];
  const integer = [
    ...['add', 'sub', 'mul', 'max', 'min', 'and', 'or', 'xor', 'div', 'rem', 'shiftLeft',
      'shiftRightLogical', 'shiftRightArithmetic'].map((name) => (b, x, y) => b[name](x, y)),
    (b, x) => b.not(x), (b, x) => (kind === 'unsigned' ? b.clz(x) : b.not(x)),
    (b, x) => b.populationCount(x),
    (b, x, y) => b.select(b.gt(x, y), x, y),
  ];
  const pred = [
    (b, x, y) => b.and(x, y), (b, x, y) => b.or(x, y), (b, x, y) => b.xor(x, y),
    (b, x) => b.not(x), (b, x, y) => b.eq(x, y), (b, x, y) => b.select(x, y, x),
  ];
  const complex = [
    (b, x) => b.neg(x), (b, x) => b.conj(x), (b, x, y) => b.select(b.eq(x, y), x, y),
    (b, x) => b.complex(b.imag(x), b.real(x)), (b, x, y) => b.complex(b.neg(b.imag(y)), b.real(x)),
    (b, x, y) => b.complex(b.real(y), b.imag(x)),
  ];
  const choices = kind === 'pred' ? pred : kind === 'complex' ? complex
    : isFloat(type) ? float : integer;
  const chain = Array.from({ length: random.between(1, 3) }, () => random.pick(choices));
  return (b, x, y) => chain.reduce((value, change) => change(b, value, y), x);
}
