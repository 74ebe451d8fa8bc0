/*
** Fuses siblings: fusions of the same dimensions that read the same arrays, or one the other's result,
** become one loop with several results. Shared values are read and computed once. Solvers choose many
** values by the same few comparisons; an optimiser computes a weight and its moments from one gradient.
**
**     a = fusion(x, y)            f = (a, b) fusion(x, y, z)
**     b = fusion(a, x, z)         a = get-tuple-element(f), b = get-tuple-element(f)
**
** Sums over the same dimensions of values computed from one array become one reduction of several arrays. Examples are
** the sums of an array and of its squares, or of a gradient and of its product with the normalised input. A loop that
** writes an array also reduces its rows, such as a softmax's exponentials and their sums:
**
**     e = fusion(x)               f = (s, e) fusion(x)
**     s = fusion(e)               e and s as above
**
** All operands of a loop must be computed before any of its results is used. The earlier
** fusion can move to the later one if no instruction in between reads it. The later one can move to the
** earlier if it reads no value computed in between. Otherwise the two loops stay apart.
*/
#include "plan/fusible.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MAX_INPUTS. Test: "${n} inputs, and as many results" in core/thresholds.test.mjs. */
  MAX_INPUTS = 48,
  /* Threshold MAX_OPERATIONS: operations of one loop. Test: "a chain of ${n} operations" in
  ** core/thresholds.test.mjs. */
  MAX_OPERATIONS = 512,
  /* Threshold MAX_RESULTS, MAX_STREAMS. Test: "siblings: reductions of the same array, small and
  ** large" in core/thresholds_programs.test.mjs. */
  MAX_RESULTS = 16,
  MAX_STREAMS = 12, /* arrays of its own size that a loop over large arrays reads or writes */
  /* Threshold SMALL_BYTES: bytes of arrays that stay in the cache from one loop to the next.
  ** Test: "siblings around 64 kB and of 64 elements" in core/thresholds_numbers.test.mjs. */
  SMALL_BYTES = 64 << 10,
  /* Threshold MIN_ROW, MIN_ROWS. Test: "siblings: reductions of the same array, small and large" in
  ** core/thresholds_programs.test.mjs. */
  MIN_ROW = 12,  /* for a loop that writes and reduces: lanes of shorter rows are other rows */
  MIN_ROWS = 16, /* that threads may share */
  /* Threshold FEW_ELEMENTS. Test: "siblings around 64 kB and of 64 elements" in core/thresholds_numbers.test.mjs. */
  FEW_ELEMENTS = 64,
  /* Threshold MAX_RECENT: the latest loops that read an array, which are tried. Test: "siblings:
  ** reductions of the same array, small and large" in core/thresholds_programs.test.mjs. */
  MAX_RECENT = 4,
};

typedef struct Cluster {
  int count, position, operations, input_count;
  bool has_polynomials;
  const Instruction *reducer;        /* a member that reduces */
  Instruction *members[MAX_RESULTS]; /* in order */
  Instruction *inputs[MAX_INPUTS];   /* operands of members, other than members */
} Cluster;

typedef struct Recent {
  int count;
  Cluster *items[MAX_RECENT];
} Recent;

typedef struct Merger {
  Arena *arena;
  Computation *computation;
  int *position;        /* by id: of instructions in the new order */
  Cluster **cluster_of; /* by id; NULL: in no loop of this kind */
  Users users;
  Recent *recent; /* by id: the loops that read it */
  int count;      /* of clusters with several members */
} Merger;

/* ---- Conditions for merging ---- */

/* Whether a reduction is a sum. Maxima, minima and reductions of bytes are faster alone (codegen/loops/reduce_emitter.c). */
static bool is_sum(const Instruction *root) {
  Opcode opcode = reduce_operation(root);
  PrimitiveType type = root->shape->type;
  return (opcode == HLO_ADD || opcode == HLO_MULTIPLY) && type_bytes(type) >= 2;
}

static bool is_loop(const Instruction *x) {
  if (x->opcode != HLO_FUSION || x->a->control_predecessors.count || !shape_is_array(x->shape) ||
      fused_product(x)) {
    return false;
  }
  const Instruction *root = x->a->calls->root;
  if (root->opcode == HLO_REDUCE) return reduce_operation(root) != OPCODE_COUNT;
  return root->opcode != HLO_REDUCE_WINDOW && root->opcode != HLO_SCATTER;
}

