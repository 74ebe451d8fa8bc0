/**
 * Checks who uses whom: node .ci/layers.mjs OBJECTS, the folder with the objects of a native build.
 *
 * The tables of docs/architecture.md ("Who may include whom") list components. A row names the components that its own may use,
 * by includes, imports or calls; calls, since a declaration of one's own needs no include. The check fails for
 *   - a file that uses a component that its row does not name, and a name that no file needs;
 *   - a row that names a component below it, so that components would form a cycle;
 *   - a file without a component; files that include each other in a cycle, or that call each other in one that the page
 *     gives no reason for;
 *   - a header with a function that is not inline: code for several types is an .inc, which a .c for each type includes;
 *   - a function that no other file uses, but that is not static. The compiler reports a static one that is dead.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parseAst } from 'vite';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const TABLES = 'docs/architecture.md';
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const list = (folder, pattern) => readdirSync(join(ROOT, folder), { recursive: true })
  .filter((path) => pattern.test(path)).map((path) => path.replaceAll('\\', '/')).sort();

/**
 * The rows of the table after a heading: | `component` `component` | names of the components above that it may use |.
 * @returns {{ name: string, files: string[], uses: string[] }[]}
 */
function components(heading) {
  const section = read(TABLES).split(`### ${heading}\n`)[1]?.split(/^#/m)[0] ?? '';
  const rows = [...section.matchAll(/^\| (.*?`.*?) \|(.*)\|$/gm)].map(([, first, uses]) => {
    const names = [...first.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    return { name: names[0], files: names, uses: [...uses.matchAll(/`([^`]+)`/g)].map(([, name]) => name) };
  });
  if (!rows.length) throw new Error(`${TABLES} has no table after "### ${heading}"`);
  return rows;
}

/** Edges between files: what each file uses, with a word for the message. */
class Uses {
  files = new Map();

  add(from, to, how) {
    const own = this.files.get(from) ?? new Map();
    if (to !== undefined && to !== from && !own.has(to)) own.set(to, how);
    this.files.set(from, own);
  }
}

/* ---- What files include and call ---- */

function includes(uses) {
  for (const file of list('src', /\.(c|h|inc|def)$/)) {
    uses.add(file);
    for (const [, path] of read(`src/${file}`).matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) uses.add(file, path, 'includes');
  }
}

/** The path of every static and dynamic import in a module. */
function importsOf(text) {
  const found = [];
  JSON.stringify(parseAst(text), (key, node) => {
    const isImport = /^(Import(Declaration|Expression)|Export(Named|All)Declaration)$/.test(node?.type);
    if (isImport && typeof node.source?.value === 'string') found.push(node.source.value);
    return typeof node === 'bigint' ? String(node) : node;
  });
  return found;
}

/** @returns {Uses} between the modules of a folder */
function imports(folder) {
  const uses = new Uses();
  for (const file of list(folder, /\.mjs$/)) {
    uses.add(file);
    for (const path of importsOf(read(`${folder}/${file}`))) {
      if (path.startsWith('.')) uses.add(file, normalize(join(dirname(file), path)), 'imports');
    }
  }
  return uses;
}

/** @returns {{ file: string, defined: string[], needed: string[] }[]} of each object below a folder */
function symbols(folder) {
  const objects = new Map(list('src', /\.c$/).map((file) => [`${folder}/${file.replace(/c$/, 'o')}`,
    { file, defined: [], needed: [] }]));
  const built = list(folder, /\.o$/).map((path) => `${folder}/${path}`).filter((path) => objects.has(path));
  const text = execFileSync('nm', ['-A', '-g', '--format=posix', ...built], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 });
  for (const [, path, name, kind] of text.matchAll(/^(.*?): (\S+) (\w)/gm)) {
    const object = objects.get(path);
    if (kind === 'U') object.needed.push(name);
    else if (/[TDBRV]/.test(kind) && !name.startsWith('__')) object.defined.push(name);
  }
  return [...objects.values()];
}

function calls(uses, objects) {
  const definedIn = new Map(objects.flatMap(({ file, defined }) => defined.map((name) => [name, file])));
  for (const { file, needed } of objects) {
    for (const name of needed) if (uses.files.has(file)) uses.add(file, definedIn.get(name), `calls ${name} of`);
  }
}

/* ---- The checks ---- */

/** The row that has the file, the file without its ending, or a folder of it, the innermost first. */
function componentOf(table, file) {
  const names = [file, file.replace(/\.\w+$/, '')];
  for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) names.push(folder);
  for (const name of names) {
    const component = table.find(({ files }) => files.includes(name));
    if (component) return component;
  }
  return undefined;
}

