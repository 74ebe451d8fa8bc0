/** The golden corpus in the native core under ASan and UBSan (make native builds the runner). */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { passes, passesCorpus, TIMEOUT } from '../support/native.mjs';
import { run } from '../support/program.mjs';
import { ALL } from '../support/sample.mjs';

// golden.test.mjs runs all cases in WebAssembly. Sanitizers take several times as long; `make check` runs more cases under them.
const EVERY = ALL ? 1 : 6;
test('cases, evaluated, and compiled on one thread', TIMEOUT, () => passesCorpus('build/native/golden', EVERY, '-t', '1'));
test('cases, compiled, on three threads', TIMEOUT, () => passesCorpus('build/native/golden', EVERY, '-c', '-t', '3'));

test('the golden runner notices wrong results', TIMEOUT, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'xla-wasm-native-'));
  const file = join(folder, 'wrong.golden');
  const hlo = 'HloModule m\nENTRY %e () -> s32[2] {\n  ROOT %i = s32[2] iota(), iota_dimension=0\n}\n';
  const golden = (base64) =>
    `case iota\nhlo ${hlo.length}\n${hlo}out 0 s32[2] ${base64}\nend\n`;
  await writeFile(file, golden('AAAAAAEAAAA='));
  assert.match(await passes('build/native/golden', [file]), /^1 passed, 0 failed/m);
  await writeFile(file, golden('AAAAAAIAAAA='));
  const { code, stdout } = await run('build/native/golden', [file]);
  assert.equal(code, 1);
  assert.match(stdout, /^FAIL .*iota: element 1 is 1, not 2$/m);
  await rm(folder, { recursive: true });
});
