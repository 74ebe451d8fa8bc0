/**
 * Tests derivatives of the golden corpus against finite differences, in f64: each program whose floating-point types can
 * be widened is differentiated at a random point, in a random direction v, and for random cotangents c.
 *
 *     D = Re <c, f(x + h v) - f(x - h v)> / 2h     must equal     Re <c, J v> and Re <J^T c, v>
 *     K = sum |c| |f(x + h v) - 2 f(x) + f(x - h v)| / 2h
 *
 * K is h / 2 times the second derivative where f is smooth, so it is next to nothing there. At a kink, such as that of
 * max, it is half of the difference of the slopes on both sides, and the derivative must lie between these: it may be
 * K away from D. At a jump nothing is compared: K is as large as D.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';
import { Random } from '../fuzz/random.mjs';
import { argumentsOf, literalOf, readGolden } from '../support/golden.mjs';
import { ALL, sample } from '../support/sample.mjs';

const STEP = 1e-6, TOLERANCE = 1e-6;
const MAX_ELEMENTS = 20_000;
const LIMIT = { timeoutMs: 20_000 };
/** Rounding to fewer bits, reading bits as another type, and routines with a state have no counterpart in f64. */
const LEFT_OUT = /\b(reduce-precision|bitcast-convert|stochastic-convert|rng\w*|f8\w+|f4\w+)\b|\brng-|<=/;

