#include "derive/gradient/caller_rules.h"

#include <string.h>

#include "derive/gradient/body.h"
#include "derive/gradient/functions.h"
#include "derive/gradient/kept_calls.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

/* A mark, in frontend_attributes: see kept_calls.h. */
static const FrontendAttributes with_values = {.text = "{xla_wasm_gradient=\"values\"}"};

static bool has_values(const Instruction *x) { return has_gradient_mark(x, &with_values); }

/* ---- Names ---- */

static const char *entry_of(const char *names, const char *name, size_t length) {
  for (const char *at = names; (at = strchr(at, '\n')) && at[1]; at++) {
    const char *entry = at[1] == '~' ? at + 2 : at + 1;
    if (!strncmp(entry, name, length) && entry[length] == '\n') return entry;
  }
  return NULL;
}

/* Returns the entry with the name of a call, and its length; NULL: it has no rule. */
static const char *rule_name(const CallerRules *rules, const Instruction *x, size_t *length) {
  if (!rules || !rules->names) return NULL;
  const char *name = x->opcode == HLO_CUSTOM_CALL ? x->a->custom_call_target
                     : x->opcode == HLO_CALL      ? x->a->to_apply->name
                                                  : NULL;
  if (!name) return NULL;
  *length = strlen(name);
  for (;;) {
    const char *entry = entry_of(rules->names, name, *length);
    if (entry) return entry;
    size_t shorter = x->opcode == HLO_CALL ? name_stem_length(name, *length) : *length;
    if (shorter == *length) return NULL;
    *length = shorter;
  }
}

bool caller_has_rule(const CallerRules *rules, const Instruction *x) {
  size_t length;
  return rule_name(rules, x, &length) != NULL;
}

/* ---- Calls ---- */

void caller_keep_calls(Module *module, const CallerRules *rules) {
  for (int c = 0; rules && c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      size_t length;
      const char *name = x->opcode == HLO_CALL ? rule_name(rules, x, &length) : NULL;
      if (!name) continue;
      keep_call(x, name, length);
    }
  }
}

void given_set_values(Module *module, Instruction *call, Instruction *const *values, int count) {
  int before = call->operand_count;
  Instruction **operands = ARENA_ARRAY(module->arena, Instruction *, before + count);
  for (int i = 0; i < before; i++) operands[i] = call->operands[i];
  for (int i = 0; i < count; i++) operands[before + i] = values[i];
  call->operands = operands;
  call->operand_count += count;
  instruction_attributes(call)->frontend_attributes = &with_values;
}

/* ---- Rules ---- */

static bool is_same_text(const char *x, const char *y) { return !strcmp(x ? x : "", y ? y : ""); }

static bool is_same_call(const Instruction *x, const Instruction *y) {
  bool same = is_same_text(x->a->custom_call_target, y->a->custom_call_target) &&
              is_same_text(x->a->backend_config, y->a->backend_config) &&
              x->operand_count == y->operand_count && shape_compatible(x->shape, y->shape);
  for (int k = 0; same && k < x->operand_count; k++) {
    same = shape_compatible(x->operands[k]->shape, y->operands[k]->shape);
  }
  return same;
}

/* Makes the program of one call, for which the caller is to give a rule. */
static Module *program_of(const Instruction *x) {
  Module *module = module_new(x->a->custom_call_target);
  Computation *entry = module->entry = module_add_computation(module, "main");
  Instruction **operands = ARENA_ARRAY(module->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    operands[k] =
        computation_add_parameter(entry, k, shape_copy(module->arena, x->operands[k]->shape), NULL);
  }
  const char *config = x->a->backend_config;
  entry->root = computation_add(
      entry, HLO_CUSTOM_CALL, shape_copy(module->arena, x->shape), operands, x->operand_count,
      ATTRIBUTES(.custom_call_target = arena_strdup(module->arena, x->a->custom_call_target),
                 .backend_config = config ? arena_strdup(module->arena, config) : NULL));
  return module;
}

