/** Fits a plane to measurements: deno run --allow-read --allow-net main.ts [data.csv] */
import { Client, type HloModule } from 'xla-wasm';
import { adam, trainStep } from 'xla-wasm/train';

/** The numbers of a CSV file: all columns but the last, and the last. */
async function read(path: string): Promise<{ x: number[][]; y: number[] }> {
  const [, ...lines] = (await Deno.readTextFile(path)).trim().split('\n');
  const rows = lines.map((line) => line.split(',').map(Number));
  return { x: rows.map((row) => row.slice(0, -1)), y: rows.map((row) => row.at(-1)!) };
}

/** The mean squared error of y = x w + bias. */
function lossOf(client: Client, count: number, features: number): HloModule {
  const b = client.builder('plane');
  const w = b.parameter(0, `f32[${features}]`, 'w');
  const bias = b.parameter(1, 'f32[]', 'bias');
  const x = b.parameter(2, `f32[${count},${features}]`, 'x');
  const y = b.parameter(3, `f32[${count}]`, 'y');
  const error = b.dot(x, w).add(bias).sub(y);
  return b.build(b.mean(error.mul(error)));
}

const { x, y } = await read(Deno.args[0] ?? new URL('data.csv', import.meta.url).pathname);
using client = await Client.create();
using fit = await trainStep(client, lossOf(client, x.length, x[0].length), {
  wrt: ['w', 'bias'], optimiser: adam({ learningRate: 0.1 }),
});
await fit.start([new Float32Array(x[0].length), 0]);
let loss = Infinity;
for (let step = 0; step < 500; step++) loss = (await fit.run([x, y]))[0].data[0];

const { w, bias } = fit.weights();
console.log(`y = ${[...w.data].map((value, i) => `${value.toFixed(2)} x${i + 1}`).join(' + ')} + ${bias.toArray().toFixed(2)}`);
console.log(`mean squared error ${loss.toFixed(4)}, ${client.threads} threads`);
