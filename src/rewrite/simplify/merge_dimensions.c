/*
** Merges dimensions of arrays that have more than a loop plan allows, such as states of many qubits. Neighbouring
** dimensions that an operation treats alike become one. Reshapes, which cost nothing, connect the operations.
**
**     slice(f32[2,2,2,2] x), slice={[0:2], [0:2], [1:2], [0:2]}
**     reshape(slice(reshape(x) of f32[4,2,2]), slice={[0:4], [1:2], [0:2]})
*/
#include "plan/loop_plan.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Maps each dimension of an array to its merged dimension, in order. */
typedef struct Merging {
  int rank, count, group[MAX_RANK];
} Merging;

/* Marks of dimensions: neighbours merge if both have the same mark, except ALONE. */
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

/* Reshapes x to merged dimensions. A reshape of a reshape starts from the first operand, so chains need none. */
static Instruction *merged(Instruction *x, const Merging *m) {
  Computation *computation = x->parent;
  const Shape *shape = merged_shape(computation->module->arena, x->shape, m);
  x = without_reshapes(x);
  if (shape_same_dims(x->shape, shape)) return x;
  return computation_add(computation, HLO_RESHAPE, shape, &x, 1, NULL);
}

static void become(Instruction *x, const Shape *shape, Instruction *const *operands, int count,
                   const Attributes *a) {
  Instruction *y = computation_add(x->parent, x->opcode, shape, operands, count, a);
  instruction_become(x, HLO_RESHAPE, &y, 1, NULL);
}

/* Lists the merged dimensions of the listed ones, each once. */
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

/* Merges an operation whose result dimension d is the operand's from[d], or ALONE for a new one of a broadcast. */
static void merge_placed(Instruction *x, Arena *arena, const int64_t *from) {
  const Shape *shape = x->shape;
  int64_t marks[MAX_RANK], of_operand[MAX_RANK], list[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    marks[d] = from[d] == ALONE ? MAX_RANK : from[d] - d; /* equal while both advance together */
    if (from[d] != ALONE && marks[d] == ALONE) marks[d] = 2 * MAX_RANK; /* moved by one place */
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

/* Separates listed dimensions from the others. In reversals and operations with starts, each listed one is alone. */
static void merge_marked(Instruction *x, Arena *arena, const int64_t *marks) {
  Instruction *operand = x->operands[0];
  int rank = operand->shape->rank;
  Merging m = merge_by(marks, rank);
  Attributes a = *x->a;
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
  Instruction *from = merged(operand, &m);
  become(x, merged_shape(arena, x->shape, &m), &from, 1, &a);
}

static void merge_reverse(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0};
  for (int i = 0; i < x->a->dimensions.count; i++) marks[x->a->dimensions.items[i]] = ALONE;
  merge_marked(x, arena, marks);
}

/* Turns an operation on several arrays into a tuple of reshaped parts. `result` has the new dimensions, of any type. */
static void become_parts(Instruction *x, const Shape *result, Instruction *const *operands,
                         const Attributes *a) {
  Arena *arena = x->parent->module->arena;
  int parts = x->operand_count / 2;
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, parts);
  for (int i = 0; i < parts; i++) {
    shapes[i] = shape_make(arena, operands[i]->shape->type, result->rank, result->dims, NULL);
  }
  if (!shape_is_tuple(x->shape)) {
    become(x, shapes[0], operands, x->operand_count, a);
    return;
  }
  const Shape *all = shape_tuple(arena, parts, shapes);
  Instruction *y = computation_add(x->parent, x->opcode, all, operands, x->operand_count, a);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, parts);
  for (int i = 0; i < parts; i++) {
    Instruction *part = tuple_element(y, i);
    results[i] = computation_add(x->parent, HLO_RESHAPE, x->shape->elements[i], &part, 1, NULL);
  }
  instruction_become(x, HLO_TUPLE_OP, results, parts, NULL);
}

/* Returns the merged arrays, then the unchanged initial values. */
static Instruction **merged_parts(const Instruction *x, Arena *arena, const Merging *m) {
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, x->operand_count);
  for (int i = 0; i < x->operand_count; i++) {
    operands[i] = i < x->operand_count / 2 ? merged(x->operands[i], m) : x->operands[i];
  }
  return operands;
}

static void merge_reduce(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0}, dims[MAX_RANK];
  const Shape *operand = x->operands[0]->shape;
  for (int i = 0; i < x->a->dimensions.count; i++) marks[x->a->dimensions.items[i]] = 1;
  Merging m = merge_by(marks, operand->rank);
  Attributes a = *x->a;
  a.dimensions = merged_list(arena, x->a->dimensions, &m);
  const Shape *all = merged_shape(arena, operand, &m);
  int count = 0;
  for (int g = 0; g < m.count; g++) {
    if (!list_has(a.dimensions, g)) dims[count++] = all->dims[g];
  }
  const Shape *result = shape_make(arena, operand->type, count, dims, NULL);
  become_parts(x, result, merged_parts(x, arena, &m), &a);
}

/* Merges the dimensions along which the window has no extent. */
static void merge_reduce_window(Instruction *x, Arena *arena) {
  int64_t marks[MAX_RANK] = {0};
  const WindowDimension *items = x->a->window.items;
  const Shape *result = shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
  for (int d = 0; d < result->rank; d++) {
    const WindowDimension *w = &items[d];
    bool plain = w->size == 1 && w->stride == 1 && w->base_dilation == 1 && !w->padding_low &&
                 !w->padding_high && !w->window_reversal;
    if (!plain) marks[d] = ALONE;
  }
  Merging m = merge_by(marks, result->rank);
  WindowDimension *window = ARENA_ARRAY(arena, WindowDimension, m.count);
  for (int d = 0; d < result->rank; d++) window[m.group[d]] = items[d];
  Attributes a = *x->a;
  a.window = (Window){m.count, window};
  become_parts(x, merged_shape(arena, result, &m), merged_parts(x, arena, &m), &a);
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
  bool is = shape_is_array(shape);
  for (int d = 0; is && d < shape->rank; d++) is = shape->dims[d] > 0;
  return is;
}

/* Whether the operands and results are arrays, and one has too many dimensions. */
static bool has_many(const Instruction *x) {
  bool several = shape_is_tuple(x->shape) && x->shape->tuple_size > 0 &&
                 (x->opcode == HLO_REDUCE || x->opcode == HLO_REDUCE_WINDOW);
  const Shape *result = several ? x->shape->elements[0] : x->shape;
  bool many = is_array(result) && result->rank > MAX_DIMENSIONS;
  for (int i = 0; i < x->operand_count; i++) {
    if (!is_array(x->operands[i]->shape)) return false;
    many |= x->operands[i]->shape->rank > MAX_DIMENSIONS;
  }
  return many && is_array(result) && !x->a->control_predecessors.count;
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
  case HLO_REDUCE: merge_reduce(x, arena); return true;
  case HLO_REDUCE_WINDOW: merge_reduce_window(x, arena); return true;
  case HLO_REVERSE: merge_reverse(x, arena); return true;
  case HLO_SLICE: merge_slice(x, arena); return true;
  case HLO_IOTA: merge_iota(x, arena); return true;
  default:
    if (!is_elementwise(x)) return false;
    merge_elementwise(x, arena);
    return true;
  }
}

static bool merge_if_many(Instruction *x, void *data) { return has_many(x) && merge(x); }

bool pass_merge_dimensions(Module *module) { return rewrite_each(module, merge_if_many, NULL); }
