/**
 * Measures the errors of complex functions, in units in the last place of the result's modulus.
 *
 *   node tests/accuracy/complex.mjs [FILE]   prints a table; FILE is of complex.py
 */
import { readFile } from 'node:fs/promises';

import { Client, Literal } from '../../bindings/index.mjs';

const DIGITS = { c64: [23, -126], c128: [52, -1022] }; // of the mantissa; the least exponent

const ulpOf = (type, x) => {
  const [digits, least] = DIGITS[type];
  return 2 ** (Math.max(Math.floor(Math.log2(x)), least) - digits);
};

/** @returns {Promise<{ type, function, operands, points, numbers: Float64Array }[]>} */
export async function readPoints(file) {
  const bytes = await readFile(file), end = bytes.indexOf(10);
  const data = bytes.buffer.slice(bytes.byteOffset + end + 1, bytes.byteOffset + bytes.length);
  let at = 0;
  return JSON.parse(bytes.subarray(0, end).toString()).map((entry) => {
    const count = entry.points * (2 * entry.operands + (entry.slopes ? 4 : 2));
    const numbers = new Float64Array(data, at, count);
    at += 8 * count;
    return { ...entry, numbers };
  });
}

/** The worst error of one function: of the modulus, and where; and of a part, relative to that. */
export async function worstError(client, { type, function: name, operands, points, numbers }) {
  const module = client.parseHlo(`HloModule m
ENTRY e {
${Array.from({ length: operands }, (_, i) => `  p${i} = ${type}[${points}] parameter(${i})`).join('\n')}
  ROOT r = ${type}[${points}] ${name}(${['p0', 'p1'].slice(0, operands).join(', ')})
}`);
  const executable = await client.compile(module), width = 2 * operands + 2;
  const Parts = type === 'c64' ? Float32Array : Float64Array;
  const args = Array.from({ length: operands }, (_, k) => new Literal(
    executable.parameters[k].shape,
    Parts.from({ length: 2 * points }, (_, i) => numbers[(i >> 1) * width + 2 * k + (i & 1)])));
  const [{ data }] = await executable.execute(args);
  const worst = { modulus: 0, part: 0, at: null };
  for (let i = 0; i < points; i++) {
    const row = numbers.subarray(i * width, (i + 1) * width), [re, im] = row.subarray(width - 2);
    const size = Math.hypot(re, im);
    if (!(size < (type === 'c64' ? 1e38 : 1e307))) continue; // may be infinite
    const off = [Math.abs(data[2 * i] - re), Math.abs(data[2 * i + 1] - im)];
    const modulus = Math.hypot(...off) / ulpOf(type, size);
    if (!(modulus <= worst.modulus)) Object.assign(worst, { modulus, at: [...row.subarray(0, width - 2)] });
    worst.part = Math.max(worst.part, off[0] / ulpOf(type, Math.abs(re)), off[1] / ulpOf(type, Math.abs(im)));
  }
  executable.dispose();
  module.dispose();
  return worst;
}

const hloOf = ({ type, function: name, points }) => `HloModule m
ENTRY e {
  p0 = ${type}[${points}] parameter(0)
  ROOT r = ${type}[${points}] ${name}(p0)
}`;

/** The same function in CHLO, whose import writes out XLA's formula. */
function chloOf({ type, function: name, points }) {
  const tensor = `tensor<${points}xcomplex<${type === 'c64' ? 'f32' : 'f64'}>>`;
  return `func.func @main(%x: ${tensor}) -> ${tensor} {
  %y = chlo.${name} %x : ${tensor} -> ${tensor}
  return %y : ${tensor}
}`;
}

/** Functions of CHLO that are formulas for complex numbers. */
export const OF_CHLO = new Set(['asin', 'acos', 'asinh', 'acosh', 'atanh', 'sinh', 'cosh']);

/**
 * The worst errors of one function's values and slopes, of extremes.py's points.
 * @returns {Promise<[string, number, number[]][]>}
 */
export async function worstAtExtremes(client, entry, isChlo) {
  const { type, points, numbers } = entry;
  const module = await client.load(isChlo ? chloOf(entry) : hloOf(entry));
  const executable = await client.compile(client.jvp(module));
  const Parts = type === 'c64' ? Float32Array : Float64Array;
  const literal = (part) => new Literal(
    module.parameters[0].shape, Parts.from({ length: 2 * points }, (_, i) => part(i >> 1, i & 1)));
  const results = await executable.execute([literal((i, k) => numbers[6 * i + k]), literal((_, k) => 1 - k)]);
  const worst = results.map(({ data }, result) => {
    let [most, at] = [0, null];
    for (let i = 0; i < points; i++) {
      const [re, im] = numbers.subarray(6 * i + 2 + 2 * result);
      const off = Math.hypot(data[2 * i] - re, data[2 * i + 1] - im), least = 2 ** DIGITS[type][1];
      const isFlushed = Math.hypot(re, im) < least && off <= least;
      const error = isFlushed ? 0 : off / ulpOf(type, Math.hypot(re, im));
      if (!(error <= most)) [most, at] = [error, [...numbers.subarray(6 * i, 6 * i + 2)]];
    }
    return [['value', 'slope'][result], most, at];
  });
  executable.dispose();
  return worst;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const client = await Client.create({ threads: 0 });
  for (const entry of await readPoints(process.argv[2] ?? new URL('complex.bin', import.meta.url))) {
    const { modulus, part, at } = await worstError(client, entry);
    console.log(`| \`${entry.function}\` of ${entry.type} | ${modulus.toFixed(2)} | ${part.toFixed(2)} |`,
      process.env.VERBOSE ? at : '');
  }
  client.dispose();
}
