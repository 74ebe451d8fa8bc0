"""Lowers many programs and prints their texts; mlir_compare.py compares two runs of it."""

import sys

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


def f32(*sizes):
    return shape(*sizes)


def i32(*sizes):
    return shape(*sizes, dtype=jnp.int32)


def c64(*sizes):
    return shape(*sizes, dtype=jnp.complex64)


def show(name, function, *arguments):
    print("=====", name)
    try:
        print(jax.jit(function).lower(*arguments).as_text(debug_info=True))
    except Exception as error:
        print(type(error).__name__, str(error)[:400])


# Functions that read files or objects, or that are no functions of arrays.
_SKIPPED = frozenset(("save", "load", "savez", "fromfile", "frompyfunc", "vectorize", "fromiter",
                      "apply_along_axis", "apply_over_axes", "from_dlpack", "frombuffer",
                      "fromstring", "fromfunction"))

_ARGUMENTS = [
    (f32(3, 4),), (f32(4, 4), f32(4, 4)), (i32(3, 4),), (f32(4, 4),) * 3, (c64(4, 4),),
    (i32(3, 4),) * 2, (f32(4),) * 3, (shape(3, dtype=jnp.uint32),) * 2,
    (shape(3, dtype=jnp.bfloat16),), (shape(3, dtype=jnp.float16),)]


def show_module(name, module, with_gradient=False):
    """Shows every function of a module for all arguments that it takes."""
    for attribute in dir(module):
        function = getattr(module, attribute)
        if attribute.startswith("_") or attribute in _SKIPPED or isinstance(function, type):
            continue
        for arguments in _ARGUMENTS if callable(function) else ():
            def call(*values, function=function):
                return function(*values)

            def slope(*values, call=call):
                return jnp.real(sum(jnp.sum(leaf) for leaf in jax.tree.leaves(call(*values))))

            title = f"{name}.{attribute} {', '.join(map(str, arguments))}"
            try:
                jax.eval_shape(call, *arguments)
            except Exception:
                continue
            show(title, call, *arguments)
            if with_gradient and arguments[0].dtype == jnp.float32:
                show(f"gradient of {title}", jax.grad(slope), *arguments)


def show_random():
    key = shape(dtype=jax.random.key(0).dtype)
    for name in ("normal", "uniform", "bits", "gumbel", "cauchy", "laplace", "rademacher"):
        show(f"random.{name}", lambda k, n=name: getattr(jax.random, n)(k, (3,)), key)
    show("gamma", lambda k: jax.random.gamma(k, 2.0, (3,)), key)
    show("permutation", lambda k: jax.random.permutation(k, 10), key)
    show("poisson", lambda k: jax.random.poisson(k, 3.0, (4,)), key)
    show("rbg", lambda: jax.random.normal(jax.random.key(0, impl="rbg"), (3,)))


def show_products():
    x, y = f32(2, 3, 4), f32(2, 4, 5)
    dims = (((2,), (1,)), ((0,), (0,)))
    show("precision", lambda x, y: lax.dot_general(x, y, dims, precision=("high", "highest")), x, y)
    show("algorithm", lambda x, y: lax.dot_general(
        x, y, dims, precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3), x, y)
    show("ragged", lax.ragged_dot, f32(10, 4), f32(3, 4, 5), i32(3))
    show("convolution", lambda x, w: lax.conv_general_dilated(
        x, w, (2, 1), "SAME", rhs_dilation=(1, 2), feature_group_count=2,
        dimension_numbers=("NHWC", "HWIO", "NHWC")), f32(2, 8, 8, 4), f32(3, 3, 2, 6))
    show("gradients", jax.grad(lambda x, w: lax.conv_general_dilated(
        x, w, (2, 1), "SAME", precision="highest").sum(), (0, 1)), f32(2, 4, 8, 8),
        f32(6, 4, 3, 3))
    show("transposed", lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID"), f32(2, 8, 8, 4),
         f32(3, 3, 4, 6))
    for name, initial, function in (("max", -np.inf, lax.max), ("add", 0.0, lax.add)):
        show(f"pool {name}", jax.grad(lambda x, i=initial, f=function: lax.reduce_window(
            x, i, f, (1, 2, 2, 1), (1, 2, 2, 1), "SAME").sum()), f32(2, 8, 8, 4))


