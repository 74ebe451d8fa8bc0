/**
 * The attributes of operations by name, in the order of bytecode's properties, which is alphabetical.
 * "?": may be absent; "+": older versions lack it. Operations with the same list share a row.
 */
function table(dialect, rows) {
  return Object.entries(rows).flatMap(([attributes, names]) =>
    names.split(' ').map((name) => [`${dialect}.${name}`, attributes.split(' ')]));
}
const STABLEHLO = {
  value: 'constant',
  iota_dimension: 'iota dynamic_iota',
  'result_accuracy?': 'cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine ' +
    'sqrt tan tanh',
  'infeed_config? layout?': 'infeed',
  'outfeed_config?': 'outfeed',
  'channel_handle is_host_transfer? source_target_pairs?': 'send recv',
  'all_gather_dim channel_handle? replica_groups use_global_device_ids?': 'all_gather',
  'channel_handle? replica_groups use_global_device_ids?': 'all_reduce',
  'channel_handle? replica_groups scatter_dimension use_global_device_ids?': 'reduce_scatter',
  'channel_handle? concat_dimension replica_groups split_count split_dimension': 'all_to_all',
  dimensions: 'reduce map reverse',
  index: 'get_tuple_element',
  'compare_type? comparison_direction': 'compare',
  'limit_indices start_indices strides': 'slice',
  slice_sizes: 'dynamic_slice',
  'epsilon feature_index': 'batch_norm_grad batch_norm_inference batch_norm_training',
  broadcast_sizes: 'broadcast',
  broadcast_dimensions: 'broadcast_in_dim',
  'broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?': 'dynamic_broadcast_in_dim',
  'lower?': 'cholesky',
  dimension: 'concatenate get_dimension_size set_dimension_size',
  'channel_handle? has_dynamic_root+ replica_groups': 'collective_broadcast',
  'channel_handle? has_dynamic_root+ replica_groups use_global_device_ids?': 'collective_reduce',
  'channel_handle? source_target_pairs': 'collective_permute',
  'composite_attributes? decomposition name version?': 'composite',
  ['batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? ' +
    'precision_config? rhs_dilation? window_reversal? window_strides?']: 'convolution',
  replica_groups: 'cross-replica-sum',
  ['api_version? backend_config? call_target_name called_computations? has_side_effect? ' +
    'operand_layouts? output_operand_aliases? result_layouts? result_tilings?']: 'custom_call',
  'algorithm? dot_dimension_numbers precision_config?': 'dot_general',
  einsum_config: 'einsum unary_einsum',
  'fft_length fft_type': 'fft',
  'dimension_numbers indices_are_sorted? slice_sizes': 'gather',
  'indices_are_sorted? scatter_dimension_numbers unique_indices?': 'scatter',
  'padding? window_dimensions? window_strides?': 'select_and_scatter',
  'dimension? is_stable?': 'sort',
  'edge_padding_high edge_padding_low interior_padding': 'pad',
  permutation: 'transpose',
  'left_side lower transpose_a unit_diagonal': 'triangular_solve',
  'base_dilations? padding? window_dilations? window_dimensions window_strides?': 'reduce_window',
  'batch_dims dim': 'torch_index_select',
  rng_distribution: 'rng',
  rng_algorithm: 'rng_bit_generator',
  'exponent_bits mantissa_bits': 'reduce_precision',
  'dimension_numbers indices_are_sorted?': 'dynamic_gather',
  ['batch_group_count dimension_numbers feature_group_count lhs_dilation? ' +
    'precision_config? rhs_dilation? window_reversal? window_strides?']: 'dynamic_conv',
  'precision_config?': 'dot',
};

