/**
 * Random programs of several devices (collectives in every group mode, loops, branches that part of the
 * devices take, sends, feeds; one program, or several in a launch) on random meshes and numbers of
 * workers, against a simulation that does one step after the other for all devices. Some runs are
 * cancelled, some workers killed, and in the end the memory is what it was.
 *
 *   node tests/fuzz/devices.mjs [--seconds 60] [--seed 1]
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';

import { Client, XlaError } from '../../bindings/index.mjs';

const SIZE = 12; // elements of a device's state: divided by groups of 1, 2, 3, 4, 6
const GROUP_SIZES = [1, 2, 3, 4, 6];
const SHAPE = `s32[${SIZE}]`;

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
const fed = (device, n) => Int32Array.from({ length: SIZE }, (_, i) => device * 1000 + n * 10 + i);

/* ---- As HLO text ---- */

export function textOf({ mesh, steps }, variant = 0) {
  const computations = [];
  let names = 0;
  const name = (what) => `${what}.${names++}`;
  for (const operation of ['add', 'maximum']) {
    computations.push(`f.${operation} { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] ${operation}(a, b) }`);
  }
  const dots = (ids) => `{${ids.map((list) => `{${list.join(',')}}`).join(',')}}`;

  function write(list, lines, x) {
    for (const step of list) x = WRITERS[step.kind](step, lines, x);
    return x;
  }
  const add = (lines, what, shape, body) => {
    const id = name(what);
    lines.push(`  ${id} = ${shape} ${body}`);
    return id;
  };
  const constant = (lines, value) => add(lines, 'bc', SHAPE,
    `broadcast(${add(lines, 'k', 's32[]', `constant(${value})`)}), dimensions={}`);

  const WRITERS = {
    arithmetic({ by, plus }, lines, x) {
      const id = add(lines, 'id', 's32[]', `convert(${add(lines, 'r', 'u32[]', 'replica-id()')})`);
      const p = add(lines, 'pi', 's32[]', `convert(${add(lines, 'p', 'u32[]', 'partition-id()')})`);
      const both = add(lines, 'rp', 's32[]', `add(${id}, ${add(lines, 'p2', 's32[]', `add(${p}, ${p})`)})`);
      const own = add(lines, 'own', SHAPE, `broadcast(${both}), dimensions={}`);
      const scaled = add(lines, 'm', SHAPE, `multiply(${x}, ${constant(lines, by)})`);
      const moved = add(lines, 'a', SHAPE, `add(${scaled}, ${constant(lines, plus)})`);
      return add(lines, 'y', SHAPE, `add(${moved}, ${own})`);
    },
    collective({ operation, channel, reducer, lists, mode, members, pairs }, lines, x) {
      const tail = (mode.channel ? `, channel_id=${channel}` : '') +
        (mode.global ? ', use_global_device_ids=true' : '');
      const groups = `replica_groups=${dots(lists)}${tail}`, part = SIZE / members;
      switch (operation) {
        case 'all-reduce':
          return add(lines, 'ar', SHAPE, `all-reduce(${x}), ${groups}, to_apply=f.${reducer}`);
        case 'all-gather': {
          const shard = add(lines, 's', `s32[${part}]`, `slice(${x}), slice={[0:${part}]}`);
          return add(lines, 'ag', SHAPE, `all-gather(${shard}), ${groups}, dimensions={0}`);
        }
        case 'reduce-scatter': {
          const shard = add(lines, 'rs', `s32[${part}]`,
            `reduce-scatter(${x}), ${groups}, dimensions={0}, to_apply=f.${reducer}`);
          const zero = add(lines, 'z', 's32[]', 'constant(7)');
          return add(lines, 'pd', SHAPE, `pad(${shard}, ${zero}), padding=0_${SIZE - part}`);
        }
        case 'all-to-all':
          return add(lines, 'aa', SHAPE, `all-to-all(${x}), ${groups}, dimensions={0}`);
        case 'collective-broadcast':
          return add(lines, 'cb', SHAPE, `collective-broadcast(${x}), ${groups}`);
        default:
          return add(lines, 'cp', SHAPE,
            `collective-permute(${x}), source_target_pairs=${dots(pairs)}${tail}`);
      }
    },
    send({ channel, pairs }, lines, x) {
      const attributes = `channel_id=${channel}, frontend_attributes={_xla_send_recv_source_target_pairs=${
        dots(pairs)}}`;
      const t = add(lines, 't', 'token[]', 'after-all()'), tuple = `(${SHAPE}, u32[], token[])`;
      const s = add(lines, 'sd', tuple, `send(${x}, ${t}), ${attributes}`);
      add(lines, 'sx', 'token[]', `send-done(${s}), ${attributes}`);
      const v = add(lines, 'rv', tuple, `recv(${t}), ${attributes}`);
      const d = add(lines, 'rd', `(${SHAPE}, token[])`, `recv-done(${v}), ${attributes}`);
      const got = add(lines, 'g', SHAPE, `get-tuple-element(${d}), index=0`);
      return add(lines, 'y', SHAPE, `add(${got}, ${x})`);
    },
    feed(_, lines, x) {
      const t = add(lines, 't', 'token[]', 'after-all()');
      const out = add(lines, 'o', 'token[]', `outfeed(${x}, ${t}), outfeed_shape=${SHAPE}`);
      const pair = add(lines, 'in', `(${SHAPE}, token[])`, `infeed(${out})`);
      return add(lines, 'y', SHAPE, `add(${x}, ${add(lines, 'v', SHAPE, `get-tuple-element(${pair}), index=0`)})`);
    },
    own({ turns, plus }, lines, x) {
      for (let i = 0; i < turns[variant]; i++) x = add(lines, 'o', SHAPE, `multiply(${x}, ${constant(lines, 3)})`);
      return add(lines, 'o', SHAPE, `add(${x}, ${constant(lines, plus[variant])})`);
    },
    pipe({ from, to, channel }, lines, x) {
      const tuple = `(${SHAPE}, u32[], token[])`, on = `channel_id=${channel}`;
      if (variant !== from && variant !== to) return x;
      const t = add(lines, 't', 'token[]', 'after-all()');
      if (variant === from) {
        add(lines, 'sx', 'token[]', `send-done(${add(lines, 'sd', tuple, `send(${x}, ${t}), ${on}`)}), ${on}`);
        return x;
      }
      const d = add(lines, 'rd', `(${SHAPE}, token[])`, `recv-done(${add(lines, 'rv', tuple, `recv(${t}), ${on}`)}), ${on}`);
      return add(lines, 'y', SHAPE, `add(${add(lines, 'g', SHAPE, `get-tuple-element(${d}), index=0`)}, ${x})`);
    },
    loop({ turns, body }, lines, x) {
      const state = `(s32[], ${SHAPE})`, [condition, turn] = [name('more'), name('turn')];
      computations.push(`${condition} { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${turns})
  ROOT p = pred[] compare(i, n), direction=LT }`);
      const inner = [`  s = ${state} parameter(0)`, '  i = s32[] get-tuple-element(s), index=0',
        '  one = s32[] constant(1)', '  j = s32[] add(i, one)'];
      const y = write(body, inner, add(inner, 'x', SHAPE, 'get-tuple-element(s), index=1'));
      computations.push(`${turn} {\n${inner.join('\n')}\n  ROOT r = ${state} tuple(j, ${y})\n}`);
      const first = add(lines, 'i', 's32[]', 'constant(0)');
      const begin = add(lines, 's', state, `tuple(${first}, ${x})`);
      const end = add(lines, 'w', state, `while(${begin}), condition=${condition}, body=${turn}`);
      return add(lines, 'y', SHAPE, `get-tuple-element(${end}), index=1`);
    },
    branch({ odd, even, channel, meets }, lines, x) {
      const bodies = [even, odd].map((list, parity) => {
        const id = name('branch'), inner = [`  x = ${SHAPE} parameter(0)`];
        let y = write(list, inner, 'x');
        const ids = halves(mesh)[parity];
        if (meets && ids.length) {
          const all = [ids, ...halves(mesh)[1 - parity].map((other) => [other])];
          y = add(inner, 'm', SHAPE, `all-reduce(${y}), replica_groups=${dots(all)}, channel_id=${
            channel * 1000 + parity}, to_apply=f.add`);
        }
        computations.push(`${id} {\n${inner.join('\n')}\n  ROOT r = ${SHAPE} copy(${y})\n}`);
        return id;
      });
      const id = add(lines, 'id', 's32[]', `convert(${add(lines, 'r', 'u32[]', 'replica-id()')})`);
      const two = add(lines, 'two', 's32[]', 'constant(2)');
      const parity = add(lines, 'odd', 's32[]', `remainder(${id}, ${two})`);
      return add(lines, 'c', SHAPE, `conditional(${parity}, ${x}, ${x}), branch_computations={${bodies.join(', ')}}`);
    },
  };
  const lines = [`  x = ${SHAPE} parameter(0)`], result = write(steps, lines, 'x');
  return `HloModule devices, replica_count=${mesh.replicas}, num_partitions=${mesh.partitions}
${computations.join('\n')}
ENTRY main {\n${lines.join('\n')}\n  ROOT result = ${SHAPE} copy(${result})\n}`;
}

