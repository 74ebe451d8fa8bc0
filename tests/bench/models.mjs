/**
 * The models of programs/ that other engines can run, written once on operations that each engine implements
 * (ops_onnx.mjs, ops_tfjs.mjs). Weights are the program's, in the order of its parameters. That is the order of JAX's
 * trees, which sort dictionaries by name.
 *
 * Each engine gets models as its users write them: factors after a convolution are folded into its weights,
 * normalisations and LSTMs are one operation, and only the last row of a prompt is scored.
 */

/** Arranges leaves in JAX's order as a tree, by a template of objects and arrays; other values stand for leaves. */
function treeOf(template, leaves) {
  if (Array.isArray(template)) return template.map((part) => treeOf(part, leaves));
  if (typeof template !== 'object') return leaves.shift();
  return Object.fromEntries(Object.keys(template).sort().map((key) => [key, treeOf(template[key], leaves)]));
}

const affine = { g: 1, b: 1 };

/** Folds a filter in HWIO and the scale of its result into one filter and a bias. */
function folded(filter, factor) {
  if (!factor) return { filter, bias: null };
  const outputs = filter.shape.at(-1);
  const data = filter.data.map((value, i) => value * factor.g.data[i % outputs]);
  return { filter: { ...filter, data }, bias: factor.b };
}

/* ---- Images ---- */

const MOBILENET = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]
  .flatMap(([expand, out, repeats, stride]) => Array.from({ length: repeats }, (_, i) => ({ expand, out, stride: i ? 1 : stride })));

const mobilenet = {
  template: {
    stem: 1, stem_n: affine, top: 1, top_n: affine, dense: 1,
    blocks: MOBILENET.map(() => ({ up: 1, up_n: affine, depth: 1, depth_n: affine, down: 1, down_n: affine })),
  },
  inputs: ['image'],
  weights: ({ stem, stem_n, top, top_n, dense, blocks }) => ({
    stem: folded(stem, stem_n), top: folded(top, top_n), dense,
    blocks: blocks.map((b) => ({ up: folded(b.up, b.up_n), depth: folded(b.depth, b.depth_n), down: folded(b.down, b.down_n) })),
  }),
  run(ops, w, { image }) {
    let x = ops.conv(image, w.stem, { stride: 2, then: 'relu6' });
    let width = 32;
    w.blocks.forEach(({ up, depth, down }, i) => {
      const { stride, out } = MOBILENET[i];
      let y = ops.conv(x, up, { then: 'relu6' });
      y = ops.conv(y, depth, { stride, depthwise: true, then: 'relu6' });
      y = ops.conv(y, down, {});
      x = stride === 1 && width === out ? ops.add(x, y) : y;
      width = out;
    });
    return [ops.matmul(ops.meanOfImage(ops.conv(x, w.top, { then: 'relu6' })), w.dense)];
  },
};

const RESNET = [[64, 64, 1], [64, 64, 1], [64, 128, 2], [128, 128, 1], [128, 256, 2], [256, 256, 1], [256, 512, 2], [512, 512, 1]];

const resnet = {
  template: {
    stem: 1, stem_n: affine, dense: 1,
    blocks: RESNET.map(([i, o]) => ({ a: 1, a_n: affine, b: 1, b_n: affine, ...(i !== o ? { skip: 1 } : {}) })),
  },
  inputs: ['image'],
  weights: ({ stem, stem_n, dense, blocks }) => ({
    stem: folded(stem, stem_n), dense,
    blocks: blocks.map((b) => ({ a: folded(b.a, b.a_n), b: folded(b.b, b.b_n), skip: b.skip && folded(b.skip) })),
  }),
  run(ops, w, { image }) {
    let x = ops.maxPool(ops.conv(image, w.stem, { stride: 2, then: 'relu' }), 3, 2);
    w.blocks.forEach(({ a, b, skip }, i) => {
      const stride = RESNET[i][2];
      const y = ops.conv(ops.conv(x, a, { stride, then: 'relu' }), b, {});
      x = ops.relu(ops.add(y, skip ? ops.conv(x, skip, { stride }) : x));
    });
    return [ops.matmul(ops.meanOfImage(x), w.dense)];
  },
};

/* ---- Language ---- */

const LAYERS = 6;
const [HEADS, DEPTH] = [6, 64];
const WIDTH = HEADS * DEPTH;
const GPT = {
  embed: 1, place: 1, last: 1,
  blocks: Array.from({ length: LAYERS }, () => ({ n1: 1, qkv: 1, out: 1, n2: 1, up: 1, down: 1 })),
};

const perceptron = (ops, x, b) => ops.add(x, ops.matmul(ops.gelu(ops.matmul(ops.layerNorm(x, b.n2), b.up)), b.down));

/** Attention of q [heads, n, depth] on keys and values [heads, m, depth]; `mask` is added to the scores. */
function attention(ops, q, k, v, mask) {
  const scores = ops.add(ops.scale(ops.matmul(q, ops.transpose(k, [0, 2, 1])), DEPTH ** -0.5), mask);
  return ops.matmul(ops.softmax(scores), v);
}

