"""Writes random programs of public JAX functions, with their operands and XLA's results, in the form of tests/captured.

    build/venv/bin/python tests/fuzz/jax_programs.py DIR [--seconds N] [--seed N] [--programs N]
    node tests/support/jax_suite.mjs DIR

A program is Python text. A line is a template of jax_templates.py, filled with values so far, or the application of a
function of such lines: by a scan, a branch, vmap, grad. A line that JAX refuses is left out. There are records of the
program, of its vector-Jacobian product, and of a batch of three (key `derived`). The key `spread` has a number for each
result: how far it moves if the operands move by a unit in the last place. null: an integer of it changes.
"""

import argparse
import base64
import gzip
import json
import os
import random
import re
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax_templates import BODIES, LINES, NAMESPACE

warnings.simplefilter('ignore')
# Programs show no rules of custom_jvp and custom_vjp, so JAX must not use them either.
jax.custom_jvp.__call__ = jax.custom_vjp.__call__ = lambda self, *args, **named: self.fun(*args, **named)
# Programs with other rules that they do not show have no record of a derivative.
RULES_OF_JAX = re.compile(
    r'stop_gradient|custom_root|custom_linear_solve|sparse\.linalg|float8|gammainc|random\.(gamma|beta|dirichlet|t|binomial)\(')
MAX_ELEMENTS = 600  # of a value
DTYPES = ['float32'] * 8 + ['float64'] * 4 + ['bfloat16', 'float16', 'complex64', 'complex128', 'bool', 'int4', 'uint4',
          'int8', 'uint8', 'int16', 'uint16', 'int32', 'int32', 'int64', 'uint32', 'uint64', 'float8_e4m3fn']


def is_float(x):
  return jnp.issubdtype(x.dtype, jnp.inexact) and np.dtype(x.dtype).itemsize > 1


def is_wide(x):
  """Whether a type has 8 bits or more for an integer, 16 for a float."""
  return is_float(x) or jnp.issubdtype(x.dtype, jnp.integer) and 'int4' not in np.dtype(x.dtype).name


KINDS = {
    'f': lambda x: is_float(x) and not jnp.issubdtype(x.dtype, jnp.complexfloating),
    'w': lambda x: np.dtype(x.dtype).name in ('float32', 'float64'),
    'i': lambda x: is_wide(x) and not is_float(x),
    'c': lambda x: jnp.issubdtype(x.dtype, jnp.complexfloating),
    'b': lambda x: x.dtype == bool,
    'n': is_wide,
    'x': lambda x: True,
}


# ---- Programs ----

