/**
 * Cancels runs when an AbortSignal fires. Each signal gets one listener, however many runs it
 * cancels, because Node warns of an eleventh.
 */
const listeners = new WeakMap(); // signal -> Listener

class Listener {
  #signal;
  #callbacks = new Set();
  #handle = () => {
    for (const callback of [...this.#callbacks]) callback();
  };

  constructor(signal) {
    this.#signal = signal;
  }

  add(callback) {
    if (!this.#callbacks.size) this.#signal.addEventListener('abort', this.#handle);
    this.#callbacks.add(callback);
  }

  delete(callback) {
    this.#callbacks.delete(callback);
    if (!this.#callbacks.size) this.#signal.removeEventListener('abort', this.#handle);
  }
}

/**
 * Calls `callback` when `signal` fires.
 * @param {AbortSignal | undefined} signal
 * @param {() => void} callback must not throw
 * @returns {() => void} ends that
 */
export function onAbort(signal, callback) {
  if (!signal) return () => {};
  if (!listeners.has(signal)) listeners.set(signal, new Listener(signal));
  const listener = listeners.get(signal);
  listener.add(callback);
  return () => listener.delete(callback);
}
