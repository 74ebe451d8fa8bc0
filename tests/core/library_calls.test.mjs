/**
 * Library calls (LAPACK's routines, sparse products) run in every way: as they are, operation by operation, and without
 * the kernels, although WebAssembly's evaluator has no routines of its own for them. The results are real XLA's.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { argumentsOf, difference, literalOf, readGolden } from '../support/golden.mjs';

const FOLDER = new URL('../golden/', import.meta.url);
const TARGET = /custom_call_target="((?:lapack_|cpu_csr_)\w+)"/g;

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

async function problemOf(golden, options) {
  const module = client.parseHlo(golden.hlo), executable = await client.compile(module, options);
  const args = argumentsOf((golden.inputs[0] ?? []).map((leaf) => literalOf(leaf)), module.parameters);
  const leaves = (await executable.execute(args)).flatMap((output) => output.leaves()).filter(Boolean);
  for (const each of [executable, module]) each.dispose();
  return leaves.map((leaf, i) => difference(leaf, golden.outputs[0][i], golden.tolerance)).find(Boolean);
}

test('each routine of the corpus', async () => {
  const seen = new Map();
  for (const file of (await readdir(FOLDER)).filter((name) => name.endsWith('.golden'))) {
    for (const golden of await readGolden(new URL(file, FOLDER))) {
      const targets = [...golden.hlo.matchAll(TARGET)].map(([, target]) => target);
      if (golden.replicas * golden.partitions > 1 || !targets.some((target) => (seen.get(target) ?? 0) < 3)) continue;
      for (const target of targets) seen.set(target, (seen.get(target) ?? 0) + 1);
      const kernels = client.optionalPasses.filter((name) => name.startsWith('kernel-'));
      for (const options of [{}, { optimize: false }, { disable: kernels }]) {
        const problem = await problemOf(golden, options).catch((error) => error.stack);
        if (problem) assert.fail(`${file} ${golden.name} ${JSON.stringify(options)}: ${problem}`);
      }
    }
  }
  assert.ok(seen.size > 20, [...seen.keys()].join());
});
