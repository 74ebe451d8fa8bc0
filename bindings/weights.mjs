/**
 * Weights from files and into them: NumPy's .npy and .npz, and safetensors. A file is read into
 * literals, which are arguments of programs; the element types stay what they are.
 * Sources: numpy.lib.format; github.com/huggingface/safetensors (format); PKWARE's APPNOTE.TXT
 */
import { guarded } from './boundary.mjs';
import { describe, invalidArgument, XlaError } from './error.mjs';
import { isLiteral, Literal } from './literal.mjs';
import { readNpy as npyOf, writeNpy as npyBytes } from './npy.mjs';
import { checkOptions, kind, string } from './options.mjs';
import { Shape } from './shape.mjs';
import { contentOf } from './sources.mjs';
import { ELEMENT_TYPES } from './types.mjs';

/**
 * @typedef {object} ReadOptions
 * @property {(loaded: number, total: number | undefined) => void} [onProgress] bytes so far, of all
 */

const READ_OPTIONS = {
  onProgress: kind('a function', (value) => (typeof value === 'function' ? value : undefined)),
};

/** The bytes of a source: bytes, a Blob, a Response, a URL; in Node also a path. */
async function bytesOf(operation, source, options) {
  const { onProgress } = checkOptions(operation, options, READ_OPTIONS);
  const { content } = await contentOf(source, { operation, onProgress, isFile: true });
  return content;
}

/* ---- NumPy ---- */

/**
 * Reads a .npy file.
 * @param {any} source bytes, a Blob, a Response, a URL; in Node also a path
 * @param {ReadOptions & { elementType?: string }} [options] elementType: which of the types that
 *   NumPy keeps as raw bytes it is, such as 'bf16'
 * @returns {Promise<Literal>}
 */
export const readNpy = guarded(async (source, options) => {
  const { elementType, ...others } = checkOptions('readNpy', options, { ...READ_OPTIONS, elementType: string });
  return npyOf(await bytesOf('readNpy', source, others), elementType);
}, 'readNpy');

/** @param {Literal} literal @returns {Uint8Array} a .npy file */
export const writeNpy = guarded((literal) => npyBytes(checked('writeNpy', literal)), 'writeNpy');

/**
 * Reads a .npz file: names of arrays (without ".npy") to literals.
 * @param {any} source as of readNpy()
 * @param {ReadOptions} [options]
 * @returns {Promise<Record<string, Literal>>}
 */
export const readNpz = guarded(async (source, options) => {
  const bytes = await bytesOf('readNpz', source, options);
  const arrays = Object.create(null);
  for (const { name, content } of await unzip(bytes)) {
    if (name.endsWith('.npy')) arrays[name.slice(0, -4)] = npyOf(content);
  }
  return arrays;
}, 'readNpz');

/** @param {Record<string, Literal>} arrays @returns {Uint8Array} a .npz file, not compressed */
export const writeNpz = guarded((arrays) => zip(entriesOf('writeNpz', arrays).map(([name, literal]) =>
  ({ name: `${name}.npy`, content: npyBytes(checked('writeNpz', literal)) }))), 'writeNpz');

function entriesOf(operation, named) {
  if (named !== null && typeof named === 'object') return Object.entries(named);
  throw invalidArgument(operation, `needs an object of Literals by name; got ${describe(named)}`);
}

function checked(operation, value) {
  if (isLiteral(value) && value.shape.isArray) return value.inLayout(null);
  throw invalidArgument(operation, `needs Literals of arrays; got ${describe(value)}`);
}

/* ---- Zip ---- */

const END = 0x06054b50;
const END_64 = 0x06064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const bad = (problem) => invalidArgument('readNpz', problem);
const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Files in a zip, by its central directory. */
async function unzip(bytes) {
  const view = viewOf(bytes);
  const { count, start } = directoryOf(view);
  const files = [];
  for (let i = 0, at = start; i < count; i++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) throw bad('the zip is damaged');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((k) => view.getUint16(at + k, true));
    const entry = {
      method: view.getUint16(at + 10, true),
      packed: view.getUint32(at + 20, true), size: view.getUint32(at + 24, true),
      at: view.getUint32(at + 42, true),
    };
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    readExtra(view, at + 46 + nameLength, extraLength, entry);
    files.push({ name, content: await contentOfEntry(bytes, view, name, entry) });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return files;
}

function directoryOf(view) {
  const last = view.byteLength - 22;
  for (let at = last; at >= 0 && at > last - 66000; at--) {
    if (view.getUint32(at, true) !== END) continue;
    const [count, start] = [view.getUint16(at + 10, true), view.getUint32(at + 16, true)];
    if (start !== 0xffffffff && count !== 0xffff) return { count, start };
    const far = at >= 20 ? Number(view.getBigUint64(at - 12, true)) : -1;
    if (far < 0 || far + 56 > view.byteLength || view.getUint32(far, true) !== END_64) break;
    return { count: Number(view.getBigUint64(far + 32, true)), start: Number(view.getBigUint64(far + 48, true)) };
  }
  throw bad('this is no .npz file: a zip');
}

/** Sizes beyond 4 GB, or that NumPy wrote so all the same. */
function readExtra(view, start, length, entry) {
  for (let at = start; at + 4 <= start + length && at + 4 <= view.byteLength;) {
    const size = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === 1) {
      let field = at + 4;
      for (const name of ['size', 'packed', 'at']) {
        if (entry[name] !== 0xffffffff || field + 8 > view.byteLength) continue;
        entry[name] = Number(view.getBigUint64(field, true));
        field += 8;
      }
    }
    at += 4 + size;
  }
}

