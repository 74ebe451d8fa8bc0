/**
 * Reads and writes protocol buffers by tables: the part of the wire format that HLO's messages use.
 *
 * A schema is an object from field number to [name, kind]. Kinds are 'int', 'bool', 'float',
 * 'double', 'string', 'bytes', a function that gives a schema (messages refer to each other), and
 * `many(kind)`. A message becomes an object of its fields; fields that it lacks and fields without a
 * row are absent. Integers are numbers, or bigints beyond 2^53.
 * Source: protobuf.dev/programming-guides/encoding
 */
import { bytesOfText, textOfBytes } from '../base/attribute_text.mjs';
import { about, invalidArgument } from '../base/error.mjs';

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
const MAX_LEVELS = 200;

const WIRE_TYPES = { int: VARINT, bool: VARINT, float: FIXED_32, double: FIXED_64 };
const wireType = (kind) => WIRE_TYPES[kind] ?? BYTES;

/**
 * A repeated field: an array; of packed numbers, the given typed array, or their bytes if these are not aligned.
 */
export const many = (kind, Array) => ({ kind, Array });

const problem = (text, at) => about(invalidArgument('parseHloProto', `${text} at byte ${at}`), { isNoProto: true });

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.low = 0;
    this.high = 0;
  }

  /** Returns the next `length` bytes and moves past them. */
  take(length) {
    const end = this.at + length;
    if (end > this.bytes.length) throw problem('the message ends too early', this.at);
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  /** The 64 bits of a varint: in low and high. */
  varint() {
    const { bytes } = this;
    const start = this.at;
    let [low, high] = [0, 0];
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= bytes.length) throw problem('the message ends too early', this.at);
      const byte = bytes[this.at++];
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift > 24) high |= shift < 32 ? bits >> (32 - shift) : bits << (shift - 32);
      if (byte >= 0x80) continue;
      this.low = low >>> 0;
      this.high = high >>> 0;
      return;
    }
    throw problem('an integer has more than ten bytes', start);
  }

  int() {
    this.varint();
    const { low, high } = this;
    if (high >= 0xffe00000) return (high - 2 ** 32) * 2 ** 32 + low; // from -2^53
    if (high < 0x200000) return high * 2 ** 32 + low;
    return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  }

  length() {
    const length = this.int();
    if (length >= 0 && length <= this.bytes.length) return Number(length);
    throw problem(`a length of ${length}`, this.at);
  }

  value(kind, level) {
    switch (kind) {
      case 'int': return this.int();
      case 'bool': return this.int() !== 0;
      case 'float': return new DataView(this.take(4).slice().buffer).getFloat32(0, true);
      case 'double': return new DataView(this.take(8).slice().buffer).getFloat64(0, true);
      case 'bytes': return this.take(this.length());
      case 'string': return textOfBytes(this.take(this.length()));
      default: return decode(this.take(this.length()), kind(), level + 1);
    }
  }

  skip(type) {
    if (type === VARINT) this.varint();
    else if (type === FIXED_64) this.take(8);
    else if (type === BYTES) this.take(this.length());
    else if (type === FIXED_32) this.take(4);
    else throw problem(`a field of wire type ${type}`, this.at);
  }
}

/** Returns the values of a packed field; those of a fixed size as a view of the bytes. */
function unpack(bytes, { kind, Array: TypedArray }) {
  if (kind === 'float' || kind === 'double') {
    if (bytes.length % TypedArray.BYTES_PER_ELEMENT) throw problem('a part of a number', 0);
    if (bytes.byteOffset % TypedArray.BYTES_PER_ELEMENT) return bytes;
    return new TypedArray(bytes.buffer, bytes.byteOffset, bytes.length / TypedArray.BYTES_PER_ELEMENT);
  }
  const reader = new Reader(bytes);
  if (TypedArray) return unpackVarints(reader, kind, TypedArray);
  const values = [];
  while (reader.at < bytes.length) values.push(reader.int());
  return values;
}

/** In an array of bytes, or of words of 32 or 64 bits. */
function unpackVarints(reader, kind, TypedArray) {
  const { bytes } = reader;
  let count = 0;
  for (let i = 0; i < bytes.length; i++) count += bytes[i] < 0x80 ? 1 : 0;
  const values = new TypedArray(count);
  const words = kind === 'bool' ? values : new Uint32Array(values.buffer);
  const stride = words.length / (count || 1);
  for (let at = 0; reader.at < bytes.length; at += stride) {
    reader.varint();
    words[at] = kind === 'bool' ? (reader.low | reader.high) !== 0 : reader.low;
    if (stride === 2) words[at + 1] = reader.high;
  }
  return values;
}

/** A repeated field may come in several pieces, packed or one by one; of typed ones, a list of these. */
function append(message, name, row, reader, type, level) {
  const { kind, Array: TypedArray } = row;
  const list = (message[name] ??= []);
  if (type !== BYTES || wireType(kind) === BYTES) {
    const start = reader.at;
    if (!TypedArray) return list.push(reader.value(kind, level));
    reader.skip(type);
    return list.push(unpack(reader.bytes.subarray(start, reader.at), row));
  }
  const piece = unpack(reader.take(reader.length()), row);
  if (TypedArray) return list.push(piece);
  for (const value of piece) list.push(value);
  return list.length;
}

/** The pieces of a typed field as one array. */
function joined(pieces, TypedArray) {
  if (pieces.length === 1) return pieces[0];
  const bytes = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(bytesOfView(piece), at);
    at += piece.byteLength;
  }
  return new TypedArray(bytes.buffer);
}

/**
 * @param {Uint8Array} bytes
 * @param {Record<number, [string, any]>} schema
 */
