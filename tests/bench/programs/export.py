"""Exports the programs that `make bench ARGS=programs` runs: from JAX to HLO text.

    python export.py [NAME...]     writes NAME.hlo and NAME.json beside this file

Weights are parameters. NAME.json describes how each parameter's numbers are drawn (see native.py), so only the
program is kept. Needs requirements.txt of this folder; the bench itself does not.
"""
import json
import os
import pathlib
import sys

os.environ['EQX_ON_ERROR'] = 'nan'  # no callbacks into Python

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

FOLDER = pathlib.Path(__file__).parent
PROGRAMS = {}
normal = lambda *shape, scale=1.0, shift=0.0, dtype='f32': dict(
    shape=shape, draw='normal', scale=scale, shift=shift, dtype=dtype)
uniform = lambda *shape, scale=1.0, shift=0.0, dtype='f32': dict(
    shape=shape, draw='uniform', scale=scale, shift=shift, dtype=dtype)
value = lambda x, dtype='f32': dict(shape=(), draw='value', scale=x, shift=0, dtype=dtype)
integers = lambda *shape, most: dict(shape=shape, draw='integers', scale=most, shift=0, dtype='s32')


def program(*arguments):
    """Registers a function of these arguments: trees of the specifications above."""

    def register(function):
        PROGRAMS[function.__name__] = (function, arguments)
        return function

    return register


def is_spec(x):
    return isinstance(x, dict) and 'draw' in x


def shapes(tree):
    dtypes = {'f32': jnp.float32, 's32': jnp.int32, 'u32': jnp.uint32}
    return jax.tree.map(
        lambda s: jax.ShapeDtypeStruct(s['shape'], dtypes[s['dtype']]), tree, is_leaf=is_spec)


def like(params, scale=0.05):
    """Replaces the weights that another package drew by our numbers, of equal shapes."""
    return jax.tree.map(lambda p: normal(*p.shape, scale=scale, shift=0.0), params)


# --- Small steps ---


@program(value(1.0))
def counter(x):
    return lax.while_loop(lambda s: s[0] < 100000, lambda s: (s[0] + 1, s[1] * 1.00001),
                          (jnp.int32(0), x))


@program(uniform(3, scale=1.0, shift=1.0))
def runge_kutta(y):
    def f(y):
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def step(_, y):
        h = 0.001
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lax.fori_loop(0, 1000, step, y)


@program(normal(100, 8), normal(8, 8, scale=0.02))
def kalman(observations, drift):
    eye = jnp.eye(8)
    f = eye + drift

    def step(state, z):
        x, p = state
        x, p = f @ x, f @ p @ f.T + 0.1 * eye
        k = jnp.linalg.solve(p + eye, p).T
        return (x + k @ (z - x), (eye - k) @ p), x

    return lax.scan(step, (jnp.zeros(8), eye), observations)[1]


@program(normal(50, 16, 64), normal(64, 256, scale=0.1), normal(64, 256, scale=0.1))
def lstm(xs, wx, wh):
    def step(carry, x):
        h, c = carry
        i, f, o, u = jnp.split(x @ wx + h @ wh, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(u)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((16, 64))
    return lax.scan(step, (zeros, zeros), xs)[1]


@program(normal(64, 3))
def n_body(positions):
    def acceleration(p):
        d = p[None] - p[:, None]
        r = jnp.sum(d * d, -1) + 0.05
        return jnp.sum(d * r[..., None]**-1.5, 1)

    def step(_, state):
        p, v = state
        v = v + 0.001 * acceleration(p)
        return p + 0.001 * v, v

    return lax.fori_loop(0, 100, step, (positions, jnp.zeros_like(positions)))[0]


@program(normal(2000, 8))
def k_means(points):
    def step(_, centers):
        distance = jnp.sum((points[:, None] - centers[None])**2, -1)
        one_hot = jax.nn.one_hot(jnp.argmin(distance, 1), 16)
        return (one_hot.T @ points) / jnp.maximum(one_hot.sum(0), 1)[:, None]

    return lax.fori_loop(0, 10, step, points[:16])


@program(value(-0.5), value(0.0))
def mandelbrot(x, y):
    re = x + jnp.linspace(-1.5, 1.5, 256)
    im = y + jnp.linspace(-1.2, 1.2, 192)
    c = lax.complex(re[None] + jnp.zeros((192, 1)), im[:, None] + jnp.zeros((1, 256)))

    def step(_, state):
        z, count = state
        inside = (z.real * z.real + z.imag * z.imag) < 4
        return jnp.where(inside, z * z + c, z), count + inside

    return lax.fori_loop(0, 50, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


@program(uniform(256, 256))
def game_of_life(board):
    kernel = jnp.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], jnp.float32)[None, None]

    def step(_, cells):
        count = lax.conv_general_dilated(cells[None, None], kernel, (1, 1), 'SAME')[0, 0]
        return ((count == 3) | ((count == 2) & (cells > 0))).astype(jnp.float32)

    return lax.fori_loop(0, 10, step, (board > 0.6).astype(jnp.float32))


