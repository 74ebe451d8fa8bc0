/**
 * `make test`: runs test files, as many at a time as there are cores, and beside them makes what only some of them need.
 *
 *   node tests/support/run_tests.mjs [--make=TARGET,...] FILE...
 *
 * A file waits for the targets that it needs. The site is made in the place of a test file, the other targets one after
 * the other with a low priority: they get the time in which tests wait. If a target that files need cannot be made, the run
 * ends at once. A test of pages waits for its browser a fifth of the time, so there is one at a time as long as there are
 * others.
 *
 * Files that failed are run once more, one at a time. A test that fails only on a busy machine asks about time somewhere:
 * that is a fault of the test, so it is named at the end of the output, to be mended; but it says nothing of the change that
 * is being tested. A test that fails again fails `make test`.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, relative } from 'node:path';
import { parseArgs } from 'node:util';

import { ROOT } from './program.mjs';

const HANGS_MS = 1_500_000;
const MOST_AGAIN = 6; // more than these do not fail because of the time
const LONG_SECONDS = 60; // so long a file keeps a core busy at the end
/** What takes more than 20 seconds begins before the others, the longest first: a long file at the end would leave a core idle. */
const LONGEST = ['page/page', 'page/access', 'page/firefox', 'page/gallery', 'page/shell', 'page/reference', 'page/lifetime', 'page/policy',
  'native/programs', 'python/jaxlib', 'core/slices', 'core/thresholds_programs', 'project/package', 'runtime/limits',
  'project/example_projects', 'python/pyodide', 'native/races', 'project/documents', 'core/quantised', 'core/linalg',
  'corpus/native_corpus', 'core/relaxed', 'core/thresholds_numbers'].map((name) => `tests/${name}.test.mjs`);

/** What in a file's path or text tells that it needs a target. */
const SIGNS = {
  'tested-site': /^tests\/(page|python|project)\/|build\/(site|python)|support\/(browser|project)\.mjs|jaxlib/,
  native: /build\/native\b(?!-)/,
  'native-tsan': /build\/native-tsan\b/,
};

const { values: { make }, positionals } = parseArgs({ options: { make: { type: 'string', default: '' } }, allowPositionals: true });
const targets = make.split(',').filter(Boolean);
const made = new Map(); // target: whether make succeeded
const rank = (file) => (LONGEST.indexOf(file) + 1) || LONGEST.length + 1;
const files = positionals.map((file) => relative(ROOT, file)).sort((a, b) => rank(a) - rank(b));
const absent = files.filter((file) => !existsSync(`${ROOT}${file}`));
if (absent.length > 0) {
  console.error(`error: there is no file ${absent.join(', ')}`);
  process.exit(1);
}
const needs = new Map(files.map((file) => {
  const text = `${file}\n${readFileSync(`${ROOT}${file}`, 'utf8')}`;
  return [file, targets.filter((target) => SIGNS[target]?.test(text))];
}));
const isPage = (file) => dirname(file) === 'tests/page';
const isNeeded = (target) => files.some((file) => needs.get(file).includes(target));
const children = new Set();

/** Runs a program. @returns {Promise<{ code: number | string, output: string, seconds: number }>} */
function run(program, args, options = {}) {
  const start = Date.now(), chunks = [];
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], killSignal: 'SIGKILL', ...options });
    children.add(child);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
    const end = (code) => {
      children.delete(child);
      resolve({ code, output: String(Buffer.concat(chunks)), seconds: (Date.now() - start) / 1000 });
    };
    child.on('error', (error) => end(error.message)).on('close', (code, signal) => end(signal ?? code));
  });
}

const totals = new Map(); // 'pass', 'skipped', ...: how many tests
const seconds = new Map(); // by file
const started = Date.now();
const clock = () => `${((Date.now() - started) / 1000).toFixed(0)} s`;

/** Runs a test file and prints what it says. @returns {Promise<boolean>} whether it passed */
async function passes(file) {
  const { code, output, seconds: taken } = await run(process.execPath, ['--test-reporter=spec', file], { timeout: HANGS_MS });
  seconds.set(file, taken);
  const said = output.split('\n').filter((line) => {
    const [, name, count] = /^ℹ (\w+) ([\d.]+)$/.exec(line) ?? [];
    if (name && name !== 'duration_ms') totals.set(name, (totals.get(name) ?? 0) + Number(count));
    return line && !name;
  });
  console.log(`${clock()}: ${file}, ${taken.toFixed(1)} s${code === 0 ? '' : `, failed (${code})`}\n${said.join('\n')}`);
  return code === 0;
}

