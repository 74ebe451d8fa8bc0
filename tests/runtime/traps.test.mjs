/**
 * Tests traps of the engine (out of bounds, unreachable). A trap fails the call or the run that it is in, also with the
 * scheduler's lock or on a worker whose stack is full, and the client goes on. Where it cannot, every later call says so.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { Core } from '../../bindings/host/core.mjs';
import { Client, XlaError } from '../../bindings/index.mjs';
import { ROOT } from '../support/program.mjs';
import { startedClient, threadsOf } from '../support/started.mjs';

const HLO = `HloModule m
ENTRY %main (x: f32[64,64]) -> f32[64,64] {
  %x = f32[64,64] parameter(0)
  %t = f32[64,64] tanh(%x)
  ROOT %y = f32[64,64] add(%t, %x)
}
`;
const OUTSIDE = 0xfffffff0;

const isBroken = (error) => {
  assert.ok(error instanceof XlaError, String(error?.stack));
  assert.equal(error.code, 'INTERNAL');
  assert.match(error.message, /This is a fault of xla-wasm; please report the program; create another client$/);
  return true;
};

function compiled(core, module, replicas = 1) {
  const compilation = core.need('xla_compile_begin', module, replicas, 0, 0, 0);
  while (core.call('xla_compile_run', compilation, 100)) { /* all steps */ }
  return core.need('xla_compile_end', compilation);
}

/** A core, an executable of HLO, or of a larger program, and a function that runs it once. */
async function ready(threads, text = HLO, shape = 'f32[64,64]', devices = 1) {
  const core = await Core.create(threads);
  await threadsOf(core);
  const [executable, buffer] = core.scoped((copy) => {
    const module = core.need('xla_module_parse', copy(text), text.length);
    return [compiled(core, module, devices), core.need('xla_buffer_new', copy(shape))];
  });
  const newRun = (argument = buffer) =>
    core.scoped((copy) => core.need('xla_run_new', executable, copy(new Uint32Array(devices).fill(argument)), 0, 0));
  const runs = async (run = newRun()) => {
    try {
      await core.runs.start(run);
    } finally {
      if (!core.disposed) core.call('xla_run_free', run);
    }
  };
  return { core, buffer, newRun, runs };
}

