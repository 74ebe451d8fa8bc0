"""Exports losses with the backward programs that JAX makes of them, for gradients.mjs:

    build/venv/bin/python tests/bench/gradients/models.py FOLDER

Of each model FOLDER gets NAME.bin (of jax.export, with vjp_order=1), NAME.I (argument I) and NAME.gI (the gradient by
it, by native XLA); models.json says their shapes.
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


def second_derivative(p, x):
  return (jax.grad(lambda x: jnp.tanh(x @ p['a']) @ p['b'])(x) ** 2).sum()


def layers(*sizes):
  return [(real(a, b, scale=a**-0.5), real(b, scale=0.1)) for a, b in zip(sizes, sizes[1:])]


def block(c):
  pair = lambda: (real(c), real(c))
  return real(3, 3, c, c, scale=0.06), pair(), real(3, 3, c, c, scale=0.06), pair()


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
    'transformer': (transformer, {'embedding': real(256, 128, scale=0.1), 'places': real(64, 128, scale=0.1),
                                  'n': (real(128), real(128)), 'layers': [attention_layer(128) for _ in range(2)]},
                    labels(256, (4, 64))),
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


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
described = {name: write(folder, name, *model) for name, model in MODELS.items()}
with open(os.path.join(folder, 'models.json'), 'w') as file:
  json.dump(described, file)
