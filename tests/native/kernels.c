/*
** Tests kernels against the evaluator, on sizes around their blocks and chunks: bit for bit, or within a bound for
** kernels that round differently. Every buffer is a block of its own, so that the sanitizer sees accesses beyond
** it. Chunks run last to first, as no chunk may need another of its phase.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/text/text.h"
#include "kernels/list.h"
#include "reference/eval.h"

/* An instruction and its operands: x, of varied bytes (a generator's counter is near its end), and i, of numbers
** that also lie below and above the valid indices. With a bound, both are numbers within -1 .. 1, except the large
** diagonals of square matrices; results may then be off by that part of the largest. */
typedef struct Row {
  const char *x, *i, *result;
  double bound;
} Row;

#define LAPACK(target, operands) "custom-call(" operands "), custom_call_target=\"" target "\""

static const Row rows[] = {
    {"u64[2]", "", "(u64[2], u32[40001]) rng-bit-generator(x), algorithm=rng_three_fry", 0},
    {"u64[2]", "", "(u64[2], u32[91,101]) rng-bit-generator(x), algorithm=rng_three_fry", 0},
    {"u64[2]", "", "(u64[2], u32[3,74,77]) rng-bit-generator(x), algorithm=rng_three_fry", 0},
    {"u64[2]", "", "(u64[2], u8[130,131]) rng-bit-generator(x), algorithm=rng_three_fry", 0},
    {"u64[2]", "", "(u64[2], s64[5,1031]) rng-bit-generator(x), algorithm=rng_three_fry", 0},
    {"u64[2]", "", "u16[20000] rng-bit-generator(x), algorithm=rng_three_fry", 0},
    {"u64[3]", "", "(u64[3], u32[40001]) rng-bit-generator(x), algorithm=rng_philox", 0},
    {"u64[2]", "", "(u64[2], u64[9001]) rng-bit-generator(x), algorithm=rng_philox", 0},
    {"u64[3]", "", "(u64[3], s16[20003]) rng-bit-generator(x), algorithm=rng_default", 0},
    {"u64[3]", "", "(u64[3], u8[129]) rng-bit-generator(x), algorithm=rng_philox", 0},
    /* NaNs, infinities and zeros of both signs; equal ones; one range of a line and several */
    {"f32[70000]", "", "(f32[100], s32[100]) topk(x), k=100, largest=true", 0},
    {"f64[2,40000]", "", "(f64[2,7], s32[2,7]) topk(x), k=7, largest=false", 0},
    {"s8[3,33000]", "", "(s8[3,300], s32[3,300]) topk(x), k=300, largest=false", 0},
    {"bf16[5,3001]", "", "(bf16[5,3001], s32[5,3001]) topk(x), k=3001, largest=true", 0},
    {"u64[300,9]", "", "(u64[300,2], s32[300,2]) topk(x), k=2, largest=true", 0},
    {"u16[99000]", "", "(u16[2500], s32[2500]) topk(x), k=2500, largest=true", 0},
    {"f8e4m3fn[500]", "", "(f8e4m3fn[20], s32[20]) topk(x), k=20, largest=true", 0},
    {"pred[2,40]", "", "(pred[2,5], s32[2,5]) topk(x), k=5, largest=true", 0},
    /* stages of every radix, of several lines and of one; convolutions; lines that are two passes */
    {"c64[9,60]", "", "c64[9,60] fft(x), fft_type=FFT, fft_length={60}", 1e-6},
    {"c128[3,1001]", "", "c128[3,1001] fft(x), fft_type=IFFT, fft_length={1001}", 1e-14},
    {"c64[5,997]", "", "c64[5,997] fft(x), fft_type=FFT, fft_length={997}", 2e-6},
    {"c128[997]", "", "c128[997] fft(x), fft_type=FFT, fft_length={997}", 1e-14},
    {"c64[2,244]", "", "c64[2,244] fft(x), fft_type=IFFT, fft_length={244}", 1e-6},
    {"c64[1]", "", "c64[1] fft(x), fft_type=FFT, fft_length={1}", 1e-6},
    {"c64[18000]", "", "c64[18000] fft(x), fft_type=FFT, fft_length={18000}", 1e-6},
    {"c128[2,8206]", "", "c128[2,8206] fft(x), fft_type=IFFT, fft_length={8206}", 1e-14},
    {"c64[4,21,6]", "", "c64[4,21,6] fft(x), fft_type=FFT, fft_length={4,21,6}", 1e-6},
    {"c64[5,33,3]", "", "c64[5,33,3] fft(x), fft_type=IFFT, fft_length={33,3}", 1e-6},
    /* of reals, even and odd, and so on */
    {"f32[6,30]", "", "c64[6,16] fft(x), fft_type=RFFT, fft_length={30}", 1e-6},
    {"f64[3,45]", "", "c128[3,23] fft(x), fft_type=RFFT, fft_length={45}", 1e-14},
    {"f32[488]", "", "c64[245] fft(x), fft_type=RFFT, fft_length={488}", 1e-6},
    {"f64[2,40000]", "", "c128[2,20001] fft(x), fft_type=RFFT, fft_length={40000}", 1e-14},
    {"f32[3,5,8]", "", "c64[3,5,5] fft(x), fft_type=RFFT, fft_length={3,5,8}", 1e-6},
    {"c64[6,16]", "", "f32[6,30] fft(x), fft_type=IRFFT, fft_length={30}", 1e-6},
    {"c128[3,23]", "", "f64[3,45] fft(x), fft_type=IRFFT, fft_length={45}", 1e-14},
    {"c64[245]", "", "f32[488] fft(x), fft_type=IRFFT, fft_length={488}", 1e-6},
    {"c128[2,20001]", "", "f64[2,40000] fft(x), fft_type=IRFFT, fft_length={40000}", 1e-14},
    {"c64[3,5,4]", "", "f32[3,5,7] fft(x), fft_type=IRFFT, fft_length={3,5,7}", 1e-6},
    /* several blocks, edges of blocks; all ways to solve; few vectors and many */
    {"f32[2,75,75]", "", "f32[2,75,75] cholesky(x), lower=true", 1e-6},
    {"c128[3,37,37]", "", "c128[3,37,37] cholesky(x), lower=false", 1e-14},
    {"f64[69,69]", "f64[69,41]",
     "f64[69,41] triangular-solve(x, i), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
     1e-14},
    {"c64[2,7,7]", "c64[2,5,7]",
     "c64[2,5,7] triangular-solve(x, i), left_side=false, lower=false, transpose_a=ADJOINT", 1e-6},
    {"f32[40,9,9]", "f32[40,9,2]",
     "f32[40,9,2] triangular-solve(x, i), left_side=true, lower=false, unit_diagonal=true, "
     "transpose_a=TRANSPOSE",
     1e-5},
    {"f64[2,50,61]", "", "(f64[2,50,61], s32[2,50], s32[2]) " LAPACK("lapack_dgetrf_ffi", "x"),
     1e-13},
    {"c64[77,39]", "", "(c64[77,39], s32[39], s32[]) " LAPACK("lapack_cgetrf_ffi", "x"), 1e-5},
    {"f32[2,71,71]", "", "(f32[2,71,71], s32[2]) " LAPACK("lapack_spotrf_ffi", "x"), 1e-6},
    {"f64[50,50]", "f64[50,3]", "f64[50,3] " LAPACK("lapack_dtrsm_ffi", "x, i"), 1e-13},
    {"c128[70,45]", "", "(c128[70,45], c128[45]) " LAPACK("lapack_zgeqrf_ffi", "x"), 1e-13},
    {"f32[40,90]", "", "(f32[40,90], f32[40]) " LAPACK("lapack_sgeqrf_ffi", "x"), 1e-5},
    {"f64[70,45]", "f64[45]", "f64[70,45] " LAPACK("lapack_dorgqr_ffi", "x, i"), 1e-13},
    {"c64[40,39]", "c64[37]", "c64[40,39] " LAPACK("lapack_cungqr_ffi", "x, i"), 1e-5},
    {"f32[2,41,41]", "", "(f32[2,41,41], f32[2,41], s32[2]) " LAPACK("lapack_ssyevd_ffi", "x"),
     1e-6},
    {"c128[35,35]", "", "(c128[35,35], f64[35], s32[]) " LAPACK("lapack_zheevd_ffi", "x"), 1e-13},
    {"f32[45,36]", "",
     "(f32[45,36], f32[36], f32[45,36], f32[36,36], s32[]) " LAPACK("lapack_sgesdd_ffi", "x"),
     1e-6},
    {"c64[9,34]", "",
     "(c64[9,34], f32[9], c64[9,9], c64[34,34], s32[]) " LAPACK("lapack_cgesdd_ffi", "x"), 1e-6},
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

static void fill_numbers(const Literal *literal) {
  uint32_t state = 1;
  const Shape *shape = literal->shape;
  int64_t n = shape->rank ? shape->dims[shape->rank - 1] : 0;
  bool is_square = shape->rank > 1 && shape->dims[shape->rank - 2] == n;
  for (int64_t i = 0; i < shape_elements(literal->shape); i++) {
    double re = next_random(&state) / 8388608.0 - 1, im = next_random(&state) / 8388608.0 - 1;
    if (is_square && i % (n * n) % (n + 1) == 0) re += (double)n, im = 0;
    scalar_store(literal->shape->type, literal->data, i, (Scalar){.f = re, .im = im});
  }
}

static bool are_near(const Shape *shape, const uint8_t *got, const uint8_t *wanted, double bound) {
  double most = 0, largest = 0;
  for (int64_t i = 0; i < shape_elements(shape); i++) {
    Scalar x = scalar_load(shape->type, got, i), y = scalar_load(shape->type, wanted, i);
    double difference = fabs(x.f - y.f) + fabs(x.im - y.im), size = fabs(y.f) + fabs(y.im);
    if (difference != difference && !(x.f != x.f && y.f != y.f)) return false;
    if (difference > most) most = difference;
    if (size > largest) largest = size;
  }
  return most <= bound * largest;
}

/* Eigenvectors and singular vectors are defined up to a factor; values are not. */
static bool is_compared(const Row *row, int leaf) {
  bool has_vectors = strstr(row->result, "evd_ffi") || strstr(row->result, "gesdd_ffi");
  return !has_vectors || leaf == 1;
}

/* Runs the chunks in the order that several threads are least likely to take. */
static void share(const KernelCall *call, int parts, bool (*part)(void *, int), void *argument) {
  for (int i = parts - 1; i >= 0; i--) part(argument, i);
}

static void run_kernel(const KernelPlan *plan, const Instruction *instruction,
                       uint8_t *const *operands, uint8_t *const *results) {
  int64_t bytes = plan->scratch_bytes;
  bool again;
  static const _Atomic bool never = false;
  KernelCall call = {.plan = plan,
                     .stop = &never,
                     .again = &again,
                     .instruction = instruction,
                     .operands = (const uint8_t *const *)operands,
                     .results = results,
                     .share = share,
                     .scratch = bytes ? aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64) : NULL};
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

enum { MAX_LEAVES = 8 };

static void check(const Row *row) {
  Module *module = parse(row);
  if (!module) return;
  Arena *arena = arena_new();
  Error error = {0};
  EvalContext context = {.arena = arena, .error = &error};
  const Instruction *root = module->entry->root;
  const KernelPlan *plan = kernel_plan(root, 0, arena);
  for (Preparation *one = plan ? plan->preparation : NULL; one; one = one->next) {
    while (!one->step(one)) {}
  }
  uint8_t *operand_data[MAX_LEAVES], *wanted_data[MAX_LEAVES], *got_data[MAX_LEAVES];
  Literal *operands[MAX_LEAVES];
  int operand_leaves = 0, wanted_leaves = 0, got_leaves = 0;
  for (int k = 0; k < root->operand_count; k++) {
    operands[k] = allocate(arena, root->operands[k]->shape, operand_data, &operand_leaves);
    if (row->bound > 0) {
      fill_numbers(operands[k]);
    } else {
      fill(operands[k], root->operands[k]->parameter_number > 0);
    }
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
      const Shape *leaf = shape_leaf(root->shape, i);
      bool same = row->bound > 0 ? are_near(leaf, got_data[i], wanted_data[i], row->bound)
                                 : !memcmp(got_data[i], wanted_data[i], (size_t)shape_bytes(leaf));
      if (!same && is_compared(row, i)) fail(row, "another result than the evaluator's");
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
