/* Infers the shapes of operations that apply a computation to scalars: map, reduce and sort. */
#include "hlo/infer/inference_rules.h"

/* XLA maps over all dimensions or none; text may omit the list. */
static bool check_map_dimensions(Inference *in, const Shape *shape) {
  Int64List dimensions = in->a->dimensions;
  bool all = dimensions.count == shape->rank || dimensions.count == 0;
  for (int i = 0; i < dimensions.count && all; i++) all = dimensions.items[i] == i;
  REQUIRE(in, all, "dimensions=%s for operand %s; it must list all dimensions in ascending order",
          text_list(in, dimensions), text_operand(in, 0));
  return true;
}

/* Checks that operand i is an array with the dimensions of the first one. */
static bool check_like_first(Inference *in, int i, const char *names) {
  if (!check_array(in, i, "operand")) return false;
  REQUIRE(in, shape_same_dims(operand_shape(in, 0), operand_shape(in, i)),
          "operands %s and %s differ; %s must have the same dimensions", text_operand(in, 0),
          text_operand(in, i), names);
  return true;
}

static bool check_alike(Inference *in, const char *names) {
  REQUIRE(in, in->operand_count >= 1, "no operands are given; it takes at least one");
  bool alike = true;
  for (int i = 0; i < in->operand_count && alike; i++) alike = check_like_first(in, i, names);
  return alike;
}

const Shape *infer_map(Inference *in) {
  if (!check_alike(in, "all operands")) return NULL;
  const Computation *c = in->a->to_apply;
  if (!check_map_dimensions(in, operand_shape(in, 0)) || !check_computation(in, "to_apply", c))
    return NULL;
  REQUIRE(in, c->parameter_count == in->operand_count,
          "to_apply=%%%s takes %d parameters for %d operands; it must take one for each", c->name,
          c->parameter_count, in->operand_count);
  for (int i = 0; i < in->operand_count; i++) {
    const Shape *parameter = c->parameters[i]->shape;
    REQUIRE(in, shape_is_scalar(parameter) && parameter->type == operand_shape(in, i)->type,
            "to_apply=%%%s: parameter %d has shape %s; it must be %s[], a scalar of the element "
            "type of operand %s",
            c->name, i, text_shape(in, parameter), type_name(operand_shape(in, i)->type),
            text_operand(in, i));
  }
  const Shape *result = computation_result_shape(c);
  REQUIRE(in, shape_is_scalar(result), "to_apply=%%%s returns %s; it must return a scalar", c->name,
          text_shape(in, result));
  return shape_with_type(in->arena, operand_shape(in, 0), result->type);
}

bool check_operands_and_inits(Inference *in, int count) {
  REQUIRE(in, count > 0 && in->operand_count % 2 == 0,
          "%d operands are given; it takes operands and as many init values", in->operand_count);
  for (int i = 0; i < count; i++) {
    if (!check_like_first(in, i, "all operands")) return false;
    const Shape *init = operand_shape(in, count + i);
    REQUIRE(in, shape_is_scalar(init) && init->type == operand_shape(in, i)->type,
            "init value %d has shape %s; it must be %s[], a scalar of the element type of operand "
            "%s",
            i, text_operand(in, count + i), type_name(operand_shape(in, i)->type),
            text_operand(in, i));
  }
  return true;
}

const Shape *infer_reduce(Inference *in) {
  int count = in->operand_count / 2;
  if (!check_operands_and_inits(in, count)) return NULL;
  const Shape *operand = operand_shape(in, 0);
  if (!check_range(in, "dimensions", in->a->dimensions, operand->rank) ||
      !check_unique(in, "dimensions", in->a->dimensions)) {
    return NULL;
  }
  PrimitiveType *types = ARENA_ARRAY(in->arena, PrimitiveType, count);
  for (int i = 0; i < count; i++) types[i] = operand_shape(in, i)->type;
  if (!check_reducer(in, "to_apply", in->a->to_apply, count, types)) return NULL;
  Dims dims = {0};
  for (int d = 0; d < operand->rank; d++) {
    if (!list_has(in->a->dimensions, d))
      dims_push(in, &dims, operand->dims[d], dimension_is_dynamic(operand, d));
  }
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, count);
  for (int i = 0; i < count; i++) {
    if (!(shapes[i] = dims_shape(in, types[i], &dims))) return NULL;
  }
  return one_or_tuple(in, count, shapes);
}

/* compare(a0, b0, a1, b1, ...) -> pred[], with two parameters for each operand. */
static bool check_comparator(Inference *in) {
  const Computation *c = in->a->to_apply;
  if (!check_computation(in, "to_apply", c)) return false;
  REQUIRE(in, c->parameter_count == 2 * in->operand_count,
          "to_apply=%%%s takes %d parameters for %d operand%s; the comparator must take two for "
          "each operand",
          c->name, c->parameter_count, in->operand_count, in->operand_count == 1 ? "" : "s");
  for (int i = 0; i < c->parameter_count; i++) {
    const Shape *parameter = c->parameters[i]->shape;
    REQUIRE(in, shape_is_scalar(parameter) && parameter->type == operand_shape(in, i / 2)->type,
            "to_apply=%%%s: parameter %d has shape %s; it must be %s[], a scalar of the element "
            "type of operand %s",
            c->name, i, text_shape(in, parameter), type_name(operand_shape(in, i / 2)->type),
            text_operand(in, i / 2));
  }
  const Shape *result = computation_result_shape(c);
  REQUIRE(in, shape_is_scalar(result) && result->type == PRED,
          "to_apply=%%%s returns %s; the comparator must return pred[]", c->name,
          text_shape(in, result));
  return true;
}

const Shape *infer_sort(Inference *in) {
  if (!check_alike(in, "keys and values")) return NULL;
  REQUIRE(in, in->a->dimensions.count == 1, "dimensions=%s; exactly one dimension is sorted",
          text_list(in, in->a->dimensions));
  if (!check_range(in, "dimensions", in->a->dimensions, operand_shape(in, 0)->rank) ||
      !check_comparator(in)) {
    return NULL;
  }
  return operands_one_or_tuple(in, in->operand_count);
}
