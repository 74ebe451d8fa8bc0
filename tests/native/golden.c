/*
** Runs the golden corpus (tests/golden/README.md) natively: through the parser and the evaluator,
** and through the compiler and the runtime.
**
**   golden [-k SUBSTRING] [-n EVERY] [-t THREADS] [-c] [-v] FILE.golden...
**
** -k: only cases whose names contain it. -n: of those only each EVERYth. -t: worker threads (1). -c: only compiled, not
** evaluated.
** Prints one line per failing case and a summary; fails if a case failed. The evaluator has no
** replicas; programs that call the host are skipped and counted, and so are long sorts that are evaluated.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "hlo/text/text.h"
#include "plan/comparator.h"
#include "reference/eval.h"
#include "rewrite/base/passes.h"
#include "rewrite/pipeline.h"
#include "runtime/run.h"
#include "runtime/scheduler.h"

typedef enum ToleranceKind { EXACT, ULP, ABS_REL } ToleranceKind;

typedef struct Tolerance {
  ToleranceKind kind;
  long long ulp;
  double absolute, relative;
} Tolerance;

enum { MAX_FIELDS = 4096 };

/* A leaf of an operand or a result: "f32[2] <base64>". */
typedef struct Field {
  int replica;
  const char *text;
} Field;

typedef struct Case {
  const char *name;
  int replicas, partitions;
  Tolerance tolerance;
  char *hlo;
  size_t hlo_length;
  int in_count, out_count;
  Field in[MAX_FIELDS], out[MAX_FIELDS];
} Case;

/* The fields of one replica, one after the other. */
typedef struct Leaves {
  const Field *fields;
  int count, replica, next;
} Leaves;

typedef enum Verdict { PASSED, FAILED, SKIPPED } Verdict;

/* ---- Reading ---- */

static _Noreturn void die(const char *file, const char *what) {
  fprintf(stderr, "golden: %s: %s\n", file, what);
  exit(2);
}

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) die(path, "cannot be opened");
  char *text = NULL;
  size_t size = 0, capacity = 0;
  for (;;) {
    if (size == capacity) {
      capacity = capacity ? capacity * 2 : 1 << 16;
      text = realloc(text, capacity + 1);
      if (!text) die(path, "does not fit into memory");
    }
    size_t n = fread(text + size, 1, capacity - size, file);
    if (n == 0) break;
    size += n;
  }
  fclose(file);
  text[size] = '\0';
  *length = size;
  return text;
}

/* Cuts the line at *at off and returns it; NULL at the end. */
static char *next_line(char **at) {
  if (!**at) return NULL;
  char *line = *at, *end = strchr(line, '\n');
  if (end) {
    *end = '\0';
    *at = end + 1;
  } else {
    *at = line + strlen(line);
  }
  return line;
}

static Tolerance read_tolerance(const char *file, const char *text) {
  Tolerance tolerance = {EXACT, 0, 0, 0};
  if (!strcmp(text, "exact")) return tolerance;
  if (sscanf(text, "ulp %lld", &tolerance.ulp) == 1) {
    tolerance.kind = ULP;
  } else if (sscanf(text, "abs %lf rel %lf", &tolerance.absolute, &tolerance.relative) == 2) {
    tolerance.kind = ABS_REL;
  } else {
    die(file, "unknown tolerance");
  }
  return tolerance;
}

/* "3 f32[2] ..." */
static Field read_field(const char *file, char *text) {
  char *space;
  Field field = {.replica = (int)strtol(text, &space, 10), .text = space + 1};
  if (space == text || *space != ' ') die(file, "in or out line without replica and shape");
  return field;
}

