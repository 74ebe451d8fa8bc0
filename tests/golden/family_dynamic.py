"""Dynamic dimensions with a static bound: elements past the size take no part in a reduction."""

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
  for operation, params, body, inputs, computations in more(x, y):
    tol = 'abs 1e-6 rel 2e-6' if operation == 'batch-norm-training' else 'exact'
    f.hlo(operation, params, body, *inputs, computations=computations, check=False, tol=tol)


GREATER = '''greater {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}

greater2 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT
}
'''

CONTROL = '''condition {
  p = (s32[], f32[<=5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(2)
  ROOT c = pred[] compare(i, n), direction=LT
}

body {
  p = (s32[], f32[<=5]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[<=5] get-tuple-element(p), index=1
  k = s32[] get-dimension-size(x), dimensions={0}
  m = s32[] subtract(k, one)
  y = f32[<=5] negate(x)
  w = f32[<=5] set-dimension-size(y, m), dimensions={0}
  ROOT t = (s32[], f32[<=5]) tuple(j, w)
}

keep {
  p = f32[<=5] parameter(0)
  ROOT n = f32[<=5] negate(p)
}

halve {
  p = f32[<=5] parameter(0)
  two = s32[] constant(2)
  ROOT n = f32[<=5] set-dimension-size(p, two), dimensions={0}
}
'''


