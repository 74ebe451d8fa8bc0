import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


x = jnp.arange(256.0).reshape(16, 16)


def program_interpret():
    return pl.pallas_call(add, jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x, x)


def program_grid():
    return pl.pallas_call(
        add,
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(2, 2),
        in_specs=[pl.BlockSpec((8, 8), lambda i, j: (i, j))] * 2,
        out_specs=pl.BlockSpec((8, 8), lambda i, j: (i, j)),
        interpret=True,
    )(x, x)


def program_matmul():
    def mm(a, b, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += a[...] @ b[...]

    return jax.jit(
        lambda x: pl.pallas_call(
            mm,
            jax.ShapeDtypeStruct(x.shape, x.dtype),
            grid=(2, 2, 2),
            in_specs=[
                pl.BlockSpec((8, 8), lambda i, j, k: (i, k)),
                pl.BlockSpec((8, 8), lambda i, j, k: (k, j)),
            ],
            out_specs=pl.BlockSpec((8, 8), lambda i, j, k: (i, j)),
            interpret=True,
        )(x, x)
    )(x / 100)


def program_tpu_interpret():
    return pl.pallas_call(
        add,
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)] * 2,
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        interpret=pltpu.InterpretParams(),
    )(x, x)


def program_tpu_scratch():
    def k(x, o, s):
        s[...] = x[...] * 2
        o[...] = s[...] + 1

    return pl.pallas_call(
        k,
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((16, 16), jnp.float32)],
        interpret=True,
    )(x)


def fails_cpu():
    return pl.pallas_call(add, jax.ShapeDtypeStruct(x.shape, x.dtype))(x, x)


def program_vmapgrad():
    f = lambda x: pl.pallas_call(
        lambda x, o: o.__setitem__(..., jnp.sin(x[...])),
        jax.ShapeDtypeStruct(x.shape, x.dtype),
        interpret=True,
    )(x)
    return jax.vmap(f)(x), jax.jvp(f, (x,), (x,))
