"""sort with any comparator, and topk."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family
from harness import F8S, FLOATS, INTS
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
  f.jax('top-k.zero', lambda x: lax.top_k(x, 0), np.array([3, 1, 2], np.float32))
  for largest in ('true', 'false'):
    f.hlo(f'topk.largest.{largest}', None,
          f'r = (f32[2,2], s32[2,2]) topk(p0), k=2, largest={largest}',
          rng('raw').permutation(10).reshape(2, 5).astype(np.float32))
  f.jax('approx-max-k', lambda x: lax.approx_max_k(x, 3), rng(7).permutation(16).astype(np.float32))
  f.jax('one-hot-argmax', lambda x: jax.nn.one_hot(jnp.argmax(x, -1), 5), normals('f32', (3, 5)))
