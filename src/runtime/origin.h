/*
** Origins: where an instruction comes from, by its metadata in HLO text:
** {op_name="jit(f)/add" source_file="f.py" source_line=3}.
*/
#ifndef XLA_RUNTIME_ORIGIN_H
#define XLA_RUNTIME_ORIGIN_H

#include "base/error.h"
#include "hlo/ir/module.h"

/* Finds a field of the metadata. Returns its value without quotes, and its length; NULL if there is none. */
const char *origin_field(const Instruction *at, const char *field, int *length);

/* Appends the origin to an error: " (jit(f)/psum, f.py:3)"; nothing if there is none. */
void origin_append(const Instruction *at, Error *error);

#endif
