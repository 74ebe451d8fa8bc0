/** Bring your own: describes and runs a program from a file. Everything stays in the page. */
import { figure, h, panel, select } from '../shared/dom.mjs';
import { bytes as bytesText, duration, plural, whole } from '../shared/format.mjs';
import { createResults } from '../shared/results.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { createTabs } from '../shared/tabs.mjs';
import { legend, stepName, Timeline } from '../shared/timeline.mjs';
import './open.css';

const WEIGHTS = /\.(safetensors|npz|npy)$/i;
const FILLS = ['random', 'iota', 'zeros', 'ones', 'file'];
const MAX_LINKED = 100_000; /* characters of a text that a link can take */


/** Sums over the events of each step, the longest first. */
function hotSpots(events) {
  const sums = new Map();
  for (const { name, category, holds, startUs, endUs } of events) {
    const sum = sums.get(name) ?? { name, category, holds, us: 0, count: 0 };
    sum.us += endUs - startUs;
    sum.count++;
    sums.set(name, sum);
  }
  return [...sums.values()].sort((a, b) => b.us - a.us);
}

class Opener {
  constructor(element, { link }) {
    this.link = link;
    this.worker = connect(startWorker('open'));
    this.files = []; /* programs' bytes are kept, to be opened for another mesh */
    this.inputs = [];
    this.layout(element);
  }

  layout(element) {
    this.picker = h('input', { type: 'file', multiple: true, hidden: true, id: 'files', onchange: () => this.take([...this.picker.files]) });
    this.drop = h('div', { class: 'drop', id: 'drop' },
      h('p', {}, h('strong', {}, 'Drop a program here'), ', and weights for it if it has some.'),
      h('p', { class: 'small soft' }, 'HLO text or proto, StableHLO text or bytecode, a file of jax.export, each also gzipped; safetensors, .npz, .npy. Nothing leaves this page.'),
      h('div', { class: 'controls' },
        h('button', { type: 'button', class: 'primary', onclick: () => this.picker.click() }, 'Choose files'),
        h('button', { type: 'button', id: 'sample', onclick: () => this.trySample() }, 'Try a sample'), this.picker));
    this.shapes = h('input', { type: 'text', id: 'shapes', class: 'mono', placeholder: 'f32[8,32], f32[32]' });
    this.problem = h('p', { class: 'note problem', id: 'open-problem', hidden: true, role: 'alert' });
    this.facts = h('div', { id: 'facts' });
    element.append(
      h('div', { class: 'lead' }, h('h1', {}, 'Bring your own program'),
        h('p', {}, 'What JAX, PyTorch/XLA or TensorFlow exported is compiled to WebAssembly here, run, and measured.')),
      this.drop, this.problem, this.facts);
    const over = (on) => (event) => {
      event.preventDefault();
      this.drop.classList.toggle('over', on);
    };
    this.drop.addEventListener('dragover', over(true));
    this.drop.addEventListener('dragleave', over(false));
    this.drop.addEventListener('drop', (event) => {
      over(false)(event);
      this.take([...event.dataTransfer.files]);
    });
  }

  fail(error) {
    if (error.code === 'CANCELLED') return;
    this.problem.hidden = false;
    this.problem.textContent = `${error.line ? `line ${error.line}, column ${error.column}: ` : ''}${error.message}`;
    this.needsShapes ||= Boolean(error.parameters); // of the program, until another is dropped
    if (this.needsShapes) {
      this.problem.append(h('span', { class: 'field' }, h('span', {}, 'Shapes of the arguments'), this.shapes,
        h('button', { type: 'button', onclick: () => this.open().catch((again) => this.fail(again)) }, 'Read it for these')));
    }
  }

  async attempt(work) {
    this.problem.hidden = true;
    this.drop.classList.add('busy');
    try {
      await work();
    } catch (error) {
      this.fail(error);
    } finally {
      this.drop.classList.remove('busy');
    }
  }

  trySample() {
    return this.attempt(async () => this.takeAll(await this.worker.call('sample')));
  }

