"""Dialect stablehlo: its operations and attributes.

Each line of the table is an operation: `name Class function | parameters | results | format |
flags`; registry.py describes them.
"""

import enum

from .._ir.registry import set_class
from .._ir.structs import (
    Bounds,
    ConvDimensions,
    ResultAccuracy,
    define,
    define_enumerations,
    define_structures,
)
from .._ir.types import FutureType, TokenType  # noqa: F401
from .._ir.views import define_dialect

TABLE = """
abs | operand | ~real | {operand}~same
add | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
after_all | *inputs | ~token | {inputs}~same
all_gather | *operands_ .all_gather_dim:I64Attr .replica_groups .channel_handle?
    .use_global_device_ids:UnitAttr? | *result
all_reduce | *operands_ .replica_groups .channel_handle? .use_global_device_ids:UnitAttr?
    @computation | *result
all_to_all | *operands_ .split_dimension:I64Attr .concat_dimension:I64Attr .split_count:I64Attr
    .replica_groups .channel_handle? | ~all_to_all
and | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
async_done | operand | ~async_done
async_start | *operands_ @body | result
atan2 | lhs rhs | ~ | {lhs}, {rhs}~same
batch_norm_grad | operand scale mean variance grad_output .epsilon:F32Attr .feature_index:I64Attr
    | ~batch_norm_training grad_operand grad_scale grad_offset
batch_norm_inference | operand scale offset mean variance .epsilon:F32Attr .feature_index:I64Attr
    | ~first
batch_norm_training | operand scale offset .epsilon:F32Attr .feature_index:I64Attr |
    ~batch_norm_training output batch_mean batch_var
bitcast_convert | operand | result | {operands}~fn
broadcast_in_dim | operand .broadcast_dimensions:DenseI64ArrayAttr | result | {operand}, dims =
    {broadcast_dimensions}~fn
broadcast | operand .broadcast_sizes:DenseI64ArrayAttr | ~broadcast | {operand}, sizes =
    {broadcast_sizes}~fn
case | index @*branches | *result
cbrt | operand .result_accuracy? | ~ | {operand}~same
ceil | operand | ~ | {operand}~same
cholesky | a .lower:BoolAttr? | ~first | {a}<?, lower = {lower}?>~same
clamp | min operand max | ~second | {min}, {operand}, {max}~same
count_leading_zeros ClzOp | operand | ~ | {operand}~same
collective_broadcast | operand .replica_groups .channel_handle? | ~first
collective_permute | operand .source_target_pairs:I64ElementsAttr .channel_handle? | ~first
compare | lhs rhs .comparison_direction .compare_type? | ~predicate | {comparison_direction},
    {lhs}, {rhs}<?, {compare_type}?>~fn
complex | lhs rhs | ~complex | {lhs}, {rhs}{} : {:complex}
composite | *inputs .name:StrAttr .decomposition:FlatSymbolRefAttr
    .composite_attributes:DictionaryAttr?={} .version:I32Attr?=0:i32 @*composite_regions | *result
    | {name} {operands}~fn
concatenate | *inputs .dimension:I64Attr | ~concatenate | {inputs}, dim = {dimension}~fn
constant | .value | ~value output | !constant
convert | operand | result | {operand}~same
convolution | lhs rhs .dimension_numbers .feature_group_count:I64Attr .batch_group_count:I64Attr
    .window_strides:DenseI64ArrayAttr? .padding:I64ElementsAttr? .lhs_dilation:DenseI64ArrayAttr?
    .rhs_dilation:DenseI64ArrayAttr? .window_reversal:DenseBoolArrayAttr? .precision_config? |
    result | ({operands}) dim_numbers = {!conv}, window = {!window}~fn
cosine | operand .result_accuracy? | ~ | {operand}~same
create_token |  | ~token output | {} : {:results}
cross-replica-sum | operand .replica_groups:I64ElementsAttr | ~first
custom_call | *inputs .call_target_name:StrAttr .has_side_effect:BoolAttr?=false .backend_config?
    .api_version?=1:i32 .called_computations?=[] .operand_layouts? .result_layouts?
    .output_operand_aliases?=[] | *result | {!target}({inputs})~fn
divide DivOp | lhs rhs | ~ | {lhs}, {rhs}~same
dot_general | lhs rhs .dot_dimension_numbers .precision_config? .algorithm? | result | {lhs},
    {rhs}, {!dot}{!precision_algorithm}~fn
dot | lhs rhs .precision_config? | result | {lhs}, {rhs}{!precision}~fn
dynamic_broadcast_in_dim | operand output_dimensions .broadcast_dimensions:DenseI64ArrayAttr
    .known_expanding_dimensions:DenseI64ArrayAttr?
    .known_nonexpanding_dimensions:DenseI64ArrayAttr? | result | {operand}, {output_dimensions},
    dims = {broadcast_dimensions}~fn
dynamic_conv | lhs rhs padding .dimension_numbers .feature_group_count:I64Attr
    .batch_group_count:I64Attr .window_strides:DenseI64ArrayAttr? .lhs_dilation:DenseI64ArrayAttr?
    .rhs_dilation:DenseI64ArrayAttr? .window_reversal:DenseBoolArrayAttr? .precision_config? |
    result
dynamic_gather | operand start_indices slice_sizes .dimension_numbers
    .indices_are_sorted:BoolAttr? | ~dynamic_gather
dynamic_iota | output_shape .iota_dimension:I64Attr | result | {output_shape}, dim =
    {iota_dimension}~fn
dynamic_pad | operand padding_value edge_padding_low edge_padding_high interior_padding | result |
    {operands}~fn
dynamic_reshape | operand output_shape | result | {operands}~fn
dynamic_slice | operand *start_indices .slice_sizes:DenseI64ArrayAttr | ~dynamic_slice |
    {operand}, {start_indices}, sizes = {slice_sizes}~fn
dynamic_update_slice | operand update *start_indices | ~first | {operands}~fn
einsum | lhs rhs .einsum_config:StrAttr | result | {lhs}, {rhs}, config = {einsum_config}~fn
exponential ExpOp | operand .result_accuracy? | ~ | {operand}~same
exponential_minus_one Expm1Op | operand .result_accuracy? | ~ | {operand}~same
fft | operand .fft_type .fft_length:DenseI64ArrayAttr | ~fft | {operand}, type = {fft_type},
    length = {fft_length}~fn
floor | operand | ~ | {operand}~same
gather | operand start_indices .dimension_numbers .slice_sizes:DenseI64ArrayAttr
    .indices_are_sorted:BoolAttr? | ~gather
get_dimension_size | operand .dimension:I64Attr | ~size | {operand}, dim = {dimension}~fn
get_tuple_element | operand .index:I32Attr | ~tuple_element | {operand}[{index}]~fn
if | pred @true_branch @false_branch | *result
imag | operand | ~real | {operand}~same
infeed | token .infeed_config:StrAttr? .layout:ArrayAttr? | *result
iota | .iota_dimension:I64Attr | output | dim = {iota_dimension}{} : {:results}
is_finite | x | ~predicate y | {x}~fn
log_plus_one Log1pOp | operand .result_accuracy? | ~ | {operand}~same
log | operand .result_accuracy? | ~ | {operand}~same
logistic | operand .result_accuracy? | ~ | {operand}~same
map | *inputs .dimensions:DenseI64ArrayAttr @computation | result
maximum MaxOp | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
minimum MinOp | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
multiply MulOp | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
negate NegOp | operand | ~ | {operand}~same
not | operand | ~ | {operand}~same
optimization_barrier | *operand | ~all | !barrier
or | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
outfeed | *inputs token .outfeed_config:StrAttr? | ~token
pad | operand padding_value .edge_padding_low:DenseI64ArrayAttr
    .edge_padding_high:DenseI64ArrayAttr .interior_padding:DenseI64ArrayAttr | ~pad | {operand},
    {padding_value}, low = {edge_padding_low}, high = {edge_padding_high}, interior =
    {interior_padding}~fn
partition_id |  | ~id | {} : {:results}
popcnt PopulationCountOp | operand | ~ | {operand}~same
power PowOp | lhs rhs | ~ | {lhs}, {rhs}~same
real_dynamic_slice | operand start_indices limit_indices strides | result | {operands}~fn
real | operand | ~real | {operand}~same
recv | token .channel_handle .is_host_transfer:BoolAttr? .source_target_pairs:I64ElementsAttr? |
    *result
reduce | *inputs *init_values .dimensions:DenseI64ArrayAttr @body | *result | !reduce
reduce_precision | operand .exponent_bits:I32Attr .mantissa_bits:I32Attr | ~first output |
    {operand}, format = {!exponent}~same
reduce_scatter | operand .scatter_dimension:I64Attr .replica_groups .channel_handle?
    .use_global_device_ids:UnitAttr? @computation | result
reduce_window | *inputs *init_values .window_dimensions:DenseI64ArrayAttr
    .window_strides:DenseI64ArrayAttr? .base_dilations:DenseI64ArrayAttr?
    .window_dilations:DenseI64ArrayAttr? .padding:I64ElementsAttr? @body | *result
remainder RemOp | lhs rhs | ~ | {lhs}, {rhs}~same
replica_id |  | ~id | {} : {:results}
reshape | operand | result | {operands}~fn
return | *results_ |  | !return | terminator
reverse | operand .dimensions:DenseI64ArrayAttr | ~first | {operand}, dims = {dimensions}~same
rng_bit_generator | .rng_algorithm initial_state | output_state output | {initial_state},
    algorithm = {rng_algorithm}~fn
rng | a b shape .rng_distribution | ~rng | {a}, {b}, {shape}, distribution = {rng_distribution}~fn
round_nearest_even | operand | ~ | {operand}~same
round_nearest_afz RoundOp | operand | ~ | {operand}~same
rsqrt | operand .result_accuracy? | ~ | {operand}~same
scatter | *inputs scatter_indices *updates .scatter_dimension_numbers
    .indices_are_sorted:BoolAttr? .unique_indices:BoolAttr? @update_computation | *result
select_and_scatter | operand source init_value .window_dimensions:DenseI64ArrayAttr?
    .window_strides:DenseI64ArrayAttr? .padding:I64ElementsAttr? @select @scatter | result
select | pred on_true on_false | ~select | {operands}{} : {:select}
send | *inputs token .channel_handle .is_host_transfer:BoolAttr?
    .source_target_pairs:I64ElementsAttr? | ~token
set_dimension_size | operand size .dimension:I64Attr | ~set_dimension_size | {operand}, {size},
    dim = {dimension}~fn
shift_left | lhs rhs | ~ | {lhs}, {rhs}~same
shift_right_arithmetic | lhs rhs | ~ | {lhs}, {rhs}~same
shift_right_logical | lhs rhs | ~ | {lhs}, {rhs}~same
sign | operand | ~ | {operand}~same
sine | operand .result_accuracy? | ~ | {operand}~same
slice | operand .start_indices:DenseI64ArrayAttr .limit_indices:DenseI64ArrayAttr
    .strides:DenseI64ArrayAttr | ~slice | {operand} {!slice}~fn
sort | *inputs .dimension:I64Attr? .is_stable:BoolAttr? @comparator | *result
sqrt | operand .result_accuracy? | ~ | {operand}~same
subtract | lhs rhs | ~ | {lhs}, {rhs}~same
tan | operand .result_accuracy? | ~ | {operand}~same
tanh | operand .result_accuracy? | ~ | {operand}~same
torch_index_select | operand index .dim:I64Attr .batch_dims:I64Attr | result
transpose | operand .permutation:DenseI64ArrayAttr | ~transpose | {operand}, dims = {permutation}~fn
triangular_solve | a b .left_side:BoolAttr .lower:BoolAttr .unit_diagonal:BoolAttr .transpose_a |
    ~second
tuple | *val | ~tuple | {val}{} : {:results}
unary_einsum | operand .einsum_config:StrAttr | result | {operand}, config = {einsum_config}~fn
uniform_dequantize | operand | ~first | {operand}~same
uniform_quantize | operand | result | {operand}~same
while | *operand @cond @body | *result | !while
xor | lhs rhs | ~ | {lhs}, {rhs}~same | commutative
"""

