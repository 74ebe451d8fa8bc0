/*
** Fuses loops: each group of element-wise operations becomes one `fusion` instruction, for which
** codegen/ makes one loop. So values passed from one operation to the next stay in registers.
**
** The walk goes from users to producers. An instruction joins the group of its users if all of them
** are in one group; if they are in several, it is computed in each where that costs little, as
** reading its result would cost the same. Where other loops would read many functions of one array, each loop computes
** these functions itself: a gradient reads each step of a polynomial. Otherwise it starts a group of its own, as the root: the
** one instruction of a group whose result is written to memory. A group's root is its last
** instruction, and no other of its instructions is used outside, so groups never wait for each
** other in a cycle.
**
** Only a plan (loop_plan.h) determines which elements a group's loops read. An element-wise operation that joins
** is computed wherever its result was read, so the plan stays valid. It gives an upper bound on the reads of the
** operation's operands. A new plan is made if the bound is too high.
**
** The epilogue of a contraction (bias, activation, residual) is a loop of its own. Computing it in the kernels'
** registers could save at most these loops' time.
** Measured: all loops together take 8 % of MobileNetV2's time, 7 % of a GPT's training step, 1 % of a ResNet's
** (Node 20, 2026-11).
*/
#include <string.h>

#include "base/min_max.h"
#include "base/scope.h"
#include "plan/fusible.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_MEMBERS. Test: "a chain of ${n} operations" in core/thresholds.test.mjs. */
/* Threshold MAX_INPUTS. Test: "${n} inputs, and as many results" in core/thresholds.test.mjs. */
/* Threshold MAX_COPIES. Test: "siblings: reductions of the same array, small and large" in
** core/thresholds_programs.test.mjs. */
enum { MAX_MEMBERS = 512, MAX_INPUTS = 48, MAX_COPIES = 3 };

/* An input of a group, with upper bounds on its reads: nodes, in all plans and in one, and elements. No nodes:
** unknown. */
typedef struct Input {
  Instruction *x;
  int nodes, nodes_of_plan;
  int64_t elements;
} Input;

typedef struct Group {
  int count, capacity;
  Instruction **members; /* users before operands: the root first */
  bool reindexes;        /* has members that move elements, other than those of scalars */
  bool has_parts;        /* some of these read several arrays */
  int nodes;             /* upper bound for each of its plans */
  int input_count;
  Input *inputs;            /* at most MAX_INPUTS */
  const Instruction *asked; /* the last one whose users were looked for */
  Computation *fused;
} Group;

typedef struct GroupList {
  int count, capacity;
  Group **items;
} GroupList;

/* The fuser of one computation. */
typedef struct Fuser {
  Arena *arena;
  Computation *computation;
  const Target *target;
  Users users;
  const Instruction **sources; /* by id: the array from which it is cheap to compute, or NULL */
  bool *is_recomputed;         /* by id of a source: its functions are computed in each loop */
  GroupList *groups_of;        /* by id: the groups that an instruction is a member of */
  bool *stays;                 /* by id: also needed outside of groups */
  int *input_of;               /* by id: index among a group's inputs */
  Instruction **copies;        /* by id: in the current fused computation */
  GroupList groups;
} Fuser;

/* --- The cost of operations ------------------------------------------------------------------- */

/* Whether an instruction is computed faster than its result is read. */
static bool is_free(const Instruction *x) {
  return x->opcode == HLO_CONSTANT || x->opcode == HLO_IOTA || is_index_operation(x->opcode) ||
         is_unpacking(x);
}

/* Whether an instruction moves elements. */
static bool reindexes(const Instruction *x) {
  return (is_index_operation(x->opcode) || x->opcode == HLO_GATHER) &&
         x->operands[0]->shape->rank > 0;
}

/* Whether a reshape only adds or removes dimensions of size 1. */
static bool keeps_dimensions(const Instruction *reshape) {
  const Shape *to = reshape->shape, *from = reshape->operands[0]->shape;
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < to->rank && to->dims[i] == 1) i++;
    while (j < from->rank && from->dims[j] == 1) j++;
    if (i == to->rank || j == from->rank) return i == to->rank && j == from->rank;
    if (to->dims[i] != from->dims[j]) return false;
  }
}

