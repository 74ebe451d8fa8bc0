/* Products that leave out parts: ragged-dot, and that of a sparse matrix. Each is differentiated by its definition. */
#include "derive/gradient/matrices.h"
#include "hlo/ir/lapack_calls.h"

/* ---- ragged-dot ---- */

/* The dimensions of the lhs for which the sizes of groups are given; the groups follow, as dimension `rank`. */
static Int64List list_dimensions(WorkingComputation *working, const Instruction *x, bool contracts,
                                 int rank) {
  const Attributes *a = x->a;
  int64_t dims[MAX_RANK + 1], ragged = a->lhs_ragged_dims.items[0];
  int count = 0;
  for (int i = 0; i < a->lhs_batch_dims.count; i++) dims[count++] = a->lhs_batch_dims.items[i];
  for (int i = 0; contracts && a->lhs_contracting_dims.items[i] != ragged; i++) {
    dims[count++] = a->lhs_contracting_dims.items[i];
  }
  for (int d = 0; d < ragged && !contracts; d++) {
    bool is_free = !list_has(a->lhs_batch_dims, d) && !list_has(a->lhs_contracting_dims, d);
    if (is_free) dims[count++] = d;
  }
  if (x->operands[2]->shape->rank == 1) count = 0;
  dims[count] = rank;
  return list_of(&working->m, count + 1, dims);
}

/* Sums of the sizes up to each group, this one included. */
static Instruction *group_ends(WorkingComputation *working, Instruction *sizes) {
  int rank = sizes->shape->rank;
  int64_t dims[MAX_RANK];
  for (int d = 0; d < rank; d++) dims[d] = sizes->shape->dims[d];
  dims[rank] = dims[rank - 1];
  const Shape *pairs = shape_of(&working->m, S64, rank + 1, dims);
  Int64List before = list_of_one(&working->m, rank - 1);
  Instruction *all = make_spread(&working->m, sizes, pairs, list_of_one(&working->m, rank));
  return make_sum(&working->m, matrix_part(working, all, COMPARE_LE), before);
}

static Int64List with_last(WorkingComputation *working, Int64List list, int64_t last) {
  int64_t items[MAX_RANK];
  for (int i = 0; i < list.count; i++) items[i] = list.items[i];
  items[list.count] = last;
  return list_of(&working->m, list.count + 1, items);
}

/* Gives the lhs a last dimension, of the groups, with zeros outside of each group. */
static Instruction *in_groups(WorkingComputation *working, const Instruction *x, Instruction *lhs,
                              Instruction *sizes, bool contracts) {
  Maker *m = &working->m;
  int rank = lhs->shape->rank;
  int64_t ragged = x->a->lhs_ragged_dims.items[0], dims[MAX_RANK + 1];
  sizes = make_convert(m, sizes, S64);
  for (int d = 0; d < rank; d++) dims[d] = lhs->shape->dims[d];
  dims[rank] = sizes->shape->dims[sizes->shape->rank - 1];
  Instruction *bounds[] = {make_zeros(m, sizes->shape), sizes,
                           make_number(m, sizes->shape, (double)dims[ragged])};
  sizes = make(m, HLO_CLAMP, NULL, bounds, 3, NULL);
  const Shape *big = shape_of(m, S64, rank + 1, dims);
  Int64List along = list_dimensions(working, x, contracts, rank);
  Instruction *end = group_ends(working, sizes), *place = make_iota(m, S64, big, ragged);
  Instruction *begin = make_binary(m, HLO_SUBTRACT, end, sizes);
  begin = make_compare(m, COMPARE_GE, place, make_broadcast(m, begin, big, along));
  end = make_compare(m, COMPARE_LT, place, make_broadcast(m, end, big, along));
  lhs = make_spread(m, lhs, shape_with_type(working->arena, big, lhs->shape->type),
                    list_of_one(m, rank));
  return make_select(m, make_binary(m, HLO_AND, begin, end), lhs, make_zeros(m, lhs->shape));
}

