/* Functions that regions.c, row_groups.c and region_moves.c share. */
#ifndef XLA_COMPILE_REGIONS_H
#define XLA_COMPILE_REGIONS_H

#include "compile/stages.h"

/* Returns the steps' names, one a line. */
const char *thunk_names(Arena *arena, const ThunkSequence *steps);
BufferSlice region_slice(LogicalBuffer *buffer);
/* Returns the slices of a thunk's operands, followed by those of its results. */
const BufferSlice *region_slices(Arena *arena, const Thunk *thunk);

/* Turns a thunk that only moves elements into a step of moves. False if it is of another kind, or needs too many
** moves. It may be called before buffers have offsets. */
bool region_moves(Arena *arena, const Thunk *thunk, RegionStep *step);

#endif
