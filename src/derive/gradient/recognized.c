/*
** Recognizes functions for which JAX has a derivative of its own: an exported program contains only their formulas.
**
** Some functions are smooth, though operations of their formulas are not. |x| has slope 1 at 0, sign(x) is 0 there, and
** each of two equal operands of a maximum has slope 1/2. Added up, these give a wrong slope for logaddexp (and softplus,
** log_sigmoid and losses made of them), asinh and bessel_i1e. xlogy selects a constant at 0, which has slope 0. In a
** sigmoid and in x^-n, infinities are divided; in the slope of sinc, equal numbers are subtracted. frexp sets bits.
**
** exp, sin, cos and square of a complex number select a shorter form where a part of it, or of the result, is 0; the slope
** is that of the general form.
**
** relu and relu6 have kinks; JAX chooses their slopes there.
*/
#include <math.h>

#include "derive/gradient/linear.h"
#include "derive/gradient/matrices.h"
#include "hlo/ir/attribute_compare.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_LOOKED: instructions of an expression that are looked at; in a larger expression, the formula is not
** recognized. Test: "x log(y) is recognized below a conjunction of at most 63 operations" in api/gradients.test.mjs. */
enum { MAX_LOOKED = 64 };

static bool is_integer(const Instruction *x, int64_t number) {
  Scalar value;
  return splat_value(x, &value) && value.i == number;
}

static bool is_zero(const Instruction *x) { return is_splat_of(x, 0); }

static const Instruction *operand_of(const Instruction *x, Opcode opcode) {
  return x && x->opcode == opcode ? x->operands[0] : NULL;
}

/* Whether two instructions are one, or broadcast the same in the same way: JAX broadcasts operands once for each use. */
static bool is_same(const Instruction *x, const Instruction *y) {
  if (x == y) return true;
  return x->opcode == HLO_BROADCAST && y->opcode == HLO_BROADCAST &&
         attributes_equal(HLO_BROADCAST, x->a, y->a) && is_same(x->operands[0], y->operands[0]);
}

/* Returns the operand of a product with a number, multiplies `value` by the number, and sets `factor` to it. Returns x if
** it is no such product. */
static const Instruction *without_factor(const Instruction *x, double *value,
                                         Instruction **factor) {
  Scalar number;
  for (int k = 0; x && x->opcode == HLO_MULTIPLY && k < 2; k++) {
    if (!splat_value(x->operands[k], &number)) continue;
    *value *= number.f;
    *factor = x->operands[k];
    return x->operands[1 - k];
  }
  return x;
}

/* Returns d, if x is log1p(exp(-|d|)) or log1p(exp(-|d| k)) / k, as for powers of 2; sets `scale` to k. k and 1 / k are
** rounded. */
static Instruction *exponent_of(const Instruction *x, Instruction **scale) {
  double product = 1, rounding = ldexp(1, 1 - type_mantissa_bits(x->shape->type));
  x = without_factor(x, &product, scale);
  x = operand_of(operand_of(x, HLO_LOG1P), HLO_EXP);
  x = operand_of(without_factor(x, &product, scale), HLO_NEGATE);
  return fabs(product - 1) <= rounding ? (Instruction *)operand_of(x, HLO_ABS) : NULL;
}

/* Returns 1 if d is a - b, -1 if it is b - a, else 0. */
static int sign_of_difference(const Instruction *d, const Instruction *a, const Instruction *b) {
  if (is_same(d, a) && is_zero(b)) return 1;
  if (is_same(d, b) && is_zero(a)) return -1;
  if (d->opcode != HLO_SUBTRACT) return 0;
  if (is_same(d->operands[0], a) && is_same(d->operands[1], b)) return 1;
  return is_same(d->operands[0], b) && is_same(d->operands[1], a) ? -1 : 0;
}

/* max(a, b) + log1p(exp(-|d|)), where d is a - b. The formula of powers of 2 has a scale, too. */
typedef struct LogSum {
  Instruction *maximum, *d, *scale;
  int sign; /* 1 if d is a - b, -1 if it is b - a */
} LogSum;

static bool find_log_sum(const Instruction *x, LogSum *s) {
  int k = x->operands[0]->opcode == HLO_MAXIMUM ? 0 : 1;
  *s = (LogSum){.maximum = x->operands[k]};
  s->d = exponent_of(x->operands[1 - k], &s->scale);
  if (!s->d || s->maximum->opcode != HLO_MAXIMUM) return false;
  s->sign = sign_of_difference(s->d, s->maximum->operands[0], s->maximum->operands[1]);
  return s->sign != 0;
}

