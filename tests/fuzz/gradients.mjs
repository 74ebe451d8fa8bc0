/**
 * Fuzzes derivatives: of random programs, forward and reverse mode agree, <c, J t> = <J^T c, t> for random t and c.
 *
 *     node tests/fuzz/gradients.mjs [--seconds N] [--seed N] [--programs N] [--verbose]
 *
 * Programs with narrow floats or reduce-precision are left out, as their products differ by rounding, and so are those whose derivatives
 * are not finite. Exit code 1 if any disagreed.
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
const TOLERANCES = { f32: 2e-3, c64: 2e-3, f64: 1e-8, c128: 1e-8 };
const LIMIT = { timeoutMs: 20_000 };

const totals = { programs: 0, agreed: 0, refused: 0, infinite: 0, disagreements: 0 };
let client = await Client.create({ threads: 0 });

const isFloat = ({ elementType }) => elementType in TOLERANCES;
const isNarrow = ({ elementType }) => /^(bf16|f16|f8|f4)/.test(elementType);

/** Random numbers from -1 to 1, as an argument of this shape. */
function direction(random, { elementType, dimensions }) {
  const complex = elementType.startsWith('c') ? 2 : 1;
  const count = dimensions.reduce((product, size) => product * size, complex);
  const Elements = elementType === 'f64' || elementType === 'c128' ? Float64Array : Float32Array;
  return new Literal(`${elementType}[${dimensions}]`, Elements.from({ length: count }, () => random.between(-1000, 1000) / 1000));
}

/** The sum of products, without conjugation, and the sum of their sizes. */
function product(x, y) {
  const isComplex = x.shape.elementType.startsWith('c');
  const [a, b] = [x.inLayout(null).data, y.inLayout(null).data];
  let [sum, size] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    const term = a[i] * b[i];
    sum += isComplex && i % 2 ? -term : term;
    size += Math.abs(term);
  }
  return [sum, size];
}

const add = (pairs) => pairs.reduce(([s, t], [x, y]) => [s + x, t + y], [0, 0]);

async function run(derived, args) {
  const executable = await client.compile(derived);
  try {
    return await executable.execute(args, LIMIT);
  } finally {
    executable.dispose();
    derived.dispose();
  }
}

/** Returns what is wrong, or the name of a total. */
async function check(module, args, random) {
  const parameters = module.parameters.map(({ shape }) => shape);
  const wrt = parameters.flatMap((shape, i) => (isFloat(shape) ? [i] : []));
  const results = (module.resultShape.isTuple ? module.resultShape.tupleShapes : [module.resultShape]).filter(isFloat);
  if (!wrt.length || !results.length) return 'refused';
  const tangents = wrt.map((i) => direction(random, parameters[i]));
  const cotangents = results.map((shape) => direction(random, shape));
  const forward = (await run(client.jvp(module, { wrt }), [...args, ...tangents])).slice(-results.length);
  const backward = await run(client.vjp(module, { wrt, maxTrips: 64 }), [...args, ...cotangents]);
  const [left, leftSize] = add(forward.map((y, i) => product(y, cotangents[i])));
  const [right, rightSize] = add(backward.map((x, i) => product(x, tangents[i])));
  if (!Number.isFinite(left) || !Number.isFinite(right)) return 'infinite';
  const tolerance = Math.max(...[...results, ...wrt.map((i) => parameters[i])].map(({ elementType }) => TOLERANCES[elementType]));
  if (Math.abs(left - right) <= tolerance * Math.max(leftSize, rightSize, 1e-30)) return 'agreed';
  return `<c, J t> = ${left}, <J^T c, t> = ${right}, of ${leftSize} and ${rightSize}`;
}

async function one(seed) {
  const program = generate(client, seed, { refused: () => {} });
  const outputs = program.chooseOutputs();
  if (!outputs.length || program.replicas > 1) return;
  const { module, literals, steps } = buildModule(client, program.steps, outputs, new Map());
  const isLeftOut = ({ name, shape }) => name === 'reduce-precision' || !shape.isArray || isNarrow(shape) || shape.isDynamic;
  if (steps.some(isLeftOut)) return;
  totals.programs++;
  let outcome;
  try {
    outcome = await check(module, literals.map(([literal]) => literal), new Random(seed));
  } catch (error) {
    const isRefusal = error.code === 'UNIMPLEMENTED' && error.message.startsWith('gradient:');
    outcome = isRefusal ? 'refused' : error.stack;
    if (/trapped|broken/.test(error.message)) client = await Client.create({ threads: 0 });
  }
  if (outcome in totals) {
    totals[outcome]++;
  } else {
    totals.disagreements++;
    console.log(`\nDISAGREEMENT, seed ${seed}: ${outcome}`);
    if (options.verbose && !module.disposed) console.log(module.toString());
  }
  if (!client.disposed && !module.disposed) module.dispose();
}

const first = Number(options.seed);
for (let i = 0; i < Number(options.programs) && Date.now() < deadline; i++) await one(first + i);
console.log(`seed ${first}: ${Object.entries(totals).map(([name, count]) => `${count} ${name}`).join(', ')}`);
client.dispose();
process.exitCode = totals.disagreements ? 1 : 0;
