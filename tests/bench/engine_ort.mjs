/**
 * onnxruntime-web's WebAssembly provider. Operands and results of a call are typed arrays, which it
 * copies in and out; weights are initializers, which it may repack.
 */
import { hasModel, modelWith } from './models.mjs';
import { model } from './onnx.mjs';
import { onnxFeed, OnnxGraph } from './ops_onnx.mjs';
import { EPSILON, TOP, transposed } from './workloads.mjs';

const node = (op, inputs, outputs, attributes) => ({ op, inputs, outputs, attributes });
const unary = (op, attributes) => ({ nodes: () => [node(op, ['x'], ['out'], attributes)] });
const binary = (op) => ({ nodes: () => [node(op, ['x', 'y'], ['out'])] });

const scalar = (value) => ({ shape: [], data: Float32Array.of(value) });
const vector = (value) => ({ shape: [1], data: BigInt64Array.of(BigInt(value)) });

const sum = (axis) => ({
  nodes: () => [node('ReduceSum', ['x', 'axes'], ['out'], { keepdims: 0 })],
  constants: { axes: vector(axis) },
});

const top = (k, attributes) => ({
  nodes: () => [node('TopK', ['x', 'k'], ['out', 'indices'], attributes)],
  constants: { k: vector(k) },
  outputs: ['out', 'indices'],
});

/** Images are NCHW, filters OIHW. */
const image = ({ shape, data }) => {
  const [n, h, w, c] = shape;
  return { shape: [n, c, h, w], data: transposed(data, shape, [0, 3, 1, 2]) };
};
const imageBack = (data) => transposed(data, [1, 64, 56, 56], [0, 2, 3, 1]);

const convolution = (filterShape, permutation, group) => ({
  nodes: () => [node('Conv', ['x', 'y'], ['out'], { auto_pad: 'SAME_UPPER', group })],
  convert: ({ x, y }) => ({
    x: image(x),
    y: { weight: true, shape: filterShape, data: transposed(y.data, y.shape, permutation) },
  }),
  back: imageBack,
});

/** Operations whose names differ from the workloads' in the first letter. */
const ELEMENTARY_UNARY = `Abs Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Floor Log Sign Sin Sinh Sqrt
  Tan`.split(/\s+/);

/** For each workload: the nodes, constants, and conversions of operands and results. */
const MODELS = {
  ...Object.fromEntries(ELEMENTARY_UNARY.map((name) => [name.toLowerCase(), unary(name)])),
  add: binary('Add'), mul: binary('Mul'), div: binary('Div'), max: binary('Max'), pow: binary('Pow'),
  logistic: unary('Sigmoid'),
  mod: { nodes: () => [node('Mod', ['x', 'y'], ['out'], { fmod: 1 })] },
  matmul256: binary('MatMul'),
  matmul1024: binary('MatMul'),
  matvec: binary('MatMul'),
  attention: {
    nodes: () => [
      node('Transpose', ['k'], ['kt'], { perm: [0, 2, 1] }),
      node('MatMul', ['q', 'kt'], ['scores']),
      node('Mul', ['scores', 'scale'], ['scaled']),
      node('Softmax', ['scaled'], ['weights'], { axis: -1 }),
      node('MatMul', ['weights', 'v'], ['out']),
    ],
    constants: { scale: scalar(64 ** -0.5) },
  },
  conv: convolution([64, 64, 3, 3], [3, 2, 0, 1], 1),
  depthwise: convolution([64, 1, 3, 3], [2, 0, 1], 64),
  chain: {
    nodes: () => [
      node('Mul', ['x', 'two'], ['doubled']),
      node('Add', ['doubled', 'one'], ['sum']),
      node('Tanh', ['sum'], ['tanh']),
      node('Mul', ['tanh', 'y'], ['out']),
    ],
    constants: { two: scalar(2), one: scalar(1) },
  },
  exp: unary('Exp'),
  tanh: unary('Tanh'),
  gelu: unary('Gelu'),
  softmax: unary('Softmax', { axis: -1 }),
  sumRows: sum(1),
  sumColumns: sum(0),
  layerNorm: {
    nodes: () => [node('LayerNormalization', ['x', 'scale', 'bias'], ['out'], {
      axis: -1, epsilon: { float: EPSILON },
    })],
  },
  transpose: unary('Transpose', { perm: [1, 0] }),
  cumsum: {
    nodes: () => [node('CumSum', ['x', 'axis'], ['out'])],
    constants: { axis: { shape: [], data: Int32Array.of(1) } },
  },
  sort: top(100000, { largest: 0 }), /* ONNX has no other sort */
  topk: top(TOP),
  gather: { nodes: () => [node('Gather', ['x', 'indices'], ['out'])] },
  mlp: {
    nodes: () => [
      node('Gemm', ['x', 'w1', 'b1'], ['sums']),
      node('Relu', ['sums'], ['hidden']),
      node('Gemm', ['hidden', 'w2', 'b2'], ['out']),
    ],
  },
  fft: {
    nodes: () => [node('DFT', ['x', '', 'axis'], ['out'])],
    constants: { axis: { shape: [], data: BigInt64Array.of(1n) } },
    convert: ({ re, im }) => {
      const data = new Float32Array(re.data.length * 2);
      re.data.forEach((value, i) => data.set([value, im.data[i]], 2 * i));
      return { x: { shape: [...re.shape, 2], data } };
    },
  },
  small: binary('Add'),
};

