/**
 * Puts old faults back, one at a time (old_faults.json), and says which test of `make check` sees each.
 *
 *     make old-faults [ONLY='1.9 2.1']
 *
 * A fault is a name, the files with what stands there now and what stood there, and the test that sees it, which is
 * tried first. Where it passes, all tests of `make check` are tried. Fails if a fault is not seen.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { build, digest, EVERY, makeTree, replace, run } from './tree.mjs';

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' }, tests: { type: 'string' } } });
const TESTS = options.tests.split(/\s+/).filter(Boolean);
const MAX_SECONDS = 100; // of a core

const faults = JSON.parse(await readFile(new URL('old_faults.json', import.meta.url), 'utf8'));

/** By test file: what fails without a fault, as the tree has no threads. */
const known = new Map();

/** The first test file that fails, or undefined. */
async function seenBy(first) {
  const path = `tests/${first}.test.mjs`;
  if (!TESTS.includes(path)) throw new Error(`${path} is no test of make check`);
  for (const test of [path, ...TESTS.filter((other) => other !== path)]) {
    const { code, failed } = await run(process.execPath, [test], MAX_SECONDS, { known: known.get(test) });
    if (failed.length || code > (known.get(test).length ? 1 : 0)) return test;
  }
  return undefined;
}

async function main() {
  await makeTree('old_faults');
  const right = await digest();
  for (const test of TESTS) known.set(test, (await run(process.execPath, [test], MAX_SECONDS, { known: EVERY })).failed);
  let unseen = 0;
  for (const { point, fault, changes, test } of faults) {
    if (options.only && !options.only.split(' ').includes(point)) continue;
    const undo = [];
    for (const { file, now, then } of changes) undo.unshift(await replace(file, now, then));
    const { code, output } = await build();
    if (code) throw new Error(`${point} does not build:\n${output}`);
    if (changes.some(({ file }) => file.startsWith('src/')) && (await digest()) === right) throw new Error(`${point} changes nothing`);
    const started = Date.now(), by = await seenBy(test);
    unseen += !by;
    console.log(`${point.padEnd(4)} ${by ? `seen by ${by} after ${((Date.now() - started) / 1000).toFixed(1)} s` : 'NOT SEEN'}: ${fault}`);
    for (const back of undo) await back();
  }
  console.log(unseen ? `${unseen} faults were not seen` : 'all faults were seen');
  process.exitCode = unseen ? 1 : 0;
}

await main();
