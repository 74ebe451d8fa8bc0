/**
 * Python with JAX, in a worker: python_worker.mjs, whose messages these are. Runs wait for each other; what a run prints
 * and shows comes while it runs.
 */
import { lendWorkers } from '../../web/lend.mjs';

const STOP_MS = 3000; /* after which a run that does not stop is ended with its Python */

const cancelled = (message) => Object.assign(new Error(message), { code: 'CANCELLED' });

export class Kernel {
  #listeners;
  #worker = null;
  #interrupt = null; /* shared memory that Python looks into, in a page that is isolated */
  #ready = null;
  #current = null; /* { id, listeners, resolve, reject } */
  #last = Promise.resolve();
  #next = 1;
  #timer = 0;

  /**
   * @param {{ onstate: (state: 'off' | 'loading' | 'ready' | 'running') => void,
   *   onprogress: (progress: { label: string, loaded: number, total?: number }) => void,
   *   onnotice: (text: string) => void }} listeners
   */
  constructor(listeners) {
    this.#listeners = listeners;
  }

  #handlers = {
    progress: (message) => this.#listeners.onprogress(message),
    notice: ({ message }) => this.#listeners.onnotice(message),
    output: ({ stream, text }) => this.#current?.listeners.onoutput(text, stream),
    display: ({ type, data }) => this.#current?.listeners.ondisplay(type, data),
    error: ({ message, line, trace, code }) => this.#current?.reject(Object.assign(new Error(message), { line, trace, code })),
    done: ({ ms }) => this.#current?.resolve({ ms }),
  };

  #end(error) {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = this.#ready = null;
    this.#current?.reject(error);
    this.#current = null;
    this.#listeners.onstate('off');
  }

  #start() {
    this.#listeners.onstate('loading');
    const worker = this.#worker = new Worker(new URL('./python_worker.mjs', import.meta.url), { type: 'module' });
    lendWorkers(worker); /* for the core's threads */
    this.#interrupt = globalThis.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : null;
    this.#ready = new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }) => {
        if (data.kind === 'ready') resolve();
        else if (data.kind === 'failed') reject(new Error(data.message));
        else if (data.id === undefined || data.id === this.#current?.id) this.#handlers[data.kind]?.(data);
      });
      worker.addEventListener('error', (event) => reject(new Error(event.message || 'the worker with Python could not start')));
    });
    worker.postMessage({ kind: 'start', interrupt: this.#interrupt, base: document.baseURI });
    this.#ready.catch((error) => this.#end(error));
  }

  async #runNow(code, { packages, ...listeners }) {
    if (!this.#worker) this.#start();
    const one = { id: this.#next++, listeners };
    const outcome = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
    this.#current = one;
    outcome.catch(() => {});
    try {
      await Promise.race([this.#ready, outcome]); /* Stop ends a start, too */
      this.#listeners.onstate('running');
      if (this.#interrupt) this.#interrupt[0] = 0;
      listeners.onbegin();
      this.#worker?.postMessage({ kind: 'run', id: one.id, code, packages });
      return await outcome;
    } finally {
      clearTimeout(this.#timer);
      if (this.#current === one) this.#current = null;
      this.#listeners.onstate(this.#worker ? 'ready' : 'off');
    }
  }

  /** Runs code after what runs already. Rejects with an error that has `line` and `trace`, if Python raised one. */
  run(code, options) {
    const result = this.#last.then(() => this.#runNow(code, options));
    this.#last = result.catch(() => {});
    return result;
  }

  /** Interrupts the run. One that does not heed it is ended, and all names of Python with it. */
  stop() {
    if (!this.#current) return;
    const ended = () => this.#end(cancelled('Python was ended, and its names are gone: run the cells again.'));
    if (!this.#interrupt) {
      ended();
      return;
    }
    this.#interrupt[0] = 2; /* SIGINT */
    this.#timer = setTimeout(ended, STOP_MS);
  }

  /** Ends Python with all its names. The next run starts another. */
  restart() {
    this.#end(cancelled('Python was ended.'));
  }

  dispose() {
    this.#end(cancelled('The notebook was left.'));
  }
}
