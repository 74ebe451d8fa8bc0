/** A run as a picture: a row per replica, time to the right, a bar per thunk. */
import { h } from './dom.mjs';
import { keepDrawn } from './draw.mjs';
import { colour } from './theme.mjs';

export const MARGIN = { left: 70, right: 8, top: 4, bottom: 20 };
const LABEL_WIDTH = 64; /* pixels that the text at a tick needs */

/* The legend's colour of each kind of step; --other for all others. */
const COLOURS = {
  kernel: '--dot', generated: '--loop', region: '--loop', rows: '--loop', collective: '--meet', channel: '--meet', host: '--meet',
};

/** Returns the smallest round number of milliseconds that divides `span` into at most `max` ticks. */
function tickOf(span, max) {
  const power = 10 ** Math.floor(Math.log10(span / max));
  return [1, 2, 5, 10].map((m) => m * power).find((t) => span / t <= max);
}

/** Returns the legend of the colours. */
export function legend() {
  const entry = (name, text) => h('li', {}, h('i', { class: name }), text);
  return h('ul', { class: 'legend' },
    entry('dot', 'kernels: products, sorts, …'), entry('loop', 'generated code'), entry('other', 'other steps'),
    entry('wait', 'waiting for others'), entry('meet', 'collectives, messages'));
}

const MAX_HELD = 6;

/** Returns the name of an event's step; for a region with the instructions that it holds. */
export function stepName({ name, holds }) {
  const others = (holds ?? []).filter((one) => one !== name);
  const more = others.length > MAX_HELD ? `, and ${others.length - MAX_HELD} more` : '';
  return [h('span', { class: 'mono' }, name),
    others.length ? h('span', { class: 'soft small' }, ` with ${others.slice(0, MAX_HELD).join(', ')}${more}`) : null];
}

/** The kinds of rows, by the mesh's number of partitions: the events that a row holds, and its label. */
const ROWS = {
  devices: (partitions) => ({
    of: ({ replica, partition }) => replica * partitions + partition,
    name: (row) => (partitions === 1 ? `replica ${row}` : `device ${Math.floor(row / partitions)},${row % partitions}`),
    waits: true,
  }),
  threads: () => ({ of: ({ worker }) => worker, name: (row) => `thread ${row}`, waits: false }),
};

/** A timeline on a canvas, kept as large and as light or dark as the page. */
export class Timeline {
  /** @param {'devices' | 'threads'} rows the kind of row */
  constructor(canvas, rows = 'devices') {
    this.events = null;
    this.partitions = 1;
    this.rendezvous = [];
    this.rows = rows;
    this.kept = keepDrawn(canvas, (context, width, height) =>
      draw(context, width, height, this.events, ROWS[this.rows](this.partitions), this.rendezvous));
  }

  showRows(rows) {
    this.rows = rows;
    this.kept.redraw();
  }

  /** @param {import('../../bindings/index.mjs').ProfileEvent[] | null} events of one run
   *  @param {number} [partitions] of each replica
   *  @param {object[]} [rendezvous] of its devices, as meshes/rendezvous.mjs finds them: lines between rows */
  show(events, partitions = 1, rendezvous = []) {
    this.partitions = partitions;
    this.rendezvous = rendezvous;
    this.events = events?.length ? events : null;
    this.kept.redraw();
  }

  dispose() {
    this.kept.dispose();
  }
}

function draw(context, width, height, events, kind, rendezvous) {
  if (!events) return;
  const begin = Math.min(...events.map((e) => e.startUs));
  const span = Math.max(...events.map((e) => e.endUs)) - begin || 1;
  const rows = Math.max(...events.map(kind.of)) + 1;
  const bottom = height - MARGIN.bottom;
  const rowHeight = (bottom - MARGIN.top) / rows;
  const room = width - MARGIN.left - MARGIN.right;
  const x = (time) => MARGIN.left + ((time - begin) / span) * room;

  context.font = '12px system-ui, sans-serif';
  context.fillStyle = colour('--ink');
  context.textBaseline = 'middle';
  for (let row = 0; row < rows; row++) {
    context.fillText(kind.name(row), 0, MARGIN.top + (row + 0.5) * rowHeight);
  }
  drawTicks(context, { x, begin, span, bottom, max: Math.max(1, Math.floor(room / LABEL_WIDTH)) });

  for (const event of events) {
    const { category, startUs, endUs, waitedUs = 0 } = event;
    const top = MARGIN.top + kind.of(event) * rowHeight + rowHeight * 0.15;
    const bar = (from, to, name, min) => {
      context.fillStyle = colour(name);
      context.fillRect(x(from), top, Math.max(min, x(to) - x(from)), rowHeight * 0.7);
    };
    /* A thread runs other tasks while a replica waits. */
    const went = Math.min(startUs + waitedUs, endUs);
    if (waitedUs && kind.waits) bar(startUs, went, '--wait', 0);
    bar(went, endUs, COLOURS[category] ?? '--other', 1);
  }
  if (kind.waits) drawRendezvous(context, rendezvous, { x, y: (device) => MARGIN.top + (device + 0.5) * rowHeight });
}

/** Draws messages between rows, and a line through the rows that meet, when the last one has arrived. */
function drawRendezvous(context, rendezvous, { x, y }) {
  context.strokeStyle = context.fillStyle = colour('--ink');
  context.lineWidth = 1;
  const line = (fromX, fromY, toX, toY) => {
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
  };
  const dot = (atX, atY) => {
    context.beginPath();
    context.arc(atX, atY, 2.5, 0, 7);
    context.fill();
  };
  for (const { devices, pairs, startUs, endUs } of rendezvous) {
    if (pairs) {
      for (const [from, to] of pairs) {
        line(x(startUs), y(from), x(endUs), y(to));
        dot(x(endUs), y(to));
      }
    } else {
      line(x(startUs), y(Math.min(...devices)), x(startUs), y(Math.max(...devices)));
      for (const device of devices) dot(x(startUs), y(device));
    }
  }
}

/** Draws under the bars: a line at every tick, and its time if that fits. */
function drawTicks(context, { x, begin, span, bottom, max }) {
  const ms = span / 1000;
  const tick = tickOf(ms, max);
  context.textBaseline = 'bottom';
  for (let n = 0; n * tick <= ms; n++) {
    const at = x(begin + n * tick * 1000);
    context.globalAlpha = 0.2;
    context.fillRect(at, MARGIN.top, 1, bottom - MARGIN.top);
    context.globalAlpha = 1;
    const label = `${Number((n * tick).toPrecision(3))} ms`;
    if (at + context.measureText(label).width + 3 <= x(begin + span) + MARGIN.right) {
      context.fillText(label, at + 3, bottom + MARGIN.bottom);
    }
  }
}
