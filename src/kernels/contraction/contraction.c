/* Adds, sorts and merges the axes of contractions: see contraction.h. */
#include "kernels/contraction/contraction.h"

#include <stddef.h>
#include <string.h>

void axes_add(Axes *axes, int64_t size, int64_t lhs, int64_t rhs, int64_t out) {
  if (size == 1) return;
  axes->items[axes->count++] = (Axis){size, {lhs, rhs, out}};
}

int64_t axes_size(const Axes *axes) {
  int64_t size = 1;
  for (int i = 0; i < axes->count; i++) size *= axes->items[i].size;
  return size;
}

int64_t axes_stride(const Axes *axes, Operand operand) {
  return axes->count ? axes->items[axes->count - 1].stride[operand] : 0;
}

/* ---- Copies ---- */

/* Threshold LISTS: the kinds of indices. No path. */
enum { LISTS = 4, REST = offsetof(Contraction, array) };

struct KeptContraction {
  int counts[LISTS];
  const void *rest; /* all fields after the axes */
  Axis axes[];      /* list after list */
};

KeptContraction *contraction_keep(const Contraction *c, Arena *arena) {
  const Axes *lists[LISTS] = {&c->batch, &c->rows, &c->columns, &c->depth};
  size_t count = 0;
  for (int i = 0; i < LISTS; i++) count += (size_t)lists[i]->count;
  KeptContraction *kept = arena_alloc(arena, sizeof *kept + count * sizeof(Axis));
  Axis *axes = kept->axes;
  for (int i = 0; i < LISTS; axes += lists[i++]->count) {
    kept->counts[i] = lists[i]->count;
    memcpy(axes, lists[i]->items, (size_t)lists[i]->count * sizeof(Axis));
  }
  kept->rest = arena_copy(arena, (const char *)c + REST, sizeof *c - REST);
  return kept;
}

void contraction_restore(const KeptContraction *kept, Contraction *c) {
  Axes *lists[LISTS] = {&c->batch, &c->rows, &c->columns, &c->depth};
  const Axis *axes = kept->axes;
  for (int i = 0; i < LISTS; axes += kept->counts[i++]) {
    lists[i]->count = kept->counts[i];
    memcpy(lists[i]->items, axes, (size_t)kept->counts[i] * sizeof(Axis));
  }
  memcpy((char *)c + REST, kept->rest, sizeof *c - REST);
}

/* ---- Order ---- */

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/* Sorts axes by their strides in one operand, largest first, and merges neighbours that form one axis in all
** operands. */
static void arrange_axes(Axes *axes, Operand by) {
  Axis *items = axes->items;
  for (int i = 1; i < axes->count; i++) {
    Axis axis = items[i];
    int j = i;
    for (; j > 0 && magnitude(items[j - 1].stride[by]) < magnitude(axis.stride[by]); j--) {
      items[j] = items[j - 1];
    }
    items[j] = axis;
  }
  int kept = 0;
  for (int i = 1; i < axes->count; i++) {
    Axis *outer = &items[kept];
    const Axis *inner = &items[i];
    bool continues = true;
    for (int o = LHS; o <= OUT; o++) {
      if (outer->stride[o] != inner->size * inner->stride[o]) continues = false;
    }
    if (continues) {
      *outer = (Axis){outer->size * inner->size, {0}};
      memcpy(outer->stride, inner->stride, sizeof outer->stride);
    } else {
      items[++kept] = *inner;
    }
  }
  if (axes->count) axes->count = kept + 1;
}

bool axes_have_neighbours(const Axes *axes, Operand operand) {
  for (int i = 0; i < axes->count; i++) {
    if (axes->items[i].stride[operand] == 1) return true;
  }
  return false;
}

static void swap_axes(Axes *axes) {
  for (int i = 0; i < axes->count; i++) {
    int64_t *stride = axes->items[i].stride, lhs = stride[LHS];
    stride[LHS] = stride[RHS];
    stride[RHS] = lhs;
  }
}

void contraction_swap(Contraction *c) {
  Axes rows = c->rows;
  c->rows = c->columns;
  c->columns = rows;
  swap_axes(&c->rows);
  swap_axes(&c->columns);
  swap_axes(&c->batch);
  swap_axes(&c->depth);
  ContractionArray lhs = c->array[LHS];
  c->array[LHS] = c->array[RHS];
  c->array[RHS] = lhs;
}

void contraction_batch_columns(Contraction *c) {
  Axes *columns = &c->columns;
  int kept = 0;
  for (int i = 1; i < columns->count; i++) {
    const Axis *axis = &columns->items[i], *best = &columns->items[kept];
    bool is_longer = best->stride[RHS] != 1 && axis->size > best->size;
    if (axis->stride[RHS] == 1 || is_longer) kept = i;
  }
  for (int i = 0; i < columns->count; i++) {
    if (i != kept) c->batch.items[c->batch.count++] = columns->items[i];
  }
  columns->items[0] = columns->items[kept];
  columns->count = 1;
}

/* Lines take the order of the result. The depth takes the order of an operand that is contiguous along it; for
** an operand that is contiguous along its lines, the order of the depth does not matter. */
void contraction_arrange(Contraction *c, const ContractionPlan *plan) {
  if (plan->swapped) contraction_swap(c);
  arrange_axes(&c->batch, OUT);
  arrange_axes(&c->rows, OUT);
  arrange_axes(&c->columns, OUT);
  bool by_lhs = axes_have_neighbours(&c->depth, LHS) &&
                (!axes_have_neighbours(&c->depth, RHS) || axes_have_neighbours(&c->columns, RHS));
  arrange_axes(&c->depth, by_lhs ? LHS : RHS);
  if (plan->batches_columns) contraction_batch_columns(c);
}
