/*
** The LAPACK routines that programs of JAX call, under their names there (hlo/ir/lapack_calls.h). The formulas are those
** of JAX's decompositions; for LU, QR, SVD and eigenvalues see also Giles (2008) and Townsend, "Differentiating the
** singular value decomposition" (2016).
**
** QR comes as two calls: geqrf gives R and reflectors, orgqr makes Q of the reflectors. The tangent of R is in geqrf's
** first result, and the part below the diagonal has none; that of Q is found from geqrf's operand.
*/
#include "base/min_max.h"
#include "hlo/ir/lapack_calls.h"
#include "rewrite/gradient/matrices.h"

static int64_t letter(const Instruction *x, const char *name, char otherwise) {
  return lapack_call_attribute(x->a->backend_config, name, otherwise);
}

static Instruction *result(Linear *l, Instruction *x, int i) { return make_element(l, x, i); }

/* Makes the same call with another mode, and results of other shapes where `shape` says so. */
static Instruction *with_mode(Linear *l, const Instruction *x, char mode, const Shape *shape) {
  if (letter(x, "mode", mode) == mode && shape == x->shape) return (Instruction *)x;
  Attributes a = *x->a;
  const char *uplo = letter(x, "uplo", 'L') == 'U' ? "U" : "L";
  a.backend_config =
      lapack_call_name(x) == LAPACK_GESDD
          ? arena_printf(l->arena, "{mode = %d : ui8}", mode)
          : arena_printf(l->arena, "{mode = %d : ui8, uplo = %d : ui8}", mode, *uplo);
  return make(&l->m, HLO_CUSTOM_CALL, shape, x->operands, x->operand_count, &a);
}

/* ---- Triangular factors ---- */

static void linearize_potrf(Linear *l, Instruction *x) {
  bool lower = letter(x, "uplo", 'L') == 'L';
  Instruction *factor = matrix_part(l, result(l, x, 0), lower ? COMPARE_GE : COMPARE_LE);
  set_tangent_leaf(l, x, 0, cholesky_tangent(l, factor, tangent_of(l, x->operands[0]), lower));
}

static void linearize_trsm(Linear *l, Instruction *x) {
  Attributes how;
  attributes_init(&how);
  int64_t op = letter(x, "trans_x", 'N');
  how.left_side = letter(x, "side", 'L') == 'L';
  how.lower = letter(x, "uplo", 'L') == 'L';
  how.unit_diagonal = letter(x, "diag", 'N') == 'U';
  how.transpose_a = op == 'T' ? TRANSPOSE : op == 'C' ? ADJOINT : NO_TRANSPOSE;
  Instruction *ta = tangent_of(l, x->operands[0]), *tb = tangent_of(l, x->operands[1]);
  set_tangent(l, x, solve_tangent(l, x, x->operands[0], ta, tb, &how));
}

/* ---- LU ---- */

/* Makes of pivots, from 1 on, the order of the rows: row i of the result is row order[i] of the matrix. */
static Instruction *row_order(Linear *l, Instruction *pivots, int64_t rows) {
  int rank = pivots->shape->rank, last = rank - 1;
  int64_t dims[MAX_RANK], count = pivots->shape->dims[last];
  for (int d = 0; d < rank; d++) dims[d] = pivots->shape->dims[d];
  dims[last] = rows;
  const Shape *shape = shape_of(&l->m, S32, rank, dims);
  Instruction *place = make_iota(&l->m, S32, shape, last), *order = place;
  Int64List dropped = list_of(&l->m, 1, (int64_t[]){last});
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < rank; d++) slice[d] = (SliceDimension){0, pivots->shape->dims[d], 1};
  for (int64_t i = 0; i < count; i++) { /* exchanges entries i and pivots[i] */
    slice[last] = (SliceDimension){i, i + 1, 1};
    Instruction *pivot = make_sum(&l->m, make_slice(&l->m, pivots, slice), dropped);
    pivot = make_binary(&l->m, HLO_SUBTRACT, pivot, make_number(&l->m, pivot->shape, 1));
    Instruction *at_i =
        make_compare(&l->m, COMPARE_EQ, place, make_number(&l->m, shape, (double)i));
    Instruction *at_pivot =
        make_compare(&l->m, COMPARE_EQ, place, make_spread(&l->m, pivot, shape, dropped));
    Instruction *zeros = make_zeros(&l->m, shape);
    Instruction *first = make_sum(&l->m, make_select(&l->m, at_i, order, zeros), dropped);
    Instruction *second = make_sum(&l->m, make_select(&l->m, at_pivot, order, zeros), dropped);
    order = make_select(&l->m, at_pivot, make_spread(&l->m, first, shape, dropped), order);
    order = make_select(&l->m, at_i, make_spread(&l->m, second, shape, dropped), order);
  }
  return order;
}

