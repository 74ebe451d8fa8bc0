/** Meshes: programs for several devices; shows which devices meet when they run, and wait when they hang. */
import { createEditor } from '../shared/editor.mjs';
import { h } from '../shared/dom.mjs';
import { duration, plural } from '../shared/format.mjs';
import { LiveProgram } from '../shared/live_program.mjs';
import { createResults } from '../shared/results.mjs';
import { readThreads, selectThreads } from '../shared/threads.mjs';
import { legend, MARGIN, Timeline } from '../shared/timeline.mjs';
import { rendezvousOf } from './rendezvous.mjs';
import { MESH_PROGRAMS } from './programs.mjs';
import { createStage, linesAt, showWaiting, statesAt } from './stage.mjs';
import './meshes.css';

const EDIT_MS = 150;
const TIMEOUT_MS = 10000;
const PLAY_MS = 5000; /* that a run takes when it is played */
const SCRUB = 1000; /* positions of the scrubber */

const byName = new Map(MESH_PROGRAMS.map((program) => [program.name, program]));

function readState(state) {
  const known = byName.get(state?.name) ?? MESH_PROGRAMS[0];
  return { name: known.name, text: typeof state?.text === 'string' ? state.text : known.program, threads: readThreads(state?.threads) };
}

class Meshes {
  constructor(element, { state, setState }) {
    this.setState = setState;
    this.state = readState(state);
    this.layout(element);
    this.live = new LiveProgram({ status: this.status, editMs: EDIT_MS, work: (turn) => this.work(turn), fail: (error) => this.showError(error) });
    this.live.refresh();
  }

  get known() {
    return byName.get(this.state.name);
  }

  layout(element) {
    const results = h('div', {}), editorElement = h('div', { class: 'editor' });
    this.about = h('p', { class: 'about' });
    this.status = h('p', { id: 'mesh-status', class: 'small soft', role: 'status' });
    this.problem = h('p', { id: 'mesh-problem', class: 'note problem', role: 'alert', hidden: true });
    this.words = h('div', {});
    this.stageElement = h('div', { class: 'stage-holder' });
    this.details = h('details', {}, h('summary', {}, 'Results'), results);
    this.replay = this.replayElement();
    element.append(
      h('h1', { class: 'heard' }, 'Meshes'),
      this.controlsElement(), this.about,
      h('div', { class: 'halves' },
        h('div', { class: 'left' }, editorElement, this.status),
        h('div', { class: 'right panel' }, this.problem, this.stageElement, this.words, this.replay,
          this.details)));
    this.timeline = new Timeline(this.canvas);
    this.results = createResults(results);
    this.editor = createEditor(editorElement, { text: this.state.text, language: 'hlo', onchange: (text) => this.edited(text) });
    this.showState();
  }

  /** The choice of a program and of threads. */
  controlsElement() {
    const group = (label, hang) => h('optgroup', { label }, MESH_PROGRAMS.filter(({ hangs }) => Boolean(hangs) === hang)
      .map(({ name }) => h('option', { value: name }, name)));
    const onchange = () => this.load({ name: this.choice.value, threads: this.state.threads });
    this.choice = h('select', { id: 'mesh-program', 'aria-label': 'Program', onchange },
      group('Work together', false), group('Hang', true));
    this.threads = selectThreads(this.state.threads, (threads) => {
      this.state.threads = threads;
      this.remember();
      this.live.refresh();
    });
    this.again = h('button', { type: 'button', id: 'mesh-run', onclick: () => this.live.refresh() }, 'Run again');
    return h('div', { class: 'controls' }, this.choice, this.threads, this.again);
  }

  /** The timeline of a run, and the controls that play it. */
  replayElement() {
    this.canvas = h('canvas', { class: 'timeline', role: 'img', 'aria-label': 'When each device computed, waited and met others' });
    this.canvas.addEventListener('pointerdown', (event) => this.scrubTo(event));
    this.canvas.addEventListener('pointermove', (event) => { if (event.buttons) this.scrubTo(event); });
    this.cursor = h('i', { class: 'cursor' });
    const oninput = () => this.pause(Number(this.scrubber.value));
    this.scrubber = h('input', { type: 'range', min: 0, max: SCRUB, value: 0, id: 'scrub', 'aria-label': 'Time', oninput });
    this.play = h('button', { type: 'button', id: 'play', onclick: () => this.togglePlay() }, 'Play');
    this.time = h('span', { class: 'soft small time' });
    return h('div', { class: 'replay' }, h('div', { class: 'controls' }, this.play, this.scrubber, this.time),
      h('div', { class: 'timeline-holder' }, this.canvas, this.cursor), legend());
  }

  showState() {
    this.choice.value = this.state.name;
    this.about.textContent = this.known.text;
    this.threads.querySelector('select').value = this.state.threads ?? '';
  }

  load(state) {
    this.state = readState(state);
    this.editor.setText(this.state.text);
    this.showState();
    this.remember();
    this.live.refresh();
  }