/* Sets the slopes of log(exp(a) + exp(b)), which are logistic(a - b) and logistic(b - a). For log2(2^a + 2^b) the
** differences are multiplied by `scale`. If `sum` is given, it is a + b, which is the result where `is_nan` holds: the
** slopes there are 1, or NaN if the sum is. */
static void set_slopes_of_log_sum(WorkingComputation *working, Instruction *x, LogSum s,
                                  Instruction *is_nan, Instruction *sum) {
  Maker *m = &working->m;
  Instruction *d = s.scale ? make_binary(m, HLO_MULTIPLY, s.d, s.scale) : s.d, *tangent = NULL,
              *opposite = make_unary(m, HLO_NEGATE, d);
  for (int i = 0; i < 2; i++) {
    Instruction *t = tangent_of(working, s.maximum->operands[i]);
    if (!t) continue;
    Instruction *by = (s.sign > 0) == (i == 0) ? d : opposite;
    if (sum) by = make_select(m, is_nan, make_unary(m, HLO_ABS, sum), by);
    Instruction *slope = make_unary(m, HLO_LOGISTIC, by);
    tangent = make_plus(m, tangent, make_binary(m, HLO_MULTIPLY, t, slope));
  }
  set_tangent(working, x, tangent);
}

void linearize_log_sum(WorkingComputation *working, Instruction *x) {
  if (type_kind(x->shape->type) != KIND_FLOAT) return;
  LogSum s;
  if (find_log_sum(x, &s))
    set_slopes_of_log_sum(working, x, s, NULL, NULL);
  else if (!s.d || s.maximum->opcode != HLO_MAXIMUM)
    linearize_shifted_log(working, x);
}

/* d != d ? a + b : max(a, b) + log1p(exp(-|d|)): logaddexp, whose difference of equal infinities is NaN. */
static void linearize_guarded_log_sum(WorkingComputation *working, Instruction *select) {
  Instruction *p = select->operands[0], *sum = select->operands[1];
  const Instruction *log_sum = select->operands[2];
  LogSum s;
  if (p->opcode != HLO_COMPARE || p->a->direction != COMPARE_NE || sum->opcode != HLO_ADD ||
      log_sum->opcode != HLO_ADD || !find_log_sum(log_sum, &s) || p->operands[0] != s.d ||
      p->operands[1] != s.d) {
    return;
  }
  for (int k = 0; k < 2; k++) {
    if (is_same(sum->operands[k], s.maximum->operands[0]) &&
        is_same(sum->operands[1 - k], s.maximum->operands[1])) {
      return set_slopes_of_log_sum(working, select, s, p, sum);
    }
  }
}

/* Whether an expression has this operation inside, with this first operand. */
static bool has_inside(const Instruction *x, Opcode opcode, const Instruction *first, int *budget) {
  if (--*budget < 0) return false;
  if (x->opcode == opcode && is_same(x->operands[0], first)) return true;
  for (int k = 0; k < x->operand_count; k++) {
    if (has_inside(x->operands[k], opcode, first, budget)) return true;
  }
  return false;
}

/* Whether g consists of element-wise operations on x and numbers. */
static bool is_function_of(WorkingComputation *working, const Instruction *g,
                           const Instruction *x) {
  bool *needed = ARENA_ARRAY(working->arena, bool, g->id + 1);
  needed[g->id] = true;
  for (int id = g->id; id >= 0; id--) {
    const Instruction *y = working->m.computation->instructions[id];
    if (!needed[id] || is_same(y, x) || y->opcode == HLO_CONSTANT) continue;
    if (!opcode_is_elementwise(y->opcode) && y->opcode != HLO_BROADCAST) return false;
    for (int k = 0; k < y->operand_count; k++) needed[y->operands[k]->id] = true;
  }
  return true;
}

/* Whether x is a select by a comparison of |of| with a number, as in the formulas of asinh and bessel_i1e. */
static bool is_by_size(const Instruction *x, const Instruction *of) {
  const Instruction *size =
      x->opcode == HLO_SELECT ? operand_of(x->operands[0], HLO_COMPARE) : NULL;
  const Instruction *inner = operand_of(size, HLO_ABS);
  Scalar number;
  return inner && is_same(inner, of) && splat_value(x->operands[0]->operands[1], &number);
}

