/**
 * The sources of client.load(): reads their bytes, detects their format, and describes the error for
 * bytes that are no program.
 */
import { describe, invalidArgument, isXlaError, XlaError } from '../base/error.mjs';
import { importNode, nodeModule } from './loader.mjs';

/* ---- Reading ---- */

/**
 * @param {any} source text, bytes, a Blob, a Response, a URL; in Node also a path
 * @returns {Promise<{ content: string | Uint8Array, name?: string }>}
 */
export async function contentOf(source, { operation = 'load', isFile = false, onProgress } = {}) {
  const given = await source;
  const here = isFile && typeof given === 'string' ? undefined : contentHere(given);
  if (here) return here;
  if (typeof given === 'string') return { content: await bytesAt(given, operation, onProgress), name: given };
  if (typeof given?.href === 'string') { // a URL, of jsdom's too
    return { content: await bytesAt(given.href, operation, onProgress), name: given.href };
  }
  if (typeof given?.arrayBuffer === 'function') {
    return { content: await bodyOf(given, operation, onProgress), name: given.name ?? given.url };
  }
  const what = isFile ? 'bytes' : 'text, bytes';
  throw invalidArgument(
    operation, `source must be ${what}, a Blob, a Response or a URL; got ${describe(given)}`);
}

/** Returns the content of text and bytes; undefined for other sources, which must be fetched. */
function contentHere(given) {
  if (typeof given === 'string') return isProgramText(given) ? { content: given } : undefined;
  if (ArrayBuffer.isView(given)) {
    return { content: new Uint8Array(given.buffer, given.byteOffset, given.byteLength) };
  }
  return isBuffer(given) ? { content: new Uint8Array(given) } : undefined;
}

/** As contentOf(), without waiting: of text and bytes; in Node of files, too. */
export function contentNow(source, operation) {
  const here = contentHere(source);
  if (here) return here;
  const address = typeof source === 'string' ? source : source?.href;
  if (typeof address !== 'string' || !isOnDisk(address)) {
    throw invalidArgument(operation, `source must be text or bytes, in Node also a path; got ${describe(source)}`);
  }
  try {
    const { buffer, byteOffset, byteLength } = nodeModule('fs').readFileSync(isPath(address) ? address : new URL(address));
    return { content: new Uint8Array(buffer, byteOffset, byteLength), name: address };
  } catch (error) {
    throw cannotRead(operation, address, error);
  }
}

const isBuffer = (value) =>
  ['ArrayBuffer', 'SharedArrayBuffer'].includes(Object.prototype.toString.call(value).slice(8, -1));

/** A program has several lines, or braces; the name of a file has neither. */
function isProgramText(text) {
  return text.length > 4096 || /[\n{]/.test(text) || !text.trim() || /^\s*HloModule\b/.test(text);
}

/** Returns the bytes of a Response or Blob. */
async function bodyOf(body, operation, onProgress) {
  if (body.ok === false) {
    const address = body.url ? `${body.url}: ` : '';
    const answer = `${body.status} ${body.statusText ?? ''}`.trim();
    throw new XlaError('NOT_FOUND', `${operation}: ${address}the server answered ${answer}`);
  }
  const stream = body.body ?? body.stream?.();
  if (!stream) return new Uint8Array(await body.arrayBuffer());
  const told = body.size ?? Number(body.headers?.get('content-length'));
  const total = Number.isSafeInteger(told) && told > 0 ? told : undefined;
  try {
    return await streamed(stream, { total, onProgress });
  } catch (error) {
    if (error instanceof XlaError || !(error instanceof TypeError)) throw error; // onProgress's, say
    throw new XlaError('DATA_LOSS', `${operation}: ${body.url ? `${body.url}: ` : ''}the data are cut off: ${
      error.message}`, { cause: error });
  }
}

const MAX_TRUSTED = 2 ** 28; // bytes that are allocated because a header says so

/**
 * Reads a stream into one array, which is allocated at once if the size is known: arrayBuffer() would need twice the
 * memory for a moment. The size of a header is a hint only, as it may be wrong.
 * @param {ReadableStream} stream
 * @param {object} how total: the stated number of bytes; maxBytes: the max number, beyond which `refuse` makes the error
 */
async function streamed(stream, { total, maxBytes = Infinity, refuse, onProgress }) {
  let bytes = new Uint8Array(Math.min(total ?? 65536, MAX_TRUSTED, maxBytes));
  let loaded = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return loaded * 2 < bytes.length ? bytes.slice(0, loaded) : bytes.subarray(0, loaded);
    const needed = loaded + value.length;
    if (needed > maxBytes) {
      await reader.cancel().catch(() => {});
      throw refuse();
    }
    if (needed > bytes.length) {
      const isNear = total >= needed && total <= 8 * bytes.length;
      const grown = new Uint8Array(isNear ? total : Math.min(Math.max(2 * bytes.length, needed), Math.max(maxBytes, needed)));
      grown.set(bytes.subarray(0, loaded));
      bytes = grown;
    }
    bytes.set(value, loaded);
    loaded = needed;
    onProgress?.(loaded, total);
  }
}

