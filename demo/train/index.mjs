/** Train: a perceptron learns digits on simulated devices. All computing is in worker.mjs. */
import { profileTimes } from '../../bindings/objects/profile.mjs';
import { bytes, plural, whole } from '../shared/format.mjs';
import { figure, h, panel, select } from '../shared/dom.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { readThreads, selectThreads } from '../shared/threads.mjs';
import { legend, Timeline } from '../shared/timeline.mjs';
import { createAnswer } from './answer.mjs';
import { Curve } from './curve.mjs';
import { HIDDEN } from './model.mjs';
import { drawLayer, Mosaic } from './pictures.mjs';
import './train.css';

const MOSAIC = { count: 480, minPixels: 16 }; /* of the page, for each digit */
const LAYER = { count: 32, columns: 8 };
const DEVICES = [1, 2, 3, 4, 5, 6, 7, 8];
const BATCHES = [64, 256, 1024]; /* the larger, the longer do devices work side by side */

function describe({ threads, replicas }, asked) {
  const many = plural(replicas, 'replica');
  if (threads > 0) return `${many} on ${plural(threads, 'worker thread')} with shared memory.`;
  if (asked === 0) return `${many} on the single-threaded build, as asked for.`;
  return 'SharedArrayBuffer is missing, because this page is not cross-origin isolated: ' +
    `${many} on the single-threaded build. Everything works, only slower. Serving the page with ` +
    'the headers COOP: same-origin and COEP: require-corp brings the threads back.';
}

/** The page's own controls, texts and canvases, by name. */
function makeParts({ replicas, threads, batch }) {
  const part = {
    start: h('button', { id: 'start', class: 'primary', type: 'button', disabled: true }, 'Loading…'),
    again: h('button', { id: 'again', type: 'button', disabled: true }, 'Start anew'),
    replicas: select('Replicas', DEVICES, replicas),
    threads: selectThreads(threads, () => {}),
    batch: select('Batch', BATCHES, batch),
    status: h('p', { id: 'status', class: 'soft', role: 'status' }),
    plot: h('div', { id: 'plot' }),
    timeline: h('canvas', { id: 'timeline', class: 'timeline', role: 'img', 'aria-label': 'When each replica computed, waited and met the others' }),
    rows: select('Rows', [['devices', 'replicas'], ['threads', 'threads']], 'devices'),
    pad: h('canvas', { id: 'pad', width: 280, height: 280, 'aria-label': 'Drawing area' }),
    try: h('button', { id: 'try', type: 'button', disabled: true }, 'Take a test digit'),
    clear: h('button', { id: 'clear', class: 'quiet', type: 'button' }, 'Clear'),
    answer: h('p', { id: 'answer', role: 'status' }, 'The classifier answers as you draw.'),
    guess: h('ol', { id: 'guess', 'aria-label': 'Probability of each digit' }, Array.from({ length: 10 }, (_, digit) => h('li', {}, String(digit)))),
    mosaic: h('canvas', { id: 'mosaic', class: 'pixels', role: 'img', 'aria-label': 'Test digits; those that are taken for others are marked' }),
    layer: h('canvas', { id: 'layer', class: 'pixels', role: 'img', 'aria-label': 'The first layer: what its neurons look for' }),
  };
  part.replicas.querySelector('select').id = 'replicas';
  part.threads.querySelector('select').id = 'threads';
  part.batch.querySelector('select').id = 'batch';
  return part;
}

