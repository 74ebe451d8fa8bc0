/* Walks over a computation, and adds each instruction for the batch. The simplest rules are here, too. */
#include "base/min_max.h"
#include "derive/batch/batching.h"

/* ---- The table ---- */

static BatchRule batch_elementwise, batch_passed_through;

#define ELEMENTWISE .rule = batch_elementwise
#define FRONT       .rule = batch_front
#define DIMENSIONS  .rule = batch_front, .shifts = true
#define PASSED      .rule = batch_passed_through
#define RULE(f)     .rule = f
#define IN_TURN     .rule = batch_in_turn
#define SOURCE      .is_source = true
#define NONE(why)   .none = why
#define NEVER(why)  .none = why, .is_refused = true

const BatchRow batch_rows[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes, inference, batch, ...) {batch},
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

/* ---- Shapes ---- */

bool is_batched(const Instruction *value, const Instruction *source) {
  return !shape_compatible(value->shape, source->shape);
}

bool *put_flags(const Shape *value, const Shape *source, bool *out) {
  if (!shape_is_tuple(source)) {
    *out = value->rank != source->rank;
    return out + 1;
  }
  for (int i = 0; i < source->tuple_size; i++) {
    out = put_flags(value->elements[i], source->elements[i], out);
  }
  return out;
}

const Shape *with_batch(Batching *b, const Shape *source, int at) {
  int64_t dims[MAX_RANK + 1];
  for (int d = 0; d < source->rank; d++) dims[d < at ? d : d + 1] = source->dims[d];
  dims[at] = b->all->size;
  return shape_of(&b->m, source->type, source->rank + 1, dims);
}

static const Shape *put_batch(Batching *b, const Shape *source, const bool **flags) {
  if (!shape_is_tuple(source)) {
    bool batched = *flags ? *(*flags)++ : shape_is_array(source);
    return batched ? with_batch(b, source, 0) : source;
  }
  const Shape **elements = ARENA_ARRAY(b->arena, const Shape *, source->tuple_size);
  for (int i = 0; i < source->tuple_size; i++) {
    elements[i] = put_batch(b, source->elements[i], flags);
  }
  return shape_tuple(b->arena, source->tuple_size, elements);
}

const Shape *flagged_shape(Batching *b, const Shape *source, const bool *flags) {
  return put_batch(b, source, &flags);
}

const Shape *batched_shape(Batching *b, const Shape *source) {
  return flagged_shape(b, source, NULL);
}

/* ---- Values ---- */

static Instruction *broadcast(Batching *b, Instruction *leaf) {
  const Shape *shape = with_batch(b, leaf->shape, 0);
  return make_broadcast(&b->m, leaf, shape, list_counting(&b->m, 1, leaf->shape->rank));
}

Instruction *in_front(Batching *b, Instruction *value, const Instruction *source) {
  return is_batched(value, source) ? value : broadcast(b, value);
}

Instruction **leaves_of(Batching *b, Instruction *value) {
  Instruction **leaves = ARENA_ARRAY(b->arena, Instruction *, shape_leaves(value->shape));
  value_leaves(&b->m, value, leaves);
  return leaves;
}

Instruction *flagged_in_front(Batching *b, Instruction *value, const Shape *source,
                              const bool *flags) {
  if (shape_compatible(value->shape, flagged_shape(b, source, flags))) return value;
  int count = shape_leaves(source);
  bool *has = ARENA_ARRAY(b->arena, bool, count);
  put_flags(value->shape, source, has);
  Instruction **leaves = leaves_of(b, value);
  for (int i = 0; i < count; i++) {
    if (flags[i] && !has[i]) leaves[i] = broadcast(b, leaves[i]);
  }
  Instruction *const *next = leaves;
  return value_from_leaves(&b->m, source, &next);
}

Instruction *select_leaves(Batching *b, Instruction *predicate, Instruction *x, Instruction *y) {
  Instruction **xs = leaves_of(b, x), **ys = leaves_of(b, y);
  for (int i = 0; i < shape_leaves(x->shape); i++) {
    if (!shape_is_array(xs[i]->shape)) continue;
    Instruction *where = make_broadcast(&b->m, predicate, xs[i]->shape, list_of_one(&b->m, 0));
    xs[i] = make_select(&b->m, where, xs[i], ys[i]);
  }
  Instruction *const *next = xs;
  return value_from_leaves(&b->m, x->shape, &next);
}

/* ---- Instructions ---- */

Attributes batched_attributes(const Instruction *x) {
  Attributes a = *x->a;
  a.control_predecessors = (InstructionList){0}; /* the order of the list expresses them */
  a.sharding = NULL;
  return a;
}

