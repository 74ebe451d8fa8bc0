/**
 * Measures whole programs, exported from JAX (programs/export.py), here and on native XLA:CPU on one thread; models also
 * with onnxruntime-web and tfjs (models.mjs). Results are compared first; then rounds alternate. Needs jax, which
 * `make bench ARGS=programs` installs.
 *
 *     make bench ARGS="programs [--only PATTERN] [--threads 1,2] [--rounds N] [--peers ort,tfjs]
 *                      [--clock cpu] [--write]"
 *
 * --clock cpu: processor time instead of wall time, for one thread on a busy machine.
 * --write: puts the table into programs/README.md, with machine and date.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { bold, circumstances, geometric, measure, Native, time } from './against_native.mjs';
import { CLOCKS } from './clocks.mjs';
import { nodeHosts } from './hosts.mjs';
import { Peer, PEERS, preparePeers } from './peers.mjs';

const FOLDER = fileURLToPath(new URL('programs/', import.meta.url));
const ROUND_MS = 150;
const TOLERANCE = 2e-3; // of the largest element: solvers take other steps where a last bit differs

const { values: given } = parseArgs({
  args: process.argv.slice(2),
  options: {
    only: { type: 'string', default: '' },
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '5' },
    peers: { type: 'string', default: 'ort,tfjs' },
    clock: { type: 'string', default: 'wall' },
    write: { type: 'boolean', default: false },
  },
});
if (!CLOCKS.includes(given.clock)) throw new Error(`--clock is one of ${CLOCKS.join(', ')}`);
const settings = given.threads.split(',').map(Number);
const engines = given.peers.split(',').filter(Boolean);

const size = (bytes) => (bytes < 1e4 ? `${bytes} B` : bytes < 1e6
  ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`);

function row(result) {
  const cells = [result.name, time(result.nativeMs)];
  result.ms.forEach((ms, i) => {
    cells.push(time(ms), bold(result.ratios[i]));
  });
  cells.push(...engines.map((name) => bold(result.peers[name])));
  cells.push(time(result.parseMs), time(result.compileMs), time(result.nativeCompileMs),
    time(result.firstMs), ...result.memory.map(size), result.error.toExponential(0));
  return `| ${cells.join(' | ')} |`;
}

function table(results) {
  const columns = ['program', 'native', ...settings.flatMap((n) => [`${n} thread${n > 1 ? 's' : ''}`, 'ratio']),
    ...engines.map((name) => PEERS[name]), 'parse', 'compile', 'native compile', 'first run', 'temporaries', 'of values', 'native', 'error'];
  const average = (values) => (values.length ? geometric(values).toPrecision(3) : '');
  const mean = settings.flatMap((_, i) => ['', average(results.map((r) => r.ratios[i]))]);
  mean.push(...engines.map((name) => average(results.map((r) => r.peers[name]).filter(Boolean))));
  return [
    `| ${columns.join(' | ')} |`,
    `| --- |${' --: |'.repeat(columns.length - 1)}`,
    ...results.map(row),
    `| geometric mean | | ${mean.join(' | ')} |${' |'.repeat(8)}`,
  ].join('\n');
}

function page(results) {
  return `# Whole programs

The output of \`make bench ARGS="programs --write"\` ${circumstances()}. Programs are exports from JAX ([export.py](export.py)). Native is XLA:CPU on
one thread, which may use registers of 256 or 512 bits; WebAssembly has 128. A ratio is our time by native's, round by round:
**bold** if we are slower. On one thread, other packages run the model as their users write it ([models.mjs](../models.mjs)).
Temporaries are those of a run without donated arguments; "of values" is without the kernels' working memory (packed operands),
which native does not report either. "Error" is the largest difference from native's results, relative to the largest element:
solvers with adaptive steps take other steps if a last bit differs.

${table(results)}
`;
}

const names = readdirSync(FOLDER).filter((file) => file.endsWith('.hlo')).map((file) => file.slice(0, -4))
  .filter((name) => new RegExp(given.only).test(name));
const folder = mkdtempSync(`${tmpdir()}/xla-wasm-programs-`);
const native = new Native(FOLDER);
const hosts = await nodeHosts();
const clients = [];
const peers = [];
const results = [];
const options = {
  clients, native, programs: FOLDER, folder, rounds: Number(given.rounds), roundMs: ROUND_MS, clock: given.clock,
};

/** Returns a program as a row for preparePeers(). */
function rowOf(name) {
  const operands = JSON.parse(readFileSync(`${FOLDER}${name}.json`, 'utf8')).map((_, i) => `p${i}`);
  return { name, title: name, peer: name, operands };
}

for (const name of engines) peers.push(await Peer.start(hosts, name, 1));
for (const threads of settings) clients.push(await Client.create({ threads }));
try {
  for (const name of names) {
    process.stderr.write(`${name} `);
    let ready = [];
    try {
      ready = await preparePeers(rowOf(name), peers, folder, native);
      results.push(await measure(name, { ...options, peers: ready }));
      const last = results.at(-1);
      console.log(row(last) + (last.error > TOLERANCE ? '  <- results differ' : ''));
    } catch (error) {
      console.log(`| ${name} | failed: ${error.message} |`);
    }
    for (const peer of ready) await peer.host.call('end');
  }
  console.log(`\n${table(results)}`);
  if (given.write) writeFileSync(`${FOLDER}README.md`, page(results));
} finally {
  clients.forEach((client) => client.dispose());
  for (const { host } of peers) await host.close();
  await hosts.close();
  native.close();
  rmSync(folder, { recursive: true });
}
