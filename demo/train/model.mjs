/**
 * The model and its training: a multilayer perceptron 784-128-10 with softmax cross-entropy, by
 * stochastic gradient descent on several replicas. The same file runs in Node and in the page.
 *
 * One XLA computation is one training step: forward, backward, an AllReduce of the gradients over
 * all replicas, update. Each replica gets its own shard of the batch, and keeps its own copy of the
 * weights in device buffers from step to step.
 */
import { randomNumbers } from '../shared/random.mjs';
import { PIXELS, shuffle } from './digits.mjs';

export const HIDDEN = 128;
const CLASSES = 10;

/** Names and shapes of the weights, in the order of parameters and results. */
const WEIGHTS = [
  ['w1', [PIXELS, HIDDEN]],
  ['b1', [HIDDEN]],
  ['w2', [HIDDEN, CLASSES]],
  ['b2', [CLASSES]],
];

const f32 = (...dimensions) => `f32[${dimensions.join(',')}]`;

/** (x: f32[], y: f32[]) -> x op y, for reductions. */
function scalarComputation(client, op) {
  const b = client.builder(op);
  return b.build(b[op](b.parameter(0, 'f32[]', 'x'), b.parameter(1, 'f32[]', 'y')));
}

/** The operations that forward and backward share: logits from images and weights. */
function forward(b, images, [w1, b1, w2, b2]) {
  const hidden = b.max(b.add(b.dot(images, w1), b1, [1]), b.constant(0, 'f32[]'));
  const logits = b.add(b.dot(hidden, w2), b2, [1]);
  return { hidden, logits };
}

/** Images arrive as bytes; the model wants numbers from 0 to 1. */
function toUnit(b, images) {
  return b.mul(b.convertElementType(images, 'f32'), b.constant(1 / 255, 'f32[]'));
}

/** Softmax along the last dimension: the exponentials' quotients and the log-probabilities. */
function softmax(b, logits, add, max) {
  const largest = b.reduce(logits, b.constant(-Infinity, 'f32[]'), max, [1]);
  const shifted = b.sub(logits, largest, [0]);
  const exponentials = b.exp(shifted);
  const sum = b.reduce(exponentials, b.constant(0, 'f32[]'), add, [1]);
  return {
    probabilities: b.div(exponentials, sum, [0]),
    logProbabilities: b.sub(shifted, b.log(sum), [0]),
  };
}

/**
 * The training step of one replica.
 * Parameters: w1, b1, w2, b2, images u8[shard,784], labels s32[shard], learning rate f32[].
 * Result: (w1, b1, w2, b2, mean loss over the global batch f32[], correct answers in it f32[]).
 */
export function buildTrainingStep(client, shard, replicas) {
  const add = scalarComputation(client, 'add');
  const max = scalarComputation(client, 'max');
  const b = client.builder('training_step');
  const weights = WEIGHTS.map(([name, dims], i) => b.parameter(i, f32(...dims), name));
  const bytes = b.parameter(4, `u8[${shard},${PIXELS}]`, 'images');
  const labels = b.parameter(5, `s32[${shard}]`, 'labels');
  const learningRate = b.parameter(6, 'f32[]', 'learning_rate');
  const zero = b.constant(0, 'f32[]');
  const sum = (x, dimensions) => b.reduce(x, zero, add, dimensions);

  const images = toUnit(b, bytes);
  const { hidden, logits } = forward(b, images, weights);
  const { probabilities, logProbabilities } = softmax(b, logits, add, max);
  const classes = b.iota(`s32[${shard},${CLASSES}]`, 1);
  const truth = b.convertElementType(b.eq(classes, labels, [0]), 'f32');
  const scale = b.constant(1 / (shard * replicas), 'f32[]');
  const loss = b.neg(b.mul(sum(b.mul(truth, logProbabilities), [0, 1]), scale));
  const best = b.reduce(logits, b.constant(-Infinity, 'f32[]'), max, [1]);
  const isBest = b.convertElementType(b.eq(logits, best, [0]), 'f32');
  const correct = sum(b.mul(isBest, truth), [0, 1]);

  /* d loss / d logits = (softmax - truth) / batch; the rest is the chain rule. */
  const dLogits = b.mul(b.sub(probabilities, truth), scale);
  const rows = { lhsContractingDimensions: [0], rhsContractingDimensions: [0] };
  const columns = { lhsContractingDimensions: [1], rhsContractingDimensions: [1] };
  const dHidden = b.select(b.gt(hidden, zero), b.dotGeneral(dLogits, weights[2], columns),
    b.broadcast(zero, [shard, HIDDEN]));
  const gradients = [
    b.dotGeneral(images, dHidden, rows), sum(dHidden, [0]),
    b.dotGeneral(hidden, dLogits, rows), sum(dLogits, [0]),
  ];

  const all = b.allReduce(b.tuple([...gradients, loss, correct]), add);
  const updated = weights.map((w, i) =>
    b.sub(w, b.mul(b.getTupleElement(all, i), learningRate)));
  return b.build(b.tuple([...updated, b.getTupleElement(all, 4), b.getTupleElement(all, 5)]));
}

