"""Complex functions at extremes with their slopes, by mpmath: python extremes.py FILE [POINTS].

FILE is as complex.py's; a row is the operand, the result and the slope. Points where one of these may be infinite are left
out, and points of the axes where a function has a branch cut: which side counts there XLA decides."""

import json
import sys

import mpmath as mp
import numpy as np

mp.mp.prec = 3000  # a part of 1e-300 beside 1
LEAST = {'c64': (-126, 127, np.float32), 'c128': (-1022, 1023, np.float64)}
CUT = ('log', 'log-plus-one', 'sqrt', 'rsqrt', 'asin', 'acos', 'asinh', 'acosh', 'atanh')
WHOLE = ('exponential', 'exponential-minus-one', 'sine', 'cosine', 'sinh', 'cosh')  # overflow soon
AROUND = ('sine', 'cosine', 'tan')  # periodic in the real part


def logistic(z):
  return 1 / (1 + mp.exp(-z))


def arc(z):
  return 1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z))


FUNCTIONS = {
    'exponential': (mp.exp, mp.exp), 'exponential-minus-one': (lambda z: mp.exp(z) - 1, mp.exp),
    'log': (mp.log, lambda z: 1 / z), 'log-plus-one': (lambda z: mp.log(1 + z), lambda z: 1 / (1 + z)),
    'sqrt': (mp.sqrt, lambda z: 1 / (2 * mp.sqrt(z))),
    'rsqrt': (lambda z: 1 / mp.sqrt(z), lambda z: -1 / (2 * z * mp.sqrt(z))),
    'sine': (mp.sin, mp.cos), 'cosine': (mp.cos, lambda z: -mp.sin(z)), 'tan': (mp.tan, lambda z: mp.cos(z) ** -2),
    'sinh': (mp.sinh, mp.cosh), 'cosh': (mp.cosh, mp.sinh), 'tanh': (mp.tanh, lambda z: mp.cosh(z) ** -2),
    'asin': (mp.asin, arc), 'acos': (mp.acos, lambda z: -arc(z)), 'asinh': (mp.asinh, lambda z: arc(mp.j * z)),
    'acosh': (mp.acosh, lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1))),
    'atanh': (mp.atanh, lambda z: 1 / ((1 - z) * (1 + z))),
    'logistic': (logistic, lambda z: logistic(z) * logistic(-z)),
}


def sizes(least, most, dtype):
  """Numbers around 1, powers that the functions overflow at, and the ends of the range."""
  exponents = [least, least // 2, least // 6, -20, -3, 0, 3, 6, most // 6, most // 2, most // 2 + 1, most - 1]
  scaled = [m * 2.0 ** e for e in exponents for m in (1.0, 1.3)]
  scaled += [0.0, 0.5, np.nextafter(dtype(1), dtype(2)), np.nextafter(dtype(1), dtype(0)), 83.0, 104.0, 700.0]
  return [float(dtype(x)) for x in scaled]


def row(name, x, y, largest):
  f, slope = FUNCTIONS[name]
  along = abs(y if name in AROUND else x)
  if name in CUT and 0 in (x, y) or name in WHOLE and along > 800 or along > 1e4 and name in ('tan', 'tanh', 'logistic'):
    return None
  try:
    found = [f(mp.mpc(x, y)), slope(mp.mpc(x, y))]
  except ZeroDivisionError:
    return None
  numbers = [x, y, *(float(part) for z in found for part in (z.real, z.imag))]
  return numbers if max(map(abs, numbers[2:])) < largest else None


def main(file, points):
  header, data = [], []
  for type_, (least, most, dtype) in LEAST.items():
    values = sizes(least, most, dtype)
    for name in FUNCTIONS:
      r = np.random.default_rng([points, len(header)])
      rows = []
      while len(rows) < points:
        x, y = r.choice(values, 2) * r.choice([-1.0, 1.0], 2) + 0.0
        rows += filter(None, [row(name, float(x), float(y), 2.0 ** (most - 3))])
      header.append({'type': type_, 'function': name, 'operands': 1, 'points': points, 'slopes': True})
      data.append(np.array(rows, '<f8').tobytes())
  with open(file, 'wb') as out:
    out.write(json.dumps(header).encode() + b'\n' + b''.join(data))


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40)
