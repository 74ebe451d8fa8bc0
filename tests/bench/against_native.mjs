/**
 * Compares a program here and on native XLA:CPU on one thread (programs/native.py): first the results, then the times,
 * in alternating rounds, as a machine's speed drifts. A program is NAME.hlo and NAME.json in a folder; the latter
 * describes how operands are drawn.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { readNpy } from '../../bindings/formats/npy.mjs';
import { clocks } from './clocks.mjs';

const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL('../../build/venv/bin/python', import.meta.url));
const SCRIPT = fileURLToPath(new URL('programs/native.py', import.meta.url));

/** A process of native.py, which answers one request at a time. */
export class Native {
  #child;
  #lines;

  /** @param {string} folder where the programs are */
  constructor(folder) {
    this.#child = spawn(PYTHON, [SCRIPT, folder], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async ask(request) {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('native.py ended: is jax installed?');
    const reply = JSON.parse(value);
    if (reply.error) throw new Error(reply.error);
    return reply;
  }

  close() {
    this.#child.stdin.end();
  }
}

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
export const geometric = (values) =>
  Math.exp(values.reduce((sum, x) => sum + Math.log(x), 0) / values.length);
export const time = (ms) => (ms < 1 ? `${(ms * 1e3).toPrecision(3)} µs` : `${ms.toPrecision(3)} ms`);
/** Formats a ratio of times: bold if xla-wasm is slower. */
export const bold = (ratio) =>
  ratio === undefined ? '' : ratio > 1 ? `**${ratio.toPrecision(3)}**` : ratio.toPrecision(3);

/** Elements in logical order, whatever the layout. */
const flat = (literal) => {
  const elements = literal.toArray();
  return Array.isArray(elements) ? elements.flat(Infinity) : [elements];
};

/** Returns the largest difference of results, relative to the largest element of each. NaN equals NaN. */
function distance(outputs, folder, name) {
  return Math.max(0, ...outputs.map((output, i) => {
    const ours = flat(output);
    const npy = readFileSync(`${folder}/${name}.out${i}.npy`);
    const wanted = flat(readNpy(npy, output.shape.elementType));
    let far = 0;
    let largest = 0;
    for (let k = 0; k < wanted.length; k++) {
      const [x, y] = [Number(wanted[k]), Number(ours[k])];
      if (Object.is(x, y)) continue;
      far = Math.max(far, Math.abs(x - y));
    }
    for (const x of wanted) if (Number.isFinite(Number(x))) largest = Math.max(largest, Math.abs(Number(x)));
    return largest === 0 ? far : far / largest;
  }));
}

/** The max bytes of the arena that values use at a time, without the kernels' working memory. */
function bytesOfValues({ buffers }) {
  const values = buffers.filter(({ place, works }) => place === 'arena' && !works).sort((a, b) => a.offset - b.offset);
  return Math.max(0, ...values.map(({ first: time }) => {
    let bytes = 0;
    let end = 0;
    for (const value of values) {
      if (value.first > time || value.last < time) continue;
      bytes += Math.max(0, value.offset + value.bytes - Math.max(end, value.offset));
      end = Math.max(end, value.offset + value.bytes);
    }
    return bytes;
  }));
}

/** One program with a client: compiled, run once, and ready for rounds. */
export class Here {
  /** Its first run may take `timeoutMs`. */
  static async prepare(client, programs, name, folder, { timeoutMs, ...options } = {}) {
    const here = new Here();
    const text = readFileSync(`${programs}/${name}.hlo`, 'utf8');
    const start = performance.now();
    const module = client.parseHlo(text);
    here.parseMs = performance.now() - start;
    here.executable = await client.compile(module, options);
    here.compileMs = performance.now() - start - here.parseMs;
    here.args = module.parameters.map(({ shape }, i) =>
      client.buffer(readNpy(readFileSync(`${folder}/${name}.in${i}.npy`), shape.elementType)));
    const thunks = here.executable.thunks();
    here.temporaries = here.executable.memory.temporaries;
    here.values = bytesOfValues(here.executable.memoryPlan());
    here.evaluates = /^\s*eval\b/m.test(thunks);
    const first = performance.now();
    const outputs = await here.executable.execute(here.args, { timeoutMs });
    here.firstMs = performance.now() - first;
    here.error = distance(outputs, folder, name);
    module.dispose();
    return here;
  }

  async round(milliseconds, clock) {
    const now = clocks[clock];
    const start = now();
    let calls = 0;
    while (calls === 0 || now() - start < milliseconds) {
      const outputs = await this.executable.execute(this.args, { device: true });
      outputs.flat(Infinity).forEach((buffer) => buffer?.dispose());
      calls++;
    }
    return (now() - start) / calls;
  }

  dispose() {
    this.args.forEach((buffer) => buffer.dispose());
    this.executable.dispose();
  }
}

/**
 * @param {string} name
 * @param {object} options
 * @param {import('../../bindings/index.mjs').Client[]} options.clients one per setting
 * @param {string} options.programs the folder with NAME.hlo and NAME.json
 * @param {string} options.folder where native.py writes operands and results
 * @param {'wall' | 'cpu'} [options.clock]
 * @param {{ name: string, round: (ms: number) => Promise<number> }[]} [options.peers] other engines, measured in each round
 * @returns times in milliseconds; ratios are ours by theirs, round by round
 */
export async function measure(name, { clients, native, programs, folder, rounds, roundMs, clock = 'wall', peers = [] }) {
  const { compileMs, temporaries } = await native.ask({ prepare: name, folder });
  const heres = [];
  try {
    for (const client of clients) heres.push(await Here.prepare(client, programs, name, folder));
    const times = heres.map(() => []);
    const others = [];
    const theirs = peers.map(() => []);
    for (const here of heres) for (let i = 0; i < 3; i++) await here.round(roundMs / 3, clock); // engines warm up
    for (let round = 0; round < rounds; round++) {
      for (const [i, here] of heres.entries()) times[i].push(await here.round(roundMs, clock));
      others.push((await native.ask({ round: roundMs, clock })).ms);
      for (const [i, peer] of peers.entries()) theirs[i].push(await peer.round(roundMs, clock));
    }
    const [one] = heres;
    const ratio = (list, to) => median(list.map((ms, i) => ms / to[i]));
    return {
      name,
      parseMs: one.parseMs,
      compileMs: one.compileMs,
      firstMs: one.firstMs,
      ms: times.map(median),
      ratios: times.map((list) => ratio(list, others)),
      nativeMs: median(others),
      nativeCompileMs: compileMs,
      memory: [one.temporaries, one.values, temporaries],
      error: Math.max(...heres.map(({ error }) => error)),
      evaluates: one.evaluates,
      peers: Object.fromEntries(peers.map((peer, i) => [peer.name, ratio(times[0], theirs[i])])),
      toNative: Object.fromEntries(peers.map((peer, i) => [peer.name, ratio(theirs[i], others)])),
    };
  } finally {
    heres.forEach((here) => here.dispose());
  }
}

/** Returns date and machine, for the text above a table. */
export function circumstances() {
  const [{ model }] = cpus();
  const load = loadavg()[1].toFixed(1);
  return `on ${new Date().toISOString().slice(0, 10)}: ${model.trim()},
${availableParallelism()} cores, Node ${process.versions.node}; the load of the last five minutes was ${load} (of
a quiet machine: about 1)`;
}
