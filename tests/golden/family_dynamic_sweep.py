"""Every operation that XLA:CPU runs on an operand of dynamic size, the size and the elements that
are there of each result. What XLA refuses is in tests/api/dynamic.test.mjs. Left out are programs in
which XLA looks at what lies past a size: see README.md."""

import re

import numpy as np

from corpus import family, reducer
from values import small_ints

X = np.array([3, 1, 2, 9, 8], np.float32)
Y = np.array([5, 7, -2, 4, 6], np.float32)
I = np.array([4, 1, 0, 2, 3], np.int32)
M = small_ints('f32', (4, 6), 'm')
N = small_ints('f32', (4, 6), 'n')
EXACT = 'exact'
NEAR = 'abs 1e-5 rel 1e-5'
NAN = np.where(np.arange(6) > 2, np.nan, M).astype(np.float32)

D = 'd = f32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
E = 'e = f32[<=5] set-dimension-size(p2, p3), dimensions={0}\n'
ROWS = 'd = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
COLUMNS = 'd = f32[4,<=6] set-dimension-size(p0, p1), dimensions={1}\n'
BOTH = ('b = f32[<=4,6] set-dimension-size(p0, p1), dimensions={0}\n'
        'd = f32[<=4,<=6] set-dimension-size(b, p2), dimensions={1}\n')

COMPUTATIONS = {
    'add': reducer('add', 'add', 'f32'),
    'maximum': reducer('maximum', 'maximum', 'f32'),
    'times': reducer('times', 'multiply', 'f32'),
    'ge': 'ge {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n'
          '  ROOT r = pred[] compare(a, b), direction=GE\n}\n',
    'lt2': 'lt2 {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n'
           '  j = s32[] parameter(3)\n  ROOT r = pred[] compare(a, b), direction=LT\n}\n',
    'sums': 'sums {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n'
            '  j = s32[] parameter(3)\n  s = f32[] add(a, b)\n  t = s32[] add(i, j)\n'
            '  ROOT r = (f32[], s32[]) tuple(s, t)\n}\n',
    'negated': 'negated {\n  x = (f32[<=5]) parameter(0)\n'
               '  e = f32[<=5] get-tuple-element(x), index=0\n  y = f32[<=5] negate(e)\n'
               '  ROOT t = (f32[<=5]) tuple(y)\n}\n',
    'four': 'four {\n  x = (f32[<=5]) parameter(0)\n  one = f32[] constant(1)\n'
            '  y = f32[5] broadcast(one), dimensions={}\n  n = s32[] constant(4)\n'
            '  z = f32[<=5] set-dimension-size(y, n), dimensions={0}\n'
            '  ROOT t = (f32[<=5]) tuple(z)\n}\n',
    'twice': 'twice {\n  x = f32[<=5] parameter(0)\n  y = f32[<=5] parameter(1)\n'
             '  s = f32[<=5] call(x, y), to_apply=plus\n'
             '  ROOT t = f32[<=5] call(s, y), to_apply=plus\n}\n',
    'plus': 'plus {\n  x = f32[<=5] parameter(0)\n  y = f32[<=5] parameter(1)\n'
            '  ROOT s = f32[<=5] add(x, y)\n}\n',
    'less': 'less {\n  p = (s32[], f32[<=5], f32[<=5]) parameter(0)\n'
            '  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n'
            '  ROOT c = pred[] compare(i, n), direction=LT\n}\n',
    'swap': 'swap {\n  p = (s32[], f32[<=5], f32[<=5]) parameter(0)\n'
            '  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n'
            '  j = s32[] add(i, one)\n  x = f32[<=5] get-tuple-element(p), index=1\n'
            '  y = f32[<=5] get-tuple-element(p), index=2\n'
            '  ROOT t = (s32[], f32[<=5], f32[<=5]) tuple(j, y, x)\n}\n',
    'inner': 'inner {\n  p = (s32[], f32[<=5]) parameter(0)\n'
             '  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n'
             '  j = s32[] add(i, one)\n  x = f32[<=5] get-tuple-element(p), index=1\n'
             '  y = f32[<=5] add(x, x)\n  ROOT t = (s32[], f32[<=5]) tuple(j, y)\n}\n',
    'outer': 'outer {\n  p = (s32[], f32[<=5]) parameter(0)\n'
             '  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n'
             '  j = s32[] add(i, one)\n  x = f32[<=5] get-tuple-element(p), index=1\n'
             '  k = s32[] get-dimension-size(x), dimensions={0}\n  m = s32[] subtract(k, one)\n'
             '  y = f32[<=5] set-dimension-size(x, m), dimensions={0}\n  z = s32[] constant(0)\n'
             '  t = (s32[], f32[<=5]) tuple(z, y)\n'
             '  g = (s32[], f32[<=5]) while(t), condition=twofold, body=inner\n'
             '  h = f32[<=5] get-tuple-element(g), index=1\n'
             '  ROOT r = (s32[], f32[<=5]) tuple(j, h)\n}\n',
    'twofold': 'twofold {\n  p = (s32[], f32[<=5]) parameter(0)\n'
               '  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(2)\n'
               '  ROOT c = pred[] compare(i, n), direction=LT\n}\n',
}


