/** Written by `make declarations` from the table of operations, bindings/builder/operations.mjs. */
import type {
  Body, Combiner, ElementType, Operand, PaddingConfig, Precision, ShapeLike, XlaComputation, XlaOp,
} from './index.js';

type Integers = readonly number[] | readonly bigint[] | Int32Array | Uint32Array | BigInt64Array;
type Operands = XlaOp | readonly XlaOp[];
type Pairs = readonly (readonly [number, number])[];
type Padding = 'SAME' | 'VALID' | 'same' | 'valid' | Pairs;

export interface GatherDimensionNumbers {
  offsetDims: Integers;
  collapsedSliceDims?: Integers;
  startIndexMap: Integers;
  indexVectorDim: number;
  operandBatchingDims?: Integers;
  startIndicesBatchingDims?: Integers;
}
export interface ScatterDimensionNumbers {
  updateWindowDims: Integers;
  insertedWindowDims?: Integers;
  scatterDimsToOperandDims: Integers;
  indexVectorDim: number;
  inputBatchingDims?: Integers;
  scatterIndicesBatchingDims?: Integers;
}
export interface DotDimensionNumbers {
  lhsContractingDimensions?: Integers;
  rhsContractingDimensions?: Integers;
  lhsBatchDimensions?: Integers;
  rhsBatchDimensions?: Integers;
}
export interface RaggedDotDimensionNumbers {
  dotDimensionNumbers: DotDimensionNumbers;
  /** The dimension of the left operand that the groups divide. */
  lhsRaggedDimensions: Integers;
  /** The dimension of the right operand that is the number of the group. */
  rhsGroupDimensions?: Integers;
}
export interface ConvolutionDimensionNumbers {
  /** Or in short, as HLO text has them all: 'b01f_01io->b01f'. */
  inputBatchDimension: number;
  inputFeatureDimension: number;
  inputSpatialDimensions: Integers;
  kernelInputFeatureDimension: number;
  kernelOutputFeatureDimension: number;
  kernelSpatialDimensions: Integers;
  outputBatchDimension: number;
  outputFeatureDimension: number;
  outputSpatialDimensions: Integers;
}

