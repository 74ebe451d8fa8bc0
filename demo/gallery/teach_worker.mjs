/**
 * A Flax model that was exported forward only, and its training on a few drawings: docs/guides/own-drawings.md as a
 * worker.
 *
 * Calls: open(urls) -> { compileMs, bytes, threads }, recognise(image) -> ten probabilities, teach(images, labels, steps),
 * forget(), weights() -> bytes of a .safetensors. Tells: loss (a number), after each step.
 */
import { Client, loadWeights, writeSafetensors } from '../../bindings/index.mjs';
import { adam, trainStep } from '../../bindings/train/index.mjs';
import { loadReaders } from '../shared/readers.mjs';
import { serve, tell, transfer } from '../shared/rpc.mjs';

const SIDE = 28;

/** The weights' names in the file, and in Flax. */
const NAMES = {
  conv1: 'Conv_0.kernel', bias1: 'Conv_0.bias', conv2: 'Conv_1.kernel', bias2: 'Conv_1.bias',
  dense1: 'Dense_0.kernel', bias3: 'Dense_0.bias', dense2: 'Dense_1.kernel', bias4: 'Dense_1.bias',
};

let client;
let model;
let program;
let first; /* the weights of the file, in the order of the model's parameters */
let weights;
let fit = null; /* { count, step }: the training step for `count` images */

/** The name in Flax of a parameter: variables__params____Conv_0____kernel__ is Conv_0.kernel. */
const flaxName = ({ name }) => Object.values(NAMES).find((own) => name.includes(own.replace('.', '____')));

async function open(urls) {
  const fetched = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
  const [made, , bytes, trained] = await Promise.all(
    [Client.create({ threads: 0 }), loadReaders(), fetched(urls.forward), fetched(urls.trained)]); /* requests in this order */
  client = made;
  const began = performance.now();
  model = await client.load(bytes);
  program = await client.compile(model);
  const compileMs = performance.now() - began;
  const params = await loadWeights(trained, { map: (name, array) => [NAMES[name], array.convert('f32')] });
  first = weights = model.parameters.slice(0, -1).map((parameter) => params[flaxName(parameter)]);
  return { compileMs, bytes: bytes.length, threads: client.threads };
}

async function recognise(image) {
  const [scores] = await program.execute([...weights, image]);
  const max = Math.max(...scores.data);
  const odds = Array.from(scores.data, (score) => Math.exp(score - max));
  const sum = odds.reduce((a, b) => a + b);
  return odds.map((odd) => odd / sum);
}

/** The loss over some images, from the model for one; and its step of training. */
async function stepFor(count) {
  const many = client.vmap(model, { in: [...weights.map(() => null), 0], size: count });
  const b = client.builder('loss');
  const inputs = model.parameters.slice(0, -1).map(({ name, shape }, i) => b.parameter(i, shape, name));
  const images = b.parameter(inputs.length, `f32[${count},${SIDE},${SIDE}]`, 'images');
  const digits = b.parameter(inputs.length + 1, `s32[${count}]`, 'digits');
  const loss = b.build(b.mean(b.crossEntropy(b.call(many, [...inputs, images]), digits)));
  return trainStep(client, loss, { wrt: 'variables', optimiser: adam({ learningRate: 0.003 }) });
}

async function teach(images, labels, steps) {
  if (fit?.count !== labels.length) {
    fit?.step.dispose();
    fit = { count: labels.length, step: await stepFor(labels.length) };
  }
  await fit.step.start(weights);
  const batch = new Float32Array(labels.length * SIDE * SIDE);
  images.forEach((image, i) => batch.set(image, i * SIDE * SIDE));
  for (let i = 0; i < steps; i++) {
    const [loss] = await fit.step.run([batch, labels]);
    tell('loss', loss.data[0]);
  }
  weights = Object.values(fit.step.weights());
}

export const listen = () => serve({
  open, recognise, teach,
  forget() { weights = first; },
  weights() {
    const bytes = writeSafetensors(Object.fromEntries(model.parameters.slice(0, -1).map((parameter, i) => [flaxName(parameter), weights[i]])));
    return transfer(bytes, [bytes.buffer]);
  },
});
