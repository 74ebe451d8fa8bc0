#include "codegen/loops/expression_emitter.h"

/* --- Writing ---------------------------------------------------------------------------------- */

static void emit_node(Emitter *e, Expression *expression, Value value);

static void emit_by_lane(WasmFunction *f, const ExpressionNode *node) {
  int x = wasm_local(f, WASM_V128);
  wasm_set(f, x);
  for (int lane = 0; lane < 2; lane++) {
    wasm_get(f, x);
    wasm_extract_lane(f, I64X2_EXTRACT_LANE, lane);
    wasm_i64(f, (int64_t)node->bits);
    wasm_op(f, node->op);
    if (lane == 0) wasm_simd(f, I64X2_SPLAT);
  }
  wasm_extract_lane(f, I64X2_REPLACE_LANE, 1);
  wasm_local_release(f, x);
}

static void emit_code(Emitter *e, const ExpressionNode *node) {
  WasmFunction *f = &e->function;
  uint64_t lanes = node->bits;
  switch (node->kind) {
  case EXPRESSION_CONSTANT: emit_splat64(e, node->bits); break;
  case EXPRESSION_SIMD: wasm_simd(f, node->op); break;
  case EXPRESSION_SHIFT: emit_shift(e, node->op, (int)node->bits); break;
  case EXPRESSION_BY_LANE: emit_by_lane(f, node); break;
  case EXPRESSION_SHUFFLE:
    wasm_shuffle32(f, lanes & 7, lanes >> 8 & 7, lanes >> 16 & 7, lanes >> 24 & 7);
    break;
  case EXPRESSION_CALL: wasm_call(f, node->name, node->count); break;
  default: break;
  }
}

/* Pushes a value for one of its users; the last one frees the local. */
static void emit_node(Emitter *e, Expression *expression, Value value) {
  ExpressionNode *node = &expression->nodes[value];
  if (node->local != NO_LOCAL) {
    wasm_get(&e->function, node->local);
    if (--node->uses == 0 && node->kind != EXPRESSION_INPUT) {
      wasm_local_release(&e->function, node->local);
    }
    return;
  }
  for (int i = 0; i < node->count; i++) emit_node(e, expression, node->operands[i]);
  emit_code(e, node);
  if (node->uses > 1 && node->kind != EXPRESSION_CONSTANT) node->local = emit_keep(e);
  node->uses--;
}

void emit_expression(Emitter *e, Expression *expression, const Value *results, int count,
                     int *locals) {
  /* Values that no result needs must not keep their operands in locals. */
  for (int i = 0; i < count; i++) expression->nodes[results[i]].uses++;
  for (Value v = expression->count - 1; v >= 0; v--) {
    if (expression->nodes[v].uses > 0) continue;
    for (int i = 0; i < expression->nodes[v].count; i++)
      expression->nodes[expression->nodes[v].operands[i]].uses--;
  }
  for (int i = 0; i < count; i++) {
    emit_node(e, expression, results[i]);
    locals[i] = wasm_local(&e->function, WASM_V128);
    wasm_set(&e->function, locals[i]);
  }
}

/* --- Lanes that are computed another way ------------------------------------------------------ */

void begin_exception(Emitter *e, int where) {
  wasm_get(&e->function, where);
  wasm_simd(&e->function, I32X4_BITMASK);
  wasm_block(&e->function, OP_IF);
  e->function.is_rare = true;
}

void end_exception(Emitter *e, int where, int instead, int result) {
  WasmFunction *f = &e->function;
  wasm_get(f, instead);
  wasm_get(f, result);
  wasm_get(f, where);
  wasm_simd(f, V128_BITSELECT);
  wasm_set(f, result);
  wasm_op(f, OP_END);
  f->is_rare = false;
  wasm_local_release(f, instead);
  wasm_local_release(f, where);
}
