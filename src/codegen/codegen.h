/*
** From fusions to WebAssembly. A fusion is an instruction `fusion` whose called computation holds
** only operations that the loop emitter knows; rewrite/fuse/fuse_loops.c makes such fusions and
** asks codegen_target what may go in.
**
** All fusions of one program become functions of one WebAssembly module, exported as "0", "1", ...
** Signature of each, as C sees it (GeneratedKernel in base/host/platform.h):
**
**     void kernel(uint8_t *const *buffers, int64_t begin, int64_t end)
**
** `buffers` holds one pointer per operand of the fusion (in order), then one per result leaf.
** The kernel computes the elements [begin, end) of the result's row-major index space; ranges may
** be computed in any order and by several threads at once, and their union is the whole result (whose
** index space a fusion with concatenations or padding walks through box by box). Those of a scatter are of its windows, and are
** computed in order, by one thread at a time.
** The module imports the core's memory as "env"."memory" (shared in the threaded build) and may
** import core functions as "env"."<name>".
*/
#ifndef XLA_CODEGEN_CODEGEN_H
#define XLA_CODEGEN_CODEGEN_H

#include "codegen/region.h"
#include "plan/fusible.h"

typedef struct ByteBuf {
  uint8_t *bytes; /* heap; bytebuf_free */
  size_t size, capacity;
} ByteBuf;

/* What fusions may hold: for lower/. */
extern const Target codegen_target;

/* How much there is to compute, and how much of it per call when work is divided: worth a call, and a
** multiple of what a kernel computes at once. Depends on shapes alone. */
typedef struct CodegenWork {
  int64_t units; /* elements of the result, or windows of a scatter */
  int64_t chunk;
  int64_t reads; /* elements of an operand, at most */
  bool in_order;
  bool is_long; /* a chunk may take milliseconds, however few there are */
} CodegenWork;

CodegenWork codegen_work(const Instruction *fusion);

/* Whether a fusion's result may be where its operand is: each element is read before the one at its
** place is written, and by no other. */
bool codegen_may_overwrite(const Instruction *fusion, int operand, int result);

/* Whether a fusion makes its results row after row, if these are `rows` rows; and then, of each operand,
** whether a row of it is all that goes into a row of them. Of a fusion that it is true of, the elements
** of some rows may be computed in a call. */
bool codegen_rows(const Instruction *fusion, int64_t rows, bool *by_rows);

/* A function, for all fusions that say the same as this one: so many steps. */
typedef struct FusionFunction {
  const Instruction *fusion;
  int uses;
} FusionFunction;

/* What becomes one module: these functions, and after them one per region. */
typedef struct CodegenInput {
  const FusionFunction *fusions;
  int fusion_count;
  const Region *regions;
  int region_count;
} CodegenInput;

bool codegen_emit(const CodegenInput *input, bool shared_memory, ByteBuf *out, Error *error);
void bytebuf_free(ByteBuf *buffer);

#endif
