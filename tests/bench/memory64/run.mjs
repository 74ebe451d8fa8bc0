/**
 * Measures the cost of 64-bit addresses in Chromium: the loops of loops.c with either size of address, alternately; the
 * min of 500 calls of a few milliseconds.
 *
 *     node tests/bench/memory64/run.mjs
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { launch, newPage } from '../../support/browser.mjs';

const MEMORY = 2 ** 28;
const BITS = [32, 64];

function built(bits, folder) {
  const path = join(folder, `${bits}.wasm`), exported = ['matvec', 'panel', 'chain', 'gather'].map((name) => `-Wl,--export=${name}`);
  execFileSync('clang-19', [`--target=wasm${bits}`, '-nostdlib', '-ffreestanding', '-msimd128', '-O2', '-fno-builtin', '-fno-vectorize',
    '-fno-slp-vectorize', '-Wl,--no-entry', ...exported, `-Wl,--initial-memory=${MEMORY}`, `-Wl,--max-memory=${MEMORY}`, '-o', path,
    fileURLToPath(new URL('loops.c', import.meta.url))]);
  return [...readFileSync(path)];
}

const folder = mkdtempSync(join(tmpdir(), 'memory64-'));
const bytes = Object.fromEntries(BITS.map((bits) => [bits, built(bits, folder)]));
rmSync(folder, { recursive: true });
const browser = await launch();
const { page } = await newPage(browser);
const results = await page.evaluate(async (modules) => {
  const MB = 2 ** 20, calls = { // times, function, arguments
    'vector x matrix, 16 MB': [5, 'matvec', 64 * MB, MB, 2 * MB, 2048, 2048],
    'vector x matrix, 0.5 MB': [120, 'matvec', 64 * MB, MB, 2 * MB, 128, 1024],
    'inner loop of a matrix product': [1, 'panel', 64 * MB, 65 * MB, 2 * MB, 256, 3000],
    'x * y + z of 4,096': [1, 'chain', 64 * MB, 65 * MB, 66 * MB, 4096, 5000],
    'gather of scalars': [1, 'gather', 64 * MB, 65 * MB, 66 * MB, 4096, 1000],
  };
  const instances = {};
  for (const bits of Object.keys(modules)) instances[bits] = (await WebAssembly.instantiate(new Uint8Array(modules[bits]), {})).instance.exports;
  return Object.entries(calls).map(([title, [times, name, ...args]]) => {
    const least = {};
    for (let i = 0; i < 500; i++) {
      for (const bits of i % 2 ? [32, 64] : [64, 32]) {
        const given = bits === 64 ? args.map(BigInt) : args;
        const begin = performance.now();
        for (let k = 0; k < times; k++) instances[bits][name](...given);
        least[bits] = Math.min(least[bits] ?? Infinity, performance.now() - begin);
      }
    }
    return `| ${title} | ${least[32].toFixed(1)} ms | ${(least[64] / least[32]).toFixed(2)} |`;
  });
}, bytes);
console.log(`Chromium ${browser.version()}\n\n| loop | 32 bits | 64 bits by 32 |\n| --- | --: | --: |\n${results.join('\n')}`);
await browser.close();
