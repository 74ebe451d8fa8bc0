#include "plan/loop_walk.h"

#include <string.h>

#include "plan/gather_map.h"

/* Threshold MAX_NODES. Test: "a chain of ${n} operations" in core/thresholds.test.mjs. */
enum { MAX_NODES = 1024 };

/* --- Affine arithmetic ------------------------------------------------------------------------ */

static void affine_add(Affine *sum, const Affine *x, int64_t factor) {
  sum->constant += x->constant * factor;
  for (int k = 0; k < MAX_LOOPS; k++) sum->coefficient[k] += x->coefficient[k] * factor;
  for (int s = 0; s < MAX_STARTS; s++) sum->start[s] += x->start[s] * factor;
}

static void split_map(Affine *map, int map_rank, int rank, int k, int64_t inner) {
  for (int i = 0; i < map_rank; i++) {
    int64_t *coefficient = map[i].coefficient;
    for (int j = rank; j > k + 1; j--) coefficient[j] = coefficient[j - 1];
    coefficient[k + 1] = coefficient[k];
    coefficient[k] *= inner;
  }
}

/* Replaces loop k in the root's index by two loops, the inner one of `inner` steps. */
static PlanResult split_loop(Planner *planner, int k, int64_t inner) {
  LoopPlan *plan = planner->plan;
  if (plan->rank >= MAX_DIMENSIONS) return PLAN_IMPOSSIBLE; /* collapse_loops may insert two */
  for (int j = plan->rank; j > k + 1; j--) plan->sizes[j] = plan->sizes[j - 1];
  plan->sizes[k] /= inner;
  plan->sizes[k + 1] = inner;
  split_map(planner->root_map, planner->root_rank, plan->rank, k, inner);
  if (planner->result_map != planner->root_map) {
    split_map(planner->result_map, planner->root_rank, plan->rank, k, inner);
  }
  if (k >= plan->rank - plan->reduced) plan->reduced++;
  plan->rank++;
  return PLAN_AGAIN;
}

/* --- Reshape ---------------------------------------------------------------------------------- */

/*
** Maps a group of the result's dimensions to the group of the operand's dimensions with the same elements.
** `linear` is the position within the group. Each of its terms must fall into one dimension of the operand; a
** loop that runs across several is split.
*/
static PlanResult delinearize(Planner *planner, const Affine *linear, const int64_t *dims,
                              int count, Affine *out) {
  LoopPlan *plan = planner->plan;
  int64_t stride[MAX_RANK], low[MAX_RANK], high[MAX_RANK], rest = linear->constant;
  if (affine_has_starts(linear)) return PLAN_IMPOSSIBLE;
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

/* Lists the dimensions [from, to) of `shape` that are not of size 1. */
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

void loop_walk_begin(Planner *planner) {
  planner->plan->count = planner->plan->start_count = planner->depth = 0;
  if (planner->slots) memset(planner->table, 0, sizeof *planner->table * planner->slots);
}

static uint32_t hash_of(const LoopPlan *plan, const Instruction *key, const Affine *map) {
  uint32_t hash = (uint32_t)(uintptr_t)key >> 4;
  for (int i = 0; i < key->shape->rank; i++) {
    hash = (hash ^ (uint32_t)map[i].constant) * 16777619;
    for (int k = 0; k < plan->rank; k++) {
      hash = (hash ^ (uint32_t)map[i].coefficient[k]) * 16777619;
    }
  }
  return hash ^ hash >> 15;
}

/* Doubles the table. */
static void grow_table(Planner *planner) {
  /* Slots of a table at first. */
  enum { FIRST_SLOTS = 32 };
  LoopNode **table = planner->table;
  uint32_t slots = planner->slots;
  planner->slots = slots ? 2 * slots : FIRST_SLOTS;
  planner->table = ARENA_ARRAY(planner->scratch, LoopNode *, planner->slots);
  for (uint32_t i = 0; i < slots; i++) {
    if (!table[i]) continue;
    uint32_t at = table[i]->hash;
    while (planner->table[at & (planner->slots - 1)]) at++;
    planner->table[at & (planner->slots - 1)] = table[i];
  }
}

/* Returns the table's slot of the node with that key and map, or a free one. */
static LoopNode **find_slot(Planner *planner, const Instruction *key, const Affine *map) {
  int nodes = planner->plan->count + planner->depth; /* all are in the plan or on the stack */
  if (2 * (uint32_t)nodes >= planner->slots) grow_table(planner);
  size_t size = sizeof *map * (size_t)key->shape->rank;
  uint32_t hash = hash_of(planner->plan, key, map);
  for (uint32_t at = hash;; at++) {
    LoopNode **slot = &planner->table[at & (planner->slots - 1)];
    const LoopNode *node = *slot;
    if (!node) {
      planner->hash = hash;
      return slot;
    }
    if (node->hash == hash && node->key == key && (!size || !memcmp(node->map, map, size)))
      return slot;
  }
}

/* Makes a node for the slot that was found last. */
static LoopNode *new_node(const Planner *planner, const Instruction *key, const Affine *map) {
  const LoopPlan *plan = planner->plan;
  LoopNode *node = ARENA_NEW(plan->arena, LoopNode);
  *node = (LoopNode){.instruction = key, .operand_count = key->operand_count, .key = key};
  node->hash = planner->hash;
  node->operands = ARENA_ARRAY(plan->arena, LoopNode *, key->operand_count);
  node->map = arena_copy(planner->scratch, map, sizeof *map * (size_t)key->shape->rank);
  return node;
}

Affine linear_offset(const Shape *shape, const Affine *map) {
  Affine offset = {0};
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    affine_add(&offset, &map[i], stride);
    stride *= shape->dims[i];
  }
  return offset;
}