  /** Writes the address; it holds the text only if that was edited. */
  remember() {
    const { name, text, threads } = this.state;
    this.setState({ name, threads, ...(text !== this.known.program && { text }) });
  }

  edited(text) {
    this.state.text = text;
    this.remember();
    this.live.edited();
  }

  /* ---- Running ---- */

  async work(turn) {
    const program = await turn.open({ source: this.state.text, kind: 'hlo', mesh: this.known.mesh, threads: this.state.threads });
    this.stage = createStage(program, this.stageElement.clientWidth || this.canvas.clientWidth);
    this.stageElement.replaceChildren(this.stage.element);
    const inputs = program.parameters.map((_, i) => {
      const input = this.known.inputs[i] ?? 'random';
      return input === 'random' ? { fill: 'random', seed: i, perDevice: true } : input;
    });
    const run = () => turn.step(this.live.programs.run(program.id, { inputs, timeoutMs: TIMEOUT_MS }));
    await run(); /* makes the engine compile, so that devices wait only for each other in the second run */
    this.showRun(program, await run());
  }

  showRun(program, run) {
    this.editor.showError(null);
    this.problem.hidden = true;
    this.words.replaceChildren();
    this.replay.hidden = this.details.hidden = false;
    this.run = run;
    this.begin = Math.min(...run.events.map(({ startUs }) => startUs));
    this.span = Math.max(...run.events.map(({ endUs }) => endUs)) - this.begin || 1;
    this.rendezvous = rendezvousOf(program, run.events);
    this.timeline.show(run.events, program.partitions, this.rendezvous);
    this.results.show(run, program);
    const sum = (events) => events.reduce((total, { startUs, endUs }) => total + endUs - startUs, 0);
    const together = sum(run.events.filter(({ category }) => ['collective', 'channel'].includes(category)));
    const threads = program.threads ? plural(program.threads, 'thread') : 'the single-threaded build';
    const devices = plural(program.replicas * program.partitions, 'device');
    const meetings = plural(this.rendezvous.length, 'meeting or message', 'meetings and messages');
    const share = Math.round((100 * together) / (sum(run.events) || 1));
    this.status.textContent = `${devices} on ${threads}: ${duration(this.span)}; ${meetings}. ` +
      `Devices spent ${share} % of their time at them, waiting included.`;
    const [first] = this.rendezvous;
    this.showTime(first ? (first.startUs + first.endUs) / 2 : this.begin);
  }

  showError(error) {
    this.pause();
    this.run = null;
    this.editor.showError(error);
    this.problem.hidden = false;
    this.problem.textContent = `${error.line ? `${error.line}:${error.column ?? 1} ` : ''}${error.message}`;
    this.replay.hidden = this.details.hidden = true;
    this.timeline.show(null);
    this.status.textContent = '';
    const { program } = this.live;
    const hung = program && error.waiting?.length;
    this.stageElement.hidden = !hung;
    this.words.replaceChildren(...(hung ? [showWaiting(this.stage, program, error.waiting, (line) => this.editor.goTo(line, 1))] : []));
  }

  /* ---- The replay ---- */

  showAt(position) {
    if (!this.run) return;
    const isEnd = Number(position) === SCRUB; /* there all is over */
    this.showTime(this.begin + (position / SCRUB) * this.span + (isEnd ? 1 : 0));
  }

  /* To the microsecond, unlike the scrubber: a meeting may take none by a browser's coarse clock. */
  showTime(time) {
    this.stageElement.hidden = false;
    const share = Math.min(1, (time - this.begin) / this.span);
    this.scrubber.value = Math.round(SCRUB * share);
    this.stage.show(statesAt(this.run.events, this.live.program, time), linesAt(this.rendezvous, this.stage.places, time));
    this.time.textContent = duration(time - this.begin);
    this.cursor.style.left = `calc(${MARGIN.left}px + ${share} * (100% - ${MARGIN.left + MARGIN.right}px))`;
  }

  scrubTo(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
    this.pause(Math.round(Math.min(1, Math.max(0, share)) * SCRUB));
  }

  pause(position) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.play.textContent = 'Play';
    if (position !== undefined) this.showAt(position);
  }

  togglePlay() {
    if (this.frame) {
      this.pause();
      return;
    }
    this.play.textContent = 'Pause';
    const from = Number(this.scrubber.value) >= SCRUB ? 0 : Number(this.scrubber.value);
    const began = performance.now();
    const step = (now) => {
      const position = from + ((now - began) / PLAY_MS) * SCRUB;
      this.showAt(Math.min(SCRUB, Math.max(from, position)));
      if (position >= SCRUB) this.pause();
      else this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  dispose() {
    cancelAnimationFrame(this.frame);
    this.live.dispose();
    this.timeline.dispose();
    this.results.dispose();
    this.editor.dispose();
  }
}

export function mount(element, context) {
  const meshes = new Meshes(element, context);
  return { dispose: () => meshes.dispose(), update: (state) => meshes.load(state) };
}
