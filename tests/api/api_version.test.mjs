/** Tests that bindings reject a build of another version, and that the version follows their shared interface. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Client } from '../../bindings/index.mjs';
import { ROOT } from '../support/program.mjs';

/** Of the interface of that version: its declarations, without comments, includes and white space. */
const KNOWN = { version: 15, digest: 'b542f730b2892045' };

const SHARED = [
  ['src/api.h', /^[^]*$/],
  ['src/runtime/run_state.h', /enum \{ WAITED_FOR_HOST[^]*?\} ProfileEvent;/],
  ['src/runtime/run_state.h', /typedef enum RunState .*/],
  ['src/runtime/scheduler.h', /typedef enum WorkerLoss .*/],
  ['src/base/error.h', /typedef enum StatusCode [^]*?;/],
];

test('the interface of bindings and core has a known version', async () => {
  const texts = await Promise.all(SHARED.map(async ([file, part]) => {
    const [text] = (await readFile(join(ROOT, file), 'utf8')).match(part);
    return text.replace(/\/\*[^]*?\*\/|^#include .*/gm, '').replace(/\s+/g, ' ');
  }));
  const version = Number(texts[0].match(/XLA_API_VERSION = (\d+)/)[1]);
  const digest = createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16);
  assert.deepEqual({ version, digest }, KNOWN, 'the interface has changed: raise XLA_API_VERSION in ' +
    `src/api.h, run make declarations, and write ${digest} here`);
});

test('a build of another version is refused in one sentence', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'xla-wasm-version-'));
  try {
    for (const [what, says] of [['() => 99', /99, and \d+\)/], ['undefined', /interface 0, and/]]) {
      for (const threads of [0, 1]) {
        const glue = pathToFileURL(join(ROOT, 'build/dist', `xla-${threads ? 'threads' : 'single'}.mjs`));
        const other = join(folder, `${threads}-${what.length}.mjs`);
        await writeFile(other, `import make from ${JSON.stringify(glue.href)};
export default async (options) => Object.assign(await make(options), { _xla_api_version: ${what} });`);
        const assets = (name) =>
          (name.endsWith('.wasm') ? new URL(name, glue) : pathToFileURL(other));
        await assert.rejects(Client.create({ threads, assets }),
          { name: 'XlaError', code: 'FAILED_PRECONDITION', message: says });
        await assert.rejects(Client.create({ threads, assets }), /run make/);
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
