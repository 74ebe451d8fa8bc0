/** Draws devices as a grid: the work of each at a moment, and the devices that meet. */
import { h, svg } from '../shared/dom.mjs';

/* Sizes of a device and the min gaps between devices; gaps grow until a row is `row` wide. On a narrow
 * page four devices fit in a row and can be read. */
const WIDE = { width: 116, height: 74, gapX: 76, gapY: 64, letters: 15, row: 0 };
const NARROW = { width: 86, height: 62, gapX: 26, gapY: 44, letters: 11, row: 250 };
const NARROW_PAGE = 520;

/** Returns the places of devices: a row for each replica if there are partitions, else one row or a square. */
function placesOf({ replicas, partitions }, cell) {
  const count = replicas * partitions;
  const square = Math.max(2, Math.ceil(Math.sqrt(count)));
  const columns = partitions > 1 ? partitions : Math.min(count, square);
  const gapX = Math.max(cell.gapX, (cell.row - columns * cell.width) / Math.max(1, columns - 1)); /* arrows want room */
  const last = count % columns || columns; /* devices in the last row, which is centred so that none hides an arrow */
  const places = Array.from({ length: count }, (_, device) => {
    const shift = device >= count - last ? (columns - last) / 2 : 0;
    return { x: (device % columns + shift) * (cell.width + gapX), y: Math.floor(device / columns) * (cell.height + cell.gapY), cell };
  });
  return {
    places,
    width: columns * (cell.width + gapX) - gapX,
    height: Math.ceil(count / columns) * (cell.height + cell.gapY) - cell.gapY,
  };
}

const centre = ({ x, y, cell }) => ({ x: x + cell.width / 2, y: y + cell.height / 2 });

/** Returns the ends of a line between two devices, on their borders. */
function ends(from, to) {
  const [a, b] = [centre(from), centre(to)];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const clip = Math.min(
    Math.abs(dx) > 0 ? (from.cell.width / 2 + 4) / Math.abs(dx) : Infinity,
    Math.abs(dy) > 0 ? (from.cell.height / 2 + 4) / Math.abs(dy) : Infinity);
  const at = (t) => ({ x: a.x + dx * t, y: a.y + dy * t });
  return [at(clip), at(1 - clip)];
}

/** Draws an arrow that bends to its right, so that arrows there and back do not cover each other. */
export function arrow(from, to, className, marker) {
  const [a, b] = ends(from, to);
  const [mx, my] = [(a.x + b.x) / 2 - (b.y - a.y) * 0.16, (a.y + b.y) / 2 + (b.x - a.x) * 0.16];
  return svg('path', { d: `M${a.x} ${a.y} Q${mx} ${my} ${b.x} ${b.y}`, class: className, 'marker-end': `url(#${marker})` });
}

const markerOf = (id, className) => svg('marker', {
  id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse',
},
  svg('path', { d: 'M0 0L8 4L0 8z', class: className }));

export const nameOf = (device, { partitions }) => (partitions > 1
  ? `replica ${Math.floor(device / partitions)}, partition ${device % partitions}` : `replica ${device}`);

/**
 * Draws the devices of a mesh.
 * @returns {{ element: SVGElement, show: (states: object[], lines: SVGElement[]) => void, places: object[] }}
 *   `show` takes { kind, text } for each device, where kind is a class, and the lines between devices
 */
export function createStage(mesh, room) {
  const size = room < NARROW_PAGE ? NARROW : WIDE;
  const { places, width, height } = placesOf(mesh, size);
  const between = svg('g', {});
  const cells = places.map(({ x, y }, device) => {
    const says = svg('text', { x: size.width / 2, y: size.height / 2 + 15, class: 'says' }, '');
    const cell = svg('g', { class: 'device', transform: `translate(${x} ${y})` },
      svg('rect', { width: size.width, height: size.height, rx: 8 }),
      svg('text', { x: size.width / 2, y: size.height / 2 - 8, class: 'name' },
        mesh.partitions > 1 ? `${Math.floor(device / mesh.partitions)}, ${device % mesh.partitions}` : `replica ${device}`), says);
    return { cell, says };
  });
  const element = svg('svg', {
    viewBox: `-8 -12 ${width + 16} ${height + 24}`, class: 'stage', style: `max-width: ${width + 16}px`,
    role: 'img', 'aria-label': 'The devices and what they do',
  },
    svg('defs', {}, markerOf('arrow-meet', 'meet'), markerOf('arrow-wait', 'wait')), between, cells.map(({ cell }) => cell));
  return {
    element,
    places,
    show(states, lines = []) {
      states.forEach(({ kind, text }, device) => {
        cells[device].cell.setAttribute('class', `device ${kind}`);
        cells[device].says.textContent = text.length > size.letters ? `${text.slice(0, size.letters - 1)}…` : text;
      });
      between.replaceChildren(...lines);
    },
  };
}

