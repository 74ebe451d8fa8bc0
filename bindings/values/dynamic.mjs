/** Arguments whose dynamic dimensions are shorter than their bounds. */
import { invalidArgument } from '../base/error.mjs';
import { isShape, Shape } from './shape.mjs';
import { ELEMENT_TYPES } from './types.mjs';

/**
 * Returns the shape of an argument for a parameter of `shape`. Static dimensions keep their sizes; a dynamic one gets
 * the value's size, up to the bound.
 * @param {any} value whatever Literal.from() takes
 * @param {Shape} shape of an array
 */
export function actualShape(value, shape) {
  if (!shape.isDynamic) return shape;
  const sizes = isShape(value?.shape) ? value.shape.dimensions : sizesOf(value, shape);
  const dimensions = shape.dimensions.map((bound, i) => {
    if (!shape.dynamicDimensions[i] || sizes[i] === undefined) return bound;
    if (sizes[i] <= bound) return sizes[i];
    throw invalidArgument(
      'literal',
      `${shape} takes at most ${bound} elements in dimension ${i}; got ${sizes[i]}`,
    );
  });
  return Shape.array(shape.elementType, dimensions, { layout: shape.layout ?? undefined });
}

/** Returns the sizes of nested arrays. A typed array in them gives the size of the one unknown dimension. */
function sizesOf(value, shape) {
  const sizes = [];
  let inner = value;
  while (Array.isArray(inner) && sizes.length < shape.rank) {
    sizes.push(inner.length);
    inner = inner[0];
  }
  const first = sizes.length;
  const open = shape.dynamicDimensions.indexOf(true, first);
  if (!ArrayBuffer.isView(inner) || open < 0) return sizes;
  if (shape.dynamicDimensions.includes(true, open + 1)) return sizes;
  const { Array: Natural, lanes } = ELEMENT_TYPES.get(shape.elementType);
  const count = inner.length / (inner[Symbol.toStringTag] === Natural.name ? lanes : 1);
  const known = shape.dimensions.filter((_, i) => i >= first && i !== open);
  const others = known.reduce((n, size) => n * size, 1);
  const size = count / others;
  if (Number.isInteger(size)) sizes[open] = size;
  return sizes;
}
