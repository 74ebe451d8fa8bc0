/**
 * Starts the worker threads of an instance and watches them. A worker's error, which the glue ignores, fails the run that
 * the worker was busy with; another worker replaces it.
 */
import { WORKER_BROKE_SCHEDULER } from '../base/constants.mjs';
import { XlaError } from '../base/error.mjs';
import { xla_start, xla_worker_lost } from '../base/calls.mjs';
import { importNode, isNode, nodeModule } from './loader.mjs';

const MAX_FAILURES = 3;

export class Workers {
  #glue; // the glue's PThread
  #core;
  #numbers = new Map(); // the core's number of each Worker
  #failures = new Map(); // by number: how often in a row none could start in its place
  #Worker;
  #terminated = false;

  constructor(glue, core, Worker) {
    this.#glue = glue;
    this.#core = core;
    this.#Worker = Worker;
  }

  static async create(glue, core) {
    return new Workers(glue, core, isNode ? nodeWorkerClass(await importNode('worker_threads')) : pageWorkerClass());
  }

  /** As create(), without waiting. */
  static createNow(glue, core) {
    return new Workers(glue, core, nodeWorkerClass(nodeModule('worker_threads')));
  }

  /** Starts `count` threads. Resolves to their number when they have loaded the core. */
  async start(count) {
    const started = this.#spawning(() => this.#core.call(xla_start, count));
    if (!started) throw new XlaError('UNAVAILABLE', 'no worker thread could be started');
    const workers = [...this.#glue.runningWorkers];
    await Promise.all(workers.map((worker, number) => this.#watch(worker, number)));
    return started;
  }

  terminate() {
    this.#terminated = true;
    this.#glue.terminateAllThreads();
  }

  /**
   * Calls `body` with a Worker class of this package as the global that the glue reads. In Node the glue sets that
   * global, which the rest of the program must not see. In a page, the glue's script may be from another origin.
   */
  #spawning(body) {
    return withGlobal('Worker', this.#Worker, body);
  }

  /** @returns {Promise<void>} resolved when loaded */
  #watch(worker, number) {
    this.#numbers.set(worker, number);
    return new Promise((resolve, reject) => {
      const glueListener = worker.onmessage;
      worker.onmessage = (event) => {
        if (event.data?.cmd === 'xlaNotify') return this.#core.runs.checkSoon();
        if (event.data?.cmd === 'xlaBroken') return this.#core.break(event.data.reason);
        if (event.data?.cmd === 'xlaLock') return released(event.data.name).then(() => lost());
        glueListener(event);
        if (event.data?.cmd !== 'loaded') return;
        this.#failures.delete(number);
        resolve();
      };
      const lost = (error) => {
        if (this.#terminated) return resolve(); // an error would have a stack, which has the worker
        const message = error?.message ?? 'it exited';
        reject(new XlaError('UNAVAILABLE', `a worker thread cannot start: ${message}`));
        if (worker.loaded) this.#replace(worker);
        return undefined;
      };
      worker.onerror = (event) => {
        event.preventDefault?.();
        lost(event);
      };
      worker.on?.('exit', () => lost()); // Node's
    });
  }

  #replace(worker) {
    const number = this.#numbers.get(worker);
    if (this.#terminated || number === undefined) return;
    this.#forget(worker);
    try {
      const loss = this.#spawning(() => this.#core.call(xla_worker_lost, number));
      if (loss === WORKER_BROKE_SCHEDULER) this.#core.fail('a worker thread died in the middle of the core');
    } catch {
      // No thread could be started; or the call waited for another thread that died.
    }
    if (this.#core.disposed) return;
    for (const started of this.#glue.runningWorkers) {
      if (this.#numbers.has(started)) continue;
      this.#watch(started, number).catch((error) => this.#retry(started, number, error));
    }
    if (this.#numbers.size) this.#core.runs.checkSoon();
    else this.#core.fail('no worker thread is left');
  }

  #forget(worker) {
    this.#numbers.delete(worker);
    worker.terminate();
    delete this.#glue.pthreads[worker.pthread_ptr];
    this.#glue.runningWorkers = this.#glue.runningWorkers.filter((other) => other !== worker);
  }

  /** Tries to replace a lost worker. If none can start, there is one worker less. */
  #retry(worker, number, error) {
    const failures = (this.#failures.get(number) ?? 0) + 1;
    this.#failures.set(number, failures);
    if (failures < MAX_FAILURES) {
      this.#replace(worker);
      return;
    }
    this.#forget(worker);
    if (!this.#numbers.size) this.#core.fail(`no worker thread is left: ${error.message}`);
  }
}

/** Resolves when the worker that holds this lock has ended, for any reason. */
const released = (name) => globalThis.navigator.locks.request(name, () => {});

function withGlobal(name, value, body) {
  const previous = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { value, configurable: true });
  try {
    return body();
  } finally {
    delete globalThis[name];
    if (previous) Object.defineProperty(globalThis, name, previous);
  }
}

/**
 * A page starts workers from its own origin only. If the package is from another one, such as a CDN,
 * a script of the page's origin imports it.
 */
function pageWorkerClass() {
  return class extends globalThis.Worker {
    constructor(url, options) {
      const { href, origin } = new URL(url);
      if (origin === globalThis.location.origin || !/^https?:/.test(href)) {
        super(url, options);
        return;
      }
      const script = new Blob([`import ${JSON.stringify(href)};`], { type: 'text/javascript' });
      const own = URL.createObjectURL(script);
      super(own, options);
      setTimeout(() => URL.revokeObjectURL(own), 60_000); // it has been fetched by then
    }
  };
}

/** A Worker without the flags of the process: some (--input-type) are not valid for workers. */
function nodeWorkerClass(threads) {
  const { Worker } = threads.default ?? threads; // the default export is what tests may have replaced
  return class extends Worker {
    constructor(url, options) {
      super(url, { ...options, execArgv: [] });
    }
  };
}