@program(normal(64, 4096), normal(4096))
def fft_filter(signals, response):
    spectrum = jnp.fft.rfft(signals) * jnp.fft.rfft(response)[None]
    return jnp.fft.irfft(spectrum)


@program(value(3, 'u32'))
def monte_carlo(seed):
    def step(_, state):
        key, total = state
        key, use = jax.random.split(key)
        x = jax.random.normal(use, (16,))
        return key, total + jnp.sum(x * x)

    return lax.fori_loop(0, 1000, step, (jax.random.PRNGKey(seed), jnp.float32(0)))[1]


@program(normal(64, 64))
def linear_algebra(a):
    spd = a @ a.T + 64 * jnp.eye(64)
    q, r = jnp.linalg.qr(a)
    l = jnp.linalg.cholesky(spd)
    x = jnp.linalg.solve(spd, a)
    return l, x, q @ r, jnp.linalg.eigh(spd)[0], jnp.linalg.svd(a, compute_uv=False)


@program(uniform(64, scale=3, shift=0.1))
def special_functions(x):
    s = jax.scipy.special
    return s.digamma(x) + s.gammainc(x, x + .5) + s.zeta(x + 1.5, 1.0) + s.i0(x) + s.erfinv(x / 4)


@program(normal(100000))
def recurrence(x):
    return lax.scan(lambda c, a: (0.9 * c + a, c), jnp.float32(0), x)[1]


@program(normal(32, 32, scale=0.1), normal(32))
def gmres(a, b):
    a = a + 3 * jnp.eye(32)
    return jax.scipy.sparse.linalg.gmres(lambda x: a @ x, b, maxiter=5, restart=20)[0]


@program(normal(2, scale=0.1, shift=1.5))
def diffrax_tsit5(y):
    import diffrax as d
    term = d.ODETerm(lambda t, y, args: jnp.stack([y[1], 5 * (1 - y[0]**2) * y[1] - y[0]]))
    return d.diffeqsolve(term, d.Tsit5(), 0, 10, 0.01, y, saveat=d.SaveAt(ts=jnp.linspace(0, 10, 20)), throw=False,
                         stepsize_controller=d.PIDController(rtol=1e-4, atol=1e-6)).ys


@program(uniform(3, scale=0.01, shift=0.3))
def diffrax_kvaerno5(y):
    import diffrax as d

    def f(t, y, args):
        a, b, c = y
        return jnp.stack([-0.04 * a + 10 * b * c, 0.04 * a - 10 * b * c - 30 * b * b, 30 * b * b])

    return d.diffeqsolve(d.ODETerm(f), d.Kvaerno5(), 0, 40, 0.01, y, throw=False,
                         stepsize_controller=d.PIDController(rtol=1e-4, atol=1e-6)).ys


@program(normal(8, scale=0.5))
def jaxopt_lbfgs(x):
    import jaxopt
    f = lambda x: jnp.sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
    return jaxopt.LBFGS(f, maxiter=100, implicit_diff=False, jit=True, unroll=False).run(x).params


@program(normal(100, 4), value(7, 'u32'))
def numpyro_nuts(data, seed):
    import numpyro
    import numpyro.distributions as dist

    def model(data):
        mean = numpyro.sample('mean', dist.Normal(0, 5).expand([4]).to_event(1))
        scale = numpyro.sample('scale', dist.HalfNormal(2).expand([4]).to_event(1))
        numpyro.sample('x', dist.Normal(mean, scale).to_event(1), obs=data)

    kernel = numpyro.infer.NUTS(model, max_tree_depth=5)
    state = kernel.init(jax.random.PRNGKey(seed), 20, None, model_args=(data,), model_kwargs={})
    sample = lambda _, state: kernel.sample(state, (data,), {})
    return lax.fori_loop(0, 30, sample, state).z


# --- Networks ---


