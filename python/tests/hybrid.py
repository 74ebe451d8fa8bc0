"""Makes a `jaxlib` that takes some modules from python/jaxlib, the rest from the real wheel.

`python hybrid.py FOLDER MODULE …` writes FOLDER/jaxlib; run with PYTHONPATH=FOLDER. Modules are
file names in python/jaxlib without their suffix: only those that stand alone can be mixed.
"""

import pathlib
import shutil
import sys

OURS = pathlib.Path(__file__).resolve().parent.parent / "jaxlib"


def real_folder():
    for entry in sys.path[1:]:
        if (pathlib.Path(entry) / "jaxlib" / "libjax_common.so").exists():
            return pathlib.Path(entry) / "jaxlib"
    raise SystemExit("hybrid.py needs a Python that has the real jaxlib.")


def make(folder, modules):
    """Writes the package; returns the folder for the path."""
    package = pathlib.Path(folder) / "jaxlib"
    shutil.rmtree(package, ignore_errors=True)
    (package / "ours").mkdir(parents=True)
    for name in modules:
        (package / "ours" / f"{name}.py").symlink_to(OURS / f"{name}.py")
    (package / "__init__.py").write_text(
        f"__path__ = [{str(package / 'ours')!r}, {str(real_folder())!r}]\n"
        "from jaxlib.version import __version__\n")
    return folder


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2:])
