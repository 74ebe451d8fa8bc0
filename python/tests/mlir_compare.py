"""Compares the texts that our MLIR and the real one give for many programs.

Run with a Python that has the real jaxlib: `python mlir_compare.py [--wide]`. Both runs have the
real jaxlib, one of them with our `mlir` in it. Texts must be the same to the last location.
`--wide` adds all functions of jax.numpy, jax.lax and others, which takes some minutes.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OURS = HERE.parent / "jaxlib"

# Compiles by handing the text of our modules to the real client.
_BRIDGE = '''
import jax._src.compiler as compiler

_compile = compiler.backend_compile_and_load


class _Backend:
    def __init__(self, backend):
        self._backend = backend

    def compile_and_load(self, module, *arguments, **options):
        options.pop("host_callbacks", None)
        text = module._text().encode("utf-8", "surrogateescape")
        return self._backend.compile_and_load(text, *arguments, **options)

    def __getattr__(self, name):
        return getattr(self._backend, name)


compiler.backend_compile_and_load = lambda backend, *arguments: _compile(
    _Backend(backend), *arguments)
'''


def make_package(folder):
    """Writes a jaxlib of the real one's modules and our `mlir`."""
    from hybrid import real_folder
    package = pathlib.Path(folder) / "jaxlib"
    package.mkdir()
    ours = ("mlir", "mosaic", "triton")
    for entry in real_folder().iterdir():
        if entry.name not in (*ours, "__pycache__"):
            (package / entry.name).symlink_to(entry)
    for name in ours:
        (package / name).symlink_to(OURS / name)
    (pathlib.Path(folder) / "mlir_bridge.py").write_text(_BRIDGE)


def texts(path, options):
    """Returns the programs' texts by name."""
    env = dict(os.environ, PYTHONPATH=path, JAX_NUM_CPU_DEVICES="8", JAX_PLATFORMS="cpu")
    start = "import mlir_bridge\n" if path else "pass\n"
    program = (f"import sys\n{start}import runpy\nsys.path.insert(0, {str(HERE)!r})\n"
               f"runpy.run_path({str(HERE / 'mlir_programs.py')!r}, run_name='__main__')\n")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, *options], env=env,
                          stdout=subprocess.PIPE, text=True, check=True)
    parts = done.stdout.split("===== ")[1:]
    return {part.split("\n", 1)[0]: part for part in parts}


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        make_package(folder)
        ours = texts(folder, options)
    real = texts("", options)
    if not real:
        raise SystemExit("mlir_compare.py: no program was lowered")
    different = [name for name in real if ours.get(name) != real[name]]
    for name in different[:10]:
        print("different:", name)
        for line, other in zip(real[name].split("\n"), ours.get(name, "").split("\n")):
            if line != other:
                print(f"  real: {line[:300]}\n  ours: {other[:300]}")
                break
    print(f"{len(real) - len(different)} of {len(real)} programs have the same text")
    return bool(different)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main(sys.argv[1:]))
