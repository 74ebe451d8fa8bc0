"""The functions whose derivatives tests/api/gradients_jax.test.mjs compares with JAX's: (name, function, arguments)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

random = np.random.default_rng(0)
F64, C128 = np.float64, np.complex128


def real(*sizes, dtype=np.float32):
  return random.standard_normal(sizes).astype(dtype)


def unit(*sizes, dtype=np.float32):
  """Numbers from 0.1 to 0.9."""
  return (random.random(sizes) * 0.8 + 0.1).astype(dtype)


def complex_(*sizes, dtype=np.complex64):
  return (random.standard_normal(sizes) + 1j * random.standard_normal(sizes)).astype(dtype)


def definite(n, *batch):
  a = random.standard_normal((*batch, n, n))
  return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


def ints(*values):
  return np.int32(values)


def ramp(n):
  return np.arange(n, dtype=np.float32)


CASES = []


def case(name, function, *arguments):
  CASES.append((name, function, arguments))


# ---- Element-wise ----

for name in 'sin cos tan tanh exp expm1 sinh cosh arcsinh square negative sign floor'.split():
  case(name, getattr(jnp, name), real(5, 7))
for name in 'log log1p sqrt arcsin arccos arctanh cbrt'.split():
  case(name, getattr(jnp, name), unit(5, 7))
for name in 'abs exp sin log sqrt tanh real imag conj'.split():
  case(f'complex-{name}', getattr(jnp, name), complex_(9))
case('rsqrt', lax.rsqrt, unit(9))
case('logistic', jax.nn.sigmoid, real(9))
case('erf', jax.scipy.special.erf, real(9))
case('arccosh', jnp.arccosh, unit(9) + 1)
case('abs', jnp.abs, real(9))
case('complex-multiply', lambda x, y: x * y, complex_(9), complex_(9))
case('complex-divide', lambda x, y: x / y, complex_(4), complex_(4))
case('complex', lambda x, y: lax.complex(x, y) ** 2, real(4), real(4))
case('add', lambda x, y: x + y * 2, real(3, 4), real(3, 4))
case('subtract', lambda x, y: x - y, real(3), real(3))
case('divide', lambda x, y: x / y, real(3), unit(3))
case('maximum-equal', jnp.maximum, np.float32([1, 2, 3]), np.float32([1, 1, 5]))
case('minimum-equal', jnp.minimum, np.float32([1, 2, 3]), np.float32([1, 1, 5]))
case('power', lambda x, y: x**y, unit(5), real(5))
case('power-constant', lambda x: x**3.5, unit(5))
case('power-integer', lambda x: x**5, real(5))
case('power-at-zero', lambda x, y: x**y, np.float32([0, 0, 2, 0]), np.float32([0, 2, 0, 1]))
case('atan2', jnp.arctan2, real(5), real(5))
case('remainder', lax.rem, real(5), unit(5))
case('clamp', lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.5)), real(20))
case('clamp-bounds', lax.clamp, real(20), real(20), real(20))
case('select', lambda x, y: jnp.where(x > 0, x * y, y), real(20), real(20))
case('convert-bf16', lambda x: x.astype(jnp.bfloat16) * 2, real(20))
case('convert-f64', lambda x: x.astype(F64) * 3, real(4))
case('convert-complex', lambda x: x.astype(np.complex64) * (1 + 2j), real(4))
case('reduce-precision', lambda x: lax.reduce_precision(x, 8, 7) * 2, real(9))
case('f64', lambda x: jnp.sin(x) ** 2, real(4, dtype=F64))
case('f16', lambda x: jnp.sin(x) * x, real(4, dtype=np.float16))
case('complex128', lambda x: jnp.sin(x) * x, complex_(4, dtype=C128))
case('scalar', lambda x: x * x, np.float32(3))
case('abs-at-zero', lambda x: jnp.abs(x) + jnp.sqrt(x + 1), np.float32([0, 1]))
case('relu-at-zero', jax.nn.relu, np.float32([-1, 0, 1]))
case('lgamma', jax.scipy.special.gammaln, np.float32([0.2, 0.7, 1.3, 2.9, -0.3]))
case('digamma', jax.scipy.special.digamma, np.float32([0.2, 0.7, 1.3, 2.9]))
case('erf-inv', jax.scipy.special.erfinv, np.float32([-0.9, 0, 0.3, 0.999]))
case('erfc', jax.scipy.special.erfc, real(9))
case('logaddexp', jnp.logaddexp, real(4), real(4))
case('sinc', jnp.sinc, real(4))
case('hypot', jnp.hypot, real(4), real(4))

# ---- Movement ----

case('broadcast', lambda x: jnp.broadcast_to(x, (4, 3, 5)) * ramp(5), real(3, 1))
case('reshape', lambda x: x.reshape(6, 2) * ramp(2), real(3, 4))
case('transpose-reverse', lambda x: x.transpose(2, 0, 1)[::-1] ** 2, real(3, 4, 5))
case('slice', lambda x: x[1:7:2, 3:] ** 2, real(8, 9))
case('pad', lambda x, v: lax.pad(x, v, [(1, 2, 1), (-1, 3, 0)]) ** 2, real(4, 5), np.float32(0.3))
case('concatenate', lambda x, y: jnp.concatenate([x, y, x * 2], 1) ** 2, real(2, 3), real(2, 4))
case('dynamic-slice', lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)) ** 2, real(5, 5), np.int64(7))
case('dynamic-update-slice', lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)) ** 2,
     real(5, 5), real(2, 2), np.int64(2))
case('gather', lambda x, i: x[i] ** 2, real(6, 3), ints(0, 2, 2, 5, -1))
case('gather-fill', lambda x, i: jnp.take(x, i, axis=0, mode='fill') ** 2, real(6, 3), ints(0, 2, 3))
case('gather-clip', lambda x, i: jnp.take(x, i, axis=0, mode='clip') ** 2, real(6, 3), ints(0, 2, 9))
case('gather-batched', lambda x, i: jnp.take_along_axis(x, i, 1) ** 2, real(3, 6),
     np.int32([[0, 1], [5, 5], [2, 3]]))
case('scatter-add', lambda x, u, i: x.at[i].add(u) ** 2, real(6, 3), real(4, 3), ints(0, 2, 2, 9))
case('scatter-set', lambda x, u, i: x.at[i].set(u) ** 2, real(6, 3), real(4, 3), ints(0, 2, 2, 9))
case('scatter-set-unique', lambda x, u, i: x.at[i].set(u, unique_indices=True) ** 2, real(6, 3),
     real(3, 3), ints(0, 2, 5))
case('scatter-multiply', lambda x, u, i: x.at[i].multiply(u, unique_indices=True) ** 2, real(6, 3),
     real(3, 3), ints(0, 2, 4))
case('scatter-max', lambda x, u, i: x.at[i].max(u) ** 2, real(6, 3), real(4, 3), ints(0, 2, 2, 5))
case('scatter-min', lambda x, u, i: x.at[i].min(u) ** 2, real(6, 3), real(4, 3), ints(0, 2, 2, 5))
case('scatter-points', lambda x, u: x.at[jnp.array([0, 1]), jnp.array([1, 2])].add(u) ** 3,
     real(3, 3), real(2))

# ---- Products ----

case('dot', lambda x, y: x @ y, real(3, 4), real(4, 5))
case('dot-vectors', jnp.dot, real(4), real(4))
case('dot-batched', lambda x, y: jnp.einsum('bij,bkj->bik', x, y), real(2, 3, 4), real(2, 5, 4))
case('dot-many', lambda x, y: jnp.einsum('abcd,cebd->ae', x, y), real(2, 3, 4, 5), real(4, 6, 3, 5))
case('dot-order', lambda x, y: jnp.einsum('abcd,dbec->bae', x, y), real(2, 3, 4, 5), real(5, 3, 6, 4))
case('dot-wide', lambda x, y: lax.dot_general(
    x.astype(jnp.bfloat16), y.astype(jnp.bfloat16), (((1,), (0,)), ((), ())),
    preferred_element_type=jnp.float32), real(3, 4), real(4, 5))


def convolution(**options):
  return lambda x, w: lax.conv_general_dilated(x, w, **options)


NHWC = ('NHWC', 'HWIO', 'NHWC')
case('convolution', convolution(window_strides=(1, 1), padding='SAME'), real(2, 3, 8, 9), real(4, 3, 3, 3))
case('convolution-dilated', convolution(window_strides=(2, 3), padding=((1, 2), (0, -1)),
     lhs_dilation=(2, 1), rhs_dilation=(1, 2)), real(2, 3, 8, 9), real(4, 3, 3, 2))
case('convolution-groups', convolution(window_strides=(1, 2), padding='SAME', feature_group_count=2,
     dimension_numbers=NHWC), real(2, 8, 9, 4), real(3, 3, 2, 6))
case('convolution-batch-groups', convolution(window_strides=(1,), padding='VALID', batch_group_count=2),
     real(4, 3, 8), real(6, 3, 3))
case('convolution-line', convolution(window_strides=(2,), padding='SAME',
     dimension_numbers=('NWC', 'WIO', 'NWC')), real(2, 8, 3), real(3, 3, 5))
case('convolution-transposed', lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME'),
     real(2, 5, 5, 3), real(3, 3, 3, 4))
case('convolution-depthwise', convolution(window_strides=(1, 1), padding='SAME', feature_group_count=4,
     dimension_numbers=NHWC), real(1, 6, 6, 4), real(3, 3, 1, 8))

# ---- Reductions and windows ----

case('sum', lambda x: x.sum(1) ** 2, real(3, 4, 5))
case('mean', lambda x: jnp.mean(x, (0, 2)) ** 2, real(3, 4, 5))
case('max', lambda x: x.max(1) ** 2, real(3, 4, 5))
case('max-equal', lambda x: x.max() ** 2, np.float32([1, 3, 3, 2]))
case('min', lambda x: x.min(0), real(3, 4))
case('product', lambda x: x.prod(1), real(3, 4, 5))
case('product-zero', lambda x: x.prod(), np.float32([2, 0, 3, 4]))
case('product-two', lambda x: x.prod((0, 2)), real(3, 4, 2))
case('logsumexp', lambda x: jax.nn.logsumexp(x, 1), real(3, 7))
case('softmax', lambda x: jax.nn.softmax(x, -1), real(3, 7))
case('log-softmax', lambda x: jax.nn.log_softmax(x, -1), real(3, 7))
case('variance', lambda x: jnp.var(x, 1), real(3, 7))
case('norm', lambda x: jnp.linalg.norm(x, axis=1), real(3, 7))
case('argmax', lambda x: x[jnp.argmax(x)] + jnp.max(x), real(7))
case('max-pool', lambda x: lax.reduce_window(
    x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME') ** 2, real(1, 5, 5, 2))
case('max-pool-overlap', lambda x: lax.reduce_window(
    x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 2, 1), 'VALID') ** 2, real(1, 5, 7, 2))
case('min-pool', lambda x: lax.reduce_window(x, jnp.inf, lax.min, (3,), (2,), 'VALID') ** 2, real(9))
case('sum-pool', lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2), (1, 2, 2), 'SAME') ** 2,
     real(2, 7, 5))
case('sum-pool-dilated', lambda x: lax.reduce_window(
    x, 0.0, lax.add, (3,), (2,), ((1, 2),), base_dilation=(2,), window_dilation=(2,)) ** 2, real(7))
case('cumulative-sum', lambda x: jnp.cumsum(x, 1) ** 2, real(3, 5))
case('cumulative-product', lambda x: jnp.cumprod(x), real(6))
case('cumulative-product-reversed', lambda x: lax.cumprod(x, reverse=True), real(6))
case('cumulative-max', lambda x: lax.cummax(x), real(6))
case('cumulative-logsumexp', lambda x: lax.cumlogsumexp(x), real(6))
case('window-product', lambda x: lax.reduce_window(x, np.float32(1), lax.mul, (2, 3), (1, 2), 'SAME'), real(4, 7))
case('window-computation', lambda x: lax.reduce_window(
    x, np.float32(0), lambda a, b: a + b + a * b, (3,), (2,), 'VALID'), real(9))
case('reduce-computation', lambda x: lax.reduce(
    x, np.float32(0), lambda a, b: a + b + a * b, (1,)), real(3, 5))
case('reduce-pair', lambda x, y: lax.reduce(
    (x, y), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
     real(5, 3), real(5, 3))

# ---- Sorting, transforms, linear algebra ----

case('sort', lambda x: jnp.sort(x, 1) * ramp(5), real(3, 5))
case('sort-pairs', lambda x, y: lax.sort((x, y), num_keys=1, dimension=0)[1] * ramp(5)[:, None],
     real(5, 3), real(5, 3))
case('top-k', lambda x: lax.top_k(x, 3)[0] * ramp(3), real(2, 6))
case('median', jnp.median, real(7))
case('fft', jnp.fft.fft, complex_(2, 6))
case('ifft2', jnp.fft.ifft2, complex_(4, 6))
case('rfft', jnp.fft.rfft, real(2, 7))
case('rfft2', jnp.fft.rfft2, real(3, 4, 6))
case('irfft', jnp.fft.irfft, complex_(2, 5))
case('irfft-odd', lambda x: jnp.fft.irfft(x, 7), complex_(2, 4))
case('irfft2', jnp.fft.irfft2, complex_(2, 4, 5))
case('cholesky', jnp.linalg.cholesky, definite(4))
case('cholesky-batched', lambda x: jnp.linalg.cholesky(x) ** 2, definite(3, 2))
case('cholesky-complex', lambda x: jnp.linalg.cholesky(x @ jnp.conj(x.T) + 4 * jnp.eye(3)),
     complex_(3, 3, dtype=C128))
for left in (True, False):
  for lower in (True, False):
    for transposed in (True, False):
      solve = lambda a, b, left=left, lower=lower, transposed=transposed: lax.linalg.triangular_solve(
          a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=transposed)
      matrix = real(3, 3, dtype=F64) + 3 * np.eye(3)
      case(f'solve-left{left}-lower{lower}-transposed{transposed}', solve, matrix,
           real(3, 2, dtype=F64) if left else real(2, 3, dtype=F64))
case('solve-adjoint', lambda a, b: lax.linalg.triangular_solve(
    a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True),
     complex_(3, 3, dtype=C128) + 3 * np.eye(3), complex_(3, 2, dtype=C128))
case('determinant', jnp.linalg.det, definite(3))
case('inverse', jnp.linalg.inv, definite(3))
case('solve', jnp.linalg.solve, definite(3), real(3, 2, dtype=F64))
case('log-determinant', lambda x: jnp.linalg.slogdet(x)[1], definite(3, 2))
case('lu-tall', lambda x: jax.scipy.linalg.lu(x)[1:], real(4, 3, dtype=F64))
case('lu-wide', lambda x: jax.scipy.linalg.lu(x)[1:], real(3, 4, dtype=F64))
case('eigenvalues', lambda x: jnp.linalg.eigvalsh((x + x.T) / 2), definite(3))
case('eigenvectors', lambda x: jnp.abs(jnp.linalg.eigh((x + x.T) / 2)[1]), definite(3))
case('qr', lambda x: tuple(jnp.linalg.qr(x)), real(4, 3, dtype=F64))
case('singular-values', lambda x: jnp.linalg.svd(x, compute_uv=False), real(4, 3, dtype=F64))
case('singular-vectors', lambda x: tuple(map(jnp.abs, jnp.linalg.svd(x, full_matrices=False))),
     real(4, 3, dtype=F64))
case('singular-vectors-wide', lambda x: tuple(map(jnp.abs, jnp.linalg.svd(x, full_matrices=False))),
     real(3, 4, dtype=F64))
case('exponential-of-matrix', jax.scipy.linalg.expm, real(3, 3, dtype=F64))
case('cholesky-solve', lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b),
     definite(3), real(3, dtype=F64))

# ---- Control flow ----

BRANCHES = (lambda x, y: jnp.sin(x) * y, lambda x, y: x + y**2)
for taken in (0, 1):
  case(f'conditional-{taken}', lambda p, x, y: lax.cond(p > 0, *BRANCHES, x, y), np.int32(taken),
       real(4), real(4))
case('switch', lambda i, x: lax.switch(i, [jnp.sin, lambda x: x**3, lambda x: x * 0], x), np.int32(1), real(4))
case('loop', lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * x + i, x), real(4))
case('loop-of-unknown-count', lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, x), unit(3), np.int64(4))
case('scan', lambda w, xs: lax.scan(
    lambda c, x: (jnp.tanh(w @ c + x), c.sum()), jnp.zeros(3, np.float32), xs), real(3, 3), real(6, 3))
case('scan-reversed', lambda w, xs: lax.scan(
    lambda c, x: (jnp.tanh(w @ c + x), c), jnp.ones(3, np.float32), xs, reverse=True),
     real(3, 3), real(6, 3))


def nested_scan(w, xs):
  inner = lambda c, x: (jnp.sin(c * w) + x, c)

  def outer(c, x):
    c, ys = lax.scan(inner, c, jnp.stack([x, x * 2]))
    return c, ys.sum(0)

  return lax.scan(outer, jnp.ones(3, np.float32), xs)


case('scan-in-scan', nested_scan, real(3), real(4, 3))
case('conditional-in-scan', lambda x: lax.scan(
    lambda c, i: (lax.cond(i % 2 == 0, jnp.sin, lambda c: c * x, c), c), x, jnp.arange(5))[0], real(3))
case('associative-scan', lambda x: lax.associative_scan(lambda a, b: a * b, x), unit(7))
case('map', lambda x: lax.map(lambda v: jnp.sin(v).sum() * v, x), real(4, 3))
case('barrier', lambda x: lax.optimization_barrier(jnp.sin(x)) * 2, real(4))
case('checkpoint', lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x) * 2, real(4))
case('of-a-gradient', lambda x, w: jax.grad(lambda x: jnp.tanh(w @ x).sum())(x), real(3), real(3, 3))
case('integers', lambda x, i: (x * 2, i + 1, x.sum()), real(3), ints(1, 2))

# ---- Layers ----


def perceptron(layers, x):
  for w, b in layers:
    x = jax.nn.relu(x @ w + b)
  return (x**2).mean()


def attention(x, *weights):
  q, k, v = (x @ w for w in weights)
  scores = jnp.einsum('bid,bjd->bij', q, k) / 2
  scores = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), scores, -1e9)
  return jnp.einsum('bij,bjd->bid', jax.nn.softmax(scores, -1), v)


def layer_norm(x, scale, bias):
  centred = x - x.mean(-1, keepdims=True)
  return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias


case('perceptron', perceptron, [(real(4, 8), real(8)), (real(8, 3), real(3))], real(5, 4))
case('attention', attention, real(2, 5, 4), real(4, 4), real(4, 4), real(4, 4))
case('layer-norm', layer_norm, real(4, 6), real(6), real(6))
case('gelu', jax.nn.gelu, real(9))
case('gelu-exact', lambda x: jax.nn.gelu(x, approximate=False), real(9))
case('silu', jax.nn.silu, real(9))
case('softplus', jax.nn.softplus, real(9))
case('embedding', lambda e, i: (e[i] ** 2).sum(), real(10, 4), np.int32([[1, 2], [2, 9]]))

# JAX has no derivative of apply; that of its meaning is the same.
CASES.append(('scatter-apply', lambda x: x.at[ints(1, 3)].set(jnp.sin(x[ints(1, 3)]) * 2), (real(5, 3),),
              lambda x: x.at[ints(1, 3)].apply(lambda v: jnp.sin(v) * 2, unique_indices=True)))
