#include "derive/gradient/kept_calls.h"

#include <string.h>

static const FrontendAttributes kept_call = {.text = "{xla_wasm_gradient=\"call\"}"};

bool has_gradient_mark(const Instruction *x, const FrontendAttributes *mark) {
  const FrontendAttributes *attributes =
      x->opcode == HLO_CUSTOM_CALL ? x->a->frontend_attributes : NULL;
  return attributes && attributes->text && !strcmp(attributes->text, mark->text);
}

bool is_kept_call(const Instruction *x) { return has_gradient_mark(x, &kept_call); }

void keep_call(Instruction *call, const char *name, size_t length) {
  Attributes *a = instruction_attributes(call);
  a->custom_call_target = arena_printf(call->parent->module->arena, "%.*s", (int)length, name);
  a->frontend_attributes = &kept_call;
  call->opcode = HLO_CUSTOM_CALL;
}

void restore_kept_call(Instruction *x) {
  Attributes *a = instruction_attributes(x);
  a->custom_call_target = NULL;
  a->frontend_attributes = NULL;
  x->opcode = HLO_CALL;
}

void restore_kept_calls(Module *module) {
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      if (is_kept_call(x)) restore_kept_call(x);
    }
  }
}

size_t name_stem_length(const char *name, size_t length) {
  size_t end = length;
  while (end && name[end - 1] >= '0' && name[end - 1] <= '9') end--;
  return end > 1 && end < length && strchr("._", name[end - 1]) ? end - 1 : length;
}
