"""convert, bitcast-convert, reduce-precision: every pair of element types."""

import ml_dtypes
import numpy as np

from corpus import family
from harness import COMPLEX, DTYPES, F8S, FLOATS, INTS
from values import any_bits, edges, normals

FIRST = ('f32', 's32', 'u32', 'pred')


def twice(source, target):
  """Just above a halfway point of a narrow float: XLA:CPU rounds to f32 first, then again."""
  if target not in ('f16', 'bf16', 'f32') or source not in ('s32', 'u32', 's64', 'u64', 'f64'):
    return np.zeros(0, DTYPES[source])
  eps = float(ml_dtypes.finfo(DTYPES[target]).eps)
  if source == 'f64':
    return np.array([1 + eps / 2 + 2.0**-40, 1 + 1.5 * eps - 2.0**-40, -3 - eps - 2.0**-40])
  top = 2**30 if source[1:] == '32' else 2**60
  if target == 'f16':
    top = 2**15
  return np.array([top + int(top * eps / 2) + 1, top + int(top * eps * 1.5) - 1, top + 1],
                  DTYPES[source])


def hard(source, target):
  """Edge values of the source, and values around the target's limits and halfway points."""
  e = edges(source)
  if source == 'pred' or source in COMPLEX:
    return e
  if source in INTS:
    x = np.concatenate([e, any_bits(source, (12,), target)])
    return np.concatenate([x, twice(source, target)])
  more = [0.99, -0.99, 1.01, 2.4999, 6.75, -6.75, 1e-3, -1e-3]
  if target in INTS:
    info = ml_dtypes.iinfo(DTYPES[target])
    for v in (int(info.min), int(info.max)):
      more += [v, v - 1, v + 1, v + 0.5, v - 0.5, 2.0 * v, -3.0 * v]
    more += [1e10, -1e10, 1e20, -1e20]
  elif target in FLOATS + F8S:
    info = ml_dtypes.finfo(DTYPES[target])
    eps, top = float(info.eps), float(info.max)
    more += [1 + eps / 2, 1 + 1.5 * eps, 1 + eps / 2 + 2e-7, 1 - eps / 4, 3 + eps]
    with np.errstate(over='ignore'):
      more += [top, top * (1 + eps / 4), top * (1 + eps / 2), top * 1.5, -top * 1.5]
    if target in ('f16',) + tuple(F8S):
      least = float(info.smallest_subnormal)
      more += [least, least / 2, least * 1.5, least * 0.75, -least * 2.5, least * 0.499]
  with np.errstate(over='ignore', invalid='ignore'):
    more = np.array(more, np.float64).astype(DTYPES[source])
  x = np.concatenate([e, more, twice(source, target)])
  if source in ('f32', 'f64', 'bf16'):  # XLA:CPU reads denormals as zero
    wide = np.abs(x.astype(np.float64))
    x = x[~((wide > 0) & (wide < float(ml_dtypes.finfo(DTYPES[source]).smallest_normal)))]
  if source == 'f64' and target in ('f32', 'bf16'):  # or flushes them on the way out
    wide = np.abs(x)
    x = x[~((wide > 0) & (wide < float(ml_dtypes.finfo(DTYPES[target]).smallest_normal)))]
  return x


def converts(f, source, target):
  x = hard(source, target)
  f.hlo(f'convert.{source}.{target}', None, f'r = {target}[{len(x)}] convert(p0)', x,
        check=target not in ('pred',) and source != target)


@family
def convert(f):
  for source in FIRST:
    for target in FIRST:
      converts(f, source, target)


@family
def convert_types(f):
  every = ['pred'] + INTS + FLOATS + F8S + COMPLEX
  for source in every:
    for target in every:
      if (source in COMPLEX and target not in COMPLEX) or (source in FIRST and target in FIRST):
        continue
      converts(f, source, target)


BITS = {1: ['s8', 'u8', 'f8e5m2', 'f8e4m3fn', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e4m3b11fnuz'],
        2: ['s16', 'u16', 'f16', 'bf16'], 4: ['s32', 'u32', 'f32'], 8: ['s64', 'u64', 'f64']}


@family
def bitcast_convert(f):
  def one(source, shape, target, out, x=None):
    x = any_bits(source, shape, target) if x is None else x
    f.hlo(f'bitcast-convert.{source}.{target}.{"x".join(map(str, out))}', None,
          f'r = {target}[{",".join(map(str, out))}] bitcast-convert(p0)', x,
          check=source != target)
  for types in BITS.values():
    for source in types:
      for target in types:
        if source != target:
          one(source, (3, 4), target, (3, 4))
  for wide, narrow, n in (('u32', 'u8', 4), ('f32', 'u16', 2), ('f64', 'u32', 2), ('s64', 's8', 8),
                          ('u16', 's8', 2), ('f32', 'bf16', 2), ('u8', 'u4', 2), ('s32', 's4', 8),
                          ('f32', 's8', 4), ('u64', 'f32', 2)):
    low = any_bits(narrow, (2, 3, n), 'low')
    one(wide, (2, 3), narrow, (2, 3, n))
    one(narrow, (2, 3, n), wide, (2, 3), low)
  one('f32', (5,), 'u32', (5,), np.array([np.nan, -np.inf, -0.0, 1e-40, 3.5], np.float32))
  one('f32', (), 's32', ())


@family
def reduce_precision(f):
  for type_ in ('f32', 'f64', 'f16', 'bf16'):
    info = ml_dtypes.finfo(DTYPES[type_])
    eps = float(info.eps)
    x = np.concatenate([edges(type_), normals(type_, (24,), 'x', scale=100)])
    more = [65504.0, 65519.0, 65520.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + eps,
            1e-3, 6.1e-5, 3e-5, 448.0, 464.0, 465.0, 57344.0, 61440.0, 3.3e38, 2.0**-7, 2.0**-9,
            2.0**-14 - 2.0**-25]
    with np.errstate(over='ignore'):
      x = np.concatenate([x, np.array(more).astype(DTYPES[type_])])
    for e, m in ((8, 23), (8, 7), (5, 10), (5, 2), (4, 3), (8, 0), (2, 1), (11, 52), (11, 4),
                 (3, 30)):
      f.hlo(f'reduce-precision.{type_}.e{e}m{m}', None,
            f'r = {type_}[{len(x)}] reduce-precision(p0), exponent_bits={e}, mantissa_bits={m}', x)


@family
def stochastic_convert(f):
  """XLA:CPU's thresholds: the fraction of the magnitude, in as many bits as the operand has."""
  for source, random in (('f32', 'u32'), ('f64', 'u64'), ('f16', 'u16'), ('bf16', 'u16')):
    for target in ('s8', 's16', 's32', 's64'):
      x = np.concatenate([normals(source, (40,), target, scale=30), edges(source)])
      f.hlo(f'stochastic-convert.{source}.{target}', None,
            f'r = {target}[{len(x)}] stochastic-convert(p0, p1)', x,
            any_bits(random, (len(x),), target))
