/**
 * Benchmarks: runs computations with xla-wasm, with other packages that compute in WebAssembly, and as plain loops in
 * JavaScript, all on equal numbers.
 *
 *     make bench [ARGS="--only conv --markdown"]
 *
 *     --where node|chromium   the host; with --threads, instead of both default settings
 *     --threads N
 *     --only PATTERN          the workloads whose name contains a regular expression
 *     --engines ort,tfjs      the other engines; of ort, tfjs, jax, plain
 *     --markdown              print README.md's table, too
 *     --json FILE             write all measurements
 *
 * ARGS="programs ..." and ARGS="operations ..." are programs.mjs and operations.mjs.
 *
 * Each engine has its own process (or page) and is warmed up until it becomes no faster. Then rounds alternate between
 * engines: a machine's speed drifts, but ratios within a round hardly do. Results are compared before times are taken.
 * It is a measurement, not a test: the exit code is always 0.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';

import { distance } from './digest.mjs';
import { chromiumHosts, nodeHosts } from './hosts.mjs';
import { sizesOf, versionsOf } from './packages.mjs';
import { printMarkdown, printSizes, Table } from './table.mjs';
import { TOLERANCE, WORKLOADS } from './workloads.mjs';

const ROUNDS = 9;
const ROUND_MS = 40;
const FEW_ROUNDS = 5; // of workloads that take long
const LONG_MS = 300;

/** Each other engine, and the setting of xla-wasm that is called in the same way. */
const PEERS = { tfjs: 'xla', jax: 'xla', plain: 'xla', ort: 'xla-host' };

const HOSTS = { node: nodeHosts, chromium: chromiumHosts };
/** Engines without threads in Node: tfjs and jax-js need a browser's workers. */
const SETTINGS = [{ where: 'node', threads: 1 }, { where: 'chromium', threads: 2 }];

const { values: options } = parseArgs({
  options: {
    where: { type: 'string' },
    threads: { type: 'string' },
    only: { type: 'string', default: '' },
    engines: { type: 'string', default: Object.keys(PEERS).join() },
    markdown: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});

const LOADS = 7; // processes, by turns
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const span = (values) => ({
  median: median(values), least: Math.min(...values), most: Math.max(...values),
});

/** A running engine, which is started again after a failure. */
class Engine {
  constructor(name, hosts, threads) {
    Object.assign(this, { name, hosts, threads, loads: [] });
  }

  async start() {
    this.host = await this.hosts.start(this.threads);
    const { workloads, loadMs } = await this.host.call('start', this.name, this.threads);
    this.workloads = workloads;
    this.loads.push(loadMs);
  }

  /** Measures the time from the import to the first result, in several processes. */
  get loadMs() {
    return median(this.loads);
  }

  async call(method, ...args) {
    try {
      return await this.host.call(method, ...args);
    } catch (error) {
      await this.host.close();
      await this.start();
      throw error;
    }
  }

  close() {
    return this.host?.close();
  }
}

/** Prepares the workload on `engines`; returns those that succeed, and their answers. */
async function prepareAll(id, engines) {
  const ready = new Map();
  const failed = {};
  for (const engine of engines) {
    if (!engine.workloads.includes(id)) continue;
    try {
      ready.set(engine, await engine.call('prepare', id));
    } catch (error) {
      failed[engine.name] = error.message;
    }
  }
  const [reference] = ready.values();
  for (const [engine, { digests }] of ready) {
    const apart = distance(reference.digests, digests);
    if (apart <= TOLERANCE) continue;
    failed[engine.name] = `its results differ by ${apart.toPrecision(2)} of the largest element`;
    ready.delete(engine);
    await engine.call('end');
  }
  return { ready, failed };
}

/** { engine name: { firstMs, ms: span, rounds } } and { engine name: error } */
async function measure(id, engines) {
  const { ready, failed } = await prepareAll(id, engines);
  const times = new Map([...ready.keys()].map((engine) => [engine, []]));
  for (let round = 0, rounds = ROUNDS; round < rounds; round++) {
    for (const [engine, taken] of times) {
      try {
        taken.push(await engine.call('round', ROUND_MS));
      } catch (error) {
        failed[engine.name] = error.message;
        times.delete(engine);
      }
    }
    if ([...times.values()].some(([first]) => first > LONG_MS)) rounds = FEW_ROUNDS;
  }
  const results = {};
  for (const [engine, rounds] of times) {
    await engine.call('end');
    results[engine.name] = { firstMs: ready.get(engine).firstMs, ms: span(rounds), rounds };
  }
  return { results, failed };
}

/** Returns the ratios to our times, round by round. */
function addRatios(results) {
  for (const [peer, ours] of Object.entries(PEERS)) {
    if (!results[peer] || !results[ours]) continue;
    results[peer].ratio = span(results[peer].rounds.map((ms, i) => ms / results[ours].rounds[i]));
  }
}

async function measureSetting({ where, threads }, names) {
  const hosts = await HOSTS[where]();
  const ours = names.includes('ort') ? ['xla', 'xla-host'] : ['xla'];
  const all = [...ours, ...names];
  const engines = all.map((name) => new Engine(name, hosts, threads));
  const table = new Table(hosts, threads, all);
  try {
    for (let load = 0; load < LOADS; load++) {
      for (const engine of engines) {
        await engine.close();
        await engine.start();
      }
    }
    const workloads = {};
    table.header();
    for (const [id, { title }] of Object.entries(WORKLOADS)) {
      if (!new RegExp(options.only).test(`${id} ${title}`)) continue;
      table.progress(title);
      const { results, failed } = await measure(id, engines);
      addRatios(results);
      workloads[id] = { title, results, failed };
      table.row(title, results, failed);
    }
    const loadMs = Object.fromEntries(engines.map((engine) => [engine.name, engine.loadMs]));
    table.footer(workloads, loadMs);
    return { where: hosts.name, version: hosts.version, threads, workloads, loadMs };
  } finally {
    for (const engine of engines) await engine.close();
    await hosts.close();
  }
}

function machine() {
  const [{ model }] = cpus();
  return `${model.trim()}, ${availableParallelism()} cores`;
}

const names = options.engines.split(',').filter(Boolean);
const unknown = names.find((name) => !PEERS[name]);
if (unknown) throw new Error(`--engines: there is no ${unknown}; of ${Object.keys(PEERS).join()}`);
const settings = options.where || options.threads
  ? [{ where: options.where ?? 'node', threads: Number(options.threads ?? availableParallelism()) }]
  : SETTINGS;

const report = {
  date: new Date().toISOString().slice(0, 10),
  machine: machine(),
  versions: versionsOf(),
  bytes: await sizesOf(),
  settings: [],
};
console.log(`${report.date}, ${report.machine}; ` +
  Object.entries(report.versions).map(([name, version]) => `${name} ${version}`).join(', '));
for (const setting of settings) report.settings.push(await measureSetting(setting, names));
printSizes(report.bytes);
if (options.markdown) printMarkdown(report);
if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 1)}\n`);
