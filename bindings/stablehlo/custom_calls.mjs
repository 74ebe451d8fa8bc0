/** Custom calls that replace operations which StableHLO lacks. */
import { XlaError } from '../base/error.mjs';
import { Shape } from '../values/shape.mjs';
import { numbersOf } from './context.mjs';
import { untupled } from './frame.mjs';
import { Dictionary, malformed, nameOf } from './ir.mjs';
import { reduceWindow, rngBitGenerator } from './operations.mjs';

/** Attributes of operations that are not StableHLO's come in a dictionary. */
function inner(c) {
  const value = c.attribute('mhlo.attributes');
  return value instanceof Dictionary ? value.entries : {};
}

/** Checks a program's assertion about the sizes of its arguments. */
function shapeAssertion(c) {
  const known = c.known(0);
  if (!known || known[0]) return [];
  const message = c.string('error_message', 'an assertion about sizes does not hold');
  const text = message.replace(/\{(\d+)\}/g, (all, i) => {
    const value = c.in[Number(i) + 1] && c.known(Number(i) + 1);
    return value ? String(value[0]) : all;
  });
  throw new XlaError('INVALID_ARGUMENT', text, { operation: 'shape_assertion' });
}

function topK(c) {
  const entries = inner(c);
  const k = entries.k === undefined ? c.shape(0).dimensions.at(-1) : Number(entries.k.value ?? entries.k);
  return c.b.topK(c.x, k, entries.largest !== false);
}

const unary = (method) => (c) => c.b[method](c.x);

/** Sizes of windows in operands instead of attributes: the body is a function. */
function dynamicReduceWindow(c) {
  const count = (c.in.length - 5) / 2;
  if (!Number.isInteger(count) || count < 1) throw malformed('takes operands and five lists of sizes');
  const [dimensions, strides, baseDilations, windowDilations, padding] =
    [5, 4, 3, 2, 1].map((i) => c.sizes(c.in.length - i));
  const [body] = c.attribute('called_computations') ?? [];
  const [region] = c.lowering.function(nameOf(body)).regions;
  const shapes = region.arguments.map((_, i) => Shape.array(c.in[i % count].shape.elementType));
  return reduceWindow(c, {
    operands: 5, dimensions, strides, baseDilations, windowDilations,
    padding: dimensions.map((_, i) => [padding[2 * i], padding[2 * i + 1]]),
    computation: c.lowering.computation(c.frame, region, shapes, nameOf(body)),
  });
}

const dynamicRng = (c) => rngBitGenerator(c, Shape.array(c.elementType(1), c.sizes(1)));

function raggedAllToAll(c) {
  const groups = c.rows('replica_groups', []).map((group) => group.filter((id) => id >= 0));
  const [input, output, inputOffsets, sendSizes, outputOffsets, recvSizes] = c.in;
  const entries = configOf(c);
  const rows = numbersOf(entries.replica_groups);
  const width = entries.replica_groups?.type?.dimensions?.[1];
  const own = rows && width
    ? Array.from({ length: rows.length / width }, (_, i) => rows.slice(i * width, (i + 1) * width)) : groups;
  const channelId = entries.channel_id && Number(entries.channel_id.value);
  return c.b.raggedAllToAll(
    input, inputOffsets, sendSizes, output, outputOffsets, recvSizes, own, channelId || undefined);
}

function configOf(c) {
  const value = c.attribute('backend_config') || c.attribute('mhlo.backend_config');
  return value instanceof Dictionary ? value.entries : {};
}

/**
 * Computes the first k by a comparator by a full sort, as XLA's fallback does. Operands are the arrays, an initial value
 * for each, and k if it is a size of the program. Without aggregation to k, the result's shape states their number.
 */
function approxTopK(c) {
  const entries = configOf(c);
  const number = (name) => Number(entries[name]?.value ?? entries[name]);
  const length = c.in.length - c.ints('indices_of_shape_operands', []).length; // those are the last
  const count = Math.floor(length / 2);
  const dimension = number('reduction_dim');
  const stated = entries.aggregate_to_topk === false ? c.shape(0).dimensions[dimension] : number('top_k');
  const k = length % 2 ? c.sizes(2 * count)[0] : stated;
  const operands = c.in.slice(0, count);
  const [comparator] = c.attribute('called_computations') ?? [];
  const [region] = c.lowering.function(nameOf(comparator)).regions;
  const shapes = operands.flatMap(({ shape }) => Array(2).fill(Shape.array(shape.elementType)));
  const toApply = c.lowering.computation(c.frame, region, shapes, nameOf(comparator));
  const sorted = c.emit('sort', operands, { dimensions: [dimension], to_apply: toApply }, undefined, null);
  const parts = operands.length === 1 ? [sorted] : untupled(c.b, sorted);
  return parts.map((part) => c.b.sliceInDim(part, 0, k, 1, dimension));
}

export const custom = {
  'AllocateBuffer': (c) => c.b.broadcast(c.b.constantR0(0, c.elementType()), c.shape().dimensions),
  'ApproxTopK': approxTopK,
  'ragged_all_to_all': raggedAllToAll,
  'shape_assertion': shapeAssertion,
  'mhlo.topk': topK,
  'mhlo.erf': unary('erf'),
  'mhlo.tan': unary('tan'),
  'stablehlo.dynamic_approx_top_k': approxTopK,
  'stablehlo.dynamic_top_k': (c) => c.b.topK(c.x, c.sizes(1)[0], true),
  'stablehlo.dynamic_rng_bit_generator': dynamicRng,
  'stablehlo.dynamic_reduce_window': dynamicReduceWindow,
};
