/* Tables that a kernel's plan needs before the first run, and that take long to compute. */
#ifndef XLA_KERNELS_PREPARATION_H
#define XLA_KERNELS_PREPARATION_H

#include <stdbool.h>

/* An entry of a list, whose entries are done in order. `step` does some milliseconds of the work, and returns whether
** all of the entry is done. */
typedef struct Preparation Preparation;
struct Preparation {
  Preparation *next;
  bool (*step)(Preparation *preparation);
};

#endif
