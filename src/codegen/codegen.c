#include "codegen/codegen.h"

#include "codegen/emitter.h"

static bool is_static_array(const Shape *shape) {
  if (!shape_is_array(shape) || lane_kind(shape->type) == LANES_NONE) return false;
  if (shape->rank > MOST_DIMENSIONS) return false;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 0 || (shape->dynamic && shape->dynamic[i])) return false;
  }
  return shape_bytes(shape) <= INT32_MAX; /* indices are of 32 bits */
}

/* A computation on scalars that can be written out. */
static bool can_combine(const Computation *computation) {
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_TUPLE_OP && x == computation->root) continue;
    if (!shape_is_scalar(x->shape) || lane_kind(x->shape->type) == LANES_NONE) return false;
    if (x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT) continue;
    if (!codegen_can_fuse(x)) return false;
  }
  return true;
}

/* Whether every window lies within the operand; passes/pad_windows.c makes it so. */
static bool is_inside(const Window *window) {
  for (int i = 0; i < window->count; i++) {
    const WindowDimension *d = &window->items[i];
    if (d->padding_low > 0 || d->padding_high > 0 || d->base_dilation != 1 || d->window_reversal) {
      return false;
    }
  }
  return true;
}

/* Sums of 8-bit floats are rounded, and overflow, at every step, so that one taken in another order is
** another one. The evaluator takes XLA's. */
static bool depends_on_order(const Instruction *reduce, const Shape *result) {
  Opcode opcode = reduce_operation(reduce);
  return reduce->opcode == HLO_REDUCE && type_is_floating(result->type) &&
         type_bits(result->type) <= 8 && opcode != HLO_MAXIMUM && opcode != HLO_MINIMUM;
}

static bool can_reduce(const Instruction *reduce) {
  int count = reduce->operand_count / 2;
  for (int i = 0; i < reduce->operand_count; i++) {
    const Shape *shape = reduce->operands[i]->shape;
    if (!is_static_array(shape)) return false;
    if (i < count && !shape_same_dims(shape, reduce->operands[0]->shape)) return false;
  }
  const Shape *result = shape_is_tuple(reduce->shape) ? reduce->shape->elements[0] : reduce->shape;
  if (!is_static_array(result) || !can_combine(reduce->a.to_apply)) return false;
  if (depends_on_order(reduce, result)) return false;
  if (reduce->opcode == HLO_REDUCE) return reduce->a.dimensions.count > 0;
  bool backwards;
  if (cumulative_dimension(reduce, &backwards) >= 0) {
    return !backwards || reduce_operation(reduce) != OPCODE_COUNT; /* the other end comes first */
  }
  return is_inside(&reduce->a.window) && 2 * result->rank <= MOST_DIMENSIONS;
}

/* Updates whose dimensions are those of the indices, then those of the window: then their order is
** that of the index vectors. */
static bool can_scatter(const Instruction *scatter) {
  int count = scatter->operand_count / 2;
  const Attributes *a = &scatter->a;
  for (int i = 0; i < scatter->operand_count; i++) {
    if (!is_static_array(scatter->operands[i]->shape)) return false;
  }
  int updates_rank = scatter->operands[count + 1]->shape->rank;
  for (int i = 0; i < a->update_window_dims.count; i++) {
    if (a->update_window_dims.items[i] != updates_rank - a->update_window_dims.count + i) {
      return false;
    }
  }
  return type_bytes(scatter->operands[count]->shape->type) >= 1 && can_combine(a->to_apply);
}

bool codegen_can_fuse(const Instruction *instruction) {
  if (instruction->opcode == HLO_REDUCE || instruction->opcode == HLO_REDUCE_WINDOW) {
    return can_reduce(instruction);
  }
  if (instruction->opcode == HLO_SCATTER) return can_scatter(instruction);
  if (!is_static_array(instruction->shape)) return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (!is_static_array(instruction->operands[i]->shape)) return false;
  }
  switch (instruction->opcode) {
  case HLO_CONSTANT: return shape_elements(instruction->shape) == 1;
  case HLO_IOTA: return true;
  case HLO_BITCAST: return false; /* those that mean something are about layouts */
  default: break;
  }
  if (is_index_operation(instruction->opcode)) return true;
  switch (opcode_category(instruction->opcode)) {
  case ELEMENTWISE_UNARY:
  case CONVERSION:
  case ELEMENTWISE_BINARY:
  case ELEMENTWISE_TERNARY: return can_emit_operation(instruction);
  default: return false;
  }
}

