/**
 * onnxruntime-web's WebAssembly provider, on the graph that its exporters write: MatMulNBits and GroupQueryAttention. The
 * embedding's row is an input. `accuracy` 4 rounds activations to 8 bits.
 */
import { model } from '../onnx.mjs';
import { BLOCK, floats, integers, MOST, PLACE, scalesOf } from './sizes.mjs';

/** Converts a weight to the form of MatMulNBits or MatMul. */
function weightOf(rows, width, type) {
  const most = MOST[type] ?? 127, quants = integers(rows * width, most, rows + width), scales = scalesOf(rows, width, most);
  if (type === 'f32') {
    const wide = floats(quants, scales), data = new Float32Array(wide.length); // [width, rows]
    for (let i = 0; i < rows; i++) for (let j = 0; j < width; j++) data[j * rows + i] = wide[i * width + j];
    return { w: { shape: [width, rows], data } };
  }
  const perByte = type === 'int4' ? 2 : 1;
  const data = type === 'int8' ? Uint8Array.from(quants, (q) => q + 128)
    : Uint8Array.from({ length: quants.length / 2 }, (_, i) => (quants[2 * i] + 8) | ((quants[2 * i + 1] + 8) << 4));
  return { w: { shape: [rows, width / BLOCK, BLOCK / perByte], data }, scales: { shape: [rows, width / BLOCK], data: scales } };
}

function graphOf(json, type, accuracy) {
  const { hidden_size: width, intermediate_size: inner, num_attention_heads: heads, num_key_value_heads: groups } = json;
  const depth = width / heads, across = groups * depth, weights = {}, nodes = [];
  let count = 0;
  const node = (op, inputs, attributes = {}, results = 1, domain = undefined) => {
    const outputs = Array.from({ length: results }, () => `t${count++}`);
    nodes.push({ op, inputs, outputs, attributes, domain });
    return results === 1 ? outputs[0] : outputs;
  };
  const made = new Map();
  const linear = (x, rows, columns) => { // layers have the same numbers, each in a tensor of its own
    if (!made.has(`${rows},${columns}`)) made.set(`${rows},${columns}`, weightOf(rows, columns, type));
    const name = `w${count++}`, { w, scales } = made.get(`${rows},${columns}`);
    weights[name] = w;
    if (!scales) return node('MatMul', [x, name]);
    weights[`${name}s`] = scales;
    const attributes = { K: columns, N: rows, bits: type === 'int4' ? 4 : 8, block_size: BLOCK, ...(accuracy && { accuracy_level: accuracy }) };
    return node('MatMulNBits', [x, name, `${name}s`], attributes, 1, 'com.microsoft');
  };
  weights.ones = { shape: [width], data: new Float32Array(width).fill(1) };
  const angle = (f) => ({ shape: [PLACE + 1, depth / 2], data: Float32Array.from({ length: (PLACE + 1) * depth / 2 }, (_, i) =>
    f(Math.floor(i / (depth / 2)) * json.rope_theta ** (-2 * (i % (depth / 2)) / depth))) });
  Object.assign(weights, { cos: angle(Math.cos), sin: angle(Math.sin) });
  const norm = (x) => node('SimplifiedLayerNormalization', [x, 'ones'], { axis: -1, epsilon: { float: json.rms_norm_eps } });

  let x = 'x';
  const presents = [];
  for (let i = 0; i < json.num_hidden_layers; i++) {
    const y = norm(x);
    const [mixed, ...kept] = node('GroupQueryAttention', [linear(y, width, width), linear(y, across, width), linear(y, across, width),
      `k${i}`, `v${i}`, 'before', 'total', 'cos', 'sin'], { num_heads: heads, kv_num_heads: groups, do_rotary: 1 }, 3, 'com.microsoft');
    presents.push(...kept);
    x = node('Add', [x, linear(mixed, width, width)]);
    const z = norm(x), gate = linear(z, inner, width);
    x = node('Add', [x, linear(node('Mul', [node('Mul', [gate, node('Sigmoid', [gate])]), linear(z, inner, width)]), width, inner)]);
  }
  const past = Object.fromEntries(Array.from({ length: json.num_hidden_layers }, (_, i) =>
    [`k${i}`, `v${i}`].map((name) => [name, `f32[1,${groups},${PLACE},${depth}]`])).flat());
  const logits = linear(norm(x), json.vocab_size, width);
  return {
    bytes: model({ inputs: { x: `f32[1,1,${width}]`, ...past, before: 's32[1]', total: 's32[]' }, weights, nodes, outputs: [logits, ...presents] }),
    past, logits,
  };
}

export async function prepare(ort, { json, type, threads, accuracy, files }) {
  ort.env.wasm.numThreads = threads;
  if (files) ort.env.wasm.wasmPaths = files;
  const { bytes, past, logits } = graphOf(json, type, accuracy);
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' });
  const width = json.hidden_size, most = MOST[type] ?? 127;
  // Row 5 of the embedding, which has the shape of the output's weights.
  const row = floats(integers(json.vocab_size * width, most, json.vocab_size + width).subarray(5 * width, 6 * width),
    scalesOf(json.vocab_size, width, most).subarray(5 * width / BLOCK));
  const feeds = {
    x: new ort.Tensor('float32', row, [1, 1, width]), before: new ort.Tensor('int32', Int32Array.of(PLACE), [1]),
    total: new ort.Tensor('int32', Int32Array.of(PLACE + 1), []),
    ...Object.fromEntries(Object.entries(past).map(([name, shape]) => {
      const dimensions = JSON.parse(shape.slice(3));
      return [name, new ort.Tensor('float32', new Float32Array(dimensions.reduce((a, b) => a * b)), dimensions)];
    })),
  };
  const first = await session.run(feeds);
  return { logits: Array.from(first[logits].data.subarray(0, 1000)), memory: () => null, next: async () => { await session.run(feeds); } };
}
