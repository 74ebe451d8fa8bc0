/** Runs the language model in a worker: writes text, and continues its training. Called by llama.mjs. */
import { Tokenizer } from '@huggingface/tokenizers';

import { Client } from '../../bindings/index.mjs';
import { Session } from '../../examples/llama/session.mjs';
import { openSafetensors } from '../../examples/llama/weights.mjs';
import { loadReaders } from '../shared/readers.mjs';
import { serve, tell } from '../shared/rpc.mjs';

const PROGRAMS = { 1: 'one', 32: 'many' }; /* by the number of tokens that they read */
const CONTEXT = 256; /* positions */
const LINES = 4;
const TELL_MS = 50;

let urls;
let client;
let session;
let training = null; /* { train, widen, narrow, lines } */
let turn = 0; /* of writing and training: a later one ends an earlier one */
let writing = new AbortController();
let trained = Promise.resolve(); /* when the weights are whole */

const pause = () => new Promise((resolve) => { setTimeout(resolve); });
const got = async (name) => (await fetch(urls[name])).blob();
const json = async (name) => JSON.parse(await (await got(name)).text());

/** Ends what is under way; returns the number of what is to come. */
function begin() {
  writing.abort();
  writing = new AbortController();
  return ++turn;
}

async function open(given) {
  urls = given;
  const [made, , many, weights, config, tokenizer] = await Promise.all(
    [Client.create(), loadReaders(), got('many'), got('model'), json('config'), json('tokenizer')]); /* requests in this order */
  const one = got('one'); /* last, as browsers request few files of a host at a time */
  one.catch(() => {}); /* session.prepare() may fail first */
  client = made;
  const model = await openSafetensors(config, [weights]);
  const began = performance.now();
  session = await Session.open(client, model, new Tokenizer(tokenizer, {}), {
    lengths: Object.keys(PROGRAMS).map(Number), programOf: (length) => client.load(length === 1 ? one : many),
  });
  await session.prepare([32]); /* it reads the prompt; the other one is compiled when the first token has been shown */
  return { compileMs: performance.now() - began, bytes: (await one).size + many.size, threads: client.threads };
}

/** Writes on from a text until `stop`; tells 'text' as it goes. */
async function write({ prompt, temperature, count }) {
  const mine = begin();
  await trained.catch(() => {});
  session.reset();
  let text = '', rate = 0, told = -Infinity; /* the first piece at once */
  const flush = () => {
    tell('text', { text, rate, ms: 1000 / rate });
    text = '';
    told = performance.now();
  };
  const settings = { temperature, topP: 1, maxTokens: count, signal: writing.signal, onRate: (now) => { rate = now; } };
  for await (const piece of session.generate(prompt || '\n', settings)) {
    text += piece;
    if (performance.now() - told < TELL_MS) continue;
    flush();
    await pause(); /* for the page's calls */
  }
  if (mine === turn && text) flush();
}

/** Goes on with training, on two devices, until `stop`; tells 'loss'. The weights change in place, and are 8 bits again at the end. */
async function train(mine) {
  const program = async (name) => client.compile(await client.load(await got(name)));
  training ??= { train: await program('train'), widen: await program('widen'), narrow: await program('narrow'), lines: await json('lines') };
  const { lines, train: step } = training, { weights } = session;
  const wide = await training.widen.execute(weights.buffers, { device: true });
  const size = wide.length;
  const zeros = () => wide.map(({ shape: { dimensions } }) => new Float32Array(dimensions.reduce((a, b) => a * b, 1)));
  const devices = step.replicas * step.partitions;
  const copies = (values) => Array.from({ length: devices }, () => values);
  let [w, m, v] = [copies(wide.map((buffer) => buffer.toLiteral())), copies(zeros()), copies(zeros())];
  for (const buffer of wide) buffer.dispose();
  let n = 1;
  for (; mine === turn; n++) {
    const began = performance.now();
    const batch = Array.from({ length: LINES }, () => {
      const start = Math.floor(Math.random() * (lines.length - CONTEXT - 1));
      return lines.slice(start, start + CONTEXT + 1);
    });
    const results = await step.executeReplicas(w.map((_, device) => [...w[device], ...m[device], ...v[device], batch, [n]]), {
      device: true, /* each takes its lines of the batch */
      donate: n > 1 ? Array.from({ length: size * 3 }, (_, i) => i) : [],
    });
    const part = (k) => results.map((result) => result.slice(1 + k * size, 1 + (k + 1) * size));
    [w, m, v] = [part(0), part(1), part(2)];
    const loss = results[0][0].toArray();
    results.forEach(([buffer]) => buffer.dispose());
    tell('loss', { step: n, loss, ms: performance.now() - began, devices });
    await pause();
  }
  if (n === 1) return;
  const old = weights.buffers;
  weights.buffers = await training.narrow.execute(w[0], { device: true });
  [...old, ...w.flat(), ...m.flat(), ...v.flat()].forEach((buffer) => buffer.dispose());
}

export const listen = () => serve({ open, write, train: () => (trained = train(begin())), stop: begin });
