/*
** Hoists loop-invariant code. An operation whose operands do not change between iterations moves before the loop; its
** result becomes an element of the loop's state. Two kinds move:
**
**   - expensive operations on elements of the state that the body passes on unchanged;
**   - dots of such a matrix W with row i of such an array, in a loop that takes one row after the
**     other. One dot multiplies all rows by W, and each iteration slices its row: recurrent networks
**     multiply their input so. The slice keeps its index, so an index out of range is clamped to the
**     same row.
**
**     while((i, W, xs)): dot(dynamic-slice(xs, i), W)
**     while((i, W, xs, d = dot(xs, W))): dynamic-slice(d, i)
**
** A matrix W that many iterations multiply by a few rows is packed before the loop, into the panels of columns that
** kernels read.
** Measured, time relative to no packing, with W of 64 x 256: 1.05 for 4 rows, 0.86 for 16, 0.82 for 32 (Node 20, 2026-11).
*/
#include <string.h>

#include "base/scope.h"
#include "hlo/ir/shorthand.h"
#include "plan/counted_loop.h"
#include "plan/fusible.h"
#include "plan/panels.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "value/scalar.h"

enum {
  /* Threshold MAX_HOISTED. Test: "invariant functions: how many" in core/thresholds_programs.test.mjs. */
  MAX_HOISTED = 16, /* of one loop */
  /* Threshold MIN_ELEMENTS. Test: "invariant functions: how many elements" in core/thresholds_programs.test.mjs. */
  MIN_ELEMENTS = 64, /* of an expensive operation */
  /* Threshold MAX_BYTES: of the dot of all rows; of a packed matrix. Test: "invariant matrices: 32 MB" in
  ** core/thresholds_programs.test.mjs. */
  MAX_BYTES = 32 << 20,
  /* Threshold MAX_GROWTH: max size of a hoisted value, relative to its sequence or its operands. Test: "invariant products: how
  ** much larger than their operands" in core/thresholds_programs.test.mjs. */
  MAX_GROWTH = 8,
  /* Threshold SMALL_BYTES. Test: "invariant products: 64 kB" in core/thresholds_programs.test.mjs. */
  SMALL_BYTES = 64 << 10, /* allowed for operands of any size */
  /* Threshold MIN_ITERATIONS. Test: "invariant matrices: iterations" in core/thresholds_programs.test.mjs. */
  MIN_ITERATIONS = 4, /* that repay packing */
  /* Threshold MIN_MATRIX. Test: "invariant matrices: 4096 elements" in core/thresholds_programs.test.mjs. */
  MIN_MATRIX = 4096, /* elements: smaller ones stay in the first cache */
  /* Threshold MIN_ROWS, MAX_ROWS, ROWS. Test: "invariant matrices: rows of products" in core/thresholds_programs.test.mjs. */
  MIN_ROWS = 8,  /* of a dot with packed panels */
  MAX_ROWS = 64, /* for more rows, packing takes a negligible part of the dot's time */
  ROWS = 4,      /* that a kernel computes at once */
};
enum { WIDTH = PANEL_COLUMN_BYTES / 4 }; /* columns in a panel of f32 */

/* ---- A loop ---- */

typedef struct Loop {
  Instruction *instruction, *state; /* state: the body's parameter */
  Computation *outside, *body;
  Instruction *root;   /* of the body: a tuple */
  bool *invariant;     /* by instruction of the body */
  bool *escapes;       /* by instruction: has a user that is not hoisted */
  Instruction **moved; /* by instruction: its hoisted copy */
  int size;            /* instructions of the body when the analysis began */
  int count;           /* of elements added to the state */
  Instruction *added[MAX_HOISTED];
} Loop;

static bool is_state(const Loop *loop, const Instruction *x) {
  return x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0] == loop->state;
}

static bool is_passed_on(const Loop *loop, const Instruction *x) {
  if (!is_state(loop, x) || x->a->tuple_index >= loop->root->operand_count) return false;
  const Instruction *next = loop->root->operands[x->a->tuple_index];
  return is_state(loop, next) && next->a->tuple_index == x->a->tuple_index &&
         shape_is_array(x->shape);
}

