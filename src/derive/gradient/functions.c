/* The table of functions with known derivatives, and their calls. */
#include "derive/gradient/functions.h"

#include <stdlib.h>
#include <string.h>

#include "derive/gradient/body.h"
#include "derive/gradient/kept_calls.h"
#include "rewrite/base/rewrite.h"

/* ---- The table ---- */

/* Around the mean of the gamma distribution. */
static void place_gamma(const double *operands, double *points) {
  points[0] = 0.6 * operands[0];
  points[1] = 1.2 * operands[0];
  points[2] = 1.7 * operands[0];
}

/* Around the mean of the beta distribution. */
static void place_beta(const double *operands, double *points) {
  double mean = operands[0] / (operands[0] + operands[1]);
  points[0] = 0.8 * mean;
  points[1] = mean;
  points[2] = mean + 0.2 * (1 - mean);
}

#define GAMMA_POINTS {{1.6, 0.6}, {0.7, 0.9}, {2.4, 2.9}}

static const KnownFunction functions[] = {
    {"sici",
     1,
     2,
     {{"t * (x == 0 ? 1 : sine(x) / x)"}, {"t * (cosine(x) / x)"}},
     .points = {{0.7}, {2.3}, {-5.1}}},
    /* If a caller needs only one of the results, an export may have a function with this one alone. */
    {"sici", 1, 1, {{"t * (x == 0 ? 1 : sine(x) / x)"}}, .points = {{0.7}, {2.3}, {-5.1}}},
    {"sici", 1, 1, {{"t * (cosine(x) / x)"}}, .points = {{0.7}, {2.3}, {-5.1}}},
    {"log1mexp", 1, 1, {{"t / exponential-minus-one(x)"}}, .points = {{0.4}, {2.3}, {1.1}}},
    {"expi", 1, 1, {{"t * (exponential(x) / x)"}}, .points = {{0.6}, {2.2}, {-0.8}}},
    {"expn",
     2,
     1,
     {{NULL, "-t * again"}},
     .again = {"x - 1", "y"},
     .points = {{2, 0.6}, {3, 1.7}, {2, 1.2}}},
    {"hyp1f1",
     3,
     1,
     {{NULL, NULL, "t * (x / y * again)"}},
     .again = {"x + 1", "y + 1", "w"},
     .points = {{1.5, 2.5, 0.7}, {0.6, 1.3, -1.2}, {2, 3, 2.1}}},
    {"hyp2f1",
     4,
     1,
     {{NULL, NULL, NULL, "t * (x * y / w * again)"}},
     .again = {"x + 1", "y + 1", "w + 1", "v"},
     .points = {{0.6, 1.2, 2.3, 0.4}, {1.5, 0.7, 1.9, -0.3}, {0.6, 1.2, 2.3, 0.2}}},
    {"sincospisquaredhalf",
     1,
     2,
     {{"t * (pi * x * u)"}, {"-t * (pi * x * z)"}},
     .points = {{0.4}, {0.7}, {-0.9}}},
    {"igamma",
     2,
     1,
     {{NULL, "t * exponential((x - 1) * log(y) - y - lgamma(x))"}},
     .points = GAMMA_POINTS,
     .place = place_gamma},
    {"igammac",
     2,
     1,
     {{NULL, "-t * exponential((x - 1) * log(y) - y - lgamma(x))"}},
     .points = GAMMA_POINTS,
     .place = place_gamma},
    {"betainc",
     3,
     1,
     {{NULL, NULL,
       "t * exponential((y - 1) * log-plus-one(-w) + (x - 1) * log(w) - "
       "(lgamma(x) + lgamma(y) - lgamma(x + y)))"}},
     .points = {{2.1, 3.2, 0.2}, {0.7, 1.4, 0.45}, {2.1, 3.2, 0.7}},
     .place = place_beta},
    {"_gamma", 2, 1, .is = is_gamma_sampler, .tangent = gamma_sample_tangent},
    {"_pinv", 1, 1, .is = is_pseudo_inverse, .tangent = pseudo_inverse_tangent},
    {"det", 1, 1, .is = is_determinant, .tangent = determinant_tangent},
    /* Functions that are found in their callers by their values: each point is followed by the value there; both are complex. */
    {"erfc",
     1,
     1,
     {{"-t * (1.1283791670955126 * exponential(-(x * x)))"}},
     .points = {{0.4, 0, 0.571607644953332},
                {-1.3, 0, 1.93400794494065},
                {2.5, 0, 0.000406952017444959}}},
    {"erf_inv",
     1,
     1,
     {{"t * (0.886226925452758 * exponential(z * z))"}},
     .points = {{0.4, 0, 0.370807158593558},
                {-0.95, 0, -1.38590382434968},
                {0.998, 0, 2.1851242191330043}}},
    {"complex_sqrt",
     1,
     1,
     {{"t * (0.5 / z)"}},
     .points = {{0.5, 0.25, 0.727673345112677, 0.171780374861256},
                {-0.3, 1.5, 0.784125581166, 0.956479444127744},
                {2, -0.75, 1.43805440375693, -0.260768993871379}}},
    {"complex_log",
     1,
     1,
     {{"t / x"}},
     .points = {{0.5, 0.25, -0.58157540490284, 0.463647609000806},
                {-0.3, 1.5, 0.425075464684805, 1.76819188664478},
                {2, -0.75, 0.758935359454305, -0.358770670270572}}},
    {"complex_log1p",
     1,
     1,
     {{"t / (x + 1)"}},
     .points = {{0.5, 0.25, 0.419164595202222, 0.165148677414627},
                {-0.3, 1.5, 0.503978960199989, 1.13416916698136},
                {2, -0.75, 1.12892459957633, -0.244978663126864}}},
    {"complex_atan",
     1,
     1,
     {{"t / (x * x + 1)"}},
     .points = {{0.5, 0.25, 0.484254490329966, 0.200586618131234},
                {-0.3, 1.5, -1.36030103966877, 0.731422107455266},
                {2, -0.75, 1.1492038297107, -0.138250137204176}}},
    {"complex_atanh",
     1,
     1,
     {{"1 / (1 + x) * (t / (1 - x))"}},
     .points = {{0.5, 0.25, 0.500370000052531, 0.314398143207716},
                {-0.3, 1.5, -0.0908057007274659, 0.995437397582047},
                {2, -0.75, 0.452890524131059, -1.37153510396169}}},
    {"complex_asin",
     1,
     1,
     {{"t / (sqrt(1 - x) * sqrt(1 + x))"}},
     .points = {{0.5, 0.25, 0.501608853275501, 0.281396056245293},
                {-0.3, 1.5, -0.16557996778373, 1.20624592533151},
                {2, -0.75, 1.17106248844835, -1.41057889755833}}},
    {"complex_acos",
     1,
     1,
     {{"-t / (sqrt(1 - x) * sqrt(1 + x))"}},
     .points = {{0.5, 0.25, 1.0691874735194, -0.281396056245293},
                {-0.3, 1.5, 1.73637629457863, -1.20624592533151},
                {2, -0.75, 0.399733838346545, 1.41057889755833}}},
    {"complex_asinh",
     1,
     1,
     {{"t / (sqrt(1 - complex(-imag(x), real(x))) * sqrt(1 + complex(-imag(x), real(x))))"}},
     .points = {{0.5, 0.25, 0.492675683420771, 0.224328452634668},
                {-0.3, 1.5, -1.0063002971409, 1.31483451865865},
                {2, -0.75, 1.49252103198802, -0.326770402782327}}},
    {"complex_acosh",
     1,
     1,
     {{"t / (sqrt(x - 1) * sqrt(x + 1))"}},
     .points = {{0.5, 0.25, 0.281396056245293, 1.0691874735194},
                {-0.3, 1.5, 1.20624592533151, 1.73637629457863},
                {2, -0.75, 1.41057889755833, -0.399733838346545}}},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

const KnownFunction *known_function(const char *name, const KnownFunction *after) {
  size_t length = name_stem_length(name, strlen(name));
  for (int i = after ? (int)(after - functions) + 1 : 0; i < FUNCTIONS; i++) {
    const KnownFunction *f = &functions[i];
    if (strlen(f->name) == length && !strncmp(f->name, name, length)) return f;
  }
  return NULL;
}

void keep_known(Instruction *call, const KnownFunction *f) {
  const char *row = arena_printf(call->parent->module->arena, "%d", (int)(f - functions));
  keep_call(call, row, strlen(row));
}

const KnownFunction *kept_function(const Instruction *call) {
  return &functions[atoi(call->a->custom_call_target)];
}

/* ---- Calls that stay ---- */

static bool is_float_array(const Shape *shape, const Shape *like) {
  return type_is_floating(shape->type) && type_bits(shape->type) > 8 && shape->type == like->type &&
         !shape->dynamic && (shape->rank == 0 || shape_same_dims(shape, like));
}

/* Whether operands and results are as many as the function has, of one type, and of one shape or scalars. Operands but the
** last one may be numbers of another type, as JAX's with 64 bits are for arrays of f32. */
static bool has_signature(const KnownFunction *f, const Instruction *call) {
  const Shape *shape = call->shape;
  int results = shape_is_tuple(shape) ? shape->tuple_size : 1;
  if (call->operand_count != f->operands || results != f->results) return false;
  const Shape *like = shape_is_tuple(shape) ? shape->elements[0] : shape;
  bool fits = is_float_array(like, like) && like->rank <= 8;
  for (int i = 0; i < results && shape_is_tuple(shape); i++) {
    fits &= shape->elements[i]->rank == like->rank && is_float_array(shape->elements[i], like);
  }
  for (int k = 0; k < f->operands; k++) {
    const Shape *operand = call->operands[k]->shape;
    bool is_number = operand->rank == 0 && (operand->type == S32 || operand->type == S64 ||
                                            operand->type == F32 || operand->type == F64);
    fits &= is_float_array(operand, like) || (is_number && k < f->operands - 1);
  }
  return fits && shape_elements(like) > 0;
}

static const KnownFunction no_function;

/* Returns the function that a call is, or no_function. */
static const KnownFunction *find_rule(const Instruction *call) {
  const KnownFunction *f = NULL;
  while ((f = known_function(call->a->to_apply->name, f))) {
    if (f->is ? f->is(call) : has_signature(f, call) && slopes_hold(f, call)) return f;
  }
  return &no_function;
}

void functions_keep(Module *module) {
  functions_outline(module);
  /* By the number of a computation. */
  const KnownFunction **verdicts =
      ARENA_ARRAY(module->arena, const KnownFunction *, module->numbers);
  for (int c = 0, count = module->count; c < count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      if (x->opcode != HLO_CALL) continue;
      const Computation *to = x->a->to_apply;
      if (!verdicts[to->number]) verdicts[to->number] = find_rule(x);
      const KnownFunction *f = verdicts[to->number];
      if (f != &no_function) keep_known(x, f);
    }
  }
  module_keep_reached(module);
}

