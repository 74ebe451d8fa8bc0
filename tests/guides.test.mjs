/** Tests the guides: their JavaScript prints the values in its comments, and their links lead somewhere. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';

import { EXAMPLES, PROGRAMS } from '../demo/playground/examples.mjs';
import { apiReference } from '../demo/guides/api.mjs';

const folder = new URL('../docs/guides/', import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const guides = (await readdir(folder)).filter((name) => name.endsWith('.md'));
const TABS = ['results', 'picture', 'module', 'steps', 'code', 'timeline', 'memory'];

// Inside of the package, so that it knows itself by its name.
let scratch;
before(async () => {
  scratch = await mkdtemp(join(root, 'build', 'guides-'));
});
after(() => rm(scratch, { recursive: true, force: true }));

/** The expected output in the comments after console.log(); arrays as Node prints them. */
const promises = (code) => Array.from(code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm), ([, said]) => said)
  .filter((said) => /^[[\d'"A-Zft]/.test(said) && !/^the /.test(said));

for (const name of guides) {
  test(name, async () => {
    const text = await readFile(new URL(name, folder), 'utf8');
    const examples = new Set([...PROGRAMS.map((program) => program.name), ...EXAMPLES.flatMap(([, list]) => list.map(({ operation }) => operation))]);
    for (const [, example, tab] of text.matchAll(/<!-- see: (.+?)\/(\w+) -->/g)) {
      assert.ok(examples.has(example), `there is no example ${example}`);
      assert.ok(TABS.includes(tab), `there is no tab ${tab}`);
    }
    const code = Array.from(text.matchAll(/^```js\n([^]*?)^```$/gm), ([, block]) => block).join('\n');
    if (!code) return;
    const file = join(scratch, `${name}.mjs`);
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: root, timeout: 60000 });
    const printed = stdout.replaceAll(/\[ | \]/g, (bracket) => bracket.trim());
    for (const said of promises(code)) {
      for (const part of said.split(', then ')) assert.ok(printed.includes(part), `${part} in ${printed}`);
    }
  });
}

test('the API reference has every export', async () => {
  const declared = await readFile(new URL('../bindings/index.d.ts', import.meta.url), 'utf8');
  const text = await apiReference();
  for (const [, name] of declared.matchAll(/^export (?:class|interface|type|function|const) (\w+)/gm)) {
    assert.match(text, new RegExp(`^## \\w+ ${name}$`, 'm'));
  }
  for (const block of text.matchAll(/```ts\n([^]*?)```/g)) assert.ok(!/^export /m.test(block[1]), block[1].slice(0, 200));
});
