/**
 * Tests that a worker sees all of the memory that it gets. V8 loses a growth by another thread while the memory arrives;
 * no test can time that, so this one looks at what prevents it: see bindings/tools/glue.mjs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import workerThreads from 'node:worker_threads';

import { startedClient } from '../support/started.mjs';

const HOOK = new URL('../support/memory_arrives.mjs', import.meta.url).href;

test('a worker grows its memory by nothing before it instantiates the core', async () => {
  const { Worker } = workerThreads;
  const seen = [];
  workerThreads.Worker = class extends Worker {
    constructor(url, options) {
      super(url, { ...options, execArgv: ['--import', HOOK] });
    }

    emit(event, message) {
      if (message?.cmd !== 'memoryArrived') return super.emit(event, message);
      seen.push(message.isGrown);
      return true;
    }
  };
  try {
    const client = await startedClient({ threads: 3 });
    client.dispose();
  } finally {
    workerThreads.Worker = Worker;
  }
  assert.deepEqual(seen, [true, true, true]);
});
