/*
** Tests programs of a depth and a width of 4,000 on a stack of 512 kB, as 100,000 on the usual 8 MB: through the parser,
** each pass by itself, all passes in order, the evaluator, the compiler and the printer. None may overflow the stack,
** or take for ever; a refusal states its reason. Also tests a chain of every operation of opcodes.def, as in
** chains.def: shorter, on a smaller stack.
*/
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/codegen.h"
#include "compile/compilation.h"
#include "hlo/infer/verifier.h"
#include "hlo/text/text.h"
#include "reference/eval.h"
#include "rewrite/base/passes.h"
#include "rewrite/dynamic/dimensions.h"
#include "rewrite/pipeline.h"

enum {
  SIZE = 4000,
  STACK = 512 << 10, /* 80 bytes a line above what short programs take */
  CHAIN = 400,
  CHAIN_STACK = 228 << 10, /* under sanitizers short programs take 200 kB of it */
  MAX_SECONDS = 2,         /* of processor time, under sanitizers: 0.5 of a quiet machine */
};

/* A program of some computations and many repeated lines: %d is the line's number, %p that of the line before.
** The first line's operand is x0. */
typedef struct Deep {
  const char *name;
  const char *before; /* computations, and the beginning of the one that holds the lines */
  const char *line;   /* with %d for its number and %p for the one before, from 1 on */
  const char *end;    /* the text after them; %d is the last line's number */
  bool lists;         /* then %d in `end` is all numbers, separated by commas */
  int size;           /* the number of lines */
} Deep;

#define ENTRY   "HloModule m\nENTRY e {\nx0 = f32[2] parameter(0)\nz = f32[] constant(0)\n"
#define ADD     "add {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT r = f32[] add(a, b)\n}\n"
#define SCALARS "p0 = f32[] parameter(0)\nx0 = f32[] parameter(1)\n"

static const Deep programs[] = {
    {"element-wise", ENTRY, "x%d = f32[2] sine(x%p)\n", "ROOT r = f32[2] copy(x%d)\n}\n", false,
     SIZE},
    {"indices", ENTRY, "x%d = f32[2] reverse(x%p), dimensions={0}\n",
     "ROOT r = f32[2] copy(x%d)\n}\n", false, SIZE},
    {"tuples and elements", ENTRY,
     "t%d = (f32[2]) tuple(x%p)\nx%d = f32[2] get-tuple-element(t%d), index=0\n",
     "ROOT r = f32[2] copy(x%d)\n}\n", false, SIZE},
    {"constants", "HloModule m\nENTRY e {\nx0 = f32[] constant(1)\nz = f32[] constant(2)\n",
     "x%d = f32[] maximum(x%p, z)\n", "ROOT r = f32[] negate(x%d)\n}\n", false, SIZE},
    {"dynamic", "HloModule m\nENTRY e {\nx0 = f32[<=2] parameter(0)\n",
     "x%d = f32[<=2] sine(x%p)\n", "ROOT r = f32[<=2] negate(x%d)\n}\n", false, SIZE},
    {"reductions",
     "HloModule m\n" ADD "ENTRY e {\nx0 = f32[2] parameter(0)\nz = f32[] constant(0)\n",
     "q%d = f32[] reduce(x%p, z), dimensions={0}, to_apply=add\n"
     "x%d = f32[2] broadcast(q%d), dimensions={}\n",
     "ROOT r = f32[2] copy(x%d)\n}\n", false, SIZE},
    {"a reducer", "HloModule m\nf {\n" SCALARS, "x%d = f32[] sine(x%p)\n",
     "ROOT r = f32[] add(p0, x%d)\n}\nENTRY e {\ny = f32[2] parameter(0)\nz = f32[] constant(0)\n"
     "ROOT r = f32[] reduce(y, z), dimensions={0}, to_apply=f\n}\n",
     false, SIZE},
    {"a comparator", "HloModule m\nf {\n" SCALARS, "x%d = f32[] sine(x%p)\n",
     "ROOT r = pred[] compare(p0, x%d), direction=LT\n}\nENTRY e {\ny = f32[2] parameter(0)\n"
     "ROOT r = f32[2] sort(y), dimensions={0}, to_apply=f\n}\n",
     false, SIZE},
    {"updates",
     "HloModule m\nf {\na = f32[2] parameter(0)\nROOT r = f32[2] sine(a)\n}\nENTRY e {\n"
     "y = f32[2] parameter(0)\nx0 = ((f32[2]), f32[2], s32[]) async-start(y), calls=f\n",
     "x%d = ((f32[2]), f32[2], s32[]) async-update(x%p)\n", "ROOT r = f32[2] async-done(x%d)\n}\n",
     false, SIZE},
    {"a wide program", ENTRY, "x%d = f32[2] sine(x0)\n", "ROOT r = tuple(%d)\n}\n", true, SIZE},
};

