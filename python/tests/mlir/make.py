"""Writes the golden files of mlir_test.py; run with a Python that has the real jaxlib.

NAME.mlir is the text that real JAX lowers a program to, with locations; NAME.vhlo is the portable
artifact of the same program where JAX exports it; values.json holds attributes and their texts.
"""

import json
import os
import pathlib
import sys

os.environ["JAX_NUM_CPU_DEVICES"] = "8"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import export, lax  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from jaxlib.mlir import ir  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def shape(*sizes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(sizes, dtype)


def elementwise(x):
    return jnp.where(x > 0.5, jnp.sin(x) / 3, lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST))


def indexing(x, i):
    return x[i, ::2], x.at[i].add(1.0), x[::-1, 1:], lax.dynamic_slice(x, (1, 0), (2, 2))


def control(x):
    y = lax.fori_loop(0, 3, lambda i, c: c * 2 + i, x)
    z = lax.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, y)
    return lax.scan(lambda c, a: (c + a, c), z[0], z)


def products(x, w):
    image = x[None, None]
    kernel = w[:2, :2][None, None]
    return (x @ w, lax.dot_general(x, w, (((1,), (0,)), ((), ())), precision="highest"),
            lax.conv_general_dilated(image, kernel, (2, 1), "SAME", rhs_dilation=(1, 2)),
            lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"))


def sorting(x):
    return lax.sort((x, x + 1), num_keys=1), lax.top_k(x, 2), jnp.argmax(x), jnp.linalg.qr(x)


def constants(x):
    big = np.arange(101, dtype=np.float32)
    odd = np.array([np.nan, np.inf, -0.0, 1 / 3, 1e30, 0.9, 12345678], np.float32)
    return x + big.sum(), jnp.asarray(big), odd, np.array([True, False]), (x > 0).astype(jnp.int8)


MESH = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)


def sharded(x):
    y = lax.with_sharding_constraint(x * 2, NamedSharding(MESH, P("a", None)))
    return jax.shard_map(lambda v: lax.psum(v, "a"), mesh=MESH, in_specs=P("a", "b"),
                         out_specs=P(None, "b"))(y)


PROGRAMS = {
    "elementwise": (elementwise, shape(3, 4)),
    "indexing": (indexing, shape(4, 4), shape(2, dtype=jnp.int32)),
    "control": (control, shape(3, 2)),
    "products": (products, shape(4, 4), shape(4, 4)),
    "sorting": (sorting, shape(4, 4)),
    "constants": (constants, shape(2)),
    "sharded": (sharded, shape(8, 8)),
}

NUMBERS = [0.0, -0.0, 1.0, 1.5, 0.1, 0.9, 1 / 3, 1e30, 1e-30, 12345678.0, 16777216.0, 1.2345e-4,
           float("nan"), float("inf"), 3.4e38, 1e10, 100000.0, 2.718281828459045]
TYPES = ["f16", "f32", "f64", "bf16", "f8E4M3FN", "f8E5M2"]


def write_values():
    from jax._src.interpreters import mlir
    values = {}
    with mlir.make_ir_context(), ir.Location.unknown():
        for name in TYPES:
            type_ = ir.Type.parse(name)
            values[name] = [str(ir.FloatAttr.get(type_, number)) for number in NUMBERS]
    (HERE / "values.json").write_text(json.dumps({"numbers": [repr(n) for n in NUMBERS],
                                                  "texts": values}, indent=1) + "\n")


def main():
    for name, (function, *arguments) in PROGRAMS.items():
        jitted = jax.jit(function)
        text = jitted.lower(*arguments).as_text(debug_info=True)
        (HERE / f"{name}.mlir").write_text(text.replace(str(HERE) + os.sep, ""))
        if name not in ("sorting",):  # Its CHLO is decomposed where JAX exports it.
            exported = export.export(jitted)(*arguments)
            (HERE / f"{name}.vhlo").write_bytes(exported.mlir_module_serialized)
            text = exported.mlir_module()
            (HERE / f"{name}.exported.mlir").write_text(text.replace(str(HERE) + os.sep, ""))
    write_values()


if __name__ == "__main__":
    sys.exit(main())
