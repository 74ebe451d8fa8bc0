/**
 * Python with JAX, in a worker. The page sends
 *
 *     { kind: 'start', base, interrupt?, pyodide?, packages? }    once, first
 *     { kind: 'run', id, code, packages? }                        runs wait for each other
 *
 * `base` is the page's address; `interrupt` a Uint8Array on shared memory, in which a 2 interrupts Python; `pyodide` the
 * folder with Pyodide, by default base/pyodide/; `packages` are names of pyodide-lock.json in that folder, or addresses
 * of wheels: by default JAX. Packages that a cell imports are loaded if the lock file lists them.
 *
 * The worker answers
 *
 *     { kind: 'progress', label, loaded, total? }                 bytes of a file that is being loaded
 *     { kind: 'notice', message }                                 a package that cannot be had
 *     { kind: 'ready', ms } or { kind: 'failed', message }        the answer to 'start'; 'failed' also when Python died
 *     { kind: 'output', id, stream: 'stdout' | 'stderr', text }
 *     { kind: 'display', id, type, data }                         the last expression's value: 'text', or 'svg', 'png'
 *                                                                 by its methods; and what notebook.py sends
 *     { kind: 'error', id, message, line?, trace, code? } or { kind: 'done', id, ms }     the answer to 'run'
 *
 * `line` counts in the cell, from 1; `code` is CANCELLED where Python was interrupted. The page calls
 * lendWorkers(worker) of web/lend.mjs before it sends anything: it starts the threads of the core.
 */
import * as xla from '../../bindings/index.mjs';
import * as session from '../../python/jaxlib/_engine/session.mjs';
import { borrowWorkers } from '../../web/lend.mjs';

const SIGINT = 2;
const DEVICES = 8; // that JAX sees, simulated: for shard_map
const post = (message) => self.postMessage(message);
let python = null; // { pyodide, run }
let current = null; // the id of the cell that runs
let last = Promise.resolve();

/** Makes all that is loaded tell how far it is: Pyodide loads its own files by fetch(), too. */
function tellProgress() {
  const plain = self.fetch;
  self.fetch = async (...args) => {
    const response = await plain(...args);
    if (!response.ok || !response.body) return response;
    const label = new URL(response.url).pathname.split('/').at(-1);
    const total = response.headers.get('content-encoding') ? undefined : Number(response.headers.get('content-length')) || undefined;
    let loaded = 0;
    const counted = new TransformStream({
      transform(chunk, controller) {
        loaded += chunk.length;
        post({ kind: 'progress', label, loaded, total });
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counted), { status: response.status, headers: response.headers });
  };
}

async function text(name) {
  return (await fetch(name)).text();
}

/** The core, with its threads: they can start only while Python does not run. */
async function startCore(interrupt) {
  if (self.crossOriginIsolated) borrowWorkers();
  const [client] = await Promise.all([xla.Client.create(), xla.Client.prepareSync()]);
  return { ...xla, ...session, client, interrupted: interrupt && (() => Atomics.load(interrupt, 0) === SIGINT) };
}

async function start({ base, interrupt, pyodide: folder = new URL('pyodide/', base).href, packages = ['jax'] }) {
  const began = performance.now();
  tellProgress();
  const output = (stream) => {
    const decoder = new TextDecoder();
    return {
      write(bytes) {
        post({ kind: 'output', id: current, stream, text: decoder.decode(bytes, { stream: true }) });
        return bytes.length;
      },
    };
  };
  const { loadPyodide } = await import(/* @vite-ignore */ new URL('pyodide.mjs', folder).href).catch(() => {
    throw new Error('this site has no Python: make python-page writes it, make site takes it');
  });
  const [pyodide, core, cells, notebook] = await Promise.all([
    loadPyodide({ indexURL: folder }), startCore(interrupt),
    text(new URL('run_cell.py', import.meta.url)), text(new URL('notebook.py', import.meta.url)),
  ]);
  pyodide.registerJsModule('xla_wasm', core);
  pyodide.setStdout(output('stdout'));
  pyodide.setStderr(output('stderr'));
  if (interrupt) pyodide.setInterruptBuffer(interrupt);
  const site = pyodide.runPython(`import os, site
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=${DEVICES}")
site.getsitepackages()[0]`);
  pyodide.FS.writeFile(`${site}/run_cell.py`, cells);
  pyodide.FS.writeFile(`${site}/notebook.py`, `${notebook}\n\nfrom run_cell import send as _send  # noqa\n`);
  const { connect, run } = pyodide.pyimport('run_cell');
  connect((type, data) => post({ kind: 'display', id: current, type, data }));
  python = { pyodide, run };
  await load(packages);
  return performance.now() - began;
}

/** Loads packages, and says which cannot be had: cells without them run. */
async function load(names) {
  const { pyodide } = python;
  const problems = [];
  await pyodide.loadPackage(names, { messageCallback: () => {}, errorCallback: (text) => problems.push(text) })
    .catch((error) => problems.push(error.message));
  if (problems.length) post({ kind: 'notice', message: `Not all of ${names.join(', ')} could be loaded, so imports of it fail. ${problems.join(' ')}` });
}

async function runCell({ id, code, packages = [] }) {
  const { pyodide, run } = python;
  current = id;
  if (packages.length) await load(packages);
  await pyodide.loadPackagesFromImports(code, { messageCallback: () => {}, errorCallback: () => {} });
  const began = performance.now();
  const error = await run(`<cell ${id}>`, code);
  const ms = performance.now() - began;
  post(error ? { kind: 'error', id, ...error } : { kind: 'done', id, ms });
}

const failed = (error) => post({ kind: 'failed', message: error?.message ?? String(error) });

self.addEventListener('message', ({ data }) => {
  if (data.kind === 'start') last = start(data).then((ms) => post({ kind: 'ready', ms }), failed);
  if (data.kind === 'run') last = last.then(() => runCell(data)).catch(failed);
});
