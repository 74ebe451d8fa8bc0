/**
 * The operations of XlaBuilder, one row each: the method's name; the opcode, as errors name it; the
 * documented arguments in the documented order, each with its kind; and their lowering to HLO. The
 * core checks the shapes.
 */
import { paddingText, sliceText } from '../base/attribute_text.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { copyList } from '../base/options.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import {
  boolean, booleans, elementType, index, indices, integer, integers, number, oneOf, op,
  operandLike, operandOfShape, operandsLike, opOrOps, ops, optional, overloaded, precision, record,
  row, shape,
} from './arguments.mjs';
import { collectives } from './collectives.mjs';
import { body, combiner, map, scalarsOf } from './computations.mjs';
import { functionsBeside } from './functions/index.mjs';
import { structure } from './structure_operations.mjs';
import { windowOperations } from './window_operations.mjs';

/* ---- Element-wise ---- */

const unary = (opcode) => row(opcode, { operand: op }, (emit, { operand }) => emit([operand]));

const lhsAndRhs = { lhs: operandLike('rhs'), rhs: operandLike('lhs') };
const binaryParameters = { ...lhsAndRhs, broadcastDimensions: optional(integers) };
const binary = (opcode) =>
  row(opcode, binaryParameters, (emit, { lhs, rhs, broadcastDimensions }) =>
    emit([lhs, rhs], { broadcast_dimensions: broadcastDimensions }));

const comparison = (direction) =>
  row('compare', binaryParameters, (emit, { lhs, rhs, broadcastDimensions }) =>
    emit([lhs, rhs], { direction, broadcast_dimensions: broadcastDimensions }));

/** Compares in total order. Only floats need a comparison type for it, as integers are totally ordered. */
const totalOrder = (direction) =>
  row('compare', binaryParameters, (emit, { lhs, rhs, broadcastDimensions }) =>
    emit([lhs, rhs], {
      direction,
      type: ELEMENT_TYPES.get(lhs.shape.elementType)?.kind === 'float' ? 'TOTALORDER' : undefined,
      broadcast_dimensions: broadcastDimensions,
    }));

const direction = oneOf('EQ', 'NE', 'GE', 'GT', 'LE', 'LT');
const comparisonType = oneOf('FLOAT', 'TOTALORDER', 'SIGNED', 'UNSIGNED');
const compare = {
  short: row('compare', { ...lhsAndRhs, direction }, (emit, { lhs, rhs, direction }) =>
    emit([lhs, rhs], { direction })),
  full: row(
    'compare',
    {
      ...lhsAndRhs, broadcastDimensions: integers,
      direction, compareType: optional(comparisonType),
    },
    (emit, { lhs, rhs, broadcastDimensions, direction, compareType }) =>
      emit([lhs, rhs], {
        direction,
        type: compareType,
        broadcast_dimensions: broadcastDimensions.length ? broadcastDimensions : undefined,
      }),
  ),
};

