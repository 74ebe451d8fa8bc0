#include "rewrite/dynamic/dynamic.h"

int size_count(const Shape *shape) {
  int count = shape->rank;
  for (int i = 0; i < shape->tuple_size; i++) count += size_count(shape->elements[i]);
  return count;
}

int64_t *put_bounds(const Shape *shape, int64_t *out) {
  for (int i = 0; i < shape->rank; i++) *out++ = shape->dims[i];
  for (int i = 0; i < shape->tuple_size; i++) out = put_bounds(shape->elements[i], out);
  return out;
}

bool any_dynamic(const Sizes sizes, int count) {
  for (int i = 0; i < count; i++) {
    if (sizes[i]) return true;
  }
  return false;
}

/* Returns the leaf of a shape with the dimension of that entry of its sizes. */
static const Shape *leaf_of_entry(const Shape *shape, int *entry) {
  int leaves = shape_leaves(shape);
  for (int i = 0; i < leaves; i++) {
    const Shape *leaf = shape_leaf(shape, i);
    if (*entry < leaf->rank) return leaf;
    *entry -= leaf->rank;
  }
  return shape; /* not reached: the entry exists */
}

bool dynamic_refuse(Dynamic *d, const Instruction *instruction, int operand, int entry,
                    const char *rule) {
  const Instruction *at = instruction->operands[operand];
  int dimension = entry;
  const Shape *leaf = leaf_of_entry(at->shape, &dimension);
  bool *flags = ARENA_ARRAY(d->scratch, bool, leaf->rank);
  const Sizes sizes = d->sizes[at->id] + (entry - dimension);
  for (int i = 0; i < leaf->rank; i++) flags[i] = sizes[i] != NULL;
  leaf = shape_with_dynamic(d->scratch, shape_with_layout(d->scratch, leaf, NULL), flags);
  return error_set_op(d->at.error, STATUS_UNIMPLEMENTED, opcode_name(instruction->opcode),
                      "%s: operand %d (%s%s, %s) is dynamic in dimension %d; %s", instruction->name,
                      operand, shape_is_tuple(at->shape) ? "in " : "", at->name,
                      shape_str(d->scratch, leaf), dimension, rule);
}
