#include "derive/batch/batch.h"

#include "derive/batch/batching.h"
#include "derive/derive.h"
#include "hlo/infer/verifier.h"
#include "hlo/ir/shard_attributes.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/pipeline.h"

/* ---- Before: fewer kinds of operations ---- */

/* Writes operations that have no rule with others that have one. Calls stay, except asynchronous ones. */
static bool prepare(Module *module, Error *error) {
  module_keep_roots(module);
  if (!module_state_shardings(module, error)) return error_name_op(error, "vmap");
  const PipelineOptions options = {0};
  pipeline_run_stage(module, STAGE_DERIVE, &options);
  pipeline_run_stage(module, STAGE_BATCH, &options);
  return true;
}

/* ---- The request ---- */

typedef struct Request {
  const BatchOptions *options;
  const Computation *entry; /* of the prepared module */
  Batch all;
  Batching b;
} Request;

static bool refuse(Request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(Request *r, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!r->all.failed) {
    error_setv(r->all.error, STATUS_INVALID_ARGUMENT, format, arguments);
    error_name_op(r->all.error, "vmap");
  }
  va_end(arguments);
  r->all.failed = true;
  return false;
}

/* Reads a dimension of an array with the batch; `name` says which array. */
static bool read_dimension(Request *r, int given, const Shape *source, const char *argument,
                           const char *name, int *dimension) {
  int rank = source->rank;
  *dimension = given < 0 ? given + rank + 1 : given;
  if (*dimension >= 0 && *dimension <= rank) return true;
  return refuse(r,
                "%s: %s of shape %s has rank %d with the batch, so the dimension of the batch must "
                "be in [%d, %d] or null; got %d",
                argument, name, shape_str(r->b.arena, source), rank + 1, -rank - 1, rank, given);
}

static bool check_counts(Request *r) {
  int in = computation_parameter_leaves(r->entry), out = shape_leaves(r->entry->root->shape);
  if (r->options->size < 0 || r->options->size > INT32_MAX) {
    return refuse(r, "size: a batch has from 0 to %d elements", INT32_MAX);
  }
  if (r->options->in_count != in) {
    return refuse(r, "in: %d dimensions are given for parameters with %d arrays",
                  r->options->in_count, in);
  }
  if (r->options->out_count == out) return true;
  return refuse(r, "out: %d dimensions are given for a result with %d arrays",
                r->options->out_count, out);
}

/* Some operations have no place in a batch, even where they do not depend on it. */
static bool check_operations(Request *r) {
  for (int c = 0; c < r->all.module->count; c++) {
    const Computation *computation = r->all.module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      const Instruction *x = computation->instructions[i];
      const BatchRow *row = &batch_rows[x->opcode];
      if (row->is_refused) no_batch(&r->b, x, row->none);
    }
  }
  return !r->all.failed;
}

/* ---- Parameters ---- */

/* Returns the shape of a parameter, and writes the dimension of the batch in each leaf; -1: none. */
static const Shape *parameter_shape(Request *r, const Shape *source, const char *name,
                                    const int **given, int **out) {
  if (shape_is_tuple(source)) {
    const Shape **elements = ARENA_ARRAY(r->b.arena, const Shape *, source->tuple_size);
    for (int i = 0; i < source->tuple_size; i++) {
      elements[i] = parameter_shape(r, source->elements[i], name, given, out);
    }
    return shape_tuple(r->b.arena, source->tuple_size, elements);
  }
  int asked = *(*given)++, *dimension = (*out)++;
  *dimension = -1;
  if (asked == NO_BATCH || !shape_is_array(source)) return source;
  if (source->dynamic) {
    refuse(r, "in: %s of shape %s has a dynamic dimension; vmap needs sizes that are known", name,
           shape_str(r->b.arena, source));
    return source;
  }
  if (!read_dimension(r, asked, source, "in", name, dimension)) return source;
  return with_batch(&r->b, source, *dimension);
}

