/**
 * Makes the editor's table of operations and attributes from the core's own tables. Runs in Node when
 * the site is built; the page imports it as 'virtual:operations'.
 */
import { readFile } from 'node:fs/promises';

import { DOCS } from '../../bindings/tools/declarations/operations.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { EXAMPLES } from './examples.mjs';

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

/** An example value of each kind of attribute. */
const KINDS = {
  INT64_LIST: '{0,1}', INT64: '1', BOOL: 'true', FLOAT: '0.001', STRING: '"text"',
  COMPUTATION: 'computation', COMPUTATION_LIST: '{first, second}', INSTRUCTION_LIST: '{x, y}',
  COMPARISON_DIRECTION: 'LT', COMPARISON_TYPE: 'TOTALORDER', SLICE: '{[0:4:2]}',
  PADDING: '1_1x0_0_1', WINDOW: '{size=3x3 stride=2x2 pad=1_1x1_1}', PRECISION_LIST: '{highest,highest}',
  CONV_DIMS: 'b01f_01io->b01f', FFT_TYPE: 'FFT', TRANSPOSE: 'NO_TRANSPOSE',
  RANDOM_DISTRIBUTION: 'rng_uniform', RANDOM_ALGORITHM: 'rng_three_fry',
  REPLICA_GROUPS: '{{0,1},{2,3}}', PAIR_LIST: '{{0,1},{1,0}}', SHAPE: 'f32[2]',
  SHAPE_LIST: '{f32[2]}', FUSION_KIND: 'kLoop',
};

/** The meanings of attributes whose names do not say it. */
const MEANINGS = {
  dimensions: 'The dimensions that are meant; what for, the operation says.',
  to_apply: 'The computation that combines elements, or that is called.',
  slice_sizes: 'The size of each slice, one number a dimension of the operand.',
  dynamic_slice_sizes: 'The size of the slice, one number a dimension.',
  offset_dims: 'Dimensions of the result that run along a slice.',
  collapsed_slice_dims: 'Dimensions of the operand in which a slice has one element. The result lacks them.',
  start_index_map: 'Component i of an index is a position in this dimension of the operand.',
  index_vector_dim: 'The dimension of the indices along which the components of one index are.',
  update_window_dims: 'Dimensions of the updates that run along a window.',
  inserted_window_dims: 'Dimensions of the operand that a window has not.',
  scatter_dims_to_operand_dims: 'Component i of an index is a position in this dimension of the operand.',
  lhs_contracting_dims: 'Dimensions of the left operand that are summed over.',
  rhs_contracting_dims: 'Dimensions of the right operand that are summed over.',
  lhs_batch_dims: 'Dimensions of the left operand that both have, and the result too.',
  rhs_batch_dims: 'Dimensions of the right operand that both have, and the result too.',
  replica_groups: 'Who meets whom; {} is all.',
  channel_id: 'Operations of the same channel meet. With one, groups are of other devices: see the page on meshes.',
  source_target_pairs: 'Who sends to whom.',
  window: 'Its size in each dimension; stride, pad, lhs_dilate, rhs_dilate and rhs_reversal as wanted.',
  padding: 'low_high of each dimension, x between them; low_high_interior with gaps between elements.',
  dim_labels: 'Input, kernel -> output: b batch, f feature, i and o of the kernel, 0, 1, ... spatial.',
  calls: 'The computation that is the body.',
  direction: 'EQ, NE, GE, GT, LE or LT.',
  index: 'The number of the element.',
  iota_dimension: 'The dimension along which it counts.',
  is_stable: 'Whether equal elements keep their order.',
  inferred_dimension: 'The dimension of a dynamic reshape whose size follows from the others.',
  type: 'How elements are compared: FLOAT, TOTALORDER, SIGNED or UNSIGNED; by default as the element type says.',
  slice: '[start:limit:stride] of each dimension.',
  is_composite: 'Whether the call stands for one operation of a higher level.',
  num_carries: 'The number of carries, which are the last operands.',
  is_reverse: 'Whether it goes from the last element to the first.',
  is_associative: 'Whether the computation is associative, so that parts may be combined in another order.',
  condition: 'The computation that decides whether the loop goes on: pred[] of the state.',
  body: 'The computation that makes the next state.',
  branch_computations: 'The computations; the index chooses the one that is called.',
  true_computation: 'The computation that is called if the predicate is true.',
  false_computation: 'The computation that is called if the predicate is false.',
  select: 'The computation that compares two elements of a window; the first for which it is always true is selected.',
  scatter: 'The computation that combines an element of source with the present one.',
  lhs_ragged_dims: 'The dimension of the left operand that is cut into groups.',
  rhs_group_dims: 'The dimension of the right operand that has one entry for each group.',
  operand_precision: 'How exact each operand is: default, high or highest. Here all are highest.',
  feature_group_count: 'The number of groups into which features are cut; each has filters of its own.',
  batch_group_count: 'The number of groups into which the batch is cut; each has filters of its own.',
  operand_batching_dims: 'Dimensions of the operand that are batches; the indices have them, too.',
  start_indices_batching_dims: 'Dimensions of the indices that are batches, in the order of operand_batching_dims.',
  input_batching_dims: 'Dimensions of the operand that are batches; the indices have them, too.',
  scatter_indices_batching_dims: 'Dimensions of the indices that are batches, in the order of input_batching_dims.',
  indices_are_sorted: 'A promise that indices come in ascending order.',
  unique_indices: 'A promise that no two indices are the same.',
  k: 'The number of elements that are kept.',
  largest: 'Whether the largest elements are kept, or the smallest.',
  fft_type: 'FFT, IFFT, RFFT (of real numbers) or IRFFT (to real numbers).',
  fft_length: 'The lengths of the transformed dimensions, the last ones.',
  lower: 'Whether the lower triangle is used, or the upper one.',
  left_side: 'Whether a x = b is solved, or x a = b.',
  unit_diagonal: 'Whether the diagonal counts as ones, whatever it holds.',
  transpose_a: 'NO_TRANSPOSE, TRANSPOSE or ADJOINT: the change of a before the solve.',
  distribution: 'rng_uniform or rng_normal.',
  algorithm: 'rng_default, rng_three_fry or rng_philox.',
  exponent_bits: 'The number of exponent bits that are kept.',
  mantissa_bits: 'The number of mantissa bits that are kept.',
  epsilon: 'A small number that is added to the variance.',
  feature_index: 'The dimension of the features, which are normalised one by one.',
  use_global_device_ids: 'Whether groups list devices, or replicas and partitions.',
  is_host_transfer: 'Whether the host is at the other end of the channel.',
  infeed_config: 'A text for the host; it has no effect here.',
  outfeed_config: 'A text for the host; it has no effect here.',
  outfeed_shape: 'The shape in which the host gets the value.',
  custom_call_target: 'The name under which the function is registered.',
  operand_layout_constraints: 'The layouts in which the function takes its operands.',
  custom_call_has_side_effect: 'Whether it is called even if nothing reads its result.',
  output_to_operand_aliasing: 'Results that share their memory with operands.',
  api_version: 'The calling convention of the function.',
  literal: 'The value.',
  kind: 'kLoop, kInput, kOutput or kCustom: how the fusion is meant to be compiled.',
  called_computations: 'Computations that the function may call.',
};

