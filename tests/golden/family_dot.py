"""dot: dimension numbers, element types, exact on small whole numbers."""

import numpy as np

from corpus import family
from values import any_bits, normals, small_ints

# lhs, rhs, lhs contracting, rhs contracting, lhs batch, rhs batch, result
DOTS = {
    'matrix': ((2, 3), (3, 4), (1,), (0,), (), (), (2, 4)),
    'transposed': ((3, 2), (4, 3), (0,), (1,), (), (), (2, 4)),
    'vector': ((5,), (5,), (0,), (0,), (), (), ()),
    'matrix-vector': ((3, 5), (5,), (1,), (0,), (), (), (3,)),
    'vector-matrix': ((5,), (5, 3), (0,), (0,), (), (), (3,)),
    'outer': ((3,), (4,), (), (), (), (), (3, 4)),
    'batch': ((2, 3, 4), (2, 4, 5), (2,), (1,), (0,), (0,), (2, 3, 5)),
    'batch-inner': ((3, 2, 4), (4, 5, 2), (2,), (0,), (1,), (2,), (2, 3, 5)),
    'two-batch': ((2, 3, 4, 5), (3, 2, 5, 2), (3,), (2,), (0, 1), (1, 0), (2, 3, 4, 2)),
    'two-contract': ((2, 3, 4), (4, 3, 5), (1, 2), (1, 0), (), (), (2, 5)),
    'all-contract': ((2, 3), (3, 2), (0, 1), (1, 0), (), (), ()),
    'rank3-matrix': ((2, 3, 4), (4, 5), (2,), (0,), (), (), (2, 3, 5)),
    'empty-contract': ((2, 0), (0, 3), (1,), (0,), (), (), (2, 3)),
    'empty-result': ((0, 3), (3, 2), (1,), (0,), (), (), (0, 2)),
    'batch-only': ((4,), (4,), (), (), (0,), (0,), (4,)),
    'odd': ((7, 13), (13, 9), (1,), (0,), (), (), (7, 9)),
}
FEW = ('matrix', 'vector', 'matrix-vector', 'batch', 'two-contract')


def dims(values):
  return '{' + ','.join(map(str, values)) + '}'


def dot_text(result, lc, rc, lb, rb, more=''):
  parts = []
  if lb:
    parts += [f'lhs_batch_dims={dims(lb)}', f'rhs_batch_dims={dims(rb)}']
  parts += [f'lhs_contracting_dims={dims(lc)}', f'rhs_contracting_dims={dims(rc)}']
  return f'r = {result} dot(p0, p1), ' + ', '.join(parts) + more


def dots(f, type_, names, result_type=None, rhs_type=None):
  result_type, rhs_type = result_type or type_, rhs_type or type_
  for name in names:
    lhs, rhs, lc, rc, lb, rb, out = DOTS[name]
    shape = f'{result_type}[{",".join(map(str, out))}]'
    label = type_ if result_type == type_ and rhs_type == type_ else (
        f'{type_}.{rhs_type}.{result_type}')
    f.hlo(f'dot.{label}.{name}', None, dot_text(shape, lc, rc, lb, rb),
          small_ints(type_, lhs, name), small_ints(rhs_type, rhs, name, 'rhs'))


def random_dots(f, type_, epsilon):
  """Each side is off by an epsilon of the sum of the products' magnitudes at the very most.

  The bound of worst cases is k/2 times that, but roundings don't all go one way. XLA adds the
  narrow types' products in f32 and rounds the sum once."""
  for m, k, n in ((4, 8, 4), (33, 65, 17), (1, 127, 5)):
    x, y = normals(type_, (m, k), 'lhs'), normals(type_, (k, n), 'rhs')
    size = float(np.max(np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64)))
    f.hlo(f'dot.{type_}.random.{m}x{k}x{n}', None,
          dot_text(f'{type_}[{m},{n}]', (1,), (0,), (), ()), x, y,
          tol=f'abs {2 * min(epsilon, 2.0**-23) * size:.3g} '
          f'rel {epsilon if epsilon > 2.0**-23 else 0:.3g}')


@family
def dot(f):
  """The first stage's types: f32, s32, u32."""
  dots(f, 'f32', DOTS)
  dots(f, 's32', FEW)
  dots(f, 'u32', FEW)
  random_dots(f, 'f32', 2.0**-23)
  x, y = any_bits('s32', (4, 6), 'lhs'), any_bits('s32', (6, 5), 'rhs')
  f.hlo('dot.s32.wraps', None, dot_text('s32[4,5]', (1,), (0,), (), ()), x, y)
  x, y = normals('f32', (2, 3), 'x'), normals('f32', (3, 2), 'y')
  x[0, 1], y[2, 0] = np.nan, np.inf
  x[1, 2] = 0
  f.hlo('dot.f32.special', None, dot_text('f32[2,2]', (1,), (0,), (), ()), x, y,
        tol='abs 1e-6 rel 1e-6')
  f.hlo('dot.f32.precision', None,
        dot_text('f32[2,4]', (1,), (0,), (), (), ', operand_precision={highest,default}'),
        small_ints('f32', (2, 3)), small_ints('f32', (3, 4)))
  f.hlo('dot.f32.medium', None, dot_text('f32[64,48]', (1,), (0,), (), ()),
        small_ints('f32', (64, 100)), small_ints('f32', (100, 48)))


@family
def dot_types(f):
  for type_ in ('s8', 'u8', 's16', 'u16', 's64', 'u64', 'f16', 'bf16', 'f64', 'c64', 'c128'):
    dots(f, type_, FEW)
  for type_ in ('s4', 'u4', 'f8e5m2', 'f8e4m3fn', 'f8e4m3b11fnuz', 'f8e5m2fnuz', 'f8e4m3fnuz'):
    dots(f, type_, ('matrix', 'batch'))
  for lhs, rhs, result in (('s8', 's8', 's32'), ('u8', 'u8', 'u32'), ('u8', 's8', 's32'),
                           ('bf16', 'bf16', 'f32'), ('f16', 'f16', 'f32'),
                           ('f8e5m2', 'f8e4m3fn', 'f32'), ('f32', 'f32', 'f64'),
                           ('s16', 's16', 's32'), ('f8e4m3fn', 'f8e4m3fn', 'bf16'),
                           ('s8', 's8', 'f32'), ('bf16', 'f32', 'f32')):
    dots(f, lhs, ('matrix', 'batch'), result, rhs)
  for type_ in ('s8', 's64', 'u16'):
    f.hlo(f'dot.{type_}.wraps', None, dot_text(f'{type_}[4,5]', (1,), (0,), (), ()),
          any_bits(type_, (4, 6), 'lhs'), any_bits(type_, (6, 5), 'rhs'))
  dots(f, 'pred', FEW)
  random_dots(f, 'f64', 2.0**-52)
  random_dots(f, 'bf16', 2.0**-8)
  random_dots(f, 'f16', 2.0**-10)
