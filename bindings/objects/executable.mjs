/** Compiled programs, and their runs. */
import { atBoundary } from '../base/boundary.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import { checkOptions, copyList, isPlainObject } from '../base/options.mjs';
import { part } from '../base/part.mjs';
import {
  xla_executable_bytes, xla_executable_code, xla_executable_free, xla_executable_memory, xla_executable_print,
  xla_executable_thunks, xla_run_new,
} from '../base/calls.mjs';
import {
  DONATE, donatedBuffers, donatedNumbers, EXECUTION_OPTIONS, finishRun, finishRunNow, leavesOf, outputsOf, throwIfAborted,
} from './execution.mjs';
import { coreOf, forget, Handle, pointerOf } from './handle.mjs';
import { signature } from './module.mjs';
import { sidesOf } from './named_arguments.mjs';

const advice = part(() => import('./advice.mjs'));
const locations = part(() => import('./locations.mjs'));

const RUN_OPTIONS = { ...EXECUTION_OPTIONS, donate: DONATE };

function runOptions(options) {
  if (options === undefined || isPlainObject(options)) return checkOptions('execute', options, RUN_OPTIONS);
  throw invalidArgument('execute', `options must be an object; got ${describe(options)}; the arguments are one list: execute([a, b])`);
}

/** ORDER MEMORY: names of the kinds of memory, as xla_executable_bytes() in api.h numbers them. */
const MEMORY = ['arguments', 'results', 'aliases', 'temporaries', 'constants', 'generatedCode', 'temporariesGiven'];

/** A compiled program, which can run any number of times. */
export class Executable extends Handle {
  /** Not for callers: see client.compile(). */
  constructor(core, pointer, { replicas, partitions, parameters, resultShape }) {
    super(core, pointer, xla_executable_free);
    /** Number of replicas that it runs on. */
    this.replicas = replicas;
    /** Number of partitions of each replica. */
    this.partitions = partitions;
    /** Name and shape of each parameter. */
    this.parameters = Object.freeze(parameters.map(Object.freeze));
    this.resultShape = resultShape;
    Object.freeze(this);
  }

  /**
   * Runs on all devices with the same arguments.
   * @param {readonly any[]} [args] one per parameter: whatever Literal.from() takes for its shape,
   *   or a Buffer (for a tuple: an array of such); dynamic dimensions may be shorter than bounds
   * @param {object} [options] see executeReplicas
   * @returns {Promise<any[]>} the results on the first device: the elements of a tuple, or one array
   */
  async execute(args = [], options) {
    const checked = runOptions(options);
    const result = await this.#execute(new Array(this.#devices).fill(args), checked, 1);
    return checked.profile ? { outputs: result.outputs[0], events: result.events } : result.outputs[0];
  }

  /** As execute(), without a promise: it blocks. @returns {any[]} */
  executeSync(args = [], options) {
    const checked = runOptions(options);
    const result = this.#executeNow('executeSync', new Array(this.#devices).fill(args), checked, 1);
    return checked.profile ? { outputs: result.outputs[0], events: result.events } : result.outputs[0];
  }

  /**
   * Runs each device with its own arguments.
   * @param {readonly (readonly any[])[]} argsPerReplica one entry for each device, replica-major:
   *   those of replica 0's partitions, then those of replica 1's
   * @param {object} [options]
   * @param {boolean} [options.device] results stay on the device, as Buffers instead of Literals
   * @param {readonly number[]} [options.donate] numbers of parameters whose Buffers are donated: they are disposed, and
   *   results may use their memory; see `memory`
   * @param {boolean} [options.profile] resolves to { outputs, events } instead
   * @param {number} [options.seed] of the rng operations, an integer (default 0). Runs with equal seeds draw equal
   *   numbers; each replica draws others
   * @param {AbortSignal} [options.signal] cancels the run: it rejects with CANCELLED
   * @param {number} [options.timeoutMs] after this time the run rejects with DEADLINE_EXCEEDED; the error's `waiting`
   *   lists the devices that wait, and for what
   * @returns {Promise<any[][]>} the results of each device, in the same order
   */
  async executeReplicas(argsPerReplica, options) {
    const checked = runOptions(options);
    const result = await this.#execute(this.#ofAllDevices(argsPerReplica), checked, this.#devices);
    return checked.profile ? result : result.outputs;
  }