/* Whether an instruction computes one array from others, without a side effect. */
static bool is_pure(const Instruction *x) {
  if (!shape_is_array(x->shape) || x->a->control_predecessors.count) return false;
  if (is_plain(x->opcode)) return true;
  switch (x->opcode) {
  case HLO_CHOLESKY:
  case HLO_CONVOLUTION:
  case HLO_DOT:
  case HLO_FFT:
  case HLO_GATHER:
  case HLO_REDUCE_WINDOW:
  case HLO_TRIANGULAR_SOLVE: return true;
  case HLO_REDUCE: return x->operand_count == 2;
  default: return false;
  }
}

static int64_t operand_bytes(const Instruction *x) {
  int64_t bytes = 0;
  for (int i = 0; i < x->operand_count; i++) bytes += shape_bytes(x->operands[i]->shape);
  return bytes;
}

/* Whether an operation is worth an element of the state. Cheap ones are fused into other loops. */
static bool takes_time(const Instruction *x) {
  int64_t elements = shape_elements(x->shape), bytes = shape_bytes(x->shape);
  switch (x->opcode) {
  case HLO_CHOLESKY:
  case HLO_CONVOLUTION:
  case HLO_DOT:
  case HLO_FFT:
  case HLO_REDUCE:
  case HLO_REDUCE_WINDOW:
  case HLO_TRIANGULAR_SOLVE:
    for (int i = 0; i < x->operand_count; i++) elements += shape_elements(x->operands[i]->shape);
    break;
  case HLO_GATHER: /* from a table that stays in the first cache, it is part of what reads it */
    if (bytes > SMALL_BYTES && shape_elements(x->operands[0]->shape) < MIN_MATRIX) return false;
    break;
  case HLO_CONCATENATE:
  case HLO_TRANSPOSE: break;
  default:
    if (opcode_cost(x->opcode) != COST_LONG) return false;
  }
  return elements >= MIN_ELEMENTS &&
         (bytes <= SMALL_BYTES || bytes <= MAX_GROWTH * operand_bytes(x));
}

static void analyse(Loop *loop) {
  for (int i = 0; i < loop->size; i++) {
    const Instruction *x = loop->body->instructions[i];
    bool is_invariant = x->opcode == HLO_CONSTANT || is_passed_on(loop, x) || is_pure(x);
    for (int k = 0; k < x->operand_count && is_invariant && !is_state(loop, x); k++) {
      is_invariant = loop->invariant[x->operands[k]->id];
    }
    loop->invariant[x->id] = is_invariant;
  }
  loop->escapes[loop->root->id] = true;
  for (int i = loop->size - 1; i >= 0; i--) {
    const Instruction *x = loop->body->instructions[i];
    bool needs = !loop->invariant[x->id] || (loop->escapes[x->id] && !takes_time(x));
    for (int k = 0; k < x->operand_count && needs; k++) loop->escapes[x->operands[k]->id] = true;
  }
}

/* ---- Outside ---- */

static Instruction *initial(const Loop *loop, int64_t index) {
  Instruction *init = loop->instruction->operands[0];
  return init->opcode == HLO_TUPLE_OP ? init->operands[index]
                                      : computation_add_element(loop->outside, init, index);
}

/* Copies a loop-invariant instruction before the loop. The body's order is kept: operands come first. */
static void move_out(Loop *loop, const Instruction *x) {
  Instruction **moved = &loop->moved[x->id];
  if (x->opcode == HLO_CONSTANT) {
    *moved = computation_add_constant(loop->outside, x->literal, NULL);
  } else if (is_state(loop, x)) {
    *moved = initial(loop, x->a->tuple_index);
  } else {
    Instruction **operands = scope_new((size_t)x->operand_count + 1, sizeof *operands);
    for (int k = 0; k < x->operand_count; k++) operands[k] = loop->moved[x->operands[k]->id];
    *moved = computation_add(loop->outside, x->opcode, x->shape, operands, x->operand_count, x->a);
    scope_free(operands);
  }
}

/* Copies an instruction with all its operands before the loop: marks them first, then copies in order. */
static Instruction *outside_of(Loop *loop, const Instruction *x) {
  bool *wanted = scope_new((size_t)loop->size, sizeof *wanted);
  wanted[x->id] = true;
  for (int i = x->id; i >= 0; i--) {
    const Instruction *y = loop->body->instructions[i];
    if (!wanted[i] || loop->moved[i] || is_state(loop, y)) continue;
    for (int k = 0; k < y->operand_count; k++) wanted[y->operands[k]->id] = true;
  }
  for (int i = 0; i <= x->id; i++) {
    if (wanted[i] && !loop->moved[i]) move_out(loop, loop->body->instructions[i]);
  }
  scope_free(wanted);
  return loop->moved[x->id];
}

