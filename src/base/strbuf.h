/* A growing string on the heap, always NUL-terminated once something was appended. */
#ifndef XLA_BASE_STRBUF_H
#define XLA_BASE_STRBUF_H

#include <stddef.h>

typedef struct StrBuf {
  char *text; /* NULL while empty; owned: strbuf_free, or scope_free */
  size_t length, capacity;
} StrBuf;

void strbuf_append(StrBuf *buffer, const char *text);
void strbuf_append_n(StrBuf *buffer, const char *text, size_t length);
void strbuf_printf(StrBuf *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_free(StrBuf *buffer);

#endif
