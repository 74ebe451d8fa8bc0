/*
** Differentiates samples of the gamma distribution by its parameter a, as JAX does (jax.lax.random_gamma_grad): a sampler
** draws numbers until one is accepted, and the derivatives of its steps are not that of the accepted sample. The distribution
** function P(a, s) of a sample s stays the same number when a changes, so
**
**     ds / da = -(dP / da) / (dP / ds),   P(a, s) = s^a exp(-s) / gamma(a + 1) * S,   S = sum of s^n / ((a + 1) ... (a + n))
**             = -s / a * (dS / da + S * (log(s) - digamma(a + 1)))
**
** (M. Figurnov et al., Implicit Reparameterization Gradients, 2018). Sums are of f64: few digits are left where s is far from a.
*/
#include "derive/gradient/extract.h"
#include "derive/gradient/functions.h"
#include "rewrite/base/rewrite.h"

/* The state of the loop that adds the sum up: numbers of the samples' shape. */
enum { N, TERM, SUM, TERM_BY_A, SUM_BY_A, A, S, STATE };

/* A limit against a loop without end. About 9 * sqrt(s) terms are enough. */
static const double MAX_TERMS = 1e6;

/* Whether a loop draws numbers: until one is accepted. */
static bool is_rejection(const Instruction *x) {
  return x->opcode == HLO_WHILE && instruction_reaches(x, makes_floats_of_bits);
}

/* Returns the operation that computes a value, before conversions and reshapes of it. */
static const Instruction *origin(const Instruction *x) {
  while (x->opcode == HLO_CONVERT || x->opcode == HLO_RESHAPE || x->opcode == HLO_COPY) {
    x = x->operands[0];
  }
  return x;
}

/* Returns the broadcast of the function's parameter a to the shape of the samples; NULL: there is none. */
static const Instruction *find_spread(const Computation *to) {
  const Instruction *a = to->parameters[1];
  for (int i = 0; i < to->count; i++) {
    const Instruction *x = to->instructions[i];
    if (x->opcode != HLO_BROADCAST || !shape_same_dims(x->shape, to->root->shape)) continue;
    const Instruction *from = x->operands[0];
    while (from->opcode == HLO_CONVERT) from = from->operands[0];
    if (from == a) return x;
  }
  return NULL;
}

/* Whether a call is jax.random's _gamma(key, a): a rejection sampler whose result is a product of parts, or a sum of their
** logarithms. */
bool is_gamma_sampler(const Instruction *call) {
  const Computation *to = call->a->to_apply;
  if (call->operand_count != 2 || !shape_is_array(call->shape) || !has_derivative(call->shape))
    return false;
  const Shape *key = call->operands[0]->shape, *a = call->operands[1]->shape;
  if (!shape_is_array(key) || key->type != U32 || !shape_is_array(a) || !has_derivative(a))
    return false;
  if (call->shape->dynamic || type_is_complex(a->type)) return false;
  Opcode last = origin(to->root)->opcode;
  if (last != HLO_MULTIPLY && last != HLO_ADD) return false;
  if (!shape_same_dims(a, call->shape) && !find_spread(to)) return false;
  return instruction_reaches(call, is_rejection);
}

/* Adds the loop of the series' terms. */
static Instruction *add_series(WorkingComputation *working, Instruction *a, Instruction *s) {
  const Shape *shape = a->shape;
  Instruction *one = make_number(&working->m, shape, 1), *zero = make_zeros(&working->m, shape);
  Instruction *first[STATE] = {zero, one, one, zero, zero, a, s};
  Instruction *init = computation_add_tuple(working->m.computation, first, STATE);
  Instruction *x[STATE];

  Maker body = {module_add_computation(working->d->module, "term"), working->m.error,
                working->m.failed};
  Instruction *state = computation_add_parameter(body.computation, 0, init->shape, NULL);
  for (int i = 0; i < STATE; i++) x[i] = computation_add_element(body.computation, state, i);
  Instruction *n = make_binary(&body, HLO_ADD, x[N], make_number(&body, shape, 1));
  Instruction *below = make_binary(&body, HLO_ADD, x[A], n);
  Instruction *ratio = make_binary(&body, HLO_DIVIDE, x[S], below);
  Instruction *less = make_binary(&body, HLO_DIVIDE, x[TERM], below);
  Instruction *term = make_binary(&body, HLO_MULTIPLY, x[TERM], ratio);
  Instruction *by_a =
      make_binary(&body, HLO_MULTIPLY, ratio, make_binary(&body, HLO_SUBTRACT, x[TERM_BY_A], less));
  Instruction *next[STATE] = {n,
                              term,
                              make_binary(&body, HLO_ADD, x[SUM], term),
                              by_a,
                              make_binary(&body, HLO_ADD, x[SUM_BY_A], by_a),
                              x[A],
                              x[S]};
  body.computation->root = computation_add_tuple(body.computation, next, STATE);

  Maker more = {module_add_computation(working->d->module, "more_terms"), working->m.error,
                working->m.failed};
  state = computation_add_parameter(more.computation, 0, init->shape, NULL);
  for (int i = 0; i < STATE; i++) x[i] = computation_add_element(more.computation, state, i);
  Instruction *enough = make_binary(&more, HLO_MULTIPLY, x[SUM], make_number(&more, shape, 1e-17));
  Instruction *large = make_compare(&more, COMPARE_GT, x[TERM], enough);
  Instruction *few = make_compare(&more, COMPARE_LT, x[N], make_number(&more, shape, MAX_TERMS));
  Instruction *both = make_binary(&more, HLO_AND, large, few);
  Int64List all = other_dimensions(&more, shape->rank, (Int64List){0});
  more.computation->root = shape->rank ? make_reduce(&more, HLO_OR, both, 0, all) : both;
  return make(&working->m, HLO_WHILE, init->shape, &init, 1,
              ATTRIBUTES(.condition = more.computation, .body = body.computation));
}

