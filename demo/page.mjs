/** The page: buttons, plot, timeline and drawing. All computing is in worker.mjs. */
import uPlot from './vendor/uPlot.esm.js';

import { drawTimeline } from './timeline.mjs';
import { DrawingPad } from './pad.mjs';

const $ = (id) => document.getElementById(id);
const worker = new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' });
const send = (type, values = {}) => worker.postMessage({ type, ...values });

let running = false;
let resume = false; /* after a reset */
let lastTimeline = null;

/* ---- Status ---- */

function describe({ threads, replicas }) {
  const count = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const many = count(replicas, 'replica');
  if (threads > 0) return `${many} on ${count(threads, 'worker thread')} with shared memory.`;
  return 'SharedArrayBuffer is missing, because this page is not cross-origin isolated: ' +
    `${many} on the single-threaded build. Everything works, only slower. Serving the page with ` +
    'the headers COOP: same-origin and COEP: require-corp brings the threads back.';
}

function setRunning(on) {
  running = on;
  $('start').textContent = on ? 'Pause' : 'Start';
  send(on ? 'run' : 'pause');
}

/* ---- Plot: smoothed loss and batch accuracy, test accuracy once an epoch ---- */

const MOST_POINTS = 4000; /* that are drawn; when there are more, every second one goes */

let points = []; /* { step, loss, accuracy, test }; test is null but once an epoch */
let smooth = null;
let lastTest = null;

const colour = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name);
const axis = { stroke: colour('--ink'), grid: { stroke: '#8883' }, ticks: { stroke: '#8883' } };
const plot = new uPlot({
  width: $('plot').clientWidth,
  height: 240,
  legend: { live: false },
  cursor: { show: false },
  scales: {
    x: { time: false },
    loss: { range: (_, least, most) => [0, most || 2.5] },
    share: { range: [0, 1] },
  },
  axes: [
    axis,
    { ...axis, scale: 'loss' },
    { ...axis, scale: 'share', side: 1, grid: { show: false } },
  ],
  series: [
    {},
    { label: 'loss', scale: 'loss', stroke: colour('--meet'), width: 1.5 },
    { label: 'accuracy', scale: 'share', stroke: colour('--dot'), width: 1.5 },
    {
      label: 'test accuracy',
      scale: 'share',
      stroke: colour('--loop'),
      width: 2,
      spanGaps: true,
      points: { show: true, size: 6 },
    },
  ],
}, [[0], [null], [null], [null]], $('plot'));

function drawPlot() {
  plot.setData(['step', 'loss', 'accuracy', 'test'].map((key) => points.map((p) => p[key])));
}

function addSteps(steps) {
  for (const { step, loss, accuracy } of steps) {
    smooth ??= { loss, accuracy };
    smooth.loss += (loss - smooth.loss) * 0.05;
    smooth.accuracy += (accuracy - smooth.accuracy) * 0.05;
    points.push({ step, ...smooth, test: lastTest });
    lastTest = null;
  }
  if (points.length > MOST_POINTS) points = points.filter((p, i) => i % 2 === 0 || p.test !== null);
  drawPlot();
}

function clearPlot() {
  points = [];
  smooth = lastTest = lastTimeline = null;
  plot.setData([[0], [null], [null], [null]]);
}

function showNumbers({ step = 0, epoch = 0, loss, rate }) {
  $('step').textContent = step.toLocaleString('en');
  $('epoch').textContent = epoch.toFixed(1);
  $('loss').textContent = loss?.toFixed(3) ?? '–';
  $('rate').textContent = rate?.toFixed(0) ?? '–';
}

/* ---- Guesses ---- */

const items = Array.from({ length: 10 }, (_, digit) => {
  const item = document.createElement('li');
  item.textContent = digit;
  return $('guess').appendChild(item);
});

function showGuess(probabilities) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  items.forEach((item, digit) => {
    item.style.setProperty('--p', probabilities[digit]);
    item.classList.toggle('best', digit === best);
  });
  $('answer').textContent =
    `This is a ${best}, with a probability of ${(probabilities[best] * 100).toFixed(0)} %.`;
  $('answer').dataset.digit = best;
}

/* ---- Wiring ---- */

const pad = new DrawingPad($('pad'), (pixels) => send('classify', { pixels }));

$('clear').onclick = () => {
  pad.clear();
  items.forEach((item) => { item.style.setProperty('--p', 0); item.classList.remove('best'); });
  $('answer').textContent = 'The classifier answers as you draw.';
};
$('start').onclick = () => setRunning(!running);
$('replicas').onchange = () => {
  resume = running;
  setRunning(false);
  $('start').disabled = true;
  send('reset', { replicas: Number($('replicas').value) });
};

const handlers = {
  ready(message) {
    $('status').textContent = describe(message);
    $('status').classList.remove('problem');
    $('start').disabled = false;
    clearPlot(); /* of what came in between */
    showNumbers({});
    $('accuracy').textContent = '–';
    setRunning(resume);
    resume = false;
  },
  steps({ steps, rate, epoch }) {
    addSteps(steps);
    showNumbers({ step: steps.at(-1).step, epoch, loss: smooth.loss, rate });
  },
  timeline({ events }) {
    lastTimeline = events;
    drawTimeline($('timeline'), events);
  },
  test({ accuracy }) {
    lastTest = accuracy;
    $('accuracy').textContent = `${(accuracy * 100).toFixed(2)} %`;
    pad.schedule(); /* the weights know better now what is drawn */
  },
  probabilities({ values }) {
    if (pad.ink()) showGuess(values);
  },
  problem({ message }) {
    setRunning(false);
    $('status').textContent = `Something went wrong: ${message}`;
    $('status').classList.add('problem');
  },
};

worker.onmessage = ({ data }) => handlers[data.type](data);
worker.onerror = (event) => handlers.problem({ message: event.message || 'the worker could not start' });
new ResizeObserver(() => {
  plot.setSize({ width: $('plot').clientWidth, height: 240 });
  if (lastTimeline) drawTimeline($('timeline'), lastTimeline);
}).observe($('plot'));

send('reset', { replicas: Number($('replicas').value) });
