"""Random programs whose slopes meet exact zeros, ties and poles, with JAX's values and slopes: one JSON record a line.

    build/venv/bin/python tests/fuzz/slopes.py [--seed N] [--programs N]

A program is a chain of the steps below. Reductions, windows and scatters have initial values that need not be neutral,
and may be differentiated, too. JAX has no rule for some of these: a step then has a second form, by operations with rules,
from which the expected values come. The program is that of the first form.

Ties and poles are exact only while all arithmetic is: steps with kinks or poles take values that are small multiples of a
power of two. Other steps take any values.

A record: { seed, steps, program (StableHLO), arguments, value, tangents, jvp, cotangents, vjp, near }. `near` has other
arguments, at which the program is smooth. Arrays are f64, as in tests/golden/gradients.
"""

import argparse
import functools
import itertools
import json
import os
import random
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update('jax_enable_x64', True)
warnings.simplefilter('ignore')

# The operations that are written shall run, and compile fast.
FLAGS = ' '.join([
    '--xla_disable_hlo_passes=algsimp,simplification,constant_folding',
    '--xla_backend_optimization_level=0',
    '--xla_llvm_disable_expensive_passes=true',
    '--xla_cpu_parallel_codegen_split_count=1',
])
GRID = 2.0 ** -16
NUMBERS = [0.0, 0.0, 0.0, 1.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, -2.0, 0.25, 1.5, -1.5]
LARGEST = 1e6
INITIAL = [0.0, 1.0, 0.5, -2.0, 2.0, 1.5, -1.0]


def is_exact(x):
  return bool(np.all(np.isfinite(x)) and np.all(np.abs(x) < 1 / GRID) and np.all(x / GRID == np.round(x / GRID)))


# ---- Element by element ----

# The second item says whether there is a kink or a pole.
def of_array(f):
  """A function along a dimension; numbers have none."""
  return lambda x: f(x) if x.ndim else x


