/* Reads the programs of the golden corpus, for tests of what can be made of them. */
#ifndef XLA_TESTS_NATIVE_CORPUS_H
#define XLA_TESTS_NATIVE_CORPUS_H

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/text/text.h"

/* Called for each program that the parser accepts. */
typedef void CheckProgram(const char *name, const Module *module);

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  *length = fread(text, 1, *length, file);
  text[*length] = 0;
  fclose(file);
  return text;
}

static void check_program(const char *name, const char *text, size_t length, CheckProgram *check) {
  Error error = {0};
  Module *module = hlo_parse(text, length, &error);
  if (module) check(name, module); /* others are tested as wrong */
  module_free(module);
}

/* Finds the cases: a line "case NAME", then later "hlo BYTES" and the text. Checks every `every`th. */
static void check_file(const char *path, int every, CheckProgram *check) {
  static int seen;
  size_t length;
  char *text = read_file(path, &length), name[256] = "";
  for (char *line = text; line && *line;) {
    char *end = strchr(line, '\n');
    if (!end) break;
    long bytes = 0;
    if (sscanf(line, "case %255s", name) != 1 && sscanf(line, "hlo %ld", &bytes) == 1 &&
        seen++ % every == 0) {
      check_program(name, end + 1, (size_t)bytes, check);
    }
    line = end + 1 + bytes;
  }
  free(text);
}

/* Checks the programs of the files that a test is given; without any, those of tests/golden, and then returns true.
** Arguments: [-n EVERY] [FILE...]; with EVERY, each EVERYth program. */
static bool check_corpus(int count, char **arguments, CheckProgram *check) {
  bool is_sample = count > 2 && !strcmp(arguments[1], "-n");
  int every = is_sample ? atoi(arguments[2]) : 1, first = is_sample ? 3 : 1;
  glob_t files = {0};
  if (every < 1) every = 1;
  for (int i = first; i < count; i++) check_file(arguments[i], every, check);
  if (first < count) return false;
  if (glob("tests/golden/*.golden", 0, NULL, &files)) return true;
  for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i], every, check);
  globfree(&files);
  return true;
}

#endif
