/*
** Maps dot and ragged-dot, of any types and dimension numbers, to contractions.
**
** ragged-dot cuts one dimension of the lhs into groups, whose sizes are data. Among the rows, each group is
** multiplied by its own matrix of the rhs, and rows after the last group give 0. Along the depth, each group
** gives its own result. In both cases the groups are parts (contraction.h) with fewer rows, or less depth, than
** the whole; the plan is made for the whole. Groups of a batch dimension change nothing.
*/
#include <string.h>

#include "base/min_max.h"
#include "kernels/contraction/contraction_plan.h"
#include "kernels/contraction/pack.h"
#include "kernels/contraction/scaled.h"
#include "kernels/contraction/zeros.h"
#include "kernels/kernels.h"
#include "value/scalar.h"

/* The groups of a ragged-dot. axis: the dimension that is cut; the contraction does not contain it. */
typedef struct Ragged {
  bool by_rows, listed; /* listed: sizes are given for each index of `lists` */
  Axis axis;
  Axes *lists;    /* each index has a list of groups: batches, and other dimensions of the sizes */
  int64_t copies; /* of the result: lists along the depth, which are added up */
  int64_t groups,
      stride;    /* groups in a list; elements from a group's matrix, or result, to the next */
  int64_t parts; /* parts in a list: the groups and, by rows, the rows after the last one */
} Ragged;

/* A part: its range [begin, end) of the dimension, and its first unit. */
typedef struct Part {
  int64_t begin, end, unit;
} Part;

typedef struct DotPlan {
  KernelPlan kernel;
  int number[2];              /* the parameters of a fused product; else 0 and 1 */
  const Instruction *operand; /* of a fused product: the one that is computed; else NULL */
  Computed planned;           /* of that one, while there is no call */
  const KeptContraction *contraction;
  ContractionPlan plan;
  Ragged ragged;
  bool is_limited; /* the parameter number `limit` has the used columns' range */
  int limit;
  bool limits_rows, limits_columns; /* of `contraction`, if these columns are its only axis */
  Diagonal diagonal;                /* without its range */
  bool hides;    /* the limit's mask is added: results that are not computed are 0 */
  int hidden_by; /* then: the operand that is no bounded array, which the kernel checks */
  int64_t hidden_bytes;
  int64_t
      bounded; /* the set of bounded arrays that has an operand, which may be the rhs; 0: none */
  bool bounds_rhs;
  int bounds_factors, hides_below; /* of Derived */
  int64_t parts, parts_at,
      units_per_chunk; /* ragged-dot: parts in all; their offset in scratch, after the sums */
} DotPlan;

/* Returns the lhs dimension that is cut into groups; -1 if there is none or it is a batch dimension. */
static int64_t ragged_dimension(const Instruction *dot) {
  if (dot->opcode == HLO_DOT) return -1;
  int64_t dimension = dot->a->lhs_ragged_dims.items[0];
  return list_has(dot->a->lhs_batch_dims, dimension) ? -1 : dimension;
}

/* Sets the groups of a ragged dot; its axis and lists are set with the contraction's axes. */
static void set_groups(const Instruction *dot, int64_t dimension, Ragged *ragged, Arena *arena) {
  const Attributes *a = dot->a;
  *ragged = (Ragged){.by_rows = !list_has(a->lhs_contracting_dims, dimension), .copies = 1};
  if (dimension < 0) return;
  ragged->lists = ARENA_NEW(arena, Axes);
  const Shape *sizes = dot->operands[2]->shape;
  int64_t strides[MAX_RANK];
  shape_strides(ragged->by_rows ? dot->operands[1]->shape : dot->shape, strides);
  ragged->groups = sizes->dims[sizes->rank - 1];
  ragged->parts = ragged->groups + ragged->by_rows;
  ragged->stride = strides[ragged->by_rows ? a->rhs_group_dims.items[0] : 0];
  ragged->listed = sizes->rank > 1;
}

