/** The references in Chromium: pages of exports and operations, examples that run; code of guides that runs; the search. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { GUIDES } from '../../demo/guides/pages.mjs';
import { assertFits, loadAnew, openSite, PHONE, showView } from '../support/browser.mjs';
import { ALL, sample } from '../support/sample.mjs';

let page, complaints, address, close;
before(async () => {
  ({ page, complaints, address, close } = await openSite('guides/api', { viewport: { width: 1280, height: 900 } }));
});
after(() => close?.());

const goTo = async (hash, heading) => {
  await page.goto(`${address}#${hash}`);
  await page.waitForFunction((wanted) => document.querySelector('.guide h1')?.textContent.includes(wanted), heading);
};

test('the list of exports leads to each page, and no page scrolls sideways on a phone', async () => {
  await goTo('guides/api', 'API reference');
  const links = await page.locator('.index a').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.textContent]));
  assert.ok(links.length > 70, `${links.length}`);
  await page.setViewportSize(PHONE);
  for (const [href, name] of sample(links, 2)) {
    await goTo(href.slice(1), ` ${name}`);
    assert.equal(await page.locator('pre.signature').count() > 0, true, name);
    await assertFits(page, name);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

test('a method is in the address; its example runs, with the values', async () => {
  await goTo('guides/api/XlaBuilder/transpose', 'class XlaBuilder');
  assert.ok(await page.locator('#transpose').evaluate((element) => Math.abs(element.getBoundingClientRect().top) < 200 && scrollY > 500));
  await page.click('#transpose summary');
  await page.click('#transpose .run');
  await page.waitForFunction(() => document.querySelector('#transpose .output').textContent === 'f32[3,2] [ [ 1, 4 ], [ 2, 5 ], [ 3, 6 ] ]');
  await page.click('#transpose .signature a[href="#guides/api/XlaOp"]');
  await page.waitForFunction(() => document.querySelector('.guide h1')?.textContent === 'class XlaOp');
  await goTo('guides/api/Client/launch', 'class Client');
  await page.click('#launch summary');
  await page.click('#launch .run');
  await page.waitForFunction(() => document.querySelector('#launch .output').textContent === '[ 11, 11 ]');
});

test('operations are found by any of their names', async () => {
  await goTo('guides/operations', 'Operations');
  for (const [wanted, name] of [['stablehlo.dot_general', 'dot'], ['clz', 'count-leading-zeros'], ['embedding', 'gather']]) {
    await page.fill('#operation-filter', wanted);
    assert.ok((await page.locator('.index li:not([hidden]) a').allTextContents()).includes(name), wanted);
  }
});

test('the page of an operation: names, values that follow the inputs, rules', async () => {
  await goTo('guides/operations/transpose', 'transpose');
  await page.waitForSelector('.live .result .cell');
  const text = await page.textContent('.guide');
  assert.match(text, /stablehlo\.transpose/);
  assert.match(text, /must be a permutation|permutation/);
  const first = () => page.locator('.live .result .cell text').nth(1).textContent();
  const before = await first();
  await page.selectOption('.live select', 'zeros');
  await page.waitForFunction(() => document.querySelectorAll('.live .result .cell text')[1].textContent === '0');
  assert.notEqual(before, '0');
  await page.click('.guide a.see');
  await page.waitForSelector('.view-playground .halves');
  assert.equal(await page.inputValue('#example'), 'transpose');
});

test('every operation has a page with a result, or with the reason for none', async () => {
  await goTo('guides/operations', 'Operations');
  const names = await page.locator('.index a').allTextContents();
  assert.ok(names.length > 130);
  for (const name of names.filter((_, i) => i % 12 === 0)) {
    await goTo(`guides/operations/${name}`, name);
    await page.waitForFunction(() => document.querySelector('.live .result, .live p.soft'));
    assert.equal(await page.locator('.live .problem').count(), 0, name);
  }
});

test('code of the guides runs where it stands, and prints what its comments say', async () => {
  const compact = (text) => text.replaceAll(/\s+/g, '').replaceAll(/Float32Array\(\d+\)/g, '');
  let blocks = 0;
  for (const [turn, { name }] of GUIDES.filter(({ path }) => /guides|meshes/.test(path)).entries()) {
    await showView(page, `guides/${name}`);
    await page.waitForSelector('.guide h1');
    for (const i of sample([...Array(await page.locator('.runnable').count()).keys()], 3, turn % 3)) {
      blocks++;
      const block = page.locator('.runnable').nth(i);
      await block.locator('.run').click();
      await page.waitForFunction((at) => {
        const one = document.querySelectorAll('.runnable')[at];
        return /ran in/.test(one.textContent) || one.querySelector('.output.problem');
      }, i);
      const [code, output] = [await block.locator('pre').first().textContent(), await block.locator('.output').textContent()];
      assert.equal(await block.locator('.output.problem').count(), 0, `${name} ${i}: ${output}`);
      for (const [, said] of code.matchAll(/console\.log\(.*\); \/\/ ([[\d'"A-Zft-].*)$/gm)) {
        if (/^the /.test(said)) continue;
        for (const part of said.split(', then ')) assert.ok(compact(output).includes(compact(part)), `${name} ${i}: ${part} in ${output}`);
      }
    }
  }
  assert.ok(blocks >= (ALL ? 25 : 8), `${blocks}`);
});

test('code that reads files of a guide finds them in the playground, too', async () => {
  await loadAnew(page, `${address}#guides/from-keras`);
  await page.waitForSelector('.runnable');
  await page.waitForFunction(() => document.querySelector('.runnable .open').hash.length > 100);
  await page.click('.runnable .open');
  await page.waitForFunction(() => /printed\s*\[ \[ [\d.]+, /.test(document.querySelector('[data-panel="results"]')?.textContent ?? ''));
});

test('the search finds guides, exports and operations, by keyboard', async () => {
  await goTo('guides/training', 'Train');
  await page.keyboard.press('/');
  for (const [wanted, href] of [['cross-origin isolation headers', '#guides/hosts/'], ['transferToInfeed', '#guides/api/Client/transferToInfeed'],
    ['select-and-scatter', '#guides/operations/select-and-scatter'], ['safetensors', '#guides/']]) {
    await page.fill('#search', wanted);
    await page.waitForFunction((start) => [...document.querySelectorAll('.hits a')].some((a) => a.getAttribute('href').startsWith(start)), href);
  }
  await page.fill('#search', 'transferToInfeed');
  await page.waitForFunction(() => document.querySelector('.hits a')?.textContent.startsWith('Client.transferToInfeed'));
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.guide h1')?.textContent === 'class Client');
  assert.ok(await page.isHidden('.hits'));
  await page.fill('#search', 'zzzzzz');
  await page.waitForFunction(() => /Nothing is found/.test(document.querySelector('.hits').textContent));
});

test('complained of nothing', () => assert.deepEqual(complaints.filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []));