/* Whether every element has an affine position in the operand, for which no plan fails. */
static bool moves_plainly(const Instruction *x) {
  switch (x->opcode) {
  case HLO_BROADCAST:
  case HLO_COPY:
  case HLO_REVERSE:
  case HLO_SLICE:
  case HLO_TRANSPOSE: return true;
  case HLO_RESHAPE: return keeps_dimensions(x);
  default: return !reindexes(x);
  }
}

static bool has_parts(const Instruction *x) {
  return x->opcode == HLO_CONCATENATE || x->opcode == HLO_PAD;
}

/* Whether an instruction takes only a few machine instructions per element. */
static bool is_light(const Instruction *x) {
  return opcode_cost(x->opcode) == COST_LIGHT || is_free(x);
}

static bool is_reduction(const Instruction *x) {
  return x->opcode == HLO_REDUCE || x->opcode == HLO_REDUCE_WINDOW;
}

static int64_t elements(const Instruction *x) { return shape_elements(x->shape); }

static bool is_smaller(const Instruction *broadcast) {
  return elements(broadcast->operands[0]) < elements(broadcast);
}

/* Returns the number of arrays of its own size that an instruction reads. */
static int arrays_read(const Instruction *x) {
  int count = 0;
  for (int i = 0; i < x->operand_count; i++) {
    const Instruction *operand = x->operands[i];
    bool again = false;
    for (int k = 0; k < i; k++) again |= x->operands[k] == operand;
    bool is_read = operand->opcode == HLO_BROADCAST ? !is_smaller(operand)
                                                    : !is_free(operand) || operand->operand_count;
    count += !again && is_read;
  }
  return count;
}

/* Whether computing `x` in each of `copies` loops is no more work than reading it there. */
static bool may_be_copied(const Instruction *x, int copies) {
  if (is_free(x)) return true;
  if (elements(x) == 1) return is_light(x);
  return copies <= MAX_COPIES && is_light(x) && arrays_read(x) <= 1;
}

/* --- Functions of one array ------------------------------------------------------------------- */

/* Returns the work of computing an element, in additions; 0: too much. */
static int work_of(const Instruction *x) {
  if (!opcode_is_elementwise(x->opcode) || elements(x) == 1) return 0;
  return x->opcode == HLO_DIVIDE ? 4 : is_light(x);
}

/* Returns the only array of its own size that x depends on by cheap operations; NULL: there are several. */
static const Instruction *source_of(const Fuser *fuser, const Instruction *x) {
  const Instruction *source = NULL;
  for (int i = 0; i < x->operand_count; i++) {
    const Instruction *operand = x->operands[i], *from = fuser->sources[operand->id];
    bool is_number =
        operand->opcode == HLO_BROADCAST ? is_smaller(operand) : elements(operand) == 1;
    if (is_number || operand->opcode == HLO_CONSTANT) continue;
    if (!from) from = operand;
    if (source && source != from) return NULL;
    source = from;
  }
  return source;
}

static bool is_read_outside(const Fuser *fuser, const Instruction *x) {
  bool is = x == fuser->computation->root;
  for (int i = 0; i < fuser->users.count[x->id]; i++) {
    is |= fuser->sources[fuser->users.lists[x->id][i]->id] != fuser->sources[x->id];
  }
  return is;
}

/* Marks an array if its functions are cheaper to compute again in each loop than to write and read.
** Measured: the slope of bessel_i1e takes 0.87 of the time and 0.13 of the memory; of WORTH = 8, digamma's takes 1.05 of
** the time (1,000 to 1,000,000 elements, a busy EPYC, 2026-11). */
static void find_recomputed(Fuser *fuser) {
  /* Threshold WORTH: additions for an element that is written and read. Test: "functions of one
  ** array, read by two loops" in core/thresholds_programs.test.mjs. */
  enum { WORTH = 4 };
  const Computation *c = fuser->computation;
  int *work = ARENA_ARRAY(fuser->arena, int, c->count);
  int *saved = ARENA_ARRAY(fuser->arena, int, c->count);
  for (int i = 0; i < c->count; i++) {
    const Instruction *x = c->instructions[i];
    if (!work_of(x)) continue;
    const Instruction *source = source_of(fuser, x);
    fuser->sources[i] = source;
    if (source) work[source->id] += work_of(x);
  }
  for (int i = 0; i < c->count; i++) {
    const Instruction *source = fuser->sources[i];
    if (source) saved[source->id] += is_read_outside(fuser, c->instructions[i]);
  }
  for (int i = 0; i < c->count; i++) {
    fuser->is_recomputed[i] = saved[i] > 1 && work[i] <= WORTH * saved[i];
  }
}

