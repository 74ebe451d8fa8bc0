import jax, jax.numpy as jnp, numpy as np, optax
from flax import nnx, linen as nn


def program_nnx():
    class M(nnx.Module):
        def __init__(s, rngs):
            s.l1 = nnx.Linear(4, 16, rngs=rngs)
            s.bn = nnx.BatchNorm(16, rngs=rngs)
            s.dr = nnx.Dropout(0.2, rngs=rngs)
            s.l2 = nnx.Linear(16, 3, rngs=rngs)

        def __call__(s, x):
            return s.l2(s.dr(nnx.relu(s.bn(s.l1(x)))))

    m = M(nnx.Rngs(0))
    o = nnx.Optimizer(m, optax.adamw(1e-2), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(0), (8, 4))
    y = jnp.arange(8) % 3

    @nnx.jit
    def step(m, o):
        def loss(m):
            return optax.softmax_cross_entropy_with_integer_labels(m(x), y).mean()

        l, g = nnx.value_and_grad(loss)(m)
        o.update(m, g)
        return l

    ls = [step(m, o) for _ in range(5)]
    m.eval()
    return ls, m(x), nnx.state(m)


def program_nnx_attention():
    m = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=nnx.Rngs(0))
    c = nnx.Conv(3, 4, (3, 3), rngs=nnx.Rngs(1))
    e = nnx.Embed(10, 8, rngs=nnx.Rngs(2))
    r = nnx.RNN(nnx.GRUCell(8, 5, rngs=nnx.Rngs(3)))
    l = nnx.RNN(nnx.LSTMCell(8, 5, rngs=nnx.Rngs(3)))
    x = e(jnp.arange(6).reshape(2, 3))
    return (
        m(x),
        c(jnp.ones((1, 5, 5, 3))),
        r(x),
        l(x),
        str(nnx.tabulate(c, jnp.ones((1, 5, 5, 3))))[:50],
    )


def program_nnx_scan_vmap():
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=0, out_axes=0)
    def make(rngs):
        return nnx.Linear(4, 4, rngs=rngs)

    ms = make(nnx.Rngs(0))

    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def fwd(x, m):
        return jnp.tanh(m(x))

    return fwd(jnp.ones((2, 4)), ms), nnx.grad(lambda m: fwd(jnp.ones((2, 4)), m).sum())(ms)


def program_linen():
    class M(nn.Module):
        @nn.compact
        def __call__(s, x, train=True):
            x = nn.Conv(4, (3, 3))(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.max_pool(nn.relu(x), (2, 2), (2, 2))
            x = x.reshape(x.shape[0], -1)
            x = nn.Dropout(0.1, deterministic=not train)(x)
            return nn.Dense(3)(x)

    m = M()
    x = jax.random.normal(jax.random.key(1), (2, 8, 8, 1))
    v = m.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)

    def loss(p):
        y, u = m.apply(
            {**v, "params": p}, x, rngs={"dropout": jax.random.key(3)}, mutable=["batch_stats"]
        )
        return (y**2).sum(), u

    (l, u), g = jax.jit(jax.value_and_grad(loss, has_aux=True))(v["params"])
    return l, u, g, m.tabulate(jax.random.key(0), x, train=False)


def program_linen_transformer():
    class B(nn.Module):
        @nn.compact
        def __call__(s, x):
            x = x + nn.SelfAttention(2)(
                nn.LayerNorm()(x), mask=nn.make_causal_mask(jnp.ones(x.shape[:2]))
            )
            return x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))

    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    m = nn.Sequential([B(), B()])
    v = m.init(jax.random.key(0), x)
    return m.apply(v, x), jax.grad(lambda v: m.apply(v, x).sum())(v)


def program_linen_scan_remat():
    class C(nn.Module):
        @nn.compact
        def __call__(s, c, x):
            return nn.Dense(4)(c) + x, c.sum()

    S = nn.scan(
        nn.remat(C),
        variable_broadcast="params",
        split_rngs={"params": False},
        in_axes=0,
        out_axes=0,
    )
    v = S().init(jax.random.key(0), jnp.ones(4), jnp.ones((3, 4)))
    return S().apply(v, jnp.ones(4), jnp.ones((3, 4))), jax.grad(
        lambda v: S().apply(v, jnp.ones(4), jnp.ones((3, 4)))[0].sum()
    )(v)


def program_flax_serial():
    from flax import serialization

    p = {"a": jnp.arange(3.0), "b": {"c": jnp.ones((2, 2), jnp.bfloat16)}}
    b = serialization.to_bytes(p)
    return serialization.from_bytes(p, b), len(b)


def program_optax_all():
    p = {"w": jnp.arange(1.0, 5), "m": jnp.ones((4, 3)) * 0.5}
    out = {}
    for n in [
        "sgd",
        "adam",
        "adamw",
        "adagrad",
        "adabelief",
        "adamax",
        "lamb",
        "lion",
        "nadam",
        "radam",
        "rmsprop",
        "yogi",
        "lars",
        "novograd",
        "sm3",
        "adafactor",
        "amsgrad",
        "fromage",
        "noisy_sgd",
        "rprop",
        "adan",
    ]:
        try:
            o = getattr(optax, n)(1e-2)
        except TypeError:
            o = getattr(optax, n)(1e-2, 0.1, 0)
        s = o.init(p)
        q = p
        for i in range(3):
            g = jax.grad(lambda p: (p["w"] ** 2).sum() + (p["m"] ** 3).sum())(q)
            u, s = o.update(g, s, q)
            q = optax.apply_updates(q, u)
        out[n] = q
    return out


