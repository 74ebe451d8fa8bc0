#include "rewrite/gradient/matrices.h"

#include "base/min_max.h"

Instruction *matrix_transposed(Linear *l, Instruction *x) {
  int64_t order[MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) order[d] = d;
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  return make_transpose(&l->m, x, order);
}

Instruction *matrix_adjoint(Linear *l, Instruction *x) {
  return make_conjugate(&l->m, matrix_transposed(l, x));
}

Instruction *matrix_product(Linear *l, Instruction *x, Instruction *y) {
  int batch = x->shape->rank - 2;
  int64_t batches[MAX_RANK];
  for (int d = 0; d < batch; d++) batches[d] = d;
  Attributes a;
  attributes_init(&a);
  a.lhs_batch_dims = a.rhs_batch_dims = list_of(&l->m, batch, batches);
  a.lhs_contracting_dims = list_of(&l->m, 1, (int64_t[]){batch + 1});
  a.rhs_contracting_dims = list_of(&l->m, 1, (int64_t[]){batch});
  a.operand_precision = "{highest,highest}";
  return make(&l->m, HLO_DOT, NULL, (Instruction *[]){x, y}, 2, &a);
}

Instruction *matrix_compare(Linear *l, const Shape *shape, ComparisonDirection direction) {
  Instruction *row = make_iota(&l->m, S32, shape, shape->rank - 2);
  Instruction *column = make_iota(&l->m, S32, shape, shape->rank - 1);
  return make_compare(&l->m, direction, row, column);
}

Instruction *matrix_part(Linear *l, Instruction *x, ComparisonDirection direction) {
  Instruction *inside = matrix_compare(l, x->shape, direction);
  return make_select(&l->m, inside, x, make_zeros(&l->m, x->shape));
}

Instruction *matrix_half(Linear *l, Instruction *x, bool lower) {
  Instruction *half = make_binary(&l->m, HLO_MULTIPLY, x, make_number(&l->m, x->shape, 0.5));
  Instruction *inside = matrix_part(l, x, lower ? COMPARE_GT : COMPARE_LT);
  return make_select(&l->m, matrix_compare(l, x->shape, COMPARE_EQ), half, inside);
}

Instruction *matrix_diagonal(Linear *l, Instruction *x) {
  int rank = x->shape->rank;
  int64_t rows = x->shape->dims[rank - 2], columns = x->shape->dims[rank - 1];
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < rank; d++) slice[d] = (SliceDimension){0, x->shape->dims[d], 1};
  slice[rank - 2].limit = slice[rank - 1].limit = min_i64(rows, columns);
  Instruction *square = make_slice(&l->m, x, slice);
  return make_sum(&l->m, matrix_part(l, square, COMPARE_EQ),
                  list_of(&l->m, 1, (int64_t[]){rank - 1}));
}

Instruction *matrix_of_rows(Linear *l, Instruction *vector, const Shape *shape) {
  return make_spread(&l->m, vector, shape, list_of(&l->m, 1, (int64_t[]){shape->rank - 1}));
}

Instruction *matrix_of_columns(Linear *l, Instruction *vector, const Shape *shape) {
  return make_spread(&l->m, vector, shape, list_of(&l->m, 1, (int64_t[]){shape->rank - 2}));
}

Instruction *matrix_solve(Linear *l, Instruction *a, Instruction *b, bool left, bool lower,
                          bool unit_diagonal, Transpose op) {
  return make(&l->m, HLO_TRIANGULAR_SOLVE, NULL, (Instruction *[]){a, b}, 2,
              ATTRIBUTES(.left_side = left, .lower = lower, .unit_diagonal = unit_diagonal,
                         .transpose_a = op));
}
