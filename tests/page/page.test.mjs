/** The demo's page in real headless Chromium, with and without shared memory. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { serve } from '../../demo/serve.mjs';
import { PHONE, launch, loadAnew, newPage, shows } from '../support/browser.mjs';
import { ALL, sample } from '../support/sample.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const number = async (page, id) => parseFloat((await page.textContent(id)).replaceAll(',', ''));

/** Waits until a number on the page fulfils a condition given as text: '> 100'. */
const until = (page, id, condition) =>
  page.waitForFunction(
    ([selector, wanted]) => {
      const value = parseFloat(document.querySelector(selector).textContent.replaceAll(',', ''));
      const [operator, limit] = wanted.split(' ');
      return operator === '>' ? value > Number(limit) : value < Number(limit);
    },
    [id, condition],
  );

/** A stroke through points in fractions of the pad. */
async function stroke(page, points) {
  await page.locator('#pad').scrollIntoViewIfNeeded();
  const box = await page.locator('#pad').boundingBox();
  const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(points[0]));
  await page.mouse.down();
  for (const point of points.slice(1)) await page.mouse.move(...at(point));
  await page.mouse.up();
}

const ONE = [[0.52, 0.2], [0.5, 0.5], [0.48, 0.8]];
const ZERO = Array.from({ length: 25 }, (_, i) => {
  const angle = (i / 24) * 2 * Math.PI;
  return [0.5 - 0.2 * Math.sin(angle), 0.5 - 0.3 * Math.cos(angle)];
});

/** Draws a digit on an empty pad and waits until the page calls it `digit`. */
async function isRecognised(page, points, digit) {
  await page.click('#clear');
  await shows(page.locator('#answer'), /as you draw/);
  await stroke(page, points);
  await page.waitForFunction((wanted) =>
    document.getElementById('answer').textContent.startsWith(`This is a ${wanted},`), digit);
  await shows(page.locator('#guess .best'), String(digit));
}

/**
 * The colours of the timeline's rows: for each replica, how many pixels along the middle of its row
 * have the colour of each of the legend's swatches.
 */
const timelineRows = (page, replicas) =>
  page.evaluate((rows) => {
    const canvas = document.getElementById('timeline');
    const scale = canvas.width / canvas.clientWidth;
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const plotHeight = canvas.clientHeight - 24; // without the axis
    const swatches = [...document.querySelectorAll('.legend i')].map((swatch) => [
      swatch.className, getComputedStyle(swatch).backgroundColor.match(/\d+/g).map(Number)]);
    return Array.from({ length: rows }, (_, row) => {
      const y = Math.round((4 + ((row + 0.5) * plotHeight) / rows) * scale);
      const { data } = context.getImageData(0, y, canvas.width, 1);
      const counts = Object.fromEntries(swatches.map(([name]) => [name, 0]));
      for (let i = 0; i < data.length; i += 4) {
        const found = swatches.find(([, rgb]) => rgb.every((c, k) => Math.abs(c - data[i + k]) < 4));
        if (found) counts[found[0]]++;
      }
      return counts;
    });
  }, replicas);

/**
 * Waits for a picture, there are two a second, in which all rows fulfil a condition. On a busy
 * machine some picture may show a step during which a replica got nowhere.
 */
async function timelineShows(page, replicas, condition) {
  let rows;
  for (let attempt = 0; attempt < 40; attempt++) {
    await page.waitForTimeout(450);
    rows = await timelineRows(page, replicas);
    if (rows.every(condition)) return;
  }
  assert.fail(JSON.stringify(rows));
}

async function ready(page) {
  await page.waitForFunction(() =>
    document.getElementById('start')?.disabled === false ||
    document.getElementById('status')?.classList.contains('problem'));
  assert.doesNotMatch(await page.textContent('#status'), /wrong/);
}

async function open(server, options) {
  const opened = await newPage(browser, options);
  await opened.page.goto(`${server.address}#train`);
  await ready(opened.page);
  return opened;
}

