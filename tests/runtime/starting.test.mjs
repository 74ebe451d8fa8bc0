/** Tests that runs do not wait for threads that are starting. */
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { coreOf } from '../../bindings/objects/handle.mjs';
import { ADD, compileText, pause, TIMEOUT } from '../support/runs.mjs';
import { threadsOf } from '../support/started.mjs';

const SUM = `HloModule sum
${ADD}
ENTRY %main (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  ROOT %a = f32[2] all-reduce(%v), replica_groups={}, to_apply=%add
}`;
const PRODUCTS = `HloModule products
ENTRY %main (v: f32[256,256]) -> f32[256,256] {
  %v = f32[256,256] parameter(0)
  %a = f32[256,256] dot(%v, %v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %b = f32[256,256] dot(%a, %v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}`;

test('runs end before the threads have loaded the core, and after it', TIMEOUT, async () => {
  const { postMessage } = Worker.prototype;
  const held = []; // messages to the threads, without which these load nothing
  Worker.prototype.postMessage = function (...args) { held.push([this, args]); };
  const client = await Client.create({ threads: 2 });
  try {
    const [sum, products] = await Promise.all([compileText(client, SUM, { replicas: 4 }), compileText(client, PRODUCTS)]);
    const halves = new Float32Array(256 * 256).fill(0.5);
    const results = async () => [(await sum.execute([[1, 2]]))[0].toArray(), (await products.execute([halves]))[0].data[7]];
    assert.deepEqual(await results(), [[4, 8], 256 * 256 / 8]);
    const both = Promise.all([results(), results()]);
    assert.deepEqual(await both, [[[4, 8], 8192], [[4, 8], 8192]]);
    while (!held.length) await pause(5);
    const last = results();
    Worker.prototype.postMessage = postMessage;
    for (const [worker, args] of held) worker.postMessage(...args);
    assert.deepEqual(await last, [[4, 8], 8192]);
    const module = client.parseHlo('ENTRY main { ROOT zero = f32[] constant(0) }');
    await threadsOf(coreOf(module));
    assert.deepEqual(await results(), [[4, 8], 8192]);
  } finally {
    Worker.prototype.postMessage = postMessage;
    client.dispose();
  }
});