/* ---- Tangents ---- */

Instruction *add_slope(WorkingComputation *working, const KnownFunction *f, int result, int operand,
                       Instruction *const *operands, Instruction *const *results,
                       Instruction *again, const Shape *shape, Instruction *tangent) {
  return add_named_formula(working, f->slopes[result][operand],
                           &(FormulaNames){shape, operands, results, tangent, again});
}

Instruction *add_again(WorkingComputation *working, const KnownFunction *f, const Instruction *call,
                       Instruction *const *operands) {
  if (!f->again[0]) return NULL;
  Instruction *other[MAX_OPERANDS];
  for (int k = 0; k < f->operands; k++) {
    other[k] = add_named_formula(
        working, f->again[k], &(FormulaNames){.shape = operands[k]->shape, .operands = operands});
  }
  return make(&working->m, HLO_CALL, call->shape, other, f->operands, call->a);
}

/* Adds the tangents that the computation has, by operands for which there is no formula. */
static void add_as_written(WorkingComputation *working, const KnownFunction *f, Instruction *value,
                           Instruction *const *operands, Instruction **tangents) {
  Instruction *used[MAX_OPERANDS];
  bool any = false;
  for (int k = 0; k < f->operands; k++) {
    bool is_written = !f->slopes[0][k];
    any |= is_written && has_tangent(working, operands[k]);
    Instruction *operand = operands[k];
    used[k] = is_written ? operand : make(&working->m, HLO_COPY, operand->shape, &operand, 1, NULL);
  }
  if (!any) return;
  Instruction *defined = linear_inline(working, value->a->to_apply, used);
  for (int i = 0; i < f->results; i++) {
    tangents[i] = make_plus(&working->m, tangents[i], tangent_leaf(working, defined, i));
  }
}

