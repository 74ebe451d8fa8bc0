/** Random programs of several devices against a simulation: tests/fuzz/devices.mjs, a number of programs that no clock limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fuzz } from '../fuzz/devices.mjs';
import { randomProgram } from '../fuzz/devices_programs.mjs';
import { simulate } from '../fuzz/devices_simulation.mjs';
import { textOf } from '../fuzz/devices_text.mjs';

test('random programs of several devices', { timeout: 120000 }, async () => {
  const { programs, errors } = await fuzz({ seconds: Infinity, seed: 7000, programs: 400 });
  assert.deepEqual(errors, []);
  const { plain, cancelled, killed, launched, fed } = programs;
  assert.ok(plain > 50 && cancelled > 10 && killed > 5 && launched > 50 && fed > 10, JSON.stringify(programs));
});

test('they are of every kind, and the simulation is of use', () => {
  const texts = Array.from({ length: 60 }, (_, seed) => {
    const program = randomProgram(seed);
    return program.variantOf.map((variant) => textOf(program, variant)).join('\n');
  }).join('\n');
  for (const operation of ['all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all',
    'collective-permute', 'collective-broadcast', 'send', 'recv', 'infeed', 'outfeed', 'while', 'conditional', 'use_global_device_ids']) {
    assert.ok(texts.includes(operation), operation);
  }
  const program = randomProgram(3), [first] = simulate(program);
  assert.notDeepEqual(first, program.initial[0]);
  assert.deepEqual(simulate(program)[0], first);
});