/* ---- Inside ---- */

static int64_t state_size(const Loop *loop) {
  return loop->instruction->shape->tuple_size + loop->count;
}

/* Adds an element with initial value `value` to the state. lengthen_loop changes the state's shape. */
static Instruction *add_element(Loop *loop, Instruction *value) {
  const Attributes *a = ATTRIBUTES(.tuple_index = state_size(loop));
  loop->added[loop->count++] = value;
  return computation_add(loop->body, HLO_GET_TUPLE_ELEMENT, value->shape, &loop->state, 1, a);
}

static void hoist(Loop *loop, Instruction *x) {
  Instruction *element = add_element(loop, outside_of(loop, x));
  instruction_become(x, HLO_COPY, &element, 1, NULL);
}

/* ---- Rows of a sequence ---- */

static bool is_zero_index(const Instruction *x) {
  return x->opcode == HLO_CONSTANT && scalar_load(x->shape->type, x->literal->data, 0).i == 0;
}

/* Returns the dynamic-slice of one row of a sequence that x is, reshaped or not; NULL if x is none. */
static const Instruction *row_of(const Loop *loop, const Instruction *x) {
  const Shape *row = x->shape;
  x = without_reshapes(x);
  if (x->opcode != HLO_DYNAMIC_SLICE || !is_passed_on(loop, x->operands[0])) return NULL;
  const Shape *sequence = x->operands[0]->shape;
  if (sequence->rank != row->rank + 1 || x->a->slice_sizes.items[0] != 1) return NULL;
  if (!shape_is_scalar(x->operands[1]->shape)) return NULL; /* one vector of indices */
  for (int d = 1; d < sequence->rank; d++) {
    if (row->dims[d - 1] != sequence->dims[d]) return NULL;
    if (!is_zero_index(x->operands[1 + d])) return NULL;
  }
  return loop->invariant[x->operands[1]->id] ? NULL : x;
}

static Int64List shifted(Arena *arena, Int64List list) {
  int64_t *items = ARENA_ARRAY(arena, int64_t, list.count);
  for (int i = 0; i < list.count; i++) items[i] = list.items[i] + 1;
  return (Int64List){list.count, items};
}

/* Returns the shape of the dot of all rows, and in `dimension` the one of the rows. */
static const Shape *shape_of_all(const Instruction *dot, int side, int64_t rows, int *dimension) {
  int64_t dims[MAX_RANK];
  const Shape *lhs = dot->operands[0]->shape, *one = dot->shape;
  *dimension = side ? lhs->rank - dot->a->lhs_contracting_dims.count : 0;
  for (int d = 0; d <= one->rank; d++) {
    dims[d] = d == *dimension ? rows : one->dims[d < *dimension ? d : d - 1];
  }
  return shape_make(dot->parent->module->arena, one->type, one->rank + 1, dims, NULL);
}

