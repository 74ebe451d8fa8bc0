/** A run as a picture: a row per replica, time to the right, a bar per thunk. */
import { h } from './dom.mjs';
import { keepDrawn } from './draw.mjs';
import { colour } from './theme.mjs';

export const MARGIN = { left: 70, right: 8, top: 4, bottom: 20 };
const LABEL_WIDTH = 64; /* pixels that the text at a tick needs */

/** Which of the legend's colours a thunk gets. */
function colourOf({ name, category }) {
  if (category === 'collective') return '--meet';
  if (name.startsWith('dot')) return '--dot';
  return category === 'generated' ? '--loop' : '--other';
}

/** A round number of milliseconds, the least of which at most `most` fit. */
function tickOf(span, most) {
  const power = 10 ** Math.floor(Math.log10(span / most));
  return [1, 2, 5, 10].map((m) => m * power).find((t) => span / t <= most);
}

/**
 * When all replicas were there, for each collective's event. A replica may come to the same
 * collective several times (in a loop), so the events are matched by how often it came before.
 */
function meetings(events) {
  const latest = new Map();
  const visits = new Map();
  const keys = events.map(({ name, category, replica, partition }) => {
    if (category !== 'collective') return null;
    const visitor = `${name} ${replica} ${partition}`;
    visits.set(visitor, (visits.get(visitor) ?? 0) + 1);
    return `${name} ${visits.get(visitor)}`;
  });
  events.forEach(({ startUs }, i) => {
    if (keys[i]) latest.set(keys[i], Math.max(startUs, latest.get(keys[i]) ?? startUs));
  });
  return keys.map((key, i) => (key ? Math.min(latest.get(key), events[i].endUs) : null));
}

/** What the colours mean. */
export function legend() {
  const entry = (name, text) => h('li', {}, h('i', { class: name }), text);
  return h('ul', { class: 'legend' },
    entry('dot', 'matrix products'), entry('loop', 'fused loops'), entry('other', 'other steps'),
    entry('wait', 'waiting for the others'), entry('meet', 'collectives'));
}

/** What a row can be, of a mesh of so many partitions: whose events are in it, and what it is called. */
const ROWS = {
  devices: (partitions) => ({
    of: ({ replica, partition }) => replica * partitions + partition,
    name: (row) => (partitions === 1 ? `replica ${row}` : `device ${Math.floor(row / partitions)},${row % partitions}`),
    meets: true,
  }),
  threads: () => ({ of: ({ worker }) => worker, name: (row) => `thread ${row}`, meets: false }),
};

/** A timeline on a canvas, kept as large and as light or dark as the page. */
export class Timeline {
  /** @param {'devices' | 'threads'} rows what a row is */
  constructor(canvas, rows = 'devices') {
    this.events = null;
    this.partitions = 1;
    this.rows = rows;
    this.kept = keepDrawn(canvas, (context, width, height) =>
      draw(context, width, height, this.events, ROWS[this.rows](this.partitions)));
  }

  showRows(rows) {
    this.rows = rows;
    this.kept.redraw();
  }

  /** @param {import('../../bindings/index.mjs').ProfileEvent[] | null} events of one run
   *  @param {number} [partitions] of each replica */
  show(events, partitions = 1) {
    this.partitions = partitions;
    this.events = events?.length ? events : null;
    this.kept.redraw();
  }

  dispose() {
    this.kept.dispose();
  }
}

function draw(context, width, height, events, kind) {
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
  drawTicks(context, { x, begin, span, bottom, most: Math.max(1, Math.floor(room / LABEL_WIDTH)) });

  const met = meetings(events);
  events.forEach((event, i) => {
    /* A thread does other things while a replica waits. */
    const waited = met[i] !== null && kind.meets;
    const top = MARGIN.top + kind.of(event) * rowHeight + rowHeight * 0.15;
    const bar = (from, to, name, least) => {
      context.fillStyle = colour(name);
      context.fillRect(x(from), top, Math.max(least, x(to) - x(from)), rowHeight * 0.7);
    };
    if (waited) bar(event.startUs, met[i], '--wait', 0);
    bar(met[i] ?? event.startUs, event.endUs, colourOf(event), 1);
  });
}

/** Behind the bars: a line at every tick, and its time where that fits. */
function drawTicks(context, { x, begin, span, bottom, most }) {
  const ms = span / 1000;
  const tick = tickOf(ms, most);
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
