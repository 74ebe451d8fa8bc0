/**
 * The fields of XLA's hlo.proto and xla_data.proto that affect a program: field number to [name, kind], see
 * protobuf.mjs.
 */
import { many } from './protobuf.mjs';

const ints = many('int');

const layout = () => LAYOUT;
const shape = () => SHAPE;
const literal = () => LITERAL;
const opSharding = () => OP_SHARDING;

const LAYOUT = { 1: ['minorToMajor', ints] };

const SHAPE = {
  2: ['elementType', 'int'],
  3: ['dimensions', ints],
  4: ['tupleShapes', many(shape)],
  5: ['layout', layout],
  6: ['isDynamicDimension', many('bool')],
};

/** ORDER TYPE: PrimitiveType, by number. */
export const PRIMITIVE_TYPES = {
  1: 'pred', 2: 's8', 3: 's16', 4: 's32', 5: 's64', 6: 'u8', 7: 'u16', 8: 'u32', 9: 'u64',
  10: 'f16', 11: 'f32', 12: 'f64', 13: 'tuple', 14: 'opaque', 15: 'c64', 16: 'bf16', 17: 'token',
  18: 'c128', 19: 'f8e5m2', 20: 'f8e4m3fn', 21: 's4', 22: 'u4', 23: 'f8e4m3b11fnuz',
  24: 'f8e5m2fnuz', 25: 'f8e4m3fnuz', 26: 's2', 27: 'u2', 28: 'f8e4m3', 29: 'f8e3m4', 30: 's1',
  31: 'u1', 32: 'f4e2m1fn', 33: 'f8e8m0fnu',
};

/** Elements are in a field of their type's, named as the type. */
const LITERAL = {
  1: ['shape', shape],
  2: ['pred', many('bool', Uint8Array)],
  3: ['u8', 'bytes'],
  4: ['s32', many('int', Int32Array)],
  5: ['s64', many('int', BigInt64Array)],
  6: ['u32', many('int', Uint32Array)],
  7: ['u64', many('int', BigUint64Array)],
  8: ['f32', many('float', Float32Array)],
  9: ['f64', many('double', Float64Array)],
  10: ['tuple', many(literal)],
  11: ['f16', 'bytes'],
  12: ['c64', many('float', Float32Array)],
  13: ['bf16', 'bytes'],
  15: ['s8', 'bytes'],
  16: ['u16', 'bytes'],
  17: ['s16', 'bytes'],
  18: ['c128', many('double', Float64Array)],
  19: ['f8e5m2', 'bytes'],
  20: ['f8e4m3fn', 'bytes'],
  21: ['s4', 'bytes'],
  22: ['u4', 'bytes'],
  23: ['f8e4m3b11fnuz', 'bytes'],
  24: ['f8e5m2fnuz', 'bytes'],
  25: ['f8e4m3fnuz', 'bytes'],
  26: ['s2', 'bytes'],
  27: ['u2', 'bytes'],
  28: ['f8e4m3', 'bytes'],
  29: ['f8e3m4', 'bytes'],
  32: ['f4e2m1fn', 'bytes'],
  33: ['f8e8m0fnu', 'bytes'],
};

const WINDOW_DIMENSION = {
  1: ['size', 'int'],
  2: ['stride', 'int'],
  3: ['low', 'int'],
  4: ['high', 'int'],
  5: ['windowDilation', 'int'],
  6: ['baseDilation', 'int'],
  7: ['reversal', 'bool'],
};
const WINDOW = { 1: ['dimensions', many(() => WINDOW_DIMENSION)] };

const PADDING_DIMENSION = { 1: ['low', 'int'], 2: ['high', 'int'], 3: ['interior', 'int'] };
const PADDING = { 1: ['dimensions', many(() => PADDING_DIMENSION)] };

const SLICE_DIMENSION = { 1: ['start', 'int'], 2: ['limit', 'int'], 3: ['stride', 'int'] };

const CONVOLUTION_DIMENSIONS = {
  3: ['kernelInputFeatureDimension', 'int'],
  4: ['kernelOutputFeatureDimension', 'int'],
  6: ['kernelSpatialDimensions', ints],
  7: ['inputBatchDimension', 'int'],
  8: ['inputFeatureDimension', 'int'],
  9: ['outputBatchDimension', 'int'],
  10: ['outputFeatureDimension', 'int'],
  11: ['inputSpatialDimensions', ints],
  12: ['outputSpatialDimensions', ints],
};