function checkComponents(heading, uses, problems) {
  const table = components(heading);
  const needed = new Map(table.map(({ name }) => [name, new Set()]));
  table.forEach(({ name, uses: used }, i) => used.forEach((other) => {
    if (!table.slice(0, i).some((row) => row.name === other)) {
      problems.push(`${TABLES}: ${name} names ${other}, which is in no row above it`);
    }
  }));
  for (const [file, own] of uses.files) {
    const component = componentOf(table, file);
    if (!component) problems.push(`${file}: no row of "${heading}" in ${TABLES} has this file; add it to one`);
    for (const [other, how] of own) {
      const used = componentOf(table, other);
      if (!component || !used || component === used) continue;
      needed.get(component.name).add(used.name);
      if (!component.uses.includes(used.name)) {
        problems.push(`${file} ${how} ${other}: ${component.name} may not use ${used.name}; move the code to the component ` +
          `that it belongs to, or pass what it needs as an argument (${TABLES})`);
      }
    }
  }
  for (const { name, uses: used } of table) {
    for (const other of used) {
      if (!needed.get(name).has(other)) problems.push(`${TABLES}: ${name} does not need ${other} any more`);
    }
  }
}

/** The files of each cycle of `edges`: Tarjan's strongly connected components of more than one file. */
function cycles(edges) {
  const number = new Map(), lowest = new Map(), path = [], found = [];
  const visit = (file) => {
    number.set(file, number.size);
    lowest.set(file, number.get(file));
    path.push(file);
    for (const other of edges.get(file) ?? []) {
      if (!number.has(other)) visit(other);
      if (path.includes(other)) lowest.set(file, Math.min(lowest.get(file), lowest.get(other)));
    }
    if (lowest.get(file) !== number.get(file)) return;
    const cycle = path.splice(path.indexOf(file));
    if (cycle.length > 1) found.push(cycle);
  };
  for (const file of edges.keys()) if (!number.has(file)) visit(file);
  return found;
}

/**
 * Cycles between files, with a .c and its .h as one: of includes none, of calls those alone that the table of the
 * architecture page gives a reason for.
 */
function checkCycles(uses, problems) {
  const allowed = components('Cycles of calls');
  const edges = (counts) => {
    const unit = (file) => file.replace(/\.[ch]$/, '');
    const found = new Map([...uses.files.keys()].map((file) => [unit(file), new Set()]));
    for (const [file, own] of uses.files) {
      for (const [other, how] of own) if (counts(how) && unit(other) !== unit(file)) found.get(unit(file)).add(unit(other));
    }
    return found;
  };
  for (const cycle of cycles(edges((how) => !how.startsWith('calls')))) {
    problems.push(`${cycle.join(', ')}: these files include each other`);
  }
  const unused = new Set(allowed);
  for (const cycle of cycles(edges((how) => how.startsWith('calls')))) {
    const row = allowed.find(({ files }) => cycle.every((file) => files.some((name) => file === name || dirname(file) === name)));
    unused.delete(row);
    if (!row) problems.push(`${cycle.join(', ')}: these files call each other; "Cycles of calls" in ${TABLES} has no reason for it`);
  }
  return [...unused].map(({ name }) => name);
}

/** Functions in headers that a file would have a copy of. */
function checkHeaders(problems) {
  for (const file of list('src', /\.h$/)) {
    for (const [, name] of read(`src/${file}`).matchAll(/^(?!.*\binline\b)\w[^;={}()]*\b(\w+)\([^;={}]*\) \{$/gm)) {
      problems.push(`${file}: ${name} is not inline; put it into a .c, or into an .inc that a .c for each type includes`);
    }
  }
}

/** Functions and data with external linkage that no other file uses. */
function checkLinkage(objects, problems) {
  const needed = new Set(objects.flatMap((object) => object.needed));
  const elsewhere = [ // Files that have other calls in WebAssembly than in the native build.
    ...['native', 'textbook'].flatMap((folder) => list(`tests/${folder}`, /\.c$/).map((file) => `tests/${folder}/${file}`)),
    'src/base/host/wasm.c',
    'src/kernels/contraction/inner/fused.c',
    ...list('src', /\.def$/).map((file) => `src/${file}`),
  ];
  const words = new Set(elsewhere.flatMap((file) => read(file).match(/\w+/g)));
  const isExported = (file, name) => /^(api|main)\.c$/.test(file) || /^xla_/.test(name); // generated code calls these
  for (const { file, defined } of objects) {
    for (const name of defined) {
      if (!needed.has(name) && !words.has(name) && !isExported(file, name)) {
        problems.push(`src/${file}: no other file uses ${name}; delete it, or make it static`);
      }
    }
  }
}

const problems = [];
const objects = symbols(process.argv[2]);
const c = new Uses();
const js = imports('bindings');
const demo = imports('demo');
includes(c);
calls(c, objects);
checkComponents('C', c, problems);
checkComponents('JavaScript', js, problems);
checkComponents('Demo', demo, problems);
for (const name of checkCycles(c, problems)) problems.push(`${TABLES}: there is no cycle of calls in ${name} any more`);
checkCycles(js, problems);
checkCycles(demo, problems);
checkHeaders(problems);
checkLinkage(objects, problems);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length ? 1 : 0;
