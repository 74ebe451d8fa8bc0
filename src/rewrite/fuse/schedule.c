/*
** Schedules a computation's instructions to lower its peak memory.
**
** Instructions keep their order, except those that do not raise the number of live bytes: these run as soon
** as possible. In a training step these compute a layer's new weights from the values kept for its
** gradients, which otherwise stay live until the last layer. The new order is used only if its simulated
** peak is clearly lower, as the old one keeps neighbours together for regions and row groups.
**
** Collectives, transfers to and from the host, and random number generators keep their order.
*/
#include <string.h>

#include "base/scope.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_BYTES: larger arrays count as this large, so that sums do not overflow. No path. */
#define MAX_BYTES (INT64_C(1) << 40)

enum {
  /* Threshold MIN_PEAK: bytes of temporaries below which the order stays. Test: "temporaries
  ** beside results: how large" in core/thresholds_programs.test.mjs. */
  MIN_PEAK = 64 << 10,
  /* Threshold MIN_GAIN: the peak must shrink by 1/16. Test: "another order, whose temporaries
  ** take a 16th less" in core/thresholds_programs.test.mjs. */
  MIN_GAIN = 16,
  /* Threshold MAX_VISITS: visits of tuple elements, after which the order stays. No path in tests. */
  MAX_VISITS = 1 << 22,
};

/* One per instruction. The elements of a new tuple have the bytes, not the tuple. */
typedef struct Node {
  const Instruction *x;
  struct Node *source; /* the node whose value it aliases; else itself */
  int64_t bytes;       /* of its own */
  int64_t makes;       /* bytes that become live, its elements' included */
  int64_t frees;       /* bytes of values whose last user it is */
  int uses, left;      /* users of its value; those not yet scheduled */
  int user;            /* XOR of the ids of the users not yet scheduled; with one left, its id */
  int pending;         /* predecessors not yet scheduled; -1: scheduled itself */
  int seen;            /* the last visit */
  bool has_effect;
} Node;

typedef struct Scheduler {
  Computation *computation;
  Users users;
  Node *nodes; /* by id */
  int visits, turn;
  int64_t live;
  int due_count;
  Node **due; /* a stack: nodes to schedule next */
  int done;
  Instruction **order;
} Scheduler;

static bool has_work(const Instruction *x) {
  return !instruction_is_alias(x) && x->opcode != HLO_PARAMETER && x->opcode != HLO_CONSTANT &&
         x->opcode != HLO_GET_TUPLE_ELEMENT;
}

static Node *node_of(const Scheduler *s, const Instruction *x) { return &s->nodes[x->id]; }

/* ---- Values and their users ---- */

static void find_value(const Scheduler *s, Node *node) {
  const Instruction *x = node->x;
  node->source = node;
  if (shape_is_array(x->shape)) {
    node->bytes = shape_bytes(x->shape);
    if (node->bytes > MAX_BYTES) node->bytes = MAX_BYTES;
  }
  if (has_work(x)) {
    node->makes = node->bytes;
  } else if (x->opcode == HLO_GET_TUPLE_ELEMENT) {
    Node *tuple = node_of(s, x->operands[0])->source;
    tuple->makes += has_work(tuple->x) ? node->bytes : 0;
    if (has_work(tuple->x)) return;
    node->bytes = 0;
    if (tuple->x->opcode != HLO_TUPLE_OP) return;
    node->source = node_of(s, tuple->x->operands[x->a->tuple_index])->source;
  } else {
    node->bytes = 0;
    if (x->opcode != HLO_TUPLE_OP && x->operand_count) {
      node->source = node_of(s, x->operands[0])->source;
    }
  }
}

typedef void Visit(Scheduler *s, Node *value, Node *user);

/* Visits each value that `user` reads through `x`, once in this turn. */
static void visit_value(Scheduler *s, const Instruction *x, Node *user, Visit *visit) {
  Node *value = node_of(s, x)->source;
  if (value->seen == s->turn || s->visits++ > MAX_VISITS) return;
  value->seen = s->turn;
  if (value->bytes) visit(s, value, user);
  if (value->x->opcode != HLO_TUPLE_OP) return;
  for (int i = 0; i < value->x->operand_count; i++) {
    visit_value(s, value->x->operands[i], user, visit);
  }
}

static void visit_values(Scheduler *s, Node *user, Visit *visit) {
  s->turn++;
  for (int i = 0; has_work(user->x) && i < user->x->operand_count; i++) {
    visit_value(s, user->x->operands[i], user, visit);
  }
}

static void count_use(Scheduler *s, Node *value, Node *user) {
  value->uses++;
  value->user ^= user->x->id;
}

/* Keeps a result live: the program's results have memory of their own. */
static void keep_result(Scheduler *s, Node *value, Node *root) {
  bool is_element = value->x->opcode == HLO_GET_TUPLE_ELEMENT;
  value->uses += 2; /* so it is never freed */
  if (s->computation != s->computation->module->entry) return;
  (is_element ? node_of(s, value->x->operands[0])->source : value)->makes -= value->bytes;
  value->bytes = 0;
}

static void count_free(Scheduler *s, Node *value, Node *user) {
  if (value->left == 1) user->frees += value->bytes;
}