/** PrecisionConfig.Algorithm, by number, as the attribute algorithm has it; none for 0, ALG_UNSET. */
export const DOT_ALGORITHMS = [undefined, ...[
  'any_f8_any_f8_f32', 'any_f8_any_f8_f32_fast_accum', 'f16_f16_f16', 'f16_f16_f32', 'bf16_bf16_bf16', 'bf16_bf16_f32',
  'bf16_bf16_f32_x3', 'bf16_bf16_f32_x6', 'tf32_tf32_f32', 'tf32_tf32_f32_x3', 'f32_f32_f32', 'f64_f64_f64',
  'bf16_bf16_f32_x9',
].map((types) => `dot_${types}`)];

const DOT_DIMENSIONS = {
  1: ['lhs_contracting_dims', ints],
  2: ['rhs_contracting_dims', ints],
  3: ['lhs_batch_dims', ints],
  4: ['rhs_batch_dims', ints],
};
const RAGGED_DOT_DIMENSIONS = {
  1: ['dot', () => DOT_DIMENSIONS],
  2: ['lhs_ragged_dims', ints],
  3: ['rhs_group_dims', ints],
};

const GATHER_DIMENSIONS = {
  1: ['offset_dims', ints],
  2: ['collapsed_slice_dims', ints],
  3: ['start_index_map', ints],
  4: ['index_vector_dim', 'int'],
  5: ['operand_batching_dims', ints],
  6: ['start_indices_batching_dims', ints],
};
const SCATTER_DIMENSIONS = {
  1: ['update_window_dims', ints],
  2: ['inserted_window_dims', ints],
  3: ['scatter_dims_to_operand_dims', ints],
  4: ['index_vector_dim', 'int'],
  5: ['input_batching_dims', ints],
  6: ['scatter_indices_batching_dims', ints],
};

const TRIANGULAR_SOLVE = {
  1: ['left_side', 'bool'],
  2: ['lower', 'bool'],
  3: ['unit_diagonal', 'bool'],
  4: ['transpose_a', 'int'],
};
const CHOLESKY = { 1: ['lower', 'bool'] };

const PRECISION = { 1: ['operands', ints], 2: ['algorithm', 'int'] };

const REPLICA_GROUP = { 1: ['ids', ints] };
const IOTA_GROUPS = {
  1: ['groups', 'int'],
  2: ['size', 'int'],
  3: ['reshape', ints],
  4: ['transpose', ints],
};
const DEVICE_LIST = {
  1: ['groups', many(() => REPLICA_GROUP)],
  2: ['iota', () => IOTA_GROUPS],
};
const SOURCE_TARGET = { 1: ['source', 'int'], 2: ['target', 'int'] };

const MAP_ENTRY = { 1: ['key', 'string'], 2: ['value', 'string'] };
const FRONTEND_ATTRIBUTES = { 1: ['entries', many(() => MAP_ENTRY)] };

const METADATA = {
  1: ['op_type', 'string'],
  2: ['op_name', 'string'],
  3: ['source_file', 'string'],
  4: ['source_line', 'int'],
  15: ['stack_frame_id', 'int'],
  17: ['source_end_line', 'int'],
  18: ['source_column', 'int'],
  19: ['source_end_column', 'int'],
};

export const OP_SHARDING = {
  1: ['type', 'int'],
  3: ['tileDimensions', ints],
  4: ['tileDevices', ints],
  5: ['tuple', many(opSharding)],
  6: ['replicateOnLastTileDim', 'bool'],
  8: ['lastTileDims', ints],
  9: ['iotaReshape', ints],
  10: ['iotaTranspose', ints],
};

const OPERAND_ALIAS = {
  1: ['output', ints],
  2: ['operand', 'int'],
  3: ['operandIndex', ints],
};

