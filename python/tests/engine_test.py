"""Tests of the engine: the bridge to node, arrays, programs, callbacks, many devices.

    PYTHONPATH=python python -m unittest python/tests/engine_test.py
"""

import atexit
import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P

from jaxlib import _jax  # noqa: E402
from jaxlib._engine import get_engine  # noqa: E402
from jaxlib._engine.dtypes import DTYPES  # noqa: E402


def in_python(script, **environment):
    """Runs a script in another process; returns what it printed, errors included."""
    env = {**os.environ, **environment}
    run = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    return run.stdout + run.stderr


def serve_scripts(requests, answers):
    """Runs each script that comes, in a child of this process; says which file has its output."""
    for line in requests:
        script, environment, output = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.update(environment)
            file = os.open(output, os.O_WRONLY | os.O_APPEND)
            os.dup2(file, 1)
            os.dup2(file, 2)
            try:
                exec(script, {"__name__": "__main__"})
            except BaseException:
                traceback.print_exc()
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        print(output, file=answers, flush=True)


class Scripts:
    """A process that has imported JAX and has no engine yet: to import JAX takes 2 seconds."""

    def __init__(self):
        (there, requests), (answers, here) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(requests)
            os.close(answers)
            serve_scripts(os.fdopen(there), os.fdopen(here, "w"))
            os._exit(0)
        os.close(there)
        os.close(here)
        self.requests, self.answers = os.fdopen(requests, "w"), os.fdopen(answers)

    def run(self, script, **environment):
        """Returns what a script printed that runs as if it were the first to use JAX."""
        with tempfile.NamedTemporaryFile("r") as output:
            print(json.dumps([script, environment, output.name]), file=self.requests, flush=True)
            self.answers.readline()
            return output.read()

    def end(self):
        self.requests.close()
        os.waitpid(self.pid, 0)


scripts = Scripts()  # Before a test starts the engine.
unittest.addModuleCleanup(scripts.end)


class Life(unittest.TestCase):
    def test_missing_node_is_said_at_once(self):
        text = scripts.run("import jax; jax.devices()", PATH="/nowhere", XLA_WASM_NODE="")
        self.assertIn("which is not on the PATH: install Node.js 20.16 or later", text)

    def test_core_that_is_not_there_is_said(self):
        text = scripts.run("import jax; jax.devices()", XLA_WASM="/nowhere")
        self.assertIn("XLA_WASM is /nowhere", text)

    def test_what_is_no_node_is_said(self):
        text = scripts.run(
            "import jax, jax.numpy as jnp; jnp.ones(3) + 1", XLA_WASM_NODE="/bin/false"
        )
        self.assertIn("could not start node: Node.js 20.16 or later is needed", text)

    def test_node_ends_with_python(self):
        script = ("import jax, jax.numpy as jnp; (jnp.ones(3) + 1).block_until_ready()\n"
                  "from jaxlib._engine import get_engine; print(get_engine()._process.pid)")
        self.wait_for_end(int(in_python(script).split()[-1]))

    def wait_for_end(self, pid):
        for _ in range(100):
            if not os.path.exists(f"/proc/{pid}"):
                return
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
        self.fail("node goes on after Python has ended")

    def test_node_ends_with_python_in_a_run_that_has_no_end(self):
        script = ("import jax, os, signal; from jaxlib._engine import get_engine\n"
                  "f = jax.jit(lambda x: jax.lax.while_loop(lambda x: x < 2, lambda x: x * 1, x))\n"
                  "y = f(1.0); print(get_engine()._process.pid, flush=True)\n"
                  "os.kill(os.getpid(), signal.SIGKILL)")
        self.wait_for_end(int(scripts.run(script).split()[-1]))

    def test_death_of_node_is_an_error_of_the_call_and_the_next_one_works(self):
        f = jax.jit(lambda x: x * 2)
        kept = f(jnp.arange(3.0)).block_until_ready()
        engine = get_engine()
        process = engine._process
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # The first message says how the process ended, unless the release of an array asked before.
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "UNAVAILABLE: .*process of node"):
            np.asarray(kept)
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "lost with the process"):
            np.asarray(kept)
        np.testing.assert_array_equal(f(jnp.arange(3.0)), [0, 2, 4])

    def test_forked_child_has_a_process_of_its_own(self):
        script = ("import os, jax, jax.numpy as jnp\n"
                  "x = jnp.arange(3.) + 1; print(x)\n"
                  "pid = os.fork()\n"
                  "print(jnp.ones(2) * 3, flush=True)\n"
                  "os.waitpid(pid, 0) if pid else os._exit(0)")
        self.assertEqual(scripts.run(script).count("[3. 3.]"), 2)