/* Makes a square matrix of a triangle of x: zeros are added or rows and columns are cut, and the diagonal becomes 1
** outside of x (and everywhere for a unit triangle). */
static Instruction *squared(Linear *l, Instruction *x, int64_t n, bool lower) {
  int rank = x->shape->rank;
  int64_t rows = x->shape->dims[rank - 2], columns = x->shape->dims[rank - 1];
  PaddingDimension padding[MAX_RANK] = {{0}};
  padding[rank - 2].high = n - rows;
  padding[rank - 1].high = n - columns;
  Instruction *part = matrix_part(l, x, lower ? COMPARE_GT : COMPARE_LE);
  Instruction *square = make_pad(&l->m, part, padding);
  Instruction *place = make_iota(&l->m, S32, square->shape, rank - 1);
  double from = lower ? 0 : (double)min_i64(rows, columns);
  Instruction *outside =
      make_compare(&l->m, COMPARE_GE, place, make_number(&l->m, place->shape, from));
  Instruction *on = matrix_compare(l, square->shape, COMPARE_EQ);
  return make_select(&l->m, make_binary(&l->m, HLO_AND, outside, on),
                     make_number(&l->m, square->shape, 1), square);
}

/* P A = L U: with X = L^-1 P dA U^-1, dL = L tril(X, -1) and dU = triu(X) U. */
static void linearize_getrf(Linear *l, Instruction *x) {
  Instruction *factors = result(l, x, 0), *t = tangent_of(l, x->operands[0]);
  int rank = factors->shape->rank;
  int64_t rows = factors->shape->dims[rank - 2], columns = factors->shape->dims[rank - 1];
  Instruction *order = row_order(l, result(l, x, 1), rows);
  Int64List dropped = list_of(&l->m, 1, (int64_t[]){rank - 1});
  const Shape *places = shape_with_type(l->arena, factors->shape, S32);
  t = take_along(l, t, make_spread(&l->m, order, places, dropped), rank - 2);
  Instruction *lower = squared(l, factors, rows, true);
  Instruction *upper = squared(l, factors, columns, false);
  Instruction *inner = matrix_solve(l, lower, t, true, true, true, NO_TRANSPOSE);
  inner = matrix_solve(l, upper, inner, false, false, false, NO_TRANSPOSE);
  Instruction *left = matrix_product(l, lower, matrix_part(l, inner, COMPARE_GT));
  Instruction *right = matrix_product(l, matrix_part(l, inner, COMPARE_LE), upper);
  set_tangent_leaf(l, x, 0, make_binary(&l->m, HLO_ADD, left, right));
}

/* ---- QR ---- */

typedef struct QrTangents {
  Instruction *q, *r;
} QrTangents;