static void add_columns(const Instruction *dot, Axes *columns, const int64_t *rhs_strides,
                        const int64_t *strides) {
  const Shape *rhs = dot->operands[1]->shape;
  const Attributes *a = dot->a;
  for (int d = 0; d < rhs->rank; d++) {
    if (list_has(a->rhs_batch_dims, d) || list_has(a->rhs_contracting_dims, d) ||
        list_has(a->rhs_group_dims, d)) {
      continue;
    }
    axes_add(columns, rhs->dims[d], 0, rhs_strides[d], *strides++);
  }
}

static void contraction_of(const Instruction *dot, Contraction *c, Ragged *ragged, Arena *arena) {
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  const Attributes *a = dot->a;
  int64_t dimension = ragged_dimension(dot), l[MAX_RANK], r[MAX_RANK], strides[MAX_RANK];
  shape_strides(lhs, l);
  shape_strides(rhs, r);
  shape_strides(dot->shape, strides);
  *c = (Contraction){
      .array = {{.type = lhs->type}, {.type = rhs->type}, {.type = dot->shape->type}}};
  set_groups(dot, dimension, ragged, arena);
  bool is_ragged = dimension >= 0, by_rows = ragged->by_rows;
  const int64_t *out = strides + (is_ragged && !by_rows); /* that one is the groups' */
  /* If sizes have several dimensions, the earlier dimensions of this kind have lists, too. */
  Axes *batch = is_ragged ? ragged->lists : &c->batch;
  Axes *rows = ragged->listed && by_rows ? batch : &c->rows;
  Axes *depth = ragged->listed && !by_rows ? batch : &c->depth;
  for (int i = 0; i < a->lhs_batch_dims.count; i++) {
    int64_t d = a->lhs_batch_dims.items[i];
    axes_add(batch, lhs->dims[d], l[d], r[a->rhs_batch_dims.items[i]], *out++);
  }
  for (int i = 0; i < a->lhs_contracting_dims.count; i++) {
    int64_t d = a->lhs_contracting_dims.items[i], right = r[a->rhs_contracting_dims.items[i]];
    if (d == dimension) {
      ragged->axis = (Axis){lhs->dims[d], {l[d], right, 0}};
      depth = &c->depth;
      continue;
    }
    if (depth == batch) ragged->copies *= lhs->dims[d];
    axes_add(depth, lhs->dims[d], l[d], right, 0);
  }
  /* The remaining dimensions are, in order, the next dimensions of the result. */
  for (int d = 0; d < lhs->rank; d++) {
    if (list_has(a->lhs_batch_dims, d) || list_has(a->lhs_contracting_dims, d)) continue;
    int64_t stride = *out++;
    if (d == dimension) {
      ragged->axis = (Axis){lhs->dims[d], {l[d], 0, stride}};
      rows = &c->rows;
      continue;
    }
    axes_add(rows, lhs->dims[d], l[d], 0, stride);
  }
  add_columns(dot, &c->columns, r, out);
  c->keeps_negative_zero = !is_ragged && axes_size(&c->depth) == 1;
  c->keeps_rows = is_ragged && by_rows;
}

/* ---- Computed operands ---- */

/* Threshold MAX_INPUTS. Test: "loops of many inputs, and of many operations after a transpose" in
** core/quantised.test.mjs. */
enum { MAX_INPUTS = 64 };

/* The computed operand of a kernel call. */
typedef struct CallOperand {
  Computed computed;
  const KernelCall *call;
  const Instruction *operand;
} CallOperand;

static void find_inputs(const CallOperand *own, const uint8_t **inputs) {
  for (int i = 0; i < own->operand->operand_count; i++) {
    inputs[i] = own->call->operands[own->operand->operands[i]->parameter_number];
  }
}

static void compute(const Computed *computed, int64_t first, int64_t count, void *out) {
  const CallOperand *own = (const CallOperand *)computed;
  const Instruction *operand = own->operand;
  uint8_t *buffers[MAX_INPUTS + 1];
  int inputs = operand->operand_count;
  find_inputs(own, (const uint8_t **)buffers);
  size_t bytes = (size_t)first * (size_t)type_bytes(operand->shape->type);
  buffers[inputs] = (uint8_t *)((uintptr_t)out - bytes);
  own->call->compute(own->call, buffers, first, first + count);
}

