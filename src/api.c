#include "api.h"

#include <string.h>

#include "base/host/platform.h"
#include "base/scope.h"
#include "base/step.h"
#include "compile/mesh_choice.h"
#include "derive/batch/batch.h"
#include "derive/gradient/functions.h"
#include "derive/gradient/gradient.h"
#include "hlo/infer/verifier.h"
#include "hlo/text/text.h"
#include "runtime/scheduler.h"
#include "runtime/waiting.h"

/* The host calls from one thread. */
static Error last_error;

/* The call of the host that goes on, for the recovery from a trap in it. */
static struct {
  int scope;            /* of its allocations */
  Run *run;             /* that it handles; NULL: none */
  bool changes_threads; /* a half started thread would let all later runs wait for ever */
} current;

/* Notes the run that this call handles, and returns it. */
static Run *handled(Run *run) { return current.run = run; }

XLA_API int xla_api_version(void) { return XLA_API_VERSION; }

XLA_API int xla_expect_threads(int threads) {
  current.changes_threads = true;
  return scheduler_expect(threads);
}

XLA_API int xla_start(int threads) {
  current.changes_threads = true;
  return scheduler_start(threads);
}

XLA_API void xla_allow_fused_multiply_add(bool allow) { platform_allow_fused(allow); }
XLA_API void xla_free(void *memory) { scope_free(memory); }

XLA_API void xla_call_begin(void) {
  current.scope = scope_begin();
  current.run = NULL;
  current.changes_threads = false;
}

XLA_API void xla_call_end(void) { scope_commit(current.scope); }

XLA_API bool xla_call_abandon(bool trapped) {
  Error error;
  error_set(&error, STATUS_INTERNAL,
            "the core trapped. This is a fault of xla-wasm; please report the program");
  if (!scheduler_recover(current.run ? &current.run->group : NULL, &error)) return false;
  scope_abandon(current.scope);
  return !(trapped && current.changes_threads);
}

XLA_API int xla_error_code(void) { return last_error.code; }
XLA_API int xla_error_line(void) { return last_error.line; }
XLA_API int xla_error_column(void) { return last_error.column; }
XLA_API const char *xla_error_operation(void) { return last_error.operation; }
XLA_API const char *xla_error_message(void) { return last_error.message; }

/* Gives the text to the caller; "" instead of NULL. */
static char *text_of(StrBuf *buffer) {
  if (!buffer->text) strbuf_append(buffer, "");
  return buffer->text;
}

static char *shape_text(const Shape *shape) {
  StrBuf out = {0};
  shape_print(&out, shape, !shape_is_default_layout(shape));
  return text_of(&out);
}

/* The shape that `text` spells, whole; into `arena`. NULL and empty texts are NULL without error. */
static const Shape *parse_shape(Arena *arena, const char *text, bool *failed) {
  const char *end;
  *failed = false;
  if (!text || !*text) return NULL;
  const Shape *shape = shape_parse(arena, text, &end, &last_error);
  if (shape && *end) {
    error_set(&last_error, STATUS_INVALID_ARGUMENT, "shape \"%s\": \"%s\" does not belong there",
              text, end);
    shape = NULL;
  }
  *failed = !shape;
  return shape;
}

/* ---- Builders ---- */

XLA_API Builder *xla_builder_new(const char *name) { return builder_new(name); }
XLA_API void xla_builder_free(Builder *builder) { builder_free(builder); }

/* Instructions that xla_builder_add adds. */
typedef struct Batch {
  Builder *builder;
  struct BatchText {
    const char *text;
    const Shape *shape; /* that it is, once it was parsed */
  } *texts;
  Instruction **added;
  const uint32_t *words; /* the next ones */
} Batch;

