/**
 * The README's table of operations against the code: no operation without a row, no builder method
 * left out, and no link to a test that doesn't contain the operation.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';

import { OPERATIONS } from '../bindings/operations.mjs';

const root = new URL('../', import.meta.url);
const read = (path) => readFile(new URL(path, root), 'utf8');

const opcodes = [...(await read('src/hlo/opcodes.def')).matchAll(/^OPCODE\(\w+, "([\w-]+)"/gm)]
  .map(([, name]) => name);

/** Rows by operation: the builder methods it names, the files it links to. */
const rows = new Map([...(await read('README.md')).matchAll(/^\| `([\w-]+)` \| (.*) \| (\[.*) \|$/gm)]
  .map(([, name, methods, links]) => [name, {
    methods: [...methods.matchAll(/`(\w+)`/g)].map(([, method]) => method),
    files: [...links.matchAll(/\]\((\S+)\)/g)].map(([, path]) => path),
  }]));


test('every operation has a row, every row an operation', () => {
  assert.ok(opcodes.length > 100);
  assert.deepEqual([...rows.keys()].sort(), [...opcodes].sort());
});

test('every builder method is in the row of what it makes', () => {
  for (const [method, { opcode }] of Object.entries(OPERATIONS)) {
    const row = [...rows].find(([, { methods }]) => methods.includes(method));
    assert.ok(row, `no row has ${method}`);
    if (opcode) assert.equal(row[0], opcode, method); // those of several forms have it inside
  }
});

describe('every link leads to a test of the operation', async () => {
  const texts = new Map();
  for (const [name, { files }] of rows) {
    test(name, async () => {
      assert.ok(files.length > 0);
      for (const file of files) {
        if (!texts.has(file)) texts.set(file, await read(file));
        const called = new RegExp(`(\\s|')${name}\\(|"${name}"`);
        const methods = rows.get(name).methods.map((method) => `.${method}(`);
        const text = texts.get(file);
        assert.ok(
          called.test(text) || methods.some((method) => text.includes(method)),
          `${file} has no ${name}`);
      }
    });
  }
});
