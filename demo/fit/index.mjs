/** Fit: a small network follows points that the visitor drags. worker.mjs trains it while the page is open. */
import { codeElement } from '../shared/code_colours.mjs';
import { figure, h, select } from '../shared/dom.mjs';
import { keepDrawn } from '../shared/draw.mjs';
import { FIGURES_MS, whole } from '../shared/format.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { colour } from '../shared/theme.mjs';
import SOURCE from './program.mjs?raw';
import { CURVE, POINTS } from './program.mjs';
import './fit.css';

const RADIUS = 8; /* of a point, in pixels */
const STEP = 0.05; /* of a key */
const WIDTHS = [[4, '4 neurons'], [16, '16 neurons'], [48, '48 neurons']];
const RATES = [0.005, 0.02, 0.05];
const FIRST = Array.from({ length: 9 }, (_, i) => [-0.9 + 0.225 * i, 0.6 * Math.sin(4 * (-0.9 + 0.225 * i))]);

const clamp = (value) => Math.max(-1, Math.min(1, value));

/** The valid parts of the address's state. */
function readState(state) {
  const points = Array.isArray(state?.points) && state.points.length <= POINTS && state.points.every((point) =>
    Array.isArray(point) && point.length === 2 && point.every(Number.isFinite)) ? state.points.map((point) => point.map(clamp)) : FIRST;
  return {
    points: points.map((point) => [...point]),
    width: WIDTHS.some(([width]) => width === state?.width) ? state.width : 16,
    rate: RATES.includes(state?.rate) ? state.rate : 0.02,
  };
}

class Fit {
  constructor(element, { state, setState }) {
    this.setState = setState;
    this.state = readState(state);
    this.curve = null;
    this.chosen = -1;
    this.said = -Infinity; /* when the figures were written */
    this.worker = connect(startWorker('fit'));
    this.worker.on('fit', (told) => this.show(told));
    this.worker.on('problem', (message) => this.problem(new Error(message)));
    this.running = true;
    this.layout(element);
    this.open();
  }

  layout(element) {
    this.canvas = h('canvas', { id: 'fit', tabIndex: 0, role: 'application', 'aria-label': 'Points and the curve. Tab to it; left and right choose a point, up and down move it, Delete removes it.' });
    this.status = h('p', { class: 'heard', role: 'status' });
    this.play = h('button', { type: 'button', id: 'fit-play', class: 'primary', onclick: () => this.toggle() }, 'Pause');
    element.append(
      h('div', { class: 'lead' }, h('h1', {}, 'A curve that follows your points'),
        h('p', {}, 'Drag a point; click to add one, double-click to remove it. A network of two hidden layers is trained all the while: its gradient is made by the builder, and 25 steps of Adam are one program.')),
      h('div', { class: 'controls' }, this.play,
        h('button', { type: 'button', onclick: () => this.open() }, 'Start anew'),
        h('button', { type: 'button', onclick: () => this.setPoints(FIRST.map(([x]) => [x, clamp(1.6 * Math.random() - 0.8)])) }, 'Other points'),
        select('Hidden', WIDTHS, this.state.width, (width) => this.change({ width: Number(width) })),
        select('Rate', RATES, this.state.rate, (rate) => this.change({ rate: Number(rate) }))),
      h('div', { class: 'halves' }, h('div', {}, this.canvas, this.status,
        h('dl', { class: 'figures' }, figure('Loss', '–', 'fit-loss'), figure('Step', '–', 'fit-step'), figure('Steps/s', '–', 'fit-rate'))),
      h('details', { class: 'panel source', open: true }, h('summary', {}, 'The program'), codeElement(SOURCE.trim(), 'js', 'The program that is run'))));
    this.kept = keepDrawn(this.canvas, (context, width, height) => this.draw(context, width, height));
    this.canvas.addEventListener('pointerdown', (event) => this.begin(event));
    this.canvas.addEventListener('pointermove', (event) => this.drag(event));
    for (const name of ['pointerup', 'pointercancel']) this.canvas.addEventListener(name, () => this.end());
    this.canvas.addEventListener('dblclick', (event) => this.remove(this.nearest(event)));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
  }

  open() {
    this.worker.call('points', this.state.points).catch((error) => this.problem(error));
    this.worker.call('open', { width: this.state.width, rate: this.state.rate })
      .then(() => this.running && this.worker.call('run')).catch((error) => this.problem(error));
  }

