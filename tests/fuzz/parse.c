/*
** Fuzzes the HLO text parser and printer: no input may crash, and what was printed reads back as the
** same module.
**
**   make build/native/fuzz-parse
**   build/native/fuzz-parse -max_len=4096 -rss_limit_mb=4096 CORPUS
**
** A corpus to start from is any folder of HLO texts, such as those of tests/golden.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition, const char *what, const StrBuf *text) {
  if (condition) return;
  fprintf(stderr, "%s:\n%s\n", what, text->text);
  abort();
}

/* Parses and prints `text`. False if it is no module. */
static bool round_trip(const char *text, size_t length, StrBuf *printed, Error *error) {
  Module *module = hlo_parse(text, length, error);
  if (!module) return false;
  hlo_print(module, printed);
  module_free(module);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Error error = {0};
  StrBuf first = {0}, second = {0};
  if (!round_trip((const char *)data, size, &first, &error)) {
    check(error.code != STATUS_OK && error.message[0], "failed without an error", &first);
    return 0;
  }
  check(round_trip(first.text, first.length, &second, &error), error.message, &first);
  check(!strcmp(first.text, second.text), "printed differently the second time", &second);
  strbuf_free(&first);
  strbuf_free(&second);
  return 0;
}
