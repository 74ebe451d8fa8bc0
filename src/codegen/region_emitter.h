/* The function of a region: regions/region.h. */
#ifndef XLA_CODEGEN_REGION_EMITTER_H
#define XLA_CODEGEN_REGION_EMITTER_H

#include "codegen/regions/region.h"
#include "codegen/wasm/wasm_encoder.h"
#include "plan/loop_plan.h"

/* A function as regions see it: its plans, if its loop is to be inlined, and the number of its uses. */
typedef struct WrittenFunction {
  bool planned;
  struct LoopPlans *plans;
  int uses;
} WrittenFunction;

/* Plan the loops to be inlined and count them by function; then emit the region. */
void plan_region(const Region *region, Arena *arena, WrittenFunction *written);
void emit_region(WasmModule *module, const Region *region);

#endif
