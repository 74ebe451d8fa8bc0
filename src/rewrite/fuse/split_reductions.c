/*
** Splits long reductions into pieces, so that several threads share one even if it has few results, and a
** thread can stop between pieces:
**
**     reduce(f32[n] x, init)      p = reduce(reshape(x, [n / k, k]), neutral), dimensions={1}
**                                 reduce(p, init)
**
** A piece has neighbouring elements, in order, so that this holds for every associative operation. It begins
** with the neutral element, or, if none is known, with the initial value, as XLA's pieces do. If no k divides
** n, the remaining elements are a piece of their own.
**
** Reductions of columns of large arrays are split too, although they have many results: about 32 rows at a time are
** read in memory order. Tried instead: twelve accumulators at once. It was not faster.
** Measured: 0.4 to 0.9 of the time; 0.5 on f32[4096,1024] (Node 20, 2026-11).
*/
#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold LONG, MAX_PIECE, MIN_PIECE. Test: "reductions that are cut: long ones, and high
  ** columns" in core/thresholds.test.mjs. */
  LONG = 1 << 17, /* elements per result: longer reductions are split; */
  MAX_PIECE = 1 << 15,
  MIN_PIECE = 1 << 13,
  /* Threshold HIGH, MIN_BYTES, MIN_COLUMNS, MAX_ROWS, MIN_ROWS. Test: "high columns: 255 to 257
  ** rows of 63 to 65 columns and of 2 MB" in core/thresholds.test.mjs. */
  HIGH = 256,          /* for columns: this many elements, */
  MIN_BYTES = 1 << 21, /* in an array larger than the nearer caches */
  MIN_COLUMNS = 64,
  MAX_ROWS = 48,
  MIN_ROWS = 16,
  /* Threshold MAX_COPIED: instructions before a reduction that are copied for the remaining elements. Test:
  ** "operations before a reduction that is cut" in core/thresholds_programs.test.mjs. */
  MAX_COPIED = 32,
};

typedef struct Cut {
  Computation *computation;
  Arena *arena;
  Instruction *reduce;
  Computation *combine;
  PrimitiveType sum_type; /* type of sums of narrow floats; else PRIMITIVE_TYPE_INVALID */
  int count;              /* of operands, and of results */
  int rank, along;        /* of the operands; the split dimension, after those kept whole */
  int64_t size, piece, pieces,
      rest; /* elements in all, elements of a piece, number of pieces, elements left */
  int copied;
} Cut;

/* Whether columns are long and their elements far apart: walking down them is as slow as random access. In
** pieces of a few rows, memory is read in order. */
static bool is_high(const Shape *shape, Int64List reduced, int64_t elements) {
  int64_t columns = 1;
  for (int d = shape->rank - 1; d >= 0 && !list_has(reduced, d); d--) columns *= shape->dims[d];
  return columns >= MIN_COLUMNS && elements >= HIGH && type_bytes(shape->type) > 1 &&
         shape_bytes(shape) >= MIN_BYTES;
}

/* Chooses the pieces' size. Returns false if the reduction stays whole. */
static bool plan_cut(Cut *c) {
  const Shape *shape = c->reduce->operands[0]->shape;
  const Int64List reduced = c->reduce->a->dimensions;
  int64_t elements = 1, inner = 1;
  for (int i = 0; i < reduced.count; i++) elements *= shape->dims[reduced.items[i]];
  bool high = is_high(shape, reduced, elements);
  int64_t longest = high ? MAX_ROWS : MAX_PIECE;
  if (elements <= LONG && !high) return false;
  for (c->along = shape->rank - 1; c->along >= 0; c->along--) {
    c->size = shape->dims[c->along];
    if (!list_has(reduced, c->along)) continue;
    if (inner * c->size > longest) break;
    inner *= c->size;
  }
  int64_t max = longest / inner, min = (high ? MIN_ROWS : MIN_PIECE) / inner;
  if (min < 1) min = 1;
  c->piece = max;
  for (int64_t piece = max; piece >= min; piece--) {
    if (c->size % piece) continue;
    c->piece = piece;
    break;
  }
  c->pieces = c->size / c->piece;
  c->rest = c->size % c->piece;
  return true;
}

