/**
 * Programs for several devices: some that work together, and some that hang. Each is { name, text,
 * program, mesh, inputs, hangs }; a `program` may be several, for devices of their own (see
 * shared/loaded_program.mjs). tests/runtime/meshes.test.mjs runs them all.
 */

const ADD = `add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}
`;

const DATA_PARALLEL = `HloModule data_parallel_step

${ADD}
// Each replica has examples of its own, and a copy of the weights. Only gradients travel.
ENTRY step {
  w = f32[192,192] parameter(0)
  x = f32[256,192] parameter(1)
  y = f32[256,192] parameter(2)
  out = f32[256,192] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  error = f32[256,192] subtract(out, y)
  mine = f32[192,192] dot(x, error), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  gradient = f32[192,192] all-reduce(mine), replica_groups={}, to_apply=add
  rate = f32[] constant(0.0001)
  rates = f32[192,192] broadcast(rate), dimensions={}
  change = f32[192,192] multiply(gradient, rates)
  ROOT next = f32[192,192] subtract(w, change)
}
`;

const ring = (step) => `  sent${step} = f32[65536] collective-permute(sum${step - 1}), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  sum${step} = f32[65536] add(sent${step}, mine)`;

const RING = `HloModule ring_all_reduce

// What travels round the ring grows by each device's part: after three steps everyone has it all.
ENTRY ring {
  x = f32[65536] parameter(0)
  mine = f32[65536] exponential(x)
  sum0 = f32[65536] copy(mine)
${[1, 2].map(ring).join('\n')}
  sent3 = f32[65536] collective-permute(sum2), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  ROOT sum3 = f32[65536] add(sent3, mine)
}
`;

const TENSOR_PARALLEL = `HloModule tensor_parallel, num_partitions=4

${ADD}
// Each partition has some columns of the first matrix and the same rows of the second: between the
// two nothing travels, and at the end one sum.
ENTRY layer {
  x = f32[128,256] parameter(0)
  columns = f32[256,128] parameter(1)
  rows = f32[128,256] parameter(2)
  hidden = f32[128,128] dot(x, columns), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  active = f32[128,128] tanh(hidden)
  part = f32[128,256] dot(active, rows), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT whole = f32[128,256] all-reduce(part), replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true, to_apply=add
}
`;

const PAIRS = '_xla_send_recv_source_target_pairs={{0,1},{1,2}}';

const PIPELINE = `HloModule pipeline, replica_count=3

// Three stages. Each waits for the one before, works, and sends on; the first begins by itself.
ENTRY stage {
  x = f32[256,256] parameter(0)
  w = f32[256,256] parameter(1)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(id, zero), direction=EQ
  begin = token[] after-all()
  r = (f32[256,256], u32[], token[]) recv(begin), channel_id=1, frontend_attributes={${PAIRS}}
  got = (f32[256,256], token[]) recv-done(r), channel_id=1, frontend_attributes={${PAIRS}}
  data = f32[256,256] get-tuple-element(got), index=0
  received = token[] get-tuple-element(got), index=1
  is_first = pred[256,256] broadcast(first), dimensions={}
  in = f32[256,256] select(is_first, x, data)
  product = f32[256,256] dot(in, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  out = f32[256,256] tanh(product)
  s = (f32[256,256], u32[], token[]) send(out, received), channel_id=1, frontend_attributes={${PAIRS}}
  sent = token[] send-done(s), channel_id=1
  ROOT y = f32[256,256] copy(out)
}
`;

const STAGE = 'f32[160,160]';
const BATCHES = 4;

/** A stage of a pipeline: takes a batch, works on it, and gives it on. */
const stage = (name, { comment, state, take, give }) => `// ${comment}
HloModule ${name}

more {
  s = (s32[], ${STAGE}, ${state.type}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${BATCHES})
  ROOT less = pred[] compare(i, n), direction=LT
}

turn {
  s = (s32[], ${STAGE}, ${state.type}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  w = ${STAGE} get-tuple-element(s), index=1
  own = ${state.type} get-tuple-element(s), index=2
  ready = token[] after-all()
${take}
  product = ${STAGE} dot(in, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  out = ${STAGE} tanh(product)
${give}
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT all = (s32[], ${STAGE}, ${state.type}) tuple(next, w, ${state.next})
}

ENTRY main {
  w = ${STAGE} parameter(0)
${state.start}
  zero = s32[] constant(0)
  begin = (s32[], ${STAGE}, ${state.type}) tuple(zero, w, own)
  end = (s32[], ${STAGE}, ${state.type}) while(begin), condition=more, body=turn
  ROOT result = ${state.type} get-tuple-element(end), index=2
}
`;

const link = (from, to) => `frontend_attributes={_xla_send_recv_source_target_pairs={{${from},${to}}}}`;

const receive = (from, to) => `  r = (${STAGE}, u32[], token[]) recv(ready), channel_id=${to}, ${link(from, to)}
  got = (${STAGE}, token[]) recv-done(r), channel_id=${to}, ${link(from, to)}
  in = ${STAGE} get-tuple-element(got), index=0`;

