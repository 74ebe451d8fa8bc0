/* Prints and reads shapes as HLO text. */
#include "value/shape_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/digits.h"

/* Threshold MAX_TUPLE_DEPTH: deeper tuples are refused. No path. */
enum { MAX_TUPLE_DEPTH = 100 };

/* ---- Printing ---- */

static void print_layout(StrBuf *out, const Shape *shape) {
  strbuf_append(out, "{");
  for (int i = 0; i < shape->rank; i++) {
    int dimension = shape->layout ? shape->layout->minor_to_major[i] : shape->rank - 1 - i;
    strbuf_printf(out, i ? ",%d" : "%d", dimension);
  }
  strbuf_append(out, "}");
}

static void print_array(StrBuf *out, const Shape *shape, bool with_layout) {
  strbuf_append(out, type_name(shape->type));
  strbuf_append(out, "[");
  for (int i = 0; i < shape->rank; i++) {
    const char *bound = shape->dynamic && shape->dynamic[i] ? "<=" : "";
    strbuf_printf(out, "%s%s%" PRId64, i ? "," : "", bound, shape->dims[i]);
  }
  strbuf_append(out, "]");
  if (with_layout && shape->rank) print_layout(out, shape);
}

void shape_print(StrBuf *out, const Shape *shape, bool with_layout) {
  if (!shape_is_tuple(shape)) {
    print_array(out, shape, with_layout);
    return;
  }
  strbuf_append(out, "(");
  for (int i = 0; i < shape->tuple_size; i++) {
    if (i) strbuf_append(out, ", ");
    shape_print(out, shape->elements[i], with_layout);
  }
  strbuf_append(out, ")");
}

const char *shape_str(Arena *arena, const Shape *shape) {
  StrBuf out = {0};
  shape_print(&out, shape, false);
  char *text = arena_strndup(arena, out.text, out.length);
  strbuf_free(&out);
  return text;
}

/* ---- Scanning ---- */

const char *text_skip_space(const char *at, const char *limit) {
  while (at < limit) {
    if (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') {
      at++;
    } else if (limit - at >= 2 && at[0] == '/' && at[1] == '/') {
      while (at < limit && *at != '\n') at++;
    } else if (limit - at >= 2 && at[0] == '/' && at[1] == '*') {
      const char *end = at + 2;
      while (limit - end >= 2 && !(end[0] == '*' && end[1] == '/')) end++;
      if (limit - end < 2) return at;
      at = end + 2;
    } else {
      return at;
    }
  }
  return at;
}

typedef struct Reader {
  Arena *arena;
  const char *text, *at, *limit;
  int depth;
  Error *error;
} Reader;

/* Fails at `at`. If `format` is NULL, keeps the message of an earlier error. */
static bool fail(Reader *r, const char *at, const char *format, ...) {
  if (format) {
    va_list arguments;
    va_start(arguments, format);
    error_setv(r->error, STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
  }
  if (r->error) {
    r->error->line = 1;
    r->error->column = (int)(at - r->text) + 1;
  }
  return false;
}

static char peek(Reader *r) {
  r->at = text_skip_space(r->at, r->limit);
  return r->at < r->limit ? *r->at : '\0';
}

static bool accept(Reader *r, char c) {
  if (peek(r) != c) return false;
  r->at++;
  return true;
}

static bool expect(Reader *r, char c, const char *where) {
  if (accept(r, c)) return true;
  if (r->at == r->limit) return fail(r, r->at, "expected '%c' %s, found the end", c, where);
  return fail(r, r->at, "expected '%c' %s, found '%c'", c, where, *r->at);
}

static bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool read_number(Reader *r, int64_t *value) {
  if (!is_digit(peek(r))) return fail(r, r->at, "expected a whole number in a shape");
  const char *start = r->at;
  for (*value = 0; r->at < r->limit && is_digit(*r->at); r->at++) {
    if (__builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, *r->at - '0', value)) {
      return fail(r, start, "the number does not fit into 64 bits");
    }
  }
  return true;
}

/* ---- Layouts ---- */

/* Returns whether a layout comes next. A brace after a shape may also open a computation; it opens a layout if a digit,
** a colon or the closing brace follows it. */
static bool at_layout(Reader *r) {
  if (peek(r) != '{') return false;
  const char *inside = text_skip_space(r->at + 1, r->limit);
  if (inside == r->limit) return false;
  return is_digit(*inside) || *inside == ':' || *inside == '}';
}

/* Skips tiling, memory space and any other text after the colon. */
static bool skip_suffix(Reader *r) {
  const char *start = r->at;
  for (int depth = 0; r->at < r->limit; r->at++) {
    char c = *r->at;
    if (c == '{' || c == '(') depth++;
    if (c == '}' && depth == 0) return true;
    if (c == '}' || c == ')') depth--;
    if (c == '\n' || depth < 0) break;
  }
  return fail(r, start, "the layout has no closing brace");
}

static const Layout *make_layout(Reader *r, int rank, const int *order) {
  bool is_default = true;
  for (int i = 0; i < rank; i++) is_default &= order[i] == rank - 1 - i;
  if (is_default) return NULL;
  Layout *layout = ARENA_NEW(r->arena, Layout);
  layout->minor_to_major = arena_copy(r->arena, order, sizeof *order * (size_t)rank);
  return layout;
}

