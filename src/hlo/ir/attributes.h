/*
** Holds an instruction's attributes: everything except its operands and its shape. All operations have the
** same flat structure. opcodes.def lists the fields that each operation uses, attributes.def the text form
** of each field. Lists and strings are in the module's arena.
*/
#ifndef XLA_HLO_IR_ATTRIBUTES_H
#define XLA_HLO_IR_ATTRIBUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "value/shape.h"

typedef struct Instruction Instruction;
typedef struct Computation Computation;
typedef struct OpSharding OpSharding;                 /* hlo/ir/sharding.h */
typedef struct FrontendAttributes FrontendAttributes; /* hlo/ir/sharding.h */

typedef struct Int64List {
  int count;
  const int64_t *items;
} Int64List;

/* Returns the index of a value in a list; -1 if absent. */
int list_index(Int64List list, int64_t value);
static inline bool list_has(Int64List list, int64_t value) { return list_index(list, value) >= 0; }

typedef struct ComputationList {
  int count;
  Computation **items;
} ComputationList;

typedef struct InstructionList {
  int count;
  Instruction **items;
} InstructionList;

typedef struct ShapeList {
  int count;
  const Shape **items;
} ShapeList;

/* {[start:limit:stride], ...} */
typedef struct SliceDimension {
  int64_t start, limit, stride;
} SliceDimension;
typedef struct SliceConfig {
  int count;
  const SliceDimension *items;
} SliceConfig;

/* low_high_interior x ... */
typedef struct PaddingDimension {
  int64_t low, high, interior;
} PaddingDimension;
typedef struct PaddingConfig {
  int count;
  const PaddingDimension *items;
} PaddingConfig;

/* XLA's WindowDimension. window={size=2x3 stride=.. pad=.._..x.. lhs_dilate=.. rhs_dilate=..
** rhs_reversal=..}; absent parts are 1, 0, 1, 1, false. */
typedef struct WindowDimension {
  int64_t size, stride, padding_low, padding_high, window_dilation, base_dilation;
  bool window_reversal;
} WindowDimension;
typedef struct Window {
  int count;
  const WindowDimension *items;
} Window;

/* dim_labels=b01f_01io->b01f; spatial dimension numbers in order. */
typedef struct ConvDims {
  int spatial;
  int64_t input_batch, input_feature, kernel_input_feature, kernel_output_feature, output_batch,
      output_feature;
  const int64_t *input_spatial, *kernel_spatial, *output_spatial; /* `spatial` entries each */
} ConvDims;

typedef struct ReplicaGroups {
  int count;
  const Int64List *groups;
  bool is_explicit; /* replica_groups={} was written: also means one group of all */
} ReplicaGroups;

typedef struct Pair {
  int64_t source, target;
} Pair;
typedef struct PairList {
  int count;
  const Pair *items;
} PairList;

typedef enum ComparisonDirection {
  COMPARE_EQ,
  COMPARE_NE,
  COMPARE_GE,
  COMPARE_GT,
  COMPARE_LE,
  COMPARE_LT,
} ComparisonDirection;

/* DEFAULT: FLOAT for floats and complex, SIGNED or UNSIGNED for integers, by operand type. */
typedef enum ComparisonType {
  COMPARISON_DEFAULT,
  COMPARISON_FLOAT,
  COMPARISON_TOTALORDER,
  COMPARISON_SIGNED,
  COMPARISON_UNSIGNED,
} ComparisonType;

typedef enum FftType { FFT_FFT, FFT_IFFT, FFT_RFFT, FFT_IRFFT } FftType;
typedef enum Transpose { NO_TRANSPOSE, TRANSPOSE, ADJOINT } Transpose;
typedef enum RandomDistribution { RNG_UNIFORM, RNG_NORMAL } RandomDistribution;
typedef enum RandomAlgorithm { RNG_DEFAULT, RNG_THREE_FRY, RNG_PHILOX } RandomAlgorithm;
typedef enum FusionKind { FUSION_LOOP, FUSION_INPUT, FUSION_OUTPUT, FUSION_CUSTOM } FusionKind;

