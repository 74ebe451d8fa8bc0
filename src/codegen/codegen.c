#include "codegen/codegen.h"

#include "base/min_max.h"
#include "codegen/formulas/lanes.h"
#include "codegen/fusion_check.h"
#include "codegen/loops/element_emitter.h"
#include "codegen/loops/emitter.h"
#include "codegen/loops/loop_emitter.h"
#include "codegen/loops/overwrite.h"
#include "codegen/loops/reduce_emitter.h"
#include "codegen/loops/scatter_emitter.h"
#include "codegen/loops/value_emitter.h"
#include "codegen/region_emitter.h"
#include "plan/reduction.h"

static bool has_type(PrimitiveType type) { return lane_kind(type) != LANES_NONE; }

const Target codegen_target = {has_type, can_emit_operation};

/* Returns the number of elements that are reduced to one result. */
static int64_t elements_per_result(const Instruction *root) {
  int64_t count = 1;
  if (root->opcode == HLO_REDUCE) {
    const Int64List dimensions = root->a->dimensions;
    for (int i = 0; i < dimensions.count; i++) {
      count *= root->operands[0]->shape->dims[dimensions.items[i]];
    }
  } else if (root->opcode == HLO_REDUCE_WINDOW) {
    for (int i = 0; i < root->a->window.count; i++) count *= root->a->window.items[i].size;
  }
  return count;
}

static CodegenWork scatter_work(const Instruction *scatter) {
  /* Threshold CHUNK_WORK. Test: "scatters and gathers around 65,536 elements" in core/thresholds_numbers.test.mjs. */
  enum { CHUNK_WORK = 1 << 16 };
  const Shape *updates = scatter->operands[scatter->operand_count / 2 + 1]->shape;
  int64_t window = 1;
  for (int d = 0; d < updates->rank; d++) {
    if (list_has(scatter->a->update_window_dims, d)) window *= updates->dims[d];
  }
  int64_t chunk = CHUNK_WORK / window;
  return (CodegenWork){.units = shape_elements(updates) / window,
                       .chunk = chunk < 1 ? 1 : chunk,
                       .multiple = 1,
                       .reads = INT32_MAX,
                       .in_order = true};
}

/* Whether the innermost dimension is reduced. Neighbouring results then read separate rows, so a chunk may have few results. */
static bool reduces_innermost(const Instruction *root) {
  return root->opcode == HLO_REDUCE &&
         list_has(root->a->dimensions, root->operands[0]->shape->rank - 1);
}

/* Returns how many steps of each line one call computes; 0 if a call computes whole lines. A cumulative reduction of few long
** lines is divided into calls. Each call continues from a rounded result, so the number of calls is limited. */
static int64_t steps_per_call(const Instruction *root) {
  /* Threshold MAX_LINES, ELEMENTS, MAX_CALLS. Test: "cumulative sums of few long lines" in
  ** core/thresholds_programs.test.mjs. */
  enum { MAX_LINES = 16, ELEMENTS = 1 << 16, MAX_CALLS = 64 };
  bool backwards;
  int along = cumulative_dimension(root, &backwards);
  if (along < 0) return 0;
  int64_t line = root->operands[0]->shape->dims[along];
  int64_t elements = shape_elements(root->operands[0]->shape), lines = elements / line;
  if (lines > MAX_LINES || elements <= ELEMENTS) return 0;
  return max_i64(ELEMENTS / lines, divide_up(line, MAX_CALLS));
}

bool codegen_may_overwrite(const Instruction *fusion, int operand, int result) {
  return fusion_may_overwrite(fusion, operand, result);
}

