/**
 * Which tests reach which blocks of the core's functions: measured once, in a tree of its own, so that a mutant meets only
 * tests that reach it.
 *
 * A block is the body of a function, of an if, of a loop, or what follows a case: wherever `) {`, `else {`, `do {` or
 * `case X:` stands, a mark is put in, which sets a byte and, the first time in a test, tells JavaScript (part.mjs).
 *
 *     make mutants COUNT=0 ARGS=--slow && node tests/mutants/reach.mjs
 *
 * measures, and prints the blocks that no test reached: the file, the line and its text.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ROOT } from '../support/program.mjs';
import { codeOf, lineOf } from './mutate.mjs';
import { build, inTree, makeTree, run } from './tree.mjs';

const OPENS = /\) \{(?= *\n)|\b(?:else|do) \{(?= *\n)|(?<=\n *)(?:case [^:?\n]+|default):/g;

/** The index of the bracket that `at` closes. */
function openingOf(code, at) {
  for (let depth = 0; at >= 0; at--) {
    depth += { ')': 1, '(': -1 }[code[at]] ?? 0;
    if (depth === 0) return at;
  }
  return -1;
}

/** Where blocks of a file's functions begin, in the order of the text. */
export function blocksOf(text) {
  const code = codeOf(text), places = [];
  for (const { 0: opens, index } of code.matchAll(OPENS)) {
    if (opens[0] === ')' && /\bswitch $/.test(code.slice(0, openingOf(code, index)))) continue;
    places.push(index + opens.length);
  }
  return places;
}

/** The innermost block of `blocks` that holds `at`, as its index; or -1 for what is outside of functions. */
export function blockAt(text, blocks, at) {
  const code = codeOf(text);
  let best = -1;
  for (let i = 0; i < blocks.length && blocks[i] <= at; i++) {
    let depth = 0;
    for (let k = blocks[i]; k < at && depth >= 0; k++) depth += { '{': 1, '}': -1 }[code[k]] ?? 0;
    if (depth >= 0) best = i;
  }
  return best;
}

const MAX_SECONDS = 150; // of a core, for one test file

const PRELUDE = 'extern void xla_js_reach(unsigned char *, int, int); extern unsigned char xla_reached[];\n' +
  '#define XLA_BLOCK(n) do { if (!xla_reached[n]) xla_js_reach(xla_reached, XLA_BLOCKS, n); } while (0)\n#line 1\n';
const LIBRARY = `
  $xlaReachState: '={}',
  xla_js_reach__deps: ['$xlaReachState'],
  xla_js_reach: (base, count, block) => {
    HEAPU8[(base >>> 0) + block] = 1;
    const reached = globalThis.xlaReach;
    if (!xlaReachState.clear) {
      xlaReachState.clear = () => HEAPU8.fill(0, base >>> 0, (base >>> 0) + count);
      reached?.instances.add(new WeakRef(xlaReachState));
    }
    reached?.blocks.add(block);
  },
});`;

/** Puts marks into files of the tree. @returns {Promise<Map<string, { first: number, text: string, blocks: number[] }>>} */
async function mark(paths) {
  const files = new Map(), texts = new Map();
  let count = 0;
  for (const path of paths) {
    const text = await readFile(inTree(`src/${path}`), 'utf8'), blocks = blocksOf(text);
    files.set(path, { first: count, text, blocks });
    let [marked, from] = ['', 0];
    blocks.forEach((at, i) => {
      marked += `${text.slice(from, at)} XLA_BLOCK(${count + i});`;
      from = at;
    });
    count += blocks.length;
    texts.set(path, marked + text.slice(from));
  }
  for (const [path, text] of texts) await writeFile(inTree(`src/${path}`), PRELUDE.replace('XLA_BLOCKS', count) + text);
  const host = inTree('src/base/host/wasm.c'), library = inTree('bindings/host/library.js');
  await writeFile(host, `${await readFile(host, 'utf8')}\nunsigned char xla_reached[${count}];\n`);
  await writeFile(library, (await readFile(library, 'utf8')).replace(/\n\}\);\s*$/, LIBRARY));
  return files;
}

