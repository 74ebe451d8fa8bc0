/*
** Finds which values depend on the batch, before they are written: a fixed point for the state of a loop, and for a
** branch the union with the other branches. A computation has a *case* for each set of batched leaves of its parameters.
*/
#include "derive/batch/batching.h"

/* Threshold MAX_CASES: cases of one computation, before the one with all leaves is taken instead. Test: "more cases of one
** computation than are written: calls, and a loop whose state rotates" in api/vmap.test.mjs. */
enum { MAX_CASES = 64 };

int operand_leaf_count(const Instruction *x) {
  int count = 0;
  for (int k = 0; k < x->operand_count; k++) count += shape_leaves(x->operands[k]->shape);
  return count;
}

/* ---- Sets of leaves ---- */

static bool same_flags(const bool *a, const bool *b, int count) {
  for (int i = 0; i < count; i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/* Adds b to a. Returns whether a grew. */
static bool add_flags(bool *a, const bool *b, int count) {
  bool grew = false;
  for (int i = 0; i < count; i++) {
    grew |= b[i] && !a[i];
    a[i] |= b[i];
  }
  return grew;
}

static bool any_flag(const bool *flags, int count) {
  for (int i = 0; i < count; i++) {
    if (flags[i]) return true;
  }
  return false;
}

/* Sets the flags of all arrays. Returns the end. */
static bool *put_all(const Shape *shape, bool *out) {
  if (!shape_is_tuple(shape)) {
    *out = shape_is_array(shape);
    return out + 1;
  }
  for (int i = 0; i < shape->tuple_size; i++) out = put_all(shape->elements[i], out);
  return out;
}

/* ---- Instructions ---- */

bool loop_flags(Batch *all, const Instruction *loop, bool *flags) {
  int count = shape_leaves(loop->shape);
  for (;;) {
    const Case *condition = case_of(all, loop->a->condition, flags);
    const Case *body = case_of(all, loop->a->body, flags);
    if (condition->out[0]) {
      put_all(loop->shape, flags);
      return true;
    }
    bool grew = add_flags(flags, condition->in, count);
    grew |= add_flags(flags, body->in, count);
    grew |= add_flags(flags, body->out, count);
    if (!grew) return false;
  }
}

bool *branch_flags(Batch *all, const Instruction *conditional, const bool *flags) {
  bool predicated;
  int count = conditional_branches(conditional, NULL, &predicated);
  int leaves = shape_leaves(conditional->shape);
  Computation **branches = ARENA_ARRAY(all->module->arena, Computation *, count);
  bool *out = ARENA_ARRAY(all->module->arena, bool, leaves);
  conditional_branches(conditional, branches, &predicated);
  if (flags[0]) {
    put_all(conditional->shape, out);
    return out;
  }
  flags++;
  for (int i = 0; i < count; i++) {
    add_flags(out, case_of(all, branches[i], flags)->out, leaves);
    flags += shape_leaves(conditional->operands[i + 1]->shape);
  }
  return out;
}

/* The first leaf of one element of a tuple. */
static int first_leaf(const Shape *tuple, int64_t element) {
  int leaf = 0;
  for (int64_t i = 0; i < element; i++) leaf += shape_leaves(tuple->elements[i]);
  return leaf;
}

/* Returns the flags of an instruction's result, from those of all operands' leaves. */
static const bool *result_flags(Batch *all, const Instruction *x, bool *flags) {
  bool *out;
  switch (x->opcode) {
  case HLO_TUPLE_OP:
  case HLO_COPY:
  case HLO_ADD_DEPENDENCY:
  case HLO_OPTIMIZATION_BARRIER:
  case HLO_DOMAIN: return flags;
  case HLO_GET_TUPLE_ELEMENT: return flags + first_leaf(x->operands[0]->shape, x->a->tuple_index);
  case HLO_CALL: return case_of(all, x->a->to_apply, flags)->out;
  case HLO_FUSION: return case_of(all, x->a->calls, flags)->out;
  case HLO_CONDITIONAL: return branch_flags(all, x, flags);
  case HLO_WHILE: loop_flags(all, x, flags); return flags;
  default:
    out = ARENA_ARRAY(all->module->arena, bool, shape_leaves(x->shape));
    bool depends = any_flag(flags, operand_leaf_count(x)) && x->opcode != HLO_GET_DIMENSION_SIZE;
    if (depends) put_all(x->shape, out);
    return out;
  }
}

static const bool *find_flags(Batch *all, const Instruction *x, const bool **found) {
  bool *flags = ARENA_ARRAY(all->module->arena, bool, operand_leaf_count(x)), *next = flags;
  for (int k = 0; k < x->operand_count; k++) {
    int count = shape_leaves(x->operands[k]->shape);
    for (int i = 0; i < count; i++) *next++ = found[x->operands[k]->id][i];
  }
  return result_flags(all, x, flags);
}

/* ---- Computations ---- */

static bool *find_result(Batch *all, const Computation *source, const bool *in) {
  Arena *arena = all->module->arena;
  computation_renumber((Computation *)source);
  const bool **found = ARENA_ARRAY(arena, const bool *, source->count);
  for (int i = 0; i < source->parameter_count; i++) {
    const Instruction *parameter = source->parameters[i];
    found[parameter->id] = in;
    in += shape_leaves(parameter->shape);
  }
  for (int i = 0; i < source->count; i++) {
    const Instruction *x = source->instructions[i];
    if (x->opcode != HLO_PARAMETER) found[i] = find_flags(all, x, found);
  }
  size_t leaves = (size_t)shape_leaves(source->root->shape);
  return arena_copy(arena, found[source->root->id], leaves * sizeof(bool));
}

static Case *find_case(Case *list, const bool *in, int count, int *seen) {
  for (; list; list = list->next) {
    if (same_flags(list->in, in, count)) break;
    *seen += 1;
  }
  return list;
}

const Case *case_of(Batch *all, const Computation *source, const bool *in) {
  Case **list = &all->cases[source->number];
  int count = computation_parameter_leaves(source), seen = 0;
  Case *found = find_case(*list, in, count, &seen);
  bool *flags = arena_copy(all->module->arena, in, (size_t)count * sizeof *flags);
  if (!found && seen >= MAX_CASES) {
    bool *next = flags;
    for (int i = 0; i < source->parameter_count; i++) {
      next = put_all(source->parameters[i]->shape, next);
    }
    found = find_case(*list, flags, count, &seen);
  }
  if (found) return found;
  Case *added = ARENA_NEW(all->module->arena, Case);
  *added = (Case){.in = flags, .out = find_result(all, source, flags)};
  added->next = *list;
  return *list = added;
}