Instruction *add_batched(Batching *b, const Instruction *x, Opcode opcode, const Shape *shape,
                         Instruction *const *operands, int count, const Attributes *attributes) {
  Instruction *added =
      computation_add_named(b->m.computation, opcode, shape, operands, count, attributes, x->name);
  added->line = x->line;
  return added;
}

Int64List shifted(Batching *b, Int64List list) {
  int64_t *items = ARENA_ARRAY(b->arena, int64_t, list.count);
  for (int i = 0; i < list.count; i++) items[i] = list.items[i] + 1;
  return (Int64List){list.count, items};
}

Int64List shifted_with_batch(Batching *b, Int64List list) {
  int64_t *items = ARENA_ARRAY(b->arena, int64_t, list.count + 1);
  items[0] = 0;
  for (int i = 0; i < list.count; i++) items[i + 1] = list.items[i] + 1;
  return (Int64List){list.count + 1, items};
}

Instruction *move_dimension(Batching *b, Instruction *x, int from, int to) {
  int64_t order[MAX_RANK];
  for (int d = 0, next = 0; d < x->shape->rank; d++) {
    if (next == from) next++;
    order[d] = d == to ? from : next++;
  }
  return make_transpose(&b->m, x, order);
}

/* ---- The simplest rules ---- */

Instruction *batch_front(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = batched_attributes(x);
  if (batch_rows[x->opcode].shifts) a.dimensions = shifted(b, a.dimensions);
  for (int k = 0; k < x->operand_count; k++) operands[k] = in_front(b, operands[k], x->operands[k]);
  return add_batched(b, x, x->opcode, batched_shape(b, x->shape), operands, x->operand_count, &a);
}

/* A scalar among arrays (a predicate, or a bound of clamp) stays one, unless it is batched. */
static Instruction *batch_elementwise(Batching *b, const Instruction *x, Instruction **operands) {
  for (int k = 0; k < x->operand_count; k++) {
    bool is_scalar = x->operands[k]->shape->rank < x->shape->rank;
    if (!is_scalar) {
      operands[k] = in_front(b, operands[k], x->operands[k]);
    } else if (is_batched(operands[k], x->operands[k])) {
      const Shape *shape = with_batch(b, x->shape, 0);
      operands[k] = make_broadcast(&b->m, operands[k], shape, list_of_one(&b->m, 0));
    }
  }
  Attributes a = batched_attributes(x);
  return add_batched(b, x, x->opcode, batched_shape(b, x->shape), operands, x->operand_count, &a);
}

/* Returns the shape of a copy, which may change the layout. value: the shape of its operand, some of whose arrays have
** the batch. */
static const Shape *copied_shape(Batching *b, const Shape *value, const Shape *source) {
  if (!shape_is_tuple(source)) {
    return value->rank > source->rank ? batched_with_layout(b, source) : source;
  }
  const Shape **elements = ARENA_ARRAY(b->arena, const Shape *, source->tuple_size);
  for (int i = 0; i < source->tuple_size; i++) {
    elements[i] = copied_shape(b, value->elements[i], source->elements[i]);
  }
  return shape_tuple(b->arena, source->tuple_size, elements);
}

/* Its shape is that of its operands, of the first one, or of an element of that. */
static Instruction *batch_passed_through(Batching *b, const Instruction *x,
                                         Instruction **operands) {
  Attributes a = batched_attributes(x);
  const Shape *shape = x->opcode == HLO_AFTER_ALL ? x->shape : operands[0]->shape;
  if (x->opcode == HLO_TUPLE_OP) {
    const Shape **elements = ARENA_ARRAY(b->arena, const Shape *, x->operand_count);
    for (int k = 0; k < x->operand_count; k++) elements[k] = operands[k]->shape;
    shape = shape_tuple(b->arena, x->operand_count, elements);
  } else if (x->opcode == HLO_GET_TUPLE_ELEMENT) {
    shape = shape->elements[a.tuple_index];
  } else if (x->opcode == HLO_COPY) {
    shape = copied_shape(b, shape, x->shape);
  }
  return add_batched(b, x, x->opcode, shape, operands, x->operand_count, &a);
}

/* ---- The walk ---- */

Instruction *no_batch(Batching *b, const Instruction *x, const char *why) {
  if (!b->all->failed) {
    b->all->failed = true;
    error_set_op(b->all->error, STATUS_UNIMPLEMENTED, "vmap", "%s \"%s\" of shape %s %s",
                 opcode_name(x->opcode), x->name, shape_str(b->arena, x->shape), why);
  }
  return (Instruction *)x;
}

static bool touches_dynamic(const Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    if (shape_is_dynamic(x->operands[k]->shape)) return true;
  }
  return shape_is_dynamic(x->shape);
}

