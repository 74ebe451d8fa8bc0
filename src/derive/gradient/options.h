/* Options that concern single instructions: the rules of custom calls, and the stacks of loops. */
#ifndef XLA_DERIVE_GRADIENT_OPTIONS_H
#define XLA_DERIVE_GRADIENT_OPTIONS_H

#include "hlo/ir/module.h"

/* Derivative rules that the caller gives: see caller_rules.h. */
typedef struct CallerRules {
  /* The names that have rules, each between two newlines: a custom_call_target, or a computation's name without its numeric
  ** suffix. A name after a ~ is a computation that reverse mode recomputes instead of saving its values. */
  const char *names;
  int count;
  Module *const *items; /* pairs: a call, which `wanted` named before, and its rule */
  /* Set by a failure: a program of one call, for which a rule is wanted; the caller frees it. */
  Module *wanted;
} CallerRules;

/* The values that the stacks of a loop save in reverse mode (loops.c). */
typedef enum Checkpoint {
  CHECKPOINT_NONE, /* the values that the transposition of the body needs */
  CHECKPOINT_SQRT, /* these for a part of the iterations, and the state between the parts */
  CHECKPOINT_ALL,  /* the state of each iteration; the body is done again from it */
} Checkpoint;

#endif
