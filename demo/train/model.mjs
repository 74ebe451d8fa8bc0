/**
 * The model and its training: a multilayer perceptron 784-128-10 with softmax cross-entropy, by
 * stochastic gradient descent on several replicas. The same file runs in Node and in the page.
 *
 * One XLA computation is one training step: forward, the gradient of the loss, an AllReduce of the
 * gradients over all replicas, update. Each replica takes its own shard of the batch from the digits, which all of
 * them share on the device, and keeps its own copy of the weights there from step to step.
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
  return b.add(b.dot(hidden, w2), b2, [1]);
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

/** One step of one replica: the new weights, the loss, and the number of correct answers. */
function trainingStep(b, { weights, bytes, labels, learningRate }, { shard, replicas, add, max }) {
  const zero = b.constant(0, 'f32[]');
  const sum = (x, dimensions) => b.reduce(x, zero, add, dimensions);

  const images = toUnit(b, bytes);
  const logits = forward(b, images, weights);
  const { logProbabilities } = softmax(b, logits, add, max);
  const classes = b.iota(`s32[${shard},${CLASSES}]`, 1);
  const truth = b.convertElementType(b.eq(classes, labels, [0]), 'f32');
  const scale = b.constant(1 / (shard * replicas), 'f32[]');
  const loss = b.neg(b.mul(sum(b.mul(truth, logProbabilities), [0, 1]), scale));
  const best = b.reduce(logits, b.constant(-Infinity, 'f32[]'), max, [1]);
  const isBest = b.convertElementType(b.eq(logits, best, [0]), 'f32');
  const correct = sum(b.mul(isBest, truth), [0, 1]);

  const gradients = b.gradient(loss, weights);
  const all = b.allReduce(b.tuple([...gradients, loss, correct]), add);
  const updated = weights.map((w, i) =>
    b.sub(w, b.mul(b.getTupleElement(all, i), learningRate)));
  return [...updated, b.getTupleElement(all, 4), b.getTupleElement(all, 5)];
}

/**
 * The training of one replica, of one step or, as a loop, of several.
 * Parameters: w1, b1, w2, b2, all images u8[count,784], all labels s32[count], the numbers of the
 * images of its shard of each step s32[steps,shard], learning rate f32[].
 * Result: (w1, b1, w2, b2, mean loss over the global batch f32[steps], correct answers f32[steps]).
 */
export function buildTraining(client, { count, shard, replicas, steps = 1 }) {
  const how = { shard, replicas, add: scalarComputation(client, 'add'), max: scalarComputation(client, 'max') };
  const b = client.builder('training');
  const weights = WEIGHTS.map(([name, dims], i) => b.parameter(i, f32(...dims), name));
  const images = b.parameter(4, `u8[${count},${PIXELS}]`, 'images');
  const labels = b.parameter(5, `s32[${count}]`, 'labels');
  const order = b.parameter(6, `s32[${steps},${shard}]`, 'order');
  const learningRate = b.parameter(7, 'f32[]', 'learning_rate');
  const zero = b.constant(0, 's32[]'), none = b.constant(new Float32Array(steps), f32(steps));
  const step = (inner, i, ...state) => {
    const [losses, corrects] = state.splice(WEIGHTS.length);
    const numbers = inner.reshape(inner.dynamicSlice(order, [i, zero], [1, shard]), [shard]);
    const of = (list, ...row) => inner.gather(list, numbers, {
      offsetDims: row.map((_, d) => d + 1), collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
    }, [1, ...row]);
    const made = trainingStep(
      inner, { weights: state, bytes: of(images, PIXELS), labels: of(labels), learningRate }, how);
    const [loss, correct] = made.splice(WEIGHTS.length);
    const noted = (list, x) => inner.dynamicUpdateSlice(list, inner.reshape(x, [1]), [i]);
    return [i.add(1), ...made, noted(losses, loss), noted(corrects, correct)];
  };
  const first = [zero, ...weights, none, none];
  const [, ...results] = steps === 1 ? step(b, ...first) : b.while((_, i) => i.lt(steps), step, first);
  return b.build(b.tuple(results));
}

