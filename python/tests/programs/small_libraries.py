import jax, jax.numpy as jnp, numpy as np


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
