"""Tests of the shardings that results get. They hold on the real jaxlib, too.

    PYTHONPATH=python python -m unittest python/tests/propagation_test.py
"""

import os
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental.shard_alike import shard_alike  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
OPEN = P.UNCONSTRAINED


def sharded(*spec):
    return NamedSharding(MESH, P(*spec))


def constrained(x, *spec):
    return jax.lax.with_sharding_constraint(x, sharded(*spec))


def array(*spec):
    return jax.device_put(jnp.arange(64.0).reshape(8, 8), sharded(*spec))


class Propagation(unittest.TestCase):
    def check(self, function, arguments, *spec):
        found = jax.jit(function)(*arguments).sharding
        self.assertTrue(found.is_equivalent_to(sharded(*spec), 2), f"{found}, not {spec}")

    def test_element_wise(self):
        self.check(lambda a, b: jnp.sin(a) + b, [array("x"), array(None, "y")], "x", "y")

    def test_products(self):
        self.check(lambda a, b: a @ b, [array("x"), array(None, "y")], "x", "y")

    def test_a_loop_gives_what_its_body_does(self):
        def f(x):
            return jax.lax.scan(lambda x, _: (constrained(x, "x", "y"), None), x, None, length=3)[0]

        self.check(f, [array()], "x", "y")

    def test_open_dimensions_take_what_comes(self):
        self.check(lambda x: constrained(x.T, OPEN, OPEN), [array("x", "y")], "y", "x")
        self.check(lambda x: constrained(x, "x", OPEN), [array(None, "y")], "x", "y")

    def test_operations_without_results_see_their_operands(self):
        seen = []

        @jax.jit
        def f(x):
            jax.debug.inspect_array_sharding(x.T, callback=seen.append)
            jax.debug.callback(lambda part: seen.append(part.shape), x.T, partitioned=True)

        f(array("x", "y"))
        jax.effects_barrier()
        self.assertTrue(seen[0].is_equivalent_to(sharded("y", "x"), 2), f"{seen[0]}")
        self.assertEqual(seen[1:], [(4, 2)] * 8)

    def test_movements(self):
        self.check(lambda x: jnp.concatenate([x, x], 1), [array("x")], "x")
        self.check(lambda x: x[:, 2:5], [array("x")], "x")
        self.check(lambda x: jnp.pad(x, ((0, 0), (1, 1))), [array("x")], "x")

    def test_operands_that_are_divided_differently(self):
        for one, other, wanted in [
            (("x",), ("y",), ()), (("x", "y"), ("y",), (None, "y")), (("x",), (("x", "y"),), None),
            ((None, "x"), ("x", "y"), ("x",)), ((None, "x"), ("x",), (None, "x")),
        ]:
            self.check(jnp.add, [array(*one), array(*other)],
                       *(wanted if wanted is not None else other))
        self.check(lambda x, y: jnp.where(x > y, x, y), [array("x"), array(None, "x")], "x")

    def test_dimensions_that_change_their_size(self):
        whole = [array("x", "y")]
        self.check(lambda x: jnp.concatenate([x, x]), whole, "x", "y")
        self.check(lambda x: jnp.roll(x, 1, 0), whole, "x", "y")
        self.check(lambda x: jnp.pad(x, 1), whole, None, "y")
        self.check(lambda x: jax.lax.dynamic_slice(x, (1, 1), (4, 4)), whole, "x", "y")
        self.check(lambda x: x[:4], [array(("x", "y"))], "x")
        self.check(lambda x: jnp.fft.fft(x), whole, "x", "y")
        self.check(lambda x: jax.lax.top_k(x, 2)[0], whole, "x")
        self.check(lambda x: jax.lax.scan(lambda c, r: (c + r, c), x[0], x)[1], whole, None, "y")

    def test_branches(self):
        self.check(lambda x: jax.lax.cond(x[0, 0] > 0, lambda y: y + 1, lambda y: y * 2, x),
                   [array("x", "y")], "x", "y")

    def test_matrices_are_whole_in_linear_algebra(self):
        self.check(lambda x: jnp.linalg.inv(x + jnp.eye(8)), [array("x", "y")])
        self.check(lambda x: jnp.linalg.qr(x)[0], [array("x")])
        self.check(lambda x: x[x[:, 0].argsort()], [array("x", "y")], None, "y")

    def test_elements(self):
        for index in [(slice(None), slice(1, None, 2)), (slice(None), slice(-1, None)),
                      (slice(2, 6),), (np.array([1, 3, 5]),)]:
            x = array("x", "y")
            self.assertEqual(len(x[index].sharding.device_set), 8)
        self.check(lambda x: x[:, 1::2], [array("x", "y")], "x", "y")
        self.check(lambda x: x[:, -1:], [array("x", "y")], "x")
        self.check(lambda x: x[jnp.array([1, 3, 5])], [array("x", "y")], None, "y")

    def test_members_of_a_group_share_a_sharding(self):
        def f(x):
            return shard_alike(x, jnp.arange(64.0).reshape(8, 8))[1]

        self.check(f, [array("x", "y")], "x", "y")

    def test_calls_of_exported_functions_whose_names_need_quotes(self):
        exported = jax.export.export(jax.jit(lambda x: x * 2))(array("x"))
        with jax.set_mesh(MESH):
            self.check(exported.call, [array("x")], "x")

    def test_axes_that_shard_map_leaves(self):
        def inner(x):
            return constrained(x * x, "x")

        f = jax.shard_map(inner, mesh=MESH, in_specs=P(), out_specs=P(), check_vma=False,
                          axis_names=frozenset({"y"}))
        self.check(f, [array("x")], "x")


if __name__ == "__main__":
    unittest.main()
