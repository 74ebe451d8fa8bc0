/** Draws a mosaic of test digits, and the network's first layer. */
import { onResize } from '../shared/dom.mjs';
import { heatMap, putImage } from '../shared/draw.mjs';
import { onChange, rgb } from '../shared/theme.mjs';

const SIDE = 28;

/** Pixels of all 256 shades from paper to ink. They are drawn several times a second: no sums there. */
function shadesOf(paper, ink) {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let shade = 0; shade < 256; shade++) bytes.set([...mix(paper, ink, shade / 255), 255], shade * 4);
  return new Uint32Array(bytes.buffer);
}

/** Copies an image of SIDE x SIDE grey values into the pixels of a larger one, at a cell of a grid. */
function place(pixels, columns, index, images, shades) {
  const left = (index % columns) * SIDE;
  const top = Math.floor(index / columns) * SIDE;
  let from = index * SIDE * SIDE;
  for (let y = 0; y < SIDE; y++) {
    const to = (top + y) * columns * SIDE + left;
    for (let x = 0; x < SIDE; x++) pixels[to + x] = shades[images[from++]];
  }
}

const mix = (from, to, share) => from.map((value, i) => value + (to[i] - value) * share);

/** Test digits in rows, those that are taken for others in the colour of problems. */
export class Mosaic {
  /** @param {{ images: Uint8Array, labels: Uint8Array }} digits @param {number} minPixels pixels of the page for each */
  constructor(canvas, { images, labels }, minPixels) {
    Object.assign(this, { canvas, images, labels, minPixels, answers: null });
    this.ends = [onChange(() => this.draw()), onResize(canvas.parentElement, () => this.draw())];
    canvas.addEventListener('pointermove', (event) => this.tell(event));
    this.draw();
  }

  show(answers) {
    this.answers = answers;
    this.draw();
  }

  /** As many in a row as there is room for, so that all rows are full. */
  get columns() {
    const { labels: { length }, minPixels } = this;
    let columns = Math.max(8, Math.min(40, Math.floor(this.canvas.clientWidth / minPixels)));
    while (length % columns) columns--;
    return columns;
  }

  draw() {
    const { canvas, images, labels, columns, answers } = this;
    const image = new ImageData(columns * SIDE, Math.ceil(labels.length / columns) * SIDE);
    const [paper, right, wrong, wrongPaper] =
      ['--paper', '--ink', '--problem', '--problem-soft'].map(rgb);
    const pixels = new Uint32Array(image.data.buffer);
    const [plain, marked] = [shadesOf(paper, right), shadesOf(wrongPaper, wrong)];
    labels.forEach((label, n) => {
      place(pixels, columns, n, images, answers && answers[n] !== label ? marked : plain);
    });
    putImage(canvas, image);
  }

  /** Any of the digits: 784 grey values. */
  any() {
    const n = Math.floor(Math.random() * this.labels.length);
    return this.images.subarray(n * SIDE * SIDE, (n + 1) * SIDE * SIDE);
  }

  /** The mistakes by label and answer: { label, answer, count }, the most frequent first. */
  mistakes() {
    const counts = new Map();
    this.labels.forEach((label, n) => {
      const answer = this.answers[n];
      const key = `${label} ${answer}`;
      if (answer !== label) counts.set(key, { label, answer, count: (counts.get(key)?.count ?? 0) + 1 });
    });
    return [...counts.values()].sort((a, b) => b.count - a.count);
  }

  tell(event) {
    const box = this.canvas.getBoundingClientRect();
    const cell = box.width / this.columns;
    const n = Math.floor((event.clientY - box.top) / cell) * this.columns + Math.floor((event.clientX - box.left) / cell);
    const label = this.labels[n];
    if (label === undefined || !this.answers) return;
    const answer = this.answers[n];
    this.canvas.title = answer === label ? `a ${label}` : `a ${label}, taken for a ${answer}`;
  }

  dispose() {
    this.ends.forEach((end) => end());
  }
}

/** Columns of the first layer, each as what its neuron looks for: blue against, red for. */
export function drawLayer(canvas, layer, hidden, count, columns) {
  const image = new ImageData(columns * (SIDE + 1) - 1, Math.ceil(count / columns) * (SIDE + 1) - 1);
  const values = new Float32Array(SIDE * SIDE);
  for (let neuron = 0; neuron < count; neuron++) {
    let max = 1e-6;
    for (let p = 0; p < values.length; p++) {
      values[p] = layer[p * hidden + neuron];
      max = Math.max(max, Math.abs(values[p]));
    }
    const map = heatMap(values, SIDE, SIDE, { ramp: 'diverging', range: [-max, max] });
    const left = (neuron % columns) * (SIDE + 1);
    const top = Math.floor(neuron / columns) * (SIDE + 1);
    for (let y = 0; y < SIDE; y++) {
      image.data.set(map.data.subarray(y * SIDE * 4, (y + 1) * SIDE * 4), ((top + y) * image.width + left) * 4);
    }
  }
  putImage(canvas, image);
}