const words = (text) => text.split(/[\s"]+/).filter(Boolean);

/** @returns {Promise<{ operations: object[], attributes: object[], types: string[] }>} */
export async function operationsTable() {
  const [opcodes, attributes] = await Promise.all([read('src/hlo/ir/opcodes.def'), read('src/hlo/ir/attributes.def')]);
  const methods = new Map(Array.from((await read('docs/operations.md')).matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm),
    ([, name, list]) => [name, Array.from(list.matchAll(/`(\w+)`/g), ([, method]) => method)]));
  const texts = new Map(EXAMPLES.flatMap(([, list]) => list.map(({ operation, text }) => [operation, text])));
  const row = /^OPCODE\(\w+, "([^"]+)", (\w+), \w+,\s*((?:"[^"]*"\s*)+),/gm;
  return {
    operations: Array.from(opcodes.matchAll(row), ([, name, arity, list]) => ({
      name,
      operands: arity === 'VARIADIC' ? null : Number(arity),
      attributes: words(list),
      methods: methods.get(name) ?? [],
      text: texts.get(name) ?? DOCS[methods.get(name)?.[0]] ?? '',
    })),
    attributes: Array.from(attributes.matchAll(/^ATTRIBUTE(?:_AS)?\((\w+), (?:"([^"]+)", )?\w+, (\w+),/gm),
      ([, name, text, kind]) => ({ name, label: text ?? name, example: KINDS[kind] ?? '', text: MEANINGS[name] ?? '' })),
    types: [...ELEMENT_TYPES.keys(), 'token'],
  };
}