export interface BuilderOperations {
  /**
   * The absolute value; of complex numbers, the modulus.
   * @example
   * b.complex(x, y).abs() // JAX: jnp.abs(jax.lax.complex(x, y))
   */
  abs(operand: XlaOp): XlaOp;
  /** The arc cosine. */
  acos(operand: XlaOp): XlaOp;
  /** The inverse hyperbolic cosine. */
  acosh(operand: XlaOp): XlaOp;
  /** The arc sine. */
  asin(operand: XlaOp): XlaOp;
  /** The inverse hyperbolic sine. */
  asinh(operand: XlaOp): XlaOp;
  /** The inverse hyperbolic tangent. */
  atanh(operand: XlaOp): XlaOp;
  /** The cube root. */
  cbrt(operand: XlaOp): XlaOp;
  /** To the next integer up. */
  ceil(operand: XlaOp): XlaOp;
  /** Number of leading zero bits. */
  clz(operand: XlaOp): XlaOp;
  /** The cosine. */
  cos(operand: XlaOp): XlaOp;
  /** The hyperbolic cosine. */
  cosh(operand: XlaOp): XlaOp;
  /** The error function. */
  erf(operand: XlaOp): XlaOp;
  /** e to the power of the operand. */
  exp(operand: XlaOp): XlaOp;
  /** exp(x) - 1, exact near zero. */
  expm1(operand: XlaOp): XlaOp;
  /** To the next integer down. */
  floor(operand: XlaOp): XlaOp;
  /**
   * The imaginary part.
   * @example
   * b.complex(v, v.mul(0)).mul(b.constant([1, 2], 'c64[]'), []).imag() // JAX: (v * (1 + 2j)).imag
   */
  imag(operand: XlaOp): XlaOp;
  /** Whether it is neither infinite nor NaN: pred. */
  isFinite(operand: XlaOp): XlaOp;
  /** The natural logarithm. */
  log(operand: XlaOp): XlaOp;
  /** log(1 + x), exact near zero. */
  log1p(operand: XlaOp): XlaOp;
  /**
   * 1 / (1 + exp(-x)).
   * @example
   * x.logistic() // JAX: jax.nn.sigmoid(x)
   */
  logistic(operand: XlaOp): XlaOp;
  /**
   * The negative.
   * @example
   * x.neg() // JAX: -x
   */
  neg(operand: XlaOp): XlaOp;
  /**
   * Of integers, each bit the other way; of predicates, the negation.
   * @example
   * p.not() // JAX: ~p
   */
  not(operand: XlaOp): XlaOp;
  /** Number of bits that are set. */
  populationCount(operand: XlaOp): XlaOp;
  /**
   * The real part.
   * @example
   * b.fft(b.complex(v, v.mul(0)), 'FFT', [3]).real() // JAX: jnp.fft.fft(v).real
   */
  real(operand: XlaOp): XlaOp;
  /** To the nearest integer, ties away from zero. */
  round(operand: XlaOp): XlaOp;
  /**
   * To the nearest integer, ties to even ones.
   * @example
   * x.roundNearestEven() // JAX: jnp.round(x)
   */
  roundNearestEven(operand: XlaOp): XlaOp;
  /** 1 / sqrt(x). */
  rsqrt(operand: XlaOp): XlaOp;
  /** -1, 0 or 1; of complex numbers, x / |x|; -0 and NaN stay. */
  sign(operand: XlaOp): XlaOp;
  /** The sine. */
  sin(operand: XlaOp): XlaOp;
  /** The hyperbolic sine. */
  sinh(operand: XlaOp): XlaOp;
  /**
   * The square root.
   * @example
   * b.variance(x, 0).sqrt() // JAX: x.std(axis=0)
   */
  sqrt(operand: XlaOp): XlaOp;
  /** The tangent. */
  tan(operand: XlaOp): XlaOp;
  /** The hyperbolic tangent. */
  tanh(operand: XlaOp): XlaOp;
  /** The complex conjugate. */
  conj(operand: XlaOp): XlaOp;
  /**
   * The sum; of predicates, or.
   * @example
   * x.add(y) // JAX: x + y
   */
  add(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * The difference.
   * @example
   * x.mul(2).sub(1) // JAX: x * 2 - 1
   */
  sub(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * The product; of predicates, and.
   * @example
   * x.mul(2).sub(1) // JAX: x * 2 - 1
   */
  mul(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The upper half of the product of integers. */
  mulhi(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * The quotient; of integers, towards zero. x / 0 is -1 (all bits), the lowest / -1 itself.
   * @example
   * y.mul(y).log().div(Math.LN10) // JAX: jnp.log10(y * y)
   */
  div(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * What is left of the division, with the sign of lhs.
   * @example
   * x.rem(y) // JAX: jnp.fmod(x, y)
   */
  rem(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * The larger; NaN if one of them is. Of one operand: its largest element, along one axis or
   * several.
   * @example
   * x.max(y) // JAX: jnp.maximum(x, y)
   */
  max(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  max(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  max(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The smaller; NaN if one of them is. Of one operand: its smallest element, along one axis or
   * several.
   * @example
   * x.min(0) // JAX: jnp.minimum(x, 0)
   */
  min(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  min(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  min(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * lhs to the power of rhs.
   * @example
   * x.pow(3) // JAX: x ** 3
   */
  pow(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Bit by bit, or of predicates.
   * @example
   * p.and(x.lt(2)) // JAX: jnp.logical_and(p, x < 2)
   */
  and(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Bit by bit, or of predicates. */
  or(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Bit by bit, or of predicates. */
  xor(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits; 0 where that is all of them. */
  shiftLeft(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with the sign. */
  shiftRightArithmetic(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with zeros. */
  shiftRightLogical(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The angle of the point (rhs, lhs). */
  atan2(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * The complex number lhs + i * rhs.
   * @example
   * b.complex(x, y).abs() // JAX: jnp.abs(jax.lax.complex(x, y))
   */
  complex(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs equals rhs, element by element: pred.
   * @example
   * x.eq(y) // JAX: x == y
   */
  eq(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs does not equal rhs, element by element: pred. */
  ne(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is at least rhs, element by element: pred. */
  ge(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is more than rhs, element by element: pred.
   * @example
   * x.gt(y) // JAX: x > y
   */
  gt(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is at most rhs, element by element: pred. */
  le(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** Whether lhs is less than rhs, element by element: pred. */
  lt(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs equals rhs, element by element: pred. In total order: -NaN < -Inf < -Finite < -0 <
   * +0 < +Finite < +Inf < +NaN.
   */
  eqTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs does not equal rhs, element by element: pred. In total order: -NaN < -Inf < -Finite
   * < -0 < +0 < +Finite < +Inf < +NaN.
   */
  neTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at least rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  geTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is more than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  gtTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at most rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  leTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is less than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  ltTotalOrder(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** A comparison whose direction is an argument: pred. */
  compare(lhs: Operand, rhs: Operand, direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT'): XlaOp;
  compare(
    lhs: Operand,
    rhs: Operand,
    broadcastDimensions: Integers,
    direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT',
    compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' | { compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' },
  ): XlaOp;
  /**
   * min(max(min, operand), max); the limits may be scalars.
   * @example
   * b.clamp(0, x, 1) // JAX: jnp.clip(x, 0, 1)
   */
  clamp(min: Operand, operand: XlaOp, max: Operand): XlaOp;
  /**
   * Of each element, onTrue where pred is true, and onFalse elsewhere.
   * @example
   * p.select(x, y) // JAX: jnp.where(p, x, y)
   */
  select(pred: XlaOp, onTrue: Operand, onFalse: Operand): XlaOp;
  /** Rounded as a float of fewer bits would be, in the same type. */
  reducePrecision(operand: XlaOp, exponentBits: number, mantissaBits: number): XlaOp;
  /** Applies a computation of scalars to the elements. A function may use scalars from outside. */
  map(
    operands: Operands,
    computation: XlaComputation | Body,
    dimensions?: Integers | { dimensions?: Integers },
  ): XlaOp;
  /**
   * The values in another type: floats become integers towards zero.
   * @example
   * x.convertElementType('s32') // JAX: x.astype(jnp.int32)
   */
  convertElementType(operand: XlaOp, newElementType: ElementType): XlaOp;
  /**
   * The bits in another type. Narrower: the result has one more dimension; wider: one less.
   * @example
   * x.bitcastConvertType('s32') // JAX: x.view(jnp.int32)
   */
  bitcastConvertType(operand: XlaOp, newElementType: ElementType): XlaOp;
  /** To a narrower float or an integer, up or down as the random bits say. */
  stochasticConvertType(operand: XlaOp, random: XlaOp, newElementType: ElementType): XlaOp;
  /**
   * Repeats the operand; the new dimensions come first.
   * @example
   * b.broadcast(b.constant(7, 'f32[]'), [2, 3]) // JAX: jnp.full((2, 3), 7.0)
   */
  broadcast(operand: XlaOp, broadcastSizes: Integers): XlaOp;
  /**
   * Repeats the operand: its dimension i is dimension broadcastDimensions[i] of the result.
   * @example
   * b.broadcastInDim(v, [2, 3], [1]) // JAX: jnp.broadcast_to(v, (2, 3))
   */
  broadcastInDim(operand: XlaOp, outDimSize: Integers, broadcastDimensions: Integers): XlaOp;
  /** Makes consecutive dimensions one. */
  collapse(operand: XlaOp, dimensions: Integers): XlaOp;
  /**
   * Puts the operands one after the other along a dimension.
   * @example
   * b.concatInDim([x, y], 1) // JAX: jnp.concatenate([x, y], axis=1)
   */
  concatInDim(operands: readonly XlaOp[], dimension: number): XlaOp;
  /** The same array. */
  copy(operand: XlaOp): XlaOp;
  /** A reshape whose sizes are operands, with bounds. */
  dynamicReshape(
    operand: XlaOp,
    dimSizes: readonly XlaOp[],
    newSizeBounds: Integers,
    dimsAreDynamic: readonly boolean[],
  ): XlaOp;
  /**
   * A slice that starts where operands say: scalars, or one vector of them. It is moved inside.
   * @example
   * v.dynamicSlice([n], [2]) // JAX: jax.lax.dynamic_slice(v, [n], [2])
   */
  dynamicSlice(
    operand: XlaOp,
    startIndices: XlaOp | readonly Operand[],
    sizeIndices: Integers,
  ): XlaOp;
  /**
   * The operand with `update` in the place where operands say.
   * @example
   * v.dynamicUpdateSlice(b.constant([9], 'f32[1]'), [n]) // JAX: v.at[n].set(9)
   */
  dynamicUpdateSlice(
    operand: XlaOp,
    update: XlaOp,
    startIndices: XlaOp | readonly Operand[],
  ): XlaOp;
  /** Slices from where the indices say, put together. */
  gather(
    operand: XlaOp,
    startIndices: XlaOp,
    dimensionNumbers: GatherDimensionNumbers,
    sliceSizes: Integers,
    indicesAreSorted?: boolean | { indicesAreSorted?: boolean },
  ): XlaOp;
  /** The size of a dimension: s32. */
  getDimensionSize(operand: XlaOp, dimension: number): XlaOp;
  /** Static again, of its bound; elements past the size have unspecified values. */
  removeDynamicDimension(operand: XlaOp, dimension: number): XlaOp;
  /** Makes a dimension dynamic, of the size that an operand says. */
  setDimensionSize(operand: XlaOp, size: Operand, dimension: number): XlaOp;
  /** Padding around and between the elements; negative: elements are cut off. */
  pad(operand: XlaOp, paddingValue: Operand, paddingConfig: PaddingConfig): XlaOp;
  /**
   * Padding before and after, in one dimension.
   * @example
   * b.padInDim(x, 0, 1, 1, 2) // JAX: jnp.pad(x, ((0, 0), (1, 2)))
   */
  padInDim(
    operand: XlaOp,
    paddingValue: Operand,
    dimno: number,
    padLo: number,
    padHi: number,
  ): XlaOp;
  /**
   * The same elements with other dimensions. `dimensions`: the order in which they are collapsed
   * first, the slowest varying first.
   * @example
   * v.reshape([1, 3]) // JAX: v[None, :]
   */
  reshape(operand: XlaOp, newSizes: Integers): XlaOp;
  reshape(operand: XlaOp, dimensions: Integers, newSizes: Integers): XlaOp;
  /**
   * The elements in reverse order along dimensions.
   * @example
   * x.rev([1]) // JAX: jnp.flip(x, axis=1)
   */
  rev(operand: XlaOp, dimensions: Integers): XlaOp;
  /** The operand with updates combined in where the indices say. Several operands: a tuple. */
  scatter(
    operands: Operands,
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    indicesAreSorted?: boolean,
    uniqueIndices?: boolean,
  ): XlaOp;
  scatter(
    operands: Operands,
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    options: { indicesAreSorted?: boolean; uniqueIndices?: boolean },
  ): XlaOp;
  /**
   * From start to limit, which is not in it, in steps.
   * @example
   * x.slice([0, 1], [2, 2]).reshape([2]) // JAX: x[0:2, 1]
   */
  slice(
    operand: XlaOp,
    startIndices: Integers,
    limitIndices: Integers,
    strides?: Integers | { strides?: Integers },
  ): XlaOp;
  /**
   * A slice of one dimension.
   * @example
   * x.sliceInDim(0, 2, 1, 1) // JAX: x[:, 0:2]
   */
  sliceInDim(
    operand: XlaOp,
    startIndex: number,
    limitIndex: number,
    stride: number,
    dimno: number,
  ): XlaOp;
  /**
   * Dimension i of the result is dimension permutation[i] of the operand.
   * @example
   * x.transpose([1, 0]) // JAX: x.T
   */
  transpose(operand: XlaOp, permutation: Integers): XlaOp;
  /** The product of vectors and matrices. */
  dot(
    lhs: XlaOp,
    rhs: XlaOp,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dot(
    lhs: XlaOp,
    rhs: XlaOp,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** The product over contracting dimensions, batch by batch. */
  dotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dotGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** A dot in which each group of rows of one operand meets a part of its own of the other. */
  raggedDot(
    lhs: XlaOp,
    rhs: XlaOp,
    groupSizes: XlaOp,
    dimensionNumbers: RaggedDotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision] | { precision?: Precision | readonly [Precision, Precision] },
  ): XlaOp;
  /**
   * A dot of scaled operands: a scale has its operand's rank, and each of its elements is for a
   * block of the operand's. Exactly one dimension is contracted.
   */
  scaledDot(
    lhs: XlaOp,
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  scaledDot(
    lhs: XlaOp,
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /**
   * Combines the elements along dimensions, in no particular order. Several operands: the result is
   * a tuple.
   * @example
   * b.reduce(x, 1, 'mul', [1]) // JAX: x.prod(axis=1)
   */
  reduce(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    dimensions: Integers,
  ): XlaOp;
  /** Combines all elements. */
  reduceAll(operand: XlaOp, initValue: Operand, computation: Combiner): XlaOp;
  /**
   * Sorts along a dimension; -1 is the last. Several operands: the result is a tuple. The
   * comparator gets two elements of each.
   * @example
   * b.sort(x, 'lt', 1) // JAX: jnp.sort(x, axis=1)
   */
  sort(operands: Operands, comparator: Combiner, dimension?: number, isStable?: boolean): XlaOp;
  sort(
    operands: Operands,
    comparator: Combiner,
    options: { dimension?: number; isStable?: boolean },
  ): XlaOp;
  /**
   * A tuple: the values and, as s32, their indices in the last dimension.
   * @example
   * b.topK(x, 2) // JAX: jax.lax.top_k(x, 2)
   */
  topK(operand: XlaOp, k: number, largest?: boolean | { largest?: boolean }): XlaOp;
  /** A convolution: batch, feature, spatial dimensions; the kernel: output, input, spatial. */
  conv(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  conv(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers. */
  convWithGeneralPadding(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    lhsDilation?: Integers,
    rhsDilation?: Integers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralPadding(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    options: { lhsDilation?: Integers; rhsDilation?: Integers; featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution whose dimensions are in another order. */
  convWithGeneralDimensions(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralDimensions(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers and dimensions in any order. */
  convGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneral(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with holes between elements of the operand or the kernel. */
  convGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneralDilated(
    lhs: XlaOp,
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /**
   * Combines the elements in each position of a window. Several operands: the result is a tuple.
   */
  reduceWindow(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    baseDilations?: Integers,
    windowDilations?: Integers,
  ): XlaOp;
  reduceWindow(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    options: { baseDilations?: Integers; windowDilations?: Integers },
  ): XlaOp;
  /**
   * reduceWindow with padding in numbers and dilations. Several operands: the result is a tuple.
   */
  reduceWindowWithGeneralPadding(
    operands: Operands,
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    baseDilations: Integers,
    windowDilations: Integers,
    padding: Pairs,
  ): XlaOp;
  /** Combines each element of source into the one that `select` chooses in its window. */
  selectAndScatter(
    operand: XlaOp,
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** selectAndScatter with padding in numbers. */
  selectAndScatterWithGeneralPadding(
    operand: XlaOp,
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Pairs,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** A tuple: output, batch mean and batch variance. */
  batchNormTraining(
    operand: XlaOp,
    scale: XlaOp,
    offset: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** Normalises by a given mean and variance. */
  batchNormInference(
    operand: XlaOp,
    scale: XlaOp,
    offset: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** A tuple: the gradients of operand, scale and offset. */
  batchNormGrad(
    operand: XlaOp,
    scale: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    gradOutput: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /**
   * The triangular factor of a positive definite matrix.
   * @example
   * b.cholesky(b.eq(b.iota('s32[3,3]', 0), b.iota('s32[3,3]', 1)).convertElementType('f32').mul(4), true) // JAX: jnp.linalg.cholesky(jnp.eye(3) * 4)
   */
  cholesky(a: XlaOp, lower?: boolean | { lower?: boolean }): XlaOp;
  /**
   * Fourier transforms of the last dimensions, as many as fftLength has.
   * @example
   * b.fft(b.complex(v, v.mul(0)), 'FFT', [3]).real() // JAX: jnp.fft.fft(v).real
   */
  fft(operand: XlaOp, fftType: 'FFT' | 'IFFT' | 'RFFT' | 'IRFFT', fftLength: Integers): XlaOp;
  /** A tuple: the next state and the bits. */
  rngBitGenerator(
    algorithm: 'RNG_DEFAULT' | 'RNG_THREE_FRY' | 'RNG_PHILOX',
    initialState: XlaOp,
    shape: ShapeLike,
  ): XlaOp;
  /** Normally distributed; see execute's seed. */
  rngNormal(mu: Operand, sigma: Operand, shape: ShapeLike): XlaOp;
  /** Uniformly distributed in [a, b); see execute's seed. */
  rngUniform(a: Operand, b: Operand, shape: ShapeLike): XlaOp;
  /** x of a x = b (or x a = b), for a triangular a. */
  triangularSolve(
    a: XlaOp,
    b: XlaOp,
    leftSide: boolean,
    lower: boolean,
    unitDiagonal: boolean,
    transposeA: 'NO_TRANSPOSE' | 'TRANSPOSE' | 'ADJOINT',
  ): XlaOp;
  /** A token that comes after other tokens. */
  afterAll(operands: readonly XlaOp[]): XlaOp;
  /** Calls a computation. A function may use values from outside. */
  call(computation: XlaComputation | Body, args: readonly XlaOp[]): XlaOp;
  /**
   * Calls one of several computations; an index out of range takes the last. Functions may use
   * values from outside, and then need no operands.
   * @example
   * b.conditional(n.gt(0), x, (f, a) => f.sin(a), x, (f, a) => f.cos(a)) // JAX: jax.lax.cond(n > 0, jnp.sin, jnp.cos, x)
   */
  conditional(
    pred: XlaOp,
    trueOperand: XlaOp,
    trueComputation: XlaComputation | Body,
    falseOperand: XlaOp,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    pred: XlaOp,
    trueComputation: XlaComputation | Body,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    branchIndex: XlaOp,
    branchComputations: readonly (XlaComputation | Body)[],
    branchOperands?: readonly XlaOp[] | { branchOperands?: readonly XlaOp[] },
  ): XlaOp;
  /** A token that comes after nothing. */
  createToken(): XlaOp;
  /** Calls the function given to client.registerCustomCall(). */
  customCall(
    targetName: string,
    args: readonly XlaOp[],
    shape: ShapeLike,
    opaque?: string,
    hasSideEffect?: boolean,
    operandShapesWithLayout?: readonly ShapeLike[],
    computation?: XlaComputation,
    apiVersion?: 'API_VERSION_ORIGINAL' | 'API_VERSION_STATUS_RETURNING' | 'API_VERSION_STATUS_RETURNING_UNIFIED' | 'API_VERSION_TYPED_FFI',
  ): XlaOp;
  customCall(
    targetName: string,
    args: readonly XlaOp[],
    shape: ShapeLike,
    options: { opaque?: string; hasSideEffect?: boolean; operandShapesWithLayout?: readonly ShapeLike[]; computation?: XlaComputation; apiVersion?: 'API_VERSION_ORIGINAL' | 'API_VERSION_STATUS_RETURNING' | 'API_VERSION_STATUS_RETURNING_UNIFIED' | 'API_VERSION_TYPED_FFI' },
  ): XlaOp;
  /**
   * An element of a tuple; or iterate it: `const [a, b] = op`, whose types are XlaOp | undefined
   * with noUncheckedIndexedAccess.
   * @example
   * b.scan(v, b.constant(1, 'f32[]'), (f, e, c) => [c.mul(e), c.mul(e)], 0, { isAssociative: true }).getTupleElement(0) // JAX: jax.lax.associative_scan(jnp.multiply, v)
   */
  getTupleElement(tupleData: XlaOp, index: number): XlaOp;
  /**
   * 0, 1, 2, ... along a dimension.
   * @example
   * b.iota('s32', 3) // JAX: jnp.arange(3)
   */
  iota(shape: ShapeLike, iotaDimension: number): XlaOp;
  iota(type: ElementType, size: number): XlaOp;
  /** The same value, across which no pass moves anything. */
  optimizationBarrier(operand: XlaOp): XlaOp;
  /**
   * Calls the computation for each element of the inputs along a dimension: `(b, element, carry) =>
   * [output, next]`. The result is a tuple: the outputs, then the last carries. jax.lax.scan has
   * the carry first, in both.
   * @example
   * b.scan(v, b.constant(1, 'f32[]'), (f, e, c) => [c.mul(e), c.add(e)], 0) // JAX: jax.lax.scan(lambda c, e: (c + e, c * e), 1.0, v)[::-1]
   */
  scan(
    inputs: Operands,
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    scanDimensionSize?: number,
    isReverse?: boolean,
    isAssociative?: boolean,
  ): XlaOp;
  scan(
    inputs: Operands,
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    options: { scanDimensionSize?: number; isReverse?: boolean; isAssociative?: boolean },
  ): XlaOp;
  /** Puts values together. */
  tuple(elements: readonly XlaOp[]): XlaOp;
  /**
   * Calls the body as long as the condition is true. Functions get the elements of the state one by
   * one, return the next ones in an array, and may use values from outside.
   * @example
   * b.while((f, s) => f.sum(s).lt(99), (f, s) => s.mul(2), v) // JAX: jax.lax.while_loop(lambda s: s.sum() < 99, lambda s: s * 2, v)
   */
  while(
    condition: XlaComputation | Body,
    body: XlaComputation | Body,
    init: XlaOp | readonly XlaOp[],
  ): XlaOp;
  /** All replicas' operands, one after the other along a dimension. */
  allGather(
    operand: XlaOp,
    allGatherDim: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allGather(
    operand: XlaOp,
    allGatherDim: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** All replicas' operands combined, the same on all of them. */
  allReduce(
    operand: XlaOp,
    computation: Combiner,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allReduce(
    operand: XlaOp,
    computation: Combiner,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** Replica i gets part i of each operand, in the order of the replicas. */
  allToAll(
    operand: XlaOp,
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  allToAll(
    operand: XlaOp,
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** Operand i goes to the i-th replica of the group; element i of the result came from there. */
  allToAllTuple(
    operands: readonly XlaOp[],
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  allToAllTuple(
    operands: readonly XlaOp[],
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** The operand of the first replica of the group. */
  collectiveBroadcast(
    operand: XlaOp,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  collectiveBroadcast(
    operand: XlaOp,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** Each source sends to its target; replicas that are no target get zeros. */
  collectivePermute(
    operand: XlaOp,
    sourceTargetPairs: Pairs,
    channelId?: number | { channelId?: number },
  ): XlaOp;
  /** allReduce with addition; of predicates, or. */
  crossReplicaSum(
    operand: XlaOp,
    replicaGroups?: readonly Integers[] | { replicaGroups?: readonly Integers[] },
  ): XlaOp;
  /** The number of the partition: u32. */
  partitionId(): XlaOp;
  /** allToAll of parts whose sizes are operands. */
  raggedAllToAll(
    input: XlaOp,
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  raggedAllToAll(
    input: XlaOp,
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** A part of all replicas' operands combined, another one for each replica. */
  reduceScatter(
    operand: XlaOp,
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  reduceScatter(
    operand: XlaOp,
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** The number of the replica: u32. */
  replicaId(): XlaOp;
  /** What client.transferToInfeed() queued. */
  infeed(shape: ShapeLike, config?: string | { config?: string }): XlaOp;
  /** A tuple: the data and a token. */
  infeedWithToken(token: XlaOp, shape: ShapeLike, config?: string | { config?: string }): XlaOp;
  /** A token; client.transferFromOutfeed() gets the operand. */
  outfeed(operand: XlaOp, shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeed(operand: XlaOp, options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string }): XlaOp;
  /** A token. */
  outfeedWithToken(
    operand: XlaOp,
    token: XlaOp,
    shapeWithLayout?: ShapeLike,
    outfeedConfig?: string,
  ): XlaOp;
  outfeedWithToken(
    operand: XlaOp,
    token: XlaOp,
    options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string },
  ): XlaOp;
  /** A token; the recv of the same channel gets the operand. */
  send(operand: XlaOp, channelHandle: number): XlaOp;
  /** A token. */
  sendWithToken(operand: XlaOp, token: XlaOp, channelHandle: number): XlaOp;
  /** A token; the host gets the operand. */
  sendToHost(operand: XlaOp, token: XlaOp, channelHandle: number): XlaOp;
  /** What the send of the same channel sent. */
  recv(shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvWithToken(token: XlaOp, shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvFromHost(token: XlaOp, shape: ShapeLike, channelHandle: number): XlaOp;
  /**
   * The sum along one axis or several; without axis, of all elements. Predicates count as s32.
   * @example
   * b.sum(x) // JAX: x.sum()
   */
  sum(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  sum(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The mean along one axis or several; without axis, of all elements. Of integers, f32.
   * @example
   * b.mean(x, 0, true) // JAX: x.mean(axis=0, keepdims=True)
   */
  mean(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  mean(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The mean of |x - mean|^2 along one axis or several; without axis, of all elements.
   * @example
   * b.variance(x, 0).sqrt() // JAX: x.std(axis=0)
   */
  variance(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  variance(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * log(sum(exp(x))) along one axis or several, without overflow; without axis, of all elements.
   */
  logsumexp(operand: XlaOp, axis?: number | Integers, keepDims?: boolean): XlaOp;
  logsumexp(operand: XlaOp, options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first largest element along an axis, or in the flattened array; NaN
   * counts as the largest.
   * @example
   * b.argmax(x, 1) // JAX: x.argmax(axis=1)
   */
  argmax(operand: XlaOp, axis?: number, keepDims?: boolean): XlaOp;
  argmax(operand: XlaOp, options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first smallest element along an axis, or in the flattened array; NaN
   * counts as the smallest.
   */
  argmin(operand: XlaOp, axis?: number, keepDims?: boolean): XlaOp;
  argmin(operand: XlaOp, options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * Sums of all elements up to each one along an axis, or in the flattened array; in reverse, from
   * each one on.
   * @example
   * b.cumsum(x, 1) // JAX: x.cumsum(axis=1)
   */
  cumsum(operand: XlaOp, axis?: number, reverse?: boolean): XlaOp;
  cumsum(operand: XlaOp, options: { axis?: number; reverse?: boolean }): XlaOp;
  /**
   * max(x, 0)
   * @example
   * b.relu(x) // JAX: jax.nn.relu(x)
   */
  relu(operand: XlaOp): XlaOp;
  /**
   * x times the normal distribution function of x, approximated by a tanh unless approximate is
   * false.
   */
  gelu(operand: XlaOp, approximate?: boolean | { approximate?: boolean }): XlaOp;
  /** x logistic(x) */
  silu(operand: XlaOp): XlaOp;
  /** log(1 + exp(x)), without overflow. */
  softplus(operand: XlaOp): XlaOp;
  /**
   * exp(x) / sum(exp(x)) along one axis or several: by default the last.
   * @example
   * b.softmax(x) // JAX: jax.nn.softmax(x)
   */
  softmax(operand: XlaOp, axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /** log(softmax(x)) along one axis or several: by default the last. */
  logSoftmax(operand: XlaOp, axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /**
   * A new dimension of `classes` elements, by default the last: 1 at the index and 0 elsewhere; all
   * 0 for an index outside.
   * @example
   * b.oneHot(i, 3) // JAX: jax.nn.one_hot(i, 3)
   */
  oneHot(indices: XlaOp, classes: number, axis?: number, dtype?: ElementType): XlaOp;
  oneHot(indices: XlaOp, classes: number, options: { axis?: number; dtype?: ElementType }): XlaOp;
  /**
   * (x - mean) rsqrt(variance + epsilon) along one axis or several, by default the last; times
   * scale, plus bias, which have the axes' dimensions.
   */
  layerNorm(
    operand: XlaOp,
    axis?: number | Integers,
    scale?: XlaOp,
    bias?: XlaOp,
    epsilon?: number,
  ): XlaOp;
  layerNorm(
    operand: XlaOp,
    options: { axis?: number | Integers; scale?: XlaOp; bias?: XlaOp; epsilon?: number },
  ): XlaOp;
  /**
   * A loss for each row of logits. Labels are integers, or floats that give each class its weight.
   */
  crossEntropy(logits: XlaOp, labels: XlaOp, axis?: number | { axis?: number }): XlaOp;
  /**
   * onTrue or onFalse, element by element; shapes are broadcast as NumPy's are.
   * @example
   * b.where(p, x, v) // JAX: jnp.where(p, x, v)
   */
  where(pred: XlaOp, onTrue: Operand, onFalse: Operand): XlaOp;
  /**
   * Elements of an axis, or of the flattened array, at these indices. Beyond the ends: NaN (or the
   * lowest integer), the nearest, or counted modulo the size. Except for "clip", negative indices
   * count from the end.
   */
  take(operand: XlaOp, indices: XlaOp, axis?: number, mode?: 'fill' | 'clip' | 'wrap'): XlaOp;
  take(
    operand: XlaOp,
    indices: XlaOp,
    options: { axis?: number; mode?: 'fill' | 'clip' | 'wrap' },
  ): XlaOp;
  /**
   * Joins arrays of one shape along a new axis.
   * @example
   * b.stack([x, y]) // JAX: jnp.stack([x, y])
   */
  stack(arrays: readonly XlaOp[], axis?: number | { axis?: number }): XlaOp;
  /**
   * A tuple of equal parts of an axis, or of the parts between these indices.
   * @example
   * b.split(x, 3, 1) // JAX: jnp.split(x, 3, axis=1)
   */
  split(operand: XlaOp, parts: number | Integers, axis?: number | { axis?: number }): XlaOp;
  /**
   * `count` values at equal distances from start to stop; without endpoint, stop is left out.
   * @example
   * b.linspace(b.constant(0, 'f32[]'), 1, 5) // JAX: jnp.linspace(0, 1, 5)
   */
  linspace(
    start: Operand,
    stop: Operand,
    count: number,
    endpoint?: boolean | { endpoint?: boolean },
  ): XlaOp;
  /**
   * NumPy's product: the last two dimensions are matrices, those before them batches, which are
   * broadcast; a vector is a row on the left and a column on the right.
   */
  matmul(lhs: XlaOp, rhs: XlaOp): XlaOp;
  /**
   * The sum of products that the subscripts describe, as NumPy's: 'bij,bjk->bik'.
   * @example
   * b.einsum('ij,kj->ik', [x, y]) // JAX: jnp.einsum('ij,kj->ik', x, y)
   */
  einsum(subscripts: string, operands: readonly XlaOp[]): XlaOp;
  /** The key u32[2] of jax.random.key(seed), for uniform() and the others. */
  key(seed: number): XlaOp;
  /** Keys that are independent of each other, u32[count,2]: jax.random.split(). */
  splitKey(key: XlaOp, count?: number | { count?: number }): XlaOp;
  /** Another key, made of a key and an integer: jax.random.fold_in(). */
  foldIn(key: XlaOp, data: XlaOp | number): XlaOp;
  /**
   * Random numbers from low (included) to high (excluded), with the bits of jax.random.uniform().
   */
  uniform(key: XlaOp, shape: ShapeLike, low?: number, high?: number): XlaOp;
  uniform(key: XlaOp, shape: ShapeLike, options: { low?: number; high?: number }): XlaOp;
  /**
   * Random numbers of the standard normal distribution, from the bits of jax.random.normal().
   * @example
   * b.normal(b.key(1), 'f32[2]') // JAX: jax.random.normal(jax.random.key(1), (2,))
   */
  normal(key: XlaOp, shape: ShapeLike): XlaOp;
  /** Keeps each element with probability 1 - rate, divided by that; the others become 0. */
  dropout(operand: XlaOp, key: XlaOp, rate: number): XlaOp;
}

export interface OpOperations {
  /**
   * The absolute value; of complex numbers, the modulus.
   * @example
   * b.complex(x, y).abs() // JAX: jnp.abs(jax.lax.complex(x, y))
   */
  abs(): XlaOp;
  /** The arc cosine. */
  acos(): XlaOp;
  /** The inverse hyperbolic cosine. */
  acosh(): XlaOp;
  /** The arc sine. */
  asin(): XlaOp;
  /** The inverse hyperbolic sine. */
  asinh(): XlaOp;
  /** The inverse hyperbolic tangent. */
  atanh(): XlaOp;
  /** The cube root. */
  cbrt(): XlaOp;
  /** To the next integer up. */
  ceil(): XlaOp;
  /** Number of leading zero bits. */
  clz(): XlaOp;
  /** The cosine. */
  cos(): XlaOp;
  /** The hyperbolic cosine. */
  cosh(): XlaOp;
  /** The error function. */
  erf(): XlaOp;
  /** e to the power of the operand. */
  exp(): XlaOp;
  /** exp(x) - 1, exact near zero. */
  expm1(): XlaOp;
  /** To the next integer down. */
  floor(): XlaOp;
  /**
   * The imaginary part.
   * @example
   * b.complex(v, v.mul(0)).mul(b.constant([1, 2], 'c64[]'), []).imag() // JAX: (v * (1 + 2j)).imag
   */
  imag(): XlaOp;
  /** Whether it is neither infinite nor NaN: pred. */
  isFinite(): XlaOp;
  /** The natural logarithm. */
  log(): XlaOp;
  /** log(1 + x), exact near zero. */
  log1p(): XlaOp;
  /**
   * 1 / (1 + exp(-x)).
   * @example
   * x.logistic() // JAX: jax.nn.sigmoid(x)
   */
  logistic(): XlaOp;
  /**
   * The negative.
   * @example
   * x.neg() // JAX: -x
   */
  neg(): XlaOp;
  /**
   * Of integers, each bit the other way; of predicates, the negation.
   * @example
   * p.not() // JAX: ~p
   */
  not(): XlaOp;
  /** Number of bits that are set. */
  populationCount(): XlaOp;
  /**
   * The real part.
   * @example
   * b.fft(b.complex(v, v.mul(0)), 'FFT', [3]).real() // JAX: jnp.fft.fft(v).real
   */
  real(): XlaOp;
  /** To the nearest integer, ties away from zero. */
  round(): XlaOp;
  /**
   * To the nearest integer, ties to even ones.
   * @example
   * x.roundNearestEven() // JAX: jnp.round(x)
   */
  roundNearestEven(): XlaOp;
  /** 1 / sqrt(x). */
  rsqrt(): XlaOp;
  /** -1, 0 or 1; of complex numbers, x / |x|; -0 and NaN stay. */
  sign(): XlaOp;
  /** The sine. */
  sin(): XlaOp;
  /** The hyperbolic sine. */
  sinh(): XlaOp;
  /**
   * The square root.
   * @example
   * b.variance(x, 0).sqrt() // JAX: x.std(axis=0)
   */
  sqrt(): XlaOp;
  /** The tangent. */
  tan(): XlaOp;
  /** The hyperbolic tangent. */
  tanh(): XlaOp;
  /** The complex conjugate. */
  conj(): XlaOp;
  /**
   * The sum; of predicates, or.
   * @example
   * x.add(y) // JAX: x + y
   */
  add(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * The difference.
   * @example
   * x.mul(2).sub(1) // JAX: x * 2 - 1
   */
  sub(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * The product; of predicates, and.
   * @example
   * x.mul(2).sub(1) // JAX: x * 2 - 1
   */
  mul(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** The upper half of the product of integers. */
  mulhi(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * The quotient; of integers, towards zero. x / 0 is -1 (all bits), the lowest / -1 itself.
   * @example
   * y.mul(y).log().div(Math.LN10) // JAX: jnp.log10(y * y)
   */
  div(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * What is left of the division, with the sign of lhs.
   * @example
   * x.rem(y) // JAX: jnp.fmod(x, y)
   */
  rem(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * The larger; NaN if one of them is. Of one operand: its largest element, along one axis or
   * several.
   * @example
   * x.max(y) // JAX: jnp.maximum(x, y)
   */
  max(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  max(axis?: number | Integers, keepDims?: boolean): XlaOp;
  max(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The smaller; NaN if one of them is. Of one operand: its smallest element, along one axis or
   * several.
   * @example
   * x.min(0) // JAX: jnp.minimum(x, 0)
   */
  min(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  min(axis?: number | Integers, keepDims?: boolean): XlaOp;
  min(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * lhs to the power of rhs.
   * @example
   * x.pow(3) // JAX: x ** 3
   */
  pow(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * Bit by bit, or of predicates.
   * @example
   * p.and(x.lt(2)) // JAX: jnp.logical_and(p, x < 2)
   */
  and(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Bit by bit, or of predicates. */
  or(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Bit by bit, or of predicates. */
  xor(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** lhs shifted by rhs bits; 0 where that is all of them. */
  shiftLeft(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with the sign. */
  shiftRightArithmetic(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** lhs shifted by rhs bits, filled with zeros. */
  shiftRightLogical(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** The angle of the point (rhs, lhs). */
  atan2(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * The complex number lhs + i * rhs.
   * @example
   * b.complex(x, y).abs() // JAX: jnp.abs(jax.lax.complex(x, y))
   */
  complex(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * Whether lhs equals rhs, element by element: pred.
   * @example
   * x.eq(y) // JAX: x == y
   */
  eq(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs does not equal rhs, element by element: pred. */
  ne(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is at least rhs, element by element: pred. */
  ge(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * Whether lhs is more than rhs, element by element: pred.
   * @example
   * x.gt(y) // JAX: x > y
   */
  gt(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is at most rhs, element by element: pred. */
  le(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /** Whether lhs is less than rhs, element by element: pred. */
  lt(rhs: Operand, broadcastDimensions?: Integers | { broadcastDimensions?: Integers }): XlaOp;
  /**
   * Whether lhs equals rhs, element by element: pred. In total order: -NaN < -Inf < -Finite < -0 <
   * +0 < +Finite < +Inf < +NaN.
   */
  eqTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs does not equal rhs, element by element: pred. In total order: -NaN < -Inf < -Finite
   * < -0 < +0 < +Finite < +Inf < +NaN.
   */
  neTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at least rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  geTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is more than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  gtTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is at most rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  leTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /**
   * Whether lhs is less than rhs, element by element: pred. In total order: -NaN < -Inf < -Finite <
   * -0 < +0 < +Finite < +Inf < +NaN.
   */
  ltTotalOrder(
    rhs: Operand,
    broadcastDimensions?: Integers | { broadcastDimensions?: Integers },
  ): XlaOp;
  /** A comparison whose direction is an argument: pred. */
  compare(rhs: Operand, direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT'): XlaOp;
  compare(
    rhs: Operand,
    broadcastDimensions: Integers,
    direction: 'EQ' | 'NE' | 'GE' | 'GT' | 'LE' | 'LT',
    compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' | { compareType?: 'FLOAT' | 'TOTALORDER' | 'SIGNED' | 'UNSIGNED' },
  ): XlaOp;
  /**
   * min(max(min, operand), max); the limits may be scalars.
   * @example
   * b.clamp(0, x, 1) // JAX: jnp.clip(x, 0, 1)
   */
  clamp(operand: XlaOp, max: Operand): XlaOp;
  /**
   * Of each element, onTrue where pred is true, and onFalse elsewhere.
   * @example
   * p.select(x, y) // JAX: jnp.where(p, x, y)
   */
  select(onTrue: Operand, onFalse: Operand): XlaOp;
  /** Rounded as a float of fewer bits would be, in the same type. */
  reducePrecision(exponentBits: number, mantissaBits: number): XlaOp;
  /** Applies a computation of scalars to the elements. A function may use scalars from outside. */
  map(computation: XlaComputation | Body, dimensions?: Integers | { dimensions?: Integers }): XlaOp;
  /**
   * The values in another type: floats become integers towards zero.
   * @example
   * x.convertElementType('s32') // JAX: x.astype(jnp.int32)
   */
  convertElementType(newElementType: ElementType): XlaOp;
  /**
   * The bits in another type. Narrower: the result has one more dimension; wider: one less.
   * @example
   * x.bitcastConvertType('s32') // JAX: x.view(jnp.int32)
   */
  bitcastConvertType(newElementType: ElementType): XlaOp;
  /** To a narrower float or an integer, up or down as the random bits say. */
  stochasticConvertType(random: XlaOp, newElementType: ElementType): XlaOp;
  /**
   * Repeats the operand; the new dimensions come first.
   * @example
   * b.broadcast(b.constant(7, 'f32[]'), [2, 3]) // JAX: jnp.full((2, 3), 7.0)
   */
  broadcast(broadcastSizes: Integers): XlaOp;
  /**
   * Repeats the operand: its dimension i is dimension broadcastDimensions[i] of the result.
   * @example
   * b.broadcastInDim(v, [2, 3], [1]) // JAX: jnp.broadcast_to(v, (2, 3))
   */
  broadcastInDim(outDimSize: Integers, broadcastDimensions: Integers): XlaOp;
  /** Makes consecutive dimensions one. */
  collapse(dimensions: Integers): XlaOp;
  /** The same array. */
  copy(): XlaOp;
  /** A reshape whose sizes are operands, with bounds. */
  dynamicReshape(
    dimSizes: readonly XlaOp[],
    newSizeBounds: Integers,
    dimsAreDynamic: readonly boolean[],
  ): XlaOp;
  /**
   * A slice that starts where operands say: scalars, or one vector of them. It is moved inside.
   * @example
   * v.dynamicSlice([n], [2]) // JAX: jax.lax.dynamic_slice(v, [n], [2])
   */
  dynamicSlice(startIndices: XlaOp | readonly Operand[], sizeIndices: Integers): XlaOp;
  /**
   * The operand with `update` in the place where operands say.
   * @example
   * v.dynamicUpdateSlice(b.constant([9], 'f32[1]'), [n]) // JAX: v.at[n].set(9)
   */
  dynamicUpdateSlice(update: XlaOp, startIndices: XlaOp | readonly Operand[]): XlaOp;
  /** Slices from where the indices say, put together. */
  gather(
    startIndices: XlaOp,
    dimensionNumbers: GatherDimensionNumbers,
    sliceSizes: Integers,
    indicesAreSorted?: boolean | { indicesAreSorted?: boolean },
  ): XlaOp;
  /** The size of a dimension: s32. */
  getDimensionSize(dimension: number): XlaOp;
  /** Static again, of its bound; elements past the size have unspecified values. */
  removeDynamicDimension(dimension: number): XlaOp;
  /** Makes a dimension dynamic, of the size that an operand says. */
  setDimensionSize(size: Operand, dimension: number): XlaOp;
  /** Padding around and between the elements; negative: elements are cut off. */
  pad(paddingValue: Operand, paddingConfig: PaddingConfig): XlaOp;
  /**
   * Padding before and after, in one dimension.
   * @example
   * b.padInDim(x, 0, 1, 1, 2) // JAX: jnp.pad(x, ((0, 0), (1, 2)))
   */
  padInDim(paddingValue: Operand, dimno: number, padLo: number, padHi: number): XlaOp;
  /**
   * The same elements with other dimensions. `dimensions`: the order in which they are collapsed
   * first, the slowest varying first.
   * @example
   * v.reshape([1, 3]) // JAX: v[None, :]
   */
  reshape(newSizes: Integers): XlaOp;
  reshape(dimensions: Integers, newSizes: Integers): XlaOp;
  /**
   * The elements in reverse order along dimensions.
   * @example
   * x.rev([1]) // JAX: jnp.flip(x, axis=1)
   */
  rev(dimensions: Integers): XlaOp;
  /** The operand with updates combined in where the indices say. Several operands: a tuple. */
  scatter(
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    indicesAreSorted?: boolean,
    uniqueIndices?: boolean,
  ): XlaOp;
  scatter(
    scatterIndices: XlaOp,
    updates: Operands,
    updateComputation: Combiner,
    dimensionNumbers: ScatterDimensionNumbers,
    options: { indicesAreSorted?: boolean; uniqueIndices?: boolean },
  ): XlaOp;
  /**
   * From start to limit, which is not in it, in steps.
   * @example
   * x.slice([0, 1], [2, 2]).reshape([2]) // JAX: x[0:2, 1]
   */
  slice(
    startIndices: Integers,
    limitIndices: Integers,
    strides?: Integers | { strides?: Integers },
  ): XlaOp;
  /**
   * A slice of one dimension.
   * @example
   * x.sliceInDim(0, 2, 1, 1) // JAX: x[:, 0:2]
   */
  sliceInDim(startIndex: number, limitIndex: number, stride: number, dimno: number): XlaOp;
  /**
   * Dimension i of the result is dimension permutation[i] of the operand.
   * @example
   * x.transpose([1, 0]) // JAX: x.T
   */
  transpose(permutation: Integers): XlaOp;
  /** The product of vectors and matrices. */
  dot(
    rhs: XlaOp,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dot(
    rhs: XlaOp,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** The product over contracting dimensions, batch by batch. */
  dotGeneral(
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  dotGeneral(
    rhs: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /** A dot in which each group of rows of one operand meets a part of its own of the other. */
  raggedDot(
    rhs: XlaOp,
    groupSizes: XlaOp,
    dimensionNumbers: RaggedDotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision] | { precision?: Precision | readonly [Precision, Precision] },
  ): XlaOp;
  /**
   * A dot of scaled operands: a scale has its operand's rank, and each of its elements is for a
   * block of the operand's. Exactly one dimension is contracted.
   */
  scaledDot(
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
  ): XlaOp;
  scaledDot(
    rhs: XlaOp,
    lhsScale: XlaOp,
    rhsScale: XlaOp,
    dimensionNumbers: DotDimensionNumbers,
    options: { precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType },
  ): XlaOp;
  /**
   * Combines the elements along dimensions, in no particular order. Several operands: the result is
   * a tuple.
   * @example
   * b.reduce(x, 1, 'mul', [1]) // JAX: x.prod(axis=1)
   */
  reduce(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    dimensions: Integers,
  ): XlaOp;
  /** Combines all elements. */
  reduceAll(initValue: Operand, computation: Combiner): XlaOp;
  /**
   * Sorts along a dimension; -1 is the last. Several operands: the result is a tuple. The
   * comparator gets two elements of each.
   * @example
   * b.sort(x, 'lt', 1) // JAX: jnp.sort(x, axis=1)
   */
  sort(comparator: Combiner, dimension?: number, isStable?: boolean): XlaOp;
  sort(comparator: Combiner, options: { dimension?: number; isStable?: boolean }): XlaOp;
  /**
   * A tuple: the values and, as s32, their indices in the last dimension.
   * @example
   * b.topK(x, 2) // JAX: jax.lax.top_k(x, 2)
   */
  topK(k: number, largest?: boolean | { largest?: boolean }): XlaOp;
  /** A convolution: batch, feature, spatial dimensions; the kernel: output, input, spatial. */
  conv(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  conv(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers. */
  convWithGeneralPadding(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    lhsDilation?: Integers,
    rhsDilation?: Integers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralPadding(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    options: { lhsDilation?: Integers; rhsDilation?: Integers; featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution whose dimensions are in another order. */
  convWithGeneralDimensions(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convWithGeneralDimensions(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with padding in numbers and dimensions in any order. */
  convGeneral(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneral(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Pairs,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /** A convolution with holes between elements of the operand or the kernel. */
  convGeneralDilated(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    featureGroupCount?: number,
    batchGroupCount?: number,
    precision?: Precision | readonly [Precision, Precision],
    preferredElementType?: ElementType,
    windowReversal?: readonly boolean[],
  ): XlaOp;
  convGeneralDilated(
    rhs: XlaOp,
    windowStrides: Integers,
    padding: Padding,
    lhsDilation: Integers,
    rhsDilation: Integers,
    dimensionNumbers: string | ConvolutionDimensionNumbers,
    options: { featureGroupCount?: number; batchGroupCount?: number; precision?: Precision | readonly [Precision, Precision]; preferredElementType?: ElementType; windowReversal?: readonly boolean[] },
  ): XlaOp;
  /**
   * Combines the elements in each position of a window. Several operands: the result is a tuple.
   */
  reduceWindow(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    baseDilations?: Integers,
    windowDilations?: Integers,
  ): XlaOp;
  reduceWindow(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    options: { baseDilations?: Integers; windowDilations?: Integers },
  ): XlaOp;
  /**
   * reduceWindow with padding in numbers and dilations. Several operands: the result is a tuple.
   */
  reduceWindowWithGeneralPadding(
    initValues: Operand | readonly Operand[],
    computation: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    baseDilations: Integers,
    windowDilations: Integers,
    padding: Pairs,
  ): XlaOp;
  /** Combines each element of source into the one that `select` chooses in its window. */
  selectAndScatter(
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Padding,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** selectAndScatter with padding in numbers. */
  selectAndScatterWithGeneralPadding(
    select: Combiner,
    windowDimensions: Integers,
    windowStrides: Integers,
    padding: Pairs,
    source: XlaOp,
    initValue: Operand,
    scatter: Combiner,
  ): XlaOp;
  /** A tuple: output, batch mean and batch variance. */
  batchNormTraining(scale: XlaOp, offset: XlaOp, epsilon: number, featureIndex: number): XlaOp;
  /** Normalises by a given mean and variance. */
  batchNormInference(
    scale: XlaOp,
    offset: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /** A tuple: the gradients of operand, scale and offset. */
  batchNormGrad(
    scale: XlaOp,
    mean: XlaOp,
    variance: XlaOp,
    gradOutput: XlaOp,
    epsilon: number,
    featureIndex: number,
  ): XlaOp;
  /**
   * The triangular factor of a positive definite matrix.
   * @example
   * b.cholesky(b.eq(b.iota('s32[3,3]', 0), b.iota('s32[3,3]', 1)).convertElementType('f32').mul(4), true) // JAX: jnp.linalg.cholesky(jnp.eye(3) * 4)
   */
  cholesky(lower?: boolean | { lower?: boolean }): XlaOp;
  /**
   * Fourier transforms of the last dimensions, as many as fftLength has.
   * @example
   * b.fft(b.complex(v, v.mul(0)), 'FFT', [3]).real() // JAX: jnp.fft.fft(v).real
   */
  fft(fftType: 'FFT' | 'IFFT' | 'RFFT' | 'IRFFT', fftLength: Integers): XlaOp;
  /** Normally distributed; see execute's seed. */
  rngNormal(sigma: Operand, shape: ShapeLike): XlaOp;
  /** Uniformly distributed in [a, b); see execute's seed. */
  rngUniform(b: Operand, shape: ShapeLike): XlaOp;
  /** x of a x = b (or x a = b), for a triangular a. */
  triangularSolve(
    b: XlaOp,
    leftSide: boolean,
    lower: boolean,
    unitDiagonal: boolean,
    transposeA: 'NO_TRANSPOSE' | 'TRANSPOSE' | 'ADJOINT',
  ): XlaOp;
  /**
   * Calls one of several computations; an index out of range takes the last. Functions may use
   * values from outside, and then need no operands.
   * @example
   * b.conditional(n.gt(0), x, (f, a) => f.sin(a), x, (f, a) => f.cos(a)) // JAX: jax.lax.cond(n > 0, jnp.sin, jnp.cos, x)
   */
  conditional(
    trueOperand: XlaOp,
    trueComputation: XlaComputation | Body,
    falseOperand: XlaOp,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    trueComputation: XlaComputation | Body,
    falseComputation: XlaComputation | Body,
  ): XlaOp;
  conditional(
    branchComputations: readonly (XlaComputation | Body)[],
    branchOperands?: readonly XlaOp[] | { branchOperands?: readonly XlaOp[] },
  ): XlaOp;
  /**
   * An element of a tuple; or iterate it: `const [a, b] = op`, whose types are XlaOp | undefined
   * with noUncheckedIndexedAccess.
   * @example
   * b.scan(v, b.constant(1, 'f32[]'), (f, e, c) => [c.mul(e), c.mul(e)], 0, { isAssociative: true }).getTupleElement(0) // JAX: jax.lax.associative_scan(jnp.multiply, v)
   */
  getTupleElement(index: number): XlaOp;
  /** The same value, across which no pass moves anything. */
  optimizationBarrier(): XlaOp;
  /**
   * Calls the computation for each element of the inputs along a dimension: `(b, element, carry) =>
   * [output, next]`. The result is a tuple: the outputs, then the last carries. jax.lax.scan has
   * the carry first, in both.
   * @example
   * b.scan(v, b.constant(1, 'f32[]'), (f, e, c) => [c.mul(e), c.add(e)], 0) // JAX: jax.lax.scan(lambda c, e: (c + e, c * e), 1.0, v)[::-1]
   */
  scan(
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    scanDimensionSize?: number,
    isReverse?: boolean,
    isAssociative?: boolean,
  ): XlaOp;
  scan(
    inits: Operands,
    computation: Combiner,
    scanDimension: number,
    options: { scanDimensionSize?: number; isReverse?: boolean; isAssociative?: boolean },
  ): XlaOp;
  /** All replicas' operands, one after the other along a dimension. */
  allGather(
    allGatherDim: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allGather(
    allGatherDim: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** All replicas' operands combined, the same on all of them. */
  allReduce(
    computation: Combiner,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  allReduce(
    computation: Combiner,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** Replica i gets part i of each operand, in the order of the replicas. */
  allToAll(
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  allToAll(
    splitDimension: number,
    concatDimension: number,
    splitCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** The operand of the first replica of the group. */
  collectiveBroadcast(replicaGroups?: readonly Integers[], channelId?: number): XlaOp;
  collectiveBroadcast(options: { replicaGroups?: readonly Integers[]; channelId?: number }): XlaOp;
  /** Each source sends to its target; replicas that are no target get zeros. */
  collectivePermute(sourceTargetPairs: Pairs, channelId?: number | { channelId?: number }): XlaOp;
  /** allReduce with addition; of predicates, or. */
  crossReplicaSum(
    replicaGroups?: readonly Integers[] | { replicaGroups?: readonly Integers[] },
  ): XlaOp;
  /** allToAll of parts whose sizes are operands. */
  raggedAllToAll(
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    replicaGroups?: readonly Integers[],
    channelId?: number,
  ): XlaOp;
  raggedAllToAll(
    inputOffsets: XlaOp,
    sendSizes: XlaOp,
    output: XlaOp,
    outputOffsets: XlaOp,
    recvSizes: XlaOp,
    options: { replicaGroups?: readonly Integers[]; channelId?: number },
  ): XlaOp;
  /** A part of all replicas' operands combined, another one for each replica. */
  reduceScatter(
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    replicaGroups?: readonly Integers[],
    channelId?: number,
    useGlobalDeviceIds?: boolean,
  ): XlaOp;
  reduceScatter(
    computation: Combiner,
    scatterDimension: number,
    shardCount: number,
    options: { replicaGroups?: readonly Integers[]; channelId?: number; useGlobalDeviceIds?: boolean },
  ): XlaOp;
  /** A tuple: the data and a token. */
  infeedWithToken(shape: ShapeLike, config?: string | { config?: string }): XlaOp;
  /** A token; client.transferFromOutfeed() gets the operand. */
  outfeed(shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeed(options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string }): XlaOp;
  /** A token. */
  outfeedWithToken(token: XlaOp, shapeWithLayout?: ShapeLike, outfeedConfig?: string): XlaOp;
  outfeedWithToken(
    token: XlaOp,
    options: { shapeWithLayout?: ShapeLike; outfeedConfig?: string },
  ): XlaOp;
  /** A token; the recv of the same channel gets the operand. */
  send(channelHandle: number): XlaOp;
  /** A token. */
  sendWithToken(token: XlaOp, channelHandle: number): XlaOp;
  /** A token; the host gets the operand. */
  sendToHost(token: XlaOp, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvWithToken(shape: ShapeLike, channelHandle: number): XlaOp;
  /** A tuple: the data and a token. */
  recvFromHost(shape: ShapeLike, channelHandle: number): XlaOp;
  /**
   * The sum along one axis or several; without axis, of all elements. Predicates count as s32.
   * @example
   * b.sum(x) // JAX: x.sum()
   */
  sum(axis?: number | Integers, keepDims?: boolean): XlaOp;
  sum(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The mean along one axis or several; without axis, of all elements. Of integers, f32.
   * @example
   * b.mean(x, 0, true) // JAX: x.mean(axis=0, keepdims=True)
   */
  mean(axis?: number | Integers, keepDims?: boolean): XlaOp;
  mean(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The mean of |x - mean|^2 along one axis or several; without axis, of all elements.
   * @example
   * b.variance(x, 0).sqrt() // JAX: x.std(axis=0)
   */
  variance(axis?: number | Integers, keepDims?: boolean): XlaOp;
  variance(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * log(sum(exp(x))) along one axis or several, without overflow; without axis, of all elements.
   */
  logsumexp(axis?: number | Integers, keepDims?: boolean): XlaOp;
  logsumexp(options: { axis?: number | Integers; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first largest element along an axis, or in the flattened array; NaN
   * counts as the largest.
   * @example
   * b.argmax(x, 1) // JAX: x.argmax(axis=1)
   */
  argmax(axis?: number, keepDims?: boolean): XlaOp;
  argmax(options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * The index (s32) of the first smallest element along an axis, or in the flattened array; NaN
   * counts as the smallest.
   */
  argmin(axis?: number, keepDims?: boolean): XlaOp;
  argmin(options: { axis?: number; keepDims?: boolean }): XlaOp;
  /**
   * Sums of all elements up to each one along an axis, or in the flattened array; in reverse, from
   * each one on.
   * @example
   * b.cumsum(x, 1) // JAX: x.cumsum(axis=1)
   */
  cumsum(axis?: number, reverse?: boolean): XlaOp;
  cumsum(options: { axis?: number; reverse?: boolean }): XlaOp;
  /**
   * max(x, 0)
   * @example
   * b.relu(x) // JAX: jax.nn.relu(x)
   */
  relu(): XlaOp;
  /**
   * x times the normal distribution function of x, approximated by a tanh unless approximate is
   * false.
   */
  gelu(approximate?: boolean | { approximate?: boolean }): XlaOp;
  /** x logistic(x) */
  silu(): XlaOp;
  /** log(1 + exp(x)), without overflow. */
  softplus(): XlaOp;
  /**
   * exp(x) / sum(exp(x)) along one axis or several: by default the last.
   * @example
   * b.softmax(x) // JAX: jax.nn.softmax(x)
   */
  softmax(axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /** log(softmax(x)) along one axis or several: by default the last. */
  logSoftmax(axis?: number | Integers | { axis?: number | Integers }): XlaOp;
  /**
   * A new dimension of `classes` elements, by default the last: 1 at the index and 0 elsewhere; all
   * 0 for an index outside.
   * @example
   * b.oneHot(i, 3) // JAX: jax.nn.one_hot(i, 3)
   */
  oneHot(classes: number, axis?: number, dtype?: ElementType): XlaOp;
  oneHot(classes: number, options: { axis?: number; dtype?: ElementType }): XlaOp;
  /**
   * (x - mean) rsqrt(variance + epsilon) along one axis or several, by default the last; times
   * scale, plus bias, which have the axes' dimensions.
   */
  layerNorm(axis?: number | Integers, scale?: XlaOp, bias?: XlaOp, epsilon?: number): XlaOp;
  layerNorm(
    options: { axis?: number | Integers; scale?: XlaOp; bias?: XlaOp; epsilon?: number },
  ): XlaOp;
  /**
   * A loss for each row of logits. Labels are integers, or floats that give each class its weight.
   */
  crossEntropy(labels: XlaOp, axis?: number | { axis?: number }): XlaOp;
  /**
   * onTrue or onFalse, element by element; shapes are broadcast as NumPy's are.
   * @example
   * b.where(p, x, v) // JAX: jnp.where(p, x, v)
   */
  where(onTrue: Operand, onFalse: Operand): XlaOp;
  /**
   * Elements of an axis, or of the flattened array, at these indices. Beyond the ends: NaN (or the
   * lowest integer), the nearest, or counted modulo the size. Except for "clip", negative indices
   * count from the end.
   */
  take(indices: XlaOp, axis?: number, mode?: 'fill' | 'clip' | 'wrap'): XlaOp;
  take(indices: XlaOp, options: { axis?: number; mode?: 'fill' | 'clip' | 'wrap' }): XlaOp;
  /**
   * A tuple of equal parts of an axis, or of the parts between these indices.
   * @example
   * b.split(x, 3, 1) // JAX: jnp.split(x, 3, axis=1)
   */
  split(parts: number | Integers, axis?: number | { axis?: number }): XlaOp;
  /**
   * `count` values at equal distances from start to stop; without endpoint, stop is left out.
   * @example
   * b.linspace(b.constant(0, 'f32[]'), 1, 5) // JAX: jnp.linspace(0, 1, 5)
   */
  linspace(stop: Operand, count: number, endpoint?: boolean | { endpoint?: boolean }): XlaOp;
  /**
   * NumPy's product: the last two dimensions are matrices, those before them batches, which are
   * broadcast; a vector is a row on the left and a column on the right.
   */
  matmul(rhs: XlaOp): XlaOp;
  /** Keys that are independent of each other, u32[count,2]: jax.random.split(). */
  splitKey(count?: number | { count?: number }): XlaOp;
  /** Another key, made of a key and an integer: jax.random.fold_in(). */
  foldIn(data: XlaOp | number): XlaOp;
  /**
   * Random numbers from low (included) to high (excluded), with the bits of jax.random.uniform().
   */
  uniform(shape: ShapeLike, low?: number, high?: number): XlaOp;
  uniform(shape: ShapeLike, options: { low?: number; high?: number }): XlaOp;
  /**
   * Random numbers of the standard normal distribution, from the bits of jax.random.normal().
   * @example
   * b.normal(b.key(1), 'f32[2]') // JAX: jax.random.normal(jax.random.key(1), (2,))
   */
  normal(shape: ShapeLike): XlaOp;
  /** Keeps each element with probability 1 - rate, divided by that; the others become 0. */
  dropout(key: XlaOp, rate: number): XlaOp;
}
