"""scan: inputs, outputs and carries of every number, type and dimension; bodies of every kind."""

import numpy as np

from corpus import family, program, reducer
from harness import COMPLEX, FLOATS, INTS, shape_of
from values import any_bits, count, small_ints


def body(name, parameters, lines):
  """The text of a computation with parameters a0, a1, …; the last line is the root."""
  lines = [line.strip() for line in lines.strip().split('\n')]
  lines[-1] = 'ROOT ' + lines[-1]
  lines = [f'a{i} = {shape} parameter({i})' for i, shape in enumerate(parameters)] + lines
  return f'{name} {{\n  ' + '\n  '.join(lines) + '\n}\n'


def running(shape, opcode='add', name='f'):
  """(x, c) -> (x op c, the same): what a scan of one input and one carry adds up."""
  return body(name, [shape] * 2,
              f's = {shape} {opcode}(a0, a1)\nt = ({shape}, {shape}) tuple(s, s)')


def without(array, dimension):
  """The shape of an element of `array` along `dimension`."""
  return shape_of(np.take(array, 0, axis=dimension))


@family
def scan(f):
  one_input(f)
  types(f)
  many_parts(f)
  few_parts(f)
  bodies(f)
  collectives(f)
  places(f)


def one_input(f):
  for shape, dimension in (((5, 3), 0), ((3, 5), 1), ((2, 4, 3), 1), ((2, 3, 4), 2), ((7,), 0),
                           ((1, 3), 0), ((3, 1), 1), ((2, 0, 3), 0), ((20, 9), 0), ((9, 20), 1)):
    x = small_ints('f32', shape, dimension)
    element = without(x, dimension)
    init = small_ints('f32', np.take(x, 0, axis=dimension).shape, 'init')
    for reverse in (False, True):
      name = f'sum.{"x".join(map(str, shape))}.{dimension}' + ('.reverse' if reverse else '')
      f.hlo(name, None, f'r = ({shape_of(x)}, {element}) scan(p0, p1), '
            f'dimensions={{{dimension}}}, num_carries=1, '
            f'is_reverse={str(reverse).lower()}, to_apply=f', x, init,
            computations=running(element))
  x, init = small_ints('f32', (6, 2), 'a'), np.zeros(2, np.float32)
  for word in ('true', 'false'):
    f.hlo(f'associative.{word}', None, 'r = (f32[6,2], f32[2]) scan(p0, p1), dimensions={0}, '
          f'num_carries=1, is_associative={word}, to_apply=f', x, init,
          computations=running('f32[2]'))
  f.hlo('inferred', None, 's = scan(p0, p1), to_apply=f, num_carries=1, dimensions={0}\n'
        'r = f32[2] get-tuple-element(s), index=1', x, init, computations=running('f32[2]'))


def types(f):
  for type_ in INTS + FLOATS + COMPLEX:
    x, init = small_ints(type_, (6, 4)), small_ints(type_, (4,), 'init')
    f.hlo(f'sum.{type_}', None, f'r = ({type_}[6,4], {type_}[4]) scan(p0, p1), dimensions={{0}}, '
          'num_carries=1, to_apply=f', x, init, computations=running(f'{type_}[4]'))
  for type_ in ['pred'] + INTS:
    x, init = any_bits(type_, (4, 6), 'bits'), any_bits(type_, (4,), 'init')
    f.hlo(f'xor.{type_}', None, f'r = ({type_}[4,6], {type_}[4]) scan(p0, p1), dimensions={{1}}, '
          'num_carries=1, is_reverse=true, to_apply=f', x, init,
          computations=running(f'{type_}[4]', 'xor'))
  for type_ in ('s8', 'u16', 's64', 'bf16', 'f32', 'f64'):
    x, init = any_bits(type_, (8, 3), 'max'), any_bits(type_, (3,), 'init')
    f.hlo(f'maximum.{type_}', None, f'r = ({type_}[8,3], {type_}[3]) scan(p0, p1), '
          'dimensions={0}, num_carries=1, to_apply=f', x, init,
          computations=running(f'{type_}[3]', 'maximum'))


