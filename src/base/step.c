/* Keeps the name of the step that the host's thread is in. */
#include "base/step.h"

#include <stdio.h>
#include <string.h>

/* Characters of a name in an error. */
enum { MAX_NAME = 64 };

static const char *current[2] = {"", ""};

const char *step_name(void) {
  static char name[MAX_NAME];
  snprintf(name, sizeof name, "%s%s", current[0], current[1]);
  return name;
}

#ifdef XLA_FAULTS

static char faulty[MAX_NAME];
static bool traps;

/* Makes each later step of this name trap, or go wrong. "": none. */
__attribute__((used, visibility("default"))) void xla_put_fault(const char *name, bool trap) {
  snprintf(faulty, sizeof faulty, "%s", name);
  traps = trap;
}

static bool is_faulty(const char *prefix, const char *name) {
  size_t length = strlen(prefix);
  return *faulty && !strncmp(faulty, prefix, length) && !strcmp(faulty + length, name);
}

bool step_is_wrong(const char *prefix, const char *name) {
  return !traps && is_faulty(prefix, name);
}

#endif

void step_begin(const char *prefix, const char *name) {
  current[0] = prefix;
  current[1] = name;
#ifdef XLA_FAULTS
  if (traps && is_faulty(prefix, name)) __builtin_trap();
#endif
}
