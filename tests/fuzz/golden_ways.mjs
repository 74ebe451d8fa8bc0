/**
 * The programs of the golden corpus and those of JAX's tests (tests/captured), each compiled and run in some of the ways
 * that must give the same results.
 *
 *     node tests/fuzz/golden_ways.mjs [--seed N] [--each N] [--only SUBSTRING]
 *
 * The reference is real XLA, with each case's tolerance. `--each`: how many ways for each case (4).
 */
import { readdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { readRecords, runRecord } from '../support/captured.mjs';
import { argumentsOf, difference, literalOf, readGolden } from '../support/golden.mjs';
import { Random } from './random.mjs';

const FOLDER = new URL('../golden/', import.meta.url);
const CAPTURED = new URL('../captured/', import.meta.url);
const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, each: { type: 'string', default: '4' }, only: { type: 'string', default: '' } },
});

/** Random options of a compilation, and whether arguments are donated. */
function randomWay(random, names) {
  const stages = ['in-place', 'row-groups', 'regions', 'large-chunks'];
  const disable = random.pick([
    () => names, () => names.filter((name) => name.startsWith('kernel-')), () => [random.pick(stages)], () => stages,
    () => random.some(names, 0.05), () => random.some(names, 0.3), () => random.some(names, 0.7), () => [random.pick(names)],
    () => names.filter((name) => name !== 'fuse-loops'),
  ])();
  return { disable, donates: random.chance(0.3), threads: random.pick([0, 0, 2]) };
}

const clients = new Map();
async function clientOf(threads) {
  if (!clients.get(threads) || clients.get(threads).disposed) clients.set(threads, await Client.create({ threads }));
  return clients.get(threads);
}

async function run(golden, { disable, donates, threads }) {
  const { replicas, partitions } = golden, client = await clientOf(threads);
  const module = client.parseHlo(golden.hlo);
  try {
    const executable = await client.compile(module, { ...(partitions > 1 ? { replicas, partitions } : { replicas }), disable, timeoutMs: 30000 });
    const args = Array.from({ length: replicas * partitions }, (_, device) =>
      argumentsOf((golden.inputs[device] ?? []).map((leaf) => literalOf(leaf)), module.parameters));
    const isPlain = module.parameters.every(({ shape }) => shape.isArray && !shape.isDynamic);
    const given = donates && isPlain ? args.map((list) => list.map((literal) => client.buffer(literal))) : args;
    const options = donates && isPlain ? { donate: module.parameters.map((_, i) => i) } : {};
    const results = await executable.executeReplicas(given, { ...options, timeoutMs: 30000 });
    executable.dispose();
    for (const [device, outputs] of results.entries()) {
      const leaves = outputs.flatMap((output) => output.leaves()).filter(Boolean);
      for (const [i, leaf] of leaves.entries()) {
        const problem = difference(leaf, golden.outputs[device][i], golden.tolerance);
        if (problem) return `device ${device}, result ${i}: ${problem}`;
      }
    }
    return undefined;
  } finally {
    if (!client.disposed) module.dispose();
  }
}

let [runs, wrong] = [0, 0];
const names = (await clientOf(0)).optionalPasses;
/** Errors with which some ways refuse a program: too many steps for the evaluator, and calls of the host. */
const REFUSED = /infeed|outfeed|callback|registerCustomCall|what is applied to elements|timeoutMs/;

/** Cases that take the evaluator a minute each. */
const SLOW = /sort\.many|topk\.many/;

/** Runs a program in some ways. `run(way)` gives the difference, if there is one. */
async function inSomeWays(name, run) {
  if (!name.includes(values.only) || SLOW.test(name)) return;
  const random = new Random(Number(values.seed) + runs);
  for (let k = 0; k < Number(values.each); k++, runs++) {
    const way = randomWay(random, names);
    let problem;
    try {
      problem = await run(way);
    } catch (error) {
      if (!REFUSED.test(`${error.message} ${error.code}`)) problem = `${error.code ?? error.name}: ${error.message}`;
    }
    if (!problem) continue;
    wrong++;
    console.log(`${name} ${JSON.stringify(way)}: ${problem}`);
  }
}

for (const file of (await readdir(FOLDER)).filter((name) => name.endsWith('.golden'))) {
  for (const golden of await readGolden(new URL(file, FOLDER))) await inSomeWays(`${file} ${golden.name}`, (way) => run(golden, way));
}
for (const record of await readRecords(CAPTURED)) {
  await inSomeWays(`captured ${record.id}`, async ({ threads, disable }) =>
    (await runRecord(await clientOf(threads), record, { disable, timeoutMs: 30_000 }))[0]);
}
console.log(`${runs} runs, ${wrong} wrong`);
for (const client of clients.values()) client.dispose();
process.exitCode = wrong ? 1 : 0;
