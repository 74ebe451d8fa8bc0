/**
 * Fuzzes batches: of random programs, one run of a batch equals a run of each element.
 *
 *     node tests/fuzz/batches.mjs [--seconds N] [--seed N] [--programs N] [--verbose]
 *
 * The programs run as they are written. Kernels for one matrix and for many round differently, so floats are compared
 * with a tolerance relative to the largest one. Programs with narrow floats, random numbers or triangular solves are
 * left out: a random triangular matrix makes a rounding error as large as the result. Exit code 1 if any differed.
 */
import { Literal } from '../../bindings/index.mjs';
import { fuzzDerived } from './derived.mjs';

const SIZE = 3;
const TOLERANCES = { f32: 1e-3, c64: 1e-3, f64: 1e-9, c128: 1e-9 };
const LIMIT = { timeoutMs: 20_000 };

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

async function run(client, module, args) {
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

const LEFT_OUT = /\b(bf16|f16|f8\w+|f4\w+)\[|<=|\b(rng[\w-]*|reduce-precision|triangular-solve)\(|"fuzz\./;

/** Returns an outcome, or a description of the fault. Some arguments have the batch. */
async function check(client, module, args, random) {
  if (!args.length) return 'agreed';
  const flags = args.map(() => random.between(0, 2) > 0);
  flags[random.between(0, flags.length - 1)] = true;
  const each = args.map((literal, k) => Array.from({ length: SIZE }, (_, i) => (flags[k] ? moved(literal, i) : literal)));
  const mapped = client.vmap(module, { in: flags.map((flag) => (flag ? 0 : null)), size: SIZE });
  const singles = [];
  for (let i = 0; i < SIZE; i++) {
    const results = await run(client, module, each.map((variants) => variants[i])).catch(() => null);
    if (!results) return 'failed';
    singles.push(results);
  }
  const got = await run(client, mapped, each.map((variants, k) => (flags[k] ? stacked(variants) : args[k])));
  mapped.dispose();
  for (const [k, { shape, data }] of got.entries()) {
    const size = data.length / SIZE;
    for (let i = 0; i < SIZE; i++) {
      const part = data.slice(i * size, (i + 1) * size);
      if (!isNear(shape.elementType, part, singles[i][k].inLayout(null).data)) {
        return `in: [${flags}], result ${k}, ${shape}, element ${i}: ${part.slice(0, 8)}; alone: ${singles[i][k].data.slice(0, 8)}`;
      }
    }
  }
  return 'agreed';
}

await fuzzDerived({ operation: 'vmap', outcomes: ['agreed', 'failed'], leftOut: LEFT_OUT, check });
