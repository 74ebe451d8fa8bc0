/*
** Streams a matrix of narrow numbers without converting it first: finds the loops of inner/narrow.h and the lists of scales
** that they read. Lines with one list, or whose lists fit into Scales, are multiplied together.
*/
#include <math.h>
#include <string.h>

#include "base/min_max.h"
#include "kernels/contraction/inner/steps.h"
#include "kernels/contraction/inner/unpack.h"
#include "kernels/contraction/stream_order.h"

/* ---- The loops ---- */

/* Whether rows, or lines, of packed numbers begin at bytes. */
static bool begin_bytes(const Axes *axes, int per_byte) {
  bool begin = true;
  for (int i = 0; i < axes->count; i++) {
    const Axis *axis = &axes->items[i];
    begin &= axis->size == 1 || axis->stride[RHS] == 1 || axis->stride[RHS] % per_byte == 0;
  }
  return begin;
}

/* Returns the loops for numbers with scales; NULL if they cannot read them. If each place of the depth has its own scale, vectors
** could be multiplied by it instead: 2.2 times as fast, but a product would be rounded twice where the program rounds it once. */
static const NarrowLoops *scaled_loops(const Stream *s, const Scaled *scaled) {
  const Contraction *c = s->contraction;
  int per_byte = scaled->numbers.per_byte;
  if (per_byte > 1 && !(scaled_is_aligned(&scaled->numbers) && begin_bytes(&c->batch, per_byte) &&
                        begin_bytes(&c->columns, per_byte) && begin_bytes(&c->depth, per_byte))) {
    return NULL;
  }
  const NarrowLoops *loops = s->order->fits(scaled, c) ? scaled->loops : NULL;
  bool is_one = axes_size(&c->rows) == 1 || (loops && loops->scaled);
  return is_one ? loops : NULL;
}

Narrow narrow_of(const Stream *s) {
  const Contraction *c = s->contraction;
  Narrow narrow = {.scaled = c->array[RHS].computed, .type = c->array[RHS].type, .per_byte = 1};
  if (s->arithmetic->reals != 1 || s->arithmetic->loops != LOOPS_F32) return narrow;
  if (!narrow.scaled) {
    if (s->matrix.widens) narrow.loops = narrow_loops(narrow.type, NARROW_PLAIN);
  } else if (narrow.scaled->scaled && narrow.scaled->scaled->loops) {
    const Scaled *scaled = narrow.scaled->scaled;
    narrow.loops = scaled_loops(s, scaled);
    narrow.type = scaled->numbers.type;
    narrow.per_byte = scaled->numbers.per_byte;
    narrow.has_steps = scaled->step_count > 0 && scaled->steps[0].kind != STEP_ROUND;
  }
  if (!narrow.loops) return narrow;
  narrow.is_unpacked = narrow.per_byte > 1 && !narrow.loops->packed;
  return narrow;
}

/* ---- Scales ---- */

static void fill_same(float value, int64_t count, float *out) {
  for (int64_t i = 0; i < count; i++) out[i] = value;
}

/* Adds the type's zero point to each zero point of the list. If `moved` is false, the list is empty; it is filled with the
** type's zero point if that is not 0 or the loops read zeros without it. Returns false if a sum is inexact. */
static bool set_zeros(Scales *scales, const NarrowLoops *loops, int64_t count, bool moved) {
  float zero = loops->zero / loops->factor;
  bool exact = true;
  if (loops->adds) scales->zeros = scales->zero;
  if (loops->adds) return true;
  bool listed = moved || zero != 0 || loops->centered || loops->rounds;
  if (listed) scales->zeros = scales->zero;
  if (!moved && listed) fill_same(zero, count, scales->zero);
  for (int64_t i = 0; i < count && moved && zero != 0; i++) {
    float before = scales->zero[i];
    scales->zero[i] = before + zero;
    exact &= scales->zero[i] - zero == before;
  }
  return exact;
}

/* Returns the type that one of the steps, or all, are rounded to. */
static PrimitiveType rounding_of(const Narrow *narrow) {
  const Scaled *scaled = narrow->scaled->scaled;
  PrimitiveType last = scaled->steps[scaled->step_count - 1].rounds;
  return last ? last : scaled->steps[0].rounds;
}

