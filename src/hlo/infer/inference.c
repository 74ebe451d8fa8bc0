#include "hlo/infer/inference.h"

#include <stdio.h>
#include <string.h>

#include "hlo/infer/inference_rules.h"

static InferenceRule *const rules[OPCODE_COUNT] = {
    [HLO_ABS] = infer_unary,
    [HLO_ACOS] = infer_unary,
    [HLO_ACOSH] = infer_unary,
    [HLO_ASIN] = infer_unary,
    [HLO_ASINH] = infer_unary,
    [HLO_ATANH] = infer_unary,
    [HLO_CBRT] = infer_unary,
    [HLO_CEIL] = infer_unary,
    [HLO_CLZ] = infer_unary,
    [HLO_COS] = infer_unary,
    [HLO_COSH] = infer_unary,
    [HLO_ERF] = infer_unary,
    [HLO_EXP] = infer_unary,
    [HLO_EXPM1] = infer_unary,
    [HLO_FLOOR] = infer_unary,
    [HLO_IMAG] = infer_unary,
    [HLO_IS_FINITE] = infer_unary,
    [HLO_LOG] = infer_unary,
    [HLO_LOG1P] = infer_unary,
    [HLO_LOGISTIC] = infer_unary,
    [HLO_NEGATE] = infer_unary,
    [HLO_NOT] = infer_unary,
    [HLO_POPCNT] = infer_unary,
    [HLO_REAL] = infer_unary,
    [HLO_ROUND_NEAREST_AFZ] = infer_unary,
    [HLO_ROUND_NEAREST_EVEN] = infer_unary,
    [HLO_RSQRT] = infer_unary,
    [HLO_SIGN] = infer_unary,
    [HLO_SIN] = infer_unary,
    [HLO_SINH] = infer_unary,
    [HLO_SQRT] = infer_unary,
    [HLO_TAN] = infer_unary,
    [HLO_TANH] = infer_unary,
    [HLO_REDUCE_PRECISION] = infer_reduce_precision,

    [HLO_CONVERT] = infer_convert,
    [HLO_BITCAST_CONVERT] = infer_bitcast_convert,
    [HLO_STOCHASTIC_CONVERT] = infer_stochastic_convert,

    [HLO_ADD] = infer_binary,
    [HLO_AND] = infer_binary,
    [HLO_ATAN2] = infer_binary,
    [HLO_COMPLEX] = infer_complex,
    [HLO_DIVIDE] = infer_binary,
    [HLO_MAXIMUM] = infer_binary,
    [HLO_MINIMUM] = infer_binary,
    [HLO_MULHI] = infer_binary,
    [HLO_MULTIPLY] = infer_binary,
    [HLO_OR] = infer_binary,
    [HLO_POWER] = infer_binary,
    [HLO_REMAINDER] = infer_binary,
    [HLO_SHIFT_LEFT] = infer_binary,
    [HLO_SHIFT_RIGHT_ARITHMETIC] = infer_binary,
    [HLO_SHIFT_RIGHT_LOGICAL] = infer_binary,
    [HLO_SUBTRACT] = infer_binary,
    [HLO_XOR] = infer_binary,
    [HLO_COMPARE] = infer_compare,
    [HLO_CLAMP] = infer_clamp,
    [HLO_SELECT] = infer_select,
    [HLO_MAP] = infer_map,

    [HLO_CONSTANT] = infer_constant,
    [HLO_IOTA] = infer_iota,
    [HLO_PARAMETER] = infer_parameter,
    [HLO_PARTITION_ID] = infer_device_id,
    [HLO_REPLICA_ID] = infer_device_id,

    [HLO_BITCAST] = infer_bitcast,
    [HLO_BROADCAST] = infer_broadcast,
    [HLO_CONCATENATE] = infer_concatenate,
    [HLO_COPY] = infer_copy,
    [HLO_DYNAMIC_RESHAPE] = infer_dynamic_reshape,
    [HLO_DYNAMIC_SLICE] = infer_dynamic_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = infer_dynamic_update_slice,
    [HLO_GATHER] = infer_gather,
    [HLO_PAD] = infer_pad,
    [HLO_RESHAPE] = infer_reshape,
    [HLO_REVERSE] = infer_reverse,
    [HLO_SLICE] = infer_slice,
    [HLO_TRANSPOSE] = infer_transpose,
    [HLO_GET_DIMENSION_SIZE] = infer_get_dimension_size,
    [HLO_SET_DIMENSION_SIZE] = infer_set_dimension_size,

    [HLO_DOT] = infer_dot,
    [HLO_RAGGED_DOT] = infer_ragged_dot,
    [HLO_SCALED_DOT] = infer_scaled_dot,
    [HLO_CONVOLUTION] = infer_convolution,
    [HLO_REDUCE] = infer_reduce,
    [HLO_REDUCE_WINDOW] = infer_reduce_window,
    [HLO_SELECT_AND_SCATTER] = infer_select_and_scatter,
    [HLO_SCATTER] = infer_scatter,
    [HLO_SORT] = infer_sort,

    [HLO_TOPK] = infer_topk,
    [HLO_FFT] = infer_fft,
    [HLO_CHOLESKY] = infer_cholesky,
    [HLO_TRIANGULAR_SOLVE] = infer_triangular_solve,
    [HLO_BATCH_NORM_GRAD] = infer_batch_norm_grad,
    [HLO_BATCH_NORM_INFERENCE] = infer_batch_norm_inference,
    [HLO_BATCH_NORM_TRAINING] = infer_batch_norm_training,
    [HLO_RNG] = infer_rng,
    [HLO_RNG_BIT_GENERATOR] = infer_rng_bit_generator,
    [HLO_RNG_GET_AND_UPDATE_STATE] = infer_rng_get_and_update_state,

    [HLO_TUPLE_OP] = infer_tuple,
    [HLO_GET_TUPLE_ELEMENT] = infer_get_tuple_element,
    [HLO_AFTER_ALL] = infer_after_all,
    [HLO_ADD_DEPENDENCY] = infer_add_dependency,
    [HLO_OPTIMIZATION_BARRIER] = infer_opt_barrier,
    [HLO_DOMAIN] = infer_domain,

    [HLO_CALL] = infer_call,
    [HLO_CONDITIONAL] = infer_conditional,
    [HLO_WHILE] = infer_while,
    [HLO_SCAN] = infer_scan,
    [HLO_FUSION] = infer_fusion,
    [HLO_ASYNC_START] = infer_async_start,
    [HLO_ASYNC_UPDATE] = infer_async_update,
    [HLO_ASYNC_DONE] = infer_async_done,

    [HLO_ALL_GATHER] = infer_all_gather,
    [HLO_ALL_GATHER_START] = infer_all_gather_start,
    [HLO_ALL_GATHER_DONE] = infer_start_done,
    [HLO_ALL_REDUCE] = infer_all_reduce,
    [HLO_ALL_REDUCE_START] = infer_all_reduce,
    [HLO_ALL_REDUCE_DONE] = infer_all_reduce_done,
    [HLO_ALL_TO_ALL] = infer_all_to_all,
    [HLO_RAGGED_ALL_TO_ALL] = infer_ragged_all_to_all,
    [HLO_COLLECTIVE_BROADCAST] = infer_collective_broadcast,
    [HLO_COLLECTIVE_PERMUTE] = infer_collective_permute,
    [HLO_COLLECTIVE_PERMUTE_START] = infer_collective_permute_start,
    [HLO_COLLECTIVE_PERMUTE_DONE] = infer_start_done,
    [HLO_REDUCE_SCATTER] = infer_reduce_scatter,

    [HLO_INFEED] = infer_infeed,
    [HLO_OUTFEED] = infer_outfeed,
    [HLO_RECV] = infer_recv,
    [HLO_RECV_DONE] = infer_recv_done,
    [HLO_SEND] = infer_send,
    [HLO_SEND_DONE] = infer_send_done,
    [HLO_COPY_START] = infer_copy_start,
    [HLO_COPY_DONE] = infer_copy_done,
    [HLO_CUSTOM_CALL] = infer_custom_call,
};