UNARY = {
    'abs': (jnp.abs, True),
    'relu': (jax.nn.relu, True),
    'relu6': (jax.nn.relu6, True),
    'leaky_relu': (jax.nn.leaky_relu, True),
    'clip': (lambda x: jnp.clip(x, -1.0, 2.0), True),
    'clamp': (lambda x: lax.clamp(-1.0, x, 2.0), True),
    'hard_tanh': (jax.nn.hard_tanh, True),
    'floor': (lambda x: x * jnp.floor(x), True),
    'round': (lambda x: x - jnp.round(x), True),
    'square': (jnp.square, False),
    'cube': (lambda x: x**3, False),
    'zeroth power': (lambda x: x**0 * x, False),
    'sqrt': (jnp.sqrt, True),
    'rsqrt': (lax.rsqrt, True),
    'cbrt': (jnp.cbrt, True),
    'log': (jnp.log, True),
    'log1p': (jnp.log1p, True),
    'reciprocal': (lambda x: 1 / x, True),
    'inverse square': (lambda x: x**-2, True),
    'power 1.5': (lambda x: x**1.5, True),
    'exp': (jnp.exp, False),
    'expm1': (jnp.expm1, False),
    'tanh': (jnp.tanh, False),
    'sin': (jnp.sin, False),
    'cosh': (jnp.cosh, False),
    'atan': (jnp.arctan, False),
    'asin': (jnp.arcsin, True),
    'logistic': (jax.nn.sigmoid, False),
    'softplus': (jax.nn.softplus, False),
    'erf': (lax.erf, False),
    'odd root': (lambda x: jnp.sign(x) * jnp.abs(x), True),
    'odd square': (lambda x: jnp.sign(x) * (jnp.abs(x) * jnp.abs(x)), True),
    'sign of mean': (lambda x: jnp.sign(x) * jnp.mean(jnp.abs(x)), True),
    'sign of sum': (lambda x: (jnp.abs(x) + jnp.sum(x)) * jnp.sign(x), True),
    'sign of maximum': (lambda x: jnp.sign(x) * jnp.max(jnp.abs(x)), True),
    'sign of first': (lambda x: jnp.sign(x) * jnp.abs(x).ravel()[0], True),
    'sign of reversed': (lambda x: jnp.sign(x) * jnp.flip(jnp.abs(x)), True),
    'sign of other': (lambda x: jnp.sign(x) * (1 + x * jnp.abs(x)), True),
    'safe sqrt': (lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0), True),
    'safe reciprocal': (lambda x: jnp.where(x == 0, 0.0, 1 / jnp.where(x == 0, 1.0, x)), True),
    'select': (lambda x: jnp.where(x >= 0, x * x, -x), True),
    'norm': (lambda x: jnp.sqrt(jnp.sum(x * x) + 1) * x, False),
    'softmax': (of_array(lambda x: jax.nn.softmax(x, axis=-1)), True),
    'logsumexp': (of_array(lambda x: jax.nn.logsumexp(x, axis=-1)), True),
    'variance': (of_array(lambda x: jnp.var(x, axis=0)), False),
    'median': (of_array(lambda x: jnp.median(x, axis=-1)), True),
    'modulus of complex': (lambda x: jnp.abs(lax.complex(x, x * x)), True),
    'square of complex': (lambda x: jnp.real(lax.complex(x, 1 - x) ** 2), False),
    'imaginary part': (lambda x: jnp.imag(jnp.exp(lax.complex(x, 2 * x)) * 1j), False),
    'conjugate': (lambda x: jnp.imag(jnp.conj(lax.complex(x, x * x)) * lax.complex(x, x)), False),
    'converted to complex': (lambda x: jnp.real(x.astype('complex128') * (2 + 1j)), False),
    'fft': (of_array(lambda x: jnp.real(jnp.fft.fft(x)) - jnp.imag(jnp.fft.ifft(x))), False),
}
BINARY = {
    'add': (jnp.add, False),
    'subtract': (jnp.subtract, False),
    'multiply': (jnp.multiply, False),
    'divide': (jnp.divide, True),
    'maximum': (lambda x, y: lax.max(x, y), True),
    'minimum': (lambda x, y: lax.min(x, y), True),
    'power': (lambda x, y: jnp.power(jnp.abs(x) + 0.5, y), True),
    'atan2': (jnp.arctan2, True),
    'hypot': (jnp.hypot, True),
    'remainder': (lambda x, y: lax.rem(x, y), True),
    'logaddexp': (jnp.logaddexp, True),
    'logaddexp2': (jnp.logaddexp2, True),
    # Not at (0, 0), and not of negative numbers: docs/differences.md.
    'xlogy': (lambda x, y: jax.scipy.special.xlogy(x, jnp.abs(y) + 0.25), True),
    'xlog1py': (lambda x, y: jax.scipy.special.xlog1py(x, jnp.abs(y)), True),
    'odd of two': (lambda x, y: jnp.sign(x) * (jnp.abs(x) + y), True),
    'odd product': (lambda x, y: jnp.sign(x) * jnp.abs(x) * y, True),
    'odd of two, sorted': (lambda x, y: jnp.sign(x) * jnp.maximum(jnp.abs(x), y), True),
    'sign of other': (lambda x, y: jnp.sign(x) * y, True),
    'select': (lambda x, y: jnp.where(x > y, x, y), True),
    'select a branch': (lambda x, y: jnp.where(x == 0, y, x * y), True),
    'polar': (lambda x, y: jnp.real(lax.complex(x, y) * lax.complex(y, x)), False),
}


def unary(r, chain):
  name = r.choice(list(UNARY))
  function, kinked = UNARY[name]
  return chain.add(name, [chain.pick(r, kinked)], function)


def binary(r, chain):
  name = r.choice(list(BINARY))
  function, kinked = BINARY[name]
  x = chain.pick(r, kinked)
  y = chain.pick(r, kinked, lambda y: y.shape == chain.values[x].shape)
  return chain.add(name, [x, y], function)


# ---- Computations that reduce ----

LAWS = {
    'multiply': (lax.mul, 1.0),
    'maximum': (lax.max, -np.inf),
    'minimum': (lax.min, np.inf),
    'add': (lax.add, 0.0),
    'second maximum': (lambda a, b: lax.max(b, a) + 0.0, -np.inf),
    'circle': (lambda a, b: a + b + a * b, 0.0),
    'last': (lambda a, b: b + 0.0 * a, 0.0),
    'first of larger': (lambda a, b: lax.select(lax.ge(a, b), a, b), -np.inf),
    'logaddexp': (jnp.logaddexp, -np.inf),
}


