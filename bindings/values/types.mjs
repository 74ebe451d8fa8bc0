/**
 * Element types: how each is kept in a typed array, and how its elements look as JavaScript values
 * (numbers, bigints for 64-bit integers, booleans for predicates, [re, im] for complex numbers).
 */
import { describe, invalidArgument } from '../base/error.mjs';
import { FLOAT_CODECS } from './floats.mjs';

/**
 * @typedef {object} ElementType
 * @property {string} name as in HLO text: 'f32'
 * @property {number} bits significant bits of an element
 * @property {number} bytes that an element takes in memory (2 or 4 bits take a byte)
 * @property {'pred' | 'signed' | 'unsigned' | 'float' | 'complex'} kind
 * @property {Function} Array the typed array that holds elements
 * @property {number} lanes entries of that array per element: 2 if complex
 * @property {(data: any, index: number) => any} read element `index` as a JavaScript value
 * @property {(data: any, index: number, value: any) => boolean} write stores one; false and
 *   unchanged if the type has no such value
 * @property {[any, any] | null} limits the lowest and the highest value; null if complex
 * @property {number} [mantissaBits] of floats, and of the parts of complex numbers
 * @property {boolean} [isIeee] of these: infinities and NaNs have the highest exponent; NaNs have payloads
 */

function integer(name, bits, kind, Array) {
  const low = kind === 'signed' ? -(2 ** (bits - 1)) : 0;
  const high = low + 2 ** bits - 1;
  return {
    read: (data, index) => data[index],
    write(data, index, value) {
      const number = typeof value === 'bigint' ? Number(value) : value;
      if (!Number.isInteger(number) || number < low || number > high) return false;
      data[index] = number;
      return true;
    },
    name, bits, bytes: Array.BYTES_PER_ELEMENT, kind, Array, lanes: 1, limits: [low, high],
  };
}

function integer64(name, kind, Array) {
  const fit = kind === 'signed' ? BigInt.asIntN : BigInt.asUintN;
  const low = kind === 'signed' ? -(2n ** 63n) : 0n;
  const high = low + 2n ** 64n - 1n;
  return {
    read: (data, index) => data[index],
    write(data, index, value) {
      if (typeof value !== 'bigint' && !Number.isInteger(value)) return false;
      const exact = BigInt(value);
      if (fit(64, exact) !== exact) return false;
      data[index] = exact;
      return true;
    },
    name, bits: 64, bytes: 8, kind, Array, lanes: 1, limits: [low, high],
  };
}

/** Properties of the float formats that JavaScript has typed arrays for. */
const IEEE = { 32: { mantissaBits: 23, isIeee: true }, 64: { mantissaBits: 52, isIeee: true } };

function float(name, bits, Array) {
  return {
    read: (data, index) => data[index],
    write(data, index, value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') return false;
      data[index] = Number(value);
      return true;
    },
    name, bits, bytes: bits / 8, kind: 'float', Array, lanes: 1,
    limits: [-Infinity, Infinity], ...IEEE[bits],
  };
}

function floatBits(name, bits) {
  const { encode, decode, lowest, highest, mantissaBits, isIeee } = FLOAT_CODECS[name];
  return {
    read: (data, index) => decode(data[index]),
    write(data, index, value) {
      if (typeof value !== 'number' && typeof value !== 'bigint') return false;
      data[index] = encode(Number(value));
      return true;
    },
    name, bits, bytes: Math.ceil(bits / 8), kind: 'float', lanes: 1,
    Array: bits === 16 ? Uint16Array : Uint8Array,
    limits: [lowest, highest], mantissaBits, isIeee,
  };
}

function complex(name, bits, Array) {
  return {
    read: (data, index) => [data[2 * index], data[2 * index + 1]],
    write(data, index, value) {
      const isPair = globalThis.Array.isArray(value) && value.length === 2;
      const [re, im] = isPair ? [value[0], value[1]] : [value, 0];
      if (typeof re !== 'number' || typeof im !== 'number') return false;
      data[2 * index] = re;
      data[2 * index + 1] = im;
      return true;
    },
    name, bits, bytes: bits / 8, kind: 'complex', Array, lanes: 2, limits: null,
    ...IEEE[bits / 2],
  };
}

