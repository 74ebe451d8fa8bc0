"""Exports losses with JAX's backward programs, and functions with JAX's vmap of them, for gradients.mjs:

    build/venv/bin/python tests/bench/gradients/models.py FOLDER

For each model writes to FOLDER: NAME.bin (of jax.export, with vjp_order=1), NAME.I (argument I) and NAME.gI (native XLA's
gradient by it); models.json has the shapes. For each function: NAME.bin, NAME.vmap.bin, NAME.I (arguments of the batch) and
NAME.rI (results); batches.json has the shapes, and which arguments have no batch dimension.
"""

import json
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

random = np.random.default_rng(1)


def real(*sizes, scale=1.0):
  return jnp.asarray((random.standard_normal(sizes) * scale).astype(np.float32))


def labels(count, size):
  return jnp.asarray(random.integers(0, count, size), jnp.int32)


def cross_entropy(logits, y):
  return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1))


def convolution(x, w, stride=1):
  return lax.conv_general_dilated(x, w, (stride, stride), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


def normalised(x, axes, scale, bias):
  mean = x.mean(axes, keepdims=True)
  variance = ((x - mean) ** 2).mean(axes, keepdims=True)
  return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def perceptron(layers, x, y):
  *hidden, (w, b) = layers
  for wh, bh in hidden:
    x = jax.nn.relu(x @ wh + bh)
  return cross_entropy(x @ w + b, y)


def cnn(p, x, y):
  for w, scale, bias in p['layers']:
    x = jax.nn.relu(normalised(convolution(x, w), (0, 1, 2), scale, bias))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
  return cross_entropy(x.reshape(x.shape[0], -1) @ p['w'], y)


def residual(p, x, y):
  x = jax.nn.relu(convolution(x, p['stem'], 2))
  for w1, n1, w2, n2 in p['blocks']:
    h = jax.nn.relu(normalised(convolution(x, w1), (0, 1, 2), *n1))
    x = jax.nn.relu(x + normalised(convolution(h, w2), (0, 1, 2), *n2))
  return cross_entropy(x.mean((1, 2)) @ p['w'], y)


def resnet18(p, x, y):
  """Of He and others (2016), with the statistics of the batch."""
  x = jax.nn.relu(normalised(convolution(x, p['stem'], 2), (0, 1, 2), *p['norm']))
  x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
  for b in p['blocks']:
    stride = 2 if 'down' in b else 1
    h = jax.nn.relu(normalised(convolution(x, b['w1'], stride), (0, 1, 2), *b['n1']))
    h = normalised(convolution(h, b['w2']), (0, 1, 2), *b['n2'])
    if 'down' in b:
      x = normalised(convolution(x, b['down'], 2), (0, 1, 2), *b['nd'])
    x = jax.nn.relu(x + h)
  return cross_entropy(x.mean((1, 2)) @ p['w'], y)


HEADS = 4


def transformer(p, tokens):
  batch, length = tokens.shape
  width = p['embedding'].shape[1]
  heads = lambda h: h.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)
  x = p['embedding'][tokens] + p['places'][:length]
  for layer in p['layers']:
    h = normalised(x, -1, *layer['n1'])
    q, k, v = (heads(h @ layer[w]) for w in 'qkv')
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    attended = (jax.nn.softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    x = x + attended @ layer['o']
    x = x + jax.nn.gelu(normalised(x, -1, *layer['n2']) @ layer['w1'] + layer['b1']) @ layer['w2']
  logits = normalised(x, -1, *p['n']) @ p['embedding'].T
  return cross_entropy(logits[:, :-1], tokens[:, 1:])


def lstm(p, xs, y):
  def step(carry, x):
    h, s = carry
    i, f, g, o = jnp.split(x @ p['w'] + h @ p['u'] + p['b'], 4, -1)
    s = jax.nn.sigmoid(f) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(s)
    return (h, s), h

  zeros = jnp.zeros((xs.shape[1], p['u'].shape[0]))
  return jnp.mean((lax.scan(step, (zeros, zeros), xs)[1] @ p['o'] - y) ** 2)


def gru(p, xs, y):
  def step(h, x):
    xz, xr, xn = jnp.split(x @ p['w'] + p['b'], 3, -1)
    hz, hr, hn = jnp.split(h @ p['u'], 3, -1)
    z = jax.nn.sigmoid(xz + hz)
    h = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
    return h, h

  zeros = jnp.zeros((xs.shape[1], p['u'].shape[0]))
  return jnp.mean((lax.scan(step, zeros, xs)[1] @ p['o'] - y) ** 2)


def neural_ode(p, x):
  f = lambda x: jnp.tanh(x @ p['a']) @ p['b']

  def step(x, _):
    k1 = f(x)
    k2 = f(x + 0.05 * k1)
    k3 = f(x + 0.05 * k2)
    k4 = f(x + 0.1 * k3)
    return x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

  return (lax.scan(step, x, None, length=40)[0] ** 2).mean()


def kalman_filter(p, ys):
  a, c = p['a'], p['c']
  q, r = p['q'] @ p['q'].T + 0.1 * jnp.eye(4), p['r'] @ p['r'].T + 0.1 * jnp.eye(2)
  solve = lambda m, b, **how: lax.linalg.triangular_solve(m, b, left_side=True, lower=True, **how)

  def step(carry, y):
    m, v, likelihood = carry
    m, v = a @ m, a @ v @ a.T + q
    factor = jnp.linalg.cholesky(c @ v @ c.T + r)
    apart = y - c @ m
    z = solve(factor, apart[:, None])[:, 0]
    gain = solve(factor, solve(factor, c @ v), transpose_a=True).T
    likelihood = likelihood - 0.5 * (z @ z) - jnp.log(jnp.diag(factor)).sum()
    return (m + gain @ apart, v - gain @ c @ v, likelihood), None

  return -lax.scan(step, (jnp.zeros(4), jnp.eye(4), 0.0), ys)[0][2]


def gaussian_process(p, x, y):
  distance = ((x[:, None] - x[None]) ** 2 * jnp.exp(p['l'])).sum(-1)
  noise = (jnp.exp(p['n']) + 1e-3) * jnp.eye(x.shape[0])
  factor = jnp.linalg.cholesky(jnp.exp(p['s']) * jnp.exp(-0.5 * distance) + noise)
  return 0.5 * y @ jax.scipy.linalg.cho_solve((factor, True), y) + jnp.log(jnp.diag(factor)).sum()


def n_body(x, v):
  def step(carry, _):
    x, v = carry
    r = x[:, None] - x[None]
    v = v - 0.01 * (r / ((r**2).sum(-1) + 0.1)[..., None] ** 1.5).sum(1)
    return (x + 0.01 * v, v), None

  return (lax.scan(step, (x, v), None, length=30)[0][0] ** 2).sum()


def autoencoder(p, x, noise):
  h = jax.nn.relu(x @ p['e1'])
  mean, variance = h @ p['m'], h @ p['s']
  o = jax.nn.relu((mean + jnp.exp(0.5 * variance) * noise) @ p['d1']) @ p['d2']
  apart = jnp.sum(jnp.maximum(o, 0) - o * x + jnp.log1p(jnp.exp(-jnp.abs(o))), -1)
  return jnp.mean(apart - 0.5 * jnp.sum(1 + variance - mean**2 - jnp.exp(variance), -1))


def flow(layers, x):
  volume = 0.0
  for i, p in enumerate(layers):
    a, b = jnp.split(x, 2, -1) if i % 2 == 0 else jnp.split(x, 2, -1)[::-1]
    s, t = jnp.split(jnp.tanh(a @ p['w'] + p['b']) @ p['o'], 2, -1)
    b, volume = b * jnp.exp(jnp.tanh(s)) + t, volume + jnp.tanh(s).sum(-1)
    x = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], -1)
  return -jnp.mean(volume - 0.5 * (x**2).sum(-1))


