/** The page: opens a model of files or of a folder's address, and writes on from a text. */
import { Tokenizer } from '@huggingface/tokenizers';
import { Client } from 'xla-wasm';

import { Session } from './session.mjs';
import { openGgufModel, openSafetensors } from './weights.mjs';

const $ = (id) => document.getElementById(id);
const tell = (text) => { $('status').textContent = text; };
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
let session = null;
let controller = null;

/** The file at an address, from the browser's cache of models from the second time on; null: there is none. */
async function cached(address) {
  const cache = await caches.open('models');
  const kept = await cache.match(address);
  if (kept) return kept.blob();
  const response = await fetch(address);
  if (!response.ok || /html/.test(response.headers.get('content-type'))) return null;
  await cache.put(address, response.clone());
  return response.blob();
}

/** The files of a folder by name: those that a model may have. */
async function filesOf(address) {
  const files = {};
  const get = async (name) => {
    const blob = await cached(new URL(name, new URL(address, location.href)).href);
    if (blob) files[name] = blob;
  };
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'config.json', 'model.safetensors.index.json']) await get(name);
  const index = files['model.safetensors.index.json'];
  const weights = index ? new Set(Object.values(JSON.parse(await index.text()).weight_map)) : ['model.safetensors', 'model.gguf'];
  for (const name of weights) {
    tell(`Loading ${name}…`);
    await get(name);
  }
  return files;
}

async function open(files) {
  const json = async (name) => JSON.parse((await files[name]?.text()) ?? '{}');
  const ending = (suffix) => Object.keys(files).filter((name) => name.endsWith(suffix)).map((name) => files[name]);
  const [gguf] = ending('.gguf'), tensors = ending('.safetensors');
  if (!files['tokenizer.json'] || (!gguf && !tensors.length)) throw new Error('A tokenizer.json and weights are needed.');
  const model = tensors.length ? await openSafetensors(await json('config.json'), tensors) : await openGgufModel(gguf);
  const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));
  session?.dispose();
  session = await Session.open(await client, model, tokenizer, {
    onProgress: (part) => tell(`Reading weights: ${Math.round(part * 100)} %`),
  });
  const { weights, cache } = session.memory;
  tell(`Weights ${megabytes(weights)}, cache ${megabytes(cache)}.`);
  $('write').disabled = false;
}

async function write() {
  controller = new AbortController();
  $('write').disabled = true;
  $('stop').disabled = false;
  $('written').textContent = $('text').value;
  session.reset();
  const numbers = Object.fromEntries(['temperature', 'topK', 'topP', 'penalty'].map((id) => [id, Number($(id).value)]));
  const onRate = (rate) => tell(`${rate.toFixed(1)} tokens a second; ${megabytes(session.memory.all)} in all.`);
  try {
    for await (const piece of session.generate($('text').value, { ...numbers, signal: controller.signal, onRate })) $('written').append(piece);
  } finally {
    $('write').disabled = false;
    $('stop').disabled = true;
  }
}

const reporting = (action) => () => action().catch((error) => tell(error.message));
const client = Client.create();
$('files').onchange = reporting(() => open(Object.fromEntries(Array.from($('files').files, (file) => [file.name, file]))));
$('open').onclick = reporting(async () => open(await filesOf($('address').value)));
$('write').onclick = reporting(write);
$('stop').onclick = () => controller.abort();