const pred = {
  read: (data, index) => data[index] !== 0,
  write(data, index, value) {
    if (value !== true && value !== false && value !== 0 && value !== 1) return false;
    data[index] = Number(value);
    return true;
  },
  name: 'pred', bits: 1, bytes: 1, kind: 'pred', Array: Uint8Array, lanes: 1,
  limits: [false, true],
};

const ROWS = [
  pred,
  integer('s2', 2, 'signed', Int8Array),
  integer('s4', 4, 'signed', Int8Array),
  integer('s8', 8, 'signed', Int8Array),
  integer('s16', 16, 'signed', Int16Array),
  integer('s32', 32, 'signed', Int32Array),
  integer64('s64', 'signed', BigInt64Array),
  integer('u2', 2, 'unsigned', Uint8Array),
  integer('u4', 4, 'unsigned', Uint8Array),
  integer('u8', 8, 'unsigned', Uint8Array),
  integer('u16', 16, 'unsigned', Uint16Array),
  integer('u32', 32, 'unsigned', Uint32Array),
  integer64('u64', 'unsigned', BigUint64Array),
  floatBits('f16', 16),
  floatBits('bf16', 16),
  floatBits('f8e5m2', 8),
  floatBits('f8e4m3', 8),
  floatBits('f8e3m4', 8),
  floatBits('f8e4m3fn', 8),
  floatBits('f8e4m3b11fnuz', 8),
  floatBits('f8e5m2fnuz', 8),
  floatBits('f8e4m3fnuz', 8),
  floatBits('f8e8m0fnu', 8),
  floatBits('f4e2m1fn', 4),
  float('f32', 32, Float32Array),
  float('f64', 64, Float64Array),
  complex('c64', 64, Float32Array),
  complex('c128', 128, Float64Array),
];

/** All array element types by name. @type {ReadonlyMap<string, ElementType>} */
export const ELEMENT_TYPES = new Map(ROWS.map((row) => [row.name, Object.freeze(row)]));

const COMPARISONS = { float: 'FLOAT', complex: 'FLOAT', signed: 'SIGNED', unsigned: 'UNSIGNED', pred: 'UNSIGNED' };

/** Returns a comparison's type; undefined if it is the operand type's default, which XLA does not print. */
export const comparisonOf = (type, elementType) => (type === COMPARISONS[ELEMENT_TYPES.get(elementType)?.kind] ? undefined : type || undefined);

/**
 * Describes why an element type cannot hold a value. All inputs use this rule. The core repeats it for HLO text
 * (out_of_range in literal_parser.c).
 */
export function refusal(elementType, value, place = '') {
  const { kind, limits } = ELEMENT_TYPES.get(elementType);
  const range = {
    pred: ': it holds true and false',
    float: ': it holds numbers',
    signed: `: it holds whole numbers from ${limits?.[0]} to ${limits?.[1]}`,
  };
  range.unsigned = range.signed;
  return `cannot hold ${describe(value)}${place}${range[kind] ?? ''}`;
}

/** Whether the natural array of an element type can hold values outside of the type. */
export const isNarrow = ({ bits, kind }) => bits < 8 && kind !== 'float';

/** Returns the index of the first entry of a natural array that is outside of the type; -1 if none is. */
export function firstOutside(elementType, data) {
  const type = ELEMENT_TYPES.get(elementType);
  if (!isNarrow(type)) return -1;
  const [low, high] = type.limits.map(Number);
  return data.findIndex((value) => value < low || value > high);
}

/** Returns the number of elements per byte of a packed array: 2 or 4 for elements of 4 or 2 bits, else 1. */
export const perByte = ({ bits, kind }) => (bits < 8 && kind !== 'pred' ? 8 / bits : 1);

