/*
** Arrays of more dimensions than loops are planned for, as the states of many qubits are: neighbours that an
** operation treats alike become one, and reshapes, which cost nothing, go between.
**
**     slice(f32[2,2,2,2] x), slice={[0:2], [0:2], [1:2], [0:2]}
**     reshape(slice(reshape(x) of f32[4,2,2]), slice={[0:4], [1:2], [0:2]})
*/
#include "lower/loop_plan.h"
#include "lower/lower.h"
#include "passes/rewrite.h"

/* Of the dimensions of an array: which merged one each belongs to, in order. */
typedef struct Merging {
  int rank, count, group[MAX_RANK];
} Merging;

/* What tells neighbours apart: they stay so unless both have the same mark, which is not ALONE. */
enum { ALONE = -1 };

static Merging merge_by(const int64_t *marks, int rank) {
  Merging m = {.rank = rank};
  for (int d = 0; d < rank; d++) {
    bool joins = d > 0 && marks[d] != ALONE && marks[d] == marks[d - 1];
    m.count += !joins;
    m.group[d] = m.count - 1;
  }
  return m;
}

static const Shape *merged_shape(Arena *arena, const Shape *shape, const Merging *m) {
  int64_t dims[MAX_RANK];
  for (int g = 0; g < m->count; g++) dims[g] = 1;
  for (int d = 0; d < m->rank; d++) dims[m->group[d]] *= shape->dims[d];
  return shape_make(arena, shape->type, m->count, dims, NULL);
}

/* What was reshaped before is so from there: then chains of operations go without. */
static Instruction *merged(Instruction *x, const Merging *m) {
  Computation *computation = x->parent;
  const Shape *shape = merged_shape(computation->module->arena, x->shape, m);
  while (x->opcode == HLO_RESHAPE) x = x->operands[0];
  if (shape_same_dims(x->shape, shape)) return x;
  return computation_add(computation, HLO_RESHAPE, shape, &x, 1, NULL, NULL);
}

static void become(Instruction *x, const Shape *shape, Instruction *const *operands, int count,
                   const Attributes *a) {
  Instruction *y = computation_add(x->parent, x->opcode, shape, operands, count, a, NULL);
  instruction_become(x, HLO_RESHAPE, &y, 1, NULL);
}

/* The merged dimensions of those that are listed, each once. */
static Int64List merged_list(Arena *arena, Int64List list, const Merging *m) {
  int64_t *items = ARENA_ARRAY(arena, int64_t, list.count);
  int count = 0;
  for (int i = 0; i < list.count; i++) {
    int64_t group = m->group[list.items[i]];
    if (!list_has((Int64List){count, items}, group)) items[count++] = group;
  }
  return (Int64List){count, items};
}

static void merge_elementwise(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0};
  Merging m = merge_by(marks, x->shape->rank);
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, x->operand_count);
  for (int i = 0; i < x->operand_count; i++) {
    bool scalar = x->operands[i]->shape->rank == 0;
    operands[i] = scalar ? x->operands[i] : merged(x->operands[i], &m);
  }
  become(x, merged_shape(arena, x->shape, &m), operands, x->operand_count, x->a);
}

/* The result's dimension d is the operand's number from[d]; of a broadcast maybe none, ALONE. */
static void merge_placed(Instruction *x, Arena *arena, const int64_t *from) {
  const Shape *shape = x->shape;
  int64_t marks[MAX_RANK], of_operand[MAX_RANK], list[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    marks[d] = from[d] == ALONE ? MAX_RANK : from[d] - d; /* the same as long as both go on */
    if (from[d] != ALONE && marks[d] == ALONE) marks[d] = 2 * MAX_RANK;
  }
  Merging m = merge_by(marks, shape->rank), operand = {.rank = x->operands[0]->shape->rank};
  for (int d = 0; d < shape->rank; d++) {
    if (from[d] != ALONE) of_operand[from[d]] = m.group[d];
  }
  operand = merge_by(of_operand, operand.rank);
  for (int d = 0; d < operand.rank; d++) list[operand.group[d]] = of_operand[d];
  Attributes a = *x->a;
  int64_t *dimensions = ARENA_ARRAY(arena, int64_t, shape->rank);
  for (int g = 0; g < operand.count; g++) {
    bool turns = x->opcode == HLO_TRANSPOSE;
    dimensions[turns ? list[g] : g] = turns ? g : list[g];
  }
  a.dimensions = (Int64List){operand.count, dimensions};
  Instruction *from_merged = operand.rank ? merged(x->operands[0], &operand) : x->operands[0];
  become(x, merged_shape(arena, shape, &m), &from_merged, 1, &a);
}

