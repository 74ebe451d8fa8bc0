"""Element-wise operations: unary, binary, compare, select, clamp, over edge values."""

import numpy as np

from corpus import family
from harness import COMPLEX, DTYPES, F8S, FLOATS, INTS, SIGNED, shape_of
from values import any_bits, edges, normals, pairs, rng, small_ints, without_denormals

ARITHMETIC = ['add', 'subtract', 'multiply', 'maximum', 'minimum']
LOGICAL = ['and', 'or', 'xor']
SHIFTS = ['shift-left', 'shift-right-arithmetic', 'shift-right-logical']
DIRECTIONS = ['EQ', 'NE', 'LT', 'LE', 'GT', 'GE']

# Where each transcendental function is defined, with the ends of the range of f32. Denormal
# operands and results are left out: XLA:CPU flushes them to zero, WebAssembly cannot.
NARROW = {'f16': 1 / 9, 'bf16': 1, 'f32': 1, 'f64': 8}
ORDINARY = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.1, 2.0, -3.0, 7.5, np.nan, np.inf, -np.inf]
POSITIVE = [0.0, -0.0, 1.0, 0.5, 2.0, 1e-3, 1e4, 3.0, -1.0, np.nan, np.inf, -np.inf]
NEAR_ZERO = [1e-3, -1e-3, 2.5e-4, 0.75, -0.75]
RANGES = {
    'exponential': ('scaled', [-80.0, 80.0, 88.0, 100.0, -300.0]),
    'exponential-minus-one': ('near', [-80.0, 80.0, 100.0, -30.0]),
    'log': ('positive', [0.99, 1.01, 1000.0]),
    'log-plus-one': ('near', [-0.999, 1000.0, -2.0]),
    'logistic': ('scaled', [-80.0, 80.0, 100.0, -300.0]),
    'tanh': ('near', [-20.0, 20.0, 9.0, -9.0]),
    'sine': ('near', [100.0, -1000.0, 3.1415927]),
    'cosine': ('near', [100.0, -1000.0, 1.5707964]),
    'tan': ('near', [100.0, -1.5, 1.5707964]),
    'cbrt': ('near', [27.0, -1000.0]),
    'rsqrt': ('positive', [0.25, 1e3]),
    'erf': ('near', [-4.5, 3.0, 10.0]),
}


def transcendental_inputs(opcode, type_):
  kind, more = RANGES[opcode]
  values = list(POSITIVE if kind == 'positive' else ORDINARY)
  values += NEAR_ZERO if kind == 'near' else []
  values += [v * NARROW[type_] if kind == 'scaled' else v for v in more]
  spread = rng(opcode, type_).uniform(-6, 6, 32)
  values += list(np.exp(spread) if kind == 'positive' else spread)
  return np.array(values).astype(DTYPES[type_])


def float_unary(f, type_):
  x = edges(type_)
  halves = np.array([0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997, 1e4, -1e4, 4.5,
                     8388609.0 if type_ != 'f16' else 1025.0]).astype(DTYPES[type_])
  both = np.concatenate([x, halves])
  for opcode in ('abs', 'negate', 'sign', 'floor', 'ceil', 'round-nearest-afz',
                 'round-nearest-even'):
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(both)} {opcode}(p0)', both)
  f.hlo(f'is-finite.{type_}', None, f'r = pred[{len(x)}] is-finite(p0)', x)
  roots = np.abs(np.concatenate([x, np.arange(2, 18).astype(DTYPES[type_])]))
  roots = np.concatenate([roots, np.array([-1.0, -0.0, -np.inf]).astype(DTYPES[type_])])
  f.hlo(f'sqrt.{type_}', None, f'r = {shape_of(roots)} sqrt(p0)', roots)
  for opcode in RANGES:
    x = transcendental_inputs(opcode, type_)
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(x)} {opcode}(p0)', x, function=opcode)


def float_binary(f, type_):
  for opcode in ARITHMETIC + ['divide', 'remainder']:
    a, b = without_denormals(opcode, *pairs(type_))
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(a)} {opcode}(p0, p1)', a, b)
  x = any_bits(type_, (7, 9), 'x')
  y = any_bits(type_, (7, 9), 'y')
  for opcode in ARITHMETIC + ['divide', 'remainder']:
    f.hlo(f'{opcode}.{type_}.random', None, f'r = {type_}[7,9] {opcode}(p0, p1)', x, y)
  values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 2.5, -1.5, 10.0, np.nan, np.inf,
                     -np.inf]).astype(DTYPES[type_])
  n = len(values)
  a, b = np.repeat(values, n), np.tile(values, n)
  for opcode in ('power', 'atan2'):
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(a)} {opcode}(p0, p1)', a, b, function=opcode)
  x, y = np.abs(normals(type_, 40, 'base')), normals(type_, 40, 'exponent', scale=2)
  f.hlo(f'power.{type_}.random', None, f'r = {type_}[40] power(p0, p1)', x, y, function='power')
  x = normals(type_, 40, 'ordinate')
  f.hlo(f'atan2.{type_}.random', None, f'r = {type_}[40] atan2(p0, p1)', x, y, function='atan2')