def fold(law, init, elements, valid):
  """Applies a law to the initial value and each valid element of the last dimension in turn."""
  total = jnp.broadcast_to(init, elements.shape[:-1])
  for k in range(elements.shape[-1]):
    if valid[..., k].all():
      total = law(total, elements[..., k])
    else:
      total = jnp.where(valid[..., k], law(total, elements[..., k]), total)
  return total


def initial(r, chain, neutral):
  """A number, or a place in a value of the chain."""
  if r.random() < 0.2:
    return None, neutral
  if r.random() < 0.4:
    x = chain.pick(r, True, lambda x: x.size > 0)
    return x, r.randrange(chain.values[x].size)
  return None, r.choice(INITIAL)


def with_initial(source, at, function):
  """A function of the operand, and of the array that has the initial value."""
  if source is None:
    return lambda x: function(x, np.float64(at))
  return lambda x, y: function(x, y.ravel()[at])


def reduction(r, chain):
  name = r.choice(list(LAWS))
  law, neutral = LAWS[name]
  x = chain.pick(r, True, lambda x: x.ndim > 0)
  shape = chain.values[x].shape
  axes = tuple(sorted(r.sample(range(len(shape)), r.randint(1, len(shape)))))
  source, at = initial(r, chain, neutral)

  def written(x, init):
    return lax.reduce(x, init, law, axes)

  def reference(x, init):
    if name == 'maximum':
      return lax.max(jnp.broadcast_to(init, lax.reduce_max(x, axes).shape), lax.reduce_max(x, axes))
    if name == 'minimum':
      return lax.min(jnp.broadcast_to(init, lax.reduce_min(x, axes).shape), lax.reduce_min(x, axes))
    kept = [d for d in range(x.ndim) if d not in axes]
    rows = jnp.transpose(x, kept + list(axes)).reshape([x.shape[d] for d in kept] + [-1])
    return fold(law, init, rows, np.ones(rows.shape, bool))

  if name == 'second maximum':  # it is no simple maximum, and its ties depend on the order
    return False
  operands = [x] if source is None else [x, source]
  return chain.add(f'reduce {name} {axes} from {at} of {source}', operands, with_initial(source, at, written),
                   with_initial(source, at, reference))


