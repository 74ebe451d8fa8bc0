"""Rows of opcodes.def at the types, orders, signs, ties and attributes that a rule could assume: (name, function, arguments,
None). A case has several functions; each has arguments of its own.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax import linalg as of_lax

RANDOM = np.random.default_rng(44)
F64, F32, C128, C64, BF16 = np.float64, np.float32, np.complex128, np.complex64, jnp.bfloat16
INF = np.inf
ROWS = []


def rows(name, functions, *arguments):
  functions = list(functions)
  count = len(arguments)

  def of(*xs):
    return [f(*xs[k * count:(k + 1) * count]) for k, f in enumerate(functions)]

  ROWS.append((f'row {name}', of, arguments * len(functions), None))


def real(*shape, dtype=F64):
  return RANDOM.standard_normal(shape).astype(dtype)


def cplx(*shape, dtype=C128):
  return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(dtype)


def power(n):
  return lambda x: lax.integer_pow(x, n)


# ---- Element-wise ----

UNARY = [
  lax.abs, lax.asinh, lax.atan, lax.cbrt, lax.ceil, lax.cos, lax.cosh, lax.erf, lax.exp, lax.exp2, lax.expm1, lax.floor, lax.logistic,
  lax.neg, lax.round, lax.sign, lax.sin, lax.sinh, lax.tan, lax.tanh, lax.square, power(0), power(3), lambda x: lax.reduce_precision(x, 5, 7),
]
POLES = [lax.log, lax.log1p, lax.sqrt, lax.rsqrt, lax.erf_inv, power(-2)]
for dtype in (F32, F64):
  rows(f'unary {np.dtype(dtype)}', UNARY + POLES, np.array([0, -0.0, 1, -1, INF, -INF, 0.5], dtype))
for dtype in (BF16, np.float16):
  rows(f'unary {np.dtype(dtype).name}', [f for f in UNARY[:-1] if f != lax.cbrt], np.array([0.5, -1, 1.5], dtype))
rows('complex unary', [
  lax.abs, lax.acos, lax.asin, lax.asinh, lax.atan, lax.atanh, lax.cos, lax.cosh, lax.exp, lax.expm1, lax.log, lax.log1p, lax.logistic, lax.neg,
  lax.rsqrt, lax.sign, lax.sin, lax.sinh, lax.sqrt, lax.tan, lax.tanh, lax.square, lax.conj, lax.real, lax.imag, jnp.angle, power(3), power(-2),
], np.array([0.3 + 0.4j, -0.5 + 0.2j, 1 - 2j], C64))
POINTS = np.array([0, -0.0, 1, -1, 2.5, INF, -INF])
BINARY = [lax.atan2, lax.div, lax.max, lax.min, lax.mul, lax.pow, lax.rem, jnp.mod, jnp.fmod, jnp.copysign]
rows('binary', BINARY, np.repeat(POINTS, 7), np.tile(POINTS, 7))
rows('binary bfloat16', BINARY, np.array([0.5, -1, 2, 2], BF16), np.array([0.5, 2, 1, -1.5], BF16))
rows('complex binary', [lax.add, lax.sub, lax.mul, lax.div, lax.pow], cplx(4), cplx(4))
rows('powers by integers', [lambda x, n=n: lax.pow(x, jnp.full(x.shape, n, np.int32)) for n in (0, 1, 2, -1)], np.array([0.0, 1, -2]))
rows('powers of a number', [lambda y, x=x: lax.pow(jnp.full_like(y, x), y) for x in (0, 2)], np.array([0.0, 1, 2, -1]))
rows('clamp', [lax.clamp], np.repeat([-1.0, 1.0], 5), np.tile([-2.0, -1, 0, 1, 2], 2), np.repeat([1.0, -1.0], 5))
rows('conversions', [lambda x, t=t: x.astype(t).astype(F32) for t in (BF16, np.float16, jnp.float8_e4m3fn, F64, np.int32, bool)]
     + [lambda x, t=t: x.astype(t) * (1 + 2j) for t in (C64, C128)], np.array([0.5, -2, 0]))
rows('conversions of complex', [lambda x, t=t: lax.convert_element_type(x, t) for t in (C64, C128, F32, F64)], cplx(3))

# ---- Movement and places ----

EDGES = [[(-1, 2, 0), (0, -1, 0)], [(-1, -1, 1), (2, -3, 2)], [(0, 0, 2), (-2, 3, 1)], [(-6, 8, 0), (0, 0, 0)]]
rows('pad', [lambda x, v, e=e: lax.pad(x, v, e) for e in EDGES], real(4, 3), F64(2))
rows('broadcast', [lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 2)), lambda x: lax.rev(x, (0, 1))], cplx(2, 1))
rows('slices', [lambda x, s=s: lax.slice(x, *s) for s in [((0, 1), (5, 4), (2, 3)), ((2, 2), (2, 4), (1, 1))]], real(5, 4))
PLACES = [(9, 9), (-1, -5), (4, 2), (-100, 100)]
rows('dynamic slices', [lambda x, p=p: lax.dynamic_slice(x, tuple(jnp.int32(i) for i in p), (2, 3)) for p in PLACES], real(5, 4))
rows('dynamic updates', [lambda x, u, p=p: lax.dynamic_update_slice(x, u, tuple(jnp.int32(i) for i in p)) for p in PLACES], real(5, 4), real(2, 3))
INDICES = np.int32([[0], [2], [2], [-1], [5], [4], [100]])
WINDOWS = lax.GatherDimensionNumbers((1, 2), (), (0,))
ELEMENTS = lax.GatherDimensionNumbers((1,), (0,), (0,))
rows('gathers', [lambda x, d=d, s=s, m=m, i=i: lax.gather(x, INDICES.astype(i), d, s, mode=m) for d, s in [(ELEMENTS, (1, 3)), (WINDOWS, (2, 2))]
                 for m in ('clip', 'fill') for i in (np.int32, np.uint8)], real(5, 3))
INTO = lax.ScatterDimensionNumbers((1,), (0,), (0,))
for name, functions in {
  'sums': [lambda x, u, m=m: lax.scatter_add(x, INDICES, u, INTO, mode=m) for m in ('clip', 'drop')],
  'differences': [lambda x, u, m=m: lax.scatter_sub(x, INDICES, u, INTO, mode=m) for m in ('clip', 'drop')],
  'extrema': [lambda x, u, f=f: f(x, INDICES, u, INTO) for f in (lax.scatter_min, lax.scatter_max)],
  'sets': [lambda x, u, m=m: lax.scatter(x, INDICES, u, INTO, mode=m) for m in ('clip', 'drop')],
}.items():
  rows(f'scattered {name}', functions, real(5, 3), real(7, 3))
rows('scattered extrema at ties', [lambda x, u, m=m: getattr(x.at[np.array([0, 0, 1, 1, 9])], m)(u) for m in ('min', 'max')],
     np.array([1.0, 2, 3]), np.array([1.0, 1, 2, 0, 7]))
rows('subtracted', [lambda x, u: x.at[np.array([0, 2, 0])].subtract(u) ** 2], cplx(3), cplx(3))

# ---- Products, sums, orders ----

rows('dots', [
  lambda x, y: lax.dot_general(x, y, (((3, 0), (0, 2)), ((2,), (1,)))), lambda x, y: lax.dot_general(x, y, (((), ()), ((2,), (1,)))),
], real(2, 3, 2, 2), real(2, 2, 2, 3))
rows('dots of narrow numbers', [lambda x, y, t=t: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=t)
                               for t in (F32, F64, BF16)], real(2, 3, dtype=BF16), real(3, 2, dtype=BF16))
for name, x, w, options in [
  ('groups', real(2, 4, 6), real(6, 2, 3), dict(window_strides=(1,), padding=[(2, 1)], feature_group_count=2)),
  ('batch groups', real(4, 3, 6), real(6, 3, 3), dict(window_strides=(2,), padding=[(2, 1)], batch_group_count=2)),
  ('negative padding', real(2, 3, 9), real(4, 3, 2), dict(window_strides=(2,), padding=[(-1, -2)], rhs_dilation=(2,))),
  ('negative padding of holes', real(2, 3, 5), real(4, 3, 2), dict(window_strides=(1,), padding=[(-2, 1)], lhs_dilation=(3,))),
]:
  rows(f'convolution, {name}', [lambda x, w, o=options: lax.conv_general_dilated(x, w, **o)], x, w)
TIES = np.array([[1.0, 3, 3, 2], [0, 0, 0, 0], [5, -1, 5, 5]])
rows('reductions', [lambda x, f=f, a=a: f(x, axis=a) for f in (jnp.prod, jnp.max, jnp.min, jax.nn.logsumexp, jnp.median) for a in (0, 1)], TIES)
NANS = np.array([[1.0, np.nan, 2], [np.nan, np.nan, np.nan], [3, 3, -INF]])
rows('extrema of NaN', [lambda x, f=f, a=a: f(x, axis=a) for f in (jnp.max, jnp.min, jnp.median) for a in (0, 1)], NANS)
rows('cumulative', [lambda x, f=f, r=r: f(x, axis=1, reverse=r) for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
                    for r in (False, True)], TIES)
KEYS = np.array([[3.0, 1, 1, 2, -0.0, 0], [1, 1, 0, 2, 2, -1]])
rows('sorts', [lambda x, y, d=d, k=k: lax.sort((x, y), dimension=d, num_keys=k) for d in (0, 1) for k in (1, 2)]
     + [lambda x, y: jnp.sort(x, descending=True) * y, lambda x, y: lax.top_k(x, 3)[0]], KEYS, np.round(real(2, 6)))

# ---- Transforms and matrices ----

for n in (1, 5, 6):
  rows(f'fft {n}', [jnp.fft.fft, jnp.fft.ifft, lambda z, n=n: jnp.fft.irfft(z[..., :n // 2 + 1], n=n), lambda z: jnp.fft.rfft(z.real)], cplx(2, n))
FLAGS = [(left, lower, transpose, unit) for left in (True, False) for lower in (True, False) for transpose in (True, False) for unit in (True, False)]


def solve(flags, conjugate):
  left, lower, transpose, unit = flags
  return lambda a, b: of_lax.triangular_solve(
    a, b, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate, unit_diagonal=unit)


rows('triangular solves', [solve(flags, False) for flags in FLAGS], real(2, 2) + 2 * np.eye(2), real(2, 2))
rows('conjugate triangular solves', [solve(flags, True) for flags in FLAGS[::3]], cplx(2, 2) + 2 * np.eye(2), cplx(2, 2))
MATRIX = cplx(3, 3)
rows('Cholesky', [lambda a, s=s: of_lax.cholesky(a, symmetrize_input=s) for s in (True, False)]
     + [lambda a: jnp.linalg.cholesky(a, upper=True)], MATRIX @ MATRIX.conj().T + np.eye(3) + 0.1 * real(3, 3))
for shape in [(3, 3), (4, 2), (2, 4)]:
  rows(f'LU and SVD of {shape}', [lambda a: of_lax.lu(a)[0], lambda a: jnp.linalg.svd(a, compute_uv=False), jnp.linalg.pinv], cplx(*shape))
INDEFINITE = np.array([[[1.0, 2], [2, 1]], [[2, 1], [1, 2]]])
rows('failed Cholesky', [jnp.linalg.cholesky, lambda a: jnp.log(jnp.linalg.cholesky(a, upper=True))], INDEFINITE)
rows('factors of NaN', [jnp.linalg.cholesky, jnp.linalg.eigvalsh, lambda a: of_lax.lu(a)[0], lambda a: jnp.linalg.svd(a, compute_uv=False)],
     np.array([[1.0, np.nan], [np.nan, 2]]))
RANK_3 = np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [1, 0, 1, 0], [0, 1, 0, 2]])
for name, a in {'rank 3': RANK_3, 'rank 2': RANK_3 * np.float64([[1], [1], [1], [0]]), 'full rank': RANK_3 + np.eye(4), 'a batch': real(2, 4, 4),
                'complex numbers': RANK_3 * (1 + 1j)}.items():
  rows(f'determinant of {name}', [jnp.linalg.det], a)
for name, a in {'the unit matrix': np.eye(3), 'rank 1': np.array([[1.0, 2], [2, 4], [3, 6]]), 'zeros': np.zeros((2, 3)), 'a batch': real(2, 3, 2),
                'complex numbers': cplx(2, 3), 'complex rank 1': np.array([[1.0, 2], [2, 4], [3, 6]]) * (1 + 1j)}.items():
  rows(f'pseudo-inverse of {name}', [jnp.linalg.pinv, lambda a: 3 * jnp.linalg.pinv(2 * a)], a)


@jax.jit
def det(a):
  return jnp.linalg.det(a @ a) * 2


@jax.jit
def _pinv(a):
  u, s, v = jnp.linalg.svd(a, full_matrices=False)
  return v.T @ (u * (s / (s**2 + 0.5))).T


rows('other functions of these names', [det, _pinv], real(4, 4))

# ---- Control ----

rows('branches out of range', [lambda x, i=i: lax.switch(jnp.int32(i), [jnp.sin, jnp.square, jnp.negative], x) for i in (-1, 9)], real(3))
KEY = jax.random.key(7)
rows('bounds by nextafter', [
  lambda a, b: jax.random.truncated_normal(KEY, a, b, (3,)),
  lambda a, b: lax.scan(lambda c, k: (c + jax.random.truncated_normal(k, c, c + b), c), a, jax.random.split(KEY, 3)),
  lambda a, b: jnp.clip(a, lax.nextafter(lax.stop_gradient(b), F64(INF)), 3.0),
  lambda a, b: lax.clamp(lax.nextafter(lax.stop_gradient(a), F64(INF)), b, 3.0),
], F64(-0.5), F64(1))
