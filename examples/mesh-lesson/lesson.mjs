/** Four replicas, each with its own part of the data. One of them skips the all-reduce. */
import { Client } from 'xla-wasm';

const client = await Client.create({ replicas: 4 });

/** The mean gradient of all replicas; but only if `x` is not empty, which replica 3 does not know in time. */
function wrongStep() {
  const b = client.builder('wrong', { locations: true });
  const x = b.parameter(0, 'f32[2]', 'x');
  const count = b.parameter(1, 's32[]', 'count');
  const gradient = b.conditional(
    count.gt(0),
    (inner) => inner.allReduce(x, 'add'), // only the replicas that have data come here
    (inner) => inner.mul(x, 0),
  );
  return client.compile(b.build(gradient.div(4)));
}

/** Mended: every replica meets the others; one without data adds zeros, and the mean is over those that have some. */
function rightStep() {
  const b = client.builder('right', { locations: true });
  const x = b.parameter(0, 'f32[2]', 'x');
  const count = b.parameter(1, 's32[]', 'count');
  const has = count.gt(0);
  const own = b.select(b.broadcast(has, [2]), x, b.mul(x, 0));
  const sum = b.allReduce(own, 'add');
  const total = b.allReduce(b.convertElementType(has, 'f32'), 'add');
  return client.compile(b.build(sum.div(b.broadcast(total, [2]))));
}

const data = [[[1, 2], 5], [[3, 4], 5], [[5, 6], 5], [[0, 0], 0]]; // replica 3 has no data left

try {
  await (await wrongStep()).executeReplicas(data);
} catch (error) {
  console.log(error.code);
  console.log(error.message);
  for (const { replica, sourceLine, missing } of error.waiting) {
    console.log(`replica ${replica} waits at line ${sourceLine} for ${missing.map((other) => `replica ${other.replica}`)}`);
  }
}

const means = await (await rightStep()).executeReplicas(data);
means.forEach(([mean], replica) => console.log(`replica ${replica}: ${mean.toArray()}`));
client.dispose();
