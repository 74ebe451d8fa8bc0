/*
** dot, of any types and dimension numbers, as a contraction.
*/
#include "kernels/contraction_plan.h"
#include "kernels/kernels.h"

/* The dimensions of one operand that are neither batch nor contracted are, in order, the next ones
** of the result. */
static void add_free(Axes *axes, const Shape *shape, Operand operand, Int64List batch,
                     Int64List contracting, const int64_t **out) {
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  for (int d = 0; d < shape->rank; d++) {
    if (list_has(batch, d) || list_has(contracting, d)) continue;
    int64_t stride = *(*out)++;
    axes_add(axes, shape->dims[d], operand == LHS ? strides[d] : 0, operand == RHS ? strides[d] : 0,
             stride);
  }
}

static void contraction_of(const Instruction *dot, Contraction *c) {
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  const Attributes *a = dot->a;
  int64_t lhs_strides[MAX_RANK], rhs_strides[MAX_RANK], out_strides[MAX_RANK];
  const int64_t *out = out_strides;
  shape_strides(lhs, lhs_strides);
  shape_strides(rhs, rhs_strides);
  shape_strides(dot->shape, out_strides);
  *c = (Contraction){.type = {lhs->type, rhs->type, dot->shape->type}};
  for (int i = 0; i < a->lhs_batch_dims.count; i++) {
    int64_t l = a->lhs_batch_dims.items[i], r = a->rhs_batch_dims.items[i];
    axes_add(&c->batch, lhs->dims[l], lhs_strides[l], rhs_strides[r], *out++);
  }
  for (int i = 0; i < a->lhs_contracting_dims.count; i++) {
    int64_t l = a->lhs_contracting_dims.items[i], r = a->rhs_contracting_dims.items[i];
    axes_add(&c->depth, lhs->dims[l], lhs_strides[l], rhs_strides[r], 0);
  }
  add_free(&c->rows, lhs, LHS, a->lhs_batch_dims, a->lhs_contracting_dims, &out);
  add_free(&c->columns, rhs, RHS, a->rhs_batch_dims, a->rhs_contracting_dims, &out);
  c->keeps_negative_zero = axes_size(&c->depth) == 1;
}

typedef struct DotPlan {
  KernelPlan kernel;
  Contraction contraction;
  ContractionPlan plan;
} DotPlan;

static void rows(const KernelPlan *kernel, int phase, int chunk, int64_t rows[2]) {
  contraction_rows(&((const DotPlan *)kernel)->plan, phase, chunk, rows);
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_DOT || shape_elements(instruction->shape) == 0) return NULL;
  DotPlan *p = ARENA_NEW(arena, DotPlan);
  contraction_of(instruction, &p->contraction);
  p->plan = contraction_plan(&p->contraction, 1, shape_elements(instruction->shape));
  contraction_plan_rows(&p->plan, &p->contraction);
  if (p->plan.row_elements) p->kernel.rows = rows;
  p->kernel.row_elements = p->plan.row_elements;
  p->kernel.scratch_bytes = contraction_scratch_bytes(&p->plan);
  contraction_phases(&p->plan, kernel_phases(&p->kernel, arena, CONTRACTION_PHASES));
  return &p->kernel;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const DotPlan *p = (const DotPlan *)call->plan;
  const ContractionPlan *plan = &p->plan;
  ContractionData data = {call->operands[0], call->operands[1], call->results[0], call->scratch};
  if (phase == PHASE_PACK) {
    contraction_pack(&p->contraction, plan, &data, chunk);
  } else if (phase == PHASE_FINISH) {
    contraction_finish(plan, call->instruction->shape->type, &data, chunk);
  } else {
    int64_t unit = chunk * plan->units_per_chunk, end = unit + plan->units_per_chunk;
    contraction_multiply(&p->contraction, plan, &data, unit, end < plan->units ? end : plan->units);
  }
}

const Kernel kernel_dot = {"dot", plan, run};
