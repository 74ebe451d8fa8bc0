/**
 * Prints README.md's table of accuracy: `node tests/accuracy/table.mjs FOLDER`, the folder being
 * where generate.py wrote its files. Points that are wrong or worst go to standard error.
 */
import { pathToFileURL } from 'node:url';

import { Client } from '../../bindings/index.mjs';
import { measure, readSweeps, runOperation } from './accuracy.mjs';

const folder = pathToFileURL(`${process.argv[2]}/`);
const client = await Client.create({ threads: 0 });
const rows = new Map();
for (const type of ['f32', 'f64']) {
  for (const sweep of await readSweeps(new URL(`${type}.bin`, folder), type)) {
    const got = await runOperation(client, sweep.name, type, sweep.operands);
    const { worst, at, wrong } = measure(sweep, got);
    const point = (i) => {
      const operands = sweep.operands.map((x) => x[i]).join(', ');
      return `${sweep.name}(${operands}) is ${got[i]}, should be ${sweep.results[i]}`;
    };
    if (at >= 0) console.error(`${type} ${worst.toFixed(2)} ulp: ${point(at)}`);
    for (const i of wrong.slice(0, 5)) console.error(`${type} wrong: ${point(i)}`);
    if (!rows.has(sweep.name)) rows.set(sweep.name, []);
    rows.get(sweep.name).push(worst.toFixed(2));
  }
}
client.dispose();
console.log('| function | f32 worst ULP | f64 worst ULP |');
console.log('| --- | ---: | ---: |');
for (const [name, worst] of rows) console.log(`| \`${name}\` | ${worst.join(' | ')} |`);
