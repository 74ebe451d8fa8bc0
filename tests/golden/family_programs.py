"""Whole programs as JAX users write them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family
from values import distinct, normals, small_ints


def mlp_loss(params, x, labels):
  (w1, b1), (w2, b2) = params
  h = jax.nn.relu(x @ w1 + b1)
  logits = h @ w2 + b2
  picked = jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * logits, axis=-1)
  return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def mlp_inputs():
  params = [(normals('f32', (6, 8), 'w1', scale=0.4), normals('f32', (8,), 'b1', scale=0.1)),
            (normals('f32', (8, 4), 'w2', scale=0.4), normals('f32', (4,), 'b2', scale=0.1))]
  return params, normals('f32', (5, 6), 'x'), np.array([0, 3, 1, 2, 3], np.int32)


def sgd(params, x, labels):
  loss, grads = jax.value_and_grad(mlp_loss)(params, x, labels)
  return loss, jax.tree.map(lambda p, g: p - np.float32(0.1) * g, params, grads)


def layer_norm(x, scale, bias):
  mean = jnp.mean(x, axis=-1, keepdims=True)
  var = jnp.var(x, axis=-1, keepdims=True)
  return (x - mean) * lax.rsqrt(var + 1e-5) * scale + bias


@family
def programs(f):
  """What the first stage can run: no gather, no scatter, no dynamic slices."""
  x = normals('f32', (3, 5), 'x')
  near = 'abs 2e-6 rel 1e-5'
  f.jax('softmax', lambda x: jax.nn.softmax(x, axis=-1), x, tol=near)
  f.jax('log-softmax', lambda x: jax.nn.log_softmax(x, axis=0), x, tol=near)
  f.jax('logsumexp', lambda x: jax.nn.logsumexp(x, axis=1), x, tol=near)
  f.jax('layer-norm', layer_norm, x, normals('f32', (5,), 'scale'), normals('f32', (5,), 'bias'),
        tol='abs 5e-6 rel 1e-5')
  f.jax('mlp.loss', mlp_loss, *mlp_inputs(), tol=near)
  f.jax('mlp.sgd', sgd, *mlp_inputs(), tol='abs 5e-6 rel 1e-5')
  f.jax('gelu', jax.nn.gelu, x, tol=near)
  f.jax('silu.grad', jax.grad(lambda x: jnp.sum(jax.nn.silu(x))), x, tol=near)
  f.jax('where', lambda x: jnp.where(x > 0, x, np.float32(0.5) * x), x)
  f.jax('argmax', lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.max(x), jnp.min(x, 1)), x)
  f.jax('any-all', lambda x: (jnp.any(x > 1), jnp.all(x > -9, axis=0), jnp.sum(x > 0, axis=1)), x)
  f.jax('fori', lambda x: lax.fori_loop(0, 6, lambda i, a: a * 2 + i.astype(jnp.float32), x),
        small_ints('f32', (2, 3)))
  f.jax('while', lambda n: lax.while_loop(lambda s: s[0] > 1, lambda s: (
      jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, np.int32(0))),
        np.int32(27))
  f.jax('cond', lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: x * x, x), np.bool_(True),
        small_ints('f32', (4,)))
  f.jax('switch', lambda i, x: lax.switch(i, [lambda x: x, lambda x: -x, lambda x: x * x], x),
        np.int32(7), small_ints('f32', (4,)))
  f.jax('matmul-chain', lambda a, b, c: (a @ b).T @ c, small_ints('f32', (3, 4)),
        small_ints('f32', (4, 5)), small_ints('f32', (3, 2)))
  f.jax('einsum', lambda a, b: jnp.einsum('bij,bkj->bik', a, b), small_ints('f32', (2, 3, 4)),
        small_ints('f32', (2, 5, 4)))
  f.jax('outer-broadcast', lambda a, b: a[:, None] * b[None, :] + 1, small_ints('s32', (3,)),
        small_ints('s32', (4,)))
  f.jax('floor-divide', lambda a, b: (a // b, a % b, jnp.sign(a) * abs(b)),
        distinct('s32', (8,)) - 4, np.array([1, 2, 3, -3, -1, 5, -2, 7], np.int32))
  f.jax('attention', attention, *[normals('f32', (2, 4, 6), k) for k in 'qkv'], tol=near)


def attention(q, k, v):
  scores = jnp.einsum('hqd,hkd->hqk', q, k) / np.float32(np.sqrt(q.shape[-1]))
  mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
  weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
  return jnp.einsum('hqk,hkd->hqd', weights, v)
