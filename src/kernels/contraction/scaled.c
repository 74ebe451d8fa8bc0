/* Finds and reads dequantised operands: see scaled.h. */
#include "kernels/contraction/scaled.h"

#include "base/min_max.h"
#include "kernels/contraction/elements.h"
#include "plan/loop_plan.h"
#include "value/scalar.h"

/* ---- Finding them ---- */

/* Returns the leaf that a value is, after conversions to f32 that keep it. */
static const LoopNode *widened(const LoopNode *node) {
  while (node->kind == NODE_OPERATION && node->instruction->opcode == HLO_CONVERT) {
    const LoopNode *from = node->operands[0];
    PrimitiveType type = from->instruction->shape->type;
    bool keeps =
        node->instruction->shape->type == F32 && (type == F32 || narrow_loops(type, false));
    if (!keeps) return node;
    node = from;
  }
  return node;
}

static ScaledInput input_of(const LoopNode *node) {
  const Instruction *parameter = node->instruction;
  ScaledInput input = {.type = parameter->shape->type,
                       .parameter = (int)parameter->parameter_number,
                       .constant = node->offset.constant};
  for (int s = 0; s < MAX_STARTS; s++) input.start[s] = node->offset.start[s];
  return input;
}

static bool is_input(const LoopNode *node) {
  return node->kind == NODE_INPUT && node->instruction->opcode == HLO_PARAMETER;
}

/* Whether the loops read an array in the order of the elements. */
static bool is_in_order(const LoopPlan *plan, const LoopNode *node) {
  int64_t next = 1;
  for (int k = plan->rank - 1; k >= 0; next *= plan->sizes[k--]) {
    if (plan->sizes[k] > 1 && node->offset.coefficient[k] != next) return false;
  }
  return true;
}

static bool set_starts(Scaled *scaled, const LoopPlan *plan) {
  scaled->start_count = plan->start_count;
  for (int s = 0; s < plan->start_count; s++) {
    const LoopNode *leaf = plan->starts[s].leaf;
    if (!is_input(leaf)) return false;
    scaled->starts[s].parameter = (int)leaf->instruction->parameter_number;
    scaled->starts[s].type = leaf->instruction->shape->type;
    scaled->starts[s].limit = plan->starts[s].limit;
  }
  return true;
}

static bool set_scales(Scaled *scaled, const LoopPlan *plan, const LoopNode *scale) {
  scaled->scales.parameter = -1;
  if (scale->kind == NODE_CONSTANT) {
    Scalar value =
        scalar_load(scale->instruction->shape->type, scale->instruction->literal->data, 0);
    scaled->scale = (float)value.f;
    return scale->instruction->shape->type == F32;
  }
  if (!is_input(scale)) return false;
  scaled->scales = input_of(scale);
  for (int k = 0; k < plan->rank; k++) scaled->strides[k] = scale->offset.coefficient[k];
  return scaled->scales.type == F32 || narrow_loops(scaled->scales.type, false);
}

static bool match(Scaled *scaled, const LoopPlan *plan, const LoopNode *numbers,
                  const LoopNode *scale) {
  numbers = widened(numbers);
  if (!is_input(numbers) || !is_in_order(plan, numbers)) return false;
  scaled->numbers = input_of(numbers);
  scaled->loops = narrow_loops(scaled->numbers.type, scale);
  scaled->has_scales = scale;
  scaled->scale = 1;
  scaled->scales.parameter = -1;
  if (!scaled->loops && (scale || scaled->numbers.type != F32)) return false;
  scaled->rank = plan->rank;
  for (int k = 0; k < plan->rank; k++) scaled->sizes[k] = plan->sizes[k];
  return set_starts(scaled, plan) && (!scale || set_scales(scaled, plan, widened(scale)));
}

const Scaled *scaled_of(const Instruction *loop, Arena *arena) {
  Arena *scratch = arena_new();
  Scaled *scaled = ARENA_NEW(arena, Scaled);
  LoopPlan plan;
  bool found = false;
  if (loop->shape->type == F32 && loop_plan_fusion(&plan, scratch, loop->a->calls)) {
    const LoopNode *root = plan.outputs[0];
    bool is_product =
        root->kind == NODE_OPERATION && root->instruction->opcode == HLO_MULTIPLY && !plan.places;
    for (int i = 0; i < 2 && is_product && !found; i++) {
      found = match(scaled, &plan, root->operands[i], root->operands[1 - i]);
    }
    if (!is_product && !plan.places) found = match(scaled, &plan, root, NULL);
  }
  arena_free(scratch);
  return found ? scaled : NULL;
}

