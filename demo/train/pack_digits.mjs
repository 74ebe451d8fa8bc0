/**
 * Makes the block of digits.mjs from the package `mnist`. As a command, writes it, compressed:
 *
 *     node demo/train/pack_digits.mjs build/digits.bin.gz
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { randomNumbers } from '../shared/random.mjs';
import { COUNT, PIXELS, shuffle } from './digits.mjs';

/** Makes the block from the package's ten JSON files. */
export async function packDigits() {
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(process.argv[2], gzipSync(await packDigits(), { level: 9 }));
}
