/**
 * Mutates StableHLO programs, text and bytes. Each must be read, or refused with an XlaError, within
 * ten seconds; a program that is read must compile or be refused likewise.
 *
 *     node tests/fuzz/stablehlo.mjs [--seconds 60] [--seed N]
 *
 * Programs: golden/stablehlo.gz, golden/exports and golden/vhlo. A program that breaks something is written to
 * stablehlo-failure.bin in the working folder.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

import { Client, XlaError } from '../../bindings/index.mjs';

const { values } = parseArgs({ options: {
  seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: `${Date.now() % 2 ** 31}` } } });
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const folder = new URL('../golden/', import.meta.url);
const MAX_BYTES = 20000;
const MAX_MS = 10_000;

/** The programs of both formats: a line whose last word is how many bytes follow it. */
async function readPrograms() {
  const names = (await readdir(new URL('exports/', folder))).filter((name) => name.endsWith('.gz'));
  const programs = [await readFile(new URL('vhlo/everything.vhlo', folder))];
  for (const name of ['stablehlo.gz', ...names.map((file) => `exports/${file}`)]) {
    const bytes = gunzipSync(await readFile(new URL(name, folder)));
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(10, at);
      const words = bytes.toString('utf8', at, end).split(' ');
      at = end + 1 + Number(words.at(-1));
      const isProgram = words.length === 4 || words[1] === 'program';
      if (isProgram && at - end <= MAX_BYTES) programs.push(bytes.subarray(end + 1, at));
    }
  }
  return programs;
}

/** Numbers that look random. Source: mulberry32, T. Ettinger */
let state = seed;
function next(limit) {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return Math.floor(((t ^ (t >>> 14)) >>> 0) / 2 ** 32 * limit);
}

/** Bytes changed, moved, left out, put in twice; words of one program in another; an end cut off. */
function mutated(programs) {
  let bytes = Uint8Array.from(programs[next(programs.length)]);
  const other = programs[next(programs.length)];
  const piece = (from) => {
    const at = next(from.length);
    return from.subarray(at, at + next(40));
  };
  const spliced = (at, length, put) => Uint8Array.from([...bytes.subarray(0, at), ...put, ...bytes.subarray(at + length)]);
  const changes = [
    () => { bytes[next(bytes.length)] ^= 1 << next(8); },
    () => { bytes[next(bytes.length)] = next(256); },
    () => { bytes[next(bytes.length)] = bytes[next(bytes.length)]; },
    () => { bytes.copyWithin(next(bytes.length), next(bytes.length), next(bytes.length)); },
    () => { bytes = spliced(next(bytes.length), next(20), []); },
    () => { bytes = spliced(next(bytes.length), 0, piece(bytes)); },
    () => { bytes = spliced(next(bytes.length), next(20), piece(other)); },
    () => { bytes = bytes.slice(0, next(bytes.length)); },
  ];
  for (let k = next(4); k >= 0 && bytes.length; k--) changes[next(changes.length - (k ? 1 : 0))]();
  return bytes;
}

const programs = await readPrograms();
let client = await Client.create({ threads: 0, maxMemory: 2 ** 30 });
const counts = { read: 0, compiled: 0 };
let slowest = 0;

async function attempt(bytes) {
  const start = performance.now();
  try {
    const module = await client.parseStableHlo(bytes);
    counts.read++;
    try {
      (await client.compile(module)).dispose();
      counts.compiled++;
    } finally {
      module.dispose();
    }
  } catch (error) {
    if (!(error instanceof XlaError) || error.code === 'INTERNAL' || error.code === 'UNAVAILABLE') throw error;
    counts[error.code] = (counts[error.code] ?? 0) + 1;
  }
  const took = performance.now() - start;
  slowest = Math.max(slowest, took);
  if (took > MAX_MS) throw new Error(`took ${took.toFixed(0)} ms`);
}

const end = performance.now() + 1000 * seconds;
let [tries, failures] = [0, 0];
for (; performance.now() < end; tries++) {
  const bytes = mutated(programs);
  try {
    await attempt(bytes);
  } catch (error) {
    failures++;
    console.log(`seed ${seed}, try ${tries}: ${error.stack}`);
    await writeFile('stablehlo-failure.bin', bytes);
    client.dispose();
    client = await Client.create({ threads: 0, maxMemory: 2 ** 30 });
  }
}
console.log(`seed ${seed}: ${tries} programs, ${failures} failures, slowest ${slowest.toFixed(0)} ms`, counts);
client.dispose();
process.exitCode = failures || !tries ? 1 : 0;
