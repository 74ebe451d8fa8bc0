import jax, jax.numpy as jnp, numpy as np
from jax import lax


def program_sparse():
    from jax.experimental import sparse

    M = jnp.array([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])
    b = sparse.BCOO.fromdense(M)
    c = sparse.BCSR.fromdense(M)
    return (
        b @ jnp.arange(4.0),
        (b.T @ jnp.arange(3.0)),
        b.todense(),
        c @ jnp.ones(4),
        jax.grad(lambda v: (b @ v).sum())(jnp.ones(4)),
        sparse.sparsify(lambda x: jnp.sin(x).sum())(b),
        (b + b).todense(),
        jax.jit(lambda b, v: b @ v)(b, jnp.ones(4)),
        sparse.bcoo_dot_general(b, b.T, dimension_numbers=(([1], [0]), ([], []))).todense(),
        sparse.CSR.fromdense(M) @ jnp.ones(4),
        str(b),
    )


def program_optimize():
    from jax.scipy.optimize import minimize

    r = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    m = minimize(r, jnp.array([-1.0, 1.0]), method="BFGS")
    return m.x, m.success, m.nit


def program_image():
    x = jnp.arange(48.0).reshape(4, 4, 3)
    return [
        jax.image.resize(x, (8, 6, 3), m) for m in ("nearest", "bilinear", "bicubic", "lanczos3")
    ] + [
        jax.image.scale_and_translate(
            x, (5, 5, 3), (0, 1), jnp.array([1.2, 1.1]), jnp.array([0.3, 0.1]), "linear"
        )
    ]


def program_promote():
    out = []
    for a in ("int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", "bool"):
        for b in ("int8", "uint32", "float16", "bfloat16", "float32", "bool"):
            out.append(str((jnp.ones(1, a) + jnp.ones(1, b)).dtype))
        out.append(str((jnp.ones(1, a) + 1.5).dtype))
        out.append(str((jnp.ones(1, a) * np.float32(2)).dtype))
    return out


def program_tree():
    t = {"a": (1, [2, None]), "b": jnp.ones(2)}
    L, d = jax.tree.flatten(t)
    return (
        str(d),
        jax.tree.map(lambda x: x * 2, t),
        jax.tree_util.tree_flatten_with_path(t)[0],
        jax.tree_util.keystr(jax.tree_util.tree_flatten_with_path(t)[0][0][0]),
        jax.tree.reduce(lambda a, b: a + jnp.sum(b), t, 0),
        jax.tree.transpose(
            jax.tree.structure([0, 0]), jax.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]
        ),
    )


def program_tree_register():
    import dataclasses

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class S:
        x: jax.Array
        n: int = dataclasses.field(metadata=dict(static=True))

    @jax.tree_util.register_pytree_node_class
    class T:
        def __init__(s, a):
            s.a = a

        def tree_flatten(s):
            return (s.a,), None

        @classmethod
        def tree_unflatten(c, x, y):
            return c(*y)

    return (
        jax.jit(lambda s: s.x * s.n)(S(jnp.ones(2), 3)),
        jax.grad(lambda t: (t.a**2).sum())(T(jnp.arange(3.0))).a,
        str(jax.tree.structure(S(1, 2))),
    )


def fails_tree():
    return jax.tree.map(lambda a, b: a, (1, 2), [1, 2])


def fails_tree2():
    return jax.vmap(lambda x: x, in_axes=({"a": 0},))({"b": jnp.ones(2)})


def program_numpy_misc():
    x = jnp.arange(12.0).reshape(3, 4)
    return (
        jnp.percentile(x, 30),
        jnp.median(x, 0),
        jnp.histogram(x, 4),
        jnp.unique(jnp.array([3, 1, 1])),
        jnp.nonzero(x > 4),
        jnp.where(x > 5),
        jnp.interp(1.5, x[0], x[1]),
        jnp.polyfit(x[0], x[1], 1),
        jnp.convolve(x[0], x[1]),
        jnp.einsum("ij,kj->ik", x, x),
        jnp.kron(x[:2, :2], x[:2, :2]),
        jnp.searchsorted(x[0], 2.5),
        jnp.digitize(x, x[0]),
        jnp.cov(x),
        jnp.corrcoef(x),
        jnp.gradient(x),
        jnp.trapezoid(x),
        jnp.lexsort((x[0], -x[0])),
        jnp.apply_along_axis(jnp.sum, 0, x),
        jnp.select([x > 3], [x]),
        jnp.piecewise(x, [x < 3], [lambda x: -x, lambda x: x]),
        jnp.fft.rfft(x),
        jnp.fft.fftshift(x),
        jnp.bincount(jnp.array([1, 1, 2])),
        jnp.take_along_axis(x, x.argsort(1), 1),
        jnp.vander(x[0]),
        jnp.nanmean(x),
        jnp.packbits(x > 3),
        jnp.block([[x, x]]),
        jnp.i0(x),
        jnp.sinc(x),
        jnp.spacing(x),
        jnp.frexp(x),
        jnp.ldexp(x, 2),
        jnp.isin(x, x[0]),
        jnp.setdiff1d(x, x[0]),
        jnp.partition(x, 1),
        jnp.nan_to_num(x / 0),
        jnp.array_repr(x),
        repr(x),
        str(x),
        f"{x[0, 0]:.2f}",
        x.tolist(),
        len(x),
        x.at[0].add(1),
        x.at[:, 1].multiply(2),
        x.at[jnp.array([0, 0])].min(-1.0),
        x.at[10].get(mode="fill", fill_value=-1),
        jnp.r_[1:3],
        jnp.c_[x[0], x[1]],
        jnp.ix_(x[0], x[1]),
        jnp.load if 0 else 0,
    )