/** Cases in which the derivative is JAX's choice, or is not that of the matrix that LAPACK returns. */
const EXCEPTIONS = [
  [/^sign\.c/, 'JAX takes the sign of a complex number for constant'],
  [/^clamp\./, 'JAX gives the upper bound no derivative where it is below the lower one'],
  [/^gesdd\.deficient/, 'equal singular values have no derivative'],
  [/^geqrf\.raw/, 'reflectors, below the diagonal of R, have no derivative'],
];
/** These read one triangle: their derivative is that for symmetric directions, as in JAX. */
const HERMITIAN = /\bcholesky\(|"lapack_\w*(potrf|syevd|heevd)/;

const folder = new URL('../golden/', import.meta.url);
const files = (await readdir(folder)).filter((file) => file.endsWith('.golden')).sort();

/** The program with floats of 64 bits. */
const widened = (text) => text
  .replace(/\b(f32|f16|bf16)(?=\[)/g, 'f64').replace(/\bc64(?=\[)/g, 'c128')
  .replace(/"lapack_s(\w+)"/g, '"lapack_d$1"').replace(/"lapack_c(\w+)"/g, '"lapack_z$1"');

const isFloat = ({ elementType }) => elementType === 'f64' || elementType === 'c128';
const leavesOf = (shape) => (shape.isTuple ? shape.tupleShapes.flatMap(leavesOf) : [shape]);

function randomLike(random, { elementType, dimensions }, low, high) {
  const count = dimensions.reduce((n, size) => n * size, elementType === 'c128' ? 2 : 1);
  const data = Float64Array.from({ length: count }, () => low + (high - low) * random.between(0, 1e6) / 1e6);
  return new Literal(`${elementType}[${dimensions}]`, data);
}

/** Where to differentiate: the arguments of the corpus, a little moved, and ranges in which more functions are defined. */
function* points(random, shapes, given) {
  const finite = given.every(({ data }, i) => !isFloat(shapes[i]) || data.every((x) => Math.abs(x) < 50));
  if (finite) yield given.map((literal, i) => (isFloat(shapes[i]) ? along(literal, randomLike(random, shapes[i], -0.01, 0.01), 1) : literal));
  for (const [low, high] of [[-0.9, 0.9], [0.2, 0.9], [1.1, 2]]) {
    yield given.map((literal, i) => (isFloat(shapes[i]) ? randomLike(random, shapes[i], low, high) : literal));
  }
}

/** (x + x^H) / 2 of the last two dimensions. */
function hermitian(x) {
  const { elementType, dimensions } = x.shape, n = dimensions.at(-1), lanes = elementType === 'c128' ? 2 : 1;
  return new Literal(x.shape, x.data.map((value, i) => {
    const at = Math.floor(i / lanes), part = i % lanes, column = at % n, row = Math.floor(at / n) % n;
    const other = x.data[(at + (column - row) * (n - 1)) * lanes + part];
    return (value + (part ? -other : other)) / 2;
  }));
}

const isSquare = ({ dimensions }) => dimensions.length > 1 && dimensions.at(-1) === dimensions.at(-2);

const along = (x, v, h) => new Literal(x.shape, x.data.map((value, i) => value + h * v.data[i]));

const dataOf = (literal) => literal.inLayout(null).data;

/** Sums over all elements: Re of products, without conjugation, and their sizes. */
function product(xs, ys) {
  let [sum, size] = [0, 0];
  xs.forEach((x, k) => {
    const isComplex = x.shape.elementType === 'c128', [a, b] = [dataOf(x), dataOf(ys[k])];
    for (let i = 0; i < a.length; i++) {
      sum += isComplex && i % 2 ? -a[i] * b[i] : a[i] * b[i];
      size += Math.abs(a[i] * b[i]);
    }
  });
  return [sum, size];
}

const combined = (lists, weights) => lists[0].map((first, k) =>
  new Literal(first.shape.withoutLayout(), dataOf(first).map((_, i) => lists.reduce((sum, list, n) => sum + weights[n] * dataOf(list[k])[i], 0))));

/** Widens the arguments of a case. A value that the corpus has in a narrow type is read as its number. */
function wideArguments(golden, shapes) {
  return (golden.inputs[0] ?? []).map((leaf, i) => {
    const literal = literalOf(leaf);
    return isFloat(shapes[i]) ? literal.convert(shapes[i].elementType) : literal;
  });
}

class Case {
  /** @returns {Promise<Case | string>} or why it is left out */
  static async of(client, golden, random) {
    const exception = EXCEPTIONS.find(([pattern]) => pattern.test(golden.name));
    if (exception) return `exception: ${exception[1]}`;
    if (golden.replicas > 1 || golden.partitions > 1) return 'more devices';
    const text = widened(golden.hlo);
    if (LEFT_OUT.test(text)) return 'not in f64';
    let module;
    try {
      module = client.parseHlo(text);
    } catch {
      return 'not in f64';
    }
    const parameters = module.parameters.map(({ shape }) => shape.withoutLayout());
    const results = module.resultShape.isTuple ? module.resultShape.tupleShapes : [module.resultShape];
    const shapes = parameters.flatMap(leavesOf), outputs = results.filter(isFloat).map((shape) => shape.withoutLayout());
    if (parameters.some((shape) => !shape.isArray) || results.some((shape) => !shape.isArray)) return 'tuples';
    if (!shapes.some(isFloat) || !outputs.length) return 'no floats';
    if ([...shapes, ...outputs].some(({ elementCount }) => elementCount > MAX_ELEMENTS)) return 'large';
    try {
      const wrt = shapes.flatMap((shape, i) => (isFloat(shape) ? [i] : []));
      const derived = { forward: client.jvp(module, { wrt }), backward: client.vjp(module, { wrt, maxTrips: 64 }) };
      const made = new Case();
      made.executables = {};
      for (const [name, one] of Object.entries({ value: module, ...derived })) made.executables[name] = await client.compile(one);
      return Object.assign(made, { isHermitian: HERMITIAN.test(text), random, shapes, outputs, wrt, given: wideArguments(golden, shapes),
        parameters: module.parameters, kept: results.map(isFloat) });
    } catch (error) {
      if (error.code === 'UNIMPLEMENTED') return `refused: ${error.message}`;
      throw error;
    }
  }

  async run(name, leaves, more = []) {
    return this.executables[name].execute([...argumentsOf(leaves, this.parameters), ...more], LIMIT);
  }

  /** Compares at one point. Returns null if the derivative is not finite there. */
  async compare(x) {
    const { random, outputs, wrt } = this;
    const v = wrt.map((i) => {
      const direction = randomLike(random, this.shapes[i], -1, 1);
      return this.isHermitian && isSquare(direction.shape) ? hermitian(direction) : direction;
    });
    const c = outputs.map((shape) => randomLike(random, shape, -1, 1));
    const at = (h) => x.map((value, i) => (wrt.includes(i) ? along(value, v[wrt.indexOf(i)], h) : value));
    const values = async (h) => (await this.run('value', at(h))).filter(({ shape }) => isFloat(shape));
    const [above, below] = [await values(STEP), await values(-STEP)];
    const forward = await this.run('forward', x, v);
    const here = forward.slice(0, this.kept.length).filter((_, i) => this.kept[i]);
    const backward = await this.run('backward', x, c);
    const [difference, size] = product(combined([above, below], [0.5 / STEP, -0.5 / STEP]), c);
    const [, kink] = product(combined([above, here, below], [0.5 / STEP, -1 / STEP, 0.5 / STEP]), c);
    const [, valueSize] = product(here, c);
    const [byForward, forwardSize] = product(forward.slice(this.kept.length), c);
    const [byBackward, backwardSize] = product(backward, v);
    if (![difference, kink, byForward, byBackward].every(Number.isFinite)) return null;
    const scale = Math.max(size, forwardSize, backwardSize, 1e-3);
    const allowed = TOLERANCE * scale + 1.01 * kink + 64 * 2 ** -52 * valueSize / STEP;
    for (const [mode, value] of [['jvp', byForward], ['vjp', byBackward]]) {
      assert.ok(Math.abs(value - difference) <= allowed, `${mode}: ${value}; finite differences: ${difference}, ±${allowed}`);
    }
    return allowed <= 1e-3 * scale ? 'smooth' : 'kink';
  }

  dispose() {
    for (const executable of Object.values(this.executables)) executable.dispose();
  }
}

async function check(client, golden) {
  const random = new Random(golden.name.length);
  const made = await Case.of(client, golden, random);
  if (typeof made === 'string') return made;
  try {
    for (const x of points(random, made.shapes, made.given)) {
      const outcome = await made.compare(x);
      if (outcome) return outcome;
    }
    return 'not finite';
  } finally {
    made.dispose();
  }
}

describe('derivatives of the golden corpus equal finite differences', () => {
  let client;
  const totals = {};
  before(async () => { client = await Client.create({ threads: 0 }); });
  after(() => client.dispose());

  for (const file of files) {
    test(file, async () => {
      const cases = sample(await readGolden(new URL(file, folder)), 3);
      const wrong = [];
      for (const golden of cases) {
        try {
          const outcome = await check(client, golden);
          totals[outcome] = (totals[outcome] ?? 0) + 1;
          if (process.env.VERBOSE) console.log(file, golden.name, outcome);
        } catch (error) {
          wrong.push(`${golden.name}: ${error.message}`);
        }
      }
      assert.equal(wrong.length, 0, wrong.join('\n'));
    });
  }

  test('most programs with floats are compared where they are smooth', () => {
    const { smooth = 0, kink = 0, 'not finite': infinite = 0 } = totals;
    if (process.env.VERBOSE) console.log(totals);
    assert.ok(smooth >= (ALL ? 1700 : 560) && smooth >= 10 * (kink + infinite), JSON.stringify({ smooth, kink, infinite }));
  });
});