def places(shape, window, strides, padding, base, holes):
  """For each window its elements, as numbers of the operand's, and which of them there are."""
  along = []
  for n, w, s, (low, high), b, h in zip(shape, window, strides, padding, base, holes):
    length = low + (n - 1) * b + 1 + high
    count = (length - (w - 1) * h - 1) // s + 1
    if count < 1:
      return None
    at = np.arange(count)[:, None] * s + np.arange(w)[None] * h - low
    along.append((at // b, (at % b == 0) & (at >= 0) & (at // b < n)))
  counts = [a.shape[0] for a, _ in along]
  total, valid = np.zeros((1, 1), int), np.ones((1, 1), bool)
  for n, (a, v) in zip(shape, along):
    total = (total[:, None, :, None] * n + np.where(v, a, 0)[None, :, None, :]).reshape(total.shape[0] * len(a), -1)
    valid = (valid[:, None, :, None] & v[None, :, None, :]).reshape(valid.shape[0] * len(a), -1)
  return counts, total, valid


def first_places(x, start, elements, valid):
  """The first largest element of each window, or smallest if `start` is inf.

  JAX's vjp has it so; its jvp has another one where LLVM orders the loops of XLA:CPU's windows of pairs differently.
  """
  values = jnp.where(valid, x.ravel()[elements], start)
  chosen = (jnp.argmax if start < 0 else jnp.argmin)(values, -1)
  return jnp.take_along_axis(jnp.asarray(elements), chosen[:, None], -1)[:, 0]


def random_window(r, shape):
  if r.random() < 0.25:  # cumulative
    d, back = r.randrange(len(shape)), r.random() < 0.5
    more = r.choice([0, 0, 1])
    size = [n + more if i == d else 1 for i, n in enumerate(shape)]
    pad = [((0, n - 1 + more) if back else (n - 1 + more, 0)) if i == d else (0, 0) for i, n in enumerate(shape)]
    ones = [1] * len(shape)
    return size, ones, pad, ones, ones, (d, back)
  some = lambda p, most: [r.randint(1, most) if r.random() < p else 1 for _ in shape]
  window = [r.randint(1, min(n + 2, 5)) for n in shape]
  padding = [(r.randint(0, 3), r.randint(0, 3)) if r.random() < 0.6 else (0, 0) for _ in shape]
  return window, some(0.4, 3), padding, some(0.2, 2), some(0.2, 2), None


def is_scan(shape, size, strides, padding, base):
  """Whether a window has the form of a scan, whose slopes at ties are others."""
  moves = [(n, w, p) for n, w, p in zip(shape, size, padding) if w > 1 or p != (0, 0)]
  return len(moves) == 1 and max(strides + base) == 1 and moves[0][1] >= moves[0][0] and 0 in moves[0][2]


def window(r, chain):
  name = r.choice(list(LAWS))
  law, neutral = LAWS[name]
  x = chain.pick(r, True, lambda x: x.ndim > 0)
  shape = chain.values[x].shape
  size, strides, padding, base, holes, cumulative = random_window(r, shape)
  if not cumulative and is_scan(shape, size, strides, padding, base):
    return False
  found = places(shape, size, strides, padding, base, holes)
  if not found or name in ('second maximum', 'logaddexp') and cumulative is None:
    return False
  counts, elements, valid = found
  if elements.size > 3000 or elements.shape[1] > 12:
    return False
  source, at = initial(r, chain, neutral)
  form = size, strides, padding, base, holes

  def written(x, init):
    return lax.reduce_window(x, init, law, *form)

  def reference(x, init):
    extreme = {'maximum': (lax.cummax, lax.max), 'minimum': (lax.cummin, lax.min)}.get(name)
    if extreme:
      scan, join = extreme
      if cumulative:
        found = scan(x, axis=cumulative[0], reverse=cumulative[1])
      else:
        at = first_places(x, neutral, elements, valid)
        found = jnp.where(valid.any(-1), x.ravel()[at], neutral).reshape(counts)
      return found if isinstance(init, float) and init == neutral else join(jnp.broadcast_to(init, found.shape), found)
    found = jnp.where(valid, x.ravel()[elements], 1.0)
    return fold(law, init, found, valid).reshape(counts)

  if name == 'second maximum':
    return False
  operands = [x] if source is None else [x, source]
  return chain.add(f'window {name} {form} from {at} of {source}', operands, with_initial(source, at, written),
                   with_initial(source, at, reference))


SCANS = {
    'cumsum': (lax.cumsum, False),
    'cumprod': (lax.cumprod, False),
    'cummax': (lax.cummax, True),
    'cummin': (lax.cummin, True),
    'cumlogsumexp': (lax.cumlogsumexp, True),
}


def cumulative(r, chain):
  name = r.choice(list(SCANS))
  function, kinked = SCANS[name]
  x = chain.pick(r, kinked, lambda x: x.ndim > 0)
  axis, reverse = r.randrange(chain.values[x].ndim), r.random() < 0.4
  return chain.add(f'{name} {axis} {reverse}', [x], functools.partial(function, axis=axis, reverse=reverse))


def pool(r, chain):
  """The derivative of a window's maximum: select-and-scatter."""
  x = chain.pick(r, True, lambda x: x.ndim > 0)
  shape = chain.values[x].shape
  size = [r.randint(1, max(1, min(n - 1, 3))) for n in shape]  # others may be scans
  strides = [r.randint(1, 2) for _ in shape]
  law, start = r.choice([(lax.max, -np.inf), (lax.min, np.inf)])

  def written(x):
    of = lambda x: lax.reduce_window(x, start, law, size, strides, 'SAME')
    return jax.vjp(of, x)[1](of(x) * of(x))[0]

  def reference(x):
    ones = [1] * x.ndim
    _, elements, valid = places(shape, size, strides, lax.padtype_to_pads(shape, size, strides, 'SAME'), ones, ones)
    at = first_places(x, start, elements, valid)
    return jnp.zeros(x.size).at[at].add(x.ravel()[at] ** 2).reshape(shape)

  return chain.add(f'pool {size} {strides} {start}', [x], written, reference)


def several(r, chain):
  """A reduction of two arrays: the largest, and what is beside it."""
  x = chain.pick(r, True, lambda x: x.ndim > 0)
  y = chain.pick(r, True, lambda y: y.shape == chain.values[x].shape)
  axis = r.randrange(chain.values[x].ndim)
  start = r.choice([-np.inf, 0.0, 1.0])

  def law(a, b):
    first = a[0] >= b[0]
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])

  def written(x, y):
    found = lax.reduce((x, y), (np.float64(start), np.float64(2)), law, (axis,))
    return found[0] + found[1] * found[1]

  def reference(x, y):
    rows = [jnp.moveaxis(v, axis, 0) for v in (x, y)]
    total = jnp.full(rows[0].shape[1:], start), jnp.full(rows[0].shape[1:], 2.0)
    for pair in zip(*rows):
      total = law(total, pair)
    return total[0] + total[1] * total[1]

  return chain.add(f'largest and beside {axis} {start}', [x, y], written, reference)