static bool hoist_rows(Loop *loop, Instruction *dot, int side, int64_t iterations) {
  Arena *arena = dot->parent->module->arena;
  const Instruction *row = row_of(loop, dot->operands[side]);
  if (!row || !loop->invariant[dot->operands[1 - side]->id] || dot->a->lhs_batch_dims.count ||
      dot->shape->rank == MAX_RANK) {
    return false;
  }
  const Instruction *sequence = row->operands[0];
  int64_t rows = sequence->shape->dims[0];
  int dimension, rank = dot->shape->rank + 1;
  if (iterations < rows / 2) return false; /* most rows would not be read */
  const Shape *all = shape_of_all(dot, side, rows, &dimension);
  if (!all || shape_bytes(all) > MAX_BYTES ||
      shape_bytes(all) > MAX_GROWTH * shape_bytes(sequence->shape)) {
    return false;
  }
  Attributes a = *dot->a;
  Int64List *contracting = side ? &a.rhs_contracting_dims : &a.lhs_contracting_dims;
  *contracting = shifted(arena, *contracting);
  Instruction *operands[2];
  operands[side] = outside_of(loop, sequence);
  operands[1 - side] = outside_of(loop, dot->operands[1 - side]);
  Instruction *element =
      add_element(loop, computation_add(loop->outside, HLO_DOT, all, operands, 2, &a));
  Instruction **sliced = ARENA_ARRAY(arena, Instruction *, rank + 1);
  int64_t *sizes = ARENA_ARRAY(arena, int64_t, rank);
  Instruction *index = row->operands[1];
  Literal *none = literal_new(arena, index->shape);
  Instruction *zero = computation_add_constant(loop->body, none, NULL);
  sliced[0] = element;
  for (int d = 0; d < rank; d++) {
    sliced[1 + d] = d == dimension ? index : zero;
    sizes[d] = d == dimension ? 1 : all->dims[d];
  }
  const Shape *shape = shape_make(arena, all->type, rank, sizes, NULL);
  Instruction *own = computation_add(loop->body, HLO_DYNAMIC_SLICE, shape, sliced, rank + 1,
                                     ATTRIBUTES(.slice_sizes = {rank, sizes}));
  instruction_become(dot, HLO_RESHAPE, &own, 1, NULL);
  return true;
}

/* ---- Panels ---- */

static bool is_all_f32(const Instruction *dot) {
  return dot->shape->type == F32 && dot->operands[0]->shape->type == F32 &&
         dot->operands[1]->shape->type == F32;
}

/* Whether an array is computed from one of its size that takes fewer bytes: a dot widens or dequantises such weights as it
** reads them (fuse_operands.c). */
static bool is_widened(const Instruction *x) {
  int64_t bytes = shape_bytes(x->shape), elements = shape_elements(x->shape);
  while (is_plain(x->opcode) && x->operand_count) {
    const Instruction *from = NULL;
    for (int k = 0; k < x->operand_count && !from; k++) {
      if (shape_elements(x->operands[k]->shape) == elements) from = x->operands[k];
    }
    if (!from || from->opcode == HLO_BROADCAST) return false;
    if (shape_bytes(from->shape) < bytes) return true;
    x = from;
  }
  return false;
}

static bool hoist_panels(Loop *loop, Instruction *dot) {
  Instruction *operands[2] = {dot->operands[0], dot->operands[1]}, *matrix = operands[1];
  const Shape *shape = dot->shape, *from = matrix->shape;
  int rank = shape->rank;
  if (from->rank != 2 || !loop->invariant[matrix->id] || loop->invariant[operands[0]->id] ||
      rank == 0 || rank == MAX_RANK || !is_all_f32(dot) || dot->a->lhs_batch_dims.count ||
      dot->a->rhs_contracting_dims.count != 1 || shape_elements(from) <= MIN_MATRIX ||
      shape_bytes(from) > MAX_BYTES) {
    return false;
  }
  bool is_transposed = dot->a->rhs_contracting_dims.items[0]; /* [columns, depth] */
  int64_t columns = shape->dims[rank - 1],
          rows = shape_elements(shape) / columns; /* not 0: the matrix has elements */
  if (columns % WIDTH || rows < MIN_ROWS || rows > MAX_ROWS || rows % ROWS || is_widened(matrix))
    return false;
  int64_t dims[MAX_RANK] = {from->dims[0], columns / WIDTH, WIDTH}, order[] = {1, 0, 2};
  if (is_transposed) {
    memcpy(dims, (int64_t[]){columns / WIDTH, WIDTH, from->dims[1]}, 3 * sizeof *dims);
    memcpy(order, (int64_t[]){0, 2, 1}, sizeof order);
  }
  Instruction *panels = computation_add_reshape(loop->outside, outside_of(loop, matrix), 3, dims);
  operands[1] = add_element(loop, computation_add_transpose(loop->outside, panels, order));
  memcpy(dims, shape->dims, sizeof *dims * (size_t)rank);
  dims[rank - 1] /= WIDTH;
  dims[rank] = WIDTH;
  static int64_t depth[] = {1};
  Attributes a = *dot->a;
  a.rhs_contracting_dims = (Int64List){1, depth};
  shape = shape_make(loop->body->module->arena, F32, rank + 1, dims, NULL);
  Instruction *product = computation_add(loop->body, HLO_DOT, shape, operands, 2, &a);
  instruction_become(dot, HLO_RESHAPE, &product, 1, NULL);
  return true;
}

