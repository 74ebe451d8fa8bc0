/* Reading a shape out of a longer text that need not end in NUL; for the HLO parser. */
#ifndef XLA_VALUE_SHAPE_TEXT_H
#define XLA_VALUE_SHAPE_TEXT_H

#include "value/shape.h"

/* As shape_parse, but looks at nothing from `limit` on. */
const Shape *shape_parse_range(Arena *arena, const char *text, const char *limit, const char **end,
                               Error *error);

/* Steps over white space and comments, as HLO text has them anywhere. A comment that does not end
** is left for the caller to stumble over. */
const char *text_skip_space(const char *at, const char *limit);

#endif