/* sign(x) g(|x|), where g is 0 at 0 and a formula by the size of x: at 0 the slope is that of g. Other products with a
** sign have the slope 0 there, as in JAX. */
void linearize_odd(WorkingComputation *working, Instruction *x) {
  for (int k = 0; k < 2; k++) {
    const Instruction *sign = x->operands[k];
    Instruction *g = x->operands[1 - k], *t = tangent_of(working, g);
    if (sign->opcode != HLO_SIGN || !t || type_kind(x->shape->type) != KIND_FLOAT ||
        !is_by_size(g, sign->operands[0]) || !is_function_of(working, g, sign->operands[0])) {
      continue;
    }
    const char *formula =
        k ? "t * (y == 0 ? (x == 0 ? 1 : 0) : y)" : "t * (x == 0 ? (y == 0 ? 1 : 0) : x)";
    set_tangent(working, x, add_formula(working, formula, x, t));
  }
}

/* Whether x is (u - v) (u + v). */
static bool is_of_squares(const Instruction *x) {
  if (x->opcode != HLO_MULTIPLY) return false;
  const Instruction *minus = x->operands[0], *plus = x->operands[1];
  return minus->opcode == HLO_SUBTRACT && plus->opcode == HLO_ADD &&
         is_same(minus->operands[0], plus->operands[0]) &&
         is_same(minus->operands[1], plus->operands[1]);
}

/* Whether x is 0 where two values are equal: x and 0, or |u| and |v|. */
static bool is_zero_if_equal(const Instruction *x, const Instruction *a, const Instruction *b) {
  if (!is_of_squares(x)) return is_same(a, x) && is_zero(b);
  const Instruction *u = operand_of(a, HLO_ABS), *v = operand_of(b, HLO_ABS);
  return u && v && is_same(u, x->operands[0]->operands[0]) &&
         is_same(v, x->operands[0]->operands[1]);
}

/* Whether x is 0 wherever p has this value. */
static bool implies_zero(const Instruction *p, bool value, const Instruction *x, int *budget) {
  if (--*budget < 0) return false;
  if (p->opcode == (value ? HLO_AND : HLO_OR)) {
    return implies_zero(p->operands[0], value, x, budget) ||
           implies_zero(p->operands[1], value, x, budget);
  }
  if (p->opcode == HLO_NOT) return implies_zero(p->operands[0], !value, x, budget);
  if (p->opcode == HLO_BROADCAST && x->opcode == HLO_BROADCAST &&
      attributes_equal(HLO_BROADCAST, p->a, x->a)) {
    return implies_zero(p->operands[0], value, x->operands[0], budget);
  }
  return p->opcode == HLO_COMPARE && p->a->direction == (value ? COMPARE_EQ : COMPARE_NE) &&
         is_zero_if_equal(x, p->operands[0], p->operands[1]);
}

/* x == 0 ? 0 : x g, where g may be log(0): a product. At 0 its slope by x is g, where that is finite. A program whose g
** has another value for x == 0 keeps the slope of its select. */
static void linearize_as_product(WorkingComputation *working, Instruction *select, bool is_second,
                                 int factor) {
  const Instruction *product = select->operands[1 + is_second];
  Instruction *x = product->operands[factor], *g = product->operands[1 - factor],
              *p = select->operands[0];
  Instruction *t = tangent_of(working, x), *by_g = tangent_of(working, g);
  int budget = MAX_LOOKED, budget_of_g = MAX_LOOKED;
  if (!t || !implies_zero(p, is_second, x, &budget) || has_inside(g, HLO_SELECT, p, &budget_of_g)) {
    return;
  }
  Maker *m = &working->m;
  bool is_complex = type_is_complex(g->shape->type);
  Instruction *zeros = make_zeros(m, x->shape), *size = is_complex ? make_unary(m, HLO_ABS, g) : g,
              *is_finite = make_unary(m, HLO_IS_FINITE, size);
  Instruction *selected = is_second ? make_select(m, p, zeros, g) : make_select(m, p, g, zeros);
  Instruction *sum = make_binary(m, HLO_MULTIPLY, t, make_select(m, is_finite, g, selected));
  if (by_g) {
    Instruction *product_by_g = make_binary(m, HLO_MULTIPLY, x, by_g);
    Instruction *other =
        is_second ? make_select(m, p, zeros, product_by_g) : make_select(m, p, product_by_g, zeros);
    /* A logarithm that is finite has a finite slope, so the product has derivatives at 0, too. */
    if (g->opcode == HLO_LOG || g->opcode == HLO_LOG1P) {
      other = make_select(m, is_finite, product_by_g, other);
    }
    sum = make_plus(m, sum, other);
  }
  set_tangent(working, select, sum);
}

