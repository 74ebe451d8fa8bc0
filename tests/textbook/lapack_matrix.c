/* Matrices of LAPACK's routines. */
#include "textbook/lapack.h"

Matrix matrix_new(Arena *arena, int64_t rows, int64_t columns) {
  Number *items = ARENA_ARRAY(arena, Number, rows * columns);
  for (int64_t i = 0; i < rows * columns; i++) items[i] = 0;
  return (Matrix){rows, columns, items};
}

Matrix matrix_copy(Arena *arena, const Matrix *from) {
  Matrix copy = matrix_new(arena, from->rows, from->columns);
  matrix_assign(&copy, from);
  return copy;
}

void matrix_assign(const Matrix *to, const Matrix *from) {
  for (int64_t i = 0; i < from->rows * from->columns; i++) to->items[i] = from->items[i];
}

bool matrix_is_finite(const Matrix *m) {
  for (int64_t i = 0; i < m->rows * m->columns; i++) {
    /* x - x is 0 for finite numbers alone */
    double re = creal(m->items[i]), im = cimag(m->items[i]);
    if (re - re != 0 || im - im != 0) return false;
  }
  return true;
}

Number number_divide(Number x, Number y) {
  return cimag(y) == 0 ? number(creal(x) / creal(y), cimag(x) / creal(y)) : x / y;
}