/* --- Groups ----------------------------------------------------------------------------------- */

/* Whether `x` is in a group. A constant may be in very many groups, so the shorter list is searched. */
static bool is_member(const Fuser *fuser, const Instruction *x, const Group *group) {
  const GroupList *list = &fuser->groups_of[x->id];
  for (int i = 0; i < list->count && list->count <= group->count; i++) {
    if (list->items[i] == group) return true;
  }
  for (int i = 0; i < group->count && group->count < list->count; i++) {
    if (group->members[i] == x) return true;
  }
  return false;
}

static void join(Fuser *fuser, Instruction *x, Group *group) {
  GroupList *list = &fuser->groups_of[x->id];
  ARENA_PUSH(fuser->arena, group->members, group->count, group->capacity, x);
  ARENA_PUSH(fuser->arena, list->items, list->count, list->capacity, group);
  group->reindexes |= reindexes(x);
  group->has_parts |= has_parts(x);
}

static void leave_last(Fuser *fuser, Group *group) {
  Instruction *x = group->members[--group->count];
  fuser->groups_of[x->id].count--;
}

/* Returns the input of a group without members that move elements: its loops read each element once. */
static Input at_root_index(const Group *group, const Instruction *root, Instruction *x) {
  bool known = root->opcode != HLO_REDUCE_WINDOW && !group->reindexes;
  int64_t steps = elements(root->opcode == HLO_REDUCE ? root->operands[0] : root);
  return known ? (Input){x, 1, 1, elements(x) == 1 ? 1 : steps} : (Input){.x = x};
}

static void note_root_indices(Group *group) {
  group->nodes = group->count + group->input_count;
  for (int i = 0; i < group->input_count; i++) {
    group->inputs[i] = at_root_index(group, group->members[0], group->inputs[i].x);
  }
}

/* Lists the inputs of the group after `x` joins it; `*was` has the reads of `x` before that. Returns their number,
** or MAX_INPUTS + 1 if there are too many. */
static int inputs_with(const Fuser *fuser, const Group *group, Instruction *x, Input *was,
                       Input *out) {
  int count = 0;
  *was = (Input){0};
  if (group->count == 0 && moves_plainly(x)) *was = at_root_index(group, x, x);
  for (int i = 0; i < group->input_count; i++) {
    if (group->inputs[i].x == x) {
      *was = group->inputs[i];
    } else {
      out[count++] = group->inputs[i];
    }
  }
  for (int k = 0; k < x->operand_count; k++) {
    Instruction *operand = x->operands[k];
    if (is_member(fuser, operand, group)) continue;
    int at = 0;
    while (at < count && out[at].x != operand) at++;
    if (at == MAX_INPUTS) return MAX_INPUTS + 1;
    if (at == count) out[count++] = (Input){.x = operand};
    if (!group->reindexes && !reindexes(x)) continue;
    out[at].nodes += was->nodes;
    out[at].nodes_of_plan += was->nodes_of_plan;
    out[at].elements += elements(operand) == 1 ? was->nodes : was->elements;
  }
  return count;
}

typedef struct Inside {
  const Fuser *fuser;
  const Group *group;
} Inside;

static bool is_outside(const Instruction *instruction, const void *data) {
  const Inside *inside = data;
  return !is_member(inside->fuser, instruction, inside->group);
}

static bool windows_overlap(const Instruction *reduce) {
  const Window *window = &reduce->a->window;
  bool backwards;
  if (cumulative_dimension(reduce, &backwards) >= 0) return false; /* one step per element */
  for (int i = 0; i < window->count; i++) {
    if (window->items[i].size > window->items[i].stride) return true;
  }
  return false;
}

static bool is_smaller_than_root(const Instruction *x, const Group *group) {
  const Instruction *root = group->members[0];
  return elements(x) < elements(is_reduction(root) ? root->operands[0] : root);
}