export const isPath = (address) => !/^[a-z][a-z\d+.-]+:/i.test(address);
export const isOnDisk = (address) => typeof process === 'object' && Boolean(process.versions?.node) &&
  (isPath(address) || address.startsWith('file:'));

async function bytesAt(address, operation, onProgress) {
  if (isOnDisk(address)) return readFileAt(address, operation);
  let response;
  try {
    response = await fetch(address);
  } catch (error) {
    const { location } = globalThis;
    const isOther = location?.origin && new URL(address, location.href).origin !== location.origin;
    throw new XlaError('NOT_FOUND', `${operation}: ${address}: ${error.message}${isOther ? `; a server of another origin must ` +
      'allow this page (CORS): the header Access-Control-Allow-Origin' : ''}`, { cause: error });
  }
  return bodyOf(response, operation, onProgress);
}

const REASONS = { ENOENT: 'there is no such file', EISDIR: 'it is a directory', EACCES: 'no permission' };

/** Returns the reason for which Node cannot read or write a file. */
export const systemReason = ({ code, message }) => REASONS[code] ?? code ?? message;

const cannotRead = (operation, address, error) => (isXlaError(error) ? error
  : new XlaError('NOT_FOUND', `${operation}: cannot read ${address}: ${systemReason(error)}`, { cause: error }));

async function readFileAt(address, operation) {
  const { readFile } = await importNode('fs/promises');
  try {
    const buffer = await readFile(isPath(address) ? address : new URL(address));
    return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  } catch (error) {
    throw cannotRead(operation, address, error);
  }
}

/* ---- Formats ---- */

const startsWith = (bytes, ...start) => start.every((byte, i) => bytes[i] === byte);
const ascii = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));

export const isGzip = (bytes) => startsWith(bytes, 0x1f, 0x8b);

const PIECE = 1 << 18, MAX_GROWTH = 1032; // bytes that one of deflate's can become
const GROWTH = 200, MIN_UNPACKED = 2 ** 20, MAX_UNPACKED = 2 ** 32;

/**
 * Returns the max size of decompressed data: by default 200 times the compressed size, at least 1 MB, at most 4 GiB.
 * @param {number} [maxBytes] the caller's own limit
 * @returns {{ maxBytes: number, refuse: (what: string) => XlaError }}
 */
export function unpackLimit(operation, packed, maxBytes) {
  const limit = maxBytes ?? Math.min(MAX_UNPACKED, Math.max(GROWTH * packed, MIN_UNPACKED));
  const refuse = (what) => new XlaError('RESOURCE_EXHAUSTED', `${operation}: ${what} would be more than ${limit} bytes ` +
    `when unpacked, which is the limit (maxBytes${maxBytes === undefined ? `; by default ${GROWTH} times the input` : ''})`);
  return { maxBytes: limit, refuse };
}

/**
 * @param {Uint8Array} bytes
 * @param {string} format of DecompressionStream
 * @param {number} size the stated number of bytes
 * @param {object} how maxBytes and refuse; onProgress, which ends it by throwing
 */
export function inflate(bytes, format, size, { maxBytes, refuse, onProgress }) {
  let at = 0;
  const pieces = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, at += PIECE));
    },
  });
  const total = Math.min(size, MAX_GROWTH * bytes.length);
  return streamed(pieces.pipeThrough(new DecompressionStream(format)), { total, maxBytes, refuse, onProgress });
}

/** Returns the reason for which data cannot be decompressed, in equal words on every host. */
export const damage = ({ message }) =>
  (/truncat|unexpected end|end of (file|stream|data)/i.test(message) ? 'cut off' : 'damaged') + `: ${message}`;

/**
 * @param {Uint8Array} bytes
 * @param {number} [maxBytes] see unpackLimit()
 */