const send = (from, to) => `  sending = (${STAGE}, u32[], token[]) send(out, ready), channel_id=${to}, ${link(from, to)}
  sent = token[] send-done(sending), channel_id=${to}`;

const COUNTED = { type: 'f32[]', next: 'own', start: '  own = f32[] constant(0)' };

const THREE_PROGRAMS = [
  stage('reads', {
    comment: `Three programs, each for a device of its own. This one has ${BATCHES} batches, and sends them on.`,
    state: { type: `f32[${BATCHES},160,160]`, next: 'own', start: `  own = f32[${BATCHES},160,160] parameter(1)` },
    take: `  none = s32[] constant(0)
  slice = f32[1,160,160] dynamic-slice(own, i, none, none), dynamic_slice_sizes={1,160,160}
  in = ${STAGE} reshape(slice)`,
    give: send(0, 1),
  }),
  stage('works', { comment: 'This one knows neither where they come from nor where they go.', state: COUNTED, take: receive(0, 1), give: send(1, 2) }),
  stage('sums', {
    comment: 'And this one adds up what arrives.',
    state: { type: STAGE, next: 'more_of_it', start: `  nought = f32[] constant(0)\n  own = ${STAGE} broadcast(nought), dimensions={}` },
    take: receive(1, 2), give: `  more_of_it = ${STAGE} add(own, out)`,
  }),
].join('\n');

/** Two programs that each wait for the other's first message. */
const peer = (name, from, to) => `HloModule ${name}

ENTRY main {
  x = f32[] parameter(0)
  begin = token[] after-all()
  r = (f32[], u32[], token[]) recv(begin), channel_id=${to + 1}, ${link(from, to)}
  heard = (f32[], token[]) recv-done(r), channel_id=${to + 1}, ${link(from, to)}
  y = f32[] get-tuple-element(heard), index=0
  then = token[] get-tuple-element(heard), index=1
  s = (f32[], u32[], token[]) send(x, then), channel_id=${from + 1}, ${link(to, from)}
  said = token[] send-done(s), channel_id=${from + 1}
  ROOT z = f32[] add(x, y)
}
`;

const TWO_POLITE = `${peer('one', 1, 0)}\n${peer('other', 0, 1)}`;

const GROUP_MODES = `HloModule group_modes

${ADD}
// Two replicas of four partitions. The same operation, in the four ways in which groups can be meant.
ENTRY modes {
  r = u32[] replica-id()
  p = u32[] partition-id()
  ten = u32[] constant(10)
  tens = u32[] multiply(r, ten)
  number = u32[] add(tens, p)
  x = f32[] convert(number)
  replicas = f32[] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  everyone = f32[] all-reduce(x), replica_groups={{0,1}}, channel_id=1, to_apply=add
  rows = f32[] all-reduce(x), replica_groups={{0,1,2,3},{4,5,6,7}}, channel_id=2, use_global_device_ids=true, to_apply=add
  partitions = f32[] collective-permute(x), channel_id=3, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  ROOT all = (f32[], f32[], f32[], f32[]) tuple(replicas, everyone, rows, partitions)
}
`;

/** Replicas take one of two branches: the first replica the first one. */
const branches = (name, yes, no) => `HloModule ${name}, replica_count=3

${ADD}
${yes}

${no}

ENTRY main {
  x = f32[] parameter(0)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(id, zero), direction=EQ
  ROOT y = f32[] conditional(first, x, x), true_computation=one_way, false_computation=other_way
}
`;

const SKIPPED = branches('skipped', `one_way {
  x = f32[] parameter(0)
  ROOT y = f32[] add(x, x)
}`, `other_way {
  x = f32[] parameter(0)
  ROOT sum = f32[] all-reduce(x), replica_groups={}, to_apply=add
}`);

const CROSSED = branches('crossed', `one_way {
  x = f32[] parameter(0)
  a = f32[] all-reduce(x), replica_groups={}, channel_id=1, to_apply=add
  ROOT b = f32[] all-reduce(a), replica_groups={}, channel_id=2, to_apply=add
}`, `other_way {
  x = f32[] parameter(0)
  b = f32[] all-reduce(x), replica_groups={}, channel_id=2, to_apply=add
  ROOT a = f32[] all-reduce(b), replica_groups={}, channel_id=1, to_apply=add
}`);

const CIRCLE = '_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,3},{3,0}}';

const POLITE = `HloModule polite_ring, replica_count=4

// Everyone receives before sending. So everyone waits for the one before, all the way round.
ENTRY main {
  x = f32[] parameter(0)
  begin = token[] after-all()
  r = (f32[], u32[], token[]) recv(begin), channel_id=1, frontend_attributes={${CIRCLE}}
  got = (f32[], token[]) recv-done(r), channel_id=1, frontend_attributes={${CIRCLE}}
  y = f32[] get-tuple-element(got), index=0
  received = token[] get-tuple-element(got), index=1
  s = (f32[], u32[], token[]) send(y, received), channel_id=1, frontend_attributes={${CIRCLE}}
  sent = token[] send-done(s), channel_id=1
  ROOT z = f32[] add(x, y)
}
`;

