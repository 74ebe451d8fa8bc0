/*
** QR decompositions: geqrf and geqp3 factor a matrix into R and Householder reflectors, orgqr makes Q of reflectors, and
** ormqr multiplies by it.
**
** Three formulas:
**
**     thin Q and R          from the matrix, as JAX has them: qr_tangents
**     reflectors            from thin Q: Q - E = V U is an LU decomposition without pivots, where E is the first columns of
**                           the identity and diag(U) = -taus (Ballard, Demmel and others, 2014): linearize_geqrf
**     Q of any reflectors   H1 ... Hk = I - V T V^H, T^-1 = diag(1 / taus) + triu(V^H V, 1) (Puglisi, 1992): reflect
**
** orgqr takes the first one for thin Q, and the last one for others: all columns, or reflectors of another origin.
*/
#include "base/min_max.h"
#include "derive/gradient/matrices.h"
#include "hlo/ir/lapack_calls.h"
#include "rewrite/base/rewrite.h"

/* ---- Thin Q and R ---- */

typedef struct QrTangents {
  Instruction *q, *r;
} QrTangents;

/* A = Q R, where A has at least as many rows as columns: with X = Q^H dA R^-1 and W = tril(X, -1), dO = W - W^H (its
** diagonal is the imaginary one of X), dQ = Q (dO - X) + dA R^-1 and dR = (X - dO) R. */
static QrTangents qr_tangents(WorkingComputation *l, Instruction *q, Instruction *r,
                              Instruction *t) {
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

/* The tangent of the matrix that geqrf or geqp3 factors. geqp3 permutes its columns first. */
static Instruction *matrix_tangent(WorkingComputation *l, Instruction *call) {
  Instruction *t = tangent_of(l, call->operands[0]);
  if (!t || lapack_call_name(call) == LAPACK_GEQRF) return t;
  int rank = t->shape->rank;
  const Shape *shape = shape_with_type(l->arena, t->shape, S32);
  Instruction *places =
      make_spread(&l->m, make_element(l, call, 1), shape, list_of_one(&l->m, rank - 2));
  places = make_binary(&l->m, HLO_SUBTRACT, places, make_number(&l->m, shape, 1));
  return take_along(l, t, places, rank - 1);
}

/* Those of the first columns, as many as there are rows, if q has them. */
static QrTangents thin_tangents(WorkingComputation *l, Instruction *call, Instruction *q,
                                Instruction *t) {
  int64_t k = min_i64(matrix_rows(t), matrix_columns(t));
  Instruction *r = matrix_block(l, make_element(l, call, 0), k, 0, k);
  return qr_tangents(l, q, matrix_part(l, r, COMPARE_LE), matrix_block(l, t, matrix_rows(t), 0, k));
}

/* ---- Reflectors ---- */

/* Whether x is known to be zero below the diagonal, as the cotangent of R is. JAX's triu selects 0 where row - 1 is at
** least the column. */
static bool is_upper(const Instruction *x) {
  int row = x->shape->rank - 2;
  Scalar value;
  if (x->opcode == HLO_PAD) {
    const PaddingDimension *p = &x->a->padding.items[row];
    bool in_place = !p[0].low && !p[1].low && !p[0].interior && !p[1].interior;
    return in_place && splat_value(x->operands[1], &value) && value.f == 0 &&
           is_upper(x->operands[0]);
  }
  const Instruction *test = x->opcode == HLO_SELECT ? x->operands[0] : NULL;
  if (!test || test->opcode != HLO_COMPARE) return false;
  const Instruction *rows = test->operands[0], *columns = test->operands[1];
  double offset = 0;
  if (rows->opcode == HLO_ADD && splat_value(rows->operands[1], &value)) {
    offset = (double)value.i;
    rows = rows->operands[0];
  }
  bool compares = rows->opcode == HLO_IOTA && columns->opcode == HLO_IOTA &&
                  rows->a->iota_dimension == row && columns->a->iota_dimension == row + 1;
  return compares && test->a->direction == COMPARE_GE && offset >= -1 &&
         splat_value(x->operands[1], &value) && value.f == 0;
}

/* Passes on a cotangent, unless it is upper triangular: a result that needs R only does not depend on tangents below the
** diagonal, which may be infinite. */
static void transpose_below(WorkingComputation *l, Instruction *x, Instruction *const *ct) {
  if (!is_upper(ct[0])) add_cotangent(l, x->operands[0], ct[0]);
}

static Instruction *make_orgqr(WorkingComputation *l, const Instruction *geqrf, Instruction *packed,
                               Instruction *taus) {
  Attributes a;
  attributes_init(&a);
  PrimitiveType type = packed->shape->type;
  a.custom_call_target =
      arena_printf(l->arena, "lapack_%c%s_ffi", geqrf->a->custom_call_target[sizeof "lapack_" - 1],
                   type_is_complex(type) ? "ungqr" : "orgqr");
  return make(&l->m, HLO_CUSTOM_CALL, packed->shape, (Instruction *[]){packed, taus}, 2, &a);
}

/* Gives x, which is geqrf or geqp3, the tangents of its reflectors, for those of thin Q. The last column of a real square
** matrix has no reflector. */
static void set_reflectors(WorkingComputation *l, Instruction *x, Instruction *q, Instruction *dq,
                           Instruction *upper) {
  Maker *m = &l->m;
  Instruction *packed = make_element(l, x, 0);
  int64_t rows = matrix_rows(q), k = matrix_columns(q);
  int64_t count = rows == k && !type_is_complex(q->shape->type) ? k - 1 : k;
  Instruction *v = matrix_unit_lower(l, packed, count);
  Instruction *u = matrix_block(l, q, count, 0, count), *ones = make_number(m, u->shape, 1);
  Instruction *diagonal = matrix_compare(l, u->shape, COMPARE_EQ);
  u = make_select(m, diagonal, make_binary(m, HLO_SUBTRACT, u, ones), u);
  u = matrix_solve(l, matrix_block(l, v, count, 0, count), u, true, true, true, NO_TRANSPOSE);
  /* A column that needs no reflector has the tangent 0, as it has no derivative. */
  Instruction *none = make_compare(m, COMPARE_EQ, u, make_zeros(m, u->shape));
  u = make_select(m, make_binary(m, HLO_AND, diagonal, none), ones, u);
  LuTangents d = lu_tangents(l, v, u, matrix_block(l, dq, rows, 0, count));
  Instruction *dv = matrix_padded(l, d.lower, rows, matrix_columns(packed));
  Instruction *below = make(m, HLO_COPY, dv->shape, &dv, 1, NULL);
  facts_of(l, below)->transpose = transpose_below;
  set_tangent_leaf(l, x, 0, make_binary(m, HLO_ADD, upper, below));
  Instruction *taus = matrix_diagonal(l, matrix_padded(l, d.upper, k, k));
  set_tangent_leaf(l, x, x->shape->tuple_size - 1, make_unary(m, HLO_NEGATE, taus));
}

/* With more columns than rows, A = (A1, A2) and R = (R1, R2), dR2 = Q^H (dA2 - dQ R2). */
void linearize_geqrf(WorkingComputation *l, Instruction *x) {
  Instruction *packed = make_element(l, x, 0), *t = matrix_tangent(l, x);
  int64_t rows = matrix_rows(t), columns = matrix_columns(t), k = min_i64(rows, columns);
  if (!k) return;
  Instruction *q = make_orgqr(l, x, matrix_block(l, packed, rows, 0, k),
                              make_element(l, x, x->shape->tuple_size - 1));
  QrTangents tangents = thin_tangents(l, x, q, t);
  Instruction *upper = tangents.r;
  if (columns > k) {
    Instruction *rest = matrix_product(l, tangents.q, matrix_block(l, packed, rows, k, columns));
    rest = make_binary(&l->m, HLO_SUBTRACT, matrix_block(l, t, rows, k, columns), rest);
    upper = matrix_beside(l, upper, matrix_product(l, matrix_adjoint(l, q), rest));
  }
  set_reflectors(l, x, q, tangents.q, matrix_padded(l, upper, rows, columns));
}

/* ---- Q ---- */

/* Multiplies c by H1 ... Hk, or by its adjoint: T = (I + diag(taus) triu(V^H V, 1))^-1 diag(taus). */
static Instruction *reflect(WorkingComputation *l, Instruction *packed, Instruction *taus,
                            Instruction *c, bool adjoint) {
  Instruction *v = matrix_unit_lower(l, packed, matrix_columns(taus));
  Instruction *vh = matrix_adjoint(l, v), *among = matrix_product(l, vh, v);
  among = make_binary(&l->m, HLO_MULTIPLY, matrix_of_rows(l, taus, among->shape), among);
  Instruction *inner = matrix_product(l, vh, c);
  Instruction *scale = adjoint ? make_conjugate(&l->m, taus) : taus;
  scale = matrix_of_rows(l, scale, inner->shape);
  if (!adjoint) inner = make_binary(&l->m, HLO_MULTIPLY, scale, inner);
  inner = matrix_solve(l, among, inner, true, false, true, adjoint ? ADJOINT : NO_TRANSPOSE);
  if (adjoint) inner = make_binary(&l->m, HLO_MULTIPLY, scale, inner);
  return make_binary(&l->m, HLO_SUBTRACT, c, matrix_product(l, v, inner));
}

static Instruction *define_orgqr(WorkingComputation *l, const Instruction *x,
                                 Instruction **operands) {
  Instruction *identity = matrix_with_unit_diagonal(l, make_zeros(&l->m, x->shape));
  return reflect(l, operands[0], operands[1], identity, false);
}

/* op(Q) C, or C op(Q) = (op(Q)^H C^H)^H. */
static Instruction *define_ormqr(WorkingComputation *l, const Instruction *x,
                                 Instruction **operands) {
  bool adjoint = lapack_call_attribute(x, "transpose", 0) != 0;
  bool left = lapack_call_attribute(x, "left", 1) != 0;
  if (left) return reflect(l, operands[0], operands[1], operands[2], adjoint);
  Instruction *c = matrix_adjoint(l, operands[2]);
  return matrix_adjoint(l, reflect(l, operands[0], operands[1], c, !adjoint));
}

void linearize_ormqr(WorkingComputation *l, Instruction *x) {
  linearize_by_definition(l, x, define_ormqr);
}

/* Returns the call whose reflectors x makes thin Q of, or NULL. */
static Instruction *thin_call(const Instruction *x) {
  Instruction *packed = x->operands[0];
  if (packed->opcode == HLO_SLICE) packed = packed->operands[0]; /* the first columns */
  Instruction *call = packed->opcode == HLO_GET_TUPLE_ELEMENT ? packed->operands[0] : NULL;
  if (!call || packed->a->tuple_index) return NULL;
  LapackName name = lapack_call_name(call);
  bool fits = name == LAPACK_GEQRF || name == LAPACK_GEQP3;
  int64_t rows = matrix_rows(packed), k = min_i64(rows, matrix_columns(packed));
  return fits && matrix_rows(x) == rows && matrix_columns(x) == k ? call : NULL;
}

void linearize_orgqr(WorkingComputation *l, Instruction *x) {
  Instruction *call = thin_call(x), *t = call ? matrix_tangent(l, call) : NULL;
  if (t) {
    set_tangent(l, x, thin_tangents(l, call, x, t).q);
  } else {
    linearize_by_definition(l, x, define_orgqr);
  }
}
