/* Words of tables: the row of a word, and the word that is spelled most like another. */
#ifndef XLA_BASE_WORDS_H
#define XLA_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threshold WORD_HASHES: of the rows that a table remembers. No path. */
enum { WORD_HASHES = 128 };

/* A table of at most 256 rows of the same size. A row begins with its word, a const char *. */
typedef struct WordTable {
  const void *rows;
  size_t row_bytes;
  int count;
  _Atomic uint8_t found[WORD_HASHES]; /* the last row found by each hash: searches begin there */
} WordTable;

/* Returns the number of the row with a word, or -1. Any threads may search a table at the same time. */
int word_row(WordTable *table, const char *word, size_t length);

/* Returns how many letters must be different, at least, in a word that is not near to one of this length. */
int near_limit(size_t length);
/* Returns whether another word differs in fewer than `limit` letters, to which it lowers the limit then. The other word
** has at most 60 letters. */
bool word_is_nearer(const char *word, size_t length, const char *other, int *limit);

#endif