def called(body):
  """The computations that a body names, and those that they name, callees first."""
  found = {}

  def visit(text):
    for name in re.findall(r'[\w.]+', text):
      block = COMPUTATIONS.get(name)
      if not block or name in found or f'={name}' not in text.replace('{', '=').replace(', ', '='):
        continue
      visit(block.split('\n', 1)[1])
      found[name] = block
  visit(body)
  return '\n'.join(found.values())


def read_out(name, shape):
  """Lines and results: the array with zeros past its sizes, and its sizes."""
  type_, text = re.fullmatch(r'(\w+)\[(.*)\]', shape).groups()
  sizes = [s for s in text.split(',') if s]
  bounds = [int(s.removeprefix('<=')) for s in sizes]
  static = f'[{",".join(map(str, bounds))}]'
  lines, counts, array, there = [], [], name, None
  for d, size in enumerate(sizes):
    if not size.startswith('<='):
      continue
    at = f'{name}{d}'
    sizes[d] = str(bounds[d])
    lines += [
        f'k{at} = s32[] get-dimension-size({name}), dimensions={{{d}}}',
        f'b{at} = s32[] constant({bounds[d]})',
        f'w{at} = {type_}[{",".join(sizes)}] set-dimension-size({array}, b{at}), dimensions={{{d}}}',
        f'i{at} = s32{static} iota(), iota_dimension={d}',
        f'l{at} = s32{static} broadcast(k{at}), dimensions={{}}',
        f'm{at} = pred{static} compare(i{at}, l{at}), direction=LT',
    ]
    if there:
      lines.append(f'n{at} = pred{static} and({there}, m{at})')
    counts.append((f'k{at}', 's32[]'))
    array, there = f'w{at}', f'n{at}' if there else f'm{at}'
  if there is None:
    return lines, [(name, shape)]
  zero = {'pred': 'false', 'c64': '(0, 0)'}.get(type_, '0')
  lines += [f'z{name} = {type_}[] constant({zero})',
            f'y{name} = {type_}{static} broadcast(z{name}), dimensions={{}}',
            f'r{name} = {type_}{static} select({there}, {array}, y{name})']
  return lines, [(f'r{name}', type_ + static)] + counts


def swept(f, name, body, results, *inputs, tol=EXACT, more=''):
  """`results`: names of the body's values and their shapes."""
  lines, outs = [], []
  for result, shape in results.items():
    some, out = read_out(result, shape)
    lines, outs = lines + some, outs + out
  shapes, names = (', '.join(column) for column in zip(*((s, n) for n, s in outs)))
  text = '\n'.join([body.strip(), *lines, f'r = ({shapes}) tuple({names})'])
  f.hlo(name, None, text, *(np.int32(x) if isinstance(x, int) else x for x in inputs), tol=tol,
        computations=called(body) + more, check=False, restyle=False)


@family
def dynamic_sweep(f):
  elementwise(f)
  movement(f)
  indices(f)
  reshapes(f)
  sizes(f)
  contractions(f)
  windows(f)
  orders(f)
  control(f)
  types(f)


