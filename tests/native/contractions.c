/*
** Tests kernels of dot and convolution against the evaluator, bit for bit: all element types, sizes around those
** of vectors, tiles, units and splits, each operand in either order, batched or not. Elements are small integers,
** so that sums are the same in any order. Every buffer is a block of its own, so that the sanitizer sees accesses
** beyond it. Chunks run last to first, as no chunk may need another of its phase.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/text/text.h"
#include "kernels/list.h"
#include "reference/eval.h"

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
static bool infinities; /* in the lhs, now and then; all other elements are 1 or 2 */

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

static void fill(const Literal *literal, int operand) {
  uint32_t seed = (uint32_t)operand;
  PrimitiveType type = literal->shape->type;
  bool is_signed = type_kind(type) != KIND_UNSIGNED;
  int64_t count = shape_elements(literal->shape);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525 + 1013904223;
    Scalar value = {.i = (int64_t)(seed >> 16) % 3 - (is_signed ? 1 : 0)};
    Scalar converted = scalar_convert(S64, type, value);
    if (type_is_complex(type)) converted.im = (double)((int)(seed >> 20) % 3 - 1);
    if (infinities) converted.f = operand == 0 && i % 397 == 5 ? INFINITY : 1 + (seed >> 20) % 2;
    scalar_store(type, literal->data, i, converted);
  }
}

static void run_kernel(const KernelPlan *plan, const Instruction *instruction,
                       Literal *const *operands, const Literal *result) {
  size_t bytes = (size_t)plan->scratch_bytes;
  const uint8_t *const data[2] = {operands[0]->data, operands[1]->data};
  uint8_t *const results[1] = {result->data};
  bool again;
  KernelCall call = {.plan = plan,
                     .again = &again,
                     .instruction = instruction,
                     .operands = data,
                     .results = results,
                     .scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL};
  for (int phase = 0; phase < plan->phases; phase++) {
    for (int chunk = plan->chunks[phase] - 1; chunk >= 0; chunk--) {
      do {
        again = false;
        plan->kernel->run(&call, phase, chunk);
      } while (again);
    }
  }
  free(call.scratch);
}

