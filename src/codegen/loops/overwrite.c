/*
** Decides which operand of a fusion a result may lie on. The rules hold for any order in which the parts of values
** are emitted.
**
** A leaf lies in place if each step reads only the element that occupies the bytes of the step's result. Result r
** may lie on an operand if all its leaves lie in place and no output after r reads them. A later output may read
** a leaf if an output up to r reads it too: then the emitter loads all parts of the leaf before it stores that
** output (emit_store_outputs, is_loaded_first).
*/
#include "codegen/loops/overwrite.h"

#include <string.h>

#include "codegen/loops/emitter.h"

/* Whether a leaf is the element at a result's own place. */
static bool is_in_order(const LoopPlan *plan, const LoopNode *leaf) {
  int64_t stride = 1;
  if (plan->addresses && !reads_anywhere(leaf))
    return !memcmp(&leaf->offset, &plan->addresses[0]->offset, sizeof leaf->offset);
  if (leaf->offset.constant != 0 || reads_anywhere(leaf)) return false;
  for (int k = plan->rank - 1; k >= 0; k--) {
    if (plan->sizes[k] > 1 && leaf->offset.coefficient[k] != stride) return false;
    stride *= plan->sizes[k];
  }
  return true;
}

/* 8-bit floats are read again, as indices of tables (byte_table.c). */
static bool is_read_as_bits(const LoopNode *leaf) {
  return is_narrow_float(node_type(leaf)) && type_bits(node_type(leaf)) <= 8;
}

OutputRange *find_outputs_of(const LoopPlan *plan) {
  OutputRange *ranges = ARENA_ARRAY(plan->arena, OutputRange, plan->count);
  bool *marks = ARENA_ARRAY(plan->arena, bool, plan->count);
  for (int i = 0; i < plan->count; i++) ranges[i] = (OutputRange){plan->output_count, -1};
  for (int r = 0; r < plan->output_count; r++) {
    memset(marks, 0, sizeof *marks * (size_t)plan->count);
    marks[plan->outputs[r]->id] = true;
    for (int i = plan->count - 1; i >= 0; i--) {
      const LoopNode *node = plan->nodes[i];
      for (int k = 0; marks[i] && k < node->operand_count; k++) marks[node->operands[k]->id] = true;
      if (!marks[i]) continue;
      if (r < ranges[i].first) ranges[i].first = r;
      ranges[i].last = r;
    }
  }
  return ranges;
}

bool is_loaded_first(const LoopPlan *plan, const OutputRange *range, const LoopNode *leaf) {
  return leaf->kind == NODE_INPUT && leaf->level == LEVEL_ELEMENT && range->first < range->last &&
         !is_read_as_bits(leaf) && is_in_order(plan, leaf);
}

static bool loop_may_overwrite(const LoopPlan *plan, int operand, int result) {
  const OutputRange *ranges = find_outputs_of(plan);
  int bytes = type_bytes(node_type(plan->outputs[result]));
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *leaf = plan->nodes[i];
    if (!reads_parameter(leaf, operand)) continue;
    if (type_bytes(node_type(leaf)) != bytes || !is_in_order(plan, leaf)) return false;
    bool is_loaded = ranges[i].first <= result && !is_read_as_bits(leaf);
    if (ranges[i].last > result && !is_loaded) return false;
  }
  return true;
}

static bool scatter_may_overwrite(const Instruction *scatter, int operand, int result) {
  for (int i = 0; i < scatter->operand_count; i++) {
    if (i != result && scatter->operands[i]->parameter_number == operand) return false;
  }
  return scatter->operands[result]->parameter_number == operand;
}

/* A step stores its kept value after all values of the step are loaded. With several kept values, the first store
** could overwrite an operand of a later one. */
static bool kept_may_overwrite(const LoopPlan *plan, int operand, int result) {
  if (plan->kept_count != 1 || result != plan->output_count) return false;
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *leaf = plan->nodes[i], *address = plan->kept_addresses[0];
    if (!reads_parameter(leaf, operand)) continue;
    if (leaf->kind != NODE_INPUT || leaf->packed ||
        type_bytes(node_type(leaf)) != type_bytes(node_type(address)) ||
        memcmp(&leaf->offset, &address->offset, sizeof leaf->offset) != 0) {
      return false;
    }
  }
  return true;
}

bool fusion_may_overwrite(const Instruction *fusion, int operand, int result) {
  const Instruction *root = fusion->a->calls->root;
  if (root->opcode == HLO_SCATTER) return scatter_may_overwrite(root, operand, result);
  Arena *arena = arena_new();
  LoopPlans plans;
  bool may = loop_plans_fusion(&plans, arena, fusion->a->calls);
  for (int b = 0; may && b < plans.count; b++) {
    const LoopPlan *plan = &plans.items[b];
    may = plan->reduce ? kept_may_overwrite(plan, operand, result)
                       : loop_may_overwrite(plan, operand, result);
  }
  arena_free(arena);
  return may;
}
