/*
** Checks operations that change the element type or the dimensions of the same data. The result's shape is
** stated; each rule checks whether the operand can have it.
*/
#include "hlo/infer/inference_rules.h"

static bool check_stated_array(Inference *in, const char *why) {
  if (!check_stated(in, why)) return false;
  REQUIRE(in, shape_is_array(in->stated),
          "operand %s cannot become %s; the result must be an array", text_operand(in, 0),
          text_shape(in, in->stated));
  return true;
}

const Shape *infer_convert(Inference *in) {
  if (!check_array(in, 0, "operand") ||
      !check_stated_array(in, "its element type says what to convert to")) {
    return NULL;
  }
  return shape_with_type(in->arena, operand_shape(in, 0), in->stated->type);
}

/* Storage bits, as the in-memory bytes of sub-byte types do not count: s4 x 8 = s32. */
static const Shape *rebit(Inference *in, PrimitiveType to) {
  const Shape *from = operand_shape(in, 0);
  int old_bits = type_bits(from->type), new_bits = type_bits(to);
  int ratio = old_bits > new_bits ? old_bits / new_bits : new_bits / old_bits;
  bool divides = old_bits > new_bits ? old_bits % new_bits == 0 : new_bits % old_bits == 0;
  REQUIRE(in, divides, "operand %s cannot become %s; the bit widths %d and %d must divide",
          text_operand(in, 0), type_name(to), old_bits, new_bits);
  Dims dims;
  dims_of(&dims, from);
  if (old_bits > new_bits && !dims_push(in, &dims, ratio, false)) return NULL;
  if (old_bits < new_bits) {
    REQUIRE(in, dims.rank > 0 && dims.sizes[dims.rank - 1] == ratio,
            "operand %s cannot become %s; its last dimension must be %d, the ratio of the bit "
            "widths",
            text_operand(in, 0), type_name(to), ratio);
    dims.rank--;
  }
  return dims_shape(in, to, &dims);
}

const Shape *infer_bitcast_convert(Inference *in) {
  if (!check_array(in, 0, "operand") ||
      !check_stated_array(in, "its element type says what to convert to")) {
    return NULL;
  }
  PrimitiveType from = operand_shape(in, 0)->type, to = in->stated->type;
  REQUIRE(in, type_is_complex(from) == type_is_complex(to),
          "operand %s cannot become %s; complex and real types do not convert into each other",
          text_operand(in, 0), type_name(to));
  return rebit(in, to);
}

const Shape *infer_stochastic_convert(Inference *in) {
  if (!check_array(in, 0, "operand") || !check_array(in, 1, "random") ||
      !check_stated_array(in, "its element type says what to convert to")) {
    return NULL;
  }
  const Shape *operand = operand_shape(in, 0), *random = operand_shape(in, 1);
  REQUIRE(in, type_is_floating(operand->type),
          "operand %s has element type %s; it must be floating-point", text_operand(in, 0),
          type_name(operand->type));
  REQUIRE(in, type_kind(random->type) == KIND_UNSIGNED,
          "random numbers %s have element type %s; they must be unsigned integers",
          text_operand(in, 1), type_name(random->type));
  REQUIRE(in, type_bits(operand->type) == type_bits(random->type),
          "operand %s and random numbers %s have different bit widths; they must have the same",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, shape_same_dims(operand, random),
          "operand %s and random numbers %s have different shapes; their dimensions must be equal",
          text_operand(in, 0), text_operand(in, 1));
  return shape_with_type(in->arena, operand, in->stated->type);
}

/* The only operation that depends on physical layouts. Sizes must agree; the rest is as stated. */
const Shape *infer_bitcast(Inference *in) {
  if (!check_array(in, 0, "operand") ||
      !check_stated_array(in, "a bitcast gives any shape of the same size")) {
    return NULL;
  }
  int64_t from = shape_elements(operand_shape(in, 0)) * type_bits(operand_shape(in, 0)->type);
  int64_t to = shape_elements(in->stated) * type_bits(in->stated->type);
  REQUIRE(in, from == to, "operand %s has %lld bits and result %s has %lld; sizes must be equal",
          text_operand(in, 0), (long long)from, text_shape(in, in->stated), (long long)to);
  return in->stated;
}

static bool check_same_elements(Inference *in) {
  const Shape *from = operand_shape(in, 0), *to = in->stated;
  REQUIRE(in, from->type == to->type,
          "operand %s and result %s have different element types; reshaping keeps the type",
          text_operand(in, 0), text_shape(in, to));
  REQUIRE(in, shape_elements(from) == shape_elements(to),
          "operand %s has %lld elements and result %s has %lld; element counts must be equal",
          text_operand(in, 0), (long long)shape_elements(from), text_shape(in, to),
          (long long)shape_elements(to));
  return true;
}

const Shape *infer_reshape(Inference *in) {
  if (!check_array(in, 0, "operand") ||
      !check_stated_array(in, "its dimensions say what to reshape to") ||
      !check_same_elements(in)) {
    return NULL;
  }
  return in->stated;
}

const Shape *infer_dynamic_reshape(Inference *in) {
  REQUIRE(in, in->operand_count >= 1,
          "no operands are given; it takes an array and one size for "
          "each dimension of the result");
  if (!check_array(in, 0, "operand") ||
      !check_stated_array(in, "its dimensions are the bounds to reshape to")) {
    return NULL;
  }
  REQUIRE(in, in->operand_count == in->stated->rank + 1,
          "%d dimension sizes are given for result %s; there must be one for each dimension",
          in->operand_count - 1, text_shape(in, in->stated));
  for (int i = 1; i < in->operand_count; i++) {
    REQUIRE(in, shape_is_scalar(operand_shape(in, i)) && operand_shape(in, i)->type == S32,
            "dimension size %d has shape %s; it must be s32[]", i - 1, text_operand(in, i));
  }
  return check_same_elements(in) ? in->stated : NULL;
}