static bool reduces(const Instruction *x) { return x->a->calls->root->opcode == HLO_REDUCE; }

/* Returns the shape that the loops of a fusion iterate over. */
static const Shape *steps_of(const Instruction *x) {
  return reduces(x) ? x->a->calls->root->operands[0]->shape : x->shape;
}

/* Whether a reduction is along rows, and these are long and many enough to share a loop that writes. */
static bool goes_by_rows(const Instruction *x) {
  const Shape *shape = steps_of(x);
  int last = shape->rank - 1;
  return list_has(x->a->calls->root->a->dimensions, last) && shape->dims[last] >= MIN_ROW &&
         shape_elements(x->shape) >= MIN_ROWS && shape_bytes(shape) > SMALL_BYTES / 2 &&
         type_bytes(shape->type) > 1 && type_bytes(x->shape->type) > 1;
}

/* Whether two reductions have the same dimensions and type. */
static bool reduces_like(const Instruction *a, const Instruction *b) {
  const Instruction *x = a->a->calls->root, *y = b->a->calls->root;
  bool same = is_sum(x) && is_sum(y) && x->shape->type == y->shape->type &&
              x->a->dimensions.count == y->a->dimensions.count;
  for (int i = 0; same && i < x->a->dimensions.count; i++) {
    same = list_has(y->a->dimensions, x->a->dimensions.items[i]);
  }
  return same;
}

static bool goes_along_with(const Cluster *cluster, const Instruction *x) {
  if (!shape_same_dims(steps_of(cluster->members[0]), steps_of(x))) return false;
  if (cluster->reducer) return reduces(x) && reduces_like(cluster->reducer, x);
  return !reduces(x) || goes_by_rows(x);
}

static bool is_member(const Cluster *cluster, const Instruction *x) {
  for (int i = 0; i < cluster->count; i++) {
    if (cluster->members[i] == x) return true;
  }
  return false;
}

static bool is_input(const Cluster *cluster, const Instruction *x) {
  for (int i = 0; i < cluster->input_count; i++) {
    if (cluster->inputs[i] == x) return true;
  }
  return false;
}

static bool has_polynomials(const Computation *fused) {
  for (int i = 0; i < fused->count; i++) {
    if (opcode_cost(fused->instructions[i]->opcode) == COST_LONG) return true;
  }
  return false;
}

/* Whether each element of a fusion, or of the array that it reduces, reads only the parameter's element with
** the same index. */
static bool reads_in_place(const Computation *fused, int parameter, Arena *arena) {
  enum { DIRECT = 1, ELSEWHERE = 2 };
  uint8_t *read = ARENA_ARRAY(arena, uint8_t, fused->count);
  read[fused->root->id] = DIRECT;
  for (int i = fused->count - 1; i >= 0; i--) {
    const Instruction *x = fused->instructions[i];
    bool is_reduce = x->opcode == HLO_REDUCE; /* the root, of one array */
    bool keeps_indices = opcode_is_elementwise(x->opcode) || x->opcode == HLO_COPY;
    for (int k = 0; k < x->operand_count && read[i]; k++) {
      bool same =
          is_reduce ? k == 0 : keeps_indices && shape_same_dims(x->operands[k]->shape, x->shape);
      read[x->operands[k]->id] |= same ? read[i] : ELSEWHERE;
    }
  }
  return read[fused->parameters[parameter]->id] == DIRECT;
}

/* Whether the fusion can read the cluster's results as the loop computes them. A reduction in a cluster of
** loops that do not reduce must read one. */
static bool fits_results(const Merger *m, const Cluster *cluster, const Instruction *x) {
  if (shape_elements(x->shape) == 1 && !reduces(x)) return true;
  ArenaMark mark = arena_mark(m->arena);
  bool fits = true, reads = false;
  for (int k = 0; k < x->operand_count && fits; k++) {
    if (!is_member(cluster, x->operands[k])) continue;
    reads = true; /* a sum is complete only after the loop */
    fits = !reduces(x->operands[k]) && reads_in_place(x->a->calls, k, m->arena);
  }
  arena_release(m->arena, mark);
  return fits && (reads || !reduces(x) || cluster->reducer);
}

