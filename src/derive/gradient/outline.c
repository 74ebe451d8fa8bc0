/*
** Finds functions that exporters write into their callers: the incomplete gamma and beta functions of JAX, by their loops;
** roots, logarithms and inverse functions of complex numbers, and the error function's complement and inverse, by their values.
**
** The loop's condition tests for convergence, and its initial values include the function's operands. So operands are looked for
** among the initial values, and numbers also in the loop's body. The function's value is the last one that depends on
** nothing but these operands, comes after the loop, and has the function's slopes at a few points (probe.c).
*/
#include <math.h>

#include "derive/gradient/functions.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

/* LOOP_STEPS: of the evaluator, for all trials of a loop. A loop that computes none of these functions uses all of them: those
** of jax.random.poisson took 12 s without a limit. */
enum {
  /* Threshold MAX_CANDIDATES: a loop with more operands is differentiated as written. No path in tests. */
  MAX_CANDIDATES = 12,
  /* Threshold MAX_ROOTS: a function of more instructions is differentiated as written. No path in tests. */
  MAX_ROOTS = 256,
  /* Threshold MAX_TRIALS: the loop is differentiated as written after these. No path in tests. */
  MAX_TRIALS = 100,
  /* Threshold MAX_NEAR: a function of more instructions is differentiated as written. No path in tests. */
  MAX_NEAR = 4096,
  /* Threshold MAX_ARGUMENTS: complex numbers that are tried as the operand of a function; JAX's formulas have at most two
  ** inside. No path in tests. */
  MAX_ARGUMENTS = 3,
  /* Threshold LOOP_STEPS: a loop that takes longer is differentiated as written. No path in tests. */
  LOOP_STEPS = 1 << 19
};

/* ---- The loop ---- */

/* Smaller numbers in a loop are tolerances, and no operands of the function. */
static const double SMALLEST = 1e-5;

/* Whether the condition reads a predicate of the state. */
static bool goes_on_by_flags(const Instruction *x) {
  if (x->opcode != HLO_WHILE || x->operands[0]->opcode != HLO_TUPLE_OP) return false;
  const Computation *condition = x->a->condition;
  for (int i = 0; i < condition->count; i++) {
    const Instruction *at = condition->instructions[i];
    if (at->opcode == HLO_GET_TUPLE_ELEMENT && at->shape->type == PRED) return true;
  }
  return false;
}

typedef struct Search {
  Computation *c;
  Instruction *loop;
  bool *live; /* by id: the computation's root depends on it */
  Instruction *candidates[MAX_CANDIDATES];
  int count, trials;
  int64_t budget;
} Search;

static void add_candidate(Search *s, Instruction *x) {
  if (x->shape->type != F32 && x->shape->type != F64) return;
  Scalar value, other;
  bool is_number = splat_value(x, &value);
  if (is_number && !(fabs(value.f) > SMALLEST && isfinite(value.f))) return;
  for (int i = 0; i < s->count; i++) {
    Instruction *y = s->candidates[i];
    if (y == x || (is_number && splat_value(y, &other) && value.f == other.f)) return;
  }
  if (s->count < MAX_CANDIDATES) s->candidates[s->count++] = x;
}

/* Numbers of the body become constants of the computation around it. */
static void add_numbers(Search *s) {
  const Computation *body = s->loop->a->body;
  for (int i = 0; i < body->count; i++) {
    const Instruction *x = body->instructions[i];
    bool is_float = x->shape->type == F32 || x->shape->type == F64;
    if (x->opcode != HLO_CONSTANT || !is_float || x->shape->rank) continue;
    Scalar value = scalar_load(x->shape->type, x->literal->data, 0);
    add_candidate(s, computation_add_number(s->c, x->shape->type, value));
  }
  computation_renumber(s->c);
}

/* Adds the initial values of the loop, in the computation's order: a value comes after those that it depends on. A select
** among them may exchange operands, so both its branches are candidates. */
static void add_candidates(Search *s) {
  const Instruction *init = s->loop->operands[0];
  bool *is_candidate = ARENA_ARRAY(s->c->module->arena, bool, s->c->count);
  for (int i = 0; i < init->operand_count; i++) {
    const Instruction *x = init->operands[i];
    is_candidate[x->id] = true;
    for (int k = 1; x->opcode == HLO_SELECT && k <= 2; k++) is_candidate[x->operands[k]->id] = true;
  }
  for (int i = 0; i < s->loop->id; i++) {
    if (is_candidate[i]) add_candidate(s, s->c->instructions[i]);
  }
}

