"""More of what JAX users write: numpy functions, activations, special functions, training steps."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family
from values import any_bits, count, distinct, normals, small_ints

NEAR = 'abs 2e-6 rel 1e-5'


@family
def activations(f):
  x = np.concatenate([np.linspace(-6, 6, 25), [0.0, -0.0, 20, -20]]).astype(np.float32)
  for name in ('relu', 'relu6', 'sigmoid', 'softplus', 'soft_sign', 'silu', 'log_sigmoid',
               'leaky_relu', 'hard_sigmoid', 'hard_silu', 'hard_tanh', 'elu', 'celu', 'selu',
               'mish', 'squareplus', 'sparse_plus', 'gelu'):
    g = getattr(jax.nn, name)
    f.jax(name, g, x, tol=NEAR)
    # Near x = 6 gelu's derivative has a factor 14 on 1 - tanh², all of whose digits cancel.
    f.jax(f'{name}.grad', jax.grad(lambda x: jnp.sum(g(x))), x,
          tol='abs 2e-5 rel 1e-5' if name == 'gelu' else NEAR)
  f.jax('gelu.exact', lambda x: jax.nn.gelu(x, approximate=False), x, tol=NEAR)
  f.jax('glu', jax.nn.glu, normals('f32', (3, 6)), tol=NEAR)
  f.jax('standardize', jax.nn.standardize, normals('f32', (3, 6)), tol=NEAR)
  f.jax('softmax.f64', jax.nn.softmax, normals('f64', (3, 4)), tol='abs 1e-15 rel 4e-15')
  f.jax('softmax.bf16', jax.nn.softmax, normals('bf16', (3, 4)), tol='abs 0.004 rel 0.016')
  f.jax('softmax.f16', jax.nn.softmax, normals('f16', (3, 4)), tol='abs 0.001 rel 0.004')


@family
def masked_attention(f):
  """A finite number is added to scores of a cache that are masked. The cache holds keys that are also the values."""
  length, depth = 64, 64

  def attend(number, floats=False):
    def f(q, cache, n):
      at = jnp.arange(length, dtype=jnp.float32 if floats else jnp.int32)
      bias = (1 - (at <= n.astype(at.dtype)).astype(cache.dtype)) * jnp.asarray(number, cache.dtype)
      weights = jax.nn.softmax(q @ cache.T + bias)
      return weights, weights @ cache
    return f

  for name, number, type_, n, last in (
      ('kept', -1e9, 'f32', 5, 1), ('none', -1e9, 'f32', -1, 1), ('all', -1e9, 'f32', 70, 1), ('above', -1e9, 'f32', 5, 4e9),
      ('below', -1e9, 'f32', -1, -2e8), ('f64', -1e4, 'f64', 5, 1), ('bf16', -1e10, 'bf16', 20, 1), ('f16', -3e4, 'f16', 20, 1),
      ('floats', -1e9, 'f32', 20, 1)):
    cache = small_ints(type_, (length, depth))
    cache[-1] = last
    f.jax(name, attend(number, name == 'floats'), small_ints(type_, (2, depth), 'q'), cache, np.int32(n),
          tol='abs 0.02 rel 0.016' if type_ in ('bf16', 'f16') else NEAR)


@family
def biased_attention(f):
  """Scores of a cache with masks that a program must look at: a bias is added, too, or positions are rows of a table."""
  length, depth, heads = 64, 64, 2

  def attend(mask):
    def f(q, cache, n, slopes):
      at = jnp.arange(length)
      bias = (slopes[:, None] * (at - n).astype(cache.dtype))[:, None]
      weights = jax.nn.softmax(mask(jnp.einsum('hqd,td->hqt', q, cache), bias, at, n))
      return weights, weights @ cache
    return f

  def added(number):
    return lambda s, bias, at, n: s + (bias + jnp.where(at <= n, 0, number).astype(s.dtype))

  def before(number):
    return lambda s, bias, at, n: s + bias - (at > n).astype(s.dtype) * jnp.asarray(-number, s.dtype)

  def table(s, bias, at, n):
    rows = lax.dynamic_slice(jnp.tril(jnp.ones((length, length), bool)), (n, n * 0), (2, length))
    return jnp.where(rows, s, jnp.finfo(s.dtype).min)

  low = float(np.finfo(np.float32).min)
  for name, mask, type_, n, last, slope in (
      ('added', added(low), 'f32', 5, 1, 0.5), ('added-1e4', added(-1e4), 'f32', 5, 1, 0.5),
      ('before', before(low), 'f32', 17, 1, 0.5), ('before-1e9', before(-1e9), 'f32', 17, 1, 0.5),
      ('none', added(-1e9), 'f32', -1, 1, 0.5), ('large-key', added(-1e9), 'f32', 5, 4e9, 0.5),
      ('large-bias', before(-1e9), 'f32', 5, 1, 1e8), ('bf16', added(low), 'bf16', 20, 1, 0.5),
      ('f16', added(-65504), 'f16', 20, 1, 0.5), ('table', table, 'f32', 30, 1, 0.5),
      ('table-end', table, 'f32', 70, 1, 0.5), ('table-f16', table, 'f16', 3, 1, 0.5)):
    cache = small_ints(type_, (length, depth))
    cache[-1] = last
    slopes = (np.array([1, -2]) * slope).astype(cache.dtype)
    f.jax(name, attend(mask), small_ints(type_, (heads, 2, depth), 'q'), cache, np.int32(n), slopes,
          tol='abs 0.02 rel 0.016' if type_ in ('bf16', 'f16') else NEAR)


@family
def layer_caches(f):
  """The keys and values of all layers are in one array, which a step takes apart, updates and stacks again."""

  def step(cache, x, at):
    updated = []
    for i in range(cache.shape[1]):
      layer = cache[:, i]
      keys = lax.dynamic_update_slice_in_dim(layer[:, 0], x, at, 1)
      values = lax.dynamic_update_slice_in_dim(layer[:, 1], 2 - x, at, 1)
      x = x + keys[:, :1] * values[:, -1:]
      updated.append(jnp.stack((keys, values), axis=1))
    return x, jnp.stack(updated, axis=1)

  for name, type_, batch, at in (
      ('first', 'f32', 1, 0), ('batch', 'f32', 2, 3), ('outside', 's32', 1, 9), ('bf16', 'bf16', 2, 4)):
    f.jax(name, step, small_ints(type_, (batch, 3, 2, 5, 4)), small_ints(type_, (batch, 1, 4), 'x'), np.int32(at))


@family
def special(f):
  """lax spells these out in elementary operations; XLA's own error grows with them."""
  x = np.array([0.1, 0.5, 0.9, 1.5, 2.5, 4.0, 7.5, 20.0], np.float32)
  loose = 'abs 2e-6 rel 3e-5'
  for name in ('lgamma', 'digamma', 'erfc', 'bessel_i0e', 'bessel_i1e', 'erf'):
    f.jax(name, getattr(lax, name), x, tol=loose)
    f.jax(f'{name}.f64', getattr(lax, name), x.astype(np.float64), tol='abs 1e-13 rel 1e-12')
  unit = np.array([-0.99, -0.5, -0.1, 0.0, 0.2, 0.7, 0.999], np.float32)
  for name in ('erf_inv', 'asin', 'acos', 'atan', 'asinh', 'atanh', 'sinh', 'cosh', 'tan'):
    f.jax(name, getattr(lax, name), unit, tol=loose)
    f.jax(f'{name}.f64', getattr(lax, name), unit.astype(np.float64), tol='abs 1e-13 rel 1e-12')
  f.jax('acosh', lax.acosh, x + 1, tol=loose)
  f.jax('igamma', lax.igamma, x, x[::-1].copy(), tol='abs 1e-5 rel 1e-4')
  f.jax('betainc', lax.betainc, x, x[::-1].copy(), np.linspace(0.1, 0.9, 8, dtype=np.float32),
        tol='abs 1e-5 rel 1e-4')
  f.jax('polygamma', lax.polygamma, np.ones(8, np.float32), x, tol='abs 1e-4 rel 1e-4')
  f.jax('zeta', lax.zeta, x + 1.5, x, tol='abs 1e-4 rel 1e-4')
  f.jax('nextafter', lax.nextafter, np.array([1.0, 2.5, -1.5, 1.0], np.float32),
        np.array([2.0, 0.0, 0.0, 1.0], np.float32))
  f.jax('integer-pow', lambda x: (lax.integer_pow(x, 5), lax.integer_pow(x, -2)),
        np.array([1.0, 2.0, -0.5, 4.0], np.float32))
  f.jax('logaddexp', jnp.logaddexp, x, x[::-1].copy(), tol=loose)
  f.jax('sinc', jnp.sinc, x, tol=loose)
  f.jax('complex-polar', lambda z: (jnp.abs(z), jnp.angle(z), jnp.conj(z), jnp.exp(z)),
        normals('c64', (6,)), tol='abs 1e-6 rel 1e-5')


