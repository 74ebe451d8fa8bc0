/** Tests the page's shell: its download size, the view that an address shows, themes, isolation by a worker. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { serve } from '../../demo/serve.mjs';
import { VIEWS } from '../../demo/views.mjs';
import { PHONE, launch, loadAnew, newPage, shows } from '../support/browser.mjs';

const MAX_BYTES = 150_000; // of the first view, gzipped, without the runtime

let browser, server;
before(async () => {
  browser = await launch();
  server = await serve({ port: 0 });
});
after(async () => {
  await browser?.close();
  await server?.close();
});

async function open(address, options) {
  const opened = await newPage(browser, options);
  await opened.page.goto(address);
  return opened;
}

const ready = (page) =>
  page.waitForFunction(() => document.getElementById('start')?.disabled === false);

test('the first view is small', async () => {
  const { page } = await newPage(browser);
  const asked = new Set();
  page.on('response', (response) => { if (/^http/.test(response.url())) asked.add(new URL(response.url()).pathname); });
  await page.goto(server.address);
  await page.waitForFunction(() => document.querySelector('.output')?.textContent.startsWith('y ='));
  const runtime = /\.wasm$|xla-[a-z]+-.*\.mjs$/;
  const files = [...asked].filter((path) => !runtime.test(path) && path !== '/favicon.ico');
  assert.ok(files.some((file) => file.endsWith('.css')) && files.length > 4, `${files}`);
  let sum = 0;
  for (const file of files) {
    const path = file === '/' ? 'index.html' : file.slice(1);
    sum += gzipSync(await readFile(new URL(`../../build/site/${path}`, import.meta.url))).length;
  }
  assert.ok(sum <= MAX_BYTES, `${sum} bytes: ${files}`);
  await page.close();
});

test('the server lets a browser keep files: for ever if the name has a hash, else until they change', async () => {
  const [asset] = (await readdir(new URL('../../build/site/assets', import.meta.url))).filter((name) => /^index-.*\.js$/.test(name));
  for (const [path, kept] of [[`assets/${asset}`, 'max-age=31536000, immutable'], ['', 'no-cache']]) {
    const first = await fetch(server.address + path);
    const text = await first.text();
    assert.ok(text.length > 1000, `${text.length}`);
    assert.deepEqual([first.status, first.headers.get('Cache-Control')], [200, kept]);
    const again = (tag) => fetch(server.address + path, { headers: { 'If-None-Match': tag } });
    const same = await again(first.headers.get('ETag'));
    assert.deepEqual([same.status, await same.text()], [304, '']);
    const changed = await again('"another"');
    assert.deepEqual([changed.status, await changed.text()], [200, text]);
  }
});

/* No request is answered before those that should be made at the same time. If one waits for another's answer, the view never comes. */
for (const { id } of VIEWS.filter(({ worker }) => worker)) {
  test(`#${id}: its files do not wait for the shell, nor the core for its files`, { timeout: 60000 }, async () => {
    const { page, complaints } = await newPage(browser);
    const asked = (pattern) => page.waitForRequest(pattern, { timeout: 50000 });
    const view = asked(new RegExp(`/assets/${id}-[^/]*js$`)), core = asked(/\/assets\/xla-\w+-[^/]*\.wasm$/);
    await page.route(/\/assets\/index-[^/]*\.js$/, async (route) => { await view; await route.continue(); });
    await page.route(new RegExp(`/assets/${id}-[^/]*js$`), async (route) => { await core; await route.continue(); });
    await page.goto(`${server.address}#${id}`);
    await page.waitForSelector(`.view-${id} > *`);
    await page.close();
    assert.deepEqual(complaints.filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []);
  });
}

const MAX_REQUESTS = 34; // each file of a chain waits for the one that names it

test('a gallery of few requests to its first picture', { timeout: 60000 }, async () => {
  const { page } = await newPage(browser);
  let requests = 0;
  page.on('request', () => requests++);
  await page.goto(`${server.address}#gallery`);
  await page.waitForSelector('[data-figure="One step"]');
  assert.ok(requests <= MAX_REQUESTS, `${requests} requests`);
  await page.close();
});