export function decode(bytes, schema, level = 0) {
  if (level > MAX_LEVELS) throw problem(`more than ${MAX_LEVELS} messages in each other`, 0);
  const reader = new Reader(bytes);
  const message = {};
  const inPieces = new Map();
  while (reader.at < bytes.length) {
    const tag = reader.int();
    if (tag < 8) throw problem('a field of number 0', reader.at);
    const type = Number(tag) & 7;
    const [name, kind] = schema[Math.floor(Number(tag) / 8)] ?? [];
    const single = kind?.kind ?? kind;
    const expected = wireType(single);
    if (!kind) reader.skip(type);
    else if (type !== expected && !(kind.kind && type === BYTES)) {
      throw problem(`${name} has wire type ${type}`, reader.at);
    } else if (kind.kind) {
      append(message, name, kind, reader, type, level);
      if (kind.Array) inPieces.set(name, kind.Array);
    } else message[name] = reader.value(kind, level);
  }
  for (const [name, TypedArray] of inPieces) message[name] = joined(message[name], TypedArray);
  return message;
}

/* ---- Writing ---- */

/** Pieces of at least this many bytes are not copied until all pieces are joined. */
const LARGE = 65536;

/** A growing array of bytes. Large pieces are not copied, so they must not change until `bytes` is read. */
class Sink {
  #pieces = [];
  #last = new Uint8Array(256); // the piece that grows
  #used = 0;
  length = 0;

  #room(more) {
    if (this.#used + more <= this.#last.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#last.length, this.#used + more));
    grown.set(this.#last.subarray(0, this.#used));
    this.#last = grown;
  }

  #byte(byte) {
    this.#last[this.#used++] = byte;
    this.length++;
  }

  put(bytes) {
    if (bytes.length < LARGE) {
      this.#room(bytes.length);
      this.#last.set(bytes, this.#used);
      this.#used += bytes.length;
    } else {
      this.#pieces.push(this.#last.subarray(0, this.#used), bytes);
      this.#last = new Uint8Array(256);
      this.#used = 0;
    }
    this.length += bytes.length;
  }

  /** @param {Sink} other */
  append(other) {
    for (const piece of other.#pieces) this.put(piece);
    this.put(other.#last.subarray(0, other.#used));
  }

  /** Negative ones take ten bytes. @param {number | bigint} value */
  varint(value) {
    const isSmall = typeof value === 'number' && Number.isSafeInteger(value);
    const low = isSmall ? value >>> 0 : Number(BigInt.asUintN(32, BigInt(value)));
    const high = isSmall ? Math.floor(value / 2 ** 32) >>> 0 : Number(BigInt.asUintN(32, BigInt(value) >> 32n));
    this.words(low, high);
  }

  /** The varint of 64 bits. */
  words(low, high) {
    let [rest, above] = [low, high];
    this.#room(10);
    while (above || rest > 127) {
      this.#byte((rest & 127) | 128);
      rest = ((rest >>> 7) | (above << 25)) >>> 0;
      above >>>= 7;
    }
    this.#byte(rest);
  }

  get bytes() {
    const all = new Uint8Array(this.length);
    let at = 0;
    for (const piece of [...this.#pieces, this.#last.subarray(0, this.#used)]) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }
}

const bytesOfView = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

function writeValue(sink, kind, value) {
  const delimited = (bytes) => {
    sink.varint(bytes.length);
    sink.put(bytes);
  };
  const nested = (inner) => {
    sink.varint(inner.length);
    sink.append(inner);
  };
  switch (kind) {
    case 'int': return sink.varint(value);
    case 'bool': return sink.varint(value ? 1 : 0);
    case 'float': return sink.put(bytesOfView(Float32Array.of(value)));
    case 'double': return sink.put(bytesOfView(Float64Array.of(value)));
    case 'bytes': return delimited(bytesOfView(value));
    case 'string': return delimited(bytesOfText(value));
    default: return nested(written(value, kind()));
  }
}

/** Writes numbers in one piece; floats of a typed array, and predicates, are copied as bytes. */
function packed(kind, values) {
  const sink = new Sink();
  if (!ArrayBuffer.isView(values)) for (const value of values) writeValue(sink, kind, value);
  else if (kind !== 'int') sink.put(bytesOfView(values));
  else packIntegers(sink, values);
  return sink;
}

/** Of 32 or 64 bits. */
function packIntegers(sink, values) {
  const words = new Int32Array(values.buffer, values.byteOffset, values.byteLength / 4);
  const isSigned = /^(Int|BigInt)/.test(values.constructor.name);
  const stride = values.BYTES_PER_ELEMENT / 4;
  for (let i = 0; i < words.length; i += stride) {
    const high = stride === 2 ? words[i + 1] : isSigned ? words[i] >> 31 : 0;
    sink.words(words[i] >>> 0, high >>> 0);
  }
}

function writeField(sink, number, kind, value) {
  const tag = (type) => sink.varint(number * 8 + type);
  if (!kind.kind) {
    tag(wireType(kind));
    writeValue(sink, kind, value);
  } else if (wireType(kind.kind) === BYTES) {
    for (const item of value) writeField(sink, number, kind.kind, item);
  } else if (value.length) {
    const piece = packed(kind.kind, value);
    tag(BYTES);
    sink.varint(piece.length);
    sink.append(piece);
  }
}

/** Encodes a message in a separate sink. */
function written(message, schema) {
  const sink = new Sink();
  for (const [number, [name, kind]] of Object.entries(schema)) {
    if (message[name] !== undefined) writeField(sink, Number(number), kind, message[name]);
  }
  return sink;
}

/**
 * The bytes of a message; fields that are undefined are left out.
 * @param {Record<string, any>} message
 * @param {Record<number, [string, any]>} schema
 * @returns {Uint8Array}
 */
export const encode = (message, schema) => written(message, schema).bytes;
