#include "codegen/loops/emitter.h"

/* The opcodes of lanes of 8, 16 and 32 bits are equally far apart. */
void emit_simd(Emitter *e, int opcode) {
  int steps = e->dense ? 3 - e->dense : 0;
  if (opcode >= I32X4_EQ && opcode <= I32X4_GE_U) opcode -= 10 * steps;
  if (opcode >= I32X4_ABS && opcode <= I32X4_MAX_U) opcode -= 32 * steps;
  wasm_simd(&e->function, opcode);
}

void emit_splat32(Emitter *e, uint32_t bits) {
  if (e->dense == 1) bits = (bits & UINT8_MAX) * 0x01010101u;
  if (e->dense == 2) bits = (bits & UINT16_MAX) * 0x00010001u;
  wasm_v128(&e->function, (uint32_t[]){bits, bits, bits, bits});
}

int *new_vectors(Emitter *e, int count) {
  int *locals = ARENA_ARRAY(e->plan->arena, int, count);
  for (int i = 0; i < count; i++) locals[i] = wasm_local(&e->function, WASM_V128);
  return locals;
}
