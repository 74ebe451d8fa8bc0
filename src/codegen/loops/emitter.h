/*
** The loop emitter's state and the functions that its files share. All code is vector code: a value is
** that of four consecutive elements. A tail of fewer than four runs the same code with one live lane.
** An element's bits therefore do not depend on where a range of work ends.
**
** Four lanes, whatever the element type, in this many vectors ("parts"):
**
**     PRED                        1   i32x4, all ones where true
**     integers up to 32 bits      1   i32x4, sign- or zero-extended
**     64-bit integers             2   i64x2
**     floats up to 32 bits        1   f32x4, with a value that the element type can hold
**     F64                         2   f64x2
**     C64                         2   f32x4: the real parts, the imaginary parts
**     C128                        4   f64x2: real and imaginary parts of two, and of the other two
**
** A loop whose varying values are all integers of 8 bits (or all of 16) and comparisons of these first
** runs with 16 (or 8) lanes of that width: `dense`.
*/
#ifndef XLA_CODEGEN_LOOPS_EMITTER_H
#define XLA_CODEGEN_LOOPS_EMITTER_H

#include "codegen/formulas/expression.h"
#include "codegen/formulas/lanes.h"
#include "codegen/regions/cells.h"
#include "codegen/wasm/wasm_encoder.h"
#include "plan/loop_plan.h"
#include "value/scalar.h"

/* Threshold MAX_PARTS. Test: "rows of element-wise loops: lanes, wide lanes, unrolled, blocks of
** short rows" in core/thresholds.test.mjs. */
enum { MAX_PARTS = 4 };

typedef struct NodeState {
  int value[MAX_PARTS]; /* locals that hold it, or NO_LOCAL */
  bool kept;            /* in a local, as it has more than one user */
  bool loaded_first; /* a leaf that an output may overwrite, so it is loaded before: overwrite.c */
  int pointer; /* leaves: the local with the address, or with iota's value (i64 if has_64_bit_counter) */
  int leader; /* leaves: the id of the leaf whose pointer this one uses, its own or that of an earlier one */
  int64_t beside; /* leaves: the bytes from that pointer to the element, 0 or more */
  int64_t at;     /* of leaves in cells: the byte offset from their array's start */
} NodeState;

/* The outputs that read a node: from the first to the last. */
typedef struct OutputRange {
  int first, last;
} OutputRange;

typedef struct Emitter Emitter;
struct Emitter {
  WasmFunction function;
  /* Pushes one part of a node's value: value_emitter.c, which stands above the emitters of operations. */
  void (*push_value)(Emitter *e, const LoopNode *node, int part);
  const LoopPlan *plan;
  NodeState *nodes;       /* by node id */
  int operand_count;      /* of the fusion: the number of buffers before those of the results */
  int starts[MAX_STARTS]; /* locals with the plan's starts */
  const OutputRange *outputs_of; /* by node id; of a loop with several results, else NULL */
  int *bases; /* locals with the addresses of those buffers that the kernel uses */
  /* In a region: where these buffers are; else NULL, and parameter 0 lists them. */
  const BufferSlice *slices;
  const Cells *cells; /* in a region: the memory that locals replace; else NULL */
  int64_t *stored_at; /* by result in cells: the byte offset of the next element to store */
  int tail;           /* if not 0: the number of live lanes, where all operands are in cells */
  int dense;          /* if not 0: the bytes of a lane, 1 or 2 */
  bool one_lane;      /* only lane 0 of the first part matters, or of the first two if complex */
  /* Of a cumulative kernel: its range counts the steps of all lines, not lines. */
  bool counts_steps;
  int first_step, steps;  /* then: locals with the first of them, and how many there are */
  bool unrounded;         /* narrow floats stay f32: in the sums of a reduction */
  const LoopNode *stored; /* its result stays f32: the store rounds it */
  int64_t lane_zero;      /* elements from the pointers to the first lane */
  int64_t apart;          /* if not 0: the distance of two lanes' results, in elements */
  int64_t first, count;   /* of a box: its range of the kernel's elements */
};

static inline PrimitiveType node_type(const LoopNode *node) {
  return node->instruction->shape->type;
}
static inline bool is_leaf(const LoopNode *node) { return node->kind != NODE_OPERATION; }

/* --- Small pieces --- */

/* Emits an instruction; one of i32x4 becomes its counterpart for the present width of lanes. */
void emit_simd(Emitter *e, int opcode);
static inline void emit_local(Emitter *e, int local) { wasm_get(&e->function, local); }
/* ORDER SIGNATURE */
_Static_assert(SIGNATURE_VECTOR_3 == SIGNATURE_VECTOR + 2, "by arity");
static inline void emit_call(Emitter *e, const char *name, int arity) {
  wasm_call(&e->function, name, (WasmSignature)(SIGNATURE_VECTOR + arity - 1));
}
/* Shifts all lanes by the same amount. */
static inline void emit_shift(Emitter *e, int opcode, int amount) {
  wasm_i32(&e->function, amount);
  emit_simd(e, opcode);
}
/* Pushes a vector with the same bits in all lanes. */
void emit_splat32(Emitter *e, uint32_t bits);
static inline void emit_splat64(Emitter *e, uint64_t bits) {
  wasm_v128(&e->function, (uint64_t[]){bits, bits});
}
/* Copies the v128 on top of the stack into a local of its own. */
static inline int emit_keep(Emitter *e) {
  int local = wasm_local(&e->function, WASM_V128);
  wasm_tee(&e->function, local);
  return local;
}
/* Moves the v128 on top of the stack into a local of its own. */
static inline int emit_take(Emitter *e) {
  int local = wasm_local(&e->function, WASM_V128);
  wasm_set(&e->function, local);
  return local;
}
/* Returns `count` new locals, from the plan's arena. */
int *new_vectors(Emitter *e, int count);

/* Pushes one part of a node's value. */
static inline void emit_value(Emitter *e, const LoopNode *node, int part) {
  e->push_value(e, node, part);
}

#endif
