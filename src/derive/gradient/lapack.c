/*
** The LAPACK routines that programs of JAX call, under their names there (hlo/ir/lapack_calls.h). The formulas are those
** of JAX's decompositions; for LU, SVD and eigenvalues see also Giles (2008) and Townsend, "Differentiating the singular
** value decomposition" (2016). Those of QR and tridiagonal solves have files of their own: qr.c, tridiagonal.c.
*/
#include <math.h>

#include "base/min_max.h"
#include "derive/gradient/matrices.h"
#include "hlo/ir/lapack_calls.h"
#include "hlo/ir/shard_calls.h"
#include "rewrite/base/rewrite.h"

static Instruction *result(WorkingComputation *working, Instruction *x, int i) {
  return make_element(working, x, i);
}

/* Makes the same call with other options. */
static Instruction *with_options(WorkingComputation *working, const Instruction *x,
                                 const char *options, const Shape *shape) {
  Attributes a = *x->a;
  a.backend_config = options;
  return make(&working->m, HLO_CUSTOM_CALL, shape, x->operands, x->operand_count, &a);
}

/* Adds x with another mode, and with results of other shapes where `shape` says so. */
static Instruction *with_mode(WorkingComputation *working, const Instruction *x, char mode,
                              const Shape *shape) {
  if (lapack_call_attribute(x, "mode", mode) == mode && shape == x->shape) return (Instruction *)x;
  const char *uplo = lapack_call_attribute(x, "uplo", 'L') == 'U' ? "U" : "L";
  return with_options(
      working, x, arena_printf(working->arena, "{mode = %d : ui8, uplo = %d : ui8}", mode, *uplo),
      shape);
}

/* ---- Triangular factors ---- */

static void linearize_potrf(WorkingComputation *working, Instruction *x) {
  bool lower = lapack_call_attribute(x, "uplo", 'L') == 'L';
  Instruction *factor =
      matrix_part(working, result(working, x, 0), lower ? COMPARE_GE : COMPARE_LE);
  set_tangent_leaf(working, x, 0,
                   cholesky_tangent(working, factor, tangent_of(working, x->operands[0]), lower));
}

/* ---- LU ---- */

enum { TURN, ORDER, PIVOTS, ORDER_STATE };

/* The entry at one place, in all places of another shape. */
static Instruction *entry_at(Maker *m, Instruction *x, Instruction *at, const Shape *shape) {
  Int64List along = list_of_one(m, shape->rank - 1);
  x = make_select(m, at, x, make_zeros(m, x->shape));
  return make_spread(m, make_sum(m, x, along), shape, along);
}

static Instruction *is_at(Maker *m, Instruction *place, const Shape *shape) {
  return make_compare(m, COMPARE_EQ, make_iota(m, S32, shape, shape->rank - 1), place);
}

/* Exchanges entries i and pivots[i]. */
static Computation *exchange(WorkingComputation *working, const Shape *state) {
  Maker m = {module_add_computation(working->d->module, "exchange"), working->m.error,
             working->m.failed};
  Instruction *all = computation_add_parameter(m.computation, 0, state, NULL), *x[ORDER_STATE];
  for (int i = 0; i < ORDER_STATE; i++) x[i] = computation_add_element(m.computation, all, i);
  const Shape *shape = x[ORDER]->shape, *pivots = x[PIVOTS]->shape;
  Instruction *at_i = is_at(&m, make_broadcast(&m, x[TURN], pivots, (Int64List){0}), pivots);
  Instruction *pivot = entry_at(&m, x[PIVOTS], at_i, shape);
  pivot = make_binary(&m, HLO_SUBTRACT, pivot, make_number(&m, shape, 1));
  at_i = is_at(&m, make_broadcast(&m, x[TURN], shape, (Int64List){0}), shape);
  Instruction *at_pivot = is_at(&m, pivot, shape), *order = x[ORDER];
  order = make_select(&m, at_pivot, entry_at(&m, x[ORDER], at_i, shape), order);
  x[ORDER] = make_select(&m, at_i, entry_at(&m, x[ORDER], at_pivot, shape), order);
  x[TURN] = make_binary(&m, HLO_ADD, x[TURN], make_number(&m, x[TURN]->shape, 1));
  m.computation->root = computation_add_tuple(m.computation, x, ORDER_STATE);
  return m.computation;
}

