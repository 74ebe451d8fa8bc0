import jax, jax.numpy as jnp, numpy as np, diffrax as dfx, equinox as eqx, optax, lineax as lx, optimistix as optx


def solve(k, solver=None, ctl=None, adj=None, saveat=None):
    f = lambda t, y, a: jnp.array([y[1], -k * y[0]])
    return dfx.diffeqsolve(
        dfx.ODETerm(f),
        solver or dfx.Tsit5(),
        0.0,
        3.0,
        None if ctl is None or not isinstance(ctl, dfx.ConstantStepSize) else 0.01,
        jnp.array([1.0, 0.0]),
        stepsize_controller=ctl or dfx.PIDController(1e-5, 1e-5),
        saveat=saveat or dfx.SaveAt(ts=jnp.linspace(0.0, 3.0, 7)),
        adjoint=adj or dfx.RecursiveCheckpointAdjoint(),
    )


def program_ode():
    s = solve(2.0)
    return s.ys, s.ts, s.stats["num_steps"]


def program_grad():
    return jax.grad(lambda k: solve(k).ys[-1, 0])(2.0)


def program_grad_backsolve():
    return jax.grad(
        lambda k: dfx.diffeqsolve(
            dfx.ODETerm(lambda t, y, k: jnp.array([y[1], -k * y[0]])),
            dfx.Tsit5(),
            0.0,
            3.0,
            0.01,
            jnp.array([1.0, 0.0]),
            args=k,
            adjoint=dfx.BacksolveAdjoint(),
        ).ys[-1, 0]
    )(2.0)


def program_direct():
    return jax.jvp(lambda k: solve(k, adj=dfx.DirectAdjoint()).ys, (2.0,), (1.0,))


def program_forward():
    return jax.jvp(lambda k: solve(k, adj=dfx.ForwardMode()).ys, (2.0,), (1.0,))


def program_stiff():
    return solve(2.0, dfx.Kvaerno5()).ys, solve(
        2.0, dfx.ImplicitEuler(), dfx.PIDController(1e-3, 1e-3)
    ).ys


def program_solvers():
    return [
        solve(2.0, s(), dfx.ConstantStepSize()).ys[-1]
        for s in (dfx.Euler, dfx.Heun, dfx.Midpoint, dfx.Dopri5, dfx.Dopri8, dfx.Bosh3)
    ]


def program_vmap():
    return jax.vmap(lambda k: solve(k).ys)(jnp.array([1.0, 2.0, 3.0]))


def program_dense():
    s = solve(2.0, saveat=dfx.SaveAt(dense=True))
    return s.evaluate(1.2345), s.derivative(0.5)


def program_event():
    s = dfx.diffeqsolve(
        dfx.ODETerm(lambda t, y, a: jnp.stack([y[1], jnp.asarray(-9.8)])),
        dfx.Tsit5(),
        0.0,
        10.0,
        0.01,
        jnp.array([1.0, 0.0]),
        event=dfx.Event(lambda t, y, args, **k: y[0], optx.Newton(1e-5, 1e-5)),
    )
    return s.ys, s.ts


def program_sde():
    bm = dfx.VirtualBrownianTree(0.0, 1.0, 1e-3, (), jax.random.key(0))
    t = dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: -y), dfx.ControlTerm(lambda t, y, a: 0.3, bm))
    return dfx.diffeqsolve(
        t, dfx.Euler(), 0.0, 1.0, 0.01, 1.0, saveat=dfx.SaveAt(ts=jnp.linspace(0, 1, 5))
    ).ys


def program_cde():
    ts = jnp.linspace(0, 1, 8)
    ys = jnp.stack([ts, jnp.sin(ts)], -1)
    c = dfx.CubicInterpolation(ts, dfx.backward_hermite_coefficients(ts, ys))
    return dfx.diffeqsolve(
        dfx.ControlTerm(lambda t, y, a: jnp.ones((3, 2)) * y[:, None], c),
        dfx.Tsit5(),
        0.0,
        1.0,
        0.05,
        jnp.ones(3),
    ).ys


