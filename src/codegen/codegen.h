/*
** From fusions to WebAssembly. A fusion is an instruction `fusion` whose called computation holds
** only operations that the loop emitter knows; passes/fuse_loops.c makes such fusions and asks
** codegen_can_fuse() what may go in.
**
** All fusions of one program become functions of one WebAssembly module, exported as "0", "1", ...
** Signature of each, as C sees it (GeneratedKernel in platform/platform.h):
**
**     void kernel(uint8_t *const *buffers, int64_t begin, int64_t end)
**
** `buffers` holds one pointer per operand of the fusion (in order), then one per result leaf.
** The kernel computes the elements [begin, end) of the result's row-major index space; ranges may
** be computed in any order and by several threads at once, and their union is the whole result. (A
** scatter cannot be divided: the call whose range begins at 0 does it all.)
** The module imports the core's memory as "env"."memory" (shared in the threaded build) and may
** import core functions as "env"."<name>".
*/
#ifndef XLA_CODEGEN_CODEGEN_H
#define XLA_CODEGEN_CODEGEN_H

#include "hlo/module.h"

typedef struct ByteBuf {
  uint8_t *bytes; /* heap; bytebuf_free */
  size_t size, capacity;
} ByteBuf;

/* Whether the emitter can generate code for this instruction inside a loop fusion; of a reduction,
** as its root. */
bool codegen_can_fuse(const Instruction *instruction);

/* Whether `root` and what it depends on, down to the arrays that `is_input` tells, can be one kernel:
** whether the places of all elements that it reads are affine in the loop indices. */
bool codegen_can_emit(const Instruction *root, bool (*is_input)(const Instruction *, const void *),
                      const void *data);

/* The dimension along which a reduce-window is cumulative: it has a result per element, of it and all
** elements before it, or, backwards, after it. -1 if it is not of this kind. */
int cumulative_dimension(const Instruction *instruction, bool *backwards);

/* How many results to compute per call when work is divided: worth a call, and a multiple of what a
** kernel computes at once. Depends on shapes alone. */
int64_t codegen_chunk(const Instruction *fusion);

/* Emits one module with one function per fusion instruction, in order. */
bool codegen_emit(Instruction *const *fusions, int count, bool shared_memory, ByteBuf *out,
                  Error *error);
void bytebuf_free(ByteBuf *buffer);

#endif
