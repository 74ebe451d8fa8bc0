/*
** Tests small changes to the programs of the golden corpus: other shapes, numbers, types, operands. Each mutant is
** refused, or runs on arguments of arbitrary bits, both evaluated and compiled; its results are not checked. The
** sanitizers check that no mutant accesses foreign memory or has undefined behaviour.
**
**   mutants [-n MUTANTS] [-s SEED] [-k SUBSTRING] [FILE.golden...]
**
** -n: per program (1). -s: of the random numbers (1); a mutant that fails is printed. -k: only programs
** whose text contains it. Without files, those of tests/golden.
*/
#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host/platform.h"
#include "base/scope.h"
#include "hlo/text/text.h"
#include "runtime/run.h"
#include "runtime/scheduler.h"

enum { LONGEST = 1 << 16, SECONDS_A_MUTANT = 60, SLICES = 20 };
static const double SLICE_US = 10000;

const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1";
}
void __sanitizer_set_death_callback(void (*callback)(void));

/* ---- Random numbers ---- */

static uint64_t state;

static uint64_t next_random(void) { /* xorshift64* of Vigna, arXiv:1402.6246 */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * UINT64_C(2685821657736338717);
}

static int below(int n) { return (int)(next_random() >> 33) % (n > 0 ? n : 1); }

/* ---- Mutants ---- */

typedef struct Text {
  size_t length;
  char text[LONGEST];
} Text;

static Text mutant;

static void replace(size_t begin, size_t end, const char *with, size_t size) {
  if (mutant.length - (end - begin) + size >= LONGEST) return;
  memmove(mutant.text + begin + size, mutant.text + end, mutant.length - end);
  memcpy(mutant.text + begin, with, size);
  mutant.length += size - (end - begin);
  mutant.text[mutant.length] = 0;
}

/* Finds the begin of a random place where `is` is true; false if there is none. */
static bool find(bool (*is)(const char *at), size_t *place) {
  size_t count = 0;
  for (size_t i = 1; i < mutant.length; i++) count += is(mutant.text + i);
  if (!count) return false;
  size_t wanted = (size_t)below((int)count);
  for (size_t i = 1;; i++) {
    if (is(mutant.text + i) && wanted-- == 0) return *place = i, true;
  }
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}
static bool starts_number(const char *at) {
  return isdigit((unsigned char)*at) && !is_word(at[-1]);
}
static bool starts_size(const char *at) {
  return isdigit((unsigned char)*at) && (at[-1] == '[' || at[-1] == ',' || at[-1] == '=' ||
                                         at[-1] == '{' || at[-1] == ':' || at[-1] == 'x');
}
static bool starts_shape(const char *at) {
  if (!isalpha((unsigned char)*at) || is_word(at[-1])) return false;
  while (is_word(*at)) at++;
  return *at == '[' && (isdigit((unsigned char)at[1]) || at[1] == ']');
}
static bool starts_name(const char *at) {
  return isalpha((unsigned char)*at) && (at[-1] == '%' || at[-1] == '(' || at[-1] == ' ');
}
static bool starts_attribute(const char *at) {
  if (at[0] != ',' || at[1] != ' ' || !isalpha((unsigned char)at[2])) return false;
  for (at += 2; is_word(*at); at++) {}
  return *at == '=';
}

static size_t word_end(size_t at) {
  while (is_word(mutant.text[at])) at++;
  return at;
}
static size_t shape_end(size_t at) {
  while (mutant.text[at] && mutant.text[at] != ']') at++;
  return mutant.text[at] ? at + 1 : at;
}
static size_t attribute_end(size_t at) {
  int depth = 0;
  for (at += 2; mutant.text[at] && mutant.text[at] != '\n'; at++) {
    depth += strchr("{[(", mutant.text[at]) != NULL;
    depth -= strchr("}])", mutant.text[at]) != NULL;
    if (depth == 0 && mutant.text[at] == ',') break;
  }
  return at;
}