def elementwise(f):
  for operation in ('abs', 'ceil', 'negate', 'sqrt', 'tanh', 'logistic', 'copy', 'expm1'):
    opcode = {'expm1': 'exponential-minus-one'}.get(operation, operation)
    swept(f, operation, D + f'w = f32[<=5] {opcode}(d)', {'w': 'f32[<=5]'}, X, 3,
          tol='ulp 6' if operation in ('tanh', 'logistic', 'expm1', 'sqrt') else EXACT)
  swept(f, 'reduce-precision', D + 'w = f32[<=5] reduce-precision(d), exponent_bits=5, '
        'mantissa_bits=1', {'w': 'f32[<=5]'}, X, 3)
  swept(f, 'convert', D + 'w = s32[<=5] convert(d)', {'w': 's32[<=5]'}, X, 3)
  swept(f, 'bitcast-convert', D + 'w = s32[<=5] bitcast-convert(d)', {'w': 's32[<=5]'}, X, 3)
  swept(f, 'complex', D + 'c = c64[<=5] complex(d, d)\nv = f32[<=5] real(c)\n'
        'w = f32[<=5] imag(c)', {'v': 'f32[<=5]', 'w': 'f32[<=5]'}, X, 3)
  for operation in ('add', 'subtract', 'multiply', 'divide', 'maximum', 'remainder'):
    swept(f, operation, D + f'w = f32[<=5] {operation}(d, p2)', {'w': 'f32[<=5]'}, X, 3, Y)
    for n, m in ((1, 4), (4, 1), (1, 0), (3, 4), (4, 3)) if operation == 'add' else ((3, 3),):
      swept(f, f'{operation}.{n}.{m}', D + E + f'w = f32[<=5] {operation}(d, e)',
            {'w': 'f32[<=5]'}, X, n, Y, m)
  swept(f, 'compare', D + E + 'w = pred[<=5] compare(d, e), direction=LT', {'w': 'pred[<=5]'}, X,
        3, Y, 4)
  for n, m in ((3, 4), (4, 3), (4, 4)):
    swept(f, f'select.{n}.{m}', D + E + 'c = pred[<=5] compare(d, e), direction=LT\n'
          'w = f32[<=5] select(c, d, e)', {'w': 'f32[<=5]'}, X, n, Y, m)
    swept(f, f'map.{n}.{m}', D + E + 'w = f32[<=5] map(d, e), dimensions={0}, to_apply=times',
          {'w': 'f32[<=5]'}, X, n, Y, m)
    swept(f, f'clamp.{n}.{m}', D + E + 'w = f32[<=5] clamp(d, e, p2)', {'w': 'f32[<=5]'}, X, n, Y,
          m)
  swept(f, 'clamp.scalars', D + 'l = f32[] constant(2)\nh = f32[] constant(3)\n'
        'w = f32[<=5] clamp(l, d, h)', {'w': 'f32[<=5]'}, X, 4)
  swept(f, 'select.scalar', D + E + 'c = pred[] compare(p1, p3), direction=LE\n'
        'w = f32[<=5] select(c, d, e)', {'w': 'f32[<=5]'}, X, 3, Y, 3)


