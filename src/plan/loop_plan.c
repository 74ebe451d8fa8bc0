#include "plan/loop_plan.h"

#include <string.h>

#include "base/min_max.h"
#include "plan/loop_walk.h"
#include "plan/reduction.h"

/* Loops, and the root's index as a function of them. */
typedef struct Box {
  int rank;
  int64_t sizes[MAX_LOOPS];
  Affine map[MAX_DIMENSIONS];
} Box;

/* Results [low, high) of a dimension. The elements [first, end) of their windows are not padding. */
typedef struct Part {
  int64_t low, high, first, end;
} Part;

/* Returns the shape of each result of a reduction, which is a tuple if there are several. */
static const Shape *reduce_leaf(const Shape *shape) {
  return shape_is_tuple(shape) ? shape->elements[0] : shape;
}

static void count_uses(LoopPlan *plan) {
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    for (int k = 0; k < node->operand_count; k++) node->operands[k]->uses++;
  }
  for (int i = 0; i < plan->output_count; i++) {
    plan->outputs[i]->uses++;
    if (plan->inits) plan->inits[i]->uses++;
  }
  for (int i = 0; i < plan->kept_count; i++) plan->kept[i]->uses++;
}

/* --- Reductions ------------------------------------------------------------------------------- */

/* Adds the nodes of the combining computation: all are scalars, so there is no index to map. */
static void add_combiner(LoopPlan *plan, const Computation *computation) {
  const Instruction *root = computation->root;
  plan->combine = ARENA_ARRAY(plan->arena, LoopNode *, computation->count);
  plan->combined = ARENA_ARRAY(plan->arena, LoopNode *, plan->output_count);
  for (int i = 0; i < computation->count; i++) {
    const Instruction *instruction = computation->instructions[i];
    if (is_index_operation(instruction->opcode)) { /* of a scalar: the same number */
      plan->combine[i] = plan->combine[instruction->operands[0]->id];
      continue;
    }
    LoopNode *node = ARENA_NEW(plan->arena, LoopNode);
    bool is_constant = instruction->opcode == HLO_CONSTANT;
    *node = (LoopNode){.kind = is_constant ? NODE_CONSTANT : NODE_OPERATION,
                       .instruction = instruction,
                       .id = plan->count + i,
                       .operand_count = instruction->operand_count,
                       .level = LEVEL_ELEMENT};
    node->operands = ARENA_ARRAY(plan->arena, LoopNode *, instruction->operand_count);
    for (int k = 0; k < instruction->operand_count; k++) {
      node->operands[k] = plan->combine[instruction->operands[k]->id];
      node->operands[k]->uses++;
    }
    plan->combine[i] = node;
  }
  plan->combine_count = computation->count;
  bool several = root->opcode == HLO_TUPLE_OP;
  for (int i = 0; i < plan->output_count; i++) {
    const Instruction *result = several ? root->operands[i] : root;
    plan->combined[i] = plan->combine[result->id];
    plan->combined[i]->uses++;
  }
}

/* --- The loop nest ---------------------------------------------------------------------------- */

/* Adds a loop that advances a dimension of the root's index by `step`. */
static void add_loop(Planner *planner, int64_t size, int dimension, int64_t step) {
  LoopPlan *plan = planner->plan;
  plan->sizes[plan->rank] = size;
  planner->root_map[dimension].coefficient[plan->rank++] = step;
}

/* Makes the loops of a reduce: those of the result, then the reduced ones. */
static void start_reduce(Planner *planner, const Instruction *reduce) {
  const Shape *shape = reduce->operands[0]->shape;
  bool reduced[MAX_DIMENSIONS] = {false};
  for (int i = 0; i < reduce->a->dimensions.count; i++)
    reduced[reduce->a->dimensions.items[i]] = true;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < shape->rank; i++) {
      if (reduced[i] == (pass == 1)) add_loop(planner, shape->dims[i], i, 1);
    }
  }
  planner->plan->reduced = reduce->a->dimensions.count;
}

/* Returns the results from number `low` on whose windows have the same part in the padding. */
static Part part_from(const WindowDimension *w, int64_t size, int64_t results, int64_t low) {
  int64_t at = low * w->stride - w->padding_low, step = w->window_dilation, last;
  Part part = {.low = low, .high = low + 1, .first = divide_up(max_i64(-at, 0), step)};
  part.end = size > at ? divide_up(size - at, step) : (size - at) / step;
  if (part.end > w->size) part.end = w->size;
  last = size - 1 + w->padding_low - (w->size - 1) * step; /* the position of a whole window */
  if (at >= 0 && part.end == w->size) part.high = last / w->stride + 1;
  if (part.high > results) part.high = results;
  return part;
}

