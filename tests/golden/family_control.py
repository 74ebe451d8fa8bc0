"""Control flow and structure: tuple, while, conditional, call, map, tokens, barriers."""

import numpy as np

from corpus import family, program, reducer
from values import count, small_ints

WHILE = '''condition {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}

body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[3] add(x, x)
  ROOT t = (s32[], f32[3]) tuple(next, y)
}
'''

COLLATZ = '''odd {
  n = u32[] parameter(0)
  three = u32[] constant(3)
  one = u32[] constant(1)
  m = u32[] multiply(n, three)
  ROOT r = u32[] add(m, one)
}

even {
  n = u32[] parameter(0)
  one = u32[] constant(1)
  ROOT r = u32[] shift-right-logical(n, one)
}

more {
  s = (u32[], s32[]) parameter(0)
  n = u32[] get-tuple-element(s), index=0
  one = u32[] constant(1)
  ROOT r = pred[] compare(n, one), direction=NE
}

step {
  s = (u32[], s32[]) parameter(0)
  n = u32[] get-tuple-element(s), index=0
  k = s32[] get-tuple-element(s), index=1
  one = u32[] constant(1)
  bit = u32[] and(n, one)
  isodd = pred[] compare(bit, one), direction=EQ
  next = u32[] conditional(isodd, n, n), true_computation=odd, false_computation=even
  step1 = s32[] constant(1)
  k1 = s32[] add(k, step1)
  ROOT t = (u32[], s32[]) tuple(next, k1)
}
'''

NESTED = '''inner_condition {
  s = (s32[], s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(s), index=1
  i = s32[] get-tuple-element(s), index=0
  ROOT r = pred[] compare(j, i), direction=LE
}

inner_body {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  j = s32[] get-tuple-element(s), index=1
  a = s32[] get-tuple-element(s), index=2
  p = s32[] multiply(i, j)
  b = s32[] add(a, p)
  one = s32[] constant(1)
  k = s32[] add(j, one)
  ROOT t = (s32[], s32[], s32[]) tuple(i, k, b)
}

outer_condition {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=2
  ROOT r = pred[] compare(i, n), direction=LT
}

outer_body {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = s32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  in = (s32[], s32[], s32[]) tuple(i, zero, a)
  out = (s32[], s32[], s32[]) while(in), condition=inner_condition, body=inner_body
  b = s32[] get-tuple-element(out), index=2
  one = s32[] constant(1)
  k = s32[] add(i, one)
  ROOT t = (s32[], s32[], s32[]) tuple(k, b, n)
}
'''

BRANCHES = '''twice {
  x = f32[3] parameter(0)
  ROOT r = f32[3] add(x, x)
}

square {
  y = f32[3] parameter(0)
  ROOT r = f32[3] multiply(y, y)
}

negative {
  z = f32[3] parameter(0)
  ROOT r = f32[3] negate(z)
}
'''


def branches(*names):
  return '\n\n'.join(b for b in BRANCHES.strip().split('\n\n') if b.split()[0] in names)