/* Makes of pivots, from 1 on, the order of the rows: row i of the result is row order[i] of the matrix. */
static Instruction *row_order(WorkingComputation *working, Instruction *pivots, int64_t rows) {
  int rank = pivots->shape->rank, last = rank - 1;
  int64_t dims[MAX_RANK], count = pivots->shape->dims[last];
  for (int d = 0; d < rank; d++) dims[d] = pivots->shape->dims[d];
  dims[last] = rows;
  const Shape *shape = shape_of(&working->m, S32, rank, dims),
              *scalar = shape_of(&working->m, S32, 0, NULL);
  Instruction *first[ORDER_STATE] = {make_zeros(&working->m, scalar),
                                     make_iota(&working->m, S32, shape, last), pivots};
  Instruction *init = computation_add_tuple(working->m.computation, first, ORDER_STATE);
  Maker m = {module_add_computation(working->d->module, "more_pivots"), working->m.error,
             working->m.failed};
  Instruction *state = computation_add_parameter(m.computation, 0, init->shape, NULL);
  m.computation->root =
      make_compare(&m, COMPARE_LT, computation_add_element(m.computation, state, TURN),
                   make_number(&m, scalar, (double)count));
  Computation *body = exchange(working, init->shape);
  Instruction *loop = make(&working->m, HLO_WHILE, init->shape, &init, 1,
                           ATTRIBUTES(.condition = m.computation, .body = body));
  return make_element(working, loop, ORDER);
}

Instruction *permuted_tangent(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]);
  int rank = t->shape->rank;
  Instruction *order = row_order(working, result(working, x, 1), matrix_rows(t));
  const Shape *places = shape_with_type(working->arena, t->shape, S32);
  return take_along(working, t, matrix_of_rows(working, order, places), rank - 2);
}

/* P A = L U. With more columns than rows, A = (A1, A2) and U = (U1, U2), dU2 = L^-1 (P dA2 - dL U2). */
static void linearize_getrf(WorkingComputation *working, Instruction *x) {
  Instruction *factors = result(working, x, 0), *t = permuted_tangent(working, x);
  int64_t rows = matrix_rows(t), columns = matrix_columns(t), k = min_i64(rows, columns);
  Instruction *lower = matrix_unit_lower(working, factors, k);
  Instruction *square = matrix_part(working, matrix_block(working, factors, k, 0, k), COMPARE_LE);
  LuTangents d = lu_tangents(working, lower, square, matrix_block(working, t, rows, 0, k));
  if (columns > k) {
    Instruction *rest =
        matrix_product(working, d.lower, matrix_block(working, factors, rows, k, columns));
    rest = make_binary(&working->m, HLO_SUBTRACT, matrix_block(working, t, rows, k, columns), rest);
    rest = matrix_solve(working, lower, rest, true, true, true, NO_TRANSPOSE);
    d.upper = matrix_beside(working, d.upper, rest);
  }
  set_tangent_leaf(working, x, 0,
                   make_binary(&working->m, HLO_ADD, matrix_padded(working, d.lower, rows, columns),
                               matrix_padded(working, d.upper, rows, columns)));
}

/* ---- Triangular solves ---- */

static Attributes trsm_attributes(const Instruction *x) {
  Attributes how;
  attributes_init(&how);
  int64_t op = lapack_call_attribute(x, "trans_x", 'N');
  how.left_side = lapack_call_attribute(x, "side", 'L') == 'L';
  how.lower = lapack_call_attribute(x, "uplo", 'L') == 'L';
  how.unit_diagonal = lapack_call_attribute(x, "diag", 'N') == 'U';
  how.transpose_a = op == 'T' ? TRANSPOSE : op == 'C' ? ADJOINT : NO_TRANSPOSE;
  return how;
}

/* Returns the LU factorization whose factors a matrix holds, perhaps with NaN instead where it failed; or NULL. */
static Instruction *factorization(const Instruction *x) {
  Scalar instead;
  bool may_be_nan = x->opcode == HLO_SELECT && splat_value(x->operands[2], &instead);
  if (may_be_nan && isnan(instead.f)) x = x->operands[1];
  if (x->opcode != HLO_GET_TUPLE_ELEMENT || x->a->tuple_index != 0) return NULL;
  return lapack_call_name(x->operands[0]) == LAPACK_GETRF ? x->operands[0] : NULL;
}

