#include "derive/derive.h"

#include "rewrite/base/rewrite.h"

/* Returns a shape without layouts, which are those of an operation inside: a LAPACK call writes columns. */
static const Shape *row_major(Arena *arena, const Shape *shape) {
  if (shape_is_default_layout(shape)) return shape;
  if (!shape_is_tuple(shape)) return shape_with_layout(arena, shape, NULL);
  const Shape **elements = ARENA_ARRAY(arena, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = row_major(arena, shape->elements[i]);
  return shape_tuple(arena, shape->tuple_size, elements);
}

/* Returns the shape of a parameter: with the layout that the source states, if it is the source's. */
static const Shape *stated_parameter(const Module *module, const Computation *entry, int number) {
  const Shape *shape = entry->parameters[number]->shape;
  if (number < module->entry->parameter_count) {
    const Shape *source = module->entry->parameters[number]->shape;
    if (module->parameter_layouts && module->parameter_layouts[number]) {
      source = module->parameter_layouts[number];
    }
    if (shape_compatible(source, shape)) return source;
  }
  return row_major(module->arena, shape);
}

void derive_end(Module *module, Computation *entry) {
  const Shape **layouts = ARENA_ARRAY(module->arena, const Shape *, entry->parameter_count);
  for (int i = 0; i < entry->parameter_count; i++) {
    layouts[i] = stated_parameter(module, entry, i);
  }
  module->parameter_layouts = layouts;
  module->result_layout = row_major(module->arena, entry->root->shape);
  module->entry = entry;
  module->alias_count = 0;
  module_keep_reached(module);
}
