/**
 * The view's worker: it owns the client and the training.
 *
 * Calls: reset({ replicas }) -> { threads, replicas }, run(), pause(), classify(pixels) -> ten
 * probabilities. Tells: steps { steps: [{ step, loss, accuracy }], rate, epoch }, timeline (events),
 * test { accuracy, step }, problem (message).
 */
import { Client } from '../../bindings/index.mjs';
import { serve, tell } from '../shared/rpc.mjs';
import { splitDigits } from './digits.mjs';
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

async function reset({ replicas, digitsAt }) {
  running = false;
  return enqueue(async () => {
    client ??= await Client.create({ replicas });
    digits ??= await fetchDigits(digitsAt);
    training?.dispose();
    training = await Training.create(client, digits, { replicas });
    return { threads: client.threads, replicas };
  });
}

/** Trains until it is told to stop, or until another loop takes over. */
async function train() {
  const number = ++loops;
  let reported = performance.now();
  let pictured = 0;
  let steps = [];
  const began = performance.now();
  const first = training.step;
  while (running && loops === number) {
    const now = performance.now();
    const picture = now - pictured > TIMELINE_MS;
    const { step, loss, accuracy, events } =
      await enqueue(() => training.next({ profile: picture }));
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
  tell('test', { accuracy: await training.evaluate(), step: training.step });
}

serve({
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
  classify: (pixels) => enqueue(async () => (training ? training.classify(pixels, 1) : null)),
});
