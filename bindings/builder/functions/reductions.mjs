/** Reductions along axes, with JAX's names and definitions. Without `axis` they reduce the whole array. */
import { invalidArgument } from '../../base/error.mjs';
import { boolean, integer, op, optional, row } from '../arguments.mjs';
import { asFloat, axes, axesOf, axisOf, highest, inAtLeastF32, iotaLike, kindOf, lowest, needFloats, shaped, spread } from './axes.mjs';

const parameters = { operand: op, axis: optional(axes), keepDims: optional(boolean, false) };

/** A row whose function makes the reduced value of an operand over these dimensions. */
const reduction = (name, reduce) => row(name, parameters, (_emit, { operand, axis, keepDims }, b) => {
  const dimensions = axesOf(name, axis, operand.shape);
  return shaped(b, reduce(b, operand, dimensions), operand, dimensions, keepDims);
});

/** The number of elements that are reduced to one. */
const count = ({ shape }, dimensions) =>
  dimensions.reduce((product, dimension) => product * shape.dimensions[dimension], 1);

export function sum(b, x, dimensions) {
  const terms = kindOf(x) === 'pred' ? b.convertElementType(x, 's32') : x;
  return inAtLeastF32(b, terms, (wide) => b.reduce(wide, 0, 'add', dimensions));
}

export function mean(b, x, dimensions) {
  return inAtLeastF32(b, asFloat(b, x), (floats) => b.div(sum(b, floats, dimensions), count(x, dimensions)));
}

/** The mean of |x - mean|^2. */
export function variance(b, x, dimensions) {
  return inAtLeastF32(b, asFloat(b, x), (floats) => {
    const from = b.sub(floats, spread(b, mean(b, floats, dimensions), x, dimensions));
    const square = kindOf(x) === 'complex' ? b.real(b.mul(from, b.conj(from))) : b.mul(from, from);
    return mean(b, square, dimensions);
  });
}

export const max = (b, x, dimensions) => b.reduce(x, lowest(x.shape.elementType), 'max', dimensions);
export const min = (b, x, dimensions) => b.reduce(x, highest(x.shape.elementType), 'min', dimensions);

/** log(sum(exp(x - m))) + m, where m is the maximum, or 0 if that is infinite or NaN. */
export function logSumExp(b, x, dimensions) {
  needFloats('logsumexp', 'operand', x);
  const highestOf = max(b, x, dimensions);
  const m = b.select(b.isFinite(highestOf), highestOf, 0);
  const e = b.exp(b.sub(x, spread(b, m, x, dimensions)));
  return b.add(b.log(sum(b, e, dimensions)), m);
}

/**
 * The index of the first extreme element, s32; a NaN counts as one. `better` names the comparison, and `worst` gives a value
 * that no element is worse than.
 */
function argOf(name, better, worst) {
  const along = { operand: op, axis: optional(integer), keepDims: optional(boolean, false) };
  return row(name, along, (_emit, { operand, axis, keepDims }, b) => {
    const { rank, elementType } = operand.shape;
    if (rank === 0) throw invalidArgument(name, `operand is the scalar ${operand.shape}; it must have an axis`);
    const flat = axis === undefined ? b.reshape(operand, [operand.shape.elementCount]) : operand;
    const dimension = axis === undefined ? 0 : axisOf(name, axis, rank);
    if (!flat.shape.dimensions[dimension]) throw invalidArgument(name, `operand is ${operand.shape}; it must have an element to choose`);
    const pick = (inner, value, index, other, otherIndex) => {
      const [isNan, otherIsNan] = [inner.ne(value, value), inner.ne(other, other)];
      const isBetter = inner.or(inner[better](other, value), inner.and(otherIsNan, inner.not(isNan)));
      const isTie = inner.or(inner.eq(other, value), inner.and(otherIsNan, isNan));
      const isFirst = inner.or(isBetter, inner.and(isTie, inner.lt(otherIndex, index)));
      return [inner.select(isBetter, other, value), inner.select(isFirst, otherIndex, index)];
    };
    const indices = iotaLike(b, flat, dimension, 's32');
    const none = b.constantR0(2 ** 31 - 1, 's32');
    const both = b.reduce([flat, indices], [b.constantR0(worst(elementType), elementType), none], pick, [dimension]);
    return shaped(b, b.getTupleElement(both, 1), operand, axesOf(name, axis, operand.shape), keepDims);
  });
}

const cumsum = row(
  'cumsum',
  { operand: op, axis: optional(integer), reverse: optional(boolean, false) },
  (_emit, { operand, axis, reverse }, b) => {
    const terms = kindOf(operand) === 'pred' ? b.convertElementType(operand, 's32') : operand;
    const x = axis === undefined ? b.reshape(terms, [operand.shape.elementCount]) : terms;
    const { rank, dimensions } = x.shape;
    const dimension = axis === undefined ? 0 : axisOf('cumsum', axis, rank);
    const size = dimensions[dimension];
    if (size === 0) return x;
    const at = (value, other) => dimensions.map((_, i) => (i === dimension ? value : other));
    const padding = dimensions.map((_, i) => (i !== dimension ? [0, 0] : reverse ? [0, size - 1] : [size - 1, 0]));
    const ones = at(1, 1);
    return b.reduceWindowWithGeneralPadding(x, 0, 'add', at(size, 1), ones, ones, ones, padding);
  },
);

export const reductions = {
  sum: reduction('sum', sum),
  mean: reduction('mean', mean),
  variance: reduction('variance', variance),
  logsumexp: reduction('logsumexp', logSumExp),
  argmax: argOf('argmax', 'gt', lowest),
  argmin: argOf('argmin', 'lt', highest),
  cumsum,
};

/** Of one operand, max and min reduce it. */
export const extremes = { max: reduction('max', max), min: reduction('min', min) };
