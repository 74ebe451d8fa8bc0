/**
 * Lowers operations whose sizes are operands. A program is lowered for given sizes of its arguments,
 * which determine all other sizes: see known.mjs.
 */
import { Shape } from '../values/shape.mjs';
import { malformed } from './ir.mjs';
import { differences } from './known.mjs';
import { broadcastInDim, convolution, gather, iota, pad, slice } from './operations.mjs';

function rowsOf(list) {
  return Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]]);
}

function checkedSizes(sizes) {
  if (sizes.every((n) => Number.isSafeInteger(n) && n >= 0)) return sizes;
  throw malformed(`sizes [${sizes}] must not be negative`);
}

/** A result whose sizes are bounds keeps its declared shape. */
function dynamicReshape(c) {
  const known = c.known(1);
  const shape = !known && c.declared()?.isDynamic
    ? c.declared() : Shape.array(c.elementType(), checkedSizes(c.sizes(1)));
  return shape.isDynamic ? c.emit('reshape', [c.x], {}, shape) : c.b.reshape(c.x, [...shape.dimensions]);
}

const dynamicBroadcast = (c) =>
  broadcastInDim(c.b, c.x, checkedSizes(c.sizes(1)), c.ints('broadcast_dimensions'));

const dynamicIota = (c) => iota(c, Shape.array(c.elementType(), checkedSizes(c.sizes(0))));

/**
 * Lowers a slice. If its start is unknown before the run, it is a dynamic slice of limit - start elements, or of the
 * declared size of the result.
 */
function realDynamicSlice(c) {
  const strides = c.sizes(3);
  if (c.integers(1) && c.integers(2)) return slice(c, c.sizes(1), c.sizes(2), strides);
  const [x, start, limit] = c.in;
  const { dimensions } = c.type();
  const between = differences(c, limit, start) ?? [];
  const sizes = strides.map((stride, d) => between[d] ?? (dimensions?.[d] >= 0 ? Math.max((dimensions[d] - 1) * stride + 1, 0) : undefined));
  if (sizes.includes(undefined)) return slice(c, c.sizes(1), c.sizes(2), strides); // which says what is not known
  sizes.forEach((size, d) => {
    if (size >= 0 && size <= x.shape.dimensions[d]) return;
    throw malformed(`limit - start is ${size} in dimension ${d}; ${x.shape} has ${x.shape.dimensions[d]}`);
  });
  const starts = strides.map((_, d) => c.b.reshape(c.b.sliceInDim(start, d, d + 1, 1, 0), []));
  const whole = c.b.dynamicSlice(x, starts, sizes);
  return strides.every((stride) => stride === 1) ? whole : slice({ x: whole, emit: (...rest) => c.emit(...rest) }, sizes.map(() => 0), sizes, strides);
}

export const dynamic = {
  'stablehlo.dynamic_reshape': dynamicReshape,
  'stablehlo.dynamic_broadcast_in_dim': dynamicBroadcast,
  'stablehlo.dynamic_iota': dynamicIota,
  'stablehlo.dynamic_pad': (c) => pad(c, c.sizes(2), c.sizes(3), c.sizes(4)),
  'stablehlo.dynamic_gather': (c) => gather(c, c.sizes(2)),
  'stablehlo.dynamic_conv': (c) => convolution(c, rowsOf(c.sizes(2))),
  'stablehlo.real_dynamic_slice': realDynamicSlice,
};
