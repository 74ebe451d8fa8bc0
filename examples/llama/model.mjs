/** A language model of Llama's kind as a program: model.py in our builder. Weights have Hugging Face's names. */
const CANDIDATES = 64; // how many of the likeliest tokens a draw chooses from, at most
const KINDS = ['llama', 'mistral', 'qwen2', 'qwen3', 'gemma'];
/** The parts of a layer that may have a bias. */
export const PARTS = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'self_attn.o_proj', 'mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'];

/** Sizes and switches, from what config.json says. `normOffset` is added to the weights of norms. */
export function configOf(json) {
  const kind = json.model_type;
  if (!KINDS.includes(kind)) throw new RangeError(`model_type is ${kind}: of ${KINDS.join(', ')}`);
  const heads = json.num_attention_heads, depth = json.head_dim ?? json.hidden_size / heads;
  const rope = json.rope_parameters ?? json.rope_scaling ?? {};
  return {
    kind, layers: json.num_hidden_layers, width: json.hidden_size, tokens: json.vocab_size, inner: json.intermediate_size,
    heads, groups: json.num_key_value_heads ?? heads, depth, epsilon: json.rms_norm_eps,
    context: json.max_position_embeddings ?? 2048, tied: json.tie_word_embeddings ?? kind === 'gemma',
    biased: PARTS.filter((part) => (part.startsWith('mlp') ? json.mlp_bias : kind === 'qwen2' ? !part.endsWith('o_proj') : json.attention_bias)),
    headNorm: kind === 'qwen3', gemma: kind === 'gemma',
    normOffset: kind === 'gemma' ? 1 : 0, frequencies: frequenciesOf(depth, rope.rope_theta ?? json.rope_theta ?? 10000, rope),
    ends: [json.eos_token_id ?? []].flat(), begin: json.bos_token_id,
  };
}

/** Of rotary embeddings, in radians a position; Llama 3 slows the low ones down. */
function frequenciesOf(depth, theta, rope) {
  const kind = rope.rope_type ?? rope.type ?? 'default';
  if (!['default', 'linear', 'llama3'].includes(kind)) throw new RangeError(`rope_type is ${kind}: of default, linear, llama3`);
  return Float32Array.from({ length: depth / 2 }, (_, i) => {
    const f = theta ** (-2 * i / depth);
    if (kind === 'default') return f;
    if (kind === 'linear') return f / rope.factor;
    const turns = rope.original_max_position_embeddings * f / (2 * Math.PI); // in the context of its training
    const smooth = Math.min(Math.max((turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor), 0), 1);
    return f / rope.factor * (1 - smooth) + f * smooth;
  });
}

/** The dimensions of each array of weights, by name. */
export function shapesOf({ layers, width, tokens, inner, heads, groups, depth, tied, biased, headNorm }) {
  const layer = {
    'self_attn.q_proj.weight': [heads * depth, width], 'self_attn.k_proj.weight': [groups * depth, width],
    'self_attn.v_proj.weight': [groups * depth, width], 'self_attn.o_proj.weight': [width, heads * depth],
    ...(headNorm && { 'self_attn.q_norm.weight': [depth], 'self_attn.k_norm.weight': [depth] }),
    'mlp.gate_proj.weight': [inner, width], 'mlp.up_proj.weight': [inner, width], 'mlp.down_proj.weight': [width, inner],
    'input_layernorm.weight': [width], 'post_attention_layernorm.weight': [width],
  };
  for (const part of biased) layer[`${part}.bias`] = layer[`${part}.weight`].slice(0, 1);
  const result = { 'model.embed_tokens.weight': [tokens, width], 'model.norm.weight': [width], ...(!tied && { 'lm_head.weight': [tokens, width] }) };
  for (let i = 0; i < layers; i++) for (const [name, shape] of Object.entries(layer)) result[`model.layers.${i}.${name}`] = shape;
  return result;
}

/**
 * Builds the program that reads `length` tokens and draws the next.
 * @param {XlaBuilder} b
 * @param {object} c of configOf()
 * @param {Record<string, string | { quants: string, scales: string, mins?: string }>} shapes of the weights, by name: of an
 *   array [rows, width]; or of integers of that shape with scales (and mins) for each block of a row
 * @param {{ context: number, length: number, cacheType?: string }} sizes `context`: the positions of the cache
 * @returns {HloModule} of parameters: weights, keys and values of each layer, seen, tokens, place, last, and five of sampling;
 *   results: logits, token, keys and values of each layer, seen
 */