@family
def control(f):
  x = count('f32', (3,))
  f.hlo('tuple.one', None, 'r = (f32[3]) tuple(p0)', x)
  f.hlo('tuple.two', None, 'r = (f32[3], s32[2]) tuple(p0, p1)', x, count('s32', (2,)))
  f.hlo('tuple.repeated', None, 'r = (f32[3], f32[3], f32[3]) tuple(p0, p0, p0)', x)
  f.hlo('tuple.nested', None, 'a = (f32[3], s32[2]) tuple(p0, p1)\n'
        'b = f32[3] negate(p0)\n'
        'r = ((f32[3], s32[2]), f32[3], ((s32[2]))) tuple(a, b, d)'.replace(
            'r = ', 'c = (s32[2]) tuple(p1)\nd = ((s32[2])) tuple(c)\nr = '),
        x, count('s32', (2,)), check=False)
  f.hlo('tuple.empty', None, 'r = () tuple()', x)
  f.hlo('tuple.element', None, 't = (f32[3], s32[2]) tuple(p0, p1)\n'
        'r = s32[2] get-tuple-element(t), index=1', x, count('s32', (2,)))
  f.hlo('root.is.parameter', None, 'n = f32[3] negate(p0)\nROOT r = s32[2] copy(p1)', x,
        count('s32', (2,)), check=False)
  f.hlo('unused.parameter', None, 'r = f32[3] add(p0, p0)', x, count('s32', (2,)))

  f.hlo('while.counted', None, 'i = s32[] constant(0)\nt = (s32[], f32[3]) tuple(i, p0)\n'
        'r = (s32[], f32[3]) while(t), condition=condition, body=body', x, computations=WHILE)
  f.hlo('while.start', None, 't = (s32[], f32[3]) tuple(p0, p1)\n'
        'w = (s32[], f32[3]) while(t), condition=condition, body=body\n'
        'r = f32[3] get-tuple-element(w), index=1', np.int32(3), x, computations=WHILE)
  f.hlo('while.never', None, 't = (s32[], f32[3]) tuple(p0, p1)\n'
        'r = (s32[], f32[3]) while(t), condition=condition, body=body', np.int32(5), x,
        computations=WHILE)
  f.hlo('while.nested', None, 'z = s32[] constant(0)\n'
        't = (s32[], s32[], s32[]) tuple(z, z, p0)\n'
        'r = (s32[], s32[], s32[]) while(t), condition=outer_condition, body=outer_body',
        np.int32(7), computations=NESTED)
  for n in (1, 6, 27):
    f.hlo(f'while.collatz.{n}', None, 'z = s32[] constant(0)\nt = (u32[], s32[]) tuple(p0, z)\n'
          'r = (u32[], s32[]) while(t), condition=more, body=step', np.uint32(n),
          computations=COLLATZ)

  for p in (True, False):
    f.hlo(f'conditional.pred.{p}', None, 'r = f32[3] conditional(p0, p1, p2), '
          'true_computation=twice, false_computation=square', np.bool_(p), x, x + 1,
          computations=branches('twice', 'square'))
  for i in (0, 1, 2, 3, -1, 100, -2**31):
    f.hlo(f'conditional.index.{i}', None, 'r = f32[3] conditional(p0, p1, p2, p3), '
          'branch_computations={twice, square, negative}', np.int32(i), x, x + 1, x + 2,
          computations=BRANCHES)
  f.hlo('conditional.one', None, 'r = f32[3] conditional(p0, p1), branch_computations={square}',
        np.int32(3), x, computations=branches('square'), check=False)
  f.hlo('conditional.tuples', None, 't = (f32[3], s32[]) tuple(p1, p2)\ne = () tuple()\n'
        'r = (s32[], f32[3]) conditional(p0, t, e), true_computation=swap, '
        'false_computation=nothing', np.bool_(False), x, np.int32(9), computations='''swap {
  t = (f32[3], s32[]) parameter(0)
  x = f32[3] get-tuple-element(t), index=0
  i = s32[] get-tuple-element(t), index=1
  ROOT r = (s32[], f32[3]) tuple(i, x)
}

nothing {
  e = () parameter(0)
  i = s32[] constant(-1)
  x = f32[3] constant({0.5, nan, -inf})
  ROOT r = (s32[], f32[3]) tuple(i, x)
}''')

  f.hlo('call', None, 'a = f32[3] call(p0), to_apply=twice\nr = f32[3] call(a), to_apply=square',
        x, computations=branches('twice', 'square'))
  f.hlo('call.nested', None, 'r = (f32[3], f32[3]) call(p0, p1), to_apply=both', x, x + 1,
        computations=branches('twice', 'square') + '''

both {
  a = f32[3] parameter(0)
  b = f32[3] parameter(1)
  c = f32[3] call(b), to_apply=square
  d = f32[3] call(a), to_apply=twice
  ROOT r = (f32[3], f32[3]) tuple(c, d)
}''')
  f.hlo('barrier', None, 't = (f32[3], f32[3]) tuple(p0, p1)\n'
        'b = (f32[3], f32[3]) opt-barrier(t)\nc = f32[3] get-tuple-element(b), index=0\n'
        'd = f32[3] get-tuple-element(b), index=1\nr = f32[3] subtract(c, d)', x, x * x)
  f.hlo('parameter.tuple', None, 'r = f32[3] subtract(p0, p2)', x, np.int32(2), x * x, check=False,
        restyle=False, stored=program('tuple-parameter', ['(f32[3], s32[])', 'f32[3]'],
                                      'a = f32[3] get-tuple-element(p0), index=0\n'
                                      'r = f32[3] subtract(a, p1)'))
  f.hlo('parameter.tuple.nested', None, 'c = f32[3] add(p0, p2)\n'
        'r = (s32[], f32[3]) tuple(p1, c)', x, np.int32(2), x * x, check=False, restyle=False,
        stored=program('nested-parameter', ['((f32[3], (s32[])), f32[3])'],
                       'a = (f32[3], (s32[])) get-tuple-element(p0), index=0\n'
                       'b = f32[3] get-tuple-element(a), index=0\n'
                       'c = (s32[]) get-tuple-element(a), index=1\n'
                       'd = s32[] get-tuple-element(c), index=0\n'
                       'e = f32[3] get-tuple-element(p0), index=1\n'
                       'g = f32[3] add(b, e)\nr = (s32[], f32[3]) tuple(d, g)'))
  f.hlo('fusion', None, 'r = f32[3] fusion(p0, p1), kind=kLoop, calls=fused', x, x + 1,
        computations='fused {\n  a = f32[3] parameter(0)\n  b = f32[3] parameter(1)\n'
        '  c = f32[3] multiply(a, b)\n  ROOT r = f32[3] subtract(c, a)\n}', check=False)
  f.hlo('add-dependency', None, 'a = token[] after-all()\n'
        'b = f32[3] add-dependency(p0, a)\nr = f32[3] negate(b)', x, check=False)
  f.hlo('domain', None, 'd = f32[3] domain(p0), domain={kind="sharding", entry={replicated}, '
        'exit={maximal device=0}}\nr = f32[3] negate(d)', x, check=False)
  f.hlo('tokens', None, 'a = token[] after-all()\nb = token[] after-all(a)\n'
        't = (f32[3], token[]) tuple(p0, b)\nc = f32[3] get-tuple-element(t), index=0\n'
        'r = f32[3] negate(c)', x, check=False)


