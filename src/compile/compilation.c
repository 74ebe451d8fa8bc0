/* Compiles a module to a program: runs the passes, then makes thunks, plans memory and generates code, step by step. */
#include "compile/compilation.h"
#include "base/host/platform.h"
#include "base/min_max.h"
#include "base/step.h"
#include "codegen/codegen.h"
#include "compile/collective_check.h"
#include "compile/stages.h"
#include "rewrite/dynamic/dimensions.h"
#include "rewrite/pipeline.h"

/* The shapes that the caller sees, with dynamic dimensions. */
typedef struct CallerShapes {
  int parameter_count;
  const Shape **parameters, *result;
} CallerShapes;

static CallerShapes caller_shapes(const Module *module, Arena *arena) {
  const Computation *entry = module->entry;
  CallerShapes shown = {entry->parameter_count,
                        ARENA_ARRAY(arena, const Shape *, entry->parameter_count),
                        shape_copy(arena, entry->root->shape)};
  for (int p = 0; p < entry->parameter_count; p++) {
    shown.parameters[p] = shape_copy(arena, entry->parameters[p]->shape);
  }
  return shown;
}

/* Sets the shapes of the program's leaves to those that the caller sees. */
static void restore_caller_shapes(Program *program, const CallerShapes *shown) {
  const Shape **next = program->parameter_shapes;
  for (int p = 0; p < shown->parameter_count; p++) {
    program->hidden_parameters += shape_dynamic_dimensions(shown->parameters[p]);
    next = shape_put_leaves(shape_copy(program->arena, shown->parameters[p]), next);
  }
  program->hidden_results = shape_dynamic_dimensions(shown->result);
  shape_put_leaves(shape_copy(program->arena, shown->result), program->result_shapes);
}

static int sequence_depth(const ThunkSequence *sequence) {
  int depth = 0;
  for (int i = 0; i < sequence->count; i++) {
    const ThunkSequence *inner;
    for (int k = 0; (inner = thunk_sequence(&sequence->thunks[i], k)); k++) {
      depth = (int)max_i64(depth, sequence_depth(inner));
    }
  }
  return depth + 1;
}

/* Compiles fusions to a generated module. Native builds generate code that they cannot run, so that sanitizers check the
** generator. */
static bool compile_fusions(Program *program, Error *error) {
  if (!program->fusion_count && !program->region_count) return true;
  ByteBuf bytes = {0};
  CodegenInput input = {program->fusions, program->fusion_count, program->regions,
                        program->region_count};
  bool ok = codegen_emit(&input, platform_shared_memory(), &bytes, error);
  if (ok && platform_has_codegen()) {
    program->generated_module = platform_module_register(bytes.bytes, bytes.size, error);
    ok = program->generated_module != 0;
  }
  program->code_bytes = (int64_t)bytes.size;
  bytebuf_free(&bytes);
  return ok;
}

/* Sets the module's replica and partition counts to the mesh that it is compiled for. */
static void set_mesh(Module *module, Mesh mesh) {
  if (mesh.replicas > 1 || module->replica_count) module->replica_count = mesh.replicas;
  if (mesh.partitions > 1 || module->num_partitions) module->num_partitions = mesh.partitions;
}

/* ---- Steps ---- */

typedef enum Stage {
  COMPILE_REWRITES,
  COMPILE_THUNKS,
  COMPILE_IN_PLACE,
  COMPILE_ROWS,
  COMPILE_BUFFERS,
  COMPILE_ROW_GROUPS,
  COMPILE_REGIONS,
  COMPILE_CODE,
  COMPILE_PREPARATIONS,
  COMPILE_ENDED,
  COMPILE_FAILED,
} Stage;

struct Compilation {
  Arena *arena; /* of this struct and of `shown` */
  Stage stage;
  Module *module;   /* the copy; it belongs to the program, once there is one */
  Program *program; /* NULL: not there yet */
  CallerShapes shown;
  Mesh mesh;
  CompileOptions options;
  PipelineRun pipeline;
  ThunkCompiler *thunks; /* NULL: not there yet */
  Buffers buffers;
  Error error;
};

/* Names of stages in errors. A part that can be switched off is reported by its switch's name: "in-place", "row-groups",
** "regions". These names are for what is left of each stage: "donations" is the search for arguments whose memory results
** may take, "frames" that for the depth of nested sequences. */
static const char *const stage_names[] = {
    [COMPILE_REWRITES] = "rewrites",
    [COMPILE_THUNKS] = "thunks",
    [COMPILE_IN_PLACE] = "donations",
    [COMPILE_ROWS] = "rows",
    [COMPILE_BUFFERS] = "memory",
    [COMPILE_ROW_GROUPS] = "groups of rows",
    [COMPILE_REGIONS] = "frames",
    [COMPILE_CODE] = "code",
    [COMPILE_PREPARATIONS] = "tables of kernels",
};

static Stage rewrite(Compilation *c) {
  const CompileOptions *options = &c->options;
  PipelineOptions pipeline = {.target = options->evaluate ? NULL : &codegen_target,
                              .needed_only = options->evaluate,
                              .disabled = options->disabled,
                              .watch = options->watch};
  switch (pipeline_step(&c->pipeline, &pipeline, &c->error)) {
  case PIPELINE_FAILED: return COMPILE_FAILED;
  case PIPELINE_GOES_ON: return COMPILE_REWRITES;
  default:
    return collectives_check(c->module, c->mesh, &c->error) ? COMPILE_THUNKS : COMPILE_FAILED;
  }
}

