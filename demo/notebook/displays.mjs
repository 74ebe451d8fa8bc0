/** Displays below a cell: text that it printed, values, plots, pictures, links to a program. */
import { h } from '../shared/dom.mjs';
import { rampTable, rangeOf } from '../shared/draw.mjs';
import { createPlot } from '../shared/plot.mjs';

const COLOURS = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5'];
const MOST_TEXT = 200_000; /* characters that a cell shows of what it prints */
const BY_ITSELF = 'Tensor-parallel pair of dots'; /* of Meshes' programs, one whose text says for how many devices it is */
const PICTURE = 480; /* CSS pixels that the longer side of a picture takes at least */

function plot(element, { x, lines, labels: [xLabel, yLabel], log }) {
  const holder = h('div', { class: 'plot' });
  element.append(holder);
  return createPlot(holder, {
    height: 260,
    legend: lines.length > 1,
    data: [x, ...lines.map(([, values]) => values.map((value) => (Number.isFinite(value) && !(log && value <= 0) ? value : null)))],
    scales: { y: log ? { distr: 3 } : {} },
    axes: [{ label: xLabel || undefined }, { label: yLabel || undefined }],
    series: [{ label: xLabel || 'x' }, ...lines.map(([label], i) => ({
      label, stroke: COLOURS[i % COLOURS.length], width: 2, points: { show: false },
    }))],
  });
}

/** Values as colours of a ramp, which begins at the least and ends at the greatest. */
function coloursOf(values) {
  const [min, max] = rangeOf(values);
  const table = rampTable('viridis');
  const pixels = new Uint8ClampedArray(values.length * 4);
  values.forEach((value, i) => {
    const at = 3 * Math.round(255 * Math.min(Math.max((value - min) / (max - min || 1), 0), 1) || 0);
    pixels.set([table[at], table[at + 1], table[at + 2], 255], 4 * i);
  });
  return pixels;
}

function image(element, { height, width, ramp, bytes }) {
  if (!height || !width) return;
  const { buffer } = bytes.slice(); /* from an address that floats may have */
  const pixels = ramp ? coloursOf(new Float32Array(buffer)) : new Uint8ClampedArray(buffer);
  const scale = Math.max(1, Math.floor(PICTURE / Math.max(height, width)));
  const canvas = h('canvas', { class: 'pixels', width, height, role: 'img', 'aria-label': `A picture of ${height} by ${width} numbers` });
  canvas.style.width = `${width * scale}px`;
  canvas.getContext('2d').putImageData(new ImageData(pixels, width, height), 0, 0);
  element.append(canvas);
}

/** A picture that a value makes of itself, by _repr_svg_ or _repr_png_. */
function picture(element, type, data) {
  const content = typeof data === 'string' ? encodeURIComponent(data) : btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(''));
  const encoding = typeof data === 'string' ? '' : ';base64';
  element.append(h('img', { class: 'picture', alt: 'The value as a picture', src: `data:${type}${encoding},${content}` }));
}

async function program(element, { name, stablehlo, hlo }, link) {
  const devices = /num_partitions=(\d+)/.exec(hlo)?.[1] ?? /replica_count=(\d+)/.exec(hlo)?.[1];
  const anchors = [
    h('a', { class: 'button', href: await link({ text: stablehlo, language: 'stablehlo' }, 'playground') }, `${name} in the playground`),
    devices > 1 ? h('a', {
      class: 'button', href: await link({ name: BY_ITSELF, text: hlo }, 'meshes'),
    }, `${name} in Meshes, on ${devices} devices`) : null,
  ];
  element.append(h('p', { class: 'controls' }, anchors), h('details', {}, h('summary', {}, 'StableHLO'), h('pre', { tabIndex: 0 }, stablehlo)));
}

/**
 * The output of a cell.
 * @param {HTMLElement} element that it fills
 * @param {{ link: Function }} context a view's
 */
export function createDisplays(element, { link }) {
  let printed = null; /* the text that is being printed */
  let length = 0;
  let ends = [];

  function clear() {
    ends.forEach((end) => end.dispose());
    [printed, length, ends] = [null, 0, []];
    element.replaceChildren();
  }
  const kinds = {
    text: (text) => element.append(h('pre', { class: 'value', tabIndex: 0 }, text)),
    svg: (data) => picture(element, 'image/svg+xml', data),
    png: (data) => picture(element, 'image/png', data),
    plot: (data) => ends.push(plot(element, data)),
    image: (data) => image(element, data),
    program: (data) => program(element, data, link),
  };
  return {
    clear,
    print(text, stream) {
      if (length > MOST_TEXT) return;
      length += text.length;
      if (!printed || printed.dataset.stream !== stream) {
        printed = h('pre', { class: 'printed', tabIndex: 0, dataset: { stream } });
        element.append(printed);
      }
      printed.append(length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - length)}\n… and more, which is not shown` : text);
    },
    show(type, data) {
      printed = null;
      kinds[type]?.(data);
    },
    fail({ message, trace, code }) {
      printed = null;
      const isStopped = code === 'CANCELLED';
      element.append(h('p', { class: isStopped ? 'soft' : 'problem message' }, message));
      if (trace && !isStopped) element.append(h('details', {}, h('summary', {}, 'Where it came from'), h('pre', { tabIndex: 0 }, trace)));
    },
    dispose: clear,
  };
}