/* Adds the axes of an array that are one of its view: parts of the view's loops. Returns false if there are none, or one goes
** backwards. */
static bool add_viewed(Axes *axes, const Axis *axis, Operand side, const Scaled *view) {
  int64_t unit = 1, at = axis->stride[side], left = axis->size;
  Axis part = *axis;
  for (int k = view->rank - 1; left > 1 && k >= 0; unit *= view->sizes[k--]) {
    int64_t end = unit * view->sizes[k];
    if (at >= end) continue;
    part.size = min_i64(left, end / at);
    part.stride[side] = view->numbers.strides[k] * (at / unit);
    if (at % unit || end % (at * part.size) || left % part.size || part.stride[side] < 0 ||
        axes->count == MAX_RANK) {
      return false;
    }
    if (part.size > 1) axes->items[axes->count++] = part;
    for (int o = LHS; o <= OUT; o++) part.stride[o] *= part.size;
    at *= part.size;
    left /= part.size;
  }
  return left == 1;
}

/* Reads an array in place whose elements an operand repeats or moves: heads that several queries share. An axis of batches along
** which it is repeated is one of the other operand's lines. Returns false, and changes nothing, if that is impossible. */
static bool read_view(Contraction *c, Operand side, const Scaled *view) {
  Contraction viewed = *c;
  Axes *lists[] = {&viewed.batch, &viewed.rows, &viewed.columns, &viewed.depth};
  const Axes *given[] = {&c->batch, &c->rows, &c->columns, &c->depth};
  Axes *other = side == RHS ? &viewed.rows : &viewed.columns;
  for (int i = 0; i < 4; i++) {
    lists[i]->count = 0;
    for (int a = 0; a < given[i]->count; a++) {
      const Axis *axis = &given[i]->items[a];
      if (axis->stride[side] == 0) {
        lists[i]->items[lists[i]->count++] = *axis;
      } else if (!add_viewed(lists[i], axis, side, view)) {
        return false;
      }
    }
  }
  Axes batch = viewed.batch;
  viewed.batch.count = 0;
  for (int a = 0; a < batch.count; a++) {
    Axes *to = batch.items[a].stride[side] ? &viewed.batch : other;
    if (to->count == MAX_RANK) return false;
    to->items[to->count++] = batch.items[a];
  }
  viewed.array[side].type = view->numbers.type;
  *c = viewed;
  return true;
}

/* Finds where the operands of a product come from. Returns false if it has more inputs than there is room for. */
static bool find_operands(DotPlan *p, Contraction *c, const Instruction *dot, bool is_fused,
                          Arena *arena) {
  p->number[RHS] = 1;
  for (int side = LHS; side <= RHS && is_fused; side++) {
    const Instruction *operand = dot->operands[side];
    bool is_computed = operand->opcode != HLO_PARAMETER;
    p->number[side] = is_computed ? -1 : (int)operand->parameter_number;
    if (!is_computed) continue;
    p->operand = fused_operand(dot);
    p->planned.scaled = scaled_of(p->operand, arena);
    const Scaled *scaled = p->planned.scaled;
    if (scaled && scaled_is_plain(scaled)) { /* a slice: read in place */
      c->array[side].type = scaled->numbers.type;
    } else if (!scaled || !scaled->is_view || p->ragged.parts ||
               !read_view(c, (Operand)side, scaled)) {
      if (scaled && scaled->is_view) p->planned.scaled = NULL;
      c->array[side].computed = &p->planned;
      c->array[side].type = U8;
    }
    if (p->operand->operand_count > MAX_INPUTS) return false;
  }
  return true;
}

/* ---- Limited products ---- */

