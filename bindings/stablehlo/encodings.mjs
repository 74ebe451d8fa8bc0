/**
 * Decodes attributes and types of dialects in bytecode: a function of the reader by dialect and code. Sources: MLIR's
 * BuiltinDialectBytecode.td; StableHLO's VhloBytecode.cpp and StablehloBytecode.cpp, whose codes never change.
 */
import { API_VERSIONS } from '../base/attribute_text.mjs';
import { XlaError } from '../base/error.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { elementsOfBytes } from './elements.mjs';
import { Dense, DenseArray, Dictionary, nameOf, Opaque, Struct, SymbolName, UNIT } from './ir.mjs';
import { scalarOf } from './syntax.mjs';
import { COMPLEX, FOREIGN, foreignTensor, scalarType, storageType, tensor, typeText } from './types.mjs';

/* ---- Parts ---- */

const scalar = (elementType, spelled) => () => scalarType(elementType, spelled);
const unsupported = (name) => () => ({ kind: 'opaque', text: name });
const words = (...names) => (r) => {
  const word = names[r.varint()];
  if (word === undefined) throw r.fail('a word that is not known');
  return word;
};

/** The element type of tensors and complex numbers. */
function elementOf(r, type) {
  if (type.kind === 'tensor' && !type.dimensions?.length) return type.elementType;
  throw new XlaError('UNIMPLEMENTED', `there are no arrays of ${typeText(type)}`);
}

function ranked(r, encoding) {
  const dimensions = r.signedList().map((n) => (n < 0 ? -1 : Number(n)));
  if (dimensions.some((n) => !Number.isSafeInteger(n))) throw r.fail('a size that is too large');
  const bounds = encoding instanceof Struct ? encoding.list : null;
  const type = r.type();
  if (type.kind === 'opaque' && FOREIGN.has(type.text)) return foreignTensor(dimensions, type.text);
  const elementType = elementOf(r, type);
  const { spelled } = type;
  return { ...tensor(elementType, dimensions, bounds?.length === dimensions.length ? bounds : null), spelled };
}

const rankedWithEncoding = (r) => ranked(r, r.attribute());
const unranked = (r) => ({
  kind: 'tensor', dimensions: null, elementType: elementOf(r, r.type()), bounds: null,
});
const typesOf = (kind) => (r) => ({ kind, types: r.list(() => r.type()) });
const func = (r) => ({ kind: 'function', inputs: r.list(() => r.type()), results: r.list(() => r.type()) });

function complex(r) {
  const part = elementOf(r, r.type());
  if (COMPLEX[part]) return scalarType(COMPLEX[part]);
  throw r.fail(`complex numbers of ${part}`);
}

/** Integers are the bits; those beyond a byte are written as signed ones. */
function bitsOf(r, bits) {
  if (bits <= 8) return BigInt(r.byte());
  return BigInt.asUintN(bits, BigInt(r.signed()));
}

function number(r) {
  const type = r.type();
  const elementType = elementOf(r, type);
  const { Array: Natural, bits } = ELEMENT_TYPES.get(elementType) ?? {};
  if (!Natural || typeof elementType !== 'string') throw r.fail('a number of no type of numbers');
  const value = bitsOf(r, elementType === 'pred' ? 1 : bits);
  if (elementType === 'pred') return (value & 1n) === 1n;
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, value, true);
  const data = new Natural(view.buffer.slice(0, Natural.BYTES_PER_ELEMENT));
  if (bits < 8 && elementType[0] === 's') data[0] = Number(BigInt.asIntN(bits, value));
  return scalarOf(elementType, data, type);
}

function dense(r, type, bytes, Kind = Dense) {
  if (type.kind !== 'tensor' || !type.dimensions || type.dimensions.some((n) => n < 0)) {
    throw r.fail(`${typeText(type)} is no type of a constant`);
  }
  const count = type.dimensions.reduce((n, size) => n * size, 1);
  const made = Number.isSafeInteger(count) && elementsOfBytes(bytes, storageType(type), count);
  if (!made) throw r.fail(`${bytes.length} bytes are not the elements of ${typeText(type)}`);
  return new Kind(type, made.data, made.splat, made.bytes);
}