/* Whether merging saves reads that are worth it. */
static bool shares(const Cluster *cluster, const Instruction *x) {
  int64_t elements = shape_elements(steps_of(x)), bytes = shape_bytes(x->shape);
  int streams = cluster->count + 1, shared = 0;
  for (int i = 0; i < cluster->input_count; i++) {
    bytes += shape_bytes(cluster->inputs[i]->shape);
    streams += shape_elements(cluster->inputs[i]->shape) >= elements;
  }
  for (int k = 0; k < x->operand_count; k++) {
    const Instruction *operand = x->operands[k];
    bool known = is_input(cluster, operand) || is_member(cluster, operand);
    if (!known) bytes += shape_bytes(operand->shape);
    if (shape_elements(operand->shape) < elements) continue;
    shared += known;
    streams += !known;
  }
  if (elements > FEW_ELEMENTS && cluster->has_polynomials && has_polynomials(x->a->calls))
    return false;
  return (bytes <= SMALL_BYTES && !reduces(x)) || (shared && streams <= MAX_STREAMS);
}

static int new_inputs(const Cluster *cluster, const Instruction *x) {
  int count = 0;
  for (int k = 0; k < x->operand_count; k++) {
    count += !is_input(cluster, x->operands[k]) && !is_member(cluster, x->operands[k]);
  }
  return count;
}

/* Whether no instruction reads the cluster's results before `x`: then the cluster can move to `x`. */
static bool can_wait(const Merger *m, const Cluster *cluster, const Instruction *x) {
  for (int i = 0; i < cluster->count; i++) {
    int id = cluster->members[i]->id;
    for (int u = 0; u < m->users.count[id]; u++) {
      const Instruction *user = m->users.lists[id][u];
      if (user == x || is_member(cluster, user)) continue;
      if (m->position[user->id] < m->position[x->id]) return false;
    }
  }
  return true;
}

/* Whether all operands of `x` are computed before the cluster, or by it: then `x` can move to the cluster. */
static bool can_go_first(const Merger *m, const Cluster *cluster, const Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    const Instruction *operand = x->operands[k];
    if (!is_member(cluster, operand) && m->position[operand->id] >= cluster->position) return false;
  }
  return true;
}

static bool can_merge(const Merger *m, const Cluster *cluster, const Instruction *x) {
  return cluster->count < MAX_RESULTS && goes_along_with(cluster, x) &&
         cluster->operations + x->a->calls->count <= MAX_OPERATIONS &&
         cluster->input_count + new_inputs(cluster, x) <= MAX_INPUTS && shares(cluster, x) &&
         fits_results(m, cluster, x);
}

/* ---- Clusters ---- */

static void add_member(Merger *m, Cluster *cluster, Instruction *x) {
  cluster->members[cluster->count++] = x;
  cluster->operations += x->a->calls->count;
  cluster->has_polynomials |= has_polynomials(x->a->calls);
  if (reduces(x)) cluster->reducer = x;
  m->cluster_of[x->id] = cluster;
  m->count += cluster->count == 2;
  for (int k = 0; k < x->operand_count; k++) {
    Instruction *operand = x->operands[k];
    if (is_input(cluster, operand) || is_member(cluster, operand)) continue;
    cluster->inputs[cluster->input_count++] = operand;
  }
}

static bool try_merge(Merger *m, Cluster *cluster, Instruction *x) {
  if (!can_merge(m, cluster, x)) return false;
  if (can_wait(m, cluster, x)) {
    cluster->position = m->position[x->id];
    for (int i = 0; i < cluster->count; i++) {
      m->position[cluster->members[i]->id] = cluster->position;
    }
  } else if (can_go_first(m, cluster, x)) {
    m->position[x->id] = cluster->position;
  } else {
    return false;
  }
  add_member(m, cluster, x);
  return true;
}

static bool find_cluster(Merger *m, Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    int operand = x->operands[k]->id;
    if (m->cluster_of[operand] && try_merge(m, m->cluster_of[operand], x)) return true;
    for (int i = 0; i < m->recent[operand].count; i++) {
      if (try_merge(m, m->recent[operand].items[i], x)) return true;
    }
  }
  return false;
}

