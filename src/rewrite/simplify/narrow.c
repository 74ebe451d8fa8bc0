/*
** Computes only the elements of an array that its users read. Goes from the last instruction to the first and finds,
** for each value, the smallest box that contains all elements read. Dots and reductions with a small box are narrowed
** to it, together with their operands:
**
**     slice(dot(x, w), rows [i:i+1])     dot(slice(x, rows [i:i+1]), w)
**
** So a model whose last position alone is read computes the last layer for that position only. A program
** in which only element-wise loops would shrink stays as it is: fusion with the slices narrows these loops.
*/
#include "base/scope.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MIN_PART, MIN_WORK. Test: "products and reductions that are used in part" in
  ** core/thresholds_programs.test.mjs. */
  MIN_PART = 2,       /* min ratio of all elements to those used, for a value to be narrowed */
  MIN_WORK = 1 << 14, /* min count of multiplications saved */
};

typedef struct Range {
  int64_t low, high; /* [low, high) */
} Range;

typedef struct Narrower {
  Arena *arena; /* scratch */
  Computation *computation;
  int count;        /* instructions before the pass */
  Range **used;     /* by id: the box used, a range per dimension; NULL: no use found yet */
  Instruction **to; /* by id: the narrowed value; NULL: not narrowed */
} Narrower;

/* ---- Boxes ---- */

static Range *full_box(const Narrower *n, const Shape *shape) {
  Range *box = ARENA_ARRAY(n->arena, Range, shape->rank);
  for (int d = 0; d < shape->rank; d++) box[d] = (Range){0, shape->dims[d]};
  return box;
}

static int64_t box_elements(const Range *box, int rank) {
  int64_t count = 1;
  for (int d = 0; d < rank; d++) count *= box[d].high - box[d].low;
  return count;
}

static bool is_full(const Range *box, const Shape *shape) {
  for (int d = 0; d < shape->rank; d++) {
    if (box[d].low > 0 || box[d].high < shape->dims[d]) return false;
  }
  return true;
}

static const Shape *box_shape(Arena *arena, PrimitiveType type, const Range *box, int rank) {
  int64_t dims[MAX_RANK];
  for (int d = 0; d < rank; d++) dims[d] = box[d].high - box[d].low;
  return shape_make(arena, type, rank, dims, NULL);
}

/* ---- The box of an operand that a box of the result reads ---- */

/* Maps a box through a reshape, one group of dimensions at a time. Dimensions of size 1 may come and go. Within a
** group only the outermost dimension may be a part. Returns false if the operand's elements form no box. */
static bool reshaped_box(const Instruction *x, const Range *box, Range *out) {
  const Shape *from = x->shape, *to = x->operands[0]->shape;
  int i = 0, j = 0;
  while (i < from->rank || j < to->rank) {
    int first_i = i, first_j = j;
    int64_t left = i < from->rank ? from->dims[i++] : 1, right = j < to->rank ? to->dims[j++] : 1;
    while (left != right) {
      if (left < right) {
        left *= from->dims[i++];
      } else {
        right *= to->dims[j++];
      }
    }
    /* The group's part, as a range of its elements in row-major order: only one dimension is not whole. */
    int64_t low = 0, high = left, stride = left, whole = left;
    bool is_part = false;
    for (int k = first_i; k < i; k++) {
      whole /= from->dims[k];
      if (from->dims[k] == 1) continue;
      bool is_whole = box[k].low == 0 && box[k].high == from->dims[k];
      if (is_whole) continue;
      if (is_part || whole * from->dims[k] != left) return false; /* not the outermost */
      is_part = true;
      low = box[k].low * whole;
      high = box[k].high * whole;
    }
    for (int k = first_j; k < j; k++) {
      bool outermost = stride == left && to->dims[k] > 1;
      stride /= to->dims[k];
      out[k] = (Range){0, to->dims[k]};
      if (!is_part || !outermost) continue;
      if (low % stride || high % stride) return false;
      out[k] = (Range){low / stride, high / stride};
    }
  }
  return true;
}