const SCENES = [
  { name: 'isolated', isolated: true, status: /^4 replicas on \d+ worker threads?/ },
  {
    name: 'not isolated',
    isolated: false,
    status: /SharedArrayBuffer is missing.*single-threaded.*COOP.*COEP/,
  },
];
for (const { name, isolated, status } of SCENES) {
  describe(`the page, ${name}`, { timeout: 200000 }, () => {
    const once = isolated || ALL ? test : () => {}; // for what does not depend on threads
    let server, page, complaints;
    before(async () => {
      server = await serve({ port: 0, isolated });
      ({ page, complaints } = await open(server, { viewport: { width: 1200, height: 900 } }));
    });
    after(async () => {
      await page?.close();
      await server?.close();
    });

    test('its own thread loads no core, which could block it', async () => {
      const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
      assert.ok(loaded.some((name) => name.endsWith('js')), `${loaded}`);
      assert.deepEqual(loaded.filter((name) => name.endsWith('.wasm')), []);
    });

    test('says how it computes', async () => {
      assert.equal(await page.evaluate(() => crossOriginIsolated), isolated);
      await shows(page.locator('#status'), status);
    });

    test('the console says once why there are no threads', async () => {
      const lines = [];
      page.on('console', (message) => lines.push([message.type(), message.text()]));
      await page.evaluate(async () => {
        const { Client } = await import('/bindings/page.mjs');
        for (const options of [{ threads: 0 }, { threads: 2 }, {}]) (await Client.create(options)).dispose();
      });
      const told = lines.filter(([, text]) => /no threads, as this page is not cross-origin isolated/.test(text));
      assert.deepEqual(told.map(([type]) => type), isolated ? [] : ['warning']);
      complaints.splice(0, complaints.length, ...complaints.filter((text) => !/no threads/.test(text)));
    });

    test('trains, and the loss falls', async () => {
      await page.evaluate(() => {
        window.losses = [];
        new MutationObserver(() => {
          window.losses.push(Number(document.getElementById('loss').textContent));
        }).observe(document.getElementById('loss'), { childList: true });
      });
      await page.click('#start');
      await shows(page.locator('#start'), 'Pause');
      await until(page, '#step', '> 300');
      const losses = await page.evaluate(() => window.losses);
      assert.ok(losses.length > 3, `${losses}`);
      // Without training it would stay at ln 10 = 2.3. How far it is when first told depends on the
      // machine.
      const [first, last] = [losses[0], losses.at(-1)];
      assert.ok(last < 0.4 && last < first && first < 2.6, `${losses}`);
      await until(page, '#accuracy', '> 90');
    });

    test('the page has events of its own while it trains', async () => {
      const turns = await page.evaluate(async () => {
        const step = () => document.getElementById('step').textContent;
        const before = step();
        let count = 0;
        for (; count < 20 || step() === before; count++) await new Promise((resolve) => setTimeout(resolve, 5));
        return count;
      });
      assert.ok(turns >= 20, `${turns} turns`);
    });

    test('shows each replica computing and meeting at the all-reduce', async () => {
      await timelineShows(page, 4, ({ dot, meet }) => dot > 5 && meet > 0);
    });

    test('says how much of the work is done side by side', { skip: isolated ? false : 'one thread' }, async () => {
      await page.waitForFunction(() => parseFloat(document.getElementById('overlap').textContent) >= 3);
      await shows(page.locator('#overlap'), /^\d+ % of the work .* waited for each other \d+ %/);
    });

    once('draws the plot', async () => {
      const colours = await page.evaluate(() => {
        const canvas = document.querySelector('#plot canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
      });
      assert.ok(colours > 20, `${colours} colours`);
    });

    once('classifies drawn digits', async () => {
      await isRecognised(page, ONE, 1);
      await isRecognised(page, ZERO, 0);
    });

    once('pauses, and goes on', async () => {
      await page.click('#start');
      await shows(page.locator('#start'), 'Start');
      await page.waitForTimeout(400); // what was under way
      const step = await number(page, '#step');
      await page.waitForTimeout(500);
      assert.equal(await number(page, '#step'), step);
      await isRecognised(page, ONE, 1); // while it pauses
      await page.click('#start');
      await until(page, '#step', `> ${step + 50}`);
    });

    test('quick clicks leave one training loop', async () => {
      for (let i = 0; i < 6; i++) await page.click('#start'); // ends as it began: running
      const step = await number(page, '#step');
      await until(page, '#step', `> ${step + 50}`);
      await page.click('#start');
      await page.waitForTimeout(400);
      const stopped = await number(page, '#step');
      await page.waitForTimeout(400);
      assert.equal(await number(page, '#step'), stopped);
    });

    once('by touch, and by a digit of the test', async () => {
      const context = await browser.newContext({ hasTouch: true, viewport: PHONE });
      const touched = await newPage(context);
      await touched.page.goto(`${server.address}#train`);
      await touched.page.waitForFunction(() => document.getElementById('start')?.disabled === false);
      await touched.page.locator('#pad').scrollIntoViewIfNeeded();
      const session = await context.newCDPSession(touched.page);
      const box = await touched.page.locator('#pad').boundingBox();
      const scrolled = () => touched.page.evaluate(() => scrollY);
      const before = await scrolled();
      const at = (type, y) => session.send('Input.dispatchTouchEvent',
        { type, touchPoints: y === undefined ? [] : [{ x: box.x + box.width / 2, y: box.y + box.height * y }] });
      await at('touchStart', 0.2);
      for (let y = 0.25; y < 0.8; y += 0.05) await at('touchMove', y);
      await at('touchEnd');
      await touched.page.waitForFunction(() => /^This is a \d,/.test(document.getElementById('answer').textContent));
      assert.equal(await scrolled(), before, 'the page scrolled instead');
      assert.ok(!await touched.page.locator('.pad.empty').count());
      await touched.page.click('#clear');
      assert.equal(await touched.page.locator('.pad.empty').count(), 1); // it invites again
      await touched.page.click('#try');
      await touched.page.waitForFunction(() => /^This is a \d,/.test(document.getElementById('answer').textContent));
      assert.deepEqual(touched.complaints, []);
      await context.close();
    });

    test('goes on with other devices and threads, and starts anew', async () => {
      await page.click('#start');
      for (const [id, value, says] of [['#replicas', '8', /\b8 replicas/], ['#threads', '1', isolated ? /on 1 worker thread / : /single-threaded/],
        ['#replicas', '3', /\b3 replicas/]]) {
        const before = await number(page, '#step');
        await page.selectOption(id, value);
        await page.waitForFunction(([source, flags]) =>
          new RegExp(source, flags).test(document.getElementById('status').textContent), [says.source, says.flags]);
        await until(page, '#step', `> ${before + 30}`);
        const rows = Number(await page.inputValue('#replicas'));
        await timelineShows(page, rows, ({ dot }) => dot > 0);
      }
      assert.ok(await number(page, '#accuracy') > 85); // it has forgotten nothing
      await shows(page.locator('#reduced'), /^[\d.]+ [MG]B$/);
      await page.click('#start');
      await page.click('#again');
      await page.waitForFunction(() => document.getElementById('step').textContent === '0');
      await page.selectOption('#replicas', '1');
      await page.waitForFunction(() => document.getElementById('status').textContent.includes('1 replica '));
      await page.click('#start');
      await until(page, '#step', '> 100');
      await timelineShows(page, 1, ({ dot }) => dot > 0);
      await shows(page.locator('#reduced'), '0 bytes');
      await page.click('#start');
    });

    once('shows digits, the wrong ones marked, and the first layer', async () => {
      const { red, shades } = await page.evaluate(() => {
        const pixels = (id) => {
          const canvas = document.getElementById(id);
          return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        };
        const mosaic = pixels('mosaic');
        let marked = 0;
        for (let i = 0; i < mosaic.length; i += 4) marked += mosaic[i] - mosaic[i + 2] > 10 ? 1 : 0;
        return { red: marked / 784, shades: new Set(new Uint32Array(pixels('layer').buffer)).size };
      });
      const told = await number(page, '#mistakes');
      assert.ok(Math.abs(red - told) < 0.2 * told + 1, `${red} cells are marked, ${told} are told of`);
      assert.ok(shades > 100, `${shades}`);
    });

    test('complained of nothing', () => assert.deepEqual(complaints, []));
  });
}

describe('the page fits', () => {
  let server, page, complaints;
  before(async () => {
    server = await serve({ port: 0 });
    ({ page, complaints } = await open(server));
  });
  after(async () => {
    await page?.close();
    await server?.close();
  });

  for (const [turn, [width, height]] of [[1200, 900], [390, 844]].entries()) {
    for (const colorScheme of sample(['light', 'dark'], 2, turn)) {
      test(`${width} x ${height}, ${colorScheme}`, async () => {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        await loadAnew(page, `${server.address}#train`);
        await ready(page);
        await page.click('#start');
        await until(page, '#step', '> 10');
        await page.waitForLoadState('networkidle'); // the next case loads the page anew, which ends requests
        const { scrollWidth, boxes } = await page.evaluate(() => ({
          scrollWidth: document.documentElement.scrollWidth,
          boxes: [...document.querySelectorAll('.masthead, .lead, .controls, #numbers, .panel')]
            .map((element) => {
              const { left, right, top, bottom } = element.getBoundingClientRect();
              return { left, right, top, bottom };
            }),
        }));
        assert.ok(scrollWidth <= width, `scrolls sideways: ${scrollWidth}`);
        boxes.forEach((a, i) => {
          for (const b of boxes.slice(i + 1)) {
            const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top ||
              b.bottom <= a.top;
            assert.ok(apart, `${JSON.stringify(a)} overlaps ${JSON.stringify(b)}`);
          }
        });
        assert.deepEqual(complaints, []);
      });
    }
  }
});
