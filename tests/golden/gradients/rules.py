"""Functions with derivatives of their own: (name, function, arguments, the function that is lowered).

JAX runs the first form, whose values are jnp's. The second form calls the same function by its custom_call_target, so that
the program says nothing about it. The rules differ from the true derivatives: a result that ignored them would show it.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def own_vjp(target, values, backward):
  """A pair of functions with the same derivative: by values, and by a custom call."""
  def by(forward):
    function = jax.custom_vjp(forward)
    function.defvjp(lambda *xs: (forward(*xs), xs), backward)
    return function

  def call(*xs):
    results = jax.eval_shape(values, *xs)
    return jax.ffi.ffi_call(target, results)(*xs)

  return by(values), by(call)


def own_jvp(target, values, forward_rule):
  def by(forward):
    function = jax.custom_jvp(forward)
    function.defjvp(lambda xs, ts: (forward(*xs), forward_rule(*xs, *ts)))
    return function

  return by(values), by(lambda *xs: jax.ffi.ffi_call(target, jax.eval_shape(values, *xs))(*xs))


def forms(build, pair):
  return build(pair[0]), build(pair[1])


wave = own_vjp('test.wave', lambda x, y: jnp.sin(x) * y, lambda xs, g: (3 * g * xs[1], 5 * g))
cube = own_jvp('test.cube', lambda x: x**3, lambda x, t: 7 * x * t)
halves = own_vjp('test.halves', lambda x, i: (x * 2, i + 1, x - 1), lambda xs, g: (g[0] * xs[0] - g[2], None))
turn = own_vjp('test.turn', lambda z: z * 1j, lambda zs, g: (g * zs[0],))


@jax.custom_vjp
def gentle_function(x):
  return jnp.tanh(x)


gentle_function.defvjp(lambda x: (jnp.tanh(x), x), lambda x, g: (g * 11,))


@jax.jit
def gentle(x):
  return gentle_function(x)


@jax.checkpoint
@jax.jit
def again(x, w):
  """The test registers it with { recompute: true }. It has a loop, a branch and two results."""
  y = lax.fori_loop(0, 3, lambda i, c: jnp.sin(c * w + i.astype(c.dtype)), x)
  return lax.cond(y[0] > 0, lambda y: y * w, lambda y: y * 2, y), y.sum()


def rule_cases(real, complex_):
  cases = []

  def case(name, functions, *arguments):
    cases.append((f'rule-{name}', functions[0], arguments, functions[1]))

  case('vjp', forms(lambda f: lambda x, y: f(x * 2, y) + x, wave), real(4), real(4))
  case('vjp-of-one', forms(lambda f: lambda x: f(x, np.float32([1, 2, 3])) * x, wave), real(3))
  case('jvp', forms(lambda f: lambda x: f(jnp.sin(x)), cube), real(2, 3))
  case('results', forms(lambda f: lambda x, i: (lambda y, j, z: (y * j, z))(*f(x, i)), halves), real(3), np.int32([1, 2, 3]))
  case('complex', forms(lambda f: lambda z: f(z) * z, turn), complex_(3))
  case('scan', forms(lambda f: lambda x, ys: lax.scan(lambda c, y: (f(c, y), c), x, ys), wave), real(3), real(4, 3))
  case('jvp-scan', forms(lambda f: lambda x, ys: lax.scan(lambda c, y: (f(c) + y, c), x, ys), cube), real(3) / 4, real(4, 3) / 4)
  case('conditional', forms(lambda f: lambda p, x, y: lax.cond(p > 0, f, lambda x, y: x * y, x, y), wave), np.int32(1), real(3), real(3))
  case('second', forms(lambda f: jax.grad(lambda x, y: f(x, y).sum()), wave), real(3), real(3))
  case('name', (lambda x, y: gentle(x) * gentle(2 * y).sum() + gentle(y).sum(),) * 2, real(3), real(2))
  case('recompute', (lambda x, w: again(again(x, w)[0] * 2, w),) * 2, real(3), real(3))
  case('recompute-scan', (lambda x, w: lax.scan(lambda c, _: again(c, w), x, None, length=3),) * 2, real(3) / 4, real(3) / 4)
  case('recompute-second', (jax.grad(lambda x, w: again(again(x, w)[0], w)[1]),) * 2, real(3), real(3))
  return cases
