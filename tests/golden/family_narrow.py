"""Floats of 16 bits and less, integers of 4 and less: their rounding and wrapping at every step, exactly."""

import numpy as np

from corpus import family, reducer
from harness import DTYPES, F8S
from values import any_bits, normals

SMALL_FLOATS = F8S + ['f8e4m3', 'f8e3m4']
NARROW_FLOATS = ['bf16', 'f16'] + SMALL_FLOATS
NARROW_INTS = ['s2', 'u2', 's4', 'u4']
# of an operand [5,9]: window, result
WINDOWS = {
    'cumulative': ('size=1x9 pad=0_0x8_0', (5, 9)),
    'cumulative-down': ('size=5x1 pad=4_0x0_0', (5, 9)),
    'backwards': ('size=1x9 pad=0_0x0_8', (5, 9)),
    'row': ('size=1x5 pad=0_0x2_2', (5, 9)),
    'square': ('size=3x3 pad=1_1x1_1', (5, 9)),
    'strided': ('size=2x3 stride=2x2', (2, 4)),
    'whole': ('size=5x9', (1, 1)),
}


def values(type_, *key):
  if type_ in NARROW_INTS:
    return any_bits(type_, (5, 9), *key)
  return normals('f64', (5, 9), type_, *key).astype(DTYPES[type_])


def windows(f, type_, opcode, init):
  for name, (window, result) in WINDOWS.items():
    if type_ == 'f16' and name == 'strided':
      continue  # XLA:CPU keeps sums of these in f32, which of other types and windows it does not
    f.hlo(f'{type_}.reduce-window.{opcode}.{name}', None,
          f'r = {type_}[{result[0]},{result[1]}] reduce-window(p0, p1), window={{{window}}}, '
          'to_apply=f', values(type_, opcode), np.array(init).astype(DTYPES[type_]),
          computations=reducer('f', opcode, type_))


def elementwise(f, type_):
  x, y = values(type_, 'x'), values(type_, 'y')
  shape = f'{type_}[5,9]'
  for opcode in ('add', 'subtract', 'multiply', 'maximum', 'minimum'):
    f.hlo(f'{type_}.{opcode}', None, f'r = {shape} {opcode}(p0, p1)', x, y)
  for direction in ('EQ', 'LT', 'GE'):
    f.hlo(f'{type_}.compare.{direction}', None,
          f'r = pred[5,9] compare(p0, p1), direction={direction}', x, y)
  if type_ in SMALL_FLOATS:
    f.hlo(f'{type_}.clamp', None, f'r = {shape} clamp(p0, p1, p2)', np.minimum(x, y), x,
          np.maximum(x, y))
  for opcode in ('negate', 'abs', 'sign') if type_ not in ('u2', 'u4') else ('negate',):
    f.hlo(f'{type_}.{opcode}', None, f'r = {shape} {opcode}(p0)', x)


def chains(f, type_):
  """Several operations in a row: fused or not, each is rounded."""
  f.hlo(f'{type_}.chain', None, f'''a = {type_}[5,9] multiply(p0, p1)
      b = {type_}[5,9] add(a, p1)
      c = {type_}[5,9] subtract(b, p0)
      r = {type_}[5,9] multiply(c, c)''', values(type_, 'a'), values(type_, 'b'))


def to_integers(f, type_):
  """Beyond the largest number of some formats is an integer next to it: that is infinity."""
  x = np.arange(256, dtype=np.uint8).view(DTYPES[type_])
  for opcode in ('ceil', 'floor', 'round-nearest-even', 'round-nearest-afz'):
    f.hlo(f'{type_}.{opcode}', None, f'''a = {type_}[256] {opcode}(p0)
      b = f32[256] convert(a)
      r = (f32[256], {type_}[256]) tuple(b, a)''', x)


def movement(f, type_):
  x = values(type_, 'moved')
  f.hlo(f'{type_}.transpose', None, f'r = {type_}[9,5] transpose(p0), dimensions={{1,0}}', x)
  f.hlo(f'{type_}.pad', None, f'r = {type_}[8,9] pad(p0, p1), padding=1_2x0_0', x, x[0, 0])
  f.hlo(f'{type_}.concatenate', None, f'r = {type_}[10,9] concatenate(p0, p0), dimensions={{0}}', x)
  f.hlo(f'{type_}.slice', None, f'r = {type_}[2,3] slice(p0), slice={{[1:5:2],[2:8:2]}}', x)


def long_scans(f, type_):
  """XLA makes blocks of 16, and blocks of these: each sum is rounded."""
  x = normals('f64', (2, 300), type_).astype(DTYPES[type_])
  zero = np.array(0).astype(DTYPES[type_])
  for name, n, pad in (('first', 300, '299_0'), ('last', 300, '0_299'), ('short', 40, '39_0'),
                       ('short-last', 33, '0_32')):
    f.hlo(f'{type_}.long.{name}', None,
          f'r = {type_}[2,{n}] reduce-window(p0, p1), window={{size=1x{n} pad=0_0x{pad}}}, '
          'to_apply=f', x[:, :n].copy(), zero, computations=reducer('f', 'add', type_))
  f.hlo(f'{type_}.long.rows', None,
        f'r = {type_}[50,3] reduce-window(p0, p1), window={{size=50x1 pad=49_0x0_0}}, to_apply=f',
        x[0, :150].reshape(50, 3).copy(), zero, computations=reducer('f', 'add', type_))
  # a + b + a b, which is rounded three times
  f.hlo(f'{type_}.long.several', None,
        f'r = {type_}[2,300] reduce-window(p0, p1), window={{size=1x300 pad=0_0x299_0}}, to_apply=f',
        (x.astype('f8') / 8).astype(DTYPES[type_]), zero, computations=f'''f {{
  a = {type_}[] parameter(0)
  b = {type_}[] parameter(1)
  s = {type_}[] add(a, b)
  p = {type_}[] multiply(a, b)
  ROOT r = {type_}[] add(s, p)
}}
'''.lstrip())


@family
def narrow(f):
  for type_ in NARROW_FLOATS:
    windows(f, type_, 'add', 0)
    windows(f, type_, 'multiply', 1)
    long_scans(f, type_)
    windows(f, type_, 'maximum', -np.inf if type_ in ('bf16', 'f16') else -8)
  for type_ in SMALL_FLOATS + NARROW_INTS:
    elementwise(f, type_)
    chains(f, type_)
    if type_ in SMALL_FLOATS:  # XLA:CPU crashes on some of these, and on windows, of integers
      movement(f, type_)
      to_integers(f, type_)