def gpt_weights(layers=6, width=384, vocabulary=8192, positions=256):
    block = dict(
        n1=uniform(width, shift=0.5), qkv=normal(width, 3 * width, scale=0.03),
        out=normal(width, width, scale=0.03), n2=uniform(width, shift=0.5),
        up=normal(width, 4 * width, scale=0.03), down=normal(4 * width, width, scale=0.03))
    return dict(embed=normal(vocabulary, width, scale=0.05), place=normal(positions, width, scale=0.02),
                blocks=[block] * layers, last=uniform(width, shift=0.5))


def norm(x, g):
    m = jnp.mean(x, -1, keepdims=True)
    v = jnp.mean((x - m)**2, -1, keepdims=True)
    return (x - m) * lax.rsqrt(v + 1e-5) * g


def heads(x):
    return x.reshape(x.shape[:-1] + (6, 64))


def gpt(w, tokens):
    n = tokens.shape[0]
    x = w['embed'][tokens] + w['place'][:n]
    mask = jnp.tril(jnp.ones((n, n), bool))
    for b in w['blocks']:
        q, k, v = (heads(t) for t in jnp.split(norm(x, b['n1']) @ b['qkv'], 3, -1))
        s = jnp.einsum('qhd,khd->hqk', q, k) / 8
        p = jax.nn.softmax(jnp.where(mask, s, -1e9), -1)
        x = x + jnp.einsum('hqk,khd->qhd', p, v).reshape(x.shape) @ b['out']
        x = x + jax.nn.gelu(norm(x, b['n2']) @ b['up']) @ b['down']
    return norm(x, w['last']) @ w['embed'].T


@program(gpt_weights(), integers(128, most=8192))
def gpt_prefill(w, tokens):
    return gpt(w, tokens)[-1]


@program(gpt_weights(), normal(6, 2, 256, 6, 64, scale=0.5), integers(most=8192), integers(most=200))
def gpt_decode(w, cache, token, at):
    x = w['embed'][token] + w['place'][at]
    mask = jnp.arange(256) <= at
    new = []
    for b, (ks, vs) in zip(w['blocks'], cache):
        q, k, v = (heads(t) for t in jnp.split(norm(x, b['n1']) @ b['qkv'], 3, -1))
        ks = lax.dynamic_update_slice(ks, k[None], (at, 0, 0))
        vs = lax.dynamic_update_slice(vs, v[None], (at, 0, 0))
        p = jax.nn.softmax(jnp.where(mask, jnp.einsum('hd,khd->hk', q, ks) / 8, -1e9), -1)
        x = x + jnp.einsum('hk,khd->hd', p, vs).reshape(-1) @ b['out']
        x = x + jax.nn.gelu(norm(x, b['n2']) @ b['up']) @ b['down']
        new.append(jnp.stack([ks, vs]))
    return norm(x, w['last']) @ w['embed'].T, jnp.stack(new)


@program(gpt_weights(layers=2, width=384, vocabulary=512, positions=64), integers(65, most=512))
def gpt_train(w, tokens):
    def loss(w):
        scores = jax.nn.log_softmax(gpt(w, tokens[:-1]))
        return -jnp.mean(jnp.take_along_axis(scores, tokens[1:, None], 1))

    value, gradient = jax.value_and_grad(loss)(w)
    return value, jax.tree.map(lambda p, g: p - 0.01 * g, w, gradient)


def conv(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), 'SAME', feature_group_count=groups,
                                    dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


def mobilenet_layers():
    rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
            (6, 320, 1, 1)]
    width, layers = 32, []
    for expand, out, repeats, stride in rows:
        for i in range(repeats):
            layers.append((expand, width, out, stride if i == 0 else 1))
            width = out
    return layers


def weight(*shape):
    fan = np.prod(shape[:-1])
    return normal(*shape, scale=float((2 / fan)**0.5))


def affine(n):
    return dict(g=uniform(n, shift=0.5), b=normal(n, scale=0.1))


def scaled(x, p):
    return x * p['g'] + p['b']


@program(dict(stem=weight(3, 3, 3, 32), stem_n=affine(32),
              blocks=[dict(up=weight(1, 1, i, i * e), up_n=affine(i * e), depth=weight(3, 3, 1, i * e),
                           depth_n=affine(i * e), down=weight(1, 1, i * e, o), down_n=affine(o))
                      for e, i, o, _ in mobilenet_layers()],
              top=weight(1, 1, 320, 1280), top_n=affine(1280), dense=weight(1280, 1000)),
         uniform(1, 224, 224, 3))
