/**
 * Random programs of several devices (collectives in every group mode, loops, branches that part of the
 * devices take, sends) on random meshes and numbers of workers, against a simulation that does
 * one step after the other for all devices. Some runs are cancelled, some workers killed.
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

/** All devices in groups of one size: { ids, attributes, groups of devices }. */
function randomGroups(r, { replicas, partitions }, operation) {
  const hasGlobal = ['all-reduce', 'all-gather', 'reduce-scatter'].includes(operation);
  const mode = r.pick(hasGlobal ? [replicaMode, crossMode, flatMode] : [replicaMode, crossMode]);
  const kind = !mode.channel ? 'replicas' : mode.global ? 'devices' : hasGlobal ? 'both' : 'partitions';
  const count = { replicas, devices: replicas * partitions, both: replicas, partitions }[kind];
  const each = kind === 'both' ? partitions : 1; // devices that an id stands for
  const sizes = GROUP_SIZES.filter((size) => count % size === 0 && SIZE % (size * each) === 0);
  if (!sizes.length) return null;
  const size = r.pick(sizes), ids = r.shuffled(Array.from({ length: count }, (_, i) => i));
  const lists = Array.from({ length: count / size }, (_, i) => ids.slice(i * size, (i + 1) * size));
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

const COLLECTIVES = ['all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all', 'collective-permute'];

/** A list of steps for all devices of the mesh, or for those of one branch. */
function randomSteps(r, mesh, depth, names) {
  const steps = [];
  for (let i = 1 + r.below(4); i > 0; i--) {
    const kind = r.pick(['arithmetic', 'collective', 'collective', 'collective', 'loop', 'branch', 'send']);
    if (kind === 'arithmetic') steps.push({ kind, by: 1 + r.below(9), plus: r.below(100) });
    else if (kind === 'collective') {
      const operation = r.pick(COLLECTIVES), channel = ++names.channel;
      const groups = randomGroups(r, mesh, operation);
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

export function randomProgram(seed) {
  const r = random(seed), replicas = 1 + r.below(6), partitions = r.pick([1, 1, 2, 3]);
  const mesh = { replicas, partitions };
  const steps = randomSteps(r, mesh, 0, { channel: 0 });
  const initial = Array.from({ length: replicas * partitions }, () =>
    Int32Array.from({ length: SIZE }, () => r.below(1000) - 500));
  return { mesh, steps, initial, seed };
}

/* ---- As HLO text ---- */

export function textOf({ mesh, steps }) {
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

/** Even and odd replicas. */
const halves = ({ replicas }) => [0, 1].map((parity) =>
  Array.from({ length: replicas }, (_, i) => i).filter((i) => i % 2 === parity));

/* ---- The simulation ---- */

/** The states of all devices after the program. */
export function simulate({ mesh, steps, initial }) {
  const { partitions } = mesh, devices = initial.map((_, d) => d);
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
  /** Of devices whose ids differ only in what the pairs are about. */
  function permute(pairs, mode, states) {
    return states.map((_, d) => {
      const id = mode.channel ? d % partitions : Math.floor(d / partitions);
      const from = pairs.find(([, to]) => to === id);
      if (!from) return new Int32Array(SIZE);
      return states[mode.channel ? d - id + from[0] : d - id * partitions + from[0] * partitions];
    });
  }
  return run(steps, initial, devices);
}

/* ---- Running ---- */

/** What the client runs when it is asked to start a worker. */
async function workersOf(body) {
  const workers = new Set(), { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (...args) {
    workers.add(this);
    return postMessage.apply(this, args);
  };
  try {
    return { result: await body(), workers };
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
}

const differs = (got, expected) => expected.findIndex((state, d) =>
  state.some((v, i) => v !== got[d][0].data[i]));

/**
 * One program, several times; now and then cancelled, or a worker of it killed.
 * @returns {Promise<{ error?: string, dead?: boolean, kind: string }>}
 */
export async function check(client, workers, seed) {
  const program = randomProgram(seed), r = random(~seed), expected = simulate(program);
  const kind = r.pick(['plain', 'plain', 'plain', 'cancelled', ...(workers.size ? ['killed'] : [])]);
  const module = client.parseHlo(textOf(program));
  const executable = await client.compile(module, program.mesh);
  const args = program.initial.map((x) => [x]);
  const failed = (why) => ({ error: `seed ${seed} (${kind}): ${why}`, kind });
  try {
    if (kind === 'cancelled') {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), r.below(3));
      await executable.executeReplicas(args, { signal: controller.signal }).catch((error) => {
        if (error.code !== 'CANCELLED') throw error;
      });
    }
    if (kind === 'killed') {
      const run = executable.executeReplicas(args).then(() => 'OK', (error) => {
        if (!(error instanceof XlaError)) throw error;
        return error.code;
      });
      await r.pick([...workers]).terminate();
      const code = await run;
      if (!['OK', 'INTERNAL', 'UNAVAILABLE'].includes(code)) return failed(code);
      return { dead: true, kind }; // its memory is on a stack that nobody frees
    }
    const device = differs(await executable.executeReplicas(args, { timeoutMs: 60000 }), expected);
    return device < 0 ? { kind } : failed(`device ${device} has something else`);
  } catch (error) {
    return failed(error.stack);
  } finally {
    if (!client.disposed) {
      executable.dispose();
      module.dispose();
    }
  }
}

/** @returns {Promise<{ programs: object, errors: string[] }>} how many of which kind */
export async function fuzz({ seconds, seed, programs: most = Infinity }) {
  const end = Date.now() + seconds * 1000, programs = {}, errors = [];
  let done = 0;
  while (Date.now() < end && done < most && errors.length < 5) {
    const threads = seed % 4;
    const { result: client, workers } = await workersOf(() => Client.create({ threads }));
    let dead = false, before;
    for (let i = 0; i < 50 && !dead && Date.now() < end && done < most; i++, done++) {
      const outcome = await check(client, workers, seed++);
      programs[outcome.kind] = (programs[outcome.kind] ?? 0) + 1;
      if (outcome.error) errors.push(outcome.error);
      dead = outcome.dead;
      if (i === 4) before = client.heapInUse;
    }
    if (!dead && before !== undefined && client.heapInUse > before + (64 << 10)) {
      errors.push(`before seed ${seed}: ${client.heapInUse - before} bytes stay`);
    }
    if (!client.disposed) client.dispose();
    seed = Math.ceil(seed / 50) * 50 + 1 + (seed % 4);
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
