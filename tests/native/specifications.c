/*
** Tests that the checks between stages find each fault. Each row is a module that breaks a specification
** (rewrite/base/module_check.h, codegen/fusion_check.h); the check, in a process of its own, must abort with these words.
*/
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "codegen/fusion_check.h"
#include "hlo/text/text.h"
#include "rewrite/base/module_check.h"

#define LESS                                                                                      \
  "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), " \
  "direction=LT\n}\n"
#define ADD \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n"
#define FUSION(parameters, body)                                                  \
  "HloModule m\n" ADD LESS "f {\n" parameters body "}\nENTRY main {\n" parameters \
  "ROOT y = f32[4] fusion(x), kind=kLoop, calls=f\n}\n"

typedef struct Row {
  const char *name, *text;
  void (*damage)(Module *module); /* after parsing, which checks the text; may be NULL */
  const char *words;              /* NULL: nothing is wrong */
} Row;

static Instruction *root_of(Module *module) { return module->entry->root; }

static void change_type(Module *module) {
  root_of(module)->shape = shape_with_type(module->arena, root_of(module)->shape, S32);
}
static void use_later(Module *module) {
  Computation *entry = module->entry;
  Instruction *first = entry->instructions[1];
  entry->instructions[1] = entry->instructions[2];
  entry->instructions[2] = first;
}
static void add_alone(Module *module) {
  Computation *alone = module_add_computation(module, "alone");
  computation_add_parameter(alone, 0, module->entry->parameters[0]->shape, "p");
  alone->root = alone->instructions[0];
  module->computations[module->count - 1] = module->entry; /* the entry is last */
  module->computations[module->count - 2] = alone;
}

static const Row rewritten[] = {
    {"a module as it should be",
     "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n ROOT y = f32[4] negate(x)\n}\n", NULL,
     NULL},
    {"a wrong type",
     "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n ROOT y = f32[4] negate(x)\n}\n",
     change_type, "negate"},
    {"a use before the value",
     "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n a = f32[4] negate(x)\n ROOT y = f32[4] "
     "abs(a)\n}\n",
     use_later, "after rewrite pipeline"},
    {"a computation without callers",
     "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n ROOT y = f32[4] negate(x)\n}\n",
     add_alone, "nothing calls it"},
    {"a bitcast",
     "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n ROOT y = f32[2,2] bitcast(x)\n}\n",
     NULL, "should have replaced it"},
    {"a dynamic dimension",
     "HloModule m\nENTRY main {\n x = f32[<=4] parameter(0)\n ROOT y = f32[<=4] negate(x)\n}\n",
     NULL, "dynamic dimension"},
};

#define X "x = f32[4] parameter(0)\n"
static void swap_operand(Module *module) {
  Computation *entry = module->entry;
  const Shape *shape = shape_with_type(module->arena, entry->parameters[0]->shape, S32);
  entry->parameters[0]->shape = shape;
}
static const Row fused[] = {
    {"a fusion as it should be", FUSION(X, "ROOT r = f32[4] negate(x)\n"), NULL, NULL},
    {"an operation without code",
     FUSION(X, "ROOT r = f32[4] sort(x), dimensions={0}, to_apply=less\n"), NULL, "no code"},
    {"a reduction that is not the root",
     FUSION(X, "z = f32[] constant(0)\ns = f32[] reduce(x, z), dimensions={0}, to_apply=add\n"
               "ROOT r = f32[4] broadcast(s), dimensions={}\n"),
     NULL, "not the root"},
    {"an operand of another type", FUSION(X, "ROOT r = f32[4] negate(x)\n"), swap_operand,
     "another type"},
    {"a control dependency",
     FUSION(X, "a = f32[4] abs(x)\nb = f32[4] negate(x), control-predecessors={a}\nROOT r = f32[4] "
               "add(a, b)\n"),
     NULL, "waits"},
};

static void check_rewritten(const Module *module) { module_check_rewritten(module); }
static void check_fused(const Module *module) {
  fusion_check(module->entry->root, &codegen_target);
}

/* Runs the check in a process of its own. Returns whether it aborts; `said` receives what it prints. */
static bool aborts(void (*check)(const Module *), const Module *module, char *said, size_t size) {
  int ends[2];
  if (pipe(ends)) return false;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    check(module);
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t n; length + 1 < size && (n = read(ends[0], said + length, size - 1 - length)) > 0;) {
    length += (size_t)n;
  }
  said[length] = 0;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static int run(const Row *rows, size_t count, void (*check)(const Module *)) {
  int failures = 0;
  for (size_t i = 0; i < count; i++) {
    Error error;
    char said[4096];
    Module *module = hlo_parse(rows[i].text, strlen(rows[i].text), &error);
    if (!module) {
      printf("%s: %s\n", rows[i].name, error.message);
      failures++;
      continue;
    }
    if (rows[i].damage) rows[i].damage(module);
    bool found = aborts(check, module, said, sizeof said);
    bool ok = rows[i].words ? found && strstr(said, rows[i].words) : !found;
    if (!ok) printf("%s: %s\n", rows[i].name, found ? said : "the check finds nothing");
    failures += !ok;
    module_free(module);
  }
  return failures;
}

int main(void) {
  int failures = run(rewritten, sizeof rewritten / sizeof *rewritten, check_rewritten);
  failures += run(fused, sizeof fused / sizeof *fused, check_fused);
  printf("%d failures\n", failures);
  return failures != 0;
}