/* Whether an instruction is an array in memory, packed or not. */
static bool is_read(const Planner *planner, const Instruction *x) {
  return planner->is_input(x, planner->data) ||
         (is_unpacking(x) && planner->is_input(x->operands[0], planner->data));
}

static void set_array(const Planner *planner, LoopNode *node, const Instruction *array) {
  node->instruction = array;
  node->packed = !planner->is_input(array, planner->data);
}

/* Returns the node of an input's element. `key` may be a reshape of the input, as addresses do not depend on the
** input's dimensions. */
static LoopNode *input_node(Planner *planner, const Instruction *key, const Affine *map,
                            const Instruction *input) {
  LoopNode **slot = find_slot(planner, key, map);
  if (*slot) return *slot;
  LoopNode *node = *slot = new_node(planner, key, map);
  node->kind = NODE_INPUT;
  set_array(planner, node, input);
  node->operand_count = 0;
  node->offset = linear_offset(key->shape, map);
  loop_plan_add(planner->plan, node);
  return node;
}

/* --- Dynamic slices --------------------------------------------------------------------------- */

/* Adds the start of a dynamic slice's dimension to the operand's index. It is read before the loops, so it
** must not be computed in them. */
static PlanResult add_start(Planner *planner, const Instruction *slice, int d, Affine *map) {
  const Instruction *index = slice->operands[1 + d];
  int64_t limit = slice->operands[0]->shape->dims[d] - slice->shape->dims[d];
  LoopPlan *plan = planner->plan;
  Affine first[MAX_DIMENSIONS] = {{0}};
  if (limit == 0) return PLAN_OK;
  while (!planner->is_input(index, planner->data)) {
    if (index->opcode != HLO_RESHAPE && index->opcode != HLO_COPY) return PLAN_IMPOSSIBLE;
    index = index->operands[0];
  }
  if (plan->count + planner->depth >= MAX_NODES) return PLAN_IMPOSSIBLE;
  const LoopNode *leaf = input_node(planner, index, first, index);
  int s = 0;
  while (s < plan->start_count &&
         (plan->starts[s].leaf != leaf || plan->starts[s].max_start != limit)) {
    s++;
  }
  if (s == MAX_STARTS) return PLAN_IMPOSSIBLE;
  if (s == plan->start_count) plan->starts[plan->start_count++] = (LoopStart){leaf, limit, false};
  plan->starts[s].in_range |= slice->a->derived.starts_in_range;
  map->start[s]++;
  return PLAN_OK;
}

