/* Finds dequantised operands: see scaled.h. */
#include "kernels/contraction/scaled.h"

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
  if (to == BF16) return type_bits(from) <= 8 && widen_loop(from);
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
static bool is_small(const Scaled *scaled, const ScaledStep *step, PrimitiveType type) {
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
  return from >= smallest(type) && to <= largest(type);
}

static bool walk_binary(Scaled *scaled, const LoopPlan *plan, const LoopNode *node, Arena *arena) {
  Opcode opcode = node->instruction->opcode;
  PrimitiveType type = node->instruction->shape->type;
  if (opcode != HLO_ADD && opcode != HLO_SUBTRACT && opcode != HLO_MULTIPLY) return false;
  for (int i = 0; i < 2; i++) {
    ScaledStep step = {.rounds = type == BF16};
    *scaled = (Scaled){0};
    if (!set_operand(&step, plan, node->operands[1 - i]) ||
        !walk(scaled, plan, node->operands[i], arena) || scaled->step_count == MAX_SCALED_STEPS) {
      continue;
    }
    step.kind = opcode == HLO_MULTIPLY ? STEP_MULTIPLY
                : opcode == HLO_ADD    ? STEP_ADD
                : i == 0               ? STEP_SUBTRACT
                                       : STEP_SUBTRACT_FROM;
    if (type != F32 && type != BF16 && !is_small(scaled, &step, type)) continue;
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
    bool carries = type_is_integral(given); /* a step of small numbers, which f32 has */
    bool rounds = type == BF16 && given == F32;
    bool exact =
        is_exact_conversion(node) || (carries && type == F32) || (given == S16 && type == S32);
    if ((exact || rounds) && walk(scaled, plan, from, arena)) {
      if (!rounds) return true;
      int last = scaled->step_count - 1;
      if (last >= 0 && scaled->steps[last].kind != STEP_ROUND) {
        scaled->steps[last].rounds = true;
        return true;
      }
      if (scaled->step_count < MAX_SCALED_STEPS) {
        scaled->steps[scaled->step_count++] =
            (ScaledStep){.kind = STEP_ROUND, .input.parameter = -1};
        return true;
      }
    }
    *scaled = (Scaled){0};
  }
  return scaled_tabulate(scaled, plan, node, arena);
}

/* Whether numbers less the step's operand are integers that bf16 has: of at most 8 bits, and a sign. */
static bool keeps_bytes(const Scaled *scaled, const ScaledStep *step) {
  PrimitiveType type = scaled->numbers.type;
  int64_t value = (int64_t)step->value;
  if (step->input.parameter >= 0) return type_is_integral(type) && step->input.type == type;
  return type_is_integral(type) && step->value == (float)value && value >= 0 && value < 128;
}

/* Sets the loops for numbers as they are, or less a zero and times a scale, and then rounded. */
static void set_loops(Scaled *scaled) {
  int count = scaled->step_count;
  bool rounds = count > 0 && scaled->steps[count - 1].rounds;
  for (int i = 0; i < count; i++) {
    const ScaledStep *step = &scaled->steps[i];
    StepKind kind = i == count - 1 ? STEP_MULTIPLY : STEP_SUBTRACT;
    if (count > 2 || step->kind != kind) return;
    if (kind == STEP_SUBTRACT && (rounds || step->rounds) && !keeps_bytes(scaled, step)) return;
  }
  if (scaled->entries && (count > 1 || rounds)) return;
  NarrowForm form = scaled->entries ? NARROW_LOOKED_UP
                    : rounds        ? NARROW_ROUNDED
                    : count > 1     ? NARROW_MOVED
                    : count > 0     ? NARROW_SCALED
                                    : NARROW_PLAIN;
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
