/*
** Generates WebAssembly from fusions. A fusion is an instruction `fusion` whose called computation holds only
** operations that the loop emitter knows. rewrite/fuse/fuse_loops.c makes such fusions, and asks codegen_target
** which operations they may hold.
**
** The stage takes fusions and regions, and returns the bytes of one module. Invariant: an element's bits do not
** depend on the range in which it is computed. The trick: all code is vector code, and a tail runs the same code
** with one live lane. Read next: emitter.h (values in lanes), loop_emitter.c (the loops of a kernel), region.h
** (many small steps as one function), wasm_encoder.h (the binary format).
**
** All fusions of one program become functions of one WebAssembly module, exported as "0", "1", ...
** Their signature in C (GeneratedKernel in base/host/platform.h):
**
**     void kernel(uint8_t *const *buffers, int64_t begin, int64_t end)
**
** `buffers` holds one pointer per operand of the fusion (in order), then one per result leaf.
** The kernel computes the elements [begin, end) of the result's row-major index space. Ranges may be computed in
** any order and by several threads at once; their union is the whole result. A fusion with concatenations or
** padding numbers its elements box by box. A scatter's ranges count its windows, and are computed in order, by
** one thread at a time. The module imports the core's memory as "env"."memory" (shared in the threaded build)
** and may import core functions as "env"."<name>".
*/
#ifndef XLA_CODEGEN_CODEGEN_H
#define XLA_CODEGEN_CODEGEN_H

#include "codegen/regions/region.h"
#include "codegen/wasm/bytebuf.h"
#include "plan/fusible.h"

/* The operations that fusions may hold: for rewrite/. */
extern const Target codegen_target;

/* The amount of work, and the part of it per call when it is divided. A chunk is large enough for a call, and a
** multiple of the elements that a kernel computes at once. It depends on shapes alone. */
typedef struct CodegenWork {
  int64_t units;           /* elements of the result, or windows of a scatter */
  int64_t chunk, multiple; /* units of a chunk; chunks have a multiple of `multiple` */
  int64_t reads;           /* elements of an operand, at most */
  bool in_order;
  bool is_long; /* a chunk may take milliseconds, however few there are */
} CodegenWork;

CodegenWork codegen_work(const Instruction *fusion);

/* Whether a fusion may write its result over an operand: the step that writes an element is the only one that reads the
** operand's element at the same position. */
bool codegen_may_overwrite(const Instruction *fusion, int operand, int result);

/* Whether a fusion computes its results row by row, for `rows` rows; a call may then compute some of the rows.
** `by_rows` receives for each operand whether a result's row reads only the same row of it. */
bool codegen_rows(const Instruction *fusion, int64_t rows, bool *by_rows);

/* A function, shared by all equal fusions: `uses` steps call it. */
typedef struct FusionFunction {
  const Instruction *fusion;
  int uses;
} FusionFunction;

/* The contents of one module: these functions, followed by one per region. */
typedef struct CodegenInput {
  const FusionFunction *fusions;
  int fusion_count;
  const Region *regions;
  int region_count;
} CodegenInput;

bool codegen_emit(const CodegenInput *input, bool shared_memory, ByteBuf *out, Error *error);

#endif
