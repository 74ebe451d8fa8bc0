/*
** Functions of matrices that JAX differentiates by rules of its own, as the factorizations that they call have no slopes where
** the functions have: det at singular matrices, and pinv at equal singular values and at matrices of lower rank.
*/
#include "derive/gradient/functions.h"
#include "derive/gradient/matrices.h"
#include "hlo/ir/lapack_calls.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/base/side_effects.h"

static bool is_sum(const Instruction *x) {
  return (x->opcode == HLO_ADD || x->opcode == HLO_SUBTRACT) && has_derivative(x->shape);
}

/* Whether x is the conjugate of complex numbers y, as JAX exports it. */
static bool is_conjugate(const Instruction *x, const Instruction *y) {
  if (x->opcode != HLO_COMPLEX) return false;
  const Instruction *re = x->operands[0], *im = x->operands[1];
  return re->opcode == HLO_REAL && re->operands[0] == y && im->opcode == HLO_NEGATE &&
         im->operands[0]->opcode == HLO_IMAG && im->operands[0]->operands[0] == y;
}

/* Returns the call of a LAPACK routine on the parameter of a computation, or on its conjugate; or NULL. */
static const Instruction *factorization_of_parameter(const Computation *to, LapackName routine,
                                                     bool of_conjugate) {
  const Instruction *a = to->parameters[0];
  for (int i = 0; i < to->count; i++) {
    const Instruction *x = to->instructions[i];
    if (x->opcode != HLO_CUSTOM_CALL || lapack_call_name(x) != routine) continue;
    if (of_conjugate ? is_conjugate(x->operands[0], a) : x->operands[0] == a) return x;
  }
  return NULL;
}

static bool is_of_matrix(const Instruction *call) {
  if (call->operand_count != 1 || !shape_is_array(call->shape)) return false;
  const Shape *of = call->operands[0]->shape;
  return shape_is_array(of) && of->rank >= 2 && has_derivative(of) && !of->dynamic &&
         of->type == call->shape->type;
}

/* ---- Pseudo-inverses ---- */

/* Whether a call is JAX's _pinv(a): products of the factors of an SVD, whose small singular values are cut off. A sum would be
** that of a regularized inverse. Of complex numbers the factors are those of the conjugate. */
bool is_pseudo_inverse(const Instruction *call) {
  return is_of_matrix(call) && call->shape->rank == call->operands[0]->shape->rank &&
         factorization_of_parameter(call->a->to_apply, LAPACK_GESDD,
                                    type_is_complex(call->shape->type)) &&
         !instruction_reaches(call, is_sum);
}

/* dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P. Source: Golub and Pereyra (1973). */
Instruction *pseudo_inverse_tangent(WorkingComputation *working, const Instruction *call,
                                    Instruction *const *operands, Instruction *p) {
  (void)call;
  Maker *m = &working->m;
  Instruction *a = operands[0], *t = tangent_of(working, a);
  if (!t) return NULL;
  Instruction *th = matrix_adjoint(working, t), *ph = matrix_adjoint(working, p);
  Instruction *right = matrix_product(working, matrix_product(working, p, ph), th);
  Instruction *left = matrix_product(working, matrix_product(working, th, ph), p);
  Instruction *sum = make_binary(m, HLO_ADD, left, right);
  sum = make_binary(m, HLO_SUBTRACT, sum,
                    matrix_product(working, matrix_product(working, right, a), p));
  sum = make_binary(m, HLO_SUBTRACT, sum,
                    matrix_product(working, p, matrix_product(working, a, left)));
  return make_binary(m, HLO_SUBTRACT, sum,
                     matrix_product(working, matrix_product(working, p, t), p));
}

/* ---- Determinants ---- */

/* Whether a call is JAX's det(a): sign * exp(log), where both are selected by whether a pivot is 0. Of complex numbers the
** logarithm is a real part. */
bool is_determinant(const Instruction *call) {
  const Computation *to = call->a->to_apply;
  if (!is_of_matrix(call) || to->root->opcode != HLO_MULTIPLY) return false;
  const Instruction *sign = to->root->operands[0], *absolute = to->root->operands[1];
  if (absolute->opcode == HLO_CONVERT) absolute = absolute->operands[0];
  if (sign->opcode != HLO_SELECT || absolute->opcode != HLO_EXP) return false;
  const Instruction *log = absolute->operands[0];
  if (log->opcode == HLO_REAL) log = log->operands[0];
  return log->opcode == HLO_SELECT && factorization_of_parameter(to, LAPACK_GETRF, false);
}

