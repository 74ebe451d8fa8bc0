"""dot and convolution at the edges of tiles, blocks and chunks, and in every way that kernels take.

Operands are whole numbers made from iota, and of the results only checksums are kept: as integers,
modulo 2^32, the sums over all other dimensions of the elements times different odd numbers. One for
the last dimension, and one for all others as one."""

import jax.numpy as jnp
import numpy as np

from corpus import family, reducer
from family_dot import dot_text
from harness import COMPLEX, DTYPES
from values import small_ints

SEED = np.int32(37)
ADD = reducer('add', 'add', 's32')


def shape_text(type_, shape):
  return f'{type_}[{",".join(map(str, shape))}]'


def whole(name, type_, shape, modulus):
  """Lines that make whole numbers around 0 (or from 0 up if unsigned) that look shuffled."""
  total = int(np.prod(shape))
  real = {'c64': 'f32', 'c128': 'f64'}.get(type_, type_)
  shift = 0 if type_[0] == 'u' else modulus // 2

  def part(prefix, factor):
    return (f'{prefix}i = s32[{total}] iota(), iota_dimension=0\n'
            f'{prefix}f = s32[] constant({factor})\n'
            f'{prefix}g = s32[] add(p0, {prefix}f)\n'
            f'{prefix}G = s32[{total}] broadcast({prefix}g), dimensions={{}}\n'
            f'{prefix}j = s32[{total}] multiply({prefix}i, {prefix}G)\n'
            f'{prefix}p = s32[] constant(7919)\n'
            f'{prefix}P = s32[{total}] broadcast({prefix}p), dimensions={{}}\n'
            f'{prefix}q = s32[{total}] remainder({prefix}j, {prefix}P)\n'
            f'{prefix}m = s32[] constant({modulus})\n'
            f'{prefix}M = s32[{total}] broadcast({prefix}m), dimensions={{}}\n'
            f'{prefix}r = s32[{total}] remainder({prefix}q, {prefix}M)\n'
            f'{prefix}s = s32[] constant({shift})\n'
            f'{prefix}S = s32[{total}] broadcast({prefix}s), dimensions={{}}\n'
            f'{prefix}d = s32[{total}] subtract({prefix}r, {prefix}S)\n'
            f'{prefix}c = {real}[{total}] convert({prefix}d)\n')

  if type_ not in COMPLEX:
    return part(name, 0) + f'{name} = {shape_text(type_, shape)} reshape({name}c)\n'
  return (part(name + 'x', 0) + part(name + 'y', 64) +
          f'{name}z = {type_}[{total}] complex({name}xc, {name}yc)\n'
          f'{name} = {shape_text(type_, shape)} reshape({name}z)\n')


def checksums(type_, shape):
  """Lines after those that make the result `x`."""
  columns = shape[-1] if shape else 1
  rows = int(np.prod(shape)) // columns
  lines, parts = '', [('x', type_)]
  if type_ in COMPLEX:
    real = 'f32' if type_ == 'c64' else 'f64'
    lines = ''.join(f'x{part} = {shape_text(real, shape)} {part}(x)\n' for part in ('real', 'imag'))
    parts = [('xreal', real), ('ximag', real)]
  outs = []
  for name, _ in parts:
    lines += (f'{name}v = s32[{",".join(map(str, shape))}] convert({name})\n'
              f'{name}w = s32[{rows},{columns}] reshape({name}v)\n')
    for kept, size, other in ((0, rows, 1), (1, columns, 0)):
      o = f'{name}{kept}'
      lines += (f'{o}i = s32[{rows},{columns}] iota(), iota_dimension={other}\n'
                f'{o}a = s32[{rows},{columns}] add({o}i, {o}i)\n'
                f'{o}u = s32[] constant(1)\n'
                f'{o}U = s32[{rows},{columns}] broadcast({o}u), dimensions={{}}\n'
                f'{o}o = s32[{rows},{columns}] add({o}a, {o}U)\n'
                f'{o}m = s32[{rows},{columns}] multiply({name}w, {o}o)\n'
                f'{o}z = s32[] constant(0)\n'
                f'{o} = s32[{size}] reduce({o}m, {o}z), dimensions={{{other}}}, to_apply=add\n')
      outs.append((o, f's32[{size}]'))
  return lines + (f'ROOT r = ({", ".join(s for _, s in outs)}) '
                  f'tuple({", ".join(o for o, _ in outs)})')