define_dialect("stablehlo", globals(), TABLE)

STRUCTURES = """
scatter ScatterDimensionNumbers sparse update_window_dims inserted_window_dims input_batching_dims
    scatter_indices_batching_dims scatter_dims_to_operand_dims=scattered_dims_to_operand_dims
    index_vector_dim:int
gather GatherDimensionNumbers sparse offset_dims collapsed_slice_dims operand_batching_dims
    start_indices_batching_dims start_index_map index_vector_dim:int
dot DotDimensionNumbers sparse lhs_batching_dimensions rhs_batching_dimensions
    lhs_contracting_dimensions rhs_contracting_dimensions
output_operand_alias OutputOperandAlias output_tuple_indices operand_index:int operand_tuple_indices
channel_handle ChannelHandle handle:int type=channel_type:int
dot_algorithm DotAlgorithm lhs_precision_type:type rhs_precision_type:type accumulation_type:type
    lhs_component_count:int rhs_component_count:int num_primitive_operations:int
    allow_imprecise_accumulation:bool
"""
ENUMERATIONS = """
comparison_direction ComparisonDirectionAttr EQ NE GE GT LE LT
comparison_type ComparisonTypeAttr NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED
precision PrecisionAttr DEFAULT HIGH HIGHEST PACKED_NIBBLE
fft_type FftTypeAttr FFT IFFT RFFT IRFFT
transpose TransposeAttr TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT
rng_distribution RngDistributionAttr UNIFORM NORMAL
rng_algorithm RngAlgorithmAttr DEFAULT THREE_FRY PHILOX
result_accuracy_mode ResultAccuracyModeAttr <> DEFAULT HIGHEST TOLERANCE
custom_call_api_version CustomCallApiVersionAttr API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL
    API_VERSION_STATUS_RETURNING API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI
"""

