/** Runs the tests of python/, each file in a process of its own: MLIR, the way to the core, and JAX on both. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { ROOT, run } from '../support/program.mjs';

const PYTHON = join(ROOT, 'build/python/venv/bin/python'); // of the Makefile: jax without its own jaxlib
const files = (await readdir(join(ROOT, 'python/tests'))).filter((file) => file.endsWith('_test.py'));

for (const file of files) {
  test(file, { timeout: 600_000 }, async () => {
    const env = { ...process.env, PYTHONPATH: join(ROOT, 'python'), PYTHONDONTWRITEBYTECODE: '1', JAX_PLATFORMS: 'cpu' };
    const { code, stderr } = await run(PYTHON, [join('python/tests', file)], { env, seconds: 500 });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Ran [1-9]\d* tests? in .*\n\nOK/);
  });
}
