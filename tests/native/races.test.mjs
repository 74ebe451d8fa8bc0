/** The native core under ThreadSanitizer (make native-tsan builds the programs). */
import { test } from 'node:test';

import { passes, passesCorpus, TIMEOUT } from '../support/native.mjs';

test('the golden corpus, compiled, on three threads', TIMEOUT, () => passesCorpus('build/native-tsan/golden', '-c', '-t', '3'));
test('workers that die', TIMEOUT, () => passes('build/native-tsan/worker_loss', []));
for (const threads of ['0', '1', '3']) {
  test(`memory that runs out, on ${threads} threads`, TIMEOUT, () => passes('build/native-tsan/exhaustion', [threads]));
}
