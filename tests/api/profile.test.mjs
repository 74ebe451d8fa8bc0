/** Tests profiles of devices that wait for each other: the device waited for, and the time, as a trace and as sums. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client, profileTimes, toChromeTrace, XlaError } from '../../bindings/index.mjs';

/** Device 0 has a long dot to do before it meets the other one, and then sends it something. */
const PROGRAM = `HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
long { x = f32[400,400] parameter(0)
  ROOT d = f32[400,400] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
short { x = f32[400,400] parameter(0)
  ROOT n = f32[400,400] negate(x) }
ENTRY e {
  x = f32[400,400] parameter(0)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(id, zero), direction=EQ
  y = f32[400,400] conditional(first, x, x), true_computation=long, false_computation=short
  r = f32[400,400] all-reduce(y), replica_groups={}, to_apply=add
  ROOT c = f32[400,400] custom-call(r), custom_call_target="host", custom_call_has_side_effect=true
}`;

for (const threads of [0, 2]) {
  test(`who waited for whom, ${threads} threads`, { timeout: 60000 }, async () => {
    const client = await Client.create({ replicas: 2, threads });
    client.registerCustomCall('host', async ({ operands }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return operands[0];
    });
    const executable = await client.compile(client.parseHlo(PROGRAM));
    const { events } = await executable.execute(
      [new Float32Array(160000).fill(0.5)], { profile: true });
    const meetings = events.filter(({ name }) => name === 'r');
    assert.equal(meetings.length, 2);
    const waits = meetings.filter(({ waitedFor }) => waitedFor);
    assert.equal(waits.length, 1);
    const [wait] = waits, last = meetings.find(({ waitedFor }) => !waitedFor);
    assert.deepEqual(wait.waitedFor, { replica: last.replica, partition: 0 });
    assert.ok(wait.waitedUs > 0 && wait.startUs + wait.waitedUs <= wait.endUs);
    assert.ok(Math.abs(wait.startUs + wait.waitedUs - last.startUs) < 1e5);
    const calls = events.filter(({ name }) => name === 'c');
    assert.ok(calls.length === 2 && calls.every(({ waitedFor }) => waitedFor === 'host'));
    assert.ok(calls.every(({ waitedUs }) => waitedUs > 10000), JSON.stringify(calls));

    const { traceEvents } = JSON.parse(JSON.stringify(toChromeTrace(events)));
    assert.deepEqual(traceEvents.filter(({ ph }) => ph === 'M').map(({ args }) => args.name),
      ['replica 0, partition 0', 'replica 1, partition 0']);
    const slice = traceEvents.find(({ name }) => name.startsWith('r: waits for replica'));
    assert.equal(slice.pid, wait.replica);
    assert.equal(slice.dur, wait.waitedUs);
    assert.ok(traceEvents.some(({ name }) => name === 'c: waits for the host'));
    assert.ok(traceEvents.every(({ dur = 0 }) => dur >= 0));

    const times = profileTimes(events);
    const span = Math.max(...events.map((e) => e.endUs)) - Math.min(...events.map((e) => e.startUs));
    assert.equal(times.length, 2);
    for (const { replica, partition, busyUs, waitedUs, idleUs, overlapUs } of times) {
      assert.equal(partition, 0);
      assert.ok(Math.abs(busyUs + waitedUs + idleUs - span) < 1, `replica ${replica}`);
      assert.ok(waitedUs > 10000 && busyUs > 0 && overlapUs <= busyUs + 1e-6);
    }
    executable.dispose();
    client.dispose();
  });
}

test('sums of known times', () => {
  const event = (replica, startUs, endUs, more) =>
    ({ name: 'x', category: 'kernel', replica, partition: 0, worker: 0, startUs, endUs, ...more });
  const waitedFor = { replica: 1, partition: 0 };
  assert.deepEqual(profileTimes([
    event(0, 0, 10), event(0, 10, 35, { waitedUs: 20, waitedFor }), event(1, 5, 30), event(1, 50, 60),
  ]), [
    { replica: 0, partition: 0, busyUs: 15, waitedUs: 20, idleUs: 25, overlapUs: 5 },
    { replica: 1, partition: 0, busyUs: 35, waitedUs: 0, idleUs: 25, overlapUs: 5 },
  ]);
  assert.deepEqual(profileTimes([]), []);
  const many = Array.from({ length: 200_000 }, (_, i) => event(0, i, i + 1)); // more than a call has arguments
  assert.equal(profileTimes(many)[0].busyUs, 200_000);
  for (const wrong of [undefined, 'x', [{}], { events: [] }]) {
    assert.throws(() => toChromeTrace(wrong), (error) =>
      error instanceof XlaError && error.code === 'INVALID_ARGUMENT' && /profile/.test(error.message));
  }
});
