/*
** Differentiates values of a computation that is being built. The gradient by a value x, wherever it comes from, is that
** by a change of it: x becomes x + p, where p is a parameter. The caller gives -0 for p, as x + -0 has the bits of x.
*/
#include "hlo/ir/builder.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/gradient/gradient.h"
#include "rewrite/rewrite.h"

static int place_of(const Computation *c, const Instruction *x) {
  int i = 0;
  while (c->instructions[i] != x) i++;
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
    TypeKind kind = type_kind(wrt[k]->shape->type);
    if (kind == KIND_FLOAT || kind == KIND_COMPLEX) continue;
    return invalid_argument(
        error, "gradient",
        "wrt: \"%s\" is no array of floating-point or complex numbers, so there "
        "is no derivative by it",
        wrt[k]->name);
  }
  return true;
}

/* Returns a module of what is built so far, with `of` as its result, and changes of `wrt` as further parameters. */
static Module *snapshot(const Computation *built, const Instruction *of, Instruction *const *wrt,
                        int count) {
  Module *module = module_new("gradient");
  Computation *c = module_clone_computation(module, built, NULL);
  module->entry = c;
  module_keep_roots(module);
  c->root = c->instructions[place_of(built, of)];
  int parameters = c->parameter_count;
  for (int k = 0; k < count; k++) {
    Instruction *x = c->instructions[place_of(built, wrt[k])];
    Instruction *change = computation_add_parameter(c, parameters + k, x->shape, x->name);
    Instruction *operands[] = {x, change};
    replace_uses(c, x, computation_add(c, HLO_ADD, x->shape, operands, 2, NULL, NULL));
  }
  computation_sort(c);
  return module;
}

static Module *differentiate(Builder *builder, const Instruction *of, Instruction *const *wrt,
                             int count, int64_t max_iterations, Error *error) {
  Module *module = snapshot(builder->computation, of, wrt, count);
  int *numbers = ARENA_ARRAY(module->arena, int, count);
  for (int k = 0; k < count; k++) numbers[k] = builder->computation->parameter_count + k;
  GradientOptions options = {GRADIENT_OF_SCALAR, count, numbers, 0, false, max_iterations};
  Module *gradient = module_differentiate(module, &options, error);
  module_free(module);
  return gradient;
}

static Instruction *add_no_change(Computation *c, const Shape *shape) {
  Instruction *zero = computation_add_number(c, shape->type, (Scalar){.f = -0.0, .im = -0.0});
  if (!shape->rank) return zero;
  return computation_add(c, HLO_BROADCAST, shape, &zero, 1, NULL, NULL);
}

Instruction *builder_gradient(Builder *builder, const Instruction *of, Instruction *const *wrt,
                              int count, int64_t max_iterations, Error *error) {
  Computation *c = builder->computation;
  if (!check_parameters(c, error) || !check_values(wrt, count, error)) return NULL;
  Module *gradient = differentiate(builder, of, wrt, count, max_iterations, error);
  if (!gradient) return NULL;
  int parameters = c->parameter_count;
  Instruction **operands = ARENA_ARRAY(builder->module->arena, Instruction *, parameters + count);
  for (int i = 0; i < parameters; i++) operands[i] = c->parameters[i];
  for (int k = 0; k < count; k++) operands[parameters + k] = add_no_change(c, wrt[k]->shape);
  Attributes a;
  attributes_init(&a);
  a.to_apply = builder_import(builder, gradient->entry);
  module_free(gradient);
  return builder_add(builder, HLO_CALL, NULL, operands, parameters + count, &a,
                     (Int64List){-1, NULL}, error);
}