/* Whether x is a product with sin(y), and y is 0 wherever p has this value. Of a select, both branches must be. */
static bool has_sine_of_zero(const Instruction *p, bool value, const Instruction *x, int *budget) {
  if (--*budget < 0) return false;
  Instruction *const *of = x->operands;
  switch (x->opcode) {
  case HLO_SIN: return implies_zero(p, value, of[0], budget);
  case HLO_NEGATE: return has_sine_of_zero(p, value, of[0], budget);
  case HLO_MULTIPLY:
    return has_sine_of_zero(p, value, of[0], budget) || has_sine_of_zero(p, value, of[1], budget);
  case HLO_SELECT:
    return has_sine_of_zero(p, value, of[1], budget) && has_sine_of_zero(p, value, of[2], budget);
  default: return false;
  }
}

/* Whether x is a shorter form of y where p has this value: the same, with 0 for products with the sine of 0, and for the
** difference of equal squares. */
static bool is_short_form(const Instruction *p, bool value, const Instruction *x,
                          const Instruction *y, int *budget) {
  if (x->opcode == HLO_COMPLEX && y->opcode == HLO_COMPLEX) {
    return is_short_form(p, value, x->operands[0], y->operands[0], budget) &&
           is_short_form(p, value, x->operands[1], y->operands[1], budget);
  }
  if (is_same(x, y)) return true;
  return is_zero(x) && (is_of_squares(y) ? implies_zero(p, value, y, budget)
                                         : has_sine_of_zero(p, value, y, budget));
}

/* x == 0 ? 1 : sin(z) / z, where z is x times a number: the difference cos z - sin(z) / z cancels near 0. */
static void linearize_sinc(WorkingComputation *working, Instruction *select) {
  const Instruction *quotient = select->operands[2], *p = select->operands[0];
  if (quotient->opcode != HLO_DIVIDE) return;
  Instruction *y = quotient->operands[1];
  if (operand_of(quotient->operands[0], HLO_SIN) != y || y->opcode != HLO_SELECT ||
      !is_same(y->operands[0], p)) {
    return;
  }
  double number = 1;
  Instruction *z = y->operands[2], *factor = NULL, *t = tangent_of(working, z);
  int budget = MAX_LOOKED;
  if (!t || !implies_zero(p, true, without_factor(z, &number, &factor), &budget)) return;
  set_tangent(
      working, select,
      add_formula(working,
                  "t * (abs(w) < 0.3 ? w * (w * w * (1 / 30 - w * w * (1 / 840 - w * w * "
                  "(1 / 45360 - w * w / 3991680))) - 1 / 3) : (cosine(w) - sine(w) / w) / w)",
                  y, t));
}

/* |x| <= 8 ? (u - v) / 2 : w, where u ends with the last coefficient of bessel_i0e: the slope at 0 is 0, and its
** derivative 1/2, as of JAX's rule. */
static void linearize_i0e(WorkingComputation *working, Instruction *select) {
  const Instruction *p = select->operands[0], *half = select->operands[1];
  if (p->opcode != HLO_COMPARE || p->a->direction != COMPARE_LE ||
      !is_splat_of(p->operands[1], 8) || half->opcode != HLO_MULTIPLY) {
    return;
  }
  Instruction *x = (Instruction *)operand_of(p->operands[0], HLO_ABS);
  const Instruction *u =
      operand_of(half->operands[is_splat_of(half->operands[0], 0.5)], HLO_SUBTRACT);
  Scalar last;
  if (!x || !u || u->opcode != HLO_ADD || !splat_value(u->operands[1], &last) ||
      fabs(last.f - 0.6767952744094761) > 1e-7) {
    return;
  }
  Instruction *ts[2];
  for (int k = 0; k < 2; k++) {
    Instruction *t = tangent_of(working, select->operands[1 + k]);
    ts[k] = t ? t : make_zeros(&working->m, select->shape);
  }
  Instruction *by_x = tangent_of(working, x);
  if (!by_x) return;
  Instruction *operands[] = {x, make_select(&working->m, select->operands[0], ts[0], ts[1])};
  set_tangent(working, select,
              add_named_formula(working, "x == 0 ? (x == 0 ? x : 0) * 0.5 * t : y",
                                &(FormulaNames){x->shape, operands, .tangent = by_x}));
}

