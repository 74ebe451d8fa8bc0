/* Solves of tridiagonal systems: LAPACK's gtsv, and jaxlib's routine for singular ones. */
#include "derive/gradient/matrices.h"

/* Moves elements up by `by` places along a dimension; zeros come in. */
static Instruction *shift(WorkingComputation *working, Instruction *x, int dimension, int64_t by) {
  PaddingDimension padding[MAX_RANK] = {{0}};
  padding[dimension] = (PaddingDimension){by, -by, 0};
  return make_pad(&working->m, x, padding);
}

/* gtsv overwrites the diagonals and the right-hand side: its result 3 is the solution. */
static Instruction *solution(WorkingComputation *working, Instruction *call) {
  return shape_is_tuple(call->shape) ? make_element(working, call, 3) : call;
}

static Instruction *solve(WorkingComputation *working, const Instruction *x,
                          Instruction *const *operands) {
  return make(&working->m, HLO_CUSTOM_CALL, x->shape, operands, 4, x->a);
}

/* Linear in the right-hand side: the solution with the diagonals of the transposed matrix. */
static void transpose_gtsv(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  int last = x->operands[0]->shape->rank - 1;
  Instruction *operands[] = {shift(working, x->operands[2], last, 1), x->operands[1],
                             shift(working, x->operands[0], last, -1),
                             ct[shape_is_tuple(x->shape) ? 3 : 0]};
  add_cotangent(working, x->operands[3], solution(working, solve(working, x, operands)));
}

/* T X = B: dX = T^-1 (dB - dT X), where T has the diagonals dl, d and du; dl[0] and du[n - 1] are not read. */
void linearize_gtsv(WorkingComputation *working, Instruction *x) {
  static const int places[] = {1, 0, -1};
  Instruction *found = solution(working, x), *sum = NULL,
              *right = tangent_of(working, x->operands[3]);
  for (int k = 0; k < 3; k++) {
    Instruction *t = tangent_of(working, x->operands[k]);
    if (!t) continue;
    Instruction *other =
        places[k] ? shift(working, found, found->shape->rank - 2, places[k]) : found;
    sum = make_plus(
        &working->m, sum,
        make_binary(&working->m, HLO_MULTIPLY, matrix_of_rows(working, t, found->shape), other));
  }
  if (sum && right) right = make_binary(&working->m, HLO_SUBTRACT, right, sum);
  if (sum && !right) right = make_unary(&working->m, HLO_NEGATE, sum);
  Instruction *call =
      solve(working, x, (Instruction *[]){x->operands[0], x->operands[1], x->operands[2], right});
  facts_of(working, call)->transpose = transpose_gtsv;
  bool in_tuple = shape_is_tuple(x->shape);
  if (in_tuple)
    refuse_derivative(working, x, "has factors as results, of which only X has a derivative");
  set_tangent_leaf(working, x, in_tuple ? 3 : 0, solution(working, call));
}
