/**
 * Who met whom, or sent to whom, when: from the program's groups and pairs, and the events of a run.
 * The four group modes are those of XLA's operation semantics (AllReduce).
 */

const MEETING = /^\s*(?:ROOT )?%?([\w.-]+) = .*? (all-reduce|all-gather|all-to-all|reduce-scatter|collective-broadcast|ragged-all-to-all|collective-permute)(?:-start)?\(/;
const MESSAGE = /^\s*(?:ROOT )?%?([\w.-]+) = .*? (recv-done)\(/;

const numbersIn = (text) => Array.from(text.matchAll(/\{([\d, ]+)\}/g), ([, list]) => list.split(',').map(Number));

/** The value of an attribute that is a list of lists. */
function listOf(line, attribute) {
  const match = new RegExp(`${attribute}=\\{((?:\\{[\\d, ]*\\},?)*)\\}`).exec(line);
  return match ? numbersIn(match[1]) : [];
}

/** Lists of replicas or partitions as devices; replica-major, as all of them are numbered. */
function devicesOf(line, { replicas, partitions }, kind) {
  const hasChannel = /channel_id=[1-9]/.test(line);
  const isGlobal = /use_global_device_ids=true/.test(line);
  const all = (count) => Array.from({ length: count }, (_, i) => i);
  const inEachReplica = hasChannel && !isGlobal && kind !== 'reducing';
  return (groups) => {
    if (isGlobal) return groups.length ? groups : [all(replicas * partitions)];
    if (inEachReplica) { /* partitions meet, replica by replica */
      const given = groups.length ? groups : [all(partitions)];
      return all(replicas).flatMap((r) => given.map((group) => group.map((p) => r * partitions + p)));
    }
    const given = groups.length ? groups : [all(replicas)];
    if (hasChannel) return given.map((group) => group.flatMap((r) => all(partitions).map((p) => r * partitions + p)));
    return all(partitions).flatMap((p) => given.map((group) => group.map((r) => r * partitions + p)));
  };
}

/** All-reduce, all-gather and reduce-scatter with a channel mean replicas with all their partitions. */
const isReducing = (operation) => ['all-reduce', 'all-gather', 'reduce-scatter'].includes(operation);

/** For each instruction that meets or sends: { name, operation, groups } or { ..., pairs }. */
function plansOf(text, mesh) {
  const plans = new Map();
  text.split('\n').forEach((line, i) => {
    const meeting = MEETING.exec(line);
    const message = MESSAGE.exec(line);
    if (meeting) {
      const [, name, operation] = meeting;
      const spread = devicesOf(line, mesh, isReducing(operation) ? 'reducing' : 'moving');
      if (operation === 'collective-permute') plans.set(name, { operation, line: i + 1, pairs: spread(listOf(line, 'source_target_pairs')) });
      else plans.set(name, { operation, line: i + 1, groups: spread(listOf(line, 'replica_groups')) });
    } else if (message) {
      const [, name, operation] = message;
      plans.set(name, { operation, line: i + 1, pairs: listOf(line, '_xla_send_recv_source_target_pairs') });
    }
  });
  return plans;
}

/**
 * Messages: from when the one could send it to when the other had it. A send takes no time that a
 * profile would show: it comes after what the sender did last before the message was there.
 */
function messagesOf(plans, visitsOf, events, partitions) {
  const messages = [];
  for (const [name, { operation, line, pairs }] of plans) {
    if (operation !== 'recv-done') continue;
    for (const [from, to] of pairs) {
      for (const got of visitsOf(name).get(to) ?? []) {
        const before = events.filter((event) => deviceOf(event, partitions) === from && event.endUs <= got.endUs);
        const startUs = Math.max(got.startUs, ...before.map(({ endUs }) => endUs));
        messages.push({ name, operation: 'message', line, devices: [from, to], pairs: [[from, to]], startUs, endUs: got.endUs });
      }
    }
  }
  return messages;
}

const deviceOf = ({ replica, partition }, partitions) => replica * partitions + partition;

/**
 * @param {string} text of the program as it was read
 * @param {{ replicas: number, partitions: number }} mesh
 * @param {object[]} events of a run
 * @returns {{ name: string, operation: string, line: number, devices: number[], pairs?: number[][],
 *   startUs: number, endUs: number }[]} `startUs`: when the last one had come; `endUs`: when all went on
 */
export function meetingsOf(text, mesh, events) {
  const { partitions } = mesh;
  const plans = plansOf(text, mesh);
  /* The events of each device, in order: loops come several times. */
  const visitsOf = (name) => {
    const visits = new Map();
    for (const event of events.filter((one) => one.name === name)) {
      const device = deviceOf(event, partitions);
      if (!visits.has(device)) visits.set(device, []);
      visits.get(device).push(event);
    }
    return visits;
  };
  const meetings = messagesOf(plans, visitsOf, events, partitions);
  for (const [name, plan] of plans) {
    if (!plan.groups && plan.operation !== 'collective-permute') continue;
    const visits = visitsOf(name);
    const most = Math.max(0, ...Array.from(visits.values(), (list) => list.length));
    for (let turn = 0; turn < most; turn++) {
      for (const group of plan.groups ?? [plan.pairs.flat()]) {
        const devices = [...new Set(group)].filter((device) => visits.get(device)?.[turn]);
        const own = devices.map((device) => visits.get(device)[turn]);
        if (!own.length) continue;
        meetings.push({
          name, operation: plan.operation, line: plan.line, devices,
          ...(plan.pairs && { pairs: plan.pairs.filter((pair) => pair.every((device) => devices.includes(device))) }),
          startUs: Math.max(...own.map((event) => event.startUs)),
          endUs: Math.max(...own.map((event) => event.endUs)),
        });
      }
    }
  }
  return meetings.sort((a, b) => a.startUs - b.startUs);
}