/* Whether these lines are one axis, along a dimension of the result. */
static bool are_along(const Axes *lines, const Shape *shape, int64_t dimension) {
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  return lines->count == 1 && lines->items[0].size == shape->dims[dimension] &&
         lines->items[0].stride[OUT] == strides[dimension];
}

static Dimension dimension_of(const Shape *shape, int64_t number) {
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  return (Dimension){strides[number], shape->dims[number]};
}

/* Finds the operand that must be small, beside the bounded array, so that an added mask hides results. Returns false if it cannot
** be checked, or results are written by several units. */
static bool find_hidden(DotPlan *p, const Instruction *dot) {
  int side = p->bounds_rhs ? LHS : RHS;
  const Shape *shape = dot->operands[side]->shape;
  p->hides = true;
  p->hidden_by = p->number[side];
  p->hidden_bytes = shape_bytes(shape);
  return p->bounded && p->hidden_by >= 0 && p->plan.way == BY_STREAM && !p->plan.finishes;
}

/* Finds the axis of the limited dimension, and the diagonal. BY_WHOLE_MATRICES and DIRECTLY compute all columns, so they have
** none. */
static void find_limit(DotPlan *p, const Contraction *c, const Instruction *outer,
                       const Instruction *dot) {
  const Derived *derived = &outer->a->derived;
  p->limit = outer->operand_count - 1;
  bool has_units = p->plan.way == BY_TILES || p->plan.way == BY_STREAM;
  if (!derived->used_dimension || !has_units) return;
  if (derived->hides_below && !find_hidden(p, dot)) return;
  p->is_limited = true;
  int64_t dimension = derived->used_dimension - 1;
  p->limits_rows = are_along(&c->rows, dot->shape, dimension);
  p->limits_columns = !p->limits_rows && are_along(&c->columns, dot->shape, dimension);
  p->diagonal.column = dimension_of(dot->shape, dimension);
  p->diagonal.row = (Dimension){1, 1};
  if (derived->used_diagonal) {
    p->diagonal.row = dimension_of(dot->shape, derived->used_diagonal - 1);
  }
}

/* Reads the range of used columns in the first row: its end, and, if there are more numbers, its begin; then the end and the begin
** of what all rows use. */
static void read_limits(const DotPlan *p, const KernelCall *call, Diagonal *diagonal) {
  const Shape *shape = call->instruction->operands[p->limit]->shape;
  const uint8_t *numbers = call->operands[p->limit];
  *diagonal = p->diagonal;
  int64_t columns = diagonal->column.size, rows = diagonal->row.size;
  diagonal->end = min_i64(max_i64(scalar_load(shape->type, numbers, 0).i, -rows), columns);
  diagonal->begin = -rows;
  diagonal->first = 0;
  diagonal->last = columns;
  if (shape_elements(shape) == 1) return;
  if (shape_elements(shape) == 4) {
    diagonal->last = min_i64(max_i64(scalar_load(shape->type, numbers, 2).i, 0), columns);
    diagonal->first = max_i64(scalar_load(shape->type, numbers, 3).i, 0);
  }
  int64_t begin = scalar_load(shape->type, numbers, 1).i;
  /* Where begin + row exceeds s32, the program's sum may have wrapped. */
  if (begin > -rows && begin <= INT32_MAX - rows) diagonal->begin = begin;
}

/* Returns the axis of these columns; NULL: all columns are computed. */
static Axis *limited_axis(const DotPlan *p, Contraction *c) {
  return p->limits_rows ? c->rows.items : p->limits_columns ? c->columns.items : NULL;
}

