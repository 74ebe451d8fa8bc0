/*
** Tests worker threads that die: in an instruction, in a chunk of another worker's loop, in a loop that others
** help with, with a replica just parked, and with the scheduler's lock. Their tasks fail, and a parked replica
** goes on elsewhere. With the lock held the scheduler is lost; calls then report that instead of waiting.
** A thread that traps with the lock lives on, and the run fails.
**
** Linked with --wrap for eval_instruction and rendezvous_arrive, which this program intercepts.
*/
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/host/platform.h"
#include "hlo/text/text.h"
#include "reference/eval.h"
#include "runtime/parallel.h"
#include "runtime/run.h"

/* ---- How to die ---- */

typedef enum Death {
  NO_DEATH,
  WHEN_PARKED,
  IN_THUNK,
  IN_CHUNK_AS_OWNER,
  IN_CHUNK_AS_HELPER,
  TRAP_WITH_LOCK, /* no death */
  WITH_LOCK,
} Death;

static _Atomic Death death; /* the next one; it occurs once */
static atomic_int dead = -1, entered;

/* Stops the thread like a terminated worker: it does nothing any more, and its stack stays. */
static void die_if(Death how) {
  if (!atomic_compare_exchange_strong(&death, &how, NO_DEATH)) return;
  if (how == WITH_LOCK) scheduler_lock();
  dead = scheduler_current_worker();
  for (;;) pause();
}

/* Two chunks, so that the owner and a helper are in one each. */
static bool chunk(void *argument, int number) {
  bool owner = *(int *)argument == scheduler_current_worker();
  entered++;
  while (entered < 2) usleep(100);
  die_if(owner ? IN_CHUNK_AS_OWNER : IN_CHUNK_AS_HELPER);
  usleep(20000); /* the one that is left is still in it when the other's death is known */
  return true;
}

bool __real_eval_instruction(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context);

bool __wrap_eval_instruction(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context) {
  int worker = scheduler_current_worker();
  if (instruction->opcode != HLO_SIN || context->replica_id != 0) {
    return __real_eval_instruction(instruction, operands, result, context);
  }
  Death trap = TRAP_WITH_LOCK;
  if (atomic_compare_exchange_strong(&death, &trap, NO_DEATH)) {
    scheduler_lock();
    platform_trap(STATUS_INTERNAL, "trapped, as if it died");
  }
  die_if(IN_THUNK);
  die_if(WITH_LOCK);
  bool in_chunk = death == IN_CHUNK_AS_OWNER || death == IN_CHUNK_AS_HELPER;
  entered = 0;
  const _Atomic bool never = false;
  ChunkLoop loop = {.chunks = 2, .body = chunk, .argument = &worker, .stop = &never};
  int next = 0;
  if (in_chunk && !parallel_for(&loop, &next, context->error)) return false;
  return __real_eval_instruction(instruction, operands, result, context);
}

Outcome __real_rendezvous_arrive(Device *replica, Frame *frame, const Thunk *thunk, Error *error);

Outcome __wrap_rendezvous_arrive(Device *replica, Frame *frame, const Thunk *thunk, Error *error) {
  Outcome outcome = __real_rendezvous_arrive(replica, frame, thunk, error);
  if (outcome == OUTCOME_PARKED) die_if(WHEN_PARKED);
  return outcome;
}

/* ---- Programs and runs ---- */

static const char text[] =
    "HloModule loop\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT r = f32[] add(a, b)\n}\n"
    "body {\n  s = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  v = f32[8] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
    "  n = s32[] add(i, one)\n  f = f32[8] sine(v)\n"
    "  g = f32[8] all-reduce(f), replica_groups={}, to_apply=add\n"
    "  ROOT t = (s32[], f32[8]) tuple(n, g)\n}\n"
    "more {\n  s = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
    "  k = s32[] constant(20)\n  ROOT p = pred[] compare(i, k), direction=LT\n}\n"
    "ENTRY main {\n  z = s32[] constant(0)\n  x = f32[8] iota(), iota_dimension=0\n"
    "  t = (s32[], f32[8]) tuple(z, x)\n"
    "  ROOT w = (s32[], f32[8]) while(t), condition=more, body=body\n}\n";

static int failures;

static void check(bool condition, const char *what, const char *detail) {
  if (condition) return;
  failures++;
  printf("%s: %s\n", what, detail);
}

/* Waits for the end as the bindings do, which learn of deaths between two polls. */
static RunState wait_for(Run *run, WorkerLoss *loss) {
  for (int i = 0; i < 20000; i++) {
    int lost = atomic_exchange(&dead, -1);
    if (lost >= 0) {
      usleep(1000); /* it is really gone */
      *loss = scheduler_worker_lost(lost);
      if (*loss == WORKER_BROKE_SCHEDULER) return RUN_RUNNING;
    }
    RunState state = run_state(run);
    if (state == RUN_DONE || state == RUN_FAILED) return state;
    usleep(500);
  }
  return RUN_RUNNING;
}

/* Returns whether the scheduler still works. */
static bool play(Executable *executable, Death how, const char *name) {
  Error error = {0};
  WorkerLoss loss = WORKER_REPLACED;
  Run *run = run_new_replicated(executable, NULL, NULL, false, &error);
  check(run != NULL, name, error.message);
  death = how;
  run_start(run, INFINITY);
  RunState state = wait_for(run, &loss);
  if (how == WITH_LOCK) {
    check(loss == WORKER_BROKE_SCHEDULER, name, "the scheduler is not lost");
    return false;
  }
  check(loss == WORKER_REPLACED, name, "the worker was not replaced");
  bool fails = how >= IN_THUNK;
  check(state == (fails ? RUN_FAILED : RUN_DONE), name, "the run did not end so");
  if (fails) check(strstr(run->error.message, "died") != NULL, name, run->error.message);
  run_free(run);
  return true;
}

static void lock(void *unused) {
  (void)unused;
  scheduler_lock();
}

int main(void) {
  static const char *const names[] = {"nobody",
                                      "with a parked replica",
                                      "in an instruction",
                                      "as the owner of a loop",
                                      "as the helper in a loop",
                                      "no thread, which traps with the lock",
                                      "with the lock"};
  Error error = {0};
  scheduler_start(2);
  const CompileOptions evaluate = {.evaluate = true}; /* each instruction as one thunk */
  Module *module = hlo_parse(text, strlen(text), &error);
  check(module != NULL, "parse", error.message);
  Executable *executable = executable_new(module, (Mesh){3, 1}, &evaluate, &error);
  check(executable != NULL, "compile", error.message);
  bool sound = true;
  for (int round = 0; round < 20; round++) {
    for (Death how = NO_DEATH; how < WITH_LOCK; how++) play(executable, how, names[how]);
  }
  play(executable, NO_DEATH, names[NO_DEATH]);
  sound = play(executable, WITH_LOCK, names[WITH_LOCK]);
  /* A later call fails after some seconds, instead of waiting for ever. */
  bool trapped = !platform_try(lock, NULL, &error);
  check(!sound && trapped && error.code == STATUS_UNAVAILABLE, "the lock of a dead thread",
        error.message);
  printf("%d failures\n", failures);
  fflush(stdout);
  _exit(failures ? 1 : 0); /* memory of the lost scheduler cannot be freed */
}
