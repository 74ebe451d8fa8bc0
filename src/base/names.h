/* A set of strings, for keeping names unique: open addressing, FNV-1a, memory from an arena. */
#ifndef XLA_BASE_NAMES_H
#define XLA_BASE_NAMES_H

#include "base/arena.h"

typedef struct NameSet {
  int count, capacity; /* capacity: a power of two, or 0 */
  const char **slots;
} NameSet;

/* Takes the name itself, which has to live as long; false if it is taken. */
bool names_add(NameSet *set, Arena *arena, const char *name);
bool names_has(const NameSet *set, const char *name);
/* Returns `name`, or the first of "name.n", "name.n+1", ... that is free; and takes it. */
const char *names_take(NameSet *set, Arena *arena, const char *name, int n);
/* The same without `name` itself. */
const char *names_take_numbered(NameSet *set, Arena *arena, const char *name, int n);

#endif
