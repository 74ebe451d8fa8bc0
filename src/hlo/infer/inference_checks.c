/* The texts and checks that inference rules share. */
#include <stdio.h>
#include <string.h>

#include "hlo/infer/inference_rules.h"

/* ---- Texts ---- */

const char *text_shape(const Inference *in, const Shape *shape) {
  return shape ? shape_str(in->arena, shape) : "(none)";
}

const char *text_operand(const Inference *in, int index) {
  return text_shape(in, operand_shape(in, index));
}

/* Whether a message has room for more of a list, which may have any length. */
static bool has_room(const char *text) { return strlen(text) < ERROR_MESSAGE_SIZE; }

/* Threshold MAX_SHOWN: entries of a list in an error; as many as the highest rank. No path. */
enum { MAX_SHOWN = 64 };

const char *text_list(const Inference *in, Int64List list) {
  const char *text = "{";
  for (int i = 0; i < list.count && i < MAX_SHOWN; i++) {
    text = arena_printf(in->arena, "%s%s%lld", text, i ? "," : "", (long long)list.items[i]);
  }
  return arena_printf(in->arena, "%s%s}", text, list.count > MAX_SHOWN ? ",..." : "");
}

/* Returns "(f32[], f32[]) -> f32[]". */
static const char *text_signature(const Inference *in, const Computation *c) {
  const char *text = "(";
  for (int i = 0; i < c->parameter_count && has_room(text); i++) {
    const Shape *shape = c->parameters[i] ? c->parameters[i]->shape : NULL;
    text = arena_printf(in->arena, "%s%s%s", text, i ? ", " : "", text_shape(in, shape));
  }
  return arena_printf(in->arena, "%s) -> %s", text,
                      text_shape(in, c->root ? c->root->shape : NULL));
}

/* ---- Reporting ---- */

/* Appends the operands to a message, so that its reader need not guess them. */
static void append_operands(const Inference *in, const char *message, char *out, size_t size) {
  bool all_shown = true;
  for (int i = 0; i < in->operand_count && all_shown; i++) {
    all_shown = strstr(message, text_operand(in, i)) != NULL;
  }
  if (all_shown) {
    snprintf(out, size, "%s", message);
    return;
  }
  size_t used = (size_t)snprintf(out, size, "%s (operands: ", message);
  for (int i = 0; i < in->operand_count && used < size; i++) {
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", text_operand(in, i));
  }
  if (used < size) snprintf(out + used, size - used, ")");
}

static bool report(Inference *in, StatusCode code, const char *format, va_list arguments) {
  if (!in->error) return false;
  char message[ERROR_MESSAGE_SIZE], full[ERROR_MESSAGE_SIZE];
  vsnprintf(message, sizeof message, format, arguments);
  append_operands(in, message, full, sizeof full);
  return error_set_op(in->error, code, opcode_name(in->instruction->opcode), "%s", full);
}

bool broken(Inference *in, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(in, STATUS_INVALID_ARGUMENT, format, arguments);
  va_end(arguments);
  return false;
}

bool unimplemented(Inference *in, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(in, STATUS_UNIMPLEMENTED, format, arguments);
  va_end(arguments);
  return false;
}

/* ---- Shapes ---- */

bool dims_push(Inference *in, Dims *dims, int64_t size, bool dynamic) {
  REQUIRE(in, dims->rank < MAX_RANK, "the result would have more than %d dimensions", MAX_RANK);
  dims->sizes[dims->rank] = size;
  dims->dynamic[dims->rank++] = dynamic;
  dims->any_dynamic |= dynamic;
  return true;
}

void dims_of(Dims *dims, const Shape *shape) {
  *dims = (Dims){.rank = shape->rank};
  for (int i = 0; i < shape->rank; i++) {
    dims->sizes[i] = shape->dims[i];
    dims->dynamic[i] = dimension_is_dynamic(shape, i);
    dims->any_dynamic |= dims->dynamic[i];
  }
}

const Shape *dims_shape(Inference *in, PrimitiveType type, const Dims *dims) {
  Error error = {0};
  const Shape *shape = shape_make(in->arena, type, dims->rank, dims->sizes, &error);
  if (!shape) return broken(in, "no result shape: %s", error.message), NULL;
  return dims->any_dynamic ? shape_with_dynamic(in->arena, shape, dims->dynamic) : shape;
}

const Shape *one_or_tuple(Inference *in, int count, const Shape *const *shapes) {
  return count == 1 ? shapes[0] : shape_tuple(in->arena, count, shapes);
}

const Shape *operands_one_or_tuple(Inference *in, int count) {
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, count);
  for (int i = 0; i < count; i++) shapes[i] = operand_shape(in, i);
  return one_or_tuple(in, count, shapes);
}

