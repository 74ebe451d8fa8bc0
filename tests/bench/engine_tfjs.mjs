/** tfjs with its WebAssembly backend, which runs each kernel at its call. */
import { hasModel, mapTree, modelWith } from './models.mjs';
import { opsTfjs } from './ops_tfjs.mjs';
import { ELEMENTARY, EPSILON, LEARNING_RATE, TOP } from './workloads.mjs';

function perceptron(tf, { x, w1, b1, w2, b2 }) {
  const hidden = tf.relu(tf.add(tf.matMul(x, w1), b1));
  return { hidden, logits: tf.add(tf.matMul(hidden, w2), b2) };
}

/** Its gradients are written by hand, as tf.grads() of the core alone supports few operations. */
function trainingStep(tf, operands) {
  const { x, labels, w1, b1, w2, b2 } = operands;
  const { hidden, logits } = perceptron(tf, operands);
  const dLogits = tf.div(tf.sub(tf.softmax(logits), tf.oneHot(labels, 10)), x.shape[0]);
  const dHidden = tf.mul(tf.matMul(dLogits, w2, false, true), tf.step(hidden));
  const updated = (value, gradient) => tf.sub(value, tf.mul(gradient, LEARNING_RATE));
  return [
    updated(w1, tf.matMul(x, dHidden, true)), updated(b1, tf.sum(dHidden, 0)),
    updated(w2, tf.matMul(hidden, dLogits, true)), updated(b2, tf.sum(dLogits, 0)),
  ];
}

function layerNorm(tf, { x, scale, bias }) {
  const { mean, variance } = tf.moments(x, 1, true);
  const normal = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, EPSILON)));
  return tf.add(tf.mul(normal, scale), bias);
}

/** Element-wise operations whose names differ from the workloads'. */
const NAMES = { logistic: 'sigmoid', max: 'maximum' };
const elementary = (name) => (tf, { x, y }) => tf[NAMES[name] ?? name](x, y);

const FUNCTIONS = {
  // Its mod() differs from ours, and it has no cube root.
  ...Object.fromEntries(ELEMENTARY.filter((name) => !['mod', 'cbrt'].includes(name))
    .map((name) => [name, elementary(name)])),
  matmul256: (tf, { x, y }) => tf.matMul(x, y),
  matmul1024: (tf, { x, y }) => tf.matMul(x, y),
  matvec: (tf, { x, y }) => tf.matMul(x, y),
  attention: (tf, { q, k, v }) =>
    tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), q.shape[2] ** -0.5)), v),
  conv: (tf, { x, y }) => tf.conv2d(x, y, 1, 'same'),
  depthwise: (tf, { x, y }) => tf.depthwiseConv2d(x, tf.reshape(y, [3, 3, 64, 1]), 1, 'same'),
  chain: (tf, { x, y }) => tf.mul(tf.tanh(tf.add(tf.mul(x, 2), 1)), y),
  exp: (tf, { x }) => tf.exp(x),
  tanh: (tf, { x }) => tf.tanh(x),
  gelu: (tf, { x }) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1)),
  softmax: (tf, { x }) => tf.softmax(x),
  sumRows: (tf, { x }) => tf.sum(x, 1),
  sumColumns: (tf, { x }) => tf.sum(x, 0),
  layerNorm,
  transpose: (tf, { x }) => tf.transpose(x),
  cumsum: (tf, { x }) => tf.cumsum(x, 1),
  /* It has no sort; the largest of the negated numbers are the smallest numbers. */
  sort: (tf, { x }) => tf.neg(tf.topk(tf.neg(x), x.shape[0]).values),
  topk: (tf, { x }) => Object.values(tf.topk(x, TOP)),
  gather: (tf, { x, indices }) => tf.gather(x, indices),
  mlp: (tf, operands) => perceptron(tf, operands).logits,
  training: trainingStep,
  small: (tf, { x, y }) => tf.add(x, y),
};

export async function start({ load, threads, files }) {
  const tf = await load('@tensorflow/tfjs-core');
  const wasm = await load('@tensorflow/tfjs-backend-wasm');
  if (files) wasm.setWasmPaths(files('@tensorflow/tfjs-backend-wasm'));
  wasm.setThreadsCount(threads);
  await tf.setBackend('wasm');
  await tf.ready();

  const tensor = ({ shape, data }) => tf.tensor(data, shape, data instanceof Int32Array ? 'int32' : 'float32');

  async function prepare(id, operands) {
    const model = hasModel(id) && modelWith(id, Object.values(operands));
    const tensors = mapTree(model ? [model.weights, model.feeds] : operands, tensor);
    const compute = model ? () => model.run(opsTfjs(tf), ...tensors) : () => FUNCTIONS[id](tf, tensors);
    return {
      run: () => tf.tidy(compute),
      read: (results) => [results].flat().map((result) => result.dataSync()),
      free: (results) => tf.dispose(results),
      end: () => tf.dispose(tensors),
    };
  }

  return { prepare, has: (id) => id in FUNCTIONS || hasModel(id) };
}
