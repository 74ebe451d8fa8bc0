"""convolution; exact on small whole numbers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family
from values import normals, small_ints

# lhs, rhs, window, dim_labels, result, more
CONVS = {
    'plain2d': ((1, 5, 6, 2), (3, 3, 2, 4), 'size=3x3', 'b01f_01io->b01f', (1, 3, 4, 4), ''),
    'nchw': ((2, 3, 5, 5), (4, 3, 3, 3), 'size=3x3', 'bf01_oi01->bf01', (2, 4, 3, 3), ''),
    'same': ((1, 4, 4, 2), (3, 3, 2, 3), 'size=3x3 pad=1_1x1_1', 'b01f_01io->b01f', (1, 4, 4, 3),
             ''),
    'stride': ((1, 7, 7, 1), (3, 2, 1, 2), 'size=3x2 stride=2x3', 'b01f_01io->b01f', (1, 3, 2, 2),
               ''),
    'pad-uneven': ((1, 4, 5, 1), (2, 3, 1, 1), 'size=2x3 pad=1_0x0_2', 'b01f_01io->b01f',
                   (1, 4, 5, 1), ''),
    'pad-negative': ((1, 6, 6, 1), (3, 3, 1, 2), 'size=3x3 pad=-1_0x0_-1', 'b01f_01io->b01f',
                     (1, 3, 3, 2), ''),
    'lhs-dilate': ((1, 3, 4, 2), (3, 3, 2, 2), 'size=3x3 pad=1_1x2_1 lhs_dilate=2x3',
                   'b01f_01io->b01f', (1, 5, 11, 2), ''),
    'rhs-dilate': ((1, 7, 8, 1), (3, 2, 1, 2), 'size=3x2 rhs_dilate=2x3', 'b01f_01io->b01f',
                   (1, 3, 5, 2), ''),
    'reversal': ((1, 5, 5, 1), (3, 3, 1, 2), 'size=3x3 rhs_reversal=1x0', 'b01f_01io->b01f',
                 (1, 3, 3, 2), ''),
    'transposed': ((1, 3, 3, 2), (3, 3, 2, 3), 'size=3x3 pad=2_1x2_1 lhs_dilate=2x2 '
                   'rhs_reversal=1x1', 'b01f_01io->b01f', (1, 6, 6, 3), ''),
    'everything': ((2, 4, 5, 4), (2, 3, 2, 6),
                   'size=2x3 stride=2x1 pad=1_2x-1_3 lhs_dilate=2x1 rhs_dilate=1x2',
                   'b01f_01io->b01f', (2, 5, 3, 6), ', feature_group_count=2'),
    'feature-group': ((1, 4, 4, 6), (2, 2, 2, 6), 'size=2x2', 'b01f_01io->b01f', (1, 3, 3, 6),
                      ', feature_group_count=3'),
    'depthwise': ((1, 4, 4, 3), (2, 2, 1, 6), 'size=2x2', 'b01f_01io->b01f', (1, 3, 3, 6),
                  ', feature_group_count=3'),
    'batch-group': ((4, 4, 4, 3), (2, 2, 3, 4), 'size=2x2', 'b01f_01io->b01f', (2, 3, 3, 4),
                    ', batch_group_count=2'),
    'batch-group-all': ((3, 4, 4, 2), (2, 2, 2, 3), 'size=2x2', 'b01f_01io->b01f', (1, 3, 3, 3),
                        ', batch_group_count=3'),
    'one-d': ((2, 8, 3), (3, 3, 4), 'size=3 stride=2 pad=1_1', 'b0f_0io->b0f', (2, 4, 4), ''),
    'one-d-swapped': ((3, 2, 8), (4, 3, 3), 'size=3', 'fb0_oi0->0bf', (6, 2, 4), ''),
    'zero-d': ((3, 4), (4, 5), '', 'bf_io->bf', (3, 5), ''),
    'three-d': ((1, 3, 4, 3, 2), (2, 2, 2, 2, 3), 'size=2x2x2', 'b012f_012io->b012f',
                (1, 2, 3, 2, 3), ''),
    'odd-labels': ((4, 1, 2, 5), (3, 2, 2, 2), 'size=3x2 pad=1_1x0_1', '0bf1_0io1->1f0b',
                   (5, 2, 4, 1), ''),
    'pointwise': ((2, 3, 3, 4), (1, 1, 4, 5), 'size=1x1', 'b01f_01io->b01f', (2, 3, 3, 5), ''),
    'single': ((2, 1, 5, 13), (1, 1, 3, 3), 'size=3x3 pad=1_1x1_1', 'bf01_oi01->bf01', (2, 1, 5, 13), ''),
    'single-everything': ((1, 7, 16, 1), (2, 3, 1, 1),
                          'size=2x3 pad=1_2x-1_3 rhs_dilate=1x2 rhs_reversal=1x0',
                          'b01f_01io->b01f', (1, 9, 14, 1), ''),
    'single-row': ((3, 1, 20), (1, 1, 5), 'size=5 pad=2_2', 'bf0_oi0->bf0', (3, 1, 20), ''),
    'depthwise-rows': ((2, 3, 4, 12), (3, 1, 2, 3), 'size=2x3 pad=0_0x1_1', 'bf01_oi01->fb01',
                       (3, 2, 3, 12), ', feature_group_count=3'),
    'batch0': ((0, 4, 4, 1), (2, 2, 1, 1), 'size=2x2', 'b01f_01io->b01f', (0, 3, 3, 1), ''),
    'kernel-large': ((1, 2, 2, 1), (3, 3, 1, 1), 'size=3x3', 'b01f_01io->b01f', (1, 0, 0, 1), ''),
}


def dims(values):
  return ','.join(map(str, values))


def convs(f, type_, names, result_type=None):
  result_type = result_type or type_
  for name in names:
    lhs, rhs, window, labels, result, more = CONVS[name]
    window = f'window={{{window}}}, ' if window else ''
    label = type_ if result_type == type_ else f'{type_}.{result_type}'
    f.hlo(f'convolution.{label}.{name}', None,
          f'r = {result_type}[{dims(result)}] convolution(p0, p1), {window}dim_labels={labels}'
          f'{more}', small_ints(type_, lhs, name, low=-2, high=3),
          small_ints(type_, rhs, name, 'kernel', low=-2, high=3))


@family
def convolution(f):
  convs(f, 'f32', CONVS)
  for type_ in ('s32', 'f64'):
    convs(f, type_, ('nchw', 'lhs-dilate', 'everything', 'batch-group', 'reversal', 'one-d',
                     'single-everything', 'depthwise-rows'))
  for type_ in ('s8', 'u8', 's16', 'u32', 's64', 'f16', 'bf16', 'c64', 'c128', 'u64', 'u16'):
    convs(f, type_, ('plain2d', 'everything', 'one-d'))
  convs(f, 's8', ('plain2d',), 's32')
  convs(f, 'pred', ('plain2d', 'everything', 'one-d'))
  convs(f, 'bf16', ('plain2d',), 'f32')
  for type_ in ('f32', 's32'):
    f.hlo(f'convolution.{type_}.single-constant', None,
          f'k = {type_}[1,1,2,3] constant({{{{{{{{1,0,-2}},{{-1,1,3}}}}}}}})\n'
          f'  r = {type_}[1,1,4,16] convolution(p0, k), window={{size=2x3 pad=0_1x1_1}}, '
          'dim_labels=bf01_oi01->bf01', small_ints(type_, (1, 1, 4, 16), 'single', low=-2, high=3))
  convs(f, 'f8e5m2', ('one-d',))
  x, k = normals('f32', (1, 8, 8, 3), 'x'), normals('f32', (3, 3, 3, 8), 'k')
  size = float(lax.conv_general_dilated(np.abs(x), np.abs(k), (1, 1), 'SAME', dimension_numbers=(
      'NHWC', 'HWIO', 'NHWC')).max())
  f.hlo('convolution.f32.random', None,
        'r = f32[1,8,8,8] convolution(p0, p1), window={size=3x3 pad=1_1x1_1}, '
        'dim_labels=b01f_01io->b01f', x, k, tol=f'abs {2 * 2.0**-23 * size:.3g} rel 0')
  x, k = small_ints('f32', (2, 6, 6, 2), 'x'), small_ints('f32', (3, 3, 2, 3), 'k')

  def loss(x, k):
    y = lax.conv_general_dilated(x, k, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    return jnp.sum(y * y)
  f.jax('conv.grad', jax.grad(loss, (0, 1)), x, k)
  f.jax('conv.transpose', lambda x, k: lax.conv_transpose(x, k, (2, 2), 'SAME'), x, k)
  f.jax('conv.depthwise', lambda x, k: lax.conv_general_dilated(
      x, k, (1, 1), 'SAME', feature_group_count=2, rhs_dilation=(2, 1),
      dimension_numbers=('NHWC', 'HWIO', 'NHWC')), x, small_ints('f32', (3, 3, 1, 4)))
  f.jax('conv.patches', lambda x: lax.conv_general_dilated_patches(
      x, (2, 2), (2, 2), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), x)
  f.jax('np.convolve', jnp.convolve, small_ints('f32', (7,)), small_ints('f32', (3,)))
