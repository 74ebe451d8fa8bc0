/** Makes .npy files: file() returns the bytes of one, its header padded as NumPy pads it. */
export function file(header, data, version = 1) {
  const start = version === 1 ? 10 : 12;
  const text = header.padEnd(Math.ceil((start + header.length + 1) / 64) * 64 - start - 1) + '\n';
  const bytes = new Uint8Array(start + text.length + data.byteLength);
  bytes.set([0x93, ...Buffer.from('NUMPY'), version, 0, text.length & 255, text.length >> 8]);
  bytes.set(Buffer.from(text, 'latin1'), start);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), start + text.length);
  return bytes;
}

/** A header's text, for a dtype such as '<f4' and a shape such as '(2, 3)'. */
export const header = (descr, shape, fortran = 'False') =>
  `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;
