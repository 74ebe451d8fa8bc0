"""Functions whose programs call LAPACK's routines, or other library functions, for generate.py.

JAX has no rule for geqrf, householder_product and ormqr themselves. JAX then differentiates a function with the same
values, and the program of the routine (`lowered`) must have these derivatives.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(11)
F64, C128 = np.float64, np.complex128
CALLS = []


def real(*shape, dtype=F64):
  return RANDOM.standard_normal(shape).astype(dtype)


def cplx(*shape, dtype=C128):
  return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(dtype)


def case(name, function, *arguments, lowered=None):
  CALLS.append((f'call {name}', function, arguments, lowered))


# ---- eigenvalues ----


def eig(**options):
  return lambda a: tuple(lax.linalg.eig(a, enable_eigvec_derivs=True, **options))


def scaled(results):
  """Eigenvectors whose first element is 1: the sign of real ones is LAPACK's choice."""
  return (results[0], *(v / v[..., :1, :] for v in results[1:]))


case('eigvals', jnp.linalg.eigvals, real(4, 4))
case('eigvals-complex', jnp.linalg.eigvals, cplx(3, 3))
case('eigvals-f32', jnp.linalg.eigvals, real(3, 3, dtype=np.float32))
case('eig', eig(compute_left_eigenvectors=False), real(4, 4))
case('eig-left', lambda a: scaled(eig(compute_right_eigenvectors=False)(a)), real(4, 4))
case('eig-both', eig(), real(3, 3))
case('eig-batched', lambda a: scaled(eig()(a)), real(2, 3, 3))
case('eig-complex', eig(), cplx(4, 4))
case('eig-real-spectrum', eig(), real(3, 3) / 9 + np.diag([1.0, 2, 3]))
case('roots', lambda p: jnp.roots(p, strip_zeros=False), real(4))

# ---- QR ----

for name, shape in (('tall', (5, 3)), ('square', (3, 3)), ('wide', (3, 5)), ('batched', (2, 4, 2)), ('column', (4, 1))):
  for mode in ('reduced', 'complete'):
    case(f'qr-{mode}-{name}', lambda a, mode=mode: tuple(jnp.linalg.qr(a, mode=mode)), real(*shape))
  case(f'qr-complex-{name}', lambda a: tuple(jnp.linalg.qr(a, mode='complete')), cplx(*shape))
case('qr-r', lambda a: jnp.linalg.qr(a, mode='r'), real(4, 3))
case('qr-r-upper', lambda a: jnp.linalg.qr(a, mode='r'), np.triu(real(3, 3)))
case('qr-f32', lambda a: tuple(jnp.linalg.qr(a, mode='complete')), real(4, 3, dtype=np.float32))



def pivoted(a, mode):
  return jax.scipy.linalg.qr(a, mode=mode, pivoting=True)[:2]


def permuted(a, mode):
  """The same. JAX's own rule of wide matrices takes columns that are not permuted: finite differences do not agree."""
  return jax.scipy.linalg.qr(a[:, jax.scipy.linalg.qr(a, pivoting=True)[2]], mode=mode)


for shape in ((5, 3), (3, 3), (3, 5)):
  for mode in ('economic', 'full'):
    case(
      f'qr-pivoting-{mode}-{shape[0]}-{shape[1]}',
      lambda a, mode=mode: permuted(a, mode),
      real(*shape),
      lowered=lambda a, mode=mode: pivoted(a, mode),
    )


def reflectors(a):
  """The raw form of QR, of Q and R: Q - E = V U, an LU decomposition without pivots, where diag(U) = -taus."""
  q, r = jnp.linalg.qr(a, mode='reduced')
  m, k = q.shape
  count = k - 1 if m == k and not jnp.iscomplexobj(a) else k
  rest = q[:, :count] - jnp.eye(m, count, dtype=a.dtype)
  v, u = jnp.zeros_like(rest), []
  for j in range(count):
    u.append(rest[j])
    v = v.at[:, j].set(rest[:, j] / rest[j, j])
    rest = rest - jnp.outer(v[:, j], rest[j])
  below = jnp.zeros((m, a.shape[1]), a.dtype).at[:, :count].set(jnp.tril(v, -1))
  taus = jnp.zeros(k, a.dtype).at[:count].set(jnp.stack([-row[j] for j, row in enumerate(u)]))
  return below.at[:k].add(r), taus


