/** The stage of programs that make pictures: a canvas, its pointer, sliders, and the loop of frames. */
import { h, select } from '../shared/dom.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { Source } from './source.mjs';

const KEY_STEP = 0.03; /* of the canvas, that an arrow key moves the pointer */
const RATE_FRAMES = 20; /* over which the frame rate is measured */
const CLICK = 0.02; /* of the canvas: a press that moves less is a click */
const ZOOM = { in: 0.5, out: 2, wheel: 0.002, min: 1e-12, max: 4 }; /* factors of the view's scale; wheel: exponent of a pixel */
const PAN = 0.1; /* of the view, that an arrow key moves it */
const FIRST_SEED = 3, SEEDS = 1e6;

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** A worker of an exhibit; `urls` as of worker.mjs. */
export function openWorker({ urls, states = 0, size = null }) {
  const worker = connect(startWorker('gallery'));
  return { worker, opened: worker.call('open', { urls, states, size }) };
}

/** A slider with its value beside it. */
export function slider([, label, min, max, step, value], onchange) {
  const output = h('output', { class: 'small' }, String(value));
  const input = h('input', { type: 'range', min, max, step, value, oninput: () => {
    output.textContent = input.value;
    onchange(Number(input.value));
  } });
  return h('label', { class: 'field' }, h('span', {}, label), input, output);
}

class Stage {
  /** @param {object} exhibit @param {Record<string, string>} urls @param {(facts: object) => void} tell */
  constructor(element, exhibit, urls, tell) {
    this.exhibit = exhibit;
    this.tell = tell;
    this.values = {};
    this.view = { ...exhibit.zoom };
    this.pointer = { x: 0.5, y: 0.5, press: 0, dx: 0, dy: 0 };
    this.playing = !matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.dirty = true;
    this.times = [];
    this.seed = FIRST_SEED;
    [this.width, this.height] = exhibit.size;
    this.canvas = h('canvas', { class: 'stage-canvas', width: this.width, height: this.height, tabIndex: 0,
      role: 'application',
      'aria-label': `${exhibit.title}: ${exhibit.zoom ? 'arrows move, plus and minus go in and out' : 'arrows move the pointer, the space bar presses'}`, id: 'stage' });
    this.canvas.style.setProperty('--ratio', this.width / this.height);
    this.context = this.canvas.getContext('2d');
    this.problem = h('p', { class: 'note problem', hidden: true });
    element.append(this.problem, this.canvas, this.controls());
    this.listen();
    const { worker, opened } = openWorker({ urls, states: exhibit.states, size: exhibit.size });
    this.worker = worker;
    this.loop(opened).catch((error) => this.fail(error));
  }

  controls() {
    const { sliders = [], choices = [], kind, zoom, source } = this.exhibit;
    const set = (id, value) => {
      this.values[id] = value;
      if (this.exhibit.restart?.includes(id)) this.restart = true;
      this.change();
    };
    const all = [...choices, ...sliders];
    all.forEach((control) => { this.values[control[0]] = control.at(-1); });
    const play = h('button', { type: 'button', id: 'play', onclick: () => {
      this.playing = !this.playing;
      label();
      this.times = [];
      this.change();
    } });
    const label = () => { play.textContent = this.playing ? 'Pause' : 'Go on'; };
    label();
    const buttons = kind === 'field' ? [play, h('button', { type: 'button', id: 'again', onclick: () => {
      this.seed = 1 + Math.floor(Math.random() * SEEDS);
      this.restart = true;
      this.change();
    } }, 'Begin again')] : [];
    if (zoom) {
      const button = (text, label, act) => h('button', { type: 'button', 'aria-label': label, onclick: act }, text);
      buttons.push(button('+', 'In', () => this.zoomAt(0.5, 0.5, ZOOM.in)), button('−', 'Out', () => this.zoomAt(0.5, 0.5, ZOOM.out)),
        button('All', 'All of it', () => { this.view = { ...zoom }; this.change(); }));
    }
    if (source) {
      this.source = new Source(this.width, this.height, () => this.change());
      buttons.push(this.source.element);
    }
    return h('div', { class: 'controls' }, buttons,
      choices.map(([id, label, texts, value]) => select(label, texts.map((text, i) => [i, text]), value, (v) => set(id, Number(v)))),
      sliders.map((row) => slider(row, (value) => set(row[0], value))));
  }

  /** Requests a new frame, after a change of an input. */
  change() {
    this.dirty = true;
    this.wake?.();
  }