/* Returns the wider type: complex before real, float before integer, then by width. */
PrimitiveType wider_type(PrimitiveType a, PrimitiveType b) {
  bool complex_a = type_is_complex(a), complex_b = type_is_complex(b);
  if (complex_a != complex_b) return complex_a ? a : b;
  bool float_a = type_is_floating(a), float_b = type_is_floating(b);
  if (float_a != float_b) return float_a ? a : b;
  return type_bits(b) > type_bits(a) ? b : a;
}

/* ---- Shared checks ---- */

bool check_array(Inference *in, int index, const char *role) {
  REQUIRE(in, shape_is_array(operand_shape(in, index)), "%s has shape %s; it must be an array",
          role, text_operand(in, index));
  return true;
}

bool check_stated(Inference *in, const char *why) {
  REQUIRE(in, in->stated, "the result shape must be stated; %s", why);
  return true;
}

bool check_range(Inference *in, const char *attribute, Int64List list, int64_t rank) {
  for (int i = 0; i < list.count; i++) {
    REQUIRE(in, list.items[i] >= 0 && list.items[i] < rank,
            "%s=%s: dimension number %lld is out of range; it must be in [0, %lld)", attribute,
            text_list(in, list), (long long)list.items[i], (long long)rank);
  }
  return true;
}

bool check_unique(Inference *in, const char *attribute, Int64List list) {
  for (int i = 1; i < list.count; i++) {
    REQUIRE(in, !list_has((Int64List){i, list.items}, list.items[i]),
            "%s=%s repeats %lld; its entries must be unique", attribute, text_list(in, list),
            (long long)list.items[i]);
  }
  return true;
}

bool check_ascending(Inference *in, const char *attribute, Int64List list) {
  for (int i = 1; i < list.count; i++) {
    REQUIRE(in, list.items[i - 1] != list.items[i],
            "%s=%s repeats %lld; its entries must be unique", attribute, text_list(in, list),
            (long long)list.items[i]);
    REQUIRE(in, list.items[i - 1] < list.items[i], "%s=%s is not sorted; its entries must ascend",
            attribute, text_list(in, list));
  }
  return true;
}

bool check_computation(Inference *in, const char *attribute, const Computation *computation) {
  REQUIRE(in, computation && computation->root, "%s is missing; it must name a computation",
          attribute);
  for (int i = 0; i < computation->parameter_count; i++) {
    REQUIRE(in, computation->parameters[i],
            "%s=%%%s has no parameter %d; numbers must have no gaps", attribute, computation->name,
            i);
  }
  return true;
}

static bool is_scalar_of(const Shape *shape, PrimitiveType type) {
  return shape_is_scalar(shape) && shape->type == type;
}

static bool check_reducer_result(Inference *in, const char *attribute, const Computation *reducer,
                                 int count, const PrimitiveType *types) {
  const Shape *result = computation_result_shape(reducer);
  if (count > 1) {
    REQUIRE(in, shape_is_tuple(result) && result->tuple_size == count,
            "%s=%%%s has signature %s; it must produce a tuple with %d elements", attribute,
            reducer->name, text_signature(in, reducer), count);
  }
  for (int i = 0; i < count; i++) {
    const Shape *shape = count > 1 ? result->elements[i] : result;
    REQUIRE(in, shape_is_scalar(shape), "%s=%%%s has signature %s; it must produce %s", attribute,
            reducer->name, text_signature(in, reducer),
            count > 1 ? "a tuple of scalars" : "a scalar");
    REQUIRE(in, shape->type == types[i],
            "%s=%%%s has signature %s; result %d must have the element type %s of operand and init "
            "value",
            attribute, reducer->name, text_signature(in, reducer), i, type_name(types[i]));
  }
  return true;
}

bool check_reducer(Inference *in, const char *attribute, const Computation *reducer, int count,
                   const PrimitiveType *types) {
  if (!check_computation(in, attribute, reducer)) return false;
  REQUIRE(in, reducer->parameter_count == 2 * count,
          "%s=%%%s takes %d parameters; for %d operand%s the reduction function must take %d",
          attribute, reducer->name, reducer->parameter_count, count, count == 1 ? "" : "s",
          2 * count);
  for (int i = 0; i < 2 * count; i++) {
    const Shape *parameter = reducer->parameters[i]->shape;
    REQUIRE(
        in, is_scalar_of(parameter, types[i % count]),
        "%s=%%%s: parameter %d has shape %s; it must be %s[], a scalar of the operand's element "
        "type",
        attribute, reducer->name, i, text_shape(in, parameter), type_name(types[i % count]));
  }
  return check_reducer_result(in, attribute, reducer, count, types);
}
