/** Reads parts of a file: of bytes, a Blob, an address, in Node of a path. */
import { invalidArgument, isXlaError, XlaError } from '../base/error.mjs';
import { importNode } from './loader.mjs';
import { contentOf, isOnDisk, isPath, systemReason } from './sources.mjs';

/**
 * @typedef {object} Ranges
 * @property {number} size bytes of the file
 * @property {(start: number, end: number) => Promise<Uint8Array>} read fails with DATA_LOSS if the file is shorter
 * @property {() => Promise<void>} close
 */

/**
 * Opens a file for reading parts on demand. A server without range requests sends all of it at once.
 * @param {any} source bytes, a Blob, a Response, a URL; in Node also a path
 * @param {string} operation for errors
 * @returns {Promise<Ranges>}
 */
export async function rangesOf(source, operation) {
  const given = await source;
  const address = typeof given === 'string' ? given : given?.href;
  if (typeof address === 'string') {
    return checked(await (isOnDisk(address) ? rangesOnDisk(address, operation) : rangesOfServer(address, operation)), operation);
  }
  if (typeof given?.slice === 'function' && typeof given.arrayBuffer === 'function') return checked(rangesOfBlob(given), operation);
  const { content } = await contentOf(given, { operation, isFile: true });
  return checked(rangesOfBytes(content), operation);
}

function checked({ size, read, close = async () => {} }, operation) {
  return {
    size, close,
    async read(start, end) {
      if (end > size) {
        throw new XlaError('DATA_LOSS', `${operation}: bytes ${start} to ${end} are wanted of a file of ${size}: is it whole?`);
      }
      return read(start, end);
    },
  };
}

const rangesOfBytes = (bytes) => ({ size: bytes.length, read: async (start, end) => bytes.subarray(start, end) });

const rangesOfBlob = (blob) =>
  ({ size: blob.size, read: async (start, end) => new Uint8Array(await blob.slice(start, end).arrayBuffer()) });

async function rangesOnDisk(address, operation) {
  const { open } = await importNode('fs/promises');
  const failed = (error) => (isXlaError(error) ? error
    : new XlaError('NOT_FOUND', `${operation}: cannot read ${address}: ${systemReason(error)}`, { cause: error }));
  try {
    const file = await open(isPath(address) ? address : new URL(address));
    const { size } = await file.stat();
    return {
      size,
      async read(start, end) {
        const bytes = new Uint8Array(end - start);
        for (let at = 0; at < bytes.length;) {
          const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at);
          if (!bytesRead) throw new XlaError('DATA_LOSS', `${operation}: ${address} became shorter while it was read`);
          at += bytesRead;
        }
        return bytes;
      },
      close: () => file.close(),
    };
  } catch (error) {
    throw failed(error);
  }
}

/** Requests the first byte: the answer tells whether the server supports ranges, and the size of the file. */
async function rangesOfServer(address, operation) {
  const first = await requestRange(address, 'bytes=0-0', operation);
  const size = Number(/\/(\d+)$/.exec(first.headers.get('content-range') ?? '')?.[1]);
  if (first.status !== 206 || !Number.isSafeInteger(size)) {
    return rangesOfBytes((await contentOf(first, { operation, isFile: true })).content);
  }
  await first.body?.cancel();
  return {
    size,
    async read(start, end) {
      if (start === end) return new Uint8Array(0);
      const bytes = new Uint8Array(await (await requestRange(address, `bytes=${start}-${end - 1}`, operation)).arrayBuffer());
      if (bytes.length === end - start) return bytes;
      throw new XlaError('DATA_LOSS', `${operation}: ${address}: ${end - start} bytes were asked for, ${bytes.length} came`);
    },
  };
}

async function requestRange(address, range, operation) {
  try {
    const response = await fetch(address, { headers: { range } });
    if (response.ok) return response;
    throw new XlaError('NOT_FOUND', `${operation}: ${address}: the server answered ${response.status} ${response.statusText}`.trim());
  } catch (error) {
    if (isXlaError(error)) throw error;
    throw invalidArgument(operation, `${address}: ${error.message}`);
  }
}
