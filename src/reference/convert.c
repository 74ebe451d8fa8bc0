/* Evaluates conversions between element types, and operations without operands: iota, constants, replica numbers. */
#include <math.h>
#include <string.h>

#include "reference/eval.h"

/* ---- convert ---- */

/*
** Rounds stochastically: the fraction becomes an unsigned integer as wide as the random ones, and a random
** number below it rounds away from zero. Values out of range saturate and NaN is 0, as in convert.
*/
static Scalar stochastic(PrimitiveType from, PrimitiveType to, Scalar x, Scalar random) {
  double magnitude = fabs(x.f), whole = trunc(magnitude);
  if (!isfinite(x.f)) return scalar_convert(from, to, x);
  double threshold = floor(ldexp(magnitude - whole, type_bits(from)));
  if ((double)random.u < threshold) whole += 1;
  return scalar_convert(F64, to, (Scalar){.f = copysign(whole, x.f)});
}

static bool stochastic_convert(Literal *const *operands, Literal *result, EvalContext *context) {
  PrimitiveType from = operands[0]->shape->type, to = result->shape->type;
  PrimitiveType random = operands[1]->shape->type;
  if (type_kind(to) != KIND_SIGNED) {
    return error_set_op(context->error, STATUS_UNIMPLEMENTED, "stochastic-convert",
                        "operand %s cannot become %s; only signed integers are defined",
                        type_name(from), type_name(to));
  }
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    Scalar x = scalar_load(from, operands[0]->data, i);
    Scalar r = scalar_load(random, operands[1]->data, i);
    scalar_store(to, result->data, i, stochastic(from, to, x, r));
  }
  return true;
}

bool eval_convert(const Instruction *instruction, Literal *const *operands, Literal *result,
                  EvalContext *context) {
  if (instruction->opcode == HLO_STOCHASTIC_CONVERT) {
    return stochastic_convert(operands, result, context);
  }
  const Literal *operand = operands[0];
  PrimitiveType from = operand->shape->type, to = result->shape->type;
  if (from == to) {
    literal_copy_data(operand, result);
    return true;
  }
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    Scalar value = scalar_load(from, operand->data, i);
    scalar_store(to, result->data, i, scalar_convert(from, to, value));
  }
  return true;
}

/* ---- bitcast-convert ---- */

static bool fills_its_bytes(PrimitiveType type) { return type_bits(type) == 8 * type_bytes(type); }

/* Reads and writes elements as their low type_bits() bits, at most 64. */
static uint64_t load_bits(PrimitiveType type, const uint8_t *data, int64_t index) {
  uint64_t bits = 0;
  size_t bytes = (size_t)type_bytes(type);
  memcpy(&bits, data + (size_t)index * bytes, bytes);
  return bits & (UINT64_MAX >> (64 - type_bits(type)));
}

static void store_bits(PrimitiveType type, uint8_t *data, int64_t index, uint64_t bits) {
  size_t bytes = (size_t)type_bytes(type);
  if (fills_its_bytes(type) || type_is_floating(type)) {
    bits &= UINT64_MAX >> (64 - type_bits(type));
    memcpy(data + (size_t)index * bytes, &bits, bytes);
  } else {
    scalar_store(type, data, index, (Scalar){.u = bits}); /* extends the sign */
  }
}

/* Converts between one wide and several narrow elements. The first narrow one has the low bits. */
static void regroup_bits(const Literal *from, Literal *to) {
  PrimitiveType from_type = from->shape->type, to_type = to->shape->type;
  int from_bits = type_bits(from_type), to_bits = type_bits(to_type);
  int64_t count = shape_elements(to->shape);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = 0;
    if (from_bits >= to_bits) {
      int64_t ratio = from_bits / to_bits;
      bits = load_bits(from_type, from->data, i / ratio) >> (i % ratio * to_bits);
    } else {
      int64_t ratio = to_bits / from_bits;
      for (int64_t k = 0; k < ratio; k++) {
        bits |= load_bits(from_type, from->data, i * ratio + k) << (k * from_bits);
      }
    }
    store_bits(to_type, to->data, i, bits);
  }
}

bool eval_bitcast_convert(const Instruction *instruction, Literal *const *operands, Literal *result,
                          EvalContext *context) {
  (void)instruction, (void)context;
  const Literal *operand = operands[0];
  if (fills_its_bytes(operand->shape->type) && fills_its_bytes(result->shape->type)) {
    size_t bytes = (size_t)shape_bytes(result->shape);
    if (bytes) memcpy(result->data, operand->data, bytes);
  } else {
    regroup_bits(operand, result);
  }
  return true;
}

/* ---- Sources ---- */

/* Computes one block of the iota dimension and those inside it, and copies it to the others. */
bool eval_iota(const Instruction *instruction, Literal *const *operands, Literal *result,
               EvalContext *context) {
  (void)operands, (void)context;
  const Shape *shape = result->shape;
  int dimension = (int)instruction->a->iota_dimension;
  int64_t count = shape_elements(shape), size = shape->dims[dimension], inner = 1;
  if (count == 0) return true;
  for (int d = dimension + 1; d < shape->rank; d++) inner *= shape->dims[d];
  for (int64_t i = 0; i < size; i++) {
    Scalar value = scalar_convert(S64, shape->type, (Scalar){.i = i});
    for (int64_t k = 0; k < inner; k++)
      scalar_store(shape->type, result->data, i * inner + k, value);
  }
  size_t block = (size_t)(size * inner) * (size_t)type_bytes(shape->type);
  size_t total = (size_t)shape_bytes(shape);
  uint8_t *data = result->data;
  for (size_t at = block; at < total; at += block) memcpy(data + at, data, block);
  return true;
}

bool eval_constant(const Instruction *instruction, Literal *const *operands, Literal *result,
                   EvalContext *context) {
  (void)operands, (void)context;
  literal_copy_data(instruction->literal, result);
  return true;
}

/* Evaluates replica-id and partition-id. */
bool eval_replica_id(const Instruction *instruction, Literal *const *operands, Literal *result,
                     EvalContext *context) {
  (void)operands;
  bool is_replica = instruction->opcode == HLO_REPLICA_ID;
  int id = is_replica ? context->replica_id : context->partition_id;
  scalar_store(U32, result->data, 0, (Scalar){.u = (uint64_t)id});
  return true;
}
