/*
** Moves gathers of rows before the operations that compute the table, if they read few of its elements:
**
**     gather(multiply(convert(w), broadcast(s)), i)    multiply(convert(gather(w, i)), broadcast(gather(s, i)))
**
** So an embedding that is stored in few bytes is not dequantised as a whole, and a model that also multiplies by it reads the
** numbers as they are stored. Of a table of angles for all positions, only those of the position are computed.
**
** Moves slices of tables of positions likewise: rows of a causal mask, which then is a comparison with the first row's number.
**
**     dynamic-slice(compare(iota, iota), n, 0)         compare(iota + clamp(0, n, rows - 1), iota)
*/
#include "rewrite/simplify/move_gathers.h"

#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MIN_TABLE, MIN_RATIO. Test: "a gather of a computed table" in core/gathers.test.mjs. */
  MIN_TABLE = 4096, /* elements of a table */
  MIN_RATIO = 2,    /* min ratio of the table's elements to those read */
};

/* A gather whose indices each take one index of a dimension, and all indices of the others. The result has `before` dimensions
** of the indices, then the table's others. */
typedef struct Lookup {
  Instruction *gather;
  int dimension, before;
} Lookup;

static bool is_lookup(Instruction *x, Lookup *lookup) {
  if (x->opcode != HLO_GATHER || x->a->control_predecessors.count) return false;
  const Attributes *a = x->a;
  const Shape *table = x->operands[0]->shape;
  bool takes_one = a->start_index_map.count == 1 && a->collapsed_slice_dims.count == 1 &&
                   a->start_index_map.items[0] == a->collapsed_slice_dims.items[0] &&
                   a->offset_dims.count == table->rank - 1;
  if (!takes_one) return false;
  *lookup = (Lookup){x, (int)a->start_index_map.items[0], x->shape->rank - table->rank + 1};
  for (int d = 0; d < table->rank; d++) {
    if (d != lookup->dimension && a->slice_sizes.items[d] != table->dims[d]) return false;
  }
  for (int i = 0; i < a->offset_dims.count; i++) {
    if (a->offset_dims.items[i] != lookup->before + i) return false;
  }
  return true;
}

/* Returns where the result has a table's dimension `d`. `dimension` is the table's dimension that indices replace. */
static int64_t place_of(const Lookup *l, int64_t d, int dimension) {
  return l->before + d - (d > dimension);
}

/* Gathers from another table along one of its dimensions, by the same indices. */
static Instruction *look_up(const Lookup *l, Instruction *table, int dimension) {
  Computation *computation = table->parent;
  Arena *arena = computation->module->arena;
  int rank = table->shape->rank;
  int64_t *offsets = ARENA_ARRAY(arena, int64_t, rank), *sizes = ARENA_ARRAY(arena, int64_t, rank);
  int64_t *one = ARENA_ARRAY(arena, int64_t, 1), dims[MAX_RANK];
  for (int i = 0; i < l->before; i++) dims[i] = l->gather->shape->dims[i];
  for (int d = 0; d < rank; d++) {
    sizes[d] = d == dimension ? 1 : table->shape->dims[d];
    if (d == dimension) continue;
    int64_t place = place_of(l, d, dimension);
    offsets[place - l->before] = place;
    dims[place] = sizes[d];
  }
  *one = dimension;
  Attributes a = *l->gather->a;
  a.offset_dims = (Int64List){rank - 1, offsets};
  a.slice_sizes = (Int64List){rank, sizes};
  a.collapsed_slice_dims = a.start_index_map = (Int64List){1, one};
  const Shape *shape = shape_make(arena, table->shape->type, l->before + rank - 1, dims, NULL);
  Instruction *operands[] = {table, l->gather->operands[1]};
  return computation_add(computation, HLO_GATHER, shape, operands, 2, &a);
}

