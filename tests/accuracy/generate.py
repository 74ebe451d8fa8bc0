#!/usr/bin/env python3
"""Operands and correctly rounded results of transcendental functions, for accuracy.test.mjs.

`generate.py FOLDER POINTS` writes f32.bin and f64.bin: a line of JSON, [{name, arity, count}, ...],
then for each function its operands (one array each), its results, and a signed byte a result: how
far the true value is from it, in units of its last place / 254. mpmath computes with 160 bits.
"""

import ctypes
import json
import math
import os
import sys

import mpmath
import numpy as np

mpmath.mp.prec = 160

INF = math.inf
c_pow = ctypes.CDLL('libm.so.6').pow  # NumPy has an opinion of its own on -inf ** 0.5
c_pow.restype, c_pow.argtypes = ctypes.c_double, [ctypes.c_double] * 2
UNARY = {
    # name: (function, function for zeros and values that are not finite, ranges by type: f32, f64)
    'exponential': (mpmath.exp, np.exp, (-104, 89), (-746, 710)),
    'exponential-minus-one': (mpmath.expm1, np.expm1, (-20, 89), (-40, 710)),
    'log': (mpmath.log, np.log, (0, 3), (0, 3)),
    'log-plus-one': (mpmath.log1p, np.log1p, (-1, 2), (-1, 2)),
    'logistic': (lambda x: 1 / (1 + mpmath.exp(-x)), lambda x: 1 / (1 + np.exp(-x)), (-104, 20),
                 (-746, 40)),
    'tanh': (mpmath.tanh, np.tanh, (-10, 10), (-20, 20)),
    'sine': (mpmath.sin, np.sin, (-400, 400), (-400, 400)),
    'cosine': (mpmath.cos, np.cos, (-400, 400), (-400, 400)),
    'tan': (mpmath.tan, np.tan, (-400, 400), (-400, 400)),
    'sqrt': (mpmath.sqrt, np.sqrt, (0, 4), (0, 4)),
    'rsqrt': (lambda x: 1 / mpmath.sqrt(x), lambda x: 1 / np.sqrt(x), (0, 4), (0, 4)),
    'cbrt': (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), np.cbrt, (-9, 9), (-9, 9)),
    'erf': (mpmath.erf, math.erf, (-4, 4), (-6, 6)),
    'asin': (mpmath.asin, np.arcsin, (-1, 1), (-1, 1)),
    'acos': (mpmath.acos, np.arccos, (-1, 1), (-1, 1)),
    'sinh': (mpmath.sinh, np.sinh, (-90, 90), (-711, 711)),
    'cosh': (mpmath.cosh, np.cosh, (-90, 90), (-711, 711)),
    'asinh': (mpmath.asinh, np.arcsinh, (-9, 9), (-9, 9)),
    'acosh': (mpmath.acosh, np.arccosh, (1, 4), (1, 4)),
    'atanh': (mpmath.atanh, np.arctanh, (-1, 1), (-1, 1)),
}
BINARY = {'atan2': (mpmath.atan2, np.arctan2), 'power': (mpmath.power, c_pow)}


class Format:
  """How a type's numbers lie."""

  def __init__(self, dtype, precision, least):
    self.dtype, self.precision, self.least = dtype, precision, least
    self.largest = mpmath.mpf(float(np.finfo(dtype).max))
    self.bits = np.dtype(f'u{np.dtype(dtype).itemsize}')

  def ulp(self, exact):
    exponent = max(mpmath.frexp(exact)[1] - 1, self.least)
    return mpmath.ldexp(1, exponent - self.precision + 1)

  def rounded(self, exact):
    """The nearest value, ties to even, and the distance to it in 1/254 ulp."""
    if exact == 0:
      return 0.0, 0
    ulp = self.ulp(exact)
    whole = mpmath.nint(exact / ulp)
    if abs(whole * ulp) > self.largest:
      return math.copysign(INF, exact), 0
    return float(whole * ulp), int(round(float((exact / ulp - whole) * 254)))


FORMATS = {'f32': Format(np.float32, 24, -126), 'f64': Format(np.float64, 53, -1022)}


def special(format_):
  info = np.finfo(format_.dtype)
  values = [0, INF, math.nan, info.smallest_subnormal, info.smallest_normal, info.max, 1, 0.5, 2,
            1 + info.eps, 1 - info.eps / 2, math.pi / 2, math.pi, 3, 1e-3, info.eps]
  values = np.array(values, format_.dtype)
  return np.concatenate([values, -values])


