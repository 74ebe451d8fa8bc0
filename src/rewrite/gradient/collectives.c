/* Collectives. The loss of a program on several devices is the sum over the devices' losses; so the cotangent of a value
** that came from another device goes back to that device. */
#include "rewrite/gradient/linear.h"

/* A collective that is added has a channel of its own. */
static Attributes own_channel(Linear *l, const Attributes *from) {
  Attributes a = *from;
  if (a.channel_id) a.channel_id = ++l->d->channels;
  return a;
}

/* For operations whose result k is linear in the operands together. */
void linearize_collective(Linear *l, Instruction *x) {
  Instruction **operands = ARENA_ARRAY(l->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    Instruction *t = tangent_of(l, x->operands[k]);
    operands[k] = t ? t : make_zeros(l, x->operands[k]->shape);
  }
  Attributes a = own_channel(l, x->a);
  Instruction *made = make(l, x->opcode, x->shape, operands, x->operand_count, &a);
  if (!shape_is_tuple(x->shape)) {
    set_tangent(l, x, made);
    return;
  }
  for (int k = 0; k < x->operand_count; k++) {
    if (has_derivative(x->shape->elements[k])) set_tangent_leaf(l, x, k, make_element(l, made, k));
  }
}

void linearize_all_reduce(Linear *l, Instruction *x) {
  if (computation_simple_binary(x->a->to_apply) == HLO_ADD) {
    linearize_collective(l, x);
  } else {
    refuse_derivative(l, x, "combines by a computation other than add");
  }
}

/* Adds the operation that goes back, on the cotangents, with the shapes of the operands. */
static void go_back(Linear *l, Instruction *x, Instruction *const *ct, Opcode opcode,
                    const Attributes *a) {
  int count = x->operand_count;
  Instruction **operands = ARENA_ARRAY(l->arena, Instruction *, count);
  const Shape **shapes = ARENA_ARRAY(l->arena, const Shape *, count);
  for (int k = 0; k < count; k++) {
    const Shape *shape = shape_is_tuple(x->shape) ? x->shape->elements[k] : x->shape;
    operands[k] = ct[k] ? ct[k] : make_zeros(l, shape);
    shapes[k] = x->operands[k]->shape;
  }
  bool several = shape_is_tuple(x->shape);
  const Shape *shape = several ? shape_tuple(l->arena, count, shapes) : shapes[0];
  Instruction *back = make(l, opcode, shape, operands, count, a);
  for (int k = 0; k < count; k++) {
    add_cotangent(l, x->operands[k], several ? make_element(l, back, k) : back);
  }
}

/* all-reduce and all-to-all are their own transposition. */
void transpose_collective(Linear *l, Instruction *x, Instruction *const *ct) {
  Attributes a = own_channel(l, x->a);
  go_back(l, x, ct, x->opcode, &a);
}

void transpose_all_gather(Linear *l, Instruction *x, Instruction *const *ct) {
  Attributes a = own_channel(l, x->a);
  a.to_apply = module_add_reducer(l->d->module, HLO_ADD, x->operands[0]->shape->type);
  go_back(l, x, ct, HLO_REDUCE_SCATTER, &a);
}

void transpose_reduce_scatter(Linear *l, Instruction *x, Instruction *const *ct) {
  Attributes a = own_channel(l, x->a);
  a.to_apply = NULL;
  go_back(l, x, ct, HLO_ALL_GATHER, &a);
}

void transpose_collective_permute(Linear *l, Instruction *x, Instruction *const *ct) {
  Attributes a = own_channel(l, x->a);
  Pair *pairs = ARENA_ARRAY(l->arena, Pair, a.source_target_pairs.count);
  for (int i = 0; i < a.source_target_pairs.count; i++) {
    Pair pair = a.source_target_pairs.items[i];
    pairs[i] = (Pair){pair.target, pair.source};
  }
  a.source_target_pairs.items = pairs;
  go_back(l, x, ct, HLO_COLLECTIVE_PERMUTE, &a);
}
