/** Random programs of several devices as HLO text, for the devices of one variant. */
import { SIZE } from './devices_programs.mjs';

const SHAPE = `s32[${SIZE}]`;

/** A program's computations, and the names that are taken. */
class Program {
  #names = 0;
  computations = [];

  constructor(mesh, variant) {
    Object.assign(this, { mesh, variant });
    for (const operation of ['add', 'maximum']) {
      this.computations.push(`f.${operation} { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] ${operation}(a, b) }`);
    }
  }

  name(what) {
    return `${what}.${this.#names++}`;
  }
}

/** The lines of one computation. */
class Body {
  constructor(program, ...lines) {
    Object.assign(this, { program, lines });
  }

  /** Begins another computation of the program. */
  inside(...lines) {
    return new Body(this.program, ...lines);
  }

  /** Adds an instruction. @returns {string} its name */
  add(what, shape, text) {
    const id = this.program.name(what);
    this.lines.push(`  ${id} = ${shape} ${text}`);
    return id;
  }

  /** Adds a state whose elements are all `value`. */
  constant(value) {
    return this.add('bc', SHAPE, `broadcast(${this.add('k', 's32[]', `constant(${value})`)}), dimensions={}`);
  }

  /** Adds steps to the state x. @returns {string} the name of the state after them */
  write(steps, x) {
    for (const step of steps) x = WRITERS[step.kind](this, step, x);
    return x;
  }
}

const dots = (ids) => `{${ids.map((list) => `{${list.join(',')}}`).join(',')}}`;

/** The ids of the even replicas, and those of the odd ones. */
const halves = ({ replicas }) => [0, 1].map((parity) =>
  Array.from({ length: replicas }, (_, i) => i).filter((i) => i % 2 === parity));

/* ---- Steps: each adds its instructions to b, for the state x, and returns the name of the next state ---- */

function arithmetic(b, { by, plus }, x) {
  const id = b.add('id', 's32[]', `convert(${b.add('r', 'u32[]', 'replica-id()')})`);
  const p = b.add('pi', 's32[]', `convert(${b.add('p', 'u32[]', 'partition-id()')})`);
  const both = b.add('rp', 's32[]', `add(${id}, ${b.add('p2', 's32[]', `add(${p}, ${p})`)})`);
  const own = b.add('own', SHAPE, `broadcast(${both}), dimensions={}`);
  const scaled = b.add('m', SHAPE, `multiply(${x}, ${b.constant(by)})`);
  const moved = b.add('a', SHAPE, `add(${scaled}, ${b.constant(plus)})`);
  return b.add('y', SHAPE, `add(${moved}, ${own})`);
}

function collective(b, { operation, channel, reducer, lists, mode, members, pairs }, x) {
  const tail = (mode.channel ? `, channel_id=${channel}` : '') +
    (mode.global ? ', use_global_device_ids=true' : '');
  const groups = `replica_groups=${dots(lists)}${tail}`, part = SIZE / members;
  switch (operation) {
    case 'all-reduce':
      return b.add('ar', SHAPE, `all-reduce(${x}), ${groups}, to_apply=f.${reducer}`);
    case 'all-gather': {
      const shard = b.add('s', `s32[${part}]`, `slice(${x}), slice={[0:${part}]}`);
      return b.add('ag', SHAPE, `all-gather(${shard}), ${groups}, dimensions={0}`);
    }
    case 'reduce-scatter': {
      const shard = b.add('rs', `s32[${part}]`,
        `reduce-scatter(${x}), ${groups}, dimensions={0}, to_apply=f.${reducer}`);
      const zero = b.add('z', 's32[]', 'constant(7)');
      return b.add('pd', SHAPE, `pad(${shard}, ${zero}), padding=0_${SIZE - part}`);
    }
    case 'all-to-all':
      return b.add('aa', SHAPE, `all-to-all(${x}), ${groups}, dimensions={0}`);
    case 'collective-broadcast':
      return b.add('cb', SHAPE, `collective-broadcast(${x}), ${groups}`);
    default:
      return b.add('cp', SHAPE,
        `collective-permute(${x}), source_target_pairs=${dots(pairs)}${tail}`);
  }
}

function send(b, { channel, pairs }, x) {
  const attributes = `channel_id=${channel}, frontend_attributes={_xla_send_recv_source_target_pairs=${
    dots(pairs)}}`;
  const t = b.add('t', 'token[]', 'after-all()'), tuple = `(${SHAPE}, u32[], token[])`;
  const s = b.add('sd', tuple, `send(${x}, ${t}), ${attributes}`);
  b.add('sx', 'token[]', `send-done(${s}), ${attributes}`);
  const v = b.add('rv', tuple, `recv(${t}), ${attributes}`);
  const d = b.add('rd', `(${SHAPE}, token[])`, `recv-done(${v}), ${attributes}`);
  const got = b.add('g', SHAPE, `get-tuple-element(${d}), index=0`);
  return b.add('y', SHAPE, `add(${got}, ${x})`);
}

