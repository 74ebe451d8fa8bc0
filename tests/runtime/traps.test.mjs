/**
 * Tests traps of the engine (out of bounds, unreachable). A trap in a run fails this run, and the client goes on. A trap
 * in another call, which may leave runs in an unknown state, breaks the client, which says so.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Core } from '../../bindings/host/core.mjs';
import { Client, XlaError } from '../../bindings/index.mjs';

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
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /the core trapped: .*; create another client$/);
  return true;
};

function compiled(core, module) {
  const compilation = core.need('xla_compile_begin', module, 1, 0, 0, 0);
  while (core.call('xla_compile_go_on', compilation, 100)) { /* all steps */ }
  return core.need('xla_compile_end', compilation);
}

test('a trap in a call breaks the client', async () => {
  const core = await Core.create(0);
  assert.throws(() => core.call('xla_buffer_data', OUTSIDE), isBroken);
  assert.ok(core.disposed);
  assert.throws(() => core.call('xla_memory_in_use'), isBroken);
});

for (const threads of [0, 1, 3]) {
  test(`a trap in a run fails the run, ${threads} threads`, { timeout: 60000 }, async () => {
    const core = await Core.create(threads);
    const [executable, buffer] = core.scoped((copy) => {
      const module = core.need('xla_module_parse', copy(HLO), HLO.length);
      return [compiled(core, module), core.need('xla_buffer_new', copy('f32[64,64]'))];
    });
    const data = core.call('xla_buffer_data', buffer);
    const place = core.view(Uint32Array, buffer, 16).indexOf(data);
    const point = (address) => { core.view(Uint32Array, buffer, 16)[place] = address; };
    const newRun = () => core.scoped((copy) => core.need('xla_run_new', executable, copy(Uint32Array.of(buffer)), 0, 0));
    const goesOn = async () => {
      const run = newRun();
      await core.runs.start(run);
      core.call('xla_run_free', run);
    };
    core.view(Float32Array, data, 64 * 64).fill(1);
    await goesOn();
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
      await goesOn();
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
