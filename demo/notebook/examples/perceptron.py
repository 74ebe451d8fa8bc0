# %% [markdown]
# A perceptron with one hidden layer learns two spirals. Nothing but JAX: parameters are a dict, a step is a function.

# %%
import jax
import jax.numpy as jnp
from notebook import image, plot


def spirals(key, n):
    turn, noise = jax.random.split(key)
    t = 0.4 + 8 * jnp.sqrt(jax.random.uniform(turn, (n,)))
    side = jnp.arange(n) % 2
    at = t / 9 * jnp.stack([jnp.cos(t + jnp.pi * side), jnp.sin(t + jnp.pi * side)])
    return at.T + 0.02 * jax.random.normal(noise, (n, 2)), side


def init(key, hidden=64):
    a, b, c = jax.random.split(key, 3)
    return {"w1": 2 * jax.random.normal(a, (2, hidden)), "b1": jax.random.normal(b, (hidden,)),
            "w2": jax.random.normal(c, (hidden, hidden)) / hidden**0.5, "b2": jnp.zeros(hidden),
            "w3": jnp.zeros(hidden), "b3": 0.0}


def score(p, x):
    h = jnp.tanh(x @ p["w1"] + p["b1"])
    h = jnp.tanh(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


x, side = spirals(jax.random.key(0), 400)
x.shape, side[:6]

# %% [markdown]
# 2,000 steps of gradient descent with momentum, as one program: `lax.scan` is the loop.

# %%
def loss(p):
    s = score(p, x)
    return jnp.mean(jnp.logaddexp(0, s) - side * s)


def step(state, _):
    p, v = state
    value, g = jax.value_and_grad(loss)(p)
    v = jax.tree.map(lambda v, g: 0.9 * v - 0.1 * g, v, g)
    return (jax.tree.map(jnp.add, p, v), v), value


@jax.jit
def train(p):
    return jax.lax.scan(step, (p, jax.tree.map(jnp.zeros_like, p)), length=2000)


(params, _), losses = train(init(jax.random.key(1)))
plot(losses, x="step", y="loss", log=True)

# %%
grid = jnp.linspace(-1.2, 1.2, 160)
image(jax.nn.sigmoid(score(params, jnp.stack(jnp.meshgrid(grid, -grid), -1))))
