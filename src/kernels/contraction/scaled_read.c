/* Reads dequantised operands: see scaled.h. */
#include "base/min_max.h"
#include "kernels/contraction/elements.h"
#include "kernels/contraction/inner/unpack.h"
#include "kernels/contraction/inner/widen.h"
#include "kernels/contraction/scaled.h"
#include "value/scalar.h"
#include "value/storage.h"

#include <string.h>

/* ---- Arrays ---- */

ScaledInput scaled_input(const LoopPlan *plan, const LoopNode *node) {
  PrimitiveType type = node->instruction->shape->type;
  ScaledInput input = {.type = type,
                       .parameter = (int)array_of(node)->parameter_number,
                       .per_byte = node->packed ? type_per_byte(type) : 1,
                       .constant = node->offset.constant};
  for (int s = 0; s < MAX_STARTS; s++) input.start[s] = node->offset.start[s];
  for (int k = 0; k < plan->rank; k++) input.strides[k] = node->offset.coefficient[k];
  return input;
}

bool scaled_in_order(const LoopPlan *plan, const LoopNode *node) {
  int64_t next = 1;
  if (node->kind != NODE_INPUT || array_of(node)->opcode != HLO_PARAMETER) return false;
  for (int k = plan->rank - 1; k >= 0; next *= plan->sizes[k--]) {
    if (plan->sizes[k] > 1 && node->offset.coefficient[k] != next) return false;
  }
  return true;
}

bool scaled_is_aligned(const ScaledInput *input) {
  bool is = input->constant % input->per_byte == 0;
  for (int s = 0; s < MAX_STARTS; s++) is &= input->start[s] % input->per_byte == 0;
  return is;
}

static PackedArray packed_array(const Scaled *scaled, const ScaledInput *input,
                                const uint8_t *const *inputs) {
  int64_t at = input->constant;
  if (input->parameter < 0) return (PackedArray){NULL, 0};
  for (int s = 0; s < scaled->start_count; s++) {
    int64_t start = scalar_load(scaled->starts[s].type, inputs[scaled->starts[s].parameter], 0).i;
    at += input->start[s] * min_i64(max_i64(start, 0), scaled->starts[s].limit);
  }
  const uint8_t *data = inputs[input->parameter] + at / input->per_byte * type_bytes(input->type);
  return (PackedArray){data, (int)(at % input->per_byte)};
}

static void find_table(const Scaled *scaled, const uint8_t *const *inputs, float *table) {
  const uint8_t *array = scaled->table.parameter < 0 ? NULL : inputs[scaled->table.parameter];
  for (int i = 0; i < TABLE_ENTRIES; i++) {
    const TableEntry *entry = &scaled->entries[i];
    table[i] = entry->position < 0
                   ? entry->value
                   : (float)scalar_load(scaled->table.type, array, entry->position).f;
  }
}

void scaled_find(const Scaled *scaled, const uint8_t *const *inputs, Computed *computed) {
  computed->scaled = scaled;
  computed->numbers = packed_array(scaled, &scaled->numbers, inputs);
  if (scaled->entries) find_table(scaled, inputs, computed->table);
  for (int i = 0; i < scaled->step_count; i++) {
    computed->operands[i] = packed_array(scaled, &scaled->steps[i].input, inputs);
  }
}

/* Returns the number of an element's operand. Sets `left` to the elements from it on that loop `inner` runs over. */
static int64_t operand_at(const Scaled *scaled, const ScaledInput *input, int64_t element,
                          int inner, int64_t *left) {
  int64_t number = 0, unit = 1, rest = element;
  for (int k = scaled->rank - 1; k >= 0; k--) {
    int64_t size = scaled->sizes[k], digit = rest % size;
    number += digit * input->strides[k];
    if (k == inner) *left = (size - digit) * unit - element % unit;
    unit *= size;
    rest /= size;
  }
  return number;
}

/* Returns the innermost loop along which an operand changes, at least 0, and the elements inside of it. */
static int changing_loop(const Scaled *scaled, const ScaledInput *input, int64_t *run) {
  int k = scaled->rank - 1;
  *run = 1;
  for (; k > 0 && input->strides[k] == 0; k--) *run *= scaled->sizes[k];
  return k;
}

/* The operands of a step. */
typedef struct Operands {
  const ScaledInput *input;
  PackedArray array;
} Operands;

static Operands operands_of(const Computed *computed, int step) {
  return (Operands){&computed->scaled->steps[step].input, computed->operands[step]};
}

