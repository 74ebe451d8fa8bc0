/**
 * Tests that each rewrite of src/rewrite/base/passes.def has a program that it changes and whose results real XLA made:
 * in the golden corpus. Else a test names the rewrite.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { goldenCases, namedByTests } from '../support/coverage.mjs';

/** Names of rewrites that change some program of the corpus, until all `wanted` are found. */
async function changing(wanted) {
  const left = new Set(wanted);
  const client = await Client.create({ threads: 0 });
  for await (const { hlo, replicas, partitions } of goldenCases()) {
    if (!left.size) break;
    const module = client.parseHlo(hlo);
    for (const { pass } of client.passes(module, { replicas, ...(partitions > 1 && { partitions }) })) left.delete(pass);
    module.dispose();
  }
  client.dispose();
  return left;
}

test('each rewrite changes a program of the corpus, or is named by a test', async () => {
  const table = await readFile(new URL('../../src/rewrite/base/passes.def', import.meta.url), 'utf8');
  const names = new Set([...table.matchAll(/^PASS(?:_FOR)?\(\w+, \w+, "([\w-]+)"/gm)].map(([, name]) => name));
  assert.ok(names.size > 30);
  const left = await changing(names), named = await namedByTests();
  const forgotten = [...left].filter((name) => !named.has(name));
  assert.deepEqual(forgotten, [], 'rewrites of src/rewrite/base/passes.def without a program: add one to tests/golden/family_*.py');
});

/* XLA's client takes no bitcast, but XLA's dumps have them: the expected values are the elements in memory order. */
test('expand-bitcasts', async () => {
  const client = await Client.create({ threads: 0 });
  const module = client.parseHlo(`ENTRY e { x = f32[2,3]{1,0} parameter(0)
 c = f32[2,3]{0,1} copy(x)
 b = f32[3,2]{1,0} bitcast(c)
 ROOT r = f32[3,2]{1,0} negate(b) }`);
  assert.ok(client.passes(module).some(({ pass }) => pass === 'expand-bitcasts'));
  const [result] = await (await client.compile(module)).execute([[[1, 2, 3], [4, 5, 6]]]);
  assert.deepEqual(result.toArray(), [[-1, -4], [-2, -5], [-3, -6]]);
  client.dispose();
});
