/** The page in real headless Firefox, with and without shared memory. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { serve } from '../../demo/serve.mjs';
import { VIEWS } from '../../demo/views.mjs';
import { PHONE } from '../support/browser.mjs';
import { firefoxPath, openFirefox } from '../support/firefox.mjs';
import { ALL, sample } from '../support/sample.mjs';
import { SHOWN_EXHIBITS } from '../support/scenes.mjs';

const skip = firefoxPath() ? false : 'there is no Firefox: .ci/toolchain browser installs it';

const number = (id) => `Number(document.getElementById('${id}')?.textContent.replaceAll(',', ''))`;

let page, complaints, close;
before(async () => {
  if (!skip) ({ page, complaints, close } = await openFirefox(PHONE));
});
after(() => close?.());

for (const [turn, isolated] of [true, false].entries()) {
  describe(`in Firefox, ${isolated ? 'isolated' : 'not isolated'}`, { skip, timeout: 900000 }, () => {
    const once = turn === 0 || ALL ? test : () => {}; // what needs no core
    let server;
    before(async () => {
      server = await serve({ port: 0, isolated, folders: ['tests'] });
      complaints.length = 0;
    });
    after(() => server?.close());

    test('trains', async () => {
      await page.goto(`${server.address}#train`);
      assert.equal(await page.evaluate('crossOriginIsolated'), isolated);
      await page.waitForFunction("document.getElementById('start')?.disabled === false");
      await page.click('#start');
      await page.waitForFunction(`${number('step')} > 150`);
      await page.click('#start');
      assert.ok(await page.evaluate(number('loss')) < 1);
      assert.match(await page.evaluate("document.getElementById('mistakes').textContent"), /of these 480/);
    });

    test('plays', async () => {
      await page.goto(`${server.address}#playground`);
      const done = "Number(document.getElementById('play-status')?.dataset.turn ?? -1)";
      const shown = "document.querySelector('[role=tabpanel]:not([hidden])').textContent";
      await page.waitForFunction(`${done} > 0`);
      for (const [example, tab, says] of sample([
        ['Softmax', 'results', /f32\[8,24\]/], ['Softmax', 'code', /\(module/], ['Softmax', 'module', /fuse-loops/],
        ['transpose', 'picture', /comes from x\[/], ['Mandelbrot set', 'memory', /share an arena/],
        ['all-reduce', 'timeline', /collective/], ['A loop by the builder', 'results', /from -10/],
      ], 2, turn)) {
        const before = await page.evaluate(done);
        await page.select('#example', example);
        await page.waitForFunction(`${done} > ${before}`);
        await page.click(`[data-tab=${tab}]`);
        await page.waitForFunction(`${says}.test(${shown})`);
        assert.equal(await page.evaluate("document.getElementById('play-problem').hidden"), true, example);
      }
    });

    test('opens', async () => {
      await page.goto(`${server.address}#open`);
      await page.waitForFunction("document.querySelector('#sample')");
      await page.click('#sample');
      await page.waitForFunction("document.querySelector('#run')");
      await page.click('#run');
      await page.waitForFunction("document.querySelector('#outcome:not([hidden]) .result')");
    });

    test('meets and hangs', async () => {
      await page.goto(`${server.address}#meshes`);
      await page.waitForFunction("document.querySelector('.together, .message')");
      await page.select('#mesh-program', 'Hangs: a ring of receivers');
      await page.waitForFunction("document.querySelectorAll('path.waits').length === 4");
      assert.match(await page.evaluate("document.getElementById('mesh-problem').textContent"), /deadlock/);
    });

    test('exhibits of the gallery', async () => {
      const figure = (title) => `document.querySelector('[data-figure="${title}"]')`;
      /* How many colours the stage has, and a sum over them. */
      await page.goto(`${server.address}#gallery/life`);
      await page.evaluate(`void (window.look = () => {
        const stage = document.getElementById('stage');
        const context = new OffscreenCanvas(stage.width, stage.height).getContext('2d');
        context.drawImage(stage, 0, 0);
        const pixels = new Uint32Array(context.getImageData(0, 0, stage.width, stage.height).data.buffer);
        return { colours: new Set(pixels).size, sum: pixels.reduce((a, b) => (a * 31 + b) % 1e9, 0) };
      })`);
      for (const { id, kind } of sample(SHOWN_EXHIBITS, 2, turn)) {
        await page.evaluate(`location.hash = 'gallery/${id}'`);
        await page.waitForFunction(`document.querySelector('[data-exhibit=${id}]') && ${figure('Program')}`);
        if (kind === 'llama') {
          await page.waitForFunction("document.getElementById('written').textContent.length > 200");
        } else if (kind === 'digits' || kind === 'teach') {
          await page.evaluate(`void (() => {
            const stage = document.getElementById('stage');
            const box = stage.getBoundingClientRect();
            const point = (type, y) => stage.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: box.left + box.width * 0.5, clientY: box.top + box.height * y }));
            stage.setPointerCapture = () => {};
            point('pointerdown', 0.2);
            for (let y = 0.25; y < 0.8; y += 0.05) point('pointermove', y);
            point('pointerup', 0.8);
          })()`);
          await page.waitForFunction("/^(This is a|It takes this for a) 1\\b/.test(document.getElementById('digit').textContent)");
        } else {
          await page.waitForFunction(`${figure('One step')} && window.look().colours > 3`);
        }
        if (kind === 'field') {
          const before = await page.evaluate('window.look().sum');
          await page.waitForFunction(`window.look().sum !== ${before}`);
        }
      }
    });

    once('guides', async () => {
      await page.goto(`${server.address}#guides/from-jax`);
      await page.waitForFunction("document.querySelector('.guide h1')?.textContent.startsWith('From JAX')");
    });

    once('no view scrolls sideways', async () => {
      for (const { id } of VIEWS) {
        await page.evaluate(`location.hash = '${id}'`);
        await page.waitForFunction(`document.querySelector('.view-${id} > *')`);
        const width = await page.evaluate('document.documentElement.scrollWidth');
        assert.ok(width <= 390, `${id}: ${width}`);
      }
    });

    /* Firefox's `new Worker` in a worker can wait for ever while the page is busy: see web/lend.mjs. */
    test('threads of a worker, while the page is busy', async () => {
      await page.goto(`${server.address}#guides`);
      const threads = await page.evaluate(`new Promise(async (resolve, reject) => {
        const { lendWorkers } = await import('/web/lend.mjs');
        const worker = lendWorkers(new Worker('/tests/support/lent_clients.mjs', { type: 'module' }));
        const slices = setInterval(() => { for (const end = performance.now() + 12; performance.now() < end;); }, 16);
        worker.onmessage = ({ data }) => {
          clearInterval(slices);
          worker.terminate();
          resolve(data);
        };
        worker.onerror = (error) => reject(error.message);
      })`);
      assert.equal(threads, isolated ? 2 : 0);
    });

    // What a worker was loading when its view was left is no complaint; a module that is missing fails the tests above.
    test('complained of nothing but threads that cannot be', () => assert.deepEqual(
      complaints.filter((text) => !/error loading dynamically imported module/.test(text) &&
        (isolated || !/^xla-wasm: no threads, as this page/.test(text))), []));
  });
}