/* Whether the loop would compute elements of `x` more than once. If `x` reads several arrays, only a plan can
** tell. */
static bool is_repeated(const Instruction *x, const Group *group) {
  const Instruction *root = group->members[0];
  if (is_free(x) || elements(x) == 1) return false;
  if (root->opcode == HLO_REDUCE_WINDOW && windows_overlap(root)) return true;
  return is_smaller_than_root(x, group) && !group->has_parts;
}

static void set_inputs(Fuser *fuser, Group *group, const Input *inputs, int count) {
  if (!group->inputs) group->inputs = ARENA_ARRAY(fuser->arena, Input, MAX_INPUTS);
  memcpy(group->inputs, inputs, sizeof *inputs * (size_t)count);
  group->input_count = count;
}

/* Whether computing this number of elements of `x` is cheap. */
static bool is_cheap(const Instruction *x, const Group *group, int64_t computed) {
  if (computed <= elements(x) || is_free(x)) return true;
  return (elements(x) == 1 || !is_smaller_than_root(x, group)) &&
         may_be_copied(x, (int)divide_up(computed, elements(x)));
}

static void note_read(Input *input, int64_t steps) {
  input->nodes++;
  input->elements += elements(input->x) == 1 ? 1 : steps;
}

/* Notes a plan's reads of the inputs, and the elements of `last` that it computes. */
static void note_reads(const Fuser *fuser, const LoopPlan *plan, Input *inputs, Input *last) {
  int64_t steps = loop_plan_steps(plan);
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    if (node->key == last->x) note_read(last, steps);
    if (node->kind != NODE_INPUT && node->kind != NODE_GATHERED) continue;
    Input *input = &inputs[fuser->input_of[array_of(node)->id]];
    if (node->key == input->x) {
      note_read(input, steps);
    } else {
      input->elements = INT32_MAX; /* reshaped or gathered: its elements are unknown */
    }
  }
  for (int s = 0; s < plan->start_count; s++) {
    inputs[fuser->input_of[plan->starts[s].leaf->instruction->id]].elements = INT32_MAX;
  }
}

/* Plans the group, which now contains `x` and has these inputs. */
static bool plan_group(const Fuser *fuser, Group *group, Instruction *x, Input *inputs, int count) {
  Arena *arena = arena_new();
  LoopPlans plans;
  Input last = {.x = x};
  int before[MAX_INPUTS];
  bool can = loop_plans(&plans, arena, group->members[0], is_outside, &(Inside){fuser, group});
  for (int i = 0; i < count; i++) {
    fuser->input_of[inputs[i].x->id] = i;
    inputs[i] = (Input){.x = inputs[i].x};
  }
  group->nodes = 0;
  for (int b = 0; b < plans.count && can; b++) {
    for (int i = 0; i < count; i++) before[i] = inputs[i].nodes;
    note_reads(fuser, &plans.items[b], inputs, &last);
    for (int i = 0; i < count; i++) {
      inputs[i].nodes_of_plan = (int)max_i64(inputs[i].nodes_of_plan, inputs[i].nodes - before[i]);
    }
    group->nodes = (int)max_i64(group->nodes, plans.items[b].count);
  }
  arena_free(arena);
  return can && is_cheap(x, group, last.elements);
}

/* Whether the group's plan is as good with `x` computed where it was read. */
static bool extends_plan(Group *group, const Instruction *x, const Input *was) {
  /* Threshold MAX_NODES. Test: "a chain of ${n} operations" in core/thresholds.test.mjs. */
  enum { MAX_NODES = 512 };
  if (!moves_plainly(x) || !was->nodes || was->elements >= INT32_MAX ||
      group->nodes + was->nodes_of_plan * x->operand_count > MAX_NODES) {
    return false;
  }
  bool is = is_cheap(x, group, was->elements);
  if (is) group->nodes += was->nodes_of_plan * x->operand_count;
  return is;
}

