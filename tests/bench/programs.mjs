/**
 * Whole programs, exported from JAX (programs/export.py), here and on native XLA:CPU held to one
 * thread: results are compared, then both take turns. Needs jax, which `make bench ARGS=programs` installs.
 *
 *     make bench ARGS="programs [--only PATTERN] [--threads 1,2] [--rounds N] [--write]"
 *
 * --write: puts the table into programs/README.md, with machine and date.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Client } from '../../bindings/index.mjs';
import { readNpy } from '../../bindings/npy.mjs';

const FOLDER = new URL('programs/', import.meta.url);
const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL('../../build/venv/bin/python', import.meta.url));
const ROUND_MS = 150;
const TOLERANCE = 2e-3; // of the largest element: solvers take other steps where a last bit differs

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  options: {
    only: { type: 'string', default: '' },
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '5' },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const settings = options.threads.split(',').map(Number);

/** native.py, a request at a time. */
class Native {
  #child;
  #lines;

  constructor() {
    this.#child = spawn(PYTHON, [fileURLToPath(new URL('native.py', FOLDER))],
      { stdio: ['pipe', 'pipe', 'ignore'] });
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

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const geometric = (values) => Math.exp(values.reduce((sum, x) => sum + Math.log(x), 0) / values.length);

/** How far results are apart, as a part of the largest element of each. */
function distance(outputs, folder, name) {
  return Math.max(0, ...outputs.map((output, i) => {
    const got = output.toArray();
    const ours = Array.isArray(got) ? got.flat(Infinity) : [got]; // logical order, whatever the layout
    const wanted = readNpy(readFileSync(`${folder}/${name}.out${i}.npy`), output.shape.elementType).data;
    let far = 0;
    let largest = 0;
    for (let k = 0; k < wanted.length; k++) {
      largest = Math.max(largest, Math.abs(Number(wanted[k])));
      far = Math.max(far, Math.abs(Number(wanted[k]) - Number(ours[k])));
    }
    return largest === 0 ? far : far / largest;
  }));
}

/** One program with a client: compiled, run once, ready for rounds. */
class Here {
  static async prepare(client, name, folder) {
    const here = new Here();
    const text = readFileSync(new URL(`${name}.hlo`, FOLDER), 'utf8');
    const start = performance.now();
    const module = client.parseHlo(text);
    here.parseMs = performance.now() - start;
    here.executable = await client.compile(module);
    here.compileMs = performance.now() - start - here.parseMs;
    here.args = module.parameters.map(({ shape }, i) =>
      client.buffer(readNpy(readFileSync(`${folder}/${name}.in${i}.npy`), shape.elementType)));
    here.temporaries = Number(here.executable.thunks().match(/^arena of (\d+) bytes/)[1]);
    const first = performance.now();
    const outputs = await here.executable.execute(here.args);
    here.firstMs = performance.now() - first;
    here.apart = distance(outputs, folder, name);
    module.dispose();
    return here;
  }

  async round(milliseconds) {
    const start = performance.now();
    let calls = 0;
    while (calls === 0 || performance.now() - start < milliseconds) {
      const outputs = await this.executable.execute(this.args, { device: true });
      outputs.flat(Infinity).forEach((buffer) => buffer?.dispose());
      calls++;
    }
    return (performance.now() - start) / calls;
  }

