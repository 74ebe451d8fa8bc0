# %% [markdown]
# Flax describes the model, Optax the optimizer: both are the packages that everybody uses.

# %%
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from notebook import plot


class Network(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.gelu(nn.Dense(self.width)(x))
        return nn.Dense(1)(x)[:, 0]


model = Network(32)
x = jnp.linspace(-3, 3, 256)[:, None]
y = jnp.sin(3 * x[:, 0]) * jnp.exp(-(x[:, 0] ** 2) / 3)
params = model.init(jax.random.key(0), x)
jax.tree.map(jnp.shape, params)

# %%
optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, 600))


@jax.jit
def step(params, state):
    def loss(p):
        return jnp.mean((model.apply(p, x) - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


state, losses = optimizer.init(params), []
for _ in range(600):
    params, state, value = step(params, state)
    losses.append(value)
plot(jnp.stack(losses), x="step", y="loss", log=True)

# %%
plot(x[:, 0], {"wanted": y, "learnt": model.apply(params, x)})