def movement(f):
  swept(f, 'broadcast', D + 'w = f32[3,<=5] broadcast(d), dimensions={1}', {'w': 'f32[3,<=5]'}, X,
        3)
  swept(f, 'transpose', BOTH + 'w = f32[<=6,<=4] transpose(d), dimensions={1,0}',
        {'w': 'f32[<=6,<=4]'}, M, 3, 2)
  for dimensions in ('0', '1', '0,1'):
    swept(f, f'reverse.{dimensions}'.replace(',', '-'),
          BOTH + f'w = f32[<=4,<=6] reverse(d), dimensions={{{dimensions}}}',
          {'w': 'f32[<=4,<=6]'}, M, 3, 2)
  for n, m in ((3, 1), (0, 0), (0, 5), (5, 5), (5, 0)):
    swept(f, f'concatenate.{n}.{m}', D + E + 'w = f32[<=15] concatenate(d, p2, e), dimensions={0}',
          {'w': 'f32[<=15]'}, X, n, Y, m)
  swept(f, 'concatenate.other', ROWS + 'e = f32[<=4,6] set-dimension-size(p2, p1), dimensions={0}\n'
        'w = f32[<=4,12] concatenate(d, e), dimensions={1}', {'w': 'f32[<=4,12]'}, M, 3, N)
  for padding, bound in (('2_0', 7), ('0_2', 7), ('1_2', 8), ('0_0_2', 13), ('1_2_1', 12),
                         ('-1_-1', 3), ('-2_1', 4), ('1_-2', 4)):
    for n in (0, 1, 3, 5):
      swept(f, f'pad.{padding}.{n}', D + 'o = f32[] constant(7)\n'
            f'w = f32[<={bound}] pad(d, o), padding={padding}', {'w': f'f32[<={bound}]'}, X, n)
  swept(f, 'slice.part', D + 'w = f32[2] slice(d), slice={[0:2]}', {'w': 'f32[2]'}, X, 3)
  swept(f, 'slice.whole', COLUMNS + 'w = f32[2,<=6] slice(d), slice={[1:3], [0:6]}',
        {'w': 'f32[2,<=6]'}, M, 4)
  o = 'o = s32[] constant(0)\n'
  swept(f, 'dynamic-slice.whole', ROWS + o + 'w = f32[<=4,2] dynamic-slice(d, o, p2), '
        'dynamic_slice_sizes={4,2}', {'w': 'f32[<=4,2]'}, M, 3, 1)
  swept(f, 'dynamic-slice.one', ROWS + o + 'w = f32[1,6] dynamic-slice(d, p2, o), '
        'dynamic_slice_sizes={1,6}', {'w': 'f32[1,6]'}, M, 3, 1)
  swept(f, 'dynamic-update-slice.operand', ROWS + o +
        'w = f32[<=4,6] dynamic-update-slice(d, p2, o, p3)', {'w': 'f32[<=4,6]'}, M, 3,
        N[:2, :2].copy(), 1)
  swept(f, 'dynamic-update-slice.whole', D + 'w = f32[<=5] dynamic-update-slice(p2, d, p3)',
        {'w': 'f32[<=5]'}, X, 3, Y, 0)
  swept(f, 'dynamic-update-slice.both', D + E + o + 'w = f32[<=5] dynamic-update-slice(e, d, o)',
        {'w': 'f32[<=5]'}, X, 3, Y, 4)
  swept(f, 'Sharding', D + 'w = f32[<=5] custom-call(d), custom_call_target="Sharding", '
        'sharding={replicated}', {'w': 'f32[<=5]'}, X, 3)


