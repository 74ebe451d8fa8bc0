"""Writes the functions of functions.py, with JAX's derivatives, to functions.json.gz:

    build/venv/bin/python tests/golden/gradients/generate.py [PATTERN]

With a pattern, only functions whose name it matches are made again, and the others stay.

A list of { name, program (StableHLO), arguments, wrt (numbers of the arguments of floating-point type), tangents (of
these), jvp (the tangents of the results), cotangents (of the results), vjp (those of the arguments) }; those of
functions.py and exported ones have second, too: the tangents of vjp's results, with these tangents of the arguments. Some have
third, vjp of vjp of vjp, whose other cotangents are the tangents. Arrays are { shape, data }, row-major. A complex number is two numbers, and numbers that JSON does not have are strings. jvp and
vjp are null where JAX refuses.
"""

import gzip
import json
import os
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update('jax_enable_x64', True)

from calls import CALLS  # noqa: E402
from chains import chain_cases  # noqa: E402
from counts import count_cases  # noqa: E402
from functions import CASES, complex_, random, real  # noqa: E402: it makes arrays of 64 bits
from others import OTHERS  # noqa: E402
from programs import PROGRAMS  # noqa: E402
from rows import ROWS  # noqa: E402
from rules import rule_cases  # noqa: E402
from special import SPECIAL, THIRD  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def number(x, wide):
  return float(f'{x:.17g}' if wide else f'{x:.9g}') if np.isfinite(x) else str(x)


def array(x):
  x = np.asarray(x)
  wide = x.dtype.itemsize * (1 if x.dtype.kind != 'c' else 0.5) >= 8
  if x.dtype.kind == 'c':
    x = np.stack([x.real, x.imag], -1)
  return {'shape': list(np.shape(x)), 'data': [number(v, wide) for v in x.astype(np.float64).ravel()]}


def is_float(x):
  return jnp.issubdtype(x.dtype, jnp.inexact)


def tangent(x):
  t = random.standard_normal(x.shape)
  if jnp.issubdtype(x.dtype, jnp.complexfloating):
    t = t + 1j * random.standard_normal(x.shape)
  return jnp.asarray(t).astype(x.dtype)


def attempt(name, mode, compute):
  try:
    return compute()
  except (TypeError, ValueError, NotImplementedError) as error:
    print(f'{name}: no {mode} by JAX: {str(error)[:70]}')
    return None


TWICE = {name for name, *_ in CASES}


def entry(name, function, arguments, lowered=None, exported=None):
  """`lowered`: the function whose program is written, if that is another one; `exported`: how, if not as it is lowered."""
  leaves, tree = jax.tree.flatten(arguments)
  leaves = [jnp.asarray(leaf) for leaf in leaves]
  flat = lambda *xs: jax.tree.leaves(function(*jax.tree.unflatten(tree, xs)))
  written = lambda *xs: jax.tree.leaves((lowered or function)(*jax.tree.unflatten(tree, xs)))
  wrt = [i for i, x in enumerate(leaves) if is_float(x)]

  def of_floats(*xs):
    given = dict(zip(wrt, xs))
    return [y for y in flat(*(given.get(i, x) for i, x in enumerate(leaves))) if is_float(y)]

  point = [leaves[i] for i in wrt]
  tangents = [tangent(x) for x in point]
  shapes = jax.eval_shape(of_floats, *point) if lowered is None else of_floats(*point)
  cotangents = [tangent(y) for y in shapes]
  compiled = jax.jit if lowered is None else lambda f: f  # a `function` of its own may run in Python only
  jvp = attempt(name, 'jvp', lambda: compiled(lambda p, t: jax.jvp(of_floats, p, t)[1])(point, tangents))
  vjp = attempt(name, 'vjp', lambda: compiled(lambda p, t: jax.vjp(of_floats, *p)[1](t))(point, cotangents))
  arrays = lambda xs: xs and [array(x) for x in xs]
  of_second = lambda p, t: jax.jvp(lambda *q: jax.vjp(of_floats, *q)[1](cotangents), p, t)[1]
  second = vjp and (exported or name in TWICE) and attempt(name, 'second', lambda: jax.jit(of_second)(point, tangents))
  first = lambda *q: jax.vjp(of_floats, *q)[1](cotangents)
  of_third = lambda *p: jax.vjp(lambda *q: jax.vjp(first, *q)[1](tuple(tangents)), *p)[1](tuple(tangents))
  third = name in THIRD and attempt(name, 'third', lambda: jax.jit(of_third)(*point))
  return {
      'name': name,
      'program': exported(written)(*leaves) if exported else jax.jit(written, keep_unused=True).lower(*leaves).as_text(),
      'arguments': arrays(leaves),
      'wrt': wrt,
      'tangents': arrays(tangents),
      'jvp': arrays(jvp),
      'cotangents': arrays(cotangents),
      'vjp': arrays(vjp),
      **({'second': arrays(second)} if second else {}),
      **({'third': arrays(third)} if third else {}),
  }


def main():
  path = os.path.join(HERE, 'functions.json.gz')
  cases = CASES + rule_cases(real, complex_) + count_cases(real) + OTHERS + CALLS + PROGRAMS + SPECIAL + ROWS + list(chain_cases())
  pattern = sys.argv[1] if len(sys.argv) > 1 else None
  kept = {}
  if pattern:
    with gzip.open(path) as file:
      kept = {entry['name']: entry for entry in json.load(file) if not re.search(pattern, entry['name'])}
  entries = [kept.get(case[0]) or entry(*case) for case in cases]
  with gzip.GzipFile(path, 'wb', mtime=0) as file:
    file.write(json.dumps(entries, separators=(',', ':')).encode())
  print(f'{len(entries)} functions')


if __name__ == '__main__':
  main()
