/**
 * The pending runs. With threads, the core notifies the host of their events. Without threads, or until they have started, the
 * host runs them in slices, between which it handles other events. The first slice begins with the run.
 */
import { RUN_DONE, RUN_FAILED } from '../base/constants.mjs';
import { captureCall, fromCall, XlaError } from '../base/error.mjs';
import {
  xla_memory_in_use, xla_run_cancel, xla_run_error, xla_run_start, xla_run_state, xla_run_time_out, xla_run_waiting, xla_step,
} from '../base/calls.mjs';
import { keepAlive } from './keep_alive.mjs';
import { maySleep } from './loader.mjs';
import { waitingDevices } from './waiting.mjs';

const PATIENCE_MS = 250; // with workers that were told to stop
const SLICE_US = 8000; // half a frame of a page at 60 Hz
const SHORT_SLICE_US = 2000; // while threads start: the host must answer each of their messages first
const MAX_SLEEP_MS = 1000;
const SIGNAL_MS = 50; // how often a sleeping caller reads its AbortSignal
const MAX_IDLE = 2; // steps without work after which the run is deadlocked with the host
const GROWTH = 2 ** 26; // bytes of buffers, after which finalizers get a turn

export class Runs {
  #core;
  #pending = new Map(); // run -> { resolve, reject, isSync, cause }; isSync: its caller sleeps
  #scheduled = false;
  #release = null;
  #since = 0; // when the first run started in this turn of the host
  #inUse = 0; // bytes of buffers when finalizers had their last turn, or fewer

  constructor(core) {
    this.#core = core;
  }

  /**
   * Starts a run that xla_run_new() made.
   * @returns {Promise<void> | undefined} resolved when it is done, rejected with its XlaError when it failed; undefined
   *   if it is already done, as short runs are
   */
  start(run) {
    const time = this.#time();
    let state = this.#core.call(xla_run_start, run, time);
    if (state !== RUN_DONE && time > 0 && this.#isAlone && !this.#pending.size) {
      try {
        this.#core.call(xla_step, time);
      } catch { /* a trap, perhaps in another run: if it failed none, the next step meets it again */ }
      state = this.#core.call(xla_run_state, run);
    }
    if (state === RUN_DONE) return undefined;
    this.#core.needThreads();
    const call = captureCall();
    return new Promise((resolve, reject) => {
      this.#pending.set(run, { resolve, reject: (error) => reject(fromCall(error, call)) });
      this.#release ??= keepAlive();
      this.checkSoon();
    });
  }