def case(f, name, lhs, rhs, out, text, types='f32', moduli=(11, 13)):
  """`text`: the operation, of operands a and b. `types`: one for all, or of lhs, rhs and result."""
  lhs_type, rhs_type, out_type = [types] * 3 if isinstance(types, str) else types
  label = types if isinstance(types, str) else '.'.join(types)
  f.hlo(f'{name}.{label}', None, whole('a', lhs_type, lhs, moduli[0]) + whole(
      'b', rhs_type, rhs, moduli[1]) + f'x = {shape_text(out_type, out)} {text}\n' +
        checksums(out_type, out), SEED, computations=ADD, check=False)


def dot(f, m, k, n, orders='nn', **more):
  """Orders: n for the contracted dimension last in lhs, first in rhs; t for the other way."""
  lhs, lc = ((m, k), 1) if orders[0] == 'n' else ((k, m), 0)
  rhs, rc = ((k, n), 0) if orders[1] == 'n' else ((n, k), 1)
  text = dot_text('', (lc,), (rc,), (), ()).replace('p0, p1', 'a, b').split('=', 1)[1].strip()
  case(f, f'dot.{orders}.{m}x{k}x{n}', lhs, rhs, (m, n), text, **more)


def general(f, name, lhs, rhs, lc, rc, lb, rb, out, **more):
  text = dot_text('', lc, rc, lb, rb).replace('p0, p1', 'a, b').split('=', 1)[1].strip()
  case(f, f'dot.{name}', lhs, rhs, out, text, **more)


def conv(f, name, lhs, rhs, out, window, labels='b01f_01io->b01f', attributes='', **more):
  case(f, f'convolution.{name}', lhs, rhs, out,
       f'convolution(a, b), window={{{window}}}, dim_labels={labels}{attributes}', **more)


TYPES = ('f64', 's32', 's64', 'c64', 'c128', 'f16', 'bf16', 'u16', 's8', 'u8', 'f8e4m3fn',
         ('s8', 's8', 's32'), ('u8', 's8', 's32'), ('bf16', 'bf16', 'f32'), ('f32', 'f32', 'f64'))


def small(type_):
  """Moduli of operands whose products' sums are exact in these types, and what fits in them."""
  return (3, 3) if 'f8' in str(type_) else (5, 5) if '16' in str(type_) else (11, 13)


