/**
 * Parts of the package that are loaded when they are first needed. Synchronous methods need them before:
 * `xla-wasm/sync` loads all that there are.
 */
import { XlaError } from './error.mjs';

const parts = new Set();

/**
 * @template Module
 * @param {() => Promise<Module>} load an import() of a literal path, which bundlers follow
 * @returns {{ later: () => Promise<Module>, now: (operation: string) => Module }} `now` throws FAILED_PRECONDITION if
 *   it was not loaded before
 */
export function part(load) {
  let module;
  const one = {
    later: async () => (module ??= await load()),
    now(operation) {
      if (module) return module;
      throw notReady(operation, 'a part of the package');
    },
    get isLoaded() {
      return module !== undefined;
    },
  };
  parts.add(one);
  return one;
}

/** Loads all parts, also those of parts. */
export async function loadParts() {
  for (const one of parts) await one.later();
}

/** Makes the error of a synchronous method whose part of the package is not loaded. */
export const notReady = (operation, what) => new XlaError(
  'FAILED_PRECONDITION', `${operation}: ${what} is not loaded, and cannot be without waiting: import from 'xla-wasm/sync', `
    + 'or await Client.prepareSync() with the options of the client', { operation });
