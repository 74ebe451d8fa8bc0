# %% [markdown]
# Eight devices, simulated in this page. `shard_map` writes what each of them does with its part; `psum` is where they meet.

# %%
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",))
x = jax.device_put(jnp.arange(64.0).reshape(16, 4), NamedSharding(mesh, P("data")))
for shard in x.addressable_shards[:3]:
    print(shard.device, shard.data.shape)

# %%
@jax.jit
@jax.shard_map(mesh=mesh, in_specs=(P("data"), P()), out_specs=P())
def step(x, w):
    """The mean loss, and its gradient by the weights: each device has two rows."""
    loss, slope = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return jax.lax.pmean(loss, "data"), jax.lax.pmean(slope, "data")


loss, slope = step(x, jnp.ones(4) / 100)
loss, slope

# %% [markdown]
# Open it in *Meshes* to see the devices meet:

# %%
from notebook import look_inside

look_inside(step, x, jnp.ones(4) / 100)

# %% [markdown]
# A ring. Seven times, each device passes its part to the next device, and adds the part that it receives.

# %%
@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P("data"))
def ring(x):
    total = part = x
    for _ in range(7):
        part = jax.lax.ppermute(part, "data", [(i, (i + 1) % 8) for i in range(8)])
        total = total + part
    return total


ring(jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("data")))), jnp.sum(jnp.arange(8.0))
