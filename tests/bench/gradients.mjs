/**
 * Gradients of losses exported from JAX (gradients/models.py): client.gradient() of the forward program against the
 * backward program that JAX put into the same file, both run here in turns, and both compared with native XLA's gradient.
 *
 *     make bench ARGS="gradients [--only PATTERN] [--seconds N]"
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';

const FOLDER = fileURLToPath(new URL('../../build/gradients/', import.meta.url));
const { values: options } = parseArgs({
  options: { only: { type: 'string', default: '' }, seconds: { type: 'string', default: '1.5' } },
});

const client = await Client.create({ threads: 0 });
const bytesOf = (file) => new Uint8Array(readFileSync(FOLDER + file));
const numbers = (file, type = 'f32') => new { f32: Float32Array, s32: Int32Array }[type](bytesOf(file).buffer);

/** The largest difference, as a part of the largest number, over all gradients. */
function difference(name, wrt, results) {
  return Math.max(...wrt.map((number, i) => {
    const wanted = numbers(`${name}.g${number}`);
    const apart = wanted.reduce((most, x, k) => Math.max(most, Math.abs(x - results[i].data[k])), 0);
    return apart / wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-30);
  }));
}

async function time(executable, args) {
  const start = performance.now();
  const results = await executable.execute(args, { device: true });
  const took = performance.now() - start;
  results.forEach((result) => result.dispose());
  return took;
}

/** Medians of both in milliseconds, in turns. */
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
  const args = shapes.map(([type, dimensions], i) => client.buffer(numbers(`${name}.${i}`, type), `${type}[${dimensions}]`));
  const apart = difference(name, wrt, await ours.execute(args));
  const [own, jax] = await compare([[ours, args], [theirs, [...args, client.buffer(1, 'f32[]')]]]);
  const memory = ours.memory.temporaries / theirs.memory.temporaries;
  return { took, own, ratio: own / jax, memory, apart };
}

const models = Object.entries(JSON.parse(readFileSync(`${FOLDER}models.json`, 'utf8')));
const chosen = models.filter(([name]) => new RegExp(options.only).test(name));
console.log('| model | gradient | by JAX\'s own | temporaries | to differentiate | apart |');
console.log('| --- | --: | --: | --: | --: | --: |');
const ratios = [];
for (const [name, model] of chosen) {
  const { took, own, ratio, memory, apart } = await measure(name, model);
  ratios.push(ratio);
  console.log(`| ${name} | ${own.toPrecision(3)} ms | ${ratio.toFixed(2)} | ${memory.toFixed(2)} | ${took.toFixed(1)} ms | ${apart.toExponential(0)} |`);
}
const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
console.log(`| geometric mean | | ${mean.toFixed(3)} | | | |`);
client.dispose();
