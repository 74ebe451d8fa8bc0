/** Reads a model as people have it: config.json and safetensors of Hugging Face, or GGUF of llama.cpp; a tensor at a time. */
import { Literal, openGguf, readSafetensors } from 'xla-wasm';

import { configOf, PARTS, shapesOf } from './model.mjs';

/**
 * Opens a model of safetensors.
 * @param {object} json config.json
 * @param {Blob[]} files the safetensors files
 * @param {{ quantise?: 'int8' | 'int4' }} [options] what matrices become; without it they stay as they are
 * @returns {Promise<{ config: object, read: (name: string) => Promise<Literal | { quants, scales, mins? }> }>}
 */
export async function openSafetensors(json, files, { quantise } = {}) {
  const readers = new Map((await Promise.all(files.map(readersOf))).flat());
  const literal = (name) => readers.get(name)();
  const config = configOf(json);
  if (!readers.has('lm_head.weight')) config.tied = true;
  checkNames(config, [...readers.keys()].map((name) => name.replace(/\.(quants|scales)$/, '')));
  return {
    config,
    async read(name) {
      if (readers.has(`${name}.quants`)) return { quants: await literal(`${name}.quants`), scales: await literal(`${name}.scales`) };
      if (!readers.has(name)) throw new RangeError(`the files have no ${name}`);
      const x = await literal(name);
      if (x.shape.rank === 1) return x.convert('f32');
      return quantise ? quantised(x, quantise) : x;
    },
  };
}

const SMALL = 2 ** 24; // bytes of a file that is read at once

/** What reads each tensor of a safetensors file: [name, () => Literal or a promise of it]. One of a large file is read as a file of its own. */
async function readersOf(file) {
  if (file.size <= SMALL) return Object.entries(await readSafetensors(file)).map(([name, x]) => [name, () => x]);
  const size = Number(new DataView(await file.slice(0, 8).arrayBuffer()).getBigUint64(0, true));
  const header = Object.entries(JSON.parse(await file.slice(8, 8 + size).text())).filter(([name]) => name !== '__metadata__');
  return header.map(([name, { dtype, shape, data_offsets: [begin, end] }]) => [name, async () => {
    const text = JSON.stringify({ x: { dtype, shape, data_offsets: [0, end - begin] } });
    return (await readSafetensors(new Blob([new BigUint64Array([BigInt(text.length)]), text, file.slice(8 + size + begin, 8 + size + end)]))).x;
  }]);
}

/** Throws if files have weights that the program would not read: then they are another model's. */
function checkNames(config, names, titleOf = (name) => name) {
  const read = new Set([...Object.keys(shapesOf(config)), 'lm_head.weight'].map(titleOf));
  const unread = names.find((name) => !read.has(name) && !/\.inv_freq$|^rope_freqs/.test(name));
  if (unread) throw new RangeError(`the files have ${unread}, which ${config.kind} with these settings does not use`);
}

const BLOCK = 32;

/** A matrix as integers: each block of 32 of a row has a scale, so that its largest element is 127 or 7. */
export function quantised(matrix, type) {
  const { data, shape: { dimensions: [rows, width] } } = matrix.convert('f32');
  const max = type === 'int4' ? 7 : 127;
  const scales = new Float32Array(data.length / BLOCK).map((_, i) =>
    data.subarray(i * BLOCK, (i + 1) * BLOCK).reduce((a, x) => Math.max(a, Math.abs(x)), 0) / max);
  const rounded = new Literal(`f32[${rows},${width / BLOCK}]`, scales).convert('f16');
  const { data: factors } = rounded.convert('f32');
  const quants = new Int8Array(data.length);
  for (let i = 0; i < quants.length; i++) {
    const factor = factors[Math.floor(i / BLOCK)];
    quants[i] = factor ? Math.max(-max, Math.min(max, Math.round(data[i] / factor))) : 0;
  }
  return { quants: new Literal(`${type === 'int4' ? 's4' : 's8'}[${rows},${width}]`, quants), scales: rounded };
}