static bool read_case(const char *file, char **at, Case *c) {
  char *line = next_line(at);
  if (!line) return false;
  if (strncmp(line, "case ", 5)) die(file, "expected a line `case <name>`");
  *c = (Case){.name = line + 5, .replicas = 1, .partitions = 1};
  while ((line = next_line(at)) && strcmp(line, "end")) {
    if (!strncmp(line, "replicas ", 9)) {
      c->replicas = atoi(line + 9);
    } else if (!strncmp(line, "partitions ", 11)) {
      c->partitions = atoi(line + 11);
    } else if (!strncmp(line, "tol ", 4)) {
      c->tolerance = read_tolerance(file, line + 4);
    } else if (!strncmp(line, "hlo ", 4)) {
      c->hlo_length = (size_t)strtoull(line + 4, NULL, 10);
      if (strlen(*at) < c->hlo_length) die(file, "ends within a program");
      c->hlo = *at;
      *at += c->hlo_length;
    } else if (!strncmp(line, "in ", 3) && c->in_count < MAX_FIELDS) {
      c->in[c->in_count++] = read_field(file, line + 3);
    } else if (!strncmp(line, "out ", 4) && c->out_count < MAX_FIELDS) {
      c->out[c->out_count++] = read_field(file, line + 4);
    } else {
      die(file, "unknown line");
    }
  }
  if (!line) die(file, "ends within a case");
  return true;
}