def u_net(p, x, y):
  up = lambda x, w: lax.conv_transpose(x, w, (2, 2), 'SAME')
  h1 = jax.nn.relu(convolution(x, p['a']))
  h2 = jax.nn.relu(convolution(h1, p['b'], 2))
  u2 = jax.nn.relu(up(jax.nn.relu(convolution(h2, p['c'], 2)), p['d']) + h2)
  return jnp.mean((convolution(jax.nn.relu(up(u2, p['e']) + h1), p['f']) - y) ** 2)


def lbfgs_step(x, s, y):
  """The loss after one step of L-BFGS, by the two-loop recursion over a history of steps s and changes y."""
  loss = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
  rho = 1 / (s * y).sum(-1)

  def first(q, pair):
    s, y, r = pair
    a = r * (s @ q)
    return q - a * y, a

  def second(q, pair):
    s, y, r, a = pair
    return q + s * (a - r * (y @ q)), None

  q, a = lax.scan(first, jax.grad(loss)(x), (s, y, rho), reverse=True)
  q, _ = lax.scan(second, q * (s[-1] @ y[-1]) / (y[-1] @ y[-1]), (s, y, rho, a))
  return loss(x - 0.01 * q)


def ray_marcher(p, light):
  """Spheres above a plane: 24 steps along each ray, then the normal, by the gradient of the distance."""
  u = jnp.linspace(-0.7, 0.7, 32)
  rays = jnp.stack([*jnp.meshgrid(u, -u), jnp.ones((32, 32))], -1)
  rays = rays / jnp.linalg.norm(rays, axis=-1, keepdims=True)

  def distance(x):
    spheres = jnp.linalg.norm(x[None] - p['centres'], axis=-1) - p['radii']
    return jnp.minimum(-0.1 * jax.nn.logsumexp(-spheres / 0.1), x[1] + 1.0)

  def march(ray):
    t = lax.fori_loop(0, 24, lambda _, t: t + distance(ray * t), 0.1)
    return jax.grad(distance)(ray * t) @ light * jnp.exp(-0.1 * t)

  return jnp.mean(jax.vmap(jax.vmap(march))(rays) ** 2)