def indices(f):
  flat = ('offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, '
          'slice_sizes={1}')
  rows = 'collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}'
  two = np.array([2, 1], np.int32)
  swept(f, 'gather.indices', 'd = s32[<=5] set-dimension-size(p0, p1), dimensions={0}\n'
        f'w = f32[<=5] gather(p2, d), {flat}', {'w': 'f32[<=5]'}, I, 3, X)
  swept(f, 'gather.collapsed', D + f'w = f32[5] gather(d, p2), {flat}', {'w': 'f32[5]'}, X, 5, I)
  swept(f, 'gather.whole', COLUMNS + f'w = f32[2,<=6] gather(d, p2), offset_dims={{1}}, {rows}',
        {'w': 'f32[2,<=6]'}, M, 3, two)
  swept(f, 'gather.both', COLUMNS + 'e = s32[<=2] set-dimension-size(p2, p3), dimensions={0}\n'
        f'w = f32[<=2,<=6] gather(d, e), offset_dims={{1}}, {rows}', {'w': 'f32[<=2,<=6]'}, M, 3,
        two, 1)
  swept(f, 'gather.offset-first', COLUMNS +
        'e = s32[<=2] set-dimension-size(p2, p3), dimensions={0}\n'
        f'w = f32[<=6,<=2] gather(d, e), offset_dims={{0}}, {rows}', {'w': 'f32[<=6,<=2]'}, M, 3,
        two, 1)
  swept(f, 'gather.vector-first', 'd = s32[1,<=2] set-dimension-size(p0, p1), dimensions={1}\n'
        'w = f32[<=2,6] gather(p2, d), offset_dims={1}, collapsed_slice_dims={0}, '
        'start_index_map={0}, index_vector_dim=0, slice_sizes={1,6}', {'w': 'f32[<=2,6]'},
        two[None], 1, M)
  swept(f, 'gather.batch', ROWS + 'w = f32[<=4,2] gather(d, p2), offset_dims={}, '
        'collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, '
        'start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}',
        {'w': 'f32[<=4,2]'}, M, 3, np.array([[1, 2], [3, 4], [0, 1], [2, 2]], np.int32))
  flat = ('update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, '
          'index_vector_dim=1, to_apply=add')
  rows = flat.replace('update_window_dims={}', 'update_window_dims={1}')
  four = np.array([0, 2, 1, 3], np.int32)
  swept(f, 'scatter.operand', D + f'w = f32[<=5] scatter(d, p2, p3), {flat}', {'w': 'f32[<=5]'}, X,
        3, four, Y[:4])
  swept(f, 'scatter.indices', 'd = s32[<=4] set-dimension-size(p2, p1), dimensions={0}\n'
        f'w = f32[5] scatter(p0, d, p3), {flat}', {'w': 'f32[5]'}, X, 3, four, Y[:4])
  swept(f, 'scatter.rows', 'd = s32[<=4,1] set-dimension-size(p0, p1), dimensions={0}\n'
        'e = f32[<=4,6] set-dimension-size(p3, p1), dimensions={0}\n'
        f'w = f32[4,6] scatter(p2, d, e), {rows}', {'w': 'f32[4,6]'}, four[:, None].copy(), 2, M, N)
  swept(f, 'scatter.windows', COLUMNS + 'e = f32[4,<=6] set-dimension-size(p3, p1), dimensions={1}\n'
        f'w = f32[4,<=6] scatter(d, p2, e), {rows}', {'w': 'f32[4,<=6]'}, M, 3, four, N)


def reshapes(f):
  for name, from_, to, n in (
      ('split', '<=4,6', '<=4,2,3', 3), ('merge', '<=4,6', '<=24', 3),
      ('merge.minor', '4,<=6', '<=24', 3), ('merge.middle', '2,<=3,4', '2,<=12', 2),
      ('to-1', '<=5', '1,<=5', 3), ('to-1.minor', '<=5', '<=5,1', 3), ('from-1', '1,<=5', '<=5', 3),
      ('from-1.minor', '<=5,1', '<=5', 3), ('scalar', '<=1', '', 1)):
    sizes_ = from_.split(',')
    bounds = [int(s.removeprefix('<=')) for s in sizes_]
    d = [s.startswith('<=') for s in sizes_].index(True)
    x = np.arange(np.prod(bounds), dtype=np.float32).reshape(bounds)
    swept(f, f'reshape.{name}', f'd = f32[{from_}] set-dimension-size(p0, p1), dimensions={{{d}}}\n'
          f'w = f32[{to}] reshape(d)', {'w': f'f32[{to}]'}, x, n)
  swept(f, 'reshape.both', BOTH + 'w = f32[<=24] reshape(d)', {'w': 'f32[<=24]'}, M, 3, 4)
  swept(f, 'dynamic-reshape.static', 'w = f32[<=8,<=3] dynamic-reshape(p0, p1, p2)',
        {'w': 'f32[<=8,<=3]'}, M, 8, 3)
  swept(f, 'dynamic-reshape.both', BOTH + 'w = f32[<=8,<=3] dynamic-reshape(d, p3, p4)',
        {'w': 'f32[<=8,<=3]'}, M, 3, 4, 6, 2)