/** array<i64: 1, 2> */
function denseArray(r) {
  const type = r.type();
  elementOf(r, type);
  const count = r.varint();
  const bytes = r.blob();
  // Booleans take a byte each here.
  return dense(r, { ...type, dimensions: [count] }, bytes, DenseArray);
}

const dictionary = (r) => {
  const entries = Object.create(null);
  for (const [name, value] of r.list(() => [r.attribute(), r.attribute()])) {
    entries[nameOf(name) ?? ''] = value;
  }
  return new Dictionary(entries);
};

function place(text) {
  return new Opaque(text);
}

/* ---- Locations: { name, file, fileLine } ---- */

const locations = {
  callSite: (r) => {
    const callee = r.attribute();
    r.attribute();
    return callee;
  },
  file: (r) => ({ file: nameOf(r.attribute()), fileLine: r.varint() }),
  fused: (r) => r.list(() => r.attribute())[0] ?? {},
  named: (r) => {
    const name = nameOf(r.attribute());
    return { ...r.attribute(), name };
  },
  unknown: () => ({}),
};

/* ---- Builtin ---- */

const BUILTIN_ATTRIBUTES = {
  0: (r) => r.list(() => r.attribute()),
  1: dictionary,
  2: (r) => r.string(),
  3: (r) => r.string(), // and its type
  4: (r) => new SymbolName(nameOf(r.attribute())),
  5: (r) => {
    const parts = [nameOf(r.attribute()), ...r.list(() => nameOf(r.attribute()))];
    return new SymbolName(parts.join('::'));
  },
  6: (r) => r.type(),
  7: () => UNIT,
  8: number,
  9: number,
  10: locations.callSite,
  11: locations.file,
  12: locations.fused,
  13: locations.fused,
  14: locations.named,
  15: locations.unknown,
  16: (r) => {
    const type = r.type();
    return dense(r, type, r.resource());
  },
  17: denseArray,
  18: (r) => {
    const type = r.type();
    return dense(r, type, r.blob());
  },
  19: () => new Struct('dense of strings', {}),
  20: () => new Struct('sparse', {}),
  21: () => new Struct('distinct', {}),
};

function integerType(r) {
  const coded = r.varint();
  const [bits, sign] = [Math.floor(coded / 4), coded % 4];
  const name = bits === 1 ? 'pred' : `${sign === 2 ? 'u' : 's'}${bits}`;
  if (!ELEMENT_TYPES.has(name)) return unsupported(`i${bits}`)();
  return scalarType(name, sign === 1 ? `si${bits}` : undefined);
}

const BUILTIN_TYPES = {
  0: integerType,
  1: scalar('s64', 'index'),
  2: func,
  3: scalar('bf16'),
  4: scalar('f16'),
  5: scalar('f32'),
  6: scalar('f64'),
  7: unsupported('f80'),
  8: unsupported('f128'),
  9: complex,
  12: () => ({ kind: 'none' }),
  13: (r) => ranked(r),
  14: rankedWithEncoding,
  15: typesOf('tuple'),
  18: unranked,
  19: (r) => ({ ...ranked(r), container: 'vector' }),
  21: unsupported('tf32'),
  ...Object.fromEntries([
    'f8e5m2', 'f8e4m3', 'f8e4m3fn', 'f8e5m2fnuz', 'f8e4m3fnuz', 'f8e4m3b11fnuz', 'f8e3m4', 'f4e2m1fn',
  ].map((name, i) => [22 + i, scalar(name)])),
  30: unsupported('f6E2M3FN'),
  31: unsupported('f6E3M2FN'),
  32: scalar('f8e8m0fnu'),
};

/* ---- VHLO and StableHLO ---- */

