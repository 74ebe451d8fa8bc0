/* Cholesky, LU and triangular solve. Source: Giles, "An extended collection of matrix derivative results for forward and
** reverse mode automatic differentiation" (2008). */
#include "derive/gradient/matrices.h"

/*
** A = L L^H: dL = L half(L^-1 dA L^-H), where half takes the lower triangle with half of the diagonal. A is hermitian;
** so dA is taken to be, although the operation reads one triangle of A only. JAX does the same.
*/
Instruction *cholesky_tangent(WorkingComputation *working, Instruction *factor, Instruction *t,
                              bool lower) {
  Instruction *left = lower ? factor : matrix_adjoint(working, factor);
  Instruction *change = lower ? t : matrix_adjoint(working, t);
  Instruction *inner = matrix_solve(working, left, change, false, true, false, ADJOINT);
  inner = matrix_lower_half(working,
                            matrix_solve(working, left, inner, true, true, false, NO_TRANSPOSE));
  Instruction *result = matrix_product(working, left, inner);
  return lower ? result : matrix_adjoint(working, result);
}

void linearize_cholesky(WorkingComputation *working, Instruction *x) {
  set_tangent(working, x,
              cholesky_tangent(working, x, tangent_of(working, x->operands[0]), x->a->lower));
}

/* With X = L1^-1 dA U^-1, where L1 is the first rows of L: dL = dA U^-1 - L triu(X) and dU = triu(X) U. */
LuTangents lu_tangents(WorkingComputation *working, Instruction *lower, Instruction *upper,
                       Instruction *t) {
  int64_t n = matrix_columns(lower);
  Instruction *scaled = matrix_solve(working, upper, t, false, false, false, NO_TRANSPOSE);
  Instruction *top = matrix_block(working, lower, n, 0, n),
              *inner = matrix_block(working, scaled, n, 0, n);
  inner = matrix_solve(working, top, inner, true, true, true, NO_TRANSPOSE);
  inner = matrix_part(working, inner, COMPARE_LE);
  Instruction *dl =
      make_binary(&working->m, HLO_SUBTRACT, scaled, matrix_product(working, lower, inner));
  return (LuTangents){matrix_part(working, dl, COMPARE_GT), matrix_product(working, inner, upper)};
}

/*
** op(A) X = B: dX = op(A)^-1 (dB - op(dA) X); with A on the right: dX = (dB - X op(dA)) op(A)^-1. Only the triangle of
** A is read, without the diagonal if that is stated to be 1.
*/
Instruction *solve_tangent(WorkingComputation *working, Instruction *x, Instruction *a,
                           Instruction *ta, Instruction *tb, const Attributes *how) {
  if (ta) {
    ComparisonDirection lower = how->unit_diagonal ? COMPARE_GT : COMPARE_GE;
    ComparisonDirection upper = how->unit_diagonal ? COMPARE_LT : COMPARE_LE;
    Instruction *change = matrix_part(working, ta, how->lower ? lower : upper);
    if (how->transpose_a == TRANSPOSE) change = matrix_transposed(working, change);
    if (how->transpose_a == ADJOINT) change = matrix_adjoint(working, change);
    change =
        how->left_side ? matrix_product(working, change, x) : matrix_product(working, x, change);
    tb = tb ? make_binary(&working->m, HLO_SUBTRACT, tb, change)
            : make_unary(&working->m, HLO_NEGATE, change);
  }
  return matrix_solve(working, a, tb, how->left_side, how->lower, how->unit_diagonal,
                      how->transpose_a);
}

void linearize_triangular_solve(WorkingComputation *working, Instruction *x) {
  Instruction *ta = tangent_of(working, x->operands[0]), *tb = tangent_of(working, x->operands[1]);
  set_tangent(working, x, solve_tangent(working, x, x->operands[0], ta, tb, x->a));
}

/* Linear in B: the solution with the transposed matrix. That of the adjoint is the conjugate. */
void transpose_triangular_solve(WorkingComputation *working, Instruction *x,
                                Instruction *const *ct) {
  const Attributes *how = x->a;
  Instruction *a = x->operands[0];
  if (how->transpose_a == ADJOINT) a = make_conjugate(&working->m, a);
  Transpose op = how->transpose_a == NO_TRANSPOSE ? TRANSPOSE : NO_TRANSPOSE;
  add_cotangent(
      working, x->operands[1],
      matrix_solve(working, a, ct[0], how->left_side, how->lower, how->unit_diagonal, op));
}
