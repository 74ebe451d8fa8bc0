"""Small programs of JAX, one for each way into jaxlib.

jax_test.py compares them with the real jaxlib's values.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P

FUNCTIONS = {}


def function(body):
    FUNCTIONS[body.__name__] = body
    return body


def run(name):
    """Returns all numbers of a function's results, as nested lists of floats."""
    with jax.enable_x64(False):
        return [np.asarray(x, np.float64).tolist() for x in jax.tree.leaves(FUNCTIONS[name]())]


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@function
def jit():
    return jax.jit(lambda x: jnp.sin(x) @ x.T)(X)


@function
def grad():
    return jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(X)


@function
def vmap():
    return jax.vmap(lambda x: jnp.cumsum(x) / jnp.max(x))(X)


@function
def jacobians():
    return jax.jacfwd(jnp.cumprod)(X[0]), jax.hessian(lambda x: jnp.prod(x))(X[0])


@function
def scan():
    return lax.scan(lambda c, x: (c * 0.5 + x, c), jnp.zeros(4), X)


@function
def loops():
    return (lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 1.5), (0, X)),
            lax.fori_loop(0, 4, lambda i, x: x + i, X), lax.cond(True, jnp.sin, jnp.cos, X))


@function
def random():
    key = jax.random.key(7)
    return jax.random.bits(key, (3,)), jax.random.normal(key, (4,)), jax.random.permutation(key, 5)


@function
def linear_algebra():
    square = X.T @ X + jnp.eye(4)
    return jnp.linalg.solve(square, X.T), jnp.linalg.eigvalsh(square), jnp.linalg.det(square)


@function
def convolution():
    image, kernel = X.reshape(1, 1, 3, 4), X[:2, :2].reshape(1, 1, 2, 2)
    return (
        lax.conv_general_dilated(image, kernel, (1, 1), "SAME"),
        jnp.fft.rfft(X).real,
        jnp.sort(X, 0),
    )


@function
def indexing():
    return (
        jnp.asarray(X)[jnp.array([2, 0]), 1:],
        jnp.asarray(X).at[0].add(2.0),
        jnp.take(X, jnp.array([3, -1]), axis=1),
    )


@function
def types():
    return (
        (jnp.asarray(X).astype(jnp.bfloat16) * 3).astype(jnp.float32),
        jnp.int8(100) + jnp.int8(100),
        jnp.uint32(7) // 2,
    )


@function
def shards():
    mesh = Mesh(np.array(jax.devices()), ("x",))
    x = jax.device_put(np.arange(8.0, dtype=np.float32), NamedSharding(mesh, P("x")))
    summed = jax.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    turned = jax.shard_map(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]),
                           mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return summed(x), turned(x), jax.jit(lambda x: x * 2)(x)


@function
def callbacks():
    shape = jax.ShapeDtypeStruct((3, 4), np.float32)
    return jax.jit(lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, shape, x) + 1)(X)


@function
def own_rules():
    @jax.custom_vjp
    def clipped(x):
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, g: (jnp.clip(2 * x * g, -1, 1),))
    return jax.grad(lambda x: jnp.sum(clipped(x)))(X)


@function
def donation():
    step = jax.jit(lambda w, g: w - 0.1 * g, donate_argnums=0)
    w = jnp.asarray(X)
    for _ in range(3):
        w = step(w, X)
    return w


@function
def layouts():
    """A layout that is asked for: of an array, its shards, results, arguments of a program."""
    from jax.experimental.layout import Format, Layout

    turned = Layout((1, 0))
    mesh = Mesh(np.array(jax.devices()[:2]), "a")
    out = []
    for sharding in NamedSharding(mesh, P(None, "a")), NamedSharding(mesh, P()):
        x, plain = jax.device_put(X, Format(turned, sharding)), jax.device_put(X, sharding)
        f = jax.jit(lambda x: x * 2)
        g = jax.jit(lambda x: x + 1, out_shardings=Format(turned, sharding))
        compiled = g.lower(x).compile()
        arrays = [x, f(x), f(plain), g(plain), g(g(x)), compiled(x), x.addressable_shards[1].data]
        out.append([(a, *a.format.layout.major_to_minor) for a in arrays])
        out += [compiled.input_formats[0][0].layout.major_to_minor,
                compiled.output_formats.layout.major_to_minor]
    return out
