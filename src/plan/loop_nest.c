#include "plan/loop_nest.h"

static bool has_offset(const LoopNode *node) { return node->kind != NODE_OPERATION; }

/* Whether the loops k and k+1 walk through every array as one loop would. */
static bool is_contiguous(const LoopPlan *plan, int k) {
  if (k + 1 == plan->rank - plan->reduced) return false;
  if (plan->sizes[k] > INT32_MAX / plan->sizes[k + 1]) return false; /* indices have 32 bits */
  for (int i = 0; i < plan->count; i++) {
    const int64_t *coefficient = plan->nodes[i]->offset.coefficient;
    if (has_offset(plan->nodes[i]) && coefficient[k] != coefficient[k + 1] * plan->sizes[k + 1]) {
      return false;
    }
  }
  return true;
}

static void remove_loop(LoopPlan *plan, int k) {
  for (int j = k; j + 1 < plan->rank; j++) plan->sizes[j] = plan->sizes[j + 1];
  for (int i = 0; i < plan->count; i++) {
    int64_t *coefficient = plan->nodes[i]->offset.coefficient;
    for (int j = k; j + 1 < plan->rank; j++) coefficient[j] = coefficient[j + 1];
    coefficient[plan->rank - 1] = 0;
  }
  if (k >= plan->rank - plan->reduced) plan->reduced--;
  plan->rank--;
}

/* Inserts a loop of one step, so that the plan has a loop. */
static void insert_loop(LoopPlan *plan, int k) {
  for (int j = plan->rank; j > k; j--) plan->sizes[j] = plan->sizes[j - 1];
  plan->sizes[k] = 1;
  for (int i = 0; i < plan->count; i++) {
    int64_t *coefficient = plan->nodes[i]->offset.coefficient;
    for (int j = plan->rank; j > k; j--) coefficient[j] = coefficient[j - 1];
    coefficient[k] = 0;
  }
  plan->rank++;
}

void loop_plan_collapse(LoopPlan *plan) {
  for (int k = plan->rank - 1; k >= 0; k--) {
    if (plan->sizes[k] == 1) remove_loop(plan, k);
  }
  for (int k = plan->rank - 2; k >= 0; k--) {
    if (!is_contiguous(plan, k)) continue;
    plan->sizes[k + 1] *= plan->sizes[k];
    remove_loop(plan, k);
  }
  if (plan->rank == plan->reduced) insert_loop(plan, 0);
  if (plan->reduce && plan->reduced == 0) {
    insert_loop(plan, plan->rank);
    plan->reduced = 1;
  }
}

static LoopLevel leaf_level(const LoopPlan *plan, const LoopNode *leaf) {
  const Affine *offset = &leaf->offset;
  if (leaf->kind == NODE_RESULT) return LEVEL_ELEMENT; /* so it has a pointer */
  if (offset->coefficient[plan->lane_loop] || offset->coefficient[plan->time_loop]) {
    return LEVEL_ELEMENT;
  }
  for (int k = 0; k < plan->rank; k++) {
    if (offset->coefficient[k]) return LEVEL_ROW;
  }
  /* Pointers are computed for each row. An element at a constant place needs none. */
  return leaf->kind == NODE_GATHERED || affine_has_starts(offset) ? LEVEL_ROW : LEVEL_CALL;
}

void loop_plan_reorder(LoopPlan *plan, int lane_loop, int time_loop) {
  plan->lane_loop = lane_loop;
  plan->time_loop = time_loop;
  for (int i = 0; i < plan->count; i++) {
    LoopNode *node = plan->nodes[i];
    node->level = has_offset(node) ? leaf_level(plan, node) : LEVEL_CALL;
    for (int k = 0; k < node->operand_count; k++) {
      if (node->operands[k]->level > node->level) node->level = node->operands[k]->level;
    }
  }
}

int64_t loop_plan_steps(const LoopPlan *plan) {
  int64_t steps = 1;
  for (int k = 0; k < plan->rank; k++) steps *= plan->sizes[k];
  return steps;
}

int64_t loop_plan_results(const LoopPlan *plan) {
  int64_t results = 1;
  int loops = plan->rank - (plan->cumulative ? 0 : plan->reduced);
  for (int k = 0; k < loops; k++) results *= plan->sizes[k];
  return results;
}

void loop_plan_add(LoopPlan *plan, LoopNode *node) {
  node->id = plan->count;
  ARENA_PUSH(plan->arena, plan->nodes, plan->count, plan->capacity, node);
}

bool affine_has_starts(const Affine *offset) {
  bool has = false;
  for (int s = 0; s < MAX_STARTS; s++) has |= offset->start[s] != 0;
  return has;
}

bool reads_anywhere(const LoopNode *node) {
  return node->kind == NODE_GATHERED || node->packed || affine_has_starts(&node->offset);
}

bool is_unpacking(const Instruction *x) {
  return x->opcode == HLO_BITCAST_CONVERT && type_per_byte(x->shape->type) > 1 &&
         type_bits(x->operands[0]->shape->type) == 8;
}

const Instruction *array_of(const LoopNode *node) {
  return node->packed ? node->instruction->operands[0] : node->instruction;
}

bool reads_parameter(const LoopNode *node, int parameter) {
  return (node->kind == NODE_INPUT || node->kind == NODE_GATHERED) &&
         array_of(node)->parameter_number == parameter;
}

bool is_index_operation(Opcode opcode) {
  switch (opcode) {
  case HLO_BROADCAST:
  case HLO_CONCATENATE:
  case HLO_COPY:
  case HLO_DYNAMIC_SLICE:
  case HLO_PAD:
  case HLO_RESHAPE:
  case HLO_REVERSE:
  case HLO_SLICE:
  case HLO_TRANSPOSE: return true;
  default: return false;
  }
}
