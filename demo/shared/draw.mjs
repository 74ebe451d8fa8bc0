/** Arrays as pictures. */
import { onResize } from './dom.mjs';
import { onChange } from './theme.mjs';

/**
 * A canvas that is drawn anew when its size or the theme changes: `draw(context, width, height)` in
 * CSS pixels.
 * @returns {{ redraw: () => void, dispose: () => void }}
 */
export function keepDrawn(canvas, draw) {
  const redraw = () => {
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !height) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    draw(context, width, height);
  };
  const ends = [onResize(canvas, redraw), onChange(redraw)];
  return { redraw, dispose: () => ends.forEach((end) => end()) };
}

/* Colours of each ramp, from low to high, at evenly spaced points. Between two points the ramp is linear. */
export const RAMPS = {
  viridis: ['#440154', '#482878', '#3e4a89', '#31688e', '#26828e', '#1f9e89', '#35b779', '#6ece58', '#b5de2b', '#fde725'],
  diverging: ['#2166ac', '#4393c3', '#92c5de', '#d1e5f0', '#f7f7f7', '#fddbc7', '#f4a582', '#d6604d', '#b2182b'],
  grey: ['#000000', '#ffffff'],
};

const tables = new Map();

/** 256 colours as bytes r g b. */
export function rampTable(name) {
  if (tables.has(name)) return tables.get(name);
  const points = RAMPS[name].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (points.length - 1);
    const low = Math.min(Math.floor(at), points.length - 2);
    for (let c = 0; c < 3; c++) {
      table[i * 3 + c] = points[low][c] + (points[low + 1][c] - points[low][c]) * (at - low);
    }
  }
  tables.set(name, table);
  return table;
}

/** Returns the min and the max of the finite values; [0, 1] if there are none. */
export function rangeOf(values) {
  let min = Infinity;
  let max = -Infinity;
  for (const value of values) {
    if (value < min && value !== -Infinity) min = value;
    if (value > max && value !== Infinity) max = value;
  }
  return min <= max ? [Number(min), Number(max)] : [0, 1];
}

/**
 * Draws values of a rectangle, row-major, as coloured pixels. NaN is transparent.
 * @param {ArrayLike<number>} values
 * @param {{ ramp?: string, range?: [number, number] }} [options]
 * @returns {ImageData}
 */
export function heatMap(values, width, height, { ramp = 'viridis', range = rangeOf(values) } = {}) {
  const image = new ImageData(width, height);
  const table = rampTable(ramp);
  const [min, max] = range;
  const factor = max > min ? 255 / (max - min) : 0;
  for (let i = 0; i < width * height; i++) {
    const value = Number(values[i]);
    if (Number.isNaN(value)) continue;
    const at = factor ? Math.min(255, Math.max(0, Math.round((value - min) * factor))) : 128;
    image.data.set(table.subarray(at * 3, at * 3 + 3), i * 4);
    image.data[i * 4 + 3] = 255;
  }
  return image;
}

/** Puts an image on a canvas and gives the canvas the image's size. CSS may then enlarge it. */
export function putImage(canvas, image) {
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext('2d').putImageData(image, 0, 0);
}