/* Returns the rule of a call; NULL, with the call in `wanted`, if it is not there yet. */
static const Module *rule_of(WorkingComputation *working, const Instruction *x) {
  CallerRules *rules = working->d->rules;
  for (int i = 0; i < rules->count; i++) {
    if (is_same_call(rules->items[2 * i]->entry->root, x)) return rules->items[2 * i + 1];
  }
  if (!working->d->failed) rules->wanted = program_of(x);
  no_derivative(working, x, "has a rule, which is not there yet");
  return NULL;
}

/* A call with the leaves of its operands and results. */
typedef struct Given {
  const Module *rule;
  const Instruction *x;
  Values operands, results;
} Given;

/* Whether a linear instruction is linear in the operands that depend on tangents, and can be transposed. */
static bool is_transposable(WorkingComputation *working, const Instruction *x) {
  const Rule *rule = &derivative_rules[x->opcode];
  unsigned allowed = rule->linear_operands ? rule->linear_operands : ~0u;
  if (x->opcode == HLO_DIVIDE) allowed = 1;
  int count = 0;
  for (int k = 0; k < x->operand_count; k++) {
    if (!is_linear(working, x->operands[k])) continue;
    if (!(allowed >> (k < 31 ? k : 31) & 1)) return false;
    count++;
  }
  bool is_product =
      x->opcode == HLO_MULTIPLY || x->opcode == HLO_DOT || x->opcode == HLO_CONVOLUTION;
  if (is_product && count > 1) return false;
  if (x->opcode == HLO_REDUCE && computation_simple_binary(x->a->to_apply) != HLO_ADD) return false;
  return rule->transpose != NULL || x->opcode == HLO_TUPLE_OP;
}

/* Adds the instructions of a rule, for these arguments. Returns its results. */
static Instruction **apply_rule(WorkingComputation *working, const Given *given,
                                const Values *arguments) {
  Computation *rule = module_clone_computation(working->d->module, given->rule->entry, NULL);
  computation_renumber(rule);
  Instruction **map = ARENA_ARRAY(working->arena, Instruction *, rule->count);
  for (int i = 0; i < rule->parameter_count; i++) {
    map[rule->parameters[i]->id] = arguments->items[i];
  }
  for (int i = 0; i < rule->count && !working->d->failed; i++) {
    const Instruction *from = rule->instructions[i];
    if (from->opcode == HLO_PARAMETER) continue;
    Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, from->operand_count);
    for (int k = 0; k < from->operand_count; k++) operands[k] = map[from->operands[k]->id];
    map[i] = keep_instruction(working, from, operands);
    if (working->d->reverse && is_linear(working, map[i]) && !is_transposable(working, map[i])) {
      no_derivative(working, given->x,
                    arena_printf(working->arena,
                                 "has a jvp rule that is not linear in the tangents at %s; reverse "
                                 "mode transposes it, or takes a vjp: register one",
                                 opcode_name(from->opcode)));
    }
  }
  return working->d->failed ? NULL : map[rule->root->id]->operands;
}

static Values arguments_of(WorkingComputation *working, const Given *given) {
  Values arguments = {0};
  for (int i = 0; i < given->operands.count; i++) {
    values_push(working, &arguments, given->operands.items[i]);
  }
  for (int i = 0; i < given->results.count; i++) {
    values_push(working, &arguments, given->results.items[i]);
  }
  return arguments;
}

/* Whether a rule's tangent or cotangent is a constant 0. JAX's has none, and a product of 0 and infinity would be NaN. */
static bool is_no_tangent(const Instruction *x) { return is_splat_of(x, 0); }

static void transpose_given(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  const Given *given = facts_of(working, x)->data;
  Values arguments = arguments_of(working, given);
  int next = 0, input = 0;
  for (int i = 0; i < given->results.count; i++) {
    const Shape *shape = given->results.items[i]->shape;
    if (!has_derivative(shape)) continue;
    values_push(working, &arguments, ct[next] ? ct[next] : make_zeros(&working->m, shape));
    next++;
  }
  Instruction **cotangents = apply_rule(working, given, &arguments);
  next = 0;
  for (int k = 0; cotangents && k < given->operands.count; k++) {
    Instruction *operand = given->operands.items[k];
    if (!has_derivative(operand->shape)) continue;
    if (tangent_of(working, operand)) {
      Instruction *of = x->operands[input++];
      if (!is_no_tangent(cotangents[next])) add_cotangent(working, of, cotangents[next]);
    }
    next++;
  }
}

