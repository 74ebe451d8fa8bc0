/*
** The stages of a compilation after the rewrites, in the order in which compilation.c runs them.
*/
#ifndef XLA_COMPILE_STAGES_H
#define XLA_COMPILE_STAGES_H

#include "compile/program.h"

typedef struct CompileOptions CompileOptions; /* compilation.h */

/* thunks.c: from computations to thunks, and the buffers that they read and write. */
typedef struct Buffers {
  LogicalBuffer **items;
  int count;
  LogicalBuffer **results; /* by leaf */
} Buffers;
typedef struct ThunkCompiler ThunkCompiler;
ThunkCompiler *thunks_begin(Program *program, const CompileOptions *options);
/* Makes the thunks of some more instructions of the entry. Returns whether there are more. */
bool thunks_step(ThunkCompiler *thunks);
bool thunks_end(ThunkCompiler *thunks, Buffers *buffers, Error *error);
/* in_place.c: lets results take the memory of their operands, or of arguments. */
void join_buffers(Program *program);
void remove_copies(ThunkSequence *sequence); /* those that join_buffers made needless */
void find_donors(Program *program, LogicalBuffer *const *buffers, int count);
bool thunk_may_overwrite(const Thunk *thunk, int operand, int result);
LogicalBuffer *buffer_owner(LogicalBuffer *buffer); /* the buffer whose memory it has */
/* The place of a buffer in a run of one kind. */
typedef struct Spot {
  int slot;
  int64_t offset;
} Spot;
Spot buffer_spot(const Program *program, const LogicalBuffer *buffer, RunKind kind);
/* row_groups.c: groups loops over the same rows, if all buffers have their places; before, only extends live ranges for
** these groups. `row_by_row`: groups of any size are formed, and run one row at a time. */
void group_rows(Program *program, bool placed, bool row_by_row);
/* regions.c: groups small thunks into regions, if these are wanted, and finds out whether the program is quick. */
void compile_regions(Program *program, bool wanted);
/* plan_check.c: in test builds, aborts if a step would read memory that does not hold its operand. */
void plan_check(const Program *program, LogicalBuffer *const *buffers, int count,
                LogicalBuffer *const *results);
/* buffer_plan.c: slots and offsets for all logical buffers that have none yet. */
void buffer_plan(Program *program, LogicalBuffer **buffers, int count);

#endif