/* Moves the batch of all leaves to the front. */
static Instruction *bring_to_front(Request *r, Instruction *value, const int *dimensions) {
  Batching *b = &r->b;
  int count = shape_leaves(value->shape);
  bool moves = false;
  for (int i = 0; i < count; i++) moves |= dimensions[i] > 0;
  if (!moves) return value;
  Instruction **leaves = leaves_of(b, value);
  for (int i = 0; i < count; i++) {
    if (dimensions[i] > 0) leaves[i] = move_dimension(b, leaves[i], dimensions[i], 0);
  }
  Instruction *const *next = leaves;
  return value_from_leaves(&b->m, value->shape, &next);
}

static bool add_parameters(Request *r) {
  Batching *b = &r->b;
  const int *given = r->options->in;
  for (int i = 0; i < r->entry->parameter_count; i++) {
    const Instruction *from = r->entry->parameters[i];
    int *dimensions = ARENA_ARRAY(b->arena, int, shape_leaves(from->shape)), *next = dimensions;
    const char *name = arena_printf(b->arena, "parameter %d \"%s\"", i, from->name);
    const Shape *shape = parameter_shape(r, from->shape, name, &given, &next);
    if (r->all.failed) return false;
    Instruction *parameter = computation_add_parameter(b->m.computation, i, shape, from->name);
    if (shape == from->shape) instruction_attributes(parameter)->sharding = from->a->sharding;
    b->map[from->id] = bring_to_front(r, parameter, dimensions);
  }
  return true;
}

/* ---- Results ---- */

/* Puts the batch of one leaf of the result where it is asked for. */
static Instruction *move_to_asked(Request *r, Instruction *leaf, const Shape *source, int number,
                                  int given) {
  Batching *b = &r->b;
  bool batched = leaf->shape->rank != source->rank;
  const char *name = arena_printf(b->arena, "result %d", number);
  int dimension;
  if (!shape_is_array(source) || (given == NO_BATCH && !batched)) return leaf;
  if (given == NO_BATCH) {
    refuse(r, "out: %s of shape %s depends on the batch, so it needs a dimension for it; got null",
           name, shape_str(b->arena, source));
    return leaf;
  }
  if (source->dynamic) return no_batch(b, leaf, "has a dynamic dimension; vmap needs known sizes");
  if (!read_dimension(r, given, source, "out", name, &dimension)) return leaf;
  bool *flag = ARENA_ARRAY(b->arena, bool, 1);
  *flag = true;
  return move_dimension(b, flagged_in_front(b, leaf, source, flag), 0, dimension);
}

static bool add_results(Request *r, Instruction *root) {
  Batching *b = &r->b;
  const Shape *source = r->entry->root->shape;
  Instruction **leaves = leaves_of(b, root);
  bool moves = false;
  for (int i = 0; i < shape_leaves(source) && !r->all.failed; i++) {
    Instruction *leaf = move_to_asked(r, leaves[i], shape_leaf(source, i), i, r->options->out[i]);
    moves |= leaf != leaves[i];
    leaves[i] = leaf;
  }
  if (r->all.failed) return false;
  Instruction *const *next = leaves;
  b->m.computation->root = moves ? value_from_leaves(&b->m, source, &next) : root;
  b->m.computation->keeps_root = true;
  return true;
}

/* ---- Modules ---- */

static bool batch(Module *module, const BatchOptions *options, Error *error) {
  Request r = {.options = options, .entry = module->entry};
  r.all = (Batch){.module = module, .size = options->size, .error = error};
  r.all.cases = ARENA_ARRAY(module->arena, Case *, module->numbers);
  module_keep_roots(module);
  module_keep_reached(module);
  r.b = batch_begin(&r.all, r.entry);
  if (!check_counts(&r) || !check_operations(&r) || !add_parameters(&r)) return false;
  Instruction *root = batch_walk(&r.b);
  if (r.all.failed || !add_results(&r, root)) return false;
  derive_end(module, r.b.m.computation);
  module_remove_dead(module);
  return true;
}

Module *module_batch(const Module *module, const BatchOptions *options, Error *error) {
  Module *copy = module_clone(module);
  if (prepare(copy, error) && batch(copy, options, error) && verify_module(copy, error))
    return copy;
  module_free(copy);
  if (!error->operation[0]) error_name_op(error, "vmap");
  return NULL;
}
