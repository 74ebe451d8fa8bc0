/* Hands over what is known of the numbers of arguments and results: see rewrite/fuse/bounded_arrays.c. */
#include <string.h>

#include "runtime/run_state.h"

void bounds_begin(Device *device) {
  const Program *program = device->executable->program;
  memset(device->bounds, program->is_unchecked ? BOUNDS_LARGE : BOUNDS_SMALL,
         (size_t)program->module->bounded_sets + 1);
  for (int i = 0; i < program->parameter_leaves; i++) {
    const Buffer *argument = device->arguments[i];
    if (argument) device->argument_bounds[i] = atomic_load(&argument->bounds);
  }
}

void bounds_end(Device *device) {
  const Program *program = device->executable->program;
  const int *sets = program->module->bounded_results;
  for (int i = 0; i < program->parameter_leaves; i++) {
    if (device->argument_bounds[i]) {
      atomic_store(&device->arguments[i]->bounds, device->argument_bounds[i]);
    }
  }
  for (int i = 0; sets && i < program->result_leaves; i++) {
    if (sets[i]) atomic_store(&device->results[i]->bounds, device->bounds[sets[i]]);
  }
}
