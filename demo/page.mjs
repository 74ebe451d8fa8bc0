/** The page: buttons, plot, timeline and drawing. All computing is in worker.mjs. */
import uPlot from './vendor/uPlot.esm.js';

import { drawTimeline } from './timeline.mjs';
import { DrawingPad } from './pad.mjs';

const $ = (id) => document.getElementById(id);
const worker = new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' });
const send = (type, values = {}) => worker.postMessage({ type, ...values });

let running = false;
let lastTimeline = null;

/* ---- Status ---- */

function describe({ threads, replicas }) {
  const many = `${replicas} replica${replicas === 1 ? '' : 's'}`;
  if (threads > 0) return `${many} on ${threads} worker threads with shared memory.`;
  return 'SharedArrayBuffer is missing: this page is not cross-origin isolated, so the ' +
    `single-threaded build runs all of ${many}. Everything works, only slower. Serving the page ` +
    'with the headers COOP: same-origin and COEP: require-corp brings the threads back.';
}

function setRunning(on) {
  running = on;
  $('start').textContent = on ? 'Pause' : 'Start';
  send(on ? 'run' : 'pause');
}

/* ---- Plot: smoothed loss and batch accuracy, test accuracy once an epoch ---- */

const series = { step: [], loss: [], accuracy: [], test: [] };
let smooth = null;
let lastTest = null;

const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const axis = { stroke: () => getComputedStyle(document.body).color, grid: { stroke: '#8883' }, ticks: { stroke: '#8883' } };
const plot = new uPlot({
  width: $('plot').clientWidth,
  height: 240,
  scales: { x: { time: false }, loss: {}, share: { range: [0, 1] } },
  axes: [axis, { ...axis, scale: 'loss' }, { ...axis, scale: 'share', side: 1, grid: { show: false } }],
  series: [
    { label: 'step' },
    { label: 'loss', scale: 'loss', stroke: colour('--meet'), width: 1.5, value: (_, v) => v?.toFixed(3) ?? '–' },
    { label: 'accuracy', scale: 'share', stroke: colour('--dot'), width: 1.5, value: (_, v) => v?.toFixed(3) ?? '–' },
    { label: 'test accuracy', scale: 'share', stroke: colour('--loop'), width: 2, spanGaps: true, points: { show: true, size: 6 }, value: (_, v) => v?.toFixed(4) ?? '–' },
  ],
}, [[], [], [], []], $('plot'));

function addSteps(steps) {
  for (const { step, loss, accuracy } of steps) {
    smooth ??= { loss, accuracy };
    smooth.loss += (loss - smooth.loss) * 0.05;
    smooth.accuracy += (accuracy - smooth.accuracy) * 0.05;
    series.step.push(step);
    series.loss.push(smooth.loss);
    series.accuracy.push(smooth.accuracy);
    series.test.push(null);
  }
  if (lastTest !== null && series.test.length) {
    series.test[series.test.length - 1] = lastTest;
    lastTest = null;
  }
  plot.setData([series.step, series.loss, series.accuracy, series.test]);
}

function clearPlot() {
  for (const values of Object.values(series)) values.length = 0;
  smooth = null;
  plot.setData([[], [], [], []]);
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
  setRunning(false);
  $('start').disabled = true;
  clearPlot();
  send('reset', { replicas: Number($('replicas').value) });
};

const handlers = {
  ready(message) {
    $('status').textContent = describe(message);
    $('status').classList.remove('problem');
    $('start').disabled = false;
    $('start').textContent = 'Start';
    $('numbers').textContent = 'step 0';
  },
  steps({ steps, rate, epoch }) {
    addSteps(steps);
    $('numbers').textContent = `step ${steps.at(-1).step} · epoch ${epoch.toFixed(1)} · ` +
      `loss ${smooth.loss.toFixed(3)} · ${rate.toFixed(0)} steps/s`;
  },
  timeline({ events }) {
    lastTimeline = events;
    drawTimeline($('timeline'), events);
  },
  test({ accuracy }) {
    lastTest = accuracy;
  },
  probabilities({ values }) {
    showGuess(values);
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
