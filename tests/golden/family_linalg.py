"""cholesky and triangular-solve, and the JAX programs built of them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse as jax_sparse
from jax.lax import linalg as lax_linalg
from jax.scipy import linalg

from corpus import family
from harness import DTYPES
from values import normals, rng

EPSILON = {'f32': 2.0**-23, 'c64': 2.0**-23, 'f64': 2.0**-52, 'c128': 2.0**-52}


def dims(values):
  return ','.join(map(str, values))


def dyadic(type_, shape, *key):
  """Multiples of a quarter."""
  r = rng('dyadic', type_, shape, *key)
  x = r.integers(-4, 5, shape) / 4
  if type_[0] == 'c':
    x = x + 1j * r.integers(-4, 5, shape) / 4
  return x.astype(DTYPES[type_])


def triangle(type_, batch, n, lower=True):
  """A well conditioned triangular matrix, whose diagonal divides exactly."""
  x = np.tril(dyadic(type_, batch + (n, n), 'triangle'), -1)
  x = x + np.eye(n) * rng('diagonal', n).choice([1, 2, 0.5, 4], n)
  return (x if lower else np.swapaxes(x, -1, -2)).astype(DTYPES[type_])


def positive(type_, batch, n):
  x = normals(type_, batch + (n, n), 'positive').astype(np.complex128)
  y = x @ np.conj(np.swapaxes(x, -1, -2)) + n * np.eye(n)
  return (y.real if type_[0] == 'f' else y).astype(DTYPES[type_])


def at(*places):
  def edit(x):
    for i, j, value in places:
      x[i, j] = value
  return edit


SPECIAL_PIVOTS = {
    'ordinary': at(),
    'infinite-pivot': at((1, 1, np.inf)),
    'infinite-last-pivot': at((-1, -1, np.inf)),
    'infinite-pivot-and-number': at((1, 1, np.inf), (3, 1, np.inf)),
    'infinite-number': at((3, 1, np.inf)),
    'nan-pivot': at((2, 2, np.nan)),
    'zero-last-pivot': at((-1, slice(None), 0)),
    'infinite-then-negative-pivot': at((1, 1, np.inf), (-1, -1, -1)),
}


@family
def cholesky(f):
  for type_ in EPSILON:
    for batch, n in (((), 1), ((), 4), ((3,), 3), ((2, 2), 2), ((), 9)):
      x = positive(type_, batch, n)
      shape = f'{type_}[{dims(x.shape)}]'
      for lower in ('true', 'false'):
        # XLA:CPU writes zeros on the other side of the diagonal, and never reads that side.
        seven = np.full_like(x, 7)
        y = (np.tril(x) + np.triu(seven, 1)) if lower == 'true' else (
            np.triu(x) + np.tril(seven, -1))
        f.hlo(f'cholesky.{type_}.{"x".join(map(str, x.shape))}.lower-{lower}', None,
              f'r = {shape} cholesky(p0), lower={lower}', y,
              tol=f'abs {8 * n * EPSILON[type_]:.3g} rel 0')
  f.hlo('cholesky.indefinite', None, 'r = f32[2,2] cholesky(p0), lower=true',
        np.array([[1, 2], [2, 1]], np.float32))
  # XLA goes on after an infinite pivot: a later one is finite if the column's other numbers are.
  for type_ in [*EPSILON, 'f16', 'bf16']:
    epsilon = EPSILON.get(type_, 2.0**-7 if type_ == 'bf16' else 2.0**-10)
    for n in (5, 40) if type_ == 'f32' else (5,):
      x = positive('f32', (), n)
      for tag, edit in SPECIAL_PIVOTS.items():
        y = np.array(x)
        edit(y)
        y = y.astype(DTYPES[type_])
        f.hlo(f'cholesky.{type_}.{n}x{n}.{tag}', None,
              f'r = {type_}[{n},{n}] cholesky(p0), lower=true', y,
              tol=f'abs {8 * n * epsilon:.3g} rel 0')
  # XLA does not divide the last pivot if it is alone in its block of 128.
  for pivot in (0, np.inf):
    f.hlo(f'cholesky.129x129.last-pivot-{pivot}', None, '''row = s32[129] iota(), iota_dimension=0
rows = s32[129,129] broadcast(row), dimensions={0}
columns = s32[129,129] broadcast(row), dimensions={1}
is_diagonal = pred[129,129] compare(rows, columns), direction=EQ
last = s32[] constant(128)
lasts = s32[129] broadcast(last), dimensions={}
is_last = pred[129] compare(row, lasts), direction=EQ
one = f32[] constant(1)
ones = f32[129] broadcast(one), dimensions={}
pivot = f32[129] broadcast(p0), dimensions={}
pivots = f32[129] select(is_last, pivot, ones)
diagonal = f32[129,129] broadcast(pivots), dimensions={0}
zero = f32[] constant(0)
zeros = f32[129,129] broadcast(zero), dimensions={}
a = f32[129,129] select(is_diagonal, diagonal, zeros)
l = f32[129,129] cholesky(a), lower=true
r = f32[2,2] slice(l), slice={[127:129], [127:129]}''', np.float32(pivot))
  f.jax_tpu('jnp.cholesky', jnp.linalg.cholesky, positive('f32', (), 4), tol='abs 4e-6 rel 0')
  x = positive('f32', (), 3)
  f.jax_tpu('cho-solve', lambda x, b: linalg.cho_solve((jnp.linalg.cholesky(x), True), b), x,
        normals('f32', (3, 2)), tol='abs 2e-6 rel 2e-5')
  f.jax_tpu('cholesky.grad', jax.grad(lambda x: jnp.sum(jnp.linalg.cholesky(x))), x,
        tol='abs 2e-6 rel 2e-5')


@family
def triangular_solve(f):
  for type_ in EPSILON:
    for batch, n, m in (((), 3, 2), ((2,), 4, 3)) if type_ in ('f32', 'c64') else (((2,), 3, 2),):
      for left in ('true', 'false'):
        for lower in ('true', 'false'):
          for transpose in ('NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT'):
            a = triangle(type_, batch, n, lower == 'true')
            b = dyadic(type_, batch + ((n, m) if left == 'true' else (m, n)), 'b')
            solve(f, type_, a, b, left, lower, transpose, 'false')
  x = triangle('f32', (), 4)
  solve(f, 'f32', x, dyadic('f32', (4, 2)), 'true', 'true', 'NO_TRANSPOSE', 'true', '.unit')
  solve(f, 'f32', np.swapaxes(x, 0, 1), dyadic('f32', (3, 4)), 'false', 'false', 'TRANSPOSE',
        'true', '.unit')
  # What lies on the other side of the diagonal must not be read.
  x = x + np.triu(np.full((4, 4), np.nan, np.float32), 1)
  solve(f, 'f32', x, dyadic('f32', (4, 2)), 'true', 'true', 'NO_TRANSPOSE', 'false', '.nan')
  solve(f, 'f32', x, dyadic('f32', (4, 2)), 'true', 'true', 'TRANSPOSE', 'false', '.nan')
  f.jax_tpu('solve-triangular', lambda a, b: linalg.solve_triangular(a, b, lower=True, trans='T'),
        triangle('f32', (), 4), dyadic('f32', (4,)), tol='abs 1e-4 rel 1e-5')


def solve(f, type_, a, b, left, lower, transpose, unit, tag=''):
  """Two backward stable solutions differ by cond(a) epsilon: these matrices' is about 100."""
  name = f'triangular-solve.{type_}.{"x".join(map(str, b.shape))}.'
  name += f'{"left" if left == "true" else "right"}-{"lower" if lower == "true" else "upper"}.'
  x = np.abs(np.linalg.solve(np.nan_to_num(a).astype(np.complex128), np.broadcast_to(
      np.eye(a.shape[-1]), a.shape)))
  size = float(x.max()) ** 2 * float(np.abs(b).max()) + 1
  more = ', unit_diagonal=true' if unit == 'true' else ''
  f.hlo(name + transpose + tag, None,
        f'r = {type_}[{dims(b.shape)}] triangular-solve(p0, p1), left_side={left}, lower={lower}, '
        f'transpose_a={transpose}{more}', a, b, tol=f'abs {16 * EPSILON[type_] * size:.3g} rel 0')


