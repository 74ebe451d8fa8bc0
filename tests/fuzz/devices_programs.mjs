/** Random programs of several devices, as lists of steps: for devices_text.mjs and devices_simulation.mjs. */
export const SIZE = 12; // elements of a device's state: divided by groups of 1, 2, 3, 4, 6
const GROUP_SIZES = [1, 2, 3, 4, 6];

/* ---- Random numbers ---- */

/** Mulberry32. */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(next() * n);
  return {
    below,
    chance: (p) => next() < p,
    pick: (list) => list[below(list.length)],
    shuffled: (list) => list.map((x) => [next(), x]).sort((a, b) => a[0] - b[0]).map(([, x]) => x),
  };
}

/* ---- Groups: who meets, and how it is said ---- */

const replicaMode = { channel: false, global: false };
const crossMode = { channel: true, global: false };
const flatMode = { channel: true, global: true };

/** Splits the ids into lists of random sizes. */
function ragged(r, ids) {
  const lists = [];
  for (let rest = ids; rest.length;) {
    const size = 1 + r.below(rest.length);
    lists.push(rest.slice(0, size));
    rest = rest.slice(size);
  }
  return lists;
}

/**
 * The devices in groups of one size, or of any where the operation allows it; a broadcast may leave some
 * out. What meets across programs needs a channel. { lists of ids, mode, groups of devices, members }
 */
function randomGroups(r, { replicas, partitions }, operation, launched) {
  const hasGlobal = ['all-reduce', 'all-gather', 'reduce-scatter'].includes(operation);
  const modes = hasGlobal ? [replicaMode, crossMode, flatMode] : [replicaMode, crossMode];
  const mode = r.pick(modes.filter(({ channel }) => channel || !launched));
  const kind = !mode.channel ? 'replicas' : mode.global ? 'devices' : hasGlobal ? 'both' : 'partitions';
  const count = { replicas, devices: replicas * partitions, both: replicas, partitions }[kind];
  const each = kind === 'both' ? partitions : 1; // devices that an id stands for
  const sizes = GROUP_SIZES.filter((size) => count % size === 0 && SIZE % (size * each) === 0);
  const ids = r.shuffled(Array.from({ length: count }, (_, i) => i));
  const anySize = ['all-reduce', 'collective-broadcast'].includes(operation) && r.chance(0.4);
  if (!sizes.length && !anySize) return null;
  const size = anySize ? 0 : r.pick(sizes);
  let lists = anySize ? ragged(r, ids)
    : Array.from({ length: count / size }, (_, i) => ids.slice(i * size, (i + 1) * size));
  if (operation === 'collective-broadcast' && r.chance(0.5)) lists = lists.slice(0, -1);
  if (!lists.length) return null;
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const groups = {
    replicas: () => range(partitions).flatMap((p) => lists.map((l) => l.map((id) => id * partitions + p))),
    devices: () => lists,
    both: () => lists.map((l) => l.flatMap((id) => range(partitions).map((p) => id * partitions + p))),
    partitions: () => range(replicas).flatMap((q) => lists.map((l) => l.map((id) => q * partitions + id))),
  }[kind]();
  return { groups, lists, mode, members: size * each };
}

/* ---- Programs ---- */

const COLLECTIVES = ['all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all', 'collective-permute',
  'collective-broadcast'];
const KINDS = ['arithmetic', 'collective', 'collective', 'collective', 'loop', 'branch', 'send', 'feed', 'own', 'pipe'];

/** A list of steps for all devices of the mesh, or for those of one branch. */
function randomSteps(r, mesh, depth, names) {
  const steps = [], { variantOf } = names, variants = 1 + Math.max(...variantOf);
  for (let i = 1 + r.below(4); i > 0; i--) {
    const kind = r.pick(KINDS);
    if (kind === 'arithmetic') steps.push({ kind, by: 1 + r.below(9), plus: r.below(100) });
    else if (kind === 'feed' && names.feeds) steps.push({ kind });
    else if (kind === 'own' && variants > 1) {
      steps.push({ kind, variantOf, turns: variantOf.map(() => r.below(4)), plus: variantOf.map(() => r.below(50)) });
    } else if (kind === 'pipe' && variants === variantOf.length && variants > 1) {
      const [from, to] = r.shuffled(variantOf);
      steps.push({ kind, from, to, channel: ++names.channel });
    } else if (kind === 'collective') {
      const operation = r.pick(COLLECTIVES), channel = ++names.channel;
      const groups = randomGroups(r, mesh, operation, variants > 1);
      if (!groups) continue;
      const reducer = r.pick(['add', 'maximum']);
      steps.push({ kind, operation, channel, reducer, ...groups, pairs: pairsOf(r, groups) });
    } else if (kind === 'send' && mesh.partitions === 1 && depth === 0) {
      const ids = r.shuffled(Array.from({ length: mesh.replicas }, (_, i) => i));
      const pairs = ids.slice(1).map((id, i) => [ids[i], id]).slice(0, 1 + r.below(3));
      if (pairs.length) steps.push({ kind, channel: ++names.channel, pairs });
    } else if (kind === 'loop' && depth < 2) {
      steps.push({ kind, turns: r.below(4), body: randomSteps(r, mesh, depth + 1, names) });
    } else if (kind === 'branch' && depth < 2) {
      // By replica: in a branch only those that take it meet, each by itself or in all its partitions.
      const odd = [{ kind: 'arithmetic', by: 3, plus: 1 }], even = [{ kind: 'arithmetic', by: 5, plus: 2 }];
      steps.push({ kind, odd, even, channel: ++names.channel, meets: r.chance(0.7) });
    }
  }
  return steps;
}

/** Of a permute: some ids of the first list to others, in ids as replica_groups has them. */
function pairsOf(r, { lists }) {
  const ids = lists.flat(), targets = r.shuffled(ids);
  return ids.map((id, i) => [id, targets[i]]).filter(() => r.chance(0.8));
}

/**
 * `variantOf`: for each device, the number of its program; programs share all but their own steps.
 * Only a program without `feeds` can be cancelled and run again, since fed values are consumed.
 */
export function randomProgram(seed, { feeds = true } = {}) {
  const r = random(seed), replicas = 1 + r.below(6), partitions = r.pick([1, 1, 2, 3]);
  const mesh = { replicas, partitions }, devices = Array.from({ length: replicas * partitions }, (_, d) => d);
  const variantOf = r.pick([devices.map(() => 0), devices.map(() => 0), devices, devices.map((d) => d % 3)]);
  const steps = randomSteps(r, mesh, 0, { channel: 0, feeds, variantOf });
  const initial = devices.map(() => Int32Array.from({ length: SIZE }, () => r.below(1000) - 500));
  return { mesh, steps, initial, seed, variantOf };
}

/** The value number n that the host feeds to a device. */
export const fed = (device, n) => Int32Array.from({ length: SIZE }, (_, i) => device * 1000 + n * 10 + i);
