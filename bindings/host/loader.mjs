/**
 * Chooses and loads one of the two builds. The build with threads needs shared memory, which a page
 * has only if it is cross-origin isolated. A build is a WebAssembly file and its Emscripten glue.
 */
import { messageOf, XlaError } from '../base/error.mjs';
import { kind } from '../base/options.mjs';
import { notReady } from '../base/part.mjs';

// Spelled out, so that bundlers see the files. The glue is an asset to them, like the WebAssembly:
// its workers start from its own address, and it must not become part of a chunk. In functions, as
// import.meta.url is empty where a bundler makes a script of it all.
const FILES = {
  'xla-threads.mjs': () => new URL('../../build/dist/xla-threads.mjs', import.meta.url),
  'xla-threads.wasm': () => new URL('../../build/dist/xla-threads.wasm', import.meta.url),
  'xla-single.mjs': () => new URL('../../build/dist/xla-single.mjs', import.meta.url),
  'xla-single.wasm': () => new URL('../../build/dist/xla-single.wasm', import.meta.url),
};

/** The address of the folder dist/, or a function from a file's name to its address. */
export const assets = kind('a URL, a path or a function from file names to these', (value) =>
  typeof value === 'function' || typeof value === 'string' || value?.href
    ? value : undefined);

const REMEDY = "if a bundler left this file behind, serve the package's folder build/dist " +
  '(importable as xla-wasm/dist/...) and say where it is: Client.create({ assets: "/that/folder/" })';

/** @returns {XlaError} to be thrown: a file of the package cannot be loaded */
function cannotLoad(file, why, cause) {
  return new XlaError('UNAVAILABLE', `cannot load ${file}: ${why}; ${REMEDY}`, { cause });
}

/** The base of relative addresses: the page's, the script's, or in Node the current folder. */
function baseAddress() {
  const base = globalThis.document?.baseURI ?? globalThis.location?.href;
  return base ?? (isNode ? `file://${globalThis.process.cwd()}/` : undefined);
}

function addressOf(name, assets) {
  try {
    if (assets === undefined) return FILES[name]();
    if (typeof assets === 'function') return new URL(assets(name), baseAddress());
    return new URL(name, new URL(String(assets).replace(/\/?$/, '/'), baseAddress()));
  } catch (error) {
    throw cannotLoad(name, messageOf(error), error);
  }
}

const hadWorker = Object.hasOwn(globalThis, 'Worker');
// Read from globalThis, as bundlers would add a `process` to a page.
export const isNode = typeof globalThis.process?.versions?.node === 'string';

/** Imports a module of Node's in a way that bundlers for browsers do not follow. */
export function importNode(name) {
  return import(/* @vite-ignore */ /* webpackIgnore: true */ `node:${name}`);
}

/** Returns a module of Node's without waiting: Node 20.16 and later. */
export function nodeModule(name) {
  const module = globalThis.process.getBuiltinModule?.(name);
  if (module) return module;
  throw new XlaError('FAILED_PRECONDITION', `the synchronous methods need Node 20.16 or later; this is ${globalThis.process.version}`);
}

let sleeps; // whether this thread may; undefined until it was tried

/** Whether this thread may sleep; the main thread of a page may not. */
export function maySleep() {
  if (sleeps !== undefined) return sleeps;
  if (!hasSharedMemory()) return sleeps = false;
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1, 0);
    sleeps = true;
  } catch {
    sleeps = false;
  }
  return sleeps;
}

export function hasSharedMemory() {
  return typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false;
}

/** Returns the number of threads that this machine runs at once. */
export async function hardwareConcurrency() {
  return isNode ? (await importNode('os')).availableParallelism() : hardwareConcurrencyNow();
}

export const hardwareConcurrencyNow = () =>
  (isNode ? nodeModule('os').availableParallelism() : globalThis.navigator?.hardwareConcurrency ?? 1);

const PAGE = 65536;

/**
 * Makes a new instance of a build by its glue.
 * @param {'threads' | 'single'} build
 * @param {number} [maxMemory] bytes of linear memory, at most; at least MIN_MEMORY
 * @param {string | URL | ((name: string) => string | URL)} [assets] where the files are
 */