@family
def lapack(f):
  """JAX for the CPU calls LAPACK for linear algebra, by custom calls with a typed interface."""
  a = positive('f32', (), 4)
  square = normals('f32', (4, 4), 'square') + 3 * np.eye(4, dtype=np.float32)
  wide = normals('f32', (3, 5), 'wide')
  near = 'abs 4e-6 rel 2e-5'
  f.jax('cholesky', jnp.linalg.cholesky, a, tol=near)
  f.jax('cholesky.batch', jnp.linalg.cholesky, positive('f64', (2,), 3), tol='abs 1e-14 rel 0')
  f.jax('cholesky.complex', jnp.linalg.cholesky, positive('c64', (), 3), tol=near)
  f.jax('solve-triangular', lambda a, b: linalg.solve_triangular(a, b, lower=True, trans='T'),
        triangle('f32', (), 4), dyadic('f32', (4, 2)), tol='abs 1e-4 rel 1e-5')
  f.jax('lu', lambda x: linalg.lu_factor(x), square, tol=near)
  f.jax('solve', jnp.linalg.solve, square, normals('f32', (4, 2), 'b'), tol=near)
  f.jax('inv-det', lambda x: (jnp.linalg.inv(x), jnp.linalg.det(x), jnp.linalg.slogdet(x)), square,
        tol='abs 1e-4 rel 1e-4')
  f.jax('qr', lambda x: jnp.linalg.qr(x), square, tol=near)
  f.jax('eigvalsh', jnp.linalg.eigvalsh, a, tol='abs 1e-4 rel 1e-5')
  f.jax('singular-values', lambda x: jnp.linalg.svd(x, compute_uv=False), wide, tol=near)


