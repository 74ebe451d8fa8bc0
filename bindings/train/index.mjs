/** Training of a loss: optimisers, and a step that keeps its state on the device. `xla-wasm/train`. */
import { atBoundary, callersFunction, guarded } from '../base/boundary.mjs';
import { MAX_DEVICES } from '../base/constants.mjs';
import { describe, got, invalidArgument, reasonOf, XlaError } from '../base/error.mjs';
import { boolean, checkOptions, copyList, count, isPlainObject, kind } from '../base/options.mjs';
import { inAtLeastF32 } from '../builder/functions/axes.mjs';
import { isOp } from '../builder/op.mjs';
import { GRADIENT_OPTIONS, parameterNumbers } from '../derive/gradients.mjs';
import { HloModule } from '../objects/module.mjs';
import { argumentsByName, pathOf } from '../objects/named_arguments.mjs';
import { Shape } from '../values/shape.mjs';

const number = (wants, holds) => kind(`a ${wants}`, (value) => (Number.isFinite(value) && holds(value) ? value : undefined));
const positive = number('positive number', (value) => value > 0);
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

const { wrt, of, maxTrips } = GRADIENT_OPTIONS;
const optimiser = kind('an optimiser, as sgd() or adam() returns', (value) =>
  (typeof value?.update === 'function' && Number.isInteger(value.slots) && value.slots >= 0 ? value : undefined));
const STEP_OPTIONS = { wrt, of, maxTrips, optimiser, maxNorm: positive, average: boolean, replicas: count(1, MAX_DEVICES) };

/**
 * Compiles one step of training: the loss, its gradient by the weights, and the optimiser's update, as one program.
 * @param {import('../api/client.mjs').Client} client
 * @param {HloModule} loss a program whose result, or whose result number `of`, is the loss
 * @param {object} options
 * @param {number | string | (number | string)[]} options.wrt the weights. They are named as for client.gradient()
 * @param {Optimiser} [options.optimiser] by default adam()
 * @param {number} [options.of] the number of the result that is the loss, by default 0
 * @param {number} [options.maxNorm] the largest norm of all gradients together; see clipByNorm()
 * @param {boolean} [options.average] whether gradients are averaged over the replicas, so that their weights stay equal
 * @param {number} [options.replicas] as in client.compile()
 * @param {number} [options.maxTrips] as in client.gradient()
 * @returns {Promise<TrainStep>}
 */
export const trainStep = guarded(async (client, loss, options) => {
  if (typeof client?.gradient !== 'function') throw invalidArgument('trainStep', `client must be a Client; got ${describe(client)}`);
  if (!(loss instanceof HloModule)) throw invalidArgument('trainStep', `loss must be an HloModule; ${got(loss)}`);
  const { optimiser = adam(), maxNorm, average = false, replicas = loss.replicaCount, ...how } = checkOptions('trainStep', options, STEP_OPTIONS);
  if (how.wrt === undefined) throw invalidArgument('trainStep', 'wrt must name the weights; got undefined');
  const gradient = client.gradient(loss, { ...how, value: true });
  try {
    const plan = planOf(loss, how.wrt, optimiser);
    const mesh = { replicas, partitions: loss.partitionCount };
    const executable = await compiled(client, buildStep(client, gradient, plan, { optimiser, maxNorm, average }), mesh);
    const zeros = await compiled(client, buildZeros(client, plan), executable);
    return new TrainStep(client, executable, zeros, plan);
  } finally {
    gradient.dispose();
  }
}, 'trainStep');

async function compiled(client, module, { replicas, partitions }) {
  try {
    return await client.compile(module, { replicas, partitions });
  } finally {
    module.dispose();
  }
}

/**
 * Finds the parameters that are weights. `own` has name and shape of each. `state` has names and shapes of the optimiser's
 * state, weight by weight; the number of the step is the last.
 */