/* A dot's result has the batch dimensions, then the free dimensions of lhs, then those of rhs. */
static void dot_box(const Instruction *dot, int side, const Range *box, Range *out) {
  const Shape *shape = dot->operands[side]->shape, *lhs = dot->operands[0]->shape;
  const Attributes *a = dot->a;
  Int64List batch = side ? a->rhs_batch_dims : a->lhs_batch_dims;
  Int64List contracted = side ? a->rhs_contracting_dims : a->lhs_contracting_dims;
  int next = side ? lhs->rank - a->lhs_contracting_dims.count : batch.count;
  for (int d = 0; d < shape->rank; d++) {
    if (!list_has(batch, d) && !list_has(contracted, d)) out[d] = box[next++];
  }
  for (int i = 0; i < batch.count; i++) out[batch.items[i]] = box[i];
}

static bool is_array_reduce(const Instruction *x) {
  return x->opcode == HLO_REDUCE && x->operand_count == 2;
}

/* Finds the box of operand k that `box` of x reads, in `out`. Returns false if there is none, or x has no part. */
static bool operand_box(const Instruction *x, int k, const Range *box, Range *out) {
  const Shape *operand = x->operands[k]->shape;
  for (int d = 0; d < operand->rank; d++) out[d] = (Range){0, operand->dims[d]};
  if (shape_elements(x->shape) == 0) return false;
  if (opcode_is_elementwise(x->opcode) || x->opcode == HLO_COPY) {
    if (operand->rank && !shape_same_dims(operand, x->shape)) return false;
    for (int d = 0; d < operand->rank; d++) out[d] = box[d];
    return true;
  }
  switch (x->opcode) {
  case HLO_BROADCAST:
    for (int d = 0; d < operand->rank; d++) out[d] = box[x->a->dimensions.items[d]];
    return true;
  case HLO_TRANSPOSE:
    for (int d = 0; d < operand->rank; d++) out[x->a->dimensions.items[d]] = box[d];
    return true;
  case HLO_RESHAPE: return reshaped_box(x, box, out);
  case HLO_SLICE:
    for (int d = 0; d < operand->rank; d++) {
      const SliceDimension *s = &x->a->slice.items[d];
      out[d] =
          (Range){s->start + box[d].low * s->stride, s->start + (box[d].high - 1) * s->stride + 1};
    }
    return true;
  case HLO_REDUCE:
    for (int d = 0, next = 0; d < operand->rank; d++) {
      if (!list_has(x->a->dimensions, d)) out[d] = box[next++];
    }
    return is_array_reduce(x);
  case HLO_DOT: dot_box(x, k, box, out); return true;
  default: return false;
  }
}

/* ---- Used elements ---- */

static void use(const Narrower *n, const Instruction *x, const Range *box) {
  Range **used = &n->used[x->id];
  if (!*used) {
    *used = arena_copy(n->arena, box, sizeof *box * (size_t)x->shape->rank);
    return;
  }
  for (int d = 0; d < x->shape->rank; d++) {
    if (box[d].low < (*used)[d].low) (*used)[d].low = box[d].low;
    if (box[d].high > (*used)[d].high) (*used)[d].high = box[d].high;
  }
}

static bool can_narrow(const Instruction *x, const Range *box) {
  Range out[MAX_RANK];
  if (!shape_is_array(x->shape) || x->operand_count == 0 || is_full(box, x->shape) ||
      MIN_PART * box_elements(box, x->shape->rank) > shape_elements(x->shape)) {
    return false;
  }
  for (int k = 0; k < x->operand_count; k++) {
    if (!operand_box(x, k, box, out)) return false;
  }
  return true;
}

/* Counts the scalar operations of a dot or a reduction with that number of results. */
static int64_t work_of(const Instruction *x, int64_t results) {
  int64_t each = 1;
  const Shape *operand = x->operands[0]->shape;
  if (x->opcode != HLO_DOT && !is_array_reduce(x)) return 0;
  Int64List summed = x->opcode == HLO_DOT ? x->a->lhs_contracting_dims : x->a->dimensions;
  for (int i = 0; i < summed.count; i++) each *= operand->dims[summed.items[i]];
  return each * results;
}

