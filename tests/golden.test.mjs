/**
 * The golden corpus: programs whose operands and results real XLA made, run here, on one client
 * with threads and on one without.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client } from '../bindings/index.mjs';
import { argumentsOf, difference, literalOf, readGolden } from './golden.mjs';

const folder = new URL('./golden/', import.meta.url);
const wanted = process.env.GOLDEN ?? ''; // GOLDEN=dot.f32 runs the cases whose names contain it
const files = (await readdir(folder)).filter((file) => file.endsWith('.golden')).sort();
const families = [];
for (const file of files) {
  const cases = await readGolden(new URL(file, folder));
  families.push({ file, cases: cases.filter(({ name }) => name.includes(wanted)) });
}

async function check(client, golden) {
  const module = client.parseHlo(golden.hlo);
  const executable = await client.compile(module, { replicas: golden.replicas });
  try {
    const args = Array.from({ length: golden.replicas }, (_, replica) => {
      const leaves = (golden.inputs[replica] ?? []).map((leaf) => literalOf(leaf));
      return argumentsOf(leaves, module.parameters);
    });
    const results = await executable.executeReplicas(args);
    const problems = results.flatMap((outputs, replica) => {
      const leaves = outputs.flatMap((output) => output.leaves()).filter((leaf) => leaf);
      const expected = golden.outputs[replica] ?? [];
      assert.equal(leaves.length, expected.length, 'number of results');
      return leaves.map((leaf, i) => {
        const problem = difference(leaf, expected[i], golden.tolerance);
        return problem && `replica ${replica}, result ${i}: ${problem}`;
      });
    });
    const wrong = problems.filter(Boolean);
    if (wrong.length) assert.fail(wrong.join('\n'));
  } finally {
    executable.dispose();
    module.dispose();
  }
}

for (const threads of [2, 0]) {
  describe(`golden corpus, ${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());
    for (const { file, cases } of families.filter((family) => family.cases.length)) {
      describe(file, () => {
        for (const golden of cases) {
          test(golden.name, { timeout: 60_000 }, () => check(client, golden));
        }
      });
    }
    test('no memory is left behind', () => assert.equal(client.memoryInUse, 0));
  });
}