@family
def numpy_functions(f):
  x, y = small_ints('f32', (4, 5), 'x'), small_ints('f32', (4, 5), 'y')
  i = distinct('s32', (4, 5))
  f.jax('roll', lambda x: jnp.roll(x, (1, -2), (0, 1)), x)
  f.jax('flip-rot', lambda x: (jnp.flip(x, 0), jnp.rot90(x), jnp.fliplr(x)), x)
  f.jax('tile-repeat', lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 2, axis=1)), x)
  for mode in ('constant', 'edge', 'reflect', 'symmetric', 'wrap'):
    f.jax(f'pad.{mode}', lambda x: jnp.pad(x, ((1, 2), (2, 1)), mode=mode), x)
  f.jax('kron', jnp.kron, x[:2, :2], y[:2, :3])
  f.jax('triangles', lambda x: (jnp.triu(x), jnp.tril(x, -1), jnp.diag(x[:, 0]), jnp.trace(x)), x)
  f.jax('meshgrid', lambda a, b: jnp.meshgrid(a, b), x[0], y[:, 0])
  f.jax('stack', lambda a, b: (jnp.stack([a, b], 1), jnp.concatenate([a, b]), jnp.hstack([a, b])),
        x, y)
  f.jax('split', lambda x: jnp.split(x, [1, 3], axis=1), x)
  f.jax('nonzero', lambda x: jnp.nonzero(x > 0, size=12, fill_value=-1), x)
  f.jax('where.three', lambda x, y: jnp.where(x > y, x, jnp.where(x < y, y, 0)), x, y)
  f.jax('statistics', lambda x: (jnp.mean(x), jnp.var(x, 0), jnp.std(x, 1), jnp.ptp(x, 0)),
        normals('f32', (4, 5)), tol='abs 1e-6 rel 1e-5')
  f.jax('minmax', lambda i: (jnp.min(i, 0), jnp.argmax(i, 1), jnp.argmin(i), jnp.prod(i[0])), i)
  f.jax('nan.reductions', lambda x: (jnp.nansum(x), jnp.nanmax(x, 0), jnp.isnan(x), jnp.max(x)),
        np.array([[1, np.nan, 3], [np.nan, 5, -1]], np.float32))
  f.jax('clip-round', lambda x: (jnp.clip(x, -1, 1), jnp.round(x), jnp.floor(x), jnp.trunc(x)),
        np.array([0.5, 1.5, -2.5, 2.6, -0.4], np.float32))
  f.jax('bitwise', lambda a, b: (a & b, a | b, a ^ b, ~a, a << 3, a >> 2,
                                 lax.population_count(a), lax.clz(b)),
        any_bits('s32', (6,), 1), any_bits('s32', (6,), 2))
  f.jax('divmod.int', lambda a, b: (jnp.divmod(a, b), jnp.fmod(a, b), lax.div(a, b)),
        np.array([7, -7, 7, -7, 0], np.int32), np.array([3, 3, -3, -3, 5], np.int32))
  f.jax('divmod.float', lambda a, b: (jnp.divmod(a, b), jnp.fmod(a, b)),
        np.array([7, -7, 7.5, -7.25, 0], np.float32), np.array([3, 3, -3, -3, 5], np.float32))
  f.jax('power', lambda a, b: (a ** b, jnp.float_power(a, 2), a ** 3, a ** -1),
        np.array([1, 2, 4, 0.5], np.float32), np.array([3, 2, -1, 2], np.float32),
        tol='abs 1e-6 rel 1e-6')
  f.jax('cross-outer-inner', lambda a, b: (jnp.cross(a, b), jnp.outer(a, b), jnp.vdot(a, b)),
        x[0, :3], y[0, :3])
  f.jax('tensordot', lambda a, b: jnp.tensordot(a, b, axes=([0, 1], [1, 0])),
        small_ints('f32', (3, 4, 2)), small_ints('f32', (4, 3, 5)))
  for spec, a, b in (('ij,jk->ki', (3, 4), (4, 5)), ('bhqd,bhkd->bhqk', (2, 2, 3, 4), (2, 2, 5, 4)),
                     ('i,i->', (5,), (5,)), ('ij,ij->j', (3, 4), (3, 4)), ('abc,cd->abd', (2, 3, 4),
                                                                         (4, 2))):
    f.jax(f'einsum.{spec.replace(",", "-").replace("->", ".")}',
          lambda a, b: jnp.einsum(spec, a, b), small_ints('f32', a), small_ints('f32', b))
  f.jax('interp', lambda v: jnp.interp(v, np.arange(4, dtype=np.float32), np.array(
      [0, 2, 4, 8], np.float32)), np.array([-1, 0.5, 1.25, 2.5, 9], np.float32),
        tol='abs 1e-6 rel 1e-6')
  f.jax('histogram', lambda v: jnp.histogram(v, bins=4, range=(0, 8))[0], x.reshape(-1) + 4)
  f.jax('polyval', lambda p, v: jnp.polyval(p, v), small_ints('f32', (4,)), x[0])
  f.jax('digitize', lambda v: jnp.digitize(v, np.array([-2, 0, 2], np.float32)), x[0])
  f.jax('cumulative', lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1)), x)
  f.jax('diff', lambda x: jnp.diff(x, axis=1), x)
  f.jax('unravel', lambda v: jnp.unravel_index(v, (3, 4)), np.array([0, 5, 11], np.int32))
  f.jax('isin', lambda a, b: jnp.isin(a, b), i[0], i[:, 0])
  f.jax('mixed-types', lambda a, b, c: (a + b, a * c, b.astype(jnp.bool_), a / b),
        np.array([1, 2, 3], np.int8), np.array([1, 2, 4], np.uint8),
        np.array([0.5, 1, 2], jnp.bfloat16))
  f.jax('einsum.int8', lambda a, b: jnp.einsum('ij,jk->ik', a, b,
                                              preferred_element_type=jnp.int32),
        any_bits('s8', (3, 4)), any_bits('s8', (4, 2)))
  f.jax('view', lambda x: x.view(jnp.uint8), count('s32', (2, 3)))


