/**
 * The page's worker: it owns the client and the training, so that the page itself never waits.
 *
 * Messages in:  {type: 'reset', replicas}, {type: 'run'}, {type: 'pause'}, {type: 'classify', pixels}
 * Messages out: {type: 'ready', threads, replicas}, {type: 'steps', steps: [{step, loss, accuracy}],
 *   rate, epoch}, {type: 'timeline', events}, {type: 'test', accuracy, step},
 *   {type: 'probabilities', values}, {type: 'problem', message}
 */
import { Client } from '../bindings/index.mjs';
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

const post = (type, values = {}) => self.postMessage({ type, ...values });

/** Runs `work` after everything that was asked for before. */
function enqueue(work) {
  turn = turn.then(work).catch((error) => {
    running = false;
    post('problem', { message: error.message });
  });
  return turn;
}

async function reset(replicas) {
  client ??= await Client.create({ replicas });
  digits ??= splitDigits(new Uint8Array(await (await fetch('/digits.bin')).arrayBuffer()));
  training?.dispose();
  training = await Training.create(client, digits, { replicas });
  post('ready', { threads: client.threads, replicas });
}

/** Trains until it is told to stop, or until another loop takes over. */
async function run() {
  const number = ++loops;
  let reported = performance.now();
  let pictured = 0;
  let steps = [];
  const began = performance.now();
  const first = training.step;
  while (running && loops === number) {
    const now = performance.now();
    const picture = now - pictured > TIMELINE_MS;
    let outcome;
    await enqueue(async () => { outcome = await training.next({ profile: picture }); });
    if (!outcome) break; /* it failed */
    const { step, loss, accuracy, events } = outcome;
    steps.push({ step, loss, accuracy });
    if (picture) {
      pictured = now;
      post('timeline', { events });
    }
    if (now - reported > REPORT_MS) {
      const rate = (step - first) / ((performance.now() - began) / 1000);
      post('steps', { steps, rate, epoch: step / training.stepsPerEpoch });
      steps = [];
      reported = now;
    }
    if (step % training.stepsPerEpoch === 0) await enqueue(test);
  }
}

async function test() {
  post('test', { accuracy: await training.evaluate(), step: training.step });
}

self.onmessage = ({ data }) => {
  switch (data.type) {
    case 'reset':
      running = false;
      enqueue(() => reset(data.replicas));
      break;
    case 'run':
      if (!running) {
        running = true;
        run();
      }
      break;
    case 'pause':
      running = false;
      break;
    case 'classify':
      enqueue(async () => {
        if (!training) return;
        post('probabilities', { values: Array.from(await training.classify(data.pixels, 1)) });
      });
      break;
    default:
      post('problem', { message: `the worker does not know "${data.type}"` });
  }
};