/* 1, or -1 if an odd number of rows are exchanged. */
static Instruction *sign_of(WorkingComputation *working, Instruction *pivots, PrimitiveType type) {
  Maker *m = &working->m;
  int last = pivots->shape->rank - 1;
  Instruction *place = make_iota(m, S32, pivots->shape, last);
  place = make_binary(m, HLO_ADD, place, make_number(m, place->shape, 1));
  Instruction *moved = make_convert(m, make_compare(m, COMPARE_NE, pivots, place), S32);
  Instruction *count = make_sum(m, moved, list_of_one(m, last));
  Instruction *odd = make_binary(m, HLO_AND, count, make_number(m, count->shape, 1));
  odd = make_convert(m, odd, type);
  Instruction *two = make_number(m, odd->shape, 2), *one = make_number(m, odd->shape, 1);
  return make_binary(m, HLO_SUBTRACT, one, make_binary(m, HLO_MULTIPLY, two, odd));
}

/* Returns U with 1 for its last pivot, or the unit matrix where `is_singular` holds. */
static Instruction *upper_without_last(WorkingComputation *working, Instruction *factors,
                                       Instruction *is_last, Instruction *is_singular) {
  Maker *m = &working->m;
  const Shape *shape = factors->shape, *flags = shape_with_type(working->arena, shape, PRED);
  Instruction *on_diagonal = matrix_compare(working, shape, COMPARE_EQ);
  Instruction *replaced =
      make_binary(m, HLO_AND, matrix_of_rows(working, is_last, flags), on_diagonal);
  Int64List both = list_of(m, 2, (int64_t[]){shape->rank - 2, shape->rank - 1});
  replaced = make_binary(m, HLO_OR, replaced, make_spread(m, is_singular, flags, both));
  return make_select(m, replaced, make_convert(m, on_diagonal, shape->type), factors);
}

/* ddet = trace(adj(A) dA), where adj(A) = det(A) U^-1 L^-1 P with P A = L U. Let c be the determinant without the last pivot u:
** the last row of c u U^-1 is c, without a quotient by u. If c is 0, the rank is lower than n - 1, and the slope 0 (as in
** JAX's _cofactor_solve). */
Instruction *determinant_tangent(WorkingComputation *working, const Instruction *call,
                                 Instruction *const *operands, Instruction *value) {
  (void)value;
  Maker *m = &working->m;
  Instruction *a = operands[0];
  if (!tangent_of(working, a)) return NULL;
  Int64List last = list_of_one(m, a->shape->rank - 2);
  const Instruction *like = factorization_of_parameter(call->a->to_apply, LAPACK_GETRF, false);
  Instruction *lu = make(m, HLO_CUSTOM_CALL, like->shape, &a, 1, like->a),
              *factors = make_element(working, lu, 0);
  Instruction *x =
      matrix_solve(working, factors, permuted_tangent(working, lu), true, true, true, NO_TRANSPOSE);
  Instruction *pivots = matrix_diagonal(working, factors);
  Instruction *place = make_iota(m, S32, pivots->shape, a->shape->rank - 2);
  Instruction *end = make_number(m, place->shape, (double)(matrix_rows(a) - 1));
  Instruction *is_last = make_compare(m, COMPARE_EQ, place, end);
  Instruction *ones = make_number(m, pivots->shape, 1);
  Instruction *c = make_reduce(m, HLO_MULTIPLY, make_select(m, is_last, ones, pivots), 1, last);
  c = make_binary(m, HLO_MULTIPLY, c,
                  sign_of(working, make_element(working, lu, 1), a->shape->type));
  Instruction *u = make_reduce(m, HLO_MULTIPLY, make_select(m, is_last, pivots, ones), 1, last);
  Instruction *det = make_spread(m, make_binary(m, HLO_MULTIPLY, c, u), pivots->shape, last);
  Instruction *scale = make_select(m, is_last, make_spread(m, c, pivots->shape, last), det);
  x = make_binary(m, HLO_MULTIPLY, x, matrix_of_rows(working, scale, a->shape));
  Instruction *is_zero = make_compare(m, COMPARE_EQ, c, make_zeros(m, c->shape));
  x = matrix_solve(working, upper_without_last(working, factors, is_last, is_zero), x, true, false,
                   false, NO_TRANSPOSE);
  return make_sum(m, matrix_diagonal(working, x), last);
}