def program_optax_more():
    o = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.scale_by_schedule(optax.warmup_cosine_decay_schedule(0.0, 1.0, 10, 50)),
        optax.scale(-1.0),
    )
    p = jnp.ones(4)
    s = o.init(p)

    @jax.jit
    def step(p, s):
        u, s = o.update(p * 2, s, p)
        return optax.apply_updates(p, u), s

    for _ in range(10):
        p, s = step(p, s)
    sol = optax.lbfgs()
    q = jnp.array([-1.0, 1.0])
    st = sol.init(q)
    f = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    vg = optax.value_and_grad_from_state(f)
    for _ in range(5):
        v, g = vg(q, state=st)
        u, st = sol.update(g, st, q, value=v, grad=g, value_fn=f)
        q = optax.apply_updates(q, u)
    return (
        p,
        s,
        q,
        optax.losses.ctc_loss(
            jnp.zeros((1, 4, 3)), jnp.zeros((1, 4)), jnp.array([[1, 2]]), jnp.zeros((1, 2))
        ),
        optax.projections.projection_simplex(jnp.arange(3.0)),
        optax.ema(0.9).init(p),
    )


def program_equinox():
    import equinox as eqx

    m = eqx.nn.MLP(3, 2, 8, 2, key=jax.random.key(0))
    f = eqx.filter_jit(lambda m, x: jax.vmap(m)(x))
    x = jnp.ones((4, 3))
    c = eqx.nn.Conv2d(1, 2, 3, key=jax.random.key(1))
    l = eqx.nn.LSTMCell(3, 4, key=jax.random.key(2))
    a = eqx.nn.MultiheadAttention(2, 8, key=jax.random.key(3))
    bn, st = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, "b", mode="batch")
    import io

    b = io.BytesIO()
    eqx.tree_serialise_leaves(b, m)
    b.seek(0)
    m2 = eqx.tree_deserialise_leaves(b, m)
    return (
        f(m, x),
        eqx.filter_grad(lambda m: f(m, x).sum())(m),
        c(jnp.ones((1, 5, 5))),
        l(jnp.ones(3), (jnp.zeros(4), jnp.zeros(4))),
        a(*[jnp.ones((5, 8))] * 3),
        jax.vmap(bn, axis_name="b", in_axes=(0, None), out_axes=(0, None))(x, st)[0],
        f(m2, x),
        str(m),
        eqx.tree_pformat(m),
    )


def fails_equinox():
    import equinox as eqx

    return eqx.filter_jit(lambda x: eqx.error_if(x, x > 0, "x must not be positive"))(
        jnp.ones(())
    ).block_until_ready()


def program_eqx_internals():
    import equinox as eqx, equinox.internal as eqxi

    f = lambda x: eqxi.while_loop(
        lambda v: v[0] < 5,
        lambda v: (v[0] + 1, v[1] * x),
        (0, 1.0),
        kind="checkpointed",
        max_steps=8,
    )[1]
    g = lambda x: eqxi.while_loop(
        lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * x), (0, 1.0), kind="bounded", max_steps=8
    )[1]
    return (
        jax.grad(f)(2.0),
        jax.grad(g)(2.0),
        eqxi.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(4.0), kind="checkpointed"),
    )


def program_haiku():
    import haiku as hk

    def f(x):
        x = hk.Conv2D(4, 3)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, True)
        x = hk.Flatten()(jax.nn.relu(x))
        x = hk.dropout(hk.next_rng_key(), 0.1, x)
        return hk.nets.MLP([8, 3])(x)

    t = hk.transform_with_state(f)
    x = jnp.ones((2, 5, 5, 1))
    p, s = t.init(jax.random.PRNGKey(0), x)
    y, s2 = t.apply(p, s, jax.random.PRNGKey(1), x)
    l = hk.transform(lambda x: hk.dynamic_unroll(hk.LSTM(5), x, hk.LSTM(5).initial_state(2)))
    xs = jnp.ones((4, 2, 3))
    lp = l.init(jax.random.PRNGKey(0), xs)
    return (
        y,
        s2,
        jax.grad(lambda p: t.apply(p, s, jax.random.PRNGKey(1), x)[0].sum())(p),
        l.apply(lp, None, xs),
    )


def program_chex():
    import chex

    @chex.dataclass
    class S:
        a: chex.Array
        b: chex.Array

    s = S(a=jnp.ones(2), b=jnp.zeros(3))
    chex.assert_tree_all_finite(s)
    chex.assert_shape(s.a, (2,))
    chex.assert_max_traces

    @jax.jit
    @chex.assert_max_traces(n=1)
    def f(x):
        return x + 1

    f(1.0)
    f(2.0)
    return jax.tree.map(lambda x: x + 1, s).a, chex.fake_jit