Instruction *replace_known(WorkingComputation *working, const Instruction *x,
                           Instruction **operands, const KnownFunction *f) {
  Instruction *value = keep_instruction(working, x, operands);
  restore_kept_call(value);
  if (f->tangent) {
    set_tangent(working, value, f->tangent(working, value, operands, value));
    return value;
  }
  Instruction *results[MAX_RESULTS] = {value}, *tangents[MAX_RESULTS] = {NULL};
  for (int i = 0; i < f->results && shape_is_tuple(x->shape); i++) {
    results[i] = make_element(working, value, i);
  }
  Instruction *again = NULL;
  for (int k = 0; k < f->operands; k++) {
    Instruction *t = tangent_of(working, operands[k]);
    if (!t || !f->slopes[0][k]) continue;
    if (!again) again = add_again(working, f, value, operands);
    for (int i = 0; i < f->results; i++) {
      Instruction *more =
          add_slope(working, f, i, k, operands, results, again, results[0]->shape, t);
      tangents[i] = make_plus(&working->m, tangents[i], more);
    }
  }
  add_as_written(working, f, value, operands, tangents);
  for (int i = 0; i < f->results; i++) {
    set_tangent_leaf(working, value, i, tangents[i]);
    if (results[i] != value) set_tangent(working, results[i], tangents[i]);
  }
  return value;
}
