/**
 * Kills workers at any moment. The run fails or had ended; the client goes on or reports that it is broken;
 * its memory comes back; and another client in the same process is not affected.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import { XlaError } from '../../bindings/index.mjs';
import { Random } from '../fuzz/random.mjs';
import { startedClient } from '../support/started.mjs';

const ADD = 'add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }';
const LESS = 'less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n x = f32[] sine(a)\n y = f32[] sine(b)\n ROOT r = pred[] compare(x, y), direction=LT }';
const LOOP = (shape, body) => `more { s = (s32[], ${shape}) parameter(0)\n i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100000000)\n ROOT p = pred[] compare(i, n), direction=LT }
turn { s = (s32[], ${shape}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = ${shape} get-tuple-element(s), index=1
  one = s32[] constant(1)\n k = s32[] add(i, one)\n ${body}\n ROOT t = (s32[], ${shape}) tuple(k, y) }
ENTRY e { z = s32[] constant(0)\n x = ${shape} iota(), iota_dimension=0\n t = (s32[], ${shape}) tuple(z, x)
  w = (s32[], ${shape}) while(t), condition=more, body=turn\n ROOT r = ${shape} get-tuple-element(w), index=1 }`;

/** Each runs for ever, in steps of one kind: [name, text, replicas]. */
const PROGRAMS = [
  ['a region', LOOP('f32[8]', 'c = f32[8] cosine(x)\n y = f32[8] add(c, x)'), 1],
  ['factors', LOOP('f32[150,150]', `c = f32[150,150] sine(x)\n q = (f32[150,150], f32[150]) custom-call(c), custom_call_target="lapack_sgeqrf_ffi", api_version=API_VERSION_TYPED_FFI
  y = f32[150,150] get-tuple-element(q), index=0`), 2],
  ['sorts', `${LESS}\n${LOOP('f32[200000]', 'y = f32[200000] sort(x), dimensions={0}, to_apply=less')}`, 1],
  ['scatters', `${ADD}\n${LOOP('f32[300000]', `u = s32[300000,1] iota(), iota_dimension=0
  y = f32[300000] scatter(x, u, x), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add`)}`, 2],
  ['transforms', LOOP('c64[100003]', 'y = c64[100003] fft(x), fft_type=FFT, fft_length={100003}'), 1],
  ['collectives', `${ADD}\n${LOOP('f32[40000]', `g = f32[40000] all-reduce(x), replica_groups={}, to_apply=add
  p = f32[40000] collective-permute(g), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n y = f32[40000] sine(p)`)}`, 4],
  ['a call of the host', LOOP('f32[8]', 'y = f32[8] custom-call(x), custom_call_target="host"'), 2],
];
const SMALL = `HloModule m\n${ADD}\nENTRY e { x = f32[4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add }`;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const SEED = 1; // of the pauses before a death
const MAX_BYTES = 64 << 10; // of a death: no stack, of 1 MB

/** The workers that are started while `body` runs, and still live. */
async function watching(body) {
  const workers = new Set(), { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...args) {
    if (!workers.has(this)) this.once('exit', () => workers.delete(this));
    workers.add(this);
    return postMessage.apply(this, args);
  };
  try {
    return await body(workers);
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
}

async function sumOf(client) {
  const module = client.parseHlo(SMALL), executable = await client.compile(module);
  const [sum] = await executable.execute([[1, 2, 3, 4]]);
  executable.dispose();
  module.dispose();
  return sum.data[0];
}

test('workers killed in the middle of anything', { timeout: 120000 }, async (t) => {
  const random = new Random(SEED);
  const other = await startedClient({ threads: 1 });
  for (const [what, text, replicas] of PROGRAMS) {
    await t.test(what, () => watching(async (workers) => {
      const create = async () => {
        workers.clear();
        const client = await startedClient({ threads: 2 });
        client.registerCustomCall('host', async () => new Float32Array(8));
        const module = client.parseHlo(`HloModule m\n${text}`);
        return [client, await client.compile(module, { replicas })];
      };
      let [client, executable] = await create(), before, killed = 0;
      for (let i = 0; i < 8; i++) {
        const run = executable.execute([], { signal: AbortSignal.timeout(300) });
        const outcome = run.then(() => assert.fail('it ended'), (error) => error);
        const ms = 20 * random.fraction();
        await pause(ms);
        const nearby = sumOf(other);
        await [...workers][i % workers.size]?.terminate();
        const error = await outcome;
        const told = `seed ${SEED}, death ${i} after ${ms} ms: ${error.stack}`;
        assert.ok(error instanceof XlaError, told);
        assert.ok(['INTERNAL', 'UNAVAILABLE', 'CANCELLED'].includes(error.code), told);
        assert.equal(await nearby, 10, told);
        assert.equal(client.disposed, error.code === 'UNAVAILABLE', told);
        if (client.disposed) {
          [client, executable] = await create();
          before = undefined;
          continue;
        }
        assert.equal(await sumOf(client), 10, told);
        if (before === undefined) before = client.heapInUse; // the first death allocates memory that is kept
        else killed++;
      }
      const bytes = (client.heapInUse - before) / Math.max(killed, 1);
      assert.ok(!(bytes > MAX_BYTES), `${bytes} bytes stay for each of ${killed}`);
      client.dispose();
    }));
  }
  assert.equal(await sumOf(other), 10);
  other.dispose();
});
