/*
** Packs what lies in memory for long: arguments, results and constants of 4-bit and 2-bit elements (value/storage.h) become arrays
** of bytes. The program unpacks an argument where it reads it, and packs a result; elements between take a byte each.
**
**     p = s4[6] parameter(0)            b = u8[3] parameter(0);  p = reshape(bitcast-convert(b))    (to s4[3,2])
**     ROOT r = s4[6] ...                ROOT r = u8[3] or(low, shift-left(high, 4))
**
** A loop that reads p reads the bytes: a bitcast-convert of an array in memory is no operation of a loop, but a way to read an
** array (plan/loop_nest.h). Other operations read an unpacked temporary.
**
** Packed arrays stay packed on their way into branches and calls, and in the state of a loop that only reads them: weights.
** All other computations, and the states that loops change, are as before.
*/
#include <string.h>

#include "base/scope.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "value/storage.h"

enum {
  /* Bytes after a packed constant, as loops load vectors. */
  READ_BEYOND = 16
};

/* The changes that callers make to a computation. `was`: by parameter, the old shape if it is packed now, else NULL.
** `passed_on`: of a loop's body, which elements of its result are packed. */
typedef struct Change {
  const Shape **was;
  const bool *passed_on;
} Change;

typedef struct Packer {
  Arena *arena;    /* scratch */
  Change *changes; /* by the computation's number */
  Rewrite rewrite;
  Computation *computation;
  int capacity;
  Instruction **bytes; /* by id: the packed array of an unpacked one; NULL: none */
} Packer;

/* ---- Shapes ---- */

static bool has_packed(const Shape *shape) {
  bool has = type_per_byte(shape->type) > 1;
  for (int i = 0; i < shape->tuple_size; i++) has |= has_packed(shape->elements[i]);
  return has;
}

static const Shape *bytes_shape(Arena *arena, int64_t count) {
  return shape_make(arena, U8, 1, &count, NULL);
}