/* ---- The function around it ---- */

/* The values that a value depends on. */
typedef enum Kind {
  CONSTANT_VALUE, /* constants only */
  OF_LEAVES,      /* constants and leaves */
  OF_OTHERS
} Kind;

/* Lists the values that depend on nothing but leaves and come after the loop, of the last leaf's shape. */
static int find_roots(const Search *s, Instruction *const *leaves, int count, Instruction **roots) {
  Computation *c = s->c;
  const Instruction *last = leaves[count - 1];
  signed char *kind = ARENA_ARRAY(c->module->arena, signed char, c->count);
  bool *after = ARENA_ARRAY(c->module->arena, bool, c->count);
  int found = 0;
  for (int k = 0; k < count; k++) kind[leaves[k]->id] = OF_LEAVES;
  for (int i = 0; i < c->count; i++) {
    Instruction *x = c->instructions[i];
    bool is_leaf = kind[i] == OF_LEAVES;
    if (x->opcode == HLO_PARAMETER && !is_leaf) kind[i] = OF_OTHERS;
    for (int k = 0; k < x->operand_count && is_leaf; k++) {
      if (kind[x->operands[k]->id] == OF_LEAVES) return 0;
    }
    for (int k = 0; k < x->operand_count && !is_leaf; k++) {
      int operand = x->operands[k]->id;
      if (kind[operand] > kind[i]) kind[i] = kind[operand];
      after[i] |= after[operand];
    }
    if (!is_leaf && (instruction_has_side_effect(x) || opcode_category(x->opcode) == COLLECTIVE)) {
      kind[i] = OF_OTHERS;
    }
    after[i] |= x == s->loop;
    if (x == s->loop && kind[i] != OF_LEAVES) return 0;
    if (!after[i] || kind[i] != OF_LEAVES || !s->live[i] || x->shape->type != last->shape->type ||
        !shape_same_dims(x->shape, last->shape)) {
      continue;
    }
    if (found < MAX_ROOTS) roots[found++] = x;
  }
  return found;
}

static bool try_leaves(Search *s, const KnownFunction *f, Instruction **leaves) {
  Scalar value;
  Instruction *roots[MAX_ROOTS];
  const Shape *shape = leaves[f->operands - 1]->shape;
  if (splat_value(leaves[f->operands - 1], &value)) return false;
  for (int k = 0; k < f->operands; k++) {
    const Shape *other = leaves[k]->shape;
    if (other->type != shape->type || (other->rank && !shape_same_dims(other, shape))) return false;
    for (int i = 0; i < k; i++) {
      if (leaves[i] == leaves[k] && !splat_value(leaves[k], &value)) return false;
    }
  }
  int count = find_roots(s, leaves, f->operands, roots);
  if (!count || s->trials++ >= MAX_TRIALS) return false;
  int root = find_root(f, s->c, leaves, roots, count, &s->budget);
  if (root < 0) return false;
  Computation *to = outlined(s->c, f->name, leaves, f->operands, roots + root, 1);
  instruction_become(roots[root], HLO_CALL, leaves, f->operands, ATTRIBUTES(.to_apply = to));
  keep_known(roots[root], f);
  computation_sort(s->c);
  return true;
}

/* Tries lists of the first candidates as the operands of a function. Each contains the last of these. */
static bool try_lists(Search *s, const KnownFunction *f, int candidates) {
  int lists = 1;
  for (int k = 0; k < f->operands; k++) lists *= candidates;
  for (int number = 0; number < lists; number++) {
    Instruction *leaves[MAX_OPERANDS];
    bool has_last = false;
    for (int k = f->operands - 1, rest = number; k >= 0; k--, rest /= candidates) {
      leaves[k] = s->candidates[rest % candidates];
      has_last |= rest % candidates == candidates - 1;
    }
    if (has_last && try_leaves(s, f, leaves)) return true;
  }
  return false;
}

/* Tries all lists of candidates as the operands of a function: first those near the computation's parameters. */
static bool try_function(Search *s, const char *name) {
  const KnownFunction *f = known_function(name, NULL);
  s->trials = 0;
  for (int n = 1; n <= s->count; n++) {
    if (try_lists(s, f, n)) return true;
  }
  return false;
}

