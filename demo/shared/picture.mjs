/** Draws grids of elements, in which each result's element shows the elements it came from. */
import { h, svg } from './dom.mjs';
import { element as elementText, plural } from './format.mjs';
import { readElement } from './results.mjs';

const CELL = 30;
const GAP = 10;

const countOf = ({ dimensions }) => dimensions.reduce((product, size) => product * size, 1);

/**
 * Returns the position of each element of an array. The last two dimensions of more than one element are a grid;
 * grids stand side by side along the dimension before them, and below each other along those before it.
 */
function layoutOf({ dimensions }) {
  const long = dimensions.filter((size) => size !== 1);
  if (dimensions.length === 2 && dimensions[1] === 1) long.push(1); /* a column is one */
  const [columns, rows, across] = [long.at(-1) ?? 1, long.at(-2) ?? 1, long.at(-3) ?? 1];
  const down = long.slice(0, -3).reduce((product, size) => product * size, 1);
  const [gridWidth, gridHeight] = [columns * CELL + GAP, rows * CELL + GAP];
  return {
    width: across * gridWidth - GAP, height: down * gridHeight - GAP,
    at(i) {
      const grid = Math.floor(i / (rows * columns));
      return {
        x: (grid % across) * gridWidth + (i % columns) * CELL,
        y: Math.floor(grid / across) * gridHeight + (Math.floor(i / columns) % rows) * CELL,
      };
    },
    index(i) {
      const index = [];
      for (let d = dimensions.length - 1; d >= 0; d--) {
        index.unshift(i % dimensions[d]);
        i = Math.floor(i / dimensions[d]);
      }
      return `[${index.join(', ')}]`;
    },
  };
}

/** A hue for element i of n, going once through the colours that are told apart well. */
const hueOf = (i, n) => Math.round(20 + (300 * i) / Math.max(1, n));

function grid(array, kind, colourOf) {
  const layout = layoutOf(array);
  const cells = [];
  const group = svg('svg', {
    width: layout.width + 4, height: layout.height + 4, viewBox: `-2 -2 ${layout.width + 4} ${layout.height + 4}`,
    class: `grid ${kind}`, role: 'img', 'aria-label': `${array.name}: ${array.text}`,
  });
  for (let i = 0; i < countOf(array); i++) {
    const { x, y } = layout.at(i);
    const value = elementText(readElement(array, i), 3);
    const hue = colourOf(array.first + i);
    const cell = svg('g', {
      class: `cell${hue === null ? ' plain' : ''}${hue === 'none' ? ' none' : ''}`,
      transform: `translate(${x} ${y})`, ...(typeof hue === 'number' && { style: `--hue: ${hue}` }),
    },
      svg('rect', { width: CELL - 2, height: CELL - 2, rx: 3 }),
      svg('text', { x: (CELL - 2) / 2, y: (CELL - 2) / 2 + 3.5 }, value.length > 5 ? value.slice(0, 5) : value),
      svg('title', {}, `${array.name}${layout.index(i)} = ${value}`));
    cell.dataset.element = array.first + i;
    cells.push(cell);
    group.append(cell);
  }
  return { element: group, cells, layout };
}

const caption = (array, devices) => h('figcaption', {}, h('strong', {}, array.name), ' ', h('code', {}, array.text),
  devices > 1 ? h('span', { class: 'soft' }, ` · device ${array.device}`) : null);

const elementsOf = (array) => Array.from({ length: countOf(array) }, (_, i) => array.first + i);

/** The colours of a traced program's elements. */
function coloursOf({ sources, links }) {
  const isIndex = new Set(sources.filter((array) => array.isIndex).flatMap(elementsOf));
  const coloured = sources.filter((array) => !array.isIndex).flatMap(elementsOf);
  const hues = new Map(coloured.map((at, i) => [at, hueOf(i, coloured.length)]));
  return {
    source: (at) => (isIndex.has(at) ? null : hues.get(at)),
    /** The hue of the one element that it comes from; null if there are several. */
    result(at) {
      const from = links[at].filter((source) => !isIndex.has(source));
      if (from.length === 1) return hues.get(from[0]);
      return from.length ? null : 'none';
    },
  };
}

