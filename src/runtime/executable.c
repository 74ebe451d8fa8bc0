#include "runtime/executable.h"

#include <stdlib.h>

#include "compile/mesh_choice.h"
#include "runtime/scheduler.h"

Compilation *executable_begin(const Module *module, Mesh asked, const CompileOptions *options,
                              Error *error) {
  static const CompileOptions defaults = {0};
  Mesh mesh;
  if (!choose_mesh(module, asked, &mesh, error)) return NULL;
  return compilation_new(module, mesh, options ? options : &defaults);
}

Executable *executable_end(Compilation *compilation, Error *error) {
  Program *program = compilation_end(compilation, error);
  if (!program) return NULL;
  Executable *executable = ARENA_NEW(program->arena, Executable);
  *executable = (Executable){.program = program, .mesh = program->mesh};
  return executable;
}

Executable *executable_new(const Module *module, Mesh asked, const CompileOptions *options,
                           Error *error) {
  Compilation *compilation = executable_begin(module, asked, options, error);
  if (!compilation) return NULL;
  while (compilation_step(compilation)) {}
  return executable_end(compilation, error);
}

static void destroy(Executable *executable) {
  run_arena_free_all(executable->free_arenas);
  program_free(executable->program);
}

void executable_release(Executable *executable) {
  if (!executable) return;
  scheduler_lock();
  executable->released = true;
  bool unused = executable->runs == 0;
  scheduler_unlock();
  if (unused) destroy(executable);
}

void executable_leave(Executable *executable) {
  scheduler_lock();
  bool last = --executable->runs == 0 && executable->released;
  scheduler_unlock();
  if (last) destroy(executable);
}
