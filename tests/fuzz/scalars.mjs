/** Small computations of scalars, for the operations that call one. */
import { ELEMENT_TYPES } from '../../bindings/types.mjs';
import { isComplex, isFloat, isInteger, sumOf } from './domain.mjs';

/** A computation `(x, y) -> b[method](x, y)`. */
export function binaryComputation(b, type, method) {
  const inner = b.createSubBuilder(method);
  const x = inner.parameter(0, `${type}[]`, 'x');
  const y = inner.parameter(1, `${type}[]`, 'y');
  return inner.build(inner[method](x, y));
}

/**
 * A method to reduce `count` elements of a domain with, the order of which doesn't matter.
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
  return isComplex(type) ? null : { method: random.pick(['max', 'min']), domain };
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
  ];
  const choices = kind === 'pred' ? pred : kind === 'complex' ? complex
    : isFloat(type) ? float : integer;
  const chain = Array.from({ length: random.between(1, 3) }, () => random.pick(choices));
  return (b, x, y) => chain.reduce((value, change) => change(b, value, y), x);
}
