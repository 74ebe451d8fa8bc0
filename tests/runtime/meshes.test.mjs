/** Tests the programs of the page's meshes: some work; the others hang, and the error names the waiting devices. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { rendezvousOf } from '../../demo/meshes/rendezvous.mjs';
import { MESH_PROGRAMS } from '../../demo/meshes/programs.mjs';
import { loadProgram } from '../../demo/shared/loaded_program.mjs';
import { runProgram } from '../../demo/shared/run_program.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
});
after(() => client?.dispose());

for (const { name, program, mesh, inputs, hangs } of MESH_PROGRAMS) {
  test(name, async () => {
    const loaded = await loadProgram(client, program, { mesh });
    assert.equal(loaded.parameters.length, inputs.length);
    const run = () => runProgram(loaded, { inputs, timeoutMs: 5000 });
    if (!hangs) {
      const { events } = await run();
      assert.ok(rendezvousOf(loaded, events).length > 0);
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
  const loaded = await loadProgram(client, program, { mesh });
  const { events, outputs } = await runProgram(loaded);
  const meetings = rendezvousOf(loaded, events);
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

/* Each device's result says who was in its group in the core: a bit or an element for each. */
const OF_GROUPS = {
  'all-reduce': (_count, attributes) => `one = u32[] constant(1)
  bit = u32[] shift-left(one, d)
  ROOT x = u32[] all-reduce(bit), ${attributes}, to_apply=add`,
  'all-gather': (count, attributes) => `v = u32[1] reshape(d)
  ROOT x = u32[${count}] all-gather(v), ${attributes}, dimensions={0}`,
  'all-to-all': (count, attributes) => `v = u32[${count}] broadcast(d), dimensions={}
  ROOT x = u32[${count}] all-to-all(v), ${attributes}, dimensions={0}`,
};
const MODES = [ // replica_groups, devices in a group, other attributes
  ['{}', 2, ''], ['{{1,0}}', 2, ''], ['{{0},{1}}', 1, ''],
  ['{}', { 'all-to-all': 4, other: 8 }, ', channel_id=1'],
    ['{{0},{1}}', { 'all-to-all': 1, other: 4 }, ', channel_id=1', ['all-reduce', 'all-gather']],
  ['{{0,2},{3,1}}', 2, ', channel_id=1', ['all-to-all']],
  ['{{0,5,2,7},{4,1,6,3}}', 4, ', channel_id=1, use_global_device_ids=true', ['all-reduce', 'all-gather']],
];
for (const [operation, body] of Object.entries(OF_GROUPS)) {
  test(`${operation}: its groups are the core's, in each group mode`, async () => {
    for (const [groups, size, attributes, only] of MODES.filter(([, , , some]) => !some || some.includes(operation))) {
      const count = size[operation] ?? size.other ?? size;
      const loaded = await loadProgram(client, `HloModule m, replica_count=2, num_partitions=4
add { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT s = u32[] add(a, b) }
ENTRY e {
  r = u32[] replica-id()
  p = u32[] partition-id()
  four = u32[] constant(4)
  rows = u32[] multiply(r, four)
  d = u32[] add(rows, p)
  ${body(count, `replica_groups=${groups}${attributes}`)} }`, { mesh: { replicas: 2, partitions: 4 } });
      const { outputs, events } = await runProgram(loaded);
      const meetings = rendezvousOf(loaded, events);
      outputs.forEach(([{ data }], device) => {
        const inCore = operation === 'all-reduce' ? [0, 1, 2, 3, 4, 5, 6, 7].filter((other) => data[0] >> other & 1) : [...data].sort();
        const own = meetings.filter(({ devices }) => devices.includes(device));
        assert.deepEqual(own.map(({ devices }) => [...devices].sort()), [inCore], `${groups}${attributes}${only ?? ''}: device ${device}`);
      });
      loaded.dispose();
    }
  });
}

test('several programs in one text: whose devices, whose parameters, which lines', async () => {
  const sum = (name, body, more = '') => `HloModule ${name}${more}
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  p = f32[] parameter(0)
  x = f32[] ${body}
  ROOT r_${name} = f32[] all-reduce(x), replica_groups={}, channel_id=5, to_apply=add
}
`;
  const text = `// the first\n${sum('one', 'negate(p)')}\n${sum('other', 'multiply(p, p)', ', replica_count=2')}`;
  const loaded = await loadProgram(client, text);
  assert.deepEqual(loaded.parts.map(({ first, count }) => [first, count]), [[0, 1], [1, 2]]);
  assert.deepEqual(loaded.parameters.map(({ name }) => name), ['one.p', 'other.p']);
  const { outputs, events } = await runProgram(loaded, { inputs: [{ value: 3 }, { value: 5 }] });
  assert.deepEqual(outputs.map(([literal]) => literal.data[0]), [47, 47, 47]); // -3 + 25 + 25
  const [meeting, ...others] = rendezvousOf(loaded, events);
  assert.deepEqual([...meeting.devices].sort(), [0, 1, 2]);
  assert.equal(others.length, 0);
  loaded.dispose();
  const broken = text.replace('multiply(p, p)', 'multiply(p, q)');
  const line = broken.split('\n').findIndex((one) => one.includes('(p, q)')) + 1;
  await assert.rejects(loadProgram(client, broken), (error) => error.line === line);
  await assert.rejects(loadProgram(client, text, { mesh: { replicas: 4 } }), /replica_count/);
});