function planOf(loss, wrt, { slots }) {
  const parameters = loss.parameters.map(({ name, shape }) => ({ name, shape: shape.withoutLayout() }));
  const weights = parameterNumbers('trainStep', loss.parameters, wrt);
  const rest = parameters.map((_, number) => number).filter((number) => !weights.includes(number));
  const paths = weights.map((number) => pathOf(parameters[number].name));
  const names = new Set(paths).size === paths.length ? paths : weights.map((number) => parameters[number].name);
  const state = weights.flatMap((number, i) => Array.from({ length: slots }, (_, slot) =>
    ({ name: `optimiser.${slot}.${names[i]}`, shape: parameters[number].shape })));
  state.push({ name: 'optimiser.step', shape: Shape.array('f32', []) });
  const own = weights.map((number, i) => ({ name: names[i], shape: parameters[number].shape }));
  return { parameters, results: loss.resultShape.isTuple ? loss.resultShape.tupleShapes.length : 1, weights, rest, own, state };
}

/** The state before the first step. */
function buildZeros(client, { state }) {
  const b = client.builder('zeros');
  return b.build(b.tuple(state.map(({ shape: { elementType, dimensions } }) =>
    b.broadcast(b.constant(0, `${elementType}[]`), [...dimensions]))));
}

function buildStep(client, gradient, { parameters, results, weights, rest }, { optimiser, maxNorm, average }) {
  const b = client.builder('train_step');
  const values = [];
  let count = 0;
  const add = (shape, name) => b.parameter(count++, shape, name);
  for (const number of weights) values[number] = add(parameters[number].shape, parameters[number].name);
  const state = weights.map((number) => Array.from({ length: optimiser.slots }, (_, slot) =>
    add(parameters[number].shape, `${parameters[number].name}_state${slot}`)));
  const step = add('f32[]', 'step');
  for (const number of rest) values[number] = add(parameters[number].shape, parameters[number].name);
  const made = [...b.call(gradient, values)];
  let gradients = made.splice(results);
  if (average) gradients = averages(b, gradients);
  if (maxNorm) gradients = clipByNorm(b, gradients, maxNorm);
  const next = step.add(1);
  const updated = weights.map((number, i) =>
    update(optimiser, b, { weight: values[number], gradient: gradients[i], state: state[i], step: next }));
  return b.build(b.tuple([
    ...updated.map(([weight]) => weight), ...updated.flatMap(([, ...slots]) => slots), next, ...made,
  ]));
}

/** The averages over the replicas. The count of replicas is a sum too, since compile() chooses it. */
function averages(b, values) {
  const count = b.crossReplicaSum(b.constant(1, 'f32[]'));
  return values.map((value) => inAtLeastF32(b, b.crossReplicaSum(value), (wide) =>
    wide.div(b.convertElementType(count, wide.shape.elementType))));
}

/** Calls the optimiser, which may be the caller's own. Its results are the arguments of the next step. */
function update(optimiser, b, values) {
  const results = callersFunction(() => optimiser.update(b, values));
  const { shape } = values.weight;
  const isWeight = (value) => isOp(value) && value.shape.withoutLayout().equals(shape.withoutLayout());
  if (Array.isArray(results) && results.length === 1 + optimiser.slots && results.every(isWeight)) return results;
  throw invalidArgument('trainStep', `optimiser.update must return [weight, ...state], ${1 + optimiser.slots} XlaOps of the ` +
    `weight's shape ${shape}; got ${describe(results)}`);
}

/** A step of training, whose weights and state stay on the device. */
class TrainStep {
  #client;
  #executable;
  #zeros; // makes the state before the first step
  #plan;
  #state = []; // of each device, Buffers: weights, the optimiser's state, the number of the step

  constructor(client, executable, zeros, plan) {
    this.#client = client;
    this.#executable = executable;
    this.#zeros = zeros;
    this.#plan = plan;
  }

  /**
   * Sets the weights and the optimiser's state. The state is zeros, unless `values` is a result of state().
   * @param {any[] | Record<string, any>} values in the order in which wrt names them; or by name, as in execute()
   */
  async start(values) {
    const { own, state } = this.#plan;
    const isWhole = isPlainObject(values) && Object.hasOwn(values, 'optimiser.step');
    const wanted = isWhole ? [...own, ...state] : own;
    const list = listOf('start', 'values', values, wanted, 'weight');
    const zeros = isWhole ? this.#onAll([]) : await this.#zeros.executeReplicas(this.#onAll([]), { device: true });
    this.#release();
    this.#state = zeros.map((buffers) => [...buffers]);
    for (const state of this.#state) list.forEach((value, i) => state.splice(i, 0, this.#buffer(value, wanted[i])));
  }

  #buffer(value, { name, shape }) {
    try {
      return this.#client.buffer(value, shape);
    } catch (error) {
      this.#release();
      if (error.code !== 'INVALID_ARGUMENT') throw error;
      throw invalidArgument('start', `${name}: ${reasonOf(error)}`);
    }
  }

