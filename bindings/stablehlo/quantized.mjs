/**
 * Uniform-quantised types: real value = scale * (stored - zero point). Values are kept in their stored form. Arithmetic
 * operations compute with real values and quantise the results.
 * Source: openxla.org/stablehlo/spec, "Operations on quantized types"
 */
import { malformed, Value } from './ir.mjs';
import { isQuantized, tensor } from './types.mjs';

/** Operations that move values, or pass them to a region; they work on the stored integers. */
const STORED = new Set([
  'broadcast_in_dim', 'dynamic_broadcast_in_dim', 'broadcast', 'reshape', 'dynamic_reshape',
  'transpose', 'slice', 'dynamic_slice', 'dynamic_update_slice', 'real_dynamic_slice', 'reverse',
  'concatenate', 'pad', 'dynamic_pad', 'gather', 'dynamic_gather', 'constant', 'while', 'if', 'case',
  'tuple', 'get_tuple_element', 'optimization_barrier', 'return', 'custom_call', 'composite', 'reduce',
  'reduce_window', 'select_and_scatter', 'scatter', 'sort', 'map', 'bitcast_convert', 'all_gather',
  'all_to_all', 'collective_permute', 'collective_broadcast', 'all_reduce', 'reduce_scatter',
  'get_dimension_size', 'set_dimension_size', 'torch_index_select',
].map((name) => `stablehlo.${name}`));
STORED.add('func.call');

/** A list of numbers of one per axis, block or array, in the array's own shape. */
function spread(b, list, type, shape, elementType) {
  if (list.length === 1) return b.constantR0(list[0], elementType);
  const { dimension, blockSizes } = type;
  if (!blockSizes) {
    if (shape.dimensions[dimension] !== list.length) {
      throw malformed(`${list.length} scales for dimension ${dimension} of ${shape}`);
    }
    return b.broadcastInDim(b.constantR1(list, elementType), [...shape.dimensions], [dimension]);
  }
  const blocks = new Map(blockSizes);
  const size = (d) => (blocks.get(d) || shape.dimensions[d]);
  const counts = shape.dimensions.map((n, d) => n / size(d));
  if (counts.reduce((n, count) => n * count, 1) !== list.length) {
    throw malformed(`${list.length} scales do not fit the blocks of ${shape}`);
  }
  const scales = b.constant(Array.from(list), `${elementType}[${list.length}]`);
  const whole = b.broadcastInDim(
    b.reshape(scales, counts), counts.flatMap((count, d) => [count, size(d)]), counts.map((_, d) => 2 * d));
  return b.reshape(whole, [...shape.dimensions]);
}

const exact = (list, elementType) => Array.from(list, (value) => (/^[su]/.test(elementType) ? Math.trunc(value) : value));

export function dequantize(b, x, type) {
  const { expressed, scales, zeroPoints } = type;
  const points = spread(b, exact(zeroPoints, expressed), type, x.shape, expressed);
  const centred = b.sub(b.convertElementType(x, expressed), points);
  return b.mul(centred, spread(b, scales, type, x.shape, expressed));
}

export function quantize(b, x, type) {
  const { expressed, storage, scales, zeroPoints, low, high } = type;
  const scaled = b.div(x, spread(b, scales, type, x.shape, expressed));
  const moved = b.add(scaled, spread(b, zeroPoints, type, x.shape, expressed));
  const clamped = b.clamp(b.constantR0(low, expressed), moved, b.constantR0(high, expressed));
  return b.convertElementType(b.roundNearestEven(clamped), storage);
}

const realType = (type) =>
  (isQuantized(type) ? tensor(type.elementType.expressed, type.dimensions, type.bounds) : type);

/** Lowers an operation by its row on real values: dequantises operands, quantises results. */
export function throughRealTypes(c, row) {
  const { operation } = c;
  if (STORED.has(operation.name)) return row(c);
  const { b } = c;
  c.in = c.in.map((x, i) => {
    const { type } = operation.operands[i];
    return isQuantized(type) ? dequantize(b, x, type.elementType) : x;
  });
  c.operation = {
    ...operation, results: operation.results.map(({ type }, i) => new Value(realType(type), operation, i)),
  };
  const made = row(c);
  const results = Array.isArray(made) ? made : [made];
  c.operation = operation;
  return results.map((x, i) => {
    const { type } = operation.results[i];
    return isQuantized(type) ? quantize(b, x, type.elementType) : x;
  });
}

function uniformQuantize(c) {
  const [from, to] = [c.operation.operands[0].type, c.type()];
  if (!isQuantized(to)) throw malformed('the result must be of a quantised type');
  const real = isQuantized(from) ? dequantize(c.b, c.x, from.elementType) : c.x;
  return quantize(c.b, real, to.elementType);
}

function uniformDequantize(c) {
  const { type } = c.operation.operands[0];
  if (!isQuantized(type)) throw malformed('the operand must be of a quantised type');
  return dequantize(c.b, c.x, type.elementType);
}

export const quantized = {
  'stablehlo.uniform_quantize': uniformQuantize,
  'stablehlo.uniform_dequantize': uniformDequantize,
};
