"""Operations that apply computations with loops, branches and arrays in them to elements."""

import jax
import numpy as np

from corpus import family, program
from family_index import SCATTERS, count, scatter_attributes
from family_window import SELECTS, WINDOWS, dims
from harness import DTYPES, shape_of
from values import distinct, rng, small_ints

# f(a, b) = 3 (3 a - b) - b, by a loop: which commutes with nothing.
APPLIED_LOOP = '''f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  two = s32[] constant(2)
  s = (s32[], s32[], s32[]) tuple(a, b, two)
  w = (s32[], s32[], s32[]) while(s), condition=going, body=turn
  ROOT r = s32[] get-tuple-element(w), index=0
}
'''
LOOP = '''going {
  p = (s32[], s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(p), index=2
  zero = s32[] constant(0)
  ROOT c = pred[] compare(n, zero), direction=GT
}

turn {
  p = (s32[], s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(p), index=0
  b = s32[] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1)
  three = s32[] constant(3)
  m = s32[] multiply(a, three)
  d = s32[] subtract(m, b)
  k = s32[] subtract(n, one)
  ROOT t = (s32[], s32[], s32[]) tuple(d, b, k)
}

'''
# The same in one go.
LINE = '''f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  nine = s32[] constant(9)
  four = s32[] constant(4)
  c = s32[] multiply(a, nine)
  d = s32[] multiply(b, four)
  ROOT r = s32[] subtract(c, d)
}
'''
# Of a's and b's digits in base 2, how many: by a loop as long as they have some.
DIGITS = '''going {
  p = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  zero = s32[] constant(0)
  ROOT c = pred[] compare(n, zero), direction=NE
}

turn {
  p = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  k = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  bit = s32[] and(n, one)
  j = s32[] add(k, bit)
  m = s32[] shift-right-logical(n, one)
  ROOT t = (s32[], s32[]) tuple(m, j)
}

bits {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], s32[]) tuple(n, zero)
  w = (s32[], s32[]) while(s), condition=going, body=turn
  ROOT r = s32[] get-tuple-element(w), index=1
}

'''


def less(types, direction, loops, name='less'):
  """Which of two s32, operand 0, has more or fewer ones; others are only parameters."""
  lines = [f'  {side}{i} = {type_}[] parameter({2 * i + (side == "b")})'
           for i, type_ in enumerate(types) for side in 'ab']
  ones = 'call(%s), to_apply=bits' if loops else 'popcnt(%s)'
  return (DIGITS if loops else '') + name + ' {\n' + '\n'.join(lines) + f'''
  c = s32[] {ones % 'a0'}
  d = s32[] {ones % 'b0'}
  ROOT r = pred[] compare(c, d), direction={direction}
}}

'''


def cases(f, name, body, *inputs, computations=lambda loops: LOOP + APPLIED_LOOP if loops else LINE):
  """XLA:CPU crashes where loops are applied: it is asked for the same without them."""
  stored = program(name, [shape_of(x) for x in inputs], body, computations(True))
  f.hlo(name, None, body, *inputs, computations=computations(False), stored=stored)


def two_each(loops):
  """f on (a, d) and on (b, c)."""
  return (LOOP + APPLIED_LOOP if loops else LINE).replace('f {', 'each {') + '''f {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  e = s32[] call(a, d), to_apply=each
  g = s32[] call(b, c), to_apply=each
  ROOT r = (s32[], s32[]) tuple(e, g)
}
'''


def scatters(f):
  for name in SCATTERS:
    operand, shape, updates = SCATTERS[name][0], SCATTERS[name][1], SCATTERS[name][6]
    for low, high in ((0, min(operand)), (-3, 9)):
      at = rng(name, 'applied', low).integers(low, high, shape).astype(np.int32)
      cases(f, f'scatter.{name}{".outside" if low else ""}',
            f'r = s32[{dims(operand)}] scatter(p0, p1, p2), {scatter_attributes(name)}',
            count('s32', operand), at, small_ints('s32', updates, name))
  cases(f, 'scatter.u64', f'r = s32[5,3] scatter(p0, p1, p2), {scatter_attributes("rows")}',
        count('s32', (5, 3)), np.array([[0], [2**64 - 1], [4], [2**63]], np.uint64),
        small_ints('s32', (4, 3)))
  cases(f, 'scatter.two',
        f'r = (s32[5,3], s32[5,3]) scatter(p0, p1, p2, p3, p4), {scatter_attributes("rows")}',
        count('s32', (5, 3)), count('s32', (5, 3)), np.array([[0], [3], [3], [7]], np.int32),
        small_ints('s32', (4, 3)), small_ints('s32', (4, 3), 2), computations=two_each)