/* Returns the power by which loops round after a step, or do not: see NarrowBlock. */
static float rounding_after(const Narrow *narrow, NarrowStep which) {
  const Scaled *scaled = narrow->scaled ? narrow->scaled->scaled : NULL;
  int step = scaled ? scaled->narrow_steps[which] : -1;
  PrimitiveType type = step < 0 ? PRIMITIVE_TYPE_INVALID : scaled->steps[step].rounds;
  return type == BF16 ? 0x1p16f : type == F16 ? 0x1p13f : 1;
}

/* Multiplies by the type's factor, or its inverse. Returns false if that makes a number inexact. */
static bool fits_factor(float *numbers, int64_t count, float factor) {
  return factor == 1 || step_scale(numbers, count, factor, numbers);
}

/* Whether loops round as the program does. */
static bool can_round(const Scales *scales, const Narrow *narrow, int64_t count) {
  PrimitiveType type = rounding_of(narrow);
  return narrow_scales_can_round(type, scales->scale, count) &&
         (!narrow->loops->adds || narrow_biases_can_round(type, scales->zero, count));
}

/* Whether vectors are multiplied by the factor of plain loops. Sums of integers by columns are instead: they are fewer. */
static bool vectors_take_factor(const NarrowLoops *loops, const StreamOrder *order) {
  return loops->plain && loops->factor != 1 && !(loops->is_integral && order->along_depth);
}

/* Chooses the loops for `count` scales and zero points, and converts these to the form that the loops read. Returns false
** if one is inexact in that form. */
static bool choose_loops(Scales *scales, const Narrow *narrow, const StreamOrder *order,
                         int64_t count) {
  const NarrowLoops *loops = narrow->loops;
  bool scales_sums =
      narrow->has_steps || (loops->factor != 1 && !vectors_take_factor(loops, order));
  bool is_exact = scales->may_be_plain && !(narrow->exact && scales_sums);
  if (is_exact && narrow->has_steps) {
    const Scaled *scaled = narrow->scaled->scaled;
    /* Numbers of f16 have 11 bits. If one is infinite or NaN, so is the sum, which is_wrong finds. */
    is_exact = scaled_has_integers(scaled) &&
               (scaled_has_f16(scaled) || narrow_scales_are_exact(scales->scale, count));
  }
  scales->is_plain =
      is_exact && loops->plain &&
      (!loops->centered || narrow_center(scales->zero, count, loops->factor, order->along_depth));
  if (loops->rounds && !can_round(scales, narrow, count)) return false;
  scales->row = scales->is_plain ? loops->plain : scales->is_whole ? loops->whole : loops->scaled;
  if (!scales->is_plain && !fits_factor(scales->scale, count, loops->factor)) return false;
  if (loops->packed && !scales->is_plain && order->part_scales) {
    order->part_scales(scales, count);
  }
  return true;
}

/* Whether zero points are moderate, and whole, so that differences need not be rounded. Loops that round these take fractions,
** too, of the type that they round to: then no difference is subnormal. */
static bool are_moderate(const Narrow *narrow, const float *zeros, int64_t count) {
  const Scaled *scaled = narrow->scaled->scaled;
  const ScaledStep *step = &scaled->steps[scaled->narrow_steps[ZERO]];
  bool splits = narrow->loops->rounds_moved && (!step->rounds || step->input.type == step->rounds);
  bool are = true;
  for (int64_t i = 0; i < count; i++) {
    float size = fabsf(zeros[i]);
    bool is_fraction = splits && size >= 0x1p-32f;
    are &= size <= MAX_ZERO && (is_fraction || size == (float)(int)size);
  }
  return are;
}

