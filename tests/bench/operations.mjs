/**
 * Measures operations by element type (operations/operations.py) here, on native XLA:CPU on one thread, and in other
 * JavaScript engines. Results are compared first; then rounds alternate.
 *
 *     make bench ARGS="operations [--only PATTERN] [--threads 1] [--rounds N] [--peers ort,tfjs,jax]
 *                      [--clock cpu] [--write]"
 *
 * --clock cpu: processor time instead of wall time, for one thread on a busy machine; not in Chromium.
 * --write: puts the table into operations/README.md, with machine and date.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { bold, circumstances, geometric, measure, Native, time } from './against_native.mjs';
import { CLOCKS } from './clocks.mjs';
import { chromiumHosts, nodeHosts } from './hosts.mjs';
import { workOf } from './limits.mjs';
import { Pair } from './pair.mjs';
import { Peer, PEERS, preparePeers } from './peers.mjs';
import { probe, rates } from './probes.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAMS = fileURLToPath(new URL('../../build/operations', import.meta.url));
const PAGE = new URL('operations/README.md', import.meta.url);
const ROUND_MS = 50;
const NODE_24 = fileURLToPath(new URL('../../build/hosts/node_modules/node-24/bin/node', import.meta.url));
const HOSTS = { node24: () => nodeHosts(NODE_24), chromium: chromiumHosts };

const { values: given } = parseArgs({
  args: process.argv.slice(2),
  options: {
    only: { type: 'string', default: '' },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    peers: { type: 'string', default: Object.keys(PEERS).join() },
    clock: { type: 'string', default: 'wall' },
    hosts: { type: 'string', default: '' },
    write: { type: 'boolean', default: false },
  },
});
if (!CLOCKS.includes(given.clock)) throw new Error(`--clock is one of ${CLOCKS.join(', ')}`);
const settings = given.threads.split(',').map(Number);

/** xla-wasm in another host. */
class Elsewhere {
  static async start(name) {
    const elsewhere = new Elsewhere();
    elsewhere.name = name;
    elsewhere.hosts = await HOSTS[name]();
    elsewhere.host = await elsewhere.hosts.start(1);
    await elsewhere.host.call('start', 'xla', 1);
    return elsewhere;
  }

  get title() {
    return `${this.hosts.name} ${parseInt(this.hosts.version)}`;
  }

  prepare({ name }, folder) {
    const path = (file) => relative(ROOT, file);
    const operands = JSON.parse(readFileSync(`${PROGRAMS}/${name}.json`, 'utf8'));
    const files = operands.map((_, i) => path(`${folder}/${name}.in${i}.npy`));
    return this.host.call('prepareProgram', path(`${PROGRAMS}/${name}.hlo`), files);
  }

  round(milliseconds, clock) {
    return this.host.call('round', milliseconds, clock);
  }

  async close() {
    await this.host.close();
    await this.hosts.close();
  }
}

/** The least milliseconds of a row at this machine's speeds, or undefined. */
function limitOf({ name, title }) {
  const work = workOf(title, readFileSync(`${PROGRAMS}/${name}.hlo`, 'utf8'));
  return work && 1e3 * Math.max(work.instructions / speeds.instructions, work.divisions / speeds.divisions,
    work.bytes / speeds.copied);
}

function line({ title, nativeMs, ms, ratios, limit, error, evaluates, peers, toNative, pair }) {
  const cells = [evaluates ? `${title} (evaluated)` : title, time(nativeMs)];
  ms.forEach((one, i) => cells.push(time(one), bold(ratios[i])));
  cells.push(limit ? (limit / nativeMs).toPrecision(2) : '');
  if (pairs) cells.push((ms[0] / ms.at(-1)).toFixed(2), pair.toFixed(2));
  cells.push(...elsewhere.map(({ name }) => bold(toNative[name])));
  cells.push(...Object.keys(PEERS).map((name) => bold(peers[name])), error.toExponential(0));
  return `| ${cells.join(' | ')} |`;
}

function table(results) {
  const columns = ['operation', 'native', ...settings.flatMap((n) => [`${n} thread${n > 1 ? 's' : ''}`, 'ratio']),
    'limit', ...(pairs ? ['one by two', 'loops'] : []), ...elsewhere.map(({ title }) => title), ...Object.values(PEERS), 'error'];
  const mean = (values) => (values.length ? geometric(values).toPrecision(3) : '');
  const ours = settings.flatMap((_, i) => ['', mean(results.map((r) => r.ratios[i]))]);
  const there = elsewhere.map(({ name }) => mean(results.map((r) => r.toNative[name]).filter(Boolean)));
  const theirs = Object.keys(PEERS).map((name) => mean(results.map((r) => r.peers[name]).filter(Boolean)));
  return [
    `| ${columns.join(' | ')} |`,
    `| --- |${' --: |'.repeat(columns.length - 1)}`,
    ...results.map(line),
    `| geometric mean | | ${[...ours, '', ...(pairs ? ['', ''] : []), ...there, ...theirs].join(' | ')} | |`,
  ].join('\n');
}

