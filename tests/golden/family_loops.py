"""Loops until a condition of several steps holds, around bodies of kernels and nested control flow.

Every step halves or permutes powers of two, so that all numbers, and with them the number of
iterations, are exact."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from corpus import family
from family_collectives import collective

N = 32
TOLERANCE = np.float32(2.0 ** -7)
START = np.float32(2.0) ** (np.arange(N, dtype=np.float32) % 7)


def permute(x):
  """Multiplies by a permutation matrix."""
  places = jnp.arange(N)
  return (places[:, None] == (places * 5 + 3) % N).astype(jnp.float32) @ x


def one_of_two(x):
  return lax.cond(x[0] < 3, lambda x: -x, lambda x: x, x)


# Each maps f32[N] to f32[N] and keeps the absolute values, up to their order.
BODIES = {
    'dot': permute,
    'dots': lambda x: permute(permute(x)[::-1]),
    'sort': jnp.sort,
    'top-k': lambda x: lax.top_k(x, N)[0],
    'convolution': lambda x: jnp.convolve(x, np.array([0, 1, 0], np.float32), mode='same'),
    'cumulative-max': lambda x: lax.cummax(jnp.sort(x)),
    'cholesky': lambda x: x * jnp.linalg.cholesky(4 * jnp.eye(N, dtype=jnp.float32))[0, 0] / 2,
    'scatter': lambda x: jnp.zeros(N, jnp.float32).at[(jnp.arange(N) * 5) % N].add(x),
    'loop': lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.roll(x, 1), x),
    'branches': one_of_two,
    'branches-of-kernels': lambda x: lax.cond(x[1] > x[0], permute,
                                              lambda x: jnp.sort(x)[::-1], x),
    'map': lambda x: lax.map(lambda row: -row, x.reshape(4, N // 4)).reshape(N),
    'elements': lambda x: -x,
}


# Each takes the count, the new and the old value; it says whether to go on.
def any_moved(i, x, old):
  return jnp.any(jnp.abs(x - old) > TOLERANCE)


CONDITIONS = {
    'any': any_moved,
    'any-and-count': lambda i, x, old: any_moved(i, x, old) & (i < 30),
    'norm': lambda i, x, old: jnp.linalg.norm(x - old, np.inf) > TOLERANCE,
    'not-all': lambda i, x, old: ~jnp.all(jnp.abs(x) <= TOLERANCE),
    'sum-or-count': lambda i, x, old: (jnp.sum(jnp.abs(x)) > 1) | (i < 3),
    'maximum-of-a-dot': lambda i, x, old: jnp.max(jnp.abs(permute(x))) > TOLERANCE,
    'branches': lambda i, x, old: lax.cond(i < 2, lambda x: True, lambda x: jnp.max(jnp.abs(x)) > TOLERANCE, x),
    'loop': lambda i, x, old: lax.fori_loop(
        0, 4, lambda k, m: jnp.maximum(m, jnp.abs(x[8 * k])), np.float32(0)) > TOLERANCE,
    'sort': lambda i, x, old: jnp.sort(jnp.abs(x))[N // 2] > TOLERANCE,
}


def until(condition, body):
  def loop(x):
    def step(state):
      i, x, old = state
      return i + 1, body(x) / 2, x
    return lax.while_loop(lambda s: condition(*s), step, (0, x, x + 1))
  return loop


def flag(body):
  """The body says whether to go on."""
  def loop(x):
    def step(state):
      x, more, i = state
      new = body(x) / 2
      return new, jnp.max(jnp.abs(new)) > TOLERANCE, i + 1
    return lax.while_loop(lambda s: s[1], step, (x, True, 0))
  return loop


def pair(body):
  """Two loops, one in the other, both until a condition of several steps."""
  def loop(x):
    def step(state):
      i, x = state
      _, y, _ = lax.while_loop(lambda s: any_moved(*s) & (s[0] < 2),
                               lambda s: (s[0] + 1, body(s[1]) / 2, s[1]), (0, x, x + 1))
      return i + 1, y
    return lax.while_loop(lambda s: jnp.any(jnp.abs(s[1]) > TOLERANCE) & (s[0] < 9), step, (0, x))
  return loop


REPLICAS = '''larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}

or {
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] or(a, b)
}

condition {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  tol = f32[] constant(0.01)
  tols = f32[3] broadcast(tol), dimensions={}
  more = pred[3] compare(x, tols), direction=GT
  no = pred[] constant(false)
  any = pred[] reduce(more, no), dimensions={0}, to_apply=or
  n = s32[] constant(9)
  less = pred[] compare(i, n), direction=LT
  ROOT r = pred[] and(any, less)
}

body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  m = f32[3] all-reduce(x), replica_groups={}, to_apply=larger
  half = f32[] constant(0.5)
  halves = f32[3] broadcast(half), dimensions={}
  y = f32[3] multiply(m, halves)
  ROOT t = (s32[], f32[3]) tuple(next, y)
}
'''

# A sum that is the same in each iteration, beside the all-reduce.
HOISTED = REPLICAS.replace('(s32[], f32[3])', '(s32[], f32[3], f32[20,20])').replace(
    'tuple(next, y)', 'tuple(next, z, w)').replace(
    '  ROOT t', '''  w = f32[20,20] get-tuple-element(s), index=2
  none = f32[] constant(-inf)
  one_f = f32[] reduce(w, none), dimensions={0,1}, to_apply=larger
  ones = f32[3] broadcast(one_f), dimensions={}
  z = f32[3] multiply(y, ones)
  ROOT t''')


@family
def loops(f):
  for name, body in BODIES.items():
    f.jax(f'until.any-and-count.{name}', until(CONDITIONS['any-and-count'], body), START)
    f.jax(f'flag.{name}', flag(body), START)
    f.jax(f'nested.{name}', pair(body), START)
  for name, condition in CONDITIONS.items():
    for body in 'dot', 'sort', 'branches', 'elements':
      f.jax(f'while.{name}.{body}', until(condition, BODIES[body]), START)
  collective(f, 'until.all-reduce', 2, lambda r: [START[r:r + 3]],
             '''zero = s32[] constant(0)
             init = (s32[], f32[3]) tuple(zero, p0)
             r = (s32[], f32[3]) while(init), condition=condition, body=body''', REPLICAS)
  w = np.eye(20, dtype=np.float32)
  collective(f, 'until.all-reduce.hoisted', 2, lambda r: [START[r:r + 3], w],
             '''zero = s32[] constant(0)
             init = (s32[], f32[3], f32[20,20]) tuple(zero, p0, p1)
             r = (s32[], f32[3], f32[20,20]) while(init), condition=condition, body=body''', HOISTED,
             check=False)  # XLA moves the maximum to a computation of its own
