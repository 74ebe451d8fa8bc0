#include "hlo/ir/sharding.h"

static const char *copy_text(Arena *arena, const char *text) {
  return text ? arena_strdup(arena, text) : NULL;
}

#define COPY_ITEMS(arena, list) \
  arena_copy(arena, (list).items, sizeof *(list).items *(size_t)(list).count)

static Int64List copy_numbers(Arena *arena, Int64List list) {
  return (Int64List){list.count, COPY_ITEMS(arena, list)};
}

const OpSharding *op_sharding_copy(Arena *arena, const OpSharding *sharding) {
  if (!sharding) return NULL;
  OpSharding *copy = arena_copy(arena, sharding, sizeof *sharding);
  copy->text = copy_text(arena, sharding->text);
  copy->tiles = copy_numbers(arena, sharding->tiles);
  copy->reasons = copy_numbers(arena, sharding->reasons);
  copy->devices = copy_numbers(arena, sharding->devices);
  copy->iota_sizes = copy_numbers(arena, sharding->iota_sizes);
  copy->iota_order = copy_numbers(arena, sharding->iota_order);
  return copy;
}

static NamedMesh *copy_meshes(Arena *arena, const NamedMesh *meshes, int count) {
  NamedMesh *copies = arena_copy(arena, meshes, sizeof *meshes * (size_t)count);
  for (int i = 0; i < count; i++) {
    NamedMesh *copy = &copies[i];
    MeshAxis *axes = arena_copy(arena, copy->axes, sizeof *axes * (size_t)copy->count);
    for (int k = 0; k < copy->count; k++) axes[k].name = copy_text(arena, axes[k].name);
    copy->name = copy_text(arena, copy->name);
    copy->problem = copy_text(arena, copy->problem);
    copy->axes = axes;
    copy->device_ids = copy_numbers(arena, copy->device_ids);
  }
  return copies;
}

MeshList mesh_list_copy(Arena *arena, MeshList meshes) {
  return (MeshList){meshes.count, copy_meshes(arena, meshes.items, meshes.count)};
}

static AxisList copy_axes(Arena *arena, AxisList list) {
  AxisPart *parts = COPY_ITEMS(arena, list);
  for (int i = 0; i < list.count; i++) parts[i].axis = copy_text(arena, parts[i].axis);
  return (AxisList){list.count, parts};
}

static ArrayShardings copy_shardings(Arena *arena, ArrayShardings list) {
  ArraySharding *items = COPY_ITEMS(arena, list);
  for (int i = 0; i < list.count; i++) {
    ArraySharding *copy = &items[i];
    AxisList *dimensions =
        arena_copy(arena, copy->dimensions, sizeof *dimensions * (size_t)copy->rank);
    for (int d = 0; d < copy->rank; d++) dimensions[d] = copy_axes(arena, dimensions[d]);
    copy->dimensions = dimensions;
    copy->mesh_name = copy_text(arena, copy->mesh_name);
    if (copy->mesh) copy->mesh = copy_meshes(arena, copy->mesh, 1);
    copy->replicated = copy_axes(arena, copy->replicated);
    copy->unreduced = copy_axes(arena, copy->unreduced);
  }
  list.items = items;
  return list;
}

const FrontendAttributes *frontend_attributes_copy(Arena *arena, const FrontendAttributes *from) {
  if (!from) return NULL;
  FrontendAttributes *copy = arena_copy(arena, from, sizeof *from);
  copy->text = copy_text(arena, from->text);
  copy->transfers.items = COPY_ITEMS(arena, from->transfers);
  if (!from->manual) return copy;
  ManualShardings *manual = arena_copy(arena, from->manual, sizeof *manual);
  manual->in = copy_shardings(arena, manual->in);
  manual->out = copy_shardings(arena, manual->out);
  manual->manual_axes = copy_axes(arena, manual->manual_axes);
  copy->manual = manual;
  return copy;
}
