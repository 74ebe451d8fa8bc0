import { atBoundary } from './boundary.mjs';
import { Buffer, upload } from './buffer.mjs';
import { onAbort } from './cancellation.mjs';
import { describe, invalidArgument, XlaError } from './error.mjs';
import { actualShape } from './dynamic.mjs';
import { coreOf, forget, Handle, pointerOf } from './handle.mjs';
import { INSPECT } from './inspect.mjs';
import { isLiteral, Literal } from './literal.mjs';
import { argumentsByName, isNamed } from './named_arguments.mjs';
import { signature } from './module.mjs';
import { boolean, checkOptions, copyList, count, kind, signal } from './options.mjs';
import { Shape } from './shape.mjs';

const PROFILE_EVENT_BYTES = 40; // ProfileEvent in src/runtime/run.h

const RUN_OPTIONS = {
  device: boolean,
  donate: kind('an array of numbers of parameters', (value) => {
    const numbers = Array.isArray(value) ? copyList(value) : [NaN];
    return numbers.every(Number.isInteger) ? new Set(numbers) : undefined;
  }),
  profile: boolean,
  seed: count(0, Number.MAX_SAFE_INTEGER),
  signal,
};

/** A compiled program: takes arguments, gives results, as often as one likes. */
export class Executable extends Handle {
  /** Not for callers: see client.compile(). */
  constructor(core, pointer, { replicas, partitions, parameters, resultShape }) {
    super(core, pointer, 'xla_executable_free');
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
    const checked = checkOptions('execute', options, RUN_OPTIONS);
    const result = await this.#execute(new Array(this.#devices).fill(args), checked, 1);
    if (!checked.profile) return result.outputs[0];
    return { outputs: result.outputs[0], events: result.events };
  }

  /**
   * Runs with arguments of each device's own.
   * @param {readonly (readonly any[])[]} argsPerReplica one entry for each device, replica-major:
   *   those of replica 0's partitions, then those of replica 1's
   * @param {object} [options]
   * @param {boolean} [options.device] results stay on the device, as Buffers instead of Literals
   * @param {readonly number[]} [options.donate] numbers of parameters whose Buffers are given away:
   *   disposed here, their memory free to be reused
   * @param {boolean} [options.profile] resolves to { outputs, events } instead
   * @param {number} [options.seed] of the rng operations, an integer (default 0): the same numbers
   *   in each run with the same seed, others on each replica
   * @param {AbortSignal} [options.signal] cancels the run: it rejects with CANCELLED
   * @returns {Promise<any[][]>} the results of each device, in the same order
   */
  async executeReplicas(argsPerReplica, options) {
    const checked = checkOptions('execute', options, RUN_OPTIONS);
    if (!Array.isArray(argsPerReplica) || argsPerReplica.length !== this.#devices) {
      throw invalidArgument(
        'execute',
        `needs an array of ${this.#devices} arrays of arguments, one per ${this.#noun}; ` +
          `got ${describe(argsPerReplica)}`,
      );
    }
    const result = await this.#execute(copyList(argsPerReplica), checked, this.#devices);
    return checked.profile ? result : result.outputs;
  }

