"""The specification's worked examples; and, by its definitions, what XLA:CPU refuses to run."""

import jax
import numpy as np

import reference
from corpus import family, program, reducer
from harness import DTYPES, shape_of
from values import any_bits, count, small_ints

ADD = reducer('f', 'add', 'f32')
V = np.array([[[10, 11, 12], [15, 16, 17]], [[20, 21, 22], [25, 26, 27]],
              [[30, 31, 32], [35, 36, 37]], [[40, 41, 42], [45, 46, 47]]], np.float32)
B = count('f32', (4, 3))


def f32(*values):
  return np.array(values, np.float32)


@family
def examples(f):
  """Run by XLA, and equal to the numbers on the page, which are the `wanted` here."""
  def one(name, body, operands, *wanted, computations='', **options):
    got = f.hlo(name, None, body, *operands, computations=computations, check=False, **options)
    for x, y in zip(got, wanted, strict=True):
      np.testing.assert_array_equal(x, y, err_msg=name)

  def replicas(name, body, operands, wanted, computations=''):
    text = program(name, [shape_of(x) for x in operands[0]], body, computations)
    got = f.text(name, text, per_replica=operands, replicas=len(operands))
    for x in got:
      np.testing.assert_array_equal(x[0], wanted, err_msg=name)

  pair = [[f32(1, 2.5)], [f32(3, 5.25)]]
  replicas('all-gather', 'r = f32[4] all-gather(p0), replica_groups={}, dimensions={0}', pair,
           f32(1, 2.5, 3, 5.25))
  replicas('all-reduce', 'r = f32[2] all-reduce(p0), replica_groups={}, to_apply=f', pair,
           f32(4, 7.75), ADD)
  one('broadcast', 'r = f32[2,3] broadcast(p0), dimensions={}', [np.float32(2)],
      np.full((2, 3), 2, np.float32))
  one('broadcast-in-dim', 'r = f32[2,2] broadcast(p0), dimensions={1}', [f32(1, 2)],
      f32([1, 2], [1, 2]))
  one('broadcast-in-dim.0', 'r = f32[2,2] broadcast(p0), dimensions={0}', [f32(1, 2)],
      f32([1, 1], [2, 2]))
  one('clamp', 'r = s32[3] clamp(p0, p1, p2)',
      [np.int32(0), np.array([-1, 5, 9], np.int32), np.int32(6)], [0, 5, 6])
  for shape in ((24,), (4, 6), (8, 3)):
    one(f'collapse.{"x".join(map(str, shape))}',
        f'r = f32[{",".join(map(str, shape))}] reshape(p0)', [V], V.reshape(shape))
  one('concatenate.1d', 'r = f32[6] concatenate(p0, p1, p2), dimensions={0}',
      [f32(2, 3), f32(4, 5), f32(6, 7)], f32(2, 3, 4, 5, 6, 7))
  one('concatenate.2d', 'r = f32[4,2] concatenate(p0, p1), dimensions={0}',
      [f32([1, 2], [3, 4], [5, 6]), f32([7, 8])], f32([1, 2], [3, 4], [5, 6], [7, 8]))
  one('dot-general', 'r = f32[2,2] dot(p0, p1), lhs_contracting_dims={1}, '
      'rhs_contracting_dims={1}', [f32([1, 2, 3], [4, 5, 6]), f32([1, 1, 1], [2, 2, 2])],
      f32([6, 12], [15, 30]))
  x = f32([[1, 2], [3, 4]], [[5, 6], [7, 8]])
  one('dot-general.batch', 'r = f32[2,2,2] dot(p0, p1), lhs_batch_dims={0}, rhs_batch_dims={0}, '
      'lhs_contracting_dims={2}, rhs_contracting_dims={1}',
      [x, f32([[1, 0], [0, 1]], [[1, 0], [0, 1]])], x)
  one('dynamic-slice.1d', 'r = f32[2] dynamic-slice(p0, p1), dynamic_slice_sizes={2}',
      [f32(0, 1, 2, 3, 4), np.int32(2)], f32(2, 3))
  one('dynamic-slice.2d', 'r = f32[2,2] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,2}',
      [B, np.int32(2), np.int32(1)], f32([7, 8], [10, 11]))
  one('dynamic-update-slice.1d', 'r = f32[5] dynamic-update-slice(p0, p1, p2)',
      [f32(0, 1, 2, 3, 4), f32(5, 6), np.int32(2)], f32(0, 1, 5, 6, 4))
  one('dynamic-update-slice.2d', 'r = f32[4,3] dynamic-update-slice(p0, p1, p2, p3)',
      [B, f32([12, 13], [14, 15], [16, 17]), np.int32(1), np.int32(1)],
      f32([0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]))
  one('iota.0', 'r = s32[4,8] iota(), iota_dimension=0', [], np.repeat(np.arange(4), 8).reshape(
      4, 8))
  one('iota.1', 'r = s32[4,8] iota(), iota_dimension=1', [], np.tile(np.arange(8), (4, 1)))
  one('set-dimension-size', 'five = s32[] constant(5)\nsix = s32[] constant(6)\n'
      'v5 = f32[<=10] set-dimension-size(p0, five), dimensions={0}\n'
      'v6 = f32[<=10] set-dimension-size(p0, six), dimensions={0}\n'
      'zero = f32[] constant(0)\none = f32[] constant(1)\n'
      'a = f32[] reduce(v5, zero), dimensions={0}, to_apply=f\n'
      'b = f32[] reduce(v5, one), dimensions={0}, to_apply=g\n'
      'c = f32[] reduce(v6, zero), dimensions={0}, to_apply=f\n'
      'r = (f32[], f32[], f32[]) tuple(a, b, c)', [np.arange(1, 11, dtype=np.float32)], 15, 120,
      21, computations=ADD + '\n' + reducer('g', 'multiply', 'f32'))
  y = np.tile(np.array([[1, 2, 3], [4, 5, 6]], np.float32), (4, 1, 1))
  for dimensions, wanted in (((0,), [[4, 8, 12], [16, 20, 24]]), ((2,), [[6, 15]] * 4),
                             ((0, 1), [20, 28, 36]), ((0, 1, 2), 84)):
    left = ','.join(str(n) for d, n in enumerate(y.shape) if d not in dimensions)
    over = ','.join(map(str, dimensions))
    one(f'reduce.{over.replace(",", "-")}', f'z = f32[] constant(0)\n'
        f'r = f32[{left}] reduce(p0, z), dimensions={{{over}}}, to_apply=f', [y], wanted,
        computations=ADD)
  least = reducer('f', 'minimum', 'f32')
  for name, pad, n, wanted in (('valid', '', 2, [100, 1]), ('same', ' pad=1_1', 3, [1000, 10, 1])):
    one(f'reduce-window.{name}', 'z = f32[] constant(3.4028235e+38)\n'
        f'r = f32[{n}] reduce-window(p0, z), window={{size=3 stride=2{pad}}}, to_apply=f',
        [f32(10000, 1000, 100, 10, 1)], wanted, computations=least)
  # Reshape with dimensions {1,2,0} is a transpose and a reshape.
  for shape in ((24,), (8, 3), (2, 6, 2)):
    one(f'reshape.120.{"x".join(map(str, shape))}',
        't = f32[2,3,4] transpose(p0), dimensions={1,2,0}\n'
        f'r = f32[{",".join(map(str, shape))}] reshape(t)', [V],
        np.array([10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42, 15, 25, 35, 45, 16, 26, 36, 46,
                  17, 27, 37, 47], np.float32).reshape(shape))
  one('reshape.scalar', 'r = f32[] reshape(p0)', [f32([5])], 5)
  v1, v2 = np.array([1, 2, 3, 4], np.int32), np.array([100, 200, 300, 400], np.int32)
  one('select', 'r = s32[4] select(p0, p1, p2)', [np.array([1, 0, 0, 1], np.bool_), v1, v2],
      [1, 200, 300, 4])
  one('select.scalar', 'r = s32[4] select(p0, p1, p2)', [np.bool_(True), v1, v2], v1)
  one('slice.1d', 'r = f32[2] slice(p0), slice={[2:4]}', [f32(0, 1, 2, 3, 4)], f32(2, 3))
  one('slice.2d', 'r = f32[2,2] slice(p0), slice={[2:4], [1:3]}', [B], f32([7, 8], [10, 11]))
  all_to_all(f)


