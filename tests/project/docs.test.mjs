/**
 * Tests the documents against the code. In docs/operations.md each operation has a row, no builder
 * method is left out, and each link to a test leads to one that contains the operation. No document
 * has a dead link, and the README stays short.
 */
import assert from 'node:assert/strict';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';

import { XLA_OPERATIONS } from '../../bindings/builder/operations.mjs';
import { GENERATED } from '../../bindings/tools/declarations/write.mjs';
import { run } from '../support/program.mjs';

const root = new URL('../../', import.meta.url);
const read = (path) => readFile(new URL(path, root), 'utf8');

const opcodes = [...(await read('src/hlo/ir/opcodes.def')).matchAll(/^OPCODE\(\w+, "([\w-]+)"/gm)]
  .map(([, name]) => name);

/** Rows by operation: the builder methods it names, the files it links to. */
const rows = new Map([...(await read('docs/operations.md')).matchAll(/^\| `([\w-]+)` \| (.*) \| (\[.*) \|$/gm)]
  .map(([, name, methods, links]) => [name, {
    methods: [...methods.matchAll(/`(\w+)`/g)].map(([, method]) => method),
    files: [...links.matchAll(/\]\((\S+)\)/g)].map(([, path]) => path.replace('../', '')),
  }]));

test('opcodes.def defines the result of each operation', async () => {
  const lines = (await read('src/hlo/ir/opcodes.def')).split('\n');
  const rows = lines.flatMap((line, i) => (line.startsWith('OPCODE(') ? [[lines[i - 1], line]] : []));
  assert.equal(rows.length, opcodes.length);
  assert.deepEqual(rows.filter(([before]) => !/^(\/\*|\*\*) \S.* \*\/$/.test(before)), []);
});

test('every operation has a row, every row an operation', () => {
  assert.ok(opcodes.length > 100);
  assert.deepEqual([...rows.keys()].sort(), [...opcodes].sort());
});

test('every builder method is in the row of what it makes', () => {
  for (const [method, { opcode }] of Object.entries(XLA_OPERATIONS)) {
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

const listed = await Promise.all(['docs', 'tests', 'demo', 'examples', 'web'].map(async (folder) =>
  (await readdir(new URL(folder, root), { recursive: true })).map((path) => `${folder}/${path}`)));
const PAGES = ['README.md', ...listed.flat().filter((path) => path.endsWith('.md'))];

/** As GitHub makes them of headings. */
const anchorsOf = (text) => Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading]) =>
  heading.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-'));

for (const page of PAGES) {
  test(`${page} has no dead link`, async () => {
    for (const [, link] of (await read(page)).matchAll(/\]\((?!https?:)(\S+?)\)/g)) {
      const [path, anchor] = link.split('#');
      const target = path ? new URL(path, new URL(page, root)) : new URL(page, root);
      await assert.doesNotReject(access(target), `${link} leads nowhere`);
      if (anchor) assert.ok(anchorsOf(await readFile(target, 'utf8')).includes(anchor), link);
    }
  });
}

for (const [file, textOf] of GENERATED) {
  const path = file.href.slice(root.href.length);
  test(`${path} is what make declarations writes`, async () => assert.equal(await readFile(file, 'utf8'), await textOf()));
}

test('the listings of docs/architecture.md are those of its program', async () => {
  const blocks = [...(await read('docs/architecture.md')).matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, kind, text]) => ({ kind, text }));
  const first = blocks.findIndex(({ kind }) => kind === 'hlo');
  const [program, after, steps, exported] = blocks.slice(first).map(({ text }) => text);
  const file = join(await mkdtemp(join(tmpdir(), 'xla-wasm-docs-')), 'layer.hlo');
  await writeFile(file, program);
  const printed = async (...args) => (await run('bindings/cli/index.mjs', ['compile', file, '--threads', '0', ...args])).stdout;
  assert.ok((await printed()).includes(after));
  assert.equal(await printed('--steps'), steps);
  const lines = (await printed('--wasm')).split('\n').map((line) => line.trim());
  assert.deepEqual(lines.filter((line) => /^\(export/.test(line)), exported.trim().split('\n'));
  await rm(dirname(file), { recursive: true });
});

test('the README is read to the end', async () => {
  const size = (await read('README.md')).length;
  assert.ok(size < 11_000, `${size} characters; details go into pages beside what they describe`);
});

test('each JavaScript file begins with a comment that says what it holds', async () => {
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.mjs', '*.js', '*.cjs', '*.jsx']);
  const paths = stdout.split('\n').filter(Boolean), without = [];
  assert.ok(paths.length > 100);
  for (const path of paths) {
    const text = await read(path).catch(() => '/* deleted */');
    if (!/^(#!.*\n)?\/[*/]/.test(text)) without.push(path);
  }
  assert.deepEqual(without, []);
});