/* ---- Operands ---- */

/* Returns the elements [begin, end) of the split dimension. */
static Instruction *part_of(Cut *c, Instruction *x, int64_t begin, int64_t end) {
  Instruction *part = computation_add_range(c->computation, x, c->along, begin, end);
  if (!begin || !opcode_is_elementwise(x->opcode) || x->a->control_predecessors.count ||
      c->copied++ >= MAX_COPIED) {
    return part;
  }
  /* Operations that both parts need are copied, instead of writing their result to memory. */
  Instruction **operands = ARENA_ARRAY(c->arena, Instruction *, x->operand_count);
  for (int i = 0; i < x->operand_count; i++) {
    Instruction *operand = x->operands[i];
    operands[i] = operand->shape->rank ? part_of(c, operand, begin, end) : operand;
  }
  return computation_add(c->computation, x->opcode, part->shape, operands, x->operand_count, x->a);
}

/* Reshapes x to have one dimension of `pieces` and one of a piece. */
static Instruction *in_pieces(Cut *c, Instruction *x) {
  int64_t dims[MAX_RANK];
  if (c->rest) x = part_of(c, x, 0, c->size - c->rest);
  for (int d = 0; d < c->rank; d++) dims[d + (d > c->along)] = x->shape->dims[d];
  dims[c->along] = c->pieces;
  dims[c->along + 1] = c->piece;
  return computation_add_reshape(c->computation, x, c->rank + 1, dims);
}

/* ---- Initial values of pieces ---- */

static Instruction *neutral(const Cut *c, int result) {
  Instruction *init = c->reduce->operands[c->count + result];
  PrimitiveType type = c->sum_type != PRIMITIVE_TYPE_INVALID ? c->sum_type : init->shape->type;
  Scalar value;
  if (!opcode_neutral(reduce_operation_of(c->reduce, result), type, &value)) return init;
  return computation_add_number(c->computation, type, value);
}

static Computation *sum_reducer(const Cut *c) {
  return module_add_reducer(c->computation->module, reduce_operation(c->reduce), c->sum_type);
}

static Instruction *converted(const Cut *c, Instruction *x) {
  if (c->sum_type == PRIMITIVE_TYPE_INVALID) return x;
  return computation_add(c->computation, HLO_CONVERT,
                         shape_with_type(c->arena, x->shape, c->sum_type), &x, 1, NULL);
}

/* ---- The reductions ---- */

/* Reduces `operands`, whose dimensions from number `from` on are those of the reduction from `from` - `added`
** on, over these dimensions. The results have the dimensions before. */
static Instruction **reduced(const Cut *c, Instruction **operands, int added, Int64List *kept) {
  const Shape *shape = operands[0]->shape,
              **shapes = ARENA_ARRAY(c->arena, const Shape *, c->count);
  int64_t dims[MAX_RANK], *over = ARENA_ARRAY(c->arena, int64_t, shape->rank);
  int64_t *left = ARENA_ARRAY(c->arena, int64_t, shape->rank);
  int rank = 0;
  Attributes a = *ATTRIBUTES(.to_apply = c->combine, .dimensions = {0, over});
  *kept = (Int64List){0, left};
  for (int d = 0; d < shape->rank; d++) {
    bool is_reduced = list_has(c->reduce->a->dimensions, d <= c->along ? d : d - added);
    if (is_reduced && d >= c->along + added) {
      over[a.dimensions.count++] = d;
      continue;
    }
    if (is_reduced) left[kept->count++] = rank;
    dims[rank++] = shape->dims[d];
  }
  for (int i = 0; i < c->count; i++) {
    shapes[i] = shape_make(c->arena, operands[i]->shape->type, rank, dims, NULL);
  }
  const Shape *all = c->count > 1 ? shape_tuple(c->arena, c->count, shapes) : shapes[0];
  Instruction *reduce =
      computation_add(c->computation, HLO_REDUCE, all, operands, 2 * c->count, &a);
  Instruction **results = ARENA_ARRAY(c->arena, Instruction *, c->count);
  for (int i = 0; i < c->count; i++) {
    results[i] = c->count > 1 ? computation_add_element(c->computation, reduce, i) : reduce;
  }
  return results;
}