CodegenWork codegen_work(const Instruction *fusion) {
  /* Threshold CHUNK_WORK, MIN_UNITS, MIN_BYTES. Test: "chunks: elements of loops, of the evaluator,
  ** bytes of moves" in core/thresholds_programs.test.mjs. */
  /* Threshold MIN_LINES. Test: "cumulative sums around blocks and calls" in core/thresholds.test.mjs. */
  /* Threshold LONG. Test: "chunks: elements of loops, of the evaluator, bytes of moves" in
  ** core/thresholds_programs.test.mjs. */
  enum { CHUNK_WORK = 16384, MIN_UNITS = 64, MIN_BYTES = 256, MIN_LINES = 16, LONG = 1 << 20 };
  const Instruction *root = loop_root(fusion->a->calls->root);
  bool backwards;
  int along = cumulative_dimension(root, &backwards);
  if (root->opcode == HLO_SCATTER) return scatter_work(root);
  CodegenWork all = {.units = shape_elements(shape_leaf(fusion->shape, 0))};
  if (along >= 0) { /* whole lines */
    int64_t line = root->operands[0]->shape->dims[along], lines = CHUNK_WORK / line;
    all.reads = all.units;
    all.chunk = line * (lines < MIN_LINES ? MIN_LINES : lines & -(int64_t)MIN_LINES);
    all.multiple = line * MIN_LINES;
    all.is_long = line > LONG / MIN_LINES;
    if (steps_per_call(root)) {
      all.multiple = all.chunk = steps_per_call(root) * (all.units / line);
      all.in_order = true;
    }
    return all;
  }
  int64_t work = elements_per_result(root); /* 0 where a dimension is empty */
  int64_t chunk = CHUNK_WORK / (work > 0 ? work : 1);
  all.reads = all.units * work;
  bool bytes = type_bytes(shape_leaf(fusion->shape, 0)->type) == 1;
  int64_t min = bytes ? MIN_BYTES : reduces_innermost(root) ? LANES : MIN_UNITS;
  all.chunk = chunk < min ? min : chunk & -min;
  all.multiple = min;
  all.is_long = work > LONG / MIN_UNITS;
  return all;
}

/* Whether the elements that a leaf reads for a row of the results are within that row of its array, of
** `row` elements. A loop may run over rows and within them. */
static bool stays_in_row(const LoopPlan *plan, const LoopNode *leaf, int64_t rows, int64_t row) {
  int64_t low = leaf->offset.constant, high = low;
  if (reads_anywhere(leaf)) return false;
  for (int k = 0; k < plan->rank; k++) {
    int64_t inner = plan->sizes[k], outer = 1, step = leaf->offset.coefficient[k];
    bool reduced = k >= plan->rank - plan->reduced;
    if (!reduced && rows % inner == 0) {
      outer = inner;
      inner = 1;
    } else if (!reduced && inner % rows == 0) {
      outer = rows;
      inner /= rows;
    }
    rows /= outer;
    if (outer > 1 && step * inner != rows * row) return false;
    *(step < 0 ? &low : &high) += step * (inner - 1);
    if (rows > 1 && inner > 1) return false;
  }
  return rows == 1 && low >= 0 && high < row;
}

bool codegen_rows(const Instruction *fusion, int64_t rows, bool *by_rows) {
  const Computation *fused = fusion->a->calls;
  Arena *arena = arena_new();
  LoopPlan plan;
  bool is = fused->root->opcode != HLO_SCATTER && codegen_work(fusion).units % rows == 0 &&
            loop_plan_fusion(&plan, arena, fused) && !plan.addresses;
  for (int i = 0; i < fusion->operand_count && is; i++) {
    by_rows[i] = shape_elements(fusion->operands[i]->shape) % rows == 0;
  }
  for (int i = 0; is && i < plan.count; i++) {
    const LoopNode *node = plan.nodes[i];
    if (node->kind == NODE_RESULT) { /* a value kept at each step */
      is = stays_in_row(&plan, node, rows, shape_elements(node->instruction->shape) / rows);
    }
    if (node->kind != NODE_INPUT && node->kind != NODE_GATHERED) continue;
    int operand = (int)array_of(node)->parameter_number;
    int64_t row = shape_elements(node->instruction->shape) / rows;
    by_rows[operand] = by_rows[operand] && stays_in_row(&plan, node, rows, row);
  }
  arena_free(arena);
  return is;
}

