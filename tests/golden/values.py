"""Inputs: fixed random numbers, and the edge values of every element type."""

import zlib

import ml_dtypes
import numpy as np

from harness import COMPLEX, DTYPES, F8S, FLOATS, INTS, type_of


def rng(*key):
  return np.random.default_rng(zlib.crc32(repr(key).encode()))


def edges(type_, special=True):
  """The values where an operation is most likely to be wrong, smallest set that has them."""
  dtype = DTYPES[type_]
  if type_ == 'pred':
    return np.array([False, True])
  if type_ in INTS or type_ in ('s2', 'u2'):
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    wanted = [0, 1, -1, 2, 3, -3, 5, 7, -7, 10, low, low + 1, high, high - 1, high // 2]
    kept = sorted({v for v in wanted if low <= v <= high})
    return np.array(kept, dtype=np.int64 if low < 0 else np.uint64).astype(dtype)
  if type_ in COMPLEX:
    part = [0.0, -0.0, 1.0, -1.5, 0.5, 3.25]
    return np.array([complex(a, b) for a in part for b in part], dtype)
  info = ml_dtypes.finfo(dtype)
  finite = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 10.0]
  values = finite + ([np.nan, np.inf, -np.inf] if special else [])
  values += [float(info.max), float(info.min), float(info.smallest_normal), 1 + float(info.eps)]
  return np.array(values).astype(dtype)


def pairs(type_, limit=16):
  """Two arrays that together hold every pair of the edge values."""
  e = edges(type_)
  if len(e) > limit:
    e = e[:limit]
  n = len(e)
  return np.repeat(e, n), np.tile(e, n)


WIDER = {'bf16': np.float64, 'f32': np.float64, 'f64': np.longdouble}
BINARY = {'add': np.add, 'subtract': np.subtract, 'multiply': np.multiply, 'divide': np.divide,
          'remainder': np.fmod}


def without_denormals(opcode, a, b):
  """Leaves out the pairs whose result is denormal: XLA:CPU flushes it, WebAssembly cannot."""
  type_ = type_of(a)
  if type_ not in WIDER or opcode not in BINARY:
    return a, b
  with np.errstate(all='ignore'):
    exact = np.abs(BINARY[opcode](a.astype(WIDER[type_]), b.astype(WIDER[type_])))
  kept = ~((exact > 0) & (exact < float(ml_dtypes.finfo(a.dtype).smallest_normal)))
  return a[kept], b[kept]


def small_ints(type_, shape, *key, low=-4, high=5):
  """Whole numbers so small that sums and products of them are exact in every type."""
  if type_ == 'pred':
    return rng(type_, shape, *key).integers(0, 2, shape).astype(np.bool_)
  if type_[0] == 'u':
    low, high = 0, min(high, 4 if type_ == 'u2' else high)
  x = rng(type_, shape, *key).integers(low, high, shape)
  if type_ in COMPLEX:
    y = rng(type_, shape, 'imaginary', *key).integers(low, high, shape)
    return (x + 1j * y).astype(DTYPES[type_])
  return x.astype(DTYPES[type_])


def any_bits(type_, shape, *key):
  """Random values over the whole range of an integer type, moderate normals for floats."""
  r = rng('any', type_, shape, *key)
  if type_ == 'pred':
    return r.integers(0, 2, shape).astype(np.bool_)
  if type_ in INTS:
    info = ml_dtypes.iinfo(DTYPES[type_])
    wide = np.int64 if int(info.min) < 0 else np.uint64
    return r.integers(int(info.min), int(info.max), shape, dtype=wide,
                      endpoint=True).astype(DTYPES[type_])
  return normals(type_, shape, *key)


def normals(type_, shape, *key, scale=1.0):
  r = rng('normal', type_, shape, *key)
  x = r.standard_normal(shape) * scale
  if type_ in COMPLEX:
    x = x + 1j * r.standard_normal(shape) * scale
  return x.astype(DTYPES[type_])


def distinct(type_, shape, *key):
  """A shuffled count, so that no two elements are equal where the type has room."""
  n = int(np.prod(shape))
  x = rng('distinct', type_, shape, *key).permutation(n).reshape(shape)
  return x.astype(DTYPES[type_])


def count(type_, shape):
  """0, 1, 2, … in row-major order, wrapped into the type: for data movement."""
  n = int(np.prod(shape))
  if type_ == 'pred':
    return (np.arange(n) % 3 == 0).reshape(shape)
  if type_ in INTS:
    info = ml_dtypes.iinfo(DTYPES[type_])
    span = min(int(info.max) - int(info.min) + 1, 1 << 20)
    x = np.arange(n, dtype=np.int64) % span
    if int(info.min) < 0 and span < (1 << 20):
      x = x + int(info.min)
    return x.astype(DTYPES[type_]).reshape(shape)
  if type_ in F8S:
    return (np.arange(n) % 16).astype(DTYPES[type_]).reshape(shape)
  x = np.arange(n).astype(np.float64)
  if type_ in COMPLEX:
    return (x - 1j * x / 2).astype(DTYPES[type_]).reshape(shape)
  return x.astype(DTYPES[type_]).reshape(shape)


ALL = ['pred'] + INTS + FLOATS + F8S + COMPLEX
