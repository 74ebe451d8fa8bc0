"""Programs of other people's kinds, for generate.py: losses, solvers, networks and models that users of JAX differentiate.

Arrays are small; numbers are f64, since models amplify rounding. A gradient is stopped in a function of its own, as
lax.stop_gradient alone leaves no trace in an export.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(23)
F64, C128 = np.float64, np.complex128
PROGRAMS = []


stop_gradient = jax.jit(lax.stop_gradient)


def real(*shape, dtype=F64):
  return RANDOM.standard_normal(shape).astype(dtype)


def unit(*shape, dtype=F64):
  """Between 0.1 and 0.9."""
  return (RANDOM.random(shape) * 0.8 + 0.1).astype(dtype)


def cplx(*shape, dtype=C128):
  return (RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)).astype(dtype)


def spd(n):
  a = RANDOM.standard_normal((n, n))
  return a @ a.T + n * np.eye(n)


def ints(*values):
  return np.int32(values)


def case(name, *arguments):
  return lambda function: PROGRAMS.append((f'program {name}', function, arguments, None)) or function


# ---- Losses ----


@case('ctc-loss', real(6, 4), ints(1, 2, 1))
def ctc_loss(logits, labels):
  log_p = jax.nn.log_softmax(logits)
  extended = jnp.zeros(2 * labels.shape[0] + 1, jnp.int32).at[1::2].set(labels)
  skips = jnp.concatenate([jnp.zeros(2, bool), (extended[2:] != extended[:-2]) & (extended[2:] != 0)])
  start = jnp.full(extended.shape, -1e30).at[0].set(log_p[0, 0]).at[1].set(log_p[0, labels[0]])

  def step(alpha, row):
    one = jnp.concatenate([jnp.full(1, -1e30), alpha[:-1]])
    two = jnp.where(skips, jnp.concatenate([jnp.full(2, -1e30), alpha[:-2]]), -1e30)
    return jax.nn.logsumexp(jnp.stack([alpha, one, two]), axis=0) + row[extended], None

  alpha, _ = lax.scan(step, start, log_p[1:])
  return -jnp.logaddexp(alpha[-1], alpha[-2])


@case('soft-dynamic-time-warping', real(5, 2), real(4, 2))
def soft_dtw(x, y):
  costs = ((x[:, None] - y[None]) ** 2).sum(-1)

  def row(above, cost):
    def cell(left, inputs):
      up, diagonal, c = inputs
      value = c - jax.nn.logsumexp(-jnp.stack([left, up, diagonal]))
      return value, value

    _, values = lax.scan(cell, jnp.float64(1e10), (above[1:], above[:-1], cost))
    return jnp.concatenate([jnp.full(1, 1e10), values]), None

  first = jnp.full(y.shape[0] + 1, 1e10).at[0].set(0.0)
  return lax.scan(row, first, costs)[0][-1]


@case('focal-loss', real(5), np.float64([0, 1, 1, 0, 1]))
def focal(logits, labels):
  p = jax.nn.sigmoid(logits)
  cross = jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits)))
  return (((1 - (p * labels + (1 - p) * (1 - labels))) ** 2) * cross).mean()


@case('categorical-projection', real(5), unit(5), np.float64(0.37))
def categorical_projection(logits, weights, reward):
  """Of distributional value functions: C51."""
  atoms = jnp.linspace(-1, 1, 5)
  target = jnp.clip(reward + 0.9 * atoms, -0.99, 0.98)
  near = jnp.clip(1 - jnp.abs(target[None] - atoms[:, None]) / 0.5, 0, 1)
  return -(near @ jax.nn.softmax(weights) * jax.nn.log_softmax(logits)).sum()


@case('quantile-huber', real(4), real(3))
def quantile_huber(quantiles, targets):
  taus = (jnp.arange(4) + 0.5) / 4
  delta = targets[None] - quantiles[:, None]
  huber = jnp.where(jnp.abs(delta) <= 1, 0.5 * delta**2, jnp.abs(delta) - 0.5)
  return (jnp.abs(taus[:, None] - (delta < 0)) * huber).sum(0).mean()


@case('vtrace', real(6), real(6), unit(6), real(6))
def vtrace(values, rewards, rhos, next_values):
  clipped = jnp.minimum(rhos, 0.7)
  deltas = clipped * (rewards + 0.9 * next_values - values)

  def step(acc, inputs):
    delta, c = inputs
    acc = delta + 0.9 * c * acc
    return acc, acc

  _, errors = lax.scan(step, jnp.float64(0), (deltas, clipped), reverse=True)
  return ((stop_gradient(errors + values) - values) ** 2).sum() + errors.sum()


@case('ppo-loss', real(4, 3), real(4), ints(0, 2, 1, 1), unit(4))
def ppo(logits, advantages, actions, old):
  log_p = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[:, None], 1)[:, 0]
  ratio = jnp.exp(log_p - jnp.log(old))
  return -jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages).mean()


@case('gaussian-mixture', real(6, 2), real(3), real(3, 2), unit(3, 2))
def mixture(x, logits, means, scales):
  log_p = -0.5 * (((x[:, None] - means) / scales) ** 2).sum(-1) - jnp.log(scales).sum(-1)
  return jax.nn.logsumexp(log_p + jax.nn.log_softmax(logits), axis=1).sum()


# ---- Sorting and transport ----


@case('soft-rank', real(5))
def soft_rank(x):
  return jax.nn.sigmoid((x[None] - x[:, None]) / 0.3).sum(1) * jnp.arange(5.0)


@case('isotonic-projection', real(6))
def isotonic(x):
  """Of sorted numbers, by the min-max formula."""
  s = jnp.sort(x)[::-1] - jnp.arange(6, 0, -1)
  sums = jnp.concatenate([jnp.zeros(1), jnp.cumsum(s)])
  means = (sums[None, 1:] - sums[:-1, None]) / jnp.maximum(jnp.arange(6)[None] - jnp.arange(6)[:, None] + 1, 1)
  means = jnp.where(jnp.arange(6)[None] >= jnp.arange(6)[:, None], means, jnp.inf)
  return lax.cummax(means.min(1)[::-1]) * jnp.arange(6.0)


@case('sinkhorn', real(4, 3), unit(4), unit(3))
def sinkhorn(cost, a, b):
  log_a, log_b = jnp.log(a / a.sum()), jnp.log(b / b.sum())

  def body(_, state):
    f, g = state
    f = -0.5 * jax.nn.logsumexp((g[None] - cost) / 0.5 + log_b[None], axis=1)
    g = -0.5 * jax.nn.logsumexp((f[:, None] - cost) / 0.5 + log_a[:, None], axis=0)
    return f, g

  f, g = lax.fori_loop(0, 8, body, (jnp.zeros(4), jnp.zeros(3)))
  plan = jnp.exp((f[:, None] + g[None] - cost) / 0.5 + log_a[:, None] + log_b[None])
  return (plan * cost).sum()


@case('gumbel-softmax', real(4, 3))
def gumbel(logits):
  noise = jax.random.gumbel(jax.random.key(4), logits.shape, F64)
  soft = jax.nn.softmax((logits + noise) / 0.7)
  hard = jax.nn.one_hot(soft.argmax(-1), 3, dtype=F64)
  return (hard + soft - stop_gradient(soft)) @ jnp.arange(3.0)


@case('sampled-beta-like', real(3), real(3))
def kumaraswamy(a, b):
  """Sampling by reparametrisation, from the inverse of a distribution function."""
  u = jax.random.uniform(jax.random.key(9), (4, 3), F64, 0.01, 0.99)
  a, b = jax.nn.softplus(a), jax.nn.softplus(b)
  return ((1 - (1 - u) ** (1 / b)) ** (1 / a)).mean(0)


# ---- Solvers ----


@case('fixed-point', real(3, 3) / 4, real(3))
def fixed_point(w, x):
  z = lax.fori_loop(0, 20, lambda _, z: jnp.tanh(w @ z + x), jnp.zeros(3))
  return (z**2).sum()


@case('newton-step', real(3), real(3))
def newton(x, b):
  f = lambda x: (jnp.cosh(x - b)).sum() + 0.1 * (x @ x) ** 2
  return lax.fori_loop(0, 3, lambda _, x: x - jnp.linalg.solve(jax.hessian(f)(x), jax.grad(f)(x)), x)


@case('conjugate-gradient', spd(4), real(4))
def conjugate_gradient(a, b):
  def body(state, _):
    x, r, p = state
    step = (r @ r) / (p @ a @ p)
    x, new = x + step * p, r - step * (a @ p)
    return (x, new, new + (new @ new) / (r @ r) * p), None

  return lax.scan(body, (jnp.zeros(4), b, b), None, length=3)[0][0]


@case('adam-unrolled', real(3), np.float64(0.1))
def adam(x, rate):
  f = lambda x: ((x - 1) ** 4).sum()

  def step(state, i):
    x, m, v = state
    g = jax.grad(f)(x)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    hat = jnp.sqrt(v / (1 - 0.99 ** (i + 1))) + 1e-8
    return (x - rate * m / (1 - 0.9 ** (i + 1)) / hat, m, v), None

  return f(lax.scan(step, (x, jnp.zeros(3), jnp.zeros(3)), jnp.arange(5.0))[0][0])


@case('root-by-bisection', np.float64([1.5, 2.5, 4.0]))
def bisection(c):
  def body(_, bounds):
    low, high = bounds
    middle = (low + high) / 2
    above = middle**3 > c
    return jnp.where(above, low, middle), jnp.where(above, middle, high)

  low, high = lax.fori_loop(0, 12, body, (jnp.zeros(3), c))
  x = stop_gradient((low + high) / 2)
  return x - (x**3 - c) / (3 * x**2)


@case('odeint-adjoint-free', real(2, 2) / 2, real(2))
def heun(w, x):
  def step(carry, t):
    x, h = carry
    k = jnp.tanh(w @ x) + jnp.sin(t)
    l = jnp.tanh(w @ (x + h * k)) + jnp.sin(t + h)
    error = jnp.linalg.norm(l - k) * h
    h = jnp.clip(0.9 * h * jnp.sqrt(0.05 / (error + 1e-6)), 0.02, 0.3)
    return (x + h * (k + l) / 2, h), error

  (x, h), errors = lax.scan(step, (x, jnp.float64(0.1)), jnp.linspace(0, 1, 7))
  return (x**2).sum() + h + errors.sum()


@case('tridiagonal-diffusion', unit(6), real(6))
def diffusion(conductivity, u):
  def step(u, _):
    side = 0.3 * conductivity
    diagonal = 1 + side + jnp.concatenate([side[1:], side[:1]])
    return lax.linalg.tridiagonal_solve(-side, diagonal, -jnp.roll(side, -1), u[:, None])[:, 0], None

  return lax.scan(step, u, None, length=3)[0]


@case('cholesky-whitening', real(6, 3))
def whitening(x):
  x = x - x.mean(0)
  factor = jnp.linalg.cholesky(x.T @ x / 6 + 0.1 * jnp.eye(3))
  return jax.scipy.linalg.solve_triangular(factor, x.T, lower=True) ** 3


@case('eigh-pooling', real(5, 3))
def eigh_pooling(x):
  w, v = jnp.linalg.eigh(x.T @ x)
  return (v * jnp.log(w)) @ v.T


@case('svd-soft-threshold', real(4, 3))
def svd_threshold(a):
  u, s, v = jnp.linalg.svd(a, full_matrices=False)
  return (u * jnp.maximum(s - 0.3, 0)) @ v


@case('orthogonal-procrustes', real(4, 3), real(4, 3))
def procrustes(a, b):
  u, _, v = jnp.linalg.svd(b.T @ a)
  return ((a - b @ (u @ v)) ** 2).sum()


@case('spectral-norm', real(4, 3), real(3))
def spectral_norm(w, u):
  def body(_, u):
    v = w @ u
    v = v / jnp.linalg.norm(v)
    u = w.T @ v
    return u / jnp.linalg.norm(u)

  u = stop_gradient(lax.fori_loop(0, 4, body, u))
  return w / jnp.linalg.norm(w @ u)


# ---- Networks ----


def rotated(x):
  n, d = x.shape[-2:]
  angles = jnp.arange(n)[:, None] / 10.0 ** (jnp.arange(d // 2) / d * 2)
  a, b = x[..., : d // 2], x[..., d // 2 :]
  return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), a * jnp.sin(angles) + b * jnp.cos(angles)], -1)


@case('attention-rotary-grouped', real(4, 5, 4), real(2, 5, 4), real(2, 5, 4), ints(0, 0, 0, 1, 1))
def attention(q, k, v, segments):
  """Four heads share two pairs of keys and values. The mask is causal, and parts the segments."""
  k, v = jnp.repeat(rotated(k), 2, 0), jnp.repeat(v, 2, 0)
  scores = jnp.einsum('htd,hsd->hts', rotated(q), k) / 2
  mask = jnp.tril(jnp.ones((5, 5), bool)) & (segments[:, None] == segments[None])
  return jnp.einsum('hts,hsd->htd', jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)


@case('linear-attention', real(5, 3), real(5, 3), real(5, 2))
def linear_attention(q, k, v):
  q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1

  def step(state, inputs):
    s, z = state
    q, k, v = inputs
    s, z = s + jnp.outer(k, v), z + k
    return (s, z), q @ s / (q @ z)

  return lax.scan(step, (jnp.zeros((3, 2)), jnp.zeros(3)), (q, k, v))[1]


@case('state-space-scan', real(6, 2), unit(2), real(2), real(2))
def state_space(x, a, b, c):
  states = lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jnp.broadcast_to(a, x.shape), x * b))
  return (states[1] * c).sum(-1)


@case('experts-top-2', real(5, 4), real(4, 3), real(3, 4, 2))
def experts(x, gate, w):
  values, chosen = lax.top_k(jax.nn.softmax(x @ gate), 2)
  values = values / values.sum(-1, keepdims=True)
  each = jnp.einsum('td,edf->tef', x, w)
  picked = jnp.take_along_axis(each, chosen[..., None], 1)
  balance = jax.nn.one_hot(chosen, 3).mean((0, 1)) @ jax.nn.softmax(x @ gate).mean(0)
  return (values[..., None] * jax.nn.gelu(picked)).sum(1), balance


@case('experts-ragged', real(6, 3), real(3, 3, 2), ints(2, 0, 1, 1, 2, 0))
def experts_ragged(x, w, chosen):
  order = jnp.argsort(chosen)
  sizes = jnp.bincount(chosen, length=3).astype(jnp.int32)
  return lax.ragged_dot(x[order], w, sizes)[jnp.argsort(order)] ** 2


@case('group-norm-depthwise', real(1, 4, 4, 4, dtype=np.float32), real(3, 3, 1, 4, dtype=np.float32), unit(4, dtype=np.float32))
def group_norm(x, w, scale):
  y = lax.conv_general_dilated(
    x, w, (1, 1), 'SAME', feature_group_count=4, dimension_numbers=('NHWC', 'HWIO', 'NHWC'), rhs_dilation=(2, 2)
  )
  g = y.reshape(1, 4, 4, 2, 2)
  g = (g - g.mean((1, 2, 4), keepdims=True)) * lax.rsqrt(g.var((1, 2, 4), keepdims=True) + 1e-5)
  return jax.nn.silu(g.reshape(y.shape) * scale)


@case('transposed-conv-pixel-shuffle', real(1, 3, 3, 4, dtype=np.float32), real(2, 2, 4, 4, dtype=np.float32))
def decoder(x, w):
  y = lax.conv_transpose(x, w, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  y = y.reshape(1, 6, 6, 1, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(1, 12, 12, 1)
  return lax.reduce_window(y, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')


@case('weight-standardised', real(3, 3, 2, 3), real(1, 4, 4, 2))
def standardised(w, x):
  w = (w - w.mean((0, 1, 2))) / (w.std((0, 1, 2)) + 1e-5)
  y = lax.conv_general_dilated(x, w, (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  return jax.nn.hard_swish(y) + jax.nn.mish(y) + jax.nn.celu(y) + jax.nn.glu(jnp.concatenate([y, y * 2], -1))


@case('quantised-straight-through', real(4, 3), real(3, 2))
def quantised(x, w):
  scale = jnp.abs(w).max() / 7
  q = jnp.clip(jnp.round(w / scale), -7, 7) * scale
  return jax.nn.relu6(x @ (w + stop_gradient(q - w)))


@case('vector-quantised', real(4, 2), real(5, 2))
def vector_quantised(x, codes):
  nearest = ((x[:, None] - codes) ** 2).sum(-1).argmin(1)
  q = codes[nearest]
  commitment = ((x - stop_gradient(q)) ** 2).mean() + ((stop_gradient(x) - q) ** 2).mean()
  return (x + stop_gradient(q - x)) ** 2, commitment


@case('mixed-precision', real(4, 6).astype(jnp.bfloat16), real(6, 3).astype(jnp.bfloat16), ints(0, 2, 1, 1))
def mixed_precision(x, w, labels):
  log_p = jax.nn.log_softmax((x @ w).astype(jnp.float32))
  return -jnp.take_along_axis(log_p, labels[:, None], 1).mean().astype(jnp.bfloat16)


@case('half-precision-scan', real(4, dtype=np.float16), real(4, 4, dtype=np.float16) / 4)
def half(x, w):
  def step(c, _):
    c = jnp.tanh(jnp.dot(w, c, preferred_element_type=jnp.float32)).astype(jnp.float16)
    return c, c.astype(jnp.float32).sum()

  return lax.scan(step, x, None, length=4)[1]


@case('embedding-bag', real(6, 3), ints(0, 3, 3, 5, 1), ints(0, 0, 1, 2, 2), unit(5))
def bag(table, indices, bags, weights):
  rows = table[indices] * weights[:, None]
  sums = jax.ops.segment_sum(rows, bags, 4)
  largest = jax.ops.segment_max(rows, bags, 3)
  return sums[:3] / jnp.maximum(jax.ops.segment_sum(weights, bags, 3), 1e-3)[:, None] + largest


@case('graph-attention', real(4, 3), real(3, 2), real(4), ints(0, 1, 2, 3, 0, 2), ints(1, 0, 1, 2, 3, 3))
def graph(x, w, a, senders, receivers):
  h = x @ w
  scores = jax.nn.leaky_relu(jnp.concatenate([h[senders], h[receivers]], 1) @ a)
  scores = jnp.exp(scores - jax.ops.segment_max(scores, receivers, 4)[receivers])
  weights = scores / jax.ops.segment_sum(scores, receivers, 4)[receivers]
  return jax.ops.segment_sum(weights[:, None] * h[senders], receivers, 4)


@case('complex-network', cplx(3, 4), cplx(4, 3), real(3))
def complex_network(x, w, bias):
  z = x @ w
  z = jax.nn.relu(jnp.abs(z) + bias) * z / (jnp.abs(z) + 1e-3)
  return jnp.abs(jnp.fft.fft(z)).sum() + (z.conj() * z).real.mean()


@case('fourier-loss', real(8), real(8))
def fourier_loss(x, y):
  window = jnp.hanning(4)
  frames = lambda s: jnp.stack([s[i : i + 4] * window for i in range(0, 5, 2)])
  spectrum = lambda s: jnp.abs(jnp.fft.rfft(frames(s))) + 1e-3
  return jnp.abs(jnp.log(spectrum(x)) - jnp.log(spectrum(y))).mean() + ((spectrum(x) - spectrum(y)) ** 2).mean()


@case('fourier-layer', real(2, 6, 3), cplx(3, 3, 3))
def fourier_layer(x, w):
  modes = jnp.fft.rfft(x, axis=1)[:, :3]
  return x + jnp.fft.irfft(jnp.einsum('bki,kio->bko', modes, w), 6, axis=1)


# ---- Models of other fields ----


@case('quaternion-kinematics', real(4), real(5, 3) / 3)
def quaternions(q, rates):
  def step(q, w):
    a, b, c, d = q
    x, y, z = w
    dq = jnp.stack([-b * x - c * y - d * z, a * x + c * z - d * y, a * y - b * z + d * x, a * z + b * y - c * x]) / 2
    q = q + dq
    q = q / jnp.linalg.norm(q)
    return q, q

  q, path = lax.scan(step, q / jnp.linalg.norm(q), rates)
  return 2 * jnp.arctan2(jnp.linalg.norm(q[1:]), q[0]), path


@case('interpolated-table', unit(5) * 4, real(6), np.float64(0.3))
def interpolated(x, table, shift):
  return jnp.interp(x + shift, jnp.arange(6.0), table) ** 2, jnp.interp(0.5, table.cumsum() ** 2, x[0] * jnp.arange(6.0))


@case('bilinear-sampling', real(4, 5), unit(3, 2) * 3)
def sampling(image, points):
  return jax.scipy.ndimage.map_coordinates(image, points.T, order=1, mode='nearest')


@case('splatting', unit(3, 2) * 4, real(3))
def splatting(points, colours):
  grid = jnp.stack(jnp.meshgrid(jnp.arange(4.0), jnp.arange(4.0)), -1)
  order = jnp.argsort(colours)
  alpha = jax.nn.sigmoid(colours[order])[:, None, None] * jnp.exp(-((grid - points[order][:, None, None]) ** 2).sum(-1))
  through = jnp.cumprod(jnp.concatenate([jnp.ones((1, 4, 4)), 1 - alpha[:-1]]), 0)
  return (through * alpha * colours[order][:, None, None]).sum(0)


@case('hidden-markov', real(3, 3), real(3, 4), ints(0, 2, 3, 1, 1))
def hidden_markov(transition, emission, observed):
  log_t, log_e = jax.nn.log_softmax(transition), jax.nn.log_softmax(emission)
  step = lambda alpha, o: (jax.nn.logsumexp(alpha[:, None] + log_t, axis=0) + log_e[:, o], None)
  return jax.nn.logsumexp(lax.scan(step, log_e[:, observed[0]], observed[1:])[0])


@case('hamiltonian-monte-carlo', real(3), real(3))
def leapfrog(x, p):
  energy = lambda x: (x**2).sum() / 2 + jnp.cos(x).sum()

  def step(state, _):
    x, p = state
    p = p - 0.05 * jax.grad(energy)(x)
    x = x + 0.1 * p
    return (x, p - 0.05 * jax.grad(energy)(x)), None

  x, p = lax.scan(step, (x, p), None, length=6)[0]
  return energy(x) + (p**2).sum() / 2, x


@case('safe-where', np.float64([0.0, 2.0, -1.0, 0.0]))
def safe(x):
  """NaN-safe forms of functions that have no derivative somewhere."""
  norm = jnp.where(x == 0, 0, jnp.sqrt(jnp.where(x == 0, 1, jnp.abs(x))))
  ratio = jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), 0)
  return norm + ratio + jnp.where(x == 0, 1, jnp.sin(x) / jnp.where(x == 0, 1, x)) + jax.scipy.special.entr(jnp.abs(x) + 1)


@case('scan-with-branches', real(3), real(6, 3))
def branching(x, inputs):
  def step(c, i):
    value, count = c
    value = lax.cond(value.sum() > 0, lambda v: jnp.sin(v) * i, lambda v: v + i**2, value)
    value = lax.switch(count % 3, [lambda v: v, lambda v: v * 2, lambda v: jnp.tanh(v)], value)
    return (value, count + 1), value.max()

  return lax.scan(step, (x, 0), inputs)


@case('nested-vmap-of-scan', real(2, 3, 4), real(4))
def nested(x, w):
  one = lambda x: lax.scan(lambda c, v: (jnp.tanh(c * w + v), c.sum()), jnp.zeros(4), jnp.stack([x, x * 2]))[1]
  return jax.vmap(jax.vmap(one))(x)


@case('jacobian-determinant', real(3), real(3, 3))
def jacobian(x, w):
  f = lambda x: jnp.tanh(w @ x) + x**3
  return jnp.linalg.slogdet(jax.jacfwd(f)(x))[1] + jnp.linalg.slogdet(jax.jacrev(f)(x))[1] + jnp.trace(jax.hessian(lambda x: f(x).sum())(x))


@case('special-functions', unit(4) * 2, unit(4))
def special(x, y):
  s = jax.scipy.special
  return s.gammaln(x) + s.digamma(x + 1) + s.erfinv(y) + s.ndtri(y) + s.logit(y) + s.i0e(x) + s.i1e(x) + s.log_ndtr(x) + s.betaln(x, y)
