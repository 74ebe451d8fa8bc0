/**
 * The golden corpus: programs whose operands and results real XLA made, run here, on one client
 * with threads and on one without.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { checkCase, readGolden } from '../support/golden.mjs';
import { sample } from '../support/sample.mjs';

const folder = new URL('../golden/', import.meta.url);
const wanted = process.env.GOLDEN ?? ''; // GOLDEN=dot.f32 runs the cases whose names contain it
const files = (await readdir(folder)).filter((file) => file.endsWith('.golden')).sort();
const families = [];
for (const file of files) {
  const cases = await readGolden(new URL(file, folder));
  families.push({ file, cases: cases.filter(({ name }) => name.includes(wanted)) });
}

for (const threads of [2, 0]) {
  describe(`golden corpus, ${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());
    for (const { file, cases } of families.filter((family) => family.cases.length)) {
      test(file, { timeout: 600_000 }, async () => { // a test for each case takes a third of the time
        const wrong = [], check = async (golden) => checkCase(client, golden, client.parseHlo(golden.hlo));
        // Both cores are linked of the same objects but five: all cases run on the one with threads.
        for (const golden of sample(cases, threads || wanted ? 1 : 3)) {
          await check(golden).catch((error) => wrong.push(`${golden.name}: ${error.stack}`));
        }
        assert.equal(wrong.length, 0, wrong.join('\n'));
      });
    }
    test('no memory leaks', () => assert.equal(client.memoryInUse, 0));
  });
}
