"""Functions for which JAX has rules of its own, and of which an exported program has only the formulas: selects whose
other branch has an infinite slope, and formulas with |x| or sign(x) of functions that are smooth. The points are where
formulas have kinks, poles or ties."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

SPECIAL = []
S = jax.scipy.special
N = jax.scipy.stats

ALL = [0.0, 1e-20, -1e-20, 1e-3, -1e-3, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.5, -3.5, 7.75, -7.75, 8.0, 20.5, -20.5]
POSITIVE = [1e-2, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 10.0, 50.0]
INSIDE = [-0.99, -0.7, -0.5, -1e-3, -1e-20, 0.0, 1e-20, 1e-3, 0.5, 0.7, 0.99]
UNIT = [1e-3, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999]


def exported(function):
  """Writes the program as jax.export does, which has no operation of CHLO; without places in the source."""

  def written(*leaves):
    program = export.export(jax.jit(function, keep_unused=True))(*leaves).mlir_module()
    return re.sub(r'^#loc.*\n| loc\((#loc\d*|unknown|"[^"]*"(\(#loc\d*\))?)\)', '', program, flags=re.MULTILINE)

  return written


# Of these, generate.py writes third derivatives, too.
THIRD = [f'special {name} float64' for name in '''softplus log-sigmoid mish asinh logaddexp i0e-at-0 erfc erf ndtr gammaln digamma
  xlogy acosh gamma-logpdf-by-a erf-inv atanh asin ndtri logit gelu-exact beta-prior complex-tanh'''.split()]


def case(name, function, *points, types=(np.float32, np.float64)):
  for dtype in types:
    arguments = [np.asarray(p, dtype) for p in points]
    SPECIAL.append((f'special {name} {np.dtype(dtype).name}', function, arguments, None, exported))


def ties(a):
  """All pairs of some numbers, equal ones too."""
  a = np.asarray(a)
  return np.repeat(a, len(a)), np.tile(a, len(a))


# ---- Smooth, with kinks in their formulas ----

for name, function in {
  'softplus': jax.nn.softplus,
  'log-sigmoid': jax.nn.log_sigmoid,
  'mish': jax.nn.mish,
  'squareplus': jax.nn.squareplus,
  'asinh': jnp.arcsinh,
  'i1e': S.i1e,
  'i1': lambda x: S.i1(x / 4),
  'log-cosh': lambda x: jnp.logaddexp(x, -x),
  'sech-logpdf': lambda x: N.logistic.logpdf(x),
  'cbrt-of-square': lambda x: jnp.cbrt(x * x + 1),
}.items():
  case(name, function, ALL)
case('logaddexp', jnp.logaddexp, *ties([-1.0, 0.0, 0.5, 3.0]))
case('logaddexp2', jnp.logaddexp2, *ties([-1.0, 0.0, 0.5, 3.0]))
case('logaddexp-reversed', lambda a, b: jnp.logaddexp(b, a), *ties([-1.0, 0.0, 0.5, 3.0]))
case('logaddexp-spread', lambda a, b: jnp.logaddexp(a[:, None], b[None, :]), [0.0, 1.0, 2.0], [2.0, 0.0])
case('logaddexp-scalar', lambda a, b: jnp.logaddexp(a, b) * jnp.logaddexp(b, a), [0.0, 1.0, 2.0], 1.0)


def cross_entropy(logits, labels):
  """Optax's sigmoid_binary_cross_entropy."""
  log_p, log_not_p = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
  return -labels * log_p - (1.0 - labels) * log_not_p


case('cross-entropy', cross_entropy, ALL, np.arange(len(ALL)) % 2)
case('cross-entropy-of-zeros', lambda w, x: cross_entropy(x @ w, jnp.ones(3, x.dtype)).mean(), [0.0, 0.0], np.ones((3, 2)))

# ---- Selects of a shorter form where a part of a complex number is 0 ----

AXES = [0, 1, -1, 1j, -1j, 0.5j, 1 + 1j, -2 + 0.3j]
for name in ['exp', 'sin', 'cos', 'tan', 'sinh', 'cosh', 'tanh', 'expm1', 'sinc', 'square']:
  case(f'complex-{name}', getattr(jnp, name), AXES, types=(np.complex64, np.complex128))
