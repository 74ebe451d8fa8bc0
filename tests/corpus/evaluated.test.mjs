/**
 * Compares the table of docs/evaluated.md with the steps of the golden corpus that run in the evaluator.
 * A step that is not in the table has become slow; a row without a step is no longer true.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { readGolden } from '../support/golden.mjs';

const TYPES = /^\(?(f32|f64|bf16|f16|s32|s64|u32|u64|pred|c64)\[/;
const folder = new URL('../golden/', import.meta.url);

const page = await readFile(new URL('../../docs/evaluated.md', import.meta.url), 'utf8');
const listed = [...page.matchAll(/^\| (`[^|]*) \|/gm)]
  .flatMap(([, cell]) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, name]) => name));

/** An operation's name; of LAPACK's functions the one that they have for all types. */
const stepName = (operation) => operation.replace(/^lapack_[sdcz](\w+)_ffi$/, '$1');

/** The steps of a program whose results are of the types that count, as names. */
function evaluatedSteps(executable) {
  const text = executable.toString();
  const entry = text.slice(text.indexOf('ENTRY'));
  return [...executable.thunks().matchAll(/^ *eval (\S+) \[(.*?)\]:/gm)]
    .filter(([, name]) => {
      const instruction = new RegExp(`(?:^|\\s)%?${name.replace(/\./g, '\\.')} = (\\(.*?\\)|\\S+) `, 'm');
      const [, shape] = entry.match(instruction) ?? text.match(instruction) ?? ['', ''];
      return TYPES.test(shape);
    })
    .map(([, , operation]) => stepName(operation));
}

test('the evaluator runs what the table says, and nothing else', async () => {
  const client = await Client.create({ threads: 0 });
  const found = new Map();
  try {
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.golden'))) {
      for (const { name, hlo, replicas, partitions } of await readGolden(new URL(file, folder))) {
        const module = client.parseHlo(hlo);
        const executable = await client.compile(
          module, partitions > 1 ? { replicas, partitions } : { replicas });
        for (const step of evaluatedSteps(executable)) found.set(step, `${file}: ${name}`);
        executable.dispose();
        module.dispose();
      }
    }
  } finally {
    client.dispose();
  }
  for (const [step, where] of found) {
    assert.ok(listed.includes(step), `${step} runs in the evaluator, for one in ${where}`);
  }
  for (const step of listed) assert.ok(found.has(step), `no ${step} runs in the evaluator any more`);
});