const DIRECTIONS = words('EQ', 'NE', 'GE', 'GT', 'LE', 'LT');
const COMPARISONS = words('NOTYPE', 'FLOAT', 'TOTALORDER', 'SIGNED', 'UNSIGNED');
const FFT = words('FFT', 'IFFT', 'RFFT', 'IRFFT');
const PRECISION = words('DEFAULT', 'HIGH', 'HIGHEST');
const ALGORITHM = words('DEFAULT', 'THREE_FRY', 'PHILOX');
const DISTRIBUTION = words(undefined, 'UNIFORM', 'NORMAL');
const TRANSPOSE = words('TRANSPOSE_INVALID', 'NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT');
const API_VERSION = words(...API_VERSIONS);
const ACCURACY = words('DEFAULT', 'HIGHEST', 'TOLERANCE');

const bounds = (r) => new Struct('bounds', {}, r.signedList().map((n) => (n < 0 ? -1 : Number(n))));
const alias = (r) => new Struct('output_operand_alias', {
  output_tuple_indices: r.signedList().map(Number), operand_index: Number(r.signed()),
  operand_tuple_indices: r.signedList().map(Number),
});
const accuracy = (r) => {
  for (let i = 0; i < 3; i++) r.signed();
  r.attribute();
  return place('result_accuracy');
};

/** Fields in order: 'name' is an integer, 'name[]' a list of them. */
const record = (name, ...fields) => (r) => new Struct(name, Object.fromEntries(fields.map((field) =>
  (field.endsWith('[]') ? [field.slice(0, -2), r.signedList().map(Number)] : [field, Number(r.signed())]))));

const VHLO_ATTRIBUTES = {
  1: (r) => r.list(() => r.attribute()),
  2: (r) => r.varint() !== 0,
  3: DIRECTIONS,
  4: COMPARISONS,
  5: API_VERSION,
  6: dictionary,
  7: FFT,
  8: number,
  9: number,
  10: alias,
  11: PRECISION,
  12: ALGORITHM,
  13: DISTRIBUTION,
  14: (r) => r.string(),
  15: (r) => {
    const type = r.type();
    return dense(r, type, r.blob());
  },
  16: TRANSPOSE,
  17: (r) => r.type(),
  18: bounds,
  19: ACCURACY,
  20: accuracy,
  21: record('sub_axis_info', 'pre_size', 'size'),
  22: (r) => {
    const name = r.attribute();
    return new Struct('axis_ref', { name, sub_axis_info: r.varint() ? r.attribute() : undefined });
  },
  23: (r) => new Struct('replica_group_mesh_axes', { mesh: r.attribute(), axes: r.attribute() }),
  24: (r) => new Struct('mesh_axis', { name: r.attribute(), size: Number(r.signed()) }),
  25: (r) => mesh(r.attribute(), r.optionalAttribute()),
};

const mesh = (axes, devices) => new Struct('mesh', { axes, device_ids: devices });

/** ORDER TYPE: the scalar types by VHLO's codes. */
export const VHLO_SCALARS = {
  0: 'pred', 2: 'bf16', 3: 'f16', 4: 'f32', 5: 'f64', 6: 'f8e4m3fn', 7: 'f8e5m2',
  10: 's4', 11: 's8', 12: 's16', 13: 's32', 14: 's64', 15: 'u4', 16: 'u8', 17: 'u16', 18: 'u32',
  19: 'u64', 27: 'f8e4m3fnuz', 28: 'f8e5m2fnuz', 29: 'f8e4m3b11fnuz', 31: 's2', 32: 'u2',
  35: 'f8e4m3', 36: 'f8e3m4', 37: 'f4e2m1fn', 40: 'f8e8m0fnu',
};

const double = (r) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bitsOf(r, 64), true);
  return view.getFloat64(0, true);
};

function quantized(r) {
  const isSigned = (r.varint() & 1) === 1;
  const storage = elementOf(r, r.type());
  const expressed = elementOf(r, r.type());
  const [scale, zeroPoint] = [double(r), Number(r.signed())];
  const [low, high] = [Number(r.signed()), Number(r.signed())];
  return tensor({
    kind: 'quantized', storage: signedStorage(storage, isSigned), expressed, low, high,
    dimension: -1, scales: [scale], zeroPoints: [zeroPoint],
  }, []);
}

