/*
** Infers the shapes of element-wise operations. HLO has no implicit broadcast: all operands have the same
** dimensions (the builder inserts broadcasts as XlaBuilder does). A table lists the element types of each
** operation's operands and result.
*/
#include "hlo/infer/inference_rules.h"

enum {
  P = 1 << KIND_PRED,
  S = 1 << KIND_SIGNED,
  U = 1 << KIND_UNSIGNED,
  F = 1 << KIND_FLOAT,
  C = 1 << KIND_COMPLEX,
};

typedef enum ResultType { SAME_TYPE, REAL_TYPE, PRED_TYPE } ResultType;

typedef struct TypeRow {
  unsigned kinds; /* element types that it accepts */
  ResultType result;
} TypeRow;

static const TypeRow type_rows[OPCODE_COUNT] = {
    [HLO_ABS] = {S | F | C, REAL_TYPE},
    [HLO_ACOS] = {F | C, SAME_TYPE},
    [HLO_ACOSH] = {F | C, SAME_TYPE},
    [HLO_ASIN] = {F | C, SAME_TYPE},
    [HLO_ASINH] = {F | C, SAME_TYPE},
    [HLO_ATANH] = {F | C, SAME_TYPE},
    [HLO_CBRT] = {F, SAME_TYPE},
    [HLO_CEIL] = {F, SAME_TYPE},
    [HLO_CLZ] = {S | U, SAME_TYPE},
    [HLO_COS] = {F | C, SAME_TYPE},
    [HLO_COSH] = {F | C, SAME_TYPE},
    [HLO_ERF] = {F, SAME_TYPE},
    [HLO_EXP] = {F | C, SAME_TYPE},
    [HLO_EXPM1] = {F | C, SAME_TYPE},
    [HLO_FLOOR] = {F, SAME_TYPE},
    [HLO_IMAG] = {F | C, REAL_TYPE},
    [HLO_IS_FINITE] = {F, PRED_TYPE},
    [HLO_LOG] = {F | C, SAME_TYPE},
    [HLO_LOG1P] = {F | C, SAME_TYPE},
    [HLO_LOGISTIC] = {F | C, SAME_TYPE},
    [HLO_NEGATE] = {S | U | F | C, SAME_TYPE},
    [HLO_NOT] = {P | S | U, SAME_TYPE},
    [HLO_POPCNT] = {S | U, SAME_TYPE},
    [HLO_REAL] = {F | C, REAL_TYPE},
    [HLO_ROUND_NEAREST_AFZ] = {F, SAME_TYPE},
    [HLO_ROUND_NEAREST_EVEN] = {F, SAME_TYPE},
    [HLO_RSQRT] = {F | C, SAME_TYPE},
    [HLO_SIGN] = {S | F | C, SAME_TYPE},
    [HLO_SIN] = {F | C, SAME_TYPE},
    [HLO_SINH] = {F | C, SAME_TYPE},
    [HLO_SQRT] = {F | C, SAME_TYPE},
    [HLO_TAN] = {F | C, SAME_TYPE},
    [HLO_TANH] = {F | C, SAME_TYPE},
    [HLO_REDUCE_PRECISION] = {F, SAME_TYPE},

    [HLO_ADD] = {P | S | U | F | C, SAME_TYPE},
    [HLO_AND] = {P | S | U, SAME_TYPE},
    [HLO_ATAN2] = {F | C, SAME_TYPE},
    [HLO_COMPLEX] = {F, SAME_TYPE},
    [HLO_DIVIDE] = {S | U | F | C, SAME_TYPE},
    /* Complex numbers have no order: XLA's inference accepts them here, but its backends do not. */
    [HLO_MAXIMUM] = {P | S | U | F, SAME_TYPE},
    [HLO_MINIMUM] = {P | S | U | F, SAME_TYPE},
    [HLO_MULHI] = {S | U, SAME_TYPE},
    [HLO_MULTIPLY] = {P | S | U | F | C, SAME_TYPE},
    [HLO_OR] = {P | S | U, SAME_TYPE},
    [HLO_POWER] = {S | U | F | C, SAME_TYPE},
    [HLO_REMAINDER] = {S | U | F, SAME_TYPE},
    [HLO_SHIFT_LEFT] = {S | U, SAME_TYPE},
    [HLO_SHIFT_RIGHT_ARITHMETIC] = {S | U, SAME_TYPE},
    [HLO_SHIFT_RIGHT_LOGICAL] = {S | U, SAME_TYPE},
    [HLO_SUBTRACT] = {S | U | F | C, SAME_TYPE},
    [HLO_XOR] = {P | S | U, SAME_TYPE},
    [HLO_COMPARE] = {P | S | U | F | C, PRED_TYPE},
    [HLO_CLAMP] = {P | S | U | F, SAME_TYPE},
};

