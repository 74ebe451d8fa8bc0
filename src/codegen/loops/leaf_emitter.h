/* The arrays that a loop reads and writes: addresses, loads and stores. pointer_emitter.h has the pointers. */
#ifndef XLA_CODEGEN_LOOPS_LEAF_EMITTER_H
#define XLA_CODEGEN_LOOPS_LEAF_EMITTER_H

#include "codegen/loops/emitter.h"

/* Returns the distance of a leaf's lanes in elements. */
int64_t lane_stride(const Emitter *e, const LoopNode *leaf);
/* Whether a leaf is an iota of 64-bit integers that may count beyond 32 bits. Its pointer is an i64. The counters of
** narrower integers may wrap around, as their values do. */
bool has_64_bit_counter(const LoopNode *leaf);
/* Whether four lanes' elements lie within one vector, adjacent or not. */
bool is_close(const Emitter *e, const LoopNode *leaf);

/* Returns the index of the kernel's buffer that a leaf is in. */
int leaf_buffer(const Emitter *e, const LoopNode *leaf);
/* Pushes the address `elements` after a leaf's pointer. Returns the offset to give to the load, since an
** offset cannot be negative. */
int64_t emit_address(Emitter *e, const LoopNode *node, int64_t elements);
/* Whether a leaf is in cells. */
bool is_held_leaf(const Emitter *e, const LoopNode *leaf);

/* Whether each lane of a gathered node has an address of its own. */
bool is_scattered(const LoopNode *node);
/* Returns a local with the offsets that a gathered node's indices add to its lanes' addresses or, if packed, numbers. Indices
** that do not vary along the lanes have one part. The caller releases it. */
int emit_gathered_offsets(Emitter *e, const LoopNode *node);
/* Adds a lane's offset to the address, or the number, on the stack. */
void emit_add_gathered(Emitter *e, int offsets, int lane);

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
/* Initialises a node's state; forgets its value. */
void init_node(Emitter *e, const LoopNode *node);
void forget_value(Emitter *e, const LoopNode *node);
/* Forgets the values of the elements just computed. */
void end_elements(Emitter *e);
void end_combining(Emitter *e); /* forgets those of the combining nodes */

#endif
