#include "derive/gradient/gradient.h"

#include "base/min_max.h"
#include "derive/derive.h"
#include "derive/gradient/body.h"
#include "derive/gradient/caller_rules.h"
#include "derive/gradient/functions.h"
#include "derive/gradient/kept_calls.h"
#include "hlo/infer/verifier.h"
#include "hlo/ir/shard_attributes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/pipeline.h"

/* ---- Before: fewer kinds of operations ---- */

/* Threshold MAX_ROUNDS: rounds of simplification before a gradient; it is correct after any. No path. */
enum { MAX_ROUNDS = 8 };

/* Writes operations that have no rule with others that have one, and simplifies, so that loops show their counts. */
static bool prepare(Module *module, const CallerRules *rules, Error *error) {
  if (!module_state_shardings(module, error)) return error_name_op(error, "gradient");
  caller_keep_calls(module, rules);
  const PipelineOptions options = {0};
  pipeline_run_stage(module, STAGE_DERIVE, &options);
  functions_keep(module);
  int round = 0;
  while (round++ < MAX_ROUNDS && pipeline_run_stage(module, STAGE_SIMPLIFY, &options)) {}
  return true;
}

/* ---- The request ---- */

typedef struct Request {
  const GradientOptions *options;
  const Computation *entry; /* of the prepared module */
  Differentiation d;
  WorkingComputation working;
  int count;             /* results of f */
  Instruction **results; /* in the working computation; a root that is no tuple is one result */
  Instruction **inputs;  /* by parameter: the value in the working computation */
  /* stand-ins: the leaves of all wrt parameters; NULL where there is none */
  Instruction **tangents;
  Instruction **seeds; /* stand-ins for cotangents: the leaves of all results, in order */
} Request;