/* Returns the number of parts of a dimension of windows, and finds part `wanted`. 0: too many, or some windows are
** padding only. */
static int find_part(const WindowDimension *w, int64_t size, int64_t results, int wanted,
                     Part *out) {
  /* Results that are examined one by one, before a plan is given up. */
  enum { MAX_ALIKE = 1000 };
  int count = 0;
  for (int64_t low = 0; low < results && count <= MAX_BOXES; count++) {
    Part part = part_from(w, size, results, low), next = part;
    while (next.first == part.first && next.end == part.end && part.high < low + MAX_ALIKE) {
      part.high = next.high;
      if (part.high == results) break;
      next = part_from(w, size, results, part.high);
    }
    if (part.first >= part.end) return 0;
    if (count == wanted) *out = part;
    low = part.high;
  }
  return count;
}

static int64_t box_count(const Instruction *reduce) {
  const Shape *shape = reduce->operands[0]->shape, *result = reduce_leaf(reduce->shape);
  int64_t boxes = 1;
  Part part;
  for (int i = 0; i < shape->rank && boxes <= MAX_BOXES; i++) {
    const WindowDimension *w = &reduce->a->window.items[i];
    if (w->base_dilation != 1) return 0;
    boxes *= find_part(w, shape->dims[i], result->dims[i], -1, &part);
  }
  return boxes <= MAX_BOXES ? boxes : 0;
}

bool windows_have_plan(const Instruction *reduce_window) { return box_count(reduce_window) > 0; }

/* Makes the loops of one box of a reduce-window: those of the result, then those of the window. */
static void start_reduce_window(Planner *planner, const Instruction *reduce, int64_t box) {
  const Shape *result = reduce_leaf(reduce->shape), *shape = reduce->operands[0]->shape;
  const Window *window = &reduce->a->window;
  Part parts[MAX_DIMENSIONS];
  for (int i = 0; i < result->rank; i++) {
    const WindowDimension *w = &window->items[i];
    int count = find_part(w, shape->dims[i], result->dims[i], -1, &parts[i]);
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): of a dimension without parts there is no plan */
    find_part(w, shape->dims[i], result->dims[i], (int)(box % count), &parts[i]);
    box /= count;
    planner->result_map[i].coefficient[i] = 1;
    planner->result_map[i].constant = parts[i].low;
    add_loop(planner, parts[i].high - parts[i].low, i, w->stride);
    int64_t first = w->window_reversal ? parts[i].end - 1 : parts[i].first;
    planner->root_map[i].constant =
        parts[i].low * w->stride + first * w->window_dilation - w->padding_low;
  }
  for (int i = 0; i < result->rank; i++) {
    const WindowDimension *w = &window->items[i];
    if (w->size == 1) continue;
    int64_t step = w->window_reversal ? -w->window_dilation : w->window_dilation;
    add_loop(planner, parts[i].end - parts[i].first, i, step);
    planner->plan->reduced++;
  }
}

/* Makes the loops of a cumulative reduce-window: the dimension along which it accumulates is the last loop. */
static void start_cumulative(Planner *planner, const Instruction *reduce, int along,
                             bool backwards) {
  const Shape *shape = reduce->operands[0]->shape;
  for (int i = 0; i < shape->rank; i++) {
    if (i != along) add_loop(planner, shape->dims[i], i, 1);
  }
  if (backwards) planner->root_map[along].constant = shape->dims[along] - 1;
  add_loop(planner, shape->dims[along], along, backwards ? -1 : 1);
  planner->plan->reduced = 1;
}

const Instruction *loop_root(const Instruction *root) {
  const Instruction *first = root;
  if (root->opcode == HLO_TUPLE_OP && root->operand_count > 0) first = root->operands[0];
  if (first->opcode == HLO_GET_TUPLE_ELEMENT) first = first->operands[0];
  return first->opcode == HLO_REDUCE ? first : root;
}

