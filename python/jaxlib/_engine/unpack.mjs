/** Unpacks the core that a wheel holds (python/tools/core.mjs) into a folder of this process's own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

/** @returns {string} the path of `sync.mjs`; the folder goes when the process ends */
export function unpack(file) {
  const all = brotliDecompressSync(readFileSync(file));
  const line = all.indexOf(10);
  const folder = mkdtempSync(join(tmpdir(), 'xla-wasm-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  let at = line + 1;
  for (const [name, size] of JSON.parse(all.subarray(0, line))) writeFileSync(join(folder, name), all.subarray(at, at += size));
  return join(folder, 'sync.mjs');
}
