#include "lower/loop_plan.h"

#include <string.h>

#include "lower/gather_map.h"
#include "lower/reduction.h"

enum { MOST_NODES = 1024, TABLE_SIZE = 2 * MOST_NODES };

/* PLAN_SPLIT: if at all, then as two boxes. */
typedef enum PlanResult { PLAN_OK, PLAN_IMPOSSIBLE, PLAN_AGAIN, PLAN_SPLIT } PlanResult;

/* A node whose operands are being visited. */
typedef struct Visit {
  LoopNode *node;
  int next; /* operand */
} Visit;

/* Loops, and the root's index as they go. */
typedef struct Box {
  int rank;
  int64_t sizes[MAX_LOOPS];
  Affine map[MOST_DIMENSIONS];
} Box;

/* What the walk from the root down knows. */
typedef struct Planner {
  LoopPlan *plan;
  IsInput *is_input;
  const void *data;
  Affine *root_map; /* of the index that the walk starts with */
  int root_rank;
  LoopNode **table; /* of all nodes, by key and map */
  int depth;
  Visit *stack;       /* MOST_NODES of them */
  int split_loop;     /* of PLAN_SPLIT: the loop, and how many */
  int64_t split_step; /* of its steps are of the first box */
} Planner;

/* The shape of each result of a reduction, which is a tuple if there are several. */
static const Shape *reduce_leaf(const Shape *shape) {
  return shape_is_tuple(shape) ? shape->elements[0] : shape;
}

