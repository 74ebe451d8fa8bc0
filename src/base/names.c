/* Implements a set of strings as a hash table: see names.h. */
#include "base/names.h"

#include <string.h>

static uint32_t hash_on(uint32_t h, const char *text) {
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
  return h;
}

static uint32_t hash(const char *name) { return hash_on(2166136261u, name); }

/* Returns the slot that holds `name` followed by `rest`, or the empty slot for it. h: the hash of both. */
static const char **slot_at(const NameSet *set, uint32_t h, const char *name, const char *rest) {
  uint32_t mask = (uint32_t)set->capacity - 1, i = h & mask;
  for (; set->slots[i]; i = (i + 1) & mask) {
    size_t length = strlen(name);
    if (!strncmp(set->slots[i], name, length) && !strcmp(set->slots[i] + length, rest)) break;
  }
  return &set->slots[i];
}

static const char **slot_of(const NameSet *set, const char *name) {
  return slot_at(set, hash(name), name, "");
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

bool names_add(NameSet *set, Arena *arena, const char *name) {
  if (set->count * 2 >= set->capacity) grow(set, arena);
  const char **slot = slot_of(set, name);
  if (*slot) return false;
  set->count++;
  *slot = name;
  return true;
}

/* Writes ".n" to the end of the buffer. Returns its start. */
static char *suffix_of(int n, char buffer[16]) {
  char *at = &buffer[15];
  *at = 0;
  for (unsigned rest = n < 0 ? 0 : (unsigned)n; rest || !*at; rest /= 10) {
    *--at = (char)('0' + rest % 10);
  }
  *--at = '.';
  return at;
}

static const char *take(NameSet *set, Arena *arena, const char *name, int n, bool numbered) {
  char buffer[16], *suffix = numbered ? suffix_of(n++, buffer) : "";
  if (set->count * 2 >= set->capacity) grow(set, arena);
  uint32_t h = hash(name), whole = hash_on(h, suffix);
  const char **slot;
  while (*(slot = slot_at(set, whole, name, suffix))) {
    suffix = suffix_of(n++, buffer);
    whole = hash_on(h, suffix);
  }
  size_t length = strlen(name), more = strlen(suffix);
  char *unique = arena_alloc(arena, length + more + 1);
  memcpy(unique, name, length + 1);
  memcpy(unique + length, suffix, more + 1);
  set->count++;
  return *slot = unique;
}

const char *names_take(NameSet *set, Arena *arena, const char *name, int n) {
  return take(set, arena, name, n, false);
}

const char *names_take_numbered(NameSet *set, Arena *arena, const char *name, int n) {
  return take(set, arena, name, n, true);
}