/* ---- Reading them ---- */

static const uint8_t *element_0(const Scaled *scaled, const ScaledInput *input,
                                const uint8_t *const *inputs) {
  int64_t at = input->constant;
  if (input->parameter < 0) return NULL;
  for (int s = 0; s < scaled->start_count; s++) {
    int64_t start = scalar_load(scaled->starts[s].type, inputs[scaled->starts[s].parameter], 0).i;
    at += input->start[s] * min_i64(max_i64(start, 0), scaled->starts[s].limit);
  }
  return inputs[input->parameter] + at * type_bytes(input->type);
}

void scaled_find(const Scaled *scaled, const uint8_t *const *inputs, Generator *generator) {
  generator->scaled = scaled;
  generator->numbers = element_0(scaled, &scaled->numbers, inputs);
  generator->scales = element_0(scaled, &scaled->scales, inputs);
}

int64_t scaled_lines(const Scaled *scaled, int64_t line) {
  int64_t inside = 1, lines = 1;
  int k = scaled->rank - 1;
  for (; k >= 0 && inside < line; k--) inside *= scaled->sizes[k];
  if (inside != line) return scaled_run(scaled) % line ? 0 : scaled_run(scaled) / line;
  for (; k >= 0 && scaled->strides[k] == 0; k--) lines *= scaled->sizes[k];
  return lines;
}

int64_t scaled_run(const Scaled *scaled) {
  int64_t run = 1;
  for (int k = scaled->rank - 1; k >= 0 && scaled->strides[k] == 0; k--) run *= scaled->sizes[k];
  return run;
}

/* Returns the number of an element's scale. Sets `left` to the elements from it on that loop `inner` runs over. */
static int64_t scale_at(const Scaled *scaled, int64_t element, int inner, int64_t *left) {
  int64_t number = 0, unit = 1;
  for (int k = scaled->rank - 1; k >= 0; k--) {
    int64_t size = scaled->sizes[k], digit = element % size;
    number += digit * scaled->strides[k];
    if (k == inner) *left = (size - digit) * unit;
    unit *= size;
    element /= size;
  }
  return number;
}

/* Loads scales that are `stride` apart, and multiplies them by the factor. */
static bool load_scales(const Generator *generator, int64_t number, int64_t stride, int64_t count,
                        float *out) {
  const Scaled *scaled = generator->scaled;
  float factor = scaled->loops->factor, inverse = 1 / factor;
  PrimitiveType type = scaled->scales.type;
  bool exact = true;
  if (generator->scales) {
    Loader loader = loader_for(type, arithmetic_for(F32, F32, F32), F32);
    load_elements(&loader, generator->scales + number * type_bytes(type), stride, count,
                  (uint8_t *)out);
  }
  for (int64_t i = 0; i < count; i++) {
    float scale = generator->scales ? out[i] : scaled->scale;
    out[i] = scale * factor;
    exact &= out[i] * inverse == scale || scale != scale;
  }
  return exact;
}

bool scaled_fill(const Generator *generator, int64_t first, int64_t count, float *out) {
  const Scaled *scaled = generator->scaled;
  int inner = scaled->rank - 1;
  bool exact = true;
  int64_t stride = scaled->strides[inner];
  while (count > 0) {
    int64_t left, number = scale_at(scaled, first, inner, &left), some = min_i64(left, count);
    exact &= load_scales(generator, number, stride ? stride : 1, stride ? some : 1, out);
    for (int64_t i = 1; i < some && !stride; i++) out[i] = out[0];
    out += some;
    first += some;
    count -= some;
  }
  return exact;
}

bool scaled_fill_blocks(const Generator *generator, int64_t first, int64_t count, int64_t block,
                        float *out) {
  const Scaled *scaled = generator->scaled;
  int inner = scaled->rank - 1;
  bool exact = true;
  while (inner > 0 && scaled->strides[inner] == 0) inner--;
  for (count = divide_up(count, block); count > 0;) {
    int64_t left, number = scale_at(scaled, first, inner, &left);
    int64_t some = max_i64(min_i64(left / block, count), 1);
    int64_t run = scaled_run(scaled);
    exact &=
        load_scales(generator, number, scaled->strides[inner] * max_i64(block / run, 1), some, out);
    out += some;
    first += some * block;
    count -= some;
  }
  return exact;
}
