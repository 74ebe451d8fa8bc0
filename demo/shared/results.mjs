/** Shows arrays by their shape: as numbers, a table, a heat map, a plot or an image. */
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { h, select } from './dom.mjs';
import { heatMap, putImage, rangeOf, RAMPS } from './draw.mjs';
import { element as elementText, plural } from './format.mjs';
import { createPlot } from './plot.mjs';
import './results.css';

const MAX_NUMBERS = 2000;
const MAX_CELLS = 4000;
const MAX_PIXELS = 4_000_000;

/** Element i as a JavaScript value. */
export function readElement({ type, data }, i) {
  const kind = ELEMENT_TYPES.get(type);
  if (kind.lanes === 2) return [data[2 * i], data[2 * i + 1]];
  return kind.kind === 'pred' ? Boolean(data[i]) : kind.read(data, i);
}

const countOf = ({ dimensions }) => dimensions.reduce((product, size) => product * size, 1);
const isComplex = ({ type }) => ELEMENT_TYPES.get(type).kind === 'complex';

/** All elements as numbers, for pictures: predicates 0 and 1, of complex numbers the modulus. */
export function numbersOf(array, from = 0, count = countOf(array) - from) {
  return Float64Array.from({ length: count }, (_, i) => {
    const value = readElement(array, from + i);
    return Array.isArray(value) ? Math.hypot(...value) : Number(value);
  });
}

/* ---- Each kind of view: (array, slice) -> an element, with dispose() where it must end ---- */

/** Nested brackets, as NumPy prints them. */
export function numbersText(array) {
  const { dimensions } = array;
  const total = countOf(array);
  let index = 0;
  const write = (depth) => {
    if (depth === dimensions.length) return elementText(readElement(array, index++));
    const items = [];
    for (let i = 0; i < dimensions[depth]; i++) {
      if (index >= MAX_NUMBERS) {
        items.push('…');
        break;
      }
      items.push(write(depth + 1));
    }
    const isLast = depth === dimensions.length - 1;
    return `[${items.join(isLast ? ', ' : `,\n${' '.repeat(depth + 1)}`)}]`;
  };
  const text = write(0);
  return total > MAX_NUMBERS ? `${text}\n… ${plural(total, 'element')} in all` : text;
}

