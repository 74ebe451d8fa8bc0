/** The native core under ThreadSanitizer (make native-tsan builds the programs). */
import { test } from 'node:test';

import { passes, passesCorpus, TIMEOUT } from '../support/native.mjs';
import { ALL } from '../support/sample.mjs';

// Cases of a family differ in numbers; a family goes through the same code.
test('cases of the golden corpus, compiled, on three threads', TIMEOUT, () =>
  passesCorpus('build/native-tsan/golden', ALL ? 1 : 9, '-c', '-t', '3'));
test('workers that die', TIMEOUT, () => passes('build/native-tsan/worker_loss', []));
// programs.test.mjs runs it on none and on two threads, under AddressSanitizer.
for (const threads of ALL ? ['0', '1', '3'] : ['3']) {
  test(`memory that runs out, on ${threads} threads`, TIMEOUT, () => passes('build/native-tsan/exhaustion', [threads]));
}
