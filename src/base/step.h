/*
** The step that the host's thread is in, by name: a rewrite, a stage of the compilation, or the choice of a kernel. The
** error for a trap names it. Builds with XLA_FAULTS can make a step trap or go wrong, for tests.
*/
#ifndef XLA_BASE_STEP_H
#define XLA_BASE_STEP_H

#include <stdbool.h>

/* Begins a step: its name is `prefix` and `name`. Both strings are never freed. */
void step_begin(const char *prefix, const char *name);
/* Returns the name of the last step that began; "" before the first. It stays until the next call. */
const char *step_name(void);

#ifdef XLA_FAULTS
/* Whether a test wants this step's results to be wrong. */
bool step_is_wrong(const char *prefix, const char *name);
#else
static inline bool step_is_wrong(const char *prefix, const char *name) {
  (void)prefix, (void)name;
  return false;
}
#endif

#endif
