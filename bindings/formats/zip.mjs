/** Writes zips, as NumPy's .npz files are, without compression; unzip.mjs reads. Source: PKWARE's APPNOTE.TXT */
import { invalidArgument } from '../base/error.mjs';

export const END = 0x06054b50;
export const CENTRAL = 0x02014b50;
export const LOCAL = 0x04034b50;
export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

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
  for (const { name, content } of files) {
    const label = new TextEncoder().encode(name);
    const header = new DataView(new ArrayBuffer(46));
    header.setUint32(0, CENTRAL, true);
    [20, 20, 0x800, 0, 0, 0x21].forEach((field, i) => header.setUint16(4 + 2 * i, field, true));
    header.setUint32(16, crc32(content), true);
    header.setUint32(20, content.length, true);
    header.setUint32(24, content.length, true);
    header.setUint16(28, label.length, true);
    header.setUint32(42, at, true);
    const local = new Uint8Array(30);
    viewOf(local).setUint32(0, LOCAL, true);
    local.set(new Uint8Array(header.buffer, 6, 24), 4);
    directory.push(new Uint8Array(header.buffer), label);
    parts.push(local, label, content);
    at += 30 + label.length + content.length;
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

/** Joins byte arrays. @param {Uint8Array[]} parts */
export function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
