/*
** Products with a matrix whose scales are taken by a list of groups, one for each place of the depth:
**
**     dot(x, (convert(w) - gather(zeros, groups)) * gather(scales, groups))
**
** Keras' int4 and GPTQ dequantise so, as they may reorder the depth. Mostly they do not: place i is in group i / block. The list
** is known at run time only. So a conditional replaces the product by two, and runs one of them:
**
**     conditional(all(groups == i / block), with broadcast(scales), with gather(scales, groups))
**
** Loops of products read blocks with one scale; they do not gather. What else depends on the list, such as whether its
** entries are in range, is computed in the first branch for the list i / block.
** Measured, keras' int4, a vector by 4 M weights: 4.2 -> 0.68 ms (Node 20, 2026-11).
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/simplify/fold_constants.h"

/* Threshold MIN_MATRIX, MIN_BLOCK. Test: "groups by a list: sizes" in core/regular_indices.test.mjs. */
/* Threshold MIN_COPIED, MAX_STEPS, MAX_DEPTH, MAX_LEAVES, MAX_LIST: smaller arrays are computed before the conditional; bounds of
** what is looked at. No path. */
enum {
  MIN_MATRIX = 1 << 14, /* elements */
  MIN_BLOCK = 8,        /* places of a group */
  MIN_COPIED = 4096,
  MAX_STEPS = 256,
  MAX_DEPTH = 32,
  MAX_LEAVES = 32,
  MAX_LIST = 1 << 16
};

/* A gather that takes one index of a table's dimension for each entry of a list. */
typedef struct Lookup {
  Instruction *list; /* reshaped or not */
  int dimension;     /* of the table */
  int place;         /* of the list in the result */
} Lookup;

/* A product that is copied into two branches. Number 0 is for a regular list. */
typedef struct Copies {
  Arena *scratch;
  Instruction *list;
  int64_t block;
  int count;     /* instructions of the computation, before */
  char *depends; /* by id: whether it depends on the list: 0: not known, 1: no, 2: yes */
  Computation *to[2];
  Instruction *given[2], **of[2]; /* the tuples; by id */
  Instruction *leaves[MAX_LEAVES];
  int leaf_count, steps;
} Copies;

/* ---- Finding lists ---- */

static bool is_lookup(const Instruction *x, Lookup *out) {
  if (x->opcode != HLO_GATHER || x->a->operand_batching_dims.count) return false;
  const Attributes *a = x->a;
  const Shape *table = x->operands[0]->shape, *indices = x->operands[1]->shape;
  int rank = table->rank;
  if (a->start_index_map.count != 1 || a->collapsed_slice_dims.count != 1 ||
      a->start_index_map.items[0] != a->collapsed_slice_dims.items[0] || x->shape->rank != rank ||
      a->offset_dims.count != rank - 1 || indices->type != S32) {
    return false;
  }
  *out = (Lookup){without_reshapes(x->operands[1]), (int)a->start_index_map.items[0], 0};
  while (out->place < rank && list_has(a->offset_dims, out->place)) out->place++;
  for (int d = 0; d < rank; d++) {
    if (d != out->dimension && a->slice_sizes.items[d] != table->dims[d]) return false;
  }
  return shape_elements(indices) == x->shape->dims[out->place];
}

static bool is_copied(const Instruction *x) {
  bool moves = opcode_category(x->opcode) == MOVEMENT || x->opcode == HLO_BITCAST_CONVERT;
  return (moves || opcode_is_elementwise(x->opcode)) && shape_is_array(x->shape) &&
         !x->a->control_predecessors.count && x->operand_count <= MAX_RANK + 2;
}

/* Finds the list of a gather that a value depends on. */
static bool find_list(const Instruction *x, Copies *c, int depth) {
  Lookup lookup;
  bool scales = x->opcode != HLO_EXP; /* else a bias of attention's weights */
  if (depth == MAX_DEPTH || c->steps++ == MAX_STEPS || !scales || !is_copied(x)) return false;
  if (is_lookup(x, &lookup)) {
    int64_t groups = x->operands[0]->shape->dims[lookup.dimension];
    int64_t places = shape_elements(lookup.list->shape);
    bool divides = groups > 0 && places % groups == 0 && places / groups >= MIN_BLOCK;
    if (divides && places <= MAX_LIST && lookup.list->opcode != HLO_CONSTANT) {
      c->list = lookup.list;
      c->block = places / groups;
      return true;
    }
  }
  for (int i = 0; i < x->operand_count; i++) {
    if (find_list(x->operands[i], c, depth + 1)) return true;
  }
  return false;
}

