/** The engine xla-wasm. */
import { EPSILON, LEARNING_RATE, TOP } from './workloads.mjs';

/** `reducer(b, 'add')`: a computation of two scalars. */
function reducer(b, operation) {
  const sub = b.createSubBuilder(operation);
  return sub.build(sub[operation](sub.parameter(0, 'f32[]'), sub.parameter(1, 'f32[]')));
}

const sum = (b, x, dimensions) =>
  b.reduce(x, b.constant(0, 'f32[]'), reducer(b, 'add'), dimensions);
const most = (b, x, dimensions) =>
  b.reduce(x, b.constant(-Infinity, 'f32[]'), reducer(b, 'max'), dimensions);

/** Of the last dimension. */
function softmax(b, x) {
  const { rank } = x.shape;
  const outer = Array.from({ length: rank - 1 }, (_, i) => i);
  const e = b.exp(b.sub(x, most(b, x, [rank - 1]), outer));
  return b.div(e, sum(b, e, [rank - 1]), outer);
}

function perceptron(b, { x, w1, b1, w2, b2 }) {
  const sums = b.add(b.dot(x, w1), b1, [1]);
  const hidden = b.max(sums, b.constant(0, 'f32[]'));
  return { hidden, logits: b.add(b.dot(hidden, w2), b2, [1]) };
}

/** Its gradients are written by hand. */
function trainingStep(b, operands) {
  const { x, labels, w1, b1, w2, b2 } = operands;
  const [batch, classes] = [x.shape.dimensions[0], b2.shape.dimensions[0]];
  const { hidden, logits } = perceptron(b, operands);
  const oneHot = b.convertElementType(
    b.eq(b.iota(`s32[${batch},${classes}]`, 1), labels, [0]), 'f32');
  const dLogits = b.div(b.sub(softmax(b, logits), oneHot), b.constant(batch, 'f32[]'));
  const dHidden = b.select(
    b.gt(hidden, b.constant(0, 'f32[]')),
    b.dotGeneral(dLogits, w2, { lhsContractingDimensions: [1], rhsContractingDimensions: [1] }),
    b.broadcast(b.constant(0, 'f32[]'), hidden.shape.dimensions));
  const weightGradient = (inputs, outputs) => b.dotGeneral(
    inputs, outputs, { lhsContractingDimensions: [0], rhsContractingDimensions: [0] });
  const updated = (value, gradient) =>
    b.sub(value, b.mul(gradient, b.constant(LEARNING_RATE, 'f32[]')));
  return b.tuple([
    updated(w1, weightGradient(x, dHidden)), updated(b1, sum(b, dHidden, [0])),
    updated(w2, weightGradient(hidden, dLogits)), updated(b2, sum(b, dLogits, [0])),
  ]);
}

function attention(b, { q, k, v }) {
  const scores = b.dotGeneral(q, k, {
    lhsBatchDimensions: [0], rhsBatchDimensions: [0],
    lhsContractingDimensions: [2], rhsContractingDimensions: [2],
  });
  const scaled = b.mul(scores, b.constant(q.shape.dimensions[2] ** -0.5, 'f32[]'));
  return b.dotGeneral(softmax(b, scaled), v, {
    lhsBatchDimensions: [0], rhsBatchDimensions: [0],
    lhsContractingDimensions: [2], rhsContractingDimensions: [1],
  });
}

function layerNorm(b, { x, scale, bias }) {
  const count = b.constant(x.shape.dimensions[1], 'f32[]');
  const centred = b.sub(x, b.div(sum(b, x, [1]), count), [0]);
  const variance = b.div(sum(b, b.mul(centred, centred), [1]), count);
  const normal = b.mul(centred, b.rsqrt(b.add(variance, b.constant(EPSILON, 'f32[]'))), [0]);
  return b.add(b.mul(normal, scale, [1]), bias, [1]);
}

/** A window that ends at each element: JAX's lowering of cumsum. */
function cumulativeSum(b, x) {
  const [, columns] = x.shape.dimensions;
  return b.reduceWindow(x, b.constant(0, 'f32[]'), reducer(b, 'add'),
    [1, columns], [1, 1], [[0, 0], [columns - 1, 0]]);
}