/** Returns the storage type, unsigned unless the flag is set. */
const signedStorage = (storage, isSigned) => (isSigned ? storage : storage.replace(/^s/, 'u'));

function quantizedPerAxis(r) {
  const isSigned = (r.varint() & 1) === 1;
  const storage = elementOf(r, r.type());
  const expressed = elementOf(r, r.type());
  const dimension = r.varint();
  const [low, high] = [Number(r.signed()), Number(r.signed())];
  const scales = r.list(() => double(r));
  const zeroPoints = r.list(() => Number(r.signed()));
  return tensor({
    kind: 'quantized', storage: signedStorage(storage, isSigned), expressed, low, high, dimension,
    scales, zeroPoints,
  }, []);
}

const VHLO_TYPES = {
  ...Object.fromEntries(Object.entries(VHLO_SCALARS).map(([code, name]) => [code, scalar(name)])),
  1: complex,
  8: func,
  9: scalar('s64', 'index'),
  20: (r) => ranked(r),
  21: rankedWithEncoding,
  22: () => ({ kind: 'token' }),
  23: typesOf('tuple'),
  24: quantized,
  25: unranked,
  26: unsupported('!shape.witness'),
  30: quantizedPerAxis,
  33: () => ({ kind: 'none' }),
  34: unsupported('tf32'),
  38: unsupported('f6E2M3FN'),
  39: unsupported('f6E3M2FN'),
  41: unsupported('memref'),
  42: typesOf('future'),
};

const INDEX_LISTS = {
  gather: ['offset_dims[]', 'collapsed_slice_dims[]', 'operand_batching_dims[]',
    'start_indices_batching_dims[]', 'start_index_map[]', 'index_vector_dim'],
  scatter: ['update_window_dims[]', 'inserted_window_dims[]', 'input_batching_dims[]',
    'scatter_indices_batching_dims[]', 'scatter_dims_to_operand_dims[]', 'index_vector_dim'],
};

const STABLEHLO_ATTRIBUTES = {
  1: record('channel_handle', 'handle', 'type'),
  2: DIRECTIONS,
  3: COMPARISONS,
  4: record('conv', 'input_batch_dimension', 'input_feature_dimension', 'input_spatial_dimensions[]',
    'kernel_input_feature_dimension', 'kernel_output_feature_dimension',
    'kernel_spatial_dimensions[]', 'output_batch_dimension', 'output_feature_dimension',
    'output_spatial_dimensions[]'),
  5: record('dot', 'lhs_batching_dimensions[]', 'rhs_batching_dimensions[]',
    'lhs_contracting_dimensions[]', 'rhs_contracting_dimensions[]'),
  6: FFT,
  7: record('gather', ...INDEX_LISTS.gather),
  8: PRECISION,
  9: ALGORITHM,
  10: DISTRIBUTION,
  11: record('scatter', ...INDEX_LISTS.scatter),
  12: TRANSPOSE,
  13: bounds,
  14: alias,
  15: (r) => {
    const [lhs, rhs, sum] = [r.type(), r.type(), r.type()];
    const [lhsCount, rhsCount, count] = [Number(r.signed()), Number(r.signed()), Number(r.signed())];
    return new Struct('dot_algorithm', {
      lhs_precision_type: lhs, rhs_precision_type: rhs, accumulation_type: sum,
      lhs_component_count: lhsCount, rhs_component_count: rhsCount,
      num_primitive_operations: count, allow_imprecise_accumulation: r.byte() !== 0,
    });
  },
  16: ACCURACY,
  17: accuracy,
  18: (r) => new Struct('replica_group_mesh_axes', {
    mesh: r.attribute(), axes: r.list(() => r.attribute()),
  }),
  19: record('sub_axis_info', 'pre_size', 'size'),
  20: (r) => new Struct('axis_ref', { name: r.string(), sub_axis_info: r.byte() ? r.attribute() : undefined }),
  21: (r) => new Struct('mesh_axis', { name: r.string(), size: Number(r.signed()) }),
  22: (r) => mesh(r.attribute(), r.atEnd || !r.byte() ? undefined : r.attribute()),
};