/** The page's elements, with its parts in their places. */
function layout(part) {
  return [
    h('div', { class: 'lead' },
      h('h1', {}, 'A network learns to read, in this page'),
      h('p', {}, 'You see a 784-128-10 perceptron that learns 8,000 handwritten digits when you press Start. Every replica ' +
        'has its own copy of the weights; each step of the XLA program ends in an ', h('em', {}, 'all-reduce'),
      ' of the gradients. Below: the loss, one step of each device, and the digits that it still gets wrong. Draw one of your own; change the devices while it runs.')),
    h('section', { class: 'controls', 'aria-label': 'Controls' },
      part.start, part.again, part.replicas, part.threads, part.batch, part.status),
    h('dl', { id: 'numbers', class: 'figures' },
      figure('Step', '0', 'step'), figure('Epoch', '0.0', 'epoch'), figure('Loss', '–', 'loss'),
      figure('Test accuracy', '–', 'accuracy'), figure('Steps/s', '–', 'rate'),
      figure('All-reduced', '–', 'reduced')),
    h('div', { class: 'panels' },
      panel('wide', 'Loss and accuracy', part.plot),
      panel('draw', 'Draw a digit',
        h('div', { class: 'pad empty' }, part.pad, part.clear), h('div', { class: 'below' }, part.answer, part.try), part.guess),
      panel('wide', 'One step', h('div', { class: 'rows' }, part.rows), part.timeline, legend(),
        h('p', { class: 'small soft caption', id: 'overlap' }, '\u00a0')),
      panel('wide', 'Digits it has never seen', part.mosaic,
        h('p', { class: 'small soft caption', id: 'mistakes' }, 'Those that it takes for others will be marked.')),
      panel('', 'What the first layer looks for', part.layer,
        h('p', { class: 'small soft caption' }, `Weights of ${LAYER.count} of ${HIDDEN} neurons: ink where it is red speaks for the neuron, where it is blue against it.`))),
  ];
}

/** The number of digits that are taken for others, and the most frequent mistake. */
function mistakesText(mistakes) {
  const wrong = mistakes.reduce((sum, { count }) => sum + count, 0);
  const frequent = mistakes.slice(0, 3).map(({ label, answer, count }) => `${label} for ${answer} (${count})`).join(', ');
  return `${wrong} of these ${MOSAIC.count} are taken for others: they are marked.${frequent ? ` Most often ${frequent}.` : ''}`;
}

/** The share of a step's work that runs in parallel. */
function overlapText(events) {
  const times = profileTimes(events);
  if (times.length < 2) return 'One replica waits for no other.';
  const sum = (key) => times.reduce((total, time) => total + time[key], 0);
  const share = (part, of) => Math.round((100 * part) / (of || 1));
  return `${share(sum('overlapUs'), sum('busyUs'))} % of the work was done while others worked, too; replicas waited for each other ${
    share(sum('waitedUs'), sum('waitedUs') + sum('busyUs'))} % of their time.`;
}

/** The valid parts of the address's state. */
function readState(state) {
  const { replicas, threads, batch } = state ?? {};
  return {
    replicas: DEVICES.includes(replicas) ? replicas : 4,
    threads: readThreads(threads),
    batch: BATCHES.includes(batch) ? batch : 256,
  };
}

/** The values of the page's controls. */
function chosenIn(element) {
  const valueOf = (id) => element.querySelector(`#${id}`).value;
  const threads = valueOf('threads');
  return { replicas: Number(valueOf('replicas')), batch: Number(valueOf('batch')), threads: threads === '' ? undefined : Number(threads) };
}

/** The training that the page shows and controls. */
class Training {
  #element;
  #part;
  #worker = connect(startWorker('train'));
  #digitsAt = new URL('digits.bin.gz', document.baseURI).href;
  #running = false;
  #mosaic = null;
  #reduced = { bytes: 0, step: 0, perStep: 0 }; /* up to `step`, and from there on */
  #resets = 0;

  constructor(element, part) {
    this.#element = element;
    this.#part = part;
    this.curve = new Curve(part.plot);
    this.timeline = new Timeline(part.timeline);
    this.pad = createAnswer(part, (pixels) => this.#worker.call('classify', pixels).catch(this.problem));
    this.#listen();
  }

  problem = (error) => {
    if (error.code === 'CANCELLED') return;
    this.setRunning(false);
    this.#part.status.textContent = `Something went wrong: ${error.message}`;
    this.#part.status.classList.add('problem');
  };

  #text(id, text) {
    this.#element.querySelector(`#${id}`).textContent = text;
  }