/** Probabilities of the ten classes for `count` images: (w1, b1, w2, b2, u8[count,784]) -> f32[count,10]. */
export function buildClassifier(client, count) {
  const add = scalarComputation(client, 'add');
  const max = scalarComputation(client, 'max');
  const b = client.builder('classifier');
  const weights = WEIGHTS.map(([name, dims], i) => b.parameter(i, f32(...dims), name));
  const images = toUnit(b, b.parameter(4, `u8[${count},${PIXELS}]`, 'images'));
  return b.build(softmax(b, forward(b, images, weights), add, max).probabilities);
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
 * Training as an object: `next()` does one step, `evaluate()` the test set.
 *
 * @param client   a Client
 * @param digits   { train, test } from splitDigits()
 * @param options  replicas, batch (global, a multiple of replicas), stepsPerRun, learningRate, seed; `from`: the
 *   state() of another training, which this one continues
 */
export class Training {
  static async create(client, digits, options = {}) {
    const { replicas = 4, batch = 64, stepsPerRun = 1, learningRate = 0.15, seed = 7, from } = options;
    if (batch % replicas) throw new RangeError(`a batch of ${batch} can't be cut into ${replicas}`);
    const training = new Training();
    Object.assign(training, { client, digits, replicas, batch, stepsPerRun, learningRate });
    training.step = from?.step ?? 0;
    training.random = randomNumbers(seed + training.step);
    training.order = Int32Array.from({ length: digits.train.count }, (_, i) => i);
    training.stepsPerEpoch = Math.floor(digits.train.count / batch);
    if (from) shuffle(training.order, training.random);
    const { images, labels, count } = digits.train;
    training.trainer = await client.compile(
      buildTraining(client, { count, shard: batch / replicas, replicas, steps: stepsPerRun }), { replicas });
    training.images = client.buffer(images, `u8[${count},${PIXELS}]`);
    training.labels = client.buffer(Int32Array.from(labels), `s32[${count}]`);
    training.classifiers = new Map();
    const initial = from?.weights ?? initialWeights(seed);
    training.weights = Array.from({ length: replicas }, () =>
      initial.map((data, i) => client.buffer(data, f32(...WEIGHTS[i][1]))));
    return training;
  }

  /** The numbers of each replica's images in the steps of one run, s32[steps,shard]. Call it once for each run. */
  ordersFrom(first) {
    const steps = this.stepsPerRun, shard = this.batch / this.replicas;
    const orders = Array.from({ length: this.replicas }, () => new Int32Array(steps * shard));
    for (let i = 0; i < steps; i++) {
      const index = (first + i) % this.stepsPerEpoch;
      if (index === 0) shuffle(this.order, this.random);
      orders.forEach((order, r) => {
        const start = index * this.batch + r * shard;
        order.set(this.order.subarray(start, start + shard), i * shard);
      });
    }
    return orders;
  }

  /** Runs one step, if a run has one. Returns nextRun()'s outcome, and `events`. */
  async next(options) {
    const { outcomes: [outcome], events } = await this.nextRun(options);
    return { ...outcome, events };
  }

  /**
   * The steps of one run: { outcomes: [{ step, loss, accuracy }], events }: of each, its number, mean loss
   * and accuracy on the batch; the events of the run's profile if asked for, else null.
   */
  async nextRun({ profile = false } = {}) {
    const orders = this.ordersFrom(this.step);
    const inputs = this.weights.map((weights, r) =>
      [...weights, this.images, this.labels, orders[r], this.learningRate]);
    const options = { device: true, donate: [0, 1, 2, 3] };
    const { outputs: results, events } = profile
      ? await this.trainer.executeReplicas(inputs, { ...options, profile })
      : { outputs: await this.trainer.executeReplicas(inputs, options), events: null };
    const [losses, corrects] = results[0].slice(4).map((buffer) => buffer.toLiteral().data);
    this.weights = results.map((outputs) => {
      outputs.slice(4).forEach((buffer) => buffer.dispose());
      return outputs.slice(0, 4);
    });
    const outcomes = Array.from(losses, (loss, i) =>
      ({ step: this.step + i + 1, loss, accuracy: corrects[i] / this.batch }));
    this.step += this.stepsPerRun;
    return { outcomes, events };
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

  /** The digit that replica 0's weights find in each test image. */
  async answers() {
    const { images, count } = this.digits.test;
    const probabilities = await this.classify(images, count);
    return Uint8Array.from({ length: count }, (_, n) => {
      const row = probabilities.subarray(n * CLASSES, (n + 1) * CLASSES);
      return row.indexOf(Math.max(...row));
    });
  }

  /** The share of test images that replica 0's weights classify correctly. */
  async evaluate() {
    const { labels, count } = this.digits.test;
    const answers = await this.answers();
    return answers.reduce((right, answer, n) => right + (answer === labels[n] ? 1 : 0), 0) / count;
  }

  /** The state that a training can continue: weights, as Float32Arrays, and the number of the step. */
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
    [this.images, this.labels, ...this.weights.flat()].forEach((buffer) => buffer.dispose());
    this.trainer.dispose();
    this.classifiers.forEach((classifier) => classifier.dispose());
  }
}
