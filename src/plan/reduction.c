#include "plan/reduction.h"

/* Operations that may be reordered are those with a neutral element. */
static bool may_be_reordered(Opcode opcode) {
  Scalar neutral;
  return opcode_neutral(opcode, F32, &neutral);
}

Opcode reduce_operation(const Instruction *reduce) {
  if (type_is_complex(reduce->operands[0]->shape->type)) return OPCODE_COUNT;
  Opcode opcode = computation_simple_binary(reduce->a->to_apply);
  return may_be_reordered(opcode) ? opcode : OPCODE_COUNT;
}

bool reduces_apart(const Instruction *reduce) {
  PrimitiveType type = reduce->operands[0]->shape->type;
  bool apart = !type_is_complex(type);
  for (int r = 0; r < reduce->operand_count / 2 && apart; r++) {
    apart = reduce->operands[r]->shape->type == type &&
            may_be_reordered(reduce_operation_of(reduce, r));
  }
  return apart;
}

Opcode reduce_operation_of(const Instruction *reduce, int result) {
  const Instruction *x = reduce->a->to_apply->root;
  int count = reduce->operand_count / 2;
  if (x->opcode == HLO_TUPLE_OP) x = x->operands[result];
  if (opcode_category(x->opcode) != ELEMENTWISE_BINARY) return OPCODE_COUNT;
  for (int i = 0; i < 2; i++) {
    const Instruction *operand = x->operands[i];
    if (operand->opcode != HLO_PARAMETER || operand->parameter_number % count != result ||
        operand == x->operands[1 - i]) {
      return OPCODE_COUNT;
    }
  }
  return x->opcode;
}

static bool is_maximum(Opcode opcode) { return opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM; }

bool reduction_has_order(const Instruction *reduce) {
  PrimitiveType type = reduce->operands[0]->shape->type;
  if (reduce->opcode != HLO_REDUCE || !type_is_floating(type) || type_bits(type) > 8) return false;
  int count = reduce->operand_count / 2;
  if (count == 1) return !is_maximum(reduce_operation(reduce));
  if (!reduces_apart(reduce)) return false; /* loops take one element after the other */
  for (int r = 0; r < count; r++) {
    if (!is_maximum(reduce_operation_of(reduce, r))) return true;
  }
  return false;
}

bool reduce_window_neutral(const Instruction *reduce, Scalar *x) {
  Opcode opcode = computation_simple_binary(reduce->a->to_apply);
  PrimitiveType type = reduce->operands[0]->shape->type;
  return reduce->operand_count == 2 && opcode_neutral(opcode, type, x) &&
         !(opcode == HLO_MULTIPLY && type_is_complex(type));
}

/* Whether every window has all elements of a dimension up to its position, or from there on. */
static bool is_cumulative(const WindowDimension *d, int64_t size, bool *backwards) {
  *backwards = d->padding_low == 0;
  int64_t low = *backwards ? 0 : d->size - 1, high = *backwards ? d->size - 1 : 0;
  return d->size >= size && d->padding_low == low && d->padding_high == high;
}

/* Whether each step is rounded, so that the order matters; windows from the end begin at the last element.
** rewrite/windows/block_scans.c makes these windows short, so one loop per window costs little. */
static bool rounds_often(const Instruction *reduce) {
  PrimitiveType type = reduce->operands[0]->shape->type;
  Opcode opcode = reduce_operation(reduce);
  return type_is_floating(type) && type_bits(type) <= 16 && !is_maximum(opcode);
}

int cumulative_dimension(const Instruction *instruction, bool *backwards) {
  int along = cumulative_window(instruction, backwards);
  return along >= 0 && *backwards && rounds_often(instruction) ? -1 : along;
}

int cumulative_window(const Instruction *instruction, bool *backwards) {
  int found = -1;
  if (instruction->opcode != HLO_REDUCE_WINDOW) return -1;
  const Shape *shape = instruction->operands[0]->shape;
  for (int i = 0; i < shape->rank; i++) {
    const WindowDimension *d = &instruction->a->window.items[i];
    if (d->stride != 1 || d->base_dilation != 1) return -1;
    if (d->size == 1 && d->padding_low == 0 && d->padding_high == 0) continue;
    if (found >= 0 || d->window_dilation != 1 || d->window_reversal) return -1;
    if (!is_cumulative(d, shape->dims[i], backwards)) return -1;
    found = i;
  }
  return found;
}