static void load_packed(Operands from, int64_t number, int64_t stride, int64_t count, float *out) {
  /* Threshold SOME. Test: "packed numbers of all values, less zeros of all kinds" in core/quantised.test.mjs. */
  enum { SOME = 64 };
  PrimitiveType type = from.input->type;
  uint8_t bytes[SOME];
  for (int64_t some; count > 0; count -= some, out += some, number += some * stride) {
    some = min_i64(count, SOME);
    for (int64_t i = 0; i < some && stride != 1; i++) {
      elements_unpack(type, from.array.data, from.array.skipped + number + i * stride, 1,
                      bytes + i);
    }
    if (stride == 1) unpack(type, from.array.data, from.array.skipped + number, some, bytes);
    widen_loop(type)(bytes, some, out);
  }
}

static void load_operands(Operands from, int64_t number, int64_t stride, int64_t count,
                          float *out) {
  const ScaledInput *input = from.input;
  if (input->per_byte > 1) {
    load_packed(from, number, stride, count, out);
    return;
  }
  Loader loader = loader_for(input->type, arithmetic_for(F32, F32, F32), F32);
  load_elements(&loader, from.array.data + number * type_bytes(input->type), stride, count,
                (uint8_t *)out);
}

/* ---- Computing elements ---- */

static void apply(const Scaled *scaled, const ScaledStep *step, Operands from, int64_t first,
                  int64_t count, float *to) {
  /* Threshold SOME. Test: "units, blocks of the depth and lists of scales of several sizes" in
  ** core/quantised.test.mjs. */
  enum { SOME = 512 };
  float list[SOME];
  int64_t run, left;
  int inner = changing_loop(scaled, &step->input, &run);
  int64_t stride = step->input.strides[inner];
  if (!from.array.data || stride == 0) { /* one for all */
    float value = step->value;
    if (from.array.data) load_operands(from, 0, 1, 1, &value);
    step_apply(step->kind, to, count, count, 0, &value);
    return;
  }
  for (int64_t some; count > 0; count -= some, first += some, to += some) {
    int64_t number = operand_at(scaled, &step->input, first, inner, &left);
    int64_t skipped = first % run;
    const float *operands = list;
    some = min_i64(left, count);
    if (step->input.type == F32 && stride == 1) {
      operands = (const float *)from.array.data + number;
    } else {
      some = min_i64(some, SOME * run - skipped);
      load_operands(from, number, stride, divide_up(skipped + some, run), list);
    }
    step_apply(step->kind, to, some, run, skipped, operands);
  }
}

void scaled_generate(const Computed *computed, int64_t first, int64_t count, void *out) {
  /* Threshold SOME. Test: "units, blocks of the depth and lists of scales of several sizes" in
  ** core/quantised.test.mjs. */
  enum { SOME = 1024 };
  const Scaled *scaled = computed->scaled;
  PrimitiveType type = scaled->numbers.type;
  int mask = type_bits(type) < 8 ? (1 << type_bits(type)) - 1 : BYTE_MASK;
  WidenLoop *widen = widen_loop(type);
  float *to = out;
  uint8_t bytes[SOME];
  for (int64_t some; count > 0; count -= some, first += some, to += some) {
    const uint8_t *numbers = computed->numbers.data + first * type_bytes(type);
    some = min_i64(count, SOME);
    if (scaled->numbers.per_byte > 1) {
      unpack(type, computed->numbers.data, computed->numbers.skipped + first, some, bytes);
      numbers = bytes;
    }
    if (scaled->entries) {
      step_lookup(numbers, some, mask, computed->table, to);
    } else if (widen) {
      widen(numbers, some, to);
    } else {
      memcpy(to, numbers, (size_t)some * sizeof *to);
    }
    for (int i = 0; i < scaled->step_count; i++) {
      const ScaledStep *step = &scaled->steps[i];
      if (step->kind != STEP_ROUND) apply(scaled, step, operands_of(computed, i), first, some, to);
      if (step->rounds) step_round(step->rounds, to, some);
    }
  }
}

/* ---- Scales of loops (inner/narrow.h) ---- */

static const int64_t no_strides[MAX_LOOPS];

/* Returns a step's number; -1: there is none. */
static int number_of(const Scaled *scaled, NarrowStep step) { return scaled->narrow_steps[step]; }

static const int64_t *strides_of(const Scaled *scaled, NarrowStep step) {
  int number = number_of(scaled, step);
  return number < 0 ? no_strides : scaled->steps[number].input.strides;
}

int64_t scaled_lines(const Scaled *scaled, NarrowStep step, int64_t line) {
  int64_t inside = 1, lines = 1, run = scaled_run(scaled, step);
  const int64_t *strides = strides_of(scaled, step);
  int k = scaled->rank - 1;
  for (; k >= 0 && inside < line; k--) inside *= scaled->sizes[k];
  if (inside != line) return run % line ? 0 : run / line;
  for (; k >= 0 && strides[k] == 0; k--) lines *= scaled->sizes[k];
  return lines;
}

int64_t scaled_run(const Scaled *scaled, NarrowStep step) {
  int64_t run = 1;
  const int64_t *strides = strides_of(scaled, step);
  for (int k = scaled->rank - 1; k >= 0 && strides[k] == 0; k--) run *= scaled->sizes[k];
  return run;
}