/* A = Q R, where A has at least as many rows as columns: with X = Q^H dA R^-1 and W = tril(X, -1), dO = W - W^H (its
** diagonal is the imaginary one of X), dQ = Q (dO - X) + dA R^-1 and dR = (X - dO) R. */
static QrTangents qr_tangents(Linear *l, Instruction *q, Instruction *r, Instruction *t) {
  Instruction *scaled = matrix_solve(l, r, t, false, false, false, NO_TRANSPOSE);
  Instruction *x = matrix_product(l, matrix_adjoint(l, q), scaled);
  Instruction *w = matrix_part(l, x, COMPARE_GT);
  Instruction *turn = make_binary(&l->m, HLO_SUBTRACT, w, matrix_adjoint(l, w));
  if (type_is_complex(x->shape->type)) {
    Instruction *imag = make_unary(&l->m, HLO_IMAG, matrix_part(l, x, COMPARE_EQ));
    turn = make_binary(&l->m, HLO_ADD, turn,
                       make_binary(&l->m, HLO_COMPLEX, make_zeros(&l->m, imag->shape), imag));
  }
  Instruction *rest = make_binary(&l->m, HLO_SUBTRACT, x, turn);
  Instruction *turned = matrix_product(l, q, make_unary(&l->m, HLO_NEGATE, rest));
  return (QrTangents){make_binary(&l->m, HLO_ADD, turned, scaled), matrix_product(l, rest, r)};
}

/* R, the upper triangle of the first rows of geqrf's first result. */
static Instruction *r_of(Linear *l, Instruction *geqrf) {
  Instruction *packed = result(l, geqrf, 0);
  int rank = packed->shape->rank;
  SliceDimension slice[MAX_RANK];
  for (int d = 0; d < rank; d++) slice[d] = (SliceDimension){0, packed->shape->dims[d], 1};
  slice[rank - 2].limit = packed->shape->dims[rank - 1];
  return matrix_part(l, make_slice(&l->m, packed, slice), COMPARE_LE);
}

static bool is_tall(const Instruction *geqrf) {
  const Shape *shape = geqrf->operands[0]->shape;
  return shape->dims[shape->rank - 2] >= shape->dims[shape->rank - 1];
}

static void linearize_geqrf(Linear *l, Instruction *x) {
  if (!is_tall(x)) {
    refuse_derivative(l, x, "factors a matrix with more columns than rows");
    return;
  }
  Instruction *packed = result(l, x, 0);
  int rank = packed->shape->rank;
  Attributes a = *x->a;
  a.custom_call_target =
      arena_printf(l->arena, "lapack_%c%s_ffi", x->a->custom_call_target[sizeof "lapack_" - 1],
                   type_is_complex(packed->shape->type) ? "ungqr" : "orgqr");
  a.operand_layout_constraints = (ShapeList){0};
  a.output_to_operand_aliasing = NULL;
  Instruction *operands[] = {packed, result(l, x, 1)};
  Instruction *q = make(&l->m, HLO_CUSTOM_CALL, packed->shape, operands, 2, &a);
  QrTangents tangents = qr_tangents(l, q, r_of(l, x), tangent_of(l, x->operands[0]));
  PaddingDimension padding[MAX_RANK] = {{0}};
  padding[rank - 2].high = packed->shape->dims[rank - 2] - packed->shape->dims[rank - 1];
  refuse_derivative(l, x, "has factors of reflectors as a result, from which only Q can be made");
  set_tangent_leaf(l, x, 0, make_pad(&l->m, tangents.r, padding));
}

static void linearize_orgqr(Linear *l, Instruction *x) {
  const Instruction *packed = x->operands[0];
  Instruction *geqrf = packed->opcode == HLO_GET_TUPLE_ELEMENT ? packed->operands[0] : NULL;
  if (!geqrf || lapack_call_name(geqrf) != LAPACK_GEQRF ||
      !shape_same_dims(packed->shape, x->shape)) {
    refuse_derivative(l, x,
                      "makes more columns of Q than the matrix has, or of other reflectors "
                      "than those of geqrf");
    return;
  }
  Instruction *t = tangent_of(l, geqrf->operands[0]);
  if (t) set_tangent(l, x, qr_tangents(l, x, r_of(l, geqrf), t).q);
}