/* --- Concatenations and padding --------------------------------------------------------------- */

/* Finds whether an index is below a bound for all elements of the box or for none; otherwise the box is split. */
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
  if (affine_has_starts(index)) return PLAN_IMPOSSIBLE;
  if (*below || low >= bound) return PLAN_OK;
  if (loops > 1 || plan->reduce) return PLAN_IMPOSSIBLE; /* reduced loops are not split */
  planner->split_step =
      step > 0 ? (bound - index->constant + step - 1) / step : (bound - index->constant) / step + 1;
  return PLAN_SPLIT;
}

static PlanResult map_concatenate(Planner *planner, const Instruction *x, Affine *index,
                                  const Instruction **operand) {
  int64_t dimension = x->a->dimensions.items[0];
  bool found = false;
  PlanResult made = PLAN_OK;
  for (int i = 0; i < x->operand_count && made == PLAN_OK && !found; i++) {
    *operand = x->operands[i];
    made = is_below(planner, index, (*operand)->shape->dims[dimension], &found);
    if (!found) index->constant -= (*operand)->shape->dims[dimension];
  }
  return made;
}

/* Maps an element of a pad to the padded operand or to the scalar padding value. */
static PlanResult map_pad(Planner *planner, const Instruction *x, Affine *out,
                          const Instruction **operand) {
  bool is_inside = true;
  PlanResult made = PLAN_OK;
  for (int d = 0; d < x->shape->rank && made == PLAN_OK && is_inside; d++) {
    bool is_before, is_in;
    out[d].constant -= x->a->padding.items[d].low;
    made = is_below(planner, &out[d], 0, &is_before);
    if (made == PLAN_OK) made = is_below(planner, &out[d], (*operand)->shape->dims[d], &is_in);
    is_inside = made == PLAN_OK && is_in && !is_before;
  }
  if (!is_inside) *operand = x->operands[1];
  return made;
}

/* --- Index operations ------------------------------------------------------------------------- */

/* Finds the index of the operand's element that is the result's element at `map`, and the operand if it is not
** the first. */
static PlanResult operand_map(Planner *planner, const Instruction *instruction, const Affine *map,
                              Affine *out, const Instruction **from) {
  const Shape *shape = instruction->shape, *operand = instruction->operands[0]->shape;
  const Attributes *a = instruction->a;
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
      made = add_start(planner, instruction, i, &out[i]);
    }
    return made;
  case HLO_CONCATENATE:
  case HLO_COPY:
  case HLO_PAD:
    memcpy(out, map, sizeof *out * (size_t)shape->rank);
    if (instruction->opcode == HLO_PAD) return map_pad(planner, instruction, out, from);
    if (instruction->opcode != HLO_CONCATENATE) return PLAN_OK;
    return map_concatenate(planner, instruction, &out[a->dimensions.items[0]], from);
  default: return map_reshape(planner, shape, map, operand, out); /* reshape */
  }
}

/* --- Gathers ---------------------------------------------------------------------------------- */

/* Makes a node that reads an array computed before the loops, at an index whose components are its operands. */
static PlanResult set_gathered(const Planner *planner, LoopNode *node, const Affine *map) {
  const Instruction *gather = node->key, *array = gather->operands[0];
  Arena *arena = planner->plan->arena;
  Affine at[MAX_DIMENSIONS], index[MAX_DIMENSIONS];
  int64_t strides[MAX_RANK];
  gather_map(gather, map, at, index);
  shape_strides(array->shape, strides);
  bool is_reshape = array->opcode == HLO_RESHAPE && !planner->is_input(array, planner->data);
  if (is_reshape) array = array->operands[0]; /* in the same order */
  if (!is_read(planner, array)) return PLAN_IMPOSSIBLE;
  node->kind = NODE_GATHERED;
  set_array(planner, node, array);
  node->offset = linear_offset(gather->operands[0]->shape, at);
  int count = node->operand_count = gather->a->start_index_map.count;
  node->operands = ARENA_ARRAY(arena, LoopNode *, count);
  node->limits = ARENA_ARRAY(arena, int64_t, count);
  node->strides = ARENA_ARRAY(arena, int64_t, count);
  for (int k = 0; k < count; k++) {
    node->limits[k] = gather_limit(gather, k);
    node->strides[k] = strides[gather->a->start_index_map.items[k]];
  }
  return PLAN_OK;
}

