"""The functions whose batches tests/api/vmap.test.mjs compares with JAX's: (name, function, arguments).

Those of tests/golden/gradients are there, too; these are about integers, indices, control flow, and whole programs.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import functions as of_gradients
from functions import (F64, attention, complex_, convolution, definite, ints, layer_norm, ramp, real, unit)

CASES = list(of_gradients.CASES)
HESSIANS = ['square-form', 'perceptron-loss', 'rosenbrock']
JACOBIANS = ['dot', 'softmax', 'layer-norm', 'two-results', 'perceptron-loss', 'scan']


def case(name, function, *arguments):
  CASES.append((name, function, arguments))


# ---- Element-wise, of integers and predicates ----

words = lambda *sizes: of_gradients.random.integers(-2**31, 2**31, sizes).astype(np.int32)
case('bits', lambda x: (lax.clz(x), lax.population_count(x), ~x), words(9))
case('shifts', lambda x, y: (lax.shift_left(x, y), lax.shift_right_logical(x, y),
     lax.shift_right_arithmetic(x, y)), words(5), ints(0, 1, 7, 31, 32))
case('integer-divide', lambda x, y: (x // y, x % y, lax.rem(x, y)), words(4), ints(3, -7, 1, 1000))
case('logic', lambda x, y: (x & y, x | y, x ^ y), words(4) > 0, np.array([True, False, True, True]))
case('comparisons', lambda x, y: (x < y, x <= y, x == y, x != y, jnp.isnan(x)), real(5), real(5))
case('rounding', lambda x: (jnp.round(x), jnp.floor(x), jnp.ceil(x), lax.round(x), jnp.sign(x)), real(9) * 5)
case('nextafter', jnp.nextafter, real(5), real(5))
case('select-scalar', lambda p, x, y: lax.select(p > 0, x, y), np.float32(0.5), real(3, 2), real(3, 2))
case('clamp-scalars', lax.clamp, np.float32(-0.3), real(3, 2), np.float32(0.4))
case('bitcast-narrower', lambda x: lax.bitcast_convert_type(x, jnp.uint8), words(3, 2))
case('bitcast-wider', lambda x: lax.bitcast_convert_type(x, jnp.int32), words(3, 2).view(np.int16).reshape(3, 2, 2))
case('constant', lambda x: jnp.arange(4), real(2))
case('igamma', lambda a, x: jax.scipy.special.gammainc(a, x), unit(3) * 4, unit(3) * 4)

# ---- Movement and indices ----

case('pad-value', lambda x, v: lax.pad(x, v, [(1, -1, 1), (0, 2, 0)]), real(4, 3), np.float32(7))
case('concatenate-two', lambda x, y: lax.concatenate([x, y], 1), words(2, 3), words(2, 2))
case('dynamic-slice-two', lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), real(5, 6), np.int32(4), np.int32(-9))
case('dynamic-slice-narrow', lambda x, i: lax.dynamic_slice(x, (i,), (2,)), real(300), np.uint8(255))
case('dynamic-update-two', lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), words(5, 6), words(2, 3),
     np.int32(4), np.int32(1))
case('dynamic-update-narrow', lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)), real(300)[:100], real(2), np.int8(99))
case('gather-pairs', lambda x, i: x[i[:, 0], i[:, 1]], real(4, 5), np.int32([[0, 1], [3, 4], [-1, 2]]))
case('gather-windows', lambda x, i: jax.vmap(lambda k: lax.dynamic_slice(x, (k, jnp.int32(0)), (2, 2)))(i), real(6, 3), ints(0, 3, 9))
case('gather-in-batches', lambda x, i: jax.vmap(lambda r, k: r[k])(x, i), real(3, 7), np.int32([[0, 6], [1, 1], [5, 2]]))
case('gather-of-gather', lambda x, i: x[i][:, i], real(5, 5), ints(4, 0, 2))
case('scatter-in-batches', lambda x, i, u: jax.vmap(lambda r, k, v: r.at[k].add(v))(x, i, u), real(3, 7),
     np.int32([[0, 6], [1, 1], [5, 2]]), real(3, 2))
case('scatter-rows', lambda x, i, u: x.at[:, i].multiply(u), real(3, 5), ints(1, 1, 4), real(3, 3))
case('scatter-apply', lambda x, i: x.at[i].apply(jnp.sin), real(5), ints(1, 3))
case('segment-sum', lambda x, i: jax.ops.segment_sum(x, i, 4), real(6, 2), ints(0, 0, 3, 1, 9, 3))
case('one-hot', lambda i: jax.nn.one_hot(i, 5), ints(0, 3, 7))
case('nonzero', lambda x: jnp.nonzero(x > 0, size=4, fill_value=-1)[0], real(7))
case('roll', lambda x, k: jnp.roll(x, k), real(7), np.int32(3))
case('searchsorted', lambda x, v: jnp.searchsorted(jnp.sort(x), v), real(9), real(4))

# ---- Contractions ----

case('dot-left-free', lambda x, y: jnp.einsum('abc,dc->adb', x, y), real(2, 3, 4), real(5, 4))
case('dot-integers', lambda x, y: x @ y, ints(1, 2, 3), np.int32([[1, 2], [3, 4], [5, 6]]))
case('ragged-dot', lambda x, y, n: lax.ragged_dot(x, y, n), real(6, 3), real(2, 3, 4), ints(2, 3))
case('convolution-batch-groups-2', convolution(window_strides=(1, 1), padding='SAME', batch_group_count=2),
     real(4, 3, 5, 6), real(4, 3, 3, 3))
case('convolution-depthwise-2', convolution(window_strides=(2, 1), padding='SAME', feature_group_count=3,
     dimension_numbers=('NHWC', 'HWIO', 'NHWC')), real(2, 5, 6, 3), real(2, 3, 1, 6))
case('convolution-order', convolution(window_strides=(1, 1), padding='VALID', dimension_numbers=('HWCN', 'OHWI', 'CNHW')),
     real(5, 6, 2, 3), real(4, 2, 3, 2))

# ---- Reductions, windows, sorts ----

case('argmax', lambda x: (jnp.argmax(x, 1), jnp.argmin(x)), real(3, 5))
case('any-all', lambda x: ((x > 1).any(0), (x > -1).all(1)), real(3, 5))
case('reduce-init', lambda x, i: lax.reduce(x, i, lambda a, b: a + b + a * b, (1,)), unit(3, 4), np.float32(0.5))
case('window-init', lambda x, i: lax.reduce_window(x, i, lambda a, b: jnp.maximum(a, b) * 2, (2, 1), (1, 1), 'VALID'),
     unit(4, 3), np.float32(0.1))
case('pool-gradient', jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (3, 2), (2, 1), 'SAME') ** 2).sum()),
     real(5, 6))
case('cumulative', lambda x: (jnp.cumsum(x), jnp.cumprod(x), lax.cummax(x), lax.cumlogsumexp(x)), real(8))
case('sort-keys', lambda x, y: lax.sort((x, y, y * 2), num_keys=2, dimension=1), ints(1, 0, 1, 0, 2, 2).reshape(2, 3),
     real(2, 3))
case('argsort', lambda x: (jnp.argsort(x), jnp.sort(x)[::-1]), real(7))
case('top-k-2', lambda x: lax.top_k(x, 2), ints(4, 1, 4, 9, 0).reshape(1, 5))
case('unique', lambda x: jnp.unique(x, size=4, fill_value=0), ints(3, 1, 3, 2, 2))
case('median-rows', lambda x: jnp.median(x, 1), real(2, 5))
case('histogram', lambda x: jnp.histogram(x, 4, (-2, 2))[0], real(20))

# ---- Linear algebra ----

case('qr-only', lambda x: jnp.abs(jnp.linalg.qr(x)[1]), real(4, 3, dtype=F64))
case('solve-shared', lambda a, b: jnp.linalg.solve(a, b), definite(3), real(3, dtype=F64))
case('eigenvalues-general', lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), real(4, 4, dtype=F64))
case('slogdet', jnp.linalg.slogdet, definite(4) - 5 * np.eye(4))
case('least-squares', lambda a, b: jnp.linalg.lstsq(a, b)[0], real(5, 3, dtype=F64), real(5, dtype=F64))
case('tridiagonal', lambda a, b, c, d: lax.linalg.tridiagonal_solve(a, b, c, d), np.r_[0.0, unit(3, dtype=F64)], unit(4, dtype=F64) + 3,
     np.r_[unit(3, dtype=F64), 0.0], real(4, 2, dtype=F64))
case('cross', jnp.cross, real(4, 3), real(4, 3))
case('matrix-power', lambda x: jnp.linalg.matrix_power(x, 3), real(3, 3))

# ---- Random numbers ----

key = jax.random.key_data(jax.random.key(7))
wrap = jax.random.wrap_key_data
case('random-bits', lambda k: jax.random.bits(wrap(k), (5,)), key)
case('random-uniform', lambda k: jax.random.uniform(wrap(k), (3, 2)), key)
case('random-normal', lambda k, m: m + jax.random.normal(wrap(k), (3,)), key, real(3))
case('random-split', lambda k: jax.random.key_data(jax.random.split(wrap(k), 3)), key)
case('random-permutation', lambda k, x: jax.random.permutation(wrap(k), x), key, ints(1, 2, 3, 4, 5))
case('random-choice', lambda k, p: jax.random.categorical(wrap(k), p), key, real(6))
case('random-gamma', lambda k: jax.random.gamma(wrap(k), 2.0, (2,)), key)
case('philox', lambda k: lax.rng_bit_generator(k, (3, 2), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
     np.uint32([1, 2, 3, 4]))
case('three-fry', lambda k: lax.rng_bit_generator(k, (4,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)[1],
     np.uint64([1, 2]))

# ---- Control flow ----


def collatz(n):
  step = lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)
  return lax.while_loop(lambda s: s[0] != 1, step, (n, np.int32(0)))


case('while-until', collatz, np.int32(7))
case('while-vector', lambda x: lax.while_loop(lambda s: (s ** 2).sum() < 100, lambda s: s * 1.5, x), unit(3))
case('while-shared', lambda x, n: lax.while_loop(lambda s: s[1] < n, lambda s: (jnp.sin(s[0]) * x, s[1] + 1), (x, np.int32(0))),
     real(3), np.int32(4))
case('while-infects', lambda x: lax.fori_loop(0, 5, lambda i, s: (s[1], s[2], s[2] + x), (0.0, 1.0, 2.0)), np.float64(3))
case('while-in-while', lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, lax.while_loop(
    lambda t: t < s[0] * n, lambda t: t + 3, s[1])), (np.int32(0), np.int32(0))), np.int32(5))
case('cond-operands', lambda p, x, y: lax.cond(p, lambda a, b: (a + b, a), lambda a, b: (a * b, b * 2), x, y),
     np.bool_(True), real(3), real(3))
case('cond-unbatched-result', lambda p, x: lax.cond(p, lambda a: (a, 1.0), lambda a: (-a, 2.0), x), np.bool_(True), real(3))
case('cond-of-cond', lambda i, x: lax.cond(i > 0, lambda x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), jnp.negative, x),
     np.int32(2), real(3))
case('switch-two', lambda i, x, y: lax.switch(i, [lambda a, b: a, lambda a, b: b, lambda a, b: a * b], x, y), np.int32(2),
     real(3), real(3))
case('scan-carry', lambda c, xs: lax.scan(lambda c, x: (c * 0.5 + x, (c, x.sum())), c, xs), real(3), real(5, 3))
case('scan-over-index', lambda x: lax.scan(lambda c, i: (c + i, c * x), 0.0, jnp.arange(4.0)), np.float64(2))
case('call', lambda x, y: jax.jit(lambda a: jnp.tanh(a) * 2)(x) + jax.jit(lambda a, b: a * b)(x, y), real(3), real(3))
case('associative', lambda x, y: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y)), unit(6),
     real(6))
case('map-rows', lambda x, w: lax.map(lambda r: (r * w).sum(), x), real(4, 3), real(3))
case('square-form', lambda x, a: x @ a @ x, real(3), real(3, 3))
case('two-results', lambda x, y: (jnp.sin(x) * y, (x * x).sum()), real(3), real(3))
case('rosenbrock', lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), real(4, dtype=F64))

# ---- Whole programs ----


def cnn(x, kernel, scale, bias, dense):
  y = convolution(window_strides=(1, 1), padding='SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))(x, kernel)
  mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
  y = jax.nn.relu((y - mean) * lax.rsqrt(variance + 1e-5) * scale + bias)
  y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
  return jax.nn.log_softmax(y.reshape(len(y), -1) @ dense)


def gpt_block(x, attend, project, up, down):
  h = layer_norm(x, jnp.ones(8, x.dtype), jnp.zeros(8, x.dtype))
  q, k, v = jnp.split(h @ attend, 3, -1)
  heads = lambda a: a.reshape(6, 2, 4).swapaxes(0, 1)
  scores = jnp.einsum('hid,hjd->hij', heads(q), heads(k)) / 2
  scores = jnp.where(jnp.tril(jnp.ones((6, 6), bool)), scores, -1e9)
  x = x + jnp.einsum('hij,hjd->hid', jax.nn.softmax(scores), heads(v)).swapaxes(0, 1).reshape(6, 8) @ project
  return x + jax.nn.gelu(layer_norm(x, jnp.ones(8, x.dtype), jnp.zeros(8, x.dtype)) @ up) @ down


def lstm(xs, w, u, b):
  def step(carry, x):
    h, c = carry
    i, f, g, o = jnp.split(x @ w + h @ u + b, 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h
  zero = jnp.zeros(4, xs.dtype)
  return lax.scan(step, (zero, zero), xs)


def kalman(ys, a, h):
  def step(carry, y):
    m, p = carry
    m, p = a @ m, a @ p @ a.T + 0.1 * jnp.eye(2)
    s = h @ p @ h.T + 0.2 * jnp.eye(1)
    gain = jnp.linalg.solve(s, h @ p).T
    error = y - h @ m
    return (m + gain @ error, p - gain @ h @ p), -0.5 * (jnp.linalg.slogdet(s)[1] + error @ jnp.linalg.solve(s, error))
  return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1].sum()


def gaussian_process(x, y, scale):
  k = jnp.exp(-((x[:, None] - x[None]) / scale) ** 2) + 0.1 * jnp.eye(len(x))
  factor = jnp.linalg.cholesky(k)
  alpha = jax.scipy.linalg.cho_solve((factor, True), y)
  return -0.5 * y @ alpha - jnp.log(jnp.diag(factor)).sum()


def neural_ode(x, w, v):
  field = lambda x: jnp.tanh(x @ w) @ v
  def step(x, _):
    k1 = field(x)
    k2 = field(x + 0.05 * k1)
    k3 = field(x + 0.05 * k2)
    k4 = field(x + 0.1 * k3)
    return x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), x
  return lax.scan(step, x, None, length=6)


def newton(x, a):
  """Runs until it converges: different elements of a batch need different numbers of iterations."""
  step = lambda s: (s[0] - (s[0] ** 3 - a) / (3 * s[0] ** 2), s[0], s[2] + 1)
  return lax.while_loop(lambda s: (jnp.abs(s[0] - s[1]) > 1e-9) & (s[2] < 50), step, (x, x + 1, np.int32(0)))


def n_body(x, v, mass):
  d = x[:, None] - x[None]
  force = -(mass[None, :, None] * d / ((d ** 2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)
  return x + 0.1 * v, v + 0.1 * force


def k_means(points, centres):
  nearest = jnp.argmin(((points[:, None] - centres[None]) ** 2).sum(-1), 1)
  sums = jax.ops.segment_sum(points, nearest, len(centres))
  counts = jax.ops.segment_sum(jnp.ones(len(points), points.dtype), nearest, len(centres))
  return sums / jnp.maximum(counts, 1)[:, None], nearest


def vae(x, key, encoder, decoder):
  mean, log_variance = jnp.split(jnp.tanh(x @ encoder), 2)
  z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(wrap(key), (3,), np.float32)
  return ((jax.nn.sigmoid(z @ decoder) - x) ** 2).sum() + 0.5 * (jnp.exp(log_variance) + mean ** 2 - 1 - log_variance).sum()


def metropolis(key, x):
  def step(state, key):
    a, b = jax.random.split(key)
    proposal = state + 0.5 * jax.random.normal(a)
    accept = jnp.log(jax.random.uniform(b)) < (state ** 2 - proposal ** 2) / 2
    state = lax.cond(accept, lambda: proposal, lambda: state)
    return state, state
  return lax.scan(step, x, jax.random.split(wrap(key), 8))


def game_of_life(cells):
  around = sum(jnp.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
  return ((around == 3) | ((cells == 1) & (around == 2))).astype(cells.dtype)


case('cnn', cnn, real(2, 6, 6, 2), real(3, 3, 2, 4), real(4), real(4), real(36, 3))
case('gpt-block', gpt_block, real(6, 8), real(8, 24), real(8, 8), real(8, 32), real(32, 8))
case('lstm', lstm, real(5, 3), real(3, 16), real(4, 16), real(16))
case('kalman', kalman, real(5, 1, dtype=F64), real(2, 2, dtype=F64) * 0.5, real(1, 2, dtype=F64))
case('gaussian-process', gaussian_process, real(5, dtype=F64), real(5, dtype=F64), np.float64(0.7))
case('neural-ode', neural_ode, real(4), real(4, 8), real(8, 4))
case('newton', newton, np.float64(3), np.float64(7))
case('n-body', n_body, real(5, 3), real(5, 3), unit(5))
case('k-means', k_means, real(12, 2), real(3, 2))
case('vae', vae, unit(6), key, real(6, 6), real(3, 6))
case('metropolis', metropolis, key, np.float64(0.3))
case('game-of-life', game_of_life, (words(6, 7) > 0).astype(np.int32))
case('perceptron-loss', lambda w, v, x: (jnp.tanh(jnp.tanh(x @ w) @ v) ** 2).sum(), real(3, 4), real(4, 2), real(5, 3))
case('perceptron-step', lambda w, v, x: jax.tree.map(lambda p, g: p - 0.1 * g, (w, v), jax.grad(
    lambda p: (jnp.tanh(jnp.tanh(x @ p[0]) @ p[1]) ** 2).sum())((w, v))), real(3, 4), real(4, 2), real(5, 3))
case('hessian-product', lambda x, t: jax.jvp(jax.grad(lambda x: jnp.sum(jnp.tanh(x * x[::-1]) ** 2)), (x,), (t,)), real(4),
     real(4))
case('attention-of-batch', attention, real(2, 5, 4), real(4, 4), real(4, 4), real(4, 4))
