/** Activations, normalisations and losses, with the names and definitions of jax.nn, Flax and Optax. */
import { invalidArgument } from '../../base/error.mjs';
import { Shape } from '../../values/shape.mjs';
import { ELEMENT_TYPES } from '../../values/types.mjs';
import { boolean, elementType, integer, number, op, optional, row } from '../arguments.mjs';
import { atLeastF32, axes, axesOf, axisOf, inAtLeastF32, isInteger, kindOf, needFloats, spread } from './axes.mjs';
import { logSumExp, max, mean, sum, variance } from './reductions.mjs';

/** A row of one operand of floats. */
const activation = (name, make) => row(name, { operand: op }, (_emit, { operand }, b) => {
  needFloats(name, 'operand', operand);
  return make(b, operand);
});

const gelu = row('gelu', { operand: op, approximate: optional(boolean, true) },
  (_emit, { operand: x, approximate }, b) => {
    needFloats('gelu', 'operand', x);
    if (!approximate) return b.mul(b.mul(x, 0.5), b.add(b.erf(b.mul(x, Math.SQRT1_2)), 1));
    const inner = b.mul(b.add(x, b.mul(b.mul(x, b.mul(x, x)), 0.044715)), Math.sqrt(2 / Math.PI));
    return b.mul(x, b.mul(b.add(b.tanh(inner), 1), 0.5));
  });

/** Subtracts the maximum, so that no exponential overflows. */
const lowered = (b, x, dimensions) => b.sub(x, spread(b, max(b, x, dimensions), x, dimensions));

function softmax(b, x, dimensions) {
  const e = b.exp(lowered(b, x, dimensions));
  return b.div(e, spread(b, sum(b, e, dimensions), x, dimensions));
}

function logSoftmax(b, x, dimensions) {
  const below = lowered(b, x, dimensions);
  return b.sub(below, spread(b, b.log(sum(b, b.exp(below), dimensions)), x, dimensions));
}

const along = (name, make) => row(name, { operand: op, axis: optional(axes, -1) },
  (_emit, { operand, axis }, b) => {
    needFloats(name, 'operand', operand);
    return make(b, operand, axesOf(name, axis, operand.shape));
  });

/** Whether the number of an element along a dimension is the index; `indices` have the other dimensions. */
function isAt(b, indices, sizes, dimension) {
  const isShort = ELEMENT_TYPES.get(indices.shape.elementType).bits < 32;
  const wide = isShort ? b.convertElementType(indices, 's32') : indices; // 300 classes have no numbers in u8
  const others = sizes.map((_, i) => i).filter((i) => i !== dimension);
  return b.eq(b.broadcastInDim(wide, sizes, others), b.iota(Shape.array(wide.shape.elementType, sizes), dimension));
}

/** A new dimension of `classes`: 1 at the index, 0 elsewhere, and 0 everywhere for an index outside. */
const oneHot = row(
  'oneHot', { indices: op, classes: integer, axis: optional(integer, -1), dtype: optional(elementType, 'f32') },
  (_emit, { indices, classes, axis, dtype }, b) => {
    const { rank, dimensions } = indices.shape;
    if (!isInteger(indices)) throw invalidArgument('oneHot', `indices are ${indices.shape}; they must be integers`);
    const dimension = axisOf('oneHot', axis, rank + 1);
    const sizes = [...dimensions.slice(0, dimension), classes, ...dimensions.slice(dimension)];
    return b.convertElementType(isAt(b, indices, sizes, dimension), dtype);
  },
);

/** (x - mean) rsqrt(variance + epsilon), times `scale` and plus `bias`, which have the axes' dimensions. */
const layerNorm = row(
  'layerNorm',
  { operand: op, axis: optional(axes, -1), scale: optional(op), bias: optional(op), epsilon: optional(number, 1e-6) },
  (_emit, { operand: x, axis, scale, bias, epsilon }, b) => {
    needFloats('layerNorm', 'operand', x);
    const dimensions = axesOf('layerNorm', axis, x.shape);
    const wanted = dimensions.map((d) => x.shape.dimensions[d]);
    const full = (name, value) => {
      if (String(value.shape.dimensions) !== String(wanted)) {
        throw invalidArgument('layerNorm', `${name} is ${value.shape}; its dimensions must be those of the axes, [${wanted}]`);
      }
      return b.broadcastInDim(atLeastF32(b, value), [...x.shape.dimensions], dimensions);
    };
    return inAtLeastF32(b, x, (floats) => {
      const from = b.sub(floats, spread(b, mean(b, floats, dimensions), x, dimensions));
      const inverse = b.rsqrt(b.add(variance(b, floats, dimensions), epsilon));
      let result = b.mul(from, spread(b, inverse, x, dimensions));
      if (scale) result = b.mul(result, full('scale', scale));
      return bias ? b.add(result, full('bias', bias)) : result;
    });
  },
);

/**
 * One loss for each row of logits: logsumexp(logits) - logits[label], or -sum(labels logSoftmax(logits)). As in Optax, a
 * negative label counts from the end, and the loss of one that is out of range is NaN.
 */
const crossEntropy = row(
  'crossEntropy', { logits: op, labels: op, axis: optional(integer, -1) },
  (_emit, { logits, labels, axis }, b) => {
    needFloats('crossEntropy', 'logits', logits);
    const dimension = axisOf('crossEntropy', axis, logits.shape.rank);
    const rows = logits.shape.dimensions.filter((_, i) => i !== dimension);
    const isClass = isInteger(labels);
    const wanted = isClass ? rows : [...logits.shape.dimensions];
    if (String(labels.shape.dimensions) !== String(wanted) || (!isClass && kindOf(labels) !== 'float')) {
      throw invalidArgument('crossEntropy', `labels are ${labels.shape} for logits ${logits.shape}; they must be integers of ` +
        `dimensions [${rows}], or floats of the logits' dimensions`);
    }
    if (!isClass) return b.neg(sum(b, b.mul(labels, logSoftmax(b, logits, [dimension])), [dimension]));
    const classes = logits.shape.dimensions[dimension];
    const given = b.convertElementType(labels, /^(u32|[su]64)$/.test(labels.shape.elementType) ? 's64' : 's32');
    const label = b.select(b.lt(given, 0), b.add(given, classes), given);
    const isLabel = isAt(b, label, [...logits.shape.dimensions], dimension);
    const loss = b.sub(logSumExp(b, logits, [dimension]), sum(b, b.select(isLabel, logits, 0), [dimension]));
    return b.select(b.and(b.ge(label, 0), b.lt(label, classes)), loss, NaN);
  },
);

export const layers = {
  relu: row('relu', { operand: op }, (_emit, { operand }, b) => b.max(operand, 0)),
  gelu,
  silu: activation('silu', (b, x) => b.mul(x, b.logistic(x))),
  /** log(1 + e^x), as max(x, 0) + log1p(e^-|x|) */
  softplus: activation('softplus', (b, x) => b.add(b.max(x, 0), b.log1p(b.exp(b.neg(b.abs(x)))))),
  softmax: along('softmax', softmax),
  logSoftmax: along('logSoftmax', logSoftmax),
  oneHot,
  layerNorm,
  crossEntropy,
};