def many_parts(f):
  x, y = small_ints('f32', (5, 3), 'x'), small_ints('s32', (2, 5), 'y')
  p, q = small_ints('f32', (3,), 'p'), small_ints('s32', (), 'q')
  both = body('f', ['f32[3]', 's32[2]', 'f32[3]', 's32[]'], '''
    s = f32[3] add(a0, a2)
    qb = s32[2] broadcast(a3), dimensions={}
    z = s32[2] multiply(a1, qb)
    one = s32[] constant(1)
    n = s32[] add(a3, one)
    small = s8[] convert(a3)
    t = (s32[2], f32[3], s8[], f32[3], s32[]) tuple(z, a2, small, s, n)''')
  # Inputs of two shapes, walked along the same dimension: y's is 1, so it is turned around.
  f.hlo('two.two', None, 'u = s32[5,2] transpose(p1), dimensions={1,0}\n'
        'r = (s32[5,2], f32[5,3], s8[5], f32[3], s32[]) scan(p0, u, p2, p3), dimensions={0}, '
        'num_carries=2, to_apply=f', x, y, p, q, computations=both)
  f.hlo('two.two.reverse', None, 'u = s32[5,2] transpose(p1), dimensions={1,0}\n'
        'r = (s32[5,2], f32[5,3], s8[5], f32[3], s32[]) scan(p0, u, p2, p3), dimensions={0}, '
        'num_carries=2, is_reverse=true, to_apply=f', x, y, p, q, computations=both)
  # Ranks differ, and the dimension is the same one in each: s8[5] is made of s8[].
  f.hlo('ranks', None, 'r = (f32[2,5,3], f32[2,5], f32[2]) scan(p0, p1, p2), dimensions={1}, '
        'num_carries=1, to_apply=f', small_ints('f32', (2, 5, 3), 'r'),
        small_ints('f32', (2, 5), 'r'), small_ints('f32', (2,), 'r'),
        computations=body('f', ['f32[2,3]', 'f32[2]', 'f32[2]'], '''
          b = f32[2,3] broadcast(a1), dimensions={0}
          m = f32[2,3] multiply(a0, b)
          s = f32[2] add(a1, a2)
          t = (f32[2,3], f32[2], f32[2]) tuple(m, s, s)'''))
  # Carries that change places, and one that is an input's element.
  f.hlo('swap', None, 'r = (s32[6], s32[], s32[], s32[]) scan(p0, p1, p2, p3), dimensions={0}, '
        'num_carries=3, to_apply=f', count('s32', (6,)), np.int32(100), np.int32(200),
        np.int32(300), computations=body('f', ['s32[]'] * 4, '''
          s = s32[] add(a1, a2)
          t = (s32[], s32[], s32[], s32[]) tuple(s, a2, a3, a0)'''))
  f.hlo('fibonacci', None, 'r = (u64[20], u64[], u64[]) scan(p0, p1, p2), dimensions={0}, '
        'num_carries=2, to_apply=f', np.zeros(20, np.uint64), np.uint64(0), np.uint64(1),
        computations=body('f', ['u64[]'] * 3, '''
          s = u64[] add(a1, a2)
          t = (u64[], u64[], u64[]) tuple(a1, a2, s)'''))


def few_parts(f):
  x, y = small_ints('f32', (5, 3), 'x'), small_ints('f32', (5, 3), 'y')
  init = small_ints('f32', (3,), 'init')
  f.hlo('no-carry', None, 'r = (f32[5,3]) scan(p0, p1), dimensions={0}, num_carries=0, '
        'to_apply=f', x, y, computations=body('f', ['f32[3]'] * 2, '''
          s = f32[3] multiply(a0, a1)
          t = (f32[3]) tuple(s)'''))
  f.hlo('no-output', None, 'r = (f32[3]) scan(p0, p1), dimensions={0}, num_carries=1, '
        'to_apply=f', x, init, computations=body('f', ['f32[3]'] * 2, '''
          s = f32[3] add(a0, a1)
          t = (f32[3]) tuple(s)'''))
  f.hlo('no-input', None, 'r = (f32[4,3], f32[3]) scan(p0), dimensions={0}, num_carries=1, '
        'to_apply=f', init, computations=body('f', ['f32[3]'], '''
          s = f32[3] add(a0, a0)
          t = (f32[3], f32[3]) tuple(a0, s)'''))
  f.hlo('no-input.reverse', None, 'r = (f32[3,4], f32[3]) scan(p0), dimensions={1}, '
        'num_carries=1, is_reverse=true, to_apply=f', init, computations=body('f', ['f32[3]'], '''
          s = f32[3] add(a0, a0)
          t = (f32[3], f32[3]) tuple(a0, s)'''))
  single = reducer('f', 'add', 'f32').replace('f32[]', 'f32[3]')
  tupled = body('f', ['f32[3]'] * 2, 's = f32[3] add(a0, a1)\nt = (f32[3]) tuple(s)')
  for name, computation in (('bare', single), ('tuple', tupled)):
    for result in ('array', 'tuple'):
      carry, output = ('f32[3]', 'f32[5,3]') if result == 'array' else ('(f32[3])', '(f32[5,3])')
      f.hlo(f'one-carry.{name}.{result}', None, f'r = {carry} scan(p0, p1), dimensions={{0}}, '
            'num_carries=1, to_apply=f', x, init, computations=computation)
      f.hlo(f'one-output.{name}.{result}', None, f'r = {output} scan(p0, p1), dimensions={{0}}, '
            'num_carries=0, to_apply=f', x, y, computations=computation)


