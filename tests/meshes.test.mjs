/** The programs of the page's meshes: those that work do, those that hang say who waits for whom. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../bindings/index.mjs';
import { meetingsOf } from '../demo/meshes/meetings.mjs';
import { MESH_PROGRAMS } from '../demo/meshes/programs.mjs';
import { runProgram } from '../demo/shared/run_program.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
});
after(() => client?.dispose());

for (const { name, program, mesh, inputs, hangs } of MESH_PROGRAMS) {
  test(name, async () => {
    const executable = await client.compile(client.parseHlo(program), mesh);
    const run = () => runProgram(client, executable, { inputs, text: program, timeoutMs: 5000 });
    if (!hangs) {
      const { events } = await run();
      assert.ok(meetingsOf(program, executable, events).length > 0);
      return;
    }
    const error = await run().then(() => assert.fail('it ran through'), (failure) => failure);
    assert.match(error.message, /deadlock/);
    for (const { line, missing } of error.waiting) {
      assert.match(program.split('\n')[line - 1], /all-reduce|recv/);
      assert.ok(missing.length > 0);
    }
  });
}

test('who meets whom, in each group mode', async () => {
  const { program, mesh } = MESH_PROGRAMS.find(({ name }) => name.includes('group modes'));
  const executable = await client.compile(client.parseHlo(program), mesh);
  const { events, outputs } = await runProgram(client, executable, { text: program });
  const meetings = meetingsOf(program, executable, events);
  const of = (name) => meetings.filter((meeting) => meeting.name === name)
    .map(({ devices }) => [...devices].sort((a, b) => a - b)).sort((a, b) => a[0] - b[0]);
  assert.deepEqual(of('replicas'), [[0, 4], [1, 5], [2, 6], [3, 7]]);
  assert.deepEqual(of('everyone'), [[0, 1, 2, 3, 4, 5, 6, 7]]);
  assert.deepEqual(of('rows'), [[0, 1, 2, 3], [4, 5, 6, 7]]);
  const arrows = meetings.filter(({ name }) => name === 'partitions').flatMap(({ pairs }) => pairs);
  assert.deepEqual(arrows.sort(), [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]].sort());
  // What came out agrees: sums over those who met.
  const number = (device) => Math.floor(device / 4) * 10 + (device % 4);
  outputs.forEach((leaves, device) => {
    const sums = ['replicas', 'everyone', 'rows'].map((name) =>
      of(name).find((devices) => devices.includes(device)).reduce((sum, one) => sum + number(one), 0));
    assert.deepEqual(leaves.slice(0, 3).map((literal) => literal.data[0]), sums);
  });
});
