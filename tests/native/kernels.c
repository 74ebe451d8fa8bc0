/*
** Kernels that move elements or make bits: against the evaluator, bit for bit, on sizes around their
** blocks and chunks. Every buffer is a block of its own, so that the sanitizer sees what goes beyond
** it; chunks run last to first, as no chunk may need another of its phase.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "hlo/text.h"
#include "kernels/kernels.h"

/* An instruction and what it reads: x, of bytes that are not all alike (a generator's counter is near
** its end), and i, of numbers that also lie below and above what indices may be. */
typedef struct Row {
  const char *x, *i, *result;
} Row;

static const Row rows[] = {
    {"u64[2]", "", "(u64[2], u32[40001]) rng-bit-generator(x), algorithm=rng_three_fry"},
    {"u64[2]", "", "(u64[2], u32[91,101]) rng-bit-generator(x), algorithm=rng_three_fry"},
    {"u64[2]", "", "(u64[2], u32[3,74,77]) rng-bit-generator(x), algorithm=rng_three_fry"},
    {"u64[2]", "", "(u64[2], u8[130,131]) rng-bit-generator(x), algorithm=rng_three_fry"},
    {"u64[2]", "", "(u64[2], s64[5,1031]) rng-bit-generator(x), algorithm=rng_three_fry"},
    {"u64[2]", "", "u16[20000] rng-bit-generator(x), algorithm=rng_three_fry"},
    {"u64[3]", "", "(u64[3], u32[40001]) rng-bit-generator(x), algorithm=rng_philox"},
    {"u64[2]", "", "(u64[2], u64[9001]) rng-bit-generator(x), algorithm=rng_philox"},
    {"u64[3]", "", "(u64[3], s16[20003]) rng-bit-generator(x), algorithm=rng_default"},
    {"u64[3]", "", "(u64[3], u8[129]) rng-bit-generator(x), algorithm=rng_philox"},
};

static int failures;

static void fail(const Row *row, const char *what) {
  failures++;
  printf("%s: %s\n", row->result, what);
}

static Module *parse(const Row *row) {
  char text[4096];
  Error error = {0};
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = %s parameter(0)\n%s%s%s  ROOT r = %s\n}\n", row->x,
           *row->i ? "  i = " : "", row->i, *row->i ? " parameter(1)\n" : "", row->result);
  Module *module = hlo_parse(text, strlen(text), &error);
  if (!module) fail(row, error.message);
  return module;
}

/* A value whose leaves have memory of exactly their size. */
static Literal *allocate(Arena *arena, const Shape *shape, uint8_t **leaves, int *count) {
  Literal *literal = literal_view(arena, shape, NULL);
  if (shape_is_tuple(shape)) {
    for (int i = 0; i < shape->tuple_size; i++) {
      literal->elements[i] = allocate(arena, shape->elements[i], leaves, count);
    }
    return literal;
  }
  size_t bytes = (size_t)shape_bytes(shape);
  literal->data = leaves[(*count)++] = malloc(bytes ? bytes : 1);
  if (!literal->data) abort();
  memset(literal->data, 0xa5, bytes);
  return literal;
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

static void fill(const Literal *literal, bool is_index) {
  uint32_t state = 1;
  int64_t count = is_index ? shape_elements(literal->shape) : shape_bytes(literal->shape);
  for (int64_t i = 0; i < count; i++) {
    if (is_index) {
      Scalar value = {.i = (int64_t)(next_random(&state) % 12) - 3};
      scalar_store(literal->shape->type, literal->data, i, value);
    } else {
      ((uint8_t *)literal->data)[i] = (uint8_t)next_random(&state);
    }
  }
  if (literal->shape->type == U64) ((uint64_t *)literal->data)[1] = UINT64_MAX - 1000;
}

static void run_kernel(const KernelPlan *plan, const Instruction *instruction,
                       uint8_t *const *operands, uint8_t *const *results) {
  int64_t bytes = plan->scratch_bytes;
  KernelCall call = {.plan = plan,
                     .instruction = instruction,
                     .operands = (const uint8_t *const *)operands,
                     .results = results,
                     .scratch = bytes ? aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64) : NULL};
  for (int phase = 0; phase < plan->phases; phase++) {
    for (int chunk = plan->chunks[phase] - 1; chunk >= 0; chunk--) {
      plan->kernel->run(&call, phase, chunk);
    }
  }
  free(call.scratch);
}

enum { MOST_LEAVES = 8 };

static void check(const Row *row) {
  Module *module = parse(row);
  if (!module) return;
  Arena *arena = arena_new();
  Error error = {0};
  EvalContext context = {.arena = arena, .error = &error};
  const Instruction *root = module->entry->root;
  const KernelPlan *plan = kernel_plan(root, arena);
  uint8_t *operand_data[MOST_LEAVES], *wanted_data[MOST_LEAVES], *got_data[MOST_LEAVES];
  Literal *operands[MOST_LEAVES];
  int operand_leaves = 0, wanted_leaves = 0, got_leaves = 0;
  for (int k = 0; k < root->operand_count; k++) {
    operands[k] = allocate(arena, root->operands[k]->shape, operand_data, &operand_leaves);
    fill(operands[k], root->operands[k]->parameter_number > 0);
  }
  Literal *wanted = allocate(arena, root->shape, wanted_data, &wanted_leaves);
  allocate(arena, root->shape, got_data, &got_leaves);
  if (!plan) {
    fail(row, "no kernel runs it");
  } else if (!eval_instruction(root, operands, wanted, &context)) {
    fail(row, error.message);
  } else {
    run_kernel(plan, root, operand_data, got_data);
    for (int i = 0; i < got_leaves; i++) {
      size_t bytes = (size_t)shape_bytes(shape_leaf(root->shape, i));
      if (memcmp(got_data[i], wanted_data[i], bytes)) fail(row, "other bits than the evaluator's");
    }
  }
  for (int i = 0; i < operand_leaves; i++) free(operand_data[i]);
  for (int i = 0; i < wanted_leaves; i++) free(wanted_data[i]);
  for (int i = 0; i < got_leaves; i++) free(got_data[i]);
  arena_free(arena);
  module_free(module);
}

int main(void) {
  size_t count = sizeof rows / sizeof *rows;
  for (size_t i = 0; i < count; i++) check(&rows[i]);
  printf("%zu kernel rows, %d failed\n", count, failures);
  return failures != 0;
}