  /**
   * One step, with the arguments of the parameters that are no weights, in their order or by name, the same on all
   * devices. The weights of a step that was cancelled are lost.
   * @returns {Promise<object[]>} the results of the loss program on the first device, as Literals
   */
  async run(args, options) {
    const [outputs] = await this.#run(this.#onAll(this.#rest('run', 'args', args)), options);
    return outputs;
  }

  /**
   * Runs one step with separate arguments for each device. Weights differ between devices, too, unless `average` is set.
   * @returns {Promise<object[][]>} the results of each device
   */
  async runReplicas(argsPerReplica, options) {
    const all = listOf('runReplicas', 'argsPerReplica', argsPerReplica, this.#onAll(), 'device');
    return this.#run(all.map((args) => this.#rest('runReplicas', 'arguments', args)), options);
  }

  #rest(operation, argument, args) {
    const { parameters, rest } = this.#plan;
    return listOf(operation, argument, args, rest.map((number) => parameters[number]), 'parameter that is no weight');
  }

  async #run(argsPerReplica, options) {
    const state = this.#held('run');
    const count = state[0].length;
    const donate = state[0].map((_, i) => i);
    this.#state = []; // until the step is done: its memory is that of the results
    try {
      const args = argsPerReplica.map((own, device) => [...state[device], ...own]);
      const outputs = await this.#executable.executeReplicas(args, { ...options, device: true, donate });
      this.#state = outputs.map((own) => own.splice(0, count));
      return outputs.map((own) => own.map((buffer) => {
        const literal = buffer.toLiteral();
        buffer.dispose();
        return literal;
      }));
    } catch (error) {
      if (!state[0][0].disposed) this.#state = state; // the run did not begin
      throw error;
    }
  }

  #onAll(value) {
    const { replicas, partitions } = this.#executable;
    return new Array(replicas * partitions).fill(value);
  }

  /** The weights on the first device as Literals, by the paths of their parameters: params.Dense_0.kernel. */
  weights() {
    return this.#literals('weights', this.#plan.own);
  }

  /** The weights and the optimiser's state on the first device, for a later start(): save them as one file of arrays. */
  state() {
    return this.#literals('state', [...this.#plan.own, ...this.#plan.state]);
  }

  #literals(operation, parts) {
    const [state] = this.#held(operation);
    return Object.fromEntries(parts.map(({ name }, i) => [name, state[i].toLiteral()]));
  }

  #held(operation) {
    if (this.#state.length) return this.#state;
    throw new XlaError('FAILED_PRECONDITION', `${operation}: there are no weights: await start(values) first, and await ` +
      'each run() before the next call');
  }

  #release() {
    for (const buffer of this.#state.flat()) buffer.dispose();
    this.#state = [];
  }

  dispose() {
    this.#release();
    this.#executable.dispose();
    this.#zeros.dispose();
  }
}

if (Symbol.dispose) {
  Object.defineProperty(TrainStep.prototype, Symbol.dispose, {
    value() {
      this.dispose();
    },
  });
}

atBoundary(TrainStep);

/** Values in the order of `wanted`: given so, or as an object by their names. */
function listOf(operation, argument, value, wanted, item) {
  const isNamed = wanted[0]?.name !== undefined;
  if (isNamed && isPlainObject(value)) return argumentsByName(wanted, value, operation);
  if (Array.isArray(value) && value.length === wanted.length) return copyList(value);
  throw invalidArgument(operation, `${argument} must be a list of ${wanted.length}, one for each ${item}${
    isNamed ? `, or an object with ${wanted.slice(0, 3).map(({ name }) => name).join(', ')}${wanted.length > 3 ? ', ...' : ''}` : ''
  }; ${got(value)}${item === 'device' && Array.isArray(value) ? `; for ${value.length} replicas write ` +
    `trainStep(client, loss, { replicas: ${value.length}, … })` : ''}`);
}