static int base64_digit(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* Decodes the data after the shape in `field`; false unless it is exactly `size` bytes. */
static bool decode(const char *field, uint8_t *bytes, size_t size) {
  const char *text = strchr(field, ' ');
  if (!text) return size == 0;
  unsigned buffer = 0, bits = 0;
  size_t count = 0;
  for (text++; base64_digit(*text) >= 0; text++) {
    buffer = buffer << 6 | (unsigned)base64_digit(*text);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    if (count == size) return false;
    bytes[count++] = (uint8_t)(buffer >> bits);
  }
  return count == size;
}

/* ---- Values ---- */

static const char *next_leaf(Leaves *leaves) {
  while (leaves->next < leaves->count) {
    const Field *field = &leaves->fields[leaves->next++];
    if (field->replica == leaves->replica) return field->text;
  }
  return NULL;
}

/* Fills the array leaves of `literal` from the next fields; tokens have none. */
static bool load_leaves(Literal *literal, Leaves *leaves) {
  const Shape *shape = literal->shape;
  for (int i = 0; i < shape->tuple_size; i++) {
    if (!load_leaves(literal->elements[i], leaves)) return false;
  }
  if (!shape_is_array(shape)) return true;
  const char *field = next_leaf(leaves);
  return field && decode(field, literal->data, (size_t)shape_bytes(shape));
}

/* ---- Comparison ---- */

static bool both_nan(double x, double y) { return x != x && y != y; }

/* Returns the position of a float in the order of all floats, both zeros at 0. */
static long long place(PrimitiveType type, const void *data, int64_t index) {
  size_t bytes = (size_t)type_bytes(type);
  uint64_t bits = 0, sign = UINT64_C(1) << (8 * bytes - 1);
  memcpy(&bits, (const uint8_t *)data + (size_t)index * bytes, bytes);
  return bits & sign ? -(long long)(bits & (sign - 1)) : (long long)bits;
}

static bool near(const Tolerance *tolerance, PrimitiveType type, const void *got, const void *want,
                 int64_t index) {
  double x = scalar_load(type, got, index).f, y = scalar_load(type, want, index).f;
  if (both_nan(x, y)) return true;
  if (x != x || y != y) return false;
  if (tolerance->kind == ULP) {
    return llabs(place(type, got, index) - place(type, want, index)) <= tolerance->ulp;
  }
  if (isinf(x) || isinf(y)) return x == y;
  return fabs(x - y) <= tolerance->absolute + tolerance->relative * fabs(y);
}

static bool equal_bits(PrimitiveType type, const void *got, const void *want, int64_t index) {
  size_t bytes = (size_t)type_bytes(type), offset = (size_t)index * bytes;
  if (!memcmp((const uint8_t *)got + offset, (const uint8_t *)want + offset, bytes)) return true;
  return type_is_floating(type) &&
         both_nan(scalar_load(type, got, index).f, scalar_load(type, want, index).f);
}

/* Compares two arrays; describes the first difference in `why`. */
static bool compare_arrays(const Tolerance *tolerance, const Literal *got, const Literal *want,
                           char *why, size_t size) {
  PrimitiveType type = got->shape->type, part = type_complex_component(type);
  int64_t parts = type == part ? 1 : 2, count = shape_elements(got->shape) * parts, wrong = 0;
  bool exact = tolerance->kind == EXACT || !type_is_floating(part);
  for (int64_t i = 0; i < count; i++) {
    if (exact ? equal_bits(part, got->data, want->data, i)
              : near(tolerance, part, got->data, want->data, i)) {
      continue;
    }
    if (wrong++) continue;
    Scalar x = scalar_load(part, got->data, i), y = scalar_load(part, want->data, i);
    if (type_is_floating(part)) {
      snprintf(why, size, "element %lld is %.17g, not %.17g", (long long)(i / parts), x.f, y.f);
    } else {
      snprintf(why, size, "element %lld is %lld, not %lld", (long long)(i / parts), (long long)x.i,
               (long long)y.i);
    }
  }
  size_t used = wrong > 1 ? strlen(why) : 0;
  if (used) snprintf(why + used, size - used, " (%lld differ)", (long long)wrong);
  return wrong == 0;
}

static bool compare_leaves(const Tolerance *tolerance, const Literal *got, const Literal *want,
                           char *why, size_t size) {
  for (int i = 0; i < got->shape->tuple_size; i++) {
    if (!compare_leaves(tolerance, got->elements[i], want->elements[i], why, size)) return false;
  }
  return !shape_is_array(got->shape) || compare_arrays(tolerance, got, want, why, size);
}

/* ---- Evaluating ---- */

static Verdict evaluate(const Case *c, const Module *module, Arena *arena, char *why, size_t size) {
  if (c->replicas * c->partitions > 1) {
    snprintf(why, size, "needs %d devices", c->replicas * c->partitions);
    return SKIPPED;
  }
  const Computation *entry = module->entry;
  Literal **arguments = ARENA_ARRAY(arena, Literal *, entry->parameter_count);
  Leaves in = {c->in, c->in_count, 0, 0}, out = {c->out, c->out_count, 0, 0};
  for (int i = 0; i < entry->parameter_count; i++) {
    arguments[i] = literal_new(arena, entry->parameters[i]->shape);
    if (!load_leaves(arguments[i], &in)) {
      snprintf(why, size, "the in lines do not fit parameter %d", i);
      return FAILED;
    }
  }
  if (next_leaf(&in)) {
    snprintf(why, size, "there are more in lines than parameters");
    return FAILED;
  }
  Error error = {0};
  uint64_t rng_state[2] = {RNG_STATE_START, 0};
  EvalContext context = {.arena = arena, .error = &error, .rng_state = rng_state};
  const Literal *got = eval_computation(entry, arguments, &context);
  if (!got) {
    snprintf(why, size, "%s: %s", status_code_name(error.code), error.message);
    return error.code == STATUS_FAILED_PRECONDITION ? SKIPPED : FAILED;
  }
  Literal *want = literal_new(arena, got->shape);
  if (!load_leaves(want, &out) || next_leaf(&out)) {
    snprintf(why, size, "the out lines do not fit the result");
    return FAILED;
  }
  return compare_leaves(&c->tolerance, got, want, why, size) ? PASSED : FAILED;
}

/* ---- Compiling and running ---- */

static bool calls_host(const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    if (thunk->kind == THUNK_HOST) return true;
    if (thunk->kind == THUNK_WHILE && (calls_host(thunk->condition) || calls_host(thunk->body))) {
      return true;
    }
    for (int k = 0; thunk->kind == THUNK_CONDITIONAL && k < thunk->branch_count; k++) {
      if (calls_host(&thunk->branches[k])) return true;
    }
  }
  return false;
}

