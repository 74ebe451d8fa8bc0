"""convert, bitcast-convert, reduce-precision: every pair of element types."""

import ml_dtypes
import numpy as np

from corpus import family
from harness import COMPLEX, DTYPES, F8S, FLOATS, INTS, shape_of
from values import any_bits, edges, rng

FIRST = ('f32', 's32', 'u32', 'pred')


def hard(source, target):
  """Edge values of the source, and values around the target's limits and halfway points."""
  e = edges(source)
  if source == 'pred' or source in COMPLEX:
    return e
  if source in INTS:
    return np.concatenate([e, any_bits(source, (12,), target)])
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
  x = np.concatenate([e, more])
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
