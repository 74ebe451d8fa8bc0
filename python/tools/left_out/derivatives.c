/*
** Stands for src/derive in the core that the wheel holds: JAX makes derivatives and batches itself, and sends programs
** of them. The wheel is 60 kB smaller by it.
*/
#include "derive/batch/batch.h"
#include "derive/gradient/functions.h"
#include "derive/gradient/gradient.h"

static void *refuse(Error *error) {
  error_set(error, STATUS_UNIMPLEMENTED,
            "this build of the core has no derivatives: JAX makes them");
  return NULL;
}

Module *module_differentiate(const Module *module, const GradientOptions *options, Error *error) {
  return refuse(error);
}

Instruction *builder_gradient(Builder *builder, const Instruction *of, Instruction *const *wrt,
                              int count, const GradientOptions *options, Error *error) {
  return refuse(error);
}

Module *module_batch(const Module *module, const BatchOptions *options, Error *error) {
  return refuse(error);
}

const KnownFunction *known_function(const char *name, const KnownFunction *after) { return NULL; }