static Instruction *add_operation(Batch *batch, const char *opcode, const Shape *shape,
                                  const char *text) {
  Module *module = batch->builder->module;
  Opcode code;
  Attributes attributes;
  Int64List broadcast_dimensions = {-1, NULL};
  int count = (int)*batch->words++;
  Instruction **operands = ARENA_ARRAY(module->arena, Instruction *, count);
  for (int i = 0; i < count; i++) {
    uint32_t operand = *batch->words++;
    operands[i] = operand & 1 ? batch->added[operand >> 1] : (Instruction *)(uintptr_t)operand;
  }
  if (!opcode_from_name(opcode, strlen(opcode), &code)) {
    error_set(&last_error, STATUS_INVALID_ARGUMENT, "there is no operation \"%s\"", opcode);
    return NULL;
  }
  if (!hlo_parse_attributes(module, code, text, &attributes, &broadcast_dimensions, &last_error))
    return NULL;
  return builder_add(batch->builder, code, shape, operands, count, &attributes,
                     broadcast_dimensions, &last_error);
}

static Instruction *add_record(Batch *batch) {
  Builder *builder = batch->builder;
  const uint32_t *words = batch->words;
  const char *opcode = batch->texts[words[1]].text, *text = batch->texts[words[3]].text;
  const Shape **shape = &batch->texts[words[2]].shape;
  uint32_t kind = words[0] & ~BATCH_CHECKED;
  bool failed;
  if (!*shape) {
    *shape = parse_shape(builder->module->arena, batch->texts[words[2]].text, &failed);
    if (failed) return NULL;
  }
  batch->words += 4;
  Instruction *made;
  if (kind == BATCH_PARAMETER) {
    made = builder_parameter(builder, *batch->words++, *shape, text, &last_error);
  } else if (kind == BATCH_CONSTANT) {
    uint32_t count = *batch->words++;
    Literal literal = {.shape = *shape, .data = (void *)batch->words};
    made = builder_constant(builder, &literal, &last_error);
    batch->words += count;
  } else if (kind == BATCH_OWNED_CONSTANT) {
    Literal literal = {.shape = *shape, .data = (void *)(uintptr_t)*batch->words++};
    made = builder_constant_of(builder, &literal, &last_error);
  } else {
    made = add_operation(batch, opcode, kind == BATCH_GIVEN ? *shape : NULL, text);
  }
  bool right = made && (!(words[0] & BATCH_CHECKED) || shape_equal(made->shape, *shape));
  return right ? made : NULL;
}

XLA_API bool xla_builder_add(Builder *builder, int text_count, const char *text, int count,
                             const uint32_t *words, Instruction **added) {
  Arena *arena = builder->module->arena;
  Batch batch = {builder, ARENA_ARRAY(arena, struct BatchText, text_count), added, words};
  for (int i = 0; i < text_count; i++, text += strlen(text) + 1) batch.texts[i].text = text;
  for (int i = 0; i < count; i++) {
    if (!(added[i] = add_record(&batch))) return false;
  }
  return true;
}

static Module *wanted_rule; /* by the last derivative */

XLA_API Instruction *xla_builder_gradient(Builder *builder, const Instruction *of,
                                          Instruction *const *wrt, int count, double max_iterations,
                                          int checkpoint, const char *rule_names,
                                          Module *const *rules, int rule_count) {
  CallerRules given = {rule_names, rule_count, rules, NULL};
  GradientOptions options = {.max_iterations = (int64_t)max_iterations,
                             .checkpoint = (Checkpoint)checkpoint,
                             .rules = &given};
  Instruction *call = builder_gradient(builder, of, wrt, count, &options, &last_error);
  wanted_rule = given.wanted;
  return call;
}

XLA_API bool xla_has_known_derivative(const char *function) {
  return known_function(function, NULL) != NULL;
}

XLA_API const char *xla_builder_import(Builder *builder, const Module *module) {
  return builder_import(builder, module->entry)->name;
}

XLA_API const char *xla_instruction_name(const Instruction *instruction) {
  return instruction->name;
}

XLA_API bool xla_builder_header(Builder *builder, const char *text) {
  return hlo_parse_header(builder->module, text, &last_error);
}

XLA_API char *xla_instruction_shape(const Instruction *instruction) {
  return shape_text(instruction->shape);
}