@family
def contractions(f):
  # Tiles of 256 x 128, blocks of 64 rows and of 256 of the depth, panels of 4 x 8.
  for m, k, n in ((257, 67, 129), (64, 257, 130), (65, 256, 8), (5, 600, 9), (300, 31, 7)):
    for orders in ('nn', 'nt', 'tn', 'tt'):
      dot(f, m, k, n, orders)
  for m, k, n in ((6, 5000, 7), (70, 2100, 5)):  # the depth is split
    for orders in ('nn', 'tt'):
      dot(f, m, k, n, orders, moduli=(5, 7))
  dot(f, 6, 5000, 7, types='bf16', moduli=(2, 2))
  for type_ in TYPES:
    for orders in ('nn', 'tt'):
      dot(f, 67, 133, 41, orders, types=type_, moduli=small(type_))
    dot(f, 9, 514, 18, 'tn', types=type_, moduli=small(type_))
  for rows in (1, 2, 3):  # few rows, few columns
    for orders in ('nn', 'nt', 'tn', 'tt'):
      dot(f, rows, 261, 307, orders)
      dot(f, 307, 261, rows, orders)
    for orders in ('nn', 'nt'):
      dot(f, rows, 2600, 5, orders, moduli=(5, 7))
      dot(f, rows, 5, 1300, orders)
    for type_ in TYPES if rows != 2 else ():
      dot(f, rows, 67, 131, 'nn', types=type_, moduli=small(type_))
      dot(f, rows, 67, 33, 'nt', types=type_, moduli=small(type_))
  dot(f, 1, 5000, 1, moduli=(5, 7))
  general(f, 'batch', (9, 33, 20), (9, 20, 17), (2,), (1,), (0,), (0,), (9, 33, 17))
  general(f, 'batch-inside', (20, 9, 33), (17, 20, 9), (0,), (1,), (1,), (2,), (9, 33, 17))
  general(f, 'batch-of-vectors', (40, 1, 30), (40, 30, 50), (2,), (1,), (0,), (0,), (40, 1, 50))
  general(f, 'batch-of-sums', (40, 70), (70, 40), (1,), (0,), (0,), (1,), (40,))
  general(f, 'many-small', (600, 3, 5), (600, 5, 2), (2,), (1,), (0,), (0,), (600, 3, 2))
  general(f, 'apart', (5, 6, 7, 8), (8, 9, 6, 10), (1, 3), (2, 0), (), (), (5, 7, 9, 10))
  general(f, 'apart-and-batch', (5, 6, 3, 8), (3, 8, 9, 6), (1, 3), (3, 1), (2,), (0,), (3, 5, 9))

  # Convolutions: rows are 300 and more, features around panels.
  for i, o in ((1, 5), (3, 8), (8, 3), (17, 33), (64, 1)):
    conv(f, f'3x3.{i}x{o}', (2, 13, 14, i), (3, 3, i, o), (2, 13, 14, o), 'size=3x3 pad=1_1x1_1')
    conv(f, f'nchw.{i}x{o}', (2, i, 13, 14), (o, i, 3, 3), (2, o, 13, 14), 'size=3x3 pad=1_1x1_1',
         'bf01_oi01->bf01')
  conv(f, '7x7.strided', (1, 37, 41, 3), (7, 7, 3, 16), (1, 19, 21, 16),
       'size=7x7 stride=2x2 pad=3_3x3_3')
  conv(f, '1x1', (3, 11, 10, 37), (1, 1, 37, 29), (3, 11, 10, 29), 'size=1x1')
  conv(f, '1x1.strided', (1, 21, 20, 12), (1, 1, 12, 20), (1, 7, 10, 20), 'size=1x1 stride=3x2')
  conv(f, 'atrous', (1, 19, 17, 5), (3, 3, 5, 6), (1, 19, 17, 6),
       'size=3x3 pad=4_4x2_2 rhs_dilate=4x2')
  conv(f, 'cropped', (1, 19, 17, 5), (3, 3, 5, 6), (1, 13, 15, 6), 'size=3x3 pad=-3_-1x2_-2',
       types='f64')
  for dilation, size, out in ((2, 3, 26), (3, 4, 38), (3, 2, 36), (4, 1, 37), (5, 3, 47)):
    conv(f, f'transposed.{dilation}.{size}', (1, 10, 10, 4), (size, size, 4, 5), (1, out, out, 5),
         f'size={size}x{size} pad={out - 10 * dilation + dilation + size - 4}_2x2_'
         f'{out - 10 * dilation + dilation + size - 4} lhs_dilate={dilation}x{dilation}')
  conv(f, 'dilated.strided', (1, 9, 12, 3), (4, 3, 3, 7), (1, 14, 17, 7),
       'size=4x3 stride=2x3 pad=3_6x2_6 lhs_dilate=3x4 rhs_dilate=2x2 rhs_reversal=1x1')
  conv(f, 'dilated.even', (1, 9, 12, 3), (4, 3, 3, 7), (1, 10, 12, 7),
       'size=4x3 stride=2x2 pad=3_5x2_2 lhs_dilate=2x2 rhs_dilate=2x2 rhs_reversal=0x1')
  conv(f, '1d', (3, 150, 9), (5, 9, 10), (3, 150, 10), 'size=5 pad=2_2', 'b0f_0io->b0f')
  conv(f, '1d.full', (1, 100, 1), (90, 1, 1), (1, 189, 1), 'size=90 pad=89_89 rhs_reversal=1',
       'b0f_0io->b0f')
  conv(f, '3d', (1, 6, 7, 8, 5), (3, 2, 3, 5, 6), (1, 6, 8, 4, 6),
       'size=3x2x3 stride=1x1x2 pad=1_1x1_1x1_1', 'b012f_012io->b012f')
  conv(f, 'labels', (5, 9, 2, 11), (4, 3, 5, 3), (11, 4, 9, 2), 'size=3x3 pad=1_1x1_1',
       'f0b1_o1i0->1f0b')
  conv(f, 'grouped', (1, 9, 9, 24), (3, 3, 4, 30), (1, 9, 9, 30), 'size=3x3 pad=1_1x1_1',
       attributes=', feature_group_count=6')
  conv(f, 'grouped.nchw', (1, 24, 9, 9), (30, 4, 3, 3), (1, 30, 9, 9), 'size=3x3 pad=1_1x1_1',
       'bf01_oi01->bf01', ', feature_group_count=6')
  conv(f, 'batch-grouped', (6, 9, 9, 4), (3, 3, 4, 12), (2, 9, 9, 12), 'size=3x3 pad=1_1x1_1',
       attributes=', batch_group_count=3')
  for type_ in (t for t in TYPES if t != ('u8', 's8', 's32')):  # XLA:CPU refuses those
    conv(f, 'typed', (1, 12, 13, 5), (3, 3, 5, 11), (1, 12, 13, 11), 'size=3x3 pad=1_1x1_1',
         types=type_, moduli=small(type_))
    conv(f, 'typed.pointwise', (1, 12, 13, 5), (1, 1, 5, 11), (1, 12, 13, 11), 'size=1x1',
         types=type_, moduli=small(type_))

  # The gradient of a kernel: windows as large as images.
  conv(f, 'filter-gradient', (2, 21, 19, 6), (2, 21, 19, 10), (3, 3, 6, 10),
       'size=21x19 pad=1_1x1_1', 'f01b_i01o->01bf', moduli=(5, 7))
  conv(f, 'filter-gradient.strided', (2, 21, 19, 6), (2, 11, 10, 10), (3, 3, 6, 10),
       'size=11x10 pad=1_1x1_1 rhs_dilate=2x2', 'f01b_i01o->01bf', moduli=(5, 7))
  conv(f, 'filter-gradient.nchw', (2, 6, 21, 19), (2, 10, 21, 19), (10, 6, 3, 3),
       'size=21x19 pad=1_1x1_1', 'fb01_io01->fb01', moduli=(5, 7))
  conv(f, 'filter-gradient.large', (3, 40, 40, 1), (3, 40, 40, 3), (3, 3, 1, 3),
       'size=40x40 pad=1_1x1_1', 'f01b_i01o->01bf', moduli=(5, 7))

  # Depthwise: vectors of lanes, and the rest of them.
  for c in (4, 5, 8, 11, 30, 131):
    depthwise = f', feature_group_count={c}'
    conv(f, f'depthwise.{c}', (2, 9, 10, c), (3, 3, 1, c), (2, 9, 10, c), 'size=3x3 pad=1_1x1_1',
         attributes=depthwise)
    conv(f, f'depthwise.strided.{c}', (2, 9, 10, c), (3, 2, 1, c), (2, 5, 4, c),
         'size=3x2 stride=2x3 pad=1_1x1_0', attributes=depthwise)
    conv(f, f'depthwise.transposed.{c}', (1, 5, 6, c), (3, 3, 1, c), (1, 11, 15, c),
         'size=3x3 pad=2_2x0_1 lhs_dilate=2x3 rhs_reversal=1x1',
         attributes=depthwise)
    conv(f, f'depthwise.filter-gradient.{c}', (2, 13, 12, c), (2, 13, 12, c), (3, 3, 1, c),
         'size=13x12 pad=1_1x1_1', 'f01b_i01o->01bf', f', batch_group_count={c}')
  conv(f, 'depthwise.atrous', (1, 15, 14, 16), (3, 3, 1, 16), (1, 15, 14, 16),
       'size=3x3 pad=3_3x2_2 rhs_dilate=3x2 rhs_reversal=0x1', attributes=', feature_group_count=16')
  conv(f, 'depthwise.cropped', (1, 15, 14, 16), (3, 3, 1, 16), (1, 10, 9, 16),
       'size=3x3 pad=-2_-1x-4_1', attributes=', feature_group_count=16', types='f64')
  conv(f, 'depthwise.padding', (1, 2, 3, 16), (3, 3, 1, 16), (1, 10, 12, 16),
       'size=3x3 pad=5_5x6_5', attributes=', feature_group_count=16')
  conv(f, 'depthwise.1d', (3, 90, 7), (4, 1, 7), (3, 90, 7), 'size=4 pad=3_0', 'b0f_0io->b0f',
       ', feature_group_count=7')
  conv(f, 'depthwise.3d', (1, 5, 6, 7, 6), (2, 3, 3, 1, 6), (1, 6, 6, 7, 6),
       'size=2x3x3 pad=1_1x1_1x1_1', 'b012f_012io->b012f', ', feature_group_count=6')
  conv(f, 'depthwise.0d', (5, 6), (1, 6), (5, 6), '', 'bf_io->bf', ', feature_group_count=6')
  conv(f, 'depthwise.multiplied', (1, 9, 10, 5), (3, 3, 1, 10), (1, 9, 10, 10),
       'size=3x3 pad=1_1x1_1', attributes=', feature_group_count=5')
  conv(f, 'depthwise.nchw', (1, 7, 19, 21), (7, 1, 3, 3), (1, 7, 19, 21), 'size=3x3 pad=1_1x1_1',
       'bf01_oi01->bf01', ', feature_group_count=7')
  for type_ in (t for t in TYPES if t != ('u8', 's8', 's32')):
    conv(f, 'depthwise.typed', (1, 9, 10, 21), (3, 3, 1, 21), (1, 9, 10, 21),
         'size=3x3 pad=1_1x1_1', attributes=', feature_group_count=21', types=type_,
         moduli=small(type_))

  # Arrays that are repeated along batches, and rows that begin or end with zeros.
  for type_ in ('f32', 'bf16'):
    for rows in (1, 7):
      f.jax(f'shared.heads.{type_}.{rows}', lambda q, k: jnp.einsum('bqhd,bthd->bhqt', q, jnp.repeat(k, 4, axis=2).astype(q.dtype)),
            small_ints('f32', (1, rows, 12, 32)), small_ints('f32', (1, 24, 3, 32), 'k').astype(DTYPES[type_]))
  f.jax('shared.values', lambda p, v: jnp.einsum('bhqt,bthd->bqhd', p, jnp.repeat(v, 4, axis=2)),
        small_ints('f32', (1, 12, 1, 24)), small_ints('f32', (1, 24, 3, 32), 'v'))
  for special in (0, np.inf, np.nan):
    y = small_ints('f32', (3, 40, 21), 'y')
    y[1, 20, 3] = special
    f.jax(f'zero.rows.{special}', lambda x, y, g: jnp.einsum('gmk,gkn->mn', jnp.where((jnp.arange(3)[:, None] == g)[:, :, None], x, 0), y),
          small_ints('f32', (40, 40)), y, np.repeat(np.arange(3, dtype=np.int32), [10, 7, 23]))
  for type_ in ('f8e4m3fn', 'f8e5m2', 'f16'):
    f.jax(f'rounded.{type_}', lambda x, y: (x @ y).astype(DTYPES[type_]), small_ints('f32', (40, 24)) * np.float32(0.5) ** np.arange(40, dtype=np.float32)[:, None],
          small_ints('f32', (24, 36), 'y'), tol='exact')
    f.jax(f'typed.{type_}', lambda x, y: x @ y, (small_ints('f32', (40, 24)) / 4).astype(DTYPES[type_]), (small_ints('f32', (24, 36), 'y') / 4).astype(DTYPES[type_]))
