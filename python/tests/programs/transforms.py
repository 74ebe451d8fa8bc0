import jax, jax.numpy as jnp, numpy as np
from jax import lax
from functools import partial


def program_grads():
    f = lambda x: jnp.sum(jnp.sin(x) ** 2 / (1 + jnp.exp(-x)))
    x = jnp.linspace(-2, 2, 7)
    return (
        jax.grad(f)(x),
        jax.hessian(f)(x),
        jax.jacfwd(jnp.cumsum)(x),
        jax.jacrev(jnp.cumprod)(x),
        jax.value_and_grad(f)(x),
    )


def program_vmap_vmap_grad():
    f = lambda w, x: jnp.tanh(jnp.dot(w, x))
    W = jnp.arange(12.0).reshape(4, 3) / 10
    X = jnp.arange(15.0).reshape(5, 3) / 10
    return jax.vmap(lambda w: jax.vmap(lambda x: jax.grad(f)(w, x))(X))(W), jax.jit(
        jax.vmap(jax.vmap(jax.grad(f), (None, 0)), (0, None))
    )(W, X)


def program_custom_vjp():
    @jax.custom_vjp
    def clip(x, lo, hi):
        return jnp.clip(x, lo, hi)

    clip.defvjp(lambda x, lo, hi: (clip(x, lo, hi), (x, lo, hi)), lambda r, g: (g * 2, None, None))
    x = jnp.arange(-3.0, 3)
    return jax.grad(lambda x: clip(x, -1, 1).sum())(x), jax.vmap(
        jax.grad(lambda x: clip(x, -1.0, 1.0))
    )(x)


def program_custom_jvp():
    @jax.custom_jvp
    def log1pexp(x):
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def _(p, t):
        (x,), (d,) = p, t
        return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * d

    return (
        jax.grad(log1pexp)(100.0),
        jax.jit(jax.grad(log1pexp))(3.0),
        jax.vmap(jax.grad(log1pexp))(jnp.arange(4.0)),
    )


def fails_pure_callback():
    import scipy.special as sp

    def jv(v, z):
        return jax.pure_callback(
            lambda v, z: sp.jv(v, z).astype(np.float32),
            jax.ShapeDtypeStruct(np.broadcast_shapes(np.shape(v), z.shape), z.dtype),
            v,
            z,
            vmap_method="expand_dims",
        )

    z = jnp.linspace(0.1, 4, 6)
    return (
        jv(1.0, z),
        jax.jit(jv)(2.0, z),
        jax.vmap(jv, (None, 0))(1.0, z),
        jax.vmap(jv, (0, None))(jnp.arange(3.0), z),
    )


def program_io_callback():
    seen = []

    def f(x):
        from jax.experimental import io_callback

        io_callback(lambda y: seen.append(float(y)), None, x, ordered=True)
        return x * 2

    out = jax.jit(lambda x: lax.fori_loop(0, 5, lambda i, y: f(y), x))(1.0)
    out.block_until_ready()
    jax.effects_barrier()
    return out, seen


def program_debug_print_scan():
    def body(c, x):
        jax.debug.print("c={c} x={x}", c=c, x=x, ordered=True)
        return c + x, c * x

    out = lax.scan(body, 0.0, jnp.arange(4.0))
    jax.effects_barrier()
    return out


def program_debug_print_vmap():
    jax.vmap(lambda x: jax.debug.print("x={}", x))(jnp.arange(3))
    jax.effects_barrier()
    jax.debug.print("array {a}", a=jnp.eye(2))
    jax.effects_barrier()
    jax.debug.print("fmt {a:.3f}", a=jnp.float32(2))
    jax.effects_barrier()
    return 1


def program_checkpoint():
    f = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=jax.checkpoint_policies.dots_saveable)
    g = jax.checkpoint(lambda w, x: jnp.tanh(w @ x).sum())
    return (
        jax.grad(f)(2.0),
        jax.grad(g)(jnp.eye(3), jnp.arange(3.0)),
        jax.jit(jax.grad(f))(1.0),
        str(jax.make_jaxpr(jax.grad(f))(1.0)),
    )


