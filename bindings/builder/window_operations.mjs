/** The rows of the operations that slide a window: convolutions, reduce-window and its gradient. */
import { convolutionLabels, makePadding, windowText } from '../base/attribute_text.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { Shape } from '../values/shape.mjs';
import {
  booleans, either, elementType, integer, integers, op, operandLike, operandsLike, opOrOps, optional,
  padding, pairs, precision, record, row, string,
} from './arguments.mjs';
import { combiner, scalarsOf } from './computations.mjs';

/** Returns the number of elements that a dilated window spans. */
const dilated = (size, dilation = 1) => (size > 0 ? (size - 1) * dilation + 1 : 0);

/* ---- Convolution ---- */

const convolutionNumbers = record({
  inputBatchDimension: integer,
  inputFeatureDimension: integer,
  inputSpatialDimensions: integers,
  kernelInputFeatureDimension: integer,
  kernelOutputFeatureDimension: integer,
  kernelSpatialDimensions: integers,
  outputBatchDimension: integer,
  outputFeatureDimension: integer,
  outputSpatialDimensions: integers,
}, 'ConvolutionDimensionNumbers');

/** XLA's default: batch, feature, spatial dimensions; the kernel's output feature first. */
function defaultNumbers(rank) {
  const spatial = Array.from({ length: Math.max(rank - 2, 0) }, (_, i) => i + 2);
  return {
    inputBatchDimension: 0,
    inputFeatureDimension: 1,
    inputSpatialDimensions: spatial,
    kernelOutputFeatureDimension: 0,
    kernelInputFeatureDimension: 1,
    kernelSpatialDimensions: spatial,
    outputBatchDimension: 0,
    outputFeatureDimension: 1,
    outputSpatialDimensions: spatial,
  };
}

/** Returns the dimension numbers that labels such as "b01f_01io->b01f" state. */
function numbersOfLabels(labels) {
  const [, input, kernel, output] = /^(\w+)_(\w+)->(\w+)$/.exec(labels) ?? [];
  if (!output) {
    throw invalidArgument('convolution', `dimensionNumbers must be of the form "b01f_01io->b01f"; got ${describe(labels)}`);
  }
  const spatial = Array.from({ length: Math.max(input.length - 2, 0) }, (_, i) => String(i));
  const at = (side, label) => side.indexOf(label);
  return {
    inputBatchDimension: at(input, 'b'),
    inputFeatureDimension: at(input, 'f'),
    inputSpatialDimensions: spatial.map((label) => at(input, label)),
    kernelInputFeatureDimension: at(kernel, 'i'),
    kernelOutputFeatureDimension: at(kernel, 'o'),
    kernelSpatialDimensions: spatial.map((label) => at(kernel, label)),
    outputBatchDimension: at(output, 'b'),
    outputFeatureDimension: at(output, 'f'),
    outputSpatialDimensions: spatial.map((label) => at(output, label)),
  };
}

function convolutionShape(lhs, rhs, n, window, batchGroups, type) {
  const dimensions = [];
  dimensions[n.outputBatchDimension] = lhs.dimensions[n.inputBatchDimension] / batchGroups;
  dimensions[n.outputFeatureDimension] = rhs.dimensions[n.kernelOutputFeatureDimension];
  n.outputSpatialDimensions.forEach((dimension, i) => {
    const [low, high] = window.padding[i];
    const size = lhs.dimensions[n.inputSpatialDimensions[i]];
    const base = low + dilated(size, window.baseDilations?.[i]) + high;
    const span = dilated(window.windowDimensions[i], window.windowDilations?.[i]);
    const steps = Math.floor((base - span) / (window.windowStrides?.[i] ?? 1));
    dimensions[dimension] = base < span ? 0 : steps + 1;
  });
  return Shape.array(type, dimensions);
}

function convolution(emit, bound) {
  const { lhs, rhs, windowStrides, dimensionNumbers, featureGroupCount, batchGroupCount } = bound;
  const n =
    typeof dimensionNumbers === 'string'
      ? numbersOfLabels(dimensionNumbers)
      : (dimensionNumbers ?? defaultNumbers(lhs.shape.rank));
  const labels = convolutionLabels('convolution', n);
  if (lhs.shape.rank < 2 || lhs.shape.rank !== rhs.shape.rank) {
    throw invalidArgument(
      'convolution',
      `operands ${lhs.shape} and ${rhs.shape} must have the same rank, which is at least 2`,
    );
  }
  const windowDimensions = n.kernelSpatialDimensions.map((d) => rhs.shape.dimensions[d]);
  const window = {
    windowDimensions,
    windowStrides: windowStrides.length ? windowStrides : undefined,
    padding: makePadding(
      bound.padding,
      n.inputSpatialDimensions.map((d, i) =>
        dilated(lhs.shape.dimensions[d], bound.lhsDilation?.[i])),
      windowDimensions.map((size, i) => dilated(size, bound.rhsDilation?.[i])),
      windowDimensions.map((_, i) => windowStrides[i] ?? 1),
    ),
    baseDilations: bound.lhsDilation,
    windowDilations: bound.rhsDilation,
    windowReversal: bound.windowReversal,
  };
  return emit(
    [lhs, rhs],
    {
      window: windowText('convolution', window),
      dim_labels: labels,
      feature_group_count: featureGroupCount,
      batch_group_count: batchGroupCount,
      operand_precision: bound.precision,
    },
    bound.preferredElementType &&
      convolutionShape(
        lhs.shape, rhs.shape, n, window, batchGroupCount, bound.preferredElementType),
  );
}

