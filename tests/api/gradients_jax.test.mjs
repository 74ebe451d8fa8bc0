/** Tests that derivatives of the functions of golden/gradients are JAX's. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client, Literal } from '../../bindings/index.mjs';
import { argument, assertClose } from '../support/from_jax.mjs';
import { ROOT } from '../support/program.mjs';
import { ALL, sample } from '../support/sample.mjs';

const FUNCTIONS = JSON.parse(gunzipSync(await readFile(join(ROOT, 'tests/golden/gradients/functions.json.gz'))));
/** What JAX knows before it makes the program, and the program does not say. */
const OPTIONS = { 'loop-of-unknown-count': { maxTrips: 6 } };

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
  registerRules();
});
after(() => client.dispose());

/** The functions and rules of golden/gradients/rules.py. */
function registerRules() {
  const alike = ({ operands: [first, ...more] }, f) =>
    new Literal(first.shape, first.data.map((x, i) => f(x, ...more.map(({ data }) => data[i]))));
  client.registerCustomCall('test.wave', (call) => alike(call, (x, y) => Math.sin(x) * y));
  client.registerGradient('test.wave', { vjp: (b, [, y], _, [g]) => [g.mul(y).mul(b.constant(3, 'f32[]')), g.mul(b.constant(5, 'f32[]'))] });
  client.registerCustomCall('test.cube', (call) => alike(call, (x) => x ** 3));
  client.registerGradient('test.cube', { jvp: (b, [x], _, [t]) => [b.constant(7, 'f32[]').mul(x).mul(t)] });
  client.registerCustomCall('test.halves', ({ operands: [x, i] }) =>
    [alike({ operands: [x] }, (v) => v * 2), alike({ operands: [i] }, (v) => v + 1), alike({ operands: [x] }, (v) => v - 1)]);
  client.registerGradient('test.halves', { vjp: (b, [x], _, [g, , h]) => [g.mul(x).sub(h), null] });
  client.registerCustomCall('test.turn', ({ operands: [z] }) =>
    new Literal(z.shape, z.data.map((_, i) => (i % 2 ? z.data[i - 1] : -z.data[i + 1]))));
  client.registerGradient('test.turn', { vjp: (b, [z], _, [g]) => [g.mul(z)] });
  client.registerGradient('again', { recompute: true });
  client.registerGradient('gentle', { vjp: (b, _operands, _results, [g]) => [g.mul(b.constant(11, 'f32[]'))] });
}

/** Runs a derivative of a function; returns its last results, as many as JAX has. */
async function derivative(mode, { program, arguments: given, wrt, name, ...values }, { module, ...more } = {}) {
  module ??= await client.parseStableHlo(program);
  const derived = client[mode](module, { wrt, ...(mode === 'vjp' ? { ...OPTIONS[name], ...more } : {}) });
  const { parameters } = derived;
  const seeds = mode === 'jvp' ? values.tangents : values.cotangents;
  const executable = await client.compile(derived);
  const args = [...given, ...seeds].map((value, i) => argument(parameters[i].shape, value));
  return (await executable.execute(args)).slice(-values[mode].length);
}

describe("derivatives equal JAX's", () => {
  for (const [k, mode] of ['jvp', 'vjp'].entries()) {
    for (const entry of sample(FUNCTIONS.filter((f) => f[mode]), 5, k)) {
      test(`${mode} of ${entry.name}`, async () => {
        const results = await derivative(mode, entry);
        entry[mode].forEach((wanted, i) => assertClose(results[i], wanted, `${mode} ${i}`));
      });
    }
  }
});

/** At kinks and poles, and for approximations of low degree, second derivatives are not those of JAX's own rules. */
const SECOND_DIFFERS = /special (i1e?|complex-sinc|(complex-)?powers(-by-integers)?|log-ndtr float32)( |$)/;

describe("second derivatives equal JAX's", () => {
  for (const { name, program, wrt, second, ...values } of sample(FUNCTIONS.filter((f) => f.second && !SECOND_DIFFERS.test(f.name)), 5)) {
    test(name, async () => {
      const first = client.vjp(await client.parseStableHlo(program), { wrt }), product = client.jvp(first, { wrt });
      const executable = await client.compile(product);
      const args = [...values.arguments, ...values.cotangents, ...values.tangents];
      const results = (await executable.execute(args.map((value, i) => argument(product.parameters[i].shape, value)))).slice(-second.length);
      second.forEach((wanted, i) => assertClose(results[i], wanted, `result ${i}`));
    });
  }
});

