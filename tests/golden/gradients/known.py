"""Writes known.json.gz: functions for which JAX has rules of its own, as HLO text, with JAX's values and slopes.

    build/venv/bin/python tests/golden/gradients/known.py

A list of { name, hlo, stablehlo, type, before (further arguments, which come first), arguments, value, vjp (by a cotangent of
ones), jvp (by 1, 2, 3, 1, ...; where an element's slope is not all) }. Slopes are those by the last argument. Numbers that JSON does not have are strings. Points are ordinary ones, zeros, ends of domains and infinities.

Each function of jax.scipy.special and jax.nn is compared here or in TESTED, or stands in NOT_COMPARED with the reason: a
JAX with a function that is in none of them makes this script fail.
"""

import functools
import gzip
import json
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update('jax_enable_x64', True)
S = jax.scipy.special
N = jax.scipy.stats
ALL = [0.0, 1e-3, -1e-3, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.5, 7.75, -8.0, 20.5]
POSITIVE = [0.0, 1e-20, 1e-2, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 10.0, 50.0]
UNIT = [0.0, 1e-3, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0]
CASES = []


def case(name, function, points, types=(np.float32,), before=()):
  for dtype in types:
    CASES.append((f'{name} {np.dtype(dtype).name}', function, np.asarray(points, dtype), [np.asarray(x, dtype) for x in before]))


case('sici', lambda x: S.sici(x)[0], ALL)
case('fresnel', lambda x: S.fresnel(x)[0], [0.5, 1.0, 2.0, 3.0, 7.0, -5.0])
case('i0e', S.i0e, ALL)
case('i1e', S.i1e, ALL)
for a, b in ((2.0, 3.0), (0.5, 0.5), (1.0, 1.0), (10.0, 2.5)):
  case(f'betainc-{a}-{b}', lambda x, a=a, b=b: S.betainc(a, b, x), UNIT)
for a in (0.5, 2.5, 3.0, 30.0):
  case(f'gammainc-{a}', lambda x, a=a: S.gammainc(a, x), POSITIVE)
  case(f'gammaincc-{a}', lambda x, a=a: S.gammaincc(a, x), POSITIVE)
case('gamma-cdf', lambda x: N.gamma.cdf(x, 2.5), POSITIVE[2:])
case('beta-cdf', lambda x: N.beta.cdf(x, 2.0, 3.0), UNIT)
case('chi2-sf', lambda x: N.chi2.sf(x, 3.0), POSITIVE[2:])
case('poisson-cdf', lambda mu: N.poisson.cdf(3, mu), [0.5, 1.0, 4.0])
case('gammaincc-of-a-product', lambda x: S.gammaincc(2.5, 2 * x) * x, POSITIVE[2:])
case('betainc-of-many', lambda x: S.betainc(2.0, 3.0, x), np.linspace(0, 1, 200).reshape(20, 10))
case('gammaincc-of-one', lambda x: S.gammaincc(2.5, x), 1.5)
case('erf-inv', S.erfinv, [1.0, -1.0, 0.5])


def far(largest):
  return [0.5 + 0.5j, -0.3 + 1.5j, 3e5 - 2e5j, 1e10 + 1e9j, 1e10, 1e15 + 1j, largest * (1 - 0.5j)]


for name in ('arctan', 'arctanh'):
  for dtype, largest in ((np.complex64, 1e16), (np.complex128, 1e100)):
    CASES.append((f'{name} {np.dtype(dtype).name}', getattr(jnp, name), np.asarray(far(largest), dtype), []))


# ---- All others of the two modules ----

NEAR = [0.0, -0.0, 1e-3, -1e-3, 0.5, -0.5, 1.0, -1.0, 2.0, -2.5, 3.5, 7.75, -8.0, 20.5]
SINGLE = (np.float32, np.float64)
SIZES = [0.5, 2.0, 10.0, 1.0, 0.3, 3.0, 30.0, 2.5, 4.0]
case('betainc-of-arrays', S.betainc, UNIT, SINGLE, [SIZES, SIZES[::-1]])
for name in ('gammainc', 'gammaincc'):
  case(f'{name}-of-arrays', getattr(S, name), [*POSITIVE[2:], 1e3][:9], SINGLE, [SIZES])
