/** Converts a profile's events to a trace for viewers, and sums them. */
import { guarded } from '../base/boundary.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { copyList } from '../base/options.mjs';

const WHERE = 'execute() and launch() with { profile: true } give them';

/**
 * The events in Chrome's trace format, for chrome://tracing and ui.perfetto.dev: devices are its
 * processes, workers its threads. A device's wait comes before the step that waited.
 * @param {readonly object[]} events of a profile
 * @returns {{ traceEvents: object[] }} to be written as JSON; times are microseconds
 */
export const toChromeTrace = guarded((events) => {
  const devices = byDevice('toChromeTrace', events);
  const traceEvents = [];
  [...devices.values()].forEach((own, pid) => {
    traceEvents.push({ name: 'process_name', ph: 'M', pid, tid: 0, args: { name: nameOf(own[0]) } });
    for (const event of own) {
      const { name, category, worker: tid, startUs, endUs, waitedUs = 0, waitedFor, holds, opName, source } = event;
      const slice = { ph: 'X', pid, tid };
      if (waitedUs > 0) {
        traceEvents.push({
          ...slice, name: `${name}: waits for ${inWords(waitedFor)}`, cat: 'wait', ts: startUs,
          dur: waitedUs, args: {},
        });
      }
      traceEvents.push({
        ...slice, name, cat: category, ts: startUs + waitedUs, dur: endUs - startUs - waitedUs,
        args: { ...(holds && { holds }), ...(opName && { opName }), ...(source && { source }) },
      });
    }
  });
  return { traceEvents };
}, 'toChromeTrace');

/**
 * Sums each device's time from the profile's first event to its last: busy, waiting for other devices or
 * the host, or idle (ready without a worker, or between steps).
 * @param {readonly object[]} events of a profile
 * @returns {{ replica: number, partition: number, busyUs: number, waitedUs: number, idleUs: number,
 *   overlapUs: number }[]} replica-major; overlapUs of the busy time others were busy, too
 */
export const profileTimes = guarded((events) => {
  const devices = [...byDevice('profileTimes', events).values()];
  const all = devices.flat();
  const span = all.reduce((last, { endUs }) => Math.max(last, endUs), 0) -
    all.reduce((first, { startUs }) => Math.min(first, startUs), Infinity);
  const busy = devices.map((own) => union(own.map(({ startUs, endUs, waitedUs = 0 }) =>
    [startUs + waitedUs, endUs])));
  return devices.map((own, i) => {
    const { replica, partition } = own[0], busyUs = total(busy[i]);
    const waitedUs = own.reduce((sum, event) => sum + (event.waitedUs ?? 0), 0);
    const others = union(busy.filter((_, k) => k !== i).flat());
    return {
      replica, partition, busyUs, waitedUs,
      idleUs: Math.max(0, span - busyUs - waitedUs),
      overlapUs: busyUs + total(others) - total(union([...busy[i], ...others])),
    };
  });
}, 'profileTimes');

const nameOf = ({ replica, partition }) => `replica ${replica}, partition ${partition}`;
const inWords = (who) => (who === 'host' ? 'the host' : nameOf(who));

/** @returns {Map<string, object[]>} replica-major */
function byDevice(operation, events) {
  const isEvent = (event) => event && Number.isFinite(event.startUs) && Number.isFinite(event.endUs);
  const list = Array.isArray(events) ? copyList(events) : [null];
  if (!list.every(isEvent)) {
    throw invalidArgument(operation, `events must be a profile's events; got ${describe(events)}; ${WHERE}`);
  }
  const devices = new Map();
  const order = (a, b) => a.replica - b.replica || a.partition - b.partition || a.startUs - b.startUs;
  for (const event of list.sort(order)) {
    const key = nameOf(event);
    if (!devices.has(key)) devices.set(key, []);
    devices.get(key).push(event);
  }
  return devices;
}

/** Merges overlapping stretches of time. */
function union(stretches) {
  const joined = [];
  for (const [begin, end] of [...stretches].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([begin, end]);
  }
  return joined;
}

const total = (stretches) => stretches.reduce((sum, [begin, end]) => sum + end - begin, 0);