const elementwise = {
  abs: unary('abs'),
  acos: unary('acos'),
  acosh: unary('acosh'),
  asin: unary('asin'),
  asinh: unary('asinh'),
  atanh: unary('atanh'),
  cbrt: unary('cbrt'),
  ceil: unary('ceil'),
  clz: unary('count-leading-zeros'),
  cos: unary('cosine'),
  cosh: unary('cosh'),
  erf: unary('erf'),
  exp: unary('exponential'),
  expm1: unary('exponential-minus-one'),
  floor: unary('floor'),
  imag: unary('imag'),
  isFinite: unary('is-finite'),
  log: unary('log'),
  log1p: unary('log-plus-one'),
  logistic: unary('logistic'),
  neg: unary('negate'),
  not: unary('not'),
  populationCount: unary('popcnt'),
  real: unary('real'),
  round: unary('round-nearest-afz'),
  roundNearestEven: unary('round-nearest-even'),
  rsqrt: unary('rsqrt'),
  sign: unary('sign'),
  sin: unary('sine'),
  sinh: unary('sinh'),
  sqrt: unary('sqrt'),
  tan: unary('tan'),
  tanh: unary('tanh'),
  conj: row('complex', { operand: op }, (_emit, { operand }, b) =>
    b.complex(b.real(operand), b.neg(b.imag(operand)))),

  add: binary('add'),
  sub: binary('subtract'),
  mul: binary('multiply'),
  mulhi: binary('mulhi'),
  div: binary('divide'),
  rem: binary('remainder'),
  max: binary('maximum'),
  min: binary('minimum'),
  pow: binary('power'),
  and: binary('and'),
  or: binary('or'),
  xor: binary('xor'),
  shiftLeft: binary('shift-left'),
  shiftRightArithmetic: binary('shift-right-arithmetic'),
  shiftRightLogical: binary('shift-right-logical'),
  atan2: binary('atan2'),
  complex: binary('complex'),

  eq: comparison('EQ'),
  ne: comparison('NE'),
  ge: comparison('GE'),
  gt: comparison('GT'),
  le: comparison('LE'),
  lt: comparison('LT'),
  eqTotalOrder: totalOrder('EQ'),
  neTotalOrder: totalOrder('NE'),
  geTotalOrder: totalOrder('GE'),
  gtTotalOrder: totalOrder('GT'),
  leTotalOrder: totalOrder('LE'),
  ltTotalOrder: totalOrder('LT'),
  compare: overloaded(
    (values) => (typeof values[2] === 'string' ? compare.short : compare.full),
    [compare.short, compare.full],
  ),

  clamp: row(
    'clamp',
    { min: operandLike('operand'), operand: op, max: operandLike('operand') },
    (emit, { min, operand, max }) => emit([min, operand, max]),
  ),
  select: row(
    'select',
    { pred: op, onTrue: operandOfShape('onFalse'), onFalse: operandOfShape('onTrue') },
    (emit, { pred, onTrue, onFalse }) => emit([pred, onTrue, onFalse]),
  ),
  // The documents list mantissa_bits first in the signature, last in the table; XlaBuilder: last.
  reducePrecision: row(
    'reduce-precision',
    { operand: op, exponentBits: integer, mantissaBits: integer },
    (emit, { operand, exponentBits, mantissaBits }) =>
      emit([operand], { exponent_bits: exponentBits, mantissa_bits: mantissaBits }),
  ),
  map: row('map', { operands: opOrOps, computation: body, dimensions: optional(integers) }, map),
};

/* ---- Element types ---- */

/** Returns the shape of a bitcast: a narrower type adds a last dimension for the parts; a wider one removes it. */
function bitcastShape(from, elementType) {
  const bits = (name) => ELEMENT_TYPES.get(name)?.bits;
  const [fromBits, toBits] = [bits(from.elementType), bits(elementType)];
  if (!fromBits || fromBits === toBits) return from.withElementType(elementType);
  if (fromBits > toBits) {
    const dynamicDimensions = [...from.dynamicDimensions, false];
    return Shape.array(elementType, [...from.dimensions, fromBits / toBits], { dynamicDimensions });
  }
  if (from.dimensions.at(-1) === toBits / fromBits) {
    const dynamicDimensions = from.dynamicDimensions.slice(0, -1);
    return Shape.array(elementType, from.dimensions.slice(0, -1), { dynamicDimensions });
  }
  throw invalidArgument(
    'bitcast-convert',
    `operand ${from} cannot become ${elementType}; its last dimension must be ` +
      `${toBits / fromBits}, the number of elements that make one of the wider type`,
  );
}

const conversions = {
  convertElementType: row(
    'convert',
    { operand: op, newElementType: elementType },
    (emit, { operand, newElementType }) =>
      emit([operand], {}, operand.shape.withElementType(newElementType)),
  ),
  bitcastConvertType: row(
    'bitcast-convert',
    { operand: op, newElementType: elementType },
    (emit, { operand, newElementType }) =>
      emit([operand], {}, bitcastShape(operand.shape, newElementType)),
  ),
  stochasticConvertType: row(
    'stochastic-convert',
    { operand: op, random: op, newElementType: elementType },
    (emit, { operand, random, newElementType }) =>
      emit([operand, random], {}, operand.shape.withElementType(newElementType)),
  ),
};

