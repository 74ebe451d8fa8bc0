/** Playground: a program on the left; its results and compiled forms on the right. */
import { h, select } from '../shared/dom.mjs';
import { duration, plural, whole } from '../shared/format.mjs';
import { LiveProgram } from '../shared/live_program.mjs';
import { createResults } from '../shared/results.mjs';
import { baseOf } from '../shared/runnable.mjs';
import { createTabs } from '../shared/tabs.mjs';
import { readThreads, selectThreads } from '../shared/threads.mjs';
import { trusted } from '../shared/trusted.mjs';
import { legend, stepName, Timeline } from '../shared/timeline.mjs';
import { createPasses } from './differences.mjs';
import { createEditor } from '../shared/editor.mjs';
import { EXAMPLES, PROGRAMS } from './examples.mjs';
import { createInputsBar, inputOf, stateOf } from '../shared/inputs_bar.mjs';
import { createRunner } from '../shared/js_runner.mjs';
import { drawPicture } from '../shared/picture.mjs';
import { planElement } from './plan.mjs';
import './playground.css';

const MAX_LINES = 20_000; /* of WebAssembly that are shown */
const EDIT_MS = 30; /* of quiet, after which an edit is looked at */

const LANGUAGES = [['hlo', 'HLO'], ['stablehlo', 'StableHLO'], ['javascript', 'JavaScript']];
const TABS = [
  ['results', 'Results'], ['picture', 'Indices'], ['module', 'Module'], ['steps', 'Steps'],
  ['code', 'WebAssembly'], ['timeline', 'Timeline'], ['memory', 'Memory'],
].map(([id, title]) => ({ id, title }));
const ABOUT_ONE = ['module', 'steps', 'code', 'memory']; /* of several programs that meet */
const COUNTS = [['', 'as stated'], ...[1, 2, 3, 4, 6, 8, 16].map((n) => [n, n])];

const examplesByName = new Map([
  ...PROGRAMS.map((program) => [program.name, program]),
  ...EXAMPLES.flatMap(([, list]) => list.map((one) => [one.operation, { language: 'hlo', ...one }])),
]);

function exampleChoice(onchange) {
  const option = (name) => h('option', { value: name }, name);
  const box = h('select', { id: 'example', 'aria-label': 'Example', onchange: () => onchange(box.value) },
    h('option', { value: '', disabled: true, hidden: true }, 'Your program'),
    h('optgroup', { label: 'Programs' }, PROGRAMS.map(({ name }) => option(name))),
    EXAMPLES.map(([family, list]) => h('optgroup', { label: family }, list.map(({ operation }) => option(operation)))));
  return box;
}

const stateOfExample = (name) => {
  const { language, program, inputs, mesh } = examplesByName.get(name);
  return { language, text: program, inputs: inputs.map(stateOf), mesh: mesh ?? {}, example: name };
};

/** Whether the clipboard took it. */
const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; /* refused, or there is none */
  }
};

/** Shows a text's parts in backticks as code. */
const withCode = (text) => text.split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part));

/** The valid parts of the address's state. */
function readState(state) {
  if (typeof state?.example === 'string' && state.text === undefined && examplesByName.has(state.example)) {
    return { seed: 0, tab: state.tab, ...stateOfExample(state.example) };
  }
  if (typeof state?.text !== 'string') return { seed: 0, ...stateOfExample(PROGRAMS[0].name) };
  const { text, language, inputs, mesh, seed, tab, example, threads, files } = state;
  return {
    text,
    language: LANGUAGES.some(([id]) => id === language) ? language : 'hlo',
    inputs: Array.isArray(inputs) ? inputs : [],
    mesh: mesh ?? {},
    seed: Number.isSafeInteger(seed) ? seed : 0,
    threads: readThreads(threads),
    tab,
    files: typeof files === 'string' && /^[\w-]+$/.test(files) ? files : undefined,
    example: examplesByName.has(example) ? example : undefined,
  };
}

/** Whether JavaScript from an address runs at once, without a click on Run: an example's, or what this page opened. */
const isOwn = ({ text, example }) => text === examplesByName.get(example)?.program || trusted.has(text);

class Playground {
  constructor(element, { state, setState, link }) {
    this.setState = setState;
    this.link = link;
    this.state = readState(state);
    this.isTrusted = isOwn(this.state);
    this.part = 0; /* the number of the one that the tabs show */
    this.run = null; /* the result of its last run */
    this.runner = createRunner();
    this.layout(element);
    this.live = new LiveProgram({ status: this.status, editMs: EDIT_MS, work: (turn) => this.work(turn), fail: (error) => this.fail(error) });
    this.live.refresh();
  }

