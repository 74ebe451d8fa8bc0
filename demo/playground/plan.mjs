/** The memory plan: time to the right, places in the arena upwards, a box for each buffer. */
import { h, svg } from '../shared/dom.mjs';
import { bytes, plural } from '../shared/format.mjs';

const WIDTH = 640;
const HEIGHT = 260;

/** A part as a share of the whole; 0 if the whole is empty. */
const share = (part, whole) => (whole > 0 ? part / whole : 0);

function box({ name, offset, bytes: size, first, last }, i, { arenaBytes, firstTime, times }) {
  const x = share(first - firstTime, times) * WIDTH;
  const width = Math.max(3, share(last - first + 1, times) * WIDTH - 2);
  const height = Math.max(3, share(size, arenaBytes) * HEIGHT - 1);
  const y = HEIGHT - share(offset, arenaBytes) * HEIGHT - height;
  const label = width > 40 && height > 12
    ? svg('text', { x: x + 5, y: y + Math.min(height / 2 + 4, height - 3), class: 'plan-label' }, name.slice(0, Math.floor(width / 7))) : null;
  return svg('g', {}, svg('rect', { x, y, width, height, rx: 2, style: `fill: var(--series-${(i % 8) + 1})` }),
    label, svg('title', {}, `${name}: ${bytes(size)} at ${offset}, from step ${first} to ${last}`));
}

/** @param {{ arenaBytes: number, buffers: object[] }} plan of executable.memoryPlan() */
export function planElement({ arenaBytes, buffers }) {
  const own = buffers.filter(({ place, bytes: size }) => place === 'arena' && size > 0);
  const outside = new Map(buffers.filter(({ place }) => place !== 'arena').map((buffer) => [buffer.place, buffer]));
  const times = own.flatMap(({ first, last }) => [first, last]);
  const firstTime = Math.min(...times);
  const scale = { arenaBytes, firstTime, times: Math.max(...times) - firstTime + 1 };
  const sum = own.reduce((total, { bytes: size }) => total + size, 0);
  const picture = own.length ? svg('svg', {
    viewBox: `-1 -1 ${WIDTH + 2} ${HEIGHT + 2}`, class: 'plan', role: 'img',
    'aria-label': 'Which buffer is where in memory, and when',
  },
    svg('rect', { x: 0, y: 0, width: WIDTH, height: HEIGHT, class: 'plan-frame' }), own.map((buffer, i) => box(buffer, i, scale))) : null;
  return h('div', {},
    h('p', {}, own.length
      ? `${plural(own.length, 'temporary buffer')} of ${bytes(sum)} share an arena of ${bytes(arenaBytes)}: those that live at different times may lie at the same place. Steps go to the right, addresses up.`
      : 'No temporary buffers: everything is in parameters, results and constants, or in locals.'),
    picture,
    outside.size ? h('div', { class: 'scroll' }, h('table', {},
      h('tr', {}, h('th', {}, 'Outside of the arena'), h('th', { class: 'number' }, 'Size'), h('th', {}, 'Of')),
      [...outside.values()].map(({ place, bytes: size, name }) => h('tr', {},
        h('td', {}, place.replace(/(\d+)$/, ' $1')), h('td', { class: 'number' }, bytes(size)), h('td', { class: 'mono' }, name))))) : null);
}
