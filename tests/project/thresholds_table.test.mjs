/**
 * Each number that may choose a path, whatever its name, says in a comment before it which test meets it, or why it
 * chooses none: `Threshold NAME: …`. docs.test.mjs compares thresholds.md, the table of them, with the sources.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { thresholds } from '../../bindings/tools/declarations/thresholds.mjs';
import { ROOT } from '../support/program.mjs';

const numbers = thresholds();

test('each number says what meets it', () => {
  assert.ok(numbers.length > 400);
  for (const { file, name, value, how } of numbers) {
    assert.ok(value, `src/${file}: there is no number for the comment "Threshold ${name}: ${how}"`);
    assert.ok(how, `src/${file}: ${name} = ${value} has no comment. Test it from both sides (tests/core/thresholds.test.mjs, ` +
      `thresholds_programs.test.mjs) and write before it: Threshold ${name}: the reason. Test: "name of the test" in core/file.test.mjs. ` +
      `Or say why it chooses no path: Threshold ${name}: no path: the reason.`);
  }
});

test('each test that a number names is there', () => {
  const texts = new Map();
  for (const { file, name, how = '', test: of } of numbers) {
    if (/^no path( in tests)?: .+\.$/.test(how)) continue;
    assert.ok(of, `src/${file}: ${name}: ${how}`);
    if (!texts.has(of.file)) texts.set(of.file, readFileSync(join(ROOT, 'tests', of.file), 'utf8'));
    assert.ok(texts.get(of.file).includes(of.name), `src/${file}: ${name}: ${of.file} has no test "${of.name}"`);
  }
});
