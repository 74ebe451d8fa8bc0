/* Hands over what is known of the numbers of arguments and results: see rewrite/fuse/bounded_arrays.c. */
#include <string.h>

#include "runtime/run_state.h"

void bounds_begin(Device *device) {
  const Program *program = device->executable->program;
  memset(device->bounds, program->is_unchecked ? BOUNDS_LARGE : BOUNDS_SMALL,
         (size_t)program->module->bounded_sets + 1);
  for (int i = 0; i < program->parameter_leaves; i++) {
    Buffer *argument = device->arguments[i];
    if (!argument) continue;
    unsigned char changing = BOUNDS_CHANGING;
    atomic_compare_exchange_strong(&argument->bounds, &changing, BOUNDS_UNKNOWN);
    device->argument_bounds[i] = atomic_load(&argument->bounds);
  }
}

void bounds_end(Device *device) {
  const Program *program = device->executable->program;
  const int *sets = program->module->bounded_results;
  for (int i = 0; i < program->parameter_leaves; i++) {
    unsigned char unknown = BOUNDS_UNKNOWN; /* and the host cannot have written since the start */
    if (device->argument_bounds[i]) {
      atomic_compare_exchange_strong(&device->arguments[i]->bounds, &unknown,
                                     device->argument_bounds[i]);
    }
  }
  for (int i = 0; sets && i < program->result_leaves; i++) {
    if (sets[i]) atomic_store(&device->results[i]->bounds, device->bounds[sets[i]]);
  }
}