/** The ids of the even replicas, and those of the odd ones. */
const halves = ({ replicas }) => [0, 1].map((parity) =>
  Array.from({ length: replicas }, (_, i) => i).filter((i) => i % 2 === parity));

/* ---- The simulation ---- */

/** The states of all devices after the program; and `fed`, `out`: what each got from and gave to the host. */
export function simulate({ mesh, steps, initial }) {
  const { partitions } = mesh, devices = initial.map((_, d) => d), out = devices.map(() => []);
  const run = (list, states, who) => {
    for (const step of list) states = SIMULATORS[step.kind](step, states, who);
    return states;
  };
  const fold = (reducer, values) => values.reduce((a, b) =>
    a.map((v, i) => (reducer === 'add' ? (v + b[i]) | 0 : Math.max(v, b[i]))));
  const SIMULATORS = {
    arithmetic: ({ by, plus }, states, who) => states.map((x, d) => (!who.includes(d) ? x
      : x.map((v) => (Math.imul(v, by) + plus + Math.floor(d / partitions) + 2 * (d % partitions)) | 0))),
    collective({ operation, reducer, groups, mode, pairs, members }, states) {
      const next = states.map((x) => x.slice()), part = SIZE / members;
      if (operation === 'collective-permute') return permute(pairs, mode, states);
      if (operation === 'collective-broadcast') {
        return states.map((_, d) => states[groups.find((group) => group.includes(d))?.[0]] ?? new Int32Array(SIZE));
      }
      for (const group of groups) {
        const inputs = group.map((d) => states[d]);
        group.forEach((d, at) => {
          if (operation === 'all-reduce') next[d] = fold(reducer, inputs);
          if (operation === 'all-gather') inputs.forEach((x, i) => next[d].set(x.subarray(0, part), i * part));
          if (operation === 'reduce-scatter') {
            const all = fold(reducer, inputs);
            next[d].fill(7).set(all.subarray(at * part, (at + 1) * part));
          }
          if (operation === 'all-to-all') {
            inputs.forEach((x, i) => next[d].set(x.subarray(at * part, (at + 1) * part), i * part));
          }
        });
      }
      return next;
    },
    send({ pairs }, states) {
      return states.map((x, d) => {
        const from = pairs.find(([, to]) => to === d);
        return from ? x.map((v, i) => (v + states[from[0]][i]) | 0) : x;
      });
    },
    feed: (_, states, who) => states.map((x, d) => {
      if (!who.includes(d)) return x;
      const value = fed(d, out[d].length);
      out[d].push(x);
      return x.map((v, i) => (v + value[i]) | 0);
    }),
    own: ({ variantOf, turns, plus }, states) => states.map((x, d) =>
      x.map((v) => (Math.imul(v, 3 ** turns[variantOf[d]]) + plus[variantOf[d]]) | 0)),
    pipe: ({ from, to }, states) => states.map((x, d) =>
      (d === to ? x.map((v, i) => (v + states[from][i]) | 0) : x)),
    loop({ turns, body }, states, who) {
      for (let i = 0; i < turns; i++) states = run(body, states, who);
      return states;
    },
    branch({ odd, even, meets }, states) {
      [even, odd].forEach((list, parity) => {
        const who = devices.filter((d) => Math.floor(d / partitions) % 2 === parity);
        states = run(list, states, who);
        // With a channel and no global ids: these replicas, in all their partitions.
        const sum = meets && who.length ? fold('add', who.map((d) => states[d])) : null;
        if (sum) states = states.map((x, d) => (who.includes(d) ? sum : x));
      });
      return states;
    },
  };
  /** Permutes among devices whose ids differ only in the coordinate that the pairs name. */
  function permute(pairs, mode, states) {
    return states.map((_, d) => {
      const id = mode.channel ? d % partitions : Math.floor(d / partitions);
      const from = pairs.find(([, to]) => to === id);
      if (!from) return new Int32Array(SIZE);
      return states[mode.channel ? d - id + from[0] : d - id * partitions + from[0] * partitions];
    });
  }
  return Object.assign(run(steps, initial, devices).slice(), { out });
}

