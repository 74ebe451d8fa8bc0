/* Run arenas: the temporary memory of one device in one run. The executable keeps it for the next run. */
#ifndef XLA_RUNTIME_RUN_ARENA_H
#define XLA_RUNTIME_RUN_ARENA_H

#include <stdint.h>

#include "base/error.h"

typedef struct RunArena {
  struct RunArena *next;
  int64_t bytes;
  uint8_t *memory;
} RunArena;

/* Returns an arena of `bytes` bytes: one of `*free_arenas`, which the scheduler's lock protects, or a new one.
** NULL with RESOURCE_EXHAUSTED. */
RunArena *run_arena_take(RunArena **free_arenas, int64_t bytes, Error *error);
void run_arena_give_back(RunArena **free_arenas, RunArena *arena); /* NULL is fine */
void run_arena_free_all(RunArena *list);

#endif