static const char *name_of(const Inference *in) { return opcode_name(in->instruction->opcode); }

/* ---- Texts ---- */

const char *text_shape(const Inference *in, const Shape *shape) {
  return shape ? shape_str(in->arena, shape) : "(none)";
}

const char *text_operand(const Inference *in, int index) {
  return text_shape(in, operand_shape(in, index));
}

/* Whether a message has room for more of a list, which may have any length. */
static bool has_room(const char *text) { return strlen(text) < ERROR_MESSAGE_SIZE; }

enum { MAX_SHOWN = 64 }; /* entries of a list; the highest rank */

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
  return error_set_op(in->error, code, name_of(in), "%s", full);
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
  dims->rank = shape->rank;
  dims->any_dynamic = false;
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

/* ---- The entry points ---- */

static bool check_arity(Inference *in) {
  int arity = opcode_rows[in->instruction->opcode].arity;
  REQUIRE(in, arity == VARIADIC || arity == in->operand_count, "%d operands are given; it takes %d",
          in->operand_count, arity);
  return true;
}

static const Shape *infer(Inference *in) {
  for (int i = 0; i < in->operand_count; i++) {
    const Instruction *operand = in->instruction->operands[i];
    if (!operand || !operand->shape) {
      return invalid_argument(in->error, name_of(in), "operand %d is missing", i), NULL;
    }
  }
  InferenceRule *rule = rules[in->instruction->opcode];
  if (!rule) return unimplemented(in, "it has no shape inference rule"), NULL;
  return check_arity(in) ? rule(in) : NULL;
}

static Inference inference_of(Arena *arena, const Instruction *instruction, Error *error) {
  return (Inference){
      arena, instruction, instruction->a, instruction->shape, instruction->operand_count, error};
}

const Shape *infer_shape(Arena *arena, const Instruction *instruction, Error *error) {
  Inference in = inference_of(arena, instruction, error);
  return infer(&in);
}

const Shape *infer_checked_shape(Arena *arena, const Instruction *instruction, Error *error) {
  Inference in = inference_of(arena, instruction, error);
  const Shape *shape = infer(&in);
  if (!shape) return NULL;
  bool is_outer = instruction->opcode == HLO_DOT && !instruction->a->lhs_contracting_dims.count;
  REQUIRE(&in, !in.stated || shape_compatible(in.stated, shape),
          "the stated shape is %s, but the inferred shape is %s; they must be compatible%s",
          text_shape(&in, in.stated), text_shape(&in, shape),
          is_outer ? "; lhs_contracting_dims is missing" : "");
  return shape;
}