/* "floating-point or complex" */
static const char *text_kinds(const Inference *in, unsigned kinds) {
  static const struct {
    unsigned kinds;
    const char *text;
  } words[] = {
      {P, "pred"},     {S | U, "integral"},   {S, "signed integral"},
      {U, "unsigned"}, {F, "floating-point"}, {C, "complex"},
  };
  const char *text = "";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if ((kinds & words[i].kinds) != words[i].kinds) continue;
    kinds &= ~words[i].kinds;
    const char *join = !*text ? "" : kinds ? ", " : " or ";
    text = arena_printf(in->arena, "%s%s%s", text, join, words[i].text);
  }
  return text;
}

static bool check_type(Inference *in, int index) {
  PrimitiveType type = operand_shape(in, index)->type;
  unsigned kinds = type_rows[in->instruction->opcode].kinds;
  REQUIRE(in, kinds & 1u << type_kind(type), "operand %s has element type %s; it must be %s",
          text_operand(in, index), type_name(type), text_kinds(in, kinds));
  return true;
}

static PrimitiveType result_type(const Inference *in, PrimitiveType type) {
  switch (type_rows[in->instruction->opcode].result) {
  case REAL_TYPE: return type_complex_component(type);
  case PRED_TYPE: return PRED;
  default: return type;
  }
}

const Shape *infer_unary(Inference *in) {
  if (!check_array(in, 0, "operand") || !check_type(in, 0)) return NULL;
  Dims dims;
  dims_of(&dims, operand_shape(in, 0));
  return dims_shape(in, result_type(in, operand_shape(in, 0)->type), &dims);
}

const Shape *infer_reduce_precision(Inference *in) {
  const Shape *shape = infer_unary(in);
  if (!shape) return NULL;
  REQUIRE(in, in->a->exponent_bits >= 1, "exponent_bits is %lld; it must be at least 1",
          (long long)in->a->exponent_bits);
  REQUIRE(in, in->a->mantissa_bits >= 0, "mantissa_bits is %lld; it must not be negative",
          (long long)in->a->mantissa_bits);
  return shape;
}

static bool check_same(Inference *in) {
  const Shape *left = operand_shape(in, 0), *right = operand_shape(in, 1);
  REQUIRE(in, left->type == right->type,
          "operands %s and %s have different element types; convert one of them",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, left->rank == right->rank,
          "operands %s and %s have different ranks; pass broadcast_dimensions or reshape one of "
          "them: HLO broadcasts nothing implicitly",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, shape_same_dims(left, right),
          "operands %s and %s have incompatible shapes; their dimensions must be equal: HLO "
          "broadcasts nothing implicitly",
          text_operand(in, 0), text_operand(in, 1));
  return true;
}

/* A dimension of the result is dynamic if it is in any operand. */
static const Shape *common_dims(Inference *in, PrimitiveType type, int first, int count) {
  Dims dims;
  dims_of(&dims, operand_shape(in, first));
  for (int i = first + 1; i < first + count; i++) {
    for (int d = 0; d < dims.rank; d++) {
      dims.dynamic[d] |= dimension_is_dynamic(operand_shape(in, i), d);
      dims.any_dynamic |= dims.dynamic[d];
    }
  }
  return dims_shape(in, type, &dims);
}

const Shape *infer_binary(Inference *in) {
  if (!check_array(in, 0, "lhs") || !check_array(in, 1, "rhs") || !check_type(in, 0) ||
      !check_same(in)) {
    return NULL;
  }
  return common_dims(in, result_type(in, operand_shape(in, 0)->type), 0, 2);
}

