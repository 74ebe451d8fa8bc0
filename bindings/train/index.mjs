/** Training of a loss: optimisers, and a step that keeps its state on the device. `xla-wasm/train`. */
import { describe, invalidArgument } from '../error.mjs';
import { parameterNumbers } from '../gradients.mjs';
import { boolean, checkOptions, kind } from '../options.mjs';

const positive = kind('a positive number', (value) => (value > 0 && value < Infinity ? value : undefined));
const part = kind('a number from 0 up to 1, without 1', (value) => (value >= 0 && value < 1 ? value : undefined));
const notNegative = kind('a number that is at least 0', (value) => (value >= 0 && value < Infinity ? value : undefined));

/**
 * An optimiser: { slots, update }. `slots` is the number of arrays of state that it keeps for each weight, zeros at
 * first. update(b, { weight, gradient, state, step }) adds to a builder what makes the new weight and state of them;
 * `step` is the number of the step, f32[], from 1 on. It returns [weight, ...state].
 * @typedef {{ slots: number, update: Function }} Optimiser
 */

/**
 * Stochastic gradient descent: v = momentum v + g, w = w - learningRate v. With `nesterov` the step is along
 * g + momentum v (Sutskever et al., 2013).
 * @returns {Optimiser}
 */
export function sgd(options) {
  const { learningRate = 0.01, momentum = 0, nesterov = false } =
    checkOptions('sgd', options, { learningRate: positive, momentum: part, nesterov: boolean });
  return {
    slots: momentum ? 1 : 0,
    update(b, { weight, gradient, state: [velocity] }) {
      if (!momentum) return [weight.sub(gradient.mul(learningRate))];
      const next = velocity.mul(momentum).add(gradient);
      const along = nesterov ? next.mul(momentum).add(gradient) : next;
      return [weight.sub(along.mul(learningRate)), next];
    },
  };
}

/**
 * Adam (Kingma and Ba, 2015): m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, and
 * w = w - learningRate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) at step t.
 * @returns {Optimiser}
 */
export function adam(options) {
  const known = { learningRate: positive, b1: part, b2: part, epsilon: positive };
  return decayed(0, checkOptions('adam', options, known));
}

/** Adam with decoupled weight decay (Loshchilov and Hutter, 2019): w also loses learningRate weightDecay w. */
export function adamw(options) {
  const known = { learningRate: positive, b1: part, b2: part, epsilon: positive, weightDecay: notNegative };
  const { weightDecay = 0.01, ...rest } = checkOptions('adamw', options, known);
  return decayed(weightDecay, rest);
}

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
      return [weight.sub(along.mul(learningRate)), nextMean, nextSquare];
    },
  };
}

/**
 * Scales gradients so that the norm of all of them together is at most `norm` (Pascanu et al., 2013).
 * @param {object} b a builder
 * @param {object[]} gradients its values
 */
export function clipByNorm(b, gradients, norm) {
  const squares = gradients.map((gradient) => b.convertElementType(b.reduceAll(gradient.mul(gradient), 0, 'add'), 'f32'));
  const total = b.sqrt(squares.reduce((sum, one) => sum.add(one)));
  const scale = b.min(b.div(b.constant(norm, 'f32[]'), b.max(total, b.constant(1e-30, 'f32[]'))), b.constant(1, 'f32[]'));
  return gradients.map((gradient) => gradient.mul(b.convertElementType(scale, gradient.shape.elementType)));
}

const STEP_OPTIONS = {
  wrt: kind('numbers or names of parameters', (value) => value),
  optimiser: kind('an optimiser, as sgd() or adam() returns', (value) =>
    (typeof value?.update === 'function' && Number.isInteger(value.slots) ? value : undefined)),
  of: kind('the number of a result', (value) => (Number.isInteger(value) && value >= 0 ? value : undefined)),
  maxNorm: positive,
  maxTrips: positive,
};

/**
 * Compiles one step of training: the loss, its gradient by the weights, and the optimiser's update, as one program.
 * @param {object} client
 * @param {object} loss an HloModule whose result (or result `of`) is the loss
 * @param {object} options wrt: the weights, of which client.gradient() says how they are named; optimiser; of; maxNorm:
 *   of all gradients together (clipByNorm); maxTrips: as of client.gradient()
 * @returns {Promise<TrainStep>}
 */
