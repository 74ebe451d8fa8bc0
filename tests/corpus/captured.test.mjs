/** Programs of other people's tests, with real XLA's results: tests/captured/README.md. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { readRecords, runRecord } from '../support/captured.mjs';

const records = await readRecords(new URL('../captured/', import.meta.url), 'jax');

for (const threads of [0, 2]) {
  describe(`JAX's own tests, ${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());

    for (const record of records) {
      test(`${record.test} ${record.id}`, { timeout: 120_000 }, async () => {
        assert.deepEqual(await runRecord(client, record), []);
      });
    }
  });
}
