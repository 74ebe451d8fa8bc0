/*
** Replaces the padding and the base dilation of a reduce-window without a neutral value by a mask operand,
** which is true for the array's elements:
**
**     there                    = pad(true, false)
**     f'(so far, _, x, there)  = select(there, f(so far, x), so far)
**
** Then it can become a loop. rewrite/windows/pad_windows.c handles those with a neutral value.
*/
#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/expand/applied.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"
#include "rewrite/windows/pooling.h"

static Computation *add_masked(const Instruction *x, int count) {
  Computation *to_apply = x->a->to_apply, *c = module_add_computation(x->parent->module, "masked");
  Arena *arena = c->module->arena;
  Instruction **arguments = ARENA_ARRAY(arena, Instruction *, 2 * count);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, count + 1);
  Instruction *masks[2];
  for (int i = 0; i < 2 * (count + 1); i++) {
    int side = i / (count + 1), k = i % (count + 1);
    const Shape *shape =
        k < count ? to_apply->parameters[side * count + k]->shape : shape_scalar(PRED);
    Instruction *parameter = computation_add_parameter(c, i, shape, "p");
    *(k < count ? &arguments[side * count + k] : &masks[side]) = parameter;
  }
  Attributes a;
  attributes_init(&a);
  a.to_apply = to_apply;
  Instruction *call =
      computation_add(c, HLO_CALL, to_apply->root->shape, arguments, 2 * count, &a, NULL);
  add_parts(c, call, results);
  for (int k = 0; k < count; k++) {
    Instruction *choice[] = {masks[1], results[k], arguments[k]};
    results[k] = computation_add(c, HLO_SELECT, results[k]->shape, choice, 3, NULL, NULL);
  }
  results[count] = masks[0];
  computation_add_tuple(c, results, count + 1);
  return c;
}

static Instruction *add_mask(Computation *computation, const Shape *shape, Instruction *nothing,
                             PaddingConfig padding) {
  Instruction *there = computation_add_number(computation, PRED, (Scalar){.u = 1});
  shape = shape_with_type(computation->module->arena, shape, PRED);
  there = computation_add(computation, HLO_BROADCAST, shape, &there, 1, NULL, NULL);
  return add_padded(computation, there, nothing, padding);
}

static bool mask(Computation *computation, Instruction *x) {
  Arena *arena = computation->module->arena;
  int count = x->operand_count / 2;
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, 2 * (count + 1));
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, count + 1);
  Instruction *nothing = computation_add_number(computation, PRED, (Scalar){.u = 0});
  PaddingConfig padding;
  Attributes a;
  attributes_init(&a);
  a.window = window_unpadded(arena, &x->a->window, &padding);
  for (int k = 0; k < count; k++) {
    Instruction *init = operands[count + 1 + k] = x->operands[count + k];
    operands[k] = add_padded(computation, x->operands[k], init, padding);
    if (!operands[k]) return false;
    shapes[k] = shape_is_tuple(x->shape) ? x->shape->elements[k] : x->shape;
  }
  operands[count] = add_mask(computation, x->operands[0]->shape, nothing, padding);
  operands[2 * count + 1] = nothing;
  shapes[count] = shape_with_type(arena, shapes[0], PRED);
  a.to_apply = add_masked(x, count);
  Instruction *reduce =
      computation_add(computation, HLO_REDUCE_WINDOW, shape_tuple(arena, count + 1, shapes),
                      operands, 2 * (count + 1), &a, NULL);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, count);
  for (int k = 0; k < count; k++) results[k] = computation_add_element(computation, reduce, k);
  instruction_become(x, shape_is_tuple(x->shape) ? HLO_TUPLE_OP : HLO_COPY, results, count, NULL);
  return true;
}

/* Whether it can become loops, apart from its padding: a window needs twice the operand's rank. */
static bool is_for_loops(const Instruction *x) {
  enum { MAX_WINDOW_RANK = 5 };
  bool backwards;
  Scalar neutral;
  if (x->opcode != HLO_REDUCE_WINDOW || !window_is_padded(&x->a->window) ||
      cumulative_window(x, &backwards) >= 0) {
    return false;
  }
  for (int i = 0; i < x->operand_count; i++) {
    const Shape *shape = x->operands[i]->shape;
    if (!shape_is_static_array(shape) || shape_elements(shape) == 0) return false;
  }
  return x->operands[0]->shape->rank <= MAX_WINDOW_RANK && !reduce_window_neutral(x, &neutral);
}

static bool mask_window(Instruction *x, void *data) {
  return is_for_loops(x) && mask(x->parent, x);
}

bool pass_mask_windows(Module *module) { return rewrite_each(module, mask_window, NULL); }