const INSTRUCTION = {
  1: ['name', 'string'],
  2: ['opcode', 'string'],
  3: ['shape', shape],
  7: ['metadata', () => METADATA],
  8: ['literal', literal],
  9: ['parameterNumber', 'int'],
  11: ['fusionKind', 'string'],
  13: ['tupleIndex', 'int'],
  14: ['dimensions', ints],
  15: ['window', () => WINDOW],
  16: ['convolutionDimensions', () => CONVOLUTION_DIMENSIONS],
  17: ['slice', many(() => SLICE_DIMENSION)],
  18: ['exponentBits', 'int'],
  19: ['mantissaBits', 'int'],
  20: ['dynamicSliceSizes', ints],
  21: ['padding', () => PADDING],
  22: ['outfeedConfig', 'bytes'],
  23: ['distribution', 'int'],
  24: ['epsilon', 'float'],
  25: ['featureIndex', 'int'],
  26: ['channelId', 'int'],
  27: ['infeedConfig', 'bytes'],
  28: ['customCallTarget', 'string'],
  29: ['outfeedShape', shape],
  30: ['dotDimensions', () => DOT_DIMENSIONS],
  31: ['fftType', 'int'],
  32: ['fftLength', ints],
  33: ['gatherDimensions', () => GATHER_DIMENSIONS],
  34: ['gatherSliceSizes', ints],
  35: ['id', 'int'],
  36: ['operands', ints],
  37: ['controlPredecessors', ints],
  38: ['computations', ints],
  40: ['sharding', opSharding],
  43: ['backendConfig', 'bytes'],
  47: ['isHostTransfer', 'bool'],
  48: ['scatterDimensions', () => SCATTER_DIMENSIONS],
  49: ['replicaGroups', many(() => REPLICA_GROUP)],
  50: ['featureGroupCount', 'int'],
  51: ['precision', () => PRECISION],
  52: ['sourceTargetPairs', many(() => SOURCE_TARGET)],
  54: ['domainExit', opSharding], // XLA names them from the other side than it prints them
  55: ['domainEntry', opSharding],
  56: ['constrainLayout', 'bool'],
  57: ['operandShapes', many(shape)],
  58: ['batchGroupCount', 'int'],
  59: ['triangularSolve', () => TRIANGULAR_SOLVE],
  60: ['isStable', 'bool'],
  62: ['cholesky', () => CHOLESKY],
  63: ['direction', 'string'],
  65: ['hasSideEffect', 'bool'],
  66: ['delta', 'int'],
  67: ['indicesAreSorted', 'bool'],
  68: ['frontendAttributes', () => FRONTEND_ATTRIBUTES],
  69: ['uniqueIndices', 'bool'],
  70: ['rngAlgorithm', 'int'],
  71: ['useGlobalDeviceIds', 'bool'],
  72: ['comparisonType', 'string'],
  74: ['operandAliases', many(() => OPERAND_ALIAS)],
  77: ['apiVersion', 'int'],
  79: ['asyncExecutionThread', 'string'],
  81: ['k', 'int'],
  85: ['largest', 'bool'],
  87: ['deviceList', () => DEVICE_LIST],
  89: ['isComposite', 'bool'],
  90: ['raggedDotDimensions', () => RAGGED_DOT_DIMENSIONS],
  94: ['isReverse', 'bool'],
  95: ['numCarries', 'int'],
  96: ['isAssociative', 'int'], // 0: not said; 1: it is; 2: it is not
};

const PROGRAM_SHAPE = {
  1: ['parameters', many(shape)],
  2: ['result', shape],
  3: ['parameterNames', many('string')],
};

const COMPUTATION = {
  1: ['name', 'string'],
  2: ['instructions', many(() => INSTRUCTION)],
  4: ['programShape', () => PROGRAM_SHAPE],
  5: ['id', 'int'],
  6: ['rootId', 'int'],
  8: ['executionThread', 'string'],
};

const ALIAS = {
  1: ['output', ints],
  2: ['parameter', 'int'],
  3: ['parameterIndex', ints],
  4: ['kind', 'int'],
};
const ALIASES = { 1: ['entries', many(() => ALIAS)] };
const DONOR = { 1: ['parameter', 'int'], 2: ['parameterIndex', ints] };
const DONORS = { 1: ['entries', many(() => DONOR)] };

export const HLO_MODULE = {
  1: ['name', 'string'],
  2: ['entryName', 'string'],
  3: ['computations', many(() => COMPUTATION)],
  4: ['programShape', () => PROGRAM_SHAPE],
  5: ['id', 'int'],
  6: ['entryId', 'int'],
  8: ['aliases', () => ALIASES],
  18: ['donors', () => DONORS],
  19: ['frontendAttributes', () => FRONTEND_ATTRIBUTES],
};

/** HloProto, and HloSnapshot, which contains one: XLA dumps these to files. */
export const WRAPPER = { 1: ['inner', 'bytes'] };
