"""reduce-window and select-and-scatter; exact on small whole numbers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family, reducer
from harness import DTYPES, FLOATS
from values import any_bits, distinct, normals, rng, small_ints

# operand shape, window text, result shape
WINDOWS = {
    'valid': ((6,), 'size=3', (4,)),
    'stride': ((7,), 'size=3 stride=2', (3,)),
    'pad': ((5,), 'size=3 pad=1_1', (5,)),
    'pad-uneven': ((5,), 'size=2 stride=2 pad=0_1', (3,)),
    'pad-negative': ((6,), 'size=2 pad=-1_-1', (3,)),
    'window-dilation': ((7,), 'size=3 rhs_dilate=2', (3,)),
    'base-dilation': ((4,), 'size=2 lhs_dilate=2', (6,)),
    'all': ((5,), 'size=3 stride=2 pad=2_1 lhs_dilate=2 rhs_dilate=2', (4,)),
    'one': ((5,), 'size=1', (5,)),
    'rank2': ((4, 6), 'size=2x3 stride=2x2', (2, 2)),
    'rank2-pad': ((3, 4), 'size=2x2 pad=0_1x1_0', (3, 4)),
    'rank2-all': ((3, 4), 'size=2x3 stride=1x2 pad=1_0x2_2 lhs_dilate=2x1 rhs_dilate=1x2', (5, 2)),
    'reversed': ((6,), 'size=3 rhs_reversal=1', (4,)),
    'rank4': ((2, 4, 4, 3), 'size=1x2x2x1 stride=1x2x2x1', (2, 2, 2, 3)),
    'empty-window': ((2,), 'size=3', (0,)),
    'whole': ((3, 4), 'size=3x4', (1, 1)),
}


def dims(values):
  return ','.join(map(str, values))


def initial(opcode, type_):
  """The neutral value, but for one case in two of addition, where it shows up in the sum."""
  if opcode == 'maximum':
    low = -np.inf if type_ in FLOATS else np.iinfo(DTYPES[type_]).min
    return np.array(low).astype(DTYPES[type_])
  return np.array({'add': 0, 'multiply': 1, 'minimum': 100}[opcode]).astype(DTYPES[type_])


def windows(f, type_, opcode, names, init=None):
  for name in names:
    shape, window, result = WINDOWS[name]
    label = f'reduce-window.{type_}.{opcode}.{name}'
    f.hlo(label if init is None else f'{label}.init', None,
          f'r = {type_}[{dims(result)}] reduce-window(p0, p1), window={{{window}}}, to_apply=f',
          small_ints(type_, shape, name, low=-2, high=4),
          initial(opcode, type_) if init is None else np.array(init).astype(DTYPES[type_]),
          computations=reducer('f', opcode, type_), check=name != 'reversed')


def cumulative(f):
  """Enough lines for vectors of them, and for some apart."""
  for type_ in ('f32', 'f64', 'bf16', 's8', 'u64', 'c64'):
    f.jax(f'cumulative.{type_}.last', lambda x: lax.cumsum(x, axis=1),
          small_ints(type_, (7, 9), low=-2, high=3))
    f.jax(f'cumulative.{type_}.first', lambda x: lax.cumsum(x, axis=0),
          small_ints(type_, (5, 23), low=-2, high=3))
  x = small_ints('s32', (2, 6, 21), low=-9, high=9)
  for reverse in (False, True):
    f.jax(f'cumulative.middle.{reverse}', lambda x: lax.cummax(x + 1, axis=1, reverse=reverse), x)
    f.jax(f'cumulative.of-a-transpose.{reverse}',
          lambda x: lax.cumsum(x.T * 2, axis=1, reverse=reverse), x)
  f.hlo('cumulative.init', None,
        'r = f32[9] reduce-window(p0, p1), window={size=9 pad=8_0}, to_apply=f',
        small_ints('f32', (9,)), np.float32(10), computations=reducer('f', 'add', 'f32'))
  f.hlo('cumulative.longer-window', None,
        'r = f32[9] reduce-window(p0, p1), window={size=12 pad=11_0}, to_apply=f',
        small_ints('f32', (9,)), np.float32(0), computations=reducer('f', 'add', 'f32'))
  f.hlo('cumulative.minus', None,
        'r = s32[6,5] reduce-window(p0, p1), window={size=1x5 pad=0_0x4_0}, to_apply=f',
        small_ints('s32', (6, 5)), np.int32(0), computations=reducer('f', 'subtract', 's32'))
  f.hlo('cumulative.variadic', None,
        'r = (s32[9,5], f64[9,5]) reduce-window(p0, p1, p2, p3), window={size=9x1 pad=8_0x0_0}, '
        'to_apply=f', small_ints('s32', (9, 5)), small_ints('f64', (9, 5)), np.int32(3),
        np.float64(-1), computations='''f {
  a = s32[] parameter(0)
  b = f64[] parameter(1)
  c = s32[] parameter(2)
  d = f64[] parameter(3)
  e = s32[] add(a, c)
  g = f64[] maximum(b, d)
  ROOT r = (s32[], f64[]) tuple(e, g)
}''')


@family
def reduce_window(f):
  windows(f, 'f32', 'add', WINDOWS)
  windows(f, 'f32', 'maximum', WINDOWS)
  windows(f, 's32', 'minimum', ('pad', 'all', 'rank2-all'))
  windows(f, 'f32', 'add', ('pad', 'all', 'base-dilation'), init=10)
  windows(f, 's32', 'multiply', ('pad', 'stride', 'rank2'))
  for type_ in ('s8', 'u8', 's16', 'u32', 's64', 'u64', 'f16', 'bf16', 'f64'):
    windows(f, type_, 'add', ('valid', 'rank2-all'))
    windows(f, type_, 'maximum', ('pad',))
  x = normals('f32', (4, 5), 'nan')
  x[1, 2] = np.nan
  f.hlo('reduce-window.f32.maximum.nan', None,
        'r = f32[3,4] reduce-window(p0, p1), window={size=2x2}, to_apply=f', x,
        np.float32(-np.inf), computations=reducer('f', 'maximum', 'f32'))
  f.hlo('reduce-window.variadic', None,
        'r = (s32[5], f32[5]) reduce-window(p0, p1, p2, p3), window={size=3 pad=1_1}, to_apply=f',
        small_ints('s32', (5,)), small_ints('f32', (5,)), np.int32(3), np.float32(-1),
        computations='''f {
  a = s32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = f32[] parameter(3)
  e = s32[] add(a, c)
  g = f32[] maximum(b, d)
  ROOT r = (s32[], f32[]) tuple(e, g)
}''')
  f.hlo('reduce-window.compare', None,
        'r = pred[4] reduce-window(p0, p1), window={size=2}, to_apply=f',
        any_bits('pred', (5,)), np.bool_(False), computations=reducer('f', 'or', 'pred'))
  x = small_ints('f32', (1, 5, 6, 2))
  for padding in ('SAME', 'VALID'):
    f.jax(f'max-pool.{padding}', lambda x: lax.reduce_window(
        x, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), padding), x)
    f.jax(f'sum-pool.{padding}', lambda x: lax.reduce_window(
        x, np.float32(0), lax.add, (1, 2, 3, 1), (1, 2, 1, 1), padding), x)
  for name, op in (('cumsum', lax.cumsum), ('cumprod', lax.cumprod), ('cummax', lax.cummax),
                   ('cummin', lax.cummin)):
    for reverse in (False, True):
      f.jax(f'{name}.{reverse}', lambda x: op(x, axis=1, reverse=reverse),
            small_ints('f32', (3, 5), low=-2, high=3))
  f.jax('cumsum.s32', lambda x: jnp.cumsum(x, axis=0), any_bits('s32', (6, 3)))
  cumulative(f)
  f.jax('cumlogsumexp', lambda x: lax.cumlogsumexp(x, axis=0), normals('f32', (6,)),
        tol='abs 1e-5 rel 1e-5')


SELECTS = {
    'one': ((6,), 'size=2 stride=2', (3,)),
    'overlap': ((6,), 'size=3', (4,)),
    'pad': ((5,), 'size=3 stride=2 pad=1_1', (3,)),
    'rank2': ((4, 5), 'size=2x3 stride=2x2', (2, 2)),
    'rank2-pad': ((4, 5), 'size=2x2 stride=2x2 pad=0_0x0_1', (2, 3)),
    'rank4': ((1, 4, 4, 2), 'size=1x2x2x1 stride=1x2x2x1', (1, 2, 2, 2)),
}


def select_and_scatters(f, type_, names, direction='GE', scatter='add', ties=False):
  for name in names:
    shape, window, source = SELECTS[name]
    x = small_ints(type_, shape, name) if ties else distinct(type_, shape, name)
    select = (f's {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n'
              f'  ROOT r = pred[] compare(a, b), direction={direction}\n}}\n\n')
    f.hlo(f'select-and-scatter.{type_}.{direction}.{scatter}.{name}' + ('.ties' if ties else ''),
          None, f'r = {type_}[{dims(shape)}] select-and-scatter(p0, p1, p2), window={{{window}}}, '
          'select=s, scatter=f', x, small_ints(type_, source), np.array(1).astype(DTYPES[type_]),
          computations=select + reducer('f', scatter, type_))


@family
def select_and_scatter(f):
  select_and_scatters(f, 'f32', SELECTS)
  select_and_scatters(f, 'f32', SELECTS, ties=True)
  select_and_scatters(f, 'f32', ('overlap', 'rank2-pad'), 'GT', ties=True)
  select_and_scatters(f, 'f32', ('overlap', 'rank2'), 'LE', 'multiply')
  for type_ in ('s32', 'f64', 'bf16', 's8', 'u64'):
    select_and_scatters(f, type_, ('overlap', 'rank2-pad'))
  x = rng('nan').standard_normal((4, 4)).astype(np.float32)
  x[1, 1] = np.nan
  f.hlo('select-and-scatter.nan', None,
        'r = f32[4,4] select-and-scatter(p0, p1, p2), window={size=2x2 stride=2x2}, select=s, '
        'scatter=f', x, small_ints('f32', (2, 2)), np.float32(0), computations='''s {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}

''' + reducer('f', 'add', 'f32'))
  f.jax('max-pool.grad', jax.grad(lambda x: jnp.sum(lax.reduce_window(
      x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME') * np.float32(3))),
        distinct('f32', (1, 5, 4, 2)))
  f.jax('avg-pool.grad', jax.grad(lambda x: jnp.sum(lax.reduce_window(
      x, np.float32(0), lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME') ** 2)),
        small_ints('f32', (1, 5, 4, 2)))