/* Returns the solve with L, if x is U^-1 (L^-1 b) with the factors of one factorization; or NULL. */
static const Instruction *solve_before(const Instruction *x, const Attributes *how) {
  const Instruction *first = without_reshapes(x->operands[1]);
  if (!factorization(x->operands[0]) || lapack_call_name(first) != LAPACK_TRSM) return NULL;
  Attributes before = trsm_attributes(first);
  bool is_upper = how->left_side && !how->lower && !how->unit_diagonal && !how->transpose_a;
  bool is_lower = before.left_side && before.lower && before.unit_diagonal && !before.transpose_a;
  bool same = first->operands[0] == x->operands[0] && shape_same_dims(first->shape, x->shape);
  return is_upper && is_lower && same ? first : NULL;
}

/* L U X = B and P A = L U: dX = U^-1 L^-1 (dB - P dA X), which needs no slopes of the factors. */
static void linearize_trsm(WorkingComputation *working, Instruction *x) {
  Attributes how = trsm_attributes(x);
  Instruction *a = x->operands[0], *b = x->operands[1];
  Instruction *ta = tangent_of(working, a), *tb = tangent_of(working, b);
  const Instruction *first = ta ? solve_before(x, &how) : NULL;
  if (first) {
    Instruction *change = matrix_product(working, permuted_tangent(working, factorization(a)), x);
    tb = tangent_of(working, first->operands[1]);
    tb = tb ? make_binary(&working->m, HLO_SUBTRACT, tb, change)
            : make_unary(&working->m, HLO_NEGATE, change);
    tb = matrix_solve(working, a, tb, true, true, true, NO_TRANSPOSE);
    ta = NULL;
  }
  set_tangent(working, x, solve_tangent(working, x, a, ta, tb, &how));
}

/* ---- Eigenvalues of hermitian matrices ---- */

/* 1 / (y - x) for two vectors, in all pairs (row x, column y), and 0 on the diagonal. */
static Instruction *inverse_differences(WorkingComputation *working, Instruction *v,
                                        const Shape *shape) {
  Instruction *rows = matrix_of_rows(working, v, shape),
              *columns = matrix_of_columns(working, v, shape);
  Instruction *difference = make_binary(&working->m, HLO_SUBTRACT, columns, rows);
  Instruction *diagonal = matrix_compare(working, shape, COMPARE_EQ),
              *ones = make_number(&working->m, rows->shape, 1);
  Instruction *inverse = make_binary(&working->m, HLO_DIVIDE, ones,
                                     make_select(&working->m, diagonal, ones, difference));
  return make_select(&working->m, diagonal, make_zeros(&working->m, rows->shape), inverse);
}

/* A V = V diag(w): with X = V^H dA V, dw = diag(X) and dV = V (F * X), where F = 1 / (w_j - w_i). */
static void linearize_syevd(WorkingComputation *working, Instruction *x) {
  Instruction *call = with_mode(working, x, 'V', x->shape);
  Instruction *v = result(working, call, 0), *w = result(working, call, 1);
  Instruction *t = tangent_of(working, x->operands[0]);
  Instruction *inner =
      matrix_product(working, matrix_adjoint(working, v), matrix_product(working, t, v));
  Instruction *factors = inverse_differences(working, w, inner->shape);
  factors = make_convert(&working->m, factors, inner->shape->type);
  Instruction *turn =
      matrix_product(working, v, make_binary(&working->m, HLO_MULTIPLY, factors, inner));
  if (call == x) set_tangent_leaf(working, x, 0, turn);
  set_tangent_leaf(working, x, 1,
                   make_convert(&working->m, matrix_diagonal(working, inner), w->shape->type));
}

/* ---- Eigenvalues of other matrices ---- */

