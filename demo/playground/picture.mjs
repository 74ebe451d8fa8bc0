/** Draws grids of elements, in which each result's element shows the elements it came from. */
import { h, svg } from '../shared/dom.mjs';
import { element as elementText, plural } from '../shared/format.mjs';
import { readElement } from '../shared/results.mjs';

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
  const group = svg('svg', { width: layout.width + 4, height: layout.height + 4, viewBox: `-2 -2 ${layout.width + 4} ${layout.height + 4}`, class: `grid ${kind}`, role: 'img', 'aria-label': `${array.name}: ${array.text}` });
  for (let i = 0; i < countOf(array); i++) {
    const { x, y } = layout.at(i);
    const value = elementText(readElement(array, i), 3);
    const hue = colourOf(array.first + i);
    const cell = svg('g', { class: `cell${hue === null ? ' plain' : ''}${hue === 'none' ? ' none' : ''}`, transform: `translate(${x} ${y})`, ...(typeof hue === 'number' && { style: `--hue: ${hue}` }) },
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

/**
 * @param {HTMLElement} element that it fills
 * @param {object} traced the result of trace()
 */
export function drawPicture(element, traced) {
  if (traced.why !== undefined) {
    element.replaceChildren(h('p', { class: 'soft' }, traced.why));
    return;
  }
  const { sources, results, links, isOrdered } = traced;
  const devices = 1 + Math.max(...results.map(({ device }) => device));
  const isIndex = new Set(sources.filter((array) => array.isIndex).flatMap((array) => Array.from({ length: countOf(array) }, (_, i) => array.first + i)));
  const data = sources.filter((array) => !array.isIndex);
  const total = data.reduce((sum, array) => sum + countOf(array), 0);
  const hues = new Map();
  for (const array of data) for (let i = 0; i < countOf(array); i++) hues.set(array.first + i, hueOf(hues.size, total));

  const single = (at) => {
    const from = links[at].filter((source) => !isIndex.has(source));
    if (from.length === 1) return hues.get(from[0]);
    return from.length ? null : 'none';
  };
  const sourceCells = [];
  const resultCells = [];
  const figure = (array, kind, colourOf, cells) => {
    const drawn = grid(array, kind, colourOf);
    cells.push(...drawn.cells);
    return h('figure', {}, caption(array, devices), h('div', { class: 'scroll' }, drawn.element));
  };
  const left = sources.map((array) => figure(array, 'source', (at) => (isIndex.has(at) ? null : hues.get(at)), sourceCells));
  const right = results.map((array) => figure(array, 'result', single, resultCells));

  const says = h('p', { class: 'small soft', role: 'status' });
  const nameOf = (arrays, at) => {
    const array = arrays.findLast(({ first }) => first <= at);
    const of = devices > 1 ? ` of device ${array.device}` : '';
    return `${array.name}${layoutOf(array).index(at - array.first)}${of}`;
  };
  let chosen = -1;
  const choose = (at) => {
    chosen = at;
    const from = new Set(links[at]);
    sourceCells.forEach((cell, i) => cell.classList.toggle('lit', from.has(i)));
    resultCells.forEach((cell, i) => cell.classList.toggle('lit', i === at));
    const names = links[at].slice(0, 6).map((source) => nameOf(sources, source)).join(', ');
    const more = links[at].length > 6 ? ` and ${links[at].length - 6} more` : '';
    says.textContent = links[at].length
      ? `${nameOf(results, at)} comes from ${names}${more}.`
      : `${nameOf(results, at)} comes from no argument.`;
    slider.value = at;
  };
  /** Marks the results that depend on an element of an argument. */
  const chooseSource = (source) => {
    const into = links.map((from) => from.includes(source));
    sourceCells.forEach((cell, i) => cell.classList.toggle('lit', i === source));
    resultCells.forEach((cell, i) => cell.classList.toggle('lit', into[i]));
    says.textContent = `${nameOf(sources, source)} goes into ${plural(into.filter(Boolean).length, 'element')} of the results.`;
  };
  const slider = h('input', { type: 'range', min: 0, max: links.length - 1, value: 0, 'aria-label': 'Element of the results', oninput: () => choose(Number(slider.value)) });
  const pointed = (event) => event.target.closest?.('.cell');
  const body = h('div', { class: 'picture' },
    h('div', { class: 'side' }, left.length ? left : h('p', { class: 'soft' }, 'No arguments.')),
    h('div', { class: 'arrow', 'aria-hidden': 'true' }, '→'), h('div', { class: 'side' }, right));
  body.addEventListener('pointerover', (event) => {
    const cell = pointed(event);
    if (!cell) return;
    if (cell.closest('.result')) choose(Number(cell.dataset.element));
    else chooseSource(Number(cell.dataset.element));
  });
  element.replaceChildren(
    h('p', { class: 'small soft' }, `Found by running the program once for each element, with that one disturbed${isOrdered ? ', but so little that the order stays' : ''}. Point at an element, or move the slider, to see what it depends on. Colours show where single elements went; dashed ones come from no argument.`),
    h('div', { class: 'controls' }, slider, says), body);
  const middle = links.findIndex((from, i) => i >= Math.floor(links.length / 2) && from.length);
  choose(Math.max(0, middle));
  return { choose, chosen: () => chosen };
}
