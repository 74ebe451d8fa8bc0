/** xla-wasm: examples/llama/model.mjs, in Node or in a page. */
import { buildStep, configOf, shapesOf } from '../../../examples/llama/model.mjs';
import { BLOCK, CONTEXT, floats, integers, MOST, PLACE, scalesOf } from './sizes.mjs';

const TYPES = { int8: 's8', int4: 's4' };

/** Returns the literals of a matrix, which all layers share. */
function matrix({ Literal }, [rows, width], type) {
  const most = MOST[type] ?? 127, quants = integers(rows * width, most, rows + width), scales = scalesOf(rows, width, most);
  if (!TYPES[type]) {
    const wide = new Literal(`f32[${rows},${width}]`, floats(quants, scales));
    return { '': type === 'f32' ? wide : wide.convert(type) };
  }
  return {
    quants: new Literal(`${TYPES[type]}[${rows},${width}]`, quants),
    scales: new Literal(`f32[${rows},${width / BLOCK}]`, scales).convert('f16'),
  };
}

export async function prepare(library, { json, type, threads }) {
  const { Client, Literal } = library, config = configOf(json);
  const client = await Client.create({ threads });
  const made = new Map(), shapes = {}, weights = [];
  const known = (key, make) => made.get(key) ?? made.set(key, make()).get(key);
  for (const [name, dimensions] of Object.entries(shapesOf(config))) {
    const parts = dimensions.length === 1
      ? known(`${dimensions}`, () => ({ '': new Literal(`f32[${dimensions}]`, new Float32Array(dimensions[0]).fill(1)) }))
      : known(`${dimensions}`, () => matrix(library, dimensions, type));
    shapes[name] = '' in parts ? String(parts[''].shape) : Object.fromEntries(Object.entries(parts).map(([part, x]) => [part, String(x.shape)]));
    weights.push(...Object.values(parts).map((literal) => client.buffer(literal)));
  }
  made.clear();
  const weightBytes = client.memoryInUse;
  const step = await client.compile(buildStep(client.builder('decode'), config, shapes, { context: CONTEXT, length: 1 }));
  let state = [...Array.from({ length: config.layers * 2 }, () => `f32[${config.groups},${CONTEXT},${config.depth}]`), `pred[${config.tokens}]`]
    .map((shape) => client.buffer(Literal.zeros(shape)));
  const cacheBytes = client.memoryInUse - weightBytes;
  let place = PLACE;

  async function next() {
    if (place === CONTEXT) place = PLACE;
    const [logits, token, ...after] = await step.execute([...weights, ...state, [5], place++, 0, 0.5, 1, 40, 0.95, 1.1],
      { device: true, donate: state.map((_, i) => weights.length + i) });
    state = after;
    token.toArray();
    token.dispose();
    return logits;
  }
  const first = await next();
  const { data } = first.toLiteral();
  first.dispose();
  return {
    logits: Array.from(data.subarray(0, 1000)),
    memory: () => ({ needed: weightBytes + cacheBytes, peak: client.heapInUse + step.memory.temporaries }),
    next: async () => (await next()).dispose(),
  };
}
