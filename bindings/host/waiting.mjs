/** Makes `error.waiting`: which devices wait, and for what, when a run cannot go on or took too long. */

const FOR_HOST = -1; // waiting_print() in src/runtime/waiting.h, which says what the JSON holds
const FOR_MESSAGE = -2;

/**
 * Entries share what they have in common: the lists of a rendezvous are the same for all who have arrived.
 * @param {object} noted the core's JSON
 * @returns {object[]} as WaitingDevice in index.d.ts
 */
export function waitingDevices({ partitions, places, meetings, waiting = [], finished }) {
  const place = (device) => ({ replica: Math.floor(device / partitions), partition: device % partitions });
  const ended = new Set(finished);
  const waitsAt = new Map(waiting.map(([device, at]) => [device, places[at].instruction]));
  const missing = remembered((device) => ({ ...place(device), finished: ended.has(device),
    ...(waitsAt.has(device) && { waitsAt: waitsAt.get(device) }) }));
  const arrived = remembered(place);
  const met = meetings?.map((meeting) => ({ waitsFor: 'members', ...meeting,
    arrived: meeting.arrived.map(arrived), missing: meeting.missing.map(missing) }));
  return waiting.map(([device, at, meeting, source]) => {
    const { target, sourceLine, ...instruction } = places[at];
    const what = { ...place(device), ...instruction, ...(sourceLine && { sourceLine: Number(sourceLine) }) };
    if (meeting === FOR_HOST) return { ...what, waitsFor: 'host', ...(target && { target }) };
    if (meeting !== FOR_MESSAGE) return { ...what, ...met[meeting] };
    const sources = source === undefined ? [] : [missing(source)];
    return { ...what, waitsFor: 'message', arrived: [], missing: sources, arrivedCount: 0, missingCount: sources.length };
  });
}

function remembered(make) {
  const made = new Map();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key);
  };
}