def program_export():
    from jax import export

    f = jax.jit(lambda x, y: {"a": jnp.dot(x, y), "b": x.sum(0)})
    e = export.export(f)(
        jax.ShapeDtypeStruct((3, 4), jnp.float32), jax.ShapeDtypeStruct((4, 2), jnp.float32)
    )
    b = e.serialize(vjp_order=1)
    e2 = export.deserialize(b)
    x, y = jnp.ones((3, 4)), jnp.arange(8.0).reshape(4, 2)
    return (
        e2.call(x, y),
        str(e2.in_avals),
        str(e2.out_avals),
        e2.fun_name,
        jax.grad(lambda x: e2.call(x, y)["a"].sum())(x),
        jax.jit(e2.call)(x, y),
    )


def program_export_poly():
    from jax import export

    a, b = export.symbolic_shape("a, b")
    e = export.export(jax.jit(lambda x: jnp.concatenate([x, x * 2]).sum(1)))(
        jax.ShapeDtypeStruct((a, b), jnp.float32)
    )
    e = export.deserialize(e.serialize())
    return e.call(jnp.ones((2, 3))), e.call(jnp.ones((5, 1))), str(e.out_avals)


def program_export_multi_platform():
    from jax import export

    e = export.export(jax.jit(jnp.cos), platforms=("cpu", "tpu", "cuda"))(jnp.arange(3.0))
    e = export.deserialize(e.serialize())
    return e.call(jnp.arange(3.0)), e.platforms


def program_shard_map():
    from jax.sharding import PartitionSpec as P, NamedSharding

    mesh = jax.make_mesh(
        (4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * len(("x", "y"))
    )
    x = jnp.arange(64.0).reshape(8, 8)
    f = jax.shard_map(
        lambda a, b: lax.psum(a @ b, "y"),
        mesh=mesh,
        in_specs=(P("x", "y"), P("y", None)),
        out_specs=P("x", None),
    )
    g = jax.shard_map(
        lambda a: lax.all_gather(a, "x", tiled=True),
        mesh=mesh,
        in_specs=P("x", "y"),
        out_specs=P(None, "y"),
        check_vma=False,
    )
    h = jax.shard_map(
        lambda a: lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)]),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    return f(x, x), jax.jit(f)(x, x), jax.grad(lambda x: f(x, x).sum())(x), g(x), h(x)


def program_shard_map_more():
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,) * len(("i",)))
    x = jnp.arange(64.0).reshape(8, 8)
    sm = partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    return (
        sm(lambda a: lax.all_to_all(a, "i", 1, 1, tiled=True))(x),
        sm(lambda a: lax.psum_scatter(jnp.tile(a, (8, 1)), "i", scatter_dimension=0, tiled=True))(
            x
        ),
        sm(lambda a: a * lax.axis_index("i"))(x),
        sm(lambda a: a - lax.pmean(a, "i"))(x),
        sm(lambda a: a + lax.pmax(a, "i") - lax.pmin(a, "i"))(x),
    )


def program_pmap():
    x = jnp.arange(16.0).reshape(8, 2)
    f = jax.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    return (
        f(x),
        jax.pmap(lambda x, y: x @ y, in_axes=(0, None))(jnp.ones((8, 2, 3)), jnp.ones((3, 2))),
        jax.pmap(jax.grad(lambda x: jnp.sum(x**3)))(x),
    )


