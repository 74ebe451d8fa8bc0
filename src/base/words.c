#include "base/words.h"

#include <string.h>

int word_row(WordTable *table, const char *word, size_t length) {
  unsigned hash = 0;
  for (size_t i = 0; i < length; i++) hash = hash * 31 + (unsigned char)word[i];
  _Atomic uint8_t *found = &table->found[hash % WORD_HASHES];
  for (int i = *found, tried = 0; length > 0 && tried < table->count; tried++) {
    const char *row =
        *(const char *const *)((const char *)table->rows + (size_t)i * table->row_bytes);
    if (*row == *word && !strncmp(row, word, length) && !row[length]) {
      *found = (uint8_t)i;
      return i;
    }
    i = i + 1 < table->count ? i + 1 : 0;
  }
  return -1;
}

/* Threshold MAX_NEAR: letters of a word for which an error suggests another. No word of a table has more. No path. */
enum { MAX_NEAR = 60 };

/* How many letters of a word must be put in, taken out or replaced to make another: Levenshtein's distance. */
static int distance(const char *from, size_t length, const char *to) {
  unsigned char row[MAX_NEAR + 1];
  int count = (int)strlen(to);
  for (int j = 0; j <= count; j++) row[j] = (unsigned char)j;
  for (size_t i = 0; i < length; i++) {
    int before = row[0]++;
    for (int j = 0; j < count; j++) {
      int replaced = before + (from[i] != to[j]);
      before = row[j + 1];
      int min = 1 + (row[j] < before ? row[j] : before);
      row[j + 1] = (unsigned char)(replaced < min ? replaced : min);
    }
  }
  return row[count];
}

int near_limit(size_t length) {
  if (length > MAX_NEAR) return 0;
  return length > 4 ? (int)(length + 1) / 3 + 1 : 2; /* a third of the letters, at least one */
}

bool word_is_nearer(const char *word, size_t length, const char *other, int *limit) {
  int steps = *limit > 0 ? distance(word, length, other) : 0;
  if (steps >= *limit) return false;
  *limit = steps;
  return true;
}
