/**
 * Lowers StableHLO's operations on arrays to HLO, one row each.
 * Source: openxla.org/stablehlo/spec
 */
import { paddingText, sliceText } from '../base/attribute_text.mjs';
import { constantOfBytes, emit } from '../builder/builder.mjs';
import { Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { comparisonOf, ELEMENT_TYPES } from '../values/types.mjs';
import { scalarValue } from './context.mjs';
import { Dense, malformed } from './ir.mjs';
import { isQuantized, REAL, shapeOf } from './types.mjs';

/* ---- Element-wise ---- */

/** Operations with HLO's name, with hyphens there, by their number of operands. */
export const ELEMENTWISE = {
  1: 'abs cbrt ceil count_leading_zeros cosine exponential exponential_minus_one floor imag is_finite log ' +
    'log_plus_one logistic negate not popcnt real round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh',
  2: 'add and atan2 complex divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic ' +
    'shift_right_logical subtract xor',
  3: 'clamp select',
};

/** The one of two complex numbers that comes first or last by real part, then by imaginary part. */
function lexicographic({ b, in: [x, y] }, comparison) {
  const [real, imaginary] = ['real', 'imag'].map((part) => [b[part](x), b[part](y)]);
  const isBefore = b.or(b[comparison](...real), b.and(b.eq(...real), b[comparison](...imaginary)));
  return b.select(isBefore, x, y);
}

/** Operations on complex numbers that StableHLO has and HLO lacks. */
const OF_COMPLEX = {
  maximum: (c) => lexicographic(c, 'gt'),
  minimum: (c) => lexicographic(c, 'lt'),
  cbrt: (c) => c.b.pow(c.x, c.b.constant([1 / 3, 0], `${c.x.shape.elementType}[]`)),
};

const elementwise = Object.fromEntries(Object.values(ELEMENTWISE).flatMap((names) => names.split(' ')).map((name) => {
  const opcode = name.replaceAll('_', '-');
  return [`stablehlo.${name}`, (c) =>
    (OF_COMPLEX[name] && REAL[c.x.shape.elementType] ? OF_COMPLEX[name](c) : c.emit(opcode, c.in))];
}));

function compare(c) {
  const type = c.string('compare_type', 'NOTYPE');
  const direction = c.string('comparison_direction');
  const isDefault = type === 'NOTYPE' || c.operation.operands.some((operand) => isQuantized(operand.type));
  // The core refuses what does not fit.
  return c.emit('compare', c.in, { direction, type: isDefault ? undefined : comparisonOf(type, c.x.shape.elementType) });
}

/** Converts; from complex to real numbers it takes the real part. */
function convert(c) {
  const to = c.elementType();
  const x = REAL[c.x.shape.elementType] && !REAL[to] ? c.b.real(c.x) : c.x;
  return x.shape.elementType === to ? x : emit(c.b, 'convert', [x], {}, x.shape.withElementType(to));
}

/** Returns the unsigned type with the bits of a type; undefined for complex numbers, which have none. */
function wordOf(elementType) {
  const { bits, lanes } = ELEMENT_TYPES.get(elementType);
  return lanes === 1 ? `u${bits}` : undefined;
}

const withoutLast = ({ dimensions }) => dimensions.map((_, i) => i).slice(0, -1);

/** Splits x into its bits, the lowest first, in a further dimension: an i1 is a bit in StableHLO, and a byte in HLO. */
function toBits({ b, x }, shape) {
  const word = wordOf(x.shape.elementType);
  const words = b.broadcastInDim(b.bitcastConvertType(x, word), [...shape.dimensions], withoutLast(shape));
  const places = b.iota(Shape.array(word, shape.dimensions), shape.rank - 1);
  const bits = b.and(b.shiftRightLogical(words, places), b.constantR0(1, word));
  return b.ne(bits, b.constantR0(0, word));
}

/** Joins bits to elements. */
function ofBits({ b, x }, elementType) {
  const word = wordOf(elementType);
  const places = b.iota(Shape.array(word, x.shape.dimensions), x.shape.rank - 1);
  const bits = b.shiftLeft(b.convertElementType(x, word), places);
  const sum = b.reduce(bits, b.constantR0(0, word), 'add', [x.shape.rank - 1]);
  return word === elementType ? sum : b.bitcastConvertType(sum, elementType);
}

function bitcastConvert(c) {
  const [from, to] = [c.x.shape, c.declared() ?? { elementType: c.elementType() }];
  if (to.elementType === 'pred' && to.rank === from.rank + 1 && wordOf(from.elementType)) return toBits(c, to);
  if (from.elementType === 'pred' && to.rank === from.rank - 1 && wordOf(to.elementType)) return ofBits(c, to.elementType);
  const shape = c.declared();
  return shape ? c.emit('bitcast-convert', [c.x], {}, shape)
    : c.b.bitcastConvertType(c.x, c.elementType());
}

function map(c) {
  return c.emit('map', c.in, { dimensions: c.ints('dimensions'), to_apply: c.computation(0) });
}

const reducePrecision = (c) => c.emit('reduce-precision', [c.x], {
  exponent_bits: c.int('exponent_bits'), mantissa_bits: c.int('mantissa_bits'),
});

/* ---- Constants ---- */

/** Makes a constant; if all elements are equal, it is a broadcast scalar. */
export function constantOfDense(b, dense, operation) {
  if (!(dense instanceof Dense)) throw malformed('a constant needs elements');
  const shape = shapeOf(dense.type, operation);
  if (dense.bytes) return constantOfBytes(b, shape, dense.bytes);
  if (!dense.data) throw malformed('a constant needs elements');
  if (!dense.splat) return b.constantLiteral(new Literal(shape, dense.data));
  const scalar = b.constantLiteral(new Literal(Shape.array(shape.elementType), dense.data));
  return shape.rank ? b.broadcastInDim(scalar, [...shape.dimensions], []) : scalar;
}

function constant(c) {
  const dense = c.attribute('value');
  if (dense instanceof Dense) return constantOfDense(c.b, dense, c.name);
  const value = scalarValue(dense);
  return c.b.constant(value, c.shape());
}

export function iota(c, shape = c.shape()) {
  return c.emit('iota', [], { iota_dimension: c.int('iota_dimension') }, shape);
}

/* ---- Data movement ---- */

/** As broadcastInDim, with dimensions in any order. */
export function broadcastInDim(b, operand, sizes, dimensions) {
  const order = dimensions.map((_, i) => i).sort((i, j) => dimensions[i] - dimensions[j]);
  if (order.every((from, i) => from === i)) {
    const { shape } = operand;
    const isPlain = dimensions.length === shape.rank && !shape.isDynamic && shape.dimensions.every((n, i) => n === sizes[dimensions[i]]);
    return isPlain ? emit(b, 'broadcast', [operand], { dimensions }, Shape.array(shape.elementType, sizes)) : b.broadcastInDim(operand, sizes, dimensions);
  }
  return b.broadcastInDim(b.transpose(operand, order), sizes, order.map((i) => dimensions[i]));
}

function broadcast(c) {
  const sizes = c.declared();
  const dimensions = c.ints('broadcast_dimensions');
  if (sizes?.isDynamic) return c.emit('broadcast', [c.x], { dimensions }, sizes);
  if (!sizes) throw malformed('the sizes of the result are not declared');
  return broadcastInDim(c.b, c.x, [...sizes.dimensions], dimensions);
}

const reshape = (c) => c.emit('reshape', [c.x], {}, c.shape());

function transpose(c) {
  return c.emit('transpose', [c.x], { dimensions: c.ints('permutation') });
}

const reverse = (c) => c.emit('reverse', [c.x], { dimensions: c.ints('dimensions') });

const concatenate = (c) => c.emit('concatenate', c.in, { dimensions: [c.int('dimension')] });

export function slice(c, starts, limits, strides) {
  if ([starts, limits, strides].some((list) => list.length !== c.x.shape.rank)) {
    throw malformed(`needs a start, a limit and a stride for each dimension of ${c.x.shape}`);
  }
  return c.emit('slice', [c.x], { slice: sliceText(starts, limits, strides) });
}

const staticSlice = (c) => slice(c, c.ints('start_indices'), c.ints('limit_indices'), c.ints('strides'));

const dynamicSlice = (c) =>
  c.emit('dynamic-slice', c.in, { dynamic_slice_sizes: c.ints('slice_sizes') });

export function pad(c, low, high, interior) {
  const { rank } = c.x.shape;
  if ([low, high, interior].some((list) => list.length !== rank)) {
    throw malformed(`needs as many sizes of padding as ${c.x.shape} has dimensions`);
  }
  const sizes = low.map((_, i) => ({ low: low[i], high: high[i], interior: interior[i] }));
  return c.emit('pad', c.in.slice(0, 2), { padding: paddingText(sizes) });
}

const staticPad = (c) =>
  pad(c, c.ints('edge_padding_low'), c.ints('edge_padding_high'), c.ints('interior_padding'));

export function gather(c, sliceSizes) {
  return c.emit('gather', c.in.slice(0, 2), {
    offset_dims: c.ints('offset_dims', []),
    collapsed_slice_dims: c.ints('collapsed_slice_dims', []),
    start_index_map: c.ints('start_index_map', []),
    operand_batching_dims: c.ints('operand_batching_dims', []),
    start_indices_batching_dims: c.ints('start_indices_batching_dims', []),
    index_vector_dim: c.int('index_vector_dim', 0),
    slice_sizes: sliceSizes,
    indices_are_sorted: c.bool('indices_are_sorted'),
  });
}

function scatter(c) {
  const count = (c.in.length - 1) / 2;
  if (!Number.isInteger(count) || count < 1) throw malformed('takes operands, indices, updates');
  return c.emit('scatter', c.in, {
    update_window_dims: c.ints('update_window_dims', []),
    inserted_window_dims: c.ints('inserted_window_dims', []),
    scatter_dims_to_operand_dims: c.ints('scatter_dims_to_operand_dims', []),
    input_batching_dims: c.ints('input_batching_dims', []),
    scatter_indices_batching_dims: c.ints('scatter_indices_batching_dims', []),
    index_vector_dim: c.int('index_vector_dim', 0),
    indices_are_sorted: c.bool('indices_are_sorted'),
    unique_indices: c.bool('unique_indices'),
    to_apply: c.computation(0),
  });
}

/** Gathers rows of the operand along `dim` by indices. */
function torchIndexSelect(c) {
  const [operand, indices] = c.in;
  const [dim, batch] = [c.int('dim'), c.int('batch_dims', 0)];
  const { rank, dimensions } = operand.shape;
  const inner = indices.shape.rank - batch;
  if (dim < batch || dim >= rank || inner < 0) throw malformed('dim and batch_dims do not fit');
  const offset = dimensions.map((_, i) => i).filter((i) => i >= batch && i !== dim);
  const batches = Array.from({ length: batch }, (_, i) => i);
  return c.emit('gather', c.in, {
    offset_dims: offset.map((i) => (i < dim ? i : i + inner - 1)),
    collapsed_slice_dims: [dim],
    start_index_map: [dim],
    operand_batching_dims: batches,
    start_indices_batching_dims: batches,
    index_vector_dim: indices.shape.rank,
    slice_sizes: dimensions.map((size, i) => (i === dim || i < batch ? 1 : size)),
  });
}

/**
 * A row whose first region may be of a wider element type than the operands, which are then converted.
 * @param {(i: number, count: number) => number | undefined} argumentOf the region's argument of operand i
 */
export const promoting = (argumentOf, row) => (c) => {
  const { arguments: own } = c.region(0);
  c.in = c.in.map((x, i) => {
    const type = own[argumentOf(i, c.in.length)]?.type;
    const isOther = type?.kind === 'tensor' && !isQuantized(type) && x.shape.isArray &&
      type.elementType !== x.shape.elementType;
    return isOther ? c.b.convertElementType(x, type.elementType) : x;
  });
  return row(c);
};
const ofPairs = (i, count) => i % (count / 2);
const ofScatter = (i, count) => (i === (count - 1) / 2 ? undefined : i % ((count + 1) / 2));

/* ---- Contractions ---- */

export const precisions = (c) => {
  const list = c.attribute('precision_config');
  const words = Array.isArray(list) ? list.map((word) => String(word).toLowerCase()) : [];
  return words.some((word) => word !== 'default') ? words : undefined;
};

/** Returns the result's shape: sizes follow from the operands; the element type is the declared one. */
function dotShape(c, lhs, rhs, n) {
  const free = ({ dimensions }, ...taken) => dimensions.filter((_, i) => !taken.flat().includes(i));
  return Shape.array(c.elementType(), [
    ...n.lhs_batch_dims.map((d) => lhs.dimensions[d] ?? 0),
    ...free(lhs, n.lhs_contracting_dims, n.lhs_batch_dims),
    ...free(rhs, n.rhs_contracting_dims, n.rhs_batch_dims),
  ]);
}

const algorithmType = (type) => {
  if (typeof type === 'string') return type;
  return type?.kind === 'tensor' ? type.elementType : (type?.text ?? '');
};

/** "dot_bf16_bf16_f32_x3" of the parts that StableHLO has. */
function dotAlgorithm(c) {
  if (!c.has('accumulation_type') || !algorithmType(c.attribute('accumulation_type'))) return undefined;
  const [lhs, rhs, sum] = ['lhs_precision_type', 'rhs_precision_type', 'accumulation_type']
    .map((name) => algorithmType(c.attribute(name)));
  if (lhs.startsWith('f8')) {
    const fast = c.bool('allow_imprecise_accumulation') ? '_fast_accum' : '';
    return `dot_any_f8_any_f8_f32${fast}`;
  }
  const count = c.int('num_primitive_operations', 1);
  return `dot_${lhs}_${rhs}_${sum}${count > 1 ? `_x${count}` : ''}`;
}

function dotGeneral(c, [lhs, rhs] = c.in) {
  const numbers = {
    lhs_batch_dims: c.ints('lhs_batching_dimensions', []),
    lhs_contracting_dims: c.ints('lhs_contracting_dimensions', []),
    rhs_batch_dims: c.ints('rhs_batching_dimensions', []),
    rhs_contracting_dims: c.ints('rhs_contracting_dimensions', []),
  };
  const shape = lhs.shape.isDynamic || rhs.shape.isDynamic
    ? c.declared() : dotShape(c, lhs.shape, rhs.shape, numbers);
  const attributes = { ...numbers, operand_precision: precisions(c), algorithm: dotAlgorithm(c) };
  return c.emit('dot', [lhs, rhs], attributes, shape);
}

function dot(c) {
  const [lhs, rhs] = c.in;
  const numbers = { lhsContractingDimensions: [lhs.shape.rank - 1], rhsContractingDimensions: [0] };
  return c.b.dotGeneral(lhs, rhs, numbers, {
    precision: precisions(c)?.map((word) => word.toUpperCase()),
    preferredElementType: c.elementType(),
  });
}

/** "ab,bc->ac": sums dimensions that only one operand has, then a dot, then a transpose. */
function einsum(c) {
  const config = c.string('einsum_config').replace(/\s/g, '');
  const [, left, right, out] = /^([A-Za-z.]*)(?:,([A-Za-z.]*))?->([A-Za-z.]*)$/.exec(config) ?? [];
  if (out === undefined || (right === undefined) !== (c.in.length === 1)) {
    throw malformed(`einsum_config "${config}" is not of the form "ab,bc->ac"`);
  }
  const terms = [left, right].slice(0, c.in.length).map((term, i) => labels(term, c.in[i].shape.rank));
  const wanted = labels(out, Infinity, terms);
  const other = (i) => [...wanted, ...(terms[1 - i] ?? [])];
  const [lhs, rhs] = c.in.map((x, i) => summed(c, x, terms[i], other(i)));
  if (!rhs) return arranged(c.b, lhs, wanted);
  const shared = lhs.labels.filter((label) => rhs.labels.includes(label));
  const batch = shared.filter((label) => wanted.includes(label));
  const contracted = shared.filter((label) => !wanted.includes(label));
  const at = (side, list) => list.map((label) => side.labels.indexOf(label));
  const op = c.b.dotGeneral(lhs.op, rhs.op, {
    lhsBatchDimensions: at(lhs, batch), rhsBatchDimensions: at(rhs, batch),
    lhsContractingDimensions: at(lhs, contracted), rhsContractingDimensions: at(rhs, contracted),
  });
  const rest = (side) => side.labels.filter((label) => !shared.includes(label));
  return arranged(c.b, { op, labels: [...batch, ...rest(lhs), ...rest(rhs)] }, wanted);
}

/** Returns the labels of a term; "..." covers the dimensions without a letter, the last first. */
function labels(term, rank, terms = []) {
  const [before, after] = term.split('...');
  if (after === undefined) return [...before];
  const numbers = terms.flat().filter((label) => label.startsWith('.')).map((label) => Number(label.slice(1)));
  const count = rank === Infinity ? Math.max(-1, ...numbers) + 1 : rank - before.length - after.length;
  const dots = Array.from({ length: Math.max(count, 0) }, (_, i) => `.${count - 1 - i}`);
  return [...before, ...dots, ...after];
}

function summed(c, op, own, wanted) {
  if (own.length !== op.shape.rank) throw malformed(`${own.join('')} does not fit ${op.shape}`);
  const gone = own.map((_, i) => i).filter((i) => !wanted.includes(own[i]));
  if (!gone.length) return { op, labels: own };
  const { elementType } = op.shape;
  const sum = c.lowering.builder('sum');
  const [x, y] = [0, 1].map((i) => sum.parameter(i, Shape.array(elementType)));
  const add = c.lowering.keep(sum.build(sum.add(x, y)));
  const zero = c.b.constant(Literal.zeros(Shape.array(elementType)));
  return {
    op: c.b.reduce(op, zero, add, gone), labels: own.filter((_, i) => !gone.includes(i)),
  };
}

function arranged(b, { op, labels: own }, wanted) {
  const order = wanted.map((label) => own.indexOf(label));
  if (order.includes(-1)) throw malformed('the result has a label that no operand has');
  return order.every((from, i) => from === i) ? op : b.transpose(op, order);
}

export function convolution(c, padding) {
  const spatial = c.ints('input_spatial_dimensions', []);
  const ones = () => spatial.map(() => 1);
  const n = (name) => c.int(name);
  return c.b.convGeneralDilated(
    c.in[0], c.in[1],
    c.ints('window_strides', ones()),
    padding ?? c.rows('padding', spatial.map(() => [0, 0])),
    c.ints('lhs_dilation', ones()),
    c.ints('rhs_dilation', ones()),
    {
      inputBatchDimension: n('input_batch_dimension'),
      inputFeatureDimension: n('input_feature_dimension'),
      inputSpatialDimensions: spatial,
      kernelInputFeatureDimension: n('kernel_input_feature_dimension'),
      kernelOutputFeatureDimension: n('kernel_output_feature_dimension'),
      kernelSpatialDimensions: c.ints('kernel_spatial_dimensions', []),
      outputBatchDimension: n('output_batch_dimension'),
      outputFeatureDimension: n('output_feature_dimension'),
      outputSpatialDimensions: c.ints('output_spatial_dimensions', []),
    },
    {
      featureGroupCount: c.int('feature_group_count', 1),
      batchGroupCount: c.int('batch_group_count', 1),
      precision: precisions(c)?.map((word) => word.toUpperCase()),
      preferredElementType: c.elementType(),
      windowReversal: c.has('window_reversal') ? c.bools('window_reversal') : undefined,
    },
  );
}

/* ---- Reductions, windows, sorting ---- */

/** Operands and initial values: the first half and the second. */
export function halves(list) {
  if (!list.length || list.length % 2) throw malformed('takes as many initial values as operands');
  return [list.slice(0, list.length / 2), list.slice(list.length / 2)];
}

function reduce(c) {
  halves(c.in);
  return c.emit('reduce', c.in, { dimensions: c.ints('dimensions'), to_apply: c.computation(0) });
}

export function reduceWindow(c, windows = {}) {
  const count = c.in.length - (windows.operands ?? 0);
  const [operands, inits] = halves(c.in.slice(0, count));
  const { rank } = operands[0].shape;
  const ones = Array(rank).fill(1);
  return c.b.reduceWindowWithGeneralPadding(
    operands, inits, windows.computation ?? c.computation(0),
    windows.dimensions ?? c.ints('window_dimensions'),
    windows.strides ?? c.ints('window_strides', ones),
    windows.baseDilations ?? c.ints('base_dilations', ones),
    windows.windowDilations ?? c.ints('window_dilations', ones),
    windows.padding ?? c.rows('padding', ones.map(() => [0, 0])),
  );
}

function selectAndScatter(c) {
  const [operand, source, init] = c.in;
  const ones = Array(operand.shape.rank).fill(1);
  return c.b.selectAndScatterWithGeneralPadding(
    operand, c.computation(0, undefined, 'select'), c.ints('window_dimensions', ones),
    c.ints('window_strides', ones), c.rows('padding', ones.map(() => [0, 0])), source, init,
    c.computation(1, undefined, 'scatter'),
  );
}

function sort(c) {
  const { rank } = c.x.shape;
  const dimension = c.int('dimension', -1);
  return c.emit('sort', c.in, {
    dimensions: [dimension < 0 ? dimension + rank : dimension],
    is_stable: c.bool('is_stable'),
    to_apply: c.computation(0),
  });
}

/* ---- Library operations ---- */

const normalisation = (opcode) => (c) =>
  c.emit(opcode, c.in, { epsilon: c.float('epsilon'), feature_index: c.int('feature_index') });

const cholesky = (c) => c.emit('cholesky', [c.x], { lower: c.bool('lower') });

const triangularSolve = (c) => c.emit('triangular-solve', c.in, {
  left_side: c.bool('left_side'), lower: c.bool('lower'), unit_diagonal: c.bool('unit_diagonal'),
  transpose_a: c.string('transpose_a', 'NO_TRANSPOSE'),
});

const fft = (c) => c.emit('fft', [c.x], {
  fft_type: c.string('fft_type'), fft_length: c.ints('fft_length'),
});

function rng(c) {
  const word = c.string('rng_distribution').toLowerCase();
  const shape = c.declared() ?? Shape.array(c.elementType(), c.sizes(2));
  return c.emit('rng', c.in.slice(0, 2), { distribution: `rng_${word}` }, shape);
}

export function rngBitGenerator(c, shape = c.shape(1)) {
  const algorithm = `rng_${c.string('rng_algorithm').toLowerCase()}`;
  const both = Shape.tuple([c.x.shape, shape]);
  return c.emit('rng-bit-generator', [c.x], { algorithm }, both);
}

/* ---- Sizes ---- */

function getDimensionSize(c) {
  const dimension = c.int('dimension');
  const { dimensions, dynamicDimensions } = c.x.shape;
  if (dynamicDimensions[dimension]) return c.b.getDimensionSize(c.x, dimension);
  if (dimensions[dimension] === undefined) throw malformed(`${c.x.shape} has no such dimension`);
  return c.b.constantR0(dimensions[dimension], 's32');
}

const setDimensionSize = (c) =>
  c.emit('set-dimension-size', c.in, { dimensions: [c.int('dimension')] });

/** The number of operands of other operations that take a fixed number. */
const COUNTS = {
  0: 'constant iota create_token partition_id replica_id',
  1: 'convert bitcast_convert reduce_precision broadcast broadcast_in_dim reshape transpose reverse slice cholesky fft ' +
    'rng_bit_generator get_dimension_size dynamic_iota uniform_quantize uniform_dequantize get_tuple_element infeed recv ' +
    'collective_permute reduce_scatter unary_einsum case if async_done',
  2: 'compare dot dot_general einsum convolution pad gather torch_index_select triangular_solve set_dimension_size ' +
    'dynamic_broadcast_in_dim dynamic_reshape',
  3: 'select_and_scatter rng batch_norm_training dynamic_gather dynamic_conv',
  4: 'real_dynamic_slice',
  5: 'batch_norm_grad batch_norm_inference dynamic_pad',
};

/** The number of operands by name, of lists of names by number. */
export const arities = (prefix, counts) => Object.fromEntries(Object.entries(counts).flatMap(([count, names]) =>
  names.split(' ').map((name) => [`${prefix}${name}`, Number(count)])));
export const arity = { ...arities('stablehlo.', ELEMENTWISE), ...arities('stablehlo.', COUNTS) };

export const operations = {
  ...elementwise,
  'stablehlo.compare': compare,
  'stablehlo.convert': convert,
  'stablehlo.bitcast_convert': bitcastConvert,
  'stablehlo.map': map,
  'stablehlo.reduce_precision': reducePrecision,
  'stablehlo.constant': constant,
  'stablehlo.iota': (c) => iota(c),
  'stablehlo.broadcast': (c) => c.b.broadcast(c.x, c.ints('broadcast_sizes')),
  'stablehlo.broadcast_in_dim': broadcast,
  'stablehlo.reshape': reshape,
  'stablehlo.transpose': transpose,
  'stablehlo.reverse': reverse,
  'stablehlo.concatenate': concatenate,
  'stablehlo.slice': staticSlice,
  'stablehlo.dynamic_slice': dynamicSlice,
  'stablehlo.dynamic_update_slice': (c) => c.emit('dynamic-update-slice', c.in),
  'stablehlo.pad': staticPad,
  'stablehlo.gather': (c) => gather(c, c.ints('slice_sizes')),
  'stablehlo.scatter': promoting(ofScatter, scatter),
  'stablehlo.torch_index_select': torchIndexSelect,
  'stablehlo.dot_general': (c) => dotGeneral(c),
  'stablehlo.dot': dot,
  'stablehlo.einsum': einsum,
  'stablehlo.unary_einsum': einsum,
  'stablehlo.convolution': (c) => convolution(c),
  'stablehlo.reduce': promoting(ofPairs, reduce),
  'stablehlo.reduce_window': promoting(ofPairs, (c) => reduceWindow(c)),
  'stablehlo.select_and_scatter': selectAndScatter,
  'stablehlo.sort': sort,
  'stablehlo.batch_norm_training': normalisation('batch-norm-training'),
  'stablehlo.batch_norm_inference': normalisation('batch-norm-inference'),
  'stablehlo.batch_norm_grad': normalisation('batch-norm-grad'),
  'stablehlo.cholesky': cholesky,
  'stablehlo.triangular_solve': triangularSolve,
  'stablehlo.fft': fft,
  'stablehlo.rng': rng,
  'stablehlo.rng_bit_generator': (c) => rngBitGenerator(c),
  'stablehlo.get_dimension_size': getDimensionSize,
  'stablehlo.set_dimension_size': setDimensionSize,
};
