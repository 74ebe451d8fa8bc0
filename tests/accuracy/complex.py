"""Points of complex functions with their results by mpmath: python complex.py FILE [POINTS].

FILE is a line of JSON, [{"type", "function", "operands", "points"}, ...], and then for each of these
in turn, as little-endian doubles, for each point: the operands' parts, the result's parts."""

import json
import sys

import mpmath
import numpy as np

mpmath.mp.prec = 400
FUNCTIONS = {
    'exponential': mpmath.exp, 'log': mpmath.log, 'sqrt': mpmath.sqrt, 'tanh': mpmath.tanh,
    'sine': mpmath.sin, 'cosine': mpmath.cos, 'power': mpmath.power, 'tan': mpmath.tan,
    'exponential-minus-one': mpmath.expm1, 'log-plus-one': lambda z: mpmath.log(1 + z),
    'rsqrt': lambda z: 1 / mpmath.sqrt(z), 'logistic': lambda z: 1 / (1 + mpmath.exp(-z)),
    'sinh': mpmath.sinh, 'cosh': mpmath.cosh, 'asin': mpmath.asin, 'acos': mpmath.acos,
    'asinh': mpmath.asinh, 'acosh': mpmath.acosh, 'atanh': mpmath.atanh,
    'divide': mpmath.fdiv,
}
BINARY = ('power', 'divide')
LARGEST = {'c64': 60, 'c128': 500}  # whose exponential is a number of the type


def parts(r, dtype, count, name, largest):
  """Parts of every size: near 1, tiny, and where the function still has finite results."""
  ordinary = r.normal(size=count) * 2
  scaled = r.normal(size=count) * 2.0 ** r.integers(-20, 5, count)
  wide = r.uniform(-largest, largest, count)
  x = np.choose(r.integers(0, 3, count), [ordinary, scaled, wide])
  if name in ('log', 'sqrt'):
    x = x * 2.0 ** r.integers(-60, 60, count)
  if name == 'log':  # near 1 in modulus the result is small
    x = np.where(r.random(count) < 0.3, np.round(x * 0 + r.normal(size=count), 2), x)
  if name == 'power':
    x = ordinary * 2.0 ** r.integers(-4, 6, count)
  return x.astype(dtype).astype(np.float64) + 0.0  # mpmath knows no -0


def main(file, points):
  header, data = [], []
  for type_, dtype in (('c64', np.float32), ('c128', np.float64)):
    for name, f in FUNCTIONS.items():
      operands = 2 if name in BINARY else 1
      r = np.random.default_rng([points, len(header)])
      columns = [parts(r, dtype, points, name, LARGEST[type_]) for _ in range(2 * operands)]
      rows = []
      for row in zip(*columns):
        arguments = [mpmath.mpc(*row[i:i + 2]) for i in range(0, len(row), 2)]
        result = f(*arguments)
        rows.append([*row, float(result.real), float(result.imag)])
      header.append({'type': type_, 'function': name, 'operands': operands, 'points': points})
      data.append(np.array(rows, '<f8').tobytes())
  with open(file, 'wb') as out:
    out.write(json.dumps(header).encode() + b'\n' + b''.join(data))


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 150)
