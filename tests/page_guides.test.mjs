/** Guides in Chromium: each is there, links lead on, and into the playground. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { assertFits, openSite } from './browser.mjs';

let page, complaints, close;
before(async () => {
  ({ page, complaints, close } = await openSite('guides'));
  await page.waitForSelector('.guide h1');
});
after(() => close?.());

const heading = (text) => page.waitForFunction((wanted) => document.querySelector('.guide h1')?.textContent === wanted, text);

test('every guide is there, and none scrolls the page sideways', async () => {
  const names = await page.locator('.list a').evaluateAll((links) => links.map((link) => link.dataset.name));
  assert.ok(names.length > 10, `${names}`);
  for (const name of names) {
    await page.click(`.list a[data-name="${name}"]`);
    await page.waitForFunction((of) => document.querySelector('.list [aria-current]')?.dataset.name === of, name);
    assert.ok((await page.textContent('.guide')).length > 300, name);
    await assertFits(page, name);
    assert.equal(await page.locator('.guide a:not([href^="#"], [href^="http"])').count(), 0);
  }
});

test('links lead to other guides and their headings, addresses restore', async () => {
  await page.click('.list a[data-name="from-jax"]');
  await heading('From JAX to a page in ten minutes');
  await page.click('.guide a[href="#guides/hosts/threads-in-a-page"]');
  await heading('Hosts and bundlers');
  assert.ok(await page.locator('#threads-in-a-page').evaluate((element) => element.getBoundingClientRect().top < innerHeight - 20 && scrollY > 200));
  await page.reload();
  await heading('Hosts and bundlers');
});

test('examples open in the playground', async () => {
  await page.click('.list a[data-name="how-it-works"]');
  await heading('How it works');
  await page.waitForFunction(() => document.querySelector('.see[data-example="Softmax"]').href.length > 60);
  await page.click('.see[data-example="Softmax"]');
  await page.waitForSelector('[data-panel="module"]:not([hidden]) pre');
  assert.equal(await page.inputValue('#example'), 'Softmax');
});

test('complained of nothing', () => assert.deepEqual(complaints, []));
