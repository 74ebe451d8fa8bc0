/** Tests the guides: their links into the playground lead somewhere. documents.test.mjs runs their code. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { EXAMPLES, PROGRAMS } from '../../demo/playground/examples.mjs';
import { apiDeclarations, PACKAGES } from '../../demo/reference/declarations.mjs';

const folder = new URL('../../docs/guides/', import.meta.url);
const guides = (await readdir(folder)).filter((name) => name.endsWith('.md'));
const TABS = ['results', 'picture', 'module', 'steps', 'code', 'timeline', 'memory'];

for (const name of guides) {
  test(`${name}: its examples are there`, async () => {
    const text = await readFile(new URL(name, folder), 'utf8');
    const examples = new Set([...PROGRAMS.map((program) => program.name), ...EXAMPLES.flatMap(([, list]) => list.map(({ operation }) => operation))]);
    for (const [, example, tab] of text.matchAll(/<!-- see: (.+?)\/(\w+) -->/g)) {
      assert.ok(examples.has(example), `there is no example ${example}`);
      assert.ok(TABS.includes(tab), `there is no tab ${tab}`);
    }
  });
}

test('the API reference has every export', async () => {
  const names = new Set((await apiDeclarations()).map(({ name }) => name));
  for (const file of Object.values(PACKAGES)) {
    const declared = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
    for (const [, name] of declared.matchAll(/^export (?:declare )?(?:class|interface|type|function|const) (\w+)/gm)) {
      assert.ok(names.has(name), `${file}: ${name}`);
    }
  }
});