/* The tangents of eigenvectors V: U = V (F * X), where F = 1 / (w_j - w_i), and multiples c of V. LAPACK's vectors have
** the length 1, and their largest element is real: c = -real(v^H u) - i imag(u_k) / v_k, where v_k is that element. */
static Instruction *eigenvector_tangent(WorkingComputation *working, Instruction *v, Instruction *w,
                                        Instruction *inner) {
  Maker *m = &working->m;
  int row = v->shape->rank - 2;
  Int64List rows = list_of_one(m, row);
  Instruction *f = inverse_differences(working, w, v->shape);
  Instruction *u = matrix_product(working, v, make_binary(m, HLO_MULTIPLY, f, inner));
  Instruction *sizes = make_unary(m, HLO_ABS, v), *place = make_iota(m, S32, sizes->shape, row);
  Instruction *max = make_reduce(m, HLO_MAXIMUM, sizes, 0, rows);
  Instruction *hit = make_compare(m, COMPARE_EQ, sizes, make_spread(m, max, sizes->shape, rows));
  int64_t n = v->shape->dims[row];
  Instruction *end = make_number(m, place->shape, (double)n);
  Instruction *first =
      make_reduce(m, HLO_MINIMUM, make_select(m, hit, place, end), (double)n, rows);
  hit = make_compare(m, COMPARE_EQ, place, make_spread(m, first, place->shape, rows));
  Instruction *zeros = make_zeros(m, sizes->shape);
  Instruction *at = make_select(m, hit, make_unary(m, HLO_REAL, v), zeros);
  Instruction *across = make_select(m, hit, make_unary(m, HLO_IMAG, u), zeros);
  Instruction *along =
      make_unary(m, HLO_REAL, make_binary(m, HLO_MULTIPLY, make_conjugate(m, v), u));
  across = make_binary(m, HLO_DIVIDE, make_sum(m, across, rows), make_sum(m, at, rows));
  Instruction *c = make_binary(m, HLO_COMPLEX, make_sum(m, along, rows), across);
  Instruction *turn = make_binary(m, HLO_MULTIPLY, v, make_spread(m, c, v->shape, rows));
  return make_binary(m, HLO_SUBTRACT, u, turn);
}

/* A V = V diag(w) and W^H A = diag(w) W^H: with X = V^-1 dA V, where V^-1 = W^H with its rows divided by those of
** diag(W^H V), dw = diag(X). W are the eigenvectors of A^H, whose eigenvalues are conj(w). */
static void linearize_geev(WorkingComputation *working, Instruction *x) {
  Maker *m = &working->m;
  static const char options[] = "{compute_left = 86 : ui8, compute_right = 86 : ui8}"; /* 'V' */
  bool left = lapack_call_attribute(x, "compute_left", 'V') == 'V',
       right = lapack_call_attribute(x, "compute_right", 'V') == 'V';
  Instruction *call = left && right ? x : with_options(working, x, options, x->shape);
  bool is_real = x->shape->tuple_size == 5;
  int at = is_real ? 2 : 1; /* of W, before V */
  Instruction *w = result(working, call, 0), *vl = result(working, call, at),
              *vr = result(working, call, at + 1);
  if (is_real) w = make_binary(m, HLO_COMPLEX, w, result(working, call, 1));
  Instruction *t = make_convert(m, tangent_of(working, x->operands[0]), vr->shape->type);
  Instruction *lengths =
      matrix_diagonal(working, matrix_product(working, matrix_adjoint(working, vl), vr));
  Instruction *inner =
      matrix_product(working, matrix_adjoint(working, vl), matrix_product(working, t, vr));
  inner = make_binary(m, HLO_DIVIDE, inner, matrix_of_rows(working, lengths, inner->shape));
  Instruction *dw = matrix_diagonal(working, inner);
  set_tangent_leaf(working, x, 0, is_real ? make_unary(m, HLO_REAL, dw) : dw);
  if (is_real) set_tangent_leaf(working, x, 1, make_unary(m, HLO_IMAG, dw));
  if (right) set_tangent_leaf(working, x, at + 1, eigenvector_tangent(working, vr, w, inner));
  if (!left) return;
  Instruction *other = matrix_product(working, matrix_adjoint(working, vr),
                                      matrix_product(working, matrix_adjoint(working, t), vl));
  other = make_binary(m, HLO_DIVIDE, other,
                      matrix_of_rows(working, make_conjugate(m, lengths), other->shape));
  set_tangent_leaf(working, x, at, eigenvector_tangent(working, vl, make_conjugate(m, w), other));
}

/* ---- Singular values ---- */