/* Facts that passes find out and later stages use; text neither has nor shows them.
** used_dimension, used_diagonal: of a limited product, the number of its used dimension, plus 1; else 0. And of the dimension of
**   a causal mask's rows, if it has one. rewrite/fuse/limit_products.c
** is_limit: of a limited product's last parameter, which no instruction reads.
** hides_below: of a limited product whose mask is added, the binary logarithm of a bound of results that it hides; 0: it chooses.
** starts_in_range: of dynamic-slice and dynamic-update-slice: the starts need no clamp. rewrite/loops/counters.c
** at_most_zero: of subtract: the result is at most 0, or NaN. rewrite/simplify/differences.c
** bounded: of opt-barrier, the set, from 1 on, of bounded arrays into which its operand comes; else 0. Of dot, or of a limited
**   product whose mask is added, the set of one operand. rewrite/fuse/bounded_arrays.c
** bounds_rhs: of dot: whether that operand is the rhs.
** bounds_factors: of such a limited product: how many arrays of the set that operand multiplies at most. */
#define DERIVED_FACTS(FACT)     \
  FACT(int64_t, used_dimension) \
  FACT(int64_t, used_diagonal)  \
  FACT(bool, is_limit)          \
  FACT(int64_t, hides_below)    \
  FACT(bool, starts_in_range)   \
  FACT(bool, at_most_zero)      \
  FACT(int64_t, bounded)        \
  FACT(bool, bounds_rhs)        \
  FACT(int64_t, bounds_factors)
typedef struct Derived {
#define FACT(type, name) type name;
  DERIVED_FACTS(FACT)
#undef FACT
} Derived;

typedef struct Attributes Attributes;
struct Attributes {
  Derived derived;
  Int64List dimensions;
  int64_t iota_dimension, tuple_index;
  int64_t inferred_dimension; /* reshape: -1 if none */
  ComparisonDirection direction;
  ComparisonType compare_type;
  SliceConfig slice;
  Int64List slice_sizes; /* gather and dynamic-slice */
  PaddingConfig padding;
  Window window;

  Computation *to_apply, *calls, *condition, *body, *true_computation, *false_computation, *select,
      *scatter;
  ComputationList branches, called_computations;
  bool is_composite;
  int64_t num_carries;             /* scan */
  bool is_reverse, is_associative; /* scan; that it is associative is a hint */

  Int64List lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims;
  Int64List lhs_ragged_dims, rhs_group_dims; /* ragged-dot */
  const char *operand_precision;
  const char *dot_algorithm, *result_accuracy, *conv_kind; /* accepted and printed back */
  ConvDims conv_dims;
  int64_t feature_group_count, batch_group_count;

  Int64List offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
      start_indices_batching_dims;
  Int64List update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims,
      input_batching_dims, scatter_indices_batching_dims;
  int64_t index_vector_dim;
  bool indices_are_sorted, unique_indices;

  bool is_stable, largest, lower, left_side, unit_diagonal;
  int64_t k;
  FftType fft_type;
  Int64List fft_length;
  Transpose transpose_a;
  RandomDistribution distribution;
  RandomAlgorithm rng_algorithm;
  int64_t delta, exponent_bits, mantissa_bits;
  double epsilon;
  int64_t feature_index;

  int64_t channel_id; /* 0: none */
  ReplicaGroups replica_groups;
  bool use_global_device_ids, constrain_layout, is_host_transfer;
  PairList source_target_pairs;
  const char *permute_slice_sizes, *collective_mode;
  const char *config; /* infeed_config, outfeed_config */
  const Shape *outfeed_shape;
  const char *async_execution_thread;