/* ---- Data movement ---- */

/** Operand dimension i is output dimension broadcastDimensions[i], or is 1 and is repeated. */
function broadcastInDim(emit, { operand, outDimSize, broadcastDimensions }, b) {
  const { shape } = operand;
  const fail = (problem) => {
    throw invalidArgument('broadcast', `operand ${shape} to [${outDimSize}]: ${problem}`);
  };
  if (broadcastDimensions.length !== shape.rank) {
    fail(`broadcastDimensions has ${broadcastDimensions.length} entries for rank ${shape.rank}`);
  }
  broadcastDimensions.forEach((dimension, i) => {
    const size = shape.dimensions[i];
    if (dimension < 0 || dimension >= outDimSize.length) {
      fail(`broadcastDimensions[${i}] = ${dimension} is no dimension of the result`);
    }
    if (i > 0 && dimension <= broadcastDimensions[i - 1]) {
      fail('broadcastDimensions must be strictly increasing');
    }
    if (size !== 1 && size !== outDimSize[dimension]) {
      fail(`dimension ${i} is ${size}, which is neither 1 nor ${outDimSize[dimension]}`);
    }
  });
  const isKept = (_, i) => shape.dimensions[i] === outDimSize[broadcastDimensions[i]];
  const kept = shape.dimensions.filter(isKept);
  const dense = kept.length < shape.rank ? b.reshape(operand, kept) : operand;
  const dynamicDimensions = outDimSize.map((_, dimension) => {
    const i = broadcastDimensions.indexOf(dimension);
    return i >= 0 && isKept(null, i) && shape.dynamicDimensions[i];
  });
  const result = Shape.array(shape.elementType, outDimSize, { dynamicDimensions });
  return emit([dense], { dimensions: broadcastDimensions.filter(isKept) }, result);
}

/** Merges consecutive dimensions into one. */
function collapse(_emit, { operand, dimensions }, b) {
  const sizes = operand.shape.dimensions;
  const [first] = dimensions;
  dimensions.forEach((dimension, i) => {
    if (dimension === first + i && dimension >= 0 && dimension < sizes.length) return;
    throw invalidArgument(
      'reshape',
      `collapse of ${operand.shape}: dimensions ${describe(dimensions)} must be a consecutive, ` +
        'increasing subset of the dimensions',
    );
  });
  if (dimensions.length <= 1) return operand;
  const size = dimensions.reduce((product, dimension) => product * sizes[dimension], 1);
  return b.reshape(operand, [
    ...sizes.slice(0, first), size, ...sizes.slice(first + dimensions.length),
  ]);
}

/** Returns start indices as scalars; splits a vector, which older programs have. */
function scalars(b, indices) {
  if (indices.length !== 1 || indices[0].shape.rank !== 1) return indices;
  const [vector] = indices;
  return Array.from({ length: vector.shape.dimensions[0] }, (_, i) =>
    b.reshape(b.slice(vector, [i], [i + 1]), []));
}

const onesLike = (list) => list.map(() => 1);

/** PaddingConfig: { dimensions: [{ edgePaddingLow, ... }] }, that list, or a list of lists. */
const zero = optional(integer, 0);
const paddingDimension = record({
  edgePaddingLow: zero, edgePaddingHigh: zero, interiorPadding: zero,
});
const paddingConfig = Object.assign(
  (value, context) => {
    const list = Array.isArray(value?.dimensions) ? value.dimensions : value;
    if (!Array.isArray(list)) return undefined;
    const dimensions = copyList(list).map((entry) => {
      const [low, high, interior = 0] = integers(entry, context) ?? [];
      if (high !== undefined) return { low, high, interior };
      const fields = paddingDimension(entry, context);
      return fields && {
        low: fields.edgePaddingLow, high: fields.edgePaddingHigh, interior: fields.interiorPadding,
      };
    });
    return dimensions.includes(undefined) ? undefined : dimensions;
  },
  {
    wants: 'a PaddingConfig or an array of [low, high, interior]', takesObject: true,
    type: 'PaddingConfig',
  },
);

