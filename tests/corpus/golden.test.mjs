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

const check = async (client, golden) => checkCase(client, golden, client.parseHlo(golden.hlo));

/** All cases of a file in one test: node --test takes a third of the time for a test of each case. */
async function checkAll(client, cases) {
  const wrong = [];
  for (const golden of cases) await check(client, golden).catch((error) => wrong.push(`${golden.name}: ${error.stack}`));
  assert.equal(wrong.length, 0, wrong.join('\n'));
}

let every = 1; // of the cases; both cores are linked of the same objects but five, so the second one runs a sample
for (const threads of [2, 0]) {
  const own = families.map(({ file, cases }) => ({ file, cases: sample(cases, wanted ? 1 : every) })).filter(({ cases }) => cases.length);
  every = 3;
  describe(`golden corpus, ${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());
    for (const { file, cases } of own) {
      if (process.env.NODE_TEST_CONTEXT) test(file, { timeout: 600_000 }, () => checkAll(client, cases));
      else describe(file, () => cases.forEach((golden) => test(golden.name, { timeout: 60_000 }, () => check(client, golden))));
    }
    test('no memory leaks', () => assert.equal(client.memoryInUse, 0));
  });
}