XLA_API Module *xla_builder_build(Builder *builder, Instruction *root) {
  return builder_finish(builder, root, &last_error);
}

/* ---- Modules ---- */

XLA_API Module *xla_module_parse(const char *text, int length, int elided) {
  TextData none = {.elided = (ElidedLiterals)elided};
  return hlo_parse_with_data(text, (size_t)length, &none, &last_error);
}

XLA_API Module *xla_module_parse_with_data(const char *text, int length, void *const *data,
                                           const uint32_t *sizes, int count) {
  TextData given = {.count = count, .data = data, .sizes = sizes};
  return hlo_parse_with_data(text, (size_t)length, &given, &last_error);
}

XLA_API char *xla_module_print(const Module *module) {
  return xla_module_print_with_data(module, 0);
}

XLA_API char *xla_module_print_with_data(const Module *module, int min_bytes) {
  StrBuf out = {0};
  hlo_print_with_data(module, min_bytes, &out);
  return text_of(&out);
}

XLA_API Module *xla_module_differentiate(const Module *module, int mode, const int *wrt, int count,
                                         int of, bool value, double max_iterations, int checkpoint,
                                         const char *rule_names, Module *const *rules,
                                         int rule_count) {
  CallerRules given = {rule_names, rule_count, rules, NULL};
  GradientOptions options = {(GradientMode)mode,     count, wrt, of, value, (int64_t)max_iterations,
                             (Checkpoint)checkpoint, &given};
  Module *derivative = module_differentiate(module, &options, &last_error);
  wanted_rule = given.wanted;
  return derivative;
}

XLA_API Module *xla_wanted_rule(void) {
  Module *wanted = wanted_rule;
  wanted_rule = NULL;
  return wanted;
}

XLA_API const char *xla_module_backend_config(const Module *module) {
  const char *config = module->entry->root->a->backend_config;
  return config ? config : "";
}

XLA_API Module *xla_module_batch(const Module *module, const int *in, int in_count, const int *out,
                                 int out_count, double size) {
  BatchOptions options = {(int64_t)size, in_count, in, out_count, out};
  return module_batch(module, &options, &last_error);
}

XLA_API void xla_module_free(Module *module) { module_free(module); }
XLA_API const char *xla_module_name(const Module *module) { return module->name; }
XLA_API int xla_module_replica_count(const Module *module) { return module_mesh(module).replicas; }
XLA_API int xla_module_partition_count(const Module *module) {
  return module_mesh(module).partitions;
}

XLA_API int xla_module_parameter_count(const Module *module) {
  return module->entry->parameter_count;
}

XLA_API char *xla_module_parameter_shape(const Module *module, int number) {
  const Shape *shape = module->entry->parameters[number]->shape;
  if (module->parameter_layouts && module->parameter_layouts[number]) {
    shape = module->parameter_layouts[number];
  }
  return shape_text(shape);
}

XLA_API const char *xla_module_parameter_name(const Module *module, int number) {
  return module->entry->parameters[number]->name;
}

XLA_API char *xla_module_result_shape(const Module *module) {
  return shape_text(module->result_layout ? module->result_layout : module->entry->root->shape);
}

/* ---- Executables ---- */

static Compilation *begin(const Module *module, Mesh mesh, int how, const char *disable,
                          PassWatch *watch) {
  CompileOptions options = {.evaluate = how & COMPILE_AS_WRITTEN,
                            .not_in_place = how & COMPILE_NOT_IN_PLACE,
                            .watch = watch};
  if (!compile_options_disable(&options, disable, &last_error)) return NULL;
  if (!verify_module(module, &last_error)) return NULL;
  return executable_begin(module, mesh, &options, &last_error);
}

XLA_API Compilation *xla_compile_begin(const Module *module, int replicas, int partitions, int how,
                                       const char *disable) {
  return begin(module, (Mesh){replicas, partitions}, how, disable, NULL);
}