static void check_text(const char *text, const char *kernel) {
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
  const KernelPlan *plan = kernel_plan(root, 0, arena);
  Literal *operands[2];
  for (int k = 0; k < 2; k++) {
    operands[k] = allocate(arena, root->operands[k]->shape);
    fill(operands[k], k);
  }
  Literal *wanted = allocate(arena, root->shape), *got = allocate(arena, root->shape);
  if (!plan) {
    fail(text, "no kernel runs it");
  } else if (kernel && strcmp(plan->kernel->name, kernel) != 0) {
    fail(text, "another kernel runs it");
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

static void check(const Case *c) {
  char text[1024];
  text_of(c, text, sizeof text);
  check_text(text, NULL);
}

static void check_turned(Case c) {
  for (int turned = 0; turned < 4; turned++) {
    c.turned_lhs = turned & 1;
    c.turned_rhs = turned >> 1;
    check(&c);
  }
}

/* ---- Windows of 3 x 3 ---- */

typedef struct Convolution {
  int images, height, width, inputs, outputs;
  const char *padding, *labels;
} Convolution;

static void check_convolution(const Convolution *c) {
  static const char *const reversals[] = {"", " rhs_reversal=1x0"};
  bool last = strstr(c->labels, "b01f_") != NULL, kernel_last = strstr(c->labels, "_01io") != NULL;
  char text[1024], lhs[64], rhs[64];
  int low[2], high[2];
  sscanf(c->padding, "%d_%dx%d_%d", &low[0], &high[0], &low[1], &high[1]);
  int h = c->height + low[0] + high[0] - 2, w = c->width + low[1] + high[1] - 2;
  const char *const order = "%d,%d,%d,%d";
  if (last)
    snprintf(lhs, sizeof lhs, order, c->images, c->height, c->width, c->inputs);
  else
    snprintf(lhs, sizeof lhs, order, c->images, c->inputs, c->height, c->width);
  if (kernel_last)
    snprintf(rhs, sizeof rhs, order, 3, 3, c->inputs, c->outputs);
  else
    snprintf(rhs, sizeof rhs, order, c->outputs, c->inputs, 3, 3);
  for (int r = 0; r < 2; r++) {
    char out[64];
    if (last)
      snprintf(out, sizeof out, order, c->images, h, w, c->outputs);
    else
      snprintf(out, sizeof out, order, c->images, c->outputs, h, w);
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = f32[%s] parameter(0)\n  y = f32[%s] parameter(1)\n"
             "  ROOT r = f32[%s] convolution(x, y), window={size=3x3 pad=%s%s}, dim_labels=%s\n}\n",
             lhs, rhs, out, c->padding, reversals[r], c->labels);
    check_text(text, "winograd");
  }
}

/* The largest difference from sums in double precision, of the kernel and of plain sums in single. */
static void check_error(void) {
  enum { SIZE = 12, FEATURES = 64, PLACES = SIZE - 2 };
  static const char text[] = "HloModule m\nENTRY e {\n  x = f32[1,12,12,64] parameter(0)\n  y = "
                             "f32[3,3,64,64] parameter(1)\n"
                             "  ROOT r = f32[1,10,10,64] convolution(x, y), window={size=3x3}, "
                             "dim_labels=b01f_01io->b01f\n}\n";
  Error error = {0};
  Module *module = hlo_parse(text, strlen(text), &error);
  Arena *arena = arena_new();
  const Instruction *root = module->entry->root;
  const KernelPlan *plan = kernel_plan(root, 0, arena);
  Literal *operands[2], *got = allocate(arena, root->shape);
  uint32_t seed = 1;
  for (int k = 0; k < 2; k++) {
    operands[k] = allocate(arena, root->operands[k]->shape);
    float *data = (float *)operands[k]->data;
    for (int64_t i = 0; i < shape_elements(operands[k]->shape); i++) {
      seed = seed * 1664525 + 1013904223;
      data[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
    }
  }
  run_kernel(plan, root, operands, got);
  const float *x = (const float *)operands[0]->data, *y = (const float *)operands[1]->data;
  double kernel_error = 0, plain_error = 0;
  for (int at = 0; at < PLACES * PLACES * FEATURES; at++) {
    int o = at % FEATURES, column = at / FEATURES % PLACES, row = at / FEATURES / PLACES;
    double exact = 0;
    float plain = 0;
    for (int t = 0; t < 9 * FEATURES; t++) {
      int f = t % FEATURES, kx = t / FEATURES % 3, ky = t / FEATURES / 3;
      float a = x[((row + ky) * SIZE + column + kx) * FEATURES + f], b = y[t * FEATURES + o];
      exact += (double)a * b;
      plain += a * b;
    }
    double kernel = fabs(((const float *)got->data)[at] - exact);
    if (kernel > kernel_error) kernel_error = kernel;
    if (fabs(plain - exact) > plain_error) plain_error = fabs(plain - exact);
  }
  cases++;
  printf("winograd is off by %.3g, a plain sum by %.3g\n", kernel_error, plain_error);
  if (kernel_error > plain_error) fail(text, "less exact than a plain sum");
  free(operands[0]->data);
  free(operands[1]->data);
  free(got->data);
  arena_free(arena);
  module_free(module);
}

/* ---- Windows over a few features, read in place ---- */

/* Types, and then shapes and attributes, with %s for the types. */
static const char *const direct_convolutions[] = {
    "x = %s[1,1,19,23] parameter(0)|y = %s[1,1,3,3] parameter(1)|%s[1,1,19,23]|"
    "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01",
    "x = %s[2,37,70,1] parameter(0)|y = %s[5,5,1,1] parameter(1)|%s[2,29,62,1]|"
    "window={size=5x5 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f",
    "x = %s[2,2,9,140] parameter(0)|y = %s[3,2,3,2] parameter(1)|%s[2,3,8,141]|"
    "window={size=3x2 pad=1_0x1_1 rhs_reversal=1x0}, dim_labels=bf01_oi01->bf01",
    "x = %s[1,9,10,12] parameter(0)|y = %s[3,3,4,15] parameter(1)|%s[1,5,5,15]|"
    "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3",
    "x = %s[1,6,7,8] parameter(0)|y = %s[3,3,2,16] parameter(1)|%s[1,12,14,16]|"
    "window={size=3x3 pad=1_2x2_1 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f, "
    "feature_group_count=4",
    "x = %s[1,16,7,9] parameter(0)|y = %s[8,4,3,3] parameter(1)|%s[1,8,13,9]|"
    "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x1}, dim_labels=bf01_oi01->bf01, "
    "feature_group_count=4",
    "x = %s[1,1,700] parameter(0)|y = %s[2,1,9] parameter(1)|%s[1,2,700]|"
    "window={size=9 pad=4_4}, dim_labels=bf0_oi0->bf0",
};

static void check_direct(const char *operand, const char *result, const char *form) {
  char text[1024], shapes[512], *part[4];
  snprintf(shapes, sizeof shapes, form, operand, operand, result);
  part[0] = strtok(shapes, "|");
  for (int i = 1; i < 4; i++) part[i] = strtok(NULL, "|");
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  %s\n  %s\n  ROOT r = %s convolution(x, y), %s\n}\n", part[0],
           part[1], part[2], part[3]);
  check_text(text, "convolution");
}

static const Convolution convolutions[] = {
    {1, 12, 12, 32, 32, "1_1x1_1", "b01f_01io->b01f"},
    {1, 13, 16, 33, 30, "1_1x1_1", "b01f_01io->b01f"},
    {2, 13, 12, 32, 37, "0_0x0_0", "b01f_01io->b01f"},
    {1, 14, 17, 40, 32, "2_1x0_3", "b01f_01io->b01f"},
    {2, 15, 12, 33, 34, "1_1x1_1", "bf01_oi01->bf01"},
    {1, 16, 13, 32, 32, "1_0x1_1", "b01f_oi01->b01f"},
    {3, 24, 22, 48, 33, "1_1x1_1", "b01f_01io->b01f"}, /* several rounds */
};

int main(void) {
  for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) {
    infinities = i % 2;
    check_convolution(&convolutions[i]);
  }
  infinities = false;
  check_error();
  for (int t = 0; t < TYPES; t++) {
    for (size_t i = 0; i < sizeof direct_convolutions / sizeof *direct_convolutions; i++) {
      check_direct(types[t].operand, types[t].result, direct_convolutions[i]);
    }
  }
  static const int lines[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 33};
  static const int depths[] = {1, 2, 3, 4, 7, 8, 17};
  enum { LINES = sizeof lines / sizeof *lines, DEPTHS = sizeof depths / sizeof *depths };
  for (int t = 0; t < TYPES; t++) {
    int every = t == 0 ? 1 : 3; /* for the other types, a third of the sizes, each with others */
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
