/**
 * Runs JavaScript of the editor and of the guides: the body of an async function that has `client`, the package's
 * exports, and show(); or a module that imports them. To stop it, the page ends the worker.
 *
 * Calls: run(code, { base, from }) -> { text, shown }: the HLO text of the module that it returned, or of an
 * array of modules that meet, or null; and the values that it showed. Relative addresses begin at `base`. Lines before
 * `from` run silently. warm(): prepares for a run. Tells: printed (a text), for each call of console.log.
 */
import * as xla from '../../bindings/index.mjs';
import { printed } from './printed.mjs';
import { serve, tell } from './rpc.mjs';

const { Client, HloModule, Literal } = xla;

let client; /* promised */

const plain = (literal) => ({
  text: String(literal.shape), type: literal.shape.elementType, dimensions: [...literal.shape.dimensions], data: literal.data,
});

/** Converts shown values to literals: literals, buffers, or values that make a literal. */
function literalsOf(value) {
  if (value instanceof Literal) return value.leaves();
  if (value instanceof xla.Buffer) return [value.toLiteral()];
  if (Array.isArray(value) && value.some((one) => one instanceof Literal || one instanceof xla.Buffer)) return value.flatMap(literalsOf);
  return [Literal.from(value)];
}

/** The place in the code where an error arose. The first line of the module is not the code's. */
function placeOf(error) {
  const match = /blob:\S*?:(\d+):(\d+)\)?\s*$/m.exec(error?.stack ?? '');
  return match ? { line: Number(match[1]) - 1, column: Number(match[2]) } : {};
}

/* ---- Imports ---- */

const MODULES = { 'xla-wasm': () => xla, 'xla-wasm/train': () => import('../../bindings/train/index.mjs') };
const IMPORT = /^import\s+(\{[^}]*\}|\*\s+as\s+\w+)\s+from\s+['"]([^'"]+)['"];?/gm;

/** The code with its imports as declarations, on the same lines; and the modules that it imports. */
async function withoutImports(code) {
  const modules = {};
  const body = code.replace(IMPORT, (_, names, name) => {
    modules[name] = null;
    const pattern = names.startsWith('{') ? names.replace(/\s+as\s+/g, ': ') : names.replace(/^\*\s+as\s+/, '');
    return `const ${pattern} = importedModules['${name}'];`;
  });
  for (const name of Object.keys(modules)) {
    if (!MODULES[name]) throw new Error(`import: there is no module '${name}' in this page; it has ${Object.keys(MODULES).join(' and ')}`);
    modules[name] = await MODULES[name]();
  }
  return { body, modules };
}

/** The code as a function of an object with these names. It is a module, since the page's policy forbids eval. */
async function functionOf(code, names) {
  /* In a block of its own, so that it may declare `client`, too. */
  const module = `export default async ({ ${names.join(', ')} }) => { {\n${code}\n} };`;
  const address = URL.createObjectURL(new Blob([module], { type: 'text/javascript' }));
  try {
    return (await import(/* @vite-ignore */ address)).default;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Loads the core before a program comes. */
const warm = () => { client ??= Client.create({ threads: 0 }); };

/** A console that the page shows. What is printed by a line before `from` is not. */
function consoleFor(from) {
  const print = (...values) => {
    const { line = Infinity } = from ? placeOf(new Error('here')) : {};
    if (line >= from) tell('printed', printed(values));
  };
  return { log: print, info: print, warn: print, error: print, debug: print };
}

const fetchAnywhere = globalThis.fetch;

/** Makes relative addresses begin at `base`: a worker of a data: address has no base of its own. */
function fetchFrom(base) {
  globalThis.fetch = (input, options) => fetchAnywhere(typeof input === 'string' ? new URL(input, base) : input, options);
}

async function run(code, { base, from = 0 } = {}) {
  warm();
  const created = await client;
  const shown = [];
  if (base) fetchFrom(base);
  const { body, modules } = await withoutImports(code);
  const names = {
    ...xla, client: created, importedModules: modules, console: consoleFor(from),
    show: (value, name) => shown.push(...literalsOf(value).map((literal) => ({ name: name ?? `shown ${shown.length}`, ...plain(literal) }))),
  };
  try {
    const compiled = await functionOf(body, Object.keys(names));
    const result = await compiled(names);
    const found = [result].flat().filter((one) => one instanceof HloModule);
    if (result !== undefined && !found.length) shown.push(...literalsOf(result).map((literal) => ({ name: 'returned', ...plain(literal) })));
    return { text: found.length ? found.join('\n') : null, shown };
  } catch (error) {
    const thrown = error instanceof Error ? error : new Error(String(error));
    throw Object.assign(thrown, placeOf(thrown));
  }
}

serve({ run, warm }, { borrows: false });