def second_derivative(p, x):
  return (jax.grad(lambda x: jnp.tanh(x @ p['a']) @ p['b'])(x) ** 2).sum()


def gpt_hessian(p, v, tokens):
  """Its gradient by p is the product of the Hessian and v."""
  slopes = jax.grad(transformer)(p, tokens)
  return sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(slopes), jax.tree.leaves(v)))


def layers(*sizes):
  return [(real(a, b, scale=a**-0.5), real(b, scale=0.1)) for a, b in zip(sizes, sizes[1:])]


def block(c):
  pair = lambda: (real(c), real(c))
  return real(3, 3, c, c, scale=0.06), pair(), real(3, 3, c, c, scale=0.06), pair()


def resnet_block(c, to):
  pair = lambda: (real(to), real(to))
  b = {'w1': real(3, 3, c, to, scale=(9 * c) ** -0.5), 'n1': pair(), 'w2': real(3, 3, to, to, scale=(9 * to) ** -0.5), 'n2': pair()}
  return b if c == to else {**b, 'down': real(1, 1, c, to, scale=c**-0.5), 'nd': pair()}


def gpt(d, depth):
  return {'embedding': real(256, d, scale=0.1), 'places': real(64, d, scale=0.1), 'n': (real(d), real(d)),
          'layers': [attention_layer(d) for _ in range(depth)]}


def attention_layer(d):
  square = {w: real(d, d, scale=0.09) for w in 'qkvo'}
  return {'n1': (real(d), real(d)), 'n2': (real(d), real(d)), **square, 'w1': real(d, 4 * d, scale=0.09),
          'b1': real(4 * d), 'w2': real(4 * d, d, scale=0.05)}


def images(count, size):
  return real(count, size, size, 3), labels(10, count)


