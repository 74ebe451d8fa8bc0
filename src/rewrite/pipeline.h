/*
** The pipeline: all rewrites of a module, in order, from one table (pipeline.def).
*/
#ifndef XLA_REWRITE_PIPELINE_H
#define XLA_REWRITE_PIPELINE_H

#include "base/strbuf.h"
#include "plan/fusible.h"
#include "rewrite/passes.h"

typedef enum PassStage {
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
} Pass;

extern const Pass pipeline[];
extern const int pipeline_count;

/* Rewrites that are switched off: a bit for each row of the table. */
typedef uint64_t PassSet;

/* Reads a list of names with commas between them, of rewrites to switch off; NULL is an empty one. A name
** stands for all rows that have it. False with INVALID_ARGUMENT if a name is unknown or needed. */
bool pipeline_disable(const char *names, PassSet *out, Error *error);

/* Appends the names that can be switched off, in order, with commas between them. */
void pipeline_list_optional(StrBuf *out);

typedef struct PipelineOptions {
  const Target *target; /* what code can be generated; NULL: none will be */
  PassSet disabled;
  PassWatch *watch; /* is told of each rewrite that changed something; may be NULL */
} PipelineOptions;

/* First the dynamic dimensions are resolved (rewrite/dynamic/dimensions.h), then the table's rows run. False with the
** error of the former. */
bool pipeline_run(Module *module, const PipelineOptions *options, Error *error);

/* The rows of one stage alone; returns whether they changed anything. */
bool pipeline_run_stage(Module *module, PassStage stage, const PipelineOptions *options);

#endif