/** Probabilities of the ten classes for `count` images: (w1, b1, w2, b2, u8[count,784]) -> f32[count,10]. */
export function buildClassifier(client, count) {
  const add = scalarComputation(client, 'add');
  const max = scalarComputation(client, 'max');
  const b = client.builder('classifier');
  const weights = WEIGHTS.map(([name, dims], i) => b.parameter(i, f32(...dims), name));
  const images = toUnit(b, b.parameter(4, `u8[${count},${PIXELS}]`, 'images'));
  return b.build(softmax(b, forward(b, images, weights).logits, add, max).probabilities);
}

/** He initialisation with a fixed seed: normal numbers by Box and Muller. */
function initialWeights(seed) {
  const random = randomNumbers(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return WEIGHTS.map(([, dims]) => {
    const data = new Float32Array(dims.reduce((n, d) => n * d, 1));
    if (dims.length === 2) data.forEach((_, i) => { data[i] = normal() * Math.sqrt(2 / dims[0]); });
    return data;
  });
}

/** FNV-1a over the bytes of several arrays, as eight hexadecimal digits. */
function checksum(arrays) {
  let h = 0x811c9dc5;
  for (const array of arrays) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (const byte of bytes) h = Math.imul(h ^ byte, 0x01000193);
  }
  return (h >>> 0).toString(16).padStart(8, '0');
}

/**
 * Training as an object: `step()` does one step, `evaluate()` the test set.
 *
 * @param client   a Client
 * @param digits   { train, test } from splitDigits()
 * @param options  replicas, batch (global, a multiple of replicas), learningRate, seed; `from`: what
 *   another training's state() gave, to go on from there
 */
export class Training {
  static async create(client, digits, options = {}) {
    const { replicas = 4, batch = 64, learningRate = 0.15, seed = 7, from } = options;
    if (batch % replicas) throw new RangeError(`a batch of ${batch} can't be cut into ${replicas}`);
    const training = new Training();
    Object.assign(training, { client, digits, replicas, batch, learningRate });
    training.step = from?.step ?? 0;
    training.random = randomNumbers(seed + training.step);
    training.order = Int32Array.from({ length: digits.train.count }, (_, i) => i);
    training.stepsPerEpoch = Math.floor(digits.train.count / batch);
    if (from) shuffle(training.order, training.random);
    training.trainer = await client.compile(
      buildTrainingStep(client, batch / replicas, replicas), { replicas });
    training.classifiers = new Map();
    const initial = from?.weights ?? initialWeights(seed);
    training.weights = Array.from({ length: replicas }, () =>
      initial.map((data, i) => client.buffer(data, f32(...WEIGHTS[i][1]))));
    return training;
  }

