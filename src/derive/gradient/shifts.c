/*
** Softmax, its logarithm, and logarithms of sums of exponentials. They do not depend on what is subtracted below the
** exponential, often the maximum of each row. Its slopes, which would cancel each other, are left out, as JAX stops them.
*/
#include "derive/gradient/linear.h"
#include "rewrite/base/rewrite.h"

/* exp(x - m) and its sum, where m is the same for all elements of a sum. */
typedef struct ShiftedSum {
  Instruction *difference, *exponential, *x, *m, *sum;
  Instruction *tangent; /* of x */
} ShiftedSum;

/* Whether x spreads an array of the sums' shape over the summed dimensions. */
static bool is_spread_sum(const Instruction *x, const Instruction *sum) {
  Int64List summed = sum->a->dimensions;
  if (x->opcode != HLO_BROADCAST || !shape_same_dims(x->operands[0]->shape, sum->shape))
    return false;
  for (int i = 0; i < x->a->dimensions.count; i++) {
    int64_t d = x->a->dimensions.items[i];
    if (i && d < x->a->dimensions.items[i - 1]) return false;
    for (int k = 0; k < summed.count; k++) {
      if (summed.items[k] == d) return false;
    }
  }
  return true;
}

/* Whether `sum` adds up exponentials of differences whose subtrahend has a tangent. */
static bool find_shifted(WorkingComputation *working, Instruction *sum, ShiftedSum *out) {
  Scalar init;
  if (sum->opcode != HLO_REDUCE || sum->operand_count != 2 ||
      computation_simple_binary(sum->a->to_apply) != HLO_ADD ||
      !splat_value(sum->operands[1], &init) || init.f != 0) {
    return false;
  }
  Instruction *e = sum->operands[0], *d = e->opcode == HLO_EXP ? e->operands[0] : e;
  if (d->opcode != HLO_SUBTRACT || type_kind(d->shape->type) != KIND_FLOAT) return false;
  Instruction *spread = d->operands[1], *t = tangent_of(working, d->operands[0]);
  if (e == d || !t || !has_tangent(working, spread) || !is_spread_sum(spread, sum)) return false;
  *out = (ShiftedSum){d, e, d->operands[0], spread->operands[0], sum, t};
  return true;
}

/* The tangent of the logarithm of the sum, without that of m. */
static Instruction *log_tangent(WorkingComputation *working, const ShiftedSum *s) {
  Instruction *weighted = make_binary(&working->m, HLO_MULTIPLY, s->tangent, s->exponential);
  return make_binary(&working->m, HLO_DIVIDE,
                     make_sum(&working->m, weighted, s->sum->a->dimensions), s->sum);
}

/* Returns the operand of x, if x is such an operation, else x; in both without reshapes. */
static Instruction *below(Instruction *x, Opcode opcode) {
  x = without_reshapes(x);
  return x->opcode == opcode ? without_reshapes(x->operands[0]) : x;
}

/* log(sum(exp(x - m))) + m */
void linearize_shifted_log(WorkingComputation *working, Instruction *x) {
  ShiftedSum s;
  for (int k = 0; k < 2; k++) {
    Instruction *log = without_reshapes(x->operands[k]), *m = without_reshapes(x->operands[1 - k]);
    if (log->opcode != HLO_LOG) continue;
    if (!find_shifted(working, below(log->operands[0], HLO_ABS), &s) || without_reshapes(s.m) != m)
      continue;
    set_tangent(working, x, make_reshape(&working->m, log_tangent(working, &s), x->shape));
    return;
  }
}

/* (x - m) - log(sum(exp(x - m))) */
void linearize_log_softmax(WorkingComputation *working, Instruction *x) {
  ShiftedSum s;
  Instruction *spread = x->operands[1], *log = below(spread, HLO_BROADCAST);
  if (log->opcode != HLO_LOG || !find_shifted(working, without_reshapes(log->operands[0]), &s))
    return;
  if (s.difference != x->operands[0] || !is_spread_sum(spread, s.sum)) return;
  Instruction *t =
      make_spread(&working->m, log_tangent(working, &s), x->shape, s.sum->a->dimensions);
  set_tangent(working, x, make_binary(&working->m, HLO_SUBTRACT, s.tangent, t));
}

/* exp(x - m) / sum(exp(x - m)) */
void linearize_softmax(WorkingComputation *working, Instruction *x) {
  ShiftedSum s;
  Instruction *spread = x->operands[1];
  if (!find_shifted(working, below(spread, HLO_BROADCAST), &s)) return;
  if (s.exponential != x->operands[0] || !is_spread_sum(spread, s.sum)) return;
  Int64List dimensions = s.sum->a->dimensions;
  Instruction *weighted = make_binary(&working->m, HLO_MULTIPLY, s.tangent, x);
  Instruction *mean =
      make_spread(&working->m, make_sum(&working->m, weighted, dimensions), x->shape, dimensions);
  Instruction *change = make_binary(&working->m, HLO_SUBTRACT, s.tangent, mean);
  set_tangent(working, x, make_binary(&working->m, HLO_MULTIPLY, change, x));
}