/* Copies an instruction that does not depend on the batch. */
static Instruction *keep(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = *x->a;
  a.control_predecessors = (InstructionList){0};
  const Attributes *same = x->a->control_predecessors.count ? &a : x->a;
  Instruction *kept = add_batched(b, x, x->opcode, x->shape, operands, x->operand_count, same);
  kept->literal = x->literal;
  return kept;
}

/* Whether an array with the batch, and up to two more dimensions that rules add, is within the limits of shapes. */
static bool has_room(const Batching *b, const Shape *shape) {
  int64_t dims[MAX_RANK + 1] = {b->all->size};
  if (shape->rank + 3 > MAX_RANK) return false;
  for (int d = 0; d < shape->rank; d++) dims[d + 1] = shape->dims[d];
  return shape_bytes_fit(shape->type, shape->rank + 1, dims);
}

static bool has_room_for_all(const Batching *b, const Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    if (!has_room(b, x->operands[k]->shape)) return false;
  }
  for (int i = 0; i < x->shape->tuple_size; i++) {
    if (!has_room(b, x->shape->elements[i])) return false;
  }
  return has_room(b, x->shape);
}

/* An empty batch has no elements to compute. */
static Instruction *empty(Batching *b, const Shape *source) {
  if (shape_is_token(source)) return make(&b->m, HLO_AFTER_ALL, source, NULL, 0, NULL);
  if (!shape_is_tuple(source)) return make_zeros(&b->m, with_batch(b, source, 0));
  Instruction **elements = ARENA_ARRAY(b->arena, Instruction *, source->tuple_size);
  for (int i = 0; i < source->tuple_size; i++) elements[i] = empty(b, source->elements[i]);
  return computation_add_tuple(b->m.computation, elements, source->tuple_size);
}

static bool is_structure(const BatchRow *row) {
  return row->rule == batch_passed_through || row->rule == batch_call ||
         row->rule == batch_conditional || row->rule == batch_while;
}

static Instruction *visit(Batching *b, const Instruction *x) {
  const BatchRow *row = &batch_rows[x->opcode];
  Instruction **operands = ARENA_ARRAY(b->arena, Instruction *, x->operand_count);
  bool any = false;
  for (int k = 0; k < x->operand_count; k++) {
    operands[k] = b->map[x->operands[k]->id];
    any |= is_batched(operands[k], x->operands[k]);
  }
  if (!any) return keep(b, x, operands);
  if (row->none) return no_batch(b, x, row->none);
  if (touches_dynamic(x)) {
    return no_batch(b, x, "has a dynamic dimension; vmap needs sizes that are known");
  }
  if (!has_room_for_all(b, x)) return no_batch(b, x, "is too large for this batch");
  if (b->all->size == 0 && !is_structure(row)) return empty(b, x->shape);
  return row->rule(b, x, operands);
}

Instruction *batch_walk(Batching *b) {
  for (int i = 0; i < b->source->count && !b->all->failed; i++) {
    const Instruction *x = b->source->instructions[i];
    if (x->opcode != HLO_PARAMETER) b->map[i] = visit(b, x);
  }
  return b->map[b->source->root->id];
}

Batching batch_begin(Batch *all, const Computation *source) {
  Batching b = {.all = all, .arena = all->module->arena, .source = source};
  Computation *added = module_add_computation(all->module, source->name);
  b.m = (Maker){added, all->error, &all->failed};
  b.map = ARENA_ARRAY(b.arena, Instruction *, source->count);
  computation_renumber((Computation *)source);
  return b;
}

/* ---- Called computations ---- */

static bool is_made(const Case *one, const bool *out, int count) {
  bool same = one->made != NULL;
  for (int i = 0; i < count && same; i++) same = one->made_out[i] == out[i];
  return same;
}

Computation *batch_computation(Batching *b, const Computation *source, const Case *one,
                               const bool *out) {
  const Shape *result = source->root->shape;
  if (!out) out = one->out;
  if (is_made(one, out, shape_leaves(result))) return one->made;
  Batching inner = batch_begin(b->all, source);
  const bool *in = one->in;
  for (int i = 0; i < source->parameter_count; i++) {
    const Instruction *from = source->parameters[i];
    const Shape *shape = flagged_shape(b, from->shape, in);
    inner.map[from->id] = computation_add_parameter(inner.m.computation, i, shape, from->name);
    in += shape_leaves(from->shape);
  }
  Instruction *root = batch_walk(&inner);
  if (b->all->failed) return (Computation *)source;
  root = flagged_in_front(&inner, root, result, out);
  inner.m.computation->root = root;
  inner.m.computation->keeps_root = true;
  Case *known = (Case *)one;
  known->made = inner.m.computation;
  known->made_out = out;
  return known->made;
}
