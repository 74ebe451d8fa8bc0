#include "runtime/executable.h"

#include "hlo/text.h"
#include "passes/dynamic_dimensions.h"
#include "passes/passes.h"
#include "platform/platform.h"
#include "runtime/run_arena.h"
#include "runtime/scheduler.h"

/* Gives the leaves that the caller sees the shapes that `module` states, with dynamic dimensions. */
static void state_shapes(Executable *executable, const Module *module) {
  const Computation *entry = module->entry;
  int leaf = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    const Shape *shape = entry->parameters[p]->shape;
    executable->hidden_parameters += shape_dynamic_dimensions(shape);
    for (int i = 0; i < shape_leaves(shape); i++) {
      executable->parameter_shapes[leaf++] = shape_copy(executable->arena, shape_leaf(shape, i));
    }
  }
  const Shape *result = entry->root->shape;
  executable->hidden_results = shape_dynamic_dimensions(result);
  for (int i = 0; i < shape_leaves(result); i++) {
    executable->result_shapes[i] = shape_copy(executable->arena, shape_leaf(result, i));
  }
}

static int max_int(int a, int b) { return a > b ? a : b; }

static int sequence_depth(const ThunkSequence *sequence) {
  int depth = 0;
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    if (thunk->kind == THUNK_WHILE) {
      depth = max_int(depth, sequence_depth(thunk->condition));
      depth = max_int(depth, sequence_depth(thunk->body));
    }
    if (thunk->kind != THUNK_CONDITIONAL) continue;
    for (int b = 0; b < thunk->branch_count; b++) {
      depth = max_int(depth, sequence_depth(&thunk->branches[b]));
    }
  }
  return depth + 1;
}

Executable *executable_new(const Module *module, int replica_count, Error *error) {
  if (replica_count < 1) {
    error_set(error, STATUS_INVALID_ARGUMENT, "replicas must be at least 1, not %d", replica_count);
    return NULL;
  }
  Module *optimized = module_clone(module);
  if (!dynamic_dimensions_resolve(optimized, error)) {
    module_free(optimized);
    return NULL;
  }
  passes_run(optimized, platform_has_codegen());
  Arena *arena = optimized->arena; /* one arena for all: they live and go together */
  Executable *executable = ARENA_NEW(arena, Executable);
  executable->arena = arena;
  executable->module = optimized;
  executable->replica_count = replica_count;
  compile_module(executable);
  executable->depth = sequence_depth(&executable->entry);
  state_shapes(executable, module);
  /* Last, as nothing but a destroyed executable gives a registered module back. */
  if (!compile_fusions(executable, error)) {
    module_free(optimized);
    return NULL;
  }
  return executable;
}

static void destroy(Executable *executable) {
  run_arena_free_all(executable->free_arenas);
  if (executable->generated_module) platform_module_release(executable->generated_module);
  module_free(executable->module);
}

void executable_release(Executable *executable) {
  if (!executable) return;
  scheduler_lock();
  executable->released = true;
  bool unused = executable->runs == 0;
  scheduler_unlock();
  if (unused) destroy(executable);
}

void executable_leave(Executable *executable) {
  scheduler_lock();
  bool last = --executable->runs == 0 && executable->released;
  scheduler_unlock();
  if (last) destroy(executable);
}

/* ---- Listing ---- */

const char *thunk_kind_name(ThunkKind kind) {
  static const char *const names[] = {"eval",        "generated",  "kernel",  "copy", "while",
                                      "conditional", "collective", "channel", "host"};
  return names[kind];
}

static void print_buffer(StrBuf *out, const Executable *executable, const LogicalBuffer *buffer) {
  int slot = buffer->slot, results = SLOT_FIRST_PARAMETER + executable->parameter_leaves;
  int constants = results + executable->result_leaves;
  if (slot == SLOT_NONE) {
    strbuf_append(out, " token");
  } else if (slot == SLOT_ARENA) {
    strbuf_printf(out, " @%lld", (long long)buffer->offset);
  } else if (slot < results) {
    strbuf_printf(out, " parameter%d", slot - SLOT_FIRST_PARAMETER);
  } else if (slot < constants) {
    strbuf_printf(out, " result%d", slot - results);
  } else {
    strbuf_printf(out, " constant%d", slot - constants);
  }
}

static void print_sequence(StrBuf *out, const Executable *executable, const ThunkSequence *sequence,
                           int indent) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    strbuf_printf(out, "%*s%s %s:", indent, "", thunk_kind_name(thunk->kind),
                  thunk->instruction->name);
    for (int j = 0; j < thunk->operand_count; j++) {
      print_buffer(out, executable, thunk->operands[j]);
    }
    strbuf_append(out, " ->");
    for (int j = 0; j < thunk->result_count; j++) print_buffer(out, executable, thunk->results[j]);
    strbuf_append(out, "\n");
    if (thunk->kind == THUNK_WHILE) {
      strbuf_printf(out, "%*scondition\n", indent + 2, "");
      print_sequence(out, executable, thunk->condition, indent + 4);
      strbuf_printf(out, "%*sbody\n", indent + 2, "");
      print_sequence(out, executable, thunk->body, indent + 4);
    }
    if (thunk->kind != THUNK_CONDITIONAL) continue;
    for (int b = 0; b < thunk->branch_count; b++) {
      strbuf_printf(out, "%*sbranch %d\n", indent + 2, "", b);
      print_sequence(out, executable, &thunk->branches[b], indent + 4);
    }
  }
}

void executable_print_thunks(const Executable *executable, StrBuf *out) {
  strbuf_printf(out, "arena of %lld bytes per replica\n", (long long)executable->arena_bytes);
  print_sequence(out, executable, &executable->entry, 0);
}
