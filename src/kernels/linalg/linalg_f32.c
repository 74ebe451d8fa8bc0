/* Linear algebra of f32: see linalg_routines.inc. */
#define NAMED(name) name##_f32
#define IS_COMPLEX  0
#define IS_NARROW   1
#include "kernels/linalg/linalg_routines.inc"
