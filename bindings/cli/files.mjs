/** The command line's files: modules in, arguments in, results out. */
import { readFile, writeFile } from 'node:fs/promises';

import { reasonOf } from '../base/error.mjs';
import { distance } from '../base/names.mjs';
import { readNpy, writeNpy } from '../formats/npy.mjs';
import { readNpz, readSafetensors, writeNpz, writeSafetensors } from '../formats/weights.mjs';
import { contentOf, systemReason } from '../host/sources.mjs';
import { Literal, XlaError } from '../index.mjs';
import { missing, pairArguments, sidesOf } from '../objects/named_arguments.mjs';
import { nearest, tableOfNames } from '../objects/named_table.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { bytesText, progress } from './terminal.mjs';

export class UsageError extends Error {}

const isAddress = (file) => /^https?:\/\//.test(file);

export async function readInput(file) {
  try {
    if (isAddress(file)) return (await contentOf(file, { onProgress: tellProgress })).content;
    return file === '-' ? await readStandardInput() : await readFile(file);
  } catch (error) {
    if (error instanceof XlaError) throw new UsageError(error.message.replace(/^load: /, ''));
    throw new UsageError(`cannot read ${file}: ${systemReason(error)}`);
  }
}

const tellProgress = (loaded, total) => progress(`reading, ${bytesText(loaded, total)}`);

async function readStandardInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Rewrites the advice of load() in terms of command-line options. */
const inOptions = (text) => text.replace(/load it with \{ elided: 'zeros' \} or 'random'/, 'give --elided zeros or random')
  .replace(/, as in load\(source, \{ entry: '(.*)' \}\)/, ': --function $1').replace(/, as in load\(source, \{ platform: '(.*)' \}\)/, ': --platform $1')
  .replace(/^load: entry/, '--function').replace(/^(load: )?platform(?= is|: )/, '--platform');

/**
 * Adds the place in the file in front of an error message, as compilers do.
 * @param {object} [choices] options of load()
 */
export async function readModule(client, file, choices) {
  progress(`reading ${file === '-' ? 'standard input' : file}`);
  const bytes = await readInput(file);
  try {
    return await client.load(bytes, choices);
  } catch (error) {
    if (!error.line) {
      if (error.parameters) {
        const usage = new UsageError(error.message.replace(/, as in load\(source, \{ arguments: \{ (.*) \} \}\)/, (_, shapes) =>
          `: ${shapes.replace(/([^ ]+): '([^']*)',?/g, '--shape $1=$2')}`));
        throw Object.assign(usage, { parameters: error.parameters });
      }
      const own = inOptions(error.message);
      if (own !== error.message) throw new UsageError(own);
      if (/^load: /.test(error.message)) {
        const text = error.message.replace(/^load(: the source)?/, file).replace(/(not a program): [^]*\bread\w+\(\)$/, '$1: give it to one, by --input');
        throw new UsageError(text);
      }
      throw error;
    }
    const { code, operation, line, column } = error;
    const place = `${file}:${line}:${column ?? 1}`;
    const message = inOptions(error.message).replace(/ \(line \d+, column \d+\)/, '');
    throw new XlaError(code, `${place}: ${message}`, { operation, line, column });
  }
}

/* ---- Arguments ---- */

/** Each device's number and coordinates, replica-major. */
export function devicesOfMesh({ replicas, partitions }) {
  return Array.from({ length: replicas * partitions }, (_, device) => ({
    device, replica: Math.floor(device / partitions), partition: device % partitions,
  }));
}

/** Replaces {replica}, {partition} and {device} by a device's numbers. */
export const placed = (text, place) => text.replace(/\{(replica|partition|device)\}/g, (_, word) => place[word]);

/**
 * @param {string[]} inputs as in readArguments; a name with {replica} or the like differs by device
 * @param {{ replicas: number, partitions: number }} counts
 * @param {number} [seed] of random numbers for the remaining parameters
 * @returns {Promise<any[][]>} one list for each device; all devices share one list if their arguments are equal
 */
export async function argumentsOfDevices(inputs, parameters, counts, seed) {
  const lists = new Map();
  const all = [];
  for (const place of devicesOfMesh(counts)) {
    const own = inputs.map((input) => placed(input, place));
    const key = JSON.stringify(own);
    if (!lists.has(key)) {
      const random = seed === undefined ? undefined : randomNumbers(seed);
      lists.set(key, await readArguments(own, parameters, random));
    }
    all.push(lists.get(key));
  }
  return all;
}

