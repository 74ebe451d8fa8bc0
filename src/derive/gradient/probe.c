/*
** Compares slopes with finite differences: the evaluator runs a computation at a few points and beside them.
**
** Large arrays would take long, so computations are copied for arrays of one element for each side of a point: the
** dimensions of the shape become one. Operations whose results depend on where an element is cannot be copied so.
*/
#include <math.h>

#include "derive/gradient/functions.h"
#include "hlo/ir/shorthand.h"
#include "reference/eval.h"
#include "rewrite/base/rewrite.h"

/* Threshold SIDES: a point and its two sides. An array of fewer elements takes a run for each. Test: "slopes equal JAX's" in
** api/known_functions.test.mjs. */
/* Threshold WHOLE: arrays of more elements become smaller. No dimensions of a function's own tables are as large. Test:
** "another function of the name _gamma is differentiated as it is written" in api/known_functions.test.mjs. */
/* Threshold CALL_STEPS: the evaluator's steps for all points of a call, four times what the slowest known function
** takes. A function that takes longer is differentiated as written. No path in tests. */
enum { SIDES = 3, WHOLE = 64, CALL_STEPS = 1 << 24 };

/* ---- Copies for another shape ---- */

typedef struct Shrinker {
  Module *module;
  /* its dimensions, next to each other in any array, become one of SIDES elements */
  const Shape *from;
  Error error;
  bool failed;
} Shrinker;

static Computation *shrink(Shrinker *s, const Computation *from, const Shape *const *parameters);

/* Returns the first dimension of those of the large shape in another one; -1: they are not there. */
static int place_of(const Shrinker *s, const Shape *shape) {
  for (int at = 0; shape_is_array(shape) && at + s->from->rank <= shape->rank; at++) {
    int d = 0;
    while (d < s->from->rank && shape->dims[at + d] == s->from->dims[d]) d++;
    if (d == s->from->rank) return at;
  }
  return -1;
}

static bool is_large(const Shrinker *s, const Shape *shape) { return place_of(s, shape) >= 0; }

/* Returns the number that a dimension of a large shape gets. */
static int64_t renumbered(const Shrinker *s, const Shape *large, int64_t d) {
  int place = place_of(s, large);
  if (d < place) return d;
  return d < place + s->from->rank ? place : d - s->from->rank + 1;
}

static bool is_renumbered_to_place(const Shrinker *s, const Shape *large, int64_t d) {
  int place = place_of(s, large);
  return d >= place && d < place + s->from->rank;
}

static const Shape *small_shape(const Shrinker *s, const Shape *large) {
  int place = place_of(s, large);
  int64_t dims[MAX_RANK];
  for (int d = 0; d < large->rank; d++) dims[renumbered(s, large, d)] = large->dims[d];
  dims[place] = SIDES;
  return shape_make(s->module->arena, large->type, large->rank - s->from->rank + 1, dims, NULL);
}

/* Renumbers dimensions of a large shape: all of those that become one, or none of them. */
static Int64List shrink_list(Shrinker *s, const Shape *large, Int64List dimensions) {
  int64_t *items = ARENA_ARRAY(s->module->arena, int64_t, dimensions.count);
  int count = 0, inside = 0;
  for (int i = 0; i < dimensions.count; i++) {
    int64_t d = dimensions.items[i];
    bool is_inside = is_renumbered_to_place(s, large, d);
    if (!is_inside || !inside) items[count++] = renumbered(s, large, d);
    inside += is_inside;
  }
  if (inside && inside != s->from->rank) s->failed = true;
  return (Int64List){count, items};
}

static Instruction *fail(Shrinker *s, Instruction *x) {
  s->failed = true;
  return x;
}

static Instruction *keep(Maker *m, const Instruction *x, const Shape *shape,
                         Instruction **operands) {
  Instruction *copy = make(m, x->opcode, shape, operands, x->operand_count, x->a);
  copy->literal = x->literal;
  if (x->a->control_predecessors.count) {
    instruction_attributes(copy)->control_predecessors = (InstructionList){0};
  }
  return copy;
}

