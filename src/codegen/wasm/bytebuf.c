#include "codegen/wasm/bytebuf.h"

#include <string.h>

#include "base/scope.h"

void bytebuf_append(ByteBuf *buffer, const void *bytes, size_t size) {
  if (!size) return;
  if (buffer->size + size > buffer->capacity) {
    buffer->capacity = (buffer->size + size) * 2 + 64;
    buffer->bytes = scope_realloc(buffer->bytes, buffer->capacity);
  }
  memcpy(buffer->bytes + buffer->size, bytes, size);
  buffer->size += size;
}

void bytebuf_put(ByteBuf *buffer, uint8_t byte) { bytebuf_append(buffer, &byte, 1); }

void bytebuf_leb(ByteBuf *buffer, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytebuf_put(buffer, (uint8_t)(value | 0x80));
  bytebuf_put(buffer, (uint8_t)value);
}

void bytebuf_sleb(ByteBuf *buffer, int64_t value) {
  for (; value < -0x40 || value >= 0x40; value >>= 7) bytebuf_put(buffer, (value & 0x7f) | 0x80);
  bytebuf_put(buffer, value & 0x7f);
}

void bytebuf_free(ByteBuf *buffer) {
  scope_free(buffer->bytes);
  *buffer = (ByteBuf){0};
}
