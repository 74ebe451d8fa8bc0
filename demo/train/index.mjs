/** Train: a perceptron learns digits on simulated devices. All computing is in worker.mjs. */
import { plural, whole } from '../shared/format.mjs';
import { h, select } from '../shared/dom.mjs';
import { createPlot } from '../shared/plot.mjs';
import { connect } from '../shared/rpc.mjs';
import { legend, Timeline } from '../shared/timeline.mjs';
import { DrawingPad } from './pad.mjs';
import './train.css';

const MOST_POINTS = 4000; /* that are drawn; when there are more, every second one goes */

function describe({ threads, replicas }) {
  const many = plural(replicas, 'replica');
  if (threads > 0) return `${many} on ${plural(threads, 'worker thread')} with shared memory.`;
  return 'SharedArrayBuffer is missing, because this page is not cross-origin isolated: ' +
    `${many} on the single-threaded build. Everything works, only slower. Serving the page with ` +
    'the headers COOP: same-origin and COEP: require-corp brings the threads back.';
}

const figure = (label, id, value) => h('div', {}, h('dt', {}, label), h('dd', { id }, value));

function layout(replicas) {
  const part = {
    start: h('button', { id: 'start', class: 'primary', type: 'button', disabled: true }, 'Loading…'),
    replicas: select('Replicas', [1, 2, 4, 8], replicas),
    status: h('p', { id: 'status', class: 'soft', role: 'status' }),
    plot: h('div', { id: 'plot' }),
    timeline: h('canvas', { id: 'timeline', class: 'timeline', role: 'img', 'aria-label': 'When each replica computed, waited and met the others' }),
    pad: h('canvas', { id: 'pad', width: 280, height: 280, 'aria-label': 'Drawing area' }),
    clear: h('button', { id: 'clear', class: 'quiet', type: 'button' }, 'Clear'),
    answer: h('p', { id: 'answer', role: 'status' }, 'The classifier answers as you draw.'),
    guess: h('ol', { id: 'guess', 'aria-label': 'Probability of each digit' }, Array.from({ length: 10 }, (_, digit) => h('li', {}, String(digit)))),
  };
  part.replicas.querySelector('select').id = 'replicas';
  const elements = [
    h('div', { class: 'lead' },
      h('h1', {}, 'A network learns to read, in this page'),
      h('p', {}, 'An XLA program, compiled to WebAssembly here, trains a 784-128-10 perceptron on 8,000 ' +
        'handwritten digits. Every replica has its own copy of the weights; each step ends in an ',
      h('em', {}, 'all-reduce'), ' of the gradients.')),
    h('section', { class: 'controls', 'aria-label': 'Controls' }, part.start, part.replicas, part.status),
    h('dl', { id: 'numbers', class: 'figures' },
      figure('Step', 'step', '0'), figure('Epoch', 'epoch', '0.0'), figure('Loss', 'loss', '–'),
      figure('Test accuracy', 'accuracy', '–'), figure('Steps/s', 'rate', '–')),
    h('div', { class: 'panels' },
      h('section', { class: 'panel wide' }, h('h2', {}, 'Loss and accuracy'), part.plot),
      h('section', { class: 'panel draw' }, h('h2', {}, 'Draw a digit'),
        h('div', { class: 'pad' }, part.pad, part.clear), part.answer, part.guess),
      h('section', { class: 'panel wide' }, h('h2', {}, 'One step, replica by replica'), part.timeline, legend())),
  ];
  return { elements, part };
}

class Curve {
  constructor(element) {
    this.plot = createPlot(element, {
      scales: {
        loss: { range: (_, least, most) => [0, most || 2.5] },
        share: { range: [0, 1] },
      },
      axes: [{}, { scale: 'loss' }, { scale: 'share', side: 1, grid: { show: false } }],
      series: [
        {},
        { label: 'loss', scale: 'loss', stroke: '--meet', width: 1.5 },
        { label: 'accuracy', scale: 'share', stroke: '--dot', width: 1.5 },
        { label: 'test accuracy', scale: 'share', stroke: '--loop', width: 2, spanGaps: true, points: { show: true, size: 6 } },
      ],
    });
    this.clear();
  }

  clear() {
    this.points = []; /* { step, loss, accuracy, test }; test is null but once an epoch */
    this.smooth = this.test = null;
    this.plot.setData([[0], [null], [null], [null]]);
  }

