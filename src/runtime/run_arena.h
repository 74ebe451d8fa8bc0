/* Run arenas: the temporary memory of one replica in one run. The executable keeps it for the next run. */
#ifndef XLA_RUNTIME_RUN_ARENA_H
#define XLA_RUNTIME_RUN_ARENA_H

#include <stdint.h>

#include "runtime/executable.h"

typedef struct RunArena {
  struct RunArena *next;
  int64_t bytes;
  uint8_t *memory;
} RunArena;

/* Returns an arena of `bytes` bytes: one of the executable's free ones, or a new one. NULL with
** RESOURCE_EXHAUSTED. */
RunArena *run_arena_take(Executable *executable, int64_t bytes, Error *error);
void run_arena_give_back(Executable *executable, RunArena *arena); /* NULL is fine */
void run_arena_free_all(RunArena *list);

#endif
