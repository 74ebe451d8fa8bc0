/*
** Makes a batch of all programs of the golden corpus: of every parameter, of every second one, and of the results once
** more. Each must become a valid module, or be refused with a reason. (tests/vmap.test.mjs compares values with JAX's.)
**
**   batches [FILE.golden...]        default: those of tests/golden
*/
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/text/text.h"
#include "rewrite/batch/batch.h"

static int batched, refused, failures;

static int leaf_count(const Module *module) {
  int count = 0;
  for (int i = 0; i < module->entry->parameter_count; i++) {
    count += shape_leaves(module->entry->parameters[i]->shape);
  }
  return count;
}

static bool is_reason(const Error *error) {
  return (error->code == STATUS_UNIMPLEMENTED || error->code == STATUS_INVALID_ARGUMENT) &&
         strncmp(error->message, "vmap: ", 6) == 0;
}

/* Makes batches of `size` elements, `orders` times, of the leaves from `first` on, in steps. The batch is the last
** dimension of parameters and results, which moves through all rules. */
static void batch(const char *name, const Module *module, int64_t size, int first, int step,
                  int orders) {
  int in_count = leaf_count(module), out_count = shape_leaves(module->entry->root->shape);
  int *in = calloc((size_t)in_count + 1, sizeof *in);
  int *out = calloc((size_t)out_count + 1, sizeof *out);
  for (int i = 0; i < in_count; i++) in[i] = i >= first && (i - first) % step == 0 ? -1 : NO_BATCH;
  for (int i = 0; i < out_count; i++) out[i] = -1;
  BatchOptions options = {size, in_count, in, out_count, out};
  Error error = {0};
  Module *made = module_batch(module, &options, &error);
  free(in);
  free(out);
  if (made) {
    batched++;
    if (orders > 1) batch(name, made, size + 1, first, step, orders - 1);
    module_free(made);
  } else if (is_reason(&error)) {
    refused++;
  } else {
    failures++;
    printf("FAIL %s, leaves %d + %d k, size %d: %s\n", name, first, step, (int)size, error.message);
  }
}

static void check(const char *name, const char *text, size_t length) {
  Error error = {0};
  Module *module = hlo_parse(text, length, &error);
  if (!module) return; /* programs that are tested as wrong */
  batch(name, module, 2, 0, 1, 2);
  batch(name, module, 3, 0, 2, 2);
  batch(name, module, 3, 1, 2, 2);
  batch(name, module, 0, 0, 1, 1);
  module_free(module);
}

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

/* Finds the cases: a line "case NAME", then later "hlo BYTES" and the text. */
static void check_file(const char *path) {
  size_t length;
  char *text = read_file(path, &length), name[256] = "";
  for (char *line = text; line && *line;) {
    char *end = strchr(line, '\n');
    if (!end) break;
    long bytes = 0;
    if (sscanf(line, "case %255s", name) != 1 && sscanf(line, "hlo %ld", &bytes) == 1) {
      check(name, end + 1, (size_t)bytes);
    }
    line = end + 1 + bytes;
  }
  free(text);
}

int main(int count, char **arguments) {
  glob_t files = {0};
  for (int i = 1; i < count; i++) check_file(arguments[i]);
  if (count == 1 && !glob("tests/golden/*.golden", 0, NULL, &files)) {
    for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i]);
    globfree(&files);
  }
  printf("%d batched, %d refused, %d failures\n", batched, refused, failures);
  bool too_few = batched < 10 * refused;
  return failures != 0 || (count == 1 && too_few);
}