  add(steps) {
    for (const { step, loss, accuracy } of steps) {
      this.smooth ??= { loss, accuracy };
      this.smooth.loss += (loss - this.smooth.loss) * 0.05;
      this.smooth.accuracy += (accuracy - this.smooth.accuracy) * 0.05;
      this.points.push({ step, ...this.smooth, test: this.test });
      this.test = null;
    }
    if (this.points.length > MOST_POINTS) {
      this.points = this.points.filter((p, i) => i % 2 === 0 || p.test !== null);
    }
    this.plot.setData(['step', 'loss', 'accuracy', 'test'].map((key) => this.points.map((p) => p[key])));
  }
}

export function mount(element, { state, setState }) {
  const replicas = [1, 2, 4, 8].includes(state?.replicas) ? state.replicas : 4;
  const { elements, part } = layout(replicas);
  element.append(...elements);
  const $ = (id) => element.querySelector(`#${id}`);
  const chosen = $('replicas');
  const worker = connect(new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' }));
  const curve = new Curve(part.plot);
  const timeline = new Timeline(part.timeline);
  const digitsAt = new URL('digits.bin.gz', document.baseURI).href;

  let running = false;

  const problem = (error) => {
    if (error.code === 'CANCELLED') return;
    setRunning(false);
    part.status.textContent = `Something went wrong: ${error.message}`;
    part.status.classList.add('problem');
  };
  const setRunning = (on) => {
    running = on;
    part.start.textContent = on ? 'Pause' : 'Start';
    worker.call(on ? 'run' : 'pause').catch(problem);
  };
  const showNumbers = ({ step = 0, epoch = 0, loss, rate }) => {
    $('step').textContent = whole(step);
    $('epoch').textContent = epoch.toFixed(1);
    $('loss').textContent = loss?.toFixed(3) ?? '–';
    $('rate').textContent = rate?.toFixed(0) ?? '–';
  };
  const reset = async (resume) => {
    const ready = await worker.call('reset', { replicas: Number(chosen.value), digitsAt });
    if (ready.replicas !== Number(chosen.value)) return;
    part.status.textContent = describe(ready);
    part.status.classList.remove('problem');
    part.start.disabled = false;
    curve.clear(); /* of what came in between */
    timeline.show(null);
    showNumbers({});
    $('accuracy').textContent = '–';
    setRunning(resume);
  };

  const showGuess = (probabilities) => {
    const best = probabilities.indexOf(Math.max(...probabilities));
    [...part.guess.children].forEach((item, digit) => {
      item.style.setProperty('--p', probabilities[digit]);
      item.classList.toggle('best', digit === best);
    });
    part.answer.textContent =
      `This is a ${best}, with a probability of ${(probabilities[best] * 100).toFixed(0)} %.`;
  };
  const pad = new DrawingPad(part.pad, async (pixels) => {
    const probabilities = await worker.call('classify', pixels).catch(problem);
    if (probabilities && pad.ink()) showGuess(probabilities);
  });

  part.clear.onclick = () => {
    pad.clear();
    for (const item of part.guess.children) {
      item.style.setProperty('--p', 0);
      item.classList.remove('best');
    }
    part.answer.textContent = 'The classifier answers as you draw.';
  };
  part.start.onclick = () => setRunning(!running);
  chosen.onchange = () => {
    const resume = running;
    setRunning(false);
    part.start.disabled = true;
    setState({ replicas: Number(chosen.value) });
    reset(resume).catch(problem);
  };
  worker.on('steps', ({ steps, rate, epoch }) => {
    curve.add(steps);
    showNumbers({ step: steps.at(-1).step, epoch, loss: curve.smooth.loss, rate });
  });
  worker.on('timeline', (events) => timeline.show(events));
  worker.on('test', ({ accuracy }) => {
    curve.test = accuracy;
    $('accuracy').textContent = `${(accuracy * 100).toFixed(2)} %`;
    pad.schedule(); /* the weights know better now what is drawn */
  });
  worker.on('problem', (message) => problem(new Error(message)));
  reset(false).catch(problem);

  return {
    dispose() {
      worker.terminate();
      curve.plot.dispose();
      timeline.dispose();
    },
  };
}