def program_jit_shardings():
    from jax.sharding import PartitionSpec as P, NamedSharding

    mesh = jax.make_mesh(
        (4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * len(("x", "y"))
    )
    s = NamedSharding(mesh, P("x", "y"))
    r = NamedSharding(mesh, P())
    x = jax.device_put(jnp.arange(64.0).reshape(8, 8), s)
    f = jax.jit(lambda a: a @ a.T, in_shardings=s, out_shardings=NamedSharding(mesh, P("x")))
    y = f(x)
    z = jax.jit(lambda a: lax.with_sharding_constraint(a * 2, r))(x)
    return (
        y,
        z,
        x.sum(),
        x.T,
        x + 1,
        [s.data for s in y.addressable_shards],
        [str(s.index) for s in y.addressable_shards],
        jnp.sin(x)[0],
        x.reshape(-1),
        jnp.concatenate([x, x]),
    )


def program_visualize():
    from jax.sharding import PartitionSpec as P, NamedSharding

    mesh = jax.make_mesh(
        (4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * len(("x", "y"))
    )
    x = jax.device_put(jnp.arange(64.0).reshape(8, 8), NamedSharding(mesh, P("x", "y")))
    return (
        str(mesh),
        repr(x.sharding),
        str(sorted(map(str, x.devices()))),
        repr(x.sharding.devices_indices_map((8, 8))),
    )


def program_randoms():
    k = jax.random.key(0)
    r = jax.random
    out = {}
    out["normal"] = r.normal(k, (5,))
    out["uniform"] = r.uniform(k, (3, 2), minval=-1, maxval=2)
    out["randint"] = r.randint(k, (6,), 0, 100)
    out["perm"] = r.permutation(k, 10)
    out["choice"] = r.choice(k, 10, (4,), replace=False)
    out["choicep"] = r.choice(k, 4, (5,), p=jnp.array([0.1, 0.2, 0.3, 0.4]))
    out["bern"] = r.bernoulli(k, 0.3, (8,))
    out["cat"] = r.categorical(k, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(6,))
    out["gamma"] = r.gamma(k, 2.5, (4,))
    out["beta"] = r.beta(k, 2.0, 3.0, (4,))
    out["dir"] = r.dirichlet(k, jnp.ones(3), (2,))
    out["exp"] = r.exponential(k, (4,))
    out["lap"] = r.laplace(k, (4,))
    out["poisson"] = r.poisson(k, 4.0, (6,))
    out["gumbel"] = r.gumbel(k, (4,))
    out["mvn"] = r.multivariate_normal(k, jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]), (3,))
    out["t"] = r.t(k, 3.0, (4,))
    out["cauchy"] = r.cauchy(k, (4,))
    out["logistic"] = r.logistic(k, (4,))
    out["trunc"] = r.truncated_normal(k, -1.0, 1.0, (4,))
    out["bits"] = r.bits(k, (4,))
    out["ball"] = r.ball(k, 3, 2.0, (2,))
    out["orth"] = r.orthogonal(k, 3)
    out["rademacher"] = r.rademacher(k, (5,))
    out["maxwell"] = r.maxwell(k, (3,))
    out["pareto"] = r.pareto(k, 3.0, (3,))
    out["chisq"] = r.chisquare(k, 4.0, (3,))
    out["f"] = r.f(k, 4.0, 6.0, (3,))
    out["weib"] = r.weibull_min(k, 2.0, 1.5, (3,))
    out["binom"] = r.binomial(k, 10, 0.3, (5,))
    out["geom"] = r.geometric(k, 0.3, (5,))
    out["lognormal"] = r.lognormal(k, 1.0, (3,))
    out["rayleigh"] = r.rayleigh(k, 1.0, (3,))
    out["tri"] = r.triangular(k, 0.0, 0.5, 1.0, (3,))
    out["wald"] = r.wald(k, 1.0, (3,))
    out["dsm"] = r.double_sided_maxwell(k, 0.0, 1.0, (3,))
    out["gn"] = r.generalized_normal(k, 2.0, (3,))
    out["multinomial"] = r.multinomial(k, 10.0, jnp.array([0.2, 0.3, 0.5]))
    out["split"] = r.split(k, 3)
    out["fold"] = r.fold_in(k, 7)
    out["old"] = r.PRNGKey(42)
    out["rbg"] = r.normal(r.key(0, impl="rbg"), (4,))
    out["unsafe"] = r.normal(r.key(0, impl="unsafe_rbg"), (4,))
    out["loggamma"] = r.loggamma(k, 0.5, (3,))
    out["bf16"] = r.normal(k, (4,), jnp.bfloat16)
    out["f16"] = r.uniform(k, (4,), jnp.float16)
    out["cplx"] = r.normal(k, (3,), jnp.complex64)
    out["i8"] = r.randint(k, (5,), -5, 5, jnp.int8)
    return out


