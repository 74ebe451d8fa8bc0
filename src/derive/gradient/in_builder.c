/*
** Differentiates values of a computation that is being built. To differentiate by an intermediate value x, x is replaced by
** x + p with a new parameter p, and the gradient is taken by p. The caller gives -0 for p, as x + -0 has the bits of x.
**
** The gradient is a call that computes again what lies between. What must not be done twice (infeed, random numbers, host
** calls) is an argument of the call. Collectives are done again, as their derivatives are collectives, too.
*/
#include "derive/gradient/caller_rules.h"
#include "derive/gradient/extract.h"
#include "derive/gradient/gradient.h"
#include "derive/gradient/linear.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

/* Returns the place of x in a list that has it. */
static int place_of(Instruction *const *list, const Instruction *x) {
  int i = 0;
  while (list[i] != x) i++;
  return i;
}

static void replace_uses(Computation *c, const Instruction *x, Instruction *by) {
  for (int i = 0; i < c->count; i++) {
    Instruction *user = c->instructions[i];
    if (user == by) continue;
    for (int k = 0; k < user->operand_count; k++) {
      if (user->operands[k] == x) user->operands[k] = by;
    }
  }
  if (c->root == x) c->root = by;
}

static bool check_parameters(const Computation *c, Error *error) {
  for (int i = 0; i < c->parameter_count; i++) {
    if (c->parameters[i]) continue;
    return error_set_op(error, STATUS_FAILED_PRECONDITION, "gradient",
                        "parameter %d is not there yet; add all parameters first", i);
  }
  return true;
}

static bool check_values(Instruction *const *wrt, int count, Error *error) {
  for (int k = 0; k < count; k++) {
    if (has_derivative(wrt[k]->shape)) continue;
    return invalid_argument(
        error, "gradient",
        "wrt: \"%s\" is no array of floating-point or complex numbers, so there "
        "is no derivative by it",
        wrt[k]->name);
  }
  return true;
}

/* ---- The part of the computation that is differentiated ---- */

typedef struct Snapshot {
  Module *module;
  Computation *c;       /* its parameters: those of the builder, changes, given values */
  Instruction **copies; /* of the builder's instructions, in order */
  bool *depends;        /* by id: on a change */
  Instruction **given;  /* the builder's instructions whose values are arguments of the call */
  int given_count, given_capacity;
} Snapshot;

/* Whether x comes from an operation that must not be done again, and that no change reaches. */
static bool is_given(const Snapshot *s, const Instruction *x) {
  const Instruction *from = x;
  while (from->opcode == HLO_GET_TUPLE_ELEMENT) from = from->operands[0];
  bool is_value = shape_is_array(x->shape) || shape_is_token(x->shape);
  return is_value && is_host_effect(from) && !s->depends[x->id];
}

static void find_dependent(Snapshot *s, int first_change) {
  s->depends = ARENA_ARRAY(s->module->arena, bool, s->c->count);
  for (int i = 0; i < s->c->count; i++) {
    const Instruction *x = s->c->instructions[i];
    s->depends[i] = x->opcode == HLO_PARAMETER && x->parameter_number >= first_change;
    for (int k = 0; k < x->operand_count; k++) s->depends[i] |= s->depends[x->operands[k]->id];
  }
}

/* Makes an instruction of the builder an argument of the call. Returns its parameter. */
static Instruction *give(Snapshot *s, Instruction *built) {
  ARENA_PUSH(s->module->arena, s->given, s->given_count, s->given_capacity, built);
  return computation_add_parameter(s->c, s->c->parameter_count,
                                   shape_copy(s->module->arena, built->shape), NULL);
}

static void push_results(Snapshot *s, Instruction *built, Instruction ***out) {
  if (!shape_is_tuple(built->shape)) {
    *(*out)++ = give(s, built);
    return;
  }
  for (int i = 0; i < built->shape->tuple_size; i++) {
    push_results(s, computation_add_element(built->parent, built, i), out);
  }
}

/* Gives a host call that depends on a change, and has a rule, the results that it has in the builder. */
static void give_results(Snapshot *s, Instruction *x, const Computation *built) {
  int count = shape_leaves(x->shape);
  Instruction **values = ARENA_ARRAY(s->module->arena, Instruction *, count), **next = values;
  push_results(s, built->instructions[place_of(s->copies, x)], &next);
  given_set_values(s->module, x, values, count);
}

