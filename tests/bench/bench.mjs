/**
 * Benchmarks: what a few programs take here, against the same computation as a plain loop over typed
 * arrays in JavaScript, in turn in the same process. The machine's speed drifts, so look at ratios.
 *
 *     make bench [ARGS="--threads N"]
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';

const ROUNDS = 15;

function add(client) {
  const b = client.builder('add');
  return b.build(b.add(b.parameter(0, 'f32[]'), b.parameter(1, 'f32[]')));
}

const random = (n) => Float32Array.from({ length: n }, Math.random);

/** Each: a name, parameter shapes, the program's root, and the plain loop over the same data. */
const PROGRAMS = [
  {
    name: 'x * y + x, 1M elements',
    shapes: ['f32[1048576]', 'f32[1048576]'],
    root: (b, [x, y]) => b.add(b.mul(x, y), x),
    plain: (x, y) => x.map((v, i) => v * y[i] + v),
  },
  {
    name: 'tanh(exp(-x)), 1M elements',
    shapes: ['f32[1048576]'],
    root: (b, [x]) => b.tanh(b.exp(b.neg(x))),
    plain: (x) => x.map((v) => Math.tanh(Math.exp(-v))),
  },
  {
    name: 'row sums of 1024 x 1024',
    shapes: ['f32[1024,1024]'],
    root: (b, [x], client) => b.reduce(x, b.constant(0, 'f32[]'), add(client), [1]),
    plain: (x) => {
      const sums = new Float32Array(1024);
      x.forEach((v, i) => { sums[i >> 10] += v; });
      return sums;
    },
  },
  {
    name: 'dot of 512 x 512 matrices',
    shapes: ['f32[512,512]', 'f32[512,512]'],
    root: (b, [x, y]) => b.dot(x, y),
    plain: (x, y) => {
      const out = new Float32Array(512 * 512);
      for (let i = 0; i < 512; i++) {
        for (let k = 0; k < 512; k++) {
          const v = x[i * 512 + k];
          for (let j = 0; j < 512; j++) out[i * 512 + j] += v * y[k * 512 + j];
        }
      }
      return out;
    },
  },
];

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

async function measure(client, { shapes, root, plain }) {
  const b = client.builder('bench');
  const module = b.build(root(b, shapes.map((shape, i) => b.parameter(i, shape)), client));
  const executable = await client.compile(module, { replicas: 1 });
  const counts = shapes.map((shape) => shape.match(/\d+(?=[,\]])/g).reduce((n, d) => n * d, 1));
  const data = counts.map(random);
  const buffers = data.map((values, i) => client.buffer(values, shapes[i]));
  const ours = [];
  const theirs = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    const [result] = await executable.execute(buffers, { device: true });
    const middle = performance.now();
    plain(...data);
    theirs.push(performance.now() - middle);
    ours.push(middle - start);
    result.dispose();
  }
  return { ours: median(ours), theirs: median(theirs) };
}

const { values } = parseArgs({ options: { threads: { type: 'string' } } });
const threads = Number(values.threads ?? availableParallelism());
const client = await Client.create({ threads });
console.log(`median of ${ROUNDS}, ${threads} threads           xla-wasm   plain JavaScript   ratio`);
for (const program of PROGRAMS) {
  const { ours, theirs } = await measure(client, program);
  console.log(`${program.name.padEnd(32)} ${ours.toFixed(2).padStart(7)} ms ` +
    `${theirs.toFixed(2).padStart(15)} ms ${(theirs / ours).toFixed(1).padStart(7)}`);
}
client.dispose();
