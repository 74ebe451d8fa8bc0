#!/usr/bin/env node
/**
 * Lighthouse over the built site, as of a phone: the four categories of each page, and what costs points.
 *
 *     make lighthouse [ARGS="PAGE..."]        fails below 95 on the landing page, below 90 elsewhere
 */
import { chromium } from 'playwright-core';

import { serve } from '../../../demo/serve.mjs';
import { ARGUMENTS, executablePath } from '../browser.mjs';

const { default: lighthouse, desktopConfig } = await import(new URL('../../../build/lighthouse/node_modules/lighthouse/core/index.js', import.meta.url));

const PAGES = ['', 'playground', 'guides', 'guides/api', 'guides/api/Client', 'guides/operations', 'guides/operations/gather',
  'gallery/life', 'gallery/teach', 'train', 'fit', 'meshes', 'open'];
const CATEGORIES = ['performance', 'accessibility', 'best-practices', 'seo'];
const TRIES = 3;
const LEAST = { landing: 95, others: 90 };

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isDesktop = process.argv.includes('--desktop');
const port = 9300 + (process.pid % 500);
const browser = await chromium.launch({ executablePath: executablePath(), args: [...ARGUMENTS, `--remote-debugging-port=${port}`], timeout: 60000 });
const server = await serve({ port: 0 });
let failed = 0;

async function measure(address) {
  const { lhr } = await lighthouse(address, { port, logLevel: 'error', onlyCategories: CATEGORIES }, isDesktop ? desktopConfig : undefined);
  const audits = CATEGORIES.flatMap((id) => lhr.categories[id].auditRefs).filter(({ weight }) => weight).map(({ id }) => lhr.audits[id]);
  return {
    scores: CATEGORIES.map((id) => Math.round(100 * lhr.categories[id].score)),
    costs: audits.filter(({ score }) => score !== null &&
      score < 0.9).map(({ title, displayValue }) => `${title}${displayValue ? `: ${displayValue}` : ''}`),
  };
}

/** The best of up to three: other work on the machine only lowers a score. */
async function bestOf(address, least) {
  let best = await measure(address);
  for (let i = 1; i < TRIES && best.scores.some((score) => score < least); i++) {
    const next = await measure(address);
    if (Math.min(...next.scores) > Math.min(...best.scores)) best = next;
  }
  return best;
}
try {
  for (const name of wanted.length ? wanted : PAGES) {
    const least = name ? LEAST.others : LEAST.landing;
    const { scores, costs } = await bestOf(`${server.address}${name ? `#${name}` : ''}`, least);
    const isLow = scores.some((score) => score < least);
    failed += isLow ? 1 : 0;
    console.log(`${(name || 'landing page').padEnd(26)} ${CATEGORIES.map((id, i) => `${id} ${scores[i]}`).join('  ')}${isLow ? `  below ${least}` : ''}`);
    for (const cost of costs) console.log(`    ${cost}`);
  }
} finally {
  await browser.close();
  await server.close();
}
process.exit(failed ? 1 : 0);
