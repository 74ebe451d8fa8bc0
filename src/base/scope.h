/*
** Scopes: free the allocations of a call that runs out of memory midway.
**
** platform_trap() unwinds a call without running the rest of its functions, such as arena_free(). So a
** thread keeps a list of its allocations since scope_begin(). If the call returns, scope_commit() leaves
** them to their owners; if it trapped, scope_abandon() frees them. The list holds arenas and the memory
** of growing strings, but not data that a call appends to an older arena. Scopes nest; each belongs to
** its thread.
*/
#ifndef XLA_BASE_SCOPE_H
#define XLA_BASE_SCOPE_H

#include <stddef.h>

/* Embedded in an object that a scope may own. */
typedef struct Scoped {
  struct Scoped *next, **link; /* link NULL: no scope owns it */
  void (*destroy)(struct Scoped *);
  int scope;
} Scoped;

int scope_begin(void); /* returns the number to end it with */
/* Begins a scope that tracks nothing: allocations belong to their owners, as outside of all scopes. */
int scope_begin_untracked(void);
void scope_commit(int scope);
void scope_abandon(int scope);

void scope_add(Scoped *item, void (*destroy)(Scoped *));
void scope_remove(Scoped *item);

/* Memory that a scope may own. Never NULL: if there is not enough, the call traps. */
void *scope_new(size_t count, size_t size); /* zeroed */
void *scope_realloc(void *memory, size_t bytes);
void scope_free(void *memory);

#endif
