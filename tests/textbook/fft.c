/*
** Evaluates fft: FFT, IFFT, RFFT and IRFFT over the last axes, of any number and length, in double.
**
** RFFT is FFT, but keeps only elements 0 .. length/2 of the last axis: the others are their conjugates.
** IRFFT restores these, in its last step. It ignores imaginary parts that must be zero: those of element 0,
** and of element length/2 if the length is even.
*/
#include "textbook/fft.h"

#include <string.h>

#include "reference/walk.h"
#include "textbook/textbook.h"

typedef struct Transform {
  Complex *data;          /* the whole array, row-major */
  int64_t dims[MAX_RANK]; /* its dimensions so far */
  int rank;
  Arena *arena;
} Transform;

/* Transforms one line. */
typedef void LineRule(FftPlan *plan, Complex *in, Complex *out, int64_t length);

static void line_forward(FftPlan *plan, Complex *in, Complex *out, int64_t length) {
  fft_forward(plan, in, out);
}

static void line_inverse(FftPlan *plan, Complex *in, Complex *out, int64_t length) {
  fft_inverse(plan, in, out);
}

static void line_hermitian_inverse(FftPlan *plan, Complex *in, Complex *out, int64_t length) {
  in[0].im = 0;
  if (length % 2 == 0) in[length / 2].im = 0;
  for (int64_t k = length / 2 + 1; k < length; k++) {
    in[k] = (Complex){in[length - k].re, -in[length - k].im};
  }
  fft_inverse(plan, in, out);
}

/* Transforms every line along `axis` with a transform of `length`. A line's result has `kept` elements. */
static void transform_axis(Transform *t, int axis, int64_t length, int64_t kept, LineRule *rule) {
  int64_t size = t->dims[axis], outer = 1, inner = 1;
  for (int d = 0; d < axis; d++) outer *= t->dims[d];
  for (int d = axis + 1; d < t->rank; d++) inner *= t->dims[d];
  Complex *result = ARENA_ARRAY(t->arena, Complex, outer * kept * inner);
  Complex *in = ARENA_ARRAY(t->arena, Complex, length);
  Complex *out = ARENA_ARRAY(t->arena, Complex, length);
  FftPlan *plan = fft_plan(length, t->arena);
  for (int64_t line = 0; line < outer * inner; line++) {
    int64_t before = line / inner, after = line % inner;
    for (int64_t i = 0; i < size; i++) in[i] = t->data[(before * size + i) * inner + after];
    rule(plan, in, out, length);
    for (int64_t i = 0; i < kept; i++) result[(before * kept + i) * inner + after] = out[i];
  }
  t->data = result;
  t->dims[axis] = kept;
}

static void load(Transform *t, const Literal *operand, Arena *arena) {
  const Shape *shape = operand->shape;
  int64_t count = shape_elements(shape);
  *t = (Transform){.data = ARENA_ARRAY(arena, Complex, count), .rank = shape->rank, .arena = arena};
  for (int d = 0; d < shape->rank; d++) t->dims[d] = shape->dims[d];
  for (int64_t i = 0; i < count; i++) {
    Scalar value = scalar_load(shape->type, operand->data, i);
    t->data[i] = (Complex){value.f, value.im};
  }
}

bool eval_fft(const Instruction *instruction, Literal *const *operands, Literal *result,
              EvalContext *context) {
  FftType type = instruction->a->fft_type;
  const Int64List *lengths = &instruction->a->fft_length;
  int64_t count = shape_elements(result->shape);
  if (count == 0) return true;
  Transform t;
  load(&t, operands[0], context->arena);
  int last = t.rank - 1, first = t.rank - lengths->count;
  int64_t length = lengths->items[lengths->count - 1];
  if (type != FFT_IRFFT) {
    int64_t kept = type == FFT_RFFT ? length / 2 + 1 : length;
    transform_axis(&t, last, length, kept, type == FFT_IFFT ? line_inverse : line_forward);
  }
  for (int d = last - 1; d >= first; d--) {
    bool inverse = type == FFT_IFFT || type == FFT_IRFFT;
    int64_t size = lengths->items[d - first];
    transform_axis(&t, d, size, size, inverse ? line_inverse : line_forward);
  }
  if (type == FFT_IRFFT) transform_axis(&t, last, length, length, line_hermitian_inverse);
  for (int64_t i = 0; i < count; i++) {
    Scalar value = {.f = t.data[i].re, .im = t.data[i].im};
    scalar_store(result->shape->type, result->data, i, value);
  }
  return true;
}