static Instruction *shrink_source(Shrinker *s, Maker *m, const Instruction *x) {
  bool is_constant = x->opcode == HLO_CONSTANT;
  if (!is_large(s, x->shape)) return keep(m, x, x->shape, NULL);
  if (!is_constant && x->opcode != HLO_IOTA) s->failed = true;
  if (is_constant && !literal_is_splat(x->literal)) s->failed = true;
  const Shape *small = small_shape(s, x->shape);
  if (is_constant) {
    Scalar value = scalar_load(x->shape->type, x->literal->data, 0);
    Instruction *number = computation_add_number(m->computation, x->shape->type, value);
    return make_broadcast(m, number, small, (Int64List){0});
  }
  if (is_renumbered_to_place(s, x->shape, x->a->iota_dimension)) s->failed = true;
  return make(m, x->opcode, small, NULL, 0,
              ATTRIBUTES(.iota_dimension = renumbered(s, x->shape, x->a->iota_dimension)));
}

/* Copies the computations that an instruction calls on its operands; shapes follow from theirs. */
static Instruction *shrink_called(Shrinker *s, Maker *m, const Instruction *x,
                                  Instruction **operands) {
  Attributes a = *x->a;
  a.control_predecessors = (InstructionList){0};
  const Shape *shape = operands[0]->shape;
  if (x->opcode == HLO_WHILE) {
    a.condition = shrink(s, a.condition, &shape);
    a.body = shrink(s, a.body, &shape);
  } else if (x->opcode == HLO_CALL) {
    const Shape **shapes = ARENA_ARRAY(s->module->arena, const Shape *, x->operand_count);
    for (int k = 0; k < x->operand_count; k++) shapes[k] = operands[k]->shape;
    a.to_apply = shrink(s, a.to_apply, shapes);
    if (a.to_apply) shape = a.to_apply->root->shape;
  } else {
    bool predicated;
    int count = conditional_branches(x, NULL, &predicated);
    Computation **branches = ARENA_ARRAY(s->module->arena, Computation *, count);
    conditional_branches(x, branches, &predicated);
    for (int i = 0; i < count; i++) {
      shape = operands[1 + i]->shape;
      branches[i] = shrink(s, branches[i], &shape);
    }
    if (branches[0]) shape = branches[0]->root->shape;
    if (a.true_computation) {
      a.true_computation = branches[0];
      a.false_computation = branches[1];
    } else {
      a.branches.items = branches;
    }
  }
  if (s->failed) return operands[0];
  return make(m, x->opcode, shape, operands, x->operand_count, &a);
}

static Instruction *shrink_broadcast(Shrinker *s, Maker *m, const Instruction *x,
                                     Instruction **operands) {
  bool from_large = is_large(s, x->operands[0]->shape);
  Int64List dimensions = shrink_list(s, x->shape, x->a->dimensions);
  if (dimensions.count != x->a->dimensions.count - (from_large ? s->from->rank - 1 : 0)) {
    return fail(s, operands[0]);
  }
  return make_broadcast(m, operands[0], small_shape(s, x->shape), dimensions);
}

static Instruction *shrink_dimensions(Shrinker *s, Maker *m, const Instruction *x,
                                      Instruction **operands) {
  Attributes a = *x->a;
  a.control_predecessors = (InstructionList){0};
  a.dimensions = shrink_list(s, x->operands[0]->shape, a.dimensions);
  return make(m, x->opcode, NULL, operands, x->operand_count, &a);
}