/* Concatenates the results of the pieces and of the remaining elements along dimension `at`. */
static Instruction *with_rest(const Cut *c, Instruction *pieces, Instruction *rest, int at) {
  const Shape *shape = pieces->shape;
  int64_t *dims = arena_copy(c->arena, shape->dims, sizeof *dims * (size_t)shape->rank);
  dims[at] = 1;
  Instruction *both[] = {pieces, NULL};
  both[1] = computation_add_reshape(c->computation, rest, shape->rank, dims);
  dims[at] = c->pieces + 1;
  const Attributes *a =
      ATTRIBUTES(.dimensions = {1, arena_copy(c->arena, &(int64_t){at}, sizeof(int64_t))});
  const Shape *all = shape_make(c->arena, shape->type, shape->rank, dims, NULL);
  return computation_add(c->computation, HLO_CONCATENATE, all, both, 2, a);
}

static void cut(Cut *c) {
  Instruction *x = c->reduce, **operands = ARENA_ARRAY(c->arena, Instruction *, 2 * c->count);
  Instruction **rests = ARENA_ARRAY(c->arena, Instruction *, 2 * c->count);
  Int64List kept, kept_of_rest;
  c->combine = c->sum_type != PRIMITIVE_TYPE_INVALID ? sum_reducer(c) : x->a->to_apply;
  for (int i = 0; i < c->count; i++) {
    Instruction *operand = converted(c, x->operands[i]);
    operands[i] = in_pieces(c, operand);
    operands[c->count + i] = rests[c->count + i] = neutral(c, i);
    if (c->rest) rests[i] = part_of(c, operand, c->size - c->rest, c->size);
  }
  Instruction **results = reduced(c, operands, 1, &kept);
  if (c->rest) rests = reduced(c, rests, 0, &kept_of_rest);
  for (int i = 0; i < c->count; i++) {
    int at = (int)kept.items[kept.count - 1];
    operands[i] = c->rest ? with_rest(c, results[i], rests[i], at) : results[i];
    operands[c->count + i] = converted(c, x->operands[c->count + i]);
  }
  const Attributes *a = ATTRIBUTES(.to_apply = c->combine, .dimensions = kept);
  if (c->sum_type == PRIMITIVE_TYPE_INVALID) {
    instruction_become(x, HLO_REDUCE, operands, 2 * c->count, a);
    return;
  }
  const Shape *sum_shape = shape_with_type(c->arena, x->shape, c->sum_type);
  Instruction *total = computation_add(c->computation, HLO_REDUCE, sum_shape, operands, 2, a);
  instruction_become(x, HLO_CONVERT, &total, 1, NULL);
}

static bool split(Instruction *x, const Target *target) {
  Cut c = {.computation = x->parent, .arena = x->parent->module->arena, .reduce = x};
  if (x->opcode != HLO_REDUCE || x->a->control_predecessors.count || !can_fuse(target, x))
    return false;
  c.count = x->operand_count / 2;
  c.rank = x->operands[0]->shape->rank;
  if (c.rank == MAX_DIMENSIONS || !plan_cut(&c)) return false;
  PrimitiveType type = x->operands[0]->shape->type;
  Opcode opcode = reduce_operation(x);
  bool is_sum = opcode == HLO_ADD || opcode == HLO_MULTIPLY;
  if (is_sum && type_is_floating(type) && type_bits(type) < 32) c.sum_type = F32;
  cut(&c);
  return true;
}

bool pass_split_reductions(Module *module, const Target *target) {
  bool changed = false;
  for (int i = 0; i < module->count; i++) {
    Computation *computation = module->computations[i];
    bool here = false;
    for (int k = 0; k < computation->count; k++) { /* including those added */
      while (split(computation->instructions[k], target)) here = true;
    }
    if (here) computation_sort(computation);
    changed |= here;
  }
  if (changed) module_keep_reached(module);
  return changed;
}