/**
 * Returns which dimensions of a reshape's result are dynamic. Of those that a dynamic dimension is merged with or split
 * into, it is the first of a size above 1, so that elements keep their positions.
 */
function reshapedDynamic({ dimensions, dynamicDimensions }, newSizes) {
  const dynamic = newSizes.map(() => false);
  if ([...dimensions, ...newSizes].includes(0)) return dynamic;
  for (let i = 0, o = 0; i < dimensions.length;) {
    const [iStart, oStart] = [i, o];
    let [from, to] = [dimensions[i++], newSizes[o++] ?? 1];
    while (from !== to) {
      if (from < to && i < dimensions.length) from *= dimensions[i++];
      else if (from > to && o < newSizes.length) to *= newSizes[o++];
      else return dynamic; // unequal numbers of elements, which the core reports
    }
    if (!dynamicDimensions.slice(iStart, i).includes(true)) continue;
    const end = Math.min(o, newSizes.length);
    const chosen = newSizes.findIndex((size, d) => d >= oStart && d < end && size !== 1);
    if (oStart < end) dynamic[chosen < 0 ? oStart : chosen] = true;
  }
  return dynamic;
}

const reshape = row('reshape', { operand: op, newSizes: integers }, (emit, { operand, newSizes }) =>
  emit([operand], {}, Shape.array(operand.shape.elementType, newSizes, {
    dynamicDimensions: operand.shape.isDynamic ? reshapedDynamic(operand.shape, newSizes) : undefined,
  })));

/** `dimensions` is the order in which the dimensions are collapsed, the slowest varying first. */
const reshapeInOrder = row(
  'reshape',
  { operand: op, dimensions: integers, newSizes: integers },
  (_emit, { operand, dimensions, newSizes }, b) => {
    const inOrder = dimensions.every((dimension, i) => dimension === i);
    const isWhole = dimensions.length === operand.shape.rank;
    return b.reshape(inOrder && isWhole ? operand : b.transpose(operand, dimensions), newSizes);
  },
);

