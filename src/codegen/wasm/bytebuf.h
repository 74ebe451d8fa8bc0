/* Byte buffers: bytes of a module that grow while it is encoded. */
#ifndef XLA_CODEGEN_WASM_BYTEBUF_H
#define XLA_CODEGEN_WASM_BYTEBUF_H

#include <stddef.h>
#include <stdint.h>

typedef struct ByteBuf {
  uint8_t *bytes; /* heap; bytebuf_free */
  size_t size, capacity;
} ByteBuf;

void bytebuf_put(ByteBuf *buffer, uint8_t byte);
void bytebuf_append(ByteBuf *buffer, const void *bytes, size_t size);
void bytebuf_leb(ByteBuf *buffer, uint64_t value); /* unsigned LEB128 */
void bytebuf_sleb(ByteBuf *buffer, int64_t value); /* signed LEB128 */
void bytebuf_free(ByteBuf *buffer);

#endif
