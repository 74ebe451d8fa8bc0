import jax, jax.numpy as jnp, numpy as np


def program_jaxopt():
    import jaxopt

    r = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    X = jnp.array(np.random.RandomState(0).randn(20, 3).astype("f"))
    y = X @ jnp.array([1.0, -2.0, 0.5])
    f = lambda w, X, y: jnp.mean((X @ w - y) ** 2)
    return (
        jaxopt.LBFGS(r, maxiter=30).run(jnp.array([-1.0, 1.0])).params,
        jaxopt.GradientDescent(f, maxiter=50).run(jnp.zeros(3), X, y).params,
        jaxopt.ProjectedGradient(f, jaxopt.projection.projection_non_negative)
        .run(jnp.zeros(3), X, y)
        .params,
        jaxopt.GaussNewton(lambda w: X @ w - y).run(jnp.zeros(3)).params,
        jaxopt.OSQP()
        .run(
            params_obj=(jnp.eye(2), jnp.array([-1.0, 1.0])),
            params_eq=(jnp.ones((1, 2)), jnp.ones(1)),
        )
        .params.primal,
        jaxopt.Bisection(lambda x: x**3 - 2, 0.0, 2.0).run().params,
        jax.grad(
            lambda l: (
                jaxopt.ScipyMinimize("l-bfgs-b", lambda w, l: f(w, X, y) + l * (w**2).sum())
                .run(jnp.zeros(3), l)
                .params.sum()
            )
        )(0.1),
    )


def program_tinygp():
    import tinygp

    k = 1.5 * tinygp.kernels.ExpSquared(0.5) + tinygp.kernels.Matern32(1.0)
    X = jnp.linspace(0, 3, 12)
    y = jnp.sin(X)

    def nll(t):
        return -tinygp.GaussianProcess(jnp.exp(t) * k, X, diag=0.1).log_probability(y)

    g = tinygp.GaussianProcess(k, X, diag=0.1)
    l, c = g.condition(y, jnp.linspace(0, 3, 5))
    return jax.value_and_grad(nll)(0.0), l, c.mean, c.variance, g.sample(jax.random.key(0), (2,))


def program_ott():
    from ott.geometry import pointcloud
    from ott.solvers import linear

    x = jax.random.normal(jax.random.key(0), (8, 2))
    y = jax.random.normal(jax.random.key(1), (7, 2)) + 1
    f = lambda x: linear.solve(pointcloud.PointCloud(x, y, epsilon=0.5)).reg_ot_cost
    return f(x), jax.grad(f)(x)


def program_jraph():
    import jraph

    g = jraph.GraphsTuple(
        nodes=jnp.arange(8.0).reshape(4, 2),
        edges=jnp.ones((5, 1)),
        senders=jnp.array([0, 1, 2, 3, 0]),
        receivers=jnp.array([1, 2, 3, 0, 2]),
        n_node=jnp.array([4]),
        n_edge=jnp.array([5]),
        globals=jnp.ones((1, 1)),
    )
    n = jraph.GraphNetwork(
        lambda e, s, r, gl: e + s.sum(-1, keepdims=True),
        lambda n, s, r, gl: n + s + r,
        lambda n, e, gl: gl + n.sum(),
    )
    return (
        n(g),
        jraph.GraphConvolution(lambda n: n * 2, add_self_edges=True)(g),
        jax.jit(n)(jraph.batch([g, g])),
    )


def program_rlax():
    import rlax

    r = jnp.array([1.0, 0.0, 2.0, -1.0])
    d = jnp.ones(4) * 0.9
    v = jnp.arange(4.0)
    return (
        rlax.lambda_returns(r, d, v, 0.9),
        rlax.discounted_returns(r, d, v),
        rlax.vtrace(v, v, r, d, jnp.ones(4)),
        rlax.huber_loss(r),
        rlax.q_learning(v, 1, 1.0, 0.9, v),
        rlax.categorical_l2_project(jnp.arange(3.0), jnp.array([0.2, 0.3, 0.5]), jnp.arange(3.0)),
    )


def program_penzai():
    import penzai.pz as pz

    a = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3)).tag("x", "y")
    return (a + 1).untag("x", "y").unwrap(), pz.nx.nmap(jnp.sum)(a.untag("y")).untag("x").unwrap()


def program_quax():
    import quax
    from quax.examples.lora import LoraArray

    l = LoraArray(jnp.eye(4), rank=2, key=jax.random.key(0))
    return quax.quaxify(lambda a, b: a @ b)(l, jnp.ones((4, 2)))