/** Ends this run, and what it started: a target is missing that tests need. make and Playwright pass the signal on. */
function stop(target, output) {
  for (const child of children) child.kill('SIGTERM');
  const errors = output.split('\n').filter((line) => !/^ {2}[A-Z]+ /.test(line)); // without the steps, as "  CC      threads/api.c"
  console.log(`\nStopped: make ${target} failed, and tests need it (all of its output: build/make-${target}.log):\n${errors.join('\n')}`);
  process.exit(1);
}

/**
 * Makes a target. The jobs of the make that started this are not those of the new one. .ci/run may have the lock. A target
 * that no file needs goes on after a failure, to show all failures.
 */
async function makeTarget(target, under) {
  const { MAKEFLAGS, ...env } = process.env; // eslint-disable-line no-unused-vars
  const [program, ...args] = [...under, 'make', '--no-print-directory', ...(isNeeded(target) ? [] : ['--keep-going']), target];
  const { code, output, seconds: taken } = await run(program, args, { env });
  made.set(target, code === 0);
  writeFileSync(`${ROOT}build/make-${target}.log`, output);
  if (code !== 0 && isNeeded(target)) stop(target, output);
  console.log(`${clock()}: make ${target}, ${taken.toFixed(1)} s${code === 0 ? '' : `, failed:\n${output}`}`);
}

/** Makes the targets and runs the files; returns those that failed. */
async function runAll() {
  const left = [...files], running = new Set(), failed = [];
  const next = () => {
    const ready = left.filter((file) => needs.get(file).every((target) => made.has(target)));
    const hasPage = [...running].some(isPage);
    return ready.find((file) => isPage(file) !== hasPage) ?? ready[0];
  };
  let wake;
  const start = async (name, promise) => {
    running.add(name);
    if (await promise === false) failed.push(name);
    running.delete(name);
    wake();
  };
  const wanted = targets.filter((target) => isNeeded(target) || !(target in SIGNS)); // one file may need no site
  const site = 'tested-site', others = wanted.filter((target) => target !== site);
  if (wanted.includes(site)) start(site, makeTarget(site, []));
  const beside = (async () => {
    for (const target of others) {
      await makeTarget(target, ['nice', '-n', '10', 'flock', '--no-fork', 'build/beside.lock']);
      wake();
    }
  })();
  while (left.length > 0 || running.size > 0) {
    const woken = new Promise((resolve) => { wake = resolve; });
    for (let file = next(); file && running.size < availableParallelism(); file = next()) {
      left.splice(left.indexOf(file), 1);
      start(file, passes(file));
    }
    await woken;
  }
  await beside;
  return failed;
}

const failed = await runAll();
const longest = [...seconds].sort((a, b) => b[1] - a[1]);
writeFileSync(`${ROOT}build/durations.txt`, longest.map(([file, taken]) => `${taken.toFixed(1).padStart(7)} ${file.slice('tests/'.length)}\n`).join(''));
console.log(`\n${files.length} files in ${clock()}: ${[...totals].map(([name, count]) => `${name} ${count}`).join(', ')}`);

const verdicts = [];
let isFailure = [...made.values()].includes(false) || failed.length > MOST_AGAIN;
for (const file of failed.length > MOST_AGAIN ? [] : failed) {
  console.log(`\nOnce more, alone: ${file}`);
  const passed = await passes(file);
  verdicts.push(`${file} failed on the busy machine, ${passed ? 'and passed alone: what does it ask about time?' : 'and alone'}`);
  isFailure ||= !passed;
}
for (const [file, taken] of longest) {
  if (taken > LONG_SECONDS) console.log(`Over ${LONG_SECONDS} s: ${file} (${taken.toFixed(1)} s)`);
}
for (const line of verdicts.length ? verdicts : failed) console.log(line);
for (const [target, ok] of made) if (!ok) console.log(`make ${target} failed: build/make-${target}.log`);
process.exitCode = isFailure ? 1 : 0;