XLA_API bool xla_compile_run(Compilation *compilation, double ms) {
  double end = platform_now_us() + 1000 * ms;
  bool more;
  do more = compilation_step(compilation);
  while (more && platform_now_us() < end);
  return more;
}

XLA_API Executable *xla_compile_end(Compilation *compilation) {
  return executable_end(compilation, &last_error);
}

XLA_API char *xla_optional_passes(void) {
  StrBuf out = {0};
  compile_options_list(&out);
  return text_of(&out);
}
XLA_API const char *xla_compile_step(void) { return step_name(); }

XLA_API int xla_executable_replicas(const Executable *executable) {
  return executable->mesh.replicas;
}
XLA_API int xla_executable_partitions(const Executable *executable) {
  return executable->mesh.partitions;
}

XLA_API void xla_executable_free(Executable *executable) { executable_release(executable); }

XLA_API char *xla_executable_print(const Executable *executable) {
  return xla_module_print(executable->program->module);
}

/* ORDER MEMORY */
XLA_API double xla_executable_bytes(const Executable *executable, int kind) {
  ProgramMemory memory = program_memory(executable->program);
  const int64_t bytes[] = {memory.arguments,        memory.results,   memory.aliases,
                           memory.temporaries,      memory.constants, memory.generated_code,
                           memory.temporaries_given};
  bool is_kind = kind >= 0 && kind < (int)(sizeof bytes / sizeof *bytes);
  return is_kind ? (double)bytes[kind] : 0;
}

XLA_API char *xla_executable_thunks(const Executable *executable) {
  StrBuf out = {0};
  program_print_thunks(executable->program, &out);
  return text_of(&out);
}

XLA_API char *xla_executable_memory(const Executable *executable) {
  StrBuf out = {0};
  program_print_memory(executable->program, &out);
  return text_of(&out);
}

XLA_API const uint32_t *xla_executable_code(const Executable *executable) {
  int module = executable->program->generated_module;
  return module ? platform_module_code(module) : NULL;
}

typedef struct Snapshots {
  PassWatch watch;
  StrBuf out;
} Snapshots;

static void snapshot(PassWatch *watch, const char *pass, const Module *module) {
  StrBuf *out = &((Snapshots *)watch)->out;
  strbuf_printf(out, "\f%s\n", pass);
  hlo_print(module, out);
}

XLA_API char *xla_compile_passes(const Module *module, int replicas, int partitions, int how,
                                 const char *disable) {
  Snapshots snapshots = {{snapshot}, {0}};
  Compilation *compilation =
      begin(module, (Mesh){replicas, partitions}, how, disable, &snapshots.watch);
  while (compilation && compilation_step(compilation)) {}
  Executable *executable = compilation ? executable_end(compilation, &last_error) : NULL;
  if (!executable) {
    strbuf_free(&snapshots.out);
    return NULL;
  }
  executable_release(executable);
  return text_of(&snapshots.out);
}

/* ---- Buffers ---- */

XLA_API Buffer *xla_buffer_new(const char *shape) {
  bool failed;
  Arena *arena = arena_new();
  Buffer *buffer = NULL;
  const Shape *parsed = parse_shape(arena, shape, &failed);
  if (parsed && shape_is_array(parsed)) {
    buffer = buffer_new(parsed, &last_error);
  } else if (!failed) {
    invalid_argument(&last_error, "buffer", "\"%s\" is not the shape of an array",
                     shape ? shape : "");
  }
  arena_free(arena);
  return buffer;
}

XLA_API void xla_buffer_free(Buffer *buffer) { buffer_release(buffer); }
XLA_API void *xla_buffer_data(Buffer *buffer) {
  atomic_store(&buffer->bounds, BOUNDS_CHANGING);
  return buffer->data;
}
XLA_API char *xla_buffer_shape(const Buffer *buffer) {
  Shape shape = {.type = buffer->type, .rank = buffer->rank, .dims = buffer->dims};
  return shape_text(&shape);
}

XLA_API double xla_buffer_bytes(const Buffer *buffer) { return (double)buffer->bytes; }

/* ---- Runs ---- */

