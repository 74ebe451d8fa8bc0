/** jax-js with its WebAssembly backend, each workload in one jit(). */
import { ELEMENTARY, EPSILON, LEARNING_RATE, TOP, transposed } from './workloads.mjs';

/* A function owns its arguments: it uses each once, and `x.ref` for each further use. */

function layerNorm({ np }, { x, scale, bias }) {
  const mean = np.mean(x.ref, 1, { keepdims: true });
  const centred = x.sub(mean);
  const variance = np.mean(np.square(centred.ref), 1, { keepdims: true });
  return centred.div(np.sqrt(variance.add(EPSILON))).mul(scale).add(bias);
}

function perceptron({ np, nn }, { x, w1, b1, w2, b2 }) {
  return np.matmul(nn.relu(np.matmul(x, w1).add(b1)), w2).add(b2);
}

function trainingStep({ jax, np, nn, tree }, { x, labels, ...parameters }) {
  const loss = (given) => {
    const logits = perceptron({ np, nn }, { x: x.ref, ...given });
    const oneHot = nn.oneHot(labels.ref, 10);
    return np.mean(np.sum(nn.logSoftmax(logits).mul(oneHot).neg(), 1));
  };
  const gradients = jax.grad(loss)(tree.ref(parameters));
  x.dispose();
  labels.dispose();
  return Object.keys(parameters).map((name) =>
    parameters[name].sub(gradients[name].mul(LEARNING_RATE)));
}

/** Images are NCHW, filters OIHW. */
const image = ({ shape, data }) => {
  const [n, h, w, c] = shape;
  return { shape: [n, c, h, w], data: transposed(data, shape, [0, 3, 1, 2]) };
};
const imageBack = ([data]) => [transposed(data, [1, 64, 56, 56], [0, 2, 3, 1])];

const interleaved = ([re, im]) => {
  const data = new Float32Array(re.length * 2);
  re.forEach((value, i) => data.set([value, im[i]], 2 * i));
  return [data];
};

/** Element-wise operations whose names in NumPy differ. */
const NAMES = {
  add: 'add', max: 'maximum', mul: 'multiply', div: 'divide', pow: 'power', acos: 'arccos', acosh: 'arccosh',
  asin: 'arcsin', asinh: 'arcsinh', atan: 'arctan', atan2: 'arctan2', atanh: 'arctanh', mod: 'fmod',
};
const elementary = (name) => ({ np, nn, lax }, { x, y }) => {
  const call = np[NAMES[name] ?? name] ?? { logistic: nn.sigmoid, erf: lax.erf, rsqrt: lax.rsqrt }[name];
  if (!call) throw new Error('there is none');
  return y ? call(x, y) : call(x);
};

const FUNCTIONS = {
  ...Object.fromEntries(ELEMENTARY.map((name) => [name, { call: elementary(name) }])),
  matmul256: { call: ({ np }, { x, y }) => np.matmul(x, y) },
  matmul1024: { call: ({ np }, { x, y }) => np.matmul(x, y) },
  matvec: { call: ({ np }, { x, y }) => np.matmul(x, y) },
  attention: {
    call: ({ np, nn }, { q, k, v }) => {
      const scores = np.matmul(q, np.swapaxes(k, 1, 2)).mul(64 ** -0.5);
      return np.matmul(nn.softmax(scores, -1), v);
    },
  },
  conv: {
    call: ({ lax }, { x, y }) => lax.convGeneralDilated(x, y, [1, 1], 'SAME'),
    convert: ({ x, y }) => ({
      x: image(x), y: { shape: [64, 64, 3, 3], data: transposed(y.data, y.shape, [3, 2, 0, 1]) },
    }),
    back: imageBack,
  },
  depthwise: {
    call: ({ lax }, { x, y }) =>
      lax.convGeneralDilated(x, y, [1, 1], 'SAME', { featureGroupCount: 64 }),
    convert: ({ x, y }) => ({
      x: image(x), y: { shape: [64, 1, 3, 3], data: transposed(y.data, y.shape, [2, 0, 1]) },
    }),
    back: imageBack,
  },
  chain: { call: ({ np }, { x, y }) => np.tanh(x.mul(2).add(1)).mul(y) },
  exp: { call: ({ np }, { x }) => np.exp(x) },
  tanh: { call: ({ np }, { x }) => np.tanh(x) },
  gelu: { call: ({ nn }, { x }) => nn.gelu(x, { approximate: false }) },
  softmax: { call: ({ nn }, { x }) => nn.softmax(x, -1) },
  sumRows: { call: ({ np }, { x }) => np.sum(x, 1) },
  sumColumns: { call: ({ np }, { x }) => np.sum(x, 0) },
  layerNorm: { call: layerNorm },
  /* A transposition alone is a view; the addition forces a copy. */
  transpose: { call: ({ np }, { x }) => np.transpose(x).add(0) },
  cumsum: { call: ({ np }, { x }) => np.cumsum(x, 1) },
  sort: { call: ({ np }, { x }) => np.sort(x) },
  topk: { call: ({ lax }, { x }) => lax.topK(x, TOP) },
  gather: { call: ({ np }, { x, indices }) => np.take(x, indices, 0) },
  mlp: { call: perceptron },
  training: { call: trainingStep },
  fft: {
    call: ({ np }, { re, im }) => {
      const { real, imag } = np.fft.fft({ real: re, imag: im });
      return [real, imag];
    },
    back: interleaved,
  },
  small: { call: ({ np }, { x, y }) => np.add(x, y) },
};

export async function start({ load, threads }) {
  // Node 20 has no navigator; later versions have these fields.
  globalThis.navigator ??= { userAgent: 'Node.js', hardwareConcurrency: threads };
  const jax = await load('@jax-js/jax');
  const { numpy: np, nn, lax, tree } = jax;
  await jax.init('wasm');
  jax.defaultDevice('wasm');
  const library = { jax, np, nn, lax, tree };

  async function prepare(id, given) {
    const { call, convert, back = (data) => data } = FUNCTIONS[id];
    const operands = Object.fromEntries(
      Object.entries(convert?.(given) ?? given).map(([name, { shape, data }]) => {
        const dtype = data instanceof Int32Array ? np.int32 : np.float32;
        return [name, np.array(data, { dtype }).reshape(shape)];
      }));
    await jax.blockUntilReady(operands);
    const compiled = jax.jit((args) => call(library, args));
    return {
      run: async () => {
        const results = compiled(tree.ref(operands));
        await jax.blockUntilReady(results);
        return results;
      },
      read: async (results) =>
        back(await Promise.all([results].flat().map((result) => result.ref.data()))),
      free: (results) => tree.dispose(results),
      end: () => {
        tree.dispose(operands);
        compiled.dispose();
      },
    };
  }

  return { prepare, has: (id) => id in FUNCTIONS };
}
