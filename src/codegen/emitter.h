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
#ifndef XLA_CODEGEN_EMITTER_H
#define XLA_CODEGEN_EMITTER_H

#include "codegen/cells.h"
#include "plan/loop_plan.h"
#include "value/scalar.h"

enum { MAX_PARTS = 4, NO_LOCAL = -1 };

/* ORDER LANE_KIND */
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
  bool kept;            /* in a local, as it has more than one user */
  bool loaded_first;    /* a leaf that outputs may lie on: overwrite.c */
  int pointer; /* leaves: the local with the address, or with iota's value (i64 if has_wide_counter) */
  int64_t at; /* of leaves in cells: the byte offset from their array's start */
} NodeState;

/* A constant of an inlined function, and the local that holds it in all lanes. */
typedef struct MathConstant {
  uint64_t bits; /* in each half of the vector */
  int local;
} MathConstant;

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
  const Place
      *places; /* in a region: where these buffers are; else NULL, and parameter 0 lists them */
  const Cells *cells; /* in a region: the memory that locals replace; else NULL */
  int64_t *stored_at; /* by result in cells: the byte offset of the next element to store */
  int tail;           /* if not 0: the number of live lanes, where all operands are in cells */
  int dense;          /* if not 0: the bytes of a lane, 1 or 2 */
  bool one_lane;      /* only lane 0 of the first part matters, or of the first two if complex */
  bool by_steps; /* of a cumulative kernel: its range counts the steps of all lines, not lines */
  int first_step, steps;  /* then: locals with the first of them, and how many there are */
  bool unrounded;         /* narrow floats stay f32: in the sums of a reduction */
  const LoopNode *stored; /* its result stays f32: the store rounds it */
  int64_t lane_zero;      /* elements from the pointers to the first lane */
  int64_t apart;          /* if not 0: the distance of two lanes' results, in elements */
  int64_t first, count;   /* of a box: its range of the kernel's elements */
  int math_count, math_capacity;
  MathConstant *math;
};

static inline PrimitiveType node_type(const LoopNode *node) {
  return node->instruction->shape->type;
}
static inline bool is_leaf(const LoopNode *node) { return node->kind != NODE_OPERATION; }

static inline bool is_signed(PrimitiveType type) { return type_kind(type) == KIND_SIGNED; }
static inline bool is_narrow_float(PrimitiveType type) {
  return type_is_floating(type) && type_bits(type) < 32;
}

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

/* --- lane_emitter.c --- */

LaneKind lane_kind(PrimitiveType type);
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
/* Widens lanes 0 and 1 (part 0) or 2 and 3 of an i32x4 to i64x2; and moves those lanes to lanes 0 and 1. */
void emit_widen(Emitter *e, bool with_sign, int part);
void emit_take_part(Emitter *e, int part);

/* --- leaf_emitter.c --- */

/* In unrolled code: points the results' pointers at element number `position`. */
void emit_written_outputs(Emitter *e, int64_t position, const int *outputs);
/* Loads the addresses of the buffers that leaves are in, and the starts. */
void emit_bases(Emitter *e);
/* Loads the integer at the address on the stack, as an i64. */
void emit_load_integer(WasmFunction *f, PrimitiveType type);
/* Pushes an integer of a place, as an i64. */
void emit_integer(WasmFunction *f, const Cells *cells, const Place *place, PrimitiveType type);
/* Clamps an i64 that was read as `type` to 0 .. `most`, unless it is in that range: an i32, if `most` is one. */
void emit_slice_start(WasmFunction *f, PrimitiveType type, int64_t most, bool in_range);
/* Pushes the address of the kernel's buffer number `index`. */
void emit_buffer(Emitter *e, int64_t index);

/* Sets the pointers of all leaves from the locals with the loops' indices; NO_LOCAL means 0. */
void emit_pointers(Emitter *e, const int *indices);
/* The same for indices that are known. */
void emit_pointers_at(Emitter *e, const int64_t *indices);
/* Advances the pointers by steps of the loop that is innermost in time. */
void emit_advance_leaves(Emitter *e, int64_t steps);
/* Returns the distance of a leaf's lanes in elements. */
int64_t lane_stride(const Emitter *e, const LoopNode *leaf);
/* Whether a leaf is an iota of 64-bit integers that may count beyond 32 bits. Its pointer is an i64. The counters of
** narrower integers may wrap around, as their values do. */
bool has_wide_counter(const LoopNode *leaf);
/* Whether four lanes' elements lie within one vector, adjacent or not. */
bool is_close(const Emitter *e, const LoopNode *leaf);
void emit_advance(Emitter *e, int local, int64_t by); /* local += by */