const movement = {
  broadcast: row(
    'broadcast',
    { operand: op, broadcastSizes: integers },
    (emit, { operand: { shape }, operand, broadcastSizes }) =>
      emit(
        [operand],
        { dimensions: shape.dimensions.map((_, i) => broadcastSizes.length + i) },
        Shape.array(shape.elementType, [...broadcastSizes, ...shape.dimensions], {
          dynamicDimensions: [...broadcastSizes.map(() => false), ...shape.dynamicDimensions],
        }),
      ),
  ),
  broadcastInDim: row(
    'broadcast',
    { operand: op, outDimSize: integers, broadcastDimensions: integers },
    broadcastInDim,
  ),
  collapse: row('reshape', { operand: op, dimensions: integers }, collapse),
  concatInDim: row(
    'concatenate',
    { operands: ops, dimension: integer },
    (emit, { operands, dimension }) => emit(operands, { dimensions: [dimension] }),
  ),
  copy: unary('copy'),
  dynamicReshape: row(
    'dynamic-reshape',
    { operand: op, dimSizes: ops, newSizeBounds: integers, dimsAreDynamic: booleans },
    (emit, { operand, dimSizes, newSizeBounds, dimsAreDynamic: dynamicDimensions }) =>
      emit(
        [operand, ...dimSizes],
        {},
        Shape.array(operand.shape.elementType, newSizeBounds, { dynamicDimensions }),
      ),
  ),
  dynamicSlice: row(
    'dynamic-slice',
    { operand: op, startIndices: indices, sizeIndices: integers },
    (emit, { operand, startIndices, sizeIndices }, b) =>
      emit([operand, ...scalars(b, startIndices)], { dynamic_slice_sizes: sizeIndices }),
  ),
  dynamicUpdateSlice: row(
    'dynamic-update-slice',
    { operand: op, update: op, startIndices: indices },
    (emit, { operand, update, startIndices }, b) =>
      emit([operand, update, ...scalars(b, startIndices)]),
  ),
  gather: row(
    'gather',
    {
      operand: op,
      startIndices: op,
      dimensionNumbers: record({
        offsetDims: integers,
        collapsedSliceDims: optional(integers, []),
        startIndexMap: integers,
        indexVectorDim: integer,
        operandBatchingDims: optional(integers),
        startIndicesBatchingDims: optional(integers),
      }, 'GatherDimensionNumbers'),
      sliceSizes: integers,
      indicesAreSorted: optional(boolean),
    },
    (emit, { operand, startIndices, dimensionNumbers: n, sliceSizes, indicesAreSorted }) =>
      emit([operand, startIndices], {
        offset_dims: n.offsetDims,
        collapsed_slice_dims: n.collapsedSliceDims,
        start_index_map: n.startIndexMap,
        operand_batching_dims: n.operandBatchingDims,
        start_indices_batching_dims: n.startIndicesBatchingDims,
        index_vector_dim: n.indexVectorDim,
        slice_sizes: sliceSizes,
        indices_are_sorted: indicesAreSorted,
      }),
  ),
  getDimensionSize: row(
    'get-dimension-size',
    { operand: op, dimension: integer },
    (emit, { operand, dimension }) => emit([operand], { dimensions: [dimension] }),
  ),
  // The size that makes it static is its bound.
  removeDynamicDimension: row(
    'set-dimension-size',
    { operand: op, dimension: integer },
    (emit, { operand, dimension }, b) => {
      const { elementType, dimensions, dynamicDimensions } = operand.shape;
      if (dimensions[dimension] === undefined) {
        throw invalidArgument(
          'set-dimension-size',
          `dimension ${dimension} is no dimension of ${operand.shape}`,
        );
      }
      const bound = b.constantR0(dimensions[dimension], 's32');
      const result = Shape.array(elementType, dimensions, {
        dynamicDimensions: dynamicDimensions.map((flag, i) => flag && i !== dimension),
      });
      return emit([operand, bound], { dimensions: [dimension] }, result);
    },
  ),
  setDimensionSize: row(
    'set-dimension-size',
    { operand: op, size: index, dimension: integer },
    (emit, { operand, size, dimension }) => emit([operand, size], { dimensions: [dimension] }),
  ),
  pad: row(
    'pad',
    { operand: op, paddingValue: operandLike('operand'), paddingConfig },
    (emit, { operand, paddingValue, paddingConfig }) =>
      emit([operand, paddingValue], { padding: paddingText(paddingConfig) }),
  ),
  padInDim: row(
    'pad',
    {
      operand: op, paddingValue: operandLike('operand'),
      dimno: integer, padLo: integer, padHi: integer,
    },
    (_emit, { operand, paddingValue, dimno, padLo, padHi }, b) =>
      b.pad(
        operand,
        paddingValue,
        operand.shape.dimensions.map((_, i) => (i === dimno ? [padLo, padHi] : [0, 0])),
      ),
  ),
  // reshape(operand, newSizes) or reshape(operand, dimensions, newSizes)
  reshape: overloaded(
    (values) => (values.length > 2 ? reshapeInOrder : reshape), [reshape, reshapeInOrder]),
  rev: row('reverse', { operand: op, dimensions: integers }, (emit, { operand, dimensions }) =>
    emit([operand], { dimensions })),
  scatter: row(
    'scatter',
    {
      operands: opOrOps,
      scatterIndices: op,
      updates: opOrOps,
      updateComputation: combiner(({ operands, updates }) => scalarsOf(operands, updates)),
      dimensionNumbers: record({
        updateWindowDims: integers,
        insertedWindowDims: optional(integers, []),
        scatterDimsToOperandDims: integers,
        indexVectorDim: integer,
        inputBatchingDims: optional(integers),
        scatterIndicesBatchingDims: optional(integers),
      }, 'ScatterDimensionNumbers'),
      indicesAreSorted: optional(boolean),
      uniqueIndices: optional(boolean),
    },
    (emit, { operands, scatterIndices, updates, dimensionNumbers: n, ...rest }) =>
      emit([...operands, scatterIndices, ...updates], {
        update_window_dims: n.updateWindowDims,
        inserted_window_dims: n.insertedWindowDims,
        scatter_dims_to_operand_dims: n.scatterDimsToOperandDims,
        input_batching_dims: n.inputBatchingDims,
        scatter_indices_batching_dims: n.scatterIndicesBatchingDims,
        index_vector_dim: n.indexVectorDim,
        indices_are_sorted: rest.indicesAreSorted,
        unique_indices: rest.uniqueIndices,
        to_apply: rest.updateComputation,
      }),
  ),
  slice: row(
    'slice',
    { operand: op, startIndices: integers, limitIndices: integers, strides: optional(integers) },
    (emit, { operand, startIndices, limitIndices, strides = onesLike(startIndices) }) => {
      const { rank } = operand.shape;
      for (const [name, list] of Object.entries({ startIndices, limitIndices, strides })) {
        if (list.length === rank) continue;
        throw invalidArgument(
          'slice',
          `${name} has ${list.length} entries; operand ${operand.shape} has rank ${rank}`,
        );
      }
      return emit([operand], { slice: sliceText(startIndices, limitIndices, strides) });
    },
  ),
  sliceInDim: row(
    'slice',
    { operand: op, startIndex: integer, limitIndex: integer, stride: integer, dimno: integer },
    (_emit, { operand, startIndex, limitIndex, stride, dimno }, b) => {
      const { dimensions } = operand.shape;
      if (dimensions[dimno] === undefined) {
        throw invalidArgument('slice', `dimno ${dimno} is no dimension of ${operand.shape}`);
      }
      return b.slice(
        operand,
        dimensions.map((_, i) => (i === dimno ? startIndex : 0)),
        dimensions.map((size, i) => (i === dimno ? limitIndex : size)),
        dimensions.map((_, i) => (i === dimno ? stride : 1)),
      );
    },
  ),
  transpose: row('transpose', { operand: op, permutation: integers }, (emit, bound) =>
    emit([bound.operand], { dimensions: bound.permutation })),
};