/* Joins if the group is still one loop and repeats no work: neither for several of its elements, nor in several
** boxes, nor at the several positions where it reads one array. */
static bool try_join(Fuser *fuser, Instruction *x, Group *group) {
  Input inputs[MAX_INPUTS], was;
  if (group->members[0]->opcode == HLO_SCATTER) return false; /* it only reads memory */
  if (group->count == MAX_MEMBERS || is_repeated(x, group)) return false;
  if (!group->reindexes && reindexes(x)) note_root_indices(group);
  int count = inputs_with(fuser, group, x, &was, inputs), nodes = group->nodes;
  if (count > MAX_INPUTS) return false;
  bool moves = group->reindexes, parts = group->has_parts;
  join(fuser, x, group);
  if (!group->reindexes || extends_plan(group, x, &was) ||
      plan_group(fuser, group, x, inputs, count)) {
    set_inputs(fuser, group, inputs, count);
    return true;
  }
  leave_last(fuser, group);
  group->reindexes = moves;
  group->has_parts = parts;
  group->nodes = nodes;
  return false;
}

/* Whether an array is only sliced or passed on. A loop's body often slices an array that the same iteration updates
** in place, and the update must come after its readers. */
static bool is_only_sliced(const Fuser *fuser, const Instruction *x) {
  bool only = true;
  for (int i = 0; i < fuser->users.count[x->id]; i++) {
    Opcode opcode = fuser->users.lists[x->id][i]->opcode;
    only &= opcode == HLO_DYNAMIC_SLICE || opcode == HLO_SLICE || opcode == HLO_TUPLE_OP;
  }
  return only;
}

/* Whether a gathered array is also updated: in place, if no instruction reads it later. */
static bool is_updated(const Fuser *fuser, const Instruction *x) {
  bool is = false;
  for (int i = 0; i < fuser->users.count[x->id]; i++) {
    Opcode opcode = fuser->users.lists[x->id][i]->opcode;
    is |= opcode == HLO_DYNAMIC_UPDATE_SLICE || opcode == HLO_SCATTER;
  }
  return is;
}

/* Whether its value has only one user, perhaps through a reshape. */
static bool is_producer(const Fuser *fuser, const Instruction *x) {
  while (x->opcode == HLO_RESHAPE && fuser->users.count[x->id] == 1) x = x->operands[0];
  return opcode_is_elementwise(x->opcode) && fuser->users.count[x->id] == 1 &&
         can_fuse(fuser->target, x);
}

/* Whether loops that read parts of an array can compute those parts, so that the array need not be in memory: it is an iota,
** a repeated scalar, or elementwise, cheap and only read by slices. */
static bool is_computed_in_parts(const Fuser *fuser, const Instruction *x) {
  bool repeats = x->opcode == HLO_BROADCAST && elements(x->operands[0]) == 1 && is_smaller(x);
  bool costs_little = opcode_is_elementwise(x->opcode) && is_only_sliced(fuser, x) &&
                      may_be_copied(x, fuser->users.count[x->id]);
  return (x->opcode == HLO_IOTA || repeats || costs_little) && can_fuse(fuser->target, x);
}

static bool has_producer(const Fuser *fuser, const Instruction *x) {
  bool has = false;
  for (int i = 0; i < x->operand_count; i++) has |= is_producer(fuser, x->operands[i]);
  return has;
}

/* Whether a gather looks single numbers up. A loop computes their indices four at a time, and writes none. */
static bool is_lookup(const Instruction *x) {
  int64_t one = 1;
  for (int i = 0; i < x->a->slice_sizes.count; i++) one *= x->a->slice_sizes.items[i];
  return one == 1;
}

/* Whether a gather makes a product's matrix of fewer bytes: vectors of a codebook. The product then reads these in place. */
static bool is_matrix(const Fuser *fuser, const Instruction *x) {
  int64_t bytes = shape_bytes(x->shape);
  const Instruction *user = x;
  bool reads_less = shape_bytes(x->operands[0]->shape) + shape_bytes(x->operands[1]->shape) < bytes;
  do {
    if (fuser->users.count[user->id] != 1) return false;
    x = user;
    user = fuser->users.lists[x->id][0];
  } while (user->opcode == HLO_RESHAPE);
  return reads_less && user->opcode == HLO_DOT &&
         shape_bytes(user->operands[user->operands[0] == x]->shape) <= bytes;
}

