/**
 * The view's worker: it owns the client and the training.
 *
 * Calls: reset({ replicas, threads, batch, keep, digitsAt }) -> { threads, replicas, step, reducedBytes },
 * run(), pause(), classify(pixels) -> ten probabilities, testDigits(count) -> { images, labels }.
 * Tells: steps { steps: [{ step, loss, accuracy }], rate, epoch }, timeline (events),
 * test { accuracy, answers, layer }, problem (message).
 */
import { Client } from '../../bindings/index.mjs';
import { serve, tell } from '../shared/rpc.mjs';
import { PIXELS, splitDigits } from './digits.mjs';
import { Training } from './model.mjs';

/** How often the page is told: often enough to look alive, seldom enough to cost nothing. */
const REPORT_MS = 100;
const TIMELINE_MS = 400;

let client;
let digits;
let training;
let running = false;
let loops = 0; /* that were started: a pause can end before the loop has noticed it */
let turn = Promise.resolve(); /* one thing at a time: steps and classifications share the client */

/** Runs `work` after everything that was asked for before. */
function enqueue(work) {
  const done = turn.then(work);
  turn = done.catch(() => {});
  return done;
}

async function fetchDigits(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const stream = response.body.pipeThrough(new DecompressionStream('gzip'));
  return splitDigits(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** Replaces the client if a different number of threads is requested; undefined: as many as the machine has. */
async function useThreads(threads) {
  if (client && client.wanted === threads) return;
  client?.dispose();
  client = await Client.create(threads === undefined ? {} : { threads });
  client.wanted = threads;
}

/** Starts the training anew. With `keep` the trained weights move to the new devices. */
async function reset({ replicas, threads, batch, keep, digitsAt }) {
  return enqueue(async () => {
    const from = keep ? training?.state() : undefined;
    training?.dispose();
    training = null;
    [digits] = await Promise.all([digits ?? fetchDigits(digitsAt), useThreads(threads)]);
    const whole = batch - (batch % replicas); /* every replica gets as many */
    training = await Training.create(client, digits, { replicas, batch: whole, from });
    const { step, reducedBytes } = training;
    return { threads: client.threads, replicas, step, reducedBytes };
  });
}

/** Trains until it is told to stop, or until another loop takes over. */
async function train() {
  const number = ++loops;
  let reported = performance.now();
  let pictured = 0;
  let steps = [];
  let began = reported;
  let first = training?.step ?? 0;
  let trained = training;
  while (running && loops === number) {
    const now = performance.now();
    const picture = now - pictured > TIMELINE_MS;
    const { step, loss, accuracy, events } = await enqueue(() => training.next({ profile: picture }));
    if (trained !== training) { /* other devices meanwhile */
      [trained, began, first] = [training, now, step];
    }
    steps.push({ step, loss, accuracy });
    if (picture) {
      pictured = now;
      tell('timeline', events);
    }
    if (now - reported > REPORT_MS) {
      const rate = (step - first) / ((performance.now() - began) / 1000);
      tell('steps', { steps, rate, epoch: step / training.stepsPerEpoch });
      steps = [];
      reported = now;
    }
    if (step % training.stepsPerEpoch === 0) await enqueue(test);
  }
}

async function test() {
  const { labels, count } = digits.test;
  const answers = await training.answers();
  const right = answers.reduce((sum, answer, n) => sum + (answer === labels[n] ? 1 : 0), 0);
  const layer = training.firstLayer();
  tell('test', { accuracy: right / count, answers, layer }, [layer.buffer]);
}

export const listen = () => serve({
  reset,
  run() {
    if (running) return;
    running = true;
    train().catch((error) => {
      running = false;
      tell('problem', error.message);
    });
  },
  pause() {
    running = false;
  },
  test: () => enqueue(test),
  classify: (pixels) => enqueue(async () => (training ? training.classify(pixels, 1) : null)),
  testDigits: (count) => ({
    images: digits.test.images.slice(0, count * PIXELS), labels: digits.test.labels.slice(0, count),
  }),
});
