/*
** The native program: runs an HLO file on the same core that is compiled to WebAssembly.
**
**     xla-run MODULE.hlo [--input "f32[2] {1, 2}"]... [--replicas N] [--partitions N]
**         [--threads N] [--print]
**
** Inputs are literals in HLO text, one per parameter, the same on every device.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/platform.h"
#include "base/scope.h"
#include "hlo/text/text.h"
#include "runtime/run.h"
#include "runtime/scheduler.h"

/* Threshold MAX_INPUTS: arguments of the native program. No path. */
enum { MAX_INPUTS = 256 };

typedef struct Options {
  const char *file;
  const char *inputs[MAX_INPUTS];
  int input_count, threads;
  Mesh asked;
  bool print;
} Options;

static int fail(const char *message) {
  fprintf(stderr, "error: %s\n", message);
  return 1;
}

static bool parse_options(int argc, char **argv, Options *options) {
  *options = (Options){.threads = platform_concurrency()};
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(argv[i], "--print")) {
      options->print = true;
    } else if (argv[i][0] != '-') {
      options->file = argv[i];
    } else if (!value) {
      return false;
    } else if (!strcmp(argv[i], "--replicas")) {
      options->asked.replicas = atoi(argv[++i]);
    } else if (!strcmp(argv[i], "--partitions")) {
      options->asked.partitions = atoi(argv[++i]);
    } else if (!strcmp(argv[i], "--threads")) {
      options->threads = atoi(argv[++i]);
    } else if (!strcmp(argv[i], "--input") && options->input_count < MAX_INPUTS) {
      options->inputs[options->input_count++] = argv[++i];
    } else {
      return false;
    }
  }
  return options->file != NULL;
}

static char *read_file(const char *name, size_t *length) {
  FILE *file = fopen(name, "rb");
  if (!file) return NULL;
  StrBuf text = {0};
  char block[4096];
  for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) {
    strbuf_append_n(&text, block, n);
  }
  fclose(file);
  strbuf_append(&text, "");
  *length = text.length;
  return text.text;
}

/* Appends the buffers of one input's leaves to `buffers`. */
static bool push_leaves(const Literal *literal, Buffer **buffers, int *count, Error *error) {
  if (shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->tuple_size; i++) {
      if (!push_leaves(literal->elements[i], buffers, count, error)) return false;
    }
    return true;
  }
  Buffer *buffer = buffer_new(literal->shape, error);
  if (!buffer) return false;
  buffer_set(buffer, literal->data);
  buffers[(*count)++] = buffer;
  return true;
}

static bool read_inputs(const Options *options, const Executable *executable, Arena *arena,
                        Buffer **buffers, int *count, Error *error) {
  int parameters =
      executable->program->module->entry->parameter_count - executable->program->hidden_parameters;
  if (options->input_count != parameters) {
    return error_set(error, STATUS_INVALID_ARGUMENT,
                     "the program has %d parameters, but there are "
                     "%d inputs",
                     parameters, options->input_count);
  }
  for (int i = 0; i < options->input_count; i++) {
    /* The shape ends at the first space: a brace after it belongs to the literal, not to a layout. */
    const char *end, *text = options->inputs[i] + strcspn(options->inputs[i], " ");
    size_t length = (size_t)(text - options->inputs[i]);
    char *prefix = arena_strndup(arena, options->inputs[i], length);
    const Shape *shape = shape_parse(arena, prefix, &end, error);
    const Literal *literal = shape ? hlo_parse_literal(arena, shape, text, error) : NULL;
    if (!literal || !push_leaves(literal, buffers, count, error)) return false;
  }
  return true;
}

static void print_results(Run *run, Arena *arena) {
  for (int r = 0; r < run->device_count; r++) {
    const Program *program = run->devices[r].executable->program;
    for (int i = 0; i < program->result_leaves - program->hidden_results; i++) {
      Error error = {0};
      Buffer *buffer = run_result(run, r, i, &error);
      if (error.code) fail(error.message);
      if (!buffer) continue;
      Shape shape = {.type = buffer->type, .rank = buffer->rank, .dims = buffer->dims};
      StrBuf out = {0};
      strbuf_printf(&out, "%d: ", r);
      shape_print(&out, &shape, false);
      strbuf_append(&out, " ");
      Literal *literal = literal_new(arena, &shape);
      buffer_get(buffer, literal->data);
      hlo_print_literal(literal, &out);
      puts(out.text);
      strbuf_free(&out);
      buffer_release(buffer);
    }
  }
}

static bool run_module(const Options *options, Module *module, Error *error) {
  Executable *executable = executable_new(module, options->asked, NULL, error);
  if (!executable) return false;
  Arena *arena = arena_new();
  int n = executable->program->parameter_leaves - executable->program->hidden_parameters, count = 0;
  int devices = mesh_devices(executable->mesh);
  Buffer **arguments = ARENA_ARRAY(arena, Buffer *, n * devices);
  bool ok = read_inputs(options, executable, arena, arguments, &count, error);
  for (int i = n; ok && i < n * devices; i++) arguments[i] = arguments[i - n];
  if (ok && options->print) {
    StrBuf out = {0};
    hlo_print(executable->program->module, &out);
    program_print_thunks(executable->program, &out);
    fputs(out.text, stdout);
    strbuf_free(&out);
  }
  Run *run = ok ? run_new_replicated(executable, arguments, NULL, false, error) : NULL;
  ok = run != NULL;
  if (run) {
    run_start(run, INFINITY);
    scheduler_wait(&run->group);
    ok = run_state(run) == RUN_DONE;
    if (ok) print_results(run, arena);
    if (!ok) *error = run->error;
    run_free(run);
  }
  for (int i = 0; i < count; i++) buffer_release(arguments[i]);
  executable_release(executable);
  arena_free(arena);
  return ok;
}

int main(int argc, char **argv) {
  Options options;
  if (!parse_options(argc, argv, &options)) {
    return fail("usage: xla-run MODULE.hlo [--input LITERAL]... [--replicas N] [--partitions N] "
                "[--threads N] "
                "[--print]");
  }
  size_t length;
  char *text = read_file(options.file, &length);
  if (!text) return fail("the file cannot be read");
  scheduler_start(options.threads);
  Error error;
  Module *module = hlo_parse(text, length, &error);
  scope_free(text);
  bool ok = module && run_module(&options, module, &error);
  module_free(module);
  return ok ? 0 : fail(error.message);
}