/* Sets the scales and zero points of a block's lines. Returns false if the loops cannot use them. */
static bool scales_set(Scales *scales, const Block *block) {
  const Narrow *narrow = block->narrow;
  const StreamOrder *order = block->stream->order;
  const Scaled *scaled = narrow->has_steps ? narrow->scaled->scaled : NULL;
  bool moved = scaled && scaled->narrow_steps[ZERO] >= 0;
  int64_t count = order->along_depth ? 1 : block->length;
  scales->length = block->length;
  scales->apart = 0;
  scales->is_whole = false;
  scales->zeros = scales->scale;
  if (narrow->has_steps) {
    count = order->read_scales(scales, block, moved);
    bool rounds_zeros = narrow->loops->rounds && !narrow->loops->adds && moved;
    if (count == 0) return false;
    scales->is_whole = narrow->loops->whole && (!moved || narrow_are_small(scales->zero, count));
    bool moderate = !rounds_zeros || scales->is_whole;
    if (!moderate && !are_moderate(narrow, scales->zero, count)) return false;
    float zeros = narrow->loops->adds ? 1 : 1 / narrow->loops->factor;
    if (moved && scaled->negates) zeros = -zeros;
    if (scaled->negates_scale) step_scale(scales->scale, count, -1, scales->scale);
    if (moved && !fits_factor(scales->zero, count, zeros)) return false;
  } else if (order->along_depth || !scales->may_be_plain || !narrow->loops->plain ||
             narrow->loops->centered) { /* plain loops by depth read none */
    fill_same(1, count, scales->scale);
  }
  if (!set_zeros(scales, narrow->loops, count, moved)) return false;
  return choose_loops(scales, narrow, order, count);
}

/* ---- Multiplying ---- */

/* The vectors of a block. */
typedef struct Forms {
  Vectors general; /* for the general loop */
  Vectors scaled;  /* in the order that narrow loops read */
  Vectors plain;   /* for plain loops: these, or times the loops' factor */
} Forms;

/* Room for the copy of a block's vectors, with zeros after each. */
typedef uint8_t VectorBuffer[VECTOR_BYTES + MAX_VECTORS * 64];

/* Copies vectors times a power of two; if `parts`, into the order of packed numbers (narrow_part). Returns false if a product is
** inexact. */
static bool copy_vectors(const Vectors *from, float power, bool parts, uint8_t *buffer,
                         Vectors *copy) {
  bool exact = true;
  size_t bytes = (size_t)from->depth * sizeof(float);
  *copy = *from;
  copy->stride = (size_t)round_up((int64_t)bytes, 64);
  copy->data = buffer;
  for (int i = 0; i < from->count; i++, buffer += copy->stride) {
    const uint8_t *vector = (const uint8_t *)from->data + (size_t)i * from->stride;
    exact &= step_scale((const float *)vector, from->depth, power, (float *)buffer);
    memset(buffer + bytes, 0, copy->stride - bytes);
    if (parts) narrow_part((float *)buffer, from->depth, (float *)buffer);
  }
  return exact;
}

/* Fills the forms of a block's vectors. Returns false if no plain loops can be used: vectors times the factor must be exact, so
** that products are rounded as those of the numbers themselves. */
static bool set_forms(Forms *forms, const Block *block, const Vectors *vectors, uint8_t *buffer) {
  const NarrowLoops *loops = block->narrow->loops;
  const StreamOrder *order = block->stream->order;
  forms->general = forms->scaled = forms->plain = *vectors;
  if (loops->of_one && vectors->count > 1) return false;
  if (vectors_take_factor(loops, order)) {
    return copy_vectors(vectors, loops->factor, false, buffer, &forms->plain);
  }
  if (loops->packed && order->along_depth) {
    copy_vectors(vectors, 1, true, buffer, &forms->scaled);
    forms->plain = forms->scaled;
  }
  return true;
}

/* Threshold UNPACKED_BYTES. Test: "units, blocks of the depth and lists of scales of several sizes" in core/quantised.test.mjs. */
enum { UNPACKED_BYTES = 17408 };

/* Returns the bytes from one unpacked line to the next: lines in other cache sets. */
static int64_t unpacked_stride(int64_t length) { return round_up(length, LINE_STEP) + 64; }

static void unpack_lines(const Block *block, const uint8_t *numbers, ptrdiff_t stride,
                         uint8_t *out) {
  for (int64_t i = 0; i < block->lines; i++, out += unpacked_stride(block->length)) {
    unpack(block->narrow->type, numbers, i * stride, block->length, out);
  }
}