# ---- Places ----

def scatter(r, chain):
  method = r.choice(['add', 'multiply', 'max', 'min', 'set'])
  x = chain.pick(r, True, lambda x: x.ndim == 1)
  u = chain.pick(r, True, lambda u: u.ndim == 1 and u.size <= 6)
  n, count = chain.values[x].size, chain.values[u].size
  indices = [r.randint(0, n) if r.random() < 0.2 else r.randrange(n) for _ in range(count)]
  written = lambda x, u: getattr(x.at[np.array(indices)], method)(u)

  def reference(x, u):
    if method != 'multiply':
      return written(x, u)
    for k, at in enumerate(indices):
      x = x.at[at].multiply(u[k], unique_indices=True, indices_are_sorted=True)
    return x

  return chain.add(f'scatter {method} {indices}', [x, u], written, reference)


def rows_scattered(r, chain):
  x = chain.pick(r, True, lambda x: x.ndim == 2)
  u = chain.pick(r, True, lambda u: u.ndim == 2 and u.shape[1:] == chain.values[x].shape[1:] and u.shape[0] <= 4)
  method = r.choice(['add', 'multiply', 'max', 'min', 'set'])
  indices = [r.randrange(len(chain.values[x])) for _ in chain.values[u]]
  written = lambda x, u: getattr(x.at[np.array(indices)], method)(u)

  def reference(x, u):
    if method != 'multiply':
      return written(x, u)
    for k, at in enumerate(indices):
      x = x.at[at].multiply(u[k], unique_indices=True, indices_are_sorted=True)
    return x

  return chain.add(f'scatter rows {method} {indices}', [x, u], written, reference)


def movement(r, chain):
  x = chain.pick(r, False, lambda x: x.ndim > 0)
  shape = chain.values[x].shape
  n = shape[0]
  at = [r.randrange(-1, n + 1) for _ in range(r.randint(1, 4))]
  start, length = r.randint(-1, n), r.randint(1, n)
  edges = [(r.randint(-1, 2), r.randint(-1 if n > 1 else 0, 2), r.randint(0, 1)) for n in shape]
  ways = {
      f'gather {at}': lambda x: jnp.take(x, np.array(at), axis=0, mode='clip'),
      f'slice {start} {length}': lambda x: lax.dynamic_slice_in_dim(x, start, length),
      'update': lambda x: lax.dynamic_update_slice(x, x[:1] * 2, (start,) + (0,) * (x.ndim - 1)),
      f'pad {edges}': lambda x: lax.pad(x, x.ravel()[0], edges),
      'concatenate': lambda x: jnp.concatenate([x, x[::-1], x[:1]]),
      'reverse': lambda x: x[::-1] * x,
      'transpose': lambda x: x.T,
      'ravel': lambda x: x.ravel(),
      'rows': lambda x: jnp.stack([x.ravel()[:2], x.ravel()[-2:]]) if x.size > 1 else x,
      'stride': lambda x: x[::2],
      'product': lambda x: x @ x.T if x.ndim > 1 else jnp.outer(x, x),
      'scan': lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c * y), jnp.zeros(x.shape[1:]), x)[1],
      'loop': lambda x: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + x * c, x),
      'branch': lambda x: lax.cond(x.ravel()[0] > 0, lambda x: x * x, lambda x: -x, x),
  }
  name = r.choice(list(ways))
  return chain.add(name, [x], ways[name])


def order(r, chain):
  x = chain.pick(r, True, lambda x: x.ndim > 0)
  axis, k = r.randrange(chain.values[x].ndim), r.randint(1, chain.values[x].shape[-1])
  ways = {
      f'sort {axis}': lambda x: jnp.sort(x, axis=axis),
      f'top {k}': lambda x: lax.top_k(x, k)[0],
      f'argmax {axis}': lambda x: jnp.take_along_axis(x, jnp.argmax(x, axis, keepdims=True), axis) * x,
      'sort by': lambda x: lax.sort([x, x * x], dimension=axis, num_keys=1)[1],
  }
  name = r.choice(list(ways))
  return chain.add(name, [x], ways[name])