  /** As executeReplicas(), without a promise: it blocks. @returns {any[][]} */
  executeReplicasSync(argsPerReplica, options) {
    const checked = runOptions(options);
    const result = this.#executeNow('executeReplicasSync', this.#ofAllDevices(argsPerReplica), checked, this.#devices);
    return checked.profile ? result : result.outputs;
  }

  #ofAllDevices(argsPerReplica) {
    if (!Array.isArray(argsPerReplica) || argsPerReplica.length !== this.#devices) {
      const advice = Array.isArray(argsPerReplica) && this.partitions === 1
        ? `; for ${argsPerReplica.length} replicas write compile(module, { replicas: ${argsPerReplica.length} })` : '';
      throw invalidArgument(
        'execute',
        `argsPerReplica needs an array of ${this.#devices} arrays of arguments, one per ${this.#noun}; ` +
          `got ${describe(argsPerReplica)}${advice}`,
      );
    }
    return copyList(argsPerReplica);
  }

  get #devices() {
    return this.replicas * this.partitions;
  }

  /** The noun for a device in errors. */
  get #noun() {
    if (this.partitions === 1) return 'replica';
    return this.replicas === 1 ? 'partition' : 'device';
  }

  [INSPECT]() {
    const replicas = this.replicas === 1 ? '' : `, ${this.replicas} replicas`;
    const partitions = this.partitions === 1 ? '' : `, ${this.partitions} partitions`;
    return `Executable { ${signature(this)}${replicas}${partitions}${this.disposed ? ', disposed' : ''} }`;
  }

  /** The optimised module as HLO text. */
  toString() {
    return coreOf(this).takeString(coreOf(this).call(xla_executable_print, pointerOf(this)));
  }

  /**
   * The memory of a run, in bytes on each device: `arguments`; `results`; `aliases`, the part of the results
   * that lies in donated arguments or in those uploaded for the call; `temporaries`, with the kernels' working
   * memory; `temporariesGiven`, which is `temporaries` if all arguments are donated. All runs share `constants` and
   * `generatedCode`.
   */
  get memory() {
    const core = coreOf(this);
    return Object.fromEntries(MEMORY.map((name, kind) =>
      [name, core.call(xla_executable_bytes, pointerOf(this), kind)]));
  }

  /** A listing of the steps that a device takes, one per line. */
  thunks() {
    return coreOf(this).takeString(coreOf(this).call(xla_executable_thunks, pointerOf(this)));
  }

  /** The generated WebAssembly module; null if the program needs none. @returns {Uint8Array | null} */
  generatedCode() {
    const core = coreOf(this);
    const pointer = core.call(xla_executable_code, pointerOf(this));
    if (!pointer) return null;
    return core.view(Uint8Array, pointer + 4, core.view(Uint32Array, pointer, 1)[0]).slice();
  }

  /**
   * The plan of a device's memory: the place and the live range of each buffer.
   * @returns {{ arenaBytes: number, buffers: object[] }} buffers: { name, works, place, offset, bytes,
   *   first, last }. name: its instruction; works: whether it is working memory of the instruction's kernel;
   *   place: 'arena' or 'result0' (at `offset`; temporaries may use it before the result), 'parameter0' or
   *   'constant0'; first, last: the numbers of the first and the last step that use it
   */
  memoryPlan() {
    const core = coreOf(this);
    const text = core.takeString(core.call(xla_executable_memory, pointerOf(this)));
    const [arenaBytes, ...lines] = text.trim().split('\n');
    const buffers = [...new Set(lines)].map((line) => {
      const [name, place, ...numbers] = line.split(' ');
      const [bytes, first, last] = numbers.map(Number);
      const [where, offset = 0] = place.split('@');
      return { name: name === '-' ? '' : name.replace('+', ''), works: name.startsWith('+'), place: where || 'arena', offset: Number(offset), bytes, first, last };
    });
    return { arenaBytes: Number(arenaBytes), buffers };
  }

  /** @param {number} count of devices whose results are wanted */
  async #execute(argsPerReplica, options, count) {
    const core = coreOf(this);
    throwIfAborted(options.signal);
    let run;
    try {
      run = this.#start(argsPerReplica, options.donate ?? new Set(), options.profile ?? false);
    } catch (error) {
      if (error.code !== 'INVALID_ARGUMENT') throw error;
      throw this.#advised(await advice.later(), error, argsPerReplica[0]);
    }
    const result = await finishRun(core, run, options, this.partitions, () => this.#outputs(run, options, count));
    return options.profile ? this.#withLocations(await locations.later(), result) : result;
  }

  #executeNow(operation, argsPerReplica, options, count) {
    const core = coreOf(this);
    throwIfAborted(options.signal);
    let run;
    try {
      run = this.#start(argsPerReplica, options.donate ?? new Set(), options.profile ?? false);
    } catch (error) {
      throw error.code === 'INVALID_ARGUMENT' && advice.isLoaded
        ? this.#advised(advice.now(operation), error, argsPerReplica[0]) : error;
    }
    const result = finishRunNow(operation, core, run, options, this.partitions, () => this.#outputs(run, options, count));
    return options.profile ? this.#withLocations(locations.now(operation), result) : result;
  }

  #outputs(run, { device: onDevice }, count) {
    return Array.from({ length: count }, (_, device) => outputsOf(coreOf(this), run, device, this.resultShape, onDevice));
  }

  #advised({ executeAdvice }, error, args) {
    return executeAdvice(error, this.parameters, args, () => sidesOf(this.parameters, args));
  }

  #withLocations({ withLocations }, result) {
    return { ...result, events: withLocations(result.events, this.toString()) };
  }

  /** Makes a new run with its arguments. The run owns the buffers uploaded for it. */
  #start(argsPerReplica, asked, profile) {
    const core = coreOf(this);
    pointerOf(this); // not disposed?
    const uploads = [];
    try {
      const leaves = this.#flatten(argsPerReplica, uploads);
      const donate = donatedNumbers('execute', this.parameters, asked);
      const shared = this.#devices > 1 && new Set(argsPerReplica).size < this.#devices;
      const isGiven = ({ parameter }) => donate.has(parameter);
      const donated = donatedBuffers('execute', leaves, isGiven, shared);
      const executable = pointerOf(this); // after the last look at the caller's values, whose getters could dispose it
      const pointers = new Uint32Array(leaves.length); // Uint32Array.from is slow, and each call runs this
      leaves.forEach(({ buffer }, i) => {
        if (buffer) pointers[i] = pointerOf(buffer);
      });
      // A run donates the buffers that were uploaded for it, unless several devices share them.
      if (!shared) for (const buffer of uploads) donated.add(buffer);
      const flags = donated.size ? Uint8Array.from(leaves, ({ buffer }) => Number(donated.has(buffer))) : null;
      const run = core.scoped((copy) =>
        core.need(xla_run_new, executable, copy(pointers), copy(flags), profile));
      donated.forEach(forget);
      return run;
    } finally {
      for (const buffer of uploads) buffer.dispose(); // the run has references of its own
    }
  }

  /** The leaves of all arguments, device by device: { buffer, parameter }. */
  #flatten(argsPerReplica, uploads) {
    const flattened = new Map(); // shared arguments are uploaded once
    return argsPerReplica.flatMap((args) => {
      if (!flattened.has(args)) {
        flattened.set(args, leavesOf(coreOf(this), this.parameters, args, uploads));
      }
      return flattened.get(args);
    });
  }
}

const RUN = { isFast: true, members: [Symbol.iterator] };
atBoundary(Executable, { execute: RUN, executeReplicas: RUN });