/* Makes the loops, of one box for windows, and the index into the operands of a reduction or into another root. */
static bool start(Planner *planner, const Instruction *root, int64_t box) {
  LoopPlan *plan = planner->plan;
  bool reduces = root->opcode == HLO_REDUCE || root->opcode == HLO_REDUCE_WINDOW;
  bool has_operands = reduces || root->opcode == HLO_TUPLE_OP;
  const Shape *shape = has_operands ? root->operands[0]->shape : root->shape;
  bool backwards;
  int along = cumulative_dimension(root, &backwards);
  int windows = root->opcode == HLO_REDUCE_WINDOW && along < 0 ? shape->rank : 0;
  if (shape->rank + windows > MAX_DIMENSIONS) return false;
  planner->root_rank = shape->rank;
  planner->root_map = planner->result_map = ARENA_ARRAY(plan->arena, Affine, shape->rank);
  plan->reduce = reduces ? root : NULL;
  plan->cumulative = along >= 0;
  if (root->opcode == HLO_REDUCE) {
    start_reduce(planner, root);
  } else if (along >= 0) {
    start_cumulative(planner, root, along, backwards);
  } else if (root->opcode == HLO_REDUCE_WINDOW) {
    planner->result_map = ARENA_ARRAY(plan->arena, Affine, shape->rank);
    start_reduce_window(planner, root, box);
  } else {
    for (int i = 0; i < shape->rank; i++) add_loop(planner, shape->dims[i], i, 1);
  }
  for (int k = 0; k < plan->rank; k++) {
    if (plan->sizes[k] == 0) return false;
  }
  return true;
}

/* Makes the node for the address of result `number` at the root's index. */
static LoopNode *new_address(const Planner *planner, const Instruction *operand,
                             const Shape *result, int number) {
  LoopPlan *plan = planner->plan;
  LoopNode *address = ARENA_NEW(plan->arena, LoopNode);
  *address = (LoopNode){.kind = NODE_RESULT, .instruction = operand, .result = number};
  address->offset = linear_offset(result, planner->result_map);
  loop_plan_add(plan, address);
  return address;
}

/* Adds the addresses of all results of a box, or of the values accumulated so far. */
static void add_addresses(const Planner *planner, const Instruction *root) {
  LoopPlan *plan = planner->plan;
  plan->addresses = ARENA_ARRAY(plan->arena, LoopNode *, plan->output_count);
  for (int i = 0; i < plan->output_count; i++) {
    const Instruction *operand = plan->reduce ? root->operands[i] : root;
    plan->addresses[i] = new_address(planner, operand, reduce_leaf(root->shape), i);
  }
}

/* Visits the elements of a root tuple that follow the reduction's results. */
static PlanResult visit_kept(Planner *planner, const Instruction *tuple) {
  LoopPlan *plan = planner->plan;
  int first = plan->output_count, count = tuple->operand_count - first;
  PlanResult made = PLAN_OK;
  plan->kept_count = count;
  plan->kept = ARENA_ARRAY(plan->arena, LoopNode *, count);
  plan->kept_addresses = ARENA_ARRAY(plan->arena, LoopNode *, count);
  for (int i = 0; i < count && made == PLAN_OK; i++) {
    made = loop_walk(planner, tuple->operands[first + i], planner->root_map, &plan->kept[i]);
  }
  for (int i = 0; i < count && made == PLAN_OK; i++) {
    const Instruction *kept = tuple->operands[first + i];
    plan->kept_addresses[i] = new_address(planner, kept, kept->shape, first + i);
  }
  return made;
}

static PlanResult visit_outputs(Planner *planner, const Instruction *whole) {
  LoopPlan *plan = planner->plan;
  const Instruction *root = loop_root(whole);
  bool several = plan->reduce || root->opcode == HLO_TUPLE_OP;
  int count = plan->reduce ? root->operand_count / 2 : several ? root->operand_count : 1;
  loop_walk_begin(planner);
  plan->output_count = count;
  plan->outputs = ARENA_ARRAY(plan->arena, LoopNode *, count);
  for (int i = 0; i < count; i++) {
    const Instruction *output = several ? root->operands[i] : root;
    PlanResult made = loop_walk(planner, output, planner->root_map, &plan->outputs[i]);
    if (made != PLAN_OK) return made;
  }
  if (!plan->reduce) return PLAN_OK;
  plan->inits = ARENA_ARRAY(plan->arena, LoopNode *, count);
  for (int i = 0; i < count; i++) {
    int starts = plan->start_count;
    PlanResult made = loop_walk(planner, root->operands[count + i], &(Affine){0}, &plan->inits[i]);
    if (made != PLAN_OK) return made;
    if (plan->start_count > starts)
      return PLAN_IMPOSSIBLE; /* a start must be known before the loops */
  }
  if (root != whole) return visit_kept(planner, whole);
  if (plan->cumulative) add_addresses(planner, root);
  return PLAN_OK;
}