  const char *custom_call_target;
  ShapeList operand_layout_constraints;
  bool custom_call_has_side_effect;
  const char *output_to_operand_aliasing, *api_version, *custom_call_schedule, *padding_type,
      *custom_call_literal;
  int64_t cross_program_prefetch_index; /* copy-start: -1 if none */
  const char *domain;
  FusionKind fusion_kind;

  const OpSharding *sharding;
  const FrontendAttributes *frontend_attributes;
  const char *metadata, *backend_config, *statistics, *origin, *parameter_replication;
  InstructionList control_predecessors;
  /* Last. Itself, in a record that instructions of one module may share; see module.h. */
  const Attributes *shared;
};

/* The grammars of attribute values in text. The values of all lists begin with their count. */
typedef enum AttributeKind {
  ATTR_INT64,
  ATTR_BOOL,
  ATTR_FLOAT,
  ATTR_INT64_LIST,
  ATTR_STRING, /* quoted, escapes resolved */
  ATTR_RAW,    /* any balanced text, kept and printed back */
  ATTR_SHAPE,
  ATTR_SHAPE_LIST,
  ATTR_COMPUTATION,
  ATTR_COMPUTATION_LIST,
  ATTR_INSTRUCTION_LIST,
  ATTR_SLICE,
  ATTR_PADDING,
  ATTR_WINDOW,
  ATTR_CONV_DIMS,
  ATTR_REPLICA_GROUPS, /* {{0,1},{2,3}} or the iota form [2,2]<=[4]T(..) */
  ATTR_PAIR_LIST,
  ATTR_PRECISION_LIST, /* kept as text, e.g. {highest,default} */
  ATTR_SHARDING,
  ATTR_FRONTEND_ATTRIBUTES,
  /* Enumerations, with the names of attribute_enum_names: */
  ATTR_COMPARISON_DIRECTION,
  ATTR_COMPARISON_TYPE,
  ATTR_FFT_TYPE,
  ATTR_TRANSPOSE,
  ATTR_RANDOM_DISTRIBUTION,
  ATTR_RANDOM_ALGORITHM,
  ATTR_FUSION_KIND,
} AttributeKind;

typedef struct AttributeRow {
  const char *name; /* unique; as in opcodes.def */
  const char *text; /* as in HLO text; mostly the same */
  AttributeKind kind;
  size_t offset; /* of the field in Attributes */
  int64_t default_value;
  bool always;   /* print even when it is the default */
  bool required; /* an operation that has it must state it in text */
} AttributeRow;

/* ORDER ATTRIBUTE: the rows of attributes.def. */
enum {
#define ATTRIBUTE(name, field, kind, default_value, print) ROW_OF_##name,
#include "hlo/ir/attributes.def"
#undef ATTRIBUTE
#undef ATTRIBUTE_AS
  ATTRIBUTE_COUNT
};
extern const AttributeRow attribute_rows[ATTRIBUTE_COUNT];

/* The attributes of every operation, written like those in opcodes.def. */
#define COMMON_ATTRIBUTES                                                                      \
  "sharding frontend_attributes parameter_replication control_predecessors statistics origin " \
  "metadata backend_config"

/* Steps through a list of names as in opcodes.def: the next one's row, or NULL at the end. */
const AttributeRow *attribute_next(const char **names);

/* The text names of an enumeration's values, by value; NULL where text has none (then the
** attribute is left out). `count` is set. NULL for kinds that are no enumerations. */
const char *const *attribute_enum_names(AttributeKind kind, int *count);
/* Returns the name of a value; "" if it has none. */
const char *attribute_enum_name(AttributeKind kind, int value);

/* attributes_init: sets every field to its default. attributes_default: sets those whose default is not zero. */
void attributes_init(Attributes *attributes);
const Attributes *attributes_default(Attributes *attributes);
/* Points to attributes whose fields are as listed, or their defaults: ATTRIBUTES(.to_apply = f). It lives as long as
** the block. */
#define ATTRIBUTES(...) attributes_default(&(Attributes){__VA_ARGS__})

#endif
