/** Arguments whose dynamic dimensions are shorter than their bounds. */
import { invalidArgument } from '../base/error.mjs';
import { isShape, Shape } from './shape.mjs';
import { ELEMENT_TYPES } from './types.mjs';

/**
 * The shape of an argument for a parameter of `shape`: as it is where that is static, and as long
 * as the value, up to the bound, where it is dynamic.
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

/** The lengths of nested arrays; and of a typed array in them, where one dimension is not known. */
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
