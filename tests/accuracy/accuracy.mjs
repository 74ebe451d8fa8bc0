/**
 * Measures the errors of the transcendental functions, in units in the last place.
 * generate.py has the format of the files.
 */
import { readFile } from 'node:fs/promises';

const FLOATS = { f32: Float32Array, f64: Float64Array };
const INTEGERS = { f32: Int32Array, f64: BigInt64Array };

/**
 * @typedef {object} Sweep
 * @property {string} name of the HLO operation
 * @property {string} type
 * @property {ArrayBufferView[]} operands
 * @property {ArrayBufferView} results correctly rounded
 * @property {Int8Array} distances of the true values from them, in 1/254 ulp
 */

/** @returns {Promise<Sweep[]>} */
export async function readSweeps(url, type) {
  const bytes = await readFile(url);
  let at = bytes.indexOf(10) + 1;
  const take = (TypedArray, count) => {
    const size = count * TypedArray.BYTES_PER_ELEMENT;
    at += size;
    return new TypedArray(new Uint8Array(bytes.subarray(at - size, at)).buffer);
  };
  return JSON.parse(bytes.toString('utf8', 0, at)).map(({ name, arity, count }) => {
    const operands = Array.from({ length: arity }, () => take(FLOATS[type], count));
    return {
      name,
      type,
      operands,
      results: take(FLOATS[type], count),
      distances: take(Int8Array, count),
    };
  });
}

/** Runs `name` on arrays of bits or values as the compiled program does; from another type if said. */
export async function runOperation(client, name, type, operands, from = type) {
  const shape = `${type}[${operands[0].length}]`;
  const names = operands.map((_, i) => `p${i}`);
  const parameters = names
    .map((p, i) => `  ${p} = ${from}[${operands[i].length}] parameter(${i})\n`).join('');
  const root = `  ROOT r = ${shape} ${name}(${names.join(', ')})\n`;
  const module = client.parseHlo(`HloModule sweep\nENTRY e {\n${parameters}${root}}\n`);
  const executable = await client.compile(module);
  try {
    const [result] = await executable.execute(operands);
    return result.data;
  } finally {
    executable.dispose();
    module.dispose();
  }
}

/** Place of a float in the order of all floats of its type: both zeros at 0. */
function ordinals(values, type) {
  const bits = new INTEGERS[type](values.buffer, values.byteOffset, values.length);
  if (type === 'f32') return (i) => (bits[i] < 0 ? -2147483648 - bits[i] : bits[i]);
  const least = -(1n << 63n);
  return (i) => (bits[i] < 0n ? least - bits[i] : bits[i]);
}

/** Where these are denormal they are 0, as XLA:CPU's: those cost a hundred cycles each. */
const FLUSHED = new Set(['exponential', 'logistic']);
const LEAST = { f32: 2 ** -126, f64: 2 ** -1022, f16: 0, bf16: 2 ** -126 };

/** What is asked for where `value` is the truth, or that rounded to the type. */
export const wanted = (name, type, value) =>
  (FLUSHED.has(name) && Math.abs(value) < LEAST[type] ? 0 : value);

/** A finite value is compared with a finite one; NaN, infinities and signs of zeros are equal. */
function isSame(got, want) {
  if (Number.isFinite(want) && want !== 0 && Number.isFinite(got)) return undefined;
  if (want === 0 && got !== 0 && Number.isFinite(got)) return undefined;
  return Object.is(got, want);
}

/** @returns {{worst: number, at: number, wrong: number[]}} `wrong`: special values that differ */
export function measure({ name, type, results: rounded, distances }, got) {
  const results = rounded.map((value) => wanted(name, type, value));
  const [gotOrdinal, wantOrdinal] = [ordinals(got, type), ordinals(results, type)];
  const summary = { worst: 0, at: -1, wrong: [] };
  for (let i = 0; i < results.length; i++) {
    const same = isSame(got[i], results[i]);
    if (same === false) summary.wrong.push(i);
    if (same !== undefined) continue;
    const error = Math.abs(Number(gotOrdinal(i) - wantOrdinal(i)) - distances[i] / 254);
    if (error > summary.worst) Object.assign(summary, { worst: error, at: i });
  }
  return summary;
}
