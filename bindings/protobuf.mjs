/**
 * Reads and writes protocol buffers by tables: as much of the wire format as HLO's messages use.
 *
 * A schema is an object from field number to [name, kind]. Kinds are 'int', 'bool', 'float',
 * 'double', 'string', 'bytes', a function that gives a schema (messages refer to each other), and
 * `many(kind)`. A message becomes an object with what is in it; fields that it lacks and fields
 * without a row are absent. Integers are numbers, or bigints beyond 2^53.
 * Source: protobuf.dev/programming-guides/encoding
 */
import { invalidArgument } from './error.mjs';

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;
const MOST_LEVELS = 200;

const WIRE_TYPES = { int: VARINT, bool: VARINT, float: FIXED_32, double: FIXED_64 };
const wireType = (kind) => WIRE_TYPES[kind] ?? BYTES;

/** A repeated field: an array, or of numbers that are packed, whatever typed array is given. */
export const many = (kind, Array) => ({ kind, Array });

const problem = (text, at) => invalidArgument('parseHloProto', `${text} at byte ${at}`);

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  /** The bytes up to `length` from here; goes on behind them. */
  take(length) {
    const end = this.at + length;
    if (end > this.bytes.length) throw problem('the message ends too early', this.at);
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  /** The low and the high 32 bits of a varint. */
  varint() {
    const start = this.at;
    let [low, high] = [0, 0];
    for (let shift = 0; shift < 70; shift += 7) {
      const [byte] = this.take(1);
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift > 24) high |= shift < 32 ? bits >> (32 - shift) : bits << (shift - 32);
      if (byte < 0x80) return [low >>> 0, high >>> 0];
    }
    throw problem('an integer has more than ten bytes', start);
  }

  bigint() {
    const [low, high] = this.varint();
    return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  }

  int() {
    const [low, high] = this.varint();
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
      case 'string': return new TextDecoder().decode(this.take(this.length()));
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

/** The values of a packed field, in a typed array: as they lie there if they have a fixed size. */
function unpack(bytes, { kind, Array: TypedArray }) {
  if (kind === 'float' || kind === 'double') {
    if (bytes.length % TypedArray.BYTES_PER_ELEMENT) throw problem('a part of a number', 0);
    const isAligned = bytes.byteOffset % TypedArray.BYTES_PER_ELEMENT === 0;
    const { buffer, byteOffset } = isAligned ? bytes : bytes.slice();
    return new TypedArray(buffer, byteOffset, bytes.length / TypedArray.BYTES_PER_ELEMENT);
  }
  const reader = new Reader(bytes);
  const values = [];
  const big = TypedArray?.name.startsWith('Big');
  while (reader.at < bytes.length) values.push(big ? reader.bigint() : reader.int());
  return TypedArray ? TypedArray.from(values) : values;
}

/** A repeated field may come in several pieces, packed or one by one. */
function append(message, name, row, reader, type, level) {
  const { kind, Array: TypedArray } = row;
  const packed = type === BYTES && wireType(kind) !== BYTES;
  const piece = packed ? unpack(reader.take(reader.length()), row) : [reader.value(kind, level)];
  const before = message[name];
  if (!TypedArray) (message[name] ??= []).push(...(kind === 'bool' ? piece.map(Boolean) : piece));
  else if (!before && packed) message[name] = piece;
  else message[name] = TypedArray.from([...(before ?? []), ...piece]);
}

/**
 * @param {Uint8Array} bytes
 * @param {Record<number, [string, any]>} schema
 */
export function decode(bytes, schema, level = 0) {
  if (level > MOST_LEVELS) throw problem(`more than ${MOST_LEVELS} messages in each other`, 0);
  const reader = new Reader(bytes);
  const message = {};
  while (reader.at < bytes.length) {
    const tag = reader.int();
    const type = Number(tag) & 7;
    const [name, kind] = schema[Math.floor(Number(tag) / 8)] ?? [];
    const single = kind?.kind ?? kind;
    const expected = wireType(single);
    if (!kind) reader.skip(type);
    else if (type !== expected && !(kind.kind && type === BYTES)) {
      throw problem(`${name} has wire type ${type}`, reader.at);
    } else if (kind.kind) append(message, name, kind, reader, type, level);
    else message[name] = reader.value(kind, level);
  }
  return message;
}

/* ---- Writing ---- */

/** Bytes that grow. */
class Sink {
  #bytes = new Uint8Array(256);
  length = 0;

  #room(more) {
    if (this.length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.length + more));
    grown.set(this.#bytes.subarray(0, this.length));
    this.#bytes = grown;
  }

  put(bytes) {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Negative ones take ten bytes. @param {number | bigint} value */
  varint(value) {
    let rest = BigInt.asUintN(64, BigInt(value));
    this.#room(10);
    do {
      const low = Number(rest & 127n);
      rest >>= 7n;
      this.#bytes[this.length++] = rest ? low | 128 : low;
    } while (rest);
  }

  get bytes() {
    return this.#bytes.subarray(0, this.length);
  }
}

const bytesOfView = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

function writeValue(sink, kind, value) {
  const delimited = (bytes) => {
    sink.varint(bytes.length);
    sink.put(bytes);
  };
  switch (kind) {
    case 'int': return sink.varint(value);
    case 'bool': return sink.varint(value ? 1 : 0);
    case 'float': return sink.put(bytesOfView(Float32Array.of(value)));
    case 'double': return sink.put(bytesOfView(Float64Array.of(value)));
    case 'bytes': return delimited(bytesOfView(value));
    case 'string': return delimited(new TextEncoder().encode(value));
    default: return delimited(encode(value, kind()));
  }
}

/** Numbers in one piece; in a typed array, floats as they lie there. */
function packed(kind, values) {
  const sink = new Sink();
  if (ArrayBuffer.isView(values) && wireType(kind) !== VARINT) sink.put(bytesOfView(values));
  else for (const value of values) writeValue(sink, kind, value);
  return sink.bytes;
}

function writeField(sink, number, kind, value) {
  const tag = (type) => sink.varint(number * 8 + type);
  if (!kind.kind) {
    tag(wireType(kind));
    writeValue(sink, kind, value);
  } else if (wireType(kind.kind) === BYTES) {
    for (const item of value) writeField(sink, number, kind.kind, item);
  } else if (value.length) {
    tag(BYTES);
    writeValue(sink, 'bytes', packed(kind.kind, value));
  }
}

/**
 * The bytes of a message; fields that are undefined are left out.
 * @param {Record<string, any>} message
 * @param {Record<number, [string, any]>} schema
 * @returns {Uint8Array}
 */
export function encode(message, schema) {
  const sink = new Sink();
  for (const [number, [name, kind]] of Object.entries(schema)) {
    if (message[name] !== undefined) writeField(sink, Number(number), kind, message[name]);
  }
  return sink.bytes;
}
