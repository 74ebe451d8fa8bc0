"""Data movement: broadcast, reshape, transpose, slice, concatenate, iota, pad, reverse, layouts."""

import itertools

import numpy as np

from corpus import family
from harness import COMPLEX, F8S, FLOATS, INTS
from values import count

BROADCASTS = [((), (2, 3), ()), ((3,), (2, 3), (1,)), ((2,), (2, 3), (0,)),
              ((2, 3), (2, 4, 3), (0, 2)), ((2, 3), (3, 2), (1, 0)), ((1, 3), (1, 3, 2), (0, 1)),
              ((2, 0), (2, 0, 3), (0, 1)), ((4,), (2, 3, 4, 2), (2,))]
RESHAPES = [((2, 3), (6,)), ((6,), (2, 1, 3)), ((), (1, 1)), ((0, 3), (0,)), ((2, 3, 4), (4, 6)),
            ((1, 1), ()), ((4, 6), (2, 2, 3, 2))]
SLICES = [((5,), '[1:4]', (3,)), ((4, 5), '[0:2], [1:5]', (2, 4)), ((7,), '[0:7:3]', (3,)),
          ((4, 6, 5), '[1:4:2], [0:6:5], [2:3]', (2, 2, 1)), ((5,), '[2:2]', (0,)),
          ((3, 4), '[0:3], [0:4]', (3, 4)), ((9, 9), '[1:9:4], [0:9:3]', (2, 3))]
CONCATENATES = [([(2, 3), (4, 3)], 0, (6, 3)), ([(2, 3), (2, 1), (2, 2)], 1, (2, 6)),
                ([(2, 0), (2, 3)], 1, (2, 3)), ([(3,)], 0, (3,)),
                ([(2, 1, 3), (2, 2, 3), (2, 1, 3)], 1, (2, 4, 3)), ([(1,)] * 9, 0, (9,))]
PADS = [((3,), '2_1', (6,)), ((3,), '0_0_2', (7,)), ((5,), '-1_-2', (2,)),
        ((2, 3), '1_0x0_2', (3, 5)), ((2, 3), '1_1_1x-1_2_2', (5, 8)), ((3,), '-2_0_1', (3,)),
        ((0, 2), '1_1x0_0', (2, 2)), ((3,), '-1_-1_0', (1,)), ((4,), '1_-3_2', (8,)),
        ((2, 3, 2), '0_0x1_1_1x0_1', (2, 7, 3))]


def dims(shape):
  return ','.join(map(str, shape))


def broadcasts(f, type_, chosen=BROADCASTS):
  for source, target, dimensions in chosen:
    f.hlo(f'broadcast.{type_}.{"x".join(map(str, source))}.to.{"x".join(map(str, target))}', None,
          f'r = {type_}[{dims(target)}] broadcast(p0), dimensions={{{dims(dimensions)}}}',
          count(type_, source))


def reshapes(f, type_, chosen=RESHAPES):
  for source, target in chosen:
    f.hlo(f'reshape.{type_}.{"x".join(map(str, source))}.to.{"x".join(map(str, target))}', None,
          f'r = {type_}[{dims(target)}] reshape(p0)', count(type_, source))


def transposes(f, type_, shapes=((2, 3), (2, 3, 4))):
  for shape in shapes:
    for order in itertools.permutations(range(len(shape))):
      target = [shape[d] for d in order]
      f.hlo(f'transpose.{type_}.{"".join(map(str, order))}', None,
            f'r = {type_}[{dims(target)}] transpose(p0), dimensions={{{dims(order)}}}',
            count(type_, shape), check=list(order) != sorted(order))


def slices(f, type_, chosen=SLICES):
  for i, (source, text, target) in enumerate(chosen):
    f.hlo(f'slice.{type_}.{i}', None, f'r = {type_}[{dims(target)}] slice(p0), slice={{{text}}}',
          count(type_, source))


def concatenates(f, type_, chosen=CONCATENATES):
  for i, (sources, dimension, target) in enumerate(chosen):
    names = ', '.join(f'p{k}' for k in range(len(sources)))
    f.hlo(f'concatenate.{type_}.{i}', None,
          f'r = {type_}[{dims(target)}] concatenate({names}), dimensions={{{dimension}}}',
          *[count(type_, s) for s in sources])