/* The argument buffers of all replicas, replica-major; those that could not be made are NULL. */
static bool make_arguments(const Case *c, const Executable *executable, Buffer **buffers,
                           Error *error) {
  for (int r = 0; r < c->replicas * c->partitions; r++) {
    Leaves in = {c->in, c->in_count, r, 0};
    for (int i = 0; i < executable->program->parameter_leaves; i++) {
      const Shape *shape = executable->program->parameter_shapes[i];
      if (!shape_is_array(shape)) continue;
      Buffer *buffer = buffer_new(shape, error);
      if (!buffer) return false;
      buffers[r * executable->program->parameter_leaves + i] = buffer;
      const char *field = next_leaf(&in);
      uint8_t *elements = scope_new((size_t)shape_bytes(shape), 1);
      bool fits = field && decode(field, elements, (size_t)shape_bytes(shape));
      if (fits) buffer_set(buffer, elements);
      scope_free(elements);
      if (fits) continue;
      return error_set(error, STATUS_INVALID_ARGUMENT, "the in lines do not fit leaf %d", i);
    }
  }
  return true;
}

static Verdict compare_results(const Case *c, const Run *run, Arena *arena, char *why,
                               size_t size) {
  const Executable *executable = run->devices[0].executable;
  for (int r = 0; r < c->replicas * c->partitions; r++) {
    Leaves out = {c->out, c->out_count, r, 0};
    for (int i = 0; i < executable->program->result_leaves; i++) {
      const Shape *shape = executable->program->result_shapes[i];
      if (!shape_is_array(shape)) continue;
      Buffer *buffer = run->devices[r].results[i];
      Literal *want = literal_new(arena, shape);
      if (!load_leaves(want, &out)) {
        snprintf(why, size, "the out lines do not fit the result");
        return FAILED;
      }
      Literal *got = literal_new(arena, shape);
      buffer_get(buffer, got->data);
      if (!compare_leaves(&c->tolerance, got, want, why, size)) return FAILED;
    }
    if (next_leaf(&out)) {
      snprintf(why, size, "there are more out lines than results");
      return FAILED;
    }
  }
  return PASSED;
}

static Verdict run_executable(const Case *c, Executable *executable, Arena *arena, char *why,
                              size_t size) {
  int count = executable->program->parameter_leaves * c->replicas * c->partitions;
  Buffer **arguments = ARENA_ARRAY(arena, Buffer *, count);
  memset(arguments, 0, sizeof *arguments * (size_t)count);
  Error error = {0};
  Run *run = make_arguments(c, executable, arguments, &error)
                 ? run_new_replicated(executable, arguments, NULL, false, &error)
                 : NULL;
  Verdict verdict = FAILED;
  if (run) {
    run_seed(run, 0); /* the default */
    run_start(run, INFINITY);
    scheduler_wait(&run->group);
    if (run_state(run) == RUN_DONE) {
      verdict = compare_results(c, run, arena, why, size);
    } else {
      error = run->error;
    }
    run_free(run);
  }
  if (error.code) snprintf(why, size, "%s: %s", status_code_name(error.code), error.message);
  for (int i = 0; i < count; i++) {
    if (arguments[i]) buffer_release(arguments[i]);
  }
  return verdict;
}

/* Lists steps and memory: for the sanitizers (tests/core/listing.test.mjs reads such lists). */
static void list(const Executable *executable) {
  StrBuf out = {0};
  program_print_thunks(executable->program, &out);
  program_print_memory(executable->program, &out);
  strbuf_free(&out);
}

static Verdict compile_and_run(const Case *c, const Module *module, Arena *arena, char *why,
                               size_t size) {
  Error error = {0};
  Executable *executable = executable_new(
      module, (Mesh){c->replicas, c->partitions > 1 ? c->partitions : 0}, NULL, &error);
  if (!executable) {
    snprintf(why, size, "%s: %s", status_code_name(error.code), error.message);
    return FAILED;
  }
  list(executable);
  Verdict verdict = SKIPPED;
  if (calls_host(&executable->program->entry)) {
    snprintf(why, size, "calls the host");
  } else {
    verdict = run_executable(c, executable, arena, why, size);
  }
  executable_release(executable);
  return verdict;
}

/* ---- Cases ---- */

typedef struct Options {
  const char *wanted; /* substring of case names */
  int every, seen;    /* of the cases, one in `every` runs */
  int threads;
  bool compiled_only, verbose;
} Options;