/* ---- A run that can be scrubbed ---- */

const KINDS = { collective: 'meeting', channel: 'meeting', host: 'meeting' };

/** The state of each device at a time. */
export function statesAt(events, mesh, time) {
  const count = mesh.replicas * mesh.partitions;
  return Array.from({ length: count }, (_, device) => {
    const own = events.filter(({ replica, partition }) => replica * mesh.partitions + partition === device);
    const now = own.find(({ startUs, endUs }) => startUs <= time && time < Math.max(endUs, startUs + 0.5));
    if (!now) return { kind: own.every(({ endUs }) => endUs <= time) ? 'finished' : 'idle', text: own.every(({ endUs }) => endUs <= time) ? 'finished' : '' };
    if (!KINDS[now.category]) return { kind: 'working', text: now.name };
    const waits = time < now.startUs + (now.waitedUs ?? 0);
    return { kind: waits ? 'waiting' : 'meeting', text: now.name };
  });
}

/** Lines between devices that meet at a time, and arrows along messages. */
export function linesAt(rendezvous, places, time) {
  return rendezvous.filter(({ startUs, endUs }) => startUs <= time && time <= Math.max(endUs, startUs + 1)).flatMap(({ devices, pairs }) => {
    if (pairs) return pairs.filter(([from, to]) => from !== to).map(([from, to]) => arrow(places[from], places[to], 'message', 'arrow-meet'));
    const points = devices.map((device) => centre(places[device]));
    const middle = { x: points.reduce((sum, { x }) => sum + x, 0) / points.length, y: points.reduce((sum, { y }) => sum + y, 0) / points.length };
    return [...points.map(({ x, y }) => svg('line', { x1: x, y1: y, x2: middle.x, y2: middle.y, class: 'together' })),
      svg('circle', { cx: middle.x, cy: middle.y, r: 6, class: 'together-middle' })];
  });
}

/* ---- A deadlock ---- */

/**
 * Shows on a stage which devices wait for which.
 * @param {object[]} waiting of the error
 * @param {(line: number) => void} goTo
 * @returns {HTMLElement} the same in words
 */
export function showWaiting(stage, mesh, waiting, goTo) {
  const deviceOf = ({ replica, partition = 0 }) => replica * mesh.partitions + partition;
  const states = Array.from({ length: mesh.replicas * mesh.partitions }, () => ({ kind: 'idle', text: '' }));
  const lines = [];
  for (const entry of waiting) {
    const device = deviceOf(entry);
    states[device] = { kind: 'waiting', text: `at ${entry.instruction}` };
    for (const missing of entry.missing ?? []) {
      const other = deviceOf(missing);
      if (missing.finished) states[other] = { kind: 'finished', text: 'finished' };
      if (other !== device) lines.push(arrow(stage.places[device], stage.places[other], 'waits', 'arrow-wait'));
    }
  }
  stage.show(states, lines);
  const whom = ({ missing = [], waitsFor, channel }) => {
    if (waitsFor === 'host') return 'the host';
    const names = missing.map((other) => `${nameOf(deviceOf(other), mesh)}${other.finished ? ' (which has finished)' : ''}`).join(', ');
    return waitsFor === 'message' ? `a message${channel ? ` of channel ${channel}` : ''} from ${names || 'another device'}` : names;
  };
  return h('ul', { class: 'waiting-list' }, waiting.map((entry) => h('li', {},
    h('strong', {}, nameOf(deviceOf(entry), mesh)), ` waits at ${entry.operation} `, h('code', {}, entry.instruction),
    entry.line ? [' (', h('button', { type: 'button', class: 'link', onclick: () => goTo(entry.line) }, `line ${entry.line}`), ')'] : null,
    ` for ${whom(entry)}.`)));
}
