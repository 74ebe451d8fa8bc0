/** The models of language.mjs: sizes in the form of config.json, and random weights that every engine can represent. */

const like = (sizes) => ({ model_type: 'llama', rms_norm_eps: 1e-5, rope_theta: 10000, max_position_embeddings: 2048, ...sizes });

export const SIZES = {
  small: {
    title: '100M: 12 layers of 768, tied',
    json: like({
      hidden_size: 768, intermediate_size: 2048, num_hidden_layers: 12, num_attention_heads: 12, num_key_value_heads: 4,
      vocab_size: 32000, tie_word_embeddings: true,
    }),
  },
  tinyllama: {
    title: 'TinyLlama: 22 layers of 2,048',
    json: like({
      hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 22, num_attention_heads: 32, num_key_value_heads: 4,
      vocab_size: 32000, tie_word_embeddings: false,
    }),
  },
};
export const CONTEXT = 256, PLACE = 128; // positions of the cache; those that are filled
export const BLOCK = 32;
export const MOST = { int8: 127, int4: 7 };

/** Numbers of a matrix of integers from -most to most, by a generator of 32 bits. */
export function integers(count, most, seed) {
  const out = new Int8Array(count);
  let state = (seed * 2654435761 + 1) >>> 0;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[i] = (state >>> 16) % (2 * most + 1) - most;
  }
  return out;
}

/** A scale for each block: powers of two around 1 / (most sqrt(width)), which f16 represents exactly. */
export function scalesOf(rows, width, most) {
  const base = 2 ** Math.round(Math.log2(1 / (most * Math.sqrt(width))));
  return Float32Array.from({ length: (rows * width) / BLOCK }, (_, i) => base * (i % 3 ? 1 : 2));
}

/** The matrix as floats. */
export function floats(quants, scales) {
  return Float32Array.from(quants, (q, i) => q * scales[Math.floor(i / BLOCK)]);
}