export async function gunzip(bytes, maxBytes) {
  if (typeof DecompressionStream === 'undefined') {
    throw new XlaError('UNIMPLEMENTED', 'load: this is compressed by gzip, which this browser cannot undo');
  }
  const size = new DataView(bytes.buffer, bytes.byteOffset + Math.max(bytes.length - 4, 0));
  const told = size.byteLength < 4 ? 0 : size.getUint32(0, true); // the trailer's ISIZE, modulo 2^32
  const limit = unpackLimit('load', bytes.length, maxBytes);
  try {
    return await inflate(bytes, 'gzip', told, { ...limit, refuse: () => limit.refuse('the gzip data') });
  } catch (error) {
    if (error instanceof XlaError) throw error;
    throw invalidArgument('load', `the gzip data is ${damage(error)}`);
  }
}

/**
 * Programs in the flatbuffer that jax.export's serialize() writes (jax/_src/export/serialization.fbs): the first is
 * the exported function, each next one the vector-Jacobian product of the one before. Empty for other bytes.
 * The table's fields move between versions, so they are recognised by content. The program is a vector that begins like
 * MLIR bytecode, the platforms are a vector of names, and the vector-Jacobian product is a table with such a program.
 * @param {Uint8Array} bytes
 * @returns {{ program: Uint8Array, platforms: string[] | undefined }[]}
 */
export function programsOfJaxExport(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const programs = [];
  let table = bytes.length < 16 ? 0 : view.getUint32(0, true);
  while (table) {
    const fields = fieldsOf(view, table);
    const program = fields.map((field) => bytecodeAt(bytes, view, field)).find(Boolean);
    if (!program) break;
    programs.push({ program, platforms: fields.map((field) => namesAt(bytes, view, field)).find(Boolean) });
    table = fields.find((field) => field > table && // or a damaged file might lead in circles
      fieldsOf(view, field).some((inner) => bytecodeAt(bytes, view, inner))) ?? 0;
  }
  return programs;
}

/** Returns the targets of the fields of the flatbuffer table at `table`; none if there is no table. */
function fieldsOf(view, table) {
  const end = view.byteLength;
  if (table < 4 || table + 4 > end) return [];
  const layout = table - view.getInt32(table, true);
  if (layout < 0 || layout + 4 > end) return [];
  const size = view.getUint16(layout, true);
  if (size < 4 || size % 2 || layout + size > end) return [];
  const targets = [];
  for (let at = layout + 4; at < layout + size; at += 2) {
    const field = table + view.getUint16(at, true);
    if (field !== table && field + 4 <= end) targets.push(field + view.getUint32(field, true));
  }
  return targets;
}

/** The vector of bytes at `vector`, if it is MLIR bytecode. */
function bytecodeAt(bytes, view, vector) {
  if (vector + 8 > bytes.length) return undefined;
  const start = vector + 4, end = start + view.getUint32(vector, true);
  return end <= bytes.length && startsWith(bytes.subarray(start), 0x4d, 0x4c, 0xef, 0x52)
    ? bytes.subarray(start, end) : undefined;
}

const MAX_PLATFORMS = 16;

/** The vector of strings at `vector`, if each is a platform's name: letters in a string that a NUL ends. */
function namesAt(bytes, view, vector) {
  if (vector + 8 > bytes.length) return undefined;
  const count = view.getUint32(vector, true);
  if (count < 1 || count > MAX_PLATFORMS || vector + 4 + 4 * count > bytes.length) return undefined;
  const names = Array.from({ length: count }, (_, i) => {
    const at = vector + 4 + 4 * i, string = at + view.getUint32(at, true);
    if (string + 4 > bytes.length) return '';
    const end = string + 4 + view.getUint32(string, true);
    return end < bytes.length && bytes[end] === 0 ? ascii(bytes, string + 4, Math.min(end, string + 68)) : '';
  });
  return names.every((name) => /^[A-Za-z][A-Za-z_]*$/.test(name)) ? names : undefined;
}

/** As gunzip(), without waiting; in Node only. */
export function gunzipNow(bytes, maxBytes) {
  if (typeof globalThis.process?.versions?.node !== 'string') {
    throw new XlaError('UNIMPLEMENTED', 'loadSync: this is compressed by gzip, which a browser cannot undo at once: unpack it before, or use load()');
  }
  const limit = unpackLimit('loadSync', bytes.length, maxBytes);
  try {
    return new Uint8Array(nodeModule('zlib').gunzipSync(bytes, { maxOutputLength: limit.maxBytes }));
  } catch (error) {
    if (error.code === 'ERR_BUFFER_TOO_LARGE') throw limit.refuse('the gzip data');
    throw isXlaError(error) ? error : invalidArgument('loadSync', `the gzip data is ${damage(error)}`);
  }
}