  setRunning(on) {
    this.#running = on;
    this.#part.start.textContent = on ? 'Pause' : 'Start';
    this.#worker.call(on ? 'run' : 'pause').catch(this.problem);
  }

  toggle() {
    this.setRunning(!this.#running);
  }

  /** Draws one of the test digits on the pad. */
  tryDigit() {
    this.pad.show(this.#mosaic.any());
  }

  /** The bytes that were all-reduced up to a step. */
  #reducedAt(step) {
    const { bytes: before, step: from, perStep } = this.#reduced;
    return before + (step - from) * perStep;
  }

  #showNumbers({ step = 0, epoch = 0, loss, rate }) {
    this.#text('step', whole(step));
    this.#text('epoch', epoch.toFixed(1));
    this.#text('loss', loss?.toFixed(3) ?? '–');
    this.#text('rate', rate?.toFixed(0) ?? '–');
    this.#text('reduced', bytes(this.#reducedAt(step)));
  }

  async #showMosaic() {
    if (this.#mosaic) return;
    this.#mosaic = new Mosaic(this.#part.mosaic, await this.#worker.call('testDigits', MOSAIC.count), MOSAIC.minPixels);
    this.#part.try.disabled = false;
    await this.#worker.call('test'); /* of weights that know nothing yet */
  }

  /** Starts again, maybe on other devices; `keep`: with the trained weights. */
  async reset(keep) {
    const number = ++this.#resets;
    const part = this.#part;
    const { replicas, threads, batch } = chosenIn(this.#element);
    const ready = await this.#worker.call('reset', { replicas, batch, threads, keep, digitsAt: this.#digitsAt });
    if (number !== this.#resets) return;
    part.status.textContent = describe(ready, threads);
    part.status.classList.remove('problem');
    part.start.disabled = part.again.disabled = false;
    const { step, reducedBytes } = ready;
    this.#reduced = { bytes: keep ? this.#reducedAt(step) : 0, step, perStep: replicas > 1 ? reducedBytes * replicas : 0 };
    this.timeline.show(null);
    if (!keep) {
      this.curve.clear(); /* of what came in between */
      this.#showNumbers({});
      this.#text('accuracy', '–');
      this.setRunning(this.#running);
    }
    await this.#showMosaic();
  }

  #listen() {
    const worker = this.#worker;
    worker.on('steps', ({ steps, rate, epoch }) => {
      this.curve.add(steps);
      this.#showNumbers({ step: steps.at(-1).step, epoch, loss: this.curve.smooth.loss, rate });
    });
    worker.on('timeline', (events) => {
      this.timeline.show(events);
      this.#text('overlap', overlapText(events));
    });
    worker.on('test', ({ accuracy, answers, layer }) => {
      this.curve.test = accuracy;
      this.#text('accuracy', `${(accuracy * 100).toFixed(2)} %`);
      this.#mosaic?.show(answers);
      if (this.#mosaic) this.#text('mistakes', mistakesText(this.#mosaic.mistakes()));
      drawLayer(this.#part.layer, layer, HIDDEN, LAYER.count, LAYER.columns);
      this.pad.schedule(); /* the new weights classify the drawing again */
    });
    worker.on('problem', (message) => this.problem(new Error(message)));
  }

  dispose() {
    this.#worker.terminate();
    this.#mosaic?.dispose();
    this.curve.plot.dispose();
    this.timeline.dispose();
  }
}

export function mount(element, { state, setState }) {
  const part = makeParts(readState(state));
  element.append(...layout(part));
  const training = new Training(element, part);
  part.try.onclick = () => training.tryDigit();
  part.start.onclick = () => training.toggle();
  part.again.onclick = () => training.reset(false).catch(training.problem);
  for (const control of [part.replicas, part.threads, part.batch]) {
    control.querySelector('select').onchange = () => {
      setState(chosenIn(element));
      training.reset(true).catch(training.problem);
    };
  }
  part.rows.addEventListener('change', (event) => training.timeline.showRows(event.target.value));
  training.reset(false).catch(training.problem);
  return { dispose: () => training.dispose() };
}