export function buildStep(b, c, shapes, { context, length, cacheType = 'f32' }) {
  let count = 0;
  const parameter = (shape, name) => b.parameter(count++, shape, name);
  const w = Object.fromEntries(Object.entries(shapes).map(([name, parts]) => [name, typeof parts === 'string' ? parameter(parts, name)
    : Object.fromEntries(Object.entries(parts).map(([part, shape]) => [part, parameter(shape, `${name}.${part}`)]))]));
  const cacheShape = `${cacheType}[${c.groups},${context},${c.depth}]`;
  const caches = Array.from({ length: c.layers }, (_, i) => ['keys', 'values'].map((part) => parameter(cacheShape, `cache.${i}.${part}`)));
  const seen = parameter(`pred[${c.tokens}]`, 'seen'); // tokens that are read
  const tokens = parameter(`s32[${length}]`, 'tokens');
  const [place, last] = ['place', 'last'].map((name) => parameter('s32[]', name));
  const [random, temperature, topK, topP, penalty] = [['random', 'f32[]'], ['temperature', 'f32[]'], ['top_k', 's32[]'],
    ['top_p', 'f32[]'], ['penalty', 'f32[]']].map(([name, shape]) => parameter(shape, name));

  const f32 = (x) => b.convertElementType(x, 'f32');
  const dequantised = (x) => {
    if (!x.quants) return f32(x);
    const [rows, blocks] = x.scales.shape.dimensions, width = x.quants.shape.dimensions[1];
    const scaled = b.reshape(f32(x.quants), [rows, blocks, width / blocks]).mul(f32(x.scales), [0, 1]);
    return b.reshape(x.mins ? scaled.add(f32(x.mins), [0, 1]) : scaled, [rows, width]);
  };
  const linear = (x, name) => {
    const y = b.einsum('nk,mk->nm', [x, dequantised(w[`${name}.weight`])]), bias = w[`${name}.bias`];
    return bias ? y.add(f32(bias), [1]) : y;
  };
  const norm = (x, name) => { // along the last dimension
    const { rank } = x.shape, others = Array.from({ length: rank - 1 }, (_, i) => i);
    const size = b.mean(x.mul(x), rank - 1).add(c.epsilon).rsqrt();
    return x.mul(size, others).mul(c.normOffset ? f32(w[name]).add(c.normOffset) : f32(w[name]), [rank - 1]);
  };

  const places = b.iota('s32', length).add(place);
  const angles = b.einsum('n,d->nd', [f32(places), b.constant(c.frequencies, `f32[${c.depth / 2}]`)]);
  const [cos, sin] = [angles.cos(), angles.sin()];
  const rotated = (x) => { // [heads, positions, depth]
    const [p, q] = b.split(x, 2, 2), by = (y, factor) => y.mul(factor, [1, 2]);
    return b.concatInDim([by(p, cos).sub(by(q, sin)), by(q, cos).add(by(p, sin))], 2);
  };
  const isBefore = b.iota(`s32[${length},${context}]`, 1).le(places, [0]);

  const attention = (x, at, [oldKeys, oldValues]) => {
    const heads = (part, n) => {
      const y = b.transpose(b.reshape(linear(x, `${at}${part}_proj`), [length, n, c.depth]), [1, 0, 2]);
      return c.headNorm && part !== 'v' ? norm(y, `${at}${part}_norm.weight`) : y;
    };
    const put = (old, rows) => old.dynamicUpdateSlice(b.convertElementType(rows, cacheType), [0, place, 0]);
    const q = b.reshape(rotated(heads('q', c.heads)), [c.groups, c.heads / c.groups, length, c.depth]);
    const keys = put(oldKeys, rotated(heads('k', c.groups))), values = put(oldValues, heads('v', c.groups));
    const scores = b.einsum('ghnd,gmd->ghnm', [q, f32(keys)]).mul(c.depth ** -0.5);
    const mixed = b.einsum('ghnm,gmd->nghd', [b.softmax(b.where(isBefore, scores, -Infinity)), f32(values)]);
    return [linear(b.reshape(mixed, [length, c.heads * c.depth]), `${at}o_proj`), keys, values];
  };
  const mlp = (x, at) => {
    const gate = linear(x, `${at}gate_proj`);
    return linear((c.gemma ? gate.gelu() : gate.silu()).mul(linear(x, `${at}up_proj`)), `${at}down_proj`);
  };

  const embed = w['model.embed_tokens.weight'], take = (x) => b.take(x, tokens, 0, 'clip');
  let x = dequantised(embed.quants ? Object.fromEntries(Object.entries(embed).map(([part, y]) => [part, take(y)])) : take(embed));
  if (c.gemma) x = x.mul(Math.sqrt(c.width));
  const state = caches.flatMap((cache, i) => {
    const at = `model.layers.${i}.`;
    const [y, keys, values] = attention(norm(x, `${at}input_layernorm.weight`), `${at}self_attn.`, cache);
    x = x.add(y);
    x = x.add(mlp(norm(x, `${at}post_attention_layernorm.weight`), `${at}mlp.`));
    return [keys, values];
  });
  const end = norm(x, 'model.norm.weight').dynamicSlice([last, 0], [1, c.width]);
  const logits = b.reshape(linear(end, c.tied ? 'model.embed_tokens' : 'lm_head'), [c.tokens]);
  const isRead = b.iota('s32', length).le(last);
  const isToken = b.and(b.iota(`s32[${c.tokens},${length}]`, 0).eq(tokens, [1]), b.broadcastInDim(isRead, [c.tokens, length], [1]));
  const nowSeen = seen.or(b.reduce(isToken, false, 'or', [1]));
  const token = sample(b, logits, nowSeen, { random, temperature, topK, topP, penalty });
  return b.build(b.tuple([logits, token, ...state, nowSeen]));
}

/** Draws a token by a random number of 0 to 1; top_k is at most CANDIDATES. Those in `seen` are made less likely. */
function sample(b, logits, seen, { random, temperature, topK, topP, penalty }) {
  const count = Math.min(CANDIDATES, logits.shape.dimensions[0]);
  const less = b.where(logits.gt(0), logits.div(penalty), logits.mul(penalty));
  const [values, tokens] = b.topK(b.where(seen, less, logits), count);
  const all = b.softmax(b.where(b.iota('s32', count).lt(topK), values.div(temperature), -Infinity));
  const likely = b.where(b.cumsum(all).sub(all).lt(topP.max(1e-6)), all, 0); // the likeliest token always
  const total = b.cumsum(likely);
  const end = b.reshape(b.sliceInDim(total, count - 1, count, 1, 0), []);
  const at = b.sum(total.le(random.mul(end))).min(count - 1);
  return b.reshape(tokens.dynamicSlice([at], [1]), []);
}
