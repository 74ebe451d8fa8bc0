/*
** Declares the checks that inference rules share; private to inference*.c, verifier.c and builder.c.
**
** A rule gets an Inference and returns the inferred shape, or NULL after broken(). Rules check operands
** first, then attributes, then the stated shape, so that the first error is the most useful one. Sizes of
** dynamic dimensions are their bounds, as everywhere.
*/
#ifndef XLA_HLO_INFER_INFERENCE_RULES_H
#define XLA_HLO_INFER_INFERENCE_RULES_H

#include "hlo/ir/module.h"

typedef struct Inference {
  Arena *arena;
  const Instruction *instruction;
  const Attributes *a;
  const Shape *stated; /* the instruction's shape; NULL if it is to be inferred */
  int operand_count;
  Error *error;
} Inference;

typedef const Shape *InferenceRule(Inference *in);

/* The rules, by file. */

/* inference_elementwise.c */
InferenceRule infer_unary, infer_reduce_precision, infer_binary, infer_compare, infer_complex,
    infer_clamp, infer_select;
/* inference_convert.c */
InferenceRule infer_convert, infer_bitcast_convert, infer_stochastic_convert, infer_bitcast,
    infer_reshape, infer_dynamic_reshape;
/* inference_movement.c */
InferenceRule infer_broadcast, infer_concatenate, infer_copy, infer_dynamic_slice,
    infer_dynamic_update_slice, infer_pad, infer_reverse, infer_slice, infer_transpose,
    infer_get_dimension_size, infer_set_dimension_size;
/* inference_gather.c */
InferenceRule infer_gather;
/* inference_scatter.c */
InferenceRule infer_scatter;
/* inference_dot.c */
InferenceRule infer_dot, infer_ragged_dot, infer_scaled_dot;
/* inference_scan.c */
InferenceRule infer_scan;
/* inference_convolution.c */
InferenceRule infer_convolution;
/* inference_window.c */
InferenceRule infer_reduce_window, infer_select_and_scatter;
/* inference_apply.c */
InferenceRule infer_map, infer_reduce, infer_sort;
/* inference_library.c */
InferenceRule infer_topk, infer_fft, infer_cholesky, infer_triangular_solve,
    infer_batch_norm_training, infer_batch_norm_inference, infer_batch_norm_grad;
/* inference_rng.c */
InferenceRule infer_rng, infer_rng_bit_generator, infer_rng_get_and_update_state;
/* inference_structure.c */
InferenceRule infer_constant, infer_iota, infer_parameter, infer_device_id, infer_tuple,
    infer_get_tuple_element, infer_after_all, infer_add_dependency, infer_opt_barrier, infer_domain;
/* inference_control.c */
InferenceRule infer_call, infer_conditional, infer_while, infer_fusion, infer_async_start,
    infer_async_update, infer_async_done;
/* inference_collective.c */
InferenceRule infer_all_reduce, infer_all_reduce_done, infer_all_gather, infer_all_gather_start,
    infer_start_done, infer_reduce_scatter, infer_all_to_all, infer_ragged_all_to_all,
    infer_collective_broadcast, infer_collective_permute, infer_collective_permute_start;
/* inference_transfer.c */
InferenceRule infer_infeed, infer_outfeed, infer_recv, infer_recv_done, infer_send, infer_send_done,
    infer_copy_start, infer_copy_done, infer_custom_call;

/* Returns the inferred shape of `instruction`, after comparing it with the stated one if there is one. NULL with an error
** if a rule is broken. infer_shape does not compare. */
const Shape *infer_checked_shape(Arena *arena, const Instruction *instruction, Error *error);

/* Reporting. The message starts with the operation's name; the operands' shapes are appended if
** the text does not show them. Always false. */
bool broken(Inference *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool unimplemented(Inference *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns from the rule (with NULL or false) if the condition does not hold. */
#define REQUIRE(in, condition, ...) \
  do {                              \
    if (!(condition)) {             \
      broken(in, __VA_ARGS__);      \
      return 0;                     \
    }                               \
  } while (0)

/* Texts for messages, in the arena. */
const char *text_shape(const Inference *in, const Shape *shape);
const char *text_operand(const Inference *in, int index);
const char *text_list(const Inference *in, Int64List list); /* "{0,1}" */

static inline const Shape *operand_shape(const Inference *in, int index) {
  return in->instruction->operands[index]->shape;
}
static inline bool dimension_is_dynamic(const Shape *shape, int64_t dimension) {
  return shape->dynamic && shape->dynamic[dimension];
}

/* A list of dimensions under construction. */
typedef struct Dims {
  int rank;
  bool any_dynamic;
  int64_t sizes[MAX_RANK];
  bool dynamic[MAX_RANK];
} Dims;
bool dims_push(Inference *in, Dims *dims, int64_t size, bool dynamic);
/* Lists the dimensions of the indices of gather or scatter, operand `at`, with the implied trailing 1 if index_vector_dim is
** their rank. Fails if they are no array of integers; `role` names them. */
bool index_dims(Inference *in, int at, const char *role, Dims *dims);
/* Makes a shape; NULL with an error if XLA could not represent it. */
const Shape *dims_shape(Inference *in, PrimitiveType type, const Dims *dims);
void dims_of(Dims *dims, const Shape *shape);

/* Shared checks. `role` names the operand: "operand", "lhs", "start indices", ... */
bool check_array(Inference *in, int index, const char *role);
bool check_stated(Inference *in, const char *why);
/* Checks that every entry is in [0, rank). */
bool check_range(Inference *in, const char *attribute, Int64List list, int64_t rank);
bool check_unique(Inference *in, const char *attribute, Int64List list);
bool check_ascending(Inference *in, const char *attribute, Int64List list); /* strictly */
bool check_computation(Inference *in, const char *attribute, const Computation *computation);

/*
** The reducer of reduce, reduce-window, scatter, ...: takes `count` accumulators and `count`
** values, all scalars of the given types, and returns the accumulators (a tuple if count > 1).
*/
bool check_reducer(Inference *in, const char *attribute, const Computation *reducer, int count,
                   const PrimitiveType *types);

/* The result of `count` operands: the one shape itself, or a tuple of them. */
const Shape *one_or_tuple(Inference *in, int count, const Shape *const *shapes);
const Shape *operands_one_or_tuple(Inference *in, int count);
/* Returns the wider of two element types, as XLA prefers for dot and convolution. */
PrimitiveType wider_type(PrimitiveType a, PrimitiveType b);

/* Returns the shape of the windowed dimensions `base`, except for the element type. */
bool infer_window(Inference *in, const Window *window, const Dims *base, Dims *output);

/* reduce and reduce-window: `count` operands of the same dimensions, then an init value for each.
** inference_apply.c */
bool check_operands_and_inits(Inference *in, int count);

#endif