def singular(n):
  """The diagonals of a tridiagonal matrix of whole numbers that is singular: a path's Laplacian."""
  d = np.full(n, 2.0)
  d[[0, -1]] -= 1
  return -np.ones(n), d, -np.ones(n)


@family
def tridiagonal_perturbed(f):
  """jaxlib's tridiagonal_solve_perturbed_ffi, by which eigh_tridiagonal finds eigenvectors."""
  solve = functools.partial(lax_linalg.tridiagonal_solve, perturb_singular=True)
  for type_ in EPSILON:
    tol = f'abs 0 rel {2000 * EPSILON[type_]:.3g}'
    for batch, n, k in (((), 1, 1), ((), 2, 2), ((), 3, 1), ((), 9, 3), ((2, 3), 5, 2), ((4,), 12, 1)):
      dl, d, du = (normals(type_, batch + (n,), 'perturbed', i) for i in range(3))
      b = normals(type_, batch + (n, k), 'perturbed', 'b')
      f.jax(f'{type_}.{"x".join(map(str, (*batch, n, k)))}', solve, dl, d, du, b, tol=tol)
      if n % 2 == 0:  # of an odd size it is singular, by the last digits
        f.jax(f'{type_}.{"x".join(map(str, (*batch, n, k)))}.zeros', solve, dl, d * 0, du, b + 4, tol=tol)
    for n in (2, 5, 16):
      dl, d, du = (x.astype(DTYPES[type_]) for x in singular(n))
      b = np.stack([np.arange(n), np.ones(n)], 1).astype(DTYPES[type_])
      f.jax(f'{type_}.singular.{n}', solve, dl, d, du, b, tol=tol)
    zero = np.zeros(3, DTYPES[type_])
    f.jax(f'{type_}.zero', solve, zero, zero, zero, np.ones((3, 2), DTYPES[type_]), tol=tol)
    tiny = np.full(3, 1e-30, DTYPES[type_])
    f.jax(f'{type_}.tiny', solve, zero, tiny, zero, np.full((3, 1), 1e-30, DTYPES[type_]), tol=tol)
  d, e = normals('f32', (12,), 'diagonal'), normals('f32', (11,), 'beside')
  f.jax('eigh_tridiagonal', lambda d, e: (lambda w, v: (w, jnp.abs(v)))(*linalg.eigh_tridiagonal(d, e)), d, e,
        tol='abs 2e-5 rel 0')


@family
def sparse(f):
  """cpu_csr_sparse_dense_ffi: BCSR matrices times dense ones."""
  for type_ in ('f32', 'f64', 'c64', 'c128', 's32', 's64'):
    dense = dyadic(type_, (7, 5), 'sparse') if type_[0] != 's' else rng('sparse').integers(-2, 3, (7, 5)).astype(
        DTYPES[type_])
    dense[2] = 0
    dense[:, 3] = 0
    matrix = jax_sparse.BCSR.fromdense(jnp.array(dense), nse=40)  # more than there are: zeros at the end
    for name, shape in (('vector', (5,)), ('matrix', (5, 3)), ('column', (5, 1)), ('nothing', (5, 0))):
      right = (rng(name, type_).integers(-8, 9, shape) / (4 if type_[0] != 's' else 1)).astype(DTYPES[type_])
      f.jax(f'{type_}.{name}', lambda data, indices, indptr, right: jax_sparse.BCSR(
          (data, indices, indptr), shape=(7, 5)) @ right, matrix.data, matrix.indices, matrix.indptr, right)
  r = rng('many')
  dense = np.where(r.random((120, 80)) < 0.2, r.integers(-8, 9, (120, 80)) / 4, 0).astype(np.float32)
  matrix = jax_sparse.BCSR.fromdense(jnp.array(dense))
  f.jax('many', lambda data, indices, indptr, right: jax_sparse.BCSR((data, indices, indptr), shape=(120, 80)) @ right,
        matrix.data, matrix.indices, matrix.indptr, (r.integers(-8, 9, (80, 6)) / 4).astype(np.float32))
