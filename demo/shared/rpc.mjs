/**
 * Calls between a page and its worker. Everything that computes is in workers, so that the page
 * itself never blocks.
 *
 *     in the worker:  serve({ add: (a, b) => a + b })
 *     in the page:    const worker = connect(new Worker(...)); await worker.call('add', 1, 2)
 *
 * What a function throws rejects the call, with the fields of an XlaError. A function of the worker
 * may also `tell(name, value)` the page, which listens by `worker.on(name, listener)`.
 */

import { borrowWorkers, lendWorkers } from '../../web/lend.mjs';

const FIELDS = ['code', 'operation', 'line', 'column', 'waiting', 'parameters'];

function plainError(error) {
  const plain = { message: error?.message ?? String(error), name: error?.name ?? 'Error' };
  for (const field of FIELDS) if (error?.[field] !== undefined) plain[field] = error[field];
  return plain;
}

const TRANSFER = Symbol('transfer');

/** A result with the buffers that are transferred instead of copied. */
export function transfer(result, buffers) {
  return { [TRANSFER]: buffers, result };
}

/** Sends a message from a worker to its page. */
export function tell(name, value, buffers = []) {
  self.postMessage({ name, value }, buffers);
}

/**
 * Answers the page's calls, in a worker.
 * @param {Record<string, Function>} functions
 * @param {object} [options]
 * @param {boolean} [options.borrows] whether its threads are workers that the page starts
 */
export function serve(functions, { borrows = true } = {}) {
  if (borrows) borrowWorkers();
  self.addEventListener('message', async ({ data: { id, method, args } }) => {
    try {
      const given = await functions[method](...args);
      const [result, buffers] = given?.[TRANSFER] ? [given.result, given[TRANSFER]] : [given, []];
      self.postMessage({ id, result }, buffers);
    } catch (error) {
      self.postMessage({ id, error: plainError(error) });
    }
  });
}

/**
 * The page's end of a worker.
 * @param {Worker} worker
 * @param {object} [options]
 * @param {boolean} [options.lends] whether it starts workers for that one, of its own origin: not for code of others
 */
export function connect(worker, { lends = true } = {}) {
  const pending = new Map();
  const listeners = new Map();
  let next = 1;
  let ended = null;

  const end = (error) => {
    ended ??= error;
    worker.terminate();
    pending.forEach(({ reject }) => reject(ended));
    pending.clear();
  };
  if (lends) lendWorkers(worker);
  worker.addEventListener('message', ({ data }) => {
    if (data.name !== undefined) return listeners.get(data.name)?.(data.value);
    const call = pending.get(data.id);
    pending.delete(data.id);
    if (data.error) return call?.reject(Object.assign(new Error(data.error.message), data.error));
    return call?.resolve(data.result);
  });
  worker.addEventListener('error', (event) => {
    end(new Error(event.message || 'the worker could not start'));
  });
  return {
    /** @returns {Promise<any>} */
    call(method, ...args) {
      return this.send([], method, ...args);
    },
    /** Calls a function with buffers that are transferred instead of copied. */
    send(buffers, method, ...args) {
      if (ended) return Promise.reject(ended);
      return new Promise((resolve, reject) => {
        const id = next++;
        pending.set(id, { resolve, reject });
        worker.postMessage({ id, method, args }, buffers);
      });
    },
    on(name, listener) {
      listeners.set(name, listener);
    },
    /** Ends the worker, with the threads that it started; pending calls reject. */
    terminate() {
      end(Object.assign(new Error('stopped'), { code: 'CANCELLED' }));
    },
  };
}
