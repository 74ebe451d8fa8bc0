/**
 * An example for every operation of the specification, each with two sentences, as programs in HLO
 * text; and a few larger programs. tests/corpus/examples.test.mjs runs them all.
 *
 * Each is { operation, text, program, inputs, mesh }: `inputs` has an entry for each parameter, what
 * it is filled with ('iota', 'random', 'zeros', 'ones') or its elements; `mesh` is absent for one
 * device.
 */

const indent = (text) => text.trim().split('\n').map((line) => `  ${line.trim()}`).join('\n');

const COMPUTATIONS = {
  add: 'add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT sum = f32[] add(a, b)\n}',
  addS32: 'add {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT sum = s32[] add(a, b)\n}',
  max: 'max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT most = f32[] maximum(a, b)\n}',
  ge: 'ge {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT first = pred[] compare(a, b), direction=GE\n}',
  lt: 'lt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT less = pred[] compare(a, b), direction=LT\n}',
  square: 'square {\n  a = f32[4] parameter(0)\n  ROOT s = f32[4] multiply(a, a)\n}',
};

function example(operation, text, body, { computations = [], inputs = [], mesh } = {}) {
  const called = computations.map((one) => `${COMPUTATIONS[one] ?? one}\n\n`).join('');
  const name = operation.replaceAll('-', '_');
  return {
    operation, text, inputs,
    program: `HloModule ${name}\n\n${called}ENTRY main {\n${indent(body)}\n}\n`,
    ...(mesh && { mesh }),
  };
}

/* ---- Element-wise ---- */

const WAVE = [-2, -1, -0.5, 0, 0.5, 1, 2, 3];
const UNIT = [-1, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1];
const POSITIVE = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16];

const unary = (operation, text, values = WAVE, type = 'f32', result = type) =>
  example(operation, text, `x = ${type}[8] parameter(0)
    ROOT y = ${result}[8] ${operation}(x)`, { inputs: [values] });

const binary = (operation, text, left, right, type = 'f32', result = type, more = '') =>
  example(operation, text, `x = ${type}[8] parameter(0)
    y = ${type}[8] parameter(1)
    ROOT z = ${result}[8] ${operation}(x, y)${more}`, { inputs: [left, right] });

const BITS = [1, 2, 3, 4, 8, 15, 255, -1];
const SHIFTS = [0, 1, 2, 3, 4, 1, 31, 32];
const complexOf = (parts) => parts.map((re, i) => [re, i - 3]);