/**
 * Arguments of --input. Files of several arrays and inputs with a name go to parameters by the rule of
 * named_arguments.mjs. Files of one array without a name go to the remaining parameters, in order. If `random` is given,
 * it makes the arguments of parameters without an input.
 * @param {string[]} inputs "x.npy", "name=x.npy", "name=1.5", "name=[1, 2]", "weights.npz", "name=weights.npz"
 * @param {() => number} [random] from 0 to 1
 */
export async function readArguments(inputs, parameters, random) {
  const tree = Object.create(null);
  const unnamed = [];
  for (const input of inputs) {
    const named = /^([^=[\]{}]+)=([^]+)$/.exec(input);
    const [name, value] = !named || /[\\/]/.test(named[1]) ? [undefined, input] : named.slice(1);
    if (/\.(npz|safetensors)$/.test(value)) Object.assign(tree, byPrefix(name, await readArrays(value)));
    else if (name === undefined) unnamed.push(value);
    else tree[numbered(name, parameters)] = new GivenText(value);
  }
  const pairs = pairArguments(parameters, tree, '--input');
  checkNamed(tree, pairs, parameters);
  const args = new Array(parameters.length).fill(undefined);
  for (const [i, parameter] of parameters.entries()) {
    if (!pairs[i] && unnamed.length) args[i] = await readArgument(unnamed.shift(), i, parameter);
    else if (pairs[i]?.value instanceof GivenText) args[i] = await readArgument(pairs[i].value.text, i, parameter);
    else if (pairs[i]) args[i] = fitting(pairs[i], i, parameter);
    else if (random) args[i] = randomLiteral(parameter.shape, random, VARIANCE.test(parameter.name));
  }
  if (!unnamed.length && !args.includes(undefined)) return args;
  if (Object.keys(tree).length && !unnamed.length) {
    const all = pairs.map((pair, i) => pair ?? given(args[i]));
    throw new UsageError(`${missing('--input', parameters, all).message}; ${tableOfNames(sidesOf(parameters, tree, all))}`);
  }
  const wanted = parameters.map(({ name, shape }) => `${name}: ${shape}`).join(', ') || 'none';
  const count = args.filter((value) => value !== undefined).length + unnamed.length;
  throw new UsageError(`the module has ${parameters.length} parameters (${wanted}); ${count} --input were given: give ${parameters.length > count ? 'the others too, or --random' : 'fewer'}`);
}

/** A file or a value of an input with a name, which is read once its parameter's shape is known. */
class GivenText {
  constructor(text) {
    this.text = text;
  }
  get shape() {
    return this.text;
  }
}

const given = (value) => value && { value, path: ['--input'] };
const byPrefix = (name, arrays) => (name === undefined ? arrays : { [name]: { ...arrays } });

/** Returns the name of the parameter with this number, unless a parameter has the number as its name. */
function numbered(name, parameters) {
  if (!/^\d+$/.test(name) || parameters.some((parameter) => parameter.name === name)) return name;
  return parameters[Number(name)]?.name ?? name;
}

/** An input with a name must have a parameter; a file may hold more arrays than the program takes. */
function checkNamed(tree, pairs, parameters) {
  const used = new Set(pairs.map((pair) => pair?.value));
  const stray = Object.keys(tree).find((name) => tree[name] instanceof GivenText && !used.has(tree[name]));
  if (stray === undefined) return;
  const names = parameters.map(({ name }) => name);
  const near = nearest(stray, names, 3, distance);
  throw new UsageError(`there is no parameter "${stray}"; ${near.length < names.length ? 'the nearest are' : 'there are'} ${
    near.join(', ') || 'none'}`);
}

/** An array of a file. */
function fitting({ value, path }, number, { name, shape }) {
  if (shape.accepts(value.shape)) return value;
  throw new UsageError(`${path.join('.')} is ${value.shape}; parameter ${number} (${name}) is ${shape.withoutLayout()}`);
}

