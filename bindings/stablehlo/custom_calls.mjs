/** Custom calls that are operations: what StableHLO has no operation for, or not yet. */
import { Shape } from '../shape.mjs';
import { XlaError } from '../error.mjs';
import { Dictionary, malformed, nameOf } from './ir.mjs';
import { reduceWindow, rngBitGenerator } from './operations.mjs';

/** Attributes of operations that are not StableHLO's come in a dictionary. */
function inner(c) {
  const value = c.attribute('mhlo.attributes');
  return value instanceof Dictionary ? value.entries : {};
}

/** What a program takes for granted of the sizes of its arguments. */
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

export const custom = {
  'shape_assertion': shapeAssertion,
  'mhlo.topk': topK,
  'mhlo.erf': unary('erf'),
  'mhlo.tan': unary('tan'),
  'stablehlo.dynamic_top_k': (c) => c.b.topK(c.x, c.sizes(1)[0], true),
  'stablehlo.dynamic_rng_bit_generator': dynamicRng,
  'stablehlo.dynamic_reduce_window': dynamicReduceWindow,
};