const elementType = (data) => (data instanceof Int32Array ? 'int32' : 'float32');
const shapeOf = ({ shape, data }) => `${data instanceof Int32Array ? 's32' : 'f32'}[${shape}]`;

function modelOf({ nodes, constants = {}, outputs = ['out'] }, operands) {
  const entries = Object.entries(operands);
  const inputs = entries.filter(([, { weight }]) => !weight);
  const weights = entries.filter(([, { weight }]) => weight);
  return model({
    inputs: Object.fromEntries(inputs.map(([name, operand]) => [name, shapeOf(operand)])),
    weights: { ...Object.fromEntries(weights), ...constants },
    nodes: nodes(),
    outputs,
  });
}

/** Makes a model of models.mjs: { bytes, inputs, names of the outputs }. */
function wholeModel(id, operands) {
  const { weights, feeds, run } = modelWith(id, Object.values(operands));
  const inputs = Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, onnxFeed(value)]));
  const graph = new OnnxGraph();
  const outputs = run(graph, weights, Object.fromEntries(Object.keys(inputs).map((name) => [name, name])));
  const types = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, shapeOf(value)]));
  return { bytes: model({ inputs: types, weights: graph.weights, nodes: graph.nodes, outputs }), inputs, outputs };
}

/** Makes the model of a workload: { bytes, inputs, names of the outputs }. */
function smallModel(id, given) {
  const description = MODELS[id];
  const operands = description.convert?.(given) ?? given;
  const inputs = Object.fromEntries(Object.entries(operands).filter(([, { weight }]) => !weight));
  return { bytes: modelOf(description, operands), inputs, outputs: ['out'], back: description.back };
}

export async function start({ load, threads, files }) {
  const ort = await load('onnxruntime-web');
  ort.env.wasm.numThreads = threads;
  if (files) ort.env.wasm.wasmPaths = files('onnxruntime-web');

  async function prepare(id, given) {
    const { bytes, inputs, outputs, back = (data) => data } = hasModel(id) ? wholeModel(id, given) : smallModel(id, given);
    const session = await ort.InferenceSession.create(bytes, {
      executionProviders: ['wasm'], graphOptimizationLevel: 'all',
    });
    const feeds = Object.fromEntries(Object.entries(inputs).map(([name, { shape, data }]) =>
      [name, new ort.Tensor(elementType(data), data, shape)]));
    return {
      run: () => session.run(feeds),
      read: (results) => [back(results[outputs[0]].data)],
      free: () => {},
      end: () => session.release(),
    };
  }

  return { prepare, has: (id) => id in MODELS || hasModel(id) };
}