static Instruction *shrink_instruction(Shrinker *s, Maker *m, const Instruction *x,
                                       Instruction **operands) {
  if (x->operand_count == 0) return shrink_source(s, m, x);
  bool same = true, is_to_large = is_large(s, x->shape);
  for (int k = 0; k < x->operand_count; k++) {
    same &= shape_compatible(x->operands[k]->shape, operands[k]->shape);
  }
  switch (x->opcode) {
  /* Constants inside may be large, too. */
  case HLO_CALL:
  case HLO_WHILE:
  case HLO_CONDITIONAL: return shrink_called(s, m, x, operands);
  case HLO_TUPLE_OP:
  case HLO_GET_TUPLE_ELEMENT: return keep(m, x, NULL, operands);
  case HLO_BROADCAST:
    if (is_to_large) return shrink_broadcast(s, m, x, operands);
    break;
  case HLO_REDUCE:
  case HLO_CONCATENATE:
    if (!same) return shrink_dimensions(s, m, x, operands);
    break;
  case HLO_CONVERT:
  case HLO_BITCAST_CONVERT:
    return keep(m, x, shape_with_type(s->module->arena, operands[0]->shape, x->shape->type),
                operands);
  case HLO_RESHAPE:
    if (!same && !is_to_large) return fail(s, operands[0]);
    if (!same) return make_reshape(m, operands[0], small_shape(s, x->shape));
    break;
  default:
    if (same) break;
    return opcode_is_elementwise(x->opcode) || x->opcode == HLO_COPY ? keep(m, x, NULL, operands)
                                                                     : fail(s, operands[0]);
  }
  return same ? keep(m, x, x->shape, operands) : fail(s, operands[0]);
}

/* Copies a computation for parameters of these shapes; NULL if it cannot. */
static Computation *shrink(Shrinker *s, const Computation *from, const Shape *const *parameters) {
  if (s->failed) return NULL;
  Computation *to = module_add_computation(s->module, "probe");
  Maker m = {to, &s->error, &s->failed};
  computation_renumber((Computation *)from);
  Instruction **map = ARENA_ARRAY(s->module->arena, Instruction *, from->count);
  for (int i = 0; i < from->parameter_count; i++) {
    map[from->parameters[i]->id] = computation_add_parameter(to, i, parameters[i], NULL);
  }
  for (int i = 0; i < from->count && !s->failed; i++) {
    const Instruction *x = from->instructions[i];
    if (map[i]) continue;
    Instruction **operands = ARENA_ARRAY(s->module->arena, Instruction *, x->operand_count);
    for (int k = 0; k < x->operand_count; k++) operands[k] = map[x->operands[k]->id];
    map[i] = shrink_instruction(s, &m, x, operands);
  }
  to->root = map[from->root->id];
  to->keeps_root = true;
  computation_renumber(to);
  return s->failed ? NULL : to;
}

/* ---- Runs ---- */

typedef struct Probe {
  const KnownFunction *f;
  Module *module;
  PrimitiveType type;
  int runs; /* arrays of fewer elements than sides: each side of a point is a run of its own */
  Computation *function, *slopes;
  double points[POINTS][MAX_OPERANDS];
  double step;     /* relative */
  int64_t *budget; /* steps of the evaluator that are left */
} Probe;

static double side_of(const Probe *p, int point, int side) {
  double x = p->points[point][p->f->operands - 1];
  return x + (side - 1) * p->step * fabs(x);
}

/* Runs a computation at a point. Writes each array of the result: an element for each side. */
static bool run_at(const Probe *p, const Computation *c, int point, int count, double *results) {
  Error error = {0};
  Arena *scratch = arena_new();
  EvalContext context = {.arena = scratch, .error = &error, .budget = p->budget};
  Literal *arguments[MAX_OPERANDS];
  bool ran = true;
  for (int run = 0; run < p->runs && ran; run++) {
    for (int k = 0; k < p->f->operands; k++) {
      const Shape *shape = c->parameters[k]->shape;
      arguments[k] = literal_new(scratch, shape);
      for (int i = 0; i < shape_elements(shape); i++) {
        bool is_last = k == p->f->operands - 1;
        Scalar x = {.f = is_last ? side_of(p, point, (run + i) % SIDES) : p->points[point][k]};
        scalar_store(shape->type, arguments[k]->data, i, scalar_convert(F64, shape->type, x));
      }
    }
    const Literal *value = eval_computation(c, arguments, &context);
    ran = value != NULL;
    for (int r = 0; r < count && ran; r++) {
      const Literal *leaf = shape_is_tuple(value->shape) ? value->elements[r] : value;
      for (int i = 0; i < SIDES / p->runs; i++) {
        results[SIDES * r + run + i] = scalar_load(leaf->shape->type, leaf->data, i).f;
      }
    }
  }
  arena_free(scratch);
  return ran;
}

