/*
** The pointers of a loop's leaves. A leaf's pointer is a local: the address of its next elements, or the next number of an iota.
** It starts from the address of the leaf's buffer and the starts of its slices, and advances along the loops.
*/
#ifndef XLA_CODEGEN_LOOPS_POINTER_EMITTER_H
#define XLA_CODEGEN_LOOPS_POINTER_EMITTER_H

#include "codegen/loops/emitter.h"

/* Pushes the address of the kernel's buffer number `index`. */
void emit_buffer(Emitter *e, int64_t index);
/* In unrolled code: points the results' pointers at element number `position`. */
void emit_written_outputs(Emitter *e, int64_t position, const int *outputs);
/* Loads the addresses of the buffers that leaves are in, and the starts. */
void emit_bases(Emitter *e);

/* Loads the integer at the address on the stack, as an i64. */
void emit_load_integer(WasmFunction *f, PrimitiveType type, int64_t offset);
/* Pushes an integer of a slice, as an i64. */
void emit_integer(WasmFunction *f, const Cells *cells, const BufferSlice *slice,
                  PrimitiveType type);
/* Clamps an i64 that was read as `type` to [0, max_start]; not if it is known to be in that range. The result is an i32 if
** max_start is one. */
void emit_slice_start(WasmFunction *f, PrimitiveType type, int64_t max_start, bool in_range);

/* Emits the pointers of all leaves at indices that are known. */
void emit_pointers_at(Emitter *e, const int64_t *indices);
/* Sets the pointers of all leaves from the locals with the loops' indices; NO_LOCAL means 0. */
void emit_pointers(Emitter *e, const int *indices);
/* Advances the pointers by steps of the loop that is innermost in time. */
void emit_advance_leaves(Emitter *e, int64_t steps);
void emit_advance(Emitter *e, int local, int64_t by); /* local += by */

#endif
