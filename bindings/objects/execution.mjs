/** The steps that all executions share: arguments in, waiting for the end, results out. */
import { onAbort } from '../base/cancellation.mjs';
import { WAITED_FOR_HOST } from '../base/constants.mjs';
import { about, describe, invalidArgument, reasonOf, XlaError } from '../base/error.mjs';
import { boolean, copyList, count, isPlainObject, kind, signal } from '../base/options.mjs';
import {
  xla_buffer_shape, xla_run_cancel, xla_run_free, xla_run_profile, xla_run_profile_count, xla_run_result,
  xla_run_seed, xla_run_time_out,
} from '../base/calls.mjs';
import { actualShape } from '../values/dynamic.mjs';
import { isLiteral, Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { Buffer, upload } from './buffer.mjs';
import { coreOf, pointerOf } from './handle.mjs';
import { parametersByReference } from './chosen_parameters.mjs';
import { argumentsByName, firstOf } from './named_arguments.mjs';

const PROFILE_EVENT_BYTES = 56; // ORDER PROFILE_EVENT: ProfileEvent in src/runtime/run_state.h
const MAX_MS = 2 ** 31 - 1; // of a timer

export const EXECUTION_OPTIONS = {
  device: boolean,
  profile: boolean,
  seed: count(0, Number.MAX_SAFE_INTEGER),
  signal,
  timeoutMs: count(0, MAX_MS),
};

/** A set of numbers or names of parameters, each given once. */
export const DONATE = kind('an array of different numbers or names of parameters', (value) => {
  const list = Array.isArray(value) ? copyList(value) : [NaN], set = new Set(list);
  return list.every((one) => Number.isInteger(one) || typeof one === 'string') && set.size === list.length ? set : undefined;
});

/* ---- Arguments ---- */

/**
 * The leaves of one device's arguments: { buffer, parameter }.
 * @param {Buffer[]} uploads where the Buffers that are made for this run are added
 */
export function leavesOf(core, parameters, given, uploads) {
  const args = isPlainObject(given) ? argumentsByName(parameters, given) : given;
  if (!Array.isArray(args) || args.length !== parameters.length) {
    throw invalidArgument(
      'execute',
      `args needs an array of ${parameters.length} arguments (${firstOf(parameters.map(({ name, shape }) => `${name}: ${shape}`))}); ` +
        `got ${Array.isArray(args) ? args.length : describe(args)}`,
    );
  }
  return copyList(args).flatMap((value, parameter) => {
    const { name, shape } = parameters[parameter];
    try {
      const buffers = buffersOf(core, value, shape, uploads);
      return buffers.map((buffer) => ({ buffer, parameter }));
    } catch (error) {
      if (!(error instanceof XlaError) || !['INVALID_ARGUMENT', 'FAILED_PRECONDITION'].includes(error.code)) throw error;
      throw about(new XlaError(error.code, `execute: argument ${parameter} (${name}): ${reasonOf(error)}`, { operation: 'execute' }),
        { argument: parameter });
    }
  });
}

/** The buffers of a value: null for a token. */
function buffersOf(core, value, shape, uploads) {
  if (shape.isTuple) {
    const elements = isLiteral(value) ? value.elements : value;
    if (!Array.isArray(elements) || elements.length !== shape.tupleShapes.length) {
      throw invalidArgument('', `${shape} needs an array of ${shape.tupleShapes.length}`);
    }
    return copyList(elements).flatMap((element, i) =>
      buffersOf(core, element, shape.tupleShapes[i], uploads));
  }
  if (!shape.isArray) return [null];
  if (value instanceof Buffer) return [checkBuffer(value, shape, core)];
  const buffer = upload(core, value, actualShape(value, shape));
  uploads.push(buffer);
  return [buffer];
}

function checkBuffer(buffer, shape, core) {
  if (coreOf(buffer) !== core) throw invalidArgument('', 'the Buffer belongs to another client: give its values, buffer.toLiteral(), or make it with client.buffer() of this one');
  pointerOf(buffer); // not disposed?
  if (shape.accepts(buffer.shape)) return buffer;
  throw invalidArgument('', `${shape} does not fit a Buffer of ${buffer.shape}`);
}

/* ---- Donated arguments ---- */

/**
 * @param {Set<number | string>} donate of DONATE. A name can be a prefix of several
 * @returns {Set<number>} the numbers of the parameters
 */
export const donatedNumbers = (operation, parameters, donate) => (donate.size
  ? new Set([...donate].flatMap((reference) => parametersByReference(operation, 'donate', parameters, reference))) : donate);

/**
 * The caller's Buffers that are donated.
 * @param {(leaf: object) => boolean} isGiven whether a leaf is
 * @param {boolean} [shared] whether several devices have the same arguments
 */
export function donatedBuffers(operation, leaves, isGiven, shared = false) {
  const donated = new Set();
  const refuse = () => {
    throw invalidArgument(operation, 'a donated Buffer can be an argument only once');
  };
  for (const leaf of leaves) {
    if (!leaf.buffer || !isGiven(leaf)) continue;
    if (shared || donated.has(leaf.buffer)) refuse();
    donated.add(leaf.buffer);
  }
  if (leaves.some((leaf) => donated.has(leaf.buffer) && !isGiven(leaf))) refuse();
  return donated;
}

/* ---- The run ---- */

/**
 * Runs to the end and returns the result of `takeOutputs`. The run is freed in any case.
 * @param {number} partitions of the mesh
 * @returns {Promise<{ outputs: any, events: object[] }>}
 */
export async function finishRun(core, run, options, partitions, takeOutputs) {
  const end = (name, ...args) => {
    try {
      if (core.disposed) return;
      core.call(name, run, ...args);
      core.runs.expire(run);
    } catch (error) {
      core.runs.fail(run, error);
    }
  };
  const { signal, timeoutMs } = options;
  let timer, release;
  try {
    release = onAbort(signal, () => end(xla_run_cancel));
    if (core.workersSettle) await core.workersSettle;
    throwIfAborted(signal); // it may have been aborted during the wait
    if (options.seed) core.call(xla_run_seed, run, options.seed);
    const running = core.runs.start(run);
    if (running && timeoutMs !== undefined) {
      timer = setTimeout(() => end(xla_run_time_out, timeoutMs), timeoutMs);
    }
    await running;
    throwIfAborted(signal); // a run that ended at once ignored it
    const pause = core.runs.collect();
    if (pause) await pause;
    return outcome(core, run, options, partitions, takeOutputs);
  } catch (error) {
    if (error.code === 'CANCELLED') throwIfAborted(signal);
    throw ofDisposed(core, error);
  } finally {
    clearTimeout(timer);
    if (!core.disposed) core.call(xla_run_free, run);
    release?.(); // last, as a signal that is no AbortSignal of the host's may throw
  }
}

/** As finishRun(), without a promise. */
export function finishRunNow(operation, core, run, options, partitions, takeOutputs) {
  try {
    throwIfAborted(options.signal);
    if (options.seed) core.call(xla_run_seed, run, options.seed);
    core.runs.finish(run, operation, options);
    return outcome(core, run, options, partitions, takeOutputs);
  } catch (error) {
    if (error.code === 'CANCELLED') throwIfAborted(options.signal);
    throw ofDisposed(core, error);
  } finally {
    if (!core.disposed) core.call(xla_run_free, run);
  }
}

const outcome = (core, run, { profile }, partitions, takeOutputs) =>
  ({ outputs: takeOutputs(), events: profile ? readProfile(core, run, partitions) : [] });

/** The error of a run whose client was disposed during it. */
const ofDisposed = (core, error) =>
  (error.code === 'FAILED_PRECONDITION' && core.disposed ? new XlaError('CANCELLED', error.message) : error);

export function throwIfAborted(signal, what = 'the run') {
  if (!signal?.aborted) return;
  throw new XlaError('CANCELLED', `${what} was cancelled`, { cause: signal.reason });
}

/* ---- Results ---- */

/** The results on one device: the elements of a tuple, or one array. */
export function outputsOf(core, run, number, resultShape, onDevice = false) {
  let leaf = 0;
  const take = (shape) => {
    if (shape.isTuple) {
      const elements = shape.tupleShapes.map(take);
      return onDevice ? elements : Literal.tuple(elements);
    }
    const at = leaf++;
    if (!shape.isArray) return onDevice ? null : new Literal(shape, null);
    const pointer = core.need(xla_run_result, run, number, at);
    const buffer = new Buffer(core, pointer, shapeOfResult(core, pointer, shape));
    if (onDevice) return buffer;
    try {
      return buffer.toLiteral().inLayout(shape.layout);
    } finally {
      buffer.dispose();
    }
  };
  return resultShape.isTuple ? resultShape.tupleShapes.map(take) : [take(resultShape)];
}

/** The actual shape of a result with dynamic dimensions. */
function shapeOfResult(core, pointer, shape) {
  if (!shape.isDynamic) return shape.withoutLayout();
  return Shape.parse(core.takeString(core.call(xla_buffer_shape, pointer)));
}

function readProfile(core, run, partitions) {
  const length = core.call(xla_run_profile_count, run);
  const events = core.call(xla_run_profile, run);
  return Array.from({ length }, (_, i) => {
    const at = events + i * PROFILE_EVENT_BYTES;
    const [startUs, readyUs, endUs] = core.view(Float64Array, at, 3);
    const [replica, worker, name, category, holds, partition] = core.view(Uint32Array, at + 24, 6);
    const [waitedFor] = core.view(Int32Array, at + 48, 1);
    return {
      name: core.string(name),
      category: core.string(category),
      replica,
      partition,
      worker,
      startUs,
      endUs,
      ...(waitedFor >= WAITED_FOR_HOST && {
        waitedUs: readyUs - startUs,
        waitedFor: waitedFor === WAITED_FOR_HOST ? 'host' : {
          replica: Math.floor(waitedFor / partitions), partition: waitedFor % partitions },
      }),
      ...(holds && { holds: core.string(holds).split('\n') }),
    };
  });
}
