/**
 * Measures products of matrices on one thread as a fraction of the machine's peak: the rate of a loop that only
 * multiplies and adds in registers, without fused multiply-add. A product also loads, packs and stores.
 *
 *     node tests/bench/contractions.mjs [type ...]
 *
 * Each round measures the loop and the product one after the other; the table has the best of each.
 */
import { Client } from '../../bindings/index.mjs';
import { clocks } from './clocks.mjs';
import { peak } from './probes.mjs';

const ROUNDS = 3;
const SHAPES = [
  [256, 256, 256], [512, 512, 512], [1024, 1024, 1024], [2048, 2048, 2048],
  [64, 1024, 1024], [1024, 1024, 64], [1024, 64, 1024], [64, 64, 4096],
];
/**
 * The cost of one product of each type, in products of f32. An f64 takes two lanes of f32. A complex product is four
 * real ones. Numbers of s8 are multiplied as s16, two to a lane.
 */
const COST = { f32: 1, f64: 2, bf16: 1, f16: 1, c64: 4, s8: 0.5 };
const RESULT = { s8: 's32' };

const types = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(COST);
const client = await Client.create({ threads: 0, fusedMultiplyAdd: 'never' });

async function compiled(type, [m, k, n]) {
  const module = client.parseHlo(`HloModule m
ENTRY e {
  a = ${type}[${m},${k}] parameter(0)
  b = ${type}[${k},${n}] parameter(1)
  ROOT c = ${RESULT[type] ?? type}[${m},${n}] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
`);
  const fill = client.parseHlo(`HloModule m
ENTRY e {
  s = f32[${m},${k}] iota(), iota_dimension=1
  t = f32[${k},${n}] iota(), iota_dimension=0
  i = f32[${m},${k}] sine(s)
  j = f32[${k},${n}] cosine(t)
  f = f32[] constant(${type === 's8' ? 127 : 1})
  g = f32[${m},${k}] broadcast(f), dimensions={}
  h = f32[${k},${n}] broadcast(f), dimensions={}
  x = f32[${m},${k}] multiply(i, g)
  y = f32[${k},${n}] multiply(j, h)
  a = ${type}[${m},${k}] convert(x)
  b = ${type}[${k},${n}] convert(y)
  ROOT r = (${type}[${m},${k}], ${type}[${k},${n}]) tuple(a, b)
}
`);
  const [program, made] = await Promise.all([client.compile(module), client.compile(fill)]);
  const operands = (await made.execute([], { device: true })).flat();
  for (const done of [module, fill, made]) done.dispose();
  return { program, operands };
}

/** Returns the min milliseconds of processor time for one product, over 300 ms. */
async function fastest({ program, operands }) {
  let best = Infinity;
  const end = clocks.cpu() + 300;
  do {
    const start = clocks.cpu();
    const results = await program.execute(operands, { device: true });
    best = Math.min(best, clocks.cpu() - start);
    results.forEach((buffer) => buffer.dispose());
  } while (clocks.cpu() < end);
  return best;
}

console.log('| rows x depth x columns | type | GFLOP/s | of the loop |');
console.log('| --- | --- | --: | --: |');
for (const type of types) {
  for (const shape of SHAPES) {
    const dot = await compiled(type, shape);
    let rate = 0, most = 0;
    for (let i = 0; i < ROUNDS; i++) {
      most = Math.max(most, peak());
      const flops = 2 * shape.reduce((x, y) => x * y) * COST[type];
      rate = Math.max(rate, (flops / (await fastest(dot))) * 1e3);
    }
    console.log(`| ${shape.join(' x ')} | ${type} | ${(rate / COST[type] / 1e9).toFixed(1)} | ${(rate / most).toFixed(2)} |`);
    dot.operands.forEach((buffer) => buffer.dispose());
    dot.program.dispose();
  }
}
client.dispose();