def program_special():
    s = jax.scipy.special
    x = jnp.linspace(0.1, 0.9, 5)
    return [
        getattr(s, n)(x)
        for n in "digamma gammaln erf erfc erfinv expit logit i0 i0e i1 i1e ndtr ndtri log_ndtr entr exp1 expi factorial gamma spence".split()
    ] + [
        s.betainc(x, 2.0, 0.3),
        s.zeta(x + 2, 1.0),
        s.polygamma(1, x),
        s.gammainc(x, 1.0),
        s.logsumexp(x),
        s.xlogy(x, x),
        s.multigammaln(x + 3, 2),
        s.bessel_jn(x, v=2),
        s.hyp1f1(x, 1.0, 0.5),
        s.poch(x, 2.0),
        s.lpmn_values if 0 else 0,
        s.bernoulli(4),
        s.rel_entr(x, x),
        s.kl_div(x, x * 2),
        s.sph_harm_y(jnp.array([1]), jnp.array([0]), x[:1], x[:1])
        if hasattr(s, "sph_harm_y")
        else 0,
    ]


def program_stats():
    s = jax.scipy.stats
    x = jnp.linspace(0.1, 0.9, 4)
    return [
        s.norm.logcdf(x),
        s.t.logpdf(x, 3),
        s.gamma.cdf(x, 2.0),
        s.beta.logpdf(x, 2, 3),
        s.poisson.logpmf(jnp.arange(3), 2.0),
        s.multivariate_normal.pdf(x[:2], jnp.zeros(2), jnp.eye(2)),
        s.gaussian_kde(x).evaluate(x),
        s.rankdata(x),
        s.mode(jnp.array([1, 1, 2])),
        s.norm.ppf(x),
        s.chi2.sf(x, 2),
        s.dirichlet.pdf(jnp.array([0.3, 0.7]), jnp.ones(2)),
        s.vonmises.pdf(x, 1.0),
        s.binom.logpmf(1, 3, 0.4),
        s.nbinom.pmf(1, 3, 0.4),
        s.sem(x),
        s.wrapcauchy.pdf(x, 0.3),
        s.truncnorm.pdf(x, 0.0, 1.0),
        s.cauchy.isf(x),
        s.expon.ppf(x),
        s.laplace.cdf(x),
        s.logistic.ppf(x),
        s.pareto.pdf(x + 1, 2.0),
        s.uniform.cdf(x),
        s.geom.pmf(jnp.arange(3), 0.3),
        s.bernoulli.ppf(x, 0.4),
        s.betabinom.pmf(1, 3, 1.0, 2.0),
    ]


def program_signal():
    s = jax.scipy.signal
    x = jnp.sin(jnp.arange(32.0))
    return (
        s.convolve(x, x[:4], "same"),
        s.stft(x, nperseg=8),
        s.welch(x, nperseg=8),
        s.detrend(x),
        s.fftconvolve(x, x),
        s.correlate(x, x[:3]),
        s.csd(x, x, nperseg=8),
        s.istft(s.stft(x, nperseg=8)[2], nperseg=8),
        jax.scipy.ndimage.map_coordinates(x.reshape(4, 8), [jnp.array([0.5]), jnp.array([1.5])], 1),
        jax.scipy.fft.dct(x),
        jax.scipy.integrate.trapezoid(x),
        jax.scipy.interpolate.RegularGridInterpolator((x.argsort() * 1.0,), x)(jnp.array([1.2])),
        __import__("jax.scipy.spatial.transform")
        .scipy.spatial.transform.Rotation.from_euler("z", 0.3)
        .as_matrix(),
        jax.scipy.cluster.vq.vq(x[:, None], x[:3, None]),
    )


