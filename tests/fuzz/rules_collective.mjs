/** Rules that add collectives of replicas. */
import { BYTES, COMPLEX, DECIDED, FLOATS, isInexact, sumOf, union } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import { binaryComputation } from './scalars.mjs';
import { count, numbersTo } from './values.mjs';

const TYPES = ['pred', ...BYTES, ...FLOATS, 'f32', ...COMPLEX];

/** All replicas in one group, or in groups of the same size, in random order. */
function randomGroups(p, random) {
  const all = random.shuffle(numbersTo(p.replicas));
  const size = p.replicas % 2 === 0 && random.chance(0.4) ? p.replicas / 2 : p.replicas;
  const groups = numbersTo(p.replicas / size).map((i) => all.slice(i * size, (i + 1) * size));
  return { groups, size };
}

/** The groups as reductions and all-gather take them: in one partition, all of these are the same. */
function groupOptions(p, random, { groups }) {
  const whole = groups.length === 1 && groups[0].every((replica, i) => replica === i);
  const replicaGroups = whole && random.chance(0.5) ? [] : groups;
  if (random.chance(0.6) || !replicaGroups.length) return { replicaGroups };
  return {
    replicaGroups,
    channelId: p.steps.length + 1, // its own: XLA:CPU takes the layouts of one for the other's
    ...(random.chance(0.5) && { useGlobalDeviceIds: true }),
  };
}

function reducing(random, type, d, replicas) {
  if (type === 'pred') return { method: random.pick(['and', 'or']), result: DECIDED };
  if (!isInexact(type)) {
    return { method: random.pick(['add', 'mul', 'max', 'min']), result: DECIDED };
  }
  const sum = sumOf(type, d, replicas);
  if (sum && random.chance(0.6)) return { method: 'add', result: sum };
  if (COMPLEX.includes(type)) return null;
  return { method: random.pick(['max', 'min']), result: computed(d) };
}

function allReduce(p, random) {
  const x = p.decided(TYPES);
  if (!x) return null;
  const { elementType: type } = x.shape;
  const how = reducing(random, type, x.domain, p.replicas);
  const options = groupOptions(p, random, randomGroups(p, random));
  return how && p.add('all-reduce', [x], how.result, (b, [a]) =>
    b.allReduce(a, binaryComputation(b, type, how.method), options));
}

/** Arrays of one type and any sizes; with a channel, XLA:CPU finds no layout for the tuple. */
function allReduceTuple(p, random) {
  const type = random.pick(TYPES);
  const arrays = [p.decided([type]), p.decided([type])];
  const how = arrays.includes(null) ? null
    : reducing(random, type, union(type, arrays.map(({ domain }) => domain)), p.replicas);
  if (!how) return null;
  const { groups } = randomGroups(p, random);
  const step = p.add('all-reduce', arrays, arrays.map(() => how.result), (b, ops) =>
    b.allReduce(b.tuple(ops), binaryComputation(b, type, how.method), { replicaGroups: groups }));
  return takeElements(p, step);
}

/** A collective in several branches: replicas that took different ones meet on a channel. */
function meeting(p, random) {
  const x = p.decided(TYPES);
  if (!x) return null;
  const { elementType: type, dimensions } = x.shape;
  const how = reducing(random, type, x.domain, p.replicas);
  if (!how) return null;
  const options = {
    replicaGroups: random.chance(0.5) ? randomGroups(p, random).groups : [numbersTo(p.replicas)],
    channelId: p.steps.length + 1,
  };
  return p.add('all-reduce', [x], computed(how.result), (b, [a]) => {
    const index = b.rem(b.convertElementType(b.replicaId(), 's32'), b.constantR0(2, 's32'));
    const branches = [0, 1].map((k) => {
      const inner = b.createSubBuilder(`branch_${k}`);
      const own = inner.parameter(0, `${type}[${dimensions}]`);
      const first = k ? inner.rev(own, dimensions.map((_, i) => i)) : inner.copy(own);
      const sum = inner.allReduce(first, binaryComputation(inner, type, how.method), options);
      return inner.build(inner.copy(k ? inner.rev(sum, [0].slice(0, dimensions.length)) : sum));
    });
    return b.conditional(index, branches, [a, a]);
  });
}