def program_chexify():
    import chex

    @chex.chexify
    @jax.jit
    def f(x):
        chex.assert_tree_all_finite(x)
        return x

    return f(jnp.ones(3))


def fails_chexify():
    import chex

    @chex.chexify
    @jax.jit
    def f(x):
        chex.assert_tree_all_finite(x)
        return x

    f(jnp.array([1.0, jnp.nan]))
    f.wait_checks()


def fails_chex():
    import chex

    chex.assert_equal_shape([jnp.ones(2), jnp.ones(3)])


def program_distrax():
    import distrax

    d = distrax.Normal(0.0, 1.0)
    s, lp = d.sample_and_log_prob(seed=jax.random.key(0), sample_shape=(3,))
    m = distrax.MultivariateNormalTri(jnp.zeros(2), jnp.eye(2))
    c = distrax.Categorical(logits=jnp.arange(3.0))
    t = distrax.Transformed(d, distrax.Tanh())
    h = distrax.HMM(
        c, distrax.Categorical(logits=jnp.eye(3)), distrax.Normal(jnp.arange(3.0), jnp.ones(3))
    )
    return (
        s,
        lp,
        m.log_prob(jnp.ones(2)),
        c.entropy(),
        c.sample(seed=jax.random.key(1), sample_shape=(4,)),
        t.log_prob(0.5),
        h.forward(jnp.arange(4.0)),
        h.viterbi(jnp.arange(4.0)),
        distrax.MixtureSameFamily(c, distrax.Normal(jnp.arange(3.0), jnp.ones(3))).log_prob(1.0),
    )


def program_jaxtyping():
    from jaxtyping import Float, Array, jaxtyped, Int
    from beartype import beartype

    @jaxtyped(typechecker=beartype)
    def f(x: Float[Array, "a b"], y: Float[Array, "b"]) -> Float[Array, "a"]:
        return x @ y

    out = f(jnp.ones((2, 3)), jnp.ones(3))
    try:
        f(jnp.ones((2, 3)), jnp.ones(4))
        e = None
    except Exception as ex:
        e = type(ex).__name__
    return (
        out,
        e,
        isinstance(jnp.ones(3), Float[Array, "3"]),
        isinstance(jnp.ones(3, int), Int[Array, "3"]),
    )


def program_blackjax():
    import blackjax

    ld = lambda x: -0.5 * jnp.sum((x - jnp.array([1.0, 2.0])) ** 2)
    n = blackjax.nuts(ld, 1e-1 * 5, jnp.ones(2))
    st = n.init(jnp.zeros(2))

    def step(s, k):
        s, i = n.step(k, s)
        return s, (s.position, i.acceptance_rate)

    _, out = jax.lax.scan(step, st, jax.random.split(jax.random.key(0), 30))
    m = blackjax.rmh(ld, blackjax.mcmc.random_walk.normal(jnp.ones(2)))
    h = blackjax.hmc(ld, 0.1, jnp.ones(2), 5)
    ma = blackjax.mala(ld, 0.1)
    w = blackjax.window_adaptation(blackjax.nuts, ld)
    (ws, wp), _ = w.run(jax.random.key(3), jnp.zeros(2), 60)
    return (
        out,
        m.step(jax.random.key(1), m.init(jnp.zeros(2))),
        h.step(jax.random.key(1), h.init(jnp.zeros(2)))[0],
        ma.step(jax.random.key(1), ma.init(jnp.zeros(2)))[0],
        bool(wp["step_size"] > 0),
    )


def program_orbax():
    import orbax.checkpoint as ocp, tempfile, os

    d = tempfile.mkdtemp()
    c = ocp.StandardCheckpointer()
    t = {"a": jnp.arange(4.0), "b": jnp.ones((2, 2), jnp.bfloat16), "k": 3}
    c.save(os.path.join(d, "x"), t)
    c.wait_until_finished()
    r = c.restore(os.path.join(d, "x"))
    r2 = c.restore(
        os.path.join(d, "x"),
        jax.tree.map(
            lambda x: (
                jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
                if hasattr(x, "shape")
                else x
            ),
            t,
        ),
    )
    m = ocp.CheckpointManager(
        os.path.join(d, "m"), options=ocp.CheckpointManagerOptions(max_to_keep=2)
    )
    for i in range(3):
        m.save(i, args=ocp.args.StandardSave(t))
    m.wait_until_finished()
    return r, r2, m.all_steps(), m.latest_step(), m.restore(2)


def program_orbax_sharded():
    import orbax.checkpoint as ocp, tempfile, os
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("x")))
    d = tempfile.mkdtemp()
    c = ocp.StandardCheckpointer()
    c.save(os.path.join(d, "x"), {"a": x})
    c.wait_until_finished()
    return c.restore(
        os.path.join(d, "x"), {"a": jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)}
    )


def fails_orbax():
    import orbax.checkpoint as ocp

    try:
        return ocp.StandardCheckpointer().restore("/tmp/does/not/exist")
    except FileNotFoundError as e:
        raise FileNotFoundError(str(e)[:60])