static void note_reads(Merger *m, const Instruction *x) {
  Cluster *cluster = m->cluster_of[x->id];
  for (int k = 0; k < x->operand_count; k++) {
    Recent *recent = &m->recent[x->operands[k]->id];
    bool known = false;
    for (int i = 0; i < recent->count; i++) known |= recent->items[i] == cluster;
    if (known) continue;
    if (recent->count < MAX_RECENT) recent->count++;
    for (int i = recent->count - 1; i > 0; i--) recent->items[i] = recent->items[i - 1];
    recent->items[0] = cluster;
  }
}

static void join_cluster(Merger *m, Instruction *x) {
  if (x->operand_count > MAX_INPUTS || !is_loop(x)) return;
  computation_renumber(x->a->calls);
  if (!find_cluster(m, x)) {
    Cluster *cluster = ARENA_NEW(m->arena, Cluster);
    cluster->position = m->position[x->id];
    add_member(m, cluster, x);
  }
  note_reads(m, x);
}

/* ---- Merging computations ---- */

/* Adds a member's instructions; returns its root. `of_input`: by id in the outer computation. */
static Instruction *add_body(Merger *m, Computation *fused, const Instruction *member,
                             Instruction *const *of_input) {
  const Computation *body = member->a->calls;
  Instruction **copies = ARENA_ARRAY(m->arena, Instruction *, body->count);
  for (int i = 0; i < body->count; i++) {
    const Instruction *x = body->instructions[i];
    if (x->opcode == HLO_PARAMETER) {
      copies[i] = of_input[member->operands[x->parameter_number]->id];
      continue;
    }
    Instruction **operands = ARENA_ARRAY(m->arena, Instruction *, x->operand_count);
    for (int k = 0; k < x->operand_count; k++) operands[k] = copies[x->operands[k]->id];
    copies[i] = computation_add_named(fused, x->opcode, x->shape, operands, x->operand_count, x->a,
                                      x->name);
    copies[i]->literal = x->literal;
  }
  return copies[body->root->id];
}

/* Whether a member's result has a user outside the cluster. */
static bool is_wanted(const Merger *m, const Cluster *cluster, const Instruction *member) {
  if (member == m->computation->root) return true;
  for (int u = 0; u < m->users.count[member->id]; u++) {
    if (!is_member(cluster, m->users.lists[member->id][u])) return true;
  }
  return false;
}

/* Lists the results used outside the cluster in `wanted`, reductions first; returns their number. */
static int results_of(const Merger *m, const Cluster *cluster, Instruction **wanted) {
  int count = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < cluster->count; i++) {
      Instruction *member = cluster->members[i];
      if (reduces(member) == (pass == 0) && is_wanted(m, cluster, member)) wanted[count++] = member;
    }
  }
  return count;
}

/* Combines each value of several reductions by their own operations. */
static Computation *combine_apart(Module *module, Instruction *const *sums, int count) {
  Computation *combine = module_add_computation(module, "combine");
  const Shape **shapes = ARENA_ARRAY(module->arena, const Shape *, count);
  Instruction *values[2 * MAX_RESULTS], *combined[MAX_RESULTS];
  for (int i = 0; i < 2 * count; i++) {
    values[i] =
        computation_add_parameter(combine, i, shape_scalar(sums[i % count]->shape->type), NULL);
  }
  for (int i = 0; i < count; i++) {
    Instruction *operands[] = {values[i], values[count + i]};
    shapes[i] = values[i]->shape;
    combined[i] = computation_add(combine, reduce_operation(sums[i]), shapes[i], operands, 2, NULL);
  }
  computation_add(combine, HLO_TUPLE_OP, shape_tuple(module->arena, count, shapes), combined, count,
                  NULL);
  return combine;
}

/* Adds one reduction in place of several. */
static Instruction *add_reduction(Computation *fused, Instruction *const *sums, int count,
                                  const Shape *shape) {
  Instruction *operands[2 * MAX_RESULTS];
  Attributes a = *sums[0]->a;
  for (int i = 0; i < 2 * count; i++) operands[i] = sums[i % count]->operands[i / count];
  a.to_apply = combine_apart(fused->module, sums, count);
  return computation_add(fused, HLO_REDUCE, shape, operands, 2 * count, &a);
}