/* A dot. Groups of rows are multiplied by their own part of the rhs. Groups of the depth become the first dimension of the
** result. */
static Instruction *define_ragged_dot(WorkingComputation *working, const Instruction *x,
                                      Instruction **operands) {
  Attributes a = *x->a;
  Instruction *lhs = make_convert(&working->m, operands[0], x->shape->type);
  Instruction *rhs = make_convert(&working->m, operands[1], x->shape->type);
  int64_t ragged = a.lhs_ragged_dims.items[0], order[MAX_RANK];
  int rank = lhs->shape->rank, first = rank - a.lhs_contracting_dims.count;
  bool contracts = list_has(a.lhs_contracting_dims, ragged);
  bool is_batch = list_has(a.lhs_batch_dims, ragged);
  if (!is_batch) lhs = in_groups(working, x, lhs, operands[2], contracts);
  if (!is_batch && !contracts) {
    a.lhs_contracting_dims = with_last(working, a.lhs_contracting_dims, rank);
    a.rhs_contracting_dims = with_last(working, a.rhs_contracting_dims, a.rhs_group_dims.items[0]);
  }
  a.lhs_ragged_dims = a.rhs_group_dims = (Int64List){0};
  Instruction *product = make(&working->m, HLO_DOT, NULL, (Instruction *[]){lhs, rhs}, 2, &a);
  for (int d = 0; d < product->shape->rank; d++) {
    order[d] = d > first || !contracts ? d : d ? d - 1 : first;
  }
  return make_transpose(&working->m, product, order);
}

void linearize_ragged_dot(WorkingComputation *working, Instruction *x) {
  linearize_by_definition(working, x, define_ragged_dot);
}

/* ---- Sparse matrices ---- */

/* Rows of the dense operand, one for each nonzero number, times these; then sums by row. The row of number k is the
** number of rows that end before it. */
static Instruction *define_csr(WorkingComputation *working, const Instruction *x,
                               Instruction **operands) {
  Maker *m = &working->m;
  Instruction *data = operands[0], *starts = operands[1], *columns = operands[2];
  Instruction *dense = operands[3];
  PrimitiveType type = columns->shape->type;
  int rank = dense->shape->rank;
  int64_t entries = data->shape->dims[0], count = starts->shape->dims[0];
  int64_t zero = 0, one = 1, sizes[] = {1, rank == 2 ? dense->shape->dims[1] : 1};
  Int64List first = list_of(m, 1, &zero), second = list_of(m, 1, &one);
  Int64List window = rank == 2 ? second : (Int64List){0};
  const Shape *pairs = shape_of(m, type, 2, (int64_t[]){count, entries});
  Instruction *started = make_compare(m, COMPARE_LE, make_spread(m, starts, pairs, second),
                                      make_iota(m, type, pairs, 1));
  Instruction *row = make_sum(m, make_convert(m, started, type), first);
  row = make_binary(m, HLO_SUBTRACT, row, make_number(m, row->shape, 1));
  const Attributes *gather =
      ATTRIBUTES(.offset_dims = window, .collapsed_slice_dims = first, .start_index_map = first,
                 .index_vector_dim = 1, .slice_sizes = list_of(m, rank, sizes));
  Instruction *met = make(m, HLO_GATHER, NULL, (Instruction *[]){dense, columns}, 2, gather);
  Instruction *products =
      make_binary(m, HLO_MULTIPLY, make_broadcast(m, data, met->shape, first), met);
  const Attributes *scatter =
      ATTRIBUTES(.update_window_dims = window, .inserted_window_dims = first,
                 .scatter_dims_to_operand_dims = first, .index_vector_dim = 1,
                 .to_apply = module_add_reducer(working->d->module, HLO_ADD, x->shape->type));
  Instruction *parts[] = {make_zeros(m, x->shape), row, products};
  return make(m, HLO_SCATTER, NULL, parts, 3, scatter);
}

void linearize_csr(WorkingComputation *working, Instruction *x) {
  linearize_by_definition(working, x, define_csr);
}