def near_quarter_turns(format_, count, rng):
  """Where sine, cosine and tangent are hardest: next to multiples of pi/2, up to the largest."""
  exponents = rng.uniform(0, float(mpmath.log(format_.largest, 2)) - 2, count)
  turns = [mpmath.nint(mpmath.power(2, e) / (mpmath.pi / 2)) for e in exponents]
  with mpmath.workprec(1400):
    return np.array([float(t * mpmath.pi / 2) for t in turns], np.float64).astype(format_.dtype)


def operands_of(name, format_, low, high, count, rng):
  """Special ones; a third of any bits; the others in the range, half of them towards zero."""
  first = special(format_)
  any_bits = rng.integers(0, 1 << 63, count // 3, np.uint64) << np.uint64(1)
  shift = np.uint64(64 - 8 * format_.bits.itemsize)
  wild = (any_bits >> shift).astype(format_.bits).view(format_.dtype)
  rest = count - len(first) - len(wild)
  even = rng.uniform(low, high, rest - rest // 2)
  towards = rng.uniform(low, high, rest // 2) * 2.0**rng.uniform(-24, 0, rest // 2)
  if name in ('asin', 'acos', 'atanh', 'acosh', 'log'):
    towards = 1 + (-1 if name != 'acosh' else 1) * 2.0**rng.uniform(-24, 0, rest // 2)
  if name in ('sine', 'cosine', 'tan'):
    towards = near_quarter_turns(format_, rest // 2, rng)
  return np.concatenate([first, wild, even.astype(format_.dtype), towards.astype(format_.dtype)])


def pairs_of(name, format_, count, rng):
  info = np.finfo(format_.dtype)
  edge = np.array([0, -0.0, 1, -1, 2, -3, 0.5, INF, -INF, math.nan, 1e30], format_.dtype)
  x, y = np.repeat(edge, len(edge)), np.tile(edge, len(edge))
  rest = count - len(x)
  if name == 'atan2':
    more = [rng.standard_normal(rest) * 10.0**rng.uniform(-12, 12, rest) for _ in range(2)]
  else:  # results over the whole range
    base = np.exp2(rng.uniform(-1, 1, rest) * 2.0**rng.uniform(-20, 6, rest))
    goal = rng.uniform(math.log2(float(info.smallest_normal)), math.log2(float(info.max)), rest)
    base = base.astype(format_.dtype).astype(np.float64)
    more = [base, np.clip(goal / np.log2(base), -1e30, 1e30)]
  return np.concatenate([x, more[0].astype(format_.dtype)]), np.concatenate(
      [y, more[1].astype(format_.dtype)])


def true_result(function, plain, values, format_):
  if not all(math.isfinite(v) and v != 0 for v in values):
    with np.errstate(all='ignore'):
      return float(plain(*values)), 0
  try:
    exact = function(*[mpmath.mpf(v) for v in values])
  except (ValueError, ZeroDivisionError):
    exact = None
  if isinstance(exact, mpmath.mpf) and mpmath.isfinite(exact):
    return format_.rounded(exact)
  with np.errstate(all='ignore'):  # outside of the domain, or a pole
    return float(plain(*values)), 0


def table(type_, count):
  format_ = FORMATS[type_]
  rows, data = [], []
  for name in [*UNARY, *BINARY]:
    rng = np.random.default_rng(len(name) * 1000 + count)
    if name in UNARY:
      function, plain, *ranges = UNARY[name]
      low, high = ranges[0 if type_ == 'f32' else 1]
      operands = [operands_of(name, format_, low, high, count, rng)]
    else:
      function, plain = BINARY[name]
      operands = pairs_of(name, format_, count, rng)
    with np.errstate(invalid='ignore'):  # signalling NaN
      points = zip(*[x.astype(np.float64).tolist() for x in operands])
    results, distances = zip(*[true_result(function, plain, v, format_) for v in points])
    rows.append({'name': name, 'arity': len(operands), 'count': len(results)})
    with np.errstate(over='ignore'):
      data += [*operands, np.array(results, format_.dtype), np.array(distances, np.int8)]
    print(type_, name, len(results), flush=True)
  return json.dumps(rows).encode() + b'\n' + b''.join(x.tobytes() for x in data)


def main(folder, count):
  os.makedirs(folder, exist_ok=True)
  for type_ in FORMATS:
    with open(os.path.join(folder, f'{type_}.bin'), 'wb') as out:
      out.write(table(type_, count))


if __name__ == '__main__':
  main(sys.argv[1], int(sys.argv[2]))
