"""Collectives over several replicas, one host device each."""

import numpy as np

from corpus import family, program, reducer
from harness import shape_of
from values import any_bits, small_ints


def per_replica(replicas, make):
  return [[x if isinstance(x, np.ndarray) else np.asarray(x) for x in make(r)]
          for r in range(replicas)]


def collective(f, name, replicas, make, body, computations='', **options):
  """`make(r)` gives replica r's operands."""
  operands = per_replica(replicas, make)
  text = program(name, [shape_of(x) for x in operands[0]], body, computations)
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
