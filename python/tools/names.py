"""Prints the names of jaxlib that JAX uses or that its .pyi files list and that we lack.

`python names.py JAX [PYI]`: JAX is the folder of the `jax` package, PYI that of jaxlib's .pyi
files (its repository's `jaxlib`). Names come from `import` and attributes of imported modules;
our names from importing python/jaxlib. Exits 1 if a name is missing.
"""

import ast
import importlib
import pathlib
import sys

# Aliases of jaxlib's modules in JAX: `from jax._src.lib import ALIAS`.
ALIASES = {
    "_jax": "_jax", "xla_client": "xla_client", "jax_jit": "_jax.jax_jit", "pytree": "_jax.pytree",
    "guard_lib": "_jax.guard_lib", "hlo": "_hlo", "lapack": "lapack", "utils": "utils",
    "_profiler": "_profiler", "_profile_data": "_profile_data", "ffi": "_jax.ffi",
    "cpu_sparse": "cpu_sparse", "weakref_lru_cache": "weakref_lru_cache",
    "_pretty_printer": "_pretty_printer", "ifrt_proxy": "_ifrt_proxy", "_xla": "_xla",
    "gpu_solver": "gpu_solver", "gpu_sparse": "gpu_sparse", "gpu_prng": "gpu_prng",
    "gpu_linalg": "gpu_linalg", "gpu_rnn": "gpu_rnn",
    "jax_mlir_ext": "mlir._mlir_libs._jax_mlir_ext",
}
MLIR_ALIASES = {"ir": "mlir.ir", "passmanager": "mlir.passmanager"}
# What JAX uses only on hardware or in programs that this package leaves out.
LEFT_OUT = ("pallas/", "mosaic", "tpu_custom_call", "triton", "test_multiprocess", "jax2tf/",
            "cudnn/")


def modules_of(tree):
    """Returns the local names in a file that stand for modules of jaxlib."""
    out = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                name = a.asname or a.name
                if node.module == "jax._src.lib" and a.name in ALIASES:
                    out[name] = ALIASES[a.name]
                elif node.module == "jax._src.lib.mlir" and a.name in MLIR_ALIASES:
                    out[name] = MLIR_ALIASES[a.name]
                elif node.module in ("jax._src.lib.mlir.dialects", "jaxlib.mlir.dialects"):
                    dialect = "stablehlo" if a.name == "hlo" else a.name
                    out[name] = f"mlir.dialects.{dialect}"
                elif node.module == "jaxlib":
                    out[name] = a.name
                elif node.module == "jaxlib.mlir":
                    out[name] = f"mlir.{a.name}"
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name.startswith("jaxlib.") and a.asname:
                    out[a.asname] = a.name[len("jaxlib."):]
    return out


def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def used_names(jax):
    """Yields (module, dotted name, file) of each use in JAX's source."""
    for path in sorted(jax.rglob("*.py")):
        file = str(path.relative_to(jax))
        if any(part in file for part in LEFT_OUT):
            continue
        tree = ast.parse(path.read_text())
        modules = modules_of(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                name = dotted(node)
                if name and name[0] in modules:
                    yield modules[name[0]], name[1:3], file
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                if node.module.startswith("jaxlib."):
                    for a in node.names:
                        module = node.module[len("jaxlib."):]
                        yield module, [] if a.name == "*" else [a.name], file


def listed_names(folder):
    """Yields (module, dotted name, file) of what the .pyi files declare."""
    for path in sorted(folder.rglob("*.pyi")):
        file = path.relative_to(folder)
        if any(part in str(file) for part in ("cuda", "gpu", "rocm", "mosaic", "triton", "tpu",
                                            "transfer_guard_lib")):
            continue
        module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                yield module, [node.name], str(file)
            elif isinstance(node, ast.ClassDef):
                yield module, [node.name], str(file)
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        yield module, [node.name, member.name], str(file)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield module, [node.target.id], str(file)


def find(module, name):
    """Returns whether our module has the name; a name's members count only if it is a class."""
    try:
        x = importlib.import_module(f"jaxlib.{module}")
    except ImportError:
        return False
    for i, part in enumerate(name):
        if i and not isinstance(x, type):
            return True
        if hasattr(x, part):
            x = getattr(x, part)
            continue
        try:
            x = importlib.import_module(f"{x.__name__}.{part}")
        except (ImportError, AttributeError):
            return i > 0 and part in getattr(x, "__slots__", ())
    return True


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    uses = list(used_names(pathlib.Path(sys.argv[1])))
    if len(sys.argv) > 2:
        uses += listed_names(pathlib.Path(sys.argv[2]))
    missing = {}
    for module, name, file in uses:
        key = f"{module}.{'.'.join(name)}"
        if key not in missing:
            missing[key] = None if find(module, name) else file
    out = {name: file for name, file in missing.items() if file}
    for name, file in sorted(out.items()):
        print(f"{name}  ({file})")
    print(f"{len(missing)} names, {len(out)} missing")
    sys.exit(bool(out))


if __name__ == "__main__":
    main()
