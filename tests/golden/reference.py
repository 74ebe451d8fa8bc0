"""How far XLA:CPU's own result is from the truth, so that a tolerance can be stated, not guessed."""

import math

import ml_dtypes
import mpmath
import numpy as np

from harness import type_of

mpmath.mp.prec = 160

ROUND_OFF = {'f16': (11, -14), 'bf16': (8, -126), 'f32': (24, -126), 'f64': (53, -1022)}

# What an implementation of ours may add to XLA's own error, in units in the last place. The narrow
# types are computed in f32 and rounded once, so both sides are within one of each other.
OURS = {'f16': 1, 'bf16': 1, 'f32': 4, 'f64': 4}


def logistic(x):
  return 1 / (1 + mpmath.exp(-x))


def signed_cbrt(x):
  return -mpmath.cbrt(-x) if x < 0 else mpmath.cbrt(x)


FUNCTIONS = {
    'exponential': mpmath.exp, 'exponential-minus-one': mpmath.expm1, 'log': mpmath.log,
    'log-plus-one': mpmath.log1p, 'logistic': logistic, 'tanh': mpmath.tanh, 'tan': mpmath.tan,
    'sine': mpmath.sin, 'cosine': mpmath.cos, 'cbrt': signed_cbrt,
    'rsqrt': lambda x: 1 / mpmath.sqrt(x), 'sqrt': mpmath.sqrt, 'erf': mpmath.erf,
    'power': mpmath.power, 'atan2': mpmath.atan2, 'erf-inv': mpmath.erfinv,
    'acos': mpmath.acos, 'acosh': mpmath.acosh, 'asin': mpmath.asin, 'asinh': mpmath.asinh,
    'atanh': mpmath.atanh, 'cosh': mpmath.cosh, 'sinh': mpmath.sinh, 'atan': mpmath.atan,
    'lgamma': mpmath.loggamma, 'digamma': mpmath.digamma,
}


def ulp(exact, type_):
  """The spacing of type_'s values around a real number."""
  precision, least = ROUND_OFF[type_]
  exponent = max(mpmath.frexp(exact)[1] - 1, least)
  return mpmath.ldexp(1, exponent - precision + 1)


def errors(function, operands, result):
  """(error in ulp, operand values) for each element whose true value is an ordinary number."""
  type_ = type_of(result)
  largest = float(ml_dtypes.finfo(result.dtype).max)
  least = mpmath.ldexp(1, ROUND_OFF[type_][1])
  flat = [np.asarray(x).reshape(-1).tolist() for x in operands]
  for values, got in zip(zip(*flat), result.reshape(-1).tolist()):
    if not all(math.isfinite(v) for v in values):
      continue
    try:
      exact = FUNCTIONS[function](*[mpmath.mpf(v) for v in values])
      if function == 'atan2' and values[0] == 0:  # mpmath has no -0
        exact = mpmath.pi * math.copysign(math.copysign(1, values[1]) < 0, values[0])
    except (ValueError, ZeroDivisionError):
      continue
    if not isinstance(exact, mpmath.mpf) or not mpmath.isfinite(exact) or exact == 0:
      continue
    if abs(exact) < mpmath.ldexp(least, -1 - ROUND_OFF[type_][0]):
      continue
    if abs(exact) < least and got == 0:
      raise ValueError(f'{function}{values}: {mpmath.nstr(exact)} is denormal; XLA:CPU flushes it')
    if abs(exact) >= mpmath.mpf(largest) * (1 + 1e-9):
      continue
    error = abs(mpmath.mpf(got) - exact) / ulp(exact, type_) if math.isfinite(got) else math.inf
    yield error, values


def tolerance(function, operands, results, floor):
  """The text after `tol` for an element-wise function: XLA's own worst error and ours."""
  result = results[0]
  type_ = type_of(result)
  worst, where = max(errors(function, operands, result), default=(0, None))
  if worst > 4:
    print(f'  note: XLA:CPU {function} {type_}{where} is off by {float(worst):.3g} ulp')
  if worst > 1e6:
    raise ValueError(f'{function}{where}: XLA:CPU is off by {float(worst):.3g} ulp')
  own = worst - 0.5 if type_ in ('f16', 'bf16') else worst
  return f'ulp {OURS[type_] + max(0, math.ceil(own - 0.01))}'