/* ---- Contractions, reductions, sorting ---- */

function dotShape(lhs, rhs, n, type) {
  const free = ({ dimensions }, contracting, batch) =>
    dimensions.filter((_, i) => !contracting.includes(i) && !batch.includes(i));
  const batch = n.lhsBatchDimensions.map((dimension) => lhs.dimensions[dimension] ?? 0);
  return Shape.array(type, [
    ...batch,
    ...free(lhs, n.lhsContractingDimensions, n.lhsBatchDimensions),
    ...free(rhs, n.rhsContractingDimensions, n.rhsBatchDimensions),
  ]);
}

const dotNumbers = record({
  lhsContractingDimensions: optional(integers, []),
  rhsContractingDimensions: optional(integers, []),
  lhsBatchDimensions: optional(integers, []),
  rhsBatchDimensions: optional(integers, []),
}, 'DotDimensionNumbers');
const raggedDotNumbers = record({
  dotDimensionNumbers: dotNumbers,
  lhsRaggedDimensions: integers,
  rhsGroupDimensions: optional(integers, []),
}, 'RaggedDotDimensionNumbers');

const dotAttributes = (numbers) => ({
  lhs_batch_dims: numbers.lhsBatchDimensions,
  lhs_contracting_dims: numbers.lhsContractingDimensions,
  rhs_batch_dims: numbers.rhsBatchDimensions,
  rhs_contracting_dims: numbers.rhsContractingDimensions,
});