void linearize_select(WorkingComputation *working, Instruction *select) {
  if (linearize_checked_call(working, select)) return;
  /* exp, sin, cos and square of complex numbers, as JAX exports them: on an axis a part is 0, though its slope is not. */
  for (int k = 1; k <= 2; k++) {
    int budget = MAX_LOOKED;
    Instruction *x = select->operands[3 - k], *y = select->operands[k];
    if (is_short_form(select->operands[0], k == 2, x, y, &budget)) {
      return set_tangent(working, select, tangent_of(working, y));
    }
  }
  if (type_kind(select->shape->type) == KIND_FLOAT) {
    linearize_sinc(working, select);
    if (!has_tangent(working, select)) linearize_i0e(working, select);
    if (!has_tangent(working, select)) linearize_guarded_log_sum(working, select);
  }
  for (int k = 1; k <= 2; k++) {
    const Instruction *product = select->operands[k];
    if (product->opcode != HLO_MULTIPLY || !is_zero(select->operands[3 - k])) continue;
    for (int factor = 0; factor < 2; factor++) {
      if (!has_tangent(working, select)) linearize_as_product(working, select, k == 2, factor);
    }
  }
}

/* 1 / (1 + exp(u)) = z: -t z (1 - z), also where exp(u) is infinite. */
static void linearize_sigmoid(WorkingComputation *working, Instruction *z) {
  const Instruction *sum = z->operands[1];
  if (sum->opcode != HLO_ADD || !is_splat_of(z->operands[0], 1)) return;
  for (int k = 0; k < 2; k++) {
    const Instruction *u = operand_of(sum->operands[k], HLO_EXP);
    Instruction *t = u ? tangent_of(working, u) : NULL;
    if (!t || !is_splat_of(sum->operands[1 - k], 1) || type_kind(z->shape->type) != KIND_FLOAT)
      continue;
    set_tangent(working, z, add_formula(working, "t * (z * (z - 1))", z, t));
  }
}

/* Returns n if x is the n-th power of a value, as products; sets `value` to it. */
static int power_of(const Instruction *x, Instruction **value, int *budget) {
  if (--*budget < 0) return 0;
  if (x->opcode != HLO_MULTIPLY) {
    if (!*value) *value = (Instruction *)x;
    return x == *value;
  }
  int n = power_of(x->operands[0], value, budget);
  int more = n ? power_of(x->operands[1], value, budget) : 0;
  return more ? n + more : 0;
}

/* z = c / x^n: the slope by x is -n z / x, also where x is 0 or infinite. */
static void linearize_negative_power(WorkingComputation *working, Instruction *z) {
  Instruction *x = NULL, *by_c = tangent_of(working, z->operands[0]);
  int budget = MAX_LOOKED, n = power_of(z->operands[1], &x, &budget);
  Instruction *t = n > 1 ? tangent_of(working, x) : NULL;
  if (!t || type_kind(z->shape->type) != KIND_FLOAT) return;
  Maker *m = &working->m;
  Instruction *slope = make_binary(m, HLO_DIVIDE, z, x);
  slope = make_binary(m, HLO_MULTIPLY, make_number(m, z->shape, -n), slope);
  if (by_c) by_c = make_binary(m, HLO_DIVIDE, by_c, z->operands[1]);
  set_tangent(working, z, make_plus(m, by_c, make_binary(m, HLO_MULTIPLY, t, slope)));
}

/* Complex x / y: the slope by y divides twice, as the square of y may overflow. */
static void linearize_complex_quotient(WorkingComputation *working, Instruction *z) {
  Instruction *by_x = tangent_of(working, z->operands[0]),
              *by_y = tangent_of(working, z->operands[1]);
  if (by_x) by_x = add_formula(working, "t / y", z, by_x);
  if (by_y) by_y = add_formula(working, "-t * (z / y)", z, by_y);
  set_tangent(working, z, make_plus(&working->m, by_x, by_y));
}