class Function:
  """Lines of Python, and the type of each value by its name; parameters come first."""

  def __init__(self, rng, parameters, depth, prefix):
    self.rng, self.depth, self.prefix = rng, depth, prefix
    self.types, self.lines = dict(parameters), []

  def pick(self, kind):
    """A value of a kind, such as f2; recent ones more often. None if there is none."""
    rank = int(kind[1:] or 0)
    names = [name for name, x in self.types.items() if KINDS[kind[0]](x) and len(x.shape) >= rank]
    return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))] if names else None

  def other(self, letter, names):
    """What stands for {A}, {K} and so on, after the values of these names."""
    rank = len(self.types[names[0]].shape) if names and names[0] else 0
    return {
        'A': lambda: self.rng.randrange(-rank, rank) if rank else self.rng.choice([0, -1]),
        'K': lambda: self.rng.randint(1, 3),
        'S': lambda: self.rng.randint(0, 99),
        'N': lambda: self.rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 9]),
        'D': lambda: re.sub('jnp.bool$', 'bool', f'jnp.{self.rng.choice(DTYPES)}'),
    }[letter]()

  def fill(self, template):
    """The template without braces, and the names of its values; (None, None) if a value is missing."""
    names = []

    def word(match):
      if match[1][0] not in KINDS:
        return str(self.other(match[1], names))
      names.append(self.pick(match[1]))
      return str(names[-1])

    text = re.sub(r'\{(\w+)\}', word, template)
    return (None, None) if None in names else (text, names)

  def add(self, expression, names, functions=()):
    """Adds values, if JAX takes the expression; `functions`: the lines of those that it calls."""
    above, operands = [line for lines in functions for line in lines], list(dict.fromkeys(names))
    space = dict(NAMESPACE)
    try:
      exec('\n'.join([*above, f'def line({", ".join(operands)}):', f'  return {expression}']), space)
      out = jax.eval_shape(space['line'], *[self.types[name] for name in operands])
    except Exception:  # JAX has no such operation for these operands
      return
    leaves, is_list = jax.tree.leaves(out), isinstance(out, (tuple, list))
    if not leaves or is_list and len(out) != len(leaves):
      return
    if any(x.size > MAX_ELEMENTS or jnp.issubdtype(x.dtype, jax.dtypes.prng_key) for x in leaves):
      return
    name = f'{self.prefix}{len(self.types)}'
    parts = [f'{name}_{i}' for i in range(len(leaves))] if is_list else [name]
    self.lines += [*above, f'{", ".join(parts)}{"," if is_list else ""} = {expression}']
    self.types.update(zip(parts, leaves))

  def grow(self, count):
    """Adds about `count` lines."""
    for _ in range(20 * count):
      if len(self.lines) >= count:
        return
      if self.depth < 2 and self.rng.random() < 0.2:
        self.apply(*self.rng.choice(BODIES))
        continue
      text, names = self.fill(self.rng.choice(LINES))
      if names:
        self.add(text, names)

  def apply(self, template, kinds, cut):
    """Adds a line that applies functions (#) to values (@0, @1) of these kinds; cut: how many leading dimensions each loses."""
    names = [self.pick(kind) for kind in kinds]
    if None in names:
      return
    types = [jax.ShapeDtypeStruct(x.shape[n:], x.dtype) for x, n in zip((self.types[name] for name in names), cut)]
    functions = []
    for k in range(template.count('#')):
      name = f'{self.prefix}f{len(self.types)}_{k}'
      made = Function(self.rng, {f'{name}_{i}': x for i, x in enumerate(types)}, self.depth + 1, f'{name}_')
      head = f'def {name}({", ".join(made.types)}):'
      made.grow(self.rng.randint(1, 5))
      functions.append([head, *(f'  {line}' for line in made.lines), f'  return {list(made.types)[-1]}'])
      template = template.replace('#', name, 1)
    for i, name in enumerate(names):
      template = template.replace(f'@{i}', name)
    text, more = self.fill(template)
    if text:
      self.add(text, names + more, functions)


def random_program(rng, args):
  """A function of these arguments, and its text; (None, None) if JAX took no line."""
  main = Function(rng, {f'a{i}': jax.ShapeDtypeStruct(x.shape, x.dtype) for i, x in enumerate(args)}, 0, 'v')
  main.grow(rng.randint(3, 14))
  made = list(main.types)[len(args):]
  if not made:
    return None, None
  outs = list(dict.fromkeys([*rng.sample(made, min(len(made), rng.randint(0, 4))), made[-1]]))
  head = f'def program({", ".join(f"a{i}" for i in range(len(args)))}):'
  text = '\n'.join([head, *(f'  {line}' for line in main.lines), f'  return ({", ".join(outs)},)'])
  space = dict(NAMESPACE)
  exec(text, space)
  return space['program'], text


# ---- Values ----

def numbers(state, shape, dtype):
  dtype = jnp.dtype(dtype)
  if dtype == bool:
    return state.random(shape) < 0.5
  if jnp.issubdtype(dtype, jnp.integer):
    return state.integers(0 if dtype.name[0] == 'u' else -7, 8, shape).astype(dtype)
  imaginary = 1j * state.standard_normal(shape) if jnp.issubdtype(dtype, jnp.complexfloating) else 0
  return np.asarray(state.standard_normal(shape) + imaginary).astype(dtype)


def operand(rng):
  sizes = [0, 1, 2, 3, 4, 5, 7, 8] if rng.random() < 0.1 else [1, 2, 3, 4, 4, 5, 8]
  shape = tuple(rng.choice(sizes) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])))
  values = numbers(np.random.default_rng(rng.randrange(1 << 30)), shape, rng.choice(DTYPES))
  return np.asarray(jnp.asarray(values))  # of 32 bits without x64


def moved(x, state):
  """The operand, each float moved by up to one unit in the last place."""
  if not is_float(x):
    return x
  return np.asarray(x * (1 + state.integers(-1, 2, x.shape) * jnp.finfo(x.dtype).eps).astype(x.dtype))


def distance(x, y):
  """The largest difference; infinity for integers that differ, and where only one is finite."""
  if not is_float(x):
    return 0.0 if np.array_equal(x, y) else np.inf
  x, y = (np.asarray(z).astype(np.complex128 if np.iscomplexobj(z) else np.float64) for z in (x, y))
  with np.errstate(all='ignore'):
    gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y))
  return float(np.where(np.isnan(gap), np.inf, gap).max(initial=0))


# ---- Records ----