const ELEMENTWISE = [
  unary('abs', 'The absolute value of each element. Of the lowest integer it is that integer again, which has no positive partner.'),
  unary('acos', 'The arc cosine: the angle in [0, π] whose cosine it is. Outside of [-1, 1] it is not a number.', UNIT),
  unary('acosh', 'The inverse hyperbolic cosine. Below 1 it is not a number.', [1, 1.5, 2, 3, 4, 5, 10, 0.5]),
  unary('asin', 'The arc sine: the angle in [-π/2, π/2] whose sine it is. Outside of [-1, 1] it is not a number.', UNIT),
  unary('asinh', 'The inverse hyperbolic sine. It grows like a logarithm on both sides.'),
  unary('atanh', 'The inverse hyperbolic tangent. At -1 and 1 it is infinite.', UNIT),
  unary('cbrt', 'The cube root. Unlike power(x, 1/3) it takes negative numbers.', [-27, -8, -1, 0, 1, 8, 27, 64]),
  unary('ceil', 'The next integer up, still as a float. Negative numbers go towards zero.', [-1.5, -0.5, 0, 0.2, 0.5, 1.5, 2.5, 7]),
  unary('count-leading-zeros', 'The number of zero bits before the first that is set. Of 0 it is all of them.', [0, 1, 2, 3, 4, 255, 65536, -1], 's32'),
  unary('cosine', 'The cosine of an angle in radians. One turn is 2π.', [0, 0.785398, 1.570796, 2.356194, 3.141593, 3.926991, 4.712389, 6.283185]),
  unary('cosh', 'The hyperbolic cosine, (exp(x) + exp(-x)) / 2. It is the curve of a hanging chain.'),
  unary('erf', 'The error function, which leads from the normal distribution to probabilities. GELU activations are made of it.'),
  unary('exponential', 'e to the power of each element. In a fused loop it is written out in SIMD code.'),
  unary('exponential-minus-one', 'exp(x) - 1, exact near zero. There, exp(x) would have lost the digits that count.', [-1, -0.1, -1e-3, -1e-8, 1e-8, 1e-3, 0.1, 1]),
  unary('floor', 'The next integer down, still as a float. Negative numbers go away from zero.', [-1.5, -0.5, 0, 0.2, 0.5, 1.5, 2.5, 7]),
  unary('imag', 'The imaginary part of complex numbers. The result is a float of half the size.', complexOf(WAVE), 'c64', 'f32'),
  unary('is-finite', 'Whether an element is neither infinite nor NaN. The result is of predicates.', [0, 1, -1, Infinity, -Infinity, NaN, 3e38, 1e-40], 'f32', 'pred'),
  unary('log', 'The natural logarithm. Of zero it is minus infinity, of negative numbers NaN.', POSITIVE),
  unary('log-plus-one', 'log(1 + x), exact near zero. There, 1 + x would have lost the digits that count.', [-0.9, -0.1, -1e-3, -1e-8, 1e-8, 1e-3, 0.1, 1]),
  unary('logistic', '1 / (1 + exp(-x)), also called sigmoid. It turns any number into one between 0 and 1.'),
  unary('negate', 'The number with the other sign. Of zero it is minus zero, which equals zero.'),
  unary('not', 'Each bit the other way. Of predicates, the negation.', BITS, 's32'),
  unary('popcnt', 'The number of bits that are set. It is also called population count.', BITS, 's32'),
  unary('real', 'The real part of complex numbers. The result is a float of half the size.', complexOf(WAVE), 'c64', 'f32'),
  unary('round-nearest-afz', 'To the nearest integer; halves go away from zero. It is what schools teach.', [-2.5, -1.5, -0.5, 0.4, 0.5, 1.5, 2.5, 3.6]),
  unary('round-nearest-even', 'To the nearest integer; halves go to the even one. So the errors of many roundings cancel.', [-2.5, -1.5, -0.5, 0.4, 0.5, 1.5, 2.5, 3.6]),
  unary('rsqrt', '1 / sqrt(x). Normalisations are made of it.', POSITIVE),
  unary('sign', '-1, 0 or 1. Minus zero and NaN stay unchanged.'),
  unary('sine', 'The sine of an angle in radians. One turn is 2π.', [0, 0.785398, 1.570796, 2.356194, 3.141593, 3.926991, 4.712389, 6.283185]),
  unary('sinh', 'The hyperbolic sine, (exp(x) - exp(-x)) / 2. It grows like an exponential on both sides.'),
  unary('sqrt', 'The square root, rounded correctly. Of negative numbers it is not a number.', [0, 1, 2, 3, 4, 9, 16, 25]),
  unary('tan', 'The tangent of an angle in radians. At odd quarters of a turn it is very large.', UNIT),
  unary('tanh', 'The hyperbolic tangent. It squeezes any number into (-1, 1).'),
  example('reduce-precision', 'Rounds as a float with fewer bits would be rounded. The type stays the same, so that you can see what a smaller type would cost.',
    `x = f32[8] parameter(0)
    ROOT y = f32[8] reduce-precision(x), exponent_bits=5, mantissa_bits=2`, { inputs: [[1, 1.1, 1.3, 3.14159, 100, 1000, 70000, 1e-7]] }),
  example('convert', 'The values in another type. Floats become integers towards zero, and stop at the limits of the type.',
    `x = f32[8] parameter(0)
    ROOT y = s8[8] convert(x)`, { inputs: [[-1.9, -0.5, 0.5, 1.9, 100, 127.5, 1000, -1000]] }),
  example('bitcast-convert', 'The same bits, read as another type. Here they show sign, exponent and mantissa of floats.',
    `x = f32[4] parameter(0)
    ROOT y = u32[4] bitcast-convert(x)`, { inputs: [[1, -1, 0.5, 3.5]] }),
  example('stochastic-convert', 'Rounds up or down as random bits say, up the more often the closer it is to there. On average nothing is lost, which helps training in narrow types.',
    `x = f32[8] parameter(0)
    bits = u32[8] parameter(1)
    ROOT y = s8[8] stochastic-convert(x, bits)`, { inputs: [[0.5, 0.5, 0.5, 0.5, 2.25, 2.25, 2.25, 2.25], [0, 1000000000, 2500000000, 4000000000, 0, 1000000000, 2500000000, 4000000000]] }),
  binary('add', 'The sum, element by element. Both operands must have the same shape: broadcast first if they do not.', WAVE, POSITIVE),
  binary('and', 'Bit by bit. Of predicates, both.', BITS, SHIFTS, 's32'),
  binary('atan2', 'The angle of the point (y, x), all the way round. Its operands come in that order.', [0, 1, 1, 1, 0, -1, -1, -1], [1, 1, 0, -1, -1, -1, 0, 1]),
  example('complex', 'Complex numbers from real and imaginary parts. An element takes twice the memory.',
    `re = f32[4] parameter(0)
    im = f32[4] parameter(1)
    ROOT z = c64[4] complex(re, im)`, { inputs: [[1, 0, -1, 0], [0, 1, 0, -1]] }),
  binary('divide', 'The quotient; of integers, towards zero. Integers divided by zero give all bits set: nothing traps.', [7, -7, 7, -7, 1, 0, 100, 5], [2, 2, -2, -2, 0, 5, 7, 5], 's32'),
  binary('maximum', 'The larger of two. If one is NaN, so is the result.', WAVE, [0, 0, 0, 0, 0, 0, 0, NaN]),
  binary('minimum', 'The smaller of two. If one is NaN, so is the result.', WAVE, [0, 0, 0, 0, 0, 0, 0, NaN]),
  binary('mulhi', 'The upper half of the product of integers. What multiply loses is here.', [1, 65536, 65536, 1000000, -1, -1, 2147483647, 123456789], [1, 65536, 131072, 1000000, 1, -1, 2147483647, 987654321], 's32'),
  binary('multiply', 'The product, element by element. For matrix products there is dot.', WAVE, WAVE),
  binary('or', 'Bit by bit. Of predicates, at least one.', BITS, SHIFTS, 's32'),
  binary('power', 'The first to the power of the second. Zero to the power of zero is one.', [0, 1, 2, 2, 2, 9, -2, -2], [0, 5, 10, -1, 0.5, 0.5, 3, 0.5]),
  binary('remainder', 'What a division leaves, with the sign of the first operand. It is not what Python\'s % gives for negative numbers.', [7, -7, 7, -7, 5.5, 0, 1, 10], [3, 3, -3, -3, 2, 5, 0.3, 2.5]),
  binary('shift-left', 'Bits move up, zeros come in. By all the bits or more it is zero.', BITS, SHIFTS, 's32'),
  binary('shift-right-arithmetic', 'Bits move down, copies of the sign come in. So it divides by powers of two, rounding down.', [-8, 8, -1, 64, -128, 7, -2147483648, -5], SHIFTS, 's32'),
  binary('shift-right-logical', 'Bits move down, zeros come in. Of negative numbers it makes large positive ones.', [-8, 8, -1, 64, -128, 7, -2147483648, -5], SHIFTS, 's32'),
  binary('subtract', 'The difference, element by element. Integers wrap around.', WAVE, POSITIVE),
  binary('xor', 'Bit by bit. Of predicates, exactly one.', BITS, SHIFTS, 's32'),
  binary('compare', 'A comparison, whose direction is an attribute. Every comparison with NaN is false, except NE.', [1, 2, 3, NaN, 0, -0, 5, 6], [1, 3, 2, NaN, -0, 0, Infinity, 6], 'f32', 'pred', ', direction=LE'),
  example('clamp', 'Holds each element between two limits. The limits may be scalars, as here.',
    `low = f32[] constant(-1)
    x = f32[8] parameter(0)
    high = f32[] constant(1)
    ROOT y = f32[8] clamp(low, x, high)`, { inputs: [WAVE] }),
  example('select', 'Of each element, one or the other, as a predicate says. Both are computed: it is no branch.',
    `x = f32[8] parameter(0)
    zero = f32[] constant(0)
    zeros = f32[8] broadcast(zero), dimensions={}
    positive = pred[8] compare(x, zeros), direction=GT
    ROOT y = f32[8] select(positive, x, zeros)`, { inputs: [WAVE] }),
  example('map', 'Applies a computation of scalars to each element. It becomes a plain loop, fused with the operations around it.',
    `x = f32[8] parameter(0)
    ROOT y = f32[8] map(x), dimensions={0}, to_apply=cube`,
    { inputs: [WAVE], computations: ['cube {\n  a = f32[] parameter(0)\n  b = f32[] multiply(a, a)\n  ROOT c = f32[] multiply(a, b)\n}'] }),
];