  /** The images and labels of step number `step` (call it once for each), on the device, a list a replica. */
  batchOf(step) {
    const index = step % this.stepsPerEpoch, shard = this.batch / this.replicas;
    if (index === 0) shuffle(this.order, this.random);
    return Array.from({ length: this.replicas }, (_, r) => {
      const [pixels, truth] = this.shard(index * this.batch, r);
      return [this.client.buffer(pixels, `u8[${shard},${PIXELS}]`), this.client.buffer(truth, `s32[${shard}]`)];
    });
  }

  /** The shard of replica `r` of the batch that begins at `start` of the shuffled order. */
  shard(start, r) {
    const { images, labels } = this.digits.train;
    const size = this.batch / this.replicas;
    const pixels = new Uint8Array(size * PIXELS);
    const truth = new Int32Array(size);
    for (let i = 0; i < size; i++) {
      const n = this.order[start + r * size + i];
      pixels.set(images.subarray(n * PIXELS, (n + 1) * PIXELS), i * PIXELS);
      truth[i] = labels[n];
    }
    return [pixels, truth];
  }

  /** One step. Returns its mean loss, accuracy on the batch, and the events of its profile if asked for. */
  async next({ profile = false } = {}) {
    const batch = this.following ?? this.batchOf(this.step);
    const inputs = this.weights.map((weights, r) => [...weights, ...batch[r], this.learningRate]);
    const running = this.trainer.executeReplicas(inputs,
      { device: true, donate: [0, 1, 2, 3, 4, 5], profile });
    this.following = this.batchOf(this.step + 1); // while the workers are at this one
    const done = await running, [results, events] = profile ? [done.outputs, done.events] : [done, null];
    const [, , , , loss, correct] = results[0];
    const outcome = {
      step: ++this.step,
      loss: loss.toLiteral().data[0],
      accuracy: correct.toLiteral().data[0] / this.batch,
      events,
    };
    this.weights = results.map((outputs) => {
      outputs.slice(4).forEach((buffer) => buffer.dispose());
      return outputs.slice(0, 4);
    });
    return outcome;
  }

  /** The ten probabilities for each of `count` images (a Uint8Array of count * 784 bytes). */
  async classify(images, count) {
    if (!this.classifiers.has(count)) {
      this.classifiers.set(count,
        await this.client.compile(buildClassifier(this.client, count), { replicas: 1 }));
    }
    const [probabilities] = await this.classifiers.get(count).execute([...this.weights[0], images]);
    return probabilities.data;
  }

  /** What replica 0's weights take each test image for: the digits. */
  async answers() {
    const { images, count } = this.digits.test;
    const probabilities = await this.classify(images, count);
    return Uint8Array.from({ length: count }, (_, n) => {
      const row = probabilities.subarray(n * CLASSES, (n + 1) * CLASSES);
      return row.indexOf(Math.max(...row));
    });
  }

  /** The share of test images that replica 0's weights classify rightly. */
  async evaluate() {
    const { labels, count } = this.digits.test;
    const answers = await this.answers();
    return answers.reduce((right, answer, n) => right + (answer === labels[n] ? 1 : 0), 0) / count;
  }

  /** What a training can go on from: weights, as Float32Arrays, and the number of the step. */
  state() {
    return { step: this.step, weights: this.weights[0].map((buffer) => buffer.toLiteral().data) };
  }

  /** The first layer: f32[784,128], row-major. */
  firstLayer() {
    return this.weights[0][0].toLiteral().data;
  }

  /** Bytes that one replica gives to the all-reduce of a step: gradients, loss, correct answers. */
  get reducedBytes() {
    return WEIGHTS.reduce((sum, [, dims]) => sum + 4 * dims.reduce((n, d) => n * d, 1), 0) + 8;
  }

  /** One checksum per replica, over all its weights. Equal replicas have equal ones. */
  checksums() {
    return this.weights.map((weights) =>
      checksum(weights.map((buffer) => buffer.toLiteral().data)));
  }

  dispose() {
    [this.weights, this.following ?? []].flat(2).forEach((buffer) => buffer.dispose());
    this.trainer.dispose();
    this.classifiers.forEach((classifier) => classifier.dispose());
  }
}