  dispose() {
    this.args.forEach((buffer) => buffer.dispose());
    this.executable.dispose();
  }
}

async function measure(name, clients, native, folder) {
  const { compileMs, temporaries } = await native.ask({ prepare: name, folder });
  const heres = [];
  try {
    for (const client of clients) heres.push(await Here.prepare(client, name, folder));
    const times = heres.map(() => []);
    const others = [];
    for (const here of heres) for (let i = 0; i < 3; i++) await here.round(ROUND_MS / 3); // engines warm up
    for (let round = 0; round < rounds; round++) {
      for (const [i, here] of heres.entries()) times[i].push(await here.round(ROUND_MS));
      others.push((await native.ask({ round: ROUND_MS })).ms);
    }
    const [one] = heres;
    return {
      name,
      parseMs: one.parseMs,
      compileMs: one.compileMs,
      firstMs: one.firstMs,
      ms: times.map(median),
      ratios: times.map((list) => median(list.map((ms, i) => ms / others[i]))),
      nativeMs: median(others),
      nativeCompileMs: compileMs,
      memory: [one.temporaries, temporaries],
      apart: Math.max(...heres.map(({ apart }) => apart)),
    };
  } finally {
    heres.forEach((here) => here.dispose());
  }
}

const time = (ms) => (ms < 1 ? `${(ms * 1e3).toPrecision(3)} µs` : `${ms.toPrecision(3)} ms`);
const size = (bytes) => (bytes < 1e4 ? `${bytes} B` : bytes < 1e6
  ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`);

function row(result) {
  const cells = [result.name, time(result.nativeMs)];
  result.ms.forEach((ms, i) => {
    const ratio = result.ratios[i].toPrecision(3);
    cells.push(time(ms), result.ratios[i] > 1 ? `**${ratio}**` : ratio);
  });
  cells.push(time(result.parseMs), time(result.compileMs), time(result.nativeCompileMs),
    time(result.firstMs), ...result.memory.map(size), result.apart.toExponential(0));
  return `| ${cells.join(' | ')} |`;
}

function table(results) {
  const columns = ['program', 'native', ...settings.flatMap((n) => [`${n} thread${n > 1 ? 's' : ''}`, 'ratio']),
    'parse', 'compile', 'native compile', 'first run', 'temporaries', 'native', 'apart'];
  const mean = settings.flatMap((_, i) => ['', geometric(results.map((r) => r.ratios[i])).toPrecision(3)]);
  return [
    `| ${columns.join(' | ')} |`,
    `| --- |${' --: |'.repeat(columns.length - 1)}`,
    ...results.map(row),
    `| geometric mean | | ${mean.join(' | ')} |${' |'.repeat(7)}`,
  ].join('\n');
}

function page(results) {
  const [{ model }] = cpus();
  const load = loadavg()[1].toFixed(1);
  return `# Whole programs

What \`make bench ARGS="programs --write"\` measured on ${new Date().toISOString().slice(0, 10)}: ${model.trim()},
${availableParallelism()} cores, Node ${process.versions.node}; the load of the last five minutes was ${load} (of
a quiet machine: about 1). Programs are exports from JAX ([export.py](export.py)); native is XLA:CPU held
to one thread, which may use 256- or 512-bit registers where WebAssembly has 128. A ratio is our time by
native's, round by round; **bold**, and we are slower. "Apart" is how far results are from native's, as a
part of the largest element: solvers that choose their steps take others where a last bit differs.

${table(results)}
`;
}

const names = readdirSync(FOLDER).filter((file) => file.endsWith('.hlo')).map((file) => file.slice(0, -4))
  .filter((name) => new RegExp(options.only).test(name));
const folder = mkdtempSync(`${tmpdir()}/xla-wasm-programs-`);
const native = new Native();
const clients = [];
const results = [];
for (const threads of settings) clients.push(await Client.create({ threads }));
try {
  for (const name of names) {
    process.stderr.write(`${name} `);
    try {
      results.push(await measure(name, clients, native, folder));
      const last = results.at(-1);
      console.log(row(last) + (last.apart > TOLERANCE ? '  <- results differ' : ''));
    } catch (error) {
      console.log(`| ${name} | failed: ${error.message} |`);
    }
  }
  console.log(`\n${table(results)}`);
  if (options.write) writeFileSync(new URL('README.md', FOLDER), page(results));
} finally {
  clients.forEach((client) => client.dispose());
  native.close();
  rmSync(folder, { recursive: true });
}
