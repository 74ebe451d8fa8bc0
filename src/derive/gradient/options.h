/* Options that concern single instructions: the rules of custom calls, and the stacks of loops. */
#ifndef XLA_DERIVE_GRADIENT_OPTIONS_H
#define XLA_DERIVE_GRADIENT_OPTIONS_H

#include "hlo/ir/module.h"

/* Derivative rules that the caller gives: see caller_rules.h. */
typedef struct CallerRules {
  /* Names that have rules: custom_call_targets, or computations without the numbers that make names unique. Each name
  ** is between two newlines. One after a ~ is that of a computation whose values reverse mode computes again. */
  const char *names;
  int count;
  Module *const *items; /* pairs: a call, which `wanted` named before, and its rule */
  /* Set by a failure: a program of one call, for which a rule is wanted; the caller frees it. */
  Module *wanted;
} CallerRules;

/* What the stacks of a loop save in reverse mode (loops.c). */
typedef enum Checkpoint {
  CHECKPOINT_NONE, /* the values that the transposition of the body needs */
  CHECKPOINT_SQRT, /* these for a part of the iterations, and the state between the parts */
  CHECKPOINT_ALL,  /* the state of each iteration; the body is done again from it */
} Checkpoint;

#endif
