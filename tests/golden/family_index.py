"""dynamic-slice, dynamic-update-slice, gather and scatter, in and out of bounds."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family, reducer
from harness import DTYPES
from values import ALL, count, rng, small_ints


def dims(values):
  return ','.join(map(str, values))


def indices(type_, *starts):
  return [np.array(s, np.int64).astype(DTYPES[type_]) for s in starts]


@family
def dynamic_slice(f):
  x = count('f32', (4, 5))
  for i, starts in enumerate(((0, 0), (1, 2), (3, 4), (-1, 1), (100, -100), (2, 3))):
    f.hlo(f'dynamic-slice.{i}', None,
          'r = f32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}', x,
          *indices('s32', *starts))
    f.hlo(f'dynamic-update-slice.{i}', None, 'r = f32[4,5] dynamic-update-slice(p0, p1, p2, p3)',
          x, -count('f32', (2, 3)) - 1, *indices('s32', *starts))
  for type_ in ('s8', 'u8', 's16', 'u16', 'u32', 's64', 'u64'):
    for start in (1, 3, 200):
      wrapped = np.array(start).astype(DTYPES[type_])
      f.hlo(f'dynamic-slice.index.{type_}.{start}', None,
            'r = f32[2] dynamic-slice(p0, p1), dynamic_slice_sizes={2}', count('f32', (5,)),
            wrapped)
      f.hlo(f'dynamic-update-slice.index.{type_}.{start}', None,
            'r = f32[5] dynamic-update-slice(p0, p1, p2)', count('f32', (5,)),
            np.array([-1, -2], np.float32), wrapped)
  for type_ in ALL:
    f.hlo(f'dynamic-slice.{type_}', None,
          'r = %s[2,2] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,2}' % type_,
          count(type_, (3, 4)), *indices('s32', 1, 1))
    f.hlo(f'dynamic-update-slice.{type_}', None,
          f'r = {type_}[3,4] dynamic-update-slice(p0, p1, p2, p3)', count(type_, (3, 4)),
          count(type_, (2, 2)), *indices('s32', 1, 2))
  f.hlo('dynamic-slice.huge', None, 'r = f32[2] dynamic-slice(p0, p1), dynamic_slice_sizes={2}',
        count('f32', (5,)), np.uint64(2**64 - 1))
  f.hlo('dynamic-slice.min', None, 'r = f32[2] dynamic-slice(p0, p1), dynamic_slice_sizes={2}',
        count('f32', (5,)), np.int64(-2**63))
  f.hlo('dynamic-slice.scalar', None, 'r = f32[] dynamic-slice(p0), dynamic_slice_sizes={}',
        np.float32(3), check=False)
  f.hlo('dynamic-slice.empty', None, 'r = f32[0] dynamic-slice(p0, p1), dynamic_slice_sizes={0}',
        count('f32', (5,)), np.int32(9))
  f.jax('dynamic-slice.loop', lambda x: lax.fori_loop(0, 4, lambda i, a: lax.dynamic_update_slice(
      a, lax.dynamic_slice(a, (i,), (2,)) + 1, (3 - i,)), x), count('f32', (6,)))


# operand, indices shape, index_vector_dim, offset_dims, collapsed, start_index_map, slice_sizes,
# operand_batching, start_indices_batching, result
GATHERS = {
    'rows': ((5, 3), (4, 1), 1, (1,), (0,), (0,), (1, 3), (), (), (4, 3)),
    'rows-implicit': ((5, 3), (4,), 1, (1,), (0,), (0,), (1, 3), (), (), (4, 3)),
    'columns': ((3, 5), (4, 1), 1, (0,), (1,), (1,), (3, 1), (), (), (3, 4)),
    'elements': ((4, 5), (6, 2), 1, (), (0, 1), (0, 1), (1, 1), (), (), (6,)),
    'elements-swapped': ((4, 5), (6, 2), 1, (), (0, 1), (1, 0), (1, 1), (), (), (6,)),
    'slices': ((4, 5), (3, 2), 1, (1, 2), (), (0, 1), (2, 3), (), (), (3, 2, 3)),
    'offset-first': ((4, 5), (3, 2), 1, (0, 2), (), (0, 1), (2, 3), (), (), (2, 3, 3)),
    'vector-first': ((4, 5), (2, 3), 0, (1, 2), (), (0, 1), (2, 3), (), (), (3, 2, 3)),
    'one-index': ((6, 2), (1,), 0, (0, 1), (), (0,), (3, 2), (), (), (3, 2)),
    'batch-two': ((5, 3), (2, 3, 1), 2, (2,), (0,), (0,), (1, 3), (), (), (2, 3, 3)),
    'rank3': ((3, 4, 5), (2, 2), 1, (1, 2), (1,), (0, 2), (2, 1, 3), (), (), (2, 2, 3)),
    'batching': ((3, 4, 5), (3, 2, 1), 2, (2,), (1,), (1,), (1, 1, 5), (0,), (0,), (3, 2, 5)),
    'batching-two': ((2, 3, 4), (3, 2, 2, 1), 3, (), (2,), (2,), (1, 1, 1), (0, 1), (1, 0),
                     (3, 2, 2)),
    'empty': ((5, 3), (0, 1), 1, (1,), (0,), (0,), (1, 3), (), (), (0, 3)),
}


def gather_text(name, type_):
  _, _, vector, offset, collapsed, start, sizes, batching, batching2, result = GATHERS[name]
  more = (f'operand_batching_dims={{{dims(batching)}}}, '
          f'start_indices_batching_dims={{{dims(batching2)}}}, ') if batching else ''
  return (f'r = {type_}[{dims(result)}] gather(p0, p1), offset_dims={{{dims(offset)}}}, '
          f'collapsed_slice_dims={{{dims(collapsed)}}}, start_index_map={{{dims(start)}}}, {more}'
          f'index_vector_dim={vector}, slice_sizes={{{dims(sizes)}}}')


def gathers(f, type_, names, index_type='s32', low=0, high=None, tag='', more=''):
  for name in names:
    operand, shape = GATHERS[name][:2]
    at = rng(name, index_type, low).integers(low, high or min(operand), shape)
    f.hlo(f'gather.{type_}.{name}{tag}', None, gather_text(name, type_) + more,
          count(type_, operand), at.astype(DTYPES[index_type]))


@family
def gather(f):
  gathers(f, 'f32', GATHERS)
  gathers(f, 'f32', GATHERS, low=-3, high=9, tag='.outside')
  gathers(f, 's32', ('rows', 'slices'), more=', indices_are_sorted=false')
  for type_ in ('u8', 's64', 'u32', 'u64', 's8'):
    gathers(f, 'f32', ('rows', 'elements', 'slices'), type_, high=120, tag=f'.{type_}')
  for type_ in ALL:
    if type_ not in ('f32', 's32'):
      gathers(f, type_, ('rows', 'slices'))
  f.hlo('gather.index.extreme', None, gather_text('rows', 'f32'), count('f32', (5, 3)),
        np.array([[-2**31], [2**31 - 1], [4], [-1]], np.int32))
  x = count('f32', (4, 6))
  at = np.array([[0, 5], [3, -1], [9, 2]], np.int32)
  f.jax('take', lambda x, i: jnp.take(x, i, axis=1), x, at)
  f.jax('take.clip', lambda x, i: jnp.take(x, i, axis=0, mode='clip'), x, at)
  f.jax('take.wrap', lambda x, i: jnp.take(x, i, axis=0, mode='wrap'), x, at)
  f.jax('take-along-axis', lambda x, i: jnp.take_along_axis(x, i, axis=1), x,
        rng('along').integers(0, 6, (4, 3)).astype(np.int32))
  f.jax('index.negative', lambda x: x[-1, ::-2], x)
  f.jax('index.array', lambda x, i, j: x[i, j], x, np.array([0, 3, 1], np.int32),
        np.array([5, 5, 0], np.int32))
  f.jax('index.fill', lambda x, i: x.at[i].get(mode='fill', fill_value=-1), x,
        np.array([0, 9, -1, 3], np.int32))
  f.jax('embedding', lambda table, i: table[i], small_ints('f32', (7, 4)),
        np.array([[1, 2, 6], [0, 0, 5]], np.int32))


# operand, indices shape, index_vector_dim, update_window_dims, inserted, to_operand, updates,
# input_batching, scatter_indices_batching
SCATTERS = {
    'rows': ((5, 3), (4, 1), 1, (1,), (0,), (0,), (4, 3), (), ()),
    'rows-implicit': ((5, 3), (4,), 1, (1,), (0,), (0,), (4, 3), (), ()),
    'columns': ((3, 5), (4, 1), 1, (0,), (1,), (1,), (3, 4), (), ()),
    'elements': ((4, 5), (7, 2), 1, (), (0, 1), (0, 1), (7,), (), ()),
    'elements-swapped': ((4, 5), (7, 2), 1, (), (0, 1), (1, 0), (7,), (), ()),
    'windows': ((4, 5), (3, 2), 1, (1, 2), (), (0, 1), (3, 2, 3), (), ()),
    'window-first': ((4, 5), (3, 2), 1, (0, 2), (), (0, 1), (2, 3, 3), (), ()),
    'vector-first': ((4, 5), (2, 3), 0, (1, 2), (), (0, 1), (3, 2, 3), (), ()),
    'one-index': ((6, 2), (1,), 0, (0, 1), (), (0,), (3, 2), (), ()),
    'batch-two': ((5, 3), (2, 3, 1), 2, (2,), (0,), (0,), (2, 3, 3), (), ()),
    'rank3': ((3, 4, 5), (2, 2), 1, (1, 2), (1,), (0, 2), (2, 2, 3), (), ()),
    'batching': ((3, 4, 5), (3, 2, 1), 2, (2,), (1,), (1,), (3, 2, 5), (0,), (0,)),
    'batching-two': ((2, 3, 4), (3, 2, 2, 1), 3, (), (2,), (2,), (3, 2, 2), (0, 1), (1, 0)),
    'empty': ((5, 3), (0, 1), 1, (1,), (0,), (0,), (0, 3), (), ()),
}

REPLACE = 'f {{\n  a = {0}[] parameter(0)\n  ROOT b = {0}[] parameter(1)\n}}\n'


def scatter_attributes(name):
  _, _, vector, window, inserted, to, _, batching, batching2 = SCATTERS[name]
  more = (f'input_batching_dims={{{dims(batching)}}}, '
          f'scatter_indices_batching_dims={{{dims(batching2)}}}, ') if batching else ''
  return (f'update_window_dims={{{dims(window)}}}, inserted_window_dims={{{dims(inserted)}}}, '
          f'scatter_dims_to_operand_dims={{{dims(to)}}}, {more}index_vector_dim={vector}, '
          'to_apply=f')


def scatters(f, type_, opcode, names, index_type='s32', low=0, high=None, tag=''):
  """`opcode` None replaces, which is only defined while no two updates meet: see `unique`."""
  for name in names:
    operand, shape, _, _, _, _, updates = SCATTERS[name][:7]
    at = rng(name, 'scatter', index_type, low).integers(low, high or min(operand), shape)
    computation = reducer('f', opcode, type_) if opcode else REPLACE.format(type_)
    f.hlo(f'scatter.{type_}.{opcode or "replace"}.{name}{tag}', None,
          f'r = {type_}[{dims(operand)}] scatter(p0, p1, p2), {scatter_attributes(name)}',
          count(type_, operand), at.astype(DTYPES[index_type]),
          small_ints(type_, updates, name), computations=computation,
          check=type_ != 'pred')


@family
def scatter(f):
  scatters(f, 'f32', 'add', SCATTERS)
  scatters(f, 'f32', 'add', SCATTERS, low=-3, high=9, tag='.outside')
  scatters(f, 'f32', None, SCATTERS)
  scatters(f, 'f32', None, ('rows', 'windows', 'elements'), low=-3, high=9, tag='.outside')
  for opcode in ('multiply', 'maximum', 'minimum', 'subtract'):
    scatters(f, 's32', opcode, ('rows', 'windows', 'elements'))
  for type_ in ('u8', 's64', 'u32', 'u64', 's8'):
    scatters(f, 'f32', 'add', ('rows', 'elements', 'windows'), type_, high=120, tag=f'.{type_}')
  for type_ in ALL:
    if type_ not in ('f32',):
      scatters(f, type_, None, ('rows', 'windows'))
    if type_ not in ('pred', 'f32') and type_[:2] != 'f8':
      scatters(f, type_, 'add', ('rows', 'windows'))
  f.hlo('scatter.index.extreme', None,
        f'r = f32[5,3] scatter(p0, p1, p2), {scatter_attributes("rows")}', count('f32', (5, 3)),
        np.array([[-2**31], [2**31 - 1], [4], [-1]], np.int32), small_ints('f32', (4, 3)),
        computations=reducer('f', 'add', 'f32'))
  f.hlo('scatter.unique.sorted', None,
        f'r = f32[5,3] scatter(p0, p1, p2), {scatter_attributes("rows")}, '
        'indices_are_sorted=true, unique_indices=true', count('f32', (5, 3)),
        np.array([[0], [1], [3], [4]], np.int32), small_ints('f32', (4, 3)),
        computations=reducer('f', 'add', 'f32'))
  f.hlo('scatter.variadic', None,
        f'r = (f32[5,3], s32[5,3]) scatter(p0, p1, p2, p3, p4), {scatter_attributes("rows")}',
        count('f32', (5, 3)), count('s32', (5, 3)), np.array([[0], [3], [3], [7]], np.int32),
        small_ints('f32', (4, 3)), small_ints('s32', (4, 3)), computations='''f {
  a = f32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = s32[] parameter(3)
  e = f32[] add(a, c)
  g = s32[] maximum(b, d)
  ROOT r = (f32[], s32[]) tuple(e, g)
}''')
  f.hlo('scatter.order', None,
        f'r = s32[5,3] scatter(p0, p1, p2), {scatter_attributes("rows")}', count('s32', (5, 3)),
        np.array([[2], [2], [2], [0]], np.int32), small_ints('s32', (4, 3)), computations='''f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  three = s32[] constant(3)
  c = s32[] multiply(a, three)
  ROOT r = s32[] subtract(c, b)
}''')
  x = small_ints('f32', (4, 5))
  i = np.array([0, 3, 3, -1, 9], np.int32)
  u = small_ints('f32', (5, 5))
  f.jax('at.add', lambda x, i, u: x.at[i].add(u), x, i, u)
  f.jax('at.set', lambda x, i, u: x.at[i].set(u), x, np.array([2, 0], np.int32), u[:2])
  f.jax('at.max', lambda x, i, u: x.at[:, i].max(u), x, i[:3], u[:4, :3])
  f.jax('at.clip', lambda x, i, u: x.at[i].add(u, mode='clip'), x, i, u)
  f.jax('segment-sum', lambda x, i: jnp.zeros((4, 5), x.dtype).at[i].add(x), u, i)
  f.jax('bincount', lambda i: jnp.bincount(i, length=6), np.array([0, 5, 5, 2, 1, 5], np.int32))
