/**
 * Reads GGUF, the files of llama.cpp: metadata at once, and tensors on demand.
 * Source: github.com/ggml-org/ggml (docs/gguf.md)
 */
import { invalidArgument, XlaError } from '../base/error.mjs';
import { checkOptions, string } from '../base/options.mjs';
import { rangesOf } from '../host/ranges.mjs';
import { Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES, perByte } from '../values/types.mjs';
import { otherFormatAdvice } from './foreign.mjs';
import { BLOCKS, dequantized, partsOf } from './gguf_blocks.mjs';

/** The types of tensors, by their numbers. Those without blocks are element types of XLA. */
const PLAIN = { 0: 'f32', 1: 'f16', 24: 's8', 25: 's16', 26: 's32', 27: 's64', 28: 'f64', 30: 'bf16' };
const QUANTIZED = { 2: 'Q4_0', 3: 'Q4_1', 6: 'Q5_0', 7: 'Q5_1', 8: 'Q8_0', 12: 'Q4_K', 13: 'Q5_K', 14: 'Q6_K' };
const UNREAD = {
  9: 'Q8_1', 10: 'Q2_K', 11: 'Q3_K', 15: 'Q8_K', 16: 'IQ2_XXS', 17: 'IQ2_XS', 18: 'IQ3_XXS', 19: 'IQ1_S', 20: 'IQ4_NL',
  21: 'IQ3_S', 22: 'IQ2_S', 23: 'IQ4_XS', 29: 'IQ1_M', 34: 'TQ1_0', 35: 'TQ2_0', 39: 'MXFP4',
};
const ALIGNMENT = 32;
const FIRST_BYTES = 2 ** 18, MAX_HEADER = 2 ** 30;
const MAX_ENTRIES = 2 ** 24; // of metadata and tensors; a longer list is no header

/** Thrown when the bytes read so far end before the header does. */
class Short extends Error {}

/** Reads numbers and strings, one after the other. */
class Reader {
  #bytes;
  #view;
  at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  number(kind, size) {
    const at = this.#skip(size);
    return this.#view[`get${kind}`](at, true);
  }

  /** Reads a count or an offset; those beyond 2^53 are refused. */
  size() {
    return Number(this.number('BigUint64', 8));
  }

  string() {
    const length = this.size();
    const at = this.#skip(length);
    return new TextDecoder().decode(this.#bytes.subarray(at, at + length));
  }

  #skip(size) {
    const { at } = this;
    if (size > this.#bytes.length - at) throw new Short();
    this.at += size;
    return at;
  }
}

const NUMBERS = {
  0: ['Uint8', 1], 1: ['Int8', 1], 2: ['Uint16', 2], 3: ['Int16', 2], 4: ['Uint32', 4], 5: ['Int32', 4], 6: ['Float32', 4],
  10: ['BigUint64', 8], 11: ['BigInt64', 8], 12: ['Float64', 8],
};
const BOOL = 7, STRING = 8, ARRAY = 9;
/* Files have arrays of numbers or strings, and ggml at most 4 dimensions; where there are many more, the file is damaged. */
const MAX_NESTED = 8, MAX_DIMENSIONS = 8;

function readValue(reader, type, fail, depth = 0) {
  if (NUMBERS[type]) return reader.number(...NUMBERS[type]);
  if (type === BOOL) return reader.number('Uint8', 1) !== 0;
  if (type === STRING) return reader.string();
  if (type !== ARRAY || depth > MAX_NESTED) throw fail(`a value of the metadata has the unknown type ${type}`);
  const element = reader.number('Uint32', 4), count = reader.size();
  const values = [];
  for (let i = 0; i < count; i++) values.push(readValue(reader, element, fail, depth + 1));
  return values;
}

function readEntry(reader, fail) {
  const name = reader.string();
  const rank = reader.number('Uint32', 4);
  if (rank > MAX_DIMENSIONS) throw fail(`${name} has ${rank} dimensions`);
  const dimensions = Array.from({ length: rank }, () => reader.size()).reverse(); // the first moves fastest
  const number = reader.number('Uint32', 4);
  return { name, dimensions, number, offset: reader.size() };
}

/** Reads the header from the first bytes of a file. Throws Short where they end before it does. */
function readHeader(bytes, fail) {
  const reader = new Reader(bytes);
  if (reader.number('Uint32', 4) !== 0x46554747) throw fail(`this is ${otherFormatAdvice(bytes, 'openGguf') ?? 'no GGUF file'}`);
  const version = reader.number('Uint32', 4);
  if (version !== 2 && version !== 3) {
    throw fail(version > 0xffff ? 'the file is big-endian, which is not read' : `GGUF version ${version} is not read; 2 and 3 are`);
  }
  const tensorCount = reader.size(), valueCount = reader.size();
  if (tensorCount > MAX_ENTRIES || valueCount > MAX_ENTRIES) throw fail('its header is damaged');
  const metadata = Object.create(null);
  for (let i = 0; i < valueCount; i++) {
    const key = reader.string();
    metadata[key] = readValue(reader, reader.number('Uint32', 4), fail);
  }
  const entries = [];
  for (let i = 0; i < tensorCount; i++) entries.push(readEntry(reader, fail));
  const alignment = Number(metadata['general.alignment'] ?? ALIGNMENT);
  if (!(alignment > 0) || alignment % 8) throw fail(`general.alignment is ${alignment}`);
  return { metadata, entries, start: Math.ceil(reader.at / alignment) * alignment };
}

async function headerOf(file, fail) {
  for (let length = FIRST_BYTES; ; length *= 4) {
    const bytes = await file.read(0, Math.min(length, file.size));
    try {
      return readHeader(bytes, fail);
    } catch (error) {
      if (!(error instanceof Short)) throw error;
      if (length >= Math.min(file.size, MAX_HEADER)) throw fail('the file ends within its header: is it whole?');
    }
  }
}

/** Checks an entry of the header: its shape, its type, and the position of its bytes. */
function tensorOf({ name, dimensions, number, offset }, start, size, fail) {
  const type = PLAIN[number] ?? QUANTIZED[number] ?? UNREAD[number] ?? `type ${number}`;
  const shape = Shape.array(PLAIN[number] ?? 'f32', dimensions);
  const elements = dimensions.reduce((a, b) => a * b, 1);
  const block = BLOCKS[type];
  if (block && dimensions.at(-1) % block.size) throw fail(`${name}: a row of ${dimensions.at(-1)} is no whole number of blocks of ${block.size}`);
  const byteSize = block ? (elements / block.size) * block.bytes : elements * (ELEMENT_TYPES.get(PLAIN[number])?.bytes ?? 0);
  const begin = start + offset;
  if (!(begin + byteSize <= size)) throw fail(`${name} would end at byte ${begin + byteSize} of a file of ${size}: is it whole?`);
  return { name, type, shape: dimensions, byteSize, literalShape: shape, begin };
}

const READ_OPTIONS = { elementType: string };

/** An open GGUF file: openGguf() makes it. */
export class GgufFile {
  #file;
  #tensors;

