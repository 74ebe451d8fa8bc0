#include "codegen/codegen.h"

#include "codegen/emitter.h"

static bool is_static_array(const Shape *shape) {
  if (!shape_is_array(shape) || lane_kind(shape->type) == LANES_NONE) return false;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 0 || (shape->dynamic && shape->dynamic[i])) return false;
  }
  return shape_bytes(shape) <= INT32_MAX; /* indices are of 32 bits */
}

bool codegen_can_fuse(const Instruction *instruction) {
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

static bool emit_kernel(WasmModule *module, const Instruction *fusion, Error *error) {
  Arena *arena = arena_new();
  LoopPlan plan;
  bool planned = loop_plan_fusion(&plan, arena, fusion->a.calls);
  if (planned) {
    Emitter emitter = {.plan = &plan};
    wasm_function_begin(&emitter.function, module);
    init_nodes(&emitter);
    emit_loop_kernel(&emitter, fusion->operand_count);
    wasm_function_end(&emitter.function);
  } else {
    error_set_op(error, STATUS_INTERNAL, "fusion", "%s is beyond the loop emitter", fusion->name);
  }
  arena_free(arena);
  return planned;
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
