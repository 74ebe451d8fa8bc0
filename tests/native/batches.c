/*
** Makes a batch of all programs of the golden corpus: of every parameter, of every second one, and of the results once
** more. Each must become a valid module, or be refused with a reason. (tests/api/vmap.test.mjs compares values with JAX's.)
**
**   batches [-n EVERY] [FILE.golden...]        default: those of tests/golden; each EVERYth program
*/
#include "corpus.h"
#include "derive/batch/batch.h"

static int batched, refused, failures;

static int leaf_count(const Module *module) {
  int count = 0;
  for (int i = 0; i < module->entry->parameter_count; i++) {
    count += shape_leaves(module->entry->parameters[i]->shape);
  }
  return count;
}

static bool is_reason(const Error *error) {
  return (error->code == STATUS_UNIMPLEMENTED || error->code == STATUS_INVALID_ARGUMENT) &&
         strncmp(error->message, "vmap: ", 6) == 0;
}

/* Makes batches of `size` elements, `orders` times, of the leaves from `first` on, in steps. The batch is the last
** dimension of parameters and results, which moves through all rules. */
static void batch(const char *name, const Module *module, int64_t size, int first, int step,
                  int orders) {
  int in_count = leaf_count(module), out_count = shape_leaves(module->entry->root->shape);
  int *in = calloc((size_t)in_count + 1, sizeof *in);
  int *out = calloc((size_t)out_count + 1, sizeof *out);
  for (int i = 0; i < in_count; i++) in[i] = i >= first && (i - first) % step == 0 ? -1 : NO_BATCH;
  for (int i = 0; i < out_count; i++) out[i] = -1;
  BatchOptions options = {size, in_count, in, out_count, out};
  Error error = {0};
  Module *made = module_batch(module, &options, &error);
  free(in);
  free(out);
  if (made) {
    batched++;
    if (orders > 1) batch(name, made, size + 1, first, step, orders - 1);
    module_free(made);
  } else if (is_reason(&error)) {
    refused++;
  } else {
    failures++;
    printf("FAIL %s, leaves %d + %d k, size %d: %s\n", name, first, step, (int)size, error.message);
  }
}

static void check(const char *name, const Module *module) {
  batch(name, module, 2, 0, 1, 2);
  batch(name, module, 3, 0, 2, 2);
  batch(name, module, 3, 1, 2, 2);
  batch(name, module, 0, 0, 1, 1);
}

int main(int count, char **arguments) {
  bool is_corpus = check_corpus(count, arguments, check);
  printf("%d batched, %d refused, %d failures\n", batched, refused, failures);
  bool too_few = batched < 10 * refused;
  return failures != 0 || (is_corpus && too_few);
}
