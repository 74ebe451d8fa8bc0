/** What replicas and partitions do together. */
import { Shape } from '../shape.mjs';
import { malformed, Struct } from './ir.mjs';
import { promoting } from './operations.mjs';
import { groupsOfMesh } from './sharding.mjs';

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

function collectiveBroadcast(c) {
  if (c.bool('has_dynamic_root')) throw malformed('a root that is computed is not supported');
  return c.in.map((x) => c.emit('collective-broadcast', [x], {
    ...channel(c), replica_groups: replicaGroups(c),
  }));
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
  'stablehlo.cross-replica-sum': crossReplicaSum,
  'stablehlo.partition_id': (c) => c.b.partitionId(),
  'stablehlo.replica_id': (c) => c.b.replicaId(),
};
