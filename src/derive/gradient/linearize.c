/* Walks over a computation, and adds each instruction with its tangent. The simplest rules are here, too. */
#include "derive/gradient/linear.h"
#include "rewrite/base/rewrite.h"

/* ---- The table ---- */

#define ALL                     0xffffffffu
#define FORMULA(...)            .formulas = {__VA_ARGS__}
#define BY_TYPE(real, complex)  .formulas = {real}, .complex_formula = complex
#define LINEAR(bits)            .linear_operands = bits
#define CODE(f)                 .linearize = f
#define CODE_OR_FORMULA(f, ...) .linearize = f, .formulas = {__VA_ARGS__}
#define CODE_OR_LINEAR(f, bits) .linearize = f, .linear_operands = bits
#define REPLACE(f)              .replace = f
#define ZERO                    .is_zero = true
#define NONE(why)               .none = why

const Rule derivative_rules[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes, inference, batch, linearization, \
               transposition)                                                            \
  {linearization, .transpose = transposition},
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

/* ---- The walk ---- */

void linear_begin(WorkingComputation *working, Differentiation *d, const Computation *source) {
  *working = (WorkingComputation){.d = d, .arena = d->module->arena, .source = source};
  working->m = (Maker){module_add_computation(d->module, "differentiated"), d->error, &d->failed};
  working->map = ARENA_ARRAY(working->arena, Instruction *, source->count);
  computation_renumber((Computation *)source);
}

void linear_bind(WorkingComputation *working, const Instruction *parameter, Instruction *value) {
  working->map[parameter->id] = value;
}

Instruction *linear_stand_in(WorkingComputation *working, const Shape *shape, bool linear) {
  Instruction *x =
      computation_add_named(working->m.computation, HLO_CONSTANT, shape, NULL, 0, NULL, "stand_in");
  facts_of(working, x)->linear = linear;
  return x;
}

/* Control dependencies are left out: the order of the list expresses them. */
Instruction *keep_instruction(WorkingComputation *working, const Instruction *from,
                              Instruction *const *operands) {
  Instruction *x = computation_add_named(working->m.computation, from->opcode, from->shape,
                                         operands, from->operand_count, from->a, from->name);
  if (x->a->control_predecessors.count) {
    instruction_attributes(x)->control_predecessors = (InstructionList){0};
  }
  x->literal = from->literal;
  x->line = from->line;
  return x;
}

bool any_derivative(const Shape *shape) {
  if (!shape_is_tuple(shape)) return has_derivative(shape);
  for (int i = 0; i < shape->tuple_size; i++) {
    if (any_derivative(shape->elements[i])) return true;
  }
  return false;
}

/* Applies the operation to the tangents of the operands in which it is linear. */
static void linearize_linear(WorkingComputation *working, Instruction *x,
                             unsigned linear_operands) {
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, x->operand_count);
  bool any = false;
  for (int k = 0; k < x->operand_count; k++) {
    operands[k] = x->operands[k];
    if (!(linear_operands >> (k < 31 ? k : 31) & 1)) continue;
    Instruction *tangent = tangent_of(working, x->operands[k]);
    any |= tangent != NULL;
    operands[k] = tangent ? tangent : make_zeros(&working->m, x->operands[k]->shape);
  }
  if (any) {
    set_tangent(working, x,
                make(&working->m, x->opcode, x->shape, operands, x->operand_count, x->a));
  }
}

static void linearize_formulas(WorkingComputation *working, Instruction *x, const Rule *rule) {
  Instruction *tangent = NULL;
  for (int k = 0; k < x->operand_count && k < 3; k++) {
    Instruction *from = tangent_of(working, x->operands[k]);
    if (!from || !rule->formulas[k]) continue;
    bool is_complex = rule->complex_formula && type_is_complex(x->shape->type);
    const char *formula = is_complex ? rule->complex_formula : rule->formulas[k];
    tangent = make_plus(&working->m, tangent, add_formula(working, formula, x, from));
  }
  set_tangent(working, x, tangent);
}

