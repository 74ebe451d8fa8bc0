/** The part of weights.mjs that reads files, loaded at the first read. */
import { isUnreadable } from '../base/boundary.mjs';
import { describe, invalidArgument, messageOf, reasonOf, XlaError } from '../base/error.mjs';
import { checkOptions, count, kind, string } from '../base/options.mjs';
import { contentOf } from '../host/sources.mjs';
import { isLiteral, Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES, perByte, SAFETENSORS } from '../values/types.mjs';
import { isPage, NO_PAGE, otherFormatAdvice } from './foreign.mjs';
import { openGguf } from './gguf.mjs';
import { readNpy as npyOf } from './npy.mjs';
import { unzip } from './unzip.mjs';
import { viewOf } from './zip.mjs';

export { openGguf };

const READ_OPTIONS = {
  onProgress: kind('a function', (value) => (typeof value === 'function' ? value : undefined)),
};

/** The bytes of a source: bytes, a Blob, a Response, a URL; in Node also a path. */
async function bytesOf(operation, source, options) {
  const { onProgress } = checkOptions(operation, options, READ_OPTIONS);
  const { content, name } = await contentOf(source, { operation, onProgress, isFile: true });
  if (!content.length) throw invalidArgument(operation, `${name ?? 'the source'} is empty`);
  if (isPage(content)) throw invalidArgument(operation, `${name ?? 'this'} is an HTML page: ${NO_PAGE}`);
  return content;
}

export async function readNpy(source, options) {
  const { elementType, ...others } = checkOptions('readNpy', options, { ...READ_OPTIONS, elementType: string });
  const bytes = await bytesOf('readNpy', source, others);
  const other = bytes[0] === 0x93 ? undefined : otherFormatAdvice(bytes, 'readNpy');
  if (other) throw invalidArgument('readNpy', `this is ${other}`);
  return npyOf(bytes, elementType);
}

export async function readNpz(source, options) {
  const { maxBytes, ...others } = checkOptions('readNpz', options, { ...READ_OPTIONS, maxBytes: count(1, Number.MAX_SAFE_INTEGER) });
  const bytes = await bytesOf('readNpz', source, others);
  const arrays = Object.create(null);
  for (const { name, content } of await unzip(bytes, maxBytes)) {
    if (!name.endsWith('.npy')) continue;
    try {
      arrays[name.slice(0, -4)] = npyOf(content);
    } catch (error) {
      throw invalidArgument('readNpz', `${name}: ${reasonOf(error)}`);
    }
  }
  return arrays;
}

const LOAD_OPTIONS = {
  ...READ_OPTIONS, maxBytes: count(1, Number.MAX_SAFE_INTEGER), map: READ_OPTIONS.onProgress,
};

/** Calls the caller's map on an array. If map throws, throws an error that names the array and has the first as its cause. */
function mappedBy(map, name, literal) {
  try {
    return map(name, literal);
  } catch (error) {
    if (isUnreadable(map)) throw error; // it is no function of the caller's, and the boundary says so
    throw new XlaError('INVALID_ARGUMENT', `loadWeights: map fails for ${name}: ${messageOf(error)}`, { operation: 'loadWeights', cause: error });
  }
}

export async function loadWeights(source, options) {
  const { map, maxBytes, onProgress } = checkOptions('loadWeights', options, LOAD_OPTIONS);
  const bytes = await bytesOf('loadWeights', source, { onProgress });
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  if (bytes[0] === 0x93) throw invalidArgument('loadWeights', 'this is one array, without a name: readNpy()');
  const isGguf = String.fromCharCode(...bytes.subarray(0, 4)) === 'GGUF';
  const read = await (isZip ? readNpz(bytes, { maxBytes }) : isGguf ? readGguf(bytes) : readSafetensors(bytes));
  if (!map) return read;
  const mapped = Object.create(null);
  for (const [name, literal] of Object.entries(read)) {
    const pair = mappedBy(map, name, literal);
    if (pair === null || pair === undefined) continue;
    const [to, value] = Array.isArray(pair) ? pair : [];
    if (typeof to !== 'string' || !isLiteral(value)) {
      throw invalidArgument('loadWeights', `map must return [name, literal], or null to leave it out; got ${describe(pair)} for ${name}`);
    }
    if (to in mapped) throw invalidArgument('loadWeights', `map gives two arrays the name ${to}, the second of them for ${name}`);
    mapped[to] = value;
  }
  return mapped;
}

/** All tensors of a GGUF file, blocks as floats. */
async function readGguf(bytes) {
  const file = await openGguf(bytes);
  const tensors = Object.create(null);
  for (const name of Object.keys(file.tensors)) tensors[name] = await file.read(name);
  return tensors;
}

const MAX_HEADER = 100_000_000;

export async function readSafetensors(source, options) {
  const bytes = await bytesOf('readSafetensors', source, options);
  const fail = (problem) => invalidArgument('readSafetensors', problem);
  const length = bytes.length >= 8 ? Number(viewOf(bytes).getBigUint64(0, true)) : Infinity;
  if (length > MAX_HEADER || length > bytes.length - 8) throw fail(`this is ${otherFormatAdvice(bytes, 'readSafetensors') ?? 'no safetensors file'}`);
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  } catch (error) {
    throw fail(`the header is no JSON: ${error.message}`);
  }
  if (header === null || typeof header !== 'object' || Array.isArray(header)) throw fail('the header is no JSON object');
  const tensors = Object.create(null);
  let rest = bytes.length; // that no tensor has
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    tensors[name] = tensorOf(name, entry ?? {}, bytes.subarray(8 + length), fail);
    if ((rest -= tensors[name].shape.byteSize) < 0) throw fail('the tensors overlap');
  }
  return tensors;
}

function tensorOf(name, { dtype, shape: sizes, data_offsets: offsets }, data, fail) {
  const elementType = SAFETENSORS[dtype];
  if (!elementType) throw fail(`${name}: dtype ${describe(dtype)} has no XLA element type`);
  if (!Array.isArray(sizes)) throw fail(`${name}: its shape must be an array of sizes; got ${describe(sizes)}`);
  const [start, end] = Array.isArray(offsets) ? offsets : [];
  const shape = Shape.array(elementType, sizes);
  if (!(start >= 0 && end <= data.length && end - start === shape.byteSize)) {
    if (end > data.length) throw fail(`${name} would end at byte ${end} of the data, which ends at ${data.length}: is the file whole?`);
    throw fail(`${name}: ${describe(offsets)} is no place of ${shape}`);
  }
  const type = ELEMENT_TYPES.get(elementType), { Array: Natural } = type;
  const own = data.subarray(start, end);
  if (perByte(type) > 1) return Literal.fromPacked(new Uint8Array(own), shape);
  const isAligned = own.byteOffset % Natural.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset } = isAligned ? own : new Uint8Array(own);
  const elements = new Natural(buffer, byteOffset, own.length / Natural.BYTES_PER_ELEMENT);
  return new Literal(shape, elements);
}
