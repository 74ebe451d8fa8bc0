/** Real headless Chromium, and pages that must not complain. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { chromium } from 'playwright-core';

// In a container as root there is no sandbox; and no test may reach out of the machine.
const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--no-first-run',
];

/** The browser that `.ci/toolchain browser` finds or installs. */
function executablePath() {
  const { CHROMIUM, PATH } = process.env;
  const names = [CHROMIUM ?? 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const paths = names.flatMap((name) => PATH.split(delimiter).map((folder) => join(folder, name)));
  const found = [CHROMIUM, ...paths].find((path) => path?.includes('/') && existsSync(path));
  if (!found) throw new Error('there is no Chromium: .ci/toolchain browser installs it');
  return found;
}

export const launch = () =>
  chromium.launch({ executablePath: executablePath(), args: ARGUMENTS, timeout: 60000 });

/**
 * A page and, in `complaints`, what went wrong in it: errors and warnings on the console, uncaught
 * ones, requests that failed.
 */
export async function newPage(browser, options = {}) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(60000);
  const complaints = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.stack ?? String(error)));
  page.on('requestfailed', (request) => {
    complaints.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  return { page, complaints };
}