  /* ---- Layout ---- */

  layout(element) {
    const { state } = this;
    this.example = exampleChoice((name) => this.load({
      ...stateOfExample(name), seed: this.state.seed, threads: this.state.threads, tab: this.state.tab,
    }));
    this.language = select('', LANGUAGES, state.language, (language) => this.change({ language }));
    this.language.querySelector('select').setAttribute('aria-label', 'Language');
    this.replicas = select('Replicas', COUNTS, '', (value) => this.changeMesh('replicas', value));
    this.partitions = select('Partitions', COUNTS, '', (value) => this.changeMesh('partitions', value));
    this.threads = selectThreads(state.threads, (threads) => this.change({ threads }));
    this.seed = h('input', {
      type: 'number', min: 0, step: 1, value: state.seed,
      oninput: () => this.change({ seed: Math.max(0, Math.trunc(Number(this.seed.value) || 0)) }),
    });
    this.stop = h('button', { type: 'button', id: 'stop', hidden: true, onclick: () => this.cancel() }, 'Stop');
    this.runShared = h('button', { type: 'button', id: 'run', hidden: true, onclick: () => this.trust() }, 'Run');
    this.share = h('button', { type: 'button', id: 'share', onclick: () => this.copyLink() }, 'Copy link');
    this.address = h('input', { type: 'text', id: 'address', readOnly: true, hidden: true, 'aria-label': 'The link, to be copied from here' });
    this.about = h('p', { class: 'about' });
    this.inputsElement = h('div', { class: 'inputs' });
    this.inputs = createInputsBar(this.inputsElement, (inputs) => this.change({ inputs: [...inputs] }));
    this.status = h('p', { id: 'play-status', class: 'small soft', role: 'status' });
    this.problem = h('button', { type: 'button', id: 'play-problem', class: 'note problem', hidden: true, onclick: () => this.goToProblem() });
    const editorElement = h('div', { class: 'editor' });
    this.parts = h('div', { class: 'parts', hidden: true });
    this.tabs = createTabs({ label: 'What becomes of it', tabs: TABS, selected: state.tab, onselect: (id) => this.selectTab(id) });
    element.append(
      h('h1', { class: 'heard' }, 'Playground'),
      h('div', { class: 'controls' }, this.example, this.language, this.replicas, this.partitions, this.threads,
        h('label', { class: 'field' }, h('span', {}, 'Seed'), this.seed), this.runShared, this.stop, this.share, this.address),
      this.about, this.inputsElement,
      h('div', { class: 'halves' },
        h('div', { class: 'left' }, editorElement, this.problem, this.status),
        h('div', { class: 'right panel' }, this.parts, this.tabs.element)));
    this.results = createResults(this.tabs.panel('results'));
    this.passes = createPasses(this.tabs.panel('module'));
    this.layoutTimeline(this.tabs.panel('timeline'));
    this.editor = createEditor(editorElement, { text: state.text, language: state.language, onchange: (text) => this.edited(text) });
    this.showState();
  }

  layoutTimeline(panel) {
    const canvas = h('canvas', { class: 'timeline', role: 'img', 'aria-label': 'When each device did what' });
    const rows = select('Rows', [['devices', 'devices'], ['threads', 'threads']], 'devices', (value) => this.timeline.showRows(value));
    this.events = h('div', { class: 'scroll' });
    panel.append(h('div', { class: 'controls' }, rows), canvas, legend(), this.events);
    this.timeline = new Timeline(canvas);
  }

  showState() {
    const { language, mesh, inputs, example, seed, threads } = this.state;
    this.example.value = example ?? '';
    this.language.querySelector('select').value = language;
    this.replicas.querySelector('select').value = mesh.replicas ?? '';
    this.partitions.querySelector('select').value = mesh.partitions ?? '';
    this.threads.querySelector('select').value = threads ?? '';
    this.seed.value = seed;
    this.inputs.set(inputs);
    this.about.replaceChildren(...withCode(examplesByName.get(example)?.text ?? ''));
    this.about.hidden = !example;
  }

  /* ---- What changes it ---- */

  load(state, isTrusted = true) {
    const tab = this.tabs.selected();
    this.isTrusted = isTrusted;
    this.state = { tab, ...state };
    this.editor.setText(state.text, state.language);
    this.showState();
    this.setState(this.state);
    this.live.refresh();
  }