/* Returns the dimension of the table's operand, which is reshaped or read as another type, that is the table's dimension
** `dimension`; -1 if none. A type of another width adds or removes a last dimension. */
static int dimension_before(const Instruction *table, int dimension) {
  const Shape *to = table->shape, *from = table->operands[0]->shape;
  if (table->opcode == HLO_BITCAST_CONVERT) return dimension < from->rank ? dimension : -1;
  int64_t after = 1, found = 1;
  for (int d = to->rank - 1; d > dimension; d--) after *= to->dims[d];
  for (int d = from->rank - 1; d >= 0; found *= from->dims[d--]) {
    if (found == after && from->dims[d] == to->dims[dimension]) return d;
  }
  return -1;
}

static bool move_before_view(const Lookup *l, Instruction *table) {
  int before = dimension_before(table, l->dimension);
  if (before < 0) return false;
  Instruction *rows = look_up(l, table->operands[0], before);
  instruction_become(l->gather, table->opcode, &rows, 1, NULL);
  return true;
}

static bool move_before_transpose(const Lookup *l, Instruction *table) {
  Arena *arena = table->parent->module->arena;
  Int64List order = table->a->dimensions;
  int dimension = (int)order.items[l->dimension], rank = l->gather->shape->rank;
  int64_t *items = ARENA_ARRAY(arena, int64_t, rank);
  for (int d = 0; d < l->before; d++) items[d] = d;
  for (int d = 0; d < order.count; d++) {
    if (d == l->dimension) continue;
    items[place_of(l, d, l->dimension)] = place_of(l, order.items[d], dimension);
  }
  Instruction *rows = look_up(l, table->operands[0], dimension);
  instruction_become(l->gather, HLO_TRANSPOSE, &rows, 1, ATTRIBUTES(.dimensions = {rank, items}));
  return true;
}

static bool move_before_broadcast(const Lookup *l, Instruction *table) {
  Arena *arena = table->parent->module->arena;
  Int64List dims = table->a->dimensions;
  Instruction *rows = table->operands[0];
  int64_t *items = ARENA_ARRAY(arena, int64_t, l->before + dims.count);
  int count = 0, dimension = -1;
  for (int i = 0; i < dims.count; i++) {
    if (dims.items[i] == l->dimension) dimension = i;
  }
  if (dimension >= 0) {
    rows = look_up(l, rows, dimension);
    for (int d = 0; d < l->before; d++) items[count++] = d;
  }
  for (int i = 0; i < dims.count; i++) {
    if (i != dimension) items[count++] = place_of(l, dims.items[i], l->dimension);
  }
  instruction_become(l->gather, HLO_BROADCAST, &rows, 1, ATTRIBUTES(.dimensions = {count, items}));
  return true;
}

/* Moves the gather before an operation on elements, or before a concatenation along another dimension. */
static bool move_before_operands(const Lookup *l, const Instruction *table, const Attributes *a) {
  Instruction **operands =
      ARENA_ARRAY(table->parent->module->arena, Instruction *, table->operand_count);
  for (int k = 0; k < table->operand_count; k++) {
    Instruction *operand = table->operands[k];
    operands[k] = operand->shape->rank ? look_up(l, operand, l->dimension) : operand;
  }
  instruction_become(l->gather, table->opcode, operands, table->operand_count, a);
  return true;
}

bool move_gather(Instruction *x) {
  Lookup l;
  if (!is_lookup(x, &l)) return false;
  Instruction *table = x->operands[0];
  int64_t elements = shape_elements(table->shape);
  if (elements < MIN_TABLE || MIN_RATIO * shape_elements(x->shape) > elements ||
      table->a->control_predecessors.count) {
    return false;
  }
  switch (table->opcode) {
  case HLO_RESHAPE:
  case HLO_BITCAST_CONVERT: return move_before_view(&l, table);
  case HLO_TRANSPOSE: return move_before_transpose(&l, table);
  case HLO_BROADCAST: return move_before_broadcast(&l, table);
  case HLO_CONCATENATE: {
    int64_t *place = ARENA_ARRAY(table->parent->module->arena, int64_t, 1);
    *place = place_of(&l, table->a->dimensions.items[0], l.dimension);
    return table->a->dimensions.items[0] != l.dimension &&
           move_before_operands(&l, table, ATTRIBUTES(.dimensions = {1, place}));
  }
  default:
    return opcode_is_elementwise(table->opcode) && table->operand_count &&
           move_before_operands(&l, table, table->a);
  }
}