def mobilenet_v2(w, image):
    relu6 = lambda x: jnp.clip(x, 0, 6)
    x = relu6(scaled(conv(image, w['stem'], 2), w['stem_n']))
    for b, (_, i, o, stride) in zip(w['blocks'], mobilenet_layers()):
        y = relu6(scaled(conv(x, b['up']), b['up_n']))
        y = relu6(scaled(conv(y, b['depth'], stride, y.shape[-1]), b['depth_n']))
        y = scaled(conv(y, b['down']), b['down_n'])
        x = x + y if stride == 1 and i == o else y
    x = relu6(scaled(conv(x, w['top']), w['top_n']))
    return jnp.mean(x, (1, 2)) @ w['dense']


RESNET = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1),
          (256, 512, 2), (512, 512, 1)]


@program(dict(stem=weight(7, 7, 3, 64), stem_n=affine(64),
              blocks=[dict(a=weight(3, 3, i, o), a_n=affine(o), b=weight(3, 3, o, o), b_n=affine(o),
                           **(dict(skip=weight(1, 1, i, o)) if i != o else {})) for i, o, _ in RESNET],
              dense=weight(512, 1000)), uniform(1, 224, 224, 3))
def resnet18(w, image):
    x = jax.nn.relu(scaled(conv(image, w['stem'], 2), w['stem_n']))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
    for b, (_, _, stride) in zip(w['blocks'], RESNET):
        y = jax.nn.relu(scaled(conv(x, b['a'], stride), b['a_n']))
        y = scaled(conv(y, b['b']), b['b_n'])
        x = jax.nn.relu(y + (conv(x, b['skip'], stride) if 'skip' in b else x))
    return jnp.mean(x, (1, 2)) @ w['dense']


@program(dict(c1=weight(3, 3, 1, 16), c2=weight(3, 3, 16, 32), d=weight(1568, 10)),
         normal(64, 28, 28, 1), integers(64, most=10))
def convnet_adam(w, x, labels):
    def loss(w):
        y = jax.nn.relu(conv(x, w['c1'], 2))
        y = jax.nn.relu(conv(y, w['c2'], 2))
        scores = jax.nn.log_softmax(y.reshape(64, -1) @ w['d'])
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))

    def step(_, state):
        w, m, v = state
        g = jax.grad(loss)(w)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        return jax.tree.map(lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), w, m, v), m, v

    zeros = jax.tree.map(jnp.zeros_like, w)
    return lax.fori_loop(0, 3, step, (w, zeros, zeros))[0]


def flax_net():
    import flax.linen as nn

    class Net(nn.Module):

        @nn.compact
        def __call__(self, x, train):
            for width in (128, 128):
                x = nn.Dense(width)(x)
                x = nn.BatchNorm(use_running_average=not train)(x)
                x = nn.relu(x)
                x = nn.Dropout(0.1, deterministic=not train)(x)
            return nn.Dense(10)(x)

    return Net()


def flax_step():
    import optax
    net = flax_net()
    variables = net.init(jax.random.PRNGKey(0), jnp.zeros((64, 64)), False)
    optimizer = optax.adamw(1e-3)

    def step(params, stats, x, labels, seed):
        def loss(params):
            scores, updates = net.apply({'params': params, 'batch_stats': stats}, x, True,
                                        rngs={'dropout': jax.random.PRNGKey(seed)},
                                        mutable=['batch_stats'])
            return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean(), updates

        (value, updates), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        changes, _ = optimizer.update(gradient, optimizer.init(params), params)
        return value, optax.apply_updates(params, changes), updates

    stats = jax.tree.map(lambda p: uniform(*p.shape, shift=0.5), variables['batch_stats'])
    PROGRAMS['flax_optax'] = (step, (like(variables['params']), stats, normal(64, 64),
                                     integers(64, most=10), value(5, 'u32')))


def export(name):
    function, arguments = PROGRAMS[name]
    lowered = jax.jit(function, keep_unused=True).lower(*shapes(arguments))
    text = lowered.compiler_ir(dialect='hlo').as_hlo_text(print_large_constants=True)
    specs = jax.tree.leaves(arguments, is_leaf=is_spec)
    (FOLDER / f'{name}.hlo').write_text(text)
    (FOLDER / f'{name}.json').write_text(json.dumps(specs, default=float) + '\n')
    print(f'{name}: {len(text) / 1000:.0f} kB, {len(specs)} parameters', flush=True)


if __name__ == '__main__':
    flax_step()
    for name in sys.argv[1:] or PROGRAMS:
        export(name)
