#include "compile/mesh_choice.h"

#include "hlo/ir/shard_calls.h"

Mesh module_mesh(const Module *module) {
  PartitionNeeds needs = {0};
  Mesh mesh = {module->replica_count, module->num_partitions};
  if (!mesh.partitions && partition_needs(module, &needs, NULL)) {
    mesh.partitions = needs.shard_devices;
  }
  return mesh;
}

static bool check_count(const char *what, const char *attribute, int given, int stated,
                        Error *error) {
  if (given < 0) {
    return error_set(error, STATUS_INVALID_ARGUMENT, "%s must be at least 1, not %d", what, given);
  }
  if (given >= stated) return true;
  return invalid_argument(error, "compile", "the module needs %s=%d, but is given %d %s", attribute,
                          stated, given, what);
}

bool choose_mesh(const Module *module, Mesh asked, Mesh *mesh, Error *error) {
  PartitionNeeds needs;
  if (!partition_needs(module, &needs, error)) return false;
  Mesh stated = {module->replica_count, module->num_partitions};
  if (!stated.partitions) stated.partitions = needs.shard_devices;
  /* A module that computes the same on every partition runs on one, unless more are asked for. */
  if (!needs.is_divided) stated.partitions = 0;
  /* The devices of a shard_map may be replicas or partitions; it works with both. */
  bool is_sharded = !module->num_partitions && stated.partitions > 1;
  if (is_sharded && asked.replicas == stated.partitions && !asked.partitions) asked.replicas = 1;
  *mesh = asked;
  if (!asked.replicas) mesh->replicas = stated.replicas ? stated.replicas : 1;
  if (!asked.partitions) mesh->partitions = stated.partitions ? stated.partitions : 1;
  if (!check_count("replicas", "replica_count", mesh->replicas, stated.replicas, error) ||
      !check_count("partitions", "num_partitions", mesh->partitions, stated.partitions, error)) {
    return false;
  }
  if (needs.shard_devices && needs.shard_devices != mesh->partitions) {
    return invalid_argument(error, "compile",
                            "the module's shardings are for %d partitions; it is given %d",
                            needs.shard_devices, mesh->partitions);
  }
  if ((int64_t)mesh->replicas * mesh->partitions <= MAX_DEVICES) return true;
  return invalid_argument(
      error, "compile", "%d replicas by %d partitions are %lld devices; there can be %d at most",
      mesh->replicas, mesh->partitions, (long long)mesh->replicas * mesh->partitions, MAX_DEVICES);
}
