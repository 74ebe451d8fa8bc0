/** Tests that a client that is created and disposed a thousand times leaks no memory. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const INDEX = new URL('../../bindings/index.mjs', import.meta.url);
const ROUNDS = 200;
const MB = 1e6;

/**
 * Runs rounds of create, run, dispose in a process of its own, which prints the growth of its heap and of its
 * memory from the tenth round to the last, in bytes. The engine's young generation and the C library's arenas
 * are kept from growing, as they take tens of MB that are no leak.
 */
async function grown({ threads, rounds = ROUNDS, wait = 0, keep = false }) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc', '--max-semi-space-size=1', '--input-type=module', '--eval', `
      import { setTimeout as sleep } from 'node:timers/promises';
      import { Client } from '${INDEX}';
      const kept = [];
      let base;
      const used = async () => { // threads give memory back late on a busy machine
        let least = Infinity;
        for (let same = 0; same < 6; same++) {
          globalThis.gc();
          await sleep(30);
          const { rss } = process.memoryUsage();
          if (rss < least) same = 0;
          least = Math.min(least, rss);
        }
        return process.memoryUsage();
      };
      for (let i = 1; i <= ${rounds}; i++) {
        const client = await Client.create({ threads: ${threads} });
        const b = client.builder();
        const executable = await client.compile(b.build(b.neg(b.parameter(0, 'f32[64]'))));
        await executable.execute([new Float32Array(64)]);
        if (${wait}) await sleep(${wait});
        client.dispose();
        if (${keep}) kept.push(client);
        if (i === 10) base = await used();
      }
      const { heapUsed, rss } = await used();
      console.log(JSON.stringify([heapUsed - base.heapUsed, rss - base.rss, kept.length]));`,
  ], { env: { ...process.env, MALLOC_ARENA_MAX: '1' } });
  const [heap, rss] = JSON.parse(stdout);
  return { heap, rss };
}

describe('create, run, dispose, again and again', { concurrency: false }, () => {
  // Of a leak of 133 kB a round, 27 MB: it was so.
  for (const threads of [0, 1, 4]) {
    test(`${threads} threads`, { timeout: 120000 }, async () => {
      const { heap, rss } = await grown({ threads });
      assert.ok(heap < MB, `${heap} bytes of heap`);
      assert.ok(rss < 5 * MB + 2 * MB, `${rss} bytes of memory`);
    });
  }

  test('threads that have started', { timeout: 120000 }, async () => {
    const { heap, rss } = await grown({ threads: 2, rounds: 60, wait: 40 });
    assert.ok(heap < MB, `${heap} bytes of heap`);
    assert.ok(rss < 10 * MB, `${rss} bytes of memory`);
  });

  test('clients that are disposed, but not forgotten', { timeout: 120000 }, async () => {
    const { rss } = await grown({ threads: 1, rounds: 60, wait: 40, keep: true });
    assert.ok(rss < 10 * MB, `${rss} bytes of memory`);
  });
});
