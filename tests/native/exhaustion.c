/*
** Tests exhausted memory at any allocation. Programs are read, printed, compiled and run again and again. In
** round n allocation number n fails, either alone or with all later ones. Each time the call must fail with
** RESOURCE_EXHAUSTED or succeed, all memory must be freed, and the same program must run correctly afterwards.
**
**   exhaustion [THREADS]
**
** Linked with --wrap for malloc and its kin.
*/
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/platform.h"
#include "base/scope.h"
#include "hlo/text/text.h"
#include "runtime/run.h"
#include "runtime/scheduler.h"

/* ---- Allocations, counted and refused ---- */

static atomic_long made, live, first_refused, last_refused;

static bool refused(void) {
  long number = atomic_fetch_add(&made, 1);
  return number >= atomic_load(&first_refused) && number <= atomic_load(&last_refused);
}

static void *counted(void *memory) {
  if (memory) atomic_fetch_add(&live, 1);
  return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size) { return refused() ? NULL : counted(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) {
  return refused() ? NULL : counted(__real_calloc(count, size));
}
void *__wrap_realloc(void *memory, size_t size) {
  if (refused()) return NULL;
  return memory ? __real_realloc(memory, size) : counted(__real_realloc(memory, size));
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return refused() ? NULL : counted(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void *memory) {
  if (memory) atomic_fetch_sub(&live, 1);
  __real_free(memory);
}

static void refuse(long first, long last) {
  atomic_store(&made, 0);
  atomic_store(&first_refused, first);
  atomic_store(&last_refused, last);
}

/* ---- Programs ---- */

#define ADD \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n"

static const char *const programs[] = {
    /* Element-wise, dot, sort and reduce with computations of their own. Threads share the loops over 40,000 elements
    ** and the all-reduce of 4,000, which is 36 chunks with allocations of their own. */
    "HloModule mixed\n" ADD "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT r = pred[] compare(a, b), direction=LT\n}\n"
    "odd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] multiply(a, b)\n"
    "  d = f32[] add(c, a)\n  ROOT r = f32[] maximum(d, b)\n}\n"
    "ENTRY main {\n  x = f32[2,2] parameter(0)\n  zero = f32[] constant(0)\n"
    "  e = f32[2,2] exponential(x)\n"
    "  d = f32[2,2] dot(e, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  s = f32[2,2] sort(d), dimensions={1}, to_apply=less\n"
    "  r = f32[2] reduce(s, zero), dimensions={0}, to_apply=add\n"
    "  long = f32[40000] broadcast(zero), dimensions={}\n"
    "  moved = f32[40000] collective-permute(long), source_target_pairs={{0,1},{1,2},{2,0}}\n"
    "  some = f32[4000] slice(moved), slice={[8000:12000]}\n"
    "  all = f32[4000] all-reduce(some), replica_groups={}, to_apply=odd\n"
    "  few = f32[4] slice(all), slice={[100:104]}\n"
    "  ROOT t = (f32[2], f32[2,2], f32[4]) tuple(r, s, few)\n}\n",
    /* Loops with collectives inside, in groups, and by channel. */
    "HloModule loop\n" ADD
    "body {\n  s = (s32[], f32[2,2]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  v = f32[2,2] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
    "  n = s32[] add(i, one)\n"
    "  g = f32[2,2] all-reduce(v), replica_groups={{0,1},{2}}, to_apply=add\n"
    "  c = f32[2,2] all-reduce(g), replica_groups={}, channel_id=3, to_apply=add\n"
    "  ROOT t = (s32[], f32[2,2]) tuple(n, c)\n}\n"
    "more {\n  s = (s32[], f32[2,2]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  k = s32[] constant(3)\n  ROOT p = pred[] compare(i, k), direction=LT\n}\n"
    "ENTRY main {\n  x = f32[2,2] parameter(0)\n  z = s32[] constant(0)\n"
    "  t = (s32[], f32[2,2]) tuple(z, x)\n"
    "  ROOT w = (s32[], f32[2,2]) while(t), condition=more, body=body\n}\n",
    /* Messages around a ring. */
    "HloModule ring\n"
    "ENTRY main {\n  x = f32[2,2] parameter(0)\n  t = token[] after-all()\n"
    "  r = (f32[2,2], u32[], token[]) recv(t), channel_id=1, "
    "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}\n"
    "  s = (f32[2,2], u32[], token[]) send(x, t), channel_id=1, "
    "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}\n"
    "  sd = token[] send-done(s), channel_id=1\n"
    "  d = (f32[2,2], token[]) recv-done(r), channel_id=1\n"
    "  ROOT v = f32[2,2] get-tuple-element(d), index=0\n}\n",
    /* A deadlock, whose report must not need memory either. */
    "HloModule skip\n" ADD "meet {\n  v = f32[2,2] parameter(0)\n"
    "  ROOT r = f32[2,2] all-reduce(v), replica_groups={}, to_apply=add\n}\n"
    "skip {\n  ROOT v = f32[2,2] parameter(0)\n}\n"
    "ENTRY main {\n  x = f32[2,2] parameter(0)\n  id = u32[] replica-id()\n"
    "  two = u32[] constant(2)\n  is = pred[] compare(id, two), direction=EQ\n"
    "  ROOT c = f32[2,2] conditional(is, x, x), true_computation=skip, false_computation=meet\n}\n",
};
enum { PROGRAMS = sizeof programs / sizeof *programs, REPLICAS = 3, DEADLOCK = 3, LEAVES = 3 };

/* ---- One round: each step is a call of the API, and traps end on the host's side of it ---- */

typedef struct Round {
  const char *text;
  Module *module;
  StrBuf printed;
  Executable *executable;
  Buffer *argument;
  Run *run;
  Buffer *results[REPLICAS][LEAVES];
  Error error;
  bool ok;
} Round;

static void parse(void *argument) {
  Round *r = argument;
  r->module = hlo_parse(r->text, strlen(r->text), &r->error);
  r->ok = r->module != NULL;
}

static void print(void *argument) {
  Round *r = argument;
  StrBuf printed = {0};
  hlo_print(r->module, &printed);
  r->printed = printed;
}

static void compile(void *argument) {
  Round *r = argument;
  r->executable = executable_new(r->module, (Mesh){REPLICAS, 1}, NULL, &r->error);
  r->ok = r->executable != NULL;
}

static void upload(void *argument) {
  Round *r = argument;
  static const int64_t dims[] = {2, 2};
  Shape shape = {.type = F32, .rank = 2, .dims = dims};
  r->argument = buffer_new(&shape, &r->error);
  r->ok = r->argument != NULL;
  for (int i = 0; r->ok && i < 4; i++) ((float *)r->argument->data)[i] = 0.25f * (float)i;
}

static void start(void *argument) {
  Round *r = argument;
  Buffer *arguments[REPLICAS] = {r->argument, r->argument, r->argument};
  r->run = run_new_replicated(r->executable, arguments, NULL, true, &r->error);
  r->ok = r->run != NULL;
  if (r->ok) run_start(r->run, INFINITY);
}

static void finish(void *argument) {
  Round *r = argument;
  scheduler_wait(&r->run->group);
  r->ok = run_state(r->run) == RUN_DONE;
  if (!r->ok) r->error = r->run->error;
}

static void take(void *argument) {
  Round *r = argument;
  int leaves = r->executable->program->result_leaves, count;
  for (int replica = 0; r->ok && replica < REPLICAS; replica++) {
    for (int i = 0; r->ok && i < leaves; i++) {
      r->results[replica][i] = run_result(r->run, replica, i, &r->error);
      r->ok = r->results[replica][i] != NULL;
    }
  }
  run_profile(r->run, &count);
}

/* Calls the API as the bindings' Core.call() does. */
static void call(Round *r, void (*step)(void *)) {
  int scope = scope_begin();
  if (!r->ok) {
    scope_commit(scope);
  } else if (platform_try(step, r, &r->error)) {
    scope_commit(scope);
  } else {
    r->ok = false;
    scope_abandon(scope);
  }
}

static void give_back(Round *r) {
  for (int replica = 0; replica < REPLICAS; replica++) {
    for (int i = 0; i < LEAVES; i++) buffer_release(r->results[replica][i]);
  }
  run_free(r->run);
  buffer_release(r->argument);
  executable_release(r->executable);
  strbuf_free(&r->printed);
  module_free(r->module);
}

/* Appends the outcome to `out`: the error, or all results. */
static void play(int program, Error *error, StrBuf *out) {
  static void (*const steps[])(void *) = {parse, print, compile, upload, start, finish, take};
  Round round = {.text = programs[program], .ok = true};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) call(&round, steps[i]);
  *error = round.error;
  if (round.ok) error->code = STATUS_OK;
  if (out && !round.ok) strbuf_append(out, round.error.message);
  for (int replica = 0; out && round.ok && replica < REPLICAS; replica++) {
    for (int i = 0; i < round.executable->program->result_leaves; i++) {
      const Buffer *buffer = round.results[replica][i];
      for (int64_t b = 0; b < buffer->bytes; b++) strbuf_printf(out, "%02x", buffer->data[b]);
    }
  }
  give_back(&round);
}

/* ---- All rounds ---- */

static int failures;

static void fail(int program, long number, const char *what, const char *detail) {
  if (failures++ < 10) {
    printf("program %d, allocation %ld: %s: %s\n", program, number, what, detail);
  }
}

static void check_unharmed(int program, long number, const StrBuf *expected) {
  Error error = {0};
  StrBuf out = {0};
  play(program, &error, &out);
  if (strcmp(out.text, expected->text)) fail(program, number, "afterwards it gave", out.text);
  strbuf_free(&out);
}

static void exhaust(int program, bool all, const StrBuf *expected) {
  long before = 0;
  for (long number = 0;; number++) {
    Error error = {0};
    before = atomic_load(&live);
    refuse(number, all ? 1L << 40 : number);
    play(program, &error, NULL);
    bool reached = atomic_load(&made) > number;
    refuse(1L << 40, 0);
    bool deadlock = program == DEADLOCK && error.code == STATUS_FAILED_PRECONDITION;
    if (error.code != STATUS_OK && error.code != STATUS_RESOURCE_EXHAUSTED && !deadlock) {
      fail(program, number, "failed with", error.message);
    }
    if (atomic_load(&live) != before) fail(program, number, "kept memory", "");
    if (number % 64 == 0) check_unharmed(program, number, expected);
    if (!reached) break;
  }
  check_unharmed(program, -1, expected);
}

/* Asks for one thread more than there is memory for, which is two allocations each: the others start. */
static int start_threads(int wanted) {
  long before = atomic_load(&live), refused_one = 2 * wanted + 2;
  refuse(refused_one, refused_one);
  int expected = scheduler_expect(wanted + 1);
  refuse(1L << 40, 0);
  if (expected != wanted) fail(-1, refused_one, "threads", "the others are not kept");
  if (atomic_load(&live) != before + 1 + 2 * wanted) fail(-1, refused_one, "kept memory", "");
  return scheduler_start(wanted);
}

int main(int count, char **arguments) {
  int threads = start_threads(count > 1 ? atoi(arguments[1]) : 2);
  for (int program = 0; program < PROGRAMS; program++) {
    Error error = {0};
    StrBuf expected = {0};
    play(program, &error, &expected);
    bool right =
        program == DEADLOCK ? strstr(expected.text, "deadlock") != NULL : error.code == STATUS_OK;
    if (!right) fail(program, -1, "fails with memory", expected.text);
    exhaust(program, false, &expected);
    exhaust(program, true, &expected);
    strbuf_free(&expected);
  }
  printf("%d programs on %d threads, %d failures\n", PROGRAMS, threads, failures);
  return failures ? 1 : 0;
}
