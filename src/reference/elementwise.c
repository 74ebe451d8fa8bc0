/*
** Evaluates element-wise operations over whole arrays. Most convert each element to Scalar; the
** arithmetic of the commonest types has plain loops.
*/
#include <string.h>

#include "hlo/scalar/element.h"
#include "reference/eval.h"

/* ---- Plain loops ---- */

typedef void BinaryLoop(const void *x, const void *y, void *z, int64_t count);

#define BINARY_LOOP(name, type, op)                                        \
  static void name(const void *x, const void *y, void *z, int64_t count) { \
    const type *a = x, *b = y;                                             \
    type *c = z;                                                           \
    for (int64_t i = 0; i < count; i++) c[i] = a[i] op b[i];               \
  }
BINARY_LOOP(add_f32, float, +)
BINARY_LOOP(subtract_f32, float, -)
BINARY_LOOP(multiply_f32, float, *)
BINARY_LOOP(divide_f32, float, /)
BINARY_LOOP(add_f64, double, +)
BINARY_LOOP(subtract_f64, double, -)
BINARY_LOOP(multiply_f64, double, *)
BINARY_LOOP(divide_f64, double, /)
BINARY_LOOP(add_32, uint32_t, +)
BINARY_LOOP(subtract_32, uint32_t, -)
BINARY_LOOP(multiply_32, uint32_t, *)
#undef BINARY_LOOP

static const struct {
  Opcode opcode;
  PrimitiveType type;
  BinaryLoop *loop;
} binary_loops[] = {
    {HLO_ADD, F32, add_f32},
    {HLO_SUBTRACT, F32, subtract_f32},
    {HLO_MULTIPLY, F32, multiply_f32},
    {HLO_DIVIDE, F32, divide_f32},
    {HLO_ADD, F64, add_f64},
    {HLO_SUBTRACT, F64, subtract_f64},
    {HLO_MULTIPLY, F64, multiply_f64},
    {HLO_DIVIDE, F64, divide_f64},
    {HLO_ADD, S32, add_32},
    {HLO_SUBTRACT, S32, subtract_32},
    {HLO_MULTIPLY, S32, multiply_32},
    {HLO_ADD, U32, add_32},
    {HLO_SUBTRACT, U32, subtract_32},
    {HLO_MULTIPLY, U32, multiply_32},
};

static BinaryLoop *binary_loop(Opcode opcode, PrimitiveType type) {
  for (size_t i = 0; i < sizeof binary_loops / sizeof *binary_loops; i++) {
    if (binary_loops[i].opcode == opcode && binary_loops[i].type == type) {
      return binary_loops[i].loop;
    }
  }
  return NULL;
}

/* ---- Unary and binary ---- */

static void unary(const Instruction *instruction, const Literal *operand, Literal *result) {
  PrimitiveType type = operand->shape->type, to = result->shape->type;
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    scalar_store(to, result->data, i,
                 scalar_unary(instruction, type, scalar_load(type, operand->data, i)));
  }
}

/* Compares the elements' bits, as NaNs differ in bits that a Scalar need not keep. */
static void compare_total_order(const Instruction *instruction, const Literal *x, const Literal *y,
                                Literal *result) {
  PrimitiveType type = x->shape->type;
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    Scalar a = total_order_key(type, x->data, i), b = total_order_key(type, y->data, i);
    ((uint8_t *)result->data)[i] = scalar_compare(S64, instruction->a->direction, a, b);
  }
}

static void binary(const Instruction *instruction, const Literal *x, const Literal *y,
                   Literal *result) {
  PrimitiveType type = x->shape->type, to = result->shape->type;
  int64_t count = shape_elements(result->shape);
  BinaryLoop *loop = binary_loop(instruction->opcode, type);
  if (loop) {
    loop(x->data, y->data, result->data, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    Scalar a = scalar_load(type, x->data, i), b = scalar_load(type, y->data, i);
    scalar_store(to, result->data, i, scalar_binary(instruction, type, a, b));
  }
}

bool eval_elementwise(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  (void)context;
  if (instruction->operand_count == 1) {
    unary(instruction, operands[0], result);
  } else if (instruction->opcode == HLO_COMPARE && is_total_order(instruction)) {
    compare_total_order(instruction, operands[0], operands[1], result);
  } else {
    binary(instruction, operands[0], operands[1], result);
  }
  return true;
}

/* ---- Three operands ---- */

/* Selects elements of `bytes` bytes, of any type. */
static inline void select_loop(const uint8_t *mask, const uint8_t *on_true, const uint8_t *on_false,
                               uint8_t *to, int64_t count, size_t bytes) {
  for (int64_t i = 0; i < count; i++) {
    memcpy(to, mask[i] ? on_true : on_false, bytes);
    to += bytes;
    on_true += bytes;
    on_false += bytes;
  }
}

bool eval_select(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context) {
  (void)instruction, (void)context;
  const uint8_t *mask = operands[0]->data, *x = NULL, *y = NULL;
  if (shape_is_scalar(operands[0]->shape)) {
    literal_copy_data(operands[mask[0] ? 1 : 2], result);
    return true;
  }
  x = operands[1]->data;
  y = operands[2]->data;
  int64_t count = shape_elements(result->shape);
  switch (type_bytes(result->shape->type)) { /* constants, so that memcpy is one move */
  case 1: select_loop(mask, x, y, result->data, count, 1); break;
  case 2: select_loop(mask, x, y, result->data, count, 2); break;
  case 4: select_loop(mask, x, y, result->data, count, 4); break;
  case 8: select_loop(mask, x, y, result->data, count, 8); break;
  default: select_loop(mask, x, y, result->data, count, 16); break;
  }
  return true;
}

/* min(max(x, low), high), where low and high may be scalars. */
bool eval_clamp(const Instruction *instruction, Literal *const *operands, Literal *result,
                EvalContext *context) {
  (void)instruction, (void)context;
  const Literal *low = operands[0], *x = operands[1], *high = operands[2];
  PrimitiveType type = x->shape->type;
  int low_step = !shape_is_scalar(low->shape), high_step = !shape_is_scalar(high->shape);
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    Scalar from = scalar_load(type, low->data, i * low_step);
    Scalar to = scalar_load(type, high->data, i * high_step);
    scalar_store(type, result->data, i,
                 scalar_clamp(type, from, scalar_load(type, x->data, i), to));
  }
  return true;
}

/* ---- map ---- */

bool eval_map(const Instruction *instruction, Literal *const *operands, Literal *result,
              EvalContext *context) {
  EvalApply *apply = eval_apply_new(instruction->a->to_apply, context);
  if (!apply) return false;
  int n = instruction->operand_count;
  Scalar *arguments = ARENA_ARRAY(context->arena, Scalar, n);
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    for (int k = 0; k < n; k++) {
      arguments[k] = scalar_load(operands[k]->shape->type, operands[k]->data, i);
    }
    Scalar value;
    if (!eval_apply(apply, arguments, &value)) return false;
    scalar_store(result->shape->type, result->data, i, value);
  }
  return true;
}