def more(x, y):
  """What moves, drops or carries the padding; sum and size of the result `w` say where it went."""
  n, m = np.int32(3), np.int32(4)
  d = 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\nz = f32[] constant(0)\n'
  e = 'e = f32[<=5] set-dimension-size(p0, p2), dimensions={0}\n'
  rows = 'd = f32[4,<=6] set-dimension-size(p0, p1), dimensions={1}\nz = f32[] constant(0)\n'
  end = ('k = s32[] get-dimension-size(w), dimensions={0}\n'
         'q = f32[] reduce(w, z), dimensions={0}, to_apply=f\nr = (f32[], s32[]) tuple(q, k)')
  index = np.array([4, 2, 0, 1], np.int32)
  vector = [
      ('add.sizes', e + 'w = f32[<=5] add(d, e)\n', n, m),
      ('add.size-1', e + 'w = f32[<=5] add(d, e)\n', np.int32(1), m),
      ('add.size-1.rhs', e + 'w = f32[<=5] add(d, e)\n', m, np.int32(1)),
      ('add.size-1-and-0', e + 'w = f32[<=5] add(d, e)\n', np.int32(1), np.int32(0)),
      ('clamp', e + 'w = f32[<=5] clamp(d, e, p0)\n', m, np.int32(1)),
      ('map', 'w = f32[<=5] map(d, d), dimensions={0}, to_apply=f\n', n, m),
      ('reduce-window.stride', 'w = f32[<=2] reduce-window(d, z), window={size=2 stride=2}, '
       'to_apply=f\n', m, m),
      ('reverse', 'w = f32[<=5] reverse(d), dimensions={0}\n', n, m),
      ('sort', 'w = f32[<=5] sort(d), dimensions={0}, to_apply=greater\n', n, m),
      ('pad', 'o = f32[] constant(10)\nw = f32[<=8] pad(d, o), padding=1_2\n', n, m),
      ('pad.interior', 'o = f32[] constant(10)\nw = f32[<=12] pad(d, o), padding=1_2_1\n', n, m),
      ('pad.negative', 'o = f32[] constant(10)\nw = f32[<=3] pad(d, o), padding=-1_-1\n', n, m),
      ('call', 'w = f32[<=5] call(d), to_apply=halve\n', m, m),
      ('while', 'i = s32[] constant(0)\nt = (s32[], f32[<=5]) tuple(i, d)\n'
       'g = (s32[], f32[<=5]) while(t), condition=condition, body=body\n'
       'w = f32[<=5] get-tuple-element(g), index=1\n', m, m),
      *((f'conditional.{branch}', 'w = f32[<=5] conditional(p2, d, d), '
         'branch_computations={keep, halve}\n', m, np.int32(branch)) for branch in (0, 1)),
      *((f'conditional.static.{branch}', 'w = f32[<=5] conditional(p2, p0, p0), '
         'branch_computations={keep, halve}\n', m, np.int32(branch)) for branch in (0, 1)),
  ]
  for name, body, p1, p2 in vector:
    yield name, None, d + body + end, (x, p1, p2), ADD + '\n' + GREATER + '\n' + CONTROL
  yield ('reverse.elements', None, d + 'w = f32[<=5] reverse(d), dimensions={0}\n'
         'r = f32[3] slice(w), slice={[0:3]}', (x, n), ADD)
  yield ('sort.pairs', None, d + 'i = s32[5] iota(), iota_dimension=0\n'
         'j = s32[<=5] set-dimension-size(i, p1), dimensions={0}\n'
         'w = (f32[<=5], s32[<=5]) sort(d, j), dimensions={0}, to_apply=greater2\n'
         'a = f32[<=5] get-tuple-element(w), index=0\nb = s32[<=5] get-tuple-element(w), index=1\n'
         's = f32[3] slice(a), slice={[0:3]}\nt = s32[3] slice(b), slice={[0:3]}\n'
         'r = (f32[3], s32[3]) tuple(s, t)', (x, n), GREATER)
  yield ('reshape.merge', None, rows + 'w = f32[<=24] reshape(d)\nv = f32[12] slice(w), '
         'slice={[0:12]}\nk = s32[] get-dimension-size(w), dimensions={0}\n'
         'q = f32[] reduce(w, z), dimensions={0}, to_apply=f\n'
         'r = (f32[], s32[], f32[12]) tuple(q, k, v)', (y, n), ADD)
  yield ('dynamic-reshape', None, 'w = f32[<=8,<=3] dynamic-reshape(p0, p1, p2)\n'
         'z = f32[] constant(0)\nk = s32[] get-dimension-size(w), dimensions={0}\n'
         'l = s32[] get-dimension-size(w), dimensions={1}\n'
         'q = f32[] reduce(w, z), dimensions={0,1}, to_apply=f\n'
         'r = (f32[], s32[], s32[]) tuple(q, k, l)', (y, np.int32(8), np.int32(3)), ADD)
  yield ('concatenate.rows', None, rows + 'b = f32[4,6] negate(p0)\n'
         'w = f32[4,<=12] concatenate(d, b), dimensions={1}\n'
         'k = s32[] get-dimension-size(w), dimensions={1}\n'
         'q = f32[4] reduce(w, z), dimensions={1}, to_apply=f\n'
         'v = f32[4,9] slice(w), slice={[0:4], [0:9]}\n'
         'r = (f32[4], s32[], f32[4,9]) tuple(q, k, v)', (y, n), ADD)
  yield ('dot.rows-and-columns', None, 'd = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
         'e = f32[<=4,<=6] set-dimension-size(d, p2), dimensions={1}\n'
         'w = f32[<=4,2] dot(e, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n'
         'k = s32[] get-dimension-size(w), dimensions={0}\nz = f32[] constant(0)\n'
         'q = f32[2] reduce(w, z), dimensions={0}, to_apply=f\nr = (f32[2], s32[]) tuple(q, k)',
         (y, np.int32(2), np.int32(5), small_ints('f32', (6, 2))), ADD)
  yield ('dynamic-slice', None, 'd = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
         'o = s32[] constant(0)\nz = f32[] constant(0)\n'
         'w = f32[<=4,2] dynamic-slice(d, o, p2), dynamic_slice_sizes={4,2}\n'
         'r = f32[2] reduce(w, z), dimensions={0}, to_apply=f', (y, np.int32(2), np.int32(1)), ADD)
  yield ('gather.indices', None, 'd = s32[<=4] set-dimension-size(p1, p2), dimensions={0}\n'
         'w = f32[<=4] gather(p0, d), offset_dims={}, collapsed_slice_dims={0}, '
         'start_index_map={0}, index_vector_dim=1, slice_sizes={1}\nz = f32[] constant(0)\n' + end,
         (x, index, np.int32(2)), ADD)
  yield ('scatter.indices', None, 'd = s32[<=4] set-dimension-size(p1, p2), dimensions={0}\n'
         'u = f32[<=4] set-dimension-size(p3, p2), dimensions={0}\n'
         'r = f32[5] scatter(p0, d, u), update_window_dims={}, inserted_window_dims={0}, '
         'scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f',
         (x, index, np.int32(2), np.array([10, 20, 30, 40], np.float32)), ADD)
  yield ('select-and-scatter', None, 'd = f32[<=4] set-dimension-size(p0, p2), dimensions={0}\n'
         's = f32[<=2] set-dimension-size(p1, p3), dimensions={0}\nz = f32[] constant(0)\n'
         'w = f32[<=4] select-and-scatter(d, s, z), window={size=2 stride=2}, select=greater, '
         'scatter=f\n' + end, (np.array([1, 3, 9, 2], np.float32), np.array([10, 20], np.float32),
                               np.int32(2), np.int32(1)), ADD + '\n' + GREATER)
  yield ('batch-norm-training', None, 'd = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
         't = (f32[<=4,6], f32[6], f32[6]) batch-norm-training(d, p2, p3), epsilon=0.001, '
         'feature_index=1\na = f32[<=4,6] get-tuple-element(t), index=0\n'
         'b = f32[6] get-tuple-element(t), index=1\nc = f32[6] get-tuple-element(t), index=2\n'
         's = f32[3,6] slice(a), slice={[0:3], [0:6]}\n'
         'r = (f32[3,6], f32[6], f32[6]) tuple(s, b, c)',
         (y, n, small_ints('f32', (6,)), small_ints('f32', (6,))), '')
