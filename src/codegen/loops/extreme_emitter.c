/*
** Emits maxima and minima of floats, whose zeros have signs and which a NaN wins.
**
** The result is NaN if any element is, and a zero has the right sign. f32x4.max and min take an engine eight
** instructions for that; the machine's own instruction, pmax or pmin, handles neither. So pmax or pmin is
** used, with two more accumulators: whether there was a NaN, and all signs. If the result is 0, a maximum is
** negative if all elements are, and a minimum if any is.
*/
#include "codegen/formulas/lanes.h"
#include "codegen/loops/reducer.h"
#include "plan/reduction.h"

int extreme_instruction(const LoopPlan *plan) {
  return plan->extreme == HLO_MAXIMUM ? F32X4_PMAX : plan->extreme == HLO_MINIMUM ? F32X4_PMIN : 0;
}

void emit_begin_extreme(Emitter *e, const Reducer *reducer, const int *accumulator) {
  if (!reducer->extreme) return;
  emit_local(e, accumulator[EXTREME]);
  emit_local(e, accumulator[EXTREME]);
  emit_simd(e, F32X4_NE);
  wasm_set(&e->function, accumulator[NANS]);
  emit_local(e, accumulator[EXTREME]);
  wasm_set(&e->function, accumulator[SIGNS]);
}

void emit_more_extreme(Emitter *e, const Reducer *reducer, const int *accumulator) {
  int value = reducer->values[0];
  emit_local(e, accumulator[EXTREME]);
  emit_local(e, value);
  emit_simd(e, reducer->extreme);
  wasm_set(&e->function, accumulator[EXTREME]);
  emit_local(e, accumulator[NANS]);
  emit_local(e, value);
  emit_local(e, value);
  emit_simd(e, F32X4_NE);
  emit_simd(e, V128_OR);
  wasm_set(&e->function, accumulator[NANS]);
  emit_local(e, accumulator[SIGNS]);
  emit_local(e, value);
  emit_simd(e, reducer->extreme == F32X4_PMAX ? V128_AND : V128_OR);
  wasm_set(&e->function, accumulator[SIGNS]);
}

void emit_join_extremes(Emitter *e, const Reducer *reducer, const int *accumulator,
                        const int *more) {
  int signs = reducer->extreme == F32X4_PMAX ? V128_AND : V128_OR;
  int instructions[] = {[EXTREME] = reducer->extreme, [NANS] = V128_OR, [SIGNS] = signs};
  for (int part = EXTREME; part <= SIGNS; part++) {
    emit_local(e, accumulator[part]);
    emit_local(e, more[part]);
    emit_simd(e, instructions[part]);
    wasm_set(&e->function, accumulator[part]);
  }
}

/* x + 0 is never -0. */
void emit_end_extreme(Emitter *e, const Reducer *reducer, const int *accumulator) {
  if (!reducer->extreme) return;
  emit_local(e, accumulator[EXTREME]);
  emit_splat32(e, 0);
  emit_simd(e, F32X4_ADD);
  emit_local(e, accumulator[EXTREME]);
  emit_splat32(e, 0);
  emit_simd(e, F32X4_EQ);
  emit_local(e, accumulator[SIGNS]);
  emit_simd(e, V128_AND);
  emit_splat32(e, 0x80000000);
  emit_simd(e, V128_AND);
  emit_simd(e, V128_OR);
  emit_local(e, accumulator[NANS]);
  emit_simd(e, V128_OR);
  wasm_set(&e->function, accumulator[EXTREME]);
}

/* Returns the integer instruction for a cumulative maximum or minimum, or 0. Each step waits for the one before,
** and so for those eight instructions; on order keys it is one. The key of a float is its bits as an integer; of
** a negative float, with all bits but the sign flipped. A NaN gets the key that wins. */
int ordered_instruction(const LoopPlan *plan) {
  if (!plan->cumulative || plan->output_count != 1) return 0;
  if (lane_kind(node_type(plan->outputs[0])) != LANES_F32) return 0;
  Opcode opcode = reduce_operation(plan->reduce);
  return opcode == HLO_MAXIMUM ? I32X4_MAX_S : opcode == HLO_MINIMUM ? I32X4_MIN_S : 0;
}

void emit_ordered(Emitter *e, const Reducer *reducer, int value) {
  if (!reducer->ordered) return;
  emit_local(e, value);
  emit_order_key(e, LANES_F32);
  emit_splat32(e, reducer->ordered == I32X4_MAX_S ? 0x7fffffff : 0x80000000);
  emit_local(e, value);
  emit_local(e, value);
  emit_simd(e, F32X4_EQ);
  emit_simd(e, V128_BITSELECT);
  wasm_set(&e->function, value);
}
