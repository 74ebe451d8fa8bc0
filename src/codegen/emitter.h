/*
** The two halves of the loop emitter. All code is vector code: a value is the value of four
** consecutive elements. Where fewer are left than four, the same code runs with one lane that
** means something, so that an element's bits do not depend on where a range of work ends.
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
** Where all that changes from element to element is integers of 8 bits, or of 16, and what is compared of them,
** loops have lanes of that width first (`dense`), 16 or 8 of them.
*/
#ifndef XLA_CODEGEN_EMITTER_H
#define XLA_CODEGEN_EMITTER_H

#include "codegen/cells.h"
#include "plan/loop_plan.h"
#include "value/scalar.h"

enum { MAX_PARTS = 4, NO_LOCAL = -1 };

typedef enum LaneKind {
  LANES_NONE, /* a type that the emitter does not know */
  LANES_MASK,
  LANES_I32,
  LANES_I64,
  LANES_F32,
  LANES_F64,
  LANES_C64,
  LANES_C128,
} LaneKind;

static inline bool is_complex(LaneKind kind) { return kind == LANES_C64 || kind == LANES_C128; }
static inline int lane_parts(LaneKind kind) {
  return kind == LANES_C128                                            ? 4
         : kind == LANES_I64 || kind == LANES_F64 || kind == LANES_C64 ? 2
                                                                       : 1;
}

typedef struct NodeState {
  int value[MAX_PARTS]; /* locals that hold it, or NO_LOCAL */
  bool kept;            /* in a local, as more than one user wants it */
  bool loaded_first;    /* a leaf that outputs may lie on: overwrite.c */
  int pointer;          /* leaves: the local with the address, or with iota's value */
  int64_t at;           /* of leaves that are held: so many bytes after their array's start */
} NodeState;

/* A constant of a function that is written out, and the local that holds it in all lanes. */
typedef struct MathConstant {
  uint64_t bits; /* in each half of the vector */
  int local;
} MathConstant;

/* The outputs that read a node: from the first to the last. */
typedef struct OutputRange {
  int first, last;
} OutputRange;

typedef struct Emitter {
  WasmFunction function;
  const LoopPlan *plan;
  NodeState *nodes;       /* by node id */
  int operand_count;      /* of the fusion: as many buffers come before those of the results */
  int starts[MAX_STARTS]; /* locals with the plan's starts */
  const OutputRange *outputs_of; /* by node id; of a loop with several results, else NULL */
  int *bases; /* locals with the addresses of the kernel's buffers, of those that it uses */
  const Place
      *places; /* in a region: where these buffers are; else NULL, and parameter 0 lists them */
  const Cells *cells; /* in a region: what is held; else NULL */
  int64_t *stored_at; /* by result that is held: so many bytes after its start the next one goes */
  int tail;           /* if not 0: how many lanes matter now, where all is held */
  int dense;          /* if not 0: lanes have so many bytes, 1 or 2 */
  bool one_lane;      /* only lane 0 of the first part matters, or of the first two if complex */
  bool by_steps; /* of a cumulative kernel: its range is of the steps of all lines, not of lines */
  int first_step, steps;  /* then: locals with the first of them, and how many there are */
  bool unrounded;         /* narrow floats stay f32: in the sums of a reduction */
  const LoopNode *stored; /* its result stays f32, as the store is to round it */
  int64_t lane_zero;      /* how many elements after the pointers' the first lane is */
  int64_t apart;        /* if not 0: how many elements one lane's result is before the next one's */
  int64_t first, count; /* of a box: its elements are so many of the kernel's, from this one on */
  int math_count, math_capacity;
  MathConstant *math;
} Emitter;

static inline PrimitiveType node_type(const LoopNode *node) {
  return node->instruction->shape->type;
}
static inline bool is_leaf(const LoopNode *node) { return node->kind != NODE_OPERATION; }

static inline bool is_signed(PrimitiveType type) { return type_kind(type) == KIND_SIGNED; }
static inline bool is_narrow_float(PrimitiveType type) {
  return type_is_floating(type) && type_bits(type) < 32;
}

/* --- Small pieces --- */