/* ---- Eigenvalues of hermitian matrices ---- */

/* 1 / (y - x) for two vectors, in all pairs (row x, column y), and 0 on the diagonal. */
static Instruction *inverse_differences(Linear *l, Instruction *v, const Shape *shape) {
  Instruction *rows = matrix_of_rows(l, v, shape), *columns = matrix_of_columns(l, v, shape);
  Instruction *difference = make_binary(&l->m, HLO_SUBTRACT, columns, rows);
  Instruction *diagonal = matrix_compare(l, shape, COMPARE_EQ),
              *ones = make_number(&l->m, rows->shape, 1);
  Instruction *inverse =
      make_binary(&l->m, HLO_DIVIDE, ones, make_select(&l->m, diagonal, ones, difference));
  return make_select(&l->m, diagonal, make_zeros(&l->m, rows->shape), inverse);
}

/* A V = V diag(w): with X = V^H dA V, dw = diag(X) and dV = V (F * X), where F = 1 / (w_j - w_i). */
static void linearize_syevd(Linear *l, Instruction *x) {
  Instruction *call = with_mode(l, x, 'V', x->shape);
  Instruction *v = result(l, call, 0), *w = result(l, call, 1);
  Instruction *t = tangent_of(l, x->operands[0]);
  Instruction *inner = matrix_product(l, matrix_adjoint(l, v), matrix_product(l, t, v));
  Instruction *factors = inverse_differences(l, w, inner->shape);
  factors = make_convert(&l->m, factors, inner->shape->type);
  Instruction *turn = matrix_product(l, v, make_binary(&l->m, HLO_MULTIPLY, factors, inner));
  if (call == x) set_tangent_leaf(l, x, 0, turn);
  set_tangent_leaf(l, x, 1, make_convert(&l->m, matrix_diagonal(l, inner), w->shape->type));
}

/* ---- Singular values ---- */

/* The matrix diag(s) x or x diag(s). */
static Instruction *scaled(Linear *l, Instruction *x, Instruction *s, bool columns, Opcode opcode) {
  Instruction *factors =
      columns ? matrix_of_columns(l, s, x->shape) : matrix_of_rows(l, s, x->shape);
  return make_binary(&l->m, opcode, x, make_convert(&l->m, factors, x->shape->type));
}

/* The part of dU that lies outside the columns of U: (dA V - U U^H dA V) / s. */
static Instruction *outside(Linear *l, Instruction *u, Instruction *product, Instruction *s) {
  Instruction *inside = matrix_product(l, u, matrix_product(l, matrix_adjoint(l, u), product));
  return scaled(l, make_binary(&l->m, HLO_SUBTRACT, product, inside), s, true, HLO_DIVIDE);
}