def sizes(f):
  for n in (-7, -1, 0, 4, 5, 6, 100):
    swept(f, f'size.{n}', D + 'w = f32[<=5] negate(d)', {'w': 'f32[<=5]'}, X, n)
    swept(f, f'size.reduce.{n}', D + 'z = f32[] constant(0)\n'
          'w = f32[] reduce(d, z), dimensions={0}, to_apply=add', {'w': 'f32[]'}, X, n)
    swept(f, f'size.concatenate.{n}', D + 'w = f32[<=10] concatenate(d, p0), dimensions={0}',
          {'w': 'f32[<=10]'}, X, n)
    swept(f, f'size.reverse.{n}', D + 'w = f32[<=5] reverse(d), dimensions={0}', {'w': 'f32[<=5]'},
          X, n)
  for n in (-1, 3, 5, 7):
    swept(f, f'size.constant.{n}', f'n = s32[] constant({n})\n'
          'w = f32[<=5] set-dimension-size(p0, n), dimensions={0}', {'w': 'f32[<=5]'}, X)
  swept(f, 'size.again', D + 'w = f32[<=5] set-dimension-size(d, p2), dimensions={0}',
        {'w': 'f32[<=5]'}, X, 2, 4)


def contractions(f):
  dims = 'lhs_contracting_dims={1}, rhs_contracting_dims={1}'
  e = 'e = f32[4,<=6] set-dimension-size(p2, p1), dimensions={1}\n'
  swept(f, 'dot.free', ROWS + f'w = f32[<=4,4] dot(d, p2), {dims}', {'w': 'f32[<=4,4]'}, M, 3, N)
  swept(f, 'dot.free.rhs', ROWS + f'w = f32[4,<=4] dot(p2, d), {dims}', {'w': 'f32[4,<=4]'}, M, 3,
        N)
  swept(f, 'dot.contracted', COLUMNS + f'w = f32[4,4] dot(d, p2), {dims}', {'w': 'f32[4,4]'}, M, 3,
        N)
  swept(f, 'dot.contracted.nan', COLUMNS + e + f'w = f32[4,4] dot(d, e), {dims}', {'w': 'f32[4,4]'},
        NAN, 3, NAN)
  swept(f, 'dot.batch', ROWS + f'w = f32[<=4] dot(d, p2), lhs_batch_dims={{0}}, '
        f'rhs_batch_dims={{0}}, {dims}', {'w': 'f32[<=4]'}, M, 3, N)
  image = small_ints('f32', (3, 4, 5), 'image')
  kernel = small_ints('f32', (2, 4, 3), 'kernel')
  same = 'window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0'
  swept(f, 'convolution.batch', 'd = f32[<=3,4,5] set-dimension-size(p0, p1), dimensions={0}\n'
        f'w = f32[<=3,2,5] convolution(d, p2), {same}', {'w': 'f32[<=3,2,5]'}, image, 2, kernel)
  swept(f, 'convolution.feature', 'd = f32[3,<=4,5] set-dimension-size(p0, p1), dimensions={1}\n'
        'e = f32[2,<=4,3] set-dimension-size(p2, p1), dimensions={1}\n'
        f'w = f32[3,2,5] convolution(d, e), {same}', {'w': 'f32[3,2,5]'}, image, 2, kernel)
  swept(f, 'convolution.groups', 'd = f32[<=3,4,5] set-dimension-size(p0, p1), dimensions={0}\n'
        f'w = f32[<=3,2,5] convolution(d, p2), {same}, feature_group_count=2',
        {'w': 'f32[<=3,2,5]'}, image, 2, kernel[:, :2].copy())
  a = np.array([[4, 0], [2, 5]], np.float32)
  swept(f, 'triangular-solve', 'd = f32[2,<=3] set-dimension-size(p1, p2), dimensions={1}\n'
        'w = f32[2,<=3] triangular-solve(p0, d), left_side=true, lower=true, '
        'transpose_a=NO_TRANSPOSE', {'w': 'f32[2,<=3]'}, a, small_ints('f32', (2, 3), 'rhs'), 2,
        tol=NEAR)


