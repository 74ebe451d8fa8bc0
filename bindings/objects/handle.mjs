/**
 * Handles of the core's objects: builders, modules, executables, buffers. dispose() or `using` frees the object. The
 * garbage collector frees an unreachable one, but late: see Runs.collect(). Disposing a client frees all of its objects.
 */
import { atBoundary, notConstructed } from '../base/boundary.mjs';
import { describe, invalidArgument, XlaError } from '../base/error.mjs';

const unreachable = new FinalizationRegistry(({ core, free, pointer }) => {
  try {
    if (!core.disposed) core.call(free, pointer);
  } catch {
    // No caller is waiting for this error; the next call of the client reports it.
  }
});

/**
 * Internal: coreOf(handle); pointerOf(handle), which throws FAILED_PRECONDITION after dispose(); and forget(handle), which
 * disposes without freeing, as the core then owns the object.
 */
let coreOf, pointerOf, forget;

const REMEDIES = {
  Buffer: ', or donated to a run; keep the Buffers that a run returns instead',
  Executable: '; compile its module again, or dispose it after the last run',
  HloModule: '; load or build it again',
};

export class Handle {
  #core;
  #pointer;
  #free;

  /**
   * @param {import('../host/core.mjs').Core} core
   * @param {number} pointer
   * @param {string} free the function of api.h that frees the object
   */
  constructor(core, pointer, free) {
    if (typeof core?.call !== 'function') {
      throw notConstructed(new.target.name, 'the methods of a Client and of what it returns');
    }
    this.#core = core;
    this.#pointer = pointer;
    this.#free = free;
    unreachable.register(this, { core, free, pointer }, this);
  }

  static {
    coreOf = (handle) => {
      if (!(#core in handle)) throw invalidArgument('',
        `${describe(handle)} must be one that this package made; got a Proxy or an imitation of one`);
      return handle.#core;
    };
    pointerOf = (handle) => {
      coreOf(handle);
      if (handle.#pointer) return handle.#pointer;
      const what = handle.constructor.name;
      throw new XlaError('FAILED_PRECONDITION', `this ${what} was disposed${REMEDIES[what] ?? ''}`);
    };
    forget = (handle) => {
      handle.#pointer = 0;
      unreachable.unregister(handle);
    };
  }

  /** Whether dispose() was called, on this or on the client. */
  get disposed() {
    return this.#pointer === 0 || this.#core.disposed;
  }

  /** Frees the memory. A second call does nothing. */
  dispose() {
    const pointer = this.#pointer;
    forget(this);
    if (pointer && !this.#core.disposed) this.#core.call(this.#free, pointer);
  }
}

if (Symbol.dispose) {
  Object.defineProperty(Handle.prototype, Symbol.dispose, {
    value() {
      this.dispose();
    },
  });
}

atBoundary(Handle);

export { coreOf, forget, pointerOf };