RULES = [unary] * 5 + [binary] * 5 + [reduction] * 4 + [window] * 6 + [cumulative] * 2 + [
    pool, several, scatter, scatter, rows_scattered, movement, movement, order]


# ---- Chains ----

class NoValue(Exception):
  pass


class Chain:
  """Arguments, then steps: each has a name, the numbers of its operands, and its two forms."""

  def __init__(self, r):
    self.arguments = []
    shape = [r.randint(1, 6) for _ in range(r.choice([1, 1, 1, 2, 2]))]
    for k in range(r.randint(1, 3)):
      if k and r.random() < 0.3:
        shape = [r.randint(1, 5) for _ in shape]
      numbers = np.array([r.choice(NUMBERS) for _ in range(int(np.prod(shape)))])
      self.arguments.append(numbers.reshape(shape))
    self.values = list(self.arguments)
    self.steps = []

  def pick(self, r, exact, fits=lambda x: True):
    found = [i for i, x in enumerate(self.values) if fits(x) and (not exact or is_exact(x))]
    if not found:
      raise NoValue
    return r.choice(found[-4:])

  def add(self, name, operands, written, reference=None):
    value = np.asarray(jax.jit(written)(*(self.values[i] for i in operands)))
    if value.size == 0 or value.size > 200 or np.any(np.abs(value) > LARGEST) or np.any(np.isnan(value)):
      return False
    self.values.append(value)
    self.steps.append((name, operands, written, reference or written))
    return True

  def function(self, form):
    def of(*arguments):
      values = list(arguments)
      for step in self.steps:
        values.append(step[2 + form](*(values[i] for i in step[1])))
      used = set(itertools.chain(*(step[1] for step in self.steps)))
      return [v for i, v in enumerate(values) if i >= len(arguments) and i not in used]
    return of


def make_chain(seed):
  r = random.Random(seed)
  chain = Chain(r)
  length = r.randint(1, 4)
  for _ in range(40):
    try:
      r.choice(RULES)(r, chain)
    except NoValue:
      pass
    if len(chain.steps) == length:
      break
  return chain, r


# ---- Records ----

def array(x):
  x = np.asarray(x)
  return {'shape': list(x.shape), 'data': [float(v) if np.isfinite(v) else str(v) for v in x.ravel()]}


def record(seed):
  chain, r = make_chain(seed)
  if not chain.steps:
    return None
  arguments = list(chain.arguments)
  written, reference = chain.function(0), chain.function(1)
  draw = lambda x: np.array([r.choice([1.0, -1.0, 0.5, 2.0]) for _ in range(x.size)]).reshape(x.shape)
  tangents = [draw(x) for x in arguments]
  near = [x + np.array([r.uniform(-0.2, 0.2) for _ in range(x.size)]).reshape(x.shape) for x in arguments]
  cotangents = [draw(y) for y in jax.eval_shape(reference, *arguments)]
  slopes = lambda x, t, c: (*jax.jvp(reference, x, t), jax.vjp(reference, *x)[1](c))
  value, forward, backward = jax.jit(slopes)(arguments, tangents, cotangents)
  arrays = lambda xs: [array(x) for x in xs]
  return {
      'seed': seed, 'steps': [f'{name} {operands}' for name, operands, _, _ in chain.steps],
      'program': jax.jit(written, keep_unused=True).lower(*arguments).as_text(),
      'arguments': arrays(arguments), 'value': arrays(value), 'near': arrays(near),
      'tangents': arrays(tangents), 'jvp': arrays(forward), 'cotangents': arrays(cotangents), 'vjp': arrays(backward),
  }


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--seed', type=int, default=1)
  parser.add_argument('--programs', type=int, default=10**9)
  options = parser.parse_args()
  os.environ.setdefault('XLA_FLAGS', FLAGS)  # JAX reads them before it computes
  for seed in range(options.seed, options.seed + options.programs):
    try:
      made = record(seed)
    except (TypeError, ValueError, NotImplementedError) as error:
      made = {'seed': seed, 'refused': f'{type(error).__name__}: {str(error)[:300]}'}
    if made:
      print(json.dumps(made), flush=True)


if __name__ == '__main__':
  try:
    main()
  except BrokenPipeError:
    sys.exit(0)
