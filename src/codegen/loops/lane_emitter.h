/* Elements' bits and their values in lanes. */
#ifndef XLA_CODEGEN_LOOPS_LANE_EMITTER_H
#define XLA_CODEGEN_LOOPS_LANE_EMITTER_H

#include "codegen/loops/emitter.h"

int node_parts(const LoopNode *node);
/* Returns the number of live parts; they are the first ones. */
int live_parts(const Emitter *e, PrimitiveType type);

static inline int lanes_now(const Emitter *e) {
  return e->one_lane ? 1 : e->dense ? 16 / e->dense : LANES;
}

/* Pushes one part of an element of `type` in all lanes. */
void emit_scalar(Emitter *e, PrimitiveType type, Scalar value, int part);

/* Cuts an integer to its width, rounds a float to its type. */
void emit_round(Emitter *e, PrimitiveType type);

/* Convert the top of the stack between an element's bits and its value. The bits are an i32x4 (types of up
** to 32 bits), sign-extended for signed integers and else zero-extended. */
void emit_bits_to_value(Emitter *e, PrimitiveType type);
void emit_value_to_bits(Emitter *e, PrimitiveType type);
/* Rounds an f32 to `type` and replaces it by its bits. */
void emit_rounded_bits(Emitter *e, PrimitiveType type);

/* Splats bits32 or bits64, by the kind. */
void emit_splat_of(Emitter *e, LaneKind kind, uint32_t bits32, uint64_t bits64);
void emit_twice(Emitter *e); /* x -> x, x */
/* Converts a float's bits to an integer that orders as totalOrder (IEEE 754-2019, 5.10) does, and back: of negative numbers,
** all bits but the sign are flipped. */
void emit_order_key(Emitter *e, LaneKind kind);
/* Widens lanes 0 and 1 (part 0) or 2 and 3 of an i32x4 to i64x2. */
void emit_widen(Emitter *e, bool with_sign, int part);
/* Moves the lanes of part 0 or 1 to lanes 0 and 1. */
void emit_take_part(Emitter *e, int part);

#endif