/* ---- Running ---- */

/** The workers of this process that live, and how many have died. */
const workers = new Set();
let dead = 0;
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (...args) {
  if (!workers.has(this)) this.once('exit', () => (dead += Number(workers.delete(this))));
  workers.add(this);
  return postMessage.apply(this, args);
};

const same = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]);

/** Runs a program: one executable on all devices, or a launch of several. @returns {Promise<Int32Array[]>} */
async function execute(client, executables, { initial, variantOf, mesh }, options) {
  if (executables.length === 1) {
    const results = await executables[0].executeReplicas(initial.map((x) => [x]), options);
    return results.map(([{ data }]) => data);
  }
  const results = await client.launch(initial.map((x, d) => ({
    executable: executables[variantOf[d]], arguments: [x], ...deviceOf(mesh, d) })), options);
  return results.map(([{ data }]) => data);
}

const deviceOf = ({ partitions }, d) => ({ replica: Math.floor(d / partitions), partition: d % partitions });

/** Feeds a run's infeeds, beforehand or on request. @returns {Promise<Int32Array[][]>} the values of its outfeeds */
function serveFeeds(client, { mesh }, { out }, r) {
  return Promise.all(out.map(async (outs, d) => {
    const device = deviceOf(mesh, d), values = outs.map((_, n) => fed(d, n));
    if (r.chance(0.5)) values.forEach((value) => client.transferToInfeed(value, device));
    else if (values.length) client.infeed(values, device);
    const literals = [];
    for (let n = 0; n < outs.length; n++) literals.push((await client.transferFromOutfeed(device)).data);
    return literals;
  }));
}

