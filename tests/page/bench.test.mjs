/** Tests that the page of `make bench` runs the package: make bench is no part of make test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chromiumHosts } from '../bench/hosts.mjs';

test('an engine starts in the page of make bench', { timeout: 120000 }, async () => {
  const hosts = await chromiumHosts();
  try {
    const host = await hosts.start(2);
    const { workloads, loadMs } = await host.call('start', 'xla', 2);
    assert.ok(workloads.includes('small') && loadMs > 0, `${workloads} ${loadMs}`);
    await host.close();
  } finally {
    await hosts.close();
  }
});
