/**
 * Measures gradients of losses exported from JAX (gradients/models.py): client.gradient() of the forward program against
 * the backward program that JAX put into the same file. Both run here in alternating rounds; both are compared with native
 * XLA's gradient. Then measures client.vmap() of a function against JAX's vmap of it, for batches of 64.
 *
 *     make bench ARGS="gradients [--only PATTERN] [--seconds N] [--compilations N]"
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';

const FOLDER = fileURLToPath(new URL('../../build/gradients/', import.meta.url));
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' }, seconds: { type: 'string', default: '1.5' },
    compilations: { type: 'string', default: '3' },
  },
});

/** The number of elements in a batch, as in models.py. */
const SIZE = 64;

const client = await Client.create({ threads: 0 });
const bytesOf = (file) => new Uint8Array(readFileSync(FOLDER + file));
const numbers = (file, type = 'f32') => new { f32: Float32Array, s32: Int32Array }[type](bytesOf(file).buffer);

/** Returns the largest difference over all results, relative to the largest number. */
function difference(files, results) {
  return Math.max(...files.map((file, i) => {
    const wanted = numbers(file);
    const error = wanted.reduce((most, x, k) => Math.max(most, Math.abs(x - results[i].data[k])), 0);
    return error / wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-30);
  }));
}

async function time(executable, args) {
  const start = performance.now();
  const results = await executable.execute(args, { device: true });
  const took = performance.now() - start;
  results.forEach((result) => result.dispose());
  return took;
}

const buffers = (name, shapes) => shapes.map(([type, dimensions], i) =>
  client.buffer(numbers(`${name}.${i}`, type), `${type}[${dimensions}]`));

/** Returns the median milliseconds of both programs, in alternating rounds. */
async function compare(pairs) {
  const times = pairs.map(() => []);
  const end = performance.now() + 1000 * Number(options.seconds);
  for (let round = 0; round < 5 || performance.now() < end; round++) {
    for (const [i, [executable, args]] of pairs.entries()) {
      const took = await time(executable, args);
      if (round > 1) times[i].push(took);
    }
  }
  return times.map((list) => list.sort((a, b) => a - b)[list.length >> 1]);
}

async function measure(name, { wrt, shapes }) {
  const module = await client.load(bytesOf(`${name}.bin`));
  const start = performance.now();
  const gradient = client.gradient(module, { wrt });
  const took = performance.now() - start;
  const [ours, theirs] = [await client.compile(gradient), await client.compile(module.vjp)];
  const args = buffers(name, shapes);
  const error = difference(wrt.map((number) => `${name}.g${number}`), await ours.execute(args));
  const [own, jax] = await compare([[ours, args], [theirs, [...args, client.buffer(1, 'f32[]')]]]);
  const memory = ours.memory.temporaries / theirs.memory.temporaries;
  return { took, own, ratio: own / jax, memory, error };
}

/** Returns the median ratio over several compilations, as a program's address in memory changes its speed. */
async function measureBatch(name, { in: axes, shapes }) {
  const one = await client.load(bytesOf(`${name}.bin`)), all = await client.load(bytesOf(`${name}.vmap.bin`));
  const args = buffers(name, shapes), rows = [];
  let error;
  for (let i = 0; i < Number(options.compilations); i++) {
    const module = client.vmap(one, { in: axes, size: SIZE });
    const [ours, theirs] = [await client.compile(module), await client.compile(all)];
    const results = await ours.execute(args);
    error = difference(results.map((_, k) => `${name}.r${k}`), results);
    const [own, jax] = await compare([[ours, args], [theirs, args]]);
    rows.push({ own, ratio: own / jax });
    [module, ours, theirs].forEach((each) => each.dispose());
  }
  rows.sort((x, y) => x.ratio - y.ratio);
  return { ...rows[rows.length >> 1], error };
}

const described = (file) => Object.entries(JSON.parse(readFileSync(`${FOLDER}${file}.json`, 'utf8')))
  .filter(([name]) => new RegExp(options.only).test(name));
const geometricMean = (ratios) => Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length).toFixed(3);

async function gradients(models) {
  console.log('| model | gradient | time by JAX\'s | temporaries by JAX\'s | time to differentiate | error |');
  console.log('| --- | --: | --: | --: | --: | --: |');
  const ratios = [];
  for (const [name, model] of models) {
    const { took, own, ratio, memory, error } = await measure(name, model);
    ratios.push(ratio);
    console.log(`| ${name} | ${own.toPrecision(3)} ms | ${ratio.toFixed(2)} | ${memory.toFixed(2)} | ${took.toFixed(1)} ms | ${error.toExponential(0)} |`);
  }
  console.log(`| geometric mean | | ${geometricMean(ratios)} | | | |`);
}

async function batches(functions) {
  console.log(`\n| batch of ${SIZE} | vmap | by JAX's own | error |`);
  console.log('| --- | --: | --: | --: |');
  const ratios = [];
  for (const [name, batch] of functions) {
    const { own, ratio, error } = await measureBatch(`batch_${name}`, batch);
    ratios.push(ratio);
    console.log(`| ${name} | ${(1000 * own).toFixed(0)} µs | ${ratio.toFixed(2)} | ${error.toExponential(0)} |`);
  }
  console.log(`| geometric mean | | ${geometricMean(ratios)} | |`);
}

const models = described('models'), functions = described('batches');
if (models.length) await gradients(models);
if (functions.length) await batches(functions);
client.dispose();