MODELS = {
    'perceptron': (perceptron, layers(784, 256, 128, 10), real(64, 784), labels(10, 64)),
    'cnn': (cnn, {'layers': [(real(3, 3, 3, 16, scale=0.2), real(16), real(16)),
                             (real(3, 3, 16, 32, scale=0.1), real(32), real(32))],
                  'w': real(2048, 10, scale=0.05)}, *images(16, 32)),
    'residual': (residual, {'stem': real(3, 3, 3, 32, scale=0.2), 'blocks': [block(32) for _ in range(4)],
                            'w': real(32, 10)}, *images(8, 32)),
    'transformer': (transformer, gpt(128, 2), labels(256, (4, 64))),
    'lstm': (lstm, {'w': real(32, 256, scale=0.1), 'u': real(64, 256, scale=0.1), 'b': real(256), 'o': real(64, 1)},
             real(50, 16, 32), real(50, 16, 1)),
    'neural_ode': (neural_ode, {'a': real(8, 64, scale=0.3), 'b': real(64, 8, scale=0.1)}, real(128, 8)),
    'kalman_filter': (kalman_filter, {'a': real(4, 4, scale=0.3), 'c': real(2, 4), 'q': real(4, 4, scale=0.3),
                                      'r': real(2, 2, scale=0.3)}, real(60, 2)),
    'gaussian_process': (gaussian_process, {'l': real(3), 's': real(), 'n': real()}, real(100, 3), real(100)),
    'n_body': (n_body, real(64, 3), real(64, 3)),
    'autoencoder': (autoencoder, {'e1': real(784, 200, scale=0.04), 'm': real(200, 20, scale=0.07),
                                  's': real(200, 20, scale=0.07), 'd1': real(20, 200, scale=0.2),
                                  'd2': real(200, 784, scale=0.07)},
                    jnp.asarray(random.random((32, 784)), jnp.float32), real(32, 20)),
    'flow': (flow, [{'w': real(8, 64, scale=0.3), 'b': real(64), 'o': real(64, 16, scale=0.1)} for _ in range(6)],
             real(256, 16)),
    'u_net': (u_net, {'a': real(3, 3, 3, 16, scale=0.2), 'b': real(3, 3, 16, 32, scale=0.1),
                      'c': real(3, 3, 32, 64, scale=0.06), 'd': real(3, 3, 64, 32, scale=0.06),
                      'e': real(3, 3, 32, 16, scale=0.1), 'f': real(3, 3, 16, 3, scale=0.1)},
              real(4, 32, 32, 3), real(4, 32, 32, 3)),
    'resnet18': (resnet18, {'stem': real(7, 7, 3, 64, scale=0.08), 'norm': (real(64), real(64)),
                            'blocks': [resnet_block(*c) for c in ((64, 64), (64, 64), (64, 128), (128, 128), (128, 256),
                                                                  (256, 256), (256, 512), (512, 512))],
                            'w': real(512, 10, scale=0.04)}, *images(2, 64)),
    'gru': (gru, {'w': real(32, 192, scale=0.1), 'u': real(64, 192, scale=0.1), 'b': real(192), 'o': real(64, 1)},
            real(50, 16, 32), real(50, 16, 1)),
    'lbfgs_step': (lbfgs_step, real(500), real(10, 500, scale=0.1), real(10, 500, scale=0.1) + 1),
    'ray_marcher': (ray_marcher, {'centres': jnp.asarray([[-0.8, 0, 3], [0.6, 0.3, 3.5], [0, -0.4, 2.5]], jnp.float32),
                                  'radii': jnp.asarray([0.7, 0.8, 0.4], jnp.float32)},
                    jnp.asarray([0.4, 0.8, -0.4], jnp.float32)),
    'gpt_hessian': (gpt_hessian, gpt(64, 1), gpt(64, 1), labels(256, (2, 32))),
    'second_derivative': (second_derivative, {'a': real(10, 32), 'b': real(32)}, real(10)),
}


def write(folder, name, function, *arguments):
  leaves, tree = jax.tree.flatten(arguments)
  flat = lambda *xs: function(*jax.tree.unflatten(tree, xs))
  wrt = [i for i, x in enumerate(leaves) if jnp.issubdtype(x.dtype, jnp.inexact)]
  path = lambda suffix: os.path.join(folder, f'{name}.{suffix}')
  with open(path('bin'), 'wb') as file:
    file.write(export.export(jax.jit(flat))(*leaves).serialize(vjp_order=1))
  for i, x in enumerate(leaves):
    np.asarray(x).tofile(path(i))
  for i, x in zip(wrt, jax.grad(flat, argnums=tuple(wrt))(*leaves)):
    np.asarray(x).tofile(path(f'g{i}'))
  return {'wrt': wrt, 'shapes': [[{'int32': 's32', 'float32': 'f32'}[str(x.dtype)], x.shape] for x in leaves]}


# ---- Batches ----


def definite(count, n):
  a = real(count, n, n)
  return a @ a.swapaxes(-1, -2) + n * jnp.eye(n)


def rnn(w, u, xs):
  return lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u),) * 2, jnp.zeros(u.shape[0]), xs)[1]


def newton(c):
  return lax.while_loop(lambda x: jnp.abs(x**3 - c) > 1e-3, lambda x: x - (x**3 - c) / (3 * x**2), jnp.float32(2))


def small_perceptron(layers, x):
  for w, b in layers[:-1]:
    x = jnp.tanh(x @ w + b)
  return x @ layers[-1][0] + layers[-1][1]


def filtered(x, w):
  return jax.nn.relu(lax.conv_general_dilated(x[None], w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))[0]


def attended(q, k, v):
  return jax.nn.softmax(q @ k.T / np.sqrt(q.shape[-1]), -1) @ v


