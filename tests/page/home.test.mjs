/** The landing page in Chromium: in one screen, with a program that runs at once, can be edited, and leads on. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { PHONE, assertFits, openSite, replaceText, shows } from '../support/browser.mjs';

let page, complaints, address, close;
before(async () => {
  ({ page, complaints, address, close } = await openSite('', { viewport: { width: 1280, height: 900 } }));
});
after(() => close?.());

const prints = (text) => page.waitForFunction((wanted) => document.querySelector('.output').textContent.includes(wanted), text);

test('a program runs at once', async () => {
  await prints('y = 2.00 x + 1.00'); // the points are on that line
  await shows(page.locator('.bar'), /ran in \d+ ms/);
});

test('all of it is in one screen, and nothing moves', async () => {
  const bottom = await page.locator('.ways').evaluate((ways) => ways.getBoundingClientRect().bottom);
  assert.ok(bottom <= 900, `${bottom}`);
  const shifts = await page.evaluate(() => new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries().map(({ value }) => value))).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve([]), 500);
  }));
  assert.ok(shifts.reduce((sum, value) => sum + value, 0) < 0.02, `${shifts}`);
});

test('it is edited where it stands: another result, and errors at their place', async () => {
  const code = await page.textContent('.source pre');
  await page.click('.edit');
  await page.waitForSelector('.cm-content');
  await replaceText(page, code.replace('[1, 3, 5, 7]', '[4, 3, 2, 1]'));
  await prints('y = -1.00 x + 4.00');
  await replaceText(page, code.replace('xs.mul(slope)', 'xs.nothing(slope)'));
  await prints('is not a function');
  await shows(page.locator('.output'), /^10:\d+ /);
  await page.waitForSelector('.cm-lintRange-error');
});

test('it opens in the playground, as it was edited, and runs there', async () => {
  await replaceText(page, 'console.log(1 + 1, [1, 2n, -0, \'a\'], new Float32Array(2));');
  await prints('2 [ 1, 2n, -0, \'a\' ] Float32Array(2) [ 0, 0 ]');
  await page.waitForTimeout(100);
  await page.click('.open');
  await page.waitForFunction(() => /Float32Array\(2\)/.test(document.querySelector('[data-panel="results"]')?.textContent ?? ''));
});

test('the ways on lead somewhere, and it fits a phone', async () => {
  await page.goto(`${address}#home`);
  await page.waitForSelector('.ways a');
  await page.setViewportSize(PHONE);
  await assertFits(page);
  const links = await page.locator('.ways a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
  assert.ok(links.length >= 9);
  for (const link of new Set(links)) {
    await page.goto(`${address}${link}`);
    await page.waitForSelector(`.view-${/^#(\w+)/.exec(link)[1]} > *`);
  }
});

test('complained of nothing', () => assert.deepEqual(complaints.filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []));
