/** The command line's files: modules in, arguments in, results out. */
import { readFile, writeFile } from 'node:fs/promises';

import { Literal, XlaError } from './index.mjs';
import { argumentsByName } from './named_arguments.mjs';
import { readNpy, writeNpy } from './npy.mjs';
import { Shape } from './shape.mjs';
import { ELEMENT_TYPES } from './types.mjs';
import { readNpz, readSafetensors, writeNpz, writeSafetensors } from './weights.mjs';

export class UsageError extends Error {}

export async function readInput(file) {
  try {
    return file === '-' ? await readStandardInput() : await readFile(file);
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error.code ?? error.message}`);
  }
}

async function readStandardInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** With the place in the file in front, as compilers have it. */
export async function readModule(client, file, shapes) {
  const bytes = await readInput(file);
  try {
    if (!bytes.length) return client.parseHlo(bytes);
    return await client.load(bytes, { arguments: shapes });
  } catch (error) {
    if (!error.line) {
      if (/^load: /.test(error.message)) throw new UsageError(error.message.replace('load', file));
      throw error;
    }
    const { code, operation, line, column } = error;
    const place = `${file}:${line}:${column ?? 1}`;
    throw new XlaError(code, `${place}: ${error.message}`, { operation, line, column });
  }
}

/* ---- Arguments ---- */

/**
 * Arguments of --input: files of one array for the next parameter, or for that of a name; files of
 * several by their names; values as they are. What is left over is random, if that is wanted.
 * @param {string[]} inputs "x.npy", "name=x.npy", "name=1.5", "name=[1, 2]", "weights.npz"
 * @param {() => number} [random] from 0 to 1
 */
export async function readArguments(inputs, parameters, random) {
  const args = new Array(parameters.length).fill(undefined);
  let next = 0;
  for (const input of inputs) {
    const named = /^([^=[\]{}]+)=([^]+)$/.exec(input);
    const isPath = !named || /[\\/]/.test(named[1]);
    const value = isPath ? input : named[2];
    if (isPath && /\.(npz|safetensors)$/.test(value)) {
      await takeAll(value, parameters, args);
      continue;
    }
    if (isPath) while (args[next] !== undefined) next++;
    const number = isPath ? next++ : numberOf(named[1], parameters);
    if (number < parameters.length) args[number] = await readArgument(value, number, parameters[number]);
  }
  const given = next > parameters.length ? next : args.filter((value) => value !== undefined).length;
  if (random && given <= parameters.length) {
    return args.map((value, i) => value ?? randomLiteral(parameters[i].shape, random));
  }
  if (given === parameters.length) return args;
  const wanted = parameters.map(({ name, shape }) => `${name}: ${shape}`).join(', ') || 'none';
  throw new UsageError(`the module has ${parameters.length} parameters (${wanted}); ` +
    `${given === next ? inputs.length : given} --input were given`);
}

function numberOf(name, parameters) {
  const number = parameters.findIndex((parameter) => parameter.name === name);
  if (number >= 0) return number;
  if (/^\d+$/.test(name) && Number(name) < parameters.length) return Number(name);
  const names = parameters.map((parameter) => parameter.name).join(', ') || 'none';
  throw new UsageError(`there is no parameter "${name}"; there are ${names}`);
}

/** The arrays of a file whose names are those of parameters. */
async function takeAll(file, parameters, args) {
  const read = file.endsWith('.npz') ? readNpz : readSafetensors;
  const arrays = await read(await readInput(file)).catch((error) => {
    throw new UsageError(`${file}: ${error.message}`);
  });
  parameters.forEach((parameter, i) => {
    let found;
    try {
      [found] = argumentsByName([parameter], arrays);
    } catch (error) {
      // Others of the file's names are no parameters, or this one is not in it.
      if (/can be meant/.test(error.message)) throw new UsageError(`${file}: ${error.message}`);
      const exact = Object.keys(arrays).filter((name) => isMeant(parameter, { [name]: arrays[name] }));
      found = exact.length === 1 ? arrays[exact[0]] : undefined;
    }
    if (found) args[i] = found;
  });
}

function isMeant(parameter, arrays) {
  try {
    return argumentsByName([parameter], arrays)[0] !== undefined;
  } catch {
    return false;
  }
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

const WORDS = { nan: NaN, inf: Infinity, '-inf': -Infinity };

/** A scalar, or JSON; integers of 64 bits need not fit a double. */
function inlineLiteral(text, shape, name) {
  try {
    const word = text.trim().toLowerCase();
    if (word in WORDS) return Literal.from(WORDS[word], shape);
    const isBig = /^[su]64$/.test(shape.elementType);
    if (isBig && /^-?\d+$/.test(word)) return Literal.from(BigInt(word), shape);
    const value = JSON.parse(text);
    const big = (x) => (Array.isArray(x) ? x.map(big) : BigInt(x));
    return Literal.from(isBig ? big(value) : value, shape);
  } catch (error) {
    throw new UsageError(`--input ${name}=${text}: ${error.message}`);
  }
}

/** Numbers that look random, the same ones for the same seed. Source: mulberry32, T. Ettinger */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Floats from -1 to 1, integers from 0 to 9, predicates. */
function randomLiteral(shape, random) {
  if (shape.isTuple) return shape.tupleShapes.map((part) => randomLiteral(part, random));
  if (!shape.isArray) return null;
  const plain = Shape.array(shape.elementType, shape.dimensions);
  const { kind, bits, write, Array: Natural, lanes } = ELEMENT_TYPES.get(shape.elementType);
  const data = new Natural(plain.elementCount * lanes);
  const most = Math.min(10, 2 ** (bits - (kind === 'signed' ? 1 : 0)));
  const float = () => 2 * random() - 1;
  const values = {
    pred: () => random() < 0.5, float, complex: () => [float(), float()],
    signed: () => Math.floor(most * random()), unsigned: () => Math.floor(most * random()),
  };
  for (let i = 0; i < plain.elementCount; i++) write(data, i, values[kind]());
  return new Literal(plain, data);
}

/* ---- Results ---- */

/** Writes what a replica gave: one array as .npy, all of them as .npz or .safetensors. */
export async function writeResults(file, outputs) {
  const leaves = outputs.flatMap((output) => output.leaves()).filter(Boolean);
  const named = Object.fromEntries(leaves.map((leaf, i) => [`result.${i}`, leaf]));
  const write = {
    npy: () => {
      if (leaves.length === 1) return writeNpy(leaves[0].inLayout(null));
      throw new UsageError(`the program has ${leaves.length} results: write them to a .npz or .safetensors file`);
    },
    npz: () => writeNpz(named),
    safetensors: () => writeSafetensors(named),
  }[/\.(\w+)$/.exec(file)?.[1]];
  if (!write) throw new UsageError(`--output ${file}: results are written as .npy, .npz or .safetensors`);
  await writeOut(file, write());
}

export async function writeOut(file, content) {
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${error.code ?? error.message}`);
  }
}
