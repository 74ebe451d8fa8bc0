/** Programs of other people's tests, and random ones of JAX, with real XLA's results: tests/captured/README.md. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { readRecords, runRecord } from '../support/captured.mjs';
import { sample } from '../support/sample.mjs';

const folder = new URL('../captured/', import.meta.url);
const FILES = [["JAX's own tests", 'jax'], ['random programs', 'random']];

for (const [name, file, threads] of FILES.flatMap((row) => [[...row, 0], [...row, 2]])) {
  const records = sample(await readRecords(folder, file), 2, threads / 2);
  describe(`${name}, ${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());

    for (const record of records) {
      test(`${record.test.split('\n').at(-1)} ${record.id}`, { timeout: 120_000 }, async () => {
        assert.deepEqual(await runRecord(client, record), []);
      });
    }
  });
}
