# %% [markdown]
# Random numbers: keys are split, so results do not depend on the order of calls. 20,000 walks of 400 steps, all at once.

# %%
import jax
import jax.numpy as jnp
from notebook import image, plot


@jax.jit
def walks(key):
    steps = jax.random.rademacher(key, (20000, 400), "int32")
    return jnp.cumsum(steps, 1)


w = walks(jax.random.key(0))
jnp.mean(w[:, -1] ** 2.0)  # 400 in the mean

# %%
plot(jnp.arange(400), {f"walk {i}": w[i] for i in range(5)}, x="step")

# %% [markdown]
# How often each place is visited, step by step:

# %%
places = jnp.clip(w + 80, 0, 159)
counts = jax.vmap(lambda column: jnp.bincount(column, length=160), 1, 1)(places)
image(jnp.sqrt(counts[::-1]))
