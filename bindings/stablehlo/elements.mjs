/** Reads elements of constants, from MLIR's bytes and from the numbers of its text. */
import { invalidArgument } from '../base/error.mjs';
import { ELEMENT_TYPES, narrowOfBytes, refusal } from '../values/types.mjs';

/** Elements of at least this many bytes are copied only when they are read. */
const LARGE = 65536;

function unpackBits(bytes, count) {
  return Uint8Array.from({ length: count }, (_, i) => (bytes[i >> 3] >> (i & 7)) & 1);
}

/**
 * Reads elements from little-endian bytes: all of them, or one that is repeated.
 * @param {Uint8Array} bytes kept where they can be used as they lie
 * @param {string} elementType
 * @param {number} count
 * @returns {{ data?: any, bytes?: Uint8Array, splat: boolean } | undefined} undefined: not as many
 *   bytes; `bytes` instead of data: see Dense
 */
export function elementsOfBytes(bytes, elementType, count) {
  const type = ELEMENT_TYPES.get(elementType);
  if (elementType === 'pred') return predicatesOfBytes(bytes, count);
  const splat = bytes.length === type.bytes && count !== 1;
  const wanted = (splat ? 1 : count) * type.bytes;
  if (bytes.length !== wanted) return undefined;
  const { Array: Natural } = type;
  const isAligned = bytes.byteOffset % Natural.BYTES_PER_ELEMENT === 0;
  if (!isAligned && !splat && bytes.length >= LARGE) return { bytes, splat };
  const { buffer, byteOffset } = isAligned ? bytes : new Uint8Array(bytes);
  const data = new Natural(buffer, byteOffset, bytes.length / Natural.BYTES_PER_ELEMENT);
  return { data: type.bits < 8 ? narrowOfBytes(data, elementType) : data, splat };
}

/** Reads predicates: a byte or a bit for each. A single byte 0xff or 0x00, or 1, may be a splat. */
function predicatesOfBytes(bytes, count) {
  const isSplat = bytes.length === 1 && (count > 8 || [0, 255].includes(bytes[0])) && count !== 1;
  if (isSplat) return { data: Uint8Array.of(bytes[0] ? 1 : 0), splat: true };
  if (bytes.length === count) return { data: Uint8Array.from(bytes, (byte) => (byte ? 1 : 0)), splat: false };
  if (bytes.length !== Math.ceil(count / 8)) return undefined;
  return { data: unpackBits(bytes, count), splat: false };
}

/** Real and imaginary parts are written as their own type. */
const PARTS = { c64: 'f32', c128: 'f64' };

/**
 * The numbers of MLIR text, as elements; hexadecimal ones are the bits of floats.
 * @param {string[]} texts a complex number is two
 * @param {string} elementType
 * @returns {any} the natural typed array
 * @throws {XlaError} the type has no such value
 */
export function elementsOfText(texts, elementType) {
  const type = ELEMENT_TYPES.get(PARTS[elementType] ?? elementType);
  const data = new type.Array(texts.length);
  const write = writers(type, data);
  const wrong = texts.findIndex((text, i) => !write(text, i));
  if (wrong < 0) return data;
  const bits = type.kind === 'signed' ? `, or its bits up to ${2n ** BigInt(type.bits) - 1n}` : '';
  throw invalidArgument('', refusal(type.name, texts[wrong]) + bits);
}

function writers(type, data) {
  const bits = new DataView(data.buffer);
  const setBits = (value, i) => {
    if (value >> BigInt(type.bits)) return false;
    for (let byte = 0; byte < type.bytes; byte++) {
      bits.setUint8(i * type.bytes + byte, Number((value >> BigInt(8 * byte)) & 255n));
    }
    return true;
  };
  if (type.kind === 'float') {
    return (text, i) => {
      if (/^0x/i.test(text)) return setBits(BigInt(text), i);
      return /^-?[\d.]/.test(text) && type.write(data, i, Number(text));
    };
  }
  const words = { true: type.kind === 'pred' ? 1 : undefined, false: 0 };
  return (text, i) => {
    if (text in words) {
      data[i] = words[text];
      return type.kind === 'pred';
    }
    return writeInteger(type, data, text, i);
  };
}

/** A signed type's bits may be written as an unsigned number, as MLIR reads them: 15 is -1 in i4. */
function writeInteger(type, data, text, i) {
  if (!/^-?(0x[\da-f]+|\d+)$/i.test(text)) return false;
  const value = text[0] === '-' ? -BigInt(text.slice(1)) : BigInt(text);
  const { bits, kind } = type;
  if (kind === 'pred') {
    data[i] = value ? 1 : 0;
    return value === 0n || value === 1n || value === -1n;
  }
  const isSigned = kind === 'signed' && BigInt.asIntN(bits, value) === value;
  if (!isSigned && BigInt.asUintN(bits, value) !== value) return false;
  const wrapped = kind === 'signed' ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  data[i] = bits === 64 ? wrapped : Number(wrapped);
  return true;
}

/**
 * Elements of a constant that a dump leaves out: a zero for all, or floats from -1 to 1, integers from 0 to 9 (or to the
 * type's highest) and predicates that look random.
 * @param {'zeros' | 'random'} kind
 */
export function inventedElements(elementType, count, kind) {
  const { Array: Natural, lanes, limits, kind: numbers } = ELEMENT_TYPES.get(elementType);
  if (kind === 'zeros') return new Natural(lanes);
  const { write } = ELEMENT_TYPES.get(PARTS[elementType] ?? elementType);
  const data = new Natural(count * lanes);
  const values = numbers === 'pred' ? 2 : Math.min(10, Number(limits?.[1] ?? 9) + 1);
  let state = 1;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0; // Knuth's linear congruence
    const drawn = state / 2 ** 32;
    write(data, i, /float|complex/.test(numbers) ? 2 * drawn - 1 : toElement(Math.floor(drawn * values), numbers));
  }
  return data;
}

const toElement = (number, kind) => (kind === 'pred' ? number === 1 : number);
