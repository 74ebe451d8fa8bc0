/** Figures in documents against what they describe: sizes, hashes, the counts of loops, means of the benchmarks' tables. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { Client } from '../../bindings/index.mjs';
import { PROGRAMS } from '../../demo/playground/examples.mjs';
import { downloadSize } from '../bench/packages.mjs';
import { lines, run } from '../support/program.mjs';

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const kilobytes = (text, pattern) => Number(pattern.exec(text.replace(/\s+/g, ' '))[1]) * 1000;

/** Within two per cent: a release writes them anew. */
const assertNear = (said, is, words) => assert.ok(Math.abs(said - is) <= 0.02 * is, `${words}: ${said}, but it is ${is}`);

test('the download: README and the comparison say its size', async () => {
  const readme = await read('README.md');
  const bytes = await downloadSize();
  const wasm = await readFile(new URL('../../build/dist/xla-threads.wasm', import.meta.url));
  const gzipped = gzipSync(wasm, { level: 9 }).length;
  assertNear(kilobytes(readme, /page downloads (\d+) kB gzipped/), bytes, 'README');
  assertNear(kilobytes(readme, /(\d+) kB of WebAssembly/), gzipped, 'README, WebAssembly');
  assertNear(kilobytes(readme, /of WebAssembly \((\d+) kB unpacked\)/), wasm.length, 'README, WebAssembly unpacked');
  assertNear(kilobytes(readme, /, (\d+) kB of JavaScript/), bytes - gzipped, 'README, JavaScript');
  assertNear(kilobytes(await read('docs/comparison.md'), /download, gzipped[^|]*\| (\d+) kB/), bytes, 'comparison');
});

test('the main job: README shows the line that it ends with', async () => {
  const [, accuracy, hash] = /`test accuracy (\S+), weights (\w+) on 4 replicas/.exec(await read('README.md'));
  const { code, stdout, stderr } = await run(process.execPath, ['demo/train.mjs']);
  assert.equal(code, 0, stderr);
  assert.match(lines(stdout).at(-1), new RegExp(`^test accuracy ${accuracy}, weights ${hash} on 4 replicas`));
});

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];

test("the playground: the counts of loops in its programs' descriptions", async () => {
  const client = await Client.create({ threads: 0 });
  let count = 0;
  for (const { name, text, program } of PROGRAMS) {
    const [, operations, loops] = /(\w+) operations become (\w+) loops?/i.exec(text) ?? [];
    if (!loops) continue;
    count++;
    const executable = await client.compile(client.parseHlo(program));
    assert.equal(executable.thunks().match(/^ *generated /gm).length, WORDS.indexOf(loops), `${name}: ${text}`);
    const entry = /^ENTRY[^]*?^}/m.exec(program)[0];
    const made = entry.match(/^ .* = (?!.*\b(parameter|constant)\()/gm).length;
    assert.equal(made, WORDS.indexOf(operations.toLowerCase()), `${name}: ${text}`);
  }
  assert.ok(count);
  client.dispose();
});

test("README's and the comparison's speeds are the means of the tables", async () => {
  const [readme, comparison] = [await read('README.md'), await read('docs/comparison.md')].map((text) => text.replace(/\s+/g, ' '));
  const programs = /geometric mean \|[ |]*([\d.]+) \|[ |]*[\d.]+ \| ([\d.]+)/.exec(await read('tests/bench/programs/README.md'));
  const [byNative, byOnnx] = programs.slice(1).map((text) => Number(text).toFixed(2));
  assert.ok(readme.includes(`[${byNative} times](tests/bench/programs/README.md)`), `README: ${byNative}`);
  assert.ok(comparison.includes(`take ${byNative} times what native`), `comparison: ${byNative}`);
  assert.ok(comparison.includes(`take ${byOnnx} times what onnxruntime-web`), `comparison: ${byOnnx}`);
});