def lstm(params, xs):
  w, u, b = params

  def step(carry, x):
    h, c = carry
    i, g, o, r = jnp.split(x @ w + h @ u + b, 4)
    c = jax.nn.sigmoid(r) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h
  zero = jnp.zeros(u.shape[0], xs.dtype)
  return lax.scan(step, (zero, zero), xs)


def cnn(params, x):
  k1, k2, w = params
  x = lax.conv_general_dilated(x, k1, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
  x = lax.conv_general_dilated(x, k2, (2, 2), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
  return jax.nn.relu(x).reshape(x.shape[0], -1) @ w


def adam(p, m, v, g, t):
  m = 0.9 * m + 0.1 * g
  v = 0.999 * v + 0.001 * g * g
  step = 0.01 * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
  return p - step, m, v


def transformer(params, x):
  def norm(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
  wq, wk, wv, wo, w1, w2 = params
  y = norm(x)
  q, k, v = (jnp.einsum('td,dhe->hte', y, w) for w in (wq, wk, wv))
  scores = jnp.einsum('hte,hse->hts', q, k) / np.float32(2)
  mask = lax.broadcasted_iota(jnp.int32, scores.shape, 1) >= lax.broadcasted_iota(
      jnp.int32, scores.shape, 2)
  a = jax.nn.softmax(jnp.where(mask, scores, np.float32(-1e9)), -1)
  x = x + jnp.einsum('hts,hse,hed->td', a, v, wo)
  return x + jax.nn.gelu(norm(x) @ w1) @ w2


@family
def models(f):
  loose = 'abs 5e-6 rel 2e-5'
  params = [normals('f32', s, i, scale=0.5) for i, s in enumerate([(3, 16), (4, 16), (16,)])]
  xs = normals('f32', (5, 3), 'xs')
  f.jax('lstm', lstm, params, xs, tol=loose)
  f.jax('lstm.grad', jax.grad(lambda p, x: jnp.sum(lstm(p, x)[1])), params, xs, tol=loose)
  params = [normals('f32', s, i, scale=0.3) for i, s in enumerate(
      [(3, 3, 2, 4), (2, 2, 4, 5), (20, 3)])]
  image = normals('f32', (2, 9, 8, 2), 'image')
  f.jax('cnn', cnn, params, image, tol=loose)
  f.jax('cnn.grad', jax.grad(lambda p, x: jnp.sum(cnn(p, x) ** 2)), params, image, tol=loose)
  p = normals('f32', (3, 4), 'p')
  f.jax('adam', adam, p, p * 0, np.abs(p), p[::-1].copy(), np.float32(3), tol=loose)
  params = [normals('f32', s, i, scale=0.3) for i, s in enumerate(
      [(6, 2, 4), (6, 2, 4), (6, 2, 4), (2, 4, 6), (6, 12), (12, 6)])]
  tokens = normals('f32', (5, 6), 'tokens')
  f.jax('transformer', transformer, params, tokens, tol=loose)
  f.jax('transformer.grad', jax.grad(lambda p, x: jnp.sum(transformer(p, x) ** 2)), params, tokens,
        tol='abs 2e-5 rel 2e-5')
  f.jax('remat.grad', jax.grad(lambda x: jnp.sum(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(
      x))), p, tol=loose)
  f.jax('scan', lambda xs: lax.scan(lambda c, x: (c * 2 + x, c - x), np.float32(1), xs),
        small_ints('f32', (6,)))
  f.jax('scan.reverse', lambda xs: lax.scan(lambda c, x: (c + x, c), np.int32(0), xs,
                                            reverse=True), small_ints('s32', (6,)))
  f.jax('scan.unroll', lambda xs: lax.scan(lambda c, x: (c + x, c), np.int32(0), xs, unroll=3),
        small_ints('s32', (7,)))
  f.jax('associative-scan', lambda x: lax.associative_scan(jnp.add, x), small_ints('f32', (9, 2)))
  f.jax('map', lambda x: lax.map(lambda v: jnp.sum(v) * v, x), small_ints('f32', (3, 4)))
  f.jax('vmap.cond', jax.vmap(lambda p, x: lax.cond(p, lambda v: v + 1, lambda v: -v, x)),
        np.array([True, False, True]), small_ints('f32', (3, 2)))
  f.jax('vmap.while', jax.vmap(lambda n: lax.while_loop(lambda s: s[0] > 0, lambda s: (
      s[0] - 1, s[1] * 2), (n, np.int32(1)))), np.array([3, 0, 5], np.int32))
  f.jax('vmap.slice', jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
        small_ints('f32', (3, 5)), np.array([0, 2, 9], np.int32))
  f.jax('hessian', jax.hessian(lambda x: jnp.sum(x ** 3) + x[0] * x[1]), small_ints('f32', (3,)),
        tol=loose)
  f.jax('jacobian', jax.jacobian(lambda x: jnp.cumsum(x * x)), small_ints('f32', (4,)), tol=loose)
  f.jax('game-of-life', lambda b: lax.fori_loop(0, 4, lambda _, b: life(b), b),
        small_ints('s32', (8, 8), low=0, high=2))
  f.jax('mandelbrot', mandelbrot, (np.linspace(-1.9, 0.9, 6)[None] + 1j * np.linspace(-1, 1, 5)[
      :, None]).astype(np.complex64))
  f.jax('sieve', sieve, np.int32(30))
  f.jax('sort-network', lambda x: lax.fori_loop(0, 8, bubble, x), distinct('s32', (8,)))
  f.jax('resize', lambda x: jax.image.resize(x, (6, 8), 'bilinear'), small_ints('f32', (3, 4)),
        tol=loose)
  f.jax('resize.nearest', lambda x: jax.image.resize(x, (6, 8), 'nearest'),
        small_ints('f32', (3, 4)))
  f.jax('power-iteration', lambda a: lax.fori_loop(0, 5, lambda _, v: a @ v / jnp.linalg.norm(
      a @ v), jnp.ones(4, a.dtype)), normals('f32', (4, 4)) + 4 * np.eye(4, dtype=np.float32),
        tol=loose)


def life(board):
  around = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)
               if (i, j) != (0, 0))
  return ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)


def mandelbrot(c):
  def step(_, state):
    z, n = state
    z = jnp.where(jnp.abs(z) < 2, z * z + c, z)
    return z, n + (jnp.abs(z) < 2)
  return lax.fori_loop(0, 12, step, (c * 0, jnp.zeros(c.shape, jnp.int32)))[1]


def sieve(n):
  numbers = jnp.arange(40)

  def strike(i, alive):
    hit = (numbers % i == 0) & (numbers > i)
    return alive & ~hit
  alive = lax.fori_loop(2, 7, strike, (numbers > 1) & (numbers < n))
  return alive, jnp.sum(alive)


def bubble(_, x):
  def swap(i, x):
    a, b = x[i], x[i + 1]
    return x.at[i].set(jnp.minimum(a, b)).at[i + 1].set(jnp.maximum(a, b))
  return lax.fori_loop(0, x.shape[0] - 1, swap, x)