static bool is_dynamic(const Instruction *x) {
  if (x->shape->dynamic) return true;
  for (int k = 0; k < x->operand_count; k++) {
    if (x->operands[k]->shape->dynamic) return true;
  }
  return false;
}

void linearize(WorkingComputation *working, Instruction *x, const Rule *rule) {
  if (is_dynamic(x)) {
    refuse_derivative(working, x, "has a dynamic dimension; gradients need sizes that are known");
  } else if (rule->none) {
    refuse_derivative(working, x, rule->none);
  } else {
    if (rule->linearize) rule->linearize(working, x);
    if (has_tangent(working, x)) return;
    if (rule->linear_operands)
      linearize_linear(working, x, rule->linear_operands);
    else
      linearize_formulas(working, x, rule);
  }
}

/* Returns the element that a get-tuple-element takes out of a tuple instruction, or NULL. */
static Instruction *element_in(const Instruction *x, const Instruction *tuple) {
  if (x->opcode != HLO_GET_TUPLE_ELEMENT || tuple->opcode != HLO_TUPLE_OP) return NULL;
  return tuple->operands[x->a->tuple_index];
}

/* Whether operand k bounds the result. */
static bool is_bound(Opcode opcode, int k) {
  return opcode == HLO_CLAMP ? k != 1 : opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
}

static Instruction *visit(WorkingComputation *working, const Instruction *from) {
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, from->operand_count);
  bool any = false;
  for (int k = 0; k < from->operand_count; k++) {
    operands[k] = working->map[from->operands[k]->id];
    if (is_bound(from->opcode, k)) operands[k] = as_bound(working, operands[k]);
    any |= has_tangent(working, operands[k]);
  }
  Instruction *element = from->operand_count ? element_in(from, operands[0]) : NULL;
  if (element) return element;
  const Rule *rule = &derivative_rules[from->opcode];
  /* The operand may hold the bits of a float that has a tangent. */
  any |= from->opcode == HLO_BITCAST_CONVERT && !from->shape->dynamic;
  bool is_constant = !any || !any_derivative(from->shape);
  if (is_constant && from->opcode != HLO_CUSTOM_CALL)
    return keep_instruction(working, from, operands);
  if (rule->replace) return rule->replace(working, from, operands);
  Instruction *x = keep_instruction(working, from, operands);
  linearize(working, x, rule);
  return x;
}

bool linear_walk(WorkingComputation *working) {
  for (int i = 0; i < working->source->count && !working->d->failed; i++) {
    const Instruction *from = working->source->instructions[i];
    if (from->opcode != HLO_PARAMETER) working->map[i] = visit(working, from);
  }
  return !working->d->failed;
}

Instruction *linear_inline(WorkingComputation *working, const Computation *computation,
                           Instruction **operands) {
  const Computation *source = working->source;
  Instruction **map = working->map;
  computation_renumber((Computation *)computation);
  working->source = computation;
  working->map = ARENA_ARRAY(working->arena, Instruction *, computation->count);
  for (int i = 0; i < computation->parameter_count; i++) {
    linear_bind(working, computation->parameters[i], operands[i]);
  }
  Instruction *result = linear_walk(working) ? working->map[computation->root->id] : operands[0];
  working->source = source;
  working->map = map;
  return result;
}

void linearize_by_definition(WorkingComputation *working, Instruction *x, Definition *define) {
  Computation *around = working->m.computation;
  Computation *c = working->m.computation =
      module_add_computation(working->d->module, "definition");
  Instruction **parameters = ARENA_ARRAY(working->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    parameters[k] = computation_add_parameter(c, k, x->operands[k]->shape, NULL);
  }
  c->root = define(working, x, parameters);
  c->keeps_root = true;
  working->m.computation = around;
  Instruction *defined = linear_inline(working, c, x->operands);
  for (int i = 0; i < shape_leaves(x->shape); i++) {
    set_tangent_leaf(working, x, i, tangent_leaf(working, defined, i));
  }
}

/* ---- Rules ---- */