/* Whether an operand is an unpacked copy of an array in memory, which a loop need not make. */
static bool reads_packed(const Instruction *x) {
  bool reads = false;
  for (int i = 0; i < x->operand_count; i++) {
    reads |= is_unpacking(without_reshapes(x->operands[i]));
  }
  return reads;
}

/* Whether a group of this root is worth a loop. A loop for some operations alone would do nothing, or no more than
** a kernel. Of a value that a dynamic slice reads, only the slice is computed. */
static bool is_worth_a_loop(const Fuser *fuser, const Instruction *x) {
  if (x->opcode != HLO_RESHAPE && reads_packed(x)) return true;
  switch (x->opcode) {
  case HLO_DYNAMIC_SLICE:
    return is_producer(fuser, x->operands[0]) || is_computed_in_parts(fuser, x->operands[0]);
  case HLO_CONCATENATE:
  case HLO_PAD: return has_producer(fuser, x);
  case HLO_GATHER: return is_lookup(x) || is_matrix(fuser, x);
  case HLO_CONSTANT:
  case HLO_COPY:
  case HLO_RESHAPE: return false;
  case HLO_BITCAST_CONVERT: /* a loop would decode and encode narrower floats, and change NaNs */
    return type_bits(x->shape->type) < 8 ||
           (type_bits(x->shape->type) >= 32 && is_producer(fuser, x->operands[0]));
  default: return true;
  }
}

static void start_group(Fuser *fuser, Instruction *x) {
  if (!is_worth_a_loop(fuser, x) || !is_within_loops(x)) {
    fuser->stays[x->id] = true;
    return;
  }
  Group *group = ARENA_NEW(fuser->arena, Group);
  Input inputs[MAX_INPUTS], was;
  int input_count = inputs_with(fuser, group, x, &was, inputs);
  bool can = input_count <= MAX_INPUTS;
  if (can) join(fuser, x, group);
  if (can && has_parts(x)) {
    can = plan_group(fuser, group, x, inputs, input_count);
    if (!can) leave_last(fuser, group);
  }
  if (!can) {
    fuser->stays[x->id] = true;
    return;
  }
  set_inputs(fuser, group, inputs, input_count);
  ARENA_PUSH(fuser->arena, fuser->groups.items, fuser->groups.count, fuser->groups.capacity, group);
}

/* Lists the groups of the users of `x`; returns whether it also has users outside of all groups. */
static bool users_groups(const Fuser *fuser, const Instruction *x, GroupList *out) {
  bool outside = x == fuser->computation->root;
  for (int i = 0; i < fuser->users.count[x->id]; i++) {
    int user = fuser->users.lists[x->id][i]->id;
    const GroupList *list = &fuser->groups_of[user];
    outside |= fuser->stays[user];
    for (int k = 0; k < list->count; k++) {
      Group *group = list->items[k];
      if (group->asked == x) continue;
      group->asked = x;
      ARENA_PUSH(fuser->arena, out->items, out->count, out->capacity, group);
    }
  }
  return outside;
}

/* Whether an array in memory is only read as another type: it needs no loop, and kernels read it in place. */
static bool is_other_view(const Instruction *x) {
  return x->opcode == HLO_BITCAST_CONVERT && instruction_is_alias(x) &&
         can_unpack(without_reshapes(x->operands[0]));
}

static void join_group(Fuser *fuser, Instruction *x) {
  GroupList users = {0};
  bool outside = users_groups(fuser, x, &users);
  bool waits = (x->opcode == HLO_DYNAMIC_SLICE && !is_only_sliced(fuser, x->operands[0])) ||
               (x->opcode == HLO_GATHER && is_updated(fuser, x->operands[0]));
  waits &= !reads_packed(x);
  if (waits || is_other_view(x) || !can_fuse(fuser->target, x) ||
      x->a->control_predecessors.count) {
    fuser->stays[x->id] = true;
    return;
  }
  const Instruction *source = fuser->sources[x->id];
  bool joins = (users.count == 1 && !outside) || may_be_copied(x, users.count + outside);
  joins |= source && fuser->is_recomputed[source->id] && users.count + outside <= MAX_COPIES;
  joins &= !(has_parts(x) && outside);                   /* reading it is simpler */
  joins &= !is_reduction(x) && x->opcode != HLO_SCATTER; /* they are always roots */
  int joined = 0;
  for (int i = 0; joins && i < users.count; i++) joined += try_join(fuser, x, users.items[i]);
  if (outside || joined < users.count || users.count == 0) start_group(fuser, x);
}

