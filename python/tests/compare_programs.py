"""Compares programs on this jaxlib and on the real one, with all that a user sees of them.

    python compare_programs.py [--only NAME] [FILE ...]

The Python that runs it has the libraries of programs_requirements.txt, and with them the real
jaxlib. Each function of programs/*.py runs on both: values, dtypes, weak types, shardings, trees,
output, warnings and errors must agree. The name of a function begins with `program_`, or with
`fails_` if JAX is to raise an error.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
# Relative, by the bytes of an element: JAX's own tests allow these between backends.
TOLERANCES = {("f", 2): 2e-3, ("f", 4): 3e-5, ("f", 8): 1e-9, ("c", 8): 3e-5, ("c", 16): 1e-9}
NARROW = 2e-2  # of bfloat16 and narrower types, which NumPy knows as V

# Differences that are known, by the program's name, with the reason.
ROUNDING = "rounding, which several steps of an optimizer or a normalization by a variance enlarge"
STACK = "the message holds the frames of the callback's caller, which are jaxlib's own"
KNOWN = {
    "arrays.program_optimize": "BFGS ends after 33 or 34 iterations: its last steps are rounding",
    "networks.program_nnx": ROUNDING,
    "networks.program_linen": "gradients that are zero but for rounding",
    "networks.program_linen_transformer": "gradients that are zero but for rounding",
    "networks.program_optax_more": ROUNDING,
    "networks.program_haiku": "gradients that are zero but for rounding",
    "small_libraries.program_evosax": "best fitness of CMA-ES generations; the cause is not known",
    "transforms.fails_pure_callback": STACK,
    "transforms.fails_callback": STACK,
}


def describe(leaf):
    """Returns what is compared of a result, as something that pickle can write."""
    import jax
    import numpy as np

    if isinstance(leaf, jax.Array):
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return "key", str(leaf.dtype), leaf.shape, np.asarray(jax.random.key_data(leaf))
        sharding = str(leaf.sharding)
        return "array", str(leaf.dtype), leaf.shape, leaf.weak_type, sharding, np.asarray(leaf)
    if isinstance(leaf, (int, float, complex, str, bytes, type(None), np.ndarray, np.generic)):
        return leaf
    return "object", type(leaf).__name__


def run(function):
    """Calls a function. Returns what a user sees of the call."""
    import jax

    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            leaves, tree = jax.tree_util.tree_flatten(function())
            seen = {"results": [describe(leaf) for leaf in leaves], "tree": str(tree)}
            jax.effects_barrier()
        except Exception as error:
            seen = {"error": type(error).__name__, "message": str(error)}
            where = traceback.format_exc()
        else:
            where = ""
    seen["output"] = output.getvalue()
    seen["warnings"] = sorted({str(warning.message)[:200] for warning in warned})
    return seen, where


def run_all(target, only, files):
    """Runs the functions of files and pickles what is seen of each into a file."""
    seen = {}
    for file in files:
        name = pathlib.Path(file).stem
        spec = importlib.util.spec_from_file_location(name, file)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for key, function in list(vars(module).items()):
            if key.startswith(("program_", "fails_")) and (not only or only in key):
                seen[f"{name}.{key}"] = run(function)
    pathlib.Path(target).write_bytes(pickle.dumps(seen))


def difference_of_arrays(real, ours):
    import numpy as np

    if (real.shape, real.dtype) != (ours.shape, ours.dtype):
        return f"{real.dtype}{real.shape}, here {ours.dtype}{ours.shape}"
    if real.dtype.kind not in "fcV":
        return None if np.array_equal(real, ours) else f"{real}, here {ours}"
    tolerance = TOLERANCES.get((real.dtype.kind, real.dtype.itemsize), NARROW)
    a, b = real.astype(np.complex128), ours.astype(np.complex128)
    largest = np.max(np.abs(a[np.isfinite(a)]), initial=1e-6)
    if np.allclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True):
        return None
    return f"{real}, here {ours}"


def difference(real, ours):
    """Returns how two descriptions differ, or None."""
    import numpy as np

    if isinstance(real, (np.ndarray, np.generic, float)) and isinstance(ours, type(real)):
        return difference_of_arrays(np.asarray(real), np.asarray(ours))
    if isinstance(real, dict) and real.keys() == ours.keys():
        return next((f"{key}: {found}" for key in real
                     if (found := difference(real[key], ours[key]))), None)
    if isinstance(real, (list, tuple)) and isinstance(ours, type(real)) and len(real) == len(ours):
        return next(filter(None, map(difference, real, ours)), None)
    if isinstance(real, str) and isinstance(ours, str):
        real, ours = (re.sub("0x[0-9a-f]+", "0x", text) for text in (real, ours))
    return None if real == ours else f"{real!r}\n    here {ours!r}"


def on(folder, only, file, target):
    """Runs a file in a process of its own, on the jaxlib of a folder or on the real one."""
    env = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(folder or ""),
                        "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    command = [sys.executable, __file__, "--into", target, "--only", only, file]
    subprocess.run(command, env=env, check=True, stderr=subprocess.DEVNULL)
    return pickle.loads(pathlib.Path(target).read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="functions whose names have this in them")
    parser.add_argument("--into", help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", default=sorted(map(str, HERE.glob("programs/*.py"))))
    options = parser.parse_args()
    if options.into:
        run_all(options.into, options.only, options.files)
        return 0
    agree = known = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in options.files:
            real = on(None, options.only, file, f"{folder}/real")
            ours = on(HERE.parent, options.only, file, f"{folder}/ours")
            for name, (seen, _) in real.items():
                found = difference(seen, ours[name][0])
                if ("error" in seen) != (".fails_" in name):
                    found = f"on the real jaxlib: {seen.get('message', 'no error')}"
                total += 1
                agree += not found
                known += bool(found) and name in KNOWN
                if found and name in KNOWN:
                    print(f"{name} differs: {KNOWN[name]}")
                elif found:
                    print(f"{name}: {found[:1000]}\n{ours[name][1][-1500:]}")
            print(f"{agree} of {total} agree, {known} differ for a known reason "
                  f"({pathlib.Path(file).name})", flush=True)
    return agree + known != total


if __name__ == "__main__":
    sys.exit(main())
