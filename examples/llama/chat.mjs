/** Goes on with a text: node chat.mjs FOLDER "Once upon a time" [--temperature 0.8] [--quantise int8] ... */
import { openAsBlob } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { Tokenizer } from '@huggingface/tokenizers';
import { Client } from 'xla-wasm';

import { Session } from './session.mjs';
import { openGgufModel, openSafetensors } from './weights.mjs';

const { values, positionals: [folder, text] } = parseArgs({
  allowPositionals: true,
  options: {
    temperature: { type: 'string', default: '0.8' }, 'top-k': { type: 'string', default: '40' }, 'top-p': { type: 'string', default: '0.95' },
    penalty: { type: 'string', default: '1.1' }, tokens: { type: 'string', default: '400' }, context: { type: 'string' },
    quantise: { type: 'string' }, threads: { type: 'string' }, programs: { type: 'string' },
  },
});
if (!folder) {
  console.error('node chat.mjs FOLDER [TEXT]: FOLDER has tokenizer.json, and config.json with *.safetensors or a *.gguf');
  process.exit(1);
}

/** The programs that export.py wrote. */
async function exported(path) {
  const lengths = (await readdir(path)).map((name) => Number(/^step\.(\d+)\.mlirbc$/.exec(name)?.[1])).filter(Boolean);
  return { lengths: lengths.sort((a, b) => a - b), programOf: (length) => client.load(join(path, `step.${length}.mlirbc`)) };
}

const names = await readdir(folder);
const json = async (name) => JSON.parse(names.includes(name) ? await readFile(join(folder, name), 'utf8') : '{}');
const blobs = (suffix) => Promise.all(names.filter((name) => name.endsWith(suffix)).map((name) => openAsBlob(join(folder, name))));
const [gguf] = await blobs('.gguf');
const model = gguf ? await openGgufModel(gguf) : await openSafetensors(await json('config.json'), await blobs('.safetensors'), { quantise: values.quantise });
const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));

const client = await Client.create(values.threads ? { threads: Number(values.threads) } : {});
const session = await Session.open(client, model, tokenizer, {
  ...(values.context && { context: Number(values.context) }),
  ...(values.programs && await exported(values.programs)),
});
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
console.error(`weights ${megabytes(session.memory.weights)}, cache ${megabytes(session.memory.cache)}; Ctrl-C stops an answer`);

async function answer(prompt) {
  const controller = new AbortController(), stop = () => controller.abort();
  let rate = 0;
  process.once('SIGINT', stop);
  for await (const piece of session.generate(prompt, {
    temperature: Number(values.temperature), topK: Number(values['top-k']), topP: Number(values['top-p']), penalty: Number(values.penalty),
    maxTokens: Number(values.tokens), signal: controller.signal, onRate: (now) => { rate = now; },
  })) process.stdout.write(piece);
  process.removeListener('SIGINT', stop);
  console.log();
  console.error(`${rate.toFixed(1)} tokens a second, ${megabytes(session.memory.all)} in all`);
}

if (text) {
  await answer(text);
} else {
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
  terminal.prompt();
  for await (const line of terminal) {
    session.reset(); // each line is a text of its own
    await answer(line).catch((error) => console.error(error.message));
    terminal.prompt();
  }
}
session.dispose();
client.dispose();
