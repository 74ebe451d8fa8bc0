/**
 * The workloads: operands, equal for all engines, and the tolerance between results. Each engine's file has one entry per
 * workload, which computes with the operands.
 *
 * An operand that is a `weight` does not change between calls, so an engine may prepare it once. Images are NHWC, filters
 * HWIO. An engine with another order converts operands before the clock runs, and results when they are compared.
 */

const MILLION = 1 << 20;

/** name: { title, operands: { name: { shape, weight?, below? } }, tolerance? } */
export const WORKLOADS = {
  matmul256: {
    title: 'matmul 256 x 256 x 256',
    operands: { x: { shape: [256, 256] }, y: { shape: [256, 256] } },
  },
  matmul1024: {
    title: 'matmul 1024 x 1024 x 1024',
    operands: { x: { shape: [1024, 1024] }, y: { shape: [1024, 1024] } },
  },
  matvec: {
    title: 'vector x matrix, 2048 x 2048',
    operands: { x: { shape: [1, 2048] }, y: { shape: [2048, 2048], weight: true } },
  },
  attention: {
    title: 'attention, 8 heads, 256 x 64',
    operands: {
      q: { shape: [8, 256, 64] },
      k: { shape: [8, 256, 64] },
      v: { shape: [8, 256, 64] },
    },
  },
  conv: {
    title: 'convolution 3 x 3, 56 x 56 x 64',
    operands: { x: { shape: [1, 56, 56, 64] }, y: { shape: [3, 3, 64, 64], weight: true } },
  },
  depthwise: {
    title: 'depthwise 3 x 3, 56 x 56 x 64',
    operands: { x: { shape: [1, 56, 56, 64] }, y: { shape: [3, 3, 64], weight: true } },
  },
  chain: {
    title: 'tanh(x * 2 + 1) * y, 1M',
    operands: { x: { shape: [MILLION] }, y: { shape: [MILLION] } },
  },
  exp: { title: 'exp, 1M', operands: { x: { shape: [MILLION] } } },
  tanh: { title: 'tanh, 1M', operands: { x: { shape: [MILLION] } } },
  gelu: { title: 'gelu (with erf), 1M', operands: { x: { shape: [MILLION] } } },
  softmax: { title: 'softmax of rows, 1000 x 1000', operands: { x: { shape: [1000, 1000] } } },
  sumRows: { title: 'sums of rows, 4096 x 1024', operands: { x: { shape: [4096, 1024] } } },
  sumColumns: { title: 'sums of columns, 4096 x 1024', operands: { x: { shape: [4096, 1024] } } },
  layerNorm: {
    title: 'layer norm, 1024 x 768',
    operands: {
      x: { shape: [1024, 768] },
      scale: { shape: [768], weight: true },
      bias: { shape: [768], weight: true },
    },
  },
  transpose: { title: 'transpose 2048 x 2048', operands: { x: { shape: [2048, 2048] } } },
  cumsum: { title: 'cumulative sums, 1024 x 1024', operands: { x: { shape: [1024, 1024] } } },
  sort: { title: 'sort 100k', operands: { x: { shape: [100000] } } },
  topk: { title: 'top 100 of 100k', operands: { x: { shape: [100000] } } },
  gather: {
    title: '512 rows of 30k x 512',
    operands: {
      x: { shape: [30000, 512], weight: true },
      indices: { shape: [512], below: 30000 },
    },
  },
  mlp: {
    title: 'perceptron 784-256-10, batch 128',
    operands: {
      x: { shape: [128, 784] },
      w1: { shape: [784, 256], weight: true, scale: 0.05 },
      b1: { shape: [256], weight: true },
      w2: { shape: [256, 10], weight: true, scale: 0.1 },
      b2: { shape: [10], weight: true },
    },
  },
  training: {
    title: 'its training step',
    operands: {
      x: { shape: [128, 784] },
      labels: { shape: [128], below: 10 },
      w1: { shape: [784, 256], scale: 0.05 },
      b1: { shape: [256] },
      w2: { shape: [256, 10], scale: 0.1 },
      b2: { shape: [10] },
    },
  },
  fft: {
    title: 'FFT of 1024 rows of 256',
    operands: { re: { shape: [1024, 256] }, im: { shape: [1024, 256] } },
  },
  small: { title: 'x + y, 16 elements', operands: { x: { shape: [16] }, y: { shape: [16] } } },
};

/** The tolerance, relative to the largest element. */
/** Element-wise operations of one or two operands that only operations.mjs measures, by their names in jax.lax. */
export const ELEMENTARY = `abs acos acosh add asin asinh atan atan2 atanh cbrt cos cosh div erf expm1 floor
  log log1p logistic max mod mul pow rsqrt sign sin sinh sqrt tan`.split(/\s+/);

export const TOLERANCE = 1e-4;
export const LEARNING_RATE = 0.1;
export const TOP = 100;
export const EPSILON = 1e-5; // of layer norm

const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** Returns numbers that are equal in every process: floats in [-scale, scale), or integers in [0, below). */
function fill({ shape, scale = 1, below }, seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  if (below) return Int32Array.from({ length: count(shape) }, () => Math.floor(next() * below));
  const data = new Float32Array(count(shape));
  for (let i = 0; i < data.length; i++) data[i] = (next() * 2 - 1) * scale;
  return data;
}

/** The operands of a workload: { name: { shape, weight, data } } */
export function operandsOf(id) {
  const entries = Object.entries(WORKLOADS[id].operands);
  return Object.fromEntries(entries.map(([name, operand], i) =>
    [name, { ...operand, data: fill(operand, 12345 + 977 * i) }]));
}

/** Returns an array with its dimensions in another order, for engines with other layouts. */
export function transposed(data, shape, permutation) {
  const strides = shape.map((_, i) => count(shape.slice(i + 1)));
  const sizes = permutation.map((d) => shape[d]);
  const steps = permutation.map((d) => strides[d]);
  const out = new data.constructor(data.length);
  const index = sizes.map(() => 0);
  for (let i = 0, at = 0; i < out.length; i++) {
    out[i] = data[at];
    for (let d = sizes.length - 1; d >= 0; d--) {
      at += steps[d];
      if (++index[d] < sizes[d]) break;
      at -= sizes[d] * steps[d];
      index[d] = 0;
    }
  }
  return out;
}