  change(part) {
    Object.assign(this.state, part);
    if (part.language) this.editor.setText(this.editor.text(), part.language);
    this.setState(this.state);
    this.live.refresh();
  }

  changeMesh(which, value) {
    const mesh = { ...this.state.mesh };
    if (value) mesh[which] = Number(value);
    else delete mesh[which];
    this.change({ mesh });
  }

  edited(text) {
    this.state.text = text;
    this.setState(this.state);
    this.live.edited();
  }

  /** A click on Run: the JavaScript that came with the address may run from now on. */
  trust() {
    this.isTrusted = true;
    this.live.refresh();
  }

  /** Shows JavaScript that came with the address, and the button that runs it. */
  showShared() {
    this.runShared.hidden = false;
    this.problem.hidden = true;
    this.status.textContent = 'This JavaScript came with the link. It runs when you click Run.';
  }

  cancel() {
    this.runner.stop();
    this.live.cancel();
  }

  async copyLink() {
    const address = new URL(await this.link(this.state), location.href).href;
    const copied = await copyText(address);
    this.address.hidden = copied;
    if (!copied) { /* then by hand */
      this.address.value = address;
      this.address.focus();
      this.address.select();
      return;
    }
    this.share.textContent = 'Copied';
    setTimeout(() => { this.share.textContent = 'Copy link'; }, 1500);
  }

  /* ---- Compiling and running ---- */

  /** Returns the HLO or StableHLO text of the editor's program, and the values that its JavaScript showed. */
  async source() {
    const { language, text } = this.state;
    if (language !== 'javascript') return { source: text, kind: language, shown: [] };
    const lines = [];
    const { text: source, shown } = await this.runner.run(text, { base: baseOf(this.state.files), onprint: (line) => lines.push(line) });
    if (lines.length) shown.push({ name: 'printed', type: 'text', text: lines.join('\n') });
    return { source, kind: 'hlo', shown };
  }

  /** From the editor to results: what LiveProgram does after an edit. */
  async work(turn) {
    this.runShared.hidden = true;
    if (this.state.language === 'javascript' && !this.isTrusted) {
      this.showShared();
      return;
    }
    const busy = setTimeout(() => { this.stop.hidden = false; }, 200);
    try {
      const { source, kind, shown } = await turn.step(this.source());
      if (source === null) {
        this.finish(null, { outputs: [[]], inputs: [], outfeeds: shownAsOutfeeds(shown), events: [], ms: 0 }, turn.began);
        return;
      }
      const program = await turn.open({ source, kind, mesh: this.state.mesh, threads: this.state.threads });
      this.showParts(program.parts);
      this.inputs.show(program.parameters);
      const run = await turn.step(this.live.programs.run(program.id, { inputs: this.runInputs(program) }));
      run.outfeeds.push(...shownAsOutfeeds(shown));
      this.finish(program, run, turn.began);
    } finally {
      clearTimeout(busy);
      if (turn.isNewest()) this.stop.hidden = true;
    }
  }

  /** If there are several programs, shows a choice of the one in the tabs. */
  showParts(parts) {
    this.part = Math.min(this.part, parts.length - 1);
    this.parts.hidden = parts.length < 2;
    this.parts.replaceChildren(...(parts.length < 2 ? [] : [select('Program', parts.map(({ name }, i) => [i, name]), this.part, (part) => {
      this.part = Number(part);
      ABOUT_ONE.forEach((id) => this.dirty?.add(id));
      this.selectTab(this.tabs.selected());
    })]));
  }

  runInputs(program) {
    const perDevice = program.replicas * program.partitions > 1;
    return program.parameters.map(({ shape }, i) =>
      inputOf(this.state.inputs[i], shape, this.state.seed + i, perDevice));
  }

  finish(program, run, began) {
    this.run = run;
    this.error = null;
    this.editor.showError(null);
    this.problem.hidden = true;
    this.tabs.element.classList.remove('stale');
    this.dirty = new Set(TABS.map(({ id }) => id));
    this.results.show(run, program ?? { partitions: 1, parameters: [] });
    this.dirty.delete('results');
    const ms = performance.now() - began;
    if (program) {
      const devices = program.replicas * program.partitions;
      const threads = program.threads ? plural(program.threads, 'thread') : 'the single-threaded build';
      this.status.textContent = `Read and compiled in ${duration((program.readMs + program.compileMs) * 1000)}, ran in ${duration(run.ms * 1000)} on ${plural(devices, 'device')} and ${threads}; ${Math.round(ms)} ms from the edit to here.`;
    } else {
      this.status.textContent = 'It returned no program.';
    }
    this.status.dataset.ms = ms;
    this.selectTab(this.tabs.selected());
  }

