/**
 * Mutates StableHLO texts, bytecode and jax.export files of the corpus, and reads them: whatever
 * comes of it, it must be a module or an XlaError, and soon.
 *
 *   node tests/fuzz/stablehlo.mjs [--seconds 60] [--seed 1]
 *
 * What breaks the rule is written to build/fuzz-stablehlo/.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

import { Client, XlaError } from '../../bindings/index.mjs';

const MOST_BYTES = 6000; // of a program
const MOST_MS = 2000;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});

const corpus = gunzipSync(readFileSync(new URL('../golden/stablehlo.gz', import.meta.url)));
const programs = [];
for (let at = 0; at < corpus.length;) {
  const end = corpus.indexOf(10, at);
  const [family, name, form, size] = corpus.toString('utf8', at, end).split(' ');
  at = end + 1 + Number(size);
  if (Number(size) < MOST_BYTES) programs.push({ of: `${family} ${name} ${form}`, bytes: corpus.subarray(end + 1, at) });
}

let state = Number(values.seed) >>> 0;
function next(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor(state / 2 ** 32 * limit);
}

function mutant(original) {
  const bytes = Uint8Array.from(original);
  for (let k = next(4); k >= 0; k--) {
    const at = next(bytes.length);
    const way = next(3);
    if (way === 0) bytes[at] = next(256);
    else if (way === 1) bytes[at] = bytes[next(bytes.length)];
    else bytes.copyWithin(at, next(bytes.length), at + next(20));
  }
  return next(8) ? bytes : bytes.subarray(0, next(bytes.length));
}

const folder = new URL('../../build/fuzz-stablehlo/', import.meta.url);
const client = await Client.create({ threads: 0 });
const end = Date.now() + 1000 * Number(values.seconds);
let [count, read, broken] = [0, 0, 0];
while (Date.now() < end) {
  const { of, bytes } = programs[next(programs.length)];
  const source = mutant(bytes);
  const start = Date.now();
  let problem;
  try {
    (await client.load(source)).dispose();
    read++;
  } catch (error) {
    const isTyped = error instanceof XlaError && !['INTERNAL', 'UNAVAILABLE'].includes(error.code);
    // Values that fail while they are looked at are an XlaError only at the boundary.
    if (!isTyped || error.cause instanceof TypeError) problem = (error.cause ?? error).stack;
  }
  if (Date.now() - start > MOST_MS) problem ??= `${Date.now() - start} ms`;
  count++;
  if (!problem) continue;
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${broken++}`, folder), source);
  console.log(`${of}: ${problem}`);
}
client.dispose();
console.log(`${count} programs, ${read} of which were read; ${broken} broke the rule`);
process.exitCode = broken ? 1 : 0;