for name in '''celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid mish relu relu6 selu
    sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh'''.split():
  case(f'nn.{name}', getattr(jax.nn, name), NEAR)
case('nn.log1mexp', jax.nn.log1mexp, [1e-3, 0.3, 0.69, 0.7, 1.0, 3.0, 20.0, -1.0, -100.0], SINGLE)
case('nn.gelu-exact', lambda x: jax.nn.gelu(x, approximate=False), NEAR)
for name in 'erf erfc expit gammasgn i0 i1 ndtr'.split():
  case(name, getattr(S, name), NEAR)
case('hyp1f1', lambda x: S.hyp1f1(1.5, 2.5, x), [0.5, -2.0, 10.0, 0.0, -20.0])
case('hyp2f1', lambda x: S.hyp2f1(0.5, 1.5, 2.5, x), [0.0, 0.3, -0.4, 0.6, 0.85, -0.95, -1.0], SINGLE)
case('exp1', S.exp1, [1e-3, 0.5, 1.0, 2.0, 7.75, 60.0], SINGLE)
case('expi', S.expi, [-20.0, -2.0, -1e-3, 1e-3, 0.37, 1.0, 5.0, 20.5])
for n in (0, 2, 7):
  case(f'expn-{n}', lambda x, n=n: S.expn(n, x), [1e-3, 0.5, 1.0, 2.0, 7.75, 60.0])
case('spence', S.spence, [0.0, 1e-3, 0.5, 0.9, 1.0, 30.0])  # JAX's slope between 1 and 2 is NaN
case('bessel_jn', lambda x: S.bessel_jn(x, v=3, n_iter=30)[3], [0.5, 3.0, 7.5, 12.0])
case('sph_harm_y', lambda x: S.sph_harm_y(jnp.array([3]), jnp.array([1]), x, 0.5 * x, n_max=3).real, [0.3, 1.0, 2.0])
case('loggamma', S.loggamma, POSITIVE[2:])
case('gamma', S.gamma, [0.3, 1.0, 1.5, 4.0, -0.5, -2.5])
case('beta', lambda x: S.beta(x, 2.5), POSITIVE[3:-1])
case('comb', lambda x: S.comb(x, 2.0), [2.5, 4.0, 10.0])
case('multigammaln', lambda x: S.multigammaln(x, 3), [1.5, 2.0, 7.0])
for name in ('boxcox', 'boxcox1p'):
  for power in (0.0, 0.5, -1.0):
    case(f'{name}-{power}', lambda x, name=name, power=power: getattr(S, name)(x, power), [0.3, 1.0, 2.5, 9.0])
    case(f'{name}-by-{power}', lambda p, name=name: getattr(S, name)(2.5, p), [power, 0.25])
for name in ('kl_div', 'rel_entr'):
  case(name, lambda x, name=name: getattr(S, name)(x, 0.7), [0.0, 0.3, 0.7, 2.0])
  case(f'{name}-by-y', lambda y, name=name: getattr(S, name)(0.7, y), [0.3, 0.7, 2.0])
for name in ('gammainc', 'gammaincc'):
  case(f'{name}-by-a', lambda a, name=name: getattr(S, name)(a, 2.0), [0.5, 1.3, 2.5, 7.1])

# Of rows: weights make the slopes of what sums to a constant other than 0.
ROWS = [[0.5, -1.0, 2.0, 0.0], [3.0, 3.0, -30.0, 1e-3], [0.0, 0.0, 0.0, 0.0], [100.0, -100.0, 1.0, 2.0]]
WEIGHTS = np.array([0.3, -1.0, 2.0, 0.7])
for name in 'softmax log_softmax standardize'.split():
  case(f'nn.{name}', lambda x, name=name: getattr(jax.nn, name)(x) * WEIGHTS.astype(x.dtype), ROWS[:2] + ROWS[3:], SINGLE)
for module, name in ((S, 'logsumexp'), (jax.nn, 'logmeanexp')):
  case(name, lambda x, module=module, name=name: getattr(module, name)(x, axis=1), ROWS, SINGLE)
