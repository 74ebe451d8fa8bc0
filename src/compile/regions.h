/* What those who put thunks together share. */
#ifndef XLA_COMPILE_REGIONS_H
#define XLA_COMPILE_REGIONS_H

#include "compile/program.h"

/* A name for each step, a line each. */
const char *thunk_names(Arena *arena, const ThunkSequence *steps);
Place region_place(LogicalBuffer *buffer);
/* The places of a thunk's operands, then of its results. */
const Place *region_places(Arena *arena, const Thunk *thunk);

/* Makes a thunk that only moves elements a step of moves; false if it is of another kind, or too many
** moves. Only looks at buffers' places if they have them yet. */
bool region_moves(Arena *arena, const Thunk *thunk, RegionStep *step);

#endif