def program_neural_ode():
    class F(eqx.Module):
        m: eqx.nn.MLP

        def __init__(s, k):
            s.m = eqx.nn.MLP(2, 2, 8, 1, activation=jnp.tanh, key=k)

        def __call__(s, t, y, a):
            return s.m(y)

    m = F(jax.random.key(0))
    opt = optax.adam(1e-2)
    st = opt.init(eqx.filter(m, eqx.is_array))
    y0 = jnp.ones((4, 2))

    @eqx.filter_jit
    def step(m, st):
        def loss(m):
            return jnp.mean(
                jax.vmap(
                    lambda y: dfx.diffeqsolve(dfx.ODETerm(m), dfx.Tsit5(), 0.0, 1.0, 0.1, y).ys[-1]
                )(y0)
                ** 2
            )

        l, g = eqx.filter_value_and_grad(loss)(m)
        u, st = opt.update(g, st)
        return l, eqx.apply_updates(m, u), st

    ls = []
    for _ in range(5):
        l, m, st = step(m, st)
        ls.append(l)
    return ls


def fails_maxsteps():
    return dfx.diffeqsolve(
        dfx.ODETerm(lambda t, y, a: -y), dfx.Tsit5(), 0.0, 1.0, 1e-3, 1.0, max_steps=10
    ).ys


def program_lineax():
    A = jnp.array(np.random.RandomState(0).randn(4, 4).astype("f"))
    A = A @ A.T + jnp.eye(4)
    b = jnp.arange(4.0)
    o = lx.MatrixLinearOperator(A)
    p = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag)
    return (
        [
            lx.linear_solve(o, b, s).value
            for s in (lx.LU(), lx.QR(), lx.SVD(), lx.GMRES(1e-5, 1e-5), lx.BiCGStab(1e-5, 1e-5))
        ]
        + [lx.linear_solve(p, b, s).value for s in (lx.Cholesky(), lx.CG(1e-5, 1e-5))]
        + [
            jax.grad(lambda A: lx.linear_solve(lx.MatrixLinearOperator(A), b).value.sum())(A),
            lx.linear_solve(
                lx.TridiagonalLinearOperator(jnp.ones(4) * 3, jnp.ones(3), jnp.ones(3)), b
            ).value,
            lx.linear_solve(lx.JacobianLinearOperator(lambda x, a: A @ x, jnp.zeros(4)), b).value,
        ]
    )


def fails_lineax():
    return lx.linear_solve(lx.MatrixLinearOperator(jnp.zeros((2, 2))), jnp.ones(2)).value


def program_optimistix():
    f = lambda x, a: jnp.array([x[0] ** 2 + x[1] - 3.0, x[0] - x[1] * a])
    out = [
        optx.root_find(f, s(1e-5, 1e-5), jnp.array([1.0, 1.0]), 1.0).value
        for s in (optx.Newton, optx.Chord, optx.Dogleg, optx.LevenbergMarquardt)
    ]
    r = lambda x, a: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    out += [
        optx.minimise(r, s, jnp.array([-1.0, 1.0]), max_steps=5000, throw=False).value
        for s in (optx.BFGS(1e-6, 1e-6), optx.NelderMead(1e-4, 1e-4))
    ]
    out += [
        optx.least_squares(f, optx.LevenbergMarquardt(1e-5, 1e-5), jnp.ones(2), 1.0).value,
        optx.fixed_point(lambda x, a: jnp.cos(x), optx.FixedPointIteration(1e-5, 1e-5), 1.0).value,
        optx.root_find(
            lambda x, a: x**2 - a,
            optx.Bisection(1e-5, 1e-5),
            1.0,
            2.0,
            options=dict(lower=0.0, upper=2.0),
        ).value,
    ]
    return out, jax.grad(
        lambda a: optx.root_find(f, optx.Newton(1e-5, 1e-5), jnp.ones(2), a).value.sum()
    )(1.0)