/** Cancels a run after a moment, or kills a worker of its. @returns {Promise<string>} how it ended */
async function disturb(kind, r, start) {
  const controller = new AbortController();
  const run = start(controller.signal).then(() => 'OK', (error) => {
    if (!(error instanceof XlaError)) throw error;
    return error.code;
  });
  await new Promise((resolve) => setTimeout(resolve, r.below(3)));
  if (kind === 'cancelled') controller.abort();
  else await r.pick([...workers])?.terminate();
  return run;
}

const ENDS = { cancelled: ['OK', 'CANCELLED'], killed: ['OK', 'INTERNAL', 'UNAVAILABLE'] };

/**
 * One program; now and then cancelled first, or with a worker of it killed.
 * @returns {Promise<{ error?: string, kind: string, launched: boolean, fed: number }>}
 */
async function check(client, seed) {
  const r = random(~seed);
  const kind = r.pick(['plain', 'plain', 'plain', 'cancelled', ...(workers.size ? ['killed'] : [])]);
  const program = randomProgram(seed, { feeds: kind === 'plain' }), expected = simulate(program);
  const variants = [...new Set(program.variantOf)];
  const modules = variants.map((variant) => client.parseHlo(textOf(program, variant)));
  const executables = await Promise.all(modules.map((module) => client.compile(module, program.mesh)));
  const fedValues = expected.out.flat().length;
  const outcome = { kind, launched: variants.length > 1, fed: fedValues };
  const failed = (why) => ({ ...outcome, error: `seed ${seed} (${kind}): ${why}` });
  try {
    if (kind !== 'plain') {
      const end = await disturb(kind, r, (signal) => execute(client, executables, program, { signal }));
      if (!ENDS[kind].includes(end)) return failed(end);
      if (client.disposed) return outcome;
    }
    const running = execute(client, executables, program, { timeoutMs: 60000 });
    running.catch(() => {}); // it is awaited when the feeds are served
    const [results, out] = await Promise.all([running, serveFeeds(client, program, expected, r)]);
    const device = results.findIndex((state, d) => !same(state, expected[d]));
    if (device >= 0) return failed(`device ${device} has something else`);
    const wrong = out.findIndex((outs, d) => !outs.every((x, n) => same(x, expected.out[d][n])));
    return wrong < 0 ? outcome : failed(`device ${wrong} puts out something else`);
  } catch (error) {
    // A worker that is killed before it has started is the client's end, which may come after that of the first run.
    if (kind === 'killed' && client.disposed && error.code === 'UNAVAILABLE') return outcome;
    return failed(error.stack);
  } finally {
    if (!client.disposed) [...executables, ...modules].forEach((made) => made.dispose());
  }
}

