/** Tests that derivatives of sharded programs (shard_map) are those of JAX: golden/gradients/shards.py. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { argument, assertClose } from '../support/from_jax.mjs';
import { ROOT } from '../support/program.mjs';

const FUNCTIONS = JSON.parse(gunzipSync(await readFile(join(ROOT, 'tests/golden/gradients/shards.json.gz'))));

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

/** Runs a program on its devices. All must have the same results, of which the first device's last ones are compared. */
async function compare(module, { partitions }, values, wanted) {
  const executable = await client.compile(module, { partitions });
  const args = values.map((value, i) => argument(module.parameters[i].shape, value));
  const [first, ...others] = await executable.executeReplicas(Array.from({ length: partitions }, () => args));
  wanted.forEach((value, i) => {
    const at = first.length - wanted.length + i;
    assertClose(first[at], value, `result ${i}`);
    for (const other of others) assert.deepEqual(other[at].data, first[at].data);
  });
  executable.dispose();
}

for (const form of ['shardy', 'before', 'hlo']) {
  const load = (entry) => client.load(entry.program[form]);
  describe(`derivatives of sharded programs equal JAX's: ${form}`, () => {
    for (const entry of FUNCTIONS) {
      const { name, wrt } = entry;
      test(`${name}: vjp, jvp and Hessian-vector product`, async () => {
        const module = await load(entry), vjp = client.vjp(module, { wrt });
        await compare(vjp, entry, [...entry.arguments, ...entry.cotangents], entry.vjp);
        await compare(client.jvp(module, { wrt }), entry, [...entry.arguments, ...entry.tangents], entry.jvp);
        await compare(client.jvp(vjp, { wrt }), entry, [...entry.arguments, ...entry.cotangents, ...entry.tangents], entry.second);
      });
    }
  });
}

/** Two elements of a batch: the values, and a multiple of them. */
const pair = ({ shape, data }, factor) =>
  ({ shape: [2, ...shape], data: [...data, ...data.map((x) => (factor === 1 ? x : x * factor))] });

describe("derivatives of batches of sharded programs equal JAX's", () => {
  for (const entry of FUNCTIONS.filter(({ name }) => !/^narrow/.test(name))) {
    const { name, wrt } = entry;
    test(`${name}: vjp of a batch, and a batch of vjps`, async () => {
      const module = await client.load(entry.program.shardy);
      const args = [...entry.arguments.map((x) => pair(x, 1)), ...entry.cotangents.map((x) => pair(x, 3))];
      const wanted = entry.vjp.map((x) => pair(x, 3));
      await compare(client.vjp(client.vmap(module, { size: 2 }), { wrt }), entry, args, wanted);
      await compare(client.vmap(client.vjp(module, { wrt }), { size: 2 }), entry, args, wanted);
    });
  }
});
