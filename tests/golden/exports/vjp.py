"""Writes functions that jax.export stores with their vector-Jacobian products to vjp.gz:

    build/venv/bin/python tests/golden/exports/vjp.py

The format is writer.py's. The name ends in the order of the product that the arguments and results belong to: 1 for
that of the function, 2 for that of the product.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from writer import Writer

random = np.random.default_rng(0)


def array(*sizes):
  return jnp.asarray(random.standard_normal(sizes), jnp.float32)


def perceptron(params, x):
  hidden = jnp.tanh(x @ params['w'] + params['b'])
  return jnp.mean(hidden**2), hidden


def cross_entropy(logits, labels):
  return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(labels.size), labels])


def recurrent(w, xs):
  def step(state, x):
    state = jnp.tanh(w @ state + x)
    return state, state.sum()

  return jax.lax.scan(step, jnp.zeros(w.shape[0], w.dtype), xs)


@jax.custom_vjp
def straight_through(x):
  return jnp.round(x)


straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, cotangent: (cotangent,))


def quantised(w, x):
  return straight_through(w) @ x


FUNCTIONS = {
    'perceptron': (perceptron, ({'w': array(3, 4), 'b': array(4)}, array(2, 3))),
    'cross-entropy': (cross_entropy, (array(5, 7), jnp.asarray([1, 0, 6, 3, 3]))),
    'recurrent': (recurrent, (array(4, 4), array(6, 4))),
    'quantised': (quantised, (array(3, 3), array(3))),
}


FLOAT0 = jax.dtypes.float0  # the tangent type of integers


def cotangents_of(results):
  return [array(*r.shape) if jnp.issubdtype(r.dtype, jnp.inexact) else np.zeros(r.shape, FLOAT0) for r in results]


def operands_in(arrays):
  """Those that are parameters of the module: float0 is left out."""
  return [a for a in arrays if a.dtype != FLOAT0]


def results_in(arrays):
  """As the module has them: float0 is a predicate."""
  return [np.zeros(a.shape, bool) if a.dtype == FLOAT0 else a for a in arrays]


def flat(function, tree=None):
  """The function of a list of leaves that gives a list of leaves."""

  def call(leaves):
    return jax.tree.leaves(function(*(jax.tree.unflatten(tree, leaves) if tree else leaves)))

  return call


def main():
  writer = Writer()
  for name, (function, arguments) in FUNCTIONS.items():
    data = bytes(export.export(jax.jit(function))(*arguments).serialize(vjp_order=2))
    operands, tree = jax.tree.flatten(arguments)
    call, exported = flat(function, tree), export.deserialize(bytearray(data))
    for order in (1, 2):
      operands = operands + cotangents_of(jax.eval_shape(call, operands))
      exported = exported.vjp()
      call = flat(exported.call)
      writer.add(f'{name}-{order}', data, operands_in(operands), results_in(call(operands)))
  writer.write('vjp.gz')


if __name__ == '__main__':
  main()