/** Source: XLA's mhlo_bytecode.cc. Codes 1 to 13 are StableHLO's. */
const MHLO_ATTRIBUTES = {
  ...Object.fromEntries(Array.from({ length: 13 }, (_, i) => [i + 1, STABLEHLO_ATTRIBUTES[i + 1]])),
  14: words('sharding'),
  15: words('kLoop', 'kInput', 'kOutput', 'kCustom'),
  16: alias,
  17: ACCURACY,
  18: accuracy,
};

/* ---- Shardy, as its text. Source: shardy/dialect/sdy/ir/bytecode.td ---- */

const textsOf = (r) => r.list(() => {
  const value = r.attribute();
  return value instanceof Opaque ? value.text : `"${nameOf(value) ?? ''}"`;
}).join(', ');

/** The fields that a version of it has after the replicated axes: the unreduced axes, and their reduction. */
const shardingText = (parts) => (r) => {
  const mesh = r.attribute();
  const name = nameOf(mesh);
  const meshText = name === undefined ? (mesh.text ?? '').replace(/^#sdy\./, '') : meshSymbol(name);
  const dimensions = textsOf(r);
  const replicated = textsOf(r);
  const unreduced = parts > 0 ? textsOf(r) : '';
  const reduction = parts > 1 ? REDUCTIONS[Number(r.signed())] : '';
  if (reduction === undefined) throw r.fail('a reduction that is not known');
  const more = `${replicated && `, replicated={${replicated}}`}${unreduced && `, unreduced=${reduction}{${unreduced}}`}`;
  return place(`#sdy.sharding<${meshText}, [${dimensions}]${more}>`);
};

const REDUCTIONS = ['', 'max', 'min'];
const meshSymbol = (name) => (/^[\w.$-]+$/.test(name) ? `@${name}` : `@"${name}"`);

const perValue = (r) => place(`#sdy.sharding_per_value<[${textsOf(r).replaceAll('#sdy.sharding<', '<')}]>`);

const SDY_ATTRIBUTES = {
  0: (r) => place(`#sdy<manual_axes{${textsOf(r)}}>`),
  1: (r) => place(`"${r.string()}"=${r.signed()}`),
  2: (r) => {
    const axes = textsOf(r);
    const devices = r.signedList();
    return place(`#sdy.mesh<[${axes}]${devices.length ? `, device_ids=[${devices.join(', ')}]` : ''}>`);
  },
  3: (r) => place(`:(${r.signed()})${r.signed()}`),
  4: (r) => {
    const name = r.string();
    return place(`"${name}"${r.optionalAttribute()?.text ?? ''}`);
  },
  5: (r) => {
    const axes = textsOf(r);
    const open = r.byte() ? '' : '?';
    return place(`{${[axes, open].filter(Boolean).join(', ')}}`);
  },
  6: shardingText(0),
  7: perValue,
  15: shardingText(1),
  16: perValue,
  17: shardingText(2),
};

export const ATTRIBUTES = {
  sdy: SDY_ATTRIBUTES,
  builtin: BUILTIN_ATTRIBUTES,
  vhlo: VHLO_ATTRIBUTES,
  stablehlo: STABLEHLO_ATTRIBUTES,
  mhlo: MHLO_ATTRIBUTES,
  chlo: { 0: DIRECTIONS, 1: COMPARISONS },
};

export const TYPES = {
  builtin: BUILTIN_TYPES,
  vhlo: VHLO_TYPES,
  stablehlo: { 0: () => ({ kind: 'token' }), 1: typesOf('future') },
  mhlo: { 0: () => ({ kind: 'token' }), 1: typesOf('future') },
};
