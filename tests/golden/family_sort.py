"""sort with any comparator, and topk."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family, reducer
from harness import DTYPES, F8S, FLOATS, INTS
from values import any_bits, edges, normals, rng, small_ints


def comparator(types, direction='LT', total=False, key=0):
  """The text of `less`, which compares operand `key` and ignores the others."""
  lines = []
  for i, type_ in enumerate(types):
    lines += [f'  a{i} = {type_}[] parameter({2 * i})',
              f'  b{i} = {type_}[] parameter({2 * i + 1})']
  more = ', type=TOTALORDER' if total else ''
  lines.append(f'  ROOT r = pred[] compare(a{key}, b{key}), direction={direction}{more}')
  return 'less {\n' + '\n'.join(lines) + '\n}\n'


def sorts(f, name, arrays, dimension=0, stable=True, computation=None, direction='LT', total=False):
  shapes = [f'{t}[{",".join(map(str, x.shape))}]' for t, x in arrays]
  result = shapes[0] if len(shapes) == 1 else '(' + ', '.join(shapes) + ')'
  operands = ', '.join(f'p{i}' for i in range(len(arrays)))
  f.hlo(f'sort.{name}', None,
        f'r = {result} sort({operands}), dimensions={{{dimension}}}, '
        f'is_stable={str(stable).lower()}, to_apply=less', *[x for _, x in arrays],
        computations=computation or comparator([t for t, _ in arrays], direction, total))


def shuffled(type_, *key):
  x = edges(type_)
  x = np.concatenate([x, x[::2]])
  if type_ in FLOATS:
    x = np.append(x, np.array(np.copysign(np.nan, -1)).astype(x.dtype))
  return rng('shuffle', type_, *key).permutation(x)


BY_TWO_KEYS = '''less {
  a0 = s32[] parameter(0)
  b0 = s32[] parameter(1)
  a1 = f32[] parameter(2)
  b1 = f32[] parameter(3)
  first = pred[] compare(a0, b0), direction=LT
  same = pred[] compare(a0, b0), direction=EQ
  second = pred[] compare(a1, b1), direction=GT
  both = pred[] and(same, second)
  ROOT r = pred[] or(first, both)
}
'''

BY_SIZE = '''less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] abs(a)
  d = s32[] abs(b)
  ROOT r = pred[] compare(c, d), direction=LT
}
'''


# jnp.sort's comparator: the total order, but all zeros alike and all NaNs alike.
def jax_comparator(types, key=0):
  t, lines = types[key], []
  for i, type_ in enumerate(types):
    lines += [f'  a{i} = {type_}[] parameter({2 * i})',
              f'  b{i} = {type_}[] parameter({2 * i + 1})']
  lines += [f'  none = {t}[] constant(nan)', f'  zero = {t}[] constant(0)']
  for x in ('a', 'b'):
    lines += [f'  n{x} = pred[] compare({x}{key}, {x}{key}), direction=NE',
              f'  z{x} = pred[] compare({x}{key}, zero), direction=EQ',
              f'  s{x} = {t}[] select(z{x}, zero, {x}{key})',
              f'  k{x} = {t}[] select(n{x}, none, s{x})']
  lines += ['  ROOT r = pred[] compare(ka, kb), direction=LT, type=TOTALORDER']
  return 'less {\n' + '\n'.join(lines) + '\n}\n'


def compares(types, *lines):
  """The text of a comparator with parameters a0, b0, a1, … and these lines."""
  head = [f'{x}{i} = {type_}[] parameter({2 * i + side})' for i, type_ in enumerate(types)
          for side, x in enumerate('ab')]
  return 'less {\n  ' + '\n  '.join([*head, *lines]) + '\n}\n'


ADD = reducer('add', 'add', 'u32')
UNSIGNED = {1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64'}


def hashed(name, type_, n, salt):
  """Lines that define `name`: n elements of any bits, which follow from the parameter p0."""
  u = f'u32[{n}]'
  lines = [f'{name}_i = {u} iota(), iota_dimension=0',
           f'{name}_k = u32[] constant({2654435761 ^ salt})',
           f'{name}_m = {u} broadcast({name}_k), dimensions={{}}',
           f'{name}_p = {u} broadcast(p0), dimensions={{}}',
           f'{name}_s = {u} broadcast(fifteen), dimensions={{}}',
           f'{name}_a = {u} add({name}_i, {name}_p)']
  last = f'{name}_a'
  for turn in range(3):
    lines += [f'{name}_b{turn} = {u} multiply({last}, {name}_m)',
              f'{name}_c{turn} = {u} shift-right-logical({name}_b{turn}, {name}_s)',
              f'{name}_d{turn} = {u} xor({name}_b{turn}, {name}_c{turn})']
    last = f'{name}_d{turn}'
  size = np.dtype(DTYPES[type_]).itemsize
  if size == 8:
    lines += [f'{name}_lo = u64[{n}] convert({name}_d0)', f'{name}_hi = u64[{n}] convert({last})',
              f'{name}_t = u64[] constant(32)',
              f'{name}_tt = u64[{n}] broadcast({name}_t), dimensions={{}}',
              f'{name}_up = u64[{n}] shift-left({name}_hi, {name}_tt)',
              f'{name}_bits = u64[{n}] or({name}_lo, {name}_up)']
  else:
    # Without NaNs of f16 and f32: the reference evaluator does not keep what distinguishes them.
    mask = {'f16': 0xffff ^ 1 << 10, 'f32': 0xffffffff ^ 1 << 23}.get(type_, 0xffffffff)
    lines += [f'{name}_kept = u32[] constant({mask})',
              f'{name}_mask = {u} broadcast({name}_kept), dimensions={{}}',
              f'{name}_masked = {u} and({last}, {name}_mask)',
              f'{name}_bits = {UNSIGNED[size]}[{n}] convert({name}_masked)']
  return lines + [f'{name} = {type_}[{n}] bitcast-convert({name}_bits)' if type_[0] != 'u'
                  else f'{name} = {type_}[{n}] copy({name}_bits)']


def limited(name, type_, n, salt, count):
  """The same with `count` values, whole numbers; of floats also -0 and several NaNs."""
  lines = hashed(name + 'h', 'u32', n, salt)
  lines += [f'{name}_count = u32[] constant({count})',
            f'{name}_counts = u32[{n}] broadcast({name}_count), dimensions={{}}',
            f'{name}_r = u32[{n}] remainder({name}h, {name}_counts)',
            f'{name}_w = s32[{n}] convert({name}_r)',
            f'{name}_h = s32[] constant({count // 2})',
            f'{name}_hh = s32[{n}] broadcast({name}_h), dimensions={{}}',
            f'{name}_o = s32[{n}] subtract({name}_w, {name}_hh)']
  if type_ not in FLOATS:
    return lines + [f'{name} = {type_}[{n}] convert({name}_o)']
  size = 8 * np.dtype(DTYPES[type_]).itemsize
  bits = np.array([np.nan, -np.nan]).astype(DTYPES[type_]).view(f'u{size // 8}')
  special = {1: 1 << (size - 1), 2: int(bits[0]), 3: int(bits[1]),
             4: int(bits[0]) | (size >= 32)}
  lines += [f'{name}_0 = {type_}[{n}] convert({name}_o)']
  for i, value in special.items():
    lines += [f'{name}_v{i} = u{size}[] constant({value})',
              f'{name}_f{i} = {type_}[] bitcast-convert({name}_v{i})',
              f'{name}_b{i} = {type_}[{n}] broadcast({name}_f{i}), dimensions={{}}',
              f'{name}_n{i} = u32[] constant({i})',
              f'{name}_m{i} = u32[{n}] broadcast({name}_n{i}), dimensions={{}}',
              f'{name}_e{i} = pred[{n}] compare({name}_r, {name}_m{i}), direction=EQ',
              f'{name}_{i} = {type_}[{n}] select({name}_e{i}, {name}_b{i}, {name}_{i - 1})']
  return lines + [f'{name} = {type_}[{n}] copy({name}_4)']


def checksum(name, operand, type_, n):
  """Lines that define the number `name`: all bits of a vector, weighted by position."""
  size = np.dtype(DTYPES[type_]).itemsize
  unsigned, u = UNSIGNED[size], f'u32[{n}]'
  lines = [f'{name}_b = {unsigned}[{n}] ' + (
      f'bitcast-convert({operand})' if type_[0] != 'u' else f'copy({operand})')]
  last = f'{name}_b'
  if size == 8:
    lines += [f'{name}_t = u64[] constant(29)',
              f'{name}_tt = u64[{n}] broadcast({name}_t), dimensions={{}}',
              f'{name}_s = u64[{n}] shift-right-logical({last}, {name}_tt)',
              f'{name}_x = u64[{n}] xor({last}, {name}_s)']
    last = f'{name}_x'
  return lines + [
      f'{name}_c = {u} convert({last})', f'{name}_i = {u} iota(), iota_dimension=0',
      f'{name}_k = u32[] constant(2246822519)',
      f'{name}_m = {u} broadcast({name}_k), dimensions={{}}', f'{name}_w = {u} multiply({name}_i, {name}_m)',
      f'{name}_ww = {u} xor({name}_w, {name}_m)', f'{name}_y = {u} multiply({name}_c, {name}_ww)',
      f'{name} = u32[] reduce({name}_y, nothing), dimensions={{0}}, to_apply=add']


def sorts_many(f, name, types, dims, dimension=0, computation=None, limit=None, direction='LT',
               total=False):
  """Sorts so much that only checksums are kept, of what the program makes up itself. The first
  operand has `limit` different values, or any bits; the others are hashed, too."""
  n = int(np.prod(dims))
  shapes = [f'{t}[{",".join(map(str, dims))}]' for t in types]
  lines = ['fifteen = u32[] constant(15)', 'nothing = u32[] constant(0)']
  for i, t in enumerate(types):
    lines += (limited(f'x{i}', t, n, i, limit[i]) if limit and i < len(limit) and limit[i]
              else hashed(f'x{i}', t, n, i))
    lines += [f'o{i} = {shapes[i]} reshape(x{i})']
  operands = ', '.join(f'o{i}' for i in range(len(types)))
  result = shapes[0] if len(types) == 1 else '(' + ', '.join(shapes) + ')'
  lines += [f'sorted = {result} sort({operands}), dimensions={{{dimension}}}, is_stable=true, '
            'to_apply=less']
  for i, t in enumerate(types):
    lines += [f'r{i} = {shapes[i]} ' + ('copy(sorted)' if len(types) == 1 else
                                       f'get-tuple-element(sorted), index={i}'),
              f'l{i} = {t}[{n}] reshape(r{i})', *checksum(f'sum{i}', f'l{i}', t, n)]
  sums = ', '.join(f'sum{i}' for i in range(len(types)))
  lines += [f'ROOT all = ({", ".join(["u32[]"] * len(types))}) tuple({sums})']
  computation = computation or comparator(types, direction, total)
  f.hlo(f'sort.many.{name}', None, '\n'.join(lines), np.array(12345, np.uint32),
        computations=ADD + '\n' + computation, restyle=False, check=False)


@family
def sort(f):
  for type_ in ['pred'] + INTS:
    sorts(f, f'{type_}.LT', [(type_, shuffled(type_))])
  for type_ in ('s32', 'u8', 's64'):
    sorts(f, f'{type_}.GT', [(type_, shuffled(type_))], direction='GT')
  for type_ in FLOATS + F8S:
    # The total order has no ties between different bits but for NaNs, which all read alike.
    sorts(f, f'{type_}.total', [(type_, shuffled(type_))], total=True)
    sorts(f, f'{type_}.total.GT', [(type_, shuffled(type_))], total=True, direction='GT')
  sorts(f, 'f32.stable', [('f32', np.array([0.0, -0.0, 1, -1, -0.0, 0.0, -2, 1], np.float32)),
                          ('s32', np.arange(8, dtype=np.int32))])
  for dimension in (0, 1, 2):
    sorts(f, f'rank3.{dimension}', [('s32', any_bits('s32', (3, 4, 5)))], dimension)
  key = small_ints('s32', (20,), low=0, high=4)
  sorts(f, 'stable', [('s32', key), ('u32', np.arange(20, dtype=np.uint32))])
  sorts(f, 'three', [('s32', rng('p').permutation(9).astype(np.int32)),
                     ('f32', normals('f32', (9,))), ('pred', any_bits('pred', (9,)))])
  sorts(f, 'key.last', [('f32', normals('f32', (9,))), ('s32', small_ints('s32', (9,)))],
        computation=comparator(['f32', 's32'], key=1))
  sorts(f, 'two-keys', [('s32', key[:12]), ('f32', normals('f32', (12,)))],
        computation=BY_TWO_KEYS)
  sorts(f, 'size', [('s32', small_ints('s32', (15,)))], computation=BY_SIZE)
  sorts(f, 'empty', [('s32', np.zeros((0,), np.int32))])
  sorts(f, 'empty-rows', [('s32', np.zeros((0, 3), np.int32))], 1)
  sorts(f, 'one', [('s32', np.array([5], np.int32))])
  sorts(f, 'unstable', [('s32', rng('u').permutation(33).astype(np.int32))], stable=False)
  sorts(f, 'medium', [('f32', normals('f32', (1000,))), ('s32', np.arange(1000, dtype=np.int32))])
  x = normals('f32', (4, 6), 'jax')
  x[0, 2], x[1, 1], x[1, 3], x[2, 0] = np.nan, np.inf, -np.inf, -0.0
  f.jax('jax.sort', lambda x: jnp.sort(x, axis=1), x)
  f.jax('jax.sort.descending', lambda x: jnp.sort(x, axis=0, descending=True), x)
  f.jax('jax.argsort', lambda x: jnp.argsort(x, axis=1), x)
  f.jax('jax.sort.complex', lambda x: jnp.sort(x), small_ints('c64', (12,)))
  f.jax('jax.sort.bf16', lambda x: jnp.sort(x), shuffled('bf16'))
  f.jax('jax.median', jnp.median, small_ints('f32', (7,)))
  f.jax('jax.unique', lambda x: jnp.unique(x, size=6, fill_value=-9), small_ints('s32', (12,)))
  f.jax('jax.searchsorted', lambda a, v: jnp.searchsorted(a, v), np.sort(normals('f32', (10,), 1)),
        normals('f32', (6,), 2))
  f.jax('jax.lexsort', lambda a, b: jnp.lexsort((a, b)), small_ints('s32', (10,), 1),
        small_ints('s32', (10,), 2))

  sort_edges(f)
  sort_many(f)


def sort_edges(f):
  """Keys of every kind, and comparators of every form."""
  for type_ in FLOATS + F8S:
    x = shuffled(type_, 'jax')
    f.jax(f'jax.sort.edges.{type_}', lambda x: jnp.sort(x), x)
    f.jax(f'jax.argsort.edges.{type_}', lambda x: jnp.argsort(x), x)
    y = x[x == x]  # where there are NaNs, the order by value is none
    for direction in ('LT', 'GT', 'LE', 'GE'):
      sorts(f, f'{type_}.value.{direction}', [(type_, y), ('s32', np.arange(len(y), dtype=np.int32))],
            direction=direction)
    sorts(f, f'{type_}.value', [(type_, y)])
  for type_ in INTS + ['pred']:
    x = shuffled(type_)
    for direction in ('GT', 'LE', 'GE'):
      sorts(f, f'{type_}.tie.{direction}', [(type_, x), ('u32', np.arange(len(x), dtype=np.uint32))],
            direction=direction)
  # NaNs with payloads, quiet ones: of both signs, in the total order.
  nans = np.array([0x7fc00001, 0xffc00001, 0x7fc00000, 0xffc12345, 0x3f800000, 0x7fffffff,
                   0xffffffff, 0x7f800000, 0xff800000, 0, 0x80000000], np.uint32).view(np.float32)
  count = np.arange(len(nans), dtype=np.int32)
  for direction in ('LT', 'GT', 'LE', 'GE'):
    sorts(f, f'nans.{direction}', [('f32', nans), ('s32', count)], direction=direction, total=True)
  f.jax('jax.sort.nans', lambda x, i: lax.sort((x, i), num_keys=1), nans, count)
  x, k = normals('f32', (33,), 'edges'), small_ints('s32', (33,), 'edges')
  u = np.arange(33, dtype=np.uint8)
  sorts(f, 'swapped', [('f32', x), ('u8', u)], computation=compares(
      ['f32', 'u8'], 'ROOT r = pred[] compare(b0, a0), direction=GT'))
  sorts(f, 'swapped.LE', [('s32', k), ('u8', u)], computation=compares(
      ['s32', 'u8'], 'ROOT r = pred[] compare(b0, a0), direction=GE'))
  sorts(f, 'select', [('s32', k), ('f32', x)], computation=compares(
      ['s32', 'f32'], 'e = pred[] compare(b0, a0), direction=EQ',
      'l = pred[] compare(a0, b0), direction=LT', 'm = pred[] compare(a1, b1), direction=GT',
      'ROOT r = pred[] select(e, m, l)'))
  sorts(f, 'select.NE', [('s32', k), ('s32', k[::-1]), ('u8', u)], computation=compares(
      ['s32', 's32', 'u8'], 'e = pred[] compare(a0, b0), direction=NE',
      'l = pred[] compare(a0, b0), direction=GT', 'm = pred[] compare(a1, b1), direction=LE',
      'ROOT r = pred[] select(e, l, m)'))
  sorts(f, 'negated', [('s32', k), ('u8', u)], computation=compares(
      ['s32', 'u8'], 'a = s32[] negate(a0)', 'b = s32[] negate(b0)',
      'ROOT r = pred[] compare(a, b), direction=LT'))
  sorts(f, 'two-operands', [('s32', k), ('f32', x)], computation=compares(
      ['s32', 'f32'], 'c = f32[] convert(a0)', 'd = f32[] convert(b0)',
      'p = f32[] multiply(c, a1)', 'q = f32[] multiply(d, b1)', 'one = f32[] constant(1)',
      'l = pred[] compare(a0, b0), direction=LT', 'e = pred[] compare(a0, b0), direction=EQ',
      's = f32[] add(p, one)', 't = f32[] add(q, one)',
      'm = pred[] compare(s, t), direction=GT', 'n = pred[] and(m, e)', 'ROOT r = pred[] or(n, l)'))
  # XLA's compiled programs write the total order of floats as that of integers.
  order = lambda x: (f'{x}i = s32[] bitcast-convert({x}0)', f'{x}n = pred[] compare({x}i, z), direction=LT',
                     f'{x}x = s32[] xor({x}i, m)', f'{x}k = s32[] select({x}n, {x}x, {x}i)')
  sorts(f, 'bits', [('f32', nans), ('s32', count)], computation=compares(
      ['f32', 's32'], 'z = s32[] constant(0)', 'm = s32[] constant(2147483647)', *order('a'), *order('b'),
      'ROOT r = pred[] compare(ak, bk), direction=LT'))
  # Neither side has a key of its own.
  y = np.abs(normals('f32', (33,), 'denominators')) + 1
  sorts(f, 'fractions', [('f32', x), ('f32', y), ('u8', u)], computation=compares(
      ['f32', 'f32', 'u8'], 'p = f32[] multiply(a0, b1)', 'q = f32[] multiply(b0, a1)',
      'ROOT r = pred[] compare(p, q), direction=LT'))
  sorts(f, 'difference', [('s32', k), ('u8', u)], computation=compares(
      ['s32', 'u8'], 'd = s32[] subtract(a0, b0)', 'z = s32[] constant(0)',
      'ROOT r = pred[] compare(d, z), direction=LT'))
  for value in ('true', 'false'):
    sorts(f, f'always.{value}', [('s32', k), ('u8', u)], computation=compares(
        ['s32', 'u8'], f'ROOT r = pred[] constant({value})'))
  f.jax('jax.two-keys', lambda a, b, c: lax.sort((a, b, c), num_keys=2),
        np.round(x), k, np.arange(33, dtype=np.int16))
  f.jax('jax.three-keys', lambda a, b, c: lax.sort((a, b, c), num_keys=3),
        np.round(x).astype(np.float16), k.astype(np.int8), -x.astype(np.float64))
  z = edges('c64')
  f.jax('jax.argsort.complex', lambda z: jnp.argsort(z), np.concatenate([z[::-1], z]))
  f.jax('jax.argsort.descending', lambda x: jnp.argsort(x, descending=True), np.round(x))
  f.jax('jax.quantile', lambda x: jnp.quantile(x, 0.25, axis=0, method='lower'), x.reshape(11, 3))
  f.jax('jax.approx-min', lambda x: lax.approx_min_k(x, 3), x)


def sort_many(f):
  """Around the sizes of chunks, and beyond several of them."""
  for n in (79, 80, 81, 257):
    sorts_many(f, f'{n}', ['f32', 'u32'], (n,), total=True)
    sorts_many(f, f'{n}.alone', ['s32'], (n,))
  for n in (65535, 65536, 65537, 200000):
    sorts_many(f, f'{n}.f32', ['f32'], (n,), total=True)
    sorts_many(f, f'{n}.f32.jax', ['f32', 'u32'], (n,), computation=jax_comparator(['f32', 'u32']),
               limit=[999])
    sorts_many(f, f'{n}.alone.jax', ['f32'], (n,), computation=jax_comparator(['f32']),
               limit=[n // 3])
  for type_ in ('u8', 's8', 'u16', 's16', 's32', 'u32', 's64', 'u64', 'f16', 'bf16', 'f64',
                'f8e4m3fn', 'f8e4m3fnuz'):
    total = type_[0] in 'fb'
    limit = [255] if type_ == 'bf16' else None  # XLA:CPU makes all NaNs one on the way through f32
    sorts_many(f, f'alone.{type_}', [type_], (150000,), total=total, limit=limit)
    sorts_many(f, f'alone.GT.{type_}', [type_], (150000,), total=total, direction='GT', limit=limit)
    sorts_many(f, f'with.{type_}', ['u64', type_, 'u8'], (70000,), total=total,
               limit=limit and [None, 255],
               computation=comparator(['u64', type_, 'u8'], key=1, total=total))
    if total and type_[1] != '8':
      sorts_many(f, f'jax.{type_}', [type_], (150000,), computation=jax_comparator([type_]),
                 limit=[99])
  for direction in ('LE', 'GE'):
    sorts_many(f, f'{direction}', ['s32', 'u16'], (150000,), direction=direction, limit=[10])
    sorts_many(f, f'{direction}.alone', ['f64'], (150000,), direction=direction, total=True,
               limit=[10])
  sorts_many(f, 'one-value', ['s32', 'u16'], (150000,), limit=[1])
  sorts_many(f, 'two-keys', ['s32', 's64', 'u16'], (150000,), limit=[10, 100], computation=compares(
      ['s32', 's64', 'u16'], 'l = pred[] compare(a0, b0), direction=LT',
      'e = pred[] compare(a0, b0), direction=EQ', 'g = pred[] compare(a1, b1), direction=GT',
      'n = pred[] and(e, g)', 'ROOT r = pred[] or(l, n)'))
  sorts_many(f, 'size', ['s32', 'u16'], (150000,), limit=[1000], computation=compares(
      ['s32', 'u16'], 'c = s32[] abs(a0)', 'd = s32[] abs(b0)',
      'ROOT r = pred[] compare(c, d), direction=LT'))
  by_difference = compares(['s32', 'u16'], 'd = s32[] subtract(a0, b0)', 'z = s32[] constant(0)',
                           'ROOT r = pred[] compare(d, z), direction=LT')
  for n in (255, 256, 257, 16383, 16384, 16385, 32769, 150000):
    sorts_many(f, f'difference.{n}', ['s32', 'u16'], (n,), limit=[n // 2],
               computation=by_difference)
  for dims, dimension in (((3, 70000), 1), ((70000, 3), 0), ((500, 33), 0), ((500, 33), 1),
                          ((2, 300, 5), 1), ((4000, 3), 1)):
    name = 'x'.join(map(str, dims)) + f'.{dimension}'
    sorts_many(f, f'{name}.alone', ['f32'], dims, dimension, total=True)
    sorts_many(f, name, ['s16', 'f64', 'u8', 'u32', 'u16'], dims, dimension, limit=[50])
    sorts_many(f, f'{name}.difference', ['s32', 'u16'], dims, dimension, limit=[50],
               computation=by_difference)


@family
def topk(f):
  for type_ in ('f32', 's32', 'u8', 'f64', 'bf16', 's64', 'f16', 'u32'):
    x = rng('topk', type_).permutation(24).reshape(3, 8).astype(np.int64)
    f.jax(f'top-k.{type_}', lambda x: lax.top_k(x, 3), (x - 5 if type_[0] != 'u' else x).astype(
        {'f32': np.float32, 's32': np.int32, 'u8': np.uint8, 'f64': np.float64, 's64': np.int64,
         'f16': np.float16, 'u32': np.uint32}.get(type_, jnp.bfloat16)))
  f.jax('top-k.ties', lambda x: lax.top_k(x, 4), np.array([3, 1, 3, 2, 3, 1], np.float32))
  f.jax('top-k.special', lambda x: lax.top_k(x, 7),
        np.array([np.nan, 1, -np.inf, np.inf, 0.0, -0.0, -1], np.float32))
  f.jax('top-k.zeros', lambda x: lax.top_k(x, 5),
        np.array([-0.0, 0.0, -np.nan, np.nan, -0.0, 1], np.float32))
  f.jax('top-k.large', lambda x: lax.top_k(x, 70), rng('topk').integers(0, 50, 100).astype(np.float32))
  f.jax('top-k.zero', lambda x: lax.top_k(x, 0), np.array([3, 1, 2], np.float32))
  for largest in ('true', 'false'):
    f.hlo(f'topk.largest.{largest}', None,
          f'r = (f32[2,2], s32[2,2]) topk(p0), k=2, largest={largest}',
          rng('raw').permutation(10).reshape(2, 5).astype(np.float32))
  f.jax('approx-max-k', lambda x: lax.approx_max_k(x, 3), rng(7).permutation(16).astype(np.float32))
  f.jax('one-hot-argmax', lambda x: jax.nn.one_hot(jnp.argmax(x, -1), 5), normals('f32', (3, 5)))