/** The functions of api.h, but for those around each call and those of threads, with the number of arguments. */
async function functionsOfApi() {
  const text = (await readFile(join(ROOT, 'src/api.h'), 'utf8')).replace(/\/\*[^]*?\*\//g, '');
  return Array.from(text.matchAll(/^XLA_API [^;(]*?(xla_\w+)\(([^)]*)\)/gm), ([, name, list]) => [name, list.split(',').length])
    .filter(([name]) => !/^xla_(call_(begin|end|abandon)|expect_threads|start|worker_lost)$/.test(name));
}

/** Functions that read a handle with the scheduler's lock: if it is of no run, no run can be given up. */
const WITH_LOCK = /^xla_(run_(?!new|seed|error)\w+|host_call_done|executable_free)$/;

for (const threads of [0, 1]) {
  test(`a trap in a call fails that call, and no later one waits, ${threads} threads`, { timeout: 120000 }, async () => {
    let made = await ready(threads), ended = [], trapped = 0;
    for (const [name, count] of await functionsOfApi()) {
      const { core } = made;
      try {
        core.call(name, ...new Array(count).fill(OUTSIDE));
      } catch (error) {
        trapped++;
        assert.ok(error instanceof XlaError, `${name}: ${error?.stack}`);
        if (core.disposed) isBroken(error);
        else assert.match(error.code, /^(INTERNAL|RESOURCE_EXHAUSTED)$/, `${name}: ${error.stack}`);
      }
      if (!core.disposed) {
        await made.runs();
        continue;
      }
      ended.push(name);
      assert.throws(() => core.call('xla_memory_in_use'), isBroken);
      await assert.rejects(made.runs(1), isBroken);
      made = await ready(threads);
    }
    assert.ok(trapped > 50, `${trapped} calls trapped`);
    const inMalloc = /_free$/;
    ended = ended.filter((name) => !WITH_LOCK.test(name) && !(threads && inMalloc.test(name)));
    assert.deepEqual(ended, []);
    made.core.dispose();
  });
}

const LARGE = HLO.replaceAll('64,64', '1000,1000');
const MEETING = `HloModule m, replica_count=4
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[64,64] parameter(0)
  t = f32[64,64] tanh(x)
  ROOT y = f32[64,64] all-reduce(t), replica_groups={}, to_apply=sum }`;

for (const threads of [0, 1, 3]) {
  for (const [what, text, shape, devices] of [['on the thread of the call', HLO, 'f32[64,64]', 1],
    ['on a worker', LARGE, 'f32[1000,1000]', 1], ['with devices that meet', MEETING, 'f32[64,64]', 4]]) {
    test(`a trap with the scheduler's lock fails the run, ${what}, ${threads} threads`, { timeout: 60000 }, async () => {
      const { core, buffer, newRun, runs } = await ready(threads, text, shape, devices);
      await runs();
      const data = core.call('xla_buffer_data', buffer);
      for (let i = 0; i < 20; i++) {
        const run = newRun(), words = core.view(Uint32Array, run, 1), kind = core.view(Uint32Array, words[0], 3);
        core.view(Uint32Array, data, 3).set([kind[0], OUTSIDE, kind[2]]); // the function that settles a turn is none
        words[0] = data;
        const other = newRun();
        const [failed, fine] = await Promise.allSettled([runs(run), runs(other)]);
        assert.equal(failed.reason?.code, 'INTERNAL', failed.reason?.stack);
        assert.match(failed.reason.message, /the core trapped/);
        assert.equal(fine.status, 'fulfilled', fine.reason?.stack);
        await runs();
      }
      core.dispose();
    });
  }
}

const GUARD = 0x57acced5, GUARD_WORDS = 4096;

/** The guards at the ends of workers' stacks. */
function stackGuards(core) {
  const words = core.view(Uint32Array, 0, core.heap.length / 4 | 0), guards = [];
  for (let i = words.indexOf(GUARD); i >= 0; i = words.indexOf(GUARD, i)) {
    let end = i;
    while (words[end] === GUARD) end++;
    if (end - i === GUARD_WORDS) guards.push(words.subarray(i, end));
    i = end;
  }
  return guards;
}

for (const threads of [1, 3]) {
  test(`a worker's stack that overflows fails the run; over data it ends the client, ${threads} threads`, { timeout: 60000 }, async () => {
    const { core, runs } = await ready(threads, LARGE, 'f32[1000,1000]');
    const rounds = async (body) => {
      for (let i = 0; i < 100; i++) if (!(await body())) return;
      assert.fail('no worker overflowed');
    };
    await rounds(async () => runs().then(() => stackGuards(core).length < threads));
    for (const guard of stackGuards(core)) guard.fill(0, -64);
    await rounds(() => runs().then(() => true, (error) => {
      assert.equal(error.code, 'RESOURCE_EXHAUSTED', error.stack);
      assert.match(error.message, /out of stack, on a worker/);
    }));
    await rounds(() => runs().then(() => false, () => true)); // the others find theirs
    for (const guard of stackGuards(core)) guard.fill(0);
    await rounds(() => runs().then(() => true, ({ code, message }) => {
      if (code === 'RESOURCE_EXHAUSTED') return true; // a worker that has slept since the guards were cut
      assert.equal(code, 'INTERNAL');
      assert.match(message, /create another client$/);
      return false;
    }));
    assert.ok(core.disposed);
    assert.throws(() => core.call('xla_memory_in_use'), isBroken);
    await assert.rejects(runs(1), isBroken);
  });
}

test('a callback whose error is UNAVAILABLE fails its run only', async () => {
  for (const threads of [0, 1]) {
    const client = await startedClient({ threads });
    client.registerCustomCall('host', () => { throw new XlaError('UNAVAILABLE', 'the printer is off'); });
    const module = client.parseHlo('ENTRY e { x = f32[2] parameter(0)\n ROOT y = f32[2] custom-call(x), custom_call_target="host" }');
    const executable = await client.compile(module);
    await assert.rejects(executable.execute([[1, 2]]), { code: 'UNAVAILABLE', message: /the printer is off/ });
    assert.ok(!client.disposed);
    client.parseHlo(HLO).dispose();
    client.dispose();
  }
});

for (const threads of [0, 1, 3]) {
  test(`a trap in a run fails the run, ${threads} threads`, { timeout: 60000 }, async () => {
    const { core, buffer, newRun, runs } = await ready(threads);
    const data = core.call('xla_buffer_data', buffer);
    const place = core.view(Uint32Array, buffer, 16).indexOf(data);
    const point = (address) => { core.view(Uint32Array, buffer, 16)[place] = address; };
    core.view(Float32Array, data, 64 * 64).fill(1);
    await runs();
    let heap = 0;
    for (let i = 0; i < 20; i++) {
      if (i < 10) heap = Math.max(heap, core.call('xla_heap_in_use')); // threads start, and hold memory for a while
      point(OUTSIDE); // the buffer's data, as it says, are where no memory is
      const run = newRun();
      point(data);
      await assert.rejects(core.runs.start(run), (error) => {
        assert.equal(error.code, 'INTERNAL', error.stack);
        assert.match(error.message, /^\w+: the core trapped: .*fault of xla-wasm.*--bisect/);
        return true;
      });
      core.call('xla_run_free', run);
      await runs();
    }
    assert.ok(core.call('xla_heap_in_use') <= heap, `${core.call('xla_heap_in_use')} bytes, ${heap} in the first rounds`);
    core.dispose();
  });
}

test('a trap in generated code, in a loop, on one of several replicas: others go on', async () => {
  const { Module } = WebAssembly;
  const client = await Client.create({ threads: 0, replicas: 2 });
  const text = `ENTRY e { x = f32[40] parameter(0)\n y = f32[40] parameter(1)\n ROOT z = f32[40] maximum(x, y) }`;
  const wrong = await client.compile(client.parseHlo(text));
  const sum = await client.compile(client.parseHlo(text.replace('maximum', 'add')));
  const args = [new Float32Array(40).fill(1), new Float32Array(40).fill(2)];
  // f32x4.max becomes unreachable.
  WebAssembly.Module = function (bytes) {
    const changed = new Uint8Array(bytes);
    for (let i = 0; i + 3 <= changed.length; i++) {
      if (changed[i] === 0xfd && changed[i + 1] === 0xe9 && changed[i + 2] === 1) changed.set([0, 1, 1], i);
    }
    return new Module(changed);
  };
  try {
    const [failed, [result]] = await Promise.all([
      assert.rejects(wrong.execute(args), { code: 'INTERNAL', message: /^z: the core trapped: unreachable/ }),
      sum.execute(args),
    ]);
    assert.equal(failed, undefined);
    assert.deepEqual(result.data, new Float32Array(40).fill(3));
  } finally {
    WebAssembly.Module = Module;
  }
  assert.deepEqual((await sum.execute(args))[0].data, new Float32Array(40).fill(3));
  wrong.dispose();
  client.dispose();
});

test('the core itself refuses arguments of other shapes, and missing ones', async () => {
  const { core, newRun } = await ready(0), other = core.scoped((copy) => core.need('xla_buffer_new', copy('f32[2]')));
  assert.throws(() => newRun(other),
    { code: 'INVALID_ARGUMENT', message: /^execute: argument leaf 0 of replica 0 is f32\[2\], which does not fit parameter f32\[64,64\]$/ });
  assert.throws(() => newRun(0),
    { code: 'INVALID_ARGUMENT', message: /^execute: argument leaf 0 of replica 0 is missing; f32\[64,64\] is expected$/ });
  core.dispose();
});