/* ---- Slices of positions ---- */

/* Whether x depends on iotas and scalars alone. */
static bool is_of_positions(const Instruction *x, int *steps) {
  Scalar value;
  if ((*steps)-- == 0 || !shape_is_array(x->shape)) return false;
  if (x->opcode == HLO_IOTA) return type_is_integral(x->shape->type);
  if (shape_elements(x->shape) == 1 || splat_value(x, &value)) return true;
  if (x->opcode == HLO_BROADCAST) return is_of_positions(x->operands[0], steps);
  for (int i = 0; i < x->operand_count; i++) {
    if (!is_of_positions(x->operands[i], steps)) return false;
  }
  return opcode_is_elementwise(x->opcode) && x->operand_count;
}

static Instruction *slice_positions(Instruction *x, Instruction *const *starts,
                                    const int64_t *sizes);

/* Slices an iota: numbers from the start on. */
static Instruction *slice_iota(Instruction *x, Instruction *start, const Shape *shape) {
  Computation *computation = x->parent;
  int d = (int)x->a->iota_dimension;
  int64_t last = x->shape->dims[d] - shape->dims[d];
  Instruction *small = computation_add(computation, HLO_IOTA, shape, NULL, 0, x->a);
  if (last == 0) return small;
  Instruction *bounds[] = {computation_add_integer(computation, start->shape->type, 0), start,
                           computation_add_integer(computation, start->shape->type, last)};
  Instruction *clamped = computation_add(computation, HLO_CLAMP, start->shape, bounds, 3, NULL);
  clamped = computation_add_convert(computation, clamped, shape->type);
  clamped = computation_add(computation, HLO_BROADCAST, shape, &clamped, 1, NULL);
  return computation_add_binary(computation, HLO_ADD, small, clamped);
}

static Instruction *slice_broadcast(Instruction *x, Instruction *const *starts,
                                    const Shape *shape) {
  Instruction *of[MAX_RANK], *operand = x->operands[0];
  int64_t sizes[MAX_RANK];
  for (int i = 0; i < operand->shape->rank; i++) {
    int64_t d = x->a->dimensions.items[i];
    of[i] = starts[d];
    sizes[i] = shape->dims[d];
  }
  operand = slice_positions(operand, of, sizes);
  return computation_add(x->parent, HLO_BROADCAST, shape, &operand, 1, x->a);
}

static Instruction *slice_positions(Instruction *x, Instruction *const *starts,
                                    const int64_t *sizes) {
  Computation *computation = x->parent;
  Arena *arena = computation->module->arena;
  const Shape *shape = shape_make(arena, x->shape->type, x->shape->rank, sizes, NULL);
  if (shape_same_dims(shape, x->shape)) return x;
  if (x->opcode == HLO_IOTA) return slice_iota(x, starts[x->a->iota_dimension], shape);
  if (x->opcode == HLO_BROADCAST) return slice_broadcast(x, starts, shape);
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, x->operand_count);
  for (int i = 0; i < x->operand_count; i++) {
    Instruction *operand = x->operands[i];
    operands[i] = operand->shape->rank ? slice_positions(operand, starts, sizes) : operand;
  }
  return computation_add(computation, x->opcode, shape, operands, x->operand_count, x->a);
}

Instruction *move_slice(Instruction *x) {
  /* Threshold MAX_STEPS: operations of a mask. No path. */
  enum { MAX_STEPS = 32 };
  int steps = MAX_STEPS;
  Instruction *table = x->operands[0];
  int64_t elements = shape_elements(table->shape);
  bool is_small = elements < MIN_TABLE || MIN_RATIO * shape_elements(x->shape) > elements;
  if (is_small || x->a->control_predecessors.count || !is_of_positions(table, &steps)) return NULL;
  return slice_positions(table, x->operands + 1, x->shape->dims);
}