bool is_index_operation(Opcode opcode) {
  switch (opcode) {
  case HLO_BITCAST:
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

/* --- Affine arithmetic ------------------------------------------------------------------------ */

static void affine_add(Affine *sum, const Affine *x, int64_t factor) {
  sum->constant += x->constant * factor;
  for (int k = 0; k < MAX_LOOPS; k++) sum->coefficient[k] += x->coefficient[k] * factor;
  for (int s = 0; s < MOST_STARTS; s++) sum->start[s] += x->start[s] * factor;
}

static bool has_starts(const Affine *offset) {
  bool has = false;
  for (int s = 0; s < MOST_STARTS; s++) has |= offset->start[s] != 0;
  return has;
}

bool reads_anywhere(const LoopNode *node) {
  return node->kind == NODE_GATHERED || has_starts(&node->offset);
}

bool reads_parameter(const LoopNode *node, int parameter) {
  return (node->kind == NODE_INPUT || node->kind == NODE_GATHERED) &&
         node->instruction->parameter_number == parameter;
}

/* Replaces loop k by two loops, of which the inner one has `inner` steps, in the root's index. */
static PlanResult split_loop(Planner *planner, int k, int64_t inner) {
  LoopPlan *plan = planner->plan;
  if (plan->rank >= MOST_DIMENSIONS) return PLAN_IMPOSSIBLE; /* collapse_loops may insert two */
  for (int j = plan->rank; j > k + 1; j--) plan->sizes[j] = plan->sizes[j - 1];
  plan->sizes[k] /= inner;
  plan->sizes[k + 1] = inner;
  for (int i = 0; i < planner->root_rank; i++) {
    int64_t *coefficient = planner->root_map[i].coefficient;
    for (int j = plan->rank; j > k + 1; j--) coefficient[j] = coefficient[j - 1];
    coefficient[k + 1] = coefficient[k];
    coefficient[k] *= inner;
  }
  if (k >= plan->rank - plan->reduced) plan->reduced++;
  plan->rank++;
  return PLAN_AGAIN;
}

/* --- Reshape ---------------------------------------------------------------------------------- */

/*
** A group of dimensions of the result that a group of the operand's has the elements of: the
** operand's multi-index from the result's. `linear` is the position within the group; each of its
** terms must fall into one dimension of the operand. A loop that runs across several is split.
*/
static PlanResult delinearize(Planner *planner, const Affine *linear, const int64_t *dims,
                              int count, Affine *out) {
  LoopPlan *plan = planner->plan;
  int64_t stride[MAX_RANK], low[MAX_RANK], high[MAX_RANK], rest = linear->constant;
  if (has_starts(linear)) return PLAN_IMPOSSIBLE;
  for (int j = count - 1; j >= 0; j--) stride[j] = j == count - 1 ? 1 : stride[j + 1] * dims[j + 1];
  for (int j = 0; j < count; j++) {
    out[j] = (Affine){.constant = rest / stride[j]};
    rest %= stride[j];
    low[j] = high[j] = out[j].constant;
  }
  for (int k = 0; k < plan->rank; k++) {
    int64_t step = linear->coefficient[k], size = step < 0 ? -step : step;
    if (step == 0 || plan->sizes[k] == 1) continue;
    int j = 0;
    while (stride[j] > size) j++;
    if (size % stride[j]) return PLAN_IMPOSSIBLE;
    int64_t whole = stride[j] * dims[j];
    if (j > 0 && size * (plan->sizes[k] - 1) >= whole) {
      if (whole % size || plan->sizes[k] % (whole / size)) return PLAN_IMPOSSIBLE;
      return split_loop(planner, k, whole / size);
    }
    out[j].coefficient[k] = step / stride[j];
    *(step < 0 ? &low[j] : &high[j]) += step / stride[j] * (plan->sizes[k] - 1);
  }
  for (int j = 0; j < count; j++) {
    if (low[j] < 0 || high[j] >= dims[j]) return PLAN_IMPOSSIBLE; /* a carry between dimensions */
  }
  return PLAN_OK;
}

/* The dimensions [from, to) of `shape` that are not of size 1. */
static int real_dimensions(const Shape *shape, int from, int to, int *out) {
  int count = 0;
  for (int i = from; i < to; i++) {
    if (shape->dims[i] != 1) out[count++] = i;
  }
  return count;
}

static PlanResult map_group(Planner *planner, const Shape *result, const int *from, int from_count,
                            const Affine *map, const Shape *operand, const int *to, int to_count,
                            Affine *out) {
  Affine linear = {0}, parts[MAX_RANK];
  int64_t dims[MAX_RANK], stride = 1;
  for (int i = from_count - 1; i >= 0; i--) {
    affine_add(&linear, &map[from[i]], stride);
    stride *= result->dims[from[i]];
  }
  for (int j = 0; j < to_count; j++) dims[j] = operand->dims[to[j]];
  if (to_count == 0) return PLAN_OK;
  if (to_count == 1) {
    out[to[0]] = linear;
    return PLAN_OK;
  }
  PlanResult made = delinearize(planner, &linear, dims, to_count, parts);
  for (int j = 0; made == PLAN_OK && j < to_count; j++) out[to[j]] = parts[j];
  return made;
}

/* Matches dimensions from the left: a group ends where both sides have as many elements. */
static PlanResult map_reshape(Planner *planner, const Shape *result, const Affine *map,
                              const Shape *operand, Affine *out) {
  int i = 0, j = 0;
  int from[MAX_RANK], to[MAX_RANK];
  while (i < result->rank || j < operand->rank) {
    int first_i = i, first_j = j;
    int64_t left = i < result->rank ? result->dims[i++] : 1;
    int64_t right = j < operand->rank ? operand->dims[j++] : 1;
    while (left != right) {
      if (left < right) {
        left *= result->dims[i++];
      } else {
        right *= operand->dims[j++];
      }
    }
    int from_count = real_dimensions(result, first_i, i, from);
    int to_count = real_dimensions(operand, first_j, j, to);
    PlanResult made = map_group(planner, result, from, from_count, map, operand, to, to_count, out);
    if (made != PLAN_OK) return made;
  }
  return PLAN_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* Where the table has the node of that key and map, or has room for it. */
static LoopNode **find_slot(const Planner *planner, const Instruction *key, const Affine *map) {
  size_t size = sizeof *map * (size_t)key->shape->rank;
  uint32_t hash = (uint32_t)(uintptr_t)key >> 4;
  const int64_t *words = (const int64_t *)map;
  for (size_t i = 0; i < size / sizeof *words; i++) hash = (hash ^ (uint32_t)words[i]) * 16777619;
  for (uint32_t at = hash ^ hash >> 15;; at++) {
    LoopNode **slot = &planner->table[at % TABLE_SIZE];
    if (!*slot) return slot;
    if ((*slot)->key == key && (size == 0 || !memcmp((*slot)->map, map, size))) return slot;
  }
}

static LoopNode *new_node(LoopPlan *plan, const Instruction *key, const Affine *map) {
  LoopNode *node = ARENA_NEW(plan->arena, LoopNode);
  *node = (LoopNode){.instruction = key, .operand_count = key->operand_count, .key = key};
  node->operands = ARENA_ARRAY(plan->arena, LoopNode *, key->operand_count);
  node->map = arena_copy(plan->arena, map, sizeof *map * (size_t)key->shape->rank);
  return node;
}

static void add_node(LoopPlan *plan, LoopNode *node) {
  node->id = plan->count;
  ARENA_PUSH(plan->arena, plan->nodes, plan->count, plan->capacity, node);
}

static Affine linear_offset(const Shape *shape, const Affine *map) {
  Affine offset = {0};
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    affine_add(&offset, &map[i], stride);
    stride *= shape->dims[i];
  }
  return offset;
}

/* The node of an input's element, or of that of an input that `key` reshapes: where its elements are does
** not depend on the input's dimensions. */
static LoopNode *input_node(const Planner *planner, const Instruction *key, const Affine *map,
                            const Instruction *input) {
  LoopNode **slot = find_slot(planner, key, map);
  if (*slot) return *slot;
  LoopNode *node = *slot = new_node(planner->plan, key, map);
  node->kind = NODE_INPUT;
  node->instruction = input;
  node->operand_count = 0;
  node->offset = linear_offset(key->shape, map);
  add_node(planner->plan, node);
  return node;
}

/* --- Dynamic slices --------------------------------------------------------------------------- */

/* The start of a dimension of a dynamic slice, as part of the operand's index there. It is read before
** the loops: what computes it is not in them. */
static PlanResult add_start(Planner *planner, const Instruction *index, int64_t limit,
                            Affine *map) {
  LoopPlan *plan = planner->plan;
  Affine first[MOST_DIMENSIONS] = {{0}};
  if (limit == 0) return PLAN_OK;
  while (!planner->is_input(index, planner->data)) {
    if (index->opcode != HLO_RESHAPE && index->opcode != HLO_COPY) return PLAN_IMPOSSIBLE;
    index = index->operands[0];
  }
  if (plan->count + planner->depth >= MOST_NODES) return PLAN_IMPOSSIBLE;
  const LoopNode *leaf = input_node(planner, index, first, index);
  int s = 0;
  while (s < plan->start_count &&
         (plan->starts[s].leaf != leaf || plan->starts[s].limit != limit)) {
    s++;
  }
  if (s == MOST_STARTS) return PLAN_IMPOSSIBLE;
  if (s == plan->start_count) plan->starts[plan->start_count++] = (LoopStart){leaf, limit};
  map->start[s]++;
  return PLAN_OK;
}

/* --- Concatenations and padding --------------------------------------------------------------- */

/* Whether an index is below a bound, if that is so for all elements of the box, or for none. */
static PlanResult is_below(Planner *planner, const Affine *index, int64_t bound, bool *below) {
  const LoopPlan *plan = planner->plan;
  int64_t low = index->constant, high = low, step = 0;
  int loops = 0;
  for (int k = 0; k < plan->rank; k++) {
    int64_t span = index->coefficient[k] * (plan->sizes[k] - 1);
    *(span < 0 ? &low : &high) += span;
    if (span == 0) continue;
    planner->split_loop = k;
    step = index->coefficient[k];
    loops++;
  }
  *below = high < bound;
  if (has_starts(index)) return PLAN_IMPOSSIBLE;
  if (*below || low >= bound) return PLAN_OK;
  if (loops > 1 || plan->reduce) return PLAN_IMPOSSIBLE; /* what is reduced is of one kind */
  planner->split_step =
      step > 0 ? (bound - index->constant + step - 1) / step : (bound - index->constant) / step + 1;
  return PLAN_SPLIT;
}

static PlanResult map_concatenate(Planner *planner, const Instruction *x, Affine *index,
                                  const Instruction **operand) {
  int64_t dimension = x->a.dimensions.items[0];
  bool found = false;
  PlanResult made = PLAN_OK;
  for (int i = 0; i < x->operand_count && made == PLAN_OK && !found; i++) {
    *operand = x->operands[i];
    made = is_below(planner, index, (*operand)->shape->dims[dimension], &found);
    if (!found) index->constant -= (*operand)->shape->dims[dimension];
  }
  return made;
}

/* The operand is the one that is padded, or what it is padded with, whose index has no dimensions. */
static PlanResult map_pad(Planner *planner, const Instruction *x, Affine *out,
                          const Instruction **operand) {
  bool is_inside = true;
  PlanResult made = PLAN_OK;
  for (int d = 0; d < x->shape->rank && made == PLAN_OK && is_inside; d++) {
    bool is_before, is_in;
    out[d].constant -= x->a.padding.items[d].low;
    made = is_below(planner, &out[d], 0, &is_before);
    if (made == PLAN_OK) made = is_below(planner, &out[d], (*operand)->shape->dims[d], &is_in);
    is_inside = made == PLAN_OK && is_in && !is_before;
  }
  if (!is_inside) *operand = x->operands[1];
  return made;
}

/* --- Index operations ------------------------------------------------------------------------- */

/* The index of the operand's element that is the result's element at `map`; which operand, if it is not the
** first. */
static PlanResult operand_map(Planner *planner, const Instruction *instruction, const Affine *map,
                              Affine *out, const Instruction **from) {
  const Shape *shape = instruction->shape, *operand = instruction->operands[0]->shape;
  const Attributes *a = &instruction->a;
  PlanResult made = PLAN_OK;
  switch (instruction->opcode) {
  case HLO_BROADCAST:
    for (int i = 0; i < operand->rank; i++) out[i] = map[a->dimensions.items[i]];
    return PLAN_OK;
  case HLO_TRANSPOSE:
    for (int i = 0; i < shape->rank; i++) out[a->dimensions.items[i]] = map[i];
    return PLAN_OK;
  case HLO_SLICE:
    for (int i = 0; i < shape->rank; i++) {
      out[i] = (Affine){.constant = a->slice.items[i].start};
      affine_add(&out[i], &map[i], a->slice.items[i].stride);
    }
    return PLAN_OK;
  case HLO_REVERSE:
    memcpy(out, map, sizeof *out * (size_t)shape->rank);
    for (int i = 0; i < a->dimensions.count; i++) {
      int64_t dimension = a->dimensions.items[i];
      out[dimension] = (Affine){.constant = shape->dims[dimension] - 1};
      affine_add(&out[dimension], &map[dimension], -1);
    }
    return PLAN_OK;
  case HLO_DYNAMIC_SLICE:
    for (int i = 0; i < shape->rank && made == PLAN_OK; i++) {
      out[i] = map[i];
      made = add_start(planner, instruction->operands[1 + i], operand->dims[i] - shape->dims[i],
                       &out[i]);
    }
    return made;
  case HLO_CONCATENATE:
  case HLO_COPY:
  case HLO_PAD:
    memcpy(out, map, sizeof *out * (size_t)shape->rank);
    if (instruction->opcode == HLO_PAD) return map_pad(planner, instruction, out, from);
    if (instruction->opcode == HLO_COPY) return PLAN_OK;
    return map_concatenate(planner, instruction, &out[a->dimensions.items[0]], from);
  default: return map_reshape(planner, shape, map, operand, out); /* reshape, bitcast */
  }
}

/* --- Gathers ---------------------------------------------------------------------------------- */

/* The node reads the array, which is there before the loops; its operands are the index's components. */
static PlanResult set_gathered(const Planner *planner, LoopNode *node, const Affine *map) {
  const Instruction *gather = node->key, *array = gather->operands[0];
  Arena *arena = planner->plan->arena;
  Affine at[MOST_DIMENSIONS], index[MOST_DIMENSIONS];
  int64_t strides[MAX_RANK];
  if (!planner->is_input(array, planner->data)) return PLAN_IMPOSSIBLE;
  gather_map(gather, map, at, index);
  shape_strides(array->shape, strides);
  node->kind = NODE_GATHERED;
  node->instruction = array;
  node->offset = linear_offset(array->shape, at);
  int count = node->operand_count = gather->a.start_index_map.count;
  node->operands = ARENA_ARRAY(arena, LoopNode *, count);
  node->limits = ARENA_ARRAY(arena, int64_t, count);
  node->strides = ARENA_ARRAY(arena, int64_t, count);
  for (int k = 0; k < count; k++) {
    node->limits[k] = gather_limit(gather, k);
    node->strides[k] = strides[gather->a.start_index_map.items[k]];
  }
  return PLAN_OK;
}

static PlanResult enter(Planner *planner, const Instruction *instruction, const Affine *map,
                        LoopNode **out);

static PlanResult enter_component(Planner *planner, const LoopNode *node, int component,
                                  LoopNode **out) {
  Affine at[MOST_DIMENSIONS], index[MOST_DIMENSIONS];
  gather_map(node->key, node->map, at, index);
  int64_t vector = node->key->a.index_vector_dim;
  if (vector < node->key->operands[1]->shape->rank) index[vector] = (Affine){.constant = component};
  return enter(planner, node->key->operands[1], index, out);
}

/* --- The walk --------------------------------------------------------------------------------- */

/*
** Goes through index operations, to what computes or holds the element of `*at` at `map`, which is then
** in `maps[0]` or `maps[1]` if not still in `map`. `*node` is set, and all is done, where that is an
** input behind a reshape.
*/
static PlanResult skip_index_operations(Planner *planner, const Instruction **at,
                                        const Affine **map, Affine maps[2][MOST_DIMENSIONS],
                                        LoopNode **node) {
  for (int turn = 0; !planner->is_input(*at, planner->data) && is_index_operation((*at)->opcode);
       turn ^= 1) {
    const Instruction *operand = (*at)->operands[0];
    bool reshapes = (*at)->opcode == HLO_RESHAPE || (*at)->opcode == HLO_BITCAST;
    if (reshapes && planner->is_input(operand, planner->data)) {
      *node = input_node(planner, *at, *map, operand);
      return PLAN_OK;
    }
    memset(maps[turn], 0, sizeof *maps[turn] * (size_t)operand->shape->rank);
    PlanResult made = operand_map(planner, *at, *map, maps[turn], &operand);
    if (made != PLAN_OK) return made;
    *at = operand;
    *map = maps[turn];
  }
  return PLAN_OK;
}

/* The node of an instruction's element, which is put on the stack if it is new and has operands. */
static PlanResult enter(Planner *planner, const Instruction *instruction, const Affine *map,
                        LoopNode **out) {
  LoopPlan *plan = planner->plan;
  Affine maps[2][MOST_DIMENSIONS];
  if (plan->count + planner->depth >= MOST_NODES) return PLAN_IMPOSSIBLE;
  *out = NULL;
  PlanResult made = skip_index_operations(planner, &instruction, &map, maps, out);
  if (made != PLAN_OK || *out) return made;
  LoopNode **slot = find_slot(planner, instruction, map);
  *out = *slot;
  if (*out) return PLAN_OK;
  LoopNode *node = *out = *slot = new_node(plan, instruction, map);
  if (planner->is_input(instruction, planner->data)) {
    node->kind = NODE_INPUT;
    node->operand_count = 0;
    node->offset = linear_offset(instruction->shape, map);
  } else if (instruction->opcode == HLO_IOTA) {
    node->kind = NODE_IOTA;
    node->offset = map[instruction->a.iota_dimension];
  } else if (instruction->opcode == HLO_CONSTANT) {
    node->kind = NODE_CONSTANT;
  } else if (instruction->opcode == HLO_GATHER) {
    made = set_gathered(planner, node, map);
  }
  planner->stack[planner->depth++] = (Visit){node, 0};
  return made;
}

/* Depth first, operands before users. The stack is the planner's own: programs are as deep as their
** authors like, and the machine's stack is not. */
static PlanResult visit(Planner *planner, const Instruction *instruction, const Affine *map,
                        LoopNode **out) {
  PlanResult made = enter(planner, instruction, map, out);
  while (made == PLAN_OK && planner->depth > 0) {
    Visit *top = &planner->stack[planner->depth - 1];
    LoopNode *node = top->node;
    if (top->next == node->operand_count) {
      planner->depth--;
      add_node(planner->plan, node);
      continue;
    }
    /* Operands have the result's index, but for select's and clamp's scalars, which have none. */
    int k = top->next++;
    if (node->kind == NODE_GATHERED) {
      made = enter_component(planner, node, k, &node->operands[k]);
    } else {
      made = enter(planner, node->instruction->operands[k], node->map, &node->operands[k]);
    }
  }
  return made;
}

static bool has_offset(const LoopNode *node) { return node->kind != NODE_OPERATION; }

/* --- The loops -------------------------------------------------------------------------------- */

/* Whether the loops k and k+1 walk through every array as one loop would. */
static bool is_contiguous(const LoopPlan *plan, int k) {
  if (k + 1 == plan->rank - plan->reduced) return false;
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

/* A loop of one step, so that there is one to write code for. */
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

/* Loops of one step go, and neighbours that are contiguous everywhere become one. */
static void collapse_loops(LoopPlan *plan) {
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
  if (leaf->kind == NODE_RESULT) return LEVEL_ELEMENT; /* so that it has a pointer */
  if (offset->coefficient[plan->lane_loop] || offset->coefficient[plan->time_loop]) {
    return LEVEL_ELEMENT;
  }
  for (int k = 0; k < plan->rank; k++) {
    if (offset->coefficient[k]) return LEVEL_ROW;
  }
  return reads_anywhere(leaf) ? LEVEL_ROW : LEVEL_CALL; /* pointers are made row by row */
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

static void count_uses(LoopPlan *plan) {
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    for (int k = 0; k < node->operand_count; k++) node->operands[k]->uses++;
  }
  for (int i = 0; i < plan->output_count; i++) {
    plan->outputs[i]->uses++;
    if (plan->inits) plan->inits[i]->uses++;
  }
}

/* --- Reductions ------------------------------------------------------------------------------- */

/* The nodes of the computation that combines: all scalars, so that there is no index to map. */
static void add_combiner(LoopPlan *plan, const Computation *computation) {
  const Instruction *root = computation->root;
  plan->combine = ARENA_ARRAY(plan->arena, LoopNode *, computation->count);
  plan->combined = ARENA_ARRAY(plan->arena, LoopNode *, plan->output_count);
  for (int i = 0; i < computation->count; i++) {
    const Instruction *instruction = computation->instructions[i];
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

/* --- The whole -------------------------------------------------------------------------------- */

/* One more loop, along which a dimension of the root's index goes in steps. */
static void add_loop(Planner *planner, int64_t size, int dimension, int64_t step) {
  LoopPlan *plan = planner->plan;
  plan->sizes[plan->rank] = size;
  planner->root_map[dimension].coefficient[plan->rank++] = step;
}

/* reduce: the loops of the result, then those that are reduced. */
static void start_reduce(Planner *planner, const Instruction *reduce) {
  const Shape *shape = reduce->operands[0]->shape;
  bool reduced[MOST_DIMENSIONS] = {false};
  for (int i = 0; i < reduce->a.dimensions.count; i++)
    reduced[reduce->a.dimensions.items[i]] = true;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < shape->rank; i++) {
      if (reduced[i] == (pass == 1)) add_loop(planner, shape->dims[i], i, 1);
    }
  }
  planner->plan->reduced = reduce->a.dimensions.count;
}

/* reduce-window: the loops of the result, then those of the window. */
static void start_reduce_window(Planner *planner, const Instruction *reduce) {
  const Shape *result = reduce_leaf(reduce->shape);
  const Window *window = &reduce->a.window;
  for (int i = 0; i < result->rank; i++) {
    add_loop(planner, result->dims[i], i, window->items[i].stride);
    planner->root_map[i].constant = -window->items[i].padding_low;
  }
  for (int i = 0; i < result->rank; i++) {
    if (window->items[i].size == 1) continue;
    add_loop(planner, window->items[i].size, i, window->items[i].window_dilation);
    planner->plan->reduced++;
  }
}

/* A cumulative reduce-window: the loops of all dimensions but the one along which it accumulates,
** and then that one's. */
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

/* The loops, and the index into the root's operands (a reduction) or the root itself. */
static bool start(Planner *planner, const Instruction *root) {
  LoopPlan *plan = planner->plan;
  bool reduces = root->opcode == HLO_REDUCE || root->opcode == HLO_REDUCE_WINDOW;
  bool has_operands = reduces || root->opcode == HLO_TUPLE_OP;
  const Shape *shape = has_operands ? root->operands[0]->shape : root->shape;
  bool backwards;
  int along = cumulative_dimension(root, &backwards);
  int windows = root->opcode == HLO_REDUCE_WINDOW && along < 0 ? shape->rank : 0;
  if (shape->rank + windows > MOST_DIMENSIONS) return false;
  planner->root_rank = shape->rank;
  planner->root_map = ARENA_ARRAY(plan->arena, Affine, shape->rank);
  plan->reduce = reduces ? root : NULL;
  if (root->opcode == HLO_REDUCE) {
    start_reduce(planner, root);
  } else if (along >= 0) {
    start_cumulative(planner, root, along, backwards);
  } else if (root->opcode == HLO_REDUCE_WINDOW) {
    start_reduce_window(planner, root);
  } else {
    for (int i = 0; i < shape->rank; i++) add_loop(planner, shape->dims[i], i, 1);
  }
  for (int k = 0; k < plan->rank; k++) {
    if (plan->sizes[k] == 0) return false;
  }
  return true;
}

/* The element of result `number` at the root's index. */
static LoopNode *new_place(const Planner *planner, const Instruction *operand, int number) {
  LoopPlan *plan = planner->plan;
  LoopNode *place = ARENA_NEW(plan->arena, LoopNode);
  *place = (LoopNode){.kind = NODE_RESULT, .instruction = operand, .result = number};
  place->offset = linear_offset(operand->shape, planner->root_map);
  add_node(plan, place);
  return place;
}

static PlanResult visit_outputs(Planner *planner, const Instruction *root) {
  LoopPlan *plan = planner->plan;
  bool several = plan->reduce || root->opcode == HLO_TUPLE_OP;
  int count = plan->reduce ? root->operand_count / 2 : several ? root->operand_count : 1;
  plan->count = plan->start_count = planner->depth = 0;
  memset(planner->table, 0, sizeof *planner->table * TABLE_SIZE);
  plan->output_count = count;
  plan->outputs = ARENA_ARRAY(plan->arena, LoopNode *, count);
  for (int i = 0; i < count; i++) {
    const Instruction *output = several ? root->operands[i] : root;
    PlanResult made = visit(planner, output, planner->root_map, &plan->outputs[i]);
    if (made != PLAN_OK) return made;
  }
  if (!plan->reduce) return PLAN_OK;
  plan->inits = ARENA_ARRAY(plan->arena, LoopNode *, count);
  for (int i = 0; i < count; i++) {
    int starts = plan->start_count;
    PlanResult made = visit(planner, root->operands[count + i], &(Affine){0}, &plan->inits[i]);
    if (made != PLAN_OK) return made;
    if (plan->start_count > starts) return PLAN_IMPOSSIBLE; /* it is there before any row */
  }
  bool backwards;
  if (cumulative_dimension(root, &backwards) < 0) return PLAN_OK;
  plan->places = ARENA_ARRAY(plan->arena, LoopNode *, count);
  for (int i = 0; i < count; i++) plan->places[i] = new_place(planner, root->operands[i], i);
  return PLAN_OK;
}

void loop_plan_finish(LoopPlan *plan) {
  collapse_loops(plan);
  loop_plan_reorder(plan, plan->rank - 1, plan->rank - 1);
  count_uses(plan);
  if (plan->reduce) add_combiner(plan, plan->reduce->a.to_apply);
}

int64_t loop_plan_steps(const LoopPlan *plan) {
  int64_t steps = 1;
  for (int k = 0; k < plan->rank; k++) steps *= plan->sizes[k];
  return steps;
}

/* --- Boxes ------------------------------------------------------------------------------------ */

/* Takes the steps of a loop from the split on, and leaves those before. */
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

bool loop_plans(LoopPlans *plans, Arena *arena, const Instruction *root, IsInput *is_input,
                const void *data) {
  Planner planner = {.plan = &plans->items[0], .is_input = is_input, .data = data};
  Box *waiting = NULL;
  int count = 0, capacity = 0;
  bool is_part = false;
  plans->count = 0;
  plans->items[0] = (LoopPlan){.arena = arena};
  if (!start(&planner, root)) return false;
  planner.table = ARENA_ARRAY(arena, LoopNode *, TABLE_SIZE);
  planner.stack = ARENA_ARRAY(arena, Visit, MOST_NODES);
  for (;;) {
    LoopPlan *plan = planner.plan;
    PlanResult made = visit_outputs(&planner, root);
    if (made == PLAN_IMPOSSIBLE) return false;
    if (made == PLAN_SPLIT) {
      if (plans->count + count + 2 > MOST_BOXES || root->opcode == HLO_TUPLE_OP) return false;
      is_part = true;
      ARENA_PUSH(arena, waiting, count, capacity, cut_box(&planner));
    }
    if (made != PLAN_OK) continue;
    if (is_part) {
      plan->places = ARENA_ARRAY(arena, LoopNode *, 1);
      plan->places[0] = new_place(&planner, root, 0);
    }
    loop_plan_finish(plan);
    plans->count++;
    if (count == 0) return true;
    start_box(&planner, plan + 1, &waiting[--count]);
  }
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