XLA_API Run *xla_run_new(Executable *executable, Buffer *const *arguments, const uint8_t *donated,
                         bool profile) {
  return run_new_replicated(executable, arguments, donated, profile, &last_error);
}

XLA_API void xla_run_seed(Run *run, double seed) { run_seed(handled(run), (uint64_t)seed); }
XLA_API Run *xla_launch_new(Executable *const *executables, int count, Buffer *const *arguments,
                            const uint8_t *donated, bool profile) {
  if (!run_check_devices(executables, count, &last_error)) return NULL;
  return run_new(executables, arguments, donated, profile, &last_error);
}

XLA_API int xla_run_start(Run *run, double us) {
  run_start(handled(run), us);
  return (int)run_state(run);
}
XLA_API int xla_run_state(Run *run) { return (int)run_state(handled(run)); }
XLA_API void xla_run_error(Run *run) { last_error = handled(run)->error; }

XLA_API Buffer *xla_run_result(Run *run, int device, int leaf) {
  return run_result(handled(run), device, leaf, &last_error);
}

XLA_API void xla_run_cancel(Run *run) { run_cancel(handled(run)); }
XLA_API void xla_run_time_out(Run *run, double ms) { run_time_out(handled(run), ms); }

XLA_API char *xla_run_waiting(Run *run) {
  StrBuf out = {0};
  waiting_print(handled(run), &out);
  return text_of(&out);
}
XLA_API void xla_run_free(Run *run) { run_free(handled(run)); }

XLA_API const ProfileEvent *xla_run_profile(Run *run) {
  int count;
  return run_profile(handled(run), &count);
}

XLA_API int xla_run_profile_count(Run *run) {
  int count;
  run_profile(handled(run), &count);
  return count;
}

/* ---- Calls of the host ---- */

XLA_API HostCall *xla_run_host_call(Run *run) { return host_call_take(handled(run)); }
XLA_API int xla_host_call_replica(const HostCall *call) { return replica_number(call); }
XLA_API int xla_host_call_partition(const HostCall *call) { return partition_number(call); }

XLA_API const char *xla_host_call_opcode(const HostCall *call) {
  return opcode_name(call->parked_at->instruction->opcode);
}

XLA_API const char *xla_host_call_target(const HostCall *call) { return host_call_target(call); }

XLA_API const char *xla_host_call_backend_config(const HostCall *call) {
  const char *config = call->parked_at->instruction->a->backend_config;
  return config ? config : "";
}

XLA_API int xla_host_call_operand_count(const HostCall *call) { return host_call_operands(call); }
XLA_API int xla_host_call_result_count(const HostCall *call) { return host_call_results(call); }

XLA_API char *xla_host_call_operand_shape(const HostCall *call, int leaf) {
  return shape_text(thunk_operand_shape(call->parked_at, leaf));
}

XLA_API char *xla_host_call_result_shape(const HostCall *call, int leaf) {
  return shape_text(call->parked_at->results[leaf]->shape);
}

XLA_API const void *xla_host_call_operand_data(const HostCall *call, int leaf) {
  return device_pointer(call, call->parked_at->operands[leaf]);
}

XLA_API void *xla_host_call_result_data(const HostCall *call, int leaf) {
  return device_pointer(call, call->parked_at->results[leaf]);
}

XLA_API void xla_host_call_done(HostCall *call, int code, const char *message) {
  handled(call->run);
  host_call_done(call, (StatusCode)code, message && *message ? message : NULL);
}

/* ---- The host's part in the work ---- */

XLA_API bool xla_step(double budget_us) { return scheduler_step(platform_now_us() + budget_us); }
XLA_API void *xla_host_events(void) { return platform_host_events(); }

XLA_API int xla_worker_lost(int worker) {
  current.changes_threads = true;
  return (int)scheduler_worker_lost(worker);
}

XLA_API double xla_memory_in_use(void) { return (double)memory_in_use(); }
XLA_API double xla_heap_in_use(void) { return platform_heap_in_use(); }