def all_to_all(f):
  """f32[4,16] split along 1 in 4 and put together along 0, as the builder spells it in HLO."""
  operands = [[count('f32', (4, 16)) + 100 * r] for r in range(4)]
  text = program('all-to-all', ['f32[4,16]'], '''
    split = f32[4,4,4] reshape(p0)
    front = f32[4,4,4] transpose(split), dimensions={1,0,2}
    a = f32[4,4,4] all-to-all(front), replica_groups={{0,1,2,3}}, dimensions={0}
    r = f32[16,4] reshape(a)''')
  got = f.text('all-to-all', text, per_replica=operands, replicas=4, check=False)
  for r in range(4):
    blocks = [operands[source][0][:, 4 * r:4 * r + 4] for source in range(4)]
    np.testing.assert_array_equal(got[r][0], np.concatenate(blocks))


@family
def spec(f):
  """Not run by XLA. Whole numbers only, so that the definition leaves no room."""
  for replicas in (2, 4):
    x = [any_bits('f32', (4, 3), r) for r in range(replicas)]
    n = 4 // replicas
    f.spec(f'all-to-all.all.{replicas}', ['f32[4,3]'],
           'r = f32[4,3] all-to-all(p0), replica_groups={}, dimensions={0}', [[v] for v in x],
           [[np.concatenate([v[n * r:n * r + n] for v in x])] for r in range(replicas)])
  empty = np.zeros((0, 2), np.float32)
  f.spec('all-gather.empty', ['f32[0,2]'],
         'r = f32[0,2] all-gather(p0), replica_groups={}, dimensions={0}', [[empty], [empty]],
         [[empty], [empty]])
  for type_ in ('s32', 'u32', 's8', 'u64'):
    x = [any_bits(type_, (3, 2), r, 'bits') for r in range(4)]
    for opcode, ufunc in (('and', np.bitwise_and), ('or', np.bitwise_or), ('xor',
                                                                         np.bitwise_xor)):
      f.spec(f'all-reduce.{type_}.{opcode}', [f'{type_}[3,2]'],
             f'r = {type_}[3,2] all-reduce(p0), replica_groups={{}}, to_apply=f',
             [[v] for v in x], [[ufunc.reduce(x)]] * 4, reducer('f', opcode, type_))
  a = [small_ints('f32', (4, 2), r, 'a') for r in range(2)]
  b = [small_ints('f32', (2, 3), r, 'b') for r in range(2)]
  f.spec('reduce-scatter.variadic', ['f32[4,2]', 'f32[2,3]'],
         'r = (f32[2,2], f32[1,3]) reduce-scatter(p0, p1), replica_groups={}, dimensions={0}, '
         'to_apply=f', [list(v) for v in zip(a, b)],
         [[sum(a)[2 * r:2 * r + 2], sum(b)[r:r + 1]] for r in range(2)], ADD)
  x, y = any_bits('s4', (2, 3), 'x'), any_bits('s4', (3, 4), 'y')
  f.spec('dot.s4.s4.s32', ['s4[2,3]', 's4[3,4]'],
         'r = s32[2,4] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}', [[x, y]],
         [[x.astype(np.int32) @ y.astype(np.int32)]])
  f.spec('constant.tuple', [], 'r = (f32[2], s32[]) constant(({1, 2}, 4))', [[]],
         [[f32(1, 2), np.int32(4)]])
  for groups, source in (('{{0,1,2,3}}', [0] * 4), ('{{2,0},{1,3}}', [2, 1, 2, 1])):
    x = [any_bits('f32', (3,), r, 'broadcast') for r in range(4)]
    f.spec(f'collective-broadcast.{len(set(source))}', ['f32[3]'],
           f'r = f32[3] collective-broadcast(p0), replica_groups={groups}', [[v] for v in x],
           [[x[r]] for r in source])
  for type_, wide in (('u32', np.uint64), ('s32', np.int64), ('s8', np.int64)):
    x, y = any_bits(type_, (9,), 'high', 1), any_bits(type_, (9,), 'high', 2)
    bits = x.dtype.itemsize * 8
    f.spec(f'mulhi.{type_}', [f'{type_}[9]'] * 2, f'r = {type_}[9] mulhi(p0, p1)', [[x, y]],
           [[(x.astype(wide) * y.astype(wide) >> bits).astype(x.dtype)]])
  ragged(f)
  scans(f)
  scaled_dots(f)
  inverse_functions(f)