class Arrays(unittest.TestCase):
    def test_all_types_go_there_and_back(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype.name), jax.enable_x64(True):
                values = np.arange(6).reshape(2, 3) % 2
                if dtype.name == "float8_e8m0fnu":  # It has no zero.
                    values += 1
                x = values.astype(dtype)
                y = jax.jit(lambda a: a.T)(x)
                self.assertEqual(y.dtype, dtype)
                np.testing.assert_array_equal(np.asarray(y).astype(np.complex128), values.T)

    def test_narrow_integers_keep_their_sign(self):
        x = np.array([-8, -1, 0, 7], ml_dtypes.int4)
        np.testing.assert_array_equal(np.asarray(jnp.asarray(x) + 0).astype(int), [-8, -1, 0, 7])

    def test_large_arrays(self):
        x = np.random.default_rng(0).random((1000, 500)).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda a: a + 0)(x)), x)
        strided = jnp.asarray(x[::2, ::3])
        np.testing.assert_array_equal(np.asarray(strided), x[::2, ::3])

    def test_arrays_that_are_dropped_free_their_memory(self):
        engine = get_engine()
        f = jax.jit(lambda x: x + 1)
        f(jnp.ones(1000000)).block_until_ready()
        gc.collect()
        before = engine.call("memoryInUse")
        kept = [f(jnp.ones(1000000)).block_until_ready() for _ in range(3)]
        self.assertGreater(engine.call("memoryInUse"), before + 11e6)
        del kept
        gc.collect()
        self.assertLess(engine.call("memoryInUse"), before + 1e6)

    def test_donation(self):
        f = jax.jit(lambda x: x + 1, donate_argnums=0)
        x = jnp.ones(1000) + 0
        y = f(x)
        self.assertTrue(x.is_deleted())
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            np.asarray(x)
        np.testing.assert_array_equal(y, np.full(1000, 2))

    def test_dlpack(self):
        for dtype in (np.float32, np.int8, np.bool_, ml_dtypes.bfloat16, np.complex64):
            x = jnp.ones((2, 3), dtype)
            y = jax.dlpack.from_dlpack(x)
            np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
        np.testing.assert_array_equal(np.from_dlpack(jnp.arange(4.0)), np.arange(4.0))
        np.testing.assert_array_equal(
            jax.dlpack.from_dlpack(np.arange(6.0, dtype="f").reshape(2, 3).T),
            np.arange(6).reshape(2, 3).T,
        )

    def test_dlpack_says_where_xla_would_have_to_copy(self):
        memory = np.zeros(100, np.uint8)
        start = -memory.ctypes.data % 64
        for shift in (0, 4):
            x = memory[start + shift:start + shift + 20].view(np.float32)
            if shift:
                with self.assertRaisesRegex(ValueError, "which requires a copy"):
                    jnp.from_dlpack(x, copy=False)
            np.testing.assert_array_equal(jnp.from_dlpack(x, copy=None if shift else False), x)

    def test_profile_of_memory(self):
        x = jnp.ones((123, 7)).block_until_ready()
        profile = gzip.decompress(jax.profiler.device_memory_profile())
        text = json.loads(_jax.pprof_profile_to_json(profile))
        self.assertIn(str(x.nbytes), [sample["value"][1] for sample in text["sample"]])

    def test_errors_of_runs_come_with_the_result(self):
        f = jax.jit(lambda n: jnp.zeros((100000, 100000), jnp.float32) + n)
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "RESOURCE_EXHAUSTED"):
            f(1.0).block_until_ready()
        np.testing.assert_array_equal(jnp.ones(2) + 1, [2, 2])