/** Whether bytes are an HTML page, which is often the answer to a wrong address. */
export const isPage = (bytes) => /^\s*(<!doctype html|<html)/i.test(ascii(bytes, 0, 200));
export const NO_PAGE = 'was the address not found (404)?';

/** Known formats that are no programs, by their first bytes: the name, and a remedy. */
const OTHERS = [
  [(b) => startsWith(b, 0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59), 'a NumPy array', 'pass it as an argument: readNpy()'],
  [(b) => startsWith(b, 0x50, 0x4b, 3, 4) && /^[^]{0,60}\.npy/.test(ascii(b, 0, 90)), 'NumPy arrays in a zip (.npz)',
    'they are arguments: readNpz()'],
  [(b) => startsWith(b, 0x50, 0x4b, 3, 4), 'a zip', 'unpack it, and load the program in it ' +
    '(torch.export: export it by torch_xla; Keras: jax.export)'],
  [(b) => startsWith(b, 0x7b) === false && /^.{7}\0\{"/s.test(ascii(b, 0, 12)), 'a safetensors file', 'it holds weights: readSafetensors()'],
  [(b) => ascii(b, 4, 8) === 'TFL3', 'a TFLite file', 'export the model to StableHLO (tf.function: jax2tf, or ' +
    'tf.mlir.experimental; ai_edge)'],
  [isPage, 'an HTML page', NO_PAGE],
  [(b) => /^\s*[{[]\s*["\d]/.test(ascii(b, 0, 60)), 'JSON', 'load the program itself'],
  [(b) => startsWith(b, 0x80, 2) || startsWith(b, 0x80, 4) || startsWith(b, 0x80, 5), 'a Python pickle',
    'export the model to StableHLO instead'],
  [(b) => ascii(b, 0, 4) === 'GGUF', 'a GGUF file', 'it holds weights, not a program: openGguf() reads it'],
  [(b) => startsWith(b, 0x89, 0x48, 0x44, 0x46), 'an HDF5 file', 'export the model to StableHLO instead'],
  [(b) => startsWith(b, 0, 0x61, 0x73, 0x6d), 'WebAssembly', 'load the program that it was made from'],
  [(b) => startsWith(b, 0x42, 0x43, 0xc0, 0xde), 'LLVM bitcode', 'load the StableHLO that it was made from'],
  [isSavedModel, 'a TensorFlow SavedModel', 'export its function to StableHLO: f.experimental_get_compiler_ir(*arguments)' +
    "(stage='stablehlo_serialized') of a tf.function with jit_compile=True"],
  [isOnnx, 'an ONNX model', 'convert the model to StableHLO where it comes from'],
];

/** SavedModel: its schema's version, 1, and a graph whose description names what made or serves it. */
function isSavedModel(bytes) {
  return startsWith(bytes, 8, 1, 0x12) && /tensorflow|\bserve\b|saved_model/i.test(ascii(bytes, 0, 8192) + ascii(bytes, Math.max(0, bytes.length - 8192)));
}

/** ModelProto: ir_version first, then a producer or the graph's nodes with ONNX's field numbers. */
function isOnnx(bytes) {
  return startsWith(bytes, 8) && bytes[1] < 32 && [0x12, 0x1a, 0x3a, 0x42].includes(bytes[2]) &&
    /pytorch|onnx|tf2onnx|keras2onnx|skl2onnx|backend/i.test(ascii(bytes, 0, 64));
}

/** @returns {XlaError | undefined} the error for bytes that are no program */
export function refusal(bytes, name, operation = 'load') {
  if (!bytes.length) return invalidArgument(operation, `${name ?? 'the source'} is empty`);
  const found = OTHERS.find(([test]) => test(bytes));
  return found && invalidArgument(operation, `${name ? `${name} is` : 'this is'} ${found[1]}, not a program: ${found[2]}`);
}

/**
 * Names the format of a file that a function for weights cannot read, and the function that reads it, if there is one.
 * Undefined if the format is unknown.
 * @param {Uint8Array} bytes
 * @param {string} operation the function
 */
export function otherFormatAdvice(bytes, operation) {
  const found = OTHERS.find(([test]) => test(bytes));
  if (found) {
    const [reader] = /read\w+/.exec(found[2]) ?? [];
    return found[1] + (reader === operation ? ' that is cut off' : reader ? `: ${reader}() reads it` : '');
  }
  return startsWith(bytes, 0x4d, 0x4c, 0xef, 0x52) || programsOfJaxExport(bytes).length ? 'a program: load()' : undefined;
}
