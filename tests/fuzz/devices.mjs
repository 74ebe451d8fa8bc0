/**
 * Random programs of several devices (collectives in every group mode, loops, branches that part of the
 * devices take, sends, feeds; one program, or several in a launch) on random meshes and numbers of
 * workers, against a simulation. Some runs are cancelled, some workers killed, and in the end the memory
 * is what it was.
 *
 *   node tests/fuzz/devices.mjs [--seconds 60] [--seed 1]
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

import { Client, XlaError } from '../../bindings/index.mjs';
import { fed, random, randomProgram } from './devices_programs.mjs';
import { simulate } from './devices_simulation.mjs';
import { textOf } from './devices_text.mjs';

/** The workers of this process that live, and how many have died. */
const workers = new Set();
let dead = 0;
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (...args) {
  if (!workers.has(this)) this.once('exit', () => (dead += Number(workers.delete(this))));
  workers.add(this);
  return postMessage.apply(this, args);
};

const same = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]);

/** Runs a program: one executable on all devices, or a launch of several. @returns {Promise<Int32Array[]>} */
async function execute(client, executables, { initial, variantOf, mesh }, options) {
  if (executables.length === 1) {
    const results = await executables[0].executeReplicas(initial.map((x) => [x]), options);
    return results.map(([{ data }]) => data);
  }
  const results = await client.launch(initial.map((x, d) => ({
    executable: executables[variantOf[d]], arguments: [x], ...deviceOf(mesh, d) })), options);
  return results.map(([{ data }]) => data);
}

const deviceOf = ({ partitions }, d) => ({ replica: Math.floor(d / partitions), partition: d % partitions });

/** Feeds a run's infeeds, beforehand or on request. @returns {Promise<Int32Array[][]>} the values of its outfeeds */
function serveFeeds(client, { mesh }, { out }, r) {
  return Promise.all(out.map(async (outs, d) => {
    const device = deviceOf(mesh, d), values = outs.map((_, n) => fed(d, n));
    if (r.chance(0.5)) values.forEach((value) => client.transferToInfeed(value, device));
    else if (values.length) client.infeed(values, device);
    const literals = [];
    for (let n = 0; n < outs.length; n++) literals.push((await client.transferFromOutfeed(device)).data);
    return literals;
  }));
}

/** Cancels a run after a moment, or kills a worker of its. @returns {Promise<string>} how it ended */
async function disturb(kind, r, start) {
  const controller = new AbortController();
  const run = start(controller.signal).then(() => 'OK', (error) => {
    if (!(error instanceof XlaError)) throw error;
    return error.code;
  });
  await new Promise((resolve) => setTimeout(resolve, r.below(3)));
  if (kind === 'cancelled') controller.abort();
  else await r.pick([...workers])?.terminate();
  return run;
}

const ENDS = { cancelled: ['OK', 'CANCELLED'], killed: ['OK', 'INTERNAL', 'UNAVAILABLE'] };

/**
 * One program; now and then cancelled first, or with a worker of it killed.
 * @returns {Promise<{ error?: string, kind: string, launched: boolean, fed: number }>}
 */
async function check(client, seed) {
  const r = random(~seed);
  const kind = r.pick(['plain', 'plain', 'plain', 'cancelled', ...(workers.size ? ['killed'] : [])]);
  const program = randomProgram(seed, { feeds: kind === 'plain' }), expected = simulate(program);
  const variants = [...new Set(program.variantOf)];
  const modules = variants.map((variant) => client.parseHlo(textOf(program, variant)));
  const executables = await Promise.all(modules.map((module) => client.compile(module, program.mesh)));
  const fedValues = expected.out.flat().length;
  const outcome = { kind, launched: variants.length > 1, fed: fedValues };
  const failed = (why) => ({ ...outcome, error: `seed ${seed} (${kind}): ${why}` });
  try {
    if (kind !== 'plain') {
      const end = await disturb(kind, r, (signal) => execute(client, executables, program, { signal }));
      if (!ENDS[kind].includes(end)) return failed(end);
      if (client.disposed) return outcome;
    }
    const running = execute(client, executables, program, { timeoutMs: 60000 });
    running.catch(() => {}); // it is awaited when the feeds are served
    const [results, out] = await Promise.all([running, serveFeeds(client, program, expected, r)]);
    const device = results.findIndex((state, d) => !same(state, expected[d]));
    if (device >= 0) return failed(`device ${device} has something else`);
    const wrong = out.findIndex((outs, d) => !outs.every((x, n) => same(x, expected.out[d][n])));
    return wrong < 0 ? outcome : failed(`device ${wrong} puts out something else`);
  } catch (error) {
    // A worker that is killed before it has started is the client's end, which may come after that of the first run.
    if (kind === 'killed' && client.disposed && error.code === 'UNAVAILABLE') return outcome;
    return failed(error.stack);
  } finally {
    if (!client.disposed) [...executables, ...modules].forEach((made) => made.dispose());
  }
}

const LEFT_BYTES = 64 << 10; // of tables that have grown
const DEAD_BYTES = 16 << 10; // of each dead worker, which the C library keeps

/** Some programs on one client, which in the end has the memory that it had. */
async function checkSome(seed, count, end, tell) {
  const client = await Client.create({ threads: seed % 4 });
  let before, deadBefore;
  for (let i = 0; i < count && !client.disposed && Date.now() < end; i++) {
    if (i === 5) [before, deadBefore] = [client.heapInUse, dead];
    tell(await check(client, seed + i));
  }
  const bytes = client.disposed || before === undefined ? 0 : client.heapInUse - before;
  if (bytes > LEFT_BYTES + (dead - deadBefore) * DEAD_BYTES) tell({ kind: 'memory', error: `seeds from ${seed}: ${bytes} bytes stay` });
  if (!client.disposed) client.dispose();
  workers.clear();
}

/** @returns {Promise<{ programs: object, errors: string[] }>} the counts of programs by kind, and errors */
export async function fuzz({ seconds, seed, programs: most = Infinity }) {
  const end = Date.now() + seconds * 1000, programs = { launched: 0, fed: 0 }, errors = [];
  const tell = ({ kind, error, launched, fed: values }) => {
    programs[kind] = (programs[kind] ?? 0) + 1;
    if (launched) programs.launched++;
    if (values) programs.fed++;
    if (error) errors.push(error);
  };
  for (let done = 0; Date.now() < end && done < most && errors.length < 5; done += 50) {
    await checkSome(seed + done, Math.min(50, most - done), end, tell);
    seed++; // for another number of threads
  }
  return { programs, errors };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values } = parseArgs({ options: {
    seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } } });
  const { programs, errors } = await fuzz({ seconds: Number(values.seconds), seed: Number(values.seed) });
  console.log(JSON.stringify(programs), errors.length ? `\n${errors.join('\n')}` : 'all as simulated');
  process.exitCode = errors.length ? 1 : 0;
}
