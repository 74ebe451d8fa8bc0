/** Optimisers, and the clipping of gradients: they add the operations of an update to a builder. */
import { callersFunction, guarded } from '../base/boundary.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { boolean, checkOptions, copyList, kind } from '../base/options.mjs';
import { inAtLeastF32 } from '../builder/functions/axes.mjs';
import { isOp } from '../builder/op.mjs';

const number = (wants, holds) => kind(`a ${wants}`, (value) => (Number.isFinite(value) && holds(value) ? value : undefined));
export const positive = number('positive number', (value) => value > 0);
const part = number('number from 0 up to 1, without 1', (value) => value >= 0 && value < 1);
const notNegative = number('number that is at least 0', (value) => value >= 0);
const rate = kind('a positive number, or a function (b, step) => XlaOp', (value) =>
  (typeof value === 'function' ? value : positive(value)));
const ADAM_OPTIONS = { learningRate: rate, b1: part, b2: part, epsilon: positive };

/** Optax's optimisers take the rate as their first argument; these take an object. */
function optimiserOptions(name, options, known) {
  if (rate(options) === undefined) return checkOptions(name, options, known);
  throw invalidArgument(name, `options must be an object; got ${describe(options)}: write ${name}({ learningRate })`);
}

/**
 * An optimiser: { slots, update }. `slots` is the number of arrays of state that it keeps for each weight, zeros at
 * first. update(b, { weight, gradient, state, step }) adds the operations of an update to a builder, and returns the new
 * [weight, ...state]. `step` is the number of the step, f32[], from 1 on.
 * @typedef {{ slots: number, update: Function }} Optimiser
 */

/**
 * Returns learningRate * along. The rate may be a schedule: a function of the builder and the step, f32[], that returns an
 * f32[] of that builder.
 */
function scaled(b, along, learningRate, step) {
  if (typeof learningRate === 'number') return along.mul(learningRate);
  const now = callersFunction(() => learningRate(b, step));
  if (!isOp(now) || !now.shape.isScalar) {
    throw invalidArgument('learningRate', `the function must return an XlaOp of one number; got ${describe(now)}`);
  }
  return b.mul(along, b.convertElementType(now, along.shape.elementType), []);
}

/**
 * Stochastic gradient descent: v = momentum v + g, w = w - learningRate v. With `nesterov` the step is along
 * g + momentum v (Sutskever et al., 2013).
 * @returns {Optimiser}
 */
export const sgd = guarded((options) => {
  const { learningRate = 0.01, momentum = 0, nesterov = false } =
    optimiserOptions('sgd', options, { learningRate: rate, momentum: part, nesterov: boolean });
  return {
    slots: momentum ? 1 : 0,
    update(b, { weight, gradient, state: [velocity], step }) {
      if (!momentum) return [weight.sub(scaled(b, gradient, learningRate, step))];
      const next = velocity.mul(momentum).add(gradient);
      const along = nesterov ? next.mul(momentum).add(gradient) : next;
      return [weight.sub(scaled(b, along, learningRate, step)), next];
    },
  };
}, 'sgd');

/**
 * Adam (Kingma and Ba, 2015): m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, and
 * w = w - learningRate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) at step t.
 * @returns {Optimiser}
 */
export const adam = guarded((options) => decayed(0, optimiserOptions('adam', options, ADAM_OPTIONS)), 'adam');

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter, 2019): w also loses learningRate weightDecay w. By default
 * weightDecay is 1e-4, as Optax has it.
 */
export const adamw = guarded((options) => {
  const { weightDecay = 1e-4, ...rest } = optimiserOptions('adamw', options, { ...ADAM_OPTIONS, weightDecay: notNegative });
  return decayed(weightDecay, rest);
}, 'adamw');

function decayed(weightDecay, { learningRate = 1e-3, b1 = 0.9, b2 = 0.999, epsilon = 1e-8 }) {
  return {
    slots: 2,
    update(b, { weight, gradient, state: [mean, square], step }) {
      const type = weight.shape.elementType;
      const correction = (decay) => {
        const one = b.constant(1, 'f32[]');
        return b.convertElementType(one.sub(b.pow(b.constant(decay, 'f32[]'), step)), type);
      };
      const nextMean = mean.mul(b1).add(gradient.mul(1 - b1));
      const nextSquare = square.mul(b2).add(gradient.mul(gradient).mul(1 - b2));
      const size = b.sqrt(b.div(nextSquare, correction(b2), [])).add(epsilon);
      let along = b.div(b.div(nextMean, correction(b1), []), size);
      if (weightDecay) along = along.add(weight.mul(weightDecay));
      return [weight.sub(scaled(b, along, learningRate, step)), nextMean, nextSquare];
    },
  };
}

/**
 * Scales gradients so that the norm of all of them together is at most `norm` (Pascanu et al., 2013).
 * @param {import('../builder/builder.mjs').XlaBuilder} b
 * @param {import('../builder/op.mjs').XlaOp[]} gradients values of b
 * @param {number} norm
 */
export const clipByNorm = guarded((b, gradients, norm) => {
  if (typeof b?.reduceAll !== 'function') throw invalidArgument('clipByNorm', `b must be an XlaBuilder; got ${describe(b)}`);
  const list = Array.isArray(gradients) ? copyList(gradients) : [];
  if (!list.length || !list.every(isOp)) {
    throw invalidArgument('clipByNorm', `gradients must be a list of XlaOps; got ${describe(gradients)}`);
  }
  if (positive(norm) === undefined) throw invalidArgument('clipByNorm', `norm must be ${positive.wants}; got ${describe(norm)}`);
  const type = list.some(({ shape }) => /^(f64|c128)$/.test(shape.elementType)) ? 'f64' : 'f32'; // squares of f16 overflow
  const sizes = list.map((gradient) => b.convertElementType(b.abs(gradient), type));
  const total = b.sqrt(sizes.map((size) => b.reduceAll(size.mul(size), 0, 'add')).reduce((sum, one) => sum.add(one)));
  const scale = b.min(b.div(b.constantR0(norm, type), b.max(total, 1e-30)), 1);
  return list.map((gradient) => inAtLeastF32(b, gradient, (wide) => wide.mul(b.convertElementType(scale, wide.shape.elementType))));
}, 'clipByNorm');
