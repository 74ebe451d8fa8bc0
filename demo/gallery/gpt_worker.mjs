/** Runs the GPT in a worker: writes text, and continues its training. Called by gpt.mjs. */
import { Client, readSafetensors } from '../../bindings/index.mjs';
import { serve, tell } from '../shared/rpc.mjs';
import { createTokens } from './tokens.mjs';

const CONTEXT = 128; /* positions */
const KEPT = 32; /* tokens that are read again when the context is full */
const LAYERS = 4;
const WIDTH = 128;
const LINES = 4;
const TELL_MS = 50;

let urls;
let client;
let step;
let training = null;
let weights; /* buffers, in the order of JAX's dictionaries, which is the order of the file's names */
let names;
let tokens;
let lines;
let turn = 0; /* of writing and training: a later one ends an earlier one */

const pause = () => new Promise((resolve) => { setTimeout(resolve); });
const programBytes = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());

async function open(given) {
  urls = given;
  const [bytes, widen, tree, texts] = await Promise.all([
    programBytes(urls.step), programBytes(urls.widen), readSafetensors(new URL(urls.weights)),
    (await fetch(urls.tokens)).json()]);
  client = await Client.create();
  tokens = createTokens(texts);
  const began = performance.now();
  step = await client.compile(await client.load(bytes));
  const wider = await client.compile(await client.load(widen));
  const compileMs = performance.now() - began;
  names = Object.keys(tree).sort();
  weights = await wider.execute(names.map((name) => tree[name]), { device: true });
  wider.dispose();
  return { compileMs, bytes: bytes.length, threads: client.threads };
}

/** Chooses the next token from the likeliest `most`, by their probabilities at a temperature. */
function choose(scores, temperature, most = 40) {
  const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a]).slice(0, most);
  const odds = order.map((token) => Math.exp((scores[token] - scores[order[0]]) / temperature));
  let at = Math.random() * odds.reduce((a, b) => a + b);
  return order[odds.findIndex((odd) => (at -= odd) <= 0)] ?? order[0];
}

/** A cache, and the tokens in it. */
class Reader {
  constructor() {
    this.cache = Array.from({ length: LAYERS * 2 }, () => new Float32Array(CONTEXT * WIDTH));
    this.seen = [];
  }

  /** Takes a token in; promises the scores of the next. */
  async take(token) {
    if (this.seen.length === CONTEXT) {
      const kept = this.seen.slice(-KEPT);
      this.seen = [];
      for (const again of kept) await this.take(again);
    }
    const donate = this.cache[0] instanceof Float32Array ? [] : this.cache.map((_, i) => weights.length + i);
    const [scores, ...cache] = await step.execute([...weights, ...this.cache, token, this.seen.length], { device: true, donate });
    this.seen.push(token);
    this.cache = cache;
    const { data } = scores.toLiteral();
    scores.dispose();
    return data;
  }

  dispose() {
    this.cache.forEach((buffer) => buffer.dispose?.());
  }
}

/** Writes on from a text until `stop`; tells 'text' as it goes. */
async function write({ prompt, temperature, count }) {
  const mine = ++turn;
  const reader = new Reader();
  const given = tokens.encode(prompt);
  let scores;
  try {
    for (const token of given.length ? given.slice(-CONTEXT + 1) : tokens.encode('\n')) {
      if (mine !== turn) return;
      scores = await reader.take(token);
    }
    const began = performance.now();
    let told = began;
    let text = '';
    for (let n = 1; n <= count && mine === turn; n++) {
      const token = choose(scores, temperature);
      text += tokens.text(token);
      scores = await reader.take(token);
      const now = performance.now();
      if (now - told < TELL_MS && n < count) continue;
      tell('text', { text, rate: (n * 1000) / (now - began), ms: (now - began) / n });
      told = now;
      text = '';
      await pause(); /* for the page's calls */
    }
  } finally {
    reader.dispose();
  }
}

/** Goes on with training, on two devices, until `stop`; tells 'loss'. The weights change in place. */
async function train() {
  const mine = ++turn;
  training ??= await client.compile(await client.load(await programBytes(urls.train)));
  lines ??= await (await fetch(urls.lines)).json();
  const zeros = () => weights.map((buffer) => new Float32Array(buffer.shape.dimensions.reduce((a, b) => a * b, 1)));
  const devices = training.replicas * training.partitions;
  const copies = (values) => Array.from({ length: devices }, () => values);
  let w = copies(weights.map((buffer) => buffer.toLiteral()));
  let m = copies(zeros());
  let v = copies(zeros());
  for (let n = 1; mine === turn; n++) {
    const began = performance.now();
    const batch = Array.from({ length: LINES }, () => {
      const start = Math.floor(Math.random() * (lines.length - CONTEXT - 1));
      return lines.slice(start, start + CONTEXT + 1);
    });
    const results = await training.executeReplicas(w.map((_, device) => [...w[device], ...m[device], ...v[device],
      batch, [n]]), { device: true, /* each takes its lines of the batch */
      donate: n > 1 ? Array.from({ length: weights.length * 3 }, (_, i) => i) : [] });
    const part = (k) => results.map((result) => result.slice(1 + k * weights.length, 1 + (k + 1) * weights.length));
    [w, m, v] = [part(0), part(1), part(2)];
    const loss = results[0][0].toArray();
    results.forEach(([buffer]) => buffer.dispose());
    tell('loss', { step: n, loss, ms: performance.now() - began, devices });
    await pause();
  }
  if (!(w[0][0].toLiteral)) return;
  weights.forEach((buffer) => buffer.dispose());
  [weights] = w;
  [...w.slice(1), ...m, ...v].flat().forEach((buffer) => buffer.dispose?.());
}

serve({ open, write, train, stop: () => { turn++; } });