static bool depends(Copies *c, const Instruction *x, int depth) {
  if (x == c->list) return true;
  if (x->id >= c->count || depth == MAX_DEPTH || !is_copied(x)) return false;
  char *known = &c->depends[x->id];
  if (*known) return *known == 2;
  bool does = false;
  for (int i = 0; i < x->operand_count; i++) does |= depends(c, x->operands[i], depth + 1);
  *known = (char)(1 + does);
  return does;
}

/* ---- Branches ---- */

/* Returns the list i / block. */
static Instruction *add_regular(Computation *computation, const Copies *c) {
  Literal *list = literal_new(computation->module->arena, c->list->shape);
  for (int64_t i = 0; i < shape_elements(list->shape); i++) {
    scalar_store(S32, list->data, i, (Scalar){.i = i / c->block});
  }
  return computation_add_constant(computation, list, NULL);
}

/* Repeats each entry of the table `block` times, in the order of a gather's result. A transpose of the table comes last, where it
** folds into the product. */
static Instruction *add_repeated(Instruction *table, const Lookup *lookup, int64_t block,
                                 const Shape *result) {
  Computation *computation = table->parent;
  Arena *arena = computation->module->arena;
  int rank = table->shape->rank, count = 0;
  int64_t of[MAX_RANK], order[MAX_RANK], dims[MAX_RANK + 1], whole[MAX_RANK];
  int64_t *to = ARENA_ARRAY(arena, int64_t, rank);
  if (rank == MAX_RANK) return NULL;
  for (int d = 0; d < rank; d++) of[d] = d;
  for (; table->opcode == HLO_TRANSPOSE; table = table->operands[0]) {
    for (int d = 0; d < rank; d++) of[d] = table->a->dimensions.items[of[d]];
  }
  int split = (int)of[lookup->dimension];
  for (int d = 0; d < rank; d++) {
    to[d] = count;
    dims[count++] = whole[d] = table->shape->dims[d];
    if (d != split) continue;
    dims[count++] = block;
    whole[d] *= block;
  }
  Instruction *x = computation_add(computation, HLO_BROADCAST,
                                   shape_make(arena, table->shape->type, count, dims, NULL), &table,
                                   1, ATTRIBUTES(.dimensions = {rank, to}));
  x = computation_add_reshape(computation, x, rank, whole);
  for (int d = 0, other = 0; d < rank; d++) {
    other += other == lookup->dimension;
    order[d] = d == lookup->place ? split : of[other++];
  }
  x = computation_add_transpose(computation, x, order);
  return shape_same_dims(x->shape, result) ? x : NULL;
}

static Instruction *add_leaf(Copies *c, Instruction *x, int branch) {
  int i = 0;
  while (i < c->leaf_count && c->leaves[i] != x) i++;
  if (i == MAX_LEAVES) return NULL;
  if (i == c->leaf_count) c->leaves[c->leaf_count++] = x;
  return computation_add(c->to[branch], HLO_GET_TUPLE_ELEMENT, x->shape, &c->given[branch], 1,
                         ATTRIBUTES(.tuple_index = i));
}

static Instruction *add_splat(Computation *computation, const Shape *shape, Scalar value) {
  Instruction *number = computation_add_number(computation, shape->type, value);
  return computation_add(computation, HLO_BROADCAST, shape, &number, 1, NULL);
}

/* Returns one number that all elements of x are, repeated, if x depends on constants alone. */
static Instruction *known(Copies *c, Instruction *x) {
  if (x->shape->type != PRED || shape_elements(x->shape) > MAX_LIST) return x;
  const Literal *value = constant_value(x, c->scratch);
  int64_t same = 0, count = shape_elements(x->shape);
  Scalar first = value && count ? scalar_load(PRED, value->data, 0) : (Scalar){0};
  while (value && same < count && scalar_load(PRED, value->data, same).u == first.u) same++;
  return value && same == count ? add_splat(x->parent, x->shape, first) : x;
}

