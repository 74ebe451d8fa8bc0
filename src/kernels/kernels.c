#include "kernels/kernels.h"

#include "eval/eval.h"
#include "platform/platform.h"

extern const Kernel kernel_convolution, kernel_depthwise, kernel_dot, kernel_rng, kernel_sort,
    kernel_sort_merge, kernel_update_slice;

/* The first one that matches runs it. */
static const Kernel *const kernels[] = {
    &kernel_depthwise, &kernel_convolution, &kernel_dot,          &kernel_rng,
    &kernel_sort,      &kernel_sort_merge,  &kernel_update_slice,
};

const Kernel *kernel_for(const Instruction *instruction) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (kernels[i]->matches(instruction)) return kernels[i];
  }
  return NULL;
}

static void run_generated(const KernelCall *call, uint8_t *const *buffers) {
  GeneratedKernel kernel = platform_module_function(call->module, call->function);
  if (!kernel) platform_fatal("a generated module could not be instantiated");
  kernel(buffers, 0, shape_elements(call->fusion->shape));
}

static void run_evaluated(const Instruction *fusion, uint8_t *const *buffers) {
  Arena *arena = arena_new();
  Error error;
  EvalContext context = {.arena = arena, .error = &error};
  int count = fusion->operand_count;
  Literal *operands = ARENA_ARRAY(arena, Literal, count + 1);
  Literal **list = ARENA_ARRAY(arena, Literal *, count + 1);
  for (int i = 0; i <= count; i++) {
    const Shape *shape = i < count ? fusion->a.calls->parameters[i]->shape : fusion->shape;
    operands[i] = (Literal){.shape = shape, .data = buffers[i]};
    list[i] = &operands[i];
  }
  if (!eval_instruction(fusion, list, list[count], &context)) platform_fatal(error.message);
  arena_free(arena);
}

void kernel_compute_fusion(const KernelCall *call, uint8_t *const *buffers) {
  if (platform_has_codegen()) {
    run_generated(call, buffers);
  } else {
    run_evaluated(call->fusion, buffers);
  }
}