define_structures("stablehlo", globals(), STRUCTURES)
define_enumerations("stablehlo", globals(), ENUMERATIONS)
define(ConvDimensions, "stablehlo", globals(), "ConvDimensionNumbers", "conv")
define(ResultAccuracy, "stablehlo", globals(), "ResultAccuracyAttr", "result_accuracy")
define(Bounds, "stablehlo", globals(), "TypeExtensions", "bounds")


class StablehloCompatibilityRequirement(enum.Enum):
    """How old a reader of a portable artifact may be."""

    NONE = 0
    WEEK_4 = 1
    WEEK_12 = 2
    MAX = 3


_VERSIONS = {"NONE": "1.17.0", "WEEK_4": "1.15.0", "WEEK_12": "1.13.7", "MAX": "0.9.0"}


def get_api_version():
    return 9


def get_current_version():
    return _VERSIONS["NONE"]


def get_minimum_version():
    return _VERSIONS["MAX"]


def get_version_from_compatibility_requirement(requirement):
    return _VERSIONS[requirement.name]


def _parts(version):
    parts = version.split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise ValueError(f"failed to convert version to stablehlo version: {version}")
    return tuple(map(int, parts))


def get_smaller_version(version1, version2):
    return min(version1, version2, key=_parts)


def serialize_portable_artifact(module, target, allow_other_dialects=False):
    """Returns the portable artifact, MLIR bytecode in VHLO, of a module."""
    from .._ir.portable import serialize
    return serialize(module, target)


def deserialize_portable_artifact(context, artifact):
    """Returns the module of a portable artifact."""
    from .._ir.portable import deserialize
    return deserialize(artifact)


def serialize_portable_artifact_str(module_str, target_version):
    from .._ir.operations import Module
    return serialize_portable_artifact(Module.parse(module_str), target_version)


def deserialize_portable_artifact_str(artifact_str):
    return str(deserialize_portable_artifact(None, artifact_str)).encode()


def register_dialect(context, load=True):
    """Does nothing: all dialects are always known."""


register_interpreter_dialect = register_dialect


def register_stablehlo_passes():
    """Does nothing: the passes are known by their names."""


class CompositeOp(CompositeOp):  # noqa: F821
    """Composite operation; it has no regions unless a number is given."""

    __slots__ = ()

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("num_composite_regions", 0)
        super().__init__(*args, **kwargs)


set_class("stablehlo.composite", CompositeOp)