static PlanResult enter(Planner *planner, const Instruction *instruction, const Affine *map,
                        LoopNode **out);

static PlanResult enter_component(Planner *planner, const LoopNode *node, int component,
                                  LoopNode **out) {
  Affine at[MAX_DIMENSIONS], index[MAX_DIMENSIONS];
  gather_map(node->key, node->map, at, index);
  int64_t vector = node->key->a->index_vector_dim;
  if (vector < node->key->operands[1]->shape->rank) index[vector] = (Affine){.constant = component};
  return enter(planner, node->key->operands[1], index, out);
}

/* --- The walk --------------------------------------------------------------------------------- */

/*
** Follows index operations from `*at` at `map` to the instruction that computes or holds the element. The new
** map is in `maps[0]` or `maps[1]`, or still in `map`. An input reached through a reshape needs no further
** visit: then `*node` is set.
*/
static PlanResult skip_index_operations(Planner *planner, const Instruction **at,
                                        const Affine **map, Affine maps[2][MAX_DIMENSIONS],
                                        LoopNode **node) {
  for (int turn = 0; !planner->is_input(*at, planner->data) && is_index_operation((*at)->opcode);
       turn ^= 1) {
    const Instruction *operand = (*at)->operands[0];
    if ((*at)->opcode == HLO_RESHAPE && is_read(planner, operand)) {
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

/* Finds the node of an instruction's element. A new one with operands goes onto the stack. */
static PlanResult enter(Planner *planner, const Instruction *instruction, const Affine *map,
                        LoopNode **out) {
  LoopPlan *plan = planner->plan;
  Affine maps[2][MAX_DIMENSIONS];
  if (plan->count + planner->depth >= MAX_NODES) return PLAN_IMPOSSIBLE;
  *out = NULL;
  PlanResult made = skip_index_operations(planner, &instruction, &map, maps, out);
  if (made != PLAN_OK || *out) return made;
  LoopNode **slot = find_slot(planner, instruction, map);
  *out = *slot;
  if (*out) return PLAN_OK;
  LoopNode *node = *out = *slot = new_node(planner, instruction, map);
  if (is_read(planner, instruction)) {
    node->kind = NODE_INPUT;
    set_array(planner, node, instruction);
    node->operand_count = 0;
    node->offset = linear_offset(instruction->shape, map);
  } else if (instruction->opcode == HLO_IOTA) {
    node->kind = NODE_IOTA;
    node->offset = map[instruction->a->iota_dimension];
  } else if (instruction->opcode == HLO_CONSTANT) {
    node->kind = NODE_CONSTANT;
  } else if (instruction->opcode == HLO_GATHER) {
    made = set_gathered(planner, node, map);
  }
  ARENA_PUSH(planner->scratch, planner->stack, planner->depth, planner->depth_capacity,
             ((Visit){node, 0}));
  return made;
}

/* Walks depth first, operands before users. The stack is the planner's own, as programs may be deeper than the
** machine's stack. */
PlanResult loop_walk(Planner *planner, const Instruction *instruction, const Affine *map,
                     LoopNode **out) {
  PlanResult made = enter(planner, instruction, map, out);
  while (made == PLAN_OK && planner->depth > 0) {
    Visit *top = &planner->stack[planner->depth - 1];
    LoopNode *node = top->node;
    if (top->next == node->operand_count) {
      planner->depth--;
      loop_plan_add(planner->plan, node);
      continue;
    }
    /* Operands have the result's index, except the scalars of select and clamp, which have none. */
    int k = top->next++;
    if (node->kind == NODE_GATHERED) {
      made = enter_component(planner, node, k, &node->operands[k]);
    } else {
      made = enter(planner, node->instruction->operands[k], node->map, &node->operands[k]);
    }
  }
  return made;
}
