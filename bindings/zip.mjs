/** Zip, as NumPy's .npz files are: reading, and writing without compression. Source: PKWARE's APPNOTE.TXT */
import { invalidArgument, XlaError } from './error.mjs';

const END = 0x06054b50;
const END_64 = 0x06064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const bad = (problem) => invalidArgument('readNpz', problem);
export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Files in a zip, by its central directory. @param {Uint8Array} bytes */
export async function unzip(bytes) {
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

/** A zip of files that are stored, with plain headers: up to 4 GB. @param {{ name: string, content: Uint8Array }[]} files */
export function zip(files) {
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

/** One after the other. @param {Uint8Array[]} parts */
export function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
