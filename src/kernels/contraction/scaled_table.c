/*
** Tabulates functions of a byte: evaluates, when a program is planned, what a loop computes for each value of a byte. A codebook's
** elements are unknown then, so a value may be "element i of the table". This finds codebooks even if the program clamps or
** wraps the index. It also finds 8-bit formats that are only stored.
*/
#include "hlo/scalar/element.h"
#include "kernels/contraction/scaled.h"

/* Threshold BYTES, MAX_VISITS, MAX_DEPTH: values of a byte; deeper trees go by way of the loop. No path. */
enum { BYTES = 256, MAX_VISITS = 64, MAX_DEPTH = 24 };

typedef struct Known {
  int64_t position; /* in the table; -1: `value` */
  Scalar value;
} Known;

typedef struct Tabulation {
  Scaled *scaled;
  const LoopPlan *plan;
  const LoopNode *numbers, *table; /* NULL: not seen yet */
  uint8_t byte;
  int visits;
} Tabulation;

static bool evaluate(Tabulation *t, const LoopNode *node, int depth, Known *out);

static bool is_byte(PrimitiveType type) {
  return (type_is_integral(type) || type_is_floating(type)) && type_bits(type) <= 8;
}

/* Evaluates the elements that a table is read at. */
static bool evaluate_gathered(Tabulation *t, const LoopNode *node, int depth, Known *out) {
  Known index = {0};
  if (node->operand_count != 1 || node->instruction->opcode != HLO_PARAMETER) return false;
  for (int k = 0; k < t->plan->rank; k++) {
    if (node->offset.coefficient[k] && t->plan->sizes[k] > 1) return false;
  }
  PrimitiveType type = node->instruction->shape->type;
  if ((type != F32 && type != BF16 && type != F16) || affine_has_starts(&node->offset))
    return false;
  if (t->table && (t->table != node)) return false;
  t->table = node;
  if (!evaluate(t, node->operands[0], depth + 1, &index) || index.position >= 0) return false;
  PrimitiveType of = node->operands[0]->instruction->shape->type;
  out->position = node->offset.constant +
                  node->strides[0] * scalar_clamped_index(of, index.value, node->limits[0]);
  return out->position <= INT32_MAX;
}

/* Whether evaluating one element gives the bits of every loop. */
static bool is_exact(Opcode opcode) {
  switch (opcode) {
  case HLO_ABS:
  case HLO_NEGATE:
  case HLO_NOT:
  case HLO_SIGN:
  case HLO_ADD:
  case HLO_SUBTRACT:
  case HLO_MULTIPLY:
  case HLO_DIVIDE:
  case HLO_MINIMUM:
  case HLO_MAXIMUM:
  case HLO_AND:
  case HLO_OR:
  case HLO_XOR:
  case HLO_COMPARE:
  case HLO_SHIFT_LEFT:
  case HLO_SHIFT_RIGHT_ARITHMETIC:
  case HLO_SHIFT_RIGHT_LOGICAL: return true;
  default: return false;
  }
}

static bool evaluate_operation(Tabulation *t, const LoopNode *node, int depth, Known *out) {
  const Instruction *x = node->instruction;
  PrimitiveType to = x->shape->type, from = node->operands[0]->instruction->shape->type;
  Known given[3] = {0};
  int count = node->operand_count;
  if (count > 3 || !evaluate(t, node->operands[0], depth + 1, &given[0])) return false;
  if (x->opcode == HLO_SELECT) { /* the other operand may have no value for this byte */
    return given[0].position < 0 &&
           evaluate(t, node->operands[given[0].value.u ? 1 : 2], depth + 1, out);
  }
  for (int k = 1; k < count; k++) {
    if (!evaluate(t, node->operands[k], depth + 1, &given[k])) return false;
  }
  if (x->opcode == HLO_CONVERT &&
      given[0].position >= 0) { /* the table's type is kept until it is read */
    *out = given[0];
    return to == F32;
  }
  for (int k = 0; k < count; k++) {
    if (given[k].position >= 0) return false;
  }
  out->position = -1;
  if (x->opcode == HLO_CONVERT) {
    out->value = scalar_convert(from, to, given[0].value);
  } else if (x->opcode == HLO_BITCAST_CONVERT && type_bits(from) == 8 && type_bits(to) == 8) {
    uint8_t bits;
    scalar_store(from, &bits, 0, given[0].value);
    out->value = scalar_load(to, &bits, 0);
  } else if (x->opcode == HLO_CLAMP) {
    out->value = scalar_clamp(to, given[0].value, given[1].value, given[2].value);
  } else if (!is_exact(x->opcode) || type_is_complex(from) ||
             (x->opcode == HLO_COMPARE && is_total_order(x))) {
    return false;
  } else {
    Scalar value = count == 1 ? scalar_unary(x, from, given[0].value)
                              : scalar_binary(x, from, given[0].value, given[1].value);
    out->value = scalar_round(to, value);
  }
  return true;
}

static bool evaluate(Tabulation *t, const LoopNode *node, int depth, Known *out) {
  const Shape *shape = node->instruction->shape;
  if (depth > MAX_DEPTH || ++t->visits > MAX_VISITS) return false;
  out->position = -1;
  switch (node->kind) {
  case NODE_INPUT:
    if (!is_byte(shape->type) || (t->numbers && t->numbers != node)) return false;
    if (!t->numbers && !scaled_in_order(t->plan, node)) return false;
    t->numbers = node;
    out->value = scalar_load(shape->type, &t->byte, 0);
    return true;
  case NODE_CONSTANT:
    if (!shape_is_scalar(shape)) return false;
    out->value = scalar_load(shape->type, node->instruction->literal->data, 0);
    return true;
  case NODE_GATHERED: return evaluate_gathered(t, node, depth, out);
  case NODE_OPERATION: return evaluate_operation(t, node, depth, out);
  default: return false;
  }
}

bool scaled_tabulate(Scaled *scaled, const LoopPlan *plan, const LoopNode *node, Arena *arena) {
  Tabulation t = {.scaled = scaled, .plan = plan};
  PrimitiveType type = node->instruction->shape->type;
  TableEntry entries[BYTES];
  if (type != F32 && type != BF16 && type != F16) return false;
  for (int i = 0; i < BYTES; i++) {
    Known known = {0};
    t.byte = (uint8_t)i;
    t.visits = 0;
    /* Of elements below a byte, bytes of other bits do not occur. */
    if (t.numbers && type_bits(t.numbers->instruction->shape->type) < 8) {
      PrimitiveType of = t.numbers->instruction->shape->type;
      int bits = (int)type_bits(of), low = i & ((1 << bits) - 1);
      bool negative = type_kind(of) == KIND_SIGNED && low >> (bits - 1);
      t.byte = (uint8_t)(negative ? low - (1 << bits) : low);
    }
    if (!evaluate(&t, node, 0, &known) || !t.numbers) return false;
    entries[i] = (TableEntry){(int32_t)known.position, (float)known.value.f};
  }
  scaled->numbers = scaled_input(plan, t.numbers);
  scaled->table.parameter = -1;
  if (t.table) scaled->table = scaled_input(plan, t.table);
  scaled->entries = arena_copy(arena, entries, sizeof entries);
  return true;
}