  change(part) {
    Object.assign(this.state, part);
    this.setState(this.state);
    this.open();
  }

  toggle() {
    this.running = !this.running;
    this.play.textContent = this.running ? 'Pause' : 'Go on';
    this.worker.call(this.running ? 'run' : 'pause').catch((error) => this.problem(error));
  }

  setPoints(points) {
    this.state.points = points;
    this.setState(this.state);
    this.worker.call('points', points).catch((error) => this.problem(error));
    this.kept.redraw();
  }

  problem(error) {
    if (error.code !== 'CANCELLED') this.status.textContent = error.message;
  }

  show({ curve, loss, step, rate }) {
    this.curve = curve;
    this.kept.redraw();
    if (performance.now() - this.said < FIGURES_MS) return;
    this.said = performance.now();
    document.getElementById('fit-loss').textContent = loss.toExponential(1);
    document.getElementById('fit-step').textContent = whole(step);
    document.getElementById('fit-rate').textContent = whole(Math.round(rate));
  }

  /* ---- Drawing ---- */

  draw(context, width, height) {
    const at = ([x, y]) => [((x + 1) / 2) * width, ((1 - y) / 2) * height];
    context.strokeStyle = colour('--grid');
    context.lineWidth = 1;
    context.beginPath();
    for (let i = 1; i < 8; i++) {
      context.moveTo((width * i) / 8, 0);
      context.lineTo((width * i) / 8, height);
      context.moveTo(0, (height * i) / 8);
      context.lineTo(width, (height * i) / 8);
    }
    context.stroke();
    if (this.curve) {
      context.strokeStyle = colour('--accent');
      context.lineWidth = 2.5;
      context.lineJoin = 'round';
      context.beginPath();
      this.curve.forEach((y, i) => context.lineTo(...at([-1 + (2 * i) / (CURVE - 1), y])));
      context.stroke();
    }
    this.state.points.forEach((point, i) => {
      context.fillStyle = colour(i === this.chosen ? '--ink' : '--meet');
      context.beginPath();
      context.arc(...at(point), i === this.chosen ? RADIUS + 2 : RADIUS, 0, 2 * Math.PI);
      context.fill();
    });
  }

  /* ---- Pointer and keys ---- */

  position({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect();
    return [clamp(((clientX - box.left) / box.width) * 2 - 1), clamp(1 - ((clientY - box.top) / box.height) * 2)];
  }

  /** The point under the pointer, or -1. */
  nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = this.position(event);
    const distances = this.state.points.map((point) => Math.hypot((point[0] - x) * box.width, (point[1] - y) * box.height) / 2);
    const best = distances.indexOf(Math.min(...distances));
    return distances[best] < 3 * RADIUS ? best : -1;
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.chosen = this.nearest(event);
    if (this.chosen < 0 && this.state.points.length < POINTS) {
      this.chosen = this.state.points.length;
      this.setPoints([...this.state.points, this.position(event)]);
    }
    this.dragged = this.chosen;
    this.kept.redraw();
  }

  drag(event) {
    if (!(this.dragged >= 0)) return;
    this.setPoints(this.state.points.map((point, i) => (i === this.dragged ? this.position(event) : point)));
  }

  end() {
    this.dragged = -1;
  }

  remove(i) {
    if (i < 0 || this.state.points.length < 2) return;
    this.chosen = -1;
    this.setPoints(this.state.points.filter((_, k) => k !== i));
  }

  key(event) {
    const { points } = this.state;
    const order = points.map((_, i) => i).sort((a, b) => points[a][0] - points[b][0]);
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const move = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (side) {
      const at = order.indexOf(this.chosen);
      this.chosen = order.at((at < 0 && side < 0 ? 0 : at) + side) ?? order[0];
    } else if (move && this.chosen >= 0) {
      this.setPoints(points.map(([x, y], i) => (i === this.chosen ? [x, clamp(y + move)] : [x, y])));
    } else if (event.key === 'Delete' && this.chosen >= 0) {
      this.remove(this.chosen);
    } else {
      return;
    }
    event.preventDefault();
    this.kept.redraw();
    const point = this.state.points[this.chosen];
    this.status.textContent = point ? `Point at ${point.map((value) => value.toFixed(2)).join(', ')}` : 'No point is chosen.';
  }

  dispose() {
    this.worker.terminate();
    this.kept.dispose();
  }
}

export const mount = (element, context) => new Fit(element, context);
