/**
 * Python with JAX, in a worker: python_worker.mjs, whose messages these are. Runs wait for each other; what a run prints
 * and shows comes while it runs.
 */
import { lendWorkers } from '../../web/lend.mjs';

const STOP_MS = 3000; /* after which a run that does not stop is ended with its Python */

const cancelled = (message) => Object.assign(new Error(message), { code: 'CANCELLED' });

/**
 * @param {{ onstate: (state: 'off' | 'loading' | 'ready' | 'running') => void,
 *   onprogress: (progress: { label: string, loaded: number, total?: number }) => void,
 *   onnotice: (text: string) => void }} listeners
 */
export function createKernel({ onstate, onprogress, onnotice }) {
  let worker = null;
  let interrupt = null; /* shared memory that Python looks into, in a page that is isolated */
  let ready = null;
  let current = null; /* { id, listeners, resolve, reject } */
  let last = Promise.resolve();
  let next = 1;
  let timer = 0;

  function end(error) {
    clearTimeout(timer);
    worker?.terminate();
    [worker, ready] = [null, null];
    current?.reject(error);
    current = null;
    onstate('off');
  }

  const handlers = {
    progress: (message) => onprogress(message),
    notice: ({ message }) => onnotice(message),
    output: ({ stream, text }) => current?.listeners.onoutput(text, stream),
    display: ({ type, data }) => current?.listeners.ondisplay(type, data),
    error: ({ message, line, trace }) => current?.reject(Object.assign(new Error(message), { line, trace })),
    done: ({ ms }) => current?.resolve({ ms }),
  };

  function start() {
    onstate('loading');
    worker = new Worker(new URL('./python_worker.mjs', import.meta.url), { type: 'module' });
    lendWorkers(worker); /* for the core's threads */
    interrupt = globalThis.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : null;
    ready = new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }) => {
        if (data.kind === 'ready') resolve();
        else if (data.kind === 'failed') reject(new Error(data.message));
        else if (data.id === undefined || data.id === current?.id) handlers[data.kind]?.(data);
      });
      worker.addEventListener('error', (event) => reject(new Error(event.message || 'the worker with Python could not start')));
    });
    worker.postMessage({ kind: 'start', interrupt, base: document.baseURI });
    ready.catch((error) => end(error));
  }

  async function runNow(code, { packages, ...listeners }) {
    if (!worker) start();
    const one = { id: next++, listeners };
    const outcome = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
    current = one;
    outcome.catch(() => {});
    try {
      await Promise.race([ready, outcome]); /* Stop ends a start, too */
      onstate('running');
      if (interrupt) interrupt[0] = 0;
      listeners.onbegin();
      worker?.postMessage({ kind: 'run', id: one.id, code, packages });
      return await outcome;
    } finally {
      clearTimeout(timer);
      if (current === one) current = null;
      onstate(worker ? 'ready' : 'off');
    }
  }

  return {
    /** Runs code after what runs already. Rejects with an error that has `line` and `trace`, if Python raised one. */
    run(code, options) {
      const asked = last;
      const result = asked.then(() => runNow(code, options));
      last = result.catch(() => {});
      return result;
    },
    /** Interrupts the run. One that does not heed it is ended, and all names of Python with it. */
    stop() {
      if (!current) return;
      const ended = () => end(cancelled('Python was ended, and its names are gone: run the cells again.'));
      if (!interrupt) return ended();
      interrupt[0] = 2; /* SIGINT */
      timer = setTimeout(ended, STOP_MS);
    },
    /** Ends Python with all its names. The next run starts another. */
    restart() {
      end(cancelled('Python was ended.'));
    },
    dispose() {
      end(cancelled('The notebook was left.'));
    },
  };
}
