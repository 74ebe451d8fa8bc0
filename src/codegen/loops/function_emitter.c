/*
** Inlines frequent functions into loops. A call costs half as much as the function that it calls, and a called
** function builds its constants for each vector, three instructions apiece. Inlined functions have them built
** once, at the start of the loops' function.
*/
#include "codegen/loops/function_emitter.h"

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"
#include "codegen/loops/complex_emitter.h"
#include "codegen/loops/expression_emitter.h"
#include "codegen/loops/leaf_emitter.h"

/* --- Ranges ----------------------------------------------------------------------------------- */

enum { NOT_POSITIVE = 1, NOT_NEGATIVE = 2, EITHER = 3 };

/* Returns what is known of a float's sign: NOT_POSITIVE, NOT_NEGATIVE, both, or 0. NaN counts as either. */
static int sign_of(const LoopNode *node, int depth) {
  const Instruction *x = node->instruction;
  if (!type_is_floating(node_type(node)) || depth == 0) return 0;
  if (node->kind == NODE_CONSTANT) {
    double value = scalar_load(node_type(node), x->literal->data, 0).f;
    return (value <= 0 ? NOT_POSITIVE : 0) | (value >= 0 ? NOT_NEGATIVE : 0);
  }
  if (node->kind != NODE_OPERATION || node->operand_count == 0) return 0;
  if (x->opcode == HLO_SUBTRACT) return x->a->derived.at_most_zero ? NOT_POSITIVE : 0;
  int a = sign_of(node->operands[0], depth - 1), b = 0;
  if (node->operand_count > 1) b = sign_of(node->operands[1], depth - 1);
  switch (x->opcode) {
  case HLO_ABS:
  case HLO_EXP:
  case HLO_LOGISTIC: return NOT_NEGATIVE;
  case HLO_NEGATE: return a == NOT_POSITIVE || a == NOT_NEGATIVE ? EITHER - a : a;
  case HLO_MULTIPLY:
    if (node->operands[0] == node->operands[1]) return NOT_NEGATIVE;
    if (a == 0 || b == 0) return 0;
    return a == EITHER || b == EITHER ? EITHER : a == b ? NOT_NEGATIVE : NOT_POSITIVE;
  default: return 0;
  }
}

/* Returns a node's formula. e^(x - max(x)), as in every softmax, has a formula of its own. */
static Formula *formula_of(const LoopNode *node) {
  Opcode opcode = node->instruction->opcode;
  if (opcode == HLO_EXP && node->operands[0]->kind == NODE_OPERATION &&
      node->operands[0]->instruction->a->derived.at_most_zero) {
    return exponential_of_difference;
  }
  return math_formula(opcode, lane_kind(node_type(node)));
}

/* Returns the operands of a function for which its formula does not hold, if they may occur. */
static const Exception *exception_of(const LoopNode *node) {
  /* Threshold MAX_DEPTH. Test: "quotients, and differences from the largest: how far they are
  ** apart" in core/thresholds_programs.test.mjs. */
  enum { MAX_DEPTH = 6 };
  Opcode opcode = node->instruction->opcode;
  if (opcode == HLO_EXP && sign_of(node->operands[0], MAX_DEPTH) & NOT_POSITIVE) return NULL;
  return math_exception(opcode, lane_kind(node_type(node)));
}

/* --- Constant operands -------------------------------------------------------------------------- */

static bool has_64_bit_lanes(LaneKind kind) { return kind == LANES_F64 || kind == LANES_I64; }

static Scalar second_constant(const LoopNode *node) {
  return scalar_load(node_type(node), node->operands[1]->instruction->literal->data, 0);
}

bool is_with_constant(const LoopNode *node) {
  return node->operand_count == 2 && node->operands[1]->kind == NODE_CONSTANT &&
         has_constant_formula(node->instruction->opcode, node_type(node), second_constant(node));
}

static Value formula_with_constant(Expression *expression, const LoopNode *node, Value x) {
  return constant_formula(expression, node->instruction->opcode, node_type(node),
                          second_constant(node), x);
}

/* --- Functions -------------------------------------------------------------------------------- */

bool is_sign_change(Opcode opcode, LaneKind kind) {
  return (opcode == HLO_ABS || opcode == HLO_NEGATE) && (kind == LANES_F32 || kind == LANES_F64);
}

bool has_math(Opcode opcode, LaneKind kind) {
  return !is_sign_change(opcode, kind) && math_formula(opcode, kind) != NULL;
}