/* An instruction; of i32x4, the one for lanes as wide as they are now. */
void emit_simd(Emitter *e, int opcode);
static inline void emit_local(Emitter *e, int local) { wasm_get(&e->function, local); }
static inline void emit_call(Emitter *e, const char *name, int arity) {
  wasm_call(&e->function, name, (WasmSignature)(SIGNATURE_VECTOR + arity - 1));
}
/* A shift of all lanes by the same amount. */
static inline void emit_shift(Emitter *e, int opcode, int amount) {
  wasm_i32(&e->function, amount);
  emit_simd(e, opcode);
}
/* The same bits in all lanes, as many as fit. */
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
/* Moves it there. */
static inline int emit_take(Emitter *e) {
  int local = wasm_local(&e->function, WASM_V128);
  wasm_set(&e->function, local);
  return local;
}

/* --- lane_emitter.c --- */

LaneKind lane_kind(PrimitiveType type);
int node_parts(const LoopNode *node);
/* How many parts matter now: the first ones. */
int live_parts(const Emitter *e, PrimitiveType type);

static inline int lanes_now(const Emitter *e) {
  return e->one_lane ? 1 : e->dense ? 16 / e->dense : LANES;
}

/* One part of an element of `type` in all lanes. */
void emit_scalar(Emitter *e, PrimitiveType type, Scalar value, int part);

/* Cuts an integer to its width, rounds a float to its type. */
void emit_round(Emitter *e, PrimitiveType type);

/* Between an element's bits as an i32x4 (types of up to 32 bits), zero-extended or, of signed
** integers, sign-extended, and its value, on top of the stack. */
void emit_bits_to_value(Emitter *e, PrimitiveType type);
void emit_value_to_bits(Emitter *e, PrimitiveType type);
/* The same of an f32 that is yet to be rounded to `type`. */
void emit_rounded_bits(Emitter *e, PrimitiveType type);

/* The one that the kind wants. */
void emit_splat_of(Emitter *e, LaneKind kind, uint32_t bits32, uint64_t bits64);
void emit_twice(Emitter *e); /* x -> x, x */
/* i32x4 to i64x2, of lanes 0 and 1 (part 0) or 2 and 3; the same choice of f32x4, kept in place. */
void emit_widen(Emitter *e, bool with_sign, int part);
void emit_take_part(Emitter *e, int part);

/* --- leaf_emitter.c --- */

/* Before anything else of a kernel. */
void init_nodes(Emitter *e);
/* Where code is written out: sets the pointers of results, of which the next is number `position`. */
void emit_written_outputs(Emitter *e, int64_t position, const int *outputs);
/* Loads the addresses of the buffers that leaves are in, and the starts. */
void emit_bases(Emitter *e);
/* Replaces the address of an integer by it, as an i64. */
void emit_load_integer(WasmFunction *f, PrimitiveType type);
/* Pushes an integer of a place, as an i64. */
void emit_integer(WasmFunction *f, const Cells *cells, const Place *place, PrimitiveType type);
/* Makes of an i64 that was read as `type` an i32, but at least 0 and at most `most`. */
void emit_clamped(WasmFunction *f, PrimitiveType type, int64_t most);
/* That, unless it is in range. */
void emit_slice_start(WasmFunction *f, PrimitiveType type, int64_t most, bool in_range);
/* Pushes the address of the kernel's buffer number `index`. */
void emit_buffer(Emitter *e, int64_t index);

/* Sets the pointers of all leaves from the locals with the loops' indices; NO_LOCAL means 0. */
void emit_pointers(Emitter *e, const int *indices);
/* The same for indices that are known. */
void emit_pointers_at(Emitter *e, const int64_t *indices);
/* Moves the pointers along the loop that is innermost in time. */
void emit_advance_leaves(Emitter *e, int64_t steps);
/* How many elements a leaf's lanes are apart. */
int64_t lane_stride(const Emitter *e, const LoopNode *leaf);
/* Whether four of them are within a vector, side by side or not. */
bool is_close(const Emitter *e, const LoopNode *leaf);
void emit_advance(Emitter *e, int local, int64_t by); /* local += by */

