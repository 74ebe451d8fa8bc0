/** Makes `error.waiting`: which devices wait, and for what, when a run cannot go on or took too long. */

const FOR_HOST = -1; // waiting_print() in src/runtime/waiting.h, which says what the JSON holds
const FOR_MESSAGE = -2;

/**
 * Devices in one rendezvous share its lists.
 * @param {object} noted the core's JSON
 * @returns {object[]} as WaitingDevice in index.d.ts
 */
export function waitingDevices({ partitions, instructions, rendezvous, waiting = [], finished }) {
  const numbers = (device) => ({ replica: Math.floor(device / partitions), partition: device % partitions });
  const ended = new Set(finished);
  const waitsAt = new Map(waiting.map(([device, at]) => [device, instructions[at].instruction]));
  const missing = memoized((device) => ({ ...numbers(device), finished: ended.has(device),
    ...(waitsAt.has(device) && { waitsAt: waitsAt.get(device) }) }));
  const arrived = memoized(numbers);
  const groups = rendezvous?.map((group) => ({ waitsFor: 'members', ...group,
    arrived: group.arrived.map(arrived), missing: group.missing.map(missing) }));
  return waiting.map(([device, at, group, source]) => {
    const { target, sourceLine, ...instruction } = instructions[at];
    const where = { ...numbers(device), ...instruction, ...(sourceLine && { sourceLine: Number(sourceLine) }) };
    if (group === FOR_HOST) return { ...where, waitsFor: 'host', ...(target && { target }) };
    if (group !== FOR_MESSAGE) return { ...where, ...groups[group] };
    const sources = source === undefined ? [] : [missing(source)];
    return { ...where, waitsFor: 'message', arrived: [], missing: sources, arrivedCount: 0, missingCount: sources.length };
  });
}

function memoized(compute) {
  const results = new Map();
  return (key) => {
    if (!results.has(key)) results.set(key, compute(key));
    return results.get(key);
  };
}
