/*
** Executable: a program that is loaded, for so many replicas, and the runs of it. Its owner may
** release it while it runs; it goes with its last run.
*/
#ifndef XLA_RUNTIME_EXECUTABLE_H
#define XLA_RUNTIME_EXECUTABLE_H

#include "compile/program.h"

typedef struct Executable {
  Program *program;
  int replica_count;
  struct RunArena *free_arenas; /* of finished runs, for the next one; see run_arena.c */
  int runs;                     /* that use it */
  bool released;                /* by its owner */
} Executable;

/* Optimises a copy of `module`, compiles it and plans its memory. `options` may be NULL. */
Executable *executable_new(const Module *module, int replica_count, const CompileOptions *options,
                           Error *error);
void executable_release(Executable *executable);
void executable_leave(Executable *executable); /* a run of it ended */

#endif
