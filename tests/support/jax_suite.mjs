/**
 * make jax-suite DIR=…: runs all captured programs of a folder (tests/captured/README.md has the format) with
 * 0 and 2 threads, prints those that do not agree with real XLA, and last `N of M agree`.
 *
 *     node tests/support/jax_suite.mjs DIR [--only TEXT] [--threads 0,2]
 *
 * `open.json` in the folder or beside it: the records whose results XLA leaves open, by id, each with its reason.
 */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { readRecords, runRecord } from './captured.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' }, threads: { type: 'string', default: '0,2' } },
});
if (positionals.length !== 1) {
  console.error('usage: make jax-suite DIR=folder [ARGS="--only TEXT --threads 0,2"]');
  process.exit(2);
}
const folder = pathToFileURL(`${resolve(positionals[0])}/`);
const list = ['open.json', '../open.json'].map((name) => new URL(name, folder)).find(existsSync);
const open = list ? JSON.parse(readFileSync(list, 'utf8')) : {};

/** The problem of a record's results, and whether the client can go on. */
async function problemOf(client, record) {
  try {
    const [problem] = await runRecord(client, record);
    return { problem };
  } catch (error) {
    return { problem: error.message.split('\n')[0], isLost: error.code === 'INTERNAL' };
  }
}

let [agree, count] = [0, 0];
for (const threads of values.threads.split(',').map(Number)) {
  let client = await Client.create({ threads });
  for (const record of await readRecords(folder, values.only)) {
    const { problem, isLost } = await problemOf(client, record);
    count++;
    if (!problem || record.id in open) agree++;
    else console.log(`${record.file} ${record.id} ${record.test}, ${threads} threads: ${problem}`);
    if (!isLost) continue;
    client.dispose();
    client = await Client.create({ threads });
  }
  client.dispose();
}
console.log(`${agree} of ${count} agree`);
process.exit(agree === count ? 0 : 1);