/* Sets the diagonal, and limits the axis to the columns that some row uses: from a multiple of COLUMNS_AT_ONCE to another. Loops
** over a different number of columns add in a different order, and the order must not depend on the limit. Returns the first. */
static int64_t set_limit(const DotPlan *p, const KernelCall *call, Contraction *c,
                         Diagonal *diagonal) {
  /* Threshold COLUMNS_AT_ONCE. Test: "limit-products" in core/limited_products.test.mjs. */
  enum { COLUMNS_AT_ONCE = 16 };
  read_limits(p, call, diagonal);
  c->diagonal = diagonal;
  Axis *axis = limited_axis(p, c);
  if (!axis) return 0;
  int64_t end = max_i64(min_i64(diagonal->end + diagonal->row.size - 1, diagonal->last), 0);
  axis->size = min_i64(round_up(end, COLUMNS_AT_ONCE), axis->size);
  if (p->plan.way == BY_TILES) return 0; /* panels that are packed beforehand are numbered */
  int64_t begin = min_i64(max_i64(diagonal->begin, diagonal->first), axis->size);
  begin = begin / COLUMNS_AT_ONCE * COLUMNS_AT_ONCE;
  axis->size -= begin;
  for (int o = LHS; o <= OUT; o++) c->array[o].base += begin * axis->stride[o];
  return begin;
}

/* Sets results to 0 that a limit leaves out. size: of their columns that are computed, from `begin` on. */
static void clear_rest(const DotPlan *p, const KernelCall *call, int64_t begin, int64_t size) {
  const Shape *shape = call->instruction->shape;
  Dimension column = p->diagonal.column;
  size_t bytes = (size_t)(column.stride * type_bytes(shape->type));
  int64_t end = begin + size, lines = shape_elements(shape) / (column.stride * column.size);
  for (int64_t i = 0; i < lines; i++) {
    uint8_t *line = call->results[0] + (size_t)(i * column.size) * bytes;
    memset(line, 0, (size_t)begin * bytes);
    memset(line + (size_t)end * bytes, 0, (size_t)(column.size - end) * bytes);
  }
}

/* Limits a product. If its mask is added, only if this hides all that is left out; the first chunk clears that. */
static void limit_call(const DotPlan *p, const KernelCall *call, int chunk, Contraction *c,
                       Diagonal *diagonal) {
  if (!p->hides) {
    set_limit(p, call, c, diagonal);
    return;
  }
  PrimitiveType type = c->array[p->bounds_rhs == p->plan.swapped].type;
  int set = call->bounds[p->bounded];
  int own = bounds_of_numbers(type, call->operands[p->hidden_by], p->hidden_bytes);
  int sum = p->bounds_factors * (set - BOUNDS_SMALL) + own - BOUNDS_SMALL;
  bool is_hidden = set != BOUNDS_LARGE && own != BOUNDS_LARGE && sum <= p->hides_below;
  if (!limited_axis(p, c) || !is_hidden) return;
  int64_t begin = set_limit(p, call, c, diagonal);
  if (chunk == 0) clear_rest(p, call, begin, limited_axis(p, c)->size);
}

/* ---- Parts ---- */

static void add_dimension(const Ragged *ragged, Contraction *c, int64_t size) {
  Axes *axes = ragged->by_rows ? &c->rows : &c->depth;
  Axis axis = ragged->axis;
  axis.size = size;
  axes->items[axes->count++] = axis;
}

/* Sets `c` to the contraction of a part. The rows after the last group have no depth. */
static void part_of(const DotPlan *p, int64_t number, const Part *part, Contraction *c) {
  const Ragged *ragged = &p->ragged;
  int64_t list = number / ragged->parts, group = number % ragged->parts;
  contraction_restore(p->contraction, c);
  c->array[ragged->by_rows ? RHS : OUT].base = group * ragged->stride;
  for (int o = LHS; o <= OUT; o++) {
    size_t base = (size_t)(c->array[o].base + part->begin * ragged->axis.stride[o]);
    axes_offsets(ragged->lists, (Operand)o, list, 1, base, &base);
    c->array[o].base = (int64_t)base;
  }
  add_dimension(ragged, c, part->end - part->begin);
  if (group == ragged->groups) {
    c->depth.count = 1;
    c->depth.items[0].size = 0;
  }
  contraction_arrange(c, &p->plan);
}

