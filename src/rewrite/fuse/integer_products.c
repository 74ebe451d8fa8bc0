/*
** Multiplies integers of at most 8 bits as they are stored, if the sums are of 32 bits:
**
**     dot(x, convert(w))               dot(x, w)
**     dot(x, w), w of 4 bits           convert(dot(f32(x), f32(w))), if no sum exceeds 2^24 and there are few vectors
**
** Kernels read pairs of bytes, and products of f32 unpack numbers of 4 bits as they read them; each sum is exact.
*/
#include "base/min_max.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MAX_VECTORS: products of more are faster in integers. Test: "products of integers of 4 and 8 bits" in
  ** core/quantised_places.test.mjs. */
  MAX_VECTORS = 20,
  /* Threshold EXACT_BITS: f32 has all whole numbers up to 2^24. Test: "products of integers of 4 and 8 bits" in
  ** core/quantised_places.test.mjs. */
  EXACT_BITS = 24,
};

/* Returns the narrow integers that an operand widens, if any; else the operand. */
static Instruction *narrow_operand(Instruction *x) {
  while (x->opcode == HLO_CONVERT && !x->a->control_predecessors.count &&
         type_is_integral(x->operands[0]->shape->type) &&
         type_holds(x->shape->type, x->operands[0]->shape->type)) {
    x = x->operands[0];
  }
  return x;
}

static Instruction *converted_to(Instruction *x, PrimitiveType type) {
  if (x->shape->type == type) return x;
  const Shape *shape = shape_with_type(x->parent->module->arena, x->shape, type);
  return computation_add(x->parent, HLO_CONVERT, shape, &x, 1, NULL);
}

/* Whether f32 has each sum, and the larger operand is packed and multiplies few vectors. Negative sums must not wrap. */
static bool is_exact_in_floats(const Instruction *dot, Instruction *const narrow[2]) {
  int64_t size[2], depth = 1;
  for (int i = 0; i < 2; i++) size[i] = shape_elements(narrow[i]->shape);
  Int64List contracted = dot->a->lhs_contracting_dims, batch = dot->a->lhs_batch_dims;
  const Shape *lhs = dot->operands[0]->shape;
  for (int i = 0; i < contracted.count; i++) depth *= lhs->dims[contracted.items[i]];
  if (depth >= 1 << EXACT_BITS) return false;
  int64_t largest = depth;
  for (int i = 0; i < 2; i++) {
    PrimitiveType type = narrow[i]->shape->type;
    bool has_sign = type_kind(type) == KIND_SIGNED;
    if (has_sign && dot->shape->type == U32) return false;
    largest <<= type_bits(type) - has_sign;
  }
  int matrix = size[1] >= size[0];
  int64_t vectors = size[1 - matrix] / max_i64(depth, 1);
  for (int i = 0; i < batch.count; i++) vectors /= max_i64(lhs->dims[batch.items[i]], 1);
  return type_per_byte(narrow[matrix]->shape->type) > 1 && vectors <= MAX_VECTORS &&
         largest <= 1 << EXACT_BITS;
}

static bool is_narrow(const Instruction *x) {
  return type_is_integral(x->shape->type) && type_bits(x->shape->type) <= 8;
}

static bool narrow_product(Instruction *x, void *data) {
  (void)data;
  PrimitiveType type = x->shape->type;
  if (x->opcode != HLO_DOT || (type != S32 && type != U32) || x->a->control_predecessors.count) {
    return false;
  }
  Instruction *narrow[2] = {narrow_operand(x->operands[0]), narrow_operand(x->operands[1])};
  if (is_narrow(narrow[0]) && is_narrow(narrow[1]) && is_exact_in_floats(x, narrow)) {
    Instruction *floats[2] = {converted_to(narrow[0], F32), converted_to(narrow[1], F32)};
    const Shape *shape = shape_with_type(x->parent->module->arena, x->shape, F32);
    Instruction *dot = computation_add_named(x->parent, HLO_DOT, shape, floats, 2, x->a, x->name);
    instruction_become(x, HLO_CONVERT, &dot, 1, NULL);
    return true;
  }
  bool changed = false;
  for (int i = 0; i < 2; i++) {
    PrimitiveType to = type_kind(narrow[i]->shape->type) == KIND_SIGNED ? S8 : U8;
    if (!is_narrow(narrow[i]) || is_narrow(x->operands[i])) continue;
    x->operands[i] = converted_to(narrow[i], to);
    changed = true;
  }
  return changed;
}

bool pass_integer_products(Module *module) { return rewrite_each(module, narrow_product, NULL); }
