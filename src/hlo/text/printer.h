/* Declares the state and functions that the printer's files share. */
#ifndef XLA_HLO_TEXT_PRINTER_H
#define XLA_HLO_TEXT_PRINTER_H

#include "base/strbuf.h"
#include "hlo/ir/module.h"

/*
** The names to print: an instruction's or computation's own, unless XLA's parser would refuse it
** (`my value`, `nan`, `f32`); then a unique one that it accepts.
*/
typedef struct Printer {
  StrBuf *out;
  Arena *arena;
  const Module *module;       /* NULL when printing one instruction only */
  const char **computations;  /* by position in the module; NULL: all names are good */
  const Computation *current; /* whose instructions are being printed */
  const char **instructions;  /* by id; NULL: all names are good */
  /* A constant that has at least this number of bytes is printed as the address of its elements. 0: none is. */
  int64_t min_data_bytes;
} Printer;

void printer_names_of_module(Printer *printer);
void printer_names_of_computation(Printer *printer, const Computation *computation);
const char *printer_computation_name(const Printer *printer, const Computation *computation);
const char *printer_instruction_name(const Printer *printer, const Instruction *instruction);
/* Returns `name`, or a similar name that XLA accepts. */
const char *good_name(Arena *arena, const char *name);

/* printer_attributes.c: ", name=value" for each attribute that has to be said. */
void print_attributes(const Printer *printer, const Instruction *instruction);
void print_int64_list(StrBuf *out, Int64List list); /* {0,1} */

#endif
