#include "runtime/origin.h"

#include <string.h>

/* Threshold MAX_NAME: characters of a name in an error. No path. */
enum { MAX_NAME = 32 };

const char *origin_field(const Instruction *at, const char *field, int *length) {
  size_t size = strlen(field);
  bool quoted = false;
  for (const char *c = at->a->metadata ? at->a->metadata : ""; *c; c++) {
    if (quoted && *c == '\\' && c[1]) {
      c++;
    } else if (*c == '"') {
      quoted = !quoted;
    } else if (!quoted && (*c == '{' || *c == ' ') && !strncmp(c + 1, field, size) &&
               c[1 + size] == '=') {
      const char *value = c + 1 + size + 1, *end;
      if (*value != '"') {
        *length = (int)strcspn(value, " }");
        return value;
      }
      for (end = ++value; *end && *end != '"'; end++) {
        if (*end == '\\' && end[1]) end++;
      }
      *length = (int)(end - value);
      return value;
    }
  }
  return NULL;
}

void origin_append(const Instruction *at, Error *error) {
  int name_size = 0, file_size = 0, line_size = 0;
  const char *name = origin_field(at, "op_name", &name_size);
  const char *file = origin_field(at, "source_file", &file_size);
  const char *line = origin_field(at, "source_line", &line_size);
  if (!name && !file) return;
  error_append(error, " (%.*s%s%s", name_size < MAX_NAME ? name_size : MAX_NAME, name ? name : "",
               name_size > MAX_NAME ? "..." : "", name && file ? ", " : "");
  int cut = file_size > MAX_NAME ? file_size - MAX_NAME : 0; /* a path's end says more */
  if (file) error_append(error, "%s%.*s", cut ? "..." : "", file_size - cut, file + cut);
  if (file && line) error_append(error, ":%.*s", line_size < 12 ? line_size : 12, line);
  error_append(error, ")");
}
