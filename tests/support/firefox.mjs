/** Starts headless Firefox, which puppeteer drives by WebDriver BiDi. Playwright needs its own build of Firefox. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import puppeteer from 'puppeteer-core';

const HANGS_MS = 200_000; // other tests may take the cores

/** Where Firefox is, or undefined. */
export function firefoxPath() {
  const folders = process.env.PATH.split(delimiter);
  const paths = ['firefox-esr', 'firefox'].flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env.FIREFOX, ...paths].find((path) => path && existsSync(path));
}

/**
 * A page in a Firefox of its own.
 * @param {{ width: number, height: number }} viewport
 * @returns {Promise<{ page: import('puppeteer-core').Page, complaints: string[], close: () => Promise<void> }>}
 *   `complaints`: errors and warnings on the console, and uncaught errors
 */
export async function openFirefox(viewport) {
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: firefoxPath(), defaultViewport: viewport,
    timeout: HANGS_MS, protocolTimeout: HANGS_MS });
  const page = await browser.newPage(), complaints = [];
  page.setDefaultTimeout(HANGS_MS);
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.stack ?? String(error)));
  return { page, complaints, close: () => browser.close() };
}
