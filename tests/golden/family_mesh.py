"""Collectives on meshes of replicas by partitions: every mode of reading the groups.

XLA:CPU runs partitions only after its partitioner, which leaves alone instructions with sharding={manual}.
The stored text is without. What XLA:CPU does not run at all is in mesh_spec, by StableHLO's
definitions."""

import re

import numpy as np

from corpus import family, program, reducer
from harness import shape_of
from values import any_bits, small_ints

MESHES = ((2, 2), (2, 4), (4, 2), (1, 4), (1, 8), (8, 1))
SUM = reducer('f', 'add', 'f32')


def header(text, replicas, partitions):
  return text.replace('\n', f', replica_count={replicas}, num_partitions={partitions}\n', 1)


def manual(text):
  """Everything in the entry computation as it is, on every device."""
  start = text.index('ENTRY')
  return text[:start] + re.sub(r'(?m)^(  .* = .*)$', r'\1, sharding={manual}', text[start:])


def case(f, name, mesh, make, body, computations=''):
  replicas, partitions = mesh
  operands = [list(make(d)) for d in range(replicas * partitions)]
  text = program(name, [shape_of(x) for x in operands[0]], body, computations)
  # A mesh that is stated, or left to whoever compiles.
  stored = header(text, *mesh) if len(name) % 2 else text
  f.text(f'{name}.{replicas}x{partitions}', manual(text), per_replica=operands, replicas=replicas,
         partitions=partitions, check=False, restyle=False, stored=stored)


def braces(groups):
  return '{' + ','.join('{' + ','.join(map(str, g)) + '}' for g in groups) + '}'