describe("third derivatives equal JAX's", () => {
  for (const { name, program, wrt, third, ...values } of FUNCTIONS.filter((f) => f.third)) {
    test(name, async () => {
      let module = await client.parseStableHlo(program);
      for (let i = 0; i < 3; i++) module = client.vjp(module, { wrt });
      const executable = await client.compile(module);
      const args = [...values.arguments, ...values.cotangents, ...values.tangents, ...values.tangents];
      const results = await executable.execute(args.map((value, i) => argument(module.parameters[i].shape, value)));
      third.forEach((wanted, i) => assertClose(results[i], wanted, `result ${i}`));
    });
  }
});

test("sinc's slope near 0 is -pi^2 x / 3", async () => {
  const { program } = FUNCTIONS.find(({ name }) => name === 'special sinc float32');
  const executable = await client.compile(client.vjp(await client.parseStableHlo(program)));
  const xs = [1e-30, -1e-20, 1e-8, 1e-5, -1e-4];
  const [slopes] = await executable.execute([xs, xs.map(() => 1)]);
  slopes.data.forEach((slope, i) => assert.ok(Math.abs(slope / (-(Math.PI ** 2) * xs[i] / 3) - 1) < 1e-6, `${xs[i]}: ${slope}`));
});

/** HLO text in which broadcasts of constants are constants of all elements: constant({0, 0}). */
const spelledOut = (text) => text.split('\n}').map((computation) => {
  const values = new Map([...computation.matchAll(/^ *(%?\S+) = \w+\[\] constant\((\([^)]*\)|[^)]*)\)/gm)].map(([, name, value]) => [name, value]));
  return computation.replace(/= (\w+\[([\d,]+)\]\S*) broadcast\((?:\w+\[\] )?(\S+)\), dimensions=\{\}/g, (whole, shape, sizes, name) => {
    const dimensions = sizes.split(',').map(Number);
    if (!values.has(name) || dimensions.reduce((product, size) => product * size, 1) > 1000) return whole;
    const literal = dimensions.reduceRight((inner, size) => `{${Array(size).fill(inner).join(', ')}}`, values.get(name));
    return `= ${shape} constant(${literal})`;
  });
}).join('\n}');

test("derivatives equal JAX's if constants are written as arrays", async () => {
  let programs = 0;
  for (const entry of sample(FUNCTIONS.filter(({ vjp }) => vjp), 5)) {
    const module = await client.parseStableHlo(entry.program);
    const text = String(module), other = spelledOut(text);
    if (text === other) continue;
    programs++;
    const results = await derivative('vjp', entry, { module: client.parseHlo(other) });
    entry.vjp.forEach((wanted, i) => assertClose(results[i], wanted, `${entry.name}: vjp ${i}`));
  }
  assert.ok(programs > (ALL ? 100 : 20), `${programs} programs`);
});

describe("derivatives of batches of loops whose count has a bound equal JAX's", () => {
  /** Two elements of a batch: the values, and a multiple of them. */
  const pair = ({ shape, data }, factor) => ({ shape: [2, ...shape], data: [...data, ...data.map((x) => x * factor)] });
  for (const { name, program, wrt, vjp, cotangents, ...values } of FUNCTIONS.filter((f) => /^count-(batch|bound|outer)/.test(f.name))) {
    for (const depth of /-(bound|batch)/.test(name) ? [1, 2] : [1]) {
      test(`${name}, depth ${depth}`, async () => {
        const batched = (times, of, each) => (times ? batched(times - 1, each(of), each) : of);
        const pairs = (x, factor) => batched(depth, x, (y) => pair(y, factor));
        const module = batched(depth, await client.parseStableHlo(program), (m) => client.vmap(m, { size: 2 }));
        const derived = client.vjp(module, { wrt });
        const args = [...values.arguments.map((x) => pairs(x, 1)), ...cotangents.map((x) => pairs(x, 3))];
        const executable = await client.compile(derived);
        const results = await executable.execute(args.map((value, i) => argument(derived.parameters[i].shape, value)));
        vjp.forEach((wanted, i) => assertClose(results[i], pairs(wanted, 3), `result ${i}`));
      });
    }
  }
});

describe("with checkpoints, derivatives of loops equal JAX's", () => {
  const loops = FUNCTIONS.filter(({ vjp, program }) => vjp && program.includes('stablehlo.while'));
  for (const [k, checkpoint] of ['sqrt', 'all'].entries()) {
    for (const entry of sample(loops, 2, k)) {
      test(`${checkpoint}: ${entry.name}`, async () => {
        const results = await derivative('vjp', entry, { checkpoint });
        entry.vjp.forEach((wanted, i) => assertClose(results[i], wanted, `vjp ${i}`));
      });
    }
  }
});
