/**
 * Tests batches of programs of the golden corpus: one run of three elements equals three runs of one. All parameters
 * have the batch, or every second one. BATCHES=all takes all programs and names those that differ; else a sample.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { Client, Shape } from '../../bindings/index.mjs';
import { argumentsOf, difference, literalOf, readGolden } from '../support/golden.mjs';

const SIZE = 3;
const EVERY = process.env.BATCHES === 'all' ? 1 : 11;
const folder = new URL('../golden/', import.meta.url);
const families = (await readdir(folder)).filter((name) => name.endsWith('.golden'));

/** Random numbers of a run differ from those of another; the bits for a batch come from its first state. */
const IS_RANDOM = / rng(-get-and-update-state|-bit-generator)?\(/;

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

const bytesOf = ([, base64]) => Buffer.from(base64, 'base64');

/** Element `i` of the batch: the leaf with its elements moved on by i places. */
function variant([text, base64], i) {
  const { elementCount } = Shape.parse(text);
  const bytes = Buffer.from(base64, 'base64');
  const width = elementCount ? bytes.length / elementCount : 0;
  const at = elementCount ? (i % elementCount) * width : 0;
  return [text, Buffer.concat([bytes.subarray(at), bytes.subarray(0, at)]).toString('base64')];
}

const withBatch = (text) => text.replace('[', (bracket) => `${bracket}${SIZE},`).replace(',]', ']');
const joined = (text, leaves) => [withBatch(text), Buffer.concat(leaves.map(bytesOf)).toString('base64')];
const leafOf = (literal) => [`${literal.shape.withoutLayout()}`, Buffer.from(literal.inLayout(null).data.slice().buffer).toString('base64')];

const leavesOf = (outputs) => outputs.flatMap((output) => output.leaves()).filter((leaf) => leaf).map(leafOf);

/** Runs on all devices. `leaves`: of the parameters, per device. Returns leaves. */
async function run(module, { replicas, partitions }, leaves) {
  const needed = module.partitionCount; // of a shard_map, whose devices the corpus has as replicas
  const isSharded = partitions === 1 && replicas > 1 && needed === replicas;
  const mesh = isSharded ? { replicas: 1, partitions: needed } : partitions > 1 ? { replicas, partitions } : { replicas };
  const executable = await client.compile(module, mesh);
  try {
    const args = leaves.map((list) => argumentsOf(list.map((leaf) => literalOf(leaf)), module.parameters));
    return (await executable.executeReplicas(args)).map(leavesOf);
  } finally {
    executable.dispose();
  }
}

/** Kernels for several matrices have another order of operations than those for one. */
const toleranceOf = ({ hlo, tolerance }) => (tolerance === 'exact' && / cholesky\(/.test(hlo) ? 'ulp 4' : tolerance);

async function check(golden, module, flags) {
  const devices = Array.from({ length: golden.replicas * golden.partitions }, (_, device) => golden.inputs[device] ?? []);
  const of = (i) => devices.map((leaves) => leaves.map((leaf, k) => (flags[k] ? variant(leaf, i) : leaf)));
  const batches = devices.map((leaves) => leaves.map((leaf, k) =>
    (flags[k] ? joined(leaf[0], Array.from({ length: SIZE }, (_, i) => variant(leaf, i))) : leaf)));
  let next = 0;
  const dimensions = (shape) => {
    if (shape.isTuple) return shape.tupleShapes.map(dimensions);
    return shape.isArray && flags[next++] ? 0 : null;
  };
  const inputs = module.parameters.map(({ shape }) => dimensions(shape));
  const mapped = client.vmap(module, { in: inputs, size: SIZE });
  const each = [];
  for (let i = 0; i < SIZE; i++) each.push(await run(module, golden, of(i)).catch((error) => error));
  const failed = each.find((results) => results instanceof Error);
  if (failed) return assert.rejects(run(mapped, golden, batches), { code: failed.code }); // operands out of bounds
  const got = await run(mapped, golden, batches);
  mapped.dispose();
  return got.forEach((leaves, device) => leaves.forEach((leaf, k) => {
    const wanted = joined(each[0][device][k][0], each.map((results) => results[device][k]));
    const problem = difference(literalOf(leaf), wanted, toleranceOf(golden));
    assert.equal(problem, null, `device ${device}, result ${k}`);
  }));
}

const isRefused = (error) => error.code === 'UNIMPLEMENTED' && /^vmap: .*(dynamic|size that the program)/.test(error.message);

for (const [number, family] of families.entries()) {
  test(family, async (t) => {
    const all = await readGolden(new URL(family, folder));
    const cases = all.filter((_, i) => (i + number) % EVERY === 0);
    for (const golden of cases) {
      const count = golden.inputs[0]?.length ?? 0;
      if (!count || IS_RANDOM.test(golden.hlo)) continue;
      const module = client.parseHlo(golden.hlo);
      const lists = [Array.from({ length: count }, () => true), Array.from({ length: count }, (_, k) => k % 2 === 0),
        Array.from({ length: count }, (_, k) => k % 2 === 1)];
      for (const [i, flags] of lists.entries()) {
        if (!flags.includes(true)) continue;
        await check(golden, module, flags).catch((error) => {
          if (isRefused(error)) return;
          if (process.env.BATCHES !== 'all') throw Object.assign(error, { message: `${golden.name}, list ${i}: ${error.message}` });
          t.diagnostic(`FAIL ${golden.name}, list ${i}: ${error.message.slice(0, 300)}`);
        });
      }
      module.dispose();
    }
  });
}
