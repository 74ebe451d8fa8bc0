/**
 * Fuzzes slopes at zeros, ties and poles: random programs of slopes.py, against JAX's values and slopes; and at points
 * nearby, where they are smooth, against finite differences.
 *
 *     node tests/fuzz/slopes.mjs [--seconds N] [--seed N] [--programs N] [--verbose]
 *
 * Program number i of seed s is the first one of seed s + i: `--seed N --programs 1 --verbose` prints one. Where JAX has a
 * NaN, any number is right. Exit code 1 if there was a fault.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { argument, flat } from '../support/from_jax.mjs';

const SCRIPT = fileURLToPath(new URL('slopes.py', import.meta.url));
const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL('../../build/venv/bin/python', import.meta.url));
const LIMIT = { timeoutMs: 20_000 };
/** Tolerances: rounding of f64 in a few hundred operations, and errors of differences of order 4. */
const TOLERANCE = 1e-9, DIFFERENCE_TOLERANCE = 1e-5;

const number = (value) => (typeof value === 'string' ? Number(value.replace('inf', 'Infinity')) : value);
const numbers = ({ data }) => data.map(number);
const largest = (values) => Math.max(1, ...values.filter(Number.isFinite).map(Math.abs));

/** Describes the first element that differs; NaN is wanted where any number is right. */
function difference(what, got, wanted, tolerance = TOLERANCE) {
  const bound = tolerance * largest(wanted);
  const i = wanted.findIndex((value, k) => !(Number.isNaN(value) || value === got[k] || Math.abs(value - got[k]) <= bound));
  return i < 0 && got.length === wanted.length ? undefined : `${what}: ${got}; wanted ${wanted}`;
}

async function run(client, module, given) {
  const executable = await client.compile(module);
  try {
    const args = given.map((value, i) => argument(module.parameters[i].shape, value));
    return (await executable.execute(args, LIMIT)).map((result) => flat(result.toArray()));
  } finally {
    executable.dispose();
  }
}

/** Compares values and slopes with JAX's. Returns a description of a fault. */
async function againstJax(client, modules, record) {
  const { value, jvp, vjp, arguments: at, tangents, cotangents } = record;
  const results = {
    value: [await run(client, modules.module, at), value],
    jvp: [(await run(client, modules.jvp, [...at, ...tangents])).slice(-jvp.length), jvp],
    vjp: [(await run(client, modules.vjp, [...at, ...cotangents])).slice(-vjp.length), vjp],
    'value of the jvp': [(await run(client, modules.jvp, [...at, ...tangents])).slice(0, value.length), value],
  };
  for (const [name, [got, wanted]] of Object.entries(results)) {
    for (const [i, array] of wanted.entries()) {
      const fault = difference(`${name} ${i}`, got[i], numbers(array));
      if (fault) return fault;
    }
  }
  return undefined;
}

const moved = (arrays, tangents, step) =>
  arrays.map((x, i) => ({ shape: x.shape, data: numbers(x).map((v, k) => v + step * number(tangents[i].data[k])) }));

/** Differences of order 4 along the tangents, and NaN where two steps do not agree: there is a kink or a pole. */
async function differences(client, module, at, tangents) {
  const along = async (step) => {
    const values = [];
    for (const k of [-2, -1, 1, 2]) values.push((await run(client, module, moved(at, tangents, k * step))).flat());
    const [a, b, c, d] = values;
    return a.map((_, i) => (a[i] - 8 * b[i] + 8 * c[i] - d[i]) / (12 * step));
  };
  const [wide, narrow] = [await along(2e-4), await along(1e-4)], scale = largest(narrow);
  return narrow.map((value, i) => (Math.abs(value - wide[i]) <= DIFFERENCE_TOLERANCE / 10 * scale ? value : NaN));
}

const product = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);

/** Compares slopes at a point nearby with finite differences, in both directions. NaN is allowed: an operand that stays 0 may be at a pole. */
async function againstDifferences(client, modules, { near, tangents, cotangents }) {
  const got = (await run(client, modules.jvp, [...near, ...tangents])).slice(-cotangents.length).flat();
  const wanted = (await differences(client, modules.module, near, tangents)).map((value, i) => (Number.isNaN(got[i]) ? NaN : value));
  const fault = difference('jvp nearby', got, wanted, DIFFERENCE_TOLERANCE);
  if (fault) return fault;
  const back = (await run(client, modules.vjp, [...near, ...cotangents])).slice(-tangents.length).flat();
  const [left, right] = [product(got, cotangents.flatMap(numbers)), product(back, tangents.flatMap(numbers))];
  const scale = largest([...got, ...back]);
  return Number.isFinite(left) ? difference('<J^T c, t> nearby', [right], [left], 1e-8 * scale) : undefined;
}

async function check(client, record) {
  if (record.refused) return record.refused;
  const module = await client.parseStableHlo(record.program), wrt = record.arguments.map((_, i) => i);
  const modules = { module, jvp: client.jvp(module, { wrt }), vjp: client.vjp(module, { wrt }) };
  try {
    return await againstJax(client, modules, record) ?? await againstDifferences(client, modules, record) ?? 'agreed';
  } finally {
    Object.values(modules).forEach((one) => one.dispose());
  }
}

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    programs: { type: 'string', default: '1000000000' },
    verbose: { type: 'boolean', default: false },
  },
});
const deadline = Date.now() + 1000 * Number(options.seconds);
const totals = { programs: 0, agreed: 0, refused: 0, faults: 0 };
const python = spawn(PYTHON, [SCRIPT, '--seed', options.seed, '--programs', options.programs], { stdio: ['ignore', 'pipe', 'inherit'] });
let client = await Client.create({ threads: 0 });
for await (const line of createInterface({ input: python.stdout })) {
  const record = JSON.parse(line);
  totals.programs++;
  let outcome;
  try {
    outcome = await check(client, record);
  } catch (error) {
    const isRefusal = error.code === 'UNIMPLEMENTED' && error.message.startsWith('gradient:');
    outcome = isRefusal ? 'refused' : error.stack;
    if (isRefusal) console.log(`refused, seed ${record.seed}: ${error.message}`);
    if (/trapped|broken/.test(error.message)) client = await Client.create({ threads: 0 });
  }
  if (outcome in totals) {
    totals[outcome]++;
  } else {
    totals.faults++;
    console.log(`\nFAULT, seed ${record.seed}: ${outcome}\n  ${record.steps?.join('\n  ')}\n  at ${JSON.stringify(record.arguments?.map(({ data }) => data))}`);
  }
  if (options.verbose) console.log(record.program);
  if (totals.programs % 100 === 0) {
    client.dispose();
    client = await Client.create({ threads: 0 });
  }
  if (Date.now() > deadline) break;
}
python.kill();
console.log(`seed ${options.seed}: ${Object.entries(totals).map(([name, count]) => `${count} ${name}`).join(', ')}`);
client.dispose();
process.exitCode = totals.faults || !totals.agreed ? 1 : 0;
