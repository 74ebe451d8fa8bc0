/**
 * Compares thresholds.md with the sources: each number that may choose a path, whatever its name, has a row, its value, and
 * a test or a reason.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { ROOT } from '../support/program.mjs';

const NUMBER = /(?:#define[ \t]+([A-Z][A-Z0-9_]+)[ \t]+(?=[\dIU(])|\b([A-Z][A-Z0-9_]+)\s*=(?!=)\s*)([^,;}/\n]+)/g;
/** Files of numbers that other formats or interfaces give, but for their limits. */
const OF_FORMATS = /^(api|codegen\/wasm\/(wasm_encoder|instructions)|base\/error|value\/types|hlo\/text\/lexer)\.[ch]$/;
const IS_LIMIT = /^(MAX|MIN)_/;
/** What is a number from 2 on, a product or a power. The others are cases of an enumeration. */
const isNumber = (value) => /^([2-9]|1\d|1 <<)/.test(value) || (/[*]|<</.test(value) && !/sizeof|0x/.test(value));
const ROW = /^\| `([^`]+)` \| `(\w+)` \| `([^`]+)` \| (.*) \|$/;

const spaced = (text) => text.trim().replace(/\s+/g, ' ');

/** 'plan/loop_plan.h MAX_LOOPS' -> values. */
async function numbersOfSources() {
  const numbers = new Map();
  for (const name of (await readdir(join(ROOT, 'src'), { recursive: true })).filter((file) => /\.([ch]|inc)$/.test(file))) {
    const text = (await readFile(join(ROOT, 'src', name), 'utf8')).replace(/\/\*[^]*?\*\//g, '');
    for (const [, defined, named, value] of text.matchAll(NUMBER)) {
      const number = defined ?? named;
      if (!IS_LIMIT.test(number) && (OF_FORMATS.test(name) || !isNumber(spaced(value)))) continue;
      const key = `${name} ${number}`;
      numbers.set(key, [...numbers.get(key) ?? [], spaced(value)]);
    }
  }
  return numbers;
}

/** The same of the table, with what meets each number. */
async function numbersOfTable() {
  const rows = new Map();
  let folder = '';
  for (const line of (await readFile(join(ROOT, 'tests/project/thresholds.md'), 'utf8')).split('\n')) {
    const [, heading] = /^## `src\/?([^`]*)`$/.exec(line) ?? [];
    if (heading !== undefined) folder = heading && `${heading}/`;
    const [, file, number, value, met] = ROW.exec(line) ?? [];
    if (!file) continue;
    const key = `${folder}${file} ${number}`;
    rows.set(key, { values: [...rows.get(key)?.values ?? [], value], met: [...rows.get(key)?.met ?? [], met] });
  }
  return rows;
}

test('each number has a row with its value', async () => {
  const [numbers, rows] = await Promise.all([numbersOfSources(), numbersOfTable()]);
  assert.ok(numbers.size > 350);
  for (const [key, values] of numbers) {
    assert.ok(rows.has(key), `${key} = ${values}: tests/project/thresholds.md has no row for it. Test it from both sides ` +
      '(thresholds.test.mjs, thresholds_programs.test.mjs), or say there why it chooses no path');
    assert.deepEqual(rows.get(key).values, values, `${key} has another value than in tests/project/thresholds.md: does its test still meet it?`);
  }
  assert.deepEqual([...rows.keys()].filter((key) => !numbers.has(key)), [], 'rows of numbers that there are no more');
});

test('each test that a row names is there', async () => {
  const texts = new Map();
  for (const [key, { met }] of await numbersOfTable()) {
    for (const how of met) {
      if (/^No path( in tests)?: .+\.$/.test(how)) continue;
      const [, file, name] = /^\[[\w.]+\]\(([\w./]+)\): "(.+)"$/.exec(how) ?? [];
      assert.ok(file, `${key}: ${how}`);
      if (!texts.has(file)) texts.set(file, await readFile(join(ROOT, 'tests/project', file), 'utf8'));
      assert.ok(texts.get(file).includes(name), `${key}: ${file} has no test "${name}"`);
    }
  }
});
