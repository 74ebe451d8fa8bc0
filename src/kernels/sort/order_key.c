/* Sets up order keys: see order_key.h. */
#include "kernels/sort/order_key.h"

#include "hlo/scalar/element.h"

/* Threshold POSITIONS, MIDDLE: the positions that values of one byte can have. No path. */
enum { POSITIONS = 259, MIDDLE = 129 };

/* Returns the position of a one-byte element in the order, from -129 to 129. */
static int position_of(const OrderKey *key, uint8_t bits, bool zeros_tie, NanOrder nans,
                       const void *nan) {
  Scalar value = scalar_load(key->type, &bits, 0);
  if (type_kind(key->type) == KIND_SIGNED) return (int)value.i;
  if (!type_is_floating(key->type)) return (int)value.u - 128;
  const void *element = &bits;
  if (value.f != value.f && nans == NANS_LAST) return key->last ? -MIDDLE : MIDDLE;
  if (value.f != value.f && nans == NANS_TIE) element = nan;
  if (value.f == 0 && zeros_tie) return 0;
  int64_t position = total_order_key(key->type, element, 0).i;
  if (position == INT64_MIN) return -MIDDLE;
  return key->type == F8E8M0FNU ? (int)position - 128 : (int)position; /* none is negative */
}

static void make_table(OrderKey *key, bool zeros_tie, NanOrder nans, const void *nan) {
  bool used[POSITIONS] = {false};
  uint8_t rank[POSITIONS];
  int position[256], count = 0;
  for (int i = 0; i < 256; i++) {
    position[i] = MIDDLE + position_of(key, (uint8_t)i, zeros_tie, nans, nan);
    if (used[position[i]]) key->ties = true;
    used[position[i]] = true;
  }
  for (int i = 0; i < POSITIONS; i++) {
    rank[i] = (uint8_t)(count ^ (int)key->last);
    count += used[i];
  }
  for (int i = 0; i < 256; i++) {
    key->rank[i] = rank[position[i]];
    key->bits_of_rank[key->rank[i]] = (uint8_t)i;
  }
}

static uint64_t infinity_of(PrimitiveType type) {
  switch (type) {
  case F16: return 0x7c00;
  case BF16: return 0x7f80;
  case F32: return 0x7f800000;
  default: return UINT64_C(0x7ff0000000000000);
  }
}

void order_key_init(OrderKey *key, PrimitiveType type, bool descending, bool zeros_tie,
                    NanOrder nans, const void *nan) {
  int bytes = type_bytes(type);
  uint64_t all = UINT64_MAX >> (64 - 8 * bytes), sign = all ^ all >> 1;
  bool is_float = type_is_floating(type);
  *key = (OrderKey){.type = type,
                    .bytes = bytes,
                    .sign = is_float || type_kind(type) == KIND_SIGNED ? sign : 0,
                    .flip = is_float ? all ^ sign : 0,
                    .last = descending ? all : 0,
                    .magnitude = all ^ sign,
                    .zero = zeros_tie ? 0 : all,
                    .infinity = UINT64_MAX};
  if (bytes == 1) {
    make_table(key, zeros_tie, nans, nan);
    return;
  }
  key->ties = is_float && (zeros_tie || nans != NANS_BY_BITS);
  if (nans == NANS_BY_BITS || !is_float) return;
  key->infinity = infinity_of(type);
  key->nan = nans == NANS_TIE ? element_bits(nan, 0, bytes) : descending ? all : all ^ sign;
}