/** llama.cpp's names of the parts of Hugging Face's. */
const LLAMA_CPP = {
  'model.embed_tokens': 'token_embd', 'model.norm': 'output_norm', lm_head: 'output', 'model.layers': 'blk',
  'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down', input_layernorm: 'attn_norm', post_attention_layernorm: 'ffn_norm',
};
const titleOf = (name) => Object.entries(LLAMA_CPP).reduce((title, [theirs, ours]) => title.replace(theirs, ours), name);

/** What config.json would say of a GGUF file. */
function jsonOf({ metadata, tensors }) {
  const kind = metadata['general.architecture'];
  const of = (key) => metadata[`${kind}.${key}`], number = (value) => (value === undefined ? undefined : Number(value));
  const scaling = of('rope.scaling.type') ?? 'none';
  return {
    model_type: kind, hidden_size: of('embedding_length'), intermediate_size: of('feed_forward_length'),
    num_hidden_layers: of('block_count'), num_attention_heads: of('attention.head_count'),
    num_key_value_heads: of('attention.head_count_kv'), head_dim: of('attention.key_length'),
    rms_norm_eps: of('attention.layer_norm_rms_epsilon'), rope_theta: of('rope.freq_base'),
    rope_scaling: { type: scaling === 'none' ? 'default' : scaling, factor: of('rope.scaling.factor') },
    max_position_embeddings: of('context_length'), vocab_size: tensors['token_embd.weight'].shape[0],
    tie_word_embeddings: !tensors['output.weight'], bos_token_id: number(metadata['tokenizer.ggml.bos_token_id']),
    eos_token_id: number(metadata['tokenizer.ggml.eos_token_id']),
  };
}

/** Puts rows back in order: llama.cpp has the two of each pair that turns side by side, Hugging Face a half apart. */
function unpermuted(x, heads) {
  const [rows, width = 1] = x.shape.dimensions, depth = rows / heads;
  const data = new x.data.constructor(x.data.length);
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / depth), i = row % depth;
    const from = head * depth + (i % (depth / 2)) * 2 + Math.floor(i / (depth / 2));
    data.set(x.data.subarray(from * width, (from + 1) * width), row * width);
  }
  return new Literal(x.shape, data);
}

/** Opens a model of GGUF, a Blob or a URL: as openSafetensors(). */
export async function openGgufModel(source) {
  const file = await openGguf(source);
  const config = configOf(jsonOf(file));
  config.normOffset = 0; // Gemma's norms come with it
  config.biased = PARTS.filter((part) => titleOf(`model.layers.0.${part}.bias`) in file.tensors);
  checkNames(config, Object.keys(file.tensors), titleOf);
  if (file.tensors['rope_freqs.weight']) {
    const { data } = await file.read('rope_freqs.weight');
    config.frequencies = config.frequencies.map((f, i) => f / data[i]);
  }
  return {
    config,
    async read(name) {
      const title = titleOf(name), tensor = file.tensors[title];
      if (!tensor) throw new RangeError(`the file has no ${title}`);
      const heads = config.kind === 'llama' && { q: config.heads, k: config.groups }[/attn_([qk])\.(?:weight|bias)/.exec(title)?.[1]];
      const order = (x) => (heads ? unpermuted(x, heads) : x);
      if (!/^Q/.test(tensor.type)) return order(await file.read(title));
      const { quants, scales, mins } = await file.readBlocks(title);
      return { quants: order(quants), scales: order(scales), ...(mins && { mins: order(mins) }) };
    },
  };
}

/**
 * Puts a model's weights on the device.
 * @returns {Promise<{ shapes: object, buffers: Buffer[], bytes: number }>} shapes: as buildStep() takes them; buffers: in that order
 */
export async function upload(client, model, onProgress = () => {}) {
  const names = Object.keys(shapesOf(model.config)).sort(), shapes = {}, buffers = []; // in JAX's order
  const put = (literal) => {
    buffers.push(client.buffer(literal));
    return String(literal.shape);
  };
  const before = client.memoryInUse;
  for (const [i, name] of names.entries()) {
    const x = await model.read(name);
    shapes[name] = x.quants ? Object.fromEntries(Object.keys(x).sort().map((part) => [part, put(x[part])])) : put(x);
    onProgress((i + 1) / names.length);
  }
  return { shapes, buffers, bytes: client.memoryInUse - before };
}