static bool *find_live(const Computation *c) {
  bool *live = ARENA_ARRAY(c->module->arena, bool, c->count);
  live[c->root->id] = true;
  for (int i = c->count - 1; i >= 0; i--) {
    const Instruction *x = c->instructions[i];
    for (int k = 0; live[i] && k < x->operand_count; k++) live[x->operands[k]->id] = true;
  }
  return live;
}

/* ---- Functions without a loop ---- */

/* Lists complex numbers whose real parts x depends on, the nearest first, if it depends on a root, or on a logarithm and an
** angle, too. Formulas have other complex numbers inside. */
static int find_arguments(const Computation *c, const Instruction *x, Instruction **arguments) {
  bool needed[MAX_NEAR] = {true}; /* by the distance from x */
  bool has_log = false, has_angle = false, has_root = false;
  int count = 0;
  for (int i = 0; i < MAX_NEAR && i <= x->id; i++) {
    if (!needed[i]) continue;
    const Instruction *at = c->instructions[x->id - i];
    has_log |= at->opcode == HLO_LOG1P;
    has_angle |= at->opcode == HLO_ATAN2;
    has_root |= at->opcode == HLO_SQRT;
    bool is_listed = count && at->opcode == HLO_REAL && arguments[count - 1] == at->operands[0];
    if (at->opcode == HLO_REAL && !is_listed && count < MAX_ARGUMENTS) {
      arguments[count++] = at->operands[0];
    }
    for (int k = 0; k < at->operand_count; k++) {
      int distance = x->id - at->operands[k]->id;
      if (opcode_is_elementwise(at->opcode) && distance < MAX_NEAR) needed[distance] = true;
    }
  }
  return has_root || (has_log && has_angle) ? count : 0;
}

/* Makes a value a call, if it is a function of `leaf` with this name. */
static bool outline_value(Computation *c, const char *name, Instruction *leaf, Instruction *x) {
  const KnownFunction *f = known_function(name, NULL);
  if (leaf->shape->type != x->shape->type || !shape_same_dims(leaf->shape, x->shape)) return false;
  if (!values_hold(f, c, leaf, x)) return false;
  Computation *to = outlined(c, name, &leaf, 1, &x, 1);
  instruction_become(x, HLO_CALL, &leaf, 1, ATTRIBUTES(.to_apply = to));
  keep_known(x, f);
  return true;
}

static void outline_complex_function(Computation *c, Instruction *x) {
  static const char *const names[] = {"complex_sqrt", "complex_log",   "complex_log1p",
                                      "complex_atan", "complex_atanh", "complex_asin",
                                      "complex_acos", "complex_asinh", "complex_acosh"};
  Instruction *arguments[MAX_ARGUMENTS];
  int count = x->opcode == HLO_COMPLEX ? find_arguments(c, x, arguments) : 0;
  for (int i = 0; i < count; i++) {
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
      if (outline_value(c, names[n], arguments[i], x)) return;
    }
  }
}

/* |x| < 1 ? 1 - erf(x) : ...; |x| == 1 ? x * infinity : ... */
static void outline_error_function(Computation *c, Instruction *x) {
  const Instruction *test = x->opcode == HLO_SELECT ? x->operands[0] : NULL;
  if (!test || test->opcode != HLO_COMPARE || test->operands[0]->opcode != HLO_ABS) return;
  Scalar one;
  if (!splat_value(test->operands[1], &one) || one.f != 1) return;
  if (x->shape->type != F32 && x->shape->type != F64) return;
  bool is_inverse = test->a->direction == COMPARE_EQ;
  outline_value(c, is_inverse ? "erf_inv" : "erfc", test->operands[0]->operands[0], x);
}

void functions_outline(Module *module) {
  /* igammac has igamma inside. */
  static const char *const names[] = {"igammac", "igamma", "betainc"};
  for (int c = 0, count = module->count; c < count; c++) {
    Computation *computation = module->computations[c];
    computation_renumber(computation);
    for (int i = 0, last = computation->count; i < last; i++) {
      Search s = {.c = computation, .loop = computation->instructions[i], .budget = LOOP_STEPS};
      if (shape_is_array(s.loop->shape) && !s.loop->shape->dynamic &&
          shape_elements(s.loop->shape)) {
        outline_complex_function(computation, s.loop);
        outline_error_function(computation, s.loop);
      }
      if (!goes_on_by_flags(s.loop)) continue;
      if (!find_live(computation)[i]) continue;
      add_candidates(&s);
      add_numbers(&s);
      s.live = find_live(computation);
      for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        if (try_function(&s, names[n])) break;
      }
    }
  }
}
