/**
 * Tests the page's accessibility: each view by axe-core's rules, light and dark, on a phone and on a
 * desktop; visible focus; use by keyboard alone; reduced motion on request.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, describe, test } from 'node:test';

import { PHONE, assertFits, loadAnew, openSite, showView, shows } from '../support/browser.mjs';
import { sample } from '../support/sample.mjs';
import { scenesOf } from '../support/scenes.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DESK = { width: 1400, height: 900 };

const { page, complaints, address, close } = await openSite('train');
const { started, played, scenes } = scenesOf(page);
after(() => close());

/** The violations that axe-core finds, a line each. */
async function violations() {
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(AXE);
  await page.evaluate(() => scrollTo(0, 0)); // a link half under the head would count as too small
  return page.evaluate(async () => {
    const { violations: found } = await window.axe.run(document, {
      resultTypes: ['violations'], // of all others, axe-core would describe each element, too
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return found.flatMap(({ id, help, nodes }) => nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${id}: ${help}: ${target.join(' ')}: ${failureSummary.split('\n').slice(1).join(' ').trim()}`));
  });
}

describe('rules of accessibility', { timeout: 300000 }, () => {
  let shown; // the name of the view
  for (const [i, [name, hash, lead]] of scenes.entries()) {
    test(name, async () => {
      await page.setViewportSize(DESK);
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      // The first scene of a view is without the styles of others. The rest need not load and compile axe-core again.
      const view = hash.split('/')[0];
      await (view === shown ? showView(page, hash) : loadAnew(page, `${address}#${hash}`));
      shown = view;
      await page.waitForSelector('.view > *');
      await lead();
      const found = [];
      for (const [scheme, size] of sample([['light', DESK], ['dark', PHONE]], 2, i % 2)) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize(size);
        await page.waitForTimeout(50); // canvases are drawn anew
        found.push(...(await violations()).map((line) => `${scheme}, ${size.width}: ${line}`));
        await assertFits(page, name);
      }
      assert.deepEqual(found, []);
    });
  }

  test('complained of nothing', () => {
    // What a worker was loading when its view was left is no complaint.
    assert.deepEqual(complaints.filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []);
  });
});

describe('by keyboard', () => {
  const open = async (hash, size = DESK) => {
    await page.setViewportSize(size);
    await loadAnew(page, `${address}#${hash}`);
    await page.waitForSelector('.view > *');
  };
  const focused = () => page.evaluate(() => {
    const { activeElement: at } = document;
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    const editor = at.closest('.editor');
    return {
      id: at.id || at.getAttribute('href') || at.className || at.tagName,
      tag: at.tagName,
      isSeen: (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) ||
        Boolean(editor && getComputedStyle(editor).borderColor !== getComputedStyle(document.body).borderColor),
    };
  });
  /** Presses Tab until the focus is there. */
  const tabTo = async (id) => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      const at = await focused();
      assert.ok(at.isSeen || at.tag === 'BODY', `the focus is not seen on ${at.id}`);
      if (at.id === id) return;
    }
    assert.fail(`Tab never comes to ${id}`);
  };

  test('the first stop skips the head', async () => {
    await open('guides');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'MAIN');
  });

  test('trains', async () => {
    await open('train');
    await started();
    await tabTo('start');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => Number(document.getElementById('step').textContent) > 5);
    await page.keyboard.press('Enter');
    await tabTo('try');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /^This is a \d,/.test(document.getElementById('answer').textContent));
  });

  test('through the editor and out of it', async () => {
    await open('playground');
    await played();
    await tabTo('share');
    const isInEditor = () => page.evaluate(() => Boolean(document.activeElement.shadowRoot?.activeElement.closest('.cm-content')));
    for (let i = 0; i < 10 && !await isInEditor(); i++) await page.keyboard.press('Tab');
    assert.ok(await isInEditor());
    assert.ok((await focused()).isSeen);
    await page.keyboard.press('Tab');
    assert.ok(!await isInEditor());
  });

  test('stirs, scrubs, chooses', async () => {
    await open('gallery/life');
    await page.waitForSelector('[data-figure="One step"]');
    await page.focus('#stage');
    const before = await page.evaluate(() => document.getElementById('stage').toDataURL());
    await page.keyboard.down(' ');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction((was) => document.getElementById('stage').toDataURL() !== was, before);
    await page.keyboard.up(' ');
    await open('meshes');
    await page.waitForSelector('.together');
    await tabTo('scrub');
    const at = await page.inputValue('#scrub');
    await page.keyboard.press('ArrowLeft');
    assert.notEqual(await page.inputValue('#scrub'), at);
  });

  test('where less motion is asked for, simulations wait', async () => {
    await open('gallery/life');
    await page.waitForSelector('[data-figure="One step"]');
    await shows(page.locator('#play'), 'Go on');
    await page.click('#play');
    await page.waitForSelector('[data-figure="Frames a second"]');
  });
});