const LEFT_BYTES = 64 << 10; // of tables that have grown
const DEAD_BYTES = 16 << 10; // of each dead worker, which the C library keeps

/** Some programs on one client, which in the end has the memory that it had. */
async function checkSome(seed, count, end, tell) {
  const client = await Client.create({ threads: seed % 4 });
  let before, deadBefore;
  for (let i = 0; i < count && !client.disposed && Date.now() < end; i++) {
    if (i === 5) [before, deadBefore] = [client.heapInUse, dead];
    tell(await check(client, seed + i));
  }
  const bytes = client.disposed || before === undefined ? 0 : client.heapInUse - before;
  if (bytes > LEFT_BYTES + (dead - deadBefore) * DEAD_BYTES) tell({ kind: 'memory', error: `seeds from ${seed}: ${bytes} bytes stay` });
  if (!client.disposed) client.dispose();
  workers.clear();
}

/** @returns {Promise<{ programs: object, errors: string[] }>} the counts of programs by kind, and errors */
export async function fuzz({ seconds, seed, programs: most = Infinity }) {
  const end = Date.now() + seconds * 1000, programs = { launched: 0, fed: 0 }, errors = [];
  const tell = ({ kind, error, launched, fed: values }) => {
    programs[kind] = (programs[kind] ?? 0) + 1;
    if (launched) programs.launched++;
    if (values) programs.fed++;
    if (error) errors.push(error);
  };
  for (let done = 0; Date.now() < end && done < most && errors.length < 5; done += 50) {
    await checkSome(seed + done, Math.min(50, most - done), end, tell);
    seed++; // for another number of threads
  }
  return { programs, errors };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values } = parseArgs({ options: {
    seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } } });
  const { programs, errors } = await fuzz({ seconds: Number(values.seconds), seed: Number(values.seed) });
  console.log(JSON.stringify(programs), errors.length ? `\n${errors.join('\n')}` : 'all as simulated');
  process.exitCode = errors.length ? 1 : 0;
}