/* ---- Sources and movement ---- */

const MOVEMENT = [
  example('constant', 'A value that is written in the program. Anything that depends on constants alone is computed when the program is compiled.',
    'ROOT c = f32[2,3] constant({{1, 2, 3}, {4, 5, 6}})'),
  example('iota', '0, 1, 2, … along one dimension, the same along the others. It costs no memory: loops compute it where they need it.',
    'ROOT i = s32[4,6] iota(), iota_dimension=1'),
  example('parameter', 'What the program is given when it runs. Choose above what goes in.',
    `x = f32[3,4] parameter(0)
    ROOT y = f32[3,4] add(x, x)`, { inputs: ['iota'] }),
  example('replica-id', 'The number of the replica that asks. All replicas run the same program; this is how they differ.',
    'ROOT id = u32[] replica-id()', { mesh: { replicas: 4 } }),
  example('partition-id', 'The number of the partition that asks. Devices are replicas times partitions.',
    `p = u32[] partition-id()
    r = u32[] replica-id()
    ROOT both = (u32[], u32[]) tuple(r, p)`, { mesh: { replicas: 2, partitions: 2 } }),
  example('bitcast', 'The same memory under another shape of the same size. Compilers put it in; here it is a reshape.',
    `x = f32[2,6] parameter(0)
    ROOT y = f32[3,4] bitcast(x)`, { inputs: ['iota'] }),
  example('broadcast', 'Repeats an array along new dimensions. `dimensions` says where each dimension of the operand ends up in the result: a row goes to {1}, a column to {0}.',
    `x = f32[4] parameter(0)
    ROOT y = f32[3,4] broadcast(x), dimensions={1}`, { inputs: ['iota'] }),
  example('concatenate', 'Puts arrays one after the other along a dimension. All other dimensions must agree.',
    `x = f32[2,3] parameter(0)
    y = f32[2,2] parameter(1)
    ROOT z = f32[2,5] concatenate(x, y), dimensions={1}`, { inputs: ['iota', 'ones'] }),
  example('copy', 'The same array at another place. With a layout in its shape it changes the order in memory.',
    `x = f32[3,4] parameter(0)
    ROOT y = f32[3,4]{0,1} copy(x)`, { inputs: ['iota'] }),
  example('dynamic-slice', 'A slice that starts where operands say, while the program runs. If it would reach beyond the end, it is moved inside.',
    `x = f32[5,6] parameter(0)
    i = s32[] parameter(1)
    j = s32[] parameter(2)
    ROOT y = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}`, { inputs: ['iota', 2, 1] }),
  example('dynamic-update-slice', 'The operand with another array written over a part of it, where operands say. In loops it happens in place.',
    `x = f32[5,6] parameter(0)
    u = f32[2,3] parameter(1)
    i = s32[] parameter(2)
    j = s32[] parameter(3)
    ROOT y = f32[5,6] dynamic-update-slice(x, u, i, j)`, { inputs: ['zeros', 'ones', 1, 2] }),
  example('gather', 'Takes slices from where indices say, and puts them together. Here rows 3, 0 and 3 of a table: an embedding.',
    `table = f32[5,4] parameter(0)
    rows = s32[3,1] parameter(1)
    ROOT y = f32[3,4] gather(table, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}`,
    { inputs: ['iota', [[3], [0], [3]]] }),
  example('pad', 'Puts a value around an array, and between its elements. `low_high_interior` for each dimension; negative numbers cut off.',
    `x = f32[2,3] parameter(0)
    zero = f32[] constant(-1)
    ROOT y = f32[4,7] pad(x, zero), padding=1_1x1_1_1`, { inputs: ['iota'] }),
  example('reshape', 'The same elements, in the same order, with other dimensions. It costs nothing.',
    `x = f32[2,6] parameter(0)
    ROOT y = f32[3,4] reshape(x)`, { inputs: ['iota'] }),
  example('dynamic-reshape', 'A reshape whose sizes are operands. The shape says how large they may be: `<=`.',
    `x = f32[4,6] parameter(0)
    rows = s32[] parameter(1)
    columns = s32[] parameter(2)
    ROOT y = f32[<=8,<=3] dynamic-reshape(x, rows, columns)`, { inputs: ['iota', 8, 3] }),
  example('reverse', 'The elements in the opposite order along some dimensions. The shape stays.',
    `x = f32[3,4] parameter(0)
    ROOT y = f32[3,4] reverse(x), dimensions={1}`, { inputs: ['iota'] }),
  example('slice', 'A part of an array: from a start to a limit, which is not in it, in steps. `[start:limit:step]` for each dimension.',
    `x = f32[5,8] parameter(0)
    ROOT y = f32[3,3] slice(x), slice={[1:4], [1:7:2]}`, { inputs: ['iota'] }),
  example('transpose', 'Dimensions in another order: dimension i of the result is dimension `dimensions`[i] of the operand. Elements move in tiles that fit the cache.',
    `x = f32[3,5] parameter(0)
    ROOT y = f32[5,3] transpose(x), dimensions={1,0}`, { inputs: ['iota'] }),
  example('get-dimension-size', 'How large a dimension is while the program runs. That matters where dimensions are dynamic.',
    `x = f32[6] parameter(0)
    n = s32[] parameter(1)
    d = f32[<=6] set-dimension-size(x, n), dimensions={0}
    ROOT size = s32[] get-dimension-size(d), dimensions={0}`, { inputs: ['iota', 4] }),
  example('set-dimension-size', 'Makes a dimension dynamic: only the first elements, as many as the operand says, count. What reduces it later leaves the others out.',
    `x = f32[6] parameter(0)
    n = s32[] parameter(1)
    ROOT d = f32[<=6] set-dimension-size(x, n), dimensions={0}`, { inputs: ['iota', 4] }),
];