/* Returns the units of a part with `size` along the dimension, and these rows for each index of that. A part's units are in the
** order of its rows. */
static int64_t units_of(const DotPlan *p, int64_t rows, int64_t size) {
  const ContractionPlan *plan = &p->plan;
  if (!p->ragged.by_rows) return plan->units_per_part;
  return divide_up(rows * size, plan->tile[LHS]) * (plan->units_per_part / plan->tiles[LHS]);
}

/* Reads the parts' sizes. A size below 0 counts as 0; sizes are clamped to the end of the dimension. */
static void find_parts(const DotPlan *p, const KernelCall *call, Part *part) {
  const Ragged *ragged = &p->ragged;
  PrimitiveType type = call->instruction->operands[2]->shape->type;
  Contraction c;
  contraction_restore(p->contraction, &c);
  int64_t begin = 0, unit = 0, list = 0, rows = axes_size(&c.rows);
  for (int64_t i = 0; i < p->parts; i++) {
    int64_t group = i % ragged->parts;
    if (group == 0) begin = 0;
    int64_t size = ragged->axis.size - begin;
    if (group < ragged->groups) {
      Scalar wanted = scalar_load(type, call->operands[2], list + group);
      size = wanted.i < 0 ? 0 : min_i64(wanted.i, size);
    }
    part[i] = (Part){begin, begin + size, unit};
    begin += size;
    unit += units_of(p, rows, size);
    if (group + 1 == ragged->parts && ragged->listed) list += ragged->groups;
  }
  part[p->parts].unit = unit;
}

/* Returns the last part whose first unit is at most `unit`. A part without units shares the first unit of the next. */
static int64_t part_with(const Part *part, int64_t count, int64_t unit) {
  int64_t low = 0;
  while (count - low > 1) {
    int64_t middle = (low + count) / 2;
    *(part[middle].unit <= unit ? &low : &count) = middle;
  }
  return low;
}

static void multiply_parts(const DotPlan *p, const ContractionData *all, int64_t chunk) {
  const Part *part = (const Part *)(all->scratch + p->parts_at);
  int64_t unit = chunk * p->units_per_chunk, end = unit + p->units_per_chunk;
  end = min_i64(end, part[p->parts].unit);
  while (unit < end) {
    Contraction c;
    int64_t number = part_with(part, p->parts, unit), first = part[number].unit;
    int64_t stop = min_i64(end, part[number + 1].unit);
    ContractionData data = *all;
    data.scratch +=
        number / p->ragged.parts % p->ragged.copies * contraction_scratch_bytes(&p->plan);
    part_of(p, number, &part[number], &c);
    contraction_multiply(&c, &p->plan, &data, unit - first, stop - first);
    unit = stop;
  }
}

/* ---- The kernel's interface ---- */

static void plan_parts(DotPlan *p, int *chunks) {
  /* Threshold MAX_CHUNKS: more chunks need products of 10^9 terms. No path in tests. */
  enum { MAX_CHUNKS = 1 << 20 };
  const ContractionPlan *plan = &p->plan;
  int64_t tiles = p->parts, per_tile = plan->units_per_part;
  if (p->ragged.by_rows) { /* each part may add one partial tile to those that they have in all */
    tiles += axes_size(p->ragged.lists) * plan->tiles[LHS];
    per_tile /= plan->tiles[LHS];
  }
  int64_t units = tiles * per_tile;
  p->units_per_chunk = max_i64(plan->units_per_chunk, units / MAX_CHUNKS + 1);
  chunks[PHASE_PACK] = 1;
  chunks[PHASE_MULTIPLY] = (int)divide_up(units, p->units_per_chunk);
  p->parts_at = (p->kernel.scratch_bytes * p->ragged.copies + 7) & -8;
  p->kernel.scratch_bytes = p->parts_at + (p->parts + 1) * (int64_t)sizeof(Part);
}