def iotas(f, type_):
  for shape, dimension in (((20,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 1), ((0, 2), 1)):
    f.hlo(f'iota.{type_}.{"x".join(map(str, shape))}.{dimension}', [],
          f'r = {type_}[{dims(shape)}] iota(), iota_dimension={dimension}')


def pads(f, type_, chosen=PADS):
  for i, (source, padding, target) in enumerate(chosen):
    f.hlo(f'pad.{type_}.{i}', None,
          f'r = {type_}[{dims(target)}] pad(p0, p1), padding={padding}',
          count(type_, source), count(type_, (9,))[7])


def reverses(f, type_):
  for shape, dimensions in (((5,), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((2, 3, 4), (0, 2)),
                            ((2, 3), ())):
    f.hlo(f'reverse.{type_}.{"x".join(map(str, shape))}.{"".join(map(str, dimensions))}', None,
          f'r = {type_}[{dims(shape)}] reverse(p0), dimensions={{{dims(dimensions)}}}',
          count(type_, shape), check=bool(dimensions))


def copies(f, type_):
  f.hlo(f'copy.{type_}', None, f'r = {type_}[2,3] copy(p0)', count(type_, (2, 3)))


@family
def movement(f):
  """The first stage's types: f32, s32, u32, pred."""
  for type_ in ('f32', 's32', 'u32', 'pred'):
    few = slice(None) if type_ == 'f32' else slice(0, None, 2)
    broadcasts(f, type_, BROADCASTS[few])
    reshapes(f, type_, RESHAPES[few])
    slices(f, type_, SLICES[few])
    concatenates(f, type_, CONCATENATES[few])
    copies(f, type_)
    if type_ != 'pred':
      iotas(f, type_)
  transposes(f, 'f32')
  transposes(f, 'f32', [(5, 1, 7, 2)][:1])
  transposes(f, 'pred', [(2, 3)])
  f.hlo('transpose.f32.medium', None, 'r = f32[37,41] transpose(p0), dimensions={1,0}',
        count('f32', (41, 37)))


@family
def pad_reverse(f):
  for type_ in ('f32', 's32', 'pred', 's8', 'f16', 'c64', 's4', 'f8e5m2', 'u64'):
    few = slice(None) if type_ == 'f32' else slice(0, None, 3)
    pads(f, type_, PADS[few])
    reverses(f, type_)


@family
def movement_types(f):
  """Every other element type, fewer shapes."""
  for type_ in INTS + FLOATS + F8S + COMPLEX:
    if type_ in ('f32', 's32', 'u32'):
      continue
    broadcasts(f, type_, BROADCASTS[3:5])
    reshapes(f, type_, RESHAPES[1:2])
    transposes(f, type_, [(2, 3)])
    slices(f, type_, SLICES[3:4])
    concatenates(f, type_, CONCATENATES[1:2])
    copies(f, type_)
    iotas(f, type_)


@family
def layout(f):
  """Layouts in the text don't change what a program means: literals are logical here."""
  x, y = count('f32', (2, 3)), count('f32', (3, 2))
  f.hlo('layout.column-major', ['f32[2,3]{0,1}', 'f32[3,2]{1,0}'],
        't = f32[3,2]{0,1} transpose(p0), dimensions={1,0}\nr = f32[3,2]{1,0} add(t, p1)', x, y,
        restyle=False)
  f.hlo('layout.entry', ['f32[2,3]{1,0}'], 'r = f32[6]{0} reshape(p0)', x, restyle=False)
  z = count('s32', (2, 3, 4))
  for order in itertools.permutations(range(3)):
    f.hlo(f'layout.rank3.{"".join(map(str, order))}', ['s32[2,3,4]{2,1,0}'],
          f'c = s32[2,3,4]{{{dims(order)}}} copy(p0)\n'
          f't = s32[4,2,3]{{{dims(order)}}} transpose(c), dimensions={{2,0,1}}\n'
          'r = s32[24]{0} reshape(t)', z, restyle=False)
  f.hlo('layout.constant', [], 'c = s32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })\n'
        'r = s32[6]{0} reshape(c)', restyle=False)
  f.hlo('layout.tiled', ['f32[2,3]{1,0:T(8,128)}'], 'n = f32[2,3]{1,0:T(8,128)} negate(p0)\n'
        'r = f32[2,3]{1,0:T(2,128)(2,1)S(1)} abs(n)', x, restyle=False)
  many = [2] * 11
  f.hlo('many-dimensions', None, 'r = s8[2,2,2,1,2,2,2,2,2,2,2] slice(p0), slice={'
        + ', '.join('[1:2]' if d == 3 else '[0:2]' for d in range(11)) + '}', count('s8', many))