function summary(results) {
  const ratios = results.map((r) => r.ratios[0]);
  const above = (limit) => ratios.filter((ratio) => ratio > limit).length;
  const ours = results.filter(({ ratios: [ratio], limit, nativeMs }) => ratio > 2.5 && !(ratio < (1.5 * limit) / nativeMs));
  return `${results.length} rows, one thread: ${above(1)} slower than native, ${above(2)} more than twice, ` +
    `${above(4)} more than four times. Above 2.5 and above 1.5 times the limit, or without one: ` +
    `${ours.map(({ title }) => title).join(', ') || 'none'}.`;
}

function page(results, limits) {
  return `# Operations

The output of \`make bench ARGS="operations --write"\` ${circumstances()}. Operations are
JAX's ([operations.py](operations.py)), of 2^20 elements unless the row states another size. Native is XLA:CPU on one
thread, which may use registers of 256 or 512 bits; WebAssembly has 128. A ratio is our time by
theirs, round by round: **bold** if we are slower. One thread is the caller's, without a worker, in all packages. onnxruntime-web
copies operands in and results out in each call; its ratio is to our time without such copies. A column of another host has our
time there by native's. "Error" is the largest difference from native's results, relative to the largest element. A row marked
"evaluated" has a step that the evaluator runs. "One by two" is one thread's time by two threads'. "Loops" is the speed of two
threads by that of one at that moment, for a loop that shares no memory: below 2, the machine limits the second thread.
"Limit" is the ratio of a loop that only does the row's arithmetic, in 128-bit lanes
without fused multiply-add and by XLA's algorithms, or that only moves its bytes ([limits.mjs](../limits.mjs)); it is empty
if the count is unknown. A row far above its limit should be mended. Of erf and tanh, XLA's forms are up to 6.6 and 4.9 ulp off and
take 26 and 24 instructions; ours are 2.4 and 2.9 ulp off and take 35 and 24.

The machine's limits, by minimal loops of WebAssembly: ${
  Object.entries(limits).map(([what, much]) => `${what} ${much}`).join('; ')}.

${summary(results)}

${table(results)}
`;
}

const rows = JSON.parse(readFileSync(`${PROGRAMS}/rows.json`, 'utf8'))
  .filter(({ name, title }) => new RegExp(given.only).test(`${name} ${title}`));
if (!rows.length) throw new Error(`no row matches ${given.only}; ${PROGRAMS}/rows.json has those that operations.py wrote last`);
const limits = probe(), speeds = rates();
for (const [what, much] of Object.entries(limits)) console.log(`${what}: ${much}`);
const folder = mkdtempSync(`${PROGRAMS}/run-`); // a folder that is served to Chromium
const native = new Native(PROGRAMS);
const hosts = await nodeHosts();
const [clients, peers, elsewhere, results] = [[], [], [], []];
const pairs = settings.at(-1) === 2 && new Pair();
/* With one thread, the caller computes, as in the other engines: a message to a worker and back takes 60 us or more. */
for (const threads of settings) clients.push(await Client.create({ threads: threads === 1 ? 0 : threads }));
for (const name of given.peers.split(',').filter(Boolean)) peers.push(await Peer.start(hosts, name, 1));
for (const name of given.hosts.split(',').filter(Boolean)) elsewhere.push(await Elsewhere.start(name));
try {
  for (const row of rows) {
    let ready = [];
    try {
      ready = await preparePeers(row, peers, folder, native);
      if (elsewhere.length) await native.ask({ prepare: row.name, folder });
      for (const one of elsewhere) {
        await one.prepare(row, folder);
        ready.push(one);
      }
      const options = { clients, native, programs: PROGRAMS, folder, rounds: Number(given.rounds), roundMs: ROUND_MS, clock: given.clock };
      const before = pairs && await pairs.measure();
      const measured = await measure(row.name, { ...options, peers: ready });
      const pair = pairs && Math.min(before, await pairs.measure());
      const limit = limitOf(row);
      results.push({ ...measured, title: row.title, limit, pair });
      console.log(line(results.at(-1)));
    } catch (error) {
      console.log(`| ${row.title} | failed: ${error.message} |`);
    }
    for (const peer of ready) await peer.host.call('end');
  }
  console.log(`\n${table(results)}\n\n${summary(results)}`);
  if (given.write) writeFileSync(PAGE, page(results, limits));
} finally {
  clients.forEach((client) => client.dispose());
  if (pairs) await pairs.close();
  for (const { host } of peers) await host.close();
  for (const one of elsewhere) await one.close();
  await hosts.close();
  native.close();
  rmSync(folder, { recursive: true });
}
