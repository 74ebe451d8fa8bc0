/** The links of the built site: each leads to a page, and to a heading of it, that is there; so does each file in it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { VIEWS } from '../../demo/views.mjs';
import { openSite } from '../support/browser.mjs';

const SITE = fileURLToPath(new URL('../../build/site', import.meta.url));

let page, address, close;
before(async () => {
  ({ page, address, close } = await openSite('home', { viewport: { width: 1280, height: 900 } }));
  // Links do not depend on what workers compute, and those of 230 pages would compute most of the time.
  await page.addInitScript(() => {
    globalThis.Worker = class extends EventTarget {
      postMessage() {}
      terminate() {}
    };
  });
  await page.reload();
});
after(() => close?.());

/** Splits a link into the page that it shows and a heading of it; packed states of views are pages of their own. */
function splitLink(href) {
  const [view, name, ...rest] = href.slice(1).split('/');
  if (view !== 'guides') return { at: ['gallery'].includes(view) ? href : `#${view}`, anchor: '' };
  const own = ['api', 'operations'].includes(name) ? 1 : 0;
  return { at: ['#guides', name, ...rest.slice(0, own)].filter(Boolean).join('/'), anchor: rest.slice(own).join('/') };
}

/** Shows a page, and returns its address and its text. */
async function visit(at) {
  await page.evaluate((hash) => { location.hash = hash; }, at);
  const [view, name, entry] = at.slice(1).split('/');
  await page.waitForFunction((id) => document.querySelector(`.view-${id} > *`) && !document.querySelector('main.loading'), view);
  if (view === 'guides' && name) {
    const isThere = await page.waitForFunction(([of, one]) => document.querySelector('.list [aria-current]')?.dataset.name === of &&
      (!one || document.querySelector('.guide h1')?.textContent.split(' ').at(-1) === one), [name, entry], { timeout: 5000 }).catch(() => null);
    if (!isThere) return null;
  }
  return page.evaluate(() => ({
    ids: [...document.querySelectorAll('main [id]')].map(({ id }) => id),
    links: [...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href')),
  }));
}

test('every link of every page', { timeout: 300000 }, async () => {
  const pages = new Map();
  const wanted = []; // [page, link, from]
  const queue = ['#home'];
  const known = new Set(queue);
  const outside = new Set();
  while (queue.length) {
    const at = queue.shift();
    const found = await visit(at);
    pages.set(at, found);
    for (const href of new Set(found?.links.map((link) => link.replace(address, '')))) {
      if (href === '#view') continue; /* past the head, of each page */
      if (!href.startsWith('#')) {
        outside.add(href);
        continue;
      }
      const link = splitLink(href);
      wanted.push({ ...link, href, from: at });
      if (!known.has(link.at)) queue.push(link.at);
      known.add(link.at);
    }
  }
  assert.ok(pages.size > 230, `${pages.size} pages`);
  for (const { id } of VIEWS) assert.ok(pages.has(`#${id}`) || id === 'home', id);
  const broken = wanted.filter(({ at, anchor }) => !pages.get(at) || (anchor && !pages.get(at).ids.includes(decodeURIComponent(anchor))));
  assert.deepEqual([...new Set(broken.map(({ from, href }) => `${from}: ${href}`))], []);
  for (const href of outside) {
    if (!/^\w+\//.test(href)) assert.match(href, /^https:\/\/[\w.-]+\.\w+(\/|$)/, href);
    else assert.ok(existsSync(join(SITE, href)), `${href} is no file of the site`);
  }
});

test('every file that the built files name', async () => {
  const files = (await readdir(SITE, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) =>
    join(entry.parentPath ?? entry.path, entry.name));
  const missing = [];
  let count = 0;
  for (const file of files.filter((name) => /\.(html|css|js)$/.test(name))) {
    const text = await readFile(file, 'utf8');
    for (const [, name] of text.matchAll(/["'(`](?:\.\/|\.\.\/|\/)?((?:assets\/)?[\w.-]+-[\w-]{8}\.(?:js|mjs|css|wasm|mlirbc|gz|safetensors|json))["')`]/g)) {
      count++;
      if (!existsSync(join(SITE, name)) && !existsSync(join(SITE, 'assets', name))) missing.push(`${file}: ${name}`);
    }
  }
  assert.ok(count > 100, `${count}`);
  assert.deepEqual(missing, []);
});
