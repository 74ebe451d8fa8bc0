# %% [markdown]
# A derivative, a batch of derivatives, and a compiled function. JAX itself runs in this page: `import jax` is the
# package that a desk has, on a jaxlib of Python and WebAssembly.

# %%
import jax
import jax.numpy as jnp

f = lambda x: jnp.sin(x) * jnp.exp(-x / 4)
jax.grad(f)(1.0)

# %% [markdown]
# `vmap` makes a function of many numbers from a function of one.

# %%
from notebook import plot

x = jnp.linspace(0, 12, 200)
slope = jax.jit(jax.vmap(jax.grad(f)))
plot(x, {"f": f(x), "its slope": slope(x)})

# %% [markdown]
# What `jit` gives to the compiler, and what the compiler makes of it:

# %%
from notebook import look_inside

look_inside(slope, x)