const views = {
  numbers: (array) => ({ element: h('pre', { class: 'numbers' }, numbersText(array)) }),

  table(array, { rows, columns, from }) {
    const shownRows = Math.min(rows, Math.max(1, Math.floor(MAX_CELLS / columns)), 500);
    const shownColumns = Math.min(columns, 200);
    const head = h('tr', {}, h('th', {}), Array.from({ length: shownColumns }, (_, j) => h('th', { class: 'number' }, String(j))));
    const body = Array.from({ length: shownRows }, (_, i) => h('tr', {}, h('th', { class: 'number' }, String(i)),
      Array.from({ length: shownColumns }, (__, j) =>
        h('td', { class: 'number' }, elementText(readElement(array, from + i * columns + j))))));
    const rest = shownRows < rows || shownColumns < columns;
    return {
      element: h('div', { class: 'scroll' }, h('table', { class: 'mono' }, head, body),
        rest ? h('p', { class: 'small soft' }, `The first ${shownRows} rows and ${shownColumns} columns.`) : null),
    };
  },

  'heat map'(array, { rows, columns, from }) {
    const values = numbersOf(array, from, rows * columns);
    const range = rangeOf(values);
    const diverging = range[0] < 0 && range[1] > 0;
    const max = Math.max(-range[0], range[1]);
    const options = diverging ? { ramp: 'diverging', range: [-max, max] } : { ramp: 'viridis', range };
    const canvas = h('canvas', { class: 'pixels heat', role: 'img', 'aria-label': `${rows} by ${columns} values as colours` });
    putImage(canvas, heatMap(values, columns, rows, options));
    canvas.style.width = `${Math.min(560, Math.max(columns * Math.min(24, 560 / columns), 40))}px`;
    const where = h('span', { class: 'soft small' }, '\u00a0');
    canvas.addEventListener('pointermove', (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns));
      const row = Math.min(rows - 1, Math.floor(((event.clientY - box.top) / box.height) * rows));
      where.textContent = `[${row}, ${column}] = ${elementText(readElement(array, from + row * columns + column))}`;
    });
    const [low, high] = options.range;
    const scale = h('div', { class: 'ramp small soft' }, h('span', {}, elementText(low, 3)),
      h('i', { style: `background: linear-gradient(90deg, ${RAMPS[options.ramp].join(',')})` }), h('span', {}, elementText(high, 3)));
    return { element: h('div', {}, canvas, scale, where) };
  },

  plot(array, { rows, columns, from }) {
    const lines = Math.min(rows, 8);
    const x = Float64Array.from({ length: columns }, (_, i) => i);
    const data = isComplex(array)
      ? [0, 1].map((part) => Float64Array.from(x, (i) => array.data[2 * (from + i) + part]))
      : Array.from({ length: lines }, (_, row) => numbersOf(array, from + row * columns, columns));
    const labels = isComplex(array) ? ['real', 'imaginary'] : data.map((_, i) => `[${i}]`);
    const element = h('div', { class: 'plot' });
    /* The plot needs a width, which the element has only in the page. */
    let plot = null;
    requestAnimationFrame(() => {
      if (!element.isConnected) return;
      plot = createPlot(element, {
        height: 220, legend: data.length > 1,
        series: [{}, ...data.map((_, i) => ({
          label: labels[i], stroke: `--series-${(i % 8) + 1}`, width: 1.5, points: { show: columns <= 64, size: 5 },
        }))],
        data: [x, ...data],
      });
    });
    return { element, dispose: () => plot?.dispose() };
  },

  image(array, { rows, columns, from, channels }) {
    const values = numbersOf(array, from, rows * columns * channels);
    const [min, max] = array.type === 'u8' ? [0, 255] : rangeOf(values);
    const factor = max > min ? 255 / (max - min) : 0;
    const image = new ImageData(columns, rows);
    for (let p = 0; p < rows * columns; p++) {
      for (let c = 0; c < 3; c++) image.data[p * 4 + c] = (values[p * channels + Math.min(c, channels - 1)] - min) * factor;
      image.data[p * 4 + 3] = 255;
    }
    const canvas = h('canvas', { class: 'pixels heat', role: 'img', 'aria-label': `an image of ${columns} by ${rows}` });
    putImage(canvas, image);
    canvas.style.width = `${Math.min(560, columns * Math.max(1, Math.min(16, Math.floor(400 / columns))))}px`;
    return { element: canvas };
  },
};

/** Rows, columns and channels of the last dimensions; and how many such slices there are. */
function planes({ dimensions }, asImage) {
  const sizes = [...dimensions];
  const channels = asImage && sizes.length > 2 && [1, 3].includes(sizes.at(-1)) ? sizes.pop() : 1;
  const columns = sizes.pop() ?? 1;
  const rows = sizes.pop() ?? 1;
  return { rows, columns, channels, slices: sizes.reduce((product, size) => product * size, 1) };
}

/** The views that suit an array, the best first. */
function suitable(array) {
  const { dimensions } = array;
  const count = countOf(array);
  const rank = dimensions.length;
  if (count === 0) return ['numbers'];
  if (rank === 0) return ['numbers'];
  if (rank === 1) return count > 12 ? ['plot', 'numbers', 'table', 'heat map'] : ['numbers', 'plot', 'table', 'heat map'];
  const isImage = rank > 2 && [1, 3].includes(dimensions.at(-1)) && dimensions.at(-2) > 8;
  const all = count > MAX_PIXELS ? ['numbers', 'table'] : ['heat map', 'table', 'numbers', 'plot', 'image'];
  const { columns, rows } = planes(array, false);
  if (isImage) return ['image', ...all.filter((view) => view !== 'image')];
  return columns * rows <= 60 && columns <= 12 ? ['table', ...all.filter((view) => view !== 'table')] : all;
}