  get #devices() {
    return this.replicas * this.partitions;
  }

  /** What each of them is called. */
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
    return coreOf(this).takeString(coreOf(this).call('xla_executable_print', pointerOf(this)));
  }

  /** The steps that a replica takes, one a line, for people. */
  thunks() {
    return coreOf(this).takeString(coreOf(this).call('xla_executable_thunks', pointerOf(this)));
  }

  /** @param {number} count of devices whose results are wanted */
  async #execute(argsPerReplica, options, count) {
    const core = coreOf(this);
    const { signal, profile = false } = options;
    throwIfAborted(signal);
    const run = this.#start(argsPerReplica, options.donate ?? new Set(), profile);
    const cancel = () => {
      try {
        if (!core.disposed) core.call('xla_run_cancel', run);
      } catch (error) {
        core.runs.fail(run, error);
      }
    };
    const release = onAbort(signal, cancel);
    try {
      throwIfAborted(signal); // meanwhile
      if (options.seed) core.call('xla_run_seed', run, options.seed);
      await core.runs.start(run);
      const outputs = Array.from({ length: count }, (_, device) =>
        this.#outputs(run, device, options.device));
      return { outputs, events: profile ? readProfile(core, run) : [] };
    } catch (error) {
      if (error.code === 'CANCELLED') throwIfAborted(signal);
      throw error;
    } finally {
      release();
      if (!core.disposed) core.call('xla_run_free', run);
    }
  }

  /** A new run with its arguments. What was uploaded for it belongs to it. */
  #start(argsPerReplica, donate, profile) {
    const core = coreOf(this);
    pointerOf(this); // not disposed?
    const uploads = [];
    try {
      const leaves = this.#flatten(argsPerReplica, uploads);
      const donated = this.#donated(leaves, donate, argsPerReplica);
      const executable = pointerOf(this); // now that nothing looks at the caller's values any more
      const pointers = Uint32Array.from(leaves, ({ buffer }) => (buffer ? pointerOf(buffer) : 0));
      const flags = Uint8Array.from(leaves, ({ buffer }) => Number(donated.has(buffer)));
      const run = core.scoped((copy) =>
        core.need('xla_run_new', executable, copy(pointers), copy(flags), profile));
      donated.forEach(forget);
      return run;
    } finally {
      for (const buffer of uploads) buffer.dispose(); // the run has references of its own
    }
  }

  /** The leaves of all arguments, device by device: { buffer, parameter }. */
  #flatten(argsPerReplica, uploads) {
    const flattened = new Map(); // so that what all devices share is uploaded once
    return argsPerReplica.flatMap((args) => {
      if (!flattened.has(args)) flattened.set(args, this.#flattenOne(args, uploads));
      return flattened.get(args);
    });
  }

  #flattenOne(given, uploads) {
    const { parameters } = this;
    const args = isNamed(given) ? argumentsByName(parameters, given) : given;
    if (!Array.isArray(args) || args.length !== parameters.length) {
      const wanted = parameters.map(({ name, shape }) => `${name}: ${shape}`).join(', ');
      throw invalidArgument(
        'execute',
        `needs an array of ${parameters.length} arguments (${wanted}); got ` +
          (Array.isArray(args) ? `${args.length}` : describe(args)),
      );
    }
    return copyList(args).flatMap((value, parameter) => {
      const { name, shape } = parameters[parameter];
      try {
        const buffers = this.#leaves(value, shape, uploads);
        return buffers.map((buffer) => ({ buffer, parameter }));
      } catch (error) {
        if (!(error instanceof XlaError) || error.code !== 'INVALID_ARGUMENT') throw error;
        const why = error.message.replace(/^literal: /, '');
        throw invalidArgument('execute', `argument ${parameter} (${name}): ${why}`);
      }
    });
  }

  /** The buffers of a value: null for a token. */
  #leaves(value, shape, uploads) {
    if (shape.isTuple) {
      const elements = isLiteral(value) ? value.elements : value;
      if (!Array.isArray(elements) || elements.length !== shape.tupleShapes.length) {
        throw invalidArgument('', `${shape} needs an array of ${shape.tupleShapes.length}`);
      }
      return copyList(elements).flatMap((element, i) =>
        this.#leaves(element, shape.tupleShapes[i], uploads));
    }
    if (!shape.isArray) return [null];
    if (value instanceof Buffer) return [checkBuffer(value, shape, coreOf(this))];
    const buffer = upload(coreOf(this), value, actualShape(value, shape));
    uploads.push(buffer);
    return [buffer];
  }

  /** The caller's Buffers that are given away. */
  #donated(leaves, donate, argsPerReplica) {
    for (const number of donate) {
      if (this.parameters[number]) continue;
      throw invalidArgument('execute', `donate: there is no parameter ${describe(number)}`);
    }
    const shared = this.#devices > 1 && new Set(argsPerReplica).size < this.#devices;
    const donated = new Set();
    for (const { buffer, parameter } of leaves) {
      if (!buffer || !donate.has(parameter)) continue;
      if (shared || donated.has(buffer)) {
        throw invalidArgument('execute', 'a donated Buffer can be an argument only once');
      }
      donated.add(buffer);
    }
    const kept = leaves.find((l) => donated.has(l.buffer) && !donate.has(l.parameter));
    if (kept) throw invalidArgument('execute', 'a donated Buffer can be an argument only once');
    return donated;
  }

  #outputs(run, number, device = false) {
    const core = coreOf(this);
    let leaf = 0;
    const take = (shape) => {
      if (shape.isTuple) {
        const elements = shape.tupleShapes.map(take);
        return device ? elements : Literal.tuple(elements);
      }
      const at = leaf++;
      if (!shape.isArray) return device ? null : new Literal(shape, null);
      const pointer = core.need('xla_run_result', run, number, at);
      const buffer = new Buffer(core, pointer, shapeOfResult(core, pointer, shape));
      if (device) return buffer;
      try {
        return buffer.toLiteral().inLayout(shape.layout);
      } finally {
        buffer.dispose();
      }
    };
    const { resultShape } = this;
    return resultShape.isTuple ? resultShape.tupleShapes.map(take) : [take(resultShape)];
  }
}

/** What a result of dynamic dimensions turned out to be. */
function shapeOfResult(core, pointer, shape) {
  if (!shape.isDynamic) return shape.withoutLayout();
  return Shape.parse(core.takeString(core.call('xla_buffer_shape', pointer)));
}

function throwIfAborted(signal) {
  if (!signal?.aborted) return;
  throw new XlaError('CANCELLED', 'the run was cancelled', { cause: signal.reason });
}

function checkBuffer(buffer, shape, core) {
  if (coreOf(buffer) !== core) throw invalidArgument('', 'the Buffer belongs to another client');
  pointerOf(buffer); // not disposed?
  if (shape.accepts(buffer.shape)) return buffer;
  throw invalidArgument('', `${shape} does not fit a Buffer of ${buffer.shape}`);
}

function readProfile(core, run) {
  const count = core.call('xla_run_profile_count', run);
  const events = core.call('xla_run_profile', run);
  return Array.from({ length: count }, (_, i) => {
    const at = events + i * PROFILE_EVENT_BYTES;
    const [startUs, endUs] = core.view(Float64Array, at, 2);
    const [replica, worker, name, category, holds, partition] = core.view(Uint32Array, at + 16, 6);
    return {
      name: core.string(name),
      category: core.string(category),
      replica,
      partition,
      worker,
      startUs,
      endUs,
      ...(holds && { holds: core.string(holds).split('\n') }),
    };
  });
}

atBoundary(Executable);