static bool refuse(const Request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(const Request *r, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error_setv(r->d.error, STATUS_INVALID_ARGUMENT, format, arguments);
  va_end(arguments);
  return error_name_op(r->d.error, "gradient");
}

static bool check_parameters(const Request *r) {
  for (int i = 0; i < r->options->wrt_count; i++) {
    int number = r->options->wrt[i], count = r->entry->parameter_count;
    if (number < 0 || number >= count) {
      return refuse(r, "wrt: there is no parameter %d; the program has %d", number, count);
    }
    const Instruction *parameter = r->entry->parameters[number];
    if (!any_derivative(parameter->shape)) {
      return refuse(r,
                    "wrt: parameter %d \"%s\" of shape %s has no derivative; it must hold "
                    "floating-point or complex numbers",
                    number, parameter->name, shape_str(r->working.arena, parameter->shape));
    }
    for (int k = 0; k < i; k++) {
      if (r->options->wrt[k] == number)
        return refuse(r, "wrt: parameter %d is there twice", number);
    }
  }
  return true;
}

static bool check_result(const Request *r) {
  if (r->options->mode != GRADIENT_OF_SCALAR) return true;
  const Shape *root = r->entry->root->shape;
  int count = shape_is_tuple(root) ? root->tuple_size : 1, of = r->options->of;
  if (of < 0 || of >= count) {
    return refuse(r, "of: there is no result %d; the program has %d", of, count);
  }
  const Shape *loss = shape_is_tuple(root) ? root->elements[of] : root;
  if (shape_is_scalar(loss) && type_kind(loss->type) == KIND_FLOAT) return true;
  return refuse(
      r,
      "result %d has shape %s; the gradient of a program is that of a real floating-point "
      "scalar: sum it up, name another result of the program (of), or use client.vjp(), which "
      "takes its cotangent",
      of, shape_str(r->working.arena, loss));
}

/* ---- The working computation ---- */

/* Adds stand-ins for the parameters, and for the tangents of `wrt`. */
static void add_inputs(Request *r) {
  WorkingComputation *working = &r->working;
  int leaves = 0;
  r->inputs = ARENA_ARRAY(working->arena, Instruction *, r->entry->parameter_count);
  for (int i = 0; i < r->entry->parameter_count; i++) {
    const Instruction *parameter = r->entry->parameters[i];
    r->inputs[i] = computation_add_named(working->m.computation, HLO_PARAMETER, parameter->shape,
                                         NULL, 0, NULL, parameter->name);
    linear_bind(working, parameter, r->inputs[i]);
  }
  for (int i = 0; i < r->options->wrt_count; i++) {
    leaves += shape_leaves(r->entry->parameters[r->options->wrt[i]]->shape);
  }
  r->tangents = ARENA_ARRAY(working->arena, Instruction *, leaves);
  Instruction **next = r->tangents;
  for (int i = 0; i < r->options->wrt_count; i++) {
    Instruction *input = r->inputs[r->options->wrt[i]];
    for (int leaf = 0; leaf < shape_leaves(input->shape); leaf++, next++) {
      const Shape *shape = shape_leaf(input->shape, leaf);
      if (!has_derivative(shape)) continue;
      *next = linear_stand_in(working, shape, true);
      set_tangent_leaf(working, input, leaf, *next);
    }
  }
}

static void find_results(Request *r) {
  WorkingComputation *working = &r->working;
  Instruction *root = working->map[r->entry->root->id];
  bool several = shape_is_tuple(root->shape);
  r->count = several ? root->shape->tuple_size : 1;
  r->results = ARENA_ARRAY(working->arena, Instruction *, r->count);
  for (int i = 0; i < r->count; i++)
    r->results[i] = several ? make_element(working, root, i) : root;
}

/* Returns the tangent of leaf `leaf` of result `result`. */
static Instruction *result_tangent(Request *r, int result, int leaf) {
  Instruction *root = r->working.map[r->entry->root->id];
  for (int i = 0; i < result; i++) leaf += shape_leaves(r->results[i]->shape);
  return tangent_leaf(&r->working, root, leaf);
}

/* ---- The new module's entry ---- */

static void put_results(Request *r, Extraction *e, Values *out) {
  for (int i = 0; i < r->count; i++) values_push(&r->working, out, extract(e, r->results[i]));
}

/* Puts a value with one shape together from its leaves. */
static Instruction *gather_leaves(Extraction *e, const Shape *shape, Instruction *const **leaves) {
  if (!shape_is_tuple(shape)) {
    Instruction *leaf = *(*leaves)++;
    return leaf ? extract(e, leaf) : extract_zeros(e, shape);
  }
  Instruction **elements = ARENA_ARRAY(e->from->arena, Instruction *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) {
    elements[i] = gather_leaves(e, shape->elements[i], leaves);
  }
  return computation_add_tuple(e->to, elements, shape->tuple_size);
}

/* Binds the stand-ins to the leaves of a value of the new entry. */
static void bind_leaves(Extraction *e, Instruction *value, Instruction *const **stand_ins) {
  if (!shape_is_tuple(value->shape)) {
    Instruction *stand_in = *(*stand_ins)++;
    if (stand_in) extract_bind(e, stand_in, value);
    return;
  }
  for (int i = 0; i < value->shape->tuple_size; i++) {
    bind_leaves(e, computation_add_element(e->to, value, i), stand_ins);
  }
}

static Extraction begin_entry(Request *r) {
  Extraction e = extract_begin(&r->working, r->entry->name);
  for (int i = 0; i < r->entry->parameter_count; i++) {
    const Instruction *from = r->entry->parameters[i];
    Instruction *parameter = computation_add_parameter(e.to, i, from->shape, from->name);
    if (from->a->sharding) instruction_attributes(parameter)->sharding = from->a->sharding;
    extract_bind(&e, r->inputs[i], parameter);
  }
  return e;
}

static Instruction *add_entry_parameter(Request *r, Extraction *e, const Shape *shape,
                                        const char *prefix, const char *name) {
  return computation_add_parameter(e->to, e->to->parameter_count, shape,
                                   arena_printf(r->working.arena, "%s_%s", prefix, name));
}

static Computation *finish_entry(Extraction *e, const Values *outputs) {
  extract_effects(e);
  e->to->root = computation_add_tuple(e->to, outputs->items, outputs->count);
  return e->to;
}

static Computation *forward_entry(Request *r) {
  Extraction e = begin_entry(r);
  Instruction *const *next = r->tangents;
  for (int i = 0; i < r->options->wrt_count; i++) {
    const Instruction *of = r->entry->parameters[r->options->wrt[i]];
    bind_leaves(&e, add_entry_parameter(r, &e, of->shape, "tangent", of->name), &next);
  }
  Values outputs = {0};
  put_results(r, &e, &outputs);
  for (int i = 0; i < r->count; i++) {
    const Shape *shape = r->results[i]->shape;
    if (!any_derivative(shape)) continue;
    Instruction **leaves = ARENA_ARRAY(r->working.arena, Instruction *, shape_leaves(shape));
    for (int k = 0; k < shape_leaves(shape); k++) leaves[k] = result_tangent(r, i, k);
    Instruction *const *leaf = leaves;
    values_push(&r->working, &outputs, gather_leaves(&e, shape, &leaf));
  }
  return finish_entry(&e, &outputs);
}

/* Adds the cotangents of the results to the working computation, and transposes. */
static bool seed(Request *r) {
  WorkingComputation *working = &r->working;
  int leaves = shape_leaves(r->entry->root->shape), at = 0;
  r->seeds = ARENA_ARRAY(working->arena, Instruction *, leaves);
  for (int i = 0; i < r->count; i++) {
    for (int k = 0; k < shape_leaves(r->results[i]->shape); k++, at++) {
      const Shape *shape = shape_leaf(r->results[i]->shape, k);
      if (!has_derivative(shape)) continue;
      Instruction *tangent = result_tangent(r, i, k), *one = NULL;
      if (r->options->mode == GRADIENT_VJP) {
        r->seeds[at] = one = linear_stand_in(working, shape, false);
      } else if (i == r->options->of) {
        one = make_number(&working->m, shape, 1);
      }
      if (tangent) add_cotangent(working, tangent, one);
    }
  }
  return linear_transpose(working);
}

static Computation *reverse_entry(Request *r) {
  if (!seed(r)) return NULL;
  WorkingComputation *working = &r->working;
  Extraction e = begin_entry(r);
  Instruction *const *next = r->seeds;
  for (int i = 0; i < r->count && r->options->mode == GRADIENT_VJP; i++) {
    const Shape *shape = r->results[i]->shape;
    if (any_derivative(shape)) {
      const char *number = arena_printf(working->arena, "%d", i);
      bind_leaves(&e, add_entry_parameter(r, &e, shape, "cotangent", number), &next);
    } else {
      next += shape_leaves(shape);
    }
  }
  Values outputs = {0};
  if (r->options->value) put_results(r, &e, &outputs);
  Instruction *const *tangent = r->tangents;
  for (int i = 0; i < r->options->wrt_count; i++) {
    const Shape *shape = r->entry->parameters[r->options->wrt[i]]->shape;
    Instruction **leaves = ARENA_ARRAY(working->arena, Instruction *, shape_leaves(shape));
    for (int k = 0; k < shape_leaves(shape); k++, tangent++) {
      leaves[k] = *tangent ? cotangent_of(working, *tangent) : NULL;
    }
    Instruction *const *leaf = leaves;
    values_push(&r->working, &outputs, gather_leaves(&e, shape, &leaf));
  }
  return finish_entry(&e, &outputs);
}

/* ---- Modules ---- */

static bool differentiate(Module *module, const GradientOptions *options, Error *error) {
  Request r = {.options = options, .entry = module->entry};
  r.d = (Differentiation){.module = module,
                          .reverse = options->mode != GRADIENT_JVP,
                          .max_iterations = options->max_iterations,
                          .checkpoint = options->checkpoint,
                          .rules = options->rules,
                          .error = error,
                          .channels = module_max_channel(module)};
  module_keep_roots(module);
  linear_begin(&r.working, &r.d, r.entry);
  useful_find(&r.d, r.working.arena);
  if (!check_parameters(&r) || !check_result(&r)) return false;
  add_inputs(&r);
  if (!linear_walk(&r.working)) return false;
  find_results(&r);
  Computation *entry = r.d.reverse ? reverse_entry(&r) : forward_entry(&r);
  if (!entry || r.d.failed) return false;
  restore_kept_calls(module);
  derive_end(module, entry);
  return true;
}

Module *module_differentiate(const Module *module, const GradientOptions *options, Error *error) {
  Module *copy = module_clone(module);
  if (prepare(copy, options->rules, error) && differentiate(copy, options, error) &&
      verify_module(copy, error)) {
    return copy;
  }
  module_free(copy);
  return NULL;
}
