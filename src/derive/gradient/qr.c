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
static QrTangents qr_tangents(WorkingComputation *working, Instruction *q, Instruction *r,
                              Instruction *t) {
  Instruction *scaled = matrix_solve(working, r, t, false, false, false, NO_TRANSPOSE);
  Instruction *x = matrix_product(working, matrix_adjoint(working, q), scaled);
  Instruction *w = matrix_part(working, x, COMPARE_GT);
  Instruction *turn = make_binary(&working->m, HLO_SUBTRACT, w, matrix_adjoint(working, w));
  if (type_is_complex(x->shape->type)) {
    Instruction *imag = make_unary(&working->m, HLO_IMAG, matrix_part(working, x, COMPARE_EQ));
    turn = make_binary(
        &working->m, HLO_ADD, turn,
        make_binary(&working->m, HLO_COMPLEX, make_zeros(&working->m, imag->shape), imag));
  }
  Instruction *rest = make_binary(&working->m, HLO_SUBTRACT, x, turn);
  Instruction *turned = matrix_product(working, q, make_unary(&working->m, HLO_NEGATE, rest));
  return (QrTangents){make_binary(&working->m, HLO_ADD, turned, scaled),
                      matrix_product(working, rest, r)};
}

/* The tangent of the matrix that geqrf or geqp3 factors. geqp3 permutes its columns first. */
static Instruction *matrix_tangent(WorkingComputation *working, Instruction *call) {
  Instruction *t = tangent_of(working, call->operands[0]);
  if (!t || lapack_call_name(call) == LAPACK_GEQRF) return t;
  int rank = t->shape->rank;
  const Shape *shape = shape_with_type(working->arena, t->shape, S32);
  Instruction *places = make_spread(&working->m, make_element(working, call, 1), shape,
                                    list_of_one(&working->m, rank - 2));
  places = make_binary(&working->m, HLO_SUBTRACT, places, make_number(&working->m, shape, 1));
  return take_along(working, t, places, rank - 1);
}