def windows(f):
  for name, window, bound in (('valid', 'size=2', 4), ('stride', 'size=2 stride=2', 2),
                              ('dilated', 'size=2 rhs_dilate=2', 3), ('trivial', 'size=1', 5),
                              ('skip', 'size=1 stride=2', 3)):
    for n in (0, 1, 3, 5):
      swept(f, f'reduce-window.{name}.{n}', D + 'z = f32[] constant(0)\n'
            f'w = f32[<={bound}] reduce-window(d, z), window={{{window}}}, to_apply=add',
            {'w': f'f32[<={bound}]'}, X, n)
  swept(f, 'reduce-window.pool', ROWS + 'z = f32[] constant(-inf)\nw = f32[<=2,2] '
        'reduce-window(d, z), window={size=2x3 stride=2x3}, to_apply=maximum', {'w': 'f32[<=2,2]'},
        M, 3)
  swept(f, 'reduce-window.rows', ROWS + 'z = f32[] constant(-inf)\nw = f32[<=4,6] '
        'reduce-window(d, z), window={size=1x3 pad=0_0x1_1}, to_apply=maximum', {'w': 'f32[<=4,6]'},
        M, 3)
  swept(f, 'reduce-window.variadic', D + 'e = s32[<=5] set-dimension-size(p2, p1), dimensions={0}\n'
        'z = f32[] constant(0)\no = s32[] constant(0)\nt = (f32[<=4], s32[<=4]) '
        'reduce-window(d, e, z, o), window={size=2}, to_apply=sums\n'
        'v = f32[<=4] get-tuple-element(t), index=0\nw = s32[<=4] get-tuple-element(t), index=1',
        {'v': 'f32[<=4]', 'w': 's32[<=4]'}, X, 3, I)
  rows = small_ints('f32', (3, 4), 'pooled') + np.arange(12, dtype=np.float32).reshape(3, 4) / 16
  for name, window, width in (('', 'size=1x2 stride=1x2', 2),
                              ('.pad', 'size=1x2 stride=1x2 pad=0_0x1_1', 3)):
    swept(f, f'select-and-scatter{name}',
          'd = f32[<=3,4] set-dimension-size(p0, p1), dimensions={0}\n'
          f'e = f32[<=3,{width}] set-dimension-size(p2, p1), dimensions={{0}}\n'
          'z = f32[] constant(0)\nw = f32[<=3,4] select-and-scatter(d, e, z), '
          f'window={{{window}}}, select=ge, scatter=add', {'w': 'f32[<=3,4]'}, rows, 2,
          small_ints('f32', (3, width), 'source'))
  vectors = [small_ints('f32', (6,), name) for name in 'abc']
  swept(f, 'batch-norm-inference', ROWS + 'w = f32[<=4,6] batch-norm-inference(d, p2, p3, p2, p4), '
        'epsilon=0.001, feature_index=1', {'w': 'f32[<=4,6]'}, M, 3, vectors[0], vectors[1],
        np.abs(vectors[2]) + 1, tol=NEAR)
  swept(f, 'batch-norm-grad', ROWS + 'e = f32[<=4,6] set-dimension-size(p4, p1), dimensions={0}\n'
        't = (f32[<=4,6], f32[6], f32[6]) batch-norm-grad(d, p2, p2, p3, e), epsilon=0.001, '
        'feature_index=1\nu = f32[<=4,6] get-tuple-element(t), index=0\n'
        'v = f32[6] get-tuple-element(t), index=1\nw = f32[6] get-tuple-element(t), index=2',
        {'u': 'f32[<=4,6]', 'v': 'f32[6]', 'w': 'f32[6]'}, M, 3, vectors[0],
        np.abs(vectors[1]) + 1, N, tol='abs 2e-5 rel 2e-5')


