/**
 * Decoding of language models: make bench ARGS="models [--sizes small,tinyllama] [--types f32,bf16,int8,int4] [--threads 1,2]
 * [--engines xla,xla-page,native,ort,ort4,wllama] [--rounds 5] [--layers N]"
 *
 * Tokens a second at position 128 of a cache of 256, with random weights: examples/llama/model.mjs here (in Node, and as xla-page
 * in Chromium), model.py on native XLA, onnxruntime-web in Node (MatMulNBits; ort4: of accuracy level 4, which rounds activations
 * to 8 bits), and wllama in Chromium. Each has its own process or page; rounds alternate, and the best one counts. One thread
 * is measured by processor time, which other work on the machine hardly changes; several threads by the fastest step.
 * Logits are compared with onnxruntime-web's before.
 */
import { execFileSync, fork, spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { launch, newPage } from '../support/browser.mjs';
import { ISOLATED, serveFolder } from '../support/project.mjs';
import { SIZES } from './language/sizes.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NATIVE = fileURLToPath(new URL('language/native.py', import.meta.url));
const MODELS = `${ROOT}build/bench/models`;
const GGUF = { int8: 'Q8_0', int4: 'Q4_0' };
const { PYTHON = 'python3' } = process.env;

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: 'small,tinyllama' }, types: { type: 'string', default: 'f32,bf16,int8,int4' },
    threads: { type: 'string', default: '1,2' }, engines: { type: 'string', default: 'xla,xla-page,native,ort,ort4,wllama' },
    rounds: { type: 'string', default: '5' }, layers: { type: 'string' },
  },
});
const list = (text) => text.split(',');

/** A Node process that answers messages. */
async function nodeEngine(name, options) {
  const child = fork(fileURLToPath(new URL('language/process.mjs', import.meta.url)),
    { serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'], execArgv: ['--max-old-space-size=8000'] });
  const call = (method, ...args) => new Promise((resolve, reject) => {
    child.once('exit', (code, signal) => reject(new Error(`the process ended (${signal ?? code})`)));
    child.once('message', ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error))));
    child.send({ method, args });
  });
  const close = () => {
    child.removeAllListeners();
    child.kill('SIGKILL');
  };
  try {
    return { ...await call('prepare', name, options), round: () => call('round'), close };
  } catch (error) {
    close();
    throw error;
  }
}

let browser, server, system;
/** Returns the processor seconds of all pages; waiting pages take none. */
const pageSeconds = async () => (await system.send('SystemInfo.getProcessInfo')).processInfo
  .filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0);

async function pageEngine(name, options) {
  browser ??= await launch();
  system ??= await browser.newBrowserCDPSession();
  server ??= await serveFolder(ROOT, ISOLATED);
  const context = await browser.newContext(); // a renderer process of its own
  const { page } = await newPage(context);
  page.setDefaultTimeout(600_000);
  try {
    await page.goto(`${server.address}tests/bench/language/page.html`);
    await page.waitForFunction(() => window.prepare);
    const { logits } = await page.evaluate(([of, given]) => window.prepare(of, given), [name, options]);
    const round = async () => {
      const before = await pageSeconds(), result = await page.evaluate(() => window.round());
      return { ...result, cpu: 1000 * (await pageSeconds() - before) / result.tokens };
    };
    return { logits, round, close: () => context.close() };
  } catch (error) {
    await context.close();
    throw error;
  }
}

async function nativeEngine({ json, type, threads }) {
  const child = spawn(PYTHON, [NATIVE, 'run', threads], { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (message) => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error('the process ended');
    return JSON.parse(value);
  };
  await ask({ json, type });
  return { logits: null, round: () => ask({ round: true }), close: () => child.kill() };
}

function ggufFile(name, json, type) {
  const path = `${MODELS}/${name}.${json.num_hidden_layers}.${GGUF[type]}.gguf`;
  mkdirSync(MODELS, { recursive: true });
  if (!existsSync(path)) execFileSync(PYTHON, [NATIVE, 'gguf', JSON.stringify(json), GGUF[type], path]);
  return `/${path.slice(ROOT.length)}`;
}

const ENGINES = {
  'xla': (given) => nodeEngine('xla', given),
  'xla-page': (given) => pageEngine('xla', given),
  'native': nativeEngine,
  'ort': (given) => (given.type === 'bf16' ? null : nodeEngine('ort', given)),
  'ort4': (given) => (given.type in GGUF ? nodeEngine('ort', { ...given, accuracy: 4 }) : null),
  'wllama': (given, size) => (given.type in GGUF
    ? pageEngine('wllama', { threads: given.threads, file: ggufFile(size, given.json, given.type) }) : null),
};

function checkLogits(ours, theirs) {
  const most = Math.max(...ours.map(Math.abs));
  const apart = Math.max(...ours.map((x, i) => Math.abs(x - theirs[i]))) / most;
  if (!(apart < 1e-3)) throw new Error(`its logits are ${apart.toPrecision(2)} apart`);
}

async function measure(size, given) {
  const ready = new Map();
  for (const name of list(values.engines)) {
    try {
      const engine = await ENGINES[name](given, size);
      if (!engine) continue;
      if (name === 'ort' && ready.get('xla')) checkLogits(ready.get('xla').logits, engine.logits);
      ready.set(name, engine);
    } catch (error) {
      console.error(`  ${name}, ${size}, ${given.type}, ${given.threads} threads: ${String(error.message).slice(0, 300)}`);
    }
  }
  const least = {};
  let memory = null;
  for (let i = 0; i < Number(values.rounds); i++) {
    for (const [name, engine] of ready) {
      const result = await engine.round();
      least[name] = Math.min(least[name] ?? Infinity, given.threads === 1 ? result.cpu : result.ms);
      if (name === 'xla') ({ memory } = result);
    }
  }
  for (const engine of ready.values()) await engine.close();
  return { least, memory };
}

const columns = list(values.engines);
console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus()[0].model.trim()}, ${availableParallelism()} cores, load ${loadavg()[0].toFixed(1)}; tokens a second\n`);
console.log(`| model | weights | threads | ${columns.join(' | ')} | memory by weights + cache |\n| --- | --- | --: | ${columns.map(() => '--:').join(' | ')} | --: |`);
for (const size of list(values.sizes)) {
  const { title, json } = SIZES[size];
  if (values.layers) json.num_hidden_layers = Number(values.layers);
  for (const type of list(values.types)) {
    for (const threads of list(values.threads).map(Number)) {
      const { least, memory } = await measure(size, { json, type, threads });
      const cells = columns.map((name) => (least[name] ? (1000 / least[name]).toFixed(1) : ''));
      const room = memory ? `${(memory.peak / memory.needed).toFixed(2)} of ${(memory.needed / 1e6).toFixed(0)} MB` : '';
      console.log(`| ${title}${values.layers ? `, ${values.layers} layers` : ''} | ${type} | ${threads} | ${cells.join(' | ')} | ${room} |`);
    }
  }
}
await browser?.close();
await server?.close();