void linearize_divide(WorkingComputation *working, Instruction *z) {
  if (type_is_complex(z->shape->type)) {
    linearize_complex_quotient(working, z);
    return;
  }
  linearize_sigmoid(working, z);
  if (!has_tangent(working, z)) linearize_negative_power(working, z);
  if (!has_tangent(working, z)) linearize_softmax(working, z);
}

/* log(x / (1 - x)): t / (x (1 - x)), also where the quotient is 0 or infinite. */
void linearize_logit(WorkingComputation *working, Instruction *log) {
  Instruction *quotient = log->operands[0];
  if (quotient->opcode != HLO_DIVIDE) return;
  Instruction *x = quotient->operands[0], *rest = quotient->operands[1],
              *t = tangent_of(working, x);
  if (t && rest->opcode == HLO_SUBTRACT && is_splat_of(rest->operands[0], 1) &&
      is_same(rest->operands[1], x) && type_kind(x->shape->type) == KIND_FLOAT) {
    set_tangent(working, log, add_formula(working, "t / (x * y)", quotient, t));
  }
}

/* x to the power of a number, such as an integer: the slope of x to the power 0 is 0, also at 0. */
void linearize_power(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]);
  if (!t || tangent_of(working, x->operands[1])) return;
  set_tangent(working, x, add_formula(working, "t * (y == 0 ? 0 : y * power(x, y - 1))", x, t));
}

/* ---- Bits ---- */

/* Whether integers have the bits of a number that has a tangent, plus or minus 1. */
static bool counts_on(WorkingComputation *working, const Instruction *x, int *budget) {
  if (--*budget < 0) return false;
  const Instruction *step = x->opcode == HLO_ADD ? x->operands[1] : NULL;
  if (step && step->opcode == HLO_SELECT && is_integer(step->operands[1], -1) &&
      is_integer(step->operands[2], 1)) {
    const Instruction *of = operand_of(x->operands[0], HLO_BITCAST_CONVERT);
    return of && tangent_of(working, of);
  }
  for (int k = 1; x->opcode == HLO_SELECT && k <= 2; k++) {
    if (counts_on(working, x->operands[k], budget)) return true;
  }
  return false;
}

/* The bits of x, with those of the exponent replaced, as in frexp and ldexp: z = x 2^k, of slope z / x. Bits that are read
** as another type have the slope 0, and those of the same type 1. JAX refuses nextafter, except where it stops gradients. */
void linearize_bits(WorkingComputation *working, Instruction *z) {
  const Instruction *set = z->operands[0], *kept = operand_of(set, HLO_OR),
                    *bits = operand_of(kept, HLO_AND);
  int budget = MAX_LOOKED;
  if (set->shape->type == z->shape->type) return set_tangent(working, z, tangent_of(working, set));
  if (counts_on(working, set, &budget)) {
    return refuse_derivative(working, z, "is the next number (nextafter), which has no derivative");
  }
  Instruction *x = (Instruction *)operand_of(bits, HLO_BITCAST_CONVERT);
  Instruction *t = x && x->shape->type == z->shape->type ? tangent_of(working, x) : NULL;
  if (!t) return;
  Scalar keep, put;
  if (!splat_value(kept->operands[1], &keep) || !splat_value(set->operands[1], &put)) return;
  uint64_t sign = UINT64_C(1) << (type_bits(z->shape->type) - 1), all = sign | (sign - 1);
  uint64_t exponent = sign - (UINT64_C(1) << type_mantissa_bits(z->shape->type));
  if (((keep.u | exponent) & all) != all || (put.u & all & ~exponent)) return;
  /* The slope is a power of 2, which has derivative 0: so have its bits. */
  Instruction *slope = make_binary(&working->m, HLO_DIVIDE, z, x);
  slope = make(&working->m, HLO_BITCAST_CONVERT, set->shape, &slope, 1, NULL);
  slope = make(&working->m, HLO_BITCAST_CONVERT, z->shape, &slope, 1, NULL);
  /* Of 0 there is no quotient. */
  Instruction *is_zero =
      make_compare(&working->m, COMPARE_EQ, x, make_zeros(&working->m, x->shape));
  slope = make_select(&working->m, is_zero, make_number(&working->m, x->shape, 1), slope);
  set_tangent(working, z, make_binary(&working->m, HLO_MULTIPLY, t, slope));
}