def show_control():
    show("while", lambda x: lax.while_loop(
        lambda c: (c[0] < 3) & (c[1].sum() > 0), lambda c: (c[0] + 1, c[1] * 2), (0, x)), f32(3))
    show("nothing", lambda: lax.while_loop(lambda c: False, lambda c: c, ()))
    show("scan", lambda x: lax.scan(lambda c, a: (c + a, (c, a)), x[0], x, reverse=True, unroll=2),
         f32(6, 3))
    show("switch", lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: -v], x),
         i32(), f32(3))
    show("checkpoint", jax.grad(
        lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x).sum()), f32(3))
    show("print", lambda x: jax.debug.print("x {}", x), f32(3))
    show("callback", lambda x: jax.pure_callback(lambda a: a, f32(3), x), f32(3))
    show("ordered", lambda x: io_callback(lambda a: a, f32(3), x, ordered=True), f32(3))
    show("nested", lambda x: jax.jit(lambda y: y * 2)(x) + jax.jit(lambda y: y * 2)(x + 1), f32(3))
    show("composite", lambda x: lax.composite(lambda y: jnp.sin(y), "my.op", version=1)(x), f32(3))


def show_arrays():
    show("scatter", lambda x, i: x.at[i].add(1.0).at[i, 0].mul(2.0).at[1:3].set(0.0).at[::2].max(
        3.0), f32(8, 3), i32(4))
    show("gather", lambda x, i: (x[i], x[:, i], x[i, i], x.at[i].get(mode="fill"), x[::-1]),
         f32(8, 8), i32(4))
    show("sort", lambda x, y: (lax.sort((x, y), num_keys=2), lax.top_k(x, 2),
                               lax.approx_max_k(x, 2)), f32(8, 8), f32(8, 8))
    show("reduce", lambda x, y: lax.reduce(
        (x, y), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)), f32(8, 8), f32(8, 8))
    show("reducer", lambda x: lax.reduce(x, 0.0, lambda a, b: a + b * 2, (0,)), f32(8, 8))
    show("constants", lambda x: (x + np.arange(300, dtype=np.float32), np.float32(1 / 3),
                                 np.array([np.nan, np.inf], np.float32)), f32(300))
    show("small types", lambda x: (x.astype(jnp.int4), x.astype(jnp.float8_e4m3fn),
                                   x.astype(jnp.bfloat16) * jnp.array([1.1, 2], jnp.bfloat16)),
         i32(2))
    show("accuracy", lambda x: (lax.exp(x, accuracy=lax.Tolerance(atol=1e-5, rtol=0.0, ulps=1)),
                                lax.log(x, accuracy=lax.AccuracyMode.HIGHEST)), f32(3))
    show("linear algebra", lambda x: (
        jnp.linalg.qr(x), jnp.linalg.svd(x), jnp.linalg.eigh(x), jnp.linalg.det(x),
        jsp.linalg.lu(x), jnp.linalg.cholesky(x), jsp.linalg.solve_triangular(x, x)), f32(2, 4, 4))


def show_meshes():
    mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
    rows = NamedSharding(mesh, P("a", None))

    def mapped(function, inputs, outputs):
        return jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs,
                             check_vma=False)

    both, first = P("a", "b"), P("a", None)
    show("psum", mapped(lambda x: lax.psum(x, "a"), both, P(None, "b")), f32(8, 8))
    show("gathered", mapped(lambda x: lax.all_gather(x, "a", tiled=True), both, P(None, "b")),
         f32(8, 8))
    show("permuted", mapped(lambda x: lax.ppermute(x, "a", [(0, 1), (1, 2)]), both, both),
         f32(8, 8))
    show("all to all", mapped(lambda x: lax.all_to_all(x, "a", 1, 0, tiled=True), first, first),
         f32(32, 8))
    show("scattered", mapped(lambda x: lax.psum_scatter(x, "a", tiled=True) + lax.axis_index("a"),
                             P(None, "b"), both), f32(8, 8))
    show("constraint", lambda x: lax.with_sharding_constraint(x * 2, rows), f32(8, 8))
    print(jax.jit(lambda x: x * 2, in_shardings=rows).lower(f32(8, 8)).as_text())
    print(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i").lower(f32(8, 3)).as_text())


def main(wide):
    show_random()
    show_products()
    show_control()
    show_arrays()
    show_meshes()
    if wide:
        show_module("numpy", jnp)
        show_module("lax", lax, with_gradient=True)
        for name, module in (("linalg", jnp.linalg), ("fft", jnp.fft), ("nn", jax.nn),
                             ("special", jsp.special), ("scipy.linalg", jsp.linalg)):
            show_module(name, module)


if __name__ == "__main__":
    main("--wide" in sys.argv)
