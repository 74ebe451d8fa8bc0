/* A set of strings, for keeping names unique: open addressing, FNV-1a, memory from an arena. */
#ifndef XLA_BASE_NAMES_H
#define XLA_BASE_NAMES_H

#include "base/arena.h"

typedef struct NameSet {
  int count, capacity; /* capacity: a power of two, or 0 */
  const char **slots;
} NameSet;

/* Adds the name itself, which must outlive the set. Returns false if the set already has it. */
bool names_add(NameSet *set, Arena *arena, const char *name);
bool names_has(const NameSet *set, const char *name);
/* Adds and returns `name`, or the first of "name.n", "name.n+1", ... that is free. */
const char *names_take(NameSet *set, Arena *arena, const char *name, int n);
/* Takes a name with a number, even if `name` itself is free. */
const char *names_take_numbered(NameSet *set, Arena *arena, const char *name, int n);

#endif
