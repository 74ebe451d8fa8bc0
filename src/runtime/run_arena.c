#include "runtime/run_arena.h"

#include <stdlib.h>

#include "runtime/buffer.h"
#include "runtime/scheduler.h"

/* Takes a free arena, which runs of the same size reuse; frees one that is too small for this run. */
RunArena *run_arena_take(RunArena **free_arenas, int64_t bytes, Error *error) {
  scheduler_lock();
  RunArena *arena = *free_arenas;
  if (arena) *free_arenas = arena->next;
  scheduler_unlock();
  if (arena && arena->bytes >= bytes) return arena;
  if (arena) {
    arena->next = NULL;
    run_arena_free_all(arena);
  }
  arena = malloc(sizeof *arena);
  if (!arena) {
    error_set(error, STATUS_RESOURCE_EXHAUSTED, "out of memory");
    return NULL;
  }
  *arena = (RunArena){.bytes = bytes};
  arena->memory = memory_alloc(arena->bytes, error);
  if (!arena->memory) {
    free(arena);
    return NULL;
  }
  return arena;
}

void run_arena_give_back(RunArena **free_arenas, RunArena *arena) {
  if (!arena) return;
  scheduler_lock();
  arena->next = *free_arenas;
  *free_arenas = arena;
  scheduler_unlock();
}

void run_arena_free_all(RunArena *list) {
  while (list) {
    RunArena *next = list->next;
    memory_release(list->memory, list->bytes);
    free(list);
    list = next;
  }
}
