/** Guides in Chromium: each is there, links lead on, and into the playground. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { Client, readNpz } from '../../bindings/index.mjs';
import { assertFits, newPage, openSite } from '../support/browser.mjs';

const root = new URL('../../', import.meta.url);

let page, complaints, browser, address, close;
before(async () => {
  ({ page, complaints, browser, address, close } = await openSite('guides'));
  await page.waitForSelector('.guide h1');
});
after(() => close?.());

const heading = (text) => page.waitForFunction((wanted) => document.querySelector('.guide h1')?.textContent === wanted, text);

test('every guide is there, and none scrolls the page sideways', async () => {
  const names = await page.locator('.list a').evaluateAll((links) => links.map((link) => link.dataset.name));
  assert.ok(names.length > 10, `${names}`);
  for (const name of names) {
    await page.locator(`.list a[data-name="${name}"]`).evaluate((link) => link.click());
    await page.waitForFunction((of) => document.querySelector('.list [aria-current]')?.dataset.name === of, name);
    assert.ok((await page.textContent('.guide')).length > 300, name);
    await assertFits(page, name);
    assert.equal(await page.locator('.guide a:not([href^="#"], [href^="http"])').count(), 0);
  }
});

test('links lead to other guides and their headings, addresses restore', async () => {
  await page.locator('.list a[data-name="from-jax"]').evaluate((link) => link.click());
  await heading('From JAX to a page in ten minutes');
  await page.click('.guide a[href="#guides/hosts/threads-in-a-page"]');
  await heading('Hosts and bundlers');
  assert.ok(await page.locator('#threads-in-a-page').evaluate((element) => element.getBoundingClientRect().top < innerHeight - 20 && scrollY > 200));
  await page.reload();
  await heading('Hosts and bundlers');
});

test('examples open in the playground', async () => {
  await page.locator('.list a[data-name="how-it-works"]').evaluate((link) => link.click());
  await heading('How it works');
  await page.waitForFunction(() => document.querySelector('.see[data-example="Softmax"]').href.length > 60);
  await page.click('.see[data-example="Softmax"]');
  await page.waitForSelector('[data-panel="module"]:not([hidden]) pre');
  assert.equal(await page.inputValue('#example'), 'Softmax');
});

test('how it works: a picture for each stage, all of it inside', async () => {
  await page.goto(`${address}#guides/how-it-works`);
  await heading('How it works');
  assert.equal(await page.locator('.guide .stage-picture').count(), 7);
  const outside = await page.evaluate(() => [...document.querySelectorAll('.stage-picture')].flatMap((picture) => {
    const box = picture.getBoundingClientRect();
    return [...picture.querySelectorAll('text')].filter((text) => text.getBoundingClientRect().right > box.right).map((text) => text.textContent);
  }));
  assert.deepEqual(outside, []);
});

test('from JAX to a page: the page works as it is written', async () => {
  const guide = await readFile(new URL('docs/guides/from-jax.md', root), 'utf8');
  const [, html] = /^```html\n([^]*?)^```/m.exec(guide);
  /* The guide's Python made the two files. */
  const fileOf = (path) => (path.startsWith('node_modules/xla-wasm/') ? path.slice('node_modules/xla-wasm/'.length) : `tests/guides/${path}`);
  const own = await newPage(browser);
  await own.page.route(`${address}ten/**`, async (route) => {
    const path = new URL(route.request().url()).pathname.slice('/ten/'.length);
    if (!path) return route.fulfill({ contentType: 'text/html', body: html });
    const contentType = { mjs: 'text/javascript', wasm: 'application/wasm' }[path.split('.').at(-1)];
    return route.fulfill({ contentType, body: await readFile(new URL(fileOf(path), root)) });
  });
  await own.page.goto(`${address}ten/`);
  const at = (x, y) => own.page.evaluate(([i, j]) => {
    const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    context.drawImage(document.getElementById('map'), -i, -j);
    return [...context.getImageData(0, 0, 1, 1).data];
  }, [x, y]);
  for (let i = 0; i < 100 && (await at(32, 32))[3] === 0; i++) await own.page.waitForTimeout(100);
  assert.ok((await at(32, 32))[0] > 200, 'the middle is in the disc');
  assert.ok((await at(2, 2))[0] < 50, 'the corner is not');
  assert.deepEqual(own.complaints, []);
  await own.page.close();
});

const python = fileURLToPath(new URL('build/venv/bin/python', root));
test('from JAX to a page: its Python gives the two files', { skip: existsSync(python) ? false : 'there is no JAX here' }, async () => {
  const guide = await readFile(new URL('docs/guides/from-jax.md', root), 'utf8');
  const folder = await mkdtemp(join(tmpdir(), 'guide-'));
  await writeFile(join(folder, 'export.py'), /^```python\n([^]*?)^```/m.exec(guide)[1]);
  await promisify(execFile)(python, ['export.py'], { cwd: folder, timeout: 120000, env: { ...process.env, JAX_PLATFORMS: 'cpu' } });
  const client = await Client.create({ threads: 0 });
  const shapes = async (from) =>
    (await client.load(await readFile(new URL('model.mlirbc', from)))).parameters.map(({ name, shape }) => `${name} ${shape}`);
  assert.deepEqual(await shapes(pathToFileURL(`${folder}/`)), await shapes(new URL('tests/guides/', root)));
  assert.deepEqual(Object.keys(await readNpz(join(folder, 'model.npz'))).sort(), ['b1', 'b2', 'w1', 'w2']);
  client.dispose();
  await rm(folder, { recursive: true });
});

test('complained of nothing', () => assert.deepEqual(complaints, []));
