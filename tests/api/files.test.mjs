/** Forms of files that people have: what MLIR prints, bytecode, exports for several platforms, entries, XLA's own calls. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { difference, literalOf } from '../support/golden.mjs';

/** golden/files.py has the format. */
const cases = JSON.parse(gunzipSync(await readFile(new URL('../golden/files.json.gz', import.meta.url))));
const sourceOf = (form) => (typeof form === 'string' ? form : new Uint8Array(Buffer.from(form.base64, 'base64')));

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

async function leavesOf(module, args) {
  const executable = await client.compile(module);
  const results = await executable.execute(args.map((leaf) => literalOf(leaf)));
  executable.dispose();
  return results.flatMap((output) => output.leaves());
}

describe('each form of a program has the same results', () => {
  for (const { name, forms, options, arguments: args, results, tolerance } of cases) {
    test(`${name}: ${forms.length} forms`, { timeout: 60_000 }, async () => {
      for (const [i, form] of forms.entries()) {
        const module = await client.load(sourceOf(form), options);
        const leaves = await leavesOf(module, args);
        assert.equal(leaves.length, results.length, `form ${i}: number of results`);
        leaves.forEach((leaf, k) => assert.equal(difference(leaf, results[k], tolerance), null, `form ${i}, result ${k}`));
        module.dispose();
      }
    });
  }
});

const named = (name) => cases.find((one) => one.name === name);
const fails = (source, options, message) =>
  assert.rejects(client.load(source, options), (error) => error.code === 'INVALID_ARGUMENT' && message.test(error.message));

describe('entries', () => {
  test('errors name the public functions', async () => {
    const [text] = named('the entry first').forms;
    await fails(text, {}, /^the program has no function @main; public ones are @first, @second: choose one, as in load\(source, \{ entry: 'first' \}\)$/);
    await fails(text, { entry: 'secnd' }, /no function @secnd; did you mean @second\? public ones are @first, @second/);
    await fails(text, { entry: 3 }, /entry must be the name of a function; got 3/);
  });

  test('HLO says itself where it begins', async () => {
    const module = await client.load(named('the entry first').forms[0], { entry: 'first' });
    await fails(module.toString(), { entry: 'first' }, /^load: entry is for StableHLO/);
    await fails(await module.toProto(), { entry: 'first' }, /^load: entry is for StableHLO/);
    await fails(module.toString(), { platform: 'cpu' }, /^load: platform is for files of jax\.export/);
  });
});

describe('exports for several platforms', () => {
  test('errors list the platforms', async () => {
    const file = sourceOf(named("for ('tpu', 'cuda'), tpu").forms[0]);
    await fails(file, {}, /^the program was exported for tpu, cuda, not for cpu: choose one, as in load\(source, \{ platform: 'tpu' \}\)$/);
    await fails(file, { platform: 'rocm' }, /exported for tpu, cuda, not for rocm/);
    await fails(named('the entry first').forms[0], { platform: 'cpu', entry: 'first' }, /only files of jax\.export list the platforms/);
  });

  test('the number is no parameter, also of the vector-Jacobian product', async () => {
    const { forms: [form], arguments: [x] } = named("for ('tpu', 'cpu'), cpu");
    const module = await client.load(sourceOf(form));
    assert.deepEqual(module.parameters.map(({ name }) => name), ['x']);
    const [slope] = await leavesOf(module.vjp, [x, ['f32[3]', Buffer.from(Float32Array.of(1, 1, 1).buffer).toString('base64')]]);
    const wanted = [...literalOf(x).data].map((value) => 2 * Math.cos(value));
    slope.toArray().forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-6));
  });

  test('without a list of platforms the number stays an argument', async () => {
    const text = `module { func.func @main(%arg0: tensor<i32> {jax.global_constant = "_platform_index"}, %x: tensor<f32>) -> tensor<f32> {
      %0 = "stablehlo.case"(%arg0) ({ stablehlo.return %x : tensor<f32> }, { %1 = stablehlo.negate %x : tensor<f32>  stablehlo.return %1 : tensor<f32> }) : (tensor<i32>) -> tensor<f32>
      return %0 : tensor<f32> } }`;
    const module = await client.load(text);
    assert.deepEqual(module.parameters.map(({ name }) => name), ['_platform_index', 'arg1']);
    const executable = await client.compile(module);
    assert.equal((await executable.execute([1, 2]))[0].toArray(), -2);
    await fails(text, { platform: 'cpu' }, /^platform: the source does not list its platforms; leave platform out/);
  });
});

describe("XLA's own factorisations have LAPACK's gradients", () => {
  const matrix = [[4, 1, 2], [1, 3, 0.5], [2, 0.5, 5]];
  const program = (target, config, last) => `module { func.func @main(%a: tensor<3x3xf64>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    ${target === 'Eigh'
    ? `%0:2 = stablehlo.custom_call @Eigh(%a) {backend_config = "${config}"} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>)`
    : '%0:2 = stablehlo.custom_call @Qr(%a) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>)'}
    ${last}
    return %s : tensor<f64> } }`;
  const sum = (type, dims) => `stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [${dims}] : (tensor<${type}xf64>, tensor<f64>) -> tensor<f64>`;
  const PROGRAMS = {
    'values of Eigh': program('Eigh', '1,1,100,1e-6', `%q = stablehlo.multiply %0#1, %0#1 : tensor<3xf64>\n%s = ${sum('3', '0')}`),
    'vectors of Eigh': program('Eigh', '1,1,100,1e-6',
      `%p = stablehlo.multiply %0#0, %0#0 : tensor<3x3xf64>\n%q = stablehlo.multiply %p, %p : tensor<3x3xf64>\n%s = ${sum('3x3', '0, 1')}`),
    'Q by its reflectors': program('Qr',
      '', `%v = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0#0, %0#1) : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3x3xf64>
      %w = stablehlo.multiply %v, %v : tensor<3x3xf64>\n%q = stablehlo.multiply %w, %v : tensor<3x3xf64>\n%s = ${sum('3x3', '0, 1')}`),
  };
  for (const [name, text] of Object.entries(PROGRAMS)) {
    test(name, async () => {
      const module = await client.load(text);
      const value = await client.compile(module), slopes = await client.compile(client.gradient(module));
      const at = async (i, j, h) => (await value.execute([matrix.map((row, r) => row.map((x, c) => x + (r === i && c === j ? h : 0)))]))[0].toArray();
      const [got] = await slopes.execute([matrix]);
      for (let i = 0; i < 3; i++) {
        for (let j = 0; j < 3; j++) {
          // Eigh reads a triangle, whose slopes its rule, as JAX's, divides between both.
          const own = ([r, c]) => got.toArray()[r][c];
          const isEigh = name.includes('Eigh');
          if (isEigh && j > i) continue;
          const wanted = (await at(i, j, 1e-5) - await at(i, j, -1e-5)) / 2e-5;
          const slope = isEigh && i !== j ? own([i, j]) + own([j, i]) : own([i, j]);
          assert.ok(Math.abs(slope - wanted) < 1e-6 * (1 + Math.abs(wanted)), `[${i}, ${j}]: ${slope}, by differences ${wanted}`);
        }
      }
    });
  }
});
