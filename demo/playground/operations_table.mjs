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
  collapsed_slice_dims: 'Dimensions of the operand of which a slice has one element, and that the result has not.',
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
};

const words = (text) => text.split(/[\s"]+/).filter(Boolean);

/** @returns {Promise<{ operations: object[], attributes: object[], types: string[] }>} */
export async function operationsTable() {
  const [opcodes, attributes] = await Promise.all([read('src/hlo/ir/opcodes.def'), read('src/hlo/ir/attributes.def')]);
  const methods = new Map(Array.from((await read('docs/operations.md')).matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm),
    ([, name, list]) => [name, Array.from(list.matchAll(/`(\w+)`/g), ([, method]) => method)]));
  const texts = new Map(EXAMPLES.flatMap(([, list]) => list.map(({ operation, text }) => [operation, text])));
  const row = /^OPCODE\(\w+, "([^"]+)", (\w+), \w+,\s*((?:"[^"]*"\s*)+)\)/gm;
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