/* ---- Slopes ---- */

/* Makes a computation of a function's slopes; `calls`: formulas may name its results, too. */
static bool make_slopes(Probe *p, bool calls) {
  Error error = {0};
  bool failed = false;
  const KnownFunction *f = p->f;
  p->slopes = module_add_computation(p->module, "probe");
  WorkingComputation working = {.arena = p->module->arena, .m = {p->slopes, &error, &failed}};
  Instruction *operands[MAX_OPERANDS], *results[MAX_RESULTS] = {NULL}, *again = NULL;
  for (int k = 0; k < f->operands; k++) {
    operands[k] = computation_add_parameter(p->slopes, k, p->function->parameters[k]->shape, NULL);
  }
  if (calls) {
    const Shape *shape = p->function->root->shape;
    Instruction *call = make(&working.m, HLO_CALL, shape, operands, f->operands,
                             ATTRIBUTES(.to_apply = p->function));
    again = add_again(&working, f, call, operands);
    for (int i = 0; i < f->results; i++) {
      results[i] = shape_is_tuple(shape) ? computation_add_element(p->slopes, call, i) : call;
    }
  }
  const Shape *shape = operands[f->operands - 1]->shape;
  Instruction *one = make_number(&working.m, shape, 1), *slopes[MAX_RESULTS];
  for (int i = 0; i < f->results; i++) {
    slopes[i] = add_slope(&working, f, i, f->operands - 1, operands, results, again, shape, one);
  }
  p->slopes->root = computation_add_tuple(p->slopes, slopes, f->results);
  return !failed;
}

/* Whether slopes are those of values beside a point. Adds one to *seen if the slope is not small. */
static bool agrees(const Probe *p, int point, const double *values, double slope, int *seen) {
  double x = fabs(p->points[point][p->f->operands - 1]);
  double difference = (values[2] - values[0]) / (2 * p->step * x), size = fabs(values[1]);
  double units = type_bits(p->type) < 32 ? 2 : 16; /* in the last place */
  double rounding = ldexp(units, -type_mantissa_bits(p->type)) / p->step;
  double tolerance = 0.01 * fabs(slope) + rounding * size / x;
  *seen += x * fabs(slope) > 0.02 * size;
  return fabs(difference - slope) <= tolerance;
}

/* Copies `function` for small arrays, and fills in what does not depend on points. */
static bool probe_begin(Probe *p, const KnownFunction *f, Computation *function) {
  const Shape *shape = function->parameters[f->operands - 1]->shape;
  int digits = type_mantissa_bits(shape->type);
  *p = (Probe){.f = f,
               .module = function->module,
               .type = shape->type,
               .runs = shape_elements(shape) < SIDES ? SIDES : 1,
               .function = function,
               .step = ldexp(1, -(digits < 8    ? 3
                                  : digits < 11 ? 5
                                  : digits < 24 ? 8
                                                : 13))};
  for (int i = 0; i < POINTS; i++) {
    for (int k = 0; k < f->operands; k++) p->points[i][k] = f->points[i][k];
  }
  if (shape_elements(shape) <= WHOLE) return true;
  Shrinker s = {.module = p->module, .from = shape};
  const Shape *parameters[MAX_OPERANDS];
  for (int k = 0; k < f->operands; k++) {
    const Shape *of = function->parameters[k]->shape;
    parameters[k] = of->rank ? small_shape(&s, of) : of;
  }
  p->function = shrink(&s, function, parameters);
  return p->function != NULL;
}

