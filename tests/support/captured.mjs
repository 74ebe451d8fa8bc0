/**
 * Programs that other people's tests compile, captured with their operands and real XLA's results: one JSON
 * record a line, in files `*.jsonl.gz`. tests/captured/README.md has the format.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { constants, gunzipSync } from 'node:zlib';

import { Literal } from '../../bindings/values/literal.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { difference } from './golden.mjs';

/** NumPy's names of element types that are not XLA's; the others are `f` + what follows `float`, and so on. */
const NAMES = { bool: 'pred', bfloat16: 'bf16', complex64: 'c64', complex128: 'c128' };

function elementType(dtype) {
  const [, word, rest] = dtype.match(/^(uint|int|float)(.*)$/) ?? [];
  const letter = { uint: 'u', int: 's', float: 'f' }[word];
  return NAMES[dtype] ?? `${letter}${rest.replace('_', '')}`;
}

/** Whether all arrays of a record have element types of XLA: JAX's tests make up others. */
export const isKnown = ({ args, outs }) =>
  [...args, ...outs].every(({ dtype }) => ELEMENT_TYPES.has(elementType(dtype)));

/** A record's array: its shape and its bytes in base64, as difference() wants them. */
const leafOf = ({ dtype, shape, data }) => [`${elementType(dtype)}[${shape}]`, data];

function literalOf(array) {
  const [shape, base64] = leafOf(array);
  const literal = Literal.zeros(shape);
  const { data } = literal;
  const bytes = Buffer.from(base64, 'base64');
  assert.equal(bytes.length, data.byteLength, shape);
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength).set(bytes);
  return literal;
}

/** Errors that are allowed, as a fraction of the largest element: as other tests of JAX programs have them. */
const ERRORS = { f32: 1e-4, c64: 1e-4, f64: 1e-10, c128: 1e-10 };

/** The allowed error of a result: that of its type, or of a narrower float type in the program. */
function allowedError(type, program) {
  const { kind, bits } = ELEMENT_TYPES.get(type);
  if (!(type in ERRORS)) return kind === 'float' ? 2 * 2 ** -mantissaBits(type) : 0;
  const narrower = ['f32', 'f16', 'bf16'].filter((name) =>
    ELEMENT_TYPES.get(name).bits < bits && new RegExp(`[x<]${name}>`).test(program));
  return Math.max(ERRORS[type], ...narrower.map((name) => allowedError(name, '')));
}

const mantissaBits = (type) =>
  ({ bf16: 7, f16: 10, f8e8m0fnu: 0 })[type] ?? Number(type.match(/m(\d)/)?.[1] ?? 1);

/** The largest finite element. */
function scaleOf({ shape, data }) {
  const type = ELEMENT_TYPES.get(shape.elementType);
  const count = type.kind === 'complex' ? data.length : shape.elementCount;
  const value = type.kind === 'complex' ? (i) => data[i] : (i) => Number(type.read(data, i));
  let scale = 0;
  for (let i = 0; i < count; i++) {
    const size = Math.abs(value(i));
    if (Number.isFinite(size) && size > scale) scale = size;
  }
  return scale;
}

/** Programs with vectors whose signs or phases are not determined: eigenvectors, singular vectors, QR. */
const HAS_PHASES = /lapack_\w*(geev|syevd|heevd|gesdd|gesvd|gees|geqrf|gehrd|sytrd|hetrd)|@Eigh|@Qr/;

/**
 * Describes a wrong result; null if it is right.
 * @param {number | null} [spread] how far the result moves if the operands move by one unit in the last place; null: anywhere
 */
export function resultProblem(got, want, program, spread = 0) {
  if (spread === null) return null;
  const literal = literalOf(want);
  const fraction = allowedError(literal.shape.elementType, program);
  const problem = difference(got, leafOf(want), `abs ${Math.max(fraction * scaleOf(literal), 10 * spread)} rel 0`);
  if (!problem || !HAS_PHASES.test(program) || literal.shape.rank < 2) return problem;
  return equalUpToPhases(got, literal, fraction) ? null : problem;
}

/**
 * Whether the matrices of two arrays are equal up to a factor of size 1 of each column or of each row.
 * The factor is that of the inner product of the two vectors.
 */
function equalUpToPhases(got, want, fraction) {
  const [rows, columns] = want.shape.dimensions.slice(-2);
  const { lanes } = ELEMENT_TYPES.get(want.shape.elementType);
  const part = (data, i, lane) => (lane < lanes ? data[lanes * i + lane] : 0);
  const isSame = (start, length, stride) => {
    let [re, im, largest] = [0, 0, 0];
    const each = (visit) => {
      for (let k = 0; k < length; k++) {
        const i = start + k * stride;
        visit(...[got.data, want.data].flatMap((data) => [part(data, i, 0), part(data, i, 1)]));
      }
    };
    each((a, b, x, y) => {
      re += a * x + b * y;
      im += b * x - a * y;
      largest = Math.max(largest, Math.hypot(x, y));
    });
    const size = Math.hypot(re, im) || 1;
    let same = true;
    each((a, b, x, y) => {
      const error = Math.hypot(a - (x * re - y * im) / size, b - (x * im + y * re) / size);
      same &&= error <= 4 * fraction * largest;
    });
    return same;
  };
  const all = (count, length, place, stride) => {
    for (let m = 0; m < want.shape.elementCount; m += rows * columns) {
      for (let v = 0; v < count; v++) if (!isSame(m + v * place, length, stride)) return false;
    }
    return true;
  };
  return all(columns, rows, 1, columns) || all(rows, columns, columns, 1);
}

/** What a file of a capture that was ended holds, too: its last program may lack its end. */
const unpacked = (bytes) => gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });

/** @returns {Promise<object[]>} the records of a folder, or of one file */
export async function readRecords(folder, only = '') {
  const files = (await readdir(folder)).filter((file) => /\.jsonl(\.gz)?$/.test(file) && file.includes(only));
  const records = [];
  for (const file of files.sort()) {
    const bytes = await readFile(new URL(file, folder));
    const text = (file.endsWith('.gz') ? unpacked(bytes) : bytes).toString('utf8');
    for (const line of text.split('\n').slice(0, -1)) records.push({ file, ...JSON.parse(line) });
  }
  return records.filter(isKnown);
}

/** The module of a record: its program, or what is derived from it. */
async function moduleOf(client, record, source, shapes) {
  const module = await client.load(source, { arguments: shapes });
  if (!record.derived) return module;
  const { mode, options } = record.derived;
  try {
    return client[mode](module, options);
  } finally {
    module.dispose();
  }
}

/**
 * Runs a record of one device.
 * @param {object} [options] of the compilation
 * @returns {Promise<string[]>} the differences, by result
 */
export async function runRecord(client, record, options = {}) {
  const args = record.args.map(literalOf);
  const source = record.bytes ? Buffer.from(record.bytes, 'base64') : Buffer.from(record.mlir);
  const shapes = record.bytes ? args.map(({ shape }) => shape.toString()) : undefined;
  const module = await moduleOf(client, record, source, shapes);
  const executable = await client.compile(module, options);
  try {
    const results = await executable.execute(args, { timeoutMs: 60_000 });
    assert.equal(results.length, record.outs.length, 'number of results');
    return results.map((got, i) => resultProblem(got, record.outs[i], record.mlir ?? '', record.spread?.[i]))
      .flatMap((problem, i) => (problem ? [`result ${i}: ${problem}`] : []));
  } finally {
    executable.dispose();
    module.dispose();
  }
}