/* Returns the slopes of the samples' logarithms by a; all are of f64, of one shape. */
static Instruction *add_slope_of_log(WorkingComputation *working, Instruction *a, Instruction *s,
                                     Instruction *log_s) {
  /* digamma(x + 1), by its asymptotic series at x + 11. */
  static const char digamma[] =
      "log(x + 11) - 0.5 / (x + 11) - (0.08333333333333333 - (0.008333333333333333 - "
      "(0.003968253968253968 - 0.004166666666666667 / ((x + 11) * (x + 11))) / ((x + 11) * (x + "
      "11))) / "
      "((x + 11) * (x + 11))) / ((x + 11) * (x + 11)) - 1 / (x + 1) - 1 / (x + 2) - 1 / (x + 3) - "
      "1 / (x + 4) - 1 / (x + 5) - 1 / (x + 6) - 1 / (x + 7) - 1 / (x + 8) - 1 / (x + 9) - 1 / (x "
      "+ 10)";
  Instruction *series = add_series(working, a, s);
  Instruction *of_a =
      add_named_formula(working, digamma, &(FormulaNames){.shape = a->shape, .operands = &a});
  Instruction *sums[] = {make_element(working, series, SUM),
                         make_element(working, series, SUM_BY_A)};
  Instruction *operands[] = {a, log_s, of_a};
  return add_named_formula(
      working, "-(u + z * (y - w)) / x",
      &(FormulaNames){.shape = a->shape, .operands = operands, .results = sums});
}

Instruction *gamma_sample_tangent(WorkingComputation *working, const Instruction *call,
                                  Instruction *const *operands, Instruction *samples) {
  Instruction *tangent = tangent_of(working, operands[1]),
              *a = make_convert(&working->m, operands[1], F64);
  if (!tangent) return NULL;
  const Computation *to = call->a->to_apply;
  const Shape *shape = shape_of(&working->m, F64, samples->shape->rank, samples->shape->dims);
  tangent = make_convert(&working->m, tangent, F64);
  if (!shape_same_dims(a->shape, shape)) {
    Int64List dimensions = find_spread(to)->a->dimensions;
    a = make_broadcast(&working->m, a, shape, dimensions);
    tangent = make_broadcast(&working->m, tangent, shape, dimensions);
  }
  bool are_logs = origin(to->root)->opcode == HLO_ADD;
  Instruction *given = make_convert(&working->m, samples, F64);
  Instruction *s = are_logs ? make_unary(&working->m, HLO_EXP, given) : given;
  Instruction *log_s = are_logs ? given : make_unary(&working->m, HLO_LOG, given);
  Instruction *slope = add_slope_of_log(working, a, s, log_s);
  if (!are_logs) { /* a sample of 0 has slope 0 */
    Instruction *zero = make_zeros(&working->m, shape);
    Instruction *is_positive = make_compare(&working->m, COMPARE_GT, s, zero);
    slope = make_select(&working->m, is_positive, make_binary(&working->m, HLO_MULTIPLY, slope, s),
                        zero);
  }
  tangent = make_binary(&working->m, HLO_MULTIPLY, tangent, slope);
  return make_convert(&working->m, tangent, samples->shape->type);
}
