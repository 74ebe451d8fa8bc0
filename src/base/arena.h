/*
** A bump allocator: everything that belongs to one module, one compilation or one evaluation comes
** from one arena and is freed with it. Programs are small. Their data is large and does not come from
** arenas (see value/literal.h and runtime/buffer.h), so that running out of memory for data is an
** ordinary error. Running out of memory for an arena ends the call: platform_fatal() unwinds to the API,
** which reports RESOURCE_EXHAUSTED, and the arenas that the call made are freed (base/scope.h). So no
** function of an arena may be called with a lock held.
*/
#ifndef XLA_BASE_ARENA_H
#define XLA_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena); /* NULL is fine */

/* Returns zeroed memory, aligned to 16 bytes; lives as long as the arena. Never NULL. */
void *arena_alloc(Arena *arena, size_t bytes);
/* Allocates as arena_alloc does, but returns NULL without enough memory: for data, whose size a program chooses. */
void *arena_try_alloc(Arena *arena, uint64_t bytes);
/* Allocates memory that is not cleared, so that large tables cost nothing before they are filled. Never NULL. */
void *arena_alloc_uncleared(Arena *arena, uint64_t bytes);
/* Returns zeroed memory for `count` items, at least one. Counts have 64 bits, as in programs, even if pointers have 32. */
void *arena_alloc_array(Arena *arena, int64_t count, size_t size);
/* Gives an arena the owner of another one, which the caller will free: if a call traps, its scope frees neither or both. */
void arena_replaces(Arena *arena, const Arena *other);
/* Moves an allocation that has a block of the system's memory to itself, as those above 1 MB have. False: it has none. */
bool arena_move(Arena *from, Arena *to, const void *memory);
void *arena_copy(Arena *arena, const void *data, size_t bytes);
char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For scratch use: arena_release frees the allocations after arena_mark. */
typedef struct ArenaMark {
  void *block;
  size_t used;
} ArenaMark;
ArenaMark arena_mark(Arena *arena);
void arena_release(Arena *arena, ArenaMark mark);

#define ARENA_NEW(arena, type) ((type *)arena_alloc(arena, sizeof(type)))
#define ARENA_ARRAY(arena, type, count) \
  ((type *)arena_alloc_array(arena, (int64_t)(count), sizeof(type)))

/* Appends to a growing array {items, count, capacity} whose memory is the arena's. */
#define ARENA_PUSH(arena, items, count, capacity, value)                              \
  do {                                                                                \
    if ((count) == (capacity))                                                        \
      (items) = arena_grow((arena), (items), sizeof(*(items)), (count), &(capacity)); \
    (items)[(count)++] = (value);                                                     \
  } while (0)
/* Returns a copy of `count` items with room for more, and sets `capacity`. */
void *arena_grow(Arena *arena, const void *items, size_t size, int count, int *capacity);

#endif
