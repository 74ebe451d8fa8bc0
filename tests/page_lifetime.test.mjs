/** A client's life in a page: memory that is exhausted, workers that are ended from outside. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { isolatedPage, launch } from './browser.mjs';
import { ROOT } from './program.mjs';
import { ISOLATED, serveFolder } from './project.mjs';

describe('in Chromium', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await serveFolder(ROOT, ISOLATED);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });
  const inPage = async (body, argument) => {
    const page = await isolatedPage(browser, server);
    try {
      return await page.evaluate(body, argument);
    } finally {
      await page.close();
    }
  };

  for (const threads of [0, 2]) {
    test(`memory exhausted, ${threads} threads`, { timeout: 120000 }, async () => {
      assert.deepEqual(await inPage(async (count) => {
        const { exhaust: inThisPage } = await import('/tests/exhaustion.mjs');
        return inThisPage(await import('/bindings/index.mjs'), count);
      }, threads), []);
    });
  }
});