void linearize_identity(WorkingComputation *working, Instruction *x) {
  for (int i = 0; i < shape_leaves(x->shape); i++) {
    set_tangent_leaf(working, x, i, tangent_leaf(working, x->operands[0], i));
  }
}

/* tuple: the leaves of the operands in order; get-tuple-element: those of one element. */
void linearize_elements(WorkingComputation *working, Instruction *x) {
  int leaf = 0;
  if (x->opcode == HLO_TUPLE_OP) {
    for (int k = 0; k < x->operand_count; k++) {
      for (int i = 0; i < shape_leaves(x->operands[k]->shape); i++) {
        set_tangent_leaf(working, x, leaf++, tangent_leaf(working, x->operands[k], i));
      }
    }
    return;
  }
  const Shape *tuple = x->operands[0]->shape;
  for (int64_t i = 0; i < x->a->tuple_index; i++) leaf += shape_leaves(tuple->elements[i]);
  for (int i = 0; i < shape_leaves(x->shape); i++) {
    set_tangent_leaf(working, x, i, tangent_leaf(working, x->operands[0], leaf + i));
  }
}

/* From a complex number to a real one, the imaginary part is dropped. */
void linearize_convert(WorkingComputation *working, Instruction *x) {
  if (!has_derivative(x->operands[0]->shape)) return;
  set_tangent(working, x,
              make_convert(&working->m, tangent_of(working, x->operands[0]), x->shape->type));
}

/* |x|: the sign of x times t; for complex numbers, the real part of t conj(x) / |x|, which is 0 at 0. */
void linearize_abs(WorkingComputation *working, Instruction *x) {
  Instruction *of = x->operands[0], *t = tangent_of(working, of);
  if (type_kind(of->shape->type) == KIND_FLOAT) {
    set_tangent(working, x, add_formula(working, "x >= 0 ? t : -t", x, t));
    return;
  }
  Instruction *zero = make_zeros(&working->m, x->shape),
              *one = make_number(&working->m, x->shape, 1);
  Instruction *length =
      make_select(&working->m, make_compare(&working->m, COMPARE_EQ, x, zero), one, x);
  Instruction *direction = make_binary(&working->m, HLO_DIVIDE, make_conjugate(&working->m, of),
                                       make_convert(&working->m, length, of->shape->type));
  set_tangent(
      working, x,
      make_unary(&working->m, HLO_REAL, make_binary(&working->m, HLO_MULTIPLY, t, direction)));
}

/* Whether x is a dot that multiplies each batch of the other operand by one element of operand k. */
static bool is_scaling(const Instruction *x, int k) {
  if (x->opcode != HLO_DOT || x->a->lhs_contracting_dims.count) return false;
  Int64List batch = x->a->lhs_batch_dims;
  for (int i = 0; i < batch.count; i++) {
    if (batch.items[i] != i || x->a->rhs_batch_dims.items[i] != i) return false;
  }
  return x->operands[k]->shape->rank == batch.count;
}

/* d(xy) = tx y + x ty, where the operation may be any that is linear in each of its two operands. */
void linearize_bilinear(WorkingComputation *working, Instruction *x) {
  Instruction *sum = NULL;
  for (int k = 0; k < 2; k++) {
    Instruction *tangent = tangent_of(working, x->operands[k]);
    if (!tangent) continue;
    Instruction *operands[] = {x->operands[0], x->operands[1]};
    operands[k] = tangent;
    Instruction *more;
    if (is_scaling(x, k)) { /* element-wise, so that a select can leave out infinite slopes */
      for (int i = 0; i < 2; i++) {
        operands[i] = make_convert(&working->m, operands[i], x->shape->type);
      }
      operands[k] = make_broadcast(&working->m, operands[k], x->shape, x->a->lhs_batch_dims);
      more = make_binary(&working->m, HLO_MULTIPLY, operands[0], operands[1]);
    } else {
      more = make(&working->m, x->opcode, x->shape, operands, 2, x->a);
    }
    sum = make_plus(&working->m, sum, more);
  }
  set_tangent(working, x, sum);
}