/** Runs a test file in the tree. @returns {Promise<{ name: string, ms: number, failed: boolean, blocks: number[] }[]>} */
async function measure(name) {
  const choice = inTree('build/choice.json'), report = inTree('build/reach.json');
  await writeFile(choice, JSON.stringify([[`tests/${name}.test.mjs`, null]]));
  const { code, output } = await run('env', [`XLA_REACH=${report}`, process.execPath, 'tests/mutants/part.mjs', choice], MAX_SECONDS);
  if (code) {
    console.log(`${name} without a mutant: ${code === 2 ? `not over after ${MAX_SECONDS} s` : output}`);
    return [];
  }
  return JSON.parse(await readFile(report, 'utf8'));
}

const folder = join(ROOT, 'build/mutants/reached');
const readJson = async (file) => JSON.parse(await readFile(join(folder, file), 'utf8').catch(() => 'null'));
const digestOf = async (paths) => {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(await readFile(join(ROOT, path)));
  return hash.digest('hex');
};

/** Builds the marked core in a tree of its own. */
async function makeMarked(paths) {
  await makeTree('reach');
  const files = await mark(paths), { code, output } = await build();
  if (code) throw new Error(`the marked core does not build:\n${output}`);
  return [...files];
}

/** The tests that reach a place in a file; those that reach the file, if its text is not what was measured. */
function reaching(files, reports, path, text, at) {
  const file = files.get(path), found = [];
  const block = file?.text === text ? blockAt(text, file.blocks, at) : -1;
  const isReached = (blocks) => blocks.some((one) => block < 0 ? file && one >= file.first &&
    one < file.first + file.blocks.length : one === file.first + block);
  for (const { file: test, report } of reports) {
    const around = report.some(({ name, blocks }) => name === '' && isReached(blocks));
    const isAll = !file || report.length === 1;
    const list = report.filter(({ name, failed, blocks }) => name !== '' && !failed && (isAll || isReached(blocks)));
    // Where hooks alone reach it, a test makes them run.
    found.push(...(list.length || !around
      ? list : report.filter(({ name, failed }) => name !== '' && !failed).slice(0, 1)).map(({ name, ms }) => ({ file: test, name, ms })));
  }
  return found;
}

/**
 * Measures what the tests reach, or reads what was measured before, if the core and the tests are the same.
 * @param {string[]} paths below src, of files that may be changed @param {string[]} names of test files
 * @param {boolean} isKept whether a measurement of another state of the core will do; a test file that has changed since
 *     counts as one test, which reaches everything
 * @returns {Promise<(path: string, text: string, at: number) => { file: string, name: string | null, ms: number }[]>}
 */
export async function measured(paths, names, isKept) {
  await mkdir(folder, { recursive: true });
  const key = await digestOf(paths.map((path) => `src/${path}`)), old = await readJson('files.json');
  const isOld = old && (isKept || old.key === key), reports = [];
  let files = isOld && old.files;
  let isMade = false;
  for (const name of names) {
    const file = `tests/${name}.test.mjs`, test = await digestOf([file]), kept = await readJson(`${name.replace('/', '-')}.json`);
    let report = isOld && kept?.test === test && kept.report;
    if (!report && isOld && isKept) {
      report = [{ name: null, ms: kept?.report.reduce((sum, { ms }) => sum + (ms ?? 0), 0) ?? 5000, blocks: [] }];
    } else if (!report) {
      if (!isMade) files = await makeMarked(paths);
      isMade = true;
      report = await measure(name);
      await writeFile(join(folder, `${name.replace('/', '-')}.json`), JSON.stringify({ test, report }));
    }
    reports.push({ file, report });
  }
  if (isMade) await writeFile(join(folder, 'files.json'), JSON.stringify({ key, files }));
  const byPath = new Map(files);
  return (path, text, at) => reaching(byPath, reports, path, text, at);
}

/** Prints the blocks that no measured test reached. */
async function printUnreached() {
  const { files } = await readJson('files.json'), reached = new Set();
  let [count, all] = [0, 0];
  for (const name of (await readdir(folder)).filter((file) => file !== 'files.json')) {
    for (const { blocks } of (await readJson(name)).report) blocks.forEach((block) => reached.add(block));
  }
  for (const [path, { first, text, blocks }] of files) {
    const lines = text.split('\n');
    blocks.forEach((at, i) => {
      if (reached.has(first + i)) return;
      const line = lineOf(text, at);
      console.log(`src/${path}:${line} ${lines[line - 1].trim()}`);
      count++;
    });
    all += blocks.length;
  }
  console.log(`${count} of ${all} blocks`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await printUnreached();