/* ---- Over many elements ---- */

const CONTRACTIONS = [
  example('dot', 'The product over contracting dimensions, which both operands have and the result has not. With {1} and {0} it is the product of matrices.',
    `x = f32[3,4] parameter(0)
    y = f32[4,5] parameter(1)
    ROOT z = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}`, { inputs: ['iota', 'iota'] }),
  example('ragged-dot', 'Rows in groups, each group with a matrix of its own: a mixture of experts. The third operand says how many rows are in each group.',
    `x = f32[6,4] parameter(0)
    experts = f32[3,4,2] parameter(1)
    sizes = s32[3] parameter(2)
    ROOT y = f32[6,2] ragged-dot(x, experts, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}`,
    { inputs: ['iota', 'iota', [1, 3, 2]] }),
  example('scaled-dot', 'A dot of narrow numbers that have a scale for each block. Each scale counts for as many elements as the sizes say.',
    `x = f32[3,4] parameter(0)
    y = f32[5,4] parameter(1)
    xs = f32[3,2] parameter(2)
    ys = f32[5,2] parameter(3)
    ROOT z = f32[3,5] scaled-dot(x, y, xs, ys), lhs_contracting_dims={1}, rhs_contracting_dims={1}`, { inputs: ['iota', 'iota', 'ones', 'ones'] }),
  example('convolution', 'A window goes over the input, and at each place the products with the kernel are summed. `dim_labels` names the dimensions: batch, feature, 0, 1; and of the kernel: input, output.',
    `image = f32[1,6,6,1] parameter(0)
    kernel = f32[3,3,1,1] parameter(1)
    ROOT y = f32[1,4,4,1] convolution(image, kernel), window={size=3x3}, dim_labels=b01f_01io->b01f`,
    { inputs: ['iota', [[[[-1]], [[0]], [[1]]], [[[-2]], [[0]], [[2]]], [[[-1]], [[0]], [[1]]]]] }),
  example('reduce', 'Combines the elements along dimensions, which the result has no more. The computation says how; the order is free.',
    `x = f32[3,5] parameter(0)
    zero = f32[] constant(0)
    ROOT sums = f32[3] reduce(x, zero), dimensions={1}, to_apply=add`, { inputs: ['iota'], computations: ['add'] }),
  example('reduce-window', 'Combines what is in each position of a window. With maximum it is max-pooling, with a window over all that came before a cumulative sum.',
    `x = f32[6,6] parameter(0)
    least = f32[] constant(-inf)
    ROOT y = f32[3,3] reduce-window(x, least), window={size=2x2 stride=2x2}, to_apply=max`, { inputs: ['iota'], computations: ['max'] }),
  example('select-and-scatter', 'The gradient of max-pooling: each element of the source goes to the place that `select` chooses in its window. Where windows overlap, `scatter` combines.',
    `x = f32[4,4] parameter(0)
    source = f32[2,2] parameter(1)
    zero = f32[] constant(0)
    ROOT y = f32[4,4] select-and-scatter(x, source, zero), window={size=2x2 stride=2x2}, select=ge, scatter=add`, { inputs: ['random', [[1, 2], [3, 4]]], computations: ['ge', 'add'] }),
  example('scatter', 'Combines updates into an array, where indices say. What reaches beyond the edge is left out; what comes twice is combined twice.',
    `x = f32[5,3] parameter(0)
    rows = s32[3,1] parameter(1)
    updates = f32[3,3] parameter(2)
    ROOT y = f32[5,3] scatter(x, rows, updates), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add`,
    { inputs: ['zeros', [[3], [0], [3]], 'iota'], computations: ['add'] }),
  example('sort', 'Sorts along a dimension, by a computation that compares. Several operands are moved together, as keys and values.',
    `x = f32[8] parameter(0)
    i = s32[8] iota(), iota_dimension=0
    ROOT y = (f32[8], s32[8]) sort(x, i), dimensions={0}, is_stable=true, to_apply=by_first`,
    { inputs: [[3, 1, 2, 8, 5, 7, 4, 6]], computations: ['by_first {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n  ROOT less = pred[] compare(a, b), direction=LT\n}'] }),
  example('topk', 'The k largest of each row, with their positions. It is much faster than to sort them all.',
    `x = f32[8] parameter(0)
    ROOT y = (f32[3], s32[3]) topk(x), k=3, largest=true`, { inputs: [[3, 1, 2, 8, 5, 7, 4, 6]] }),
  example('fft', 'The Fourier transform of the last dimensions. Its output is how much of each frequency there is.',
    `x = f32[16] parameter(0)
    nought = f32[] constant(0)
    zero = f32[16] broadcast(nought), dimensions={}
    z = c64[16] complex(x, zero)
    ROOT y = c64[16] fft(z), fft_type=FFT, fft_length={16}`, { inputs: [[0, 1, 0, -1, 0, 1, 0, -1, 0, 1, 0, -1, 0, 1, 0, -1]] }),
  example('cholesky', 'The triangular matrix whose product with its own transpose is the operand. That exists where the operand is symmetric and positive definite.',
    `a = f32[3,3] parameter(0)
    ROOT l = f32[3,3] cholesky(a), lower=true`, { inputs: [[[4, 2, 2], [2, 5, 3], [2, 3, 6]]] }),
  example('triangular-solve', 'Solves a x = b for a triangular a, row after row. Solvers of linear equations end with two of these.',
    `a = f32[3,3] parameter(0)
    b = f32[3,1] parameter(1)
    ROOT x = f32[3,1] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE`, { inputs: [[[2, 0, 0], [1, 3, 0], [1, 1, 4]], [[2], [7], [12]]] }),
  example('batch-norm-training', 'Makes each feature of a batch have mean 0 and variance 1, then scales and moves it. It gives back mean and variance too.',
    `x = f32[6,2] parameter(0)
    scale = f32[2] parameter(1)
    offset = f32[2] parameter(2)
    ROOT y = (f32[6,2], f32[2], f32[2]) batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=1`, { inputs: ['iota', 'ones', 'zeros'] }),
  example('batch-norm-inference', 'Normalises by a mean and a variance that are given. They were collected in training.',
    `x = f32[6,2] parameter(0)
    scale = f32[2] parameter(1)
    offset = f32[2] parameter(2)
    mean = f32[2] parameter(3)
    variance = f32[2] parameter(4)
    ROOT y = f32[6,2] batch-norm-inference(x, scale, offset, mean, variance), epsilon=0.001, feature_index=1`, { inputs: ['iota', 'ones', 'zeros', [5, 6], [12, 12]] }),
  example('batch-norm-grad', 'The gradients of batch-norm-training: of its operand, its scale and its offset. Its last operand is the gradient of the output.',
    `x = f32[6,2] parameter(0)
    scale = f32[2] parameter(1)
    mean = f32[2] parameter(2)
    variance = f32[2] parameter(3)
    g = f32[6,2] parameter(4)
    ROOT y = (f32[6,2], f32[2], f32[2]) batch-norm-grad(x, scale, mean, variance, g), epsilon=0.001, feature_index=1`, { inputs: ['iota', 'ones', [5, 6], [12, 12], 'random'] }),
  example('rng', 'Random numbers, uniform or normal. Each replica gets others; the seed of the run decides which.',
    `low = f32[] constant(0)
    high = f32[] constant(1)
    ROOT x = f32[16,16] rng(low, high), distribution=rng_uniform`),
  example('rng-bit-generator', 'Random bits from a state, and the next state. With ThreeFry they are the same bits on every machine.',
    `state = u64[2] parameter(0)
    ROOT y = (u64[2], u32[8]) rng-bit-generator(state), algorithm=rng_three_fry`, { inputs: ['iota'] }),
  example('rng-get-and-update-state', 'A state of the device that moves on with each use. Compilers put it in where rng was.',
    'ROOT state = u64[2] rng-get-and-update-state(), delta=1'),
];