/** Takes the partial result of each operand, and then an element of each. */
const reducer = combiner(({ operands, initValues }) => scalarsOf(initValues, operands));
/** Takes the two elements of each operand that are compared. */
const comparator = combiner(({ operands }) => operands.flatMap((operand) =>
  scalarsOf([operand, operand])));

const resultOptions = {
  precision: optional(precision),
  preferredElementType: optional(elementType),
};
const contractions = {
  dot: row(
    'dot',
    { lhs: op, rhs: op, ...resultOptions },
    (_emit, { lhs, rhs, precision, preferredElementType }, b) => {
      const isVectorOrMatrix = ({ shape }) => shape.isArray && shape.rank >= 1 && shape.rank <= 2;
      if (!isVectorOrMatrix(lhs) || !isVectorOrMatrix(rhs)) {
        throw invalidArgument(
          'dot',
          `operands ${lhs.shape} and ${rhs.shape} must be vectors or matrices; ` +
            'for others, use dotGeneral',
        );
      }
      const numbers = {
        lhsContractingDimensions: [lhs.shape.rank - 1],
        rhsContractingDimensions: [0],
      };
      return b.dotGeneral(lhs, rhs, numbers, { precision, preferredElementType });
    },
  ),
  dotGeneral: row(
    'dot',
    {
      lhs: op, rhs: op, dimensionNumbers: dotNumbers,
      ...resultOptions,
    },
    (emit, { lhs, rhs, dimensionNumbers: n, precision, preferredElementType }) =>
      emit(
        [lhs, rhs],
        { ...dotAttributes(n), operand_precision: precision },
        preferredElementType && dotShape(lhs.shape, rhs.shape, n, preferredElementType),
      ),
  ),
  raggedDot: row(
    'ragged-dot',
    {
      lhs: op, rhs: op, groupSizes: op,
      dimensionNumbers: raggedDotNumbers,
      precision: optional(precision),
    },
    (emit, { lhs, rhs, groupSizes, dimensionNumbers: n, precision }) =>
      emit([lhs, rhs, groupSizes], {
        ...dotAttributes(n.dotDimensionNumbers),
        lhs_ragged_dims: n.lhsRaggedDimensions,
        rhs_group_dims: n.rhsGroupDimensions,
        operand_precision: precision,
      }),
  ),
  // The arguments of jax.lax.scaled_dot; XlaBuilder has no such method.
  scaledDot: row(
    'scaled-dot',
    {
      lhs: op, rhs: op, lhsScale: op, rhsScale: op, dimensionNumbers: dotNumbers,
      ...resultOptions,
    },
    (emit, { lhs, rhs, lhsScale, rhsScale, dimensionNumbers: n, ...options }) =>
      emit(
        [lhs, rhs, lhsScale, rhsScale],
        { ...dotAttributes(n), operand_precision: options.precision },
        options.preferredElementType &&
          dotShape(lhs.shape, rhs.shape, n, options.preferredElementType),
      ),
  ),
  reduce: row(
    'reduce',
    {
      operands: opOrOps, initValues: operandsLike('operands'), computation: reducer,
      dimensions: integers,
    },
    (emit, { operands, initValues, computation, dimensions }) =>
      emit([...operands, ...initValues], { dimensions, to_apply: computation }),
  ),
  reduceAll: row(
    'reduce',
    {
      operand: op, initValue: operandLike('operand'),
      computation: combiner(({ operand, initValue }) => scalarsOf([initValue], [operand])),
    },
    (_emit, { operand, initValue, computation }, b) =>
      b.reduce(operand, initValue, computation, operand.shape.dimensions.map((_, i) => i)),
  ),
  sort: row(
    'sort',
    {
      operands: opOrOps, comparator,
      dimension: optional(integer, -1), isStable: optional(boolean, false),
    },
    (emit, { operands, comparator, dimension, isStable }) =>
      emit(operands, {
        dimensions: [dimension === -1 ? (operands[0]?.shape.rank ?? 0) - 1 : dimension],
        is_stable: isStable,
        to_apply: comparator,
      }),
  ),
  topK: row(
    'topk',
    { operand: op, k: integer, largest: optional(boolean, true) },
    (emit, { operand, k, largest }) => emit([operand], { k, largest }),
  ),
};