class Callbacks(unittest.TestCase):
    def test_callback_runs_programs_itself(self):
        def outer(x):
            return np.asarray(jnp.sin(x) + 1)

        f = jax.jit(lambda x: jax.pure_callback(outer, x, x) * 2)
        np.testing.assert_allclose(f(jnp.ones(3)), 2 * (np.sin(np.ones(3)) + 1), rtol=1e-6)

    def test_error_of_a_callback(self):
        def bad(x):
            raise ValueError("no such value")

        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "no such value") as caught:
            jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(bad, x, x))(jnp.ones(3)))
        self.assertIn("in bad", str(caught.exception))
        self.assertNotIn("_jax/callbacks.py", str(caught.exception))
        np.testing.assert_array_equal(jnp.ones(2) + 1, [2, 2])

    def test_callbacks_that_fill_buffers(self):
        from jax.experimental.buffer_callback import buffer_callback

        def add(ctx, out, x, y):
            self.assertEqual((x.writeable, out.writeable), (False, True))
            np.asarray(out)[...] = np.asarray(x) + np.asarray(y)

        x = jnp.arange(3.0)
        f = jax.jit(buffer_callback(add, x, vmap_method="expand_dims"))
        np.testing.assert_array_equal(f(x, x + 1), [1, 3, 5])

        def twice(ctx, out, x):
            np.asarray(out)[...] *= 2

        g = buffer_callback(twice, x, input_output_aliases={0: 0})
        np.testing.assert_array_equal(g(x), [0, 2, 4])

    def test_python_on_devices_hosts_runs_here(self):
        from jax.experimental import colocated_python

        f = colocated_python.colocated_python(lambda x: x + 1)
        np.testing.assert_array_equal(f(jnp.arange(3.0)), [1, 2, 3])

    def test_targets_that_are_functions_of_python(self):
        jax.ffi.register_ffi_target("twice", lambda x: (x * 2,))
        f = jax.jit(lambda x: jax.ffi.ffi_call("twice", jax.ShapeDtypeStruct(x.shape, x.dtype))(x))
        np.testing.assert_array_equal(f(jnp.arange(3.0)), [0, 2, 4])


class Pallas(unittest.TestCase):
    def test_kernels_are_interpreted(self):
        from jax.experimental import pallas as pl
        from jax.experimental.pallas import mosaic_gpu, tpu, triton  # noqa: F401

        def twice(x, out, scratch):
            scratch[...] = x[...] * 2
            out[...] = scratch[...]

        x = jnp.arange(8.0)
        scratch = [tpu.VMEM((8,), jnp.float32)]
        for interpret in (True, tpu.InterpretParams()):
            run = pl.pallas_call(twice, x, scratch_shapes=scratch, interpret=interpret)
            np.testing.assert_array_equal(run(x), 2 * x)
        with self.assertRaisesRegex(ValueError, "Only interpret mode is supported"):
            pl.pallas_call(twice, x, scratch_shapes=scratch)(x)


class Devices(unittest.TestCase):
    def setUp(self):
        self.mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))

    def test_shards_and_the_whole(self):
        x = np.arange(32.0, dtype=np.float32).reshape(8, 4)
        for spec in (P("x"), P(None, "x"), P()):
            y = jax.device_put(x, NamedSharding(self.mesh, spec))
            np.testing.assert_array_equal(y, x)
            for shard in y.addressable_shards:
                np.testing.assert_array_equal(shard.data, x[shard.index])
            z = jax.jit(lambda a: a * 2)(y)
            self.assertEqual(z.sharding, y.sharding)
            for shard in z.addressable_shards:
                np.testing.assert_array_equal(shard.data, 2 * x[shard.index])

    def test_shard_map(self):
        f = jax.jit(
            jax.shard_map(
                lambda a: jax.lax.psum(a, "x"), mesh=self.mesh, in_specs=P("x"), out_specs=P()
            )
        )
        np.testing.assert_array_equal(f(jnp.arange(8.0)), [12, 16])

    def test_pmap(self):
        f = jax.pmap(lambda a: a + jax.lax.axis_index("i"), axis_name="i")
        np.testing.assert_array_equal(f(jnp.zeros(4)), [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
