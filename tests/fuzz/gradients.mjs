/**
 * Fuzzes derivatives: of random programs, forward and reverse mode agree, <c, J t> = <J^T c, t> for random t and c.
 *
 *     node tests/fuzz/gradients.mjs [--seconds N] [--seed N] [--programs N] [--verbose]
 *
 * Programs with narrow floats or reduce-precision are left out, as their products differ by rounding, and so are those whose derivatives
 * are not finite. Exit code 1 if any disagreed.
 */
import { Literal } from '../../bindings/index.mjs';
import { fuzzDerived } from './derived.mjs';

const TOLERANCES = { f32: 2e-3, c64: 2e-3, f64: 1e-8, c128: 1e-8 };
/** The distance from 1 to the next number. */
const EPSILONS = { f32: 2 ** -23, c64: 2 ** -23, f64: 2 ** -52, c128: 2 ** -52 };
const CHECKPOINTS = ['none', 'sqrt', 'all'];
const LIMIT = { timeoutMs: 20_000 };

const isFloat = ({ elementType }) => elementType in TOLERANCES;

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

async function run(client, derived, args) {
  const executable = await client.compile(derived);
  try {
    return await executable.execute(args, LIMIT);
  } finally {
    executable.dispose();
    derived.dispose();
  }
}

/** Whether windows may have elements as infinite as their padding, where the modes differ (docs/differences.md). */
const isAtPadding = (module, args) => / reduce-window\(/.test(module.toString()) &&
  args.some(({ shape, data }) => isFloat(shape) && !data.every(Number.isFinite));

/** Returns an outcome, or a description of the fault. */
async function check(client, module, args, random) {
  const parameters = module.parameters.map(({ shape }) => shape);
  const wrt = parameters.flatMap((shape, i) => (isFloat(shape) ? [i] : []));
  const results = (module.resultShape.isTuple ? module.resultShape.tupleShapes : [module.resultShape]).filter(isFloat);
  if (!wrt.length || !results.length) return 'refused';
  const tangents = wrt.map((i) => direction(random, parameters[i]));
  const cotangents = results.map((shape) => direction(random, shape));
  const outputs = await run(client, client.jvp(module, { wrt }), [...args, ...tangents]);
  const forward = outputs.slice(-results.length);
  const values = outputs.slice(0, -results.length).filter(({ shape }) => isFloat(shape));
  const backward = await run(client, client.vjp(module, { wrt, maxTrips: 64, checkpoint: CHECKPOINTS[random.between(0, 2)] }),
    [...args, ...cotangents]);
  const [left, leftSize] = add(forward.map((y, i) => product(y, cotangents[i])));
  const [right, rightSize] = add(backward.map((x, i) => product(x, tangents[i])));
  if (!Number.isFinite(left) || !Number.isFinite(right)) return 'infinite';
  const tolerance = Math.max(...[...results, ...wrt.map((i) => parameters[i])].map(({ elementType }) => TOLERANCES[elementType]));
  /* Terms of a derivative may cancel, as those of a softmax of one column: the rest is then as small as the results' rounding. */
  const sizes = values.map((y, i) => 4 * EPSILONS[y.shape.elementType] * product(y, cotangents[i])[1]).filter(Number.isFinite);
  const rounding = sizes.reduce((sum, size) => sum + size, 1e-30);
  if (Math.abs(left - right) <= tolerance * Math.max(leftSize, rightSize) + rounding) return 'agreed';
  if (isAtPadding(module, args)) return 'infinite';
  return `<c, J t> = ${left}, <J^T c, t> = ${right}, of ${leftSize} and ${rightSize}`;
}

const LEFT_OUT = /\b(bf16|f16|f8\w+|f4\w+)\[|<=|\breduce-precision\(|"fuzz\./;

await fuzzDerived({ operation: 'gradient', outcomes: ['agreed', 'infinite'], leftOut: LEFT_OUT, check });
