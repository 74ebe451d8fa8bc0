/* Linear algebra of real numbers: see linalg_routines.inc. */
#define NAMED(name) name##_f64
#define IS_COMPLEX  0
#define IS_NARROW   0
#include "kernels/linalg/linalg_routines.inc"
