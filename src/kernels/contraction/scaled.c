/* Finds dequantised operands: see scaled.h. */
#include "kernels/contraction/scaled.h"

#include "base/min_max.h"
#include "kernels/contraction/elements.h"
#include "kernels/contraction/inner/widen.h"
#include "value/scalar.h"

/* The limits of an integer type of at most 32 bits. */
static int64_t smallest(PrimitiveType type) {
  return type_kind(type) == KIND_SIGNED ? -(INT64_C(1) << (type_bits(type) - 1)) : 0;
}
static int64_t largest(PrimitiveType type) {
  return smallest(type) + (INT64_C(1) << type_bits(type)) - 1;
}

/* Whether a conversion keeps each number. */
static bool keeps(PrimitiveType to, PrimitiveType from) {
  if (to == F32) return from == F32 || from == F8E8M0FNU || widen_loop(from);
  if (to == BF16 || to == F16) return type_bits(from) <= 8 && widen_loop(from);
  return type_is_integral(to) && type_is_integral(from) && type_bits(from) <= 8 &&
         type_holds(to, from);
}

static bool is_exact_conversion(const LoopNode *node) {
  return node->kind == NODE_OPERATION && node->instruction->opcode == HLO_CONVERT &&
         keeps(node->instruction->shape->type, node->operands[0]->instruction->shape->type);
}

static bool is_input(const LoopNode *node) {
  return node->kind == NODE_INPUT && array_of(node)->opcode == HLO_PARAMETER;
}

static bool set_starts(Scaled *scaled, const LoopPlan *plan) {
  scaled->start_count = plan->start_count;
  for (int s = 0; s < plan->start_count; s++) {
    const LoopNode *leaf = plan->starts[s].leaf;
    if (!is_input(leaf)) return false;
    scaled->starts[s].parameter = (int)leaf->instruction->parameter_number;
    scaled->starts[s].type = leaf->instruction->shape->type;
    scaled->starts[s].limit = plan->starts[s].max_start;
  }
  return true;
}

/* ---- Steps ---- */

/* Sets the operand of a step: an array, or a number. */
static bool set_operand(ScaledStep *step, const LoopPlan *plan, const LoopNode *node) {
  while (is_exact_conversion(node)) node = node->operands[0];
  const Shape *shape = node->instruction->shape;
  step->input.parameter = -1;
  if (node->kind == NODE_CONSTANT) {
    Scalar value = scalar_load(shape->type, node->instruction->literal->data, 0);
    step->value = type_is_floating(shape->type)           ? (float)value.f
                  : type_kind(shape->type) == KIND_SIGNED ? (float)value.i
                                                          : (float)value.u;
    return shape_is_scalar(shape) && shape->type != F64 && step->value <= 0x1p16f &&
           step->value >= -0x1p16f;
  }
  if (!is_input(node) || !keeps(F32, shape->type)) return false;
  step->input = scaled_input(plan, node);
  return true;
}

static bool walk(Scaled *scaled, const LoopPlan *plan, const LoopNode *node, Arena *arena);

/* Whether a step of integers is one of numbers of at most a byte, and its result never wraps in its type. */
static bool is_small(Scaled *scaled, const ScaledStep *step, PrimitiveType type) {
  PrimitiveType of = scaled->numbers.type, by = step->input.type;
  bool is_array = step->input.parameter >= 0;
  if (scaled->step_count > 0 || step->kind == STEP_MULTIPLY || scaled->entries ||
      !type_is_integral(type) || type_bits(type) > 32 || !type_is_integral(of) ||
      (is_array && !type_is_integral(by))) {
    return false;
  }
  int64_t low = smallest(of), high = largest(of);
  int64_t least = is_array ? smallest(by) : (int64_t)step->value;
  int64_t most = is_array ? largest(by) : (int64_t)step->value;
  int64_t from = step->kind == STEP_ADD        ? low + least
                 : step->kind == STEP_SUBTRACT ? low - most
                                               : least - high;
  int64_t to = step->kind == STEP_ADD        ? high + most
               : step->kind == STEP_SUBTRACT ? high - least
                                             : most - low;
  scaled->max_integer = max_i64(-from, to);
  return from >= smallest(type) && to <= largest(type);
}