def bodies(f):
  x, init = small_ints('f32', (4, 3, 3), 'm', low=-2, high=3), np.eye(3, dtype=np.float32)
  f.hlo('product-of-matrices', None, 'r = (f32[4,3,3], f32[3,3]) scan(p0, p1), dimensions={0}, '
        'num_carries=1, to_apply=f', x, init, computations=body('f', ['f32[3,3]'] * 2, '''
          s = f32[3,3] dot(a1, a0), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          t = (f32[3,3], f32[3,3]) tuple(s, s)'''))
  a, b = small_ints('f32', (6, 4), 'a', low=0, high=3), small_ints('f32', (6, 4), 'b')
  f.hlo('linear-recurrence', None, 'r = (f32[6,4], f32[4]) scan(p0, p1, p2), dimensions={0}, '
        'num_carries=1, to_apply=f', a, b, np.ones(4, np.float32),
        computations=body('f', ['f32[4]'] * 3, '''
          m = f32[4] multiply(a0, a2)
          s = f32[4] add(m, a1)
          t = (f32[4], f32[4]) tuple(s, s)'''))
  f.hlo('reduce-and-sort', None, 'r = (f32[6], f32[6,4], f32[]) scan(p0, p1), dimensions={0}, '
        'num_carries=1, to_apply=f', b, np.float32(0),
        computations=reducer('sum', 'add', 'f32') + '''less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}
''' + body('f', ['f32[4]', 'f32[]'], '''
          s = f32[] reduce(a0, a1), dimensions={0}, to_apply=sum
          o = f32[4] sort(a0), dimensions={0}, to_apply=less
          t = (f32[], f32[4], f32[]) tuple(s, o, s)'''))
  f.hlo('conditional', None, 'r = (s32[9], s32[]) scan(p0, p1), dimensions={0}, num_carries=1, '
        'to_apply=f', small_ints('s32', (9,), 'c'), np.int32(1),
        computations=body('twice', ['s32[]'], 'r = s32[] add(a0, a0)')
        + body('less', ['s32[]'], 'one = s32[] constant(1)\nr = s32[] subtract(a0, one)')
        + body('f', ['s32[]'] * 2, '''
          z = s32[] constant(0)
          p = pred[] compare(a0, z), direction=GT
          s = s32[] conditional(p, a1, a1), true_computation=twice, false_computation=less
          t = (s32[], s32[]) tuple(s, s)'''))
  inner = running('f32[]', name='g')
  f.hlo('nested', None, 'r = (f32[6,4], f32[6,4], f32[]) scan(p0, p1), dimensions={0}, '
        'num_carries=1, to_apply=f', b, np.float32(5), computations=inner
        + body('f', ['f32[4]', 'f32[]'], '''
          s = (f32[4], f32[]) scan(a0, a1), dimensions={0}, num_carries=1, to_apply=g
          b = (f32[4], f32[]) scan(a0, a1), dimensions={0}, num_carries=1, is_reverse=true, \
              to_apply=g
          v = f32[4] get-tuple-element(s), index=0
          w = f32[4] get-tuple-element(b), index=0
          c = f32[] get-tuple-element(s), index=1
          t = (f32[4], f32[4], f32[]) tuple(v, w, c)'''), check=False)
  f.hlo('only-constants', None, 'r = (s8[3], s32[]) scan(p0, p1), dimensions={0}, num_carries=1, '
        'to_apply=f', np.zeros(3, np.float32), np.int32(1),
        computations=body('f', ['f32[]', 's32[]'], '''
          c = s8[] constant(-7)
          t = (s8[], s32[]) tuple(c, a1)'''))


