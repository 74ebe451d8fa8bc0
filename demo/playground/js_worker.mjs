/**
 * Runs JavaScript of the editor: the body of an async function that has `client`, the package's
 * exports, and show(). To stop it, the page ends the worker.
 *
 * Calls: run(code) -> { text, shown }: the HLO text of the module that it returned, or of an
 * array of modules that meet, or null; and the values that it showed. warm(): prepares for a run.
 */
import * as xla from '../../bindings/index.mjs';
import { serve } from '../shared/rpc.mjs';

const { Client, HloModule, Literal } = xla;

let client; /* promised */

const plain = (literal) => ({ text: String(literal.shape), type: literal.shape.elementType, dimensions: [...literal.shape.dimensions], data: literal.data });

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

/** The code as a function of an object with these names. It is a module, since the page's policy forbids eval. */
async function functionOf(code, names) {
  const module = `export default async ({ ${names.join(', ')} }) => {\n${code}\n};`;
  const address = URL.createObjectURL(new Blob([module], { type: 'text/javascript' }));
  try {
    return (await import(/* @vite-ignore */ address)).default;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Loads the core before a program comes. */
const warm = () => { client ??= Client.create({ threads: 0 }); };

async function run(code) {
  warm();
  const created = await client;
  const shown = [];
  const names = { ...xla, client: created, show: (value, name) => shown.push(...literalsOf(value).map((literal) => ({ name: name ?? `shown ${shown.length}`, ...plain(literal) }))) };
  try {
    const body = await functionOf(code, Object.keys(names));
    const result = await body(names);
    const modules = [result].flat().filter((one) => one instanceof HloModule);
    if (result !== undefined && !modules.length) shown.push(...literalsOf(result).map((literal) => ({ name: 'returned', ...plain(literal) })));
    return { text: modules.length ? modules.join('\n') : null, shown };
  } catch (error) {
    const thrown = error instanceof Error ? error : new Error(String(error));
    throw Object.assign(thrown, placeOf(thrown));
  }
}

serve({ run, warm }, { borrows: false });