/** Packs elements of 2 or 4 bits: the first is in the lowest bits; bits after the last one are 0. */
export function packElements({ bits }, data) {
  const bytes = new Uint8Array(Math.ceil(data.length * bits / 8)), mask = (1 << bits) - 1, shift = bits === 4 ? 1 : 2;
  for (let i = 0; i < data.length; i++) bytes[i >>> shift] |= (data[i] & mask) << (i * bits & 7);
  return bytes;
}

/** Unpacks the first `count` elements of packed bytes to a natural array. */
export function unpackElements({ bits, kind, Array: Natural }, bytes, count) {
  const data = new Natural(count), unused = 32 - bits, shift = bits === 4 ? 1 : 2;
  for (let i = 0; i < count; i++) {
    const high = bytes[i >>> shift] << (unused - (i * bits & 7));
    data[i] = kind === 'signed' ? high >> unused : high >>> unused;
  }
  return data;
}

/**
 * Elements of 2 or 4 bits from bytes that hold one each, as other systems keep them: the bits above are zeros or
 * copies of the sign. @throws {XlaError} with the rule
 */
export function narrowOfBytes(bytes, elementType) {
  const { bits, kind, Array: Natural } = ELEMENT_TYPES.get(elementType);
  const size = 1 << bits;
  return Natural.from(bytes, (byte) => {
    const signed = (byte << 24) >> 24;
    const fits = (byte & 255) < size || (kind === 'signed' && signed < 0 && signed >= -size / 2);
    if (!fits) throw invalidArgument('', refusal(elementType, kind === 'signed' ? signed : byte));
    return kind === 'signed' ? (byte << (32 - bits)) >> (32 - bits) : byte;
  });
}

/** Element types by their names in safetensors. Those below a byte are packed; the format's documentation has only F4 of these. */
export const SAFETENSORS = {
  I2: 's2', U2: 'u2', I4: 's4', U4: 'u4', F4: 'f4e2m1fn',
  BOOL: 'pred', U8: 'u8', I8: 's8', F8_E5M2: 'f8e5m2', F8_E4M3: 'f8e4m3fn', F8_E8M0: 'f8e8m0fnu',
  I16: 's16', U16: 'u16', F16: 'f16', BF16: 'bf16', I32: 's32', U32: 'u32', F32: 'f32', C64: 'c64',
  F64: 'f64', I64: 's64', U64: 'u64',
};

/** Names of element types in other systems. */
const ALIASES = {
  bool: 'pred', boolean: 'pred', i1: 'pred',
  char: 's8', byte: 'u8', short: 's16', int: 's32', long: 's64',
  half: 'f16', float: 'f32', single: 'f32', double: 'f64', bfloat16: 'bf16',
};

/**
 * Returns the element type that another name stands for, such as 'float32', 'F32' or 'i32';
 * undefined if that is unclear.
 * @param {unknown} name
 */
export function typeByOtherName(name) {
  if (typeof name !== 'string') return undefined;
  const lower = name.toLowerCase().replace(/_/g, '');
  const [, kind, bits] = /^(u?int|i|float|complex)(\d+)$/.exec(lower) ?? [];
  const short = { int: 's', i: 's', uint: 'u', float: 'f', complex: 'c' }[kind];
  const meant = ALIASES[lower] ?? (short ? short + bits : lower.replace(/^float(?=8|4)/, 'f'));
  return ELEMENT_TYPES.has(meant) ? meant : undefined;
}

/** The element type that a constant of unstated type gets. */
export function typeOfValue(value) {
  if (typeof value === 'boolean') return 'pred';
  if (typeof value === 'bigint') return 's64';
  return 'f32';
}

/** Returns the element type that is kept in arrays of this class; undefined if it is no typed array. */
export function typeOfTypedArray(array) {
  return {
    Int8Array: 's8',
    Int16Array: 's16',
    Int32Array: 's32',
    BigInt64Array: 's64',
    Uint8Array: 'u8',
    Uint8ClampedArray: 'u8',
    Uint16Array: 'u16',
    Uint32Array: 'u32',
    BigUint64Array: 'u64',
    Float16Array: 'f16',
    Float32Array: 'f32',
    Float64Array: 'f64',
  }[array?.[Symbol.toStringTag]];
}