case('logsumexp-of-some', lambda x: S.logsumexp(x, axis=1, b=WEIGHTS.astype(x.dtype) ** 2, where=x < 50), ROWS)
case('nn.softmax-of-some', lambda x: jax.nn.softmax(x, where=x < 50) * WEIGHTS.astype(x.dtype), ROWS)
case('nn.glu', jax.nn.glu, ROWS)
case('nn.dot_product_attention', lambda x: jax.nn.dot_product_attention(x, 0.5 * x, x ** 2, is_causal=True),
     np.linspace(-1, 1, 24).reshape(1, 4, 2, 3))

# Samples of the gamma distribution and what is made of them.
KEY = jax.random.key(0)
case('random-gamma', lambda a: jax.random.gamma(KEY, a), [1e-3, 0.3, 1.0, 2.5, 30.0, 1e4], SINGLE)
case('random-loggamma', lambda a: jax.random.loggamma(KEY, a, (2, 3)), 0.7)
case('random-beta', lambda a: jax.random.beta(KEY, a, 1.2), [0.3, 1.0, 2.5])
case('random-gamma-of-batches', lambda a: jax.vmap(lambda k, a: jax.random.gamma(k, a, (2,)))(jax.random.split(KEY, 2), a), [0.7, 2.5])

# tests/golden/gradients/special.py, whose programs are exports
TESTED = 'betaln digamma entr erfinv factorial gammaln log_ndtr logit ndtri polygamma xlog1py xlogy zeta'.split()
NOT_COMPARED = {
  'of whole numbers, or configurations, or formats of 8 bits':
      'bernoulli one_hot get_scaled_dot_general_config scaled_dot_general scaled_matmul',
  'as written: docs/differences.md': 'dawsn erfcx owens_t poch wofz',
}


def check_all_are_listed():
  listed = {name.removeprefix('nn.').split(' ')[0].split('-')[0] for name, *_ in CASES} | set(TESTED) | {'erfinv'}
  listed |= {name for names in NOT_COMPARED.values() for name in names.split()}
  public = {
    name for module in (S, jax.nn) for name in dir(module)
    if not name.startswith('_') and callable(getattr(module, name))
  }
  if public - listed:
    sys.exit(f'neither compared nor in NOT_COMPARED: {", ".join(sorted(public - listed))}')


check_all_are_listed()


def numbers(x):
  x = np.asarray(x)
  x = np.stack([x.real, x.imag], -1) if x.dtype.kind == 'c' else x
  return [v if np.isfinite(v) else str(v) for v in x.astype(np.float64).ravel().tolist()]


TYPES = {'float32': 'f32', 'float64': 'f64', 'complex64': 'c64', 'complex128': 'c128'}
entries = []
for name, function, points, before in CASES:
  x = jnp.asarray(points)
  # JAX's complex64 loses digits far out, so slopes come from complex128.
  exact = jnp.asarray(points.astype(np.complex128)) if points.dtype.kind == 'c' else x
  of_last = functools.partial(function, *before)
  value, pull = jax.vjp(of_last, exact)
  slope = pull(jnp.ones_like(value))[0]
  # For the tangents 1, 2, 3, 1, 2, ...: the sum of a softmax's row would not change for equal ones.
  tangents = jnp.reshape(jnp.arange(exact.size) % 3 + 1, exact.shape).astype(exact.dtype)
  by_tangents = jax.jvp(of_last, (exact,), (tangents,))[1]
  elementwise = value.shape == exact.shape and np.allclose(by_tangents, slope * tangents, 1e-5, 1e-9, equal_nan=True)
  lowered = jax.jit(lambda *x, function=function: function(*x)).lower(*before, x)
  entries.append({
      'name': name,
      'hlo': lowered.compiler_ir('hlo').as_hlo_text(print_large_constants=True),
      'stablehlo': lowered.as_text(),
      'type': f'{TYPES[points.dtype.name]}[{",".join(map(str, points.shape))}]',
      **({'before': [numbers(x) for x in before]} if before else {}),
      'arguments': numbers(points),
      'value': numbers(value),
      'vjp': numbers(slope),
      **({} if elementwise else {'jvp': numbers(by_tangents)}),
  })
with gzip.GzipFile(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'known.json.gz'), 'wb', mtime=0) as file:
  file.write(json.dumps(entries, separators=(',', ':')).encode())
print(f'{len(entries)} functions')
