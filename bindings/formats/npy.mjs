/**
 * Reads NumPy's .npy files, versions 1 to 3 (numpy.lib.format describes them).
 */
import { describe, invalidArgument } from '../base/error.mjs';
import { Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY

/**
 * Element types by NumPy's kind and size. Types that NumPy lacks (bfloat16, the f8 family, 4-bit integers) are saved as raw
 * bytes, 'V2' and 'V1'; the caller must state the type.
 */
const KINDS = {
  b1: ['pred'],
  i1: ['s8', 's4', 's2'],
  i2: ['s16'],
  i4: ['s32'],
  i8: ['s64'],
  u1: ['u8', 'u4', 'u2'],
  u2: ['u16'],
  u4: ['u32'],
  u8: ['u64'],
  f2: ['f16'],
  f4: ['f32'],
  f8: ['f64'],
  c8: ['c64'],
  c16: ['c128'],
  V1: [...ELEMENT_TYPES.keys()].filter((name) => /^(f8|[su][24]$)/.test(name)),
  V2: ['bf16'],
};

/**
 * @param {Uint8Array} bytes a whole file
 * @param {string} [elementType] the type of raw bytes
 * @returns {Literal} row-major
 */
export function readNpy(bytes, elementType) {
  const { header, offset } = readHeader(bytes);
  const { byteOrder, types, itemBytes } = readDescr(header.descr);
  const type = types.includes(elementType) ? elementType : types[0];
  const dimensions = header.shape;
  const count = dimensions.reduce((a, b) => a * b, 1);
  if (bytes.length < offset + count * itemBytes) {
    throw invalidArgument('readNpy', `the file ends before its ${count} elements do: is it whole?`);
  }
  // A copy. Not bytes.slice(), which does not copy where the bytes are one of Node's Buffers.
  const raw = new Uint8Array(bytes.subarray(offset, offset + count * itemBytes));
  const { Array: TypedArray, lanes } = ELEMENT_TYPES.get(type);
  if (byteOrder === '>') reverseBytes(raw, itemBytes / lanes);
  const layout = header.fortranOrder ? dimensions.map((_, i) => i) : undefined;
  const shape = Shape.array(type, dimensions, { layout });
  // Literal.from() checks each predicate and narrow integer.
  return Literal.from(new TypedArray(raw.buffer), shape).inLayout(null);
}

function readHeader(bytes) {
  if (!MAGIC.every((byte, i) => bytes[i] === byte)) throw invalidArgument('readNpy', 'this is no .npy file');
  if (bytes.length < 12) throw invalidArgument('readNpy', 'the file ends within its header: is it whole?');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = bytes[6];
  if (version < 1 || version > 3) {
    throw invalidArgument('readNpy', `version ${version} of the format is not known`);
  }
  const start = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const text = new TextDecoder().decode(bytes.subarray(start, start + length));
  return { header: parseHeader(text), offset: start + length };
}

/** {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
function parseHeader(text) {
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(text);
  const order = /'fortran_order'\s*:\s*(True|False)/.exec(text);
  const shape = /'shape'\s*:\s*\(([\d,\s]*)\)/.exec(text);
  if (!descr || !order || !shape) {
    throw invalidArgument('readNpy', `cannot read the header ${describe(text.trim())}`);
  }
  return {
    descr: descr[1],
    fortranOrder: order[1] === 'True',
    shape: shape[1].split(',').filter((size) => size.trim()).map(Number),
  };
}

function readDescr(descr) {
  const [, byteOrder, kind] = /^([<>|=]?)(\w+)$/.exec(descr) ?? [];
  const types = KINDS[kind];
  if (!Array.isArray(types)) throw invalidArgument('readNpy', `dtype ${describe(descr)} has no XLA element type`);
  return { byteOrder, types, itemBytes: ELEMENT_TYPES.get(types[0]).bytes };
}

function reverseBytes(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
}

/** NumPy's names of element types; those that it lacks are raw bytes. */
const DTYPES = {
  pred: '|b1', s8: '|i1', s16: '<i2', s32: '<i4', s64: '<i8', u8: '|u1', u16: '<u2', u32: '<u4',
  u64: '<u8', f16: '<f2', f32: '<f4', f64: '<f8', c64: '<c8', c128: '<c16', bf16: '|V2',
  s2: '|i1', s4: '|i1', u2: '|u1', u4: '|u1',
};

/**
 * @param {Literal} literal of an array, row-major
 * @returns {Uint8Array} a whole file
 */
export function writeNpy({ shape, data }) {
  const descr = DTYPES[shape.elementType] ?? '|V1';
  const sizes = `(${shape.dimensions.join(', ')}${shape.rank === 1 ? ',' : ''})`;
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${sizes}, }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10; // where the data start, aligned
  const bytes = new Uint8Array(10 + length + data.byteLength);
  bytes.set([...MAGIC, 1, 0, length & 255, length >> 8]);
  bytes.set(new TextEncoder().encode(`${text.padEnd(length - 1)}\n`), 10);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 10 + length);
  return bytes;
}
