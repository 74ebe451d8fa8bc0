"""Collectives over several replicas, one host device each."""

import numpy as np

from corpus import family, program, reducer
from harness import shape_of
from values import any_bits, small_ints


def per_replica(replicas, make):
  return [[x if isinstance(x, np.ndarray) else np.asarray(x) for x in make(r)]
          for r in range(replicas)]


def collective(f, name, replicas, make, body, computations='', stored=None, **options):
  """`make(r)` gives replica r's operands; `stored` a body to store in place of the one to run."""
  operands = per_replica(replicas, make)
  params = [shape_of(x) for x in operands[0]]
  text = program(name, params, body, computations)
  if stored:
    options['stored'] = program(name, params, *stored)
  return f.text(name, text, per_replica=operands, replicas=replicas, **options)


def all_reduces(f, type_, opcode, replicas, groups, shape=(2, 3), more=''):
  dims = ','.join(map(str, shape))
  make = small_ints if opcode == 'add' or type_[0] not in 'su' else any_bits
  tag = groups.replace('},{', '-').replace(',', '').strip('{}') or 'all'
  size = 'x'.join(map(str, shape)) or 'scalar'
  collective(f, f'all-reduce.{type_}.{opcode}.{replicas}.{tag}.{size}', replicas,
             lambda r: [make(type_, shape, r)],
             f'r = {type_}[{dims}] all-reduce(p0), replica_groups={groups}, to_apply=f{more}',
             reducer('f', opcode, type_))


LOOP = '''sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}

condition {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}

body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum
  ROOT t = (s32[], f32[4]) tuple(next, y)
}
'''


@family
def all_reduce(f):
  for replicas in (1, 2, 4, 8):
    collective(f, f'replica-id.{replicas}', replicas, lambda r: [np.uint32(10 * r)],
               'i = u32[] replica-id()\nr = u32[] add(i, p0)')
    all_reduces(f, 'f32', 'add', replicas, '{}')
  all_reduces(f, 'f32', 'add', 4, '{{0,1},{2,3}}')
  all_reduces(f, 'f32', 'add', 4, '{{0,2},{1,3}}')
  all_reduces(f, 'f32', 'add', 4, '{{3,1,0,2}}')
  all_reduces(f, 'f32', 'add', 4, '{{0},{1},{2},{3}}')
  all_reduces(f, 'f32', 'add', 8, '{{0,1,2,3},{4,5,6,7}}', shape=(17,))
  for opcode in ('multiply', 'maximum', 'minimum'):
    all_reduces(f, 'f32', opcode, 4, '{}')
  for type_ in ('s32', 'u32'):
    for opcode in ('add', 'multiply', 'maximum', 'minimum'):
      all_reduces(f, type_, opcode, 4, '{{0,1,2,3}}')
  for opcode in ('and', 'or'):
    all_reduces(f, 'pred', opcode, 4, '{}')
  for type_ in ('s8', 'u8', 's16', 'u16', 's64', 'u64', 'f16', 'bf16', 'f64', 'c64', 'c128'):
    all_reduces(f, type_, 'add', 2, '{}')
  for type_ in ('s64', 'u8', 'f64', 'f16', 'bf16'):
    all_reduces(f, type_, 'maximum', 4, '{}')
  all_reduces(f, 'f32', 'add', 2, '{}', shape=())
  all_reduces(f, 'f32', 'add', 2, '{{1,0}}', shape=(0, 3))
  all_reduces(f, 'f32', 'add', 4, '{{0,1},{2,3}}', shape=(5,),
              more=', channel_id=7, use_global_device_ids=true')
  collective(f, 'all-reduce.variadic', 4, lambda r: [small_ints('f32', (3,), r, 'a'),
                                                     small_ints('f32', (2, 2), r, 'b')],
             'r = (f32[3], f32[2,2]) all-reduce(p0, p1), replica_groups={}, to_apply=f',
             reducer('f', 'add', 'f32'))
  collective(f, 'all-reduce.loop', 4, lambda r: [small_ints('f32', (4,), r)],
             'i = s32[] constant(0)\nt = (s32[], f32[4]) tuple(i, p0)\n'
             'r = (s32[], f32[4]) while(t), condition=condition, body=body', LOOP)
  collective(f, 'all-reduce.two', 4, lambda r: [small_ints('f32', (4,), r)],
             'a = f32[4] all-reduce(p0), replica_groups={{0,1},{2,3}}, to_apply=f\n'
             'b = f32[4] all-reduce(p0), replica_groups={{0,2},{1,3}}, to_apply=f\n'
             'r = f32[4] subtract(a, b)', reducer('f', 'add', 'f32'), check=False)
  collective(f, 'all-reduce.max.special', 2,
             lambda r: [np.array([[0.0, np.nan, 1, -np.inf], [-0.0, 1, np.nan, -np.inf]][r],
                                 np.float32)],
             'r = f32[4] all-reduce(p0), replica_groups={}, to_apply=f',
             reducer('f', 'maximum', 'f32'))


