/* Infers the shapes of operations without operands, of tuples, and of operations that only order others. */
#include "hlo/infer/inference_rules.h"

const Shape *infer_constant(Inference *in) {
  const Literal *literal = in->instruction->literal;
  REQUIRE(in, literal, "the literal is missing; a constant must have one");
  return literal->shape;
}

const Shape *infer_parameter(Inference *in) {
  if (!check_stated(in, "a parameter is whatever it is declared as")) return NULL;
  REQUIRE(in, in->instruction->parameter_number >= 0,
          "parameter number %lld; it must not be negative",
          (long long)in->instruction->parameter_number);
  return in->stated;
}

const Shape *infer_iota(Inference *in) {
  if (!check_stated(in, "iota has no operands to infer it from")) return NULL;
  const Shape *result = in->stated;
  REQUIRE(in, shape_is_array(result) && result->rank > 0,
          "result %s; it must be an array of rank at least 1", text_shape(in, result));
  REQUIRE(in, result->type != PRED,
          "result %s has element type pred; it must be integral, floating-point or complex",
          text_shape(in, result));
  REQUIRE(in, in->a->iota_dimension >= 0 && in->a->iota_dimension < result->rank,
          "iota_dimension=%lld is out of range for result %s; it must be in [0, %d)",
          (long long)in->a->iota_dimension, text_shape(in, result), result->rank);
  return result;
}

const Shape *infer_device_id(Inference *in) {
  (void)in;
  return shape_scalar(U32);
}

const Shape *infer_tuple(Inference *in) {
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, in->operand_count);
  for (int i = 0; i < in->operand_count; i++) shapes[i] = operand_shape(in, i);
  return shape_tuple(in->arena, in->operand_count, shapes);
}

const Shape *infer_get_tuple_element(Inference *in) {
  const Shape *tuple = operand_shape(in, 0);
  REQUIRE(in, shape_is_tuple(tuple), "operand has shape %s; it must be a tuple",
          text_operand(in, 0));
  REQUIRE(in, in->a->tuple_index >= 0 && in->a->tuple_index < tuple->tuple_size,
          "index %lld is out of bounds of operand %s; it must be in [0, %d)",
          (long long)in->a->tuple_index, text_operand(in, 0), tuple->tuple_size);
  return tuple->elements[in->a->tuple_index];
}

const Shape *infer_after_all(Inference *in) {
  for (int i = 0; i < in->operand_count; i++) {
    REQUIRE(in, shape_is_token(operand_shape(in, i)), "operand %d has shape %s; it must be a token",
            i, text_operand(in, i));
  }
  return shape_token();
}

const Shape *infer_add_dependency(Inference *in) {
  REQUIRE(in, shape_is_token(operand_shape(in, 1)), "operand 1 has shape %s; it must be a token",
          text_operand(in, 1));
  return operand_shape(in, 0);
}

const Shape *infer_opt_barrier(Inference *in) { return operand_shape(in, 0); }

const Shape *infer_domain(Inference *in) { return operand_shape(in, 0); }