/* Whether x is the next number of one that has a tangent, or a NaN; it may be moved or converted. */
static bool is_next_number(WorkingComputation *working, const Instruction *x, int *budget) {
  if (--*budget < 0) return false;
  Scalar other;
  switch (x->opcode) {
  case HLO_BITCAST_CONVERT: return counts_on(working, x->operands[0], budget);
  case HLO_SELECT:
    return splat_value(x->operands[1], &other) && isnan(other.f) &&
           is_next_number(working, x->operands[2], budget);
  case HLO_BROADCAST:
  case HLO_CONVERT:
  case HLO_COPY:
  case HLO_RESHAPE: return is_next_number(working, x->operands[0], budget);
  default: return false;
  }
}

Instruction *as_bound(WorkingComputation *working, Instruction *x) {
  int budget = MAX_LOOKED;
  if (!has_tangent(working, x) || !is_next_number(working, x, &budget)) return x;
  return make(&working->m, HLO_COPY, x->shape, &x, 1, NULL);
}

/* ---- Functions that are computed on two sides of a number ---- */

/* Returns this operation of y and a number equal to c, where y and c are the operands of x; or NULL. */
static const Instruction *similar_of(const WorkingComputation *working, const Instruction *x,
                                     Opcode opcode) {
  Scalar number;
  if (!splat_value(x->operands[1], &number)) return NULL;
  for (int i = 0; i < working->source->count; i++) {
    const Instruction *y = working->source->instructions[i];
    if (y->opcode == opcode && working->map[y->operands[0]->id] == x->operands[0] &&
        is_splat_of(y->operands[1], number.f))
      return y;
  }
  return NULL;
}

/* y > c ? f(max(y, c)) : g(min(y, c)), as in log_ndtr: the comparison decides which of the two has the slope at c. At 0, relu
** and celu have rules of their own. */
static bool linearize_side(WorkingComputation *working, Instruction *x) {
  bool is_maximum = x->opcode == HLO_MAXIMUM;
  Instruction *t = tangent_of(working, x->operands[0]);
  if (!t || is_zero(x->operands[1])) return false;
  const Instruction *compare = similar_of(working, x, HLO_COMPARE);
  if (!compare || !similar_of(working, x, is_maximum ? HLO_MINIMUM : HLO_MAXIMUM)) return false;
  const char *formula;
  switch (compare->a->direction) {
  case COMPARE_GT:
  case COMPARE_LE: formula = is_maximum ? "x > y ? t : 0" : "x > y ? 0 : t"; break;
  case COMPARE_GE:
  case COMPARE_LT: formula = is_maximum ? "x >= y ? t : 0" : "x >= y ? 0 : t"; break;
  default: return false;
  }
  set_tangent(working, x, add_formula(working, formula, x, t));
  return true;
}

/* ---- relu ---- */

/* Whether the program also has min(x, 0): it then computes max(x, 0) + f(min(x, 0)), as in celu, which is smooth. */
static bool has_minimum(const WorkingComputation *working, const Instruction *x) {
  for (int i = 0; i < working->source->count; i++) {
    const Instruction *y = working->source->instructions[i];
    if (y->opcode == HLO_MINIMUM && working->map[y->operands[0]->id] == x &&
        is_zero(y->operands[1]))
      return true;
  }
  return false;
}

/* max(x, 0): slope 0 at 0. JAX writes relu in this order, and clip, whose slope at a bound is 1/2, in the other. */
void linearize_relu(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]);
  if (linearize_side(working, x) || !t || !is_zero(x->operands[1]) ||
      has_minimum(working, x->operands[0]))
    return;
  set_tangent(working, x, add_formula(working, "x > 0 ? t : 0", x, t));
}

/* min(max(x, 0), 6): slope 0 at both bounds. */
void linearize_relu6(WorkingComputation *working, Instruction *x) {
  const Instruction *relu = x->operands[0];
  Instruction *t = tangent_of(working, relu);
  if (linearize_side(working, x) || !t || relu->opcode != HLO_MAXIMUM ||
      !is_zero(relu->operands[1]) || !is_splat_of(x->operands[1], 6))
    return;
  set_tangent(working, x, add_formula(working, "x < y ? t : 0", x, t));
}