/* ---- Tuples, control flow ---- */

const CONTROL = [
  example('tuple', 'Puts several values together, so that a program can return them. Nothing is copied: a tuple is its leaves.',
    `x = f32[3] parameter(0)
    y = f32[3] negate(x)
    ROOT t = (f32[3], f32[3]) tuple(x, y)`, { inputs: ['iota'] }),
  example('get-tuple-element', 'Takes one value out of a tuple. It costs nothing.',
    `t = (f32[3], s32[2]) parameter(0)
    ROOT x = s32[2] get-tuple-element(t), index=1`, { inputs: ['iota'] }),
  example('after-all', 'A token that comes after other tokens. Tokens put effects in order, and hold no data.',
    `t = token[] after-all()
    x = f32[3] parameter(0)
    ROOT y = f32[3] add-dependency(x, t)`, { inputs: ['iota'] }),
  example('add-dependency', 'The same value, but only after a token. So nothing that needs it can come earlier.',
    `x = f32[3] parameter(0)
    t = token[] after-all()
    ROOT y = f32[3] add-dependency(x, t)`, { inputs: ['iota'] }),
  example('opt-barrier', 'The same value, across which no pass moves anything. Take it away, and the two negations vanish: see the optimised module.',
    `x = f32[3] parameter(0)
    y = f32[3] negate(x)
    z = f32[3] opt-barrier(y)
    ROOT w = f32[3] negate(z)`, { inputs: ['iota'] }),
  example('domain', 'A border between parts of a program that are sharded in different ways. Here it is the same value.',
    `x = f32[3] parameter(0)
    ROOT y = f32[3] domain(x), domain={kind="sharding", entry={replicated}, exit={maximal device=0}}`, { inputs: ['iota'] }),
  example('call', 'Calls a computation. The compiler puts its body in place: see what inline-calls does.',
    `x = f32[4] parameter(0)
    y = f32[4] call(x), to_apply=square
    ROOT z = f32[4] call(y), to_apply=square`, { inputs: ['iota'], computations: ['square'] }),
  example('conditional', 'Calls one of several computations, as an index or a predicate says. Only that one runs.',
    `which = s32[] parameter(0)
    x = f32[4] parameter(1)
    ROOT y = f32[4] conditional(which, x, x), branch_computations={square, halve}`,
    { inputs: [1, 'iota'], computations: ['square', 'halve {\n  a = f32[4] parameter(0)\n  half = f32[] constant(0.5)\n  h = f32[4] broadcast(half), dimensions={}\n  ROOT s = f32[4] multiply(a, h)\n}'] }),
  example('while', 'Calls the body as long as the condition is true. Small loops become one function of WebAssembly: look at the steps.',
    `n = s32[] parameter(0)
    zero = s32[] constant(0)
    one = s32[] constant(1)
    start = (s32[], s32[], s32[], s32[]) tuple(n, zero, one, zero)
    end = (s32[], s32[], s32[], s32[]) while(start), condition=more, body=step
    ROOT fibonacci = s32[] get-tuple-element(end), index=1`,
    { inputs: [20], computations: [`more {
  s = (s32[], s32[], s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=3
  ROOT less = pred[] compare(i, n), direction=LT
}`, `step {
  s = (s32[], s32[], s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  a = s32[] get-tuple-element(s), index=1
  b = s32[] get-tuple-element(s), index=2
  i = s32[] get-tuple-element(s), index=3
  sum = s32[] add(a, b)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT next = (s32[], s32[], s32[], s32[]) tuple(n, b, sum, j)
}`] }),
  example('scan', 'Calls a computation once for each element along a dimension, and carries a state from one to the next. Here a running sum of rows.',
    `x = f32[5,3] parameter(0)
    start = f32[3] parameter(1)
    ROOT r = (f32[5,3], f32[3]) scan(x, start), dimensions={0}, num_carries=1, is_reverse=false, to_apply=running`,
    { inputs: ['iota', 'zeros'], computations: ['running {\n  row = f32[3] parameter(0)\n  sum = f32[3] parameter(1)\n  next = f32[3] add(sum, row)\n  ROOT both = (f32[3], f32[3]) tuple(next, next)\n}'] }),
  example('fusion', 'Several operations as one loop. Compilers make fusions; what you write is inlined and fused anew.',
    `x = f32[8] parameter(0)
    y = f32[8] parameter(1)
    ROOT z = f32[8] fusion(x, y), kind=kLoop, calls=body`,
    { inputs: [WAVE, WAVE], computations: ['body {\n  a = f32[8] parameter(0)\n  b = f32[8] parameter(1)\n  p = f32[8] multiply(a, b)\n  e = f32[8] exponential(p)\n  ROOT s = f32[8] add(e, a)\n}'] }),
  ...['async-start', 'async-update', 'async-done'].map((operation) => example(operation, {
    'async-start': 'Begins an operation, so that others can run meanwhile. Its result stands for the running operation.',
    'async-update': 'Stands for progress of what was begun. It comes between start and done.',
    'async-done': 'Waits for what was begun, and gives its result. Here all happens in order.',
  }[operation], `x = f32[4] parameter(0)
    s = ((f32[4]), f32[4], s32[]) async-start(x), calls=square
    u = ((f32[4]), f32[4], s32[]) async-update(s), calls=square
    ROOT y = f32[4] async-done(u), calls=square`, { inputs: ['iota'], computations: ['square'] })),
];