static void find_values(Scheduler *s) {
  const Computation *computation = s->computation;
  for (int i = 0; i < computation->count; i++) find_value(s, &s->nodes[i]);
  for (int i = 0; i < computation->count; i++) visit_values(s, &s->nodes[i], count_use);
  s->turn++;
  visit_value(s, computation->root, NULL, keep_result);
}

/* ---- The order ---- */

/* Queues a node whose predecessors are scheduled, to come next, if it takes no step or does not raise the live bytes. */
static void queue_if_due(Scheduler *s, Node *node) {
  bool is_due = node->pending == 0 && (!has_work(node->x) || node->frees >= node->makes);
  if (is_due) s->due[s->due_count++] = node;
}

static void operand_scheduled(Scheduler *s, Node *node) {
  node->pending--;
  queue_if_due(s, node);
}

/* Appends a node to the order, which may make its successors ready. Nodes that take no step follow at once. */
static void append(Scheduler *s, Node *node) {
  int id = node->x->id, next = id;
  s->order[s->done++] = s->computation->instructions[id];
  node->pending = -1;
  for (int u = 0; u < s->users.count[id]; u++)
    operand_scheduled(s, node_of(s, s->users.lists[id][u]));
  if (node->has_effect) {
    while (++next < s->computation->count && !s->nodes[next].has_effect) {}
    if (next < s->computation->count) operand_scheduled(s, &s->nodes[next]);
  }
}

/* Removes a user of a value. If one user is left, that one frees the value. */
static void remove_user(Scheduler *s, Node *value, Node *user) {
  value->user ^= user->x->id;
  if (--value->left != 1) return;
  Node *last = &s->nodes[value->user];
  bool was_due = last->frees >= last->makes;
  last->frees += value->bytes;
  if (!was_due) queue_if_due(s, last);
}

/* Ends the life of a value after its last user. */
static void release(Scheduler *s, Node *value, Node *user) {
  if (--value->left == 0) s->live -= value->bytes;
}

/* Returns the max number of live bytes in this order. */
static int64_t peak_of(Scheduler *s, Instruction *const *order) {
  int64_t peak = 0;
  s->live = 0;
  for (int i = 0; i < s->computation->count; i++) s->nodes[i].left = s->nodes[i].uses;
  for (int i = 0; i < s->computation->count; i++) {
    Node *node = node_of(s, order[i]);
    s->live += node->makes;
    if (s->live > peak) peak = s->live;
    visit_values(s, node, release);
  }
  return peak;
}

static bool find_pending(Scheduler *s) {
  int pending = 0;
  unsigned walk = module_walk(s->computation->module);
  for (int i = 0; i < s->computation->count; i++) {
    Node *node = &s->nodes[i];
    if (node->x->a->control_predecessors.count) return false;
    node->left = node->uses;
    node->pending = node->x->operand_count;
    node->has_effect = instruction_has_side_effect_on(node->x, &walk);
    if (node->has_effect) node->pending += pending, pending = 1;
  }
  for (int i = 0; i < s->computation->count; i++) visit_values(s, &s->nodes[i], count_free);
  return true;
}

static void order_all(Scheduler *s) {
  for (int next = 0; s->done < s->computation->count;) {
    Node *node = s->due_count ? s->due[--s->due_count] : &s->nodes[next++];
    if (node->pending < 0) continue;
    visit_values(s, node, remove_user);
    append(s, node);
  }
}

static bool schedule(Computation *computation) {
  int n = computation->count;
  Arena *arena = arena_new();
  Scheduler s = {.computation = computation, .users = find_users(arena, computation)};
  s.nodes = ARENA_ARRAY(arena, Node, n);
  s.due = ARENA_ARRAY(arena, Node *, n);
  s.order = ARENA_ARRAY(arena, Instruction *, n);
  for (int i = 0; i < n; i++) s.nodes[i].x = computation->instructions[i];
  find_values(&s);
  int64_t before = peak_of(&s, computation->instructions);
  bool changed = before >= MIN_PEAK && find_pending(&s);
  if (changed) {
    order_all(&s);
    changed = s.visits <= MAX_VISITS && peak_of(&s, s.order) + before / MIN_GAIN < before;
  }
  if (changed) {
    memcpy(computation->instructions, s.order, sizeof(Instruction *) * (size_t)n);
    computation_renumber(computation);
  }
  arena_free(arena);
  return changed;
}

typedef struct Found {
  Arena *arena;
  int count, capacity;
  Computation **items;
} Found;

/* Finds a computation and those of its loops and branches. */
static void find_called(Found *found, Computation *computation, unsigned walk) {
  if (!computation_enter(computation, walk)) return;
  ARENA_PUSH(found->arena, found->items, found->count, found->capacity, computation);
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->opcode != HLO_WHILE && x->opcode != HLO_CONDITIONAL) continue;
    int count = instruction_called(x, NULL);
    Computation **called = ARENA_ARRAY(found->arena, Computation *, count);
    instruction_called(x, called);
    for (int c = 0; c < count; c++) find_called(found, called[c], walk);
  }
}

bool pass_schedule(Module *module) {
  Found found = {.arena = arena_new()};
  bool changed = false;
  find_called(&found, module->entry, module_walk(module));
  for (int i = 0; i < found.count; i++) changed |= schedule(found.items[i]);
  arena_free(found.arena);
  return changed;
}
