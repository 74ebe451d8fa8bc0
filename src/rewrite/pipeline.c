#include "rewrite/pipeline.h"

#include <string.h>

#include "base/step.h"
#include "rewrite/base/effects.h"
#include "rewrite/base/module_check.h"
#include "rewrite/base/passes.h"
#include "rewrite/dynamic/dimensions.h"

/* is_needed, is_for_code, replaces_effects */
#define NEEDED         true, false, false
#define NEEDED_EFFECTS true, false, true
#define OPTIONAL       false, false, false
#define CODE_NEEDED    true, true, false
#define CODE_OPTIONAL  false, true, false
#define ANY            NULL

static const Pass pipeline[] = {
#define PASS(stage, need, name, function, about, why) \
  {STAGE_##stage, name, function, NULL, about, need},
#define PASS_FOR(stage, need, name, function, about, why) \
  {STAGE_##stage, name, NULL, function, about, need},
#include "rewrite/base/passes.def"
};
static const int pipeline_count = sizeof pipeline / sizeof *pipeline;

/* The first row that can be switched off: those before it belong to derivatives, batches and dynamic dimensions. */
enum {
  FIRST_SWITCHED = 0
#undef PASS
#undef PASS_FOR
#define PASS(stage, ...)     +(STAGE_##stage < STAGE_PREPARE)
#define PASS_FOR(stage, ...) +(STAGE_##stage < STAGE_PREPARE)
#include "rewrite/base/passes.def"
};

/* ORDER PIPELINE */
_Static_assert(sizeof pipeline / sizeof *pipeline <= FIRST_SWITCHED + 64,
               "a PassSet has a bit for each");

/* Threshold MAX_ROUNDS: rounds of simplification. Every round makes the program smaller, so only long chains of dependent
** simplifications reach the max. The program is correct after any round. Test: "calls of calls, and conditionals of
** constant predicates, in each other" in core/thresholds_programs.test.mjs. */
enum { MAX_ROUNDS = 16 };

/* ---- One rewrite ---- */

static bool computation_has(const Computation *computation, const Opcode *about) {
  for (int i = 0; i < computation->count; i++) {
    Opcode opcode = computation->instructions[i]->opcode;
    for (int k = 0; about[k] != OPCODE_COUNT; k++) {
      if (about[k] == opcode) return true;
    }
  }
  return false;
}

bool module_has(const Module *module, const Opcode *about) {
  for (int c = 0; c < module->count; c++) {
    if (computation_has(module->computations[c], about)) return true;
  }
  return false;
}

/* Whether a rewrite is switched on, and the module has any of the operations that it is about. */
static bool is_wanted(const Pass *pass, const Module *module, const PipelineOptions *options) {
  if (pass->is_for_code && !options->target) return false;
  if (options->needed_only && !pass->is_needed) return false;
  int64_t row = pass - pipeline;
  if (row >= FIRST_SWITCHED && options->disabled >> (row - FIRST_SWITCHED) & 1) return false;
  return !pass->about || module_has(module, pass->about);
}

#ifdef XLA_FAULTS
/* Makes a module wrong, for tests: additions of floats become subtractions. Integers stay, because they count
** iterations. */
static void spoil(Module *module) {
  for (int c = 0; c < module->count; c++) {
    for (int i = 0; i < module->computations[c]->count; i++) {
      Instruction *instruction = module->computations[c]->instructions[i];
      bool is_wrong = instruction->opcode == HLO_ADD && type_is_floating(instruction->shape->type);
      if (is_wrong) instruction->opcode = HLO_SUBTRACT;
    }
  }
}
#endif

/* Runs a rewrite. `checks`: in builds that test, verifies the module that it leaves. */
static bool run_pass(const Pass *pass, Module *module, const PipelineOptions *options,
                     bool checks) {
  step_begin("", pass->name);
  module_keep_roots(module);
  Effects *effects = pass->replaces_effects ? NULL : effects_list(module);
  bool changed = pass->run ? pass->run(module) : pass->run_for(module, options->target);
  effects_check(effects, module, pass->name);
  effects_free(effects);
  if (changed && checks) module_check(module, pass->name);
#ifdef XLA_FAULTS
  if (changed && step_is_wrong("", pass->name)) spoil(module);
#endif
  if (changed && options->watch) options->watch->changed(options->watch, pass->name, module);
  return changed;
}

/* ---- All of them ---- */

/* Stages whose rows run together. */
static const struct Phase {
  PassStage first, last;
  bool repeats;    /* until nothing changes */
  bool if_changed; /* only if the phase before changed anything */
} phases[] = {
    {STAGE_PREPARE, STAGE_EXPAND, false, false}, {STAGE_SIMPLIFY, STAGE_UNROLL, true, false},
    {STAGE_LOOPS, STAGE_LOOPS, false, false},    {STAGE_SIMPLIFY, STAGE_SIMPLIFY, true, true},
    {STAGE_FUSE, STAGE_FUSE, false, false},
};
enum { PHASES = sizeof phases / sizeof *phases };

/* At the end of a phase's rows: they run again, or the next phase begins. */
static void next_round(PipelineRun *run) {
  bool again = phases[run->phase].repeats && run->changed && ++run->round < MAX_ROUNDS;
  run->row = 0;
  if (!again) {
    run->last_changed = run->changed;
    run->round = 0;
    run->phase++;
    if (run->phase < PHASES && phases[run->phase].if_changed && !run->last_changed) run->phase++;
  }
  run->changed = false;
}

bool pipeline_run_stage(Module *module, PassStage stage, const PipelineOptions *options) {
  bool changed = false, checks = module_is_valid(module);
  for (int i = 0; i < pipeline_count; i++) {
    const Pass *pass = &pipeline[i];
    if (pass->stage != stage || !is_wanted(pass, module, options)) continue;
    changed |= run_pass(pass, module, options, checks);
  }
  return changed;
}

bool pipeline_resolve_dynamic(Module *module, const PipelineOptions *options, Error *error) {
  step_begin("", "dynamic-dimensions");
  module_keep_roots(module);
  if (!module_has_dynamic_dimensions(module)) return true;
  pipeline_run_stage(module, STAGE_DYNAMIC, options);
  step_begin("", "dynamic-dimensions");
  return dynamic_dimensions_resolve(module, error);
}

PipelineState pipeline_step(PipelineRun *run, const PipelineOptions *options, Error *error) {
  if (!run->resolved) {
    if (!pipeline_resolve_dynamic(run->module, options, error)) return PIPELINE_FAILED;
    if (options->watch) options->watch->changed(options->watch, "dynamic-dimensions", run->module);
    run->resolved = true;
    run->checks = module_is_valid(run->module);
    return PIPELINE_GOES_ON;
  }
  while (run->phase < PHASES) {
    const struct Phase *phase = &phases[run->phase];
    while (run->row < pipeline_count) {
      const Pass *pass = &pipeline[run->row++];
      if (pass->stage < phase->first || pass->stage > phase->last) continue;
      if (!is_wanted(pass, run->module, options)) continue;
      run->changed |= run_pass(pass, run->module, options, run->checks);
      return PIPELINE_GOES_ON;
    }
    next_round(run);
  }
  if (run->checks) module_check_rewritten(run->module);
  return PIPELINE_ENDED;
}

bool pipeline_run(Module *module, const PipelineOptions *options, Error *error) {
  PipelineRun run = {.module = module};
  PipelineState state;
  do state = pipeline_step(&run, options, error);
  while (state == PIPELINE_GOES_ON);
  return state == PIPELINE_ENDED;
}

/* ---- Switching rewrites off ---- */

/* Returns the rows with a name of `length` characters. */
static PassSet rows_named(const char *name, size_t length) {
  PassSet rows = 0;
  for (int i = FIRST_SWITCHED; i < pipeline_count; i++) {
    const char *own = pipeline[i].name;
    if (strlen(own) == length && !memcmp(own, name, length))
      rows |= (PassSet)1 << (i - FIRST_SWITCHED);
  }
  return rows;
}

static bool all_optional(PassSet rows) {
  for (int i = FIRST_SWITCHED; i < pipeline_count; i++) {
    if (rows >> (i - FIRST_SWITCHED) & 1 && pipeline[i].is_needed) return false;
  }
  return true;
}

PassSet pipeline_optional_rows(const char *name, size_t length) {
  PassSet rows = rows_named(name, length);
  return all_optional(rows) ? rows : 0;
}

void pipeline_list_optional(StrBuf *out) {
  for (int i = FIRST_SWITCHED; i < pipeline_count; i++) {
    const char *name = pipeline[i].name;
    PassSet rows = rows_named(name, strlen(name)),
            before = ((PassSet)1 << (i - FIRST_SWITCHED)) - 1;
    if (rows & before || !all_optional(rows)) continue;
    strbuf_printf(out, "%s%s", out->length ? "," : "", name);
  }
}