/* Copies x and all that it depends on to a branch. Returns NULL if that is too much. */
static Instruction *copy(Copies *c, Instruction *x, int branch, int depth) {
  Instruction *operands[MAX_RANK + 2];
  Lookup lookup;
  Scalar value;
  Computation *to = c->to[branch];
  if (x->id >= c->count || depth == MAX_DEPTH) return NULL;
  Instruction **made = &c->of[branch][x->id];
  if (*made) return *made;
  bool is_regular = branch == 0;
  if (x->opcode == HLO_CONSTANT) {
    *made = computation_add_constant(to, x->literal, NULL);
  } else if (splat_value(x, &value)) {
    *made = add_splat(to, x->shape, value);
  } else if (x == c->list && is_regular) {
    *made = add_regular(to, c);
  } else if (x == c->list || !is_copied(x) ||
             (shape_elements(x->shape) < MIN_COPIED && !depends(c, x, 0))) {
    *made = add_leaf(c, x, branch);
  } else if (is_regular && is_lookup(x, &lookup) && lookup.list == c->list &&
             x->operands[0]->shape->dims[lookup.dimension] * c->block ==
                 x->shape->dims[lookup.place]) {
    Instruction *table = copy(c, x->operands[0], branch, depth + 1);
    *made = table ? add_repeated(table, &lookup, c->block, x->shape) : NULL;
  } else {
    for (int i = 0; i < x->operand_count; i++) {
      operands[i] = copy(c, x->operands[i], branch, depth + 1);
      if (!operands[i]) return NULL;
    }
    *made = computation_add(to, x->opcode, x->shape, operands, x->operand_count, x->a);
    if (is_regular && depends(c, x, 0)) *made = known(c, *made);
  }
  return *made;
}

/* Copies the product to a branch. */
static bool copy_product(Copies *c, const Instruction *dot, int side, int branch) {
  Module *module = dot->parent->module;
  Computation *to = c->to[branch] =
      module_add_computation(module, arena_printf(module->arena, "regular_%s", dot->name));
  /* Its shape is set once all leaves are known. */
  c->given[branch] = computation_add_parameter(to, 0, dot->shape, NULL);
  c->of[branch] = ARENA_ARRAY(c->scratch, Instruction *, c->count);
  Instruction *operands[2];
  operands[side] = copy(c, dot->operands[side], branch, 0);
  operands[1 - side] = operands[side] ? add_leaf(c, dot->operands[1 - side], branch) : NULL;
  if (!operands[1 - side]) return false;
  to->root = computation_add(to, HLO_DOT, dot->shape, operands, 2, dot->a);
  return true;
}

/* Whether the list is regular. */
static Instruction *add_check(const Copies *c) {
  Computation *computation = c->list->parent;
  Module *module = computation->module;
  const Shape *shape = shape_with_type(module->arena, c->list->shape, PRED);
  Instruction *operands[] = {c->list, add_regular(computation, c)};
  Instruction *equal = computation_add(computation, HLO_COMPARE, shape, operands, 2,
                                       ATTRIBUTES(.direction = COMPARE_EQ));
  Instruction *all = computation_add_number(computation, PRED, (Scalar){.u = 1});
  int64_t *dims = ARENA_ARRAY(module->arena, int64_t, shape->rank);
  for (int d = 0; d < shape->rank; d++) dims[d] = d;
  return computation_add(computation, HLO_REDUCE, all->shape, (Instruction *[]){equal, all}, 2,
                         ATTRIBUTES(.dimensions = {shape->rank, dims},
                                    .to_apply = module_add_reducer(module, HLO_AND, PRED)));
}

static bool split_product(Instruction *dot, int side, Arena *scratch) {
  Copies c = {.scratch = scratch, .count = dot->parent->count};
  if (shape_elements(dot->operands[side]->shape) < MIN_MATRIX ||
      !find_list(dot->operands[side], &c, 0)) {
    return false;
  }
  computation_renumber(dot->parent);
  c.depends = ARENA_ARRAY(scratch, char, c.count);
  for (int branch = 0; branch < 2; branch++) {
    if (!copy_product(&c, dot, side, branch)) return false;
  }
  Instruction *leaves = computation_add_tuple(dot->parent, c.leaves, c.leaf_count);
  for (int branch = 0; branch < 2; branch++) c.given[branch]->shape = leaves->shape;
  Instruction *operands[] = {add_check(&c), leaves, leaves};
  instruction_become(dot, HLO_CONDITIONAL, operands, 3,
                     ATTRIBUTES(.true_computation = c.to[0], .false_computation = c.to[1]));
  return true;
}

static bool visit(Instruction *x, void *data) {
  if (x->opcode != HLO_DOT || x->a->control_predecessors.count) return false;
  Arena *scratch = arena_new();
  bool changed = split_product(x, 1, scratch) || split_product(x, 0, scratch);
  arena_free(scratch);
  return changed;
}

bool pass_regular_indices(Module *module) { return rewrite_each(module, visit, NULL); }