/* A = U diag(s) V^H: with X = U^H dA V, ds = real(diag(X)), F = 1 / (s_j^2 - s_i^2),
** dU = U (F * (X S + S X^H)) and dV = V (F * (S X + X^H S)), and the parts outside. For complex numbers, U also turns
** by the imaginary diagonal of X / s. */
static void linearize_gesdd(Linear *l, Instruction *x) {
  const Shape *matrix = x->operands[0]->shape, *shapes[5];
  int rank = matrix->rank;
  int64_t m = matrix->dims[rank - 2], n = matrix->dims[rank - 1], k = min_i64(m, n), dims[MAX_RANK];
  for (int i = 0; i < 5; i++) shapes[i] = x->shape->elements[i];
  for (int d = 0; d < rank; d++) dims[d] = matrix->dims[d];
  dims[rank - 1] = k;
  shapes[2] = shape_of(&l->m, matrix->type, rank, dims);
  dims[rank - 2] = k;
  dims[rank - 1] = n;
  shapes[3] = shape_of(&l->m, matrix->type, rank, dims);
  bool thin = letter(x, "mode", 'S') == 'S' ||
              (letter(x, "mode", 'S') != 'N' && shape_same_dims(shapes[2], x->shape->elements[2]) &&
               shape_same_dims(shapes[3], x->shape->elements[3]));
  Instruction *call = thin ? x : with_mode(l, x, 'S', shape_tuple(l->arena, 5, shapes));
  Instruction *t = tangent_of(l, x->operands[0]), *s = result(l, call, 1), *u = result(l, call, 2);
  Instruction *v = matrix_adjoint(l, result(l, call, 3));
  Instruction *tv = matrix_product(l, t, v);
  Instruction *inner = matrix_product(l, matrix_adjoint(l, u), tv);
  Instruction *ds = matrix_diagonal(l, inner);
  if (!thin) {
    refuse_derivative(l, x,
                      "has singular vectors beyond the smaller dimension, which the matrix does "
                      "not determine; compute the thin ones (full_matrices=False)");
  }
  set_tangent_leaf(l, x, 1, make_convert(&l->m, ds, s->shape->type));
  if (!thin) return;
  Instruction *squares = make_binary(&l->m, HLO_MULTIPLY, s, s);
  Instruction *factors =
      make_convert(&l->m, inverse_differences(l, squares, inner->shape), matrix->type);
  Instruction *right = scaled(l, inner, s, true, HLO_MULTIPLY);
  Instruction *left = scaled(l, inner, s, false, HLO_MULTIPLY);
  right = make_binary(&l->m, HLO_ADD, right, matrix_adjoint(l, right));
  left = make_binary(&l->m, HLO_ADD, left, matrix_adjoint(l, left));
  Instruction *turn_u = make_binary(&l->m, HLO_MULTIPLY, factors, right);
  if (type_is_complex(matrix->type)) {
    Instruction *imag = make_binary(&l->m, HLO_SUBTRACT, inner, matrix_adjoint(l, inner));
    imag = matrix_part(l, scaled(l, imag, s, false, HLO_DIVIDE), COMPARE_EQ);
    imag = make_binary(&l->m, HLO_MULTIPLY, imag, make_number(&l->m, imag->shape, 0.5));
    turn_u = make_binary(&l->m, HLO_ADD, turn_u, imag);
  }
  Instruction *du = matrix_product(l, u, turn_u);
  Instruction *dv = matrix_product(l, v, make_binary(&l->m, HLO_MULTIPLY, factors, left));
  if (m > n) du = make_binary(&l->m, HLO_ADD, du, outside(l, u, tv, s));
  if (n > m) {
    Instruction *tu = matrix_product(l, matrix_adjoint(l, t), u);
    dv = make_binary(&l->m, HLO_ADD, dv, outside(l, v, tu, s));
  }
  set_tangent_leaf(l, x, 2, du);
  set_tangent_leaf(l, x, 3, matrix_adjoint(l, dv));
}

/* ---- The table ---- */

void linearize_custom_call(Linear *l, Instruction *x) {
  static Linearization *const rules[LAPACK_COUNT + 1] = {
      [LAPACK_POTRF] = linearize_potrf, [LAPACK_TRSM] = linearize_trsm,
      [LAPACK_GETRF] = linearize_getrf, [LAPACK_GEQRF] = linearize_geqrf,
      [LAPACK_ORGQR] = linearize_orgqr, [LAPACK_SYEVD] = linearize_syevd,
      [LAPACK_GESDD] = linearize_gesdd,
  };
  Linearization *rule = rules[lapack_call_name(x)];
  if (rule) {
    rule(l, x);
    return;
  }
  const char *target = x->a->custom_call_target ? x->a->custom_call_target : "";
  refuse_derivative(l, x,
                    arena_printf(l->arena,
                                 "calls \"%s\", which has no derivative; registerGradient "
                                 "gives it one",
                                 target));
}