def splits(n):
  """Ways of putting 0 .. n-1 into groups of the same size."""
  yield 'all', [list(range(n))]
  yield 'reverse', [list(range(n))[::-1]]
  if n > 1:
    yield 'apart', [[i] for i in range(n)]
  if n >= 4:
    yield 'halves', [list(range(n // 2)), list(range(n // 2, n))]
    yield 'strided', [list(range(1, n, 2)), list(range(0, n, 2))]


def modes(mesh):
  """Name, attributes, number of ids, and how many devices an id stands for in a group."""
  replicas, partitions = mesh
  yield 'replicas', '', replicas, 1
  yield 'both', ', channel_id=1', replicas, partitions
  yield 'devices', ', channel_id=1, use_global_device_ids=true', replicas * partitions, 1


@family
def mesh(f):
  for mesh in MESHES:
    replicas, partitions = mesh
    case(f, 'ids', mesh, lambda d: [np.uint32(100 * d)],
         'a = u32[] replica-id()\nb = u32[] partition-id()\nten = u32[] constant(10)\n'
         'c = u32[] multiply(a, ten)\ne = u32[] add(b, c)\nr = u32[] add(e, p0)')
    for mode, more, ids, each in modes(mesh):
      for label, groups in splits(ids):
        size = len(groups[0]) * each
        tail = f'replica_groups={braces(groups)}{more}'
        name = f'{mode}.{label}'
        case(f, f'all-gather.{name}', mesh, lambda d: [any_bits('s32', (2, 3), d)],
             f'r = s32[2,{3 * size}] all-gather(p0), dimensions={{1}}, {tail}')
        if label in ('reverse', 'strided'):
          case(f, f'all-reduce.{name}', mesh, lambda d: [small_ints('f32', (5,), d)],
               f'r = f32[5] all-reduce(p0), to_apply=f, {tail}', SUM)
          case(f, f'reduce-scatter.{name}', mesh, lambda d: [small_ints('f32', (2 * size, 2), d)],
               f'r = f32[2,2] reduce-scatter(p0), dimensions={{0}}, to_apply=f, {tail}', SUM)
    for mode, more, ids in (('replicas', '', replicas), ('partitions', ', channel_id=1', partitions)):
      for label, groups in splits(ids):
        size = len(groups[0])
        case(f, f'all-to-all.{mode}.{label}', mesh, lambda d: [any_bits('f32', (2 * size, 2), d)],
             f'r = f32[{2 * size},2] all-to-all(p0), dimensions={{0}}, '
             f'replica_groups={braces(groups)}{more}')
      if ids == 1:
        continue
      for label, pairs in (('ring', [(i, (i + 1) % ids) for i in range(ids)]), ('one', [(0, 1)]),
                           ('swap', [(0, ids - 1), (ids - 1, 0)])):
        case(f, f'collective-permute.{mode}.{label}', mesh, lambda d: [any_bits('f32', (3,), d)],
             f'r = f32[3] collective-permute(p0), source_target_pairs={braces(pairs)}{more}')
  # Groups of different sizes; groups as transposed iotas; the asynchronous form.
  case(f, 'all-reduce.ragged', (2, 4), lambda d: [small_ints('f32', (3,), d)],
       'r = f32[3] all-reduce(p0), replica_groups={{6},{0,1,2,4},{3,5,7}}, channel_id=1, '
       'use_global_device_ids=true, to_apply=f', SUM)
  for label, groups, size in (('rows', '[2,4]<=[8]', 4), ('columns', '[4,2]<=[2,4]T(1,0)', 2)):
    case(f, f'all-gather.iota.{label}', (2, 4), lambda d: [any_bits('u8', (2,), d)],
         f'r = u8[{2 * size}] all-gather(p0), dimensions={{0}}, replica_groups={groups}, '
         'channel_id=1, use_global_device_ids=true')
  case(f, 'all-gather.async', (2, 2), lambda d: [any_bits('f32', (2,), d)],
       's = (f32[2], f32[8]) all-gather-start(p0), dimensions={0}, channel_id=1, '
       'replica_groups={{1,0}}\nr = f32[8] all-gather-done(s)')
  case(f, 'collective-permute.async', (2, 2), lambda d: [any_bits('f32', (2,), d)],
       's = (f32[2], f32[2]) collective-permute-start(p0), channel_id=1, '
       'source_target_pairs={{1,0}}\nr = f32[2] collective-permute-done(s)')
  for type_ in ('pred', 's8', 'u16', 's64', 'f16', 'bf16', 'f64', 'c64', 'c128'):
    case(f, f'all-gather.{type_}', (2, 2), lambda d: [any_bits(type_, (2,), d)],
         f'r = {type_}[8] all-gather(p0), dimensions={{0}}, replica_groups={{{{0,1}}}}, channel_id=1')


def groups_of(mode, mesh, groups):
  """StableHLO's cross_replica and cross_partition, as lists of devices."""
  replicas, partitions = mesh
  if mode == 'replicas':
    return [[r * partitions + p for r in g] for g in groups for p in range(partitions)]
  return [[r * partitions + p for p in g] for g in groups for r in range(replicas)]


@family
def mesh_spec(f):
  for mesh in MESHES:
    replicas, partitions = mesh
    devices = replicas * partitions
    for mode, more, ids in (('replicas', '', replicas), ('partitions', ', channel_id=1', partitions)):
      if ids == 1:
        continue
      def spec(name, params, body, operands, results):
        f.spec(f'{name}.{mode}.{replicas}x{partitions}', params, body, operands, results,
               partitions=partitions)
      x = [any_bits('f32', (3,), d, mode) for d in range(devices)]
      for label, groups in (('all', [list(range(ids))]), ('last', [[ids - 1]]),
                            ('beyond', [[ids - 1, 0]]), ('some', [[1], [0]])):
        results = [np.zeros(3, np.float32) for _ in x]
        for group in groups_of(mode, mesh, groups):
          for d in group:
            results[d] = x[group[0]]
        spec(f'collective-broadcast.{label}', ['f32[3]'],
             f'r = f32[3] collective-broadcast(p0), replica_groups={braces(groups)}{more}',
             [[v] for v in x], [[v] for v in results])
      # Row i of the sender's is for member i, and comes to the place of the sender's number.
      group = list(range(ids))[::-1]
      place = {d: i for g in groups_of(mode, mesh, [group]) for i, d in enumerate(g)}
      rows = [any_bits('s32', (ids, 2), d, 'rows') for d in range(devices)]
      before = [any_bits('s32', (ids, 2), d, 'before') for d in range(devices)]
      one, order = np.ones(ids, np.int32), np.arange(ids, dtype=np.int32)
      operands = [[rows[d], before[d], order, one, np.full(ids, place[d], np.int32), one]
                  for d in range(devices)]
      results = [None] * devices
      for g in groups_of(mode, mesh, [group]):
        for d in g:
          results[d] = [np.stack([rows[sender][place[d]] for sender in g])]
      spec('ragged-all-to-all', [shape_of(v) for v in operands[0]],
           f'r = s32[{ids},2] ragged-all-to-all(p0, p1, p2, p3, p4, p5), '
           f'replica_groups={braces([group])}{more}', operands, results)