/* ---- Between devices ---- */

const four = { mesh: { replicas: 4 } };
const NUMBERED = `id = u32[] replica-id()
    number = f32[] convert(id)
    n = f32[4] broadcast(number), dimensions={}
    x = f32[4] parameter(0)
    mine = f32[4] add(x, n)`;

const COLLECTIVES = [
  example('all-gather', "All replicas' operands, one after the other. Every replica gets the whole.",
    `${NUMBERED}
    ROOT all = f32[16] all-gather(mine), replica_groups={}, dimensions={0}`, { ...four, inputs: ['zeros'] }),
  ...['all-gather-start', 'all-gather-done'].map((operation) => example(operation, {
    'all-gather-start': 'Begins an all-gather, so that other work can run meanwhile. Its result holds operand and result.',
    'all-gather-done': 'Waits for an all-gather that was begun, and gives its result. Between the two, devices are free.',
  }[operation], `${NUMBERED}
    s = (f32[4], f32[16]) all-gather-start(mine), replica_groups={}, dimensions={0}
    ROOT all = f32[16] all-gather-done(s)`, { ...four, inputs: ['zeros'] })),
  example('all-reduce', "All replicas' operands combined; every replica gets the result. It is how gradients meet in data-parallel training.",
    `${NUMBERED}
    ROOT sum = f32[4] all-reduce(mine), replica_groups={}, to_apply=add`, { ...four, inputs: ['iota'], computations: ['add'] }),
  ...['all-reduce-start', 'all-reduce-done'].map((operation) => example(operation, {
    'all-reduce-start': 'Begins an all-reduce, so that other work can run meanwhile. The next layer can compute while gradients travel.',
    'all-reduce-done': 'Waits for an all-reduce that was begun, and gives its result. Between the two, devices are free.',
  }[operation], `${NUMBERED}
    s = f32[4] all-reduce-start(mine), replica_groups={}, to_apply=add
    ROOT sum = f32[4] all-reduce-done(s)`, { ...four, inputs: ['iota'], computations: ['add'] })),
  example('all-to-all', 'Each replica cuts its operand into parts, and part i goes to replica i. It is the transposition of a matrix that is spread over devices.',
    `${NUMBERED}
    ROOT y = f32[4] all-to-all(mine), replica_groups={{0,1,2,3}}, dimensions={0}`, { ...four, inputs: [[0, 10, 20, 30]] }),
  example('ragged-all-to-all', 'An all-to-all of parts whose sizes are operands: offsets and sizes of what is sent, and of what comes. Experts get as many rows as want them.',
    `x = s32[4] parameter(0)
    into = s32[4] parameter(1)
    from_at = s32[2] constant({0, 1})
    send = s32[2] constant({1, 2})
    id = u32[] replica-id()
    zero = u32[] constant(0)
    first = pred[] compare(id, zero), direction=EQ
    is_first = pred[2] broadcast(first), dimensions={}
    low = s32[2] constant({0, 0})
    high = s32[2] constant({1, 2})
    to_at = s32[2] select(is_first, low, high)
    receive_low = s32[2] constant({1, 1})
    receive_high = s32[2] constant({2, 2})
    receive = s32[2] select(is_first, receive_low, receive_high)
    ROOT y = s32[4] ragged-all-to-all(x, into, from_at, send, to_at, receive), replica_groups={{0,1}}`,
    { mesh: { replicas: 2 }, inputs: ['iota', 'zeros'] }),
  example('collective-broadcast', 'The operand of the first replica of each group, on all of its replicas. The others\' operands are not looked at.',
    `${NUMBERED}
    ROOT y = f32[4] collective-broadcast(mine), replica_groups={{2,0,1,3}}`, { ...four, inputs: ['zeros'] }),
  example('collective-permute', 'Each source sends its operand to its target; who is no target gets zeros. In a ring, data goes once round in as many steps as there are devices.',
    `${NUMBERED}
    ROOT y = f32[4] collective-permute(mine), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}`, { ...four, inputs: ['zeros'] }),
  ...['collective-permute-start', 'collective-permute-done'].map((operation) => example(operation, {
    'collective-permute-start': 'Begins a collective-permute, so that other work can run meanwhile. Pipelines are made of these.',
    'collective-permute-done': 'Waits for a collective-permute that was begun, and gives its result. Between the two, devices are free.',
  }[operation], `${NUMBERED}
    s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(mine), source_target_pairs={{0,1},{1,0}}
    ROOT y = f32[4] collective-permute-done(s)`, { ...four, inputs: ['zeros'] })),
  example('reduce-scatter', "All replicas' operands combined; each replica gets a part. An all-gather after it makes an all-reduce.",
    `${NUMBERED}
    ROOT part = f32[1] reduce-scatter(mine), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=add`, { ...four, inputs: ['iota'], computations: ['add'] }),
];

