"""Dialect mhlo: its operations and attributes.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

from .._ir.structs import define_enumerations, define_structures
from .._ir.views import define_dialect

_TABLE = """
abs | operand | ~real
acos | operand | ~
acosh | operand | ~
add_dependency | operand token | ~ output
add | lhs rhs | ~ |  | commutative
after_all | *inputs | ~token
all_gather | *operands_ .all_gather_dim:I64Attr .replica_groups .channel_handle? .use_global_device_ids:UnitAttr? | *result
all_reduce | *operands_ .replica_groups .channel_handle? .use_global_device_ids:UnitAttr? @computation | *result
all_to_all | *operand .replica_groups .split_dimension:I64Attr? .concat_dimension:I64Attr? .split_count:I64Attr? .channel_handle? | ~all_to_all
and | lhs rhs | ~ |  | commutative
asin | operand | ~
asinh | operand | ~
async_done | bundle | ~async_done
async_start | *inputs .called_computation:FlatSymbolRefAttr .execution_thread:StrAttr | result
async_update | bundle | ~
atan2 | lhs rhs | ~
atanh | operand | ~
batch_norm_grad | operand scale mean variance grad_output .epsilon:F32Attr .feature_index:I64Attr | ~batch_norm_training grad_operand grad_scale grad_offset
batch_norm_inference | operand scale offset mean variance .epsilon:F32Attr .feature_index:I64Attr | ~first
batch_norm_training | operand scale offset .epsilon:F32Attr .feature_index:I64Attr | ~batch_norm_training output batch_mean batch_var
bitcast_convert | operand | result
bitcast | operand | result
broadcast_in_dim | operand .broadcast_dimensions:I64ElementsAttr | result
broadcast | operand .broadcast_sizes:I64ElementsAttr | ~broadcast
case | index @*branches | *result
cbrt | operand .result_accuracy? | ~
ceil | operand | ~
cholesky | a .lower:BoolAttr? | ~first
clamp | min operand max | ~second
count_leading_zeros ClzOp | operand | ~
collective_broadcast | operand .replica_groups .channel_handle? | ~first
collective_permute | operand .source_target_pairs:I64ElementsAttr .channel_handle? | ~first
compare | lhs rhs .comparison_direction .compare_type? | ~predicate
complex | lhs rhs | ~complex
composite | *inputs .name:StrAttr .decomposition:FlatSymbolRefAttr .composite_attributes:DictionaryAttr? .version:I32Attr? @*composite_regions | *result
concatenate | *val .dimension:I64Attr | ~concatenate
constant | .value | ~value output
convert | operand | result
convolution | lhs rhs .dimension_numbers .feature_group_count:I64Attr .batch_group_count:I64Attr .window_strides:I64ElementsAttr? .padding:I64ElementsAttr? .lhs_dilation:I64ElementsAttr? .rhs_dilation:I64ElementsAttr? .window_reversal? .precision_config? | result
copy | operand .cross_program_prefetch_index:I32Attr? | ~
cosh | operand | ~
cosine | operand .result_accuracy? | ~
create_token |  | ~token output
cross-replica-sum | operand .replica_groups:I64ElementsAttr | ~first
custom_call | *inputs .call_target_name:StrAttr .has_side_effect:BoolAttr? .backend_config? .api_version? .called_computations? .custom_call_schedule? .operand_layouts? .result_layouts? .output_operand_aliases? | *result
divide DivOp | lhs rhs | ~
domain | operand .kind .entry_metadata:StrAttr .exit_metadata:StrAttr | ~
dot_general | lhs rhs .dot_dimension_numbers .precision_config? .algorithm? | result
dot | lhs rhs .precision_config? | result
dynamic_broadcast_in_dim | operand output_dimensions .broadcast_dimensions:I64ElementsAttr .known_expanding_dimensions:I64ElementsAttr? .known_nonexpanding_dimensions:I64ElementsAttr? | result
dynamic_conv | lhs rhs d_padding .dimension_numbers .feature_group_count:I64Attr .batch_group_count:I64Attr .window_strides:I64ElementsAttr? .padding:I64ElementsAttr? .lhs_dilation:I64ElementsAttr? .rhs_dilation:I64ElementsAttr? .window_reversal? .precision_config? | result
dynamic_gather | operand start_indices slice_sizes .dimension_numbers .indices_are_sorted:BoolAttr? | ~dynamic_gather
dynamic_iota | output_shape .iota_dimension:I64Attr | result
dynamic_pad | operand padding_value edge_padding_low edge_padding_high interior_padding | result
dynamic_reshape | operand output_shape | result
dynamic_slice | operand *start_indices .slice_sizes:I64ElementsAttr | ~dynamic_slice
dynamic_update_slice | operand update *start_indices | ~first
einsum | lhs rhs .einsum_config:StrAttr | result
erf | operand | ~
exponential ExpOp | operand .result_accuracy? | ~
exponential_minus_one Expm1Op | operand .result_accuracy? | ~
fft | operand .fft_type .fft_length:I64ElementsAttr | ~fft
floor | operand | ~
fusion | *inputs .fusion_kind? .output_operand_aliases? @fused_computation | *results_
gather | operand start_indices .dimension_numbers .slice_sizes:I64ElementsAttr .indices_are_sorted:BoolAttr? | ~gather
get_dimension_size | operand .dimension:I64Attr | ~size
get_tuple_element | operand .index:I32Attr | ~tuple_element
if | pred @true_branch @false_branch | *result
imag | operand | ~real
infeed | token .infeed_config:StrAttr? .layout:ArrayAttr? | *result
iota | .iota_dimension:I64Attr | output
is_finite | x | ~predicate y
log_plus_one Log1pOp | operand .result_accuracy? | ~
log | operand .result_accuracy? | ~
logistic | operand .result_accuracy? | ~
map | *inputs .dimensions:I64ElementsAttr @computation | result
maximum MaxOp | lhs rhs | ~ |  | commutative
minimum MinOp | lhs rhs | ~ |  | commutative
minimum_broadcast_shapes | *shapes | *results_
multiply MulOp | lhs rhs | ~ |  | commutative
mulhi | lhs rhs | ~
negate NegOp | operand | ~
not | operand | ~
optimization_barrier | *operand | ~all
or | lhs rhs | ~ |  | commutative
outfeed | *inputs token .outfeed_config:StrAttr? | ~token
pad | operand padding_value .edge_padding_low:I64ElementsAttr .edge_padding_high:I64ElementsAttr .interior_padding:I64ElementsAttr | ~pad
partition_id |  | ~id
popcnt PopulationCountOp | operand | ~
power PowOp | lhs rhs | ~
ragged_dot | lhs rhs group_sizes .ragged_dot_dimension_numbers .precision_config? | result
real_dynamic_slice | operand start_indices limit_indices strides | result
real | operand | ~real
recv | token .channel_handle .is_host_transfer:BoolAttr? .source_target_pairs:I64ElementsAttr? | *result
reduce | *inputs *init_values .dimensions:I64ElementsAttr @body | *result
reduce_precision | operand .exponent_bits:I32Attr .mantissa_bits:I32Attr | ~first output
reduce_scatter | operand .scatter_dimension:I64Attr .replica_groups .channel_handle? .use_global_device_ids:UnitAttr? @computation | result
reduce_window | *inputs *init_values .window_dimensions:I64ElementsAttr .window_strides:I64ElementsAttr? .base_dilations:I64ElementsAttr? .window_dilations:I64ElementsAttr? .padding:I64ElementsAttr? @body | *result
remainder RemOp | lhs rhs | ~
replica_id |  | ~id
reshape | operand | result
return | *results_ |  |  | terminator
reverse | operand .dimensions:I64ElementsAttr | ~first
rng_bit_generator | .rng_algorithm initial_state | output_state output
rng | a b shape .rng_distribution | ~rng
round_nearest_even | operand | ~
round_nearest_afz RoundOp | operand | ~
rsqrt | operand .result_accuracy? | ~
scan | *inputs *inits .dimension:I64Attr .scan_dim_size:I64Attr? .is_reverse:BoolAttr? .is_associative:BoolAttr? @body | *outputs *carries |  | segments
scatter | *inputs scatter_indices *updates .scatter_dimension_numbers .indices_are_sorted:BoolAttr? .unique_indices:BoolAttr? @update_computation | *result
select_and_scatter | operand source init_value .window_dimensions:I64ElementsAttr? .window_strides:I64ElementsAttr? .padding:I64ElementsAttr? @select @scatter | result
select | pred on_true on_false | ~select
send | *inputs token .channel_handle .is_host_transfer:BoolAttr? .source_target_pairs:I64ElementsAttr? | ~token
set_dimension_size | operand size .dimension:I64Attr | ~set_dimension_size
shift_left | lhs rhs | ~
shift_right_arithmetic | lhs rhs | ~
shift_right_logical | lhs rhs | ~
sign | operand | ~
sine | operand .result_accuracy? | ~
sinh | operand | ~
slice | operand .start_indices:I64ElementsAttr .limit_indices:I64ElementsAttr .strides:I64ElementsAttr | ~slice
sort | *inputs .dimension:I64Attr? .is_stable:BoolAttr? @comparator | *result
sqrt | operand .result_accuracy? | ~
stochastic_convert | operand random | result
subtract | lhs rhs | ~
tan | operand .result_accuracy? | ~
tanh | operand .result_accuracy? | ~
topk TopKOp | operand .k:I64Attr .largest:BoolAttr? | ~ values indices
torch_index_select | operand index .dim:I64Attr .batch_dims:I64Attr | result
trace | operand .tag:StrAttr
transpose | operand .permutation:I64ElementsAttr | ~transpose
triangular_solve | a b .left_side:BoolAttr .lower:BoolAttr .unit_diagonal:BoolAttr .transpose_a | ~second
tuple | *val | ~tuple
uniform_dequantize | operand | ~first
uniform_quantize | operand | result
while | *operand @cond @body | *result
xla.rng_get_and_update_state XlaRngGetAndUpdateStateOp | .delta:I64Attr | ~
xor | lhs rhs | ~ |  | commutative
"""

define_dialect("mhlo", globals(), _TABLE)

define_structures("mhlo", globals(), """
scatter ScatterDimensionNumbers sparse update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims scatter_dims_to_operand_dims=scattered_dims_to_operand_dims index_vector_dim:int
gather GatherDimensionNumbers sparse offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map index_vector_dim:int
dot DotDimensionNumbers sparse lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions
output_operand_alias OutputOperandAlias output_tuple_indices operand_index:int operand_tuple_indices
channel_handle ChannelHandle handle:int type=channel_type:int
dot_algorithm DotAlgorithm lhs_precision_type:type rhs_precision_type:type accumulation_type:type lhs_component_count:int rhs_component_count:int num_primitive_operations:int allow_imprecise_accumulation:bool
""")
define_enumerations("mhlo", globals(), """
comparison_direction ComparisonDirectionAttr EQ NE GE GT LE LT
comparison_type ComparisonTypeAttr NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED
precision PrecisionAttr DEFAULT HIGH HIGHEST PACKED_NIBBLE
fft_type FftTypeAttr FFT IFFT RFFT IRFFT
transpose TransposeAttr TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT
rng_distribution RngDistributionAttr UNIFORM NORMAL
rng_algorithm RngAlgorithmAttr DEFAULT THREE_FRY PHILOX
result_accuracy_mode ResultAccuracyModeAttr <> DEFAULT HIGHEST TOLERANCE
custom_call_api_version CustomCallApiVersionAttr API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL API_VERSION_STATUS_RETURNING API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI
""")


def register_mhlo_dialect(context, load=True):
    """Does nothing: all dialects are always known."""


def register_mhlo_passes():
    """Does nothing: there are no passes of this dialect."""
