/**
 * What `make test` does after a failure: runs the files that failed once more, one at a time, with nothing beside
 * them. A test that fails only on a busy machine asks about time somewhere: that is a fault of the test, so it is
 * named at the end of the output, to be mended; but it says nothing of the change that is being tested. A test that
 * fails again fails `make test`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MOST = 6; // more than these do not fail because of the time

const files = readFileSync(process.env.FAILED_FILES, 'utf8').split('\n').filter(Boolean);
if (files.length === 0 || files.length > MOST) process.exit(1);
console.log(`\nOnce more, alone: ${files.join(' ')}`);
const again = files.filter((file) => {
  const run = ['--test', '--test-reporter=spec', '--test-timeout=1500000', relative(process.cwd(), join(ROOT, 'tests', file))];
  return spawnSync(process.execPath, run, { stdio: 'inherit' }).status !== 0;
});
for (const file of files) {
  const alone = again.includes(file) ? 'and alone' : 'and passed alone: what does it ask about time?';
  console.log(`tests/${file} failed on the busy machine, ${alone}`);
}
process.exit(again.length ? 1 : 0);