  take(files) {
    return this.attempt(async () => this.takeAll(await Promise.all(files.map(async (file) =>
      ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })))));
  }

  /** Weights first, so that the program finds them. */
  async takeAll(files) {
    const programs = files.filter(({ name }) => !WEIGHTS.test(name));
    for (const file of files.filter(({ name }) => WEIGHTS.test(name))) {
      await this.worker.call('addWeights', file);
    }
    if (programs.length) {
      [{ bytes: this.bytes, name: this.fileName }] = programs;
      this.mesh = {};
      this.inputs = [];
      this.needsShapes = false;
      this.shapes.value = '';
    }
    if (this.bytes) await this.open();
    else if (files.length) throw new Error('These are weights; now drop the program that they are for.');
  }

  async open() {
    const shapes = this.shapes.value.trim() ? this.shapes.value.split(/,\s*(?=[a-z])/) : undefined;
    this.program = await this.worker.call('open', { bytes: this.bytes, shapes, mesh: this.mesh });
    this.problem.hidden = true;
    this.inputs = this.program.parameters.map(({ isWeight }, i) => (isWeight ? { fill: 'weights' } : this.inputs[i] ?? { fill: 'random' }));
    this.showProgram();
  }

  /* ---- What it is ---- */

  showProgram() {
    this.timeline?.dispose();
    this.results?.dispose();
    const { program } = this;
    const devices = program.replicas * program.partitions;
    const count = program.operations.reduce((sum, [, n]) => sum + n, 0);
    const sum = (list) => list.reduce((total, { bytes, shape }) => total + (bytes ?? shape.bytes), 0);
    this.runButton = h('button', { type: 'button', class: 'primary', id: 'run', onclick: () => this.run() }, 'Run');
    this.stopButton = h('button', { type: 'button', hidden: true, onclick: () => this.worker.call('stop') }, 'Stop');
    this.runStatus = h('p', { class: 'soft', id: 'run-status', role: 'status' });
    const mesh = (name) => select(name === 'replicas' ? 'Replicas' : 'Partitions', [1, 2, 4, 8], program[name], (value) => {
      this.mesh = { ...this.mesh, [name]: Number(value) };
      this.attempt(() => this.open());
    });
    this.outcome = h('div', { id: 'outcome', hidden: true });
    this.facts.replaceChildren(
      h('h2', { class: 'title' }, this.fileName, h('span', { class: 'soft' }, ` · ${program.kind}`)),
      h('dl', { class: 'figures' },
        figure('Size', bytesText(program.fileBytes)), figure('Operations', whole(count)),
        figure('Read in', duration(program.readMs * 1000)), figure('Compiled in', duration(program.compileMs * 1000)),
        figure('Steps', whole(program.steps)), figure('Generated code', bytesText(program.codeBytes)),
        figure('Arguments', bytesText(sum(program.parameters))), figure('Results', bytesText(sum(program.results))),
        figure('Temporaries', bytesText(program.arenaBytes))),
      h('div', { class: 'panels' },
        panel('', plural(program.parameters.length, 'parameter'), this.parametersTable()),
        panel('', plural(program.results.length, 'result'),
          h('p', { class: 'mono wrap' }, program.results.map(({ text }) => text).join(', ')),
          h('h2', {}, 'Operations'), h('p', { class: 'wrap' }, program.operations.slice(0, 24).map(([name, n]) => `${name} ${n}`).join(' · '))),
      ),
      h('div', { class: 'controls' }, this.runButton, this.stopButton, mesh('replicas'), mesh('partitions'),
        h('a', { class: 'button', id: 'to-playground', href: '#playground', hidden: true }, 'Open in the playground'),
        this.runStatus),
      this.outcome);
    this.runStatus.textContent =
      `${plural(devices, 'device')} on ${program.threads ? plural(program.threads, 'thread') : 'the single-threaded build'}.`;
    this.showLink();
  }

  async showLink() {
    const anchor = this.facts.querySelector('#to-playground');
    const text = await this.worker.call('text');
    if (text.length > MAX_LINKED) return;
    anchor.href = await this.link({ language: 'hlo', text, inputs: [], mesh: this.mesh ?? {} }, 'playground');
    anchor.hidden = false;
  }

  parametersTable() {
    const row = ({ name, shape, isWeight }, i) => {
      const file = h('input', { type: 'file', accept: '.npy', hidden: true, 'aria-label': `A .npy file for ${name}`, onchange: async () => {
        if (file.files[0]) this.inputs[i] = { npy: new Uint8Array(await file.files[0].arrayBuffer()) };
      } });
      const choices = isWeight ? ['weights', ...FILLS] : FILLS;
      const choice = h('select', { 'aria-label': `What ${name} is filled with`, onchange: () => {
        file.hidden = choice.value !== 'file';
        if (choice.value !== 'file') this.inputs[i] = { fill: choice.value };
      } }, choices.map((fill) => h('option', { value: fill, selected: fill === this.inputs[i].fill }, fill)));
      return h('tr', {}, h('td', { class: 'mono' }, name), h('td', { class: 'mono' }, shape.text),
        h('td', { class: 'number' }, bytesText(shape.bytes)), h('td', {}, choice, file));
    };
    return h('div', { class: 'scroll parameters' }, h('table', {},
      h('tr', {}, h('th', {}, 'Name'), h('th', {}, 'Shape'), h('th', { class: 'number' }, 'Size'), h('th', {}, 'From')),
      this.program.parameters.map(row)));
  }

  /* ---- What it does ---- */

  run() {
    return this.attempt(async () => {
      this.runButton.disabled = true;
      this.stopButton.hidden = false;
      try {
        const { firstMs, bestMs, runs, run } = await this.worker.call('run', { inputs: this.inputs });
        this.runStatus.textContent = `First run ${duration(firstMs * 1000)}; best of ${runs} more ${duration(bestMs * 1000)}.`;
        this.showOutcome(run);
      } finally {
        this.runButton.disabled = false;
        this.stopButton.hidden = true;
      }
    });
  }

  showOutcome(run) {
    this.timeline?.dispose();
    this.results?.dispose();
    const tabs = createTabs({ label: 'The run', tabs: [{ id: 'results', title: 'Results' }, { id: 'profile', title: 'Profile' }] });
    const save = (format) => h('button', { type: 'button', onclick: () => this.save(format) }, `Save as .${format}`);
    const canvas = h('canvas', { class: 'timeline', role: 'img', 'aria-label': 'When each device did what' });
    const results = h('div');
    tabs.panel('results').append(h('div', { class: 'controls' }, save('npz'), save('safetensors')), results);
    const total = run.events.reduce((sum, { startUs, endUs }) => sum + endUs - startUs, 0) || 1;
    tabs.panel('profile').append(canvas, legend(), h('div', { class: 'scroll' }, h('table', {},
      h('tr', {}, h('th', {}, 'Step'), h('th', {}, 'Kind'),
        h('th', { class: 'number' }, 'Times'), h('th', { class: 'number' }, 'Took'), h('th', { class: 'number' }, 'Share')),
      hotSpots(run.events).slice(0, 30).map(({ name, category, holds, us, count }) => h('tr', {},
        h('td', {}, stepName({ name, holds })), h('td', {}, category),
        h('td', { class: 'number' }, whole(count)), h('td', { class: 'number' }, duration(us)), h('td', { class: 'number' }, `${((us / total) * 100).toFixed(1)} %`))))));
    this.outcome.hidden = false;
    this.outcome.replaceChildren(h('section', { class: 'panel' }, tabs.element));
    this.results = createResults(results);
    this.results.show(run, this.program);
    this.timeline = new Timeline(canvas);
    this.timeline.show(run.events, this.program.partitions);
  }

  async save(format) {
    const bytes = await this.worker.call('save', format);
    const address = URL.createObjectURL(new Blob([bytes]));
    h('a', { href: address, download: `${this.program.name}.${format}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  dispose() {
    this.worker.terminate();
    this.timeline?.dispose();
    this.results?.dispose();
  }
}

export function mount(element, context) {
  const opener = new Opener(element, context);
  return { dispose: () => opener.dispose() };
}