  /**
   * Runs to the end and handles no other events. This thread takes tasks, too, and sleeps while others have all of them.
   * @param {{ timeoutMs?: number, signal?: { aborted: boolean } }} options `aborted` may be a getter, as no event can set it
   * @throws {XlaError} the run's error
   */
  finish(run, operation, options) {
    const core = this.#core;
    if (core.threads && !maySleep()) {
      throw new XlaError('FAILED_PRECONDITION', `${operation}: a page's main thread must not sleep, so it needs a client without ` +
        'threads: Client.createSync({ threads: 0 })');
    }
    if (core.call(xla_run_start, run, Infinity) === RUN_DONE) return;
    let ended = false, failure;
    this.#pending.set(run, {
      isSync: true,
      resolve() { ended = true; },
      reject(error) { ended = true; failure = error; },
    });
    const wasQuiet = core.setQuiet(true);
    try {
      this.#workUntil(() => ended, run, operation, options);
    } finally {
      if (!core.disposed) core.setQuiet(wasQuiet);
    }
    this.checkSoon(); // for runs that have promises, which heard nothing meanwhile
    if (failure) throw failure;
  }

  /** Works, or sleeps, until `isOver()`. */
  #workUntil(isOver, run, operation, { timeoutMs = Infinity, signal }) {
    const core = this.#core;
    const end = performance.now() + timeoutMs;
    let told = Infinity, idle = 0; // told: when it was told to end
    for (;;) {
      const seen = core.eventCount();
      const more = this.#step();
      this.#checkSafely(run);
      if (isOver()) return;
      const now = performance.now();
      if (told === Infinity && (now >= end || signal?.aborted)) {
        told = now;
        if (now >= end) core.call(xla_run_time_out, run, timeoutMs);
        else core.call(xla_run_cancel, run);
      } else if (now >= told + 2 * PATIENCE_MS) {
        this.fail(run, this.#error(run));
      } else if (!more && core.threads) {
        core.sleep(seen, Math.min(told < Infinity ? PATIENCE_MS : end - now, signal ? SIGNAL_MS : MAX_SLEEP_MS));
      } else if (!more && ++idle > MAX_IDLE) {
        this.fail(run, new XlaError('FAILED_PRECONDITION', `${operation}: the run waits for the host, which waits for the run`));
      }
      if (more) idle = 0;
      if (isOver()) return;
    }
  }

  /** Works for a slice. @returns {boolean} whether there may be more work */
  #step(us = SLICE_US) {
    try {
      return Boolean(this.#core.call(xla_step, us));
    } catch (error) {
      return this.#survive(error);
    }
  }

  /**
   * Lets finalizers run when buffers have grown by GROWTH, so that unreachable Buffers are freed. Finalizers run between
   * tasks, and a loop that awaits runs is one task.
   * @returns {Promise<void> | undefined} undefined as long as no pause is due
   */
  collect() {
    const core = this.#core, inUse = core.call(xla_memory_in_use);
    this.#inUse = Math.min(this.#inUse, inUse);
    if (inUse - this.#inUse < GROWTH) return undefined;
    try {
      new ArrayBuffer(GROWTH); // tells the collector, which sees only small objects; its pages are never touched
    } catch {
      // The host has no such memory: then the collector is at work.
    }
    return new Promise((resolve) => {
      nextTask(() => {
        if (!core.disposed) this.#inUse = core.call(xla_memory_in_use);
        resolve();
      });
    });
  }

  /** Whether no thread takes tasks: there are none, or they have not loaded the core. */
  get #isAlone() {
    return !this.#core.threads || !this.#core.hasStarted;
  }

  /** Returns the microseconds that runs may still take of this thread before the host handles its other events. A loop that
   * awaits short runs would otherwise never let it. */
  #time() {
    const now = performance.now();
    if (!this.#since) {
      this.#since = now;
      nextTask(() => {
        this.#since = 0;
      });
    }
    return SLICE_US - (now - this.#since) * 1e3;
  }

  /**
   * Schedules a look at the pending runs. Callable at any time, also within a call of the core.
   * @param {boolean} [yields] whether the host's other events are handled before
   */
  checkSoon(yields = this.#isAlone) {
    if (this.#scheduled || !this.#pending.size) return;
    this.#scheduled = true;
    const later = yields ? nextTask : queueMicrotask;
    later(() => {
      this.#scheduled = false;
      if (this.#pending.size) this.#work();
    });
  }

  /**
   * Identifies a pending run more strictly than its handle, an address that a later run may reuse.
   * Undefined when the run is no longer pending.
   */
  identity(run) {
    return this.#pending.get(run);
  }

  /** Keeps the first error that a host callback of a run threw: the cause of the run's failure. */
  blame(identity, error) {
    identity.cause ??= error;
  }

  /**
   * Ends a run that was cancelled or timed out, whether its workers report or not. A terminated worker never reports. One
   * in a long step reports late; the run is freed then.
   */
  expire(run) {
    const pending = this.#pending.get(run);
    if (!pending || !this.#core.threads) return;
    const isPending = () => this.#pending.get(run) === pending;
    setTimeout(() => {
      if (!isPending()) return;
      this.#core.suspectWorkers();
      this.#checkSafely(run);
      setTimeout(() => {
        if (isPending()) this.#checkSafely(run);
        if (isPending()) this.fail(run, this.#error(run));
      }, PATIENCE_MS);
    }, PATIENCE_MS);
  }

  /** Rejects a run whose host callback failed. Its caller then frees the run, which cancels it. */
  fail(run, error) {
    const pending = this.#pending.get(run);
    this.#pending.delete(run);
    this.#settled();
    pending?.reject(error);
  }

  /** Rejects all pending runs; the core cannot report them any more. */
  abandon(error) {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    this.#settled();
  }

  #work() {
    const more = this.#isAlone && this.#step(this.#core.threads ? SHORT_SLICE_US : SLICE_US);
    for (const run of [...this.#pending.keys()]) this.#checkSafely(run);
    if (more) this.checkSoon();
  }

  /**
   * Handles a step that trapped: if it failed no run, all pending runs are rejected. @returns {boolean} whether other
   * runs may have work left
   */
  #survive(error) {
    const before = this.#pending.size;
    for (const run of this.#core.disposed ? [] : [...this.#pending.keys()]) this.#checkSafely(run);
    if (this.#pending.size === before) this.abandon(error);
    return this.#pending.size > 0;
  }

  #checkSafely(run) {
    try {
      this.#check(run);
    } catch (error) {
      this.fail(run, error);
    }
  }

  #check(run) {
    if (!this.#pending.has(run)) return; // abandoned meanwhile
    if (this.#core.hostCalls.serve(run, SLICE_US / 1e3)) this.checkSoon(true);
    if (!this.#pending.has(run)) return; // a callback ended it
    const state = this.#core.call(xla_run_state, run);
    if (state !== RUN_DONE && state !== RUN_FAILED) return;
    const error = state === RUN_FAILED ? this.#error(run) : null;
    const { resolve, reject } = this.#pending.get(run);
    this.#pending.delete(run);
    this.#settled();
    return error ? reject(error) : resolve();
  }

  #error(run) {
    const waiting = waitingDevices(JSON.parse(this.#core.takeString(this.#core.call(xla_run_waiting, run))));
    const { cause } = this.#pending.get(run) ?? {}; // what a host callback threw
    this.#core.call(xla_run_error, run);
    return this.#core.lastError({ cause, ...(waiting.length && { waiting }) });
  }

  #settled() {
    if (this.#pending.size) return;
    this.#release?.();
    this.#release = null;
  }
}

/** Runs `task` after the events in the queue. Not a timer, which browsers clamp to 4 ms. */
const nextTask = typeof setImmediate === 'function' ? (task) => setImmediate(task) : viaChannel();

/** Returns a promise that is resolved after the events in the queue. */
export const nextTurn = () => new Promise(nextTask);

function viaChannel() {
  const tasks = [];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => tasks.shift()();
  return (task) => {
    tasks.push(task);
    port2.postMessage(0);
  };
}
