/** What a mutant of the core may be (tests/mutants/mutate.mjs): each kind of change, and no change outside of code. */
import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { applied, lineOf, mutationsOf } from '../mutants/mutate.mjs';
import { blockAt, blocksOf } from '../mutants/reach.mjs';
import { ROOT } from '../support/program.mjs';

const TEXT = `#define MAX 5 + 6
/* a < b && 7 */
static int f(int a, int b) {
  const char *s = "1 < 2";
  if (a < b && g(a)) return a + 3;
  use(a);
  use(b);
  a = b;
  b = 0x10;
  return a - 'c';
}
`;
const changes = mutationsOf(TEXT).map((mutation) => [lineOf(TEXT, mutation.at), mutation.kind, applied(TEXT, mutation)]);
const linesOf = (kind) => changes.filter((change) => change[1] === kind).map(([line, , text]) => text.split('\n')[line - 1].trim());

test('each kind of change', () => {
  assert.deepEqual(linesOf('comparison'), ['if (a <= b && g(a)) return a + 3;']);
  assert.deepEqual(linesOf('logic'), ['if (a < b || g(a)) return a + 3;']);
  assert.deepEqual(linesOf('number'), ['if (a < b && g(a)) return a + 4;']);
  assert.deepEqual(linesOf('arithmetic'), ['if (a < b && g(a)) return a - 3;', "return a + 'c';"]);
  assert.deepEqual(linesOf('condition'), ['if (false && (a < b && g(a))) return a + 3;']);
  assert.deepEqual(linesOf('call'), [';', ';']);
  assert.deepEqual(linesOf('order'), ['use(b); use(a);', 'a = b; use(b);', 'b = 0x10; a = b;']);
});

test('comments, strings and preprocessor lines stay', () => {
  for (const [, , text] of changes) {
    assert.deepEqual(text.split('\n').slice(0, 4), TEXT.split('\n').slice(0, 4));
  }
});

const BLOCKS = `enum { N = 4 };
int f(int a) {
  if (a > 1) {
    g(a);
  } else {
    h(a);
  }
  switch (a) {
    case 1: return 1;
    default: return i(a);
  }
}
int k(int a) { return l(a); }
`;

test('the block of a place: the innermost that begins before it', () => {
  const blocks = blocksOf(BLOCKS), of = (text) => blockAt(BLOCKS, blocks, BLOCKS.indexOf(text));
  assert.equal(blocks.length, 5); // f, if, else, case, default
  assert.deepEqual(['4', 'a > 1', 'g(a)', 'h(a)', 'switch', 'return 1', 'i(a)', 'l(a)'].map(of), [-1, 0, 1, 2, 0, 3, 4, -1]);
});

test('the tests that mutants and old faults are shown to are there', async () => {
  const read = (path) => readFile(join(ROOT, path), 'utf8');
  const lists = Array.from((await read('tests/mutants/mutants.mjs')).matchAll(/^const (?:FAST|SLOW) = \[([^\]]*)\]/gm), ([, names]) => names);
  assert.equal(lists.length, 2);
  const names = lists.flatMap((list) => Array.from(list.matchAll(/'([^']+)'/g), ([, name]) => name));
  const faults = JSON.parse(await read('tests/mutants/old_faults.json'));
  for (const name of [...names, ...faults.map(({ test: seenBy }) => seenBy)]) await access(join(ROOT, `tests/${name}.test.mjs`));
  for (const { point, changes } of faults) {
    for (const { file, now } of changes) assert.equal((await read(file)).split(now).length, 2, `${point}: ${file} has changed`);
  }
});