  constructor(file, metadata, tensors) {
    this.#file = file;
    this.#tensors = new Map(tensors.map((tensor) => [tensor.name, tensor]));
    /** The file's values by key, such as general.architecture; 64-bit integers are BigInts. */
    this.metadata = metadata;
    /** By name: { name, type, shape, byteSize }; type is an element type such as 'f16', or one of blocks such as 'Q4_K'. */
    this.tensors = Object.fromEntries(tensors.map(({ name, type, shape, byteSize }) => [name, { name, type, shape, byteSize }]));
    Object.freeze(this);
  }

  async #bytesOf(operation, name) {
    const tensor = this.#tensors.get(name);
    if (!tensor) throw invalidArgument(operation, `the file has no tensor ${name}`);
    if (!BLOCKS[tensor.type] && !ELEMENT_TYPES.has(tensor.type)) {
      throw new XlaError('UNIMPLEMENTED', `${operation}: ${name} is of ${tensor.type}, which is not read; ` +
        `${Object.values(QUANTIZED).join(', ')} and unquantised types are: quantise the model to one of these`);
    }
    const { begin, byteSize } = tensor;
    return { tensor, bytes: await this.#file.read(begin, begin + byteSize) };
  }

  /**
   * Reads a tensor as an array; blocks become floats.
   * @param {string} name
   * @param {object} [options]
   * @param {string} [options.elementType] 'f32' (of blocks the default), 'f16', 'bf16', ...; by default the file's own
   * @returns {Promise<Literal>}
   */
  async read(name, options) {
    const { elementType } = checkOptions('read', options, READ_OPTIONS);
    const { tensor, bytes } = await this.#bytesOf('read', name);
    const literal = BLOCKS[tensor.type] ? new Literal(tensor.literalShape, dequantized(tensor.type, bytes)) : plain(tensor, bytes);
    return elementType ? literal.convert(elementType) : literal;
  }

  /**
   * Reads a tensor of blocks in parts, for programs that dequantise: element i of a row is
   * quants[i] * scales[i / blockSize] + mins[i / blockSize], in f32.
   * @param {string} name
   * @returns {Promise<{ quants: Literal, scales: Literal, mins?: Literal, blockSize: number }>} quants are integers of the
   *   tensor's shape; scales and mins have one entry for each block of a row
   */
  async readBlocks(name) {
    const { tensor: { type, shape }, bytes } = await this.#bytesOf('readBlocks', name);
    if (!BLOCKS[type]) throw invalidArgument('readBlocks', `${name} is of ${type}, which has no blocks: read() reads it`);
    const { quants, scales, mins, quantType, scaleType, blockSize } = partsOf(type, bytes);
    const perBlock = [...shape.slice(0, -1), shape.at(-1) / blockSize];
    const floats = (values) => new Literal(Shape.array(scaleType, perBlock), values);
    const quantShape = Shape.array(quantType, shape);
    const isPacked = perByte(ELEMENT_TYPES.get(quantType)) > 1;
    return { quants: isPacked ? Literal.fromPacked(quants, quantShape) : new Literal(quantShape, quants), scales: floats(scales), ...(mins && { mins: floats(mins) }), blockSize };
  }

  /** Closes the file; tensors cannot be read any more. */
  async close() {
    await this.#file.close();
  }
}

function plain({ type, literalShape }, bytes) {
  const { Array: Natural } = ELEMENT_TYPES.get(type);
  const own = bytes.byteOffset % Natural.BYTES_PER_ELEMENT === 0 ? bytes : new Uint8Array(bytes);
  return new Literal(literalShape, new Natural(own.buffer, own.byteOffset, own.byteLength / Natural.BYTES_PER_ELEMENT));
}

/**
 * Opens a GGUF file: reads its header only.
 * @param {any} source bytes, a Blob, a URL whose server knows ranges; in Node also a path
 * @returns {Promise<GgufFile>}
 */
export async function openGguf(source) {
  const fail = (problem) => invalidArgument('openGguf', problem);
  const file = await rangesOf(source, 'openGguf');
  try {
    const { metadata, entries, start } = await headerOf(file, fail);
    return new GgufFile(file, metadata, entries.map((entry) => tensorOf(entry, start, file.size, fail)));
  } catch (error) {
    await file.close();
    throw error;
  }
}
