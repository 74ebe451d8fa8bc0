/*
** Checks an array that comes into a set of bounded arrays (rewrite/fuse/bounded_arrays.c). Notes the bound of its numbers for the
** whole set, if it is the largest one. An argument is checked once: its Buffer remembers what was found.
*/
#include <stdatomic.h>

#include "base/min_max.h"
#include "kernels/contraction/zeros.h"
#include "kernels/kernels.h"

/* Threshold PART_BYTES. Test: "bounded-arrays" in core/bounded_arrays.test.mjs. */
enum { PART_BYTES = 1 << 20 }; /* that one thread checks at a time */

static KernelPlan *plan(const Instruction *x, Arena *arena) {
  if (x->opcode != HLO_OPTIMIZATION_BARRIER || !x->a->derived.bounded) return NULL;
  KernelPlan *p = ARENA_NEW(arena, KernelPlan);
  kernel_phases(p, arena, 1)[0] = 1;
  return p;
}

typedef struct Check {
  const KernelCall *call;
  int64_t bytes;
  atomic_uchar bounds; /* the largest ones */
} Check;

static bool check_part(void *argument, int i) {
  Check *check = argument;
  int64_t begin = (int64_t)i * PART_BYTES, bytes = min_i64(check->bytes - begin, PART_BYTES);
  PrimitiveType type = check->call->instruction->shape->type;
  uint8_t found = bounds_of_numbers(type, check->call->operands[0] + begin, bytes);
  unsigned char known = atomic_load(&check->bounds);
  while (known < found && !atomic_compare_exchange_weak(&check->bounds, &known, found)) {}
  return true;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const Instruction *x = call->instruction;
  uint8_t *set = &call->bounds[x->a->derived.bounded], *known = call->argument_bounds;
  uint8_t bounds = known ? *known : *set == BOUNDS_LARGE ? BOUNDS_LARGE : BOUNDS_UNKNOWN;
  if (bounds == BOUNDS_UNKNOWN) {
    Check check = {call, shape_bytes(x->shape), BOUNDS_SMALL};
    int parts = (int)divide_up(check.bytes, PART_BYTES);
    if (parts > 1) call->share(call, parts, check_part, &check);
    if (parts == 1) check_part(&check, 0);
    bounds = check.bounds;
    if (known) *known = bounds;
  }
  if (bounds > *set) *set = bounds;
}

const Kernel kernel_bounds = {"bounds", plan, run};
