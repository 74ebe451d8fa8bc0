/** Decompresses gzip and deflate, up to a limit of bytes. */
import { invalidArgument, isXlaError, XlaError } from '../base/error.mjs';
import { nodeModule } from '../host/loader.mjs';
import { streamed } from '../host/sources.mjs';
import { startsWith } from './magic.mjs';

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
