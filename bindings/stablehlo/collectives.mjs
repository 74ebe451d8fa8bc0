/** Lowers the collectives of replicas and partitions. */
import { Shape } from '../values/shape.mjs';
import { malformed, Struct } from './ir.mjs';
import { promoting } from './operations.mjs';
import { groupsOfMesh } from './sharding.mjs';
import { REAL } from './types.mjs';

/** Groups are filled up with -1 where they differ in size. */
function replicaGroups(c) {
  const value = c.attribute('replica_groups');
  if (value instanceof Struct) return groupsOfMesh(c, value);
  return c.rows('replica_groups', []).map((group) => group.filter((id) => id >= 0))
    .filter((group) => group.length);
}

const channel = (c) => ({ channel_id: c.int('channel_id', 0) || undefined });

const group = (c) => ({
  ...channel(c),
  replica_groups: replicaGroups(c),
  use_global_device_ids: c.bool('use_global_device_ids') || undefined,
});

function declaredShapes(c) {
  const shapes = c.operation.results.map((_, i) => c.shape(i));
  return shapes.length === 1 ? shapes[0] : Shape.tuple(shapes);
}

const allGather = (c) =>
  c.emit('all-gather', c.in, { ...group(c), dimensions: [c.int('all_gather_dim')] }, declaredShapes(c));

/** The region is of scalars; some programs have several results. */
const allReduce = (c) => c.emit('all-reduce', c.in, { ...group(c), to_apply: c.computation(0) });

const reduceScatter = (c) => c.emit('reduce-scatter', c.in, {
  ...group(c), dimensions: [c.int('scatter_dimension')], to_apply: c.computation(0),
}, declaredShapes(c));

function allToAll(c) {
  const { channel_id: channelId, replica_groups: groups } = group(c);
  return c.in.map((x) => c.b.allToAll(
    x, c.int('split_dimension'), c.int('concat_dimension'), c.int('split_count'), groups, channelId,
  ));
}

const collectivePermute = (c) => c.emit('collective-permute', [c.x], {
  ...channel(c), source_target_pairs: c.rows('source_target_pairs'),
});

const broadcastFrom = (c, x, groups) =>
  c.emit('collective-broadcast', [x], { ...channel(c), replica_groups: groups });

function collectiveBroadcast(c) {
  const groups = replicaGroups(c);
  if (!c.bool('has_dynamic_root')) return c.in.map((x) => broadcastFrom(c, x, groups));
  return operandsAndRoots(c).map(({ x, root }) => places(groups).reduce((result, place) =>
    c.b.select(c.b.eq(root, c.constant(place, 's32')), ofMember(c, x, groups, place), result), zeros(c, x)));
}

/* ---- Operations that HLO lacks: computed roots, and reductions to a root; by broadcasts of each member's value ---- */

/** Each operand with its root: the last operand has them, s32[operands]. */
function operandsAndRoots({ b, in: operands }) {
  const roots = operands.at(-1);
  return operands.slice(0, -1).map((x, i) => ({ x, root: b.reshape(b.slice(roots, [i], [i + 1], [1]), []) }));
}

/** 0 to the size of the largest group. */
const places = (groups) => Array.from({ length: Math.max(0, ...groups.map((group) => group.length)) }, (_, i) => i);

/** Broadcasts the value of the member at `place` to its whole group; zeros if there is no such member. */
const ofMember = (c, x, groups, place) => broadcastFrom(c, x, groups
  .filter((group) => group.length > place)
  .map((group) => [group[place], ...group.filter((_, i) => i !== place)]));

function zeros(c, x) {
  const { elementType, dimensions } = x.shape;
  const zero = elementType === 'pred' ? false : REAL[elementType] ? [0, 0] : 0;
  return c.b.broadcast(c.constant(zero, elementType), dimensions);
}

/** Whether this device is among `ids`, which are those of replica_groups. */
function isOneOf(c, ids) {
  const own = channel(c).channel_id ? c.b.partitionId() : c.b.replicaId();
  return ids.map((id) => c.b.eq(own, c.constant(id, 'u32')))
    .reduce((any, one) => c.b.or(any, one), c.constant(false, 'pred'));
}

/** Reduces in the order of the group, as all_reduce; the root gets the result, the others zeros. */
function collectiveReduce(c) {
  if (c.bool('use_global_device_ids')) {
    throw malformed('use_global_device_ids is not supported, as XLA cannot broadcast by global ids: use all_reduce');
  }
  const groups = replicaGroups(c), isDynamic = c.bool('has_dynamic_root'), function_ = c.computation(0);
  const isAt = (place) => isOneOf(c, groups.filter((group) => group.length > place).map((group) => group[place]));
  return (isDynamic ? operandsAndRoots(c) : c.in.map((x) => ({ x }))).map(({ x, root }) => {
    const sum = places(groups).slice(1).reduce((sofar, place) => {
      const all = x.shape.dimensions.map((_, i) => i);
      const next = c.b.map([sofar, ofMember(c, x, groups, place)], function_, all);
      const members = groups.filter((group) => group.length > place);
      return members.length === groups.length ? next : c.b.select(isOneOf(c, members.flat()), next, sofar);
    }, ofMember(c, x, groups, 0));
    const isRoot = isDynamic ? places(groups).map((place) => c.b.and(isAt(place), c.b.eq(root, c.constant(place, 's32'))))
      .reduce((any, one) => c.b.or(any, one)) : isAt(0);
    return c.b.select(isRoot, sum, zeros(c, x));
  });
}

function crossReplicaSum(c) {
  return c.b.crossReplicaSum(c.x, replicaGroups(c));
}

export const collectives = {
  'stablehlo.all_gather': allGather,
  'stablehlo.all_reduce': promoting(() => 0, allReduce),
  'stablehlo.reduce_scatter': promoting(() => 0, reduceScatter),
  'stablehlo.all_to_all': allToAll,
  'stablehlo.collective_permute': collectivePermute,
  'stablehlo.collective_broadcast': collectiveBroadcast,
  'stablehlo.collective_reduce': promoting((i) => (i ? undefined : 0), collectiveReduce),
  'stablehlo.cross-replica-sum': crossReplicaSum,
  'stablehlo.partition_id': (c) => c.b.partitionId(),
  'stablehlo.replica_id': (c) => c.b.replicaId(),
};
