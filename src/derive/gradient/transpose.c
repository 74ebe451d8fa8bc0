/* Walks over the linear instructions from the last to the first, and turns cotangents of results into cotangents
** of operands. Rules that need no more than a few lines are here. */
#include "derive/gradient/linear.h"

/* ---- The walk ---- */

static void transpose(WorkingComputation *working, Instruction *x) {
  Facts facts = *facts_of(working, x);
  if (!facts.linear || !facts.cotangents || x->operand_count == 0) return;
  bool any = false;
  for (int i = 0; i < shape_leaves(x->shape); i++) any |= facts.cotangents[i] != NULL;
  Transposition *rule = facts.transpose ? facts.transpose : derivative_rules[x->opcode].transpose;
  if (any && !rule) no_derivative(working, x, "has no transposition");
  if (facts.select.guarded) guard_operands(working, x);
  if (any && rule) rule(working, x, facts.cotangents);
}

bool linear_transpose(WorkingComputation *working) {
  for (int i = working->m.computation->count - 1; i >= 0 && !working->d->failed; i--) {
    transpose(working, working->m.computation->instructions[i]);
  }
  return !working->d->failed;
}

/* ---- Element-wise ---- */

void transpose_negate(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  add_cotangent(working, x->operands[0], make_unary(&working->m, HLO_NEGATE, ct[0]));
}

void transpose_add(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  add_cotangent(working, x->operands[0], ct[0]);
  add_cotangent(working, x->operands[1], ct[0]);
}

void transpose_subtract(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  add_cotangent(working, x->operands[0], ct[0]);
  if (is_linear(working, x->operands[1])) {
    add_cotangent(working, x->operands[1], make_unary(&working->m, HLO_NEGATE, ct[0]));
  }
}

void transpose_multiply(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  int k = is_linear(working, x->operands[0]) ? 0 : 1;
  Instruction *product = make_binary(&working->m, HLO_MULTIPLY, ct[0], x->operands[1 - k]);
  add_cotangent(working, x->operands[k], guard_product(working, x, ct[0], product));
}

void transpose_divide(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Instruction *quotient = make_binary(&working->m, HLO_DIVIDE, ct[0], x->operands[1]);
  add_cotangent(working, x->operands[0], guard_product(working, x, ct[0], quotient));
}

/* A real number that became a complex one has the real part of its cotangent. */
void transpose_convert(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Instruction *from = x->operands[0], *cotangent = ct[0];
  bool was_real = type_kind(from->shape->type) == KIND_FLOAT;
  if (was_real && type_kind(x->shape->type) == KIND_COMPLEX) {
    cotangent = make_unary(&working->m, HLO_REAL, cotangent);
  }
  add_cotangent(working, from, make_convert(&working->m, cotangent, from->shape->type));
}

/* The operand may be real: then it is its own real part, and its imaginary part is 0. */
void transpose_real(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Instruction *zeros = make_zeros(&working->m, x->shape);
  bool is_real = type_kind(x->operands[0]->shape->type) == KIND_FLOAT;
  add_cotangent(working, x->operands[0],
                is_real ? ct[0] : make_binary(&working->m, HLO_COMPLEX, ct[0], zeros));
}

/* The convention is JAX's: cotangents are not conjugated, so that of the imaginary part has the sign of i * i. */
void transpose_imag(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  if (type_kind(x->operands[0]->shape->type) == KIND_FLOAT) return;
  Instruction *zeros = make_zeros(&working->m, x->shape),
              *imag = make_unary(&working->m, HLO_NEGATE, ct[0]);
  add_cotangent(working, x->operands[0], make_binary(&working->m, HLO_COMPLEX, zeros, imag));
}

void transpose_complex(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  if (is_linear(working, x->operands[0])) {
    add_cotangent(working, x->operands[0], make_unary(&working->m, HLO_REAL, ct[0]));
  }
  if (is_linear(working, x->operands[1])) {
    Instruction *imag = make_unary(&working->m, HLO_IMAG, ct[0]);
    add_cotangent(working, x->operands[1], make_unary(&working->m, HLO_NEGATE, imag));
  }
}