/* ---- Library operations ---- */

const normalisation = (opcode, operands) =>
  row(
    opcode,
    {
      ...Object.fromEntries(operands.map((name) => [name, op])),
      epsilon: number, featureIndex: integer,
    },
    (emit, bound) =>
      emit(operands.map((name) => bound[name]), {
        epsilon: bound.epsilon,
        feature_index: bound.featureIndex,
      }),
  );

const random = (distribution, [first, second]) =>
  row('rng', { [first]: operandLike('shape'), [second]: operandLike('shape'), shape }, (emit, bound) =>
    emit([bound[first], bound[second]], { distribution }, bound.shape));

const rngAlgorithm = oneOf('RNG_DEFAULT', 'RNG_THREE_FRY', 'RNG_PHILOX');
const transposeWord = oneOf('NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT');

const library = {
  batchNormTraining: normalisation('batch-norm-training', ['operand', 'scale', 'offset']),
  batchNormInference: normalisation(
    'batch-norm-inference',
    ['operand', 'scale', 'offset', 'mean', 'variance'],
  ),
  batchNormGrad: normalisation(
    'batch-norm-grad',
    ['operand', 'scale', 'mean', 'variance', 'gradOutput'],
  ),
  cholesky: row('cholesky', { a: op, lower: optional(boolean, true) }, (emit, { a, lower }) =>
    emit([a], { lower })),
  fft: row(
    'fft',
    { operand: op, fftType: oneOf('FFT', 'IFFT', 'RFFT', 'IRFFT'), fftLength: integers },
    (emit, { operand, fftType, fftLength }) =>
      emit([operand], { fft_type: fftType, fft_length: fftLength }),
  ),
  rngBitGenerator: row(
    'rng-bit-generator',
    { algorithm: rngAlgorithm, initialState: op, shape },
    (emit, { algorithm, initialState, shape }) =>
      emit(
        [initialState],
        { algorithm: algorithm.toLowerCase() },
        Shape.tuple([initialState.shape, shape]),
      ),
  ),
  rngNormal: random('rng_normal', ['mu', 'sigma']),
  rngUniform: random('rng_uniform', ['a', 'b']),
  triangularSolve: row(
    'triangular-solve',
    {
      a: op, b: op, leftSide: boolean, lower: boolean, unitDiagonal: boolean,
      transposeA: transposeWord,
    },
    (emit, { a, b, leftSide, lower, unitDiagonal, transposeA }) =>
      emit([a, b], {
        left_side: leftSide,
        lower,
        unit_diagonal: unitDiagonal,
        transpose_a: transposeA,
      }),
  ),
};

/** XLA's operations by method name. */
export const XLA_OPERATIONS = {
  ...elementwise,
  ...conversions,
  ...movement,
  ...contractions,
  ...windowOperations,
  ...library,
  ...structure,
  ...collectives,
};

/** All methods: XLA's operations, and functions that are written out in them. */
export const OPERATIONS = { ...XLA_OPERATIONS, ...functionsBeside(XLA_OPERATIONS) };

const ofOperands = ({ parameters }) => parameters && !parameters.operands &&
  Object.values(parameters).every((kind) => kind.isOperand || kind.isOptional);

/** How many operands the operations have that work element by element and need nothing else. */
export const ELEMENTWISE = new Map(Object.entries(elementwise)
  .filter(([, entry]) => ofOperands(entry))
  .map(([name, { parameters }]) =>
    [name, Object.values(parameters).filter((kind) => !kind.isOptional).length]));

/** Whether an operation's first argument is an operand, whose method it can be. */
export function isMethodOfOps({ rows, parameters = rows[0].parameters }) {
  return Boolean(Object.values(parameters)[0]?.isOperand);
}
