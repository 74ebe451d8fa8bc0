/**
 * Tests traps of the engine (out of bounds, unreachable). After a trap the memory may be corrupt, so the
 * client is broken and says so. Stacks do not overflow into other data.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Core } from '../bindings/core.mjs';
import { XlaError } from '../bindings/index.mjs';

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
  test(`a trap in a run breaks the client, ${threads} threads`, { timeout: 60000 }, async () => {
    const core = await Core.create(threads);
    const run = core.scoped((copy) => {
      const module = core.need('xla_module_parse', copy(HLO), HLO.length);
      const executable = compiled(core, module);
      const buffer = core.need('xla_buffer_new', copy('f32[64,64]'));
      // The buffer's data, as it says, are where no memory is.
      const data = core.call('xla_buffer_data', buffer);
      const words = core.view(Uint32Array, buffer, 16);
      words[words.indexOf(data)] = OUTSIDE;
      assert.equal(core.call('xla_buffer_data', buffer), OUTSIDE);
      return core.need('xla_run_new', executable, copy(Uint32Array.of(buffer)), 0, 0);
    });
    await assert.rejects(core.runs.start(run), isBroken);
    assert.ok(core.disposed);
  });
}
