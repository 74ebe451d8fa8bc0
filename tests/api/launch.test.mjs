/** Several programs as the devices of one launch; feeds as iterables. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Client, XlaError } from '../../bindings/index.mjs';

const PAIRS = (pairs) => `frontend_attributes={_xla_send_recv_source_target_pairs=${pairs}}`;

/** A stage of a pipeline: takes x from channel `from`, or as argument; gives body(x) to `to`. */
const stage = (body, from, to) => `HloModule stage
ENTRY e {
  k = f32[2] parameter(0)
  begin = token[] after-all()
${from ? `  r = (f32[2], u32[], token[]) recv(begin), channel_id=${from}
  got = (f32[2], token[]) recv-done(r), channel_id=${from}, ${PAIRS(`{{${from - 1},${from}}}`)}
  x = f32[2] get-tuple-element(got), index=0` : '  x = f32[2] copy(k)'}
  y = f32[2] ${body}
${to ? `  s = (f32[2], u32[], token[]) send(y, begin), channel_id=${to}, ${PAIRS(`{{${to - 1},${to}}}`)}
  d = token[] send-done(s), channel_id=${to}` : ''}
  ROOT z = f32[2] copy(y)
}`;

const sum = (name, body) => `HloModule ${name}
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  p = f32[2] parameter(0)
  x = f32[2] ${body}
  ROOT r = f32[2] all-reduce(x), replica_groups={}, channel_id=5, to_apply=add
}`;

const FEED = `HloModule feed
ENTRY e {
  t = token[] after-all()
  f = (f32[], token[]) infeed(t)
  x = f32[] get-tuple-element(f), index=0
  y = f32[] negate(x)
  o = token[] outfeed(y, t), outfeed_shape=f32[]
  ROOT r = f32[] copy(y)
}`;

const refused = (promise, ...patterns) => assert.rejects(promise, (error) => {
  assert.ok(error instanceof XlaError, String(error?.stack));
  assert.equal(error.code, 'INVALID_ARGUMENT', error.message);
  for (const pattern of patterns) assert.match(error.message, pattern);
  return true;
});

for (const threads of [0, 2]) {
  describe(`${threads} threads`, () => {
    const withClient = (name, body) => test(name, { timeout: 20000 }, async () => {
      const client = await Client.create({ threads });
      try {
        await body(client, (text, options) => client.compile(client.parseHlo(text), options));
      } finally {
        client.dispose();
      }
    });

    withClient('a pipeline of three stages', async (client, compile) => {
      const mesh = { replicas: 3 };
      const stages = [
        await compile(stage('multiply(x, x)', 0, 1), mesh),
        await compile(stage('add(x, k)', 1, 2), mesh),
        await compile(stage('multiply(x, k)', 2, 0), mesh),
      ];
      const entries = [[3, 4], [1, 1], [10, 100]].map((k, replica) =>
        ({ executable: stages[replica], replica, arguments: [k] }));
      const results = await client.launch([...entries].reverse());
      assert.deepEqual(results.map(([y]) => y.toArray()), [[100, 1700], [10, 17], [9, 16]]);
      const { outputs, events } = await client.launch(entries, { profile: true, timeoutMs: 15000 });
      assert.deepEqual(outputs[2][0].toArray(), [100, 1700]);
      assert.deepEqual([...new Set(events.map(({ replica }) => replica))].sort(), [0, 1, 2]);
      // A stage is missing what it waits for: who waits, and for whom.
      await assert.rejects(client.launch([entries[1], entries[2], { ...entries[0], executable: stages[2] }]
        .map((entry, replica) => ({ ...entry, replica }))), (error) => {
        assert.equal(error.code, 'FAILED_PRECONDITION');
        assert.match(error.message, /waits at recv-done got for a send on channel/);
        assert.ok(error.waiting.length >= 1);
        return true;
      });
      for (const executable of stages) executable.dispose();
      assert.equal(client.memoryInUse, 0);
    });

    withClient('different programs meet in a collective of the same channel', async (client, compile) => {
      const one = await compile(sum('one', 'negate(p)'), { replicas: 2 });
      const other = await compile(sum('other', 'multiply(p, p)'), { replicas: 2 });
      const results = await client.launch([
        { executable: one, arguments: [[1, 2]] }, { executable: other, arguments: [[5, 6]] }]);
      for (const [y] of results) assert.deepEqual(y.toArray(), [24, 34]);
    });

    withClient('a message of another size', async (client, compile) => {
      const pairs = 'frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}';
      const program = (steps) => `HloModule m\nENTRY e {\n x = f32[2] parameter(0)\n t = token[] after-all()\n ${steps}\n}`;
      const sender = await compile(program(`s = (f32[2], u32[], token[]) send(x, t), channel_id=1, ${pairs}\n d = token[] send-done(s), channel_id=1\n ROOT r = f32[2] copy(x)`), { replicas: 2 });
      const receiver = await compile(program(`v = (f32[3], u32[], token[]) recv(t), channel_id=1, ${pairs}\n d = (f32[3], token[]) recv-done(v), channel_id=1\n ROOT r = f32[3] get-tuple-element(d), index=0`), { replicas: 2 });
      const entries = [sender, receiver].map((executable) => ({ executable, arguments: [[1, 2]] }));
      await refused(client.launch(entries), /recv-done: replica 1 receives 12 bytes on channel 1 but 8 were sent/);
    });

    withClient('what a launch refuses', async (client, compile) => {
      const two = await compile(sum('two', 'negate(p)'), { replicas: 2 });
      const three = await compile(sum('three', 'negate(p)'), { replicas: 3 });
      const args = { arguments: [[1, 2]] };
      const entry = (executable, replica) => ({ executable, replica, ...args });
      await refused(client.launch([]), /executable, replica, arguments/);
      await refused(client.launch([{ ...args }]), /entry 0 has no executable/);
      await refused(client.launch([entry(two, 0), entry(two, 0)]), /replica 0 is given twice/);
      await refused(client.launch([entry(two, 0), entry(two, 2)]), /replica 2.*2 replicas/);
      await refused(client.launch([entry(two, 0)]), /1 devices are given.*2 replicas/);
      await refused(client.launch([entry(two, 0), entry(three, 1)]), /different meshes/);
      await refused(client.launch([entry(two, 0), { executable: two }]), /needs an array of 1 arguments/);
    });

    withClient('infeeds from iterables, outfeeds as one', async (client, compile) => {
      const executable = await compile(FEED, { replicas: 1 });
      client.transferToInfeed(1);
      async function* later() {
        yield 2;
        yield 3;
      }
      client.infeed(later());
      client.infeed([4]);
      const seen = [];
      const reading = (async () => {
        for await (const value of client.outfeed()) {
          seen.push(value.toArray());
          if (seen.length === 4) break;
        }
      })();
      for (let i = 0; i < 4; i++) await executable.execute([]);
      await reading;
      assert.deepEqual(seen, [-1, -2, -3, -4]);
      // eslint-disable-next-line require-yield
      async function* bad() {
        throw new Error('no more');
      }
      client.infeed(bad());
      await assert.rejects(executable.execute([]), /no more/);
      await refused(Promise.resolve().then(() => client.infeed(5)), /source must be an iterable/);
    });
  });
}

