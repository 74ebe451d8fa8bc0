# %% [markdown]
# Eight schools, by NumPyro: the No-U-Turn sampler explores a posterior. Its trees are `while` loops in one program.

# %%
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

effect = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
error = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools():
    mean = numpyro.sample("mean", dist.Normal(0, 5))
    spread = numpyro.sample("spread", dist.HalfCauchy(5))
    with numpyro.plate("school", 8):
        z = numpyro.sample("z", dist.Normal(0, 1))
        numpyro.sample("seen", dist.Normal(mean + spread * z, error), obs=effect)


mcmc = MCMC(NUTS(schools), num_warmup=300, num_samples=1000, progress_bar=False)
mcmc.run(jax.random.key(0))
mcmc.print_summary()

# %%
from notebook import plot

samples = mcmc.get_samples()
counts, edges = jnp.histogram(samples["mean"], bins=40)
plot((edges[1:] + edges[:-1]) / 2, counts, x="mean effect", y="samples")
