/** Rules that add what replicas do together. */
import { COMPLEX, DECIDED, FLOATS, INTEGERS, isInexact, sumOf } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { binaryComputation } from './scalars.mjs';
import { count } from './values.mjs';

const TYPES = ['pred', ...INTEGERS, ...FLOATS, 'f32', ...COMPLEX]
  .filter((type) => !['s4', 'u4'].includes(type));

/** All replicas in one group, or in groups of the same size, in random order. */
function randomGroups(p, random) {
  const all = random.shuffle(Array.from({ length: p.replicas }, (_, i) => i));
  const size = p.replicas % 2 === 0 && random.chance(0.4) ? p.replicas / 2 : p.replicas;
  const groups = [];
  while (all.length) groups.push(all.splice(0, size));
  return { groups, size };
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
  const { groups } = randomGroups(p, random);
  return how && p.add('all-reduce', [x], how.result, (b, [a]) =>
    b.allReduce(a, binaryComputation(b, type, how.method), { replicaGroups: groups }));
}

function allGather(p, random) {
  const x = p.decided(TYPES);
  if (!x || !x.shape.rank || !count(x.shape.dimensions)) return null;
  const { groups, size } = randomGroups(p, random);
  const dimension = random.between(0, x.shape.rank - 1);
  return p.add('all-gather', [x], moved(x), (b, [a]) =>
    b.allGather(a, dimension, size, { replicaGroups: groups }));
}

/** An array one of whose dimensions the group's size divides. */
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
  const { groups, size } = randomGroups(p, random);
  const found = divisible(p, random, size);
  if (!found) return null;
  const { x, dimension } = found;
  const { elementType: type } = x.shape;
  const how = reducing(random, type, x.domain, size);
  return how && p.add('reduce-scatter', [x], how.result, (b, [a]) =>
    b.reduceScatter(
      a, binaryComputation(b, type, how.method), dimension, size, { replicaGroups: groups }));
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

function collectivePermute(p, random) {
  const x = p.any();
  if (!x || !TYPES.includes(x.shape.elementType)) return null;
  const all = Array.from({ length: p.replicas }, (_, i) => i);
  const targets = random.shuffle(all);
  const pairs = random.some(all.map((source, i) => [source, targets[i]]), 0.8);
  if (!pairs.length) return null;
  return p.add('collective-permute', [x], moved(x), (b, [a]) => b.collectivePermute(a, pairs));
}

const replicaId = (p) => p.add('replica-id', [], DECIDED, (b) => b.replicaId());

export const collectiveRules = {
  allReduce, allGather, reduceScatter, allToAll, collectivePermute, replicaId,
};
