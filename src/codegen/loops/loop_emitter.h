/* The loops over rows of results. */
#ifndef XLA_CODEGEN_LOOPS_LOOP_EMITTER_H
#define XLA_CODEGEN_LOOPS_LOOP_EMITTER_H

#include "codegen/loops/emitter.h"

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

#endif
