import jax, jax.numpy as jnp, numpy as np
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, HMC, SVI, Trace_ELBO, Predictive, autoguide, log_likelihood


def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    s = numpyro.sample("s", dist.HalfNormal(1))
    with numpyro.plate("N", len(x)):
        numpyro.sample("y", dist.Normal(a + b * x, s), obs=y)


X = np.linspace(-1, 1, 20)
Y = 0.5 + 2 * X + 0.1 * np.random.RandomState(0).randn(20)


def program_nuts():
    m = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
    m.run(jax.random.key(0), X, Y)
    s = m.get_samples()
    return {
        k: (v.shape, bool(abs(v.mean() - {"a": 0.5, "b": 2, "s": 0.1}[k]) < 0.1))
        for k, v in s.items()
    }, sorted(m.get_extra_fields())


def program_nuts_short():
    m = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
    m.run(jax.random.key(0), X, Y)
    m.print_summary
    return m.get_samples()


def program_nuts_chains():
    m = MCMC(
        NUTS(model),
        num_warmup=20,
        num_samples=20,
        num_chains=2,
        chain_method="vectorized",
        progress_bar=False,
    )
    m.run(jax.random.key(0), X, Y)
    return jax.tree.map(jnp.shape, m.get_samples(group_by_chain=True))


def program_nuts_chains_parallel():
    m = MCMC(
        NUTS(model),
        num_warmup=10,
        num_samples=10,
        num_chains=4,
        chain_method="parallel",
        progress_bar=False,
    )
    m.run(jax.random.key(0), X, Y)
    return jax.tree.map(jnp.shape, m.get_samples(group_by_chain=True))


def program_nuts_progress():
    m = MCMC(NUTS(model), num_warmup=20, num_samples=20, progress_bar=True)
    m.run(jax.random.key(0), X, Y)
    return jax.tree.map(jnp.shape, m.get_samples())


def program_svi():
    g = autoguide.AutoNormal(model)
    svi = SVI(model, g, numpyro.optim.Adam(0.05), Trace_ELBO())
    r = svi.run(jax.random.key(1), 200, X, Y, progress_bar=False)
    return (
        r.losses[-10:],
        r.params,
        Predictive(g, params=r.params, num_samples=3)(jax.random.key(2), X),
    )


def program_hmc():
    m = MCMC(HMC(model, num_steps=5), num_warmup=5, num_samples=5, progress_bar=False)
    m.run(jax.random.key(0), X, Y)
    return m.get_samples()


def program_dists():
    k = jax.random.key(0)
    out = {}
    for d in [
        dist.Normal(0, 1),
        dist.Gamma(2.0, 3.0),
        dist.Beta(1.0, 2.0),
        dist.Poisson(3.0),
        dist.Bernoulli(0.3),
        dist.Categorical(jnp.array([0.2, 0.8])),
        dist.Dirichlet(jnp.ones(3)),
        dist.StudentT(3.0),
        dist.Cauchy(),
        dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
        dist.LKJCholesky(3),
        dist.Weibull(1.0, 2.0),
        dist.NegativeBinomial2(3.0, 2.0),
        dist.VonMises(0.0, 2.0),
        dist.Binomial(5, 0.4),
        dist.Laplace(),
        dist.Logistic(),
        dist.Exponential(2.0),
        dist.LogNormal(),
        dist.TruncatedNormal(low=0.0),
        dist.ZeroInflatedPoisson(0.3, 2.0),
        dist.InverseGamma(3.0, 2.0),
        dist.Kumaraswamy(2.0, 3.0),
        dist.GaussianRandomWalk(1.0, 4),
    ]:
        s = d.sample(k, (3,))
        out[type(d).__name__] = (s, d.log_prob(s))
    return out


def program_predictive():
    return Predictive(model, num_samples=4)(jax.random.key(0), X[:3])


def program_hmm():
    from numpyro.contrib.control_flow import scan

    def m(y):
        s = numpyro.sample("s", dist.HalfNormal(1.0))

        def f(c, yt):
            c = numpyro.sample("z", dist.Normal(c, s))
            numpyro.sample("o", dist.Normal(c, 0.1), obs=yt)
            return c, None

        scan(f, 0.0, y)

    mc = MCMC(NUTS(m), num_warmup=5, num_samples=5, progress_bar=False)
    mc.run(jax.random.key(0), jnp.sin(jnp.arange(8.0)))
    return mc.get_samples()
