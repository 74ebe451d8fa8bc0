"""Loops that count in many ways: (name, function, arguments, the function that is lowered).

JAX does not differentiate a while loop in reverse, so its derivatives are those of the loop written out in Python. The
program is that of lax.while_loop.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def unrolled(condition, body, state):
  """lax.while_loop in Python: the condition must not depend on traced values."""
  while bool(condition(state)):
    state = body(state)
  return state


def step(x, c, i):
  return jnp.sin(c) * x + jnp.asarray(i).astype(x.dtype)


def count_cases(real):
  cases = []
  x = real(3)

  def case(name, build):
    """build(loop) gives the function: with `unrolled`, counters are numbers of numpy; with lax.while_loop, traced."""
    cases.append((f'count-{name}', build(unrolled), (x,), build(lax.while_loop)))

  def counter(name, dtype, first, condition, following):
    def build(loop):
      start = dtype(first)
      return lambda x: loop(lambda s: condition(s[0]), lambda s: (following(s[0]), step(x, s[1], s[0])), (start, x))[1]
    case(name, build)

  one = lambda n: lambda i: i + i.dtype.type(n)
  counter('up', np.int32, 0, lambda i: i < 5, one(1))
  counter('up-turned', np.int32, 0, lambda i: 5 > i, one(1))
  counter('down', np.int32, 5, lambda i: i > 0, one(-1))
  counter('down-by-subtraction', np.int32, 5, lambda i: i > 0, lambda i: i - i.dtype.type(1))
  counter('down-to-zero', np.int32, 4, lambda i: i >= 0, one(-1))
  counter('less-or-equal', np.int32, 1, lambda i: i <= 5, one(1))
  counter('not-equal', np.int32, 0, lambda i: i != 6, one(2))
  counter('not-equal-down', np.int32, 6, lambda i: i != 0, one(-3))
  counter('steps-of-three', np.int32, 0, lambda i: i < 10, one(3))
  counter('steps-below-zero', np.int32, -7, lambda i: i < -1, one(2))
  counter('s64', np.int64, 0, lambda i: i < 4, one(1))
  counter('u32', np.uint32, 0, lambda i: i < 4, one(1))
  counter('u64', np.uint64, 2, lambda i: i < 6, one(1))
  counter('s8', np.int8, 0, lambda i: i < 4, one(1))
  counter('s8-to-its-end', np.int8, 120, lambda i: i < 127, one(1))
  counter('u32-down', np.uint32, 4, lambda i: i > 0, lambda i: i - np.uint32(1))
  counter('doubled', np.int32, 1, lambda i: i < 20, lambda i: i * np.int32(2))
  counter('float', np.float32, 0, lambda t: t < 1, lambda t: t + np.float32(0.25))
  counter('converted', np.int32, 0, lambda i: i.astype(np.float32) < 3.5, one(1))
  counter('of-none', np.int32, 7, lambda i: i < 5, one(1))

  case('bound-in-state', lambda loop: lambda x: loop(
      lambda s: s[0] < s[1], lambda s: (s[0] + np.int32(1), s[1], step(x, s[2], s[0])), (np.int32(0), np.int32(5), x))[2])
  case('bound-that-moves', lambda loop: lambda x: loop(
      lambda s: s[0] < s[1], lambda s: (s[0] + np.int32(2), s[1] + np.int32(1), step(x, s[2], s[0])),
      (np.int32(0), np.int32(5), x))[2])
  case('two-counters', lambda loop: lambda x: loop(
      lambda s: (s[0] < 5) & (s[1] > 2), lambda s: (s[0] + np.int32(1), s[1] - np.int32(1), step(x, s[2], s[1])),
      (np.int32(0), np.int32(6), x))[2])

  def nested(loop):
    def inner(x, c, n):
      return loop(lambda s: s[0] < s[1], lambda s: (s[0] + np.int32(1), s[1], step(x, s[2], s[0])), (np.int32(0), n, c))[2]
    return lambda x: loop(
        lambda s: s[0] < 3, lambda s: (s[0] + np.int32(1), s[1], inner(x, s[2], s[1])), (np.int32(0), np.int32(4), x))[2]
  case('nested-bound', nested)

  # Bounds: the number of iterations depends on the numbers, and cannot exceed what one part of the condition says.
  def bounded(name, condition, one=np.int32(1)):
    case(f'bound-{name}', lambda loop: lambda x: loop(
        lambda s: condition(s[0], jnp.abs(s[1]).max()), lambda s: (s[0] + one, s[1] * 0.7 + 0.01 * x), (np.int32(0), x))[1])

  both = jnp.logical_and
  bounded('first', lambda i, e: both(i < 40, e > 0.2))
  bounded('last', lambda i, e: both(e > 0.2, i < 40))
  bounded('reached', lambda i, e: both(e > 1e-9, 7 > i))
  bounded('nested', lambda i, e: both(both(e > 0.2, e < 1e9), both(i < 40, i != 33)))
  bounded('selected', lambda i, e: jnp.where(i < 9, e > 0.2, False))
  bounded('of-none', lambda i, e: both(i < 0, e > 0.2))
  case('bound-flag', lambda loop: lambda x: loop(
      lambda s: s[2], lambda s: (s[0] + np.int32(1), s[1] * 0.7, both(s[0] < 30, jnp.abs(s[1]).max() > 0.2)),
      (np.int32(0), x, jnp.bool_(True)))[1])
  case('bound-flags', lambda loop: lambda x: loop(
      lambda s: jnp.any(s[2]),
      lambda s: (s[0] + np.int32(1), jnp.where(s[2], s[1] * 0.7, s[1]), both(s[2], both(s[0] < 30, jnp.abs(s[1]) > 0.2))),
      (np.int32(0), x, jnp.ones(3, bool)))[1])

  # The bound of an inner loop comes from the counter of the outer one.
  def triangle(name, first, condition):
    def build(loop):
      def inner(x, c, i):
        return loop(lambda s: condition(s[0], s[2]), lambda s: (s[0] + np.int32(1), jnp.sin(s[1]) * x + 0.1, s[2]), (first(i), c, i))[1]
      return lambda x: loop(lambda s: s[0] < 5, lambda s: (s[0] + np.int32(1), inner(x, s[1], s[0])), (np.int32(0), x))[1]
    case(f'outer-{name}', build)

  zero = lambda i: jnp.int32(0)
  triangle('counter', zero, lambda j, i: j < i)
  triangle('counter-or-equal', zero, lambda j, i: j <= i)
  triangle('rest', zero, lambda j, i: j < 5 - i)
  triangle('start', lambda i: i, lambda j, i: j < 5)
  triangle('start-after', lambda i: i + np.int32(1), lambda j, i: j < 2 * i + 3)
  case('outer-of-outer', lambda loop: lambda x: loop(
      lambda s: s[0] < 4, lambda s: (s[0] + np.int32(1), loop(
          lambda t: t[0] < t[2], lambda t: (t[0] + np.int32(1), loop(
              lambda u: u[0] < u[2], lambda u: (u[0] + np.int32(1), jnp.sin(u[1]) * x + 0.1, u[2]),
              (jnp.int32(0), t[1], t[2]))[1], t[2]),
          (jnp.int32(0), s[1], s[0]))[1]),
      (np.int32(0), x))[1])

  xs = real(10, 3)
  for unroll in (1, 3, 4):
    scan = lambda w, xs, unroll=unroll: lax.scan(lambda c, v: (jnp.tanh(c * w + v), c), w, xs, unroll=unroll)
    cases.append((f'count-scan-unroll-{unroll}', scan, (x, xs), scan))
  return cases
