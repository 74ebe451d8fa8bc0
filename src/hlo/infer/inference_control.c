/*
** Infers the shapes of operations that call computations. The operands must have the shapes of the
** computation's parameters, and the result has the shape of its root.
*/
#include "hlo/infer/inference_rules.h"

static bool check_parameter_count(Inference *in, const char *attribute, const Computation *c,
                                  int count) {
  if (!check_computation(in, attribute, c)) return false;
  REQUIRE(in, c->parameter_count == count,
          "%s=%%%s takes %d parameters; it must take %d, one for "
          "each operand",
          attribute, c->name, c->parameter_count, count);
  return true;
}

static bool check_arguments(Inference *in, const char *attribute, const Computation *c) {
  if (!check_parameter_count(in, attribute, c, in->operand_count)) return false;
  for (int i = 0; i < in->operand_count; i++) {
    REQUIRE(in, shape_compatible(operand_shape(in, i), c->parameters[i]->shape),
            "operand %d has shape %s, but parameter %d of %s=%%%s has shape %s; they must be "
            "compatible",
            i, text_operand(in, i), i, attribute, c->name, text_shape(in, c->parameters[i]->shape));
  }
  return true;
}

const Shape *infer_call(Inference *in) {
  const Computation *c = in->a->to_apply;
  return check_arguments(in, "to_apply", c) ? computation_result_shape(c) : NULL;
}

const Shape *infer_fusion(Inference *in) {
  const Computation *c = in->a->calls;
  return check_arguments(in, "calls", c) ? computation_result_shape(c) : NULL;
}

const Shape *infer_while(Inference *in) {
  const Computation *condition = in->a->condition, *body = in->a->body;
  if (!check_parameter_count(in, "condition", condition, 1) ||
      !check_parameter_count(in, "body", body, 1)) {
    return NULL;
  }
  const Shape *init = operand_shape(in, 0), *predicate = computation_result_shape(condition);
  REQUIRE(in, shape_is_scalar(predicate) && predicate->type == PRED,
          "condition=%%%s returns %s; it must return pred[]", condition->name,
          text_shape(in, predicate));
  REQUIRE(in, shape_compatible(condition->parameters[0]->shape, init),
          "condition=%%%s takes %s, but init has shape %s; they must be the same", condition->name,
          text_shape(in, condition->parameters[0]->shape), text_operand(in, 0));
  REQUIRE(in, shape_compatible(body->parameters[0]->shape, init),
          "body=%%%s takes %s, but init has shape %s; they must be the same", body->name,
          text_shape(in, body->parameters[0]->shape), text_operand(in, 0));
  REQUIRE(in, shape_compatible(computation_result_shape(body), init),
          "body=%%%s returns %s, but init has shape %s; they must be the same", body->name,
          text_shape(in, computation_result_shape(body)), text_operand(in, 0));
  return init;
}

/* The branch computations in the order of their operands. */
static ComputationList branch_list(Inference *in) {
  const Attributes *a = in->a;
  if (a->branches.count > 0) return a->branches;
  Computation **items = ARENA_ARRAY(in->arena, Computation *, 2);
  items[0] = a->true_computation;
  items[1] = a->false_computation;
  return (ComputationList){a->true_computation || a->false_computation ? 2 : 0, items};
}

static bool check_branch_index(Inference *in, int branches) {
  REQUIRE(in, in->operand_count >= 1, "no operands are given; the first one selects the branch");
  const Shape *index = operand_shape(in, 0);
  REQUIRE(in, shape_is_scalar(index) && (index->type == PRED || index->type == S32),
          "branch index has shape %s; it must be pred[] or s32[]", text_operand(in, 0));
  REQUIRE(in, branches > 0, "no branch computations are given; there must be at least one");
  REQUIRE(in, index->type != PRED || branches == 2,
          "branch index %s selects among %d branches; a predicate must select among two",
          text_operand(in, 0), branches);
  REQUIRE(in, in->operand_count == branches + 1,
          "%d operands are given for %d branches; there must be one branch index and one operand "
          "for each branch",
          in->operand_count, branches);
  return true;
}

const Shape *infer_conditional(Inference *in) {
  ComputationList branches = branch_list(in);
  if (!check_branch_index(in, branches.count)) return NULL;
  for (int i = 0; i < branches.count; i++) {
    const Computation *c = branches.items[i];
    if (!check_computation(in, "branch_computations", c)) return NULL;
    REQUIRE(in, c->parameter_count == 1,
            "branch computation %d, %%%s, takes %d parameters; it must take 1", i, c->name,
            c->parameter_count);
    REQUIRE(in, shape_compatible(c->parameters[0]->shape, operand_shape(in, i + 1)),
            "branch computation %d, %%%s, takes %s, but its operand has shape %s; they must be "
            "compatible",
            i, c->name, text_shape(in, c->parameters[0]->shape), text_operand(in, i + 1));
    const Shape *first = computation_result_shape(branches.items[0]);
    const Shape *result = computation_result_shape(c);
    REQUIRE(in, shape_compatible(first, result),
            "branch computations 0 and %d return %s and %s; all branches must return the same "
            "shape",
            i, text_shape(in, first), text_shape(in, result));
  }
  return computation_result_shape(branches.items[0]);
}

/* ---- Asynchronous calls ---- */

/* ((operands...), result, context...) */
static const Shape *async_shape(Inference *in, const Computation *c) {
  const Shape **parameters = ARENA_ARRAY(in->arena, const Shape *, c->parameter_count);
  for (int i = 0; i < c->parameter_count; i++) parameters[i] = c->parameters[i]->shape;
  int context = in->stated && shape_is_tuple(in->stated) ? in->stated->tuple_size - 2 : 0;
  const Shape **elements = ARENA_ARRAY(in->arena, const Shape *, 2 + (context > 0 ? context : 0));
  elements[0] = shape_tuple(in->arena, c->parameter_count, parameters);
  elements[1] = computation_result_shape(c);
  for (int i = 0; i < context; i++) elements[2 + i] = in->stated->elements[2 + i];
  return shape_tuple(in->arena, 2 + (context > 0 ? context : 0), elements);
}

const Shape *infer_async_start(Inference *in) {
  const Computation *c = in->a->calls;
  if (!check_arguments(in, "calls", c)) return NULL;
  REQUIRE(in,
          !in->stated || (shape_is_tuple(in->stated) && in->stated->tuple_size >= 2 &&
                          shape_is_tuple(in->stated->elements[0])),
          "result %s; it must be ((operand shapes), output shape, ...)",
          text_shape(in, in->stated));
  return async_shape(in, c);
}

static bool check_async_operand(Inference *in) {
  const Instruction *operand = in->instruction->operands[0];
  REQUIRE(in, operand->opcode == HLO_ASYNC_START || operand->opcode == HLO_ASYNC_UPDATE,
          "operand %s of shape %s is a %s; it must be an async-start or async-update",
          operand->name ? operand->name : "", text_operand(in, 0), opcode_name(operand->opcode));
  REQUIRE(in, !in->a->calls || !operand->a->calls || in->a->calls == operand->a->calls,
          "calls=%%%s, but operand %s calls %%%s; both must call the same computation",
          in->a->calls->name, text_operand(in, 0), operand->a->calls->name);
  return true;
}

const Shape *infer_async_update(Inference *in) {
  return check_async_operand(in) ? operand_shape(in, 0) : NULL;
}

const Shape *infer_async_done(Inference *in) {
  return check_async_operand(in) ? operand_shape(in, 0)->elements[1] : NULL;
}