/* Drops instructions that the root does not need, and makes given values parameters. */
static bool keep_needed(Snapshot *s, const Computation *built, const CallerRules *rules,
                        Error *error) {
  Computation *c = s->c;
  int count = c->count, kept = 0;
  bool *needed = ARENA_ARRAY(s->module->arena, bool, count);
  Instruction **all = arena_copy(s->module->arena, c->instructions, sizeof *all * (size_t)count);
  needed[c->root->id] = true;
  for (int i = count - 1; i >= 0; i--) {
    Instruction *x = all[i];
    if (!needed[i]) continue;
    if (is_given(s, x)) {
      needed[i] = false;
      replace_uses(c, x, give(s, built->instructions[place_of(s->copies, x)]));
    } else if (x->opcode == HLO_CUSTOM_CALL && caller_has_rule(rules, x)) {
      give_results(s, x, built);
    } else if (instruction_reaches(x, is_host_effect)) {
      return error_set_op(error, STATUS_UNIMPLEMENTED, "gradient",
                          "the value depends on %s \"%s\", which reaches the host or draws random "
                          "numbers; the gradient would do it again",
                          opcode_name(x->opcode), x->name);
    }
    for (int k = 0; needed[i] && k < x->operand_count; k++) {
      if (x->operands[k]->id < count) needed[x->operands[k]->id] = true;
    }
  }
  for (int i = 0; i < c->count; i++) {
    Instruction *x = c->instructions[i];
    if (i >= count || needed[i] || x->opcode == HLO_PARAMETER) c->instructions[kept++] = x;
  }
  c->count = kept;
  return computation_sort(c);
}

/* Copies the unfinished computation, with `of` as its result, and changes of `wrt` as further parameters. */
static bool take_snapshot(Snapshot *s, const Computation *built, const Instruction *of,
                          Instruction *const *wrt, int count, const CallerRules *rules,
                          Error *error) {
  *s = (Snapshot){.module = module_new("gradient")};
  Computation *c = s->c = module_clone_computation(s->module, built, NULL);
  s->module->entry = c;
  module_keep_roots(s->module);
  s->copies = arena_copy(s->module->arena, c->instructions, sizeof *s->copies * (size_t)c->count);
  c->root = s->copies[place_of(built->instructions, of)];
  int parameters = c->parameter_count;
  for (int k = 0; k < count; k++) {
    Instruction *x = s->copies[place_of(built->instructions, wrt[k])];
    Instruction *change = computation_add_parameter(c, parameters + k, x->shape, x->name);
    Instruction *operands[] = {x, change};
    replace_uses(c, x, computation_add(c, HLO_ADD, x->shape, operands, 2, NULL));
  }
  computation_sort(c);
  find_dependent(s, parameters);
  return keep_needed(s, built, rules, error);
}

static Module *differentiate(const Snapshot *s, int first, int count, const GradientOptions *asked,
                             Error *error) {
  int *numbers = ARENA_ARRAY(s->module->arena, int, count);
  for (int k = 0; k < count; k++) numbers[k] = first + k;
  GradientOptions options = *asked;
  options.mode = GRADIENT_OF_SCALAR;
  options.wrt_count = count;
  options.wrt = numbers;
  return module_differentiate(s->module, &options, error);
}

/* ---- The call ---- */

static Instruction *add_no_change(Computation *c, const Shape *shape) {
  Instruction *zero = computation_add_number(c, shape->type, (Scalar){.f = -0.0, .im = -0.0});
  if (!shape->rank) return zero;
  return computation_add(c, HLO_BROADCAST, shape, &zero, 1, NULL);
}

/* Calls the gradient for the builder's parameters, no changes, and the given values. */
static Instruction *add_call(Builder *builder, const Snapshot *s, const Module *gradient,
                             Instruction *const *wrt, int count, Error *error) {
  Computation *c = builder->computation;
  int parameters = c->parameter_count, all = parameters + count + s->given_count;
  Instruction **operands = ARENA_ARRAY(builder->module->arena, Instruction *, all);
  for (int i = 0; i < parameters; i++) operands[i] = c->parameters[i];
  for (int k = 0; k < count; k++) operands[parameters + k] = add_no_change(c, wrt[k]->shape);
  for (int i = 0; i < s->given_count; i++) operands[parameters + count + i] = s->given[i];
  return builder_add(builder, HLO_CALL, NULL, operands, all,
                     ATTRIBUTES(.to_apply = builder_import(builder, gradient->entry)),
                     (Int64List){-1, NULL}, error);
}

Instruction *builder_gradient(Builder *builder, const Instruction *of, Instruction *const *wrt,
                              int count, const GradientOptions *options, Error *error) {
  Computation *c = builder->computation;
  if (!check_parameters(c, error) || !check_values(wrt, count, error)) return NULL;
  Snapshot s;
  Module *gradient = NULL;
  if (take_snapshot(&s, c, of, wrt, count, options->rules, error)) {
    gradient = differentiate(&s, c->parameter_count, count, options, error);
  }
  Instruction *call = gradient ? add_call(builder, &s, gradient, wrt, count, error) : NULL;
  module_free(gradient);
  module_free(s.module);
  return call;
}
