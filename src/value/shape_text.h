/* Reads a shape out of a longer text that need not end in NUL; for the HLO parser. */
#ifndef XLA_VALUE_SHAPE_TEXT_H
#define XLA_VALUE_SHAPE_TEXT_H

#include "value/shape.h"

/* As shape_parse, but reads no text from `limit` on. */
const Shape *shape_parse_range(Arena *arena, const char *text, const char *limit, const char **end,
                               Error *error);

/* Skips white space and comments, which HLO text may have anywhere. Stops at a comment that does not end, so
** that the caller reports it. */
const char *text_skip_space(const char *at, const char *limit);

#endif