static bool walk_binary(Scaled *scaled, const LoopPlan *plan, const LoopNode *node, Arena *arena) {
  Opcode opcode = node->instruction->opcode;
  PrimitiveType type = node->instruction->shape->type;
  bool rounds = type == BF16 || type == F16;
  if (opcode != HLO_ADD && opcode != HLO_SUBTRACT && opcode != HLO_MULTIPLY) return false;
  for (int i = 0; i < 2; i++) {
    ScaledStep step = {.rounds = rounds ? type : PRIMITIVE_TYPE_INVALID};
    *scaled = (Scaled){0};
    if (!set_operand(&step, plan, node->operands[1 - i]) ||
        !walk(scaled, plan, node->operands[i], arena) || scaled->step_count == MAX_SCALED_STEPS) {
      continue;
    }
    step.kind = opcode == HLO_MULTIPLY ? STEP_MULTIPLY
                : opcode == HLO_ADD    ? STEP_ADD
                : i == 0               ? STEP_SUBTRACT
                                       : STEP_SUBTRACT_FROM;
    if (type != F32 && !rounds && !is_small(scaled, &step, type)) continue;
    scaled->steps[scaled->step_count++] = step;
    return true;
  }
  return false;
}

/* Finds the numbers, and the steps from them to a node. */
static bool walk(Scaled *scaled, const LoopPlan *plan, const LoopNode *node, Arena *arena) {
  PrimitiveType type = node->instruction->shape->type;
  if (scaled_in_order(plan, node) && (type == F32 || widen_loop(type))) {
    scaled->numbers = scaled_input(plan, node);
    return true;
  }
  if (node->kind == NODE_OPERATION && node->operand_count == 2 &&
      walk_binary(scaled, plan, node, arena)) {
    return true;
  }
  *scaled = (Scaled){0};
  if (node->kind == NODE_OPERATION && node->instruction->opcode == HLO_CONVERT) {
    const LoopNode *from = node->operands[0];
    PrimitiveType given = from->instruction->shape->type;
    bool carries = type_is_integral(given); /* small numbers, or a step of them */
    bool rounds = (type == BF16 || type == F16) && given == F32;
    bool exact =
        is_exact_conversion(node) || (carries && type == F32) || (given == S16 && type == S32);
    if (carries && (type == BF16 || type == F16)) {
      int64_t max = type == BF16 ? 1 << 8 : 1 << 11; /* up to which the type has all integers */
      if (walk(scaled, plan, from, arena) && type_bits(scaled->numbers.type) <= 8 &&
          scaled->max_integer <= max) {
        return true;
      }
    } else if ((exact || rounds) && walk(scaled, plan, from, arena)) {
      if (!rounds) return true;
      int last = scaled->step_count - 1;
      if (last >= 0 && !scaled->steps[last].rounds) {
        scaled->steps[last].rounds = type;
        return true;
      }
      if (scaled->step_count < MAX_SCALED_STEPS) {
        scaled->steps[scaled->step_count++] =
            (ScaledStep){.kind = STEP_ROUND, .rounds = type, .input.parameter = -1};
        return true;
      }
    }
    *scaled = (Scaled){0};
  }
  return scaled_tabulate(scaled, plan, node, arena);
}

/* Whether numbers less the step's operand are integers that the step's type has: bf16 those of at most 8 bits, and a sign. Operands
** of floats must be whole, and at most MAX_ZERO. */
static bool keeps_bytes(const Scaled *scaled, const ScaledStep *step) {
  PrimitiveType type = scaled->numbers.type, by = step->input.type;
  int64_t value = (int64_t)step->value;
  bool has_room = type_bits(type) < 8 || step->rounds != BF16;
  if (!type_is_integral(type)) return false;
  if (step->input.parameter >= 0) return by == type || (has_room && type_is_floating(by));
  return step->value == (float)value && value >= 0 && value < MAX_ZERO;
}

static bool is_sum(const Scaled *scaled, int i) {
  StepKind kind = scaled->steps[i].kind;
  return i < scaled->step_count && (kind == STEP_ADD || kind == STEP_SUBTRACT);
}

