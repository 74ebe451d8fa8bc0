/**
 * Tests that second derivatives of the functions of golden/gradients agree in each order of modes. With H the second
 * derivative along the cotangents: jvp of vjp, vjp of vjp and vjp of jvp are H t, and jvp of jvp along t, times the
 * cotangents, is t H t. JAX's values of some are in api/gradients_jax.test.mjs.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { argument, flat } from '../support/from_jax.mjs';
import { ROOT } from '../support/program.mjs';
import { sample } from '../support/sample.mjs';

const FUNCTIONS = JSON.parse(gunzipSync(await readFile(join(ROOT, 'tests/golden/gradients/functions.json.gz'))));
/** Rules of the tests that are no derivatives, slopes of one triangle, which are those of the symmetric matrix, and poles.
 * JAX's orders of modes differ for these, too. */
const DIFFERS = /^rule|^loop-of-unknown-count|cholesky-solve|cho-upper|row (Cholesky|binary)|pseudo-inverse of (complex )?rank 1|power-at-zero/;
const TOLERANCES = { f64: 1e-8, c128: 1e-8, f32: 2e-3, c64: 2e-3, f16: 0.1, bf16: 0.2 };

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

const zeros = ({ shape, data }) => ({ shape, data: data.map(() => 0) });

async function run(module, args, count) {
  const executable = await client.compile(module);
  try {
    const results = await executable.execute(args.map((value, i) => argument(module.parameters[i].shape, value)));
    return results.slice(-count).map((literal) => ({ type: literal.shape.elementType, data: flat(literal.toArray()).map(Number) }));
  } finally {
    executable.dispose();
  }
}

/** The sum of products, real parts only, and that of their sizes. */
function product(x, y) {
  let sum = 0, size = 0;
  x.forEach(({ type, data }, k) => data.forEach((value, i) => {
    const term = value * Number(y[k].data[i]) * (type.startsWith('c') && i % 2 ? -1 : 1);
    sum += term;
    size += Math.abs(term);
  }));
  return { sum, size };
}

function assertEqual(got, wanted, scale, tolerance, what) {
  if (!Number.isFinite(got) || !Number.isFinite(wanted)) return;
  assert.ok(Math.abs(got - wanted) <= tolerance * scale, `${what}: ${got}; ${wanted}`);
}

for (const { name, program, wrt, arguments: given, tangents, cotangents } of
  sample(FUNCTIONS.filter((f) => f.jvp && f.vjp && f.wrt.length && !DIFFERS.test(f.name)), 20, 3)) {
  test(name, async () => {
    const module = await client.parseStableHlo(program), on = { wrt };
    const vjp = client.vjp(module, on), jvp = client.jvp(module, on), n = tangents.length;
    const along = await run(client.jvp(vjp, on), [...given, ...cotangents, ...tangents], n);
    const others = {
      'vjp of vjp': await run(client.vjp(vjp, on), [...given, ...cotangents, ...tangents], n),
      'vjp of jvp': await run(client.vjp(jvp, on), [...given, ...tangents, ...cotangents.map(zeros), ...cotangents], n),
    };
    const tolerance = Math.max(...along.map(({ type }) => TOLERANCES[type]));
    const scale = Math.max(1e-6, ...along.flatMap(({ data }) => data.filter(Number.isFinite).map(Math.abs)));
    for (const [order, results] of Object.entries(others)) {
      results.forEach(({ data }, k) => data.forEach((value, i) =>
        assertEqual(value, along[k].data[i], scale, tolerance, `${order}, result ${k}, element ${i}`)));
    }
    const twice = await run(client.jvp(jvp, on), [...given, ...tangents, ...tangents], cotangents.length);
    const left = product(twice, cotangents), right = product(along, tangents);
    assertEqual(left.sum, right.sum, Math.max(left.size, right.size, 1e-6), tolerance, 'jvp of jvp');
  });
}
