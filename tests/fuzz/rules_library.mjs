/** Rules that add library operations: transforms, factorisations, random bits, normalisation. */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { DECIDED, epsilonOf } from './domain.mjs';
import { takeElements } from './rules_movement.mjs';
import { count, numbersTo, randomDimensions, randomLiteral } from './values.mjs';

const sizes = (random, low, high, rank) => numbersTo(rank).map(() => random.between(low, high));
const bounded = (error) =>
  ({ lowest: -1000, highest: 1000, special: 2, tolerance: `abs ${error} rel 0` });

/** The error of a transform of n numbers up to 16: one unit in the last place in each of log2(n) + 3 stages. */
function fft(p, random) {
  const kind = random.pick(['FFT', 'IFFT', 'RFFT', 'IRFFT']);
  const double = random.chance(0.4);
  const rank = random.between(1, 3);
  const length = sizes(random, 1, rank > 1 ? 8 : 40, rank);
  const dimensions = [...sizes(random, 1, 3, random.between(0, 1)), ...length];
  if (kind === 'IRFFT') dimensions.push(Math.floor(dimensions.pop() / 2) + 1);
  const real = double ? 'f64' : 'f32';
  const complex = double ? 'c128' : 'c64';
  const x = p.fresh(kind === 'RFFT' ? real : complex, dimensions, 'normal');
  const n = count(length);
  const largest = kind[0] === 'I' ? 32 : 32 * n;
  const result = bounded(8 * (Math.log2(n) + 3) * epsilonOf(real) * largest);
  return p.add('fft', [x], result, (b, [a]) => b.fft(a, kind, length));
}

/** A diagonally dominant matrix, which is well conditioned: 16n + 8 on the diagonal, other elements below 8. */
function wellConditioned(p, type, batch, n) {
  const step = p.fresh(type, [...batch, n, n], 'quarters');
  for (const { data } of step.literals) {
    const lanes = type[0] === 'c' ? 2 : 1;
    for (let matrix = 0; matrix < count(batch); matrix++) {
      for (let i = 0; i < n; i++) {
        const at = (matrix * n * n + i * n + i) * lanes;
        data[at] = 16 * n + 8;
        if (lanes === 2) data[at + 1] = 0;
      }
    }
  }
  return step;
}

const SOLVER_TYPES = ['f32', 'f64', 'c64', 'c128'];
const solved = (type, n, largest) => bounded(8 * (n + 2) * (n + 2) * epsilonOf(type) * largest);

function cholesky(p, random) {
  const type = random.pick(SOLVER_TYPES);
  const [n, lower] = [random.between(1, 7), random.chance(0.5)];
  const a = wellConditioned(p, type, sizes(random, 1, 3, random.between(0, 2)), n);
  return p.add('cholesky', [a], solved(type, n, 16), (b, [m]) => b.cholesky(m, lower));
}

/** Without its simplifier, XLA:CPU divides by zero when it compiles more than 8 in a batch. */
function triangularSolve(p, random) {
  const type = random.pick(SOLVER_TYPES);
  const [n, m] = [random.between(1, 7), random.between(1, 5)];
  const batch = sizes(random, 1, 2, random.between(0, 3));
  const left = random.chance(0.5);
  const [lower, unit] = [random.chance(0.5), n < 3 && random.chance(0.3)];
  const transpose = random.pick(['NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT']);
  const a = wellConditioned(p, type, batch, n);
  const x = p.fresh(type, [...batch, ...(left ? [n, m] : [m, n])], 'quarters');
  return p.add('triangular-solve', [a, x], solved(type, n, unit ? 64 : 8), (b, [l, r]) =>
    b.triangularSolve(l, r, left, lower, unit, transpose));
}