function ascending(b) {
  const sub = b.createSubBuilder('less');
  return sub.build(sub.lt(sub.parameter(0, 'f32[]'), sub.parameter(1, 'f32[]')));
}

const half = (b) => b.constant(0.5, 'f32[]');
const one = (b) => b.constant(1, 'f32[]');

const PROGRAMS = {
  matmul256: (b, { x, y }) => b.dot(x, y),
  matmul1024: (b, { x, y }) => b.dot(x, y),
  matvec: (b, { x, y }) => b.dot(x, y),
  attention,
  conv: (b, { x, y }) =>
    b.convWithGeneralDimensions(x, y, [1, 1], 'SAME', 'b01f_01io->b01f'),
  depthwise: (b, { x, y }) => b.convWithGeneralDimensions(
    x, b.reshape(y, [3, 3, 1, 64]), [1, 1], 'SAME', 'b01f_01io->b01f', { featureGroupCount: 64 }),
  chain: (b, { x, y }) =>
    b.mul(b.tanh(b.add(b.mul(x, b.constant(2, 'f32[]')), one(b))), y),
  exp: (b, { x }) => b.exp(x),
  tanh: (b, { x }) => b.tanh(x),
  gelu: (b, { x }) => b.mul(
    b.mul(x, half(b)), b.add(b.erf(b.mul(x, b.constant(Math.SQRT1_2, 'f32[]'))), one(b))),
  softmax: (b, { x }) => softmax(b, x),
  sumRows: (b, { x }) => sum(b, x, [1]),
  sumColumns: (b, { x }) => sum(b, x, [0]),
  layerNorm,
  transpose: (b, { x }) => b.transpose(x, [1, 0]),
  cumsum: (b, { x }) => cumulativeSum(b, x),
  sort: (b, { x }) => b.sort(x, ascending(b), 0),
  topk: (b, { x }) => b.topK(x, TOP),
  gather: (b, { x, indices }) => b.gather(x, indices, {
    offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
  }, [1, x.shape.dimensions[1]]),
  mlp: (b, operands) => perceptron(b, operands).logits,
  training: trainingStep,
  fft: (b, { re, im }) => b.fft(b.complex(re, im), 'FFT', [256]),
  small: (b, { x, y }) => b.add(x, y),
};

const shapeOf = ({ shape, below }) => `${below ? 's32' : 'f32'}[${shape}]`;

/**
 * @param {object} options
 * @param {boolean} [options.host] each call copies operands from typed arrays and results to typed arrays, but for
 *   weights; else they stay on the device
 */
export async function start({ load, threads, host, read }) {
  const { Client, readNpy } = await load('xla-wasm');
  const client = await Client.create({ threads });

  async function prepare(id, operands) {
    const names = Object.keys(operands);
    const b = client.builder(id);
    const parameters = Object.fromEntries(
      names.map((name, i) => [name, b.parameter(i, shapeOf(operands[name]), name)]));
    const executable = await client.compile(b.build(PROGRAMS[id](b, parameters)));
    const device = !host;
    const args = Object.values(operands).map((operand) =>
      device || operand.weight ? client.buffer(operand.data, shapeOf(operand)) : operand.data);
    return {
      run: () => executable.execute(args, { device }),
      read: (results) => results.map((r) => (device ? r.toLiteral() : r).data),
      free: (results) => device && results.forEach((result) => result.dispose()),
      end: () => {
        args.forEach((arg) => arg.dispose?.());
        executable.dispose();
      },
    };
  }

  async function prepareProgram(hlo, operands) {
    const module = client.parseHlo(new TextDecoder().decode(await read(hlo)));
    const executable = await client.compile(module);
    const args = await Promise.all(module.parameters.map(async ({ shape }, i) =>
      client.buffer(await readNpy(await read(operands[i]), { elementType: shape.elementType }))));
    module.dispose();
    return {
      run: () => executable.execute(args, { device: true }),
      free: (results) => results.flat(Infinity).forEach((result) => result?.dispose()),
      end: () => {
        args.forEach((arg) => arg.dispose());
        executable.dispose();
      },
    };
  }

  return { prepare, prepareProgram, has: (id) => id in PROGRAMS };
}
