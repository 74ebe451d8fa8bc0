"""reduce: one operand or several, any computation; exact on small whole numbers."""

import numpy as np

from corpus import family, reducer
from harness import COMPLEX, FLOATS, INTS
from values import any_bits, edges, normals, small_ints

NEUTRAL = {'add': 0, 'multiply': 1, 'and': -1, 'or': 0, 'xor': 0}
SHAPES = [((6,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((2, 3, 4), (0, 2)),
          ((2, 3, 4), (1,)), ((3, 4), ()), ((0, 3), (0,)), ((3, 0), (0,)), ((2, 3, 4, 2), (1, 3))]
ARGMAX = '''argmax {
  x = f32[] parameter(0)
  i = s32[] parameter(1)
  y = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(x, y), direction=GT
  unordered = pred[] compare(x, x), direction=NE
  better = pred[] or(more, unordered)
  same = pred[] compare(x, y), direction=EQ
  first = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, first)
  keep = pred[] or(better, tie)
  v = f32[] select(better, x, y)
  k = s32[] select(keep, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
'''


def dims(values):
  return ','.join(map(str, values))


def neutral(opcode, type_):
  """An initial value that changes nothing."""
  if opcode in ('maximum', 'minimum'):
    e = np.sort(edges(type_, special=False))
    if type_ in FLOATS:
      return np.array(-np.inf if opcode == 'maximum' else np.inf).astype(e.dtype)
    return e[0] if opcode == 'maximum' else e[-1]
  if type_ == 'pred':
    return np.bool_(NEUTRAL[opcode])
  dtype = small_ints(type_, ()).dtype
  value = NEUTRAL[opcode]
  return np.array(value).astype(np.int8).astype(dtype)


def reduces(f, type_, opcode, chosen=SHAPES, random=False):
  for shape, dimensions in chosen:
    kept = [n for d, n in enumerate(shape) if d not in dimensions]
    x = any_bits(type_, shape) if random else small_ints(type_, shape, low=-3, high=4)
    name = f'reduce.{type_}.{opcode}.{"x".join(map(str, shape))}.over.{dims(dimensions) or "none"}'
    f.hlo(name.replace(',', '-'), None,
          f'r = {type_}[{dims(kept)}] reduce(p0, p1), dimensions={{{dims(dimensions)}}}, '
          'to_apply=f', x, neutral(opcode, type_), computations=reducer('f', opcode, type_),
          check=bool(dimensions) and type_ != 'pred')


@family
def reduce(f):
  """The first stage's types: f32, s32, u32, pred."""
  reduces(f, 'f32', 'add')
  for opcode in ('multiply', 'maximum', 'minimum'):
    reduces(f, 'f32', opcode, SHAPES[:4])
  for type_ in ('s32', 'u32'):
    for opcode in ('add', 'multiply', 'maximum', 'minimum', 'and', 'or', 'xor'):
      reduces(f, type_, opcode, SHAPES[1:3] + SHAPES[7:8], random=True)
  for opcode in ('and', 'or', 'xor'):
    reduces(f, 'pred', opcode, SHAPES[1:4])
  x = normals('f32', (5, 6), 'nan')
  x[1, 2], x[3, 3], x[4, 5] = np.nan, np.inf, -np.inf
  for opcode in ('maximum', 'minimum', 'add'):
    f.hlo(f'reduce.f32.{opcode}.special', None,
          'r = f32[5] reduce(p0, p1), dimensions={1}, to_apply=f', x, neutral(opcode, 'f32'),
          computations=reducer('f', opcode, 'f32'), tol='abs 3e-6 rel 0')
  # 1000 terms: XLA adds in its own order; each order is within n/2 ulp of the sum of magnitudes.
  x = normals('f32', (4, 1000), 'long')
  f.hlo('reduce.f32.add.long', None, 'r = f32[4] reduce(p0, p1), dimensions={1}, to_apply=f',
        x, np.float32(0), computations=reducer('f', 'add', 'f32'), tol='abs 1e-4 rel 0')
  f.hlo('reduce.f32.add.initial', None,
        'r = f32[3] reduce(p0, p1), dimensions={0}, to_apply=f', small_ints('f32', (4, 3)),
        np.float32(100), computations=reducer('f', 'add', 'f32'))
  x = small_ints('f32', (4, 7), 'argmax')
  x[2, 3] = np.nan
  f.hlo('reduce.argmax', None,
        'i = s32[4,7] iota(), iota_dimension=1\n'
        'r = (f32[4], s32[4]) reduce(p0, i, p1, p2), dimensions={1}, to_apply=argmax',
        x, np.float32(-np.inf), np.int32(0), computations=ARGMAX)
  f.hlo('reduce.sum-and-count', None,
        'r = (s32[3], u32[3]) reduce(p0, p1, p2, p3), dimensions={0}, to_apply=f',
        small_ints('s32', (5, 3)), any_bits('u32', (5, 3)), np.int32(1), np.uint32(2),
        computations='''f {
  a = s32[] parameter(0)
  b = u32[] parameter(1)
  c = s32[] parameter(2)
  d = u32[] parameter(3)
  e = s32[] add(a, c)
  g = u32[] xor(b, d)
  ROOT r = (s32[], u32[]) tuple(e, g)
}''')


@family
def reduce_types(f):
  for type_ in INTS:
    if type_ not in ('s32', 'u32'):
      for opcode in ('add', 'multiply', 'maximum', 'minimum', 'and', 'or', 'xor'):
        reduces(f, type_, opcode, SHAPES[2:3] + SHAPES[4:5], random=True)
  reduces(f, 'pred', 'add', SHAPES[2:3])
  for type_ in ('f16', 'bf16', 'f64'):
    for opcode in ('add', 'multiply', 'maximum', 'minimum'):
      reduces(f, type_, opcode, SHAPES[1:5])
  for type_ in COMPLEX:
    for opcode in ('add', 'multiply'):
      reduces(f, type_, opcode, SHAPES[1:4])
  for type_ in ('f8e5m2', 'f8e4m3fn'):
    for opcode in ('add', 'maximum'):
      f.hlo(f'reduce.{type_}.{opcode}', None,
            f'r = {type_}[3] reduce(p0, p1), dimensions={{1}}, to_apply=f',
            small_ints(type_, (3, 4)), small_ints(type_, ()),
            computations=reducer('f', opcode, type_))