/* Finds the steps of loops: a zero point, a scale, a bias. Returns false if there are others. */
static bool find_steps(Scaled *scaled, NarrowForm *form) {
  int i = 0, *of = scaled->narrow_steps;
  of[SCALE] = of[ZERO] = -1;
  *form = scaled->step_count ? NARROW_SCALED : NARROW_PLAIN;
  if (is_sum(scaled, i)) {
    *form = NARROW_MOVED;
    scaled->negates = scaled->steps[i].kind == STEP_ADD;
    of[ZERO] = i++;
  }
  if (i < scaled->step_count && scaled->steps[i].kind == STEP_MULTIPLY) of[SCALE] = i++;
  bool is_from = i > 0 && i < scaled->step_count && scaled->steps[i].kind == STEP_SUBTRACT_FROM;
  if (*form == NARROW_SCALED && (is_sum(scaled, i) || is_from)) {
    *form = NARROW_AFFINE;
    scaled->negates = scaled->steps[i].kind == STEP_SUBTRACT;
    scaled->negates_scale = is_from;
    of[ZERO] = i++;
  }
  return i == scaled->step_count;
}

/* Finds how loops round: zero points do not make it necessary, and there is one type. Returns false if loops do not round so. */
static bool find_rounding(const Scaled *scaled, NarrowForm *form) {
  int last = scaled->step_count - 1;
  bool is_affine = *form == NARROW_AFFINE;
  PrimitiveType type = last < 0 ? PRIMITIVE_TYPE_INVALID : scaled->steps[last].rounds;
  bool rounds = type;
  for (int i = 0; i < last; i++) {
    const ScaledStep *step = &scaled->steps[i];
    if (step->rounds && step->rounds != type) return false;
    if (is_affine && type == F16 && !step->rounds) return false;
    rounds |= step->rounds != PRIMITIVE_TYPE_INVALID;
  }
  if (!rounds) return true;
  if (*form == NARROW_MOVED && !keeps_bytes(scaled, &scaled->steps[scaled->narrow_steps[ZERO]])) {
    return false;
  }
  *form = is_affine ? NARROW_ROUNDED_AFFINE : NARROW_ROUNDED;
  return true;
}

/* Sets the loops for numbers as they are, or less a zero, times a scale, plus a bias, and rounded. */
static void set_loops(Scaled *scaled) {
  NarrowForm form;
  const ScaledStep *first = &scaled->steps[0];
  bool rounds = scaled->step_count == 1 && first->kind == STEP_ROUND && first->rounds == BF16;
  if (rounds && scaled->numbers.type == F32) {
    scaled->narrow_steps[SCALE] = scaled->narrow_steps[ZERO] = -1;
    scaled->loops = narrow_loops(F32, NARROW_ROUNDED_F32);
    return;
  }
  if (!find_steps(scaled, &form) || !find_rounding(scaled, &form)) return;
  if (scaled->entries) {
    if (form != NARROW_PLAIN && form != NARROW_SCALED) return;
    form = NARROW_LOOKED_UP;
  }
  bool is_packed = scaled->numbers.per_byte > 1;
  scaled->loops = (is_packed ? narrow_packed_loops : narrow_loops)(scaled->numbers.type, form);
}

/* Finds an array whose elements are in other places. */
static bool find_view(Scaled *scaled, const LoopPlan *plan) {
  const LoopNode *node = plan->outputs[0];
  while (is_exact_conversion(node)) node = node->operands[0];
  PrimitiveType type = node->instruction->shape->type;
  scaled->is_view = is_input(node) && !node->packed && !scaled_in_order(plan, node) &&
                    (type == F32 || widen_loop(type));
  if (scaled->is_view) scaled->numbers = scaled_input(plan, node);
  return scaled->is_view;
}

const Scaled *scaled_of(const Instruction *loop, Arena *arena) {
  Arena *scratch = arena_new();
  Scaled *scaled = ARENA_NEW(arena, Scaled);
  LoopPlan plan;
  bool found = false;
  if (loop->shape->type == F32 && loop_plan_fusion(&plan, scratch, loop->a->calls) &&
      !plan.addresses) {
    found = (find_view(scaled, &plan) || walk(scaled, &plan, plan.outputs[0], arena)) &&
            set_starts(scaled, &plan);
    scaled->rank = plan.rank;
    for (int k = 0; k < plan.rank; k++) scaled->sizes[k] = plan.sizes[k];
    if (!scaled->is_view) set_loops(scaled);
  }
  arena_free(scratch);
  return found ? scaled : NULL;
}
