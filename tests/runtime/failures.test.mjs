/**
 * Runs that do not end by themselves: deadlocks, dying workers, cancellation. Each is a typed error of that one call, and the
 * client goes on working.
 */
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { describe, test } from 'node:test';

import { XlaError } from '../../bindings/index.mjs';
import { Random } from '../fuzz/random.mjs';
import { ADD, compileText, fails, isUsable, LONG, MATRIX, onThreads, pause, ROUNDS, SKIP, TIMEOUT } from '../support/runs.mjs';
import { startedClient } from '../support/started.mjs';

/* ---- Deadlocks ---- */

const CROSSED = `HloModule crossed
${ADD}
%first (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  %a = f32[2] all-reduce(%v), replica_groups={}, channel_id=1, to_apply=%add
  ROOT %b = f32[2] all-reduce(%a), replica_groups={}, channel_id=2, to_apply=%add
}
%second (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  %c = f32[2] all-reduce(%v), replica_groups={}, channel_id=2, to_apply=%add
  ROOT %d = f32[2] all-reduce(%c), replica_groups={}, channel_id=1, to_apply=%add
}
ENTRY %main (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  %id = u32[] replica-id()
  %zero = u32[] constant(0)
  %is = pred[] compare(%id, %zero), direction=EQ
  ROOT %c = f32[2] conditional(%is, %v, %v), true_computation=%first, false_computation=%second
}`;

describe('a deadlock is reported: who waits where for whom', () => {
  onThreads([2, 0], 'a replica skips an all-reduce', async (client) => {
    const executable = await compileText(client, SKIP, { replicas: 4 });
    for (let i = 0; i < 3; i++) {
      await fails(executable.execute([[1, 2]]), 'FAILED_PRECONDITION', /deadlock/,
        /replica 0 waits at all-reduce sum for replica 2 \(which has finished\)/,
        /replica 1 waits at all-reduce sum for replica 2/,
        /replica 3 waits at all-reduce sum for replica 2/);
    }
    await isUsable(client);
  });

  onThreads([2, 0], 'a replica loops once more', async (client) => {
    const executable = await compileText(client, ROUNDS, { replicas: 3 });
    const args = (rounds) => rounds.map((n) => [[1, 2], n]);
    await fails(executable.executeReplicas(args([5, 6, 5])), 'FAILED_PRECONDITION', /deadlock/,
      /replica 1 waits at all-reduce sum for replica 0 \(which has finished\), replica 2/);
    const results = await executable.executeReplicas(args([5, 5, 5]));
    assert.deepEqual(results[2][0].toArray(), [243, 486]);
    await isUsable(client);
  });

  onThreads([2, 0], 'two collectives in crossed order', async (client) => {
    const executable = await compileText(client, CROSSED, { replicas: 2 });
    await fails(executable.execute([[1, 2]]), 'FAILED_PRECONDITION', /deadlock/,
      /replica 0 waits at all-reduce a for replica 1 \(which waits at c\)/,
      /replica 1 waits at all-reduce c for replica 0 \(which waits at a\)/);
    await isUsable(client);
  });

  onThreads([2, 0], 'a receive without a send', async (client) => {
    const executable = await compileText(client, `HloModule lonely
ENTRY %main () -> f32[] {
  %token = token[] after-all()
  %recv = (f32[], u32[], token[]) recv(%token), channel_id=7
  %done = (f32[], token[]) recv-done(%recv), channel_id=7
  ROOT %value = f32[] get-tuple-element(%done), index=0
}`, { replicas: 2 });
    await fails(executable.execute(), 'FAILED_PRECONDITION', /deadlock/, /recv/, /channel 7/);
    await isUsable(client);
  });
});

/* ---- Workers that die ---- */

/** All workers that `body` starts and the glue talks to. */
async function workersOf(body) {
  const workers = new Set();
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...args) {
    workers.add(this);
    return postMessage.apply(this, args);
  };
  try {
    return { result: await body(), workers };
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
}