/* The part of dU that lies outside the columns of U: (dA V - U U^H dA V) / s, and 0 where s is 0: the matrix does not determine
** that column, and sums of the others, such as norms, do not depend on it. */
static Instruction *outside(WorkingComputation *working, Instruction *u, Instruction *product,
                            Instruction *s) {
  Instruction *inside =
      matrix_product(working, u, matrix_product(working, matrix_adjoint(working, u), product));
  Maker *m = &working->m;
  Instruction *is_zero = make_compare(m, COMPARE_EQ, s, make_zeros(m, s->shape));
  s = make_select(m, is_zero, make_number(m, s->shape, __builtin_inf()), s);
  Instruction *columns = matrix_of_columns(working, s, product->shape);
  return make_binary(m, HLO_DIVIDE, make_binary(m, HLO_SUBTRACT, product, inside),
                     make_convert(m, columns, product->shape->type));
}

/* s_j / (s_i + s_j), and 0 if both are 0. */
static Instruction *shares(WorkingComputation *working, Instruction *s, const Shape *shape) {
  Instruction *columns = matrix_of_columns(working, s, shape);
  Instruction *sum = make_binary(&working->m, HLO_ADD, matrix_of_rows(working, s, shape), columns);
  sum = add_formula(working, "z == 0 ? 1 : z", sum, NULL);
  return make_convert(&working->m, make_binary(&working->m, HLO_DIVIDE, columns, sum), shape->type);
}

/* Returns the call of gesdd with thin vectors: x itself if its vectors are as long as the smaller dimension. *thin: whether
** they are. */
static Instruction *thin_gesdd(WorkingComputation *working, Instruction *x, bool *thin) {
  const Shape *matrix = x->operands[0]->shape, *shapes[5];
  int rank = matrix->rank;
  int64_t n = matrix->dims[rank - 1], k = min_i64(matrix->dims[rank - 2], n), dims[MAX_RANK];
  for (int i = 0; i < 5; i++) shapes[i] = x->shape->elements[i];
  for (int d = 0; d < rank; d++) dims[d] = matrix->dims[d];
  dims[rank - 1] = k;
  shapes[2] = shape_of(&working->m, matrix->type, rank, dims);
  dims[rank - 2] = k;
  dims[rank - 1] = n;
  shapes[3] = shape_of(&working->m, matrix->type, rank, dims);
  char mode = lapack_call_attribute(x, "mode", 'S');
  *thin = mode == 'S' || (mode != 'N' && shape_same_dims(shapes[2], x->shape->elements[2]) &&
                          shape_same_dims(shapes[3], x->shape->elements[3]));
  return *thin ? x : with_mode(working, x, 'S', shape_tuple(working->arena, 5, shapes));
}

/* A = U diag(s) V^H: with X = U^H dA V, ds = real(diag(X)), F = 1 / (s_j^2 - s_i^2),
** dU = U (F * (X S + S X^H)) and dV = V (F * (S X + X^H S)), and the parts outside. For complex numbers, U also turns
** by the imaginary diagonal of X / s, except where s is 0. As squares may overflow, F S is written as
** s_j / (s_i + s_j) / (s_j - s_i). */
static void linearize_gesdd(WorkingComputation *working, Instruction *x) {
  const Shape *matrix = x->operands[0]->shape;
  int64_t m = matrix->dims[matrix->rank - 2], n = matrix->dims[matrix->rank - 1];
  bool thin;
  Instruction *call = thin_gesdd(working, x, &thin);
  Instruction *t = tangent_of(working, x->operands[0]), *s = result(working, call, 1),
              *u = result(working, call, 2);
  Instruction *v = matrix_adjoint(working, result(working, call, 3));
  Instruction *tv = matrix_product(working, t, v);
  Instruction *inner = matrix_product(working, matrix_adjoint(working, u), tv);
  Instruction *ds = matrix_diagonal(working, inner);
  if (!thin) {
    refuse_derivative(working, x,
                      "has singular vectors beyond the smaller dimension, which the matrix does "
                      "not determine; compute the thin ones (full_matrices=False)");
  }
  set_tangent_leaf(working, x, 1, make_convert(&working->m, ds, s->shape->type));
  if (!thin) return;
  Instruction *factors =
      make_convert(&working->m, inverse_differences(working, s, inner->shape), matrix->type);
  Instruction *share = shares(working, s, inner->shape), *other = matrix_transposed(working, share);
  Instruction *adjoint = matrix_adjoint(working, inner);
  Instruction *right =
      make_binary(&working->m, HLO_ADD, make_binary(&working->m, HLO_MULTIPLY, inner, share),
                  make_binary(&working->m, HLO_MULTIPLY, adjoint, other));
  Instruction *left =
      make_binary(&working->m, HLO_ADD, make_binary(&working->m, HLO_MULTIPLY, inner, other),
                  make_binary(&working->m, HLO_MULTIPLY, adjoint, share));
  Instruction *turn_u = make_binary(&working->m, HLO_MULTIPLY, factors, right);
  if (type_is_complex(matrix->type)) {
    Instruction *imag =
        make_binary(&working->m, HLO_SUBTRACT, inner, matrix_adjoint(working, inner));
    Instruction *inverse = add_formula(working, "z == 0 ? 0 : 1 / z", s, NULL);
    inverse =
        make_convert(&working->m, matrix_of_rows(working, inverse, imag->shape), matrix->type);
    imag = make_binary(&working->m, HLO_MULTIPLY, imag, inverse);
    imag = matrix_part(working, imag, COMPARE_EQ);
    imag = make_binary(&working->m, HLO_MULTIPLY, imag, make_number(&working->m, imag->shape, 0.5));
    turn_u = make_binary(&working->m, HLO_ADD, turn_u, imag);
  }
  Instruction *du = matrix_product(working, u, turn_u);
  Instruction *dv =
      matrix_product(working, v, make_binary(&working->m, HLO_MULTIPLY, factors, left));
  if (m > n) du = make_binary(&working->m, HLO_ADD, du, outside(working, u, tv, s));
  if (n > m) {
    Instruction *tu = matrix_product(working, matrix_adjoint(working, t), u);
    dv = make_binary(&working->m, HLO_ADD, dv, outside(working, v, tu, s));
  }
  set_tangent_leaf(working, x, 2, du);
  set_tangent_leaf(working, x, 3, matrix_adjoint(working, dv));
}

