/**
 * The operations of models.mjs as nodes of an ONNX graph, as ONNX's exporters write them. Values are names; images are
 * NCHW. Weights are initializers, which the engine may repack.
 */
import { transposed } from './workloads.mjs';

const permuted = ({ shape, data }, permutation) =>
  ({ shape: permutation.map((i) => shape[i]), data: transposed(data, shape, permutation) });

const LSTM_GATES = [0, 2, 1, 3]; // i, o, f, u of i, f, o, u

/** Converts LSTM weights [inputs, 4 * hidden] to ONNX's form: [1, 4 * hidden, inputs], gates in its order. */
function lstmWeights({ shape: [inputs, all], data }) {
  const hidden = all / 4;
  const out = new Float32Array(inputs * all);
  LSTM_GATES.forEach((gate, at) => {
    for (let h = 0; h < hidden; h++) for (let i = 0; i < inputs; i++) {
      out[(at * hidden + h) * inputs + i] = data[i * all + gate * hidden + h];
    }
  });
  return { shape: [1, all, inputs], data: out };
}

export class OnnxGraph {
  nodes = [];
  weights = {};
  #names = new Map(); // of weights that stand for themselves
  #next = 0;

  #weight(value) {
    const name = `w${this.#next++}`;
    this.weights[name] = value;
    return name;
  }

  #named(value) {
    if (typeof value === 'string') return value;
    if (!this.#names.has(value)) this.#names.set(value, this.#weight(value));
    return this.#names.get(value);
  }

  #node(op, inputs, attributes = {}, results = 1) {
    const outputs = Array.from({ length: results }, () => `v${this.#next++}`);
    this.nodes.push({ op, inputs: inputs.map((input) => this.#named(input)), outputs, attributes });
    return results === 1 ? outputs[0] : outputs;
  }

  #integers = (...values) => this.#weight({ shape: [values.length], data: BigInt64Array.from(values, BigInt) });
  #scalar = (value) => this.#weight({ shape: [], data: Float32Array.of(value) });

  conv(x, { filter, bias }, { stride = 1, depthwise, then }) {
    const outputs = filter.shape.at(-1);
    const inputs = [x, this.#weight(permuted(filter, [3, 2, 0, 1]))];
    if (bias) inputs.push(bias);
    const y = this.#node('Conv', inputs, { auto_pad: 'SAME_UPPER', strides: [stride, stride], group: depthwise ? outputs : 1 });
    if (then === 'relu6') return this.#node('Clip', [y, this.#scalar(0), this.#scalar(6)]);
    return then ? this.relu(y) : y;
  }

  maxPool = (x, size, stride) =>
    this.#node('MaxPool', [x], { kernel_shape: [size, size], strides: [stride, stride], auto_pad: 'SAME_UPPER' });
  meanOfImage = (x) => this.#node('ReduceMean', [x, this.#integers(2, 3)], { keepdims: 0 });
  add = (x, y) => this.#node('Add', [x, y]);
  scale = (x, factor) => this.#node('Mul', [x, this.#scalar(factor)]);
  relu = (x) => this.#node('Relu', [x]);
  gelu = (x) => this.#node('Gelu', [x], { approximate: 'tanh' });
  softmax = (x) => this.#node('Softmax', [x], { axis: -1 });
  layerNorm = (x, scale) => this.#node('LayerNormalization', [x, scale], { axis: -1, epsilon: { float: 1e-5 } });
  matmul = (x, y) => this.#node('MatMul', [x, y]);
  matmulTransposed = (x, y) => this.#node('Gemm', [x, y], { transB: 1 });
  transpose = (x, perm) => this.#node('Transpose', [x], { perm });
  reshape = (x, shape) => this.#node('Reshape', [x, this.#integers(...shape)]);
  thirds = (x) => this.#node('Split', [x], { axis: -1, num_outputs: 3 }, 3);
  rows = (x, indices) => this.#node('Gather', [x, indices]);
  lastRow = (x, n) => this.#node('Slice', [x, this.#integers(n - 1), this.#integers(n), this.#integers(0)]);
  choose = (where, x, y) => this.#node('Where', [this.#node('Greater', [where, this.#scalar(0.5)]), x, y]);

  lstm(xs, wx, wh) {
    const inputs = [xs, this.#weight(lstmWeights(wx)), this.#weight(lstmWeights(wh))];
    const steps = this.#node('LSTM', inputs, { hidden_size: wh.shape[0] });
    return this.#node('Squeeze', [steps, this.#integers(1)]); // [steps, directions, batch, hidden]
  }
}

/** Converts a feed to the model's layout: images to NCHW. */
export const onnxFeed = (value) => (value.shape.length === 4 ? permuted(value, [0, 3, 1, 2]) : value);
