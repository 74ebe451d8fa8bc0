/** The programs of tests/native under ASan and UBSan (make native builds them). */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { passes, TIMEOUT } from '../support/native.mjs';
import { ROOT } from '../support/program.mjs';

const programs = (await readdir(join(ROOT, 'tests/native')))
  .filter((file) => file.endsWith('.c') && file !== 'golden.c')
  .map((file) => file.slice(0, -2));
assert.ok(programs.includes('fp') && programs.includes('eval'));
for (const program of programs) {
  test(`tests/native/${program}.c`, TIMEOUT, () => passes(`build/native/${program}`, []));
}
for (const threads of ['0', '1', '3']) {
  test(`memory that runs out, on ${threads} threads`, TIMEOUT, () => passes('build/native/exhaustion', [threads]));
}
