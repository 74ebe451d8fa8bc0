"""Properties of operations in bytecode: attributes without names, in alphabetical order."""

from .registry import find_row, rows_of

# Attributes of VHLO's operations, by those that share them; `_v1` is written `@1`.
_VHLO = """
all_gather_dim channel_id replica_groups use_global_device_ids: all_gather@1 all_gather@2
channel_id replica_groups use_global_device_ids: all_reduce@1 all_reduce@2
channel_id concat_dimension replica_groups split_count split_dimension: all_to_all@1 all_to_all@2
epsilon feature_index: batch_norm_grad@1 batch_norm_inference@1 batch_norm_training@1
broadcast_dimensions: broadcast_in_dim@1
broadcast_sizes: broadcast@1
callee: call@1
result_accuracy: cbrt@2 cosine@2 exponential_minus_one@2 exponential@2 log_plus_one@2 logistic@2
    log@2 rsqrt@2 sine@2 sqrt@2 tan@2 tanh@2
lower: cholesky@1
channel_id replica_groups: collective_broadcast@1
channel_id has_dynamic_root replica_groups: collective_broadcast@2
channel_id source_target_pairs: collective_permute@1
compare_type comparison_direction: compare@1
composite_attributes decomposition name version: composite@1 composite@2
dimension: concatenate@1 get_dimension_size@1 set_dimension_size@1
value: constant@1
precision_config: dot@1
batch_group_count feature_group_count input_batch_dimension input_feature_dimension
    input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension
    kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension
    output_spatial_dimensions padding precision_config rhs_dilation window_reversal
    window_strides: convolution@1 dynamic_conv@1
replica_groups: cross-replica-sum@1
api_version backend_config call_target_name called_computations has_side_effect operand_layouts
    output_operand_aliases result_layouts: custom_call@1
api_version backend_config call_target_name called_computations has_side_effect operand_layouts
    output_operand_aliases result_layouts result_tilings: custom_call@2
lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions
    rhs_contracting_dimensions: dot_general@1
accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count
    lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config
    rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type:
    dot_general@2
broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions:
    dynamic_broadcast_in_dim@1
batch_group_count feature_group_count input_batch_dimension input_feature_dimension
    input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension
    kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension
    output_spatial_dimensions precision_config rhs_dilation window_reversal window_strides:
    dynamic_conv@2
collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map:
    dynamic_gather@1
collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims
    start_index_map start_indices_batching_dims: dynamic_gather@2
iota_dimension: dynamic_iota@1 iota@1
slice_sizes: dynamic_slice@1
einsum_config: einsum@1 unary_einsum@1
fft_length fft_type: fft@1
arg_attrs function_type res_attrs sym_name sym_visibility: func@1
collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map:
    gather@1
collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims
    slice_sizes start_index_map start_indices_batching_dims: gather@2
index: get_tuple_element@1
infeed_config layout: infeed@1
dimensions: map@1 reduce@1 reverse@1
outfeed_config: outfeed@1
edge_padding_high edge_padding_low interior_padding: pad@1
channel_id channel_type is_host_transfer: recv@1 send@1
channel_id channel_type is_host_transfer source_target_pairs: recv@2 send@2
exponent_bits mantissa_bits: reduce_precision@1
channel_id replica_groups scatter_dimension use_global_device_ids: reduce_scatter@1
base_dilations padding window_dilations window_dimensions window_strides: reduce_window@1
rng_algorithm: rng_bit_generator@1
rng_distribution: rng@1
index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims
    unique_indices update_window_dims: scatter@1
index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims
    scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims:
    scatter@2
padding window_dimensions window_strides: select_and_scatter@1
limit_indices start_indices strides: slice@1
dimension is_stable: sort@1
batch_dims dim: torch_index_select@1
permutation: transpose@1
left_side lower transpose_a unit_diagonal: triangular_solve@1
"""

_names = {}
for _line in rows_of(_VHLO):
    _attributes, _, _operations = _line.partition(": ")
    for _operation in _operations.split():
        _names[f"vhlo.{_operation.replace('@', '_v')}"] = [
            (name, False) for name in _attributes.split()]


def names_of(operation_name):
    """Returns (name, whether it is optional) of each property, in their order."""
    names = _names.get(operation_name)
    if names is None:
        row = find_row(operation_name)
        names = [] if row is None else sorted(
            (p.key, p.optional or p.default is not None) for p in row.attributes)
        _names[operation_name] = names
    return names
