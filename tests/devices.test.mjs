/** Random programs of several devices against a simulation: tests/fuzz/devices.mjs, for some seconds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fuzz, randomProgram, simulate, textOf } from './fuzz/devices.mjs';

test('random programs of several devices', { timeout: 120000 }, async () => {
  const { programs, errors } = await fuzz({ seconds: 60, seed: 7000, programs: 220 });
  assert.deepEqual(errors, []);
  assert.ok(programs.plain > 50 && programs.cancelled > 10 && programs.killed > 5, JSON.stringify(programs));
});

test('they are of every kind, and the simulation is of use', () => {
  const texts = Array.from({ length: 60 }, (_, seed) => textOf(randomProgram(seed))).join('\n');
  for (const operation of ['all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all',
    'collective-permute', 'send', 'recv', 'while', 'conditional', 'use_global_device_ids']) {
    assert.ok(texts.includes(operation), operation);
  }
  const program = randomProgram(3), [first] = simulate(program);
  assert.notDeepEqual(first, program.initial[0]);
  assert.deepEqual(simulate(program)[0], first);
});
