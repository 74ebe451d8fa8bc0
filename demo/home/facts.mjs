/** Figures of README for the landing page. Runs in Node when the site is built; the page imports it as 'virtual:facts'. */
import { readFile } from 'node:fs/promises';

const PATTERNS = {
  download: /A page downloads (\d+ kB) gzipped/,
  programs: /(\d+) JAX programs take/,
  ratio: /\[([\d.]+) times\]\(tests\/bench\/programs/,
};

/** @returns {Promise<Record<string, string>>} */
export async function facts() {
  const text = (await readFile(new URL('../../README.md', import.meta.url), 'utf8')).replace(/\s+/g, ' ');
  return Object.fromEntries(Object.entries(PATTERNS).map(([name, pattern]) => {
    const match = pattern.exec(text);
    if (!match) throw new Error(`README.md does not say ${pattern}`);
    return [name, match[1]];
  }));
}