export async function trainStep(client, loss, options) {
  const { wrt, optimiser = adam(), maxNorm, ...how } = checkOptions('trainStep', options, STEP_OPTIONS);
  if (wrt === undefined) throw invalidArgument('trainStep', 'wrt must name the weights; got undefined');
  const gradient = client.gradient(loss, { wrt, value: true, ...how });
  try {
    const plan = planOf(loss, wrt, optimiser);
    const executable = await compiled(client, buildStep(client, gradient, plan, optimiser, maxNorm));
    const zeros = await compiled(client, buildZeros(client, plan));
    return new TrainStep(client, executable, zeros, plan);
  } finally {
    gradient.dispose();
  }
}

async function compiled(client, module) {
  try {
    return await client.compile(module);
  } finally {
    module.dispose();
  }
}

/** Which parameters are weights, and the shapes of the optimiser's state: those of one weight, then the next. */
function planOf(loss, wrt, { slots }) {
  const parameters = loss.parameters.map(({ name, shape }) => ({ name, shape: shape.withoutLayout() }));
  const weights = parameterNumbers('trainStep', loss.parameters, Array.isArray(wrt) ? wrt : [wrt]);
  const rest = parameters.map((_, number) => number).filter((number) => !weights.includes(number));
  const state = weights.flatMap((number) => new Array(slots).fill(parameters[number].shape));
  return { parameters, results: loss.resultShape.isTuple ? loss.resultShape.tupleShapes.length : 1, weights, rest, state };
}

/** The state before the first step. */
function buildZeros(client, { state }) {
  const b = client.builder('zeros');
  const zeros = ({ elementType, dimensions }) => b.broadcast(b.constant(0, `${elementType}[]`), [...dimensions]);
  return b.build(b.tuple([...state.map(zeros), b.constant(0, 'f32[]')]));
}

function buildStep(client, gradient, { parameters, results, weights, rest }, optimiser, maxNorm) {
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
  const raw = made.splice(results);
  const gradients = maxNorm ? clipByNorm(b, raw, maxNorm) : raw;
  const next = step.add(1);
  const updated = weights.map((number, i) =>
    optimiser.update(b, { weight: values[number], gradient: gradients[i], state: state[i], step: next }));
  return b.build(b.tuple([
    ...updated.map(([weight]) => weight), ...updated.flatMap(([, ...slots]) => slots), next, ...made,
  ]));
}

/** A step of training, whose weights and state stay on the device. */
class TrainStep {
  #client;
  #executable;
  #zeros; // makes the state before the first step
  #plan;
  #state = []; // Buffers: weights, the optimiser's state, the number of the step

  constructor(client, executable, zeros, plan) {
    this.#client = client;
    this.#executable = executable;
    this.#zeros = zeros;
    this.#plan = plan;
  }

  /**
   * Sets the weights, and the optimiser's state to zeros.
   * @param {any[]} values in the order in which wrt names them
   */
  async start(values) {
    const { parameters, weights } = this.#plan;
    if (!Array.isArray(values) || values.length !== weights.length) {
      throw invalidArgument('start', `values must be a list of ${weights.length} weights; got ${describe(values)}`);
    }
    const zeros = await this.#zeros.execute([], { device: true });
    this.#release();
    this.#state = [...values.map((value, i) => this.#client.buffer(value, parameters[weights[i]].shape)), ...zeros];
  }

  /**
   * One step, with the arguments of the parameters that are no weights, in their order.
   * @returns {Promise<object[]>} the results of the loss program, as Literals
   */
  async run(args, options) {
    if (!this.#state.length) throw invalidArgument('run', 'there are no weights yet: await start(values) first');
    const count = this.#state.length;
    const donate = this.#state.map((_, i) => i);
    const outputs = await this.#executable.execute([...this.#state, ...args], { ...options, device: true, donate });
    this.#state = outputs.slice(0, count);
    return outputs.slice(count).map((buffer) => {
      const literal = buffer.toLiteral();
      buffer.dispose();
      return literal;
    });
  }

  /** The weights as Literals, by the names of their parameters. */
  weights() {
    const { parameters, weights } = this.#plan;
    return Object.fromEntries(weights.map((number, i) => [parameters[number].name, this.#state[i].toLiteral()]));
  }

  #release() {
    for (const buffer of this.#state) buffer.dispose();
    this.#state = [];
  }

  dispose() {
    this.#release();
    this.#executable.dispose();
    this.#zeros.dispose();
  }
}