async function readArgument(value, number, { name, shape }) {
  if (/^\s*(\[|[-+]?[\d.]|true$|false$|nan$|inf$|-inf$)/i.test(value) && !/\.npy$/.test(value)) {
    return inlineLiteral(value, shape, name);
  }
  const bytes = await readInput(value);
  let literal;
  try {
    literal = readNpy(bytes, shape.elementType);
  } catch (error) {
    throw new UsageError(`${value}: ${error.message}`);
  }
  if (shape.accepts(literal.shape)) return literal;
  throw new UsageError(
    `${value} holds ${literal.shape}; parameter ${number} (${name}) is ${shape.withoutLayout()}`,
  );
}

const WORDS = { nan: NaN, inf: Infinity, '+inf': Infinity, '-inf': -Infinity };

/** Reads "nan" and "inf", which JSON has no numbers for; 64-bit integers may be strings too. */
const valueOfWord = (_, x) => WORDS[typeof x === 'string' ? x.toLowerCase() : undefined] ?? x;

/** A scalar, or JSON; integers of 64 bits need not fit a double. */
function inlineLiteral(text, shape, name) {
  try {
    const word = text.trim().toLowerCase();
    if (word in WORDS) return Literal.from(WORDS[word], shape);
    const isBig = /^[su]64$/.test(shape.elementType);
    if (isBig && /^-?\d+$/.test(word)) return Literal.from(BigInt(word), shape);
    const value = JSON.parse(text.replace(/(?<!["\w])[-+]?\b(nan|inf)\b(?!")/gi, '"$&"'), valueOfWord);
    const big = (x) => (Array.isArray(x) ? x.map(big) : BigInt(x));
    return Literal.from(isBig ? big(value) : value, shape);
  } catch (error) {
    const why = error instanceof SyntaxError ? 'a value is a number or a list of them, as [[1, 2], [3, nan]]' : reasonOf(error);
    throw new UsageError(`--input ${name}=${text}: ${why}`);
  }
}

/** Returns a generator of pseudorandom numbers, determined by the seed. Source: mulberry32, T. Ettinger */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Matches names of variances: normalisations divide by the square root of one, which is NaN for a negative number. */
const VARIANCE = /(^|[^a-z])var(iance)?([^a-z]|$)/i;

/** Floats from -1 to 1, or from 0 to 1 if they shall be positive; integers from 0 to 9, predicates. */
export function randomLiteral(shape, random, positive = false) {
  if (shape.isTuple) return shape.tupleShapes.map((part) => randomLiteral(part, random, positive));
  if (!shape.isArray) return null;
  const plain = Shape.array(shape.elementType, shape.dimensions);
  const { kind, bits, write, Array: Natural, lanes } = ELEMENT_TYPES.get(shape.elementType);
  const data = new Natural(plain.elementCount * lanes);
  const max = Math.min(10, 2 ** (bits - (kind === 'signed' ? 1 : 0)));
  const float = () => (positive ? random() : 2 * random() - 1);
  const values = {
    pred: () => random() < 0.5, float, complex: () => [float(), float()],
    signed: () => Math.floor(max * random()), unsigned: () => Math.floor(max * random()),
  };
  for (let i = 0; i < plain.elementCount; i++) write(data, i, values[kind]());
  return new Literal(plain, data);
}

/* ---- Results ---- */

const formOf = (file) => /\.(\w+)$/.exec(file ?? '')?.[1];

/** Writes a device's results: one array as .npy, all of them as .npz or .safetensors. */
export async function writeResults(file, outputs) {
  const leaves = outputs.flatMap((output) => output.leaves()).filter(Boolean);
  await writeArrays(file, Object.fromEntries(leaves.map((leaf, i) => [`result.${i}`, leaf])));
}

/** @param {Record<string, Literal>} arrays */
async function writeArrays(file, arrays) {
  const all = Object.values(arrays);
  const write = {
    npy: () => {
      if (all.length === 1) return writeNpy(all[0].inLayout(null));
      throw new UsageError(`there are ${all.length} arrays: write them to a .npz or .safetensors file`);
    },
    npz: () => writeNpz(arrays),
    safetensors: () => writeSafetensors(arrays),
  }[formOf(file)];
  if (!write) throw new UsageError(`--output ${file}: arrays are written as .npy, .npz or .safetensors`);
  await writeOut(file, write());
}

export const isWeightsFile = (file) => ['npy', 'npz', 'safetensors'].includes(formOf(file));

/** Converts a file of arrays to another format. */
export async function convertWeights(file, output) {
  if (output === undefined) throw new UsageError('convert needs --output FILE.npy, FILE.npz or FILE.safetensors');
  await writeArrays(output, await readArrays(file));
}

/** @returns {Promise<Record<string, Literal>>} */
export async function readArrays(file) {
  const bytes = await readInput(file);
  const name = file.replace(/^.*[\\/]|\.npy$/g, '');
  const read = { npy: () => ({ [name]: readNpy(bytes) }), npz: () => readNpz(bytes), safetensors: () => readSafetensors(bytes) };
  try {
    return await read[formOf(file)]();
  } catch (error) {
    throw new UsageError(`${file}: ${error.message}`);
  }
}

export async function writeOut(file, content) {
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${error.code === 'ENOENT' ? 'there is no such folder' : systemReason(error)}`);
  }
}