def program_linalg():
    a = jnp.array(np.random.RandomState(0).randn(4, 4).astype("f"))
    s = a @ a.T + 4 * jnp.eye(4)
    L = jnp.linalg
    w = L.eigvals(a)
    w = w[np.lexsort((np.asarray(w).imag, np.asarray(w).real))]
    q, r = L.qr(a)
    u, sv, vt = L.svd(a)
    return dict(
        inv=L.inv(a),
        det=L.det(a),
        slog=L.slogdet(a),
        chol=L.cholesky(s),
        eigh=L.eigvalsh(s),
        eigvals=w,
        qr=(q @ r, abs(r)),
        svd=(sv, (u * sv) @ vt),
        solve=L.solve(a, jnp.ones(4)),
        lst=L.lstsq(a[:, :2], jnp.ones(4)),
        pinv=L.pinv(a[:, :3]),
        norm=[L.norm(a), L.norm(a, 1), L.norm(a, 2), L.norm(a, "nuc"), L.norm(a, jnp.inf)],
        cond=L.cond(a),
        rank=L.matrix_rank(a),
        mp=L.matrix_power(a, 3),
        md=L.multi_dot([a, a, a]),
        expm=jax.scipy.linalg.expm(a / 4),
        cross=L.cross(a[0, :3], a[1, :3]),
        tinv=L.tensorinv(jnp.eye(6).reshape(2, 3, 6), 2),
        vn=L.vector_norm(a, axis=1),
        lu=jax.scipy.linalg.lu(a),
        chos=jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(s), jnp.ones(4)),
        tri=jax.scipy.linalg.solve_triangular(s, jnp.ones(4)),
        sqrtm=jax.scipy.linalg.sqrtm(s),
        schur=abs(jax.scipy.linalg.schur(s)[0]),
        polar=jax.scipy.linalg.polar(a),
        toep=jax.scipy.linalg.toeplitz(jnp.arange(3.0)),
        hilb=jax.scipy.linalg.hilbert(3),
        fun=jax.scipy.linalg.funm(s, jnp.sin),
        hess=abs(jax.scipy.linalg.hessenberg(a)),
        et=jax.scipy.linalg.eigh_tridiagonal(jnp.arange(4.0), jnp.ones(3), eigvals_only=True),
    )


def program_linalg_grads():
    a = jnp.array(np.random.RandomState(0).randn(4, 4).astype("f"))
    s = a @ a.T + 4 * jnp.eye(4)
    L = jnp.linalg
    g = lambda f: jax.grad(lambda x: jnp.sum(f(x)))
    return (
        g(L.inv)(a),
        g(L.det)(a),
        g(L.cholesky)(s),
        g(L.eigvalsh)(s),
        g(lambda x: L.svd(x, compute_uv=False))(a),
        g(lambda x: L.solve(x, jnp.ones(4)))(a),
        g(lambda x: L.slogdet(x)[1])(a),
        g(lambda x: abs(L.eigvals(x)))(a),
        g(L.pinv)(a),
        g(jax.scipy.linalg.expm)(a / 4),
        g(lambda x: L.qr(x)[1] ** 2)(a),
    )


def program_x64():
    with jax.enable_x64(True):
        x = jnp.linspace(0, 1, 5)
        y = jnp.arange(3)
        z = jax.jit(lambda x: jnp.exp(x) @ x)(x)
        out = (
            x,
            y,
            z,
            jax.random.normal(jax.random.key(0), (3,)),
            jnp.linalg.inv(jnp.eye(2) * 3),
            jnp.array([1 + 2j]),
        )
    return out, jnp.linspace(0, 1, 5)


def program_donate():
    f = jax.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    x = jnp.ones(1000)
    out = f(x, jnp.ones(1000))
    try:
        x + 1
        e = None
    except RuntimeError as ex:
        e = str(ex)
    g = jax.jit(lambda d: {"w": d["w"] * 2}, donate_argnames="d")
    return out, x.is_deleted(), e, g(d={"w": jnp.ones(3)})


def program_custom_root():
    def cbrt(a):
        def solve(f, x0):
            return lax.while_loop(
                lambda x: jnp.abs(f(x)) > 1e-6, lambda x: x - f(x) / jax.grad(f)(x), x0
            )

        return lax.custom_root(lambda x: x**3 - a, 1.0, solve, lambda g, y: y / g(1.0))

    return cbrt(8.0), jax.grad(cbrt)(8.0), jax.vmap(jax.grad(cbrt))(jnp.array([1.0, 8, 27]))


def program_custom_linear():
    A = jnp.array([[4.0, 1], [1, 3]])

    def f(b):
        return lax.custom_linear_solve(
            lambda x: A @ x, b, lambda mv, b: jnp.linalg.solve(A, b), symmetric=True
        )

    return (
        f(jnp.array([1.0, 2])),
        jax.jacobian(f)(jnp.array([1.0, 2])),
        jax.scipy.sparse.linalg.cg(lambda x: A @ x, jnp.ones(2)),
        jax.scipy.sparse.linalg.gmres(lambda x: A @ x, jnp.ones(2)),
        jax.scipy.sparse.linalg.bicgstab(lambda x: A @ x, jnp.ones(2)),
    )