static int failures;

static void fail(const Deep *deep, const char *what, const char *more) {
  failures++;
  printf("%s: %s%s\n", deep->name, what, more);
}

/* ---- Texts ---- */

static void put_line(StrBuf *text, const char *line, int number) {
  for (; *line; line++) {
    if (line[0] == '%' && (line[1] == 'd' || line[1] == 'p')) {
      strbuf_printf(text, "%d", *++line == 'd' ? number : number - 1);
    } else {
      strbuf_printf(text, "%c", *line);
    }
  }
}

static void put_list(StrBuf *text, int size) {
  strbuf_printf(text, "ROOT r = (f32[2]");
  for (int i = 1; i < size; i++) strbuf_printf(text, ", f32[2]");
  strbuf_printf(text, ") tuple(x1");
  for (int i = 2; i <= size; i++) strbuf_printf(text, ", x%d", i);
  strbuf_printf(text, ")\n}\n");
}

static Module *parse(const Deep *deep) {
  StrBuf text = {0};
  Error error = {0};
  strbuf_printf(&text, "%s", deep->before);
  for (int i = 1; i <= deep->size; i++) put_line(&text, deep->line, i);
  if (deep->lists) {
    put_list(&text, deep->size);
  } else {
    put_line(&text, deep->end, deep->size);
  }
  Module *module = hlo_parse(text.text, text.length, &error);
  if (!module) fail(deep, "does not parse: ", error.message);
  strbuf_free(&text);
  return module;
}

/* ---- The stages ---- */

#define FOR_TARGET(pass) \
  static bool pass##_for_code(Module *module) { return pass(module, &codegen_target); }
FOR_TARGET(pass_pad_windows)
FOR_TARGET(pass_fuse_loops)

/* Each stage returns whether it may have changed the module. */

static bool prepare(Module *module) {
  pipeline_run_stage(module, STAGE_PREPARE, &(PipelineOptions){0});
  return true;
}

static bool lower(Module *module) {
  Error error;
  return pipeline_run(module, &(PipelineOptions){.target = &codegen_target}, &error);
}

static bool resolve(Module *module) {
  Error error;
  pipeline_resolve_dynamic(module, &(PipelineOptions){0}, &error);
  return true;
}

static bool measure(Module *module) {
  module_measure(module);
  return false;
}

static bool print(Module *module) {
  StrBuf text = {0};
  hlo_print(module, &text);
  strbuf_free(&text);
  return false;
}

typedef struct Stage {
  const char *name;
  bool (*run)(Module *module);
} Stage;

static const Stage stages[] = {
    {"printer", print},
    {"sizes", measure},
    {"dynamic dimensions", resolve},
    {"custom calls", pass_custom_calls},
    {"manual sharding", pass_manual_sharding},
    {"calls", pass_inline_calls},
    {"dead code", module_remove_dead},
    {"common subexpressions", pass_common_subexpressions},
    {"algebra", pass_simplify_algebra},
    {"transposes", pass_fold_transposes},
    {"constants", pass_fold_constants},
    {"scans", pass_expand_scans},
    {"bitcasts", pass_expand_bitcasts},
    {"scaled dots", pass_expand_scaled_dots},
    {"preparing passes", prepare},
    {"loops", pass_unroll_loops},
    {"scattered windows", pass_scatter_windows},
    {"padded windows", pass_pad_windows_for_code},
    {"comparators", pass_sort_keys},
    {"fusion", pass_fuse_loops_for_code},
    {"all of them", lower},
};

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void check_time(const Deep *deep, const char *what, double since) {
  char text[64];
  double took = seconds() - since;
  if (getenv("VERBOSE") && took > 0.5) printf("%s: %s: %.1f s\n", deep->name, what, took);
  snprintf(text, sizeof text, " takes %.0f s", took);
  if (took > MAX_SECONDS) fail(deep, what, text);
}

