/**
 * Axes of an array, as JAX and NumPy number them: a negative one counts from the last dimension. Shared by the
 * functions that reduce, or go along, some of an operand's dimensions.
 */
import { invalidArgument } from '../../base/error.mjs';
import { Shape } from '../../values/shape.mjs';
import { ELEMENT_TYPES } from '../../values/types.mjs';
import { either, integer, integers } from '../arguments.mjs';

export const axes = either(integer, integers);

/** The dimension that `axis` means in an array of this rank. */
export function axisOf(operation, axis, rank) {
  const dimension = axis < 0 ? axis + rank : axis;
  if (dimension >= 0 && dimension < rank) return dimension;
  throw invalidArgument(operation, `axis ${axis} is none of an array of rank ${rank}; axes go from ${-rank} to ${rank - 1}`);
}

/** The dimensions that an optional argument of one or several axes means, in order; without one, all. */
export function axesOf(operation, axis, { rank }) {
  if (axis === undefined) return Array.from({ length: rank }, (_, i) => i);
  const dimensions = new Set();
  for (const one of [axis].flat()) {
    const dimension = axisOf(operation, one, rank);
    if (dimensions.has(dimension)) throw invalidArgument(operation, `axis ${dimension} is stated twice`);
    dimensions.add(dimension);
  }
  return [...dimensions].sort((a, b) => a - b);
}

/** Repeats a reduced value along the axes that were reduced, so that it has the operand's shape again. */
export function spread(b, reduced, { shape }, dimensions) {
  const kept = shape.dimensions.map((_, i) => i).filter((i) => !dimensions.includes(i));
  return b.broadcastInDim(reduced, [...shape.dimensions], kept);
}

/** The reduced value, with dimensions of size 1 in the place of the reduced ones if they are kept. */
export function shaped(b, reduced, { shape }, dimensions, keepDims) {
  if (!keepDims) return reduced;
  return b.reshape(reduced, shape.dimensions.map((size, i) => (dimensions.includes(i) ? 1 : size)));
}

export const kindOf = ({ shape }) => ELEMENT_TYPES.get(shape.elementType)?.kind;
export const isFloating = (x) => kindOf(x) === 'float' || kindOf(x) === 'complex';

export const isInteger = (x) => ['signed', 'unsigned'].includes(kindOf(x));

/** Integers and predicates as f32, as JAX promotes them where a function makes fractions. */
export const asFloat = (b, x) => (isFloating(x) ? x : b.convertElementType(x, 'f32'));

/** Narrower floats than f32 as f32. */
export const atLeastF32 = (b, x) =>
  (kindOf(x) === 'float' && ELEMENT_TYPES.get(x.shape.elementType).bits < 32 ? b.convertElementType(x, 'f32') : x);

/**
 * Computes with narrower floats than f32 in f32, and converts the result back. JAX does so for sums: in f16 they overflow,
 * and bf16 has no count above 256.
 */
export function inAtLeastF32(b, x, compute) {
  const wide = atLeastF32(b, x);
  return wide === x ? compute(x) : b.convertElementType(compute(wide), x.shape.elementType);
}

/** Throws unless the operand is an array of real floats. */
export function needFloats(operation, argument, x) {
  if (kindOf(x) === 'float') return;
  throw invalidArgument(operation, `${argument} is ${x.shape}; it must be an array of floats`);
}

/** Repeats several operands to their common shape by NumPy's rule: aligned at the last dimension, 1 repeats. */
export function broadcastTogether(operation, b, list) {
  const rank = Math.max(...list.map(({ shape }) => shape.rank));
  const sizes = Array.from({ length: rank }, (_, d) => {
    const at = list.map(({ shape }) => shape.dimensions[d - rank + shape.rank] ?? 1);
    const size = at.find((one) => one !== 1) ?? 1;
    if (at.every((one) => one === 1 || one === size)) return size;
    throw invalidArgument(operation, `shapes ${list.map(({ shape }) => shape).join(', ')} do not broadcast together: ` +
      `dimension ${d - rank} is ${at.join(', ')}`);
  });
  return list.map((x) => {
    const { dimensions } = x.shape;
    const same = dimensions.length === rank && dimensions.every((size, d) => size === sizes[d]);
    return same ? x : b.broadcastInDim(x, sizes, dimensions.map((_, d) => d + rank - dimensions.length));
  });
}

/** The lowest and the highest value of an element type: of floats, minus and plus infinity. */
export const lowest = (elementType) => extreme(elementType, 0);
export const highest = (elementType) => extreme(elementType, 1);

function extreme(elementType, end) {
  const { kind, limits } = ELEMENT_TYPES.get(elementType);
  if (kind === 'float') return end ? Infinity : -Infinity;
  return kind === 'pred' ? Boolean(end) : limits[end];
}

/** An iota along one dimension of an array's shape. */
export const iotaLike = (b, { shape }, dimension, elementType) =>
  b.iota(Shape.array(elementType, shape.dimensions), dimension);
