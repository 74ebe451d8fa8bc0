/** A client's life in a page: memory that is exhausted, workers that are ended from outside. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { isolatedPage, launch } from '../support/browser.mjs';
import { ROOT } from '../support/program.mjs';
import { ISOLATED, serveFolder } from '../support/project.mjs';
import { ALL } from '../support/sample.mjs';

describe('in Chromium', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await serveFolder(ROOT, ISOLATED);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });
  const inPage = async (body, argument) => {
    const page = await isolatedPage(browser, server);
    try {
      return await page.evaluate(body, argument);
    } finally {
      await page.close();
    }
  };

  for (const threads of ALL ? [0, 2] : [2]) { // runtime/exhaustion.test.mjs exhausts it without threads
    test(`memory exhausted, ${threads} threads`, { timeout: 120000 }, async () => {
      assert.deepEqual(await inPage(async (count) => {
        const { exhaust: inThisPage } = await import('/tests/support/exhaustion.mjs');
        return inThisPage(await import('/bindings/index.mjs'), count);
      }, threads), []);
    });
  }

  test('a first result comes before the threads, which then start', { timeout: 60000 }, async () => {
    const { sum, before, ms, after: later, threads } = await inPage(async () => {
      let started = 0;
      globalThis.Worker = class extends globalThis.Worker {
        constructor(...args) {
          super(...args);
          started++;
        }
      };
      const { Client } = await import('/bindings/index.mjs');
      const client = await Client.create({ threads: 2 });
      const began = performance.now();
      const executable = await client.compile(client.parseHlo('ENTRY e { x = f32[] parameter(0)\n ROOT y = f32[] add(x, x) }'));
      const [y] = await executable.execute([3]);
      const atFirst = started;
      const took = performance.now() - began;
      for (let i = 0; i < 100 && started < 2; i++) await new Promise((resolve) => { setTimeout(resolve, 50); });
      return { sum: y.data[0], before: atFirst, ms: took, after: started, threads: client.threads };
    });
    assert.deepEqual([sum, later, threads], [6, 2, 2]);
    assert.ok(before === 0 || ms > 100, `${before} workers after ${ms} ms`); // they do not wait longer
  });

  for (const [how, counts] of [['timeoutMs', [1, 2]], ['signal', [2, 1]], ['neither', [1, 2]]]) {
    for (const count of ALL ? counts : counts.slice(0, 1)) {
      test(`${count} of 2 workers ended from outside, a run with ${how}`, { timeout: 60000 }, async () => {
        const { first, ms, next, threads } = await outsideOfTheCore(() => inPage(endWorkers, { how, count }));
        const codes = { timeoutMs: ['DEADLINE_EXCEEDED'], signal: ['CANCELLED'], neither: ['INTERNAL'] }[how];
        // On a busy machine, the worker that ends may hold no part of the run: the other then finishes it.
        if (how === 'neither' && count === 1) codes.push('OK');
        assert.ok(codes.includes(first), first);
        assert.deepEqual([next, threads], [[true, true], 2]);
        // Chromium lets a worker live for 2 s; a run with a timeout or a signal ends within a second.
        assert.ok(ms < (how === 'neither' ? 30000 : 2000), `${ms} ms`);
      });
    }
  }
});

/** Tries again if a worker had the core's lock when it ended: then the client ends, too, and says so. */
async function outsideOfTheCore(attempt, tries = 3) {
  try {
    return await attempt();
  } catch (error) {
    if (tries === 1 || !/died in the middle of the core/.test(error.message)) throw error;
    return outsideOfTheCore(attempt, tries - 1);
  }
}

/** Runs in the page: the outcome of a long run whose workers end, its time, and whether later runs work. */
async function endWorkers({ how, count }) {
  const workers = [];
  globalThis.Worker = class extends globalThis.Worker {
    constructor(...args) {
      super(...args);
      workers.push(this);
    }
  };
  const { startedClient } = await import('/tests/support/started.mjs');
  const text = (turns) => `HloModule m
more { s = (s32[], f32[65536]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 n = s32[] constant(${turns})
 ROOT p = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[65536]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 x = f32[65536] get-tuple-element(s), index=1
 o = s32[] constant(1)
 j = s32[] add(i, o)
 y = f32[65536] sine(x)
 ROOT t = (s32[], f32[65536]) tuple(j, y) }
ENTRY e { p = f32[65536] parameter(0)
 z = s32[] constant(0)
 t = (s32[], f32[65536]) tuple(z, p)
 w = (s32[], f32[65536]) while(t), condition=more, body=turn
 ROOT r = f32[65536] get-tuple-element(w), index=1 }`;
  const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
  const client = await startedClient({ threads: 2 });
  const [long, short] = await Promise.all([how === 'neither' ? 4000 : 1e8, 100].map((turns) => client.compile(client.parseHlo(text(turns)))));
  const args = [new Float32Array(65536)];
  const abort = new AbortController();
  const run = long.execute(args, { ...(how === 'timeoutMs' && { timeoutMs: 200 }),
    ...(how === 'signal' && { signal: abort.signal }) }).then(() => 'OK', (error) => error.code);
  await pause(100);
  workers.splice(0, count).forEach((worker) => worker.terminate());
  const start = performance.now();
  if (how === 'signal') abort.abort();
  const first = await run;
  const ms = performance.now() - start;
  const next = [];
  for (let i = 0; i < 2; i++) next.push((await short.execute(args))[0].data[0] === 0);
  const { threads } = client;
  client.dispose();
  return { first, ms, next, threads };
}
