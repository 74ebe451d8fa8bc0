#include "derive/gradient/matrices.h"

#include "base/min_max.h"

Instruction *matrix_transposed(WorkingComputation *l, Instruction *x) {
  int64_t order[MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) order[d] = d;
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  return make_transpose(&l->m, x, order);
}

Instruction *matrix_adjoint(WorkingComputation *l, Instruction *x) {
  return make_conjugate(&l->m, matrix_transposed(l, x));
}

Instruction *matrix_product(WorkingComputation *l, Instruction *x, Instruction *y) {
  int batch = x->shape->rank - 2;
  int64_t batches[MAX_RANK];
  for (int d = 0; d < batch; d++) batches[d] = d;
  Attributes a;
  attributes_init(&a);
  a.lhs_batch_dims = a.rhs_batch_dims = list_of(&l->m, batch, batches);
  a.lhs_contracting_dims = list_of_one(&l->m, batch + 1);
  a.rhs_contracting_dims = list_of_one(&l->m, batch);
  a.operand_precision = "{highest,highest}";
  return make(&l->m, HLO_DOT, NULL, (Instruction *[]){x, y}, 2, &a);
}

Instruction *matrix_compare(WorkingComputation *l, const Shape *shape,
                            ComparisonDirection direction) {
  Instruction *row = make_iota(&l->m, S32, shape, shape->rank - 2);
  Instruction *column = make_iota(&l->m, S32, shape, shape->rank - 1);
  return make_compare(&l->m, direction, row, column);
}

Instruction *matrix_part(WorkingComputation *l, Instruction *x, ComparisonDirection direction) {
  Instruction *inside = matrix_compare(l, x->shape, direction);
  return make_select(&l->m, inside, x, make_zeros(&l->m, x->shape));
}

Instruction *matrix_lower_half(WorkingComputation *l, Instruction *x) {
  Instruction *half = make_binary(&l->m, HLO_MULTIPLY, x, make_number(&l->m, x->shape, 0.5));
  Instruction *inside = matrix_part(l, x, COMPARE_GT);
  return make_select(&l->m, matrix_compare(l, x->shape, COMPARE_EQ), half, inside);
}

int64_t matrix_rows(const Instruction *x) { return x->shape->dims[x->shape->rank - 2]; }
int64_t matrix_columns(const Instruction *x) { return x->shape->dims[x->shape->rank - 1]; }

Instruction *matrix_block(WorkingComputation *l, Instruction *x, int64_t rows, int64_t first,
                          int64_t end) {
  int rank = x->shape->rank;
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < rank; d++) slice[d] = (SliceDimension){0, x->shape->dims[d], 1};
  slice[rank - 2].limit = rows;
  slice[rank - 1] = (SliceDimension){first, end, 1};
  return make_slice(&l->m, x, slice);
}

Instruction *matrix_padded(WorkingComputation *l, Instruction *x, int64_t rows, int64_t columns) {
  PaddingDimension padding[MAX_RANK] = {{0}};
  int rank = x->shape->rank;
  padding[rank - 2].high = rows - matrix_rows(x);
  padding[rank - 1].high = columns - matrix_columns(x);
  return make_pad(&l->m, x, padding);
}

Instruction *matrix_beside(WorkingComputation *l, Instruction *x, Instruction *y) {
  return make(&l->m, HLO_CONCATENATE, NULL, (Instruction *[]){x, y}, 2,
              ATTRIBUTES(.dimensions = list_of_one(&l->m, x->shape->rank - 1)));
}

Instruction *matrix_with_unit_diagonal(WorkingComputation *l, Instruction *x) {
  return make_select(&l->m, matrix_compare(l, x->shape, COMPARE_EQ),
                     make_number(&l->m, x->shape, 1), x);
}

Instruction *matrix_unit_lower(WorkingComputation *l, Instruction *x, int64_t columns) {
  x = matrix_block(l, x, matrix_rows(x), 0, columns);
  return matrix_with_unit_diagonal(l, matrix_part(l, x, COMPARE_GT));
}

Instruction *matrix_diagonal(WorkingComputation *l, Instruction *x) {
  int64_t n = min_i64(matrix_rows(x), matrix_columns(x));
  Instruction *square = matrix_block(l, x, n, 0, n);
  return make_sum(&l->m, matrix_part(l, square, COMPARE_EQ),
                  list_of_one(&l->m, x->shape->rank - 1));
}

Instruction *matrix_of_rows(WorkingComputation *l, Instruction *vector, const Shape *shape) {
  return make_spread(&l->m, vector, shape, list_of_one(&l->m, shape->rank - 1));
}

Instruction *matrix_of_columns(WorkingComputation *l, Instruction *vector, const Shape *shape) {
  return make_spread(&l->m, vector, shape, list_of_one(&l->m, shape->rank - 2));
}

Instruction *matrix_solve(WorkingComputation *l, Instruction *a, Instruction *b, bool left,
                          bool lower, bool unit_diagonal, Transpose op) {
  return make(&l->m, HLO_TRIANGULAR_SOLVE, NULL, (Instruction *[]){a, b}, 2,
              ATTRIBUTES(.left_side = left, .lower = lower, .unit_diagonal = unit_diagonal,
                         .transpose_a = op));
}
