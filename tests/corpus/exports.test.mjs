/**
 * Runs programs as frameworks export them, and compares with the frameworks' results: Flax, Optax,
 * Diffrax, NumPyro and JAX of unknown sizes and meshes, PyTorch by torch_xla, TensorFlow.
 * golden/exports/writer.py has the format.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { difference, literalOf } from '../support/golden.mjs';

/** Allows for sums in another order, and for their effect on loops with a tolerance of 1e-4. */
const TOLERANCE = 'abs 2e-5 rel 1e-4';

/** @returns {Promise<Map<string, { program: Buffer, argument: any[], result: any[] }>>} */
async function readExports(name) {
  const bytes = gunzipSync(await readFile(new URL(`../golden/exports/${name}.gz`, import.meta.url)));
  const programs = new Map();
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const [own, part, size] = bytes.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(size);
    const data = bytes.subarray(end + 1, at);
    if (part === 'program') programs.set(own, { program: data, argument: [], result: [] });
    else programs.get(own)[part.split(':')[0]].push([part.split(':')[1], data.toString('base64')]);
  }
  return programs;
}

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

for (const framework of ['jax', 'torch', 'tensorflow']) {
  const programs = await readExports(framework);
  describe(framework, () => {
    for (const [name, { program, argument, result }] of programs) {
      test(name, { timeout: 60_000 }, async () => {
        const shapes = name.endsWith('-any') ? argument.map(([shape]) => shape) : undefined;
        const module = await client.load(program, { arguments: shapes });
        const executable = await client.compile(module);
        const made = await executable.execute(argument.map((leaf) => literalOf(leaf)));
        const leaves = made.flatMap((output) => output.leaves());
        assert.equal(leaves.length, result.length, 'number of results');
        leaves.forEach((leaf, i) => {
          const problem = difference(leaf, result[i], TOLERANCE);
          if (problem) assert.fail(`result ${i}: ${problem}`);
        });
        executable.dispose();
        module.dispose();
      });
    }
  });
}

/* Written by golden/exports/vjp.py: the products that a file of jax.export holds, first and second. */
describe('vector-Jacobian products in exports', async () => {
  for (const [name, { program, argument, result }] of await readExports('vjp')) {
    test(name, async () => {
      const module = await client.load(program);
      const product = name.endsWith('-1') ? module.vjp : module.vjp.vjp;
      const executable = await client.compile(product);
      const made = await executable.execute(argument.map((leaf) => literalOf(leaf)));
      const leaves = made.flatMap((output) => output.leaves());
      assert.equal(leaves.length, result.length, 'number of results');
      leaves.forEach((leaf, i) => assert.equal(difference(leaf, result[i], TOLERANCE), null));
      executable.dispose();
    });
  }

  test('parameters have the names of the forward program, and those of cotangents', async () => {
    const programs = await readExports('vjp');
    const namesOf = ({ parameters }) => parameters.map(({ name }) => name);
    for (const { program } of programs.values()) {
      const module = await client.load(program);
      const results = module.resultShape.isTuple ? module.resultShape.tupleShapes.length : 1;
      const cotangents = Array.from({ length: results }, (_, i) => `cotangent_${i}`);
      assert.deepEqual(namesOf(module.vjp), [...namesOf(module), ...cotangents]);
    }
    const { vjp } = await client.load(programs.get('perceptron-1').program);
    assert.deepEqual(namesOf(vjp.vjp).slice(5), ['cotangent2_0', 'cotangent2_1', 'cotangent2_2']);
    // So the same weights fit both programs.
    const { argument: [b, w, x, ...cotangents] } = programs.get('perceptron-1');
    const [params, [first, second]] = [{ b: literalOf(b), w: literalOf(w) }, cotangents.map((leaf) => literalOf(leaf))];
    const backward = await client.compile(vjp);
    const [byBias] = await backward.execute({ params, x: literalOf(x), cotangent_0: first, cotangent_1: second });
    assert.equal(difference(byBias, programs.get('perceptron-1').result[0], TOLERANCE), null);
  });

  test('null where there is none', async () => {
    const [{ program }] = (await readExports('jax')).values();
    assert.equal((await client.load(program)).vjp, null);
    const [{ program: held }] = (await readExports('vjp')).values();
    assert.equal((await client.load(held)).vjp.vjp.vjp, null);
  });

  test('a damaged file is refused, or read, but never hangs', async () => {
    const [{ program }] = (await readExports('vjp')).values();
    for (let at = 0; at < 400; at++) {
      const damaged = new Uint8Array(program);
      damaged[at] ^= 1 + at % 255;
      await client.load(damaged).then((module) => module.dispose(), (error) => assert.ok(error.code, error.stack));
    }
  });
});

/* Written by golden/exports/versions.py: of these programs, for those who read older versions. */
describe('older versions of StableHLO', async () => {
  const known = Object.fromEntries(await Promise.all(['jax', 'torch', 'tensorflow']
    .map(async (framework) => [framework, await readExports(framework)])));
  const text = (module) => String(module).replace(/, metadata=\{[^}]*\}|^HloModule [^,]+/g, '');
  for (const [name, { program }] of await readExports('versions')) {
    test(name, { timeout: 60_000 }, async () => {
      const [, framework, own] = /^(\w+)\/(.+)@/.exec(name);
      const { program: current, argument } = known[framework].get(own);
      const shapes = own.endsWith('-any') ? { arguments: argument.map(([shape]) => shape) } : undefined;
      const [old, today] = [await client.load(program, shapes), await client.load(current, shapes)];
      assert.equal(text(old), text(today));
      old.dispose();
      today.dispose();
    });
  }
});