static KernelPlan *plan(const Instruction *outer, Arena *arena) {
  const Instruction *fused = fused_product(outer), *instruction = fused ? fused : outer;
  if ((instruction->opcode != HLO_DOT && instruction->opcode != HLO_RAGGED_DOT) ||
      shape_elements(instruction->shape) == 0) {
    return NULL;
  }
  DotPlan *p = ARENA_NEW(arena, DotPlan);
  Contraction largest;
  contraction_of(instruction, &largest, &p->ragged, arena);
  if (!find_operands(p, &largest, instruction, fused, arena)) return NULL;
  if (p->ragged.parts) p->contraction = contraction_keep(&largest, arena);
  if (p->ragged.lists) p->parts = axes_size(p->ragged.lists) * p->ragged.parts;
  if (p->parts) add_dimension(&p->ragged, &largest, p->ragged.axis.size);
  p->plan =
      contraction_plan(&largest, p->parts ? p->parts + 1 : 1, shape_elements(instruction->shape));
  p->plan.finishes |= p->ragged.copies > 1;
  p->kernel.scratch_bytes = contraction_scratch_bytes(&p->plan);
  int *chunks = kernel_phases(&p->kernel, arena, CONTRACTION_PHASES);
  if (p->parts) {
    contraction_phases(&p->plan, chunks);
    plan_parts(p, chunks);
    return &p->kernel;
  }
  p->contraction = contraction_keep(&largest, arena);
  bool hides = outer->a->derived.hides_below;
  const Derived *derived = hides ? &outer->a->derived : &instruction->a->derived;
  p->bounded = derived->bounded;
  p->bounds_rhs = derived->bounds_rhs;
  p->bounds_factors = (int)derived->bounds_factors;
  p->hides_below = (int)derived->hides_below;
  find_limit(p, &largest, outer, instruction);
  contraction_phases(&p->plan, chunks);
  return &p->kernel;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const DotPlan *p = (const DotPlan *)call->plan;
  const ContractionPlan *plan = &p->plan;
  CallOperand own = {{.run = compute}, call, p->operand};
  float table[TABLE_ENTRIES];
  Contraction contraction;
  Diagonal diagonal;
  const uint8_t *operands[2];
  contraction_restore(p->contraction, &contraction);
  if (p->operand) {
    const uint8_t *inputs[MAX_INPUTS];
    find_inputs(&own, inputs);
    if (p->planned.scaled) {
      own.computed.table = table;
      own.computed.run = scaled_generate;
      scaled_find(p->planned.scaled, inputs, &own.computed);
    }
    for (int side = LHS; side <= RHS; side++) {
      if (contraction.array[side].computed) contraction.array[side].computed = &own.computed;
    }
  }
  if (p->bounded) {
    contraction.array[p->bounds_rhs != p->plan.swapped].is_bounded =
        call->bounds[p->bounded] != BOUNDS_LARGE;
  }
  if (p->is_limited && phase == PHASE_MULTIPLY) {
    limit_call(p, call, chunk, &contraction, &diagonal);
  }
  for (int side = LHS; side <= RHS; side++) {
    bool computes = contraction.array[side != p->plan.swapped].computed;
    operands[side] = p->number[side] >= 0 ? call->operands[p->number[side]]
                     : computes           ? computed_elements(&own.computed)
                                          : own.computed.numbers.data;
  }
  ContractionData data = {operands[LHS], operands[RHS], call->results[0], call->scratch};
  if (phase == PHASE_FINISH) {
    ContractionPlan all = *plan;
    all.splits *= p->ragged.copies;
    contraction_finish(&all, call->instruction->shape->type, &data, chunk);
  } else if (p->parts && phase == PHASE_PACK) {
    find_parts(p, call, (Part *)(call->scratch + p->parts_at));
  } else if (p->parts) {
    multiply_parts(p, &data, chunk);
  } else if (phase == PHASE_PACK) {
    contraction_pack(&contraction, plan, &data, chunk);
  } else {
    int64_t unit = chunk * plan->units_per_chunk, end = unit + plan->units_per_chunk;
    contraction_multiply(&contraction, plan, &data, unit, min_i64(end, plan->units));
  }
}

const Kernel kernel_dot = {"dot", plan, run};