def integer_ops(f, type_):
  x = edges(type_)
  shape = shape_of(x)
  for opcode in ('negate', 'not', 'popcnt', 'count-leading-zeros', 'abs', 'sign'):
    if opcode in ('abs', 'sign') and type_ not in SIGNED:
      continue
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape} {opcode}(p0)', x)
  a, b = pairs(type_)
  for opcode in ARITHMETIC + ['divide', 'remainder', 'power'] + LOGICAL:
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(a)} {opcode}(p0, p1)', a, b)
  bits = np.dtype(DTYPES[type_]).itemsize * 8 if type_ not in ('s4', 'u4') else 4
  amounts = [0, 1, bits - 1, bits, bits + 1, 2 * bits, 2**62]
  top = 2**(bits - (type_[0] == 's')) - 1
  amounts = [min(v, top) for v in amounts] + ([-1] if type_[0] == 's' else [top])
  amounts = np.array(amounts, np.int64 if type_[0] == 's' else np.uint64).astype(DTYPES[type_])
  a, b = np.repeat(x, len(amounts)), np.tile(amounts, len(x))
  for opcode in SHIFTS:
    f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(a)} {opcode}(p0, p1)', a, b)


def predicate_ops(f):
  a, b = pairs('pred')
  f.hlo('not.pred', None, 'r = pred[4] not(p0)', a)
  for opcode in LOGICAL + ['maximum', 'minimum', 'add', 'multiply']:
    f.hlo(f'{opcode}.pred', None, f'r = pred[4] {opcode}(p0, p1)', a, b, check=False)


def compares(f, type_):
  a, b = pairs(type_)
  directions = DIRECTIONS[:2] if type_ in COMPLEX else DIRECTIONS
  for direction in directions:
    f.hlo(f'compare.{type_}.{direction}', None,
          f'r = pred[{len(a)}] compare(p0, p1), direction={direction}', a, b)


def total_order(f, type_):
  e = np.append(edges(type_)[-16:], np.copysign(np.nan, -1)).astype(DTYPES[type_])
  a, b = np.repeat(e, len(e)), np.tile(e, len(e))
  for direction in DIRECTIONS:
    f.hlo(f'compare.{type_}.{direction}.total', None,
          f'r = pred[{len(a)}] compare(p0, p1), direction={direction}, type=TOTALORDER', a, b)


def select_and_clamp(f, type_):
  x, y = any_bits(type_, (4, 5), 'on'), any_bits(type_, (4, 5), 'off')
  mask = rng('mask').integers(0, 2, (4, 5)).astype(np.bool_)
  f.hlo(f'select.{type_}', None, f'r = {type_}[4,5] select(p0, p1, p2)', mask, x, y)
  f.hlo(f'select.{type_}.scalar', None, f'r = {type_}[] select(p0, p1, p2)', np.bool_(True),
        x[0, 0], y[0, 0])
  if type_ in COMPLEX or type_ == 'pred':
    return
  e = edges(type_)
  low, x, high = (np.take(e, rng('clamp', type_, i).integers(0, len(e), 96)) for i in range(3))
  f.hlo(f'clamp.{type_}', None, f'r = {shape_of(x)} clamp(p0, p1, p2)', low, x, high)
  f.hlo(f'clamp.{type_}.scalar', None, f'r = {shape_of(x)} clamp(p0, p1, p2)', e[2], x, e[-1],
        check=False)


@family
def elementwise(f):
  """The first stage's types: f32, s32, u32, pred."""
  for type_ in ('s32', 'u32'):
    integer_ops(f, type_)
  predicate_ops(f)
  float_unary(f, 'f32')
  float_binary(f, 'f32')
  for type_ in ('f32', 's32', 'u32', 'pred'):
    compares(f, type_)
    select_and_clamp(f, type_)


@family
def integer_types(f):
  for type_ in INTS:
    if type_ not in ('s32', 'u32'):
      integer_ops(f, type_)
      compares(f, type_)
      select_and_clamp(f, type_)