def ragged(f):
  """What jax.lax.ragged_dot_general computes without the operation; and rows sent by definition."""
  for name, numbers, lhs, rhs, sizes in (
      ('rows', (((1,), (1,)), ((), ()), (0,), (0,)), (9, 4), (3, 4, 5), [2, 0, 5]),
      ('rows.batch', (((2,), (2,)), ((0,), (0,)), (1,), (1,)), (2, 6, 3), (2, 3, 3, 4),
       [[1, 2, 3], [6, 0, 0]]),
      ('sums', (((0,), (0,)), ((), ()), (0,), ()), (9, 4), (9, 5), [4, 3, 1]),
      ('batches', (((2,), (1,)), ((0,), (0,)), (0,), ()), (5, 2, 3), (5, 3, 4), [3, 2])):
    contracting, batch, ragged_dims, groups = numbers
    x, y = small_ints('f32', lhs, name, 'x'), small_ints('f32', rhs, name, 'y')
    n = np.array(sizes, np.int32)
    wanted = np.asarray(jax.lax.ragged_dot_general(
        x, y, n, jax.lax.RaggedDotDimensionNumbers(
            ((contracting), (batch)), list(ragged_dims), list(groups))))
    names = [f'{side}_{kind}_dims={{{",".join(map(str, dims))}}}'
             for kind, pair in (('batch', batch), ('contracting', contracting))
             for side, dims in zip(('lhs', 'rhs'), pair) if dims]
    names.append(f'lhs_ragged_dims={{{ragged_dims[0]}}}')
    names += [f'rhs_group_dims={{{groups[0]}}}'] if groups else []
    f.spec(f'ragged-dot.{name}', [shape_of(v) for v in (x, y, n)],
           f'r = {shape_of(wanted)} ragged-dot(p0, p1, p2), {", ".join(names)}', [[x, y, n]],
           [[wanted]])
  # sizes[i][j] rows go from replica i to replica j, in order; each puts them where they arrive.
  sizes = np.array([[2, 1, 0], [0, 3, 1], [1, 1, 2]], np.int32)
  sent = np.cumsum(sizes, 1, dtype=np.int32) - sizes
  arrives = np.cumsum(sizes, 0, dtype=np.int32) - sizes
  operands, results = [], []
  for i in range(3):
    x, out = any_bits('f32', (5, 2), i, 'ragged'), any_bits('f32', (6, 2), i, 'before')
    operands.append([x, out, sent[i], sizes[i], arrives[i], sizes[:, i]])
  for j in range(3):
    out = operands[j][1].copy()
    for i in range(3):
      rows = operands[i][0][sent[i][j]:][:sizes[i][j]]
      out[arrives[i][j]:][:sizes[i][j]] = rows
    results.append([out])
  f.spec('ragged-all-to-all', [shape_of(x) for x in operands[0]],
         'r = f32[6,2] ragged-all-to-all(p0, p1, p2, p3, p4, p5), replica_groups={{0,1,2}}',
         operands, results)


