/**
 * Measures what random programs see: each rewrite and kernel in turn is made wrong (src/base/step.h), until a program's
 * result differs. Prints for each after how many programs that was.
 *
 *     make build/faulty/xla-single.mjs; node tests/fuzz/sees.mjs [--seconds N] [--seed N]
 *
 * A wrong rewrite turns additions of floats into subtractions, so it can be seen only where it leaves some. A wrong
 * kernel overwrites the first elements of its result.
 */
import { parseArgs } from 'node:util';

import { faultyClient } from '../support/faulty.mjs';
import { generate } from './generate.mjs';
import { buildModule } from './program.mjs';
import { HOST_TARGET, reverseElements } from './rules_loops.mjs';
import { leafOf } from './run.mjs';

/** Steps that are no rewrites, or that have no results. */
const NOT_WRONG = ['in-place', 'row-groups', 'regions', 'large-chunks', 'kernel-nothing'];
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});

const { client, put } = await faultyClient();
client.registerCustomCall(HOST_TARGET, reverseElements);

/** All results of a program as text. */
async function resultsOf(module, { replicas, literals }) {
  const executable = await client.compile(module, { replicas });
  try {
    const args = Array.from({ length: replicas }, (_, replica) => literals.map((perReplica) => perReplica[replica]));
    const results = await executable.executeReplicas(args, { timeoutMs: 10_000 });
    return JSON.stringify(results.map((outputs) =>
      outputs.flatMap((output) => output.leaves()).filter(Boolean).map((leaf) => leafOf(leaf.inLayout(null)))));
  } finally {
    executable.dispose();
  }
}

/** Whether the results differ while a step is wrong. */
async function isSeen(step, module, job, wanted) {
  put(step);
  try {
    return await resultsOf(module, job) !== wanted;
  } catch {
    return true;
  } finally {
    put('');
  }
}

const names = client.optionalPasses.filter((name) => !NOT_WRONG.includes(name)), seen = new Map();
const end = Date.now() + 1000 * Number(values.seconds);
let programs = 0;
for (let seed = Number(values.seed); Date.now() < end && seen.size < names.length; seed++) {
  const program = generate(client, seed, { refused: () => {} }), outputs = program.chooseOutputs();
  if (!outputs.length) continue;
  const { module, literals } = buildModule(client, program.steps, outputs, new Map());
  const job = { replicas: program.replicas, literals };
  const wanted = await resultsOf(module, job).catch(() => null);
  if (wanted !== null) {
    programs++;
    const changed = new Set(client.passes(module, { replicas: program.replicas }).map(({ pass }) => pass));
    for (const name of names) {
      if (seen.has(name) || (!name.startsWith('kernel-') && !changed.has(name))) continue;
      if (await isSeen(name, module, job, wanted)) seen.set(name, programs);
    }
  }
  module.dispose();
}
for (const name of names) console.log(`${name.padEnd(26)} ${seen.get(name) ?? '-'}`);
console.log(`${seen.size} of ${names.length} seen in ${programs} programs`);
client.dispose();
