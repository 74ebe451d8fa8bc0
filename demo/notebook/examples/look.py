# %% [markdown]
# Three ways to see what a function costs: the time of a run, its jaxpr, and the program that the compiler gets.

# %%
import time

import jax
import jax.numpy as jnp


def attention(q, k, v):
    scores = q @ k.T / q.shape[-1] ** 0.5
    mask = jnp.tril(jnp.ones(scores.shape, bool))
    return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)) @ v


q, k, v = jax.random.normal(jax.random.key(0), (3, 256, 64))
fast = jax.jit(attention)
fast(q, k, v).block_until_ready()
began = time.perf_counter()
for _ in range(20):
    fast(q, k, v).block_until_ready()
print(f"{(time.perf_counter() - began) / 20 * 1e3:.2f} ms a run")

# %%
print(jax.make_jaxpr(attention)(q, k, v))

# %%
from notebook import look_inside

look_inside(fast, q, k, v)

# %% [markdown]
# `jax.debug.print` prints from inside of a compiled loop.

# %%
@jax.jit
def root(x):
    def body(y):
        y = (y + x / y) / 2
        jax.debug.print("y = {}", y)
        return y

    return jax.lax.while_loop(lambda y: jnp.abs(y * y - x) > 1e-5, body, x)


root(2.0)
