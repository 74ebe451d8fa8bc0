/*
** Parses and prints HLO text. The parser reads the text that XLA prints, and XLA reads the text printed
** here. The grammar is that of XLA's HloParser; parser.c lists the parts that are accepted and dropped.
*/
#ifndef XLA_HLO_TEXT_TEXT_H
#define XLA_HLO_TEXT_TEXT_H

#include "base/strbuf.h"
#include "hlo/ir/module.h"

/* Parses and verifies a module. Returns NULL with `error`, which has line and column, on failure. A single
** computation body without an `HloModule` header is accepted too. */
Module *hlo_parse(const char *text, size_t length, Error *error);

/*
** Elements of large constants, given beside a text: `constant(data.3)` has
** the elements data[3], sizes[3] bytes, dense and row-major.
*/
/* The value of a literal that a dump leaves out, {...}: an error, zeros, or pseudorandom numbers. */
typedef enum ElidedLiterals { ELIDED_REFUSED, ELIDED_ZEROS, ELIDED_RANDOM } ElidedLiterals;

typedef struct TextData {
  int count;
  void *const *data;
  const uint32_t *sizes;
  ElidedLiterals elided;
} TextData;

/* As hlo_parse, with literals in `data`, allocated by malloc. On success the module owns `data`. */
Module *hlo_parse_with_data(const char *text, size_t length, const TextData *data, Error *error);

/* Appends the module's text. Large constants are printed in full. */
void hlo_print(const Module *module, StrBuf *out);
/* Prints a module, with constants of at least `min_bytes` bytes as constant(data.ADDRESS): the address of their
** elements, dense and row-major. */
void hlo_print_with_data(const Module *module, int64_t min_bytes, StrBuf *out);
/* Appends a literal as in constant(...), e.g. `{ { 1, 2 }, { 3, 4 } }`. */
void hlo_print_literal(const Literal *literal, StrBuf *out);

/* Parses the attributes of one instruction of `opcode`, as written after its operands in text
** ("dimensions={0}, to_apply=%sum"), without leading comma. Computation names are looked up in
** `module`. XlaBuilder's `broadcast_dimensions={..}`, which is no HLO attribute, goes to the out
** parameter: count -1 when absent; NULL refuses it. */
bool hlo_parse_attributes(Module *module, Opcode opcode, const char *text, Attributes *attributes,
                          Int64List *broadcast_dimensions, Error *error);

/* Parses attributes of a module's first line, without "HloModule name,", into `module`. */
bool hlo_parse_header(Module *module, const char *text, Error *error);

/* Parses a literal of a known shape, e.g. "{ {1,2}, {3,4} }" for s32[2,2]. */
Literal *hlo_parse_literal(Arena *arena, const Shape *shape, const char *text, Error *error);

#endif