/* Returns the last of `count` results for which slopes hold, or -1; with `each`, all must have their own slopes. Points at
** which too few hold end it. */
static int find_result(Probe *p, int count, bool each) {
  Arena *arena = p->module->arena;
  double *values = ARENA_ARRAY(arena, double, count *SIDES), slopes[MAX_RESULTS * SIDES];
  int *seen = ARENA_ARRAY(arena, int, count); /* by result: -1, its slopes do not hold */
  int found = -1, held = count;
  for (int i = 0; i < POINTS && held >= (each ? count : 1); i++) {
    if (!run_at(p, p->function, i, count, values) ||
        !run_at(p, p->slopes, i, p->f->results, slopes))
      return -1;
    for (int r = 0; r < count; r++) {
      double slope = slopes[SIDES * (each ? r : 0) + 1];
      if (seen[r] < 0 || agrees(p, i, values + r * SIDES, slope, &seen[r])) continue;
      seen[r] = -1;
      held--;
    }
  }
  held = 0;
  for (int r = 0; r < count; r++) {
    if (seen[r] <= 0) continue;
    found = r;
    held++;
  }
  return each && held < count ? -1 : found;
}

/* Takes operands that are numbers, and not read, for the points: the computation has them inside. */
static void use_numbers(Probe *p, const Computation *function, Instruction *const *operands) {
  int numbers = 0, others = p->f->operands - 1;
  for (int k = 0; k < others; k++) {
    Scalar value;
    if (computation_reads(function, function->parameters[k]) || !splat_value(operands[k], &value))
      continue;
    numbers++;
    for (int i = 0; i < POINTS; i++) p->points[i][k] = value.f;
  }
  if (!numbers || numbers < others || !p->f->place) return;
  double last[POINTS];
  p->f->place(p->points[0], last);
  for (int i = 0; i < POINTS; i++) p->points[i][others] = last[i];
}

bool slopes_hold(const KnownFunction *f, const Instruction *call) {
  Probe p;
  int64_t budget = CALL_STEPS;
  if (!probe_begin(&p, f, call->a->to_apply) || !make_slopes(&p, true)) return false;
  use_numbers(&p, call->a->to_apply, call->operands);
  p.budget = &budget;
  return find_result(&p, f->results, true) >= 0;
}

int find_root(const KnownFunction *f, Computation *c, Instruction *const *leaves,
              Instruction *const *roots, int count, int64_t *budget) {
  Probe p;
  if (*budget <= 0) return -1;
  Computation *function = outlined(c, "probe", leaves, f->operands, roots, count);
  if (!probe_begin(&p, f, function) || !make_slopes(&p, false)) return -1;
  use_numbers(&p, function, leaves);
  p.budget = budget;
  return find_result(&p, count, false);
}

bool values_hold(const KnownFunction *f, Computation *c, Instruction *leaf, Instruction *root) {
  const Computation *function = outlined(c, "probe", &leaf, 1, &root, 1);
  Shrinker s = {.module = c->module, .from = leaf->shape};
  if (function && shape_elements(leaf->shape) > WHOLE) {
    const Shape *small = small_shape(&s, leaf->shape);
    function = shrink(&s, function, &small);
  }
  bool holds = function != NULL;
  int64_t budget = CALL_STEPS;
  for (int i = 0; i < POINTS && holds; i++) {
    const double *point = f->points[i];
    Error error = {0};
    Arena *scratch = arena_new();
    EvalContext context = {.arena = scratch, .error = &error, .budget = &budget};
    Literal *argument = literal_new(scratch, function->parameters[0]->shape);
    for (int64_t k = 0; k < shape_elements(argument->shape); k++) {
      scalar_store(argument->shape->type, argument->data, k,
                   (Scalar){.f = point[0], .im = point[1]});
    }
    const Literal *value = eval_computation(function, &argument, &context);
    holds = value != NULL;
    if (holds) {
      Scalar z = scalar_load(value->shape->type, value->data, 0);
      holds = fabs(z.f - point[2]) < 1e-5 && fabs(z.im - point[3]) < 1e-5;
    }
    arena_free(scratch);
  }
  return holds;
}