const PAIRS = '_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,3}}';
const SENDING = `id = u32[] replica-id()
    number = f32[] convert(id)
    begin = token[] after-all()
    s = (f32[], u32[], token[]) send(number, begin), channel_id=1, frontend_attributes={${PAIRS}}
    sent = token[] send-done(s), channel_id=1
    r = (f32[], u32[], token[]) recv(sent), channel_id=1, frontend_attributes={${PAIRS}}
    got = (f32[], token[]) recv-done(r), channel_id=1, frontend_attributes={${PAIRS}}
    ROOT y = f32[] get-tuple-element(got), index=0`;

const TRANSFERS = [
  example('infeed', 'Takes values that the host has queued. Here the page feeds 0, 1, 2, … to whoever asks.',
    `t = token[] after-all()
    f = (f32[4], token[]) infeed(t)
    x = f32[4] get-tuple-element(f), index=0
    ROOT y = f32[4] add(x, x)`),
  example('outfeed', 'Gives a value to the host while the program goes on. The page shows it below the results.',
    `x = f32[4] parameter(0)
    t = token[] after-all()
    o = token[] outfeed(x, t), outfeed_shape=f32[4]
    ROOT y = f32[4] add(x, x)`, { inputs: ['iota'] }),
  example('send', 'Sends a value to the device that receives on the same channel. The pairs say who sends to whom; here each replica to the next.', SENDING, four),
  example('send-done', 'Waits until a value is on its way. Then its memory may be used for something else.', SENDING, four),
  example('recv', 'Begins to wait for a value from another device. A device that is no target gets zeros.', SENDING, four),
  example('recv-done', 'Waits for the value, and gives it. Without a sender the run fails, and says who waits for whom.', SENDING, four),
  ...['copy-start', 'copy-done'].map((operation) => example(operation, {
    'copy-start': 'Begins a copy, so that other work can run meanwhile. Its result names target and source.',
    'copy-done': 'Waits for a copy that was begun, and gives the copy. Here it is no more than a copy.',
  }[operation], `x = f32[4] parameter(0)
    s = (f32[4], f32[4], u32[]) copy-start(x)
    ROOT y = f32[4] copy-done(s)`, { inputs: ['iota'] })),
  example('custom-call', 'Calls something by name that XLA itself does not know. Some names stand for operations, as this one; for others, the host registers a function.',
    `x = f32[8] parameter(0)
    ROOT y = (f32[3], s32[3]) custom-call(x), custom_call_target="TopK"`, { inputs: [[3, 1, 2, 8, 5, 7, 4, 6]] }),
];

/** By operation; in the order of the specification's families. */
export const EXAMPLES = [
  ['Element-wise', ELEMENTWISE],
  ['Sources and movement', MOVEMENT],
  ['Contractions, reductions, libraries', CONTRACTIONS],
  ['Tuples and control flow', CONTROL],
  ['Between devices', COLLECTIVES],
  ['Transfers', TRANSFERS],
];

/* ---- Programs ---- */