def array(x):
  x = np.asarray(x)
  bits = x.astype(np.int8) if 'int4' in x.dtype.name else x  # a byte each; XLA leaves its upper half undefined
  data = base64.b64encode(np.ascontiguousarray(bits).tobytes()).decode()
  return {'dtype': x.dtype.name, 'shape': list(x.shape), 'data': data}


def record(common, suffix, function, args, derived=None):
  """Runs a function by XLA: at the operands, and three times near them."""
  compiled = jax.jit(function, keep_unused=True)
  outs = [np.asarray(y) for y in compiled(*args)]
  spread, state = [0.0] * len(outs), np.random.default_rng(1)
  for _ in range(3):
    near = compiled(*[moved(x, state) for x in args])
    spread = [max(s, distance(y, np.asarray(z))) for s, y, z in zip(spread, outs, near)]
  return {**common, 'id': common['id'] + suffix, 'args': [array(x) for x in args], 'outs': [array(y) for y in outs],
          'spread': [s if np.isfinite(s) else None for s in spread], **({'derived': derived} if derived else {})}


def pulled_back(common, program, args, state):
  """The record of a vector-Jacobian product; None if no float depends on a float."""
  shapes = jax.eval_shape(program, *args)
  floats, outs = [i for i, x in enumerate(args) if is_float(x)], [k for k, y in enumerate(shapes) if is_float(y)]
  if not floats or not outs or RULES_OF_JAX.search(common['test']):
    return None

  def vjp(*given):
    def of_floats(*some):
      full = list(given[:len(args)])
      for i, x in zip(floats, some):
        full[i] = x
      return [program(*full)[k] for k in outs]
    return jax.vjp(of_floats, *[given[i] for i in floats])[1](list(given[len(args):]))

  cotangents = [np.asarray(jnp.asarray(numbers(state, shapes[k].shape, shapes[k].dtype))) for k in outs]
  made = record(common, '-vjp', vjp, [*args, *cotangents], {'mode': 'vjp', 'options': {'wrt': floats, 'maxTrips': 300}})
  # JAX has NaN where a value that is not chosen has an infinite derivative (docs/differences.md).
  return {**made, 'spread': [None if has_nan(y) else s for y, s in zip(made['outs'], made['spread'])]}


def has_nan(y):
  return bool(np.isnan(np.frombuffer(base64.b64decode(y['data']), np.dtype(y['dtype']))).any())


def batched(common, program, args, rng):
  flags = [rng.random() < 0.7 for _ in args]
  if not any(flags):
    return None
  batch = [np.stack([x, np.roll(x, 1), x]) if flag else x for x, flag in zip(args, flags)]
  dimensions = [0 if flag else None for flag in flags]
  return record(common, '-vmap', jax.vmap(program, in_axes=dimensions), batch,
                {'mode': 'vmap', 'options': {'in': dimensions, 'size': 3}})


def records(seed):
  rng = random.Random(seed)
  jax.config.update('jax_enable_x64', rng.random() < 0.6)
  args = [operand(rng) for _ in range(rng.randint(1, 4))]
  program, text = random_program(rng, args)
  if not program:
    return
  lowered = jax.jit(program, keep_unused=True).lower(*args).as_text()
  common = {'id': str(seed), 'name': f'seed {seed}', 'test': text, 'mlir': lowered}
  yield record(common, '', program, args)
  for make, source in [(pulled_back, np.random.default_rng(seed)), (batched, rng)]:
    try:
      made = make(common, program, args, source)
    except Exception:  # JAX has no such derivative, or no batching rule
      continue
    if made:
      yield made


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('folder')
  parser.add_argument('--seconds', type=float, default=60)
  parser.add_argument('--seed', type=int, default=int(time.time()))
  parser.add_argument('--programs', type=int, default=1 << 30)
  options = parser.parse_args()
  os.makedirs(options.folder, exist_ok=True)
  end, count = time.time() + options.seconds, 0
  with open(os.path.join(options.folder, f'jax-{options.seed}.jsonl.gz'), 'wb') as out:
    for seed in range(options.seed, options.seed + options.programs):
      if time.time() > end:
        break
      try:
        for made in records(seed):
          out.write(gzip.compress(f'{json.dumps(made)}\n'.encode()))
          count += 1
      except Exception as error:  # XLA refuses the program as a whole
        print(f'seed {seed}: {type(error).__name__}: {str(error)[:150].splitlines()[:1]}')
      if seed % 20 == 0:
        jax.clear_caches()
  print(f'{count} records of seeds from {options.seed}')


if __name__ == '__main__':
  main()