/** The grids of a traced program, the sentence below, and the element that is chosen. */
class Picture {
  #traced;
  #devices;
  #sourceCells = [];
  #resultCells = [];
  #says = h('p', { class: 'small soft', role: 'status' });
  #slider;
  #chosen = -1;

  constructor(element, traced) {
    this.#traced = traced;
    const { sources, results, links, isOrdered } = traced;
    this.#devices = 1 + Math.max(...results.map(({ device }) => device));
    this.#slider = h('input', {
      type: 'range', min: 0, max: links.length - 1, value: 0, 'aria-label': 'Element of the results',
      oninput: () => this.choose(Number(this.#slider.value)),
    });
    const colours = coloursOf(traced);
    const left = sources.map((array) => this.#figure(array, 'source', colours.source, this.#sourceCells));
    const right = results.map((array) => this.#figure(array, 'result', colours.result, this.#resultCells));
    const body = h('div', { class: 'picture' },
      h('div', { class: 'side' }, left.length ? left : h('p', { class: 'soft' }, 'No arguments.')),
      h('div', { class: 'arrow', 'aria-hidden': 'true' }, '→'), h('div', { class: 'side' }, right));
    body.addEventListener('pointerover', (event) => this.#point(event.target.closest?.('.cell')));
    element.replaceChildren(
      h('p', { class: 'small soft' }, `Found by running the program once for each element, with that one disturbed${isOrdered ? ', but so little that the order stays' : ''}. Point at an element, or move the slider, to see what it depends on. Colours show where single elements went; dashed ones come from no argument.`),
      h('div', { class: 'controls' }, this.#slider, this.#says), body);
    const middle = links.findIndex((from, i) => i >= Math.floor(links.length / 2) && from.length);
    this.choose(Math.max(0, middle));
  }

  #figure(array, kind, colourOf, cells) {
    const drawn = grid(array, kind, colourOf);
    cells.push(...drawn.cells);
    return h('figure', {}, caption(array, this.#devices), h('div', { class: 'scroll' }, drawn.element));
  }

  #point(cell) {
    if (!cell) return;
    if (cell.closest('.result')) this.choose(Number(cell.dataset.element));
    else this.#chooseSource(Number(cell.dataset.element));
  }

  #nameOf(arrays, at) {
    const array = arrays.findLast(({ first }) => first <= at);
    const of = this.#devices > 1 ? ` of device ${array.device}` : '';
    return `${array.name}${layoutOf(array).index(at - array.first)}${of}`;
  }

  #light(isSource, isResult) {
    this.#sourceCells.forEach((cell, i) => cell.classList.toggle('lit', isSource(i)));
    this.#resultCells.forEach((cell, i) => cell.classList.toggle('lit', isResult(i)));
  }

  /** Marks an element of the results and those of the arguments that it comes from. */
  choose(at) {
    const { sources, results, links } = this.#traced;
    const from = new Set(links[at]);
    this.#chosen = at;
    this.#light((i) => from.has(i), (i) => i === at);
    const names = links[at].slice(0, 6).map((source) => this.#nameOf(sources, source)).join(', ');
    const more = links[at].length > 6 ? ` and ${links[at].length - 6} more` : '';
    this.#says.textContent = links[at].length
      ? `${this.#nameOf(results, at)} comes from ${names}${more}.`
      : `${this.#nameOf(results, at)} comes from no argument.`;
    this.#slider.value = at;
  }

  /** Marks the results that depend on an element of an argument. */
  #chooseSource(source) {
    const { sources, links } = this.#traced;
    const into = links.map((from) => from.includes(source));
    this.#light((i) => i === source, (i) => into[i]);
    this.#says.textContent = `${this.#nameOf(sources, source)} goes into ${plural(into.filter(Boolean).length, 'element')} of the results.`;
  }

  chosen() {
    return this.#chosen;
  }
}

/**
 * @param {HTMLElement} element that it fills
 * @param {object} traced the result of trace()
 */
export function drawPicture(element, traced) {
  if (traced.why === undefined) return new Picture(element, traced);
  element.replaceChildren(h('p', { class: 'soft' }, traced.why));
  return undefined;
}