function rngBitGenerator(p, random) {
  const algorithm = random.pick(['RNG_DEFAULT', 'RNG_THREE_FRY', 'RNG_PHILOX']);
  const words = algorithm !== 'RNG_THREE_FRY' && random.chance(0.5) ? 3 : 2;
  const state = p.fresh('u64', [words]);
  const type = random.pick(['u8', 'u16', 'u32', 'u32', 'u64']); // signed ones XLA imports as these
  const shape = Shape.array(type, randomDimensions(random));
  const step = p.add('rng-bit-generator', [state], [DECIDED, DECIDED], (b, [s]) =>
    b.rngBitGenerator(algorithm, s, shape));
  return takeElements(p, step);
}


/* ---- Normalisation ---- */

const EPSILONS = [0.25, 0.5, 1]; // far enough from zero to bound the quotient by its root

/** An array of quarters up to 4, the number of its elements in a feature, and its features. */
function normalised(p, random, types) {
  const type = random.pick(types);
  const dimensions = randomDimensions(random, random.between(1, 4)).map((n) => Math.min(n, 40) || 1);
  const featureIndex = random.between(0, dimensions.length - 1);
  const features = dimensions[featureIndex];
  return {
    type, dimensions, featureIndex, features, n: count(dimensions) / features,
    x: p.fresh(type, dimensions, 'quarters'),
    epsilon: random.pick(EPSILONS),
    vector: () => p.fresh(type, [features], 'quarters'),
  };
}

/** A parameter of variances: quarters up to 4, not negative. */
function variances(p, random, type, features) {
  return p.parameter({ lowest: -2, highest: 3, special: 0 }, () => {
    const { shape, data } = randomLiteral(random, type, [features], 'quarters');
    const literal = new Literal(shape, data);
    return Literal.from(literal.toArray().map(Math.abs), String(shape.withoutLayout()));
  });
}

/** (x - mean) / sqrt(variance + epsilon) * scale + offset: at most 8 * 2 * 4 + 4. */
function batchNormInference(p, random) {
  const { type, features, featureIndex, x, epsilon, vector } =
    normalised(p, random, ['f32', 'f32', 'f64', 'f16', 'bf16']);
  const [scale, offset, mean] = [vector(), vector(), vector()];
  const operands = [x, scale, offset, mean, variances(p, random, type, features)];
  return p.add('batch-norm-inference', operands, bounded(8 * 68 * epsilonOf(type)), (b, ops) =>
    b.batchNormInference(...ops, epsilon, featureIndex));
}

/** Sums of n quarters below 4 and of their squares; the variance may be a difference of two. */
function batchNormTraining(p, random) {
  const { type, featureIndex, n, x, epsilon, vector } = normalised(p, random, ['f32', 'f64']);
  if (n > 500) return null;
  const [mean, variance] = [(n + 4) * 4, (n + 16) * 16].map((units) => units * epsilonOf(type));
  const domains = [bounded(32 * variance), bounded(mean), bounded(variance)];
  const step = p.add('batch-norm-training', [x, vector(), vector()], domains, (b, ops) =>
    b.batchNormTraining(...ops, epsilon, featureIndex));
  return takeElements(p, step);
}

/**
 * With s = 1 / sqrt(variance + epsilon) <= 2, the sum of dy is at most 4 n, that of dy (x - mean)
 * at most 32 n, and scale s (dy - sum / n - (x - mean) s^2 product / n) at most 8 (8 + 8 * 4 * 32).
 */
function batchNormGrad(p, random) {
  const { type, features, featureIndex, dimensions, n, x, epsilon, vector } =
    normalised(p, random, ['f32', 'f64']);
  if (n > 500) return null;
  const unit = epsilonOf(type) * (n + 16);
  const [scale, mean] = [vector(), vector()];
  const gradient = p.fresh(type, dimensions, 'quarters');
  const operands = [x, scale, mean, variances(p, random, type, features), gradient];
  const domains = [bounded(8300 * unit), bounded(64 * n * unit), bounded(4 * n * unit)];
  const step = p.add('batch-norm-grad', operands, domains, (b, ops) =>
    b.batchNormGrad(...ops, epsilon, featureIndex));
  return takeElements(p, step);
}

export const libraryRules = {
  fft, cholesky, triangularSolve, rngBitGenerator, batchNormInference, batchNormTraining,
  batchNormGrad,
};
