/** Plain loops over typed arrays in JavaScript, without a library. */
import { EPSILON, TOP } from './workloads.mjs';

function matmul(x, y, rows, inner, columns) {
  const out = new Float32Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const v = x[i * inner + k];
      for (let j = 0; j < columns; j++) out[i * columns + j] += v * y[k * columns + j];
    }
  }
  return out;
}

/** Returns out[i] = f(i), with the length of x. */
function map(x, f) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < out.length; i++) out[i] = f(i);
  return out;
}

function softmax(x, columns) {
  const out = new Float32Array(x.length);
  for (let row = 0; row < x.length; row += columns) {
    let max = -Infinity;
    let sum = 0;
    for (let i = row; i < row + columns; i++) max = Math.max(max, x[i]);
    for (let i = row; i < row + columns; i++) sum += out[i] = Math.exp(x[i] - max);
    for (let i = row; i < row + columns; i++) out[i] /= sum;
  }
  return out;
}

function layerNorm(x, scale, bias) {
  const columns = scale.length;
  const out = new Float32Array(x.length);
  for (let row = 0; row < x.length; row += columns) {
    let sum = 0;
    let squares = 0;
    for (let i = 0; i < columns; i++) sum += x[row + i];
    const mean = sum / columns;
    for (let i = 0; i < columns; i++) squares += (x[row + i] - mean) ** 2;
    const factor = 1 / Math.sqrt(squares / columns + EPSILON);
    for (let i = 0; i < columns; i++) {
      out[row + i] = (x[row + i] - mean) * factor * scale[i] + bias[i];
    }
  }
  return out;
}

function attention(q, k, v) {
  const [heads, rows, size] = [8, 256, 64];
  const out = new Float32Array(q.length);
  for (let h = 0; h < heads; h++) {
    const part = (data) => data.subarray(h * rows * size, (h + 1) * rows * size);
    const kt = new Float32Array(rows * size);
    part(k).forEach((value, i) => { kt[(i % size) * rows + Math.floor(i / size)] = value; });
    const scores = matmul(part(q), kt, rows, size, rows);
    out.set(matmul(softmax(map(scores, (i) => scores[i] * size ** -0.5), rows),
      part(v), rows, rows, size), h * rows * size);
  }
  return out;
}

/** Of 56 x 56 x 64; `each` adds what one place of the filter gives to the features of a result. */
function convolve(x, y, each) {
  const [size, features] = [56, 64];
  const out = new Float32Array(x.length);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      for (let place = 0; place < 9; place++) {
        const row = i + Math.floor(place / 3) - 1;
        const column = j + (place % 3) - 1;
        if (row < 0 || row >= size || column < 0 || column >= size) continue;
        each(out, (i * size + j) * features, x, (row * size + column) * features, y, place);
      }
    }
  }
  return out;
}

function addProducts(out, to, x, from, y, place) {
  for (let c = 0; c < 64; c++) {
    const v = x[from + c];
    const filter = (place * 64 + c) * 64;
    for (let o = 0; o < 64; o++) out[to + o] += v * y[filter + o];
  }
}

function addFeatures(out, to, x, from, y, place) {
  for (let c = 0; c < 64; c++) out[to + c] += x[from + c] * y[place * 64 + c];
}

const FUNCTIONS = {
  matmul256: (x, y) => matmul(x, y, 256, 256, 256),
  matvec: (x, y) => matmul(x, y, 1, 2048, 2048),
  attention,
  conv: (x, y) => convolve(x, y, addProducts),
  depthwise: (x, y) => convolve(x, y, addFeatures),
  chain: (x, y) => map(x, (i) => Math.tanh(x[i] * 2 + 1) * y[i]),
  exp: (x) => map(x, (i) => Math.exp(x[i])),
  tanh: (x) => map(x, (i) => Math.tanh(x[i])),
  softmax: (x) => softmax(x, 1000),
  sumRows: (x) => {
    const sums = new Float32Array(4096);
    for (let i = 0; i < 4096; i++) {
      let sum = 0;
      for (let j = 0; j < 1024; j++) sum += x[i * 1024 + j];
      sums[i] = sum;
    }
    return sums;
  },
  sumColumns: (x) => {
    const sums = new Float32Array(1024);
    for (let i = 0; i < 4096; i++) {
      for (let j = 0; j < 1024; j++) sums[j] += x[i * 1024 + j];
    }
    return sums;
  },
  layerNorm,
  transpose: (x) => {
    const out = new Float32Array(x.length);
    for (let i = 0; i < 2048; i++) {
      for (let j = 0; j < 2048; j++) out[i * 2048 + j] = x[j * 2048 + i];
    }
    return out;
  },
  cumsum: (x) => {
    let sum = 0;
    return map(x, (i) => { sum = (i % 1024 ? sum : 0) + x[i]; return sum; });
  },
  sort: (x) => x.slice().sort(),
  topk: (x) => x.slice().sort().subarray(-TOP).reverse(),
  gather: (x, indices) => {
    const out = new Float32Array(indices.length * 512);
    indices.forEach((index, i) => out.set(x.subarray(index * 512, (index + 1) * 512), i * 512));
    return out;
  },
  mlp: (x, w1, b1, w2, b2) => {
    const sums = matmul(x, w1, 128, 784, 256);
    const hidden = map(sums, (i) => Math.max(0, sums[i] + b1[i % 256]));
    const logits = matmul(hidden, w2, 128, 256, 10);
    return map(logits, (i) => logits[i] + b2[i % 10]);
  },
  small: (x, y) => map(x, (i) => x[i] + y[i]),
};

export async function start() {
  async function prepare(id, operands) {
    const data = Object.values(operands).map((operand) => operand.data);
    return {
      run: () => FUNCTIONS[id](...data),
      read: (result) => [result],
      free: () => {},
      end: () => {},
    };
  }
  return { prepare, has: (id) => id in FUNCTIONS };
}