describe('addresses', () => {
  let page, complaints;
  before(async () => {
    ({ page, complaints } = await open(server.address, { viewport: PHONE }));
  });
  after(() => page?.close());

  for (const { id, title } of VIEWS) {
    test(`#${id} shows ${title}`, async () => {
      await loadAnew(page, `${server.address}#${id}`);
      await page.waitForSelector(`.view-${id} > *`);
      assert.equal(await page.title(), id === 'home' ? 'xla-wasm: XLA programs in your page' : `${title} · xla-wasm`);
      assert.equal((await page.textContent('.masthead [aria-current]')).trim(), id === 'home' ? 'xla-wasm' : title);
      await page.waitForTimeout(100);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `scrolls sideways: ${width}`);
      // What a worker was loading when its view was left is no complaint.
      assert.deepEqual(complaints.splice(0).filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []);
    });
  }

  test('an unreadable one shows the landing page', async () => {
    const { page, complaints } = await open(`${server.address}#nowhere/at-all`);
    await page.waitForSelector('.view-home > *');
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test('the state of a view is in the address', async () => {
    const { page } = await open(`${server.address}#train`);
    await ready(page);
    await page.selectOption('#replicas', '2');
    await page.waitForFunction(() => location.hash.startsWith('#train/'));
    const second = await open(page.url());
    await ready(second.page);
    assert.equal(await second.page.inputValue('#replicas'), '2');
    await page.close();
    await second.page.close();
  });
});

test('light or dark is chosen by a button, and remembered', async () => {
  const context = await browser.newContext({ colorScheme: 'light' });
  const { page } = await newPage(context);
  await page.goto(server.address);
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), 'light');
  await page.click('#theme');
  assert.equal(await theme(), 'dark');
  await page.reload();
  assert.equal(await theme(), 'dark');
  await page.waitForFunction(() => document.getElementById('theme').title);
  await page.click('#theme');
  await page.emulateMedia({ colorScheme: 'dark' }); // as the system has it again
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  await context.close();
});

test('a static host without headers: the service worker adds them', async () => {
  const host = await serve({ port: 0, isolated: 'by worker' });
  const context = await browser.newContext();
  const { page } = await newPage(context);
  await page.goto(`${host.address}#train`);
  await page.waitForFunction(() => window.crossOriginIsolated);
  await ready(page);
  await shows(page.locator('#status'), /worker thread/);
  await context.close();
  await host.close();
});

test('a state that is written late does not take the address back', async () => {
  const { page } = await newPage(browser);
  await page.addInitScript(() => {
    const later = window.setTimeout;
    window.due = [];
    window.setTimeout = (f, ms, ...args) => later((...given) => { if (ms === 200) window.due.push(() => f(...given)); else f(...given); },
      ms, ...args);
  });
  await page.goto(`${server.address}#gallery`);
  await page.waitForFunction(() => window.due.length);
  await page.evaluate(() => {
    location.hash = 'guides';
    window.due.at(-1)(); // before the page hears of it
  });
  await page.waitForSelector('.view-guides > *');
  await page.close();
});

test('views follow the address, whatever state it has, and a closed one leaks nothing', async () => {
  const { page, complaints } = await open(`${server.address}#train`);
  await ready(page);
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return usedSize;
  };
  const round = async (state = '') => {
    for (const { id } of state ? [...VIEWS].reverse() : VIEWS) {
      await page.evaluate((to) => { location.hash = to; }, `${id}${state}`);
      // Not waitForSelector: the handle that it gives would keep the view that is left.
      await page.waitForFunction((of) => Boolean(document.querySelector(of)), `.view-${id} > *`);
      assert.equal(await page.evaluate(() => document.querySelectorAll('.view').length), 1);
      await page.waitForTimeout(150);
    }
  };
  await round('/!!'); // unreadable
  for (let i = 0; i < 2; i++) await round(); // until the engine has compiled what it will
  const before = await heap();
  for (let i = 0; i < 2; i++) await round();
  const grown = (await heap()) - before;
  assert.ok(grown < 500_000, `${grown} bytes more`);
  await page.evaluate(() => { location.hash = 'open'; });
  // One that is compiling ends when it has; then only this view's own is left.
  for (let i = 0; i < 100 && page.workers().length > 1; i++) await page.waitForTimeout(100);
  assert.equal(page.workers().length, 1);
  // What a worker was loading when it was ended is no complaint.
  assert.deepEqual(complaints.filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []);
  await page.close();
});