@family
def map_op(f):
  x, y = small_ints('f32', (3, 4), 'x'), small_ints('f32', (3, 4), 'y')
  f.hlo('map.add', None, 'r = f32[3,4] map(p0, p1), dimensions={0,1}, to_apply=f', x, y,
        computations=reducer('f', 'add', 'f32'))
  f.hlo('map.compare', None, 'r = pred[3,4] map(p0, p1), dimensions={0,1}, to_apply=less', x, y,
        computations='less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n'
        '  ROOT r = pred[] compare(a, b), direction=LT\n}')
  f.hlo('map.three', None, 'r = s32[5] map(p0, p1, p2), dimensions={0}, to_apply=f',
        *[small_ints('s32', (5,), i) for i in range(3)],
        computations='f {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n'
        '  c = s32[] parameter(2)\n  d = s32[] multiply(a, b)\n  ROOT r = s32[] subtract(d, c)\n}')
  f.hlo('map.scalar', None, 'r = f32[] map(p0, p1), dimensions={}, to_apply=f', np.float32(2),
        np.float32(3), computations=reducer('f', 'multiply', 'f32'))
  f.hlo('map.constant', None, 'r = s32[2,3] map(p0), dimensions={0,1}, to_apply=f',
        small_ints('s32', (2, 3)), computations='f {\n  a = s32[] parameter(0)\n'
        '  c = s32[] constant(7)\n  ROOT r = s32[] subtract(c, a)\n}')
