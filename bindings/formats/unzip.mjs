/** Reads zips, as NumPy's .npz files are. Source: PKWARE's APPNOTE.TXT */
import { invalidArgument, XlaError } from '../base/error.mjs';
import { otherFormatAdvice } from './foreign.mjs';
import { damage, inflate, unpackLimit } from './inflate.mjs';
import { CENTRAL, END, LOCAL, viewOf } from './zip.mjs';

const END_64 = 0x06064b50;
const bad = (problem) => invalidArgument('readNpz', problem);

/**
 * Files in a zip, by its central directory.
 * @param {Uint8Array} bytes
 * @param {number} [maxBytes] see unpackLimit(): of all files together
 */
export async function unzip(bytes, maxBytes) {
  const view = viewOf(bytes);
  const { count, start } = directoryOf(view, bytes);
  const files = [];
  const limit = unpackLimit('readNpz', bytes.length, maxBytes);
  let rest = bytes.length; // that no file has
  let left = limit.maxBytes;
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
    if ((rest -= entry.packed) < 0) throw bad('the zip is damaged');
    const content = await contentOfEntry(bytes, view, name, entry, { maxBytes: left, refuse: () => limit.refuse(name) });
    left -= content.length;
    files.push({ name, content });
    at += 46 + nameLength + extraLength + commentLength;
  }
  return files;
}

function directoryOf(view, bytes) {
  const last = view.byteLength - 22;
  for (let at = last; at >= 0 && at > last - 66000; at--) {
    if (view.getUint32(at, true) !== END) continue;
    const [count, start] = [view.getUint16(at + 10, true), view.getUint32(at + 16, true)];
    if (start !== 0xffffffff && count !== 0xffff) return { count, start };
    const far = at >= 20 ? Number(view.getBigUint64(at - 12, true)) : -1;
    if (far < 0 || far + 56 > view.byteLength || view.getUint32(far, true) !== END_64) break;
    return { count: Number(view.getBigUint64(far + 32, true)), start: Number(view.getBigUint64(far + 48, true)) };
  }
  throw bad(`this is ${otherFormatAdvice(bytes, 'readNpz') ?? 'no .npz file: a zip'}`);
}

/** Reads sizes in 64 bits: those beyond 4 GB, and smaller ones that NumPy writes in this form. */
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

async function contentOfEntry(bytes, view, name, { method, packed, size, at }, limit) {
  if (at + 30 > bytes.length || view.getUint32(at, true) !== LOCAL) throw bad('the zip is damaged');
  const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  if (start + packed > bytes.length) throw bad(`the zip ends within ${name}`);
  const content = bytes.subarray(start, start + packed);
  if (packed > limit.maxBytes) throw limit.refuse();
  if (method === 0) return content;
  if (method !== 8) throw bad(`${name} is compressed in a way that is not known (${method})`);
  try {
    const onProgress = (loaded) => {
      if (loaded > size) throw new RangeError('too long');
    };
    const inflated = await inflate(content, 'deflate-raw', size, { ...limit, onProgress });
    if (inflated.length === size) return inflated;
  } catch (error) {
    if (error instanceof XlaError) throw error;
    throw new XlaError('INVALID_ARGUMENT', `readNpz: ${name} is ${damage(error)}`, { cause: error });
  }
  throw bad(`${name} is damaged`);
}
