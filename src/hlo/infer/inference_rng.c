/* Infers the shapes of random numbers from their distributions and generator states. */
#include "hlo/infer/inference_rules.h"

const Shape *infer_rng(Inference *in) {
  /* XLA accepts more operands and ignores them. */
  REQUIRE(in, in->operand_count >= 2, "%d operands are given; both distributions take 2",
          in->operand_count);
  if (!check_stated(in, "it says how many numbers to draw")) return NULL;
  bool normal = in->a->distribution == RNG_NORMAL;
  const char *roles[2] = {normal ? "mu" : "a", normal ? "sigma" : "b"};
  const Shape *result = in->stated;
  REQUIRE(in, shape_is_array(result), "result %s; it must be an array", text_shape(in, result));
  for (int i = 0; i < 2; i++) {
    const Shape *parameter = operand_shape(in, i);
    REQUIRE(in, shape_is_scalar(parameter), "operand %s has shape %s; it must be a scalar",
            roles[i], text_operand(in, i));
    REQUIRE(in, parameter->type == result->type,
            "operand %s has shape %s and the result is %s; they must have the same element type",
            roles[i], text_operand(in, i), text_shape(in, result));
  }
  REQUIRE(in, !type_is_complex(result->type) && (!normal || type_is_floating(result->type)),
          "distribution=%s of element type %s; it must be %s",
          normal ? "rng_normal" : "rng_uniform", type_name(result->type),
          normal ? "floating-point" : "pred, integral or floating-point");
  return result;
}

/* Three-Fry has a key and a counter of one word each. Philox has a key and a counter of one or two
** words. */
static bool check_generator_state(Inference *in) {
  const Shape *state = operand_shape(in, 0);
  bool three_fry = in->a->rng_algorithm == RNG_THREE_FRY;
  bool fits = shape_is_array(state) && state->rank == 1 && state->type == U64 &&
              (state->dims[0] == 2 || (!three_fry && state->dims[0] == 3));
  REQUIRE(in, fits, "initial state has shape %s; for this algorithm it must be %s",
          text_operand(in, 0), three_fry ? "u64[2]" : "u64[2] or u64[3]");
  return true;
}

const Shape *infer_rng_bit_generator(Inference *in) {
  if (!check_stated(in, "it says how many bits to generate") || !check_generator_state(in))
    return NULL;
  const Shape *stated = in->stated, *bits = stated;
  if (shape_is_tuple(stated)) {
    REQUIRE(in, stated->tuple_size == 2, "result %s; it must be (state, array)",
            text_shape(in, stated));
    REQUIRE(in, shape_compatible(stated->elements[0], operand_shape(in, 0)),
            "the initial state has shape %s and the new state in result %s another; they must be "
            "the same",
            text_operand(in, 0), text_shape(in, stated));
    bits = stated->elements[1];
  }
  REQUIRE(
      in,
      shape_is_array(bits) && type_bits(bits->type) >= 8 &&
          (type_is_integral(bits->type) || type_is_floating(bits->type)),
      "result %s; the bits must be an array of an integral or floating-point type of at least 8 "
      "bits",
      text_shape(in, stated));
  return stated;
}

const Shape *infer_rng_get_and_update_state(Inference *in) {
  Dims dims = {.rank = 1, .sizes = {2}};
  return dims_shape(in, U64, &dims);
}