  /* ---- Pointer ---- */

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  listen() {
    const { canvas, pointer } = this;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      [pointer.x, pointer.y] = this.place(event);
      pointer.press = 1;
      this.moved = 0;
      this.change();
    });
    canvas.addEventListener('pointermove', (event) => {
      const [x, y] = this.place(event);
      if (pointer.press) this.drag(x - pointer.x, y - pointer.y);
      Object.assign(pointer, { x, y });
    });
    canvas.addEventListener('pointerup', (event) => {
      if (this.exhibit.zoom && pointer.press && this.moved < CLICK) {
        this.zoomAt(pointer.x, pointer.y, event.shiftKey ? ZOOM.out : ZOOM.in);
      }
      pointer.press = 0;
    });
    canvas.addEventListener('pointercancel', () => { pointer.press = 0; });
    if (!this.exhibit.zoom) {
      this.listenToKeys();
      return;
    }
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoomAt(...this.place(event), Math.exp(event.deltaY * ZOOM.wheel));
    }, { passive: false });
    canvas.addEventListener('keydown', ({ key }) => {
      const arrow = ARROWS[key], factor = { '+': ZOOM.in, '-': ZOOM.out }[key];
      if (arrow) this.drag(-PAN * arrow[0], -PAN * arrow[1]);
      if (factor) this.zoomAt(0.5, 0.5, factor);
    });
  }

  /** By keyboard, arrows are the pointer, and it is pressed while the space bar is. */
  listenToKeys() {
    const { canvas, pointer } = this;
    canvas.addEventListener('keydown', (event) => {
      const arrow = ARROWS[event.key]?.map((step) => step * KEY_STEP);
      if (!arrow && event.key !== ' ') return;
      event.preventDefault(); /* the page stays where it is */
      if (arrow) {
        const [x, y] = [pointer.x + arrow[0], pointer.y + arrow[1]].map((at) => Math.min(1, Math.max(0, at)));
        if (pointer.press) this.drag(x - pointer.x, y - pointer.y);
        Object.assign(pointer, { x, y });
      } else {
        pointer.press = 1;
      }
      this.change();
    });
    canvas.addEventListener('keyup', ({ key }) => { if (key === ' ') pointer.press = 0; });
    canvas.addEventListener('blur', () => { pointer.press = 0; });
  }

  drag(dx, dy) {
    this.moved += Math.hypot(dx, dy);
    this.pointer.dx += dx;
    this.pointer.dy += dy;
    if (!this.exhibit.zoom) return;
    this.view.x -= dx * this.view.scale;
    this.view.y -= dy * this.view.scale * (this.height / this.width);
    this.change();
  }

  /** The point at (x, y) stays where it is. */
  zoomAt(x, y, factor) {
    const { view } = this;
    view.x += (x - 0.5) * view.scale * (1 - factor);
    view.y += (y - 0.5) * view.scale * (1 - factor) * (this.height / this.width);
    view.scale = Math.min(ZOOM.max, Math.max(ZOOM.min, view.scale * factor));
    this.change();
  }

  /* ---- Frames ---- */

  ask() {
    this.dirty = false;
    const third = this.source ? this.source.pixels() : this.view;
    const inputs = this.exhibit.inputs(this.values, this.pointer, third);
    this.pointer.dx = this.pointer.dy = 0;
    return this.worker.call('frame', inputs);
  }

  /** Computes the next frame while one is drawn and shown, so each frame uses the pointer of the frame before. */
  async loop(opened) {
    this.tell(await opened);
    await this.worker.call('reset', this.seed);
    const live = () => this.playing && (this.exhibit.kind === 'field' || this.source?.isLive);
    let asked = null;
    while (!this.gone) {
      if (this.restart) {
        this.restart = false;
        await asked;
        asked = null;
        await this.worker.call('reset', this.seed);
      }
      if (!asked && !this.dirty && !live()) {
        await new Promise((resolve) => { this.wake = resolve; });
        continue;
      }
      const { rest: [picture, ...extra], ms } = await (asked ?? this.ask());
      if (this.gone) return;
      asked = live() && !this.restart ? this.ask() : null;
      asked?.catch(() => {}); /* an error is reported when it is awaited; later ones are ignored */
      const shown = new Promise((resolve) => { requestAnimationFrame(resolve); }); /* at most one a frame */
      this.context.putImageData(new ImageData(picture, this.width, this.height), 0, 0);
      this.count(ms, extra);
      await shown;
    }
  }

  count(ms, extra) {
    this.times.push(performance.now());
    if (this.times.length > RATE_FRAMES) this.times.shift();
    const { times, exhibit } = this;
    const rate = times.length > 1 ? ((times.length - 1) * 1000) / (times.at(-1) - times[0]) : undefined;
    this.tell({ ms, rate: exhibit.kind === 'field' || this.source?.isLive ? rate : undefined, extra: exhibit.extra?.of(extra) });
  }

  fail(error) {
    if (this.gone) return;
    this.problem.textContent = error.message;
    this.problem.hidden = false;
  }

  dispose() {
    this.gone = true;
    this.wake?.();
    this.source?.dispose();
    this.worker.terminate();
  }
}

export const createStage = (...args) => new Stage(...args);