function allGather(p, random) {
  const x = p.decided(TYPES);
  if (!x || !x.shape.rank || !count(x.shape.dimensions)) return null;
  const together = randomGroups(p, random);
  const options = groupOptions(p, random, together);
  const dimension = random.between(0, x.shape.rank - 1);
  return p.add('all-gather', [x], moved(x), (b, [a]) =>
    b.allGather(a, dimension, together.size, options));
}

/** Vectors of any types. XLA:CPU may mix up layouts of arrays with more dimensions. */
function allGatherTuple(p, random) {
  const x = p.any(({ shape, domain }) =>
    !domain.tolerance && TYPES.includes(shape.elementType) && count(shape.dimensions) > 0,
  () => random.pick(TYPES), 1);
  if (!x) return null;
  const arrays = [x, p.like(x, random.pick(['s32', 'f32', 'u8', x.shape.elementType]))];
  const together = randomGroups(p, random);
  const options = groupOptions(p, random, together);
  const step = p.add('all-gather', arrays, arrays.map(moved), (b, ops) =>
    b.allGather(b.tuple(ops), 0, together.size, options));
  return takeElements(p, step);
}

/** An array with a dimension that is a multiple of the group's size. */
function divisible(p, random, size) {
  const x = p.decided(TYPES);
  if (!x || !x.shape.rank || !count(x.shape.dimensions)) return null;
  const dimension = random.between(0, x.shape.rank - 1);
  const dimensions = x.shape.dimensions.map((n, i) =>
    i === dimension ? size * Math.min(n, 4) : n);
  if (count(dimensions) > 4000) return null;
  return { x: p.fresh(x.shape.elementType, dimensions), dimension };
}

function reduceScatter(p, random) {
  const together = randomGroups(p, random);
  const { size } = together;
  const options = groupOptions(p, random, together);
  const found = divisible(p, random, size);
  if (!found) return null;
  const { x, dimension } = found;
  const { elementType: type } = x.shape;
  const how = reducing(random, type, x.domain, size);
  return how && p.add('reduce-scatter', [x], how.result, (b, [a]) =>
    b.reduceScatter(a, binaryComputation(b, type, how.method), dimension, size, options));
}

function allToAll(p, random) {
  const { groups, size } = randomGroups(p, random);
  const found = divisible(p, random, size);
  if (!found) return null;
  const { x, dimension } = found;
  const concat = random.between(0, x.shape.rank - 1);
  return p.add('all-to-all', [x], moved(x), (b, [a]) =>
    b.allToAll(a, dimension, concat, size, { replicaGroups: groups }));
}

/** One array for each replica of the group, which has at least two: XLA:CPU crashes with one. */
function allToAllTuple(p, random) {
  const { groups, size } = randomGroups(p, random);
  const x = p.decided(TYPES);
  if (!x || size < 2 || !count(x.shape.dimensions)) return null;
  const arrays = [x, ...numbersTo(size - 1).map(() => p.like(x))];
  const d = union(x.shape.elementType, arrays.map(({ domain }) => domain));
  const step = p.add('all-to-all', arrays, arrays.map(() => d), (b, ops) =>
    b.allToAllTuple(ops, { replicaGroups: groups }));
  return takeElements(p, step);
}

function collectivePermute(p, random) {
  const x = p.any();
  if (!x || !TYPES.includes(x.shape.elementType)) return null;
  const all = numbersTo(p.replicas);
  const targets = random.shuffle(all);
  const pairs = random.some(all.map((source, i) => [source, targets[i]]), 0.8);
  if (!pairs.length) return null;
  return p.add('collective-permute', [x], moved(x), (b, [a]) => b.collectivePermute(a, pairs));
}

const replicaId = (p) => p.add('replica-id', [], DECIDED, (b) => b.replicaId());

export const collectiveRules = {
  allReduce, allReduceTuple, allGather, allGatherTuple, reduceScatter, allToAll, allToAllTuple,
  collectivePermute, replicaId, meeting,
};
