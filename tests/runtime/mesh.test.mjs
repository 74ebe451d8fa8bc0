/**
 * Tests the mesh of devices, replicas x partitions: the sources of its size, errors, and the names of
 * its devices. The results of collectives on it are in tests/golden/mesh*.golden.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client, XlaError } from '../../bindings/index.mjs';
import { readGolden } from '../support/golden.mjs';

const IDS = (header = '') => `HloModule m${header}
ENTRY e {
  r = u32[] replica-id()
  p = u32[] partition-id()
  ROOT t = (u32[], u32[]) tuple(r, p)
}`;

let client;
before(async () => {
  client = await Client.create({ threads: 0, replicas: 3 });
});
after(() => client.dispose());

async function using(text, options, body) {
  const module = client.parseHlo(text);
  const executable = await client.compile(module, options).finally(() => module.dispose());
  try {
    return await body(executable);
  } finally {
    executable.dispose();
  }
}

const numbers = (outputs) => outputs.map((values) => values.map((value) => value.toArray()));

async function refused(promise, ...patterns) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof XlaError, String(error?.stack));
    assert.equal(error.code, 'INVALID_ARGUMENT');
    for (const pattern of patterns) assert.match(error.message, pattern);
    return true;
  });
}

const MESHES = [
  ["the client's replicas, if the module states none", '', undefined, 3, 1],
  ['what compile says', '', { replicas: 2 }, 2, 1],
  ['both', '', { replicas: 2, partitions: 3 }, 2, 3],
  ['what the module says', ', replica_count=2, num_partitions=3', undefined, 2, 3],
  ['replicas alone in the module', ', replica_count=2', undefined, 2, 1],
  ['partitions alone in the module', ', num_partitions=2', undefined, 1, 2],
  ['one each', ', num_partitions=2', { replicas: 2 }, 2, 2],
  ['more than the module says', ', replica_count=2', { replicas: 4, partitions: 2 }, 4, 2],
];
for (const [what, header, options, replicas, partitions] of MESHES) {
  test(`the mesh is ${what}`, () => using(IDS(header), options, async (executable) => {
    assert.deepEqual([executable.replicas, executable.partitions], [replicas, partitions]);
    const devices = replicas * partitions;
    const results = await executable.executeReplicas(new Array(devices).fill([]));
    assert.deepEqual(numbers(results), Array.from({ length: devices },
      (_, d) => [Math.floor(d / partitions), d % partitions])); // replica-major
    assert.deepEqual(numbers([await executable.execute([])]), [[0, 0]]);
  }));
}

test('what a module says of its mesh', () => {
  const module = client.parseHlo(IDS(', replica_count=2, num_partitions=4'));
  assert.deepEqual([module.replicaCount, module.partitionCount], [2, 4]);
  const open = client.parseHlo(IDS());
  assert.deepEqual([open.replicaCount, open.partitionCount], [undefined, undefined]);
});

test('fewer devices than a module needs', async () => {
  const compile = (header, options) => client.compile(client.parseHlo(IDS(header)), options);
  await refused(compile(', replica_count=4', { replicas: 2 }), /replica_count=4/, /\b2 replicas/);
  await refused(compile(', num_partitions=4', { partitions: 3 }), /num_partitions=4/, /\b3 partitions/);
  await refused(compile('', { replicas: 100, partitions: 100 }), /10000 devices/, /4096/);
});

const collective = (line) => `HloModule m
add { a = f32[] parameter(0)
b = f32[] parameter(1)
ROOT s = f32[] add(a, b) }
ENTRY e {
p = f32[2] parameter(0)
ROOT r = ${line}
}`;

for (const [what, line, options, ...patterns] of [
  ['replica_groups', 'f32[2] all-reduce(p), replica_groups={{0,1,2,3}}, to_apply=add',
    { replicas: 3, partitions: 4 }, /replica 3/, /there are only 3/, /at least 4/],
  ['replica_groups of partitions', 'f32[2] all-to-all(p), replica_groups={{0,1}}, dimensions={0}, channel_id=1',
    { replicas: 2 }, /partition 1/, /there is only 1/, /at least 2/],
  ['replica_groups of devices',
    'f32[2] all-reduce(p), replica_groups={{0,1,2,3,4}}, use_global_device_ids=true, channel_id=1, to_apply=add',
    { replicas: 2, partitions: 2 }, /device 4/, /there are only 4/, /at least 5/],
  ['source_target_pairs', 'f32[2] collective-permute(p), source_target_pairs={{0,2}}',
    { replicas: 2 }, /replica 2/, /there are only 2/, /at least 3/],
  ['source_target_pairs of partitions',
    'f32[2] collective-permute(p), source_target_pairs={{2,0}}, channel_id=1',
    { replicas: 8, partitions: 2 }, /partition 2/, /there are only 2/],
]) {
  test(`${what} that name more than there are`, () =>
    refused(client.compile(client.parseHlo(collective(line)), options), ...patterns));
}

test('arguments are one entry for each device', () => using(
  collective('f32[2] negate(p)'), { replicas: 2, partitions: 2 }, async (executable) => {
    await refused(executable.executeReplicas([[[1, 2]], [[1, 2]]]), /4 arrays/, /per device/);
    const results = await executable.executeReplicas([0, 1, 2, 3].map((d) => [[d + 1, 1]]));
    assert.deepEqual(numbers(results).map(([[first]]) => first), [-1, -2, -3, -4]);
  }));

test('a device that is in no group: zeros of a broadcast, an error of other collectives', async () => {
  const broadcast = collective('f32[2] collective-broadcast(p), replica_groups={{2,0}}');
  await using(broadcast, { replicas: 3, partitions: 2 }, async (executable) => {
    const results = await executable.executeReplicas([0, 1, 2, 3, 4, 5].map((d) => [[d + 1, 1]]));
    assert.deepEqual(numbers(results).map(([x]) => x),
      [[5, 1], [6, 1], [0, 0], [0, 0], [5, 1], [6, 1]]);
  });
  const reduce = collective('f32[2] all-reduce(p), replica_groups={{0,1}}, to_apply=add');
  await using(reduce, { replicas: 3, partitions: 2 }, (executable) =>
    refused(executable.execute([[1, 2]]), /replica 2, partition [01]/, /none of the replica_groups/));
});

test('exports of shard_map and pmap have their mesh by themselves', async () => {
  for (const golden of await readGolden(new URL('../golden/sharding.golden', import.meta.url))) {
    const devices = golden.inputs.length;
    await using(golden.hlo, undefined, async (executable) => {
      assert.deepEqual([executable.replicas, executable.partitions], [1, devices], golden.name);
    });
  }
  const [{ hlo, inputs }] = await readGolden(new URL('../golden/sharding.golden', import.meta.url));
  assert.equal(inputs.length, 4);
  await using(hlo, { replicas: 4 }, async (executable) => { // it is all the same to a shard_map
    assert.deepEqual([executable.replicas, executable.partitions], [1, 4]);
    const [y] = await executable.execute([new Array(16).fill(1)]);
    assert.equal(y.toArray()[0], 4);
  });
  await refused(client.compile(client.parseHlo(hlo), { partitions: 2 }), /num_partitions=4/, /2 partitions/);
});

test('send and recv between partitions, in each replica', () => using(`HloModule m
ENTRY e {
  x = f32[] parameter(0)
  t = token[] after-all()
  s = (f32[], u32[], token[]) send(x, t), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}
  d = token[] send-done(s), channel_id=1
  r = (f32[], u32[], token[]) recv(d), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}
  g = (f32[], token[]) recv-done(r), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}
  ROOT y = f32[] get-tuple-element(g), index=0
}`, { replicas: 2, partitions: 3 }, async (executable) => {
  const results = await executable.executeReplicas([1, 2, 3, 4, 5, 6].map((x) => [x]));
  assert.deepEqual(numbers(results).flat(), [0, 1, 2, 0, 4, 5]);
}));

test('infeed and outfeed of a partition; the profile says which it was', () => using(`HloModule m
ENTRY e {
  t = token[] after-all()
  f = (f32[], token[]) infeed(t)
  x = f32[] get-tuple-element(f), index=0
  o = token[] outfeed(x, t), outfeed_shape=f32[]
  ROOT r = f32[] negate(x)
}`, { replicas: 1, partitions: 2 }, async (executable) => {
  client.transferToInfeed(2, { partition: 1 });
  client.transferToInfeed(1);
  const { outputs, events } = await executable.executeReplicas([[], []], { profile: true });
  assert.deepEqual(numbers(outputs), [[-1], [-2]]);
  assert.equal((await client.transferFromOutfeed({ replica: 0, partition: 1 })).toArray(), 2);
  assert.equal((await client.transferFromOutfeed()).toArray(), 1);
  assert.deepEqual([...new Set(events.map(({ partition }) => partition))].sort(), [0, 1]);
  assert.ok(events.every(({ replica }) => replica === 0));
}));
