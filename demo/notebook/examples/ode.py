# %% [markdown]
# A differential equation: predators and prey by Runge and Kutta's method. The loop is a `scan`, so the solution can be
# differentiated by its parameters.

# %%
import jax
import jax.numpy as jnp
from notebook import plot


def change(state, rates):
    prey, predators = state
    a, b, c, d = rates
    return jnp.array([a * prey - b * prey * predators, d * prey * predators - c * predators])


def solve(rates, start=jnp.array([1.0, 1.0]), dt=0.02, steps=1500):
    def step(y, _):
        k1 = change(y, rates)
        k2 = change(y + dt / 2 * k1, rates)
        k3 = change(y + dt / 2 * k2, rates)
        k4 = change(y + dt * k3, rates)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return jax.lax.scan(step, start, length=steps)[1]


rates = jnp.array([1.1, 0.4, 0.4, 0.1])
t = 0.02 * jnp.arange(1, 1501)
path = jax.jit(solve)(rates)
plot(t, {"prey": path[:, 0], "predators": path[:, 1]}, x="time")

# %% [markdown]
# How the number of predators at the end depends on each rate:

# %%
jax.jit(jax.grad(lambda r: solve(r)[-1, 1]))(rates)

# %% [markdown]
# And back: from a path with noise to the rates, by gradient descent through the solver.

# %%
seen = path[::50] * jnp.exp(0.05 * jax.random.normal(jax.random.key(0), path[::50].shape))


@jax.jit
def fit(log_rates):
    def loss(r):
        return jnp.mean((jnp.log(solve(jnp.exp(r))[::50]) - jnp.log(seen)) ** 2)

    def step(state, _):
        r, m, v, i = state
        value, g = jax.value_and_grad(loss)(r)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        r = r - 0.01 * m / (1 - 0.9**i) / (jnp.sqrt(v / (1 - 0.99**i)) + 1e-8)
        return (r, m, v, i + 1), value

    zeros = jnp.zeros_like(log_rates)
    return jax.lax.scan(step, (log_rates, zeros, zeros, 1.0), length=200)


(found, *_), losses = fit(jnp.log(jnp.array([1.0, 0.5, 0.5, 0.15])))
jnp.exp(found), rates