/* Those of the first columns, as many as there are rows, if q has them. */
static QrTangents thin_tangents(WorkingComputation *working, Instruction *call, Instruction *q,
                                Instruction *t) {
  int64_t k = min_i64(matrix_rows(t), matrix_columns(t));
  Instruction *r = matrix_block(working, make_element(working, call, 0), k, 0, k);
  return qr_tangents(working, q, matrix_part(working, r, COMPARE_LE),
                     matrix_block(working, t, matrix_rows(t), 0, k));
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
static void transpose_below(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  if (!is_upper(ct[0])) add_cotangent(working, x->operands[0], ct[0]);
}

static Instruction *make_orgqr(WorkingComputation *working, const Instruction *geqrf,
                               Instruction *packed, Instruction *taus) {
  Attributes a;
  attributes_init(&a);
  PrimitiveType type = packed->shape->type;
  a.custom_call_target = arena_printf(working->arena, "lapack_%c%s_ffi",
                                      geqrf->a->custom_call_target[sizeof "lapack_" - 1],
                                      type_is_complex(type) ? "ungqr" : "orgqr");
  return make(&working->m, HLO_CUSTOM_CALL, packed->shape, (Instruction *[]){packed, taus}, 2, &a);
}

/* Gives x, which is geqrf or geqp3, the tangents of its reflectors, for those of thin Q. The last column of a real square
** matrix has no reflector. */
static void set_reflectors(WorkingComputation *working, Instruction *x, Instruction *q,
                           Instruction *dq, Instruction *upper) {
  Maker *m = &working->m;
  Instruction *packed = make_element(working, x, 0);
  int64_t rows = matrix_rows(q), k = matrix_columns(q);
  int64_t count = rows == k && !type_is_complex(q->shape->type) ? k - 1 : k;
  Instruction *v = matrix_unit_lower(working, packed, count);
  Instruction *u = matrix_block(working, q, count, 0, count), *ones = make_number(m, u->shape, 1);
  Instruction *diagonal = matrix_compare(working, u->shape, COMPARE_EQ);
  u = make_select(m, diagonal, make_binary(m, HLO_SUBTRACT, u, ones), u);
  u = matrix_solve(working, matrix_block(working, v, count, 0, count), u, true, true, true,
                   NO_TRANSPOSE);
  /* A column that needs no reflector has the tangent 0, as it has no derivative. */
  Instruction *none = make_compare(m, COMPARE_EQ, u, make_zeros(m, u->shape));
  u = make_select(m, make_binary(m, HLO_AND, diagonal, none), ones, u);
  LuTangents d = lu_tangents(working, v, u, matrix_block(working, dq, rows, 0, count));
  Instruction *dv = matrix_padded(working, d.lower, rows, matrix_columns(packed));
  Instruction *below = make(m, HLO_COPY, dv->shape, &dv, 1, NULL);
  facts_of(working, below)->transpose = transpose_below;
  set_tangent_leaf(working, x, 0, make_binary(m, HLO_ADD, upper, below));
  Instruction *taus = matrix_diagonal(working, matrix_padded(working, d.upper, k, k));
  set_tangent_leaf(working, x, x->shape->tuple_size - 1, make_unary(m, HLO_NEGATE, taus));
}

/* With more columns than rows, A = (A1, A2) and R = (R1, R2), dR2 = Q^H (dA2 - dQ R2). */
void linearize_geqrf(WorkingComputation *working, Instruction *x) {
  Instruction *packed = make_element(working, x, 0), *t = matrix_tangent(working, x);
  int64_t rows = matrix_rows(t), columns = matrix_columns(t), k = min_i64(rows, columns);
  if (!k) return;
  Instruction *q = make_orgqr(working, x, matrix_block(working, packed, rows, 0, k),
                              make_element(working, x, x->shape->tuple_size - 1));
  QrTangents tangents = thin_tangents(working, x, q, t);
  Instruction *upper = tangents.r;
  if (columns > k) {
    Instruction *rest =
        matrix_product(working, tangents.q, matrix_block(working, packed, rows, k, columns));
    rest = make_binary(&working->m, HLO_SUBTRACT, matrix_block(working, t, rows, k, columns), rest);
    upper =
        matrix_beside(working, upper, matrix_product(working, matrix_adjoint(working, q), rest));
  }
  set_reflectors(working, x, q, tangents.q, matrix_padded(working, upper, rows, columns));
}

/* ---- Q ---- */

/* Multiplies c by H1 ... Hk, or by its adjoint: T = (I + diag(taus) triu(V^H V, 1))^-1 diag(taus). */
static Instruction *reflect(WorkingComputation *working, Instruction *packed, Instruction *taus,
                            Instruction *c, bool adjoint) {
  Instruction *v = matrix_unit_lower(working, packed, matrix_columns(taus));
  Instruction *vh = matrix_adjoint(working, v), *among = matrix_product(working, vh, v);
  among =
      make_binary(&working->m, HLO_MULTIPLY, matrix_of_rows(working, taus, among->shape), among);
  Instruction *inner = matrix_product(working, vh, c);
  Instruction *scale = adjoint ? make_conjugate(&working->m, taus) : taus;
  scale = matrix_of_rows(working, scale, inner->shape);
  if (!adjoint) inner = make_binary(&working->m, HLO_MULTIPLY, scale, inner);
  inner = matrix_solve(working, among, inner, true, false, true, adjoint ? ADJOINT : NO_TRANSPOSE);
  if (adjoint) inner = make_binary(&working->m, HLO_MULTIPLY, scale, inner);
  return make_binary(&working->m, HLO_SUBTRACT, c, matrix_product(working, v, inner));
}

static Instruction *define_orgqr(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands) {
  Instruction *identity = matrix_with_unit_diagonal(working, make_zeros(&working->m, x->shape));
  return reflect(working, operands[0], operands[1], identity, false);
}

/* op(Q) C, or C op(Q) = (op(Q)^H C^H)^H. */
static Instruction *define_ormqr(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands) {
  bool adjoint = lapack_call_attribute(x, "transpose", 0) != 0;
  bool left = lapack_call_attribute(x, "left", 1) != 0;
  if (left) return reflect(working, operands[0], operands[1], operands[2], adjoint);
  Instruction *c = matrix_adjoint(working, operands[2]);
  return matrix_adjoint(working, reflect(working, operands[0], operands[1], c, !adjoint));
}

void linearize_ormqr(WorkingComputation *working, Instruction *x) {
  linearize_by_definition(working, x, define_ormqr);
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

void linearize_orgqr(WorkingComputation *working, Instruction *x) {
  Instruction *call = thin_call(x), *t = call ? matrix_tangent(working, call) : NULL;
  if (t) {
    set_tangent(working, x, thin_tangents(working, call, x, t).q);
  } else {
    linearize_by_definition(working, x, define_orgqr);
  }
}
