/** A step of training that keeps its state on the device. */
import { atBoundary, guarded } from '../base/boundary.mjs';
import { MAX_DEVICES } from '../base/constants.mjs';
import { describe, got, invalidArgument, reasonOf, XlaError } from '../base/error.mjs';
import { boolean, checkOptions, copyList, count, isPlainObject, kind } from '../base/options.mjs';
import { GRADIENT_OPTIONS } from '../derive/gradients.mjs';
import { HloModule } from '../objects/module.mjs';
import { argumentsByName } from '../objects/named_arguments.mjs';
import { buildStep, buildZeros, planOf } from './build.mjs';
import { adam, positive } from './optimisers.mjs';

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
 * @param {import('./optimisers.mjs').Optimiser} [options.optimiser] by default adam()
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