/* Replaces the input on top of the stack by a value computed from it. */
static void emit_value_of(Emitter *e, Expression *expression, int input, Value value) {
  int result;
  emit_expression(e, expression, &value, 1, &result);
  wasm_get(&e->function, result);
  wasm_local_release(&e->function, result);
  wasm_local_release(&e->function, input);
}

/* Emits a formula; returns the local with the result. Not inlined, as expressions take much stack. */
__attribute__((noinline)) static int emit_formula(Emitter *e, bool is_64_bit, Formula *formula,
                                                  int input) {
  Expression expression = {.is_64_bit = is_64_bit};
  Value value = formula(&expression, expression_input(&expression, input));
  int result;
  emit_expression(e, &expression, &value, 1, &result);
  return result;
}

static void emit_exception(Emitter *e, bool is_64_bit, const Exception *exception, int input,
                           int result) {
  int where = emit_formula(e, is_64_bit, exception->where, input);
  begin_exception(e, where);
  end_exception(e, where, emit_formula(e, is_64_bit, exception->instead, input), result);
}

void emit_math(Emitter *e, const LoopNode *node) {
  LaneKind kind = lane_kind(node_type(node));
  bool is_64_bit = kind == LANES_F64;
  Formula *formula = formula_of(node);
  int x = emit_take(e), result = emit_formula(e, is_64_bit, formula, x);
  const Exception *exception = exception_of(node);
  if (exception) emit_exception(e, is_64_bit, exception, x, result);
  wasm_get(&e->function, result);
  wasm_local_release(&e->function, result);
  wasm_local_release(&e->function, x);
}

__attribute__((noinline)) static int emit_of_two(Emitter *e, OfTwo *formula, const int *inputs) {
  Expression expression = {0};
  Value x = expression_input(&expression, inputs[0]), y = expression_input(&expression, inputs[1]);
  Value value = formula(&expression, x, y);
  int result;
  emit_expression(e, &expression, &value, 1, &result);
  return result;
}

void emit_binary_function(Emitter *e, const BinaryFunction *function, const char *name) {
  WasmFunction *f = &e->function;
  int y = emit_take(e), x = emit_take(e), inputs[] = {x, y};
  int result = emit_of_two(e, function->formula, inputs);
  if (function->where) {
    int where = emit_of_two(e, function->where, inputs);
    begin_exception(e, where);
    if (!function->instead) {
      wasm_get(f, x);
      wasm_get(f, y);
      emit_call(e, name, 2);
    }
    int instead = function->instead ? emit_of_two(e, function->instead, inputs) : emit_take(e);
    end_exception(e, where, instead, result);
  }
  wasm_get(f, result);
  wasm_local_release(f, result);
  wasm_local_release(f, x);
  wasm_local_release(f, y);
}

void emit_with_constant(Emitter *e, const LoopNode *node) {
  Expression expression = {.is_64_bit = has_64_bit_lanes(lane_kind(node_type(node)))};
  int x = emit_take(e);
  emit_value_of(e, &expression, x,
                formula_with_constant(&expression, node, expression_input(&expression, x)));
}

/* --- Choices ---------------------------------------------------------------------------------- */

bool is_constant_choice(const LoopNode *node) {
  LaneKind kind = lane_kind(node_type(node));
  return node->instruction->opcode == HLO_SELECT && (kind == LANES_F32 || kind == LANES_F64) &&
         node->operands[1]->kind == NODE_CONSTANT && node->operands[2]->kind == NODE_CONSTANT;
}

/* mask ? a : b as b ^ (mask & (a ^ b)) */
static Value choice(Expression *expression, const LoopNode *node, Value mask) {
  Value values[2];
  for (int i = 0; i < 2; i++) {
    const LoopNode *x = node->operands[1 + i];
    values[i] = constant(expression, scalar_load(node_type(x), x->instruction->literal->data, 0).f);
  }
  uint64_t either_or = expression->nodes[values[0]].bits ^ expression->nodes[values[1]].bits;
  return bit_xor(expression, values[1],
                 bit_and(expression, mask, expression_word(expression, either_or)));
}

void emit_constant_choice(Emitter *e, const LoopNode *node) {
  Expression expression = {.is_64_bit = has_64_bit_lanes(lane_kind(node_type(node)))};
  int mask = emit_take(e);
  emit_value_of(e, &expression, mask,
                choice(&expression, node, expression_input(&expression, mask)));
}

bool is_long_function(Opcode opcode, PrimitiveType type) {
  return opcode == HLO_SQRT || opcode == HLO_RSQRT || has_math(opcode, lane_kind(type)) ||
         vector_function(opcode, type);
}
