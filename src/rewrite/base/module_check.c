#include "rewrite/base/module_check.h"

#ifdef XLA_CHECKS

#include <stdio.h>
#include <stdlib.h>

#include "base/scope.h"
#include "hlo/infer/verifier.h"
#include "hlo/ir/shard_calls.h"

static void fail(const char *pass, const char *name, const char *what) {
  fprintf(stderr, "after rewrite %s: %s: %s\n", pass, name, what);
  abort();
}

/* Verifies with instructions numbered by their places. Rewrites leave other numbers, and number them before they
** use the numbers; afterwards, instructions have theirs again, so that this check hides no missing numbering. */
static bool verify(const Module *module, const Instruction **culprit, Error *error) {
  int count = 0, k = 0;
  for (int c = 0; c < module->count; c++) count += module->computations[c]->count;
  int *ids = scope_new((size_t)count, sizeof *ids);
  for (int c = 0; c < module->count; c++) {
    Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) ids[k++] = computation->instructions[i]->id;
    computation_renumber(computation);
  }
  bool valid = verify_module_at(module, culprit, error);
  k = 0;
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) computation->instructions[i]->id = ids[k++];
  }
  scope_free(ids);
  return valid;
}

bool module_is_valid(const Module *module) {
  Error error;
  const Instruction *culprit = NULL;
  return verify(module, &culprit, &error);
}

void module_check(const Module *module, const char *pass) {
  Error error;
  const Instruction *culprit = NULL;
  if (verify(module, &culprit, &error)) return;
  fail(pass, culprit ? culprit->name : module->name, error.message);
}

/* Operations that later stages do not know: a needed rewrite replaces each. */
static const Opcode replaced[] = {HLO_BITCAST, HLO_SCAN, HLO_SCALED_DOT, HLO_SET_DIMENSION_SIZE};

static void check_rewritten(const Instruction *x) {
  if (shape_is_dynamic(x->shape)) fail("pipeline", x->name, "its shape has a dynamic dimension");
  if (shard_call_kind(x) != NO_SHARD_CALL) fail("pipeline", x->name, "it takes or joins shards");
  for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
    if (x->opcode == replaced[i]) fail("pipeline", x->name, "a rewrite should have replaced it");
  }
}

static void mark_called(const Computation *computation, unsigned walk) {
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    int count = instruction_called(x, NULL);
    Computation **called = scope_new((size_t)count, sizeof *called);
    instruction_called(x, called);
    for (int c = 0; c < count; c++) {
      if (computation_enter(called[c], walk)) mark_called(called[c], walk);
    }
    scope_free(called);
  }
}

static void check_reached(const Module *module) {
  unsigned walk = module_walk((Module *)module);
  computation_enter(module->entry, walk);
  mark_called(module->entry, walk);
  for (int c = 0; c < module->count; c++) {
    if (!computation_enter(module->computations[c], walk)) continue;
    fail("pipeline", module->computations[c]->name, "nothing calls it");
  }
}

void module_check_rewritten(const Module *module) {
  module_check(module, "pipeline");
  check_reached(module);
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) check_rewritten(computation->instructions[i]);
  }
}
#endif
