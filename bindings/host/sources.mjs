/** Reads the sources of client.load() and of readers of weights: text, bytes, Blobs, Responses, URLs and files. */
import { describe, invalidArgument, isXlaError, XlaError } from '../base/error.mjs';
import { importNode, nodeModule } from './loader.mjs';

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
export async function streamed(stream, { total, maxBytes = Infinity, refuse, onProgress }) {
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
