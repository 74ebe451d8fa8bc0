/**
 * Finds which devices met or sent to each other, and when, from the program's groups and pairs and a run's events.
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

const channelOf = (line) => /channel_id=(\d+)/.exec(line)?.[1];

/**
 * Returns for each instruction that meets or sends: { name, operation, names, groups } or { ..., pairs }, and its
 * `part`. In a launch of several programs, instructions of the same channel meet, whatever their names.
 * Their entry has no `part`; its `names` are the names in all programs, and an event carries one of them.
 * @returns {Map<string, object>} by channel, or by part and name
 */
function plansOf(parts, mesh) {
  const plans = new Map();
  parts.forEach(({ text }, part) => text.split('\n').forEach((line) => {
    const meeting = MEETING.exec(line);
    const message = MESSAGE.exec(line);
    if (!meeting && !message) return;
    const [, name, operation] = meeting ?? message;
    const channel = channelOf(line);
    const isShared = meeting && parts.length > 1 && channel;
    const key = isShared ? `channel ${channel}` : `${part} ${name}`;
    const plan = plans.get(key) ?? { name, operation, names: new Set(), ...(!isShared && { part }) };
    plan.names.add(name);
    plans.set(key, plan);
    const spread = devicesOf(line, mesh, isReducing(operation) ? 'reducing' : 'moving');
    if (message) plan.pairs = listOf(line, '_xla_send_recv_source_target_pairs');
    else if (operation === 'collective-permute') plan.pairs = spread(listOf(line, 'source_target_pairs'));
    else plan.groups = spread(listOf(line, 'replica_groups'));
  }));
  return plans;
}

/**
 * Messages, from the time when the sender could send one to its arrival. A profile shows no time for a
 * send: it comes after the sender's last step before the arrival.
 */
function messagesOf({ name, pairs }, visits, events, partitions) {
  return pairs.flatMap(([from, to]) => (visits.get(to) ?? []).map((got) => {
    const before = events.filter((event) => deviceOf(event, partitions) === from && event.endUs <= got.endUs);
    const startUs = Math.max(got.startUs, ...before.map(({ endUs }) => endUs));
    return { name, operation: 'message', devices: [from, to], pairs: [[from, to]], startUs, endUs: got.endUs };
  }));
}

const deviceOf = ({ replica, partition }, partitions) => replica * partitions + partition;

/**
 * @param {{ parts: { text: string, first: number, count: number }[], replicas: number, partitions: number }} mesh
 *   a program as shared/programs.mjs opens it: its modules as they were read, and their replicas
 * @param {object[]} events of a run
 * @returns {{ name: string, operation: string, devices: number[], pairs?: number[][],
 *   startUs: number, endUs: number }[]} `startUs`: when the last one arrived; `endUs`: when all went on
 */
export function rendezvousOf(mesh, events) {
  const { parts, partitions } = mesh;
  const partOf = (replica) => parts.findIndex(({ first, count }) => replica < first + count);
  /* The events of each device, in order: loops come several times. */
  const visitsOf = ({ names, part }) => {
    const isOfIt = ({ name, replica, category }) => names.has(name) && (part === undefined ? category === 'collective' : partOf(replica) === part);
    const visits = new Map();
    for (const event of events.filter(isOfIt)) {
      const device = deviceOf(event, partitions);
      if (!visits.has(device)) visits.set(device, []);
      visits.get(device).push(event);
    }
    return visits;
  };
  const rendezvous = [];
  for (const plan of plansOf(parts, mesh).values()) {
    const visits = visitsOf(plan);
    if (plan.operation === 'recv-done') {
      rendezvous.push(...messagesOf(plan, visits, events, partitions));
      continue;
    }
    const max = Math.max(0, ...Array.from(visits.values(), (list) => list.length));
    for (let turn = 0; turn < max; turn++) {
      for (const group of plan.groups ?? [plan.pairs.flat()]) {
        const devices = [...new Set(group)].filter((device) => visits.get(device)?.[turn]);
        const own = devices.map((device) => visits.get(device)[turn]);
        if (!own.length) continue;
        rendezvous.push({
          name: plan.name, operation: plan.operation, devices,
          ...(plan.pairs && { pairs: plan.pairs.filter((pair) => pair.every((device) => devices.includes(device))) }),
          startUs: Math.max(...own.map((event) => event.startUs)),
          endUs: Math.max(...own.map((event) => event.endUs)),
        });
      }
    }
  }
  return rendezvous.sort((a, b) => a.startUs - b.startUs);
}
