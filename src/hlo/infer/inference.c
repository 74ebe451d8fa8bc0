#include "hlo/infer/inference.h"

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
      return invalid_argument(in->error, opcode_name(in->instruction->opcode),
                              "operand %d is missing", i),
             NULL;
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