async function contentOfEntry(bytes, view, name, { method, packed, size, at }) {
  if (at + 30 > bytes.length || view.getUint32(at, true) !== LOCAL) throw bad('the zip is damaged');
  const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  if (start + packed > bytes.length) throw bad(`the zip ends within ${name}`);
  const content = bytes.subarray(start, start + packed);
  if (method === 0) return content;
  if (method !== 8) throw bad(`${name} is compressed in a way that is not known (${method})`);
  try {
    const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    const inflated = new Uint8Array(await new Response(stream).arrayBuffer());
    if (inflated.length === size) return inflated;
  } catch (error) {
    throw new XlaError('INVALID_ARGUMENT', `readNpz: ${name} is damaged: ${error.message}`, { cause: error });
  }
  throw bad(`${name} is damaged`);
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) value = CRC[(value ^ bytes[i]) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Stored, with plain headers: up to 4 GB. */
function zip(files) {
  const parts = [];
  const directory = [];
  let at = 0;
  const put = (list, bytes) => {
    list.push(bytes);
    return bytes.length;
  };
  for (const { name, content } of files) {
    const label = new TextEncoder().encode(name);
    const header = new DataView(new ArrayBuffer(46));
    const fields = [20, 0x800, 0, 0, 0x21];
    header.setUint32(0, CENTRAL, true);
    header.setUint16(4, 20, true);
    fields.forEach((field, i) => header.setUint16(6 + 2 * i, field, true));
    header.setUint32(16, crc32(content), true);
    header.setUint32(20, content.length, true);
    header.setUint32(24, content.length, true);
    header.setUint16(28, label.length, true);
    header.setUint32(42, at, true);
    const local = new Uint8Array(30);
    viewOf(local).setUint32(0, LOCAL, true);
    local.set(new Uint8Array(header.buffer, 6, 24), 4);
    directory.push(new Uint8Array(header.buffer), label);
    at += put(parts, local) + put(parts, label) + put(parts, content);
  }
  const size = directory.reduce((sum, bytes) => sum + bytes.length, 0);
  if (at + size > 0xffffffff) throw invalidArgument('writeNpz', 'a .npz file holds at most 4 GB');
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, END, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, at, true);
  return joined([...parts, ...directory, new Uint8Array(end.buffer)]);
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/* ---- Safetensors ---- */

const SAFETENSORS = {
  BOOL: 'pred', U8: 'u8', I8: 's8', F8_E5M2: 'f8e5m2', F8_E4M3: 'f8e4m3fn', F8_E8M0: 'f8e8m0fnu',
  I16: 's16', U16: 'u16', F16: 'f16', BF16: 'bf16', I32: 's32', U32: 'u32', F32: 'f32', C64: 'c64',
  F64: 'f64', I64: 's64', U64: 'u64',
};
const MOST_HEADER = 100_000_000;

/**
 * Reads a safetensors file: names to literals, which lie in the file's own memory where they can.
 * @param {any} source as of readNpy()
 * @param {ReadOptions} [options]
 * @returns {Promise<Record<string, Literal>>}
 */
export const readSafetensors = guarded(async (source, options) => {
  const bytes = await bytesOf('readSafetensors', source, options);
  const fail = (problem) => invalidArgument('readSafetensors', problem);
  const length = bytes.length >= 8 ? Number(viewOf(bytes).getBigUint64(0, true)) : Infinity;
  if (length > MOST_HEADER || length > bytes.length - 8) throw fail('this is no safetensors file');
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  } catch (error) {
    throw fail(`the header is no JSON: ${error.message}`);
  }
  const tensors = Object.create(null);
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    tensors[name] = tensorOf(name, entry, bytes.subarray(8 + length), fail);
  }
  return tensors;
}, 'readSafetensors');

function tensorOf(name, { dtype, shape: sizes, data_offsets: offsets } = {}, data, fail) {
  const elementType = SAFETENSORS[dtype];
  if (!elementType) throw fail(`${name}: dtype ${describe(dtype)} has no XLA element type`);
  const [start, end] = Array.isArray(offsets) ? offsets : [];
  const shape = Shape.array(elementType, sizes);
  if (!(start >= 0 && end <= data.length && end - start === shape.byteSize)) {
    throw fail(`${name}: ${describe(offsets)} is no place of ${shape}`);
  }
  const { Array: Natural } = ELEMENT_TYPES.get(elementType);
  const own = data.subarray(start, end);
  const isAligned = own.byteOffset % Natural.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset } = isAligned ? own : new Uint8Array(own);
  return new Literal(shape, new Natural(buffer, byteOffset, own.length / Natural.BYTES_PER_ELEMENT));
}

/**
 * @param {Record<string, Literal>} tensors
 * @param {Record<string, string>} [metadata]
 * @returns {Uint8Array} a safetensors file
 */
export const writeSafetensors = guarded((tensors, metadata) => {
  const names = new Map(Object.entries(SAFETENSORS).map(([dtype, name]) => [name, dtype]));
  const header = metadata ? { __metadata__: metadata } : {};
  const parts = [];
  let at = 0;
  for (const [name, given] of entriesOf('writeSafetensors', tensors)) {
    const { shape, data } = checked('writeSafetensors', given);
    const dtype = names.get(shape.elementType);
    if (!dtype) throw invalidArgument('writeSafetensors', `${name}: safetensors has no ${shape.elementType}`);
    header[name] = { dtype, shape: [...shape.dimensions], data_offsets: [at, at + data.byteLength] };
    parts.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    at += data.byteLength;
  }
  const text = JSON.stringify(header);
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((bytes.length + 8) / 8) * 8 - 8).fill(32);
  padded.set(bytes);
  const length = new Uint8Array(8);
  viewOf(length).setBigUint64(0, BigInt(padded.length), true);
  return joined([length, padded, ...parts]);
}, 'writeSafetensors');
