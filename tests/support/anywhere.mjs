/**
 * Runs tests under conditions that a slower, faster or busier machine has, and names the tests that fail:
 *
 *   node tests/support/anywhere.mjs [--only=CONDITION,...] [FILE...]
 *
 * Without files: the test files that name a clock, a timer or a time limit. Files that fail are run again as they are,
 * so that a fault is told from a dependence on time.
 */
import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { ROOT } from './program.mjs';

const CLOCK = `--import=${new URL('clock.mjs', import.meta.url)}`;
const clock = (rate) => ({ CLOCK_RATE: rate, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${CLOCK}` });
const CONDITIONS = {
  'one-core': { under: ['taskset', '-c', '0'], concurrency: 1 },
  'load-8': { loops: 8 },
  'clock-fast': { environment: clock(4) },
  'clock-slow': { environment: clock(0.25) },
};
const TIME = /performance\.now|Date\.now|setTimeout|setInterval|hrtime|cpuUsage|timeoutMs|AbortSignal\.timeout|timeout:/;
const HANGS_MS = 1_500_000;

/** The test files that name time. */
async function filesOfTime() {
  const all = (await readdir(join(ROOT, 'tests'), { recursive: true })).filter((path) => path.endsWith('.test.mjs')).sort();
  const texts = await Promise.all(all.map((path) => readFile(join(ROOT, 'tests', path), 'utf8')));
  return all.filter((_, i) => TIME.test(texts[i])).map((path) => `tests/${path}`);
}

/** Runs the files; returns the tests that failed, and the seconds. */
async function run(files, { under = [], concurrency = availableParallelism(), loops = 0, environment = {} }) {
  const report = join(ROOT, 'build/anywhere.jsonl'), start = Date.now();
  const busy = Array.from({ length: loops }, () => spawn('sh', ['-c', `while kill -0 ${process.pid}; do :; done`], { stdio: 'ignore' }));
  const [program, ...args] = [...under, process.execPath, '--test', `--test-concurrency=${concurrency}`, `--test-timeout=${HANGS_MS}`,
    '--test-reporter=./tests/support/failures.mjs', `--test-reporter-destination=${report}`, ...files];
  try {
    await new Promise((resolve, reject) => {
      spawn(program, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...environment } }).on('exit', resolve).on('error', reject);
    });
  } finally {
    busy.forEach((loop) => loop.kill());
  }
  const lines = (await readFile(report, 'utf8')).split('\n').filter(Boolean);
  return { failed: lines.map((line) => JSON.parse(line)), seconds: Math.round((Date.now() - start) / 1000) };
}

/** Prints what failed, and returns the names of the files. */
function say(condition, { failed, seconds }, count) {
  console.log(`${condition}: ${count} files, ${failed.length} tests failed, ${seconds} s`);
  for (const { file, name, message } of failed) console.log(`  ${file}: ${name}: ${message}`);
  return failed.map(({ file }) => file);
}

const { values: { only }, positionals } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true });
const files = positionals.length ? positionals : await filesOfTime();
await mkdir(join(ROOT, 'build'), { recursive: true });
const failing = new Set();
for (const condition of only?.split(',') ?? Object.keys(CONDITIONS)) {
  if (!CONDITIONS[condition]) throw new Error(`no condition ${condition}: there are ${Object.keys(CONDITIONS).join(', ')}`);
  say(condition, await run(files, CONDITIONS[condition]), files.length).forEach((file) => failing.add(file));
}
if (failing.size) say('as it is', await run([...failing], {}), failing.size);
process.exitCode = failing.size ? 1 : 0;
