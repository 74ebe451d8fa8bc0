/* The arrays that a loop reads and writes: addresses, loads and stores. */
#ifndef XLA_CODEGEN_LOOPS_LEAF_EMITTER_H
#define XLA_CODEGEN_LOOPS_LEAF_EMITTER_H

#include "codegen/loops/emitter.h"

/* In unrolled code: points the results' pointers at element number `position`. */
void emit_written_outputs(Emitter *e, int64_t position, const int *outputs);
/* Loads the addresses of the buffers that leaves are in, and the starts. */
void emit_bases(Emitter *e);
/* Loads the integer at the address on the stack, as an i64. */
void emit_load_integer(WasmFunction *f, PrimitiveType type);
/* Pushes an integer of a slice, as an i64. */
void emit_integer(WasmFunction *f, const Cells *cells, const BufferSlice *slice,
                  PrimitiveType type);
/* Clamps an i64 that was read as `type` to [0, max_start]; not if it is known to be in that range. The result is an i32 if
** max_start is one. */
void emit_slice_start(WasmFunction *f, PrimitiveType type, int64_t max_start, bool in_range);
/* Pushes the address of the kernel's buffer number `index`. */
void emit_buffer(Emitter *e, int64_t index);

/* Sets the pointers of all leaves from the locals with the loops' indices; NO_LOCAL means 0. */
void emit_pointers(Emitter *e, const int *indices);
/* Emits the pointers of all leaves at indices that are known. */
void emit_pointers_at(Emitter *e, const int64_t *indices);
/* Advances the pointers by steps of the loop that is innermost in time. */
void emit_advance_leaves(Emitter *e, int64_t steps);
/* Returns the distance of a leaf's lanes in elements. */
int64_t lane_stride(const Emitter *e, const LoopNode *leaf);
/* Whether a leaf is an iota of 64-bit integers that may count beyond 32 bits. Its pointer is an i64. The counters of
** narrower integers may wrap around, as their values do. */
bool has_64_bit_counter(const LoopNode *leaf);
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
/* Whether a leaf is an array in memory: no iota. */
bool is_in_memory(const LoopNode *leaf);
/* Returns the offsets that a gathered node's index adds to its elements' addresses or, if packed, numbers, in lanes of 32 bits.
** `inputs` are the locals with both parts of each component; NULL if only constants are hoisted. */
Value gathered_offsets(Expression *expression, const LoopNode *node, const int (*inputs)[2]);
/* Initialises a node's state; forgets its value. */
void init_node(Emitter *e, const LoopNode *node);
void forget_value(Emitter *e, const LoopNode *node);
/* Forgets the values of the elements just computed. */
void end_elements(Emitter *e);
void end_combining(Emitter *e); /* forgets those of the combining nodes */

#endif
