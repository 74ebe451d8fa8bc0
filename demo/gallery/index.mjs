/** Gallery: JAX programs, unchanged, with their source and their speed here. */
import { codeElement } from '../shared/code_colours.mjs';
import { figure, h } from '../shared/dom.mjs';
import { bytes, duration, FIGURES_MS } from '../shared/format.mjs';
import { EXHIBITS } from './exhibits.mjs';
import './gallery.css';

const FILES = import.meta.glob(
  ['./programs/*.{mlirbc,gz,safetensors,json}', './programs/llama/*'], { query: '?url', import: 'default', eager: true });
const SOURCES = import.meta.glob(['./programs/*.py', '../../examples/llama/model.py'], { query: '?raw', import: 'default' });

const STAGES = {
  field: () => import('./stage.mjs'),
  picture: () => import('./stage.mjs'),
  digits: () => import('./digits.mjs'),
  teach: () => import('./teach.mjs'),
  llama: () => import('./llama.mjs'),
};

/** Addresses of an exhibit's files: 'step', 'start', 'weights', 'tokens', ... */
function urlsOf(id) {
  const urls = {};
  for (const [path, url] of Object.entries(FILES)) {
    const [, of, name] = /programs\/([a-z]+)[._/](\w+)/.exec(path);
    if (of === id) urls[name === 'safetensors' ? 'weights' : name] = new URL(url, document.baseURI).href;
  }
  return urls;
}

/** Names and values that are shown as they become known. */
function createFigures() {
  const element = h('dl', { class: 'figures' });
  const cells = new Map();
  return {
    element,
    set(title, text) {
      if (text === undefined) return;
      if (!cells.has(title)) {
        const shown = figure(title, ''), cell = shown.querySelector('dd');
        cell.dataset.figure = title;
        cells.set(title, cell);
        element.append(shown);
      }
      if (cells.get(title).textContent !== text) cells.get(title).textContent = text;
    },
  };
}

/** Passes a stage's facts to the figures: see stage.mjs. */
function teller(figures, exhibit) {
  let shown = -Infinity; /* the first ones, even right after the page began */
  return (facts) => {
    if (facts.compileMs !== undefined) {
      figures.set('Compiled in', duration(facts.compileMs * 1000));
      figures.set('Program', bytes(facts.bytes));
      figures.set('Threads', facts.threads ? String(facts.threads) : 'none');
      return;
    }
    if (performance.now() - shown < FIGURES_MS) return;
    shown = performance.now();
    if (facts.rate !== undefined) figures.set('Frames a second', facts.rate.toFixed(facts.rate < 10 ? 1 : 0));
    if (facts.ms !== undefined) figures.set('One step', duration(facts.ms * 1000));
    if (exhibit.extra) figures.set(exhibit.extra.title, facts.extra);
    Object.entries(facts.named ?? {}).forEach(([title, text]) => figures.set(title, text));
  };
}

export async function mount(element, { state, setState }) {
  let stage = null;
  let turn = 0;
  const links = new Map(EXHIBITS.map(({ id, title }) => [id, h('a', { href: `#gallery/${id}` }, title)]));
  const article = h('article');
  element.append(
    h('header', { class: 'lead' }, h('h1', {}, 'JAX programs, unchanged'),
      h('p', {}, 'Exported from JAX by a script of the repository, compiled to WebAssembly here, run in a worker of this page.')),
    h('div', { class: 'gallery' }, h('nav', { 'aria-label': 'Exhibits' }, [...links.values()]), article),
  );

  const show = async (id) => {
    const exhibit = EXHIBITS.find((one) => one.id === id) ?? EXHIBITS[0];
    const number = ++turn;
    stage?.dispose();
    stage = null;
    links.forEach((link, of) => link.toggleAttribute('aria-current', of === exhibit.id));
    links.get(exhibit.id).scrollIntoView({ block: 'nearest', inline: 'center' });
    const figures = createFigures();
    const room = h('div', { class: 'stage' });
    const path = exhibit.python ?? `./programs/${exhibit.id}.py`;
    const source = h('details', { class: 'panel source', open: true }, h('summary', {}, path.split('/').at(-1)));
    article.replaceChildren(h('h2', { class: 'title' }, exhibit.title), h('p', { class: 'about' }, exhibit.about),
      h('div', { class: 'halves' }, h('div', {}, room, figures.element), source));
    article.dataset.exhibit = exhibit.id;
    const [{ createStage }, text] = await Promise.all([STAGES[exhibit.kind](), SOURCES[path]()]);
    if (number !== turn) return;
    source.append(codeElement(text.split(/\n(?:PROGRAMS|# --- Shapes)/)[0].trim(), 'python', 'Python source'));
    stage = createStage(room, exhibit, urlsOf(exhibit.id), teller(figures, exhibit));
  };
  await show(state);
  if (state === undefined) setState(undefined);
  return {
    update: (next) => show(next),
    dispose() {
      turn = Infinity;
      stage?.dispose();
    },
  };
}