def windows(f):
  for name, (shape, window, result) in WINDOWS.items():
    if name in ('rank2-pad', 'reversed'):
      continue  # XLA:CPU takes their elements in another order, which is as right
    cases(f, f'reduce-window.{name}',
          f'r = s32[{dims(result)}] reduce-window(p0, p1), window={{{window}}}, to_apply=f',
          small_ints('s32', shape, name), np.int32(5))
  cases(f, 'reduce-window.two', 'r = (s32[5], s32[5]) reduce-window(p0, p1, p2, p3), '
        'window={size=3 pad=1_1}, to_apply=f', small_ints('s32', (5,)), small_ints('s32', (5,), 1),
        np.int32(3), np.int32(-1), computations=two_each)
  for name, (shape, window, source) in SELECTS.items():
    cases(f, f'select-and-scatter.{name}',
          f'r = s32[{dims(shape)}] select-and-scatter(p0, p1, p2), window={{{window}}}, '
          'select=s, scatter=f', distinct('s32', shape, name), small_ints('s32', source),
          np.int32(1), computations=lambda loops: less(['s32'], 'GE', loops, 's').replace(
              'going', 'more').replace('turn', 'digit') + (LOOP + APPLIED_LOOP if loops else LINE))


SORTS = {
    'line': (['s32'], (37,), 0),
    'rows': (['s32'], (5, 11), 1),
    'columns': (['s32'], (11, 5), 0),
    'middle': (['s32'], (2, 9, 3), 1),
    'two': (['s32', 'f32'], (33,), 0),
    'one': (['s32'], (1,), 0),
    'three': (['s32', 's8', 'c64'], (4, 16), 1),
    'even': (['s32', 'u16'], (16, 4), 0),
    'pair': (['s32'], (2,), 0),
    'ones': (['s32'], (3, 1), 1),
}


def sorts(f):
  for name, (types, shape, dimension) in SORTS.items():
    arrays = [rng(name, i).integers(0, 100, shape).astype(DTYPES[t]) for i, t in enumerate(types)]
    shapes = [f'{t}[{dims(shape)}]' for t in types]
    result = shapes[0] if len(shapes) == 1 else '(' + ', '.join(shapes) + ')'
    operands = ', '.join(f'p{i}' for i in range(len(types)))
    for direction in ('LT', 'GT'):
      cases(f, f'sort.{name}.{direction}', f'r = {result} sort({operands}), dimensions={{{dimension}}}, '
            'is_stable=true, to_apply=less', *arrays,
            computations=lambda loops: less(types, direction, loops))


@family
def applied(f):
  scatters(f)
  windows(f)
  sorts(f)
  cases(f, 'map', 'r = s32[3,4] map(p0, p1), dimensions={0,1}, to_apply=f',
        small_ints('s32', (3, 4)), small_ints('s32', (3, 4), 1))
  for shape, dimensions, result in (((2, 3, 4), (0, 2), (3,)), ((7,), (0,), ()), ((3, 4), (1,), (3,))):
    cases(f, f'reduce.{dims(shape)}.{dims(dimensions)}'.replace(',', 'x'),
          f'r = s32[{dims(result)}] reduce(p0, p1), dimensions={{{dims(dimensions)}}}, to_apply=f',
          small_ints('s32', shape), np.int32(1))
  f.jax('at.apply', lambda x, i: x.at[i].apply(jax.scipy.special.gammaln),
        rng('apply').uniform(.5, 4, (9,)).astype(np.float32), np.array([1, 3, 8, 20], np.int32),
        tol='abs 1e-6 rel 1e-5')
