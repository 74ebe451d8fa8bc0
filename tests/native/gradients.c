/*
** Differentiates all programs of the golden corpus, in forward and in reverse mode, and the results once more. Each must
** become a valid module, or be refused with a reason. (tests/api/gradients_jax.test.mjs compares values with JAX's.)
**
**   gradients [-n EVERY] [FILE.golden...]        default: those of tests/golden; each EVERYth program
*/
#include "corpus.h"
#include "derive/gradient/gradient.h"

static int differentiated, refused, failures;

static bool is_float(const Shape *shape) {
  TypeKind kind = type_kind(shape->type);
  return kind == KIND_FLOAT || kind == KIND_COMPLEX;
}

/* Lists the parameters that can be differentiated by. */
static int float_parameters(const Module *module, int *out) {
  int count = 0;
  for (int i = 0; i < module->entry->parameter_count; i++) {
    if (is_float(module->entry->parameters[i]->shape)) out[count++] = i;
  }
  return count;
}

static bool is_reason(const Error *error) {
  return (error->code == STATUS_UNIMPLEMENTED || error->code == STATUS_INVALID_ARGUMENT) &&
         strncmp(error->message, "gradient: ", 10) == 0;
}

/* Differentiates `orders` times. */
static void differentiate(const char *name, const Module *module, GradientMode mode, int orders) {
  int *wrt = calloc((size_t)module->entry->parameter_count + 1, sizeof *wrt);
  GradientOptions options = {
      .mode = mode, .wrt_count = float_parameters(module, wrt), .wrt = wrt, .max_iterations = 4};
  Error error = {0};
  Module *made = options.wrt_count ? module_differentiate(module, &options, &error) : NULL;
  free(wrt);
  if (made) {
    differentiated++;
    if (orders > 1) differentiate(name, made, mode, orders - 1);
    module_free(made);
  } else if (error.code && is_reason(&error)) {
    refused++;
  } else if (error.code) {
    failures++;
    printf("FAIL %s, mode %d: %s\n", name, mode, error.message);
  }
}

static void check(const char *name, const Module *module) {
  differentiate(name, module, GRADIENT_JVP, 2);
  differentiate(name, module, GRADIENT_VJP, 2);
}

int main(int count, char **arguments) {
  bool is_corpus = check_corpus(count, arguments, check);
  printf("%d differentiated, %d refused, %d failures\n", differentiated, refused, failures);
  bool too_few =
      differentiated < 10 * refused; /* of the corpus, which has 13 for each that is refused */
  return failures != 0 || (is_corpus && too_few);
}
