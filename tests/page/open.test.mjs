/** Bring your own: files of every kind, with weights; run, profiled, saved. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';

import { Client, Literal, readNpz, readSafetensors, writeNpz } from '../../bindings/index.mjs';
import { assertFits, openSite, shows } from '../support/browser.mjs';

let page, complaints, close;
before(async () => {
  ({ page, complaints, close } = await openSite('open'));
  await page.waitForSelector('#drop');
});
after(() => close?.());

const TEXT = `HloModule axpy
ENTRY main {
  params__w__.1 = f32[3] parameter(0)
  x = f32[3] parameter(1)
  y = f32[3] add(params__w__.1, x)
  ROOT t = (f32[3], f32[3]) tuple(y, x)
}`;

const give = async (...files) => {
  await page.evaluate(() => document.getElementById('facts').replaceChildren());
  await page.setInputFiles('#files', files.map(([name, buffer]) => ({ name, mimeType: '', buffer: Buffer.from(buffer) })));
  await page.waitForFunction(() => document.querySelector('#facts h2') || !document.getElementById('open-problem').hidden);
};

async function download(name) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(`button:has-text("${name}")`)]);
  return readFile(await file.path());
}

test('the sample: described, run with its weights, profiled', async () => {
  await page.click('#sample');
  await page.waitForSelector('#run');
  const text = await page.textContent('#facts');
  assert.match(text, /StableHLO text/);
  assert.match(text, /5 parameters/);
  assert.match(text, /f32\[16,10\]/);
  assert.equal(await page.locator('td select').first().inputValue(), 'weights');
  await page.click('#run');
  await page.waitForSelector('#outcome:not([hidden])');
  await shows(page.locator('#run-status'), /^First run .*best of \d+ more/);
  await shows(page.locator('[data-panel="results"]'), /f32\[16,10\]/);
  await page.click('[data-tab="profile"]');
  await shows(page.locator('[data-panel="profile"]'), /100\.0 %/);
  await assertFits(page);
});

test('a program of unknown sizes asks for them, again after a wrong answer; the next program does not', async () => {
  await give(['open.mlir', 'func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }']);
  await shows(page.locator('#open-problem'), /for which sizes the program is wanted/);
  const answer = async (shapes) => {
    await page.fill('#shapes', shapes);
    await page.click('#open-problem button');
  };
  await answer('f32[2,2]');
  await shows(page.locator('#open-problem'), /f32\[2,2\]/);
  await answer('f32[3]');
  await shows(page.locator('#facts'), /f32\[3\]/);
  await give(['wrong.hlo', 'HloModule']);
  await page.waitForSelector('#open-problem:not([hidden])');
  assert.equal(await page.locator('#shapes').count(), 0);
});

test('weights by name, and results saved', async () => {
  const weights = writeNpz({ "params['w']": Literal.from([10, 20, 30], 'f32[3]') });
  await give(['axpy.hlo', TEXT], ['w.npz', weights]);
  await page.locator('select[aria-label="What x is filled with"]').selectOption('iota');
  await page.click('#run');
  await page.waitForSelector('#outcome:not([hidden])');
  await shows(page.locator('.numbers'), /\[10, 21, 32\]/);
  const npz = await readNpz(await download('Save as .npz'));
  assert.deepEqual(npz.result_0.toArray(), [10, 21, 32]);
  const { tensors = null, ...rest } = await readSafetensors(await download('Save as .safetensors'));
  assert.deepEqual((tensors ?? rest).result_1.toArray(), [0, 1, 2]);
});

test('protos, gzipped texts, bytecode', async () => {
  const client = await Client.create({ threads: 0 });
  const proto = await client.parseHlo(TEXT).toProto();
  client.dispose();
  for (const [name, bytes, kind] of [['a.pb', proto, /serialized HLO proto/], ['a.hlo.gz', gzipSync(TEXT), /HLO text, gzipped/]]) {
    await give([name, bytes]);
    await shows(page.locator('#facts'), kind);
    await shows(page.locator('#facts'), /2 parameters/);
  }
  const corpus = gunzipSync(await readFile(new URL('../golden/stablehlo.gz', import.meta.url)));
  for (let at = 0; at < corpus.length;) { // the first bytecode of it: see stablehlo.test.mjs
    const end = corpus.indexOf(10, at);
    const [, , , size] = corpus.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(size);
    if (corpus.toString('latin1', end + 1, end + 3) !== 'ML') continue;
    await give(['program.mlirbc', corpus.subarray(end + 1, at)]);
    await shows(page.locator('#facts'), /bytecode/);
    break;
  }
});

test('a file that is no program is refused, with the place', async () => {
  await give(['broken.hlo', TEXT.replace('add(', 'ad(')]);
  await shows(page.locator('#open-problem'), /^line 5, column \d+: /);
  await give(['photo.png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]]);
  assert.ok(await page.isVisible('#open-problem'));
});

test('complained of nothing', () => assert.deepEqual(complaints, []));