def scans(f):
  """XLA:CPU slices an element out of none; StableHLO has no tuples or tokens to carry."""
  scan = 'scan(p0, p1), dimensions={%d}, num_carries=1, to_apply=f'
  sums = ('f {\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n  s = f32[2] add(a, b)\n'
          '  n = s8[] constant(1)\n  ROOT t = (s8[], f32[2], f32[2]) tuple(n, s, s)\n}')
  init = f32(3, 4)
  for reverse in ('', ', is_reverse=true'):
    f.spec(f'scan.no-steps{".reverse" if reverse else ""}', ['f32[0,2]', 'f32[2]'],
           f'r = (s8[0], f32[0,2], f32[2]) {scan % 0}{reverse}',
           [[np.zeros((0, 2), np.float32), init]],
           [[np.zeros(0, np.int8), np.zeros((0, 2), np.float32), init]], sums)
  pair = ('f {\n  x = s32[] parameter(0)\n  c = (s32[], (f32[2])) parameter(1)\n'
          '  i = s32[] get-tuple-element(c), index=0\n'
          '  v = (f32[2]) get-tuple-element(c), index=1\n'
          '  w = f32[2] get-tuple-element(v), index=0\n  j = s32[] add(x, i)\n'
          '  y = f32[2] add(w, w)\n  u = (f32[2]) tuple(y)\n'
          '  d = (s32[], (f32[2])) tuple(j, u)\n'
          '  ROOT t = (f32[2], (s32[], (f32[2]))) tuple(w, d)\n}')
  f.spec('scan.tuple-carry', ['s32[3]', '(s32[], (f32[2]))'],
         f'r = (f32[3,2], (s32[], (f32[2]))) {scan % 0}',
         [[np.arange(3, dtype=np.int32), np.int32(10), init]],
         [[f32([3, 4], [6, 8], [12, 16]), np.int32(13), init * 8]], pair)
  token = ('f {\n  x = s32[] parameter(0)\n  c = token[] parameter(1)\n'
           '  d = token[] after-all(c)\n  y = s32[] add(x, x)\n'
           '  ROOT t = (s32[], token[]) tuple(y, d)\n}')
  f.spec('scan.token-carry', ['s32[3]'], f'p1 = token[] after-all()\ns = (s32[3], token[]) '
         f'{scan % 0}\nr = s32[3] get-tuple-element(s), index=0',
         [[np.arange(3, dtype=np.int32)]], [[np.arange(3, dtype=np.int32) * 2]], token)
  x, add = np.arange(1, 6, dtype=np.int32), (
      'f {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  s = s32[] add(a, b)\n'
      '  ROOT t = (s32[], s32[]) tuple(s, s)\n}\n')
  sums, types = [np.cumsum(x, dtype=np.int32), np.int32(15)], '(s32[5], s32[])'
  f.spec('scan.asynchronous', ['s32[5]', 's32[]'], f's = ({types}, {types}, u32[]) scan-start('
         'p0, p1), dimensions={0}, num_carries=1, to_apply=f\n'
         f'u = ({types}, {types}, u32[]) scan-update(s)\nr = {types} scan-done(u)',
         [[x, np.int32(0)]], [sums], add)
  f.spec('scan.in-a-fusion', ['s32[5]', 's32[]'],
         f'r = {types} fusion(p0, p1), kind=kCustom, calls=g', [[x, np.int32(0)]], [sums],
         add + 'g {\n  p0 = s32[5] parameter(0)\n  p1 = s32[] parameter(1)\n'
         f'  ROOT r = {types} {scan % 0}\n}}')
  # Two of three columns are there: the others must not be summed.
  wide = count('f32', (2, 3))
  f.spec('scan.dynamic-element', ['f32[2,3]', 'f32[]'], 'n = s32[] constant(2)\n'
         'd = f32[2,<=3] set-dimension-size(p0, n), dimensions={1}\n'
         's = (f32[2], f32[]) scan(d, p1), dimensions={0}, num_carries=1, to_apply=g\n'
         'r = f32[] get-tuple-element(s), index=1', [[wide, np.float32(100)]],
         [[np.float32(100 + wide[:, :2].sum())]], ADD + 'g {\n  x = f32[<=3] parameter(0)\n'
         '  c = f32[] parameter(1)\n  z = f32[] constant(0)\n'
         '  a = f32[] reduce(x, z), dimensions={0}, to_apply=f\n  s = f32[] add(a, c)\n'
         '  ROOT t = (f32[], f32[]) tuple(s, s)\n}')


