#include "base/names.h"

#include <string.h>

static uint32_t hash(const char *name) {
  uint32_t h = 2166136261u;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
  return h;
}

/* The slot that holds `name`, or the empty one where it belongs. */
static const char **slot_of(const NameSet *set, const char *name) {
  uint32_t mask = (uint32_t)set->capacity - 1, i = hash(name) & mask;
  while (set->slots[i] && strcmp(set->slots[i], name) != 0) i = (i + 1) & mask;
  return &set->slots[i];
}

bool names_has(const NameSet *set, const char *name) {
  return set->capacity && *slot_of(set, name);
}

static void grow(NameSet *set, Arena *arena) {
  NameSet larger = {set->count, set->capacity ? set->capacity * 2 : 16, NULL};
  larger.slots = ARENA_ARRAY(arena, const char *, larger.capacity);
  for (int i = 0; i < set->capacity; i++) {
    if (set->slots[i]) *slot_of(&larger, set->slots[i]) = set->slots[i];
  }
  *set = larger;
}

const char *names_take(NameSet *set, Arena *arena, const char *name, int n) {
  if (set->count * 2 >= set->capacity) grow(set, arena);
  const char *unique = arena_strdup(arena, name);
  for (; *slot_of(set, unique); n++) unique = arena_printf(arena, "%s.%d", name, n);
  *slot_of(set, unique) = unique;
  set->count++;
  return unique;
}
