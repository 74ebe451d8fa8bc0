/**
 * Fuzzes batches: of random programs, one run of a batch equals a run of each element.
 *
 *     node tests/fuzz/batches.mjs [--seconds N] [--seed N] [--programs N] [--verbose]
 *
 * The programs run as they are written. Kernels for one matrix and for many round differently, so floats are compared
 * with a tolerance relative to the largest one. Programs with narrow floats, random numbers or triangular solves are
 * left out: a random triangular matrix makes a rounding error as large as the result. Exit code 1 if any differed.
 */
import { parseArgs } from 'node:util';

import { Client, Literal } from '../../bindings/index.mjs';
import { generate } from './generate.mjs';
import { buildModule } from './program.mjs';
import { Random } from './random.mjs';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    programs: { type: 'string', default: 'Infinity' },
    verbose: { type: 'boolean', default: false },
  },
});
const deadline = Date.now() + 1000 * Number(options.seconds);
const SIZE = 3;
const TOLERANCES = { f32: 1e-3, c64: 1e-3, f64: 1e-9, c128: 1e-9 };
const LIMIT = { timeoutMs: 20_000 };

const totals = { programs: 0, agreed: 0, refused: 0, failed: 0, differences: 0 };
let client = await Client.create({ threads: 0 });

/** A literal with the elements of another one, moved on by `places`. */
function moved(literal, places) {
  const { shape, data } = literal.inLayout(null);
  const lanes = shape.elementCount ? data.length / shape.elementCount : 0;
  const at = shape.elementCount ? (places % shape.elementCount) * lanes : 0;
  const copy = data.slice();
  copy.set(data.subarray(at), 0);
  copy.set(data.subarray(0, at), data.length - at);
  return new Literal(shape.withoutLayout(), copy);
}

function stacked(literals) {
  const [{ shape, data }] = literals;
  const all = new data.constructor(data.length * SIZE);
  literals.forEach((literal, i) => all.set(literal.data, i * data.length));
  return new Literal(`${shape.elementType}[${[SIZE, ...shape.dimensions]}]`, all);
}

async function run(module, args) {
  const executable = await client.compile(module, { optimize: false });
  try {
    const results = await executable.execute(args, LIMIT);
    return results.flatMap((result) => result.leaves()).filter((leaf) => leaf);
  } finally {
    executable.dispose();
  }
}

/** Whether two views have the same integers, or floats that are near. */
function isNear(type, x, y) {
  if (!(type in TOLERANCES)) return x.every((value, i) => value === y[i]);
  const largest = y.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 1e-30);
  return x.every((value, i) => Object.is(value, y[i]) || value === y[i] || (isNaN(value) && isNaN(y[i])) ||
    Math.abs(value - y[i]) <= TOLERANCES[type] * largest);
}

const isNarrow = ({ elementType }) => /^(bf16|f16|f8|f4)/.test(elementType);
const isLeftOut = ({ name, shape }) => /^rng|reduce-precision|triangular-solve/.test(name) || isNarrow(shape) || shape.isDynamic;

/** Returns what is wrong, or the name of a total. */
async function check(module, args, flags) {
  const each = args.map((literal, k) => Array.from({ length: SIZE }, (_, i) => (flags[k] ? moved(literal, i) : literal)));
  const mapped = client.vmap(module, { in: flags.map((flag) => (flag ? 0 : null)), size: SIZE });
  const singles = [];
  for (let i = 0; i < SIZE; i++) {
    const results = await run(module, each.map((variants) => variants[i])).catch(() => null);
    if (!results) return 'failed';
    singles.push(results);
  }
  const got = await run(mapped, each.map((variants, k) => (flags[k] ? stacked(variants) : args[k])));
  mapped.dispose();
  for (const [k, { shape, data }] of got.entries()) {
    const size = data.length / SIZE;
    for (let i = 0; i < SIZE; i++) {
      const part = data.slice(i * size, (i + 1) * size);
      if (!isNear(shape.elementType, part, singles[i][k].inLayout(null).data)) {
        return `result ${k}, ${shape}, element ${i}: ${part.slice(0, 8)}; alone: ${singles[i][k].data.slice(0, 8)}`;
      }
    }
  }
  return 'agreed';
}

async function one(seed) {
  const program = generate(client, seed, { refused: () => {} });
  const outputs = program.chooseOutputs();
  if (!outputs.length || program.replicas > 1) return;
  const { module, literals, steps } = buildModule(client, program.steps, outputs, new Map());
  if (!literals.length || steps.some(isLeftOut)) return;
  totals.programs++;
  const random = new Random(seed);
  const flags = literals.map(() => random.between(0, 2) > 0);
  flags[random.between(0, flags.length - 1)] = true;
  let outcome;
  try {
    outcome = await check(module, literals.map(([literal]) => literal), flags);
  } catch (error) {
    const isRefusal = error.code === 'UNIMPLEMENTED' && error.message.startsWith('vmap:');
    outcome = isRefusal ? 'refused' : error.stack;
    if (options.verbose && isRefusal) console.log(error.message);
    if (/trapped|broken/.test(error.message)) client = await Client.create({ threads: 0 });
  }
  if (outcome in totals) {
    totals[outcome]++;
  } else {
    totals.differences++;
    console.log(`\nDIFFERENCE, seed ${seed}, in: [${flags}]: ${outcome}`);
    if (options.verbose && !module.disposed) console.log(module.toString());
  }
  if (!client.disposed && !module.disposed) module.dispose();
}

const first = Number(options.seed);
for (let i = 0; i < Number(options.programs) && Date.now() < deadline; i++) await one(first + i);
console.log(`seed ${first}: ${Object.entries(totals).map(([name, count]) => `${count} ${name}`).join(', ')}`);
client.dispose();
process.exitCode = totals.differences ? 1 : 0;
