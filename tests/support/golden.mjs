/**
 * Reads tests/golden/*.golden and compares results with real XLA's. README.md there has the format.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

/**
 * @typedef {object} GoldenCase
 * @property {string} name
 * @property {number} replicas
 * @property {number} partitions
 * @property {string} tolerance 'exact', 'ulp 4', 'abs 1e-5 rel 1e-5'
 * @property {string} hlo
 * @property {[string, string][][]} inputs leaves of the parameters, per replica: shape, base64
 * @property {[string, string][][]} outputs leaves of the result, per replica
 */

/** @returns {Promise<GoldenCase[]>} */
export async function readGolden(url) {
  const bytes = await readFile(url);
  const cases = [];
  let at = 0;
  const line = () => {
    const end = bytes.indexOf(10, at);
    const text = bytes.toString('utf8', at, end);
    at = end + 1;
    return text;
  };
  while (at < bytes.length) {
    const [word, ...rest] = line().split(' ');
    const current = cases.at(-1);
    if (word === 'case') {
      const name = rest.join(' ');
      cases.push({ name, replicas: 1, partitions: 1, tolerance: 'exact', inputs: [], outputs: [] });
    } else if (word === 'replicas') {
      current.replicas = Number(rest[0]);
    } else if (word === 'partitions') {
      current.partitions = Number(rest[0]);
    } else if (word === 'tol') {
      current.tolerance = rest.join(' ');
    } else if (word === 'hlo') {
      current.hlo = bytes.toString('utf8', at, at + Number(rest[0]));
      at += Number(rest[0]);
    } else if (word === 'in' || word === 'out') {
      const perReplica = word === 'in' ? current.inputs : current.outputs;
      (perReplica[Number(rest[0])] ??= []).push([rest[1], rest[2] ?? '']);
    } else if (word !== 'end') {
      throw new Error(`${url}: what is "${word}"?`);
    }
  }
  return cases;
}

/**
 * A leaf of a case as a literal. What XLA prints as signed or floating random bits, it returns as
 * unsigned integers: `elementType` is how the program has them.
 */
export function literalOf([shapeText, base64], elementType) {
  const stated = Shape.parse(shapeText);
  const shape = stated.withElementType(elementType ?? stated.elementType);
  const { Array: TypedArray, lanes } = ELEMENT_TYPES.get(shape.elementType);
  const data = new TypedArray(shape.elementCount * lanes);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== data.byteLength) throw new Error(`${shapeText}: ${bytes.length} bytes`);
  new Uint8Array(data.buffer).set(bytes);
  return new Literal(shape, data);
}

/** The arguments of a program from their leaves: tuples are put together again. */
export function argumentsOf(leaves, parameters) {
  let at = 0;
  const take = (shape) => {
    if (shape.isTuple) return shape.tupleShapes.map(take);
    return shape.isArray ? leaves[at++] : null;
  };
  return parameters.map(({ shape }) => take(shape));
}

/**
 * Runs a case and throws if a result is wrong.
 * @param {HloModule} module the case's, in one form or another; disposed
 */
export async function checkCase(client, golden, module) {
  const { replicas, partitions } = golden;
  const executable = await client.compile(
    module, partitions > 1 ? { replicas, partitions } : { replicas });
  try {
    const args = Array.from({ length: replicas * partitions }, (_, device) => {
      const leaves = (golden.inputs[device] ?? []).map((leaf) => literalOf(leaf));
      return argumentsOf(leaves, module.parameters);
    });
    const results = await executable.executeReplicas(args);
    const problems = results.flatMap((outputs, device) => {
      const leaves = outputs.flatMap((output) => output.leaves()).filter((leaf) => leaf);
      const expected = golden.outputs[device] ?? [];
      assert.equal(leaves.length, expected.length, 'number of results');
      return leaves.map((leaf, i) => {
        const problem = difference(leaf, expected[i], golden.tolerance);
        return problem && `device ${device}, result ${i}: ${problem}`;
      });
    });
    const wrong = problems.filter(Boolean);
    if (wrong.length) assert.fail(wrong.join('\n'));
  } finally {
    executable.dispose();
    module.dispose();
  }
}

/**
 * Describes the difference of a result from the expected one; null if there is none.
 * @param {Literal} got
 * @param {[string, string]} leaf the result of real XLA
 * @param {string} tolerance
 * @returns {string | null}
 */
export function difference(got, leaf, tolerance) {
  const want = literalOf(leaf, got.shape.elementType);
  if (!got.shape.compatible(want.shape)) return `${got.shape} instead of ${want.shape}`;
  const { elementType, elementCount } = want.shape;
  const type = ELEMENT_TYPES.get(elementType);
  const near = comparison(type, tolerance);
  const [actual, expected] = [got.inLayout(null).data, want.data];
  let wrong = 0;
  let first = '';
  for (let i = 0; i < elementCount * type.lanes; i++) {
    if (near(actual, expected, i)) continue;
    if (!wrong++) first = `[${Math.floor(i / type.lanes)}] is ${show(type, actual, i)}, ` +
      `not ${show(type, expected, i)}`;
  }
  return wrong ? `${wrong} of ${elementCount} wrong (${tolerance}): ${first}` : null;
}

function show(type, data, i) {
  const index = Math.floor(i / type.lanes);
  return `${type.read(data, index)} (0x${hex(data, i)})`;
}

function hex(data, i) {
  const size = data.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(data.buffer, data.byteOffset + i * size, size);
  return [...bytes].reverse().map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** (actual, expected, entry) => whether they are near enough. */
function comparison(type, tolerance) {
  const [kind, first, , second] = tolerance.split(' ');
  const isFloating = type.kind === 'float' || type.kind === 'complex';
  if (!isFloating) return (actual, expected, i) => actual[i] === expected[i];
  const value = type.kind === 'float' ? type.read : (data, i) => data[i];
  const ordinal = ordinals(type.Array);
  const sameNaN = (actual, expected, i) => {
    const [x, y] = [value(actual, i), value(expected, i)];
    return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) && Number.isNaN(y) : undefined;
  };
  if (kind === 'exact') {
    return (actual, expected, i) =>
      sameNaN(actual, expected, i) ?? bitsOf(actual)[i] === bitsOf(expected)[i];
  }
  if (kind === 'ulp') {
    const most = BigInt(first);
    return (actual, expected, i) => {
      const nan = sameNaN(actual, expected, i);
      if (nan !== undefined) return nan;
      const distance = ordinal(actual, i) - ordinal(expected, i);
      return distance <= most && -distance <= most;
    };
  }
  if (kind !== 'abs') throw new Error(`what is the tolerance "${tolerance}"?`);
  return (actual, expected, i) => {
    const nan = sameNaN(actual, expected, i);
    if (nan !== undefined) return nan;
    const [x, y] = [value(actual, i), value(expected, i)];
    if (!Number.isFinite(y) || !Number.isFinite(x)) return x === y;
    return Math.abs(x - y) <= Number(first) + Number(second) * Math.abs(y);
  };
}

const INTEGERS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array };
function bitsOf(data) {
  const Integer = INTEGERS[data.BYTES_PER_ELEMENT];
  return new Integer(data.buffer, data.byteOffset, data.length);
}

/** Place of a float in the order of all floats of its format: both zeros at 0. */
function ordinals(TypedArray) {
  const sign = 1n << BigInt(8 * TypedArray.BYTES_PER_ELEMENT - 1);
  return (data, i) => {
    const bits = BigInt(bitsOf(data)[i]);
    return bits >= sign ? sign - bits : bits;
  };
}