export async function instantiate(build, maxMemory, assets) {
  const compiling = compiledModule(addressOf(`xla-${build}.wasm`, assets)); // beside all the rest
  const factory = await importGlue(addressOf(`xla-${build}.mjs`, assets));
  try {
    return await new Promise((resolve, reject) => {
      const instantiateWasm = (imports, receive) => {
        compiling
          .then(async (module) => receive(await WebAssembly.instantiate(module, imports), module))
          .catch(reject);
        return {}; // the exports come later
      };
      const options = { noExitRuntime: true, instantiateWasm };
      if (maxMemory) options.wasmMemory = newMemory(maxMemory, build === 'threads');
      factory(options).then(resolve, reject);
    });
  } catch (error) {
    if (error instanceof XlaError) throw error;
    throw new XlaError('RESOURCE_EXHAUSTED', `cannot start WebAssembly: ${error.message}`, {
      cause: error,
    });
  } finally {
    if (isNode && !hadWorker) delete globalThis.Worker; // see workers.mjs
  }
}

/* ---- Without waiting ---- */

const prepared = new Map(); // what instantiateNow() needs, by the build's name

/** Loads the files that instantiateNow() needs. */
export async function prepare(build, assets) {
  const address = addressOf(`xla-${build}.wasm`, assets);
  // In Node the file can be read when it is needed.
  const compiling = isNode && address.protocol === 'file:' ? undefined : compiledModule(address); // beside the glue
  const [factory, module] = await Promise.all([importGlue(addressOf(`xla-${build}.mjs`, assets)), compiling]);
  prepared.set(build, { factory, address, module });
}

/**
 * As instantiate(), without waiting. The glue is an async function, but does not wait if its WebAssembly is loaded: when
 * it returns its promise, the object that was passed to it is the instance.
 */
export function instantiateNow(build, maxMemory) {
  const found = prepared.get(build);
  if (!found) throw notReady('createSync', `the build xla-${build}`);
  const options = { noExitRuntime: true };
  try {
    found.module ??= new WebAssembly.Module(nodeModule('fs').readFileSync(found.address));
    options.instantiateWasm = (imports, receive) => receive(new WebAssembly.Instance(found.module, imports), found.module);
    if (maxMemory) options.wasmMemory = newMemory(maxMemory, build === 'threads');
    let failure;
    found.factory(options).catch((error) => { failure = error; });
    if (!options.calledRun) throw failure ?? new Error('the glue waits');
    return options;
  } catch (error) {
    if (error instanceof XlaError) throw error;
    throw new XlaError('RESOURCE_EXHAUSTED', `cannot start WebAssembly: ${messageOf(error)}`, { cause: error });
  } finally {
    if (isNode && !hadWorker) delete globalThis.Worker; // see workers.mjs
  }
}

async function importGlue({ href }) {
  let glue;
  try {
    glue = await import(/* @vite-ignore */ /* webpackIgnore: true */ href);
  } catch (error) {
    throw cannotLoad(href, messageOf(error), error);
  }
  if (typeof glue.default === 'function') return glue.default;
  throw cannotLoad(href, 'it is no build of this package');
}

/** The initial memory of an instance: the glue's INITIAL_MEMORY. */
export const MIN_MEMORY = 2 ** 24;

function newMemory(maxBytes, shared) {
  const maximum = Math.floor(maxBytes / PAGE);
  return new WebAssembly.Memory({ initial: MIN_MEMORY / PAGE, maximum, shared });
}

const compiled = new Map(); // by address: clients share the compiled module, not the instance

function compiledModule(url) {
  const { href } = url;
  if (!compiled.has(href)) {
    const promise = compile(url);
    compiled.set(href, promise);
    promise.catch(() => compiled.delete(href)); // the network may be back next time
  }
  return compiled.get(href);
}

async function compile(url) {
  try {
    if (url.protocol === 'file:') {
      // Synchronously, in half a millisecond; promises take five.
      const { readFileSync } = globalThis.process.getBuiltinModule?.('fs') ?? await importNode('fs');
      return await WebAssembly.compile(readFileSync(url));
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    // Streaming needs the right content type, which not every server sends.
    return response.headers.get('content-type')?.startsWith('application/wasm')
      ? await WebAssembly.compileStreaming(response)
      : await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    throw cannotLoad(url.href, messageOf(error), error);
  }
}