static void use_vjp(WorkingComputation *working, const Given *given, Instruction *value) {
  Values inputs = {0};
  bool *active = ARENA_ARRAY(working->arena, bool, given->results.count);
  for (int k = 0; k < given->operands.count; k++) {
    Instruction *tangent = tangent_of(working, given->operands.items[k]);
    if (tangent) values_push(working, &inputs, tangent);
  }
  for (int i = 0; i < given->results.count; i++) {
    active[i] = has_derivative(given->results.items[i]->shape);
  }
  set_linear_results(working, value, active, &inputs, transpose_given, given);
}

static void use_jvp(WorkingComputation *working, const Given *given, Instruction *value) {
  Values arguments = arguments_of(working, given);
  for (int k = 0; k < given->operands.count; k++) {
    Instruction *operand = given->operands.items[k], *tangent = tangent_of(working, operand);
    if (!has_derivative(operand->shape)) continue;
    values_push(working, &arguments, tangent ? tangent : make_zeros(&working->m, operand->shape));
  }
  Instruction **tangents = apply_rule(working, given, &arguments);
  for (int i = 0, next = 0; tangents && i < given->results.count; i++) {
    if (!has_derivative(given->results.items[i]->shape)) continue;
    Instruction *tangent = tangents[next++];
    if (!is_no_tangent(tangent)) set_tangent_leaf(working, value, i, tangent);
  }
  note_elements(working, value);
}

/* Adds the leaves of a value, which get its tangents. */
static void push_leaves(WorkingComputation *working, Instruction *x, Values *out) {
  int count = shape_leaves(x->shape);
  Instruction **leaves = ARENA_ARRAY(working->arena, Instruction *, count);
  make_leaves(working, x, leaves);
  for (int i = 0; i < count; i++) {
    if (leaves[i] != x) set_tangent(working, leaves[i], tangent_leaf(working, x, i));
    values_push(working, out, leaves[i]);
  }
}

/* Adds the value of a call: the call itself, or values that it has as operands. */
static Instruction *add_value(WorkingComputation *working, const Instruction *x,
                              Instruction **operands) {
  if (!has_values(x)) {
    Instruction *value = keep_instruction(working, x, operands);
    if (is_kept_call(value)) restore_kept_call(value);
    return value;
  }
  Instruction *const *values = operands + x->operand_count - shape_leaves(x->shape);
  return value_from_leaves(&working->m, x->shape, &values);
}

/* A call whose values are computed again. */
static Instruction *replace_kept(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands) {
  Instruction *call = ARENA_NEW(working->arena, Instruction);
  *call = *x;
  restore_kept_call(call);
  return replace_recomputed(working, call, operands);
}

Instruction *replace_custom_call(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands) {
  size_t length;
  const char *entry = is_kept_call(x) ? rule_name(working->d->rules, x, &length) : NULL;
  if (entry && entry[-1] == '~') return replace_kept(working, x, operands);
  bool is_known = is_kept_call(x) && !caller_has_rule(working->d->rules, x);
  if (is_known) return replace_known(working, x, operands, kept_function(x));
  Instruction *value = add_value(working, x, operands);
  bool any = false;
  int count = x->operand_count - (has_values(x) ? shape_leaves(x->shape) : 0);
  for (int k = 0; k < count; k++) any |= has_tangent(working, operands[k]);
  if (!any || !any_derivative(x->shape)) return value;
  if (!caller_has_rule(working->d->rules, x)) {
    static const Rule library = {.linearize = linearize_custom_call};
    linearize(working, value, &library);
    return value;
  }
  Given *given = ARENA_NEW(working->arena, Given);
  Instruction *call = (Instruction *)x;
  if (has_values(x)) {
    call = ARENA_NEW(working->arena, Instruction);
    *call = *x;
    call->operand_count = count;
  }
  *given = (Given){rule_of(working, call), x, {0}, {0}};
  if (!given->rule) return value;
  for (int k = 0; k < count; k++) push_leaves(working, operands[k], &given->operands);
  push_leaves(working, value, &given->results);
  if (!strcmp(given->rule->name, "jvp")) {
    use_jvp(working, given, value);
  } else {
    use_vjp(working, given, value);
  }
  return value;
}
