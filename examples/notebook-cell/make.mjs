/** Runs the cells of notebook.ipynb in Node, one after the other, and writes what they print into it. */
import { readFile, writeFile } from 'node:fs/promises';

const file = new URL('notebook.ipynb', import.meta.url);
const notebook = JSON.parse(await readFile(file, 'utf8'));
const lines = [];
const console = { log: (...values) => lines.push(...values.join(' ').split('\n')) };
const modules = { 'npm:xla-wasm': await import('xla-wasm') };

/* As notebooks do: names of a cell are known to the next ones, and a cell may await. */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const scope = {};
for (const cell of notebook.cells.filter(({ cell_type: type }) => type === 'code')) {
  const source = cell.source.join('')
    .replace(/^import (\{[^}]*\}) from '([^']+)';$/gm, (_, names, from) => `const ${names} = modules['${from}'];`);
  const own = Array.from(source.matchAll(/^(?:const|let|function) (?:\{ ?([^}]*?) ?\}|\[([^\]]*)\]|(\w+))/gm), ([, ...names]) => names.find(Boolean).split(', ')).flat();
  lines.length = 0;
  const body = `${source}\nreturn { ${own.join(', ')} };`;
  Object.assign(scope, await new AsyncFunction('modules', 'console', ...Object.keys(scope), body)(modules, console, ...Object.values(scope)));
  cell.outputs = lines.length ? [{ name: 'stdout', output_type: 'stream', text: lines.map((line) => `${line}\n`) }] : [];
}
await writeFile(file, `${JSON.stringify(notebook, null, 1)}\n`);