describe('a worker that dies', () => {
  /* Ends each worker in the middle of a run. Returns false if one held the scheduler's lock at that moment: the client is over. */
  async function endsBusyWorkers() {
    const { result: client, workers } = await workersOf(() => startedClient({ threads: 2 }));
    try {
      assert.equal(workers.size, 2);
      const executable = await compileText(client, LONG, { replicas: 2 });
      for (const worker of workers) {
        const run = executable.execute([MATRIX]).then(() => assert.fail('the run ended'), (error) => error);
        await pause(200);
        await worker.terminate();
        const error = await run;
        if (error.code === 'UNAVAILABLE' && /in the middle of the core/.test(error.message)) return false;
        await fails(Promise.reject(error), 'INTERNAL', /worker \d died/);
        await isUsable(client);
      }
      assert.equal(client.threads, 2);
      return true;
    } finally {
      client.dispose();
    }
  }

  test('fails the run that it was busy with, and is replaced', TIMEOUT, async () => {
    for (let tries = 1; !await endsBusyWorkers(); tries++) assert.ok(tries < 5, 'a worker held the lock each time');
  });

  test('while it waits for work has no effect on runs', TIMEOUT, async () => {
    const { result: client, workers } = await workersOf(() => startedClient({ threads: 2 }));
    for (const worker of workers) {
      await worker.terminate();
      await isUsable(client);
    }
    client.dispose();
  });

  test('again and again before it has started: the client is over, and says so', TIMEOUT, async () => {
    const { result: client, workers } = await workersOf(() => startedClient({ threads: 2 }));
    const executable = await compileText(client, LONG, { replicas: 2 });
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (...args) { // to a new one
      postMessage.apply(this, args);
      this.terminate();
    };
    try {
      const [first, second] = workers;
      const failing = fails(executable.execute([MATRIX]), 'INTERNAL', /died/);
      await pause(200);
      await first.terminate();
      await failing;
      await isUsable(client); // its place stays empty; the other goes on
      const over = fails(executable.execute([MATRIX]), 'UNAVAILABLE', /no worker thread is left/);
      await second.terminate();
      await over;
      assert.ok(client.disposed);
    } finally {
      Worker.prototype.postMessage = postMessage;
    }
  });

  test('leaks little', { timeout: 120000 }, async () => {
    const { result: client, workers } = await workersOf(() => startedClient({ threads: 1 }));
    let [worker] = workers, before = 0;
    const deaths = 12;
    for (let i = 0; i <= deaths; i++) {
      const { workers: others } = await workersOf(async () => {
        await worker.terminate();
        await isUsable(client);
      });
      if (i === 0) before = client.heapInUse;
      [worker] = others;
    }
    const bytes = (client.heapInUse - before) / deaths;
    assert.ok(bytes < 64 << 10, `${bytes} bytes stay for each`); // no stack, of 1 MB
    client.dispose();
  });

  // At any moment, with the scheduler's lock too: then the client says so, and is over.
  test('fails pending runs, and nothing ever waits for it', { timeout: 120000 }, async () => {
    const workers = new Set(), { postMessage } = Worker.prototype; // those that live
    Worker.prototype.postMessage = function (...args) {
      if (!workers.has(this)) this.once('exit', () => workers.delete(this));
      workers.add(this);
      return postMessage.apply(this, args);
    };
    const create = async () => {
      const result = await startedClient({ threads: 2 });
      return [result, await compileText(result, ROUNDS, { replicas: 4 })];
    };
    const seed = 1, random = new Random(seed);
    let [client, executable] = await create(), died = 0;
    for (let i = 0; i < 40; i++) {
      // Far more rounds than there is time for. A worker that had nothing to do dies unnoticed.
      const signal = AbortSignal.timeout(300);
      const outcome = executable.execute([[0, 0], 2 ** 30], { signal }).then(() => 'OK', (error) => {
        assert.ok(error instanceof XlaError, error.stack);
        return error.code;
      });
      const ms = 5 + 20 * random.fraction();
      await pause(ms);
      await [...workers][i % workers.size]?.terminate();
      const code = await outcome, told = `seed ${seed}, death ${i} after ${ms} ms: ${code}`;
      assert.ok(['CANCELLED', 'INTERNAL', 'UNAVAILABLE'].includes(code), told);
      died += Number(code !== 'CANCELLED');
      assert.equal(client.disposed, code === 'UNAVAILABLE', told);
      if (!client.disposed) continue;
      assert.throws(() => client.builder('x'), { code: 'UNAVAILABLE', message: /another client/ });
      await fails(executable.execute([[0, 0], 1]), 'UNAVAILABLE', /another client/);
      executable.dispose();
      workers.clear();
      [client, executable] = await create();
    }
    Worker.prototype.postMessage = postMessage;
    assert.ok(died > 5, `${died} of 40`);
    await isUsable(client);
    client.dispose();
  });
});

/* ---- Cancellation ---- */

describe('cancellation', () => {
  onThreads([2, 0], 'by an AbortSignal, in the middle of a run', async (client) => {
    const executable = await compileText(client, LONG);
    const controller = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 100);
    await assert.rejects(executable.execute([MATRIX], { signal: controller.signal }), (error) =>
      error instanceof XlaError && error.code === 'CANCELLED' && error.cause === reason);
    await isUsable(client);
  });

  onThreads([2, 0], 'of a run whose replicas wait for the host', async (client) => {
    const executable = await compileText(client, `HloModule feed
ENTRY %main () -> f32[] {
  %token = token[] after-all()
  %in = (f32[], token[]) infeed(%token)
  ROOT %value = f32[] get-tuple-element(%in), index=0
}`, { replicas: 2 });
    const signal = AbortSignal.timeout(100);
    await fails(executable.execute([], { signal }), 'CANCELLED');
    await isUsable(client);
    // The cancelled run takes none of these values; the next run does.
    client.transferToInfeed(5);
    client.transferToInfeed(6, { replica: 1 });
    const results = await executable.executeReplicas([[], []]);
    assert.deepEqual(results.map(([value]) => value.toArray()), [5, 6]);
  });

  onThreads([2], 'before the run starts', async (client) => {
    const executable = await compileText(client, LONG);
    await fails(executable.execute([MATRIX], { signal: AbortSignal.abort() }), 'CANCELLED');
    await isUsable(client);
  });

  for (const threads of [2, 0]) {
    test(`by disposing of the client, ${threads} threads`, TIMEOUT, async () => {
      const client = await startedClient({ threads });
      const executable = await compileText(client, LONG);
      const failed = fails(executable.execute([MATRIX]), 'CANCELLED', /disposed/);
      await pause(50);
      client.dispose();
      await failed;
      await fails(executable.execute([MATRIX]), 'FAILED_PRECONDITION', /disposed/);
      assert.throws(() => client.builder('x'), { code: 'FAILED_PRECONDITION' });
    });
  }
});