const Shape *infer_complex(Inference *in) {
  const Shape *shape = infer_binary(in);
  if (!shape) return NULL;
  PrimitiveType type = type_complex_of(shape->type);
  if (type == PRIMITIVE_TYPE_INVALID) {
    return unimplemented(in,
                         "operands %s and %s have element type %s; only f32 and f64 make a "
                         "complex type",
                         text_operand(in, 0), text_operand(in, 1), type_name(shape->type)),
           NULL;
  }
  return shape_with_type(in->arena, shape, type);
}

static bool comparison_type_fits(ComparisonType comparison, TypeKind kind) {
  switch (comparison) {
  case COMPARISON_FLOAT: return kind == KIND_FLOAT || kind == KIND_COMPLEX;
  case COMPARISON_TOTALORDER: return kind == KIND_FLOAT;
  case COMPARISON_SIGNED: return kind == KIND_SIGNED;
  case COMPARISON_UNSIGNED: return kind == KIND_UNSIGNED || kind == KIND_PRED;
  default: return true;
  }
}

const Shape *infer_compare(Inference *in) {
  const Shape *shape = infer_binary(in);
  if (!shape) return NULL;
  PrimitiveType type = operand_shape(in, 0)->type;
  REQUIRE(in, comparison_type_fits(in->a->compare_type, type_kind(type)),
          "comparison type %s does not fit operands %s and %s; floating-point takes FLOAT or "
          "TOTALORDER, signed SIGNED, unsigned and pred UNSIGNED, complex FLOAT",
          attribute_enum_name(ATTR_COMPARISON_TYPE, (int)in->a->compare_type), text_operand(in, 0),
          text_operand(in, 1));
  bool equality = in->a->direction == COMPARE_EQ || in->a->direction == COMPARE_NE;
  REQUIRE(in, !type_is_complex(type) || equality,
          "operands %s and %s are complex, which have no order; direction must be EQ or NE",
          text_operand(in, 0), text_operand(in, 1));
  return shape;
}

/* Scalars may stand for min and max, and for select's predicate: HLO itself allows it. Else an operand has the dimensions of
** operand 1. */
static bool check_scalar_or_dims(Inference *in, int index, const char *role) {
  const Shape *shape = operand_shape(in, index);
  REQUIRE(in, shape_is_scalar(shape) || shape_same_dims(shape, operand_shape(in, 1)),
          "%s has shape %s, which does not match operand %s; it must be a scalar or have the same "
          "dimensions",
          role, text_operand(in, index), text_operand(in, 1));
  return true;
}

const Shape *infer_clamp(Inference *in) {
  if (!check_array(in, 0, "min") || !check_array(in, 1, "operand") || !check_array(in, 2, "max") ||
      !check_type(in, 1)) {
    return NULL;
  }
  PrimitiveType type = operand_shape(in, 1)->type;
  REQUIRE(in, operand_shape(in, 0)->type == type && operand_shape(in, 2)->type == type,
          "min %s, operand %s and max %s have different element types; convert them to one",
          text_operand(in, 0), text_operand(in, 1), text_operand(in, 2));
  if (!check_scalar_or_dims(in, 0, "min") || !check_scalar_or_dims(in, 2, "max")) return NULL;
  return common_dims(in, type, 1, 1);
}

const Shape *infer_select(Inference *in) {
  if (!check_array(in, 0, "pred") || !check_array(in, 1, "on_true") ||
      !check_array(in, 2, "on_false")) {
    return NULL;
  }
  REQUIRE(in, operand_shape(in, 0)->type == PRED,
          "predicate %s has element type %s; it must be pred", text_operand(in, 0),
          type_name(operand_shape(in, 0)->type));
  REQUIRE(in, shape_compatible(operand_shape(in, 1), operand_shape(in, 2)),
          "on_true %s and on_false %s differ; they must have the same shape", text_operand(in, 1),
          text_operand(in, 2));
  if (!check_scalar_or_dims(in, 0, "predicate")) return NULL;
  bool scalar = operand_shape(in, 0)->rank == 0 && operand_shape(in, 1)->rank != 0;
  const Shape *shape = common_dims(in, operand_shape(in, 1)->type, scalar ? 1 : 0, scalar ? 2 : 3);
  return shape;
}
