/* Appends to growing strings: see strbuf.h. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
static void reserve(StrBuf *buffer, size_t extra) {
  size_t needed = buffer->length + extra + 1;
  if (needed <= buffer->capacity) return;
  size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
  if (capacity < needed) capacity = needed;
  buffer->text = scope_realloc(buffer->text, capacity);
  buffer->capacity = capacity;
}

void strbuf_append_n(StrBuf *buffer, const char *text, size_t length) {
  reserve(buffer, length);
  memcpy(buffer->text + buffer->length, text, length);
  buffer->length += length;
  buffer->text[buffer->length] = '\0';
}

void strbuf_append(StrBuf *buffer, const char *text) {
  strbuf_append_n(buffer, text, strlen(text));
}

void strbuf_printf(StrBuf *buffer, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  reserve(buffer, (size_t)length);
  vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, again);
  va_end(again);
  buffer->length += (size_t)length;
}

void strbuf_free(StrBuf *buffer) {
  scope_free(buffer->text);
  *buffer = (StrBuf){0};
}