static const char *some_number(void) {
  static const char *const small[] = {"0", "1", "2", "3",  "4",  "5",
                                      "6", "7", "8", "12", "16", "33"};
  static const char *const odd[] = {"-1",
                                    "-3",
                                    "100",
                                    "1000",
                                    "65536",
                                    "2147483647",
                                    "2147483648",
                                    "-2147483649",
                                    "4294967296",
                                    "1099511627776",
                                    "4611686018427387904",
                                    "9223372036854775807",
                                    "-9223372036854775808"};
  return below(5) ? small[below(sizeof small / sizeof *small)]
                  : odd[below(sizeof odd / sizeof *odd)];
}

static void mutate_number(bool (*is)(const char *)) {
  size_t at;
  if (!find(is, &at)) return;
  const char *number = some_number();
  replace(at, word_end(at), number, strlen(number));
}

static void mutate_type(void) {
  static const char *const types[] = {"pred", "s4",   "s8",       "u8",    "s32",
                                      "u64",  "bf16", "f16",      "f32",   "f64",
                                      "c64",  "c128", "f8e4m3fn", "token", "u1"};
  size_t at;
  if (!find(starts_shape, &at)) return;
  const char *type = types[below(sizeof types / sizeof *types)];
  replace(at, word_end(at), type, strlen(type));
}

/* Replaces a word or a shape by another one of the text. */
static void mutate_token(bool (*is)(const char *), size_t (*end)(size_t)) {
  static char copy[256];
  size_t from, to;
  if (!find(is, &from) || !find(is, &to)) return;
  size_t size = end(from) - from;
  if (size > sizeof copy) return;
  memcpy(copy, mutant.text + from, size);
  replace(to, end(to), copy, size);
}

static void drop_attribute(void) {
  size_t at;
  if (find(starts_attribute, &at)) replace(at, attribute_end(at), "", 0);
}

static void mutate(void) {
  switch (below(12)) {
  case 0:
  case 1:
  case 2: mutate_number(starts_number); break;
  case 3:
  case 4:
  case 5: mutate_number(starts_size); break;
  case 6: mutate_type(); break;
  case 7:
  case 8: mutate_token(starts_shape, shape_end); break;
  case 9:
  case 10: mutate_token(starts_name, word_end); break;
  default: drop_attribute(); break;
  }
}

/* ---- Running ---- */

static void print_mutant(void) { fprintf(stderr, "\nthe mutant:\n%s\n", mutant.text); }

static void too_long(int signal) {
  (void)signal;
  print_mutant();
  fprintf(stderr, "mutants: it takes more than %d seconds\n", SECONDS_A_MUTANT);
  abort();
}

static bool fill_arguments(const Executable *executable, Buffer **buffers, int count) {
  Error error = {0};
  const Program *program = executable->program;
  int given = program->parameter_leaves - program->hidden_parameters;
  for (int i = 0; i < count; i++) {
    const Shape *shape = program->parameter_shapes[i % given];
    if (!shape_is_array(shape)) continue;
    if (!(buffers[i] = buffer_new(shape, &error))) return false;
    for (int64_t b = 0; b < buffers[i]->bytes; b++) {
      buffers[i]->data[b] = (uint8_t)(below(4) ? below(4) : below(256));
    }
  }
  return true;
}

static void execute(Executable *executable) {
  Error error = {0};
  const Program *program = executable->program;
  int given = program->parameter_leaves - program->hidden_parameters;
  int count = given * mesh_devices(executable->mesh);
  Buffer **arguments = calloc((size_t)count + 1, sizeof(Buffer *));
  Run *run = fill_arguments(executable, arguments, count)
                 ? run_new_replicated(executable, arguments, NULL, false, &error)
                 : NULL;
  if (run) {
    run_start(run, INFINITY);
    for (int i = 0; i < SLICES && run_state(run) == RUN_RUNNING; i++) {
      if (!scheduler_step(platform_now_us() + SLICE_US)) break;
    }
    run_free(run); /* cancels it if it waits for the host or does not end */
    scheduler_step(platform_now_us() + SLICE_US);
  }
  for (int i = 0; i < count; i++) buffer_release(arguments[i]);
  free(arguments);
}

