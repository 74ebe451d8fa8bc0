#include "kernels/kernels.h"

int *kernel_phases(KernelPlan *plan, Arena *arena, int phases) {
  int *chunks = ARENA_ARRAY(arena, int, phases);
  plan->phases = phases;
  plan->chunks = chunks;
  return chunks;
}
