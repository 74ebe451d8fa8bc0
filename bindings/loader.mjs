/**
 * Which of the two builds runs here: the one with threads needs shared memory, which a page has
 * only if it is cross-origin isolated. Each build is a WebAssembly file and its Emscripten glue.
 */
import { XlaError } from './error.mjs';

// Spelled out, so that bundlers see the files. The glue is an asset to them, like the WebAssembly:
// its workers start from its own address, and it must not become part of a chunk.
const BUILDS = {
  threads: {
    glue: new URL('../build/dist/xla-threads.mjs', import.meta.url),
    wasm: new URL('../build/dist/xla-threads.wasm', import.meta.url),
  },
  single: {
    glue: new URL('../build/dist/xla-single.mjs', import.meta.url),
    wasm: new URL('../build/dist/xla-single.wasm', import.meta.url),
  },
};

const hadWorker = Object.hasOwn(globalThis, 'Worker');
export const isNode = typeof process === 'object' && typeof process.versions?.node === 'string';

/** A module of Node's, out of the sight of bundlers for browsers. */
export function importNode(name) {
  return import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`);
}

export function hasSharedMemory() {
  return typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false;
}

/** How many threads this machine runs at once. */
export async function hardwareConcurrency() {
  if (!isNode) return globalThis.navigator?.hardwareConcurrency ?? 1;
  const os = await importNode('os');
  return os.availableParallelism();
}

const PAGE = 65536;

/**
 * A fresh instance of a build, as its glue makes it.
 * @param {'threads' | 'single'} build
 * @param {number} [maxMemory] bytes of linear memory, at most; at least MIN_MEMORY
 */
export async function instantiate(build, maxMemory) {
  const [{ default: factory }, module] = await Promise.all([
    import(/* @vite-ignore */ /* webpackIgnore: true */ BUILDS[build].glue.href),
    compiledModule(build),
  ]);
  try {
    return await new Promise((resolve, reject) => {
      const instantiateWasm = (imports, receive) => {
        WebAssembly.instantiate(module, imports)
          .then((instance) => receive(instance, module))
          .catch(reject);
        return {}; // the exports come later
      };
      const options = { noExitRuntime: true, instantiateWasm };
      if (maxMemory) options.wasmMemory = newMemory(maxMemory, build === 'threads');
      factory(options).then(resolve, reject);
    });
  } catch (error) {
    throw new XlaError('RESOURCE_EXHAUSTED', `cannot start WebAssembly: ${error.message}`, {
      cause: error,
    });
  } finally {
    if (isNode && !hadWorker) delete globalThis.Worker; // see workers.mjs
  }
}

/** What an instance begins with: the glue's INITIAL_MEMORY. */
export const MIN_MEMORY = 2 ** 24;

function newMemory(most, shared) {
  const maximum = Math.floor(most / PAGE);
  return new WebAssembly.Memory({ initial: MIN_MEMORY / PAGE, maximum, shared });
}

const compiled = new Map(); // by build: clients share the compiled module, not the instance

function compiledModule(build) {
  if (!compiled.has(build)) {
    const promise = compile(BUILDS[build].wasm);
    compiled.set(build, promise);
    promise.catch(() => compiled.delete(build)); // the network may be back next time
  }
  return compiled.get(build);
}

async function compile(url) {
  try {
    if (url.protocol === 'file:') {
      const { readFile } = await importNode('fs/promises');
      return await WebAssembly.compile(await readFile(url));
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    // Streaming wants the right content type, which not every server sends.
    return response.headers.get('content-type')?.startsWith('application/wasm')
      ? await WebAssembly.compileStreaming(response)
      : await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    throw new XlaError('UNAVAILABLE', `cannot load ${url}: ${error.message}`, { cause: error });
  }
}