def blocks(scale, shape):
  """Each element of a scale as often as the operand's block is long, along every dimension."""
  for d, size in enumerate(shape):
    scale = np.repeat(scale, size // scale.shape[d] if scale.shape[d] else 1, axis=d)
  return scale


def scaled_dots(f):
  """(lhs * its scale) . (rhs * its scale), in the type of the result."""
  last = 'lhs_contracting_dims={1}, rhs_contracting_dims={1}', 'mk,nk->mn'
  first = 'lhs_contracting_dims={0}, rhs_contracting_dims={1}', 'km,nk->mn'
  batch = ('lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, '
           'rhs_contracting_dims={0}', 'bmk,kbn->bmn')
  vector = 'lhs_contracting_dims={0}, rhs_contracting_dims={0}', 'k,kn->n'
  rows = [
      ('mxfp8', 'f32', 'f8e4m3fn', 'f8e8m0fnu', last, (3, 64), (5, 64), (3, 2), (5, 2)),
      ('mxfp8.bf16', 'bf16', 'f8e5m2', 'f8e8m0fnu', last, (3, 64), (2, 64), (3, 2), (2, 2)),
      ('nvfp4', 'f32', 'f4e2m1fn', 'f8e4m3fn', last, (4, 32), (3, 32), (4, 2), (3, 2)),
      ('one-scale', 'f32', 'f8e4m3fn', 'f8e8m0fnu', last, (3, 8), (5, 8), (3, 4), (5, 1)),
      ('scale-each', 'f32', 'f32', 'f32', last, (3, 4), (2, 4), (3, 4), (2, 4)),
      ('blocks-of-rows', 'f32', 'f32', 'f32', last, (6, 4), (4, 4), (2, 2), (1, 4)),
      ('first', 'f32', 'bf16', 'f32', first, (8, 3), (2, 8), (4, 3), (2, 2)),
      ('batch', 'f32', 'f8e4m3fn', 'f8e8m0fnu', batch, (2, 3, 8), (8, 2, 4), (2, 3, 2), (4, 2, 4)),
      ('batch.shared', 'f32', 'f32', 'f32', batch, (2, 3, 8), (8, 2, 4), (1, 1, 2), (4, 2, 4)),
      ('vector', 'f32', 'f32', 'f32', vector, (6,), (6, 3), (3,), (2, 3)),
      ('f16', 'f16', 'f16', 'f16', last, (3, 4), (2, 4), (3, 2), (2, 2)),
      ('f64', 'f64', 'f32', 'f64', last, (3, 4), (2, 4), (3, 2), (2, 2)),
      ('s32', 's32', 's8', 's16', last, (3, 4), (2, 4), (3, 2), (2, 2)),
      ('u8', 'u8', 'u8', 'u8', last, (3, 4), (2, 4), (3, 2), (2, 2)),
      ('c64', 'c64', 'c64', 'f32', last, (3, 4), (2, 4), (3, 2), (2, 2)),
      ('f8', 'f8e5m2', 'f8e5m2', 'f8e8m0fnu', last, (2, 2), (2, 2), (2, 1), (2, 1)),
      ('nothing', 'f32', 'f32', 'f32', last, (3, 0), (2, 0), (3, 1), (2, 0)),
  ]
  for name, type_, operand, scale, (dims, letters), *shapes in rows:
    x = [small_ints(operand, s, name, i, low=-2, high=3) for i, s in enumerate(shapes[:2])]
    for i, s in enumerate(shapes[2:]):
      powers = any_bits('u8', s, name, i) % 3  # 1, 2, 4
      x.append((1 << powers.astype(np.int32)).astype(DTYPES[scale]))
    wide = {'s32': np.int64, 'u8': np.int64, 'c64': np.complex64}.get(type_, np.float64)
    a, b = (x[i].astype(wide) * blocks(x[2 + i], shapes[i]).astype(wide) for i in (0, 1))
    y = np.einsum(letters, a, b).astype(DTYPES[type_])
    f.spec(f'scaled-dot.{name}', [shape_of(v) for v in x],
           f'r = {shape_of(y)} scaled-dot(p0, p1, p2, p3), {dims}', [x], [[y]])


def inverse_functions(f):
  """Newer opcodes that StableHLO's importer lacks; the results are correctly rounded."""
  unit, any_ = [-0.99, -0.5, -1e-3, 0.25, 0.75, 1.0], [-20.0, -1.5, -1e-3, 0.25, 3.0, 40.0]
  inputs = {'acos': unit, 'asin': unit, 'atanh': unit[:-1], 'acosh': [1.0, 1.001, 1.5, 3.0, 1e4],
            'asinh': any_, 'sinh': any_, 'cosh': any_}
  for opcode, values in inputs.items():
    for type_ in ('f32', 'f64'):
      x = np.array(values).astype(DTYPES[type_])
      y = np.array([float(reference.FUNCTIONS[opcode](v)) for v in x.tolist()]).astype(x.dtype)
      f.spec(f'{opcode}.{type_}', [shape_of(x)], f'r = {shape_of(x)} {opcode}(p0)', [[x]], [[y]],
             tol='ulp 4')
