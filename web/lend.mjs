/**
 * Threads for a client in a worker, started by the page.
 *
 *     in the page:    lendWorkers(worker)     before anything else listens to it
 *     in the worker:  borrowWorkers()         before Client.create()
 *
 * Firefox needs it: there `new Worker` in a worker waits for the page's main thread on the condition
 * variable that the new worker waits on for its own events, and one signal wakes one of the two. Where
 * the page is busy for the few milliseconds in which the worker starts, the wrong one is woken, and the
 * one that called `new Worker` never goes on (seen in Firefox ESR 153, in twenty lines without this
 * project; other threads of it sleep, and it cannot even be timed out, as its event loop stands still).
 * What the page starts is not waited for.
 */

const REQUEST = 'xlaLendWorker';

/**
 * Starts workers for a worker of this page that has called borrowWorkers(), and ends them with it.
 * @param {Worker} worker
 * @returns {Worker} the same
 */
export function lendWorkers(worker) {
  const lent = new Set();
  worker.addEventListener('message', (event) => {
    const request = event.data?.[REQUEST];
    if (!request) return;
    event.stopImmediatePropagation();
    const { url, name, messages, control } = request;
    const started = new Worker(new URL('lent_worker.mjs', import.meta.url), { type: 'module', name });
    const end = () => {
      lent.delete(end);
      started.terminate();
      control.close();
    };
    lent.add(end);
    control.onmessage = end;
    started.addEventListener('error', (error) => {
      error.preventDefault();
      control.postMessage(error.message || 'it could not be loaded');
    });
    started.postMessage({ url, messages }, [messages]);
  });
  const { terminate } = worker;
  worker.terminate = () => {
    terminate.call(worker);
    lent.forEach((end) => end());
  };
  return worker;
}

/** What `new Worker` makes in a worker that borrows: as much of a Worker as Client.create() needs. */
class BorrowedWorker {
  onmessage = null;
  onerror = null;
  #messages;
  #control;

  constructor(url, { name } = {}) {
    const messages = new MessageChannel();
    const control = new MessageChannel();
    this.#messages = messages.port1;
    this.#control = control.port1;
    this.#messages.onmessage = (event) => this.onmessage?.(event);
    this.#control.onmessage = ({ data: message }) => this.onerror?.({ message });
    globalThis.postMessage({ [REQUEST]: { url: String(url), name, messages: messages.port2, control: control.port2 } },
      [messages.port2, control.port2]);
  }

  postMessage(message, transfer) {
    this.#messages.postMessage(message, transfer);
  }

  terminate() {
    this.#control.postMessage('end');
    this.#messages.close();
  }
}

/** Lets the page start what this worker would start by `new Worker`. */
export function borrowWorkers() {
  globalThis.Worker = BorrowedWorker;
}
