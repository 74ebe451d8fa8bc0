/*
** dot's kernel against the evaluator, bit for bit: all element types, sizes around those of vectors,
** tiles, units and splits, each operand either way around, batched or not. Elements are small integers,
** so that sums are the same in any order. Every buffer is a block of its own, so that the sanitizer
** sees what goes beyond it; chunks run last to first, as no chunk may need another of its phase.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "hlo/text.h"
#include "kernels/kernels.h"

typedef struct Types {
  const char *operand, *result;
} Types;

static const Types types[] = {
    {"f32", "f32"}, {"f64", "f64"},   {"bf16", "bf16"}, {"f16", "f16"}, {"s8", "s32"},
    {"s8", "s8"},   {"u8", "u32"},    {"s16", "s32"},   {"s32", "s32"}, {"u64", "u64"},
    {"c64", "c64"}, {"c128", "c128"}, {"bf16", "f32"},  {"f32", "f64"}, {"f8e5m2", "f32"},
};
enum { TYPES = sizeof types / sizeof *types };

typedef struct Case {
  Types types;
  int batch, rows, columns, depth; /* batch 0: none */
  bool turned_lhs, turned_rhs;     /* the depth first, or last */
} Case;

static int failures, cases;

static void text_of(const Case *c, char *text, size_t size) {
  const char *dims = c->batch ? "lhs_batch_dims={0}, rhs_batch_dims={0}, " : "";
  int first = c->batch ? 1 : 0;
  char batch[16] = "";
  if (c->batch) snprintf(batch, sizeof batch, "%d,", c->batch);
  int lhs[2] = {c->rows, c->depth}, rhs[2] = {c->depth, c->columns};
  snprintf(
      text, size,
      "HloModule m\nENTRY e {\n  x = %s[%s%d,%d] parameter(0)\n  y = %s[%s%d,%d] parameter(1)\n"
      "  ROOT r = %s[%s%d,%d] dot(x, y), %slhs_contracting_dims={%d}, "
      "rhs_contracting_dims={%d}\n}\n",
      c->types.operand, batch, lhs[c->turned_lhs], lhs[!c->turned_lhs], c->types.operand, batch,
      rhs[c->turned_rhs], rhs[!c->turned_rhs], c->types.result, batch, c->rows, c->columns, dims,
      first + !c->turned_lhs, first + c->turned_rhs);
}

static void fail(const char *text, const char *what) {
  failures++;
  printf("%s: %s\n", text, what);
}

static Literal *allocate(Arena *arena, const Shape *shape) {
  Literal *literal = literal_view(arena, shape, NULL);
  size_t bytes = (size_t)shape_bytes(shape);
  literal->data = malloc(bytes);
  if (!literal->data) abort();
  memset(literal->data, 0xa5, bytes);
  return literal;
}

static void fill(const Literal *literal, uint32_t seed) {
  PrimitiveType type = literal->shape->type;
  bool is_signed = type_kind(type) != KIND_UNSIGNED;
  int64_t count = shape_elements(literal->shape);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525 + 1013904223;
    Scalar value = {.i = (int64_t)(seed >> 16) % 3 - (is_signed ? 1 : 0)};
    Scalar converted = scalar_convert(S64, type, value);
    if (type_is_complex(type)) converted.im = (double)((int)(seed >> 20) % 3 - 1);
    scalar_store(type, literal->data, i, converted);
  }
}

static void run_kernel(const KernelPlan *plan, const Instruction *instruction,
                       Literal *const *operands, const Literal *result) {
  size_t bytes = (size_t)plan->scratch_bytes;
  const uint8_t *const data[2] = {operands[0]->data, operands[1]->data};
  uint8_t *const results[1] = {result->data};
  KernelCall call = {.plan = plan,
                     .instruction = instruction,
                     .operands = data,
                     .results = results,
                     .scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL};
  for (int phase = 0; phase < plan->phases; phase++) {
    for (int chunk = plan->chunks[phase] - 1; chunk >= 0; chunk--) {
      plan->kernel->run(&call, phase, chunk);
    }
  }
  free(call.scratch);
}

static void check(const Case *c) {
  char text[1024];
  text_of(c, text, sizeof text);
  cases++;
  Error error = {0};
  Module *module = hlo_parse(text, strlen(text), &error);
  if (!module) {
    fail(text, error.message);
    return;
  }
  Arena *arena = arena_new();
  EvalContext context = {.arena = arena, .error = &error};
  const Instruction *root = module->entry->root;
  const KernelPlan *plan = kernel_plan(root, arena);
  Literal *operands[2];
  for (int k = 0; k < 2; k++) {
    operands[k] = allocate(arena, root->operands[k]->shape);
    fill(operands[k], (uint32_t)k);
  }
  Literal *wanted = allocate(arena, root->shape), *got = allocate(arena, root->shape);
  if (!plan) {
    fail(text, "no kernel runs it");
  } else if (!eval_instruction(root, operands, wanted, &context)) {
    fail(text, error.message);
  } else {
    run_kernel(plan, root, operands, got);
    if (memcmp(got->data, wanted->data, (size_t)shape_bytes(root->shape))) {
      fail(text, "other bits than the evaluator's");
    }
  }
  free(operands[0]->data);
  free(operands[1]->data);
  free(wanted->data);
  free(got->data);
  arena_free(arena);
  module_free(module);
}

static void check_turned(Case c) {
  for (int turned = 0; turned < 4; turned++) {
    c.turned_lhs = turned & 1;
    c.turned_rhs = turned >> 1;
    check(&c);
  }
}

int main(void) {
  static const int lines[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 33};
  static const int depths[] = {1, 2, 3, 4, 7, 8, 17};
  enum { LINES = sizeof lines / sizeof *lines, DEPTHS = sizeof depths / sizeof *depths };
  for (int t = 0; t < TYPES; t++) {
    int every = t == 0 ? 1 : 2; /* with the others, some sizes each */
    for (int i = 0; i < LINES; i++) {
      for (int j = (i + t) % every; j < LINES; j += every) {
        for (int k = (i + j / every) % every; k < DEPTHS; k += every) {
          int batch = (i + j + k) % 3 == 0 ? 3 : 0;
          check_turned((Case){types[t], batch, lines[i], lines[j], depths[k], false, false});
        }
      }
    }
    /* Blocks of columns and of the depth, splits, sums that are added up afterwards. */
    check_turned((Case){types[t], 0, 1, 1, 280001, false, false});
    check_turned((Case){types[t], 0, 1, 1031, 530, false, false});
    check_turned((Case){types[t], 0, 5, 70, 4099, false, false});
    check_turned((Case){types[t], 2, 12, 259, 67, false, false});
    check_turned((Case){types[t], 0, 67, 66, 130, false, false});
    check_turned((Case){types[t], 70, 9, 10, 11, false, false});
  }
  printf("%d contractions, %d failed\n", cases, failures);
  return failures != 0;
}
