/** Runs programs of the native core under sanitizers: a bad access, leak, undefined behaviour or data race makes them fail. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { lines, ROOT, run } from './program.mjs';

export const TIMEOUT = { timeout: 900000 };
export const OPTIONS = {
  env: {
    ...process.env,
    // Freed memory waits in a quarantine, so that a use after the free is seen. Its default of 256 MB makes a third of
    // some programs' time page faults.
    ASAN_OPTIONS: 'detect_leaks=1:detect_stack_use_after_return=1:quarantine_size_mb=16:thread_local_quarantine_size_kb=64',
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    TSAN_OPTIONS: 'halt_on_error=1',
  },
};

/** Asserts that a program of the checkout succeeds. @returns what it prints */
export async function passes(program, args, seconds = 800) {
  const { code, stdout, stderr } = await run(join(ROOT, program), args, { ...OPTIONS, seconds });
  assert.equal(code, 0, `${program}:\n${stdout.slice(-3000)}\n${stderr.slice(0, 3000)}`);
  return stdout;
}

const corpus = (await readdir(join(ROOT, 'tests/golden')))
  .filter((file) => file.endsWith('.golden'))
  .map((file) => join('tests/golden', file));

/** Asserts that each `every`th case of the corpus passes in a runner, which may skip less than a hundredth of them. */
export async function passesCorpus(program, every, ...options) {
  const [summary] = lines(await passes(program, ['-n', String(every), ...options, ...corpus])).slice(-1);
  const [, passed, failed, skipped] = summary.match(/^(\d+) passed, (\d+) failed, (\d+) skipped$/).map(Number);
  assert.ok(passed > 3000 / every, summary);
  assert.equal(failed, 0);
  assert.ok(skipped < passed / 100, summary);
}
