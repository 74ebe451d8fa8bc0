/* Linear algebra of complex numbers: see linalg_routines.inc. */
#define NAMED(name) name##_c128
#define IS_COMPLEX  1
#define IS_NARROW   0
#include "kernels/linalg/linalg_routines.inc"
