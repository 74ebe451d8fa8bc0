/*
** Leaves out rows of a streamed matrix that zeros at the ends of all vectors multiply: positions of a cache that a mask
** of attention drops. If it is known that the matrix is finite (bounded_arrays.c), they are not read at all. Else they are
** scanned, as zero times an infinity or a NaN is a NaN; if there is one, all rows are multiplied. A scan reads each row
** once, whatever the number of vectors, and converts nothing.
*/
#include "base/min_max.h"
#include "kernels/contraction/stream_order.h"
#include "kernels/contraction/zeros.h"

/* Threshold ROWS_AT_ONCE: loops that begin elsewhere would add in another order. Test: "zeros at
** the ends of vectors" in core/limited_products.test.mjs. */
/* Threshold DEPTH_AT_ONCE: of lines along the depth; a multiple of all blocks of the depth that loops add up by themselves.
** Test: "bounded-arrays" in core/bounded_arrays.test.mjs. */
enum { ROWS_AT_ONCE = 16, DEPTH_AT_ONCE = 512 };

/* Returns the smallest range of rows that contains all nonzeros of the vectors, rounded outwards to multiples of ROWS_AT_ONCE. */
static Used used_rows(const Arithmetic *arithmetic, const Vectors *vectors) {
  int step = ROWS_AT_ONCE * arithmetic->lane_bytes, bytes = vectors->depth * arithmetic->lane_bytes;
  Used all = {bytes, 0};
  for (int i = 0; i < vectors->count; i++) {
    const uint8_t *numbers = (const uint8_t *)vectors->data + (size_t)i * vectors->stride;
    Used used = zeros_leave(arithmetic, numbers, bytes);
    all = (Used){(int)min_i64(all.begin, used.begin), (int)max_i64(all.end, used.end)};
  }
  int begin = all.begin / step * ROWS_AT_ONCE;
  int end = (int)divide_up(all.end, step) * ROWS_AT_ONCE;
  return (Used){begin, (int)min_i64(end, vectors->depth)};
}

/* Leaves out the ends of lines along the depth, if these are known to be finite. */
static void shorten_lines(Block *block, Vectors *vectors) {
  const Stream *stream = block->stream;
  int lane_bytes = stream->arithmetic->lane_bytes;
  PrimitiveType type = stream->contraction->array[RHS].type;
  Used used = used_rows(stream->arithmetic, vectors);
  bool is_plain = !block->narrow->loops && !stream->matrix.run;
  int64_t begin = is_plain ? used.begin / DEPTH_AT_ONCE * DEPTH_AT_ONCE : 0;
  int64_t end = min_i64(round_up(used.end, DEPTH_STEP), block->length);
  if (block->narrow->has_steps || stream->contraction->array[RHS].computed) return;
  if (begin + block->length - end < ROWS_AT_ONCE) return;
  block->data += (size_t)begin * (size_t)type_bytes(type);
  block->first += begin;
  block->length = max_i64(end - begin, 0);
  vectors->data = (const uint8_t *)vectors->data + begin * lane_bytes;
  vectors->depth = (int)block->length;
}

void stream_leave_out(Block *block, Vectors *vectors) {
  const Arithmetic *arithmetic = block->stream->arithmetic;
  const Contraction *c = block->stream->contraction;
  PrimitiveType type = c->array[RHS].type;
  bool has_floats = arithmetic->loops == LOOPS_F32 || arithmetic->loops == LOOPS_F64;
  /* A scan takes as long as a product with one vector of the same type: both wait for memory. */
  bool gains = vectors->count > 1 || block->stream->matrix.run;
  bool is_bounded = c->array[RHS].is_bounded;
  if (!has_floats || !(gains || is_bounded) || arithmetic->reals > 1 || c->keeps_negative_zero ||
      (c->array[RHS].computed && !is_bounded)) {
    return;
  }
  if (block->stream->order->along_depth) {
    if (is_bounded) shorten_lines(block, vectors);
    return;
  }
  Used used = used_rows(arithmetic, vectors);
  int64_t rest = block->lines - used.end, bytes = block->length * type_bytes(type);
  const uint8_t *after = block->data + (size_t)used.end * block->stride;
  if (used.begin + rest < ROWS_AT_ONCE) return;
  /* Loops over distant rows at the same time add in an order that depends on their number. */
  bool is_whole = !block->narrow->loops && (c->array[RHS].computed || !gains);
  if (is_whole && used.begin < used.end) return;
  if (!is_bounded && !(zeros_may_multiply(type, block->data, block->stride, used.begin, bytes) &&
                       zeros_may_multiply(type, after, block->stride, rest, bytes))) {
    return;
  }
  block->data += (size_t)used.begin * block->stride;
  block->first += used.begin * block->stream->line_stride;
  block->lines = used.end - used.begin;
  vectors->data = (const uint8_t *)vectors->data + used.begin * arithmetic->lane_bytes;
  vectors->depth = (int)block->lines;
}