/* Multiplies the lines of a block. `line` is the number of the first line in the list of scales. Returns false and changes
** nothing if the loops would misread a number. */
static bool multiply_lines(const Block *block, const Forms *forms, const Scales *scales,
                           int64_t line) {
  _Alignas(16) uint8_t unpacked[UNPACKED_BYTES];
  const Narrow *narrow = block->narrow;
  const NarrowLoops *loops = narrow->loops;
  const Vectors *vectors = scales->is_plain ? &forms->plain : &forms->scaled;
  ptrdiff_t bytes = type_bytes(narrow->type), stride = block->stream->line_stride * bytes;
  const uint8_t *numbers =
      narrow->scaled ? narrow->scaled->numbers.data + block->first / narrow->per_byte * bytes
                     : block->data;
  for (int64_t i = 0; i < block->lines && loops->looks_before; i++) {
    if (narrow_has_bytes_from_16(numbers + i * stride, block->length)) return false;
  }
  if (loops->packed) stride /= narrow->per_byte;
  if (narrow->is_unpacked) {
    unpack_lines(block, numbers, stride, unpacked);
    numbers = unpacked;
    stride = unpacked_stride(block->length);
  }
  int64_t list = line * scales->apart;
  NarrowBlock all = {.rows = (int)vectors->count,
                     .vectors = vectors->data,
                     .matrix = numbers,
                     .vector_stride = (ptrdiff_t)vectors->stride,
                     .matrix_stride = stride,
                     .scales = scales->scale + list,
                     .zeros = scales->zeros + list,
                     .scale_stride = scales->apart * (ptrdiff_t)sizeof *scales->scale,
                     .scale_block = (int)round_up(scales->length, LINE_STEP),
                     .factor = vectors_take_factor(loops, block->stream->order) ? 1 : loops->factor,
                     .less = loops->zero / loops->factor,
                     .rounding = {rounding_after(narrow, SCALE), rounding_after(narrow, ZERO)},
                     .flipped = loops->flipped,
                     .table = narrow->scaled ? narrow->scaled->table : NULL,
                     .sums = block->sums,
                     .sums_stride = (ptrdiff_t)block->sums_stride,
                     .misread = narrow->misread};
  block->stream->order->multiply_narrow(&all, block, scales);
  return true;
}

/* Returns the lines of a block from number `first` on, and moves the vectors to theirs. */
static Block lines_of(const Block *block, int64_t first, int64_t lines, Forms *forms) {
  Block part = *block;
  part.data += (size_t)first * block->stride;
  part.first += first * block->stream->line_stride;
  part.lines = lines;
  const uint8_t *before = forms->general.data;
  block->stream->order->skip(&part, &forms->general, first);
  ptrdiff_t moved = (const uint8_t *)forms->general.data - before;
  Vectors *others[] = {&forms->scaled, &forms->plain};
  for (int i = 0; i < 2; i++) {
    others[i]->data = (const uint8_t *)others[i]->data + moved;
    others[i]->depth = forms->general.depth;
  }
  return part;
}

/* Multiplies a block. `scales` holds the scales of its lines; NULL: the general loop runs. */
static void multiply_scaled(const Block *block, const Forms *forms, const Scales *scales) {
  const Narrow *narrow = block->narrow;
  /* Numbers that are looked at before, or unpacked, stay in the first cache. */
  bool apart = narrow->loops->looks_before || narrow->is_unpacked;
  int64_t max = apart ? max_i64(UNPACKED_BYTES / unpacked_stride(block->length), 1) : block->lines;
  for (int64_t i = 0; i < block->lines; i += max) {
    Forms there = *forms;
    Block part = lines_of(block, i, min_i64(max, block->lines - i), &there);
    if (scales && multiply_lines(&part, &there, scales, i)) continue;
    block->stream->order->multiply(&part, &there.general);
  }
}

void stream_narrow(const Block *block, const Vectors *vectors) {
  Scales scales;
  Forms forms;
  _Alignas(16) VectorBuffer buffer;
  const Narrow *narrow = block->narrow;
  const StreamOrder *order = block->stream->order;
  scales.may_be_plain = set_forms(&forms, block, vectors, buffer);
  int64_t some;
  for (int64_t i = 0; i < block->lines; i += some) {
    some = block->lines - i;
    if (narrow->has_steps) {
      int64_t first = block->first + i * block->stream->line_stride;
      some = min_i64(some, order->lines_at_once(block, narrow->scaled->scaled, first));
    }
    Forms there = forms;
    Block lines = lines_of(block, i, some, &there);
    bool suits = scales_set(&scales, &lines);
    multiply_scaled(&lines, &there, suits ? &scales : NULL);
  }
}