static void emit_scatter(WasmModule *module, const Instruction *fusion, Arena *arena) {
  ScatterPlan plan;
  scatter_plan(&plan, arena, fusion->a->calls->root);
  Emitter emitter = {.plan = &plan.loops, .operand_count = fusion->operand_count};
  wasm_function_begin(&emitter.function, module, SIGNATURE_KERNEL);
  init_nodes(&emitter);
  emit_scatter_kernel(&emitter, &plan);
  wasm_function_end(&emitter.function);
}

/* Emits the loops of one plan; a box has the kernel's elements from number `first` on. */
static void emit_plan(WasmFunction *function, LoopPlan *plan, const Instruction *fusion,
                      int64_t first, bool is_part) {
  int in_use;
  bool *was_free = wasm_locals_in_use(function, &in_use);
  Emitter e = {.plan = plan, .function = *function, .operand_count = fusion->operand_count};
  if (is_part) {
    e.first = first;
    e.count = loop_plan_results(plan);
  }
  e.counts_steps = steps_per_call(fusion->a->calls->root) > 0;
  init_nodes(&e);
  if (plan->reduce) {
    emit_reduce_kernel(&e);
  } else {
    emit_loop_kernel(&e);
  }
  wasm_locals_restore(&e.function, was_free, in_use);
  *function = e.function;
}

static bool emit_loop(WasmModule *module, const Instruction *fusion, Arena *arena, Error *error) {
  LoopPlans plans;
  WasmFunction function;
  if (!loop_plans_fusion(&plans, arena, fusion->a->calls)) {
    return error_set_op(error, STATUS_INTERNAL, "fusion", "%s is beyond the loop emitter",
                        fusion->name);
  }
  wasm_function_begin(&function, module, SIGNATURE_KERNEL);
  int64_t first = 0;
  for (int b = 0; b < plans.count; b++) {
    emit_plan(&function, &plans.items[b], fusion, first, plans.count > 1);
    first += loop_plan_results(&plans.items[b]);
  }
  wasm_function_end(&function);
  return true;
}

static bool emit_kernel(WasmModule *module, const Instruction *fusion, Error *error) {
  Arena *arena = arena_new();
  bool ok = true;
  if (fusion->a->calls->root->opcode == HLO_SCATTER) {
    emit_scatter(module, fusion, arena);
  } else {
    ok = emit_loop(module, fusion, arena, error);
  }
  arena_free(arena);
  return ok;
}

/* Emits an empty function in place of a fusion that all regions inline: no code calls it. */
static void emit_nothing(WasmModule *module) {
  WasmFunction function;
  wasm_function_begin(&function, module, SIGNATURE_KERNEL);
  wasm_function_end(&function);
}

bool codegen_emit(const CodegenInput *input, bool shared_memory, ByteBuf *out, Error *error) {
  WasmModule module = {0};
  Arena *arena = arena_new();
  bool ok = true;
  WrittenFunction *written = ARENA_ARRAY(arena, WrittenFunction, input->fusion_count);
  for (int i = 0; i < input->fusion_count; i++) {
    fusion_check(input->fusions[i].fusion, &codegen_target);
  }
  for (int i = 0; i < input->region_count; i++) plan_region(&input->regions[i], arena, written);
  for (int i = 0; i < input->fusion_count && ok; i++) {
    if (written[i].uses == input->fusions[i].uses) {
      emit_nothing(&module);
    } else {
      ok = emit_kernel(&module, input->fusions[i].fusion, error);
    }
  }
  for (int i = 0; i < input->region_count && ok; i++) emit_region(&module, &input->regions[i]);
  if (ok) wasm_module_encode(&module, shared_memory, out);
  wasm_module_free(&module);
  arena_free(arena);
  return ok;
}
