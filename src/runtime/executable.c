#include "runtime/executable.h"

#include <stdlib.h>

#include "runtime/collective_check.h"
#include "runtime/run_arena.h"
#include "runtime/scheduler.h"

Executable *executable_new(const Module *module, int replica_count, const CompileOptions *options,
                           Error *error) {
  static const CompileOptions defaults = {0};
  if (replica_count < 1) {
    error_set(error, STATUS_INVALID_ARGUMENT, "replicas must be at least 1, not %d", replica_count);
    return NULL;
  }
  Program *program = program_new(module, options ? options : &defaults, error);
  if (!program) return NULL;
  if (!collectives_check(program->module, replica_count, error)) {
    program_free(program);
    return NULL;
  }
  Executable *executable = ARENA_NEW(program->arena, Executable);
  *executable = (Executable){.program = program, .replica_count = replica_count};
  return executable;
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