/* --- Fusions ---------------------------------------------------------------------------------- */

static Computation *make_computation(Fuser *fuser, const Group *group) {
  Module *module = fuser->computation->module;
  const char *name = arena_printf(module->arena, "fused_%s", group->members[0]->name);
  Computation *fused = module_add_computation(module, name);
  for (int i = 0; i < group->input_count; i++) {
    const Instruction *input = group->inputs[i].x;
    fuser->copies[input->id] = computation_add_parameter(fused, i, input->shape, NULL);
  }
  for (int i = group->count - 1; i >= 0; i--) { /* operands before users */
    const Instruction *member = group->members[i];
    Instruction **operands = ARENA_ARRAY(fuser->arena, Instruction *, member->operand_count);
    for (int k = 0; k < member->operand_count; k++) {
      operands[k] = fuser->copies[member->operands[k]->id];
    }
    Instruction *copy = computation_add_named(fused, member->opcode, member->shape, operands,
                                              member->operand_count, member->a, member->name);
    copy->literal = member->literal;
    fuser->copies[member->id] = copy;
  }
  return fused;
}

/* Makes all computations before the first root becomes a fusion, as an instruction may be the root of
** one group and copied into others. */
static void make_fusions(Fuser *fuser) {
  for (int i = 0; i < fuser->groups.count; i++) {
    Group *group = fuser->groups.items[i];
    group->fused = make_computation(fuser, group);
  }
  for (int i = 0; i < fuser->groups.count; i++) {
    const Group *group = fuser->groups.items[i];
    const Attributes *attributes = ATTRIBUTES(.calls = group->fused, .fusion_kind = FUSION_LOOP);
    Instruction *inputs[MAX_INPUTS];
    for (int k = 0; k < group->input_count; k++) inputs[k] = group->inputs[k].x;
    instruction_become(group->members[0], HLO_FUSION, inputs, group->input_count, attributes);
  }
}

/* --- The pass --------------------------------------------------------------------------------- */

static bool fuse_computation(Computation *computation, const Target *target) {
  computation_renumber(computation);
  Fuser fuser = {.arena = arena_new(), .computation = computation, .target = target};
  fuser.groups_of = ARENA_ARRAY(fuser.arena, GroupList, computation->count);
  fuser.input_of = ARENA_ARRAY(fuser.arena, int, computation->count);
  fuser.stays = ARENA_ARRAY(fuser.arena, bool, computation->count);
  fuser.copies = ARENA_ARRAY(fuser.arena, Instruction *, computation->count);
  fuser.users = find_users(fuser.arena, computation);
  fuser.sources = ARENA_ARRAY(fuser.arena, const Instruction *, computation->count);
  fuser.is_recomputed = ARENA_ARRAY(fuser.arena, bool, computation->count);
  find_recomputed(&fuser);
  for (int i = computation->count - 1; i >= 0; i--)
    join_group(&fuser, computation->instructions[i]);
  bool changed = fuser.groups.count > 0;
  make_fusions(&fuser);
  arena_free(fuser.arena);
  return changed;
}

/* Fuses the entry and the computations that control flow calls, as these become thunks. Computations applied to
** elements stay, as the evaluator and the emitter read them. */
static bool fuse_reached(Computation *computation, const Target *target, unsigned walk) {
  bool changed = false;
  if (!computation_enter(computation, walk)) return false;
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->opcode != HLO_WHILE && x->opcode != HLO_CONDITIONAL && x->opcode != HLO_CALL) continue;
    int count = instruction_called(x, NULL);
    Computation **called = scope_new((size_t)count, sizeof *called);
    instruction_called(x, called);
    for (int k = 0; k < count; k++) changed |= fuse_reached(called[k], target, walk);
    scope_free(called);
  }
  return fuse_computation(computation, target) | changed;
}

bool pass_fuse_loops(Module *module, const Target *target) {
  bool changed = fuse_reached(module->entry, target, module_walk(module));
  return module_remove_dead(module) | changed;
}
