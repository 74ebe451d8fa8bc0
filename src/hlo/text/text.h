/*
** HLO text, both ways. What XLA prints is read; what is printed here, XLA reads. The grammar is
** that of XLA's HloParser; see the parser for what is accepted and dropped.
*/
#ifndef XLA_HLO_TEXT_TEXT_H
#define XLA_HLO_TEXT_TEXT_H

#include "base/strbuf.h"
#include "hlo/ir/module.h"

/* Parses and verifies a module. NULL with `error`, which has line and column. A text without an
** `HloModule` header that is a single computation body is accepted too. */
Module *hlo_parse(const char *text, size_t length, Error *error);

/*
** Data that comes beside a text, so that large constants need not be spelled: `constant(data.3)` has
** the elements data[3], which are sizes[3] bytes, dense and row-major.
*/
/* What becomes of a literal that a dump leaves out, {...}: an error, zeros, or numbers that look random. */
typedef enum ElidedLiterals { ELIDED_REFUSED, ELIDED_ZEROS, ELIDED_RANDOM } ElidedLiterals;

typedef struct TextData {
  int count;
  void *const *data;
  const uint32_t *sizes;
  ElidedLiterals elided;
} TextData;

/* As hlo_parse. The literals lie in `data`, which came from malloc: if the text is good, the module
** takes all of it over. */
Module *hlo_parse_with_data(const char *text, size_t length, const TextData *data, Error *error);

/* Appends the module's text. Large constants are printed in full. */
void hlo_print(const Module *module, StrBuf *out);
/* The same with constants of `apart` bytes and more as constant(data.ADDRESS): where their elements
** are, dense and row-major. */
void hlo_print_apart(const Module *module, int64_t apart, StrBuf *out);
void hlo_print_instruction(const Instruction *instruction, StrBuf *out);
/* A literal as in constant(...), e.g. `{ { 1, 2 }, { 3, 4 } }`. */
void hlo_print_literal(const Literal *literal, StrBuf *out);

/* Parses the attributes of one instruction of `opcode`, as they stand behind its operands in text
** ("dimensions={0}, to_apply=%sum"), without leading comma. Computation names are looked up in
** `module`. For `broadcast_dimensions={..}`, which is no HLO attribute but XlaBuilder's, see the
** out parameter (may be NULL: then refused; count -1 when absent). */
bool hlo_parse_attributes(Module *module, Opcode opcode, const char *text, Attributes *attributes,
                          Int64List *broadcast_dimensions, Error *error);

/* Parses attributes of a module's first line, without "HloModule name,", into `module`. */
bool hlo_parse_header(Module *module, const char *text, Error *error);

/* Parses a literal of a known shape, e.g. "{ {1,2}, {3,4} }" for s32[2,2]. */
Literal *hlo_parse_literal(Arena *arena, const Shape *shape, const char *text, Error *error);

#endif