/* Returns the shape in memory. */
static const Shape *packed_shape(Arena *arena, const Shape *shape) {
  if (!has_packed(shape)) return shape;
  if (!shape_is_tuple(shape)) return bytes_shape(arena, shape_packed_bytes(shape));
  const Shape **elements = ARENA_ARRAY(arena, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = packed_shape(arena, shape->elements[i]);
  return shape_tuple(arena, shape->tuple_size, elements);
}

/* ---- Arrays ---- */

static Arena *memory_of(const Packer *p) { return p->computation->module->arena; }

static Instruction *packed_of(const Packer *p, const Instruction *x) {
  return x->id < p->capacity ? p->bytes[x->id] : NULL;
}

static void note_packed(Packer *p, const Instruction *x, Instruction *bytes) {
  if (x->id >= p->capacity) {
    int capacity = 2 * x->id + 1;
    Instruction **grown = ARENA_ARRAY(p->arena, Instruction *, capacity);
    for (int i = 0; i < p->capacity; i++) grown[i] = p->bytes[i];
    p->bytes = grown;
    p->capacity = capacity;
  }
  p->bytes[x->id] = bytes;
}

static Instruction *reshaped(Instruction *x, int rank, const int64_t *dims) {
  bool same = x->shape->rank == rank && !memcmp(x->shape->dims, dims, sizeof *dims * (size_t)rank);
  return same ? x : computation_add_reshape(x->parent, x, rank, dims);
}

static Instruction *unpacked(Packer *p, Instruction *bytes, const Shape *shape) {
  int64_t dims[] = {shape_elements(bytes->shape), type_per_byte(shape->type)};
  int64_t count = shape_elements(shape), all = dims[0] * dims[1];
  const Shape *pairs = shape_make(memory_of(p), shape->type, 2, dims, NULL);
  Instruction *x = computation_add(p->computation, HLO_BITCAST_CONVERT, pairs, &bytes, 1, NULL);
  if (count < all) x = computation_add_range(p->computation, reshaped(x, 1, &all), 0, 0, count);
  x = reshaped(x, shape->rank, shape->dims);
  note_packed(p, x, bytes);
  return x;
}

static Instruction *number(Packer *p, const Shape *like, int64_t value) {
  Instruction *scalar = computation_add_integer(p->computation, like->type, value);
  return computation_add(p->computation, HLO_BROADCAST, like, &scalar, 1, NULL);
}

static Instruction *operation(Opcode opcode, Instruction *x, Instruction *y) {
  Instruction *operands[] = {x, y};
  return computation_add(x->parent, opcode, x->shape, operands, y ? 2 : 1, NULL);
}

static Instruction *with_type(Opcode opcode, Instruction *x, PrimitiveType type) {
  const Shape *shape = shape_with_type(x->parent->module->arena, x->shape, type);
  return computation_add(x->parent, opcode, shape, &x, 1, NULL);
}

/* Adds zeros to a vector. */
static Instruction *padded(Instruction *x, int64_t size) {
  Arena *arena = x->parent->module->arena;
  PaddingDimension end = {.high = size - x->shape->dims[0]};
  if (!end.high) return x;
  Instruction *zero = computation_add_integer(x->parent, x->shape->type, 0);
  Instruction *operands[] = {x, zero};
  const Shape *shape = shape_make(arena, x->shape->type, 1, &size, NULL);
  return computation_add(x->parent, HLO_PAD, shape, operands, 2,
                         ATTRIBUTES(.padding = {1, arena_copy(arena, &end, sizeof end)}));
}

/* Returns the bytes of an array: those that it was unpacked of, or new ones. */
static Instruction *packed(Packer *p, Instruction *x) {
  PrimitiveType type = x->shape->type;
  int64_t per = type_per_byte(type), bits = type_bits(type), count = shape_elements(x->shape);
  int64_t dims[] = {shape_packed_bytes(x->shape), per};
  Instruction *sum = packed_of(p, x);
  if (sum) return sum;
  const Shape *bytes = bytes_shape(memory_of(p), dims[0]);
  if (!type_is_integral(type)) x = with_type(HLO_BITCAST_CONVERT, x, U4);
  Instruction *all = reshaped(padded(reshaped(x, 1, &count), dims[0] * per), 2, dims);
  for (int64_t k = 0; k < per; k++) {
    Instruction *part = reshaped(computation_add_range(p->computation, all, 1, k, k + 1), 1, dims);
    part = with_type(HLO_CONVERT, part, U8);
    if (k < per - 1) part = operation(HLO_AND, part, number(p, bytes, (1 << bits) - 1));
    if (k > 0) part = operation(HLO_SHIFT_LEFT, part, number(p, bytes, k * bits));
    sum = sum ? operation(HLO_OR, sum, part) : part;
  }
  return sum;
}

/* ---- Values ---- */

/* Returns a value with its packed arrays unpacked. was: its shape before it was packed. */
static Instruction *unpacked_value(Packer *p, Instruction *x, const Shape *was) {
  if (!has_packed(was)) return x;
  if (!shape_is_tuple(was)) return unpacked(p, x, was);
  Instruction **elements = ARENA_ARRAY(p->arena, Instruction *, was->tuple_size);
  for (int i = 0; i < was->tuple_size; i++) {
    Instruction *element = tuple_element(x, i);
    bool is_packed = !shape_compatible(element->shape, was->elements[i]);
    elements[i] = is_packed ? unpacked_value(p, element, was->elements[i]) : element;
  }
  return computation_add_tuple(p->computation, elements, was->tuple_size);
}

static Instruction *packed_value(Packer *p, Instruction *x) {
  if (!has_packed(x->shape)) return x;
  if (!shape_is_tuple(x->shape)) return packed(p, x);
  Instruction **elements = ARENA_ARRAY(p->arena, Instruction *, x->shape->tuple_size);
  for (int i = 0; i < x->shape->tuple_size; i++) {
    elements[i] = packed_value(p, tuple_element(x, i));
  }
  return computation_add_tuple(p->computation, elements, x->shape->tuple_size);
}

static void pack_constant(Packer *p, Instruction *x) {
  int64_t bytes = shape_packed_bytes(x->shape);
  if (!shape_is_array(x->shape) || !has_packed(x->shape) || shape_elements(x->shape) < 2) return;
  uint8_t *data = arena_alloc(memory_of(p), (size_t)bytes + READ_BEYOND);
  elements_pack(x->shape->type, x->literal->data, shape_elements(x->shape), data);
  const Literal *literal = literal_view(memory_of(p), bytes_shape(memory_of(p), bytes), data);
  Instruction *constant = computation_add_constant(p->computation, (Literal *)literal, x->name);
  rewrite_replace(&p->rewrite, x, unpacked(p, constant, x->shape));
}

/* ---- What calls read ---- */

static Change *change_of(const Packer *p, const Computation *called) {
  return &p->changes[called->number];
}

/* Lets a computation have a parameter of another shape. */
static void change_parameter(Packer *p, Computation *called, int k, const Shape *shape) {
  Change *change = change_of(p, called);
  if (!change->was) change->was = ARENA_ARRAY(p->arena, const Shape *, called->parameter_count);
  change->was[k] = called->parameters[k]->shape;
  called->parameters[k]->shape = shape;
}

/* Returns an operand of a call in which arrays that have a packed form are packed; NULL if none has. `only`, if not NULL, says
** which elements of a tuple may be packed. */
static Instruction *packed_operand(Packer *p, Instruction *x, const bool *only) {
  if (shape_is_array(x->shape)) return packed_of(p, x);
  if (x->opcode != HLO_TUPLE_OP) return NULL;
  Instruction **elements = ARENA_ARRAY(p->arena, Instruction *, x->operand_count);
  bool any = false;
  for (int i = 0; i < x->operand_count; i++) {
    Instruction *bytes = !only || only[i] ? packed_of(p, x->operands[i]) : NULL;
    any |= bytes != NULL;
    elements[i] = bytes ? bytes : x->operands[i];
  }
  return any ? computation_add_tuple(p->computation, elements, x->operand_count) : NULL;
}

/* Packs operand `k` of a call of a computation that no other instruction calls, its parameter number `parameter`. */
static void pack_operand(Packer *p, Instruction *x, int k, Computation *called, int parameter) {
  if (called->callers != 1) return;
  Instruction *operand = packed_operand(p, x->operands[k], NULL);
  if (!operand) return;
  x->operands[k] = operand;
  change_parameter(p, called, parameter, operand->shape);
}

/* Returns, for each element of a loop's state, whether the body returns it unchanged. NULL if state or root is no tuple, or
** another instruction calls the body. */
static bool *passed_on(Packer *p, const Instruction *loop) {
  const Computation *body = loop->a->body, *condition = loop->a->condition;
  const Instruction *state = body->parameters[0], *root = body->root;
  if (body->callers != 1 || condition->callers != 1 || !shape_is_tuple(loop->shape) ||
      root->opcode != HLO_TUPLE_OP) {
    return NULL;
  }
  bool *is = ARENA_ARRAY(p->arena, bool, root->operand_count + 1);
  for (int i = 0; i < root->operand_count; i++) {
    const Instruction *next = root->operands[i];
    is[i] = is_element_of(next, state) && next->a->tuple_index == i;
  }
  return is;
}

static void pack_state(Packer *p, Instruction *loop) {
  const Shape *was = loop->shape;
  const bool *passed = passed_on(p, loop);
  Instruction *state = passed ? packed_operand(p, loop->operands[0], passed) : NULL;
  if (!state) return;
  bool *are_packed = ARENA_ARRAY(p->arena, bool, state->operand_count);
  Instruction **elements = ARENA_ARRAY(p->arena, Instruction *, state->operand_count);
  const Instruction *before = loop->operands[0];
  loop->operands[0] = state;
  loop->shape = state->shape;
  for (int i = 0; i < state->operand_count; i++) {
    are_packed[i] = state->operands[i] != before->operands[i];
    elements[i] =
        are_packed[i] ? before->operands[i] : computation_add_element(p->computation, loop, i);
  }
  change_parameter(p, loop->a->body, 0, state->shape);
  change_parameter(p, loop->a->condition, 0, state->shape);
  change_of(p, loop->a->body)->passed_on = are_packed;
  Instruction *result = computation_add_tuple(p->computation, elements, was->tuple_size);
  rewrite_replace(&p->rewrite, loop, result);
}

/* ---- A computation ---- */

static void visit(Packer *p, Instruction *x) {
  Computation *branches[2];
  const Change *change = change_of(p, p->computation);
  switch (x->opcode) {
  case HLO_PARAMETER:
    if (!change->was || !change->was[x->parameter_number]) return;
    rewrite_replace(&p->rewrite, x, unpacked_value(p, x, change->was[x->parameter_number]));
    return;
  case HLO_CONSTANT: pack_constant(p, x); return;
  case HLO_GET_TUPLE_ELEMENT:
    if (x->operands[0]->opcode == HLO_TUPLE_OP)
      rewrite_replace(&p->rewrite, x, x->operands[0]->operands[x->a->tuple_index]);
    return;
  case HLO_WHILE: pack_state(p, x); return;
  case HLO_CALL:
    for (int k = 0; k < x->operand_count; k++) pack_operand(p, x, k, x->a->to_apply, k);
    return;
  case HLO_CONDITIONAL: {
    int count = x->operand_count - 1;
    Computation **called = count > 2 ? ARENA_ARRAY(p->arena, Computation *, count) : branches;
    bool predicated;
    conditional_branches(x, called, &predicated);
    for (int k = 0; k < count; k++) pack_operand(p, x, k + 1, called[k], 0);
    return;
  }
  default: return;
  }
}

/* The result of a loop's body: elements that are passed on are packed. */
static void pack_passed_on(Packer *p, const bool *passed) {
  Instruction *root = p->computation->root;
  Instruction **elements = ARENA_ARRAY(p->arena, Instruction *, root->operand_count);
  for (int i = 0; i < root->operand_count; i++) {
    elements[i] = passed[i] ? packed_of(p, root->operands[i]) : root->operands[i];
  }
  p->computation->root = computation_add_tuple(p->computation, elements, root->operand_count);
}

static bool pack_in(Packer *p, Computation *computation) {
  p->computation = computation;
  p->capacity = 0;
  rewrite_begin(&p->rewrite, computation);
  for (int i = 0; i < p->rewrite.count; i++) visit(p, rewrite_visit(&p->rewrite, i));
  const bool *passed = change_of(p, computation)->passed_on;
  if (passed) pack_passed_on(p, passed);
  if (computation == computation->module->entry) {
    Instruction *root = computation->root;
    if (root->id < p->rewrite.count && p->rewrite.to[root->id]) root = p->rewrite.to[root->id];
    root = packed_value(p, root);
    /* An argument that is the result, too: as an operand it is not replaced. */
    if (root->opcode == HLO_PARAMETER)
      root = computation_add(computation, HLO_COPY, root->shape, &root, 1, NULL);
    computation->root = root;
  }
  return rewrite_end(&p->rewrite);
}

static bool has_any(const Module *module) {
  bool has = false;
  for (int c = 0; c < module->count && !has; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count && !has; i++) {
      has = has_packed(computation->instructions[i]->shape);
    }
  }
  return has;
}

bool pass_pack_storage(Module *module) {
  if (!has_any(module)) return false;
  Computation *entry = module->entry;
  Packer packer = {.arena = arena_new()};
  packer.changes = ARENA_ARRAY(packer.arena, Change, module->numbers + 1);
  module_count_callers(module);
  module->parameter_layouts = NULL;
  module->result_layout = NULL;
  for (int i = 0; i < entry->parameter_count; i++) {
    const Shape *shape = entry->parameters[i]->shape;
    if (!has_packed(shape)) continue;
    change_parameter(&packer, entry, i, packed_shape(module->arena, shape));
  }
  for (int c = module->count - 1; c >= 0; c--) pack_in(&packer, module->computations[c]);
  arena_free(packer.arena);
  return module_remove_dead(module) | true;
}