/* ---- The new loop ---- */

/* Makes the loop with the longer state. The old loop becomes the tuple of its elements. As dead code, a loop
** whose body has a side effect would run as well. */
static void lengthen_loop(Loop *loop) {
  int before = loop->instruction->shape->tuple_size, count = (int)state_size(loop);
  Instruction **inside = scope_new((size_t)count, sizeof *inside);
  Instruction **outside = scope_new((size_t)count, sizeof *outside);
  for (int i = 0; i < count; i++) {
    outside[i] = i < before ? initial(loop, i) : loop->added[i - before];
  }
  Instruction *init = computation_add_tuple(loop->outside, outside, count);
  loop->state->shape = init->shape;
  loop->instruction->a->condition->parameters[0]->shape = init->shape;
  for (int i = 0; i < count; i++) {
    inside[i] =
        i < before ? loop->root->operands[i] : computation_add_element(loop->body, loop->state, i);
  }
  loop->body->root = computation_add_tuple(loop->body, inside, count);
  Instruction *longer = computation_add_named(loop->outside, HLO_WHILE, init->shape, &init, 1,
                                              loop->instruction->a, loop->instruction->name);
  for (int i = 0; i < before; i++) outside[i] = computation_add_element(loop->outside, longer, i);
  instruction_become(loop->instruction, HLO_TUPLE_OP, outside, before, NULL);
  scope_free(outside);
  scope_free(inside);
}

/* Whether every use of the parameter is a get-tuple-element. */
static bool uses_elements(const Computation *computation) {
  const Instruction *state = computation->parameters[0];
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k] == state && x->opcode != HLO_GET_TUPLE_ELEMENT) return false;
    }
  }
  return computation->root != state;
}

/* Returns whether anything was hoisted. */
static bool hoist_from(Instruction *instruction) {
  Computation *body = instruction->a->body;
  if (instruction->a->control_predecessors.count || !shape_is_tuple(instruction->shape) ||
      body->root->opcode != HLO_TUPLE_OP || !uses_elements(body) ||
      !uses_elements(instruction->a->condition)) {
    return false;
  }
  Loop loop = {.instruction = instruction,
               .state = body->parameters[0],
               .outside = instruction->parent,
               .body = body};
  computation_renumber(body);
  loop.root = body->root;
  loop.size = body->count;
  loop.invariant = scope_new((size_t)loop.size, sizeof *loop.invariant);
  loop.escapes = scope_new((size_t)loop.size, sizeof *loop.escapes);
  loop.moved = scope_new((size_t)loop.size, sizeof(Instruction *));
  analyse(&loop);
  CountedLoop counter;
  int64_t iterations = counted_loop_find(instruction, &counter) ? counter.iterations : -1;
  for (int i = 0; i < loop.size && loop.count < MAX_HOISTED; i++) {
    Instruction *x = body->instructions[i];
    if (loop.invariant[i] && loop.escapes[i] && takes_time(x)) {
      hoist(&loop, x);
    } else if (x->opcode == HLO_DOT && iterations > 1) {
      if (!hoist_rows(&loop, x, 0, iterations) && !hoist_rows(&loop, x, 1, iterations) &&
          iterations >= MIN_ITERATIONS) {
        hoist_panels(&loop, x);
      }
    }
  }
  if (loop.count) {
    lengthen_loop(&loop);
    computation_sort(body);
  }
  scope_free(loop.moved);
  scope_free(loop.escapes);
  scope_free(loop.invariant);
  return loop.count > 0;
}

bool pass_hoist_loops(Module *module) {
  bool changed = false;
  module_count_callers(module);
  for (int c = 0; c < module->count; c++) {
    Computation *computation = module->computations[c];
    Rewrite rewrite;
    rewrite_begin(&rewrite, computation);
    for (int i = 0; i < rewrite.count; i++) {
      Instruction *x = rewrite_visit(&rewrite, i);
      if (x->opcode != HLO_WHILE || x->a->body->callers > 1 || x->a->condition->callers > 1) {
        continue;
      }
      if (!rewrite.layouts_matter) rewrite.changed |= hoist_from(x);
    }
    changed |= rewrite_end(&rewrite);
  }
  return changed;
}
