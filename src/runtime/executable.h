/*
** Executable: a program that is loaded, for a mesh of devices, and the runs of it. Its owner may
** release it while it runs; it goes with its last run.
*/
#ifndef XLA_RUNTIME_EXECUTABLE_H
#define XLA_RUNTIME_EXECUTABLE_H

#include "compile/program.h"

typedef struct Executable {
  Program *program;
  Mesh mesh;
  struct RunArena *free_arenas; /* of finished runs, for the next one; see run_arena.c */
  int runs;                     /* devices of runs that use it */
  bool released;                /* by its owner */
  int slow; /* so many runs begin with a worker: the last one here took too long */
} Executable;

/* Optimises a copy of `module`, compiles it and plans its memory. `asked`: how many replicas and
** partitions; 0: as many as the module says (module_mesh()). `options` may be NULL. */
Executable *executable_new(const Module *module, Mesh asked, const CompileOptions *options,
                           Error *error);

/* The mesh that a module itself asks for: replica_count and num_partitions of its header, or of the
** mesh that its shard_maps are for; 0 where it does not say. */
Mesh module_mesh(const Module *module);

void executable_release(Executable *executable);
void executable_leave(Executable *executable); /* a device of a run of it ended */

#endif