/* The rewrites leave more behind than the program that they make. Measured: without it, a decode step of 12 layers keeps
** 2.8 MB instead of 6.3 (2026-11). */
static Stage begin_thunks(Compilation *c) {
  c->module = module_compact(c->module);
  Arena *arena = c->module->arena; /* one arena for all, as they have one lifetime */
  Program *program = ARENA_NEW(arena, Program);
  program->arena = arena;
  program->module = c->module;
  program->mesh = c->mesh;
  program->last_preparation = &program->preparations;
  c->program = program;
  c->thunks = thunks_begin(program, &c->options);
  return COMPILE_THUNKS;
}

static Stage make_thunks(Compilation *c) {
  if (!c->thunks) return begin_thunks(c);
  if (thunks_step(c->thunks)) return COMPILE_THUNKS;
  return thunks_end(c->thunks, &c->buffers, &c->error) ? COMPILE_IN_PLACE : COMPILE_FAILED;
}

static Stage join_stage(Compilation *c) {
  if (!c->options.evaluate && !c->options.not_in_place) {
    step_begin("", "in-place");
    join_buffers(c->program);
    step_begin("", stage_names[COMPILE_IN_PLACE]);
  }
  find_donors(c->program, c->buffers.items, c->buffers.count);
  return COMPILE_ROWS;
}

static void row_groups(const Compilation *c, bool placed) {
  if (c->options.evaluate || c->options.no_row_groups) return;
  step_begin("", "row-groups");
  group_rows(c->program, placed, c->options.small_chunks);
}

static Stage find_rows(Compilation *c) {
  row_groups(c, false);
  return COMPILE_BUFFERS;
}

static Stage plan_buffers(Compilation *c) {
  buffer_plan(c->program, c->buffers.items, c->buffers.count);
#ifdef XLA_CHECKS
  plan_check(c->program, c->buffers.items, c->buffers.count, c->buffers.results);
#endif
  remove_copies(&c->program->entry);
  return COMPILE_ROW_GROUPS;
}

static Stage make_row_groups(Compilation *c) {
  row_groups(c, true);
  return COMPILE_REGIONS;
}

static Stage make_regions(Compilation *c) {
  bool wants_regions = !c->options.no_regions;
  if (wants_regions) step_begin("", "regions");
  if (!c->options.evaluate) compile_regions(c->program, wants_regions);
  c->program->depth = sequence_depth(&c->program->entry);
  restore_caller_shapes(c->program, &c->shown);
  return COMPILE_CODE;
}

static Stage prepare(Compilation *c) {
  Preparation *first = c->program->preparations;
  if (first && first->step(first)) c->program->preparations = first->next;
  return c->program->preparations ? COMPILE_PREPARATIONS : COMPILE_ENDED;
}

static Stage generate(Compilation *c) {
  return compile_fusions(c->program, &c->error) ? COMPILE_PREPARATIONS : COMPILE_FAILED;
}

/* Called by address, so that they do not become one function: engines optimise a large function after few calls, which takes
** long, and meanwhile the functions of the program wait. */
static Stage (*const stages[])(Compilation *c) = {
    [COMPILE_REWRITES] = rewrite,     [COMPILE_THUNKS] = make_thunks,
    [COMPILE_IN_PLACE] = join_stage,  [COMPILE_ROWS] = find_rows,
    [COMPILE_BUFFERS] = plan_buffers, [COMPILE_ROW_GROUPS] = make_row_groups,
    [COMPILE_REGIONS] = make_regions, [COMPILE_CODE] = generate,
    [COMPILE_PREPARATIONS] = prepare,
};

Compilation *compilation_new(const Module *module, Mesh mesh, const CompileOptions *options) {
  Arena *arena = arena_new();
  Module *copy = module_clone(module);
  Compilation *c = ARENA_NEW(arena, Compilation);
  *c = (Compilation){.arena = arena,
                     .module = copy,
                     .shown = caller_shapes(module, arena),
                     .mesh = mesh,
                     .options = *options,
                     .pipeline = {.module = copy}};
  set_mesh(copy, mesh);
  return c;
}

bool compilation_step(Compilation *c) {
  if (c->stage < COMPILE_ENDED) {
    step_begin("", stage_names[c->stage]);
    c->stage = stages[c->stage](c);
  }
  return c->stage < COMPILE_ENDED;
}

Program *compilation_end(Compilation *c, Error *error) {
  Program *program = c->program;
  if (c->stage != COMPILE_ENDED) {
    if (c->stage == COMPILE_FAILED) {
      *error = c->error;
    } else {
      error_set_op(error, STATUS_CANCELLED, "compile", "ended before its last step");
    }
    if (program) {
      program_free(program);
    } else {
      module_free(c->module);
    }
    program = NULL;
  }
  arena_free(c->arena);
  return program;
}

Program *program_new(const Module *module, Mesh mesh, const CompileOptions *options, Error *error) {
  Compilation *c = compilation_new(module, mesh, options);
  while (compilation_step(c)) {}
  return compilation_end(c, error);
}
