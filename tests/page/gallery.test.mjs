/** The page's gallery, in Chromium. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { after, before, describe, test } from 'node:test';

import { EXHIBITS } from '../../demo/gallery/exhibits.mjs';
import { serve } from '../../demo/serve.mjs';
import { PHONE, assertFits, launch, loadAnew, newPage, shows } from '../support/browser.mjs';

let browser, server;
before(async () => {
  browser = await launch();
  server = await serve({ port: 0 });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

async function open(hash) {
  const opened = await newPage(browser, { viewport: PHONE });
  await opened.page.goto(`${server.address}#${hash}`);
  return opened;
}

const figure = (title) => `[data-figure="${title}"]`;

/** The stage's pixels, in short: a sum, and how many colours there are. */
const look = (page) => page.evaluate(() => {
  const { data } = window.stageCopy = (() => {
    const stage = document.getElementById('stage');
    const context = new OffscreenCanvas(stage.width, stage.height).getContext('2d');
    context.drawImage(stage, 0, 0);
    return context.getImageData(0, 0, stage.width, stage.height);
  })();
  const colours = new Set();
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) {
    const colour = data[i] * 65536 + data[i + 1] * 256 + data[i + 2];
    colours.add(colour);
    sum = (sum * 31 + colour) % 1e9;
  }
  return { sum, colours: colours.size };
});

/** Waits until the stage shows something else. */
async function changes(page, before) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const now = await look(page);
    if (now.sum !== before.sum) return now;
    await page.waitForTimeout(100);
  }
  return assert.fail('the picture stays as it is');
}

async function finish(page, complaints) {
  await assertFits(page);
  // What a worker was loading when its view was left is no complaint.
  assert.deepEqual(complaints.splice(0).filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []);
}