const operands = { lhs: op, rhs: op, windowStrides: integers };
const dilations = { lhsDilation: optional(integers), rhsDilation: optional(integers) };
const dimensionNumbers = either(string, convolutionNumbers);
const options = {
  featureGroupCount: optional(integer, 1),
  batchGroupCount: optional(integer, 1),
  precision: optional(precision),
  preferredElementType: optional(elementType),
  windowReversal: optional(booleans),
};
const convolutionRow = (parameters) => row('convolution', parameters, convolution);

/* ---- Windows over operands ---- */

/** The padding of a window over an operand's dimensions, in numbers. */
function operandPadding(opcode, operand, bound) {
  const { windowDimensions, windowStrides, baseDilations, windowDilations } = bound;
  const { dimensions, rank } = operand.shape;
  if (windowDimensions.length !== rank) {
    throw invalidArgument(
      opcode,
      `windowDimensions has ${windowDimensions.length} entries; ` +
        `operand ${operand.shape} has rank ${rank}`,
    );
  }
  return makePadding(
    bound.padding,
    dimensions.map((size, i) => dilated(size, baseDilations?.[i])),
    windowDimensions.map((size, i) => dilated(size, windowDilations?.[i])),
    windowDimensions.map((_, i) => windowStrides[i] ?? 1),
  );
}

function reduceWindow(emit, bound) {
  const { operands, initValues, computation, windowDimensions, windowStrides } = bound;
  if (!operands.length) throw invalidArgument('reduce-window', 'operands is empty');
  const window = {
    windowDimensions,
    windowStrides: windowStrides.length ? windowStrides : undefined,
    padding: operandPadding('reduce-window', operands[0], bound),
    baseDilations: bound.baseDilations,
    windowDilations: bound.windowDilations,
  };
  return emit([...operands, ...initValues], {
    window: windowText('reduce-window', window),
    to_apply: computation,
  });
}

function selectAndScatter(emit, bound) {
  const { operand, select, windowDimensions, windowStrides, source, initValue, scatter } = bound;
  const window = {
    windowDimensions,
    windowStrides: windowStrides.length ? windowStrides : undefined,
    padding: operandPadding('select-and-scatter', operand, bound),
  };
  return emit([operand, source, initValue], {
    window: windowText('select-and-scatter', window),
    select,
    scatter,
  });
}

const windowParameters = { windowDimensions: integers, windowStrides: integers };
const reduction = {
  operands: opOrOps,
  initValues: operandsLike('operands'),
  computation: combiner(({ operands, initValues }) => scalarsOf(initValues, operands)),
};
const ofTwo = combiner(({ operand }) => scalarsOf([operand, operand]));
const selectAndScatterRow = (paddingKind) =>
  row(
    'select-and-scatter',
    {
      operand: op, select: ofTwo,
      ...windowParameters,
      padding: paddingKind, source: op, initValue: operandLike('operand'), scatter: ofTwo,
    },
    selectAndScatter,
  );

export const windowOperations = {
  conv: convolutionRow({ ...operands, padding, ...options }),
  // The documentation lists dilations, XlaBuilder has none: here they are options.
  convWithGeneralPadding: convolutionRow({ ...operands, padding: pairs, ...dilations, ...options }),
  convWithGeneralDimensions: convolutionRow({
    ...operands, padding, dimensionNumbers, ...options,
  }),
  convGeneral: convolutionRow({ ...operands, padding: pairs, dimensionNumbers, ...options }),
  convGeneralDilated: convolutionRow({
    ...operands,
    padding,
    lhsDilation: integers, rhsDilation: integers, dimensionNumbers,
    ...options,
  }),
  reduceWindow: row(
    'reduce-window',
    {
      ...reduction,
      ...windowParameters,
      padding, baseDilations: optional(integers), windowDilations: optional(integers),
    },
    reduceWindow,
  ),
  reduceWindowWithGeneralPadding: row(
    'reduce-window',
    {
      ...reduction,
      ...windowParameters,
      baseDilations: integers, windowDilations: integers, padding: pairs,
    },
    reduceWindow,
  ),
  selectAndScatter: selectAndScatterRow(padding),
  selectAndScatterWithGeneralPadding: selectAndScatterRow(pairs),
};
