/*
** Scopes: what a call that runs out of memory in the middle has allocated goes with it.
**
** platform_trap() unwinds a call without running what its functions would still do, arena_free() for
** one. So a thread keeps a list of what was allocated since scope_begin(): if the call comes to its
** end, scope_commit() leaves all that to its owners; if it trapped, scope_abandon() frees it.
** Arenas and the memory of growing strings are such things; what a call appends to an arena that it
** found is not. Scopes nest, and belong to their thread.
*/
#ifndef XLA_BASE_SCOPE_H
#define XLA_BASE_SCOPE_H

#include <stddef.h>

/* To be embedded in what a scope may own. */
typedef struct Scoped {
  struct Scoped *next, **link; /* link NULL: no scope owns it */
  void (*destroy)(struct Scoped *);
  int scope;
} Scoped;

int scope_begin(void); /* a number, for its end */
/* What is allocated is nobody's but its owner's, as outside of all scopes. */
int scope_begin_untracked(void);
void scope_commit(int scope);
void scope_abandon(int scope);

void scope_add(Scoped *item, void (*destroy)(Scoped *));
void scope_remove(Scoped *item);

/* Memory that may be a scope's. Never NULL: where there is not enough, the call traps. */
void *scope_new(size_t count, size_t size); /* zeroed */
void *scope_realloc(void *memory, size_t bytes);
void scope_free(void *memory);

#endif