/* Loads operands of elements that are `apart`, as many as there are on the innermost loop. Returns their number. */
static int64_t load_some(const Scaled *scaled, const ScaledStep *step, Operands from, int64_t first,
                         int64_t count, int64_t apart, float *out) {
  int64_t run, left, some;
  int inner = changing_loop(scaled, &step->input, &run);
  if (!from.array.data || step->input.strides[inner] == 0) {
    float value = step->value;
    if (from.array.data) load_operands(from, 0, 1, 1, &value);
    for (int64_t i = 0; i < count; i++) out[i] = value;
    return count;
  }
  int64_t number = operand_at(scaled, &step->input, first, inner, &left);
  if (apart % run == 0) {
    some = max_i64(min_i64(left / apart, count), 1);
    load_operands(from, number, step->input.strides[inner] * (apart / run), some, out);
    return some;
  }
  some = min_i64(divide_up(run - first % run, apart), count);
  load_operands(from, number, 1, 1, out);
  for (int64_t i = 1; i < some; i++) out[i] = out[0];
  return some;
}

bool scaled_has_integers(const Scaled *scaled) {
  int zero = number_of(scaled, ZERO);
  if (zero < 0) return scaled->loops->is_integral;
  const ScaledStep *step = &scaled->steps[zero];
  float value = scaled->negates ? -step->value : step->value;
  bool is_byte = value == (float)(uint8_t)max_i64((int64_t)value, 0);
  return scaled->loops->is_integral &&
         (step->input.parameter < 0 ? is_byte : type_is_integral(step->input.type));
}

bool scaled_has_f16(const Scaled *scaled) {
  int number = number_of(scaled, SCALE);
  if (number < 0) return false;
  const ScaledInput *input = &scaled->steps[number].input;
  return input->parameter >= 0 && input->type == F16;
}

/* Returns a step's operands: 1 if there is no scale. */
static Operands narrow_operands(const Computed *computed, NarrowStep which,
                                const ScaledStep **step) {
  static const ScaledStep one = {.input.parameter = -1, .value = 1};
  int number = number_of(computed->scaled, which);
  *step = number < 0 ? &one : &computed->scaled->steps[number];
  return number < 0 ? (Operands){&one.input, {NULL, 0}} : operands_of(computed, number);
}

static void fill(const Scaled *scaled, const ScaledStep *step, Operands from, int64_t first,
                 int64_t count, int64_t apart, float *out) {
  for (int64_t some; count > 0; count -= some, first += some * apart, out += some) {
    some = load_some(scaled, step, from, first, count, apart, out);
  }
}

void scaled_fill(const Computed *computed, NarrowStep which, int64_t first, int64_t count,
                 int64_t apart, float *out) {
  const ScaledStep *step;
  Operands from = narrow_operands(computed, which, &step);
  fill(computed->scaled, step, from, first, count, apart, out);
}

/* Returns the loop that moves by `line` elements in each step; -1: there is none. */
static int loop_of_lines(const Scaled *scaled, int64_t line) {
  int64_t unit = 1;
  int k = scaled->rank - 1;
  for (; k >= 0 && unit < line; k--) unit *= scaled->sizes[k];
  return unit == line ? k : -1;
}

void scaled_fill_lines(const Computed *computed, NarrowStep which, int64_t first, int64_t line,
                       int64_t lines, int64_t count, int64_t apart, float *out) {
  const Scaled *scaled = computed->scaled;
  int outer = loop_of_lines(scaled, line);
  const ScaledStep *step;
  Operands from = narrow_operands(computed, which, &step);
  const ScaledInput *input = &step->input;
  int64_t run, left;
  int inner = changing_loop(scaled, input, &run);
  if (outer < 0 && apart * count == line) { /* as operands of one long line */
    fill(scaled, step, from, first, lines * count, apart, out);
    return;
  }
  if (count == 1) { /* as operands of one line, whose elements are `line` apart */
    fill(scaled, step, from, first, lines, line, out);
    return;
  }
  for (float *to = out; lines > 0;) {
    int64_t same = 1, at = from.array.data ? operand_at(scaled, input, first, inner, &left) : 0;
    if (from.array.data && outer >= 0 && inner > outer && apart % run == 0 &&
        left >= apart * count) {
      int64_t stride = input->strides[inner] * (apart / run), next = input->strides[outer];
      same = min_i64(scaled->sizes[outer] - first / line % scaled->sizes[outer], lines);
      int64_t at_once = next == count * stride ? same : 1;
      for (int64_t i = 0; i < same; i += at_once, at += next, to += at_once * count) {
        load_operands(from, at, stride, at_once * count, to);
      }
    } else {
      fill(scaled, step, from, first, count, apart, to);
      to += count;
    }
    lines -= same;
    first += same * line;
  }
}
