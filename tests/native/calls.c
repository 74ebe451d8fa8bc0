/*
** Tests what no program of the bindings does: calls of the C interface with arguments that the bindings refuse
** before, which must be errors; runs that are over and yet time out; and the plans of loops that keep values, which
** native programs never make.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "hlo/text/text.h"
#include "plan/loop_plan.h"
#include "runtime/run.h"

static int failures;

static void check(bool holds, const char *what, const char *detail) {
  if (holds) return;
  failures++;
  printf("%s: %s\n", what, detail);
}

static Module *parse(const char *text) {
  Module *module = xla_module_parse(text, (int)strlen(text), 0);
  check(module != NULL, text, xla_error_message());
  return module;
}

static Executable *compile(const Module *module, int replicas, int how, const char *disable) {
  Compilation *compilation = xla_compile_begin(module, replicas, 1, how, disable);
  if (!compilation) return NULL;
  while (xla_compile_run(compilation, 1000)) {}
  return xla_compile_end(compilation);
}

/* ---- Calls that are refused ---- */

static const char doubled[] = "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n"
                              "  ROOT r = f32[3] add(x, x)\n}\n";

static void refused(const void *made, const char *what, const char *message) {
  check(made == NULL, what, "it is taken");
  check(strstr(xla_error_message(), message) != NULL, what, xla_error_message());
}

static void test_arguments(void) {
  Module *module = parse(doubled);
  Executable *executable = compile(module, 1, 0, NULL);
  Buffer *none[] = {NULL}, *other[] = {xla_buffer_new("s32[2,3]")};
  refused(xla_run_new(executable, none, NULL, false), "no argument",
          "argument leaf 0 of replica 0 is missing; f32[3] is expected");
  refused(xla_run_new(executable, other, NULL, false), "another shape",
          "is s32[2,3], which does not fit parameter f32[3]");
  xla_buffer_free(other[0]);
  xla_executable_free(executable);
  xla_module_free(module);
}

static void test_options(void) {
  Module *module = parse(doubled);
  const int in_front = 0, both[] = {0, 0}, second = 1;
  refused(compile(module, -2, 0, NULL), "replicas", "must be at least 1, not -2");
  refused(compile(module, 1, 0, "fuse-loops,nonsense"), "disable", "\"nonsense\" is no rewrite");
  refused(xla_module_batch(module, &in_front, 1, &in_front, 1, -1), "size", "a batch has from 0");
  refused(xla_module_batch(module, both, 2, &in_front, 1, 4), "in",
          "2 dimensions are given for parameters with 1 arrays");
  refused(xla_module_differentiate(module, 0, &second, 1, 0, false, 0, 0, NULL, NULL, 0), "wrt",
          "there is no parameter 1; the program has 1");
  xla_module_free(module);
}

/* ---- Runs that are over ---- */

static void test_late_deadline(void) {
  Module *module = parse(doubled);
  Executable *executable = compile(module, 1, 0, NULL);
  Buffer *argument = xla_buffer_new("f32[3]");
  for (int i = 0; i < 3; i++) ((float *)xla_buffer_data(argument))[i] = (float)i;
  Run *run = xla_run_new(executable, &argument, NULL, false);
  xla_run_time_out(run, 5);
  check(xla_run_state(run) == RUN_NEW, "a run that times out before it starts", "it changes");
  xla_run_start(run, 1e6);
  while (xla_run_state(run) == RUN_RUNNING) xla_step(1e6);
  char *before = xla_run_waiting(run);
  xla_run_time_out(run, 5);
  char *after = xla_run_waiting(run);
  check(xla_run_state(run) == RUN_DONE, "a run that times out when it is over", "it fails");
  check(!strcmp(before, after), "what a run waits for that is over", after);
  xla_free(before);
  xla_free(after);
  Buffer *result = xla_run_result(run, 0, 0);
  check(result && ((float *)xla_buffer_data(result))[2] == 4, "a run that is over", "its result");
  xla_buffer_free(result);
  xla_run_cancel(run);
  check(xla_run_state(run) == RUN_DONE, "a run that is cancelled when it is over", "it fails");
  xla_run_free(run);
  xla_buffer_free(argument);
  xla_executable_free(executable);
  xla_module_free(module);
}

/* ---- Plans of reductions that keep values ---- */

static const char kept[] =
    "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT r = f32[] add(a, b)\n}\n"
    "fused {\n  x = f32[2,3] parameter(0)\n  z = f32[] constant(0)\n  c = f32[2,3] cosine(x)\n"
    "  s = f32[2] reduce(c, z), dimensions={1}, to_apply=add\n  n = f32[2,3] negate(c)\n"
    "  ROOT t = (f32[2], f32[2,3], f32[2,3]) tuple(s, c, n)\n}\n"
    "ENTRY e {\n  x = f32[2,3] parameter(0)\n"
    "  ROOT f = (f32[2], f32[2,3], f32[2,3]) fusion(x), kind=kLoop, calls=fused\n}\n";

/* Each list of the plan ends before poisoned memory. */
static void test_kept_values(void) {
  Module *module = parse(kept);
  Arena *arena = arena_new();
  LoopPlan plan;
  bool made = loop_plan_fusion(&plan, arena, module->entry->root->a->calls);
  check(made, "kept values", "no plan");
  if (made) {
    check(plan.output_count == 1 && plan.kept_count == 2, "kept values", "their number");
    const LoopNode *cosine = plan.kept[0], *negated = plan.kept[1];
    check(plan.outputs[0] == cosine && negated->operands[0] == cosine, "kept values", "the nodes");
    check(cosine->uses == 3 && negated->uses == 1, "kept values", "how often they are used");
    for (int i = 0; i < plan.kept_count; i++) {
      const LoopNode *place = plan.kept_addresses[i];
      check(place->kind == NODE_RESULT && place->result == 1 + i, "kept values", "the places");
    }
  }
  arena_free(arena);
  module_free(module);
}

int main(void) {
  xla_start(0);
  test_arguments();
  test_options();
  test_late_deadline();
  test_kept_values();
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