describe('exhibits', { timeout: 300000 }, () => {
  let page, complaints;
  before(async () => {
    ({ page, complaints } = await open('guides'));
  });
  after(() => page?.close());
  const show = (hash) => loadAnew(page, `${server.address}#${hash}`);

  for (const { id, kind } of EXHIBITS.filter((exhibit) => ['field', 'picture'].includes(exhibit.kind))) {
    test(`${id} computes its picture, and shows its source`, async () => {
      await show(`gallery/${id}`);
      await page.waitForSelector(figure('One step'));
      await shows(page.locator('.view-gallery nav [aria-current]'), EXHIBITS.find((e) => e.id === id).title);
      await shows(page.locator('.source pre'), /^(?:"""|import jax)[^]*def \w+\(/);
      const first = await look(page);
      assert.ok(first.colours > 3, `${first.colours} colours`);
      if (kind === 'field') {
        await changes(page, first);
        await page.waitForSelector(figure('Frames a second'));
        await page.click('#play');
        await page.waitForTimeout(400);
        const still = await look(page);
        await page.waitForTimeout(200);
        assert.equal((await look(page)).sum, still.sum, 'it goes on while it is paused');
      }
      await finish(page, complaints);
    });
  }

  test('the pointer stirs the fluid', async () => {
    await show('gallery/fluid');
    await page.waitForSelector(figure('One step'));
    const brightness = () => page.evaluate(() => {
      const stage = document.getElementById('stage');
      const context = new OffscreenCanvas(40, 40).getContext('2d');
      context.drawImage(stage, stage.width / 2 - 20, stage.height / 2 - 20, 40, 40, 0, 0, 40, 40);
      return context.getImageData(0, 0, 40, 40).data.reduce((a, b) => a + b);
    });
    const still = await brightness();
    await page.locator('#stage').scrollIntoViewIfNeeded();
    const box = await page.locator('#stage').boundingBox();
    await page.mouse.move(box.x + box.width * 0.45, box.y + box.height / 2);
    await page.mouse.down();
    for (let i = 0; i < 20; i++) {
      await page.mouse.move(box.x + box.width * (0.45 + 0.005 * i), box.y + box.height / 2);
      await page.waitForTimeout(50);
    }
    assert.ok(await brightness() > still, 'no dye came to where the pointer is');
    await page.mouse.up();
    await finish(page, complaints);
  });

  test('Mandelbrot: goes in where one clicks, by keys too', async () => {
    await show('gallery/mandelbrot');
    await page.waitForSelector(figure('One step'));
    const whole = await look(page);
    await page.click('#stage');
    const near = await changes(page, whole);
    await page.focus('#stage');
    await page.keyboard.press('-');
    await changes(page, near);
    await finish(page, complaints);
  });

  test('the filter takes a file', async () => {
    await show('gallery/filter');
    await page.waitForSelector(figure('One step'));
    const sample = await look(page);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><path fill="red" d="M0 0h20v30H0z"/></svg>';
    const png = await page.evaluate(async (text) => {
      const image = new Image();
      image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
      await image.decode();
      const canvas = new OffscreenCanvas(40, 30);
      canvas.getContext('2d').drawImage(image, 0, 0);
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    }, svg);
    await page.setInputFiles('#picture-file', { name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(png) });
    await changes(page, sample);
    await finish(page, complaints);
  });

  test('digits: a one is a one', async () => {
    await show('gallery/digits');
    await page.waitForSelector(figure('Program'));
    await page.locator('#stage').scrollIntoViewIfNeeded();
    const box = await page.locator('#stage').boundingBox();
    await page.mouse.move(box.x + box.width * 0.52, box.y + box.height * 0.2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.48, box.y + box.height * 0.8, { steps: 6 });
    await page.mouse.up();
    await page.waitForFunction(() => document.getElementById('digit')?.textContent.startsWith('This is a 1,'));
    await finish(page, complaints);
  });

  test('the language model writes words, and learns on several devices', async () => {
    await show('gallery/llama');
    await page.waitForFunction(() => document.getElementById('written')?.textContent.length > 400);
    assert.ok(parseFloat(await page.textContent(figure('Tokens a second'))) > 5);
    const text = await page.textContent('#written');
    const words = text.slice(60).toLowerCase().match(/[a-z]+/g);
    const known = words.filter((word) => /^(the|and|of|to|i|you|my|a|that|in|is|not|with|me|it|he|be|his|your|for|this)$/.test(word));
    assert.ok(known.length > words.length / 10, text); /* in English it is a third */
    await page.click('#learn');
    await page.waitForFunction(() => /^Step [3-9] on 2 devices: loss \d\.\d+/.test(document.querySelector('.stage [role=status]').textContent));
    await page.click('#learn');
    await page.click('#write');
    await page.waitForFunction(() => document.getElementById('written')?.textContent.length > 200);
    await finish(page, complaints);
  });
});

describe('the gallery', { timeout: 300000 }, () => {
  test('quick switches leak no memory', async () => {
    const { page, complaints } = await open('gallery/life');
    const system = await browser.newBrowserCDPSession();
    const session = await page.context().newCDPSession(page);
    /** MB of the renderers, when all workers that were left have ended. */
    const memory = async (id) => {
      await page.waitForSelector(`[data-exhibit="${id}"] [data-figure="One step"]`);
      await session.send('HeapProfiler.collectGarbage');
      const most = 2 + availableParallelism(); /* its own, and its threads */
      for (let i = 0; i < 200 && page.workers().length > most; i++) await page.waitForTimeout(100);
      assert.ok(page.workers().length <= most, `${page.workers().length} workers`);
      const { processInfo } = await system.send('SystemInfo.getProcessInfo');
      const sizes = await Promise.all(processInfo.filter(({ type }) => type === 'renderer').map(async (process) =>
        Number(/^Pss:\s+(\d+)/m.exec(await readFile(`/proc/${process.id}/smaps_rollup`, 'utf8').catch(() => ''))?.[1] ?? 0)));
      return sizes.reduce((a, b) => a + b) / 1024;
    };
    const visit = async (pause) => {
      for (const { id } of [...EXHIBITS.filter((exhibit) => exhibit.id !== 'life'), { id: 'life' }]) {
        await page.evaluate((to) => { location.hash = `gallery/${to}`; }, id);
        await page.waitForTimeout(pause);
      }
    };
    await visit(250);
    const before = await memory('life');
    for (const pause of [60, 250, 60]) await visit(pause);
    const after = await memory('life');
    assert.ok(after < before * 1.2 + 40, `${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after`);
    await finish(page, complaints);
    await page.close();
  });

  test('goes on without shared memory', async () => {
    const plain = await serve({ port: 0, isolated: false });
    const { page, complaints } = await newPage(browser, { viewport: { width: 390, height: 844 } });
    await page.goto(`${plain.address}#gallery/life`);
    await page.waitForSelector(figure('Frames a second'));
    await shows(page.locator(figure('Threads')), 'none');
    await page.evaluate(() => { location.hash = '#gallery/reaction'; });
    await page.waitForSelector('[data-exhibit="reaction"] [data-figure="Frames a second"]');
    await finish(page, complaints);
    await page.close();
    await plain.close();
  });
});
