/**
 * What operations.d.ts says of the operations, by method, and of the fields of dimension numbers, by
 * interface and field. `make declarations` puts it there, with the arguments from the table of
 * operations. Not part of the package.
 */
const compared = (words) => `Whether lhs ${words} rhs, element by element: pred.`;
const ordered = (words) =>
  `${compared(words)} In total order: -NaN < -Inf < -Finite < -0 < +0 < +Finite < +Inf < +NaN.`;
const WINDOW = 'Several operands: the result is a tuple.';

export const DOCS = {
  /* Element-wise, one operand */
  abs: 'The absolute value; of complex numbers, the modulus.',
  acos: 'The arc cosine.',
  acosh: 'The inverse hyperbolic cosine.',
  asin: 'The arc sine.',
  asinh: 'The inverse hyperbolic sine.',
  atanh: 'The inverse hyperbolic tangent.',
  cbrt: 'The cube root.',
  ceil: 'To the next integer up.',
  clz: 'Number of leading zero bits.',
  conj: 'The complex conjugate.',
  cos: 'The cosine.',
  cosh: 'The hyperbolic cosine.',
  erf: 'The error function.',
  exp: 'e to the power of the operand.',
  expm1: 'exp(x) - 1, exact near zero.',
  floor: 'To the next integer down.',
  imag: 'The imaginary part.',
  isFinite: 'Whether it is neither infinite nor NaN: pred.',
  log: 'The natural logarithm.',
  log1p: 'log(1 + x), exact near zero.',
  logistic: '1 / (1 + exp(-x)).',
  neg: 'The negative.',
  not: 'Of integers, each bit the other way; of predicates, the negation.',
  populationCount: 'Number of bits that are set.',
  real: 'The real part.',
  round: 'To the nearest integer, ties away from zero.',
  roundNearestEven: 'To the nearest integer, ties to even ones.',
  rsqrt: '1 / sqrt(x).',
  sign: '-1, 0 or 1; of complex numbers, x / |x|; -0 and NaN stay.',
  sin: 'The sine.',
  sinh: 'The hyperbolic sine.',
  sqrt: 'The square root.',
  tan: 'The tangent.',
  tanh: 'The hyperbolic tangent.',
  reducePrecision: 'Rounded as a float of fewer bits would be, in the same type.',
  copy: 'The same array.',

  /* Functions beside XLA's operations, with JAX's definitions */
  sum: 'The sum along one axis or several; without axis, of all elements. Predicates count as s32.',
  mean: 'The mean along one axis or several; without axis, of all elements. Of integers, f32.',
  variance: 'The mean of |x - mean|^2 along one axis or several; without axis, of all elements.',
  logsumexp: 'log(sum(exp(x))) along one axis or several, without overflow; without axis, of all elements.',
  argmax: 'The index (s32) of the first largest element along an axis, or in the flattened array; NaN counts as the largest.',
  argmin: 'The index (s32) of the first smallest element along an axis, or in the flattened array; NaN counts as the smallest.',
  cumsum: 'Sums of all elements up to each one along an axis, or in the flattened array; in reverse, from each one on.',
  relu: 'max(x, 0)',
  gelu: 'x times the normal distribution function of x, approximated by a tanh unless approximate is false.',
  silu: 'x logistic(x)',
  softplus: 'log(1 + exp(x)), without overflow.',
  softmax: 'exp(x) / sum(exp(x)) along one axis or several: by default the last.',
  logSoftmax: 'log(softmax(x)) along one axis or several: by default the last.',
  oneHot: 'A new dimension of `classes` elements, by default the last: 1 at the index and 0 elsewhere; all 0 for an index outside.',
  layerNorm: '(x - mean) rsqrt(variance + epsilon) along one axis or several, by default the last; times scale, plus bias, which have the axes\' dimensions.',
  crossEntropy: 'A loss for each row of logits. Labels are integers, or floats that give each class its weight.',
  where: 'onTrue or onFalse, element by element; shapes are broadcast as NumPy\'s are.',
  take: 'Elements of an axis, or of the flattened array, at these indices. Beyond the ends: NaN (or the lowest integer), the nearest, or counted modulo the size. Except for "clip", negative indices count from the end.',
  stack: 'Joins arrays of one shape along a new axis.',
  split: 'A tuple of equal parts of an axis, or of the parts between these indices.',
  linspace: '`count` values at equal distances from start to stop; without endpoint, stop is left out.',
  matmul: 'NumPy\'s product: the last two dimensions are matrices, those before them batches, which are broadcast; a vector is a row on the left and a column on the right.',
  einsum: 'The sum of products that the subscripts describe, as NumPy\'s: \'bij,bjk->bik\'.',
  key: 'The key u32[2] of jax.random.key(seed), for uniform() and the others.',
  splitKey: 'Keys that are independent of each other, u32[count,2]: jax.random.split().',
  foldIn: 'Another key, made of a key and an integer: jax.random.fold_in().',
  uniform: 'Random numbers from low (included) to high (excluded), with the bits of jax.random.uniform().',
  normal: 'Random numbers of the standard normal distribution, from the bits of jax.random.normal().',
  dropout: 'Keeps each element with probability 1 - rate, divided by that; the others become 0.',

  /* Element-wise, two operands */
  add: 'The sum; of predicates, or.',
  sub: 'The difference.',
  mul: 'The product; of predicates, and.',
  mulhi: 'The upper half of the product of integers.',
  div: 'The quotient; of integers, towards zero. x / 0 is -1 (all bits), the lowest / -1 itself.',
  rem: 'What is left of the division, with the sign of lhs.',
  max: 'The larger; NaN if one of them is. Of one operand: its largest element, along one axis or several.',
  min: 'The smaller; NaN if one of them is. Of one operand: its smallest element, along one axis or several.',
  pow: 'lhs to the power of rhs.',
  and: 'Bit by bit, or of predicates.',
  or: 'Bit by bit, or of predicates.',
  xor: 'Bit by bit, or of predicates.',
  shiftLeft: 'lhs shifted by rhs bits; 0 where that is all of them.',
  shiftRightArithmetic: 'lhs shifted by rhs bits, filled with the sign.',
  shiftRightLogical: 'lhs shifted by rhs bits, filled with zeros.',
  atan2: 'The angle of the point (rhs, lhs).',
  complex: 'The complex number lhs + i * rhs.',
  eq: compared('equals'),
  ne: compared('does not equal'),
  ge: compared('is at least'),
  gt: compared('is more than'),
  le: compared('is at most'),
  lt: compared('is less than'),
  eqTotalOrder: ordered('equals'),
  neTotalOrder: ordered('does not equal'),
  geTotalOrder: ordered('is at least'),
  gtTotalOrder: ordered('is more than'),
  leTotalOrder: ordered('is at most'),
  ltTotalOrder: ordered('is less than'),
  compare: 'A comparison whose direction is an argument: pred.',

  /* Element-wise, more operands */
  clamp: 'min(max(min, operand), max); the limits may be scalars.',
  select: 'Of each element, onTrue where pred is true, and onFalse elsewhere.',
  map: 'Applies a computation of scalars to the elements. A function may use scalars from outside.',

  /* Element types */
  convertElementType: 'The values in another type: floats become integers towards zero.',
  bitcastConvertType:
    'The bits in another type. Narrower: the result has one more dimension; wider: one less.',
  stochasticConvertType: 'To a narrower float or an integer, up or down as the random bits say.',

  /* Data movement */
  broadcast: 'Repeats the operand; the new dimensions come first.',
  broadcastInDim:
    'Repeats the operand: its dimension i is dimension broadcastDimensions[i] of the result.',
  collapse: 'Makes consecutive dimensions one.',
  concatInDim: 'Puts the operands one after the other along a dimension.',
  dynamicReshape: 'A reshape whose sizes are operands, with bounds.',
  dynamicSlice:
    'A slice that starts where operands say: scalars, or one vector of them. It is moved inside.',
  dynamicUpdateSlice: 'The operand with `update` in the place where operands say.',
  gather: 'Slices from where the indices say, put together.',
  getDimensionSize: 'The size of a dimension: s32.',
  setDimensionSize: 'Makes a dimension dynamic, of the size that an operand says.',
  removeDynamicDimension:
    'Static again, of its bound; elements past the size have unspecified values.',
  pad: 'Padding around and between the elements; negative: elements are cut off.',
  padInDim: 'Padding before and after, in one dimension.',
  reshape:
    'The same elements with other dimensions. `dimensions`: the order in which they are collapsed ' +
    'first, the slowest varying first.',
  rev: 'The elements in reverse order along dimensions.',
  scatter:
    'The operand with updates combined in where the indices say. Several operands: a tuple.',
  slice: 'From start to limit, which is not in it, in steps.',
  sliceInDim: 'A slice of one dimension.',
  transpose: 'Dimension i of the result is dimension permutation[i] of the operand.',

  /* Contractions and reductions */
  dot: 'The product of vectors and matrices.',
  dotGeneral: 'The product over contracting dimensions, batch by batch.',
  raggedDot:
    'A dot in which each group of rows of one operand meets a part of its own of the other.',
  scaledDot:
    "A dot of scaled operands: a scale has its operand's rank, and each of its elements is for a " +
    "block of the operand's. Exactly one dimension is contracted.",
  reduce: `Combines the elements along dimensions, in no particular order. ${WINDOW}`,
  reduceAll: 'Combines all elements.',
  sort: `Sorts along a dimension; -1 is the last. ${WINDOW} The comparator gets two elements of each.`,
  topK: 'A tuple: the values and, as s32, their indices in the last dimension.',

  /* Windows */
  conv: 'A convolution: batch, feature, spatial dimensions; the kernel: output, input, spatial.',
  convWithGeneralPadding: 'A convolution with padding in numbers.',
  convWithGeneralDimensions: 'A convolution whose dimensions are in another order.',
  convGeneral: 'A convolution with padding in numbers and dimensions in any order.',
  convGeneralDilated: 'A convolution with holes between elements of the operand or the kernel.',
  reduceWindow: `Combines the elements in each position of a window. ${WINDOW}`,
  reduceWindowWithGeneralPadding: `reduceWindow with padding in numbers and dilations. ${WINDOW}`,
  selectAndScatter:
    'Combines each element of source into the one that `select` chooses in its window.',
  selectAndScatterWithGeneralPadding: 'selectAndScatter with padding in numbers.',

  /* Library operations */
  batchNormTraining: 'A tuple: output, batch mean and batch variance.',
  batchNormInference: 'Normalises by a given mean and variance.',
  batchNormGrad: 'A tuple: the gradients of operand, scale and offset.',
  cholesky: 'The triangular factor of a positive definite matrix.',
  fft: 'Fourier transforms of the last dimensions, as many as fftLength has.',
  rngBitGenerator: 'A tuple: the next state and the bits.',
  rngNormal: "Normally distributed; see execute's seed.",
  rngUniform: "Uniformly distributed in [a, b); see execute's seed.",
  triangularSolve: 'x of a x = b (or x a = b), for a triangular a.',

  /* Sources, tuples, control flow */
  afterAll: 'A token that comes after other tokens.',
  call: 'Calls a computation. A function may use values from outside.',
  conditional:
    'Calls one of several computations; an index out of range takes the last. Functions may use ' +
    'values from outside, and then need no operands.',
  createToken: 'A token that comes after nothing.',
  customCall: 'Calls the function given to client.registerCustomCall().',
  getTupleElement: 'An element of a tuple; or iterate it: `const [a, b] = op`, whose types are XlaOp | undefined with noUncheckedIndexedAccess.',
  iota: '0, 1, 2, ... along a dimension.',
  optimizationBarrier: 'The same value, across which no pass moves anything.',
  scan:
    'Calls the computation for each element of the inputs along a dimension: `(b, element, carry) => [output, next]`. ' +
    'The result is a tuple: the outputs, then the last carries. jax.lax.scan has the carry first, in both.',
  tuple: 'Puts values together.',
  while:
    'Calls the body as long as the condition is true. Functions get the elements of the state one ' +
    'by one, return the next ones in an array, and may use values from outside.',

  /* Collectives. Of a tuple, each element. */
  allGather: "All replicas' operands, one after the other along a dimension.",
  allReduce: "All replicas' operands combined, the same on all of them.",
  allToAll: 'Replica i gets part i of each operand, in the order of the replicas.',
  allToAllTuple:
    'Operand i goes to the i-th replica of the group; element i of the result came from there.',
  collectiveBroadcast: 'The operand of the first replica of the group.',
  collectivePermute: 'Each source sends to its target; replicas that are no target get zeros.',
  crossReplicaSum: 'allReduce with addition; of predicates, or.',
  partitionId: 'The number of the partition: u32.',
  raggedAllToAll: 'allToAll of parts whose sizes are operands.',
  reduceScatter: "A part of all replicas' operands combined, another one for each replica.",
  replicaId: 'The number of the replica: u32.',

  /* The host and other programs. Without tokens, in the order in which they are added. */
  infeed: 'What client.transferToInfeed() queued.',
  infeedWithToken: 'A tuple: the data and a token.',
  outfeed: 'A token; client.transferFromOutfeed() gets the operand.',
  outfeedWithToken: 'A token.',
  send: 'A token; the recv of the same channel gets the operand.',
  sendWithToken: 'A token.',
  sendToHost: 'A token; the host gets the operand.',
  recv: 'What the send of the same channel sent.',
  recvWithToken: 'A tuple: the data and a token.',
  recvFromHost: 'A tuple: the data and a token.',
};

export const FIELD_DOCS = {
  RaggedDotDimensionNumbers: {
    lhsRaggedDimensions: 'The dimension of the left operand that the groups divide.',
    rhsGroupDimensions: 'The dimension of the right operand that is the number of the group.',
  },
  ConvolutionDimensionNumbers: {
    inputBatchDimension: "Or in short, as HLO text has them all: 'b01f_01io->b01f'.",
  },
};