static void merge_broadcast(Instruction *x, Arena *arena) {
  int64_t from[MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) from[d] = list_index(x->a->dimensions, d);
  merge_placed(x, arena, from);
}

/* Those that are listed apart from the others; of a reversal, and of what begins somewhere, each alone. */
static void merge_marked(Instruction *x, Arena *arena, const int64_t *marks) {
  Instruction *operand = x->operands[0];
  int rank = operand->shape->rank;
  Merging m = merge_by(marks, rank);
  Attributes a = *x->a;
  const Shape *shape = NULL;
  if (x->opcode == HLO_SLICE) {
    SliceDimension *slices = ARENA_ARRAY(arena, SliceDimension, m.count);
    for (int d = 0; d < rank; d++) {
      SliceDimension *to = &slices[m.group[d]];
      if (marks[d] == ALONE) {
        *to = x->a->slice.items[d];
      } else {
        *to = (SliceDimension){0, (to->limit ? to->limit : 1) * operand->shape->dims[d], 1};
      }
    }
    a.slice = (SliceConfig){m.count, slices};
  } else {
    a.dimensions = merged_list(arena, x->a->dimensions, &m);
  }
  if (x->opcode == HLO_REDUCE) {
    int64_t dims[MAX_RANK];
    const Shape *all = merged_shape(arena, operand->shape, &m);
    int count = 0;
    for (int g = 0; g < m.count; g++) {
      if (!list_has(a.dimensions, g)) dims[count++] = all->dims[g];
    }
    shape = shape_make(arena, x->shape->type, count, dims, NULL);
  } else {
    shape = merged_shape(arena, x->shape, &m);
  }
  Instruction *operands[2] = {merged(operand, &m), x->operand_count > 1 ? x->operands[1] : NULL};
  become(x, shape, operands, x->operand_count, &a);
}

static void merge_listed(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0};
  for (int i = 0; i < x->a->dimensions.count; i++) {
    marks[x->a->dimensions.items[i]] = x->opcode == HLO_REDUCE ? 1 : ALONE;
  }
  merge_marked(x, arena, marks);
}

static void merge_slice(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0};
  for (int d = 0; d < x->shape->rank; d++) {
    bool whole =
        x->shape->dims[d] == x->operands[0]->shape->dims[d] && x->a->slice.items[d].stride == 1;
    if (!whole) marks[d] = ALONE;
  }
  merge_marked(x, arena, marks);
}

static void merge_iota(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0};
  marks[x->a->iota_dimension] = ALONE;
  Merging m = merge_by(marks, x->shape->rank);
  Attributes a = *x->a;
  a.iota_dimension = m.group[x->a->iota_dimension];
  become(x, merged_shape(arena, x->shape, &m), NULL, 0, &a);
}

static bool is_array(const Shape *shape) {
  bool is = shape_is_array(shape) && !shape->dynamic;
  for (int d = 0; is && d < shape->rank; d++) is = shape->dims[d] > 0;
  return is;
}

static bool has_many(const Instruction *x) {
  bool many = is_array(x->shape) && x->shape->rank > MOST_DIMENSIONS;
  for (int i = 0; i < x->operand_count; i++) {
    if (!is_array(x->operands[i]->shape)) return false;
    many |= x->operands[i]->shape->rank > MOST_DIMENSIONS;
  }
  return many && is_array(x->shape) && !x->a->control_predecessors.count;
}

/* Whether all operands are arrays like the result, or scalars. */
static bool is_elementwise(const Instruction *x) {
  bool is = opcode_is_elementwise(x->opcode);
  for (int i = 0; is && i < x->operand_count; i++) {
    is = x->operands[i]->shape->rank == 0 || shape_same_dims(x->operands[i]->shape, x->shape);
  }
  return is;
}

static bool merge(Instruction *x) {
  Arena *arena = x->parent->module->arena;
  switch (x->opcode) {
  case HLO_BROADCAST: merge_broadcast(x, arena); return true;
  case HLO_TRANSPOSE: merge_placed(x, arena, x->a->dimensions.items); return true;
  case HLO_REDUCE:
  case HLO_REVERSE: merge_listed(x, arena); return true;
  case HLO_SLICE: merge_slice(x, arena); return true;
  case HLO_IOTA: merge_iota(x, arena); return true;
  default:
    if (!is_elementwise(x)) return false;
    merge_elementwise(x, arena);
    return true;
  }
}

static bool merge_all(Computation *computation) {
  bool changed = false;
  int count = computation->count;
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (has_many(x)) changed |= merge(x);
  }
  if (changed) computation_sort(computation);
  return changed;
}

bool lower_merge_dimensions(Module *module) { return for_each_computation(module, merge_all); }