def raw(a):
  return tuple(lax.linalg.geqrf(a)) if hasattr(lax.linalg, 'geqrf') else jax._src.lax.linalg.geqrf(a)


for name, a in (
  ('tall', real(5, 3)),
  ('square', real(3, 3)),
  ('wide', real(3, 4)),
  ('complex', cplx(4, 3)),
  ('complex-square', cplx(3, 3)),
):
  case(f'geqrf-{name}', reflectors, a, lowered=raw)


def product(packed, taus, columns):
  """H1 ... Hk, reflector by reflector."""
  q = jnp.eye(packed.shape[0], columns, dtype=packed.dtype)
  for j in reversed(range(taus.shape[0])):
    v = jnp.concatenate([jnp.zeros(j, packed.dtype), jnp.ones(1, packed.dtype), packed[j + 1 :, j]])
    q = q - taus[j] * jnp.outer(v, v.conj() @ q)
  return q


for name, make in (('real', real), ('complex', cplx)):
  case(
    f'householder-product-{name}',
    lambda a, taus: product(a, taus, a.shape[1]),
    make(5, 4),
    make(3),
    lowered=lax.linalg.householder_product,
  )
  for left in (True, False):
    for transpose in (True, False):

      def multiplied(a, taus, c, left=left, transpose=transpose):
        q = product(a, taus, a.shape[0])
        q = q.conj().T if transpose else q
        return q @ c if left else c @ q

      case(
        f'ormqr-{name}-{"left" if left else "right"}{"-transposed" if transpose else ""}',
        multiplied,
        make(4, 3),
        make(3),
        make(4, 2) if left else make(2, 4),
        lowered=lambda a, taus, c, left=left, transpose=transpose: lax.linalg.ormqr(
          a, taus, c, left=left, transpose=transpose
        ),
      )
# jax.scipy.linalg.qr_multiply is ormqr of geqrf, and has no derivative in JAX.


def qr_multiply(a, c):
  q, r = jnp.linalg.qr(a, mode='complete')
  return c @ q[:, : a.shape[1]], r[: a.shape[1]]


case('qr-multiply', qr_multiply, real(4, 3), real(2, 4), lowered=lambda a, c: jax.scipy.linalg.qr_multiply(a, c)[:2])

# ---- Tridiagonal systems ----


def tridiagonal(make, *batch):
  n = 5
  return make(*batch, n), make(*batch, n) + 4, make(*batch, n), make(*batch, n, 2)


case('tridiagonal-solve', lax.linalg.tridiagonal_solve, *tridiagonal(real))
case('tridiagonal-solve-batched', lax.linalg.tridiagonal_solve, *tridiagonal(real, 3))
case('tridiagonal-solve-complex', lax.linalg.tridiagonal_solve, *tridiagonal(cplx))
case(
  'tridiagonal-solve-perturbed',
  lambda *xs: lax.linalg.tridiagonal_solve(*xs, perturb_singular=True),
  *tridiagonal(real),
)
case(
  'tridiagonal-solve-second',
  jax.grad(lambda d, dl, du, b: (lax.linalg.tridiagonal_solve(dl, d, du, b) ** 2).sum()),
  real(3) + 4,
  real(3),
  real(3),
  real(3, 1),
)

# ---- Sparse matrices ----

ROWS, COLUMNS = np.int32([0, 2, 3, 3, 6]), np.int32([0, 2, 1, 0, 1, 2])


def dense(data):
  rows = np.repeat(np.arange(4), np.diff(ROWS))
  return jnp.zeros((4, 3), data.dtype).at[rows, COLUMNS].add(data)


def csr(data, x):
  call = jax.ffi.ffi_call('cpu_csr_sparse_dense_ffi', jax.ShapeDtypeStruct((4, *x.shape[1:]), x.dtype))
  return call(data, ROWS, COLUMNS, x)


case('csr-vector', lambda data, x: dense(data) @ x, real(6), real(3), lowered=csr)
case('csr-matrix', lambda data, x: dense(data) @ x, real(6), real(3, 2), lowered=csr)
case('csr-complex', lambda data, x: dense(data) @ x, cplx(6), cplx(3, 2), lowered=csr)