N = 64
own_layers = [(real(N, a, b, scale=a**-0.5), real(N, b)) for a, b in ((8, 32), (32, 32), (32, 4))]
# Name: the function, the arguments of all elements, and whether each argument has an entry for each element.
BATCHES = {
    'solve': (jnp.linalg.solve, (definite(N, 8), real(N, 8, 1)), (0, 0)),
    'solve_shared': (jnp.linalg.solve, (definite(1, 16)[0], real(N, 16, 1)), (None, 0)),
    'cholesky': (lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b),
                 (definite(N, 12), real(N, 12)), (0, 0)),
    'least_squares': (lambda a, b: lax.linalg.triangular_solve(jnp.linalg.qr(a)[1], jnp.linalg.qr(a)[0].T @ b[:, None], left_side=True),
                      (real(N, 12, 4), real(N, 12)), (0, 0)),
    'eigenvalues': (jnp.linalg.eigvalsh, (definite(N, 6),), (0,)),
    'perceptron_inputs': (small_perceptron, (layers(8, 32, 32, 4), real(N, 8)), (None, 0)),
    'perceptron_weights': (small_perceptron, (own_layers, real(8)), (0, None)),
    'perceptron_both': (small_perceptron, (own_layers, real(N, 8)), (0, 0)),
    'perceptron_slopes': (jax.grad(lambda p, x: (small_perceptron(p, x) ** 2).sum()), (layers(8, 32, 32, 4), real(N, 8)), (None, 0)),
    'scan': (rnn, (real(8, 16, scale=0.3), real(16, 16, scale=0.2), real(N, 20, 8)), (None, None, 0)),
    'scan_weights': (rnn, (real(8, 16, scale=0.3), real(N, 16, 16, scale=0.2), real(20, 8)), (None, 0, None)),
    'cumulative': (lambda x: jnp.cumsum(x) * lax.cummax(x), (real(N, 200),), (0,)),
    'while': (newton, (jnp.abs(real(N)) + 1,), (0,)),
    'convolution': (filtered, (real(N, 8, 8, 3), real(3, 3, 3, 8)), (0, None)),
    'convolution_weights': (filtered, (real(8, 8, 3), real(N, 3, 3, 3, 8)), (None, 0)),
    'attention': (attended, (real(N, 16, 8), real(N, 16, 8), real(N, 16, 8)), (0, 0, 0)),
    'sort': (lambda x: jnp.sort(x)[:5], (real(N, 50),), (0,)),
    'gather': (lambda x, i: x[i] + x[::-1][i], (real(N, 40), labels(40, (N, 12))), (0, 0)),
    'slices': (lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (8,)) * 2, (i + 1,)),
               (real(N, 40), labels(30, N)), (0, 0)),
    'segments': (lambda x, i: jax.ops.segment_sum(x, i, 8), (real(N, 40), labels(8, (N, 40))), (0, 0)),
}


def exported(function, leaves):
  return export.export(jax.jit(function))(*leaves).serialize()


def write_batch(folder, name, function, arguments, axes):
  leaves, tree = jax.tree.flatten(arguments)
  each = [axis for axis, part in zip(axes, arguments) for _ in jax.tree.leaves(part)]
  flat = lambda *xs: jax.tree.leaves(function(*jax.tree.unflatten(tree, xs)))
  batched = jax.vmap(flat, each)
  path = lambda suffix: os.path.join(folder, f'{name}.{suffix}')
  with open(path('bin'), 'wb') as file:
    file.write(exported(flat, [x if axis is None else x[0] for x, axis in zip(leaves, each)]))
  with open(path('vmap.bin'), 'wb') as file:
    file.write(exported(batched, leaves))
  for i, x in enumerate(leaves):
    np.asarray(x).tofile(path(i))
  for i, x in enumerate(jax.jit(batched)(*leaves)):
    np.asarray(x).tofile(path(f'r{i}'))
  return {'in': each, 'shapes': [[{'int32': 's32', 'float32': 'f32'}[str(x.dtype)], x.shape] for x in leaves]}


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
described = {name: write(folder, name, *model) for name, model in MODELS.items()}
with open(os.path.join(folder, 'models.json'), 'w') as file:
  json.dump(described, file)
batches = {name: write_batch(folder, f'batch_{name}', *batch) for name, batch in BATCHES.items()}
with open(os.path.join(folder, 'batches.json'), 'w') as file:
  json.dump(batches, file)