/* ---- Results of calls that may fail ---- */

static const Instruction *without_movement(const Instruction *x) {
  while (opcode_category(x->opcode) == MOVEMENT && x->operand_count == 1) x = x->operands[0];
  return x;
}

/* JAX writes `info == 0 ? result : NaN` around calls. If the call failed, its slopes are NaN, as its result is. */
bool linearize_checked_call(WorkingComputation *working, Instruction *select) {
  Scalar instead;
  Instruction *t = tangent_of(working, select->operands[1]);
  const Instruction *test = without_movement(select->operands[0]);
  if (!t || test->opcode != HLO_COMPARE) return false;
  const Instruction *info = without_movement(test->operands[0]);
  if (info->opcode != HLO_GET_TUPLE_ELEMENT ||
      lapack_call_name(info->operands[0]) == LAPACK_COUNT ||
      !splat_value(select->operands[2], &instead) || !isnan(instead.f)) {
    return false;
  }
  Instruction *ones = make_number(&working->m, select->shape, 1);
  Instruction *factor = make_select(&working->m, select->operands[0], ones, select->operands[2]);
  set_tangent(working, select, make_binary(&working->m, HLO_MULTIPLY, t, factor));
  return true;
}

/* ---- The table ---- */

void linearize_custom_call(WorkingComputation *working, Instruction *x) {
  static Linearization *const rules[LAPACK_COUNT + 1] = {
      [LAPACK_POTRF] = linearize_potrf, [LAPACK_TRSM] = linearize_trsm,
      [LAPACK_GETRF] = linearize_getrf, [LAPACK_GEQRF] = linearize_geqrf,
      [LAPACK_ORGQR] = linearize_orgqr, [LAPACK_SYEVD] = linearize_syevd,
      [LAPACK_GESDD] = linearize_gesdd, [LAPACK_GEEV] = linearize_geev,
      [LAPACK_ORMQR] = linearize_ormqr, [LAPACK_GEQP3] = linearize_geqrf,
      [LAPACK_GTSV] = linearize_gtsv,   [LAPACK_PERTURBED] = linearize_gtsv,
  };
  Linearization *rule = rules[lapack_call_name(x)];
  if (is_csr_call(x)) rule = linearize_csr;
  if (shard_call_kind(x) != NO_SHARD_CALL) rule = linearize_shard_call;
  if (rule) {
    rule(working, x);
    return;
  }
  const char *target = x->a->custom_call_target ? x->a->custom_call_target : "";
  refuse_derivative(working, x,
                    arena_printf(working->arena,
                                 "calls \"%s\", which has no derivative; registerGradient "
                                 "gives it one",
                                 target));
}
