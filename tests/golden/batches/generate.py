"""Writes the functions of functions.py, with JAX's results for batches of them, to functions.json.gz:

    build/venv/bin/python tests/golden/batches/generate.py [name...]

It takes ten minutes; with names, only these functions are asked again. A list of { name, program (StableHLO), arguments (of a batch: one dimension more, the first), in: lists with 0 for each
argument that has the batch, and null for one that is given by its first element, maps: for each of these lists the
results of jax.vmap }, where some have more:
  twice     the results of jax.vmap of jax.vmap: [first, second] lists, arguments with two dimensions more
  gradient  of the sum of all floating-point results, by the arguments of floating-point type: wrt, of_batch: the gradient
            of the batch; and batch: the batch of gradients
  jacobian  by reverse and forward mode, by wrt; hessian
Arrays are as in ../gradients.
"""

import gzip
import importlib.util
import itertools
import json
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update('jax_enable_x64', True)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../gradients'))
spec = importlib.util.spec_from_file_location('of_batches', os.path.join(HERE, 'functions.py'))
ours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ours)

SIZE, OUTER = 3, 2
COMBINATIONS = 7  # of batched and shared arguments: all of them up to 3 arguments
TWICE = 'add gather-pairs dot convolution scatter-add sort cond-operands while-until scan gaussian-process random-normal'
GRADIENTS = 'dot logsumexp scan gather cholesky perceptron-loss lstm gaussian-process max-pool solve conditional-1'


def number(x, wide):
  return float(f'{x:.17g}' if wide else f'{x:.9g}') if np.isfinite(x) else str(x)


def element(x, kind, wide):
  return int(x) if kind in 'iub' else number(float(x), wide)


def array(x):
  x = np.asarray(x)
  if x.dtype.kind == 'V' or x.dtype.kind == 'f' and x.dtype.itemsize < 4:
    x = x.astype(np.float32)
  wide = x.dtype.itemsize * (1 if x.dtype.kind != 'c' else 0.5) >= 8
  if x.dtype.kind == 'c':
    x = np.stack([x.real, x.imag], -1)
  return {'shape': list(np.shape(x)), 'data': [str(int(v)) if x.dtype.kind in 'iu' and x.dtype.itemsize == 8
                                               else element(v, x.dtype.kind, wide) for v in x.ravel()]}


arrays = lambda xs: [array(x) for x in xs]


def variant(x, i):
  """Another argument in the domain of the same function: sizes, indices and positive matrices stay so."""
  if x.dtype.kind in 'fc' or x.dtype == jnp.bfloat16:
    return (x * x.dtype.type(1 - i / 8)).astype(x.dtype)
  if x.dtype.kind == 'b':
    return np.roll(x, i) if x.ndim else np.bool_(x != (i % 2 == 1))
  return np.roll(x, i) if x.ndim else x.dtype.type(max(int(x) - i, 0 if x.dtype.kind == 'u' else -100))


def stack(x, size):
  return np.stack([variant(x, i) for i in range(size)])


def combinations(count):
  """Lists of flags, with all first."""
  lists = sorted(itertools.product([0, None], repeat=count), key=lambda c: sum(f is None for f in c))
  lists = [list(c) for c in lists if any(f == 0 for f in c)]
  if len(lists) <= COMBINATIONS:
    return lists
  alone = [[0 if i == k else None for i in range(count)] for k in range(count)]
  return (lists[:1] + alone)[:COMBINATIONS]


def is_float(x):
  return jnp.issubdtype(x.dtype, jnp.floating)


def chosen(leaves, flags):
  return [jnp.asarray(x if f == 0 else x[0]) for x, f in zip(leaves, flags)]


def gradients(flat, flags, leaves):
  wrt = [i for i, x in enumerate(leaves) if is_float(x)]
  total = lambda *xs: sum(y.sum() for y in flat(*xs) if is_float(y))
  grad = jax.grad(total, wrt)
  args = chosen(leaves, flags)
  of_batch = jax.grad(lambda *xs: sum(y.sum() for y in jax.vmap(flat, flags)(*xs) if is_float(y)), wrt)
  return {'wrt': wrt, 'in': flags, 'batch': arrays(jax.vmap(grad, flags)(*args)), 'of_batch': arrays(of_batch(*args))}


def jacobians(flat, point):
  wrt = [i for i, x in enumerate(point) if is_float(x)]
  rows = lambda j: [array(x) for row in j for x in row]
  return {'wrt': wrt, 'reverse': rows(jax.jacrev(flat, wrt)(*point)), 'forward': rows(jax.jacfwd(flat, wrt)(*point))}


def hessian(flat, point):
  wrt = [i for i, x in enumerate(point) if is_float(x)]
  return {'wrt': wrt, 'values': [array(x) for row in jax.hessian(lambda *xs: flat(*xs)[0], wrt)(*point) for x in row]}


def entry(name, function, arguments):
  leaves, tree = jax.tree.flatten(arguments)
  leaves = [np.asarray(jnp.asarray(leaf)) for leaf in leaves]
  flat = lambda *xs: jax.tree.leaves(function(*jax.tree.unflatten(tree, xs)))
  batches = [stack(x, SIZE) for x in leaves]
  made = {
      'name': name,
      'program': jax.jit(flat, keep_unused=True).lower(*leaves).as_text(),
      'arguments': arrays(batches), 'in': [], 'maps': [],
  }
  for flags in combinations(len(leaves)):
    try:
      results = jax.vmap(flat, flags)(*chosen(batches, flags))
    except (NotImplementedError, ValueError) as error:
      print(f'{name}: no vmap by JAX over {flags}: {str(error)[:70]}')
      # What vmap is defined to be.
      given = [chosen([x if f is None else x[i:i + 1] for x, f in zip(batches, flags)], [None] * len(flags))
               for i in range(SIZE)]
      results = [np.stack(ys) for ys in zip(*(flat(*xs) for xs in given))]
    made['in'].append(flags)
    made['maps'].append(arrays(results))
  if name in TWICE.split():
    second = [stack(x, OUTER) for x in batches]
    outer = [0] + [None] * (len(leaves) - 1)
    args = chosen(second, outer)
    made['twice'] = {'in': [[0] * len(leaves), outer], 'arguments': arrays(args),
                     'results': arrays(jax.vmap(jax.vmap(flat), outer)(*args))}
  if name in GRADIENTS.split():
    flags = [0] + [0 if i % 2 == 0 else None for i in range(1, len(leaves))]
    made['gradient'] = gradients(flat, flags, batches)
  if name in ours.JACOBIANS:
    made['jacobian'] = jacobians(flat, [jnp.asarray(x) for x in leaves])
  if name in ours.HESSIANS:
    made['hessian'] = hessian(flat, [jnp.asarray(x) for x in leaves])
  return made


PATH = os.path.join(HERE, 'functions.json.gz')
names = sys.argv[1:]
known = {e['name']: e for e in json.load(gzip.open(PATH))} if names else {}
entries = [known[case[0]] if names and case[0] not in names else entry(*case) for case in ours.CASES]
with gzip.GzipFile(PATH, 'wb', mtime=0) as file:
  file.write(json.dumps(entries, separators=(',', ':')).encode())
print(f'{len(entries)} functions, {sum(len(e["maps"]) for e in entries)} batches')