/* Pushes the address of a leaf, `elements` after where its pointer is. Returns the offset to give
** to the load, as an offset cannot be negative. */
int64_t emit_address(Emitter *e, const LoopNode *node, int64_t elements);
/* Whether a leaf is in cells; then: pushes a part of it, whose narrow elements are not extended. */
bool is_held_leaf(const Emitter *e, const LoopNode *leaf);
void emit_held_leaf(Emitter *e, const LoopNode *leaf, int part);

/* Pushes a leaf's element of less than 32 bits, so many after where its pointer is, as an i32. */
void emit_load_narrow(Emitter *e, const LoopNode *node, int64_t elements);
/* Computes what changes at `level` and is wanted at a deeper one. */
void emit_level(Emitter *e, LoopLevel level);
/* Pushes what is at address + size * byte, of 32 bits, for each byte of a leaf of such. */
void emit_load_indexed(Emitter *e, const LoopNode *leaf, int64_t address, int64_t size);
/* Pushes one part of a node's value. */
void emit_value(Emitter *e, const LoopNode *node, int part);
/* Instead of the local with a pointer: of a result that is held. */
static inline int held_result(int result) { return NO_LOCAL - 1 - result; }
/* Pushes the pointer, if it is one. */
void emit_target(Emitter *e, int pointer);
/* Stores the first `bytes` bytes of what is on the stack, above a target, `offset` bytes after it. */
void emit_store_bytes(Emitter *e, int pointer, int64_t offset, int bytes);
/* How many elements after the pointer the first lane's result goes. */
int64_t first_stored(const Emitter *e);
/* Stores a value there. */
void emit_store(Emitter *e, const LoopNode *node, int pointer);
/* The same of a value whose parts are in locals. */
void emit_store_locals(Emitter *e, PrimitiveType type, const int *parts, int pointer);
/* And with lanes that go `stride` elements apart. */
void emit_store_apart(Emitter *e, PrimitiveType type, const int *parts, int pointer,
                      int64_t stride);
/* Stores all results, where they go in memory or cells: `pointers` of those that are not in places. */
void emit_store_outputs(Emitter *e, const int *pointers);
/* Forgets the values of the elements that were just computed. */
void end_elements(Emitter *e);
void end_combining(Emitter *e); /* of the combining nodes */

/* --- overwrite.c --- */

/* By node id: the outputs that read each node, directly or through others. */
OutputRange *find_outputs_of(const LoopPlan *plan);
/* Whether all parts of a leaf are loaded before the first of several outputs that read it is stored, so that
** these may lie on it. */
bool is_loaded_first(const LoopPlan *plan, const OutputRange *range, const LoopNode *leaf);

/* --- loop_emitter.c: rows of results --- */

/* The loops over the results of a kernel, of which the last one is a row. Of a cumulative one, over
** its lines of results. */
typedef struct Rows {
  int rank;
  int position, end;      /* linear, over all results */
  int count;              /* results left in the row */
  int indices[MAX_LOOPS]; /* of all loops; of the last, where the rest of the row starts */
  int *outputs;           /* pointers to the next results */
} Rows;

/* Emits a loop over the rows that the kernel's range touches; `body` emits what computes one. */
void emit_rows(Emitter *e, Rows *rows, void (*body)(Emitter *e, Rows *rows));
/* Sets a new local for each of `rank` loops: its index at the linear position in a local. */
void emit_indices(Emitter *e, int position, int rank, int *indices);
/* Moves the output pointers. */
void emit_advance_outputs(Emitter *e, const Rows *rows, int64_t elements);
/* Emits `if (count >= step) do { body; count -= step; } while (count >= step);` */
void emit_counted_loop(Emitter *e, int count, int64_t step, void (*body)(Emitter *e, void *data),
                       void *data);

/* How many bytes wide lanes along the lanes' loop may be: 0, if it must be four of them. */
int dense_lanes(const Emitter *e);
/* A kernel's body. */
void emit_loop_kernel(Emitter *e);

/* --- reduce_emitter.c --- */