function feed(b, _, x) {
  const t = b.add('t', 'token[]', 'after-all()');
  const out = b.add('o', 'token[]', `outfeed(${x}, ${t}), outfeed_shape=${SHAPE}`);
  const pair = b.add('in', `(${SHAPE}, token[])`, `infeed(${out})`);
  return b.add('y', SHAPE, `add(${x}, ${b.add('v', SHAPE, `get-tuple-element(${pair}), index=0`)})`);
}

function own(b, { turns, plus }, x) {
  for (let i = 0; i < turns[b.program.variant]; i++) x = b.add('o', SHAPE, `multiply(${x}, ${b.constant(3)})`);
  return b.add('o', SHAPE, `add(${x}, ${b.constant(plus[b.program.variant])})`);
}

function pipe(b, { from, to, channel }, x) {
  const tuple = `(${SHAPE}, u32[], token[])`, on = `channel_id=${channel}`;
  if (b.program.variant !== from && b.program.variant !== to) return x;
  const t = b.add('t', 'token[]', 'after-all()');
  if (b.program.variant === from) {
    b.add('sx', 'token[]', `send-done(${b.add('sd', tuple, `send(${x}, ${t}), ${on}`)}), ${on}`);
    return x;
  }
  const d = b.add('rd', `(${SHAPE}, token[])`, `recv-done(${b.add('rv', tuple, `recv(${t}), ${on}`)}), ${on}`);
  return b.add('y', SHAPE, `add(${b.add('g', SHAPE, `get-tuple-element(${d}), index=0`)}, ${x})`);
}

function loop(b, { turns, body }, x) {
  const state = `(s32[], ${SHAPE})`, [condition, turn] = [b.program.name('more'), b.program.name('turn')];
  b.program.computations.push(`${condition} { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${turns})
  ROOT p = pred[] compare(i, n), direction=LT }`);
  const inner = b.inside(`  s = ${state} parameter(0)`, '  i = s32[] get-tuple-element(s), index=0',
    '  one = s32[] constant(1)', '  j = s32[] add(i, one)');
  const y = inner.write(body, inner.add('x', SHAPE, 'get-tuple-element(s), index=1'));
  b.program.computations.push(`${turn} {\n${inner.lines.join('\n')}\n  ROOT r = ${state} tuple(j, ${y})\n}`);
  const first = b.add('i', 's32[]', 'constant(0)');
  const begin = b.add('s', state, `tuple(${first}, ${x})`);
  const end = b.add('w', state, `while(${begin}), condition=${condition}, body=${turn}`);
  return b.add('y', SHAPE, `get-tuple-element(${end}), index=1`);
}

function branch(b, { odd, even, channel, meets }, x) {
  const bodies = [even, odd].map((list, parity) => {
    const id = b.program.name('branch'), inner = b.inside(`  x = ${SHAPE} parameter(0)`);
    let y = inner.write(list, 'x');
    const ids = halves(b.program.mesh)[parity];
    if (meets && ids.length) {
      const all = [ids, ...halves(b.program.mesh)[1 - parity].map((other) => [other])];
      y = inner.add('m', SHAPE, `all-reduce(${y}), replica_groups=${dots(all)}, channel_id=${
        channel * 1000 + parity}, to_apply=f.add`);
    }
    b.program.computations.push(`${id} {\n${inner.lines.join('\n')}\n  ROOT r = ${SHAPE} copy(${y})\n}`);
    return id;
  });
  const id = b.add('id', 's32[]', `convert(${b.add('r', 'u32[]', 'replica-id()')})`);
  const two = b.add('two', 's32[]', 'constant(2)');
  const parity = b.add('odd', 's32[]', `remainder(${id}, ${two})`);
  return b.add('c', SHAPE, `conditional(${parity}, ${x}, ${x}), branch_computations={${bodies.join(', ')}}`);
}

const WRITERS = { arithmetic, collective, send, feed, own, pipe, loop, branch };

/** @param {number} variant of the devices' programs */
export function textOf({ mesh, steps }, variant = 0) {
  const program = new Program(mesh, variant), entry = new Body(program, `  x = ${SHAPE} parameter(0)`);
  const result = entry.write(steps, 'x');
  return `HloModule devices, replica_count=${mesh.replicas}, num_partitions=${mesh.partitions}
${program.computations.join('\n')}
ENTRY main {\n${entry.lines.join('\n')}\n  ROOT result = ${SHAPE} copy(${result})\n}`;
}
