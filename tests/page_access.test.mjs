/**
 * That everybody can use the page: each view by axe-core's rules, light and dark, on a phone and on a
 * desk; focus that is seen; all of it by keyboard; less motion where it is asked for.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';

import { EXHIBITS } from '../demo/gallery/exhibits.mjs';
import { assertFits, openSite, PHONE } from './browser.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DESK = { width: 1400, height: 900 };

let page, complaints, address, close;
before(async () => {
  ({ page, complaints, address, close } = await openSite('train'));
});
after(() => close?.());

const started = () => page.waitForFunction(() => document.getElementById('start')?.disabled === false);
const played = () => page.waitForFunction(() => {
  const { turn, asked } = document.getElementById('play-status')?.dataset ?? {};
  return turn !== undefined && turn === asked;
});
const tab = (id, inside) => async () => {
  await played();
  await page.click(`[data-tab="${id}"]`);
  await page.waitForSelector(`[data-panel="${id}"] ${inside}`);
};

/** Views in the states in which they show most: name, address, and what leads there. */
const SCENES = [
  ['train', 'train', async () => {
    await started();
    await page.click('#start');
    await page.waitForFunction(() => Number(document.getElementById('step').textContent) > 20);
    await page.click('#start');
  }],
  ['playground', 'playground', played],
  ['playground, indices', 'playground', async () => {
    await played();
    await page.selectOption('#example', 'gather');
    await tab('picture', '.cell')();
  }],
  ['playground, module', 'playground', tab('module', 'pre')],
  ['playground, timeline', 'playground', tab('timeline', 'td')],
  ['playground, memory', 'playground', async () => {
    await played();
    await page.selectOption('#example', 'Mandelbrot set');
    await tab('memory', '.plan')();
  }],
  ['playground, an error', 'playground', async () => {
    await played();
    await page.click('.cm-content');
    await page.keyboard.type('x');
    await page.waitForSelector('#play-problem:not([hidden])');
  }],
  ['meshes', 'meshes', () => page.waitForSelector('.together')],
  ['meshes, a deadlock', 'meshes', async () => {
    await page.waitForSelector('.together');
    await page.selectOption('#mesh-program', { label: 'Hangs: a ring of receivers' });
    await page.waitForSelector('path.waits');
  }],
  ...EXHIBITS.map(({ id }) => [`gallery, ${id}`, `gallery/${id}`, () => page.waitForSelector('[data-figure="Program"]')]),
  ['open', 'open', () => page.waitForSelector('#drop')],
  ['open, a run', 'open', async () => {
    await page.click('#sample');
    await page.click('#run');
    await page.click('#outcome [data-tab="profile"]');
    await page.waitForSelector('#outcome [data-panel="profile"] td');
  }],
  ['guides', 'guides/how-it-works', () => page.waitForSelector('.guide h2')],
  ['guides, the API', 'guides/api', () => page.waitForSelector('.guide h2')],
];

/** What axe-core finds, a line each. */
async function violations() {
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations: found } = await window.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return found.flatMap(({ id, help, nodes }) => nodes.slice(0, 4).map(({ target, failureSummary }) =>
      `${id}: ${help}: ${target.join(' ')}: ${failureSummary.split('\n').slice(1).join(' ').trim()}`));
  });
}

describe('rules of accessibility', { timeout: 300000 }, () => {
  for (const [name, hash, lead] of SCENES) {
    test(name, async () => {
      await page.setViewportSize(DESK);
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await page.goto('about:blank');
      await page.goto(`${address}#${hash}`);
      await page.waitForSelector('.view > *');
      await lead();
      const found = [];
      for (const [scheme, size] of [['light', DESK], ['dark', PHONE]]) {
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
    await page.goto('about:blank');
    await page.goto(`${address}#${hash}`);
    await page.waitForSelector('.view > *');
  };
  const focused = () => page.evaluate(() => {
    const { activeElement: at } = document;
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    const editor = at.closest('.editor');
    return {
      id: at.id || at.getAttribute('href') || at.className || at.tagName,
      tag: at.tagName,
      isSeen: (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) || Boolean(editor && getComputedStyle(editor).borderColor !== getComputedStyle(document.body).borderColor),
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
    const isInEditor = () => page.evaluate(() => Boolean(document.activeElement.closest('.cm-content')));
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
    assert.equal(await page.textContent('#play'), 'Go on');
    await page.click('#play');
    await page.waitForSelector('[data-figure="Frames a second"]');
  });
});
