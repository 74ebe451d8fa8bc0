/**
 * Measures collectives of 2 to 256 devices: the time of a rendezvous from its last arrival to its end, by the time of one
 * copy of the results of all devices.
 *
 *     make bench ARGS="collectives [--threads N] [--elements N] [--devices 2,4,...]"
 *
 * Operands are f32, `elements` in all devices together. Times are from profiles, the min of several runs; the copy is
 * measured in the same process between them.
 */
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';

const ROUNDS = 7;

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: '2' },
    elements: { type: 'string', default: String(1 << 22) },
    devices: { type: 'string', default: '2,4,8,16,64,256' },
  },
});
const threads = Number(options.threads), total = Number(options.elements);

/** For n devices of `size` elements each: the operation's line, and the shape of its result. */
const COLLECTIVES = {
  'all-reduce': (n, size) => [`f32[${size}] all-reduce(x), replica_groups={}, to_apply=add`, size],
  'all-gather': (n, size) => [
    `f32[${size}] all-gather(s), replica_groups={}, dimensions={0}`, size, size / n],
  'reduce-scatter': (n, size) => [
    `f32[${size / n}] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add`, size / n],
  'all-to-all': (n, size) => [`f32[${size}] all-to-all(x), replica_groups={}, dimensions={0}`, size],
  'collective-permute': (n, size) => [
    `f32[${size}] collective-permute(x), source_target_pairs={${
      Array.from({ length: n }, (_, i) => `{${i},${(i + 1) % n}}`).join(',')}}`, size],
};

const textOf = ([operation, out, shard], size) => `HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[${size}] parameter(0)
${shard ? `  s = f32[${shard}] slice(x), slice={[0:${shard}]}` : ''}
  ROOT r = f32[${out}] ${operation.slice(operation.indexOf(' ') + 1)}
}`;

/** Returns the min milliseconds of the rendezvous, and of a copy of its size. */
async function measure(client, operation, n) {
  const size = total / n, made = COLLECTIVES[operation](n, size);
  const module = client.parseHlo(textOf(made, size));
  const executable = await client.compile(module, { replicas: n });
  const arguments_ = client.buffer(new Float32Array(size).fill(1), `f32[${size}]`);
  const from = new Uint8Array(4 * total).fill(1), to = new Uint8Array(4 * total);
  let meeting = Infinity, copy = Infinity;
  for (let i = 0; i < ROUNDS; i++) {
    const { events, outputs } = await executable.executeReplicas(
      new Array(n).fill([arguments_]), { device: true, profile: true });
    const last = events.filter(({ name, waitedFor }) => name === 'r' && !waitedFor);
    for (const { startUs, endUs } of last) meeting = Math.min(meeting, (endUs - startUs) / 1000);
    outputs.flat().forEach((buffer) => buffer.dispose());
    const start = performance.now();
    to.set(from);
    copy = Math.min(copy, performance.now() - start);
  }
  arguments_.dispose();
  executable.dispose();
  module.dispose();
  return { meeting, copy };
}

const client = await Client.create({ threads });
console.log(`${total} f32 in all devices, ${threads} threads; ms, and times a copy of as much\n`);
console.log(`| devices | ${Object.keys(COLLECTIVES).join(' | ')} |`);
console.log(`| ---: |${' ---: |'.repeat(Object.keys(COLLECTIVES).length)}`);
for (const n of options.devices.split(',').map(Number)) {
  const cells = [];
  for (const operation of Object.keys(COLLECTIVES)) {
    const { meeting, copy } = await measure(client, operation, n);
    cells.push(`${meeting.toFixed(1)} (${(meeting / copy).toFixed(1)})`);
  }
  console.log(`| ${n} | ${cells.join(' | ')} |`);
}
client.dispose();
