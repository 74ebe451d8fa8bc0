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

const START = /^( *)(describe|test|each)\(\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:\$\{[^}]*\}|[^`$])*`)/gm;

/**
 * Returns the titles in a file of tests, as they are in the source. Each is listed alone, and after `title of its describe: `.
 * The end of a title from `: ${` on is left out: `sums: ${n}` is listed as `sums`.
 */
function titlesOf(source) {
  const titles = new Set(), around = [];
  const add = (title) => titles.add(title.replace(/: \$\{.*$/, ''));
  for (const [, { length: indent }, kind, literal] of source.matchAll(START)) {
    const title = literal.slice(1, -1).replace(/\\(.)/g, '$1');
    while (around.at(-1)?.indent >= indent) around.pop();
    if (!/^\$\{\w+\}$/.test(title)) add(title);
    if (around.length) add(`${around.at(-1).title}: ${title}`);
    if (kind === 'describe') around.push({ indent, title });
  }
  return titles;
}

test('each number says what meets it', () => {
  assert.ok(numbers.length > 400);
  for (const { file, name, value, how } of numbers) {
    assert.ok(value, `src/${file}: there is no number for the comment "Threshold ${name}: ${how}"`);
    assert.ok(how, `src/${file}: ${name} = ${value} has no comment. Test it from both sides (tests/core/thresholds.test.mjs, ` +
      `thresholds_programs.test.mjs) and write before it: Threshold ${name}: the reason. Test: "name of the test" in core/file.test.mjs. ` +
      `Or say why it chooses no path: Threshold ${name}: the reason. No path.`);
  }
});

test('each test that a number names is there', () => {
  const titles = new Map();
  for (const { file, name, how = '', test: of } of numbers) {
    if (/^.+\. No path( in tests)?\.$/.test(how)) continue;
    assert.ok(of, `src/${file}: ${name}: ${how}`);
    if (!titles.has(of.file)) titles.set(of.file, titlesOf(readFileSync(join(ROOT, 'tests', of.file), 'utf8')));
    assert.ok(titles.get(of.file).has(of.name), `src/${file}: ${name}: ${of.file} has no test of the whole title "${of.name}"`);
  }
});