/** Properties that MHLO adds to those of StableHLO, or encodes differently. */
const MHLO = {
  'called_computation execution_thread?': 'async_start',
  'channel_handle? replica_groups': 'collective_broadcast',
  ['batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? ' +
    'precision_config? rhs_dilation? window_reversal? window_strides?']: 'convolution dynamic_conv',
  'cross_program_prefetch_index?': 'copy',
  ['api_version? backend_config? call_target_name called_computations? custom_call_schedule? ' +
    'has_side_effect? operand_layouts? output_operand_aliases? result_layouts?']: 'custom_call',
  'entry_metadata exit_metadata kind': 'domain',
  'fusion_kind? output_operand_aliases?': 'fusion',
  'precision_config? ragged_dot_dimension_numbers': 'ragged_dot',
  'dimension is_associative? is_reverse? scan_dim_size?': 'scan',
  'k largest?': 'topk',
  tag: 'trace',
  delta: 'xla.rng_get_and_update_state',
};

export const PROPERTIES = new Map([
  ...table('vhlo', {
    'all_gather_dim channel_id replica_groups use_global_device_ids': 'all_gather_v1 all_gather_v2',
    'channel_id replica_groups use_global_device_ids': 'all_reduce_v1 all_reduce_v2',
    'channel_id concat_dimension replica_groups split_count split_dimension': 'all_to_all_v1 all_to_all_v2',
    'epsilon feature_index': 'batch_norm_grad_v1 batch_norm_inference_v1 batch_norm_training_v1',
    broadcast_dimensions: 'broadcast_in_dim_v1',
    broadcast_sizes: 'broadcast_v1',
    callee: 'call_v1',
    result_accuracy: 'cbrt_v2 cosine_v2 exponential_minus_one_v2 exponential_v2 log_plus_one_v2 logistic_v2 ' +
      'log_v2 rsqrt_v2 sine_v2 sqrt_v2 tan_v2 tanh_v2',
    lower: 'cholesky_v1',
    'channel_id replica_groups': 'collective_broadcast_v1',
    'channel_id has_dynamic_root replica_groups': 'collective_broadcast_v2',
    'channel_id has_dynamic_root replica_groups use_global_device_ids': 'collective_reduce_v1',
    'channel_id source_target_pairs': 'collective_permute_v1',
    'compare_type comparison_direction': 'compare_v1',
    'composite_attributes decomposition name version': 'composite_v1 composite_v2',
    dimension: 'concatenate_v1 get_dimension_size_v1 set_dimension_size_v1',
    value: 'constant_v1',
    precision_config: 'dot_v1',
    ['batch_group_count feature_group_count input_batch_dimension input_feature_dimension ' +
      'input_spatial_dimensions kernel_input_feature_dimension ' +
      'kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation ' +
      'output_batch_dimension output_feature_dimension output_spatial_dimensions padding ' +
      'precision_config rhs_dilation window_reversal window_strides']: 'convolution_v1 dynamic_conv_v1',
    replica_groups: 'cross-replica-sum_v1',
    ['api_version backend_config call_target_name called_computations has_side_effect ' +
      'operand_layouts output_operand_aliases result_layouts']: 'custom_call_v1',
    ['api_version backend_config call_target_name called_computations has_side_effect ' +
      'operand_layouts output_operand_aliases result_layouts result_tilings']: 'custom_call_v2',
    ['lhs_batching_dimensions lhs_contracting_dimensions precision_config ' +
      'rhs_batching_dimensions rhs_contracting_dimensions']: 'dot_general_v1',
    ['accumulation_type allow_imprecise_accumulation lhs_batching_dimensions ' +
      'lhs_component_count lhs_contracting_dimensions lhs_precision_type ' +
      'num_primitive_operations precision_config rhs_batching_dimensions rhs_component_count ' +
      'rhs_contracting_dimensions rhs_precision_type']: 'dot_general_v2',
    'broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions': 'dynamic_broadcast_in_dim_v1',
    ['batch_group_count feature_group_count input_batch_dimension input_feature_dimension ' +
      'input_spatial_dimensions kernel_input_feature_dimension ' +
      'kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation ' +
      'output_batch_dimension output_feature_dimension output_spatial_dimensions ' +
      'precision_config rhs_dilation window_reversal window_strides']: 'dynamic_conv_v2',
    'collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map': 'dynamic_gather_v1',
    ['collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims ' +
      'operand_batching_dims start_index_map start_indices_batching_dims']: 'dynamic_gather_v2',
    iota_dimension: 'dynamic_iota_v1 iota_v1',
    slice_sizes: 'dynamic_slice_v1',
    einsum_config: 'einsum_v1 unary_einsum_v1',
    'fft_length fft_type': 'fft_v1',
    'arg_attrs function_type res_attrs sym_name sym_visibility': 'func_v1',
    ['collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes ' +
      'start_index_map']: 'gather_v1',
    ['collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims ' +
      'operand_batching_dims slice_sizes start_index_map start_indices_batching_dims']: 'gather_v2',
    index: 'get_tuple_element_v1',
    'infeed_config layout': 'infeed_v1',
    dimensions: 'map_v1 reduce_v1 reverse_v1',
    outfeed_config: 'outfeed_v1',
    'edge_padding_high edge_padding_low interior_padding': 'pad_v1',
    'channel_id channel_type is_host_transfer': 'recv_v1 send_v1',
    'channel_id channel_type is_host_transfer source_target_pairs': 'recv_v2 send_v2',
    'exponent_bits mantissa_bits': 'reduce_precision_v1',
    'channel_id replica_groups scatter_dimension use_global_device_ids': 'reduce_scatter_v1',
    'base_dilations padding window_dilations window_dimensions window_strides': 'reduce_window_v1',
    rng_algorithm: 'rng_bit_generator_v1',
    rng_distribution: 'rng_v1',
    ['index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims ' +
      'unique_indices update_window_dims']: 'scatter_v1',
    ['index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims ' +
      'scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices ' +
      'update_window_dims']: 'scatter_v2',
    'padding window_dimensions window_strides': 'select_and_scatter_v1',
    'limit_indices start_indices strides': 'slice_v1',
    'dimension is_stable': 'sort_v1',
    'batch_dims dim': 'torch_index_select_v1',
    permutation: 'transpose_v1',
    'left_side lower transpose_a unit_diagonal': 'triangular_solve_v1',
  }),
  ...table('stablehlo', STABLEHLO),
  ...table('mhlo', { ...STABLEHLO, ...MHLO }),
  ...table('arith', { value: 'constant' }),
  ...table('chlo', {
    'broadcast_dimensions?': 'broadcast_zeta broadcast_complex broadcast_add broadcast_and broadcast_atan2 ' +
      'broadcast_divide broadcast_maximum broadcast_minimum broadcast_multiply ' +
      'broadcast_next_after broadcast_or broadcast_polygamma broadcast_power ' +
      'broadcast_remainder broadcast_shift_left broadcast_shift_right_arithmetic ' +
      'broadcast_shift_right_logical broadcast_subtract broadcast_xor',
    value: 'constant constant_like',
    'broadcast_dimensions? compare_type? comparison_direction': 'broadcast_compare',
    'precision_config? ragged_dot_dimension_numbers': 'ragged_dot',
    'is_stable+ k': 'top_k',
    'dimension is_associative? is_reverse? scan_dim_size?': 'scan',
  }),
  ...table('func', {
    'arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?': 'func',
    'arg_attrs? callee no_inline? res_attrs?': 'call',
  }),
  ...table('builtin', {
    'sym_name? sym_visibility?': 'module',
  }),
  ...table('sdy', {
    'mesh sym_name': 'mesh',
    sharding: 'sharding_constraint reshard',
    'sharding?': 'data_flow_edge',
    value: 'constant',
    group_id: 'sharding_group',
    allowed_direction: 'propagation_barrier',
    out_sharding: 'collective_permute',
    'gathering_axes out_sharding': 'all_gather',
    'out_sharding slicing_axes': 'all_slice',
    'out_sharding params': 'all_to_all',
    'out_sharding reduction_axes reduction_op?': 'all_reduce',
    'out_sharding reduce_scatter_axes reduction_op?': 'reduce_scatter',
    'axes out_sharding': 'replicated_to_unreduced sharded_to_unreduced',
    'in_shardings? name out_shardings?': 'named_computation',
    'in_shardings manual_axes out_shardings': 'manual_computation',
  }),
]);
