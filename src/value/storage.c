/* Packs elements below a byte: see storage.h. */
#include "value/storage.h"

void elements_pack(PrimitiveType type, const uint8_t *from, int64_t count, uint8_t *to) {
  int bits = type_bits(type), per = type_per_byte(type), mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; i += per) {
    int byte = 0;
    for (int k = 0; k < per && i + k < count; k++) byte |= (from[i + k] & mask) << (k * bits);
    *to++ = (uint8_t)byte;
  }
}

void elements_unpack(PrimitiveType type, const uint8_t *from, int64_t first, int64_t count,
                     uint8_t *to) {
  int bits = type_bits(type), per = type_per_byte(type);
  int sign = type_kind(type) == KIND_SIGNED ? 1 << (bits - 1) : 0;
  for (int64_t i = first; i < first + count; i++) {
    int element = from[i / per] >> (i % per * bits) & ((1 << bits) - 1);
    *to++ = (uint8_t)((element ^ sign) - sign);
  }
}