static void evaluate(const Deep *deep, const Module *module) {
  Error error = {0};
  Arena *arena = arena_new();
  double since = seconds();
  uint64_t random[2] = {0};
  EvalContext context = {.arena = arena, .error = &error, .rng_state = random};
  Literal **arguments = ARENA_ARRAY(arena, Literal *, module->entry->parameter_count);
  for (int p = 0; p < module->entry->parameter_count; p++) {
    arguments[p] = literal_new(arena, module->entry->parameters[p]->shape);
  }
  if (!eval_computation(module->entry, arguments, &context) &&
      error.code != STATUS_RESOURCE_EXHAUSTED && error.code != STATUS_UNIMPLEMENTED &&
      error.code != STATUS_FAILED_PRECONDITION /* it needs other devices or the host */) {
    fail(deep, "is not evaluated: ", error.message);
  }
  arena_free(arena);
  check_time(deep, "evaluation", since);
}

static void compile(const Deep *deep, const Module *module) {
  static const CompileOptions all = {0};
  Error error = {0};
  double since = seconds();
  Program *program = program_new(module, (Mesh){1, 1}, &all, &error);
  if (program) {
    program_free(program);
  } else if (error.code != STATUS_RESOURCE_EXHAUSTED) {
    fail(deep, "is not compiled: ", error.message);
  }
  check_time(deep, "compilation", since);
}

static void check(const Deep *deep) {
  double since = seconds();
  Error error = {0};
  Module *module = parse(deep);
  if (!module) return;
  check_time(deep, "parser", since);
  evaluate(deep, module);
  compile(deep, module);
  Module *copy = NULL; /* equal to the module: most stages leave most programs as they are */
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    if (!copy) copy = module_clone(module);
    since = seconds();
    bool changed = stages[i].run(copy);
    check_time(deep, stages[i].name, since);
    if (changed && !verify_module(copy, &error)) fail(deep, stages[i].name, error.message);
    if (changed) module_free(copy), copy = NULL;
  }
  if (copy) module_free(copy);
  module_free(module);
}

/* ---- A chain of each operation ---- */

typedef struct Chain {
  const char *computations, *before, *line;
  const char *why_none;
} Chain;

static const Chain chains[OPCODE_COUNT] = {
#define CHAIN(opcode, computations, before, line) \
  [HLO_##opcode] = {computations, before, line, NULL},
#define NO_CHAIN(opcode, why) [HLO_##opcode] = {NULL, NULL, NULL, why},
#include "chains.def"
#undef CHAIN
#undef NO_CHAIN
};

/* Element-wise operations of floats. */
static const char *line_of(Opcode opcode, StrBuf *text) {
  OpCategory category = opcode_category(opcode);
  if (chains[opcode].line) return chains[opcode].line;
  if (category != ELEMENTWISE_UNARY && category != ELEMENTWISE_BINARY) return NULL;
  strbuf_printf(text, "x%%d = f32[2] %s(x%%p%s)\n", opcode_name(opcode),
                category == ELEMENTWISE_BINARY ? ", x0" : "");
  return text->text;
}

static void *check_thread(void *deep) {
  check(deep);
  return NULL;
}

static void check_on(const Deep *deep, size_t stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack);
  if (pthread_create(&thread, &attributes, check_thread, (void *)deep)) {
    fail(deep, "has no thread", "");
  } else {
    pthread_join(thread, NULL);
  }
}

static void check_chain(Opcode opcode) {
  const Chain *chain = &chains[opcode];
  StrBuf before = {0}, line = {0};
  if (chain->why_none) return;
  strbuf_printf(&before, "HloModule m\n%sENTRY e {\n%s",
                chain->computations ? chain->computations : "",
                chain->before ? chain->before : "x0 = f32[2] parameter(0)\n");
  Deep deep = {opcode_name(opcode), before.text, line_of(opcode, &line), "}\n", false, CHAIN};
  if (deep.line) {
    check_on(&deep, CHAIN_STACK);
  } else {
    fail(&deep, "has no chain", "");
  }
  strbuf_free(&before);
  strbuf_free(&line);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  size_t count = sizeof programs / sizeof *programs;
  for (size_t k = 0; k < count; k++) {
    if (argc < 2 || !strcmp(argv[1], programs[k].name)) check_on(&programs[k], STACK);
  }
  for (int k = 0; k < OPCODE_COUNT; k++) {
    if (argc < 2 || !strcmp(argv[1], opcode_name((Opcode)k))) check_chain((Opcode)k);
  }
  printf("%zu programs of %d, chains of %d, %d failed\n", count, SIZE, CHAIN, failures);
  return failures != 0;
}