/* Runs a case both ways, or only compiled. A case skipped in one way may pass in the other. */
static Verdict run_module(const Case *c, Module *module, const Options *options, char *why,
                          size_t size) {
  Arena *arena = arena_new();
  Verdict compiled = compile_and_run(c, module, arena, why, size), evaluated = SKIPPED;
  if (compiled != FAILED && !options->compiled_only) {
    Error error = {0};
    *why = '\0';
    /* As in compiling, dynamic sizes become values first, as the evaluator knows only bounds. Long scans
    ** of narrow floats are split into XLA's blocks, as the evaluator computes a window as it is. */
    if (pipeline_resolve_dynamic(module, &(PipelineOptions){0}, &error)) {
      pass_block_scans(module);
      evaluated = evaluate(c, module, arena, why, size);
    } else {
      snprintf(why, size, "%s", error.message);
      evaluated = FAILED;
    }
  }
  arena_free(arena);
  if (compiled == FAILED || evaluated == FAILED) return FAILED;
  return compiled == PASSED ? PASSED : evaluated;
}

/* Whether the evaluator would compute a long sort's comparator, which has no keys (plan/comparator.h). Of 3 lines of 70,000
** elements it takes half a minute under ASan. corpus/golden runs such cases in WebAssembly, which has code for them. */
static bool evaluates_for_long(const Module *module) {
  enum { MAX_BYTES = 16 << 10 }; /* of the first operand: 4,096 numbers */
  for (int k = 0; k < module->count; k++) {
    const Computation *computation = module->computations[k];
    for (int i = 0; i < computation->count; i++) {
      const Instruction *x = computation->instructions[i];
      if (x->opcode == HLO_SORT && shape_bytes(x->operands[0]->shape) > MAX_BYTES &&
          comparator_order(x->a->to_apply).count == 0) {
        return true;
      }
    }
  }
  return false;
}

static Verdict run_case(const Case *c, const Options *options, char *why, size_t size) {
  Error error = {0};
  Module *module = hlo_parse(c->hlo, c->hlo_length, &error);
  if (!module) {
    snprintf(why, size, "%d:%d: %s", error.line, error.column, error.message);
    return FAILED;
  }
  Verdict verdict = SKIPPED;
  if (evaluates_for_long(module)) {
    snprintf(why, size, "a long sort is evaluated");
  } else {
    verdict = run_module(c, module, options, why, size);
  }
  module_free(module);
  return verdict;
}

static void run_file(const char *path, Options *options, int totals[3]) {
  static const char *const words[] = {"ok", "FAIL", "skip"};
  static Case c;
  size_t length;
  char *text = read_file(path, &length), *at = text;
  while (read_case(path, &at, &c)) {
    if (!strstr(c.name, options->wanted) || options->seen++ % options->every) continue;
    char why[ERROR_MESSAGE_SIZE + 64] = "";
    Verdict verdict = run_case(&c, options, why, sizeof why);
    totals[verdict]++;
    if (verdict == FAILED || options->verbose) {
      printf("%s %s: %s%s%s\n", words[verdict], path, c.name, *why ? ": " : "", why);
    }
  }
  free(text);
}

int main(int count, char **arguments) {
  Options options = {.wanted = "", .every = 1, .threads = 1};
  int totals[3] = {0};
  bool started = false;
  for (int i = 1; i < count; i++) {
    if (!strcmp(arguments[i], "-k") && i + 1 < count) {
      options.wanted = arguments[++i];
    } else if (!strcmp(arguments[i], "-t") && i + 1 < count) {
      options.threads = atoi(arguments[++i]);
    } else if (!strcmp(arguments[i], "-n") && i + 1 < count) {
      options.every = atoi(arguments[++i]);
      if (options.every < 1) options.every = 1;
    } else if (!strcmp(arguments[i], "-c")) {
      options.compiled_only = true;
    } else if (!strcmp(arguments[i], "-v")) {
      options.verbose = true;
    } else {
      if (!started) scheduler_start(options.threads);
      started = true;
      run_file(arguments[i], &options, totals);
    }
  }
  printf("%d passed, %d failed, %d skipped\n", totals[PASSED], totals[FAILED], totals[SKIPPED]);
  return totals[FAILED] || totals[PASSED] == 0;
}
