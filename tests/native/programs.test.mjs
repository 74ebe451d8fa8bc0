/** The programs of tests/native under ASan and UBSan (make native builds them). */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { passes, TIMEOUT } from '../support/native.mjs';
import { ROOT } from '../support/program.mjs';
import { ALL } from '../support/sample.mjs';

const programs = (await readdir(join(ROOT, 'tests/native')))
  .filter((file) => file.endsWith('.c') && file !== 'golden.c')
  .map((file) => file.slice(0, -2));
assert.ok(programs.includes('fp') && programs.includes('eval'));
/** These derive programs of all of the golden corpus, or of every sixth case. */
const DERIVING = ['batches', 'gradients'];
for (const program of programs) {
  const options = DERIVING.includes(program) && !ALL ? ['-n', '6'] : [];
  test(`tests/native/${program}.c`, TIMEOUT, () => passes(`build/native/${program}`, options));
}
for (const threads of ALL ? ['0', '1'] : ['0']) { // without an argument, it runs on two; races.test.mjs on three
  test(`memory that runs out, on ${threads} threads`, TIMEOUT, () => passes('build/native/exhaustion', [threads]));
}