const UNEVEN_LOOPS = `HloModule turns, replica_count=3

${ADD}
more {
  s = (s32[], s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT less = pred[] compare(i, n), direction=LT
}

step {
  s = (s32[], s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  x = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  sum = f32[] all-reduce(x), replica_groups={}, to_apply=add
  ROOT next = (s32[], s32[], f32[]) tuple(j, n, sum)
}

// Replica r makes r + 2 iterations, and each iteration waits for all other replicas.
ENTRY main {
  x = f32[] parameter(0)
  id = u32[] replica-id()
  r = s32[] convert(id)
  two = s32[] constant(2)
  n = s32[] add(r, two)
  none = s32[] constant(0)
  start = (s32[], s32[], f32[]) tuple(none, n, x)
  end = (s32[], s32[], f32[]) while(start), condition=more, body=step
  ROOT y = f32[] get-tuple-element(end), index=2
}
`;

const NEVER_SENT = `HloModule never_sent, replica_count=2

silent {
  x = f32[] parameter(0)
  ROOT y = f32[] negate(x)
}

listening {
  x = f32[] parameter(0)
  begin = token[] after-all()
  r = (f32[], u32[], token[]) recv(begin), channel_id=7, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  got = (f32[], token[]) recv-done(r), channel_id=7, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  ROOT y = f32[] get-tuple-element(got), index=0
}

speaking {
  x = f32[] parameter(0)
  begin = token[] after-all()
  s = (f32[], u32[], token[]) send(x, begin), channel_id=7, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  sent = token[] send-done(s), channel_id=7
  ROOT y = f32[] negate(x)
}

// Replica 0 should speak, but its argument says not to; replica 1 listens.
ENTRY main {
  x = f32[] parameter(0)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(id, zero), direction=EQ
  nought = f32[] constant(0)
  willing = pred[] compare(x, nought), direction=GT
  speaks = pred[] and(first, willing)
  one = s32[] constant(1)
  two = s32[] constant(2)
  none = s32[] constant(0)
  quiet = s32[] select(first, none, one)
  which = s32[] select(speaks, two, quiet)
  ROOT y = f32[] conditional(which, x, x, x), branch_computations={silent, listening, speaking}
}
`;

export const MESH_PROGRAMS = [
  { name: 'Data-parallel step', text: 'Four replicas, each with examples of its own, add up their gradients. See them wait for the last one.', program: DATA_PARALLEL, mesh: { replicas: 4 }, inputs: ['random', 'random', 'random'] },
  { name: 'Ring all-reduce by permutes', text: 'The same sum without an all-reduce: each sends to the next, three times. Every device talks to two others only.', program: RING, mesh: { replicas: 4 }, inputs: ['random'] },
  { name: 'Tensor-parallel pair of dots', text: 'One layer cut over four partitions: columns first, then rows. One all-reduce at the end is all that travels.', program: TENSOR_PARALLEL, mesh: {}, inputs: ['random', 'random', 'random'] },
  { name: 'Three-stage pipeline', text: 'Stages send and receive. One after the other works, as long as there is one batch only.', program: PIPELINE, mesh: {}, inputs: ['random', 'random'] },
  { name: 'Three programs, a pipeline', text: 'Three programs that know each other by channels only, and four batches: while one is summed up, the next is worked on.', program: THREE_PROGRAMS, mesh: {}, inputs: ['random', 'random', 'random', 'random'] },
  { name: 'Four group modes, 2 x 4', text: 'Which devices meet depends on channel_id and use_global_device_ids. Scrub, and see who meets whom.', program: GROUP_MODES, mesh: { replicas: 2, partitions: 4 }, inputs: [] },
  { name: 'Hangs: a branch without the all-reduce', text: 'Replica 0 takes the other branch and finishes. The others wait for it at the all-reduce, for ever.', program: SKIPPED, mesh: {}, inputs: [1], hangs: true },
  { name: 'Hangs: two all-reduces, crossed', text: 'Replica 0 does channel 1 first, the others channel 2. Each waits for who waits for it.', program: CROSSED, mesh: {}, inputs: [1], hangs: true },
  { name: 'Hangs: a ring of receivers', text: 'Everyone receives before sending. It is the oldest deadlock there is.', program: POLITE, mesh: {}, inputs: [1], hangs: true },
  { name: 'Hangs: loops of different lengths', text: 'Replica r makes r + 2 iterations. When replica 0 is through, the others wait for it in the third.', program: UNEVEN_LOOPS, mesh: {}, inputs: [1], hangs: true },
  { name: 'Hangs: a message never sent', text: 'Replica 1 listens; replica 0 has nothing to say. Make the argument positive, and it speaks.', program: NEVER_SENT, mesh: {}, inputs: [-1], hangs: true },
  { name: 'Hangs: two programs, both listening', text: 'Different programs can hang together, too. Exchange the two lines of one of them: who speaks first ends it.', program: TWO_POLITE, mesh: {}, inputs: [1, 2], hangs: true },
];