DIAGONALS = [1 + 1j, -1 + 1j, 2 - 2j, -3 - 3j, 1 + 2j, -2]
for name in ['sqrt', 'log', 'log1p', 'arcsin', 'arctanh']:
  case(f'complex-{name}-on-diagonals', getattr(jnp, name), DIAGONALS, types=(np.complex64, np.complex128))
# Sums of these and 1, or of the root's operand, are on diagonals.
for name in ['sqrt', 'log', 'log2', 'log10', 'arcsin', 'arccos', 'arcsinh']:
  points = [0.5, 0.5j, 1j if name != 'arcsinh' else 2j, -1j if name != 'arcsinh' else 1 + 2j, 1 + 1j, -3 + 3j, 3 + 4j]
  case(f'complex-{name}-beside-diagonals', getattr(jnp, name), points, types=(np.complex64, np.complex128))
case('phases', lambda x: jnp.exp(1j * x), [0.0, 0.5, -2.0])

# ---- Selects, whose other branch has a pole ----

for name, function in {'erfc': S.erfc, 'erf': S.erf, 'i0e': S.i0e, 'log-ndtr': S.log_ndtr, 'ndtr': S.ndtr}.items():
  case(name, function, [x for x in ALL if abs(x) < 20])
case('i0e-at-0', S.i0e, [0.0, 0.5, -2.0, 7.75, 8.0, -20.5])  # JAX's third derivative beside 0 is 3/5 of the function's
for name, function in {
  'gammaln': S.gammaln,
  'digamma': S.digamma,
  'polygamma': lambda x: S.polygamma(1, x),
  'zeta': lambda x: S.zeta(x + 1.1, 1.0) * x,
  'factorial': lambda x: S.factorial(x),
  'entr': S.entr,
  'betaln': lambda x: S.betaln(x, 2.0),
  'xlogy': lambda x: S.xlogy(x, x),
  'acosh': lambda x: jnp.arccosh(x + 1),
  'gamma-logpdf': lambda x: N.gamma.logpdf(x, 1.0),
  'gamma-logpdf-by-a': lambda a: N.gamma.logpdf(0.7, a),
  'beta-logpdf': lambda a: N.beta.logpdf(0.3, a, 2.0),
  't-logpdf': lambda df: N.t.logpdf(0.3, df),
  'poisson-logpmf': lambda mu: N.poisson.logpmf(3, mu),
  'dirichlet-logpdf': lambda a: N.dirichlet.logpdf(jnp.array([0.2, 0.5, 0.3], a.dtype), a[:3]),
}.items():
  if name not in ('zeta', 'factorial'):
    case(name, function, POSITIVE)
for name, function in {'erf-inv': S.erfinv, 'atanh': jnp.arctanh, 'asin': jnp.arcsin, 'acos': jnp.arccos}.items():
  case(name, function, INSIDE)
for name, function in {'ndtri': S.ndtri, 'logit': S.logit, 'logistic-ppf': N.logistic.ppf}.items():
  case(name, function, UNIT)
case('logit-at-1', S.logit, [0.0, 1.0])
case('norm-ppf', N.norm.ppf, UNIT, types=(np.float64,))

# ---- Functions whose names an export keeps, at their poles and beyond ----

for name in ['arcsin', 'arccos', 'arctanh']:
  case(f'{name}-beyond', getattr(jnp, name), [1.0, -1.0, 2.0, -2.0])
case('arccosh-at-1', jnp.arccosh, [1.0, 2.0])
case('sinh-and-cosh', lambda x: jnp.sinh(x) * jnp.cosh(x), ALL)
case('gelu-exact', lambda x: jax.nn.gelu(x, approximate=False), ALL)

case('sinc', jnp.sinc, [0.0, 0.1, -0.5, 1.0, 2.5])
case('sinc-near-0', jnp.sinc, [0.05, -0.05, 0.09, 0.1], types=(np.float64,))
case('xlogy-at-0', S.xlogy, [0.0, 0.0, 1.0, 2.0], [0.5, 2.0, 1.0, 3.0])
case('xlog1py-at-0', S.xlog1py, [0.0, 0.0, 1.0, 2.0], [0.5, 2.0, 1.0, 3.0])

