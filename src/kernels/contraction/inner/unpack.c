/* Unpacks elements below a byte, 16 bytes at a time: see unpack.h. */
#include "kernels/contraction/inner/unpack.h"

#include <stddef.h>

#include "kernels/contraction/inner/vectors.h"
#include "value/storage.h"

static inline void store(v128_t x, v128_t sign, uint8_t *to) {
  wasm_v128_store(to, wasm_i8x16_sub(wasm_v128_xor(x, sign), sign));
}

void unpack(PrimitiveType type, const uint8_t *from, int64_t first, int64_t count, uint8_t *to) {
  int bits = type_bits(type), per = type_per_byte(type), some = 16 * per;
  int64_t before = first % per ? per - first % per : 0;
  if (before > count) before = count;
  elements_unpack(type, from, first, before, to);
  first += before, count -= before, to += before;
  from += first / per;
  v128_t sign = wasm_i8x16_splat((int8_t)(type_kind(type) == KIND_SIGNED ? 1 << (bits - 1) : 0));
  for (; count >= some; count -= some, from += 16, to += some) {
    v128_t x = wasm_v128_load(from), nibbles[2], pairs[2];
    split_bytes(x, 4, nibbles);
    for (int i = 0; i < 2; i++) {
      if (bits == 4) {
        store(nibbles[i], sign, to + (ptrdiff_t)16 * i);
        continue;
      }
      split_bytes(nibbles[i], 2, pairs);
      store(pairs[0], sign, to + (ptrdiff_t)32 * i);
      store(pairs[1], sign, to + (ptrdiff_t)32 * i + 16);
    }
  }
  elements_unpack(type, from, 0, count, to);
}
