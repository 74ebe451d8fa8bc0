/*
** Evaluates cholesky and triangular-solve, batched, real and complex, in double.
**
** Both follow XLA:CPU's expansions, in its blocks of 128, which determine where NaN appears for matrices
** that are not positive definite, singular, or not finite.
*/
#include <math.h>

#include "base/min_max.h"
#include "hlo/scalar/element.h"
#include "textbook/textbook.h"

/* Threshold BLOCK. Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { BLOCK = 128 };

/* A square matrix, row-major. `type` is F64 or C128. */
typedef struct Matrix {
  PrimitiveType type;
  int64_t size;
  Scalar *at;
} Matrix;

static Scalar *element(const Matrix *m, int64_t row, int64_t column) {
  return &m->at[row * m->size + column];
}

static Matrix matrix_new(PrimitiveType element_type, int64_t size, Arena *arena) {
  PrimitiveType type = type_is_complex(element_type) ? C128 : F64;
  return (Matrix){type, size, ARENA_ARRAY(arena, Scalar, size * size)};
}

static Scalar conjugate(Scalar x) {
  x.im = -x.im;
  return x;
}

/* sum + x * y. Real numbers must not pass through complex products, where infinities give NaN. */
static Scalar plus_product(PrimitiveType type, Scalar sum, Scalar x, Scalar y) {
  if (type == F64) return (Scalar){.f = sum.f + x.f * y.f};
  return (Scalar){.f = sum.f + (x.f * y.f - x.im * y.im), .im = sum.im + (x.f * y.im + x.im * y.f)};
}

static Scalar less_product(PrimitiveType type, Scalar sum, Scalar x, Scalar y) {
  return plus_product(type, sum, (Scalar){.f = -x.f, .im = -x.im}, y);
}

static Scalar divide(PrimitiveType type, Scalar x, Scalar y) {
  return scalar_binary_opcode(HLO_DIVIDE, type, x, y);
}

/* --- cholesky -------------------------------------------------------------------------------- */

/*
** Column by column, A = L L^H:
**   t[i] = A[i,j] - sum over k < j of L[i,k] conj(L[j,k]),   L[i,j] = t[i] / sqrt(real(t[j]))
** Returns whether every root was a number; undefined after cancellation. A root of 0 is a number: it gives
** 0 / 0 on the diagonal, which spreads to later columns. In a block of one, XLA takes the root itself, without
** division.
*/
static bool factorize(const Matrix *a, Matrix *l, EvalContext *context) {
  bool is_definite = true;
  for (int64_t j = 0; j < a->size && evaluation_spend(context, 0); j++) {
    Scalar root = {.f = 0};
    for (int64_t i = j; i < a->size; i++) {
      Scalar t = *element(a, i, j);
      for (int64_t k = 0; k < j; k++) {
        t = less_product(a->type, t, *element(l, i, k), conjugate(*element(l, j, k)));
      }
      if (i == j) root.f = sqrt(t.f);
      bool block_of_one = j % BLOCK == 0 && j + 1 == a->size;
      *element(l, i, j) = block_of_one ? root : divide(a->type, t, root);
    }
    is_definite = is_definite && root.f == root.f;
  }
  return is_definite;
}

bool eval_cholesky(const Instruction *instruction, Literal *const *operands, Literal *result,
                   EvalContext *context) {
  PrimitiveType type = result->shape->type;
  bool lower = instruction->a->lower;
  int64_t n = result->shape->dims[result->shape->rank - 1];
  int64_t count = shape_elements(result->shape);
  Matrix a = matrix_new(type, n, context->arena), l = matrix_new(type, n, context->arena);
  for (int64_t at = 0; at < count; at += n * n) {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j <= i; j++) {
        int64_t from = lower ? i * n + j : j * n + i;
        *element(&a, i, j) = scalar_load(type, operands[0]->data, at + from);
      }
    }
    bool is_definite = factorize(&a, &l, context);
    for (int64_t i = 0; i < n * n; i++) {
      int64_t row = lower ? i / n : i % n, column = lower ? i % n : i / n;
      Scalar value = {.f = 0};
      if (!is_definite) value.f = NAN;
      if (is_definite && column <= row) value = *element(&l, row, column);
      scalar_store(type, result->data, at + i, value);
    }
  }
  return true;
}

/* --- triangular-solve ------------------------------------------------------------------------ */

/*
** The system for one vector at a time: T y = r, with T = A or its transpose or adjoint. With A on the
** right, X op(A) = B is op(A)^T X^T = B^T, and a vector is a row of B.
*/
typedef struct Solve {
  Matrix a;       /* the triangle that is used; zero elsewhere */
  Matrix inverse; /* of the diagonal blocks of a */
  bool lower, transposed, conjugated, unit_diagonal;
  Scalar *vector, *part; /* r, which becomes y; scratch */
} Solve;

static Scalar entry(const Solve *s, const Matrix *m, int64_t row, int64_t column) {
  Scalar value = s->transposed ? *element(m, column, row) : *element(m, row, column);
  return s->conjugated ? conjugate(value) : value;
}

/* Loads the triangle of the matrix at `from`, with ones on the diagonal if they are implied. */
static void load_triangle(Solve *s, const Literal *operand, int64_t from) {
  int64_t n = s->a.size;
  for (int64_t row = 0; row < n; row++) {
    for (int64_t column = 0; column < n; column++, from++) {
      bool counts = row == column ? !s->unit_diagonal : s->lower == (row > column);
      *element(&s->a, row, column) = counts ? scalar_load(operand->shape->type, operand->data, from)
                                            : (Scalar){.f = row == column};
    }
  }
}

