/**
 * One instance of the core (src/api.h), and its interface to JavaScript: calls, strings, memory,
 * errors. Only this file, the loader and the workers use Emscripten's glue.
 */
import { XLA_API_VERSION } from '../base/constants.mjs';
import { isLimit, STATUS_CODES, XlaError } from '../base/error.mjs';
import {
  xla_allow_fused_multiply_add, xla_error_code, xla_error_column, xla_error_line, xla_error_message,
  xla_error_operation, xla_expect_threads, xla_free, xla_host_events, xla_memory_in_use,
} from '../base/calls.mjs';
import { HostCalls } from './host_calls.mjs';
import {
  hardwareConcurrency, hardwareConcurrencyNow, hasSharedMemory, instantiate, instantiateNow, isNode, maySleep, prepare,
} from './loader.mjs';
import { nextTurn, Runs } from './runs.mjs';
import { encodeString, readString, writeShort } from './strings.mjs';
import { Workers } from './workers.mjs';

const UNAVAILABLE = STATUS_CODES.indexOf('UNAVAILABLE');
const DYING_MS = 2200; // Chromium gives a worker that was ended 2 s
const IDLE_MS = 100; // of a page, before its threads start
const STACK_SCRATCH = 4096; // bytes; larger copies go to the heap

/** The glue's names of api.h's functions that were called: to make such a name takes longer than most calls. */
const MEMBERS = {};

export class Core {
  #glue;
  #heap = new Uint8Array(0);
  #words = new Int32Array(0);
  #events = 0; // where xla_host_events() is, as an index of #words
  #workers = null;
  #end = new XlaError('FAILED_PRECONDITION', 'the client was disposed');

  /** Number of worker threads; 0 in the single-threaded build. */
  threads = 0;
  /** Resolved when the threads have loaded the core. */
  started = Promise.resolve();
  /** Whether they have: until then the host runs what they would. */
  hasStarted = false;
  /** Starts the threads now, unless they were started. */
  needThreads = () => {};
  /** A promise while workers may be dying. A run must await it, or it may fail with them. */
  workersSettle = null;

  constructor(glue) {
    this.#glue = glue;
    this.runs = new Runs(this);
    this.hostCalls = new HostCalls(this);
    glue.onXlaNotify = () => this.runs.checkSoon();
    // In a microtask, as the core's call that reports it is still on the stack.
    glue.onXlaBroken = (reason) => queueMicrotask(() => this.break(reason));
  }

  /**
   * @param {number} [threads] worker threads; 0 for the single-threaded build
   * @param {number} [maxMemory] bytes of linear memory, at most
   * @param {string | URL | Function} [assets] where the package's files are: see loader.mjs
   * @param {'auto' | 'never'} [fusedMultiplyAdd] as in Client.create
   */
  static async create(threads, maxMemory, assets, fusedMultiplyAdd = 'auto') {
    const wanted = hasSharedMemory() ? (threads ?? (await hardwareConcurrency())) : 0;
    if (!hasSharedMemory() && threads !== 0 && !globalThis.xlaWasmReloads) warnOfNoThreads(threads); // web/isolation.js
    const build = wanted > 0 ? 'threads' : 'single';
    return Core.#begin(await instantiate(build, maxMemory, assets), build, wanted, fusedMultiplyAdd);
  }

  /** Loads the files that createSync() needs for this number of threads. */
  static async prepare(threads, assets) {
    const builds = threads === undefined && isNode ? ['threads', 'single'] : [buildFor(threads)];
    await Promise.all(builds.map((build) => prepare(build, assets)));
  }