/* Reads a layout such as {1,0:T(8,128)S(1)}. Sets *layout; NULL for the default layout. */
static bool read_layout(Reader *r, int rank, const Layout **layout) {
  const char *start = r->at;
  int order[MAX_RANK], count = 0;
  bool seen[MAX_RANK] = {false};
  if (!expect(r, '{', "before the layout")) return false;
  if (is_digit(peek(r))) {
    do {
      int64_t dimension;
      if (!read_number(r, &dimension)) return false;
      if (dimension >= rank || seen[dimension]) {
        return fail(r, start, "the layout is no permutation of the %d dimensions", rank);
      }
      seen[dimension] = true;
      order[count++] = (int)dimension;
    } while (accept(r, ','));
  }
  bool suffix = accept(r, ':');
  if (suffix && !skip_suffix(r)) return false;
  if (!expect(r, '}', "after the layout")) return false;
  if (count != rank && count) {
    return fail(r, start, "the layout names %d dimensions of %d", count, rank);
  }
  *layout = count ? make_layout(r, rank, order) : NULL;
  return true;
}

/* ---- Shapes ---- */

static const Shape *read_shape(Reader *r);

static const Shape *read_tuple(Reader *r) {
  int count = 0, capacity = 0;
  const Shape **elements = NULL;
  if (++r->depth > MAX_TUPLE_DEPTH) {
    fail(r, r->at, "tuples are nested deeper than %d levels", MAX_TUPLE_DEPTH);
    return NULL;
  }
  r->at++; /* the parenthesis */
  if (peek(r) != ')') {
    do {
      const Shape *element = read_shape(r);
      if (!element) return NULL;
      ARENA_PUSH(r->arena, elements, count, capacity, element);
    } while (accept(r, ','));
  }
  if (!expect(r, ')', "after the tuple's elements")) return NULL;
  r->depth--;
  return shape_tuple(r->arena, count, elements);
}

static bool read_type(Reader *r, PrimitiveType *type) {
  peek(r);
  const char *start = r->at;
  while (r->at < r->limit && is_word(*r->at)) r->at++;
  int length = (int)(r->at - start);
  if (!length) return fail(r, start, "expected a shape such as f32[2,3]");
  *type = type_from_name(start, (size_t)length);
  if (*type == PRIMITIVE_TYPE_INVALID || *type == TUPLE) {
    return fail(r, start, "%.*s is no element type, as f32, s32 and pred are",
                length > 40 ? 40 : length, start);
  }
  return true;
}

typedef struct Dimensions {
  int rank;
  bool any_dynamic;
  int64_t sizes[MAX_RANK];
  bool dynamic[MAX_RANK];
} Dimensions;

static bool read_dimension(Reader *r, Dimensions *d) {
  if (peek(r) == '?') {
    return fail(r, r->at, "a dimension without a bound (?) is not supported; use <=N");
  }
  if (d->rank == MAX_RANK) return fail(r, r->at, "more than %d dimensions", MAX_RANK);
  bool dynamic = accept(r, '<');
  if (dynamic && !expect(r, '=', "after '<'")) return false;
  d->any_dynamic |= dynamic;
  d->dynamic[d->rank] = dynamic;
  return read_number(r, &d->sizes[d->rank++]);
}

static bool read_dimensions(Reader *r, Dimensions *d) {
  if (!expect(r, '[', "after the element type")) return false;
  if (accept(r, ']')) return true;
  do {
    if (!read_dimension(r, d)) return false;
  } while (accept(r, ','));
  return expect(r, ']', "after the dimensions");
}

/* Reads a token or an opaque value, written like an array of rank 0. */
static const Shape *read_other(Reader *r, PrimitiveType type, const char *start, int rank) {
  const Layout *layout;
  if (rank) {
    fail(r, start, "a %s has no dimensions", type_name(type));
    return NULL;
  }
  if (at_layout(r) && !read_layout(r, 0, &layout)) return NULL;
  return shape_scalar(type);
}

static const Shape *read_array(Reader *r) {
  PrimitiveType type;
  Dimensions d = {0};
  const char *start = r->at;
  if (!read_type(r, &type) || !read_dimensions(r, &d)) return NULL;
  if (!type_is_array(type)) return read_other(r, type, start, d.rank);
  const Shape *shape = shape_make(r->arena, type, d.rank, d.sizes, r->error);
  if (!shape) {
    fail(r, start, NULL);
    return NULL;
  }
  if (d.any_dynamic) shape = shape_with_dynamic(r->arena, shape, d.dynamic);
  const Layout *layout = NULL;
  if (at_layout(r) && !read_layout(r, d.rank, &layout)) return NULL;
  return layout ? shape_with_layout(r->arena, shape, layout) : shape;
}

static const Shape *read_shape(Reader *r) { return peek(r) == '(' ? read_tuple(r) : read_array(r); }

const Shape *shape_parse_range(Arena *arena, const char *text, const char *limit, const char **end,
                               Error *error) {
  Reader reader = {arena, text, text, limit, 0, error};
  const Shape *shape = read_shape(&reader);
  if (end) *end = reader.at;
  return shape;
}

const Shape *shape_parse(Arena *arena, const char *text, const char **end, Error *error) {
  return shape_parse_range(arena, text, text + strlen(text), end, error);
}