/** One array with its shape and a choice of views. */
function showArray(array, name, remembered) {
  if (array.type === 'text') {
    const text = h('pre', { class: 'numbers' }, array.text);
    return { element: h('section', { class: 'result' }, h('header', {}, h('strong', {}, name)), text) };
  }
  if (!ELEMENT_TYPES.has(array.type)) return { element: h('p', { class: 'soft' }, `${name}: ${array.text}`) };
  const choices = suitable(array);
  const chosen = choices.includes(remembered.view) ? remembered.view : choices[0];
  const body = h('div', { class: 'array' });
  let shown = null;
  let slice = 0;
  const slicer = h('span', {});
  const show = (view) => {
    shown?.dispose?.();
    const plane = planes(array, view === 'image');
    slice = Math.min(slice, plane.slices - 1);
    const from = slice * plane.rows * plane.columns * plane.channels;
    shown = views[view](array, { ...plane, from });
    body.replaceChildren(shown.element);
    const hasSlices = plane.slices > 1 && view !== 'numbers';
    slicer.replaceChildren(...(hasSlices ? [h('label', { class: 'field' }, h('span', {}, `slice ${slice + 1} of ${plane.slices}`),
      h('input', { type: 'range', min: 0, max: plane.slices - 1, value: slice, oninput: (event) => {
        slice = Number(event.target.value);
        show(view);
        slicer.querySelector('input')?.focus();
      } }))] : []));
  };
  const choice = choices.length > 1 ? select('as', choices, chosen, (view) => {
    remembered.view = view;
    show(view);
  }) : null;
  show(chosen);
  return {
    element: h('section', { class: 'result' },
      h('header', {}, name ? h('strong', {}, name) : null, h('code', {}, array.text), choice, slicer), body),
    dispose: () => shown?.dispose?.(),
  };
}

/**
 * The results of a run, in an element: device by device, leaf by leaf.
 * @returns {{ show: (run: object, program: object) => void, dispose: () => void }}
 */
export function createResults(element) {
  element.classList.add('results');
  let shown = [];
  let device = 0;
  const remembered = new Map(); /* the view that was chosen, by leaf and shape */
  const clear = () => {
    shown.forEach((one) => one.dispose?.());
    shown = [];
  };
  const show = (run, program) => {
    clear();
    const devices = run.outputs.length;
    device = Math.min(device, devices - 1);
    const parts = [];
    if (devices > 1) {
      const names = run.outputs.map((_, i) => [i, program.partitions > 1
        ? `replica ${Math.floor(i / program.partitions)}, partition ${i % program.partitions}` : `replica ${i}`]);
      parts.push(select('Device', names, device, (value) => {
        device = Number(value);
        show(run, program);
      }));
    }
    const leaf = (array, name, key) => {
      const choice = `${key} ${array.text}`;
      if (!remembered.has(choice)) remembered.set(choice, {});
      const one = showArray(array, name, remembered.get(choice));
      shown.push(one);
      return one.element;
    };
    const many = run.outputs[device].length > 1;
    parts.push(...run.outputs[device].map((array, i) => leaf(array, many ? `result ${i}` : '', `r${i}`)));
    if (!run.outputs[device].length && !run.outfeeds.length) parts.push(h('p', { class: 'soft' }, 'An empty tuple.'));
    for (const [i, { device: of, name, leaves }] of run.outfeeds.entries()) {
      parts.push(...leaves.map((array) => leaf(array, name ?? `outfeed of replica ${of.replica}`, `o${i}`)));
    }
    const given = devices > 1 ? 'Arguments of the first device' : 'Arguments';
    if (run.inputs.length) parts.push(h('details', { class: 'arguments' }, h('summary', {}, given),
      run.inputs.flatMap((leaves, i) => leaves.map((array) => leaf(array, program.parameters[i].name, `p${i}`)))));
    element.replaceChildren(...parts);
  };
  return { show, dispose: clear };
}