/* Pushes the address `elements` after a leaf's pointer. Returns the offset to give to the load, since an
** offset cannot be negative. */
int64_t emit_address(Emitter *e, const LoopNode *node, int64_t elements);
/* Whether a leaf is in cells. */
bool is_held_leaf(const Emitter *e, const LoopNode *leaf);

/* Pushes a leaf's element of less than 32 bits as an i32; `elements` counts from its pointer. */
void emit_load_narrow(Emitter *e, const LoopNode *node, int64_t elements);
/* For each byte of a leaf of bytes: pushes the 32 bits at address + size * byte. */
void emit_load_indexed(Emitter *e, const LoopNode *leaf, int64_t address, int64_t size);
/* Stands for the local with the pointer of a result that is in cells. */
static inline int held_result(int result) { return NO_LOCAL - 1 - result; }
/* Pushes the pointer; nothing for a result in cells. */
void emit_target(Emitter *e, int pointer);
/* Stores the first `bytes` bytes of the vector on the stack `offset` bytes after the target below it. */
void emit_store_bytes(Emitter *e, int pointer, int64_t offset, int bytes);
/* Returns the distance from the pointer to the first lane's result, in elements. */
int64_t first_stored(const Emitter *e);
/* Returns the instruction that stores a lane of `bytes` bytes. */
int store_lane_op(int bytes);
/* Pushes a part of a leaf's elements, or their bits if these are narrower than 32 bits. */
void emit_load_bits(Emitter *e, const LoopNode *node, int part);
/* Stores the part (or its bits) on top of the stack at the target below it. */
void emit_store_bits(Emitter *e, PrimitiveType type, int part, int pointer);
bool is_in_memory(const LoopNode *leaf);
/* Initialises a node's state; forgets its value. */
void init_node(Emitter *e, const LoopNode *node);
void forget_value(Emitter *e, const LoopNode *node);
/* Forgets the values of the elements just computed. */
void end_elements(Emitter *e);
void end_combining(Emitter *e); /* forgets those of the combining nodes */

/* --- value_emitter.c --- */

/* Initialises the nodes' states; called first in each kernel. */
void init_nodes(Emitter *e);
/* Pushes one part of a node's value. */
static inline void emit_value(Emitter *e, const LoopNode *node, int part) {
  e->push_value(e, node, part);
}
/* Computes the nodes that vary at `level` and are used at a deeper one. */
void emit_level(Emitter *e, LoopLevel level);
/* Stores a node's value at first_stored(). */
void emit_store(Emitter *e, const LoopNode *node, int pointer);
/* The same for a value whose parts are in locals. */
void emit_store_locals(Emitter *e, PrimitiveType type, const int *parts, int pointer);
/* The same, with lanes `stride` elements apart. */
void emit_store_apart(Emitter *e, PrimitiveType type, const int *parts, int pointer,
                      int64_t stride);
/* Stores all results in memory or cells; `pointers` are those of results outside places. */
void emit_store_outputs(Emitter *e, const int *pointers);

/* --- overwrite.c --- */

/* By node id: the outputs that read each node, directly or through others. */
OutputRange *find_outputs_of(const LoopPlan *plan);
/* Whether all parts of a leaf are loaded before the first output that reads it is stored. Such outputs may
** share its memory. */
bool is_loaded_first(const LoopPlan *plan, const OutputRange *range, const LoopNode *leaf);

/* --- loop_emitter.c: rows of results --- */

/* The loops over a kernel's results; the innermost one is a row. Those of a cumulative kernel go over its
** lines of results. */
typedef struct Rows {
  int rank;
  int position, end;      /* linear, over all results */
  int count;              /* results left in the row */
  int indices[MAX_LOOPS]; /* of all loops; of the last, where the rest of the row starts */
  int *outputs;           /* pointers to the next results */
} Rows;

/* Emits a loop over the rows that the kernel's range touches; `body` emits the code of one row. */
void emit_rows(Emitter *e, Rows *rows, void (*body)(Emitter *e, Rows *rows));
/* Sets a new local for each of `rank` loops: its index at the linear position in a local. */
void emit_indices(Emitter *e, int position, int rank, int *indices);
/* Moves the output pointers. */
void emit_advance_outputs(Emitter *e, const Rows *rows, int64_t elements);
/* Emits `if (count >= step) do { body; count -= step; } while (count >= step);` */
void emit_counted_loop(Emitter *e, int count, int64_t step, void (*body)(Emitter *e, void *data),
                       void *data);