const prefill = {
  template: GPT,
  inputs: ['tokens'],
  weights: (w, { tokens: { shape: [n] } }) => ({
    ...w,
    place: { shape: [n, WIDTH], data: w.place.data.slice(0, n * WIDTH) },
    mask: { shape: [n, n], data: Float32Array.from({ length: n * n }, (_, i) => (i % n > Math.floor(i / n) ? -1e9 : 0)) },
  }),
  run(ops, w, { tokens }) {
    const n = w.mask.shape[0];
    const heads = (x) => ops.transpose(ops.reshape(x, [n, HEADS, DEPTH]), [1, 0, 2]);
    let x = ops.add(ops.rows(w.embed, tokens), w.place);
    for (const b of w.blocks) {
      const [q, k, v] = ops.thirds(ops.matmul(ops.layerNorm(x, b.n1), b.qkv)).map(heads);
      const mixed = ops.transpose(attention(ops, q, k, v, w.mask), [1, 0, 2]);
      x = perceptron(ops, ops.add(x, ops.matmul(ops.reshape(mixed, [n, WIDTH]), b.out)), b);
    }
    return [ops.matmulTransposed(ops.layerNorm(ops.lastRow(x, n), w.last), w.embed)];
  },
};

const CONTEXT = 256;
/** The cache of each layer, keys and values as [heads, context, depth], from [layers, 2, context, heads, depth]. */
function caches({ data }) {
  const size = CONTEXT * WIDTH;
  return Array.from({ length: LAYERS * 2 }, (_, part) => {
    const out = new Float32Array(size);
    for (let t = 0; t < CONTEXT; t++) for (let h = 0; h < HEADS; h++) {
      const from = part * size + (t * HEADS + h) * DEPTH;
      out.set(data.subarray(from, from + DEPTH), (h * CONTEXT + t) * DEPTH);
    }
    return { shape: [HEADS, CONTEXT, DEPTH], data: out };
  });
}

const decode = {
  template: GPT,
  inputs: ['cache', 'token', 'at'],
  /* The position in the context, in two forms: a mask that is added to scores, and a one-hot choice of a cache row. */
  feeds: ({ cache, token, at: { data: [at] } }) => ({
    token: { shape: [1], data: token.data },
    place: { shape: [1], data: Int32Array.of(at) },
    mask: { shape: [1, CONTEXT], data: Float32Array.from({ length: CONTEXT }, (_, i) => (i > at ? -1e9 : 0)) },
    here: { shape: [CONTEXT, 1], data: Float32Array.from({ length: CONTEXT }, (_, i) => Number(i === at)) },
    ...Object.fromEntries(caches(cache).map((part, i) => [`cache${i}`, part])),
  }),
  weights: (w) => w,
  run(ops, w, given) {
    const heads = (x) => ops.reshape(x, [HEADS, 1, DEPTH]);
    const outputs = [];
    let x = ops.add(ops.rows(w.embed, given.token), ops.rows(w.place, given.place));
    w.blocks.forEach((b, i) => {
      const [q, k, v] = ops.thirds(ops.matmul(ops.layerNorm(x, b.n1), b.qkv)).map(heads);
      const [keys, values] = [k, v].map((row, j) => ops.choose(given.here, row, given[`cache${2 * i + j}`]));
      outputs.push(keys, values);
      const mixed = ops.reshape(attention(ops, q, keys, values, given.mask), [1, WIDTH]);
      x = perceptron(ops, ops.add(x, ops.matmul(mixed, b.out)), b);
    });
    return [ops.matmulTransposed(ops.layerNorm(x, w.last), w.embed), ...outputs];
  },
};

/* ---- Recurrence ---- */

const lstm = {
  template: [],
  inputs: ['xs', 'wx', 'wh'],
  feeds: ({ xs }) => ({ xs }),
  weights: (_, { wx, wh }) => ({ wx, wh }),
  run: (ops, { wx, wh }, { xs }) => [ops.lstm(xs, wx, wh)], // gates in the order i, f, o, u
};

const MODELS = { mobilenet_v2: mobilenet, resnet18: resnet, gpt_prefill: prefill, gpt_decode: decode, lstm };

export const MODEL_NAMES = Object.keys(MODELS);
export const hasModel = (id) => id in MODELS;

/**
 * Returns a model with the weights of a program's parameters.
 * @param {string} id
 * @param {{ shape: number[], data: Float32Array | Int32Array }[]} operands in the program's order
 * @returns {{ weights: object, feeds: object, run: (ops: object, weights: object, feeds: object) => any[] }}
 *   `weights`: a tree of arrays; `feeds`: operands that change with each call, by name
 */
export function modelWith(id, operands) {
  const { template, inputs, weights, feeds = (given) => given, run } = MODELS[id];
  const leaves = [...operands];
  const tree = treeOf(template, leaves);
  const given = Object.fromEntries(inputs.map((name, i) => [name, leaves[i]]));
  return { weights: weights(tree, given), feeds: feeds(given), run };
}

/** Applies `make` to each array of a tree. */
export function mapTree(tree, make) {
  if (!tree || ArrayBuffer.isView(tree.data)) return tree && make(tree);
  if (Array.isArray(tree)) return tree.map((part) => mapTree(part, make));
  return Object.fromEntries(Object.entries(tree).map(([key, part]) => [key, mapTree(part, make)]));
}
