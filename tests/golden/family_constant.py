"""Operations whose second operand is a constant, which compilers rewrite: powers, remainders, integer division."""

import numpy as np

from corpus import family
from harness import DTYPES, FLOATS, INTS, SIGNED, shape_of
from values import edges, normals, rng

EXPONENTS = [0.5, -0.5, 1.5, -1.5, 2.5, 3.5, -2.5, 2, 3, 4, 5, 7, -1, -2, -3, 0, 0.75]
DIVISORS = [1, -1, 2, 64, -1024, 0.5, 0, 3, 10.5]
ULPS = {'f16': 1, 'bf16': 1, 'f32': 4, 'f64': 4}


def by_constants(f, name, type_, opcode, x, constants, **options):
  """One program: the operand by each constant."""
  shape, lines = shape_of(x), []
  for i, c in enumerate(constants):
    lines.append(f'c{i} = {type_}[] constant({c})\nb{i} = {shape} broadcast(c{i}), dimensions={{}}\n'
                 f'r{i} = {shape} {opcode}(p0, b{i})\n')
  names = [f'r{i}' for i in range(len(constants))]
  f.hlo(name, None, ''.join(lines) + f'r = ({", ".join([shape] * len(names))}) tuple({", ".join(names)})',
        x, **options)


@family
def constant_operands(f):
  for type_ in FLOATS:
    special = [0.0, -0.0, 1.0, -1.0, 0.25, -4.0, np.nan, np.inf, -np.inf]
    ordinary = np.abs(normals(type_, 20, 'base')) + np.asarray(0.01, DTYPES[type_])
    x = np.concatenate([np.array(special).astype(DTYPES[type_]), ordinary, -ordinary[:4]])
    by_constants(f, f'power.{type_}', type_, 'power', x, EXPONENTS, tol=f'ulp {ULPS[type_]}')
    large = x[-8:] * np.asarray(1000, DTYPES[type_])
    by_constants(f, f'remainder.{type_}', type_, 'remainder', np.concatenate([x, large]), DIVISORS)
  for type_ in INTS:
    if type_ in ('s4', 'u4'):
      continue
    info = np.iinfo(DTYPES[type_])
    random = rng('dividend', type_).integers(info.min, info.max, 24, DTYPES[type_], endpoint=True)
    x = np.concatenate([edges(type_), random])
    whole = {0, 1, 2, 3, 5, 6, 7, 10, 12, 25, 64, 100, 125, info.max, info.max - 1, info.max // 2 + 1,
             info.max // 3, 641, 1000, 2**31 + 1, 10**9 + 7, 6700417, 2**53 - 111, 2**62}
    if type_ in SIGNED:
      whole |= {-c for c in whole} | {info.min}
    whole = sorted(c for c in whole if info.min <= c <= info.max)
    for opcode in ('divide', 'remainder'):
      by_constants(f, f'{opcode}.{type_}', type_, opcode, x, whole)