# ---- Bits ----

case('frexp', lambda x: jnp.frexp(x)[0] * x, [0.7, -3.0, 1e-20, 100.0])
case('frexp-of-0', lambda x: jnp.frexp(x)[0], [0.0, -0.0, 2.0])
case('ldexp', lambda x: jnp.ldexp(x, jnp.array([0, 3, -2, 5])), [0.7, -3.0, 0.0, 100.0])
SPECIAL.append(('special frexp bfloat16', lambda x: jnp.frexp(x)[0] * x, [jnp.array([0.75, -3.0, 96.0], jnp.bfloat16)], None, exported))
case('bits-of-mantissa', lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, f'int{8 * x.dtype.itemsize}') & -8, x.dtype) * x, [0.7, -3.0])

# ---- Integer powers ----

case('powers', lambda x: x[:, None] ** jnp.arange(4), [0.0, -0.0, 1.0, -1.5, 2.0])
case('powers-by-integers', lambda x: x ** jnp.array([0, 0, 1, 2, -1]), [0.0, 2.0, 0.0, 0.0, 3.0])

case('complex-powers', lambda x: x[:, None] ** jnp.arange(4), [0, 1, -1, 1j, -2 + 0.3j], types=(np.complex64, np.complex128))
for n in [2, 3, 4]:
  case(f'power-of-minus-{n}', lambda x, n=n: x**-n, [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf])

case('cbrt-of-infinities', jnp.cbrt, [np.inf, -np.inf, 8.0, -1.0])

# ---- Matrices of lower rank ----

for dtype in (np.float64, np.complex128):
  for shape, a in {'': np.ones((2, 2)), '-tall': np.outer([1, 2, 3], [1, 1]), '-wide': np.outer([1, 1], [1, 2, 3])}.items():
    name = f'special norm-of-rank-1{shape} {np.dtype(dtype).name}'
    SPECIAL.append((name, lambda a: jnp.linalg.norm(a, 2), [a.astype(dtype)], None, exported))

# ---- Narrow floats ----

case('log1mexp', jax.nn.log1mexp, [1e-3, 0.25, 0.75, 1.0, 3.0, -1.0, -100.0], types=(np.float16, jnp.bfloat16))

# ---- Infinite cotangents of constants ----

case('logsumexp-of-infinity', jax.nn.logsumexp, [np.inf, 0.0, 2.0])
for name in ['logaddexp', 'logaddexp2']:
  case(f'{name}-of-infinities', getattr(jnp, name), [np.inf, -np.inf, 0, np.nan, 1, -np.inf], [np.inf, 0, -np.inf, 1, np.nan, np.inf])
case('expon-logcdf', N.expon.logcdf, [0.0, 0.5, -1.0, 2.0])
case('log-of-masked', lambda x: jnp.log(jnp.where(x > 0, 1 / (1 + x), 0)), [0.0, 0.5, -0.5, 2.0, -3.0])

# ---- The same in programs ----

case('bernoulli', lambda p, y: N.bernoulli.logpmf(y, p).sum(), UNIT, np.arange(len(UNIT)) % 2)
case('safe-entropy', lambda p: -jnp.where(p == 0, 0, p * (jnp.log(jnp.where(p == 0, 1, p)) + 2)), [0.0, 0.25, 0.75])
case('beta-prior', lambda a, b, x: N.beta.logpdf(x, a, b).sum(), 1.0, 1.0, UNIT)
case('probit-loss', lambda w, x: -S.log_ndtr(x @ w).sum(), [0.0, 0.0], [[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])
case('reparametrised', lambda m, s, u: (m + s * S.ndtri(u)).sum(), 0.5, 2.0, UNIT[2:])
case('negative-binomial', lambda r, p: N.nbinom.logpmf(jnp.arange(5), r, p).sum(), 1.0, 0.5)
case('in-a-loop', lambda x: jax.lax.scan(lambda c, y: (c + S.gammaln(c + y) * 1e-2, S.erfinv(y / 20)), x, jnp.arange(1.0, 6.0, dtype=x.dtype)), 1.0)
case('second', jax.grad(lambda x: jnp.logaddexp(x, 0 * x).sum() + S.gammaln(x + 3).sum()), [0.0, 1.0, -1.0])
