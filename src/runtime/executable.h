/*
** Executable: a loaded program for a mesh of devices, and its runs. Its owner may release it while it runs;
** the last run then frees it.
*/
#ifndef XLA_RUNTIME_EXECUTABLE_H
#define XLA_RUNTIME_EXECUTABLE_H

#include "compile/compilation.h"
#include "runtime/run_arena.h"

typedef struct Executable {
  Program *program;
  Mesh mesh;
  RunArena *free_arenas; /* of finished runs, for the next one */
  int runs;              /* the number of runs' devices that use it */
  bool released;         /* by its owner */
  int slow; /* runs still to begin with a worker, as the last one on the host's thread took too long */
} Executable;

/* Optimises a copy of `module`, compiles it and plans its memory. `asked`: the numbers of replicas and
** partitions; 0: those of the module (compile/mesh_choice.h). `options` may be NULL. */
Executable *executable_new(const Module *module, Mesh asked, const CompileOptions *options,
                           Error *error);

/* Begins a compilation in steps: see compilation_step in compile/compilation.h. NULL with an error if the mesh does not fit. */
Compilation *executable_begin(const Module *module, Mesh asked, const CompileOptions *options,
                              Error *error);
Executable *executable_end(Compilation *compilation, Error *error);

void executable_release(Executable *executable);
void executable_leave(Executable *executable); /* called when a device of a run has ended */

#endif