const MANDELBROT = `HloModule mandelbrot

// z = z^2 + c for each pixel, all at once; how often it stays below 2.
more {
  s = (s32[], f32[96,144], f32[96,144], f32[96,144], f32[96,144], s32[96,144]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(50)
  ROOT less = pred[] compare(i, most), direction=LT
}

step {
  s = (s32[], f32[96,144], f32[96,144], f32[96,144], f32[96,144], s32[96,144]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[96,144] get-tuple-element(s), index=1
  y = f32[96,144] get-tuple-element(s), index=2
  re = f32[96,144] get-tuple-element(s), index=3
  im = f32[96,144] get-tuple-element(s), index=4
  count = s32[96,144] get-tuple-element(s), index=5
  xx = f32[96,144] multiply(x, x)
  yy = f32[96,144] multiply(y, y)
  xy = f32[96,144] multiply(x, y)
  difference = f32[96,144] subtract(xx, yy)
  twice = f32[96,144] add(xy, xy)
  x2 = f32[96,144] add(difference, re)
  y2 = f32[96,144] add(twice, im)
  length = f32[96,144] add(xx, yy)
  four = f32[] constant(4)
  fours = f32[96,144] broadcast(four), dimensions={}
  inside = pred[96,144] compare(length, fours), direction=LT
  one = s32[96,144] convert(inside)
  more_count = s32[96,144] add(count, one)
  x3 = f32[96,144] select(inside, x2, x)
  y3 = f32[96,144] select(inside, y2, y)
  next = s32[] constant(1)
  j = s32[] add(i, next)
  ROOT t = (s32[], f32[96,144], f32[96,144], f32[96,144], f32[96,144], s32[96,144]) tuple(j, x3, y3, re, im, more_count)
}

ENTRY main {
  column = f32[96,144] iota(), iota_dimension=1
  row = f32[96,144] iota(), iota_dimension=0
  scale = f32[] constant(0.0208)
  scales = f32[96,144] broadcast(scale), dimensions={}
  left = f32[] constant(-2.1)
  lefts = f32[96,144] broadcast(left), dimensions={}
  top = f32[] constant(-1)
  tops = f32[96,144] broadcast(top), dimensions={}
  dx = f32[96,144] multiply(column, scales)
  dy = f32[96,144] multiply(row, scales)
  re = f32[96,144] add(dx, lefts)
  im = f32[96,144] add(dy, tops)
  zero = f32[] constant(0)
  zeros = f32[96,144] broadcast(zero), dimensions={}
  none = s32[] constant(0)
  counts = s32[96,144] broadcast(none), dimensions={}
  start = (s32[], f32[96,144], f32[96,144], f32[96,144], f32[96,144], s32[96,144]) tuple(none, zeros, zeros, re, im, counts)
  end = (s32[], f32[96,144], f32[96,144], f32[96,144], f32[96,144], s32[96,144]) while(start), condition=more, body=step
  ROOT count = s32[96,144] get-tuple-element(end), index=5
}
`;

const SOFTMAX = `HloModule softmax

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT most = f32[] maximum(a, b)
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8,24] parameter(0)
  least = f32[] constant(-inf)
  most = f32[8] reduce(x, least), dimensions={1}, to_apply=max
  mosts = f32[8,24] broadcast(most), dimensions={0}
  shifted = f32[8,24] subtract(x, mosts)
  e = f32[8,24] exponential(shifted)
  zero = f32[] constant(0)
  sum = f32[8] reduce(e, zero), dimensions={1}, to_apply=add
  sums = f32[8,24] broadcast(sum), dimensions={0}
  ROOT y = f32[8,24] divide(e, sums)
}
`;

const LAYER = `module @layer {
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x3xf32>
    %3 = stablehlo.tanh %2 : tensor<4x3xf32>
    return %3 : tensor<4x3xf32>
  }
}
`;

const BUILDER = `// What client.builder() builds and this returns is compiled and run, with the arguments chosen above.
const b = client.builder('attention');
const [q, k, v] = ['q', 'k', 'v'].map((name, i) => b.parameter(i, 'f32[16,8]', name));

const scores = b.dotGeneral(q, k, { lhsContractingDimensions: [1], rhsContractingDimensions: [1] })
  .mul(1 / Math.sqrt(8));
const e = scores.sub(b.reduce(scores, -Infinity, 'max', [1]), [0]).exp();
const weights = e.div(b.reduce(e, 0, 'add', [1]), [0]);

return b.build(b.tuple([b.dot(weights, v), weights]));
`;

const DESCENT = `// A loop in the program: gradient descent on (x - 3)^2 + 1, and what it came to.
const b = client.builder('descent');
const start = b.parameter(0, 'f32[]', 'start');
const [, x] = b.while(
  (_, i) => i.lt(100),
  (inner, i, x) => {
    const y = x.sub(3).mul(x.sub(3)).add(1);
    return [i.add(1), x.sub(inner.gradient(y, x).mul(0.05))];
  },
  [b.constant(0, 's32[]'), start]);
const module = b.build(x);

// Executables can be run here, too; show() shows what they gave.
const executable = await client.compile(module);
for (const from of [-10, 0, 10]) show(await executable.execute([from]), \`from \${from}\`);
return module;
`;

const GRADIENT = `// Type a function of x. The first result is its values from -3 to 3, the second its derivative there.
const f = (b, x) => x.mul(2).sin().mul(x.mul(x).neg().exp());

const b = client.builder('function');
const x = b.linspace(b.constant(-3, 'f32[]'), 3, 121);
const y = b.vmap(f)(x);
const slope = b.vmap((one, at) => one.gradient(f(one, at), at))(x);

// A program of one number as HLO, and the program of its gradient.
const one = client.builder('one');
const forward = one.build(f(one, one.parameter(0, 'f32[]', 'x')));
console.log(\`\${forward}\n\${client.gradient(forward)}\`);
return b.build(b.tuple([y, slope]));
`;

/** Larger programs, to begin with: { name, language, text, program, inputs, mesh }. */
export const PROGRAMS = [
  { name: 'Softmax', language: 'hlo', text: 'Rows become probabilities. Seven operations become five loops, called one after the other: look at the module, optimised, and at its steps.', program: SOFTMAX, inputs: ['random'] },
  { name: 'Mandelbrot set', language: 'hlo', text: 'A loop over all pixels at once. The body is one fused loop of SIMD code: look at the WebAssembly.', program: MANDELBROT, inputs: [] },
  { name: 'A layer in StableHLO', language: 'stablehlo', text: 'What JAX and PyTorch export. It is read into HLO, and then goes the same way.', program: LAYER, inputs: ['random', 'random', 'zeros'] },
  { name: 'Attention by the builder', language: 'javascript', text: 'JavaScript that builds a program with XlaBuilder\'s operations. It runs in a worker, which can be stopped.', program: BUILDER, inputs: ['random', 'random', 'random'] },
  { name: 'A loop by the builder', language: 'javascript', text: 'Bodies of loops are functions: they get a builder and the state, and may use what is around them. What is shown comes below the results.', program: DESCENT, inputs: [0] },
  { name: 'A gradient', language: 'javascript', text: 'Type a function: its values and its derivative stand side by side, and below them both programs. Any program is differentiated so, one of JAX too.', program: GRADIENT, inputs: [] },
];