@family
def float_types(f):
  for type_ in FLOATS:
    if type_ != 'f32':
      float_unary(f, type_)
      float_binary(f, type_)
      compares(f, type_)
      select_and_clamp(f, type_)
    total_order(f, type_)


@family
def float8_types(f):
  for type_ in F8S:
    x = edges(type_)
    for opcode in ('abs', 'negate', 'sign', 'floor', 'ceil', 'round-nearest-afz',
                   'round-nearest-even', 'sqrt'):
      f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(x)} {opcode}(p0)', x)
    f.hlo(f'is-finite.{type_}', None, f'r = pred[{len(x)}] is-finite(p0)', x)
    a, b = pairs(type_)
    for opcode in ARITHMETIC + ['divide', 'remainder']:
      f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(a)} {opcode}(p0, p1)', a, b)
    compares(f, type_)
    total_order(f, type_)
    select_and_clamp(f, type_)
    for opcode in ('exponential', 'log', 'tanh', 'sine', 'logistic'):
      f.hlo(f'{opcode}.{type_}', None, f'r = {shape_of(x)} {opcode}(p0)', x, tol='ulp 1')


# StableHLO's importer spells some of these out in real arithmetic. cbrt is refused.
COMPLEX_UNARY = ['exponential', 'exponential-minus-one', 'log', 'log-plus-one', 'logistic', 'tanh',
                 'sine', 'cosine', 'tan', 'sqrt', 'rsqrt', 'sign']


@family
def complex_types(f):
  for type_, part in (('c64', 'f32'), ('c128', 'f64')):
    epsilon = 2.0**-23 if part == 'f32' else 2.0**-52
    near = f'abs {4 * epsilon:.3g} rel {16 * epsilon:.3g}'
    e = edges(type_)
    x = np.concatenate([e[e != 0], normals(type_, (24,), 'x', scale=2)])
    shape = shape_of(x)
    for opcode in ('real', 'imag'):
      f.hlo(f'{opcode}.{type_}', None, f'r = {part}[{len(e)}] {opcode}(p0)', e)
    f.hlo(f'abs.{type_}', None, f'r = {part}[{len(x)}] abs(p0)', x, tol=f'abs 0 rel {4 * epsilon}')
    f.hlo(f'negate.{type_}', None, f'r = {shape_of(e)} negate(p0)', e)
    a, b = any_bits(part, (12,), 'real'), any_bits(part, (12,), 'imaginary')
    f.hlo(f'complex.{part}', None, f'r = {type_}[12] complex(p0, p1)', a, b)
    # The conjugate has no opcode; this is what exporters write.
    f.hlo(f'conjugate.{type_}', None, f'a = {part}[{len(e)}] real(p0)\n'
          f'b = {part}[{len(e)}] imag(p0)\nc = {part}[{len(e)}] negate(b)\n'
          f'r = {shape_of(e)} complex(a, c)', e)
    for opcode in COMPLEX_UNARY:
      tol = near
      if opcode == 'logistic':  # a quotient near a pole: its error is relative to the modulus
        size = float(np.nanmax(np.abs(1 / (1 + np.exp(-x.astype(np.complex128))))))
        tol = f'abs {4 * epsilon * size:.3g} rel {16 * epsilon:.3g}'
      f.hlo(f'{opcode}.{type_}', None, f'r = {shape} {opcode}(p0)', x, tol=tol, check=False)
    whole = small_ints(type_, (30,), 'a'), small_ints(type_, (30,), 'b')
    for opcode in ('add', 'subtract', 'multiply'):
      f.hlo(f'{opcode}.{type_}', None, f'r = {type_}[30] {opcode}(p0, p1)', *whole)
    y = normals(type_, x.shape, 'y')
    for opcode in ('add', 'subtract', 'multiply', 'divide', 'power', 'atan2'):
      # The parts of a quotient or a power cancel: their error is relative to the modulus, and a
      # power's grows with the logarithm that it is the exponential of.
      size = 1
      if opcode == 'divide':
        size = float(np.nanmax(np.abs(x / y)))
      elif opcode == 'power':
        x, size = x / np.abs(x) * (0.5 + np.abs(np.sin(y.real))), 16
        y = y / (1 + np.abs(y))
      f.hlo(f'{opcode}.{type_}.random', None, f'r = {shape} {opcode}(p0, p1)', x, y,
            tol=f'abs {4 * epsilon * size:.3g} rel {16 * epsilon:.3g}')
    compares(f, type_)
    select_and_clamp(f, type_)
