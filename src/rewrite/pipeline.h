/*
** Runs the rewrites: all changes between the module that was parsed or built and the module that is compiled.
**
** In: a verified module, as HLO text or the builder gives it. Out: an equivalent module that later stages
** can compile. Operations that only rewrites know are expanded, dynamic dimensions are resolved, and
** element-wise operations are in fusions, and each fusion becomes one loop.
**
** Invariant: a pass turns a valid module into a valid one that computes the same, except for the bits that
** docs/passes.md lists. So passes can be switched off by name, in any subset of the optional ones. No pass fails.
** Builds for tests check after each pass that side effects are unchanged (effects.h), except after rows of NEEDED_EFFECTS.
**
** The trick: all passes are rows of one table, base/passes.def, in order, each with the reason for its place.
** Passes that simplify repeat until nothing changes. A pass walks a computation from operands to users and
** replaces instructions on the way, in linear time (rewrite.h). The dead ones are removed later.
**
** Read base/passes.def next, then base/rewrite.h, then a short pass such as expand/count_predicates.c. The folders:
** dynamic/ resolves dynamic dimensions, expand/ replaces operations by simpler ones, windows/ does so for
** windows, simplify/ removes work, loops/ optimises while loops, fuse/ makes fusions.
*/
#ifndef XLA_REWRITE_PIPELINE_H
#define XLA_REWRITE_PIPELINE_H

#include "base/strbuf.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"

typedef enum PassStage {
  STAGE_DERIVE,
  STAGE_BATCH,
  STAGE_DYNAMIC,
  STAGE_PREPARE,
  STAGE_EXPAND,
  STAGE_SIMPLIFY,
  STAGE_UNROLL,
  STAGE_LOOPS,
  STAGE_FUSE,
} PassStage;

typedef struct Pass {
  PassStage stage;
  const char *name;
  bool (*run)(Module *module);                           /* returns whether it changed anything; */
  bool (*run_for)(Module *module, const Target *target); /* one of the two */
  const Opcode *about;                                   /* NULL: any module */
  bool is_needed, is_for_code;
  bool
      replaces_effects; /* turns calls into operations with other side effects, so effects.h does not compare */
} Pass;

/* Whether a module has any of these operations; OPCODE_COUNT ends the list. No rewrite about operations that a
** module lacks is entered: the engine compiles a function at its first call, and most programs need few. */
bool module_has(const Module *module, const Opcode *about);
#define ABOUT(...) ((const Opcode[]){__VA_ARGS__, OPCODE_COUNT})

/* A set of rewrites that are switched off: one bit for each row of the table, from STAGE_PREPARE on. */
typedef uint64_t PassSet;

/* Returns the rows with a name of `length` characters; 0: there are none, or a row of them is needed. */
PassSet pipeline_optional_rows(const char *name, size_t length);

/* Appends a comma-separated list of the names that can be switched off, in order. */
void pipeline_list_optional(StrBuf *out);

/* A listener that is called with the module after each pass that changed something. */
typedef struct PassWatch PassWatch;
struct PassWatch {
  void (*changed)(PassWatch *watch, const char *pass, const Module *module);
};

typedef struct PipelineOptions {
  const Target *target; /* what code can be generated; NULL: none will be */
  bool needed_only;     /* no optional rewrite runs */
  PassSet disabled;
  PassWatch *watch; /* is told of each rewrite that changed something; may be NULL */
} PipelineOptions;

/* The rewrites of a module, one after the other: first the dynamic dimensions are resolved
** (rewrite/dynamic/dimensions.h), then the table's rows run. At first all fields except the module are zero. */
typedef struct PipelineRun {
  Module *module;
  bool resolved;         /* dynamic dimensions */
  bool checks;           /* rewrites, in builds that test: the module was valid */
  int phase, row, round; /* see pipeline.c */
  bool changed;          /* by this phase's rows */
  bool last_changed;     /* by those of the phase before */
} PipelineRun;

typedef enum PipelineState { PIPELINE_FAILED, PIPELINE_GOES_ON, PIPELINE_ENDED } PipelineState;

/* Resolves dynamic dimensions, if there are any: the rows of STAGE_DYNAMIC, then rewrite/dynamic. Returns false with
** UNIMPLEMENTED if an operation has no rule for an operand of dynamic size. */
bool pipeline_resolve_dynamic(Module *module, const PipelineOptions *options, Error *error);

/* Runs the next rewrite. Only the first step can fail, with an error. */
PipelineState pipeline_step(PipelineRun *run, const PipelineOptions *options, Error *error);

/* Runs all of them. */
bool pipeline_run(Module *module, const PipelineOptions *options, Error *error);

/* The rows of one stage alone; returns whether they changed anything. */
bool pipeline_run_stage(Module *module, PassStage stage, const PipelineOptions *options);

#endif
