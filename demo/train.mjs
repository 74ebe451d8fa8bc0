#!/usr/bin/env node
/** The main job: trains on handwritten digits in Node. `--help` tells the options. */
import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';

import { Client } from '../bindings/index.mjs';
import { splitDigits } from './train/digits.mjs';
import { Training } from './train/model.mjs';
import { packDigits } from './train/pack_digits.mjs';

const USAGE = `Trains a 784-128-10 perceptron on 8,000 handwritten digits; each epoch is one XLA
computation on N replicas that all-reduce their gradients in each step.

  --replicas N   1, 2, 4, ...: a divisor of the global batch of 64     (default 4)
  --threads N    worker threads; 0 = the single-threaded build         (default: all cores)
  --epochs N     passes over the training digits                       (default 15)
  --curve        print the loss of every epoch with all its digits`;

const BATCH = 64;

function fail(message) {
  process.stderr.write(`error: ${message.split('\n')[0]}\n`);
  process.exit(1);
}

function options() {
  const whole = (values, name, min) => {
    const n = Number(values[name]);
    if (!Number.isInteger(n) || n < min) fail(`--${name} must be a whole number from ${min} on`);
    return n;
  };
  try {
    const { values } = parseArgs({
      options: {
        replicas: { type: 'string', default: '4' },
        threads: { type: 'string', default: String(availableParallelism()) },
        epochs: { type: 'string', default: '15' },
        curve: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const replicas = whole(values, 'replicas', 1);
    if (BATCH % replicas) fail(`--replicas must divide the global batch of ${BATCH}`);
    return {
      replicas,
      threads: whole(values, 'threads', 0),
      epochs: whole(values, 'epochs', 1),
      curve: values.curve,
    };
  } catch (error) {
    return fail(error.message);
  }
}

/** A bar on a terminal, a line an epoch elsewhere. */
class Progress {
  constructor(total, perEpoch) {
    Object.assign(this, { total, perEpoch, started: performance.now(), loss: null, shown: 0 });
    this.accuracy = 0;
    this.live = process.stderr.isTTY;
  }

  seconds() {
    return (performance.now() - this.started) / 1000;
  }

  update({ step, loss, accuracy }) {
    const smooth = (old, now) => (old === null ? now : old * 0.95 + now * 0.05);
    this.accuracy = smooth(this.loss === null ? null : this.accuracy, accuracy);
    this.loss = smooth(this.loss, loss);
    const now = performance.now();
    const rate = (step / this.seconds()).toFixed(0);
    const numbers = `loss ${this.loss.toFixed(4)}  accuracy ${this.accuracy.toFixed(3)}  ` +
      `${rate} steps/s`;
    if (this.live && (now - this.shown > 100 || step === this.total)) {
      this.shown = now;
      const full = Math.round((step / this.total) * 24);
      process.stderr.write(`\r[${'#'.repeat(full)}${'.'.repeat(24 - full)}] ` +
        `${step}/${this.total}  ${numbers} \x1b[K`);
      if (step === this.total) process.stderr.write('\n');
    } else if (!this.live && step % this.perEpoch === 0) {
      console.log(`epoch ${step / this.perEpoch}  step ${step}/${this.total}  ${numbers}`);
    }
  }
}

async function main() {
  const { replicas, threads, epochs, curve } = options();
  const digits = splitDigits(await packDigits());
  const client = await Client.create({ replicas, threads });
  const stepsPerRun = Math.floor(digits.train.count / BATCH); // an epoch
  const training = await Training.create(client, digits, { replicas, batch: BATCH, stepsPerRun });
  console.log(`training on ${digits.train.count} digits: ${replicas} replicas on ` +
    `${threads || 'no'} worker threads, ${epochs} epochs of ${training.stepsPerEpoch} steps`);
  const progress = new Progress(epochs * training.stepsPerEpoch, training.stepsPerEpoch);
  for (let epoch = 0; epoch < epochs; epoch++) {
    const { outcomes } = await training.nextRun();
    outcomes.forEach((outcome) => progress.update(outcome));
    const sum = outcomes.reduce((total, { loss }) => total + loss, 0);
    if (curve) console.log(`epoch ${epoch + 1} mean loss ${sum / training.stepsPerEpoch}`);
  }
  const seconds = progress.seconds();
  const accuracy = await training.evaluate();
  const sums = training.checksums();
  sums.forEach((sum, r) => console.log(`replica ${r}: weights ${sum}`));
  training.dispose();
  await client.dispose();
  if (sums.some((sum) => sum !== sums[0])) fail('the replicas\' weights differ');
  console.log(`test accuracy ${accuracy.toFixed(4)}, weights ${sums[0]} on ${replicas} ` +
    `replica${replicas === 1 ? '' : 's'}, ${seconds.toFixed(1)} s`);
}

main().catch((error) => fail(error.message));