GROUPS = {2: ['{}', '{{0,1}}', '{{1,0}}'], 4: ['{}', '{{0,1},{2,3}}', '{{0,2},{1,3}}',
                                               '{{3,2,1,0}}', '{{1,0},{3,2}}']}


def group_size(groups, replicas):
  return replicas if groups == '{}' else groups.split('}')[0].count(',') + 1


def tag(groups):
  return groups.replace('},{', '-').replace(',', '').strip('{}') or 'all'


def resized(shape, dimension, size):
  return ','.join(str(size if d == dimension else n) for d, n in enumerate(shape))


@family
def all_gather(f):
  def one(type_, shape, dimension, replicas, groups, more='', label=''):
    k = group_size(groups, replicas)
    result = f'{type_}[{resized(shape, dimension, shape[dimension] * k)}]'
    name = f'all-gather.{type_}.{"x".join(map(str, shape))}.{dimension}.{replicas}.{tag(groups)}'
    collective(f, name + label, replicas, lambda r: [any_bits(type_, shape, r)],
               f'r = {result} all-gather(p0), replica_groups={groups}, '
               f'dimensions={{{dimension}}}{more}')
  for replicas in GROUPS:
    for groups in GROUPS[replicas]:
      one('f32', (2, 3), 0, replicas, groups)
      one('f32', (2, 3), 1, replicas, groups)
  one('f32', (3,), 0, 8, '{}')
  one('f32', (3,), 0, 1, '{}')
  one('s32', (2, 3, 2), 1, 4, '{{0,1},{2,3}}', ', channel_id=3, use_global_device_ids=true', '.id')
  for type_ in ('pred', 's8', 'u8', 's16', 'u16', 'u32', 's64', 'u64', 'f16', 'bf16', 'f64', 'c64',
                'c128', 's4', 'f8e4m3fn', 'f8e5m2'):
    one(type_, (2, 2), 0, 2, '{}')
  collective(f, 'all-gather.variadic', 2, lambda r: [any_bits('f32', (2, 2), r),
                                                     any_bits('s32', (1, 3), r)],
             'r = (f32[4,2], s32[2,3]) all-gather(p0, p1), replica_groups={}, dimensions={0}')


@family
def reduce_scatter(f):
  def one(type_, shape, dimension, replicas, groups, opcode='add', make=small_ints):
    k = group_size(groups, replicas)
    result = f'{type_}[{resized(shape, dimension, shape[dimension] // k)}]'
    name = f'reduce-scatter.{type_}.{opcode}.{"x".join(map(str, shape))}.{dimension}'
    collective(f, f'{name}.{replicas}.{tag(groups)}', replicas, lambda r: [make(type_, shape, r)],
               f'r = {result} reduce-scatter(p0), replica_groups={groups}, '
               f'dimensions={{{dimension}}}, to_apply=f', reducer('f', opcode, type_))
  for replicas in GROUPS:
    for groups in GROUPS[replicas]:
      one('f32', (4, 3), 0, replicas, groups)
      one('f32', (2, 8), 1, replicas, groups)
  one('f32', (16,), 0, 8, '{}')
  one('f32', (3,), 0, 1, '{}')
  for opcode in ('multiply', 'maximum', 'minimum'):
    one('s32', (4, 2), 0, 2, '{}', opcode, any_bits)
  for type_ in ('s8', 'u32', 's64', 'f16', 'bf16', 'f64', 'c64'):
    one(type_, (2, 2), 0, 2, '{}')


@family
def all_to_all(f):
  def array(type_, shape, dimension, replicas, groups):
    """The form with a split dimension: one operand, cut and put together along it."""
    if groups == '{}':  # refused by the importer in this form; see spec.golden
      groups = '{{' + ','.join(map(str, range(replicas))) + '}}'
    collective(f, f'all-to-all.{type_}.{"x".join(map(str, shape))}.{dimension}.{replicas}.'
               f'{tag(groups)}', replicas, lambda r: [any_bits(type_, shape, r)],
               f'r = {type_}[{",".join(map(str, shape))}] all-to-all(p0), '
               f'replica_groups={groups}, dimensions={{{dimension}}}')
  for replicas in GROUPS:
    for groups in GROUPS[replicas]:
      if groups == '{{0,1}}':
        continue
      array('f32', (4, 3), 0, replicas, groups)
      array('f32', (2, 4), 1, replicas, groups)
  array('f32', (16, 1), 0, 8, '{}')
  for type_ in ('pred', 's8', 'u16', 's32', 'u64', 'bf16', 'f64', 'c64', 's4'):
    array(type_, (4, 2), 0, 2, '{}')
  for replicas, groups in ((2, '{{0,1}}'), (4, '{{0,1,2,3}}'), (4, '{{2,0,3,1}}'),
                           (4, '{{0,1},{2,3}}')):
    k = group_size(groups, replicas)
    result = '(' + ', '.join(['f32[2,2]'] * k) + ')'
    collective(f, f'all-to-all.tuple.{replicas}.{tag(groups)}', replicas,
               lambda r: [any_bits('f32', (2, 2), r, i) for i in range(k)],
               f'r = {result} all-to-all({", ".join(f"p{i}" for i in range(k))}), '
               f'replica_groups={groups}')


