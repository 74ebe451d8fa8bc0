/**
 * Reads and writes files of weights: NumPy's .npy and .npz, safetensors; and GGUF, which is only read. A file is read into
 * literals, which are arguments of programs; the element types do not change. The reader
 * (weights_reader.mjs) is loaded at the first read.
 * Sources: numpy.lib.format; github.com/huggingface/safetensors (format)
 */
import { guarded } from '../base/boundary.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { isPlainObject } from '../base/options.mjs';
import { isLiteral } from '../values/literal.mjs';
import { SAFETENSORS } from '../values/types.mjs';
import { writeNpy as npyBytes } from './npy.mjs';
import { joined, viewOf, zip } from './zip.mjs';

/**
 * @typedef {object} ReadOptions
 * @property {(loaded: number, total: number | undefined) => void} [onProgress] bytes so far, of all
 */

const reading = (name) =>
  guarded(async (...args) => (await import('./weights_reader.mjs'))[name](...args), name);

/**
 * Reads a .npy file.
 * @param {any} source bytes, a Blob, a Response, a URL; in Node also a path
 * @param {ReadOptions & { elementType?: string }} [options] elementType: which of the types that
 *   NumPy keeps as raw bytes it is, such as 'bf16'
 * @returns {Promise<Literal>}
 */
export const readNpy = reading('readNpy');

/**
 * Reads a .npz file: names of arrays (without ".npy") to literals.
 * @param {any} source as of readNpy()
 * @param {ReadOptions & { maxBytes?: number }} [options] maxBytes: the max size when unpacked, as of Client.load()
 * @returns {Promise<Record<string, Literal>>}
 */
export const readNpz = reading('readNpz');

/**
 * Reads a safetensors file: names to literals, which lie in the file's own memory where they can.
 * @param {any} source as of readNpy()
 * @param {ReadOptions} [options]
 * @returns {Promise<Record<string, Literal>>}
 */
export const readSafetensors = reading('readSafetensors');

/**
 * Opens a GGUF file, whose tensors are read on demand: see gguf.mjs.
 * @param {any} source bytes, a Blob, a URL whose server knows ranges; in Node also a path
 * @returns {Promise<import('./gguf.mjs').GgufFile>}
 */
export const openGguf = reading('openGguf');

/**
 * Reads a .npz, safetensors or GGUF file (its blocks as f32), and renames or changes its arrays on the way.
 * @param {any} source as of readNpy()
 * @param {ReadOptions & { maxBytes?: number, map?: (name: string, literal: Literal) => [string, Literal] | null }} [options]
 *   map: returns the new name and array; null leaves the array out
 * @returns {Promise<Record<string, Literal>>}
 */
export const loadWeights = reading('loadWeights');

/** @param {Literal} literal @returns {Uint8Array} a .npy file */
export const writeNpy = guarded((literal) => npyBytes(checked('writeNpy', 'literal', literal)), 'writeNpy');

/** @param {Record<string, Literal>} arrays @returns {Uint8Array} a .npz file, not compressed */
export const writeNpz = guarded((arrays) => zip(entriesOf('writeNpz', 'arrays', arrays).map(([name, literal]) =>
  ({ name: `${name}.npy`, content: npyBytes(checked('writeNpz', `arrays.${name}`, literal)) }))), 'writeNpz');

/**
 * @param {Record<string, Literal>} tensors
 * @param {Record<string, string>} [metadata]
 * @returns {Uint8Array} a safetensors file
 */
export const writeSafetensors = guarded((tensors, metadata) => {
  const names = new Map(Object.entries(SAFETENSORS).map(([dtype, name]) => [name, dtype]));
  const header = (metadata ?? null) === null ? {} : { __metadata__: checkedMetadata(metadata) };
  const parts = [];
  let at = 0;
  for (const [name, given] of entriesOf('writeSafetensors', 'tensors', tensors)) {
    const { shape, packed } = checked('writeSafetensors', `tensors.${name}`, given);
    const dtype = names.get(shape.elementType);
    if (!dtype) throw invalidArgument('writeSafetensors', `${name}: safetensors has no ${shape.elementType}`);
    header[name] = { dtype, shape: [...shape.dimensions], data_offsets: [at, at + packed.length] };
    parts.push(packed);
    at += packed.length;
  }
  const text = JSON.stringify(header);
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.ceil((bytes.length + 8) / 8) * 8 - 8).fill(32);
  padded.set(bytes);
  const length = new Uint8Array(8);
  viewOf(length).setBigUint64(0, BigInt(padded.length), true);
  return joined([length, padded, ...parts]);
}, 'writeSafetensors');

/** The format allows strings only. */
function checkedMetadata(metadata) {
  if (!isPlainObject(metadata)) {
    throw invalidArgument('writeSafetensors', `metadata must be an object of strings by name; got ${describe(metadata)}`);
  }
  const odd = Object.entries(metadata).find(([, value]) => typeof value !== 'string');
  if (!odd) return metadata;
  throw invalidArgument('writeSafetensors', `metadata.${odd[0]} must be a string; got ${describe(odd[1])}`);
}

function entriesOf(operation, argument, named) {
  if (isPlainObject(named)) return Object.entries(named);
  throw invalidArgument(operation, `${argument} must be an object of Literals by name; got ${describe(named)}`);
}

function checked(operation, argument, value) {
  if (isLiteral(value) && value.shape.isArray) return value.inLayout(null);
  throw invalidArgument(operation, `${argument} must be a Literal of an array; got ${describe(value)}`);
}