def program_evosax():
    from evosax.algorithms import CMA_ES

    e = CMA_ES(population_size=8, solution=jnp.zeros(3))
    k = jax.random.key(0)
    p = e.default_params
    s = e.init(k, jnp.ones(3), p)
    out = []
    for i in range(5):
        k, a, b = jax.random.split(k, 3)
        x, s = e.ask(a, s, p)
        s, m = e.tell(b, x, jnp.sum(x**2, 1), s, p)
        out.append(m["best_fitness"])
    return out


def program_jaxmd():
    from jax_md import space, energy, simulate, minimize

    d, sh = space.periodic(4.0)
    R = jax.random.uniform(jax.random.key(0), (10, 2)) * 4
    E = energy.soft_sphere_pair(d)
    i, a = minimize.fire_descent(E, sh)
    s = i(R)
    for _ in range(5):
        s = jax.jit(a)(s)
    i2, a2 = simulate.nvt_langevin(E, sh, 1e-3, 1.0)
    s2 = i2(jax.random.key(1), R)
    return s.position, jax.jit(a2)(s2).position, E(R), jax.grad(E)(R)


def program_interpax():
    import interpax

    x = jnp.linspace(0, 3, 8)
    return (
        interpax.interp1d(jnp.array([0.5, 1.7]), x, jnp.sin(x), method="cubic"),
        interpax.interp1d(jnp.array([0.5]), x, jnp.sin(x), method="akima"),
        interpax.interp2d(
            jnp.array([0.5]), jnp.array([0.6]), x, x, jnp.outer(jnp.sin(x), x), method="linear"
        ),
    )


def program_oryx():
    from oryx.core import inverse, sow, reap, harvest

    f = lambda x: jnp.exp(x) * 2
    return inverse(f)(3.0), reap(lambda x: sow(x + 1, name="a", tag="t") * 2, tag="t")(1.0)


def program_dmpix():
    import dm_pix as pix

    i = jax.random.uniform(jax.random.key(0), (8, 8, 3))
    return (
        pix.adjust_brightness(i, 0.1),
        pix.flip_left_right(i),
        pix.rgb_to_hsv(i),
        pix.gaussian_blur(i, 1.0, 3),
        pix.ssim(i, i * 0.9),
        pix.rotate(i, 0.3),
        pix.resize(i, (4, 4)) if hasattr(pix, "resize") else 0,
    )


def program_tfp():
    import tensorflow_probability.substrates.jax as tfp

    d = tfp.distributions
    return (
        d.Normal(0.0, 1.0).sample(3, seed=jax.random.key(0)),
        d.Gamma(2.0, 3.0).log_prob(1.5),
        d.WishartTriL(4.0, jnp.eye(2)).sample(seed=jax.random.key(1)),
        tfp.math.find_root_chandrupatla(lambda x: x**2 - 2, 0.0, 2.0).estimated_root,
        tfp.optimizer.bfgs_minimize(
            lambda x: tfp.math.value_and_gradient(lambda z: ((z - 1) ** 2).sum(), x), jnp.zeros(3)
        ).position,
        d.LKJ(3, 1.0).sample(seed=jax.random.key(2)),
        tfp.bijectors.Softplus().forward_log_det_jacobian(1.0, 0),
        tfp.mcmc.sample_chain(
            10,
            jnp.zeros(2),
            kernel=tfp.mcmc.HamiltonianMonteCarlo(lambda x: -0.5 * (x**2).sum(), 0.2, 3),
            trace_fn=None,
            seed=jax.random.key(3),
        ),
        d.GaussianProcess(
            tfp.math.psd_kernels.ExponentiatedQuadratic(), jnp.linspace(0, 1, 5)[:, None]
        ).log_prob(jnp.zeros(5)),
    )


def program_einops():
    import einops

    x = jnp.arange(24.0).reshape(2, 3, 4)
    return (
        einops.rearrange(x, "a b c -> c (a b)"),
        einops.reduce(x, "a b c -> b", "mean"),
        jax.jit(lambda x: einops.repeat(x, "a b c -> a b c d", d=2))(x),
        einops.einsum(x, x, "a b c, a d c -> b d"),
    )


def program_einops_layers():
    from einops.layers.flax import Rearrange

    return Rearrange("a (b c) -> a b c", sizes={"b": 2}).apply({}, jnp.arange(12.0).reshape(2, 6))
