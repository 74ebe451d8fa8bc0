"""What JAX's exports for the CPU leave to custom calls: LAPACK, sharding hints, spellings of topk.

Eigenvectors and singular vectors are defined only up to a factor, so the programs put matrices
together again from them, or take absolute values, before anything is compared."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import linalg

from corpus import family, program
from harness import DTYPES, shape_of
from values import normals, rng

# LAPACK and we round differently on the way: some tens of units of the largest numbers involved.
NEAR = {'f32': 'abs 2e-5 rel 2e-5', 'f64': 'abs 4e-14 rel 4e-14'}
NEAR |= {'c64': NEAR['f32'], 'c128': NEAR['f64']}


def matrix(type_, *shape):
  dtype = np.dtype(DTYPES[type_])
  r = rng(type_, shape, 'custom-call')
  x = r.standard_normal(shape)
  return (x + 1j * r.standard_normal(shape) if dtype.kind == 'c' else x).astype(dtype)


def definite(type_, n, *batch):
  a = matrix(type_, *batch, n, n)
  return (a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n)).astype(a.dtype)


def adjoint(x):
  return jnp.conj(jnp.swapaxes(x, -1, -2))


def factorizations(type_):
  """(name, program, operands): without duplicates."""
  is_complex = type_ in ('c64', 'c128')
  a, well = matrix(type_, 4, 4), matrix(type_, 3, 4, 4) + 4 * np.eye(4, dtype=DTYPES[type_])
  yield 'potrf', jnp.linalg.cholesky, [definite(type_, 3, 2, 2)]
  yield 'potrf.upper', lambda x: linalg.cholesky(x), [definite(type_, 4)]
  yield 'potrf.indefinite', jnp.linalg.cholesky, [-definite(type_, 3)]
  infinite = np.array(definite(type_, 4))
  infinite[1, 1] = np.inf
  yield 'potrf.infinite', lambda x: lax.linalg.cholesky(x, symmetrize_input=False), [infinite]
  yield 'geqrf', lambda x: jnp.linalg.qr(x), [matrix(type_, 5, 3)]
  yield 'geqrf.wide', lambda x: jnp.linalg.qr(x), [matrix(type_, 3, 5)]
  yield 'geqrf.complete', lambda x: jnp.linalg.qr(x, mode='complete'), [matrix(type_, 4, 3)]
  yield 'geqrf.raw', lambda x: jnp.linalg.qr(x, mode='raw'), [matrix(type_, 2, 4, 3)]
  yield 'geqp3', lambda x: linalg.qr(x, pivoting=True), [matrix(type_, 4, 3)]
  yield 'getrf', lambda x: lax.linalg.lu(x), [matrix(type_, 2, 5, 3)]
  yield 'getrf.wide', lambda x: lax.linalg.lu(x), [matrix(type_, 3, 5)]
  yield 'getrf.det', lambda x: (jnp.linalg.det(x), jnp.linalg.slogdet(x)), [well]
  yield 'getrf.solve', jnp.linalg.solve, [well, matrix(type_, 3, 4, 2)]
  yield 'getrf.inverse', jnp.linalg.inv, [well]
  yield 'trsm', lambda a, b: (
      linalg.solve_triangular(a, b, lower=True), linalg.solve_triangular(a, b, trans=1),
      linalg.solve_triangular(a, b, trans=2, unit_diagonal=True)), [well[0], matrix(type_, 4, 3)]
  yield 'trsm.right', lambda a, b: lax.linalg.triangular_solve(
      a, b, left_side=False, lower=True, conjugate_a=is_complex, transpose_a=True), [
          well[:2], matrix(type_, 2, 3, 4)]
  for left in (True, False):
    for transpose in (True, False):
      yield f'ormqr.{left}.{transpose}', lambda q, t, c, left=left, transpose=transpose: (
          lax.linalg.ormqr(q, t, c, left=left, transpose=transpose)), [
              matrix(type_, 4, 3), matrix(type_, 3),
              matrix(type_, *((4, 2) if left else (2, 4)))]
  yield 'gehrd', lambda x: linalg.hessenberg(x, calc_q=True), [a]
  yield 'sytrd', lambda x: lax.linalg.tridiagonal(x), [definite(type_, 5)]
  yield 'sytrd.upper', lambda x: lax.linalg.tridiagonal(x, lower=False), [definite(type_, 4)]


def eigenvalues(type_):
  """(name, program, operands): vectors put together again."""
  is_complex = type_ in ('c64', 'c128')

  def eigh(x):
    values, vectors = jnp.linalg.eigh(x)
    return values, (vectors * values[..., None, :]) @ adjoint(vectors)

  def svd(x):
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    return s, (u * s[..., None, :]) @ v, adjoint(u) @ u

  def full_svd(x):
    u, s, v = jnp.linalg.svd(x)
    k = s.shape[-1]
    return s, (u[:, :k] * s) @ v[:k], adjoint(u) @ u, v @ adjoint(v)

  def eig(x):
    left_right = lax.linalg.eig(x, compute_left_eigenvectors=True)
    values, left, right = left_right
    residuals = jnp.abs(x @ right - right * values), jnp.abs(
        adjoint(left) @ x - values[:, None] * adjoint(left))
    return jnp.sort(jnp.abs(values)), residuals, jnp.linalg.norm(left, axis=0)

  def schur(x):
    t, z = linalg.schur(x, output='complex' if is_complex else 'real')
    return z @ t @ adjoint(z), adjoint(z) @ z, jnp.abs(jnp.tril(t, -2))

  yield 'syevd', eigh, [definite(type_, 5)]
  yield 'syevd.batch', jnp.linalg.eigvalsh, [definite(type_, 4, 2)]
  yield 'gesdd', svd, [matrix(type_, 5, 3)]
  yield 'gesdd.wide', svd, [matrix(type_, 2, 3, 5)]
  yield 'gesdd.full', full_svd, [matrix(type_, 5, 3)]
  yield 'gesdd.deficient', full_svd, [np.outer(matrix(type_, 4), matrix(type_, 3))]
  yield 'geev', eig, [matrix(type_, 5, 5)]
  if not is_complex:
    values = lambda x: (lambda v: (jnp.sort(v.real), jnp.sort(jnp.abs(v.imag)), jnp.sort(jnp.abs(v))))(
        jnp.linalg.eigvals(x))
    yield 'eigvals', values, [matrix(type_, 3, 9, 9)]
    yield 'eigvals.large', values, [matrix(type_, 33, 33)]
    yield 'eigvals.two', values, [matrix(type_, 4, 2, 2)]
    yield 'eigvals.one', values, [matrix(type_, 1, 1)]
    # Rows that permute: the shifts must be odd ones. And several blocks, a row of zeros among them.
    yield 'eigvals.permutation', values, [np.roll(np.eye(8), 1, 0).astype(DTYPES[type_])]
    blocks = np.kron(np.eye(3), np.array([[1, 2], [-3, 4]])).astype(DTYPES[type_])
    blocks[4:] = 0
    yield 'eigvals.blocks', values, [blocks]
    yield 'eigvals.nan', values, [np.full((3, 3), np.nan).astype(DTYPES[type_])]
  yield 'gees', schur, [matrix(type_, 6, 6)]


@family
def custom_calls(f):
  for type_ in NEAR:
    for name, function, operands in [*factorizations(type_), *eigenvalues(type_)]:
      f.jax(f'{name}.{type_}', function, *operands, tol=NEAR[type_])
  diagonals = [np.abs(normals('f32', (5,), i)) + i for i in range(3)]
  f.jax('gtsv.f32', lambda lower, d, upper, b: lax.linalg.tridiagonal_solve(
      lower.at[0].set(0), d, upper.at[-1].set(0), b), *diagonals, matrix('f32', 5, 2),
        tol=NEAR['f32'])
  for type_ in ('f32', 'f64'):  # rows are exchanged in some of them
    f.jax(f'gtsv.batch.{type_}', lambda lower, d, upper, b: lax.linalg.tridiagonal_solve(
        lower.at[:, 0].set(0), d, upper.at[:, -1].set(0), b),
          *(1.5 * normals(type_, (6, 5), i) for i in range(3)), matrix(type_, 6, 5, 2), tol=NEAR[type_])
  f.jax('gradients.f32', jax.grad(lambda a: jnp.linalg.cholesky(a).sum() + jnp.linalg.inv(
      a).sum() + jnp.linalg.slogdet(a)[1] + jnp.linalg.eigvalsh(a)[0]), definite('f32', 4),
        tol=NEAR['f32'])
  x = matrix('f32', 2, 7)
  pair = '(f32[2,3], s32[2,3])'
  for largest in ('true', 'false'):
    attributes = f'frontend_attributes={{mhlo.attributes="{{k = 3 : i64, largest = {largest}}}"}}'
    spelling(f, f'mhlo.topk.{largest}', x, f'{pair} topk(p0), k=3, largest={largest}',
             f'{pair} custom-call(p0), custom_call_target="mhlo.topk", {attributes}')
  spelling(f, 'TopK', x, f'{pair} topk(p0), k=3, largest=true',
           f'{pair} custom-call(p0), custom_call_target="TopK"')
  spelling(f, 'mhlo.erf', x, 'f32[2,7] erf(p0)',
           'f32[2,7] custom-call(p0), custom_call_target="mhlo.erf"', 'ulp 5')
  for hint in ('Sharding', 'annotate_device_placement'):
    spelling(f, hint, x, 'f32[2,7] copy(p0)', f'f32[2,7] custom-call(p0), custom_call_target='
             f'"{hint}", custom_call_has_side_effect=true')


def spelling(f, name, x, operation, call, tol='exact'):
  """The result of the operation, under the text of the call: XLA reads both, and its client
  crashes on most of these calls when it is asked without the passes that turn them into operations.
  """
  f.text(name, program('call', [shape_of(x)], f'r = {operation}'), x, check=False, restyle=False,
         stored=program('call', [shape_of(x)], f'r = {call}'), tol=tol)
