/** Tests that exhausted memory, at any moment of a client's life, is an error that the client survives. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import * as bindings from '../../bindings/index.mjs';
import { exhaust } from '../support/exhaustion.mjs';

describe('memory exhausted at any moment: afterwards a small program runs', () => {
  for (const threads of [0, 1, 4]) {
    test(`${threads} threads`, { timeout: 120000 }, async () => {
      assert.deepEqual(await exhaust(bindings, threads), []);
    });
  }
});