@family
def collective_permute(f):
  def one(label, replicas, pairs, type_='f32', more=''):
    collective(f, f'collective-permute.{label}', replicas, lambda r: [any_bits(type_, (2, 3), r)],
               f'r = {type_}[2,3] collective-permute(p0), source_target_pairs={pairs}{more}')
  one('swap', 2, '{{0,1},{1,0}}')
  one('ring', 4, '{{0,1},{1,2},{2,3},{3,0}}')
  one('shift', 4, '{{0,1},{1,2},{2,3}}')
  one('self', 4, '{{0,0},{1,3}}')
  one('one', 8, '{{7,2}}')
  one('none', 2, '{}')
  for type_ in ('pred', 's8', 'u16', 's64', 'bf16', 'f64', 'c128', 's4', 'f8e5m2'):
    one(f'{type_}', 2, '{{0,1},{1,0}}', type_)
  collective(f, 'collective-permute.loop', 4, lambda r: [any_bits('s32', (3,), r)], '''
    i = s32[] constant(0)
    t = (s32[], s32[3]) tuple(i, p0)
    r = (s32[], s32[3]) while(t), condition=condition, body=body''', '''condition {
  s = (s32[], s32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}

body {
  s = (s32[], s32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = s32[3] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  z = s32[3] add(x, y)
  ROOT t = (s32[], s32[3]) tuple(next, z)
}''')
  collective(f, 'partition-id', 2, lambda r: [np.uint32(r)],
             'i = u32[] partition-id()\nr = u32[] add(i, p0)')
  collective(f, 'partition-id.replica-id', 4, lambda r: [np.uint32(r)],
             'i = u32[] partition-id()\nj = u32[] replica-id()\nk = u32[] add(i, j)\n'
             'r = u32[] multiply(k, p0)')


@family
def async_collectives(f):
  """Start and done, read as their synchronous form, which is what runs on XLA here."""
  add = reducer('f', 'add', 'f32')

  def one(name, body, stored, computations='', stored_computations=None):
    for replicas in (2, 4):
      def fill(text):
        group = '{{' + ','.join(map(str, range(replicas))) + '}}'
        return text.replace('GATHERED', str(4 * replicas)).replace('GROUP', group)
      inner = computations if stored_computations is None else stored_computations
      collective(f, f'{name}.{replicas}', replicas, lambda r: [small_ints('f32', (4,), r)],
                 fill(body), computations, restyle=False, stored=(fill(stored), fill(inner)))
  one('all-reduce-start', 'r = f32[4] all-reduce(p0), replica_groups={}, to_apply=f',
      's = f32[4] all-reduce-start(p0), replica_groups={}, to_apply=f\n'
      'r = f32[4] all-reduce-done(s)', add)
  one('all-gather-start', 'r = f32[GATHERED] all-gather(p0), replica_groups={}, dimensions={0}',
      's = (f32[4], f32[GATHERED]) all-gather-start(p0), replica_groups={}, dimensions={0}\n'
      'r = f32[GATHERED] all-gather-done(s)')
  one('collective-permute-start',
      'r = f32[4] collective-permute(p0), source_target_pairs={{0,1},{1,0}}',
      's = (f32[4], f32[4], u32[], u32[]) collective-permute-start(p0), '
      'source_target_pairs={{0,1},{1,0}}\nr = f32[4] collective-permute-done(s)')
  one('async-start', 'r = f32[4] negate(p0)',
      's = ((f32[4]), f32[4], s32[]) async-start(p0), calls=g\n'
      'r = f32[4] async-done(s)', '', 'g {\n  x = f32[4] parameter(0)\n'
      '  ROOT n = f32[4] negate(x)\n}')
  one('async-update', 'r = f32[4] negate(p0)',
      's = ((f32[4]), f32[4], s32[]) async-start(p0), calls=g\n'
      't = ((f32[4]), f32[4], s32[]) async-update(s)\n'
      'r = f32[4] async-done(t)', '', 'g {\n  x = f32[4] parameter(0)\n'
      '  ROOT n = f32[4] negate(x)\n}')
  one('all-to-all-async', 'r = f32[4] all-to-all(p0), replica_groups=GROUP, dimensions={0}',
      's = ((f32[4]), f32[4], s32[]) async-start(p0), calls=g\n'
      'r = f32[4] async-done(s)', '', """g {
  x = f32[4] parameter(0)
  ROOT y = f32[4] all-to-all(x), replica_groups=GROUP, dimensions={0}
}""")
  one('negate-start', 'r = f32[4] negate(p0)',  # as XLA prints an async-start of one operation
      's = ((f32[4]), f32[4], s32[]) negate-start(p0)\n'
      't = ((f32[4]), f32[4], s32[]) negate-update(s)\nr = f32[4] negate-done(t)')
  one('copy-start', 'r = f32[4] copy(p0)', 's = (f32[4], f32[4], u32[]) copy-start(p0)\n'
      'r = f32[4] copy-done(s)')