void transpose_by_itself(WorkingComputation *working, Instruction *x, Instruction *const *ct,
                         const Attributes *attributes) {
  int count = x->operand_count;
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, count);
  for (int k = 0; k < count; k++) {
    operands[k] = ct[k] ? ct[k] : make_zeros(&working->m, x->operands[k]->shape);
  }
  Instruction *back = make(&working->m, x->opcode, x->shape, operands, count, attributes);
  for (int k = 0; k < count; k++) {
    if (!is_linear(working, x->operands[k])) continue;
    add_cotangent(working, x->operands[k],
                  shape_is_tuple(x->shape) ? make_element(working, back, k) : back);
  }
}

/* For operations that are their own transposition, with the same attributes. */
void transpose_self_adjoint(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  transpose_by_itself(working, x, ct, x->a);
}

/* ---- Movement ---- */

/* Sums over the dimensions that broadcast adds; the others come back in the operand's order. */
void transpose_broadcast(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Int64List kept = x->a->dimensions;
  Int64List added = other_dimensions(&working->m, x->shape->rank, kept);
  int64_t order[MAX_RANK];
  for (int i = 0; i < kept.count; i++) {
    order[i] = 0;
    for (int k = 0; k < kept.count; k++) order[i] += kept.items[k] < kept.items[i];
  }
  Instruction *sum = make_sum(&working->m, ct[0], added);
  add_cotangent(working, x->operands[0], make_transpose(&working->m, sum, order));
}

void transpose_reshape(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  add_cotangent(working, x->operands[0], make_reshape(&working->m, ct[0], x->operands[0]->shape));
}

void transpose_transpose(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  int64_t inverse[MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) inverse[x->a->dimensions.items[d]] = d;
  add_cotangent(working, x->operands[0], make_transpose(&working->m, ct[0], inverse));
}

void transpose_slice(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  PaddingDimension padding[MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) {
    SliceDimension s = x->a->slice.items[d];
    int64_t n = x->shape->dims[d], span = n ? (n - 1) * s.stride + 1 : 0;
    int64_t size = x->operands[0]->shape->dims[d];
    padding[d] = (PaddingDimension){s.start, size - s.start - span, s.stride - 1};
  }
  add_cotangent(working, x->operands[0], make_pad(&working->m, ct[0], padding));
}

/* The operand gets back its elements. The padding value gets the sum of all others. */
void transpose_pad(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  const Shape *shape = x->operands[0]->shape;
  PaddingDimension cut[MAX_RANK];
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    PaddingDimension p = x->a->padding.items[d];
    cut[d] = (PaddingDimension){-p.low, -p.high, 0};
    int64_t span = x->shape->dims[d] - p.low - p.high;
    slice[d] = (SliceDimension){0, span, p.interior + 1};
  }
  Instruction *back = make_slice(&working->m, make_pad(&working->m, ct[0], cut), slice);
  add_cotangent(working, x->operands[0], back);
  if (!is_linear(working, x->operands[1])) return;
  Int64List all = other_dimensions(&working->m, shape->rank, (Int64List){0});
  Instruction *total = make_sum(&working->m, ct[0], all),
              *inside = make_sum(&working->m, back, all);
  add_cotangent(working, x->operands[1], make_binary(&working->m, HLO_SUBTRACT, total, inside));
}

void transpose_concatenate(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  int64_t dimension = x->a->dimensions.items[0], start = 0;
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) slice[d] = (SliceDimension){0, x->shape->dims[d], 1};
  for (int k = 0; k < x->operand_count; k++) {
    int64_t end = start + x->operands[k]->shape->dims[dimension];
    slice[dimension] = (SliceDimension){start, end, 1};
    if (is_linear(working, x->operands[k])) {
      add_cotangent(working, x->operands[k], make_slice(&working->m, ct[0], slice));
    }
    start = end;
  }
}

/* ---- Tuples ---- */

void transpose_element(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  int leaf = 0;
  for (int64_t i = 0; i < x->a->tuple_index; i++) {
    leaf += shape_leaves(x->operands[0]->shape->elements[i]);
  }
  add_cotangent_leaf(working, x->operands[0], leaf, ct[0]);
}
