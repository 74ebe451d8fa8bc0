"""More functions for generate.py, beside those of functions.py, written by someone who had not read the rules.

Left out, as the values cannot agree: betainc, gammainc and random.gamma, whose derivatives are custom rules of JAX that
an export does not keep; complex arccosh (docs/differences.md).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(5)
F64, C128 = np.float64, np.complex128
OTHERS = []


def real(*shape, dtype=np.float32):
  return RANDOM.standard_normal(shape).astype(dtype)


def unit(*shape, dtype=np.float32):
  """Between 0.1 and 0.9."""
  return (RANDOM.random(shape) * 0.8 + 0.1).astype(dtype)


def cplx(*shape, dtype=np.complex64):
  return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(dtype)


def ints(*values):
  return np.int32(values)


def case(name, function, *arguments):
  OTHERS.append((f'other {name}', function, arguments, None))


def conv(**options):
  return lambda x, w: lax.conv_general_dilated(x, w, **options)


# convolutions
case('conv-3d', conv(window_strides=(1, 2, 1), padding='SAME'), real(1, 2, 4, 5, 4), real(3, 2, 2, 3, 2))
case(
  'conv-groups-dilated',
  conv(
    window_strides=(2, 1), padding=((2, 1), (1, 3)), lhs_dilation=(1, 2), rhs_dilation=(2, 1), feature_group_count=3
  ),
  real(2, 6, 7, 6),
  real(6, 2, 2, 3),
)
case(
  'conv-batch-groups-2d',
  conv(window_strides=(1, 2), padding=((1, 0), (0, 1)), batch_group_count=3),
  real(6, 2, 6, 7),
  real(6, 2, 3, 2),
)
case(
  'conv-batch-groups-dilated',
  conv(window_strides=(2,), padding=((1, 2),), batch_group_count=2, lhs_dilation=(2,), rhs_dilation=(2,)),
  real(4, 3, 8),
  real(4, 3, 3),
)
case('conv-negative-pad', conv(window_strides=(1, 1), padding=((-1, 2), (-2, -1))), real(2, 3, 8, 8), real(2, 3, 3, 2))
case('conv-complex', conv(window_strides=(1,), padding='SAME'), cplx(1, 2, 6), cplx(3, 2, 3))
case('conv-full-window', conv(window_strides=(1, 1), padding='VALID'), real(2, 3, 4, 4), real(5, 3, 4, 4))
case('conv-stride-larger', conv(window_strides=(3, 3), padding='VALID'), real(1, 2, 8, 7), real(2, 2, 2, 2))
case(
  'conv-labels',
  conv(window_strides=(1, 1), padding='SAME', dimension_numbers=('HNWC', 'OHWI', 'NCHW')),
  real(5, 2, 6, 3),
  real(4, 3, 2, 3),
)
case(
  'conv-transpose',
  lambda x, w: lax.conv_transpose(x, w, (2, 3), 'VALID', transpose_kernel=False),
  real(1, 4, 3, 2),
  real(3, 2, 2, 4),
)
case(
  'conv-bf16-pref',
  lambda x, w: lax.conv_general_dilated(
    x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), (1,), 'SAME', preferred_element_type=np.float32
  ),
  real(1, 2, 6),
  real(3, 2, 3),
)
# scatter
I = np.int32([[1], [3], [1], [9]])
dn = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
case('scatter-add-oob', lambda x, u: lax.scatter_add(x, I, u, dn) ** 2, real(5, 3), real(4, 3))
case('scatter-mul', lambda x, u: lax.scatter_mul(x, I[[0, 1]], u, dn, unique_indices=True), real(5, 3), real(2, 3))
case('scatter-min', lambda x, u: lax.scatter_min(x, I, u, dn), real(5, 3), real(4, 3))
case('scatter-max', lambda x, u: lax.scatter_max(x, I, u, dn), real(5, 3), real(4, 3))
case('scatter-set', lambda x, u: x.at[ints(1, 3, 0)].set(u) ** 2, real(5, 3), real(3, 3))
case('scatter-set-repeat', lambda x, u: x.at[ints(1, 3, 1)].set(u) ** 2, real(5, 3), real(3, 3))
case('scatter-divide', lambda x, u: x.at[ints(1, 3)].divide(u), real(5, 3), unit(2, 3))
case('scatter-power', lambda x: x.at[ints(1, 3)].power(3.0), unit(5, 3))
case('scatter-apply', lambda x: x.at[ints(1, 3)].apply(jnp.sin), real(5, 3))
case('scatter-2d', lambda x, u: x.at[ints(1, 3), :, ints(0, 2)].add(u), real(5, 2, 3), real(2, 2))
case(
  'scatter-batched',
  jax.vmap(lambda x, i, u: x.at[i].add(u) * x),
  real(4, 5),
  np.int32([[0, 1], [2, 2], [4, 0], [3, 1]]),
  real(4, 2),
)
case('scatter-drop', lambda x, u: x.at[ints(-7, 2, 9)].add(u, mode='drop') ** 2, real(5), real(3))
case(
  'gather-modes',
  lambda x: x.at[ints(-7, 2, 9)].get(mode='fill', fill_value=3) ** 2 + x.at[ints(4, 2, 9)].get(mode='clip'),
  real(5),
)
case('gather-batched', jax.vmap(lambda x, i: x[i] * x.sum()), real(4, 5), np.int32([[0, 1], [2, 2], [4, 0], [3, 1]]))
case('take-along', lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1) * np.arange(4, dtype=np.float32), real(3, 4))
case(
  'gather-slices',
  lambda x, i: lax.gather(
    x, i, lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1)), (2, 2)
  ),
  real(5, 6),
  np.int32([[0, 1], [3, 4], [2, 2]]),
)
# reductions
case(
  'reduce-logsumexp-pair',
  lambda x: (lambda m, s: m + jnp.log(s))(
    *lax.reduce(
      (x, jnp.ones_like(x)),
      (np.float32(-np.inf), np.float32(0)),
      lambda a, b: (
        jnp.maximum(a[0], b[0]),
        a[1] * jnp.exp(a[0] - jnp.maximum(a[0], b[0])) + b[1] * jnp.exp(b[0] - jnp.maximum(a[0], b[0])),
      ),
      (1,),
    )
  ),
  real(3, 5),
)
case(
  'reduce-argmax-pair',
  lambda x: lax.reduce(
    (x, jnp.broadcast_to(np.arange(5, dtype=np.int32), (3, 5))),
    (np.float32(-np.inf), np.int32(0)),
    lambda a, b: (jnp.where(a[0] >= b[0], a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])),
    (1,),
  )[0],
  real(3, 5),
)
case('reduce-complex-prod', lambda x: jnp.prod(x, 1), cplx(2, 4))
case('reduce-all-any', lambda x: jnp.where(jnp.any(x > 0, 1), x.sum(1), x.prod(1)), real(3, 4))
case('reduce-precision-sum', lambda x: lax.reduce_precision(x.sum(1), 8, 7) * x.max(1), real(3, 4))
case(
  'window-min-pad',
  lambda x: lax.reduce_window(x, np.float32(np.inf), lax.min, (2, 3), (1, 2), ((1, 0), (1, 1))) * 2,
  real(4, 7),
)
case(
  'window-add-dilated',
  lambda x: lax.reduce_window(x, np.float32(0), lax.add, (2, 3), (1, 2), ((1, 0), (1, 1)), (2, 1), (1, 2)) ** 2,
  real(4, 7),
)
case(
  'window-max-dilated',
  lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (2, 2), (1, 1), ((1, 0), (0, 1)), (1, 1), (2, 2)),
  real(4, 7),
)
case(
  'avg-pool-grad',
  lambda x: jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), 'VALID') ** 3).sum())(x),
  real(4, 6),
)
case(
  'pool-overlap-grad',
  lambda x: jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), 'SAME') ** 3).sum())(x),
  real(9),
)
case('cummin', lambda x: lax.cummin(x, axis=1, reverse=True), real(2, 6))
case('cumsum-reverse', lambda x: lax.cumsum(x, axis=0, reverse=True) ** 2, real(5, 2))
case('cumlogsumexp-2', lambda x: lax.cumlogsumexp(x, axis=1, reverse=True), real(2, 5))
case('cumprod-zero', lambda x: lax.cumprod(x), np.float32([1, 0, 2, 3]))
case(
  'assoc-scan-pair',
  lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)),
  unit(7),
  real(7),
)
case('assoc-scan-matrix', lambda a: lax.associative_scan(jnp.matmul, a), real(5, 2, 2) / 2)
# sort, top-k
case(
  'sort-three',
  lambda x, y, z: lax.sort((x, y, z), num_keys=2)[2] * np.arange(6, dtype=np.float32),
  np.float32([1, 2, 1, 2, 1, 2]),
  real(6),
  real(6),
)
case('sort-descending', lambda x: jnp.sort(x, descending=True) * np.arange(6, dtype=np.float32), real(6))
case('argsort-gather', lambda x, y: y[jnp.argsort(x)] * np.arange(6, dtype=np.float32), real(6), real(6))
case('top-k-axis', lambda x: lax.top_k(x.T, 2)[0] ** 2, real(4, 3))
case('quantile', lambda x: jnp.quantile(x, np.float32([0.1, 0.5, 0.8])), real(9))
case('percentile-2', lambda x: jnp.percentile(x, 30.0, axis=0), real(5, 3))
case('unique-norm', lambda x: jnp.linalg.norm(x, ord=1) + jnp.linalg.norm(x, ord=np.inf), real(4, 3))
case('nuc-norm', lambda x: jnp.linalg.norm(x, 'nuc'), real(4, 3, dtype=F64))
case('two-norm', lambda x: jnp.linalg.norm(x, 2), real(3, 4, dtype=F64))
# fft
case('fft-real-in', lambda x: jnp.abs(jnp.fft.fft(x)) ** 2, real(3, 8))
case('irfft2-odd', lambda x: jnp.fft.irfftn(x, (3, 5)), cplx(3, 3))
case('rfft3', lambda x: jnp.abs(jnp.fft.rfftn(x)), real(2, 3, 4))
case('fft3', lambda x: jnp.fft.fftn(x, axes=(0, 1, 2)), cplx(2, 3, 4))
case('fft-conv', lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x, 16) * jnp.fft.rfft(k, 16), 16)[:8], real(8), real(5))
# linalg
D = lambda n, *b: (lambda a: a @ np.swapaxes(a, -1, -2) + n * np.eye(n))(RANDOM.standard_normal((*b, n, n)))
case(
  'cho-upper',
  lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a, lower=False), b),
  D(4),
  real(4, 2, dtype=F64),
)
case('qr-square', lambda a: tuple(jnp.linalg.qr(a)), real(3, 3, dtype=F64))
case('qr-batched', lambda a: tuple(jnp.linalg.qr(a)), real(2, 4, 3, dtype=F64))
case('qr-complex', lambda a: tuple(jnp.linalg.qr(a)), cplx(4, 3, dtype=C128))
case('eigh-batched', lambda a: (lambda w, v: (w, jnp.abs(v)))(*jnp.linalg.eigh(a)), D(3, 2))
case('eigh-complex', lambda a: jnp.linalg.eigh(a @ a.conj().T)[0], cplx(3, 3, dtype=C128))
case('eigh-complex-vectors', lambda a: jnp.abs(jnp.linalg.eigh(a @ a.conj().T)[1]), cplx(3, 3, dtype=C128))
case(
  'svd-complex',
  lambda a: (lambda u, s, v: (jnp.abs(u), s, jnp.abs(v)))(*jnp.linalg.svd(a, full_matrices=False)),
  cplx(4, 3, dtype=C128),
)
case('pinv', jnp.linalg.pinv, real(4, 3, dtype=F64))
case('lstsq', lambda a, b: jnp.linalg.lstsq(a, b)[0], real(5, 3, dtype=F64), real(5, dtype=F64))
case('slogdet', lambda a: jnp.linalg.slogdet(a)[1], cplx(3, 3, dtype=C128))
case('det-4', jnp.linalg.det, real(4, 4, dtype=F64))
case('inv-complex', jnp.linalg.inv, cplx(3, 3, dtype=C128) + 2 * np.eye(3))
case('solve-batched', jnp.linalg.solve, D(3, 2), real(2, 3, 2, dtype=F64))
case('lu-complex', lambda a: jax.scipy.linalg.lu(a)[1:], cplx(3, 3, dtype=C128))
case('matrix-power', lambda a: jnp.linalg.matrix_power(a, 5), real(3, 3, dtype=F64))
case('sqrtm-eigh', lambda a: (lambda w, v: (v * jnp.sqrt(w)) @ v.T)(*jnp.linalg.eigh(a)), D(4))
case('expm-batched', jax.scipy.linalg.expm, real(2, 3, 3, dtype=F64))
case('kron', jnp.kron, real(2, 3), real(3, 2))


# norm
def bn(x, s, b):
  m = x.mean((0, 1, 2))
  v = x.var((0, 1, 2))
  return (x - m) / jnp.sqrt(v + 1e-5) * s + b


case('batch-norm', bn, real(2, 3, 3, 4), unit(4), real(4))
# control
case(
  'switch-index',
  lambda i, x, y: lax.switch(i, [lambda x, y: x * y, lambda x, y: jnp.sin(x), lambda x, y: (x @ y) * y], x, y),
  np.int32(2),
  real(3),
  real(3),
)
case('switch-clamped', lambda i, x: lax.switch(i, [jnp.sin, jnp.cos], x), np.int32(7), real(3))
case(
  'cond-nested',
  lambda p, x: lax.cond(p > 0, lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), lambda x: x**2, x),
  np.int32(1),
  real(3),
)
case(
  'cond-in-scan-capture',
  lambda x, w: lax.scan(
    lambda c, i: (lax.cond(i > 2, lambda c: jnp.tanh(c @ w), lambda c: c * w[0], c), c.sum()), x, jnp.arange(5)
  ),
  real(3),
  real(3, 3),
)
case(
  'while-in-scan',
  lambda x: lax.scan(lambda c, i: (lax.fori_loop(0, 3, lambda k, c: jnp.sin(c) * x + k, c), None), x, None, length=3)[
    0
  ],
  real(3),
)
case(
  'scan-in-cond',
  lambda p, x: lax.cond(
    p > 0, lambda x: lax.scan(lambda c, _: (jnp.sin(c) * x, None), x, None, length=4)[0], lambda x: x, x
  ),
  np.int32(1),
  real(3),
)
case('scan-ys-only', lambda xs: lax.scan(lambda c, x: (c, x**2), 0, xs)[1], real(5, 2))
case(
  'scan-two-carry',
  lambda a, b, xs: lax.scan(lambda c, x: ((c[1] * x, c[0] + x), c[0] * c[1]), (a, b), xs),
  real(3),
  real(3),
  real(4, 3),
)
case(
  'scan-int-carry',
  lambda x: lax.scan(lambda c, _: ((c[0] + 1, c[1] * c[0]), c[1]), (np.int32(1), x), None, length=4),
  real(3),
)
case(
  'checkpoint-scan',
  lambda x, w: lax.scan(jax.checkpoint(lambda c, _: (jnp.tanh(w @ c), c)), x, None, length=5),
  real(3),
  real(3, 3),
)
case('checkpoint-of-grad', lambda x: jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum()))(x) ** 2, real(4))
case(
  'grad-of-scan',
  lambda x: jax.grad(lambda x: lax.scan(lambda c, _: (jnp.sin(c) * x, c), x, None, length=4)[0].sum())(x),
  real(3),
)
case('hessian', lambda x: jax.hessian(lambda x: jnp.tanh(x @ x) + jnp.prod(x))(x), real(3))
case('jacfwd-mlp', lambda w, x: jax.jacfwd(lambda x: jnp.tanh(w @ x))(x), real(3, 4), real(4))
case(
  'custom-root-newton',
  lambda a: lax.fori_loop(0, 6, lambda i, x: x - (x**3 - a) / (3 * x**2), jnp.ones_like(a)),
  unit(3) + 1,
)
# complex
case('complex-mix', lambda z, x: jnp.exp(z) * x + jnp.angle(z) + jnp.conj(z) * z.real, cplx(4), real(4))
case('complex-powers', lambda z, w: z**w + z**3, cplx(4) + 2, cplx(4))
case('complex-matmul', lambda a, b: jnp.abs(a @ b).sum(), cplx(3, 4), cplx(4, 2))
case('complex-functions', lambda z: jnp.sinh(z) + jnp.log1p(z) + jnp.expm1(z) + lax.rsqrt(z) + jnp.tan(z), cplx(4))
case('complex-inverse-trig', lambda z: jnp.arcsin(z) + jnp.arctanh(z) + jnp.arcsinh(z) + jnp.arccos(z), cplx(4) * 0.3)
case('complex-sign', lambda z: jnp.sign(z) * z, cplx(4))
# functions
case(
  'special',
  lambda x: (
    jax.scipy.special.gammaln(x)
    + jax.scipy.special.digamma(x)
    + jax.scipy.special.erfinv(x)
    + jax.scipy.special.i0e(x)
    + jax.scipy.special.i1e(x)
  ),
  unit(6, dtype=F64),
)
case('xlogy', lambda x, y: jax.scipy.special.xlogy(x, y) + jax.scipy.special.entr(x), unit(4), unit(4))
case('logaddexp', jnp.logaddexp, real(5), real(5))
case('hypot', jnp.hypot, real(5), real(5))
case('nextafter-round', lambda x: jnp.round(x) * x + jnp.ceil(x) + jnp.sign(x) * x, real(5))
case('floor-divide', lambda x, y: jnp.floor_divide(x, y) * x + jnp.mod(x, y), real(5), unit(5))
case('sinc', jnp.sinc, real(5))
case('where-nan', lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), 0), real(6))
case('interp', lambda x, fp: jnp.interp(x, np.float32([0, 1, 2, 3]), fp), unit(5) * 3, real(4))
case('convolve', jnp.convolve, real(7), real(3))
case('polyval', jnp.polyval, real(4), real(5))
case('trapezoid', lambda y, x: jnp.trapezoid(y, x), real(5), real(5))
case('roll-pad', lambda x: jnp.pad(jnp.roll(x, 2, 0), ((1, 2), (0, 1)), mode='reflect'), real(4, 4))
case('pad-edge', lambda x: jnp.pad(x, ((1, 2), (0, 1)), mode='edge') ** 2, real(3, 4))
case('pad-value', lambda x, v: lax.pad(x, v, ((-1, 2, 1), (1, -1, 0))) ** 2, real(4, 4), np.float32(0.7))
case('dynamic-slice', lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 2)) ** 2, real(5, 4), np.int32(4))
case(
  'dynamic-update',
  lambda x, u, i: lax.dynamic_update_slice(x, u, (i, np.int32(1))) ** 2,
  real(5, 4),
  real(2, 2),
  np.int32(4),
)
case('einsum-trace', lambda a, b: jnp.einsum('iij,jk->ik', a, b) * jnp.trace(a[:, :, 0]), real(3, 3, 4), real(4, 2))
case('ragged-dot', lambda x, w: lax.ragged_dot(x, w, ints(2, 3, 1)), real(6, 4), real(3, 4, 5))
case(
  'attention-jax',
  lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
  real(1, 5, 2, 4),
  real(1, 5, 2, 4),
  real(1, 5, 2, 4),
)
case('softmax-where', lambda x: jax.nn.softmax(x, where=x > -0.5, axis=-1), real(3, 5))
case(
  'glu-etc',
  lambda x: (
    jax.nn.glu(x)
    + jax.nn.celu(x)[:, :3]
    + jax.nn.selu(x)[:, :3]
    + jax.nn.hard_swish(x)[:, :3]
    + jax.nn.relu6(x)[:, :3]
    + jax.nn.mish(x)[:, :3]
  ),
  real(4, 6),
)
case('normal-sample', lambda m, s: m + s * jax.random.normal(jax.random.key(0), (5,)), real(5), unit(5))
case('dropout', lambda x: x * jax.random.bernoulli(jax.random.key(1), 0.5, (5,)) * 2, real(5))


# models
def unet(p, x):
  c = lambda x, w, s=1: jax.nn.relu(
    lax.conv_general_dilated(x, w, (s, s), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  )
  a = c(x, p[0])
  b = c(a, p[1], 2)
  d = c(b, p[2])
  up = jax.image.resize(d, (1, 8, 8, 6), 'bilinear')
  up2 = lax.conv_transpose(d, p[4], (2, 2), 'SAME')
  return (c(jnp.concatenate([a, up, up2], -1), p[3]) ** 2).mean()


case(
  'model-unet',
  unet,
  [real(3, 3, 2, 4) / 2, real(3, 3, 4, 6) / 2, real(3, 3, 6, 6) / 2, real(3, 3, 14, 2) / 2, real(2, 2, 6, 4) / 2],
  real(1, 8, 8, 2),
)


def vae(p, x):
  h = jnp.tanh(x @ p[0])
  m, s = h @ p[1], h @ p[2]
  z = m + jnp.exp(0.5 * s) * jax.random.normal(jax.random.key(3), m.shape)
  y = jax.nn.sigmoid(jnp.tanh(z @ p[3]) @ p[4])
  return (
    -(x * jnp.log(y + 1e-6) + (1 - x) * jnp.log(1 - y + 1e-6)).sum(1).mean()
    - 0.5 * (1 + s - m**2 - jnp.exp(s)).sum(1).mean()
  )


case(
  'model-vae',
  vae,
  [
    real(8, 5, dtype=F64) / 2,
    real(5, 2, dtype=F64) / 2,
    real(5, 2, dtype=F64) / 2,
    real(2, 5, dtype=F64) / 2,
    real(5, 8, dtype=F64) / 2,
  ],
  unit(4, 8, dtype=F64),
)


def flow(p, x):
  ld = 0
  for i, (w, v) in enumerate(p):
    a, b = jnp.split(x, 2, 1)
    s = jnp.tanh(a @ w)
    b = b * jnp.exp(s) + a @ v
    ld = ld + s.sum(1)
    x = jnp.concatenate([b, a], 1)
  return (0.5 * (x**2).sum(1) - ld).mean()


case('model-flow', flow, [(real(3, 3) / 2, real(3, 3) / 2) for _ in range(3)], real(5, 6))


def kalman(A, Q, R, ys):
  def step(s, y):
    m, P, ll = s
    m = A @ m
    P = A @ P @ A.T + Q @ Q.T
    S = P + R @ R.T
    L = jnp.linalg.cholesky(S)
    e = y - m
    a = jax.scipy.linalg.solve_triangular(L, e, lower=True)
    ll = ll - 0.5 * a @ a - jnp.log(jnp.diag(L)).sum()
    K = jnp.linalg.solve(S, P).T
    return (m + K @ e, P - K @ P, ll), None

  return lax.scan(step, (jnp.zeros(2), jnp.eye(2), jnp.float64(0)), ys)[0][2]


case(
  'model-kalman',
  kalman,
  real(2, 2, dtype=F64) / 2,
  real(2, 2, dtype=F64),
  real(2, 2, dtype=F64) + np.eye(2),
  real(6, 2, dtype=F64),
)


def gp(l, s, n, X, y):
  d = ((X[:, None] - X[None]) ** 2).sum(-1)
  K = s * jnp.exp(-d / (2 * l**2)) + (n**2 + 1e-6) * jnp.eye(len(X))
  L = jnp.linalg.cholesky(K)
  a = jax.scipy.linalg.cho_solve((L, True), y)
  return 0.5 * y @ a + jnp.log(jnp.diag(L)).sum()


case('model-gp', gp, np.float64(0.8), np.float64(1.3), np.float64(0.3), real(7, 2, dtype=F64), real(7, dtype=F64))


def lbfgs(x, S, Y):
  f = lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum() + ((1 - x) ** 2).sum()
  q = jax.grad(f)(x)
  al = []
  for s, y in zip(S[::-1], Y[::-1]):
    a = s @ q / (s @ y)
    al.append(a)
    q = q - a * y
  q = q * (S[-1] @ Y[-1]) / (Y[-1] @ Y[-1])
  for s, y, a in zip(S, Y, al[::-1]):
    q = q + (a - y @ q / (s @ y)) * s
  return f(x - 0.1 * q)


case('model-lbfgs', lbfgs, real(4, dtype=F64), real(3, 4, dtype=F64), real(3, 4, dtype=F64) + 1)


def march(c, rad):
  u = jnp.linspace(-0.5, 0.5, 4)
  d = jnp.stack([*jnp.meshgrid(u, u), jnp.ones((4, 4))], -1)
  d = d / jnp.linalg.norm(d, axis=-1, keepdims=True)
  sdf = lambda p: jnp.minimum(jnp.linalg.norm(p - c, axis=-1) - rad, p[..., 1] + 1.0)
  t = lax.fori_loop(0, 12, lambda i, t: t + sdf(d * t[..., None]), jnp.full((4, 4), 0.1))
  n = jax.vmap(jax.vmap(jax.grad(sdf)))(d * t[..., None])
  return jnp.clip(n @ jnp.float64([0.3, 0.8, -0.5]), 0).mean() + jnp.exp(-t).mean()


case('model-ray-marcher', march, np.float64([0.1, -0.05, 3.0]), np.float64(1.1))


def nbody(x, v, m):
  def acc(x):
    d = x[None] - x[:, None]
    r2 = (d**2).sum(-1) + 0.05
    return (m[None, :, None] * d / (r2**1.5)[..., None]).sum(1)

  def step(s, _):
    x, v = s
    v = v + 0.005 * acc(x)
    x = x + 0.01 * v
    v = v + 0.005 * acc(x)
    return (x, v), (v**2).sum()

  (x, v), e = lax.scan(step, (x, v), None, length=10)
  return (x**2).sum() + e.sum()


case('model-nbody', nbody, real(5, 3, dtype=F64), real(5, 3, dtype=F64), unit(5, dtype=F64))


def block(p, x):
  ln = lambda x, g: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g
  h = ln(x, p['g1'])
  q, k, v = jnp.split(h @ p['qkv'], 3, -1)
  sp = lambda t: t.reshape(*t.shape[:-1], 2, -1)
  s = jnp.einsum('bthd,bshd->bhts', sp(q), sp(k)) / 2
  s = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), s, -1e9)
  x = x + jnp.einsum('bhts,bshd->bthd', jax.nn.softmax(s, -1), sp(v)).reshape(x.shape) @ p['o']
  return x + jax.nn.gelu(ln(x, p['g2']) @ p['w1']) @ p['w2']


P = {
  'g1': unit(8, dtype=F64),
  'g2': unit(8, dtype=F64),
  'qkv': real(8, 24, dtype=F64) / 3,
  'o': real(8, 8, dtype=F64) / 3,
  'w1': real(8, 16, dtype=F64) / 3,
  'w2': real(16, 8, dtype=F64) / 3,
}


def hvp(p, v, x):
  f = lambda p: (block(p, x) ** 2).mean()
  return jax.jvp(jax.grad(f), (p,), (v,))[1]


case('model-gpt-hvp', hvp, P, {k: real(*a.shape, dtype=F64) for k, a in P.items()}, real(2, 4, 8, dtype=F64))


def gru(w, u, xs):
  def step(h, x):
    z, r_, n = jnp.split(x @ w, 3)
    a, b, c = jnp.split(h @ u, 3)
    z = jax.nn.sigmoid(z + a)
    r_ = jax.nn.sigmoid(r_ + b)
    return (1 - z) * jnp.tanh(n + r_ * c) + z * h, None

  return (lax.scan(step, jnp.zeros(4, xs.dtype), xs)[0] ** 2).sum()


case('model-gru', gru, real(3, 12) / 2, real(4, 12) / 2, real(7, 3))


def ode(w, x):
  f = lambda x: jnp.tanh(x @ w)

  def rk(x, _):
    a = f(x)
    b = f(x + 0.05 * a)
    c = f(x + 0.05 * b)
    d = f(x + 0.1 * c)
    return x + 0.1 / 6 * (a + 2 * b + 2 * c + d), None

  return (lax.scan(rk, x, None, length=8)[0] ** 2).sum()


case('model-neural-ode', ode, real(4, 4), real(2, 4))

# ---- Functions that programs write out in several formulas, at the points where those not chosen are infinite ----

POINTS = np.float32([0, -0.0, 1e-3, -1e-3, 0.3, -0.3, 1, -1, 8, -8])
FAR = np.float32([20, -20, 100, -100])
for name, function in [('erfc', lax.erfc), ('gelu-exact', lambda x: jax.nn.gelu(x, approximate=False)), ('ndtr', jax.scipy.special.ndtr),
                       ('log-ndtr', jax.scipy.special.log_ndtr), ('i1e', jax.scipy.special.i1e), ('arcsinh', jnp.arcsinh), ('sinh', jnp.sinh),
                       ('sigmoid', jax.nn.sigmoid), ('silu', jax.nn.silu), ('softplus', jax.nn.softplus), ('log-sigmoid', jax.nn.log_sigmoid)]:
  case(f'points-{name}', function, POINTS)
  case(f'points-{name}-f64', function, POINTS.astype(np.float64))
  if name not in ('sinh', 'log-ndtr'):
    case(f'points-{name}-far', function, FAR)
case('points-sinh-far', jnp.sinh, FAR[1:2])
case('points-sigmoid-f16', jax.nn.sigmoid, np.float16([0, 13, -13, 100, -100]))
case('points-logaddexp-equal', jnp.logaddexp, np.float32([0, 2, -3, 1]), np.float32([0, 2, -3, 0]))
case('points-sigmoid-of-masked', lambda x: jax.nn.sigmoid(jnp.where(x > 0, x, -1e9)), POINTS)
case('points-logistic-loss-of-zeros', lambda x: -jnp.mean(jax.nn.log_sigmoid(x) * 0.25 + jax.nn.log_sigmoid(-x) * 0.75), np.zeros(6, np.float32))

# ---- Loops of unknown length whose integers are needed only ----

case('sampled-poisson', lambda x: x * jax.random.poisson(jax.random.key(3), jnp.abs(x) + 1), real(4))
case('sampled-poisson-in-branch', lambda x: lax.cond(x.sum() > -9, lambda x: x * jax.random.poisson(jax.random.key(3), jnp.abs(x) + 1), jnp.sin, x), real(3))
case('sampled-poisson-in-scan', lambda x: lax.scan(lambda c, _: (c * (0.5 + 0.1 * jax.random.poisson(jax.random.key(3), jnp.abs(c) + 1)), c), x, None, length=3), real(3))
case('steps-of-while', lambda x: x * lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + jnp.abs(c[2]).sum(), c[1] + 1, c[2] * 1.1), (x[0], 0, x))[1], real(3))

# ---- Slopes of results that are NaN ----

NAN = np.float32([[1, np.nan, 2], [3, 3, 2]])
for name, function in [('max', lambda x: jnp.max(x, 1)), ('min', lambda x: jnp.min(x, 0)), ('max-all', jnp.max), ('sum-of-squares', lambda x: (x * x).sum(1)),
                       ('softmax', jax.nn.softmax), ('logsumexp', lambda x: jax.nn.logsumexp(x, axis=1)), ('maximum', lambda x: jnp.maximum(x, 2)),
                       ('relu', jax.nn.relu), ('clip', lambda x: jnp.clip(x, 0, 2.5)), ('prod', lambda x: jnp.prod(x, 1)), ('ptp', jnp.ptp),
                       ('norm', lambda x: jnp.linalg.norm(x, axis=1)), ('abs', jnp.abs), ('nanmax', lambda x: jnp.nanmax(x, 1))]:
  case(f'nan-{name}', function, NAN)
