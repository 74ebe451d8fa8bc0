/*
** What thunks.c and thunks_control.c share. thunks.c compiles computations, and instructions that are one thunk each;
** thunks_control.c compiles loops and branches.
*/
#ifndef XLA_COMPILE_THUNKS_H
#define XLA_COMPILE_THUNKS_H

#include "compile/stages.h"

typedef LogicalBuffer **Leaves; /* of one value, in depth-first order */

struct ThunkCompiler {
  Program *program;
  const CompileOptions *options;
  Arena *arena;
  int time;
  int count, capacity;
  LogicalBuffer **buffers; /* all of them */
  int fusion_capacity;
  int *function_of; /* by computation number: the function's number plus 1; 0: it has none */
  int loops;        /* whiles so far */
  int64_t room;     /* remaining instructions to which loops and branches may expand */
  int64_t **starts; /* of the present computation, by id: the first leaf of each tuple element */
  bool draws;       /* the module draws random numbers; any call may do so */
  const Instruction *too_large; /* neither fits as thunks nor can be evaluated */
  /* Of the entry, whose instructions are compiled some at a time: */
  int next;
  LogicalBuffer ***values, ***arguments;
};

/* Makes a buffer for a leaf, which is live from now on; a token has no slot. */
LogicalBuffer *thunks_new_buffer(ThunkCompiler *c, const Shape *leaf, int slot);

/* Makes the buffers of a value, in the arena. */
Leaves thunks_new_leaves(ThunkCompiler *c, const Shape *shape);

/* Extends a buffer's live range to now. */
void thunks_use(ThunkCompiler *c, LogicalBuffer *buffer);

/* Appends a thunk. The clock ticks before its results are defined, so that they may take the memory of
** buffers that the previous thunk read last. */
Thunk *thunks_add(ThunkCompiler *c, ThunkSequence *sequence, ThunkKind kind,
                  const Instruction *instruction);

/* Appends a copy of a leaf; none if both are the same, or a token. */
void thunks_add_copy(ThunkCompiler *c, ThunkSequence *sequence, const Instruction *instruction,
                     LogicalBuffer *from, LogicalBuffer *to);

/* Compiles the instructions to `sequence`; returns the leaves of the root. `late`: by id, the instructions that come last
** (thunks_control.c); NULL: none. */
Leaves thunks_compile(ThunkCompiler *c, const Computation *computation, const bool *late,
                      const Leaves *arguments, ThunkSequence *sequence);

/* Compiles a while. The loop's state has buffers of its own, which are the result and the parameter of both computations. The
** initial value `init` is copied in. At the end of the body its root is copied back, unless it is computed in place. */
Leaves thunks_while(ThunkCompiler *c, const Instruction *instruction, Leaves init,
                    ThunkSequence *sequence);

/* Compiles a conditional: each branch's root is copied to the result's buffers. `values`: by id. */
Leaves thunks_conditional(ThunkCompiler *c, const Instruction *instruction, Leaves *values,
                          ThunkSequence *sequence);

#endif