def collectives(f):
  """A body runs as often on each replica, so they may meet in it."""
  x = [small_ints('f32', (4, 3), r) for r in range(4)]
  init = [small_ints('f32', (3,), r, 'init') for r in range(4)]
  for name, replicas, line, extra in (
      ('all-reduce', 2, 'g = f32[3] all-reduce(a0), replica_groups={}, to_apply=sum',
       reducer('sum', 'add', 'f32')),
      ('all-reduce.groups', 4, 'g = f32[3] all-reduce(a0), replica_groups={{0,2},{1,3}}, '
       'to_apply=sum', reducer('sum', 'add', 'f32')),
      ('collective-permute', 4, 'g = f32[3] collective-permute(a1), '
       'source_target_pairs={{0,1},{1,2},{2,3},{3,0}}', ''),
      ('replica-id', 4, 'i = u32[] replica-id()\nv = f32[] convert(i)\n'
       'g = f32[3] broadcast(v), dimensions={}', '')):
    text = program(name, ['f32[4,3]', 'f32[3]'], 'r = (f32[4,3], f32[3]) scan(p0, p1), '
                   'dimensions={0}, num_carries=1, to_apply=f',
                   extra + body('f', ['f32[3]'] * 2, f'{line}\ns = f32[3] add(g, a0)\n'
                                't = (f32[3], f32[3]) tuple(g, s)'))
    f.text(name, text, replicas=replicas,
           per_replica=[[x[r], init[r]] for r in range(replicas)])
  text = program('all-gather', ['f32[4,3]', 'f32[3]'], 'r = (f32[4,6], f32[3]) scan(p0, p1), '
                 'dimensions={0}, num_carries=1, is_reverse=true, to_apply=f',
                 body('f', ['f32[3]'] * 2, '''
                   s = f32[3] add(a0, a1)
                   g = f32[6] all-gather(s), replica_groups={}, dimensions={0}
                   t = (f32[6], f32[3]) tuple(g, s)'''))
  f.text('all-gather', text, replicas=2, per_replica=[[x[r], init[r]] for r in range(2)])


def places(f):
  """Where a scan may stand, and who else may look at what it takes."""
  x, init = small_ints('s32', (5, 2), 'x'), small_ints('s32', (2,), 'i')
  scan_line = '(s32[5,2], s32[2]) scan({}, {}), dimensions={{0}}, num_carries=1, to_apply=f'
  f.hlo('twice', None, f'a = {scan_line.format("p0", "p1")}\n'
        'b = s32[5,2] get-tuple-element(a), index=0\nc = s32[2] get-tuple-element(a), index=1\n'
        f'd = {scan_line.format("b", "c")}\ne = s32[5,2] get-tuple-element(d), index=0\n'
        'r = s32[5,2] add(e, p0)', x, init, computations=running('s32[2]'), check=False)
  f.hlo('called', None, 'r = (s32[5,2], s32[2]) call(p0, p1), to_apply=g', x, init,
        computations=running('s32[2]')
        + body('g', ['s32[5,2]', 's32[2]'], f'r = {scan_line.format("a0", "a1")}'))
  f.hlo('in-a-loop', None, 'z = s32[] constant(0)\n'
        't = (s32[], s32[5,2], s32[2]) tuple(z, p0, p1)\n'
        'r = (s32[], s32[5,2], s32[2]) while(t), condition=more, body=next', x, init,
        computations=running('s32[2]')
        + body('more', ['(s32[], s32[5,2], s32[2])'], '''
          i = s32[] get-tuple-element(a0), index=0
          n = s32[] constant(3)
          r = pred[] compare(i, n), direction=LT''')
        + body('next', ['(s32[], s32[5,2], s32[2])'], f'''
          i = s32[] get-tuple-element(a0), index=0
          x = s32[5,2] get-tuple-element(a0), index=1
          c = s32[2] get-tuple-element(a0), index=2
          s = {scan_line.format("x", "c")}
          y = s32[5,2] get-tuple-element(s), index=0
          d = s32[2] get-tuple-element(s), index=1
          one = s32[] constant(1)
          j = s32[] add(i, one)
          t = (s32[], s32[5,2], s32[2]) tuple(j, y, d)'''))
  f.hlo('in-a-branch', None, 't = (s32[5,2], s32[2]) tuple(p1, p2)\n'
        'r = (s32[5,2], s32[2]) conditional(p0, t, t), true_computation=g, false_computation=h',
        np.bool_(True), x, init, computations=running('s32[2]')
        + body('g', ['(s32[5,2], s32[2])'], f'''
          x = s32[5,2] get-tuple-element(a0), index=0
          c = s32[2] get-tuple-element(a0), index=1
          r = {scan_line.format("x", "c")}''')
        + body('h', ['(s32[5,2], s32[2])'], 'r = (s32[5,2], s32[2]) copy(a0)'), check=False)
  f.hlo('constant-operands', None, 'x = s32[4] constant({3, 1, 4, 1})\nz = s32[] constant(10)\n'
        's = (s32[4], s32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=f\n'
        'y = s32[4] get-tuple-element(s), index=0\nr = s32[4] add(y, p0)', count('s32', (4,)),
        computations=running('s32[]'))