def orders(f):
  for dimensions, result in (('0', '<=6'), ('1', '<=4'), ('0,1', '')):
    swept(f, f'reduce.{dimensions}'.replace(',', '-'), BOTH + 'z = f32[] constant(1)\n'
          f'w = f32[{result}] reduce(d, z), dimensions={{{dimensions}}}, to_apply=add',
          {'w': f'f32[{result}]'}, M, 3, 2)
  swept(f, 'reduce.variadic', D + 'e = s32[<=5] set-dimension-size(p2, p1), dimensions={0}\n'
        'z = f32[] constant(0)\no = s32[] constant(0)\nt = (f32[], s32[]) reduce(d, e, z, o), '
        'dimensions={0}, to_apply=sums\nv = f32[] get-tuple-element(t), index=0\n'
        'w = s32[] get-tuple-element(t), index=1', {'v': 'f32[]', 'w': 's32[]'}, X, 3, I)
  swept(f, 'sort', BOTH + 'w = f32[<=4,<=6] sort(d), dimensions={1}, to_apply=ge',
        {'w': 'f32[<=4,<=6]'}, M, 3, 4)
  for name, e in (('', 'e = s32[<=5] set-dimension-size(p2, p1), dimensions={0}\n'),
                  ('.static', 'e = s32[5] copy(p2)\n')):
    swept(f, f'sort.pairs{name}', D + e + 't = (f32[<=5], s32[<=5]) sort(d, e), dimensions={0}, '
          'to_apply=lt2\nv = f32[<=5] get-tuple-element(t), index=0\n'
          'w = s32[<=5] get-tuple-element(t), index=1', {'v': 'f32[<=5]', 'w': 's32[<=5]'}, X, 3, I)


def control(f):
  t = 't = (f32[<=5]) tuple(d)\n'
  for branch in (0, 1):
    swept(f, f'conditional.{branch}', D + t + 'g = (f32[<=5]) conditional(p2, t, t), '
          'branch_computations={negated, four}\nw = f32[<=5] get-tuple-element(g), index=0',
          {'w': 'f32[<=5]'}, X, 3, branch)
  swept(f, 'while.swap', D + E + 'i = s32[] constant(0)\n'
        't = (s32[], f32[<=5], f32[<=5]) tuple(i, d, e)\n'
        'g = (s32[], f32[<=5], f32[<=5]) while(t), condition=less, body=swap\n'
        'v = f32[<=5] get-tuple-element(g), index=1\nw = f32[<=5] get-tuple-element(g), index=2',
        {'v': 'f32[<=5]', 'w': 'f32[<=5]'}, X, 3, Y, 2)
  swept(f, 'while.nested', D + 'i = s32[] constant(0)\nt = (s32[], f32[<=5]) tuple(i, d)\n'
        'g = (s32[], f32[<=5]) while(t), condition=twofold, body=outer\n'
        'w = f32[<=5] get-tuple-element(g), index=1', {'w': 'f32[<=5]'}, X, 4)
  swept(f, 'call', D + E + 'w = f32[<=5] call(d, e), to_apply=twice', {'w': 'f32[<=5]'}, X, 3, Y, 2)


def types(f):
  for type_, x in (('s8', I.astype(np.int8)), ('u16', I.astype(np.uint16)),
                   ('s64', I.astype(np.int64)), ('f16', X.astype(np.float16)),
                   ('f64', X.astype(np.float64)), ('c64', (X + 2j * Y).astype(np.complex64)),
                   ('pred', I > 1)):
    zero = {'pred': 'false', 'c64': '(0, 0)'}.get(type_, '0')
    base = f'd = {type_}[<=5] set-dimension-size(p0, p1), dimensions={{0}}\n'
    z = f'z = {type_}[] constant({zero})\n'
    swept(f, f'reverse.{type_}', base + f'w = {type_}[<=5] reverse(d), dimensions={{0}}',
          {'w': f'{type_}[<=5]'}, x, 3)
    swept(f, f'concatenate.{type_}', base + f'w = {type_}[<=10] concatenate(d, p0), '
          'dimensions={0}', {'w': f'{type_}[<=10]'}, x, 3)
    swept(f, f'pad.{type_}', base + z + f'w = {type_}[<=12] pad(d, z), padding=1_2_1',
          {'w': f'{type_}[<=12]'}, x, 3)
    if type_ != 'pred':
      swept(f, f'reduce.{type_}', base + z + f'w = {type_}[] reduce(d, z), dimensions={{0}}, '
            'to_apply=sum', {'w': f'{type_}[]'}, x, 3, more=reducer('sum', 'add', type_))
