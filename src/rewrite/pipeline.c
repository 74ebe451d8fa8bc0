#include "rewrite/pipeline.h"

#include <string.h>

#include "rewrite/dynamic/dimensions.h"
#include "rewrite/effects.h"
#include "rewrite/passes.h"

#define NEEDED        true, false
#define OPTIONAL      false, false
#define CODE_NEEDED   true, true
#define CODE_OPTIONAL false, true
#define ANY           NULL

const Pass pipeline[] = {
#define PASS(stage, need, name, function, about, why) \
  {STAGE_##stage, name, function, NULL, about, need},
#define PASS_FOR(stage, need, name, function, about, why) \
  {STAGE_##stage, name, NULL, function, about, need},
#include "rewrite/pipeline.def"
};
const int pipeline_count = sizeof pipeline / sizeof *pipeline;

_Static_assert(sizeof pipeline / sizeof *pipeline <= 64, "a PassSet has a bit for each row");

/* Rounds of simplification. Every round makes the program smaller, so only long chains of dependent
** simplifications reach the max. The program is correct after any round. */
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

/* Whether a rewrite turns custom calls into collectives or plain operations. */
static bool replaces_effects(const Pass *pass) {
  return pass->run == pass_manual_sharding || pass->run == pass_custom_calls;
}

static bool run_pass(const Pass *pass, Module *module, const PipelineOptions *options) {
  if (pass->is_for_code && !options->target) return false;
  if (options->disabled >> (pass - pipeline) & 1) return false;
  if (pass->about && !module_has(module, pass->about)) return false;
  module_keep_roots(module);
  Effects *effects = replaces_effects(pass) ? NULL : effects_list(module);
  bool changed = pass->run ? pass->run(module) : pass->run_for(module, options->target);
  effects_check(effects, module, pass->name);
  effects_free(effects);
  if (changed && options->watch) options->watch->changed(options->watch, pass->name, module);
  return changed;
}

/* ---- All of them ---- */

/* Runs the rows of stages `first` to `last` once. */
static bool run_stages(Module *module, PassStage first, PassStage last,
                       const PipelineOptions *options) {
  bool changed = false;
  for (int i = 0; i < pipeline_count; i++) {
    const Pass *pass = &pipeline[i];
    if (pass->stage < first || pass->stage > last) continue;
    changed |= run_pass(pass, module, options);
  }
  return changed;
}

static void simplify(Module *module, PassStage last, const PipelineOptions *options) {
  for (int round = 0; round < MAX_ROUNDS; round++) {
    if (!run_stages(module, STAGE_SIMPLIFY, last, options)) break;
  }
}

bool pipeline_run_stage(Module *module, PassStage stage, const PipelineOptions *options) {
  return run_stages(module, stage, stage, options);
}

bool pipeline_run(Module *module, const PipelineOptions *options, Error *error) {
  if (!dynamic_dimensions_resolve(module, error)) return false;
  if (options->watch) options->watch->changed(options->watch, "dynamic-dimensions", module);
  run_stages(module, STAGE_PREPARE, STAGE_EXPAND, options);
  simplify(module, STAGE_UNROLL, options);
  if (run_stages(module, STAGE_LOOPS, STAGE_LOOPS, options)) {
    simplify(module, STAGE_SIMPLIFY, options);
  }
  run_stages(module, STAGE_FUSE, STAGE_FUSE, options);
  return true;
}

/* ---- Switching rewrites off ---- */

/* Returns the rows with a name of `length` characters. */
static PassSet rows_named(const char *name, size_t length) {
  PassSet rows = 0;
  for (int i = 0; i < pipeline_count; i++) {
    const char *own = pipeline[i].name;
    if (strlen(own) == length && !memcmp(own, name, length)) rows |= (PassSet)1 << i;
  }
  return rows;
}

static bool all_optional(PassSet rows) {
  for (int i = 0; i < pipeline_count; i++) {
    if (rows >> i & 1 && pipeline[i].is_needed) return false;
  }
  return true;
}

bool pipeline_disable(const char *names, PassSet *out, Error *error) {
  *out = 0;
  while (names && *names) {
    size_t length = strcspn(names, ",");
    PassSet rows = rows_named(names, length);
    if (!rows || !all_optional(rows)) {
      return error_set_op(error, STATUS_INVALID_ARGUMENT, "compile", "disable: \"%.*s\" is %s",
                          (int)length, names, rows ? "a rewrite that programs need" : "no rewrite");
    }
    *out |= rows;
    names += length + (names[length] == ',');
  }
  return true;
}

void pipeline_list_optional(StrBuf *out) {
  for (int i = 0; i < pipeline_count; i++) {
    const char *name = pipeline[i].name;
    PassSet rows = rows_named(name, strlen(name)), before = ((PassSet)1 << i) - 1;
    if (rows & before || !all_optional(rows)) continue;
    strbuf_printf(out, "%s%s", out->length ? "," : "", name);
  }
}