def program_ode():
    from jax.experimental.ode import odeint

    f = lambda y, t, k: jnp.stack([y[1], -k * y[0]])
    t = jnp.linspace(0.0, 3.0, 7)
    run = lambda k: odeint(f, jnp.array([1.0, 0.0]), t, k)
    return run(2.0), jax.grad(lambda k: run(k)[-1, 0])(2.0), jax.vmap(run)(jnp.array([1.0, 2.0]))


def program_assoc():
    x = jnp.arange(1.0, 8)
    return (
        lax.associative_scan(jnp.multiply, x),
        lax.associative_scan(jnp.maximum, x[::-1], reverse=True),
        lax.cumlogsumexp(x),
        lax.cummax(x),
        lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x)),
        jax.grad(lambda x: lax.associative_scan(jnp.multiply, x)[-1])(x),
    )


def fails_reverse_mode():
    return jax.grad(
        lambda x: lax.while_loop(lambda v: v[0] < 3, lambda v: (v[0] + 1, v[1] * x), (0, 1.0))[1]
    )(2.0)


def program_reverse_error2():
    return jax.grad(lambda x: lax.fori_loop(0, x.astype(int), lambda i, v: v * x, 1.0))(2.0)


def program_fori_static_grad():
    return jax.grad(lambda x: lax.fori_loop(0, 5, lambda i, v: v * x, 1.0))(2.0)


def fails_shape():
    return jnp.ones((2, 3)) + jnp.ones((4,))


def fails_dot():
    return jnp.dot(jnp.ones((2, 3)), jnp.ones((4, 5)))


def fails_tracer_bool():
    return jax.jit(lambda x: 1 if x > 0 else 2)(1.0)


def fails_tracer_int():
    return jax.jit(lambda x: np.zeros(int(x)))(1)


def fails_leak():
    out = []
    jax.jit(lambda x: out.append(x))(1.0)
    return out[0] + 1


def fails_concrete():
    return jax.jit(lambda n: jnp.arange(n))(3)


def fails_setitem():
    x = jnp.ones(3)
    x[0] = 2


def fails_scan_carry():
    return lax.scan(lambda c, x: (c.astype(int), x), 1.0, jnp.arange(3.0))


def fails_cond():
    return lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)


def fails_vmap():
    return jax.vmap(jnp.add)(jnp.ones(3), jnp.ones(4))


def fails_grad_int():
    return jax.grad(lambda x: x * 2)(1)


def fails_grad_vec():
    return jax.grad(lambda x: x * 2)(jnp.ones(3))


def fails_static():
    return jax.jit(lambda x, n: x, static_argnums=1)(1.0, [1])


def fails_type():
    return jnp.sin("a")


def fails_obj():
    return jax.jit(lambda x: x)(object())


def fails_bool_arr():
    return bool(jnp.ones(3))


def fails_index():
    return jnp.ones(3)["a"]


def fails_matmul_unknown():
    return jnp.matmul(1.0, jnp.ones(3))


def fails_key():
    return jax.random.normal(3, (2,))


def fails_reuse():
    return jax.random.split(jnp.ones(3))


def fails_debugnans():
    with jax.debug_nans(True):
        return jax.jit(lambda x: jnp.log(x))(-1.0)


def program_dtype64():
    return jnp.zeros(3, dtype=jnp.float64)


def fails_device_put():
    return jax.device_put(1, "cpu")


def fails_platform():
    return jax.devices("gpu")


def fails_pmap():
    return jax.pmap(lambda x: x)(jnp.ones((9, 2)))


def fails_mesh():
    return jax.make_mesh((16,), ("x",), axis_types=(jax.sharding.AxisType.Auto,) * len(("x",)))


def fails_shard_div():
    from jax.sharding import PartitionSpec as P, NamedSharding

    return jax.device_put(
        jnp.ones(7),
        NamedSharding(
            jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,) * len(("x",))),
            P("x"),
        ),
    )


def fails_callback():
    return jax.pure_callback(
        lambda x: 1 / 0, jax.ShapeDtypeStruct((), jnp.float32), 1.0
    ).block_until_ready()
