/* Tracks a thread's allocations, so that a trapped call frees them: see scope.h. */
#include "base/scope.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/platform.h"

/* This thread's items, newest first, so that inner scopes' items come before outer scopes'. */
static _Thread_local struct {
  Scoped *first;
  int depth, untracked;
} scopes;

int scope_begin(void) { return ++scopes.depth; }
int scope_begin_untracked(void) { return scopes.untracked = ++scopes.depth; }

static void end(int scope) {
  scopes.depth = scope - 1;
  if (scopes.untracked >= scope) scopes.untracked = 0;
}

void scope_commit(int scope) {
  while (scopes.first && scopes.first->scope >= scope) scope_remove(scopes.first);
  end(scope);
}

void scope_abandon(int scope) {
  while (scopes.first && scopes.first->scope >= scope) {
    Scoped *item = scopes.first;
    scope_remove(item);
    item->destroy(item);
  }
  end(scope);
}

void scope_add(Scoped *item, void (*destroy)(Scoped *)) {
  if (scopes.depth == scopes.untracked) { /* both may be 0 */
    item->link = NULL;
    return;
  }
  *item = (Scoped){scopes.first, &scopes.first, destroy, scopes.depth};
  if (item->next) item->next->link = &item->next;
  scopes.first = item;
}

void scope_remove(Scoped *item) {
  if (!item->link) return;
  *item->link = item->next;
  if (item->next) item->next->link = item->link;
  item->link = NULL;
}

/* ---- Memory ---- */

typedef struct Block {
  Scoped scoped;
  _Alignas(16) unsigned char data[];
} Block;

static void destroy_block(Scoped *item) { free(item); }

static Block *block_of(void *memory) {
  return (Block *)((unsigned char *)memory - offsetof(Block, data));
}

void *scope_realloc(void *memory, size_t bytes) {
  Block *block = memory ? block_of(memory) : NULL;
  if (block) scope_remove(&block->scoped);
  Block *grown = bytes < SIZE_MAX / 2 ? realloc(block, sizeof *grown + bytes) : NULL;
  if (grown || block) scope_add(&(grown ? grown : block)->scoped, destroy_block);
  if (!grown) platform_fatal("out of memory");
  return grown->data;
}

void *scope_new(size_t count, size_t size) {
  if (size && count > SIZE_MAX / 2 / size) platform_fatal("out of memory");
  void *memory = scope_realloc(NULL, count * size);
  return memset(memory, 0, count * size);
}

void scope_free(void *memory) {
  if (!memory) return;
  Block *block = block_of(memory);
  scope_remove(&block->scoped);
  free(block);
}
