#include "derive/gradient/matrices.h"

#include "base/min_max.h"

Instruction *matrix_transposed(WorkingComputation *working, Instruction *x) {
  int64_t order[MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) order[d] = d;
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  return make_transpose(&working->m, x, order);
}

Instruction *matrix_adjoint(WorkingComputation *working, Instruction *x) {
  return make_conjugate(&working->m, matrix_transposed(working, x));
}

Instruction *matrix_product(WorkingComputation *working, Instruction *x, Instruction *y) {
  int batch = x->shape->rank - 2;
  int64_t batches[MAX_RANK];
  for (int d = 0; d < batch; d++) batches[d] = d;
  Attributes a;
  attributes_init(&a);
  a.lhs_batch_dims = a.rhs_batch_dims = list_of(&working->m, batch, batches);
  a.lhs_contracting_dims = list_of_one(&working->m, batch + 1);
  a.rhs_contracting_dims = list_of_one(&working->m, batch);
  a.operand_precision = "{highest,highest}";
  return make(&working->m, HLO_DOT, NULL, (Instruction *[]){x, y}, 2, &a);
}

Instruction *matrix_compare(WorkingComputation *working, const Shape *shape,
                            ComparisonDirection direction) {
  Instruction *row = make_iota(&working->m, S32, shape, shape->rank - 2);
  Instruction *column = make_iota(&working->m, S32, shape, shape->rank - 1);
  return make_compare(&working->m, direction, row, column);
}

Instruction *matrix_part(WorkingComputation *working, Instruction *x,
                         ComparisonDirection direction) {
  Instruction *inside = matrix_compare(working, x->shape, direction);
  return make_select(&working->m, inside, x, make_zeros(&working->m, x->shape));
}

Instruction *matrix_lower_half(WorkingComputation *working, Instruction *x) {
  Instruction *half =
      make_binary(&working->m, HLO_MULTIPLY, x, make_number(&working->m, x->shape, 0.5));
  Instruction *inside = matrix_part(working, x, COMPARE_GT);
  return make_select(&working->m, matrix_compare(working, x->shape, COMPARE_EQ), half, inside);
}

int64_t matrix_rows(const Instruction *x) { return x->shape->dims[x->shape->rank - 2]; }
int64_t matrix_columns(const Instruction *x) { return x->shape->dims[x->shape->rank - 1]; }

Instruction *matrix_block(WorkingComputation *working, Instruction *x, int64_t rows, int64_t first,
                          int64_t end) {
  int rank = x->shape->rank;
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < rank; d++) slice[d] = (SliceDimension){0, x->shape->dims[d], 1};
  slice[rank - 2].limit = rows;
  slice[rank - 1] = (SliceDimension){first, end, 1};
  return make_slice(&working->m, x, slice);
}

Instruction *matrix_padded(WorkingComputation *working, Instruction *x, int64_t rows,
                           int64_t columns) {
  PaddingDimension padding[MAX_RANK] = {{0}};
  int rank = x->shape->rank;
  padding[rank - 2].high = rows - matrix_rows(x);
  padding[rank - 1].high = columns - matrix_columns(x);
  return make_pad(&working->m, x, padding);
}

Instruction *matrix_beside(WorkingComputation *working, Instruction *x, Instruction *y) {
  return make(&working->m, HLO_CONCATENATE, NULL, (Instruction *[]){x, y}, 2,
              ATTRIBUTES(.dimensions = list_of_one(&working->m, x->shape->rank - 1)));
}

Instruction *matrix_with_unit_diagonal(WorkingComputation *working, Instruction *x) {
  return make_select(&working->m, matrix_compare(working, x->shape, COMPARE_EQ),
                     make_number(&working->m, x->shape, 1), x);
}

Instruction *matrix_unit_lower(WorkingComputation *working, Instruction *x, int64_t columns) {
  x = matrix_block(working, x, matrix_rows(x), 0, columns);
  return matrix_with_unit_diagonal(working, matrix_part(working, x, COMPARE_GT));
}

Instruction *matrix_diagonal(WorkingComputation *working, Instruction *x) {
  int64_t n = min_i64(matrix_rows(x), matrix_columns(x));
  Instruction *square = matrix_block(working, x, n, 0, n);
  return make_sum(&working->m, matrix_part(working, square, COMPARE_EQ),
                  list_of_one(&working->m, x->shape->rank - 1));
}

Instruction *matrix_of_rows(WorkingComputation *working, Instruction *vector, const Shape *shape) {
  return make_spread(&working->m, vector, shape, list_of_one(&working->m, shape->rank - 1));
}

Instruction *matrix_of_columns(WorkingComputation *working, Instruction *vector,
                               const Shape *shape) {
  return make_spread(&working->m, vector, shape, list_of_one(&working->m, shape->rank - 2));
}

Instruction *matrix_solve(WorkingComputation *working, Instruction *a, Instruction *b, bool left,
                          bool lower, bool unit_diagonal, Transpose op) {
  return make(&working->m, HLO_TRIANGULAR_SOLVE, NULL, (Instruction *[]){a, b}, 2,
              ATTRIBUTES(.left_side = left, .lower = lower, .unit_diagonal = unit_diagonal,
                         .transpose_a = op));
}