/* Adds a root with several results, those of reductions first. */
static void add_root(Computation *fused, Instruction **roots, int count, const Shape **shapes) {
  Arena *arena = fused->module->arena;
  const Shape *shape = shape_tuple(arena, count, shapes);
  int sums = 0;
  while (sums < count && roots[sums]->opcode == HLO_REDUCE) sums++;
  if (sums > 1) {
    const Shape *of_sums = sums == count ? shape : shape_tuple(arena, sums, shapes);
    Instruction *reduction = add_reduction(fused, roots, sums, of_sums);
    for (int i = 0; i < sums && sums < count; i++) {
      roots[i] = computation_add(fused, HLO_GET_TUPLE_ELEMENT, shapes[i], &reduction, 1,
                                 ATTRIBUTES(.tuple_index = i));
    }
  }
  if (sums < count) computation_add(fused, HLO_TUPLE_OP, shape, roots, count, NULL);
}

static Computation *merged_computation(Merger *m, const Cluster *cluster,
                                       Instruction *const *wanted, int count,
                                       Instruction **of_input) {
  Module *module = m->computation->module;
  Computation *fused = module_add_computation(
      module, arena_printf(module->arena, "fused_%s", cluster->members[0]->name));
  const Shape **shapes = ARENA_ARRAY(module->arena, const Shape *, count);
  Instruction *roots[MAX_RESULTS];
  for (int i = 0; i < cluster->input_count; i++) {
    Instruction *input = cluster->inputs[i];
    of_input[input->id] = computation_add_parameter(fused, i, input->shape, NULL);
  }
  for (int i = 0; i < cluster->count; i++) {
    Instruction *member = cluster->members[i];
    of_input[member->id] = add_body(m, fused, member, of_input);
  }
  for (int i = 0; i < count; i++) {
    roots[i] = of_input[wanted[i]->id];
    shapes[i] = wanted[i]->shape;
  }
  fused->root = roots[0];
  if (count > 1) add_root(fused, roots, count, shapes);
  eliminate_common_subexpressions(fused);
  return fused;
}

static void merge(Merger *m, const Cluster *cluster, Instruction **of_input) {
  Instruction *wanted[MAX_RESULTS];
  int count = results_of(m, cluster, wanted);
  if (!count) return; /* nor is any of it computed */
  Computation *fused = merged_computation(m, cluster, wanted, count, of_input);
  Attributes a;
  LoopPlan plan;
  ArenaMark mark = arena_mark(m->arena);
  bool can = loop_plan_fusion(&plan, m->arena, fused);
  arena_release(m->arena, mark);
  if (!can) return; /* the new computation has no caller */
  attributes_init(&a);
  a.calls = fused;
  a.fusion_kind = FUSION_LOOP;
  if (count == 1) {
    instruction_become(wanted[0], HLO_FUSION, cluster->inputs, cluster->input_count, &a);
    return;
  }
  Instruction *fusion =
      computation_add_named(m->computation, HLO_FUSION, fused->root->shape, cluster->inputs,
                            cluster->input_count, &a, wanted[0]->name);
  for (int i = 0; i < count; i++) {
    instruction_become(wanted[i], HLO_GET_TUPLE_ELEMENT, &fusion, 1, ATTRIBUTES(.tuple_index = i));
  }
}

/* ---- The pass ---- */

static bool fuse_siblings(Computation *computation) {
  int loops = 0, n = computation->count;
  for (int i = 0; i < n; i++) loops += is_loop(computation->instructions[i]);
  if (loops < 2) return false;
  Merger m = {.arena = arena_new(), .computation = computation};
  m.position = ARENA_ARRAY(m.arena, int, n);
  m.cluster_of = ARENA_ARRAY(m.arena, Cluster *, n);
  m.users = find_users(m.arena, computation);
  m.recent = ARENA_ARRAY(m.arena, Recent, n);
  for (int i = 0; i < n; i++) m.position[i] = i;
  for (int i = 0; i < n; i++) join_cluster(&m, computation->instructions[i]);
  Instruction **of_input = ARENA_ARRAY(m.arena, Instruction *, n);
  for (int i = 0; i < n && m.count; i++) {
    const Cluster *cluster = m.cluster_of[i];
    if (cluster && cluster->count > 1 && cluster->members[0]->id == i) merge(&m, cluster, of_input);
  }
  if (m.count) computation_sort(computation);
  arena_free(m.arena);
  return m.count > 0;
}

bool pass_fuse_siblings(Module *module) {
  bool changed = for_each_computation(module, fuse_siblings);
  if (changed) module_remove_dead(module);
  return changed;
}