bool codegen_can_emit(const Instruction *root, bool (*is_input)(const Instruction *, const void *),
                      const void *data) {
  Arena *arena = arena_new();
  LoopPlan plan;
  bool can = loop_plan(&plan, arena, root, is_input, data);
  arena_free(arena);
  return can;
}

/* How many elements go into one result. */
static int64_t elements_per_result(const Instruction *root) {
  int64_t count = 1;
  if (root->opcode == HLO_REDUCE) {
    const Int64List dimensions = root->a.dimensions;
    for (int i = 0; i < dimensions.count; i++) {
      count *= root->operands[0]->shape->dims[dimensions.items[i]];
    }
  } else if (root->opcode == HLO_REDUCE_WINDOW) {
    for (int i = 0; i < root->a.window.count; i++) count *= root->a.window.items[i].size;
  }
  return count;
}

int64_t codegen_chunk(const Instruction *fusion) {
  enum { CHUNK_WORK = 16384, LEAST = 64, LEAST_LINES = 16 };
  const Instruction *root = fusion->a.calls->root;
  bool backwards;
  int along = cumulative_dimension(root, &backwards);
  if (root->opcode == HLO_SCATTER) return INT32_MAX; /* all */
  if (along >= 0) {                                  /* whole lines */
    int64_t line = root->operands[0]->shape->dims[along], lines = CHUNK_WORK / line;
    return line * (lines < LEAST_LINES ? LEAST_LINES : lines & -(int64_t)LEAST_LINES);
  }
  int64_t work = elements_per_result(root); /* 0 where a dimension is empty */
  int64_t chunk = CHUNK_WORK / (work > 0 ? work : 1);
  return chunk < LEAST ? LEAST : chunk & -(int64_t)LEAST;
}

static void emit_scatter(WasmModule *module, const Instruction *fusion, Arena *arena) {
  ScatterPlan plan;
  scatter_plan(&plan, arena, fusion->a.calls->root);
  Emitter emitter = {.plan = &plan.loops, .operand_count = fusion->operand_count};
  wasm_function_begin(&emitter.function, module);
  init_nodes(&emitter);
  emit_scatter_kernel(&emitter, &plan);
  wasm_function_end(&emitter.function);
}

static bool emit_loop(WasmModule *module, const Instruction *fusion, Arena *arena, Error *error) {
  LoopPlan plan;
  if (!loop_plan_fusion(&plan, arena, fusion->a.calls)) {
    return error_set_op(error, STATUS_INTERNAL, "fusion", "%s is beyond the loop emitter",
                        fusion->name);
  }
  Emitter emitter = {.plan = &plan, .operand_count = fusion->operand_count};
  if (plan.reduce) reduce_plan(&plan);
  wasm_function_begin(&emitter.function, module);
  init_nodes(&emitter);
  if (plan.reduce) {
    emit_reduce_kernel(&emitter);
  } else {
    emit_loop_kernel(&emitter);
  }
  wasm_function_end(&emitter.function);
  return true;
}

static bool emit_kernel(WasmModule *module, const Instruction *fusion, Error *error) {
  Arena *arena = arena_new();
  bool ok = true;
  if (fusion->a.calls->root->opcode == HLO_SCATTER) {
    emit_scatter(module, fusion, arena);
  } else {
    ok = emit_loop(module, fusion, arena, error);
  }
  arena_free(arena);
  return ok;
}

bool codegen_emit(Instruction *const *fusions, int count, bool shared_memory, ByteBuf *out,
                  Error *error) {
  WasmModule module = {0};
  bool ok = true;
  for (int i = 0; i < count && ok; i++) ok = emit_kernel(&module, fusions[i], error);
  if (ok) wasm_module_encode(&module, shared_memory, out);
  wasm_module_free(&module);
  return ok;
}
