/* Compiles a module to a program: runs the passes, then makes thunks, plans memory and generates code. */
#include "base/host/platform.h"
#include "codegen/codegen.h"
#include "compile/collective_check.h"
#include "compile/program.h"
#include "rewrite/dynamic/dimensions.h"
#include "rewrite/pipeline.h"

/* Sets the shapes of the leaves that the caller sees to those in `module`, with dynamic dimensions. */
static void state_shapes(Program *program, const Module *module) {
  const Computation *entry = module->entry;
  int leaf = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    const Shape *shape = entry->parameters[p]->shape;
    program->hidden_parameters += shape_dynamic_dimensions(shape);
    const Shape **first = &program->parameter_shapes[leaf];
    leaf += (int)(shape_put_leaves(shape_copy(program->arena, shape), first) - first);
  }
  const Shape *result = entry->root->shape;
  program->hidden_results = shape_dynamic_dimensions(result);
  shape_put_leaves(shape_copy(program->arena, result), program->result_shapes);
}

static int max_int(int a, int b) { return a > b ? a : b; }

static int sequence_depth(const ThunkSequence *sequence) {
  int depth = 0;
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    if (thunk_has_steps(thunk)) depth = max_int(depth, sequence_depth(thunk->steps));
    if (thunk->kind == THUNK_WHILE) {
      depth = max_int(depth, sequence_depth(thunk->condition));
      depth = max_int(depth, sequence_depth(thunk->body));
    }
    if (thunk->kind != THUNK_CONDITIONAL) continue;
    for (int b = 0; b < thunk->branch_count; b++) {
      depth = max_int(depth, sequence_depth(&thunk->branches[b]));
    }
  }
  return depth + 1;
}

/* Compiles fusions to a generated module. It is emitted even without an engine, for the sanitizers. */
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
static void state_mesh(Module *module, Mesh mesh) {
  if (mesh.replicas > 1 || module->replica_count) module->replica_count = mesh.replicas;
  if (mesh.partitions > 1 || module->num_partitions) module->num_partitions = mesh.partitions;
}

Program *program_new(const Module *module, Mesh mesh, const CompileOptions *options, Error *error) {
  Module *optimized = module_clone(module);
  state_mesh(optimized, mesh);
  PipelineOptions pipeline = {.target = options->evaluate ? NULL : &codegen_target,
                              .disabled = options->disabled,
                              .watch = options->watch};
  if (!pipeline_run(optimized, &pipeline, error) || !collectives_check(optimized, mesh, error)) {
    module_free(optimized);
    return NULL;
  }
  Arena *arena = optimized->arena; /* one arena for all, as they have one lifetime */
  Program *program = ARENA_NEW(arena, Program);
  program->arena = arena;
  program->module = optimized;
  program->mesh = mesh;
  if (!compile_thunks(program, options, error)) {
    module_free(optimized);
    return NULL;
  }
  if (!options->evaluate) {
    compile_row_groups(program);
    compile_regions(program);
  }
  program->depth = sequence_depth(&program->entry);
  state_shapes(program, module);
  /* Last, as only program_free releases a registered module. */
  if (!compile_fusions(program, error)) {
    module_free(optimized);
    return NULL;
  }
  return program;
}
