/** Starts headless Chromium, and opens pages that must not log errors. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { chromium } from 'playwright-core';

import { serve } from '../../demo/serve.mjs';
import { ISOLATED } from './project.mjs';

// In a container as root there is no sandbox; and no test may reach out of the machine.
export const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--no-first-run',
];

/** The browser that `.ci/toolchain browser` finds or installs. */
export function executablePath() {
  const { CHROMIUM, PATH } = process.env;
  const names = [CHROMIUM ?? 'chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const paths = names.flatMap((name) => PATH.split(delimiter).map((folder) => join(folder, name)));
  const found = [CHROMIUM, ...paths].find((path) => path?.includes('/') && existsSync(path));
  if (!found) throw new Error('there is no Chromium: .ci/toolchain browser installs it');
  return found;
}

export const launch = () =>
  chromium.launch({ executablePath: executablePath(), args: ARGUMENTS, timeout: 60000 });

/**
 * A page and, in `complaints`, what went wrong in it: errors and warnings on the console, uncaught
 * ones, requests that failed, violations of its policy.
 */
export async function newPage(browser, options = {}) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(60000);
  const complaints = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  await page.addInitScript(() => addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile, lineNumber }) => {
    console.error(`policy: ${effectiveDirective} forbids ${blockedURI} at ${sourceFile}:${lineNumber}`);
  }));
  page.on('pageerror', (error) => complaints.push(error.stack ?? String(error)));
  page.on('requestfailed', (request) => {
    complaints.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  return { page, complaints };
}

export const PHONE = { width: 390, height: 844 };

/**
 * The site in a browser of its own.
 * @param {string} hash which view
 * @param {object} [options] `server`: options of serve(); all others: options of the browser's newPage()
 * @returns {Promise<{ page: object, complaints: string[], address: string, browser: object, close: () => Promise<void> }>}
 */
export async function openSite(hash, { server: how, ...options } = {}) {
  const server = await serve({ port: 0, ...how });
  let browser;
  const close = async () => {
    await browser?.close();
    await server.close();
  };
  try {
    browser = await launch();
    const { page, complaints } = await newPage(browser, { viewport: PHONE, ...options });
    page.setDefaultTimeout(20000);
    await page.goto(`${server.address}#${hash}`);
    return { page, complaints, browser, address: server.address, close };
  } catch (error) {
    await close(); // else they would keep this process
    throw error;
  }
}

/**
 * Loads an address anew, in a page that shows another of the same site. The way by about:blank would end the
 * renderer's process with all that it has compiled.
 * Measured: 25 % less processor time for the test of accessibility (Chromium 156, 2026-11).
 */
export async function loadAnew(page, address) {
  await page.evaluate((to) => history.replaceState(null, '', to), address);
  await page.reload();
}

/**
 * Shows a view in the page as it is loaded, by way of the landing page, so that nothing remains of what was shown but
 * scripts, with the engine's code for them, and styles.
 */
export async function showView(page, hash) {
  for (const to of ['home', hash]) {
    await page.evaluate((next) => { location.hash = next; }, to);
    await page.waitForFunction((id) => document.querySelector(`.view-${id} > *`) && !document.querySelector('main.loading'), to.split('/')[0]);
  }
}

/** Pastes a text over all that is in the editor. */
export async function replaceText(page, text) {
  await page.click('.cm-content');
  await page.keyboard.press('ControlOrMeta+a');
  await page.locator('.cm-content').evaluate((content, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    content.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

/**
 * Waits until the first of the locator's elements has this text, or one that matches. What a page shows follows what
 * was done a moment later, on a busy machine much later: asking once would be a question of time.
 */
export async function shows(locator, expected) {
  const holds = (text) => (expected instanceof RegExp ? expected.test(text) : text === expected);
  const end = Date.now() + 20000;
  let text = await locator.first().textContent();
  while (!holds(text) && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    text = await locator.first().textContent();
  }
  assert.ok(holds(text), `${locator} shows ${JSON.stringify(text)} instead of ${expected}`);
}

/** Checks that nothing is wider than the window. */
export async function assertFits(page, what = '') {
  const { wide, width } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, width: innerWidth }));
  assert.ok(wide <= width, `${what} scrolls sideways: ${wide} of ${width}`);
}

/** A page without anything in it, which may have threads, from a server of the repository's files. */
export async function isolatedPage(browser, server) {
  const { page } = await newPage(browser);
  await page.route('**/empty.html', (route) => route.fulfill({ contentType: 'text/html',
    headers: ISOLATED, body: '<!doctype html><title>empty</title>' }));
  await page.goto(`${server.address}empty.html`);
  return page;
}