/* accumulators = f(accumulators, values), by the combining nodes; both are lists of locals:
** [output_count][MAX_PARTS]. */
void emit_combine(Emitter *e, const int *accumulators, const int *values);

void emit_reduce_kernel(Emitter *e);
/* How much code a reduction is when each step is written out; and that code, for the row of results at
** `indices` of the loops around it, from result number `position` on. */
int64_t written_reduce_size(const LoopPlan *plan);
void emit_written_reduce(Emitter *e, int64_t *indices, int64_t position, int *outputs);

/* --- region_emitter.c --- */

/* What regions know of a function: its plans, if its loop is to be written out, and how often it is. */
typedef struct WrittenFunction {
  bool planned;
  struct LoopPlans *plans;
  int uses;
} WrittenFunction;

/* Plans the loops that are to be written out, and counts them by function; then emits the region. */
void plan_region(const Region *region, Arena *arena, WrittenFunction *written);
void emit_region(WasmModule *module, const Region *region);

/* --- scatter_emitter.c --- */

typedef struct ScatterPlan {
  LoopPlan loops;     /* over the indices, then over the window of each; outputs are the updates */
  LoopNode **targets; /* per result: the element that an update goes to */
  int start_count;    /* components of an index */
  LoopNode **starts;  /* where they are read from */
  int64_t *scales, *limits; /* elements of the target per unit of one; its largest value */
} ScatterPlan;

void scatter_plan(ScatterPlan *plan, Arena *arena, const Instruction *scatter);
void emit_scatter_kernel(Emitter *e, const ScatterPlan *plan);

/* --- element_emitter.c --- */

/* Pushes one part of what an element-wise operation makes of its operands. */
void emit_operation(Emitter *e, const LoopNode *node, int part);
bool can_emit_operation(const Instruction *instruction);
/* Whether lanes of so many bytes are enough for a node. */
bool can_be_dense(const LoopNode *node, int bytes);
/* Whether a float of the operands' type is one of them, or has no more digits. */
bool is_exact(const Instruction *instruction);

/* Whether it takes more than a few instructions. */
bool is_long_function(Opcode opcode, PrimitiveType type);

/* --- byte_table.c --- */

/* Whether a node is a function of floats of 8 bits in memory. */
bool has_byte_table(const LoopNode *node);
/* Pushes its value, or the bits of that; false, and nothing, where there is no memory for a table. */
bool emit_table_lookup(Emitter *e, const LoopNode *node, bool bits);
/* Stores a function of two such, over a loop that is worth a table, element by element; false, and
** nothing, where it is something else. */
bool emit_square_lookups(Emitter *e, const LoopNode *node, int pointer);

/* --- convert_emitter.c --- */

/* One part of x as `to`, both real; narrow results are yet to be rounded or cut to it. */
void emit_converted(Emitter *e, const LoopNode *x, PrimitiveType to, int part);
void emit_bitcast_convert(Emitter *e, const LoopNode *node, int part);
void emit_reduce_precision(Emitter *e, const LoopNode *node, int part);
/* i32x4 on the stack, whose lanes are non-negative, to one part of `type`: for iota. */
void emit_index_to_value(Emitter *e, PrimitiveType type, int part);

/* --- math_emitter.c --- */

/* Makes the constants of all such functions that the plan's nodes are, before any loop. */
void emit_math_constants(Emitter *e);
/* Whether a function is written out; replaces the operand on the stack by its result. */
bool has_math(Opcode opcode, LaneKind kind);
void emit_math(Emitter *e, const LoopNode *node);
/* The same for an operation whose second operand is a constant. */
bool is_with_constant(const LoopNode *node);
void emit_with_constant(Emitter *e, const LoopNode *node);

/* --- complex_emitter.c: the same for operations that have complex operands or results --- */

bool can_emit_complex(const Instruction *instruction);
void emit_complex_operation(Emitter *e, const LoopNode *node, int part);
void hoist_complex_constants(Emitter *e, const LoopNode *node);
void emit_load_complex(Emitter *e, const LoopNode *node, int part);
void emit_store_complex(Emitter *e, PrimitiveType type, const int *parts, int pointer);

#endif