void loop_plan_finish(LoopPlan *plan) {
  loop_plan_collapse(plan);
  if (plan->reduce && plan->reduce->opcode != HLO_SCATTER) {
    loop_plan_choose_lanes(plan);
  } else {
    loop_plan_reorder(plan, plan->rank - 1, plan->rank - 1);
  }
  count_uses(plan);
  if (plan->reduce) add_combiner(plan, plan->reduce->a->to_apply);
}

/* --- Boxes ------------------------------------------------------------------------------------ */

/* Returns a box with the steps of a loop from the split on, and keeps those before. */
static Box cut_box(const Planner *planner) {
  LoopPlan *plan = planner->plan;
  int k = planner->split_loop;
  Box rest = {.rank = plan->rank};
  memcpy(rest.sizes, plan->sizes, sizeof rest.sizes);
  rest.sizes[k] -= planner->split_step;
  plan->sizes[k] = planner->split_step;
  for (int i = 0; i < planner->root_rank; i++) {
    rest.map[i] = planner->root_map[i];
    rest.map[i].constant += rest.map[i].coefficient[k] * planner->split_step;
  }
  return rest;
}

static void start_box(Planner *planner, LoopPlan *plan, const Box *box) {
  *plan = (LoopPlan){.arena = planner->plan->arena, .rank = box->rank};
  memcpy(plan->sizes, box->sizes, sizeof box->sizes);
  memcpy(planner->root_map, box->map, sizeof *box->map * (size_t)planner->root_rank);
  planner->plan = plan;
}

/* Makes the plan of a single loop nest, or the plans of all boxes. */
static bool make_plans(Planner *planner, LoopPlans *plans, const Instruction *root) {
  Arena *arena = planner->plan->arena;
  Box *waiting = NULL;
  int count = 0, capacity = 0;
  bool is_part = false;
  for (;;) {
    LoopPlan *plan = planner->plan;
    PlanResult made = visit_outputs(planner, root);
    if (made == PLAN_IMPOSSIBLE) return false;
    if (made == PLAN_SPLIT) {
      if (plans->count + count + 2 > MAX_BOXES || root->opcode == HLO_TUPLE_OP) return false;
      is_part = true;
      ARENA_PUSH(arena, waiting, count, capacity, cut_box(planner));
    }
    if (made != PLAN_OK) continue;
    if (is_part) add_addresses(planner, root);
    loop_plan_finish(plan);
    if (!plan->reduce) loop_plan_widen_rows(plan);
    plans->count++;
    if (count == 0) return true;
    start_box(planner, plan + 1, &waiting[--count]);
  }
}

/* Makes the plans of windows, one box after the other. Reduced loops are not split. */
static bool make_window_plans(Planner *planner, LoopPlans *plans, const Instruction *root) {
  int64_t boxes = box_count(root);
  for (int64_t box = 0; box < boxes; box++) {
    LoopPlan *plan = planner->plan = &plans->items[box];
    PlanResult made = PLAN_AGAIN;
    *plan = (LoopPlan){.arena = plans->items[0].arena};
    if (!start(planner, root, box)) return false;
    while (made == PLAN_AGAIN) made = visit_outputs(planner, root);
    if (made != PLAN_OK) return false;
    if (boxes > 1) add_addresses(planner, root);
    loop_plan_finish(plan);
    plans->count++;
  }
  return boxes > 0;
}

bool loop_plans(LoopPlans *plans, Arena *arena, const Instruction *root, IsInput *is_input,
                const void *data) {
  Planner planner = {
      .plan = &plans->items[0], .is_input = is_input, .data = data, .scratch = arena_new()};
  plans->count = 0;
  plans->items[0] = (LoopPlan){.arena = arena};
  bool backwards, windows = root->opcode == HLO_REDUCE_WINDOW;
  bool made = windows && cumulative_dimension(root, &backwards) < 0
                  ? make_window_plans(&planner, plans, root)
                  : start(&planner, loop_root(root), 0) && make_plans(&planner, plans, root);
  arena_free(planner.scratch);
  return made;
}

static bool is_parameter(const Instruction *instruction, const void *data) {
  (void)data;
  return instruction->opcode == HLO_PARAMETER;
}

bool loop_plans_fusion(LoopPlans *plans, Arena *arena, const Computation *computation) {
  return loop_plans(plans, arena, computation->root, is_parameter, NULL);
}

bool loop_plan_fusion(LoopPlan *plan, Arena *arena, const Computation *computation) {
  LoopPlans plans;
  if (!loop_plans_fusion(&plans, arena, computation)) return false;
  *plan = plans.items[0];
  return plans.count == 1;
}