test('arguments donated to a launch are gone', { timeout: 60000 }, async () => {
  const client = await Client.create({ threads: 0 });
  const executables = await Promise.all(['add(p, p)', 'negate(p)'].map((body, i) =>
    client.compile(client.parseHlo(sum(`m${i}`, body)), { replicas: 2 })));
  const buffer = () => client.buffer([1, 2], 'f32[2]');
  const entries = (a, b, donate) => executables.map((executable, i) =>
    ({ executable, arguments: [i ? b : a], donate: i ? [] : donate }));
  const a = buffer(), b = buffer();
  const results = await client.launch(entries(a, b, [0]));
  assert.deepEqual(results.map(([y]) => [...y.data]), [[1, 2], [1, 2]]);
  assert.throws(() => a.toLiteral(), /disposed/);
  assert.deepEqual([...b.toLiteral().data], [1, 2]);
  await refused(client.launch(entries(b, b, [0])), /only once/);
  await refused(client.launch(entries(b, b, [1])), /there is no parameter 1/);
  assert.deepEqual([...b.toLiteral().data], [1, 2]);
  client.dispose();
});

test('unwritten results of a send and a recv are zero', { timeout: 60000 }, async () => {
  const client = await Client.create({ threads: 0 });
  const dirty = await client.compile(client.parseHlo(
    'HloModule m\nENTRY e {\n  i = f32[64] iota(), iota_dimension=0\n  ROOT y = f32[64] cosine(i)\n}'));
  for (let i = 0; i < 8; i++) await dirty.execute([]);
  dirty.dispose();
  const executable = await client.compile(client.parseHlo(`HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  t = token[] after-all()
  s = (f32[2], u32[], token[]) send(x, t), channel_id=1
  d = token[] send-done(s), channel_id=1
  ROOT r = (f32[2], u32[], token[]) recv(d), channel_id=1
}`), { replicas: 1 });
  const [data, context] = await executable.execute([[1, 2]]);
  assert.deepEqual([[...data.data], [...context.data]], [[0, 0], [0]]);
  client.dispose();
});

test('the memory of uploaded arguments of a launch becomes the results\'', async () => {
  const client = await Client.create({ threads: 0 }), bytes = 4 << 20;
  const module = client.parseHlo(`HloModule m\nENTRY e {\n a = f32[${bytes / 4}] parameter(0)
    ROOT r = f32[${bytes / 4}] negate(a)\n}`);
  const executable = await client.compile(module, { replicas: 2 });
  const entries = [0, 1].map(() => ({ executable, arguments: [new Float32Array(bytes / 4).fill(3)] }));
  const launched = client.launch(entries);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(client.memoryInUse <= 2 * bytes, `${client.memoryInUse} bytes for two devices of ${bytes}`);
  const results = await launched;
  for (const [y] of results) assert.equal(y.data[7], -3);
  client.dispose();
});