typedef struct Work {
  const CompileOptions *options;
  int replicas, ran;
  Module *module;
  Executable *executable;
} Work;

static void compile_and_run(void *argument) {
  Work *work = argument;
  Error error = {0};
  work->executable = executable_new(work->module, (Mesh){work->replicas, 0}, work->options, &error);
  if (!work->executable) return;
  work->ran++;
  execute(work->executable);
}

/* Parsing frees its memory. After a trap in a later stage, only the module can be freed. */
static int try_mutant(int replicas) {
  static const CompileOptions options[] = {{.evaluate = false}, {.evaluate = true}};
  Error error = {0};
  Work work = {.replicas = replicas};
  work.module = hlo_parse(mutant.text, mutant.length, &error);
  if (!work.module) return 0;
  for (int i = 0; i < 2; i++) {
    work.options = &options[i];
    work.executable = NULL;
    int scope = scope_begin();
    bool ok = platform_try(compile_and_run, &work, &error);
    if (ok)
      scope_commit(scope);
    else
      scope_abandon(scope);
    if (work.executable && ok) executable_release(work.executable);
  }
  module_free(work.module);
  return work.ran;
}

/* ---- The corpus ---- */

typedef struct Options {
  int mutants;
  const char *wanted;
} Options;

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  if (text && fread(text, 1, (size_t)size, file) == (size_t)size) text[size] = 0;
  fclose(file);
  return text;
}

static void run_program(const char *hlo, size_t length, int replicas, const Options *options,
                        int totals[2]) {
  if (length >= LONGEST / 2) return;
  for (int i = 0; i < options->mutants; i++) {
    memcpy(mutant.text, hlo, length);
    mutant.text[mutant.length = length] = 0;
    if (!strstr(mutant.text, options->wanted)) return;
    for (int changes = 1 + below(3); changes > 0; changes--) mutate();
    alarm(SECONDS_A_MUTANT);
    totals[1] += try_mutant(below(4) ? replicas : 1 + below(8));
    alarm(0);
    totals[0]++;
  }
}

/* "replicas N" and "hlo LENGTH" are lines of a case; the program follows the latter. */
static void run_file(const char *path, const Options *options, int totals[2]) {
  char *text = read_file(path);
  int replicas = 1;
  for (char *at = text; at && *at;) {
    char *end = strchr(at, '\n');
    size_t length = 0;
    if (!strncmp(at, "case ", 5)) replicas = 1;
    if (!strncmp(at, "replicas ", 9)) replicas = atoi(at + 9);
    if (!strncmp(at, "hlo ", 4)) length = (size_t)strtoull(at + 4, NULL, 10);
    at = end ? end + 1 : NULL;
    if (!length) continue;
    run_program(at, length, replicas, options, totals);
    at += length;
  }
  free(text);
}

int main(int count, char **arguments) {
  Options options = {.mutants = 1, .wanted = ""};
  glob_t files;
  int totals[2] = {0}, option;
  state = 1;
  while ((option = getopt(count, arguments, "n:s:k:")) >= 0) {
    if (option == 'n') options.mutants = atoi(optarg);
    if (option == 's') state = strtoull(optarg, NULL, 10) * 2 + 1;
    if (option == 'k') options.wanted = optarg;
  }
  signal(SIGALRM, too_long);
  __sanitizer_set_death_callback(print_mutant);
  scheduler_start(0);
  for (int i = optind; i < count; i++) run_file(arguments[i], &options, totals);
  if (optind == count && !glob("tests/golden/*.golden", 0, NULL, &files)) {
    for (size_t i = 0; i < files.gl_pathc; i++) run_file(files.gl_pathv[i], &options, totals);
    globfree(&files);
  }
  printf("%d mutants, %d ran\n", totals[0], totals[1]);
  return totals[1] == 0;
}
