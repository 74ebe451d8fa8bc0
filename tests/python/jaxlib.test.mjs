/**
 * Runs the tests of python/, each file in a process of its own: MLIR, the way to the core, and JAX on both; and JAX on the
 * wheel, whose core and files are smaller.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { ROOT, run } from '../support/program.mjs';
import { ALL } from '../support/sample.mjs';

const PYTHON = join(ROOT, 'build/python/venv/bin/python'); // of the Makefile: jax without its own jaxlib
const files = (await readdir(join(ROOT, 'python/tests'))).filter((file) => file.endsWith('_test.py'));

/** pip leaves compiling to the first file that imports JAX; the next ones take what it compiled. */
const COMPILED = { PYTHONDONTWRITEBYTECODE: '', PYTHONPYCACHEPREFIX: join(ROOT, 'build/python/pycache') }; // '': it may be written

/** Runs a file of tests on the jaxlib of a folder. */
async function check(folder, file, more = {}) {
  const env = { ...process.env, ...COMPILED, PYTHONPATH: folder, JAX_PLATFORMS: 'cpu', ...more };
  const { code, stderr } = await run(PYTHON, [join('python/tests', file)], { env, seconds: 500 });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Ran [1-9]\d* tests? in .*\n\nOK/);
}

/** The wheel's test has this file, too, and its core does what that of the folder does. */
const OF_THE_WHEEL = 'jax_test.py';
assert.ok(files.includes(OF_THE_WHEEL));

for (const file of files.filter((name) => ALL || name !== OF_THE_WHEEL)) test(file, { timeout: 600_000 }, () => check(join(ROOT, 'python'), file));

test('names.py finds all names of jaxlib that JAX uses', { timeout: 600_000 }, async () => {
  const [jax] = (await readdir(join(PYTHON, '../../lib'))).map((version) => join(PYTHON, '../../lib', version, 'site-packages/jax'));
  const { code, stdout, stderr } = await run(PYTHON, ['python/tools/names.py', jax], { seconds: 500 });
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^[1-9]\d\d+ names, 0 missing\n$/);
});

test('the wheel', { timeout: 600_000 }, async () => {
  const built = join(ROOT, 'build/python');
  const wheel = (await readdir(built)).find((name) => name.endsWith('.whl'));
  const folder = await mkdtemp(join(tmpdir(), 'wheel-'));
  try {
    const { code, stderr } = await run(PYTHON, ['-m', 'zipfile', '-e', join(built, wheel), folder]);
    assert.equal(code, 0, stderr);
    await check(folder, OF_THE_WHEEL, { PYTHONDONTWRITEBYTECODE: '1' }); // the folder goes
  } finally {
    await rm(folder, { recursive: true });
  }
});