  /** As create(), without waiting. */
  static createSync(threads, maxMemory, fusedMultiplyAdd = 'auto') {
    if (threads && !maySleep()) {
      throw new XlaError('FAILED_PRECONDITION', "createSync: a page's main thread must not sleep, so it has no synchronous " +
        'client with threads: ask for { threads: 0 }, or make the client in a worker of a page that is cross-origin isolated');
    }
    const build = buildFor(threads);
    const wanted = build === 'threads' ? threads ?? hardwareConcurrencyNow() : 0;
    return Core.#begin(instantiateNow(build, maxMemory), build, wanted, fusedMultiplyAdd, true);
  }

  static #begin(glue, build, threads, fusedMultiplyAdd, isSync = false) {
    const core = new Core(glue);
    try {
      core.#checkVersion(build);
      core.#events = core.call(xla_host_events) / 4;
      core.call(xla_allow_fused_multiply_add, fusedMultiplyAdd === 'auto' ? 1 : 0);
      core.#expect(threads, isSync);
    } catch (error) {
      core.dispose();
      throw error;
    }
    return core;
  }

  /** Checks the versions: bindings and builds of different versions would misread each other's data. */
  #checkVersion(build) {
    const version = this.#glue._xla_api_version?.() ?? 0;
    if (version === XLA_API_VERSION) return;
    throw new XlaError('FAILED_PRECONDITION',
      `the build xla-${build} and the bindings are of different versions of the package (interface ` +
      `${version}, and ${XLA_API_VERSION}): serve both from the same one; in a clone, run make`);
  }

  /**
   * Starts the threads later: in Node when the host is idle, in a page when a run needs them, or after 100 ms. Their start
   * takes as long as all else before a first result, so create() does not wait for them, nor do runs: the host runs them
   * until the threads take up pending work. A thread that cannot load ends the client.
   */
  #expect(threads, isSync) {
    this.threads = this.call(xla_expect_threads, threads);
    if (!threads) return;
    if (!this.threads) throw new XlaError('RESOURCE_EXHAUSTED', `no memory for ${threads} threads`);
    if (isSync && isNode) {
      this.#workers = Workers.createNow(this.#glue.PThread, this);
      this.started = this.#workers.start(threads).then(() => { this.hasStarted = true; });
      this.started.catch(({ message }) => this.fail(message));
      return;
    }
    const soon = isNode ? nextTurn() : new Promise((resolve) => {
      this.needThreads = resolve;
      setTimeout(resolve, IDLE_MS);
    });
    this.started = soon.then(() => this.#start(threads));
    this.started.catch(({ message }) => this.fail(message));
  }

  async #start(threads) {
    if (this.disposed) return;
    const workers = await Workers.create(this.#glue.PThread, this);
    if (this.disposed) return;
    this.#workers = workers;
    const started = await workers.start(threads);
    this.hasStarted = true;
    if (!this.disposed) this.threads = started;
  }

  /** Handles a worker that did not report in time. A page's worker lives on after its end: see workers.mjs. */
  suspectWorkers() {
    if (isNode || this.workersSettle) return;
    this.workersSettle = new Promise((resolve) => { setTimeout(resolve, DYING_MS); }).then(() => {
      this.workersSettle = null;
    });
  }

  get disposed() {
    return this.#glue === null;
  }

  /** Throws an XlaError if the instance has failed or was disposed. */
  check() {
    this.#alive();
  }

  /** Ends all threads. The garbage collector frees the memory with the instance. */
  dispose() {
    this.#stop(new XlaError('CANCELLED', 'the client was disposed'));
  }

  /**
   * Marks the core as broken: pending runs and all later calls fail.
   * @param {string} reason
   * @param {string} [code]
   * @returns {XlaError}
   */
  fail(reason, code = 'UNAVAILABLE') {
    const error = new XlaError(code, `${reason}; create another client`);
    if (!this.disposed) this.#end = error;
    this.#stop(error);
    return error;
  }

  /** As fail(), for a fault of the core. */
  break(reason) {
    return this.fail(`${reason}. ${REPORT}`, 'INTERNAL');
  }

  #stop(error) {
    if (this.disposed) return;
    this.#workers?.terminate();
    this.#workers = null; // it has the glue, and the glue the memory
    this.#glue = null;
    this.#heap = this.#words = null;
    this.runs.abandon(error);
    this.hostCalls.abandon(error);
  }

  #alive() {
    if (this.disposed) throw this.#end;
    return this.#glue;
  }

  /**
   * Calls a function of api.h. An exception of the core becomes an XlaError. The core can then be called again,
   * except in the cases of #trapped().
   * @returns {number} pointers are unsigned
   */
  call(name, ...args) {
    const glue = this.#alive();
    const member = MEMBERS[name] ??= `_${name}`;
    const stack = glue.stackSave();
    glue._xla_call_begin();
    try {
      const result = glue[member](...args);
      glue._xla_call_end();
      return result < 0 && Number.isInteger(result) ? result >>> 0 : result;
    } catch (error) {
      glue.stackRestore(stack);
      throw this.#trapped(error);
    }
  }

  /**
   * Returns the error for an exception from the core: a trap, platform_trap(), or the end of the engine's stack. Frees the
   * call's allocations. The client stays usable, unless the call trapped in malloc or while it started threads, or a thread
   * died that held a lock.
   */
  #trapped(error) {
    if (error?.xlaCode === UNAVAILABLE) return this.fail(`the core is broken: ${error.message}`);
    const isTrap = error instanceof WebAssembly.RuntimeError;
    if (!this.#abandon(isTrap)) return this.break(`the core is broken: ${error.message}`);
    if (error?.xlaCode) return new XlaError(STATUS_CODES[error.xlaCode], this.#withBuffers(error.message));
    if (isTrap) {
      return new XlaError('INTERNAL', `the core trapped: ${error.message}`, { cause: error });
    }
    if (isLimit(error)) {
      return new XlaError('RESOURCE_EXHAUSTED', `out of stack: ${error.message}`, { cause: error });
    }
    return error;
  }

  /** Adds to a message about full memory how much of it buffers hold. */
  #withBuffers(message) {
    if (!message.endsWith('out of memory')) return message;
    return `${message}: buffers hold ${this.call(xla_memory_in_use)} bytes: donate or dispose() those that are not needed`;
  }

  #abandon(isTrap) {
    try {
      return Boolean(this.#glue._xla_call_abandon(Number(isTrap)));
    } catch {
      return false; // it trapped, too
    }
  }

  /** As call, for functions that return NULL on failure: throws the core's last error. */
  need(name, ...args) {
    const result = this.call(name, ...args);
    if (!result) throw this.lastError();
    return result;
  }

  /** @param {object} [more] further fields of the error */
  lastError(more) {
    return new XlaError(
      STATUS_CODES[this.call(xla_error_code)] ?? 'UNKNOWN',
      this.#withBuffers(this.string(this.call(xla_error_message))),
      {
        operation: this.string(this.call(xla_error_operation)) || undefined,
        line: this.call(xla_error_line) || undefined,
        column: this.call(xla_error_column) || undefined,
        ...more,
      },
    );
  }

  /** Linear memory. Read it again after each call, as memory may have grown. */
  get heap() {
    const { buffer } = this.#alive().wasmMemory;
    if (this.#heap.buffer !== buffer) this.#heap = new Uint8Array(buffer);
    return this.#heap;
  }

  /**
   * Sets whether threads send the host no messages, since it polls the count of events.
   * @returns {boolean} the previous value
   */
  setQuiet(isQuiet) {
    return Boolean(Atomics.exchange(this.#hostWords(), this.#events + 1, Number(isQuiet)));
  }

  /**
   * Sleeps until the core has an event for the host; setQuiet(true) before.
   * @param {number} seen eventCount() before the host's last look
   * @param {number} ms at most
   */
  sleep(seen, ms) {
    const words = this.#hostWords();
    const end = performance.now() + ms;
    // Most waits are shorter than the time of sleeping and waking up.
    const spinEnd = Math.min(end, performance.now() + SPIN_MS);
    do {
      if (Atomics.load(words, this.#events) !== seen) break;
    } while (performance.now() < spinEnd);
    Atomics.wait(words, this.#events, seen, Math.max(end - performance.now(), 0));
    const broken = Atomics.load(words, this.#events + 2);
    if (broken) throw this.break(this.string(broken));
  }

  eventCount() {
    return Atomics.load(this.#hostWords(), this.#events);
  }

  #hostWords() {
    const { buffer } = this.#alive().wasmMemory;
    if (this.#words.buffer !== buffer) this.#words = new Int32Array(buffer);
    return this.#words;
  }

  /** A typed array over linear memory. */
  view(TypedArray, pointer, length) {
    return new TypedArray(this.heap.buffer, pointer, length);
  }

  /** Returns a copy of the NUL-terminated string at `pointer`. */
  string(pointer) {
    return readString(this.heap, pointer);
  }

  /** As string(), and frees it. */
  takeString(pointer) {
    try {
      return this.string(pointer);
    } finally {
      this.call(xla_free, pointer);
    }
  }

  /**
   * Copies views into memory that the core takes over, and calls `body` with the pointers. If body
   * throws, they are freed.
   * @param {ArrayBufferView[]} views
   */
  giving(views, body) {
    const glue = this.#alive();
    const pointers = [];
    try {
      for (const view of views) {
        const pointer = glue._malloc(Math.max(view.byteLength, 1)) >>> 0;
        if (!pointer) {
          throw new XlaError('RESOURCE_EXHAUSTED', `cannot allocate ${view.byteLength} bytes`);
        }
        pointers.push(pointer);
        this.heap.set(bytesOf(view), pointer);
      }
      return body(pointers);
    } catch (error) {
      if (!this.disposed) for (const pointer of pointers) glue._free(pointer);
      throw error;
    }
  }

  /**
   * Calls `body` with a function that copies its argument into the core's memory (a string as
   * NUL-terminated UTF-8, null as NULL, any view byte by byte) and returns the pointer. The copies
   * live until body returns.
   */
  scoped(body) {
    const glue = this.#alive();
    const stack = glue.stackSave();
    const allocated = [];
    const copy = (value) => {
      if (value === null || value === undefined) return 0;
      const isText = typeof value === 'string', short = isText && writeShort(this.heap, value, glue.stackAlloc);
      if (short) return short >>> 0;
      const bytes = isText ? encodeString(value) : bytesOf(value);
      const pointer = allocate(glue, bytes.length, allocated);
      this.heap.set(bytes, pointer);
      return pointer;
    };
    try {
      return body(copy);
    } finally {
      for (const pointer of allocated) glue._free(pointer);
      glue.stackRestore(stack);
    }
  }
}

const SPIN_MS = 0.06; // as workers do: see scheduler.c
const REPORT = 'This is a fault of xla-wasm; please report the program';

let isTold = false;

/** Explains once, in the console, why there are no threads: as a warning if the caller asked for some. */
function warnOfNoThreads(threads) {
  if (isTold) return;
  isTold = true;
  console[threads ? 'warn' : 'info']('xla-wasm: no threads, as this page is not cross-origin isolated. Send the headers ' +
    'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp, or ask for { threads: 0 }.');
}

/** Returns the build for a synchronous client: with threads if the host may sleep, unless `threads` is 0. */
const buildFor = (threads) => ((threads ?? 1) > 0 && maySleep() ? 'threads' : 'single');

function allocate(glue, size, allocated) {
  if (size <= STACK_SCRATCH) return glue.stackAlloc(size) >>> 0;
  const pointer = glue._malloc(size) >>> 0;
  if (!pointer) throw new XlaError('RESOURCE_EXHAUSTED', `cannot allocate ${size} bytes`);
  allocated.push(pointer);
  return pointer;
}

const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