  fail(error) {
    this.error = error;
    const place = error.line ? `${error.line}:${error.column ?? 1} ` : '';
    this.problem.textContent = error.code === 'CANCELLED' ? 'Stopped.' : `${place}${error.message}`;
    this.problem.hidden = false;
    this.editor.showError(error);
    this.tabs.element.classList.add('stale'); /* the tabs still show the previous program */
    this.status.textContent = '';
  }

  goToProblem() {
    const { line, column } = this.error?.waiting?.find((device) => device.line) ?? this.error ?? {};
    if (line) this.editor.goTo(line, column);
  }

  /* ---- Tabs: each is filled when it is shown ---- */

  async selectTab(id) {
    if (this.state.tab !== id && this.results) {
      this.state.tab = id;
      this.setState(this.state);
    }
    if (!this.dirty?.has(id)) return;
    this.dirty.delete(id);
    const { program } = this.live;
    const panel = this.tabs.panel(id);
    if (!program) {
      if (id !== 'timeline' && id !== 'module') panel.replaceChildren(h('p', { class: 'soft' }, 'There is no program.'));
      return;
    }
    try {
      await this.fillers[id]?.call(this, panel, program);
    } catch (error) {
      if (program === this.live.program) panel.replaceChildren(h('p', { class: 'problem' }, error.message));
    }
  }

  fillers = {
    async picture(panel, program) {
      const traced = await this.live.programs.trace(program.id, { inputs: this.runInputs(program) });
      if (program === this.live.program) drawPicture(panel, traced);
    },
    async module(panel, program) {
      const [passes, text] = await Promise.all([
        this.live.programs.view(program.id, 'passes', this.part),
        this.live.programs.view(program.id, 'text', this.part),
      ]);
      if (program === this.live.program) this.passes.show(passes, text);
    },
    async steps(panel, program) {
      const text = await this.live.programs.view(program.id, 'thunks', this.part);
      panel.replaceChildren(h('p', { class: 'small soft' }, 'What each device does, in order: generated code, kernels, loops and branches, collectives. Behind the colon, what it reads and writes: @ is a place in the arena.'), h('pre', {}, text));
    },
    async code(panel, program) {
      const code = await this.live.programs.view(program.id, 'code', this.part);
      if (program !== this.live.program) return;
      const { bytes = 0, text = '' } = code ?? {};
      const lines = text.split('\n');
      const rest = lines.length - MAX_LINES;
      panel.replaceChildren(code
        ? h('div', {}, h('p', { class: 'small soft' }, `The module that was generated, ${whole(bytes)} bytes: a function for each fused loop and each region, named after its instruction.`),
          h('pre', {}, rest > 0 ? lines.slice(0, MAX_LINES).join('\n') : text),
          rest > 0 ? h('p', { class: 'soft' }, `And ${whole(rest)} more lines.`) : null)
        : h('p', { class: 'soft' }, 'Nothing was generated: kernels of the core do it all.'));
    },
    timeline(panel, program) {
      const { events } = this.run;
      this.timeline.show(events, program.partitions);
      const rows = [...events].sort((a, b) => (b.endUs - b.startUs) - (a.endUs - a.startUs)).slice(0, 12);
      this.events.replaceChildren(h('table', {},
        h('tr', {}, ['Step', 'Kind', 'Device', 'Thread'].map((text) => h('th', {}, text)), h('th', { class: 'number' }, 'Took')),
        rows.map((event) => h('tr', {}, h('td', {}, stepName(event)), h('td', {}, event.category),
          h('td', { class: 'number' }, String(event.replica * program.partitions + event.partition)),
          h('td', { class: 'number' }, String(event.worker)),
          h('td', { class: 'number' }, duration(event.endUs - event.startUs))))));
    },
    async memory(panel, program) {
      panel.replaceChildren(planElement(await this.live.programs.view(program.id, 'memory', this.part)));
    },
  };

  dispose() {
    this.runner.dispose();
    this.live.dispose();
    this.results.dispose();
    this.timeline.dispose();
    this.editor.dispose();
  }
}

/** The values that JavaScript showed, below the results. */
const shownAsOutfeeds = (shown) => shown.map(({ name, ...array }) => ({ name, leaves: [array] }));

export function mount(element, context) {
  const playground = new Playground(element, context);
  return {
    dispose: () => playground.dispose(),
    update(state) {
      const next = readState(state);
      playground.load(next, isOwn(next));
    },
  };
}