/*
** Inverts the diagonal block of `size` at `begin`. With D its diagonal, U = A / D (by columns) has a
** unit diagonal, and the rows of its inverse V follow from those before: with V = -1 for rows yet
** to come, row j is -(U[j,:] V), the first being 1. Then inverse(A) = V / D (by rows). The products
** include the zeros, as in XLA: so NaN and infinities spread.
*/
static void invert_block(Solve *s, int64_t begin, int64_t size) {
  const Matrix *a = &s->a;
  PrimitiveType type = a->type;
  int64_t first = s->lower ? 0 : size - 1;
  for (int64_t i = 0; i < size * size; i++) {
    int64_t row = i / size, column = i % size;
    *element(&s->inverse, begin + row, begin + column) = (Scalar){.f = row != column  ? 0
                                                                       : row == first ? 1
                                                                                      : -1};
  }
  for (int64_t i = 1; i < size; i++) {
    int64_t j = begin + (s->lower ? i : size - 1 - i);
    for (int64_t c = 0; c < size; c++) s->part[c] = (Scalar){.f = 0};
    for (int64_t k = begin; k < begin + size; k++) {
      Scalar u = divide(type, *element(a, j, k), *element(a, k, k));
      for (int64_t c = 0; c < size; c++) {
        s->part[c] = less_product(type, s->part[c], u, *element(&s->inverse, k, begin + c));
      }
    }
    for (int64_t c = 0; c < size; c++) *element(&s->inverse, j, begin + c) = s->part[c];
  }
  for (int64_t row = begin; row < begin + size; row++) {
    for (int64_t c = begin; c < begin + size; c++) {
      Scalar *value = element(&s->inverse, row, c);
      *value = divide(type, *value, *element(a, row, row));
    }
  }
}

/* r[begin .. begin+size) -= T[that, from .. to) y[from .. to). */
static void eliminate(Solve *s, int64_t begin, int64_t size, int64_t from, int64_t to) {
  for (int64_t i = begin; i < begin + size; i++) {
    for (int64_t k = from; k < to; k++) {
      s->vector[i] = less_product(s->a.type, s->vector[i], entry(s, &s->a, i, k), s->vector[k]);
    }
  }
}

static void apply_inverse(Solve *s, int64_t begin, int64_t size) {
  for (int64_t i = 0; i < size; i++) {
    Scalar sum = {.f = 0};
    for (int64_t k = 0; k < size; k++) {
      Scalar factor = entry(s, &s->inverse, begin + i, begin + k);
      sum = plus_product(s->a.type, sum, factor, s->vector[begin + k]);
    }
    s->part[i] = sum;
  }
  for (int64_t i = 0; i < size; i++) s->vector[begin + i] = s->part[i];
}

/* Solves blocks of `block` unknowns, one after the other; blocks of one are divided by the diagonal. */
static void solve_vector(Solve *s, int64_t block) {
  int64_t n = s->a.size, blocks = divide_up(n, block);
  bool forward = s->lower != s->transposed;
  for (int64_t i = 0; i < blocks; i++) {
    int64_t begin = (forward ? i : blocks - 1 - i) * block;
    int64_t size = begin + block < n ? block : n - begin;
    eliminate(s, begin, size, forward ? 0 : begin + size, forward ? begin : n);
    if (block > 1) {
      apply_inverse(s, begin, size);
    } else if (!s->unit_diagonal) {
      s->vector[begin] = divide(s->a.type, s->vector[begin], entry(s, &s->a, begin, begin));
    }
  }
}

/* Chooses the block size: many small systems are solved by substitution, others by inverted blocks. */
static int64_t block_size(int64_t systems, int64_t size) {
  return systems > BLOCK / 16 && size < BLOCK / 4 ? 1 : BLOCK;
}

bool eval_triangular_solve(const Instruction *instruction, Literal *const *operands,
                           Literal *result, EvalContext *context) {
  const Attributes *a = instruction->a;
  const Shape *shape = result->shape;
  int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
  int64_t n = a->left_side ? rows : columns, vectors = a->left_side ? columns : rows;
  if (shape_elements(shape) == 0) return true;
  int64_t systems = shape_elements(shape) / (rows * columns);
  int64_t block = n == 1 ? 1 : block_size(systems, n);
  Solve s = {.a = matrix_new(shape->type, n, context->arena),
             .inverse = matrix_new(shape->type, n, context->arena),
             .lower = a->lower,
             .transposed = (a->transpose_a != NO_TRANSPOSE) == a->left_side,
             .conjugated = a->transpose_a == ADJOINT,
             .unit_diagonal = a->unit_diagonal,
             .vector = ARENA_ARRAY(context->arena, Scalar, n),
             .part = ARENA_ARRAY(context->arena, Scalar, n)};
  int64_t stride = a->left_side ? columns : 1, next = a->left_side ? 1 : columns;
  for (int64_t system = 0; system < systems; system++) {
    load_triangle(&s, operands[0], system * n * n);
    for (int64_t begin = 0; block > 1 && begin < n; begin += block) {
      if (!evaluation_spend(context, 0)) return false;
      invert_block(&s, begin, begin + block < n ? block : n - begin);
    }
    for (int64_t v = 0; v < vectors; v++) {
      if (!evaluation_spend(context, 0)) return false;
      int64_t at = system * rows * columns + v * next;
      for (int64_t i = 0; i < n; i++) {
        s.vector[i] = scalar_load(shape->type, operands[1]->data, at + i * stride);
      }
      solve_vector(&s, block);
      for (int64_t i = 0; i < n; i++) {
        scalar_store(shape->type, result->data, at + i * stride, s.vector[i]);
      }
    }
  }
  return true;
}