/* Finds the box used of each value. Returns the scalar operations that narrowing saves. */
static int64_t analyse(const Narrower *n) {
  int64_t saved = 0;
  for (int i = n->count - 1; i >= 0; i--) {
    const Instruction *x = n->computation->instructions[i];
    Range **box = &n->used[i], out[MAX_RANK];
    if (*box && can_narrow(x, *box)) {
      int64_t part = box_elements(*box, x->shape->rank);
      saved += work_of(x, shape_elements(x->shape)) - work_of(x, part);
    } else {
      *box = full_box(n, x->shape);
    }
    for (int k = 0; k < x->operand_count; k++) {
      if (!operand_box(x, k, *box, out)) {
        use(n, x->operands[k], full_box(n, x->operands[k]->shape));
      } else {
        use(n, x->operands[k], out);
      }
    }
  }
  return saved;
}

/* ---- The smaller program ---- */

/* Returns `box` of x, sliced from x or from its narrowed value. */
static Instruction *part_of(const Narrower *n, Instruction *x, const Range *box) {
  Arena *arena = n->computation->module->arena;
  Instruction *whole = n->to[x->id] ? n->to[x->id] : x;
  int rank = x->shape->rank;
  Range *rest = ARENA_ARRAY(n->arena, Range, rank);
  for (int d = 0; d < rank; d++) {
    int64_t low = n->to[x->id] ? n->used[x->id][d].low : 0;
    rest[d] = (Range){box[d].low - low, box[d].high - low};
  }
  if (is_full(rest, whole->shape)) return whole;
  SliceDimension *items = ARENA_ARRAY(arena, SliceDimension, rank);
  for (int d = 0; d < rank; d++) items[d] = (SliceDimension){rest[d].low, rest[d].high, 1};
  return computation_add(n->computation, HLO_SLICE, box_shape(arena, x->shape->type, rest, rank),
                         &whole, 1, ATTRIBUTES(.slice = {rank, items}));
}

static Attributes attributes_of_part(Arena *arena, const Instruction *x, const Instruction *part) {
  Attributes a = *x->a;
  if (x->opcode != HLO_SLICE) return a;
  SliceDimension *items = ARENA_ARRAY(arena, SliceDimension, a.slice.count);
  for (int d = 0; d < a.slice.count; d++) {
    items[d] = (SliceDimension){0, part->shape->dims[d], x->a->slice.items[d].stride};
  }
  a.slice.items = items;
  return a;
}

/* Narrows x to the box used. A slice that is used whole becomes a slice of its narrowed operand. */
static void narrow(const Narrower *n, Instruction *x) {
  Arena *arena = n->computation->module->arena;
  const Range *box = n->used[x->id];
  bool whole = is_full(box, x->shape);
  if (whole && (x->opcode != HLO_SLICE || !n->to[x->operands[0]->id])) return;
  Instruction **operands = ARENA_ARRAY(n->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    Range out[MAX_RANK];
    operand_box(x, k, box, out);
    operands[k] = part_of(n, x->operands[k], out);
  }
  Attributes a = attributes_of_part(arena, x, operands[0]);
  if (whole) {
    instruction_become(x, x->opcode, operands, x->operand_count, &a);
    return;
  }
  const Shape *shape = box_shape(arena, x->shape->type, box, x->shape->rank);
  n->to[x->id] = computation_add_named(n->computation, x->opcode, shape, operands, x->operand_count,
                                       &a, x->name);
}

/* Rules out most computations cheaply. One that depends on layouts or on a stated order stays as it is. */
static bool may_be_narrowed(const Computation *computation) {
  bool slices = false, works = false;
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_BITCAST || x->a->control_predecessors.count) return false;
    slices |= x->opcode == HLO_SLICE;
    works |= x->opcode == HLO_DOT || x->opcode == HLO_REDUCE;
  }
  return slices && works;
}

static bool narrow_computation(Computation *computation) {
  if (!may_be_narrowed(computation)) return false;
  computation_renumber(computation);
  Narrower n = {.arena = arena_new(), .computation = computation, .count = computation->count};
  n.used = ARENA_ARRAY(n.arena, Range *, n.count);
  n.to = ARENA_ARRAY(n.arena, Instruction *, n.count);
  use(&n, computation->root, full_box(&n, computation->root->shape));
  bool worth_it = analyse(&n) >= MIN_WORK;
  for (int i = 0; i < n.count && worth_it; i++) narrow(&n, computation->instructions[i]);
  if (worth_it) computation_sort(computation);
  arena_free(n.arena);
  return worth_it;
}

bool pass_narrow(Module *module) { return for_each_computation(module, narrow_computation); }
