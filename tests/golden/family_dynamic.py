"""Dynamic dimensions with a static bound: what is past the size takes no part in a reduction."""

import numpy as np

from corpus import family, reducer
from values import count, small_ints

ADD = reducer('f', 'add', 'f32')


@family
def dynamic_dimension(f):
  x = count('f32', (5,)) + 1
  y = small_ints('f32', (4, 6))
  for dimension in (0, 1):
    f.hlo(f'get-dimension-size.{dimension}', None,
          f'r = s32[] get-dimension-size(p0), dimensions={{{dimension}}}', y, check=False)
  for size in (0, 1, 3, 5):
    n = np.int32(size)
    f.hlo(f'size.{size}', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
          'r = s32[] get-dimension-size(d), dimensions={0}', x, n, check=False)
    f.hlo(f'reduce.{size}', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
          'z = f32[] constant(0)\nr = f32[] reduce(d, z), dimensions={0}, to_apply=f', x, n,
          computations=ADD)
    f.hlo(f'reduce.negated.{size}', None,
          'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\nn = f32[<=5] negate(d)\n'
          'e = f32[<=5] exponential(n)\ng = f32[<=5] floor(e)\nh = f32[<=5] subtract(n, g)\n'
          'z = f32[] constant(0)\nr = f32[] reduce(h, z), dimensions={0}, to_apply=f', x, n,
          computations=ADD)
    f.hlo(f'reduce.rows.{size}', None,
          'd = f32[4,<=6] set-dimension-size(p0, p1), dimensions={1}\nz = f32[] constant(0)\n'
          'r = f32[4] reduce(d, z), dimensions={1}, to_apply=f', y, n, computations=ADD)
    f.hlo(f'reduce.transposed.{size}', None,
          'd = f32[4,<=6] set-dimension-size(p0, p1), dimensions={1}\n'
          't = f32[<=6,4] transpose(d), dimensions={1,0}\nz = f32[] constant(0)\n'
          'r = f32[4] reduce(t, z), dimensions={0}, to_apply=f', y, n, computations=ADD)
    f.hlo(f'reduce.maximum.{size}', None,
          'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\nz = f32[] constant(-inf)\n'
          'r = f32[] reduce(d, z), dimensions={0}, to_apply=f', x, n,
          computations=reducer('f', 'maximum', 'f32'))
    f.hlo(f'dot.{size}', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
          'r = f32[] dot(d, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}', x, n)
    f.hlo(f'mean.{size}', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
          'z = f32[] constant(0)\ns = f32[] reduce(d, z), dimensions={0}, to_apply=f\n'
          'k = s32[] get-dimension-size(d), dimensions={0}\nm = f32[] convert(k)\n'
          'r = f32[] divide(s, m)', x, n, computations=ADD, check=False)
    f.hlo(f'broadcast.{size}', None,
          'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
          'b = f32[3,<=5] broadcast(d), dimensions={1}\nz = f32[] constant(0)\n'
          'r = f32[3] reduce(b, z), dimensions={1}, to_apply=f', x, n, computations=ADD)
  f.hlo('two-dimensions', None,
        'd = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
        'e = f32[<=4,<=6] set-dimension-size(d, p2), dimensions={1}\nz = f32[] constant(0)\n'
        'r = f32[] reduce(e, z), dimensions={0,1}, to_apply=f', y, np.int32(2), np.int32(5),
        computations=ADD)
  f.hlo('concatenate', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
        'c = f32[<=10] concatenate(d, d), dimensions={0}\nz = f32[] constant(0)\n'
        's = f32[] reduce(c, z), dimensions={0}, to_apply=f\n'
        'k = s32[] get-dimension-size(c), dimensions={0}\nr = (f32[], s32[]) tuple(s, k)', x,
        np.int32(3), computations=ADD, check=False)
  f.hlo('reduce-window', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
        'z = f32[] constant(0)\n'
        'w = f32[<=4] reduce-window(d, z), window={size=2}, to_apply=f\n'
        'r = f32[] reduce(w, z), dimensions={0}, to_apply=f', x, np.int32(3), computations=ADD,
        check=False)
  f.hlo('slice', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
        'n = f32[<=5] negate(d)\nr = f32[2] slice(n), slice={[0:2]}', x, np.int32(3), check=False)
  f.hlo('select', None, 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
        'e = f32[<=5] set-dimension-size(p2, p1), dimensions={0}\n'
        'm = pred[<=5] compare(d, e), direction=LT\ns = f32[<=5] select(m, d, e)\n'
        'z = f32[] constant(0)\nr = f32[] reduce(s, z), dimensions={0}, to_apply=f', x,
        np.int32(4), x[::-1].copy(), computations=ADD)
  f.hlo('reshape', None, 'd = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
        'g = f32[<=4,2,3] reshape(d)\nz = f32[] constant(0)\n'
        'r = f32[2] reduce(g, z), dimensions={0,2}, to_apply=f', y, np.int32(3),
        computations=ADD)