/* Returns the bytes of a dense lane along the lanes' loop; 0 if there must be four lanes. */
int dense_lanes(const Emitter *e);
/* A kernel's body. */
void emit_loop_kernel(Emitter *e);

/* --- reduce_emitter.c --- */

/* accumulators = f(accumulators, values), by the combining nodes; both are lists of locals:
** [output_count][MAX_PARTS]. */
void emit_combine(Emitter *e, const int *accumulators, const int *values);

void emit_reduce_kernel(Emitter *e);
/* Returns the code size of a reduction with each step unrolled; and emits that code for the row of results
** at `indices` of the outer loops, from result number `position` on. */
int64_t written_reduce_size(const LoopPlan *plan);
void emit_written_reduce(Emitter *e, int64_t *indices, int64_t position, int *outputs);

/* --- region_emitter.c --- */

/* A function as regions see it: its plans, if its loop is to be inlined, and the number of its uses. */
typedef struct WrittenFunction {
  bool planned;
  struct LoopPlans *plans;
  int uses;
} WrittenFunction;

/* Plan the loops to be inlined and count them by function; then emit the region. */
void plan_region(const Region *region, Arena *arena, WrittenFunction *written);
void emit_region(WasmModule *module, const Region *region);

/* --- scatter_emitter.c --- */

typedef struct ScatterPlan {
  LoopPlan loops;     /* over the indices, then over the window of each; outputs are the updates */
  LoopNode **targets; /* per result: the element that an update goes to */
  int start_count;    /* components of an index */
  LoopNode **starts;  /* the leaves that they are read from */
  int64_t *scales, *limits; /* elements of the target per unit of one; its largest value */
} ScatterPlan;

void scatter_plan(ScatterPlan *plan, Arena *arena, const Instruction *scatter);
void emit_scatter_kernel(Emitter *e, const ScatterPlan *plan);
int *new_vectors(Emitter *e, int count); /* locals */

/* --- element_emitter.c --- */

/* Pushes one part of an element-wise operation's result. */
void emit_operation(Emitter *e, const LoopNode *node, int part);
bool can_emit_operation(const Instruction *instruction);
/* Whether lanes of `bytes` bytes are wide enough for a node. */
bool can_be_dense(const LoopNode *node, int bytes);
/* Whether the operation's result is exact in the operands' type, so that rounding changes nothing. */
bool is_exact(const Instruction *instruction);

/* --- byte_table.c --- */

/* Whether a node is a function of floats of 8 bits in memory. */
bool has_byte_table(const LoopNode *node);
/* Pushes its value, or the value's bits. False, pushing nothing, if there is no memory for a table. */
bool emit_table_lookup(Emitter *e, const LoopNode *node, bool bits);
/* Stores a function of two such operands element by element, over a loop long enough for a table. False,
** emitting nothing, for any other node. */
bool emit_square_lookups(Emitter *e, const LoopNode *node, int pointer);

/* --- convert_emitter.c --- */

/* Pushes one part of x converted to `to`, both real. The caller rounds or cuts narrow results. */
void emit_converted(Emitter *e, const LoopNode *x, PrimitiveType to, int part);
void emit_bitcast_convert(Emitter *e, const LoopNode *node, int part);
void emit_reduce_precision(Emitter *e, const LoopNode *node, int part);
/* Converts an i32x4 with non-negative lanes to one part of `type`: for iota. */
void emit_index_to_value(Emitter *e, PrimitiveType type, int part);

/* --- math_emitter.c --- */

/* Sets the constants of all inlined functions among the plan's nodes, before any loop. */
void emit_math_constants(Emitter *e);
/* Whether a function is inlined; and replaces the operand on the stack by its result. */
bool has_math(Opcode opcode, LaneKind kind);
void emit_math(Emitter *e, const LoopNode *node);
/* The same for an operation whose second operand is a constant. */
bool is_with_constant(const LoopNode *node);
void emit_with_constant(Emitter *e, const LoopNode *node);

/* Returns the name of the vector function that computes an operation on lanes of a type; NULL if there is none. */
const char *vector_function(Opcode opcode, PrimitiveType type);
/* Whether a function takes more than a few instructions. */
bool is_long_function(Opcode opcode, PrimitiveType type);

/* --- complex_emitter.c: the same for operations that have complex operands or results --- */

bool can_emit_complex(const Instruction *instruction);
void emit_complex_operation(Emitter *e, const LoopNode *node, int part);
void hoist_complex_constants(Emitter *e, const LoopNode *node);
void emit_load_complex(Emitter *e, const LoopNode *node, int part);
void emit_store_complex(Emitter *e, PrimitiveType type, const int *parts, int pointer);

#endif