def program_dlpack():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = jax.dlpack.from_dlpack(x)
    return (
        y,
        np.from_dlpack(y),
        np.asarray(y).flags.writeable,
        jnp.asarray(x),
        memoryview(np.asarray(y)).shape,
        y.__array__(dtype=np.float64),
        np.add(y, 1),
        np.sum(y),
        y + x,
    )


def fails_refs():
    def f(x):
        r = jax.new_ref(jnp.zeros(3))
        r[...] += x
        r[0] = 5.0
        return r[...]

    return jax.jit(f)(jnp.arange(3.0)), jax.grad(lambda x: jax.jit(f)(x).sum())(jnp.arange(3.0))


def program_aot():
    f = jax.jit(lambda x: jnp.sin(x) @ x)
    l = f.lower(jnp.ones((4, 4)))
    c = l.compile()
    return (
        c(jnp.ones((4, 4))),
        l.as_text(),
        str(l.out_info),
        sorted(c.cost_analysis())[:0],
        str(jax.make_jaxpr(f)(jnp.ones((4, 4)))),
        str(jax.eval_shape(f, jnp.ones((4, 4)))),
        c.memory_analysis().argument_size_in_bytes,
    )


def fails_aot():
    return jax.jit(lambda x: x).lower(jnp.ones(3)).compile()(jnp.ones(4))


def program_lin():
    y, f = jax.linearize(lambda x: jnp.sin(x) * x, jnp.arange(3.0))
    z, g = jax.vjp(lambda x, y: x @ y, jnp.eye(2), jnp.ones(2))
    return (
        y,
        f(jnp.ones(3)),
        g(jnp.ones(2)),
        jax.linear_transpose(lambda x: x * 2, jnp.ones(2))(jnp.ones(2)),
        jax.jvp(jnp.linalg.inv, (jnp.eye(2) * 2,), (jnp.ones((2, 2)),)),
        jax.experimental.jet.jet(jnp.sin, (1.0,), [[1.0, 0.0]])
        if hasattr(jax.experimental, "jet")
        else 0,
    )


def fails_checkify():
    from jax.experimental import checkify

    def f(x):
        checkify.check(x > 0, "x is {x}", x=x)
        return jnp.log(x)

    e, y = checkify.checkify(jax.jit(f))(-1.0)
    e2, y2 = checkify.checkify(f, checkify.all_checks)(0.0 / 1)
    return e.get(), y, e2.get()


def fails_checkify():
    from jax.experimental import checkify

    e, y = checkify.checkify(lambda x, i: x[i], checkify.index_checks)(jnp.ones(3), 5)
    e.throw()


def program_host_callback_print():
    @jax.jit
    def f(x):
        jax.debug.callback(lambda x: print("cb", x), x)
        return x

    f(jnp.arange(2))
    jax.effects_barrier()
    return 1


def program_config_dtypes():
    return (
        jax.default_backend(),
        str(jax.devices()),
        jax.device_count(),
        jax.local_device_count(),
        jax.process_index(),
        repr(jnp.ones(2).device),
        str(jnp.ones(2).sharding),
        jnp.ones(2).nbytes,
        jnp.ones(2).is_fully_replicated,
        jax.config.jax_enable_x64,
        jnp.finfo(jnp.bfloat16).eps,
        jnp.iinfo("int8").max,
        str(jnp.result_type(1, 2.0)),
    )


def program_lowp():
    return [
        (jnp.arange(8.0).astype(d) * jnp.asarray(1.5, d)).astype(jnp.float32)
        for d in (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.bfloat16, jnp.float16)
    ] + [
        jnp.arange(-8, 8).astype(jnp.int4).astype(jnp.int32),
        lax.dot(
            jnp.ones((2, 4), jnp.int8), jnp.ones((4, 2), jnp.int8), preferred_element_type=jnp.int32
        ),
        jnp.dot(jnp.ones((4, 4), jnp.bfloat16), jnp.ones((4, 4), jnp.bfloat16)),
    ]


def program_explicit():
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((4, 2), ("x", "y"))
    with jax.set_mesh(mesh):
        a = jax.device_put(jnp.arange(64.0).reshape(8, 8), jax.NamedSharding(mesh, P("x", "y")))
        b = a * 2 + a.T.reshape(8, 8) if 0 else a * 2
        return (
            b,
            jnp.sum(a, 0),
            jax.typeof(a.T),
            jax.sharding.reshard(a, P(None, "y")),
            jax.jit(
                lambda a: jnp.einsum(
                    "ij,jk->ik", a, jax.sharding.reshard(a, P("y", None)), out_sharding=P("x", None)
                )
            )(a),
        )
