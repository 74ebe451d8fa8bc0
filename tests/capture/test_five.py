"""Five jitted functions for the test of the plugin: tests/project/capture.test.mjs. Run them with: pytest -p capture_programs --capture-to DIR."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@jax.jit
def affine(x, w, b):
  return jnp.tanh(x @ w + b)


def test_product_of_floats():
  result = affine(np.arange(6, dtype=np.float32).reshape(2, 3), np.full((3, 4), 0.25, np.float32), np.float32(0.5))
  assert result.shape == (2, 4)


def test_loop_with_numbers_of_python():
  f = jax.jit(lambda n, x: jax.lax.fori_loop(0, n, lambda i, y: y * 0.5 + i, x))
  assert f(4, 1.0) == f(4, 1.0) == 4.3125


@pytest.mark.parametrize('dtype', ['bfloat16', 'complex64'])
def test_types(dtype):
  x = jnp.arange(5).astype(dtype)
  assert jax.jit(lambda a: (a * a, a.real.sum()))(x)[0].dtype == dtype


def test_random_key():
  key = jax.random.key(7)
  assert jax.jit(lambda k: jax.random.normal(k, (3,)))(key).shape == (3,)


def test_donated_and_unused():
  f = jax.jit(lambda x, unused: jnp.cumsum(x) + 1, donate_argnums=0)
  assert f(jnp.ones(4), jnp.zeros(3)).tolist() == [2, 3, 4, 5]
